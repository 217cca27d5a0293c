#include "passes/fuse.h"

typedef struct Emit {
    Fuser *f;
    GraphCopy copy;
    Graph *to;
    uint8_t *state;   // per node: 0 not written, 1 being written, 2 written
    bool *outside;    // per value: read outside its group
    bool *multiplied; // per value: the second operand of a product
    uint32_t groups;
} Emit;

static bool emit_unit(Emit *e, NodeId id);
static bool emit_region(Emit *e, RegionId region);

// Counters and fills are not computed by a dispatch of their own: they stand beside their readers,
// like inline views.
static bool beside_reader(const Fuser *f, NodeId id) {
    const Node *node = graph_node(f->g, id);
    if (node->kind != NODE_OP) return false;
    if (node->inline_view) return true;
    return (node->op == OP_ARANGE || node->op == OP_FULL) && !f->group[id];
}

static bool writes_first(Emit *e, ValueId value, RegionId region) {
    if (!value) return true;
    NodeId from = graph_value(e->f->g, fuse_base(e->f->g, value))->node;
    if (!from || graph_node(e->f->g, from)->region != region) return true;
    if (beside_reader(e->f, from)) return true;
    return emit_unit(e, from);
}

// The new value of an operand; inline views are written beside their reader.
static ValueId operand(Emit *e, ValueId value) {
    const Graph *g = e->f->g;
    NodeId id = value ? graph_value(g, value)->node : 0;
    if (!id || !beside_reader(e->f, id)) return value ? e->copy.map[value] : 0;
    const Node *node = graph_node(g, id);
    ValueId x = node->operands ? operand(e, node->operand[0]) : 0;
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    NodeSpec spec = {.op = node->op,
                     .operand = &x,
                     .operands = node->operands,
                     .attr = attr,
                     .inline_view = node->inline_view,
                     .loc = node->loc,
                     .locs = node->locs,
                     .name = node->inline_view ? NULL : graph_value(g, value)->name,
                     .exact_name = !node->inline_view};
    NodeId added = graph_add(e->to, e->f->ctx->diags, &spec);
    return added ? graph_result(e->to, added, 0) : 0;
}

static bool emit_node(Emit *e, NodeId id) {
    const Node *node = graph_node(e->f->g, id);
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    ValueId *list = arena_alloc(e->to->arena, node->operands * sizeof *list);
    for (uint32_t i = 0; i < node->operands; i++) {
        list[i] = operand(e, node->operand[i]);
        if (node->operand[i] && !list[i]) return false;
    }
    const Value *result = graph_value(e->f->g, node->result[0]);
    const char *prologue = e->f->groups.at[e->f->group[id]].prologue;
    if (node->op == OP_CONTRACT && prologue) {
        Attr *reason = &attr[op_attr_index(op_info(node->op), "reason")];
        const char *before = reason->present ? reason->s : NULL;
        *reason =
            attr_string(before ? arena_printf(e->to->arena, "%s; %s", before, prologue) : prologue);
    }
    NodeSpec spec = {.op = node->op,
                     .operand = list,
                     .operands = node->operands,
                     .attr = attr,
                     .loc = node->loc,
                     .locs = node->locs,
                     .name = result->name,
                     .exact_name = true,
                     .decl = node->decl,
                     .type = &result->type};
    NodeId added = graph_add(e->to, e->f->ctx->diags, &spec);
    if (!added) return false;
    for (uint32_t i = 0; i < node->results; i++) {
        ValueId value = graph_result(e->to, added, i);
        e->copy.map[node->result[i]] = value;
        if (i) graph_name(e->to, value, graph_value(e->f->g, node->result[i])->name, true);
    }
    e->state[id] = 2;
    return true;
}

static const char *family_name(const Fuser *f, const Group *group) {
    switch (group->family) {
    case FAMILY_MAP: return "map";
    case FAMILY_ROW: return "row";
    case FAMILY_CONTRACT: return "contract";
    case FAMILY_TRANSFORM: return "transform";
    case FAMILY_SINGLE: break;
    }
    OpClass class = graph_op(f->g, group->nodes.at[0])->class;
    return class == OC_SCAN ? "scan" : "attention";
}

