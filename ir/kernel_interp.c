#include "ir/kernel_interp_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const fault_text[KF_COUNT] = {
#define X(id, text) text,
    KFAULT_TABLE(X)
#undef X
};

void kmachine_report(KMachine *m, KFaultKind kind, KVal at, uint32_t invocation, const char *format,
                     ...) {
    if (kmachine_reported(m, kind, at)) return;
    m->reported[at] |= (uint16_t)(1u << kind);
    KFault fault = {.kind = kind, .instr = at, .invocation = invocation};
    Text text = {0};
    va_list args;
    memcpy(fault.group, m->group, sizeof fault.group);
    fault.line = m->kernel->code.at[at].line;
    text_printf(&text, "kernel %s: %s: ", m->kernel->name, fault_text[kind]);
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    if (at != 0) {
        text_put(&text, " in '");
        kernel_print_instr(m->kernel, at, &text);
        text_printf(&text, "', workgroup (%u, %u, %u), invocation %u", m->group[0], m->group[1],
                    m->group[2], invocation);
    }
    fault.message = arena_strdup(m->arena, text.data);
    text_free(&text);
    vec_push(m->arena, &m->faults, fault);
}

uint32_t kmachine_fault_count(const KMachine *m) {
    return m->faults.len;
}
const KFault *kmachine_fault(const KMachine *m, uint32_t index) {
    return &m->faults.at[index];
}

static size_t slot_bytes(const KMachine *m, KType type) {
    switch (type.kind) {
    case KT_NONE: return 0;
    case KT_I64:
    case KT_PTR: return m->lanes * sizeof(int64_t);
    case KT_FRAG: return (size_t)m->subgroups * frag_elements(type) * sizeof(KCell);
    default: return (size_t)m->lanes * type.lanes * sizeof(KCell);
    }
}

static void fill(const KMachine *m, KVal v, int64_t value) {
    KKind kind = type_at(m, v).kind;
    for (uint32_t i = 0; i < m->lanes; i++) {
        if (kind == KT_PTR || kind == KT_I64)
            wide(m, v)[i] = value;
        else
            cells(m, v)[i].u = (uint32_t)value;
    }
}

// Does a yield of this loop read a carried value of it, so that all must be read before any is
// written?
static bool reads_carried(const Kernel *kernel, const KInstr *yield) {
    const KInstr *value = kernel_at(kernel, yield->arg[0]);
    const KInstr *end = kernel_at(kernel, yield->match);
    return end->op == K_END_LOOP && value->op == K_CARRY && value->match == end->match;
}

static void make_slots(KMachine *m) {
    const Kernel *k = m->kernel;
    m->slot = arena_alloc(m->arena, k->code.len * sizeof *m->slot);
    m->root = arena_alloc(m->arena, k->code.len * sizeof *m->root);
    uint32_t depth = 0, deepest = 0;
    for (KVal v = 1; v < k->code.len; v++) {
        const KInstr *instr = kernel_at(k, v);
        KType type = instr->type;
        if (instr->op == K_YIELD && reads_carried(k, instr)) type = type_at(m, instr->arg[0]);
        if (instr->op == K_RESULT && kernel_at(k, instr->match)->op == K_LOOP)
            m->slot[v] = m->slot[instr->match + 1 + (uint32_t)instr->imm];
        else if (type.kind != KT_NONE)
            m->slot[v] = arena_alloc(m->arena, slot_bytes(m, type));
        if (instr->type.kind == KT_PTR) m->root[v] = kernel_root(k, v);
        if (instr->op == K_LOOP || instr->op == K_IF) depth++;
        if (instr->op == K_END_LOOP || instr->op == K_END_IF) depth--;
        if (depth > deepest) deepest = depth;
        if (instr->op == K_CONST) fill(m, v, instr->imm);
        if (instr->op == K_PARAM)
            fill(m, v,
                 type.kind == KT_PTR ? m->buffers[instr->imm].base
                                     : m->launch.args[instr->imm].scalar);
    }
    m->frames = arena_alloc(m->arena, (deepest + 1) * sizeof *m->frames);
    for (uint32_t i = 0; i <= deepest; i++) {
        m->frames[i].active = arena_alloc(m->arena, m->lanes);
        m->frames[i].otherwise = arena_alloc(m->arena, m->lanes);
    }
    memset(m->frames[0].active, 1, m->lanes);
}

