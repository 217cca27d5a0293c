// Channels last: which values are, that every pass keeps their values, and the kernels on the
// interpreter with the schedules of a device with fragments.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "passes/contract_shape.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

static Graph *load(const char *body) {
    return pass_load_lines("dim N in 1..=4", body);
}

// The graph after all passes, its values compared after each of them.
static Graph *run(const char *body, int64_t n) {
    return pass_run_checked(load(body), NULL, n, 2e-3);
}

static const Type *type_of(const Graph *g, const char *name) {
    ValueId value = graph_find(g, name);
    if (!value) fail_msg("there is no %s", name);
    return &graph_value(g, value)->type;
}

static void expect_shape(const Graph *g, const char *name, const char *shape) {
    Text text = {0};
    const Type *type = type_of(g, name);
    for (uint32_t i = 0; i < type->rank; i++) {
        if (i) text_put(&text, " ");
        dim_print(g->dims, type->size[i], &text);
    }
    assert_string_equal(text.data, shape);
    text_free(&text);
}

// The same for a target.
static Graph *compiled(const char *body, const char *name, int64_t n) {
    Target target;
    assert_true(target_builtin(name, &target));
    return pass_run_checked_for(load(body), NULL, n, 2e-3, &target);
}

static void check_kernels(const char *body, const char *target, double tolerance) {
    static const int64_t batches[] = {1, 3};
    for (unsigned i = 0; i < 2; i++) {
        const int64_t symbols[8] = {batches[i]}; // the trips of repeats come after it
        Graph *g = compiled(body, target, batches[i]);
        ProgramCheck check = {
            .target = target, .symbols = symbols, .tolerance = tolerance, .scale = 0.5};
        program_check(g, &check);
        graph_destroy(g);
    }
}

#define BLOCK                                                                                      \
    "input x : [N, 3, 9, 7] f16\n"                                                                 \
    "param w1 : [16, 3, 3, 3] f16\n"                                                               \
    "param b1 : [16] f16\n"                                                                        \
    "param w2 : [24, 16, 3, 3] f16\n"                                                              \
    "param w3s : [16, 24, 1, 1] f32\n"                                                             \
    "w3 = cast(w3s, dtype=f16)\n"                                                                  \
    "h = relu(conv2d(x, w1, b1, stride=2, padding=1))\n"                                           \
    "p = max_pool2d(h, 3, stride=1, padding=1)\n"                                                  \
    "a = relu(conv2d(p, w2, padding=1))\n"                                                         \
    "c = conv2d(a, w3) + p\n"

// The stem reads the image as it is; from its result on channels are last, through the pool and the
// residual, to the sum over places. Weights follow, whether a cast stores them anyway or not.
static void test_block(void **state) {
    (void)state;
    const char *body = BLOCK "output y = mean(c, axis=[2, 3])\n";
    Graph *g = run(body, 2);
    expect_shape(g, "h", "N 5 4 16");
    expect_shape(g, "p", "N 5 4 16");
    expect_shape(g, "a", "N 5 4 24");
    expect_shape(g, "c", "N 5 4 16");
    expect_shape(g, "y", "N 16");
    graph_destroy(g);
    check_kernels(body, "h200", 1.5e-2);
    check_kernels(body, "portable", 1.5e-2);
}

// An output keeps the order of the file; a value that is one too is turned for it only if that
// pays.
static void test_outputs(void **state) {
    (void)state;
    Graph *g = run(BLOCK "output y = c\n", 1);
    expect_shape(g, "c", "N 16 5 4");
    expect_shape(g, "p", "N 5 4 16");
    expect_shape(g, "a", "N 5 4 24");
    graph_destroy(g);
    check_kernels(BLOCK "output y = c\n", "h200", 1.5e-2);
}

// What a repeat carries is in one order from its start to its end.
static void test_repeat(void **state) {
    (void)state;
    const char *body = BLOCK "repeat i in 0..2 {\n"
                             "    param v : [16, 16, 3, 3] f16 from \"v.{i}\"\n"
                             "    c = relu(c + 0.1 * conv2d(c, v, padding=1))\n"
                             "}\n"
                             "output y = max(c, axis=[2, 3])\n";
    Graph *g = run(body, 2);
    expect_shape(g, "c.2", "N 5 4 16");
    graph_destroy(g);
    check_kernels(body, "h200", 2e-2);
}

// Where channels are no whole vectors nothing changes.
static void test_odd(void **state) {
    (void)state;
    Graph *g = run("input x : [N, 3, 9, 7] f16\n"
                   "param w1 : [9, 3, 3, 3] f16\n"
                   "param w2 : [5, 9, 3, 3] f16\n"
                   "h = relu(conv2d(x, w1))\n"
                   "output y = conv2d(h, w2)\n",
                   2);
    expect_shape(g, "h", "N 9 7 5");
    graph_destroy(g);
}

