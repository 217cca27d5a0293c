#include "ir/dim.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Fixture {
    Arena *arena;
    DimTable *table;
    Dim n, p, s;
} Fixture;

static int set_up(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->arena = arena_create();
    f->table = dim_table_create(f->arena);
    f->n = dim_symbol(f->table, "N", 1, 1024);
    f->p = dim_symbol(f->table, "P", 0, 511);
    f->s = dim_symbol(f->table, "S", 1, 512);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    Fixture *f = *state;
    arena_destroy(f->arena);
    free(f);
    return 0;
}

#define T                  f->table
#define K(value)           dim_const(T, value)
#define ADD(a, b)          dim_add(T, a, b)
#define SUB(a, b)          dim_sub(T, a, b)
#define MUL(a, b)          dim_mul(T, a, b)
#define DIV(a, b)          dim_floor_div(T, a, b)
#define MOD(a, b)          dim_floor_mod(T, a, b)
#define YES(a, rel, b)     assert_int_equal(dim_prove(T, a, DIM_##rel, b), PROOF_YES)
#define NO(a, rel, b)      assert_int_equal(dim_prove(T, a, DIM_##rel, b), PROOF_NO)
#define UNKNOWN(a, rel, b) assert_int_equal(dim_prove(T, a, DIM_##rel, b), PROOF_UNKNOWN)

static void check_print(const DimTable *table, Dim dim, const char *expected) {
    Text text = {0};
    dim_print(table, dim, &text);
    assert_string_equal(text.data, expected);
    text_free(&text);
}

static void normal_forms(void **state) {
    Fixture *f = *state;
    assert_int_equal(ADD(f->n, f->p), ADD(f->p, f->n));
    assert_int_equal(MUL(ADD(f->n, K(1)), SUB(f->n, K(1))), SUB(MUL(f->n, f->n), K(1)));
    assert_int_equal(SUB(f->n, f->n), K(0));
    assert_int_equal(DIV(MUL(f->n, K(6)), K(6)), f->n);
    assert_int_equal(MOD(MUL(f->n, K(4)), K(4)), K(0));
    assert_int_equal(DIV(ADD(MUL(f->n, K(6)), K(3)), K(4)), DIV(ADD(MUL(f->n, K(3)), K(1)), K(2)));
    assert_int_equal(DIV(DIV(f->n, K(4)), K(8)), DIV(f->n, K(32)));
    assert_int_equal(DIV(ADD(f->n, K(64)), K(64)), ADD(DIV(f->n, K(64)), K(1)));
    assert_int_equal(ADD(DIV(SUB(f->n, K(1)), K(64)), K(1)), dim_ceil_div(T, f->n, K(64)));
    assert_int_equal(DIV(MUL(f->n, f->s), f->s), f->n);
    assert_int_equal(DIV(ADD(MUL(f->n, f->s), K(5)), f->s), ADD(f->n, DIV(K(5), f->s)));
    assert_int_equal(MOD(MUL(f->n, f->p), f->p), K(0));
    assert_int_equal(DIV(f->p, ADD(f->p, K(1))), K(0));
    assert_int_equal(MOD(f->p, ADD(f->p, K(1))), f->p);
    assert_int_equal(MOD(MOD(f->n, K(12)), K(4)), MOD(f->n, K(4)));
    assert_int_equal(DIV(f->n, K(2048)), K(0));
    assert_int_equal(MOD(f->n, K(2048)), f->n);
    assert_int_equal(dim_min(T, f->n, f->s), dim_min(T, f->s, f->n));
    assert_int_equal(dim_min(T, f->n, K(0)), K(0));
    assert_int_equal(dim_max(T, f->n, ADD(f->n, f->p)), ADD(f->n, f->p));
    Dim nested = dim_max(T, ADD(dim_max(T, f->n, f->p), f->s), MUL(f->s, K(2)));
    assert_int_equal(dim_max(T, nested, ADD(f->p, f->s)), nested);
    assert_int_equal(dim_max(T, dim_max(T, MUL(f->s, K(2)), ADD(f->s, f->p)), ADD(f->n, f->s)),
                     nested);
    assert_int_equal(dim_min(T, dim_min(T, f->n, f->p), f->n), dim_min(T, f->p, f->n));
    assert_int_equal(dim_min(T, dim_max(T, f->n, f->p), f->n), f->n);
    assert_int_equal(DIV(f->n, K(0)), K(0));
    assert_int_equal(MOD(f->n, K(0)), f->n);
    assert_int_equal(DIV(MUL(f->n, K(-6)), K(-3)), MUL(f->n, K(2)));
    assert_int_equal(dim_align_up(T, MUL(f->n, K(64)), 64), MUL(f->n, K(64)));
}

