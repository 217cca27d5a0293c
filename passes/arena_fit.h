// Placing buffers with known lives in one block, so that those alive together do not overlap.
#pragma once

#include "ir/dim.h"

typedef struct ArenaItem {
    uint32_t first, last; // steps of its life, both included
    Dim bytes;
    Dim offset; // set by arena_fit, a multiple of 256
} ArenaItem;

// Sets all offsets and gives the size of the block. Offsets hold for every value of the dims: of
// two items alive together one always lies above the end of the other.
Dim arena_fit(DimTable *dims, Arena *arena, ArenaItem *items, uint32_t count);
