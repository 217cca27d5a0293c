// Convolutions and pooling: strides, padding of all forms, dilation, groups, symbolic images.
#include "tests/support/numeric.h"

#define EXACT .ulps = 0
#define SUMS  .sums = 400

#define FLOATS "f32 f16 bf16"
#define BATCH  "1; 2; 5; 8"

static const NumericCase cases[] = {
    {"conv1d",
     "f32 f16",
     "1 9; 2 16; 3 33",
     "dim N in 1..=3; dim W in 9..=40\n"
     "input x : [N, 4, W] $T; param w : [6, 4, 3] $T; param b : [6] $T; param v : [6, 2, 5] $T\n"
     "output a = conv1d(x, w, b); output c = conv1d(x, w, stride=2, padding=1)\n"
     "output d = conv1d(x, v, b, groups=2, dilation=2, padding=[[3, 1]])\n",
     {SUMS}},
    {"conv2d",
     "f32 f16",
     BATCH,
     "dim N in 1..=8\n"
     "input x : [N, 3, 13, 11] $T; param w : [8, 3, 3, 3] $T; param b : [8] $T\n"
     "output a = conv2d(x, w, b); output c = conv2d(x, w, stride=2, padding=1)\n"
     "output d = conv2d(x, w, b, stride=[2, 1], padding=[[0, 1], [2, 1]], dilation=[1, 2])\n"
     "output e = conv2d(x, w, padding=\"same\", stride=[3, 2])\n",
     {SUMS}},
    {"conv2d of groups",
     "f32",
     BATCH,
     "dim N in 1..=8\n"
     "input x : [N, 6, 9, 8] $T; param w : [4, 3, 3, 2] $T; param b : [4] $T\n"
     "param deep : [6, 1, 3, 3] $T; param point : [5, 6, 1, 1] $T\n"
     "output a = conv2d(x, w, b, groups=2); output c = conv2d(x, deep, groups=6, padding=1)\n"
     "output d = conv2d(x, point, stride=2)\n",
     {SUMS}},
    {"depthwise convolutions",
     "f32 f16",
     BATCH,
     "dim N in 1..=8\n"
     "input x : [N, 6, 9, 8] $T; param w : [6, 1, 3, 3] $T; param b : [6] $T\n"
     "param m : [12, 1, 2, 3] $T; param c : [12] $T; param l : [6, 1, 4] $T\n"
     "output a = relu(conv2d(x, w, b, groups=6, padding=1))\n"
     "output d = conv2d(x, w, groups=6, stride=2, padding=[[0, 1], [2, 0]])\n"
     "output e = conv2d(x, m, c, groups=6, dilation=[2, 1], padding=\"same\")\n"
     "output f = conv1d(x[:, :, 0, :], l, b, groups=6, padding=[[3, 0]])\n",
     {SUMS}},
    {"conv3d",
     "f32 f16",
     "1 3; 2 5; 3 8",
     "dim N in 1..=4; dim D in 3..=9\n"
     "input x : [N, 4, D, 6, 5] $T; param w : [6, 4, 3, 2, 3] $T; param b : [6] $T\n"
     "param v : [6, 2, 2, 2, 2] $T; param d : [4, 1, 3, 3, 2] $T\n"
     "output a = conv3d(x, w, b); output c = conv3d(x, w, stride=[1, 2, 1], padding=1)\n"
     "output e = conv3d(x, v, b, groups=2, dilation=[1, 2, 3], padding=[[1, 0], [0, 1], [2, 2]])\n"
     "output f = conv3d(x, d, groups=4, padding=\"same\")\n",
     {SUMS}},
    {"conv2d of small integers",
     "i8 i32",
     BATCH,
     "dim N in 1..=8\n"
     "input any_x : [N, 3, 9, 8] $T; param tiny_w : [5, 3, 3, 3] $T; param b : [5] i32\n"
     "output a = conv2d(any_x, tiny_w, b, padding=1)\n"
     "output c = conv1d(any_x[:, :, 0, :], tiny_w[:, :, 0, :], b)\n"
     "output d = conv3d(any_x[:, :, None], tiny_w[:, :, None], b)\n",
     {EXACT}},
    {"conv2d of any image",
     "f32",
     "1 5 5; 2 8 7; 1 17 16; 3 6 33",
     "dim N in 1..=3; dim H in 5..=40; dim W in 5..=40\n"
     "input x : [N, 2, H, W] $T; param w : [4, 2, 5, 3] $T\n"
     "output a = conv2d(x, w); output c = conv2d(x, w, padding=\"same\", stride=2)\n",
     {SUMS}},
    {"max_pool2d",
     "f32 f16 bf16 i32",
     BATCH,
     "dim N in 1..=8\n"
     "input any_x : [N, 3, 9, 10] $T\n"
     "output a = max_pool2d(any_x, 2); output b = max_pool2d(any_x, 3, stride=2, padding=1)\n"
     "output c = max_pool2d(any_x, [2, 3], stride=[1, 2], ceil_mode=true)\n"
     "output d = max_pool2d(any_x, 2, dilation=3)\n"
     "output e = max_pool2d(any_x, 3, stride=2, padding=\"same\")\n",
     {EXACT}},
    {"avg_pool2d",
     "f32 f16",
     BATCH,
     "dim N in 1..=8\n"
     "input x : [N, 3, 9, 10] $T\n"
     "output a = avg_pool2d(x, 2); output b = avg_pool2d(x, 3, stride=2, padding=1)\n"
     "output c = avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=false)\n"
     "output d = avg_pool2d(x, [2, 3], stride=[2, 2], ceil_mode=true)\n"
     "output e = avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=true)\n",
     {.sums = 16}},
    {"pooling after a convolution",
     "f32 f16",
     BATCH,
     "dim N in 1..=8\n"
     "input x : [N, 1, 16, 16] $T; param w : [6, 1, 5, 5] $T; param b : [6] $T\n"
     "h = conv2d(x, w, b, padding=2)\n"
     "output a = avg_pool2d(tanh(h * 0.1), 2); output c = max_pool2d(relu(h), 2)\n",
     {.sums = 400, .absolute = 0x1p-18, .rounds = 1}},
    {"adaptive_avg_pool2d",
     "f32 f16",
     BATCH,
     "dim N in 1..=8\n"
     "input x : [N, 3, 9, 10] $T\n"
     "output a = adaptive_avg_pool2d(x, 1); output b = adaptive_avg_pool2d(x, [3, 5])\n"
     "output c = adaptive_avg_pool2d(x, [4, 7]); output d = adaptive_avg_pool2d(x, [9, 10])\n",
     {.sums = 100}},
    {"windows over special values",
     "f32",
     BATCH,
     "dim N in 1..=8\n"
     "input spike_x : [N, 3, 9, 8] $T; param w : [4, 3, 3, 3] $T\n"
     "output a = conv2d(spike_x, w, padding=1, stride=2)\n"
     "output b = avg_pool2d(spike_x, 3, stride=2, padding=1, count_include_pad=false)\n"
     "output c = max_pool2d(spike_x, 3, stride=2, padding=1)\n",
     {SUMS}},
};

void numeric_windows(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
