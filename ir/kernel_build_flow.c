// LOOP and IF of the kernel builder.
#include "ir/kernel_build_internal.h"

#include <assert.h>
#include <string.h>

static KFrame *push_frame(KBuilder *b, KRegion region) {
    KFrame frame = {.region = region};
    vec_push(b->scratch, &b->frames, frame);
    return &b->frames.at[b->frames.len - 1];
}

static const KVal *copy_values(KBuilder *b, uint32_t count, const KVal *values) {
    KVal *copy = arena_alloc(b->scratch, count * sizeof *copy);
    if (count > 0) memcpy(copy, values, count * sizeof *copy);
    return copy;
}

// What was built since `start` never runs: it becomes NOPs.
static void wipe(KBuilder *b, uint32_t start) {
    k_forget(b, start);
    for (KVal v = start; v < b->kernel->code.len; v++) {
        KInstr *instr = &b->kernel->code.at[v];
        if (instr->op != K_CONST && instr->op != K_PARAM) *instr = (KInstr){.op = K_NOP};
    }
}

static bool is_empty(const KBuilder *b, KVal start, KVal end) {
    for (KVal v = start; v < end; v++) {
        uint8_t op = k_at(b, v)->op;
        if (op != K_CONST && op != K_PARAM && op != K_NOP && op != K_YIELD) return false;
    }
    return true;
}

static void yield_all(KBuilder *b, uint32_t count, const KVal *values) {
    for (uint32_t i = 0; i < count; i++) k_append(b, (KInstr){.op = K_YIELD, .arg = {values[i]}});
}

KVal k_loop_begin(KBuilder *b, KVal lo, KVal hi, KVal step, int hint, uint32_t count,
                  const KVal *init, KVal *carried) {
    KFact from = k_fact(b, lo), to = k_fact(b, hi), by = k_fact(b, step);
    assert(by.lo > 0);
    KRegion region = from.lo >= to.hi                              ? KR_LOOP_NEVER
                     : from.hi < to.lo && from.lo + by.lo >= to.hi ? KR_LOOP_ONCE
                                                                   : KR_LOOP;
    KFrame *frame = push_frame(b, region);
    frame->count = count;
    frame->values = copy_values(b, count, init);
    frame->start = b->kernel->code.len;
    if (region != KR_LOOP) {
        if (count > 0) memcpy(carried, frame->values, count * sizeof *carried);
        return lo;
    }
    frame->head = k_append(b, (KInstr){.op = K_LOOP,
                                       .flag = (uint8_t)hint,
                                       .type = K_TYPE(KT_I32, 1),
                                       .arg = {lo, hi, step}});
    KVal head = frame->head;
    const KVal *values = frame->values;
    for (uint32_t i = 0; i < count; i++)
        carried[i] =
            k_append(b, (KInstr){.op = K_CARRY, .type = k_type(b, values[i]), .arg = {values[i]}});
    return head;
}

