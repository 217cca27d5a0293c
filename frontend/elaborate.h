// From syntax tree to graph: names, constants, sizes, calls, regions (language.md sections 3 to 6).
//
// fn and block bodies are elaborated anew at each call; a repeat becomes one region. What is wrong
// is reported and becomes an item in error, which silences what uses it.
#pragma once

#include "frontend/ast.h"
#include "frontend/load.h"

// text is the file's, for excerpts in notes. True, and *out set, when there was no error.
bool elaborate(const File *file, const char *file_name, const char *text, const Defines *defines,
               Diags *diags, Graph **out);
