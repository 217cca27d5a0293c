// Views: construction, their shortest form, what is known of them, evaluation and print.
#include "ir/view_frame.h"

#include <assert.h>
#include <string.h>

// ---- construction ----

View view_strided(DimTable *dims, uint8_t rank, const Dim *size, const Dim *stride, Dim offset) {
    assert(rank <= RANK_MAX);
    View view = {.rank = rank, .offset = offset};
    for (uint8_t axis = 0; axis < rank; axis++) {
        view.size[axis] = size[axis];
        if (!dim_is(dims, size[axis], 1))
            view.digit[view.digits++] = (Digit){size[axis], stride[axis], axis};
    }
    return view;
}

View view_identity(DimTable *dims, uint8_t rank, const Dim *size) {
    Dim stride[RANK_MAX], step = dim_const(dims, 1);
    for (uint8_t axis = rank; axis-- > 0;) {
        stride[axis] = step;
        step = dim_mul(dims, step, size[axis]);
    }
    return view_strided(dims, rank, size, stride, dim_const(dims, 0));
}

// ---- frames ----

bool dim_same(DimTable *dims, Dim a, Dim b) {
    if (a == b) return a != DIM_NONE;
    if (dim_is_const(dims, a, NULL) && dim_is_const(dims, b, NULL)) return false;
    return dim_proved(dims, a, DIM_EQ, b);
}

void frame_of(DimTable *dims, const View *view, Frame *out) {
    *out = (Frame){.rank = view->rank,
                   .rows = view->digits,
                   .guards = view->guards,
                   .offset = view->offset,
                   .pad = view->pad,
                   .inner = view->inner};
    memcpy(out->size, view->size, sizeof out->size);
    Dim zero = dim_const(dims, 0);
    for (unsigned i = 0; i < view->digits; i++) {
        const Digit *digit = &view->digit[i];
        out->row[i] = (Row){.size = digit->size, .stride = digit->stride, .axis = digit->axis};
        for (unsigned g = 0; g < VIEW_GUARDS_MAX; g++) out->row[i].scale[g] = zero;
    }
    for (unsigned g = 0; g < view->guards; g++) {
        const Guard *guard = &view->guard[g];
        out->guard_offset[g] = guard->offset;
        out->guard_size[g] = guard->size;
        for (unsigned t = 0; t < guard->terms; t++)
            out->row[guard->term[t].digit].scale[g] = guard->term[t].scale;
    }
}

bool frame_insert_row(Frame *frame, unsigned at, const Row *row) {
    if (frame->rows == FRAME_ROWS_MAX) return false;
    memmove(&frame->row[at + 1], &frame->row[at], (frame->rows - at) * sizeof *row);
    frame->row[at] = *row;
    frame->rows++;
    return true;
}

void frame_remove_row(Frame *frame, unsigned at) {
    frame->rows--;
    memmove(&frame->row[at], &frame->row[at + 1], (frame->rows - at) * sizeof *frame->row);
}

unsigned frame_axis(const Frame *frame, unsigned axis, unsigned *first) {
    unsigned at = 0;
    while (at < frame->rows && frame->row[at].axis < axis) at++;
    *first = at;
    while (at < frame->rows && frame->row[at].axis == axis) at++;
    return at;
}

// An outer digit continues an inner one if a step of it is as long as the whole inner digit.
static bool rows_continue(DimTable *dims, const Frame *frame, const Row *outer, const Row *inner) {
    if (!dim_same(dims, outer->stride, dim_mul(dims, inner->stride, inner->size))) return false;
    for (unsigned g = 0; g < frame->guards; g++)
        if (!dim_same(dims, outer->scale[g], dim_mul(dims, inner->scale[g], inner->size)))
            return false;
    return true;
}

