// The pass manager: which passes run, what they tell, what it refuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "passes/pass.h"
#include "tests/support/graph_make.h"

typedef struct Log {
    Text text;
    const char *refuse; // file name of a dump that fails
} Log;

static void on_ir(void *user, const char *pass, bool before, const char *text, size_t length) {
    assert_int_equal(strlen(text), length);
    assert_memory_equal(text, "adept 1 ir\n", 11);
    text_printf(&((Log *)user)->text, "%s %s; ", before ? "before" : "after", pass);
}

static bool on_dump(void *user, const char *file, const char *text, size_t length) {
    Log *log = user;
    assert_int_equal(strlen(text), length);
    text_printf(&log->text, "%s; ", file);
    return !log->refuse || strcmp(log->refuse, file) != 0;
}

static void on_time(void *user, const char *pass, double milliseconds) {
    assert_true(milliseconds >= 0);
    text_printf(&((Log *)user)->text, "%s; ", pass);
}

static Graph *make_graph(void) {
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 1, 64);
    ValueId x = make_input(g, "x", "[N, 8] f32");
    ValueId y = make_op(g, OP_SOFTMAX, "y", NULL, make_op(g, OP_EXP, "e", NULL, x, 0, 0), 0, 0);
    graph_add_output(g, "y", NULL, y, (Loc){0});
    return g;
}

// Runs and returns what was told; *stage is that of the last graph, -1 after a failure.
static char *run(PassOptions options, Log *log, int *stage, bool *stopped, Text *errors) {
    Diags *diags = diags_create();
    options.verify_each = true;
    options.sink.user = log;
    Graph *g = pass_run_all(make_graph(), &options, diags, stopped);
    *stage = g ? (int)g->stage : -1;
    graph_destroy(g);
    if (errors) diags_render(diags, errors);
    assert_int_equal(g == NULL && !log->refuse, diags_error_count(diags) > 0);
    diags_destroy(diags);
    return log->text.data ? log->text.data : "";
}

static void test_all(void **state) {
    (void)state;
    Log log = {0};
    int stage;
    bool stopped;
    PassOptions options = pass_options();
    options.sink.time = on_time;
    char *told = run(options, &log, &stage, &stopped, NULL);
    assert_string_equal(told, "simplify; winograd; decompose; join-products; push-moves; tidy; "
                              "layouts; fold-views; transpose-b; fuse; move-to-prepare; ");
    assert_int_equal(stage, STAGE_FUSED);
    assert_false(stopped);
    text_free(&log.text);
}

static void test_selection(void **state) {
    (void)state;
    Log log = {0};
    int stage;
    bool stopped;
    PassOptions options = pass_options();
    options.sink.time = on_time;
    options.disable = "simplify,winograd,push-moves";
    options.stop_after = "tidy";
    assert_string_equal(run(options, &log, &stage, &stopped, NULL),
                        "decompose; join-products; tidy; ");
    assert_int_equal(stage, STAGE_DECOMPOSED);
    assert_true(stopped);
    text_free(&log.text);

    log = (Log){0};
    options = pass_options();
    options.sink.time = on_time;
    options.passes = "decompose,fuse,simplify"; // the last does not run on fused graphs
    assert_string_equal(run(options, &log, &stage, &stopped, NULL), "decompose; fuse; ");
    text_free(&log.text);
}

static void test_prints(void **state) {
    (void)state;
    Log log = {0};
    int stage;
    PassOptions options = pass_options();
    options.sink.ir = on_ir;
    options.print_before = "fuse";
    options.print_after = "decompose,fuse";
    assert_string_equal(run(options, &log, &stage, NULL, NULL),
                        "after decompose; before fuse; after fuse; ");
    text_free(&log.text);

    log = (Log){0};
    options = pass_options();
    options.sink.ir = on_ir;
    options.print_after_change = true; // simplify, push-moves, tidy and others change nothing here
    assert_string_equal(run(options, &log, &stage, NULL, NULL),
                        "after decompose; after fold-views; after fuse; ");
    text_free(&log.text);
}

static void test_dumps(void **state) {
    (void)state;
    Log log = {0};
    int stage;
    PassOptions options = pass_options();
    options.sink.dump = on_dump;
    options.stop_after = "decompose";
    assert_string_equal(run(options, &log, &stage, NULL, NULL),
                        "00-source.adp; 01-simplify.adp; 02-winograd.adp; 03-decompose.adp; ");
    text_free(&log.text);

    log = (Log){.refuse = "01-simplify.adp"};
    options.stop_after = NULL;
    assert_string_equal(run(options, &log, &stage, NULL, NULL), "00-source.adp; 01-simplify.adp; ");
    assert_int_equal(stage, -1);
    text_free(&log.text);
}

static void expect_error(PassOptions options, const char *text) {
    Log log = {0};
    int stage;
    Text errors = {0};
    run(options, &log, &stage, NULL, &errors);
    assert_int_equal(stage, -1);
    assert_non_null(errors.data);
    if (!strstr(errors.data, text)) fail_msg("no \"%s\" in: %s", text, errors.data);
    text_free(&errors);
}

static void test_refusals(void **state) {
    (void)state;
    PassOptions options = pass_options();
    options.passes = "decompose,fold-view";
    expect_error(options, "--passes: there is no pass \"fold-view\"");
    expect_error(options, "did you mean fold-views?");
    options = pass_options();
    options.disable = "fuse";
    expect_error(options, "--disable-pass: fuse is needed by what follows it");
    options = pass_options();
    options.print_before = "everything";
    expect_error(options, "--print-ir-before: there is no pass \"everything\"");
}

static void test_table(void **state) {
    (void)state;
    for (const PassInfo *pass = pass_table; pass->name; pass++) {
        assert_ptr_equal(pass_find(pass->name), pass);
        assert_true(pass->takes <= pass->reaches);
        assert_true(strlen(pass->doc) > 10);
    }
    assert_null(pass_find("nothing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),      cmocka_unit_test(test_selection),
        cmocka_unit_test(test_prints),   cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
