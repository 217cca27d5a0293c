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
    int64_t max_workspace; // as in CompileOptions
    uint32_t too_large;    // candidates left out for it
    CandidateList list;
} ScheduleSite;

void schedule_map(ScheduleSite *site);
void schedule_row(ScheduleSite *site);
void schedule_contract(ScheduleSite *site);
void schedule_skinny(ScheduleSite *site); // of family contract
void schedule_coop(ScheduleSite *site);   // likewise
void schedule_transform(ScheduleSite *site);
void schedule_attention(ScheduleSite *site);
void schedule_flash(ScheduleSite *site); // form coop of family attention

// Bytes of workspace that the schedule needs under the guard; DIM_NONE: none.
Dim schedule_contract_workspace(const ScheduleSite *site, const Schedule *schedule,
                                const ScheduleGuard *guard);

void schedule_add(ScheduleSite *site, Schedule schedule, double cost, const char *why);
// Guarded candidates are tried in the order in which their guards are first added; what has no
// guard comes last. A candidate that needs more workspace than there may be is counted, not kept.
void schedule_add_guarded(ScheduleSite *site, Candidate candidate);
// A size to reckon with: the value of a constant; of others a typical one within their bounds.
double schedule_size(const ScheduleSite *site, Dim dim);
// What kernels with fragments of that dtype need, and the group's values in memory.
TargetFeatures schedule_fragment_features(const ScheduleSite *site, DType ab);
// Largest power of two up to `most` that divides dim for certain.
uint32_t schedule_divisor(const ScheduleSite *site, Dim dim, uint32_t most);
