// Running sums, and what orders and scatters become (class SCAN), in the reference evaluator.
#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t scan_attr(const Node *node, const char *name) {
    return node->attr[op_attr_index(op_info(node->op), name)].i;
}

static void scan_put(EvalSlot *slot, const int64_t *at, double value) {
    int64_t place = tensor_offset(&slot->tensor, at);
    slot->tensor.data[place] = value;
    slot->have[place] = 1;
}

// An operand that is perhaps wider than what is asked: the index of its own element.
static double scan_at(Eval *e, const Node *node, uint32_t operand, const int64_t *at, int64_t axis,
                      int64_t along) {
    int64_t own[RANK_MAX];
    memcpy(own, at, sizeof own);
    own[axis] = along;
    return eval_at(e, node->operand[operand], own);
}

void eval_sum_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    int64_t axis = scan_attr(node, "axis"), at[RANK_MAX];
    int64_t block = node->op == OP_PREFIX_SUM ? scan_attr(node, "chunk") : 0;
    bool first = node->operands > 1 && node->operand[1];
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    double sum = 0;
    memcpy(at, index, sizeof at);
    for (at[axis] = 0; at[axis] < x->size[axis]; at[axis]++) {
        if (block && at[axis] % block == 0)
            sum = first ? scan_at(e, node, 1, at, axis, at[axis] / block) : 0;
        sum += eval_at(e, node->operand[0], at);
        if (dtype_is_int(x->dtype)) sum = number_wrap(x->dtype, (int64_t)sum);
        bool rounds = e->options.strict_rounding && dtype_is_float(x->dtype);
        scan_put(slot, at, rounds ? number_cast(x->dtype, sum) : sum);
    }
}

// ---- order
// ---------------------------------------------------------------------------------------------

typedef struct Keyed {
    int64_t key, index;
} Keyed;

static int compare_keys(const void *left, const void *right) {
    const Keyed *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

// An integer that rises with the value; NaN is largest, both zeros are the same.
static int64_t key_of(DType dtype, double value, bool descending) {
    int32_t key;
    if (dtype_is_float(dtype)) {
        float number = isnan(value) ? NAN : (float)value + 0.0f;
        memcpy(&key, &number, sizeof key);
        key = isnan(value) ? 0x7fc00000 : key < 0 ? key ^ 0x7fffffff : key;
    } else {
        key = (int32_t)((uint32_t)(int64_t)value ^ (dtype_is_signed(dtype) ? 0 : 0x80000000u));
    }
    return descending ? ~key : key;
}

static void put_order(EvalSlot *slot, int64_t *at, int64_t axis, int64_t first, const Keyed *row,
                      int64_t count, bool keys) {
    for (int64_t i = 0; i < count; i++) {
        at[axis] = first + i;
        scan_put(slot, at, (double)(keys ? row[i].key : row[i].index));
    }
}

void eval_order_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    bool sort = node->op == OP_SORT_BLOCKS, descending = sort && scan_attr(node, "descending");
    int64_t axis = scan_attr(node, "axis"), size = slot->tensor.size[axis], at[RANK_MAX];
    int64_t block = scan_attr(node, "chunk") * (sort ? 1 : scan_attr(node, "fan"));
    bool keys = slot == &e->slot[node->result[0]];
    DType dtype = graph_value(e->graph, node->operand[0])->type.dtype;
    Keyed *row = arena_alloc(e->arena, (size_t)(size + 1) * sizeof *row);
    memcpy(at, index, sizeof at);
    for (int64_t i = 0; i < size; i++) {
        double x = scan_at(e, node, 0, at, axis, i);
        row[i].key = sort ? key_of(dtype, x, descending) : (int64_t)x;
        row[i].index = sort ? i : (int64_t)scan_at(e, node, 1, at, axis, i);
    }
    for (int64_t first = 0; first < size; first += block) {
        int64_t count = size - first < block ? size - first : block;
        qsort(row + first, (size_t)count, sizeof *row, compare_keys);
        put_order(slot, at, axis, first, row + first, count, keys);
    }
}

// ---- segments
// ------------------------------------------------------------------------------------------

void eval_segment_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    bool counts = node->op == OP_COUNTS;
    const Tensor *keys = eval_shape_of(e, node->operand[!counts]);
    int64_t axis = scan_attr(node, "axis"), size = slot->tensor.size[axis], at[RANK_MAX];
    memcpy(at, index, sizeof at);
    double *row = arena_alloc(e->arena, (size_t)(size + 1) * sizeof *row);
    for (int64_t i = 0; i < size && !counts; i++) row[i] = scan_at(e, node, 0, at, axis, i);
    for (int64_t j = 0; j < keys->size[axis]; j++) {
        int64_t to = (int64_t)scan_at(e, node, !counts, at, axis, j);
        if (to < 0 || to >= size) continue;
        if (counts) {
            row[to]++;
            continue;
        }
        int64_t from = (int64_t)scan_at(e, node, 2, at, axis, j);
        const char *reduction = node->attr[op_attr_index(op_info(node->op), "reduction")].s;
        row[to] = eval_joined(reduction, slot->tensor.dtype, row[to],
                              scan_at(e, node, 3, at, axis, from));
    }
    for (int64_t i = 0; i < size; i++) {
        at[axis] = i;
        scan_put(slot, at, row[i]);
    }
}
