// The numeric suite's cases: models made from tables, each run on the device for several dims and
// compared with the evaluator (device_check.h). tests/numeric has a program a family.
#pragma once

#include "tests/support/device_check.h"

enum { NUMERIC_OUTPUTS_MAX = 24 };

typedef struct NumericModel {
    const char *name, *text;
    const char *sizes; // "1; 2; 7": values of the dims, in order of declaration, run by run
    Bound bound[NUMERIC_OUTPUTS_MAX]; // an output
    bool eager;                       // as DeviceOptions.eager
} NumericModel;

typedef VEC(NumericModel) NumericList;

// Each appends its family's models; all they point to is the arena's or constant.
typedef void NumericFamily(Arena *arena, NumericList *out);
NumericFamily numeric_maps, numeric_rows, numeric_contracts, numeric_windows, numeric_moves,
    numeric_programs, numeric_indices, numeric_resample, numeric_attention, numeric_planes,
    numeric_products;

// A row of most tables: a model for each dtype that it names, "$T" in the text. One bound serves
// all outputs. The text begins after the first line, which is made.
typedef struct NumericCase {
    const char *name, *dtypes, *sizes, *text;
    Bound bound;
} NumericCase;
void numeric_from_cases(Arena *arena, const NumericCase *cases, size_t count, NumericList *out);

// Reads the next run of sizes; 0 after the last, else how many there were.
unsigned numeric_dims(const char **sizes, int64_t dims[64]);

// Runs a family as a cmocka group, one test a model; the result is for main.
int numeric_run(const char *group, NumericFamily *family);
