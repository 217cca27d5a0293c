#include "passes/build.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const Attr *build_attr(const Node *node, const char *name) {
    int index = op_attr_index(op_info(node->op), name);
    assert(index >= 0);
    return &node->attr[index];
}

void build_attrs(const Node *node, Attr attr[OP_ATTRS_MAX]) {
    for (uint32_t i = 0; i < op_info(node->op)->attrs; i++) attr[i] = node->attr[i];
}

uint32_t reduce_axes(const Node *node, uint32_t rank) {
    const OpInfo *op = op_info(node->op);
    const Attr *axis = build_attr(node, "axis");
    if (op->attr[op_attr_index(op, "axis")].kind == ATTR_INT) return 1u << axis->i;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (!axis->present || attr_ints_has(axis, i)) mask |= 1u << i;
    return mask;
}

static bool makes_constant(const Graph *g, const Node *node, const bool *constant) {
    const OpInfo *op = op_info(node->op);
    const Type *type = &graph_value(g, node->result[0])->type;
    for (uint32_t i = 0; i < type->rank; i++)
        if (!dim_is_const(g->dims, type->size[i], NULL)) return false;
    if (node->op == OP_PARAM || node->op == OP_CONST || node->op == OP_FULL ||
        node->op == OP_ARANGE)
        return true;
    if (op->class != OC_MAP && op->class != OC_MOVE) return false;
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && !constant[node->operand[i]]) return false;
    return true;
}

bool *build_constants(const Graph *g) {
    bool *constant = arena_alloc(g->arena, g->values.len * sizeof *constant);
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        bool own = node->kind == NODE_OP && node->results && makes_constant(g, node, constant);
        for (uint32_t i = 0; i < node->results; i++) constant[node->result[i]] = own;
    }
    return constant;
}

bool move_is_reshape(OpId op) {
    return op == OP_RESHAPE || op == OP_FLATTEN || op == OP_EXPAND_DIMS || op == OP_SQUEEZE;
}

bool move_is_permute(OpId op) {
    return op == OP_TRANSPOSE || op == OP_PERMUTE_DIMS;
}

void move_axes(const Node *node, uint32_t rank, uint8_t *axes) {
    for (uint32_t i = 0; i < rank; i++) axes[i] = (uint8_t)i;
    if (node->op == OP_PERMUTE_DIMS) {
        for (uint32_t i = 0; i < rank; i++) axes[i] = (uint8_t)build_attr(node, "axes")->ints.at[i];
    } else {
        int64_t x = build_attr(node, "a")->i, y = build_attr(node, "b")->i;
        axes[x] = (uint8_t)y;
        axes[y] = (uint8_t)x;
    }
}

Type node_type(Rewrite *rewrite, const Node *node) {
    return graph_value(rewrite->from, node->result[0])->type;
}

ValueId node_operand(Rewrite *rewrite, const Node *node, uint32_t index) {
    return index < node->operands ? rewrite_get(rewrite, node->operand[index]) : 0;
}

Builder build_begin(Rewrite *rewrite, NodeId id) {
    const Node *node = graph_node(rewrite->from, id);
    const char *name = graph_value(rewrite->from, node->result[0])->name;
    const char *op = op_info(node->op)->name;
    const char *dot = strrchr(name, '.');
    const Attr *reason = node->op == OP_CONTRACT ? build_attr(node, "reason") : NULL;
    bool named_after_op = strcmp(dot ? dot + 1 : name, op) == 0;
    return (Builder){
        .g = rewrite->to,
        .diags = rewrite->ctx->diags,
        .prefix = named_after_op ? name : arena_printf(rewrite->to->arena, "%s.%s", name, op),
        .name = name,
        .loc = node->loc,
        .locs = node->locs,
        .reason = reason && reason->present ? reason->s : NULL,
    };
}

