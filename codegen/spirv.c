#include "codegen/spirv.h"
#include "codegen/spirv_emit.h"
#include "ir/fragment_layout.h"

#include <assert.h>
#include <spirv/unified1/GLSL.std.450.h>

typedef enum SelectForm {
    SELECT_OWN,
    SELECT_PLAIN,
    SELECT_FLOAT,
    SELECT_GLSL,
    SELECT_LOGIC,
    SELECT_REDUCE,
    SELECT_BUILTIN
} SelectForm;

typedef struct Select {
    SelectForm form;
    uint32_t op, other; // other: op for bool, or the component of a built-in
} Select;

static const Select select_table[K_OP_COUNT] = {
#define PLAIN(op, spv)           [K_##op] = {SELECT_PLAIN, SpvOp##spv, 0},
#define FLOAT(op, spv)           [K_##op] = {SELECT_FLOAT, SpvOp##spv, 0},
#define GLSL(op, number)         [K_##op] = {SELECT_GLSL, number, 0},
#define LOGIC(op, word, boolean) [K_##op] = {SELECT_LOGIC, SpvOp##word, SpvOp##boolean},
#define REDUCE(op, spv)          [K_##op] = {SELECT_REDUCE, SpvOp##spv, 0},
#define BUILTIN(op, name, component)                                                               \
    [K_##op] = {SELECT_BUILTIN, SpvBuiltIn##name, (uint32_t)(component)},
#include "codegen/spirv_select.def"
};

uint32_t emit_scalar_type(SpirvEmit *e, unsigned op, unsigned width) {
    if (op == SpvOpTypeInt) return spirv_type(e->module, SpvOpTypeInt, width, 0);
    return spirv_type(e->module, SpvOpTypeFloat, width);
}

uint32_t emit_vector_type(SpirvEmit *e, uint32_t component, unsigned lanes) {
    return lanes == 1 ? component : spirv_type(e->module, SpvOpTypeVector, component, lanes);
}

uint32_t emit_type(SpirvEmit *e, KType type) {
    uint32_t word = emit_scalar_type(e, SpvOpTypeInt, 32);
    switch ((KKind)type.kind) {
    case KT_BOOL:
        return emit_vector_type(e, spirv_intern(e->module, SpvOpTypeBool, 0, 0, NULL), type.lanes);
    case KT_I32: return emit_vector_type(e, word, type.lanes);
    case KT_F32: return emit_vector_type(e, emit_scalar_type(e, SpvOpTypeFloat, 32), type.lanes);
    case KT_I64:
    case KT_PTR: return emit_vector_type(e, word, 2); // low word, high word
    case KT_FRAG: return emit_fragment_type(e, type);
    case KT_NONE: break;
    }
    assert(!"a value has a type");
    return 0;
}

uint32_t emit_u32(SpirvEmit *e, uint32_t value) {
    return spirv_intern(e->module, SpvOpConstant, emit_scalar_type(e, SpvOpTypeInt, 32), 1, &value);
}

static uint32_t emit_constant(SpirvEmit *e, const KInstr *instr) {
    uint32_t scalar, word = (uint32_t)instr->imm;
    KType type = instr->type;
    unsigned lanes = type.lanes;
    type.lanes = 1;
    if (type.kind == KT_I64) {
        uint32_t half[2] = {emit_u32(e, word), emit_u32(e, (uint32_t)((uint64_t)instr->imm >> 32))};
        return spirv_intern(e->module, SpvOpConstantComposite, emit_type(e, type), 2, half);
    }
    if (type.kind == KT_BOOL) {
        scalar = spirv_intern(e->module, word ? SpvOpConstantTrue : SpvOpConstantFalse,
                              emit_type(e, type), 0, NULL);
    } else {
        scalar = spirv_intern(e->module, SpvOpConstant, emit_type(e, type), 1, &word);
    }
    if (lanes == 1) return scalar;
    uint32_t part[4] = {scalar, scalar, scalar, scalar};
    return spirv_intern(e->module, SpvOpConstantComposite, emit_type(e, instr->type), lanes, part);
}

uint32_t emit_value(SpirvEmit *e, KVal value) {
    if (e->id[value]) return e->id[value];
    const KInstr *instr = kernel_at(e->kernel, value);
    if (instr->op == K_CONST) {
        e->id[value] = emit_constant(e, instr);
    } else if (instr->op == K_RESULT && kernel_at(e->kernel, instr->match)->op == K_LOOP) {
        // After a loop its carried values are those of the header.
        e->id[value] = emit_value(e, instr->match + 1 + (uint32_t)instr->imm);
    } else {
        e->id[value] = spirv_id(e->module);
    }
    return e->id[value];
}

uint32_t emit_fresh(SpirvEmit *e, unsigned op, uint32_t type, uint32_t words,
                    const uint32_t *operand) {
    uint32_t id = spirv_id(e->module), all[16] = {type, id};
    assert(words <= 14);
    for (uint32_t i = 0; i < words; i++) all[i + 2] = operand[i];
    spirv_put(e->module, SPV_CODE, op, words + 2, all);
    return id;
}

void emit_result(SpirvEmit *e, KVal value, unsigned op, uint32_t words, const uint32_t *operand) {
    uint32_t all[16] = {emit_type(e, kernel_at(e->kernel, value)->type), emit_value(e, value)};
    assert(words <= 14);
    for (uint32_t i = 0; i < words; i++) all[i + 2] = operand[i];
    spirv_put(e->module, SPV_CODE, op, words + 2, all);
}

uint32_t emit_global(SpirvEmit *e, uint32_t pointer_type, SpvStorageClass storage) {
    uint32_t id = spirv_id(e->module);
    spirv_emit_op(e->module, SPV_GLOBALS, SpvOpVariable, pointer_type, id, storage);
    // Before SPIR-V 1.4 only inputs and outputs were listed; since then all globals are.
    vec_push(e->module->arena, &e->interface, id);
    return id;
}

static void emit_label(SpirvEmit *e, uint32_t label) {
    spirv_put(e->module, SPV_CODE, SpvOpLabel, 1, &label);
    e->label = label;
}

// ---- built-in variables and subgroups ----------------------------------------------------------

static void emit_builtin(SpirvEmit *e, KVal value, const Select *select) {
    SpvBuiltIn builtin = select->op;
    uint32_t word = emit_scalar_type(e, SpvOpTypeInt, 32);
    bool vector = (int32_t)select->other >= 0;
    uint32_t type = vector ? emit_vector_type(e, word, 3) : word;
    uint32_t *variable = &e->builtin_variable[builtin];
    if (!*variable) {
        *variable =
            emit_global(e, spirv_type(e->module, SpvOpTypePointer, SpvStorageClassInput, type),
                        SpvStorageClassInput);
        spirv_emit_op(e->module, SPV_ANNOTATIONS, SpvOpDecorate, *variable, SpvDecorationBuiltIn,
                      builtin);
    }
    if (!vector) {
        spirv_capability(e->module, SpvCapabilityGroupNonUniform);
        emit_result(e, value, SpvOpLoad, 1, variable);
        return;
    }
    uint32_t loaded = emit_op(e, SpvOpLoad, type, *variable);
    emit_result(e, value, SpvOpCompositeExtract, 2, (uint32_t[]){loaded, select->other});
}

static void emit_subgroup(SpirvEmit *e, KVal value, unsigned op, uint32_t capability) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t operand[4] = {emit_u32(e, SpvScopeSubgroup)}, words = 1;
    spirv_capability(e->module, SpvCapabilityGroupNonUniform);
    spirv_capability(e->module, capability);
    if (capability == SpvCapabilityGroupNonUniformArithmetic) {
        operand[words++] = SpvGroupOperationReduce;
    }
    for (int i = 0; i < kop_info(instr->op)->operands; i++) {
        operand[words++] = emit_value(e, instr->arg[i]);
    }
    emit_result(e, value, op, words, operand);
}

