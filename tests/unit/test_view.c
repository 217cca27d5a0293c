#include "ir/view.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Fixture {
    Arena *arena;
    DimTable *dims;
    Dim n; // 7 in evaluations
} Fixture;

static const int64_t symbols[] = {7};

static int set_up(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->arena = arena_create();
    f->dims = dim_table_create(f->arena);
    f->n = dim_symbol(f->dims, "N", 1, 64);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    Fixture *f = *state;
    arena_destroy(f->arena);
    free(f);
    return 0;
}

#define D        f->dims
#define K(value) dim_const(D, value)
#define SHAPE(...)                                                                                 \
    (sizeof((Dim[]){__VA_ARGS__}) / sizeof(Dim)), (Dim[]) {                                        \
        __VA_ARGS__                                                                                \
    }
#define AT(view, ...) view_offset(D, &(view), symbols, (int64_t[]){__VA_ARGS__})

static void check_print(Fixture *f, const View *view, const char *expected) {
    Text text = {0};
    view_print(D, view, &text);
    assert_string_equal(text.data, expected);
    text_free(&text);
}

static void identity_and_permute(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(f->n, K(3), K(1), K(4))), turned;
    assert_true(view_is_identity(D, &view));
    assert_int_equal(AT(view, 2, 1, 0, 3), 2 * 12 + 4 + 3);
    check_print(f, &view, "[N, 3, 1, 4] (N:12) (3:4) () (4:1)");
    assert_true(view_permute(D, &view, (uint8_t[]){3, 0, 2, 1}, &turned));
    check_print(f, &turned, "[4, N, 1, 3] (4:1) (N:12) () (3:4)");
    assert_int_equal(AT(turned, 3, 2, 0, 1), 2 * 12 + 4 + 3);
    assert_false(view_is_contiguous(D, &turned));
    assert_int_equal(view_axis_stride(&turned, 3), K(4));
    assert_int_equal(view_axis_stride(&turned, 2), DIM_NONE);
}

static void reshape_merges_and_splits_digits(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(f->n, K(6), K(4))), flat, split, turned;
    assert_true(view_reshape(D, &view, SHAPE(dim_mul(D, f->n, K(24))), &flat));
    check_print(f, &flat, "[N * 24] (N * 24:1)");
    assert_true(view_reshape(D, &flat, SHAPE(K(2), f->n, K(12)), &split));
    check_print(f, &split, "[2, N, 12] (2:N * 12) (N:12) (12:1)");
    assert_true(view_permute(D, &view, (uint8_t[]){0, 2, 1}, &turned));
    assert_true(view_reshape(D, &turned, SHAPE(f->n, K(24)), &flat));
    check_print(f, &flat, "[N, 24] (N:24) (4:1, 6:4)");
    assert_int_equal(AT(flat, 1, 7), 24 + 1 + 4);
    assert_true(view_reshape(D, &flat, SHAPE(f->n, K(4), K(2), K(3)), &split));
    check_print(f, &split, "[N, 4, 2, 3] (N:24) (4:1) (2:12) (3:4)");
    assert_true(view_reshape(D, &split, SHAPE(f->n, K(4), K(6)), &turned));
    check_print(f, &turned, "[N, 4, 6] (N:24) (4:1) (6:4)");
}

static void what_does_not_divide_gets_a_level(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(K(4), K(6))), turned, odd, back;
    assert_true(view_permute(D, &view, (uint8_t[]){1, 0}, &turned));
    assert_true(view_reshape(D, &turned, SHAPE(K(3), K(8)), &odd)); // splits 6 as 3 * 2
    assert_null(odd.inner);
    assert_true(view_reshape(D, &turned, SHAPE(K(8), K(3)), &odd)); // 4 and 3 do not divide
    check_print(f, &odd, "[8, 3] (8:3) (3:1) of [6, 4] (6:1) (4:6)");
    assert_int_equal(AT(odd, 3, 2), 2 + 3 * 6); // element 11 of [6, 4] is (2, 3)
    assert_true(view_reshape(D, &odd, SHAPE(K(6), K(4)), &back));
    check_print(f, &back, "[6, 4] (6:1) (4:6)");
    assert_false(view_is_vectorizable(D, &odd, 2));
}

