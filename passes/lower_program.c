// Every step of a plan, every alternative of it, as kernels and dispatches.
#include <string.h>

#include "passes/lower.h"
#include "passes/plan_internal.h"

typedef struct LowerFamily {
    const char *name;
    bool (*lower)(Lower *l);
} LowerFamily;

static const LowerFamily lower_families[] = {
    {"map", lower_map},
    {"row", lower_row},
    {"contract", lower_contract},
    {"transform", lower_transform},
    {"attention", lower_attention},
    {"scan", lower_scan},
};

static bool lower_as(Plan *plan, Program *program, Diags *diags, const PlanStep *step,
                     const Alternative *alternative, LoweredAlternative *out) {
    const char *family = graph_node(plan->graph, step->node)->family;
    out->first = program->dispatches.len;
    for (unsigned i = 0; i < sizeof lower_families / sizeof lower_families[0]; i++) {
        if (strcmp(lower_families[i].name, family) != 0) continue;
        Lower l = lower_begin(plan, program, diags, step->node, &alternative->schedule);
        l.alternative = alternative;
        if (!lower_check_schedule(&l, &alternative->schedule, &plan->target) ||
            !lower_families[i].lower(&l))
            return false;
        out->count = program->dispatches.len - out->first;
        program->dispatches.at[out->first].barrier = step->barrier;
        plan_barriers_within(plan, &program->dispatches.at[out->first], out->count);
        return true;
    }
    diag_error(diags, (Span){0}, "%s: there is no family %s",
               graph_node(plan->graph, step->node)->name, family);
    return false;
}

static bool lower_alternative(Plan *plan, Program *program, Diags *diags, const PlanStep *step,
                              const Alternative *alternative, LoweredAlternative *out) {
    DimTable *dims = plan->graph->dims;
    DimScope *scope = plan_assume(dims, alternative->condition, alternative->conditions);
    bool good = lower_as(plan, program, diags, step, alternative, out);
    dim_scope_end(dims, scope);
    return good;
}

typedef VEC(LoweredStep) LoweredList;

static bool lower_steps(Plan *plan, Program *program, Diags *diags, const PlanStep *steps,
                        uint32_t count, LoweredList *out) {
    Arena *arena = plan->graph->arena;
    for (uint32_t i = 0; i < count; i++) {
        LoweredStep lowered = {0};
        for (uint32_t a = 0; a < steps[i].alternatives.len; a++) {
            LoweredAlternative done = {0};
            if (!lower_alternative(plan, program, diags, &steps[i], &steps[i].alternatives.at[a],
                                   &done))
                return false;
            vec_push(arena, &lowered.alternatives, done);
        }
        vec_push(arena, out, lowered);
    }
    return true;
}

bool lower_program(Plan *plan, Diags *diags, Program **out) {
    Program *program = arena_alloc(plan->graph->arena, sizeof *program);
    program->plan = plan;
    LoweredList run = {0}, prepare = {0};
    if (!lower_steps(plan, program, diags, plan->run.at, plan->run.len, &run) ||
        !lower_steps(plan, program, diags, plan->prepare.at, plan->prepare.len, &prepare))
        return false;
    program->run.at = run.at, program->run.len = run.len, program->run.cap = run.cap;
    program->prepare.at = prepare.at, program->prepare.len = prepare.len;
    program->prepare.cap = prepare.cap;
    *out = program;
    return true;
}
