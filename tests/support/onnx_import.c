// How each ONNX op is said with ours.
#include "tests/support/onnx_map.h"

#include <math.h>
#include <string.h>

void onnx_bind(OnnxImport *import, const char *name, ValueId value, const Tensor *known) {
    OnnxBinding binding = {name, value, known};
    vec_push(import->graph->arena, &import->bindings, binding);
}

const OnnxBinding *onnx_find(const OnnxImport *import, const char *name) {
    for (uint32_t i = import->bindings.len; i-- > 0;) {
        if (!strcmp(import->bindings.at[i].name, name)) return &import->bindings.at[i];
    }
    return NULL;
}

ValueId onnx_refuse(OnnxMap *m, OnnxStatus status, const char *why) {
    if (m->status == ONNX_OK) {
        m->status = status;
        m->import->why = why;
    }
    return 0;
}

ValueId onnx_input(OnnxMap *m, uint32_t index) { // 0: absent
    if (index >= m->node->inputs.len || !*m->node->inputs.at[index]) return 0;
    const OnnxBinding *b = onnx_find(m->import, m->node->inputs.at[index]);
    return b ? b->value : onnx_refuse(m, ONNX_NOT_OURS, "an input of unsupported type");
}

const Tensor *onnx_known(OnnxMap *m, uint32_t index) {
    if (index >= m->node->inputs.len) return NULL;
    const OnnxBinding *b = onnx_find(m->import, m->node->inputs.at[index]);
    return b ? b->known : NULL;
}

const Type *onnx_type(OnnxMap *m, ValueId value) {
    return &graph_value(m->import->graph, value)->type;
}

static NodeId add(OnnxMap *m, OpId op, uint32_t operands, const ValueId *operand,
                  const Attr *attr) {
    if (m->status != ONNX_OK) return 0;
    Attr attrs[OP_ATTRS_MAX];
    Graph *g = m->import->graph;
    op_attr_defaults(g->dims, g->arena, op_info(op), attrs);
    for (int i = 0; attr && i < op_info(op)->attrs; i++) {
        if (attr[i].present) attrs[i] = attr[i];
    }
    if (op_info(op)->later)
        return (NodeId)onnx_refuse(m, ONNX_NOT_OURS, "an op that is not supported yet");
    NodeId node =
        graph_add(g, m->import->diags,
                  &(NodeSpec){.op = op, .operand = operand, .operands = operands, .attr = attrs});
    if (!node) onnx_refuse(m, ONNX_REFUSED, "a type that the op does not take");
    return node;
}

ValueId onnx_apply(OnnxMap *m, OpId op, uint32_t operands, const ValueId *operand,
                   const Attr *attr) {
    NodeId node = add(m, op, operands, operand, attr);
    return node ? graph_result(m->import->graph, node, 0) : 0;
}

void onnx_result(OnnxMap *m, uint32_t index, ValueId value) {
    if (value && index < m->node->outputs.len) {
        onnx_bind(m->import, m->node->outputs.at[index], value, NULL);
    }
}

int64_t onnx_int(OnnxMap *m, const char *name, int64_t otherwise) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    return a ? a->i : otherwise;
}

double onnx_float(OnnxMap *m, const char *name, double otherwise) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    return a ? a->f : otherwise;
}

const char *onnx_string(OnnxMap *m, const char *name, const char *otherwise) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    return a && a->s ? a->s : otherwise;
}

Attr onnx_ints(OnnxMap *m, const int64_t *values, uint32_t count) {
    int64_t *copy = arena_alloc(m->import->graph->arena, count * sizeof *copy);
    if (count) memcpy(copy, values, count * sizeof *copy);
    return attr_ints(copy, count);
}

Attr onnx_sizes(OnnxMap *m, const int64_t *values, uint32_t count) {
    Graph *g = m->import->graph;
    Dim *sizes = arena_alloc(g->arena, count * sizeof *sizes);
    for (uint32_t i = 0; i < count; i++) sizes[i] = dim_const(g->dims, values[i]);
    return attr_sizes(sizes, count);
}

