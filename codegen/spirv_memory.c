// Run block, buffers behind device addresses, workgroup memory.
#include "codegen/spirv_emit.h"

#include <assert.h>

static uint32_t pointer_type(SpirvEmit *e, SpvStorageClass storage, uint32_t type) {
    return spirv_type(e->module, SpvOpTypePointer, storage, type);
}

static void decorate_struct(SpirvEmit *e, uint32_t type, uint32_t members) {
    spirv_emit_op(e->module, SPV_ANNOTATIONS, SpvOpDecorate, type, SpvDecorationBlock);
    for (uint32_t i = 0; i < members; i++) {
        spirv_emit_op(e->module, SPV_ANNOTATIONS, SpvOpMemberDecorate, type, i, SpvDecorationOffset,
                      8 * i);
    }
}

static void declare_run_block(SpirvEmit *e) {
    uint32_t members = e->kernel->params.len;
    if (!members) return;
    SpirvModule *m = e->module;
    uint32_t pair = emit_vector_type(e, emit_scalar_type(e, SpvOpTypeInt, 32), 2);
    uint32_t *member = arena_alloc(m->arena, 4 * (size_t)members);
    for (uint32_t i = 0; i < members; i++) member[i] = pair;
    uint32_t type = spirv_intern(m, SpvOpTypeStruct, 0, members, member);
    decorate_struct(e, type, members);
    e->run_block =
        emit_global(e, pointer_type(e, SpvStorageClassUniform, type), SpvStorageClassUniform);
    spirv_emit_op(m, SPV_ANNOTATIONS, SpvOpDecorate, e->run_block, SpvDecorationDescriptorSet, 0);
    spirv_emit_op(m, SPV_ANNOTATIONS, SpvOpDecorate, e->run_block, SpvDecorationBinding, 0);
}

static uint32_t shared_element(SpirvEmit *e, const KShared *region) {
    unsigned op = region->dtype == DT_F32 ? SpvOpTypeFloat : SpvOpTypeInt;
    return emit_vector_type(e, emit_scalar_type(e, op, 32), region->lanes);
}

void emit_run_block(SpirvEmit *e) {
    declare_run_block(e);
    e->shared = arena_alloc(e->module->arena, 4 * (size_t)(e->kernel->shared.len + 1));
    for (uint32_t i = 0; i < e->kernel->shared.len; i++) {
        const KShared *region = &e->kernel->shared.at[i];
        uint32_t array = spirv_type(e->module, SpvOpTypeArray, shared_element(e, region),
                                    emit_u32(e, region->count));
        e->shared[i] = emit_global(e, pointer_type(e, SpvStorageClassWorkgroup, array),
                                   SpvStorageClassWorkgroup);
    }
}

void emit_param(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t word = emit_scalar_type(e, SpvOpTypeInt, 32);
    uint32_t pair = emit_vector_type(e, word, 2);
    uint32_t at = emit_op(e, SpvOpAccessChain, pointer_type(e, SpvStorageClassUniform, pair),
                          e->run_block, emit_u32(e, (uint32_t)instr->imm));
    if (instr->type.kind != KT_I32) {
        emit_result(e, value, SpvOpLoad, 1, &at);
        return;
    }
    uint32_t loaded = emit_op(e, SpvOpLoad, pair, at);
    emit_result(e, value, SpvOpCompositeExtract, 2, (uint32_t[]){loaded, 0});
}

