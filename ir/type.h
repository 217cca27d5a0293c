// Element types and tensor types.
#pragma once

#include "ir/dim.h"

// X(id, name, bits, class): class is what arithmetic the language allows (language.md section 3).
//   FLOAT/INT: arithmetic; STORE: only matmul-like ops, comparisons, casts and moves;
//   LATER: reserved words of the language that version 1 refuses.
#define DTYPE_TABLE(X)                                                                             \
    X(F32, "f32", 32, FLOAT)                                                                       \
    X(F16, "f16", 16, FLOAT)                                                                       \
    X(BF16, "bf16", 16, FLOAT)                                                                     \
    X(F8E4M3, "f8e4m3", 8, FSTORE)                                                                 \
    X(F8E5M2, "f8e5m2", 8, FSTORE)                                                                 \
    X(I32, "i32", 32, INT)                                                                         \
    X(U32, "u32", 32, INT)                                                                         \
    X(I8, "i8", 8, ISTORE)                                                                         \
    X(U8, "u8", 8, ISTORE)                                                                         \
    X(BOOL, "bool", 8, LOGIC)                                                                      \
    X(I4, "i4", 4, LATER)                                                                          \
    X(U4, "u4", 4, LATER)                                                                          \
    X(F64, "f64", 64, LATER)                                                                       \
    X(I64, "i64", 64, LATER)                                                                       \
    X(I16, "i16", 16, LATER)                                                                       \
    X(U16, "u16", 16, LATER)

typedef enum DType {
    DT_NONE = 0,
#define X(id, name, bits, class) DT_##id,
    DTYPE_TABLE(X)
#undef X
        DT_COUNT
} DType;

typedef enum DTypeClass { DC_FLOAT, DC_INT, DC_FSTORE, DC_ISTORE, DC_LOGIC, DC_LATER } DTypeClass;

const char *dtype_name(DType dtype);
bool dtype_from_name(const char *name, DType *out);
unsigned dtype_bits(DType dtype);  // 4 for i4 and u4
unsigned dtype_bytes(DType dtype); // 0 for 4-bit types
DTypeClass dtype_class(DType dtype);
bool dtype_is_float(DType dtype); // f32 f16 bf16 f8*
bool dtype_is_int(DType dtype);   // i32 u32 i8 u8
bool dtype_is_signed(DType dtype);

enum { RANK_MAX = 8 };

typedef struct Type {
    DType dtype;
    uint8_t rank;
    Dim size[RANK_MAX];
} Type;

bool type_equal(const Type *a, const Type *b);
Dim type_elements(DimTable *dims, const Type *type); // product of sizes; DIM_NONE on overflow
Dim type_bytes(DimTable *dims, const Type *type);
void type_print(const DimTable *dims, const Type *type, Text *out); // "[N, 3] f32", "f32"
