// Scalar definitions of ir/ops.def in f64 and wrapping integers.
#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <string.h>

typedef struct ScalarCall {
    const Node *node;
    DType dtype; // the operands' common dtype
    DType result;
    DType x_dtype; // of the first operand (cast)
    double x[3];
    bool has[3];
    bool y_constant; // the second operand is the same number everywhere, known when compiling
} ScalarCall;

static double fix(const ScalarCall *c, int64_t value) {
    return number_wrap(c->dtype, value);
}

static bool whole(const ScalarCall *c) {
    return dtype_is_int(c->dtype);
}

static double s_add(const ScalarCall *c, double x, double y) {
    return whole(c) ? fix(c, (int64_t)x + (int64_t)y) : x + y;
}

static double s_sub(const ScalarCall *c, double x, double y) {
    return whole(c) ? fix(c, (int64_t)x - (int64_t)y) : x - y;
}

static double s_mul(const ScalarCall *c, double x, double y) {
    if (!whole(c)) return x * y;
    return fix(c, (int64_t)((uint64_t)(int64_t)x * (uint64_t)(int64_t)y));
}

static double s_floordiv(const ScalarCall *c, double x, double y) {
    if (!whole(c)) return floor(x / y);
    return y == 0 ? 0 : fix(c, floor_div((int64_t)x, (int64_t)y));
}

static double s_rem(const ScalarCall *c, double x, double y) {
    if (whole(c)) return y == 0 ? x : fix(c, floor_mod((int64_t)x, (int64_t)y));
    double rest = fmod(x, y); // exact; then the sign of y
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : copysign(rest, rest == 0 ? y : rest);
}

static double s_pow(const ScalarCall *c, double x, double y) {
    if (whole(c)) {
        if (y < 0) return x == 1 ? 1 : x == -1 ? (fmod(y, 2) != 0 ? -1 : 1) : 0;
        uint32_t base = (uint32_t)(int64_t)x, result = 1;
        for (uint32_t n = (uint32_t)(int64_t)y; n; n >>= 1, base *= base) {
            if (n & 1) result *= base;
        }
        return number_wrap(c->dtype, result);
    }
    bool repeated = c->y_constant && y == trunc(y) && fabs(y) <= 16;
    return x < 0 && !repeated ? (double)NAN : pow(x, y);
}

static double s_max(double x, double y) {
    return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y;
}

static double s_min(double x, double y) {
    return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y;
}

