#include "ir/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    Arena *arena = arena_create();
    static const size_t sizes[] = {0, 1, 16, 17, 70000, 3, 65536, 65537, 8};
    char *blocks[9];
    for (unsigned i = 0; i < 9; i++) {
        blocks[i] = arena_alloc(arena, sizes[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)i + 1, sizes[i]);
    }
    for (unsigned i = 0; i < 9; i++)
        for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(blocks[i][j], i + 1);
    assert_true(arena_used(arena) >= 70000 + 65536 + 65537);
    int *grown = arena_grow(arena, (int[]){1, 2}, 2 * sizeof(int), 4 * sizeof(int));
    assert_memory_equal(grown, ((int[]){1, 2, 0, 0}), 4 * sizeof(int));
    assert_string_equal(arena_strndup(arena, "abcdef", 3), "abc");
    assert_string_equal(arena_printf(arena, "%s-%d", "x", 7), "x-7");
    arena_destroy(arena);
    arena_destroy(NULL);
}

static void vectors_grow(void **state) {
    (void)state;
    Arena *arena = arena_create();
    VEC(int) list = {0};
    for (int i = 0; i < 1000; i++) vec_push(arena, &list, i * i);
    assert_int_equal(list.len, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(list.at[i], i * i);
    arena_destroy(arena);
}

static void check_double(double value, const char *expected) {
    Text text = {0};
    text_double(&text, value);
    assert_string_equal(text.data, expected);
    if (!isnan(value)) assert_true(strtod(text.data, NULL) == value);
    text_free(&text);
}

static void doubles_print_shortest(void **state) {
    (void)state;
    check_double(0.1, "0.1");
    check_double(1e-5, "1e-5");
    check_double(3, "3.0");
    check_double(-0.0, "-0.0");
    check_double(1048576, "1048576.0");
    check_double(1e20, "1e20");
    check_double(1.0 / 3, "0.3333333333333333");
    check_double(5e-324, "5e-324");
    check_double(1.7976931348623157e308, "1.7976931348623157e308");
    check_double(INFINITY, "inf");
    check_double(-INFINITY, "-inf");
    check_double(NAN, "nan");
}

static void text_grows_and_quotes(void **state) {
    (void)state;
    Text text = {0};
    for (int i = 0; i < 500; i++) text_printf(&text, "%d,", i % 10);
    assert_int_equal(text.len, 1000);
    assert_int_equal(strlen(text.data), 1000);
    text_free(&text);
    text_quoted(&text, "a\"b\\c\n\t\x01 {i} \xc3\xa9");
    assert_string_equal(text.data, "\"a\\\"b\\\\c\\n\\t\\u{1} {i} \xc3\xa9\"");
    text_free(&text);
}

static void division_floors(void **state) {
    (void)state;
    for (int64_t a = -20; a <= 20; a++)
        for (int64_t b = -7; b <= 7; b++) {
            if (b == 0) continue;
            assert_int_equal(floor_div(a, b), (int64_t)floor((double)a / (double)b));
            assert_int_equal(floor_div(a, b) * b + floor_mod(a, b), a);
        }
    assert_int_equal(floor_div(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(floor_mod(INT64_MIN, -1), 0);
    assert_int_equal(gcd64(-12, 18), 6);
    assert_int_equal(gcd64(0, 0), 0);
    assert_int_equal(gcd64(0, -5), 5);
    int64_t out;
    assert_false(checked_mul(INT64_MAX, 2, &out));
    assert_false(checked_add(INT64_MAX, 1, &out));
    assert_true(checked_mul(-3, 4, &out));
    assert_int_equal(out, -12);
}

static void nearest_names(void **state) {
    (void)state;
    static const char *const names[] = {"relu", "gelu", "matmul", "softmax", "sum", NULL};
    assert_int_equal(edit_distance("kitten", "sitting", 5), 3);
    assert_int_equal(edit_distance("kitten", "sitting", 2), 3);
    assert_int_equal(edit_distance("smu", "sum", 2), 1);
    assert_int_equal(edit_distance("", "ab", 2), 2);
    assert_string_equal(nearest_name("rela", names), "relu");
    assert_string_equal(nearest_name("matmlu", names), "matmul");
    assert_string_equal(nearest_name("sofmaxx", names), "softmax");
    assert_string_equal(nearest_name("smu", names), "sum");
    assert_null(nearest_name("reXX", names)); // two edits are too many for a short word
    assert_null(nearest_name("convolution", names));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(vectors_grow),
        cmocka_unit_test(doubles_print_shortest),
        cmocka_unit_test(text_grows_and_quotes),
        cmocka_unit_test(division_floors),
        cmocka_unit_test(nearest_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
