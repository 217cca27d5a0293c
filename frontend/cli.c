#include "frontend/cli.h"

#include <stdio.h>
#include <string.h>

#include "frontend/file.h"

// ---- options ---------------------------------------------------------------------------------

enum { OPTIONS_MAX = 64 };

static const CliOption *find_long(const CliOption *table, const char *name, size_t length) {
    for (; table->name; table++)
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0) return table;
    return NULL;
}

static const CliOption *find_letter(const CliOption *table, char letter) {
    for (; table->name; table++)
        if (table->letter && table->letter == letter) return table;
    return NULL;
}

static bool unknown_option(Arena *arena, const CliOption *table, const char *name, Text *error) {
    const char *names[OPTIONS_MAX + 1];
    unsigned count = 0;
    for (; table->name && count < OPTIONS_MAX; table++) names[count++] = table->name;
    names[count] = NULL;
    const char *bare = arena_strndup(arena, name, strcspn(name, "="));
    const char *near = nearest_name(bare, names);
    text_printf(error, "unknown option '--%s'", bare);
    if (near) text_printf(error, "; did you mean '--%s'?", near);
    return false;
}

static bool store(Arena *arena, const CliOption *option, const char *value, void *options,
                  Text *error) {
    char *field = (char *)options + option->field;
    if (option->kind == CLI_TEXT && !*value) {
        text_printf(error, "'--%s': the value is empty", option->name);
        return false;
    }
    switch (option->kind) {
    case CLI_FLAG: *(bool *)field = true; break;
    case CLI_TEXT: *(const char **)field = value; break;
    case CLI_LIST: vec_push(arena, (CliList *)field, value); break;
    case CLI_NUMBER:
        if (!cli_int(value, (int64_t *)field) || *(int64_t *)field < 0) {
            text_printf(error, "'--%s %s': a number of 0 or more is wanted", option->name, value);
            return false;
        }
        break;
    }
    return true;
}

// Takes the option in argv[*at], and its value, which may be argv[*at + 1].
static bool take_option(Arena *arena, const CliOption *table, int argc, char **argv, int *at,
                        void *options, Text *error) {
    const char *word = argv[*at];
    const CliOption *option;
    const char *value = NULL;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_long(table, word + 2, length);
        if (!option) return unknown_option(arena, table, word + 2, error);
        if (word[2 + length] == '=') value = word + 2 + length + 1;
    } else {
        option = find_letter(table, word[1]);
        if (!option) {
            text_printf(error, "unknown option '-%c'", word[1]);
            return false;
        }
        if (word[2] != '\0') value = word + 2;
    }
    if (option->kind == CLI_FLAG) {
        if (!value) return store(arena, option, NULL, options, error);
        text_printf(error, "'--%s' takes no value", option->name);
        return false;
    }
    if (!value && *at + 1 < argc) value = argv[++*at];
    if (value) return store(arena, option, value, options, error);
    text_printf(error, "'--%s' wants %s", option->name, option->value);
    return false;
}

bool cli_parse(Arena *arena, const CliOption *table, int argc, char **argv, void *options,
               CliList *words, Text *error) {
    bool ended = false;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (ended || word[0] != '-' || word[1] == '\0') {
            vec_push(arena, words, word);
        } else if (!take_option(arena, table, argc, argv, &at, options, error)) {
            return false;
        }
    }
    return true;
}

bool cli_split(Arena *arena, const char *text, const char **name, const char **value) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) return false;
    *name = arena_strndup(arena, text, (size_t)(equals - text));
    *value = equals + 1;
    return true;
}

bool cli_int(const char *text, int64_t *out) {
    bool negative = *text == '-';
    if (negative) text++;
    if (*text == '\0') return false;
    int64_t value = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        int digit = *text - '0';
        if (!checked_mul(value, 10, &value)) return false;
        if (!checked_add(value, negative ? -digit : digit, &value)) return false;
    }
    *out = value;
    return true;
}

