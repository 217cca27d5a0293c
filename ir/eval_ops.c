// Reductions, sums of products, windows and gathers of the reference evaluator.
#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <string.h>

static DType dtype_of(const Eval *e, ValueId value) {
    return graph_value(e->graph, value)->type.dtype;
}

// ---- reductions
// ------------------------------------------------------------------------------------

typedef struct Fold {
    OpId op;
    double value;
    int64_t best; // argmax, argmin
    bool some;
} Fold;

static bool is_better(OpId op, double candidate, double best) {
    if (isnan(best)) return false; // the first NaN stays
    if (isnan(candidate)) return true;
    return op == OP_ARGMAX ? candidate > best : candidate < best;
}

static void fold(Fold *f, DType dtype, double x, int64_t at) {
    bool whole = !dtype_is_float(dtype);
    switch (f->op) {
    case OP_SUM:
        f->value = whole ? number_wrap(dtype, (int64_t)(f->value + x)) : f->value + x;
        break;
    case OP_MEAN: f->value += x; break;
    case OP_PROD:
        f->value =
            whole
                ? number_wrap(dtype, (int64_t)((uint64_t)(int64_t)f->value * (uint64_t)(int64_t)x))
                : f->value * x;
        break;
    case OP_ANY: f->value = f->value != 0 || x != 0; break;
    case OP_ALL: f->value = f->value != 0 && x != 0; break;
    case OP_MAX:
        if (!f->some || isnan(x) || x > f->value) f->value = isnan(f->value) ? f->value : x;
        break;
    case OP_MIN:
        if (!f->some || isnan(x) || x < f->value) f->value = isnan(f->value) ? f->value : x;
        break;
    default:
        if (!f->some || is_better(f->op, x, f->value)) {
            f->value = x;
            f->best = at;
        }
        break;
    }
    f->some = true;
}

double eval_reduce(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    const Attr *axes = &node->attr[0];
    bool arg = node->op == OP_ARGMAX || node->op == OP_ARGMIN, keep = node->attr[1].i;
    bool reduced[RANK_MAX] = {false};
    Tensor range = {.rank = 0, .elements = 1}; // the reduced axes
    int64_t at[RANK_MAX], own[RANK_MAX] = {0};
    int from = 0;
    for (int i = 0; i < x->rank; i++) {
        reduced[i] = arg ? axes->i == i : !axes->present || attr_ints_has(axes, i);
        at[i] = reduced[i] ? 0 : index[keep ? i : from];
        if (!reduced[i]) from++;
        if (reduced[i]) {
            range.size[range.rank++] = x->size[i];
            range.elements *= x->size[i];
        }
    }
    DType dtype = arg ? dtype_of(e, node->operand[0]) : dtype_of(e, node->result[0]);
    Fold f = {.op = node->op, .value = node->op == OP_PROD || node->op == OP_ALL};
    for (int64_t n = 0; n < range.elements; n++) {
        int k = 0;
        for (int i = 0; i < x->rank; i++) {
            if (reduced[i]) at[i] = own[k++];
        }
        fold(&f, dtype, eval_at(e, node->operand[0], at), n);
        tensor_next(&range, own);
    }
    if (arg) return (double)f.best;
    return node->op == OP_MEAN ? f.value / (double)range.elements : f.value;
}

// ---- sums of products
// --------------------------------------------------------------------------------

// Integers are summed in 32 bits, floats in f64.
static double finish_sum(const Eval *e, const Node *node, double sum) {
    DType result = dtype_of(e, node->result[0]);
    if (dtype_is_int(result)) return number_wrap(result, (int64_t)sum);
    return sum;
}

// Modulo 2^32 in a double would lose bits: integer products are gathered in 64 bits.
typedef struct Sum {
    bool whole;
    double real;
    uint64_t bits;
} Sum;

static void add_product(Sum *sum, double a, double b) {
    if (sum->whole)
        sum->bits += (uint64_t)(int64_t)a * (uint64_t)(int64_t)b;
    else
        sum->real += a * b;
}

static double sum_value(const Eval *e, const Node *node, const Sum *sum) {
    if (!sum->whole) return sum->real;
    DType result = dtype_of(e, node->result[0]);
    return dtype_is_int(result) ? number_wrap(result, (int64_t)sum->bits)
                                : (double)(int32_t)(uint32_t)sum->bits;
}

static Sum start_sum(const Eval *e, ValueId operand) {
    return (Sum){.whole = dtype_is_int(dtype_of(e, operand))};
}

