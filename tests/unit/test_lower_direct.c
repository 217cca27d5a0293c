// Family "contract", form "direct": convolutions of few channels on the interpreter, for rows and
// windows of an invocation, rows past the end, rows in workgroup memory, against the evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "frontend/load.h"
#include "passes/compile.h"
#include "passes/pass.h"
#include "tests/support/program_run.h"

static Graph *compiled_for(int batches, const char *body, Diags *diags) {
    Text text = {0};
    text_printf(&text, "adept 1\ndim N in 1..=%d\nmodel m {\n%s}\n", batches, body);
    Graph *graph = NULL;
    if (!load_graph("m.adp", text.data, text.len, NULL, diags, &graph)) fail_msg("%s", text.data);
    text_free(&text);
    PassOptions options = pass_options();
    graph = pass_run_all(graph, &options, diags, NULL);
    assert_non_null(graph);
    return graph;
}

static Graph *compiled(const char *body, Diags *diags) {
    return compiled_for(4, body, diags);
}

static void check(const char *body, const Schedule *form, double tolerance) {
    Diags *diags = diags_create();
    Graph *g = compiled(body, diags);
    int64_t batch = 3;
    Schedule copy = form ? *form : (Schedule){0};
    ProgramCheck check = {.target = form ? "portable" : "h200",
                          .symbols = &batch,
                          .tolerance = tolerance,
                          .scale = 0.5,
                          .force = form ? &copy : NULL};
    program_check(g, &check);
    graph_destroy(g);
    diags_destroy(diags);
}

#define IMAGE "input x : [N, 2, 9, 8] f32\n"

// Products with elements of inner K: 6 or 12; columns of windows: multiples of 4. The rows of all
// but the last two are those of the whole batch.
static const char *const windows[] = {
    IMAGE "param w : [7, 2, 3, 2] f32\nparam b : [7] f32\n"
          "output y = relu(conv2d(x, w, b, padding=[[1, 1], [0, 1]]))\n",
    IMAGE "param w : [4, 2, 3, 2] f32\noutput y = conv2d(x, w, stride=[1, 2], padding=[[0, 2], [1, "
          "0]])\n",
    "input x : [N, 2, 16] f32\nparam w : [5, 2, 6] f32\n"
    "output y = conv1d(x, w, padding=[[3, 2]])\n",
    "input x : [N, 2, 3, 3, 4] f32\nparam w : [3, 2, 1, 3, 2] f32\n"
    "output y = conv3d(x, w, padding=[[0, 0], [1, 1], [1, 0]])\n",
    "input x : [N, 9, 8, 2] f32\nparam w : [5, 2, 3, 2] f32\n"
    "output y = conv2d(permute_dims(x, axes=[0, 3, 1, 2]), w, padding=[[1, 1], [0, 1]])\n",
    "input x : [N, 2, 9, 8] i32\nparam w : [5, 2, 3, 2] i32\n"
    "output y = conv2d(x, w, padding=[[1, 1], [0, 1]])\n",
    IMAGE "param w : [8, 2, 3, 2] f32\nz = conv2d(x, w, padding=[[1, 1], [0, 1]])\n"
          "output y = permute_dims(z, axes=[0, 2, 3, 1])\n",
    "input x : [N, 4, 9, 8] f32\nparam w : [6, 2, 3, 2] f32\nparam b : [6] f32\n"
    "output y = conv2d(x, w, b, groups=2, dilation=[2, 1], padding=[[2, 2], [0, 1]])\n"};

enum { WINDOWS = sizeof windows / sizeof *windows, SHARED = WINDOWS - 2 };

static void test_forms(void **state) {
    (void)state;
    static const Schedule forms[] = {
        {.form = "direct", .local = 64, .tile_k = 6, .reg_m = 1, .reg_n = 1},
        {.form = "direct", .local = 32, .tile_k = 6, .reg_m = 3, .reg_n = 4},
        {.form = "direct", .local = 64, .tile_k = 3, .reg_m = 2, .reg_n = 2},
        {.form = "direct",
         .local = 64,
         .tile_k = 6,
         .reg_m = 2,
         .reg_n = 2,
         .lanes = 2,
         .subgroup = 32},
        {.form = "direct",
         .local = 32,
         .tile_k = 2,
         .reg_m = 1,
         .reg_n = 4,
         .lanes = 8,
         .subgroup = 8}};
    for (unsigned i = 0; i < WINDOWS; i++)
        for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++)
            check(windows[i], &forms[f], 1e-5);
}