// Softmax over channels, a product of the flattened map, joins along channels.
static void test_readers(void **state) {
    (void)state;
    const char *body = BLOCK "s = softmax(c, axis=1)\n"
                             "j = concat([c, s, h], axis=1)\n"
                             "param w4 : [8, 48, 1, 1] f16\n"
                             "param fc : [5, 160] f16\n"
                             "f = conv2d(j, w4)\n"
                             "output y = linear(flatten(f, start_dim=1), fc)\n";
    graph_destroy(run(body, 2));
    check_kernels(body, "h200", 1.5e-2);
}

static void test_conv1d(void **state) {
    (void)state;
    const char *body = "input x : [N, 2, 21] f16\n"
                       "param w1 : [16, 2, 3] f16\n"
                       "param w2 : [16, 16, 3] f16\n"
                       "h = relu(conv1d(x, w1, padding=1))\n"
                       "h2 = conv1d(h, w2, padding=2, dilation=2)\n"
                       "output y = sum(h2, axis=2)\n";
    Graph *g = run(body, 3);
    expect_shape(g, "h", "N 21 16");
    graph_destroy(g);
    check_kernels(body, "h200", 1.5e-2);
}

// A convolution of an image whose channels are last as the host gives it, with fragments.
static void test_fragments(void **state) {
    (void)state;
    static const Schedule forms[] = {{.form = "coop",
                                      .local = 64,
                                      .tile_m = 32,
                                      .tile_n = 32,
                                      .tile_k = 32,
                                      .warp_m = 16,
                                      .warp_n = 32,
                                      .stages = 1},
                                     {.form = "coop",
                                      .local = 64,
                                      .tile_m = 64,
                                      .tile_n = 16,
                                      .tile_k = 16,
                                      .warp_m = 32,
                                      .warp_n = 16,
                                      .stages = 2,
                                      .unroll = 4}};
    static const char *const convs[] = {"padding=1", "stride=2, padding=[[0, 1], [2, 0]]",
                                        "dilation=2", "stride=3"};
    for (unsigned i = 0; i < 8; i++) {
        Text body = {0};
        text_printf(&body,
                    "input x : [N, 9, 7, 16] f16\nparam w : [24, 16, 3, 3] f16\n"
                    "param b : [24] f16\n"
                    "y = relu(conv2d(permute_dims(x, axes=[0, 3, 1, 2]), w, b, %s))\n"
                    "output z = permute_dims(y, axes=[0, 2, 3, 1])\n",
                    convs[i % 4]);
        Schedule form = forms[i / 4];
        form.subgroup = 32, form.frag_m = form.frag_n = form.frag_k = 16;
        Graph *g = pass_run_target(load(body.data), "portable");
        int64_t batch = 2;
        ProgramCheck check = {
            .target = "h200", .symbols = &batch, .tolerance = 1.5e-2, .scale = 0.5, .force = &form};
        const Plan *plan = program_check(g, &check)->plan;
        ContractShape product; // all images are rows of one: the weight is there once
        assert_true(contract_shape(g, plan->run.at[0].node, &product));
        assert_true(dim_is(g->dims, product.batch, 1));
        graph_destroy(g);
        text_free(&body);
    }
}

// Images of 1 to 7 channels are filled up to whole vectors where there are fragments; of 8 not.
static void test_images(void **state) {
    (void)state;
    static const char *const convs[] = {"3, 3", "7, 7", "5, 2", "1, 1"};
    static const char *const attrs[] = {"stride=2, padding=[[1, 1], [1, 2]]", "stride=2, padding=3",
                                        "padding=[[0, 2], [1, 0]], dilation=[2, 1]", "stride=1"};
    for (int i = 0; i < 8; i++) {
        Text body = {0};
        text_printf(&body,
                    "input x : [N, %d, 9, 11] f16\nparam w : [16, %d, %s] f16\n"
                    "param b : [16] f16\nparam v : [8, 16, 3, 3] f16\n"
                    "h = relu(conv2d(x, w, b, %s))\n"
                    "output y = mean(conv2d(h, v, padding=1), axis=[2, 3])\n",
                    1 + i, 1 + i, convs[(i + i / 4) % 4], attrs[(i + i / 4) % 4]);
        int64_t batch = 2;
        Graph *g = compiled(body.data, "h200", batch);
        assert_int_equal(pass_says(g, "rows of"), i != 7);
        ProgramCheck check = {
            .target = "h200", .symbols = &batch, .tolerance = 1.5e-2, .scale = 0.5};
        program_check(g, &check);
        graph_destroy(g);
        text_free(&body);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),     cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_repeat),    cmocka_unit_test(test_odd),
        cmocka_unit_test(test_readers),   cmocka_unit_test(test_conv1d),
        cmocka_unit_test(test_fragments), cmocka_unit_test(test_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
