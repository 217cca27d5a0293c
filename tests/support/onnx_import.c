// How each ONNX op is said with ours.
#include "tests/support/onnx.h"

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

typedef struct Map {
    OnnxImport *import;
    const OnnxNode *node;
    OnnxStatus status;
} Map;

static ValueId refuse(Map *m, OnnxStatus status, const char *why) {
    if (m->status == ONNX_OK) {
        m->status = status;
        m->import->why = why;
    }
    return 0;
}

static ValueId input(Map *m, uint32_t index) { // 0: absent
    if (index >= m->node->inputs.len || !*m->node->inputs.at[index]) return 0;
    const OnnxBinding *b = onnx_find(m->import, m->node->inputs.at[index]);
    return b ? b->value : refuse(m, ONNX_NOT_OURS, "an input of unsupported type");
}

static const Tensor *known(Map *m, uint32_t index) {
    if (index >= m->node->inputs.len) return NULL;
    const OnnxBinding *b = onnx_find(m->import, m->node->inputs.at[index]);
    return b ? b->known : NULL;
}

static const Type *type_of(Map *m, ValueId value) {
    return &graph_value(m->import->graph, value)->type;
}

static NodeId add(Map *m, OpId op, uint32_t operands, const ValueId *operand, const Attr *attr) {
    if (m->status != ONNX_OK) return 0;
    Attr attrs[OP_ATTRS_MAX];
    Graph *g = m->import->graph;
    op_attr_defaults(g->dims, g->arena, op_info(op), attrs);
    for (int i = 0; attr && i < op_info(op)->attrs; i++) {
        if (attr[i].present) attrs[i] = attr[i];
    }
    if (op_info(op)->later)
        return (NodeId)refuse(m, ONNX_NOT_OURS, "an op that is not supported yet");
    NodeId node =
        graph_add(g, m->import->diags,
                  &(NodeSpec){.op = op, .operand = operand, .operands = operands, .attr = attrs});
    if (!node) refuse(m, ONNX_REFUSED, "a type that the op does not take");
    return node;
}

static ValueId apply(Map *m, OpId op, uint32_t operands, const ValueId *operand, const Attr *attr) {
    NodeId node = add(m, op, operands, operand, attr);
    return node ? graph_result(m->import->graph, node, 0) : 0;
}

static void result(Map *m, uint32_t index, ValueId value) {
    if (value && index < m->node->outputs.len) {
        onnx_bind(m->import, m->node->outputs.at[index], value, NULL);
    }
}

static int64_t int_attr(Map *m, const char *name, int64_t otherwise) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    return a ? a->i : otherwise;
}

static double float_attr(Map *m, const char *name, double otherwise) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    return a ? a->f : otherwise;
}

static const char *string_attr(Map *m, const char *name, const char *otherwise) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    return a && a->s ? a->s : otherwise;
}

static Attr int_list(Map *m, const int64_t *values, uint32_t count) {
    int64_t *copy = arena_alloc(m->import->graph->arena, count * sizeof *copy);
    if (count) memcpy(copy, values, count * sizeof *copy);
    return attr_ints(copy, count);
}

static Attr size_list(Map *m, const int64_t *values, uint32_t count) {
    Graph *g = m->import->graph;
    Dim *sizes = arena_alloc(g->arena, count * sizeof *sizes);
    for (uint32_t i = 0; i < count; i++) sizes[i] = dim_const(g->dims, values[i]);
    return attr_sizes(sizes, count);
}

// Integers of a known input, or of an attribute. False if neither is there.
static bool ints_of(Map *m, uint32_t index, const char *attr, int64_t out[64], uint32_t *count) {
    const Tensor *t = known(m, index);
    const OnnxAttr *a = onnx_attr(m->node, attr);
    *count = 0;
    if (t && t->elements <= 64) {
        for (int64_t i = 0; i < t->elements; i++) out[(*count)++] = (int64_t)t->data[i];
        return true;
    }
    for (uint32_t i = 0; a && i < a->int_count && i < 64; i++) out[(*count)++] = a->ints[i];
    return a != NULL;
}

