// The kernel builder: folding, merging, regions, dropping; and that everything it makes verifies
// and prints to text that parses back.
#include "ir/kernel_build.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Fixture {
    Arena *arena;
    KBuilder *b;
    KVal x, y, n, i; // buffers read and written, a size in 1..=4096, the invocation's number
} Fixture;

static Fixture begin(void) {
    Fixture f = {.arena = arena_create()};
    f.b = k_begin(f.arena, "test", 64);
    f.x = k_param_buffer(f.b, "x", DT_F32, K_READ);
    f.y = k_param_buffer(f.b, "y", DT_F32, K_WRITE);
    f.n = k_param_i32(f.b, "n", 1, 4096, 4);
    f.i = k_local_id(f.b);
    return f;
}

static void put(Fixture *f, KVal value) {
    DType dtype = k_type(f->b, value).kind == KT_F32 ? DT_F32 : DT_I32;
    k_store(f->b, f->y, f->i, dtype, 4, value);
}

// Finishes, verifies, prints, parses, prints again. The caller frees the text.
static Text finish(Fixture *f) {
    Text text = {0}, again = {0}, errors = {0};
    Diags *diags = diags_create();
    Kernel *kernel = k_finish(f->b);
    bool good = kernel_verify(kernel, diags);
    kernel_print(kernel, &text);
    size_t at = 0;
    Kernel *parsed = kernel_parse(f->arena, text.data, text.len, &at, 0, diags);
    diags_render(diags, &errors);
    if (errors.data != NULL) assert_string_equal(errors.data, "");
    assert_true(good);
    assert_non_null(parsed);
    assert_true(kernel_verify(parsed, diags));
    kernel_print(parsed, &again);
    assert_string_equal(text.data, again.data);
    assert_int_equal(parsed->needs, kernel->needs);
    text_free(&again);
    text_free(&errors);
    diags_destroy(diags);
    arena_destroy(f->arena);
    return text;
}

static void expect_body(Fixture *f, const char *body) {
    Text text = finish(f);
    const char *begin_body = strstr(text.data, "{\n");
    assert_non_null(begin_body);
    assert_string_equal(begin_body + 2, body);
    text_free(&text);
}

static void the_example_prints(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    k_set_line(b, 3);
    KVal i = k_iadd(b, k_imul(b, k_workgroup_id_x(b), k_i32(b, 64)), f.i);
    k_if_begin(b, k_slt(b, i, f.n));
    k_store(b, f.y, i, DT_F32, 4, k_fmul(b, k_load(b, f.x, i, DT_F32, 1, 4), k_f32(b, 2)));
    k_if_end(b, 0, NULL, NULL);
    Text text = finish(&f);
    assert_string_equal(
        text.data,
        "kernel test(x: read f32, y: write f32, n: i32 in 1..=4096 multiple 4) local(64) "
        "subgroup(0) lines(3) {\n"
        "    %0: i32 = local_id\n"
        "    %1: i32 = workgroup_id_x loc(3)\n"
        "    %2: i32 = imul %1, 64 loc(3)\n"
        "    %3: i32 = iadd %0, %2 loc(3)\n"
        "    %4: bool = slt %3, %n loc(3)\n"
        "    if %4 loc(3) {\n"
        "        %5: f32 = load %x, %3 as f32 align 4 loc(3)\n"
        "        %6: f32 = fmul %5, 2.0 loc(3)\n"
        "        store %y, %3, %6 as f32 align 4 loc(3)\n"
        "    }\n"
        "}\n");
    text_free(&text);
}

