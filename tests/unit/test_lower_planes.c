// Form "planes" of family "contract" on the interpreter, against the evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/compile.h"
#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

// Two subgroups of one fragment by two, `deep` fragments along K.
#define PLANES(name, size, sub, deep, ...)                                                         \
    {                                                                                              \
        .form = name, .local = 2 * (sub), .subgroup = (sub), .frag_m = (size), .frag_n = (size),   \
        .frag_k = (size), .tile_m = 2 * (size), .tile_n = 2 * (size), .tile_k = (deep) * (size),   \
        .warp_m = (size), .warp_n = 2 * (size), .reg_m = 8, .reg_n = 2, .vec = 4, __VA_ARGS__      \
    }

static const struct Form {
    const char *target;
    Schedule schedule;
} forms[] = {{"lavapipe-debian13", PLANES("planes", 8, 8, 2, .stages = 1)},
             {"h200", PLANES("planes", 16, 32, 2, .stages = 1)},
             {"h200", PLANES("planes", 16, 32, 1, .stages = 2, .unroll = 4)},
             {"lavapipe-debian13", PLANES("halves", 8, 8, 2, .stages = 1)},
             {"h200", PLANES("halves", 16, 32, 2, .stages = 1)},
             {"h200", PLANES("halves", 16, 32, 1, .stages = 2, .unroll = 4)}};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void check_sizes(Graph *g, const int64_t *sizes, unsigned count, double tolerance) {
    for (unsigned f = 0; f < FORMS; f++)
        for (unsigned i = 0; i < count; i++) {
            Schedule copy = forms[f].schedule;
            ProgramCheck check = {.target = forms[f].target,
                                  .symbols = &sizes[i],
                                  .tolerance = tolerance,
                                  .scale = 1,
                                  .force = &copy};
            program_check(g, &check);
        }
    graph_destroy(g);
}

// Every one of M, N and K around the edges of tiles, K along rows and across them.
static void edges(void **state) {
    (void)state;
    static const char *const shapes[][2] = {{"[N, 40] f32", "[24, 40] f32"},
                                            {"[10, N] f32", "[33, N] f32"},
                                            {"[33, 7] f32", "[N, 7] f32"}};
    static const int64_t sizes[] = {1, 15, 16, 17, 33};
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", shapes[i][0]), y = make_input(g, "y", shapes[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused, make_contract(g, NULL, x, y));
        check_sizes(g, sizes, sizeof sizes / sizeof sizes[0], 1e-6);
    }
}

static void transposed_operands(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 12, 31, 36};
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[20, N] f32"), y = make_input(g, "y", "[20, 36] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId xt = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    ValueId yt = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
    make_finish(g, fused, make_contract(g, NULL, xt, yt));
    check_sizes(g, sizes, 4, 1e-6);
}

// Rows and columns so long that many invocations share them.
static void long_sums(void **state) {
    (void)state;
    static const char *const shapes[][2] = {{"[N, 1024] f32", "[17, 1024] f32"},
                                            {"[N, 1100] f32", "[9, 1100] f32"}};
    static const int64_t sizes[] = {1, 18};
    for (unsigned i = 0; i < 2; i++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", shapes[i][0]), y = make_input(g, "y", shapes[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused, make_contract(g, NULL, x, y));
        check_sizes(g, sizes, 2, 3e-5); // of sums of up to 1,100 products
    }
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[1024, N] f32"), y = make_input(g, "y", "[1024, 20] f32");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId xt = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    ValueId yt = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
    make_finish(g, fused, make_contract(g, NULL, xt, yt));
    check_sizes(g, sizes, 2, 3e-5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges),
        cmocka_unit_test(transposed_operands),
        cmocka_unit_test(long_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
