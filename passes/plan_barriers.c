// Barriers only where a step touches bytes that a step since the last barrier wrote, or writes
// bytes that one has read. The first step of a repeat's body always has one: trips follow each
// other.
#include "passes/plan_internal.h"

// So many ranges are compared with those of a step; past that it gets a barrier unseen, which costs
// nothing after hundreds of dispatches, and the time stays in proportion to the steps.
enum { OPEN_MAX = 1024 };

typedef struct Range {
    BufferKind kind;
    uint32_t index;
    bool write;
    bool fixed; // both ends are numbers
    Dim offset, end;
    int64_t from, to; // if fixed
} Range;

typedef VEC(Range) RangeList;

typedef struct BarrierState {
    const Plan *plan;
    RangeList open; // since the last barrier
} BarrierState;

static Range barrier_range(const Plan *plan, BufferKind kind, uint32_t index, Dim offset, Dim bytes,
                           bool write) {
    DimTable *dims = plan->graph->dims;
    Range range = {.kind = kind, .index = index, .write = write, .offset = offset};
    range.end = dim_add(dims, offset, bytes);
    range.fixed =
        dim_is_const(dims, offset, &range.from) && dim_is_const(dims, range.end, &range.to);
    return range;
}

static bool barrier_apart(DimTable *dims, const Range *a, const Range *b) {
    if (a->kind != b->kind || a->index != b->index) return true;
    if (a->fixed && b->fixed) return a->to <= b->from || b->to <= a->from;
    return dim_proved(dims, a->end, DIM_LE, b->offset) ||
           dim_proved(dims, b->end, DIM_LE, a->offset);
}

static bool barrier_needed(const BarrierState *state, const RangeList *ranges) {
    if (state->open.len > OPEN_MAX) return true;
    for (uint32_t a = 0; a < ranges->len; a++) {
        for (uint32_t i = 0; i < state->open.len; i++) {
            const Range *range = &state->open.at[i];
            if ((range->write || ranges->at[a].write) &&
                !barrier_apart(state->plan->graph->dims, range, &ranges->at[a]))
                return true;
        }
    }
    return false;
}

// Notes what comes next; `always`: a barrier stands before it whatever it touches. Whether one
// does.
static bool barrier_pass(BarrierState *state, const RangeList *ranges, bool always) {
    bool barrier = always || barrier_needed(state, ranges);
    if (barrier) state->open.len = 0;
    for (uint32_t a = 0; a < ranges->len; a++)
        vec_push(state->plan->graph->arena, &state->open, ranges->at[a]);
    return barrier;
}

static RangeList barrier_ranges(const Plan *plan, const PlanStep *step) {
    Arena *arena = plan->graph->arena;
    RangeList ranges = {0};
    AccessList list = plan_accesses(arena, plan->graph, step->node);
    for (uint32_t a = 0; a < list.len; a++) {
        const Placement *place = plan_placement(plan, list.at[a].value);
        if (!place) continue;
        Range range = barrier_range(plan, place->kind, place->index, place->offset, place->bytes,
                                    list.at[a].write);
        vec_push(arena, &ranges, range);
    }
    for (uint32_t i = 0; i < step->alternatives.len; i++) {
        const Alternative *a = &step->alternatives.at[i];
        if (a->workspace == DIM_NONE) continue;
        Range range = barrier_range(plan, BUF_ARENA, 0, a->workspace_offset, a->workspace, true);
        vec_push(arena, &ranges, range);
    }
    return ranges;
}

static void plan_barriers_of(Plan *plan, PlanStep *steps, uint32_t count) {
    BarrierState state = {.plan = plan};
    bool entered = false;
    for (uint32_t i = 0; i < count; i++) {
        PlanStep *step = &steps[i];
        step->barrier = false;
        if (!step->node) continue;
        if (graph_node(plan->graph, step->node)->kind == NODE_REPEAT) {
            entered = true;
            continue;
        }
        RangeList ranges = barrier_ranges(plan, step);
        step->barrier = barrier_pass(&state, &ranges, entered);
        entered = false;
    }
}

void plan_barriers_within(const Plan *plan, Dispatch *dispatches, uint32_t count) {
    BarrierState state = {.plan = plan};
    for (uint32_t d = 0; d < count; d++) {
        RangeList ranges = {0};
        for (uint32_t i = 0; i < dispatches[d].args; i++) {
            const DispatchArg *arg = &dispatches[d].arg[i];
            if (!arg->is_buffer) continue;
            Range range =
                barrier_range(plan, arg->kind, arg->index, arg->offset, arg->bytes, arg->write);
            vec_push(plan->graph->arena, &ranges, range);
        }
        bool barrier = barrier_pass(&state, &ranges, false);
        if (d) dispatches[d].barrier = barrier;
    }
}

void plan_barriers(Plan *plan) {
    plan_barriers_of(plan, plan->run.at, plan->run.len);
    plan_barriers_of(plan, plan->prepare.at, plan->prepare.len);
}