static void constants_fold(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    int64_t value;
    assert_true(k_is_const(b, k_iadd(b, k_i32(b, 2), k_i32(b, 3)), &value) && value == 5);
    assert_true(k_is_const(b, k_imul(b, k_i32(b, 65536), k_i32(b, 65536)), &value) && value == 0);
    assert_true(k_is_const(b, k_sdiv(b, k_i32(b, -7), k_i32(b, 2)), &value) && value == -3);
    assert_true(k_is_const(b, k_srem(b, k_i32(b, -7), k_i32(b, 2)), &value) && value == -1);
    assert_true(k_is_const(b, k_udiv(b, k_i32(b, -1), k_i32(b, 2)), &value) && value == INT32_MAX);
    assert_true(k_is_const(b, k_umulhi(b, k_i32(b, -1), k_i32(b, -1)), &value) && value == -2);
    assert_true(k_is_const(b, k_sar(b, k_i32(b, -8), k_i32(b, 1)), &value) && value == -4);
    assert_true(k_is_const(b, k_slt(b, k_i32(b, -1), k_i32(b, 1)), &value) && value == 1);
    assert_true(k_is_const(b, k_ult(b, k_i32(b, -1), k_i32(b, 1)), &value) && value == 0);
    assert_true(k_is_const(b, k_not(b, k_bool(b, true)), &value) && value == 0);
    assert_true(k_is_const(b, k_not(b, k_i32(b, 5)), &value) && value == -6);
    assert_true(k_is_const(b, k_fne(b, k_f32(b, NAN), k_f32(b, NAN)), &value) && value == 1);
    assert_int_equal(k_fmul(b, k_f32(b, 1.5f), k_f32(b, -2)), k_f32(b, -3));
    assert_int_equal(k_round_even(b, k_f32(b, 2.5f)), k_f32(b, 2));
    assert_int_equal(k_f_to_s(b, k_f32(b, -2.75f)), k_i32(b, -2));
    assert_int_equal(k_as_i32(b, k_f32(b, 1)), k_i32(b, 0x3f800000));
    assert_int_equal(k_select(b, k_bool(b, false), k_i32(b, 1), k_i32(b, 2)), k_i32(b, 2));
    // A division by zero is left to be reported; exp is left to the device.
    assert_false(k_is_const(b, k_sdiv(b, k_i32(b, 1), k_i32(b, 0)), NULL));
    assert_false(k_is_const(b, k_exp(b, k_f32(b, 0)), NULL));
    arena_destroy(f.arena);
}

static void identities_apply(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal x = k_load(b, f.x, f.i, DT_F32, 1, 4), v = k_load(b, f.x, f.i, DT_I32, 1, 4);
    assert_int_equal(k_fmul(b, x, k_f32(b, 1)), x);
    assert_int_equal(k_fmul(b, k_f32(b, 1), x), x);
    assert_int_equal(k_fadd(b, x, k_f32(b, 0)), x);
    assert_int_equal(k_fsub(b, x, k_f32(b, 0)), x);
    assert_int_equal(k_fneg(b, k_fneg(b, x)), x);
    assert_int_equal(k_fdiv(b, x, k_f32(b, -8)), k_fmul(b, x, k_f32(b, -0.125f)));
    assert_int_not_equal(k_fdiv(b, x, k_f32(b, 3)), k_fmul(b, x, k_f32(b, 1 / 3.0f)));
    assert_int_not_equal(k_fdiv(b, x, k_f32(b, 0x1p127f)), k_fmul(b, x, k_f32(b, 0x1p-127f)));
    assert_int_equal(k_iadd(b, v, k_i32(b, 0)), v);
    assert_int_equal(k_imul(b, k_i32(b, 1), v), v);
    assert_int_equal(k_imul(b, v, k_i32(b, 0)), k_i32(b, 0));
    assert_int_equal(k_isub(b, v, v), k_i32(b, 0));
    assert_int_equal(k_iadd(b, k_iadd(b, v, k_i32(b, 3)), k_i32(b, 4)), k_iadd(b, v, k_i32(b, 7)));
    assert_int_equal(k_isub(b, v, k_i32(b, 3)), k_iadd(b, v, k_i32(b, -3)));
    assert_int_equal(k_and(b, v, k_i32(b, -1)), v);
    assert_int_equal(k_or(b, v, k_i32(b, 0)), v);
    assert_int_equal(k_xor(b, v, v), k_i32(b, 0));
    assert_int_equal(k_as_f32(b, k_as_i32(b, x)), x);
    assert_int_equal(k_iadd(b, v, f.i), k_iadd(b, f.i, v));
    assert_int_equal(k_load(b, f.x, f.i, DT_F32, 1, 4), x); // nobody writes x
    k_set_strict(b, true);
    assert_int_not_equal(k_fadd(b, x, k_f32(b, 0)), x); // -0 + 0 is 0
    assert_int_equal(k_fadd(b, x, k_f32(b, -0.0f)), x);
    arena_destroy(f.arena);
}

