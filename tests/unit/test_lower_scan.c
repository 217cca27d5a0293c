// Kernels of family "scan" on the interpreter, against the evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

static const char *const targets[] = {"portable", "lavapipe-debian12", "h200"};

// All results of `value`'s node as outputs of one fused node.
static void finish(Graph *g, NodeId fused, ValueId value) {
    const Node *node = graph_node(g, graph_value(g, value)->node);
    graph_end_fused(g, fused, node->result, node->results);
    for (uint32_t i = 0; i < node->results; i++)
        graph_add_output(g, i ? "q" : "p", NULL, node->result[i], (Loc){0});
    g->stage = STAGE_FUSED;
}

static void check(Graph *g, const int64_t *sizes, unsigned count, double tolerance,
                  const Schedule *force) {
    for (unsigned t = 0; t < sizeof targets / sizeof targets[0]; t++)
        for (unsigned i = 0; i < count; i++) {
            Schedule forced = force ? *force : (Schedule){0};
            ProgramCheck run = {.target = targets[t],
                                .symbols = &sizes[i],
                                .tolerance = tolerance,
                                .force = force ? &forced : NULL};
            program_check(g, &run);
        }
    graph_destroy(g);
}

static Graph *sum_of(const char *type, const char *attrs, const char *first) {
    Graph *g = make_empty(10000);
    ValueId x = make_input(g, "x", type), y = first ? make_input(g, "y", first) : 0;
    NodeId fused = graph_begin_fused(g, "k", "scan", false);
    finish(g, fused, make_op(g, OP_PREFIX_SUM, "s", attrs, x, y, 0));
    return g;
}

static void sums(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 63, 64, 65, 257, 1100};
    static const Schedule lanes[] = {
        {.local = 64, .lanes = 1, .rows = 64, .vec = 1, .items = 8},
        {.local = 64, .lanes = 16, .rows = 4, .vec = 1, .items = 1},
        {.local = 64, .lanes = 64, .rows = 1, .vec = 1, .items = 3},
    };
    check(sum_of("[3, N] f32", "axis=1", NULL), sizes, 7, 1e-5, NULL);
    check(sum_of("[N, 5] f16", "axis=0", NULL), sizes, 6, 2e-3, NULL);
    check(sum_of("[5, 4 * N] i32", "axis=1", NULL), sizes, 7, 0, NULL);
    check(sum_of("[2, N, 3] u32", "axis=1", NULL), sizes, 6, 0, NULL);
    check(sum_of("[3, 32 * N + 7] f32", "axis=1, chunk=32", "[3, N + 1] f32"), sizes, 7, 1e-5,
          NULL);
    check(sum_of("[8 * N, 2] f16", "axis=0, chunk=8", "[N, 2] f32"), sizes, 6, 2e-3, NULL);
    for (unsigned i = 0; i < 3; i++)
        check(sum_of("[3, N] f32", "axis=1", NULL), sizes, 6, 1e-5, &lanes[i]);
}

static void sums_of_subgroups(void **state) {
    (void)state;
    Schedule wide = {.local = 256, .lanes = 128, .rows = 2, .vec = 4, .items = 2, .subgroup = 32};
    Schedule narrow = {.local = 64, .lanes = 8, .rows = 8, .vec = 1, .items = 1, .subgroup = 32};
    static const int64_t sizes[] = {1, 33, 700};
    for (unsigned i = 0; i < 3; i++) {
        Graph *g = sum_of("[3, 4 * N] f32", "axis=1", NULL);
        ProgramCheck run = {
            .target = "h200", .symbols = &sizes[i], .tolerance = 1e-5, .force = &wide};
        program_check(g, &run);
        run.force = &narrow;
        program_check(g, &run);
        graph_destroy(g);
    }
}

static Graph *sort_of(const char *type, const char *attrs) {
    Graph *g = make_empty(10000);
    ValueId x = make_input(g, "x", type);
    NodeId fused = graph_begin_fused(g, "k", "scan", false);
    finish(g, fused, make_op(g, OP_SORT_BLOCKS, "s", attrs, x, 0, 0));
    return g;
}

