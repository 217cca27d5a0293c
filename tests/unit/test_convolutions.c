// Convolutions of every kind, as a device's profile has them, on the interpreter against the
// evaluator on the file as it stands: channels from 1 on, groups, strides, dilations, unequal
// padding, one to three axes, transposed; then channel counts that fragments take.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "frontend/load.h"
#include "passes/compile.h"
#include "passes/pass.h"
#include "tests/support/program_run.h"

static Graph *loaded(const Text *text, Diags *diags) {
    Graph *graph = NULL;
    if (load_graph("m.adp", text->data, text->len, NULL, diags, &graph)) return graph;
    Text messages = {0};
    diags_render(diags, &messages);
    fail_msg("%s\n%s", text->data, messages.data);
    return NULL;
}

// Gives whether a step has that form.
static bool check(const Text *text, const char *target, int64_t batch, double tolerance,
                  const char *form) {
    Diags *diags = diags_create();
    Graph *source = loaded(text, diags), *graph = loaded(text, diags);
    PassOptions options = pass_options();
    Target profile;
    assert_true(target_builtin(target, &profile));
    options.target = &profile;
    graph = pass_run_all(graph, &options, diags, NULL);
    assert_non_null(graph);
    ProgramCheck check = {.target = target,
                          .symbols = &batch,
                          .tolerance = tolerance,
                          .scale = 0.5,
                          .source = source};
    const Plan *plan = program_check(graph, &check)->plan;
    bool found = false;
    for (uint32_t i = 0; i < plan->run.len; i++)
        for (uint32_t a = 0; a < plan->run.at[i].alternatives.len; a++) {
            const char *has = plan->run.at[i].alternatives.at[a].schedule.form;
            found = found || (has && strcmp(has, form) == 0);
        }
    graph_destroy(source);
    graph_destroy(graph);
    diags_destroy(diags);
    return found;
}

static uint32_t state;

// A number below `below`.
static int any(int below) {
    state = state * 1664525 + 1013904223;
    return (int)((state >> 8) % (uint32_t)below);
}

static int divisor(int of) {
    int found = 1 + any(of);
    while (of % found) found--;
    return found;
}

static const char *const types[] = {"f32", "f16", "bf16"};
static const double tolerances[] = {2e-5, 4e-3, 3e-2};

static void print_list(Text *text, const char *name, int axes, const int *value) {
    text_printf(text, ", %s=[", name);
    for (int a = 0; a < axes; a++) text_printf(text, "%s%d", a ? ", " : "", value[a]);
    text_printf(text, "]");
}

typedef struct Convolution {
    int axes, channels, groups, outputs; // outputs: of a group
    int size[3], kernel[3], stride[3], dilation[3], padding[3][2], more[3];
    bool transposed;
    const char *type;
} Convolution;

static Convolution made_up(int channels, bool transposed) {
    Convolution c = {.axes = 1 + any(3), .channels = channels, .transposed = transposed};
    c.groups = any(3) ? 1 : divisor(channels);
    c.outputs = c.groups == channels ? 1 + any(3) : 1 + any(17);
    for (int a = 0; a < c.axes; a++) {
        c.kernel[a] = 1 + any(c.axes > 2 ? 3 : 5);
        c.stride[a] = 1 + any(3), c.dilation[a] = 1 + any(2);
        int reach = (c.kernel[a] - 1) * c.dilation[a];
        c.padding[a][0] = any(reach / 2 + 1), c.padding[a][1] = any(reach / 2 + 1);
        c.size[a] = 3 + reach + any(c.axes > 2 ? 2 : 5);
        if (!transposed) continue;
        c.padding[a][1] = c.padding[a][0];
        c.more[a] = any(c.stride[a]);
    }
    return c;
}

static void print(const Convolution *c, Text *text) {
    int all = c->outputs * c->groups;
    text_printf(text, "adept 1\ndim N in 1..=4\nmodel m {\ninput x : [N, %d", c->channels);
    for (int a = 0; a < c->axes; a++) text_printf(text, ", %d", c->size[a]);
    text_printf(text, "] %s\nparam w : [%d, %d", c->type, c->transposed ? c->channels : all,
                c->transposed ? c->outputs : c->channels / c->groups);
    for (int a = 0; a < c->axes; a++) text_printf(text, ", %d", c->kernel[a]);
    text_printf(text, "] %s\nparam b : [%d] %s\noutput y = relu(conv%s%dd(x, w, b", c->type, all,
                c->type, c->transposed ? "_transpose" : "", c->axes);
    print_list(text, "stride", c->axes, c->stride);
    print_list(text, "dilation", c->axes, c->dilation);
    if (c->transposed) print_list(text, "output_padding", c->axes, c->more);
    text_printf(text, ", groups=%d, padding=[", c->groups);
    for (int a = 0; a < c->axes; a++)
        text_printf(text, "%s[%d, %d]", a ? ", " : "", c->padding[a][0], c->padding[a][1]);
    text_printf(text, "]))\n}\n");
}

static void check_made_up(int rounds, bool transposed) {
    for (int round = 0; round < rounds; round++)
        for (int channels = 1; channels <= 17; channels++) {
            int type = any(3);
            Convolution c = made_up(channels, transposed);
            c.type = types[type];
            Text text = {0};
            print(&c, &text);
            check(&text, "h200", 1 + any(4), tolerances[type], "");
            text_free(&text);
        }
}

static void test_any(void **s) {
    (void)s;
    state = 1;
    check_made_up(2, false);
}

static void test_transposed(void **s) {
    (void)s;
    state = 2;
    check_made_up(1, true);
}

// Channels in multiples of 8, images that tiles do not divide.
static void test_fragments(void **s) {
    (void)s;
    static const char *const kinds[] = {"padding=1", "stride=2, padding=[[0, 1], [2, 0]]",
                                        "dilation=2, padding=[[2, 1], [1, 2]]", "groups=2"};
    unsigned found = 0, all = 0;
    for (int channels = 16; channels <= 80; channels += 32)
        for (int kind = 0; kind < 4; kind++, all++) {
            Text text = {0};
            const char *type = types[1 + all % 2];
            text_printf(&text,
                        "adept 1\ndim N in 1..=4\nmodel m {\ninput x : [N, %d, 9, 11] %s\n"
                        "param v : [%d, %d, 1, 1] %s\nparam w : [%d, %d, 3, 3] %s\n"
                        "h = relu(conv2d(x, v))\noutput y = conv2d(h, w, %s) + 1.0\n}\n",
                        channels, type, channels, channels, type, channels + 16,
                        kind == 3 ? channels / 2 : channels, type, kinds[kind]);
            found += check(&text, "h200", 2, all % 2 ? 0.06 : 0.01, "coop");
            text_free(&text);
        }
    assert_true(found > all / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any),
                                       cmocka_unit_test(test_transposed),
                                       cmocka_unit_test(test_fragments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
