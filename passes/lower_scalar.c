// The scalar definitions of ir/ops.def as kernel IR: f32 arithmetic for floats, 32-bit integers
// with the language's rules (docs/language.md, "Semantics").
//
// The macros below evaluate their arguments in order, one statement each, so that the instructions
// come out the same whatever order a C compiler likes for arguments of a call.
#include <math.h>
#include <string.h>

#include "passes/lower.h"
#include "passes/lower_math.h"

#pragma GCC diagnostic ignored "-Wshadow"

typedef struct ScalarCall {
    KBuilder *b;
    const Node *node;
    DType dtype;  // of the operands
    DType result; // of the node
    KVal x, y, z; // 0: absent
    bool shares;  // y divides many values of x: one a row
} ScalarCall;

static bool scalar_is_float(const ScalarCall *s) {
    return dtype_is_float(s->dtype);
}

static bool scalar_is_unsigned(const ScalarCall *s) {
    return s->dtype == DT_U32 || s->dtype == DT_U8;
}

static const Attr *scalar_find(const ScalarCall *s, const char *name) {
    return &s->node->attr[op_attr_index(op_info(s->node->op), name)];
}

static KVal scalar_c(ScalarCall *s, double value) {
    return scalar_is_float(s) ? k_f32(s->b, (float)value) : k_i32(s->b, (int32_t)value);
}

static KVal scalar_add(ScalarCall *s, KVal x, KVal y) {
    return scalar_is_float(s) ? k_fadd(s->b, x, y) : k_iadd(s->b, x, y);
}

static KVal scalar_sub(ScalarCall *s, KVal x, KVal y) {
    return scalar_is_float(s) ? k_fsub(s->b, x, y) : k_isub(s->b, x, y);
}

static KVal scalar_mul(ScalarCall *s, KVal x, KVal y) {
    return scalar_is_float(s) ? k_fmul(s->b, x, y) : k_imul(s->b, x, y);
}

// x / y by way of 1 / y, which is the same for many x: two roundings, well within what a device's
// division may be off (2.5 units in the last place). Where 1 / y would be no normal number both
// sides are scaled first, so that no quotient is lost.
static KVal scalar_div_shared(KBuilder *b, KVal x, KVal y) {
    KVal size = k_fabs(b, y), one = k_f32(b, 1);
    KVal scale = k_select(b, k_flt(b, size, k_f32(b, 0x1p-100f)), k_f32(b, 0x1p60f), one);
    scale = k_select(b, k_flt(b, k_f32(b, 0x1p100f), size), k_f32(b, 0x1p-60f), scale);
    KVal inverse = k_fdiv(b, one, k_fmul(b, y, scale));
    return k_fmul(b, k_fmul(b, x, scale), inverse);
}

static KVal scalar_div(ScalarCall *s, KVal x, KVal y) {
    return s->shares && y == s->y ? scalar_div_shared(s->b, x, y) : k_fdiv(s->b, x, y);
}

// floor(x / y) of the exact quotient: a rounded quotient that is one off leaves a rest outside
// [0, |y|) in y's direction.
static KVal scalar_float_floordiv(KBuilder *b, KVal x, KVal y) {
    KVal zero = k_f32(b, 0), one = k_f32(b, 1);
    KVal quotient = k_floor(b, k_fdiv(b, x, y));
    KVal rest = math_rest(b, x, quotient, y);
    KVal along = k_select(b, k_flt(b, y, zero), k_fneg(b, rest), rest);
    KVal low = k_select(b, k_flt(b, along, zero), k_fsub(b, quotient, one), quotient);
    return k_select(b, k_fge(b, along, k_fabs(b, y)), k_fadd(b, quotient, one), low);
}

// Remainder toward zero, then brought into [0, |y|) in y's direction.
static KVal scalar_float_rem(KBuilder *b, KVal x, KVal y) {
    KVal zero = k_f32(b, 0), size = k_fabs(b, y), negative = k_flt(b, y, zero);
    KVal quotient = k_trunc(b, k_fdiv(b, x, y));
    KVal rest = math_rest(b, x, quotient, y);
    rest = k_select(b, k_feq(b, quotient, zero), x, rest); // also where y is infinite
    KVal along = k_select(b, negative, k_fneg(b, rest), rest);
    KVal high = k_select(b, k_fge(b, along, size), k_fsub(b, along, size), along);
    along = k_select(b, k_flt(b, along, zero), k_fadd(b, along, size), high);
    return k_select(b, negative, k_fneg(b, along), along);
}

