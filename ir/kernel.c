#include "ir/kernel_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const KOpInfo op_table[K_OP_COUNT] = {
#define K_SIMPLE(id, name_, operands_, rule_, flags_, doc_)                                        \
    {.name = #name_, .doc = doc_, .operands = operands_, .rule = K_RULE_##rule_, .flags = flags_},
#include "ir/kernel_ops.def"
};

const KOpInfo *kop_info(KOp op) {
    assert(op < K_OP_COUNT);
    return &op_table[op];
}

bool kop_from_name(const char *name, KOp *out) {
    for (unsigned i = 0; i < K_OP_COUNT; i++) {
        if (strcmp(op_table[i].name, name) == 0) {
            *out = (KOp)i;
            return true;
        }
    }
    return false;
}

KType ktype_frag(KUse use, DType dtype, unsigned rows, unsigned cols) {
    return (KType){.kind = KT_FRAG,
                   .lanes = 1,
                   .use = (uint8_t)use,
                   .dtype = (uint8_t)dtype,
                   .rows = (uint16_t)rows,
                   .cols = (uint16_t)cols};
}

KType ktype_of_memory(DType dtype, unsigned lanes) {
    switch (dtype) {
    case DT_F32:
    case DT_F16:
    case DT_BF16: return K_TYPE(KT_F32, (uint8_t)lanes);
    case DT_I32:
    case DT_U32:
    case DT_I8:
    case DT_U8: return K_TYPE(KT_I32, (uint8_t)lanes);
    case DT_BOOL: return K_TYPE(KT_BOOL, (uint8_t)lanes);
    default: return K_TYPE(KT_NONE, 0);
    }
}

bool ktype_equal(KType a, KType b) {
    return a.kind == b.kind && a.lanes == b.lanes && a.use == b.use && a.dtype == b.dtype &&
           a.rows == b.rows && a.cols == b.cols;
}

void ktype_print(KType type, Text *out) {
    static const char *const kinds[] = {"none", "bool", "i32", "f32", "i64", "ptr", "frag"};
    static const char *const uses[] = {"none", "a", "b", "acc"};
    text_put(out, kinds[type.kind]);
    if (type.kind == KT_FRAG)
        text_printf(out, "(%s %s %ux%u)", uses[type.use], dtype_name(type.dtype), type.rows,
                    type.cols);
    else if (type.lanes > 1)
        text_printf(out, "x%u", type.lanes);
}

bool kop_result_type(KOp op, const KType *t, KType *out) {
    const KOpInfo *info = kop_info(op);
    bool equal = true;
    for (unsigned i = 1; i < info->operands; i++) equal = equal && ktype_equal(t[0], t[i]);
    KKind kind = info->operands > 0 ? t[0].kind : KT_NONE;
    uint8_t lanes = info->operands > 0 ? t[0].lanes : 1;
    bool plain = kind == KT_BOOL || kind == KT_I32 || kind == KT_F32;
    *out = info->operands > 0 ? t[0] : K_TYPE(KT_NONE, 0);
    switch ((KRule)info->rule) {
    case K_RULE_SPECIAL: return false;
    case K_RULE_NOTHING: return true;
    case K_RULE_FLOAT: return equal && kind == KT_F32;
    case K_RULE_INT: return equal && kind == KT_I32;
    case K_RULE_LOGIC: return equal && (kind == KT_I32 || kind == KT_BOOL);
    case K_RULE_ANY: return plain;
    case K_RULE_FCOMPARE: *out = K_TYPE(KT_BOOL, lanes); return equal && kind == KT_F32;
    case K_RULE_ICOMPARE: *out = K_TYPE(KT_BOOL, lanes); return equal && kind == KT_I32;
    case K_RULE_SELECT:
        *out = t[1];
        return kind == KT_BOOL && (lanes == 1 || lanes == t[1].lanes) && ktype_equal(t[1], t[2]) &&
               (t[1].kind == KT_BOOL || t[1].kind == KT_I32 || t[1].kind == KT_F32);
    case K_RULE_TO_F32: *out = K_TYPE(KT_F32, lanes); return kind == KT_I32;
    case K_RULE_TO_I32: *out = K_TYPE(KT_I32, lanes); return kind == KT_F32;
    case K_RULE_SHUFFLE: return plain && ktype_equal(t[1], K_TYPE(KT_I32, 1));
    case K_RULE_ID: *out = K_TYPE(KT_I32, 1); return true;
    case K_RULE_UNPACK: *out = K_TYPE(KT_F32, 2); return kind == KT_I32 && lanes == 1;
    case K_RULE_PACK: *out = K_TYPE(KT_I32, 1); return kind == KT_F32 && lanes == 2;
    case K_RULE_VECTOR:
        *out = K_TYPE((uint8_t)kind, info->operands);
        return equal && plain && lanes == 1;
    }
    return false;
}

