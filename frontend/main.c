// The program: everything is in frontend/cli.c and frontend/cmd_*.c, where tests reach it.
#include <fcntl.h>
#include <unistd.h>

#include "frontend/cli.h"

// A standard stream that the caller has closed is taken by something that only fails, lest the next
// file that is opened gets its number, and messages.
static bool hold_standard_streams(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) >= 0) continue;
        if (open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) != file) return false;
    }
    return true;
}

int main(int argc, char **argv) {
    return hold_standard_streams() ? cli_main(argc, argv) : CLI_INPUT;
}
