// State of one kernel's emission, shared by spirv.c (control and arithmetic), spirv_memory.c (run
// block, buffers, workgroup memory) and spirv_fragment.c. Private to codegen/.
#pragma once

#include "codegen/spirv.h"
#include "codegen/spirv_module.h"

enum { SPIRV_BUILTINS = 64 };

typedef struct SpirvBlock { // pointer type to struct { element[]; } in buffers
    uint32_t element;
    bool read_only;
    uint32_t pointer;
} SpirvBlock;

typedef struct SpirvEmit {
    SpirvModule *module;
    const Kernel *kernel;
    const SpirvOptions *options;
    uint32_t *id;       // per KVal; 0 until asked for
    uint32_t *shared;   // per region: variable
    uint32_t *block_of; // per instruction: label of the block that ends before it (yields)
    uint32_t label;     // of the current block
    uint32_t run_block; // variable
    VEC(SpirvBlock) blocks;
    SpirvWords interface;                      // variables of the entry point
    uint32_t builtin_variable[SPIRV_BUILTINS]; // by SpvBuiltIn
    bool vulkan_memory_model;
    TargetFeatures needs;
} SpirvEmit;

uint32_t emit_value(SpirvEmit *e, KVal value); // id of a value (constants are declared)
uint32_t emit_type(SpirvEmit *e, KType type);
uint32_t emit_u32(SpirvEmit *e, uint32_t value); // constant
uint32_t emit_scalar_type(SpirvEmit *e, unsigned op,
                          unsigned width); // OpTypeInt unsigned, OpTypeFloat
uint32_t emit_vector_type(SpirvEmit *e, uint32_t component, unsigned lanes);
uint32_t emit_global(SpirvEmit *e, uint32_t pointer_type, SpvStorageClass storage);
// An instruction with a fresh result.
uint32_t emit_fresh(SpirvEmit *e, unsigned op, uint32_t type, uint32_t words,
                    const uint32_t *operand);
#define emit_op(e, op, type, ...)                                                                  \
    emit_fresh(e, op, type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})
// An instruction whose result is the value's id.
void emit_result(SpirvEmit *e, KVal value, unsigned op, uint32_t words, const uint32_t *operand);

// spirv_memory.c
void emit_run_block(SpirvEmit *e); // declares it and the shared regions
void emit_param(SpirvEmit *e, KVal value);
void emit_ptr_add(SpirvEmit *e, KVal value);
void emit_load(SpirvEmit *e, KVal value);
void emit_store(SpirvEmit *e, KVal value);
void emit_shared_load(SpirvEmit *e, KVal value);
void emit_shared_store(SpirvEmit *e, KVal value);
// Pointer to element `index` (of `component` scalars or vectors of `lanes`) of a buffer.
uint32_t emit_buffer_pointer(SpirvEmit *e, KVal pointer, uint32_t index, DType mem, unsigned lanes);
// Pointer into a region: index in 32-bit words.
uint32_t emit_shared_pointer(SpirvEmit *e, uint32_t region, KVal index, unsigned plus,
                             unsigned lanes);
uint32_t emit_memory_type(SpirvEmit *e, DType mem); // scalar as memory holds it

// spirv_fragment.c
uint32_t emit_fragment_type(SpirvEmit *e, KType type);
void emit_fragment(SpirvEmit *e, KVal value); // any K_FRAG_* of its own code
