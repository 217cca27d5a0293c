// Text of kernel IR. One instruction a line:
//     %3: f32x2 = load %x, %2 as f16 align 4 loc(7)
// Results are numbered in order; parameters go by name, constants stand where they are used.
#include "ir/fragment_layout.h"
#include "ir/kernel_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t extras[K_OP_COUNT] = {
    [K_EXTRACT] = KX_IMM,
    [K_LOAD] = KX_MEM | KX_ALIGN,
    [K_STORE] = KX_MEM | KX_ALIGN,
    [K_SHARED_LOAD] = KX_REGION,
    [K_SHARED_STORE] = KX_REGION,
    [K_LOOP] = KX_HINT | KX_BLOCK,
    [K_IF] = KX_BLOCK,
    [K_RESULT] = KX_IMM,
    [K_FRAG_LOAD] = KX_LAYOUT,
    [K_FRAG_STORE] = KX_LAYOUT,
    [K_FRAG_SHARED_LOAD] = KX_REGION | KX_LAYOUT,
    [K_FRAG_SHARED_STORE] = KX_REGION | KX_LAYOUT,
    [K_FRAG_EXTRACT] = KX_IMM,
    [K_FRAG_INSERT] = KX_IMM,
};

unsigned kop_extras(KOp op) {
    return extras[op];
}

static bool is_numbered(const KInstr *instr) {
    return instr->type.kind != KT_NONE && instr->op != K_CONST && instr->op != K_PARAM;
}

