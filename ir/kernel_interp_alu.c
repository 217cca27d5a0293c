// Lane-wise and subgroup operations of the interpreter.
#include "ir/kernel_interp_internal.h"
#include "ir/number.h"

#include <math.h>
#include <string.h>

static void check_division(KMachine *m, KVal at) {
    const KInstr *instr = kernel_at(m->kernel, at);
    const KCell *divisor = cells(m, instr->arg[1]);
    for (uint32_t i = 0; i < m->lanes * instr->type.lanes; i++)
        if (divisor[i].u == 0 && m->active[i % m->lanes])
            kmachine_report(m, KF_DIVISION, at, i % m->lanes, "the divisor is 0");
}

static void select_cells(KMachine *m, const KInstr *instr, KCell *out) {
    const KCell *c = cells(m, instr->arg[0]), *a = cells(m, instr->arg[1]),
                *b = cells(m, instr->arg[2]);
    uint32_t n = m->lanes;
    bool scalar = type_at(m, instr->arg[0]).lanes == 1;
    for (uint32_t lane = 0; lane < instr->type.lanes; lane++) {
        const KCell *choice = scalar ? c : c + lane * n;
        for (uint32_t i = 0; i < n; i++)
            out[lane * n + i] = choice[i].u ? a[lane * n + i] : b[lane * n + i];
    }
}

// Inactive invocations compute too: nothing of theirs is seen.
void kmachine_alu(KMachine *m, KVal at) {
    const KInstr *instr = kernel_at(m->kernel, at);
    uint32_t n = m->lanes * instr->type.lanes;
    KCell *out = cells(m, at);
    const KCell *a = cells(m, instr->arg[0]), *b = a, *c = a;
    if (kop_info(instr->op)->operands > 1) b = cells(m, instr->arg[1]);
    if (kop_info(instr->op)->operands > 2) c = cells(m, instr->arg[2]);
    switch (instr->op) {
    case K_SELECT: select_cells(m, instr, out); return;
    case K_VEC2:
    case K_VEC4:
        for (unsigned lane = 0; lane < instr->type.lanes; lane++)
            memcpy(out + lane * m->lanes, cells(m, instr->arg[lane]), m->lanes * sizeof *out);
        return;
    case K_EXTRACT: memcpy(out, a + (size_t)instr->imm * m->lanes, m->lanes * sizeof *out); return;
    case K_UNPACK_F16:
        for (uint32_t i = 0; i < m->lanes; i++) {
            uint16_t half[2] = {(uint16_t)a[i].u, (uint16_t)(a[i].u >> 16)};
            for (unsigned lane = 0; lane < 2; lane++)
                out[lane * m->lanes + i].f = (float)number_load(DT_F16, &half[lane]);
        }
        return;
    case K_PACK_F16:
        for (uint32_t i = 0; i < m->lanes; i++) {
            uint16_t half[2];
            for (unsigned lane = 0; lane < 2; lane++)
                number_store(DT_F16, a[lane * m->lanes + i].f, &half[lane]);
            out[i].u = half[0] | (uint32_t)half[1] << 16;
        }
        return;
    case K_NOT:
        for (uint32_t i = 0; i < n; i++) out[i].u = instr->type.kind == KT_BOOL ? !a[i].u : ~a[i].u;
        return;
    case K_SDIV:
    case K_UDIV:
    case K_SREM:
    case K_UREM: check_division(m, at); break;
    default: break;
    }
    switch (instr->op) {
#define K_EXPR(id, field, expression)                                                              \
    case K_##id:                                                                                   \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            KCell x = a[i], y = b[i], z = c[i];                                                    \
            (void)x, (void)y, (void)z;                                                             \
            out[i].field = expression;                                                             \
        }                                                                                          \
        return;
#include "ir/kernel_alu.def"
    default: return;
    }
}

static KCell combine(KOp op, KCell x, KCell y) {
    switch (op) {
    case K_SUBGROUP_FADD: return (KCell){.f = x.f + y.f};
    case K_SUBGROUP_FMIN: return (KCell){.f = y.f < x.f ? y.f : x.f};
    case K_SUBGROUP_FMAX: return (KCell){.f = y.f > x.f ? y.f : x.f};
    case K_SUBGROUP_IADD: return (KCell){.u = x.u + y.u};
    case K_SUBGROUP_SMIN: return (KCell){.i = x.i < y.i ? x.i : y.i};
    case K_SUBGROUP_SMAX: return (KCell){.i = x.i > y.i ? x.i : y.i};
    case K_SUBGROUP_OR: return (KCell){.u = x.u | y.u};
    default: return x; // BROADCAST_FIRST
    }
}

static void reduce(KMachine *m, const KInstr *instr, const KCell *in, KCell *out, uint32_t first,
                   uint32_t end) {
    bool begun = false;
    KCell total = {.u = 0};
    for (uint32_t i = first; i < end; i++) {
        if (!m->active[i]) continue;
        total = begun ? combine(instr->op, total, in[i]) : in[i];
        begun = true;
    }
    for (uint32_t i = first; i < end; i++) out[i] = total;
}

static void shuffle(KMachine *m, const KInstr *instr, const KCell *in, KCell *out, uint32_t first,
                    uint32_t end) {
    const KCell *choice = cells(m, instr->arg[1]);
    for (uint32_t i = first; i < end; i++) {
        uint32_t own = i - first;
        uint32_t from = instr->op == K_SHUFFLE ? choice[i].u : own ^ choice[i].u;
        out[i].u = from < end - first ? in[first + from].u : 0;
    }
}

void kmachine_subgroup_op(KMachine *m, KVal at) {
    const KInstr *instr = kernel_at(m->kernel, at);
    bool shuffles = instr->op == K_SHUFFLE || instr->op == K_SHUFFLE_XOR;
    for (uint32_t s = 0; s < m->subgroups; s++) {
        if (!kmachine_subgroup_active(m, at, s)) continue;
        uint32_t first = s * m->subgroup, end = first + m->subgroup;
        if (end > m->lanes) end = m->lanes;
        for (uint32_t lane = 0; lane < instr->type.lanes; lane++) {
            const KCell *in = cells(m, instr->arg[0]) + lane * m->lanes;
            KCell *out = cells(m, at) + lane * m->lanes;
            if (shuffles)
                shuffle(m, instr, in, out, first, end);
            else
                reduce(m, instr, in, out, first, end);
        }
    }
}
