// The package format (.adx): what codegen/package.c writes and runtime/package.c reads.
//
// Little-endian. A 64-byte header, a section table, then sections at 64-byte aligned offsets in
// table order. Sections hold arrays of the records below (or bytes). Readers check every offset,
// count, index and expression before use and skip sections they do not know. A package is code: its
// hash detects damage, not malice; trust it as you would a shared library.
//
// References: a StrRef is a byte offset into ADX_STRINGS (NUL-terminated UTF-8); an ExprRef a byte
// offset into ADX_EXPRS; ADX_NONE stands for "none". first/count pairs index record arrays.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ADX_MAGIC                                                                                  \
    "\x8e"                                                                                         \
    "ADX\r\n\x1a\n" // 8 bytes; the newlines show text-mode damage
enum { ADX_MAJOR = 1, ADX_MINOR = 0, ADX_ALIGN = 64, ADX_BLOCK_ALIGN = 256 };
// Of a run: dispatches and trips at most, and how deep repeats nest.
enum { ADX_LAUNCHES_MAX = 1000000, ADX_NESTING_MAX = 16 };
#define ADX_NONE 0xffffffffu

typedef uint32_t StrRef, ExprRef;

// Records have no padding, whose bytes nobody sets: what there is to fill is called reserved, 0.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

typedef struct AdxHeader {
    uint8_t magic[8];
    uint16_t major, minor;
    uint32_t sections;
    uint64_t total_size;
    uint8_t hash[32];  // SHA-256 of all bytes after the header
    uint64_t reserved; // 0
} AdxHeader;

typedef struct AdxSection {
    uint32_t kind, record_size; // record_size 1 for byte sections
    uint64_t offset, size;      // from the start of the file; size in bytes
} AdxSection;

// X(id, number, record type)
#define ADX_SECTIONS(X)                                                                            \
    X(STRINGS, 1, uint8_t)                                                                         \
    X(EXPRS, 2, uint8_t)                                                                           \
    X(DIMS, 3, AdxDim)                                                                             \
    X(ASSERTS, 4, AdxAssert)                                                                       \
    X(REFS, 5, uint32_t) /* lists of ExprRef or StrRef, by first/count */                          \
    X(INPUTS, 6, AdxTensor)                                                                        \
    X(OUTPUTS, 7, AdxTensor)                                                                       \
    X(STATES, 8, AdxState)                                                                         \
    X(PARAMS, 9, AdxParam)                                                                         \
    X(CONSTS, 10, uint8_t) /* initial contents of BUF_CONST */                                     \
    X(SPIRV, 11, uint32_t)                                                                         \
    X(KERNELS, 12, AdxKernel)                                                                      \
    X(UNITS, 13, AdxUnit)                                                                          \
    X(STEPS, 14, AdxStep)                                                                          \
    X(ALTERNATIVES, 15, AdxAlternative)                                                            \
    X(CONDITIONS, 16, AdxCondition)                                                                \
    X(DISPATCHES, 17, AdxDispatch)                                                                 \
    X(ARGS, 18, AdxArg)                                                                            \
    X(MODEL, 19, AdxModelInfo) /* exactly one record */                                            \
    X(GRAPH, 20, uint8_t)      /* `adept 1 ir` text of the source graph; absent when stripped */

enum AdxSectionKind {
#define X(id, number, record) ADX_##id = number,
    ADX_SECTIONS(X)
#undef X
};

// Element types: X(id, number, bytes)
#define ADX_DTYPES(X)                                                                              \
    X(F32, 1, 4)                                                                                   \
    X(F16, 2, 2)                                                                                   \
    X(BF16, 3, 2)                                                                                  \
    X(F8E4M3, 4, 1)                                                                                \
    X(F8E5M2, 5, 1)                                                                                \
    X(I32, 6, 4)                                                                                   \
    X(U32, 7, 4)                                                                                   \
    X(I8, 8, 1)                                                                                    \
    X(U8, 9, 1)                                                                                    \
    X(BOOL, 10, 1)
enum AdxDType {
#define X(id, number, bytes) ADX_##id = number,
    ADX_DTYPES(X)
#undef X
};

// Target features: bits of AdxKernel.features and AdxAlternative.features (ir/target.h has the
// same).
#define ADX_FEATURES(X)                                                                            \
    X(STORAGE16, 0)                                                                                \
    X(STORAGE8, 1)                                                                                 \
    X(FLOAT16, 2)                                                                                  \
    X(INT8, 3)                                                                                     \
    X(SUBGROUP_ARITHMETIC, 4)                                                                      \
    X(SUBGROUP_SHUFFLE, 5)                                                                         \
    X(SUBGROUP_SIZE_CONTROL, 6)                                                                    \
    X(COOPERATIVE_MATRIX, 7)                                                                       \
    X(BFLOAT16, 8)                                                                                 \
    X(MEMORY_MODEL, 9)                                                                             \
    X(DENORM_PRESERVE16, 10)                                                                       \
    X(ROUNDING_RTE16, 11)                                                                          \
    X(SIGNED_ZERO_INF_NAN32, 12)                                                                   \
    X(ROUNDING_RTE32, 13)                                                                          \
    X(SPIRV16, 14)                                                                                 \
    X(INT16, 15)                                                                                   \
    X(FRAGMENT_QUADS, 16)                                                                          \
    X(FRAGMENT_COLUMNS, 17)
enum AdxFeature {
#define X(id, bit) ADX_FEATURE_##id = 1 << (bit),
    ADX_FEATURES(X)
#undef X
};

