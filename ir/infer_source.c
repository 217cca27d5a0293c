// Rules of sources and gathers.
#include "ir/infer.h"

#include <assert.h>

bool infer_declared(OpCall *call) {
    assert(call->declared);
    *call->result = *call->declared;
    return true;
}

bool infer_arange(OpCall *call) {
    DimTable *dims = call->dims;
    DType dtype = infer_attr(call, "dtype")->dtype;
    int64_t step = infer_attr(call, "step")->i;
    if (step < 1) return infer_error(call, "step %lld must be at least 1", (long long)step);
    if (dtype_class(dtype) != DC_FLOAT && dtype_class(dtype) != DC_INT) {
        return infer_error(call, "dtype must be f32, f16, bf16, i32 or u32, not %s",
                           dtype_name(dtype));
    }
    Dim length = dim_sub(dims, infer_attr(call, "stop")->size, infer_attr(call, "start")->size);
    *call->result = (Type){.dtype = dtype, .rank = 1};
    call->result->size[0] = dim_ceil_div(dims, length, dim_const(dims, step));
    return true;
}

bool infer_full(OpCall *call) {
    const Attr *shape = infer_attr(call, "shape");
    DType dtype = infer_attr(call, "dtype")->dtype;
    if (shape->sizes.n > RANK_MAX) {
        return infer_error(call, "rank %u is over the limit of %d", shape->sizes.n, RANK_MAX);
    }
    if (!infer_scalar(call, "value", dtype)) return false;
    *call->result = (Type){.dtype = dtype, .rank = (uint8_t)shape->sizes.n};
    for (uint32_t i = 0; i < shape->sizes.n; i++) call->result->size[i] = shape->sizes.at[i];
    return true;
}

bool infer_embedding(OpCall *call) {
    const Type *ids = &call->operand[0], *weight = &call->operand[1];
    if (!infer_index_dtype(call, 0) || !infer_rank(call, 1, 2)) return false;
    if (ids->rank == RANK_MAX) return infer_error(call, "the result would have rank 9");
    *call->result = *ids;
    call->result->dtype = weight->dtype;
    call->result->size[call->result->rank++] = weight->size[1];
    return true;
}

bool infer_take(OpCall *call) {
    const Type *x = &call->operand[0], *indices = &call->operand[1];
    if (!infer_index_dtype(call, 1) || !infer_axis(call, "axis", x->rank)) return false;
    if (x->rank + indices->rank - 1 > RANK_MAX) {
        return infer_error(call, "the result would have rank %u", x->rank + indices->rank - 1u);
    }
    int64_t at = infer_attr(call, "axis")->i;
    Type type = {.dtype = x->dtype};
    for (int64_t axis = 0; axis < x->rank; axis++) {
        if (axis != at) {
            type.size[type.rank++] = x->size[axis];
            continue;
        }
        for (unsigned i = 0; i < indices->rank; i++) type.size[type.rank++] = indices->size[i];
    }
    *call->result = type;
    return true;
}

bool infer_take_along_axis(OpCall *call) {
    const Type *x = &call->operand[0], *indices = &call->operand[1];
    if (!infer_index_dtype(call, 1) || !infer_axis(call, "axis", x->rank) ||
        !infer_rank(call, 1, x->rank)) {
        return false;
    }
    int64_t at = infer_attr(call, "axis")->i;
    for (int64_t axis = 0; axis < x->rank; axis++) {
        if (axis == at || infer_equal(call, x->size[axis], indices->size[axis])) continue;
        return infer_error(call, "sizes differ at axis %lld: %s and %s", (long long)axis,
                           infer_size_text(call, x->size[axis]),
                           infer_size_text(call, indices->size[axis]));
    }
    *call->result = *indices;
    call->result->dtype = x->dtype;
    return true;
}
