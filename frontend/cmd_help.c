// adept help [COMMAND]
#include "frontend/commands.h"

static const CliOption options[] = {{0}};

static int run(int argc, char **argv) {
    Arena *arena = arena_create();
    Text text = {0};
    CliList words = {0};
    int code;
    if (!cli_parse(arena, options, argc, argv, NULL, &words, &text)) {
        code = cli_usage_error(&cmd_help, text.data);
    } else if (words.len > 1) {
        code = cli_usage_error(&cmd_help, "at most one command");
    } else if (words.len == 0) {
        cli_help_all(&text);
        code = cli_print(&text);
    } else {
        const CliCommand *command = cli_find(words.at[0]);
        if (command) {
            cli_help(command, &text);
            code = cli_print(&text);
        } else {
            text_printf(&text, "no command '%s'", words.at[0]);
            code = cli_usage_error(&cmd_help, text.data);
        }
    }
    text_free(&text);
    arena_destroy(arena);
    return code;
}

const CliCommand cmd_help = {"help", "[COMMAND]", "List the commands, or the options of one",
                             options, run};