static int64_t size_of(Map *m, ValueId value, int axis) {
    int64_t size = 0;
    dim_is_const(m->import->graph->dims, type_of(m, value)->size[axis], &size);
    return size;
}

static ValueId full(Map *m, DType dtype, double value) {
    Attr attrs[3] = {size_list(m, NULL, 0),
                     dtype_is_float(dtype) ? attr_float(value) : attr_int((int64_t)value),
                     attr_dtype(dtype)};
    return apply(m, OP_FULL, 0, NULL, attrs);
}

// ---- handlers
// ------------------------------------------------------------------------------------

static void map_plain(Map *m, OpId op) { // operands one to one, no attributes
    ValueId operand[8];
    uint32_t count = m->node->inputs.len < 8 ? m->node->inputs.len : 8;
    for (uint32_t i = 0; i < count; i++) operand[i] = input(m, i);
    result(m, 0, apply(m, op, count, operand, NULL));
}

static void map_fold(Map *m, OpId op) { // variadic Max, Min, Sum
    ValueId value = input(m, 0);
    for (uint32_t i = 1; i < m->node->inputs.len; i++) {
        value = apply(m, op, 2, (ValueId[]){value, input(m, i)}, NULL);
    }
    result(m, 0, value);
}

static void map_mod(Map *m, OpId op) {
    if (int_attr(m, "fmod", 0)) refuse(m, ONNX_NOT_OURS, "fmod");
    map_plain(m, op);
}

static void map_div(Map *m, OpId op) { // integers divide toward zero there
    ValueId x = input(m, 0);
    if (x && !dtype_is_float(type_of(m, x)->dtype)) refuse(m, ONNX_NOT_OURS, "integer division");
    map_plain(m, op);
}

static void map_alpha(Map *m, OpId op) { // one float attribute
    double defaults = op == OP_ELU ? 1.0 : 0.01;
    result(m, 0,
           apply(m, op, 1, (ValueId[]){input(m, 0)},
                 (Attr[]){attr_float(float_attr(m, "alpha", defaults))}));
}

static void map_hardsigmoid(Map *m, OpId op) {
    double alpha = float_attr(m, "alpha", 0.2), beta = float_attr(m, "beta", 0.5);
    ValueId x = input(m, 0);
    (void)op;
    if (!x) return;
    DType dtype = type_of(m, x)->dtype;
    x = apply(m, OP_MULTIPLY, 2, (ValueId[]){x, full(m, dtype, alpha)}, NULL);
    x = apply(m, OP_ADD, 2, (ValueId[]){x, full(m, dtype, beta)}, NULL);
    result(m, 0, apply(m, OP_CLIP, 3, (ValueId[]){x, full(m, dtype, 0), full(m, dtype, 1)}, NULL));
}

static void map_gelu(Map *m, OpId op) {
    result(m, 0,
           apply(m, op, 1, (ValueId[]){input(m, 0)},
                 (Attr[]){attr_string(string_attr(m, "approximate", "none"))}));
}

static void map_clip(Map *m, OpId op) {
    ValueId operand[3] = {input(m, 0), input(m, 1), input(m, 2)};
    if (!operand[1] && !operand[2] && operand[0]) {
        result(m, 0, operand[0]);
        return;
    }
    result(m, 0, apply(m, op, 3, operand, NULL));
}

static void map_axis(Map *m, OpId op) { // Softmax, LogSoftmax
    if (m->import->model->opset < 13) refuse(m, ONNX_NOT_OURS, "softmax of flattened axes");
    result(m, 0,
           apply(m, op, 1, (ValueId[]){input(m, 0)}, (Attr[]){attr_int(int_attr(m, "axis", -1))}));
}