// Integers of a known input, or of an attribute. False if neither is there.
bool onnx_ints_of(OnnxMap *m, uint32_t index, const char *attr, int64_t out[64], uint32_t *count) {
    const Tensor *t = onnx_known(m, index);
    const OnnxAttr *a = onnx_attr(m->node, attr);
    *count = 0;
    if (t && t->elements <= 64) {
        for (int64_t i = 0; i < t->elements; i++) out[(*count)++] = (int64_t)t->data[i];
        return true;
    }
    for (uint32_t i = 0; a && i < a->int_count && i < 64; i++) out[(*count)++] = a->ints[i];
    return a != NULL;
}

int64_t onnx_size(OnnxMap *m, ValueId value, int axis) {
    int64_t size = 0;
    dim_is_const(m->import->graph->dims, onnx_type(m, value)->size[axis], &size);
    return size;
}

static ValueId full(OnnxMap *m, DType dtype, double value) {
    Attr attrs[3] = {onnx_sizes(m, NULL, 0),
                     dtype_is_float(dtype) ? attr_float(value) : attr_int((int64_t)value),
                     attr_dtype(dtype)};
    return onnx_apply(m, OP_FULL, 0, NULL, attrs);
}

// ---- handlers
// ------------------------------------------------------------------------------------

static void map_plain(OnnxMap *m, OpId op) { // operands one to one, no attributes
    ValueId operand[8];
    uint32_t count = m->node->inputs.len < 8 ? m->node->inputs.len : 8;
    for (uint32_t i = 0; i < count; i++) operand[i] = onnx_input(m, i);
    onnx_result(m, 0, onnx_apply(m, op, count, operand, NULL));
}

static void map_fold(OnnxMap *m, OpId op) { // variadic Max, Min, Sum
    ValueId value = onnx_input(m, 0);
    for (uint32_t i = 1; i < m->node->inputs.len; i++) {
        value = onnx_apply(m, op, 2, (ValueId[]){value, onnx_input(m, i)}, NULL);
    }
    onnx_result(m, 0, value);
}

static void map_mod(OnnxMap *m, OpId op) {
    if (onnx_int(m, "fmod", 0)) onnx_refuse(m, ONNX_NOT_OURS, "fmod");
    map_plain(m, op);
}

static void map_div(OnnxMap *m, OpId op) { // integers divide toward zero there
    ValueId x = onnx_input(m, 0);
    if (x && !dtype_is_float(onnx_type(m, x)->dtype))
        onnx_refuse(m, ONNX_NOT_OURS, "integer division");
    map_plain(m, op);
}

static void map_alpha(OnnxMap *m, OpId op) { // one float attribute
    double defaults = op == OP_ELU ? 1.0 : 0.01;
    onnx_result(m, 0,
                onnx_apply(m, op, 1, (ValueId[]){onnx_input(m, 0)},
                           (Attr[]){attr_float(onnx_float(m, "alpha", defaults))}));
}

static void map_hardsigmoid(OnnxMap *m, OpId op) {
    double alpha = onnx_float(m, "alpha", 0.2), beta = onnx_float(m, "beta", 0.5);
    ValueId x = onnx_input(m, 0);
    (void)op;
    if (!x) return;
    DType dtype = onnx_type(m, x)->dtype;
    x = onnx_apply(m, OP_MULTIPLY, 2, (ValueId[]){x, full(m, dtype, alpha)}, NULL);
    x = onnx_apply(m, OP_ADD, 2, (ValueId[]){x, full(m, dtype, beta)}, NULL);
    onnx_result(
        m, 0,
        onnx_apply(m, OP_CLIP, 3, (ValueId[]){x, full(m, dtype, 0), full(m, dtype, 1)}, NULL));
}

static void map_gelu(OnnxMap *m, OpId op) {
    onnx_result(m, 0,
                onnx_apply(m, op, 1, (ValueId[]){onnx_input(m, 0)},
                           (Attr[]){attr_string(onnx_string(m, "approximate", "none"))}));
}

static void map_clip(OnnxMap *m, OpId op) {
    ValueId operand[3] = {onnx_input(m, 0), onnx_input(m, 1), onnx_input(m, 2)};
    if (!operand[1] && !operand[2] && operand[0]) {
        onnx_result(m, 0, operand[0]);
        return;
    }
    onnx_result(m, 0, onnx_apply(m, op, 3, operand, NULL));
}

