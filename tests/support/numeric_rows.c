// Reductions and what is made of them: along rows, columns, several axes, all of them.
//
// sums bounds errors against the sum of magnitudes in f32: each of n additions may add half an ulp
// of it. Rows are up to 1,025 long, but lanes add side by side: 300 is far above what happens, far
// below what a wrong element would give.
#include "tests/support/numeric.h"

#define EXACT .ulps = 0
#define SUMS  .sums = 300

#define FLOATS "f32 f16 bf16"
#define ARITH  "f32 f16 bf16 i32 u32"

// Names beginning with x are wide, with u narrow.
#define ROW_SIZES "1 1; 3 7; 5 64; 2 65; 4 257; 1 1025; 67 3"

static const NumericCase cases[] = {
    {"sum",
     ARITH,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input x : [N, M] $T\n"
     "output rows = sum(x, axis=1)\n"
     "output columns = sum(x, axis=0, keepdims=true)\n"
     "output every = sum(x)\n",
     {SUMS}},
    {"sum of small integers",
     "i8 u8",
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input any_x : [N, M] $T\n"
     "output rows = sum(any_x, axis=1)\n"
     "output columns = sum(any_x, axis=0)\n",
     {EXACT}},
    {"sum of several axes",
     "f32 i32",
     "1 1; 2 7; 5 33; 3 64",
     "dim N in 1..=8; dim M in 1..=64\n"
     "input x : [N, 3, M, 5] $T\n"
     "output last = sum(x, axis=[2, 3])\n"
     "output outer = sum(x, axis=[0, 3], keepdims=true)\n"
     "output middle = sum(x, axis=[1, 2])\n"
     "output of_view = sum(permute_dims(x, [3, 1, 0, 2])[:, 1:, :, :], axis=[1, 3])\n",
     {SUMS}},
    {"prod",
     ARITH,
     "1 1; 3 7; 5 12; 20 3",
     "dim N in 1..=20; dim M in 1..=12\n"
     "input x : [N, M] $T\n"
     "output rows = prod(x, axis=1); output columns = prod(x, axis=0)\n",
     {.ulps = 24}},
    {"mean",
     FLOATS,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input x : [N, M] $T\n"
     "output rows = mean(x, axis=-1); output columns = mean(x, axis=[0], keepdims=true)\n"
     "output every = mean(x)\n",
     {SUMS}},
    {"max and min",
     ARITH,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input any_x : [N, M] $T; input x : [N, M] $T\n"
     "output a = max(any_x, axis=1); output b = min(any_x, axis=1, keepdims=true)\n"
     "output c = max(x, axis=0); output d = min(x, axis=0); output e = max(x); output f = min(x)\n"
     "output g = max(x, axis=1); output h = min(x, axis=1)\n",
     {EXACT}},
    {"any and all",
     "bool",
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input x : [N, M] $T; input tiny : [N, M] i32\n"
     "output a = any(x, axis=1); output b = all(x, axis=0); output c = any(x); output d = all(x)\n"
     "output e = any(tiny == 4, axis=1); output f = all(tiny < 4, axis=1, keepdims=true)\n",
     {EXACT}},
    {"argmax and argmin",
     ARITH,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input any_x : [N, M] $T; input tiny : [N, M] $T\n"
     "output a = argmax(any_x, axis=1); output b = argmin(any_x, axis=1, keepdims=true)\n"
     "output c = argmax(tiny, axis=-1); output d = argmin(tiny, axis=1)\n"
     "output e = argmax(tiny, axis=0); output f = argmin(any_x, axis=0)\n",
     {EXACT}},
    {"cumsum",
     ARITH,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input x : [N, M] $T\n"
     "output a = cumsum(x, axis=1); output b = cumsum(x, axis=0)\n",
     {SUMS}},
    {"long cumsum",
     "f32 f16 i32",
     "1; 4097; 20001",
     "dim N in 1..=20001\n"
     "input x : [2, N] $T; input y : [N, 2] $T\n"
     "output a = cumsum(x, axis=1); output b = cumsum(y, axis=0)\n",
     {SUMS}},
    {"softmax",
     FLOATS,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input near : [N, M] $T\n"
     "output a = softmax(near); output b = softmax(near, axis=0)\n",
     {.ulps = 80}},
    {"softmax of special values",
     FLOATS,
     "3 7; 64 2; 5 64",
     "dim N in 1..=64; dim M in 1..=64\n"
     "input any_x : [N, M] $T\n"
     "output a = softmax(any_x); output b = log_softmax(any_x)\n",
     {.ulps = 300, .absolute = 0x1p-18}},
    {"log_softmax",
     FLOATS,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input near : [N, M] $T\n"
     "output a = log_softmax(near); output b = log_softmax(near, axis=0)\n",
     {.ulps = 4, .absolute = 0x1p-18}},
    {"layer_norm",
     FLOATS,
     "1; 2; 7; 33; 64; 257",
     "dim N in 1..=300\n"
     "input x : [N, 72] $T; input w : [72] $T; input b : [72] $T; input y : [N, 3, 24] $T\n"
     "input v : [3, 24] $T\n"
     "output a = layer_norm(x); output c = layer_norm(x, w, b, eps=0.001)\n"
     "output d = layer_norm(x, None, b); output e = layer_norm(y, v, axis=1)\n",
     {.absolute = 0x1p-17}},
    {"rms_norm",
     FLOATS,
     "1; 2; 7; 33; 64; 257",
     "dim N in 1..=300\n"
     "input x : [N, 72] $T; input w : [72] $T; input y : [N, 3, 24] $T\n"
     "output a = rms_norm(x); output c = rms_norm(x, w, eps=0.001)\n"
     "output d = rms_norm(y, axis=1)\n",
     {.ulps = 100}},
    {"group_norm",
     FLOATS,
     "1; 2; 7; 33",
     "dim N in 1..=40\n"
     "input x : [N, 6, 4, 5] $T; input w : [6] $T; input b : [6] $T\n"
     "output a = group_norm(x, num_groups=3); output c = group_norm(x, w, b, num_groups=2)\n"
     "output e = group_norm(x, 2, w, b)\n"
     "output d = group_norm(x, None, b, num_groups=1, eps=0.01)\n",
     {.absolute = 0x1p-17}},
    {"batch_norm",
     FLOATS,
     "1; 2; 7; 33",
     "dim N in 1..=40\n"
     "input x : [N, 6, 4, 5] $T; input m : [6] $T; input unit_v : [6] $T\n"
     "input w : [6] $T; input b : [6] $T\n"
     "v = abs(unit_v) + 0.5\n"
     "output a = batch_norm(x, m, v); output c = batch_norm(x, m, v, w, b, eps=0.01)\n",
     {.absolute = 0x1p-19}},
    {"rotary_embedding",
     FLOATS,
     "1; 2; 7; 33",
     "dim S in 1..=40\n"
     "input x : [2, 3, S, 16] $T; input unit_c : [S, 8] $T; input unit_s : [S, 8] $T\n"
     "input unit_d : [S, 4] f32; input unit_t : [S, 4] f32\n"
     "output a = rotary_embedding(x, unit_c, unit_s)\n"
     "output b = rotary_embedding(x, unit_c, unit_s, interleaved=true)\n"
     "output c = rotary_embedding(x, unit_d, unit_t, rotary_dim=8)\n",
     {.absolute = 0x1p-21}},
    {"sums of special values",
     FLOATS,
     "3 7; 64 2; 5 64; 40 33",
     "dim N in 1..=64; dim M in 1..=64\n"
     "input spike_x : [N, M] $T\n"
     "output a = sum(spike_x, axis=1); output b = mean(spike_x, axis=0)\n"
     "output c = cumsum(spike_x, axis=1); output d = layer_norm(spike_x[:, 0:1] + spike_x[:, "
     "1:2])\n",
     {SUMS}},
    {"rows with their surroundings",
     FLOATS,
     ROW_SIZES,
     "dim N in 1..=80; dim M in 1..=1025\n"
     "input x : [N, M] $T; input y : [N, M] $T; input unit_s : [N, 1] $T\n"
     "h = x + y * unit_s\n"
     "output a = relu(h - 0.25 * mean(h, axis=1, keepdims=true)) * unit_s\n"
     "output b = sum(h * h, axis=1) + max(abs(h), axis=1)\n"
     "output c = rms_norm(transpose(x, 0, 1)[:, :] * 0.5, axis=0) + 1.0\n",
     {.sums = 600, .absolute = 0x1p-16, .rounds = 2}},
};

void numeric_rows(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
