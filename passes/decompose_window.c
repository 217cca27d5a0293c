// Pools and running sums as reduces over the kernel axes of unfold views, and joins as one
// selecting map.
#include "passes/decompose.h"

#include <math.h>

enum { WINDOW_AXES = 1 << 4 | 1 << 5 }; // kh and kw of [N, C, H', W', kh, kw]

// One spatial axis (0: height, 1: width) of a pool.
static WindowAxis pool_axis(Rewrite *rewrite, const Node *node, uint32_t i, Dim output) {
    const Attr *kernel = build_attr(node, "kernel_size"), *stride = build_attr(node, "stride");
    Dim before, after;
    attr_pair_of(build_attr(node, "padding"), i, &before, &after);
    bool dilated = op_attr_index(op_info(node->op), "dilation") >= 0;
    return (WindowAxis){
        .kernel = dim_const(rewrite->to->dims, attr_int_of(kernel, i)),
        .output = output,
        .before = before,
        .stride = attr_int_of(stride->present ? stride : kernel, i),
        .dilation = dilated ? attr_int_of(build_attr(node, "dilation"), i) : 1,
    };
}

// Whether the windows lie side by side inside an axis of `size`.
static bool tiles(DimTable *dims, const WindowAxis *window, Dim size, Dim *covered) {
    *covered = dim_mul(dims, window->kernel, window->output);
    return dim_is(dims, window->kernel, window->stride) && window->dilation == 1 &&
           dim_is(dims, window->before, 0) && dim_proved(dims, *covered, DIM_LE, size);
}

// x [N, C, H, W] as its windows [N, C, H', W', kh, kw], `value` where they leave x. Windows side by
// side are a split of the axes, which passes through what computes x.
static ValueId pool_windows(Builder *b, ValueId x, const WindowAxis window[2], double value) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x);
    Dim height, width, zero = dim_const(dims, 0);
    if (tiles(dims, &window[0], type.size[2], &height) &&
        tiles(dims, &window[1], type.size[3], &width)) {
        x = build_slice(b, "rows", x, 2, zero, height, 1);
        x = build_slice(b, "columns", x, 3, zero, width, 1);
        Dim size[] = {type.size[0],     type.size[1],     window[0].output,
                      window[0].kernel, window[1].output, window[1].kernel};
        x = build_reshape(b, "windows", x, 6, size);
        return build_permute(b, "permute", x, (const uint8_t[]){0, 1, 2, 4, 3, 5});
    }
    WindowAxis rows = window[0], columns = window[1];
    rows.axis = 2;
    columns.axis = 4;
    x = build_unfold(b, build_unfold(b, x, rows, value), columns, value);
    return build_permute(b, "permute", x, (const uint8_t[]){0, 1, 3, 5, 2, 4});
}

static void pool_axes(Rewrite *rewrite, const Node *node, const Type *result, WindowAxis *window) {
    for (uint32_t i = 0; i < 2; i++) window[i] = pool_axis(rewrite, node, i, result->size[2 + i]);
}

ValueId decompose_max_pool(Rewrite *rewrite, Builder *b, const Node *node) {
    Type result = node_type(rewrite, node);
    WindowAxis window[2];
    pool_axes(rewrite, node, &result, window);
    double lowest = result.dtype == DT_I32 ? (double)INT32_MIN : 0;
    if (dtype_is_float(result.dtype)) lowest = -INFINITY;
    ValueId x = pool_windows(b, node_operand(rewrite, node, 0), window, lowest);
    return build_reduce(b, OP_MAX, NULL, x, WINDOW_AXES);
}

// How many cells of [0, size) each window of an axis covers, as [output] f32.
static ValueId cells(Builder *b, WindowAxis window, Dim size) {
    ValueId ones = build_broadcast(b, build_number(b, DT_F32, 1), 1, &size);
    window.axis = 0;
    return build_reduce(b, OP_SUM, "cells", build_unfold(b, ones, window, 0), 1);
}