static void overflow_gives_none(void **state) {
    Fixture *f = *state;
    Dim big = K(INT64_C(1) << 60);
    assert_int_equal(MUL(big, f->n), DIM_NONE);
    assert_int_equal(MUL(big, K(8)), DIM_NONE);
    assert_int_equal(ADD(MUL(big, K(7)), big), DIM_NONE);
    assert_int_equal(ADD(DIM_NONE, f->n), DIM_NONE);
    assert_int_equal(dim_min(T, f->n, DIM_NONE), DIM_NONE);
    assert_int_equal(DIV(f->n, DIM_NONE), DIM_NONE);
    assert_int_equal(dim_prove(T, f->n, DIM_EQ, DIM_NONE), PROOF_UNKNOWN);
    assert_int_equal(dim_symbol(T, "N", 1, 2), DIM_NONE);
    assert_int_equal(dim_symbol(T, "M", 2, 1), DIM_NONE);
    assert_int_equal(dim_const(T, INT64_MIN), DIM_NONE);
    Dim power = f->n;
    for (int i = 0; i < 40; i++) power = MUL(power, f->n);
    assert_int_equal(power, DIM_NONE);
    Dim nested = f->n; // grows fivefold a round
    for (int i = 0; i < 40; i++) nested = DIV(ADD(MUL(nested, nested), f->p), ADD(nested, K(3)));
    assert_int_equal(nested, DIM_NONE);
}

static void symbols_are_known(void **state) {
    Fixture *f = *state;
    assert_int_equal(dim_find(T, "P"), f->p);
    assert_int_equal(dim_find(T, "Q"), DIM_NONE);
    assert_int_equal(dim_symbol_count(T), 3);
    assert_int_equal(dim_symbol_at(T, 2), f->s);
    assert_string_equal(dim_symbol_name(T, 1), "P");
    assert_int_equal(dim_symbol_source(T, 0), DIM_FROM_HOST);
    dim_set_source(T, 0, DIM_FROM_INPUT);
    assert_int_equal(dim_symbol_source(T, 0), DIM_FROM_INPUT);
    assert_int_equal(dim_symbols(T, ADD(f->n, DIV(f->s, K(2)))), 5);
    int64_t value;
    assert_true(dim_is_const(T, K(7), &value));
    assert_int_equal(value, 7);
    assert_true(dim_is_const(T, K(0), NULL));
    assert_false(dim_is_const(T, f->n, NULL));
    assert_true(dim_is(T, K(7), 7));
}

static void bounds_and_multiples(void **state) {
    Fixture *f = *state;
    DimBounds b = dim_bounds(T, ADD(MUL(f->n, K(3)), K(5)));
    assert_int_equal(b.lo, 8);
    assert_int_equal(b.hi, 3077);
    b = dim_bounds(T, SUB(f->n, DIV(f->n, K(2))));
    assert_int_equal(b.lo, 1); // half of 1, rounded up
    b = dim_bounds(T, SUB(MUL(f->n, f->s), f->n));
    assert_int_equal(b.lo, 0);
    assert_int_equal(b.hi, 1024 * 511);
    b = dim_bounds(T, dim_align_up(T, f->n, 64));
    assert_int_equal(b.lo, 64);
    assert_int_equal(b.hi, 1024);
    assert_int_equal(dim_multiple(T, ADD(MUL(f->n, K(12)), K(8))), 4);
    assert_int_equal(dim_multiple(T, K(0)), 0);
    assert_int_equal(dim_multiple(T, MUL(f->n, MUL(f->p, K(-6)))), 6);
    assert_int_equal(dim_multiple(T, dim_min(T, MUL(f->n, K(8)), K(12))), 4);
    assert_true(dim_divides(T, 64, dim_align_up(T, f->n, 64)));
    assert_false(dim_divides(T, 2, f->n));
    assert_true(dim_divides(T, 4, SUB(f->n, MOD(f->n, K(4)))));
}

