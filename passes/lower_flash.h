// Parts of form "coop" of family "attention": the program (lower_attention_coop.c), the operands'
// way into workgroup memory (lower_flash_side.c), a tile's softmax (lower_flash_softmax.c).
#pragma once

#include "passes/attention_coop.h"
#include "passes/lower_attention.h"

// Rows of an operand, a tile of them at a time.
typedef struct FlashSide {
    const CoopOperand *operand;
    FlashTile tile;
    Space seen;     // [heads, rows, columns]
    uint32_t first; // word in the region
    unsigned count; // moves of an invocation
    bool whole;     // the last tile is full
    bool zero;      // else rows past the last are 0, not that one again
    KVal pointer, head;
    KVal row[FLASH_MOVES_MAX];    // in the tile
    KVal column[FLASH_MOVES_MAX]; // in moves
    KVal put[FLASH_MOVES_MAX];    // words
    KVal exists[FLASH_MOVES_MAX]; // 0: always; else whether the move is of the tile
    Address at[FLASH_MOVES_MAX];  // linear and whole: in a tile that begins at row 0
} FlashSide;

typedef struct Flash {
    Attention *a;
    Lower *l;
    const Schedule *s;
    FlashShape shape;
    FragmentMap map;
    unsigned down, chunks;  // fragments of a subgroup's rows; of a tile's keys
    unsigned depth, across; // of a query's columns; of a value's
    unsigned groups;        // rows of one fragment that a lane holds components of
    unsigned slots;         // down * groups
    uint32_t region;
    FlashSide q, k, v;
    KVal id, warp, lane;
    KVal lane_row, lane_column;      // a lane's part of an accumulator's row and column
    KVal row[FLASH_SLOTS_MAX];       // of a slot
    KVal query[FLASH_FRAGMENTS_MAX]; // fragments, depth of them a row of fragments
    KVal zero;                       // an accumulator of zeros
    bool seen;                       // all rows see all keys of the tiles being lowered
} Flash;

// What goes from tile to tile: sums of values, and for each slot the scaled maximum and the sum of
// this lane's weights.
typedef struct FlashState {
    KVal sum[FLASH_FRAGMENTS_MAX], base[FLASH_SLOTS_MAX], weight[FLASH_SLOTS_MAX];
} FlashState;

// lower_flash_side.c
void flash_side_begin(Flash *f, FlashSide *side, const CoopOperand *operand, FlashTile tile,
                      uint32_t first, KVal head);
// Loads the moves of the tile that begins at `row` (a multiple of its rows, inside).
void flash_side_fetch(Flash *f, const FlashSide *side, KVal row, KVal *moves);
void flash_side_put(Flash *f, const FlashSide *side, const KVal *moves);

// lower_flash_softmax.c
unsigned flash_slot(const Flash *f, unsigned down, unsigned component);
// Tiles [*first, *end) are those that all rows of the workgroup see whole; there may be none.
void flash_whole_tiles(Flash *f, KVal *first, KVal *end);
// Combines over the lanes that share a row.
KVal flash_across(Flash *f, KVal x, KVal (*combine)(KBuilder *b, KVal x, KVal y));
// So many components, from a multiple of so many on, are neighbours in a row: 1, 2 or 4.
unsigned flash_neighbours(const Flash *f);
// Masks of the keys from first_key on, for each component of the scores; NULL: there are none.
KVal *flash_masks(Flash *f, KVal first_key);
// From scores (down x chunks accumulators) of the keys from first_key on to weights (as many left
// operands); the state's sums shrink to the new maxima.
void flash_softmax(Flash *f, KVal first_key, const KVal *score, const KVal *mask, FlashState *state,
                   KVal *weight);
