// Rules of element-wise ops, reductions and rows.
#include "ir/infer.h"

bool infer_map(OpCall *call) {
    *call->result = call->operand[0];
    for (uint32_t i = 1; i < call->operands; i++) {
        if (infer_has(call, i) && !infer_broadcast(call, call->result, &call->operand[i])) {
            return false;
        }
    }
    return true;
}

bool infer_compare(OpCall *call) {
    if (!infer_map(call)) return false;
    call->result->dtype = DT_BOOL;
    return true;
}

bool infer_where(OpCall *call) {
    if (call->operand[0].dtype != DT_BOOL) {
        return infer_error(call, "%s must be bool, not %s", infer_operand_name(call, 0),
                           dtype_name(call->operand[0].dtype));
    }
    if (!infer_map(call)) return false;
    call->result->dtype = call->operand[1].dtype;
    return true;
}

bool infer_cast(OpCall *call) {
    *call->result = call->operand[0];
    call->result->dtype = infer_attr(call, "dtype")->dtype;
    return true;
}

// Drops the given axes of operand 0, or keeps them with size 1.
static void reduced(OpCall *call, const bool *drop, DType dtype) {
    const Type *x = &call->operand[0];
    Type result = {.dtype = dtype};
    for (unsigned axis = 0; axis < x->rank; axis++) {
        if (!drop[axis]) {
            result.size[result.rank++] = x->size[axis];
        } else if (infer_attr(call, "keepdims")->i) {
            result.size[result.rank++] = dim_const(call->dims, 1);
        }
    }
    *call->result = result;
}

bool infer_reduce(OpCall *call) {
    const Type *x = &call->operand[0];
    if (!infer_axes(call, "axis", x->rank)) return false;
    if (dtype_class(x->dtype) == DC_FSTORE) {
        infer_error(call, "%s has no sums", dtype_name(x->dtype));
        infer_help(call, "write cast(%s, f32)", infer_operand_name(call, 0));
        return false;
    }
    bool drop[RANK_MAX] = {false};
    const Attr *axes = infer_attr(call, "axis");
    for (uint32_t i = 0; i < axes->ints.n; i++) drop[axes->ints.at[i]] = true;
    reduced(call, drop, dtype_class(x->dtype) == DC_ISTORE ? DT_I32 : x->dtype);
    return true;
}

static bool not_empty(OpCall *call, int64_t axis) {
    Dim size = call->operand[0].size[axis];
    if (dim_proved(call->dims, size, DIM_GE, dim_const(call->dims, 1))) return true;
    return infer_error(call, "axis %lld of size %s may be empty", (long long)axis,
                       infer_size_text(call, size));
}

bool infer_reduce_nonempty(OpCall *call) {
    if (!infer_reduce(call)) return false;
    const Attr *axes = infer_attr(call, "axis");
    for (uint32_t i = 0; i < axes->ints.n; i++) {
        if (!not_empty(call, axes->ints.at[i])) return false;
    }
    return true;
}

bool infer_arg_reduce(OpCall *call) {
    if (!infer_axis(call, "axis", call->operand[0].rank)) return false;
    int64_t axis = infer_attr(call, "axis")->i;
    if (!not_empty(call, axis)) return false;
    bool drop[RANK_MAX] = {false};
    drop[axis] = true;
    reduced(call, drop, DT_I32);
    return true;
}

bool infer_same_axis(OpCall *call) {
    *call->result = call->operand[0];
    return infer_axis(call, "axis", call->operand[0].rank);
}

bool infer_norm(OpCall *call) {
    const Type *x = &call->operand[0];
    if (!infer_axis(call, "axis", x->rank)) return false;
    unsigned first = (unsigned)infer_attr(call, "axis")->i;
    Type tail = {.dtype = x->dtype, .rank = (uint8_t)(x->rank - first)};
    for (unsigned axis = first; axis < x->rank; axis++) tail.size[axis - first] = x->size[axis];
    for (uint32_t i = 1; i < call->operands; i++) {
        if (!infer_has(call, i)) continue;
        bool same = call->operand[i].rank == tail.rank;
        for (unsigned axis = 0; same && axis < tail.rank; axis++) {
            same = infer_equal(call, call->operand[i].size[axis], tail.size[axis]);
        }
        if (!same) {
            return infer_error(call, "%s must have the shape of the axes from %u on, %s",
                               infer_operand_name(call, i), first, infer_type_text(call, &tail));
        }
    }
    *call->result = *x;
    return true;
}

static bool channel_operands(OpCall *call) {
    if (!infer_rank_at_least(call, 0, 2)) return false;
    for (uint32_t i = 1; i < call->operands; i++) {
        if (infer_has(call, i) && !infer_is_vector(call, i, call->operand[0].size[1])) return false;
    }
    *call->result = call->operand[0];
    return true;
}

bool infer_group_norm(OpCall *call) {
    if (!channel_operands(call)) return false;
    int64_t groups = infer_attr(call, "num_groups")->i;
    Dim channels = call->operand[0].size[1];
    if (groups < 1 || !dim_divides(call->dims, groups, channels)) {
        return infer_error(call, "%s channels do not divide into %lld groups",
                           infer_size_text(call, channels), (long long)groups);
    }
    return true;
}

bool infer_batch_norm(OpCall *call) {
    return channel_operands(call);
}

bool infer_rotary(OpCall *call) {
    if (!infer_rank(call, 0, 4)) return false;
    const Type *x = &call->operand[0];
    Attr *attr = infer_attr(call, "rotary_dim");
    Dim width = attr->present ? dim_const(call->dims, attr->i) : x->size[3];
    if (!dim_divides(call->dims, 2, width) || !dim_proved(call->dims, width, DIM_LE, x->size[3])) {
        return infer_error(call, "rotary_dim %s must be even and at most %s",
                           infer_size_text(call, width), infer_size_text(call, x->size[3]));
    }
    if (infer_equal(call, width, x->size[3])) *attr = attr_none();
    Dim half = dim_floor_div(call->dims, width, dim_const(call->dims, 2));
    for (uint32_t i = 1; i <= 2; i++) {
        const Type *table = &call->operand[i];
        if (table->dtype != DT_F32 && table->dtype != x->dtype) {
            return infer_error(call, "%s must be f32 or %s, not %s", infer_operand_name(call, i),
                               dtype_name(x->dtype), dtype_name(table->dtype));
        }
        if (table->rank != 2 || !infer_equal(call, table->size[0], x->size[2]) ||
            !infer_equal(call, table->size[1], half)) {
            return infer_error(call, "%s must have the shape [%s, %s]", infer_operand_name(call, i),
                               infer_size_text(call, x->size[2]), infer_size_text(call, half));
        }
    }
    *call->result = *x;
    return true;
}
