// Rules of convolutions and pooling (NCHW).
#include "ir/infer.h"

#include <string.h>

enum { SPATIAL_MAX = 3 };

// One spatial axis while its output size is worked out.
typedef struct Window {
    Dim input, kernel, before, after;
    int64_t stride, dilation;
} Window;

static Dim extent(OpCall *call, const Window *window) { // cells from a window's first to its last
    Dim steps = dim_sub(call->dims, window->kernel, dim_const(call->dims, 1));
    Dim reach = dim_mul(call->dims, steps, dim_const(call->dims, window->dilation));
    return dim_add(call->dims, reach, dim_const(call->dims, 1));
}

// "same": ceil(input / stride) windows; the odd cell goes to the end.
static void pad_same(OpCall *call, Window *window) {
    DimTable *dims = call->dims;
    Dim stride = dim_const(dims, window->stride);
    Dim output = dim_ceil_div(dims, window->input, stride);
    Dim starts = dim_mul(dims, dim_sub(dims, output, dim_const(dims, 1)), stride);
    Dim missing = dim_sub(dims, dim_add(dims, starts, extent(call, window)), window->input);
    Dim total = dim_max(dims, missing, dim_const(dims, 0));
    window->before = dim_floor_div(dims, total, dim_const(dims, 2));
    window->after = dim_sub(dims, total, window->before);
}

// Reads `padding` in any of its forms into the windows, then stores its shortest form.
static bool padding(OpCall *call, Window *window, unsigned count) {
    Attr *attr = infer_attr(call, "padding");
    const char *word = attr->sizes.word;
    uint32_t given = attr->sizes.n;
    if (!word && given != (attr->sizes.pairs ? 2 * count : count) &&
        (given != 1 || attr->sizes.pairs)) {
        return infer_error(call, "padding must be a number, %u numbers or %u pairs", count, count);
    }
    Dim zero = dim_const(call->dims, 0);
    Dim *pairs = arena_alloc(call->arena, 2 * SPATIAL_MAX * sizeof *pairs);
    bool halves = true, same = true;
    for (unsigned i = 0; i < count; i++) {
        if (!word) {
            attr_pair_of(attr, i, &window[i].before, &window[i].after);
        } else if (strcmp(word, "same") == 0) {
            pad_same(call, &window[i]);
        } else {
            window[i].before = window[i].after = zero;
        }
        if (!infer_require(call, window[i].before, DIM_GE, zero, "padding % is negative") ||
            !infer_require(call, window[i].after, DIM_GE, zero, "padding % is negative")) {
            return infer_error(call, "padding must not be negative");
        }
        pairs[2 * i] = window[i].before;
        pairs[2 * i + 1] = window[i].after;
        halves = halves && window[i].before == window[i].after;
        same = same && window[i].before == window[0].before;
    }
    *attr = attr_pairs(pairs, count);
    if (halves) {
        for (unsigned i = 0; i < count; i++) pairs[i] = window[i].before;
        *attr = attr_sizes(pairs, same ? 1 : count);
    }
    return true;
}

static bool output_size(OpCall *call, const Window *window, bool ceil_mode, Dim *output) {
    DimTable *dims = call->dims;
    Dim stride = dim_const(dims, window->stride), one = dim_const(dims, 1);
    Dim padded = dim_add(dims, dim_add(dims, window->input, window->before), window->after);
    if (!infer_require(call, extent(call, window), DIM_LE, padded,
                       "a window of % cells does not fit the padded input of %")) {
        return infer_error(call, "a window of %s cells does not fit the padded input of %s",
                           infer_size_text(call, extent(call, window)),
                           infer_size_text(call, padded));
    }
    Dim room = dim_sub(dims, padded, extent(call, window));
    if (!ceil_mode) {
        *output = dim_add(dims, dim_floor_div(dims, room, stride), one);
        return true;
    }
    // No window starts in the trailing padding.
    Dim starts = dim_ceil_div(dims, dim_add(dims, window->input, window->before), stride);
    *output = dim_min(dims, dim_add(dims, dim_ceil_div(dims, room, stride), one), starts);
    return true;
}

