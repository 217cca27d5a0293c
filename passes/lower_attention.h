// What the forms of family "attention" share: the operands and their spaces, which keys a row may
// see, what a score becomes before softmax.
//
// A row is a query of one head; it lies at key position row + shift, shift = S - L (causal and
// windowed attention are aligned bottom right).
#pragma once

#include "passes/lower.h"

typedef struct Attention {
    Lower *l;
    const Node *node;
    ValueId q, k, v, mask, result;
    Dim heads, group, rows, keys; // query heads in all, query heads a key head, L, S
    uint32_t size, value_size;    // D, Dv
    float scale, softcap;         // softcap 0: none
    int64_t window;               // 0: none
    bool causal;
    Space q_space, k_space, v_space, mask_space, out_space; // [heads, rows, columns]
    KVal head, key_head, first_row, shift;
} Attention;

// False after a diagnostic where the node cannot be lowered at all.
bool attention_begin(Attention *a, Lower *l);
// Tile of rows and head of this workgroup. Returns how many workgroups there are. Where tiles
// differ in work, the largest come first.
Dim attention_place(Attention *a, unsigned tile_m);
// Keys [*first, *end) are those that some of `rows` rows from first_row on may see; 0 <= *first.
void attention_range(Attention *a, unsigned rows, KVal *first, KVal *end);

// The keys that a row may see: those of lo <= key <= hi; 0: no such limit but the keys' number.
typedef struct AttentionLimits {
    KVal lo, hi;
} AttentionLimits;
AttentionLimits attention_limits(Attention *a, KVal row);
bool attention_has_mask(const Attention *a);
bool attention_mask_chooses(const Attention *a); // it is of bools, else it is added
// The masks of a row and `lanes` keys from `key` on, a multiple of lanes, as is the number of keys;
// row and key may be past the end. 0: there are none.
KVal attention_mask(Attention *a, KVal row, KVal key, unsigned lanes);
// A score from the product of row and key: scaled, capped, with its mask (0: there is none); -inf
// where the mask forbids the key. Limits are not looked at.
KVal attention_score(const Attention *a, KVal product, KVal mask);

// The result of one row from its sums: divided by `sum`, the weights' sum; 0 without keys.
KVal attention_inverse(Attention *a, KVal sum);
// Stores `value` of as many lanes as the point at (row, column) in all that the node stores.
void attention_result(Attention *a, KVal row, KVal column, KVal value);
Dim attention_flops(const Attention *a);

bool lower_attention_simt(Attention *a);
bool lower_attention_coop(Attention *a);
bool lower_attention_split(Attention *a);
struct AttentionSplit;
// The second dispatch of form split.
bool lower_attention_join(const Lower *first, const struct AttentionSplit *layout);
