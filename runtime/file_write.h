// A file that appears whole or not at all: written beside its place, then renamed over it.
#pragma once

#include "runtime/result.h"

#include <stdio.h>

typedef struct FileWrite {
    FILE *stream; // the caller writes here; failures may be left to file_write_finish
    char *path, *temporary;
} FileWrite;

AdeptResult file_write_start(FileWrite *file, const char *path, AdeptError *error);
// Renames, or with `keep` false or after a failed write removes what was written.
AdeptResult file_write_finish(FileWrite *file, int keep, AdeptError *error);