static unsigned spatial_axes(OpId op) {
    bool one = op == OP_CONV1D || op == OP_CONV_TRANSPOSE1D;
    return one ? 1 : op == OP_CONV3D || op == OP_CONV_TRANSPOSE3D ? 3 : 2;
}

bool infer_conv(OpCall *call) {
    const Type *x = &call->operand[0], *weight = &call->operand[1];
    unsigned spatial = spatial_axes(call->op->id);
    int64_t groups = infer_attr(call, "groups")->i;
    Dim channels, outputs;
    DType dtype;
    if (!infer_rank(call, 0, spatial + 2) || !infer_rank(call, 1, spatial + 2) ||
        !infer_positive(call, "stride", spatial) || !infer_positive(call, "dilation", spatial) ||
        !infer_sum_dtype(call, &dtype)) {
        return false;
    }
    if (groups < 1 ||
        !dim_exact_div(call->dims, x->size[1], dim_const(call->dims, groups), &channels) ||
        !dim_exact_div(call->dims, weight->size[0], dim_const(call->dims, groups), &outputs)) {
        return infer_error(call, "%s and %s channels do not divide into %lld groups",
                           infer_size_text(call, x->size[1]),
                           infer_size_text(call, weight->size[0]), (long long)groups);
    }
    if (!infer_equal(call, channels, weight->size[1])) {
        return infer_error(call, "channels a group differ: %s and %s",
                           infer_size_text(call, channels), infer_size_text(call, weight->size[1]));
    }
    if (infer_has(call, 2)) {
        DType bias = call->operand[2].dtype;
        if (bias != dtype && bias != x->dtype) {
            return infer_error(call, "%s must be %s, not %s", infer_operand_name(call, 2),
                               dtype_name(x->dtype), dtype_name(bias));
        }
        if (!infer_is_vector(call, 2, weight->size[0])) return false;
    }
    Window window[SPATIAL_MAX];
    for (unsigned i = 0; i < spatial; i++) {
        window[i] = (Window){.input = x->size[2 + i],
                             .kernel = weight->size[2 + i],
                             .stride = attr_int_of(infer_attr(call, "stride"), i),
                             .dilation = attr_int_of(infer_attr(call, "dilation"), i)};
    }
    if (!padding(call, window, spatial)) return false;
    *call->result = *x;
    call->result->dtype = dtype;
    call->result->size[1] = weight->size[0];
    for (unsigned i = 0; i < spatial; i++) {
        if (!output_size(call, &window[i], false, &call->result->size[2 + i])) return false;
    }
    return true;
}

// One number, or one an axis, none negative; several equal ones become one.
static bool not_negative(OpCall *call, const char *name, unsigned count) {
    Attr *attr = infer_attr(call, name);
    if (attr->ints.n != 1 && attr->ints.n != count)
        return infer_error(call, "%s must be one number or %u", name, count);
    bool same = true;
    for (uint32_t i = 0; i < attr->ints.n; i++) {
        if (attr->ints.at[i] < 0) return infer_error(call, "%s must not be negative", name);
        same = same && attr->ints.at[i] == attr->ints.at[0];
    }
    if (same) attr->ints.n = 1;
    return true;
}