static void emit_barrier(SpirvEmit *e) {
    spirv_emit_op(
        e->module, SPV_CODE, SpvOpControlBarrier, emit_u32(e, SpvScopeWorkgroup),
        emit_u32(e, SpvScopeWorkgroup),
        emit_u32(e, SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask));
}

// ---- structured control ------------------------------------------------------------------------
// YIELDs directly precede ELSE, END_LOOP and END_IF; each of these knows the block it ended in.

static KVal first_yield(const SpirvEmit *e, KVal end) {
    while (kernel_at(e->kernel, end - 1)->op == K_YIELD) end--;
    return end;
}

static void emit_branch(SpirvEmit *e, uint32_t label) {
    spirv_put(e->module, SPV_CODE, SpvOpBranch, 1, &label);
}

// A LOOP uses five labels: header = own, then body, continue and merge.
typedef struct LoopLabels {
    uint32_t header, body, next, merge;
} LoopLabels;

static LoopLabels loop_labels(SpirvEmit *e, KVal loop) {
    uint32_t *first = &e->block_of[loop];
    if (!*first) {
        *first = e->module->bound;
        e->module->bound += 4;
    }
    return (LoopLabels){*first, *first + 1, *first + 2, *first + 3};
}

static KVal emit_loop(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    LoopLabels at = loop_labels(e, value);
    uint32_t before = e->label, carried = 0, counter = emit_value(e, value);
    uint32_t next_counter = spirv_id(e->module);
    KVal yield = first_yield(e, instr->match);
    emit_branch(e, at.header);
    emit_label(e, at.header);
    emit_result(e, value, SpvOpPhi, 4,
                (uint32_t[]){emit_value(e, instr->arg[0]), before, next_counter, at.next});
    while (kernel_at(e->kernel, value + 1 + carried)->op == K_CARRY) {
        KVal carry = value + 1 + carried;
        KVal next = kernel_at(e->kernel, yield + carried)->arg[0];
        emit_result(e, carry, SpvOpPhi, 4,
                    (uint32_t[]){emit_value(e, kernel_at(e->kernel, carry)->arg[0]), before,
                                 emit_value(e, next), at.next});
        carried++;
    }
    uint32_t in_range =
        emit_op(e, SpvOpSLessThan, spirv_intern(e->module, SpvOpTypeBool, 0, 0, NULL), counter,
                emit_value(e, instr->arg[1]));
    static const uint32_t control[] = {SpvLoopControlMaskNone, SpvLoopControlUnrollMask,
                                       SpvLoopControlDontUnrollMask};
    spirv_emit_op(e->module, SPV_CODE, SpvOpLoopMerge, at.merge, at.next, control[instr->flag]);
    spirv_emit_op(e->module, SPV_CODE, SpvOpBranchConditional, in_range, at.body, at.merge);
    emit_label(e, at.body);
    e->block_of[instr->match] = next_counter;
    return value + carried;
}

