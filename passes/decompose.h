// The rewrites of the decompose pass, one a class. Each takes a builder whose name is that of the
// node's result, and the node of the old graph; it returns the value that replaces the result, or 0
// after an error.
//
// Roundings: what a node computes inside is f32 (or the integer type), with one rounding at its
// end, as the precision column of the op table says.
#pragma once

#include "passes/build.h"

typedef ValueId DecomposeFn(Rewrite *rewrite, Builder *b, const Node *node);

DecomposeFn decompose_softmax, decompose_norm, decompose_group_norm, decompose_batch_norm;
DecomposeFn decompose_matmul, decompose_linear, decompose_conv;
DecomposeFn decompose_max_pool, decompose_avg_pool, decompose_adaptive_pool;
DecomposeFn decompose_rotary;
DecomposeFn decompose_reduce, decompose_mean, decompose_cumsum, decompose_tile, decompose_concat,
    decompose_stack;
DecomposeFn decompose_pad, decompose_roll, decompose_repeat_interleave, decompose_triangle,
    decompose_one_hot;
DecomposeFn decompose_sort, decompose_bincount, decompose_scatter_elements, decompose_scatter_nd;
DecomposeFn decompose_conv_transpose, decompose_interpolate, decompose_grouped_matmul;
DecomposeFn decompose_quantize, decompose_dequantize;
bool decompose_topk(Rewrite *rewrite, Builder *b, const Node *node); // sets both results

// Shared pieces.

// The dtype an op computes in: f32 for floats, i32 for small integers, else the dtype itself.
DType decompose_inner(DType dtype);
// Operand `x` (a weight or the like) brought to a shape by broadcasting, then cast: a cast of the
// full shape can be computed where it is read.
ValueId decompose_spread(Builder *b, const char *part, ValueId x, uint32_t rank, const Dim *size,
                         DType dtype);
// A sum of products with an optional bias, rounded once to dtype. bias already broadcasts.
ValueId decompose_products(Builder *b, ValueId x, ValueId y, ValueId bias, int64_t batch, int64_t k,
                           DType dtype);
// Parts joined along an axis. name: of the result (NULL: the builder's). single: which of them
// nothing else reads (NULL: all), so that what computes them may become part of the join.
ValueId decompose_join(Builder *b, const char *name, const ValueId *part, const bool *single,
                       uint32_t parts, uint32_t axis);
// Each element `repeats` times in a row along an axis.
ValueId decompose_spread_axis(Builder *b, ValueId x, uint32_t axis, Dim repeats);
// The index along an axis, as i32 of the given shape.
ValueId decompose_counter(Builder *b, uint32_t axis, uint32_t rank, const Dim *size);
// An axis exchanged with the last.
ValueId decompose_last_axis(Builder *b, const char *part, ValueId x, uint32_t axis);
// Keys that rise along an axis, and where each stood: places of equals rise.
typedef struct Sorted {
    ValueId keys, order;
} Sorted;
Sorted decompose_sorted(Builder *b, ValueId x, uint32_t axis, bool descending);
// Places of at least the k largest, the largest first.
ValueId decompose_best(Builder *b, ValueId x, uint32_t axis, int64_t k);
// x joined along the axis with the updates whose keys name an element; keys outside go nowhere.
ValueId decompose_segments(Builder *b, const char *part, ValueId x, Sorted sorted, ValueId updates,
                           uint32_t axis, const char *reduction);
// How often each number below `length` is among sorted keys.
ValueId decompose_counts(Builder *b, const char *part, ValueId keys, uint32_t axis, Dim length);
// Narrows `x` to the dtype of the node's result and gives it the builder's name.
ValueId decompose_finish(Builder *b, ValueId x, DType dtype);
