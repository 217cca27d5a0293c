// Channels last: the order in which memory holds what convolutions and the like compute. The
// graph's own order [N, C, spatial ..] puts the channels of one place far apart; with axis 1 moved
// to the end they are neighbours, and an operand of a contract that goes along them is read 16
// bytes at a time. layout.c decides, layout_rewrite.c writes the graph.
//
// Values between contracts that are read element by element (maps, what a repeat carries, windows
// summed up) share one order. The order of a weight follows from that of the image it meets.
#pragma once

#include "passes/build.h"

typedef struct Layout {
    const Graph *g;
    const bool *live;  // per node
    uint32_t *parent;  // per value: towards the value that stands for all of its order
    double *gain;      // per value that stands for others: see layout_decide
    uint32_t *readers; // likewise: contracts that would read whole vectors
    bool *fixed;       // likewise: the order cannot change
    bool *pooled;      // likewise: small windows of it are folded as it is
    bool *turned;      // likewise: decided
    bool *constant;    // per value: of weights and constants only
    bool *last;        // per value: axis 1 lies last
} Layout;

// How an operand of a contract is read.
typedef struct Reading {
    double elements; // about as many as there are
    bool vector;     // neighbours can be moved together
    int k_axis;      // vector: the axis (of the operand) to go along; -1: one that is not summed
} Reading;

// Fills `last`.
void layout_decide(Layout *layout);

// Reads `value`, an operand of the contract `node`, in the order decided for what is under it.
// Preferred is the axis `wanted` if it is not -1.
Reading layout_reading(const Layout *layout, const Node *node, ValueId value, int wanted);

// The operand of a contract that decides along which axis to sum last, and its reading; 0 when
// neither gains by any.
ValueId layout_leader(const Layout *layout, const Node *node, Reading *reading);

// Whether a result of the contract may have its axis 1 last: [N | C | ..] as [N | .. | C].
bool layout_turns(const Layout *layout, const Node *contract);

// Why a value has its channels last.
const char *layout_why(const Layout *layout, ValueId value);

// Axes with axis 1 last, as a permute takes them, and back.
void layout_axes(uint32_t rank, bool back, uint8_t *axes);
