// Moves and state updates of the reference evaluator: where each element of the result comes from.
#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <string.h>

static void delinearize(const Tensor *shape, int64_t at, int64_t *index) {
    for (int i = shape->rank; i-- > 0;) {
        index[i] = shape->size[i] ? at % shape->size[i] : 0;
        at = shape->size[i] ? at / shape->size[i] : 0;
    }
}

static double fill_value(Eval *e, const Attr *value, DType dtype) {
    double number = value->is_float  ? value->f
                    : value->is_size ? (double)eval_dim(e, value->size)
                                     : (double)value->i;
    return number_cast(dtype, number);
}

// The element of an axis that a border shows at `at`.
static int64_t inside(const char *mode, int64_t at, int64_t size) {
    if (strcmp(mode, "edge") == 0) return at < 0 ? 0 : at < size ? at : size - 1;
    if (strcmp(mode, "reflect") == 0) return at < 0 ? -at : at < size ? at : 2 * (size - 1) - at;
    return at;
}

static double triangle_element(Eval *e, const Node *node, const int64_t *index) {
    int rank = eval_shape_of(e, node->operand[0])->rank;
    int64_t above = index[rank - 1] - index[rank - 2] - eval_dim(e, node->attr[0].size);
    bool kept = node->op == OP_TRIL ? above <= 0 : above >= 0;
    return kept ? eval_at(e, node->operand[0], index) : 0;
}

static double pad_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int64_t own[RANK_MAX];
    for (int i = 0; i < x->rank; i++) {
        Dim before, after;
        attr_pair_of(&node->attr[0], (uint32_t)i, &before, &after);
        own[i] = inside(node->attr[2].s, index[i] - eval_dim(e, before), x->size[i]);
        if (own[i] < 0 || own[i] >= x->size[i]) return fill_value(e, &node->attr[1], x->dtype);
    }
    return eval_at(e, node->operand[0], own);
}

static double unfold_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int axis = (int)node->attr[0].i;
    int64_t own[RANK_MAX];
    memcpy(own, index, (size_t)axis * sizeof *own);
    own[axis] = index[axis + 1] * node->attr[3].i + index[axis] * node->attr[4].i -
                eval_dim(e, node->attr[5].size);
    memcpy(own + axis + 1, index + axis + 2, (size_t)(x->rank - axis - 1) * sizeof *own);
    if (own[axis] < 0 || own[axis] >= x->size[axis]) {
        return fill_value(e, &node->attr[6], x->dtype);
    }
    return eval_at(e, node->operand[0], own);
}

// Part of a concat or stack that an index on the joined axis falls into.
static double joined_element(Eval *e, const Node *node, const int64_t *index) {
    int axis = (int)node->attr[0].i;
    int64_t own[RANK_MAX];
    if (node->op == OP_STACK) {
        int rank = eval_shape_of(e, node->operand[0])->rank;
        memcpy(own, index, (size_t)axis * sizeof *own);
        memcpy(own + axis, index + axis + 1, (size_t)(rank - axis) * sizeof *own);
        return eval_at(e, node->operand[index[axis]], own);
    }
    memcpy(own, index, sizeof own);
    for (uint32_t i = 0; i < node->operands; i++) {
        int64_t size = eval_shape_of(e, node->operand[i])->size[axis];
        if (own[axis] < size) return eval_at(e, node->operand[i], own);
        own[axis] -= size;
    }
    return NAN;
}

static void simple_index(Eval *e, const Node *node, uint32_t result, const Tensor *x,
                         const int64_t *index, int64_t *own) {
    const Attr *a = node->attr;
    memcpy(own, index, RANK_MAX * sizeof *own);
    switch (node->op) {
    case OP_RESHAPE:
    case OP_FLATTEN:
        delinearize(x, tensor_offset(eval_shape_of(e, node->result[0]), index), own);
        break;
    case OP_BROADCAST_TO: {
        int extra = eval_shape_of(e, node->result[0])->rank - x->rank;
        for (int i = 0; i < x->rank; i++) own[i] = x->size[i] == 1 ? 0 : index[extra + i];
        break;
    }
    case OP_TRANSPOSE:
        own[a[0].i] = index[a[1].i];
        own[a[1].i] = index[a[0].i];
        break;
    case OP_PERMUTE_DIMS:
        for (int i = 0; i < x->rank; i++) own[a[0].ints.at[i]] = index[i];
        break;
    case OP_EXPAND_DIMS:
        for (int i = (int)a[0].i; i < x->rank; i++) own[i] = index[i + 1];
        break;
    case OP_SQUEEZE:
        for (int i = 0, from = 0; i < x->rank; i++) {
            own[i] = attr_ints_has(&a[0], i) ? 0 : index[from++];
        }
        break;
    case OP_FLIP:
        for (int i = 0; i < x->rank; i++) {
            if (attr_ints_has(&a[0], i)) own[i] = x->size[i] - 1 - index[i];
        }
        break;
    case OP_SPLIT:
        for (uint32_t i = 0; i < result; i++) own[a[1].i] += eval_dim(e, a[0].sizes.at[i]);
        break;
    case OP_TILE:
        for (int i = 0; i < x->rank; i++) own[i] = x->size[i] ? index[i] % x->size[i] : 0;
        break;
    case OP_ROLL: {
        int64_t size = x->size[a[1].i], at = (index[a[1].i] - eval_dim(e, a[0].size)) % size;
        own[a[1].i] = at < 0 ? at + size : at;
        break;
    }
    case OP_REPEAT_INTERLEAVE: own[a[1].i] /= eval_dim(e, a[0].size); break;
    case OP_SLICE:
        for (int i = 0; i < x->rank; i++) {
            own[i] = eval_dim(e, a[0].sizes.at[i]) + index[i] * attr_int_of(&a[2], (uint32_t)i);
        }
        break;
    default: eval_fail(e, "%s is not evaluated", op_info(node->op)->name); break;
    }
}

double eval_move(Eval *e, const Node *node, uint32_t result, const int64_t *index) {
    int64_t own[RANK_MAX];
    switch (node->op) {
    case OP_PAD: return pad_element(e, node, index);
    case OP_TRIL:
    case OP_TRIU: return triangle_element(e, node, index);
    case OP_UNFOLD: return unfold_element(e, node, index);
    case OP_CONCAT:
    case OP_STACK: return joined_element(e, node, index);
    default: break;
    }
    simple_index(e, node, result, eval_shape_of(e, node->operand[0]), index, own);
    return e->failed ? (double)NAN : eval_at(e, node->operand[0], own);
}

double eval_update(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *state = eval_shape_of(e, node->operand[0]);
    const Tensor *value = eval_shape_of(e, node->operand[1]);
    int64_t own[RANK_MAX] = {0};
    for (int i = 0; i < state->rank; i++) {
        int64_t start = eval_dim(e, node->attr[0].sizes.at[i]);
        int64_t stop = eval_dim(e, node->attr[1].sizes.at[i]);
        int64_t step = attr_int_of(&node->attr[2], (uint32_t)i), offset = index[i] - start;
        if (offset < 0 || index[i] >= stop || offset % step) {
            return eval_at(e, node->operand[0], index);
        }
        int axis = i - (state->rank - value->rank);
        if (axis >= 0) own[axis] = value->size[axis] == 1 ? 0 : offset / step;
    }
    return number_cast(state->dtype, eval_at(e, node->operand[1], own));
}