// 64-bit address arithmetic on word pairs: no Int64 needed. The index is not negative.
void emit_ptr_add(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t word = emit_scalar_type(e, SpvOpTypeInt, 32);
    uint32_t pair = spirv_type(e->module, SpvOpTypeStruct, word, word);
    uint32_t base = emit_value(e, instr->arg[0]), index = emit_value(e, instr->arg[1]);
    uint32_t stride = emit_value(e, instr->arg[2]);
    uint32_t stride_low = emit_op(e, SpvOpCompositeExtract, word, stride, 0);
    uint32_t stride_high = emit_op(e, SpvOpCompositeExtract, word, stride, 1);
    uint32_t product = emit_op(e, SpvOpUMulExtended, pair, index, stride_low);
    uint32_t low = emit_op(e, SpvOpCompositeExtract, word, product, 0);
    uint32_t high = emit_op(e, SpvOpCompositeExtract, word, product, 1);
    high = emit_op(e, SpvOpIAdd, word, high, emit_op(e, SpvOpIMul, word, index, stride_high));
    uint32_t base_low = emit_op(e, SpvOpCompositeExtract, word, base, 0);
    uint32_t base_high = emit_op(e, SpvOpCompositeExtract, word, base, 1);
    uint32_t sum = emit_op(e, SpvOpIAddCarry, pair, base_low, low);
    low = emit_op(e, SpvOpCompositeExtract, word, sum, 0);
    uint32_t carry = emit_op(e, SpvOpCompositeExtract, word, sum, 1);
    high = emit_op(e, SpvOpIAdd, word, emit_op(e, SpvOpIAdd, word, base_high, high), carry);
    emit_result(e, value, SpvOpCompositeConstruct, 2, (uint32_t[]){low, high});
}

uint32_t emit_memory_type(SpirvEmit *e, DType mem) {
    switch (mem) {
    case DT_F32: return emit_scalar_type(e, SpvOpTypeFloat, 32);
    case DT_F16: return emit_scalar_type(e, SpvOpTypeFloat, 16);
    case DT_BF16: return emit_scalar_type(e, SpvOpTypeInt, 16);
    case DT_I8:
    case DT_U8:
    case DT_BOOL: return emit_scalar_type(e, SpvOpTypeInt, 8);
    default: return emit_scalar_type(e, SpvOpTypeInt, 32);
    }
}

// The pointer type of a buffer access: to struct { T element[]; }, NonWritable where the kernel
// only reads. Aggregates may be declared twice with other decorations, so these are kept by hand.
static uint32_t block_pointer_type(SpirvEmit *e, uint32_t element, unsigned bytes, bool read_only) {
    SpirvModule *m = e->module;
    for (uint32_t i = 0; i < e->blocks.len; i++) {
        const SpirvBlock *old = &e->blocks.at[i];
        if (old->element == element && old->read_only == read_only) return old->pointer;
    }
    uint32_t array = spirv_id(m), type = spirv_id(m);
    spirv_emit_op(m, SPV_GLOBALS, SpvOpTypeRuntimeArray, array, element);
    spirv_emit_op(m, SPV_GLOBALS, SpvOpTypeStruct, type, array);
    spirv_emit_op(m, SPV_ANNOTATIONS, SpvOpDecorate, array, SpvDecorationArrayStride, bytes);
    decorate_struct(e, type, 1);
    if (read_only) {
        spirv_emit_op(m, SPV_ANNOTATIONS, SpvOpMemberDecorate, type, 0, SpvDecorationNonWritable);
    }
    SpirvBlock block = {element, read_only,
                        pointer_type(e, SpvStorageClassPhysicalStorageBuffer, type)};
    vec_push(m->arena, &e->blocks, block);
    return block.pointer;
}

uint32_t emit_buffer_pointer(SpirvEmit *e, KVal pointer, uint32_t index, DType mem,
                             unsigned lanes) {
    const KParam *param = &e->kernel->params.at[kernel_root(e->kernel, pointer)];
    uint32_t element = emit_vector_type(e, emit_memory_type(e, mem), lanes);
    uint32_t block = block_pointer_type(e, element, dtype_bytes(mem) * lanes, !param->write);
    uint32_t base = emit_op(e, SpvOpBitcast, block, emit_value(e, pointer));
    return emit_op(e, SpvOpAccessChain,
                   pointer_type(e, SpvStorageClassPhysicalStorageBuffer, element), base,
                   emit_u32(e, 0), index);
}

static uint32_t shift_right(SpirvEmit *e, uint32_t index, unsigned lanes) {
    if (lanes == 1) return index;
    return emit_op(e, SpvOpShiftRightArithmetic, emit_scalar_type(e, SpvOpTypeInt, 32), index,
                   emit_u32(e, lanes == 4 ? 2 : 1));
}

