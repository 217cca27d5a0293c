// Folding and small identities of the kernel builder. Each rewrite gives an equal value with no
// more work; floats keep their bits unless the kernel allows less (x + 0 alone, for -0).
#include "ir/kernel_build_internal.h"

#include <math.h>
#include <string.h>

bool kernel_fold_scalar(KOp op, const KCell *operands, KCell *out) {
    KCell x = operands[0], y = operands[1], z = operands[2];
    bool divides = op == K_SDIV || op == K_UDIV || op == K_SREM || op == K_UREM;
    if (divides && y.u == 0) return false;
    switch (op) {
#define K_INEXACT(id, field, expression)
#define K_EXPR(id, field, expression)                                                              \
    case K_##id:                                                                                   \
        out->field = expression;                                                                   \
        return true;
#include "ir/kernel_alu.def"
    default: return false;
    }
}

// The value is a constant, or a vector of one constant.
static bool constant_lane(const KBuilder *b, KVal value, KCell *out) {
    const KInstr *instr = k_at(b, value);
    if (instr->op == K_VEC2 || instr->op == K_VEC4) {
        for (unsigned i = 1; i < instr->type.lanes; i++)
            if (instr->arg[i] != instr->arg[0]) return false;
        instr = k_at(b, instr->arg[0]);
    }
    if (instr->op != K_CONST || instr->type.kind == KT_I64) return false;
    out->u = (uint32_t)instr->imm;
    return true;
}

static KVal fold_constants(KBuilder *b, KOp op, KType type, const KVal *x) {
    KCell cell[3] = {{0}}, result;
    const KOpInfo *info = kop_info(op);
    if (info->operands == 0 || info->operands > 3) return 0;
    for (unsigned i = 0; i < info->operands; i++)
        if (!constant_lane(b, x[i], &cell[i])) return 0;
    if (op == K_SELECT) return cell[0].u ? x[1] : x[2];
    if (op == K_NOT)
        result.u = type.kind == KT_BOOL ? !cell[0].u : ~cell[0].u;
    else if (!kernel_fold_scalar(op, cell, &result))
        return 0;
    return k_constant(b, type, result.u);
}

static bool is_bits(const KBuilder *b, KVal value, uint32_t bits) {
    KCell cell;
    return constant_lane(b, value, &cell) && cell.u == bits;
}

enum { F32_ONE = 0x3f800000, F32_MINUS_ZERO = (int)0x80000000 };

// x / 2^n is x * 2^-n to the bit where both powers are normal numbers.
static KVal divide_by_power(KBuilder *b, const KVal *x) {
    KCell divisor;
    if (!constant_lane(b, x[1], &divisor)) return 0;
    if (divisor.u == F32_ONE) return x[0];
    uint32_t exponent = divisor.u >> 23 & 0xff;
    if ((divisor.u & 0x7fffff) != 0 || exponent < 1 || exponent > 253) return 0;
    uint32_t inverse = (divisor.u & 0x80000000u) | (254 - exponent) << 23;
    return k_fmul(b, x[0], k_constant(b, k_type(b, x[1]), inverse));
}

static KVal simplify_float(KBuilder *b, KOp op, const KVal *x) {
    switch (op) {
    case K_FADD:
        if (is_bits(b, x[1], (uint32_t)F32_MINUS_ZERO)) return x[0];
        return !b->kernel->strict && is_bits(b, x[1], 0) ? x[0] : 0;
    case K_FSUB: return is_bits(b, x[1], 0) ? x[0] : 0;
    case K_FMUL: return is_bits(b, x[1], F32_ONE) ? x[0] : 0;
    case K_FDIV: return divide_by_power(b, x);
    case K_FNEG: return k_at(b, x[0])->op == K_FNEG ? k_at(b, x[0])->arg[0] : 0;
    case K_FABS: return k_at(b, x[0])->op == K_FABS ? x[0] : 0;
    case K_FMIN:
    case K_FMAX: return x[0] == x[1] ? x[0] : 0;
    case K_AS_F32: return k_at(b, x[0])->op == K_AS_I32 ? k_at(b, x[0])->arg[0] : 0;
    case K_AS_I32: return k_at(b, x[0])->op == K_AS_F32 ? k_at(b, x[0])->arg[0] : 0;
    default: return 0;
    }
}

static int log2_exact(int64_t value) {
    return value > 0 && (value & (value - 1)) == 0 ? __builtin_ctzll((uint64_t)value) : -1;
}

