// Verifier of kernel IR. First what an instruction is by itself, types and visibility; then, if
// that holds, what needs the whole: carried values, facts (alignment, shared bounds) and
// uniformity of flow.
#include "ir/fragment_layout.h"
#include "ir/kernel_internal.h"

#include <stdarg.h>

typedef struct Verify {
    const Kernel *kernel;
    Diags *diags;
    Arena *arena;
    KVal at;
    uint32_t errors;
    KVal *scope;  // branch (LOOP, IF or ELSE; 0 outermost) that a value is visible in
    bool *open;   // of branches: not ended yet
    KFact *facts; // second part only
    uint8_t *level, *flow;
} Verify;

// How far a value is the same: over the workgroup, over each subgroup, not at all.
enum { SAME_IN_WORKGROUP, SAME_IN_SUBGROUP, VARYING };

__attribute__((format(printf, 3, 4))) static void check(Verify *v, bool holds, const char *format,
                                                        ...) {
    if (holds) return;
    Text text = {0};
    va_list args;
    const KInstr *instr = kernel_at(v->kernel, v->at);
    text_printf(&text, "kernel %s: ", v->kernel->name);
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    if (v->at != 0) {
        text_put(&text, " in '");
        kernel_print_instr(v->kernel, v->at, &text);
        text_put(&text, "'");
    }
    diag_error(v->diags, (Span){.line = instr->line, .column = instr->line != 0}, "%s", text.data);
    text_free(&text);
    v->errors++;
}

static KType type_of(const Verify *v, KVal value) {
    return kernel_at(v->kernel, value)->type;
}

static bool is_scalar(const Verify *v, KVal value, KKind kind) {
    return ktype_equal(type_of(v, value), K_TYPE((uint8_t)kind, 1));
}

static void check_params(Verify *v) {
    const Kernel *k = v->kernel;
    check(v, k->local_size >= 1 && k->local_size <= 1024, "local size %u is not in 1..=1024",
          k->local_size);
    check(v, (k->subgroup_size & (k->subgroup_size - 1)) == 0 && k->subgroup_size <= 128,
          "subgroup size %u is no power of two up to 128", k->subgroup_size);
    check(v, !k->components || k->subgroup_size == fragment_layout_lanes(k->components),
          "components lie so in subgroups of %u only", fragment_layout_lanes(k->components));
    check(v, k->code.len > k->params.len, "a parameter has no instruction");
    for (uint32_t i = 0; i < k->params.len; i++) {
        const KParam *param = &k->params.at[i];
        check(v, param->lo <= param->hi && param->multiple > 0,
              "bounds of parameter '%s' are empty", param->name);
        if (i + 1 >= k->code.len) continue;
        const KInstr *instr = kernel_at(k, i + 1);
        check(v, instr->op == K_PARAM && instr->imm == i, "parameter '%s' is out of order",
              param->name);
    }
    for (uint32_t i = 0; i < k->shared.len; i++) {
        const KShared *region = &k->shared.at[i];
        check(v, region->count > 0 && (region->dtype == DT_I32 || region->dtype == DT_F32),
              "region '%s' is empty or not 32 bits", region->name);
    }
}

static bool check_operands(Verify *v, const KInstr *instr) {
    uint32_t before = v->errors;
    for (unsigned i = 0; i < kop_info(instr->op)->operands; i++) {
        KVal x = instr->arg[i];
        if (x == 0 || x >= v->at) {
            check(v, false, "operand %u is not defined above", i + 1);
            continue;
        }
        check(v, type_of(v, x).kind != KT_NONE, "operand %u is no value", i + 1);
        check(v, v->scope[x] == 0 || v->open[v->scope[x]],
              "operand %u is not visible outside its region", i + 1);
    }
    return v->errors == before;
}

