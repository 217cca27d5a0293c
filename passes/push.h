// Moving a move past what computes its operand: the shared pieces of the push-moves pass.
#pragma once

#include "passes/build.h"

// A bijective move, or a slice, that can be applied to any value of its operand's shape.
typedef struct Shift {
    const Node *node;
    bool reshape, permute; // neither: slice
    uint8_t axes[RANK_MAX];
    Type before, after; // shapes
} Shift;

// False when the node is no move that can be pushed.
bool shift_of(const Graph *g, NodeId node, Shift *out);

// The shift of `x`, whose shape broadcasts to shift->before: the result broadcasts to shift->after.
ValueId shift_apply(Builder *b, const Shift *shift, const char *part, ValueId x);
// The inverse, of an `x` whose shape broadcasts to shift->after. Not for slices.
ValueId shift_undo(Builder *b, const Shift *shift, ValueId x);

// Whether the shift of a contract's result is a contract of shifted operands, and that contract.
bool shift_fits_contract(const Graph *g, const Shift *shift, const Node *contract);
ValueId shift_contract(Builder *b, const Shift *shift, const char *part, const Node *contract,
                       ValueId x, ValueId y, DType dtype);

// push_spread.c: computes cheap maps of small operands of the map `id` in its own shape; sets *done
// when it replaced the node. uses and stored: per value of the old graph.
bool push_spread(Rewrite *rewrite, NodeId id, const uint32_t *uses, const bool *stored, bool *done);
