// Diagnostics: errors, warnings and notes with source spans, gathered in a sink and rendered as
// language.md-style text (file:line:column: error: text, the line, caret and underlines, notes,
// help).
//
// Below the command line nothing prints or exits: functions return false and leave their reasons
// here.
#pragma once

#include "ir/base.h"

typedef uint32_t FileId; // 0 is "no file"

// Bytes [begin, end) of a file. line and column (from 1; columns in code points) are those of
// begin. Graphs read from a dump have only line and column (begin == end == 0).
typedef struct Span {
    FileId file;
    uint32_t line, column;
    uint32_t begin, end;
} Span;

typedef enum DiagLevel { DIAG_ERROR, DIAG_WARNING } DiagLevel;

typedef struct Diags Diags;

Diags *diags_create(void);
void diags_destroy(Diags *diags);

// Registers a source file. The text is copied; it may be NULL, then no lines are shown and labels
// become notes.
FileId diags_add_file(Diags *diags, const char *name, const char *text, size_t length);
const char *diags_file_name(const Diags *diags, FileId file);

// Starts a diagnostic. Notes, labels and help attach to the latest error or warning; of several
// helps the first is kept. Texts are copied.
void diag_error(Diags *diags, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_warning(Diags *diags, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_note(Diags *diags, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// An underlined operand with a text such as its type, shown below the line.
void diag_label(Diags *diags, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_help(Diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint32_t diags_error_count(const Diags *diags);
uint32_t diags_warning_count(const Diags *diags);
bool diags_full(const Diags *diags); // 20 errors were reached; further ones are counted, not kept
                                     // (warnings likewise)

// Appends everything, ordered by position (file, line, column), then clears nothing.
void diags_render(const Diags *diags, Text *out);
