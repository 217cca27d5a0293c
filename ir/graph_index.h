// What a graph remembers to find things by: nodes by content, values by name. Private to
// ir/graph*.c.
#pragma once

#include "ir/graph.h"

typedef struct SharedDims {
    Arena *arena; // holds the table and this
    DimTable *table;
    uint32_t graphs; // that use it
} SharedDims;

typedef struct NameEntry {
    const char *name; // NULL: free slot
    ValueId value;    // 0: reserved, not used yet
    uint32_t next;    // number of the next value that wishes this name
} NameEntry;

typedef struct NodeEntry {
    uint64_t hash;
    NodeId node; // 0: free slot
} NodeEntry;

typedef struct GraphIndex {
    SharedDims *dims;
    RegionId region; // where graph_add puts nodes
    NameEntry *names;
    uint32_t name_count, name_capacity;
    NodeEntry *nodes;
    uint32_t node_count, node_capacity;
} GraphIndex;

Graph *graph_create_with(const char *model, SharedDims *dims); // takes a share of dims

void graph_copy_assert(Graph *g, const Assertion *assertion); // known and assumed by the dim table
void graph_find_live(const Graph *g, Arena *arena, bool **node, bool **value);

// Name of a new value; see graph_name.
const char *graph_claim_name(Graph *g, const char *wish, bool exact, ValueId value);

// The node of equal content in the current region, or 0; *hash is for graph_index_node.
NodeId graph_intern_find(const Graph *g, const Node *node, uint64_t *hash);
void graph_index_node(Graph *g, NodeId node, uint64_t hash);