static void map_axis(OnnxMap *m, OpId op) { // Softmax, LogSoftmax
    if (m->import->model->opset < 13) onnx_refuse(m, ONNX_NOT_OURS, "softmax of flattened axes");
    onnx_result(m, 0,
                onnx_apply(m, op, 1, (ValueId[]){onnx_input(m, 0)},
                           (Attr[]){attr_int(onnx_int(m, "axis", -1))}));
}

static void map_cumsum(OnnxMap *m, OpId op) {
    const Tensor *axis = onnx_known(m, 1);
    if (onnx_int(m, "exclusive", 0) || onnx_int(m, "reverse", 0) || !axis) {
        onnx_refuse(m, ONNX_NOT_OURS, "exclusive or reverse sums");
        return;
    }
    onnx_result(m, 0,
                onnx_apply(m, op, 1, (ValueId[]){onnx_input(m, 0)},
                           (Attr[]){attr_int((int64_t)axis->data[0])}));
}

static void map_reduce(OnnxMap *m, OpId op) {
    int64_t axes[64];
    uint32_t count;
    bool given = onnx_ints_of(m, 1, "axes", axes, &count);
    if ((!given || !count) && onnx_int(m, "noop_with_empty_axes", 0)) {
        onnx_result(m, 0, onnx_input(m, 0));
        return;
    }
    Attr attrs[2] = {given && count ? onnx_ints(m, axes, count) : attr_none(),
                     attr_int(onnx_int(m, "keepdims", 1))};
    onnx_result(m, 0, onnx_apply(m, op, 1, (ValueId[]){onnx_input(m, 0)}, attrs));
}

static void map_arg(OnnxMap *m, OpId op) {
    if (onnx_int(m, "select_last_index", 0)) onnx_refuse(m, ONNX_NOT_OURS, "last index of equals");
    Attr attrs[2] = {attr_int(onnx_int(m, "axis", 0)), attr_int(onnx_int(m, "keepdims", 1))};
    onnx_result(m, 0, onnx_apply(m, op, 1, (ValueId[]){onnx_input(m, 0)}, attrs));
}

static void map_norm(OnnxMap *m, OpId op) {
    ValueId operand[3] = {onnx_input(m, 0), onnx_input(m, 1),
                          op == OP_LAYER_NORM ? onnx_input(m, 2) : 0};
    if (m->node->outputs.len > 1) onnx_refuse(m, ONNX_NOT_OURS, "statistics as outputs");
    Attr attrs[2] = {attr_int(onnx_int(m, "axis", -1)), attr_float(onnx_float(m, "epsilon", 1e-5))};
    onnx_result(m, 0, onnx_apply(m, op, op == OP_LAYER_NORM ? 3 : 2, operand, attrs));
}

static void map_group_norm(OnnxMap *m, OpId op) {
    if (m->import->model->opset < 21) onnx_refuse(m, ONNX_NOT_OURS, "scale per group");
    ValueId operand[3] = {onnx_input(m, 0), onnx_input(m, 1), onnx_input(m, 2)};
    Attr attrs[2] = {attr_int(onnx_int(m, "num_groups", 1)),
                     attr_float(onnx_float(m, "epsilon", 1e-5))};
    onnx_result(m, 0, onnx_apply(m, op, 3, operand, attrs));
}

static void map_batch_norm(OnnxMap *m, OpId op) {
    if (onnx_int(m, "training_mode", 0)) onnx_refuse(m, ONNX_NOT_OURS, "training");
    // ONNX: x, scale, bias, mean, var. Ours: x, mean, var, weight, bias.
    ValueId operand[5] = {onnx_input(m, 0), onnx_input(m, 3), onnx_input(m, 4), onnx_input(m, 1),
                          onnx_input(m, 2)};
    onnx_result(
        m, 0, onnx_apply(m, op, 5, operand, (Attr[]){attr_float(onnx_float(m, "epsilon", 1e-5))}));
}

