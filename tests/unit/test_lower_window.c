// Family "row", form "window": depthwise convolutions and pools on the interpreter, for windows
// side by side and along, against the evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "passes/compile.h"
#include "passes/pass.h"
#include "passes/window_shape.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

static Graph *compiled(const char *body) {
    return pass_run_target(pass_load_lines("dim N in 1..=4", body), "portable");
}

static void check(const char *body, const Schedule *form, double tolerance) {
    Graph *g = compiled(body);
    int64_t batch = 2;
    Schedule copy = form ? *form : (Schedule){0};
    ProgramCheck check = {.target = form ? "portable" : "h200",
                          .symbols = &batch,
                          .tolerance = tolerance,
                          .scale = 0.5,
                          .force = form ? &copy : NULL};
    program_check(g, &check);
    graph_destroy(g);
}

// Every output's columns and rows are multiples of 4 where the forms ask for that.
static const char *const windows[] = {
    "input x : [N, 5, 12, 8] f32\nparam w : [5, 1, 3, 3] f32\nparam b : [5] f32\n"
    "output y = relu(conv2d(x, w, b, padding=1, groups=5))\n",
    "input x : [N, 4, 15, 16] f32\nparam w : [4, 1, 5, 3] f32\n"
    "output y = conv2d(x, w, groups=4, stride=[1, 2], padding=[[0, 1], [1, 1]])\n",
    "input x : [N, 3, 9, 12] f32\nparam w : [6, 1, 3, 3] f32\nparam b : [6] f32\n"
    "output y = conv2d(x, w, b, groups=3, dilation=2, padding=[[2, 1], [2, 2]])\n",
    "input x : [N, 8, 9, 8] f32\nparam w : [8, 1, 4, 1] f32\n"
    "z = conv2d(x, w, groups=8, padding=[[2, 0], [0, 0]])\n"
    "output y = permute_dims(z, axes=[0, 2, 3, 1])\n",
    "input x : [N, 3, 8, 16] f32\noutput y = max_pool2d(x, 3, stride=[1, 2], padding=1)\n",
    "input x : [N, 3, 9, 9] f32\noutput y = avg_pool2d(x, 2, stride=1) * 2.0\n",
    "input x : [N, 3, 8, 8] f32\noutput y = max(x, axis=1) + 1.0\n"};

static void test_forms(void **state) {
    (void)state;
    static const Schedule forms[] = {{.form = "window", .local = 64, .vec = 1, .items = 1},
                                     {.form = "window", .local = 32, .vec = 1, .items = 4},
                                     {.form = "window", .local = 64, .vec = 4, .items = 1},
                                     {.form = "window", .local = 64, .vec = 2, .items = 4}};
    for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++)
        for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++)
            check(windows[i], &forms[f], 1e-5);
}

// What a device's costs choose: also with channels last, and for channels of any number.
static void test_chosen(void **state) {
    (void)state;
    for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++) check(windows[i], NULL, 1e-5);
    for (int channels = 1; channels <= 17; channels += 4) {
        Text body = {0};
        text_printf(&body,
                    "input x : [N, 3, 9, 10] f16\nparam w : [%d, 3, 1, 1] f16\n"
                    "param d : [%d, 1, 3, 3] f16\nparam p : [8, %d, 1, 1] f16\n"
                    "h = relu(conv2d(x, w))\n"
                    "h2 = relu(conv2d(h, d, groups=%d, padding=1, stride=2))\n"
                    "output y = mean(conv2d(h2, p), axis=[2, 3])\n",
                    channels, channels, channels, channels);
        check(body.data, NULL, 1e-2);
        text_free(&body);
    }
    check("input x : [N, 3, 9, 10] f16\nparam w : [16, 3, 1, 1] f16\nparam d : [16, 1, 3, 3] f16\n"
          "param p : [8, 16, 1, 1] f16\nh = relu(conv2d(x, w))\n"
          "h2 = relu(conv2d(h, d, groups=16, padding=1))\n"
          "output y = mean(conv2d(h2, p), axis=[2, 3])\n",
          NULL, 1e-2);
}

// Loads that windows share are made once: 3 rows of 4 + 2 columns and one filter.
static void test_shared(void **state) {
    (void)state;
    Arena *arena = arena_create();
    DimTable *dims = dim_table_create(arena);
    Dim size[] = {dim_const(dims, 8)};
    View view = view_identity(dims, 1, size), unfolded, wide;
    assert_true(view_unfold(dims, &view, 0, dim_const(dims, 3), dim_const(dims, 8), 1, 1,
                            dim_const(dims, 1), 0, &unfolded));
    const uint8_t axes[] = {1, 0};
    assert_true(view_permute(dims, &unfolded, axes, &view));
    Dim four[] = {dim_const(dims, 1), dim_const(dims, 8), dim_const(dims, 3), dim_const(dims, 1)};
    assert_true(view_reshape(dims, &view, 4, four, &wide));
    static const int64_t at[4][4] = {{0, 2, 0, 0}, {0, 1, 1, 0}, {0, 0, 2, 0}, {0, 0, 1, 0}};
    WindowKey a = window_key(dims, &wide, WINDOW_LINEAR, at[0]);
    WindowKey b = window_key(dims, &wide, WINDOW_LINEAR, at[1]);
    WindowKey c = window_key(dims, &wide, WINDOW_LINEAR, at[2]);
    WindowKey d = window_key(dims, &wide, WINDOW_LINEAR, at[3]);
    assert_true(window_key_equal(&a, &b));
    assert_true(window_key_equal(&a, &c));
    assert_false(window_key_equal(&a, &d));
    arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_chosen),
                                       cmocka_unit_test(test_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
