// Integer ranges and divisors of the values of a kernel.
#include "ir/kernel_internal.h"

#include <string.h>

static const KFact any_i32 = {INT32_MIN, INT32_MAX, 1};

static int64_t power_of_two_in(int64_t x) {
    return x == 0 ? 0 : x & -x;
}

KFact kfact_any(KType type) {
    switch (type.kind) {
    case KT_BOOL: return (KFact){0, 1, 1};
    case KT_I64:
    case KT_PTR: return (KFact){INT64_MIN, INT64_MAX, 1};
    default: return any_i32;
    }
}

KFact kfact_join(KFact a, KFact b) {
    return (KFact){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi,
                   gcd64(a.multiple, b.multiple)};
}

static KFact constant(int64_t value) {
    return (KFact){value, value, value == INT64_MIN ? 1 : value < 0 ? -value : value};
}

KFact kfact_of_const(KType type, int64_t imm) {
    if (type.kind == KT_F32) return any_i32;
    return constant(imm);
}

// A result that left 32 bits wraps: only the power of two in its divisor survives.
static KFact wrapped(KFact fact) {
    if (fact.lo >= INT32_MIN && fact.hi <= INT32_MAX)
        return fact.lo == fact.hi ? constant(fact.lo) : fact;
    int64_t multiple = power_of_two_in(fact.multiple);
    return (KFact){INT32_MIN, INT32_MAX, multiple > 1 << 30 ? 1 << 30 : multiple};
}

static KFact add(KFact a, KFact b) {
    KFact sum = {a.lo + b.lo, a.hi + b.hi, gcd64(a.multiple, b.multiple)};
    return wrapped(sum);
}

static KFact subtract(KFact a, KFact b) {
    KFact difference = {a.lo - b.hi, a.hi - b.lo, gcd64(a.multiple, b.multiple)};
    return wrapped(difference);
}

