// Kernels of family "row" on the interpreter, against the evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

static const int64_t sizes[] = {1, 2, 17, 64, 65};

// 0: what is chosen for each target; else every form by force.
static const Schedule forms[] = {
    {.local = 64, .lanes = 1, .rows = 64, .items = 1},
    {.local = 64, .lanes = 8, .rows = 8, .items = 1},
    {.local = 64, .lanes = 64, .rows = 1, .items = 1},
    {.local = 256, .lanes = 256, .rows = 1, .items = 1},
    {.local = 64, .lanes = 32, .rows = 2, .items = 1},
};
static const Schedule subgroup_forms[] = {
    {.local = 64, .lanes = 16, .rows = 4, .items = 1, .subgroup = 32},
    {.local = 64, .lanes = 32, .rows = 2, .items = 1, .subgroup = 32},
    {.local = 128, .lanes = 128, .rows = 1, .items = 1, .subgroup = 32},
    {.local = 256, .lanes = 128, .rows = 2, .items = 1, .subgroup = 32},
};

static void finish(Graph *g, NodeId fused, const ValueId *value, uint32_t count) {
    graph_end_fused(g, fused, value, count);
    for (uint32_t i = 0; i < count; i++) {
        char name[] = {'o', (char)('0' + i), 0};
        graph_add_output(g, name, NULL, value[i], (Loc){0});
    }
    g->stage = STAGE_FUSED;
}

static void check_form(Graph *g, const char *target, const Schedule *form, double tolerance) {
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        Schedule copy = form ? *form : (Schedule){0};
        ProgramCheck check = {.target = target,
                              .symbols = &sizes[i],
                              .tolerance = tolerance,
                              .force = form ? &copy : NULL};
        program_check(g, &check);
    }
}

static void check_all(Graph *g, double tolerance) {
    check_form(g, "portable", NULL, tolerance);
    check_form(g, "lavapipe-debian12", NULL, tolerance);
    check_form(g, "h200", NULL, tolerance);
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++)
        check_form(g, "portable", &forms[i], tolerance);
    for (unsigned i = 0; i < sizeof subgroup_forms / sizeof subgroup_forms[0]; i++)
        check_form(g, "h200", &subgroup_forms[i], tolerance);
    graph_destroy(g);
}

static void sums(void **state) {
    (void)state;
    static const char *const types[] = {"[N, 40] f32", "[N, 7] i32", "[3, N] f32"};
    for (unsigned i = 0; i < 3; i++) {
        Graph *g = make_empty(4096);
        ValueId x = make_input(g, "x", types[i]);
        NodeId fused = graph_begin_fused(g, "k", "row", false);
        ValueId sum = make_op(g, OP_SUM, "s", "axis=1", x, 0, 0);
        finish(g, fused, &sum, 1);
        check_all(g, 2e-6);
    }
}

static void leading_axis(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[33, N, 2] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId sum = make_op(g, OP_SUM, "s", "axis=[0, 2]", x, 0, 0);
    finish(g, fused, &sum, 1);
    check_all(g, 5e-6);
    g = make_empty(4096);
    x = make_input(g, "x", "[N, 5, 3] f32");
    fused = graph_begin_fused(g, "k", "row", false);
    ValueId m = make_op(g, OP_MAX, "m", "axis=1, keepdims=true", x, 0, 0);
    ValueId d = make_op(g, OP_SUBTRACT, "d", NULL, x, m, 0);
    finish(g, fused, &d, 1);
    check_all(g, 0);
}

static void every_reduce(void **state) {
    (void)state;
    static const OpId ops[] = {OP_SUM, OP_PROD, OP_MAX, OP_MIN, OP_ARGMAX, OP_ARGMIN};
    static const char *const types[] = {"[N, 9] f32", "[N, 9] i32", "[N, 9] u32"};
    for (unsigned o = 0; o < 6; o++)
        for (unsigned t = 0; t < 3; t++) {
            Graph *g = make_empty(4096);
            ValueId x = make_input(g, "x", types[t]);
            NodeId fused = graph_begin_fused(g, "k", "row", false);
            ValueId r = make_op(g, ops[o], "r", "axis=1", x, 0, 0);
            finish(g, fused, &r, 1);
            check_all(g, 2e-6);
        }
    for (unsigned any = 0; any < 2; any++) {
        Graph *g = make_empty(4096);
        ValueId x = make_input(g, "x", "[N, 3] bool");
        NodeId fused = graph_begin_fused(g, "k", "row", false);
        ValueId r = make_op(g, any ? OP_ANY : OP_ALL, "r", "axis=1", x, 0, 0);
        finish(g, fused, &r, 1);
        check_all(g, 0);
    }
}

// NaN wins everywhere, by its first index.
static void not_a_number(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 40] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId y = make_op(g, OP_SQRT, "y", NULL, x, 0, 0); // NaN for about half of them
    ValueId r[4] = {make_op(g, OP_MAX, "a", "axis=1", y, 0, 0),
                    make_op(g, OP_MIN, "b", "axis=1", y, 0, 0),
                    make_op(g, OP_ARGMAX, "c", "axis=1", y, 0, 0),
                    make_op(g, OP_ARGMIN, "d", "axis=1", y, 0, 0)};
    finish(g, fused, r, 4);
    check_all(g, 0);
}

