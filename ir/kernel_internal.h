// Shared by the files of kernel IR; not for other folders.
#pragma once

#include "ir/kernel.h"

// What is being built or read, as the facts need to see it.
typedef struct KFactContext {
    const KInstr *code;
    const KParam *params;
    const KFact *facts; // of all earlier instructions
    uint32_t local_size, subgroup_size;
} KFactContext;

KFact kfact_any(KType type);        // nothing known
KFact kfact_join(KFact a, KFact b); // holds for whatever either holds for
KFact kfact_of_const(KType type, int64_t imm);
// Of one instruction, from its operands' facts. CARRY: its first value's multiple; RESULT: any.
KFact kfact_of(const KFactContext *context, const KInstr *instr);

// One lane of a pure scalar operation. The union's field follows the type; bool is u, 0 or 1.
typedef union KCell {
    float f;
    int32_t i;
    uint32_t u;
} KCell;

// What f_to_s and f_to_u give here: out of range saturates, NaN is 0. Devices may differ.
static inline int32_t float_to_signed(float x) {
    if (!(x > -2147483904.0f)) return x < 0 ? INT32_MIN : 0;
    return x < 2147483648.0f ? (int32_t)x : INT32_MAX;
}

static inline uint32_t float_to_unsigned(float x) {
    if (!(x > 0)) return 0;
    return x < 4294967296.0f ? (uint32_t)x : UINT32_MAX;
}

// False where the operation is no plain lane-wise one, where the result may differ from what the
// device computes (exp, ...), or for a division by zero.
bool kernel_fold_scalar(KOp op, const KCell *operands, KCell *out);

// Type of the value of a K_SIMPLE row for operands of these types. False: they do not fit.
bool kop_result_type(KOp op, const KType *operands, KType *out);

// Sets the match of every instruction. NULL, or what is wrong with the structure at *where.
const char *kernel_link(Kernel *kernel, Arena *arena, KVal *where);
// Sets needs, and adds the instructions' lines to the kernel's, sorted.
void kernel_summarise(Kernel *kernel, Arena *arena);

// The instruction inside a LOOP or branch that yields value number `number` to `end` (an END_LOOP,
// ELSE or END_IF whose region yields `count` values).
static inline KVal kernel_yield(KVal end, uint32_t count, uint32_t number) {
    return end - count + number;
}
// How many YIELDs stand before an ELSE, END_LOOP or END_IF.
uint32_t kernel_yield_count(const Kernel *kernel, KVal end);

// Bytes that fragment addresses and strides must be multiples of.
unsigned kernel_frag_align(KType type, KLayout layout);
unsigned kernel_frag_row(KType type, KLayout layout); // elements side by side in memory

// What an instruction's text says besides its operands.
enum {
    KX_REGION = 1, // imm is a region of shared memory
    KX_IMM = 2,    // imm as a number
    KX_MEM = 4,
    KX_ALIGN = 8,
    KX_LAYOUT = 16,
    KX_HINT = 32,
    KX_BLOCK = 64 // opens a region
};
unsigned kop_extras(KOp op);
