// Writes a program as a package (runtime/format.h).
#pragma once

#include "codegen/modules.h"

typedef struct PackageOptions {
    const char *graph_text; // `adept 1 ir` text of the source graph; NULL: stripped
} PackageOptions;

// Appends the whole package to `out` (empty before). False and a diagnostic where the program
// passes a limit of the format.
bool package_write(const Program *program, const Modules *modules, const PackageOptions *options,
                   Diags *diags, Text *out);
