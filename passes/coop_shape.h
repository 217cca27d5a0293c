// Family "contract", form "coop": what policy and mechanism both ask of the product and its
// operands. Cooperative-matrix fragments need the operands in workgroup memory as they lie in
// memory: lines of neighbours, along K or along the other axes, moved 16 bytes at a time.
#pragma once

#include "ir/plan.h"
#include "passes/contract_shape.h"

enum {
    COOP_MOVE = 16,     // bytes an invocation moves at a time
    COOP_AHEAD_MAX = 4, // steps that loads may run ahead
    COOP_STAGGER_MAX = 64,
};

// One operand, seen as [batch, slow, fast], where neighbours along `fast` are neighbours in memory
// if any are.
typedef struct CoopOperand {
    ValueId value, base;
    DType dtype;
    uint8_t others; // axes that are neither batch nor K
    bool columns;   // the y side
    bool k_fast;    // fast is K; else slow is
    bool in_memory; // the base is; else it is computed on the way in
    bool vector;    // it can be read as moves, all of them inside or outside (see `moves`)
    bool planes;    // f32 in memory, two planes of f16 in workgroup memory (planes_shape.h)
    bool linear;    // the address of a move grows by k_bytes with each step of K
    Dim rows;       // M or N
    Dim k_bytes;
    View view;  // elements
    View moves; // vector: the same with moves for elements, fast axis and strides divided
} CoopOperand;

typedef struct CoopShape {
    ContractShape contract;
    DType ab, acc; // of the fragments
    CoopOperand x, y;
} CoopShape;

// One operand of a product. False where its view is too complex to be read this way.
bool coop_operand(Graph *g, NodeId fused, const ContractShape *shape, bool columns,
                  CoopOperand *out);
// Whether 16 bytes along the fast axis, from any multiple of their elements on, are read at once
// without a guard.
bool coop_moves_whole(const CoopOperand *operand);
// Elements of a move: 16 bytes in workgroup memory; of planes, in each of them.
unsigned coop_unit(const CoopOperand *operand);
// False where no schedule of this form can compute the node, whatever the target.
bool coop_shape(Graph *g, NodeId fused, CoopShape *out);
// The same of an f32 product whose operands become planes on their way into workgroup memory.
bool coop_shape_planes(Graph *g, NodeId fused, CoopShape *out);

// What is said of the operand's place in memory, given value, dtype, k_fast and the view on its
// base. False where no kernel of the form can read it.
bool coop_operand_reads(Graph *g, NodeId fused, CoopOperand *o);

// How one operand passes through workgroup memory. A buffer holds `depth` of K, filled in `parts`
// steps of tile_k each; sizes in elements or 32-bit words.
typedef struct CoopTile {
    unsigned rows, depth, parts, buffers;
    unsigned lines, line; // of a buffer; 16 bytes each in a line
    unsigned low;   // of planes: words from an element of the high one to the same of the low one
    unsigned pitch; // words from line to line; an odd number of moves, so that fragments' rows
                    // lie in different banks
    unsigned words; // of one buffer
    unsigned lanes; // words that every access is a multiple of
} CoopTile;

unsigned coop_ahead(const Schedule *s);  // at least 1
unsigned coop_slices(const Schedule *s); // likewise
unsigned coop_span(const Schedule *s);   // K of one trip of the loop
// K that a tile goes round before it goes on: parts of K begin at multiples of it.
unsigned coop_stretch(const Schedule *s);
unsigned coop_deep(const CoopShape *shape, const Schedule *s); // fragments along K of a subgroup
CoopTile coop_tile(const CoopOperand *operand, const Schedule *s);
// Words that sums need on their way out, and how many fragments side by side pass at a time.
uint32_t coop_staging(const CoopShape *shape, const Schedule *s, unsigned *fragments);
uint32_t coop_shared_bytes(const CoopShape *shape, const Schedule *s);
// Whether every part of K is made of whole stretches that tiles can go round.
bool coop_may_stagger(DimTable *dims, const CoopShape *shape, const Schedule *s);
// NULL, or why the schedule cannot be lowered for this shape and target.
const char *coop_refuses(const CoopShape *shape, const Schedule *s, const Target *target);
