// Matrix products: shapes, broadcasts, operands read through views, epilogues, and weights that
// are packed when they are bound.
//
// sums is in units of 2^-24 of the sum of |a b|: up to K for the additions, one more for each
// product.
#include "tests/support/numeric.h"

#define EXACT .ulps = 0
#define SUMS  .sums = 400

#define FLOATS "f32 f16 bf16"

#define GEMM_SIZES "1 1 1; 2 3 5; 7 13 31; 17 33 65; 64 64 64; 65 63 129; 1 100 257; 127 1 8"

// Around the edges of fragments, moves and tiles.
#define EDGE_SIZES                                                                                 \
    "17 15 24; 33 32 32; 64 63 72; 65 64 7; 15 16 16; 16 17 8; 31 33 48; 32 31 33; 63 65 64; "     \
    "127 128 40; 128 129 16; 129 127 1; 130 8 136"

static const NumericCase cases[] = {
    {"matmul",
     "f32 f16 i32",
     GEMM_SIZES,
     "dim N in 1..=200; dim M in 1..=200; dim K in 1..=300\n"
     "input x : [N, K] $T; input y : [K, M] $T\n"
     "output a = matmul(x, y)\n",
     {SUMS}},
    {"matmul of transposed operands",
     "f32",
     GEMM_SIZES,
     "dim N in 1..=200; dim M in 1..=200; dim K in 1..=300\n"
     "input x : [K, N] $T; input y : [M, K] $T\n"
     "output a = x.T @ y.T\n",
     {SUMS}},
    {"matmul in batches",
     "f32",
     "1 1 1; 2 3 5; 3 17 64; 5 65 33",
     "dim B in 1..=5; dim N in 1..=80; dim K in 1..=80\n"
     "input x : [B, 1, N, K] $T; input y : [3, K, 20] $T; input z : [B, 3, 20, N] $T\n"
     "output a = x @ y; output b = z @ (x @ y)\n",
     {.sums = 1000, .rounds = 1}},
    {"matmul of vectors",
     "f32",
     "1 1; 3 7; 65 64; 20 257",
     "dim N in 1..=80; dim K in 1..=300\n"
     "input x : [K] $T; input y : [K, N] $T; input z : [N, K] $T\n"
     "output a = x @ y; output b = z @ x; output c = x @ x\n",
     {SUMS}},
    {"matmul of small integers",
     "i8 u8",
     "1 1 1; 7 13 31; 17 33 65; 64 64 64",
     "dim N in 1..=80; dim M in 1..=80; dim K in 1..=80\n"
     "input any_x : [N, K] $T; input any_y : [K, M] $T\n"
     "output a = matmul(any_x, any_y)\n",
     {EXACT}},
    {"matmul kept in f32",
     "bf16",
     GEMM_SIZES,
     "dim N in 1..=200; dim M in 1..=200; dim K in 1..=300\n"
     "input x : [N, K] $T; input y : [K, M] $T\n"
     "output a = matmul(x, y, dtype=f32)\n",
     {SUMS}},
    {"matmul through views",
     "f32",
     "1 1; 2 3; 7 13; 33 65; 64 64",
     "dim N in 1..=80; dim K in 1..=80\n"
     "input x : [N, 2 * K + 1] $T; input y : [K, 3, 17] $T; input z : [N, K] $T\n"
     "output a = x[:, 1:2 * K + 1:2] @ y[:, 1, :]\n"
     "output b = flip(z, axis=1) @ reshape(y, [K, 51])\n"
     "output c = pad(z, [[1, 2], [0, 0]]) @ y[:, 0, 2:9]\n"
     "output d = broadcast_to(z[0:1, :], [5, K]) @ y[:, 2, ::4]\n",
     {SUMS}},
    {"linear",
     "f32 f16",
     "1; 2; 7; 64; 65",
     "dim N in 1..=80\n"
     "input x : [N, 2, 70] $T; param w : [33, 70] $T; param b : [33] $T\n"
     "output a = linear(x, w, b); output c = linear(x, w)\n",
     {SUMS}},
    {"linear of small integers",
     "i8 i32",
     "1; 2; 7; 64; 65",
     "dim N in 1..=80\n"
     "input any_x : [N, 70] $T; param tiny_w : [33, 70] $T; param b : [33] i32\n"
     "output a = linear(any_x, tiny_w, b)\n",
     {EXACT}},
    {"epilogues",
     "f32 f16",
     "1; 2; 7; 64; 65",
     "dim N in 1..=80\n"
     "input x : [N, 70] $T; input r : [N, 48] $T; param w : [70, 48] $T; param b : [48] $T\n"
     "h = x @ w + b\n"
     "output a = gelu(h * 0.25) + r\n"
     "output c = cast(relu(x @ w) * 2.0, f32)\n"
     "output d = (x * 0.5 + 1.0) @ w\n",
     {.sums = 800, .absolute = 0x1p-14, .rounds = 2}},
    {"chains",
     "f32",
     "1; 7; 64; 100",
     "dim N in 1..=100\n"
     "input x : [N, 40] $T; param w1 : [40, 64] $T; param w2 : [64, 10] $T; param b1 : [64] $T\n"
     "h = tanh(x @ w1 * 0.1 + b1)\n"
     "output a = softmax(h @ w2 * 0.1); output i = argmax(h @ w2, axis=-1) < 10\n",
     {.ulps = 400, .absolute = 0x1p-17}},
    {"prepared weights",
     "f16",
     "1; 2; 7; 64; 65",
     "dim N in 1..=80\n"
     "input x : [N, 24] $T; param v : [40, 24] $T; param g : [40, 1] $T; param u : [24, 24] $T\n"
     "w = v * g\n"
     "output a = linear(x, w); output c = x @ (u.T * 0.5 + 1.0)\n",
     {.sums = 600, .rounds = 1}},
    {"matmul at edges",
     "f32 f16 bf16",
     EDGE_SIZES,
     "dim N in 1..=200; dim M in 1..=200; dim K in 1..=200\n"
     "input wide_x : [N, K] $T; input wide_y : [K, M] $T; input wide_z : [K, N] $T\n"
     "output a = matmul(wide_x, wide_y, dtype=f32)\n"
     "output b = matmul(wide_z.T, wide_y, dtype=f32) * 0.5\n",
     {SUMS}},
    {"matmul of sums that cancel",
     "f32 f16 bf16",
     EDGE_SIZES,
     "dim N in 1..=200; dim M in 1..=200; dim K in 1..=200\n"
     "input cancel_x : [N, 2 * K] $T; input pairs_y : [M, 2 * K] $T\n"
     "output a = linear(cancel_x, pairs_y); output b = relu(cancel_x @ pairs_y.T + 1.0)\n",
     {SUMS}},
    {"matmul of bytes at edges",
     "i8 u8",
     EDGE_SIZES,
     "dim N in 1..=200; dim M in 1..=200; dim K in 1..=200\n"
     "input any_x : [N, K] $T; input any_y : [K, M] $T; input any_z : [M, 2 * K] $T\n"
     "input cancel_x : [N, 2 * K] $T\n"
     "output a = matmul(any_x, any_y); output b = matmul(cancel_x, any_z.T)\n",
     {EXACT}},
    {"matmul of special values",
     "f32",
     "1 1 1; 7 5 1; 9 3 2; 33 20 3; 3 65 5; 65 17 17",
     "dim N in 1..=80; dim M in 1..=80; dim K in 1..=20\n"
     "input spike_x : [N, K] $T; input spike_y : [K, M] $T\n"
     "output a = matmul(spike_x, spike_y); output b = linear(spike_x, spike_y.T)\n",
     {SUMS}},
    {"long sums",
     "f32",
     "1 64; 1 2048; 3 4096; 2 4099",
     "dim N in 1..=8; dim K in 1..=5000\n"
     "input x : [N, K] $T; input y : [K, 5] $T\n"
     "output a = x @ y\n",
     {.sums = 5000}},
};

void numeric_contracts(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
