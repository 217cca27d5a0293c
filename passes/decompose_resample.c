// Transposed convolution, interpolation, products by group and quantisation as views, gathers,
// contracts and maps.
#include "passes/decompose.h"

#include <string.h>

// ---- transposed convolution ------------------------------------------------------------------

// x with stride - 1 zeros after each element of an axis.
static ValueId spread_out(Builder *b, ValueId x, uint32_t axis, int64_t stride) {
    DimTable *dims = b->g->dims;
    if (stride == 1) return x;
    Type type = build_type(b, x);
    x = build_pad(b, build_expand(b, "gaps", x, axis + 1), axis + 1, dim_const(dims, 0),
                  dim_const(dims, stride - 1));
    type.size[axis] = dim_mul(dims, type.size[axis], dim_const(dims, stride));
    return build_reshape(b, "spread", x, type.rank, type.size);
}

// A convolution with the mirrored kernel of x with zeros in between.
ValueId decompose_conv_transpose(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0), weight = node_operand(rewrite, node, 1);
    ValueId bias = node_operand(rewrite, node, 2);
    Type result = node_type(rewrite, node), image = build_type(b, x),
         kernel = build_type(b, weight);
    Dim groups = dim_const(dims, build_attr(node, "groups")->i), one = dim_const(dims, 1);
    Dim inner = dim_floor_div(dims, image.size[1], groups);
    Dim split[] = {image.size[0], groups, inner, image.size[2], image.size[3]};
    x = build_reshape(b, "grouped", x, 5, split);
    for (uint32_t i = 0; i < 2; i++) { // axes 3 and 4, then 3 and 5
        uint32_t axis = 3 + 2 * i;
        Dim before, after;
        attr_pair_of(build_attr(node, "padding"), i, &before, &after);
        int64_t dilation = attr_int_of(build_attr(node, "dilation"), i);
        x = spread_out(b, x, axis, attr_int_of(build_attr(node, "stride"), i));
        Dim reach =
            dim_mul(dims, dim_sub(dims, kernel.size[2 + i], one), dim_const(dims, dilation));
        WindowAxis window = {.axis = axis,
                             .kernel = kernel.size[2 + i],
                             .output = result.size[2 + i],
                             .before = dim_sub(dims, reach, before),
                             .stride = 1,
                             .dilation = dilation};
        x = build_unfold(b, x, window, 0);
    }
    x = build_permute(b, "permute", x, (const uint8_t[]){0, 1, 4, 6, 2, 3, 5});
    Dim filter[] = {groups, inner, kernel.size[1], kernel.size[2], kernel.size[3]};
    weight = build_flip(b, "flip", build_flip(b, "flip", weight, 2), 3);
    weight = build_reshape(b, "weight", weight, 5, filter);
    weight = build_permute(b, "weight", weight, (const uint8_t[]){0, 2, 1, 3, 4});
    Dim wide[] = {image.size[0], groups, kernel.size[1], inner, kernel.size[2], kernel.size[3]};
    weight = build_broadcast(b, weight, 6, wide);
    if (bias) {
        bias = build_reshape(b, "bias", bias, 2, (Dim[]){groups, kernel.size[1]});
        bias = build_expand_to(b, bias, 2);
    }
    Builder products = *b;
    products.name = arena_printf(b->g->arena, "%s.groups", b->prefix);
    ValueId y = decompose_products(&products, weight, x, bias, 2, 3, result.dtype);
    b->failed |= products.failed;
    return build_reshape(b, NULL, y, result.rank, result.size);
}

// ---- interpolation ---------------------------------------------------------------------------

typedef struct Pixels { // of one axis: two neighbours, and how far a result is from the first
    ValueId low, high, share;
} Pixels;

