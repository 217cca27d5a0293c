// What lies between ops: state, repeats, weights by key, dims set by the host, empty tensors,
// memory that several values share one after the other.
#include "tests/support/numeric.h"

#define SUMS .sums = 2000, .absolute = 0x1p-16, .rounds = 16

static const NumericCase cases[] = {
    {"repeat",
     "f32 f16",
     "1; 7; 64",
     "dim N in 1..=64\n"
     "input x : [N, 16] $T\n"
     "h = x\n"
     "repeat i in 0..4 {\n"
     "param w : [16, 16] $T from \"layers.{i}.w\"; param b : [16] $T from \"layers.{i}.b\"\n"
     "h = h + tanh(linear(h, w, b))\n"
     "}\n"
     "output y = h\n",
     {SUMS}},
    {"results stored through views",
     "f32 f16",
     "1 0; 1 63; 7 3; 33 31",
     "dim S in 1..=40; dim P in 0..=63\n"
     "input x : [2, S, 64] $T\n"
     "param w : [96, 64] $T; param b : [96] $T\n"
     "state cache : [2, 2, 64, 32] $T; state rows : [2, 64, 96] $T\n"
     "assert P + S <= 64\n"
     "y = linear(x, w, b)\n"
     "k = transpose(reshape(y[:, :, 32:], [2, S, 2, 32]), 1, 2)\n"
     "cache[:, :, P:P + S, :] = k\n"
     "rows[:, P:P + S, :] = y\n"
     "output a = relu(y); output b2 = transpose(reshape(y, [2, S, 3, 32]), 1, 2)\n"
     "o = scaled_dot_product_attention(transpose(reshape(x, [2, S, 2, 32]), 1, 2), k, k)\n"
     "output c = reshape(transpose(o, 1, 2), [2, S, 64]); output d = cache; output e = rows\n"
     "output f = transpose(softmax(x), 0, 1); output g = flip(matmul(x, w.T), axis=1)\n",
     {SUMS}},
    {"sizes of the host",
     "f32",
     "3 5; 1 7; 3 2; 64 64; 2 1",
     "dim N in 1..=64; dim K in 1..=64\n"
     "input x : [N, 2 * K] f32\n"
     "input y : [2 * K, 2 * K] f32\n"
     "output a = (x @ y) @ y\n",
     {SUMS}},
    {"repeat carries two",
     "f32",
     "1; 7; 65",
     "dim N in 1..=65\n"
     "input x : [N, 8] $T; input y : [N, 8] $T\n"
     "a = x; b = y\n"
     "repeat i in 0..5 {\n"
     "param s : [8] $T from \"s.{i}\"\n"
     "c = a * s + b; a = b; b = c * 0.5\n"
     "}\n"
     "output p = a; output q = softmax(b)\n",
     {.ulps = 200, .absolute = 0x1p-18}},
    {"repeat after repeat",
     "f32",
     "1; 7; 64",
     "dim N in 1..=64\n"
     "input x : [N, 8] $T\n"
     "h = x\n"
     "repeat i in 0..3 {\n"
     "param u : [8] $T from \"u.{i}\"\n"
     "h = tanh(h * u)\n"
     "}\n"
     "output first = h\n"
     "repeat i in 1..5 {\n"
     "h = h * 0.5 + 1.0\n"
     "repeat k in 0..3 {\n"
     "param v : [8] $T from \"v.{i}.{k}\"\n"
     "h = sin(h + v)\n"
     "}\n"
     "}\n"
     "output second = h; output third = h\n",
     {SUMS}},
    {"repeat from a constant",
     "f32",
     "1; 7; 64",
     "dim N in 1..=64\n"
     "input x : [N, 8] $T\n"
     "s = full([8], 0.5, $T); t = x\n"
     "repeat i in 0..3 {\n"
     "param u : [8] $T from \"u.{i}\"\n"
     "state c : [8] $T = 2 from \"c.{i}\"\n"
     "s = s * u + c\n"
     "c[:] = s\n"
     "t = t + c * s\n"
     "}\n"
     "output a = s; output b = t\n",
     {SUMS}},
    {"state",
     "f32 i32",
     "1 0; 3 5; 4 12",
     "dim S in 1..=4; dim P in 0..=12\n"
     "input x : [S, 8] $T\n"
     "state cache : [16, 8] $T = 3\n"
     "before = cache[P:P + S, :] + x\n"
     "cache[P:P + S, :] = x * 2\n"
     "output a = cache[:P + S, :]; output b = before; output c = sum(cache[:P + S, :], axis=0)\n",
     {SUMS}},
    {"host dims",
     "f32",
     "1 1; 3 7; 64 33",
     "dim N in 1..=64; dim L in 1..=40\n"
     "input x : [N, 4] $T\n"
     "output a = broadcast_to(x[:, None, :], [N, L, 4]) * 2.0\n"
     "output b = sum(cast(arange(0, L), $T)) * x\n",
     {SUMS}},
    {"empty tensors",
     "f32",
     "0; 1; 3",
     "dim N in 0..=3\n"
     "input x : [N, 4] $T; param w : [4, 5] $T\n"
     "output a = relu(x); output b = sum(x, axis=0); output c = x @ w; output d = softmax(x)\n"
     "output e = x.T @ x; output f = concat([x, x + 1.0]); output g = prod(x, axis=0)\n",
     {SUMS}},
    {"large grids",
     "f32",
     "3; 1500000",
     "dim N in 1..=5000000\n"
     "input x : [N, 3] $T\n"
     "output a = x.T\n",
     {SUMS}},
    {"shared memory",
     "f32",
     "1; 33; 257",
     "dim N in 1..=257\n"
     "input x : [N, 32] $T; param w : [32, 32] $T\n"
     "a = softmax(x @ w * 0.1); b = softmax(a @ w); c = softmax(b @ w + a); d = softmax(c @ w)\n"
     "output y = d + a; output z = layer_norm(c + x)\n",
     {SUMS}},
};

void numeric_programs(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
