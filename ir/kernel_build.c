// The builder's core: values, merging, arithmetic, memory. Control is in kernel_build_flow.c,
// fragments and helpers in kernel_build_more.c, the end in kernel_finish.c.
#include "ir/kernel_build_internal.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { FIRST_HEADS = 256 };

KBuilder *k_begin(Arena *arena, const char *name, uint32_t local_size) {
    assert(local_size > 0);
    KBuilder *b = arena_alloc(arena, sizeof *b);
    b->arena = arena, b->scratch = arena_child(arena);
    b->kernel = arena_alloc(arena, sizeof *b->kernel);
    b->kernel->name = arena_strdup(arena, name);
    b->kernel->local_size = local_size;
    b->head_mask = FIRST_HEADS - 1;
    b->heads = arena_alloc(b->scratch, FIRST_HEADS * sizeof *b->heads);
    k_append(b, (KInstr){.op = K_NOP});
    return b;
}

void k_require_subgroup(KBuilder *b, uint32_t size) {
    b->kernel->subgroup_size = size;
}

void k_set_components(KBuilder *b, unsigned layout) {
    b->kernel->components = (uint8_t)layout;
}

void k_set_strict(KBuilder *b, bool strict) {
    b->kernel->strict = strict;
}
void k_set_line(KBuilder *b, uint32_t line) {
    b->line = line;
}

void k_note_line(KBuilder *b, uint32_t line) {
    if (line != 0) vec_push(b->arena, &b->kernel->lines, line);
}

KType k_type(const KBuilder *b, KVal value) {
    return k_at(b, value)->type;
}
KFact k_fact(const KBuilder *b, KVal value) {
    return b->facts.at[value];
}

bool k_is_const(const KBuilder *b, KVal value, int64_t *out) {
    int64_t unused;
    return kernel_const(b->kernel, value, out != NULL ? out : &unused);
}

KVal k_append(KBuilder *b, KInstr instr) {
    bool fixed = instr.op == K_CONST || instr.op == K_PARAM;
    bool end = instr.op == K_ELSE || instr.op == K_END_IF || instr.op == K_END_LOOP;
    instr.line = fixed || end ? 0 : b->line;
    KVal value = b->kernel->code.len;
    vec_push(b->scratch, &b->kernel->code, instr);
    vec_push(b->scratch, &b->next, 0);
    KFactContext context = {b->kernel->code.at, b->kernel->params.at, b->facts.at,
                            b->kernel->local_size, b->kernel->subgroup_size};
    // What will be yielded into a carried value is not known yet.
    KFact fact = instr.op == K_CARRY ? kfact_any(instr.type) : kfact_of(&context, &instr);
    vec_push(b->scratch, &b->facts, fact);
    return value;
}

// Everything that tells two pure instructions apart.
typedef struct MergeKey {
    int64_t imm;
    KType type;
    KVal arg[4];
    uint8_t op, mem, align, flag;
    uint32_t zero;
} MergeKey;

static MergeKey merge_key(const KInstr *instr) {
    MergeKey key = {.imm = instr->imm, .type = instr->type, .op = instr->op, .mem = instr->mem};
    key.align = instr->align;
    key.flag = instr->flag;
    memcpy(key.arg, instr->arg, sizeof key.arg);
    return key;
}

static_assert(sizeof(MergeKey) % 8 == 0, "keys are hashed by words");