static void map_gemm(OnnxMap *m, OpId op) {
    ValueId a = onnx_input(m, 0), b = onnx_input(m, 1), c = onnx_input(m, 2);
    double alpha = onnx_float(m, "alpha", 1), beta = onnx_float(m, "beta", 1);
    Attr swap[2] = {attr_int(0), attr_int(1)};
    if (onnx_int(m, "transA", 0)) a = onnx_apply(m, OP_TRANSPOSE, 1, &a, swap);
    if (onnx_int(m, "transB", 0)) b = onnx_apply(m, OP_TRANSPOSE, 1, &b, swap);
    ValueId y = onnx_apply(m, op, 2, (ValueId[]){a, b}, NULL);
    if (!y) return;
    DType dtype = onnx_type(m, y)->dtype;
    if (alpha != 1) y = onnx_apply(m, OP_MULTIPLY, 2, (ValueId[]){y, full(m, dtype, alpha)}, NULL);
    if (c && beta != 1)
        c = onnx_apply(m, OP_MULTIPLY, 2, (ValueId[]){c, full(m, dtype, beta)}, NULL);
    if (c) y = onnx_apply(m, OP_ADD, 2, (ValueId[]){y, c}, NULL);
    onnx_result(m, 0, y);
}

static void map_cast(OnnxMap *m, OpId op) {
    static const DType types[20] = {
        [1] = DT_F32,   [2] = DT_U8,      [3] = DT_I8,     [6] = DT_I32,
        [7] = DT_I32,   [9] = DT_BOOL,    [10] = DT_F16,   [12] = DT_U32,
        [16] = DT_BF16, [17] = DT_F8E4M3, [19] = DT_F8E5M2};
    int64_t to = onnx_int(m, "to", 0);
    if (to < 0 || to >= 20 || !types[to]) {
        onnx_refuse(m, ONNX_NOT_OURS, "a dtype that is not ours");
        return;
    }
    if (!onnx_int(m, "saturate", 1)) onnx_refuse(m, ONNX_NOT_OURS, "a cast that does not saturate");
    onnx_result(
        m, 0, onnx_apply(m, op, 1, (ValueId[]){onnx_input(m, 0)}, (Attr[]){attr_dtype(types[to])}));
}

static void map_reshape(OnnxMap *m, OpId op) {
    int64_t shape[64];
    uint32_t count;
    ValueId x = onnx_input(m, 0);
    if (!x || !onnx_ints_of(m, 1, "shape", shape, &count)) {
        onnx_refuse(m, ONNX_NOT_OURS, "a shape known only when running");
        return;
    }
    for (uint32_t i = 0; i < count; i++) { // 0 copies the size
        if (shape[i] == 0 && !onnx_int(m, "allowzero", 0) && i < onnx_type(m, x)->rank) {
            shape[i] = onnx_size(m, x, (int)i);
        }
    }
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, (Attr[]){onnx_sizes(m, shape, count)}));
}

static void map_transpose(OnnxMap *m, OpId op) {
    ValueId x = onnx_input(m, 0);
    const OnnxAttr *perm = onnx_attr(m->node, "perm");
    int64_t axes[RANK_MAX];
    for (int i = 0; x && i < onnx_type(m, x)->rank; i++) {
        axes[i] = perm ? perm->ints[i] : onnx_type(m, x)->rank - 1 - i;
    }
    if (x) {
        onnx_result(m, 0,
                    onnx_apply(m, op, 1, &x, (Attr[]){onnx_ints(m, axes, onnx_type(m, x)->rank)}));
    }
}

static void map_flatten(OnnxMap *m, OpId op) {
    ValueId x = onnx_input(m, 0);
    (void)op;
    if (!x) return;
    int64_t axis = onnx_int(m, "axis", 1), rank = onnx_type(m, x)->rank, shape[2] = {1, 1};
    if (axis < 0) axis += rank;
    for (int i = 0; i < rank; i++) shape[i >= axis] *= onnx_size(m, x, i);
    onnx_result(m, 0, onnx_apply(m, OP_RESHAPE, 1, &x, (Attr[]){onnx_sizes(m, shape, 2)}));
}

