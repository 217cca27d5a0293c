// What becomes one dispatch: groups counted after all passes, values compared after each of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/graph_make.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

static void output(Graph *g, ValueId value) {
    graph_add_output(g, graph_value(g, value)->name, NULL, value, (Loc){0});
}

static void expect(Graph *g, double tolerance, const char *groups) {
    g = pass_run_checked(g, NULL, 3, tolerance);
    assert_string_equal(pass_groups(g), groups);
    graph_destroy(g);
}

static ValueId dense(Graph *g, const char *name, ValueId x, const char *weight, const char *bias) {
    ValueId w = make_param(g, arena_printf(g->arena, "%s.weight", name), weight);
    ValueId b = make_param(g, arena_printf(g->arena, "%s.bias", name), bias);
    return make_op(g, OP_LINEAR, arena_printf(g->arena, "%s.linear", name), NULL, x, w, b);
}

static ValueId conv(Graph *g, const char *name, ValueId x, const char *weight, const char *bias,
                    const char *attrs) {
    ValueId w = make_param(g, arena_printf(g->arena, "%s.weight", name), weight);
    ValueId b = make_param(g, arena_printf(g->arena, "%s.bias", name), bias);
    return make_op(g, OP_CONV2D, arena_printf(g->arena, "%s.conv2d", name), attrs, x, w, b);
}

static ValueId map1(Graph *g, OpId op, const char *name, ValueId x) {
    return make_op(g, op, name, NULL, x, 0, 0);
}

static void test_lenet(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "image", "[N, 1, 12, 12] f32");
    x = map1(g, OP_TANH, "x.1", conv(g, "conv1", x, "[3, 1, 5, 5] f32", "[3] f32", "padding=2"));
    x = make_op(g, OP_AVG_POOL2D, "x.2", "kernel_size=2", x, 0, 0);
    x = map1(g, OP_TANH, "x.3", conv(g, "conv2", x, "[4, 3, 3, 3] f32", "[4] f32", NULL));
    x = make_op(g, OP_AVG_POOL2D, "x.4", "kernel_size=2", x, 0, 0);
    x = make_op(g, OP_FLATTEN, "f.0", "start_dim=1", x, 0, 0);
    x = map1(g, OP_TANH, "f.1", dense(g, "fc1", x, "[12, 16] f32", "[12] f32"));
    x = map1(g, OP_TANH, "f.2", dense(g, "fc2", x, "[8, 12] f32", "[8] f32"));
    ValueId logits = dense(g, "fc3", x, "[10, 8] f32", "[10] f32");
    output(g, logits);
    output(g, map1(g, OP_SOFTMAX, "probs", logits));
    output(g, make_op(g, OP_ARGMAX, "label", "axis=-1", logits, 0, 0));
    expect(g, 1e-6, "contract contract contract contract contract row");
}

static void test_mlp_half(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 8] f16");
    ValueId h = make_op(g, OP_LAYER_NORM, "h", NULL, x, make_param(g, "w", "[8] f16"),
                        make_param(g, "b", "[8] f16"));
    h = map1(g, OP_GELU, "g", dense(g, "up", h, "[32, 8] f16", "[32] f16"));
    h = dense(g, "down", h, "[8, 32] f16", "[8] f16");
    output(g, make_op(g, OP_ADD, "y", NULL, h, x, 0));
    expect(g, 2e-3, "row contract contract");
}

static void test_map_chains(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 6] f32"), y = make_input(g, "y", "[6] f32");
    ValueId a = map1(g, OP_EXP, "a", x), b = map1(g, OP_SIN, "b", x);
    ValueId c = make_op(g, OP_MULTIPLY, "c", NULL, make_op(g, OP_ADD, "d", NULL, a, b, 0), y, 0);
    output(g, c);
    output(g, a);
    output(g, map1(g, OP_COS, "e", x)); // shares x
    expect(g, 1e-6, "map");
}

// A value that needs a reduce of the group must not join it: x -> sum -> other kernel -> x.
static void test_no_cycle(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[4, 4] f32");
    ValueId a = map1(g, OP_EXP, "a", x);
    ValueId m = make_op(g, OP_MATMUL, "m", NULL, a, a, 0);
    ValueId s = make_op(g, OP_ADD, "s", NULL, a, map1(g, OP_TANH, "t", m), 0);
    output(g, make_op(g, OP_ADD, "u", NULL, s, a, 0));
    expect(g, 1e-6, "map contract");
}

