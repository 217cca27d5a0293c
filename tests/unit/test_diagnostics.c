// Goldens of the language. tests/golden/diag/*.adp: what the compiler says about the file.
// tests/golden/language/*.adp: the graph it becomes, then what is said. The expectation stands at
// the end of the file, in lines that begin "#|"; ADEPT_BLESS=1 rewrites it.
//
// A line `# DEFINE: name=value` is a -D of the command line.
#include "frontend/load.h"
#include "frontend/source.h"

#include <glob.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DEFINES_MAX = 8 };

typedef struct Golden {
    const char *path;
    bool prints; // the graph is part of the expectation
} Golden;

static const char *base_name(const char *path) {
    return strrchr(path, '/') + 1;
}

// Where the expectation begins, or the end of the text.
static size_t wanted_at(const Text *text) {
    const char *found = strstr(text->data, "\n#| ");
    return found ? (size_t)(found - text->data) + 1 : text->len;
}

static void put_lines(Text *out, const char *text) {
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t length = end ? (size_t)(end - text) : strlen(text);
        text_put(out, "#| ");
        text_write(out, text, length);
        while (out->data[out->len - 1] == ' ') out->len--;
        text_put(out, "\n");
        text += length + (end != NULL);
    }
}

static uint32_t read_defines(const char *text, Define define[DEFINES_MAX], char *room,
                             size_t size) {
    static const char mark[] = "# DEFINE: ";
    uint32_t count = 0;
    for (const char *at = strstr(text, mark); at && count < DEFINES_MAX; at = strstr(at, mark)) {
        at += sizeof mark - 1;
        int length = snprintf(room, size, "%.*s", (int)strcspn(at, "\n"), at);
        char *equals = strchr(room, '=');
        assert_non_null(equals);
        *equals = '\0';
        define[count++] = (Define){room, equals + 1};
        room += length + 1;
        size -= (size_t)length + 1;
    }
    return count;
}

static void run_golden(const Golden *golden) {
    Diags *diags = diags_create();
    Text text, got = {0}, lines = {0};
    assert_true(source_read_text(golden->path, diags, &text));
    Define define[DEFINES_MAX];
    char room[512];
    Defines defines = {define, read_defines(text.data, define, room, sizeof room)};
    Graph *graph;
    bool good =
        load_graph(base_name(golden->path), text.data, wanted_at(&text), &defines, diags, &graph);
    text_put(&got, "");
    if (good && golden->prints) graph_print(graph, &got);
    diags_render(diags, &got);
    assert_int_equal(good, diags_error_count(diags) == 0);
    if (good) assert_true(graph_verify(graph, diags));
    put_lines(&lines, got.data);
    size_t wanted = wanted_at(&text);
    if (getenv("ADEPT_BLESS")) {
        FILE *file = fopen(golden->path, "wb");
        assert_non_null(file);
        fwrite(text.data, 1, wanted, file);
        fwrite(lines.data, 1, lines.len, file);
        assert_int_equal(fclose(file), 0);
    } else if (strcmp(text.data + wanted, lines.data ? lines.data : "") != 0) {
        print_message("%s: not what was frozen (ADEPT_BLESS=1 rewrites it)\n%s", golden->path,
                      got.data);
        fail();
    }
    graph_destroy(graph);
    text_free(&lines);
    text_free(&got);
    text_free(&text);
    diags_destroy(diags);
}

static void run_folder(const char *pattern, bool prints, size_t at_least) {
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= at_least);
    for (size_t i = 0; i < found.gl_pathc; i++) run_golden(&(Golden){found.gl_pathv[i], prints});
    globfree(&found);
}

static void diagnostics(void **state) {
    (void)state;
    run_folder(ADEPT_SOURCE_DIR "/tests/golden/diag/*.adp", false, 15);
}

static void graphs(void **state) {
    (void)state;
    run_folder(ADEPT_SOURCE_DIR "/tests/golden/language/*.adp", true, 5);
}

// What a graph prints comes back as the same graph, with nothing to say about it.
static void dump_of(const char *path) {
    Diags *diags = diags_create();
    Text text, first = {0}, second = {0};
    Graph *graph, *again;
    assert_true(source_read_text(path, diags, &text));
    if (load_graph(path, text.data, text.len, NULL, diags, &graph)) {
        graph_print(graph, &first);
        uint32_t warnings = diags_warning_count(diags);
        assert_true(load_graph("dump", first.data, first.len, NULL, diags, &again));
        assert_int_equal(diags_warning_count(diags), warnings);
        graph_print(again, &second);
        assert_string_equal(first.data, second.data);
        assert_true(graph_verify(again, diags));
        graph_destroy(again);
        graph_destroy(graph);
    }
    text_free(&first);
    text_free(&second);
    text_free(&text);
    diags_destroy(diags);
}

static void dumps(void **state) {
    (void)state;
    static const char *const patterns[] = {"/examples/*/*.adp", "/tests/golden/*/*.adp"};
    for (size_t i = 0; i < 2; i++) {
        char pattern[4096];
        snprintf(pattern, sizeof pattern, "%s%s", ADEPT_SOURCE_DIR, patterns[i]);
        glob_t found;
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t j = 0; j < found.gl_pathc; j++) dump_of(found.gl_pathv[j]);
        globfree(&found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnostics),
        cmocka_unit_test(graphs),
        cmocka_unit_test(dumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