static void sorts(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 63, 64, 65, 130, 300};
    check(sort_of("[3, N] f32", "axis=1, chunk=64"), sizes, 7, 0, NULL);
    check(sort_of("[N, 3] f16", "axis=0, chunk=512, descending=true"), sizes, 7, 0, NULL);
    check(sort_of("[N] u32", "axis=0, chunk=16"), sizes, 7, 0, NULL);
    check(sort_of("[2, N, 2] i32", "axis=1, chunk=2048"), sizes, 3, 0, NULL);
}

// Rows of made-up numbers, first sorted in blocks.
static void merges(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 15, 16, 17, 64, 65, 200};
    static const char *const merge[] = {"axis=0, chunk=16, fan=4", "axis=1, chunk=16, fan=3"};
    static const char *const sort[] = {"axis=0, chunk=16", "axis=1, chunk=16, descending=true"};
    for (unsigned i = 0; i < 2; i++) {
        Graph *g = make_empty(10000);
        ValueId x = make_input(g, "x", i ? "[2, N] i32" : "[N, 2] f16");
        NodeId fused = graph_begin_fused(g, "k", "scan", false);
        ValueId keys = make_op(g, OP_SORT_BLOCKS, "s", sort[i], x, 0, 0);
        ValueId order = graph_node(g, graph_value(g, keys)->node)->result[1];
        graph_end_fused(g, fused, (ValueId[]){keys, order}, 2);
        fused = graph_begin_fused(g, "l", "scan", false);
        finish(g, fused, make_op(g, OP_MERGE_BLOCKS, "t", merge[i], keys, order, 0));
        check(g, sizes, 7, 0, NULL);
    }
}

// Updates joined at indices of which some are outside, some several times.
static void segments(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 7, 64, 65, 150};
    static const char *const reduction[] = {"none", "add", "mul", "min", "max"};
    static const char *const types[][2] = {{"[2, 9] f32", "[2, N] f32"},
                                           {"[2, 9] i32", "[2, N] i32"}};
    for (unsigned r = 0; r < 10; r++) {
        Graph *g = make_empty(10000);
        ValueId x = make_input(g, "x", types[r % 2][0]), u = make_input(g, "u", types[r % 2][1]);
        ValueId index = make_input(g, "i", "[2, N] i32");
        NodeId fused = graph_begin_fused(g, "k", "scan", false);
        ValueId keys = make_op(g, OP_SORT_BLOCKS, "s", "axis=1, chunk=256", index, 0, 0);
        ValueId order = graph_node(g, graph_value(g, keys)->node)->result[1];
        graph_end_fused(g, fused, (ValueId[]){keys, order}, 2);
        fused = graph_begin_fused(g, "l", "scan", false);
        char attrs[64] = "axis=1, reduction=";
        strcat(attrs, reduction[r / 2]);
        ValueId operand[] = {x, keys, order, u};
        NodeId node = make_node(g, NULL, OP_SEGMENTS, "t", attrs, operand, 4);
        assert_true(node);
        finish(g, fused, graph_result(g, node, 0));
        check(g, sizes, 5, 1e-5, NULL);
    }
    Graph *g = make_empty(10000);
    ValueId index = make_input(g, "i", "[N] i32");
    NodeId fused = graph_begin_fused(g, "k", "scan", false);
    ValueId keys = make_op(g, OP_SORT_BLOCKS, "s", "axis=0, chunk=256", index, 0, 0);
    graph_end_fused(g, fused, &keys, 1);
    fused = graph_begin_fused(g, "l", "scan", false);
    finish(g, fused, make_op(g, OP_COUNTS, "c", "axis=0, length=N + 3", keys, 0, 0));
    check(g, sizes, 5, 0, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),   cmocka_unit_test(sums_of_subgroups), cmocka_unit_test(sorts),
        cmocka_unit_test(merges), cmocka_unit_test(segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