// Why a group that only copies is there; NULL when it computes something.
static const char *copy_reason(const Emit *e, const Group *group) {
    const Fuser *f = e->f;
    const Node *node = graph_node(f->g, group->nodes.at[0]);
    OpClass class = op_info(node->op)->class;
    if (group->nodes.len != 1 || (class != OC_MOVE && class != OC_SOURCE)) return NULL;
    if (class == OC_SOURCE) return "memory must hold this counter or fill";
    ValueId base = fuse_base(f->g, node->operand[0]);
    if (graph_state_of(f->g, base)) return "the state changes while this version is read";
    if (e->multiplied[node->result[0]]) return "a product reads it in this order";
    if (!f->stored[node->result[0]]) return "so long a chain of moves is copied in its middle";
    return "memory must hold this value, which is a view of another";
}

static bool emit_deps(Emit *e, NodeId id) {
    const Graph *g = e->f->g;
    const Node *node = graph_node(g, id);
    for (uint32_t i = 0; i < node->operands; i++)
        if (!writes_first(e, node->operand[i], node->region)) return false;
    if (node->kind != NODE_OP || node->op != OP_UPDATE) return true;
    const Region *region = &g->regions.at[node->region]; // readers of the old version come first
    for (uint32_t i = 0; i < region->nodes.len && region->nodes.at[i] < id; i++) {
        NodeId reader = region->nodes.at[i];
        const Node *at = graph_node(g, reader);
        if (!e->f->live[reader] || at->inline_view) continue;
        for (uint32_t j = 0; j < at->operands; j++) {
            if (!at->operand[j] || fuse_base(g, at->operand[j]) != node->operand[0]) continue;
            if (e->f->group[reader] != e->f->group[id] && !emit_unit(e, reader)) return false;
        }
    }
    return true;
}

static bool emit_group(Emit *e, uint32_t id) {
    const Group *group = &e->f->groups.at[id];
    for (uint32_t i = 0; i < group->nodes.len; i++) e->state[group->nodes.at[i]] = 1;
    for (uint32_t i = 0; i < group->nodes.len; i++)
        if (!emit_deps(e, group->nodes.at[i])) return false;
    const char *name = arena_printf(e->to->arena, "k%u", e->groups++);
    NodeId fused = graph_begin_fused(e->to, name, family_name(e->f, group), false);
    const char *reason = copy_reason(e, group);
    if (reason) graph_node(e->to, fused)->reason = reason;
    ValueId *results = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->nodes.len; i++) {
        const Node *node = graph_node(e->f->g, group->nodes.at[i]);
        if (!emit_node(e, group->nodes.at[i])) return false;
        for (uint32_t j = 0; j < node->results; j++) {
            if (!e->outside[node->result[j]]) continue;
            results = arena_grow(e->to->arena, results, count * sizeof *results,
                                 (count + 1) * sizeof *results);
            results[count++] = e->copy.map[node->result[j]];
        }
    }
    graph_end_fused(e->to, fused, results, count);
    return true;
}

static void keep_name(Emit *e, ValueId old, ValueId new) {
    e->copy.map[old] = new;
    graph_name(e->to, new, graph_value(e->f->g, old)->name, true);
}

// Writes what the nodes of a region read from the region `outer`.
static bool emit_outer(Emit *e, RegionId inner, RegionId outer) {
    const Region *nodes = &e->f->g->regions.at[inner];
    for (uint32_t i = 0; i < nodes->nodes.len; i++) {
        NodeId id = nodes->nodes.at[i];
        if (!e->f->live[id]) continue;
        const Node *node = graph_node(e->f->g, id);
        for (uint32_t j = 0; j < node->operands; j++) {
            if (!writes_first(e, node->operand[j], outer)) return false;
            if (node->kind == NODE_REPEAT && !writes_first(e, node->yield[j], outer)) return false;
        }
        if (node->kind == NODE_REPEAT && !emit_outer(e, node->body, outer)) return false;
    }
    return true;
}

