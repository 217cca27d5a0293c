// Family "contract", form "direct": what policy and mechanism both ask of the product. An
// invocation keeps the sums of reg_m rows in reg_n columns, which are neighbouring windows with all
// of their cells, and reads both operands itself: a convolution of few channels, whose windows
// share most of what they read. No operand passes through workgroup memory but, with stages=1, the
// rows (the filters of a convolution), once. tile_k neighbours along K are unrolled; what is
// outside of these is shared by `lanes` invocations of a subgroup, which join their sums.
#pragma once

#include "passes/contract_shape.h"
#include "passes/window_shape.h"

enum {
    DIRECT_ROWS_MAX = 16,
    DIRECT_WINDOWS_MAX = 16,
    DIRECT_SUMS_MAX = 128,
    DIRECT_INNER_MAX = 256,
    DIRECT_LINEAR = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 // axes of y, for window_key
};

typedef struct DirectShape {
    ContractShape contract;
    Dim outer, along; // windows, but for the last axis of them, and along that
    Dim k_outer;
    uint32_t inner; // of K, unrolled
} DirectShape;

// False where no schedule of this form, or none with so much of K unrolled, computes the node.
bool direct_shape(Graph *g, NodeId fused, uint32_t inner, DirectShape *out);
// y's shape as [batch, outer, along, cells, outer K, inner K]; windows are [outer, along].
void direct_columns(const Graph *g, const DirectShape *shape, Dim *size);
// What a column reads for an element of inner K, from the invocation's first window on.
WindowKey direct_key(DimTable *dims, const View *view, uint32_t window, uint32_t cell, uint32_t k);
