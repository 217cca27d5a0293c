// Fold-views: a move becomes an inline view of its readers wherever its chain composes to one view
// of what memory holds. What stays is a copy: a value in the middle of a chain whose view would
// exceed a limit, a value that memory must hold under a name of its own (an output, a carried
// value) but that is a view, a declared tensor, or already another output, and what reads an older
// version of a state after an update.
#include "passes/build.h"

typedef struct Fold {
    VEC(ValueId) last;    // per value of the new graph: the latest copy stored of it (0: none)
    const uint32_t *uses; // per value of the old graph
    VEC(ValueId) started; // values that repeats start from copies of, one entry a copy
    ValueId kept;         // copy of the state version that is being updated, for its later readers
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

static bool reads(const Node *node, ValueId value) {
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] == value || (node->kind == NODE_REPEAT && node->yield[i] == value))
            return true;
    return false;
}

// Whether a node after `id` reads the value.
static bool read_after(Rewrite *rewrite, ValueId value, NodeId id) {
    const Graph *g = rewrite->from;
    for (NodeId reader = id + 1; reader < g->nodes.len; reader++)
        if (rewrite->copy.live_node[reader] && reads(graph_node(g, reader), value)) return true;
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].value == value) return true;
    return false;
}

// Before an update: what still reads the old version later, itself or through views, gets a copy.
static bool keep_version(Rewrite *rewrite, NodeId update) {
    const Graph *g = rewrite->from;
    ValueId old = graph_node(g, update)->operand[0];
    for (ValueId id = 1; id < g->values.len; id++) {
        ValueId value = rewrite->copy.map[id];
        bool is_view = value && graph_value(rewrite->to, value)->node &&
                       graph_node(rewrite->to, graph_value(rewrite->to, value)->node)->inline_view;
        if (!value || (id != old && !is_view)) continue;
        ValueId base;
        View view;
        if (!graph_view(rewrite->to, value, &base, &view)) return false;
        if (base != rewrite_get(rewrite, old) || !read_after(rewrite, id, update)) continue;
        const char *name = arena_printf(rewrite->to->arena, "%s.kept", graph_value(g, id)->name);
        ValueId kept = is_view ? add_like(rewrite, value, false, name) : copy(rewrite, value, name);
        if (!kept) return false;
        if (id != old)
            rewrite_set(rewrite, id, kept);
        else
            ((Fold *)rewrite->user)->kept = kept;
    }
    return true;
}

static bool fold_update(Rewrite *rewrite, NodeId id, bool *done) {
    Fold *fold = rewrite->user;
    fold->kept = 0;
    const Node *node = graph_node(rewrite->from, id);
    ValueId value = rewrite_get(rewrite, node->operand[1]), base;
    View view;
    if (!graph_view(rewrite->to, value, &base, &view)) return false;
    if (base != value && base == rewrite_get(rewrite, node->operand[0])) { // reads what it writes
        const char *name = graph_value(rewrite->from, node->operand[1])->name;
        value = add_like(rewrite, value, false, arena_printf(rewrite->to->arena, "%s.kept", name));
        if (!value) return false;
        rewrite_set(rewrite, node->operand[1], value);
    }
    if (!keep_version(rewrite, id) || !graph_copy_node(&rewrite->copy, id)) return false;
    if (fold->kept) rewrite_set(rewrite, node->operand[0], fold->kept);
    return *done = true;
}

// A kernel reads a view in an order of its own: spread to its space, permuted, split into other
// axes. Each of the last two may take one more level.
enum { LEVELS_MAX = VIEW_LEVELS_MAX - 2 };

// Text nests as deep as chains are long, and each further move composes its chain anew.
static bool is_long(const Graph *g, ValueId value) {
    unsigned moves = 0;
    for (NodeId node; (node = graph_value(g, value)->node) && graph_node(g, node)->inline_view;
         value = graph_node(g, node)->operand[0])
        if (++moves > GRAPH_MOVES_MAX) return true;
    return false;
}

static bool folds(const Graph *g, ValueId value) {
    ValueId base;
    View view;
    return !is_long(g, value) && graph_view(g, value, &base, &view) &&
           view_levels(&view) <= LEVELS_MAX;
}

// The move of `node` on `operand` as an inline view; 0 after a diagnostic.
static ValueId add_view(Rewrite *rewrite, const Node *node, ValueId operand) {
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    NodeSpec spec = {.op = node->op,
                     .operand = &operand,
                     .operands = 1,
                     .attr = attr,
                     .inline_view = true,
                     .loc = node->loc,
                     .locs = node->locs};
    NodeId added = graph_add(rewrite->to, rewrite->ctx->diags, &spec);
    return added ? graph_result(rewrite->to, added, 0) : 0;
}

