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
    int64_t xi[RANK_MAX] = {index[0]}, wi[RANK_MAX] = {0, index[1] % w->size[1]};
    uint32_t spatial = x->rank - 2u;
    Tensor window = {.rank = (uint8_t)spatial, .elements = 1};
    for (uint32_t i = 0; i < spatial; i++) {
        window.size[i] = w->size[2 + i];
        window.elements *= window.size[i];
    }
    double sum = optional_at(e, node, 2, &index[1]);
    for (int64_t n = 0; n < channels * window.elements; n++) {
        xi[1] = wi[0] = group * channels + n / window.elements;
        bool inside = true;
        for (uint32_t i = 0; i < spatial; i++) {
            Dim before, after;
            attr_pair_of(&node->attr[1], i, &before, &after);
            int64_t stride = attr_int_of(&node->attr[0], i);
            int64_t at =
                index[2 + i] + eval_dim(e, before) - wi[2 + i] * attr_int_of(&node->attr[4], i);
            xi[2 + i] = at / stride;
            inside = inside && at >= 0 && at % stride == 0 && xi[2 + i] < x->size[2 + i];
        }
        if (inside) sum += eval_at(e, node->operand[0], xi) * eval_at(e, node->operand[1], wi);
        tensor_next(&window, wi + 2);
    }
    return sum;
}

// Where on an axis a result is, as a fraction of integers.
typedef struct Place {
    int64_t over, under;
} Place;

static Place resampled(const Node *node, int64_t i, int64_t from, int64_t to) {
    bool nearest = strcmp(node->attr[1].s, "nearest") == 0;
    const char *word = node->attr[3].s;
    if (node->attr[2].i || strcmp(word, "align_corners") == 0)
        return to > 1 ? (Place){i * (from - 1), to - 1} : (Place){0, 1};
    bool plain = strcmp(word, "asymmetric") == 0 || (nearest && strcmp(word, "default") == 0);
    if (plain) return (Place){i * from, to};
    if (to == 1 && strcmp(word, "pytorch_half_pixel") == 0) return (Place){0, 1};
    return (Place){(2 * i + 1) * from - to, 2 * to};
}

static int64_t rounded(const char *how, Place at) {
    if (strcmp(how, "floor") == 0) return floor_div(at.over, at.under);
    if (strcmp(how, "ceil") == 0) return -floor_div(-at.over, at.under);
    if (strcmp(how, "prefer_ceil") == 0) return floor_div(2 * at.over + at.under, 2 * at.under);
    return -floor_div(at.under - 2 * at.over, 2 * at.under);
}

// The pixels of one axis that a result is made of, and their weights.
typedef struct Taps {
    int count;
    int64_t pixel[4];
    double weight[4];
} Taps;

static double cubic(double a, double x) { // Keys, 1981
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static Taps taps(const Node *node, int64_t i, int64_t from, int64_t to) {
    const char *mode = node->attr[1].s;
    Place at = resampled(node, i, from, to);
    Taps t = {.count = strcmp(mode, "nearest") == 0 ? 1 : strcmp(mode, "bilinear") == 0 ? 2 : 4};
    int64_t low = floor_div(at.over, at.under);
    double share = (double)(at.over - low * at.under) / (double)at.under, sum = 0;
    if (t.count == 1) low = rounded(node->attr[4].s, at);
    for (int k = 0; k < t.count; k++) {
        int64_t pixel = low + k - (t.count == 4);
        bool outside = pixel < 0 || pixel >= from;
        t.weight[k] = t.count == 1   ? 1
                      : t.count == 2 ? (k ? share : 1 - share)
                                     : cubic(node->attr[5].f, share - (k - 1));
        if (t.count == 4 && outside && node->attr[6].i) t.weight[k] = 0;
        t.pixel[k] = pixel < 0 ? 0 : pixel >= from ? from - 1 : pixel;
        sum += t.weight[k];
    }
    for (int k = 0; t.count == 4 && node->attr[6].i && k < 4; k++) t.weight[k] /= sum;
    return t;
}

double eval_interpolate(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]), *y = eval_shape_of(e, node->result[0]);
    int64_t at[4] = {index[0], index[1]};
    Taps row = taps(node, index[2], x->size[2], y->size[2]);
    Taps column = taps(node, index[3], x->size[3], y->size[3]);
    if (row.count == 1) { // any value as it is, infinite ones too
        at[2] = row.pixel[0], at[3] = column.pixel[0];
        return eval_at(e, node->operand[0], at);
    }
    double sum = 0;
    for (int r = 0; r < row.count; r++)
        for (int c = 0; c < column.count; c++) {
            at[2] = row.pixel[r], at[3] = column.pixel[c];
            sum += row.weight[r] * column.weight[c] * eval_at(e, node->operand[0], at);
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
