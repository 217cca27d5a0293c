// The moves: each changes a frame; where digits do not divide, the move is made on a new level.
#include "ir/view_frame.h"

#include <string.h>

// ---- rows ----

static void add_product(DimTable *dims, Dim *sum, Dim a, Dim b) {
    *sum = dim_add(dims, *sum, dim_mul(dims, a, b));
}

// Moves the origin of a row to `start`.
static void row_shift(DimTable *dims, Frame *frame, unsigned at, Dim start) {
    const Row *row = &frame->row[at];
    add_product(dims, &frame->offset, row->stride, start);
    for (unsigned g = 0; g < frame->guards; g++)
        add_product(dims, &frame->guard_offset[g], row->scale[g], start);
}

static void row_scale(DimTable *dims, Frame *frame, Row *row, Dim by) {
    row->stride = dim_mul(dims, row->stride, by);
    for (unsigned g = 0; g < frame->guards; g++) row->scale[g] = dim_mul(dims, row->scale[g], by);
}

static Row row_still(DimTable *dims, unsigned axis, Dim size) {
    Row row = {.size = size, .stride = dim_const(dims, 0), .axis = (uint8_t)axis};
    for (unsigned g = 0; g < VIEW_GUARDS_MAX; g++) row.scale[g] = row.stride;
    return row;
}

static Dim rows_size(DimTable *dims, const Frame *frame, unsigned first, unsigned end) {
    Dim size = dim_const(dims, 1);
    for (unsigned i = first; i < end; i++) size = dim_mul(dims, size, frame->row[i].size);
    return size;
}

// The row of an axis that has one; an axis of size 1 gets one.
static bool single_row(DimTable *dims, Frame *frame, unsigned axis, unsigned *at) {
    unsigned end = frame_axis(frame, axis, at);
    if (end > *at) return end == *at + 1;
    Row row = row_still(dims, axis, frame->size[axis]);
    return frame_insert_row(frame, *at, &row);
}

// Guards a row: 0 <= offset + index < size.
static bool guard_row(DimTable *dims, Frame *frame, unsigned at, Dim offset, Dim size) {
    if (frame->guards == VIEW_GUARDS_MAX) return false;
    unsigned g = frame->guards++;
    frame->guard_offset[g] = offset;
    frame->guard_size[g] = size;
    for (unsigned i = 0; i < frame->rows; i++) frame->row[i].scale[g] = dim_const(dims, i == at);
    return true;
}

// Gives the latest guard its pad value; a view has but one.
static bool finish_guard(DimTable *dims, Frame *frame, double value) {
    if (frame_guard_holds(dims, frame, frame->guards - 1u)) {
        frame_remove_guard(frame, frame->guards - 1u);
        return true;
    }
    if (frame->guards > 1 && memcmp(&frame->pad, &value, sizeof value) != 0) return false;
    frame->pad = value;
    return true;
}

// ---- order and shape ----

static void sort_rows(Frame *frame) {
    for (unsigned i = 1; i < frame->rows; i++) {
        Row row = frame->row[i];
        unsigned at = i;
        for (; at > 0 && frame->row[at - 1].axis > row.axis; at--)
            frame->row[at] = frame->row[at - 1];
        frame->row[at] = row;
    }
}

bool view_permute(DimTable *dims, const View *view, const uint8_t *axes, View *out) {
    Frame frame;
    frame_of(dims, view, &frame);
    uint8_t place[RANK_MAX] = {0};
    for (uint8_t axis = 0; axis < view->rank; axis++) {
        place[axes[axis]] = axis;
        frame.size[axis] = view->size[axes[axis]];
    }
    for (unsigned i = 0; i < frame.rows; i++) frame.row[i].axis = place[frame.row[i].axis];
    sort_rows(&frame);
    return frame_store(dims, &frame, out);
}

bool view_expand(DimTable *dims, const View *view, uint8_t axis, View *out) {
    if (view->rank == RANK_MAX) return false;
    Frame frame;
    frame_of(dims, view, &frame);
    for (unsigned i = 0; i < frame.rows; i++) frame.row[i].axis += frame.row[i].axis >= axis;
    for (unsigned i = frame.rank; i > axis; i--) frame.size[i] = frame.size[i - 1];
    frame.size[axis] = dim_const(dims, 1);
    frame.rank++;
    return frame_store(dims, &frame, out);
}

bool view_squeeze(DimTable *dims, const View *view, uint8_t axis, View *out) {
    Frame frame;
    frame_of(dims, view, &frame);
    for (unsigned i = 0; i < frame.rows;) {
        if (frame.row[i].axis == axis) {
            frame_remove_row(&frame, i); // its only index is 0
            continue;
        }
        frame.row[i].axis -= frame.row[i].axis > axis;
        i++;
    }
    for (unsigned i = axis; i + 1u < frame.rank; i++) frame.size[i] = frame.size[i + 1];
    frame.size[--frame.rank] = DIM_NONE;
    return frame_store(dims, &frame, out);
}