static void ranges_decide(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal v = k_load(b, f.x, f.i, DT_I32, 1, 4), big = k_iadd(b, k_imul(b, f.n, k_i32(b, 8)), f.i);
    assert_int_equal(k_slt(b, f.i, k_i32(b, 64)), k_bool(b, true));
    assert_int_equal(k_slt(b, f.i, k_i32(b, 0)), k_bool(b, false));
    assert_int_equal(k_sle(b, k_i32(b, 1), f.n), k_bool(b, true));
    assert_false(k_is_const(b, k_slt(b, f.i, k_i32(b, 63)), NULL));
    assert_int_equal(k_smin(b, f.i, k_i32(b, 63)), f.i);
    // Unsigned only where the sign is known.
    assert_int_equal(k_sdiv(b, f.n, k_i32(b, 4)), k_shr(b, f.n, k_i32(b, 2)));
    assert_int_equal(k_srem(b, f.i, k_i32(b, 16)), k_and(b, f.i, k_i32(b, 15)));
    assert_int_not_equal(k_sdiv(b, v, k_i32(b, 4)), k_shr(b, v, k_i32(b, 2)));
    assert_int_equal(k_udiv(b, f.i, k_i32(b, 64)), k_i32(b, 0));
    assert_int_equal(k_urem(b, f.i, k_i32(b, 64)), f.i);
    assert_int_equal(k_srem(b, f.n, k_i32(b, 2)), k_i32(b, 0)); // a multiple of 4
    // (a * c) / c and neighbours, here with n * 8 + r.
    KVal r = k_and(b, v, k_i32(b, 7)), sum = k_iadd(b, k_imul(b, f.n, k_i32(b, 8)), r);
    assert_int_equal(k_sdiv(b, k_imul(b, f.n, k_i32(b, 6)), k_i32(b, 6)), f.n);
    assert_int_equal(k_sdiv(b, k_imul(b, f.n, k_i32(b, 6)), k_i32(b, 3)),
                     k_imul(b, f.n, k_i32(b, 2)));
    assert_int_equal(k_sdiv(b, sum, k_i32(b, 8)), f.n);
    assert_int_equal(k_srem(b, sum, k_i32(b, 8)), r);
    assert_int_equal(k_sdiv(b, big, k_i32(b, 8)), k_shr(b, big, k_i32(b, 3)));
    KFact fact = k_fact(b, big);
    assert_true(fact.lo == 8 && fact.hi == 4096 * 8 + 63 && fact.multiple == 1);
    assert_int_equal(k_fact(b, k_imul(b, f.n, k_i32(b, 8))).multiple, 32);
    // What may wrap keeps no bound.
    KVal wraps = k_imul(b, v, k_i32(b, 12));
    assert_int_equal(k_fact(b, wraps).lo, INT32_MIN);
    assert_int_equal(k_fact(b, wraps).multiple, 4);
    assert_int_not_equal(k_sdiv(b, wraps, k_i32(b, 12)), v);
    arena_destroy(f.arena);
}

static void vectors_take_scalars(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal index = k_imul(b, f.i, k_i32(b, 4));
    KVal v = k_load(b, f.x, index, DT_F16, 4, 8);
    KVal lanes[4];
    for (unsigned i = 0; i < 4; i++) lanes[i] = k_extract(b, v, i);
    assert_int_equal(k_vector(b, 4, lanes), v);
    KVal sum = k_fadd(b, v, lanes[1]);
    assert_int_equal(k_type(b, sum).lanes, 4);
    k_store(b, f.y, index, DT_F32, 16, sum);
    expect_body(&f, "    %0: i32 = local_id\n"
                    "    %1: i32 = imul %0, 4\n"
                    "    %2: f32x4 = load %x, %1 as f16 align 8\n"
                    "    %3: f32 = extract %2 #1\n"
                    "    %4: f32x4 = vec4 %3, %3, %3, %3\n"
                    "    %5: f32x4 = fadd %2, %4\n"
                    "    store %y, %1, %5 as f32 align 16\n"
                    "}\n");
}