uint32_t kernel_shared_words(const Kernel *kernel) {
    uint32_t words = 0;
    for (uint32_t i = 0; i < kernel->shared.len; i++)
        words += kernel->shared.at[i].lanes * kernel->shared.at[i].count;
    return words;
}

bool kernel_const(const Kernel *kernel, KVal value, int64_t *out) {
    if (kernel->code.at[value].op != K_CONST) return false;
    *out = kernel->code.at[value].imm;
    return true;
}

uint32_t kernel_yield_count(const Kernel *kernel, KVal end) {
    uint32_t count = 0;
    while (kernel->code.at[end - 1 - count].op == K_YIELD) count++;
    return count;
}

uint32_t kernel_root(const Kernel *kernel, KVal pointer) {
    for (;;) {
        const KInstr *instr = &kernel->code.at[pointer];
        if (instr->op == K_PARAM) return (uint32_t)instr->imm;
        if (instr->op == K_RESULT) {
            // Both branches, and every trip, yield pointers into one buffer (the verifier checks).
            KVal end = kernel->code.at[instr->match].match;
            pointer =
                kernel->code
                    .at[kernel_yield(end, kernel_yield_count(kernel, end), (uint32_t)instr->imm)]
                    .arg[0];
        } else {
            assert(instr->op == K_PTR_ADD || instr->op == K_CARRY);
            pointer = instr->arg[0];
        }
    }
}

unsigned kernel_frag_row(KType type, KLayout layout) {
    return layout == KL_ROW_MAJOR ? type.cols : type.rows;
}

unsigned kernel_frag_align(KType type, KLayout layout) {
    unsigned bytes = kernel_frag_row(type, layout) * dtype_bytes(type.dtype);
    return bytes < 16 ? bytes : 16;
}

const char *kernel_link(Kernel *kernel, Arena *arena, KVal *where) {
    VEC(KVal) open = {0};
    KVal closed = 0; // region that the RESULTs here belong to
    uint32_t results = 0;
    for (KVal v = 1; v < kernel->code.len; v++) {
        KInstr *instr = &kernel->code.at[v];
        KVal top = open.len > 0 ? open.at[open.len - 1] : 0;
        *where = v;
        switch (instr->op) {
        case K_LOOP:
        case K_IF: vec_push(arena, &open, v); break;
        case K_CARRY: {
            uint8_t before = kernel->code.at[v - 1].op;
            if (before != K_LOOP && before != K_CARRY) return "carry does not follow its loop";
            instr->match = top;
            break;
        }
        case K_ELSE:
            if (top == 0 || kernel->code.at[top].op != K_IF) return "else without if";
            kernel->code.at[top].match = v;
            open.at[open.len - 1] = v;
            break;
        case K_END_IF:
            if (top == 0 || (kernel->code.at[top].op != K_IF && kernel->code.at[top].op != K_ELSE))
                return "end of if without if";
            break;
        case K_END_LOOP:
            if (top == 0 || kernel->code.at[top].op != K_LOOP) return "end of loop without loop";
            break;
        case K_RESULT:
            if (closed == 0 || instr->imm != results) return "result does not follow its region";
            instr->match = closed;
            results++;
            continue;
        default: break;
        }
        closed = 0;
        if (instr->op == K_END_IF || instr->op == K_END_LOOP) {
            kernel->code.at[top].match = v;
            closed = top;
            if (kernel->code.at[top].op == K_ELSE) {
                closed = top;
                while (kernel->code.at[closed].op != K_IF || kernel->code.at[closed].match != top)
                    closed--;
            }
            instr->match = closed;
            results = 0;
            open.len--;
        }
        if (instr->op == K_END_IF || instr->op == K_END_LOOP || instr->op == K_ELSE) {
            uint32_t count = kernel_yield_count(kernel, v);
            for (uint32_t i = 0; i < count; i++) kernel->code.at[v - 1 - i].match = v;
        } else if (kernel->code.at[v - 1].op == K_YIELD && instr->op != K_YIELD) {
            return "yield does not precede the end of a region";
        }
    }
    *where = open.len > 0 ? open.at[open.len - 1] : 0;
    if (open.len > 0) return "region is not closed";
    if (kernel->code.at[kernel->code.len - 1].op == K_YIELD)
        return "yield does not precede the end of a region";
    return NULL;
}