static void map_cumsum(Map *m, OpId op) {
    const Tensor *axis = known(m, 1);
    if (int_attr(m, "exclusive", 0) || int_attr(m, "reverse", 0) || !axis) {
        refuse(m, ONNX_NOT_OURS, "exclusive or reverse sums");
        return;
    }
    result(m, 0,
           apply(m, op, 1, (ValueId[]){input(m, 0)}, (Attr[]){attr_int((int64_t)axis->data[0])}));
}

static void map_reduce(Map *m, OpId op) {
    int64_t axes[64];
    uint32_t count;
    bool given = ints_of(m, 1, "axes", axes, &count);
    if ((!given || !count) && int_attr(m, "noop_with_empty_axes", 0)) {
        result(m, 0, input(m, 0));
        return;
    }
    Attr attrs[2] = {given && count ? int_list(m, axes, count) : attr_none(),
                     attr_int(int_attr(m, "keepdims", 1))};
    result(m, 0, apply(m, op, 1, (ValueId[]){input(m, 0)}, attrs));
}

static void map_arg(Map *m, OpId op) {
    if (int_attr(m, "select_last_index", 0)) refuse(m, ONNX_NOT_OURS, "last index of equals");
    Attr attrs[2] = {attr_int(int_attr(m, "axis", 0)), attr_int(int_attr(m, "keepdims", 1))};
    result(m, 0, apply(m, op, 1, (ValueId[]){input(m, 0)}, attrs));
}

static void map_norm(Map *m, OpId op) {
    ValueId operand[3] = {input(m, 0), input(m, 1), op == OP_LAYER_NORM ? input(m, 2) : 0};
    if (m->node->outputs.len > 1) refuse(m, ONNX_NOT_OURS, "statistics as outputs");
    Attr attrs[2] = {attr_int(int_attr(m, "axis", -1)), attr_float(float_attr(m, "epsilon", 1e-5))};
    result(m, 0, apply(m, op, op == OP_LAYER_NORM ? 3 : 2, operand, attrs));
}

static void map_group_norm(Map *m, OpId op) {
    if (m->import->model->opset < 21) refuse(m, ONNX_NOT_OURS, "scale per group");
    ValueId operand[3] = {input(m, 0), input(m, 1), input(m, 2)};
    Attr attrs[2] = {attr_int(int_attr(m, "num_groups", 1)),
                     attr_float(float_attr(m, "epsilon", 1e-5))};
    result(m, 0, apply(m, op, 3, operand, attrs));
}

static void map_batch_norm(Map *m, OpId op) {
    if (int_attr(m, "training_mode", 0)) refuse(m, ONNX_NOT_OURS, "training");
    // ONNX: x, scale, bias, mean, var. Ours: x, mean, var, weight, bias.
    ValueId operand[5] = {input(m, 0), input(m, 3), input(m, 4), input(m, 1), input(m, 2)};
    result(m, 0, apply(m, op, 5, operand, (Attr[]){attr_float(float_attr(m, "epsilon", 1e-5))}));
}

static void map_gemm(Map *m, OpId op) {
    ValueId a = input(m, 0), b = input(m, 1), c = input(m, 2);
    double alpha = float_attr(m, "alpha", 1), beta = float_attr(m, "beta", 1);
    Attr swap[2] = {attr_int(0), attr_int(1)};
    if (int_attr(m, "transA", 0)) a = apply(m, OP_TRANSPOSE, 1, &a, swap);
    if (int_attr(m, "transB", 0)) b = apply(m, OP_TRANSPOSE, 1, &b, swap);
    ValueId y = apply(m, op, 2, (ValueId[]){a, b}, NULL);
    if (!y) return;
    DType dtype = type_of(m, y)->dtype;
    if (alpha != 1) y = apply(m, OP_MULTIPLY, 2, (ValueId[]){y, full(m, dtype, alpha)}, NULL);
    if (c && beta != 1) c = apply(m, OP_MULTIPLY, 2, (ValueId[]){c, full(m, dtype, beta)}, NULL);
    if (c) y = apply(m, OP_ADD, 2, (ValueId[]){y, c}, NULL);
    result(m, 0, y);
}

