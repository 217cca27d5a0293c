// Winograd: a convolution of 3 taps an axis (stride 1, dilation 1) becomes transforms of tiles with
// one batched product between them (ir/winograd.h), where that is thought to be faster. A
// convolution that stays direct is decomposed here too, so that its product says why.
#include "passes/winograd.h"

#include "passes/decompose.h"

enum { WEIGHT_DEPTH_MAX = 16 };

Dim winograd_count(const WinogradSite *site, unsigned tile, unsigned axis) {
    return dim_ceil_div(site->dims, site->output[axis], dim_const(site->dims, tile));
}

// Whether the value comes from weights and constants alone.
static bool is_weight(const Graph *g, ValueId value, unsigned depth) {
    NodeId id = graph_value(g, value)->node;
    if (!id || graph_node(g, id)->kind != NODE_OP || depth == WEIGHT_DEPTH_MAX) return false;
    const Node *node = graph_node(g, id);
    OpClass class = op_info(node->op)->class;
    if (node->op == OP_PARAM || node->op == OP_CONST || node->op == OP_FULL) return true;
    if (class != OC_MAP && class != OC_MOVE) return false;
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && !is_weight(g, node->operand[i], depth + 1)) return false;
    return true;
}

// False: no convolution that the pass knows.
static bool site_of(Rewrite *rewrite, const Node *node, WinogradSite *site) {
    const Graph *g = rewrite->from;
    if (node->kind != NODE_OP || (node->op != OP_CONV1D && node->op != OP_CONV2D)) return false;
    const Type *x = &graph_value(g, node->operand[0])->type;
    const Type *w = &graph_value(g, node->operand[1])->type;
    Type result = graph_value(g, node->result[0])->type;
    bool known = x->dtype == DT_F32 || x->dtype == DT_F16 || x->dtype == DT_BF16;
    int64_t groups = build_attr(node, "groups")->i;
    *site = (WinogradSite){.ctx = rewrite->ctx,
                           .dims = g->dims,
                           .axes = result.rank - 2u,
                           .dtype = x->dtype,
                           .images = result.size[0],
                           .groups = dim_const(g->dims, groups),
                           .inner = w->size[1],
                           .weights_known = is_weight(g, node->operand[1], 0)};
    NodeId image = graph_value(g, node->operand[0])->node;
    site->given =
        image && graph_node(g, image)->kind == NODE_OP && graph_node(g, image)->op == OP_INPUT;
    site->outer = dim_floor_div(g->dims, w->size[0], site->groups);
    bool depthwise = groups > 1 && dim_is(g->dims, w->size[1], 1);
    for (unsigned i = 0; i < site->axes; i++) {
        Dim after;
        attr_pair_of(build_attr(node, "padding"), i, &site->before[i], &after);
        site->input[i] = x->size[2 + i], site->output[i] = result.size[2 + i];
        known = known && dim_is(g->dims, w->size[2 + i], WINOGRAD_TAPS) &&
                attr_int_of(build_attr(node, "stride"), i) == 1 &&
                attr_int_of(build_attr(node, "dilation"), i) == 1;
    }
    return known && !depthwise;
}

// The attributes of an op with the tile set and others by default.
static const OpInfo *attributes(Builder *b, OpId id, unsigned tile, Attr attr[OP_ATTRS_MAX]) {
    const OpInfo *op = op_info(id);
    op_attr_defaults(b->g->dims, b->g->arena, op, attr);
    attr[op_attr_index(op, "tile")] = attr_int(tile);
    return op;
}

static void set(const OpInfo *op, Attr *attr, const char *name, Attr value) {
    attr[op_attr_index(op, name)] = value;
}

static ValueId transform(Builder *b, OpId op, const char *part, ValueId x, const Attr *attr) {
    return build_op(b, op, part, &x, 1, attr);
}

