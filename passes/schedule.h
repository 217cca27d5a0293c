// Policy: what each family may do for a fused node on a target, and what it is thought to cost.
#pragma once

#include "passes/lower_shape.h"
#include "passes/plan_internal.h"

typedef struct ScheduleSite {
    Arena *arena;
    const Graph *graph;
    DimTable *dims;
    const Node *fused;
    const Target *target;
    bool strict;
    CandidateList list;
} ScheduleSite;

void schedule_map(ScheduleSite *site);
void schedule_row(ScheduleSite *site);
void schedule_contract(ScheduleSite *site);
void schedule_skinny(ScheduleSite *site); // of family contract
void schedule_coop(ScheduleSite *site);   // likewise
void schedule_attention(ScheduleSite *site);

void schedule_add(ScheduleSite *site, Schedule schedule, double cost, const char *why);
// Guarded candidates are tried in the order in which their guards are first added; what has no
// guard comes last.
void schedule_add_guarded(ScheduleSite *site, Candidate candidate);
// A size to reckon with: the value of a constant; of others a typical one within their bounds.
double schedule_size(const ScheduleSite *site, Dim dim);
// Largest power of two up to `most` that divides dim for certain.
uint32_t schedule_divisor(const ScheduleSite *site, Dim dim, uint32_t most);
