// The manifest that `--emit=spirv` writes beside the .spv files: JSON that suffices to run the
// kernels with any Vulkan program, every size, offset and grid a number (docs/formats.md section
// 3).
#pragma once

#include "codegen/modules.h"

// Appends the manifest for these symbol values (by symbol number; trips are ignored). File names
// are manifest_file's. False and a diagnostic where a value lies outside its dim's range, an
// assertion fails, or an expression overflows.
bool manifest_write(const Program *program, const Modules *modules, const int64_t *symbols,
                    Diags *diags, Text *out);
// Contents of the buffer `const`, the file MANIFEST_CONSTANTS beside the manifest; empty: no file.
#define MANIFEST_CONSTANTS "constants.bin"
void manifest_constants(const Program *program, Text *out);
char *manifest_file(Arena *arena, const Program *program, uint32_t kernel); // "00-k0.spv"
