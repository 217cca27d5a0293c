// Cooperative-matrix fragments: SPV_KHR_cooperative_matrix and, for bf16, SPV_KHR_bfloat16.
#include "codegen/spirv_emit.h"
#include "codegen/spirv_new.h"

#include <assert.h>

static bool is_integer(DType dtype) {
    return dtype == DT_I8 || dtype == DT_U8 || dtype == DT_I32;
}

// Scalar type of a fragment's elements. Signedness of 8-bit products is told by the operands of
// OpCooperativeMatrixMulAddKHR.
static uint32_t element_type(SpirvEmit *e, DType dtype) {
    SpirvModule *m = e->module;
    switch (dtype) {
    case DT_F16:
        spirv_capability(m, SpvCapabilityFloat16);
        return spirv_type(m, SpvOpTypeFloat, 16);
    case DT_BF16:
        spirv_capability(m, SPV_NEW_CapabilityBFloat16TypeKHR);
        spirv_capability(m, SPV_NEW_CapabilityBFloat16CooperativeMatrixKHR);
        spirv_extension(m, "SPV_KHR_bfloat16");
        return spirv_type(m, SpvOpTypeFloat, 16, SPV_NEW_FPEncodingBFloat16KHR);
    case DT_I8:
    case DT_U8: spirv_capability(m, SpvCapabilityInt8); return spirv_type(m, SpvOpTypeInt, 8, 0);
    case DT_I32: return spirv_type(m, SpvOpTypeInt, 32, 0);
    default: return spirv_type(m, SpvOpTypeFloat, 32);
    }
}

uint32_t emit_fragment_type(SpirvEmit *e, KType type) {
    spirv_capability(e->module, SPV_NEW_CapabilityCooperativeMatrixKHR);
    spirv_extension(e->module, "SPV_KHR_cooperative_matrix");
    return spirv_type(e->module, SPV_NEW_OpTypeCooperativeMatrixKHR, element_type(e, type.dtype),
                      emit_u32(e, SpvScopeSubgroup), emit_u32(e, type.rows), emit_u32(e, type.cols),
                      emit_u32(e, (uint32_t)type.use - KU_A));
}

static uint32_t emit_fill(SpirvEmit *e, KType type, KVal scalar) {
    uint32_t value = emit_value(e, scalar);
    if (type.dtype == DT_F16 || type.dtype == DT_BF16) {
        value = emit_op(e, SpvOpFConvert, element_type(e, type.dtype), value);
    } else if (type.dtype == DT_I8 || type.dtype == DT_U8) {
        value = emit_op(e, SpvOpUConvert, element_type(e, type.dtype), value);
    }
    return emit_op(e, SpvOpCompositeConstruct, emit_fragment_type(e, type), value);
}

// Address of a fragment in a buffer, as elements of its own type.
static uint32_t fragment_pointer(SpirvEmit *e, KVal pointer, KVal index, KType type) {
    return emit_buffer_pointer(e, pointer, emit_value(e, index), type.dtype, 1);
}

static uint32_t fragment_alignment(KType type, KLayout layout) {
    uint32_t row = layout == KL_ROW_MAJOR ? type.cols : type.rows;
    uint32_t bytes = row * dtype_bytes(type.dtype);
    return bytes < 16 ? bytes : 16;
}

static uint32_t shared_stride(SpirvEmit *e, uint32_t region, KVal stride) {
    unsigned lanes = e->kernel->shared.at[region].lanes;
    uint32_t words = emit_value(e, stride);
    if (lanes == 1) return words;
    return emit_op(e, SpvOpShiftRightLogical, emit_scalar_type(e, SpvOpTypeInt, 32), words,
                   emit_u32(e, lanes == 4 ? 2 : 1));
}

static void emit_fragment_memory(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    SpirvModule *m = e->module;
    uint32_t layout = emit_u32(e, instr->flag), region = (uint32_t)instr->imm;
    if (instr->op == K_FRAG_LOAD) {
        emit_result(e, value, SPV_NEW_OpCooperativeMatrixLoadKHR, 5,
                    (uint32_t[]){fragment_pointer(e, instr->arg[0], instr->arg[1], instr->type),
                                 layout, emit_value(e, instr->arg[2]), SpvMemoryAccessAlignedMask,
                                 fragment_alignment(instr->type, instr->flag)});
    } else if (instr->op == K_FRAG_STORE) {
        KType type = kernel_at(e->kernel, instr->arg[3])->type;
        spirv_emit_op(m, SPV_CODE, SPV_NEW_OpCooperativeMatrixStoreKHR,
                      fragment_pointer(e, instr->arg[0], instr->arg[1], type),
                      emit_value(e, instr->arg[3]), layout, emit_value(e, instr->arg[2]),
                      SpvMemoryAccessAlignedMask, fragment_alignment(type, instr->flag));
    } else if (instr->op == K_FRAG_SHARED_LOAD) {
        unsigned lanes = e->kernel->shared.at[region].lanes;
        emit_result(e, value, SPV_NEW_OpCooperativeMatrixLoadKHR, 4,
                    (uint32_t[]){emit_shared_pointer(e, region, instr->arg[0], 0, lanes), layout,
                                 shared_stride(e, region, instr->arg[1]),
                                 SpvMemoryAccessNonPrivatePointerMask});
    } else {
        unsigned lanes = e->kernel->shared.at[region].lanes;
        spirv_emit_op(m, SPV_CODE, SPV_NEW_OpCooperativeMatrixStoreKHR,
                      emit_shared_pointer(e, region, instr->arg[0], 0, lanes),
                      emit_value(e, instr->arg[2]), layout, shared_stride(e, region, instr->arg[1]),
                      SpvMemoryAccessNonPrivatePointerMask);
    }
}

