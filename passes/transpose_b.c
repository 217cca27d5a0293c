// Transpose-b: in which order the second operands of products lie. Along K or along N, one of the
// two is faster, by dtype; the target's rates say which, and what a copy in the other order costs.
// What depends on weights only is packed once, in `prepare`, and has one form for all products that
// read it; other tensors are transposed on the fly, where the products gain more than the copy
// takes. A permute or cast that is there already becomes part of the copy. Every product that
// could be asked keeps the figures as its `reason`.
#include <math.h>

#include "passes/pack.h"
#include "passes/product_cost.h"
#include "passes/simplify.h"

typedef enum Side { SIDE_NONE, SIDE_BATCH, SIDE_N, SIDE_K } Side;

// A product that reads the whole of a tensor, each element once, as its second operand.
typedef struct Use {
    ValueId base;
    Side side[RANK_MAX]; // of the base's axes; SIDE_NONE: of size 1
    ProductSize size;
    NodeId next; // of the products that read the same tensor
} Use;

// What is decided for a tensor.
typedef struct Form {
    bool asked, changed;
    uint8_t axes[RANK_MAX]; // of the changed form: its axis -> the tensor's axis
    const char *reason;
} Form;

typedef struct Transposer {
    const Graph *g;
    const PassContext *ctx;
    Use *use;             // per node: of products
    NodeId *first;        // per value: a product that reads it so, 0: none
    bool *is_use;         // per node
    const bool *constant; // per value
    uint32_t *readers;    // per value: nodes that read it otherwise than as a Use
    const uint32_t *uses; // per value: operands
    Form *form;           // per value
    ValueId *changed;     // per value: its changed form seen as itself, in the new graph
} Transposer;

static ValueId base_of(const Graph *g, ValueId value) {
    for (;;) {
        NodeId id = value ? graph_value(g, value)->node : 0;
        const Node *node = graph_node(g, id);
        if (!id || node->kind != NODE_OP || !node->inline_view || !node->operands) return value;
        value = node->operand[0];
    }
}

// ---- what there is ---------------------------------------------------------------------------

// Gives the base's axes that digit `d` runs over the side of its axis; false if it does not run
// over whole axes.
static bool side_of_digit(DimTable *dims, const Type *base, const View *view, uint8_t d,
                          Side digit_side, Side *side) {
    const Digit *digit = &view->digit[d];
    Dim stride = dim_const(dims, 1), covered = DIM_NONE;
    for (int a = base->rank - 1; a >= 0; a--) {
        if (dim_is(dims, base->size[a], 1)) continue;
        if (covered == DIM_NONE && stride == digit->stride) covered = dim_const(dims, 1);
        stride = dim_mul(dims, stride, base->size[a]);
        if (covered == DIM_NONE) continue;
        if (side[a] != SIDE_NONE) return false;
        side[a] = digit_side;
        covered = dim_mul(dims, covered, base->size[a]);
        if (covered == digit->size) return true;
    }
    return false;
}

// False if the product reads parts, or elements more than once.
static bool find_sides(const Graph *g, const Type *base, const View *view, uint32_t batch,
                       uint32_t k, Side *side) {
    DimTable *dims = g->dims;
    if (view->inner || view->guards || !dim_is(dims, view->offset, 0)) return false;
    for (uint8_t d = 0; d < view->digits; d++) {
        const Digit *digit = &view->digit[d];
        if (dim_is(dims, digit->size, 1)) continue;
        bool in_batch = digit->axis < batch;
        if (in_batch && dim_is(dims, digit->stride, 0)) continue;
        Side own = in_batch ? SIDE_BATCH : digit->axis >= view->rank - k ? SIDE_K : SIDE_N;
        if (!side_of_digit(dims, base, view, d, own, side)) return false;
    }
    for (uint8_t a = 0; a < base->rank; a++)
        if (side[a] == SIDE_NONE && !dim_is(dims, base->size[a], 1)) return false;
    return true;
}

