// What `adept bench` makes its verdicts with: the comparer, the bounds of the references, the
// random tensors.
#include "frontend/bench.h"

#include "ir/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void comparer_counts_in_bounds(void **state) {
    (void)state;
    BenchError error = {0};
    bench_error_add(&error, 1.0, 1.0, 0);
    assert_true(bench_error_within(&error));
    bench_error_add(&error, 3.5, 3.0, 0.5);
    assert_true(bench_error_within(&error));
    assert_float_equal(error.worst, 1, 0);
    assert_float_equal(bench_error_relative(&error), sqrt(0.25 / 10), 1e-12);
    bench_error_add(&error, 2.0, 2.6, 0.5);
    assert_false(bench_error_within(&error));
    assert_float_equal(error.got, 2.0, 0);
    assert_float_equal(error.wanted, 2.6, 0);
}

static void comparer_refuses_what_is_no_number(void **state) {
    (void)state;
    BenchError nan = {0}, exact = {0}, same = {0};
    bench_error_add(&nan, NAN, 1, 100);
    assert_false(bench_error_within(&nan));
    bench_error_add(&exact, 7, 8, 0); // integers have no slack
    assert_false(bench_error_within(&exact));
    bench_error_add(&same, INFINITY, INFINITY, 0);
    bench_error_add(&same, NAN, NAN, 0);
    assert_true(bench_error_within(&same));
}

static void rounding_is_half_a_last_place(void **state) {
    (void)state;
    assert_float_equal(bench_rounding(DT_F32, 1.5), 0x1p-24, 0);
    assert_float_equal(bench_rounding(DT_F32, -3), 0x1p-23, 0);
    assert_float_equal(bench_rounding(DT_F16, 1), 0x1p-11, 0);
    assert_float_equal(bench_rounding(DT_F16, 1e-7), 0x1p-25, 0); // subnormal
    assert_float_equal(bench_rounding(DT_BF16, 256), 1, 0);
    assert_float_equal(bench_rounding(DT_I32, 256), 0, 0);
}

static void tensors_are_cut_from_rings(void **state) {
    (void)state;
    RandomPool pool = {0};
    RandomRing ring;
    random_ring_open(&pool, DT_F16, 2, 1, 100000, &ring);
    uint16_t bytes[3];
    uint64_t start = ring.length - 2; // runs over the end
    random_ring_read(&ring, start, 2, bytes, sizeof bytes);
    for (uint64_t i = 0; i < 3; i++)
        assert_float_equal(number_load(DT_F16, &bytes[i]), random_ring_value(&ring, start, 1 + i),
                           0);
    double sum = 0, square = 0;
    for (uint32_t i = 0; i < ring.length; i++) {
        double value = random_ring_value(&ring, 0, i);
        sum += value, square += value * value;
    }
    double mean = sum / ring.length;
    assert_float_equal(mean, 1, 0.01);
    assert_float_equal(square / ring.length - mean * mean, 4, 0.02);
    random_ring_close(&ring);
    random_pool_close(&pool);
}

// The bound of a product must be wide enough for a sum in f32 in any usual order, and far too
// narrow for one product too few.
static void a_product_left_out_is_seen(void **state) {
    (void)state;
    Arena *arena = arena_create();
    BenchOptions options = {0};
    RandomPool pool = {0};
    BenchCase made;
    Text error = {0};
    int64_t shape[] = {40, 24, 512};
    assert_true(bench_gemm(arena, &options, DT_F32, shape, &made, &error));
    bench_rings_open(&pool, &made);
    for (int64_t m = 0; m < 40; m += 13) {
        for (int64_t n = 0; n < 24; n++) {
            int64_t index[] = {m, n};
            double wanted, bound, least = INFINITY;
            float sum = 0;
            made.reference(&made, 5, index, &wanted, &bound);
            for (uint64_t k = 0; k < 512; k++) {
                double product = bench_value(&made, 5, 0, (uint64_t)m * 512 + k) *
                                 bench_value(&made, 5, 1, (uint64_t)n * 512 + k);
                sum += (float)product;
                if (k == 300) least = fabs(product);
            }
            BenchError right = {0}, wrong = {0};
            bench_error_add(&right, (double)sum, wanted, bound);
            assert_true(bench_error_within(&right));
            bench_error_add(&wrong, (double)sum + least + 0.01, wanted, bound);
            assert_false(bench_error_within(&wrong));
        }
    }
    bench_rings_close(&made);
    random_pool_close(&pool);
    text_free(&error);
    arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparer_counts_in_bounds),
        cmocka_unit_test(comparer_refuses_what_is_no_number),
        cmocka_unit_test(rounding_is_half_a_last_place),
        cmocka_unit_test(tensors_are_cut_from_rings),
        cmocka_unit_test(a_product_left_out_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