static uint32_t add_index(SpirvEmit *e, uint32_t index, unsigned lane) {
    if (!lane) return index;
    return emit_op(e, SpvOpIAdd, emit_scalar_type(e, SpvOpTypeInt, 32), index, emit_u32(e, lane));
}

// A vector access needs its own alignment; below that it is done lane by lane.
static unsigned access_lanes(const KInstr *instr, unsigned lanes) {
    return instr->align >= dtype_bytes(instr->mem) * lanes ? lanes : 1;
}

static uint32_t load_raw(SpirvEmit *e, const KInstr *instr, uint32_t index, unsigned lanes) {
    uint32_t type = emit_vector_type(e, emit_memory_type(e, instr->mem), lanes);
    uint32_t at =
        emit_buffer_pointer(e, instr->arg[0], shift_right(e, index, lanes), instr->mem, lanes);
    return emit_op(e, SpvOpLoad, type, at, SpvMemoryAccessAlignedMask, instr->align);
}

static uint32_t splat_u32(SpirvEmit *e, uint32_t value, unsigned lanes) {
    uint32_t one = emit_u32(e, value), part[4] = {one, one, one, one};
    if (lanes == 1) return one;
    uint32_t type = emit_vector_type(e, emit_scalar_type(e, SpvOpTypeInt, 32), lanes);
    return spirv_intern(e->module, SpvOpConstantComposite, type, lanes, part);
}

// From what memory holds to the register type of the value.
static void convert_loaded(SpirvEmit *e, KVal value, uint32_t raw) {
    const KInstr *instr = kernel_at(e->kernel, value);
    unsigned lanes = instr->type.lanes;
    uint32_t words = emit_vector_type(e, emit_scalar_type(e, SpvOpTypeInt, 32), lanes);
    switch ((DType)instr->mem) {
    case DT_F16: emit_result(e, value, SpvOpFConvert, 1, &raw); break;
    case DT_I8: {
        // Extension is by opcode, not by the type's signedness, which is 0 throughout.
        emit_result(e, value, SpvOpSConvert, 1, &raw);
        break;
    }
    case DT_U8: emit_result(e, value, SpvOpUConvert, 1, &raw); break;
    case DT_BF16: {
        uint32_t wide = emit_op(e, SpvOpUConvert, words, raw);
        wide = emit_op(e, SpvOpShiftLeftLogical, words, wide, splat_u32(e, 16, lanes));
        emit_result(e, value, SpvOpBitcast, 1, &wide);
        break;
    }
    case DT_BOOL: {
        uint32_t wide = emit_op(e, SpvOpUConvert, words, raw);
        emit_result(e, value, SpvOpINotEqual, 2, (uint32_t[]){wide, splat_u32(e, 0, lanes)});
        break;
    }
    default: emit_result(e, value, SpvOpCopyObject, 1, &raw); break;
    }
}

void emit_load(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    unsigned lanes = instr->type.lanes;
    uint32_t index = emit_value(e, instr->arg[1]), raw, part[4];
    if (access_lanes(instr, lanes) == lanes) {
        raw = load_raw(e, instr, index, lanes);
    } else {
        for (unsigned i = 0; i < lanes; i++)
            part[i] = load_raw(e, instr, add_index(e, index, i), 1);
        raw = emit_fresh(e, SpvOpCompositeConstruct,
                         emit_vector_type(e, emit_memory_type(e, instr->mem), lanes), lanes, part);
    }
    convert_loaded(e, value, raw);
}