static void emit_end_loop(SpirvEmit *e, KVal value) {
    KVal loop = kernel_at(e->kernel, value)->match;
    const KInstr *instr = kernel_at(e->kernel, loop);
    LoopLabels at = loop_labels(e, loop);
    emit_branch(e, at.next);
    emit_label(e, at.next);
    spirv_emit_op(e->module, SPV_CODE, SpvOpIAdd, emit_scalar_type(e, SpvOpTypeInt, 32),
                  e->block_of[value], emit_value(e, loop), emit_value(e, instr->arg[2]));
    emit_branch(e, at.header);
    emit_label(e, at.merge);
}

// Labels of an IF: then, else (or merge again), merge; kept at block_of[if].
static void emit_if(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    bool has_else = kernel_at(e->kernel, instr->match)->op == K_ELSE;
    uint32_t then = e->module->bound, merge = then + 1, other = has_else ? then + 2 : merge;
    e->module->bound += 3;
    e->block_of[value] = then;
    spirv_emit_op(e->module, SPV_CODE, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
    spirv_emit_op(e->module, SPV_CODE, SpvOpBranchConditional, emit_value(e, instr->arg[0]), then,
                  other);
    emit_label(e, then);
}

static KVal if_of(const SpirvEmit *e, KVal end) { // of an ELSE or END_IF
    const KInstr *instr = kernel_at(e->kernel, end);
    if (instr->op == K_END_IF) return instr->match;
    KVal end_if = instr->match;
    return kernel_at(e->kernel, end_if)->match;
}

static void emit_else(SpirvEmit *e, KVal value) {
    uint32_t then = e->block_of[if_of(e, value)];
    e->block_of[value] = e->label; // where the first branch's values come from
    emit_branch(e, then + 1);
    emit_label(e, then + 2);
}

static void emit_end_if(SpirvEmit *e, KVal value) {
    KVal start = if_of(e, value), other = kernel_at(e->kernel, start)->match;
    uint32_t merge = e->block_of[start] + 1, from = e->label;
    emit_branch(e, merge);
    emit_label(e, merge);
    KVal result = value + 1;
    for (uint32_t i = 0; result < e->kernel->code.len; i++, result++) {
        const KInstr *instr = kernel_at(e->kernel, result);
        if (instr->op != K_RESULT || instr->match != start) break;
        KVal then = kernel_at(e->kernel, first_yield(e, other) + i)->arg[0];
        KVal otherwise = kernel_at(e->kernel, first_yield(e, value) + i)->arg[0];
        emit_result(
            e, result, SpvOpPhi, 4,
            (uint32_t[]){emit_value(e, then), e->block_of[other], emit_value(e, otherwise), from});
    }
}

// ---- one instruction
// -----------------------------------------------------------------------------

static void emit_select_value(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t condition = emit_value(e, instr->arg[0]);
    unsigned lanes = instr->type.lanes;
    KType type = kernel_at(e->kernel, instr->arg[0])->type;
    if (type.lanes != lanes) { // OpSelect wants as many lanes before SPIR-V 1.4
        type.lanes = (uint8_t)lanes;
        uint32_t part[4] = {condition, condition, condition, condition};
        condition = emit_fresh(e, SpvOpCompositeConstruct, emit_type(e, type), lanes, part);
    }
    emit_result(
        e, value, SpvOpSelect, 3,
        (uint32_t[]){condition, emit_value(e, instr->arg[1]), emit_value(e, instr->arg[2])});
}

static void emit_umulhi(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t type = emit_type(e, instr->type);
    uint32_t product =
        emit_op(e, SpvOpUMulExtended, spirv_type(e->module, SpvOpTypeStruct, type, type),
                emit_value(e, instr->arg[0]), emit_value(e, instr->arg[1]));
    emit_result(e, value, SpvOpCompositeExtract, 2, (uint32_t[]){product, 1});
}

static void emit_selected(SpirvEmit *e, KVal value, const Select *select) {
    const KInstr *instr = kernel_at(e->kernel, value);
    uint32_t operand[6], words = 0, op = select->op;
    if (select->form == SELECT_BUILTIN) {
        emit_builtin(e, value, select);
        return;
    }
    if (instr->op == K_SUBGROUP_OR && instr->type.kind == KT_BOOL) {
        emit_subgroup(e, value, SpvOpGroupNonUniformAny, SpvCapabilityGroupNonUniformVote);
        return;
    }
    if (select->form == SELECT_REDUCE) {
        emit_subgroup(e, value, op, SpvCapabilityGroupNonUniformArithmetic);
        return;
    }
    if (select->form == SELECT_GLSL) {
        operand[words++] = spirv_glsl(e->module);
        operand[words++] = op;
        op = SpvOpExtInst;
    } else if (select->form == SELECT_LOGIC && instr->type.kind == KT_BOOL) {
        op = select->other;
    }
    for (int i = 0; i < kop_info(instr->op)->operands; i++) {
        operand[words++] = emit_value(e, instr->arg[i]);
    }
    emit_result(e, value, op, words, operand);
    // x - x is NaN where x is infinite or NaN. Drivers may make it 0 (Mesa 26.1 does) unless the
    // instruction is exact; what may be contracted is an FMA already.
    bool exact = e->kernel->strict && (select->form == SELECT_FLOAT || instr->op == K_FMA);
    if (exact || instr->op == K_FSUB) {
        spirv_emit_op(e->module, SPV_ANNOTATIONS, SpvOpDecorate, emit_value(e, value),
                      SpvDecorationNoContraction);
    }
}

// Returns the last instruction it dealt with.
static KVal emit_instruction(SpirvEmit *e, KVal value) {
    const KInstr *instr = kernel_at(e->kernel, value);
    const Select *select = &select_table[instr->op];
    if (select->form != SELECT_OWN) {
        emit_selected(e, value, select);
        return value;
    }
    switch ((KOp)instr->op) {
    case K_NOP:
    case K_CONST: // declared where used
    case K_YIELD:
    case K_RESULT: break; // by the instructions they belong to
    case K_PARAM: emit_param(e, value); break;
    case K_SELECT: emit_select_value(e, value); break;
    case K_EXTRACT:
        emit_result(e, value, SpvOpCompositeExtract, 2,
                    (uint32_t[]){emit_value(e, instr->arg[0]), (uint32_t)instr->imm});
        break;
    case K_UMULHI: emit_umulhi(e, value); break;
    case K_PTR_ADD: emit_ptr_add(e, value); break;
    case K_LOAD: emit_load(e, value); break;
    case K_STORE: emit_store(e, value); break;
    case K_SHARED_LOAD: emit_shared_load(e, value); break;
    case K_SHARED_STORE: emit_shared_store(e, value); break;
    case K_BARRIER: emit_barrier(e); break;
    case K_LOOP: return emit_loop(e, value);
    case K_END_LOOP: emit_end_loop(e, value); break;
    case K_IF: emit_if(e, value); break;
    case K_ELSE: emit_else(e, value); break;
    case K_END_IF: emit_end_if(e, value); break;
    case K_BROADCAST_FIRST:
        emit_subgroup(e, value, SpvOpGroupNonUniformBroadcastFirst,
                      SpvCapabilityGroupNonUniformBallot);
        break;
    case K_SHUFFLE:
        emit_subgroup(e, value, SpvOpGroupNonUniformShuffle, SpvCapabilityGroupNonUniformShuffle);
        break;
    case K_SHUFFLE_XOR:
        emit_subgroup(e, value, SpvOpGroupNonUniformShuffleXor,
                      SpvCapabilityGroupNonUniformShuffle);
        break;
    default: emit_fragment(e, value); break;
    }
    return value;
}

// ---- the module
// ----------------------------------------------------------------------------------

static void emit_float_controls(SpirvEmit *e, uint32_t entry) {
    static const struct {
        TargetFeatures feature;
        uint32_t mode, width, capability;
    } control[] = {
        {TF_SIGNED_ZERO_INF_NAN32, SpvExecutionModeSignedZeroInfNanPreserve, 32,
         SpvCapabilitySignedZeroInfNanPreserve},
        {TF_ROUNDING_RTE32, SpvExecutionModeRoundingModeRTE, 32, SpvCapabilityRoundingModeRTE},
        {TF_ROUNDING_RTE16, SpvExecutionModeRoundingModeRTE, 16, SpvCapabilityRoundingModeRTE},
        {TF_DENORM_PRESERVE16, SpvExecutionModeDenormPreserve, 16, SpvCapabilityDenormPreserve},
    };
    for (size_t i = 0; i < sizeof control / sizeof *control; i++) {
        if (!(e->options->features & control[i].feature)) continue;
        // A width that the kernel never holds needs no mode (and no feature).
        if (control[i].width == 16 && !(e->kernel->needs & K_NEED_STORAGE_16)) continue;
        e->needs |= control[i].feature;
        spirv_capability(e->module, control[i].capability);
        spirv_emit_op(e->module, SPV_EXECUTION_MODES, SpvOpExecutionMode, entry, control[i].mode,
                      control[i].width);
    }
}

// Narrow memory is reached through pointers made from addresses. SPIRV-Tools before 2024 counts
// that conversion as arithmetic on the pointee's type, so the types are declared in full.
static void emit_narrow_types(SpirvEmit *e) {
    static const struct {
        TargetFeatures feature;
        uint32_t capability;
    } narrow[] = {{TF_FLOAT16, SpvCapabilityFloat16},
                  {TF_INT16, SpvCapabilityInt16},
                  {TF_INT8, SpvCapabilityInt8}};
    TargetFeatures used = 0;
    for (KVal value = 1; value < e->kernel->code.len; value++) {
        const KInstr *instr = kernel_at(e->kernel, value);
        if (instr->op != K_LOAD && instr->op != K_STORE) continue;
        if (instr->mem == DT_F16)
            used |= TF_FLOAT16;
        else if (instr->mem == DT_BF16)
            used |= TF_INT16;
        else if (dtype_bytes(instr->mem) == 1)
            used |= TF_INT8;
    }
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        if (used & narrow[i].feature) spirv_capability(e->module, narrow[i].capability);
    }
    e->needs |= used;
}

