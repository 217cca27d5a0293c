// Simplify and tidy: dead nodes vanish and equal ones merge because the graph is copied; what
// depends on constants only is folded by the reference evaluator; rules that are exact for every
// element rewrite the rest. Numbers: language.md section 8.
#include "passes/simplify.h"
#include "ir/eval.h"
#include "ir/number.h"

#include <string.h>

enum { FOLD_ELEMENTS_MAX = 4096 };

typedef struct Simplify {
    const bool *known; // per value of the old graph: made of constants, and small
    Eval *eval;
} Simplify;

// An elements count that may be folded; 0: too many, or not constant.
static int64_t small_elements(const Graph *g, const Type *type) {
    int64_t elements;
    Dim count = type_elements(g->dims, type);
    if (!dim_is_const(g->dims, count, &elements)) return 0;
    return elements >= 1 && elements <= FOLD_ELEMENTS_MAX ? elements : 0;
}

static bool literal_attr(const Graph *g, const Node *node) {
    if (node->op == OP_FULL) return !build_attr(node, "value")->is_size;
    return dim_is_const(g->dims, build_attr(node, "start")->size, NULL);
}

static bool *find_known(const Graph *g) {
    bool *known = arena_alloc(g->arena, g->values.len * sizeof *known);
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || node->results != 1) continue;
        OpClass class = op_info(node->op)->class;
        bool good = class == OC_MAP || class == OC_REDUCE || class == OC_MOVE || class == OC_ROW;
        if (node->op == OP_FULL || node->op == OP_ARANGE) good = literal_attr(g, node);
        good |= node->op == OP_CONST;
        for (uint32_t i = 0; i < node->operands && good; i++)
            good = !node->operand[i] || known[node->operand[i]];
        known[node->result[0]] =
            good && small_elements(g, &graph_value(g, node->result[0])->type) > 0;
    }
    return known;
}

static bool uniform(const double *data, int64_t count) {
    for (int64_t i = 1; i < count; i++)
        if (memcmp(&data[i], &data[0], sizeof *data) != 0) return false;
    return true;
}

// The value of a node made of constants: a number, or a const tensor.
static bool fold(Rewrite *rewrite, NodeId id, bool *done) {
    const Simplify *simplify = rewrite->user;
    const Graph *g = rewrite->from;
    const Node *node = graph_node(g, id);
    Type type = graph_value(g, node->result[0])->type;
    const Tensor *tensor = eval_value(simplify->eval, node->result[0]);
    if (!tensor) return false;
    double *data = arena_alloc(rewrite->to->arena, (size_t)tensor->elements * sizeof *data);
    for (int64_t i = 0; i < tensor->elements; i++)
        data[i] = number_cast(type.dtype, tensor->data[i]);
    Builder b = build_begin(rewrite, id);
    ValueId value;
    if (uniform(data, tensor->elements)) {
        value = build_number(&b, type.dtype, data[0]);
        value = build_broadcast(&b, value, type.rank, type.size);
    } else {
        Decl decl = {.stored = type.dtype, .const_data = data};
        NodeSpec spec = {.op = OP_CONST,
                         .loc = node->loc,
                         .locs = node->locs,
                         .name = arena_printf(rewrite->to->arena, "%s.const",
                                              graph_value(g, node->result[0])->name),
                         .decl = &decl,
                         .type = &type};
        NodeId added = graph_add(rewrite->to, rewrite->ctx->diags, &spec);
        value = added ? graph_result(rewrite->to, added, 0) : 0;
    }
    if (!value) return false;
    rewrite_set(rewrite, node->result[0], value);
    return *done = true;
}

static bool simplify_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Simplify *simplify = rewrite->user;
    const Node *node = graph_node(rewrite->from, id);
    if (node->kind != NODE_OP || node->results != 1 || node->inline_view) return true;
    OpClass class = op_info(node->op)->class;
    if (simplify->known[node->result[0]] && (class == OC_MAP || class == OC_REDUCE))
        return fold(rewrite, id, done);
    if (class != OC_MAP && class != OC_MOVE) return true;
    Builder b = build_begin(rewrite, id);
    Type result = node_type(rewrite, node);
    ValueId operand[OP_OPERANDS_MAX] = {0}, value = 0;
    for (uint32_t i = 0; i < node->operands && i < OP_OPERANDS_MAX; i++)
        operand[i] = node_operand(rewrite, node, i);
    if (class == OC_MAP)
        value = simplify_map(&b, node, &result, operand);
    else if (op_is_view(op_info(node->op)))
        value = simplify_move(&b, node, &result, operand[0]);
    if (b.failed) return false;
    if (value) rewrite_set(rewrite, node->result[0], value);
    *done = value != 0;
    return true;
}

bool pass_simplify(PassContext *ctx, const Graph *in, Graph **out) {
    int64_t *symbols = arena_alloc(in->arena, (dim_symbol_count(in->dims) + 1) * sizeof *symbols);
    for (uint32_t i = 0; i < dim_symbol_count(in->dims); i++)
        symbols[i] = dim_bounds(in->dims, dim_symbol_at(in->dims, i)).lo;
    EvalOptions options = {.symbols = symbols, .strict_rounding = ctx->strict_rounding};
    Simplify simplify = {.known = find_known(in), .eval = eval_create(in, &options, ctx->diags)};
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = simplify_node, .user = &simplify};
    bool good = simplify.eval && rewrite_graph(rewrite, out);
    eval_destroy(simplify.eval);
    return good;
}

bool pass_tidy(PassContext *ctx, const Graph *in, Graph **out) {
    return pass_simplify(ctx, in, out);
}