void frame_merge(DimTable *dims, Frame *frame, bool across) {
    for (unsigned i = 0; i < frame->rows;)
        if (dim_is(dims, frame->row[i].size, 1))
            frame_remove_row(frame, i);
        else
            i++;
    for (unsigned i = 1; i < frame->rows;) {
        Row *outer = &frame->row[i - 1], *inner = &frame->row[i];
        Dim size = dim_mul(dims, outer->size, inner->size);
        if ((across || outer->axis == inner->axis) && size != DIM_NONE &&
            rows_continue(dims, frame, outer, inner)) {
            inner->size = size;
            frame_remove_row(frame, i - 1);
        } else {
            i++;
        }
    }
}

bool frame_is_linear(DimTable *dims, const Frame *frame, Dim *step) {
    if (frame->guards || frame->inner) return false;
    Frame merged = *frame;
    frame_merge(dims, &merged, true);
    if (merged.rows > 1) return false;
    *step = merged.rows ? merged.row[0].stride : dim_const(dims, 1);
    return true;
}

// Adds the least and the greatest value of scale * index for an index of the row.
static void add_reach(DimTable *dims, Dim size, Dim scale, Dim *least, Dim *most) {
    Dim last = dim_mul(dims, scale, dim_sub(dims, size, dim_const(dims, 1)));
    Dim zero = dim_const(dims, 0);
    DimBounds sign = dim_bounds(dims, scale);
    Dim low = sign.lo >= 0 ? zero : sign.hi <= 0 ? last : dim_min(dims, zero, last);
    Dim high = sign.lo >= 0 ? last : sign.hi <= 0 ? zero : dim_max(dims, zero, last);
    *least = dim_add(dims, *least, low);
    *most = dim_add(dims, *most, high);
}

bool frame_guard_holds(DimTable *dims, const Frame *frame, unsigned g) {
    Dim least = frame->guard_offset[g], most = least;
    for (unsigned i = 0; i < frame->rows; i++)
        add_reach(dims, frame->row[i].size, frame->row[i].scale[g], &least, &most);
    return dim_proved(dims, least, DIM_GE, dim_const(dims, 0)) &&
           dim_proved(dims, most, DIM_LT, frame->guard_size[g]);
}

static bool guards_equal(const Frame *frame, unsigned g, unsigned h) {
    bool equal = frame->guard_offset[g] == frame->guard_offset[h] &&
                 frame->guard_size[g] == frame->guard_size[h];
    for (unsigned i = 0; i < frame->rows; i++)
        equal &= frame->row[i].scale[g] == frame->row[i].scale[h];
    return equal;
}

void frame_remove_guard(Frame *frame, unsigned g) {
    unsigned last = --frame->guards;
    for (unsigned from = g; from < last; from++) {
        frame->guard_offset[from] = frame->guard_offset[from + 1];
        frame->guard_size[from] = frame->guard_size[from + 1];
        for (unsigned i = 0; i < frame->rows; i++)
            frame->row[i].scale[from] = frame->row[i].scale[from + 1];
    }
}

static void drop_guards(DimTable *dims, Frame *frame) {
    for (unsigned g = 0; g < frame->guards;) {
        bool needless = frame_guard_holds(dims, frame, g);
        for (unsigned h = 0; h < g; h++) needless |= guards_equal(frame, g, h);
        if (needless)
            frame_remove_guard(frame, g);
        else
            g++;
    }
    if (frame->guards == 0) frame->pad = 0;
}

static bool store_guard(DimTable *dims, const Frame *frame, unsigned g, Guard *out) {
    *out = (Guard){.offset = frame->guard_offset[g], .size = frame->guard_size[g]};
    if (out->offset == DIM_NONE || out->size == DIM_NONE) return false;
    for (unsigned i = 0; i < frame->rows; i++) {
        Dim scale = frame->row[i].scale[g];
        if (dim_is(dims, scale, 0)) continue;
        if (scale == DIM_NONE || out->terms == GUARD_TERMS_MAX) return false;
        out->term[out->terms++] = (GuardTerm){(uint8_t)i, scale};
    }
    return true;
}

