// Options by table: forms, refusals with the nearest name, help.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "frontend/cli.h"

typedef struct Options {
    bool check;
    const char *output;
    int64_t repeat;
    CliList inputs, defines;
} Options;

static const CliOption table[] = {
    {"check", 0, CLI_FLAG, offsetof(Options, check), NULL, "Compare with the evaluator"},
    {"output", 'o', CLI_TEXT, offsetof(Options, output), "FILE", "Where the result goes"},
    {"repeat", 0, CLI_NUMBER, offsetof(Options, repeat), "N", "Run so many times"},
    {"in", 0, CLI_LIST, offsetof(Options, inputs), "NAME=FILE", "An input"},
    {"define", 'D', CLI_LIST, offsetof(Options, defines), "NAME=VALUE", "Override a const"},
    {0},
};

static int no_run(int argc, char **argv) {
    (void)argv;
    return argc;
}

static const CliCommand command = {"play", "MODEL", "Play with a model", table, no_run};

typedef struct Fixture {
    Arena *arena;
    Options options;
    CliList words;
    Text error;
} Fixture;

static int set_up(void **state) {
    static Fixture fixture;
    fixture = (Fixture){.arena = arena_create()};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    Fixture *fixture = *state;
    text_free(&fixture->error);
    arena_destroy(fixture->arena);
    return 0;
}

static bool parse(Fixture *fixture, int argc, const char *const *argv) {
    return cli_parse(fixture->arena, table, argc, (char **)(uintptr_t)argv, &fixture->options,
                     &fixture->words, &fixture->error);
}

#define PARSE(fixture, ...)                                                                        \
    parse(fixture, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                  \
          (const char *[]){__VA_ARGS__})

static void reads_every_form(void **state) {
    Fixture *fixture = *state;
    assert_true(PARSE(fixture, "a.adp", "--check", "--output=x", "--repeat", "12", "--in", "a=b",
                      "--in=c=d", "-Dk=1", "-D", "n=2", "-", "--", "--check", "-o"));
    const Options *options = &fixture->options;
    assert_true(options->check);
    assert_string_equal(options->output, "x");
    assert_int_equal(options->repeat, 12);
    assert_int_equal(options->inputs.len, 2);
    assert_string_equal(options->inputs.at[0], "a=b");
    assert_string_equal(options->inputs.at[1], "c=d");
    assert_int_equal(options->defines.len, 2);
    assert_string_equal(options->defines.at[0], "k=1");
    assert_string_equal(options->defines.at[1], "n=2");
    const CliList *words = &fixture->words;
    assert_int_equal(words->len, 4);
    assert_string_equal(words->at[0], "a.adp");
    assert_string_equal(words->at[1], "-");
    assert_string_equal(words->at[2], "--check");
    assert_string_equal(words->at[3], "-o");
}

static void last_text_wins(void **state) {
    Fixture *fixture = *state;
    assert_true(PARSE(fixture, "-ofirst", "-o", "second"));
    assert_string_equal(fixture->options.output, "second");
}

static void expect_error(Fixture *fixture, const char *message, bool good) {
    assert_false(good);
    assert_string_equal(fixture->error.data, message);
    fixture->error.len = 0;
}

static void refuses_what_is_not_there(void **state) {
    Fixture *fixture = *state;
    expect_error(fixture, "unknown option '--chekc'; did you mean '--check'?",
                 PARSE(fixture, "--chekc"));
    expect_error(fixture, "unknown option '--ouput'; did you mean '--output'?",
                 PARSE(fixture, "--ouput=x"));
    expect_error(fixture, "unknown option '--elephant'", PARSE(fixture, "--elephant"));
    expect_error(fixture, "unknown option '-x'", PARSE(fixture, "-x"));
    expect_error(fixture, "'--check' takes no value", PARSE(fixture, "--check=1"));
    expect_error(fixture, "'--output' wants FILE", PARSE(fixture, "a", "-o"));
    expect_error(fixture, "'--repeat x': a number of 0 or more is wanted",
                 PARSE(fixture, "--repeat=x"));
    expect_error(fixture, "'--repeat -1': a number of 0 or more is wanted",
                 PARSE(fixture, "--repeat", "-1"));
    expect_error(fixture, "'--repeat 9223372036854775808': a number of 0 or more is wanted",
                 PARSE(fixture, "--repeat", "9223372036854775808"));
    expect_error(fixture, "'--output': the value is empty", PARSE(fixture, "--output="));
    expect_error(fixture, "'--output': the value is empty", PARSE(fixture, "-o", ""));
}

static void splits_and_counts(void **state) {
    Fixture *fixture = *state;
    const char *name, *value;
    assert_true(cli_split(fixture->arena, "a=b=c", &name, &value));
    assert_string_equal(name, "a");
    assert_string_equal(value, "b=c");
    assert_false(cli_split(fixture->arena, "=b", &name, &value));
    assert_false(cli_split(fixture->arena, "ab", &name, &value));

    int64_t number;
    assert_true(cli_int("-9223372036854775808", &number));
    assert_true(number == INT64_MIN);
    assert_false(cli_int("-9223372036854775809", &number));
    assert_false(cli_int("-", &number));
    assert_false(cli_int("1x", &number));
    assert_false(cli_int("", &number));
}

static void helps(void **state) {
    (void)state;
    Text text = {0};
    cli_help(&command, &text);
    assert_string_equal(text.data, "usage: adept play MODEL\n"
                                   "Play with a model.\n"
                                   "\n"
                                   "  --check                          Compare with the evaluator\n"
                                   "  -o, --output FILE                Where the result goes\n"
                                   "  --repeat N                       Run so many times\n"
                                   "  --in NAME=FILE                   An input\n"
                                   "  -D, --define NAME=VALUE          Override a const\n");
    text_free(&text);
    cli_help_all(&text);
    for (const CliCommand *const *at = cli_commands; *at; at++) {
        assert_non_null(strstr(text.data, (*at)->summary));
        assert_ptr_equal(cli_find((*at)->name), *at);
    }
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_every_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_text_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_is_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(splits_and_counts, set_up, tear_down),
        cmocka_unit_test(helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