static Dim product_of(DimTable *dims, const Type *type, uint32_t from, uint32_t to) {
    Dim product = dim_const(dims, 1);
    for (uint32_t a = from; a < to; a++) product = dim_mul(dims, product, type->size[a]);
    return product;
}

static bool find_use(const Transposer *t, const Node *node, Use *use) {
    const Graph *g = t->g;
    const Type *x = &graph_value(g, node->operand[0])->type;
    const Type *y = &graph_value(g, node->operand[1])->type;
    uint32_t batch = (uint32_t)build_attr(node, "batch")->i, k = (uint32_t)build_attr(node, "k")->i;
    View view;
    *use = (Use){0};
    if (x->dtype != y->dtype || !cost_is_known(t->ctx->target, y->dtype)) return false;
    // Planes are written in an order of their own.
    if (t->ctx->fast_math && y->dtype == DT_F32 && cost_has_fragments(t->ctx->target, DT_F16))
        return false;
    if (!graph_view(g, node->operand[1], &use->base, &view)) return false;
    const Type *base = &graph_value(g, use->base)->type;
    if (!find_sides(g, base, &view, batch, k, use->side)) return false;
    use->size = (ProductSize){.batch = product_of(g->dims, x, 0, batch),
                              .m = product_of(g->dims, x, batch, x->rank - k),
                              .n = product_of(g->dims, y, batch, y->rank - k),
                              .k = product_of(g->dims, y, y->rank - k, y->rank),
                              .in = y->dtype,
                              .out = graph_value(g, node->result[0])->type.dtype};
    return true;
}

static void find_all(Transposer *t) {
    const Graph *g = t->g;
    const bool *live = graph_live_nodes(g);
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (!live[id]) continue;
        if (node->kind == NODE_OP && node->op == OP_CONTRACT)
            t->is_use[id] = find_use(t, node, &t->use[id]);
        if (t->is_use[id]) {
            t->use[id].next = t->first[t->use[id].base];
            t->first[t->use[id].base] = id;
        }
        for (uint32_t i = 0; i < node->operands && !node->inline_view; i++) {
            if (!t->is_use[id] || i != 1) t->readers[base_of(g, node->operand[i])]++;
            if (node->kind == NODE_REPEAT) t->readers[base_of(g, node->yield[i])]++;
        }
    }
    for (uint32_t i = 0; i < g->outputs.len; i++) t->readers[g->outputs.at[i].value]++;
}

// ---- the decision ----------------------------------------------------------------------------

// Batch axes first, then the side that was the faster one, then the other.
static void other_form(const Use *use, uint8_t rank, uint8_t *axes) {
    Side last = SIDE_NONE;
    uint8_t count = 0;
    for (uint8_t a = 0; a < rank; a++)
        if (use->side[a] != SIDE_NONE) last = use->side[a];
    for (uint8_t turn = 0; turn < 3; turn++)
        for (uint8_t a = 0; a < rank; a++) {
            Side side = use->side[a];
            uint8_t own = side == SIDE_N || side == SIDE_K ? (side == last ? 1 : 2) : 0;
            if (own == turn) axes[count++] = a;
        }
}

static Side last_side(const Use *use, uint8_t rank, const uint8_t *axes) {
    Side last = SIDE_NONE;
    for (uint8_t a = 0; a < rank; a++) {
        Side side = use->side[axes ? axes[a] : a];
        if (side != SIDE_NONE) last = side;
    }
    return last;
}

typedef struct Times {
    double as_is, changed; // of all products together
    uint32_t products;
} Times;

static Times times_of(const Transposer *t, ValueId base, const Form *form, CostEnd end) {
    Times times = {0};
    uint8_t rank = graph_value(t->g, base)->type.rank;
    for (NodeId id = t->first[base]; id; id = t->use[id].next) {
        const Use *use = &t->use[id];
        bool now = last_side(use, rank, NULL) == SIDE_K;
        bool then = last_side(use, rank, form->axes) == SIDE_K;
        times.as_is += cost_product(t->ctx->target, t->g->dims, &use->size, now, end);
        times.changed += cost_product(t->ctx->target, t->g->dims, &use->size, then, end);
        times.products++;
    }
    return times;
}