static void map_axes_move(OnnxMap *m, OpId op) { // Squeeze, Unsqueeze
    int64_t axes[64];
    uint32_t count;
    ValueId x = onnx_input(m, 0);
    if (!x) return;
    if (!onnx_ints_of(m, 1, "axes", axes, &count)) {
        for (int i = 0; i < onnx_type(m, x)->rank; i++) {
            if (onnx_size(m, x, i) == 1) axes[count++] = i;
        }
    }
    if (op == OP_SQUEEZE) {
        onnx_result(m, 0, onnx_apply(m, op, 1, &x, (Attr[]){onnx_ints(m, axes, count)}));
        return;
    }
    int64_t rank = onnx_type(m, x)->rank + count;
    for (uint32_t i = 0; i < count; i++) axes[i] += axes[i] < 0 ? rank : 0;
    for (int64_t at = 0; at < rank; at++) { // ascending, so that each stands where it ends
        for (uint32_t i = 0; i < count; i++) {
            if (axes[i] == at) x = onnx_apply(m, op, 1, &x, (Attr[]){attr_int(at)});
        }
    }
    onnx_result(m, 0, x);
}

static void map_expand(OnnxMap *m, OpId op) {
    int64_t shape[64];
    uint32_t count;
    ValueId x = onnx_input(m, 0);
    if (!x || !onnx_ints_of(m, 1, "shape", shape, &count)) {
        onnx_refuse(m, ONNX_NOT_OURS, "a shape known only when running");
        return;
    }
    int rank = onnx_type(m, x)->rank;
    if ((uint32_t)rank > count) onnx_refuse(m, ONNX_NOT_OURS, "a shorter shape");
    for (uint32_t i = 0; i < count; i++) { // both sides broadcast
        int axis = (int)i - ((int)count - rank);
        if (axis >= 0 && shape[i] == 1) shape[i] = onnx_size(m, x, axis);
    }
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, (Attr[]){onnx_sizes(m, shape, count)}));
}

static void map_split(OnnxMap *m, OpId op) {
    int64_t sizes[64], axis = onnx_int(m, "axis", 0);
    uint32_t count, parts = m->node->outputs.len;
    ValueId x = onnx_input(m, 0);
    if (!x) return;
    if (axis < 0) axis += onnx_type(m, x)->rank;
    if (!onnx_ints_of(m, 1, "split", sizes, &count)) {
        int64_t total = onnx_size(m, x, (int)axis), each = (total + parts - 1) / parts;
        for (count = 0; count < parts; count++) {
            sizes[count] = total < each ? total : each;
            total -= sizes[count];
        }
    }
    NodeId node = add(m, op, 1, &x, (Attr[]){onnx_sizes(m, sizes, count), attr_int(axis)});
    for (uint32_t i = 0; node && i < parts; i++) {
        onnx_result(m, i, graph_result(m->import->graph, node, i));
    }
}

static void map_concat(OnnxMap *m, OpId op) {
    ValueId operand[64];
    uint32_t count = m->node->inputs.len < 64 ? m->node->inputs.len : 64;
    for (uint32_t i = 0; i < count; i++) operand[i] = onnx_input(m, i);
    onnx_result(m, 0,
                onnx_apply(m, op, count, operand, (Attr[]){attr_int(onnx_int(m, "axis", 0))}));
}

static void map_pad(OnnxMap *m, OpId op) {
    int64_t pads[64];
    uint32_t count;
    ValueId x = onnx_input(m, 0);
    const Tensor *value = onnx_known(m, 2);
    if (strcmp(onnx_string(m, "mode", "constant"), "constant") || !x || onnx_input(m, 3) ||
        !onnx_ints_of(m, 1, "pads", pads, &count)) {
        onnx_refuse(m, ONNX_NOT_OURS, "padding that is not constant, or on chosen axes");
        return;
    }
    Graph *g = m->import->graph;
    uint32_t rank = count / 2;
    Dim *pairs = arena_alloc(g->arena, count * sizeof *pairs);
    for (uint32_t i = 0; i < rank; i++) {
        if (pads[i] < 0 || pads[rank + i] < 0) onnx_refuse(m, ONNX_NOT_OURS, "negative padding");
        pairs[2 * i] = dim_const(g->dims, pads[i]);
        pairs[2 * i + 1] = dim_const(g->dims, pads[rank + i]);
    }
    double fill = value && value->elements ? value->data[0] : 0;
    bool real = dtype_is_float(onnx_type(m, x)->dtype);
    Attr attrs[2] = {attr_pairs(pairs, rank), real ? attr_float(fill) : attr_int((int64_t)fill)};
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, attrs));
}

