// Family "row", form "window": small rows that overlap, as those of a depthwise convolution or of a
// pool do. One invocation folds `items` neighbouring windows along one axis, `vec` of them side by
// side along the last; what several of its windows read is loaded once.
#pragma once

#include "passes/lower_shape.h"

enum { WINDOW_LENGTH_MAX = 64, WINDOW_ITEMS_MAX = 8, WINDOW_VEC_MAX = 4 };
enum { WINDOW_LINEAR = 1 << 0 | 1 << 1 | 1 << 3 }; // axes of the windows, for window_key

// The row's shape as [outer, along, length, last]: kept axes but for the row's own.
typedef struct WindowShape {
    RowShape row;
    int64_t length;
    Dim outer, along, last;
    uint8_t axes[RANK_MAX]; // of the row's shape, in that order
} WindowShape;

// False if the group is no such fold: one phase over a short row of known length.
bool window_shape(Arena *arena, const Graph *g, NodeId fused, WindowShape *out);

// Which element a view reads at a place that is `index` away, on each axis, from one that is the
// same for all of an invocation: equal keys are equal loads. On axes in the mask `linear` that
// place may be anywhere, on the others it is 0.
typedef struct WindowKey {
    bool known; // else every load is its own
    int64_t offset, guard[VIEW_GUARDS_MAX];
    Dim more[1 + VIEW_GUARDS_MAX]; // what symbolic strides add
} WindowKey;

WindowKey window_key(DimTable *dims, const View *view, uint32_t linear, const int64_t *index);
bool window_key_equal(const WindowKey *a, const WindowKey *b);

// The view of an operand in the space of the windows; false if it has none.
bool window_view(Graph *g, const WindowShape *shape, ValueId value, ValueId *base, View *out);
