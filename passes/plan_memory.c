// Where each value lives: what the host brings and takes in its own buffers, weights, states and
// constants one after the other in blocks of their own, intermediates in an arena with reuse.
//
// A value carried round a repeat has two halves that take turns: trip i reads half (i - lo) % 2 and
// writes the other. In a repeat weights, states and what `prepare` makes have one copy a trip.
#include "passes/plan_internal.h"

#include "passes/arena_fit.h"

enum { BLOCK_ALIGN = 256 };

typedef struct Memory {
    Plan *plan;
    Graph *graph;
    DimTable *dims;
    Diags *diags;
    Arena *arena;
    bool *placed;        // per value
    bool *run_uses;      // per value: read by a step of run, or an output
    uint32_t *item;      // per value: index + 1 into items
    uint32_t *workspace; // per step of run: likewise
    VEC(ArenaItem) items;
    Dim *blocks[BUF_RAW + 1]; // bytes so far of each block
} Memory;

static void memory_place(Memory *m, ValueId value, BufferKind kind, uint32_t index, Dim offset,
                         Dim bytes) {
    Placement place = {value, kind, index, offset, bytes};
    vec_push(m->arena, &m->plan->placements, place);
    m->placed[value] = true;
}

static Dim memory_bytes(Memory *m, ValueId value) {
    return type_bytes(m->dims, &graph_value(m->graph, value)->type);
}

// The next bytes of a block, one copy for each trip of the repeats around the value's node;
// constants are the same in all trips.
static void memory_append(Memory *m, ValueId value, BufferKind kind) {
    DimTable *dims = m->dims;
    Dim bytes = memory_bytes(m, value), stride = dim_align_up(dims, bytes, BLOCK_ALIGN);
    Dim *end = m->blocks[kind], offset = *end;
    RegionId region = graph_node(m->graph, graph_value(m->graph, value)->node)->region;
    for (; region && kind != BUF_CONST;) {
        NodeId owner = m->graph->regions.at[region].owner;
        if (!owner) break;
        const Node *node = graph_node(m->graph, owner);
        if (node->kind == NODE_REPEAT) {
            Dim trip = dim_sub(dims, node->trip, dim_const(dims, node->lo));
            offset = dim_add(dims, offset, dim_mul(dims, trip, stride));
            stride = dim_mul(dims, stride, dim_const(dims, node->hi - node->lo));
        }
        region = node->region;
    }
    *end = dim_add(dims, *end, stride);
    memory_place(m, value, kind, 0, offset, bytes);
}

static void memory_uses(Memory *m) {
    const Graph *g = m->graph;
    for (uint32_t i = 0; i < m->plan->run.len; i++) {
        NodeId node = m->plan->run.at[i].node;
        if (!node || graph_node(g, node)->kind != NODE_FUSED) continue;
        AccessList list = plan_accesses(m->arena, g, node);
        for (uint32_t a = 0; a < list.len; a++)
            if (list.at[a].read) m->run_uses[list.at[a].value] = true;
    }
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_REPEAT) continue;
        for (uint32_t i = 0; i < node->operands; i++) {
            m->run_uses[plan_memory_base(g, node->operand[i])] = true;
            m->run_uses[plan_memory_base(g, node->yield[i])] = true;
        }
    }
    for (uint32_t i = 0; i < g->outputs.len; i++)
        m->run_uses[plan_memory_base(g, g->outputs.at[i].value)] = true;
}

// Declared tensors, versions of states, and what prepare makes.
static void memory_declared(Memory *m) {
    const Graph *g = m->graph;
    uint32_t inputs = 0;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || node->results == 0) continue;
        ValueId value = node->result[0];
        switch (node->op) {
        case OP_INPUT:
            memory_place(m, value, BUF_INPUT, inputs++, dim_const(m->dims, 0),
                         memory_bytes(m, value));
            break;
        case OP_PARAM:
            if (m->run_uses[value]) memory_append(m, value, BUF_PARAM);
            break; // what only prepare reads is placed with its unit
        case OP_CONST: memory_append(m, value, BUF_CONST); break;
        case OP_STATE: memory_append(m, value, BUF_STATE); break;
        default: break;
        }
    }
}

// Units are prepared one after another, so each has the whole staging block for itself.
static void memory_units(Memory *m) {
    const Graph *g = m->graph;
    Dim *staging = m->blocks[BUF_RAW], largest = dim_const(m->dims, 0);
    for (uint32_t u = 0; u < m->plan->units.len; u++) {
        const PrepareUnit *unit = &m->plan->units.at[u];
        *staging = dim_const(m->dims, 0);
        for (uint32_t i = 0; i < unit->params.len; i++)
            if (!m->run_uses[unit->params.at[i]]) memory_append(m, unit->params.at[i], BUF_RAW);
        for (uint32_t i = unit->first; i < unit->first + unit->count; i++) {
            NodeId id = m->plan->prepare.at[i].node;
            if (!id || graph_node(g, id)->kind != NODE_FUSED) continue;
            const Node *node = graph_node(g, id);
            for (uint32_t r = 0; r < node->results; r++)
                memory_append(m, node->result[r],
                              m->run_uses[node->result[r]] ? BUF_PARAM : BUF_RAW);
        }
        largest = dim_max(m->dims, largest, *staging);
    }
    *staging = largest;
}