bool view_broadcast(DimTable *dims, const View *view, uint8_t rank, const Dim *size, View *out) {
    Frame frame;
    frame_of(dims, view, &frame);
    unsigned added = rank - view->rank;
    for (unsigned i = 0; i < frame.rows; i++) frame.row[i].axis += (uint8_t)added;
    for (unsigned axis = rank; axis-- > 0;) {
        bool still = axis < added ||
                     (dim_is(dims, view->size[axis - added], 1) && !dim_is(dims, size[axis], 1));
        frame.size[axis] = size[axis];
        if (!still) continue;
        unsigned first, end = frame_axis(&frame, axis, &first);
        while (end-- > first) frame_remove_row(&frame, first);
        Row row = row_still(dims, axis, size[axis]);
        if (!frame_insert_row(&frame, first, &row)) return false;
    }
    frame.rank = rank;
    return frame_store(dims, &frame, out);
}

// Deals the digits, from the innermost, to the new axes: whole, or split where the axis ends. A
// size that is 1 under the facts that hold may be left over.
bool frame_reshape(DimTable *dims, Frame *frame, uint8_t rank, const Dim *size) {
    Frame dealt = *frame;
    Dim one = dim_const(dims, 1);
    frame_merge(dims, frame, true);
    unsigned left = frame->rows;
    dealt.rows = 0;
    for (unsigned axis = rank; axis-- > 0;) {
        Dim rest = size[axis], quotient;
        while (!dim_is(dims, rest, 1)) {
            if (left == 0) return false;
            Row *row = &frame->row[left - 1], taken = *row;
            taken.axis = (uint8_t)axis;
            if (dim_same(dims, rest, row->size)) {
                taken.size = rest;
                rest = one;
                left--;
            } else if (dim_same(dims, row->size, one)) {
                left--;
                continue;
            } else if (dim_exact_div(dims, rest, row->size, &quotient)) {
                rest = quotient;
                left--;
            } else if (dim_exact_div(dims, row->size, rest, &quotient)) {
                taken.size = rest;
                row->size = quotient;
                row_scale(dims, frame, row, rest);
                rest = one;
            } else {
                return false;
            }
            if (!frame_insert_row(&dealt, 0, &taken)) return false;
        }
    }
    while (left && dim_same(dims, frame->row[left - 1].size, one)) left--;
    if (left) return false;
    dealt.rank = rank;
    for (unsigned axis = 0; axis < RANK_MAX; axis++)
        dealt.size[axis] = axis < rank ? size[axis] : DIM_NONE;
    *frame = dealt;
    return true;
}

static bool any_size_is_zero(const DimTable *dims, uint8_t rank, const Dim *size) {
    for (unsigned axis = 0; axis < rank; axis++)
        if (dim_is(dims, size[axis], 0)) return true;
    return false;
}

bool view_reshape(DimTable *dims, const View *view, uint8_t rank, const Dim *size, View *out) {
    Frame frame;
    if (any_size_is_zero(dims, rank, size)) { // no element to find
        *out = view_identity(dims, rank, size);
        return true;
    }
    frame_of(dims, view, &frame);
    if (frame_reshape(dims, &frame, rank, size) && frame_store(dims, &frame, out)) return true;
    return frame_start_level(dims, view, rank, size, &frame) && frame_store(dims, &frame, out);
}

// ---- slice ----

// start + index * step over the digits [first, end) of one axis, `count` indices.
static bool slice_rows(DimTable *dims, Frame *frame, unsigned first, unsigned end, Dim start,
                       int64_t step, Dim count) {
    Row *outer = &frame->row[first];
    Dim pace = dim_const(dims, step), quotient;
    if (end == first + 1) {
        row_shift(dims, frame, first, start);
        row_scale(dims, frame, outer, pace);
        outer->size = count;
        return true;
    }
    Dim block = rows_size(dims, frame, first + 1, end), one = dim_const(dims, 1);
    Dim whole = dim_floor_div(dims, start, block), part = dim_floor_mod(dims, start, block);
    Dim reach = dim_mul(dims, dim_sub(dims, count, one), pace);
    Dim last = dim_add(dims, part, reach), zero = dim_const(dims, 0);
    if (dim_is(dims, count, 1) ||
        (dim_proved(dims, last, DIM_GE, zero) && dim_proved(dims, last, DIM_LT, block))) {
        // All in one index of the outer digit.
        row_shift(dims, frame, first, whole);
        frame_remove_row(frame, first);
        return slice_rows(dims, frame, first, end - 1, part, step, count);
    }
    Dim turn = dim_const(dims, step < 0 ? -1 : 1),
        stride = dim_const(dims, step < 0 ? -step : step);
    if (dim_exact_div(dims, stride, block, &quotient)) {
        // The inner digits stand still.
        row_shift(dims, frame, first, whole);
        row_scale(dims, frame, outer, dim_mul(dims, quotient, turn));
        outer->size = count;
        return slice_rows(dims, frame, first + 1, end, part, 1, one);
    }
    Dim per_block, blocks;
    bool starts = step > 0 ? dim_proved(dims, part, DIM_LT, stride)
                           : dim_proved(dims, dim_add(dims, part, stride), DIM_GE, block);
    if (!starts || !dim_exact_div(dims, block, stride, &per_block) ||
        !dim_exact_div(dims, count, per_block, &blocks))
        return false;
    // Every block gives the same indices.
    row_shift(dims, frame, first, whole);
    row_scale(dims, frame, outer, turn);
    outer->size = blocks;
    return slice_rows(dims, frame, first + 1, end, part, step, per_block);
}