static ValueId softmax(Graph *g, ValueId x, const char *axis) {
    ValueId m = make_op(g, OP_MAX, "m", axis, x, 0, 0);
    ValueId d = make_op(g, OP_SUBTRACT, "d", NULL, x, m, 0);
    ValueId e = make_op(g, OP_EXP, "e", NULL, d, 0, 0);
    ValueId s = make_op(g, OP_SUM, "s", axis, e, 0, 0);
    return make_op(g, OP_DIVIDE, "p", NULL, e, s, 0);
}

static void softmax_last_axis(void **state) {
    (void)state;
    static const char *const types[] = {"[N, 10] f32", "[N, 128] f32", "[N, 300] f16",
                                        "[3, N] f32"};
    for (unsigned i = 0; i < 4; i++) {
        Graph *g = make_empty(4096);
        ValueId x = make_input(g, "x", types[i]);
        NodeId fused = graph_begin_fused(g, "k", "row", false);
        ValueId p = softmax(g, x, "axis=1, keepdims=true");
        finish(g, fused, &p, 1);
        check_all(g, i == 2 ? 1e-3 : 1e-6);
    }
}

static void softmax_middle_axis(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[2, 12, N] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId p = softmax(g, x, "axis=1, keepdims=true");
    finish(g, fused, &p, 1);
    check_all(g, 1e-6);
}

// layer_norm with residual before and weights after: full results of two levels, per-row results.
static void layer_norm(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 48] f32"), y = make_input(g, "y", "[N, 48] f32");
    ValueId w = make_param(g, "w", "[48] f32"), b = make_param(g, "b", "[48] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId scale =
        make_op(g, OP_FULL, "n", "shape=[], value=0.020833333333333332, dtype=f32", 0, 0, 0);
    ValueId eps = make_op(g, OP_FULL, "eps", "shape=[], value=1e-5, dtype=f32", 0, 0, 0);
    ValueId h = make_op(g, OP_ADD, "h", NULL, x, y, 0);
    ValueId s = make_op(g, OP_SUM, "s", "axis=1, keepdims=true", h, 0, 0);
    ValueId mean = make_op(g, OP_MULTIPLY, "mean", NULL, s, scale, 0);
    ValueId d = make_op(g, OP_SUBTRACT, "d", NULL, h, mean, 0);
    ValueId q = make_op(g, OP_MULTIPLY, "q", NULL, d, d, 0);
    ValueId v = make_op(g, OP_SUM, "v", "axis=1, keepdims=true", q, 0, 0);
    ValueId var = make_op(g, OP_MULTIPLY, "var", NULL, v, scale, 0);
    ValueId r = make_op(g, OP_RSQRT, "r", NULL, make_op(g, OP_ADD, "ve", NULL, var, eps, 0), 0, 0);
    ValueId n = make_op(g, OP_MULTIPLY, "nrm", NULL, d, r, 0);
    ValueId wn = make_op(g, OP_MULTIPLY, "wn", NULL, n, w, 0);
    ValueId out[3] = {make_op(g, OP_ADD, "out", NULL, wn, b, 0), h, mean};
    finish(g, fused, out, 3);
    check_all(g, 3e-6);
}

// Rows in registers, with what is read besides before the first sum or when it is wanted.
static void kept_rows(void **state) {
    (void)state;
    static const Schedule kept[] = {
        {.local = 64, .lanes = 16, .rows = 4, .vec = 4, .items = 2, .keep = 1},
        {.local = 64, .lanes = 16, .rows = 4, .vec = 4, .items = 2, .keep = 2},
        {.local = 64, .lanes = 32, .rows = 2, .vec = 2, .items = 2, .subgroup = 32, .keep = 2},
    };
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 100] f32"), w = make_input(g, "w", "[100] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId q = make_op(g, OP_MULTIPLY, "q", NULL, x, x, 0);
    ValueId s = make_op(g, OP_SUM, "s", "axis=1, keepdims=true", q, 0, 0);
    ValueId n = make_op(g, OP_DIVIDE, "n", NULL, x, s, 0);
    ValueId y = make_op(g, OP_MULTIPLY, "y", NULL, n, w, 0);
    finish(g, fused, &y, 1);
    for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++)
        check_form(g, "h200", &kept[i], 1e-6);
    graph_destroy(g);
}

static void rows_of_length_one(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 1, 3] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId p = softmax(g, x, "axis=1, keepdims=true");
    finish(g, fused, &p, 1);
    check_all(g, 1e-6);
}

static void whole_tensor(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 6] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId s = make_op(g, OP_SUM, "s", NULL, x, 0, 0);
    finish(g, fused, &s, 1);
    check_all(g, 2e-5);
}

static void empty_rows(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 0, 64);
    ValueId x = make_input(g, "x", "[3, N] f32");
    NodeId fused = graph_begin_fused(g, "k", "row", false);
    ValueId r[2] = {make_op(g, OP_SUM, "s", "axis=1", x, 0, 0),
                    make_op(g, OP_PROD, "p", "axis=1", x, 0, 0)};
    finish(g, fused, r, 2);
    int64_t n = 0;
    ProgramCheck check = {.target = "portable", .symbols = &n};
    program_check(g, &check);
    graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(leading_axis),
        cmocka_unit_test(every_reduce),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(softmax_last_axis),
        cmocka_unit_test(softmax_middle_axis),
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(kept_rows),
        cmocka_unit_test(rows_of_length_one),
        cmocka_unit_test(whole_tensor),
        cmocka_unit_test(empty_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
