// The front door for graphs as text: model files and dumps (language.md).
//
// A dump (`adept 1 ir`, or the graph that begins `adept 1 plan` and `adept 1 kernels` texts) is
// read by the same grammar; the printer's text comes back as the same graph.
#pragma once

#include "ir/graph.h"

// `-D name=value` of the command line: replaces a file-level const. value is a literal, a dtype,
// true or false; any other bare word is a string.
typedef struct Define {
    const char *name, *value;
} Define;

typedef struct Defines {
    const Define *at;
    uint32_t count;
} Defines;

// Reads and elaborates a text, which is checked first (source.h). file_name is for diagnostics and,
// without its folders, for the graph. defines may be NULL. *out is the caller's to destroy; false
// (and *out NULL) after errors. A plan or kernels section that follows the model is left alone:
// load_graph_length says where it begins.
bool load_graph(const char *file_name, const char *text, size_t length, const Defines *defines,
                Diags *diags, Graph **out);

// Bytes of the text that are the graph: all of it, or up to a line that begins a section `plan {`.
size_t load_graph_length(const char *text, size_t length);
