// Rules of the simplify and tidy passes.
#pragma once

#include "passes/build.h"

// An equal value that is there already or needs less; 0 when no rule applies. `operand` are the
// node's operands in the new graph. Only exact rules: no rounding that must happen is lost.
ValueId simplify_map(Builder *b, const Node *node, const Type *result, const ValueId *operand);
ValueId simplify_move(Builder *b, const Node *node, const Type *result, ValueId x);

// The node of the graph being built that defines a value, if it is an op; else NULL.
const Node *simplify_def(const Builder *b, ValueId value);
