// What both policy and mechanism ask of a fused node: its iteration shape, results, reductions.
#pragma once

#include "ir/graph.h"

// Values a fused node must store: its results, then updates inside it that are no results.
typedef VEC(ValueId) ValueList;
ValueList fused_stores(Arena *arena, const Graph *g, const Node *fused);

// The shape a store has in the iteration: the slice for an update, else the value's own.
Type fused_store_shape(const Graph *g, ValueId value);

// The shape in which a group of family "map" iterates: that of its maps, as a result may be a
// reshape of it; that of the first store where there is no map, or where an update spreads its
// value.
Type fused_map_shape(const Graph *g, const Node *fused);

// Whether the value is an update of a state.
bool fused_is_update(const Graph *g, ValueId value);

// First node of the class in the body, 0 if there is none.
NodeId fused_find(const Graph *g, const Node *fused, OpClass class);

// Family "row": a shape whose `reduced` axes every reduction folds. Values inside have one element
// for each element of the shape (full), or one a row.
typedef struct RowShape {
    uint8_t rank, kept; // kept: axes that are not reduced
    uint32_t reduced;   // bit a: axis a
    Dim size[RANK_MAX], rows, length;
    uint32_t levels;       // the highest level of all
    const uint32_t *level; // per value: how many phases of folding must be done before it is known
    const bool *is_full;   // per value
} RowShape;

// False if the reductions of the body do not agree.
bool row_shape(Arena *arena, const Graph *g, NodeId fused, RowShape *out);
bool row_is_full(const RowShape *shape, ValueId value);
uint32_t row_level(const RowShape *shape, ValueId value);