// x = a * c without leaving 32 bits, c a constant: gives a and c.
static bool exact_product(const KBuilder *b, KVal value, KVal *factor, int64_t *constant) {
    const KInstr *instr = k_at(b, value);
    KCell cell;
    if ((instr->op != K_IMUL && instr->op != K_SHL) || !constant_lane(b, instr->arg[1], &cell))
        return false;
    if (instr->op == K_SHL && cell.u > 30) return false;
    *factor = instr->arg[0];
    *constant = instr->op == K_SHL ? (int64_t)1 << cell.u : cell.i;
    KFact fact = b->facts.at[*factor];
    int64_t lo = fact.lo * *constant, hi = fact.hi * *constant;
    return *constant > 0 && lo >= INT32_MIN && hi <= INT32_MAX;
}

// (a * c) / d and (a * c) % d, also (a * c + r) with 0 <= r < d, where d divides c.
static KVal divide_product(KBuilder *b, KOp op, KVal x, int64_t d) {
    KVal factor, rest = 0;
    int64_t c;
    const KInstr *sum = k_at(b, x);
    if (!exact_product(b, x, &factor, &c)) {
        if (sum->op != K_IADD) return 0;
        KVal a = sum->arg[0], r = sum->arg[1];
        if (!exact_product(b, a, &factor, &c)) {
            a = sum->arg[1], r = sum->arg[0];
            if (!exact_product(b, a, &factor, &c)) return 0;
        }
        KFact bound = b->facts.at[r], whole = b->facts.at[a];
        if (bound.lo < 0 || bound.hi >= d || whole.lo < 0 || whole.hi + bound.hi > INT32_MAX)
            return 0;
        rest = r;
    }
    if (c % d != 0) return 0;
    KType type = sum->type;
    if (op == K_SREM || op == K_UREM) return rest != 0 ? rest : k_constant(b, type, 0);
    return k_imul(b, factor, k_constant(b, type, (uint32_t)(c / d)));
}

static KVal simplify_division(KBuilder *b, KOp op, KType type, const KVal *x) {
    KCell divisor;
    KFact fact = b->facts.at[x[0]];
    bool division = op == K_SDIV || op == K_UDIV;
    if (fact.lo == 0 && fact.hi == 0 && b->facts.at[x[1]].lo > 0) return x[0];
    if (fact.lo >= 0 && fact.hi < b->facts.at[x[1]].lo)
        return division ? k_constant(b, type, 0) : x[0];
    if (!constant_lane(b, x[1], &divisor) || divisor.i <= 0) return 0;
    if (divisor.i == 1) return division ? x[0] : k_constant(b, type, 0);
    if (!division && fact.multiple % divisor.i == 0 && (op == K_SREM || fact.lo >= 0))
        return k_constant(b, type, 0);
    if (fact.lo < 0) return 0;
    KVal shorter = divide_product(b, op, x[0], divisor.i);
    if (shorter != 0) return shorter;
    int shift = log2_exact(divisor.i);
    if (shift < 0) return 0;
    return division ? k_shr(b, x[0], k_constant(b, type, (uint32_t)shift))
                    : k_and(b, x[0], k_constant(b, type, (uint32_t)divisor.i - 1));
}

// Shifts of values known not to be negative and masks that change nothing.
static KVal simplify_bits(KBuilder *b, KOp op, KType type, const KVal *x) {
    KFact fact = b->facts.at[x[0]];
    KCell c;
    bool constant = constant_lane(b, x[1], &c), logical = type.kind == KT_BOOL;
    if (op == K_SHL || op == K_SHR || op == K_SAR) {
        if (constant && c.u == 0) return x[0];
        if (op == K_SHR && constant && c.u < 31 && fact.lo >= 0)
            return divide_product(b, K_UDIV, x[0], (int64_t)1 << c.u);
        return 0;
    }
    if (x[0] == x[1]) return op == K_XOR ? k_constant(b, type, 0) : x[0];
    if (!constant) return 0;
    uint32_t all = logical ? 1 : UINT32_MAX;
    if (c.u == 0) return op == K_AND ? x[1] : x[0];
    if (c.u == all) return op == K_AND ? x[0] : op == K_OR ? x[1] : 0;
    if (op == K_AND && c.i > 0 && log2_exact((int64_t)c.i + 1) >= 0) {
        if (fact.lo >= 0 && fact.hi <= c.i) return x[0];
        if (fact.multiple % ((int64_t)c.i + 1) == 0) return k_constant(b, type, 0);
        if (fact.lo >= 0) return divide_product(b, K_UREM, x[0], (int64_t)c.i + 1);
    }
    return 0;
}

