// Values that weights make, in another form: what becomes of a tensor when its maps are computed on
// moved operands, so that one kernel of `prepare` writes the form that a run reads.
#pragma once

#include "passes/build.h"

// The value in the new graph. What weights and constants make may stand further down in the old
// graph: it is copied now. 0 after an error.
ValueId pack_pull(Rewrite *rewrite, ValueId value);

// Moves x, which has the shape of the packed tensor (or broadcasts to it, given spread).
typedef ValueId PackMove(Builder *b, ValueId x, void *user);

typedef struct Packing {
    const bool *constant; // as build_constants tells
    const uint32_t *uses;
    const Type *full; // the tensor's shape
    PackMove *move;
    void *user;
    bool views; // moves of what is not computed here are views of their readers
} Packing;

// The tensor moved: a move of the value itself, or the maps that make it on moved operands. `top`:
// the value is the tensor, whatever reads it besides.
ValueId pack_value(Rewrite *rewrite, Builder *b, const Packing *packing, ValueId value, bool top);