bool infer_conv_transpose(OpCall *call) {
    DimTable *dims = call->dims;
    const Type *x = &call->operand[0], *weight = &call->operand[1];
    int64_t groups = infer_attr(call, "groups")->i;
    unsigned spatial = spatial_axes(call->op->id);
    if (!infer_rank(call, 0, spatial + 2) || !infer_rank(call, 1, spatial + 2) ||
        !infer_positive(call, "stride", spatial) || !infer_positive(call, "dilation", spatial) ||
        !not_negative(call, "output_padding", spatial))
        return false;
    if (!infer_equal(call, x->size[1], weight->size[0])) {
        return infer_error(call, "channels differ: %s and %s", infer_size_text(call, x->size[1]),
                           infer_size_text(call, weight->size[0]));
    }
    if (groups < 1 || !dim_divides(dims, groups, x->size[1])) {
        return infer_error(call, "%s channels do not divide into %lld groups",
                           infer_size_text(call, x->size[1]), (long long)groups);
    }
    Window window[SPATIAL_MAX];
    for (unsigned i = 0; i < spatial; i++) {
        window[i] = (Window){.input = x->size[2 + i],
                             .kernel = weight->size[2 + i],
                             .stride = attr_int_of(infer_attr(call, "stride"), i),
                             .dilation = attr_int_of(infer_attr(call, "dilation"), i)};
    }
    if (!padding(call, window, spatial)) return false;
    *call->result = *x;
    call->result->size[1] = dim_mul(dims, weight->size[1], dim_const(dims, groups));
    if (infer_has(call, 2) && !infer_is_vector(call, 2, call->result->size[1])) return false;
    Dim one = dim_const(dims, 1);
    for (unsigned i = 0; i < spatial; i++) {
        Dim extra = dim_const(dims, attr_int_of(infer_attr(call, "output_padding"), i));
        Dim last =
            dim_mul(dims, dim_sub(dims, window[i].input, one), dim_const(dims, window[i].stride));
        Dim size = dim_add(dims, dim_add(dims, last, extent(call, &window[i])), extra);
        size = dim_sub(dims, size, dim_add(dims, window[i].before, window[i].after));
        call->result->size[2 + i] = size;
    }
    return true;
}

bool infer_interpolate(OpCall *call) {
    const Attr *size = infer_attr(call, "size");
    if (!infer_rank(call, 0, 4)) return false;
    if (size->sizes.n != 2) return infer_error(call, "size must be [height, width]");
    Attr *word = infer_attr(call, "coordinates");
    bool corners = infer_attr(call, "align_corners")->i, given = strcmp(word->s, "default") != 0;
    if (corners && given && strcmp(word->s, "align_corners") != 0)
        return infer_error(call, "align_corners and coordinates=\"%s\" differ", word->s);
    *call->result = call->operand[0];
    for (unsigned i = 0; i < 2; i++) {
        Dim one = dim_const(call->dims, 1);
        if (!infer_require(call, size->sizes.at[i], DIM_GE, one, "size % is not positive") ||
            !infer_require(call, call->operand[0].size[2 + i], DIM_GE, one,
                           "an image of size % has no pixels"))
            return infer_error(call, "sizes must be at least 1");
        call->result->size[2 + i] = size->sizes.at[i];
    }
    return true;
}

bool infer_pool(OpCall *call) {
    const Type *x = &call->operand[0];
    bool dilated = op_attr_index(call->op, "dilation") >= 0;
    Attr *kernel = infer_attr(call, "kernel_size"), *stride = infer_attr(call, "stride");
    if (!infer_rank(call, 0, 4) || !infer_positive(call, "kernel_size", 2)) return false;
    if (!stride->present) *stride = *kernel;
    if (!infer_positive(call, "stride", 2) || (dilated && !infer_positive(call, "dilation", 2))) {
        return false;
    }
    Window window[SPATIAL_MAX];
    for (unsigned i = 0; i < 2; i++) {
        window[i] =
            (Window){.input = x->size[2 + i],
                     .kernel = dim_const(call->dims, attr_int_of(kernel, i)),
                     .stride = attr_int_of(stride, i),
                     .dilation = dilated ? attr_int_of(infer_attr(call, "dilation"), i) : 1};
    }
    if (!padding(call, window, 2)) return false;
    *call->result = *x;
    for (unsigned i = 0; i < 2; i++) {
        bool ceil_mode = infer_attr(call, "ceil_mode")->i;
        if (!output_size(call, &window[i], ceil_mode, &call->result->size[2 + i])) return false;
    }
    return true;
}

bool infer_adaptive_pool(OpCall *call) {
    if (!infer_rank(call, 0, 4) || !infer_positive(call, "output_size", 2)) return false;
    *call->result = call->operand[0];
    for (unsigned i = 0; i < 2; i++) {
        call->result->size[2 + i] =
            dim_const(call->dims, attr_int_of(infer_attr(call, "output_size"), i));
    }
    return true;
}