static ValueId add(Builder *b, OpId op, const char *part, const ValueId *operand, uint32_t operands,
                   const Attr *attr, bool inline_view) {
    uint32_t required = op_required_operands(op_info(op));
    for (uint32_t i = 0; i < operands && !b->failed; i++)
        if (!operand[i] && i < required) b->failed = true;
    if (b->failed) return 0;
    const char *name = part ? arena_printf(b->g->arena, "%s.%s", b->prefix, part) : b->name;
    bool unnamed = inline_view && op_is_view(op_info(op));
    NodeSpec spec = {.op = op,
                     .operand = operand,
                     .operands = operands,
                     .attr = attr,
                     .inline_view = inline_view,
                     .loc = b->loc,
                     .locs = b->locs,
                     .name = unnamed ? NULL : name,
                     .exact_name = !part && !unnamed};
    NodeId node = graph_add(b->g, b->diags, &spec);
    b->failed = node == 0;
    return node ? graph_result(b->g, node, 0) : 0;
}

ValueId build_op(Builder *b, OpId op, const char *part, const ValueId *operand, uint32_t operands,
                 const Attr *attr) {
    return add(b, op, part, operand, operands, attr, b->views && op_is_view(op_info(op)));
}

ValueId build_map1(Builder *b, OpId op, const char *part, ValueId x) {
    return build_op(b, op, part, &x, 1, NULL);
}

ValueId build_map2(Builder *b, OpId op, const char *part, ValueId x, ValueId y) {
    return build_op(b, op, part, (ValueId[]){x, y}, 2, NULL);
}

static bool same_sizes(const Type *type, uint32_t rank, const Dim *size) {
    return type->rank == rank && (!rank || memcmp(type->size, size, rank * sizeof *size) == 0);
}

ValueId build_like(Builder *b, const Node *node, const char *part, const ValueId *operand) {
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    return build_op(b, node->op, part, operand, node->operands, attr);
}

bool build_same_shape(const Type *a, const Type *b) {
    return same_sizes(a, b->rank, b->size);
}

Type build_type(const Builder *b, ValueId value) {
    return value ? graph_value(b->g, value)->type : (Type){0};
}

DimTable *build_dims(const Builder *b) {
    return b->g->dims;
}

// Attributes of an op: defaults, then those given by name.
typedef struct Attrs {
    const OpInfo *op;
    Attr at[OP_ATTRS_MAX];
} Attrs;

static Attrs attrs_of(const Builder *b, OpId op) {
    Attrs attrs = {.op = op_info(op)};
    op_attr_defaults(b->g->dims, b->g->arena, attrs.op, attrs.at);
    return attrs;
}

static void set(Attrs *attrs, const char *name, Attr value) {
    int index = op_attr_index(attrs->op, name);
    assert(index >= 0);
    attrs->at[index] = value;
}

static ValueId unary(Builder *b, const char *part, ValueId x, const Attrs *attrs) {
    return build_op(b, attrs->op->id, part, &x, 1, attrs->at);
}

ValueId build_cast(Builder *b, const char *part, ValueId x, DType dtype) {
    if (b->failed || !x || build_type(b, x).dtype == dtype) return x;
    Attrs attrs = attrs_of(b, OP_CAST);
    set(&attrs, "dtype", attr_dtype(dtype));
    return unary(b, part, x, &attrs);
}

ValueId build_narrow(Builder *b, const char *part, ValueId x, DType dtype) {
    if (b->failed || !x) return 0;
    if (build_type(b, x).dtype != DT_F32 || (dtype != DT_F16 && dtype != DT_BF16))
        return build_cast(b, part, x, dtype);
    Attrs attrs = attrs_of(b, OP_NARROW);
    set(&attrs, "dtype", attr_dtype(dtype));
    return unary(b, part, x, &attrs);
}

ValueId build_stored(Builder *b, const char *part, ValueId x) {
    if (b->failed || !x) return 0;
    Attrs attrs = attrs_of(b, OP_CAST);
    set(&attrs, "dtype", attr_dtype(build_type(b, x).dtype));
    return unary(b, part, x, &attrs);
}

ValueId build_permute(Builder *b, const char *part, ValueId x, const uint8_t *axes) {
    if (b->failed || !x) return 0;
    uint32_t rank = build_type(b, x).rank;
    int64_t list[RANK_MAX];
    bool same = true;
    for (uint32_t i = 0; i < rank; i++) {
        list[i] = axes[i];
        same &= axes[i] == i;
    }
    if (same) return x;
    Attrs attrs = attrs_of(b, OP_PERMUTE_DIMS);
    set(&attrs, "axes", attr_ints(list, rank));
    return unary(b, part, x, &attrs);
}

