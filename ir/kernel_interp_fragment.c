// Fragments of the interpreter. One is held whole for each subgroup, row-major, a cell an element:
// f16, bf16 and f32 as float, i8, u8 and i32 as integer.
#include "ir/fragment_layout.h"
#include "ir/kernel_interp_internal.h"

#include <string.h>

static KCell *frag_at(const KMachine *m, KVal value, uint32_t s) {
    return cells(m, value) + (size_t)s * frag_elements(type_at(m, value));
}

// What an element of this type can hold.
static KCell fit(DType dtype, KCell value) {
    switch (dtype) {
    case DT_F16:
    case DT_BF16: return (KCell){.f = kmachine_round(dtype, value.f)};
    case DT_I8: return (KCell){.i = (int8_t)value.u};
    case DT_U8: return (KCell){.u = (uint8_t)value.u};
    default: return value;
    }
}

// Element number of column or row `minor` in line `major` as they lie in memory.
static uint32_t element_at(KType type, KLayout layout, uint32_t major, uint32_t minor) {
    return layout == KL_ROW_MAJOR ? major * type.cols + minor : minor * type.cols + major;
}

typedef struct FragAccess {
    KVal at, pointer; // pointer 0: shared memory
    const KInstr *instr;
    KType type;
    bool store;
    int64_t start, stride; // bytes
} FragAccess;

// One line of a fragment: `row` elements side by side at byte `start`.
static void move_line(KMachine *m, const FragAccess *a, uint32_t s, KCell *frag, uint32_t major) {
    KLayout layout = (KLayout)a->instr->flag;
    unsigned row = kernel_frag_row(a->type, layout), element = dtype_bytes(a->type.dtype);
    uint32_t lane = s * m->subgroup, who = m->lanes + s;
    int64_t at = a->start + a->stride * major;
    uint8_t *bytes;
    if (a->pointer != 0) {
        bytes = kmachine_global(m, a->at, a->pointer, at, row * element, a->store, lane, who);
    } else {
        KCell *words =
            kmachine_shared(m, a->at, at / 4, (row * element + 3) / 4, a->store, lane, who);
        bytes = (uint8_t *)words;
    }
    for (unsigned minor = 0; minor < row; minor++) {
        KCell *cell = &frag[element_at(a->type, layout, major, minor)];
        if (bytes == NULL)
            cell->u = a->store ? cell->u : 0;
        else if (a->store)
            kmachine_store_element(a->type.dtype, *cell, bytes + minor * element);
        else
            *cell = kmachine_load_element(a->type.dtype, bytes + minor * element);
    }
}

static void move_fragment(KMachine *m, KVal at, uint32_t s) {
    const KInstr *instr = kernel_at(m->kernel, at);
    bool shared = instr->op == K_FRAG_SHARED_LOAD || instr->op == K_FRAG_SHARED_STORE;
    bool store = instr->op == K_FRAG_STORE || instr->op == K_FRAG_SHARED_STORE;
    unsigned last = kop_info(instr->op)->operands - 1;
    KVal value = store ? instr->arg[last] : at;
    uint32_t lane = s * m->subgroup;
    FragAccess a = {.at = at, .instr = instr, .type = type_at(m, value), .store = store};
    KLayout layout = (KLayout)instr->flag;
    unsigned unit = shared ? 4 : dtype_bytes(a.type.dtype);
    a.start = (int64_t)cells(m, instr->arg[shared ? 0 : 1])[lane].i * unit;
    a.stride = (int64_t)cells(m, instr->arg[shared ? 1 : 2])[lane].i * unit;
    if (!shared) {
        a.pointer = instr->arg[0];
        a.start += wide(m, a.pointer)[lane];
    }
    unsigned align = kernel_frag_align(a.type, layout);
    if (a.start % align != 0 || a.stride % align != 0)
        kmachine_report(m, KF_ALIGNMENT, at, lane, "%s is no multiple of %u bytes",
                        a.start % align != 0 ? "address" : "stride", align);
    unsigned lines = layout == KL_ROW_MAJOR ? a.type.rows : a.type.cols;
    for (unsigned major = 0; major < lines; major++)
        move_line(m, &a, s, frag_at(m, value, s), major);
}

static void mul_add(const KMachine *m, KVal at, uint32_t s) {
    const KInstr *instr = kernel_at(m->kernel, at);
    KType left = type_at(m, instr->arg[0]), type = instr->type;
    const KCell *a = frag_at(m, instr->arg[0], s), *b = frag_at(m, instr->arg[1], s);
    KCell *out = frag_at(m, at, s);
    unsigned cols = type.cols;
    bool floats = dtype_is_float(type.dtype);
    memcpy(out, frag_at(m, instr->arg[2], s), frag_elements(type) * sizeof *out);
    for (unsigned row = 0; row < type.rows; row++) {
        KCell *line = out + row * cols;
        for (unsigned k = 0; k < left.cols; k++) {
            KCell x = a[row * left.cols + k];
            const KCell *y = b + k * cols;
            if (floats)
                for (unsigned col = 0; col < cols; col++) line[col].f += x.f * y[col].f;
            else
                for (unsigned col = 0; col < cols; col++) line[col].u += x.u * y[col].u;
        }
    }
    for (uint32_t i = 0; type.dtype != DT_F32 && i < frag_elements(type); i++)
        out[i] = fit(type.dtype, out[i]);
}

