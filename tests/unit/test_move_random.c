// 10,000 random compositions of moves in compiled kernels, on the interpreter, against the
// evaluator: every bit. ADEPT_RANDOM_GRAPHS=n runs n graphs of them, ADEPT_RANDOM_GRAPH=i just that
// one and shows it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "passes/pass.h"
#include "tests/support/program_run.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_moves.h"

enum { GRAPHS = 1000, CHAINS = 10 };

static void test_moves(void **state) {
    (void)state;
    unsigned first, last;
    random_range(GRAPHS, &first, &last);
    static const int64_t sizes[] = {1, 2, 5, 7, 16, 17};
    for (unsigned seed = first; seed < last; seed++) {
        int64_t symbols[64] = {sizes[seed % 6]};
        Graph *g = random_moves(seed, CHAINS, symbols[0]);
        if (last == first + 1) {
            Text text = {0};
            graph_print(g, &text);
            fputs(text.data, stderr);
            text_free(&text);
        }
        PassOptions options = pass_options();
        options.verify_each = false;
        if (seed % 4 == 3) options.disable = "simplify,push-moves,tidy,layouts,move-to-prepare";
        Diags *diags = diags_create();
        g = pass_run_all(g, &options, diags, NULL);
        if (!g) {
            Text text = {0};
            diags_render(diags, &text);
            fail_msg("ADEPT_RANDOM_GRAPH=%u: %s", seed, text.data);
        }
        ProgramCheck check = {.target = seed % 2 ? "portable" : "h200", .symbols = symbols};
        program_check(g, &check);
        graph_destroy(g);
        diags_destroy(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
