// Buffers and shared memory of the interpreter, with who touched what.
#include "ir/kernel_interp_internal.h"

#include <math.h>
#include <string.h>

static float half_to_float(uint32_t h) {
    uint32_t sign = (h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest < 0x400) { // zero and subnormals: steps of 2^-24
        float value = (float)rest * 0x1p-24f;
        return sign ? -value : value;
    }
    uint32_t bits = rest >= 0x7c00 ? rest << 13 | 0x7f800000 : (rest << 13) + (112u << 23);
    return (KCell){.u = sign | bits}.f;
}

// To nearest, halves to even.
static uint32_t float_to_half(float value) {
    uint32_t bits = (KCell){.f = value}.u, sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return sign | 0x7e00;
    if (rest >= 0x477ff000) return sign | 0x7c00; // 65520 and above
    if (rest < 0x38800000)                        // below 2^-14: the sum rounds to steps of 2^-24
        return sign | ((KCell){.f = (KCell){.u = rest}.f + 0.5f}.u - 0x3f000000);
    return sign | (rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13;
}

static uint32_t float_to_bf16(float value) {
    uint32_t bits = (KCell){.f = value}.u;
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

KCell kmachine_load_element(DType dtype, const uint8_t *bytes) {
    uint16_t half;
    KCell cell;
    switch (dtype) {
    case DT_F16: memcpy(&half, bytes, 2); return (KCell){.f = half_to_float(half)};
    case DT_BF16: memcpy(&half, bytes, 2); return (KCell){.u = (uint32_t)half << 16};
    case DT_I8: return (KCell){.i = (int8_t)*bytes};
    case DT_U8: return (KCell){.u = *bytes};
    case DT_BOOL: return (KCell){.u = *bytes != 0};
    default: memcpy(&cell, bytes, 4); return cell;
    }
}

void kmachine_store_element(DType dtype, KCell value, uint8_t *bytes) {
    uint16_t half;
    switch (dtype) {
    case DT_F16:
    case DT_BF16:
        half = (uint16_t)(dtype == DT_F16 ? float_to_half(value.f) : float_to_bf16(value.f));
        memcpy(bytes, &half, 2);
        break;
    case DT_I8:
    case DT_U8: *bytes = (uint8_t)value.u; break;
    case DT_BOOL: *bytes = value.u != 0; break;
    default: memcpy(bytes, &value, 4);
    }
}

float kmachine_round(DType dtype, float value) {
    if (dtype == DT_F16) return half_to_float(float_to_half(value));
    if (dtype == DT_BF16) return (KCell){.u = float_to_bf16(value) << 16}.f;
    return value;
}

static bool bits_set(const uint8_t *bits, uint64_t first, unsigned count) {
    for (uint64_t i = first; i < first + count; i++)
        if (!(bits[i / 8] >> (i % 8) & 1)) return false;
    return true;
}

static void describe(const KMachine *m, uint32_t number, Text *out) {
    uint32_t whole = m->lanes + m->subgroups;
    const uint32_t *groups = m->launch.groups;
    uint32_t group = (number - 1) / whole, who = (number - 1) % whole;
    if (number == MANY_EVERYWHERE) {
        text_put(out, "several invocations");
        return;
    }
    text_printf(out, "%s %u of workgroup (%u, %u, %u)", who < m->lanes ? "invocation" : "subgroup",
                who < m->lanes ? who : who - m->lanes, group % groups[0],
                group / groups[0] % groups[1], group / groups[0] / groups[1]);
}

static void report_global_race(KMachine *m, KVal at, uint32_t root, uint64_t byte,
                               uint32_t invocation, uint32_t other, const char *did) {
    Text text = {0};
    if (kmachine_reported(m, KF_GLOBAL_RACE, at)) return;
    describe(m, other, &text);
    kmachine_report(m, KF_GLOBAL_RACE, at, invocation, "byte %llu of '%s' was %s by %s",
                    (unsigned long long)byte, m->kernel->params.at[root].name, did, text.data);
    text_free(&text);
}

// Nothing orders invocations of a dispatch in buffers: a barrier here covers shared memory only. A
// fragment's access belongs to a whole subgroup, so it conflicts even with its own.
static void trace_global(KMachine *m, KVal at, uint32_t root, uint64_t offset, unsigned bytes,
                         bool store, uint32_t invocation, uint32_t who) {
    GlobalTrace trace = m->buffers[root].trace;
    uint32_t me = m->group_number * (m->lanes + m->subgroups) + who + 1;
    bool whole = who >= m->lanes;
    for (uint64_t i = offset; i < offset + bytes; i++) {
        if (trace.writer[i] != 0 && (trace.writer[i] != me || whole))
            report_global_race(m, at, root, i, invocation, trace.writer[i], "written");
        if (!store) {
            bool alone = trace.reader[i] == 0 || trace.reader[i] == me;
            trace.reader[i] = alone ? me : MANY_EVERYWHERE;
            continue;
        }
        if (trace.reader[i] != 0 && (trace.reader[i] != me || whole))
            report_global_race(m, at, root, i, invocation, trace.reader[i], "read");
        trace.writer[i] = me;
    }
}

uint8_t *kmachine_global(KMachine *m, KVal at, KVal pointer, int64_t address, unsigned bytes,
                         bool store, uint32_t invocation, uint32_t who) {
    uint32_t root = m->root[pointer];
    MachineBuffer *buffer = &m->buffers[root];
    uint64_t offset = (uint64_t)address - (uint64_t)buffer->base;
    if (offset > buffer->size || bytes > buffer->size - offset) {
        kmachine_report(m, KF_GLOBAL_OUTSIDE, at, invocation,
                        "%u bytes at offset %lld of '%s', which has %llu", bytes, (long long)offset,
                        m->kernel->params.at[root].name, (unsigned long long)buffer->size);
        return NULL;
    }
    if (buffer->written != NULL && store) {
        for (uint64_t i = offset; i < offset + bytes; i++)
            buffer->written[i / 8] |= (uint8_t)(1u << (i % 8));
    } else if (buffer->written != NULL && !bits_set(buffer->written, offset, bytes)) {
        kmachine_report(m, KF_GLOBAL_UNWRITTEN, at, invocation, "%u bytes at offset %llu of '%s'",
                        bytes, (unsigned long long)offset, m->kernel->params.at[root].name);
    }
    if (buffer->trace.writer != NULL)
        trace_global(m, at, root, offset, bytes, store, invocation, who);
    return buffer->data + offset;
}

static void report_shared_race(KMachine *m, KVal at, int64_t word, uint32_t invocation,
                               uint32_t other, const char *did) {
    const char *region = m->kernel->shared.at[kernel_at(m->kernel, at)->imm].name;
    if (other == MANY_READERS)
        kmachine_report(m, KF_SHARED_RACE, at, invocation,
                        "word %lld of '%s' was %s by several since the last barrier",
                        (long long)word, region, did);
    else
        kmachine_report(m, KF_SHARED_RACE, at, invocation,
                        "word %lld of '%s' was %s by %s %u since the last barrier", (long long)word,
                        region, did, other < m->lanes ? "invocation" : "subgroup",
                        other < m->lanes ? other : other - m->lanes);
}

static void trace_shared(KMachine *m, KVal at, SharedTrace *trace, int64_t word, bool store,
                         uint32_t invocation, uint32_t who) {
    bool whole = who >= m->lanes;
    if (trace->write_epoch == m->epoch && (trace->writer != who || whole))
        report_shared_race(m, at, word, invocation, trace->writer, "written");
    if (!store) {
        if (trace->write_epoch < m->group_epoch)
            kmachine_report(m, KF_SHARED_UNWRITTEN, at, invocation, "word %lld of '%s'",
                            (long long)word,
                            m->kernel->shared.at[kernel_at(m->kernel, at)->imm].name);
        bool alone = trace->read_epoch != m->epoch || trace->reader == who;
        trace->reader = alone ? (uint16_t)who : MANY_READERS;
        trace->read_epoch = m->epoch;
        return;
    }
    if (trace->read_epoch == m->epoch && (trace->reader != who || whole))
        report_shared_race(m, at, word, invocation, trace->reader, "read");
    trace->writer = (uint16_t)who;
    trace->write_epoch = m->epoch;
}

KCell *kmachine_shared(KMachine *m, KVal at, int64_t word, unsigned words, bool store,
                       uint32_t invocation, uint32_t who) {
    uint32_t number = (uint32_t)kernel_at(m->kernel, at)->imm;
    const KShared *region = &m->kernel->shared.at[number];
    int64_t size = (int64_t)region->lanes * region->count;
    if (word < 0 || word > size - words) {
        kmachine_report(m, KF_SHARED_OUTSIDE, at, invocation, "word %lld of '%s', which has %lld",
                        (long long)word, region->name, (long long)size);
        return NULL;
    }
    for (unsigned i = 0; i < words; i++)
        trace_shared(m, at, &m->shared_trace[number][word + i], word + i, store, invocation, who);
    return &m->shared[number][word];
}

static void global_access(KMachine *m, KVal at, const KInstr *instr) {
    bool store = instr->op == K_STORE;
    unsigned element = dtype_bytes(instr->mem);
    KCell *value = store ? cells(m, instr->arg[2]) : cells(m, at);
    unsigned count = store ? type_at(m, instr->arg[2]).lanes : instr->type.lanes;
    const int64_t *pointer = wide(m, instr->arg[0]);
    const KCell *index = cells(m, instr->arg[1]);
    for (uint32_t i = 0; i < m->lanes; i++) {
        if (!m->active[i]) continue;
        int64_t address = pointer[i] + (int64_t)index[i].i * element;
        if (address % instr->align != 0)
            kmachine_report(m, KF_ALIGNMENT, at, i, "address is a multiple of %d bytes, not of %u",
                            1 << __builtin_ctzll((uint64_t)address), instr->align);
        uint8_t *bytes =
            kmachine_global(m, at, instr->arg[0], address, element * count, store, i, i);
        for (unsigned lane = 0; lane < count; lane++) {
            KCell *cell = &value[lane * m->lanes + i];
            if (bytes == NULL && !store)
                cell->u = 0;
            else if (bytes != NULL && store)
                kmachine_store_element(instr->mem, *cell, bytes + lane * element);
            else if (bytes != NULL)
                *cell = kmachine_load_element(instr->mem, bytes + lane * element);
        }
    }
}

static void shared_access(KMachine *m, KVal at, const KInstr *instr) {
    bool store = instr->op == K_SHARED_STORE;
    KCell *value = store ? cells(m, instr->arg[1]) : cells(m, at);
    unsigned count = store ? type_at(m, instr->arg[1]).lanes : instr->type.lanes;
    const KCell *index = cells(m, instr->arg[0]);
    for (uint32_t i = 0; i < m->lanes; i++) {
        if (!m->active[i]) continue;
        if (index[i].u % count != 0)
            kmachine_report(m, KF_ALIGNMENT, at, i, "word %d is no multiple of %u", index[i].i,
                            count);
        KCell *words = kmachine_shared(m, at, index[i].i, count, store, i, i);
        for (unsigned lane = 0; lane < count; lane++) {
            KCell *cell = &value[lane * m->lanes + i];
            if (words == NULL && !store)
                cell->u = 0;
            else if (words != NULL && store)
                words[lane] = *cell;
            else if (words != NULL)
                *cell = words[lane];
        }
    }
}

void kmachine_memory(KMachine *m, KVal at) {
    const KInstr *instr = kernel_at(m->kernel, at);
    if (instr->op == K_LOAD || instr->op == K_STORE)
        global_access(m, at, instr);
    else
        shared_access(m, at, instr);
}
