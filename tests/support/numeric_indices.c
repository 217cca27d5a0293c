// Ops made of views, comparisons and reduces over pairs: borders, rotations, triangles, order,
// counting, scatter; and products by group.
#include "tests/support/numeric.h"

#define BITS .bits = true
#define EXACT                                                                                      \
    { .absolute = 0 }
#define MOVE_SIZES "1 1; 2 3; 7 5; 33 64; 65 13"

static const NumericCase cases[] = {
    {"reflected and repeated borders",
     "f32 f16 u8 bool",
     "3 4; 4 3; 7 5; 33 64; 65 13",
     "dim N in 3..=80; dim M in 3..=80\n"
     "input any_x : [N, M] $T\n"
     "output a = pad(any_x, [[2, 1], [0, 0]], mode=\"reflect\")\n"
     "output b = pad(any_x, [[1, 0], [2, 2]], mode=\"reflect\")\n"
     "output c = pad(any_x, [[3, 0], [1, 5]], mode=\"edge\")\n"
     "output d = pad(any_x.mT, [[M - 2, 1], [0, N - 1]], mode=\"reflect\")\n"
     "output e = pad(any_x[1:3, ::2], [[0, N], [M, 0]], mode=\"edge\")\n",
     {BITS}},
    {"rolls and repeats",
     "f32 f16 i32 u8",
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [N, 5, M] $T\n"
     "output a = roll(any_x, 2, axis=1); output b = roll(any_x, -1, axis=0)\n"
     "output c = roll(any_x.mT, N + 3, axis=1); output d = roll(any_x, 5, axis=-2)\n"
     "output e = repeat_interleave(any_x, 3, axis=1)\n"
     "output f = repeat_interleave(flip(any_x, axis=2), N, axis=2)\n"
     "output g = repeat_interleave(any_x[:, 1:4, :], 2, axis=0)\n",
     {BITS}},
    {"triangles and one_hot",
     "f32 f16 i32 bool",
     MOVE_SIZES,
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [2, N, M] $T; input index_i : [N, 3] i32\n"
     "output a = tril(any_x); output b = triu(any_x, diagonal=1)\n"
     "output c = tril(any_x.mT, diagonal=-2); output d = triu(any_x, diagonal=M - N)\n"
     "output e = one_hot(index_i, 6, dtype=$T); output f = one_hot(index_i[:, 1], M)\n",
     {BITS}},
    {"views of views",
     "f32 u8",
     "2 3; 7 5; 33 64",
     "dim N in 2..=80; dim M in 3..=80\n"
     "input any_x : [N, 6, M] $T; input any_c : [N, M] bool\n"
     "output a = where(any_c[:, None, :], any_x[:, 1::2, :], flip(any_x, axis=1)[:, :3, :])\n"
     "output b = reshape(transpose(any_x[:, :4, 1:], 0, 1), [2, 2 * N, M - 1])[:, 1:N + 1, -1]\n"
     "output c = tile(any_x[..., None, :2], [1, 1, 2, 2]); output d = any_x[N - 1, -2, None, 1:M]\n"
     "output e = concat([any_x[0:1].mT, stack([any_x[1], any_x[0]]).mT], axis=0)\n",
     {BITS}},
    {"order", "f32 f16 i32 u32", "1 1; 2 3; 7 5; 33 4; 65 3",
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [M, N] $T; input tiny_x : [M, N, 2] $T\n"
     "output a = sort(any_x); output b = argsort(any_x); output c = argsort(any_x, axis=0)\n"
     "output d = sort(tiny_x, axis=1, descending=true)\n"
     "output e = argsort(tiny_x, axis=1, descending=true)\n"
     "p, q = topk(any_x, 1); output f = p; output g = q\n"
     "r, s = topk(tiny_x.mT, N); output h = r; output i = s\n"
     "u, v = topk(tiny_x, M, axis=0); output j = u; output k = v\n",
     EXACT},
    {"order of constant sizes", "f32", "1; 5",
     "dim N in 1..=8\n"
     "input any_x : [N, 31] $T; input tiny_x : [33, N] $T; input any_z : [1] $T\n"
     "output a = argsort(any_x); output b = sort(tiny_x, axis=0, descending=true)\n"
     "p, q = topk(any_x, 7); output c = p; output d = q; output e = argsort(any_z)\n",
     EXACT},
    {"bincount and its use",
     "i32",
     "1 1; 2 3; 7 5; 33 64; 257 13",
     "dim N in 1..=300; dim M in 1..=80\n"
     "input index_x : [N, 2] $T\n"
     "output a = bincount(index_x, 7); output b = bincount(index_x[:, 1], M)\n"
     "output c = cumsum(bincount(index_x, 7), axis=0)\n",
     {BITS}},
    {"scatter_elements",
     "f32 f16 i32 u32",
     "1 1; 2 3; 7 5; 33 16",
     "dim N in 1..=80; dim M in 1..=80\n"
     "input x : [N, 9, 2] $T; input index_i : [N, M, 2] i32; input u : [N, M, 2] $T\n"
     "input index_j : [1, M, 1] i32; input v : [1, 2, M] $T\n"
     "output a = scatter_elements(x, index_i, u, axis=1)\n"
     "output b = scatter_elements(x, index_i, u, axis=1, reduction=\"add\")\n"
     "output c = scatter_elements(x, index_i, u, axis=1, reduction=\"max\")\n"
     "output d = scatter_elements(x, index_i, u, axis=1, reduction=\"min\")\n"
     "output e = scatter_elements(x, index_i[:, :1], u[:, :1], axis=1, reduction=\"mul\")\n"
     "output f = scatter_elements(x, index_j, v.mT[:, :, 1:], axis=1)\n"
     "output g = scatter_elements(x.mT, index_j.mT, v[:, 1:], axis=-1, reduction=\"add\")\n",
     {.ulps = 16, .absolute = 0x1p-18}},
    {"long orders", "f32 i32", "1; 63; 2049; 17000",
     "dim N in 1..=20000\n"
     "input any_x : [2, N] $T; input tiny_x : [N, 1] $T; input index_x : [N] i32\n"
     "output a = argsort(any_x); output b = sort(any_x, descending=true)\n"
     "output c = argsort(tiny_x, axis=0); output d = argsort(index_x, descending=true)\n"
     "p, q = topk(any_x, 1); output e = p; output f = q\n",
     EXACT},
    {"best of many", "f32 i32 u32", "9; 2049; 17000",
     "dim N in 9..=20000\n"
     "input any_x : [2, N] $T; input index_x : [N, 1] i32; input any_y : [5000, 2] $T\n"
     "p, q = topk(any_x, 9); output a = p; output b = q\n"
     "r, s = topk(index_x, 5, axis=0); output c = r; output d = s\n"
     "u, v = topk(any_y, 100, axis=0); output e = u; output f = v\n",
     EXACT},
    {"order of NaN, infinities and zeros", "f32 f16", "1; 20; 40; 128",
     "dim N in 1..=128\n"
     "input x : [N] $T\n"
     "z = x - x\n"
     "y = where(x > 1.0, z / z, where(x > 0.5, 1.0 / z, where(x < -0.5, z * x, x)))\n"
     "output a = sort(y); output b = argsort(y); output c = argsort(y, descending=true)\n"
     "p, q = topk(y, 1); output d = p; output e = q\n",
     EXACT},
    {"scatters of many",
     "f32 i32",
     "1; 40; 1000",
     "dim N in 1..=1000\n"
     "input x : [50] $T; input index_i : [N] i32; input u : [N] $T; input y : [2, 50] $T\n"
     "input index_j : [2, N] i32; input v : [2, N] $T\n"
     "output a = scatter_elements(x, index_i, u)\n"
     "output b = scatter_elements(x, index_i, u, reduction=\"add\")\n"
     "output c = scatter_elements(y, index_j, v, axis=1, reduction=\"max\")\n"
     "output d = scatter_nd(x, index_i[:, None], u, reduction=\"min\")\n"
     "output e = scatter_elements(y, index_j % 50, v, axis=1)\n"
     "output f = bincount(index_i, 50)\n",
     {.sums = 1000, .absolute = 0x1p-12}},
    {"scatter_elements moves",
     "f32 u8 bool",
     "1 1; 2 3; 7 5; 33 16",
     "dim N in 1..=80; dim M in 1..=80\n"
     "input any_x : [8, N] $T; input index_i : [M, N] i32; input any_u : [M, N] $T\n"
     "output a = scatter_elements(any_x, index_i, any_u)\n"
     "output b = scatter_elements(any_x.mT, index_i.mT, any_u.mT, axis=1)\n",
     {BITS}},
    {"scatter_nd",
     "f32 f16 i32",
     "1 1; 2 3; 7 5; 33 16",
     "dim N in 1..=80; dim M in 1..=80\n"
     "input x : [4, 3, N] $T; input index_i : [M, 2] i32; input u : [M, N] $T\n"
     "input index_j : [2, M, 1] i32; input v : [2, M, 3, N] $T; input index_k : [M, 3] i32\n"
     "output a = scatter_nd(x, index_i, u); output b = scatter_nd(x, index_j, v, "
     "reduction=\"add\")\n"
     "output c = scatter_nd(x, index_k, u[:, 0], reduction=\"max\")\n"
     "output d = scatter_nd(x, index_i, u, reduction=\"min\")\n"
     "output e = scatter_nd(x, index_i[:1], u[:1], reduction=\"mul\")\n",
     {.ulps = 16, .absolute = 0x1p-18}},
    {"grouped_matmul",
     "f32 f16",
     "1 1; 2 3; 7 5; 33 16; 65 3",
     "dim N in 1..=80; dim M in 1..=80\n"
     "input x : [N, M] $T; input w : [5, 7, M] $T; input b : [5, 7] $T; input pos_o : [5] i32\n"
     "const o : [5] i32 = [2, 2, 9, 30, 60]\n"
     "output a = grouped_matmul(x, w, o); output c = grouped_matmul(x, w, cumsum(pos_o, 0), b)\n"
     "output d = grouped_matmul(x, w, o, b, dtype=f32)\n",
     {.sums = 80, .rounds = 2}},
    {"grouped_matmul of integers", "i32 i8", "1 1; 2 3; 7 5; 33 16; 65 3",
     "dim N in 1..=80; dim M in 1..=80\n"
     "input x : [N, M] $T; input w : [5, 7, M] $T; input b : [5, 7] $T\n"
     "const o : [5] i32 = [2, 2, 9, 30, 60]\n"
     "output a = grouped_matmul(x, w, o); output c = grouped_matmul(x, w, o, b)\n",
     EXACT},
    {"mixture of experts",
     "f32",
     "1; 2; 7; 33",
     "dim R in 1..=80\n"
     "input x : [R, 8] $T; input router : [5, 8] $T; input w : [5, 8, 8] $T\n"
     "p, e = topk(softmax(linear(x, router)), 2)\n"
     "e = flatten(e); order = argsort(e)\n"
     "y = grouped_matmul(take(x, order // 2, axis=0), w, cumsum(bincount(e, 5), axis=0))\n"
     "y = reshape(take(y, argsort(order), axis=0), [R, 2, 8])\n"
     "output z = sum(y * p[:, :, None], axis=1)\n",
     {.absolute = 0x1p-14}},
};

void numeric_indices(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
