#include "frontend/spirv_tools.h"

#include <spirv-tools/libspirv.h>
#include <string.h>

static spv_target_env environment(const SpirvModuleInfo *module) {
    return module->vulkan13 ? SPV_ENV_VULKAN_1_3 : SPV_ENV_VULKAN_1_2;
}

#if ADEPT_VALIDATOR
// What SPIRV-Tools says of a module that is newer than itself.
static bool is_unknown(const char *error) {
    static const char *const signs[] = {"Invalid capability operand", "Invalid opcode",
                                        "Unknown extension", "Invalid extension string"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strstr(error, signs[i])) return true;
    }
    return false;
}

SpirvVerdict spirv_validate(const SpirvModuleInfo *module, Text *why) {
    spv_context context = spvContextCreate(environment(module));
    spv_diagnostic diagnostic = NULL;
    spv_const_binary_t binary = {module->words, module->count};
    SpirvVerdict verdict = SPIRV_VALID;
    if (spvValidate(context, &binary, &diagnostic) != SPV_SUCCESS) {
        const char *error = diagnostic && diagnostic->error ? diagnostic->error : "no reason given";
        verdict = is_unknown(error) ? SPIRV_UNKNOWN : SPIRV_INVALID;
        text_printf(why, "word %zu: %s", diagnostic ? diagnostic->position.index : 0, error);
    }
    spvDiagnosticDestroy(diagnostic);
    spvContextDestroy(context);
    return verdict;
}
#else
SpirvVerdict spirv_validate(const SpirvModuleInfo *module, Text *why) {
    (void)module;
    text_put(why, "this build has no validator; spirv-val of SPIRV-Tools checks the files of "
                  "--emit=spirv");
    return SPIRV_NO_VALIDATOR;
}
#endif

bool spirv_disassemble(const SpirvModuleInfo *module, Text *out) {
    spv_context context = spvContextCreate(environment(module));
    spv_text text = NULL;
    spv_diagnostic diagnostic = NULL;
    uint32_t options = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    bool ok = spvBinaryToText(context, module->words, module->count, options, &text, &diagnostic) ==
              SPV_SUCCESS;
    if (ok)
        text_write(out, text->str, text->length);
    else if (diagnostic)
        text_put(out, diagnostic->error);
    spvTextDestroy(text);
    spvDiagnosticDestroy(diagnostic);
    spvContextDestroy(context);
    return ok;
}
