#include "passes/pack.h"

ValueId pack_pull(Rewrite *rewrite, ValueId value) {
    const Graph *g = rewrite->from;
    NodeId id = graph_value(g, value)->node;
    if (rewrite_get(rewrite, value) || !id) return rewrite_get(rewrite, value);
    const Node *node = graph_node(g, id);
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && !pack_pull(rewrite, node->operand[i])) return 0;
    return graph_copy_node(&rewrite->copy, id) ? rewrite_get(rewrite, value) : 0;
}

ValueId pack_value(Rewrite *rewrite, Builder *b, const Packing *packing, ValueId value, bool top) {
    const Graph *g = rewrite->from;
    const Type *full = packing->full;
    NodeId id = graph_value(g, value)->node;
    const Node *node = graph_node(g, id);
    if (graph_is_literal(g, value)) return pack_pull(rewrite, value);
    bool map = id && node->kind == NODE_OP && op_info(node->op)->class == OC_MAP &&
               packing->constant[value] && (top || packing->uses[value] == 1) &&
               build_same_shape(&graph_value(g, value)->type, full);
    if (!map) {
        ValueId pulled = pack_pull(rewrite, value);
        b->views = packing->views && !top;
        pulled = build_broadcast(b, pulled, full->rank, full->size);
        pulled = packing->move(b, pulled, packing->user);
        b->views = false;
        return pulled;
    }
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i]) operand[i] = pack_value(rewrite, b, packing, node->operand[i], false);
    return build_like(b, node, "packed", operand);
}
