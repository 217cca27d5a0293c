// The end of building: what nobody needs is dropped, invariant values leave their loops, constants
// move to the front, everything is numbered anew.
#include "ir/kernel_build_internal.h"

#include <assert.h>
#include <string.h>

typedef struct Finish {
    KBuilder *b;
    const KInstr *code; // as built
    uint32_t count;
    bool *live;
    KVal *parent; // innermost region (LOOP, IF) an instruction lies in
    KVal *map;    // old number to new
    VEC(KVal) work;
    KVal *place; // LOOP before which a live instruction moves, or 0
    VEC(KInstr) out;
} Finish;

static void mark(Finish *f, KVal v) {
    if (v == 0 || f->live[v]) return;
    f->live[v] = true;
    vec_push(f->b->scratch, &f->work, v);
}

static void mark_yield(Finish *f, KVal end, uint32_t number) {
    KVal yield = kernel_yield(end, kernel_yield_count(f->b->kernel, end), number);
    mark(f, yield);
}

// A carried value or result lives only if someone reads it, and then with all that is yielded.
static void mark_operands(Finish *f, KVal v) {
    const KInstr *instr = &f->code[v];
    for (unsigned i = 0; i < kop_info(instr->op)->operands; i++) mark(f, instr->arg[i]);
    mark(f, f->parent[v]);
    KVal head = instr->match;
    switch (instr->op) {
    case K_LOOP: mark(f, instr->match); break;
    case K_IF:
        if (f->code[instr->match].op == K_ELSE) mark(f, f->code[instr->match].match);
        mark(f, instr->match);
        break;
    case K_CARRY:
        mark_yield(f, f->code[head].match, v - head - 1);
        mark(f, f->code[head].match + v - head); // results stay as many as carried values
        break;
    case K_RESULT:
        mark(f, head);
        if (f->code[head].op == K_LOOP) {
            mark(f, head + 1 + (uint32_t)instr->imm);
        } else {
            KVal otherwise = f->code[head].match;
            mark_yield(f, otherwise, (uint32_t)instr->imm);
            mark_yield(f, f->code[otherwise].match, (uint32_t)instr->imm);
        }
        break;
    default: break;
    }
}

static bool is_root(const KInstr *instr) {
    switch (instr->op) {
    case K_LOOP:
    case K_CARRY:
    case K_END_LOOP:
    case K_IF:
    case K_ELSE:
    case K_END_IF:
    case K_YIELD: return false;
    case K_PARAM: return true;
    default: return (kop_info(instr->op)->flags & K_EFFECT) != 0;
    }
}

static void find_parents(Finish *f) {
    KVal region = 0;
    for (KVal v = 1; v < f->count; v++) {
        uint8_t op = f->code[v].op;
        if (op == K_END_LOOP || op == K_END_IF) region = f->parent[f->code[v].match];
        f->parent[v] = op == K_CONST || op == K_PARAM ? 0 : region;
        if (op == K_LOOP || op == K_IF) region = v;
    }
}

// An invariant value moves out of a loop when it is cheap, pure, and stands in the loop's body
// itself: from inside an if it would be computed where it was not asked for.
static bool may_move(const KInstr *instr) {
    bool divides =
        instr->op == K_SDIV || instr->op == K_UDIV || instr->op == K_SREM || instr->op == K_UREM;
    return (kop_info(instr->op)->flags & K_PURE) && instr->type.lanes == 1 &&
           instr->type.kind != KT_FRAG && !divides;
}

// The region where a live instruction ends up.
static KVal home(const Finish *f, KVal v) {
    return f->place[v] != 0 ? f->parent[f->place[v]] : f->parent[v];
}

static bool is_inside(const Finish *f, KVal region, KVal outer) {
    while (region != 0 && region != outer) region = f->parent[region];
    return region == outer;
}

