// How accurate the device's functions of f32 are: the bounds of docs/language.md, "Accuracy", over
// all bit patterns, against the C library in f64. Prints what was found.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/number.h"
#include "tests/support/device_check.h"

enum { POINTS = 1 << 16, ROUNDS = 2 };

// What is allowed at x: so many ulp of the result, or so much absolute error, whichever is more.
typedef struct Room {
    double ulps, absolute;
} Room;

typedef struct Function {
    const char *call;
    double (*exact)(double x, double y);
    Room (*room)(double x, double y);
} Function;

static double f_exp(double x, double y) {
    return (void)y, exp(x);
}
static double f_log(double x, double y) {
    return (void)y, log(x);
}
static double f_tanh(double x, double y) {
    return (void)y, tanh(x);
}
static double f_erf(double x, double y) {
    return (void)y, erf(x);
}
static double f_sin(double x, double y) {
    return (void)y, sin(x);
}
static double f_cos(double x, double y) {
    return (void)y, cos(x);
}
static double f_sqrt(double x, double y) {
    return (void)y, sqrt(x);
}
static double f_rsqrt(double x, double y) {
    return (void)y, 1 / sqrt(x);
}
static double f_reciprocal(double x, double y) {
    return (void)y, 1 / x;
}
static double f_divide(double x, double y) {
    return x / y;
}
static double f_add(double x, double y) {
    return x + y;
}
static double f_multiply(double x, double y) {
    return x * y;
}
static double f_fifth(double x, double y) {
    return (void)y, x * x * x * x * x;
}
static double f_pow(double x, double y) {
    return x < 0 ? (double)NAN : pow(x, y);
}

static Room none(double x, double y) {
    return (void)x, (void)y, (Room){0};
}
static Room three(double x, double y) {
    return (void)x, (void)y, (Room){.ulps = 3};
}
static Room five(double x, double y) {
    return (void)x, (void)y, (Room){.ulps = 5};
}
static Room of_exp(double x, double y) {
    return (void)y, (Room){.ulps = 3 + 2 * fabs(x)};
}
static Room of_log(double x, double y) {
    return (void)x, (void)y, (Room){.ulps = 3, .absolute = 0x1p-21};
}
static Room absolute(double x, double y) {
    return (void)x, (void)y, (Room){.absolute = 0x1p-20};
}
// exp2(y log2 x): the error of the logarithm, times y, and that of the power.
static Room of_pow(double x, double y) {
    double log = log2(x), power = y * log;
    double error = fabs(y) * fmax(3 * ulp_of(DT_F32, log), 0x1p-21) + ulp_of(DT_F32, power) / 2;
    return (Room){.ulps = 3 + 2 * fabs(power) + error * 0.6931471805599453 * 0x1p24};
}

static const Function functions[] = {
    {"exp(bits_x)", f_exp, of_exp},
    {"exp(near_x)", f_exp, of_exp},
    {"log(bits_x)", f_log, of_log},
    {"log(near_x)", f_log, of_log},
    {"tanh(bits_x)", f_tanh, absolute},
    {"tanh(near_x)", f_tanh, absolute},
    {"erf(bits_x)", f_erf, absolute},
    {"erf(near_x)", f_erf, absolute},
    {"sin(turn_x)", f_sin, absolute},
    {"cos(turn_x)", f_cos, absolute},
    {"sqrt(bits_x)", f_sqrt, five},
    {"rsqrt(bits_x)", f_rsqrt, three},
    {"reciprocal(bits_x)", f_reciprocal, three},
    {"divide(bits_x, bits_y)", f_divide, three},
    {"divide(near_x, near_y)", f_divide, three},
    {"add(near_x, near_y)", f_add, none},
    {"add(bits_x, bits_y)", f_add, none},
    {"multiply(bits_x, bits_y)", f_multiply, none},
    {"pow(near_x, near_y)", f_pow, of_pow},
    {"pow(near_x, 5.0)", f_fifth, three},
};

static const char *const inputs[] = {"bits_x", "bits_y", "near_x", "near_y", "turn_x"};

