// Kernel IR: one compute kernel as flat, structured, typed SSA (architecture.md, idea 7).
//
// Values. A KVal is the index of the instruction that makes it; instruction 0 is a NOP and means
// none. Operands precede their users. The first instructions are all parameters in order, then the
// constants, then the body.
//
// Arithmetic is f32 or i32 only. Memory may hold more types: load converts f16 and bf16 to f32, i8
// and u8 to i32 (sign or zero extended), u32 to i32, bool (a byte) to bool; store converts back
// (f32 to f16 and bf16 to nearest even; integers keep their low bits; bool is 0 or 1). i64 occurs
// as constant, as parameter and as a stride of ptr_add.
//
// Control is structured and lies flat in the instruction list:
//     LOOP lo, hi, step    value: the counter      IF condition
//     CARRY first          one a carried value       ...
//       ...                                          YIELD value   one a result
//     YIELD next           one a carried value     ELSE            needed where there are results
//     END_LOOP                                       ...
//     RESULT               one a carried value       YIELD value
//                                                  END_IF
//                                                  RESULT          one a result
// CARRYs follow LOOP, YIELDs precede ELSE, END_LOOP and END_IF, RESULTs follow the end, without
// gaps; RESULT's imm counts 0, 1, ... A value is visible in its region, after it, and in the
// regions inside.
//
// The run block. Parameters lie in a Block-decorated uniform buffer at set 0, binding 0, bound with
// a dynamic offset: 8 bytes each, in order. A buffer: its 64-bit address. An i32: the low word; an
// i64: both words, low first.
//
// Who owns what: all of a kernel is in the arena it was built or parsed in. After k_finish (or the
// parser) it is never written.
#pragma once

#include "ir/diag.h"
#include "ir/type.h"

typedef uint32_t KVal;

typedef enum KKind { KT_NONE, KT_BOOL, KT_I32, KT_F32, KT_I64, KT_PTR, KT_FRAG } KKind;
typedef enum KUse { KU_NONE, KU_A, KU_B, KU_ACC } KUse;
typedef enum KLayout { KL_ROW_MAJOR, KL_COL_MAJOR } KLayout;

// A register type. lanes is 1, 2 or 4 for bool, i32 and f32, else 1. The last four are set for
// fragments only: an A fragment is rows x cols = M x K, B is K x N, an accumulator M x N.
typedef struct KType {
    uint8_t kind, lanes; // KKind
    uint8_t use, dtype;  // KUse; DType of the elements: f16 bf16 f32 i8 u8 i32
    uint16_t rows, cols;
} KType;

#define K_TYPE(kind_, lanes_) ((KType){.kind = (kind_), .lanes = (lanes_)})

KType ktype_frag(KUse use, DType dtype, unsigned rows, unsigned cols);
KType ktype_of_memory(DType dtype, unsigned lanes); // register type of a load; KT_NONE if none
bool ktype_equal(KType a, KType b);
void ktype_print(KType type, Text *out); // "f32x4", "ptr", "frag(a f16 16x16)"

typedef enum KRule {
    K_RULE_SPECIAL,
    K_RULE_NOTHING,
    K_RULE_FLOAT,
    K_RULE_INT,
    K_RULE_LOGIC,
    K_RULE_ANY,
    K_RULE_FCOMPARE,
    K_RULE_ICOMPARE,
    K_RULE_SELECT,
    K_RULE_TO_F32,
    K_RULE_TO_I32,
    K_RULE_SHUFFLE,
    K_RULE_ID,
    K_RULE_VECTOR,
    K_RULE_UNPACK,
    K_RULE_PACK
} KRule;

enum { K_PURE = 1, K_COMMUTES = 2, K_EFFECT = 4, K_SUBGROUP = 8, K_UNIFORM = 16 };

typedef enum KOp {
#define K_SIMPLE(id, name, operands, rule, flags, doc) K_##id,
#include "ir/kernel_ops.def"
    K_OP_COUNT
} KOp;

typedef struct KOpInfo {
    const char *name, *doc;
    uint8_t operands, rule, flags; // KRule; K_PURE, ...
} KOpInfo;

const KOpInfo *kop_info(KOp op);
bool kop_from_name(const char *name, KOp *out);

enum { K_LOOP_PLAIN, K_LOOP_UNROLL, K_LOOP_DONT_UNROLL }; // hints, in a LOOP's flag

