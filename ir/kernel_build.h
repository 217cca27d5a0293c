// Builder of kernel IR (ir/kernel.h). Each k_<op> appends an instruction, or gives an older value
// instead: constants fold, small identities apply, equal pure values in an enclosing region merge,
// and comparisons decided by known integer ranges become constants. Operands of wrong type are our
// own bug (assert). Where a vector meets a scalar, the scalar is repeated.
//
//     KBuilder *b = k_begin(arena, "scale", 64);
//     KVal x = k_param_buffer(b, "x", DT_F32, K_READ), y = k_param_buffer(b, "y", DT_F32, K_WRITE);
//     KVal n = k_param_i32(b, "n", 1, 1 << 20, 1);
//     KVal i = k_iadd(b, k_imul(b, k_workgroup_id_x(b), k_i32(b, 64)), k_local_id(b));
//     k_if_begin(b, k_slt(b, i, n));
//     k_store(b, y, i, DT_F32, 4, k_fmul(b, k_load(b, x, i, DT_F32, 1, 4), k_f32(b, 2)));
//     k_if_end(b, 0, NULL, NULL);
//     Kernel *kernel = k_finish(b);
#pragma once

#include "ir/kernel.h"

typedef struct KBuilder KBuilder;

KBuilder *k_begin(Arena *arena, const char *name, uint32_t local_size);
void k_require_subgroup(KBuilder *b, uint32_t size); // before anything asks for subgroup_size
void k_set_components(KBuilder *b, unsigned layout); // a FragmentLayout (ir/fragment_layout.h)
void k_set_strict(KBuilder *b, bool strict);
void k_set_line(KBuilder *b, uint32_t line);  // of the instructions that follow; 0: unknown
void k_note_line(KBuilder *b, uint32_t line); // the kernel came from this line too
Kernel *k_finish(KBuilder *b); // drops dead code, hoists, numbers anew; the builder is used up

// Parameters may be declared at any time; their order is the run block's. Names are made unique.
enum { K_READ = 1, K_WRITE = 2 };
KVal k_param_buffer(KBuilder *b, const char *name, DType dtype, int access); // 16-byte aligned
KVal k_param_buffer_aligned(KBuilder *b, const char *name, DType dtype, int access, int64_t bytes);
KVal k_param_i32(KBuilder *b, const char *name, int64_t lo, int64_t hi, int64_t multiple);
KVal k_param_i64(KBuilder *b, const char *name, int64_t lo, int64_t hi, int64_t multiple);
uint32_t k_param_count(const KBuilder *b);

uint32_t k_shared(KBuilder *b, const char *name, DType dtype, unsigned lanes, uint32_t count);

KVal k_i32(KBuilder *b, int32_t value);
KVal k_f32(KBuilder *b, float value);
KVal k_bool(KBuilder *b, bool value);
KVal k_i64(KBuilder *b, int64_t value);

KType k_type(const KBuilder *b, KVal value);
KFact k_fact(const KBuilder *b, KVal value);
bool k_is_const(const KBuilder *b, KVal value, int64_t *out); // out may be NULL; f32: the bits

KVal k_build(KBuilder *b, KOp op, const KVal *operands); // any K_SIMPLE row

// One function a K_SIMPLE row: k_fadd(b, x, y), k_local_id(b), k_barrier(b), ...
#define K_BUILD_0(id, name)                                                                        \
    static inline KVal k_##name(KBuilder *b) {                                                     \
        return k_build(b, K_##id, NULL);                                                           \
    }
#define K_BUILD_1(id, name)                                                                        \
    static inline KVal k_##name(KBuilder *b, KVal x) {                                             \
        return k_build(b, K_##id, &x);                                                             \
    }
#define K_BUILD_2(id, name)                                                                        \
    static inline KVal k_##name(KBuilder *b, KVal x, KVal y) {                                     \
        return k_build(b, K_##id, (KVal[]){x, y});                                                 \
    }
#define K_BUILD_3(id, name)                                                                        \
    static inline KVal k_##name(KBuilder *b, KVal x, KVal y, KVal z) {                             \
        return k_build(b, K_##id, (KVal[]){x, y, z});                                              \
    }
