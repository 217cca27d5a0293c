// Parts of pass join-products: which products become one (join_sets.c), and how
// (join_products.c).
#pragma once

#include "passes/pack.h"
#include "passes/readers.h"

enum { JOIN_MAX = 16, JOIN_STEPS_MAX = 8 };

typedef struct JoinSet {
    uint32_t count;
    NodeId product[JOIN_MAX];
    bool pairs;                  // two that meet in a map
    uint32_t steps;              // maps behind each that are joined
    NodeId step[JOIN_STEPS_MAX]; // those of the first product
    ValueId last[JOIN_MAX];      // what stands behind the joined maps
    bool joined, built;
    const char *reason;
} JoinSet;

typedef struct Joiner {
    const Graph *g;
    const PassContext *ctx;
    const bool *constant; // per value
    const uint32_t *uses; // per value
    Readers readers;
    NodeId *next;  // per node: the next product of the same tensor
    uint8_t *seen; // per value: of a search for a meeting
    uint32_t *set; // per node: its set + 1
    bool *gone;    // per node: a map that is part of a joined one
    VEC(JoinSet) sets;
} Joiner;

// An operand of maps that are joined: `part` of each, seen with the product's shape by
// broadcasting; the joined axis is number `tail` from the right.
typedef struct JoinParts {
    NodeId first; // the first product: what stands before it is known by then
    uint32_t count, tail;
    ValueId part[JOIN_MAX];
} JoinParts;

// join_sets.c

// Finds the sets of j's graph and decides about them.
void join_find(Joiner *j);
const Node *join_def(const Graph *g, ValueId value); // NULL: no op makes it
const Type *join_type(const Graph *g, ValueId value);
uint32_t join_batch(const Node *product);
// The axis of a product's result along which products are joined: the first of the second operand.
uint32_t join_axis(const Graph *g, const Node *product);
// The map that alone reads `value`, whole, in its own region; 0: there is none.
NodeId join_next_map(const Joiner *j, ValueId value);
// Operand `index` of the nodes that make the parts.
JoinParts join_operands(const Joiner *j, const JoinParts *parts, uint32_t index);
// Whether all parts are one value that is the same along the joined axis.
bool join_is_shared(const Joiner *j, const JoinParts *parts);
// Whether the parts are weights that differ in size along the joined axis only.
bool join_is_weights(const Joiner *j, const JoinParts *parts);
