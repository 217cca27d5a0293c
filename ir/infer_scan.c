// Rules of what running sums, orders and scatters become (class SCAN).
#include "ir/infer.h"

static bool scan_block(OpCall *call, const char *name, int64_t least) {
    int64_t block = infer_attr(call, name)->i;
    if (block >= least && block <= INT32_MAX) return true;
    return infer_error(call, "%s must be from %lld to %d", name, (long long)least, INT32_MAX);
}

// Operand `index` has the sizes of x but along the axis, where it has `size`.
static bool scan_beside(OpCall *call, uint32_t index, Dim size) {
    const Type *x = &call->operand[0];
    unsigned axis = (unsigned)infer_attr(call, "axis")->i;
    if (!infer_rank(call, index, x->rank)) return false;
    for (unsigned i = 0; i < x->rank; i++) {
        Dim wanted = i == axis ? size : x->size[i];
        if (!infer_equal(call, call->operand[index].size[i], wanted))
            return infer_error(call, "axis %u of %s must have %s elements", i,
                               infer_operand_name(call, index), infer_size_text(call, wanted));
    }
    return true;
}

bool infer_prefix_sum(OpCall *call) {
    if (!infer_same_axis(call) || !scan_block(call, "chunk", 0)) return false;
    if (!infer_has(call, 1)) return true;
    int64_t block = infer_attr(call, "chunk")->i;
    if (block < 1) return infer_error(call, "first goes with blocks");
    Dim size = call->operand[0].size[infer_attr(call, "axis")->i];
    return scan_beside(call, 1, dim_ceil_div(call->dims, size, dim_const(call->dims, block)));
}

static bool scan_pair(OpCall *call) {
    Type type = call->operand[0];
    type.dtype = DT_I32;
    call->results = 2;
    call->result = arena_alloc(call->arena, 2 * sizeof *call->result);
    call->result[0] = call->result[1] = type;
    return true;
}

bool infer_sort_blocks(OpCall *call) {
    int64_t block = infer_attr(call, "chunk")->i;
    if (!infer_axis(call, "axis", call->operand[0].rank) || !scan_block(call, "chunk", 2))
        return false;
    if (block & (block - 1)) return infer_error(call, "chunk must be a power of two");
    return scan_pair(call);
}

bool infer_merge_blocks(OpCall *call) {
    const Type *keys = &call->operand[0];
    if (!infer_axis(call, "axis", keys->rank) || !scan_block(call, "chunk", 1) ||
        !scan_block(call, "fan", 2))
        return false;
    return scan_beside(call, 1, keys->size[infer_attr(call, "axis")->i]) && scan_pair(call);
}

bool infer_segments(OpCall *call) {
    const Type *keys = &call->operand[1];
    if (!infer_same_axis(call) || !infer_index_dtype(call, 1) || !infer_index_dtype(call, 2))
        return false;
    int64_t axis = infer_attr(call, "axis")->i;
    if (!infer_rank(call, 1, call->operand[0].rank)) return false;
    for (uint32_t i = 1; i < 4; i++)
        if (!scan_beside(call, i, keys->size[axis])) return false;
    return true;
}

bool infer_counts(OpCall *call) {
    if (!infer_same_axis(call)) return false;
    call->result->size[infer_attr(call, "axis")->i] = infer_attr(call, "length")->size;
    call->result->dtype = DT_I32;
    return true;
}