// A gain below this is not worth a second form of a tensor.
static const double worth = 0.98;

typedef struct Figures {
    double as_is[COST_ENDS], changed[COST_ENDS], copy[COST_ENDS];
    uint32_t products;
    bool once;       // packed in `prepare`
    const char *now; // "K" or "N": along which the tensor lies
} Figures;

static void describe(const Figures *f, bool changed, Text *out) {
    const char *then = *f->now == 'K' ? "N" : "K";
    text_printf(out, "B %s along %s",
                !changed  ? "as is"
                : f->once ? "packed once"
                          : "transposed",
                changed ? then : f->now);
    if (f->products > 1) text_printf(out, " for %u products", f->products);
    bool one = f->as_is[0] == f->as_is[1] && f->changed[0] == f->changed[1];
    for (CostEnd end = 0; end < (one ? COST_MOST : COST_ENDS); end++) {
        text_printf(out, "%s along %s ", end ? " to" : ":", f->now);
        cost_put(out, f->as_is[end]);
        text_printf(out, " us, along %s ", then);
        cost_put(out, f->changed[end]);
        if (f->once) continue;
        text_put(out, " + ");
        cost_put(out, f->copy[end]);
    }
}

static void decide(const Transposer *t, ValueId base, const Use *use, Form *form) {
    const Type *type = &graph_value(t->g, base)->type;
    DimTable *dims = t->g->dims;
    Dim elements = type_elements(dims, type);
    bool along_k = last_side(use, type->rank, NULL) == SIDE_K;
    Figures figures = {.once = t->constant[base], .now = along_k ? "K" : "N"};
    double ratio = 1, bytes = 0;
    other_form(use, type->rank, form->axes);
    form->asked = true;
    for (CostEnd end = 0; end < COST_ENDS; end++) {
        Times times = times_of(t, base, form, end);
        double copy = 0;
        bytes = cost_size(dims, elements, end) * dtype_bytes(type->dtype);
        if (!figures.once)
            copy = cost_transpose(t->ctx->target, bytes) + cost_dispatch(t->ctx->target);
        figures.as_is[end] = times.as_is, figures.changed[end] = times.changed;
        figures.copy[end] = copy, figures.products = times.products;
        ratio *= (times.changed + copy) / times.as_is;
    }
    bool pays = sqrt(ratio) < worth, fits = figures.once || bytes <= (double)t->ctx->max_workspace;
    bool alone = !figures.once || t->readers[base] == 0;
    form->changed = pays && fits && alone;
    Text text = {0};
    describe(&figures, form->changed, &text);
    if (pays && !alone) text_put(&text, "; something else reads it as it is");
    if (pays && !fits)
        text_printf(&text, "; the copy takes %.0f bytes, --max-workspace allows %lld", bytes,
                    (long long)t->ctx->max_workspace);
    form->reason = arena_strdup(t->g->arena, text.data);
    text_free(&text);
}

// ---- the rewriting ---------------------------------------------------------------------------

static ValueId reorder(Builder *b, ValueId x, void *user) {
    return build_permute(b, "packed", x, user);
}

// The tensor's changed form, seen as the tensor itself.
static ValueId change(Rewrite *rewrite, NodeId at, ValueId base) {
    const Transposer *t = rewrite->user;
    Form *form = &t->form[base];
    const Type *type = &graph_value(rewrite->from, base)->type;
    Packing packing = {t->constant, t->uses, type, reorder, form->axes, true};
    uint8_t back[RANK_MAX];
    Builder b = build_begin(rewrite, at);
    b.prefix = graph_value(rewrite->from, base)->name;
    ValueId value = pack_value(rewrite, &b, &packing, base, true);
    for (uint8_t a = 0; a < type->rank; a++) back[form->axes[a]] = a;
    b.views = true;
    value = build_permute(&b, NULL, value, back);
    return b.failed ? 0 : value;
}