// f32 to the upper half of its bits, to nearest even; a NaN keeps its upper bits and stays a NaN.
static uint32_t to_bf16(SpirvEmit *e, uint32_t value, unsigned lanes) {
    uint32_t words = emit_vector_type(e, emit_scalar_type(e, SpvOpTypeInt, 32), lanes);
    KType boolean = K_TYPE(KT_BOOL, (uint8_t)lanes);
    uint32_t bits = emit_op(e, SpvOpBitcast, words, value), sixteen = splat_u32(e, 16, lanes);
    uint32_t high = emit_op(e, SpvOpShiftRightLogical, words, bits, sixteen);
    uint32_t odd = emit_op(e, SpvOpBitwiseAnd, words, high, splat_u32(e, 1, lanes));
    uint32_t sum = emit_op(e, SpvOpIAdd, words, bits, splat_u32(e, 0x7fff, lanes));
    sum = emit_op(e, SpvOpIAdd, words, sum, odd);
    uint32_t rounded = emit_op(e, SpvOpShiftRightLogical, words, sum, sixteen);
    uint32_t quiet = emit_op(e, SpvOpBitwiseOr, words, high, splat_u32(e, 0x40, lanes));
    uint32_t magnitude = emit_op(e, SpvOpBitwiseAnd, words, bits, splat_u32(e, 0x7fffffff, lanes));
    uint32_t nan = emit_op(e, SpvOpUGreaterThan, emit_type(e, boolean), magnitude,
                           splat_u32(e, 0x7f800000, lanes));
    return emit_op(e, SpvOpSelect, words, nan, quiet, rounded);
}

static uint32_t convert_stored(SpirvEmit *e, const KInstr *instr, uint32_t value, unsigned lanes) {
    uint32_t memory = emit_vector_type(e, emit_memory_type(e, instr->mem), lanes);
    switch ((DType)instr->mem) {
    case DT_F16: {
        // The decoration pins the rounding even where the device lists no execution mode for it.
        uint32_t narrow = emit_op(e, SpvOpFConvert, memory, value);
        spirv_emit_op(e->module, SPV_ANNOTATIONS, SpvOpDecorate, narrow,
                      SpvDecorationFPRoundingMode, SpvFPRoundingModeRTE);
        return narrow;
    }
    case DT_BF16: return emit_op(e, SpvOpUConvert, memory, to_bf16(e, value, lanes));
    case DT_I8:
    case DT_U8: return emit_op(e, SpvOpUConvert, memory, value);
    case DT_BOOL: {
        uint32_t words = emit_vector_type(e, emit_scalar_type(e, SpvOpTypeInt, 32), lanes);
        uint32_t one =
            emit_op(e, SpvOpSelect, words, value, splat_u32(e, 1, lanes), splat_u32(e, 0, lanes));
        return emit_op(e, SpvOpUConvert, memory, one);
    }
    default: return value;
    }
}

static void store_raw(SpirvEmit *e, const KInstr *instr, uint32_t index, uint32_t value,
                      unsigned lanes) {
    uint32_t at =
        emit_buffer_pointer(e, instr->arg[0], shift_right(e, index, lanes), instr->mem, lanes);
    spirv_emit_op(e->module, SPV_CODE, SpvOpStore, at, convert_stored(e, instr, value, lanes),
                  SpvMemoryAccessAlignedMask, instr->align);
}

void emit_store(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    KType type = kernel_at(e->kernel, instr->arg[2])->type;
    unsigned lanes = type.lanes;
    uint32_t index = emit_value(e, instr->arg[1]), stored = emit_value(e, instr->arg[2]);
    if (access_lanes(instr, lanes) == lanes) {
        store_raw(e, instr, index, stored, lanes);
        return;
    }
    type.lanes = 1;
    for (unsigned i = 0; i < lanes; i++) {
        uint32_t part = emit_op(e, SpvOpCompositeExtract, emit_type(e, type), stored, i);
        store_raw(e, instr, add_index(e, index, i), part, 1);
    }
}

// ---- workgroup memory --------------------------------------------------------------------------

static uint32_t word_type(SpirvEmit *e, const KShared *region, unsigned lanes) {
    unsigned op = region->dtype == DT_F32 ? SpvOpTypeFloat : SpvOpTypeInt;
    return emit_vector_type(e, emit_scalar_type(e, op, 32), lanes);
}

