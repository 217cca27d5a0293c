// The program: everything is in frontend/cli.c and frontend/cmd_*.c, where tests reach it.
#include "frontend/cli.h"

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