static KCell combine(KOp op, bool floats, KCell x, KCell y) {
    switch (op) {
    case K_FRAG_ADD: return floats ? (KCell){.f = x.f + y.f} : (KCell){.u = x.u + y.u};
    case K_FRAG_SUB: return floats ? (KCell){.f = x.f - y.f} : (KCell){.u = x.u - y.u};
    case K_FRAG_MUL: return floats ? (KCell){.f = x.f * y.f} : (KCell){.u = x.u * y.u};
    default: {
        KCell quotient = {.f = floats ? x.f / y.f : 0};
        if (!floats) kernel_fold_scalar(K_SDIV, (KCell[3]){x, y, {0}}, &quotient);
        return quotient;
    }
    }
}

static void elementwise(const KMachine *m, KVal at, uint32_t s) {
    const KInstr *instr = kernel_at(m->kernel, at);
    const KCell *x = frag_at(m, instr->arg[0], s), *y = NULL;
    KCell *out = frag_at(m, at, s), scalar = {.u = 0};
    bool floats = dtype_is_float(instr->type.dtype);
    if (type_at(m, instr->arg[1]).kind == KT_FRAG)
        y = frag_at(m, instr->arg[1], s);
    else
        scalar = fit(instr->type.dtype, cells(m, instr->arg[1])[s * m->subgroup]);
    for (uint32_t i = 0; i < frag_elements(instr->type); i++)
        out[i] =
            fit(instr->type.dtype, combine(instr->op, floats, x[i], y != NULL ? y[i] : scalar));
}

static void convert(const KMachine *m, KVal at, uint32_t s) {
    const KInstr *instr = kernel_at(m->kernel, at);
    bool from = dtype_is_float(type_at(m, instr->arg[0]).dtype);
    bool to = dtype_is_float(instr->type.dtype);
    const KCell *x = frag_at(m, instr->arg[0], s);
    KCell *out = frag_at(m, at, s);
    for (uint32_t i = 0; i < frag_elements(instr->type); i++) {
        KCell value = x[i];
        if (from && !to) value.i = float_to_signed(x[i].f);
        if (!from && to) value.f = (float)x[i].i;
        out[i] = fit(instr->type.dtype, value);
    }
}

// The element that the kernel's layout says, else c * subgroup size + lane.
static uint64_t component_element(const KMachine *m, KType type, uint32_t lane, uint32_t c) {
    uint32_t element;
    if (fragment_element(m->kernel->components, type, lane, c, &element)) return element;
    return (uint64_t)c * m->subgroup + lane;
}

static void component(const KMachine *m, KVal at, uint32_t s) {
    const KInstr *instr = kernel_at(m->kernel, at);
    KType type = type_at(m, instr->arg[0]);
    KCell *frag = frag_at(m, instr->op == K_FRAG_INSERT ? at : instr->arg[0], s);
    if (instr->op == K_FRAG_INSERT)
        memcpy(frag, frag_at(m, instr->arg[0], s), frag_elements(type) * sizeof *frag);
    for (uint32_t lane = 0; lane < m->subgroup; lane++) {
        uint64_t element = component_element(m, type, lane, (uint32_t)instr->imm);
        uint32_t i = s * m->subgroup + lane;
        bool held = element < frag_elements(type);
        if (instr->op == K_FRAG_EXTRACT)
            cells(m, at)[i].u = held ? frag[element].u : 0;
        else if (held)
            frag[element] = fit(type.dtype, cells(m, instr->arg[1])[i]);
    }
}

static void length(const KMachine *m, KVal at) {
    uint32_t elements = frag_elements(type_at(m, kernel_at(m->kernel, at)->arg[0]));
    for (uint32_t i = 0; i < m->lanes; i++)
        cells(m, at)[i].u = (elements + m->subgroup - 1) / m->subgroup;
}

static void fill_fragment(const KMachine *m, KVal at, uint32_t s) {
    const KInstr *instr = kernel_at(m->kernel, at);
    KCell value = fit(instr->type.dtype, cells(m, instr->arg[0])[s * m->subgroup]);
    KCell *out = frag_at(m, at, s);
    for (uint32_t i = 0; i < frag_elements(instr->type); i++) out[i] = value;
}

void kmachine_fragment(KMachine *m, KVal at) {
    KOp op = kernel_at(m->kernel, at)->op;
    if (op == K_FRAG_LENGTH) {
        length(m, at);
        return;
    }
    for (uint32_t s = 0; s < m->subgroups; s++) {
        if (!kmachine_subgroup_active(m, at, s)) continue;
        switch (op) {
        case K_FRAG_FILL: fill_fragment(m, at, s); break;
        case K_FRAG_MUL_ADD: mul_add(m, at, s); break;
        case K_FRAG_CONVERT: convert(m, at, s); break;
        case K_FRAG_EXTRACT:
        case K_FRAG_INSERT: component(m, at, s); break;
        case K_FRAG_LOAD:
        case K_FRAG_STORE:
        case K_FRAG_SHARED_LOAD:
        case K_FRAG_SHARED_STORE: move_fragment(m, at, s); break;
        default: elementwise(m, at, s);
        }
    }
}
