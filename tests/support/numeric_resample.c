// Transposed convolutions, interpolation and quantisation.
#include "tests/support/numeric.h"

static const NumericCase cases[] = {
    {"conv_transpose2d",
     "f32 f16",
     "1 1; 2 3; 1 8; 5 17",
     "dim N in 1..=8; dim H in 1..=20\n"
     "input x : [N, 6, H, 5] $T; input w : [6, 4, 3, 2] $T; input b : [4] $T\n"
     "input v : [6, 2, 2, 2] $T; input c : [6] $T\n"
     "output p = conv_transpose2d(x, w, b)\n"
     "output q = conv_transpose2d(x, w, stride=[2, 3], padding=[[1, 0], [1, 1]])\n"
     "output r = conv_transpose2d(x, v, c, stride=2, groups=3)\n"
     "output s = conv_transpose2d(x, w, b, stride=3, padding=1, output_padding=[2, 0], "
     "dilation=2)\n"
     "output t = conv_transpose2d(x, v, padding=[0, 2], groups=3)\n"
     "output u = conv_transpose2d(x, w, b, stride=[3, 2])\n"
     "output z = conv_transpose1d(x[:, :, :, 0], w[:, :, :, 0], b, stride=3)\n",
     {.sums = 64, .rounds = 2}},
    {"conv_transpose of 1 and 3 axes",
     "f32 f16",
     "1 1; 2 3; 1 7",
     "dim N in 1..=4; dim D in 1..=9\n"
     "input x : [N, 4, D] $T; input w : [4, 3, 4] $T; input b : [3] $T\n"
     "input y : [N, 4, D, 3, 2] $T; input v : [4, 2, 2, 3, 1] $T; input c : [4] $T\n"
     "output p = conv_transpose1d(x, w, b, stride=3, padding=1, output_padding=2)\n"
     "output q = conv_transpose1d(x, w[:, :, :2], dilation=2)\n"
     "output r = conv_transpose3d(y, v, c, stride=[2, 1, 3], groups=2)\n"
     "output s = conv_transpose3d(y, v, padding=[0, 1, 0], output_padding=[1, 0, 0], stride=2)\n",
     {.sums = 64, .rounds = 2}},
    {"interpolate nearest",
     "f32 f16 bf16",
     "1 1; 2 3; 3 8; 1 17",
     "dim N in 1..=8; dim H in 1..=20\n"
     "input any_x : [N, 3, H, 5] $T\n"
     "output p = interpolate(any_x, [7, 10]); output q = interpolate(any_x, [2 * H, 3])\n"
     "output r = interpolate(any_x.mT, [H + 1, H])\n",
     {.bits = true}},
    {"interpolate bilinear",
     "f32 f16",
     "1 1; 2 3; 3 8; 1 17",
     "dim N in 1..=8; dim H in 1..=20\n"
     "input x : [N, 3, H, 5] $T\n"
     "output p = interpolate(x, [7, 10], mode=\"bilinear\")\n"
     "output q = interpolate(x, [2 * H, 3], mode=\"bilinear\", align_corners=true)\n"
     "output r = interpolate(x.mT, [H + 1, H], mode=\"bilinear\")\n"
     "output s = interpolate(x, [1, 4], mode=\"bilinear\", align_corners=true)\n",
     {.absolute = 0x1p-15}},
    {"interpolate coordinates",
     "f32",
     "1 1; 2 3; 3 8; 1 17",
     "dim N in 1..=8; dim H in 1..=20\n"
     "input any_x : [N, 3, H, 5] $T\n"
     "output p = interpolate(any_x, [7, 10], coordinates=\"half_pixel\", "
     "rounding=\"prefer_floor\")\n"
     "output q = interpolate(any_x, [H + 2, 3], coordinates=\"asymmetric\", "
     "rounding=\"prefer_ceil\")\n"
     "output r = interpolate(any_x, [2 * H, 1], align_corners=true, rounding=\"ceil\")\n"
     "output s = interpolate(any_x, [H, 1], coordinates=\"pytorch_half_pixel\")\n",
     {.bits = true}},
    {"interpolate bicubic",
     "f32 f16",
     "1 1; 2 3; 3 8; 1 17",
     "dim N in 1..=8; dim H in 1..=20\n"
     "input x : [N, 3, H, 5] $T\n"
     "output p = interpolate(x, [7, 10], mode=\"bicubic\")\n"
     "output q = interpolate(x, [2 * H, 3], mode=\"bicubic\", align_corners=true)\n"
     "output r = interpolate(x, [H + 1, 4], mode=\"bicubic\", coordinates=\"asymmetric\", "
     "cubic_coeff=-0.5, exclude_outside=true)\n"
     "output s = interpolate(x, [H, 1], mode=\"bilinear\", coordinates=\"pytorch_half_pixel\")\n",
     {.absolute = 0x1p-14}},
    {"interpolate constant sizes", // indices are made when the model is loaded
     "f32",
     "1; 3",
     "dim N in 1..=8\n"
     "input x : [N, 2, 4, 5] $T\n"
     "output p = interpolate(x, [70, 100])\n"
     "output q = interpolate(x, [70, 100], mode=\"bilinear\")\n"
     "output r = interpolate(x, [3, 4], mode=\"bilinear\")\n"
     "output s = x[0, 0, 0, :1] + sum(full([5000], 1, $T) * cast(arange(0, 5000), $T))\n",
     {.absolute = 0x1p-15, .ulps = 16}},
    {"quantise",
     "f32 f16 bf16",
     "1; 2; 7; 33",
     "dim N in 1..=80\n"
     "input near_x : [N, 6] $T; const s : $T = 0.125; const t : [6] $T = [1, 2, 0.5, 4, 0.25, 8]\n"
     "const z : u8 = 128; const y : [6] i8 = [0, 1, -1, 100, -100, 127]\n"
     "const r : [2, 6] $T = [[1, 2, 0.5, 4, 0.25, 8], [2, 2, 2, 2, 2, 2]]\n"
     "output a = quantize_linear(near_x, s); output b = quantize_linear(near_x, s, z)\n"
     "output c = quantize_linear(near_x, t, y); output d = quantize_linear(near_x, t, dtype=i8)\n"
     "output e = quantize_linear(broadcast_to(near_x[:1], [5, 6]), r, axis=0, block_size=3)\n"
     "output f = quantize_linear(near_x.mT, t, y, axis=0)\n",
     {.absolute = 0}},
    {"dequantise",
     "f32 f16",
     "1; 2; 7; 33",
     "dim N in 1..=80\n"
     "input any_x : [N, 6] u8; input any_y : [N, 6] i8; input any_z : [6] i8\n"
     "input s : $T; input t : [6] $T; input r : [2] $T; input i : [N, 6] i32\n"
     "output a = dequantize_linear(any_x, s); output b = dequantize_linear(any_y, t, any_z)\n"
     "output c = dequantize_linear(i, t); output d = dequantize_linear(any_y, s, dtype=bf16)\n"
     "output e = dequantize_linear(any_x[0], r, axis=0, block_size=3)\n"
     "output f = dequantize_linear(any_y.mT, t, any_z, axis=0)\n",
     {.ulps = 4}},
};

void numeric_resample(Arena *arena, NumericList *out) {
    numeric_from_cases(arena, cases, sizeof cases / sizeof *cases, out);
}
