// Kernels of family "contract" on the interpreter, against the evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/graph_make.h"
#include "passes/compile.h"
#include "tests/support/program_run.h"

static const int64_t sizes[] = {1, 2, 7, 31, 32, 33};

static const Schedule forms[] = {
    {.form = "simt",
     .local = 64,
     .tile_m = 32,
     .tile_n = 32,
     .tile_k = 16,
     .reg_m = 4,
     .reg_n = 4,
     .vec = 4,
     .unroll = 4},
    {.form = "simt",
     .local = 64,
     .tile_m = 8,
     .tile_n = 16,
     .tile_k = 8,
     .reg_m = 1,
     .reg_n = 2,
     .vec = 1},
    {.form = "simt",
     .local = 64,
     .tile_m = 64,
     .tile_n = 64,
     .tile_k = 5,
     .reg_m = 8,
     .reg_n = 8,
     .vec = 4},
    {.form = "simt",
     .local = 128,
     .tile_m = 16,
     .tile_n = 32,
     .tile_k = 25,
     .reg_m = 1,
     .reg_n = 4,
     .vec = 2},
    {.form = "simt",
     .local = 64,
     .tile_m = 32,
     .tile_n = 64,
     .tile_k = 8,
     .reg_m = 4,
     .reg_n = 8,
     .vec = 4,
     .stages = 2,
     .unroll = 2},
    {.form = "simt",
     .local = 32,
     .tile_m = 16,
     .tile_n = 32,
     .tile_k = 9,
     .reg_m = 4,
     .reg_n = 4,
     .vec = 4,
     .stages = 2,
     .unroll = 4},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void check_form(Graph *g, const char *target, const Schedule *form, double tolerance) {
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        Schedule copy = form ? *form : (Schedule){0};
        ProgramCheck check = {.target = target,
                              .symbols = &sizes[i],
                              .tolerance = tolerance,
                              .scale = 1,
                              .force = form ? &copy : NULL};
        program_check(g, &check);
    }
}

static void check_all(Graph *g, double tolerance, bool forced) {
    check_form(g, "portable", NULL, tolerance);
    check_form(g, "h200", NULL, tolerance);
    for (unsigned i = 0; forced && i < FORMS; i++) check_form(g, "portable", &forms[i], tolerance);
    graph_destroy(g);
}

static void plain(void **state) {
    (void)state;
    static const char *const shapes[][2] = {
        {"[N, 40] f32", "[24, 40] f32"}, {"[10, N] f32", "[33, N] f32"},
        {"[33, 7] f32", "[N, 7] f32"},   {"[N, 16] f16", "[32, 16] f16"},
        {"[N, 20] i8", "[13, 20] i8"},   {"[N, 9] u8", "[4, 9] u8"},
        {"[N, 9] i32", "[4, 9] i32"}};
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", shapes[i][0]), y = make_input(g, "y", shapes[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused, make_contract(g, NULL, x, y));
        check_all(g, i == 3 ? 1e-3 : 3e-6, true);
    }
}

static void check_edge(const Schedule *form, const char *x_shape, const char *y_shape, bool turned,
                       const int64_t *at) {
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", x_shape), y = make_input(g, "y", y_shape);
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    if (turned) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
    make_finish(g, fused, make_contract(g, NULL, x, y));
    for (unsigned i = 0; i < 3; i++) {
        Schedule copy = *form;
        ProgramCheck check = {
            .target = "h200", .symbols = &at[i], .tolerance = 3e-6, .scale = 1, .force = &copy};
        program_check(g, &check);
    }
    graph_destroy(g);
}

// Tiles that a device gets, with M, N and K one short of them, whole, and one more.
static void edges_of_large_tiles(void **state) {
    (void)state;
    static const unsigned shapes[][6] = {{128, 128, 128, 8, 16, 8}, {64, 64, 64, 8, 8, 8},
                                         {128, 64, 64, 16, 8, 4},   {256, 64, 64, 32, 4, 4},
                                         {64, 32, 64, 9, 4, 8},     {128, 128, 64, 18, 8, 8}};
    char x[40], y[40];
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const unsigned *t = shapes[i];
        Schedule form = {.form = "simt",
                         .local = t[0],
                         .tile_m = t[1],
                         .tile_n = t[2],
                         .tile_k = t[3],
                         .reg_m = t[4],
                         .reg_n = t[5],
                         .vec = 4,
                         .stages = 2,
                         .unroll = 2};
        int64_t m = t[1], n = t[2], k = t[3];
        snprintf(x, sizeof x, "[N, %u] f32", 4 * (t[3] / 4) + 4);
        snprintf(y, sizeof y, "[%u, 12] f32", 4 * (t[3] / 4) + 4);
        check_edge(&form, x, y, true, (int64_t[]){m - 1, m, m + 1});
        snprintf(x, sizeof x, "[12, %u] f32", t[3]);
        snprintf(y, sizeof y, "[N, %u] f32", t[3]);
        check_edge(&form, x, y, false, (int64_t[]){n - 1, n, n + 1});
        check_edge(&form, "[9, N] f32", "[N, 20] f32", true, (int64_t[]){k - 1, k, k + 1});
        check_edge(&form, "[9, N] f32", "[20, N] f32", false, (int64_t[]){2 * k - 1, 2 * k, 1});
    }
}

