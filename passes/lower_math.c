#include "passes/lower_math.h"

#include <float.h>
#include <math.h>
#include <string.h>

// coefficient[0] is that of the highest power.
static KVal math_polynomial(KBuilder *b, KVal x, const float *coefficient, unsigned count) {
    KVal sum = k_f32(b, coefficient[0]);
    for (unsigned i = 1; i < count; i++) sum = k_fma(b, sum, x, k_f32(b, coefficient[i]));
    return sum;
}

// Drivers that read an exponent's bits would give a subnormal's logarithm as that of 2^-127:
// neither its own, nor the one of zero.
static KVal math_flush(KBuilder *b, KVal x) {
    return k_select(b, k_flt(b, k_fabs(b, x), k_f32(b, FLT_MIN)), k_f32(b, 0), x);
}

KVal math_log(KBuilder *b, KVal x) {
    return k_log(b, math_flush(b, x));
}

// The upper half of x's digits.
static KVal math_high(KBuilder *b, KVal x) {
    return k_as_f32(b, k_and(b, k_as_i32(b, x), k_i32(b, ~0xfff)));
}

// Halves of 12 digits have exact products, and what is left after each subtraction fits 24 digits.
KVal math_rest(KBuilder *b, KVal x, KVal n, KVal y) {
    KVal n_high = math_high(b, n), y_high = math_high(b, y);
    KVal n_low = k_fsub(b, n, n_high), y_low = k_fsub(b, y, y_high);
    KVal rest = k_fsub(b, x, k_fmul(b, n_high, y_high));
    rest = k_fsub(b, rest, k_fmul(b, n_high, y_low));
    rest = k_fsub(b, rest, k_fmul(b, n_low, y_high));
    return k_fsub(b, rest, k_fmul(b, n_low, y_low));
}

// Near zero an odd polynomial keeps relative accuracy; beyond, 1 - 2 / (e^2|x| + 1), whose error
// shrinks as the exponential grows, and which is 1 where the exponential overflows.
KVal math_tanh(KBuilder *b, KVal x) {
    static const float odd[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                                1.33314422036e-1f, -3.33332819422e-1f};
    KVal magnitude = k_fabs(b, x), square = k_fmul(b, x, x), one = k_f32(b, 1);
    KVal cubic = k_fmul(b, square, x);
    KVal small = k_fma(b, math_polynomial(b, square, odd, 5), cubic, x);
    KVal exponential = k_exp(b, k_fmul(b, magnitude, k_f32(b, 2)));
    KVal large = k_fsub(b, one, k_fdiv(b, k_f32(b, 2), k_fadd(b, exponential, one)));
    KVal signed_large = k_select(b, k_flt(b, x, k_f32(b, 0)), k_fneg(b, large), large);
    return k_select(b, k_flt(b, magnitude, k_f32(b, 0.625f)), small, signed_large);
}

// Up to 1 an odd polynomial; beyond, the five-term rational approximation of Hastings (absolute
// error 1.5e-7 in exact arithmetic).
KVal math_erf(KBuilder *b, KVal x) {
    static const float odd[] = {7.853861353153693e-5f, -8.010193625184903e-4f,
                                5.188327685732524e-3f, -2.685381193529856e-2f,
                                1.128358514861418e-1f, -3.761262582423300e-1f,
                                1.128379165726710e+0f};
    static const float tail[] = {1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f,
                                 0.254829592f};
    KVal magnitude = k_fabs(b, x), square = k_fmul(b, x, x), one = k_f32(b, 1);
    KVal small = k_fmul(b, math_polynomial(b, square, odd, 7), x);
    KVal t = k_fdiv(b, one, k_fma(b, k_f32(b, 0.3275911f), magnitude, one));
    KVal decay = k_exp(b, k_fneg(b, square));
    KVal rest = k_fmul(b, k_fmul(b, math_polynomial(b, t, tail, 5), t), decay);
    KVal large = k_fsub(b, one, rest);
    KVal signed_large = k_select(b, k_flt(b, x, k_f32(b, 0)), k_fneg(b, large), large);
    return k_select(b, k_fle(b, magnitude, one), small, signed_large);
}