typedef struct KInstr {
    uint8_t op;     // KOp
    uint8_t mem;    // DType in memory of LOAD, STORE, FRAG_LOAD, FRAG_STORE
    uint8_t align;  // bytes claimed by LOAD and STORE: 1, 2, 4, 8 or 16
    uint8_t flag;   // KLayout of a fragment's memory form; hint of a LOOP
    uint32_t line;  // of the .adp, 0 unknown
    KType type;     // of the value; KT_NONE where there is none
    KVal arg[4];    // operands, kop_info(op)->operands of them
    int64_t imm;    // constant, parameter, region, lane, component, result number
    uint32_t match; // LOOP <-> END_LOOP; IF -> ELSE or END_IF, ELSE -> END_IF, END_IF -> IF;
                    // CARRY, RESULT -> LOOP or IF; YIELD -> END_LOOP, ELSE or END_IF
} KInstr;

typedef enum KParamKind { KP_BUFFER, KP_I32, KP_I64 } KParamKind;

// What is known of a parameter is checked by the interpreter and used to fold. Buffers: dtype is
// the element type (for readers and tools; loads name their own), multiple that of the address in
// bytes. Scalars: lo <= value <= hi, and multiple divides it.
typedef struct KParam {
    const char *name;
    KParamKind kind;
    DType dtype;
    bool read, write; // buffers; only read: NonWritable
    int64_t lo, hi, multiple;
} KParam;

// A region of workgroup memory: count elements of lanes 32-bit words, i32 or f32.
typedef struct KShared {
    const char *name;
    DType dtype;
    uint8_t lanes;
    uint32_t count;
} KShared;

// What a device must offer (computed from the instructions).
enum {
    K_NEED_STORAGE_16 = 1,
    K_NEED_STORAGE_8 = 2,
    K_NEED_SUBGROUP_BASIC = 4,
    K_NEED_SUBGROUP_ARITHMETIC = 8,
    K_NEED_SUBGROUP_BALLOT = 16, // broadcast_first
    K_NEED_SUBGROUP_SHUFFLE = 32,
    K_NEED_FRAGMENTS = 64,
    K_NEED_FRAGMENT_F16 = 128,
    K_NEED_FRAGMENT_BF16 = 256,
    K_NEED_FRAGMENT_I8 = 512
};

typedef struct Kernel {
    const char *name;
    uint32_t local_size;    // invocations of a workgroup (x; y and z are 1)
    uint32_t subgroup_size; // required, 0: any
    uint8_t components;     // FragmentLayout that component numbers rely on, 0: none
    bool strict;            // no contraction: every float operation rounds by itself
    uint32_t needs;         // K_NEED_*
    VEC(KParam) params;
    VEC(KShared) shared;
    VEC(KInstr) code;
    VEC(uint32_t) lines; // .adp lines it came from, rising
} Kernel;

static inline const KInstr *kernel_at(const Kernel *kernel, KVal value) {
    return &kernel->code.at[value];
}
uint32_t kernel_shared_words(const Kernel *kernel);
bool kernel_const(const Kernel *kernel, KVal value, int64_t *out); // f32: the bits
// Parameter number of the buffer that a pointer value comes from.
uint32_t kernel_root(const Kernel *kernel, KVal pointer);

// What is known of each value: lo <= value <= hi (i32 as signed; bool 0 and 1; i64), multiple
// divides it (0: it is 0), for pointers multiple is that of the address in bytes.
typedef struct KFact {
    int64_t lo, hi, multiple;
} KFact;
KFact *kernel_facts(const Kernel *kernel, Arena *arena); // one per instruction

// Text. A file is "adept 1 kernels" followed by kernels; kernel_parse reads one at *at (from the
// word kernel to its closing brace), moves *at behind it, and returns NULL with errors in diags
// otherwise. Printing, parsing and printing gives the same text. file and text: for positions.
void kernel_print(const Kernel *kernel, Text *out);
void kernel_print_instr(const Kernel *kernel, KVal value, Text *out); // one line, no newline
Kernel *kernel_parse(Arena *arena, const char *text, size_t length, size_t *at, FileId file,
                     Diags *diags);

// Checks everything that can be seen without running: types, visibility, structure, uniformity of
// flow, claimed alignments (proved from facts), constant indices into shared memory. Collects all
// errors, each with the instruction's text. True if there were none.
bool kernel_verify(const Kernel *kernel, Diags *diags);
