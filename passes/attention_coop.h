// Family "attention", form "coop": what policy and mechanism both ask of the operands.
//
// A workgroup makes tile_m rows, each of its subgroups warp_m of them. The query fragments of a
// subgroup stay in registers; tiles of tile_n keys and values pass through workgroup memory. The
// weights go from the accumulators of the scores to the left operand of the second product
// component by component, so the target must say where components lie (ir/fragment_layout.h), and
// the same for both.
//
// stages: 1 keys and values of a tile are stored together; 2 values while the scores are made, keys
// while they are used, so that each wait is for a half; 3 as 2, and the next tile's scores are
// under way while this one's softmax is made. lazy: 1 sums shrink only where a maximum has moved,
// 2 only where it has moved so far that weights beside the old one would be large.
// apart: 1 tiles that all rows see whole have a loop without tests; those before and after, others.
// unroll: 1 the loops are not to be unrolled; 0 that is left to the device's compiler.
#pragma once

#include "ir/fragment_layout.h"
#include "passes/coop_shape.h"

enum { FLASH_KEY_TILE_MAX = 128 };
// What an invocation holds at most: moves of one operand, rows, fragments of one kind.
enum { FLASH_MOVES_MAX = 32, FLASH_SLOTS_MAX = 16, FLASH_FRAGMENTS_MAX = 64 };

typedef struct AttentionShape {
    NodeId node;
    ValueId q, k, v, mask; // mask 0: none
    Dim heads, rows, keys; // query heads in all, L, S
    uint32_t size, value_size, group;
} AttentionShape;

// False where no form can compute the node.
bool attention_shape(const Graph *g, NodeId fused, AttentionShape *out);

// An operand as [heads, rows, columns]; false where it is not in memory or its view is too complex.
bool attention_operand(Graph *g, NodeId fused, ValueId value, CoopOperand *out);

typedef struct FlashShape {
    AttentionShape attention;
    DType dtype; // of q, k and v
    FragmentLayout layout;
    CoopOperand q, k, v; // views of [heads, rows, columns]
} FlashShape;

// False where no schedule of the form can compute the node on the target.
bool flash_shape(Graph *g, NodeId fused, const Target *target, FlashShape *out);

// A tile in workgroup memory; lengths in 32-bit words.
typedef struct FlashTile {
    uint32_t rows, columns; // columns: padded to whole fragments
    uint32_t line;          // moves of a row
    uint32_t pitch;         // an odd number of moves
} FlashTile;
FlashTile flash_tile(uint32_t rows, uint32_t columns, uint32_t fragment);
uint32_t flash_shared_words(const FlashShape *shape, const Schedule *s);
// The maps of accumulators under the schedule.
bool flash_map(const FlashShape *shape, const Schedule *s, FragmentMap *out);
// NULL, or why the schedule cannot be lowered for this shape and target.
const char *flash_refuses(const FlashShape *shape, const Schedule *s, const Target *target);
