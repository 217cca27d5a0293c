// Family "contract", form "planes": an f32 product on fragments of f16 (--math=fast).
//
// Every f32 x is x = 2^e (high + 2^-11 low) with f16 numbers high and low, where e is shared by its
// row of M or column of N: what is largest there lies in [2^14, 2^15). high has the upper 11 bits
// of x, so that their difference is exact; low the next 11. Three products, high high, high low and
// low high, give what f32 gives; the fourth is too small to matter. The first two dispatches write
// both operands so into workspace, the third multiplies.
//
// A row keeps its 22 bits while no element but 0 is below 2^-28 of its largest one. Where one is,
// or where the largest is tiny, infinite or NaN, the row is marked, and every tile it belongs to is
// left to a fourth dispatch, which computes it in f32.
//
// In workspace an operand is a matrix of twice the K: after tile_k of high come tile_k of low.
//
// Form "halves" is the same with only the exponents in workspace: the third dispatch reads the f32
// operands and makes their planes on the way into workgroup memory.
#pragma once

#include "ir/plan.h"
#include "passes/coop_shape.h"

enum {
    PLANES_STRICT = 1 << 20, // in place of an exponent: the row's tiles are computed in f32
    PLANES_TOP = 14,         // exponent of the largest element of a row
    PLANES_RANGE = 28,       // binades below it that keep all bits
    PLANES_LOW = 11          // low is scaled by 2^11
};

typedef struct PlanesSide {
    ValueId value;
    bool columns;            // the y side
    bool k_fast;             // [batch, rows, depth]; else [batch, depth, rows]
    bool shared;             // the same for the whole batch, and there once
    Dim extent;              // M or N
    Dim rows;                // the same up to whole tiles
    Dim planes, plane_bytes; // in workspace: offset and size, in bytes
    Dim scales, scale_bytes; // [batch, rows] exponents, i32
} PlanesSide;

typedef struct PlanesLayout {
    ContractShape contract;
    bool late; // form "halves": only exponents are in workspace
    Dim depth; // twice K up to whole tiles
    PlanesSide x, y;
    Dim bytes; // of workspace
} PlanesLayout;

// False where the form cannot compute the node with this schedule, whatever the target.
bool planes_layout(Graph *g, NodeId fused, const Schedule *s, PlanesLayout *out);
// The product of planes: operands in workspace, of no value of the graph.
bool planes_coop_shape(Graph *g, NodeId fused, const PlanesLayout *layout, CoopShape *out);
bool planes_form(const Schedule *s); // one of both forms
// The schedule of the fragments' program over operands of twice the K, and that of tiles in f32.
Schedule planes_fragments(const Schedule *s);
Schedule planes_strict(const Schedule *s);
