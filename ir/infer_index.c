// Rules of ops that order, count and scatter, and of quantisation.
#include "ir/infer.h"

#include <string.h>

enum { PAIRED_RANK_MAX = RANK_MAX - 1 }; // one more axis pairs each element with each other

static bool paired_rank(OpCall *call) {
    unsigned rank = call->operand[0].rank;
    if (rank <= PAIRED_RANK_MAX) return true;
    return infer_error(call, "rank %u is over this op's limit of %d", rank, PAIRED_RANK_MAX);
}

bool infer_sort(OpCall *call) {
    if (!paired_rank(call) || !infer_same_axis(call)) return false;
    if (call->op->id == OP_ARGSORT) call->result->dtype = DT_I32;
    return true;
}

bool infer_topk(OpCall *call) {
    if (!paired_rank(call) || !infer_same_axis(call)) return false;
    int64_t axis = infer_attr(call, "axis")->i;
    Dim k = infer_attr(call, "k")->size, size = call->operand[0].size[axis];
    if (!infer_require(call, k, DIM_GE, dim_const(call->dims, 0), "k = % is negative") ||
        !infer_require(call, k, DIM_LE, size, "k = % is more than the axis has, %")) {
        return infer_error(call, "k = %s does not fit an axis of %s", infer_size_text(call, k),
                           infer_size_text(call, size));
    }
    Type type = *call->result;
    type.size[axis] = k;
    call->results = 2;
    call->result = arena_alloc(call->arena, 2 * sizeof *call->result);
    call->result[0] = call->result[1] = type;
    call->result[1].dtype = DT_I32;
    return true;
}

bool infer_one_hot(OpCall *call) {
    const Type *x = &call->operand[0];
    if (!infer_index_dtype(call, 0)) return false;
    if (x->rank == RANK_MAX) return infer_error(call, "rank 9 is over the limit of %d", RANK_MAX);
    *call->result = *x;
    call->result->dtype = infer_attr(call, "dtype")->dtype;
    call->result->size[call->result->rank++] = infer_attr(call, "depth")->size;
    return true;
}

bool infer_bincount(OpCall *call) {
    if (!infer_index_dtype(call, 0)) return false;
    *call->result = (Type){.dtype = DT_I32, .rank = 1, .size = {infer_attr(call, "length")->size}};
    return true;
}

static bool can_join(OpCall *call) {
    const char *reduction = infer_attr(call, "reduction")->s;
    DTypeClass class = dtype_class(call->operand[0].dtype);
    if (strcmp(reduction, "none") == 0 || class == DC_FLOAT || class == DC_INT) return true;
    return infer_error(call, "%s elements have no reduction=\"%s\"",
                       dtype_name(call->operand[0].dtype), reduction);
}

bool infer_scatter_elements(OpCall *call) {
    const Type *x = &call->operand[0], *indices = &call->operand[1], *updates = &call->operand[2];
    if (!paired_rank(call) || !infer_same_axis(call) || !infer_index_dtype(call, 1) ||
        !infer_rank(call, 1, x->rank) || !infer_rank(call, 2, x->rank) || !can_join(call))
        return false;
    int64_t axis = infer_attr(call, "axis")->i;
    for (unsigned i = 0; i < x->rank; i++) {
        if (!infer_equal(call, indices->size[i], updates->size[i])) {
            return infer_error(call, "indices and updates differ at axis %u: %s and %s", i,
                               infer_size_text(call, indices->size[i]),
                               infer_size_text(call, updates->size[i]));
        }
        if (i != axis && !infer_require(call, indices->size[i], DIM_LE, x->size[i],
                                        "% indices on an axis of %")) {
            return infer_error(call, "indices have %s at axis %u, %s has %s",
                               infer_size_text(call, indices->size[i]), i,
                               infer_operand_name(call, 0), infer_size_text(call, x->size[i]));
        }
    }
    return true;
}

