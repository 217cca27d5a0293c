// Our own functions of f32, run by the interpreter, against the C library in f64: the bounds of
// docs/language.md, "Accuracy".
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/kernel_interp.h"
#include "passes/lower_math.h"

enum { POINTS = 1 << 14 };

typedef KVal MathBuild(KBuilder *b, KVal x);

static float results[POINTS];

// results[i] = function(points[i]), four at once.
static void run(MathBuild *build, const float *points) {
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "f", 64);
    KVal x = k_param_buffer(b, "x", DT_F32, K_READ), y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal at = k_iadd(b, k_imul(b, k_workgroup_id_x(b), k_i32(b, 256)),
                     k_imul(b, k_local_id(b), k_i32(b, 4)));
    k_store(b, y, at, DT_F32, 16, build(b, k_load(b, x, at, DT_F32, 4, 16)));
    Kernel *kernel = k_finish(b);
    Diags *diags = diags_create();
    assert_true(kernel_verify(kernel, diags));
    memset(results, 0xff, sizeof results);
    float *copy = memory_or_exit(aligned_alloc(16, sizeof results));
    float *out = memory_or_exit(aligned_alloc(16, sizeof results));
    memcpy(copy, points, sizeof results);
    KArg args[2] = {{.buffer = {copy, sizeof results, NULL}},
                    {.buffer = {out, sizeof results, NULL}}};
    KLaunch launch = {
        .kernel = kernel, .args = args, .groups = {POINTS / 256, 1, 1}, .subgroup_size = 8};
    KMachine *machine = kmachine_create(&launch);
    kmachine_run(machine);
    assert_int_equal(kmachine_fault_count(machine), 0);
    memcpy(results, out, sizeof results);
    kmachine_destroy(machine);
    free(copy), free(out);
    diags_destroy(diags);
    arena_destroy(arena);
}

// Both signs, evenly up to `high`, and a quarter of the points spread over all magnitudes below it.
static float *spread(double high) {
    static float points[POINTS];
    for (int i = 0; i < POINTS; i++) {
        double at = (i / 2 + 0.37) / (POINTS / 2),
               x = i % 8 < 6 ? at * high : high * exp2(-60 * at);
        points[i] = (float)(i & 1 ? -x : x);
    }
    return points;
}

static void check_absolute(MathBuild *build, double (*reference)(double), double high,
                           double bound) {
    const float *points = spread(high);
    run(build, points);
    for (int i = 0; i < POINTS; i++) {
        double error = fabs(results[i] - reference(points[i]));
        if (!(error <= bound))
            fail_msg("f(%.9g) is %.9g, expected %.9g: off by %g", points[i], results[i],
                     reference(points[i]), error);
    }
}

static void check_relative(MathBuild *build, double (*reference)(double), double high,
                           double bound) {
    const float *points = spread(high);
    run(build, points);
    for (int i = 0; i < POINTS; i++) {
        double want = reference(points[i]);
        if (fabs(want) < 1e-36 || fabs(want) > 1e38) continue;
        if (!(fabs(results[i] - want) <= bound * fabs(want)))
            fail_msg("f(%.9g) is %.9g, expected %.9g", points[i], results[i], want);
    }
}

static void sine(void **state) {
    (void)state;
    check_absolute(math_sin, sin, 10, 0x1p-20);
    check_absolute(math_sin, sin, 1000, 0x1p-20);
    check_absolute(math_sin, sin, 0x1p17, 0x1p-20);
}

static void cosine(void **state) {
    (void)state;
    check_absolute(math_cos, cos, 10, 0x1p-20);
    check_absolute(math_cos, cos, 1000, 0x1p-20);
    check_absolute(math_cos, cos, 0x1p17, 0x1p-20);
}

static void hyperbolic_tangent(void **state) {
    (void)state;
    check_absolute(math_tanh, tanh, 12, 0x1p-20);
    check_absolute(math_tanh, tanh, 3e38, 0x1p-20);
    check_relative(math_tanh, tanh, 0.7, 4e-7);
}

static void error_function(void **state) {
    (void)state;
    check_absolute(math_erf, erf, 6, 0x1p-20);
    check_absolute(math_erf, erf, 3e38, 0x1p-20);
    check_relative(math_erf, erf, 1, 6e-7);
}

static double tail_of(double x) {
    return fabs(x) * 0.5 * erfc(fabs(x) * 0.70710678118654752440);
}

static void normal_tail(void **state) {
    (void)state;
    check_absolute(math_tail, tail_of, 8, 0x1p-23);
    check_absolute(math_tail, tail_of, 3e38, 0x1p-23);
    check_relative(math_tail, tail_of, 0.5, 6e-7);
    check_relative(math_tail, tail_of, 6, 4e-6);
    check_relative(math_tail_f16, tail_of, 5.9, 0x1p-16);
    check_absolute(math_tail_f16, tail_of, 3e38, 0x1p-18);
}

// Past where an f16 holds it, half of the smallest f16 is not reached.
static KVal far_tail_f16(KBuilder *b, KVal x) {
    return math_tail_f16(b, k_fadd(b, k_fabs(b, x), k_f32(b, 5.8f)));
}
static double nothing(double x) {
    return (void)x, 0;
}

static void far_tail(void **state) {
    (void)state;
    check_absolute(far_tail_f16, nothing, 3e38, 0x1p-25);
    check_absolute(far_tail_f16, nothing, 1, 0x1p-25);
}

static KVal cube(KBuilder *b, KVal x) {
    return math_pow(b, x, k_f32(b, 3));
}
static double cube_of(double x) {
    return x * x * x;
}
static KVal inverse_square(KBuilder *b, KVal x) {
    return math_pow(b, x, k_f32(b, -2));
}
static double inverse_square_of(double x) {
    return 1 / (x * x);
}
static KVal root(KBuilder *b, KVal x) {
    return math_pow(b, k_fabs(b, x), k_f32(b, 0.3f));
}
static double root_of(double x) {
    return pow(fabs(x), (double)0.3f);
}
static KVal of_itself(KBuilder *b, KVal x) {
    return math_pow(b, x, k_fabs(b, x));
}

static void powers(void **state) {
    (void)state;
    check_relative(cube, cube_of, 100, 3e-7);
    check_relative(inverse_square, inverse_square_of, 50, 4e-7);
    check_relative(root, root_of, 1000, 4e-6);
    float points[POINTS] = {0, -1.5f, 1, 2, -2, 0.5f};
    run(of_itself, points);
    assert_true(results[0] == 1);
    assert_true(isnan(results[1]) && isnan(results[4]));
    assert_true(results[2] == 1);
    assert_true(fabsf(results[3] - 4) < 4e-6f && fabsf(results[5] - 0.70710678f) < 1e-6f);
}

static void special_values(void **state) {
    (void)state;
    static float points[POINTS] = {NAN, INFINITY, -INFINITY, 0, -0.0f};
    static MathBuild *const functions[] = {math_tanh, math_erf, math_sin, math_cos};
    for (unsigned f = 0; f < 4; f++) {
        run(functions[f], points);
        assert_true(isnan(results[0]));
        if (f < 2) {
            assert_true(results[1] == 1 && results[2] == -1);
        } else {
            assert_true(isnan(results[1]) && isnan(results[2]));
        }
        assert_true(results[3] == (f == 3) && results[4] == (f == 3));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine),
        cmocka_unit_test(cosine),
        cmocka_unit_test(hyperbolic_tangent),
        cmocka_unit_test(error_function),
        cmocka_unit_test(normal_tail),
        cmocka_unit_test(far_tail),
        cmocka_unit_test(powers),
        cmocka_unit_test(special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
