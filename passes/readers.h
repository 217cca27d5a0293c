// Who reads a value, and what may be one kernel with it.
#pragma once

#include "ir/graph.h"

typedef struct ReaderEdge {
    NodeId node;
    uint32_t next; // of the same value; 0: the last
} ReaderEdge;

// For each value a list of the live ops that read it, the latest first, an entry an operand:
//     for (uint32_t e = readers.first[value]; e; e = readers.edges.at[e].next)
typedef struct Readers {
    const Graph *g;
    Arena *arena;
    uint32_t *first;
    VEC(ReaderEdge) edges; // [0] unused
    uint32_t *below, *own; // per value: the search that found it behind the parts, per node: inside
    uint32_t searches;
} Readers;

Readers readers_find(const Graph *g, Arena *arena);
// The only one that reads the value, once; 0: none, or several, or not an op of the value's region.
NodeId readers_only(const Readers *readers, const uint32_t *uses, ValueId value);

// Values of one shape, in one region, which one kernel holds together: whether maps of that shape
// are all that reads them, directly, and those maps need nothing that depends on the values in
// another way. Then all these maps can stand in that kernel.
bool readers_close(Readers *readers, const uint32_t *uses, const ValueId *part, uint32_t parts);