static void prints_parse_as_written(void **state) {
    Fixture *f = *state;
    check_print(T, MUL(K(3136), f->n), "N * 3136");
    check_print(T, DIV(ADD(f->p, f->s), K(2)), "(P + S) // 2");
    check_print(T, SUB(ADD(f->s, f->p), K(1)), "P + S - 1");
    check_print(T, SUB(K(512), f->p), "512 - P");
    check_print(T, SUB(K(0), DIV(f->n, K(2))), "-(N // 2)");
    check_print(T, dim_align_up(T, f->n, 64), "(N + 63) // 64 * 64");
    check_print(T, MUL(f->n, DIV(f->s, K(2))), "N * (S // 2)");
    check_print(T, MOD(f->s, MUL(f->n, K(2))), "S % (N * 2)");
    check_print(T, DIV(f->s, DIV(f->n, K(2))), "S // (N // 2)");
    check_print(T, MOD(DIV(f->s, K(2)), K(3)), "S // 2 % 3");
    check_print(T, dim_max(T, SUB(f->n, f->p), K(0)), "maximum(N - P, 0)");
    check_print(T, SUB(MUL(MUL(f->n, f->n), f->s), K(0)), "N * N * S");
    check_print(T, K(0), "0");
    check_print(T, K(-3), "-3");
    check_print(T, DIM_NONE, "?");
}

static void proofs_without_facts(void **state) {
    Fixture *f = *state;
    YES(DIV(f->n, K(2)), LE, f->n);
    YES(dim_align_up(T, f->n, 64), GE, f->n);
    YES(SUB(dim_align_up(T, f->n, 64), f->n), LT, K(64));
    YES(MOD(f->n, K(4)), LT, K(4));
    YES(MUL(DIV(f->n, f->s), f->s), LE, f->n);
    YES(DIV(f->n, f->s), LE, f->n);
    YES(MOD(f->n, f->s), LT, f->s);
    YES(ADD(MUL(DIV(f->n, K(4)), K(4)), MOD(f->n, K(4))), EQ, f->n);
    YES(ADD(MUL(DIV(f->n, f->s), f->s), MOD(f->n, f->s)), EQ, f->n);
    YES(DIV(f->n, K(3)), LE, DIV(ADD(f->n, f->p), K(3)));
    YES(dim_min(T, f->n, f->s), LE, f->s);
    YES(dim_max(T, f->n, f->s), GE, f->n);
    YES(ADD(dim_min(T, f->n, f->s), dim_max(T, f->n, f->s)), EQ, ADD(f->n, f->s));
    YES(dim_min(T, f->n, f->s), LT, ADD(f->s, K(1)));
    YES(MUL(f->n, f->s), GE, ADD(f->n, SUB(f->s, K(1))));
    YES(ADD(MUL(f->n, K(2)), K(1)), NE, MUL(f->s, K(4)));
    NO(MUL(f->n, K(4)), EQ, ADD(MUL(f->s, K(2)), K(1)));
    NO(f->n, LT, DIV(f->n, K(2)));
    NO(f->p, GT, K(511));
    UNKNOWN(f->n, LT, f->s);
    UNKNOWN(f->n, EQ, f->s);
    UNKNOWN(MOD(f->n, K(4)), EQ, K(0));
}

static void proofs_from_facts(void **state) {
    Fixture *f = *state;
    UNKNOWN(f->p, LT, K(511));
    dim_assume(T, ADD(f->p, f->s), DIM_LE, K(512));
    YES(f->p, LT, K(512));
    YES(SUB(ADD(f->p, f->s), K(1)), LE, K(511));
    YES(DIV(ADD(f->p, f->s), K(2)), LE, K(256));
    YES(MUL(f->n, ADD(f->p, f->s)), LE, MUL(f->n, K(512)));
    YES(f->s, LE, SUB(K(512), f->p));
    NO(ADD(f->p, f->s), GT, K(512));
    UNKNOWN(ADD(f->p, f->s), LE, K(511));

    dim_assume(T, MOD(f->n, K(4)), DIM_EQ, K(0));
    assert_int_equal(dim_multiple(T, f->n), 4);
    assert_true(dim_divides(T, 8, ADD(MUL(f->n, K(2)), K(16))));
    YES(MUL(DIV(f->n, K(4)), K(4)), EQ, f->n);
    YES(f->n, GE, K(4));
    NO(f->n, EQ, K(6));
    Dim quotient;
    assert_true(dim_exact_div(T, f->n, K(4), &quotient));
    assert_int_equal(quotient, DIV(f->n, K(4)));
    assert_true(dim_exact_div(T, MUL(f->n, f->s), DIV(f->n, K(4)), &quotient));
    assert_int_equal(quotient, MUL(f->s, K(4)));
    assert_false(dim_exact_div(T, f->n, K(8), &quotient));
    // The check of a fact does not fold to what it checks.
    assert_false(dim_is_const(T, MOD(f->n, K(4)), NULL));
}