// Rows by way of workgroup memory: those of groups differ within a workgroup.
static void test_staged(void **state) {
    (void)state;
    static const Schedule forms[] = {
        {.form = "direct", .local = 64, .tile_k = 6, .reg_m = 1, .reg_n = 1, .stages = 1},
        {.form = "direct", .local = 32, .tile_k = 6, .reg_m = 2, .reg_n = 4, .stages = 1},
        {.form = "direct", .local = 32, .tile_k = 6, .reg_m = 4, .reg_n = 2, .stages = 1}};
    for (unsigned i = 0; i < SHARED; i++)
        for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++)
            check(windows[i], &forms[f], 1e-5);
}

static void test_pools(void **state) {
    (void)state;
    static const char *const pools[] = {
        "input x : [N, 1, 8, 8] f32\nparam w : [6, 1, 5, 5] f32\nparam b : [6] f32\n"
        "output y = avg_pool2d(tanh(conv2d(x, w, b, padding=2)), 2)\n",
        "input x : [N, 3, 8, 7] f32\nparam w : [5, 3, 5, 5] f32\nparam b : [5] f32\n"
        "output y = max_pool2d(relu(conv2d(x, w, b, padding=[[2, 2], [2, 3]])), 2) + 1.0\n"};
    static const Schedule forms[] = {
        {.form = "direct", .local = 32, .tile_k = 25, .reg_m = 1, .reg_n = 4},
        {.form = "direct", .local = 64, .tile_k = 5, .reg_m = 6, .reg_n = 8, .stages = 1},
        {.form = "direct", .local = 64, .tile_k = 25, .reg_m = 4, .reg_n = 16},
        {.form = "direct",
         .local = 64,
         .tile_k = 5,
         .reg_m = 1,
         .reg_n = 8,
         .lanes = 8,
         .subgroup = 32},
        {.form = "direct",
         .local = 32,
         .tile_k = 5,
         .reg_m = 2,
         .reg_n = 4,
         .lanes = 4,
         .subgroup = 8},
        {.form = "direct",
         .local = 64,
         .tile_k = 5,
         .reg_m = 1,
         .reg_n = 4,
         .lanes = 2,
         .subgroup = 32}};
    for (unsigned i = 0; i < sizeof pools / sizeof *pools; i++)
        for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++)
            check(pools[i], &forms[f], 1e-5);
}

// What a device's costs choose, for channels of any number and every float.
static void test_chosen(void **state) {
    (void)state;
    for (unsigned i = 0; i < WINDOWS; i++) check(windows[i], NULL, 1e-5);
    static const char *const types[] = {"f32", "f16", "bf16"};
    for (int channels = 1; channels <= 17; channels += 2) {
        Text body = {0};
        text_printf(&body,
                    "input x : [N, %d, 8, 9] %s\nparam w : [%d, %d, 3, 3] %s\n"
                    "output y = conv2d(x, w, padding=1, stride=%d)\n",
                    channels % 5 + 1, types[channels % 3], channels, channels % 5 + 1,
                    types[channels % 3], channels % 4 / 2 + 1);
        check(body.data, NULL, channels % 3 ? 1e-2 : 1e-5);
        text_free(&body);
    }
}

// 33,792 invocations are 256 for each of 132 units: 6 rows of 6 windows of a batch are so many up
// to 938 of it. Up to there an invocation makes fewer sums.
static void test_small_batches(void **state) {
    (void)state;
    static const int64_t batches[] = {1, 938, 939};
    Diags *diags = diags_create();
    Graph *g = compiled_for(60000,
                            "input x : [N, 1, 4, 6] f32\nparam w : [6, 1, 3, 3] f32\n"
                            "output y = avg_pool2d(tanh(conv2d(x, w, padding=1)), 2)\n",
                            diags);
    for (unsigned i = 0; i < sizeof batches / sizeof *batches; i++) {
        ProgramCheck check = {
            .target = "h200", .symbols = &batches[i], .tolerance = 1e-5, .scale = 0.5};
        const PlanStep *step = &program_check(g, &check)->plan->run.at[0];
        int64_t most;
        assert_int_equal(step->alternatives.len, 2);
        const Alternative *few = &step->alternatives.at[0], *many = &step->alternatives.at[1];
        assert_string_equal(few->schedule.form, "direct");
        assert_string_equal(many->schedule.form, "direct");
        assert_int_equal(few->conditions, 1);
        assert_int_equal(few->condition[0].relation, DIM_LE);
        assert_true(dim_is_const(g->dims, few->condition[0].right, &most));
        assert_int_equal(most, 938);
        assert_int_equal(many->conditions, 0);
        assert_true(few->schedule.reg_m * few->schedule.reg_n <
                    many->schedule.reg_m * many->schedule.reg_n);
    }
    graph_destroy(g);
    diags_destroy(diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_staged),
                                       cmocka_unit_test(test_pools), cmocka_unit_test(test_chosen),
                                       cmocka_unit_test(test_small_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
