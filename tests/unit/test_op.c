// The op table and attributes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/graph_make.h"

static void test_rows(void **state) {
    (void)state;
    for (OpId id = OP_NONE + 1; id < OP_COUNT; id++) {
        const OpInfo *op = op_info(id);
        assert_int_equal(op->id, id);
        assert_int_equal(op_find(op->name), id); // so names are unique
        assert_true(strlen(op->doc) >= 2);
        assert_non_null(op->infer);
        assert_true((op->scalar != NULL) == (op->class == OC_MAP));
        bool optional = false;
        for (uint32_t i = 0; i < op->operands; i++) {
            assert_int_equal(op_operand_index(op, op->operand[i].name), i);
            assert_true(op->operand[i].optional || !optional); // required ones come first
            assert_true(!op->operand[i].variadic || op->operands == 1);
            optional = op->operand[i].optional;
        }
        for (uint32_t i = 0; i < op->attrs; i++) {
            assert_int_equal(op_attr_index(op, op->attr[i].name), i);
            assert_int_equal(op_operand_index(op, op->attr[i].name), -1);
            assert_true(op->attr[i].required == (op->attr[i].default_text == NULL));
        }
        // Rows, windows and whole products end in the decompose pass.
        if (op->class == OC_ROW || op->class == OC_WINDOW) {
            assert_int_equal(op->gone_by, STAGE_DECOMPOSED);
        }
    }
    assert_int_equal(op_find("no_such_op"), OP_NONE);
}

static void test_look_up(void **state) {
    (void)state;
    const OpInfo *conv = op_info(OP_CONV2D);
    assert_string_equal(conv->name, "conv2d");
    assert_int_equal(op_required_operands(conv), 2);
    assert_int_equal(op_attr_index(conv, "groups"), 3);
    assert_int_equal(op_attr_index(conv, "kernel_size"), -1);
    assert_string_equal(conv->attr[1].words[0], "same");
    assert_string_equal(conv->attr[1].words[1], "valid");
    assert_null(conv->attr[1].words[2]);
    assert_null(op_operand_spec(conv, 3));
    assert_string_equal(op_operand_spec(op_info(OP_CONCAT), 7)->name, "x");
    assert_true(op_is_view(op_info(OP_SPLIT)));
    assert_false(op_is_view(op_info(OP_CONCAT)));
    assert_false(op_is_view(op_info(OP_FULL)));
    assert_string_equal(op_info(OP_SILU)->scalar, "DIV(X, ADD(C(1), EXP(NEG(X))))");
}

static void test_names(void **state) {
    (void)state;
    unsigned count = 0, listed = 0;
    for (OpId id = OP_NONE + 1; id < OP_COUNT; id++) count += !op_info(id)->internal;
    for (const char *const *name = op_names(); *name; name++) {
        assert_false(op_info(op_find(*name))->internal);
        listed++;
    }
    assert_int_equal(listed, count);
    assert_string_equal(nearest_name("sofmax", op_names()), "softmax");
}

static void test_defaults(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    Attr attr[OP_ATTRS_MAX];
    op_attr_defaults(g->dims, g->arena, op_info(OP_CONV2D), attr);
    assert_int_equal(attr_int_of(&attr[0], 1), 1);
    Dim before, after;
    attr_pair_of(&attr[1], 1, &before, &after);
    assert_true(dim_is(g->dims, before, 0) && dim_is(g->dims, after, 0));
    assert_int_equal(attr[3].i, 1);
    assert_false(attr[4].present);
    op_attr_defaults(g->dims, g->arena, op_info(OP_GELU), attr);
    assert_string_equal(attr[0].s, "none");
    op_attr_defaults(g->dims, g->arena, op_info(OP_LAYER_NORM), attr);
    assert_int_equal(attr[0].i, -1);
    assert_true(attr[1].f == 1e-5);
    op_attr_defaults(g->dims, g->arena, op_info(OP_ARANGE), attr);
    assert_false(attr[0].present);
    assert_int_equal(attr[3].dtype, DT_I32);
    graph_destroy(g);
}

static void assert_attr(Graph *g, OpId op, int index, const char *text, const char *printed) {
    Attr attr[OP_ATTRS_MAX];
    make_attrs(g, op, text, attr);
    AttrKind kind = op_info(op)->attr[index].kind;
    Text out = {0};
    attr_print(g->dims, kind, &attr[index], &out);
    assert_string_equal(out.data, printed);
    text_free(&out);
    Attr copy = attr_copy(g->arena, kind, &attr[index]);
    assert_true(attr_equal(kind, &copy, &attr[index]));
    assert_int_equal(attr_hash(kind, &copy, 7), attr_hash(kind, &attr[index], 7));
}

static void test_print(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 1, 8);
    assert_attr(g, OP_TRANSPOSE, 0, "a=-1", "-1");
    assert_attr(g, OP_ELU, 0, "alpha=0.1", "0.1");
    assert_attr(g, OP_SUM, 0, "axis=2", "2");
    assert_attr(g, OP_SUM, 0, "axis=[2, 0]", "[2, 0]");
    assert_attr(g, OP_SUM, 0, NULL, "None");
    assert_attr(g, OP_SUM, 1, "keepdims=true", "true");
    assert_attr(g, OP_CAST, 0, "dtype=bf16", "bf16");
    assert_attr(g, OP_GELU, 0, "approximate=\"tanh\"", "\"tanh\"");
    assert_attr(g, OP_UNFOLD, 2, "count=N+1", "N + 1");
    assert_attr(g, OP_RESHAPE, 0, "shape=[N, 2]", "[N, 2]");
    assert_attr(g, OP_RESHAPE, 0, "shape=[4]", "[4]");
    assert_attr(g, OP_CONV2D, 1, "padding=2", "2");
    assert_attr(g, OP_CONV2D, 1, "padding=[1, 2]", "[1, 2]");
    assert_attr(g, OP_CONV2D, 1, "padding=[[1, 2], [0, N]]", "[[1, 2], [0, N]]");
    assert_attr(g, OP_CONV2D, 1, "padding=\"same\"", "\"same\"");
    assert_attr(g, OP_FULL, 1, "value=3", "3");
    assert_attr(g, OP_FULL, 1, "value=3.0", "3.0");
    assert_attr(g, OP_FULL, 1, "value=-inf", "-inf");
    assert_attr(g, OP_FULL, 1, "value=N", "N");
    graph_destroy(g);
}

static void test_equality(void **state) {
    (void)state;
    Dim list[] = {3, 4};
    Attr flat = attr_sizes(list, 2), pair = attr_pairs(list, 1), one = attr_int(1);
    assert_false(attr_equal(ATTR_PAIRS, &flat, &pair));
    Attr none = attr_none(), number = attr_float(1), nan = attr_float(NAN);
    assert_false(attr_equal(ATTR_INT, &one, &none));
    assert_true(attr_equal(ATTR_INT, &none, &none));
    assert_false(attr_equal(ATTR_SCALAR, &one, &number));
    assert_true(attr_equal(ATTR_FLOAT, &nan, &nan));
    Attr minus = attr_float(-0.0), zero = attr_float(0.0);
    assert_false(attr_equal(ATTR_FLOAT, &minus, &zero));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),  cmocka_unit_test(test_look_up),
        cmocka_unit_test(test_names), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_print), cmocka_unit_test(test_equality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
