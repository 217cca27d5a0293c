// Ops whose elements depend on each other along a row: softmax, norms, attention.
// Each computes the whole row that an index lies in.
#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <string.h>

static void put(Eval *e, EvalSlot *slot, const int64_t *index, double value) {
    int64_t at = tensor_offset(&slot->tensor, index);
    if (e->options.strict_rounding && dtype_is_float(slot->tensor.dtype)) {
        value = number_cast(slot->tensor.dtype, value);
    }
    slot->tensor.data[at] = value;
    slot->have[at] = 1;
}

// The axes [first, last) of x vary, the others are fixed at `index`.
typedef struct Span1 {
    Tensor range;
    int first;
} Span1;

static Span1 row_axes(const Tensor *x, int first, int last) {
    Span1 s = {.range = {.rank = (uint8_t)(last - first), .elements = 1}, .first = first};
    for (int i = first; i < last; i++) {
        s.range.size[i - first] = x->size[i];
        s.range.elements *= x->size[i];
    }
    return s;
}

static double *gather_row(Eval *e, ValueId x, const Span1 *s, const int64_t *index) {
    double *row = arena_alloc(e->arena, (size_t)s->range.elements * sizeof *row);
    int64_t at[RANK_MAX];
    memcpy(at, index, sizeof at);
    memset(at + s->first, 0, (size_t)s->range.rank * sizeof *at);
    for (int64_t i = 0; i < s->range.elements; i++) {
        row[i] = eval_at(e, x, at);
        tensor_next(&s->range, at + s->first);
    }
    return row;
}

static void softmax_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    int axis = (int)node->attr[0].i;
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    Span1 s = row_axes(x, axis, axis + 1);
    double *row = gather_row(e, node->operand[0], &s, index), max = -INFINITY, sum = 0;
    int64_t at[RANK_MAX];
    memcpy(at, index, sizeof at);
    for (int64_t i = 0; i < s.range.elements; i++) {
        max = isnan(row[i]) || row[i] > max ? row[i] : max;
        if (isnan(max)) break;
    }
    for (int64_t i = 0; i < s.range.elements; i++) sum += exp(row[i] - max);
    for (int64_t i = 0; i < s.range.elements; i++) {
        at[axis] = i;
        double shifted = row[i] - max;
        put(e, slot, at, node->op == OP_SOFTMAX ? exp(shifted) / sum : shifted - log(sum));
    }
}

static double optional_at(Eval *e, const Node *node, uint32_t operand, const int64_t *index,
                          double otherwise) {
    if (operand >= node->operands || !node->operand[operand]) return otherwise;
    return eval_at(e, node->operand[operand], index);
}

static double mean_of(const double *row, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += row[i];
    return sum / (double)count;
}

static double mean_square(const double *row, int64_t count, double center) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (row[i] - center) * (row[i] - center);
    return sum / (double)count;
}

static void norm_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int axis = (int)node->attr[0].i;
    double eps = node->attr[1].f;
    Span1 s = row_axes(x, axis, x->rank);
    double *row = gather_row(e, node->operand[0], &s, index);
    double mean = node->op == OP_LAYER_NORM ? mean_of(row, s.range.elements) : 0;
    double scale = 1 / sqrt(mean_square(row, s.range.elements, mean) + eps);
    int64_t at[RANK_MAX];
    memcpy(at, index, sizeof at);
    memset(at + axis, 0, (size_t)s.range.rank * sizeof *at);
    for (int64_t i = 0; i < s.range.elements; i++) {
        double weight = optional_at(e, node, 1, at + axis, 1);
        double bias = node->op == OP_LAYER_NORM ? optional_at(e, node, 2, at + axis, 0) : 0;
        put(e, slot, at, (row[i] - mean) * scale * weight + bias);
        tensor_next(&s.range, at + axis);
    }
}

static void group_norm_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int64_t channels = x->size[1] / node->attr[0].i, group = index[1] / channels;
    Span1 s = row_axes(x, 1, x->rank);
    s.range.elements = s.range.elements / x->size[1] * channels;
    s.range.size[0] = channels;
    int64_t at[RANK_MAX], inner[RANK_MAX] = {0};
    double *row = arena_alloc(e->arena, (size_t)s.range.elements * sizeof *row);
    for (int pass = 0; pass < 2; pass++) {
        double mean = pass ? mean_of(row, s.range.elements) : 0;
        double scale =
            pass ? 1 / sqrt(mean_square(row, s.range.elements, mean) + node->attr[1].f) : 0;
        memset(inner, 0, sizeof inner);
        for (int64_t i = 0; i < s.range.elements; i++) {
            at[0] = index[0];
            memcpy(at + 1, inner, (size_t)(x->rank - 1) * sizeof *at);
            at[1] += group * channels;
            if (pass) {
                put(e, slot, at,
                    (row[i] - mean) * scale * optional_at(e, node, 1, at + 1, 1) +
                        optional_at(e, node, 2, at + 1, 0));
            } else {
                row[i] = eval_at(e, node->operand[0], at);
            }
            tensor_next(&s.range, inner);
        }
    }
}

static void batch_norm_element(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    const int64_t *channel = index + 1;
    double x = eval_at(e, node->operand[0], index), mean = eval_at(e, node->operand[1], channel);
    double scale = 1 / sqrt(eval_at(e, node->operand[2], channel) + node->attr[0].f);
    put(e, slot, index,
        (x - mean) * scale * optional_at(e, node, 3, channel, 1) +
            optional_at(e, node, 4, channel, 0));
}

