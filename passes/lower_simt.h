// Parts of form "simt" of family "contract": the program (lower_simt.c), the operands' way into
// registers (lower_simt_side.c), the sums' way out (lower_simt_store.c).
//
// Operands go through workgroup memory as tiles of K: row k of a tile holds the tile's elements at
// that k. Tiles are counted from the beginning of K.
#pragma once

#include "passes/lower_planes.h"

enum { SIMT_REG_MAX = 16, SIMT_SLOTS_MAX = 64, SIMT_SUMS_MAX = SIMT_REG_MAX * SIMT_REG_MAX };

// Rows of a tile in workgroup memory, in 32-bit words.
typedef struct SimtRows {
    unsigned pitch;      // from row to row
    unsigned run, extra; // and so many more after each `run` rows
    unsigned words;      // of a tile
} SimtRows;

// vec: neighbours along K that an invocation stores one below the other; 0: rows are stored as
// they are. lanes divides every access.
SimtRows simt_rows(unsigned tile, unsigned tile_k, unsigned vec, unsigned lanes);
// Most words that the tiles of a schedule need, whatever the operands.
unsigned simt_words_most(const Schedule *s);

typedef struct SimtSide {
    ValueId value;
    Space space;
    bool columns; // the y side
    bool k_fast;  // neighbours load neighbours along K
    bool k_last;  // K is the space's last axis
    unsigned tile, vec, slots;
    unsigned lanes; // of a read of workgroup memory
    SimtRows rows;
    uint32_t region;
    KVal batch[SIMT_SLOTS_MAX];
    KVal place[SIMT_SLOTS_MAX][RANK_MAX]; // indices on the axes other than batch and K
    uint8_t places;
    KVal k[SIMT_SLOTS_MAX];      // offset in the tile's K
    KVal store[SIMT_SLOTS_MAX];  // where in workgroup memory
    KVal inside[SIMT_SLOTS_MAX]; // 0: always; else whether the slot exists
    // Where each tile of K lies as the one before does, so many bytes further on: `at` is an
    // element's place in the first tile.
    bool even;
    View near; // one tile of the operand's view
    ValueId base;
    KVal pointer;
    Dim step;
    Address at[SIMT_SLOTS_MAX];
} SimtSide;

typedef struct Simt {
    Lower *l;
    ContractShape shape;
    const Schedule *s;
    Split split;
    bool joined; // columns are those of the whole batch
    Dim columns; // windows * cells, or batch * n
    Dim tiles;   // of K
    KVal id, batch, first_m, first_n, tx, ty;
    KVal first, end;           // of the workgroup's tiles of K
    unsigned across, down;     // invocations along n and m
    unsigned group_m, group_n; // neighbours in a row of registers
    unsigned lanes_m, lanes_n; // of one access to workgroup memory
    unsigned sum_lanes;        // of one sum in registers
    bool is_float;
    bool whole; // no tile that is fetched reaches past the end of K
    KType word;
    SimtSide a, b;
    Space pooled; // of the pooled result
    KVal acc[SIMT_SUMS_MAX];
} Simt;

// Row i (column j) of an invocation's registers, in the tile.
KVal simt_row(Simt *c, unsigned i);
KVal simt_column_at(Simt *c, unsigned j);

// lower_simt_side.c
bool simt_side_begin(Simt *c, SimtSide *side, ValueId value, bool columns);
// Loads tile number `tile` of K, zeros where it is past the end: `slots` values into out.
void simt_side_fetch(Simt *c, SimtSide *side, KVal tile, KVal *out);
// Stores what was fetched as tile `stage` of workgroup memory.
void simt_side_put(Simt *c, SimtSide *side, unsigned stage, const KVal *fetched);
// Registers of row kk + plus of the tile; kk is a multiple of `step`.
void simt_side_take(Simt *c, const SimtSide *side, unsigned stage, KVal kk, unsigned step,
                    unsigned plus, KVal *out);

// lower_simt_store.c
void simt_store(Simt *c);

bool lower_simt(Lower *l);
// The last dispatch of form "planes": the tiles that the others leave.
bool lower_simt_planes(Lower *l, const PlanesLayout *layout);