// An outer level that keeps every element in its place is no level: the inner view takes its shape.
static bool drop_level(DimTable *dims, const Frame *frame, View *out) {
    Dim step;
    Frame outer = *frame, inner;
    outer.inner = NULL;
    if (!frame->inner || !frame_is_linear(dims, &outer, &step) || !dim_is(dims, step, 1) ||
        !dim_is(dims, frame->offset, 0))
        return false;
    Dim elements = dim_const(dims, 1), wanted = elements;
    for (unsigned axis = 0; axis < frame->rank; axis++)
        elements = dim_mul(dims, elements, frame->size[axis]);
    for (unsigned axis = 0; axis < frame->inner->rank; axis++)
        wanted = dim_mul(dims, wanted, frame->inner->size[axis]);
    if (!dim_same(dims, elements, wanted)) return false;
    frame_of(dims, frame->inner, &inner);
    return frame_reshape(dims, &inner, frame->rank, frame->size) && frame_store(dims, &inner, out);
}

bool frame_store(DimTable *dims, Frame *frame, View *out) {
    frame_merge(dims, frame, false);
    drop_guards(dims, frame);
    frame_merge(dims, frame, false); // a guard may have kept digits apart
    if (drop_level(dims, frame, out)) return true;
    View view = {.rank = frame->rank,
                 .digits = frame->rows,
                 .guards = frame->guards,
                 .offset = frame->offset,
                 .pad = frame->pad,
                 .inner = frame->inner};
    if (frame->rows > VIEW_DIGITS_MAX || frame->offset == DIM_NONE) return false;
    memcpy(view.size, frame->size, sizeof view.size);
    for (unsigned i = 0; i < frame->rows; i++) {
        const Row *row = &frame->row[i];
        if (row->size == DIM_NONE || row->stride == DIM_NONE) return false;
        view.digit[i] = (Digit){row->size, row->stride, row->axis};
    }
    for (unsigned g = 0; g < frame->guards; g++)
        if (!store_guard(dims, frame, g, &view.guard[g])) return false;
    *out = view;
    return true;
}

unsigned view_levels(const View *view) {
    unsigned levels = 1;
    for (const View *inner = view->inner; inner; inner = inner->inner) levels++;
    return levels;
}

bool frame_start_level(DimTable *dims, const View *view, uint8_t rank, const Dim *size,
                       Frame *out) {
    View identity = view_identity(dims, rank, size);
    Frame old;
    Dim step;
    frame_of(dims, view, &old);
    frame_of(dims, &identity, out);
    if (frame_is_linear(dims, &old, &step)) { // its elements can be counted without it
        for (unsigned i = 0; i < out->rows; i++)
            out->row[i].stride = dim_mul(dims, out->row[i].stride, step);
        out->offset = view->offset;
        return true;
    }
    if (view_levels(view) >= VIEW_LEVELS_MAX) return false;
    View *inner = arena_alloc(dim_arena(dims), sizeof *inner);
    *inner = *view;
    out->inner = inner;
    return true;
}

// ---- what is known ----

bool view_is_contiguous(DimTable *dims, const View *view) {
    Frame frame;
    Dim step;
    frame_of(dims, view, &frame);
    return frame_is_linear(dims, &frame, &step) && dim_is(dims, step, 1);
}

bool view_is_identity(DimTable *dims, const View *view) {
    return dim_is(dims, view->offset, 0) && view_is_contiguous(dims, view);
}

Dim view_axis_stride(const View *view, uint8_t axis) {
    Dim stride = DIM_NONE;
    for (unsigned i = 0; i < view->digits; i++)
        if (view->digit[i].axis == axis) stride = view->digit[i].stride;
    return stride;
}

// Groups of elements along a digit lie wholly inside or wholly outside.
static bool guard_keeps_groups(DimTable *dims, const Guard *guard, unsigned digit,
                               unsigned elements) {
    bool uses = false, aligned = dim_divides(dims, elements, guard->offset) &&
                                 dim_divides(dims, elements, guard->size);
    for (unsigned t = 0; t < guard->terms; t++) {
        const GuardTerm *term = &guard->term[t];
        if (term->digit == digit) {
            uses = true;
            aligned &= dim_is(dims, term->scale, 1);
        } else {
            aligned &= dim_divides(dims, elements, term->scale);
        }
    }
    return !uses || aligned;
}

