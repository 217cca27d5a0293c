// Moves that must be made, since their result is an output; joins, gathers and sources. All of them
// keep every bit.
#include "tests/support/numeric.h"

#define BITS .bits = true
#define ALL  "f32 f16 i8 bool"
#define SOME "f32 f16 u8"

#define MOVE_SIZES "1 1; 2 3; 7 5; 33 64; 65 13"

static const NumericCase cases[] = {
    {"order of axes",
     ALL,
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, 3, M] $T\n"
     "output a = transpose(any_x, 0, 2); output b = permute_dims(any_x, [1, 2, 0])\n"
     "output c = flip(any_x, axis=[0, 2]); output d = any_x.mT\n",
     {BITS}},
    {"shapes",
     SOME,
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, 6, M] $T\n"
     "output a = reshape(any_x, [2 * N, 3, -1]); output b = flatten(any_x)\n"
     "output c = flatten(transpose(any_x, 0, 1), start_dim=1)\n"
     "output d = expand_dims(any_x, 1); output e = squeeze(any_x[:, 2:3, :], axis=1)\n"
     "output f = reshape(permute_dims(any_x, [2, 1, 0]), [M * 2, 3 * N])\n",
     {BITS}},
    {"slices",
     ALL,
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, 7, M] $T\n"
     "output a = any_x[:, 1:6:2, :]; output b = any_x[0, ...]; output c = any_x[:, -1, None]\n"
     "output d = any_x[N - 1:N, ::3, :M]\n",
     {BITS}},
    {"split",
     SOME,
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, 7, M] $T\n"
     "p, q, r = split(any_x, [1, 4, 2], axis=1)\n"
     "output a = p; output b = q; output c = r\n",
     {BITS}},
    {"repeats and borders",
     ALL,
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, M] $T; input any_y : [M] $T\n"
     "output a = broadcast_to(any_y, [N, 2, M]); output b = tile(any_x, [2, 3])\n"
     "output c = pad(any_x, [[1, 0], [2, 3]]); output d = pad(any_x, [[0, 2], [0, 1]], value=1)\n",
     {BITS}},
    {"joins",
     SOME,
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, M] $T; input any_y : [3, M] $T; input any_z : [N, M] $T\n"
     "output a = concat([any_x, any_y]); output b = concat([any_x, any_z, any_x], axis=1)\n"
     "output c = stack([any_x, any_z]); output d = stack([any_z, any_x], axis=2)\n"
     "output e = concat([any_y, flip(any_x, axis=0), any_y[:, :]], axis=0)\n",
     {BITS}},
    {"gathers",
     "f32 f16 i32 u8",
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, 6, M] $T; input index_i : [5] i32; input index_j : [2, 3] i32\n"
     "input index_k : [N, 4, M] i32; input any_w : [6, M] $T; input index_l : [N, M] i32\n"
     "output a = take(any_x, index_i, axis=0); output b = take(any_x, index_j, axis=1)\n"
     "output c = take(any_x, index_i, axis=2); output d = take_along_axis(any_x, index_k, axis=1)\n"
     "output e = embedding(index_l, any_w)\n",
     {BITS}},
    {"sources",
     "f32 f16 i32",
     "1; 2; 33; 300",
     "dim N in 1..=300\n"
     "input any_x : [N] $T\n"
     "output a = full([N, 3], 2, $T); output b = arange(0, N); output c = arange(3, 2 * N + 9, 4)\n"
     "const t : [2, 3] $T = [[1, 2, 3], [4, 5, -6]]\n"
     "output d = t; output e = any_x; output f = arange(0, 9, dtype=$T)\n",
     {BITS}},
    {"sources in arithmetic",
     "f32",
     "1; 2; 33; 300",
     "dim N in 1..=300\n"
     "input x : [N] $T\n"
     "const t : [3] $T = [1.5, -2, 0.25]\n"
     "output a = x * cast(arange(0, N), $T) + full([N], 0.5, $T)\n"
     "output b = x[:, None] * t; output c = arange(1, 4, dtype=$T) / t\n",
     {.ulps = 4, .absolute = 0x1p-14}},
};

void numeric_moves(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