static void slices_shift_and_step(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(f->n, K(10))), cut, flipped;
    assert_true(view_slice(D, &view, 1, K(1), 3, K(3), &cut));
    check_print(f, &cut, "[N, 3] (N:10) (3:3) + 1");
    assert_true(view_slice(D, &view, 0, dim_sub(D, f->n, K(1)), -1, f->n, &flipped));
    check_print(f, &flipped, "[N, 10] (N:-10) (10:1) + (N * 10 - 10)");
    assert_int_equal(AT(flipped, 0, 4), 64);
    Dim first, last;
    assert_true(view_hull(D, &flipped, &first, &last));
    assert_int_equal(first, K(0));
    assert_int_equal(last, dim_sub(D, dim_mul(D, f->n, K(10)), K(1)));
}

static void slices_of_several_digits(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(K(4), K(6))), turned, flat, cut;
    assert_true(view_permute(D, &view, (uint8_t[]){1, 0}, &turned));
    assert_true(view_reshape(D, &turned, SHAPE(K(24)), &flat)); // (6:1, 4:6)
    assert_true(view_slice(D, &flat, 0, K(8), 1, K(12), &cut));
    check_print(f, &cut, "[12] (3:1, 4:6) + 2");
    assert_true(view_slice(D, &flat, 0, K(9), 1, K(2), &cut));
    check_print(f, &cut, "[2] (2:6) + 8");
    assert_true(view_slice(D, &flat, 0, K(1), 2, K(12), &cut));
    check_print(f, &cut, "[12] (6:1, 2:12) + 6");
    assert_true(view_slice(D, &flat, 0, K(3), 4, K(5), &cut));
    check_print(f, &cut, "[5] (5:1) + 18");
    assert_true(view_slice(D, &flat, 0, K(23), -1, K(24), &cut));
    check_print(f, &cut, "[24] (6:-1, 4:-6) + 23");
    assert_true(view_slice(D, &flat, 0, K(3), 1, K(5), &cut));
    check_print(f, &cut, "[5] (5:1) + 3 of [24] (6:1, 4:6)");
    assert_true(view_slice(D, &flat, 0, K(3), 1, K(0), &cut));
    check_print(f, &cut, "[0] (0:0)");
}

static void broadcast_stands_still(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(K(3), K(1))), wide, row;
    assert_true(view_broadcast(D, &view, SHAPE(f->n, K(3), K(5)), &wide));
    check_print(f, &wide, "[N, 3, 5] (N:0) (3:1) (5:0)");
    assert_true(view_expand(D, &view, 0, &row));
    assert_true(view_squeeze(D, &row, 2, &row));
    check_print(f, &row, "[1, 3] () (3:1)");
    assert_true(view_is_identity(D, &row));
}

static void pads_are_guards(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(f->n, K(4))), padded, part, flat, other;
    assert_true(view_pad(D, &view, 1, K(2), K(1), 0.5, &padded));
    check_print(f, &padded, "[N, 7] (N:4) (7:1) - 2 if 0 <= d1 - 2 < 4 else 0.5");
    double pad = 0;
    assert_int_equal(view_locate(D, &padded, symbols, (int64_t[]){1, 1}, &pad), -1);
    assert_true(pad == 0.5);
    assert_int_equal(AT(padded, 1, 2), 4);
    assert_true(view_slice(D, &padded, 1, K(2), 1, K(4), &part)); // only the inside is left
    assert_true(view_is_identity(D, &part));
    Dim first, last;
    assert_true(view_hull(D, &padded, &first, &last));
    assert_int_equal(first, K(0));
    assert_int_equal(last, dim_sub(D, dim_mul(D, f->n, K(4)), K(1)));
    assert_true(view_reshape(D, &padded, SHAPE(dim_mul(D, f->n, K(7))), &flat));
    check_print(f, &flat, "[N * 7] (N:4, 7:1) - 2 if 0 <= d1 - 2 < 4 else 0.5");
    assert_true(view_pad(D, &padded, 0, K(1), K(0), 0.5, &other));
    assert_int_equal(other.guards, 2);
    assert_null(other.inner);
    assert_true(view_pad(D, &padded, 0, K(1), K(0), 0.25, &other)); // another value
    assert_non_null(other.inner);
    assert_int_equal(view_locate(D, &other, symbols, (int64_t[]){0, 3}, &pad), -1);
    assert_true(pad == 0.25);
    assert_int_equal(view_locate(D, &other, symbols, (int64_t[]){1, 6}, &pad), -1);
    assert_true(pad == 0.5);
}

static void guards_follow_split_digits(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(K(5))), padded, split, back;
    assert_true(view_pad(D, &view, 0, K(1), K(2), 0, &padded));
    assert_true(view_reshape(D, &padded, SHAPE(K(2), K(4)), &split));
    check_print(f, &split, "[2, 4] (2:4) (4:1) - 1 if 0 <= d0 * 4 + d1 - 1 < 5 else 0.0");
    assert_true(view_reshape(D, &split, SHAPE(K(8)), &back));
    check_print(f, &back, "[8] (8:1) - 1 if 0 <= d0 - 1 < 5 else 0.0");
}

