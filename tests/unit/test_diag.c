#include "ir/diag.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char mlp[] = "adept 1\n"
                          "\n\n\n\n\n\n\n\n\n\n"
                          "    g = x @ w_gate\n";

// The span of the nth `word` in `text`.
static Span span_of(FileId file, const char *text, const char *word, unsigned nth) {
    const char *at = strstr(text, word);
    while (nth-- > 0) at = strstr(at + 1, word);
    assert_non_null(at);
    Span span = {.file = file, .line = 1, .column = 1};
    for (const char *c = text; c < at; c++) {
        if (*c == '\n')
            span.line++, span.column = 1;
        else if (((unsigned char)*c & 0xc0) != 0x80)
            span.column++;
    }
    span.begin = (uint32_t)(at - text);
    span.end = span.begin + (uint32_t)strlen(word);
    return span;
}

static void check_rendered(Diags *diags, const char *expected) {
    Text text = {0};
    diags_render(diags, &text);
    assert_string_equal(text.data ? text.data : "", expected);
    text_free(&text);
    diags_destroy(diags);
}

static void the_example_of_the_language(void **state) {
    (void)state;
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "mlp.adp", mlp, strlen(mlp));
    assert_string_equal(diags_file_name(diags, file), "mlp.adp");
    diag_error(diags, span_of(file, mlp, "@", 0), "matmul: inner sizes differ: %d (D) and %d (I)",
               256, 640);
    diag_label(diags, span_of(file, mlp, "x", 0), "[1, S, 256] f16");
    diag_label(diags, span_of(file, mlp, "w_gate", 0), "[640, 256] f16");
    diag_note(diags, (Span){.file = file, .line = 31, .column = 20},
              "in block MLP at \"model.layers.{i}.mlp\"");
    diag_note(diags, (Span){.file = file, .line = 30, .column = 5}, "in repeat i in 0..4");
    diag_help(diags, "w_gate looks like a PyTorch [out, in] weight; write linear(x, w_gate)");
    diag_help(diags, "a second help is dropped");
    assert_int_equal(diags_error_count(diags), 1);
    check_rendered(diags,
                   "mlp.adp:12:11: error: matmul: inner sizes differ: 256 (D) and 640 (I)\n"
                   "   12 |     g = x @ w_gate\n"
                   "      |         ~ ^ ~~~~~~ [640, 256] f16\n"
                   "      |         [1, S, 256] f16\n"
                   "mlp.adp:31:20: note: in block MLP at \"model.layers.{i}.mlp\"\n"
                   "mlp.adp:30:5: note: in repeat i in 0..4\n"
                   "help: w_gate looks like a PyTorch [out, in] weight; write linear(x, w_gate)\n");
}

static void position_orders_and_code_points_count(void **state) {
    (void)state;
    static const char text[] = "a = \"\xc3\xa9\xe2\x82\xac\" + foo\r\n\tb = bar(a)\n";
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "m.adp", text, strlen(text));
    diag_warning(diags, span_of(file, text, "bar", 0), "second");
    diag_error(diags, span_of(file, text, "foo", 0), "first");
    diag_error(diags, (Span){0}, "no place at all");
    assert_int_equal(diags_warning_count(diags), 1);
    check_rendered(diags, "error: no place at all\n"
                          "m.adp:1:12: error: first\n"
                          "    1 | a = \"\xc3\xa9\xe2\x82\xac\" + foo\n"
                          "      |            ^~~\n"
                          "m.adp:2:6: warning: second\n"
                          "    2 | \tb = bar(a)\n"
                          "      | \t    ^~~\n");
}

static void labels_left_of_the_caret_and_on_other_lines(void **state) {
    (void)state;
    static const char text[] = "y = add(x,\n        w)!\n";
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "m.adp", text, strlen(text));
    FileId dump = diags_add_file(diags, "dump", NULL, 0);
    diag_error(diags, span_of(file, text, "!", 0), "wrong");
    diag_label(diags, span_of(file, text, "x", 0), "[3] f32");
    diag_label(diags, span_of(file, text, "w", 0), "[4] f32");
    diag_error(diags, (Span){.file = dump, .line = 3, .column = 7}, "unseen");
    diag_label(diags, (Span){.file = dump, .line = 3, .column = 9}, "[5] f32");
    check_rendered(diags, "m.adp:2:11: error: wrong\n"
                          "    1 | y = add(x,\n"
                          "      |         ~ [3] f32\n"
                          "    2 |         w)!\n"
                          "      |         ~ ^\n"
                          "      |         [4] f32\n"
                          "dump:3:7: error: unseen\n"
                          "dump:3:9: note: [5] f32\n");
}

static void twenty_errors_then_a_count(void **state) {
    (void)state;
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "m.adp", NULL, 0);
    for (unsigned i = 0; i < 23; i++) {
        assert_int_equal(diags_full(diags), i >= 20);
        diag_error(diags, (Span){.file = file, .line = i + 1, .column = 1}, "e%u", i);
        diag_note(diags, (Span){0}, "n%u", i);
    }
    assert_int_equal(diags_error_count(diags), 23);
    Text text = {0};
    diags_render(diags, &text);
    assert_non_null(
        strstr(text.data, "m.adp:20:1: error: e19\nnote: n19\n3 more errors not shown\n"));
    assert_null(strstr(text.data, "e20"));
    assert_null(strstr(text.data, "n20"));
    text_free(&text);
    diags_destroy(diags);
}

static void bytes_that_are_no_text(void **state) {
    (void)state;
    static const char text[] = "a\xff\x01z";
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "m.adp", text, strlen(text));
    diag_error(diags, (Span){file, 1, 4, 3, 4}, "bad");
    check_rendered(diags, "m.adp:1:4: error: bad\n"
                          "    1 | a\xef\xbf\xbd\xef\xbf\xbdz\n"
                          "      |    ^\n");
}

static void long_lines_are_cut(void **state) {
    (void)state;
    char *text = malloc(1000001);
    memset(text, 'x', 1000000);
    text[1000000] = 0;
    text[500000] = '!';
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "m.adp", text, 1000000);
    diag_error(diags, (Span){file, 1, 500001, 500000, 500001}, "bad");
    Text out = {0};
    diags_render(diags, &out);
    assert_true(out.len < 500);
    const char *line = strstr(out.data, "    1 | "), *below = strstr(out.data, "      | ");
    assert_int_equal(strchr(line, '!') - line, strchr(below, '^') - below);
    text_free(&out);
    diags_destroy(diags);
    free(text);
}

static void odd_positions_do_no_harm(void **state) {
    (void)state;
    Diags *diags = diags_create();
    FileId file = diags_add_file(diags, "m.adp", "ab", 2);
    diag_error(diags, (Span){file, 1, 3, 2, 2}, "at the end");
    diag_error(diags, (Span){file, 2, 1, 2, 2}, "after the end");
    diag_error(diags, (Span){file, 1, 999, 900, 1000}, "far outside");
    diag_note(diags, (Span){.file = 99, .line = 1, .column = 1}, "unknown file");
    check_rendered(diags, "m.adp:1:3: error: at the end\n"
                          "    1 | ab\n"
                          "      |   ^\n"
                          "m.adp:1:999: error: far outside\n"
                          "    1 | ab\n"
                          "      |   ^\n"
                          "note: unknown file\n"
                          "m.adp:2:1: error: after the end\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_language),
        cmocka_unit_test(position_orders_and_code_points_count),
        cmocka_unit_test(labels_left_of_the_caret_and_on_other_lines),
        cmocka_unit_test(twenty_errors_then_a_count),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(odd_positions_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
