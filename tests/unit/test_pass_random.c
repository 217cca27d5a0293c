// Random graphs: every pass keeps their values and the verifier's rules. A failure names its graph;
// ADEPT_RANDOM_GRAPHS=n runs n of them instead of the usual number, ADEPT_RANDOM_GRAPH=i just that
// one, and shows what it became.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"
#include "tests/support/random_graph.h"

static void show(const Graph *g) {
    Text text = {0};
    graph_print(g, &text);
    fputs(text.data, stderr); // longer than cmocka prints
    text_free(&text);
}

static void test_random(void **state) {
    (void)state;
    unsigned first, last;
    random_range(150, &first, &last);
    static const char *const passes[] = {NULL, "decompose,fold-views,fuse",
                                         "simplify,decompose,push-moves,fold-views,fuse"};
    for (unsigned seed = first; seed < last; seed++) {
        Graph *g = random_graph(seed, false);
        g = pass_run_checked(g, passes[seed % 3], 1 + seed % 4, random_tolerance(g, 1e-5));
        graph_destroy(g);
    }
}

// The same graphs as kernels, run by the interpreter.
static void test_programs(void **state) {
    (void)state;
    unsigned first, last;
    random_range(40, &first, &last);
    static const char *const disabled[] = {NULL, "push-moves", "simplify,push-moves,tidy"};
    for (unsigned seed = first; seed < last; seed++) {
        int64_t symbols[64];
        for (unsigned i = 0; i < 64; i++) symbols[i] = 1 + seed % 4;
        PassOptions options = pass_options();
        options.disable = disabled[seed % 3];
        Diags *diags = diags_create();
        Graph *g = pass_run_all(random_graph(seed, false), &options, diags, NULL);
        assert_non_null(g);
        if (last == first + 1) show(g);
        ProgramCheck check = {.target = seed % 2 ? "portable" : "h200",
                              .symbols = symbols,
                              .tolerance = random_tolerance(g, 2e-4)};
        program_check(g, &check);
        graph_destroy(g);
        diags_destroy(diags);
    }
}

// Under strict rounding, maps and moves give the evaluator's bits, with every optional pass and
// with none.
static void test_strict(void **state) {
    (void)state;
    unsigned first, last;
    random_range(40, &first, &last);
    for (unsigned seed = 2 * first; seed < 2 * last; seed++) {
        int64_t symbols[64];
        for (unsigned i = 0; i < 64; i++) symbols[i] = 1 + seed / 2 % 4;
        PassOptions options = pass_options();
        options.strict_rounding = true;
        if (seed % 2) options.disable = "simplify,push-moves,tidy,layouts,move-to-prepare";
        Diags *diags = diags_create();
        Graph *g = pass_run_all(random_graph(seed / 2, true), &options, diags, NULL);
        assert_non_null(g);
        if (last == first + 1) show(g);
        ProgramCheck check = {.target = "portable", .symbols = symbols, .strict = true};
        program_check(g, &check);
        graph_destroy(g);
        diags_destroy(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strict), cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
