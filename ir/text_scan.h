// Reads the texts that follow a graph: the sections of plans and of lowered programs. Words,
// numbers, strings, punctuation and sizes; line ends are blanks. The first mistake makes a
// diagnostic; from then on every call fails and gives an empty value.
#pragma once

#include "ir/dim.h"
#include "ir/diag.h"

typedef struct Scan {
    Arena *arena;
    DimTable *dims;
    Diags *diags;
    FileId file;
    const char *text;
    size_t length, at, line_start;
    uint32_t line;
    bool failed;
} Scan;

// Starts behind the line that begins with `opening` (such as "plan {"); failed if there is none.
Scan scan_section(Arena *arena, DimTable *dims, Diags *diags, FileId file, const char *text,
                  size_t length, const char *opening);

void scan_fail(Scan *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes the word or punctuation if it comes next.
bool scan_take(Scan *s, const char *token);
void scan_expect(Scan *s, const char *token);
const char *scan_word(Scan *s); // letters, digits, _ and .; "" after a mistake
int64_t scan_int(Scan *s);
const char *scan_string(Scan *s); // in quotes, as text_quoted writes them
Dim scan_dim(Scan *s);
// The rest of the line, without blanks around it; the next line is then begun.
const char *scan_line(Scan *s);
void scan_move(Scan *s, size_t at); // forward, to where another reader stopped
// Skips to behind the closing brace of the block that is open.
void scan_skip_block(Scan *s);
