// Fold-views: a move becomes an inline view of its readers wherever its chain composes to one view
// of what memory holds. What stays is a copy: a move whose view exceeds a limit, and a value that
// memory must hold under a name of its own (an output, a carried value) but that is a view, a
// declared tensor, or already another output.
#include "passes/build.h"

typedef struct Fold {
    VEC(ValueId) last; // per value of the new graph: the latest copy stored of it (0: none)
} Fold;

static ValueId add_like(Rewrite *rewrite, ValueId like, bool inline_view, const char *name) {
    Graph *to = rewrite->to;
    const Node *node = graph_node(to, graph_value(to, like)->node);
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    NodeSpec spec = {.op = node->op,
                     .operand = node->operand,
                     .operands = node->operands,
                     .attr = attr,
                     .inline_view = inline_view,
                     .loc = node->loc,
                     .locs = node->locs,
                     .name = name,
                     .exact_name = true};
    NodeId added = graph_add(to, rewrite->ctx->diags, &spec);
    return added ? graph_result(to, added, 0) : 0;
}

static bool fold_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    if (node->kind != NODE_OP || !op_is_view(op_info(node->op))) return true;
    Graph *to = rewrite->to;
    ValueId operand = rewrite_get(rewrite, node->operand[0]), base;
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    NodeSpec spec = {.op = node->op,
                     .operand = &operand,
                     .operands = 1,
                     .attr = attr,
                     .inline_view = true,
                     .loc = node->loc,
                     .locs = node->locs};
    NodeId added = graph_add(to, rewrite->ctx->diags, &spec);
    if (!added) return false;
    ValueId value = graph_result(to, added, 0);
    View view;
    if (!graph_view(to, value, &base, &view))
        value = add_like(rewrite, value, false, graph_value(rewrite->from, node->result[0])->name);
    if (!value) return false;
    rewrite_set(rewrite, node->result[0], value);
    *done = true;
    return true;
}

// A reshape to the same shape: copies `value` once it stands in a group.
static ValueId copy(Rewrite *rewrite, ValueId value, const char *name) {
    Type type = graph_value(rewrite->to, value)->type;
    Attr attr[OP_ATTRS_MAX] = {0};
    attr[op_attr_index(op_info(OP_RESHAPE), "shape")] = attr_sizes(type.size, type.rank);
    NodeSpec spec = {.op = OP_RESHAPE,
                     .operand = &value,
                     .operands = 1,
                     .attr = attr,
                     .name = name,
                     .exact_name = true};
    NodeId added = graph_add(rewrite->to, rewrite->ctx->diags, &spec);
    return added ? graph_result(rewrite->to, added, 0) : 0;
}

static bool is_declared(const Graph *g, ValueId value) {
    NodeId node = graph_value(g, value)->node;
    if (!node) return true; // a carried value as it came in
    if (graph_node(g, node)->kind != NODE_OP) return false;
    OpId op = graph_node(g, node)->op;
    return op == OP_INPUT || op == OP_PARAM || op == OP_CONST;
}

static ValueId fold_store(Rewrite *rewrite, ValueId old) {
    Fold *fold = rewrite->user;
    Graph *to = rewrite->to;
    ValueId value = rewrite_get(rewrite, old);
    if (graph_state_of(to, value)) return value;
    const char *name = graph_value(rewrite->from, old)->name;
    NodeId node = graph_value(to, value)->node;
    if (node && graph_node(to, node)->inline_view) value = add_like(rewrite, value, false, name);
    if (value && is_declared(to, value)) value = copy(rewrite, value, name);
    while (value && value >= fold->last.len) vec_push(to->arena, &fold->last, 0);
    if (!value || !fold->last.at[value]) {
        if (value) fold->last.at[value] = value;
        return value;
    }
    ValueId again = copy(rewrite, fold->last.at[value], name);
    return fold->last.at[value] = again;
}

bool pass_fold_views(PassContext *ctx, const Graph *in, Graph **out) {
    Fold fold = {0};
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = fold_node, .store = fold_store, .user = &fold};
    return rewrite_graph(rewrite, out);
}