static void transposed_operands(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[20, N] f32"), y = make_input(g, "y", "[20, 36] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId xt = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    ValueId yt = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
    make_finish(g, fused, make_contract(g, NULL, xt, yt));
    check_all(g, 3e-6, true);
}

static void batches_and_axes(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[3, 5, N, 2, 4] f32"),
            y = make_input(g, "y", "[3, 9, 2, 4] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_contract(g, "batch=1, k=2", x, y));
    check_all(g, 3e-6, true);
}

// linear + bias + tanh, with a relu on the way in.
static void epilogue_and_prologue(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 28] f32"), w = make_param(g, "w", "[10, 28] f32");
    ValueId bias = make_param(g, "bias", "[10] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId r = make_op(g, OP_RELU, "r", NULL, x, 0, 0);
    ValueId h = make_op(g, OP_ADD, "h", NULL, make_contract(g, NULL, r, w), bias, 0);
    make_finish(g, fused, make_op(g, OP_TANH, "t", NULL, h, 0, 0));
    check_all(g, 3e-6, true);
}

// conv2d as decompose writes it: weight [O, C, kh, kw] with batch N, windows of x.
static ValueId convolution(Graph *g, ValueId x, ValueId w, const char *rows, const char *columns,
                           const char *wide) {
    ValueId down = make_view(g, OP_UNFOLD, rows, x);       // N C kh H W
    ValueId both = make_view(g, OP_UNFOLD, columns, down); // N C kh H kw W
    ValueId turned = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 3, 5, 1, 2, 4]", both);
    ValueId weight = make_view(g, OP_BROADCAST_TO, wide, w);
    return make_contract(g, "batch=1, k=3", weight, turned);
}

static void convolution_with_padding(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 3, 9, 8] f32"), w = make_param(g, "w", "[5, 3, 3, 3] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId c = convolution(g, x, w, "axis=2, kernel=3, count=5, stride=2, before=1",
                            "axis=4, kernel=3, count=8, before=1", "shape=[N, 5, 3, 3, 3]");
    make_finish(g, fused, make_op(g, OP_RELU, "r", NULL, c, 0, 0));
    check_all(g, 3e-6, true);
}

// The weight is shared, so that columns go on from image to image within a tile; with a residual.
static void convolution_over_images(void **state) {
    (void)state;
    static const char *const shapes[][2] = {{"[N, 4, 5, 7] f32", "[N, 6, 5, 7] f32"},
                                            {"[N, 4, 4, 3] f32", "[N, 6, 4, 3] f32"}};
    for (unsigned i = 0; i < 2; i++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", shapes[i][0]), w = make_param(g, "w", "[6, 4] f32");
        ValueId r = make_input(g, "r", shapes[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId turned = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 2, 3, 1]", x);
        ValueId weight = make_view(g, OP_BROADCAST_TO, "shape=[N, 6, 4]", w);
        ValueId c = make_contract(g, "batch=1, k=1", weight, turned);
        make_finish(g, fused, make_op(g, OP_ADD, "s", NULL, c, r, 0));
        check_all(g, 3e-6, true);
    }
}

static void pooled(const char *reduce_attrs, OpId reduce, const char *pool_rows,
                   const char *pool_columns, const Schedule *form) {
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 2, 12, 12] f32"),
            w = make_param(g, "w", "[6, 2, 5, 5] f32");
    ValueId bias = make_param(g, "bias", "[6, 1, 1] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId c = convolution(g, x, w, "axis=2, kernel=5, count=8", "axis=4, kernel=5, count=8",
                            "shape=[N, 6, 2, 5, 5]");
    ValueId t = make_op(g, OP_TANH, "t", NULL, make_op(g, OP_ADD, "h", NULL, c, bias, 0), 0, 0);
    ValueId u = make_view(g, OP_UNFOLD, pool_rows, t);
    ValueId v = make_view(g, OP_UNFOLD, pool_columns, u); // N O kh H kw W
    ValueId s = make_op(g, reduce, "s", reduce_attrs, v, 0, 0);
    ValueId quarter = make_op(g, OP_FULL, "q", "shape=[], value=0.25, dtype=f32", 0, 0, 0);
    make_finish(g, fused, make_op(g, OP_MULTIPLY, "p", NULL, s, quarter, 0));
    static const int64_t few[] = {1, 3};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned t2 = 0; t2 < (form ? 1 : 2); t2++) {
            Schedule copy = form ? *form : (Schedule){0};
            ProgramCheck check = {.target = t2 ? "h200" : "portable",
                                  .symbols = &few[i],
                                  .tolerance = 3e-6,
                                  .scale = 1,
                                  .force = form ? &copy : NULL};
            program_check(g, &check);
        }
    graph_destroy(g);
}