ValueId build_reshape(Builder *b, const char *part, ValueId x, uint32_t rank, const Dim *size) {
    Type type = build_type(b, x);
    if (b->failed || !x || same_sizes(&type, rank, size)) return x;
    Attrs attrs = attrs_of(b, OP_RESHAPE);
    set(&attrs, "shape", attr_sizes(size, rank));
    return unary(b, part, x, &attrs);
}

ValueId build_broadcast(Builder *b, ValueId x, uint32_t rank, const Dim *size) {
    Type type = build_type(b, x);
    if (b->failed || !x || same_sizes(&type, rank, size)) return x;
    Attrs attrs = attrs_of(b, OP_BROADCAST_TO);
    set(&attrs, "shape", attr_sizes(size, rank));
    return unary(b, "broadcast", x, &attrs);
}

ValueId build_slice(Builder *b, const char *part, ValueId x, uint32_t axis, Dim start, Dim stop,
                    int64_t step) {
    if (b->failed || !x) return 0;
    Type type = build_type(b, x);
    if (step == 1 && dim_is(b->g->dims, start, 0) && stop == type.size[axis]) return x;
    Dim starts[RANK_MAX], stops[RANK_MAX];
    int64_t steps[RANK_MAX];
    for (uint32_t i = 0; i < type.rank; i++) {
        starts[i] = i == axis ? start : dim_const(b->g->dims, 0);
        stops[i] = i == axis ? stop : type.size[i];
        steps[i] = i == axis ? step : 1;
    }
    Attrs attrs = attrs_of(b, OP_SLICE);
    set(&attrs, "starts", attr_sizes(starts, type.rank));
    set(&attrs, "stops", attr_sizes(stops, type.rank));
    set(&attrs, "steps", attr_ints(steps, type.rank));
    return unary(b, part, x, &attrs);
}

ValueId build_expand(Builder *b, const char *part, ValueId x, uint32_t axis) {
    Attrs attrs = attrs_of(b, OP_EXPAND_DIMS);
    set(&attrs, "axis", attr_int(axis));
    return unary(b, part, x, &attrs);
}

ValueId build_expand_to(Builder *b, ValueId x, uint32_t after) {
    for (uint32_t i = 0; i < after && x; i++) x = build_expand(b, "keep", x, build_type(b, x).rank);
    return x;
}

ValueId build_pad(Builder *b, ValueId x, uint32_t axis, Dim before, Dim after) {
    return build_pad_with(b, x, axis, before, after, 0);
}

ValueId build_pad_with(Builder *b, ValueId x, uint32_t axis, Dim before, Dim after, int64_t value) {
    if (b->failed || !x) return 0;
    if (dim_is(b->g->dims, before, 0) && dim_is(b->g->dims, after, 0)) return x;
    Type type = build_type(b, x);
    Dim widths[2 * RANK_MAX];
    for (uint32_t i = 0; i < type.rank; i++) {
        widths[2 * i] = i == axis ? before : dim_const(b->g->dims, 0);
        widths[2 * i + 1] = i == axis ? after : dim_const(b->g->dims, 0);
    }
    Attrs attrs = attrs_of(b, OP_PAD);
    set(&attrs, "widths", attr_pairs(widths, type.rank));
    if (value) set(&attrs, "value", attr_int(value));
    return unary(b, "pad", x, &attrs);
}

ValueId build_flip(Builder *b, const char *part, ValueId x, uint32_t axis) {
    Attrs attrs = attrs_of(b, OP_FLIP);
    int64_t axes[] = {axis};
    set(&attrs, "axis", attr_ints(axes, 1));
    return unary(b, part, x, &attrs);
}

ValueId build_where(Builder *b, const char *part, ValueId cond, ValueId x, ValueId y) {
    return build_op(b, OP_WHERE, part, (ValueId[]){cond, x, y}, 3, NULL);
}

ValueId build_gather(Builder *b, OpId op, const char *part, ValueId x, ValueId index,
                     uint32_t axis) {
    Attrs attrs = attrs_of(b, op);
    set(&attrs, "axis", attr_int(axis));
    return build_op(b, op, part, (ValueId[]){x, index}, 2, attrs.at);
}