static double contract_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]), *y = eval_shape_of(e, node->operand[1]);
    int batch = (int)node->attr[0].i, k = (int)node->attr[1].i;
    int m = x->rank - batch - k, n = y->rank - batch - k;
    int64_t xi[RANK_MAX] = {0}, yi[RANK_MAX] = {0};
    Tensor range = {.rank = (uint8_t)k, .elements = 1};
    memcpy(xi, index, (size_t)(batch + m) * sizeof *xi);
    memcpy(yi, index, (size_t)batch * sizeof *yi);
    memcpy(yi + batch, index + batch + m, (size_t)n * sizeof *yi);
    for (int i = 0; i < k; i++) {
        range.size[i] = x->size[batch + m + i];
        range.elements *= range.size[i];
    }
    Sum sum = start_sum(e, node->operand[0]);
    const double *xd = eval_complete_data(e, node->operand[0]);
    const double *yd = eval_complete_data(e, node->operand[1]);
    if (xd && yd) { // the summed axes are the last: contiguous in both
        xd += range.elements ? tensor_offset(x, xi) : 0;
        yd += range.elements ? tensor_offset(y, yi) : 0;
        for (int64_t i = 0; i < range.elements; i++) add_product(&sum, xd[i], yd[i]);
        return sum_value(e, node, &sum);
    }
    for (int64_t i = 0; i < range.elements; i++) {
        add_product(&sum, eval_at(e, node->operand[0], xi), eval_at(e, node->operand[1], yi));
        tensor_next(&range, xi + batch + m);
        memcpy(yi + batch + n, xi + batch + m, (size_t)k * sizeof *yi);
    }
    return sum_value(e, node, &sum);
}

// Leading (batch) axes of an operand broadcast to those of the result.
static void batch_index(const Tensor *operand, int inner, const int64_t *index, int batch,
                        int64_t *own) {
    int axes = operand->rank - inner;
    for (int i = 0; i < axes; i++) {
        own[i] = operand->size[i] == 1 ? 0 : index[batch - axes + i];
    }
}

static double matmul_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]), *y = eval_shape_of(e, node->operand[1]);
    const Tensor *result = eval_shape_of(e, node->result[0]);
    bool row = x->rank == 1, column = y->rank == 1;
    int batch = result->rank - (row ? 0 : 1) - (column ? 0 : 1);
    int64_t xi[RANK_MAX] = {0}, yi[RANK_MAX] = {0};
    if (!row) {
        batch_index(x, 2, index, batch, xi);
        xi[x->rank - 2] = index[batch];
    }
    if (!column) {
        batch_index(y, 2, index, batch, yi);
        yi[y->rank - 1] = index[result->rank - 1];
    }
    int yk = column ? 0 : y->rank - 2;
    Sum sum = start_sum(e, node->operand[0]);
    for (int64_t k = 0; k < x->size[x->rank - 1]; k++) {
        xi[x->rank - 1] = k;
        yi[yk] = k;
        add_product(&sum, eval_at(e, node->operand[0], xi), eval_at(e, node->operand[1], yi));
    }
    return sum_value(e, node, &sum);
}

static double bias_at(Eval *e, const Node *node, int64_t channel) {
    if (node->operands < 3 || !node->operand[2]) return 0;
    return eval_at(e, node->operand[2], &channel);
}

static double linear_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int64_t xi[RANK_MAX], wi[2] = {index[x->rank - 1], 0};
    memcpy(xi, index, (size_t)x->rank * sizeof *xi);
    Sum sum = start_sum(e, node->operand[0]);
    for (int64_t k = 0; k < x->size[x->rank - 1]; k++) {
        xi[x->rank - 1] = wi[1] = k;
        add_product(&sum, eval_at(e, node->operand[0], xi), eval_at(e, node->operand[1], wi));
    }
    return finish_sum(e, node, sum_value(e, node, &sum) + bias_at(e, node, wi[0]));
}

double eval_contract(Eval *e, const Node *node, const int64_t *index) {
    switch (node->op) {
    case OP_CONTRACT: return contract_element(e, node, index);
    case OP_MATMUL: return matmul_element(e, node, index);
    case OP_GROUPED_MATMUL: return eval_grouped_matmul(e, node, index);
    default: return linear_element(e, node, index);
    }
}

// ---- windows
// -----------------------------------------------------------------------------------------

static double conv_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]), *w = eval_shape_of(e, node->operand[1]);
    const Attr *stride = &node->attr[0], *padding = &node->attr[1], *dilation = &node->attr[2];
    int64_t groups = node->attr[3].i, channels = w->size[1], per_group = w->size[0] / groups;
    int64_t xi[RANK_MAX] = {index[0]}, wi[RANK_MAX] = {index[1]};
    int axes = x->rank - 2;
    Tensor window = {.rank = (uint8_t)(axes + 1), .elements = 1};
    for (int i = 0; i <= axes; i++) {
        window.size[i] = w->size[i + 1];
        window.elements *= window.size[i];
    }
    Sum sum = start_sum(e, node->operand[0]);
    for (int64_t n = 0; n < window.elements; n++) {
        bool inside = true;
        xi[1] = index[1] / per_group * channels + wi[1];
        for (int i = 0; i < axes; i++) {
            Dim before, after;
            attr_pair_of(padding, (uint32_t)i, &before, &after);
            xi[i + 2] = index[i + 2] * attr_int_of(stride, (uint32_t)i) +
                        wi[i + 2] * attr_int_of(dilation, (uint32_t)i) - eval_dim(e, before);
            inside = inside && xi[i + 2] >= 0 && xi[i + 2] < x->size[i + 2];
        }
        if (inside) {
            add_product(&sum, eval_at(e, node->operand[0], xi), eval_at(e, node->operand[1], wi));
        }
        tensor_next(&window, wi + 1);
    }
    return finish_sum(e, node, sum_value(e, node, &sum) + bias_at(e, node, index[1]));
}

