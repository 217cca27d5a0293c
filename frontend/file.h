// Files as the command line reads and writes them. Inputs are hostile: binary ones must be regular
// files, whose size is known before anything is read (docs/formats.md section 0); texts may come
// from standard input and are bounded. Outputs appear whole or not at all.
//
// Functions return false and append one line, without a newline, to `error`, naming the file.
#pragma once

#include "ir/base.h"

// Opens a regular file for reading (never blocks on a FIFO). -1 on failure; the caller closes.
int file_open(const char *path, uint64_t *size, Text *error);

// Reads exactly `size` bytes at `offset`; `path` is for the message.
bool file_read_at(int file, const char *path, uint64_t offset, void *bytes, size_t size,
                  Text *error);

// Appends a whole text of at most `limit` bytes to `out`. "-" is standard input.
bool file_read_text(const char *path, size_t limit, Text *out, Text *error);

// Writes a file beside its place and renames it there; "-" is standard output.
bool file_write(const char *path, const void *bytes, size_t size, Text *error);

// Both are there, and are one and the same.
bool file_same(const char *path, const char *other);

// Makes a folder and those above it; one that exists is fine.
bool file_make_folder(const char *path, Text *error);