static void make_shared(KMachine *m) {
    uint32_t count = m->kernel->shared.len;
    m->shared = arena_alloc(m->arena, count * sizeof *m->shared);
    m->shared_trace = arena_alloc(m->arena, count * sizeof *m->shared_trace);
    for (uint32_t i = 0; i < count; i++) {
        const KShared *region = &m->kernel->shared.at[i];
        size_t words = (size_t)region->lanes * region->count;
        m->shared[i] = arena_alloc(m->arena, words * sizeof(KCell));
        m->shared_trace[i] = arena_alloc(m->arena, words * sizeof(SharedTrace));
    }
}

static int by_address(const void *a, const void *b) {
    const MachineBuffer *x = *(MachineBuffer *const *)a, *y = *(MachineBuffer *const *)b;
    return x->data < y->data ? -1 : x->data > y->data;
}

// Stretches of overlapping buffers share one trace, so that aliases are seen.
static void make_traces(KMachine *m, MachineBuffer **list, uint32_t count) {
    qsort(list, count, sizeof *list, by_address);
    for (uint32_t i = 0, next; i < count; i = next) {
        uint8_t *begin = list[i]->data, *end = begin + list[i]->size;
        bool written = false;
        for (next = i; next < count && (next == i || list[next]->data < end); next++) {
            uint8_t *last = list[next]->data + list[next]->size;
            if (last > end) end = last;
            written = written || m->kernel->params.at[list[next] - m->buffers].write;
        }
        if (!written) continue;
        size_t bytes = (size_t)(end - begin) * sizeof(uint32_t);
        GlobalTrace trace = {arena_alloc(m->arena, bytes), arena_alloc(m->arena, bytes)};
        for (uint32_t j = i; j < next; j++) {
            size_t offset = (size_t)(list[j]->data - begin);
            list[j]->trace = (GlobalTrace){trace.writer + offset, trace.reader + offset};
        }
    }
}

static void check_scalar(KMachine *m, uint32_t number) {
    const KParam *param = &m->kernel->params.at[number];
    int64_t value = m->launch.args[number].scalar;
    if (value >= param->lo && value <= param->hi && value % param->multiple == 0) return;
    m->reported[0] = 0; // one report a parameter
    kmachine_report(m, KF_ARGUMENT, 0, 0, "'%s' is %lld, not in %lld..=%lld or no multiple of %lld",
                    param->name, (long long)value, (long long)param->lo, (long long)param->hi,
                    (long long)param->multiple);
}

static void make_buffers(KMachine *m) {
    uint32_t count = m->kernel->params.len, listed = 0;
    m->buffers = arena_alloc(m->arena, count * sizeof *m->buffers);
    MachineBuffer **list = arena_alloc(m->arena, count * sizeof(MachineBuffer *));
    for (uint32_t i = 0; i < count; i++) {
        const KParam *param = &m->kernel->params.at[i];
        const KBuffer *buffer = &m->launch.args[i].buffer;
        if (param->kind != KP_BUFFER) {
            check_scalar(m, i);
            continue;
        }
        // Far apart, and aligned to what is promised, no more.
        int64_t base = ((int64_t)i + 1) << 40;
        if (param->multiple < 1 << 20) base += param->multiple;
        m->buffers[i] = (MachineBuffer){buffer->data, buffer->written, buffer->size, base, {0}};
        if (buffer->size > 0) list[listed++] = &m->buffers[i];
    }
    make_traces(m, list, listed);
}

KMachine *kmachine_create(const KLaunch *launch) {
    Arena *arena = arena_create();
    KMachine *m = arena_alloc(arena, sizeof *m);
    *m = (KMachine){.arena = arena, .kernel = launch->kernel, .launch = *launch};
    uint32_t required = m->kernel->subgroup_size;
    m->lanes = m->kernel->local_size;
    m->subgroup = required != 0 ? required : launch->subgroup_size;
    assert(m->subgroup > 0 && (m->subgroup & (m->subgroup - 1)) == 0);
    m->subgroups = (m->lanes + m->subgroup - 1) / m->subgroup;
    m->reported = arena_alloc(arena, m->kernel->code.len * sizeof *m->reported);
    make_buffers(m);
    make_slots(m);
    make_shared(m);
    return m;
}

void kmachine_destroy(KMachine *m) {
    if (m != NULL) arena_destroy(m->arena);
}

bool kmachine_subgroup_active(KMachine *m, KVal at, uint32_t s) {
    uint32_t first = s * m->subgroup, end = first + m->subgroup, active = 0;
    if (end > m->lanes) end = m->lanes;
    for (uint32_t i = first; i < end; i++) active += m->active[i];
    bool together = (kop_info(kernel_at(m->kernel, at)->op)->flags & K_SUBGROUP) != 0;
    if (together && active != 0 && active != end - first)
        kmachine_report(m, KF_DIVERGENCE, at, first, "%u of %u invocations of subgroup %u are here",
                        active, end - first, s);
    return active != 0;
}