// pads [top, left, bottom, right] to pairs; auto_pad.
static Attr padding(Map *m, uint32_t axes) {
    const char *mode = string_attr(m, "auto_pad", "NOTSET");
    const OnnxAttr *pads = onnx_attr(m->node, "pads");
    Graph *g = m->import->graph;
    Dim *pairs = arena_alloc(g->arena, 2 * axes * sizeof *pairs);
    if (!strcmp(mode, "SAME_LOWER")) refuse(m, ONNX_NOT_OURS, "SAME_LOWER");
    if (!strcmp(mode, "SAME_UPPER")) {
        Attr same = attr_pairs(NULL, 0);
        same.sizes.word = "same";
        return same;
    }
    for (uint32_t i = 0; i < axes; i++) {
        bool given = pads && pads->int_count == 2 * axes;
        pairs[2 * i] = dim_const(g->dims, given ? pads->ints[i] : 0);
        pairs[2 * i + 1] = dim_const(g->dims, given ? pads->ints[axes + i] : 0);
    }
    return attr_pairs(pairs, axes);
}

static Attr ints_or_ones(Map *m, const char *name, uint32_t axes) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    const int64_t ones[3] = {1, 1, 1};
    return a ? int_list(m, a->ints, a->int_count) : int_list(m, ones, axes);
}

static void map_conv(Map *m, OpId op) {
    ValueId operand[3] = {input(m, 0), input(m, 1), input(m, 2)};
    if (!operand[0]) return;
    uint32_t axes = type_of(m, operand[0])->rank - 2u;
    if (axes < 1 || axes > 2) {
        refuse(m, ONNX_NOT_OURS, "conv of 3 axes");
        return;
    }
    Attr attrs[5] = {ints_or_ones(m, "strides", axes), padding(m, axes),
                     ints_or_ones(m, "dilations", axes), attr_int(int_attr(m, "group", 1))};
    result(m, 0, apply(m, axes == 1 ? OP_CONV1D : op, 3, operand, attrs));
}

static void map_pool(Map *m, OpId op) {
    ValueId x = input(m, 0);
    const OnnxAttr *kernel = onnx_attr(m->node, "kernel_shape");
    if (!x || !kernel || kernel->int_count != 2 || m->node->outputs.len > 1) {
        refuse(m, ONNX_NOT_OURS, "pooling of other than 2 axes, or with indices");
        return;
    }
    Attr attrs[5] = {int_list(m, kernel->ints, 2), ints_or_ones(m, "strides", 2), padding(m, 2)};
    bool max = op == OP_MAX_POOL2D;
    if (!max && onnx_attr(m->node, "dilations")) refuse(m, ONNX_NOT_OURS, "dilated average");
    attrs[3] = max ? ints_or_ones(m, "dilations", 2) : attr_int(int_attr(m, "ceil_mode", 0));
    attrs[4] = attr_int(int_attr(m, max ? "ceil_mode" : "count_include_pad", 0));
    result(m, 0, apply(m, op, 1, &x, attrs));
}

static void map_global_pool(Map *m, OpId op) {
    ValueId x = input(m, 0);
    if (!x || type_of(m, x)->rank < 3) {
        refuse(m, ONNX_NOT_OURS, "no spatial axes");
        return;
    }
    int64_t axes[RANK_MAX];
    uint32_t count = type_of(m, x)->rank - 2u;
    for (uint32_t i = 0; i < count; i++) axes[i] = i + 2;
    result(m, 0, apply(m, op, 1, &x, (Attr[]){int_list(m, axes, count), attr_int(1)}));
}

