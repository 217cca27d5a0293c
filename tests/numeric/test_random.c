// Random graphs on the device, with all optional passes and with none: both within bounds of the
// evaluator, and the same bits under strict rounding where no sum changes its order. The graphs go
// through their text, `adept 1 ir`, which a failure prints.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/device_check.h"
#include "tests/support/random_graph.h"

#define OPTIONAL "simplify,push-moves,tidy,layouts,move-to-prepare"

typedef struct Outcome {
    uint32_t count;
    Tensor tensor[8]; // copies
} Outcome;

static Outcome keep(const Tensor *tensors, uint32_t count) {
    Outcome outcome = {.count = count};
    for (uint32_t i = 0; i < count; i++) {
        Tensor *copy = &outcome.tensor[i];
        *copy = tensors[i];
        copy->data = memory_or_exit(malloc((size_t)copy->elements * sizeof *copy->data + 1));
        memcpy(copy->data, tensors[i].data, (size_t)copy->elements * sizeof *copy->data);
    }
    return outcome;
}

static void drop(Outcome *outcome) {
    for (uint32_t i = 0; i < outcome->count; i++) free(outcome->tensor[i].data);
}

// Equal where tolerance is 0, zeros of either sign and all NaN being one.
static void agree(const char *text, const char *what, uint64_t seed, int64_t n, const Tensor *a,
                  const Tensor *b, double tolerance) {
    assert_int_equal(a->elements, b->elements);
    double largest = 1;
    for (int64_t i = 0; i < a->elements; i++)
        if (isfinite(b->data[i])) largest = fmax(largest, fabs(b->data[i]));
    for (int64_t i = 0; i < a->elements; i++) {
        double x = a->data[i], y = b->data[i];
        if (x == y || (isnan(x) && isnan(y))) continue;
        if (dtype_is_float(a->dtype) && fabs(x - y) <= tolerance * largest) continue;
        fprintf(stderr, "%s", text); // longer than cmocka prints
        fail_msg("ADEPT_RANDOM_GRAPH=%llu N=%lld: %s: element %lld is %.9g, not %.9g",
                 (unsigned long long)seed, (long long)n, what, (long long)i, x, y);
    }
}

static void check_outputs(const char *text, const char *what, uint64_t seed, int64_t n,
                          const Graph *g, const Outcome *found, bool strict, double tolerance) {
    int64_t dims[64] = {n};
    Reference *reference = reference_open(g, dims, seed, strict, false, false);
    for (uint32_t i = 0; i < found->count; i++)
        agree(text, what, seed, n, &found->tensor[i], reference_output(reference, i), tolerance);
    reference_close(reference);
}

static void run_graph(uint64_t seed, bool exact) {
    char name[32];
    Graph *made = random_graph(seed, exact);
    Text text = {0};
    graph_print(made, &text);
    snprintf(name, sizeof name, "graph %llu", (unsigned long long)seed);
    DeviceOptions all = {.strict = exact}, none = {.disable = OPTIONAL, .strict = exact};
    DeviceModel *with = device_model_open(name, text.data, &all);
    DeviceModel *without = device_model_open(name, text.data, &none);
    const Graph *g = device_model_graph(with);
    double tolerance = exact ? 0 : random_tolerance(g, 2e-4);
    const int64_t sizes[] = {1 + (int64_t)seed % 5, 33};
    for (unsigned i = 0; i < 2; i++) {
        int64_t dims[64] = {sizes[i]};
        Outcome a = keep(device_model_run(with, dims, seed), g->outputs.len);
        Outcome b = keep(device_model_run(without, dims, seed), g->outputs.len);
        check_outputs(text.data, "all passes", seed, sizes[i], g, &a, exact, tolerance);
        check_outputs(text.data, "no optional pass", seed, sizes[i], g, &b, exact, tolerance);
        for (uint32_t k = 0; k < a.count; k++)
            agree(text.data, "all passes and none", seed, sizes[i], &a.tensor[k], &b.tensor[k],
                  tolerance);
        drop(&a);
        drop(&b);
    }
    device_model_close(with);
    device_model_close(without);
    graph_destroy(made);
    text_free(&text);
}

static void within_bounds(void **state) {
    (void)state;
    unsigned first, last;
    random_range(6, &first, &last);
    for (unsigned seed = first; seed < last; seed++) run_graph(seed, false);
}

static void to_the_bit(void **state) {
    (void)state;
    unsigned first, last;
    random_range(10, &first, &last);
    for (unsigned seed = first; seed < last; seed++) run_graph(seed, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_bounds),
                                       cmocka_unit_test(to_the_bit)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_check_report();
    return failed;
}
