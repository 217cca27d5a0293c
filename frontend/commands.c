#include "frontend/commands.h"

const CliCommand *const cli_commands[] = {
    &cmd_devices, &cmd_inspect, &cmd_ops, &cmd_help, NULL,
};