bool view_is_vectorizable(DimTable *dims, const View *view, unsigned elements) {
    if (elements == 1) return true;
    if (view->inner || view->rank == 0 || view->digits == 0) return false;
    unsigned last = view->digits - 1u;
    if (view->digit[last].axis != view->rank - 1 || !dim_is(dims, view->digit[last].stride, 1) ||
        !dim_divides(dims, elements, view->digit[last].size) ||
        !dim_divides(dims, elements, view->offset))
        return false;
    for (unsigned i = 0; i < last; i++)
        if (!dim_divides(dims, elements, view->digit[i].stride)) return false;
    for (unsigned g = 0; g < view->guards; g++)
        if (!guard_keeps_groups(dims, &view->guard[g], last, elements)) return false;
    return true;
}

// A guard whose terms step through the value in proportion bounds what they add: the offset they
// reach is ratio * (guarded value - guard offset), and the guarded value stays in [0, size).
static bool add_guarded_reach(DimTable *dims, const Frame *frame, unsigned g, bool *counted,
                              Dim *least, Dim *most) {
    Dim ratio = DIM_NONE, low = frame->guard_offset[g], high = low;
    for (unsigned i = 0; i < frame->rows; i++) {
        const Row *row = &frame->row[i];
        Dim of_row;
        if (dim_is(dims, row->scale[g], 0)) continue;
        if (counted[i] || !dim_exact_div(dims, row->stride, row->scale[g], &of_row) ||
            (ratio != DIM_NONE && of_row != ratio))
            return false;
        ratio = of_row;
        add_reach(dims, row->size, row->scale[g], &low, &high);
    }
    if (ratio == DIM_NONE) return false;
    Dim zero = dim_const(dims, 0), one = dim_const(dims, 1);
    low = dim_sub(dims, dim_max(dims, low, zero), frame->guard_offset[g]);
    high = dim_min(dims, high, dim_sub(dims, frame->guard_size[g], one));
    high = dim_sub(dims, high, frame->guard_offset[g]);
    low = dim_mul(dims, ratio, low);
    high = dim_mul(dims, ratio, high);
    DimBounds sign = dim_bounds(dims, ratio);
    if (sign.lo < 0 && sign.hi > 0) return false;
    *least = dim_add(dims, *least, sign.lo >= 0 ? low : high);
    *most = dim_add(dims, *most, sign.lo >= 0 ? high : low);
    for (unsigned i = 0; i < frame->rows; i++)
        counted[i] |= !dim_is(dims, frame->row[i].scale[g], 0);
    return true;
}

bool view_hull(DimTable *dims, const View *view, Dim *first, Dim *last) {
    for (unsigned axis = 0; axis < view->rank; axis++)
        if (dim_is(dims, view->size[axis], 0)) return false;
    if (view->inner) return view_hull(dims, view->inner, first, last);
    Frame frame;
    bool counted[FRAME_ROWS_MAX] = {false};
    frame_of(dims, view, &frame);
    Dim least = view->offset, most = least;
    for (unsigned g = 0; g < frame.guards; g++)
        add_guarded_reach(dims, &frame, g, counted, &least, &most);
    for (unsigned i = 0; i < frame.rows; i++)
        if (!counted[i]) add_reach(dims, frame.row[i].size, frame.row[i].stride, &least, &most);
    *first = least;
    *last = most;
    return least != DIM_NONE && most != DIM_NONE;
}

// ---- evaluation ----

static int64_t value_of(const DimTable *dims, Dim dim, const int64_t *symbols) {
    int64_t value = 0;
    bool known = dim_eval(dims, dim, symbols, &value);
    assert(known);
    (void)known;
    return value;
}