static double pool_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    bool max = node->op == OP_MAX_POOL2D;
    const Attr *kernel = &node->attr[0], *padding = &node->attr[2];
    const Attr *stride = node->attr[1].present ? &node->attr[1] : kernel;
    int64_t window[2], start[2], limit[2], counted = 0, at[4] = {index[0], index[1]};
    for (uint32_t i = 0; i < 2; i++) {
        Dim before, after;
        attr_pair_of(padding, i, &before, &after);
        window[i] = attr_int_of(kernel, i);
        start[i] = index[i + 2] * attr_int_of(stride, i) - eval_dim(e, before);
        limit[i] = x->size[i + 2] + eval_dim(e, after); // cells past it are not there
    }
    int64_t dilation[2] = {1, 1};
    if (max) {
        for (uint32_t i = 0; i < 2; i++) dilation[i] = attr_int_of(&node->attr[3], i);
    }
    bool include = max || node->attr[4].i;
    Fold f = {.op = max ? OP_MAX : OP_SUM};
    DType dtype = dtype_of(e, node->result[0]);
    for (int64_t r = 0; r < window[0]; r++) {
        for (int64_t s = 0; s < window[1]; s++) {
            at[2] = start[0] + r * dilation[0];
            at[3] = start[1] + s * dilation[1];
            bool inside = at[2] >= 0 && at[2] < x->size[2] && at[3] >= 0 && at[3] < x->size[3];
            if (at[2] < limit[0] && at[3] < limit[1] && (inside || include)) counted++;
            if (inside) fold(&f, dtype, eval_at(e, node->operand[0], at), 0);
        }
    }
    if (!max) return f.value / (double)counted;
    if (f.some) return f.value;
    return dtype_is_float(dtype) ? -(double)INFINITY : number_cast(dtype, -1e300);
}

static double adaptive_element(Eval *e, const Node *node, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]), *y = eval_shape_of(e, node->result[0]);
    int64_t lo[2], hi[2], at[4] = {index[0], index[1]};
    for (int i = 0; i < 2; i++) {
        int64_t size = x->size[i + 2], bins = y->size[i + 2];
        lo[i] = index[i + 2] * size / bins;
        hi[i] = ((index[i + 2] + 1) * size + bins - 1) / bins;
    }
    double sum = 0;
    for (at[2] = lo[0]; at[2] < hi[0]; at[2]++) {
        for (at[3] = lo[1]; at[3] < hi[1]; at[3]++) sum += eval_at(e, node->operand[0], at);
    }
    return sum / (double)((hi[0] - lo[0]) * (hi[1] - lo[1]));
}

double eval_window(Eval *e, const Node *node, const int64_t *index) {
    switch (node->op) {
    case OP_MAX_POOL2D:
    case OP_AVG_POOL2D: return pool_element(e, node, index);
    case OP_ADAPTIVE_AVG_POOL2D: return adaptive_element(e, node, index);
    case OP_CONV_TRANSPOSE1D:
    case OP_CONV_TRANSPOSE2D:
    case OP_CONV_TRANSPOSE3D: return eval_conv_transpose(e, node, index);
    case OP_INTERPOLATE: return eval_interpolate(e, node, index);
    default: return conv_element(e, node, index);
    }
}

// ---- gathers
// -------------------------------------------------------------------------------------------

double eval_gather(Eval *e, const Node *node, const int64_t *index) {
    int64_t at[RANK_MAX] = {0};
    if (node->op == OP_EMBEDDING) {
        const Tensor *ids = eval_shape_of(e, node->operand[0]);
        const Tensor *weight = eval_shape_of(e, node->operand[1]);
        at[0] = (int64_t)eval_at(e, node->operand[0], index);
        at[1] = index[ids->rank];
        return at[0] < 0 || at[0] >= weight->size[0] ? 0 : eval_at(e, node->operand[1], at);
    }
    if (node->op != OP_TAKE && node->op != OP_TAKE_ALONG_AXIS) return eval_index(e, node, index);
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    const Tensor *indices = eval_shape_of(e, node->operand[1]);
    int axis = (int)node->attr[0].i;
    if (node->op == OP_TAKE) {
        memcpy(at, index, (size_t)axis * sizeof *at);
        at[axis] = (int64_t)eval_at(e, node->operand[1], index + axis);
        memcpy(at + axis + 1, index + axis + indices->rank,
               (size_t)(x->rank - axis - 1) * sizeof *at);
    } else {
        memcpy(at, index, (size_t)x->rank * sizeof *at);
        at[axis] = (int64_t)eval_at(e, node->operand[1], index);
    }
    if (at[axis] < 0) at[axis] += x->size[axis];
    return at[axis] < 0 || at[axis] >= x->size[axis] ? 0 : eval_at(e, node->operand[0], at);
}
