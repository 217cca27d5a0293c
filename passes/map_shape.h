// What a group of family "map" reads from memory and how that lies; both policy and mechanism ask.
#pragma once

#include "passes/lower_shape.h"

// An operand from memory, seen in the linear order of the group's elements: `view` has one axis.
typedef struct MapRead {
    ValueId value, base; // value: as the expression has it; of a copy, its result
    View view;
    bool gathered; // read at places that other operands give: the view says nothing
} MapRead;
typedef VEC(MapRead) MapReads;

MapReads map_reads(Arena *arena, const Graph *g, const Node *fused);

// The group's elements as [outer, side, run]. The operands `turned` are neighbours in memory along
// the side and not along the run, in which results are written.
typedef struct MapTile {
    Dim outer, side, run;
    VEC(MapRead) turned; // views of [outer, run, side]
} MapTile;

// How an operand of one axis is turned: elements that neighbour in memory are `run` apart. False if
// it is not.
bool map_split(DimTable *dims, const View *view, MapTile *out);
// How the largest operand that is turned lies, with all that lie like it. False if there is none.
bool map_tile(Arena *arena, const Graph *g, const MapReads *reads, MapTile *out);
