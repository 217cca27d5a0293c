// Target profiles: what the compiler may rely on. The compiler never asks the machine it runs on; a
// profile is built in by name, read from a file, or dumped from a device (`adept devices
// --dump-profile`). Its text form: first line `adept 1 target`, then `key = value` lines.
#pragma once

#include "ir/diag.h"
#include "ir/type.h"

// X(id, "text name", bit): optional abilities a kernel may need. Guards of alternatives name them.
// runtime/format.h repeats the bits; codegen asserts that they agree.
#define TARGET_FEATURES(X)                                                                         \
    X(STORAGE16, "storage16", 0) /* 16-bit loads and stores through buffer addresses */            \
    X(STORAGE8, "storage8", 1)   /* 8-bit loads and stores */                                      \
    X(FLOAT16, "float16", 2)     /* f16 values (needed by f16 fragments) */                        \
    X(INT8, "int8", 3)           /* 8-bit values (needed by s8/u8 fragments) */                    \
    X(SUBGROUP_ARITHMETIC, "subgroup_arithmetic", 4)                                               \
    X(SUBGROUP_SHUFFLE, "subgroup_shuffle", 5)                                                     \
    X(SUBGROUP_SIZE_CONTROL, "subgroup_size_control", 6) /* full subgroups of a required size */   \
    X(COOPERATIVE_MATRIX, "cooperative_matrix", 7)       /* VK_KHR_cooperative_matrix */           \
    X(BFLOAT16, "bfloat16", 8)         /* bf16 fragments, VK_KHR_shader_bfloat16 */                \
    X(MEMORY_MODEL, "memory_model", 9) /* Vulkan memory model, device scope */                     \
    X(DENORM_PRESERVE16, "denorm_preserve16", 10)                                                  \
    X(ROUNDING_RTE16, "rounding_rte16", 11)                                                        \
    X(SIGNED_ZERO_INF_NAN32, "signed_zero_inf_nan32", 12)                                          \
    X(ROUNDING_RTE32, "rounding_rte32", 13)                                                        \
    X(SPIRV16, "spirv16", 14)               /* Vulkan 1.3: SPIR-V 1.6 */                           \
    X(INT16, "int16", 15)                   /* 16-bit integers (needed to reach bf16 memory) */    \
    X(FRAGMENT_QUADS, "fragment_quads", 16) /* layout `quads` of ir/fragment_layout.h */           \
    X(FRAGMENT_COLUMNS, "fragment_columns", 17) /* layout `columns` */

typedef uint64_t TargetFeatures;
#define X(id, name, bit) enum { TF_##id = 1u << (bit) };
TARGET_FEATURES(X)
#undef X

typedef struct FragmentShape { // subgroup scope: D[m, n] += A[m, k] * B[k, n]
    uint16_t m, n, k;
    DType ab, acc;
} FragmentShape;

enum { TARGET_FRAGMENTS_MAX = 32, TARGET_PRODUCTS_MAX = 16 };

// What large products of this dtype reach here, by the order of the second operand's elements.
typedef struct ProductRate {
    DType dtype;
    uint32_t along_n, along_k; // 10^12 operations a second, two a multiply-add
} ProductRate;

typedef struct Target {
    char name[64];
    uint32_t subgroup_min, subgroup_max; // sizes a kernel may require; equal: fixed
    uint32_t subgroup_size;              // what runs when none is required; 0: unknown
    uint32_t shared_bytes, max_invocations, max_local_x;
    uint32_t max_grid[3];
    uint32_t compute_units; // 0: unknown
    TargetFeatures features;
    uint32_t fragments;
    FragmentShape fragment[TARGET_FRAGMENTS_MAX];
    // Measured; 0 and none where unknown: passes then change nothing for the sake of speed.
    uint32_t memory_rate;    // 10^9 bytes a second, read and written, of a copy
    uint32_t transpose_rate; // likewise, of a transposed copy
    uint32_t dispatch_time;  // nanoseconds of a dispatch behind a barrier that does nothing
    uint32_t products;
    ProductRate product[TARGET_PRODUCTS_MAX];
    char device[64]; // a device whose name holds this is one of those that were measured
} Target;

const ProductRate *target_product(const Target *target, DType dtype); // NULL: unknown

const char *const *target_builtin_names(void); // "portable" first; NULL-terminated
bool target_builtin(const char *name, Target *out);
bool target_parse(const char *text, size_t length, FileId file, Diags *diags, Target *out);
void target_print(const Target *target, Text *out);
const char *target_feature_name(unsigned bit);
bool target_feature_from_name(const char *name, TargetFeatures *bit);