static bool slice_axis(DimTable *dims, Frame *frame, unsigned axis, Dim start, int64_t step,
                       Dim count) {
    unsigned first, end = frame_axis(frame, axis, &first);
    if (dim_is(dims, count, 0))
        while (end > first) frame_remove_row(frame, --end);
    if (end == first) {
        if (!single_row(dims, frame, axis, &first)) return false;
        end = first + 1;
    }
    if (!slice_rows(dims, frame, first, end, start, step, count)) return false;
    frame->size[axis] = count;
    return true;
}

bool view_slice(DimTable *dims, const View *view, uint8_t axis, Dim start, int64_t step, Dim count,
                View *out) {
    Frame frame;
    frame_of(dims, view, &frame);
    if (slice_axis(dims, &frame, axis, start, step, count) && frame_store(dims, &frame, out))
        return true;
    return frame_start_level(dims, view, view->rank, view->size, &frame) &&
           slice_axis(dims, &frame, axis, start, step, count) && frame_store(dims, &frame, out);
}

// ---- pad ----

static bool pad_axis(DimTable *dims, Frame *frame, unsigned axis, Dim before, Dim after,
                     double value) {
    unsigned first, end = frame_axis(frame, axis, &first);
    Dim lead = before, trail = after;
    if (end <= first + 1) {
        if (!single_row(dims, frame, axis, &first)) return false;
    } else {
        // Only the outermost digit grows, so whole turns of the others are needed.
        Dim block = rows_size(dims, frame, first + 1, end);
        if (!dim_exact_div(dims, before, block, &lead) ||
            !dim_exact_div(dims, after, block, &trail))
            return false;
    }
    Dim back = dim_sub(dims, dim_const(dims, 0), lead), size = frame->row[first].size;
    row_shift(dims, frame, first, back);
    if (!guard_row(dims, frame, first, back, size)) return false;
    frame->row[first].size = dim_add(dims, size, dim_add(dims, lead, trail));
    frame->size[axis] = dim_add(dims, frame->size[axis], dim_add(dims, before, after));
    return finish_guard(dims, frame, value);
}

bool view_pad(DimTable *dims, const View *view, uint8_t axis, Dim before, Dim after, double value,
              View *out) {
    Frame frame;
    if (dim_is(dims, before, 0) && dim_is(dims, after, 0)) {
        *out = *view;
        return true;
    }
    frame_of(dims, view, &frame);
    if (pad_axis(dims, &frame, axis, before, after, value) && frame_store(dims, &frame, out))
        return true;
    return frame_start_level(dims, view, view->rank, view->size, &frame) &&
           pad_axis(dims, &frame, axis, before, after, value) && frame_store(dims, &frame, out);
}

// ---- unfold ----

typedef struct Window {
    Dim kernel, output, stride, dilation, before;
    double value;
} Window;

static bool unfold_axis(DimTable *dims, Frame *frame, unsigned axis, const Window *window) {
    unsigned at;
    if (!single_row(dims, frame, axis, &at)) return false;
    Dim back = dim_sub(dims, dim_const(dims, 0), window->before);
    row_shift(dims, frame, at, back);
    if (!guard_row(dims, frame, at, back, frame->row[at].size)) return false;
    for (unsigned i = 0; i < frame->rows; i++) frame->row[i].axis += frame->row[i].axis > axis;
    Row output = frame->row[at];
    output.axis++;
    output.size = window->output;
    row_scale(dims, frame, &output, window->stride);
    frame->row[at].size = window->kernel;
    row_scale(dims, frame, &frame->row[at], window->dilation);
    for (unsigned i = frame->rank; i > axis + 1; i--) frame->size[i] = frame->size[i - 1];
    frame->size[axis] = window->kernel;
    frame->size[axis + 1] = window->output;
    frame->rank++;
    return frame_insert_row(frame, at + 1, &output) && finish_guard(dims, frame, window->value);
}

bool view_unfold(DimTable *dims, const View *view, uint8_t axis, Dim kernel, Dim output,
                 int64_t stride, int64_t dilation, Dim before, double value, View *out) {
    if (view->rank == RANK_MAX) return false;
    Window window = {kernel, output, dim_const(dims, stride), dim_const(dims, dilation),
                     before, value};
    Frame frame;
    frame_of(dims, view, &frame);
    if (unfold_axis(dims, &frame, axis, &window) && frame_store(dims, &frame, out)) return true;
    return frame_start_level(dims, view, view->rank, view->size, &frame) &&
           unfold_axis(dims, &frame, axis, &window) && frame_store(dims, &frame, out);
}
