// matmul and linear as contracts; convolutions as contracts over unfold views.
#include "passes/decompose.h"

ValueId decompose_products(Builder *b, ValueId x, ValueId y, ValueId bias, int64_t batch, int64_t k,
                           DType dtype) {
    if (!bias) return build_contract(b, NULL, x, y, batch, k, dtype);
    DType inner = decompose_inner(dtype);
    ValueId sum = build_contract(b, "contract", x, y, batch, k, inner);
    Type type = build_type(b, sum);
    bias = decompose_spread(b, "bias", bias, type.rank, type.size, inner);
    sum = build_map2(b, OP_ADD, inner == dtype ? NULL : "add", sum, bias);
    return build_narrow(b, NULL, sum, dtype);
}

static ValueId swap_last(Builder *b, ValueId x) {
    uint32_t rank = build_type(b, x).rank;
    uint8_t axes[RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) axes[i] = (uint8_t)i;
    if (rank >= 2) {
        axes[rank - 2] = (uint8_t)(rank - 1);
        axes[rank - 1] = (uint8_t)(rank - 2);
    }
    return build_permute(b, "transpose", x, axes);
}

// [.., A, B] broadcast to leading sizes `lead`.
static ValueId spread_batch(Builder *b, ValueId x, uint32_t rank, const Dim *lead) {
    Type type = build_type(b, x);
    Dim size[RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) size[i] = lead[i];
    size[rank] = type.size[type.rank - 2];
    size[rank + 1] = type.size[type.rank - 1];
    return build_broadcast(b, x, rank + 2, size);
}

ValueId decompose_matmul(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0), y = node_operand(rewrite, node, 1);
    Type result = node_type(rewrite, node);
    Type left = build_type(b, x), right = build_type(b, y);
    y = swap_last(b, y);                   // [.., N, K]
    if (left.rank <= 1 || right.rank <= 2) // x's leading axes are rows, or y's are columns
        return build_contract(b, NULL, x, y, 0, 1, result.dtype);
    uint32_t lead = result.rank - 2u;
    x = spread_batch(b, x, lead, result.size);
    y = spread_batch(b, y, lead, result.size);
    return build_contract(b, NULL, x, y, lead, 1, result.dtype);
}

ValueId decompose_linear(Rewrite *rewrite, Builder *b, const Node *node) {
    return decompose_products(b, node_operand(rewrite, node, 0), node_operand(rewrite, node, 1),
                              node_operand(rewrite, node, 2), 0, 1, node_type(rewrite, node).dtype);
}

// What a convolution knows about its axes: `spatial` of them, after N and C.
typedef struct Conv {
    uint32_t spatial;
    Dim groups, inner, outer; // G, C // G, O // G
    Dim batch, output[3], kernel[3];
    bool grouped; // groups are an axis of their own
    bool merged;  // groups are images of their own: three axes of windows leave room for no more
} Conv;

// x as [N, (G,) H', W', C // G, kh, kw].
static ValueId windows(Builder *b, const Node *node, const Conv *conv, ValueId x) {
    DimTable *dims = b->g->dims;
    uint32_t first = 2; // spatial axis
    if (conv->grouped) {
        Type type = build_type(b, x);
        Dim size[RANK_MAX] = {type.size[0], conv->groups, conv->inner};
        for (uint32_t i = 0; i < conv->spatial; i++) size[3 + i] = type.size[2 + i];
        x = build_reshape(b, "grouped", x, 3 + conv->spatial, size);
        first = 3;
    }
    for (uint32_t i = 0; i < conv->spatial; i++) {
        Dim before = dim_const(dims, 0), after;
        attr_pair_of(build_attr(node, "padding"), i, &before, &after);
        WindowAxis window = {.axis = first + 2 * i,
                             .kernel = conv->kernel[i],
                             .output = conv->output[i],
                             .before = before,
                             .stride = attr_int_of(build_attr(node, "stride"), i),
                             .dilation = attr_int_of(build_attr(node, "dilation"), i)};
        x = build_unfold(b, x, window, 0);
    }
    uint8_t axes[RANK_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < first; i++) axes[count++] = (uint8_t)i;
    for (uint32_t i = 0; i < conv->spatial; i++) axes[count++] = (uint8_t)(first + 2 * i + 1);
    axes[count++] = (uint8_t)(first - 1);
    for (uint32_t i = 0; i < conv->spatial; i++) axes[count++] = (uint8_t)(first + 2 * i);
    return build_permute(b, "permute", x, axes);
}

// The weight [O, C // G, kh, kw] as [N, (G,) O // G, C // G, kh, kw], or [N * G, ..].
static ValueId filters(Builder *b, const Conv *conv, ValueId weight) {
    Dim size[RANK_MAX] = {conv->batch}, merged[RANK_MAX];
    uint32_t rank = 1;
    if (conv->grouped || conv->merged) size[rank++] = conv->groups;
    size[rank++] = conv->outer;
    size[rank++] = conv->inner;
    for (uint32_t i = 0; i < conv->spatial; i++) size[rank++] = conv->kernel[i];
    weight = build_reshape(b, "weight", weight, rank - 1, size + 1);
    weight = build_broadcast(b, weight, rank, size);
    if (!conv->merged) return weight;
    merged[0] = dim_mul(b->g->dims, size[0], size[1]);
    for (uint32_t i = 1; i + 1 < rank; i++) merged[i] = size[i + 1];
    return build_reshape(b, "weight", weight, rank - 1, merged);
}

