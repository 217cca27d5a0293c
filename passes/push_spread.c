// Spreading: a few cheap maps of a small tensor that one larger map reads by broadcasting (a mask,
// a cast of a table) are computed for each element there instead, which saves their dispatch.
#include "passes/push.h"

enum { SPREAD_NODES_MAX = 4, SPREAD_COST_MAX = 4 };

static const Node *node_of(const Graph *g, ValueId value) {
    NodeId id = graph_value(g, value)->node;
    return id && graph_node(g, id)->kind == NODE_OP ? graph_node(g, id) : NULL;
}

// Whether the value can be computed from what memory holds by cheap maps; counts them in *nodes and
// sees in *varies whether a run's own data go in (what weights alone decide is prepared anyway).
static bool can_spread(const Graph *g, const uint32_t *uses, ValueId value, uint32_t *nodes,
                       bool *varies) {
    const Node *node = node_of(g, value);
    OpClass class = node ? op_info(node->op)->class : OC_SOURCE;
    while (node && class == OC_MOVE && op_is_view(op_info(node->op))) {
        value = node->operand[0];
        node = node_of(g, value);
        class = node ? op_info(node->op)->class : OC_SOURCE;
        if (class != OC_MOVE && class != OC_SOURCE && class != OC_STATE) return false;
    }
    if (!node || class == OC_SOURCE || class == OC_STATE) {
        const Type *type = &graph_value(g, value)->type;
        *varies |= !node || node->op == OP_INPUT || class == OC_STATE;
        for (uint32_t i = 0; i < type->rank; i++)
            *varies |= !dim_is_const(g->dims, type->size[i], NULL);
        return true;
    }
    if (class != OC_MAP || uses[value] != 1 || op_cost(op_info(node->op)) > SPREAD_COST_MAX)
        return false;
    if (++*nodes > SPREAD_NODES_MAX) return false;
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && !can_spread(g, uses, node->operand[i], nodes, varies)) return false;
    return true;
}

static ValueId spread(Rewrite *rewrite, Builder *b, ValueId value, const Type *shape) {
    const Graph *g = rewrite->from;
    const Node *node = node_of(g, value);
    if (!node || op_info(node->op)->class != OC_MAP) {
        ValueId mapped = rewrite_get(rewrite, value);
        return graph_is_literal(rewrite->to, mapped)
                   ? mapped
                   : build_broadcast(b, mapped, shape->rank, shape->size);
    }
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i]) operand[i] = spread(rewrite, b, node->operand[i], shape);
    Builder own = *b; // takes the name of what nothing reads any more
    graph_name(rewrite->to, rewrite_get(rewrite, value), "unread", false);
    own.name = graph_value(g, value)->name;
    ValueId result = build_like(&own, node, NULL, operand);
    b->failed |= own.failed;
    return result;
}

bool push_spread(Rewrite *rewrite, NodeId id, const uint32_t *uses, const bool *stored,
                 bool *done) {
    const Graph *g = rewrite->from;
    const Node *node = graph_node(g, id);
    const Type *type = &graph_value(g, node->result[0])->type;
    Builder b = build_begin(rewrite, id);
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node->operands; i++) {
        ValueId value = node->operand[i];
        if (!value) continue;
        operand[i] = rewrite_get(rewrite, value);
        const Type *own = &graph_value(g, value)->type;
        const Node *from = node_of(g, value);
        bool small = !build_same_shape(own, type) && !stored[value];
        uint32_t nodes = 0;
        bool varies = false;
        if (!small || !from || op_info(from->op)->class != OC_MAP) continue;
        if (!can_spread(g, uses, value, &nodes, &varies) || !varies) continue;
        operand[i] = spread(rewrite, &b, value, type);
        *done = true;
    }
    if (!*done) return true;
    ValueId result = build_like(&b, node, NULL, operand);
    if (!result) return false;
    rewrite_set(rewrite, node->result[0], result);
    return true;
}
