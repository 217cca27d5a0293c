// State of a package being written: a byte buffer a section, and the tables that give strings and
// expressions their references. Private to codegen/.
#pragma once

#include "codegen/package.h"
#include "runtime/format.h"

enum { PACKAGE_SECTIONS = 32 };

typedef struct PackageWriter {
    const Program *program;
    const Graph *graph;
    const Modules *modules;
    Diags *diags;
    Arena *arena;
    Text section[PACKAGE_SECTIONS];
    StrRef *strings; // hashed, open addressing; ADX_NONE: free
    uint32_t string_slots, string_count;
    ExprRef *expr; // per Dim: reference + 1
    uint32_t exprs;
} PackageWriter;

uint32_t package_count(const PackageWriter *w, enum AdxSectionKind kind, size_t record);
void package_put(PackageWriter *w, enum AdxSectionKind kind, const void *record, size_t size);
StrRef package_string(PackageWriter *w, const char *string); // NULL: ADX_NONE
ExprRef package_expr(PackageWriter *w, Dim dim);             // DIM_NONE: ADX_NONE
uint32_t package_dtype(DType dtype);

void package_interface(PackageWriter *w); // dims, asserts, inputs, outputs, states, params, consts
bool package_steps(PackageWriter *w);     // kernels, units, steps, dispatches
