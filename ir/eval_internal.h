// Shared by the files of the evaluator.
#pragma once

#include "ir/eval.h"

typedef struct EvalSlot {
    Tensor tensor; // data NULL until something was computed
    bool complete; // every element is there
    uint8_t *have; // else: one byte an element
} EvalSlot;

struct Eval {
    const Graph *graph;
    EvalOptions options;
    Diags *diags;
    Arena *arena;
    int64_t symbols[64];
    EvalSlot *slot;               // per value
    struct Winograd *winograd[8]; // by tile, once they are needed
    bool failed;
};

double eval_at(Eval *e, ValueId value, const int64_t *index); // one operand element
void eval_fail(Eval *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t eval_dim(Eval *e, Dim dim);
void eval_shape(Eval *e, const Type *type, Tensor *out); // sizes and elements, no data
const Tensor *eval_shape_of(Eval *e, ValueId value);     // of a value, data may be missing
double *eval_complete_data(Eval *e, ValueId value);      // NULL unless all of it was computed

// One element of a node's result. Classes that know whole rows (SCAN, ROW) fill `row` of them at
// once: eval_row_op writes all elements along the row that index lies in.
double eval_scalar(Eval *e, const Node *node, const int64_t *index);                // MAP
double eval_reduce(Eval *e, const Node *node, const int64_t *index);                // REDUCE
double eval_contract(Eval *e, const Node *node, const int64_t *index);              // CONTRACT
double eval_window(Eval *e, const Node *node, const int64_t *index);                // WINDOW
double eval_transform(Eval *e, const Node *node, const int64_t *index);             // TRANSFORM
double eval_gather(Eval *e, const Node *node, const int64_t *index);                // GATHER
double eval_move(Eval *e, const Node *node, uint32_t result, const int64_t *index); // MOVE
double eval_update(Eval *e, const Node *node, const int64_t *index);                // state update
// Single ops of other classes than their file's.
double eval_index(Eval *e, const Node *node, const int64_t *index); // one_hot, bincount, scatter
double eval_conv_transpose(Eval *e, const Node *node, const int64_t *index);
double eval_interpolate(Eval *e, const Node *node, const int64_t *index);
double eval_grouped_matmul(Eval *e, const Node *node, const int64_t *index);
double eval_quantize(Eval *e, const Node *node, const int64_t *index); // and dequantize
void eval_sort_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot);
void eval_sum_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot);
void eval_order_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot);
void eval_segment_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot);
// An element that a scatter joins with an update; the update where reduction is "none".
double eval_joined(const char *reduction, DType dtype, double x, double update);
// Writes all elements of the row (group of elements that depend on each other) through index.
void eval_row(Eval *e, const Node *node, const int64_t *index, EvalSlot *slot);
