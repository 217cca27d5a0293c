// .npz archives: a ZIP of .npy members, as numpy.savez and savez_compressed write them
// (docs/formats.md section 2). Command line only.
//
// Opening checks the whole directory: local headers agree with it, members do not overlap, names
// are unique and have neither '/' nor "..", sizes are bounded by the file before memory is taken.
// Stored and deflated members and ZIP64 are read; the rest is refused by name.
//
// Functions return false and append one line, without a newline, to `error`.
#pragma once

#include "frontend/npy.h"

typedef struct Npz Npz;

bool npz_open(const char *path, Npz **out, Text *error);
// The bytes are not copied and must outlive the archive.
bool npz_open_memory(const char *name, const void *bytes, size_t size, Npz **out, Text *error);
void npz_close(Npz *archive); // NULL is allowed

uint32_t npz_count(const Npz *archive);
// Without ".npy"; lives as long as the archive.
const char *npz_name(const Npz *archive, uint32_t index);
// False: no such member.
bool npz_find(const Npz *archive, const char *name, uint32_t *index);
// The array is the caller's.
bool npz_read(const Npz *archive, uint32_t index, Npy *out, Text *error);