static void test_rows(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 6] f32"), r = make_input(g, "r", "[N, 6] f32");
    ValueId h = make_op(g, OP_ADD, "h", NULL, x, r, 0);
    ValueId n = make_op(g, OP_RMS_NORM, "n", NULL, h, make_param(g, "w", "[6] f32"), 0);
    output(g, map1(g, OP_SOFTMAX, "p", n));
    output(g, h);
    expect(g, 1e-6, "row");

    g = make_empty(64);
    x = make_input(g, "x", "[N, 6] f32");
    ValueId m = make_op(g, OP_MEAN, "m", "axis=-1, keepdims=true", x, 0, 0);
    ValueId d = make_op(g, OP_SUBTRACT, "d", NULL, x, m, 0);
    ValueId v = make_op(g, OP_MEAN, "v", "axis=-1, keepdims=true",
                        make_op(g, OP_MULTIPLY, "q", NULL, d, d, 0), 0, 0);
    output(g, make_op(g, OP_MULTIPLY, "y", NULL, d, map1(g, OP_RSQRT, "s", v), 0));
    expect(g, 1e-6, "row");
}

// A softmax of f16 casts first; the argmax of the same logits still shares its row.
static void test_half_logits(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 8] f16");
    ValueId logits = dense(g, "fc", x, "[10, 8] f16", "[10] f16");
    output(g, map1(g, OP_SOFTMAX, "p", logits));
    output(g, make_op(g, OP_ARGMAX, "k", "axis=-1", logits, 0, 0));
    expect(g, 2e-3, "contract row");
}

static void test_axis(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 4, 5] f32");
    ValueId p = make_op(g, OP_SOFTMAX, "p", "axis=1", x, 0, 0);
    output(g, make_op(g, OP_MULTIPLY, "y", NULL, p, x, 0));
    output(g, make_op(g, OP_SUM, "s", "axis=[0, 2], keepdims=true", x, 0, 0));
    expect(g, 1e-6, "row row");
}

static void test_pushed_moves(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 4, 6] f32");
    ValueId e = map1(g, OP_EXP, "e", x);
    ValueId t = make_op(g, OP_TRANSPOSE, "t", "a=1, b=2", e, 0, 0);
    output(g, map1(g, OP_RELU, "r", t)); // hoisted to the load of x
    expect(g, 1e-6, "map");

    g = make_empty(64);
    x = make_input(g, "x", "[N, 4] f32");
    ValueId l = dense(g, "l", x, "[6, 4] f32", "[6] f32");
    t = make_op(g, OP_TRANSPOSE, "t", "a=0, b=1", l, 0, 0);
    output(g, map1(g, OP_TANH, "y", t)); // the contract with its sides exchanged
    expect(g, 1e-6, "contract");

    g = make_empty(64);
    x = make_input(g, "x", "[N, 4, 6, 6] f32");
    ValueId c = conv(g, "c", x, "[6, 2, 3, 3] f32", "[6] f32", "groups=2, padding=1");
    c = map1(g, OP_RELU, "c", c); // sunk below: the grouped shape is merged by who reads it
    output(g, make_op(g, OP_MAX_POOL2D, "p", "kernel_size=3, stride=2, padding=1", c, 0, 0));
    expect(g, 1e-6, "contract row");

    g = make_empty(64);
    x = make_input(g, "x", "[N, 4, 6, 6] f32");
    c = conv(g, "c", x, "[6, 2, 3, 3] f32", "[6] f32", "groups=2, padding=1");
    output(g, map1(g, OP_RELU, "y", c)); // stored in the merged shape by the contract itself
    expect(g, 1e-6, "contract");
}

static void test_spread(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 4, 5] f32"), k = make_input(g, "k", "[5] i32");
    ValueId mask = make_op(g, OP_CAST, "mask", "dtype=f32", k, 0, 0);
    mask = make_op(g, OP_MULTIPLY, "scaled", NULL, mask, make_input(g, "s", "[5] f32"), 0);
    ValueId factor = map1(g, OP_NEGATIVE, "factor", make_input(g, "f", "f32"));
    ValueId a = make_op(g, OP_ADD, "a", NULL, x, mask, 0);
    output(g, map1(g, OP_EXP, "y", make_op(g, OP_MULTIPLY, "b", NULL, a, factor, 0)));
    expect(g, 1e-6, "map");
}

static void test_prepare(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 4, 3, 3] f32");
    ValueId operand[] = {x, make_param(g, "mean", "[4] f32"),
                         make_param(g, "positive.var", "[4] f32"), make_param(g, "w", "[4] f32"),
                         make_param(g, "b", "[4] f32")};
    NodeId node = make_node(g, NULL, OP_BATCH_NORM, "y", NULL, operand, 5);
    output(g, graph_result(g, node, 0));
    expect(g, 1e-6, "map/prepare map");
}

static void test_join(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 3] f32"), y = make_input(g, "y", "[N, 4] f32");
    ValueId part[] = {map1(g, OP_EXP, "a", x), y, map1(g, OP_TANH, "b", y)};
    ValueId c = graph_result(g, make_node(g, NULL, OP_CONCAT, "c", "axis=1", part, 3), 0);
    output(g, map1(g, OP_NEGATIVE, "z", c));
    expect(g, 1e-6, "map");
}

static void test_copies(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 3] f32");
    graph_add_output(g, "same", NULL, x, (Loc){0});
    output(g, make_op(g, OP_TRANSPOSE, "t", "a=0, b=1", x, 0, 0));
    expect(g, 0, "map map");
}