static void check_access(Verify *v, const KInstr *instr) {
    bool store = instr->op == K_STORE;
    KType type = store ? type_of(v, instr->arg[2]) : instr->type;
    check(v, is_scalar(v, instr->arg[0], KT_PTR), "first operand is no pointer");
    check(v, is_scalar(v, instr->arg[1], KT_I32), "index is not an i32");
    check(v, ktype_equal(type, ktype_of_memory(instr->mem, type.lanes)),
          "memory of %s does not give or take this type", dtype_name(instr->mem));
    check(v,
          instr->align >= dtype_bytes(instr->mem) && (instr->align & (instr->align - 1)) == 0 &&
              instr->align <= 16,
          "claimed alignment %u is below the element or no power of two", instr->align);
}

static const KShared *check_region(Verify *v, const KInstr *instr, KVal index) {
    bool exists = instr->imm >= 0 && instr->imm < v->kernel->shared.len;
    check(v, exists, "there is no such region");
    check(v, is_scalar(v, index, KT_I32), "index is not an i32");
    return exists ? &v->kernel->shared.at[instr->imm] : NULL;
}

static void check_shared(Verify *v, const KInstr *instr) {
    KType type = instr->op == K_SHARED_STORE ? type_of(v, instr->arg[1]) : instr->type;
    const KShared *region = check_region(v, instr, instr->arg[0]);
    check(v, type.kind == KT_I32 || type.kind == KT_F32, "shared memory holds i32 and f32");
    if (region != NULL) check(v, type.lanes <= region->lanes, "access is wider than the region");
}

static bool is_frag_dtype(DType dtype) {
    return dtype == DT_F16 || dtype == DT_BF16 || dtype == DT_F32 || dtype == DT_I8 ||
           dtype == DT_U8 || dtype == DT_I32;
}

static bool is_component(const Verify *v, KVal value, KType fragment) {
    return is_scalar(v, value, dtype_is_float(fragment.dtype) ? KT_F32 : KT_I32);
}

static void check_mul_add(Verify *v, const KInstr *instr) {
    KType a = type_of(v, instr->arg[0]), b = type_of(v, instr->arg[1]),
          c = type_of(v, instr->arg[2]);
    check(v, a.use == KU_A && b.use == KU_B && c.use == KU_ACC, "operands are not A, B, acc");
    check(v, a.cols == b.rows && a.rows == c.rows && b.cols == c.cols, "shapes do not fit");
    check(v, ktype_equal(instr->type, c), "result is not of the accumulator's type");
    check(v,
          dtype_is_float(a.dtype) == dtype_is_float(c.dtype) &&
              dtype_is_float(b.dtype) == dtype_is_float(c.dtype),
          "float and integer fragments meet");
}

static void check_fragment(Verify *v, const KInstr *instr) {
    KType type = instr->type;
    KType first = type_of(v, instr->arg[0]), second = type_of(v, instr->arg[1]);
    if (type.kind == KT_FRAG)
        check(v, is_frag_dtype(type.dtype) && type.use >= KU_A && type.use <= KU_ACC,
              "no such fragment type");
    switch (instr->op) {
    case K_FRAG_FILL:
        check(v, type.kind == KT_FRAG && is_component(v, instr->arg[0], type),
              "value does not fit the fragment");
        break;
    case K_FRAG_LOAD:
    case K_FRAG_STORE:
        if (instr->op == K_FRAG_STORE) type = type_of(v, instr->arg[3]);
        check(v, type.kind == KT_FRAG && type.dtype == instr->mem,
              "fragment and memory are not of one type");
        check(v, first.kind == KT_PTR, "first operand is no pointer");
        check(v, is_scalar(v, instr->arg[1], KT_I32) && is_scalar(v, instr->arg[2], KT_I32),
              "index or stride is not an i32");
        break;
    case K_FRAG_SHARED_LOAD:
    case K_FRAG_SHARED_STORE:
        if (instr->op == K_FRAG_SHARED_STORE) type = type_of(v, instr->arg[2]);
        check_region(v, instr, instr->arg[0]);
        check(v, type.kind == KT_FRAG, "not a fragment");
        check(v, is_scalar(v, instr->arg[1], KT_I32), "stride is not an i32");
        break;
    case K_FRAG_MUL_ADD: check_mul_add(v, instr); break;
    case K_FRAG_CONVERT:
        first.dtype = type.dtype;
        check(v, type.kind == KT_FRAG && ktype_equal(first, type),
              "only the element type may change");
        break;
    case K_FRAG_LENGTH:
        check(v, first.kind == KT_FRAG && ktype_equal(type, K_TYPE(KT_I32, 1)), "not a fragment");
        break;
    case K_FRAG_EXTRACT:
        check(v, first.kind == KT_FRAG && is_component(v, v->at, first), "not a component");
        break;
    case K_FRAG_INSERT:
        check(v, ktype_equal(first, type) && is_component(v, instr->arg[1], first),
              "not a component");
        break;
    default: // elementwise
        check(v, type.kind == KT_FRAG && ktype_equal(first, type), "operand is no such fragment");
        check(v, ktype_equal(second, first) || is_component(v, instr->arg[1], first),
              "second operand is neither such a fragment nor a scalar");
    }
}

