// What a lowered program promises: kernels in order, arguments that fit their parameters and lie
// inside their memory, grids below the target's limits, barriers between conflicting dispatches.
#include <stdlib.h>

#include "ir/hazard.h"
#include "ir/program.h"

enum { TRIPS_CHECKED = 3 };

typedef struct Verify {
    const Program *program;
    const Plan *plan;
    Graph *g;
    Diags *diags;
    Arena *arena;
    int64_t symbols[64];
    uint32_t step; // a number for each dispatch met
    bool good;
} Verify;

static const char *dispatch_name(const Verify *v, const Dispatch *dispatch) {
    return v->program->kernels.at[dispatch->kernel]->name;
}

// The buffer that the plan gives the value; workspace lies in the arena.
static bool is_placed(const Verify *v, const DispatchArg *arg) {
    if (!arg->value) return arg->kind == BUF_ARENA && arg->index == 0;
    const Placement *place = plan_placement(v->plan, arg->value);
    return place && place->kind == arg->kind && place->index == arg->index &&
           place->offset == arg->offset && place->bytes == arg->bytes;
}

static bool check_arg(Verify *v, const Dispatch *dispatch, uint32_t index) {
    const KParam *param = &v->program->kernels.at[dispatch->kernel]->params.at[index];
    const DispatchArg *arg = &dispatch->arg[index];
    const char *wrong = NULL;
    if (arg->is_buffer != (param->kind == KP_BUFFER))
        wrong = "is of another kind";
    else if (arg->is_buffer && (arg->read != param->read || arg->write != param->write))
        wrong = "is used otherwise than the kernel says";
    else if (!arg->is_buffer && dim_bounds(v->g->dims, arg->scalar).lo < param->lo)
        wrong = "may be below what the kernel relies on";
    else if (!arg->is_buffer && param->multiple > 1 &&
             !dim_divides(v->g->dims, param->multiple, arg->scalar))
        wrong = "may not be the multiple that the kernel relies on";
    else if (arg->is_buffer && !is_placed(v, arg))
        wrong = "is not where the plan puts it";
    if (!wrong) return true;
    diag_error(v->diags, (Span){0}, "dispatch of %s: argument %s %s", dispatch_name(v, dispatch),
               param->name, wrong);
    return false;
}

static bool check_dispatch(Verify *v, const Dispatch *dispatch) {
    const Kernel *kernel = v->program->kernels.at[dispatch->kernel];
    if (dispatch->args != kernel->params.len) {
        diag_error(v->diags, (Span){0}, "dispatch of %s: %u arguments for %u parameters",
                   kernel->name, dispatch->args, kernel->params.len);
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < dispatch->args; i++) good = check_arg(v, dispatch, i) && good;
    for (unsigned i = 0; i < 3; i++) {
        DimBounds bounds = dim_bounds(v->g->dims, dispatch->grid[i]);
        if (bounds.lo >= 0 && bounds.hi <= v->plan->target.max_grid[i]) continue;
        diag_error(v->diags, (Span){0}, "dispatch of %s: the grid may exceed the target's limit",
                   kernel->name);
        good = false;
    }
    return good;
}

// The dispatches of all alternatives, each under its conditions.
static void check_steps(Verify *v, const PlanStep *steps, const LoweredStep *lowered,
                        uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t a = 0; a < lowered[i].alternatives.len; a++) {
            const Alternative *guard = &steps[i].alternatives.at[a];
            const LoweredAlternative *one = &lowered[i].alternatives.at[a];
            DimScope *scope = plan_assume(v->g->dims, guard->condition, guard->conditions);
            for (uint32_t d = 0; d < one->count; d++)
                v->good = check_dispatch(v, &v->program->dispatches.at[one->first + d]) && v->good;
            dim_scope_end(v->g->dims, scope);
        }
}

static int64_t block_bytes(const Verify *v, const DispatchArg *arg) {
    const Plan *plan = v->plan;
    Dim size = arg->kind == BUF_ARENA   ? plan->arena_bytes
               : arg->kind == BUF_PARAM ? plan->param_bytes
               : arg->kind == BUF_STATE ? plan->state_bytes
               : arg->kind == BUF_CONST ? plan->const_bytes
               : arg->kind == BUF_RAW   ? plan->raw_bytes
                                        : arg->bytes;
    int64_t value;
    return dim_eval(v->g->dims, size, v->symbols, &value) ? value : INT64_MAX;
}

