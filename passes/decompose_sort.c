// sort, argsort and topk: sorted blocks and merges (decompose_scan.c).
//
// Short rows are ordered by counting: the place of an element is the number of those that go before
// it, and an element of the result is found by its place. These are two reduces over all pairs of a
// row, which fuse with the maps around.
#include "passes/decompose.h"

enum { COUNTED_MAX = 32 }; // longest row that is ordered by counting

// NaN is largest.
static ValueId is_less(Builder *b, ValueId x, ValueId y) {
    ValueId less = build_map2(b, OP_LESS, "less", x, y);
    if (!dtype_is_float(build_type(b, x).dtype)) return less;
    ValueId number = build_map2(b, OP_EQUAL, "number", x, x);
    ValueId nan = build_map2(b, OP_NOT_EQUAL, "nan", y, y);
    ValueId ends = build_map2(b, OP_LOGICAL_AND, "ends", number, nan);
    return build_map2(b, OP_LOGICAL_OR, "before", less, ends);
}

// x [.., n] -> i32 [.., k]: where the elements of places 0 .. k - 1 stand.
static ValueId counted(Builder *b, ValueId x, Dim k, bool descending, const char *part) {
    Type type = build_type(b, x), pairs = type;
    uint32_t last = type.rank - 1u;
    pairs.rank++;
    pairs.size[last + 1] = type.size[last];
    ValueId mine = build_broadcast(b, build_expand_to(b, x, 1), pairs.rank, pairs.size);
    ValueId other = build_broadcast(b, build_expand(b, "other", x, last), pairs.rank, pairs.size);
    ValueId i = decompose_counter(b, last, pairs.rank, pairs.size);
    ValueId j = decompose_counter(b, last + 1, pairs.rank, pairs.size);
    ValueId less = is_less(b, other, mine), more = is_less(b, mine, other);
    ValueId first = descending ? more : less, after = descending ? less : more;
    ValueId tie = build_map2(b, OP_LOGICAL_AND, "tie", build_map1(b, OP_LOGICAL_NOT, "not", after),
                             build_map2(b, OP_LESS, "earlier", j, i));
    ValueId ahead = build_map2(b, OP_LOGICAL_OR, "ahead", first, tie);
    ahead = build_cast(b, "one", ahead, DT_I32);
    ValueId place = build_reduce(b, OP_SUM, "place", ahead, 2u << last);
    pairs.size[last] = k;
    place = build_broadcast(b, build_expand(b, "each", place, last), pairs.rank, pairs.size);
    ValueId wanted = decompose_counter(b, last, pairs.rank, pairs.size);
    ValueId index = decompose_counter(b, last + 1, pairs.rank, pairs.size);
    ValueId hit = build_map2(b, OP_EQUAL, "hit", place, wanted);
    index = build_where(b, "index", hit, index, build_number(b, DT_I32, 0));
    return build_reduce(b, OP_SUM, part, index, 2u << last);
}

ValueId decompose_last_axis(Builder *b, const char *part, ValueId x, uint32_t axis) {
    uint32_t rank = build_type(b, x).rank;
    uint8_t axes[RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) axes[i] = (uint8_t)i;
    axes[axis] = (uint8_t)(rank - 1);
    axes[rank - 1] = (uint8_t)axis;
    return build_permute(b, part, x, axes);
}

// i32: where the elements of places 0 .. k - 1 along the axis stand. Named `part`, or as the node.
static ValueId order(Builder *b, ValueId x, uint32_t axis, Dim k, bool descending,
                     const char *part) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x);
    if (dim_bounds(dims, type.size[axis]).hi > COUNTED_MAX) {
        Dim zero = dim_const(dims, 0);
        int64_t few;
        ValueId all = descending && k != type.size[axis] && dim_is_const(dims, k, &few)
                          ? decompose_best(b, x, axis, few)
                          : decompose_sorted(b, x, axis, descending).order;
        return build_slice(b, part, all, axis, zero, k, 1);
    }
    bool moved = axis + 1u != type.rank;
    ValueId row = decompose_last_axis(b, "row", x, axis);
    ValueId index = counted(b, row, k, descending, moved ? "place" : part);
    return decompose_last_axis(b, part, index, axis);
}

ValueId decompose_sort(Rewrite *rewrite, Builder *b, const Node *node) {
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    ValueId x = node_operand(rewrite, node, 0);
    bool sort = node->op == OP_SORT, descending = build_attr(node, "descending")->i;
    ValueId index =
        order(b, x, axis, build_type(b, x).size[axis], descending, sort ? "order" : NULL);
    return sort ? build_gather(b, OP_TAKE_ALONG_AXIS, NULL, x, index, axis) : index;
}

bool decompose_topk(Rewrite *rewrite, Builder *b, const Node *node) {
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    ValueId x = node_operand(rewrite, node, 0);
    ValueId index = order(b, x, axis, build_attr(node, "k")->size, true, "indices");
    rewrite_set(rewrite, node->result[0],
                build_gather(b, OP_TAKE_ALONG_AXIS, "top", x, index, axis));
    rewrite_set(rewrite, node->result[1], index);
    return !b->failed;
}
