// Preparing of weights: a unit's raw weights are read into staging memory, its steps make of them
// what the run reads, and the staging is freed. A repeat's trips do not wait for each other, so a
// unit runs in parts, none of which needs more staging than PREPARE_STAGING, or than one step.
#pragma once

#include "runtime/model.h"

enum { PREPARE_STAGING = 64 << 20 };

// A tensor of the staging block that a run of a step touches.
typedef struct PrepareUse {
    BlockRange range;
    uint32_t run; // number of the step in the walk through the unit, counted in all trips
    bool write;
} PrepareUse;

typedef struct PreparePart {
    uint32_t first, runs;     // of the walk
    uint32_t first_use, uses; // what they touch
    uint64_t bytes;           // of it
} PreparePart;

typedef struct PrepareParts {
    PreparePart *parts;
    PrepareUse *uses; // by run
    uint32_t count, use_count;
    uint64_t largest; // bytes of the largest part
} PrepareParts;

// How a unit runs where staging is to have `most` bytes. What a step makes for another is made and
// read in one part. On failure nothing is left to free.
AdeptResult prepare_split(const Package *package, uint32_t unit, uint64_t most, PrepareParts *parts,
                          AdeptError *error);
void prepare_parts_free(PrepareParts *parts);

// Reads and prepares the weights of a unit.
AdeptResult prepare_unit(AdeptModel *model, const Weights *weights, uint32_t unit,
                         AdeptError *error);