static void map_cast(Map *m, OpId op) {
    static const DType types[20] = {
        [1] = DT_F32,   [2] = DT_U8,      [3] = DT_I8,     [6] = DT_I32,
        [7] = DT_I32,   [9] = DT_BOOL,    [10] = DT_F16,   [12] = DT_U32,
        [16] = DT_BF16, [17] = DT_F8E4M3, [19] = DT_F8E5M2};
    int64_t to = int_attr(m, "to", 0);
    if (to < 0 || to >= 20 || !types[to]) {
        refuse(m, ONNX_NOT_OURS, "a dtype that is not ours");
        return;
    }
    if (!int_attr(m, "saturate", 1)) refuse(m, ONNX_NOT_OURS, "a cast that does not saturate");
    result(m, 0, apply(m, op, 1, (ValueId[]){input(m, 0)}, (Attr[]){attr_dtype(types[to])}));
}

static void map_reshape(Map *m, OpId op) {
    int64_t shape[64];
    uint32_t count;
    ValueId x = input(m, 0);
    if (!x || !ints_of(m, 1, "shape", shape, &count)) {
        refuse(m, ONNX_NOT_OURS, "a shape known only when running");
        return;
    }
    for (uint32_t i = 0; i < count; i++) { // 0 copies the size
        if (shape[i] == 0 && !int_attr(m, "allowzero", 0) && i < type_of(m, x)->rank) {
            shape[i] = size_of(m, x, (int)i);
        }
    }
    result(m, 0, apply(m, op, 1, &x, (Attr[]){size_list(m, shape, count)}));
}

static void map_transpose(Map *m, OpId op) {
    ValueId x = input(m, 0);
    const OnnxAttr *perm = onnx_attr(m->node, "perm");
    int64_t axes[RANK_MAX];
    for (int i = 0; x && i < type_of(m, x)->rank; i++) {
        axes[i] = perm ? perm->ints[i] : type_of(m, x)->rank - 1 - i;
    }
    if (x) {
        result(m, 0, apply(m, op, 1, &x, (Attr[]){int_list(m, axes, type_of(m, x)->rank)}));
    }
}

static void map_flatten(Map *m, OpId op) {
    ValueId x = input(m, 0);
    (void)op;
    if (!x) return;
    int64_t axis = int_attr(m, "axis", 1), rank = type_of(m, x)->rank, shape[2] = {1, 1};
    if (axis < 0) axis += rank;
    for (int i = 0; i < rank; i++) shape[i >= axis] *= size_of(m, x, i);
    result(m, 0, apply(m, OP_RESHAPE, 1, &x, (Attr[]){size_list(m, shape, 2)}));
}

static void map_axes_move(Map *m, OpId op) { // Squeeze, Unsqueeze
    int64_t axes[64];
    uint32_t count;
    ValueId x = input(m, 0);
    if (!x) return;
    if (!ints_of(m, 1, "axes", axes, &count)) {
        for (int i = 0; i < type_of(m, x)->rank; i++) {
            if (size_of(m, x, i) == 1) axes[count++] = i;
        }
    }
    if (op == OP_SQUEEZE) {
        result(m, 0, apply(m, op, 1, &x, (Attr[]){int_list(m, axes, count)}));
        return;
    }
    int64_t rank = type_of(m, x)->rank + count;
    for (uint32_t i = 0; i < count; i++) axes[i] += axes[i] < 0 ? rank : 0;
    for (int64_t at = 0; at < rank; at++) { // ascending, so that each stands where it ends
        for (uint32_t i = 0; i < count; i++) {
            if (axes[i] == at) x = apply(m, op, 1, &x, (Attr[]){attr_int(at)});
        }
    }
    result(m, 0, x);
}

