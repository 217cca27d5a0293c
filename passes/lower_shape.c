#include "passes/lower_shape.h"

const Attr *node_attr(const Node *node, const char *name) {
    return &node->attr[op_attr_index(op_info(node->op), name)];
}

bool fused_is_update(const Graph *g, ValueId value) {
    const Node *node = graph_node(g, graph_value(g, value)->node);
    return node->kind == NODE_OP && node->op == OP_UPDATE;
}

ValueList fused_stores(Arena *arena, const Graph *g, const Node *fused) {
    ValueList list = {0};
    for (uint32_t i = 0; i < fused->results; i++) vec_push(arena, &list, fused->result[i]);
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind != NODE_OP || node->op != OP_UPDATE) continue;
        bool listed = false;
        for (uint32_t r = 0; r < fused->results; r++)
            listed = listed || fused->result[r] == node->result[0];
        if (!listed) vec_push(arena, &list, node->result[0]);
    }
    return list;
}

Type fused_store_shape(const Graph *g, ValueId value) {
    Type type = graph_value(g, value)->type;
    if (!fused_is_update(g, value)) return type;
    const Node *node = graph_node(g, graph_value(g, value)->node);
    const Attr *starts = node_attr(node, "starts"), *stops = node_attr(node, "stops");
    const Attr *steps = node_attr(node, "steps");
    for (uint8_t a = 0; a < type.rank; a++) {
        Dim count = dim_sub(g->dims, stops->sizes.at[a], starts->sizes.at[a]);
        type.size[a] = dim_ceil_div(g->dims, count, dim_const(g->dims, steps->ints.at[a]));
    }
    return type;
}

NodeId fused_find(const Graph *g, const Node *fused, OpClass class) {
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind == NODE_OP && !node->inline_view && op_info(node->op)->class == class)
            return body->nodes.at[i];
    }
    return 0;
}
