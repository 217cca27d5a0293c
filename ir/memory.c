// The one place below the command line that ends the process (ir/base.h).
#include "ir/base.h"

#include <stdio.h>
#include <stdlib.h>

void *memory_or_exit(void *memory) {
    if (!memory) {
        fputs("adept: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}