// The operand that a call names first or second; constants count as 0.
static double operand(const char *call, unsigned which, uint64_t seed, int64_t index) {
    const char *at = strchr(call, '(') + 1;
    if (which) {
        at = strchr(call, ',');
        if (!at) return 0;
        at += 2;
    }
    char name[16];
    return sscanf(at, "%15[a-z_]", name) == 1 ? device_sample(name, DT_F32, seed, index) : 0;
}

// Whether got is allowed for these very operands, and its error in ulp.
static bool within(const Function *f, double x, double y, double got, double *ulps) {
    double exact = f->exact(x, y), want = number_cast(DT_F32, exact);
    Room room = f->room(x, y);
    *ulps = 0;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (got == want || (fabs(got) <= FLT_MIN && fabs(want) <= FLT_MIN)) return true;
    if (isinf(want) || isinf(got)) { // near the largest number both are near it
        exact = fmax(-0x1p128, fmin(exact, 0x1p128));
        got = fmax(-0x1p128, fmin(got, 0x1p128));
    }
    double error = fabs(got - exact), ulp = ulp_of(DT_F32, exact);
    *ulps = error / ulp;
    bool rounded = room.ulps == 0 && room.absolute == 0; // then only equal is right
    return !rounded && error <= fmax((room.ulps + 0.5) * ulp, room.absolute);
}

static double flushed(double value) {
    return fabs(value) < FLT_MIN ? copysign(0, value) : value;
}

// Subnormals may be zero, one operand or both.
static bool judge(const Function *f, double x, double y, double got, double *ulps) {
    return within(f, x, y, got, ulps) || within(f, flushed(x), flushed(y), got, ulps) ||
           within(f, flushed(x), y, got, ulps) || within(f, x, flushed(y), got, ulps);
}

static void functions_keep_their_bounds(void **state) {
    (void)state;
    const unsigned count = sizeof functions / sizeof *functions;
    Text text = {0};
    text_put(&text, "adept 1\nmodel m {\ndim N in 1..=65536\n");
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        text_printf(&text, "input %s : [N] f32\n", inputs[i]);
    for (unsigned i = 0; i < count; i++)
        text_printf(&text, "output y%u = %s\n", i, functions[i].call);
    text_put(&text, "}\n");
    DeviceModel *model = device_model_open("accuracy", text.data, NULL);
    double largest[sizeof functions / sizeof *functions] = {0};
    int64_t points = POINTS;
    unsigned wrong = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        const Tensor *out = device_model_run(model, &points, seed);
        for (unsigned i = 0; i < count; i++)
            for (int64_t k = 0; k < points; k++) {
                const char *call = functions[i].call;
                double x = operand(call, 0, seed, k), y = operand(call, 1, seed, k), ulps;
                if (!judge(&functions[i], x, y, out[i].data[k], &ulps) && wrong++ < 20)
                    print_error("%s at %a, %a: %a, not %a\n", call, x, y, out[i].data[k],
                                functions[i].exact(x, y));
                if (isfinite(ulps) && ulps > largest[i]) largest[i] = ulps;
            }
    }
    for (unsigned i = 0; i < count; i++)
        printf("  %-24s largest error %.3g ulp\n", functions[i].call, largest[i]);
    device_model_close(model);
    text_free(&text);
    assert_int_equal(wrong, 0);
}

// The judge itself sees an error just past each bound.
static void bounds_are_bounds(void **state) {
    (void)state;
    double ulps;
    double e = number_cast(DT_F32, exp(1)), ulp = ulp_of(DT_F32, e);
    assert_true(judge(&functions[0], 1, 0, e + 5 * ulp, &ulps));
    assert_false(judge(&functions[0], 1, 0, e + 6 * ulp, &ulps));
    assert_true(judge(&functions[4], 0.5, 0, tanh(0.5) + 0x1p-21, &ulps));
    assert_false(judge(&functions[4], 0.5, 0, tanh(0.5) + 0x1.1p-20, &ulps));
    assert_false(judge(&functions[15], 1, 2, 3 + 0x1p-22, &ulps));
    assert_false(judge(&functions[2], -1, 0, 0, &ulps));
    assert_true(judge(&functions[2], 0x1p-140, 0, -INFINITY, &ulps));
    assert_false(judge(&functions[2], 0x1p-140, 0, -88.029690, &ulps));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_keep_their_bounds),
        cmocka_unit_test(bounds_are_bounds),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_check_report();
    return failed;
}