static bool follows_region(const Verify *v, const KInstr *instr) {
    const KInstr *head = kernel_at(v->kernel, instr->match);
    uint32_t count = kernel_yield_count(v->kernel, head->match);
    return (head->op == K_LOOP || kernel_at(v->kernel, head->match)->op == K_ELSE) &&
           instr->imm < count;
}

static void check_special(Verify *v, const KInstr *instr) {
    KType first = type_of(v, instr->arg[0]);
    switch (instr->op) {
    case K_CONST:
        check(v,
              instr->type.lanes == 1 && instr->type.kind >= KT_BOOL && instr->type.kind <= KT_I64,
              "no constants of this type");
        break;
    case K_PARAM:
        check(v, v->at == instr->imm + 1 && instr->imm < v->kernel->params.len,
              "parameter does not stand in front");
        break;
    case K_EXTRACT:
        check(v, first.lanes > instr->imm && ktype_equal(instr->type, K_TYPE(first.kind, 1)),
              "no such lane");
        break;
    case K_PTR_ADD:
        check(v,
              first.kind == KT_PTR && is_scalar(v, instr->arg[1], KT_I32) &&
                  is_scalar(v, instr->arg[2], KT_I64) && instr->type.kind == KT_PTR,
              "operands are not ptr, i32, i64");
        break;
    case K_LOAD:
    case K_STORE: check_access(v, instr); break;
    case K_SHARED_LOAD:
    case K_SHARED_STORE: check_shared(v, instr); break;
    case K_LOOP:
        for (unsigned i = 0; i < 3; i++)
            check(v, is_scalar(v, instr->arg[i], KT_I32), "bounds are not i32");
        check(v, ktype_equal(instr->type, K_TYPE(KT_I32, 1)), "counter is not an i32");
        check(v, instr->flag <= K_LOOP_DONT_UNROLL, "no such hint");
        break;
    case K_IF: check(v, is_scalar(v, instr->arg[0], KT_BOOL), "condition is no bool"); break;
    case K_CARRY: check(v, ktype_equal(first, instr->type), "types differ"); break;
    case K_RESULT: check(v, follows_region(v, instr), "the region yields no such value"); break;
    case K_NOP:
    case K_YIELD:
    case K_ELSE:
    case K_END_IF:
    case K_END_LOOP: break;
    default: check_fragment(v, instr);
    }
}

static bool makes_value(KOp op) {
    switch (op) {
    case K_NOP:
    case K_STORE:
    case K_SHARED_STORE:
    case K_BARRIER:
    case K_END_LOOP:
    case K_IF:
    case K_ELSE:
    case K_END_IF:
    case K_YIELD:
    case K_FRAG_STORE:
    case K_FRAG_SHARED_STORE: return false;
    default: return true;
    }
}