// The number of the vector that word `index + plus` of a region lies in, and the word's place in
// it. A constant of whole vectors is added behind the shift: drivers then make it part of the
// access, and many accesses share one shifted index.
static uint32_t shared_place(SpirvEmit *e, KVal index, unsigned plus, unsigned lanes,
                             uint32_t *lane) {
    const KInstr *sum = kernel_at(e->kernel, index);
    int64_t constant = 0;
    if (sum->op == K_IADD) {
        bool second = kernel_const(e->kernel, sum->arg[1], &constant);
        if (!second) kernel_const(e->kernel, sum->arg[0], &constant);
        if (constant > 0 && constant % lanes == 0)
            index = sum->arg[second ? 0 : 1];
        else
            constant = 0;
    }
    uint32_t word = add_index(e, emit_value(e, index), plus);
    if (lane) {
        uint32_t type = emit_scalar_type(e, SpvOpTypeInt, 32);
        *lane = emit_op(e, SpvOpBitwiseAnd, type, word, emit_u32(e, lanes - 1u));
    }
    return add_index(e, shift_right(e, word, lanes), (unsigned)constant / lanes);
}

uint32_t emit_shared_pointer(SpirvEmit *e, uint32_t region, KVal index, unsigned plus,
                             unsigned lanes) {
    const KShared *shared = &e->kernel->shared.at[region];
    uint32_t type = pointer_type(e, SpvStorageClassWorkgroup, word_type(e, shared, lanes));
    if (lanes == shared->lanes) {
        uint32_t vector = shared_place(e, index, plus, lanes, NULL);
        return emit_op(e, SpvOpAccessChain, type, e->shared[region], vector);
    }
    assert(lanes == 1);
    uint32_t lane, vector = shared_place(e, index, plus, shared->lanes, &lane);
    return emit_op(e, SpvOpAccessChain, type, e->shared[region], vector, lane);
}

// Under the Vulkan memory model an access that other invocations may see is marked non-private.
static uint32_t shared_access(const SpirvEmit *e) {
    return e->vulkan_memory_model ? SpvMemoryAccessNonPrivatePointerMask : SpvMemoryAccessMaskNone;
}

// Lanes of one access: the region's own vectors, or words.
static unsigned shared_lanes(const KShared *region, unsigned lanes) {
    return lanes == region->lanes ? lanes : 1;
}

void emit_shared_load(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t number = (uint32_t)instr->imm, part[4], raw = 0;
    const KShared *region = &e->kernel->shared.at[number];
    unsigned lanes = instr->type.lanes, step = shared_lanes(region, lanes);
    for (unsigned i = 0; i < lanes; i += step) {
        uint32_t at = emit_shared_pointer(e, number, instr->arg[0], i, step);
        raw = part[i] = emit_op(e, SpvOpLoad, word_type(e, region, step), at, shared_access(e));
    }
    if (step < lanes) {
        raw = emit_fresh(e, SpvOpCompositeConstruct, word_type(e, region, lanes), lanes, part);
    }
    bool same = (region->dtype == DT_F32) == (instr->type.kind == KT_F32);
    emit_result(e, value, same ? SpvOpCopyObject : SpvOpBitcast, 1, &raw);
}

void emit_shared_store(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t number = (uint32_t)instr->imm;
    const KShared *region = &e->kernel->shared.at[number];
    KType type = kernel_at(e->kernel, instr->arg[1])->type;
    uint32_t stored = emit_value(e, instr->arg[1]);
    unsigned lanes = type.lanes, step = shared_lanes(region, lanes);
    if ((region->dtype == DT_F32) != (type.kind == KT_F32)) {
        stored = emit_op(e, SpvOpBitcast, word_type(e, region, lanes), stored);
    }
    for (unsigned i = 0; i < lanes; i += step) {
        uint32_t part = stored;
        if (step < lanes) {
            part = emit_op(e, SpvOpCompositeExtract, word_type(e, region, 1), stored, i);
        }
        uint32_t at = emit_shared_pointer(e, number, instr->arg[0], i, step);
        spirv_emit_op(e->module, SPV_CODE, SpvOpStore, at, part, shared_access(e));
    }
}
