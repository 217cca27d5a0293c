// 10,000 random compositions of moves in compiled kernels, on the interpreter, against the
// evaluator: every bit; a few very long ones, which need copies on the way. ADEPT_RANDOM_GRAPHS=n
// runs n graphs of them, ADEPT_RANDOM_GRAPH=i just that one and shows it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_moves.h"

enum { GRAPHS = 400, CHAINS = 10, LONG_GRAPHS = 20, LONG_CHAINS = 4 };

static void check(unsigned seed, unsigned chains, unsigned longest, bool show) {
    static const int64_t sizes[] = {1, 2, 5, 7, 16, 17};
    int64_t symbols[64] = {sizes[seed % 6]};
    Graph *g = random_moves(seed, chains, longest, symbols[0]);
    if (show) {
        Text text = {0};
        graph_print(g, &text);
        fputs(text.data, stderr);
        text_free(&text);
    }
    PassOptions options = pass_options();
    options.verify_each = false;
    if (seed % 4 == 3) options.disable = "simplify,push-moves,tidy,layouts,move-to-prepare";
    g = pass_run_unchecked(g, &options);
    ProgramCheck check = {.target = seed % 2 ? "portable" : "h200", .symbols = symbols};
    program_check(g, &check);
    graph_destroy(g);
}

static void test_moves(void **state) {
    (void)state;
    unsigned first, last;
    random_range(GRAPHS, &first, &last);
    for (unsigned seed = first; seed < last; seed++) check(seed, CHAINS, 6, last == first + 1);
}

static void test_long(void **state) {
    (void)state;
    unsigned first, last;
    random_range(LONG_GRAPHS, &first, &last);
    for (unsigned seed = first; seed < last; seed++)
        check(seed, LONG_CHAINS, 24, last == first + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
