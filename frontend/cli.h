// The command line: options by table, commands by table, exit codes.
//
// A command declares its options once, as rows that name a field of its own options struct;
// parsing, `adept help COMMAND` and the documents come from the rows. `--name VALUE`,
// `--name=VALUE`,
// `-o VALUE` and `-oVALUE` are the same; `--` ends options; `-` alone is a word (standard input or
// output). What is not in the table is refused, with the nearest name.
#pragma once

#include "ir/base.h"

typedef enum CliExit {
    CLI_OK = 0,
    CLI_INPUT = 1,  // the input is wrong
    CLI_USAGE = 2,  // the command line is wrong
    CLI_DEVICE = 3, // no device, or the device failed
    CLI_CHECK = 4,  // a check asked for did not hold
} CliExit;

typedef VEC(const char *) CliList;

// The type of an option's field.
typedef enum CliKind {
    CLI_FLAG,   // bool
    CLI_TEXT,   // const char *, NULL when not given; the last one wins
    CLI_NUMBER, // int64_t, decimal, >= 0
    CLI_LIST,   // CliList, in the order given
} CliKind;

typedef struct CliOption {
    const char *name; // without "--"; NULL ends a table
    char letter;      // short form, or 0
    CliKind kind;
    size_t field;      // offsetof in the options struct
    const char *value; // what stands for the value in the help, such as "FILE"; NULL for a flag
    const char *help;
} CliOption;

typedef struct CliCommand {
    const char *name;
    const char *words;   // "MODEL.adp", "[COMMAND]": what stands besides options
    const char *summary; // one line
    const CliOption *options;
    int (*run)(int argc, char **argv); // arguments after the command's name; returns a CliExit
} CliCommand;

// Every command, ended by NULL.
extern const CliCommand *const cli_commands[];

// Fills the fields of `options` that are given, and `words` with what is no option. Strings are
// argv's, lists the arena's. False: one line in `error`.
bool cli_parse(Arena *arena, const CliOption *table, int argc, char **argv, void *options,
               CliList *words, Text *error);

// Splits "name=value" at the first '='. The name is the arena's. False: no '=' or an empty name.
bool cli_split(Arena *arena, const char *text, const char **name, const char **value);
typedef struct CliSize {
    const char *name;
    int64_t size;
} CliSize;
typedef VEC(CliSize) CliSizes;
// Reads every "NAME=SIZE"; a name stands only once. False: one line in `error`.
bool cli_sizes(Arena *arena, const CliList *list, CliSizes *out, Text *error);
// A decimal integer, whole text, with an optional '-'.
bool cli_int(const char *text, int64_t *out);

// NULL when there is no such command.
const CliCommand *cli_find(const char *name);
// Appends usage, summary and options of one command, or the list of commands.
void cli_help(const CliCommand *command, Text *out);
void cli_help_all(Text *out);

// Prints "adept NAME: TEXT" on standard error, with where to read more; returns CLI_USAGE.
int cli_usage_error(const CliCommand *command, const char *text);
// Prints "adept: TEXT" on standard error and returns `code`.
int cli_fail(CliExit code, const char *text);
// Writes a text on standard output; CLI_INPUT when that fails, else CLI_OK.
int cli_print(const Text *text);

// Runs the program: argv[1] is the command.
int cli_main(int argc, char **argv);
