// The reference evaluator: what a graph means, in f64 on the CPU. Integers and bools are computed
// in their own width; floats are rounded only at casts, stored params, outputs and states (with
// strict_rounding after every op, as `--strict-rounding` does).
//
// Values are evaluated on demand: eval_value computes a whole tensor, eval_element one element and
// only what that needs, so that large cases can be sampled (the recursion is as deep as the graph;
// a repeat is evaluated whole). Graphs before and after any pass are understood.
//
// An Eval belongs to one thread and one set of dims; it owns the tensors it returns.
#pragma once

#include "ir/graph.h"

typedef struct Tensor {
    DType dtype;
    uint8_t rank;
    int64_t size[RANK_MAX];
    int64_t elements;
    double *data; // row-major; integers and bools exact
} Tensor;

// Fills out->data (allocated, elements long) for an input, param or state; `source` is the value
// that its declaration defines, `symbols` holds the trips of enclosing repeats. False: not
// available.
typedef bool EvalFetch(void *user, ValueId source, const int64_t *symbols, Tensor *out);
// Told about each updated state at the end of its region: the last version, rounded.
typedef void EvalStore(void *user, ValueId source, const int64_t *symbols, const Tensor *state);

typedef struct EvalOptions {
    const int64_t *symbols; // one a symbol of the graph's dim table; copied
    EvalFetch *fetch;
    EvalStore *store; // NULL: updates are dropped
    void *user;       // of fetch and store
    bool strict_rounding;
} EvalOptions;

typedef struct Eval Eval;

Eval *eval_create(const Graph *graph, const EvalOptions *options, Diags *diags);
void eval_destroy(Eval *eval);

// The whole value; NULL after a diagnostic (a fetch failed, an overflow of sizes).
const Tensor *eval_value(Eval *eval, ValueId value);
// All outputs (rounded to their dtype) and state updates, in program order.
bool eval_run(Eval *eval);
const Tensor *eval_output(Eval *eval, uint32_t output); // after eval_run
// One element of a value, rounded to its dtype. NaN after a diagnostic.
double eval_element(Eval *eval, ValueId value, const int64_t *index);
bool eval_failed(const Eval *eval);

int64_t tensor_offset(const Tensor *tensor, const int64_t *index); // row-major element number
// Next index in row-major order; false after the last.
bool tensor_next(const Tensor *tensor, int64_t *index);
