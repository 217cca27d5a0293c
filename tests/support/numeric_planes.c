// f32 products as --math=fast makes them: edges of tiles, and numbers that an f16 does not hold.
//
// The bound is a few roundings of each product (22 bits are kept of each factor) and of each tile's
// sum, in units of 2^-24 of the sum of |a b|: no more than a sum in f32 may be off.
#include "tests/support/numeric.h"

#define SUMS .sums = 40

#define SIZES "1 1 1; 17 33 31; 16 16 16; 31 15 32; 33 32 47; 8 7 65; 40 24 100"

#define DIMS "dim N in 1..=130; dim M in 1..=130; dim K in 1..=130\n"

static const NumericCase cases[] = {
    {"planes at edges",
     "f32",
     "1 1 1; 17 33 31; 16 16 16; 31 15 32; 33 32 47; 8 7 65; 40 24 100; 32 31 33; 15 17 64; "
     "64 65 63; 129 127 128",
     DIMS "input unit_x : [N, K] f32; input unit_y : [K, M] f32; input unit_z : [K, N] f32\n"
          "output a = unit_x @ unit_y; output b = relu(unit_z.T @ unit_y * 2.0 + 1.0)\n"
          "output c = linear(unit_x, unit_y.T)\n",
     {SUMS}},
    {"planes in batches, one operand shared",
     "f32",
     "1 1 1; 17 33 31; 31 15 32",
     DIMS "input unit_x : [3, N, K] f32; input unit_y : [K, M] f32\n"
          "output a = unit_x @ unit_y\n"
          "output b = unit_y.T @ permute_dims(unit_x, axes=[0, 2, 1])\n",
     {SUMS}},
    {"planes of views",
     "f32",
     "1 1 1; 17 33 31; 31 15 32",
     DIMS "input unit_x : [N, 2 * K + 1] f32; input unit_y : [K, 3, M] f32\n"
          "output a = unit_x[:, 1:2 * K + 1:2] @ unit_y[:, 1, :]\n"
          "output b = flip(unit_x[:, 0:K], axis=1) @ (unit_y[:, 2, :] * 0.5)\n",
     {SUMS}},
    {"planes of exponents far apart",
     "f32",
     SIZES,
     DIMS "input far_x : [N, K] f32; input far_y : [K, M] f32\n"
          "output a = far_x @ far_y\n",
     {SUMS}},
    {"planes of exponents at the limit",
     "f32",
     SIZES,
     DIMS "input span_x : [N, K] f32; input span_y : [K, M] f32\n"
          "output a = span_x @ span_y\n",
     {SUMS}},
    {"planes of rows of different size",
     "f32",
     SIZES,
     DIMS "input unit_x : [N, K] f32; input unit_y : [K, M] f32\n"
          "input far_r : [N, 1] f32; input far_c : [1, M] f32\n"
          "output a = (unit_x * far_r) @ (unit_y * far_c)\n",
     {SUMS, .absolute = 130 * 0x1p-126}}, // subnormal products may flush, each of up to 130
    {"planes of sums that cancel",
     "f32",
     SIZES,
     DIMS
     "input cancel_x : [N, 2 * K] f32; input pairs_y : [M, 2 * K] f32; input unit_k : [K] f32\n"
     "output a = linear(cancel_x, pairs_y); output b = relu(unit_k)\n",
     {SUMS}},
    {"planes of zeros",
     "f32",
     SIZES,
     DIMS "input unit_x : [N, K] f32; input rest_y : [K, M] f32; input rest_r : [N, 1] f32\n"
          "output a = (unit_x * rest_r) @ rest_y; output b = (unit_x * 0.0) @ rest_y\n",
     {SUMS}},
    {"planes of infinities and NaN",
     "f32",
     SIZES,
     DIMS "input spike_x : [N, K] f32; input unit_y : [K, M] f32; input unit_z : [M, K] f32\n"
          "output a = spike_x @ unit_y; output b = unit_z @ spike_x.T\n",
     {SUMS}},
    {"planes of subnormals and the largest",
     "f32",
     SIZES,
     DIMS "input any_x : [N, K] f32; input unit_y : [K, M] f32\n"
          "output a = any_x @ (unit_y * 0.00390625)\n", // so that sums of |a b| stay finite
     {.sums = 40, .absolute = 0x1p-118}},
};

void numeric_planes(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