static void touch(Verify *v, Hazards *h, const Dispatch *dispatch) {
    if (dispatch->barrier) hazards_barrier(h);
    v->step++;
    for (uint32_t i = 0; i < dispatch->args && v->good; i++) {
        const DispatchArg *arg = &dispatch->arg[i];
        int64_t first, size;
        uint32_t other;
        if (!arg->is_buffer || !dim_eval(v->g->dims, arg->offset, v->symbols, &first) ||
            !dim_eval(v->g->dims, arg->bytes, v->symbols, &size))
            continue;
        if (first < 0 || first + size > block_bytes(v, arg)) {
            diag_error(v->diags, (Span){0}, "dispatch of %s: a buffer lies outside its memory",
                       dispatch_name(v, dispatch));
            v->good = false;
        }
        HazardRange range = {arg->kind, arg->index, first,  first + size,
                             arg->read, arg->write, v->step};
        if (hazards_add(h, range, &other)) continue;
        diag_error(v->diags, (Span){0},
                   "dispatch of %s touches bytes of an earlier one without a barrier between them",
                   dispatch_name(v, dispatch));
        v->good = false;
    }
}

// Buffers of no value are parts of the alternative's workspace.
static bool in_workspace(const Verify *v, const DispatchArg *arg, const Alternative *alternative) {
    int64_t from, bytes, first, size;
    return alternative->workspace != DIM_NONE && arg->kind == BUF_ARENA &&
           dim_eval(v->g->dims, alternative->workspace_offset, v->symbols, &from) &&
           dim_eval(v->g->dims, alternative->workspace, v->symbols, &bytes) &&
           dim_eval(v->g->dims, arg->offset, v->symbols, &first) &&
           dim_eval(v->g->dims, arg->bytes, v->symbols, &size) && first >= from && size >= 0 &&
           size <= bytes && first - from <= bytes - size;
}

static void check_workspace(Verify *v, const Dispatch *dispatch, const Alternative *alternative) {
    for (uint32_t i = 0; i < dispatch->args && v->good; i++) {
        const DispatchArg *arg = &dispatch->arg[i];
        if (!arg->is_buffer || arg->value || in_workspace(v, arg, alternative)) continue;
        diag_error(v->diags, (Span){0}, "dispatch of %s: its workspace is not the alternative's",
                   dispatch_name(v, dispatch));
        v->good = false;
    }
}

static uint32_t walk(Verify *v, Hazards *h, const PlanStep *steps, const LoweredStep *lowered,
                     uint32_t count, uint32_t at, uint32_t alternative) {
    for (; at < count && steps[at].node && v->good; at++) {
        const Node *node = graph_node(v->g, steps[at].node);
        if (node->kind == NODE_FUSED) {
            uint32_t last = lowered[at].alternatives.len - 1;
            const LoweredAlternative *one =
                &lowered[at].alternatives.at[alternative < last ? alternative : last];
            const Alternative *own =
                &steps[at].alternatives.at[alternative < last ? alternative : last];
            for (uint32_t d = 0; d < one->count; d++) {
                const Dispatch *dispatch = &v->program->dispatches.at[one->first + d];
                check_workspace(v, dispatch, own);
                touch(v, h, dispatch);
            }
            continue;
        }
        unsigned trip = (unsigned)__builtin_ctzll(dim_symbols(v->g->dims, node->trip));
        uint32_t end = at + 1;
        for (int64_t i = node->lo; i < node->hi && i < node->lo + TRIPS_CHECKED && v->good; i++) {
            v->symbols[trip] = i;
            end = walk(v, h, steps, lowered, count, at + 1, alternative);
        }
        at = end;
    }
    return at;
}

static void check_hazards(Verify *v, uint32_t alternative) {
    const Plan *plan = v->plan;
    Hazards h = {.arena = v->arena};
    walk(v, &h, plan->run.at, v->program->run.at, plan->run.len, 0, alternative);
    for (uint32_t i = 0; i < plan->units.len && v->good; i++) {
        const PrepareUnit *unit = &plan->units.at[i];
        hazards_barrier(&h);
        walk(v, &h, &plan->prepare.at[unit->first], &v->program->prepare.at[unit->first],
             unit->count, 0, alternative);
    }
}

bool program_verify(const Program *program, Diags *diags) {
    Verify *v = memory_or_exit(calloc(1, sizeof *v));
    *v = (Verify){.program = program,
                  .plan = program->plan,
                  .g = program->plan->graph,
                  .diags = diags,
                  .good = true};
    v->arena = arena_create();
    for (uint32_t i = 0; i < program->kernels.len; i++)
        v->good = kernel_verify(program->kernels.at[i], diags) && v->good;
    check_steps(v, v->plan->run.at, program->run.at, program->run.len);
    check_steps(v, v->plan->prepare.at, program->prepare.at, program->prepare.len);
    uint32_t most = 0;
    for (uint32_t i = 0; i < program->run.len; i++)
        if (program->run.at[i].alternatives.len > most) most = program->run.at[i].alternatives.len;
    for (unsigned point = 0; point < SAMPLE_POINTS; point++)
        for (uint32_t alternative = 0; alternative < most && v->good; alternative++) {
            if (!sample_point(v->g, point, v->symbols)) continue;
            check_hazards(v, alternative);
        }
    bool good = v->good;
    arena_destroy(v->arena);
    free(v);
    return good;
}