static KVal scalar_floordiv(ScalarCall *s, KVal x, KVal y) {
    KBuilder *b = s->b;
    if (scalar_is_float(s)) return scalar_float_floordiv(b, x, y);
    KVal zero = k_i32(b, 0), one = k_i32(b, 1), minus_one = k_i32(b, -1);
    KVal none = k_ieq(b, y, zero);
    if (scalar_is_unsigned(s)) {
        KVal quotient = k_udiv(b, x, k_select(b, none, one, y));
        return k_select(b, none, zero, quotient);
    }
    KVal flip = k_ieq(b, y, minus_one); // INT_MIN / -1 overflows; -x wraps
    KVal divisor = k_select(b, k_or(b, none, flip), one, y);
    KVal quotient = k_sdiv(b, x, divisor);
    KVal rest = k_isub(b, x, k_imul(b, quotient, divisor));
    KVal below = k_and(b, k_ine(b, rest, zero), k_slt(b, k_xor(b, rest, divisor), zero));
    quotient = k_iadd(b, quotient, k_select(b, below, minus_one, zero));
    quotient = k_select(b, flip, k_isub(b, zero, x), quotient);
    return k_select(b, none, zero, quotient);
}

static KVal scalar_rem(ScalarCall *s, KVal x, KVal y) {
    if (scalar_is_float(s)) return scalar_float_rem(s->b, x, y);
    return scalar_sub(s, x, scalar_mul(s, y, scalar_floordiv(s, x, y)));
}

// Integers: squaring, by the exponent's bits. A negative exponent gives 1 / x^|y| rounded toward
// zero: 0 but for x = 1 and -1.
static KVal scalar_integer_pow(ScalarCall *s, KVal x, KVal y) {
    KBuilder *b = s->b;
    KVal zero = k_i32(b, 0), one = k_i32(b, 1);
    unsigned lanes =
        k_type(b, x).lanes > k_type(b, y).lanes ? k_type(b, x).lanes : k_type(b, y).lanes;
    KVal init[3] = {k_splat(b, one, lanes), k_splat(b, x, lanes), k_splat(b, y, lanes)};
    KVal now[3], out[3];
    if (k_type(b, x).lanes == lanes) init[1] = x;
    if (k_type(b, y).lanes == lanes) init[2] = y;
    k_loop_begin(b, zero, k_i32(b, 32), one, K_LOOP_PLAIN, 3, init, now);
    KVal bit = k_ine(b, k_and(b, now[2], one), zero);
    KVal next[3] = {k_select(b, bit, k_imul(b, now[0], now[1]), now[0]), k_imul(b, now[1], now[1]),
                    k_shr(b, now[2], one)};
    k_loop_end(b, next, out);
    if (scalar_is_unsigned(s)) return out[0];
    KVal minus_one = k_i32(b, -1), odd = k_ine(b, k_and(b, y, one), zero);
    KVal inverse =
        k_select(b, k_and(b, k_ieq(b, x, minus_one), odd), minus_one,
                 k_select(b, k_or(b, k_ieq(b, x, one), k_ieq(b, x, minus_one)), one, zero));
    return k_select(b, k_slt(b, y, zero), inverse, out[0]);
}

static KVal scalar_pow(ScalarCall *s, KVal x, KVal y) {
    return scalar_is_float(s) ? math_pow(s->b, x, y) : scalar_integer_pow(s, x, y);
}

KVal lower_larger(KBuilder *b, DType dtype, KVal x, KVal y) {
    if (dtype_is_float(dtype)) return k_select(b, k_or(b, k_fgt(b, x, y), k_fne(b, x, x)), x, y);
    return dtype_is_signed(dtype) ? k_smax(b, x, y) : k_umax(b, x, y);
}