static void check_instructions(Verify *v) {
    KVal branch = 0;
    KVal *outer = arena_alloc(v->arena, v->kernel->code.len * sizeof *outer);
    for (v->at = 1; v->at < v->kernel->code.len; v->at++) {
        const KInstr *instr = kernel_at(v->kernel, v->at);
        const KOpInfo *info = kop_info(instr->op);
        bool ends = instr->op == K_ELSE || instr->op == K_END_IF || instr->op == K_END_LOOP;
        if (ends) {
            v->open[branch] = false;
            branch = outer[branch];
        }
        check(v, makes_value(instr->op) == (instr->type.kind != KT_NONE),
              makes_value(instr->op) ? "value has no type" : "gives no value");
        if (check_operands(v, instr)) {
            KType types[4], type;
            for (unsigned i = 0; i < info->operands; i++) types[i] = type_of(v, instr->arg[i]);
            if (info->rule == K_RULE_SPECIAL) {
                check_special(v, instr);
            } else {
                bool fits = kop_result_type(instr->op, types, &type);
                check(v, fits, "operand types do not fit");
                check(v, !fits || ktype_equal(type, instr->type),
                      "type does not follow from the "
                      "operands'");
            }
        }
        if (instr->op == K_LOOP || instr->op == K_IF || instr->op == K_ELSE) {
            outer[v->at] = branch;
            branch = v->at;
            v->open[branch] = true;
        }
        v->scope[v->at] = branch;
    }
}

static uint32_t results_after(const Verify *v, KVal end) {
    uint32_t count = 0;
    while (end + 1 + count < v->kernel->code.len &&
           kernel_at(v->kernel, end + 1 + count)->op == K_RESULT)
        count++;
    return count;
}

// Yields before `end` against values first..: as many, of the same types, pointers to one buffer.
static void check_yields(Verify *v, KVal end, KVal first, uint32_t count) {
    uint32_t yields = kernel_yield_count(v->kernel, end);
    check(v, yields == count, "region yields %u values, %u are taken", yields, count);
    for (uint32_t i = 0; i < yields && i < count; i++) {
        KVal value = kernel_at(v->kernel, kernel_yield(end, yields, i))->arg[0];
        KType type = type_of(v, value);
        check(v, ktype_equal(type, type_of(v, first + i)), "type of yielded value %u differs", i);
        if (type.kind == KT_PTR && type_of(v, first + i).kind == KT_PTR)
            check(v, kernel_root(v->kernel, value) == kernel_root(v->kernel, first + i),
                  "pointers to different buffers meet");
    }
}

static void check_regions(Verify *v) {
    for (v->at = 1; v->at < v->kernel->code.len; v->at++) {
        const KInstr *instr = kernel_at(v->kernel, v->at);
        if (instr->op == K_LOOP) {
            uint32_t carried = 0;
            while (kernel_at(v->kernel, v->at + 1 + carried)->op == K_CARRY) carried++;
            check_yields(v, instr->match, v->at + 1, carried);
            check_yields(v, instr->match, instr->match + 1, results_after(v, instr->match));
        } else if (instr->op == K_IF) {
            KVal end = instr->match;
            bool has_else = kernel_at(v->kernel, end)->op == K_ELSE;
            if (has_else) end = kernel_at(v->kernel, end)->match;
            uint32_t results = results_after(v, end);
            check_yields(v, end, end + 1, results);
            if (has_else)
                check_yields(v, instr->match, end + 1, results);
            else
                check(v, results == 0, "if without else yields values");
        }
    }
}

static int64_t scaled(int64_t multiple, int64_t by) {
    int64_t product;
    return checked_mul(multiple, by, &product) ? product : multiple & -multiple;
}

static bool is_multiple(int64_t multiple, int64_t of) {
    return multiple % of == 0;
}

static void check_bytes(Verify *v, KVal pointer, KVal index, unsigned element, unsigned align) {
    int64_t known = gcd64(v->facts[pointer].multiple, scaled(v->facts[index].multiple, element));
    check(v, is_multiple(known, align), "alignment %u is not proved, only %lld", align,
          (long long)known);
}

static void check_words(Verify *v, const KInstr *instr, KVal index, unsigned lanes) {
    const KShared *region = &v->kernel->shared.at[instr->imm];
    KFact fact = v->facts[index];
    int64_t words = (int64_t)region->lanes * region->count;
    check(v, is_multiple(fact.multiple, lanes), "word index is not known to be a multiple of %u",
          lanes);
    check(v, fact.hi >= 0 && fact.lo <= words - lanes, "index is outside region '%s' of %lld words",
          region->name, (long long)words);
}

