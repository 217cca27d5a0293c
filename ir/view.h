// Views: how an operand's index maps to an element of the value behind it, without moving data.
//
// A view has a logical shape. Each logical axis is a list of digits, outermost first; the product
// of the digits' sizes is the axis' size, and an index on the axis is split into its digits in
// mixed radix. The element offset is offset + sum over digits of (digit index * stride), in
// elements of the value's row-major (or given) layout; stride 0 broadcasts, a negative stride
// flips. A guard makes an element pad where an affine combination of digits leaves [0, size).
// Split, merge, transpose, slice, step, flip, broadcast, pad and unfold compose into one view while
// digits divide; where they do not, view_* starts a second level: `inner` maps this view's linear
// (row-major) element number further.
//
// Views are plain values; a View is only valid together with its DimTable.
#pragma once

#include "ir/type.h"

enum { VIEW_DIGITS_MAX = 24, VIEW_GUARDS_MAX = 8, GUARD_TERMS_MAX = 4, VIEW_LEVELS_MAX = 4 };

typedef struct Digit {
    Dim size, stride;
    uint8_t axis; // digits are stored in axis order, outermost digit of an axis first
} Digit;

typedef struct GuardTerm {
    uint8_t digit; // index into View.digit
    Dim scale;
} GuardTerm;

// In range where 0 <= offset + sum(scale * digit index) < size.
typedef struct Guard {
    GuardTerm term[GUARD_TERMS_MAX];
    uint8_t terms;
    Dim offset, size;
} Guard;

typedef struct View {
    uint8_t rank, digits, guards;
    Dim size[RANK_MAX]; // logical shape
    Digit digit[VIEW_DIGITS_MAX];
    Guard guard[VIEW_GUARDS_MAX];
    Dim offset;
    double pad;               // value outside the guards
    const struct View *inner; // NULL, or the second level (arena of the dim table)
} View;

// Row-major identity of a shape; and with given strides.
View view_identity(DimTable *dims, uint8_t rank, const Dim *size);
View view_strided(DimTable *dims, uint8_t rank, const Dim *size, const Dim *stride, Dim offset);

// Each writes the composed view: "first `view`, seen through the move". False if a limit is
// exceeded (digits, guards); the caller then materialises. The shape arguments were checked by the
// op's rule.
bool view_permute(DimTable *dims, const View *view, const uint8_t *axes, View *out);
bool view_reshape(DimTable *dims, const View *view, uint8_t rank, const Dim *size, View *out);
bool view_broadcast(DimTable *dims, const View *view, uint8_t rank, const Dim *size, View *out);
// start + index * step on one axis; count is the new size. step may be negative (flip).
bool view_slice(DimTable *dims, const View *view, uint8_t axis, Dim start, int64_t step, Dim count,
                View *out);
bool view_expand(DimTable *dims, const View *view, uint8_t axis, View *out);  // inserts a size 1
bool view_squeeze(DimTable *dims, const View *view, uint8_t axis, View *out); // drops a size 1
bool view_pad(DimTable *dims, const View *view, uint8_t axis, Dim before, Dim after, double value,
              View *out);
// Sliding window on one axis: replaces axis (size I) by two axes (kernel k, output o), in that
// order, reading index o * stride + k * dilation - before; outside [0, I) it is pad `value`.
bool view_unfold(DimTable *dims, const View *view, uint8_t axis, Dim kernel, Dim output,
                 int64_t stride, int64_t dilation, Dim before, double value, View *out);

unsigned view_levels(const View *view);                  // 1, and one more an inner level
bool view_is_identity(DimTable *dims, const View *view); // contiguous row-major, no offset or guard
// Same elements in the same linear order (a reshape of a contiguous block), offset allowed.
bool view_is_contiguous(DimTable *dims, const View *view);
// Stride of the innermost digit of an axis (DIM_NONE if the axis has size 1 only: broadcast
// freely).
Dim view_axis_stride(const View *view, uint8_t axis);
// Proved: at least `elements` consecutive indices of the last axis are consecutive in memory from
// any multiple of `elements`, and their offset is a multiple of `elements` (vector loads).
bool view_is_vectorizable(DimTable *dims, const View *view, unsigned elements);
// Bounds of the element offsets that are read, as tight as guards that follow the strides allow;
// false if an axis is empty. They mean nothing where a symbolic size is 0.
bool view_hull(DimTable *dims, const View *view, Dim *first, Dim *last);

// Reference semantics: element offset for a logical index, or -1 for pad. Follows inner levels.
int64_t view_offset(const DimTable *dims, const View *view, const int64_t *symbols,
                    const int64_t *index);
// The same; where it gives -1, *pad is the value there.
int64_t view_locate(const DimTable *dims, const View *view, const int64_t *symbols,
                    const int64_t *index, double *pad);
void view_print(const DimTable *dims, const View *view, Text *out);