KVal lower_smaller(KBuilder *b, DType dtype, KVal x, KVal y) {
    if (dtype_is_float(dtype)) return k_select(b, k_or(b, k_flt(b, x, y), k_fne(b, x, x)), x, y);
    return dtype_is_signed(dtype) ? k_smin(b, x, y) : k_umin(b, x, y);
}

static KVal scalar_max(ScalarCall *s, KVal x, KVal y) {
    return lower_larger(s->b, s->dtype, x, y);
}

static KVal scalar_min(ScalarCall *s, KVal x, KVal y) {
    return lower_smaller(s->b, s->dtype, x, y);
}

static KVal scalar_neg(ScalarCall *s, KVal x) {
    return scalar_is_float(s) ? k_fneg(s->b, x) : k_isub(s->b, k_i32(s->b, 0), x);
}

static KVal scalar_abs(ScalarCall *s, KVal x) {
    if (scalar_is_float(s)) return k_fabs(s->b, x);
    if (scalar_is_unsigned(s)) return x;
    return k_select(s->b, k_slt(s->b, x, k_i32(s->b, 0)), scalar_neg(s, x), x);
}

static KVal scalar_sign(ScalarCall *s, KVal x) {
    KBuilder *b = s->b;
    KVal zero = scalar_c(s, 0), one = scalar_c(s, 1), minus_one = scalar_c(s, -1);
    if (scalar_is_unsigned(s)) return k_select(b, k_ieq(b, x, zero), zero, one);
    if (scalar_is_float(s)) { // zero and NaN stay as they are
        KVal negative = k_select(b, k_flt(b, x, zero), minus_one, x);
        return k_select(b, k_flt(b, zero, x), one, negative);
    }
    KVal negative = k_select(b, k_slt(b, x, zero), minus_one, zero);
    return k_select(b, k_slt(b, zero, x), one, negative);
}

static KVal scalar_exp(ScalarCall *s, KVal x) {
    return k_exp(s->b, x);
}
static KVal scalar_log(ScalarCall *s, KVal x) {
    return math_log(s->b, x);
}
static KVal scalar_sqrt(ScalarCall *s, KVal x) {
    return k_sqrt(s->b, x);
}
static KVal scalar_rsqrt(ScalarCall *s, KVal x) {
    return k_rsqrt(s->b, x);
}
static KVal scalar_recip(ScalarCall *s, KVal x) {
    return k_fdiv(s->b, k_f32(s->b, 1), x);
}
static KVal scalar_erf(ScalarCall *s, KVal x) {
    return math_erf(s->b, x);
}
static KVal scalar_tail(ScalarCall *s, KVal x) {
    return s->result == DT_F16 ? math_tail_f16(s->b, x) : math_tail(s->b, x);
}
static KVal scalar_sin(ScalarCall *s, KVal x) {
    return math_sin(s->b, x);
}
static KVal scalar_cos(ScalarCall *s, KVal x) {
    return math_cos(s->b, x);
}
static KVal scalar_tanh(ScalarCall *s, KVal x) {
    return math_tanh(s->b, x);
}
static KVal scalar_floor(ScalarCall *s, KVal x) {
    return k_floor(s->b, x);
}
static KVal scalar_ceil(ScalarCall *s, KVal x) {
    return k_ceil(s->b, x);
}
static KVal scalar_round(ScalarCall *s, KVal x) {
    return k_round_even(s->b, x);
}

static KVal scalar_eq(ScalarCall *s, KVal x, KVal y) {
    if (scalar_is_float(s)) return k_feq(s->b, x, y);
    return s->dtype == DT_BOOL ? k_not(s->b, k_xor(s->b, x, y)) : k_ieq(s->b, x, y);
}

static KVal scalar_ne(ScalarCall *s, KVal x, KVal y) {
    if (scalar_is_float(s)) return k_fne(s->b, x, y);
    return s->dtype == DT_BOOL ? k_xor(s->b, x, y) : k_ine(s->b, x, y);
}

static KVal scalar_lt(ScalarCall *s, KVal x, KVal y) {
    if (scalar_is_float(s)) return k_flt(s->b, x, y);
    if (s->dtype == DT_BOOL) return k_and(s->b, k_not(s->b, x), y);
    return scalar_is_unsigned(s) ? k_ult(s->b, x, y) : k_slt(s->b, x, y);
}