ValueId build_unfold(Builder *b, ValueId x, WindowAxis window, double value) {
    if (b->failed || !x) return 0;
    Attrs attrs = attrs_of(b, OP_UNFOLD);
    set(&attrs, "axis", attr_int(window.axis));
    set(&attrs, "kernel", attr_size(window.kernel));
    set(&attrs, "count", attr_size(window.output));
    set(&attrs, "stride", attr_int(window.stride));
    set(&attrs, "dilation", attr_int(window.dilation));
    set(&attrs, "before", attr_size(window.before));
    bool is_float = dtype_is_float(build_type(b, x).dtype);
    set(&attrs, "value", is_float ? attr_float(value) : attr_int((int64_t)value));
    return unary(b, "unfold", x, &attrs);
}

static ValueId full(Builder *b, DType dtype, Attr value) {
    Attrs attrs = attrs_of(b, OP_FULL);
    set(&attrs, "shape", attr_sizes(NULL, 0));
    set(&attrs, "value", value);
    set(&attrs, "dtype", attr_dtype(dtype));
    return add(b, OP_FULL, "number", NULL, 0, attrs.at, true);
}

ValueId build_number(Builder *b, DType dtype, double value) {
    return full(b, dtype, dtype_is_float(dtype) ? attr_float(value) : attr_int((int64_t)value));
}

ValueId build_size(Builder *b, DType dtype, Dim size) {
    int64_t value;
    if (dim_is_const(b->g->dims, size, &value)) return build_number(b, dtype, (double)value);
    return full(b, dtype, attr_size(size));
}

ValueId build_counter(Builder *b, Dim count) {
    Attrs attrs = attrs_of(b, OP_ARANGE);
    set(&attrs, "start", attr_size(dim_const(b->g->dims, 0)));
    set(&attrs, "stop", attr_size(count));
    set(&attrs, "dtype", attr_dtype(DT_I32));
    return build_op(b, OP_ARANGE, "index", NULL, 0, attrs.at);
}

// Whether each element is folded alone and stays what it is; *type becomes that of the result.
static bool reduces_nothing(const Builder *b, OpId op, Type *type, uint32_t mask) {
    if (op == OP_ARGMAX || op == OP_ARGMIN || dtype_bits(type->dtype) < 16) return false;
    Type kept = {.dtype = type->dtype};
    for (uint32_t i = 0; i < type->rank; i++) {
        if (!(mask >> i & 1))
            kept.size[kept.rank++] = type->size[i];
        else if (!dim_is(b->g->dims, type->size[i], 1))
            return false;
    }
    *type = kept;
    return true;
}

ValueId build_reduce(Builder *b, OpId op, const char *part, ValueId x, uint32_t mask) {
    if (b->failed || !x) return 0;
    Type type = build_type(b, x);
    uint32_t rank = type.rank, count = 0;
    if (reduces_nothing(b, op, &type, mask)) return build_reshape(b, part, x, type.rank, type.size);
    Attrs attrs = attrs_of(b, op);
    int64_t list[RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        if (mask >> i & 1) list[count++] = i;
    bool one = attrs.op->attr[op_attr_index(attrs.op, "axis")].kind == ATTR_INT;
    set(&attrs, "axis", one ? attr_int(list[0]) : attr_ints(list, count));
    return unary(b, part, x, &attrs);
}

ValueId build_contract(Builder *b, const char *part, ValueId x, ValueId y, int64_t batch, int64_t k,
                       DType dtype) {
    Attrs attrs = attrs_of(b, OP_CONTRACT);
    set(&attrs, "batch", attr_int(batch));
    set(&attrs, "k", attr_int(k));
    set(&attrs, "dtype", attr_dtype(dtype));
    if (b->reason) set(&attrs, "reason", attr_string(b->reason));
    return build_op(b, OP_CONTRACT, part, (ValueId[]){x, y}, 2, attrs.at);
}

ValueId build_divide_by(Builder *b, const char *part, ValueId x, Dim count) {
    if (b->failed || !x) return 0;
    int64_t value;
    DType dtype = build_type(b, x).dtype;
    if (dim_is_const(b->g->dims, count, &value)) {
        if (value == 1 && part) return x;
        if (value > 0 && (value & (value - 1)) == 0)
            return build_map2(b, OP_MULTIPLY, part, x, build_number(b, dtype, 1.0 / (double)value));
    }
    return build_map2(b, OP_DIVIDE, part, x, build_size(b, dtype, count));
}
