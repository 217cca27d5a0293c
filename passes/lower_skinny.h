// Parts of form "skinny" of family "contract": y along K (lower_skinny.c) or along N
// (lower_skinny_n.c), and how both read their operands (lower_skinny_side.c).
#pragma once

#include "passes/coop_shape.h"
#include "passes/lower_contract.h"
#include "passes/lower_reduce.h"

enum {
    SKINNY_ROWS_MAX = 16,
    SKINNY_SUMS_MAX = 64,
    SKINNY_UNROLL_MAX = 16,
    SKINNY_VEC_MAX = 16,
    SKINNY_PIECES_MAX = SKINNY_VEC_MAX / 4
};

// One operand, seen as [batch, slow, fast], where neighbours along `fast` are neighbours in memory
// if any are. `vec` of them are read at once: 16 bytes as words, unpacked later (wide), or pieces
// of at most 4 elements.
typedef struct SkinnySide {
    CoopOperand operand;
    Space space, seen; // of elements, of 16-byte moves
    unsigned vec, width, pieces;
    bool wide, is_float;
    KVal pointer;
} SkinnySide;

typedef struct SkinnyLoad {
    KVal piece[SKINNY_PIECES_MAX]; // wide: the first is all words
} SkinnyLoad;

// x along K, y along K or N (k_fast).
void skinny_side(Lower *l, const ContractShape *shape, bool columns, bool k_fast, unsigned vec,
                 SkinnySide *out);
// vec elements from `fast`, a multiple of vec, which must exist. inside: 0, or false where they
// count as 0.
SkinnyLoad skinny_load(Lower *l, SkinnySide *side, KVal batch, KVal slow, KVal fast, KVal inside);
// Words to pieces.
SkinnyLoad skinny_unpack(Lower *l, const SkinnySide *side, SkinnyLoad load);
// Fails where more than tile_m rows are possible.
bool skinny_check_rows(Lower *l, const ContractShape *shape);

// lower_skinny_join.c: the sums of the lanes of a row, `count` times `cells` side by side.
typedef struct SkinnyJoin {
    unsigned count, cells;
    Fold fold;
    FoldLanes *lanes;
    KVal *sum; // in: this lane's sums (scalars or vectors); out: `cells` of them, of all lanes
    KVal index, owns; // out: which ones, and whether this lane is the one to store them
} SkinnyJoin;
void skinny_join(Lower *l, SkinnyJoin *join);

bool lower_skinny_n(Lower *l, const ContractShape *shape);