static void pooling(void **state) {
    (void)state;
    const char *rows = "axis=2, kernel=2, count=4, stride=2";
    const char *columns = "axis=4, kernel=2, count=4, stride=2";
    pooled("axis=[2, 4]", OP_SUM, rows, columns, NULL);
    pooled("axis=[2, 4]", OP_SUM, rows, columns, &forms[0]);
    pooled("axis=[2, 4]", OP_MAX, rows, columns, &forms[2]);
    // Overlapping windows with padding.
    rows = "axis=2, kernel=3, count=4, stride=2, before=1, value=-inf";
    columns = "axis=4, kernel=3, count=4, stride=2, before=1, value=-inf";
    pooled("axis=[2, 4]", OP_MAX, rows, columns, NULL);
}

// As the passes write it: the windows are axes of the columns already.
static void pooling_of_neighbours(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 2, 8, 8] f32"), w = make_param(g, "w", "[6, 2] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId u = make_view(g, OP_UNFOLD, "axis=2, kernel=2, count=4, stride=2", x); // N C ph H W
    ValueId v = make_view(g, OP_UNFOLD, "axis=4, kernel=2, count=4, stride=2", u);
    ValueId turned = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 3, 5, 2, 4, 1]", v); // N H W ph pw C
    ValueId weight = make_view(g, OP_BROADCAST_TO, "shape=[N, 6, 2]", w);
    ValueId c = make_contract(g, "batch=1, k=1", weight, turned);
    ValueId m = make_op(g, OP_MAX, "m", "axis=[4, 5]", c, 0, 0);
    make_finish(g, fused, make_op(g, OP_RELU, "r", NULL, m, 0, 0));
    check_form(g, "portable", NULL, 1e-6);
    check_form(g, "portable", &forms[0], 1e-6);
    check_form(g, "h200", NULL, 1e-6);
    graph_destroy(g);
}

static void empty_operands(void **state) {
    (void)state;
    static const char *const shapes[][2] = {
        {"[N, 12] f32", "[8, 12] f32"}, {"[6, N] f32", "[8, N] f32"}, {"[6, 5] f32", "[N, 5] f32"}};
    for (unsigned i = 0; i < 3; i++) {
        Graph *g = graph_create("m");
        dim_symbol(g->dims, "N", 0, 64);
        ValueId x = make_input(g, "x", shapes[i][0]), y = make_input(g, "y", shapes[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused, make_contract(g, NULL, x, y));
        for (int64_t n = 0; n < 3; n += 2) {
            ProgramCheck check = {
                .target = "portable", .symbols = &n, .scale = 1, .tolerance = 1e-6};
            program_check(g, &check);
            check.target = "h200";
            program_check(g, &check);
        }
        graph_destroy(g);
    }
}

static void strict_rounding(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 12] f16"), y = make_input(g, "y", "[8, 12] f16");
    ValueId bias = make_input(g, "bias", "[8] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_op(g, OP_ADD, "s", NULL, make_contract(g, NULL, x, y), bias, 0));
    int64_t n = 9;
    ProgramCheck check = {
        .target = "portable", .symbols = &n, .strict = true, .scale = 1, .tolerance = 1e-3};
    program_check(g, &check);
    graph_destroy(g);
}

static void schedules_that_do_not_fit(void **state) {
    (void)state;
    Target target;
    target_builtin("portable", &target);
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 12] f32"), y = make_input(g, "y", "[8, 12] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_contract(g, NULL, x, y));
    static const Schedule bad[] = {
        {.local = 64, .tile_m = 32, .tile_n = 32, .tile_k = 16, .reg_m = 4, .reg_n = 8},
        {.local = 64, .tile_m = 30, .tile_n = 32, .tile_k = 16, .reg_m = 4, .reg_n = 4},
        {.local = 64, .tile_m = 64, .tile_n = 64, .tile_k = 128, .reg_m = 8, .reg_n = 8},
        {.local = 64},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        Diags *diags = diags_create();
        CompileOptions options = {0};
        Plan *plan;
        Program *program;
        assert_true(plan_build(g, &target, &options, diags, &plan));
        plan->run.at[0].alternatives.at[0].schedule = bad[i];
        assert_false(lower_program(plan, diags, &program));
        assert_int_equal(diags_error_count(diags), 1);
        diags_destroy(diags);
    }
    graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(edges_of_large_tiles),
        cmocka_unit_test(transposed_operands),
        cmocka_unit_test(batches_and_axes),
        cmocka_unit_test(epilogue_and_prologue),
        cmocka_unit_test(convolution_with_padding),
        cmocka_unit_test(convolution_over_images),
        cmocka_unit_test(pooling),
        cmocka_unit_test(pooling_of_neighbours),
        cmocka_unit_test(empty_operands),
        cmocka_unit_test(strict_rounding),
        cmocka_unit_test(schedules_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
