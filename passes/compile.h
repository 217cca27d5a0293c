// From a fused graph to a plan, and from a plan to a program of kernels.
//
//     Plan *plan;
//     Program *program;
//     ok = plan_build(graph, &target, &options, diags, &plan) && lower_program(plan, diags,
//     &program);
//
// plan_build is policy: it lists the legal schedules of each fused node, scores them, keeps the
// best with its reason, places every tensor and sets barriers. lower_program is mechanism: it makes
// the kernels that a plan asks for, whoever wrote the plan. Both results live in the graph's arena.
#pragma once

#include "ir/plan.h"
#include "ir/program.h"

typedef struct CompileOptions {
    bool strict_rounding; // round after every op, no fused multiply-add
    bool fast_math;       // f32 products may be made of f16 ones, as exact as in f32
    // By hand: fused nodes of `family` that run (not those of prepare) get `schedule` instead of
    // the best candidate. NULL: none.
    const char *family;
    const Schedule *schedule;
    // Bytes of the arena that one step may use for itself (partial sums of split products),
    // whatever the dims; 0: none.
    int64_t max_workspace;
} CompileOptions;

// What must hold where a schedule is used; all zero: nothing. Candidates whose guards differ in no
// more than shared_bytes compete; the best of them becomes an alternative of the step.
typedef struct ScheduleGuard {
    TargetFeatures features;
    uint32_t shared_bytes;
    FragmentShape fragment;
    Condition condition[CONDITIONS_MAX];
    uint32_t conditions;
} ScheduleGuard;

// A legal schedule. cost: lower is better, comparable within one node, target and guard.
typedef struct Candidate {
    Schedule schedule;
    double cost;
    const char *why; // what decides for or against it
    ScheduleGuard guard;
    uint32_t others; // candidates with this guard that are not in the list, as this one is better
} Candidate;
typedef VEC(Candidate) CandidateList;

// What plan_build chooses from for a fused node of the plan's graph, the best first. The list is
// the graph's arena's.
CandidateList plan_candidates(const Plan *plan, NodeId fused, const CompileOptions *options);

// False with diagnostics when the graph asks for what no schedule can do.
bool plan_build(Graph *graph, const Target *target, const CompileOptions *options, Diags *diags,
                Plan **out);

// False with diagnostics when a schedule of the plan does not fit its node.
bool lower_program(Plan *plan, Diags *diags, Program **out);
