// Parts of form "coop" of family "contract": the program (lower_coop.c), the operands' way into
// workgroup memory (lower_coop_side.c), the sums' way out (lower_coop_store.c).
#pragma once

#include "passes/coop_shape.h"
#include "passes/lower_planes.h"

enum { COOP_MOVES_MAX = 16, COOP_SUMS_MAX = 64, COOP_LINE_MAX = 128, COOP_DEEP_MAX = 8 };

typedef struct CoopSide {
    const CoopOperand *operand;
    CoopTile tile;
    Space space; // of the operand, for values computed on the way in
    Space seen;  // [batch, slow, fast]
    uint32_t region;
    unsigned count, held;          // moves of one invocation in one part, and their values
    bool ahead;                    // moves are loaded long before they are stored
    bool whole;                    // no k is past the end
    KVal pointer, zero;            // of the base; a move of zeros
    KVal row[2][COOP_MOVES_MAX];   // first row or column, by part
    KVal k[COOP_MOVES_MAX];        // offset in the buffer's K
    KVal put[COOP_MOVES_MAX];      // words from the part's first line
    KVal inside[COOP_MOVES_MAX];   // 0: always; else whether the move exists
    Address at[2][COOP_MOVES_MAX]; // linear: where it is for k 0
    bool even;                     // not linear, but a buffer's K is one run of neighbours; then:
    AddressPart place[2][COOP_MOVES_MAX]; // where it is in the first run
    KVal warp;                            // first row or column of this subgroup's tile
    KVal scale[COOP_MOVES_MAX][2];        // planes: factors of a move's values
} CoopSide;

typedef struct Coop {
    Lower *l;
    const Schedule *s;
    CoopShape shape;
    Split split;
    Space sums;                                   // [batch, M, N] of the result
    KVal batch, first_m, first_n, id, warp, lane; // warp: of the tile, the same in all slices
    KVal slice;                                   // of this subgroup
    unsigned down, across;                        // fragments of a subgroup's tile
    unsigned ahead; // steps between the loads of moves and their stores
    KVal turned;    // staggered: how far along K this tile begins; 0: at its start
    unsigned span;  // K advances by it from one trip of the loop to the next
    CoopSide x, y;
    const PlanesRead *planes; // operands are f16 planes of f32 ones; NULL: they are not
    KVal sum[COOP_SUMS_MAX];
} Coop;

// lower_coop_side.c
void coop_side_begin(Coop *c, CoopSide *side, const CoopOperand *operand, uint32_t words);
// Loads part `part` of the buffer whose K starts at k0: `held` values into out. k0 is a sum of tile
// depths, perhaps past the end.
void coop_side_fetch(Coop *c, CoopSide *side, unsigned part, KVal k0, KVal *out);
// One element of an operand in memory as bits, at a point of its view; of its pad, over a whole
// word.
KVal coop_element_bits(Lower *l, const CoopOperand *o, const Point *point, KVal pointer);
KVal coop_pad_bits(Lower *l, const CoopOperand *o);
void coop_side_put(Coop *c, CoopSide *side, unsigned buffer, unsigned part, const KVal *moves);
// The fragment of rows (columns) from `row` of the subgroup's tile on, at `k` in the buffer.
KVal coop_side_fragment(Coop *c, const CoopSide *side, unsigned buffer, unsigned k, unsigned row);

// lower_coop_planes.c
// Before the loop: the factors of the rows (columns) that a slot's moves are of.
void coop_planes_scale(Coop *c, CoopSide *side, unsigned slot);
// Both planes of a move, 16 bytes each.
void coop_planes_of_move(Coop *c, const CoopSide *side, unsigned slot, const KVal *move,
                         KVal *plane);

// lower_coop_store.c
void coop_store(Coop *c);

bool lower_coop(Lower *l);
// The products of forms "planes" and "halves".
bool lower_coop_planes(Lower *l, const PlanesLayout *layout);
