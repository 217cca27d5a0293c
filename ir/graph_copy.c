// Copying a graph node by node.
#include "ir/graph_index.h"

#include <assert.h>

GraphCopy graph_begin_copy(const Graph *from) {
    Graph *to = graph_create_with(from->model, from->index->dims);
    if (from->file) to->file = arena_strdup(to->arena, from->file);
    to->stage = from->stage;
    for (uint32_t i = 0; i < from->asserts.len; i++) graph_copy_assert(to, &from->asserts.at[i]);
    for (uint32_t i = 1; i < from->values.len; i++) {
        graph_reserve_name(to, from->values.at[i].name);
    }
    bool *live_node, *live_value;
    graph_find_live(from, to->arena, &live_node, &live_value);
    return (GraphCopy){.from = from,
                       .to = to,
                       .map = arena_alloc(to->arena, from->values.len * sizeof(ValueId)),
                       .live_node = live_node,
                       .live_value = live_value};
}

ValueId graph_mapped(GraphCopy *copy, ValueId value) {
    assert(!value || copy->map[value]);
    return value ? copy->map[value] : 0;
}

static ValueId *mapped_list(GraphCopy *copy, const ValueId *value, uint32_t count) {
    ValueId *list = arena_alloc(copy->to->arena, count * sizeof *list);
    for (uint32_t i = 0; i < count; i++) list[i] = graph_mapped(copy, value[i]);
    return list;
}

// The copy of a value gets its name, unless interning found an older value.
static void keep_name(GraphCopy *copy, ValueId from, ValueId to) {
    copy->map[from] = to;
    graph_name(copy->to, to, graph_value(copy->from, from)->name, true);
}

static NodeId copy_op(GraphCopy *copy, const Node *node) {
    Attr attr[OP_ATTRS_MAX] = {0};
    for (uint32_t i = 0; i < op_info(node->op)->attrs; i++) attr[i] = node->attr[i];
    uint32_t before = copy->to->nodes.len;
    NodeSpec spec = {.op = node->op,
                     .operand = mapped_list(copy, node->operand, node->operands),
                     .operands = node->operands,
                     .attr = attr,
                     .inline_view = node->inline_view,
                     .loc = node->loc,
                     .locs = node->locs,
                     .name = graph_value(copy->from, node->result[0])->name,
                     .exact_name = true,
                     .decl = node->decl,
                     .type = &graph_value(copy->from, node->result[0])->type};
    NodeId id = graph_add(copy->to, NULL, &spec);
    if (!id) return 0;
    for (uint32_t i = 0; i < node->results; i++) {
        ValueId to = graph_result(copy->to, id, i);
        if (id >= before) keep_name(copy, node->result[i], to);
        copy->map[node->result[i]] = to;
    }
    return id;
}

static bool copy_body(GraphCopy *copy, RegionId region) {
    const Region *body = &copy->from->regions.at[region];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        NodeId id = body->nodes.at[i];
        if (copy->live_node[id] && !graph_copy_node(copy, id)) return false;
    }
    return true;
}

static NodeId copy_repeat(GraphCopy *copy, const Node *node) {
    Graph *to = copy->to;
    uint32_t *slot = arena_alloc(to->arena, node->operands * sizeof *slot);
    ValueId *value = arena_alloc(to->arena, node->operands * sizeof *value);
    uint32_t slots = 0;
    for (uint32_t i = 0; i < node->operands; i++) {
        if (!copy->live_value[node->result[i]] && !copy->live_value[node->param[i]]) continue;
        value[slots] = graph_mapped(copy, node->operand[i]);
        slot[slots++] = i;
    }
    Text trip = {0};
    dim_print(to->dims, node->trip, &trip);
    NodeId id =
        graph_begin_repeat(to, trip.data, node->lo, node->hi, value, slots, node->loc, node->locs);
    text_free(&trip);
    if (!id) return 0;
    for (uint32_t i = 0; i < slots; i++) {
        keep_name(copy, node->param[slot[i]], graph_node(to, id)->param[i]);
    }
    if (!copy_body(copy, node->body)) return 0;
    for (uint32_t i = 0; i < slots; i++) value[i] = graph_mapped(copy, node->yield[slot[i]]);
    graph_end_repeat(to, id, value);
    for (uint32_t i = 0; i < slots; i++) {
        keep_name(copy, node->result[slot[i]], graph_result(to, id, i));
    }
    return id;
}

static NodeId copy_fused(GraphCopy *copy, const Node *node) {
    NodeId id = graph_begin_fused(copy->to, node->name, node->family, node->prepare);
    if (node->reason) {
        graph_node(copy->to, id)->reason = arena_strdup(copy->to->arena, node->reason);
    }
    if (!copy_body(copy, node->body)) return 0;
    ValueId *result = arena_alloc(copy->to->arena, node->results * sizeof *result);
    uint32_t results = 0;
    for (uint32_t i = 0; i < node->results; i++) {
        if (copy->live_value[node->result[i]]) result[results++] = copy->map[node->result[i]];
    }
    graph_end_fused(copy->to, id, result, results);
    return id;
}

NodeId graph_copy_node(GraphCopy *copy, NodeId node) {
    const Node *from = graph_node(copy->from, node);
    switch (from->kind) {
    case NODE_OP: return copy_op(copy, from);
    case NODE_REPEAT: return copy_repeat(copy, from);
    case NODE_FUSED: return copy_fused(copy, from);
    }
    return 0;
}

void graph_copy_outputs(GraphCopy *copy) {
    for (uint32_t i = 0; i < copy->from->outputs.len; i++) {
        const Output *output = &copy->from->outputs.at[i];
        graph_add_output(copy->to, output->name, output->host_name,
                         graph_mapped(copy, output->value), output->loc);
    }
}