static KVal *head_of(KBuilder *b, const MergeKey *key) {
    uint64_t word[sizeof *key / 8], hash = 0;
    memcpy(word, key, sizeof word);
    for (unsigned i = 0; i < sizeof word / 8; i++) {
        hash = (hash ^ word[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return &b->heads[hash & b->head_mask];
}

static void grow_heads(KBuilder *b) {
    VEC(KVal) merged = {0};
    for (uint32_t i = 0; i <= b->head_mask; i++)
        for (KVal v = b->heads[i]; v != 0; v = b->next.at[v]) vec_push(b->scratch, &merged, v);
    b->head_mask = b->head_mask * 4 + 3;
    b->heads = arena_alloc(b->scratch, (b->head_mask + 1) * sizeof *b->heads);
    for (uint32_t i = 0; i < merged.len; i++) {
        MergeKey key = merge_key(k_at(b, merged.at[i]));
        KVal *head = head_of(b, &key);
        b->next.at[merged.at[i]] = *head;
        *head = merged.at[i];
    }
}

KVal k_merge(KBuilder *b, KInstr instr) {
    MergeKey key = merge_key(&instr);
    for (KVal v = *head_of(b, &key); v != 0; v = b->next.at[v]) {
        MergeKey other = merge_key(k_at(b, v));
        if (memcmp(&key, &other, sizeof key) == 0) return v;
    }
    KVal value = k_append(b, instr);
    if (value > b->head_mask) grow_heads(b);
    KVal *head = head_of(b, &key);
    b->next.at[value] = *head;
    *head = value;
    return value;
}

void k_forget(KBuilder *b, uint32_t start) {
    for (KVal v = start; v < b->kernel->code.len; v++) {
        const KInstr *instr = k_at(b, v);
        if (instr->op == K_CONST || instr->op == K_PARAM) continue;
        MergeKey key = merge_key(instr);
        KVal *at = head_of(b, &key);
        while (*at != 0 && *at != v) at = &b->next.at[*at];
        if (*at == v) *at = b->next.at[v];
    }
}

KVal k_constant(KBuilder *b, KType type, uint32_t bits) {
    int64_t imm = type.kind == KT_I32 ? (int64_t)(int32_t)bits : (int64_t)bits;
    KVal scalar = k_merge(b, (KInstr){.op = K_CONST, .type = K_TYPE(type.kind, 1), .imm = imm});
    return k_splat(b, scalar, type.lanes);
}

KVal k_i32(KBuilder *b, int32_t value) {
    return k_constant(b, K_TYPE(KT_I32, 1), (uint32_t)value);
}

KVal k_f32(KBuilder *b, float value) {
    return k_constant(b, K_TYPE(KT_F32, 1), (KCell){.f = value}.u);
}

KVal k_bool(KBuilder *b, bool value) {
    return k_constant(b, K_TYPE(KT_BOOL, 1), value);
}

KVal k_i64(KBuilder *b, int64_t value) {
    return k_merge(b, (KInstr){.op = K_CONST, .type = K_TYPE(KT_I64, 1), .imm = value});
}

// Letters, digits, _ and dots only, not beginning with a digit, and not yet used.
static const char *unique_name(KBuilder *b, const char *name) {
    char *clean = arena_printf(b->arena, "%s%s", isdigit((unsigned char)*name) ? "_" : "",
                               *name != 0 ? name : "_");
    for (char *c = clean; *c != 0; c++)
        if (!isalnum((unsigned char)*c) && *c != '.') *c = '_';
    const char *unique = clean;
    for (uint32_t number = 2;; number++) {
        bool used = false;
        for (uint32_t i = 0; i < b->kernel->params.len; i++)
            used = used || strcmp(b->kernel->params.at[i].name, unique) == 0;
        for (uint32_t i = 0; i < b->kernel->shared.len; i++)
            used = used || strcmp(b->kernel->shared.at[i].name, unique) == 0;
        if (!used) return unique;
        unique = arena_printf(b->arena, "%s_%u", clean, number);
    }
}

static KVal add_param(KBuilder *b, KParam param) {
    static const uint8_t kinds[] = {KT_PTR, KT_I32, KT_I64};
    param.name = unique_name(b, param.name);
    uint32_t number = b->kernel->params.len;
    vec_push(b->arena, &b->kernel->params, param);
    return k_append(b,
                    (KInstr){.op = K_PARAM, .type = K_TYPE(kinds[param.kind], 1), .imm = number});
}

KVal k_param_buffer(KBuilder *b, const char *name, DType dtype, int access) {
    return k_param_buffer_aligned(b, name, dtype, access, 16);
}

KVal k_param_buffer_aligned(KBuilder *b, const char *name, DType dtype, int access, int64_t bytes) {
    return add_param(b, (KParam){.name = name,
                                 .kind = KP_BUFFER,
                                 .dtype = dtype,
                                 .read = (access & K_READ) != 0,
                                 .write = (access & K_WRITE) != 0,
                                 .lo = INT64_MIN,
                                 .hi = INT64_MAX,
                                 .multiple = bytes});
}

KVal k_param_i32(KBuilder *b, const char *name, int64_t lo, int64_t hi, int64_t multiple) {
    assert(lo <= hi && multiple > 0 && lo >= INT32_MIN && hi <= INT32_MAX);
    return add_param(
        b, (KParam){.name = name, .kind = KP_I32, .lo = lo, .hi = hi, .multiple = multiple});
}

KVal k_param_i64(KBuilder *b, const char *name, int64_t lo, int64_t hi, int64_t multiple) {
    assert(lo <= hi && multiple > 0);
    return add_param(
        b, (KParam){.name = name, .kind = KP_I64, .lo = lo, .hi = hi, .multiple = multiple});
}

uint32_t k_param_count(const KBuilder *b) {
    return b->kernel->params.len;
}

uint32_t k_shared(KBuilder *b, const char *name, DType dtype, unsigned lanes, uint32_t count) {
    assert((dtype == DT_I32 || dtype == DT_F32) && (lanes == 1 || lanes == 2 || lanes == 4));
    KShared region = {unique_name(b, name), dtype, (uint8_t)lanes, count};
    vec_push(b->arena, &b->kernel->shared, region);
    return b->kernel->shared.len - 1;
}

// Repeats scalars where another operand is a vector (a select's condition may stay scalar).
static void match_lanes(KBuilder *b, const KOpInfo *info, KVal *x) {
    if (info->rule == K_RULE_VECTOR || info->rule == K_RULE_SHUFFLE) return;
    unsigned lanes = 1, first = info->rule == K_RULE_SELECT ? 1 : 0;
    for (unsigned i = 0; i < info->operands; i++)
        if (k_type(b, x[i]).lanes > lanes) lanes = k_type(b, x[i]).lanes;
    for (unsigned i = first; i < info->operands; i++) x[i] = k_splat(b, x[i], lanes);
}

static bool is_constant(const KBuilder *b, KVal value) {
    const KInstr *instr = k_at(b, value);
    if (instr->op == K_VEC2 || instr->op == K_VEC4) instr = k_at(b, instr->arg[0]);
    return instr->op == K_CONST;
}

KVal k_build(KBuilder *b, KOp op, const KVal *operands) {
    const KOpInfo *info = kop_info(op);
    KInstr instr = {.op = (uint8_t)op};
    KType types[4];
    if (op == K_SUBGROUP_SIZE && b->kernel->subgroup_size != 0)
        return k_i32(b, (int32_t)b->kernel->subgroup_size);
    for (unsigned i = 0; i < info->operands; i++) instr.arg[i] = operands[i];
    match_lanes(b, info, instr.arg);
    if (info->flags & K_COMMUTES) { // constants last, else in order of age
        bool first = is_constant(b, instr.arg[0]), second = is_constant(b, instr.arg[1]);
        if (first != second ? first : instr.arg[0] > instr.arg[1]) {
            KVal other = instr.arg[0];
            instr.arg[0] = instr.arg[1];
            instr.arg[1] = other;
        }
    }
    for (unsigned i = 0; i < info->operands; i++) types[i] = k_type(b, instr.arg[i]);
    bool fits = kop_result_type(op, types, &instr.type);
    assert(fits);
    (void)fits;
    KVal simpler = k_simplify(b, op, instr.type, instr.arg);
    if (simpler != 0) return simpler;
    return info->flags & K_PURE ? k_merge(b, instr) : k_append(b, instr);
}

KVal k_extract(KBuilder *b, KVal vector, unsigned lane) {
    KType type = k_type(b, vector);
    assert(lane < type.lanes);
    if (type.lanes == 1) return vector;
    const KInstr *from = k_at(b, vector);
    if (from->op == K_VEC2 || from->op == K_VEC4) return from->arg[lane];
    return k_merge(
        b, (KInstr){.op = K_EXTRACT, .type = K_TYPE(type.kind, 1), .arg = {vector}, .imm = lane});
}

// The vector whose lanes these are, in order, or 0.
static KVal taken_apart(const KBuilder *b, unsigned lanes, const KVal *scalars) {
    KVal whole = k_at(b, scalars[0])->arg[0];
    for (unsigned i = 0; i < lanes; i++) {
        const KInstr *lane = k_at(b, scalars[i]);
        if (lane->op != K_EXTRACT || lane->arg[0] != whole || lane->imm != i) return 0;
    }
    return k_type(b, whole).lanes == lanes ? whole : 0;
}

KVal k_vector(KBuilder *b, unsigned lanes, const KVal *scalars) {
    assert(lanes == 1 || lanes == 2 || lanes == 4);
    if (lanes == 1) return scalars[0];
    KVal whole = taken_apart(b, lanes, scalars);
    return whole != 0 ? whole : k_build(b, lanes == 2 ? K_VEC2 : K_VEC4, scalars);
}

KVal k_splat(KBuilder *b, KVal scalar, unsigned lanes) {
    if (k_type(b, scalar).lanes == lanes) return scalar;
    assert(k_type(b, scalar).lanes == 1);
    return k_vector(b, lanes, (KVal[]){scalar, scalar, scalar, scalar});
}

KVal k_ptr_add(KBuilder *b, KVal pointer, KVal index, KVal stride_bytes) {
    assert(k_type(b, pointer).kind == KT_PTR && k_type(b, stride_bytes).kind == KT_I64);
    assert(ktype_equal(k_type(b, index), K_TYPE(KT_I32, 1)));
    int64_t i, stride;
    bool nothing = (k_is_const(b, index, &i) && i == 0) ||
                   (k_is_const(b, stride_bytes, &stride) && stride == 0);
    if (nothing) return pointer;
    return k_merge(b, (KInstr){.op = K_PTR_ADD,
                               .type = K_TYPE(KT_PTR, 1),
                               .arg = {pointer, index, stride_bytes}});
}

KVal k_load(KBuilder *b, KVal pointer, KVal index, DType mem, unsigned lanes, unsigned align) {
    KType type = ktype_of_memory(mem, lanes);
    assert(type.kind != KT_NONE && k_type(b, pointer).kind == KT_PTR);
    assert(ktype_equal(k_type(b, index), K_TYPE(KT_I32, 1)));
    KInstr instr = {.op = K_LOAD,
                    .mem = (uint8_t)mem,
                    .align = (uint8_t)align,
                    .type = type,
                    .arg = {pointer, index}};
    // What nobody writes is the same each time.
    bool fixed = !b->kernel->params.at[kernel_root(b->kernel, pointer)].write;
    return fixed ? k_merge(b, instr) : k_append(b, instr);
}

void k_store(KBuilder *b, KVal pointer, KVal index, DType mem, unsigned align, KVal value) {
    assert(k_type(b, pointer).kind == KT_PTR);
    assert(ktype_equal(k_type(b, index), K_TYPE(KT_I32, 1)));
    assert(ktype_equal(k_type(b, value), ktype_of_memory(mem, k_type(b, value).lanes)));
    k_append(b, (KInstr){.op = K_STORE,
                         .mem = (uint8_t)mem,
                         .align = (uint8_t)align,
                         .arg = {pointer, index, value}});
}

KVal k_shared_load(KBuilder *b, uint32_t region, KVal index, KType type) {
    assert(region < b->kernel->shared.len && type.lanes <= b->kernel->shared.at[region].lanes);
    assert(type.kind == KT_I32 || type.kind == KT_F32);
    return k_append(b, (KInstr){.op = K_SHARED_LOAD, .type = type, .arg = {index}, .imm = region});
}

void k_shared_store(KBuilder *b, uint32_t region, KVal index, KVal value) {
    assert(region < b->kernel->shared.len);
    assert(k_type(b, value).lanes <= b->kernel->shared.at[region].lanes);
    k_append(b, (KInstr){.op = K_SHARED_STORE, .arg = {index, value}, .imm = region});
}
