// Family "attention", form "split": few rows against many keys. Workgroups take parts of tile_n
// keys for up to tile_m rows that share a key head, and leave sums in workspace, f32; a second
// dispatch joins the parts in order, so that the same inputs give the same bits.
//
// Rows of a key head are the queries of its group of heads: row r is query r % L of head r // L of
// the group. `lanes` invocations share a key's columns; subgroups of a known size exchange sums.
#pragma once

#include "passes/attention_coop.h"

enum { SPLIT_SUBGROUPS_MAX = 32, SPLIT_ROWS_MAX = 8, SPLIT_STEPS_MAX = 16, SPLIT_PIECES_MAX = 2 };

// How an operand is read: `vec` columns at a time as `pieces` of `width` lanes.
typedef struct SplitRead {
    CoopOperand operand; // wide: its moves
    bool wide;           // 16 bytes at a time
    unsigned columns, vec, width, pieces;
} SplitRead;

typedef struct AttentionSplit {
    AttentionShape shape;
    SplitRead q, k, v;
    // Of a subgroup: its keys of a part, keys at a time, steps over them, reads of a row; likewise
    // for values.
    unsigned subgroups, keys, at_once, steps, reads;
    unsigned value_lanes, value_at_once, value_steps, value_reads;
    unsigned pitch;          // words of a key's weights
    Dim parts, rows, blocks; // rows of a key head; blocks of tile_m of them
    uint32_t record; // words of a row of a part: the sums, from `at` on maximum and weights' sum
    uint32_t at;
    uint32_t shared_bytes;
    Dim all_rows; // heads * L
    Dim bytes;    // of workspace: [parts, all_rows, record] f32
} AttentionSplit;

// Invocations of a workgroup of the second dispatch, and parts that it takes in a round.
enum { JOIN_LOCAL = 256, JOIN_UNROLL = 4 };
unsigned attention_join_parts(const AttentionSplit *layout);
// NULL, or why the schedule cannot be lowered. Workspace is for rows within the conditions.
const char *attention_split(Graph *g, NodeId fused, const Schedule *s, const Target *target,
                            const Condition *condition, uint32_t conditions, AttentionSplit *out);
