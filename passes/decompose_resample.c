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

// x [N, C, ..] as windows over it with zeros in between, [N * G, .., C // G, k..].
static ValueId spread_windows(Builder *b, const Node *node, ValueId x, const Type *result,
                              const Type *kernel, Dim groups) {
    DimTable *dims = b->g->dims;
    Type image = build_type(b, x), split = image;
    uint32_t spatial = image.rank - 2u, count = 0;
    split.size[0] = dim_mul(dims, image.size[0], groups);
    split.size[1] = dim_floor_div(dims, image.size[1], groups);
    x = build_reshape(b, "grouped", x, split.rank, split.size);
    for (uint32_t i = 0; i < spatial; i++) { // axes 2, 4, 6
        Dim before, after, steps = dim_sub(dims, kernel->size[2 + i], dim_const(dims, 1));
        attr_pair_of(build_attr(node, "padding"), i, &before, &after);
        int64_t dilation = attr_int_of(build_attr(node, "dilation"), i);
        x = spread_out(b, x, 2 + 2 * i, attr_int_of(build_attr(node, "stride"), i));
        WindowAxis window = {.axis = 2 + 2 * i,
                             .kernel = kernel->size[2 + i],
                             .output = result->size[2 + i],
                             .stride = 1,
                             .dilation = dilation};
        Dim reach = dim_mul(dims, steps, dim_const(dims, dilation));
        window.before = dim_sub(dims, reach, before);
        x = build_unfold(b, x, window, 0);
    }
    uint8_t axes[RANK_MAX] = {0};
    for (uint32_t i = 0; i < spatial; i++) axes[++count] = (uint8_t)(3 + 2 * i);
    axes[++count] = 1;
    for (uint32_t i = 0; i < spatial; i++) axes[++count] = (uint8_t)(2 + 2 * i);
    return build_permute(b, "permute", x, axes);
}

// The weight [C, O // G, k..] with its kernel mirrored, as [N * G, O // G, C // G, k..].
static ValueId mirrored_filters(Builder *b, ValueId weight, Dim batch, Dim groups, Dim inner) {
    DimTable *dims = b->g->dims;
    Type kernel = build_type(b, weight);
    Dim size[RANK_MAX] = {batch, groups, inner}, merged[RANK_MAX];
    uint32_t rank = kernel.rank + 1u;
    for (uint32_t i = 2; i < kernel.rank; i++) weight = build_flip(b, "flip", weight, i);
    for (uint32_t i = 1; i < kernel.rank; i++) size[2 + i] = kernel.size[i];
    weight = build_reshape(b, "weight", weight, rank, size + 1);
    uint8_t axes[RANK_MAX] = {0, 2, 1};
    for (uint32_t i = 3; i < rank; i++) axes[i] = (uint8_t)i;
    weight = build_permute(b, "weight", weight, axes);
    size[2] = kernel.size[1], size[3] = inner;
    merged[0] = dim_mul(dims, batch, groups);
    for (uint32_t i = 1; i < rank; i++) merged[i] = size[i + 1];
    if (dim_is(dims, groups, 1)) { // the same filters for every image
        weight = build_reshape(b, "weight", weight, rank - 1, size + 2);
        return build_broadcast(b, weight, rank, merged);
    }
    weight = build_broadcast(b, weight, rank + 1, size);
    return build_reshape(b, "weight", weight, rank, merged);
}

// Whether every result pixel comes from one pixel of x: windows as wide as they are apart.
static bool tiles_exactly(DimTable *dims, const Node *node, const Type *kernel) {
    if (build_attr(node, "groups")->i != 1) return false;
    for (uint32_t i = 0; i + 2 < kernel->rank; i++) {
        Dim before, after;
        attr_pair_of(build_attr(node, "padding"), i, &before, &after);
        if (!dim_is(dims, before, 0) || !dim_is(dims, after, 0) ||
            attr_int_of(build_attr(node, "output_padding"), i) != 0 ||
            attr_int_of(build_attr(node, "dilation"), i) != 1 ||
            !dim_is(dims, kernel->size[2 + i], attr_int_of(build_attr(node, "stride"), i)))
            return false;
    }
    return 1 + 2 * (kernel->rank - 2u) + 1 <= RANK_MAX;
}

