#include "frontend/commands.h"

const CliCommand *const cli_commands[] = {
    &cmd_compile, &cmd_opt, &cmd_run,  &cmd_bench, &cmd_inspect,
    &cmd_devices, &cmd_ops, &cmd_help, NULL,
};