static void equal_values_merge_where_visible(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal before = k_iadd(b, f.i, f.n), inside, beside;
    k_if_begin(b, k_slt(b, f.i, f.n));
    assert_int_equal(k_iadd(b, f.i, f.n), before);
    inside = k_imul(b, f.i, f.n);
    put(&f, inside);
    k_else(b, 0, NULL);
    beside = k_imul(b, f.i, f.n);
    assert_int_not_equal(inside, beside);
    put(&f, beside);
    k_if_end(b, 0, NULL, NULL);
    assert_int_not_equal(k_imul(b, f.i, f.n), inside);
    assert_int_not_equal(k_imul(b, f.i, f.n), beside);
    assert_int_equal(k_iadd(b, f.i, f.n), before);
    Text text = finish(&f);
    text_free(&text);
}

static void dead_code_goes(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal unused = k_load(b, f.x, f.i, DT_F32, 1, 4), carried[2], results[2];
    k_exp(b, unused);
    // Of two carried values one is read; the loop below has no effect at all.
    KVal init[2] = {k_i32(b, 0), k_i32(b, 1)};
    k_loop_begin(b, k_i32(b, 0), f.n, k_i32(b, 1), K_LOOP_PLAIN, 2, init, carried);
    KVal next[2] = {k_iadd(b, carried[0], f.n), k_imul(b, carried[1], f.n)};
    k_loop_end(b, next, results);
    KVal sum = results[1];
    k_loop_begin(b, k_i32(b, 0), f.n, k_i32(b, 1), K_LOOP_PLAIN, 1, init, carried);
    next[0] = k_iadd(b, carried[0], f.i);
    k_loop_end(b, next, results);
    put(&f, sum);
    expect_body(&f, "    %0: i32 = local_id\n"
                    "    %1: i32 = loop 0, %n, 1 {\n"
                    "        %2: i32 = carry 1\n"
                    "        %3: i32 = imul %n, %2\n"
                    "        yield %3\n"
                    "    }\n"
                    "    %4: i32 = result #0\n"
                    "    store %y, %0, %4 as i32 align 4\n"
                    "}\n");
}

static void invariant_values_leave_loops(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal k = k_loop_begin(b, k_i32(b, 0), f.n, k_i32(b, 1), K_LOOP_UNROLL, 0, NULL, NULL);
    KVal row = k_imul(b, f.i, f.n), index = k_iadd(b, row, k);
    KVal quotient = k_sdiv(b, row, f.n); // might divide where nothing did
    k_store(b, f.y, index, DT_I32, 4, k_iadd(b, quotient, k_i32(b, 1)));
    k_loop_end(b, NULL, NULL);
    expect_body(&f, "    %0: i32 = local_id\n"
                    "    %1: i32 = imul %n, %0\n"
                    "    %2: i32 = loop 0, %n, 1 unroll {\n"
                    "        %3: i32 = iadd %2, %1\n"
                    "        %4: i32 = sdiv %1, %n\n"
                    "        %5: i32 = iadd %4, 1\n"
                    "        store %y, %3, %5 as i32 align 4\n"
                    "    }\n"
                    "}\n");
}

static void known_regions_vanish(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal results[1], carried[1], one = k_i32(b, 1), two = k_i32(b, 2);
    k_if_begin(b, k_slt(b, f.i, k_i32(b, 64))); // always
    put(&f, one);
    k_else(b, 1, &one);
    put(&f, two);
    k_if_end(b, 1, &two, results);
    assert_int_equal(results[0], one);
    k_if_begin(b, k_slt(b, f.n, k_i32(b, 0))); // never
    put(&f, two);
    k_param_i32(b, "late", 0, 9, 1);
    k_else(b, 1, &one);
    k_if_end(b, 1, &two, results);
    assert_int_equal(results[0], two);
    // Once, and never.
    k_loop_begin(b, k_i32(b, 0), k_i32(b, 4), k_i32(b, 4), K_LOOP_PLAIN, 1, &one, carried);
    KVal next = k_iadd(b, carried[0], f.i);
    k_loop_end(b, &next, results);
    assert_int_equal(results[0], k_iadd(b, one, f.i));
    k_loop_begin(b, f.n, k_i32(b, 1), one, K_LOOP_PLAIN, 1, &two, carried);
    put(&f, carried[0]);
    k_loop_end(b, &carried[0], results);
    assert_int_equal(results[0], two);
    // A choice of scalars needs no branches.
    k_if_begin(b, k_slt(b, f.i, k_i32(b, 5)));
    k_else(b, 1, &f.i);
    k_if_end(b, 1, &f.n, results);
    put(&f, results[0]);
    expect_body(&f, "    %0: i32 = local_id\n"
                    "    store %y, %0, 1 as i32 align 4\n"
                    "    %1: bool = slt %0, 5\n"
                    "    %2: i32 = select %1, %0, %n\n"
                    "    store %y, %0, %2 as i32 align 4\n"
                    "}\n");
}