// Then it is a product of pixels and filters, [N, O, k.., ..], put in order.
static ValueId pixel_products(Builder *b, ValueId x, ValueId weight, ValueId bias,
                              const Type *result) {
    Type image = build_type(b, x), kernel = build_type(b, weight);
    uint32_t spatial = image.rank - 2u, count = 0;
    uint8_t axes[RANK_MAX] = {0};
    for (uint32_t i = 0; i < spatial; i++) axes[++count] = (uint8_t)(2 + i);
    axes[++count] = 1;
    x = build_permute(b, "pixels", x, axes); // [N, .., C]
    for (uint32_t i = 0; i <= spatial; i++) axes[i] = (uint8_t)(1 + i);
    axes[spatial + 1] = 0;
    weight = build_permute(b, "filters", weight, axes); // [O, k.., C]
    Dim size[RANK_MAX] = {image.size[0]};
    for (uint32_t i = 0; i < kernel.rank; i++) size[1 + i] = kernel.size[axes[i]];
    weight = build_broadcast(b, weight, kernel.rank + 1u, size);
    if (bias) bias = build_expand_to(b, bias, 2 * spatial);
    Builder products = *b;
    products.name = arena_printf(b->g->arena, "%s.pixels", b->prefix);
    ValueId y = decompose_products(&products, weight, x, bias, 1, 1, result->dtype);
    b->failed |= products.failed;
    axes[0] = 0, axes[1] = 1;
    for (uint32_t i = 0; i < spatial; i++) {
        axes[2 + 2 * i] = (uint8_t)(2 + spatial + i);
        axes[3 + 2 * i] = (uint8_t)(2 + i);
    }
    y = build_permute(b, "places", y, axes);
    return build_reshape(b, NULL, y, result->rank, result->size);
}

// A convolution with the mirrored kernel of x with zeros in between. Groups are images of their
// own.
ValueId decompose_conv_transpose(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0), weight = node_operand(rewrite, node, 1);
    ValueId bias = node_operand(rewrite, node, 2);
    Type result = node_type(rewrite, node), image = build_type(b, x);
    Type kernel = build_type(b, weight);
    Dim groups = dim_const(dims, build_attr(node, "groups")->i), batch = image.size[0];
    uint32_t spatial = result.rank - 2u;
    bool grouped = !dim_is(dims, groups, 1);
    if (tiles_exactly(dims, node, &kernel)) return pixel_products(b, x, weight, bias, &result);
    x = spread_windows(b, node, x, &result, &kernel, groups);
    weight = mirrored_filters(b, weight, batch, groups, dim_floor_div(dims, image.size[1], groups));
    if (bias && grouped) {
        Dim size[] = {batch, groups, kernel.size[1]};
        bias = build_reshape(b, "bias", bias, 2, size + 1);
        bias = build_reshape(b, "bias", build_broadcast(b, bias, 3, size), 2,
                             (Dim[]){dim_mul(dims, batch, groups), kernel.size[1]});
    }
    if (bias) bias = build_expand_to(b, bias, spatial);
    Builder products = *b;
    if (grouped) products.name = arena_printf(b->g->arena, "%s.groups", b->prefix);
    ValueId y = decompose_products(&products, weight, x, bias, 1, 1 + spatial, result.dtype);
    b->failed |= products.failed;
    return grouped ? build_reshape(b, NULL, y, result.rank, result.size) : y;
}

// ---- interpolation ---------------------------------------------------------------------------

// The pixels of one axis that results are made of, and their weights (one pixel: none).
typedef struct Taps {
    uint32_t count;
    ValueId pixel[4], weight[4];
} Taps;

// Where results are on an axis: over / under, whole numbers, so that nothing is rounded.
typedef struct Place {
    ValueId over;
    Dim under;
} Place;

static Place places(Builder *b, const Node *node, Dim from, Dim to) {
    DimTable *dims = b->g->dims;
    bool nearest = strcmp(build_attr(node, "mode")->s, "nearest") == 0;
    const char *word = build_attr(node, "coordinates")->s;
    bool corners = build_attr(node, "align_corners")->i || strcmp(word, "align_corners") == 0;
    bool plain = strcmp(word, "asymmetric") == 0 || (nearest && strcmp(word, "default") == 0);
    ValueId i = build_counter(b, to);
    Dim one = dim_const(dims, 1), two = dim_const(dims, 2);
    if (corners || plain) {
        Dim by = corners ? dim_sub(dims, from, one) : from;
        i = build_map2(b, OP_MULTIPLY, "scaled", i, build_size(b, DT_I32, by));
        return (Place){i, corners ? dim_max(dims, dim_sub(dims, to, one), one) : to};
    }
    i = build_map2(b, OP_MULTIPLY, "twice", i, build_number(b, DT_I32, 2));
    i = build_map2(b, OP_ADD, "centre", i, build_number(b, DT_I32, 1));
    i = build_map2(b, OP_MULTIPLY, "scaled", i, build_size(b, DT_I32, from));
    Dim shift = to;
    if (strcmp(word, "pytorch_half_pixel") == 0) { // a single result: the first pixel
        Dim single = dim_max(dims, dim_sub(dims, two, to), dim_const(dims, 0));
        shift = dim_add(dims, to, dim_mul(dims, single, dim_sub(dims, from, one)));
    }
    return (Place){build_map2(b, OP_SUBTRACT, "source", i, build_size(b, DT_I32, shift)),
                   dim_mul(dims, two, to)};
}

