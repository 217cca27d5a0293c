// What a plan promises: every step once with a schedule for every target, every value in memory
// with a place of its own while it lives, and a barrier between any two steps that conflict.
#include <stdlib.h>
#include <string.h>

#include "ir/hazard.h"
#include "ir/plan_names.h"

enum { TRIPS_CHECKED = 3 }; // of each repeat: parity and what follows are seen in so many

typedef struct Verify {
    const Plan *plan;
    const Graph *g;
    Diags *diags;
    Arena *arena; // scratch
    int64_t symbols[64];
    VEC(NodeId) met; // groups in the order of running
    bool good;
} Verify;

static void complain(Verify *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(Verify *v, const char *format, ...) {
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    diag_error(v->diags, (Span){0}, "plan: %s", text.data);
    text_free(&text);
    v->good = false;
}

static const char *value_name(const Verify *v, ValueId value) {
    Text text = {0};
    plan_print_value(v->g, value, &text);
    const char *name = arena_strdup(v->arena, text.data);
    text_free(&text);
    return name;
}

// ---- steps ----

static void check_step(Verify *v, const PlanStep *step) {
    const Node *node = graph_node(v->g, step->node);
    if (step->alternatives.len == 0) {
        complain(v, "step %s has no alternative", node->name);
        return;
    }
    const Alternative *last = &step->alternatives.at[step->alternatives.len - 1];
    if (last->features || last->shared_bytes || last->fragment.m || last->conditions)
        complain(v, "the last alternative of step %s has a guard", node->name);
    for (uint32_t a = 0; a < step->alternatives.len; a++) {
        const Alternative *one = &step->alternatives.at[a];
        for (uint32_t c = 0; c < one->conditions; c++) {
            uint64_t used = dim_symbols(v->g->dims, one->condition[c].left) |
                            dim_symbols(v->g->dims, one->condition[c].right);
            for (uint32_t i = 0; i < dim_symbol_count(v->g->dims); i++)
                if (used >> i & 1 && dim_symbol_source(v->g->dims, i) == DIM_FROM_HOST)
                    complain(v, "step %s is chosen by %s, which the host sets for each run",
                             node->name, dim_symbol_name(v->g->dims, i));
        }
    }
}

static void count_steps(Verify *v, const PlanStep *steps, uint32_t count, bool prepare,
                        uint32_t *seen) {
    for (uint32_t i = 0; i < count; i++) {
        NodeId id = steps[i].node;
        if (!id || graph_node(v->g, id)->kind != NODE_FUSED) continue;
        seen[id]++;
        check_step(v, &steps[i]);
        if (graph_node(v->g, id)->prepare != prepare)
            complain(v, "step %s stands in the wrong program", graph_node(v->g, id)->name);
    }
}

// The steps of `run` are the groups and repeats of a region in its order; gives where they end.
static uint32_t check_order(Verify *v, RegionId region, uint32_t at) {
    const Region *nodes = &v->g->regions.at[region];
    for (uint32_t i = 0; i < nodes->nodes.len && v->good; i++) {
        NodeId id = nodes->nodes.at[i];
        const Node *node = graph_node(v->g, id);
        if (node->kind == NODE_OP || (node->kind == NODE_FUSED && node->prepare)) continue;
        if (at < v->plan->run.len && v->plan->run.at[at].node == id) {
            at++;
            if (node->kind != NODE_REPEAT) continue;
            at = check_order(v, node->body, at);
            if (at < v->plan->run.len && v->plan->run.at[at].node == 0) {
                at++;
                continue;
            }
        } else if (node->kind == NODE_REPEAT) {
            continue; // all of it went to prepare; else its groups are missed
        }
        complain(v, "steps do not stand in the order of the graph");
    }
    return at;
}

static void check_steps(Verify *v) {
    uint32_t *seen = arena_alloc(v->arena, v->g->nodes.len * sizeof *seen);
    count_steps(v, v->plan->run.at, v->plan->run.len, false, seen);
    count_steps(v, v->plan->prepare.at, v->plan->prepare.len, true, seen);
    for (NodeId id = 1; id < v->g->nodes.len; id++)
        if (graph_node(v->g, id)->kind == NODE_FUSED && seen[id] != 1)
            complain(v, "group %s stands in %u steps", graph_node(v->g, id)->name, seen[id]);
    if (v->good && check_order(v, 1, 0) != v->plan->run.len && v->good)
        complain(v, "steps do not stand in the order of the graph");
}

// ---- lives ----

typedef struct Life {
    uint32_t first, last;
    uint32_t carried; // number of the carried value it is part of, from 1; 0: none
    enum { CARRIED_INIT, CARRIED_PARAM, CARRIED_YIELD, CARRIED_RESULT } role;
} Life;

static void live(Life *life, uint32_t step, const uint32_t *close) {
    if (life->first == UINT32_MAX) life->first = step;
    uint32_t last = step;
    for (uint32_t open = life->first + 1; open < step; open++)
        if (close[open] > last) last = close[open];
    if (last > life->last) life->last = last;
}

static uint32_t *closing_steps(Verify *v) {
    const Plan *plan = v->plan;
    uint32_t *close = arena_alloc(v->arena, (plan->run.len + 1) * sizeof *close);
    VEC(uint32_t) open = {0};
    for (uint32_t i = 0; i < plan->run.len; i++) {
        NodeId node = plan->run.at[i].node;
        if (!node && open.len > 0) close[open.at[--open.len]] = i;
        if (node && graph_node(v->g, node)->kind == NODE_REPEAT) vec_push(v->arena, &open, i);
    }
    if (open.len) complain(v, "a repeat is not closed");
    return close;
}

static Life *find_lives(Verify *v) {
    const Plan *plan = v->plan;
    uint32_t *close = closing_steps(v), carried = 0;
    Life *lives = arena_alloc(v->arena, v->g->values.len * sizeof *lives);
    for (ValueId value = 0; value < v->g->values.len; value++) lives[value].first = UINT32_MAX;
    for (uint32_t i = 0; i < plan->run.len; i++) {
        NodeId id = plan->run.at[i].node;
        if (!id) continue;
        const Node *node = graph_node(v->g, id);
        if (node->kind == NODE_FUSED) {
            AccessList list = plan_accesses(v->arena, v->g, id);
            for (uint32_t a = 0; a < list.len; a++) live(&lives[list.at[a].value], i, close);
            continue;
        }
        for (uint32_t o = 0; o < node->operands; o++) {
            ValueId part[] = {node->operand[o], node->param[o], node->yield[o], node->result[o]};
            carried++;
            for (unsigned p = 0; p < 4; p++) {
                lives[part[p]].carried = carried, lives[part[p]].role = p;
                live(&lives[part[p]], i, close);
                live(&lives[part[p]], close[i], close);
            }
        }
    }
    return lives;
}

// ---- placements ----

static bool evaluate(Verify *v, Dim dim, int64_t *value) {
    return dim_eval(v->g->dims, dim, v->symbols, value);
}

// The host's tensors are those of the graph, in its order; every other memory is one block.
static bool is_own_buffer(const Verify *v, const Placement *place) {
    NodeId node = graph_value(v->g, place->value)->node;
    uint32_t number = 0;
    switch (place->kind) {
    case BUF_INPUT:
        if (!node || graph_node(v->g, node)->op != OP_INPUT) return false;
        for (NodeId id = 1; id < node; id++)
            number += graph_node(v->g, id)->kind == NODE_OP && graph_node(v->g, id)->op == OP_INPUT;
        return place->index == number;
    case BUF_OUTPUT:
        return place->index < v->g->outputs.len &&
               v->g->outputs.at[place->index].value == place->value;
    default: return place->index == 0;
    }
}

static void check_places(Verify *v) {
    const Plan *plan = v->plan;
    for (uint32_t i = 0; i < plan->placements.len; i++) {
        const Placement *place = &plan->placements.at[i];
        if (i > 0 && place->value == plan->placements.at[i - 1].value)
            complain(v, "%s is placed twice", value_name(v, place->value));
        else if (!is_own_buffer(v, place))
            complain(v, "%s is placed in a buffer that is not its own",
                     value_name(v, place->value));
    }
}

static void check_placement(Verify *v, const Placement *place) {
    Dim bytes = type_bytes(v->g->dims, &graph_value(v->g, place->value)->type);
    if (bytes != place->bytes)
        complain(v, "%s is placed in a number of bytes that is not its own",
                 value_name(v, place->value));
    const Plan *plan = v->plan;
    Dim limit = place->kind == BUF_ARENA   ? plan->arena_bytes
                : place->kind == BUF_PARAM ? plan->param_bytes
                : place->kind == BUF_STATE ? plan->state_bytes
                : place->kind == BUF_CONST ? plan->const_bytes
                : place->kind == BUF_RAW   ? plan->raw_bytes
                                           : place->bytes;
    int64_t offset, size, end;
    if (!evaluate(v, place->offset, &offset) || !evaluate(v, bytes, &size) ||
        !evaluate(v, limit, &end))
        return;
    if (offset < 0 || offset % 256 != 0 || offset + size > end)
        complain(v, "%s lies outside its memory or is not aligned", value_name(v, place->value));
}

static bool may_share(const Life *lives, const Placement *a, const Placement *b) {
    const Life *x = &lives[a->value], *y = &lives[b->value];
    if (x->first == UINT32_MAX || y->first == UINT32_MAX) return true;
    if (x->carried && x->carried == y->carried) { // a trip must not write what it reads
        bool reads = x->role == CARRIED_PARAM || y->role == CARRIED_PARAM;
        return !reads || (x->role != CARRIED_YIELD && y->role != CARRIED_YIELD);
    }
    return x->first > y->last || y->first > x->last;
}

static void check_overlaps(Verify *v, const Life *lives) {
    const Plan *plan = v->plan;
    for (uint32_t i = 0; i < plan->placements.len; i++)
        for (uint32_t j = i + 1; j < plan->placements.len; j++) {
            const Placement *a = &plan->placements.at[i], *b = &plan->placements.at[j];
            int64_t a_first, a_size, b_first, b_size;
            if (a->kind != BUF_ARENA || b->kind != BUF_ARENA || may_share(lives, a, b)) continue;
            if (!evaluate(v, a->offset, &a_first) || !evaluate(v, a->bytes, &a_size) ||
                !evaluate(v, b->offset, &b_first) || !evaluate(v, b->bytes, &b_size))
                continue;
            if (a_first < b_first + b_size && b_first < a_first + a_size)
                complain(v, "%s and %s overlap while both live", value_name(v, a->value),
                         value_name(v, b->value));
        }
}

// The workspace of a step lies in the arena, beside what lives while it runs.
static void check_workspace(Verify *v, const Life *lives, uint32_t at) {
    const Plan *plan = v->plan;
    const PlanStep *step = &plan->run.at[at];
    for (uint32_t i = 0; i < step->alternatives.len && v->good; i++) {
        const Alternative *a = &step->alternatives.at[i];
        int64_t first, size, end;
        if (a->workspace == DIM_NONE || !evaluate(v, a->workspace, &size) ||
            !evaluate(v, a->workspace_offset, &first) || !evaluate(v, plan->arena_bytes, &end))
            continue;
        const char *name = graph_node(v->g, step->node)->name;
        if (first < 0 || first % 256 != 0 || size < 0 || first + size > end)
            complain(v, "the workspace of step %s lies outside the arena or is not aligned", name);
        for (uint32_t p = 0; p < plan->placements.len && v->good; p++) {
            const Placement *place = &plan->placements.at[p];
            const Life *life = &lives[place->value];
            int64_t from, bytes;
            if (place->kind != BUF_ARENA || life->first > at || life->last < at ||
                !evaluate(v, place->offset, &from) || !evaluate(v, place->bytes, &bytes))
                continue;
            if (first < from + bytes && from < first + size)
                complain(v, "the workspace of step %s overlaps %s, which lives then", name,
                         value_name(v, place->value));
        }
    }
}

static void check_workspaces(Verify *v, const Life *lives) {
    const Plan *plan = v->plan;
    for (uint32_t i = 0; i < plan->run.len && v->good; i++)
        if (plan->run.at[i].node) check_workspace(v, lives, i);
    for (uint32_t i = 0; i < plan->prepare.len; i++)
        for (uint32_t a = 0; a < plan->prepare.at[i].alternatives.len; a++)
            if (plan->prepare.at[i].alternatives.at[a].workspace != DIM_NONE)
                complain(v, "step %s has workspace, which there is none of in prepare",
                         graph_node(v->g, plan->prepare.at[i].node)->name);
}

// ---- barriers ----

static unsigned symbol_number(const Graph *g, Dim symbol) {
    return (unsigned)__builtin_ctzll(dim_symbols(g->dims, symbol));
}

static void touch_range(Verify *v, Hazards *h, HazardRange range) {
    uint32_t other;
    if (!hazards_add(h, range, &other))
        complain(v, "steps %s and %s touch the same bytes without a barrier between them",
                 graph_node(v->g, v->met.at[other])->name,
                 graph_node(v->g, v->met.at[range.step])->name);
}

static void touch_workspace(Verify *v, Hazards *h, const PlanStep *step) {
    for (uint32_t i = 0; i < step->alternatives.len && v->good; i++) {
        const Alternative *a = &step->alternatives.at[i];
        int64_t first, size;
        if (a->workspace == DIM_NONE || !evaluate(v, a->workspace_offset, &first) ||
            !evaluate(v, a->workspace, &size))
            continue;
        touch_range(v, h,
                    (HazardRange){BUF_ARENA, 0, first, first + size, true, true, v->met.len - 1});
    }
}

static void touch_step(Verify *v, Hazards *h, const PlanStep *steps, uint32_t at) {
    AccessList list = plan_accesses(v->arena, v->g, steps[at].node);
    if (steps[at].barrier) hazards_barrier(h);
    vec_push(v->arena, &v->met, steps[at].node);
    touch_workspace(v, h, &steps[at]);
    for (uint32_t a = 0; a < list.len && v->good; a++) {
        const Placement *place = plan_placement(v->plan, list.at[a].value);
        int64_t first, size;
        if (!place) {
            complain(v, "%s has no place in memory", value_name(v, list.at[a].value));
            continue;
        }
        if (!evaluate(v, place->offset, &first) || !evaluate(v, place->bytes, &size)) continue;
        HazardRange range = {place->kind,     place->index,     first,         first + size,
                             list.at[a].read, list.at[a].write, v->met.len - 1};
        touch_range(v, h, range);
    }
}

static uint32_t walk_steps(Verify *v, Hazards *h, const PlanStep *steps, uint32_t count,
                           uint32_t at) {
    for (; at < count && steps[at].node && v->good; at++) {
        const Node *node = graph_node(v->g, steps[at].node);
        if (node->kind == NODE_FUSED) {
            touch_step(v, h, steps, at);
            continue;
        }
        uint32_t end = at + 1;
        for (int64_t i = node->lo; i < node->hi && i < node->lo + TRIPS_CHECKED && v->good; i++) {
            v->symbols[symbol_number(v->g, node->trip)] = i;
            end = walk_steps(v, h, steps, count, at + 1);
        }
        at = end;
    }
    return at;
}

static void check_barriers(Verify *v) {
    const Plan *plan = v->plan;
    Hazards run = {.arena = v->arena}, prepare = {.arena = v->arena};
    v->met.len = 0;
    walk_steps(v, &run, plan->run.at, plan->run.len, 0);
    for (uint32_t i = 0; i < plan->units.len && v->good; i++) {
        const PrepareUnit *unit = &plan->units.at[i];
        hazards_barrier(&prepare);
        walk_steps(v, &prepare, &plan->prepare.at[unit->first], unit->count, 0);
    }
}

bool plan_verify(const Plan *plan, Diags *diags) {
    Verify *v = memory_or_exit(calloc(1, sizeof *v));
    *v = (Verify){.plan = plan, .g = plan->graph, .diags = diags, .good = true};
    v->arena = arena_create();
    check_steps(v);
    if (v->good) check_places(v);
    Life *lives = v->good ? find_lives(v) : NULL;
    for (unsigned point = 0; point < SAMPLE_POINTS && v->good; point++) {
        if (!sample_point(v->g, point, v->symbols)) continue;
        for (uint32_t i = 0; i < plan->placements.len && v->good; i++)
            check_placement(v, &plan->placements.at[i]);
        if (v->good) check_overlaps(v, lives);
        if (v->good) check_workspaces(v, lives);
        if (v->good) check_barriers(v);
    }
    bool good = v->good;
    arena_destroy(v->arena);
    free(v);
    return good;
}
