// Tokens, newlines, limits and recovery (language.md sections 1 and 10), seen through the parser.
#include "frontend/parse.h"
#include "frontend/source.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Read {
    Arena *arena;
    Diags *diags;
    File *file; // NULL: nothing could be made of the text
    bool good;
    Text messages;
} Read;

static Read read_bytes(const char *text, size_t length) {
    Read read = {.arena = arena_create(), .diags = diags_create()};
    FileId id = diags_add_file(read.diags, "t.adp", text, length);
    read.good = source_check(text, length, id, read.diags) &&
                parse_file(read.arena, read.diags, id, text, length, &read.file);
    text_write(&read.messages, "", 0);
    diags_render(read.diags, &read.messages);
    return read;
}

static Read read_text(const char *text) {
    return read_bytes(text, strlen(text));
}

static void read_end(Read *read) {
    text_free(&read->messages);
    diags_destroy(read->diags);
    arena_destroy(read->arena);
}

// Reads statements as the body of a model.
static Read read_body(const char *body) {
    Text text = {0};
    text_printf(&text, "adept 1\nmodel m {\n%s\n}\n", body);
    Read read = read_text(text.data);
    text_free(&text);
    return read;
}

static uint32_t body_length(const Read *read) {
    assert_non_null(read->file);
    for (uint32_t i = 0; i < read->file->items.len; i++)
        if (read->file->items.at[i]->kind == STMT_MODEL) return read->file->items.at[i]->body.len;
    return 0;
}

static void newlines(void **state) {
    (void)state;
    static const struct {
        const char *body;
        uint32_t statements;
    } cases[] = {
        {"", 0},
        {"x = 1", 1},
        {"x = 1; y = 2", 2},
        {";;x = 1;;", 1},
        {"x = 1\ny = 2\n\n\nz = 3", 3},
        {"x = 1 +\n  2", 1},
        {"x = f(1,\n  2\n)\ny = 3", 2},
        {"x = [\n1,\n2,\n]\ny = 3", 2},
        {"x = 1 # comment (\ny = 2", 2},
        {"x = 1\r\ny = 2\r\n", 2},
        {"if a { x = 1 } else { x = 2 }\ny = 1", 2},
        {"if a {\nx = 1\n} else if b {\nx = 2\n} else {\nx = 3\n}", 1},
        {"repeat i in 0..4 { h = h + 1 }", 1},
        {"repeat i in 0..=3 {\nh = h + 1\n}\ny = h", 2},
        {"x = f32\ny = true\nz = None\nw = \"s\"\nv = 1.5", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Read read = read_body(cases[i].body);
        if (!read.good) print_message("%s\n%s", cases[i].body, read.messages.data);
        assert_true(read.good);
        assert_int_equal(body_length(&read), cases[i].statements);
        read_end(&read);
    }
}

static void arrow_continues_a_line(void **state) {
    (void)state;
    Read read = read_text("adept 1\nfn f(x: f32)\n        -> f32 {\n    return x\n}\n");
    assert_true(read.good);
    assert_int_equal(read.file->items.len, 2);
    assert_int_equal(read.file->items.at[1]->kind, STMT_FUNCTION);
    read_end(&read);
}

static const Expr *only_value(const Read *read) {
    const Stmt *model = read->file->items.at[1];
    return model->body.at[0]->assign.values.at[0];
}

static void literals(void **state) {
    (void)state;
    Read read = read_body("x = 9223372036854775807");
    assert_true(read.good);
    assert_int_equal(only_value(&read)->integer, INT64_MAX);
    read_end(&read);
    read = read_body("x = 0xFf");
    assert_int_equal(only_value(&read)->integer, 255);
    read_end(&read);
    read = read_body("x = 1e-3");
    assert_int_equal(only_value(&read)->kind, EXPR_FLOAT);
    assert_true(only_value(&read)->number == 1e-3);
    read_end(&read);
    read = read_body("x = \"a\\n\\t\\\"\\\\\\u{e9}{{b}}\"");
    assert_true(read.good);
    const String *string = only_value(&read)->string;
    assert_int_equal(string->parts.len, 1);
    assert_string_equal(string->parts.at[0].text, "a\n\t\"\\\xc3\xa9{b}");
    read_end(&read);
    read = read_body("x = \"w.{*}.{i + 1}\"");
    string = only_value(&read)->string;
    assert_int_equal(string->parts.len, 4);
    assert_string_equal(string->parts.at[0].text, "w.");
    assert_true(string->parts.at[1].star);
    assert_string_equal(string->parts.at[2].text, ".");
    assert_int_equal(string->parts.at[3].expr->kind, EXPR_BINARY);
    // "x = " begins line 3; the expression keeps its place in the file.
    assert_int_equal(string->parts.at[3].expr->span.line, 3);
    assert_int_equal(string->parts.at[3].expr->span.column, 13);
    read_end(&read);
}

static void columns_count_code_points(void **state) {
    (void)state;
    Read read = read_body("x = f(\"\xc3\xa9\xe2\x82\xac\", $)");
    assert_non_null(strstr(read.messages.data, "t.adp:3:13: error: unexpected character '$'"));
    read_end(&read);
}

static void wrong_tokens(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"x = 9223372036854775808", "the integer is not below 2^63"},
        {"x = 1e999", "the number is too large"},
        {"x = 12ab", "'12ab' is neither a number nor a name"},
        {"x = \"abc", "the string is not closed on its line"},
        {"x = \"a\\qb\"", "unknown escape"},
        {"x = \"\\u{110000}\"", "unknown escape"},
        {"x = \"\\u{0}\"", "unknown escape"},
        {"x = \"\\u{d800}\"", "unknown escape"},
        {"x = \"{a\"", "'{' is not closed in the string"},
        {"x = \"a}b\"", "'}' alone in a string"},
        {"x = \"{1 +}\"", "unexpected end of the expression"},
        {"x = \xc3\x97", "only ASCII stands outside comments and strings"},
        {"x = 1 ! 2", "unexpected character '!'"},
        {"x = 1.", "expected a name"},
        {"import y", "import is not in version 1"},
        {"x = 1 < 2 < 3", "comparisons do not chain"},
        {"if a { x = 1 }\nelse { x = 2 }", "`else` stands on the line of the '}' before it"},
        {"h.2 = 1", "unexpected '.'"},
        {"fused k() { x = 1 }", "unexpected 'k'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Read read = read_body(cases[i][0]);
        assert_false(read.good);
        if (!strstr(read.messages.data, cases[i][1]))
            print_message("%s\n%s", cases[i][0], read.messages.data);
        assert_non_null(strstr(read.messages.data, cases[i][1]));
        assert_int_equal(diags_error_count(read.diags), 1);
        read_end(&read);
    }
}