static void memory_states(Memory *m) {
    const Graph *g = m->graph;
    for (ValueId value = 1; value < g->values.len; value++) {
        NodeId state = m->placed[value] ? 0 : graph_state_of(g, value);
        if (!state) continue;
        ValueId first = graph_node(g, state)->result[0];
        for (uint32_t i = 0; i < m->plan->placements.len; i++) {
            Placement place = m->plan->placements.at[i];
            if (place.value != first) continue;
            memory_place(m, value, place.kind, place.index, place.offset, place.bytes);
            break;
        }
    }
}

static bool memory_outputs(Memory *m) {
    const Graph *g = m->graph;
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        ValueId value = g->outputs.at[i].value;
        if (m->placed[value]) {
            diag_error(m->diags, (Span){.line = g->outputs.at[i].loc.line},
                       "output %s has no memory of its own", g->outputs.at[i].name);
            return false;
        }
        memory_place(m, value, BUF_OUTPUT, i, dim_const(m->dims, 0), memory_bytes(m, value));
    }
    return true;
}

// The step that closes the repeat opened by step `open`.
static uint32_t memory_close(const Plan *plan, uint32_t open) {
    uint32_t depth = 0;
    for (uint32_t i = open;; i++) {
        NodeId node = plan->run.at[i].node;
        if (!node) {
            if (--depth == 0) return i;
        } else if (graph_node(plan->graph, node)->kind == NODE_REPEAT) {
            depth++;
        }
    }
}

static uint32_t memory_item(Memory *m, ValueId value) {
    if (m->item[value]) return m->item[value] - 1;
    ArenaItem item = {.first = UINT32_MAX, .bytes = memory_bytes(m, value)};
    vec_push(m->arena, &m->items, item);
    m->item[value] = m->items.len;
    return m->items.len - 1;
}

// A carried value: initial value, parameter, yield and result share one item of two halves.
static bool memory_carry(Memory *m, const Node *repeat, uint32_t open, uint32_t close) {
    for (uint32_t i = 0; i < repeat->operands; i++) {
        ValueId init = repeat->operand[i], yield = repeat->yield[i];
        if (m->placed[init]) continue; // a state's version
        if (m->placed[yield] || m->item[yield] || m->placed[repeat->result[i]]) {
            diag_error(m->diags, (Span){0}, "the carried value %s has no memory of its own",
                       graph_value(m->graph, init)->name);
            return false;
        }
        uint32_t item = memory_item(m, init);
        m->item[repeat->param[i]] = m->item[yield] = m->item[repeat->result[i]] = item + 1;
        ArenaItem *at = &m->items.at[item];
        at->bytes = dim_mul(m->dims, dim_align_up(m->dims, memory_bytes(m, init), BLOCK_ALIGN),
                            dim_const(m->dims, 2));
        if (open < at->first) at->first = open;
        if (close > at->last) at->last = close;
    }
    return true;
}

static void memory_touch(Memory *m, ValueId value, uint32_t step, const uint32_t *close) {
    if (m->placed[value]) return;
    uint32_t number = memory_item(m, value); // may move the items
    ArenaItem *item = &m->items.at[number];
    if (item->first == UINT32_MAX) item->first = step;
    uint32_t until = step; // the end of the outermost repeat that was entered since
    for (uint32_t open = item->first + 1; open < step; open++)
        if (close[open] > until) until = close[open];
    if (until > item->last) item->last = until;
}

// What the alternatives of a step need for themselves while it runs: one of them is taken.
static void memory_workspace(Memory *m, uint32_t step) {
    const PlanStep *at = &m->plan->run.at[step];
    ArenaItem item = {.first = step, .last = step, .bytes = DIM_NONE};
    for (uint32_t i = 0; i < at->alternatives.len; i++) {
        Dim bytes = at->alternatives.at[i].workspace;
        if (bytes == DIM_NONE) continue;
        item.bytes = item.bytes == DIM_NONE ? bytes : dim_max(m->dims, item.bytes, bytes);
    }
    if (item.bytes == DIM_NONE) return;
    vec_push(m->arena, &m->items, item);
    m->workspace[step] = m->items.len;
}