static bool fold_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    if (node->kind == NODE_OP && node->op == OP_UPDATE) return fold_update(rewrite, id, done);
    if (node->kind != NODE_OP || !op_is_view(op_info(node->op))) return true;
    Graph *to = rewrite->to;
    ValueId operand = rewrite_get(rewrite, node->operand[0]);
    ValueId value = add_view(rewrite, node, operand);
    if (!value) return false;
    NodeId under = graph_value(to, operand)->node;
    if (!folds(to, value) && under && graph_node(to, under)->inline_view) {
        const char *name = graph_value(rewrite->from, node->operand[0])->name;
        operand = add_like(rewrite, operand, false, arena_printf(to->arena, "%s.copy", name));
        value = operand ? add_view(rewrite, node, operand) : 0;
        if (!value) return false;
    }
    if (!folds(to, value))
        value = add_like(rewrite, value, false, graph_value(rewrite->from, node->result[0])->name);
    if (!value) return false;
    rewrite_set(rewrite, node->result[0], value);
    *done = true;
    return true;
}

// A copy that is nobody else's. Equal nodes would be one, so each of a value's copies reads it in
// a shape of its own: all elements in a row, then with more and more axes of size 1.
static ValueId copy_apart(Rewrite *rewrite, ValueId value, const char *name) {
    Fold *fold = rewrite->user;
    uint32_t rank = 1, before = 0;
    for (uint32_t i = 0; i < fold->started.len; i++) before += fold->started.at[i] == value;
    vec_push(rewrite->to->arena, &fold->started, value);
    Type type = graph_value(rewrite->to, value)->type;
    Dim size[RANK_MAX] = {type_elements(rewrite->to->dims, &type)};
    for (; rank < RANK_MAX && rank <= before; rank++) size[rank] = dim_const(rewrite->to->dims, 1);
    Attr attr[OP_ATTRS_MAX] = {0};
    attr[op_attr_index(op_info(OP_RESHAPE), "shape")] = attr_sizes(size, rank);
    NodeSpec spec = {
        .op = OP_RESHAPE, .operand = &value, .operands = 1, .attr = attr, .inline_view = true};
    NodeId view = graph_add(rewrite->to, rewrite->ctx->diags, &spec);
    if (!view) return 0;
    ValueId joined = graph_result(rewrite->to, view, 0);
    attr[op_attr_index(op_info(OP_RESHAPE), "shape")] = attr_sizes(type.size, type.rank);
    spec = (NodeSpec){.op = OP_RESHAPE,
                      .operand = &joined,
                      .operands = 1,
                      .attr = attr,
                      .name = name,
                      .exact_name = true};
    NodeId added = graph_add(rewrite->to, rewrite->ctx->diags, &spec);
    return added ? graph_result(rewrite->to, added, 0) : 0;
}

static bool is_declared(const Graph *g, ValueId value) {
    NodeId node = graph_value(g, value)->node;
    if (!node) return true;                                    // a carried value as it came in
    if (graph_node(g, node)->kind == NODE_REPEAT) return true; // in one of two places by then
    if (graph_node(g, node)->kind != NODE_OP) return false;
    OpId op = graph_node(g, node)->op;
    return op == OP_INPUT || op == OP_PARAM || op == OP_CONST;
}

static ValueId fold_store(Rewrite *rewrite, ValueId old) {
    Fold *fold = rewrite->user;
    Graph *to = rewrite->to;
    ValueId value = rewrite_get(rewrite, old);
    bool is_state = graph_state_of(to, value);
    if (is_state && !rewrite->outputs) return value;
    const char *name = graph_value(rewrite->from, old)->name;
    NodeId node = graph_value(to, value)->node;
    if (node && graph_node(to, node)->inline_view) value = add_like(rewrite, value, false, name);
    if (value && rewrite->carried && fold->uses[old] > 1) return copy_apart(rewrite, value, name);
    if (value && (is_state || is_declared(to, value))) value = copy(rewrite, value, name);
    while (value && value >= fold->last.len) vec_push(to->arena, &fold->last, 0);
    if (!value || !fold->last.at[value]) {
        if (value) fold->last.at[value] = value;
        return value;
    }
    ValueId again = copy(rewrite, fold->last.at[value], name);
    return fold->last.at[value] = again;
}

bool pass_fold_views(PassContext *ctx, const Graph *in, Graph **out) {
    Fold fold = {.uses = graph_use_counts(in)};
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = fold_node, .store = fold_store, .user = &fold};
    return rewrite_graph(rewrite, out);
}
