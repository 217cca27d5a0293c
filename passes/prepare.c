// Move-to-prepare: groups that depend on params and consts only, and on other such groups, are
// computed once, when weights are bound.
#include "passes/build.h"

// Whether a declaration has its value by then: not if a size given at run time stands in it.
static bool declared_early(const Graph *g, const Node *node) {
    if (node->op == OP_FULL) return !build_attr(node, "value")->is_size;
    if (node->op == OP_ARANGE) return dim_is_const(g->dims, build_attr(node, "start")->size, NULL);
    return node->op == OP_PARAM || node->op == OP_CONST;
}

// Whether all that the body reads from outside is ready, and no size is known at run time only.
static bool body_ready(const Graph *g, const Node *fused, bool *ready) {
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (op_info(node->op)->class == OC_STATE) return false;
        for (uint32_t j = 0; j < node->operands; j++)
            if (node->operand[j] && !ready[node->operand[j]]) return false;
        for (uint32_t j = 0; j < node->results; j++) {
            const Type *type = &graph_value(g, node->result[j])->type;
            for (uint32_t k = 0; k < type->rank && !node->inline_view; k++)
                if (!dim_is_const(g->dims, type->size[k], NULL)) return false;
            ready[node->result[j]] = true;
        }
    }
    return true;
}

static bool prepare_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    bool *ready = rewrite->user;
    if (node->kind == NODE_OP && node->results) {
        bool early = declared_early(rewrite->from, node) || node->inline_view;
        for (uint32_t i = 0; i < node->operands; i++)
            early &= !node->operand[i] || ready[node->operand[i]];
        for (uint32_t i = 0; i < node->results; i++) ready[node->result[i]] |= early;
    }
    if (node->kind != NODE_FUSED) return true;
    bool prepare = body_ready(rewrite->from, node, ready);
    for (uint32_t i = 0; i < node->results; i++) ready[node->result[i]] = prepare;
    NodeId copy = graph_copy_node(&rewrite->copy, id);
    if (!copy) return false;
    graph_node(rewrite->to, copy)->prepare |= prepare;
    return *done = true;
}

bool pass_move_to_prepare(PassContext *ctx, const Graph *in, Graph **out) {
    bool *ready = arena_alloc(in->arena, in->values.len * sizeof *ready);
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = prepare_node, .user = ready};
    return rewrite_graph(rewrite, out);
}