static bool emit_repeat(Emit *e, NodeId id) {
    const Node *node = graph_node(e->f->g, id);
    for (uint32_t i = 0; i < node->operands; i++)
        if (!writes_first(e, node->operand[i], node->region) ||
            !writes_first(e, node->yield[i], node->region)) {
            return false;
        }
    if (!emit_outer(e, node->body, node->region)) return false;
    ValueId *values = arena_alloc(e->to->arena, node->operands * sizeof *values);
    uint32_t *slot = arena_alloc(e->to->arena, node->operands * sizeof *slot), slots = 0;
    for (uint32_t i = 0; i < node->operands; i++) {
        const bool *live = e->copy.live_value;
        if (!live[node->result[i]] && !live[node->param[i]]) continue;
        values[slots] = operand(e, node->operand[i]);
        slot[slots++] = i;
    }
    Text trip = {0};
    dim_print(e->to->dims, node->trip, &trip);
    NodeId repeat = graph_begin_repeat(e->to, trip.data, node->lo, node->hi, values, slots,
                                       node->loc, node->locs);
    text_free(&trip);
    if (!repeat) return false;
    for (uint32_t i = 0; i < slots; i++)
        keep_name(e, node->param[slot[i]], graph_node(e->to, repeat)->param[i]);
    if (!emit_region(e, node->body)) return false;
    for (uint32_t i = 0; i < slots; i++) values[i] = operand(e, node->yield[slot[i]]);
    graph_end_repeat(e->to, repeat, values);
    for (uint32_t i = 0; i < slots; i++)
        keep_name(e, node->result[slot[i]], graph_result(e->to, repeat, i));
    e->state[id] = 2;
    return true;
}

static bool emit_unit(Emit *e, NodeId id) {
    const Node *node = graph_node(e->f->g, id);
    if (e->state[id]) return true; // written, or a node of the group being written
    if (node->kind == NODE_REPEAT) {
        e->state[id] = 1;
        return emit_repeat(e, id);
    }
    if (e->f->group[id]) return emit_group(e, e->f->group[id]);
    e->state[id] = 1;
    return emit_deps(e, id) && emit_node(e, id);
}

static bool emit_region(Emit *e, RegionId region) {
    const Region *nodes = &e->f->g->regions.at[region];
    for (uint32_t i = 0; i < nodes->nodes.len; i++) {
        NodeId id = nodes->nodes.at[i];
        if (!rewrite_keeps(e->f->g, e->f->live, id) || beside_reader(e->f, id)) continue;
        if (!emit_unit(e, id)) return false;
    }
    return true;
}

// A value is a result of its group when another unit, an output or a yield needs it.
static void find_outside(Emit *e) {
    const Fuser *f = e->f;
    const Graph *g = f->g;
    for (ValueId id = 1; id < g->values.len; id++) e->outside[id] = f->stored[id];
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!f->live[id] || node->inline_view) continue;
        for (uint32_t i = 0; i < node->operands; i++) {
            ValueId base = fuse_base(g, node->operand[i]);
            e->multiplied[base] |= i == 1 && node->kind == NODE_OP && node->op == OP_CONTRACT;
            NodeId from = base ? graph_value(g, base)->node : 0;
            if (from && (!f->group[id] || f->group[from] != f->group[id])) e->outside[base] = true;
        }
    }
}

bool fuse_emit(Fuser *f, Graph **out) {
    Emit e = {.f = f, .copy = graph_begin_copy(f->g)};
    e.to = e.copy.to;
    e.state = arena_alloc(f->arena, f->g->nodes.len * sizeof *e.state);
    e.outside = arena_alloc(f->arena, f->g->values.len * sizeof *e.outside);
    e.multiplied = arena_alloc(f->arena, f->g->values.len * sizeof *e.multiplied);
    find_outside(&e);
    if (!emit_region(&e, 1)) {
        graph_destroy(e.to);
        return false;
    }
    for (uint32_t i = 0; i < f->g->outputs.len; i++) {
        const Output *output = &f->g->outputs.at[i];
        graph_add_output(e.to, output->name, output->host_name, e.copy.map[output->value],
                         output->loc);
    }
    e.to->stage = STAGE_FUSED;
    *out = e.to;
    return true;
}