static bool memory_lives(Memory *m) {
    Plan *plan = m->plan;
    m->workspace = arena_alloc(m->arena, (plan->run.len + 1) * sizeof *m->workspace);
    uint32_t *close = arena_alloc(m->arena, (plan->run.len + 1) * sizeof *close);
    for (uint32_t i = 0; i < plan->run.len; i++) {
        NodeId id = plan->run.at[i].node;
        if (!id) continue;
        const Node *node = graph_node(m->graph, id);
        if (node->kind == NODE_REPEAT) {
            close[i] = memory_close(plan, i);
            if (!memory_carry(m, node, i, close[i])) return false;
            continue;
        }
        AccessList list = plan_accesses(m->arena, m->graph, id);
        for (uint32_t a = 0; a < list.len; a++) memory_touch(m, list.at[a].value, i, close);
        memory_workspace(m, i);
    }
    return true;
}

static void memory_place_carried(Memory *m, const Node *repeat) {
    DimTable *dims = m->dims;
    for (uint32_t i = 0; i < repeat->operands; i++) {
        if (m->placed[repeat->operand[i]]) continue;
        Dim base = m->items.at[m->item[repeat->operand[i]] - 1].offset;
        Dim bytes = memory_bytes(m, repeat->operand[i]);
        Dim half = dim_align_up(dims, bytes, BLOCK_ALIGN), two = dim_const(dims, 2);
        Dim trip = dim_sub(dims, repeat->trip, dim_const(dims, repeat->lo));
        Dim odd = dim_floor_mod(dims, trip, two), even = dim_sub(dims, dim_const(dims, 1), odd);
        Dim end = dim_const(dims, (repeat->hi - repeat->lo) % 2);
        ValueId value[3] = {repeat->param[i], repeat->yield[i], repeat->result[i]};
        Dim which[3] = {odd, even, end};
        for (unsigned v = 0; v < 3; v++)
            memory_place(m, value[v], BUF_ARENA, 0,
                         dim_add(dims, base, dim_mul(dims, which[v], half)), bytes);
    }
}

static void memory_arena(Memory *m) {
    m->plan->arena_bytes = arena_fit(m->dims, m->arena, m->items.at, m->items.len);
    for (uint32_t i = 0; i < m->plan->run.len; i++) {
        NodeId id = m->plan->run.at[i].node;
        if (id && graph_node(m->graph, id)->kind == NODE_REPEAT)
            memory_place_carried(m, graph_node(m->graph, id));
        PlanStep *step = &m->plan->run.at[i];
        for (uint32_t a = 0; m->workspace[i] && a < step->alternatives.len; a++)
            step->alternatives.at[a].workspace_offset = m->items.at[m->workspace[i] - 1].offset;
    }
    for (ValueId value = 1; value < m->graph->values.len; value++)
        if (m->item[value] && !m->placed[value])
            memory_place(m, value, BUF_ARENA, 0, m->items.at[m->item[value] - 1].offset,
                         memory_bytes(m, value));
}

bool plan_memory(Plan *plan, Diags *diags) {
    Graph *g = plan->graph;
    Memory m = {.plan = plan, .graph = g, .dims = g->dims, .diags = diags, .arena = g->arena};
    m.placed = arena_alloc(m.arena, g->values.len);
    m.run_uses = arena_alloc(m.arena, g->values.len);
    m.item = arena_alloc(m.arena, g->values.len * sizeof *m.item);
    m.blocks[BUF_PARAM] = &plan->param_bytes, m.blocks[BUF_STATE] = &plan->state_bytes;
    m.blocks[BUF_CONST] = &plan->const_bytes, m.blocks[BUF_RAW] = &plan->raw_bytes;
    memory_uses(&m);
    memory_declared(&m);
    memory_units(&m);
    memory_states(&m);
    if (!memory_outputs(&m) || !memory_lives(&m)) return false;
    memory_arena(&m);
    plan_sort_placements(plan);
    return true;
}

bool plan_liveness_bound(const Plan *plan, const int64_t *symbols, int64_t *bytes) {
    Graph *g = plan->graph;
    Diags *diags = diags_create();
    Plan copy = *plan;
    Memory m = {.plan = &copy, .graph = g, .dims = g->dims, .diags = diags, .arena = g->arena};
    m.placed = arena_alloc(m.arena, g->values.len);
    m.item = arena_alloc(m.arena, g->values.len * sizeof *m.item);
    for (uint32_t i = 0; i < plan->placements.len; i++)
        if (plan->placements.at[i].kind != BUF_ARENA) m.placed[plan->placements.at[i].value] = true;
    bool ok = memory_lives(&m);
    *bytes = 0;
    for (uint32_t step = 0; ok && step < plan->run.len; step++) {
        int64_t live = 0, size;
        for (uint32_t i = 0; ok && i < m.items.len; i++) {
            if (m.items.at[i].first > step || m.items.at[i].last < step) continue;
            ok = dim_eval(g->dims, m.items.at[i].bytes, symbols, &size) &&
                 checked_add(live, size, &live);
        }
        if (live > *bytes) *bytes = live;
    }
    diags_destroy(diags);
    return ok;
}