static Pixels pixels(Builder *b, const Node *node, Dim from, Dim to) {
    DimTable *dims = b->g->dims;
    Dim one = dim_const(dims, 1);
    ValueId i = build_counter(b, to);
    Pixels p = {0};
    if (strcmp(build_attr(node, "mode")->s, "nearest") == 0) {
        i = build_map2(b, OP_MULTIPLY, "scaled", i, build_size(b, DT_I32, from));
        p.low = build_map2(b, OP_FLOOR_DIVIDE, "low", i, build_size(b, DT_I32, to));
        return p;
    }
    bool corners = build_attr(node, "align_corners")->i;
    Dim last = dim_sub(dims, from, one), step = corners ? last : from;
    Dim by = corners ? dim_max(dims, dim_sub(dims, to, one), one) : to;
    ValueId half = build_number(b, DT_F32, 0.5), zero = build_number(b, DT_F32, 0);
    ValueId at = build_cast(b, "at", i, DT_F32);
    if (!corners) at = build_map2(b, OP_ADD, "centre", at, half);
    at = build_map2(b, OP_MULTIPLY, "scaled", at, build_size(b, DT_F32, step));
    at = build_map2(b, OP_DIVIDE, "source", at, build_size(b, DT_F32, by));
    if (!corners) at = build_map2(b, OP_SUBTRACT, "source", at, half);
    at = build_map2(b, OP_MAXIMUM, "source", at, zero);
    at = build_map2(b, OP_MINIMUM, "source", at, build_size(b, DT_F32, last));
    ValueId low = build_map1(b, OP_FLOOR, "floor", at);
    p.share = build_map2(b, OP_SUBTRACT, "share", at, low);
    p.low = build_cast(b, "low", low, DT_I32);
    ValueId next = build_map2(b, OP_ADD, "next", p.low, build_number(b, DT_I32, 1));
    p.high = build_map2(b, OP_MINIMUM, "high", next, build_size(b, DT_I32, last));
    return p;
}

// The pixels at (row, column) of all result pixels; x is [N, C, H * W].
static ValueId corner(Builder *b, ValueId x, ValueId row, ValueId column, Dim width,
                      const char *part) {
    ValueId start = build_map2(b, OP_MULTIPLY, "start", row, build_size(b, DT_I32, width));
    ValueId index = build_map2(b, OP_ADD, "pixel", build_expand_to(b, start, 1), column);
    return build_gather(b, OP_TAKE, part, x, index, 2);
}

static ValueId blend(Builder *b, const char *part, ValueId x, ValueId y, ValueId share) {
    ValueId rest = build_map2(b, OP_SUBTRACT, "rest", build_number(b, DT_F32, 1), share);
    ValueId left = build_map2(b, OP_MULTIPLY, "left", x, rest);
    return build_map2(b, OP_ADD, part, left, build_map2(b, OP_MULTIPLY, "right", y, share));
}

ValueId decompose_interpolate(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x), result = node_type(rewrite, node);
    Pixels row = pixels(b, node, type.size[2], result.size[2]);
    Pixels column = pixels(b, node, type.size[3], result.size[3]);
    Dim width = type.size[3];
    Dim flat[] = {type.size[0], type.size[1], dim_mul(b->g->dims, type.size[2], width)};
    x = build_reshape(b, "pixels", x, 3, flat);
    if (!row.high) return corner(b, x, row.low, column.low, width, NULL);
    ValueId part[4];
    for (uint32_t i = 0; i < 4; i++) {
        part[i] = corner(b, x, i / 2 ? row.high : row.low, i % 2 ? column.high : column.low, width,
                         "corner");
        part[i] = build_cast(b, "wide", part[i], DT_F32);
    }
    ValueId above = blend(b, "above", part[0], part[1], column.share);
    ValueId below = blend(b, "below", part[2], part[3], column.share);
    bool cast = result.dtype != DT_F32;
    x = blend(b, cast ? "blend" : NULL, above, below, build_expand_to(b, row.share, 1));
    return decompose_finish(b, x, result.dtype);
}

// ---- products by group -----------------------------------------------------------------------