static void map_expand(Map *m, OpId op) {
    int64_t shape[64];
    uint32_t count;
    ValueId x = input(m, 0);
    if (!x || !ints_of(m, 1, "shape", shape, &count)) {
        refuse(m, ONNX_NOT_OURS, "a shape known only when running");
        return;
    }
    int rank = type_of(m, x)->rank;
    if ((uint32_t)rank > count) refuse(m, ONNX_NOT_OURS, "a shorter shape");
    for (uint32_t i = 0; i < count; i++) { // both sides broadcast
        int axis = (int)i - ((int)count - rank);
        if (axis >= 0 && shape[i] == 1) shape[i] = size_of(m, x, axis);
    }
    result(m, 0, apply(m, op, 1, &x, (Attr[]){size_list(m, shape, count)}));
}

static void map_split(Map *m, OpId op) {
    int64_t sizes[64], axis = int_attr(m, "axis", 0);
    uint32_t count, parts = m->node->outputs.len;
    ValueId x = input(m, 0);
    if (!x) return;
    if (axis < 0) axis += type_of(m, x)->rank;
    if (!ints_of(m, 1, "split", sizes, &count)) {
        int64_t total = size_of(m, x, (int)axis), each = (total + parts - 1) / parts;
        for (count = 0; count < parts; count++) {
            sizes[count] = total < each ? total : each;
            total -= sizes[count];
        }
    }
    NodeId node = add(m, op, 1, &x, (Attr[]){size_list(m, sizes, count), attr_int(axis)});
    for (uint32_t i = 0; node && i < parts; i++) {
        result(m, i, graph_result(m->import->graph, node, i));
    }
}

static void map_concat(Map *m, OpId op) {
    ValueId operand[64];
    uint32_t count = m->node->inputs.len < 64 ? m->node->inputs.len : 64;
    for (uint32_t i = 0; i < count; i++) operand[i] = input(m, i);
    result(m, 0, apply(m, op, count, operand, (Attr[]){attr_int(int_attr(m, "axis", 0))}));
}

static void map_pad(Map *m, OpId op) {
    int64_t pads[64];
    uint32_t count;
    ValueId x = input(m, 0);
    const Tensor *value = known(m, 2);
    if (strcmp(string_attr(m, "mode", "constant"), "constant") || !x || input(m, 3) ||
        !ints_of(m, 1, "pads", pads, &count)) {
        refuse(m, ONNX_NOT_OURS, "padding that is not constant, or on chosen axes");
        return;
    }
    Graph *g = m->import->graph;
    uint32_t rank = count / 2;
    Dim *pairs = arena_alloc(g->arena, count * sizeof *pairs);
    for (uint32_t i = 0; i < rank; i++) {
        if (pads[i] < 0 || pads[rank + i] < 0) refuse(m, ONNX_NOT_OURS, "negative padding");
        pairs[2 * i] = dim_const(g->dims, pads[i]);
        pairs[2 * i + 1] = dim_const(g->dims, pads[rank + i]);
    }
    double fill = value && value->elements ? value->data[0] : 0;
    bool real = dtype_is_float(type_of(m, x)->dtype);
    Attr attrs[2] = {attr_pairs(pairs, rank), real ? attr_float(fill) : attr_int((int64_t)fill)};
    result(m, 0, apply(m, op, 1, &x, attrs));
}

static void map_tile(Map *m, OpId op) {
    int64_t reps[64];
    uint32_t count;
    ValueId x = input(m, 0);
    if (!x || !ints_of(m, 1, "repeats", reps, &count)) {
        refuse(m, ONNX_NOT_OURS, "repeats known only when running");
        return;
    }
    result(m, 0, apply(m, op, 1, &x, (Attr[]){int_list(m, reps, count)}));
}

static void map_gather(Map *m, OpId op) {
    ValueId operand[2] = {input(m, 0), input(m, 1)};
    result(m, 0, apply(m, op, 2, operand, (Attr[]){attr_int(int_attr(m, "axis", 0))}));
}

