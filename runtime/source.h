// Bytes that come from outside: a regular file or memory of the caller's. All readers of the
// runtime read through it, so the size is known before anything is believed (never a mapping: a
// file that shrinks meanwhile is an error, not a SIGBUS).
#pragma once

#include "runtime/result.h"

#include <stdint.h>

typedef struct Source {
    char *name;          // path, or what stands in messages for memory; owned
    int file;            // -1 for memory
    const uint8_t *data; // memory, the caller's
    uint64_t size;
} Source;

// Opens a regular file; anything else (a folder, a FIFO) is refused without blocking.
AdeptResult source_open(Source *source, const char *path, AdeptError *error);
AdeptResult source_open_memory(Source *source, const char *name, const void *data, uint64_t size,
                               AdeptError *error);
// Allowed on a zeroed or closed source.
void source_close(Source *source);
// Copies [offset, offset + size) to `out`; a range outside the source is an error.
AdeptResult source_read(const Source *source, uint64_t offset, void *out, uint64_t size,
                        AdeptError *error);