// A bias [O] as it broadcasts to the products.
static ValueId conv_bias(Builder *b, const Conv *conv, ValueId bias) {
    Dim size[] = {conv->batch, conv->groups, conv->outer};
    if (!bias) return 0;
    if (conv->grouped || conv->merged) bias = build_reshape(b, "bias", bias, 2, size + 1);
    if (conv->merged) {
        bias = build_broadcast(b, bias, 3, size);
        Dim merged[] = {dim_mul(b->g->dims, size[0], size[1]), size[2]};
        bias = build_reshape(b, "bias", bias, 2, merged);
    }
    return build_expand_to(b, bias, conv->spatial);
}

// Windows [N, H', W', C, kh, kw] of every channel: [N, C, H', W', kh, kw].
static ValueId channel_windows(Builder *b, const Conv *conv, ValueId x) {
    uint8_t axes[RANK_MAX] = {0, (uint8_t)(1 + conv->spatial)};
    for (uint32_t i = 0; i < conv->spatial; i++) {
        axes[2 + i] = (uint8_t)(1 + i);
        axes[2 + conv->spatial + i] = (uint8_t)(2 + conv->spatial + i);
    }
    return build_permute(b, "channels", x, axes);
}

// Every channel by itself: its windows times its filters, summed over the window. x is
// [N, C, H', W', kh, kw]; with several filters a channel [N, C, H', W', 1, kh, kw], and an axis of
// filters follows C.
static ValueId depthwise(Builder *b, const Conv *conv, ValueId x, ValueId weight, ValueId bias,
                         const Type *result) {
    DimTable *dims = b->g->dims;
    DType inner = decompose_inner(result->dtype);
    uint32_t n = conv->spatial, first = dim_is(dims, conv->outer, 1) ? 2 : 3, rank = 0;
    Dim one = dim_const(dims, 1), full[RANK_MAX], filter[RANK_MAX];
    full[0] = conv->batch, filter[0] = one;
    full[1] = filter[1] = conv->groups;
    if (first == 3) full[2] = filter[2] = conv->outer;
    rank = first;
    for (uint32_t i = 0; i < n; i++, rank++) full[rank] = conv->output[i], filter[rank] = one;
    for (uint32_t i = 0; i < n; i++, rank++) full[rank] = filter[rank] = conv->kernel[i];
    Dim window[RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) window[i] = first == 3 && i == 2 ? one : full[i];
    x = build_cast(b, "wide", build_reshape(b, "window", x, rank, window), inner);
    weight = build_reshape(b, "filter", weight, rank - 1, filter + 1);
    weight = decompose_spread(b, "filter", weight, rank, full, inner);
    x = build_map2(b, OP_MULTIPLY, "product", x, weight);
    bool plain = first == 2 && inner == result->dtype;
    uint32_t mask = ((1u << n) - 1) << (rank - n);
    x = build_reduce(b, OP_SUM, !bias && plain ? NULL : "sum", x, mask);
    rank -= n;
    if (bias) {
        bias = build_reshape(b, "bias", bias, first - 1, full + 1);
        bias = build_expand_to(b, bias, n);
        bias = decompose_spread(b, "bias", bias, rank, full, inner);
        x = build_map2(b, OP_ADD, plain ? NULL : "add", x, bias);
    }
    x = build_cast(b, first == 3 ? "filters" : NULL, x, result->dtype);
    return first == 3 ? build_reshape(b, NULL, x, result->rank, result->size) : x;
}

ValueId decompose_conv(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0), weight = node_operand(rewrite, node, 1);
    ValueId bias = node_operand(rewrite, node, 2);
    Type result = node_type(rewrite, node), kernel = build_type(b, weight);
    int64_t groups = build_attr(node, "groups")->i;
    Conv conv = {.spatial = result.rank - 2u,
                 .groups = dim_const(dims, groups),
                 .inner = kernel.size[1],
                 .outer = dim_floor_div(dims, kernel.size[0], dim_const(dims, groups)),
                 .batch = result.size[0],
                 .grouped = groups != 1};
    for (uint32_t i = 0; i < conv.spatial; i++) {
        conv.output[i] = result.size[2 + i];
        conv.kernel[i] = kernel.size[2 + i];
    }
    bool deep = conv.grouped && dim_is(dims, conv.inner, 1), single = dim_is(dims, conv.outer, 1);
    if (deep && single) {
        conv.grouped = false;
        x = channel_windows(b, &conv, windows(b, node, &conv, x));
        return depthwise(b, &conv, x, weight, bias, &result);
    }
    conv.merged = conv.grouped && 3 + 2 * conv.spatial > RANK_MAX;
    if (conv.merged) {
        Type split = build_type(b, x);
        split.size[0] = dim_mul(dims, conv.batch, conv.groups), split.size[1] = conv.inner;
        x = build_reshape(b, "grouped", x, split.rank, split.size);
        conv.grouped = false;
    }
    x = windows(b, node, &conv, x);
    if (deep && conv.grouped) return depthwise(b, &conv, x, weight, bias, &result);
    weight = filters(b, &conv, weight);
    bias = conv_bias(b, &conv, bias);
    int64_t batch = conv.grouped ? 2 : 1, k = 1 + conv.spatial;
    bool whole = !conv.grouped && !conv.merged;
    Builder inner = *b;
    if (!whole) inner.name = arena_printf(b->g->arena, "%s.groups", b->prefix);
    ValueId y = decompose_products(&inner, weight, x, bias, batch, k, result.dtype);
    b->failed |= inner.failed;
    return whole ? y : build_reshape(b, NULL, y, result.rank, result.size);
}