static void nested_equal_guards_vanish(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    KVal guard = k_slt(b, f.i, f.n);
    for (int i = 0; i < 2; i++) {
        k_if_begin(b, guard);
        k_store(b, f.y, f.i, DT_I32, 4, k_i32(b, 10 + i));
        k_if_end(b, 0, NULL, NULL);
        if (i == 0)
            k_if_begin(b, guard);
        else
            k_if_end(b, 0, NULL, NULL);
    }
    k_if_begin(b, guard);
    k_else(b, 0, NULL);
    k_store(b, f.y, f.i, DT_I32, 4, k_i32(b, 12));
    k_if_begin(b, guard);
    k_store(b, f.y, f.i, DT_I32, 4, k_i32(b, 13)); // never
    k_if_end(b, 0, NULL, NULL);
    k_if_end(b, 0, NULL, NULL);
    expect_body(&f, "    %0: i32 = local_id\n"
                    "    %1: bool = slt %0, %n\n"
                    "    if %1 {\n"
                    "        store %y, %0, 10 as i32 align 4\n"
                    "    }\n"
                    "    if %1 {\n"
                    "        store %y, %0, 11 as i32 align 4\n"
                    "    }\n"
                    "    if %1 {\n"
                    "    } else {\n"
                    "        store %y, %0, 12 as i32 align 4\n"
                    "    }\n"
                    "}\n");
}

static void needs_follow_from_use(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    k_require_subgroup(b, 32);
    uint32_t tile = k_shared(b, "tile", DT_I32, 4, 256);
    KVal h = k_param_buffer(b, "h", DT_F16, K_READ), stride = k_i32(b, 16), zero = k_i32(b, 0);
    KVal a = k_frag_load(b, ktype_frag(KU_A, DT_F16, 16, 16), h, zero, stride, KL_ROW_MAJOR);
    KVal w = k_frag_shared_load(b, ktype_frag(KU_B, DT_F16, 16, 16), tile, zero, k_i32(b, 8),
                                KL_COL_MAJOR);
    KVal acc = k_frag_fill(b, ktype_frag(KU_ACC, DT_F32, 16, 16), k_f32(b, 0));
    acc = k_frag_binary(b, K_FRAG_MUL, k_frag_mul_add(b, a, w, acc), k_f32(b, 0.5f));
    k_frag_store(b, f.y, zero, stride, KL_ROW_MAJOR, acc);
    k_store(b, f.y, f.i, DT_F32, 4, k_subgroup_fadd(b, k_f32(b, 1)));
    Kernel *kernel = k_finish(b);
    assert_int_equal(kernel->needs, K_NEED_STORAGE_16 | K_NEED_FRAGMENTS | K_NEED_FRAGMENT_F16 |
                                        K_NEED_SUBGROUP_BASIC | K_NEED_SUBGROUP_ARITHMETIC);
    Text text = {0};
    kernel_print(kernel, &text);
    assert_non_null(strstr(text.data, " subgroup(32) shared(tile: i32x4[256]) {\n"));
    assert_non_null(strstr(text.data, "%1: frag(a f16 16x16) = frag_load %h, 0, 16 row\n"));
    assert_non_null(strstr(text.data, "= frag_shared_load tile, 0, 8 col\n"));
    assert_non_null(strstr(text.data, "    frag_store %y, 0, 16, %5 row\n"));
    text_free(&text);
    Diags *diags = diags_create();
    assert_true(kernel_verify(kernel, diags));
    diags_destroy(diags);
    arena_destroy(f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_prints),    cmocka_unit_test(constants_fold),
        cmocka_unit_test(identities_apply),      cmocka_unit_test(ranges_decide),
        cmocka_unit_test(vectors_take_scalars),  cmocka_unit_test(equal_values_merge_where_visible),
        cmocka_unit_test(dead_code_goes),        cmocka_unit_test(invariant_values_leave_loops),
        cmocka_unit_test(known_regions_vanish),  cmocka_unit_test(nested_equal_guards_vanish),
        cmocka_unit_test(needs_follow_from_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