bool cli_sizes(Arena *arena, const CliList *list, CliSizes *out, Text *error) {
    for (uint32_t i = 0; i < list->len; i++) {
        CliSize size;
        const char *text;
        if (!cli_split(arena, list->at[i], &size.name, &text) || !cli_int(text, &size.size)) {
            text_printf(error, "'--dim %s': NAME=SIZE is wanted", list->at[i]);
            return false;
        }
        for (uint32_t k = 0; k < out->len; k++) {
            if (strcmp(out->at[k].name, size.name) != 0) continue;
            text_printf(error, "'--dim %s': %s is given twice", list->at[i], size.name);
            return false;
        }
        vec_push(arena, out, size);
    }
    return true;
}

// ---- help ------------------------------------------------------------------------------------

void cli_help(const CliCommand *command, Text *out) {
    text_printf(out, "usage: adept %s%s%s\n%s.\n", command->name, *command->words ? " " : "",
                command->words, command->summary);
    if (command->options->name) text_put(out, "\n");
    for (const CliOption *option = command->options; option->name; option++) {
        Text left = {0};
        if (option->letter) text_printf(&left, "-%c, ", option->letter);
        text_printf(&left, "--%s", option->name);
        if (option->value) text_printf(&left, " %s", option->value);
        text_printf(out, "  %-32s %s\n", left.data, option->help);
        text_free(&left);
    }
}

void cli_help_all(Text *out) {
    text_put(out, "Adept compiles .adp model files to fused Vulkan compute pipelines.\n\n"
                  "usage: adept COMMAND ...\n");
    for (const CliCommand *const *command = cli_commands; *command; command++)
        text_printf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
    text_put(out, "  --version  Say which version this is\n\n"
                  "'adept help COMMAND' lists its options. '-' stands for standard input or "
                  "output.\n\n"
                  "exit codes: 0 ok, 1 the input is wrong, 2 the command line is wrong,\n"
                  "3 no device or the device failed, 4 a check failed\n");
}

// ---- messages and dispatch -------------------------------------------------------------------

int cli_usage_error(const CliCommand *command, const char *text) {
    fprintf(stderr, "adept %s: %s\n'adept help %s' says more\n", command->name, text,
            command->name);
    return CLI_USAGE;
}

int cli_fail(CliExit code, const char *text) {
    fprintf(stderr, "adept: %s\n", text);
    return code;
}

int cli_print(const Text *text) {
    Text error = {0};
    if (text->len == 0 || file_write("-", text->data, text->len, &error)) return CLI_OK;
    int code = cli_fail(CLI_INPUT, error.data);
    text_free(&error);
    return code;
}

const CliCommand *cli_find(const char *name) {
    for (const CliCommand *const *command = cli_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0) return *command;
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[OPTIONS_MAX + 1];
    unsigned count = 0;
    for (const CliCommand *const *command = cli_commands; *command; command++)
        if (count < OPTIONS_MAX) names[count++] = (*command)->name;
    names[count] = NULL;
    const char *near = nearest_name(name, names);
    if (near)
        fprintf(stderr, "adept: unknown command '%s'; did you mean '%s'?\n", name, near);
    else
        fprintf(stderr, "adept: unknown command '%s'; 'adept help' lists them\n", name);
    return CLI_USAGE;
}

static int print_all_help(void) {
    Text text = {0};
    cli_help_all(&text);
    int code = cli_print(&text);
    text_free(&text);
    return code;
}

static bool asks_for_help(int argc, char **argv) {
    for (int at = 0; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (strcmp(argv[at], "--help") == 0) return true;
    return false;
}

int cli_main(int argc, char **argv) {
    if (argc < 2) {
        (void)print_all_help();
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0) return print_all_help();
    if (strcmp(name, "--version") == 0) {
        Text text = {0};
        text_printf(&text, "adept %s\n", ADEPT_VERSION);
        int code = cli_print(&text);
        text_free(&text);
        return code;
    }
    const CliCommand *command = cli_find(name);
    if (!command) return unknown_command(name);
    if (asks_for_help(argc - 2, argv + 2)) {
        Text text = {0};
        cli_help(command, &text);
        int code = cli_print(&text);
        text_free(&text);
        return code;
    }
    int code = command->run(argc - 2, argv + 2);
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    int failed = cli_fail(CLI_INPUT, "standard output could not be written");
    return code == CLI_OK ? failed : code;
}