// One error each, and what follows is read.
static void recovery(void **state) {
    (void)state;
    Read read = read_body("a = (1 +\nb = 2 3\nrepeat i in 0 4 {\n x = 1\n y = 2\n}\n"
                          "c = f(1 2, [\nd = 4\ne = $\nf = 5");
    assert_int_equal(diags_error_count(read.diags), 4);
    const Stmt *model = read.file->items.at[1];
    const Stmt *last = model->body.at[model->body.len - 1];
    assert_int_equal(last->kind, STMT_ASSIGN);
    assert_string_equal(last->assign.targets.at[0].name, "f");
    read_end(&read);
}

static void files_that_are_no_model(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *message;
    } cases[] = {
        {"", 0, "the first statement of a model file is `adept 1`"},
        {"model m { }", 11, "the first statement of a model file is `adept 1`"},
        {"adept 2\n", 8, "this compiler reads version 1 of the language, not 2"},
        {"\xef\xbb\xbf", 3, "a byte-order mark does not belong"},
        {"adept 1\0", 8, "control character (byte 0x00)"},
        {"adept 1\n\x80", 9, "not UTF-8 (byte 0x80)"},
        {"adept 1\n#\xc0\xaf", 11, "not UTF-8 (byte 0xc0)"},
        {"adept 1\n#\xed\xa0\x80", 12, "not UTF-8 (byte 0xed)"},
        {"adept 1\rx", 9, "a carriage return stands only before a line feed"},
        {"adept 1\nmodel m {", 17, "this '{' is not closed"},
        {"adept 1\n}", 9, "'}' closes nothing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Read read = read_bytes(cases[i].text, cases[i].length);
        assert_false(read.good);
        if (!strstr(read.messages.data, cases[i].message)) print_message("%s", read.messages.data);
        assert_non_null(strstr(read.messages.data, cases[i].message));
        read_end(&read);
    }
}