static void test_pools(void **state) {
    (void)state;
    static const char *const attrs[] = {
        "kernel_size=2", "kernel_size=3, stride=2, padding=1",
        "kernel_size=3, stride=2, padding=1, count_include_pad=false",
        "kernel_size=3, stride=2, ceil_mode=true", "kernel_size=[2, 3], stride=[1, 2]"};
    for (unsigned i = 0; i < sizeof attrs / sizeof *attrs; i++) {
        Graph *g = make_empty(64);
        ValueId x = make_input(g, "x", "[N, 2, 7, 8] f32");
        output(g, make_op(g, OP_AVG_POOL2D, "y", attrs[i], x, 0, 0));
        graph_destroy(pass_run_checked(g, NULL, 2, 1e-6));
    }
    static const char *const sizes[] = {"output_size=1", "output_size=[7, 4]",
                                        "output_size=[3, 5]"};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Graph *g = make_empty(64);
        ValueId x = make_input(g, "x", "[N, 2, 7, 8] f32");
        output(g, make_op(g, OP_ADAPTIVE_AVG_POOL2D, "y", sizes[i], x, 0, 0));
        graph_destroy(pass_run_checked(g, NULL, 2, 1e-6));
    }
}

static void test_repeat(void **state) {
    (void)state;
    Graph *g = make_empty(64);
    ValueId x = make_input(g, "x", "[N, 4] f32");
    ValueId h = map1(g, OP_TANH, "h", x);
    NodeId repeat = graph_begin_repeat(g, "i", 0, 3, &h, 1, NULL, 0);
    ValueId in = graph_node(g, repeat)->param[0];
    ValueId out = map1(g, OP_SIN, "s", dense(g, "l", in, "[4, 4] f32", "[4] f32"));
    graph_end_repeat(g, repeat, &out);
    output(g, map1(g, OP_EXP, "y", graph_result(g, repeat, 0)));
    expect(g, 1e-6, "map [contract] map");
}

static Graph *load(const char *file) {
    FILE *stream = fopen(file, "rb");
    if (!stream) fail_msg("%s is missing", file);
    char buffer[65536];
    size_t length = fread(buffer, 1, sizeof buffer - 1, stream);
    fclose(stream);
    buffer[length] = 0;
    return pass_load(buffer);
}

static void test_files(void **state) {
    (void)state;
    Graph *g = pass_run_checked(load("examples/digits/lenet5.adp"), NULL, 2, 1e-6);
    assert_string_equal(pass_groups(g), "contract contract contract contract contract row");
    graph_destroy(g);

    // States: an older version that is read after an update is kept by a copy; two updates of one
    // state are never one dispatch.
    g = pass_run_checked(load("tests/golden/language/everything.adp"), NULL, 3, 2e-3);
    assert_non_null(strstr(pass_groups(g), "[map map map map map]"));
    graph_destroy(g);
    graph_destroy(pass_run_checked(load("tests/golden/language/versions.adp"), NULL, 3, 1e-6));
    graph_destroy(pass_run_checked(load("tests/golden/language/nested_repeat.adp"), NULL, 3, 1e-6));
}

// The same and more files as kernels on the interpreter: states, repeats, what is prepared.
static void test_file_programs(void **state) {
    (void)state;
    static const char *const files[] = {
        "tests/golden/language/versions.adp",     "tests/golden/language/nested_repeat.adp",
        "tests/golden/language/everything.adp",   "tests/golden/passes/fuse_repeat.adp",
        "tests/golden/passes/fuse_chain.adp",     "tests/golden/passes/fuse_copies.adp",
        "tests/golden/passes/fuse_cut.adp",       "tests/golden/passes/fuse_rows.adp",
        "tests/golden/passes/fuse_squeeze.adp",   "tests/golden/passes/decompose_windows.adp",
        "tests/golden/passes/push_moves.adp",     "tests/golden/passes/decompose_products.adp",
        "tests/golden/passes/decompose_rows.adp", "tests/golden/passes/fold_views.adp",
        "tests/golden/passes/simplify.adp",       "tests/golden/passes/fuse_levels.adp"};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        Graph *g = pass_run_target(load(files[i]), "portable");
        int64_t symbols[64];
        for (unsigned j = 0; j < 64; j++) symbols[j] = 3;
        ProgramCheck check = {.target = "portable", .symbols = symbols, .tolerance = 1e-2};
        program_check(g, &check);
        graph_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lenet),      cmocka_unit_test(test_mlp_half),
        cmocka_unit_test(test_map_chains), cmocka_unit_test(test_no_cycle),
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_half_logits),
        cmocka_unit_test(test_axis),       cmocka_unit_test(test_pushed_moves),
        cmocka_unit_test(test_prepare),    cmocka_unit_test(test_spread),
        cmocka_unit_test(test_join),       cmocka_unit_test(test_copies),
        cmocka_unit_test(test_pools),      cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_files),      cmocka_unit_test(test_file_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
