// NumPy arrays in files: inputs, outputs and references (docs/formats.md section 2).
//
// The reader is strict: the header is parsed, never evaluated, everything is checked against the
// size of the file before memory is taken, and a file with one byte too many is refused. An array
// owns its bytes: little-endian, row-major, without strides.
//
// Functions return false and append one line, without a newline, to `error`, naming the file, the
// byte offset, the rule and the numbers.
#pragma once

#include "ir/type.h"

// X(id, descr, bytes an item, dtype in Adept or DT_NONE)
#define NPY_TABLE(X)                                                                               \
    X(F2, "<f2", 2, DT_F16)                                                                        \
    X(F4, "<f4", 4, DT_F32)                                                                        \
    X(F8, "<f8", 8, DT_NONE)                                                                       \
    X(I1, "|i1", 1, DT_I8)                                                                         \
    X(I4, "<i4", 4, DT_I32)                                                                        \
    X(I8, "<i8", 8, DT_NONE)                                                                       \
    X(U1, "|u1", 1, DT_U8)                                                                         \
    X(U2, "<u2", 2, DT_NONE)                                                                       \
    X(U4, "<u4", 4, DT_U32)                                                                        \
    X(B1, "|b1", 1, DT_BOOL)

typedef enum NpyCode {
#define X(id, descr, bytes, dtype) NPY_##id,
    NPY_TABLE(X)
#undef X
        NPY_COUNT
} NpyCode;

typedef struct Npy {
    NpyCode code;
    uint32_t rank;
    int64_t size[RANK_MAX];
    uint64_t count;       // product of the sizes
    uint64_t data_offset; // in the file
    uint64_t bytes;       // count times bytes an item
    void *data;           // malloc'ed by the readers; never NULL once read
} Npy;

// Bytes a header can reach into a file, whatever its version.
enum { NPY_HEADER_MAX = 12 + 10000 };

const char *npy_descr(NpyCode code);
unsigned npy_item_bytes(NpyCode code);

// Checks the header in the first `available` bytes (the whole file, or at least NPY_HEADER_MAX of
// it) of a file of `size` bytes; fills in everything but `data`.
bool npy_parse_header(const char *name, const void *bytes, size_t available, uint64_t size,
                      Npy *out, Text *error);

// `name` is for messages.
bool npy_read_memory(const char *name, const void *bytes, size_t size, Npy *out, Text *error);
bool npy_read(const char *path, Npy *out, Text *error);
void npy_free(Npy *array);

// Makes the array one of `dtype`, in place. Beyond the table's own pairs: <i8 is narrowed to i32,
// range-checked; <u2 is taken as bf16 and |u1 as f8e4m3 or f8e5m2, which travel so. bool bytes must
// be 0 or 1. `name` is for messages.
bool npy_convert(const char *name, Npy *array, DType dtype, Text *error);

// How a dtype is written: its own code, <u2 for bf16 and |u1 for f8. False: it has none.
bool npy_code_of(DType dtype, NpyCode *out);

// Appends version 1.0's header, padded so that data starts at a multiple of 64.
void npy_write_header(Text *out, NpyCode code, uint32_t rank, const int64_t *size);
// Writes rank, size, code and data of `array`; the file appears whole or not at all.
bool npy_write(const char *path, const Npy *array, Text *error);
