// A SPIR-V module under construction: one word buffer per section of the logical layout (SPIR-V
// specification, 2.4), joined once at the end. Types and constants are hash-consed, because the
// specification forbids two declarations of the same non-aggregate type (2.8).
#pragma once

#include "ir/base.h"

#include <spirv/unified1/spirv.h>

typedef enum SpirvSection {
    SPV_CAPABILITIES,
    SPV_EXTENSIONS,
    SPV_IMPORTS,
    SPV_MEMORY_MODEL,
    SPV_ENTRY_POINTS,
    SPV_EXECUTION_MODES,
    SPV_STRINGS,
    SPV_NAMES,
    SPV_ANNOTATIONS,
    SPV_GLOBALS, // types, constants, global variables
    SPV_CODE,
    SPV_SECTIONS
} SpirvSection;

typedef VEC(uint32_t) SpirvWords;

enum { SPIRV_BUCKETS = 64 };

typedef struct SpirvInterned {
    uint32_t at;     // offset into SPV_GLOBALS
    uint32_t before; // 1 + the one interned before with the same hash, 0: none
} SpirvInterned;

typedef struct SpirvModule {
    Arena *arena;
    SpirvWords section[SPV_SECTIONS];
    SpirvWords capabilities; // asked for so far; sorted when written
    VEC(const char *) extensions;
    uint32_t bound; // next free id
    VEC(SpirvInterned) interned;
    uint32_t bucket[SPIRV_BUCKETS]; // 1 + the last interned of each hash, 0: none
    uint32_t glsl;                  // id of GLSL.std.450, 0 until asked for
} SpirvModule;

SpirvModule *spirv_module_create(Arena *arena);

static inline uint32_t spirv_id(SpirvModule *module) {
    return module->bound++;
}

// Appends an instruction; the word count is computed.
void spirv_put(SpirvModule *module, SpirvSection section, unsigned op, uint32_t words,
               const uint32_t *operand);
#define spirv_emit_op(module, section, op, ...)                                                    \
    spirv_put(module, section, op, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})
// The same with a literal string after the first `words` operands, and `more` after it.
void spirv_put_string(SpirvModule *module, SpirvSection section, unsigned op, uint32_t words,
                      const uint32_t *operand, const char *string, uint32_t more,
                      const uint32_t *after);

// The id of a type or constant with these operands, declared at its first use. Types have no type
// operand: type 0.
uint32_t spirv_intern(SpirvModule *module, unsigned op, uint32_t type, uint32_t words,
                      const uint32_t *operand);
#define spirv_type(module, op, ...)                                                                \
    spirv_intern(module, op, 0, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})

void spirv_capability(SpirvModule *module, uint32_t capability);
void spirv_extension(SpirvModule *module, const char *name);
uint32_t spirv_glsl(SpirvModule *module);

// Writes header and sections to the arena. version: 0x00010500 for SPIR-V 1.5.
uint32_t *spirv_finish(SpirvModule *module, Arena *arena, uint32_t version, uint32_t *words);