static void map_tile(OnnxMap *m, OpId op) {
    int64_t reps[64];
    uint32_t count;
    ValueId x = onnx_input(m, 0);
    if (!x || !onnx_ints_of(m, 1, "repeats", reps, &count)) {
        onnx_refuse(m, ONNX_NOT_OURS, "repeats known only when running");
        return;
    }
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, (Attr[]){onnx_ints(m, reps, count)}));
}

static void map_gather(OnnxMap *m, OpId op) {
    ValueId operand[2] = {onnx_input(m, 0), onnx_input(m, 1)};
    onnx_result(m, 0, onnx_apply(m, op, 2, operand, (Attr[]){attr_int(onnx_int(m, "axis", 0))}));
}

static void map_slice(OnnxMap *m, OpId op) {
    int64_t starts[64], ends[64], axes[64], steps[64];
    uint32_t n, n_ends, n_axes, n_steps;
    ValueId x = onnx_input(m, 0);
    if (!x || !onnx_ints_of(m, 1, "starts", starts, &n) ||
        !onnx_ints_of(m, 2, "ends", ends, &n_ends)) {
        onnx_refuse(m, ONNX_NOT_OURS, "bounds known only when running");
        return;
    }
    int rank = onnx_type(m, x)->rank;
    int64_t from[RANK_MAX], to[RANK_MAX], step[RANK_MAX];
    for (int i = 0; i < rank; i++) from[i] = 0, to[i] = onnx_size(m, x, i), step[i] = 1;
    bool has_axes = onnx_ints_of(m, 3, "axes", axes, &n_axes);
    bool has_steps = onnx_ints_of(m, 4, "steps", steps, &n_steps);
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = has_axes ? axes[i] : (int64_t)i;
        if (axis < 0) axis += rank;
        int64_t size = onnx_size(m, x, (int)axis);
        if (has_steps && steps[i] <= 0) onnx_refuse(m, ONNX_NOT_OURS, "a negative step");
        if (has_steps) step[axis] = steps[i];
        int64_t a = starts[i] < 0 ? starts[i] + size : starts[i]; // ours are not clamped
        int64_t b = ends[i] < 0 ? ends[i] + size : ends[i];
        from[axis] = a < 0 ? 0 : a > size ? size : a;
        to[axis] = b < from[axis] ? from[axis] : b > size ? size : b;
    }
    Attr attrs[3] = {onnx_sizes(m, from, (uint32_t)rank), onnx_sizes(m, to, (uint32_t)rank),
                     onnx_ints(m, step, (uint32_t)rank)};
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, attrs));
}

static void map_identity(OnnxMap *m, OpId op) {
    (void)op;
    onnx_result(m, 0, onnx_input(m, 0));
}

typedef struct Row {
    const char *onnx;
    OpId op;
    void (*map)(OnnxMap *m, OpId op);
} Row;

