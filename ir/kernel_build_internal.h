// The builder's inside, shared by ir/kernel_build*.c and ir/kernel_simplify.c.
#pragma once

#include "ir/kernel_build.h"
#include "ir/kernel_internal.h"

// An open region. A LOOP known to run once or never, and an IF whose condition is known, are not
// emitted: what is built in the part that never runs is wiped out when the part ends.
typedef enum KRegion {
    KR_LOOP,
    KR_LOOP_ONCE,
    KR_LOOP_NEVER,
    KR_IF,
    KR_IF_TRUE,
    KR_IF_FALSE
} KRegion;

typedef struct KFrame {
    KRegion region;
    KVal head;          // the LOOP or IF; in the folded forms 0
    KVal otherwise;     // the ELSE, or 0
    uint32_t start;     // number of instructions when the part began
    uint32_t count;     // carried values or results
    KVal condition;     // of an IF
    const KVal *values; // carried ones as given, or those of the first branch
} KFrame;

struct KBuilder {
    Arena *arena;   // of the kernel
    Arena *scratch; // until the kernel is finished: its code so far, and all else below
    Kernel *kernel;
    VEC(KFact) facts;
    VEC(KVal) next; // chains of the table of merged values
    KVal *heads;
    uint32_t head_mask;
    VEC(KFrame) frames;
    uint32_t line;
};

static inline const KInstr *k_at(const KBuilder *b, KVal value) {
    return &b->kernel->code.at[value];
}
// Appends as it is.
KVal k_append(KBuilder *b, KInstr instr);
// Appends, or gives the equal value that is visible here.
KVal k_merge(KBuilder *b, KInstr instr);
// Takes what was merged since `start` out of the table; its region has ended.
void k_forget(KBuilder *b, uint32_t start);
// Constant of a bool, i32 or f32 type (any lanes) with these bits.
KVal k_constant(KBuilder *b, KType type, uint32_t bits);
// A value for op(x..) without a new instruction of that op, or 0.
KVal k_simplify(KBuilder *b, KOp op, KType type, const KVal *x);
