// Transposed convolution, interpolation, products by group and quantisation of the reference
// evaluator.
#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <string.h>

static double optional_at(Eval *e, const Node *node, uint32_t operand, const int64_t *index) {
    if (operand >= node->operands || !node->operand[operand]) return 0;
    return eval_at(e, node->operand[operand], index);
}

double eval_conv_transpose(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]), *w = eval_shape_of(e, node->operand[1]);
    int64_t channels = x->size[1] / node->attr[3].i, group = index[1] / w->size[1];
    int64_t xi[4] = {index[0]}, wi[4] = {0, index[1] % w->size[1]};
    double sum = optional_at(e, node, 2, &index[1]);
    for (int64_t n = 0; n < channels * w->size[2] * w->size[3]; n++) {
        wi[3] = n % w->size[3];
        wi[2] = n / w->size[3] % w->size[2];
        xi[1] = wi[0] = group * channels + n / (w->size[2] * w->size[3]);
        bool inside = true;
        for (uint32_t i = 0; i < 2; i++) {
            Dim before, after;
            attr_pair_of(&node->attr[1], i, &before, &after);
            int64_t stride = attr_int_of(&node->attr[0], i);
            int64_t at =
                index[2 + i] + eval_dim(e, before) - wi[2 + i] * attr_int_of(&node->attr[4], i);
            xi[2 + i] = at / stride;
            inside = inside && at >= 0 && at % stride == 0 && xi[2 + i] < x->size[2 + i];
        }
        if (inside) sum += eval_at(e, node->operand[0], xi) * eval_at(e, node->operand[1], wi);
    }
    return sum;
}

// The two pixels of one axis that a result lies between, and how far it is from the first.
static double between(const Node *node, int64_t i, int64_t from, int64_t to, int64_t pixel[2]) {
    double at = ((double)i + 0.5) * (double)from / (double)to - 0.5;
    if (node->attr[2].i) at = to > 1 ? (double)(i * (from - 1)) / (double)(to - 1) : 0;
    at = fmin(fmax(at, 0), (double)(from - 1));
    pixel[0] = (int64_t)at;
    pixel[1] = pixel[0] + 1 < from ? pixel[0] + 1 : pixel[0];
    return at - (double)pixel[0];
}

double eval_interpolate(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]), *y = eval_shape_of(e, node->result[0]);
    int64_t at[4] = {index[0], index[1]}, pixel[2][2];
    if (strcmp(node->attr[1].s, "nearest") == 0) {
        for (int i = 2; i < 4; i++) at[i] = index[i] * x->size[i] / y->size[i];
        return eval_at(e, node->operand[0], at);
    }
    double share[2], sum = 0;
    for (int i = 0; i < 2; i++)
        share[i] = between(node, index[2 + i], x->size[2 + i], y->size[2 + i], pixel[i]);
    for (int corner = 0; corner < 4; corner++) {
        at[2] = pixel[0][corner / 2], at[3] = pixel[1][corner % 2];
        double row = corner / 2 ? share[0] : 1 - share[0];
        double column = corner % 2 ? share[1] : 1 - share[1];
        sum += row * column * eval_at(e, node->operand[0], at);
    }
    return sum;
}

double eval_grouped_matmul(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *w = eval_shape_of(e, node->operand[1]);
    int64_t group = 0, wi[3] = {0, index[1]}, xi[2] = {index[0]};
    while (group < w->size[0] && index[0] >= (int64_t)eval_at(e, node->operand[2], &group)) group++;
    if (group == w->size[0]) return 0;
    wi[0] = group;
    double sum = optional_at(e, node, 3, wi);
    for (; wi[2] < w->size[2]; wi[2]++) {
        xi[1] = wi[2];
        sum += eval_at(e, node->operand[0], xi) * eval_at(e, node->operand[1], wi);
    }
    DType dtype = graph_value(e->graph, node->result[0])->type.dtype;
    return dtype_is_int(dtype) ? number_wrap(dtype, (int64_t)sum) : sum;
}

double eval_quantize(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *scale = eval_shape_of(e, node->operand[1]);
    int64_t axis = node->attr[0].i, block = node->attr[1].i, at[RANK_MAX] = {0};
    if (block) {
        memcpy(at, index, sizeof at);
        at[axis] /= block;
    } else if (scale->rank) {
        at[0] = index[axis];
    }
    double x = eval_at(e, node->operand[0], index), by = eval_at(e, node->operand[1], at);
    double zero = optional_at(e, node, 2, at);
    if (node->op == OP_DEQUANTIZE_LINEAR) return (x - zero) * by;
    DType dtype = graph_value(e->graph, node->result[0])->type.dtype;
    return number_cast(dtype, nearbyint((double)((float)x / (float)by)) + zero);
}