static const Row rows[] = {
    {"Abs", OP_ABS, map_plain},
    {"Add", OP_ADD, map_plain},
    {"And", OP_LOGICAL_AND, map_plain},
    {"ArgMax", OP_ARGMAX, map_arg},
    {"ArgMin", OP_ARGMIN, map_arg},
    {"Attention", OP_ATTENTION, onnx_map_attention},
    {"AveragePool", OP_AVG_POOL2D, onnx_map_pool},
    {"BatchNormalization", OP_BATCH_NORM, map_batch_norm},
    {"Cast", OP_CAST, map_cast},
    {"Ceil", OP_CEIL, map_plain},
    {"Clip", OP_CLIP, map_clip},
    {"Concat", OP_CONCAT, map_concat},
    {"Conv", OP_CONV2D, onnx_map_conv},
    {"ConvTranspose", OP_CONV_TRANSPOSE2D, onnx_map_conv_transpose},
    {"Cos", OP_COS, map_plain},
    {"CumSum", OP_CUMSUM, map_cumsum},
    {"Div", OP_DIVIDE, map_div},
    {"Elu", OP_ELU, map_alpha},
    {"Equal", OP_EQUAL, map_plain},
    {"Erf", OP_ERF, map_plain},
    {"Exp", OP_EXP, map_plain},
    {"Expand", OP_BROADCAST_TO, map_expand},
    {"Flatten", OP_RESHAPE, map_flatten},
    {"Floor", OP_FLOOR, map_plain},
    {"Gather", OP_TAKE, map_gather},
    {"GatherElements", OP_TAKE_ALONG_AXIS, map_gather},
    {"Gelu", OP_GELU, map_gelu},
    {"Gemm", OP_MATMUL, map_gemm},
    {"GlobalAveragePool", OP_MEAN, onnx_map_global_pool},
    {"GlobalMaxPool", OP_MAX, onnx_map_global_pool},
    {"Greater", OP_GREATER, map_plain},
    {"GreaterOrEqual", OP_GREATER_EQUAL, map_plain},
    {"GroupNormalization", OP_GROUP_NORM, map_group_norm},
    {"HardSigmoid", OP_CLIP, map_hardsigmoid},
    {"HardSwish", OP_HARDSWISH, map_plain},
    {"InstanceNormalization", OP_GROUP_NORM, onnx_map_instance_norm},
    {"Identity", OP_NONE, map_identity},
    {"LayerNormalization", OP_LAYER_NORM, map_norm},
    {"LeakyRelu", OP_LEAKY_RELU, map_alpha},
    {"Less", OP_LESS, map_plain},
    {"LessOrEqual", OP_LESS_EQUAL, map_plain},
    {"Log", OP_LOG, map_plain},
    {"LogSoftmax", OP_LOG_SOFTMAX, map_axis},
    {"MatMul", OP_MATMUL, map_plain},
    {"Max", OP_MAXIMUM, map_fold},
    {"MaxPool", OP_MAX_POOL2D, onnx_map_pool},
    {"Min", OP_MINIMUM, map_fold},
    {"Mod", OP_REMAINDER, map_mod},
    {"Mul", OP_MULTIPLY, map_plain},
    {"Neg", OP_NEGATIVE, map_plain},
    {"Not", OP_LOGICAL_NOT, map_plain},
    {"Or", OP_LOGICAL_OR, map_plain},
    {"Pad", OP_PAD, map_pad},
    {"Pow", OP_POW, map_plain},
    {"RMSNormalization", OP_RMS_NORM, map_norm},
    {"Reciprocal", OP_RECIPROCAL, map_plain},
    {"ReduceMax", OP_MAX, map_reduce},
    {"ReduceMean", OP_MEAN, map_reduce},
    {"ReduceMin", OP_MIN, map_reduce},
    {"ReduceProd", OP_PROD, map_reduce},
    {"ReduceSum", OP_SUM, map_reduce},
    {"Relu", OP_RELU, map_plain},
    {"Reshape", OP_RESHAPE, map_reshape},
    {"Resize", OP_INTERPOLATE, onnx_map_resize},
    {"Round", OP_ROUND, map_plain},
    {"Sigmoid", OP_SIGMOID, map_plain},
    {"Sign", OP_SIGN, map_plain},
    {"Sin", OP_SIN, map_plain},
    {"Slice", OP_SLICE, map_slice},
    {"Softmax", OP_SOFTMAX, map_axis},
    {"Softplus", OP_SOFTPLUS, map_plain},
    {"Split", OP_SPLIT, map_split},
    {"Sqrt", OP_SQRT, map_plain},
    {"Squeeze", OP_SQUEEZE, map_axes_move},
    {"Sub", OP_SUBTRACT, map_plain},
    {"Sum", OP_ADD, map_fold},
    {"Tanh", OP_TANH, map_plain},
    {"Tile", OP_TILE, map_tile},
    {"Transpose", OP_PERMUTE_DIMS, map_transpose},
    {"Unsqueeze", OP_EXPAND_DIMS, map_axes_move},
    {"Where", OP_WHERE, map_plain},
};

OnnxStatus onnx_add_node(OnnxImport *import, const OnnxNode *node) {
    OnnxMap m = {.import = import, .node = node};
    if (*node->domain && strcmp(node->domain, "ai.onnx")) {
        import->why = "another domain";
        return ONNX_NOT_OURS;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].onnx, node->op)) continue;
        rows[i].map(&m, rows[i].op);
        return m.status;
    }
    import->why = "an op that we have not";
    return ONNX_NOT_OURS;
}