static void check_frag_memory(Verify *v, const KInstr *instr, KType type, KVal index, KVal stride,
                              bool shared) {
    unsigned align = kernel_frag_align(type, (KLayout)instr->flag);
    unsigned element = shared ? 4 : dtype_bytes(type.dtype);
    if (shared) check_words(v, instr, index, v->kernel->shared.at[instr->imm].lanes);
    int64_t known = scaled(v->facts[index].multiple, element);
    if (!shared) known = gcd64(known, v->facts[instr->arg[0]].multiple);
    check(v, is_multiple(known, align), "fragment address is a multiple of %lld bytes, not of %u",
          (long long)known, align);
    int64_t step = scaled(v->facts[stride].multiple, element);
    check(v, is_multiple(step, align), "fragment stride is a multiple of %lld bytes, not of %u",
          (long long)step, align);
}

static void check_access_rights(Verify *v, KVal pointer, bool store) {
    const KParam *param = &v->kernel->params.at[kernel_root(v->kernel, pointer)];
    check(v, store ? param->write : param->read, "parameter '%s' is not declared to be %s",
          param->name, store ? "written" : "read");
}

static void check_memory(Verify *v) {
    v->facts = kernel_facts(v->kernel, v->arena);
    for (v->at = 1; v->at < v->kernel->code.len; v->at++) {
        const KInstr *instr = kernel_at(v->kernel, v->at);
        const KVal *x = instr->arg;
        switch (instr->op) {
        case K_PTR_ADD: check(v, v->facts[x[1]].hi >= 0, "index is negative"); break;
        case K_LOAD:
        case K_STORE:
            check_bytes(v, x[0], x[1], dtype_bytes(instr->mem), instr->align);
            check_access_rights(v, x[0], instr->op == K_STORE);
            break;
        case K_SHARED_LOAD: check_words(v, instr, x[0], instr->type.lanes); break;
        case K_SHARED_STORE: check_words(v, instr, x[0], type_of(v, x[1]).lanes); break;
        case K_FRAG_LOAD:
            check_frag_memory(v, instr, instr->type, x[1], x[2], false);
            check_access_rights(v, x[0], false);
            break;
        case K_FRAG_STORE:
            check_frag_memory(v, instr, type_of(v, x[3]), x[1], x[2], false);
            check_access_rights(v, x[0], true);
            break;
        case K_FRAG_SHARED_LOAD: check_frag_memory(v, instr, instr->type, x[0], x[1], true); break;
        case K_FRAG_SHARED_STORE:
            check_frag_memory(v, instr, type_of(v, x[2]), x[0], x[1], true);
            break;
        case K_LOOP: check(v, v->facts[x[2]].lo > 0, "step is not known to be positive"); break;
        default: break;
        }
        if (instr->type.kind == KT_FRAG) {
            uint32_t size = v->kernel->subgroup_size;
            check(v, size != 0 && v->kernel->local_size % size == 0,
                  "fragments need a subgroup size that divides the local size");
        }
    }
}

static uint8_t greater(uint8_t a, uint8_t b) {
    return a > b ? a : b;
}

static uint8_t level_of_operands(const Verify *v, const KInstr *instr) {
    uint8_t level = SAME_IN_WORKGROUP;
    for (unsigned i = 0; i < kop_info(instr->op)->operands; i++)
        level = greater(level, v->level[instr->arg[i]]);
    return level;
}

static uint8_t level_of_result(const Verify *v, const KInstr *instr) {
    const KInstr *head = kernel_at(v->kernel, instr->match);
    KVal end = head->match;
    uint32_t count = kernel_yield_count(v->kernel, end);
    uint8_t level = greater(level_of_operands(v, head),
                            v->level[kernel_yield(end, count, (uint32_t)instr->imm)]);
    if (head->op == K_LOOP) return greater(level, v->level[instr->match + 1 + instr->imm]);
    end = kernel_at(v->kernel, end)->match;
    return greater(level, v->level[kernel_yield(end, count, (uint32_t)instr->imm)]);
}

