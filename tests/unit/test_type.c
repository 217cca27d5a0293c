#include "ir/type.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void dtypes_by_name(void **state) {
    (void)state;
    DType dtype = DT_NONE;
    assert_true(dtype_from_name("bf16", &dtype));
    assert_int_equal(dtype, DT_BF16);
    assert_string_equal(dtype_name(DT_F8E4M3), "f8e4m3");
    assert_false(dtype_from_name("f33", &dtype));
    assert_false(dtype_from_name("none", &dtype));
    for (unsigned i = DT_NONE + 1; i < DT_COUNT; i++) {
        assert_true(dtype_from_name(dtype_name((DType)i), &dtype));
        assert_int_equal(dtype, i);
    }
}

static void dtypes_by_kind(void **state) {
    (void)state;
    assert_int_equal(dtype_bytes(DT_F32), 4);
    assert_int_equal(dtype_bytes(DT_BOOL), 1);
    assert_int_equal(dtype_bits(DT_U4), 4);
    assert_int_equal(dtype_bytes(DT_U4), 0);
    assert_int_equal(dtype_class(DT_I64), DC_LATER);
    assert_true(dtype_is_float(DT_F8E5M2) && !dtype_is_int(DT_F8E5M2));
    assert_true(dtype_is_int(DT_U8) && !dtype_is_signed(DT_U8));
    assert_true(dtype_is_signed(DT_I8) && dtype_is_signed(DT_F16));
    assert_false(dtype_is_float(DT_BOOL) || dtype_is_int(DT_BOOL) || dtype_is_signed(DT_BOOL));
}

static void types_of_symbolic_shapes(void **state) {
    (void)state;
    Arena *arena = arena_create();
    DimTable *dims = dim_table_create(arena);
    Dim n = dim_symbol(dims, "N", 1, 64);
    Type type = {DT_F16, 2, {n, dim_const(dims, 3)}}, other = type, scalar = {DT_F32, 0, {0}};
    assert_true(type_equal(&type, &other));
    other.size[1] = n;
    assert_false(type_equal(&type, &other));
    assert_false(type_equal(&type, &scalar));
    assert_int_equal(type_elements(dims, &type), dim_mul(dims, n, dim_const(dims, 3)));
    assert_int_equal(type_bytes(dims, &type), dim_mul(dims, n, dim_const(dims, 6)));
    assert_true(dim_is(dims, type_bytes(dims, &scalar), 4));
    type.dtype = DT_I4;
    assert_int_equal(type_bytes(dims, &type),
                     dim_ceil_div(dims, dim_mul(dims, n, dim_const(dims, 12)), dim_const(dims, 8)));
    type.size[1] = dim_const(dims, INT64_C(1) << 60);
    assert_int_equal(type_elements(dims, &type), DIM_NONE);
    Text text = {0};
    type_print(dims, &other, &text);
    text_put(&text, " ");
    type_print(dims, &scalar, &text);
    assert_string_equal(text.data, "[N, N] f16 f32");
    text_free(&text);
    arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_by_name),
        cmocka_unit_test(dtypes_by_kind),
        cmocka_unit_test(types_of_symbolic_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
