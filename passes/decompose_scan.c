// Running sums, and what orders and scatters are made of: kernels of class SCAN along one axis.
#include "passes/decompose.h"

// Blocks of a long row are summed side by side first: each then starts from the sum before it.
// Rows that do not lie along memory are read by one invocation each, and so take smaller blocks.
enum { SUM_BLOCK = 4096, SUM_BLOCK_ACROSS = 256, SUM_BLOCKS_MIN = 4 };

static ValueId prefix_sum(Builder *b, const char *part, ValueId x, ValueId first, uint32_t axis,
                          int64_t block) {
    Attr attr[OP_ATTRS_MAX] = {0};
    const OpInfo *op = op_info(OP_PREFIX_SUM);
    attr[op_attr_index(op, "axis")] = attr_int(axis);
    attr[op_attr_index(op, "chunk")] = attr_int(block);
    return build_op(b, OP_PREFIX_SUM, part, (ValueId[]){x, first}, first ? 2 : 1, attr);
}

// The sum of everything before each block.
static ValueId block_starts(Builder *b, ValueId x, uint32_t axis, int64_t size) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x), split = type;
    Dim block = dim_const(dims, size), zero = dim_const(dims, 0), one = dim_const(dims, 1);
    Dim blocks = dim_ceil_div(dims, type.size[axis], block);
    Dim more = dim_sub(dims, dim_mul(dims, blocks, block), type.size[axis]);
    for (uint32_t i = type.rank; i > axis + 1; i--) split.size[i] = split.size[i - 1];
    split.size[axis] = blocks, split.size[axis + 1] = block;
    x = build_pad(b, build_cast(b, "wide", x, decompose_inner(type.dtype)), axis, zero, more);
    x = build_reshape(b, "blocks", x, type.rank + 1u, split.size);
    x = build_reduce(b, OP_SUM, "block_sums", x, 2u << axis);
    x = prefix_sum(b, "block_ends", x, 0, axis, 0);
    return build_slice(b, "block_starts", build_pad(b, x, axis, one, zero), axis, zero, blocks, 1);
}

ValueId decompose_cumsum(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x);
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    int64_t block = axis + 1u == type.rank ? SUM_BLOCK : SUM_BLOCK_ACROSS;
    bool one = dim_bounds(b->g->dims, type.size[axis]).hi <= SUM_BLOCKS_MIN * block;
    if (one || type.rank == RANK_MAX) return prefix_sum(b, NULL, x, 0, axis, 0);
    return prefix_sum(b, NULL, x, block_starts(b, x, axis, block), axis, block);
}

// ---- order
// ---------------------------------------------------------------------------------------------

// Blocks that workgroup memory sorts, and how many sorted ones become one at a time.
enum { SORT_BLOCK_MIN = 64, SORT_BLOCK_MAX = 2048, MERGE_FAN = 8 };
enum { BEST_MAX = SORT_BLOCK_MAX / 4 }; // so many of the largest are kept of each block

static bool two_results(Builder *b, OpId op, const char *const *part, const ValueId *operand,
                        uint32_t operands, const Attr *attr, Sorted *out) {
    out->keys = build_op(b, op, part[0], operand, operands, attr);
    if (!out->keys) return false;
    const Node *node = graph_node(b->g, graph_value(b->g, out->keys)->node);
    out->order = node->result[1];
    graph_name(b->g, out->order, arena_printf(b->g->arena, "%s.%s", b->prefix, part[1]), false);
    return true;
}

static Sorted sorted_blocks(Builder *b, ValueId x, uint32_t axis, int64_t block, bool descending) {
    static const char *const names[] = {"keys", "order"};
    Attr attr[OP_ATTRS_MAX] = {0};
    const OpInfo *op = op_info(OP_SORT_BLOCKS);
    attr[op_attr_index(op, "axis")] = attr_int(axis);
    attr[op_attr_index(op, "chunk")] = attr_int(block);
    attr[op_attr_index(op, "descending")] = attr_int(descending);
    Sorted sorted = {0};
    (void)two_results(b, OP_SORT_BLOCKS, names, &x, 1, attr, &sorted);
    return sorted;
}