static double s_sign(double x) {
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double s_tail(double x) {
    return isinf(x) ? 0 : fabs(x) * 0.5 * erfc(fabs(x) * 0.70710678118654752440);
}

static double s_cast(const ScalarCall *c, double x) {
    if (dtype_is_int(c->result) && dtype_is_int(c->x_dtype)) {
        return number_wrap(c->result, (int64_t)x);
    }
    return number_cast(c->result, x);
}

static double s_attr(const ScalarCall *c, const char *name) {
    const Attr *attr = &c->node->attr[op_attr_index(op_info(c->node->op), name)];
    return attr->f;
}

static bool s_word(const ScalarCall *c, const char *name, const char *text) {
    return !strcmp(c->node->attr[op_attr_index(op_info(c->node->op), name)].s, text);
}

#define SCALAR(...)        (__VA_ARGS__)
#define NO_SCALAR          NAN
#define X                  c->x[0]
#define Y                  c->x[1]
#define Z                  c->x[2]
#define C(number)          (double)(number)
#define A(name)            s_attr(c, #name)
#define HAS(operand)       HAS_##operand
#define HAS_X              c->has[0]
#define HAS_Y              c->has[1]
#define HAS_Z              c->has[2]
#define WORD(name, text)   s_word(c, #name, text)
#define CHOOSE(test, a, b) ((test) ? (a) : (b))
#define ADD(x, y)          s_add(c, x, y)
#define SUB(x, y)          s_sub(c, x, y)
#define MUL(x, y)          s_mul(c, x, y)
#define DIV(x, y)          ((x) / (y))
#define FLOORDIV(x, y)     s_floordiv(c, x, y)
#define REM(x, y)          s_rem(c, x, y)
#define POW(x, y)          s_pow(c, x, y)
#define MAX(x, y)          s_max(x, y)
#define MIN(x, y)          s_min(x, y)
#define NEG(x)             (whole(c) ? fix(c, -(int64_t)(x)) : -(x))
#define ABS(x)             (whole(c) ? fix(c, (int64_t)fabs(x)) : fabs(x))
#define SIGN(x)            s_sign(x)
#define EXP(x)             exp(x)
#define LOG(x)             log(x)
#define SQRT(x)            sqrt(x)
#define RSQRT(x)           (1 / sqrt(x))
#define RECIP(x)           (1 / (x))
#define ERF(x)             erf(x)
#define TAIL(x)            s_tail(x)
#define SIN(x)             sin(x)
#define COS(x)             cos(x)
#define TANH(x)            tanh(x)
#define FLOOR(x)           floor(x)
#define CEIL(x)            ceil(x)
#define ROUND(x)           rint(x)
#define EQ(x, y)           ((x) == (y))
#define NE(x, y)           ((x) != (y))
#define LT(x, y)           ((x) < (y))
#define LE(x, y)           ((x) <= (y))
#define GT(x, y)           ((x) > (y))
#define GE(x, y)           ((x) >= (y))
#define AND(x, y)          ((x) != 0 && (y) != 0)
#define OR(x, y)           ((x) != 0 || (y) != 0)
#define NOT(x)             ((x) == 0)
#define SELECT(x, y, z)    ((x) != 0 ? (y) : (z))
#define CAST(x)            s_cast(c, x)

static double scalar_value(const ScalarCall *c) {
    switch (c->node->op) {
#define OP(id, name, class, gone_by, flags, precision, dtypes, operands, attrs, infer, scalar,     \
           doc)                                                                                    \
    case OP_##id:                                                                                  \
        return scalar;
#include "ir/ops.def"
#undef OP
    case OP_NONE:
    case OP_COUNT: break;
    }
    return NAN;
}

// Index of an operand that broadcasts to the result (NumPy's rule, from the right).
static double operand_at(Eval *e, ValueId value, uint8_t rank, const int64_t *index) {
    const Tensor *shape = eval_shape_of(e, value);
    int64_t own[RANK_MAX];
    for (int i = 0; i < shape->rank; i++) {
        own[i] = shape->size[i] == 1 ? 0 : index[rank - shape->rank + i];
    }
    return eval_at(e, value, own);
}

static bool is_constant(const Eval *e, ValueId value) {
    const Node *node = graph_node(e->graph, graph_value(e->graph, value)->node);
    while (graph_value(e->graph, value)->node && node->kind == NODE_OP &&
           op_info(node->op)->class == OC_MOVE && node->operands == 1) {
        value = node->operand[0];
        node = graph_node(e->graph, graph_value(e->graph, value)->node);
    }
    return graph_value(e->graph, value)->node && node->kind == NODE_OP &&
           (node->op == OP_FULL || node->op == OP_CONST);
}

double eval_scalar(Eval *e, const Node *node, const int64_t *index) {
    const Type *result = &graph_value(e->graph, node->result[0])->type;
    const OpInfo *op = op_info(node->op);
    ScalarCall call = {.node = node, .result = result->dtype};
    for (uint32_t i = 0; i < node->operands && i < 3; i++) {
        if (!node->operand[i]) continue;
        DType dtype = graph_value(e->graph, node->operand[i])->type.dtype;
        if (op->operand[i].dtype == OD_SAME && !call.dtype) call.dtype = dtype;
        if (i == 0) call.x_dtype = dtype;
        call.has[i] = true;
        call.x[i] = operand_at(e, node->operand[i], result->rank, index);
    }
    if (node->op == OP_POW) call.y_constant = is_constant(e, node->operand[1]);
    return scalar_value(&call);
}
