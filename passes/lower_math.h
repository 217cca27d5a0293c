// Functions of one f32 (any lanes) that keep the bounds of docs/language.md, "Accuracy", where
// Vulkan's own promise is too weak. All of them keep NaN.
#pragma once

#include "ir/kernel_build.h"

KVal math_log(KBuilder *b, KVal x);  // subnormals are zero
KVal math_tanh(KBuilder *b, KVal x); // 2^-20 absolute, and relative near zero
KVal math_erf(KBuilder *b, KVal x);  // 2^-20 absolute, and relative near zero
// |x| times the part of a normal distribution above |x|, to 1e-6 of it below 6; of NaN any number.
KVal math_tail(KBuilder *b, KVal x);
// The same to 2^-16 of it or 2^-26, for results that are rounded to f16.
KVal math_tail_f16(KBuilder *b, KVal x);
KVal math_sin(KBuilder *b, KVal x); // 2^-20 absolute for |x| <= 2^17
KVal math_cos(KBuilder *b, KVal x);
// x - n y for whole n below 2^24 next to x / y: exact, with or without a fused multiply-add.
KVal math_rest(KBuilder *b, KVal x, KVal n, KVal y);
// x^y: repeated multiplication where y is a constant integer in -16..16, else exp2(y log2 x) with
// NaN for negative x.
KVal math_pow(KBuilder *b, KVal x, KVal y);
