// Limits of the language that take long to reach.
#include "frontend/load.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static void refuses(const Text *text, const char *message) {
    Diags *diags = diags_create();
    Graph *graph;
    Text messages = {0};
    assert_false(load_graph("t.adp", text->data, text->len, NULL, diags, &graph));
    assert_null(graph);
    diags_render(diags, &messages);
    assert_non_null(strstr(messages.data, message));
    text_free(&messages);
    diags_destroy(diags);
}

// Calls that double at each level are bounded by the ops that they make.
static void explosion(void **state) {
    (void)state;
    Text text = {0};
    text_put(&text, "adept 1\nblock B0(x: f32) -> f32 {\nparam w : f32\nreturn x");
    for (unsigned i = 0; i < 31; i++) text_put(&text, " + w");
    text_put(&text, "\n}\n");
    for (unsigned i = 1; i < 17; i++)
        text_printf(&text, "block B%u(x: f32) -> f32 { return B%u(B%u(x) at \"a\") at \"b\" }\n", i,
                    i - 1, i - 1);
    text_put(&text, "model m {\ninput x : f32\noutput y = B16(x)\n}\n");
    refuses(&text, "the model has more than 1000000 ops");
    text_free(&text);
}

// Calls that make no ops at all are bounded too.
static void endless_calls(void **state) {
    (void)state;
    Text text = {0};
    text_put(&text, "adept 1\nfn call0(x: f32) -> f32 { return x }\n");
    for (unsigned i = 1; i < 60; i++)
        text_printf(&text, "fn call%u(x: f32) -> f32 { return call%u(call%u(x)) }\n", i, i - 1,
                    i - 1);
    text_put(&text, "model m {\ninput x : f32\noutput y = call59(x)\n}\n");
    refuses(&text, "the model makes more than 100000 calls");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explosion),
        cmocka_unit_test(endless_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
