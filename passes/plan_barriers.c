// Barriers only where a step touches bytes that a step since the last barrier wrote, or writes
// bytes that one has read. The first step of a repeat's body always has one: trips follow each
// other.
#include "passes/plan_internal.h"

typedef struct Range {
    const Placement *place;
    bool write;
} Range;

typedef struct BarrierState {
    const Plan *plan;
    VEC(Range) open; // since the last barrier
} BarrierState;

static bool barrier_apart(DimTable *dims, const Placement *a, const Placement *b) {
    if (a->kind != b->kind || a->index != b->index) return true;
    Dim end_a = dim_add(dims, a->offset, a->bytes), end_b = dim_add(dims, b->offset, b->bytes);
    return dim_prove(dims, end_a, DIM_LE, b->offset) == PROOF_YES ||
           dim_prove(dims, end_b, DIM_LE, a->offset) == PROOF_YES;
}

static bool barrier_needed(const BarrierState *state, const AccessList *list) {
    for (uint32_t a = 0; a < list->len; a++) {
        const Placement *place = plan_placement(state->plan, list->at[a].value);
        for (uint32_t i = 0; place && i < state->open.len; i++) {
            const Range *range = &state->open.at[i];
            if ((range->write || list->at[a].write) &&
                !barrier_apart(state->plan->graph->dims, range->place, place))
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
        step->barrier = entered || barrier_needed(&state, &list);
        entered = false;
        if (step->barrier) state.open.len = 0;
        for (uint32_t a = 0; a < list.len; a++) {
            const Placement *place = plan_placement(plan, list.at[a].value);
            if (place) vec_push(g->arena, &state.open, (Range){place, list.at[a].write});
        }
    }
}

void plan_barriers(Plan *plan) {
    plan_barriers_of(plan, plan->run.at, plan->run.len);
    plan_barriers_of(plan, plan->prepare.at, plan->prepare.len);
}
