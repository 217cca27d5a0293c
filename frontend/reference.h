// A model on the evaluator (ir/eval.h), with inputs and weights from files: `--device reference`
// and `--check`.
//
// Functions return false after a diagnostic.
#pragma once

#include "frontend/arrays.h"
#include "ir/eval.h"

// Fills `symbols`, one a symbol of the graph's dims: dims that stand alone in an input's shape are
// read there, the others from `given`, which must not contradict. Checks ranges, that every input
// is one of the model's, all input shapes and the model's asserts.
bool reference_dims(const Graph *graph, const ArrayVec *inputs, const CliSizes *given, Diags *diags,
                    int64_t *symbols);

// Where params come from; both NULL for a model without params.
typedef struct ReferenceWeights {
    const char *file;   // .safetensors or an index of shards
    const char *random; // a seed, as random_weights_open takes it; not both
} ReferenceWeights;

// Converts inputs to the graph's dtypes (they may have been converted before) and runs everything
// `times` times, states going from run to run. Adds the outputs of the last run, rounded to their
// dtypes, to `out`.
bool reference_run(Arena *arena, const Graph *graph, ArrayVec *inputs,
                   const ReferenceWeights *weights, const int64_t *symbols, bool strict_rounding,
                   uint32_t times, Diags *diags, ArrayVec *out);