static void barrier(KMachine *m, KVal at) {
    uint32_t active = 0, missing = 0;
    for (uint32_t i = 0; i < m->lanes; i++) {
        active += m->active[i];
        if (!m->active[i]) missing = i;
    }
    if (active != m->lanes)
        kmachine_report(m, KF_DIVERGENCE, at, missing, "%u of %u invocations are here", active,
                        m->lanes);
    m->epoch++;
}

// Copies a value for the active invocations.
static void copy_active(KMachine *m, KType type, const void *from, void *to) {
    if (from == to) return;
    if (type.kind == KT_FRAG) {
        size_t bytes = frag_elements(type) * sizeof(KCell);
        for (uint32_t s = 0; s < m->subgroups; s++)
            if (m->active[s * m->subgroup])
                memcpy((char *)to + s * bytes, (const char *)from + s * bytes, bytes);
        return;
    }
    for (uint32_t lane = 0; lane < type.lanes; lane++) {
        for (uint32_t i = 0; i < m->lanes; i++) {
            if (!m->active[i]) continue;
            if (type.kind == KT_PTR || type.kind == KT_I64)
                ((int64_t *)to)[i] = ((const int64_t *)from)[i];
            else
                ((KCell *)to)[lane * m->lanes + i] = ((const KCell *)from)[lane * m->lanes + i];
        }
    }
}

static bool any_active(const KMachine *m) {
    return memchr(m->active, 1, m->lanes) != NULL;
}

static FlowFrame *enter(KMachine *m, KVal head) {
    FlowFrame *frame = &m->frames[++m->depth];
    frame->head = head;
    memcpy(frame->active, m->active, m->lanes);
    m->active = frame->active;
    return frame;
}

static void leave(KMachine *m) {
    m->active = m->frames[--m->depth].active;
}

// The active invocations stay where the counter is below the bound. Gives the next instruction.
static KVal test_loop(KMachine *m, KVal head, KVal body) {
    const KInstr *loop = kernel_at(m->kernel, head);
    const KCell *counter = cells(m, head), *bound = cells(m, loop->arg[1]);
    for (uint32_t i = 0; i < m->lanes; i++) m->active[i] &= counter[i].i < bound[i].i;
    if (any_active(m)) return body;
    leave(m);
    return loop->match + 1;
}

static KVal begin_loop(KMachine *m, KVal at) {
    const KInstr *loop = kernel_at(m->kernel, at);
    KVal body = at + 1;
    for (; kernel_at(m->kernel, body)->op == K_CARRY; body++)
        copy_active(m, type_at(m, body), m->slot[kernel_at(m->kernel, body)->arg[0]],
                    m->slot[body]);
    copy_active(m, loop->type, m->slot[loop->arg[0]], m->slot[at]);
    enter(m, at);
    for (uint32_t i = 0; i < m->lanes; i++) {
        if (!m->active[i] || cells(m, loop->arg[2])[i].i > 0) continue;
        kmachine_report(m, KF_STEP, at, i, "step is %d", cells(m, loop->arg[2])[i].i);
        m->active[i] = 0;
    }
    return test_loop(m, at, body);
}

static KVal end_loop(KMachine *m, KVal at) {
    KVal head = kernel_at(m->kernel, at)->match;
    const KInstr *loop = kernel_at(m->kernel, head);
    uint32_t count = kernel_yield_count(m->kernel, at);
    for (uint32_t i = 0; i < count; i++) {
        KVal yield = kernel_yield(at, count, i), value = kernel_at(m->kernel, yield)->arg[0];
        if (m->slot[yield] != NULL)
            copy_active(m, type_at(m, value), m->slot[value], m->slot[yield]);
    }
    for (uint32_t i = 0; i < count; i++) {
        KVal yield = kernel_yield(at, count, i), value = kernel_at(m->kernel, yield)->arg[0];
        const void *from = m->slot[yield] != NULL ? m->slot[yield] : m->slot[value];
        copy_active(m, type_at(m, value), from, m->slot[head + 1 + i]);
    }
    KCell *counter = cells(m, head);
    const KCell *step = cells(m, loop->arg[2]);
    for (uint32_t i = 0; i < m->lanes; i++) {
        // A counter that leaves 32 bits has passed every bound.
        if (m->active[i] && __builtin_add_overflow(counter[i].i, step[i].i, &counter[i].i))
            m->active[i] = 0;
    }
    return test_loop(m, head, head + 1 + count);
}

