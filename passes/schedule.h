// Policy: what each family may do for a fused node on a target, and what it is thought to cost.
#pragma once

#include "passes/contract_shape.h"
#include "passes/plan_internal.h"

typedef struct ScheduleSite {
    Arena *arena;
    const Graph *graph;
    DimTable *dims;
    const Node *fused;
    const Target *target;
    bool strict;
    bool fast;             // f32 products need not be made in f32 (--math=fast)
    int64_t max_workspace; // as in CompileOptions
    uint32_t too_large;    // candidates left out for it
    bool listed;           // all candidates are to be seen: each needs its reason
    CandidateList list;
} ScheduleSite;

void schedule_map(ScheduleSite *site);
void schedule_row(ScheduleSite *site);
void schedule_window(ScheduleSite *site); // of family row
void schedule_contract(ScheduleSite *site);
void schedule_skinny(ScheduleSite *site); // of family contract
void schedule_coop(ScheduleSite *site);   // likewise
// The size that subgroups can be relied on to have, with shuffles; 0: none.
uint32_t schedule_subgroup(const Target *target);
// lower_check.c: why no family could use the schedule: sizes out of range or of the target; NULL if
// one might.
const char *schedule_refused(const Schedule *s, const Target *target);
void schedule_planes(ScheduleSite *site);                           // likewise
void schedule_simt(ScheduleSite *site, const ContractShape *shape); // likewise
void schedule_direct(ScheduleSite *site);                           // likewise, after all others
void schedule_transform(ScheduleSite *site);
void schedule_attention(ScheduleSite *site);
void schedule_scan(ScheduleSite *site);
void schedule_flash(ScheduleSite *site);           // form coop of family attention
bool schedule_attention_split(ScheduleSite *site); // form split; true: it serves every size

// Cycles that all compute units of a device together take to read both operands of a product from
// memory once: no schedule is faster.
double schedule_read_cost(const ScheduleSite *site, ValueId x, ValueId y);
// What takes `cost` with operands in near memory, while memory takes `read` for them: tiles that
// wait for each other do not read all the time.
double schedule_behind_memory(double cost, double read);
// Bytes that memory gives each compute unit of a device in a cycle.
double schedule_memory_rate(const ScheduleSite *site);
// What splitting K costs, in cycles of a compute unit of a device: the sums of `cells` elements are
// written and read again in parts, behind a barrier, by one more dispatch.
double schedule_split_cost(const ScheduleSite *site, double cells, uint32_t parts);
// What to add to a reason: ", K in 4 parts, as 64 workgroups are few"; nothing for one part.
const char *schedule_split_why(const ScheduleSite *site, double workgroups, uint32_t parts);
// Whether to try parts at all: the device's times are known, and workgroups do not fill it.
bool schedule_split_pays(const ScheduleSite *site, double workgroups, uint32_t parts);
// Bytes of workspace that the schedule needs under the guard; DIM_NONE: none.
Dim schedule_contract_workspace(const ScheduleSite *site, const Schedule *schedule,
                                const ScheduleGuard *guard);

Dim schedule_attention_workspace(const ScheduleSite *site, const Schedule *schedule,
                                 const ScheduleGuard *guard);

void schedule_add(ScheduleSite *site, Schedule schedule, double cost, const char *why);
// Guarded candidates are tried in the order in which their guards are first added; what has no
// guard comes last. A candidate that needs more workspace than there may be is counted, not kept.
// One without a reason is known not to be chosen: it only counts among those that were tried.
// Gives whether the candidate may be chosen.
bool schedule_add_guarded(ScheduleSite *site, Candidate candidate);
// A size to reckon with: the value of a constant; of others a typical one within their bounds.
double schedule_size(const ScheduleSite *site, Dim dim);
double schedule_largest(const ScheduleSite *site, Dim dim);
// The same of a length that matters most when it is large: at least a quarter of the most.
double schedule_long_size(const ScheduleSite *site, Dim dim);
// What kernels need for the group's values in memory; and with fragments of that dtype.
TargetFeatures schedule_memory_features(const ScheduleSite *site);
TargetFeatures schedule_fragment_features(const ScheduleSite *site, DType ab);
// Whether the dim is known when a run is recorded, so that conditions on it may choose.
bool schedule_recorded(const ScheduleSite *site, Dim dim);
// Largest power of two up to `most` that divides dim for certain.
uint32_t schedule_divisor(const ScheduleSite *site, Dim dim, uint32_t most);
