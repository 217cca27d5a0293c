// The SPIR-V modules of a program, one per kernel, in kernel order. Made once and used by whoever
// writes them out: the package, `--emit=spirv`, the validator.
#pragma once

#include "codegen/spirv.h"
#include "ir/program.h"

typedef struct Modules {
    SpirvModuleInfo *at; // one per Program.kernels, in the arena of the graph
    uint32_t count;
} Modules;

Modules modules_emit(const Program *program, bool debug);