static void map_slice(Map *m, OpId op) {
    int64_t starts[64], ends[64], axes[64], steps[64];
    uint32_t n, n_ends, n_axes, n_steps;
    ValueId x = input(m, 0);
    if (!x || !ints_of(m, 1, "starts", starts, &n) || !ints_of(m, 2, "ends", ends, &n_ends)) {
        refuse(m, ONNX_NOT_OURS, "bounds known only when running");
        return;
    }
    int rank = type_of(m, x)->rank;
    int64_t from[RANK_MAX], to[RANK_MAX], step[RANK_MAX];
    for (int i = 0; i < rank; i++) from[i] = 0, to[i] = size_of(m, x, i), step[i] = 1;
    bool has_axes = ints_of(m, 3, "axes", axes, &n_axes);
    bool has_steps = ints_of(m, 4, "steps", steps, &n_steps);
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = has_axes ? axes[i] : (int64_t)i;
        if (axis < 0) axis += rank;
        int64_t size = size_of(m, x, (int)axis);
        if (has_steps && steps[i] <= 0) refuse(m, ONNX_NOT_OURS, "a negative step");
        if (has_steps) step[axis] = steps[i];
        int64_t a = starts[i] < 0 ? starts[i] + size : starts[i]; // ours are not clamped
        int64_t b = ends[i] < 0 ? ends[i] + size : ends[i];
        from[axis] = a < 0 ? 0 : a > size ? size : a;
        to[axis] = b < from[axis] ? from[axis] : b > size ? size : b;
    }
    Attr attrs[3] = {size_list(m, from, (uint32_t)rank), size_list(m, to, (uint32_t)rank),
                     int_list(m, step, (uint32_t)rank)};
    result(m, 0, apply(m, op, 1, &x, attrs));
}

static void map_identity(Map *m, OpId op) {
    (void)op;
    result(m, 0, input(m, 0));
}

typedef struct Row {
    const char *onnx;
    OpId op;
    void (*map)(Map *m, OpId op);
} Row;

static const Row rows[] = {
    {"Abs", OP_ABS, map_plain},
    {"Add", OP_ADD, map_plain},
    {"And", OP_LOGICAL_AND, map_plain},
    {"ArgMax", OP_ARGMAX, map_arg},
    {"ArgMin", OP_ARGMIN, map_arg},
    {"AveragePool", OP_AVG_POOL2D, map_pool},
    {"BatchNormalization", OP_BATCH_NORM, map_batch_norm},
    {"Cast", OP_CAST, map_cast},
    {"Ceil", OP_CEIL, map_plain},
    {"Clip", OP_CLIP, map_clip},
    {"Concat", OP_CONCAT, map_concat},
    {"Conv", OP_CONV2D, map_conv},
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
    {"GlobalAveragePool", OP_MEAN, map_global_pool},
    {"GlobalMaxPool", OP_MAX, map_global_pool},
    {"Greater", OP_GREATER, map_plain},
    {"GreaterOrEqual", OP_GREATER_EQUAL, map_plain},
    {"GroupNormalization", OP_GROUP_NORM, map_group_norm},
    {"HardSigmoid", OP_CLIP, map_hardsigmoid},
    {"HardSwish", OP_HARDSWISH, map_plain},
    {"Identity", OP_NONE, map_identity},
    {"LayerNormalization", OP_LAYER_NORM, map_norm},
    {"LeakyRelu", OP_LEAKY_RELU, map_alpha},
    {"Less", OP_LESS, map_plain},
    {"LessOrEqual", OP_LESS_EQUAL, map_plain},
    {"Log", OP_LOG, map_plain},
    {"LogSoftmax", OP_LOG_SOFTMAX, map_axis},
    {"MatMul", OP_MATMUL, map_plain},
    {"Max", OP_MAXIMUM, map_fold},
    {"MaxPool", OP_MAX_POOL2D, map_pool},
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
    Map m = {.import = import, .node = node};
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