int64_t view_locate(const DimTable *dims, const View *view, const int64_t *symbols,
                    const int64_t *index, double *pad) {
    int64_t digit[VIEW_DIGITS_MAX], rest[RANK_MAX];
    for (unsigned axis = 0; axis < view->rank; axis++) rest[axis] = index[axis];
    int64_t offset = value_of(dims, view->offset, symbols);
    for (unsigned i = view->digits; i-- > 0;) {
        int64_t size = value_of(dims, view->digit[i].size, symbols);
        int64_t *of_axis = &rest[view->digit[i].axis];
        digit[i] = floor_mod(*of_axis, size);
        *of_axis = floor_div(*of_axis, size);
        offset += digit[i] * value_of(dims, view->digit[i].stride, symbols);
    }
    for (unsigned g = 0; g < view->guards; g++) {
        const Guard *guard = &view->guard[g];
        int64_t value = value_of(dims, guard->offset, symbols);
        for (unsigned t = 0; t < guard->terms; t++)
            value += digit[guard->term[t].digit] * value_of(dims, guard->term[t].scale, symbols);
        if (value >= 0 && value < value_of(dims, guard->size, symbols)) continue;
        *pad = view->pad;
        return -1;
    }
    if (!view->inner) return offset;
    int64_t below[RANK_MAX];
    for (unsigned axis = view->inner->rank; axis-- > 0;) {
        int64_t size = value_of(dims, view->inner->size[axis], symbols);
        below[axis] = floor_mod(offset, size);
        offset = floor_div(offset, size);
    }
    return view_locate(dims, view->inner, symbols, below, pad);
}

int64_t view_offset(const DimTable *dims, const View *view, const int64_t *symbols,
                    const int64_t *index) {
    double pad;
    return view_locate(dims, view, symbols, index, &pad);
}

// ---- print ----

// A size as a factor or summand: in parentheses if it is not a plain number or name.
static void print_operand(const DimTable *dims, Dim dim, const char *sign, Text *out) {
    Text text = {0};
    dim_print(dims, dim, &text);
    bool plain = !strchr(text.data, ' ');
    if (plain && text.data[0] == '-' && strcmp(sign, " + ") == 0)
        text_printf(out, " - %s", text.data + 1);
    else
        text_printf(out, plain ? "%s%s" : "%s(%s)", sign, text.data);
    text_free(&text);
}

static void print_guard(const DimTable *dims, const Guard *guard, Text *out) {
    text_put(out, "0 <= ");
    if (guard->terms == 0) dim_print(dims, guard->offset, out);
    for (unsigned t = 0; t < guard->terms; t++) {
        text_printf(out, "%sd%u", t ? " + " : "", guard->term[t].digit);
        if (!dim_is(dims, guard->term[t].scale, 1))
            print_operand(dims, guard->term[t].scale, " * ", out);
    }
    if (guard->terms && !dim_is(dims, guard->offset, 0))
        print_operand(dims, guard->offset, " + ", out);
    text_put(out, " < ");
    dim_print(dims, guard->size, out);
}

// "[4, N] (4:N) (N:1) + 3 if 0 <= d1 - 1 < N else 0.0 of [..] .."
void view_print(const DimTable *dims, const View *view, Text *out) {
    text_put(out, "[");
    for (unsigned axis = 0; axis < view->rank; axis++) {
        if (axis) text_put(out, ", ");
        dim_print(dims, view->size[axis], out);
    }
    text_put(out, "]");
    for (unsigned axis = 0, i = 0; axis < view->rank; axis++) {
        text_put(out, " (");
        for (unsigned first = i; i < view->digits && view->digit[i].axis == axis; i++) {
            if (i > first) text_put(out, ", ");
            dim_print(dims, view->digit[i].size, out);
            text_put(out, ":");
            dim_print(dims, view->digit[i].stride, out);
        }
        text_put(out, ")");
    }
    if (!dim_is(dims, view->offset, 0)) print_operand(dims, view->offset, " + ", out);
    for (unsigned g = 0; g < view->guards; g++) {
        text_put(out, g ? " and " : " if ");
        print_guard(dims, &view->guard[g], out);
    }
    if (view->guards) {
        text_put(out, " else ");
        text_double(out, view->pad);
    }
    if (!view->inner) return;
    text_put(out, " of ");
    view_print(dims, view->inner, out);
}
