// Family "attention", form "simt": what policy and mechanism both ask. For every dtype, mask and
// target.
//
// A workgroup makes tile_m rows, tile_n keys at a time; an invocation reg_m x reg_n scores, then
// reg_m rows of the sums for every so-manieth four columns. Queries and keys pass through workgroup
// memory tile_k columns at a time, values as many rows at a time as fit in the same memory, weights
// in memory of their own. Lengths in 32-bit words; columns are padded to fours; unroll above 1
// asks the driver to unroll the loops over them.
#pragma once

#include "passes/attention_coop.h"

enum { SIMT_SUMS_MAX = 64, SIMT_SCORES_MAX = 64 };

typedef struct AttentionSimt {
    uint32_t across, down;       // invocations along keys, along rows
    uint32_t columns;            // of a value, padded
    uint32_t fours;              // of the value's columns, an invocation's
    uint32_t chunks;             // of tile_k columns of a query
    uint32_t pitch, score_pitch; // of a row of a chunk; of weights
    uint32_t value_rows;         // that pass at a time
    uint32_t parts;              // invocations that share a row's softmax
    uint32_t tile_words, score_words, row_words;
} AttentionSimt;

// NULL, or why the schedule cannot be lowered.
const char *attention_simt(const AttentionShape *shape, const Schedule *s, const Target *target,
                           AttentionSimt *out);
