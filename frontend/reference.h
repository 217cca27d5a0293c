// A model on the evaluator (ir/eval.h), with inputs and weights from files: `--device reference`
// and `--check`.
//
// Functions return false after a diagnostic.
#pragma once

#include "frontend/arrays.h"
#include "ir/eval.h"

// Fills `symbols`, one a symbol of the graph's dims: dims that stand alone in an input's shape are
// read there, the others from "NAME=SIZE" in `given`. Checks ranges, all input shapes and the
// model's asserts.
bool reference_dims(const Graph *graph, const ArrayVec *inputs, const CliList *given, Diags *diags,
                    int64_t *symbols);

// Converts inputs to the graph's dtypes (they may have been converted before) and runs everything;
// `weights` may be NULL for a model without params. Adds the outputs, rounded to their dtypes, to
// `out`.
bool reference_run(Arena *arena, const Graph *graph, ArrayVec *inputs, const char *weights,
                   const int64_t *symbols, bool strict_rounding, Diags *diags, ArrayVec *out);
