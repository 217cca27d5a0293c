#include "passes/simplify.h"

#include <math.h>

const Node *simplify_def(const Builder *b, ValueId value) {
    NodeId id = value ? graph_value(b->g, value)->node : 0;
    const Node *node = graph_node(b->g, id);
    return id && node->kind == NODE_OP ? node : NULL;
}

static bool is_op(const Builder *b, ValueId value, OpId op) {
    const Node *node = simplify_def(b, value);
    return node && node->op == op;
}

// Whether every element is the number `wanted` (with its sign, where it is 0).
static bool is_number(const Builder *b, ValueId value, double wanted) {
    const Node *node = simplify_def(b, value);
    while (node && (node->op == OP_BROADCAST_TO || move_is_reshape(node->op)))
        node = simplify_def(b, node->operand[0]);
    if (!node || node->op != OP_FULL) return false;
    const Attr *attr = build_attr(node, "value");
    if (attr->is_size) return false;
    double number = attr->is_float ? attr->f : (double)attr->i;
    return number == wanted && !signbit(number) == !signbit(wanted);
}

static bool keeps_type(const Builder *b, ValueId x, const Type *result) {
    Type type = build_type(b, x);
    return x && type_equal(&type, result);
}

// x op number that is x, for every x. x + 0.0 is not: it turns -0 into 0.
static bool leaves_left(const Builder *b, OpId op, ValueId y, bool is_float) {
    switch (op) {
    case OP_ADD: return is_number(b, y, is_float ? -0.0 : 0);
    case OP_SUBTRACT: return is_number(b, y, 0);
    case OP_MULTIPLY:
    case OP_DIVIDE:
    case OP_POW: return is_number(b, y, 1);
    case OP_FLOOR_DIVIDE: return !is_float && is_number(b, y, 1);
    default: return false;
    }
}

static bool leaves_right(const Builder *b, OpId op, ValueId x, bool is_float) {
    return (op == OP_ADD || op == OP_MULTIPLY) && leaves_left(b, op, x, is_float);
}

// Whether every value of `narrow` is one of `wide`.
static bool holds(DType wide, DType narrow) {
    if (wide == narrow) return true;
    switch (narrow) {
    case DT_F16:
    case DT_BF16: return wide == DT_F32;
    case DT_BOOL: return wide == DT_F32 || wide == DT_I32 || wide == DT_U32 || wide == DT_U8;
    case DT_I8: return wide == DT_F32 || wide == DT_I32;
    case DT_U8: return wide == DT_F32 || wide == DT_I32 || wide == DT_U32;
    default: return false;
    }
}

// cast(cast(x)) where the inner cast loses nothing; casts that round are never dropped.
static ValueId simplify_cast(Builder *b, const Node *node, ValueId x) {
    DType dtype = build_attr(node, "dtype")->dtype;
    if (build_type(b, x).dtype == dtype) return x;
    const Node *inner = simplify_def(b, x);
    if (!inner || inner->op != OP_CAST) return 0;
    ValueId source = inner->operand[0];
    DType from = build_type(b, source).dtype;
    if (!holds(build_type(b, x).dtype, from)) return 0;
    return from == dtype ? source : build_cast(b, NULL, source, dtype);
}

ValueId simplify_map(Builder *b, const Node *node, const Type *result, const ValueId *operand) {
    ValueId x = operand[0], y = node->operands > 1 ? operand[1] : 0;
    bool is_float = dtype_is_float(result->dtype);
    switch (node->op) {
    case OP_CAST: return simplify_cast(b, node, x);
    case OP_NEGATIVE:
    case OP_LOGICAL_NOT: // twice is not at all
        if (is_op(b, x, node->op)) return simplify_def(b, x)->operand[0];
        return 0;
    case OP_RELU:
    case OP_ABS:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_ROUND:
    case OP_SIGN: return is_op(b, x, node->op) ? x : 0; // twice is once
    case OP_MAXIMUM:
    case OP_MINIMUM:
    case OP_LOGICAL_AND:
    case OP_LOGICAL_OR: return x == y ? x : 0;
    case OP_WHERE: {
        ValueId z = operand[2];
        if (y == z && keeps_type(b, y, result)) return y;
        if (is_number(b, x, 1) && keeps_type(b, y, result)) return y;
        if (is_number(b, x, 0) && keeps_type(b, z, result)) return z;
        return 0;
    }
    default: break;
    }
    if (y && keeps_type(b, x, result) && leaves_left(b, node->op, y, is_float)) return x;
    if (y && keeps_type(b, y, result) && leaves_right(b, node->op, x, is_float)) return y;
    return 0;
}