static ValueId transformed_input(Builder *b, const WinogradSite *site, unsigned tile, ValueId x) {
    Attr attr[OP_ATTRS_MAX];
    const OpInfo *op = attributes(b, OP_WINOGRAD_INPUT, tile, attr);
    Dim count[2];
    for (unsigned i = 0; i < site->axes; i++) count[i] = winograd_count(site, tile, i);
    set(op, attr, "count", attr_sizes(count, site->axes));
    set(op, attr, "before", attr_sizes(site->before, site->axes));
    return transform(b, op->id, "tiles", x, attr);
}

// [places, G * rows, columns] as [places, G, rows, columns], without G where that is 1.
static ValueId by_group(Builder *b, const WinogradSite *site, const char *part, ValueId x, Dim rows,
                        Dim columns) {
    Type type = build_type(b, x);
    if (dim_is(site->dims, site->groups, 1)) return x;
    return build_reshape(b, part, x, 4, (Dim[]){type.size[0], site->groups, rows, columns});
}

static ValueId convert(Rewrite *rewrite, Builder *b, const Node *node, const WinogradSite *site,
                       const WinogradChoice *choice) {
    Type result = node_type(rewrite, node);
    DType inner =
        node->operands > 2 && node->operand[2] ? decompose_inner(result.dtype) : result.dtype;
    ValueId x = transformed_input(b, site, choice->tile, node_operand(rewrite, node, 0));
    Attr attr[OP_ATTRS_MAX];
    (void)attributes(b, OP_WINOGRAD_WEIGHT, choice->tile, attr);
    ValueId w = transform(b, OP_WINOGRAD_WEIGHT, "filters", node_operand(rewrite, node, 1), attr);
    if (b->failed) return 0;
    Dim tiles = build_type(b, x).size[2], places = build_type(b, x).size[0];
    bool grouped = !dim_is(site->dims, site->groups, 1);
    const uint8_t by_tile[] = {0, 2, 1}, by_tile_grouped[] = {0, 1, 3, 2};
    x = by_group(b, site, "grouped", x, site->inner, tiles);
    x = build_permute(b, "permute", x, grouped ? by_tile_grouped : by_tile);
    w = by_group(b, site, "weight", w, site->outer, site->inner);
    DType products = choice->wide_products ? DT_F32 : site->dtype;
    ValueId y = build_contract(b, "products", w, x, grouped ? 2 : 1, 1, products);
    if (grouped) y = build_reshape(b, "joined", y, 3, (Dim[]){places, result.size[1], tiles});
    const OpInfo *op = attributes(b, OP_WINOGRAD_OUTPUT, choice->tile, attr);
    set(op, attr, "shape", attr_sizes(result.size, result.rank));
    set(op, attr, "dtype", attr_dtype(inner));
    set(op, attr, "reason", attr_string(choice->reason));
    ValueId bias = node_operand(rewrite, node, 2);
    if (!bias) return transform(b, op->id, NULL, y, attr);
    y = transform(b, op->id, "image", y, attr);
    bias = build_expand_to(b, bias, site->axes);
    bias = decompose_spread(b, "bias", bias, result.rank, result.size, inner);
    y = build_map2(b, OP_ADD, inner == result.dtype ? NULL : "add", y, bias);
    return build_narrow(b, NULL, y, result.dtype);
}

static bool winograd_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    WinogradSite site;
    if (!site_of(rewrite, node, &site)) return true;
    Builder b = build_begin(rewrite, id);
    WinogradChoice choice = winograd_choose(rewrite->to->arena, &site);
    b.reason = choice.tile ? NULL : choice.reason;
    ValueId value = choice.tile ? convert(rewrite, &b, node, &site, &choice)
                                : decompose_conv(rewrite, &b, node);
    if (!value) return false;
    rewrite_set(rewrite, node->result[0], value);
    return *done = true;
}

bool pass_winograd(PassContext *ctx, const Graph *in, Graph **out) {
    return rewrite_graph((Rewrite){.ctx = ctx, .from = in, .fn = winograd_node}, out);
}