static char *repeated(const char *before, const char *piece, unsigned count, const char *after) {
    Text text = {0};
    text_put(&text, before);
    for (unsigned i = 0; i < count; i++) text_put(&text, piece);
    text_put(&text, after);
    return text.data;
}

static void limits(void **state) {
    (void)state;
    static const struct {
        const char *before, *piece;
        unsigned good; // so many pieces are accepted, one more is not
        const char *after, *message;
    } cases[] = {
        {"x = ", "(", 63, "1", "nested more than 64 deep"},
        {"x = ", "[", 63, "1", "nested more than 64 deep"},
        {"x = \"", "a", 1024, "\"", "the string is longer than 1024 bytes"},
        {"x = ", "a", 64, "", "the name is longer than 64 bytes"},
        {"#", "c", 4095, "", "the line is longer than 4096 bytes"},
        {"x = [0", ",\n0", 4095, "]", "the list has more than 4096 elements"},
        {"x = ", "-", 256, "1", "nested more than 256 deep"},
        {"x = ", "a ** ", 256, "1", "nested more than 256 deep"},
        {"x = a", ".b", 256, "", "nested more than 256 deep"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (unsigned more = 0; more < 2; more++) {
            char *body =
                repeated(cases[i].before, cases[i].piece, cases[i].good + more, cases[i].after);
            Read read = read_body(body);
            bool over = strstr(read.messages.data, cases[i].message) != NULL;
            if (over != (more == 1)) print_message("%s\n%s", body, read.messages.data);
            assert_int_equal(over, more);
            free(body);
            read_end(&read);
        }
    }
}

// Neither depth is limited by a sum's length, nor memory or stack by hostile nesting.
static void long_and_deep(void **state) {
    (void)state;
    char *body = repeated("x = (0", " +\n1", 100000, ")");
    Read read = read_body(body);
    assert_true(read.good);
    assert_int_equal(only_value(&read)->depth, 1);
    read_end(&read);
    free(body);
    static const char *const pieces[] = {
        "((((", "not ", "{",  "if a {", "repeat i in 0..1 {\n", "if a { } else ", "\"",
        "f(",   "a[",   "- ", "} "};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        body = repeated("x = 1\n", pieces[i], 100000 / (unsigned)strlen(pieces[i]), "");
        // Cut into lines, so that the line limit does not answer first.
        for (size_t at = 4000; at < strlen(body); at += 4000)
            if (body[at] == ' ') body[at] = '\n';
        read = read_body(body);
        assert_false(read.good);
        assert_true(diags_error_count(read.diags) >= 1);
        assert_true(arena_used(read.arena) < 64u << 20);
        read_end(&read);
        free(body);
    }
}

static void twenty_errors_are_enough(void **state) {
    (void)state;
    char *body = repeated("", "x = )\n", 1000, "");
    Read read = read_body(body);
    assert_int_equal(diags_error_count(read.diags), 20);
    read_end(&read);
    free(body);
}

// Every prefix of a good file is read without a crash.
static void prefixes(void **state) {
    (void)state;
    Diags *diags = diags_create();
    Text text;
    assert_true(source_read_text(ADEPT_SOURCE_DIR "/examples/digits/lenet5.adp", diags, &text));
    for (size_t length = 0; length < text.len; length++) {
        Read read = read_bytes(text.data, length);
        read_end(&read);
    }
    Read whole = read_bytes(text.data, text.len);
    assert_true(whole.good);
    read_end(&whole);
    text_free(&text);
    diags_destroy(diags);
}

static void files(void **state) {
    (void)state;
    Diags *diags = diags_create();
    Text text;
    assert_false(source_read_text(ADEPT_SOURCE_DIR, diags, &text));
    text_free(&text);
    assert_false(source_read_text("no/such/file.adp", diags, &text));
    text_free(&text);
    assert_int_equal(diags_error_count(diags), 2);
    diags_destroy(diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newlines),
        cmocka_unit_test(arrow_continues_a_line),
        cmocka_unit_test(literals),
        cmocka_unit_test(columns_count_code_points),
        cmocka_unit_test(wrong_tokens),
        cmocka_unit_test(recovery),
        cmocka_unit_test(files_that_are_no_model),
        cmocka_unit_test(limits),
        cmocka_unit_test(long_and_deep),
        cmocka_unit_test(twenty_errors_are_enough),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
