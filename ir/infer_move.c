// Rules of moves: other shapes of the same elements, and joining.
#include "ir/infer.h"

#include <string.h>

static bool shape_rank(OpCall *call, uint64_t rank) {
    if (rank <= RANK_MAX) return true;
    return infer_error(call, "rank %llu is over the limit of %d", (unsigned long long)rank,
                       RANK_MAX);
}

static Type shape_type(const Attr *shape, DType dtype) {
    Type type = {.dtype = dtype, .rank = (uint8_t)shape->sizes.n};
    for (uint32_t i = 0; i < shape->sizes.n; i++) type.size[i] = shape->sizes.at[i];
    return type;
}

// Replaces the -1 of a reshape by what is left; the caller compares the counts.
static bool fill_in(OpCall *call, Type *type, Dim total) {
    DimTable *dims = call->dims;
    Dim known = dim_const(dims, 1);
    int open = -1;
    for (unsigned i = 0; i < type->rank; i++) {
        if (!dim_is(dims, type->size[i], -1)) {
            known = dim_mul(dims, known, type->size[i]);
        } else if (open >= 0) {
            return infer_error(call, "shape has more than one -1");
        } else {
            open = (int)i;
        }
    }
    if (open < 0) return true;
    if (dim_is(dims, known, 0)) return infer_error(call, "-1 is undetermined beside a size of 0");
    if (!dim_exact_div(dims, total, known, &type->size[open])) {
        type->size[open] = dim_floor_div(dims, total, known);
    }
    return true;
}

bool infer_reshape(OpCall *call) {
    Attr *shape = infer_attr(call, "shape");
    if (!shape_rank(call, shape->sizes.n)) return false;
    Type type = shape_type(shape, call->operand[0].dtype);
    Dim total = type_elements(call->dims, &call->operand[0]);
    if (!fill_in(call, &type, total)) return false;
    Dim count = type_elements(call->dims, &type);
    if (!infer_require(call, total, DIM_EQ, count, "% elements cannot become %")) {
        return infer_error(call, "%s elements cannot become %s, which has %s",
                           infer_size_text(call, total), infer_type_text(call, &type),
                           infer_size_text(call, count));
    }
    Dim *sizes = arena_alloc(call->arena, RANK_MAX * sizeof *sizes);
    memcpy(sizes, type.size, RANK_MAX * sizeof *sizes);
    *shape = attr_sizes(sizes, type.rank);
    *call->result = type;
    return true;
}

bool infer_broadcast_to(OpCall *call) {
    const Attr *shape = infer_attr(call, "shape");
    const Type *x = &call->operand[0];
    if (!shape_rank(call, shape->sizes.n)) return false;
    Type type = shape_type(shape, x->dtype);
    if (type.rank < x->rank) {
        return infer_error(call, "rank %u cannot become rank %u", x->rank, type.rank);
    }
    for (unsigned back = 1; back <= x->rank; back++) {
        Dim from = x->size[x->rank - back], to = type.size[type.rank - back];
        if (!dim_is(call->dims, from, 1) && !infer_equal(call, from, to)) {
            return infer_error(call, "size %s does not broadcast to %s, at axis -%u",
                               infer_size_text(call, from), infer_size_text(call, to), back);
        }
    }
    *call->result = type;
    return true;
}

bool infer_flatten(OpCall *call) {
    const Type *x = &call->operand[0];
    unsigned rank = x->rank ? x->rank : 1;
    if (!infer_axis(call, "start_dim", rank) || !infer_axis(call, "end_dim", rank)) return false;
    int64_t start = infer_attr(call, "start_dim")->i, end = infer_attr(call, "end_dim")->i;
    if (start > end) {
        return infer_error(call, "start_dim %lld is after end_dim %lld", (long long)start,
                           (long long)end);
    }
    Type type = {.dtype = x->dtype};
    Dim product = dim_const(call->dims, 1);
    for (int64_t axis = 0; axis < rank; axis++) {
        Dim size = x->rank ? x->size[axis] : product;
        product = axis > start && axis <= end ? dim_mul(call->dims, product, size) : size;
        if (axis < start || axis >= end) type.size[type.rank++] = product;
    }
    *call->result = type;
    return true;
}