void k_loop_end(KBuilder *b, const KVal *next, KVal *results) {
    assert(b->frames.len > 0);
    KFrame frame = b->frames.at[--b->frames.len];
    assert(frame.region <= KR_LOOP_NEVER);
    uint32_t count = frame.count;
    if (frame.region == KR_LOOP_NEVER) {
        wipe(b, frame.start);
        if (count > 0) memcpy(results, frame.values, count * sizeof *results);
        return;
    }
    if (frame.region == KR_LOOP_ONCE) {
        if (count > 0) memmove(results, next, count * sizeof *results);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        assert(ktype_equal(k_type(b, next[i]), k_type(b, frame.values[i])));
    yield_all(b, count, next);
    k_forget(b, frame.start);
    k_append(b, (KInstr){.op = K_END_LOOP});
    for (uint32_t i = 0; i < count; i++) b->kernel->code.at[frame.head + 1 + i].match = frame.head;
    // The end's match makes kernel_root work on results while still building.
    b->kernel->code.at[frame.head].match = b->kernel->code.len - 1;
    for (uint32_t i = 0; i < count; i++)
        results[i] = k_append(b, (KInstr){.op = K_RESULT,
                                          .type = k_type(b, frame.values[i]),
                                          .imm = i,
                                          .match = frame.head});
}

// A constant condition, or that of an if around this one.
static bool is_known(const KBuilder *b, KVal condition, int64_t *known) {
    if (k_is_const(b, condition, known)) return true;
    for (uint32_t i = 0; i < b->frames.len; i++) {
        const KFrame *frame = &b->frames.at[i];
        *known = frame->otherwise == 0;
        if (frame->region == KR_IF && frame->condition == condition) return true;
    }
    return false;
}

void k_if_begin(KBuilder *b, KVal condition) {
    int64_t known = 0;
    assert(ktype_equal(k_type(b, condition), K_TYPE(KT_BOOL, 1)));
    KRegion region = KR_IF;
    if (is_known(b, condition, &known)) region = known ? KR_IF_TRUE : KR_IF_FALSE;
    KFrame *frame = push_frame(b, region);
    frame->condition = condition;
    if (region == KR_IF) frame->head = k_append(b, (KInstr){.op = K_IF, .arg = {condition}});
    b->frames.at[b->frames.len - 1].start = b->kernel->code.len;
}

void k_else(KBuilder *b, uint32_t count, const KVal *values) {
    assert(b->frames.len > 0);
    KFrame *frame = &b->frames.at[b->frames.len - 1];
    assert(frame->region >= KR_IF && frame->otherwise == 0);
    frame->count = count;
    frame->values = copy_values(b, count, values);
    if (frame->region == KR_IF_FALSE) wipe(b, frame->start);
    if (frame->region == KR_IF) {
        yield_all(b, count, values);
        k_forget(b, frame->start);
        frame->otherwise = k_append(b, (KInstr){.op = K_ELSE});
        b->kernel->code.at[frame->head].match = frame->otherwise;
    }
    frame->start = b->kernel->code.len;
}

// Both branches hold nothing but choose scalars or vectors: a select does it.
static bool only_chooses(const KBuilder *b, const KFrame *frame, const KVal *values) {
    if (frame->otherwise == 0 || !is_empty(b, frame->head + 1, frame->otherwise) ||
        !is_empty(b, frame->otherwise + 1, b->kernel->code.len))
        return false;
    for (uint32_t i = 0; i < frame->count; i++) {
        KKind kind = k_type(b, values[i]).kind;
        if (kind != KT_BOOL && kind != KT_I32 && kind != KT_F32) return false;
    }
    return true;
}

void k_if_end(KBuilder *b, uint32_t count, const KVal *values, KVal *results) {
    assert(b->frames.len > 0);
    KFrame frame = b->frames.at[--b->frames.len];
    assert(frame.region >= KR_IF && count == frame.count);
    if (frame.region == KR_IF_TRUE || frame.region == KR_IF_FALSE) {
        bool has_else = frame.values != NULL;
        if ((frame.region == KR_IF_TRUE) == has_else) wipe(b, frame.start);
        const KVal *taken = frame.region == KR_IF_TRUE ? frame.values : values;
        if (count > 0) memmove(results, taken, count * sizeof *results);
        return;
    }
    if (only_chooses(b, &frame, values)) {
        const KVal *chosen = copy_values(b, count, values);
        wipe(b, frame.head);
        for (uint32_t i = 0; i < count; i++)
            results[i] = k_select(b, frame.condition, frame.values[i], chosen[i]);
        return;
    }
    yield_all(b, count, values);
    k_forget(b, frame.start);
    KVal end = k_append(b, (KInstr){.op = K_END_IF, .match = frame.head});
    b->kernel->code.at[frame.otherwise != 0 ? frame.otherwise : frame.head].match = end;
    for (uint32_t i = 0; i < count; i++) {
        KFact fact = kfact_join(k_fact(b, frame.values[i]), k_fact(b, values[i]));
        results[i] = k_append(
            b,
            (KInstr){.op = K_RESULT, .type = k_type(b, values[i]), .imm = i, .match = frame.head});
        b->facts.at[results[i]] = fact;
    }
}
