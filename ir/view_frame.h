// Inside of views, for ir/view*.c only: the form that moves work on.
//
// A frame is a view with its guards as columns: each row is a digit with its stride in the value
// and its scale in every guard, so that splitting, merging, fixing or stepping a digit treats
// offset and guards alike. Rows are in axis order, the outermost digit of an axis first.
#pragma once

#include "ir/view.h"

enum { FRAME_ROWS_MAX = 2 * VIEW_DIGITS_MAX };

typedef struct Row {
    Dim size, stride, scale[VIEW_GUARDS_MAX];
    uint8_t axis;
} Row;

typedef struct Frame {
    uint8_t rank, rows, guards;
    Dim size[RANK_MAX];
    Row row[FRAME_ROWS_MAX];
    Dim offset, guard_offset[VIEW_GUARDS_MAX], guard_size[VIEW_GUARDS_MAX];
    double pad;
    const View *inner;
} Frame;

void frame_of(DimTable *dims, const View *view, Frame *out);
// The view in its shortest form: no digits of size 1, none that could be merged, no guard that
// always holds. False if a limit of View is exceeded or a size left 64 bits.
bool frame_store(DimTable *dims, Frame *frame, View *out);
// Identity over the same shape, mapped further by the view.
bool frame_start_level(DimTable *dims, const View *view, uint8_t rank, const Dim *size, Frame *out);

// Proved to be equal.
bool dim_same(DimTable *dims, Dim a, Dim b);
// Drops rows of size 1 and merges neighbours; across axes too if asked (the axes are then void).
void frame_merge(DimTable *dims, Frame *frame, bool across);
// All rows are one sequence of equal steps: *step is its stride (1 if there is no row), and no
// guards and no inner level.
bool frame_is_linear(DimTable *dims, const Frame *frame, Dim *step);
bool frame_insert_row(Frame *frame, unsigned at, const Row *row);
void frame_remove_row(Frame *frame, unsigned at);
bool frame_guard_holds(DimTable *dims, const Frame *frame, unsigned guard); // always
void frame_remove_guard(Frame *frame, unsigned guard);
// [*first, returned end) are the rows of an axis; the place to insert if there is none.
unsigned frame_axis(const Frame *frame, unsigned axis, unsigned *first);
bool frame_reshape(DimTable *dims, Frame *frame, uint8_t rank, const Dim *size);