static ValueId floor_of(Builder *b, ValueId over, Dim under) {
    return build_map2(b, OP_FLOOR_DIVIDE, "floor", over, build_size(b, DT_I32, under));
}

static ValueId nearest_of(Builder *b, const char *how, Place at) {
    DimTable *dims = b->g->dims;
    Dim twice = dim_mul(dims, dim_const(dims, 2), at.under);
    if (strcmp(how, "floor") == 0) return floor_of(b, at.over, at.under);
    if (strcmp(how, "ceil") == 0) {
        ValueId back = build_map1(b, OP_NEGATIVE, "back", at.over);
        return build_map1(b, OP_NEGATIVE, "ceil", floor_of(b, back, at.under));
    }
    ValueId over = build_map2(b, OP_MULTIPLY, "twice", at.over, build_number(b, DT_I32, 2));
    ValueId half = build_size(b, DT_I32, at.under);
    if (strcmp(how, "prefer_ceil") == 0)
        return floor_of(b, build_map2(b, OP_ADD, "above", over, half), twice);
    ValueId back = build_map2(b, OP_SUBTRACT, "back", half, over);
    return build_map1(b, OP_NEGATIVE, "near", floor_of(b, back, twice));
}

static ValueId held(Builder *b, ValueId pixel, Dim from) {
    Dim last = dim_sub(b->g->dims, from, dim_const(b->g->dims, 1));
    pixel = build_map2(b, OP_MAXIMUM, "held", pixel, build_number(b, DT_I32, 0));
    return build_map2(b, OP_MINIMUM, "pixel", pixel, build_size(b, DT_I32, last));
}

static ValueId number_of(Builder *b, OpId op, ValueId x, double number) {
    return build_map2(b, op, "weight", x, build_number(b, DT_F32, number));
}

// Keys' cubic convolution (1981) at distance x in 0 .. 1, or 1 .. 2 (`far`).
static ValueId cubic(Builder *b, ValueId x, double a, bool far) {
    ValueId sum;
    if (far) {
        sum = number_of(b, OP_SUBTRACT, number_of(b, OP_MULTIPLY, x, a), 5 * a);
        sum = number_of(b, OP_ADD, build_map2(b, OP_MULTIPLY, "weight", sum, x), 8 * a);
        return number_of(b, OP_SUBTRACT, build_map2(b, OP_MULTIPLY, "weight", sum, x), 4 * a);
    }
    sum = number_of(b, OP_SUBTRACT, number_of(b, OP_MULTIPLY, x, a + 2), a + 3);
    sum = build_map2(b, OP_MULTIPLY, "weight", build_map2(b, OP_MULTIPLY, "weight", sum, x), x);
    return number_of(b, OP_ADD, sum, 1);
}

// Weights of pixels past the edge are 0, and the others' sum is 1 again.
static void exclude_outside(Builder *b, Taps *taps, const ValueId *pixel, Dim from) {
    ValueId sum = 0, zero = build_number(b, DT_I32, 0), end = build_size(b, DT_I32, from);
    for (uint32_t k = 0; k < taps->count; k++) {
        ValueId above = build_map2(b, OP_GREATER_EQUAL, "inside", pixel[k], zero);
        ValueId inside = build_map2(b, OP_LOGICAL_AND, "inside", above,
                                    build_map2(b, OP_LESS, "inside", pixel[k], end));
        taps->weight[k] =
            build_where(b, "kept", inside, taps->weight[k], build_number(b, DT_F32, 0));
        sum = sum ? build_map2(b, OP_ADD, "sum", sum, taps->weight[k]) : taps->weight[k];
    }
    for (uint32_t k = 0; k < taps->count; k++)
        taps->weight[k] = build_map2(b, OP_DIVIDE, "weight", taps->weight[k], sum);
}