bool infer_transpose(OpCall *call) {
    const Type *x = &call->operand[0];
    if (!infer_axis(call, "a", x->rank) || !infer_axis(call, "b", x->rank)) return false;
    Attr *a = infer_attr(call, "a"), *b = infer_attr(call, "b");
    if (a->i > b->i) {
        Attr swap = *a;
        *a = *b;
        *b = swap;
    }
    *call->result = *x;
    call->result->size[a->i] = x->size[b->i];
    call->result->size[b->i] = x->size[a->i];
    return true;
}

bool infer_permute_dims(OpCall *call) {
    const Type *x = &call->operand[0];
    Attr *axes = infer_attr(call, "axes");
    bool seen[RANK_MAX] = {false};
    int64_t *normal = arena_alloc(call->arena, RANK_MAX * sizeof *normal);
    *call->result = *x;
    bool whole = axes->ints.n == x->rank;
    for (uint32_t i = 0; whole && i < x->rank; i++) {
        int64_t axis = axes->ints.at[i];
        if (axis < 0) axis += x->rank;
        whole = axis >= 0 && axis < x->rank && !seen[axis];
        if (!whole) break;
        seen[axis] = true;
        normal[i] = axis;
        call->result->size[i] = x->size[axis];
    }
    if (!whole) return infer_error(call, "axes must name each of the %u axes once", x->rank);
    *axes = attr_ints(normal, x->rank);
    return true;
}

bool infer_expand_dims(OpCall *call) {
    const Type *x = &call->operand[0];
    if (!shape_rank(call, x->rank + 1u) || !infer_axis(call, "axis", x->rank + 1u)) return false;
    unsigned at = (unsigned)infer_attr(call, "axis")->i;
    Type type = {.dtype = x->dtype, .rank = (uint8_t)(x->rank + 1)};
    for (unsigned axis = 0; axis < type.rank; axis++) {
        type.size[axis] =
            axis == at ? dim_const(call->dims, 1) : x->size[axis < at ? axis : axis - 1];
    }
    *call->result = type;
    return true;
}

bool infer_squeeze(OpCall *call) {
    const Type *x = &call->operand[0];
    if (!infer_axes(call, "axis", x->rank)) return false;
    const Attr *axes = infer_attr(call, "axis");
    Type type = {.dtype = x->dtype};
    for (unsigned axis = 0; axis < x->rank; axis++) {
        if (!attr_ints_has(axes, axis)) {
            type.size[type.rank++] = x->size[axis];
        } else if (!infer_equal(call, x->size[axis], dim_const(call->dims, 1))) {
            return infer_error(call, "axis %u has size %s, not 1", axis,
                               infer_size_text(call, x->size[axis]));
        }
    }
    *call->result = type;
    return true;
}

bool infer_flip(OpCall *call) {
    *call->result = call->operand[0];
    return infer_axes(call, "axis", call->operand[0].rank);
}

bool infer_split(OpCall *call) {
    const Type *x = &call->operand[0];
    const Attr *sizes = infer_attr(call, "sizes");
    if (!infer_axis(call, "axis", x->rank)) return false;
    unsigned axis = (unsigned)infer_attr(call, "axis")->i;
    if (sizes->sizes.n == 0) return infer_error(call, "sizes is empty");
    call->results = sizes->sizes.n;
    call->result = arena_alloc(call->arena, call->results * sizeof *call->result);
    Dim sum = dim_const(call->dims, 0);
    for (uint32_t i = 0; i < call->results; i++) {
        call->result[i] = *x;
        call->result[i].size[axis] = sizes->sizes.at[i];
        sum = dim_add(call->dims, sum, sizes->sizes.at[i]);
    }
    if (!infer_require(call, sum, DIM_EQ, x->size[axis], "sizes add up to %, not to %")) {
        return infer_error(call, "sizes add up to %s, not to %s", infer_size_text(call, sum),
                           infer_size_text(call, x->size[axis]));
    }
    return true;
}