// As r(t) t e^(-x^2 / 2) with t = 1 / (1 + 0.3 |x|), where the polynomial r was fitted for the
// least largest relative error (1.4e-7) up to where f32 ends.
KVal math_tail(KBuilder *b, KVal x) {
    static const float r[] = {3.59354715e-2f, -1.58291732e-1f, 2.08234013e-1f, -5.54193688e-2f,
                              1.29482872e-1f, 9.96332952e-2f,  1.2079904e-1f,  1.19626345e-1f};
    KVal a = k_fmin(b, k_fabs(b, x), k_f32(b, 20)), one = k_f32(b, 1);
    KVal t = k_fdiv(b, one, k_fma(b, k_f32(b, 0.3f), a, one));
    KVal decay = k_exp2(b, k_fmul(b, k_fmul(b, a, k_f32(b, -0.72134752f)), a));
    return k_fmul(b, k_fmul(b, math_polynomial(b, t, r, 8), k_fmul(b, t, a)), decay);
}

// As |x| 2^p(|x|), where the polynomial p, the tail's binary logarithm, was fitted for the least
// largest error (4.7e-6; 8e-6 with its roundings) up to where half the smallest f16 is left.
KVal math_tail_f16(KBuilder *b, KVal x) {
    static const float p[] = {-1.83296374e-6f, 6.15668178e-5f,  -9.30318239e-4f, 8.50723370e-3f,
                              -5.39590252e-2f, -4.58465157e-1f, -1.15125084f,    -9.99995303e-1f};
    KVal a = k_fmin(b, k_fabs(b, x), k_f32(b, 5.9f));
    return k_fmul(b, a, k_exp2(b, math_polynomial(b, a, p, 8)));
}

// x minus the nearest multiple n of pi / 2, and n. The first three parts of pi / 2 have at most
// seven bits, so that their products with n < 2^17 are exact, with or without fused multiply-add.
static KVal math_reduce(KBuilder *b, KVal x, KVal *quadrant) {
    static const float part[] = {0x1.9p+0f, 0x1.0cp-7f, 0x1.ecp-14f, 0x1.5110b4p-22f};
    KVal n = k_round_even(b, k_fmul(b, x, k_f32(b, 0.636619772f)));
    KVal rest = x;
    for (unsigned i = 0; i < 4; i++) rest = k_fsub(b, rest, k_fmul(b, n, k_f32(b, part[i])));
    *quadrant = k_f_to_s(b, n);
    return rest;
}

static KVal math_sine_of(KBuilder *b, KVal x, int shift) {
    static const float sine[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
    static const float cosine[] = {2.443315711809948e-5f, -1.388731625493765e-3f,
                                   4.166664568298827e-2f};
    KVal quadrant, rest = math_reduce(b, x, &quadrant), square = k_fmul(b, rest, rest);
    KVal sin_rest = k_fma(b, math_polynomial(b, square, sine, 3), k_fmul(b, square, rest), rest);
    KVal cos_rest = k_fma(b, math_polynomial(b, square, cosine, 3), k_fmul(b, square, square),
                          k_fma(b, square, k_f32(b, -0.5f), k_f32(b, 1)));
    quadrant = k_iadd(b, quadrant, k_i32(b, shift));
    KVal zero = k_i32(b, 0);
    KVal odd = k_ine(b, k_and(b, quadrant, k_i32(b, 1)), zero);
    KVal negative = k_ine(b, k_and(b, quadrant, k_i32(b, 2)), zero);
    KVal value = k_select(b, odd, cos_rest, sin_rest);
    return k_select(b, negative, k_fneg(b, value), value);
}

KVal math_sin(KBuilder *b, KVal x) {
    return math_sine_of(b, x, 0);
}

KVal math_cos(KBuilder *b, KVal x) {
    return math_sine_of(b, x, 1);
}

static bool math_is_const(KBuilder *b, KVal x, float *value) {
    int64_t bits;
    if (!k_is_const(b, x, &bits)) return false;
    uint32_t word = (uint32_t)bits;
    memcpy(value, &word, sizeof word);
    return true;
}

KVal math_pow(KBuilder *b, KVal x, KVal y) {
    float power;
    if (math_is_const(b, y, &power) && fabsf(power) <= 16 && power == floorf(power)) {
        KVal result = k_f32(b, 1), square = x;
        for (unsigned n = (unsigned)fabsf(power); n; n >>= 1) {
            if (n & 1) result = k_fmul(b, result, square);
            if (n > 1) square = k_fmul(b, square, square);
        }
        return power < 0 ? k_fdiv(b, k_f32(b, 1), result) : result;
    }
    KVal zero = k_f32(b, 0), one = k_f32(b, 1);
    KVal result = k_exp2(b, k_fmul(b, y, k_log2(b, math_flush(b, x))));
    result = k_select(b, k_or(b, k_feq(b, y, zero), k_feq(b, x, one)), one, result);
    return k_select(b, k_flt(b, x, zero), k_f32(b, NAN), result);
}
