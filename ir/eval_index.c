// Ops of the reference evaluator that order, count and scatter.
#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static DType dtype_of(const Eval *e, ValueId value) {
    return graph_value(e->graph, value)->type.dtype;
}

// ---- order
// ---------------------------------------------------------------------------------------------

typedef struct Ranked {
    double value;
    int64_t index;
    bool descending;
} Ranked;

// NaN is largest.
static bool is_less(double a, double b) {
    return isnan(b) ? !isnan(a) : a < b;
}

static int compare(const void *left, const void *right) {
    const Ranked *a = left, *b = right;
    bool less = is_less(a->value, b->value), more = is_less(b->value, a->value);
    if (less || more) return (a->descending ? more : less) ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

void eval_sort_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    bool topk = node->op == OP_TOPK;
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int64_t axis = node->attr[topk].i, count = x->size[axis], at[RANK_MAX];
    bool indices = node->op == OP_ARGSORT || (topk && slot == &e->slot[node->result[1]]);
    Ranked *row = arena_alloc(e->arena, (size_t)count * sizeof *row);
    memcpy(at, index, sizeof at);
    for (at[axis] = 0; at[axis] < count; at[axis]++)
        row[at[axis]] =
            (Ranked){eval_at(e, node->operand[0], at), at[axis], topk || node->attr[1].i};
    if (count) qsort(row, (size_t)count, sizeof *row, compare);
    for (at[axis] = 0; at[axis] < slot->tensor.size[axis]; at[axis]++) {
        const Ranked *from = &row[at[axis]];
        int64_t place = tensor_offset(&slot->tensor, at);
        slot->tensor.data[place] = indices ? (double)from->index : from->value;
        slot->have[place] = 1;
    }
}

// ---- counting
// ------------------------------------------------------------------------------------------

static double bincount_element(Eval *e, const Node *node, int64_t number) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int64_t at[RANK_MAX] = {0}, count = 0;
    for (int64_t i = 0; i < x->elements; i++) {
        count += (int64_t)eval_at(e, node->operand[0], at) == number;
        tensor_next(x, at);
    }
    return number_wrap(DT_I32, count);
}

// ---- scatter
// -------------------------------------------------------------------------------------------

double eval_joined(const char *reduction, DType dtype, double x, double update) {
    bool whole = !dtype_is_float(dtype);
    switch (reduction[1]) {
    case 'd': return whole ? number_wrap(dtype, (int64_t)(x + update)) : x + update;
    case 'u':
        if (!whole) return x * update;
        return number_wrap(dtype, (int64_t)((uint64_t)(int64_t)x * (uint64_t)(int64_t)update));
    case 'i': return isnan(x) || x < update ? x : update;
    case 'a': return isnan(x) || x > update ? x : update;
    default: return update;
    }
}

// Where element `at` of the updates goes; false: nowhere.
static bool target_of(Eval *e, const Node *node, const int64_t *at, int64_t *to) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    const Tensor *indices = eval_shape_of(e, node->operand[1]);
    if (node->op == OP_SCATTER_ELEMENTS) {
        int64_t axis = node->attr[0].i;
        memcpy(to, at, RANK_MAX * sizeof *to);
        to[axis] = (int64_t)eval_at(e, node->operand[1], at);
        if (to[axis] < 0) to[axis] += x->size[axis];
        return to[axis] >= 0 && to[axis] < x->size[axis];
    }
    int lead = indices->rank - 1, depth = (int)indices->size[lead];
    int64_t place[RANK_MAX] = {0};
    memcpy(place, at, (size_t)lead * sizeof *place);
    for (int i = 0; i < depth; i++) {
        place[lead] = i;
        to[i] = (int64_t)eval_at(e, node->operand[1], place);
        if (to[i] < 0) to[i] += x->size[i];
        if (to[i] < 0 || to[i] >= x->size[i]) return false;
    }
    memcpy(to + depth, at + lead, (size_t)(x->rank - depth) * sizeof *to);
    return true;
}

static double scatter_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    const Tensor *updates = eval_shape_of(e, node->operand[2]);
    const char *reduction = node->attr[node->op == OP_SCATTER_ELEMENTS].s;
    double value = eval_at(e, node->operand[0], index);
    int64_t at[RANK_MAX] = {0}, to[RANK_MAX];
    for (int64_t i = 0; i < updates->elements; i++) {
        if (target_of(e, node, at, to) && memcmp(to, index, x->rank * sizeof *to) == 0)
            value = eval_joined(reduction, x->dtype, value, eval_at(e, node->operand[2], at));
        tensor_next(updates, at);
    }
    return value;
}

double eval_index(Eval *e, const Node *node, const int64_t *index) {
    if (node->op == OP_BINCOUNT) return bincount_element(e, node, index[0]);
    if (node->op != OP_ONE_HOT) return scatter_element(e, node, index);
    int rank = eval_shape_of(e, node->operand[0])->rank;
    DType dtype = dtype_of(e, node->result[0]);
    return number_cast(dtype, (int64_t)eval_at(e, node->operand[0], index) == index[rank]);
}