// Whether an axis has the elements that a border of `width` repeats.
static bool pad_source(OpCall *call, Dim size, Dim width) {
    const char *mode = infer_attr(call, "mode")->s;
    if (strcmp(mode, "constant") == 0 || dim_is(call->dims, width, 0)) return true;
    Dim one = dim_const(call->dims, 1);
    bool mirrored = strcmp(mode, "reflect") == 0;
    Dim needs = mirrored ? dim_add(call->dims, width, one) : one;
    if (infer_require(call, needs, DIM_LE, size, "a border needs % elements, the axis has %"))
        return true;
    return infer_error(call, "a border of %s needs %s elements, the axis has %s",
                       infer_size_text(call, width), infer_size_text(call, needs),
                       infer_size_text(call, size));
}

bool infer_repeat_interleave(OpCall *call) {
    if (!infer_same_axis(call)) return false;
    Dim repeats = infer_attr(call, "repeats")->size;
    if (!infer_require(call, repeats, DIM_GE, dim_const(call->dims, 0), "repeats % is negative"))
        return infer_error(call, "repeats must not be negative");
    Dim *size = &call->result->size[infer_attr(call, "axis")->i];
    *size = dim_mul(call->dims, *size, repeats);
    return true;
}

bool infer_triangle(OpCall *call) {
    *call->result = call->operand[0];
    return infer_rank_at_least(call, 0, 2);
}

bool infer_pad(OpCall *call) {
    const Type *x = &call->operand[0];
    const Attr *widths = infer_attr(call, "widths");
    if (widths->sizes.word || !widths->sizes.pairs || widths->sizes.n != 2u * x->rank) {
        return infer_error(call, "widths must have one [before, after] for each of the %u axes",
                           x->rank);
    }
    if (!infer_scalar(call, "value", x->dtype)) return false;
    *call->result = *x;
    Dim zero = dim_const(call->dims, 0);
    for (unsigned axis = 0; axis < x->rank; axis++) {
        Dim before, after;
        attr_pair_of(widths, axis, &before, &after);
        if (!pad_source(call, x->size[axis], before) || !pad_source(call, x->size[axis], after))
            return false;
        if (!infer_require(call, before, DIM_GE, zero, "width % is negative") ||
            !infer_require(call, after, DIM_GE, zero, "width % is negative")) {
            return infer_error(call, "widths must not be negative");
        }
        Dim size = dim_add(call->dims, dim_add(call->dims, before, x->size[axis]), after);
        call->result->size[axis] = size;
    }
    return true;
}

bool infer_tile(OpCall *call) {
    const Type *x = &call->operand[0];
    const Attr *reps = infer_attr(call, "reps");
    if (reps->ints.n != x->rank) {
        return infer_error(call, "reps must have one number for each of the %u axes", x->rank);
    }
    *call->result = *x;
    for (unsigned axis = 0; axis < x->rank; axis++) {
        int64_t count = reps->ints.at[axis];
        if (count < 0) return infer_error(call, "reps must not be negative");
        call->result->size[axis] = dim_mul(call->dims, x->size[axis], dim_const(call->dims, count));
    }
    return true;
}

// Start and stop of one axis, negative constants counted from its end.
static bool slice_axis(OpCall *call, unsigned axis, Dim size, Dim *start, Dim *stop, int64_t step,
                       Dim *count) {
    DimTable *dims = call->dims;
    int64_t value;
    if (dim_is_const(dims, *start, &value) && value < 0) *start = dim_add(dims, size, *start);
    if (dim_is_const(dims, *stop, &value) && value < 0) *stop = dim_add(dims, size, *stop);
    if (step < 1) {
        infer_error(call, "step %lld must be at least 1", (long long)step);
        infer_help(call, "flip reverses an axis");
        return false;
    }
    if (!infer_require(call, *start, DIM_GE, dim_const(dims, 0), "slice start % is negative") ||
        !infer_require(call, *stop, DIM_LE, size, "slice end % is outside an axis of %")) {
        return infer_error(call, "%s:%s is outside axis %u of size %s",
                           infer_size_text(call, *start), infer_size_text(call, *stop), axis,
                           infer_size_text(call, size));
    }
    if (!infer_require(call, *start, DIM_LE, *stop, "slice start % is after its end %")) {
        return infer_error(call, "start %s is after end %s", infer_size_text(call, *start),
                           infer_size_text(call, *stop));
    }
    *count = dim_ceil_div(dims, dim_sub(dims, *stop, *start), dim_const(dims, step));
    return true;
}

