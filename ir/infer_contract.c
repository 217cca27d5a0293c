// Rules of sums of products: matmul, linear, contract, attention.
#include "ir/infer.h"

static Dim last(const Type *type) {
    return type->size[type->rank - 1];
}

static bool same_shape(OpCall *call, const Type *a, const Type *b, unsigned axes) {
    for (unsigned axis = 0; axis < axes; axis++) {
        if (!infer_equal(call, a->size[axis], b->size[axis])) return false;
    }
    return true;
}

bool infer_matmul(OpCall *call) {
    const Type *x = &call->operand[0], *y = &call->operand[1];
    DType dtype;
    if (!infer_rank_at_least(call, 0, 1) || !infer_rank_at_least(call, 1, 1) ||
        !infer_sum_dtype(call, &dtype)) {
        return false;
    }
    Dim inner = y->size[y->rank == 1 ? 0 : y->rank - 2];
    if (!infer_equal(call, last(x), inner)) {
        infer_error(call, "inner sizes differ: %s and %s", infer_size_text(call, last(x)),
                    infer_size_text(call, inner));
        if (y->rank == 2 && infer_equal(call, last(x), y->size[1])) {
            infer_help(call, "%s looks like a PyTorch [out, in] weight; write linear(%s, %s)",
                       infer_operand_name(call, 1), infer_operand_name(call, 0),
                       infer_operand_name(call, 1));
        }
        return false;
    }
    Type lead_x = *x, lead_y = *y;
    lead_x.rank = x->rank > 2 ? (uint8_t)(x->rank - 2) : 0;
    lead_y.rank = y->rank > 2 ? (uint8_t)(y->rank - 2) : 0;
    Type result = lead_x;
    result.dtype = dtype;
    if (!infer_broadcast(call, &result, &lead_y)) return false;
    if (x->rank > 1) result.size[result.rank++] = x->size[x->rank - 2];
    if (y->rank > 1) result.size[result.rank++] = last(y);
    *call->result = result;
    return true;
}

// A bias has the operands' dtype or the result's.
static bool bias_fits(OpCall *call, uint32_t operand, Dim size, DType result) {
    if (!infer_has(call, operand)) return true;
    DType dtype = call->operand[operand].dtype, x = call->operand[0].dtype;
    if (dtype != result && dtype != x) {
        return infer_error(call, "%s must be %s, not %s", infer_operand_name(call, operand),
                           dtype_name(x), dtype_name(dtype));
    }
    return infer_is_vector(call, operand, size);
}

bool infer_linear(OpCall *call) {
    const Type *x = &call->operand[0], *weight = &call->operand[1];
    DType dtype;
    if (!infer_rank_at_least(call, 0, 1) || !infer_rank(call, 1, 2) ||
        !infer_sum_dtype(call, &dtype)) {
        return false;
    }
    if (!infer_equal(call, last(x), weight->size[1])) {
        infer_error(call, "inner sizes differ: %s and %s", infer_size_text(call, last(x)),
                    infer_size_text(call, weight->size[1]));
        if (infer_equal(call, last(x), weight->size[0])) {
            infer_help(call, "%s looks like an [in, out] weight; write %s @ %s",
                       infer_operand_name(call, 1), infer_operand_name(call, 0),
                       infer_operand_name(call, 1));
        }
        return false;
    }
    if (!bias_fits(call, 2, weight->size[0], dtype)) return false;
    *call->result = *x;
    call->result->dtype = dtype;
    call->result->size[x->rank - 1] = weight->size[0];
    return true;
}

bool infer_grouped_matmul(OpCall *call) {
    const Type *x = &call->operand[0], *weight = &call->operand[1];
    DType dtype;
    if (!infer_rank(call, 0, 2) || !infer_rank(call, 1, 3) || !infer_index_dtype(call, 2) ||
        !infer_is_vector(call, 2, weight->size[0]) || !infer_sum_dtype(call, &dtype)) {
        return false;
    }
    if (!infer_equal(call, last(x), last(weight))) {
        return infer_error(call, "inner sizes differ: %s and %s", infer_size_text(call, last(x)),
                           infer_size_text(call, last(weight)));
    }
    if (infer_has(call, 3)) {
        const Type *bias = &call->operand[3];
        if (bias->dtype != dtype && bias->dtype != x->dtype) {
            return infer_error(call, "%s must be %s, not %s", infer_operand_name(call, 3),
                               dtype_name(x->dtype), dtype_name(bias->dtype));
        }
        if (!infer_rank(call, 3, 2)) return false;
        if (!same_shape(call, bias, weight, 2)) {
            return infer_error(call, "%s must have the shape [%s, %s]", infer_operand_name(call, 3),
                               infer_size_text(call, weight->size[0]),
                               infer_size_text(call, weight->size[1]));
        }
    }
    *call->result = *x;
    call->result->dtype = dtype;
    call->result->size[1] = weight->size[1];
    return true;
}