static void find_places(Finish *f) {
    for (KVal v = 1; v < f->count; v++) {
        const KInstr *instr = &f->code[v];
        if (!f->live[v] || !may_move(instr)) continue;
        for (KVal region = f->parent[v]; region != 0 && f->code[region].op == K_LOOP;
             region = f->parent[region]) {
            bool invariant = true;
            for (unsigned i = 0; i < kop_info(instr->op)->operands; i++) {
                KVal x = instr->arg[i];
                bool fixed = f->code[x].op == K_CONST || f->code[x].op == K_PARAM;
                invariant =
                    invariant && x != region && (fixed || !is_inside(f, home(f, x), region));
            }
            if (!invariant) break;
            f->place[v] = region;
        }
    }
}

static void emit(Finish *f, KVal v) {
    KInstr instr = f->code[v];
    for (unsigned i = 0; i < kop_info(instr.op)->operands; i++) instr.arg[i] = f->map[instr.arg[i]];
    instr.match = 0;
    f->map[v] = f->out.len;
    vec_push(f->b->scratch, &f->out, instr);
}

static void emit_constants(Finish *f) {
    for (KVal v = 1; v < f->count; v++)
        if (f->code[v].op == K_PARAM) emit(f, v);
    for (KVal v = 1; v < f->count; v++)
        if (f->code[v].op == K_CONST && f->live[v]) emit(f, v);
}

static bool branch_is_empty(const Finish *f, KVal otherwise) {
    for (KVal v = otherwise + 1; v < f->code[otherwise].match; v++)
        if (f->live[v] && f->place[v] == 0) return false;
    return true;
}

static void emit_body(Finish *f) {
    // Chains of what moves before each loop, in order.
    KVal *first = arena_alloc(f->b->scratch, f->count * sizeof *first);
    KVal *next = arena_alloc(f->b->scratch, f->count * sizeof *next);
    for (KVal v = f->count - 1; v > 0; v--) {
        if (f->place[v] == 0) continue;
        next[v] = first[f->place[v]];
        first[f->place[v]] = v;
    }
    uint32_t results = 0;
    for (KVal v = 1; v < f->count; v++) {
        const KInstr *instr = &f->code[v];
        if (instr->op == K_END_IF || instr->op == K_END_LOOP) results = 0;
        if (!f->live[v] || f->place[v] != 0 || f->map[v] != 0) continue;
        if (instr->op == K_ELSE && branch_is_empty(f, v)) continue;
        for (KVal moved = first[v]; moved != 0; moved = next[moved]) emit(f, moved);
        emit(f, v);
        if (instr->op == K_RESULT) f->out.at[f->out.len - 1].imm = results++;
    }
}

Kernel *k_finish(KBuilder *b) {
    assert(b->frames.len == 0);
    Kernel *kernel = b->kernel;
    KVal where;
    uint32_t count = kernel->code.len;
    Finish f = {.b = b, .count = count};
    f.live = arena_alloc(b->scratch, count);
    f.parent = arena_alloc(b->scratch, count * sizeof *f.parent);
    f.map = arena_alloc(b->scratch, count * sizeof *f.map);
    f.place = arena_alloc(b->scratch, count * sizeof *f.place);
    const char *wrong = kernel_link(kernel, b->scratch, &where);
    assert(wrong == NULL);
    f.code = kernel->code.at;
    find_parents(&f);
    for (KVal v = 1; v < count; v++)
        if (is_root(&f.code[v])) mark(&f, v);
    while (f.work.len > 0) mark_operands(&f, f.work.at[--f.work.len]);
    find_places(&f);
    vec_push(b->scratch, &f.out, (KInstr){.op = K_NOP});
    emit_constants(&f);
    emit_body(&f);
    kernel->code.at = arena_alloc(b->arena, f.out.len * sizeof *f.out.at);
    memcpy(kernel->code.at, f.out.at, f.out.len * sizeof *f.out.at);
    kernel->code.len = kernel->code.cap = f.out.len;
    wrong = kernel_link(kernel, b->scratch, &where);
    assert(wrong == NULL);
    (void)wrong;
    kernel_summarise(kernel, b->arena);
    arena_destroy(b->scratch);
    return kernel;
}