static void emit_mul_add(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t operand[4], words = 3, sign = 0;
    for (int i = 0; i < 3; i++) operand[i] = emit_value(e, instr->arg[i]);
    if (kernel_at(e->kernel, instr->arg[0])->type.dtype == DT_I8) {
        sign |= SPV_NEW_CooperativeMatrixMatrixASigned;
    }
    if (kernel_at(e->kernel, instr->arg[1])->type.dtype == DT_I8) {
        sign |= SPV_NEW_CooperativeMatrixMatrixBSigned;
    }
    if (instr->type.dtype == DT_I32) {
        sign |=
            SPV_NEW_CooperativeMatrixMatrixCSigned | SPV_NEW_CooperativeMatrixMatrixResultSigned;
    }
    if (sign) operand[words++] = sign;
    emit_result(e, value, SPV_NEW_OpCooperativeMatrixMulAddKHR, words, operand);
}

static void emit_elementwise(SpirvEmit *e, KVal value) {
    static const struct {
        KOp op;
        SpvOp real, whole;
    } ops[] = {{K_FRAG_ADD, SpvOpFAdd, SpvOpIAdd},
               {K_FRAG_SUB, SpvOpFSub, SpvOpISub},
               {K_FRAG_MUL, SpvOpFMul, SpvOpIMul},
               {K_FRAG_DIV, SpvOpFDiv, SpvOpSDiv}};
    const KInstr *instr = kernel_at(e->kernel, value);
    bool scalar = kernel_at(e->kernel, instr->arg[1])->type.kind != KT_FRAG;
    uint32_t right =
        scalar ? emit_fill(e, instr->type, instr->arg[1]) : emit_value(e, instr->arg[1]);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (ops[i].op != instr->op) continue;
        emit_result(e, value, is_integer(instr->type.dtype) ? ops[i].whole : ops[i].real, 2,
                    (uint32_t[]){emit_value(e, instr->arg[0]), right});
    }
}

// A component as a register value, f32 or i32.
static void emit_extract_component(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    DType dtype = kernel_at(e->kernel, instr->arg[0])->type.dtype;
    uint32_t source = emit_value(e, instr->arg[0]), component = (uint32_t)instr->imm;
    if (dtype == DT_F32 || dtype == DT_I32) {
        emit_result(e, value, SpvOpCompositeExtract, 2, (uint32_t[]){source, component});
        return;
    }
    uint32_t raw = emit_op(e, SpvOpCompositeExtract, element_type(e, dtype), source, component);
    SpvOp convert = dtype == DT_I8 ? SpvOpSConvert : dtype == DT_U8 ? SpvOpUConvert : SpvOpFConvert;
    emit_result(e, value, convert, 1, &raw);
}

static void emit_insert_component(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    DType dtype = instr->type.dtype;
    uint32_t scalar = emit_value(e, instr->arg[1]);
    if (dtype == DT_I8 || dtype == DT_U8) {
        scalar = emit_op(e, SpvOpUConvert, element_type(e, dtype), scalar);
    } else if (dtype == DT_F16 || dtype == DT_BF16) {
        scalar = emit_op(e, SpvOpFConvert, element_type(e, dtype), scalar);
    }
    emit_result(e, value, SpvOpCompositeInsert, 3,
                (uint32_t[]){scalar, emit_value(e, instr->arg[0]), (uint32_t)instr->imm});
}

void emit_fragment(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    switch ((KOp)instr->op) {
    case K_FRAG_FILL: {
        uint32_t filled = emit_fill(e, instr->type, instr->arg[0]);
        emit_result(e, value, SpvOpCopyObject, 1, &filled);
        break;
    }
    case K_FRAG_LOAD:
    case K_FRAG_STORE:
    case K_FRAG_SHARED_LOAD:
    case K_FRAG_SHARED_STORE: emit_fragment_memory(e, value); break;
    case K_FRAG_MUL_ADD: emit_mul_add(e, value); break;
    case K_FRAG_ADD:
    case K_FRAG_SUB:
    case K_FRAG_MUL:
    case K_FRAG_DIV: emit_elementwise(e, value); break;
    case K_FRAG_CONVERT: {
        uint32_t source = emit_value(e, instr->arg[0]);
        bool from_int = is_integer(kernel_at(e->kernel, instr->arg[0])->type.dtype);
        bool to_int = is_integer(instr->type.dtype);
        SpvOp op = from_int ? (to_int ? SpvOpSConvert : SpvOpConvertSToF)
                            : (to_int ? SpvOpConvertFToS : SpvOpFConvert);
        emit_result(e, value, op, 1, &source);
        break;
    }
    case K_FRAG_LENGTH: {
        uint32_t type = emit_type(e, kernel_at(e->kernel, instr->arg[0])->type);
        emit_result(e, value, SPV_NEW_OpCooperativeMatrixLengthKHR, 1, &type);
        break;
    }
    case K_FRAG_EXTRACT: emit_extract_component(e, value); break;
    case K_FRAG_INSERT: emit_insert_component(e, value); break;
    default: assert(!"operation without code"); break;
    }
}
