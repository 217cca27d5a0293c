// Parts of plan_build.
#pragma once

#include "passes/compile.h"

// schedule.c: alternatives of a fused node, the best last (it has no guard).
bool schedule_step(Plan *plan, NodeId node, const CompileOptions *options, Diags *diags,
                   PlanStep *step);

// plan_prepare.c: groups the steps that run once into units; fills plan->prepare and plan->units.
bool plan_prepare_steps(Plan *plan, Diags *diags);

// plan_memory.c: places every value that memory holds.
bool plan_memory(Plan *plan, Diags *diags);

// plan_barriers.c: sets PlanStep.barrier.
void plan_barriers(Plan *plan);
// Likewise for the dispatches of one alternative, but for the first, whose barrier is the step's.
void plan_barriers_within(const Plan *plan, Dispatch *dispatches, uint32_t count);

// Least memory that the intermediates of `run` need at once, for given dims: what plan_memory is
// measured against. False on overflow.
bool plan_liveness_bound(const Plan *plan, const int64_t *symbols, int64_t *bytes);