static void windows(void **state) {
    Fixture *f = *state;
    // A convolution's rows: kernel 3, stride 2, padding 1 over 8.
    View view = view_identity(D, SHAPE(f->n, K(8))), window, plain;
    assert_true(view_unfold(D, &view, 1, K(3), K(4), 2, 1, K(1), 0, &window));
    check_print(f, &window,
                "[N, 3, 4] (N:8) (3:1) (4:2) - 1 "
                "if 0 <= d1 + d2 * 2 - 1 < 8 else 0.0");
    for (int64_t k = 0; k < 3; k++)
        for (int64_t o = 0; o < 4; o++) {
            int64_t at = o * 2 + k - 1;
            assert_int_equal(AT(window, 2, k, o), at < 0 || at >= 8 ? -1 : 16 + at);
        }
    assert_true(view_unfold(D, &view, 1, K(3), K(6), 1, 1, K(0), 0, &plain));
    check_print(f, &plain, "[N, 3, 6] (N:8) (3:1) (6:1)"); // never outside
    Dim first, last;
    assert_true(view_hull(D, &window, &first, &last));
    assert_int_equal(first, K(0));
    assert_int_equal(last, dim_sub(D, dim_mul(D, f->n, K(8)), K(1)));
}

// A convolution of one image, where N is known to be 1 only for a while: rows of pixels and depths
// of taps and channels stay apart.
static void windows_of_one(void **state) {
    Fixture *f = *state;
    Dim rows = dim_mul(D, f->n, K(16)), one = K(1);
    View image = view_identity(D, SHAPE(f->n, K(4), K(4), K(8))), high, wide, turned, matrix;
    assert_true(view_unfold(D, &image, 1, K(3), K(4), 1, 1, one, 0, &high));
    assert_true(view_unfold(D, &high, 3, K(3), K(4), 1, 1, one, 0, &wide));
    assert_true(view_permute(D, &wide, (uint8_t[]){0, 2, 4, 1, 3, 5}, &turned));
    DimScope *scope = dim_scope_begin(D);
    dim_assume(D, f->n, DIM_LE, one);
    assert_true(view_reshape(D, &turned, SHAPE(rows, K(72)), &matrix));
    assert_null(matrix.inner);
    assert_true(view_is_vectorizable(D, &matrix, 8));
    int64_t only[] = {1};
    for (int64_t row = 0; row < 16; row++)
        for (int64_t depth = 0; depth < 72; depth++) {
            int64_t y = row / 4 + depth / 24 - 1, x = row % 4 + depth / 8 % 3 - 1;
            int64_t at = y < 0 || y >= 4 || x < 0 || x >= 4 ? -1 : (y * 4 + x) * 8 + depth % 8;
            assert_int_equal(view_offset(D, &matrix, only, (int64_t[]){row, depth}), at);
        }
    dim_scope_end(D, scope);
}

static void vectors(void **state) {
    Fixture *f = *state;
    View view = view_identity(D, SHAPE(f->n, K(16))), cut, padded;
    assert_true(view_is_vectorizable(D, &view, 4));
    assert_false(view_is_vectorizable(D, &view, 32));
    assert_true(view_slice(D, &view, 1, K(4), 1, K(8), &cut));
    assert_true(view_is_vectorizable(D, &cut, 4));
    assert_false(view_is_vectorizable(D, &cut, 8));
    assert_true(view_slice(D, &view, 1, K(2), 1, K(8), &cut));
    assert_false(view_is_vectorizable(D, &cut, 4));
    assert_true(view_pad(D, &view, 1, K(4), K(4), 0, &padded));
    assert_true(view_is_vectorizable(D, &padded, 4));
    assert_false(view_is_vectorizable(D, &padded, 8));
    assert_true(view_permute(D, &view, (uint8_t[]){1, 0}, &cut));
    assert_false(view_is_vectorizable(D, &cut, 2));
    View any = view_identity(D, SHAPE(f->n));
    assert_false(view_is_vectorizable(D, &any, 2));
    dim_assume(D, dim_floor_mod(D, f->n, K(4)), DIM_EQ, K(0));
    assert_true(view_is_vectorizable(D, &any, 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(identity_and_permute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reshape_merges_and_splits_digits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_divide_gets_a_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slices_shift_and_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slices_of_several_digits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broadcast_stands_still, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pads_are_guards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(guards_follow_split_digits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_of_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(vectors, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