static Sorted merged_blocks(Builder *b, Sorted sorted, uint32_t axis, int64_t block) {
    static const char *const names[] = {"keys", "order"};
    Attr attr[OP_ATTRS_MAX] = {0};
    const OpInfo *op = op_info(OP_MERGE_BLOCKS);
    attr[op_attr_index(op, "axis")] = attr_int(axis);
    attr[op_attr_index(op, "chunk")] = attr_int(block);
    attr[op_attr_index(op, "fan")] = attr_int(MERGE_FAN);
    ValueId pair[] = {sorted.keys, sorted.order};
    (void)two_results(b, OP_MERGE_BLOCKS, names, pair, 2, attr, &sorted);
    return sorted;
}

static int64_t row_most(const Builder *b, ValueId x, uint32_t axis) {
    return dim_bounds(b->g->dims, build_type(b, x).size[axis]).hi;
}

Sorted decompose_sorted(Builder *b, ValueId x, uint32_t axis, bool descending) {
    int64_t most = row_most(b, x, axis), block = SORT_BLOCK_MIN;
    while (block < most && block < SORT_BLOCK_MAX) block *= 2;
    Sorted sorted = sorted_blocks(b, x, axis, block, descending);
    for (; block < most && !b->failed && block <= INT32_MAX / MERGE_FAN; block *= MERGE_FAN)
        sorted = merged_blocks(b, sorted, axis, block);
    return sorted;
}

// The first `count` of each block of an axis, one block after the other. pad: what stands past the
// end.
static ValueId heads(Builder *b, ValueId x, uint32_t axis, int64_t block, int64_t count,
                     int64_t pad) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x), split = type;
    Dim size = dim_const(dims, block), zero = dim_const(dims, 0), first = dim_const(dims, count);
    Dim blocks = dim_ceil_div(dims, type.size[axis], size);
    Dim more = dim_sub(dims, dim_mul(dims, blocks, size), type.size[axis]);
    for (uint32_t i = type.rank; i > axis + 1; i--) split.size[i] = split.size[i - 1];
    split.size[axis] = blocks, split.size[axis + 1] = size;
    x = build_pad_with(b, x, axis, zero, more, pad);
    x = build_reshape(b, "blocks", x, type.rank + 1u, split.size);
    x = build_slice(b, "heads", x, axis + 1, zero, first, 1);
    type.size[axis] = dim_mul(dims, blocks, first);
    return build_reshape(b, "heads", x, type.rank, type.size);
}

ValueId decompose_best(Builder *b, ValueId x, uint32_t axis, int64_t k) {
    if (k < 1 || k > BEST_MAX || row_most(b, x, axis) <= SORT_BLOCK_MAX ||
        build_type(b, x).rank == RANK_MAX)
        return decompose_sorted(b, x, axis, true).order;
    Sorted best = sorted_blocks(b, x, axis, SORT_BLOCK_MAX, true);
    for (int64_t block = SORT_BLOCK_MAX; !b->failed; block = k * MERGE_FAN) {
        best.keys = heads(b, best.keys, axis, block, k, INT32_MAX);
        best.order = heads(b, best.order, axis, block, k, 0);
        if (b->failed || row_most(b, best.keys, axis) <= k) break;
        best = merged_blocks(b, best, axis, k);
    }
    return best.order;
}

ValueId decompose_segments(Builder *b, const char *part, ValueId x, Sorted sorted, ValueId updates,
                           uint32_t axis, const char *reduction) {
    Attr attr[OP_ATTRS_MAX] = {0};
    const OpInfo *op = op_info(OP_SEGMENTS);
    attr[op_attr_index(op, "axis")] = attr_int(axis);
    attr[op_attr_index(op, "reduction")] = attr_string(reduction);
    ValueId operand[] = {x, sorted.keys, sorted.order, updates};
    return build_op(b, OP_SEGMENTS, part, operand, 4, attr);
}

ValueId decompose_counts(Builder *b, const char *part, ValueId keys, uint32_t axis, Dim length) {
    Attr attr[OP_ATTRS_MAX] = {0};
    const OpInfo *op = op_info(OP_COUNTS);
    attr[op_attr_index(op, "axis")] = attr_int(axis);
    attr[op_attr_index(op, "length")] = attr_size(length);
    return build_op(b, OP_COUNTS, part, &keys, 1, attr);
}
