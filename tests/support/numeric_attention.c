// Attention: masks of all shapes, lengths around every tile, groups of heads, head sizes, few
// queries against many keys. A weight may be rounded to the dtype before the second product.
#include "tests/support/numeric.h"

#define NEAR                                                                                       \
    { .sums = 1000, .absolute = 0x1p-17, .rounds = 3 }

static const NumericCase cases[] = {
    {"attention", "f32 f16", "1 1; 3 3; 1 17; 7 40; 33 65; 64 64",
     "dim L in 1..=70; dim S in 1..=70\n"
     "input q : [2, 4, L, 32] $T; input k : [2, 4, S, 32] $T; input v : [2, 4, S, 32] $T\n"
     "input m : [L, S] bool; input near_m : [2, 1, L, S] $T\n"
     "output a = scaled_dot_product_attention(q, k, v)\n"
     "output b = scaled_dot_product_attention(q, k, v, m)\n"
     "output c = scaled_dot_product_attention(q, k, v, near_m, scale=0.5)\n",
     NEAR},
    {"causal attention", "f32 bf16", "1 0; 3 0; 1 16; 7 33; 33 32; 64 1",
     "dim L in 1..=70; dim P in 0..=40\n"
     "input q : [1, 6, L, 24] $T; input k : [1, 2, P + L, 24] $T; input v : [1, 2, P + L, 16] $T\n"
     "output a = scaled_dot_product_attention(q, k, v, is_causal=true, enable_gqa=true)\n",
     NEAR},
    {"attention of long rows", "f32 f16",
     "1 300; 17 128; 63 129; 65 64; 127 300; 128 127; 129 31; 300 33",
     "dim L in 1..=300; dim S in 1..=300\n"
     "input q : [L, 16] $T; input k : [S, 16] $T; input v : [S, 16] $T\n"
     "output a = scaled_dot_product_attention(q, k, v)\n"
     "output b = scaled_dot_product_attention(q, k, v, is_causal=true)\n",
     NEAR},
    {"attention of head sizes", "f32 f16 bf16", "1 9; 5 33; 20 20",
     "dim L in 1..=40; dim S in 1..=40\n"
     "input p : [2, L, 8] $T; input q : [2, S, 8] $T; input r : [2, S, 256] $T\n"
     "input t : [L, 256] $T; input u : [S, 256] $T; input v : [S, 9] $T\n"
     "input w : [L, 80] $T; input x : [S, 80] $T; input y : [S, 65] $T\n"
     "output a = scaled_dot_product_attention(p, q, r)\n"
     "output b = scaled_dot_product_attention(t, u, v)\n"
     "output c = scaled_dot_product_attention(w, x, y, is_causal=true)\n",
     NEAR},
    {"attention masks", "f32 f16", "1 1; 3 5; 17 40; 40 17",
     "dim L in 1..=48; dim S in 1..=48\n"
     "input q : [2, 6, L, 16] $T; input k : [2, 3, S, 16] $T; input v : [2, 3, S, 16] $T\n"
     "input m1 : [S] bool; input m2 : [2, 1, 1, S] bool; input m3 : [6, L, 1] bool\n"
     "input near_m : [6, 1, S] f32\n"
     "output a = scaled_dot_product_attention(q, k, v, m1, enable_gqa=true)\n"
     "output b = scaled_dot_product_attention(q, k, v, m2, is_causal=true, enable_gqa=true)\n"
     "output c = scaled_dot_product_attention(q, k, v, m3, enable_gqa=true)\n"
     "output d = scaled_dot_product_attention(q, k, v, near_m, is_causal=true, enable_gqa=true)\n",
     NEAR},
    {"windows and caps of attention", "f32 f16", "1 1; 5 40; 40 40; 70 33",
     "dim L in 1..=80; dim S in 1..=80\n"
     "input q : [2, L, 32] $T; input k : [2, S, 32] $T; input v : [2, S, 32] $T\n"
     "output a = scaled_dot_product_attention(q, k, v, is_causal=true, window=1)\n"
     "output b = scaled_dot_product_attention(q, k, v, is_causal=true, window=19)\n"
     "output c = scaled_dot_product_attention(q, k, v, window=8, softcap=3.0)\n"
     "output d = scaled_dot_product_attention(q, k, v, softcap=0.5, scale=2.0)\n",
     NEAR},
    {"attention through views", "f32 f16", "1 1; 9 33; 33 40",
     "dim L in 1..=40; dim S in 1..=40\n"
     "input q : [L, 4, 24] $T; input k : [S, 3, 2, 24] $T\n"
     "output a = scaled_dot_product_attention(permute_dims(q, [1, 0, 2]), "
     "permute_dims(k[:, 0], [1, 0, 2]), permute_dims(k[:, 2], [1, 0, 2]), enable_gqa=true)\n"
     "output b = scaled_dot_product_attention(q[:, 1, 3:20], k[:, 1, 0, 3:20], k[:, 1, 1, ::2])\n",
     NEAR},
    {"attention of few queries", "f32 f16 bf16", "1 1; 1 300; 2 64; 3 129; 4 257; 5 31; 1 1000",
     "dim L in 1..=5; dim S in 1..=1100\n"
     "input q : [1, 6, L, 32] $T; input k : [1, 2, S, 32] $T; input v : [1, 2, S, 24] $T\n"
     "input m : [S] bool\n"
     "output a = scaled_dot_product_attention(q, k, v, is_causal=true, enable_gqa=true)\n"
     "output b = scaled_dot_product_attention(q, k, v, m, enable_gqa=true)\n",
     NEAR},
    {"attention of one query", "f32 f16", "1; 31; 32; 300; 1000",
     "dim S in 1..=1100\n"
     "input q : [2, 9, 1, 64] $T; input k : [2, 1, S, 64] $T; input v : [2, 1, S, 64] $T\n"
     "input near_m : [9, 1, S] $T\n"
     "output a = scaled_dot_product_attention(q, k, v, enable_gqa=true)\n"
     "output b = scaled_dot_product_attention(q, k, v, near_m, enable_gqa=true, window=40)\n",
     NEAR},
    {"attention over special values", "f32 f16", "1 1; 3 5; 17 33; 33 70",
     "dim L in 1..=48; dim S in 1..=80\n"
     "input q : [L, 16] $T; input k : [S, 16] $T; input spike_v : [S, 24] $T\n"
     "output a = scaled_dot_product_attention(q, k, spike_v)\n",
     NEAR},
};

void numeric_attention(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof cases[0], out);
}