static void emit_needs(SpirvEmit *e) {
    static const struct {
        uint32_t need;
        TargetFeatures feature;
    } needs[] = {
        {K_NEED_STORAGE_16, TF_STORAGE16},
        {K_NEED_STORAGE_8, TF_STORAGE8},
        {K_NEED_SUBGROUP_ARITHMETIC, TF_SUBGROUP_ARITHMETIC},
        {K_NEED_SUBGROUP_SHUFFLE, TF_SUBGROUP_SHUFFLE},
        {K_NEED_FRAGMENTS, TF_COOPERATIVE_MATRIX | TF_MEMORY_MODEL | TF_SPIRV16},
        {K_NEED_FRAGMENT_F16, TF_FLOAT16},
        {K_NEED_FRAGMENT_BF16, TF_BFLOAT16},
        {K_NEED_FRAGMENT_I8, TF_INT8},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (e->kernel->needs & needs[i].need) e->needs |= needs[i].feature;
    }
    if (e->kernel->subgroup_size) e->needs |= TF_SUBGROUP_SIZE_CONTROL;
    e->needs |= fragment_layout_feature(e->kernel->components);
    emit_narrow_types(e);
    spirv_capability(e->module, SpvCapabilityShader);
    spirv_capability(e->module, SpvCapabilityPhysicalStorageBufferAddresses);
    if (e->needs & TF_STORAGE16) {
        spirv_capability(e->module, SpvCapabilityStorageBuffer16BitAccess);
    }
    if (e->needs & TF_STORAGE8) spirv_capability(e->module, SpvCapabilityStorageBuffer8BitAccess);
    if (e->vulkan_memory_model) spirv_capability(e->module, SpvCapabilityVulkanMemoryModel);
}