static KVal simplify_compare(KBuilder *b, KOp op, KType type, const KVal *x) {
    KFact p = b->facts.at[x[0]], q = b->facts.at[x[1]];
    if ((op == K_ULT || op == K_ULE) && (p.lo < 0 || q.lo < 0)) {
        if (x[0] != x[1]) return 0;
        return k_constant(b, type, op == K_ULE);
    }
    int known = -1;
    switch (op) {
    case K_SLT:
    case K_ULT: known = x[0] == x[1] || p.lo >= q.hi ? 0 : p.hi < q.lo ? 1 : -1; break;
    case K_SLE:
    case K_ULE: known = x[0] == x[1] || p.hi <= q.lo ? 1 : p.lo > q.hi ? 0 : -1; break;
    default: // IEQ, INE
        if (x[0] == x[1] || (p.lo == p.hi && q.lo == q.hi && p.lo == q.lo))
            known = op == K_IEQ;
        else if (p.hi < q.lo || q.hi < p.lo)
            known = op == K_INE;
    }
    return known < 0 ? 0 : k_constant(b, type, (uint32_t)known);
}

static KVal simplify_integer(KBuilder *b, KOp op, KType type, const KVal *x) {
    KFact p = b->facts.at[x[0]], q = b->facts.at[x[1]];
    KCell c, d;
    switch (op) {
    case K_IADD:
        if (is_bits(b, x[1], 0)) return x[0];
        if (constant_lane(b, x[1], &c) && k_at(b, x[0])->op == K_IADD &&
            constant_lane(b, k_at(b, x[0])->arg[1], &d)) // (a + d) + c
            return k_iadd(b, k_at(b, x[0])->arg[0], k_constant(b, type, c.u + d.u));
        return 0;
    case K_ISUB:
        if (x[0] == x[1]) return k_constant(b, type, 0);
        return constant_lane(b, x[1], &c) ? k_iadd(b, x[0], k_constant(b, type, 0u - c.u)) : 0;
    case K_IMUL:
        if (is_bits(b, x[1], 1)) return x[0];
        if (is_bits(b, x[1], 0)) return x[1];
        if (constant_lane(b, x[1], &c) && k_at(b, x[0])->op == K_IMUL &&
            constant_lane(b, k_at(b, x[0])->arg[1], &d)) // (a * d) * c
            return k_imul(b, k_at(b, x[0])->arg[0], k_constant(b, type, c.u * d.u));
        return 0;
    case K_SDIV:
    case K_UDIV:
    case K_SREM:
    case K_UREM: return simplify_division(b, op, type, x);
    case K_SHL:
    case K_SHR:
    case K_SAR:
    case K_AND:
    case K_OR:
    case K_XOR: return simplify_bits(b, op, type, x);
    case K_SMIN: return p.hi <= q.lo ? x[0] : q.hi <= p.lo ? x[1] : 0;
    case K_SMAX: return p.lo >= q.hi ? x[0] : q.lo >= p.hi ? x[1] : 0;
    case K_NOT: return k_at(b, x[0])->op == K_NOT ? k_at(b, x[0])->arg[0] : 0;
    case K_IEQ:
    case K_INE:
    case K_SLT:
    case K_SLE:
    case K_ULT:
    case K_ULE: return simplify_compare(b, op, type, x);
    default: return 0;
    }
}

KVal k_simplify(KBuilder *b, KOp op, KType type, const KVal *x) {
    if (!(kop_info(op)->flags & K_PURE)) return 0;
    KVal value = fold_constants(b, op, type, x);
    if (value != 0) return value;
    if (op == K_SELECT) {
        KFact condition = b->facts.at[x[0]];
        if (x[1] == x[2]) return x[1];
        if (condition.lo == condition.hi) return condition.lo ? x[1] : x[2];
        return 0;
    }
    KRule rule = kop_info(op)->rule;
    if (rule == K_RULE_FLOAT || rule == K_RULE_TO_F32 || rule == K_RULE_TO_I32)
        return simplify_float(b, op, x);
    if (rule == K_RULE_INT || rule == K_RULE_LOGIC || rule == K_RULE_ICOMPARE) {
        value = simplify_integer(b, op, type, x);
        if (value != 0 || kop_info(op)->rule == K_RULE_ICOMPARE) return value;
        // A value of one element range is that constant; ids of a one-wide grid fold so.
        KInstr probe = {.op = (uint8_t)op, .type = type, .arg = {x[0], x[1]}};
        KFactContext context = {b->kernel->code.at, b->kernel->params.at, b->facts.at,
                                b->kernel->local_size, b->kernel->subgroup_size};
        KFact fact = kfact_of(&context, &probe);
        return fact.lo == fact.hi ? k_constant(b, type, (uint32_t)fact.lo) : 0;
    }
    return 0;
}