// Row r times the weight of its group, read where it lies: a sum along rows of
// take(weight, group of r) * x.
ValueId decompose_grouped_matmul(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0), weight = node_operand(rewrite, node, 1);
    ValueId offsets = node_operand(rewrite, node, 2), bias = node_operand(rewrite, node, 3);
    Type rows = build_type(b, x), experts = build_type(b, weight);
    Type result = node_type(rewrite, node);
    DType inner = decompose_inner(result.dtype);
    Dim pairs[] = {rows.size[0], experts.size[0]};
    ValueId none = build_size(b, DT_I32, experts.size[0]);
    ValueId row = decompose_counter(b, 0, 2, pairs), expert = decompose_counter(b, 1, 2, pairs);
    ValueId before = build_map2(b, OP_LESS, "before", row, build_broadcast(b, offsets, 2, pairs));
    ValueId group = build_where(b, "candidate", before, expert, none);
    group = build_reduce(b, OP_MIN, "group", group, 2);
    Dim full[] = {rows.size[0], experts.size[1], experts.size[2]};
    ValueId own = build_gather(b, OP_TAKE, "own", weight, group, 0);
    own = build_cast(b, "wide", own, inner);
    x = build_cast(b, "wide", build_broadcast(b, build_expand(b, "each", x, 1), 3, full), inner);
    ValueId product = build_map2(b, OP_MULTIPLY, "product", own, x);
    bool cast = inner != result.dtype;
    ValueId sum = build_reduce(b, OP_SUM, bias || cast ? "sum" : NULL, product, 4);
    if (bias) {
        bias = build_cast(b, "wide", build_gather(b, OP_TAKE, "bias", bias, group, 0), inner);
        sum = build_map2(b, OP_ADD, cast ? "add" : NULL, sum, bias);
    }
    return build_cast(b, NULL, sum, result.dtype);
}

// ---- quantisation ----------------------------------------------------------------------------

// A scale or zero point as wide as x, in `dtype`.
static ValueId along(Builder *b, const Node *node, ValueId scale, const Type *x, DType dtype) {
    int64_t block = build_attr(node, "block_size")->i;
    Type type = build_type(b, scale);
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    if (block) {
        scale = decompose_spread_axis(b, scale, axis, dim_const(b->g->dims, block));
        scale = build_slice(b, "blocks", scale, axis, dim_const(b->g->dims, 0), x->size[axis], 1);
    } else if (type.rank) {
        scale = build_expand_to(b, scale, x->rank - 1u - axis);
    }
    return decompose_spread(b, "wide", scale, x->rank, x->size, dtype);
}

ValueId decompose_quantize(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0), zero = node_operand(rewrite, node, 2);
    Type type = build_type(b, x), result = node_type(rewrite, node);
    ValueId scale = along(b, node, node_operand(rewrite, node, 1), &type, DT_F32);
    x = build_map2(b, OP_DIVIDE, "scaled", build_cast(b, "wide", x, DT_F32), scale);
    x = build_map1(b, OP_ROUND, "round", x);
    if (zero) x = build_map2(b, OP_ADD, "shifted", x, along(b, node, zero, &type, DT_F32));
    return build_cast(b, NULL, x, result.dtype);
}

ValueId decompose_dequantize(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0), zero = node_operand(rewrite, node, 2);
    Type type = build_type(b, x), result = node_type(rewrite, node);
    ValueId scale = along(b, node, node_operand(rewrite, node, 1), &type, DT_F32);
    x = build_cast(b, "wide", x, DT_I32);
    if (zero) x = build_map2(b, OP_SUBTRACT, "shifted", x, along(b, node, zero, &type, DT_I32));
    bool cast = result.dtype != DT_F32;
    x = build_map2(b, OP_MULTIPLY, cast ? "scaled" : NULL, build_cast(b, "real", x, DT_F32), scale);
    return build_cast(b, NULL, x, result.dtype);
}