// Fewest digits that read back the same.
static void print_float(uint32_t bits, Text *out) {
    float value;
    char text[40];
    memcpy(&value, &bits, sizeof value);
    if (isnan(value)) {
        text_printf(out, "nan(0x%08" PRIx32 ")", bits);
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    text_put(out, text);
    if (strpbrk(text, ".ein") == NULL) text_put(out, ".0");
}

static void print_constant(const KInstr *instr, Text *out) {
    switch (instr->type.kind) {
    case KT_BOOL: text_put(out, instr->imm ? "true" : "false"); break;
    case KT_F32: print_float((uint32_t)instr->imm, out); break;
    case KT_I64: text_printf(out, "%" PRId64 "l", instr->imm); break;
    default: text_printf(out, "%" PRId64, instr->imm);
    }
}

static void print_operand(const Kernel *kernel, const uint32_t *number, KVal value, Text *out) {
    const KInstr *instr = kernel_at(kernel, value);
    if (instr->op == K_CONST)
        print_constant(instr, out);
    else if (instr->op == K_PARAM)
        text_printf(out, "%%%s", kernel->params.at[instr->imm].name);
    else
        text_printf(out, "%%%" PRIu32, number[value]);
}

static void print_extras(const KInstr *instr, Text *out) {
    unsigned what = kop_extras(instr->op);
    static const char *const hints[] = {"", " unroll", " dont_unroll"};
    if (what & KX_IMM) text_printf(out, " #%" PRId64, instr->imm);
    if (what & KX_MEM) text_printf(out, " as %s", dtype_name(instr->mem));
    if (what & KX_ALIGN) text_printf(out, " align %u", instr->align);
    if (what & KX_LAYOUT) text_put(out, instr->flag == KL_ROW_MAJOR ? " row" : " col");
    if (what & KX_HINT) text_put(out, hints[instr->flag]);
}

static void print_instr(const Kernel *kernel, const uint32_t *number, KVal value, Text *out) {
    const KInstr *instr = kernel_at(kernel, value);
    const KOpInfo *info = kop_info(instr->op);
    if (instr->op == K_CONST || instr->op == K_PARAM) {
        print_operand(kernel, number, value, out);
        return;
    }
    if (instr->op == K_END_LOOP || instr->op == K_END_IF || instr->op == K_ELSE) {
        text_put(out, instr->op == K_ELSE ? "} else {" : "}");
        return;
    }
    if (is_numbered(instr)) {
        text_printf(out, "%%%" PRIu32 ": ", number[value]);
        ktype_print(instr->type, out);
        text_put(out, " = ");
    }
    text_put(out, info->name);
    const char *separator = " ";
    if (kop_extras(instr->op) & KX_REGION) {
        text_printf(out, " %s", kernel->shared.at[instr->imm].name);
        separator = ", ";
    }
    for (unsigned i = 0; i < info->operands; i++) {
        text_put(out, separator);
        print_operand(kernel, number, instr->arg[i], out);
        separator = ", ";
    }
    print_extras(instr, out);
    if (instr->line != 0) text_printf(out, " loc(%" PRIu32 ")", instr->line);
    if (kop_extras(instr->op) & KX_BLOCK) text_put(out, " {");
}

static uint32_t *number_values(const Kernel *kernel, Arena *arena) {
    uint32_t *number = arena_alloc(arena, kernel->code.len * sizeof *number);
    uint32_t next = 0;
    for (KVal v = 1; v < kernel->code.len; v++)
        if (is_numbered(kernel_at(kernel, v))) number[v] = next++;
    return number;
}

void kernel_print_instr(const Kernel *kernel, KVal value, Text *out) {
    Arena *arena = arena_create();
    uint32_t *number = number_values(kernel, arena);
    print_instr(kernel, number, value, out);
    arena_destroy(arena);
}

static void print_param(const KParam *param, Text *out) {
    static const char *const kinds[] = {"", "i32", "i64"};
    text_printf(out, "%s: ", param->name);
    if (param->kind == KP_BUFFER) {
        text_printf(out, "%s%s%s", param->read ? "read " : "", param->write ? "write " : "",
                    dtype_name(param->dtype));
        if (param->multiple != 16) text_printf(out, " align %" PRId64, param->multiple);
        return;
    }
    bool small = param->kind == KP_I32;
    text_put(out, kinds[param->kind]);
    if (param->lo != (small ? INT32_MIN : INT64_MIN) ||
        param->hi != (small ? INT32_MAX : INT64_MAX))
        text_printf(out, " in %" PRId64 "..=%" PRId64, param->lo, param->hi);
    if (param->multiple != 1) text_printf(out, " multiple %" PRId64, param->multiple);
}

static void print_head(const Kernel *kernel, Text *out) {
    text_printf(out, "kernel %s(", kernel->name);
    for (uint32_t i = 0; i < kernel->params.len; i++) {
        if (i > 0) text_put(out, ", ");
        print_param(&kernel->params.at[i], out);
    }
    text_printf(out, ") local(%" PRIu32 ") subgroup(%" PRIu32 ")", kernel->local_size,
                kernel->subgroup_size);
    if (kernel->components)
        text_printf(out, " components(%s)", fragment_layout_name(kernel->components));
    if (kernel->strict) text_put(out, " strict");
    for (uint32_t i = 0; i < kernel->shared.len; i++) {
        const KShared *region = &kernel->shared.at[i];
        text_printf(out, "%s%s: ", i == 0 ? " shared(" : ", ", region->name);
        ktype_print(ktype_of_memory(region->dtype, region->lanes), out);
        text_printf(out, "[%" PRIu32 "]%s", region->count, i + 1 == kernel->shared.len ? ")" : "");
    }
    for (uint32_t i = 0; i < kernel->lines.len; i++)
        text_printf(out, "%s%" PRIu32 "%s", i == 0 ? " lines(" : ", ", kernel->lines.at[i],
                    i + 1 == kernel->lines.len ? ")" : "");
    text_put(out, " {\n");
}

void kernel_print(const Kernel *kernel, Text *out) {
    Arena *arena = arena_create();
    uint32_t *number = number_values(kernel, arena);
    unsigned depth = 1;
    print_head(kernel, out);
    for (KVal v = 1; v < kernel->code.len; v++) {
        uint8_t op = kernel_at(kernel, v)->op;
        if (op == K_CONST || op == K_PARAM) continue;
        if (op == K_END_LOOP || op == K_END_IF || op == K_ELSE) depth--;
        for (unsigned i = 0; i < depth; i++) text_put(out, "    ");
        print_instr(kernel, number, v, out);
        text_put(out, "\n");
        if (op == K_LOOP || op == K_IF || op == K_ELSE) depth++;
    }
    text_put(out, "}\n");
    arena_destroy(arena);
}