// Type of operand 0 between the starts and stops.
static bool sliced(OpCall *call, Type *result) {
    const Type *x = &call->operand[0];
    Attr *starts = infer_attr(call, "starts"), *stops = infer_attr(call, "stops");
    Attr *steps = infer_attr(call, "steps");
    if (starts->sizes.n != x->rank || stops->sizes.n != x->rank || steps->ints.n != x->rank) {
        return infer_error(call, "needs a start, stop and step for each of the %u axes", x->rank);
    }
    Dim *start = arena_alloc(call->arena, RANK_MAX * sizeof *start);
    Dim *stop = arena_alloc(call->arena, RANK_MAX * sizeof *stop);
    *result = *x;
    for (unsigned axis = 0; axis < x->rank; axis++) {
        start[axis] = starts->sizes.at[axis];
        stop[axis] = stops->sizes.at[axis];
        if (!slice_axis(call, axis, x->size[axis], &start[axis], &stop[axis], steps->ints.at[axis],
                        &result->size[axis])) {
            return false;
        }
    }
    *starts = attr_sizes(start, x->rank);
    *stops = attr_sizes(stop, x->rank);
    return true;
}

bool infer_slice(OpCall *call) {
    return sliced(call, call->result);
}

bool infer_update(OpCall *call) {
    Type target, wide;
    if (!sliced(call, &target)) return false;
    wide = target;
    if (!infer_broadcast(call, &wide, &call->operand[1])) return false;
    for (unsigned axis = 0; axis < wide.rank; axis++) {
        if (wide.rank != target.rank || !infer_equal(call, wide.size[axis], target.size[axis])) {
            return infer_error(call, "%s does not broadcast to the slice, %s",
                               infer_operand_name(call, 1), infer_type_text(call, &target));
        }
    }
    *call->result = call->operand[0];
    return true;
}

bool infer_unfold(OpCall *call) {
    const Type *x = &call->operand[0];
    if (!shape_rank(call, x->rank + 1u) || !infer_axis(call, "axis", x->rank)) return false;
    unsigned at = (unsigned)infer_attr(call, "axis")->i;
    int64_t stride = infer_attr(call, "stride")->i, dilation = infer_attr(call, "dilation")->i;
    if (stride < 1 || stride > INT32_MAX || dilation < 1 || dilation > INT32_MAX) {
        return infer_error(call, "stride and dilation must be from 1 to 2147483647");
    }
    if (!infer_scalar(call, "value", x->dtype)) return false;
    Type type = {.dtype = x->dtype};
    for (unsigned axis = 0; axis < x->rank; axis++) {
        if (axis == at) {
            type.size[type.rank++] = infer_attr(call, "kernel")->size;
            type.size[type.rank++] = infer_attr(call, "count")->size;
        } else {
            type.size[type.rank++] = x->size[axis];
        }
    }
    *call->result = type;
    return true;
}

// Sizes of all operands must agree, except on one axis (or -1: on all).
static bool joinable(OpCall *call, int64_t except) {
    const Type *first = &call->operand[0];
    for (uint32_t i = 1; i < call->operands; i++) {
        const Type *type = &call->operand[i];
        if (type->rank != first->rank) {
            return infer_error(call, "ranks differ: %u and %u", first->rank, type->rank);
        }
        for (unsigned axis = 0; axis < type->rank; axis++) {
            if (axis == except || infer_equal(call, type->size[axis], first->size[axis])) continue;
            return infer_error(call, "sizes differ at axis %u: %s and %s", axis,
                               infer_size_text(call, first->size[axis]),
                               infer_size_text(call, type->size[axis]));
        }
    }
    return true;
}

bool infer_concat(OpCall *call) {
    const Type *first = &call->operand[0];
    if (!infer_axis(call, "axis", first->rank)) return false;
    int64_t axis = infer_attr(call, "axis")->i;
    if (!joinable(call, axis)) return false;
    *call->result = *first;
    for (uint32_t i = 1; i < call->operands; i++) {
        call->result->size[axis] =
            dim_add(call->dims, call->result->size[axis], call->operand[i].size[axis]);
    }
    return true;
}

bool infer_stack(OpCall *call) {
    if (!infer_expand_dims(call) || !joinable(call, -1)) return false;
    call->result->size[infer_attr(call, "axis")->i] = dim_const(call->dims, call->operands);
    return true;
}