// `value`, under whose moves the tensor has changed.
static ValueId rebased(Rewrite *rewrite, Builder *b, ValueId value, ValueId base, ValueId changed) {
    if (value == base) return changed;
    const Node *node = graph_node(rewrite->from, graph_value(rewrite->from, value)->node);
    ValueId under = rebased(rewrite, b, node->operand[0], base, changed);
    if (!under) return 0;
    ValueId simpler = simplify_move(b, node, &graph_value(rewrite->from, value)->type, under);
    return simpler ? simpler : build_like(b, node, NULL, &under);
}

// The changed form stands behind the tensor's own node; before the product where that is a repeat.
static ValueId changed_operand(Rewrite *rewrite, Builder *b, NodeId id, ValueId y) {
    const Transposer *t = rewrite->user;
    ValueId base = t->use[id].base, changed = t->changed[base], seen;
    View view;
    if (!changed) changed = change(rewrite, id, base);
    if (!changed) return 0;
    b->views = true;
    ValueId value = rebased(rewrite, b, y, base, changed);
    b->views = false;
    if (b->failed) return 0;
    return graph_view(rewrite->to, value, &seen, &view) ? value : rewrite_get(rewrite, y);
}

static bool transpose_product(Rewrite *rewrite, NodeId id, bool *done) {
    const Transposer *t = rewrite->user;
    const Form *form = &t->form[t->use[id].base];
    const Node *node = graph_node(rewrite->from, id);
    Builder b = build_begin(rewrite, id);
    ValueId operand[2] = {node_operand(rewrite, node, 0), node_operand(rewrite, node, 1)};
    if (form->changed) operand[1] = changed_operand(rewrite, &b, id, node->operand[1]);
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    Attr *reason = &attr[op_attr_index(op_info(node->op), "reason")];
    if (reason->present)
        *reason = attr_string(arena_printf(b.g->arena, "%s; %s", reason->s, form->reason));
    else
        *reason = attr_string(form->reason);
    ValueId result = build_op(&b, node->op, NULL, operand, 2, attr);
    if (!result) return false;
    rewrite_set(rewrite, node->result[0], result);
    return *done = true;
}

static bool transpose_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Transposer *t = rewrite->user;
    const Node *node = graph_node(rewrite->from, id);
    if (node->kind != NODE_OP) return true;
    if (t->is_use[id] && !transpose_product(rewrite, id, done)) return false;
    bool changed = false;
    for (uint32_t i = 0; i < node->results; i++) changed |= t->form[node->result[i]].changed;
    if (!changed) return true;
    if (!*done && !graph_copy_node(&rewrite->copy, id)) return false;
    for (uint32_t i = 0; i < node->results; i++) {
        ValueId value = node->result[i];
        if (!t->form[value].changed) continue;
        t->changed[value] = change(rewrite, id, value);
        if (!t->changed[value]) return false;
    }
    return *done = true;
}

bool pass_transpose_b(PassContext *ctx, const Graph *in, Graph **out) {
    Arena *arena = in->arena;
    Transposer t = {.g = in, .ctx = ctx, .uses = graph_use_counts(in)};
    t.use = arena_alloc(arena, in->nodes.len * sizeof *t.use);
    t.is_use = arena_alloc(arena, in->nodes.len * sizeof *t.is_use);
    t.constant = build_constants(in);
    t.first = arena_alloc(arena, in->values.len * sizeof *t.first);
    t.readers = arena_alloc(arena, in->values.len * sizeof *t.readers);
    t.form = arena_alloc(arena, in->values.len * sizeof *t.form);
    t.changed = arena_alloc(arena, in->values.len * sizeof *t.changed);
    find_all(&t);
    for (NodeId id = 1; id < in->nodes.len; id++)
        if (t.is_use[id] && !t.form[t.use[id].base].asked)
            decide(&t, t.use[id].base, &t.use[id], &t.form[t.use[id].base]);
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = transpose_node, .user = &t};
    return rewrite_graph(rewrite, out);
}
