// Reading text into a syntax tree (language.md sections 1 and 2): lexer and parser.
//
// Several errors are found in one run: a syntax error skips to the end of its statement.
#pragma once

#include "frontend/ast.h"

// Reads a whole file that source_check has accepted. *out is set even when errors were found (what
// did not parse stands there as STMT_ERROR), except where nothing could be made of the text.
// The tree lives in arena; file is the text's registration in diags.
bool parse_file(Arena *arena, Diags *diags, FileId file, const char *text, size_t length,
                File **out);

// Reads one expression, as the value of `-D` or an attribute. NULL after a diagnostic.
Expr *parse_expr(Arena *arena, Diags *diags, FileId file, const char *text, size_t length);
