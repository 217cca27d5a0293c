// Winograd's convolutions on the device: each form's error, in that of the direct form on the same
// data, and single elements under a bound.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/load.h"
#include "tests/support/device_check.h"

typedef struct Case {
    int64_t images;
    int channels, outputs, groups, height, width;
    const char *padding;
    bool residual; // relu(c) / 2 + r behind the convolution; padding 1
} Case;

static const Case cases[] = {
    {1, 1, 1, 1, 1, 1, "1", false},
    {2, 1, 3, 1, 3, 5, "0", false},
    {3, 2, 2, 1, 16, 16, "1", false},
    {1, 3, 8, 1, 13, 21, "[[2, 0], [0, 1]]", false},
    {2, 4, 4, 1, 9, 12, "1", true},
    {2, 6, 9, 3, 11, 14, "2", false},
    {4, 7, 4, 1, 8, 8, "1", true},
    {1, 16, 16, 4, 17, 19, "1", false},
    {3, 17, 5, 1, 7, 10, "1", true},
    {2, 32, 16, 1, 14, 14, "\"same\"", false},
    {1, 48, 24, 1, 10, 28, "\"valid\"", false},
};

static const char *const dtypes[] = {"f32", "f16", "bf16"};

static const char *text_of(const Case *c, const char *dtype, bool exact, char *text, size_t size) {
    const char *sum = exact ? ", dtype=f32" : "";
    snprintf(text, size,
             "adept 1\nmodel m {\n"
             "    dim N in 1..=4\n"
             "    input unit_x : [N, %d, %d, %d] %s\n"
             "    param unit_w : [%d, %d, 3, 3] %s\n"
             "    input unit_r : [N, %d, %d, %d] %s\n"
             "    c = conv2d(unit_x, unit_w, padding=%s, groups=%d%s)\n"
             "    output y = %s%s\n}\n",
             c->channels, c->height, c->width, dtype, c->outputs, c->channels / c->groups, dtype,
             c->outputs, c->height, c->width, dtype, c->padding, c->groups, sum,
             c->residual ? "relu(c) * 0.5 + " : "c",
             !c->residual ? ""
             : exact      ? "cast(unit_r, f32)"
                          : "unit_r");
    return text;
}

enum { SAMPLE = 300 }; // elements from which on errors can be compared

// The root mean square error of a form; false where there are too few elements to compare it.
static bool error_of(const Case *c, const char *dtype, const char *form, uint64_t seed,
                     double *error) {
    char text[1000], exact[1000];
    Diags *diags = diags_create();
    Graph *graph;
    text_of(c, dtype, false, text, sizeof text);
    text_of(c, dtype, true, exact, sizeof exact);
    assert_true(load_graph("exact", exact, strlen(exact), NULL, diags, &graph));
    DeviceModel *m = device_model_open(form, text, &(DeviceOptions){.winograd = form});
    const Tensor *got = device_model_run(m, &c->images, seed);
    Reference *r = reference_open(graph, &c->images, seed, false, false, false);
    Reference *sizes = reference_open(graph, &c->images, seed, false, true, false);
    const Tensor *want = reference_output(r, 0), *size = reference_output(sizes, 0);
    double square = 0, worst = strcmp(form, "f6") == 0 ? 40 : 16;
    Bound bound = {.sums = 4 * worst, .rounds = worst};
    double largest = 0; // an output's error comes from its whole tile
    for (int64_t i = 0; i < size->elements; i++) largest = fmax(largest, size->data[i]);
    assert_int_equal(got->elements, want->elements);
    for (int64_t i = 0; i < want->elements; i++) {
        double difference = got->data[i] - want->data[i];
        square += difference * difference;
        if (bound_holds(&bound, got->dtype, got->data[i], want->data[i], largest)) continue;
        fail_msg("%s %s[%lld]: %g, not %g\n%s", dtype, form, (long long)i, got->data[i],
                 want->data[i], text);
    }
    *error = sqrt(square / (double)want->elements);
    bool enough = want->elements >= SAMPLE;
    reference_close(r), reference_close(sizes);
    device_model_close(m);
    graph_destroy(graph);
    diags_destroy(diags);
    return enough;
}

static void compare(unsigned at, const char *dtype, bool all) {
    const Case *c = &cases[at];
    bool wide = strcmp(dtype, "f32") == 0;
    double direct, own;
    bool enough = error_of(c, dtype, "off", at, &direct);
    static const char *const forms[] = {"f2", "f4", "f6"};
    const double most[] = {4, wide ? 10 : 8, wide ? 30 : 40};
    for (unsigned i = 0; i < (all ? 3 : 2); i++) {
        (void)error_of(c, dtype, forms[i], at, &own);
        if (!enough) continue;
        print_message("%dx%d, %d channels, %s: %s has %.2f times the direct form's error\n",
                      c->height, c->width, c->channels, dtype, forms[i], own / direct);
        assert_true(own <= most[i] * direct);
    }
}

static void test_shapes(void **state) {
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        compare(i, dtypes[i % 3], i % 5 == 3);
}

static void test_dtypes(void **state) {
    (void)state;
    compare(9, "f16", false);
    compare(9, "bf16", false);
    compare(2, "f32", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_dtypes)};
    int failed = cmocka_run_group_tests_name("winograd", tests, NULL, NULL);
    device_check_report();
    return failed;
}