static void emit_names(SpirvEmit *e) {
    for (KVal value = 1; value < e->kernel->code.len; value++) {
        const KInstr *instr = kernel_at(e->kernel, value);
        if (instr->op != K_PARAM || !e->id[value]) continue;
        spirv_put_string(e->module, SPV_NAMES, SpvOpName, 1, &e->id[value],
                         e->kernel->params.at[instr->imm].name, 0, NULL);
    }
}

static void emit_body(SpirvEmit *e) {
    uint32_t file = 0, line = 0;
    if (e->options->debug && e->options->file) {
        file = spirv_id(e->module);
        spirv_put_string(e->module, SPV_STRINGS, SpvOpString, 1, &file, e->options->file, 0, NULL);
    }
    for (KVal value = 1; value < e->kernel->code.len; value++) {
        const KInstr *instr = kernel_at(e->kernel, value);
        if (file && instr->line && instr->line != line && instr->op != K_RESULT) {
            line = instr->line;
            spirv_emit_op(e->module, SPV_CODE, SpvOpLine, file, line, 0);
        }
        value = emit_instruction(e, value);
    }
    if (e->options->debug) emit_names(e);
}

SpirvModuleInfo spirv_emit(Arena *arena, const Kernel *kernel, const SpirvOptions *options) {
    Arena *work = arena_child(arena);
    SpirvEmit e = {.module = spirv_module_create(work), .kernel = kernel, .options = options};
    size_t values = kernel->code.len;
    e.id = arena_alloc(work, values * sizeof *e.id);
    e.block_of = arena_alloc(work, values * sizeof *e.block_of);
    e.vulkan_memory_model = kernel->needs & K_NEED_FRAGMENTS;
    emit_needs(&e);
    spirv_emit_op(e.module, SPV_MEMORY_MODEL, SpvOpMemoryModel,
                  SpvAddressingModelPhysicalStorageBuffer64,
                  e.vulkan_memory_model ? SpvMemoryModelVulkan : SpvMemoryModelGLSL450);
    uint32_t entry = spirv_id(e.module);
    uint32_t nothing = spirv_intern(e.module, SpvOpTypeVoid, 0, 0, NULL);
    uint32_t function = spirv_type(e.module, SpvOpTypeFunction, nothing);
    emit_run_block(&e);
    spirv_emit_op(e.module, SPV_CODE, SpvOpFunction, nothing, entry, SpvFunctionControlMaskNone,
                  function);
    emit_label(&e, spirv_id(e.module));
    emit_body(&e);
    spirv_put(e.module, SPV_CODE, SpvOpReturn, 0, NULL);
    spirv_put(e.module, SPV_CODE, SpvOpFunctionEnd, 0, NULL);
    spirv_put_string(e.module, SPV_ENTRY_POINTS, SpvOpEntryPoint, 2,
                     (uint32_t[]){SpvExecutionModelGLCompute, entry}, "main", e.interface.len,
                     e.interface.at);
    spirv_emit_op(e.module, SPV_EXECUTION_MODES, SpvOpExecutionMode, entry,
                  SpvExecutionModeLocalSize, kernel->local_size, 1, 1);
    emit_float_controls(&e, entry);
    if (options->debug) {
        spirv_put_string(e.module, SPV_NAMES, SpvOpName, 1, &entry, kernel->name, 0, NULL);
    }
    SpirvModuleInfo info = {.needs = e.needs, .vulkan13 = e.vulkan_memory_model};
    info.words =
        spirv_finish(e.module, arena, e.vulkan_memory_model ? 0x00010600 : 0x00010500, &info.count);
    arena_destroy(work);
    return info;
}
