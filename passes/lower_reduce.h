// Folding many values into one: the functions of the reduce ops, in registers and across the lanes
// of a row.
#pragma once

#include "passes/lower.h"

// What is carried while folding: the value, and for argmax and argmin its index.
typedef struct Fold {
    OpId op;
    DType dtype;    // of what is folded
    unsigned words; // 1, or 2 with an index
} Fold;

Fold fold_of(const Graph *g, const Node *reduce);
void fold_start(Lower *l, const Fold *fold, unsigned lanes, KVal *state);
// One more value (bools too) with its index; lanes as the state has.
void fold_value(Lower *l, const Fold *fold, KVal *state, KVal value, KVal index);
void fold_join(Lower *l, const Fold *fold, KVal *state, const KVal *other);
void fold_lanes(Lower *l, const Fold *fold, KVal *state); // a vector's lanes into one
KVal fold_result(Lower *l, const Fold *fold, const KVal *state);

// The lanes of one row: `count` (a power of two) neighbours among the workgroup's invocations.
typedef struct FoldLanes {
    unsigned count, local;
    unsigned subgroup; // size required of the device, 0: none
    KVal invocation, lane, row;
    uint32_t region[3]; // workgroup memory for floats, integers, indices
    bool used;
} FoldLanes;

void fold_lanes_begin(Lower *l, FoldLanes *lanes, const Fold *folds, unsigned count);
// Joins the states of a row's lanes; all of them get the result. In workgroup-uniform flow.
void fold_across(Lower *l, FoldLanes *lanes, const Fold *fold, KVal *state);
