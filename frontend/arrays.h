// Named arrays of a run: inputs read from .npy and .npz files, outputs written to .npy files.
//
// Functions return false and append one line, without a newline, to `error`.
#pragma once

#include "frontend/cli.h"
#include "frontend/npy.h"

typedef struct NamedArray {
    const char *name;
    DType dtype; // DT_NONE until arrays_convert
    Npy array;   // owned
} NamedArray;

typedef VEC(NamedArray) ArrayVec;

// Reads "name=file.npy", "name=file.npz" (its member of that name) and "file.npz" (all members).
// Lists and names are the arena's; free the data with arrays_free, also after a failure.
bool arrays_read(Arena *arena, const CliList *list, ArrayVec *out, Text *error);
void arrays_free(ArrayVec *arrays);

// NULL when there is none of that name.
NamedArray *arrays_find(const ArrayVec *arrays, const char *name);
// As npy_convert, and remembers the dtype.
bool arrays_convert(NamedArray *array, DType dtype, Text *error);
// Room for an array of zeros.
bool arrays_add(Arena *arena, ArrayVec *arrays, const char *name, DType dtype, uint32_t rank,
                const int64_t *size, Text *error);
// Writes those named in "name=file.npy".
bool arrays_write(Arena *arena, const CliList *list, const ArrayVec *arrays, Text *error);

// "logits : [360, 10] f32 = 1.5 -2 ..", the first few values.
void arrays_describe(const NamedArray *array, Text *out);

typedef struct Difference {
    double largest, scale; // |got - wanted|, and the largest |wanted|
    uint64_t at;           // element of the largest difference
    double got, wanted;    // there
    bool within;           // the bound of the dtype
} Difference;

// Compares two arrays of one shape and dtype. Bounds, relative to the larger of 1 and
// the scale: f32 2e-5, f16 2e-3, bf16 and f8 2e-2; integers and bools are exact; NaN equals NaN.
Difference arrays_compare(const NamedArray *got, const NamedArray *wanted);