// Whether windows may reach cells that are not counted; *size is what is counted on this axis.
static bool uneven(Builder *b, const Node *node, uint32_t i, Dim extent, WindowAxis *window,
                   Dim *size) {
    DimTable *dims = b->g->dims;
    Dim before, after;
    attr_pair_of(build_attr(node, "padding"), i, &before, &after);
    Dim padded = dim_add(dims, extent, dim_add(dims, before, after));
    bool padding = !dim_is(dims, before, 0) || !dim_is(dims, after, 0);
    bool counted = build_attr(node, "count_include_pad")->i;
    *size = counted ? padded : extent;
    if (counted) window->before = dim_const(dims, 0);
    Dim steps = dim_sub(dims, window->output, dim_const(dims, 1));
    Dim end = dim_add(dims, dim_mul(dims, steps, dim_const(dims, window->stride)), window->kernel);
    return (padding && !counted) || !dim_proved(dims, end, DIM_LE, padded);
}

ValueId decompose_avg_pool(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    Type result = node_type(rewrite, node);
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x);
    WindowAxis window[2], counted[2];
    Dim size[2];
    pool_axes(rewrite, node, &result, window);
    bool varies = false;
    for (uint32_t i = 0; i < 2; i++) {
        counted[i] = window[i];
        varies |= uneven(b, node, i, type.size[2 + i], &counted[i], &size[i]);
    }
    x = build_cast(b, "wide", pool_windows(b, x, window, 0), DT_F32);
    x = build_reduce(b, OP_SUM, "sum", x, WINDOW_AXES);
    const char *part = result.dtype == DT_F32 ? NULL : "mean";
    if (varies) {
        ValueId rows = build_expand_to(b, cells(b, counted[0], size[0]), 1);
        ValueId count = build_map2(b, OP_MULTIPLY, "count", rows, cells(b, counted[1], size[1]));
        x = build_map2(b, OP_DIVIDE, part, x, count);
    } else {
        x = build_divide_by(b, part, x, dim_mul(dims, window[0].kernel, window[1].kernel));
    }
    return decompose_finish(b, x, result.dtype);
}

// Means of the bins [i n // o, ceil((i + 1) n / o)) of the last axis: [.., n] -> [.., o].
static ValueId bins(Builder *b, ValueId x, Dim output) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x), out = type;
    uint32_t last = type.rank - 1u;
    Dim n = type.size[last], quotient;
    out.size[last] = output;
    if (dim_exact_div(dims, n, output, &quotient)) {
        out.size[type.rank] = quotient;
        x = build_reshape(b, "bins", x, type.rank + 1u, out.size);
        return build_divide_by(b, "mean", build_reduce(b, OP_SUM, "sum", x, 2u << last), quotient);
    }
    ValueId i = build_expand_to(b, build_counter(b, output), 1), j = build_counter(b, n);
    ValueId in = build_size(b, DT_I32, n), bin = build_size(b, DT_I32, output);
    ValueId scaled = build_map2(b, OP_MULTIPLY, "scaled", i, in);
    ValueId start = build_map2(b, OP_FLOOR_DIVIDE, "start", scaled, bin);
    ValueId above =
        build_size(b, DT_I32, dim_sub(dims, dim_add(dims, n, output), dim_const(dims, 1)));
    ValueId stop =
        build_map2(b, OP_FLOOR_DIVIDE, "stop", build_map2(b, OP_ADD, "next", scaled, above), bin);
    ValueId inside =
        build_map2(b, OP_LOGICAL_AND, "inside", build_map2(b, OP_GREATER_EQUAL, "from", j, start),
                   build_map2(b, OP_LESS, "to", j, stop));
    out.size[type.rank] = n;
    x = build_broadcast(b, build_expand(b, "bins", x, last), type.rank + 1u, out.size);
    x = build_op(b, OP_WHERE, "kept", (ValueId[]){inside, x, build_number(b, DT_F32, 0)}, 3, NULL);
    ValueId width = build_map2(b, OP_SUBTRACT, "width", stop, start);
    width = build_cast(b, "count", build_reshape(b, "width", width, 1, &output), DT_F32);
    return build_map2(b, OP_DIVIDE, "mean", build_reduce(b, OP_SUM, "sum", x, 2u << last), width);
}

ValueId decompose_adaptive_pool(Rewrite *rewrite, Builder *b, const Node *node) {
    Type result = node_type(rewrite, node);
    const uint8_t flipped[] = {0, 1, 3, 2};
    ValueId x = build_cast(b, "wide", node_operand(rewrite, node, 0), DT_F32);
    x = bins(b, x, result.size[3]);
    x = bins(b, build_permute(b, "transpose", x, flipped), result.size[2]);
    bool cast = result.dtype != DT_F32;
    x = build_permute(b, cast ? "transpose" : NULL, x, flipped);
    return decompose_finish(b, x, result.dtype);
}
