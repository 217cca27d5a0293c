// The commands of the program, one file each: frontend/cmd_<name>.c.
#pragma once

#include "frontend/cli.h"

extern const CliCommand cmd_bench;
extern const CliCommand cmd_compile;
extern const CliCommand cmd_devices;
extern const CliCommand cmd_help;
extern const CliCommand cmd_inspect;
extern const CliCommand cmd_ops;
extern const CliCommand cmd_opt;
extern const CliCommand cmd_run;