#define K_BUILD_4(id, name)                                                                        \
    static inline KVal k_##name(KBuilder *b, KVal x, KVal y, KVal z, KVal w) {                     \
        return k_build(b, K_##id, (KVal[]){x, y, z, w});                                           \
    }
#define K_SIMPLE(id, name, operands, rule, flags, doc) K_BUILD_##operands(id, name)
#define K_OTHER(id, name, operands, rule, flags, doc)
#include "ir/kernel_ops.def"

static inline KVal k_fgt(KBuilder *b, KVal x, KVal y) {
    return k_flt(b, y, x);
}
static inline KVal k_fge(KBuilder *b, KVal x, KVal y) {
    return k_fle(b, y, x);
}
static inline KVal k_sgt(KBuilder *b, KVal x, KVal y) {
    return k_slt(b, y, x);
}
static inline KVal k_sge(KBuilder *b, KVal x, KVal y) {
    return k_sle(b, y, x);
}

KVal k_extract(KBuilder *b, KVal vector, unsigned lane);         // of a scalar: itself
KVal k_vector(KBuilder *b, unsigned lanes, const KVal *scalars); // lanes 1: the scalar itself
KVal k_splat(KBuilder *b, KVal scalar, unsigned lanes);
// An f32 (any lanes) rounded to what f16 or bf16 can hold, nearest even, made on the bits, so that
// no driver can fold it away. NaN stays NaN; too large becomes infinite.
KVal k_round_f16(KBuilder *b, KVal x);
KVal k_round_bf16(KBuilder *b, KVal x);

KVal k_ptr_add(KBuilder *b, KVal pointer, KVal index, KVal stride_bytes); // index >= 0, stride i64
// index: elements of mem. align: bytes, claimed of the address, at most 16; see KInstr.
KVal k_load(KBuilder *b, KVal pointer, KVal index, DType mem, unsigned lanes, unsigned align);
void k_store(KBuilder *b, KVal pointer, KVal index, DType mem, unsigned align, KVal value);
// index: 32-bit words, a multiple of the access' lanes; type: i32 or f32, lanes <= the region's.
KVal k_shared_load(KBuilder *b, uint32_t region, KVal index, KType type);
void k_shared_store(KBuilder *b, uint32_t region, KVal index, KVal value);

// for (i = lo; i < hi; i += step). Gives i; carried[0..count) are the values inside the body, first
// those of init. k_loop_end: next[0..count) are carried on; results[0..count) hold after the loop.
KVal k_loop_begin(KBuilder *b, KVal lo, KVal hi, KVal step, int hint, uint32_t count,
                  const KVal *init, KVal *carried);
void k_loop_end(KBuilder *b, const KVal *next, KVal *results);
// if (c) { .. } else { .. } with count values out of each branch; without values no k_else is
// needed.
void k_if_begin(KBuilder *b, KVal condition);
void k_else(KBuilder *b, uint32_t count, const KVal *values);
void k_if_end(KBuilder *b, uint32_t count, const KVal *values, KVal *results);

// Fragments (subgroup-uniform operands and flow). Addresses and strides are multiples of
// min(16 bytes, one row of the fragment as it lies in memory). Shared regions: index and stride in
// words.
KVal k_frag_fill(KBuilder *b, KType type, KVal scalar);
KVal k_frag_load(KBuilder *b, KType type, KVal pointer, KVal index, KVal stride, KLayout layout);
void k_frag_store(KBuilder *b, KVal pointer, KVal index, KVal stride, KLayout layout, KVal value);
KVal k_frag_shared_load(KBuilder *b, KType type, uint32_t region, KVal index, KVal stride,
                        KLayout layout);
void k_frag_shared_store(KBuilder *b, uint32_t region, KVal index, KVal stride, KLayout layout,
                         KVal value);
KVal k_frag_mul_add(KBuilder *b, KVal x, KVal y, KVal accumulator);
KVal k_frag_binary(KBuilder *b, KOp op, KVal x, KVal y); // K_FRAG_ADD, SUB, MUL, DIV
KVal k_frag_convert(KBuilder *b, KVal x, DType dtype);
KVal k_frag_length(KBuilder *b, KVal fragment);
KVal k_frag_extract(KBuilder *b, KVal fragment, unsigned component);
KVal k_frag_insert(KBuilder *b, KVal fragment, unsigned component, KVal scalar);