static KVal begin_if(KMachine *m, KVal at) {
    const KInstr *instr = kernel_at(m->kernel, at);
    const KCell *condition = cells(m, instr->arg[0]);
    FlowFrame *frame = enter(m, at);
    for (uint32_t i = 0; i < m->lanes; i++) {
        frame->otherwise[i] = frame->active[i] & !condition[i].u;
        frame->active[i] &= condition[i].u != 0;
    }
    return any_active(m) ? at + 1 : instr->match;
}

static void yield_results(KMachine *m, KVal at, KVal end) {
    uint32_t count = kernel_yield_count(m->kernel, at);
    for (uint32_t i = 0; i < count; i++) {
        KVal value = kernel_at(m->kernel, kernel_yield(at, count, i))->arg[0];
        copy_active(m, type_at(m, value), m->slot[value], m->slot[end + 1 + i]);
    }
}

static KVal begin_else(KMachine *m, KVal at) {
    KVal end = kernel_at(m->kernel, at)->match;
    FlowFrame *frame = &m->frames[m->depth];
    yield_results(m, at, end);
    memcpy(frame->active, frame->otherwise, m->lanes);
    return any_active(m) ? at + 1 : end;
}

static KVal end_if(KMachine *m, KVal at) {
    yield_results(m, at, at);
    leave(m);
    return at + 1;
}

static void number_ids(KMachine *m, KVal at, KOp op) {
    KCell *out = cells(m, at);
    for (uint32_t i = 0; i < m->lanes; i++) {
        switch (op) {
        case K_WORKGROUP_ID_X:
        case K_WORKGROUP_ID_Y:
        case K_WORKGROUP_ID_Z: out[i].u = m->group[op - K_WORKGROUP_ID_X]; break;
        case K_NUM_WORKGROUPS_X:
        case K_NUM_WORKGROUPS_Y:
        case K_NUM_WORKGROUPS_Z: out[i].u = m->launch.groups[op - K_NUM_WORKGROUPS_X]; break;
        case K_LOCAL_ID: out[i].u = i; break;
        case K_SUBGROUP_ID: out[i].u = i / m->subgroup; break;
        case K_SUBGROUP_LANE: out[i].u = i % m->subgroup; break;
        default: out[i].u = m->subgroup; break;
        }
    }
}

static void point(KMachine *m, KVal at) {
    const KInstr *instr = kernel_at(m->kernel, at);
    const int64_t *base = wide(m, instr->arg[0]), *stride = wide(m, instr->arg[2]);
    const KCell *index = cells(m, instr->arg[1]);
    for (uint32_t i = 0; i < m->lanes; i++)
        wide(m, at)[i] = (int64_t)((uint64_t)base[i] + (uint64_t)index[i].u * (uint64_t)stride[i]);
}

static KVal step(KMachine *m, KVal at) {
    const KInstr *instr = kernel_at(m->kernel, at);
    switch (instr->op) {
    case K_LOOP: return begin_loop(m, at);
    case K_END_LOOP: return end_loop(m, at);
    case K_IF: return begin_if(m, at);
    case K_ELSE: return begin_else(m, at);
    case K_END_IF: return end_if(m, at);
    case K_NOP:
    case K_CONST:
    case K_PARAM:
    case K_YIELD:
    case K_CARRY:
    case K_RESULT: break;
    case K_BARRIER: barrier(m, at); break;
    case K_PTR_ADD: point(m, at); break;
    case K_LOAD:
    case K_STORE:
    case K_SHARED_LOAD:
    case K_SHARED_STORE: kmachine_memory(m, at); break;
    default:
        if (kop_info(instr->op)->rule == K_RULE_ID)
            number_ids(m, at, instr->op);
        else if (instr->op >= K_FRAG_FILL)
            kmachine_fragment(m, at);
        else if (kop_info(instr->op)->flags & K_SUBGROUP)
            kmachine_subgroup_op(m, at);
        else
            kmachine_alu(m, at);
    }
    return at + 1;
}

void kmachine_run_group(KMachine *m, uint32_t x, uint32_t y, uint32_t z) {
    const uint32_t *groups = m->launch.groups;
    m->group[0] = x;
    m->group[1] = y;
    m->group[2] = z;
    m->group_number = (z * groups[1] + y) * groups[0] + x;
    m->group_epoch = ++m->epoch; // nothing is in shared memory yet
    m->depth = 0;
    m->active = m->frames[0].active;
    for (KVal at = 1; at < m->kernel->code.len;) at = step(m, at);
}

void kmachine_run(KMachine *m) {
    for (uint32_t z = 0; z < m->launch.groups[2]; z++)
        for (uint32_t y = 0; y < m->launch.groups[1]; y++)
            for (uint32_t x = 0; x < m->launch.groups[0]; x++) kmachine_run_group(m, x, y, z);
}
