// SPIRV-Tools behind two calls: validation and disassembly of emitted modules.
#pragma once

#include "codegen/spirv.h"

typedef enum SpirvVerdict {
    SPIRV_VALID,
    SPIRV_INVALID,
    SPIRV_UNKNOWN,     // needs an extension that the linked SPIRV-Tools does not know
    SPIRV_NO_VALIDATOR // this build has none (ADEPT_VALIDATOR is off)
} SpirvVerdict;

// Validates at the environment that the module names (vulkan1.2 or vulkan1.3). The reason goes to
// `why` unless valid.
SpirvVerdict spirv_validate(const SpirvModuleInfo *module, Text *why);
bool spirv_disassemble(const SpirvModuleInfo *module, Text *out);