static void proofs_from_equations(void **state) {
    Fixture *f = *state;
    Dim h = dim_symbol(T, "H", 1, 2048), w = dim_symbol(T, "W", 1, 512), quotient;
    dim_assume(T, h, DIM_EQ, MUL(w, K(4)));
    YES(MUL(f->n, h), EQ, MUL(MUL(f->n, w), K(4)));
    assert_true(dim_divides(T, 4, h));
    assert_true(dim_exact_div(T, MUL(h, f->n), w, &quotient));
    assert_int_equal(quotient, MUL(f->n, K(4)));
    dim_assume(T, f->p, DIM_NE, f->s);
    NO(f->p, EQ, f->s);
    dim_assume(T, f->p, DIM_LE, f->s);
    YES(f->p, LT, f->s);
    dim_assume(T, MOD(ADD(f->p, f->s), K(8)), DIM_EQ, K(3));
    assert_true(dim_divides(T, 8, ADD(ADD(f->p, f->s), K(5))));
    assert_false(dim_divides(T, 8, ADD(f->p, f->s)));
}

static void facts_of_a_scope(void **state) {
    Fixture *f = *state;
    DimScope *outer = dim_scope_begin(T);
    dim_assume(T, MOD(f->n, K(4)), DIM_EQ, K(0));
    DimScope *inner = dim_scope_begin(T);
    dim_assume(T, f->n, DIM_LE, f->s);
    dim_assume(T, MOD(f->n, K(3)), DIM_EQ, K(0));
    assert_int_equal(dim_multiple(T, f->n), 12);
    YES(f->n, LT, ADD(f->s, K(1)));
    dim_scope_end(T, inner);
    UNKNOWN(f->n, LT, ADD(f->s, K(1)));
    assert_int_equal(dim_multiple(T, f->n), 4);
    dim_scope_end(T, outer);
    assert_int_equal(dim_multiple(T, f->n), 1);
    assert_false(dim_divides(T, 4, f->n));
}

static void exact_division(void **state) {
    Fixture *f = *state;
    Dim quotient;
    assert_true(dim_exact_div(T, MUL(MUL(f->n, f->p), K(6)), MUL(f->p, K(2)), &quotient));
    assert_int_equal(quotient, MUL(f->n, K(3)));
    assert_true(
        dim_exact_div(T, MUL(ADD(f->n, f->p), ADD(f->s, K(1))), ADD(f->s, K(1)), &quotient));
    assert_int_equal(quotient, ADD(f->n, f->p));
    assert_true(dim_exact_div(T, dim_align_up(T, f->n, 64), K(16), &quotient));
    assert_int_equal(quotient, MUL(dim_ceil_div(T, f->n, K(64)), K(4)));
    assert_true(dim_exact_div(T, K(0), f->n, &quotient));
    assert_int_equal(quotient, K(0));
    assert_false(dim_exact_div(T, f->n, f->s, &quotient));
    assert_false(dim_exact_div(T, ADD(f->n, K(1)), K(2), &quotient));
    assert_false(dim_exact_div(T, f->n, K(0), &quotient));
}

static void import_matches_names(void **state) {
    Fixture *f = *state;
    Arena *arena = arena_create();
    DimTable *other = dim_table_create(arena);
    Dim s = dim_symbol(other, "S", 1, 512);
    Dim dim = ADD(MUL(f->n, DIV(f->s, K(3))), dim_min(T, f->n, f->p));
    Dim copy = dim_import(other, T, dim);
    check_print(other, copy, "N * (S // 3) + minimum(N, P)");
    assert_int_equal(dim_symbol_count(other), 3);
    assert_int_equal(dim_find(other, "S"), s);
    assert_int_equal(dim_bounds(other, dim_find(other, "P")).hi, 511);
    assert_int_equal(dim_import(T, other, copy), dim);
    arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(normal_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overflow_gives_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(symbols_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bounds_and_multiples, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prints_parse_as_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(proofs_without_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(proofs_from_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(proofs_from_equations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_of_a_scope, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exact_division, set_up, tear_down),
        cmocka_unit_test_setup_teardown(import_matches_names, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
