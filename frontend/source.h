// Reading source texts: the limits on files and lines, and the check that they are clean UTF-8
// (language.md sections 1 and 10).
#pragma once

#include "ir/diag.h"

// Reads a regular file, or standard input for "-". At most 1 GiB is taken. The text is on the heap
// and for the caller to free; false after a diagnostic.
bool source_read_text(const char *path, Diags *diags, Text *out);

// Size and line limits (those of a dump if the text begins `adept 1 ir`), UTF-8, no byte-order
// mark, no control characters but tab, LF and CR before LF. One error, at the first place that is
// wrong.
bool source_check(const char *text, size_t length, FileId file, Diags *diags);

// The text is a dump: its first statement begins `adept 1 ir`, `plan` or `kernels`.
bool source_is_dump(const char *text, size_t length);