static KVal scalar_le(ScalarCall *s, KVal x, KVal y) {
    if (scalar_is_float(s)) return k_fle(s->b, x, y);
    if (s->dtype == DT_BOOL) return k_or(s->b, k_not(s->b, x), y);
    return scalar_is_unsigned(s) ? k_ule(s->b, x, y) : k_sle(s->b, x, y);
}

static KVal scalar_gt(ScalarCall *s, KVal x, KVal y) {
    return scalar_lt(s, y, x);
}
static KVal scalar_ge(ScalarCall *s, KVal x, KVal y) {
    return scalar_le(s, y, x);
}
static KVal scalar_and(ScalarCall *s, KVal x, KVal y) {
    return k_and(s->b, x, y);
}
static KVal scalar_or(ScalarCall *s, KVal x, KVal y) {
    return k_or(s->b, x, y);
}
static KVal scalar_not(ScalarCall *s, KVal x) {
    return k_not(s->b, x);
}
static KVal scalar_select(ScalarCall *s, KVal x, KVal y, KVal z) {
    return k_select(s->b, x, y, z);
}
static KVal scalar_cast(ScalarCall *s, KVal x) {
    return lower_cast(s->b, x, s->dtype, s->result);
}

// Truncates, saturates; NaN gives 0. The instruction's result is used only where it is defined.
static KVal cast_float_to_int(KBuilder *b, KVal x, DType to) {
    KVal zero = k_f32(b, 0);
    if (to == DT_U32) {
        KVal inside = k_and(b, k_fgt(b, x, zero), k_flt(b, x, k_f32(b, 4294967296.0f)));
        KVal value = k_f_to_u(b, k_select(b, inside, x, zero));
        return k_select(b, k_fge(b, x, k_f32(b, 4294967296.0f)), k_i32(b, -1), value);
    }
    double low = to == DT_I8 ? -128 : to == DT_U8 ? 0 : -2147483648.0;
    double high = to == DT_I8 ? 127 : to == DT_U8 ? 255 : 2147483648.0;
    KVal over = k_fge(b, x, k_f32(b, (float)high)), under = k_fle(b, x, k_f32(b, (float)low));
    KVal inside = k_and(b, k_flt(b, x, k_f32(b, (float)high)), k_fgt(b, x, k_f32(b, (float)low)));
    KVal value = k_f_to_s(b, k_select(b, inside, x, zero));
    value = k_select(b, over, k_i32(b, (int32_t)(to == DT_I32 ? INT32_MAX : high)), value);
    return k_select(b, under, k_i32(b, (int32_t)low), value);
}

static KVal cast_int_to_int(KBuilder *b, KVal x, DType to) {
    if (to == DT_U8) return k_and(b, x, k_i32(b, 255));
    if (to == DT_I8) return k_sar(b, k_shl(b, x, k_i32(b, 24)), k_i32(b, 24));
    return x;
}

KVal lower_round(KBuilder *b, KVal x, DType dtype) {
    return dtype == DT_F16 ? k_round_f16(b, x) : dtype == DT_BF16 ? k_round_bf16(b, x) : x;
}

KVal lower_cast(KBuilder *b, KVal x, DType from, DType to) {
    if (from == to) return x;
    if (to == DT_BOOL)
        return dtype_is_float(from) ? k_fne(b, x, k_f32(b, 0)) : k_ine(b, x, k_i32(b, 0));
    if (from == DT_BOOL)
        return dtype_is_float(to) ? k_select(b, x, k_f32(b, 1), k_f32(b, 0))
                                  : k_select(b, x, k_i32(b, 1), k_i32(b, 0));
    if (dtype_is_float(from) && dtype_is_int(to)) return cast_float_to_int(b, x, to);
    if (dtype_is_int(from) && dtype_is_int(to)) return cast_int_to_int(b, x, to);
    if (dtype_is_int(from)) x = from == DT_U32 ? k_u_to_f(b, x) : k_s_to_f(b, x);
    return lower_round(b, x, to);
}