static uint8_t level_of(const Verify *v, KVal value) {
    const KInstr *instr = kernel_at(v->kernel, value);
    uint8_t operands = level_of_operands(v, instr);
    switch (instr->op) {
    case K_LOCAL_ID:
    case K_SUBGROUP_LANE:
    case K_FRAG_EXTRACT: return VARYING;
    case K_SUBGROUP_ID:
    case K_SUBGROUP_FADD:
    case K_SUBGROUP_FMIN:
    case K_SUBGROUP_FMAX:
    case K_SUBGROUP_IADD:
    case K_SUBGROUP_SMIN:
    case K_SUBGROUP_SMAX:
    case K_SUBGROUP_OR: return SAME_IN_SUBGROUP;
    case K_BROADCAST_FIRST: return operands > SAME_IN_SUBGROUP ? SAME_IN_SUBGROUP : operands;
    case K_FRAG_LENGTH: return SAME_IN_WORKGROUP;
    case K_FRAG_FILL:
    case K_FRAG_LOAD:
    case K_FRAG_SHARED_LOAD:
    case K_FRAG_MUL_ADD:
    case K_FRAG_ADD:
    case K_FRAG_SUB:
    case K_FRAG_MUL:
    case K_FRAG_DIV:
    case K_FRAG_CONVERT:
    case K_FRAG_INSERT: return SAME_IN_SUBGROUP;
    case K_LOOP: return greater(v->level[instr->arg[0]], v->level[instr->arg[2]]);
    case K_CARRY: {
        KVal end = kernel_at(v->kernel, instr->match)->match;
        KVal yield =
            kernel_yield(end, kernel_yield_count(v->kernel, end), value - instr->match - 1);
        return greater(operands, v->level[yield]);
    }
    case K_RESULT: return level_of_result(v, instr);
    default: return operands; // loads too: shared and global races are faults of their own
    }
}

// Levels only rise, so the rounds end.
static void find_levels(Verify *v) {
    v->level = arena_alloc(v->arena, v->kernel->code.len);
    v->flow = arena_alloc(v->arena, v->kernel->code.len);
    for (bool changed = true; changed;) {
        uint8_t flow = SAME_IN_WORKGROUP;
        changed = false;
        for (KVal at = 1; at < v->kernel->code.len; at++) {
            const KInstr *instr = kernel_at(v->kernel, at);
            if (instr->op == K_END_LOOP || instr->op == K_END_IF) flow = v->flow[instr->match];
            v->flow[at] = flow;
            uint8_t level = level_of(v, at);
            changed = changed || level != v->level[at];
            v->level[at] = level;
            if (instr->op == K_LOOP || instr->op == K_IF)
                flow = greater(flow, level_of_operands(v, instr));
        }
    }
}

static void check_uniformity(Verify *v) {
    find_levels(v);
    for (v->at = 1; v->at < v->kernel->code.len; v->at++) {
        const KInstr *instr = kernel_at(v->kernel, v->at);
        uint8_t flags = kop_info(instr->op)->flags;
        check(v, !(flags & K_UNIFORM) || v->flow[v->at] == SAME_IN_WORKGROUP,
              "flow is not uniform over the workgroup");
        check(v, !(flags & K_SUBGROUP) || v->flow[v->at] <= SAME_IN_SUBGROUP,
              "flow is not uniform over each subgroup");
        bool fragment = instr->op >= K_FRAG_FILL && instr->op <= K_FRAG_CONVERT;
        check(v, !fragment || level_of_operands(v, instr) <= SAME_IN_SUBGROUP,
              "an operand is not uniform over each subgroup");
    }
}

bool kernel_verify(const Kernel *kernel, Diags *diags) {
    Arena *arena = arena_create();
    Verify v = {.kernel = kernel, .diags = diags, .arena = arena};
    v.scope = arena_alloc(arena, kernel->code.len * sizeof *v.scope);
    v.open = arena_alloc(arena, kernel->code.len);
    check_params(&v);
    check_instructions(&v);
    if (v.errors == 0) check_regions(&v);
    if (v.errors == 0) {
        check_memory(&v);
        check_uniformity(&v);
    }
    arena_destroy(arena);
    return v.errors == 0;
}
