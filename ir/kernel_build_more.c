// Fragments and rounding helpers of the kernel builder.
#include "ir/kernel_build_internal.h"

#include <assert.h>

static KKind component_kind(KType fragment) {
    return dtype_is_float(fragment.dtype) ? KT_F32 : KT_I32;
}

KVal k_frag_fill(KBuilder *b, KType type, KVal scalar) {
    assert(type.kind == KT_FRAG &&
           ktype_equal(k_type(b, scalar), K_TYPE((uint8_t)component_kind(type), 1)));
    return k_append(b, (KInstr){.op = K_FRAG_FILL, .type = type, .arg = {scalar}});
}

KVal k_frag_load(KBuilder *b, KType type, KVal pointer, KVal index, KVal stride, KLayout layout) {
    assert(type.kind == KT_FRAG && k_type(b, pointer).kind == KT_PTR);
    return k_append(b, (KInstr){.op = K_FRAG_LOAD,
                                .mem = type.dtype,
                                .flag = (uint8_t)layout,
                                .type = type,
                                .arg = {pointer, index, stride}});
}

void k_frag_store(KBuilder *b, KVal pointer, KVal index, KVal stride, KLayout layout, KVal value) {
    assert(k_type(b, value).kind == KT_FRAG && k_type(b, pointer).kind == KT_PTR);
    k_append(b, (KInstr){.op = K_FRAG_STORE,
                         .mem = k_type(b, value).dtype,
                         .flag = (uint8_t)layout,
                         .arg = {pointer, index, stride, value}});
}

KVal k_frag_shared_load(KBuilder *b, KType type, uint32_t region, KVal index, KVal stride,
                        KLayout layout) {
    assert(type.kind == KT_FRAG && region < b->kernel->shared.len);
    return k_append(b, (KInstr){.op = K_FRAG_SHARED_LOAD,
                                .flag = (uint8_t)layout,
                                .type = type,
                                .arg = {index, stride},
                                .imm = region});
}

void k_frag_shared_store(KBuilder *b, uint32_t region, KVal index, KVal stride, KLayout layout,
                         KVal value) {
    assert(k_type(b, value).kind == KT_FRAG && region < b->kernel->shared.len);
    k_append(b, (KInstr){.op = K_FRAG_SHARED_STORE,
                         .flag = (uint8_t)layout,
                         .arg = {index, stride, value},
                         .imm = region});
}

KVal k_frag_mul_add(KBuilder *b, KVal x, KVal y, KVal accumulator) {
    KType p = k_type(b, x), q = k_type(b, y), c = k_type(b, accumulator);
    assert(p.use == KU_A && q.use == KU_B && c.use == KU_ACC);
    assert(p.cols == q.rows && p.rows == c.rows && q.cols == c.cols);
    (void)p, (void)q;
    return k_append(b, (KInstr){.op = K_FRAG_MUL_ADD, .type = c, .arg = {x, y, accumulator}});
}

KVal k_frag_binary(KBuilder *b, KOp op, KVal x, KVal y) {
    assert(op >= K_FRAG_ADD && op <= K_FRAG_DIV && k_type(b, x).kind == KT_FRAG);
    return k_append(b, (KInstr){.op = (uint8_t)op, .type = k_type(b, x), .arg = {x, y}});
}

KVal k_frag_convert(KBuilder *b, KVal x, DType dtype) {
    KType type = k_type(b, x);
    assert(type.kind == KT_FRAG);
    if (type.dtype == dtype) return x;
    type.dtype = (uint8_t)dtype;
    return k_append(b, (KInstr){.op = K_FRAG_CONVERT, .type = type, .arg = {x}});
}

KVal k_frag_length(KBuilder *b, KVal fragment) {
    return k_merge(b, (KInstr){.op = K_FRAG_LENGTH, .type = K_TYPE(KT_I32, 1), .arg = {fragment}});
}

KVal k_frag_extract(KBuilder *b, KVal fragment, unsigned component) {
    KType type = K_TYPE((uint8_t)component_kind(k_type(b, fragment)), 1);
    return k_merge(
        b, (KInstr){.op = K_FRAG_EXTRACT, .type = type, .arg = {fragment}, .imm = component});
}

KVal k_frag_insert(KBuilder *b, KVal fragment, unsigned component, KVal scalar) {
    return k_merge(b, (KInstr){.op = K_FRAG_INSERT,
                               .type = k_type(b, fragment),
                               .arg = {fragment, scalar},
                               .imm = component});
}

static KVal bits_of(KBuilder *b, KVal x, uint32_t bits) {
    return k_constant(b, K_TYPE(KT_I32, k_type(b, x).lanes), bits);
}

// bits rounded to a multiple of 2^shift, halves to even; a carry out of the mantissa rightly enters
// the exponent.
static KVal round_bits(KBuilder *b, KVal bits, KVal shift) {
    KVal one = bits_of(b, bits, 1);
    KVal odd = k_and(b, k_shr(b, bits, shift), one);
    KVal half = k_isub(b, k_shl(b, one, k_isub(b, shift, one)), one);
    KVal up = k_iadd(b, k_iadd(b, bits, half), odd);
    return k_shl(b, k_shr(b, up, shift), shift);
}

KVal k_round_bf16(KBuilder *b, KVal x) {
    KVal bits = k_as_i32(b, x);
    KVal rounded = round_bits(b, bits, bits_of(b, bits, 16));
    return k_select(b, k_fne(b, x, x), x, k_as_f32(b, rounded));
}

// f16 keeps 10 mantissa bits down to 2^-14; below, steps of 2^-24. An f32 with biased exponent e
// loses 126 - e bits there. Below 2^-24 the step is the number's whole width: 2^-24 or 0.
KVal k_round_f16(KBuilder *b, KVal x) {
    KVal bits = k_as_i32(b, x);
    KVal magnitude = k_and(b, bits, bits_of(b, bits, 0x7fffffff));
    KVal sign = k_xor(b, bits, magnitude);
    KVal exponent = k_shr(b, magnitude, bits_of(b, bits, 23));
    KVal lost = k_isub(b, bits_of(b, bits, 126), exponent);
    KVal shift = k_smin(b, k_smax(b, lost, bits_of(b, bits, 13)), bits_of(b, bits, 23));
    KVal rounded = round_bits(b, magnitude, shift);
    KVal step = bits_of(b, bits, 0x33800000), half_step = bits_of(b, bits, 0x33000000);
    KVal tiny = k_select(b, k_sle(b, magnitude, half_step), bits_of(b, bits, 0), step);
    rounded = k_select(b, k_slt(b, magnitude, step), tiny, rounded);
    KVal largest = bits_of(b, bits, 0x477fe000), infinity = bits_of(b, bits, 0x7f800000);
    rounded = k_select(b, k_slt(b, largest, rounded), infinity, rounded);
    KVal result = k_as_f32(b, k_or(b, rounded, sign));
    return k_select(b, k_fne(b, x, x), x, result);
}
