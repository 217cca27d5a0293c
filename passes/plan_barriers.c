// Barriers only where a step touches bytes that a step since the last barrier wrote, or writes
// bytes that one has read. The first step of a repeat's body always has one: trips follow each
// other.
#include "passes/plan_internal.h"

// So many ranges are compared with those of a step; past that it gets a barrier unseen, which costs
// nothing after hundreds of dispatches, and the time stays in proportion to the steps.
enum { OPEN_MAX = 1024 };

typedef struct Range {
    const Placement *place;
    bool write;
    bool fixed; // both ends are numbers
    Dim end;
    int64_t from, to; // if fixed
} Range;

typedef struct BarrierState {
    const Plan *plan;
    VEC(Range) open; // since the last barrier
} BarrierState;

static Range barrier_range(const Plan *plan, const Access *access) {
    DimTable *dims = plan->graph->dims;
    Range range = {.place = plan_placement(plan, access->value), .write = access->write};
    if (!range.place) return range;
    range.end = dim_add(dims, range.place->offset, range.place->bytes);
    range.fixed = dim_is_const(dims, range.place->offset, &range.from) &&
                  dim_is_const(dims, range.end, &range.to);
    return range;
}

static bool barrier_apart(DimTable *dims, const Range *a, const Range *b) {
    if (a->place->kind != b->place->kind || a->place->index != b->place->index) return true;
    if (a->fixed && b->fixed) return a->to <= b->from || b->to <= a->from;
    return dim_prove(dims, a->end, DIM_LE, b->place->offset) == PROOF_YES ||
           dim_prove(dims, b->end, DIM_LE, a->place->offset) == PROOF_YES;
}

static bool barrier_needed(const BarrierState *state, const Range *ranges, uint32_t count) {
    if (state->open.len > OPEN_MAX) return true;
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t i = 0; ranges[a].place && i < state->open.len; i++) {
            const Range *range = &state->open.at[i];
            if ((range->write || ranges[a].write) &&
                !barrier_apart(state->plan->graph->dims, range, &ranges[a]))
                return true;
        }
    }
    return false;
}

static void plan_barriers_of(Plan *plan, PlanStep *steps, uint32_t count) {
    Graph *g = plan->graph;
    BarrierState state = {.plan = plan};
    bool entered = false;
    for (uint32_t i = 0; i < count; i++) {
        PlanStep *step = &steps[i];
        step->barrier = false;
        if (!step->node) continue;
        if (graph_node(g, step->node)->kind == NODE_REPEAT) {
            entered = true;
            continue;
        }
        AccessList list = plan_accesses(g->arena, g, step->node);
        Range *ranges = arena_alloc(g->arena, (list.len + 1) * sizeof *ranges);
        for (uint32_t a = 0; a < list.len; a++) ranges[a] = barrier_range(plan, &list.at[a]);
        step->barrier = entered || barrier_needed(&state, ranges, list.len);
        entered = false;
        if (step->barrier) state.open.len = 0;
        for (uint32_t a = 0; a < list.len; a++)
            if (ranges[a].place) vec_push(g->arena, &state.open, ranges[a]);
    }
}

void plan_barriers(Plan *plan) {
    plan_barriers_of(plan, plan->run.at, plan->run.len);
    plan_barriers_of(plan, plan->prepare.at, plan->prepare.len);
}