// Expressions: postfix bytecode over int64, one byte an operator, ended by ADX_END with exactly one
// value on the stack (depth <= 32). CONST is followed by 8 bytes, SYMBOL by one byte (index into
// ADX_DIMS). // and % floor; x // 0 is 0, x % 0 is x. Overflow is an error of the run.
enum AdxExprOp {
    ADX_END,
    ADX_CONST,
    ADX_SYMBOL,
    ADX_ADD,
    ADX_MUL,
    ADX_FLOOR_DIV,
    ADX_FLOOR_MOD,
    ADX_MIN,
    ADX_MAX
};
enum { ADX_STACK_MAX = 32 };

enum AdxDimSource { ADX_DIM_INPUT, ADX_DIM_HOST, ADX_DIM_TRIP };

typedef struct AdxDim {
    StrRef name;
    uint32_t source;      // AdxDimSource
    int64_t lo, hi;       // inclusive
    uint32_t input, axis; // ADX_DIM_INPUT: where it is read
} AdxDim;

enum AdxRelation { ADX_EQ, ADX_NE, ADX_LT, ADX_LE, ADX_GT, ADX_GE };

typedef struct AdxAssert { // checked once a run, before any dispatch
    ExprRef left, right;
    uint32_t relation;
    StrRef message;        // "%" is replaced by the next of refs; "%%" is a percent sign
    uint32_t first, count; // ADX_REFS: expressions in the message
    StrRef file;
    uint32_t line, column;
} AdxAssert;

typedef struct AdxTensor {
    StrRef name;
    uint32_t dtype, rank;
    ExprRef size[8];
    ExprRef bytes;
} AdxTensor;

typedef struct AdxState {
    StrRef name; // one record a trip, with the trip's number in it
    uint32_t dtype, rank, reserved;
    uint64_t size[8];
    uint64_t offset, bytes; // in BUF_STATE
    double fill;
} AdxState;

// A weight to read: one record a key (a param in a repeat has one a trip; a stacked key one a
// part).
typedef struct AdxParam {
    StrRef key;
    uint32_t dtype; // in the file
    uint32_t rank;
    uint32_t
        packed; // 1: read straight into BUF_PARAM at offset; 0: into staging (BUF_RAW) at offset
    uint64_t size[8];
    uint64_t offset, bytes;
    StrRef file;
    uint32_t line, column;
    uint32_t unit; // the prepare unit that needs it; ADX_NONE when packed
    uint32_t reserved[2];
} AdxParam;

typedef struct AdxKernel {
    StrRef name;
    uint32_t local_size, subgroup; // subgroup: required size or 0
    uint32_t shared_bytes, params; // params: 8-byte slots of the run block
    uint32_t first_word, words;    // in ADX_SPIRV
    uint32_t reserved;
    uint64_t features;
} AdxKernel;

typedef struct AdxUnit { // steps [first_step, + steps); those of params [first_param, + params)
                         // whose unit this is
    StrRef name;
    uint32_t first_step, steps, first_param, params;
    uint32_t reserved;
    uint64_t raw_bytes; // of its staging block, all trips of it
} AdxUnit;

enum AdxStepKind { ADX_STEP_RUN, ADX_STEP_REPEAT, ADX_STEP_END };

typedef struct AdxStep { // run steps come first in ADX_STEPS (AdxModelInfo.run_steps of them)
    uint32_t kind;
    StrRef name;
    uint32_t first_alternative, alternatives;
    uint32_t trip; // ADX_STEP_REPEAT: index into ADX_DIMS
    uint32_t reserved;
    int64_t lo, hi; // trips lo <= i < hi
} AdxStep;

typedef struct AdxAlternative {
    uint64_t features;
    uint32_t shared_bytes;
    uint32_t fragment_m, fragment_n, fragment_k, fragment_ab,
        fragment_acc; // AdxDType; m == 0: none
    uint32_t first_condition, conditions;
    uint32_t first_dispatch, dispatches;
    StrRef schedule, reason;
    uint32_t subgroup; // required size, must be supported; 0: any
    uint32_t reserved;
} AdxAlternative;

typedef struct AdxCondition {
    ExprRef left, right;
    uint32_t relation;
} AdxCondition;

typedef struct AdxDispatch {
    uint32_t kernel;
    ExprRef grid[3]; // one of a host dim makes it an indirect dispatch
    uint32_t first_arg, args;
    uint32_t barrier; // 1: compute-to-compute memory barrier before it
    ExprRef flops, bytes;
    StrRef label, file;         // label: the fused node's name, perhaps with a part
    uint32_t first_line, lines; // ADX_REFS: source lines it came from
} AdxDispatch;

enum AdxBuffer {
    ADX_BUF_INPUT,
    ADX_BUF_OUTPUT,
    ADX_BUF_PARAM,
    ADX_BUF_STATE,
    ADX_BUF_CONST,
    ADX_BUF_ARENA,
    ADX_BUF_RAW,
    ADX_BUF_COUNT
};
enum AdxArgKind { ADX_ARG_BUFFER, ADX_ARG_SCALAR };
enum { ADX_READ = 1, ADX_WRITE = 2 };

typedef struct AdxArg {
    uint32_t kind;
    uint32_t buffer, index, access;
    ExprRef offset,
        bytes; // buffer: bytes [offset, offset + bytes) are touched; scalar: offset = value
} AdxArg;

typedef struct AdxModelInfo {
    StrRef name, file;
    StrRef target;
    uint32_t run_steps;
    ExprRef arena_bytes; // over recorded dims and host dims' upper bounds
    uint32_t flags;      // 1: strict rounding
    uint64_t param_bytes, state_bytes, const_bytes;
} AdxModelInfo;

#pragma GCC diagnostic pop

// SHA-256 (FIPS 180-4) of a byte string; used for AdxHeader.hash by writer and reader.
void adx_sha256(const void *bytes, size_t length, uint8_t hash[32]);