static KFact multiply(KFact a, KFact b) {
    int64_t corner[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    KFact product = {corner[0], corner[0], 1};
    for (unsigned i = 1; i < 4; i++) {
        if (corner[i] < product.lo) product.lo = corner[i];
        if (corner[i] > product.hi) product.hi = corner[i];
    }
    if (!checked_mul(a.multiple, b.multiple, &product.multiple))
        product.multiple = power_of_two_in(a.multiple);
    return wrapped(product);
}

static bool is_constant(KFact fact) {
    return fact.lo == fact.hi;
}

// Division where both sides are known not to be negative, so that signs do not matter.
static KFact divide(KFact a, KFact b) {
    if (a.lo < 0 || b.lo < 1) return any_i32;
    KFact quotient = {a.lo / b.hi, a.hi / b.lo, 1};
    if (is_constant(b) && a.multiple % b.lo == 0) quotient.multiple = a.multiple / b.lo;
    return quotient;
}

static KFact remainder_signed(KFact a, KFact b) {
    if (b.lo < 1) return any_i32;
    KFact rest = {a.lo < 0 ? 1 - b.hi : 0, b.hi - 1, is_constant(b) ? gcd64(a.multiple, b.lo) : 1};
    if (a.lo >= 0 && a.hi < rest.hi) rest.hi = a.hi;
    if (a.lo >= 0 && a.hi < b.lo) rest = a;
    return rest;
}

static int64_t mask_above(int64_t value) { // smallest 2^n - 1 >= value
    int64_t mask = 0;
    while (mask < value) mask = mask * 2 + 1;
    return mask;
}

static KFact bitwise(KOp op, KFact a, KFact b) {
    int64_t pa = power_of_two_in(a.multiple), pb = power_of_two_in(b.multiple);
    KFact fact = any_i32;
    fact.multiple = pa == 0 ? pb : pb == 0 ? pa : pa < pb ? pa : pb;
    if (op == K_AND) {
        fact.multiple = pa == 0 || pb == 0 ? 0 : pa > pb ? pa : pb;
        if (a.lo >= 0 || b.lo >= 0) {
            fact.lo = 0;
            fact.hi = a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : a.hi < b.hi ? a.hi : b.hi;
        }
    } else if (a.lo >= 0 && b.lo >= 0) {
        fact.lo = 0;
        fact.hi = mask_above(a.hi > b.hi ? a.hi : b.hi);
    }
    return fact;
}

static KFact shift(KOp op, KFact a, KFact b) {
    if (!is_constant(b) || b.lo < 0 || b.lo > 31) {
        KFact fact = any_i32;
        if (op == K_SHL) fact.multiple = power_of_two_in(a.multiple) & 0x7fffffff;
        if (op != K_SHL && a.lo >= 0) fact.lo = 0, fact.hi = a.hi;
        return fact;
    }
    KFact power = constant((int64_t)1 << b.lo);
    if (op == K_SHL) return multiply(a, power);
    if (a.lo >= 0) return divide(a, power);
    if (op == K_SAR) return (KFact){a.lo >> b.lo, a.hi >> b.lo, 1};
    return b.lo == 0 ? a : (KFact){0, UINT32_MAX >> b.lo, 1};
}

static KFact smaller(KFact a, KFact b) {
    return (KFact){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi,
                   gcd64(a.multiple, b.multiple)};
}

static KFact larger(KFact a, KFact b) {
    return (KFact){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi,
                   gcd64(a.multiple, b.multiple)};
}

static KFact between(int64_t lo, int64_t hi) {
    return lo == hi ? constant(lo) : (KFact){lo, hi, 1};
}

static KFact pointer_add(KFact pointer, KFact index, KFact stride) {
    KFact fact = {INT64_MIN, INT64_MAX, 0};
    int64_t step;
    if (!checked_mul(index.multiple, stride.multiple, &step))
        step = power_of_two_in(stride.multiple);
    fact.multiple = gcd64(pointer.multiple, step);
    return fact;
}

static KFact of_id(const KFactContext *context, KOp op) {
    uint32_t size = context->local_size, subgroup = context->subgroup_size;
    switch (op) {
    case K_NUM_WORKGROUPS_X:
    case K_NUM_WORKGROUPS_Y:
    case K_NUM_WORKGROUPS_Z: return between(1, 65535);
    case K_LOCAL_ID: return between(0, size - 1);
    case K_SUBGROUP_ID:
        return between(0, subgroup != 0 ? (size + subgroup - 1) / subgroup - 1 : size - 1);
    case K_SUBGROUP_LANE: return between(0, subgroup != 0 ? subgroup - 1 : 127);
    case K_SUBGROUP_SIZE: return subgroup != 0 ? constant(subgroup) : between(1, 128);
    default: return between(0, 65534); // number of a workgroup
    }
}

static KFact of_integer(const KInstr *instr, const KFact *x) {
    switch (instr->op) {
    case K_IADD: return add(x[0], x[1]);
    case K_ISUB: return subtract(x[0], x[1]);
    case K_IMUL: return multiply(x[0], x[1]);
    case K_SDIV:
    case K_UDIV: return divide(x[0], x[1]);
    case K_SREM: return remainder_signed(x[0], x[1]);
    case K_UREM: return x[0].lo >= 0 ? remainder_signed(x[0], x[1]) : any_i32;
    case K_SHL:
    case K_SHR:
    case K_SAR: return shift(instr->op, x[0], x[1]);
    case K_AND:
    case K_OR:
    case K_XOR: return instr->type.kind == KT_BOOL ? between(0, 1) : bitwise(instr->op, x[0], x[1]);
    case K_SMIN: return smaller(x[0], x[1]);
    case K_SMAX: return larger(x[0], x[1]);
    case K_UMIN: return x[0].lo >= 0 && x[1].lo >= 0 ? smaller(x[0], x[1]) : any_i32;
    case K_UMAX: return x[0].lo >= 0 && x[1].lo >= 0 ? larger(x[0], x[1]) : any_i32;
    case K_VEC2: return kfact_join(x[0], x[1]);
    case K_VEC4: return kfact_join(kfact_join(x[0], x[1]), kfact_join(x[2], x[3]));
    case K_SELECT: return kfact_join(x[1], x[2]);
    case K_EXTRACT:
    case K_SUBGROUP_SMIN:
    case K_SUBGROUP_SMAX:
    case K_BROADCAST_FIRST: return x[0];
    default: return kfact_any(instr->type);
    }
}

KFact kfact_of(const KFactContext *context, const KInstr *instr) {
    KFact x[4] = {{0, 0, 0}};
    const KOpInfo *info = kop_info(instr->op);
    for (unsigned i = 0; i < info->operands; i++) x[i] = context->facts[instr->arg[i]];
    if (info->rule == K_RULE_ID) return of_id(context, instr->op);
    switch (instr->op) {
    case K_CONST: return kfact_of_const(instr->type, instr->imm);
    case K_PARAM: {
        const KParam *param = &context->params[instr->imm];
        return (KFact){param->lo, param->hi, param->multiple};
    }
    case K_PTR_ADD: return pointer_add(x[0], x[1], x[2]);
    case K_LOAD:
        switch (instr->mem) {
        case DT_I8: return between(INT8_MIN, INT8_MAX);
        case DT_U8: return between(0, UINT8_MAX);
        default: return kfact_any(instr->type);
        }
    case K_LOOP: {
        int64_t last = x[1].hi - 1 > x[0].lo ? x[1].hi - 1 : x[0].lo;
        return (KFact){x[0].lo, last, gcd64(x[0].multiple, x[2].multiple)};
    }
    case K_CARRY: {
        KFact fact = kfact_any(instr->type);
        fact.multiple = power_of_two_in(x[0].multiple);
        return fact;
    }
    default: break;
    }
    if (instr->type.kind != KT_I32 && instr->type.kind != KT_BOOL) return kfact_any(instr->type);
    return of_integer(instr, x);
}

// What the values yielded into a CARRY or RESULT have in common. False: the fact was so already.
static bool meet_yields(const Kernel *kernel, KFact *facts, KVal v) {
    const KInstr *instr = kernel_at(kernel, v);
    const KInstr *head = kernel_at(kernel, instr->match);
    KFact fact = facts[v];
    uint32_t number = instr->op == K_CARRY ? v - instr->match - 1 : (uint32_t)instr->imm;
    KVal end = head->match;
    KFact first =
        facts[kernel_at(kernel, kernel_yield(end, kernel_yield_count(kernel, end), number))
                  ->arg[0]];
    if (head->op == K_LOOP) {
        fact = kfact_any(instr->type);
        KFact start =
            instr->op == K_CARRY ? facts[instr->arg[0]] : facts[instr->match + 1 + number];
        fact.multiple = power_of_two_in(gcd64(start.multiple, first.multiple));
    } else if (instr->op == K_RESULT) {
        end = kernel_at(kernel, end)->match;
        KVal yield = kernel_yield(end, kernel_yield_count(kernel, end), number);
        fact = kfact_join(first, facts[kernel_at(kernel, yield)->arg[0]]);
    }
    if (memcmp(&fact, &facts[v], sizeof fact) == 0) return false;
    facts[v] = fact;
    return true;
}

// Divisors of carried values: assume those of the first value, and take back what the yielded ones
// do not bear out, until nothing changes. Divisors only shrink (powers of two), so this ends.
KFact *kernel_facts(const Kernel *kernel, Arena *arena) {
    KFact *facts = arena_alloc(arena, kernel->code.len * sizeof *facts);
    KFact *carried = arena_alloc(arena, kernel->code.len * sizeof *carried);
    KFactContext context = {kernel->code.at, kernel->params.at, facts, kernel->local_size,
                            kernel->subgroup_size};
    bool changed = true;
    for (unsigned round = 0; changed; round++) {
        changed = false;
        for (KVal v = 1; v < kernel->code.len; v++) {
            const KInstr *instr = kernel_at(kernel, v);
            facts[v] = instr->op == K_CARRY && round > 0 ? carried[v] : kfact_of(&context, instr);
            if (instr->op == K_RESULT) meet_yields(kernel, facts, v);
        }
        for (KVal v = 1; v < kernel->code.len; v++) {
            if (kernel_at(kernel, v)->op != K_CARRY) continue;
            changed = meet_yields(kernel, facts, v) || changed;
            carried[v] = facts[v];
        }
    }
    return facts;
}
