// Element types against IEEE 754 facts, the OCP 8-bit formats, and the compiler's own float.
#include "ir/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint32_t bits(DType dtype, double value) {
    uint32_t word = 0;
    number_store(dtype, value, &word);
    return word;
}

static void test_f16(void **state) {
    (void)state;
    assert_int_equal(bits(DT_F16, 1.0), 0x3c00);
    assert_int_equal(bits(DT_F16, -2.5), 0xc100);
    assert_int_equal(bits(DT_F16, 65504.0), 0x7bff);
    assert_int_equal(bits(DT_F16, 65519.99), 0x7bff);
    assert_int_equal(bits(DT_F16, 65520.0), 0x7c00); // halfway goes to even: infinity
    assert_int_equal(bits(DT_F16, ldexp(1, -24)), 0x0001);
    assert_int_equal(bits(DT_F16, ldexp(1, -25)), 0x0000); // halfway to zero, even
    assert_int_equal(bits(DT_F16, ldexp(1.5, -25)), 0x0001);
    assert_int_equal(bits(DT_F16, 2049.0), 0x6800);
    assert_int_equal(bits(DT_F16, 2051.0), 0x6802);
    // One rounding: through f32 this would round up twice.
    assert_int_equal(bits(DT_F16, 1 + ldexp(1, -11) + ldexp(1, -40)), 0x3c01);
    assert_int_equal(bits(DT_F16, -0.0), 0x8000);
    assert_true(isnan(number_load(DT_F16, &(uint16_t){0x7e00})));
}

static void test_every_code_survives(void **state) {
    (void)state;
    const DType types[] = {DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2};
    for (int t = 0; t < 4; t++) {
        for (uint32_t code = 0; code < 1u << dtype_bits(types[t]); code++) {
            double value = number_load(types[t], &code);
            if (isnan(value)) continue;
            if (isinf(value) && types[t] == DT_F8E5M2) continue; // a store of it saturates
            assert_int_equal(bits(types[t], value), code);
        }
    }
}

static void test_f32_is_the_hosts(void **state) {
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 100000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        double value;
        memcpy(&value, &random, 8);
        if (isnan(value)) continue;
        float expected = (float)value;
        uint32_t word;
        memcpy(&word, &expected, 4);
        assert_int_equal(bits(DT_F32, value), word);
        assert_true(number_load(DT_F32, &word) == (double)expected);
    }
}

static void test_f8(void **state) {
    (void)state;
    assert_true(number_cast(DT_F8E4M3, 1000) == 448);
    assert_true(number_cast(DT_F8E4M3, -INFINITY) == -448);
    assert_true(number_cast(DT_F8E5M2, 60000) == 57344);
    assert_true(number_cast(DT_F8E5M2, INFINITY) == 57344);
    assert_int_equal(bits(DT_F8E4M3, 448), 0x7e);
    assert_int_equal(bits(DT_F8E4M3, NAN) & 0x7f, 0x7f);
    assert_int_equal(bits(DT_F8E4M3, ldexp(1, -9)), 0x01);
    assert_true(number_cast(DT_F8E4M3, 17) == 16);
    assert_true(number_cast(DT_F8E4M3, 19) == 20);
}

static void test_integers(void **state) {
    (void)state;
    assert_true(number_cast(DT_I32, 2.9) == 2);
    assert_true(number_cast(DT_I32, -2.9) == -2);
    assert_true(number_cast(DT_I32, NAN) == 0);
    assert_true(number_cast(DT_I32, 1e20) == 2147483647.0);
    assert_true(number_cast(DT_U8, -3) == 0);
    assert_true(number_cast(DT_I8, 200) == 127);
    assert_true(number_wrap(DT_I8, 200) == -56);
    assert_true(number_wrap(DT_I32, 4294967297) == 1);
    assert_true(number_wrap(DT_U32, -1) == 4294967295.0);
    assert_true(number_cast(DT_BOOL, NAN) == 1);
    assert_true(number_load(DT_I8, &(uint8_t){0xff}) == -1);
    assert_true(number_load(DT_BF16, &(uint16_t){0x4049}) == 3.140625);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f16),
                                       cmocka_unit_test(test_every_code_survives),
                                       cmocka_unit_test(test_f32_is_the_hosts),
                                       cmocka_unit_test(test_f8), cmocka_unit_test(test_integers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