static Taps taps_of(Builder *b, const Node *node, Dim from, Dim to) {
    const char *mode = build_attr(node, "mode")->s;
    Place at = places(b, node, from, to);
    if (strcmp(mode, "nearest") == 0) {
        ValueId pixel = nearest_of(b, build_attr(node, "rounding")->s, at);
        return (Taps){.count = 1, .pixel = {held(b, pixel, from)}};
    }
    bool cubes = strcmp(mode, "bicubic") == 0;
    Taps taps = {.count = cubes ? 4 : 2};
    ValueId low = floor_of(b, at.over, at.under), pixel[4];
    ValueId under = build_size(b, DT_I32, at.under);
    ValueId rest = build_map2(b, OP_SUBTRACT, "rest", at.over,
                              build_map2(b, OP_MULTIPLY, "whole", low, under));
    ValueId share = build_map2(b, OP_DIVIDE, "share", build_cast(b, "rest", rest, DT_F32),
                               build_size(b, DT_F32, at.under));
    ValueId left = build_map2(b, OP_SUBTRACT, "left", build_number(b, DT_F32, 1), share);
    for (uint32_t k = 0; k < taps.count; k++) {
        double step = cubes ? k - 1.0 : k;
        pixel[k] =
            step != 0 ? build_map2(b, OP_ADD, "next", low, build_number(b, DT_I32, step)) : low;
        taps.pixel[k] = held(b, pixel[k], from);
        taps.weight[k] = k ? share : left;
        if (!cubes) continue;
        ValueId x = k < 2 ? share : left;
        bool far = k == 0 || k == 3;
        if (far) x = number_of(b, OP_ADD, x, 1);
        taps.weight[k] = cubic(b, x, build_attr(node, "cubic_coeff")->f, far);
    }
    if (cubes && build_attr(node, "exclude_outside")->i) exclude_outside(b, &taps, pixel, from);
    return taps;
}

// The pixels at (row, column) of all result pixels; x is [N, C, H * W].
static ValueId corner(Builder *b, ValueId x, ValueId row, ValueId column, Dim width,
                      const char *part) {
    ValueId start = build_map2(b, OP_MULTIPLY, "start", row, build_size(b, DT_I32, width));
    ValueId index = build_map2(b, OP_ADD, "pixel", build_expand_to(b, start, 1), column);
    return build_gather(b, OP_TAKE, part, x, index, 2);
}

ValueId decompose_interpolate(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0), sum = 0;
    Type type = build_type(b, x), result = node_type(rewrite, node);
    Taps row = taps_of(b, node, type.size[2], result.size[2]);
    Taps column = taps_of(b, node, type.size[3], result.size[3]);
    Dim width = type.size[3];
    Dim flat[] = {type.size[0], type.size[1], dim_mul(b->g->dims, type.size[2], width)};
    x = build_reshape(b, "pixels", x, 3, flat);
    if (row.count == 1) return corner(b, x, row.pixel[0], column.pixel[0], width, NULL);
    bool cast = result.dtype != DT_F32;
    for (uint32_t r = 0; r < row.count; r++) {
        ValueId line = 0;
        for (uint32_t c = 0; c < column.count; c++) {
            ValueId at = corner(b, x, row.pixel[r], column.pixel[c], width, "corner");
            at = build_cast(b, "wide", at, DT_F32);
            at = build_map2(b, OP_MULTIPLY, "part", at, column.weight[c]);
            line = line ? build_map2(b, OP_ADD, "line", line, at) : at;
        }
        line = build_map2(b, OP_MULTIPLY, "part", line, build_expand_to(b, row.weight[r], 1));
        const char *part = cast || r + 1 < row.count ? "blend" : NULL;
        sum = sum ? build_map2(b, OP_ADD, part, sum, line) : line;
    }
    return decompose_finish(b, sum, result.dtype);
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
    return build_narrow(b, NULL, sum, result.dtype);
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
    return build_narrow(b, NULL, x, result.dtype);
}

ValueId decompose_dequantize(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0), zero = node_operand(rewrite, node, 2);
    Type type = build_type(b, x), result = node_type(rewrite, node);
    ValueId scale = along(b, node, node_operand(rewrite, node, 1), &type, DT_F32);
    x = build_cast(b, "wide", x, DT_I32);
    if (zero) x = build_map2(b, OP_SUBTRACT, "shifted", x, along(b, node, zero, &type, DT_I32));
    bool cast = result.dtype != DT_F32;
    x = build_map2(b, OP_MULTIPLY, cast ? "scaled" : NULL, build_cast(b, "real", x, DT_F32), scale);
    return build_narrow(b, NULL, x, result.dtype);
}
