// Random compositions of moves on the device, against the evaluator: every bit. A failure prints
// the graph; ADEPT_RANDOM_GRAPHS=n runs n of them, ADEPT_RANDOM_GRAPH=i just that one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/support/device_check.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_moves.h"

enum { GRAPHS = 12, CHAINS = 8 };

static void views(void **state) {
    (void)state;
    unsigned first, last;
    random_range(GRAPHS, &first, &last);
    const Bound bound[CHAINS] = {{.bits = true}, {.bits = true}, {.bits = true}, {.bits = true},
                                 {.bits = true}, {.bits = true}, {.bits = true}, {.bits = true}};
    static const int64_t sizes[] = {1, 2, 5, 7, 16, 17};
    for (unsigned seed = first; seed < last; seed++) {
        char name[32];
        int64_t dims[64] = {sizes[seed % 6]};
        Graph *made = random_moves(1000 + seed, CHAINS, 6, dims[0]);
        Text text = {0};
        graph_print(made, &text);
        snprintf(name, sizeof name, "moves %u", seed);
        DeviceModel *model = device_model_open(name, text.data, NULL);
        device_model_check(model, dims, seed, bound);
        device_model_close(model);
        graph_destroy(made);
        text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(views)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_check_report();
    return failed;
}
