// What both policy and mechanism ask of a fused node: its iteration shape, results, reductions.
#pragma once

#include "ir/graph.h"

// Values a fused node must store: its results, then updates inside it that are no results.
typedef VEC(ValueId) ValueList;
ValueList fused_stores(Arena *arena, const Graph *g, const Node *fused);

// The shape a store has in the iteration: the slice for an update, else the value's own.
Type fused_store_shape(const Graph *g, ValueId value);

// Whether the value is an update of a state.
bool fused_is_update(const Graph *g, ValueId value);

// First node of the class in the body, 0 if there is none.
NodeId fused_find(const Graph *g, const Node *fused, OpClass class);

// Attribute of a node by name; the op has it.
const Attr *node_attr(const Node *node, const char *name);