static void rotary_element(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int64_t size = node->attr[1].present ? node->attr[1].i : x->size[3], half = size / 2;
    int64_t j = index[3], at[RANK_MAX], table[2] = {index[2], 0};
    if (j >= size) {
        put(e, slot, index, eval_at(e, node->operand[0], index));
        return;
    }
    bool interleaved = node->attr[0].i, second = interleaved ? j % 2 : j >= half;
    int64_t pair = interleaved ? j / 2 : j % half;
    memcpy(at, index, sizeof at);
    at[3] = interleaved ? 2 * pair : pair;
    double a = eval_at(e, node->operand[0], at);
    at[3] = interleaved ? 2 * pair + 1 : pair + half;
    double b = eval_at(e, node->operand[0], at);
    table[1] = pair;
    double c = eval_at(e, node->operand[1], table), s = eval_at(e, node->operand[2], table);
    put(e, slot, index, second ? b * c + a * s : a * c - b * s);
}

// Score of one key, or -inf where it is masked.
static double attention_score(Eval *e, const Node *node, const int64_t *q, const int64_t *k,
                              double scale, int64_t lengths[2]) {
    const Tensor *query = eval_shape_of(e, node->operand[0]);
    int rank = query->rank;
    int64_t qi[RANK_MAX], ki[RANK_MAX], mi[RANK_MAX];
    memcpy(qi, q, sizeof qi);
    memcpy(ki, k, sizeof ki);
    int64_t ahead = k[rank - 2] - (q[rank - 2] + lengths[1] - lengths[0]);
    bool windowed = node->attr[4].present;
    if (node->attr[0].i && ahead > 0) return -INFINITY;
    if (windowed && (ahead >= node->attr[4].i || -ahead >= node->attr[4].i)) return -INFINITY;
    double score = 0;
    for (int64_t d = 0; d < query->size[rank - 1]; d++) {
        qi[rank - 1] = ki[rank - 1] = d;
        score += eval_at(e, node->operand[0], qi) * eval_at(e, node->operand[1], ki);
    }
    score *= scale;
    if (node->attr[3].present) score = node->attr[3].f * tanh(score / node->attr[3].f);
    if (node->operands < 4 || !node->operand[3]) return score;
    const Tensor *mask = eval_shape_of(e, node->operand[3]);
    memcpy(mi, q, sizeof mi);
    mi[rank - 1] = k[rank - 2];
    for (int i = 0; i < mask->rank; i++) {
        int64_t at = mi[rank - mask->rank + i];
        ki[i] = mask->size[i] == 1 ? 0 : at;
    }
    double bias = eval_at(e, node->operand[3], ki);
    if (mask->dtype == DT_BOOL) return bias != 0 ? score : -INFINITY;
    return score + bias;
}

static void attention_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    const Tensor *q = eval_shape_of(e, node->operand[0]), *k = eval_shape_of(e, node->operand[1]);
    const Tensor *v = eval_shape_of(e, node->operand[2]);
    int rank = q->rank;
    int64_t lengths[2] = {q->size[rank - 2], k->size[rank - 2]}, ki[RANK_MAX], at[RANK_MAX];
    double scale = node->attr[1].present ? node->attr[1].f : 1 / sqrt((double)q->size[rank - 1]);
    double *p = arena_alloc(e->arena, (size_t)lengths[1] * sizeof *p), max = -INFINITY, sum = 0;
    memcpy(ki, index, sizeof ki);
    if (rank > 2) ki[rank - 3] = index[rank - 3] / (q->size[rank - 3] / k->size[rank - 3]);
    for (int64_t j = 0; j < lengths[1]; j++) {
        ki[rank - 2] = j;
        p[j] = attention_score(e, node, index, ki, scale, lengths);
        if (isnan(p[j]) || p[j] > max) max = p[j];
    }
    for (int64_t j = 0; j < lengths[1]; j++) {
        p[j] = max == -INFINITY ? 0 : exp(p[j] - max);
        sum += p[j];
    }
    memcpy(at, index, sizeof at);
    for (int64_t d = 0; d < v->size[rank - 1]; d++) {
        double out = 0;
        for (int64_t j = 0; j < lengths[1] && max != -INFINITY; j++) {
            ki[rank - 2] = j;
            ki[rank - 1] = d;
            out += p[j] / sum * eval_at(e, node->operand[2], ki);
        }
        at[rank - 1] = d;
        put(e, slot, at, out);
    }
}

void eval_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot) {
    switch (node->op) {
    case OP_SOFTMAX:
    case OP_LOG_SOFTMAX: softmax_row(e, node, index, slot); break;
    case OP_CUMSUM:
    case OP_PREFIX_SUM: eval_sum_row(e, node, index, slot); break;
    case OP_SORT_BLOCKS:
    case OP_MERGE_BLOCKS: eval_order_row(e, node, index, slot); break;
    case OP_SEGMENTS:
    case OP_COUNTS: eval_segment_row(e, node, index, slot); break;
    case OP_LAYER_NORM:
    case OP_RMS_NORM: norm_row(e, node, index, slot); break;
    case OP_GROUP_NORM: group_norm_row(e, node, index, slot); break;
    case OP_BATCH_NORM: batch_norm_element(e, node, index, slot); break;
    case OP_SORT:
    case OP_ARGSORT:
    case OP_TOPK: eval_sort_row(e, node, index, slot); break;
    case OP_QUANTIZE_LINEAR:
    case OP_DEQUANTIZE_LINEAR: put(e, slot, index, eval_quantize(e, node, index)); break;
    case OP_ROTARY_EMBEDDING: rotary_element(e, node, index, slot); break;
    case OP_ATTENTION: attention_row(e, node, index, slot); break;
    default:
        eval_fail(e, "%s is not evaluated", op_info(node->op)->name);
        put(e, slot, index, NAN);
        break;
    }
}
