// Kernel IR to SPIR-V words. SPIR-V 1.5 for Vulkan 1.2; kernels with fragments use SPIR-V 1.6 with
// the Vulkan memory model, for Vulkan 1.3. Instruction selection is the table spirv_select.def.
//
// The shader's interface: entry point "main"; one descriptor, the run block (ir/kernel.h), a
// dynamic uniform buffer at set 0, binding 0; everything else is reached by device address.
#pragma once

#include "ir/kernel.h"
#include "ir/target.h"

typedef struct SpirvOptions {
    TargetFeatures features; // float controls are declared where the target lists them
    bool debug;              // names and source lines
    const char *file;        // source file name for lines; NULL: none
} SpirvOptions;

typedef struct SpirvModuleInfo {
    const uint32_t *words; // in the arena given
    uint32_t count;
    TargetFeatures needs; // what a device must offer to run it
    bool vulkan13;        // SPIR-V 1.6: validates for vulkan1.3, else for vulkan1.2
} SpirvModuleInfo;

// The kernel is verified (kernel_verify) beforehand.
SpirvModuleInfo spirv_emit(Arena *arena, const Kernel *kernel, const SpirvOptions *options);