bool infer_scatter_nd(OpCall *call) {
    const Type *x = &call->operand[0], *indices = &call->operand[1], *updates = &call->operand[2];
    int64_t depth;
    if (!paired_rank(call) || !infer_index_dtype(call, 1) || !infer_rank_at_least(call, 1, 1) ||
        !can_join(call))
        return false;
    unsigned lead = indices->rank - 1u;
    if (!dim_is_const(call->dims, indices->size[lead], &depth) || depth < 1 || depth > x->rank) {
        return infer_error(call, "the last size of indices must be 1 to %u, not %s", x->rank,
                           infer_size_text(call, indices->size[lead]));
    }
    Type wanted = {.dtype = x->dtype};
    unsigned rest = x->rank - (unsigned)depth;
    if (lead + rest > PAIRED_RANK_MAX) return infer_error(call, "updates of rank %u", lead + rest);
    for (unsigned i = 0; i < lead; i++) wanted.size[wanted.rank++] = indices->size[i];
    for (unsigned i = 0; i < rest; i++) wanted.size[wanted.rank++] = x->size[depth + i];
    bool same = updates->rank == wanted.rank;
    for (unsigned i = 0; same && i < wanted.rank; i++)
        same = infer_equal(call, updates->size[i], wanted.size[i]);
    if (!same) {
        return infer_error(call, "%s must be %s", infer_operand_name(call, 2),
                           infer_type_text(call, &wanted));
    }
    *call->result = *x;
    return true;
}

// A scale of rank 0, of the size of an axis, or of one number a block along it.
static bool scale_fits(OpCall *call) {
    const Type *x = &call->operand[0], *scale = &call->operand[1];
    int64_t block = infer_attr(call, "block_size")->i;
    if (block < 0) return infer_error(call, "block_size must not be negative");
    if (infer_has(call, 2)) {
        const Type *zero = &call->operand[2];
        bool same = zero->rank == scale->rank;
        for (unsigned i = 0; same && i < scale->rank; i++)
            same = infer_equal(call, zero->size[i], scale->size[i]);
        if (!same) {
            return infer_error(call, "%s must have the shape of %s", infer_operand_name(call, 2),
                               infer_operand_name(call, 1));
        }
    }
    if (scale->rank == 0 && !block) return true;
    if (!infer_axis(call, "axis", x->rank)) return false;
    unsigned axis = (unsigned)infer_attr(call, "axis")->i;
    if (!block) return infer_is_vector(call, 1, x->size[axis]);
    bool fits = scale->rank == x->rank;
    for (unsigned i = 0; fits && i < x->rank; i++) {
        Dim size = x->size[i];
        if (i == axis) size = dim_ceil_div(call->dims, size, dim_const(call->dims, block));
        fits = infer_equal(call, scale->size[i], size);
    }
    if (fits) return true;
    return infer_error(call, "%s must have the shape of %s with axis %u in blocks of %lld",
                       infer_operand_name(call, 1), infer_operand_name(call, 0), axis,
                       (long long)block);
}

bool infer_quantize(OpCall *call) {
    Attr *dtype = infer_attr(call, "dtype");
    DType target = infer_has(call, 2) ? call->operand[2].dtype : DT_U8;
    if (dtype->present && infer_has(call, 2) && dtype->dtype != target) {
        return infer_error(call, "dtype is %s, %s is %s", dtype_name(dtype->dtype),
                           infer_operand_name(call, 2), dtype_name(target));
    }
    if (dtype->present) target = dtype->dtype;
    if (target != DT_U8 && target != DT_I8)
        return infer_error(call, "the result must be u8 or i8, not %s", dtype_name(target));
    if (infer_has(call, 2) || target == DT_U8) *dtype = attr_none();
    *call->result = call->operand[0];
    call->result->dtype = target;
    return scale_fits(call);
}

bool infer_dequantize(OpCall *call) {
    DType from = call->operand[0].dtype, scale = call->operand[1].dtype;
    Attr *dtype = infer_attr(call, "dtype");
    if (from != DT_U8 && from != DT_I8 && from != DT_I32) {
        return infer_error(call, "%s must be u8, i8 or i32, not %s", infer_operand_name(call, 0),
                           dtype_name(from));
    }
    if (dtype_class(scale) != DC_FLOAT) {
        return infer_error(call, "%s must be a float, not %s", infer_operand_name(call, 1),
                           dtype_name(scale));
    }
    if (dtype->present && dtype->dtype == scale) *dtype = attr_none();
    if (dtype->present && dtype_class(dtype->dtype) != DC_FLOAT)
        return infer_error(call, "the result must be a float, not %s", dtype_name(dtype->dtype));
    *call->result = call->operand[0];
    call->result->dtype = dtype->present ? dtype->dtype : scale;
    return scale_fits(call);
}