#define X                       s->x
#define Y                       s->y
#define Z                       s->z
#define C(number)               scalar_c(s, number)
#define A(name)                 scalar_c(s, scalar_find(s, #name)->f)
#define HAS(operand)            ((operand) != 0)
#define WORD(name, text)        (strcmp(scalar_find(s, #name)->s, text) == 0)
#define CHOOSE(condition, a, b) ((condition) ? (a) : (b))

#define CALL1(f, a)                                                                                \
    ({                                                                                             \
        KVal a_ = (a);                                                                             \
        scalar_##f(s, a_);                                                                         \
    })
#define CALL2(f, a, b)                                                                             \
    ({                                                                                             \
        KVal a_ = (a);                                                                             \
        KVal b_ = (b);                                                                             \
        scalar_##f(s, a_, b_);                                                                     \
    })
#define CALL3(f, a, b, c)                                                                          \
    ({                                                                                             \
        KVal a_ = (a);                                                                             \
        KVal b_ = (b);                                                                             \
        KVal c_ = (c);                                                                             \
        scalar_##f(s, a_, b_, c_);                                                                 \
    })
#define ADD(x, y)       CALL2(add, x, y)
#define SUB(x, y)       CALL2(sub, x, y)
#define MUL(x, y)       CALL2(mul, x, y)
#define DIV(x, y)       CALL2(div, x, y)
#define FLOORDIV(x, y)  CALL2(floordiv, x, y)
#define REM(x, y)       CALL2(rem, x, y)
#define POW(x, y)       CALL2(pow, x, y)
#define MAX(x, y)       CALL2(max, x, y)
#define MIN(x, y)       CALL2(min, x, y)
#define NEG(x)          CALL1(neg, x)
#define ABS(x)          CALL1(abs, x)
#define SIGN(x)         CALL1(sign, x)
#define EXP(x)          CALL1(exp, x)
#define LOG(x)          CALL1(log, x)
#define SQRT(x)         CALL1(sqrt, x)
#define RSQRT(x)        CALL1(rsqrt, x)
#define RECIP(x)        CALL1(recip, x)
#define ERF(x)          CALL1(erf, x)
#define TAIL(x)         CALL1(tail, x)
#define SIN(x)          CALL1(sin, x)
#define COS(x)          CALL1(cos, x)
#define TANH(x)         CALL1(tanh, x)
#define FLOOR(x)        CALL1(floor, x)
#define CEIL(x)         CALL1(ceil, x)
#define ROUND(x)        CALL1(round, x)
#define EQ(x, y)        CALL2(eq, x, y)
#define NE(x, y)        CALL2(ne, x, y)
#define LT(x, y)        CALL2(lt, x, y)
#define LE(x, y)        CALL2(le, x, y)
#define GT(x, y)        CALL2(gt, x, y)
#define GE(x, y)        CALL2(ge, x, y)
#define AND(x, y)       CALL2(and, x, y)
#define OR(x, y)        CALL2(or, x, y)
#define NOT(x)          CALL1(not, x)
#define SELECT(x, y, z) CALL3(select, x, y, z)
#define CAST(x)         CALL1(cast, x)
#define SCALAR(...)     (__VA_ARGS__)
#define NO_SCALAR       0

static KVal scalar_apply(ScalarCall *s) {
    switch (s->node->op) {
#define OP(id, name, class, gone_by, flags, precision, dtypes, operands, attrs, infer, scalar,     \
           doc)                                                                                    \
    case OP_##id:                                                                                  \
        return scalar;
#include "ir/ops.def"
#undef OP
    default: return 0;
    }
}

static bool scalar_is_bound(const Lower *l, KVal value) {
    for (uint32_t i = 0; value && i < l->bound.len; i++)
        if (l->bound.at[i].known == value) return true;
    return false;
}

KVal lower_scalar(Lower *l, const Node *node, DType operand_type, DType result_type,
                  const KVal *x) {
    ScalarCall call = {.b = l->b, .node = node, .dtype = operand_type, .result = result_type};
    call.x = x[0], call.y = x[1], call.z = x[2];
    if (dtype_is_float(operand_type) && !l->plan->strict_rounding)
        call.shares = scalar_is_bound(l, call.y) && !scalar_is_bound(l, call.x);
    KVal value = scalar_apply(&call);
    return l->plan->strict_rounding ? lower_round(l->b, value, result_type) : value;
}