bool infer_contract(OpCall *call) {
    const Type *x = &call->operand[0], *y = &call->operand[1];
    int64_t batch = infer_attr(call, "batch")->i, k = infer_attr(call, "k")->i;
    DType dtype;
    bool small = batch >= 0 && batch <= RANK_MAX && k >= 1 && k <= RANK_MAX;
    if (!small || batch + k > x->rank || batch + k > y->rank ||
        x->rank + y->rank - batch - 2 * k > RANK_MAX) {
        return infer_error(call, "batch=%lld and k=%lld do not fit ranks %u and %u",
                           (long long)batch, (long long)k, x->rank, y->rank);
    }
    if (!infer_sum_dtype(call, &dtype)) return false;
    Type result = {.dtype = dtype};
    for (unsigned axis = 0; axis < x->rank - k; axis++) result.size[result.rank++] = x->size[axis];
    for (unsigned axis = (unsigned)batch; axis < y->rank - k; axis++) {
        result.size[result.rank++] = y->size[axis];
    }
    if (!same_shape(call, x, y, (unsigned)batch)) return infer_error(call, "batch sizes differ");
    for (int64_t axis = 1; axis <= k; axis++) {
        Dim left = x->size[x->rank - axis], right = y->size[y->rank - axis];
        if (!infer_equal(call, left, right)) {
            return infer_error(call, "inner sizes differ: %s and %s", infer_size_text(call, left),
                               infer_size_text(call, right));
        }
    }
    *call->result = result;
    return true;
}

// Query heads are key heads, or with enable_gqa a multiple of them.
static bool heads_fit(OpCall *call, const Type *q, const Type *k) {
    if (q->rank < 3) return true;
    Dim query = q->size[q->rank - 3], key = k->size[k->rank - 3], ratio;
    if (infer_equal(call, query, key)) return true;
    if (!infer_attr(call, "enable_gqa")->i) {
        infer_error(call, "heads differ: %s and %s", infer_size_text(call, query),
                    infer_size_text(call, key));
        infer_help(call, "enable_gqa=true shares key heads among query heads");
        return false;
    }
    if (dim_exact_div(call->dims, query, key, &ratio)) return true;
    return infer_error(call, "%s query heads are no multiple of %s key heads",
                       infer_size_text(call, query), infer_size_text(call, key));
}

bool infer_attention(OpCall *call) {
    const Type *q = &call->operand[0], *k = &call->operand[1], *v = &call->operand[2];
    if (!infer_rank_at_least(call, 0, 2) || !infer_rank(call, 1, q->rank) ||
        !infer_rank(call, 2, q->rank)) {
        return false;
    }
    unsigned rank = q->rank;
    if (!infer_equal(call, last(q), last(k))) {
        return infer_error(call, "head sizes of q and k differ: %s and %s",
                           infer_size_text(call, last(q)), infer_size_text(call, last(k)));
    }
    if (!same_shape(call, k, v, rank - 1)) return infer_error(call, "k and v differ in shape");
    if (rank > 3 && !same_shape(call, q, k, rank - 3)) {
        return infer_error(call, "leading sizes differ");
    }
    if (!heads_fit(call, q, k)) return false;
    if (infer_has(call, 3)) {
        const Type *mask = &call->operand[3];
        if (mask->dtype != DT_BOOL && dtype_class(mask->dtype) != DC_FLOAT) {
            return infer_error(call, "%s must be bool or a float", infer_operand_name(call, 3));
        }
        Type scores = *q;
        scores.size[rank - 1] = k->size[rank - 2];
        Type wide = scores;
        if (!infer_broadcast(call, &wide, mask)) return false;
        if (wide.rank != rank || !same_shape(call, &wide, &scores, rank)) {
            return infer_error(call, "%s does not broadcast to the scores, %s",
                               infer_operand_name(call, 3), infer_type_text(call, &scores));
        }
    }
    const Attr *softcap = infer_attr(call, "softcap"), *window = infer_attr(call, "window");
    if (softcap->present && !(softcap->f > 0)) return infer_error(call, "softcap must be positive");
    if (window->present && (window->i < 1 || window->i > INT32_MAX))
        return infer_error(call, "window must be positive");
    *call->result = *q;
    call->result->size[rank - 1] = last(v);
    return true;
}
