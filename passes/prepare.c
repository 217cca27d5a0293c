// Move-to-prepare: groups that depend on params and consts only, and on other such groups, are
// computed once, when weights are bound. Outputs and values carried round a repeat stay: every run
// writes them anew.
#include "passes/build.h"

static bool sizes_known(const Graph *g, const Attr *attr) {
    for (uint32_t i = 0; i < attr->sizes.n; i++)
        if (!dim_is_const(g->dims, attr->sizes.at[i], NULL)) return false;
    return true;
}

// Whether no size given at run time stands in the attributes: as a number, a bound of a slice, ...
static bool attributes_known(const Graph *g, const Node *node) {
    const OpInfo *op = op_info(node->op);
    for (uint32_t i = 0; i < op->attrs; i++) {
        const Attr *attr = &node->attr[i];
        AttrKind kind = op->attr[i].kind;
        if (!attr->present) continue;
        bool size = kind == ATTR_SIZE || (kind == ATTR_SCALAR && attr->is_size);
        if (size && !dim_is_const(g->dims, attr->size, NULL)) return false;
        if ((kind == ATTR_SIZES || kind == ATTR_PAIRS) && !sizes_known(g, attr)) return false;
    }
    return true;
}

// Whether a declaration has its value by then.
static bool declared_early(const Node *node) {
    return node->op == OP_FULL || node->op == OP_ARANGE || node->op == OP_PARAM ||
           node->op == OP_CONST;
}

// Whether all that the body reads from outside is ready, and no size is known at run time only.
static bool body_ready(const Graph *g, const Node *fused, bool *ready) {
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (op_info(node->op)->class == OC_STATE || !attributes_known(g, node)) return false;
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

typedef struct Prepare {
    bool *ready, *written; // per value: known early; written by each run
} Prepare;

static bool *written_values(const Graph *g) {
    bool *written = arena_alloc(g->arena, g->values.len * sizeof *written);
    for (uint32_t i = 0; i < g->outputs.len; i++) written[g->outputs.at[i].value] = true;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        for (uint32_t i = 0; node->kind == NODE_REPEAT && i < node->operands; i++)
            written[node->operand[i]] = written[node->yield[i]] = true;
    }
    return written;
}

static bool prepare_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    const Prepare *known = rewrite->user;
    bool *ready = known->ready;
    if (node->kind == NODE_OP && node->results) {
        bool early = declared_early(node) || node->inline_view;
        early &= attributes_known(rewrite->from, node);
        for (uint32_t i = 0; i < node->operands; i++)
            early &= !node->operand[i] || ready[node->operand[i]];
        for (uint32_t i = 0; i < node->results; i++) ready[node->result[i]] |= early;
    }
    if (node->kind != NODE_FUSED) return true;
    bool prepare = body_ready(rewrite->from, node, ready);
    for (uint32_t i = 0; i < node->results; i++) prepare &= !known->written[node->result[i]];
    for (uint32_t i = 0; i < node->results; i++) ready[node->result[i]] = prepare;
    NodeId copy = graph_copy_node(&rewrite->copy, id);
    if (!copy) return false;
    graph_node(rewrite->to, copy)->prepare |= prepare;
    return *done = true;
}

bool pass_move_to_prepare(PassContext *ctx, const Graph *in, Graph **out) {
    Prepare known = {arena_alloc(in->arena, in->values.len * sizeof(bool)), written_values(in)};
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = prepare_node, .user = &known};
    return rewrite_graph(rewrite, out);
}