static uint32_t needs_of_dtype(DType dtype, bool fragment) {
    switch (dtype) {
    case DT_F16: return K_NEED_STORAGE_16 | (fragment ? K_NEED_FRAGMENT_F16 : 0);
    case DT_BF16: return K_NEED_STORAGE_16 | (fragment ? K_NEED_FRAGMENT_BF16 : 0);
    case DT_I8:
    case DT_U8:
    case DT_BOOL: return K_NEED_STORAGE_8 | (fragment ? K_NEED_FRAGMENT_I8 : 0);
    default: return 0;
    }
}

static uint32_t needs_of_op(KOp op) {
    switch (op) {
    case K_SUBGROUP_ID:
    case K_SUBGROUP_LANE:
    case K_SUBGROUP_SIZE: return K_NEED_SUBGROUP_BASIC;
    case K_BROADCAST_FIRST: return K_NEED_SUBGROUP_BASIC | K_NEED_SUBGROUP_BALLOT;
    case K_SHUFFLE:
    case K_SHUFFLE_XOR: return K_NEED_SUBGROUP_BASIC | K_NEED_SUBGROUP_SHUFFLE;
    case K_SUBGROUP_FADD:
    case K_SUBGROUP_FMIN:
    case K_SUBGROUP_FMAX:
    case K_SUBGROUP_IADD:
    case K_SUBGROUP_SMIN:
    case K_SUBGROUP_SMAX:
    case K_SUBGROUP_OR: return K_NEED_SUBGROUP_BASIC | K_NEED_SUBGROUP_ARITHMETIC;
    default: return 0;
    }
}

static int compare_lines(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

void kernel_summarise(Kernel *kernel, Arena *arena) {
    kernel->needs = 0;
    for (KVal v = 1; v < kernel->code.len; v++) {
        const KInstr *instr = &kernel->code.at[v];
        kernel->needs |= needs_of_op(instr->op);
        if (instr->op == K_LOAD || instr->op == K_STORE || instr->op == K_FRAG_LOAD ||
            instr->op == K_FRAG_STORE)
            kernel->needs |= needs_of_dtype(instr->mem, false);
        if (instr->type.kind == KT_FRAG) {
            // A fragment's own element type needs arithmetic of it, not storage.
            uint32_t needs = needs_of_dtype(instr->type.dtype, true);
            kernel->needs |= K_NEED_FRAGMENTS | (needs & ~(K_NEED_STORAGE_16 | K_NEED_STORAGE_8));
        }
        if (instr->line != 0) vec_push(arena, &kernel->lines, instr->line);
    }
    if (kernel->lines.len == 0) return;
    qsort(kernel->lines.at, kernel->lines.len, sizeof(uint32_t), compare_lines);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < kernel->lines.len; i++) {
        if (kernel->lines.at[i] != kernel->lines.at[kept - 1])
            kernel->lines.at[kept++] = kernel->lines.at[i];
    }
    kernel->lines.len = kept;
}
