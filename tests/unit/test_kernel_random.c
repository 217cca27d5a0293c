// Random kernels, written as text so that nothing is folded: they verify, print back to the same
// text, and compute the same after having gone through the builder, which folds, merges, hoists and
// drops.
#include "ir/kernel_build.h"
#include "ir/kernel_interp.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LOCAL = 16, GROUPS = 2, SLOTS = 64, KERNELS = 300, WORDS = 256 };

typedef struct Pool {
    int id[400];
    unsigned len;
} Pool;

// What is visible at a point: values by type, numbered as in the text.
typedef struct Scope {
    Pool i32, f32, boolean;
} Scope;

typedef struct Generator {
    uint32_t seed;
    Text text;
    Scope scope;
    int next, depth, budget, slot;
} Generator;

static uint32_t roll(Generator *g, uint32_t below) {
    g->seed = g->seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(g->seed >> 4) * below >> 28);
}

static void indent(Generator *g) {
    for (int i = 0; i <= g->depth; i++) text_put(&g->text, "    ");
}

static void remember(Pool *pool, int id) {
    if (pool->len < 400) pool->id[pool->len++] = id;
}

// Appends an operand of a type to the text.
static void operand(Generator *g, char type) {
    static const char *const numbers[] = {"0", "1", "2", "-1", "3", "8", "31", "-2147483648", "12"};
    static const char *const floats[] = {"0.0", "1.0", "-0.5", "2.5", "1.0"};
    static const char *const params[] = {"%n", "%m", "%n"};
    Pool *pool = type == 'i' ? &g->scope.i32 : type == 'f' ? &g->scope.f32 : &g->scope.boolean;
    if (pool->len > 0 && roll(g, 4) != 0) {
        unsigned newest = pool->len < 12 ? pool->len : 12; // mostly recent ones
        unsigned from = roll(g, 3) == 0 ? roll(g, pool->len) : pool->len - 1 - roll(g, newest);
        text_printf(&g->text, "%%%d", pool->id[from]);
    } else if (type == 'i') {
        text_put(&g->text, roll(g, 3) == 0 ? params[roll(g, 3)] : numbers[roll(g, 9)]);
    } else if (type == 'f') {
        text_put(&g->text, floats[roll(g, 5)]);
    } else {
        text_put(&g->text, roll(g, 2) ? "true" : "false");
    }
}

// "%5: i32 = name a, b"; signature: result type, then operand types.
static int emit(Generator *g, const char *name, const char *signature) {
    indent(g);
    text_printf(&g->text, "%%%d: %s = %s", g->next,
                *signature == 'i'   ? "i32"
                : *signature == 'f' ? "f32"
                                    : "bool",
                name);
    for (const char *type = signature + 1; *type != 0; type++) {
        text_put(&g->text, type == signature + 1 ? " " : ", ");
        operand(g, *type);
    }
    text_put(&g->text, "\n");
    Pool *pool = *signature == 'i'   ? &g->scope.i32
                 : *signature == 'f' ? &g->scope.f32
                                     : &g->scope.boolean;
    remember(pool, g->next);
    return g->next++;
}

// Compares a value with numbers near the ends of ranges.
static void emit_compare(Generator *g, int value) {
    static const char *const ops[] = {"slt", "sle", "ieq", "ine"};
    static const int numbers[] = {-2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12};
    indent(g);
    const char *op = ops[roll(g, 4)];
    int number = numbers[roll(g, 13)];
    if (roll(g, 2))
        text_printf(&g->text, "%%%d: bool = %s %%%d, %d\n", g->next, op, value, number);
    else
        text_printf(&g->text, "%%%d: bool = %s %d, %%%d\n", g->next, op, number, value);
    remember(&g->scope.boolean, g->next++);
}

static void emit_divide(Generator *g) {
    static const char *const ops[] = {"sdiv", "udiv", "srem", "urem"};
    static const char *const divisors[] = {"1", "2", "3", "8", "12", "%n", "-3"};
    int divided = emit(g, "imul", "iii");
    indent(g);
    text_printf(&g->text, "%%%d: i32 = %s %%%d, %s\n", g->next, ops[roll(g, 4)],
                roll(g, 2) ? divided : g->scope.i32.id[roll(g, g->scope.i32.len)],
                divisors[roll(g, 7)]);
    remember(&g->scope.i32, g->next++);
    emit_compare(g, g->next - 1);
}

static void emit_shift(Generator *g) {
    static const char *const ops[] = {"shl", "shr", "sar"};
    indent(g);
    text_printf(&g->text, "%%%d: i32 = %s ", g->next, ops[roll(g, 3)]);
    operand(g, 'i');
    text_printf(&g->text, ", %u\n", roll(g, 32));
    remember(&g->scope.i32, g->next++);
}

static void emit_load(Generator *g) {
    indent(g);
    text_printf(&g->text, "%%%d: i32 = and ", g->next);
    operand(g, 'i');
    text_printf(&g->text, ", %d\n", WORDS - 1);
    indent(g);
    text_printf(&g->text, "%%%d: i32 = load %%x, %%%d as i32 align 4\n", g->next + 1, g->next);
    remember(&g->scope.i32, g->next + 1);
    g->next += 2;
}

static void emit_store(Generator *g) {
    if (g->slot == SLOTS) return;
    indent(g);
    text_printf(&g->text, "%%%d: i32 = iadd %%1, %d\n", g->next, g->slot++);
    indent(g);
    bool is_float = roll(g, 3) == 0;
    text_printf(&g->text, "store %%y, %%%d, ", g->next++);
    operand(g, is_float ? 'f' : 'i');
    text_printf(&g->text, " as %s align 4\n", is_float ? "f32" : "i32");
}

// Words go round the workgroup.
static void emit_exchange(Generator *g) {
    indent(g);
    text_put(&g->text, "shared_store t, %0, ");
    operand(g, 'i');
    text_printf(&g->text, "\n    barrier\n    %%%d: i32 = xor %%0, %u\n", g->next, roll(g, LOCAL));
    text_printf(&g->text, "    %%%d: i32 = shared_load t, %%%d\n    barrier\n", g->next + 1,
                g->next);
    remember(&g->scope.i32, g->next + 1);
    g->next += 2;
}

// A value that all values made since `outer` go into, so that none is dead.
static int emit_digest(Generator *g, const Scope *outer) {
    const Pool *pools[] = {&g->scope.i32, &g->scope.f32, &g->scope.boolean};
    const unsigned from[] = {outer->i32.len, outer->f32.len, outer->boolean.len};
    static const char *const convert[] = {"iadd %%%d, 0", "f_to_s %%%d", "select %%%d, 7, 5"};
    int digest = g->next++;
    indent(g);
    text_printf(&g->text, "%%%d: i32 = iadd %%0, 1\n", digest);
    for (unsigned type = 0; type < 3; type++) {
        for (unsigned i = from[type]; i < pools[type]->len; i++) {
            indent(g);
            text_printf(&g->text, "%%%d: i32 = ", g->next);
            text_printf(&g->text, convert[type], pools[type]->id[i]);
            text_put(&g->text, "\n");
            indent(g);
            text_printf(&g->text, "%%%d: i32 = imul %%%d, 31\n", g->next + 1, digest);
            indent(g);
            text_printf(&g->text, "%%%d: i32 = iadd %%%d, %%%d\n", g->next + 2, g->next + 1,
                        g->next);
            digest = g->next + 2;
            g->next += 3;
        }
    }
    return digest;
}

static void emit_block(Generator *g, unsigned statements);

static void emit_if(Generator *g) {
    Scope outer = g->scope;
    bool results = roll(g, 2);
    indent(g);
    text_put(&g->text, "if ");
    operand(g, 'b');
    text_put(&g->text, " {\n");
    g->depth++;
    for (unsigned branch = 0; branch < 2; branch++) {
        emit_block(g, roll(g, 6));
        if (results) {
            int digest = emit_digest(g, &outer);
            indent(g);
            text_printf(&g->text, "yield %%%d\n", digest);
            indent(g);
            text_put(&g->text, "yield ");
            operand(g, 'f');
            text_put(&g->text, "\n");
        }
        g->scope = outer;
        if (branch == 1 || (!results && roll(g, 2))) break;
        g->depth--;
        indent(g);
        text_put(&g->text, "} else {\n");
        g->depth++;
    }
    g->depth--;
    indent(g);
    text_put(&g->text, "}\n");
    if (!results) return;
    indent(g);
    text_printf(&g->text, "%%%d: i32 = result #0\n", g->next);
    indent(g);
    text_printf(&g->text, "%%%d: f32 = result #1\n", g->next + 1);
    remember(&g->scope.i32, g->next);
    remember(&g->scope.f32, g->next + 1);
    g->next += 2;
}

static void emit_loop(Generator *g) {
    static const char *const bounds[] = {"0, 1, 1", "0, %n, 1", "1, 6, 2", "3, 3, 1", "%n, 9, 3"};
    Scope outer = g->scope;
    indent(g);
    text_printf(&g->text, "%%%d: i32 = loop %s {\n", g->next, bounds[roll(g, 5)]);
    int counter = g->next++, carried = g->next;
    g->depth++;
    for (unsigned i = 0; i < 2; i++) {
        indent(g);
        text_printf(&g->text, "%%%d: i32 = carry ", g->next++);
        operand(g, 'i');
        text_put(&g->text, "\n");
    }
    remember(&g->scope.i32, counter);
    remember(&g->scope.i32, carried);
    remember(&g->scope.i32, carried + 1);
    emit_compare(g, counter);
    emit_block(g, 1 + roll(g, 6));
    int digest = emit_digest(g, &outer);
    indent(g);
    text_printf(&g->text, "yield %%%d\n", digest);
    indent(g);
    text_put(&g->text, "yield ");
    operand(g, 'i');
    text_put(&g->text, "\n");
    g->depth--;
    indent(g);
    text_put(&g->text, "}\n");
    g->scope = outer;
    for (unsigned i = 0; i < 2; i++) {
        indent(g);
        text_printf(&g->text, "%%%d: i32 = result #%u\n", g->next, i);
        remember(&g->scope.i32, g->next++);
    }
}

static void emit_statement(Generator *g) {
    static const struct {
        const char *name, *signature;
    } ops[] = {
        {"iadd", "iii"},  {"isub", "iii"},  {"imul", "iii"},    {"smin", "iii"},
        {"smax", "iii"},  {"umin", "iii"},  {"umax", "iii"},    {"umulhi", "iii"},
        {"and", "iii"},   {"or", "iii"},    {"xor", "iii"},     {"not", "ii"},
        {"ieq", "bii"},   {"ine", "bii"},   {"slt", "bii"},     {"sle", "bii"},
        {"ult", "bii"},   {"ule", "bii"},   {"and", "bbb"},     {"or", "bbb"},
        {"xor", "bbb"},   {"not", "bb"},    {"select", "ibii"}, {"select", "fbff"},
        {"s_to_f", "fi"}, {"fadd", "fff"},  {"fsub", "fff"},    {"fneg", "ff"},
        {"fabs", "ff"},   {"floor", "ff"},  {"flt", "bff"},     {"fle", "bff"},
        {"fmul", "fff"},  {"f_to_s", "if"}, {"feq", "bff"},     {"round_even", "ff"},
    };
    uint32_t kind = roll(g, 20);
    if (g->budget-- <= 0) return;
    if (kind == 0 && g->depth < 3)
        emit_if(g);
    else if (kind == 1 && g->depth < 3)
        emit_loop(g);
    else if (kind == 2)
        emit_divide(g);
    else if (kind == 3)
        emit_shift(g);
    else if (kind == 4)
        emit_load(g);
    else if (kind <= 6)
        emit_store(g);
    else if (kind == 7 && g->depth == 0)
        emit_exchange(g);
    else {
        uint32_t op = roll(g, sizeof ops / sizeof *ops);
        emit(g, ops[op].name, ops[op].signature);
    }
}

static void emit_block(Generator *g, unsigned statements) {
    for (unsigned i = 0; i < statements; i++) emit_statement(g);
}

static Text generate(uint32_t seed) {
    Generator g = {.seed = seed, .budget = 120, .slot = 1}; // slot 0 is the digest's
    text_printf(&g.text,
                "kernel random(x: read i32, y: write i32, n: i32 in 1..=9, m: i32 in 0..=64 "
                "multiple 8) local(%d) subgroup(0) strict shared(t: i32[%d]) {\n",
                LOCAL, LOCAL);
    text_printf(&g.text,
                "    %%0: i32 = local_id\n    %%2: i32 = workgroup_id_x\n"
                "    %%3: i32 = imul %%2, %d\n    %%4: i32 = iadd %%3, %%0\n"
                "    %%1: i32 = imul %%4, %d\n",
                LOCAL, SLOTS);
    g.next = 5;
    remember(&g.scope.i32, 0);
    remember(&g.scope.i32, 4);
    Scope outer = g.scope;
    emit_block(&g, 60);
    int digest = emit_digest(&g, &outer);
    text_printf(&g.text, "    store %%y, %%1, %%%d as i32 align 4\n", digest);
    text_put(&g.text, "}\n");
    return g.text;
}

static Kernel *parse(Arena *arena, const Text *text) {
    Diags *diags = diags_create();
    Text errors = {0};
    size_t at = 0;
    FileId file = diags_add_file(diags, "random", text->data, text->len);
    Kernel *kernel = kernel_parse(arena, text->data, text->len, &at, file, diags);
    if (kernel != NULL) kernel_verify(kernel, diags);
    diags_render(diags, &errors);
    if (errors.data != NULL) assert_string_equal(errors.data, text->data);
    text_free(&errors);
    diags_destroy(diags);
    return kernel;
}

// The same program once more, through the builder.
typedef struct Rebuild {
    KBuilder *b;
    const Kernel *from;
    KVal *map;
} Rebuild;

static void take_yields(const Rebuild *r, KVal end, KVal *out, uint32_t *count) {
    KVal first = end;
    while (kernel_at(r->from, first - 1)->op == K_YIELD) first--;
    *count = end - first;
    for (uint32_t i = 0; i < *count; i++) out[i] = r->map[kernel_at(r->from, first + i)->arg[0]];
}

static void rebuild_flow(Rebuild *r, KVal v) {
    const KInstr *instr = kernel_at(r->from, v);
    KVal values[4], results[4] = {0};
    uint32_t count = 0;
    switch (instr->op) {
    case K_LOOP:
        while (kernel_at(r->from, v + 1 + count)->op == K_CARRY) {
            values[count] = r->map[kernel_at(r->from, v + 1 + count)->arg[0]];
            count++;
        }
        r->map[v] = k_loop_begin(r->b, r->map[instr->arg[0]], r->map[instr->arg[1]],
                                 r->map[instr->arg[2]], instr->flag, count, values, results);
        for (uint32_t i = 0; i < count; i++) r->map[v + 1 + i] = results[i];
        break;
    case K_IF: k_if_begin(r->b, r->map[instr->arg[0]]); break;
    case K_ELSE:
        take_yields(r, v, values, &count);
        k_else(r->b, count, values);
        break;
    default:
        take_yields(r, v, values, &count);
        if (instr->op == K_END_LOOP)
            k_loop_end(r->b, values, results);
        else
            k_if_end(r->b, count, values, results);
        for (uint32_t i = 0; i < count; i++) r->map[v + 1 + i] = results[i];
    }
}

static void rebuild_instr(Rebuild *r, KVal v) {
    const KInstr *instr = kernel_at(r->from, v);
    const KParam *param = instr->op == K_PARAM ? &r->from->params.at[instr->imm] : NULL;
    KVal x[4];
    for (unsigned i = 0; i < 4; i++) x[i] = r->map[instr->arg[i]];
    float f;
    uint32_t bits = (uint32_t)instr->imm;
    switch (instr->op) {
    case K_CONST:
        memcpy(&f, &bits, 4);
        r->map[v] = instr->type.kind == KT_F32    ? k_f32(r->b, f)
                    : instr->type.kind == KT_BOOL ? k_bool(r->b, bits)
                                                  : k_i32(r->b, (int32_t)bits);
        break;
    case K_PARAM:
        r->map[v] =
            param->kind == KP_BUFFER
                ? k_param_buffer(r->b, param->name, param->dtype, param->read ? K_READ : K_WRITE)
                : k_param_i32(r->b, param->name, param->lo, param->hi, param->multiple);
        break;
    case K_LOAD: r->map[v] = k_load(r->b, x[0], x[1], instr->mem, 1, instr->align); break;
    case K_STORE: k_store(r->b, x[0], x[1], instr->mem, instr->align, x[2]); break;
    case K_SHARED_LOAD: r->map[v] = k_shared_load(r->b, 0, x[0], instr->type); break;
    case K_SHARED_STORE: k_shared_store(r->b, 0, x[0], x[1]); break;
    case K_CARRY:
    case K_YIELD:
    case K_RESULT: break;
    case K_LOOP:
    case K_END_LOOP:
    case K_IF:
    case K_ELSE:
    case K_END_IF: rebuild_flow(r, v); break;
    default: r->map[v] = k_build(r->b, instr->op, x);
    }
}

static Kernel *rebuild(Arena *arena, const Kernel *kernel) {
    Rebuild r = {k_begin(arena, kernel->name, kernel->local_size), kernel, NULL};
    r.map = arena_alloc(arena, kernel->code.len * sizeof *r.map);
    k_set_strict(r.b, true);
    k_shared(r.b, "t", DT_I32, 1, LOCAL);
    for (KVal v = 1; v < kernel->code.len; v++) rebuild_instr(&r, v);
    return k_finish(r.b);
}

static void run(const Kernel *kernel, int32_t *x, int32_t *y, int n, int m, const char *text) {
    size_t bytes = sizeof *y * LOCAL * GROUPS * SLOTS;
    const KArg args[] = {{.buffer = {x, WORDS * 4, NULL}},
                         {.buffer = {y, bytes, NULL}},
                         {.scalar = n},
                         {.scalar = m}};
    KLaunch launch = {kernel, args, {GROUPS, 1, 1}, 4};
    KMachine *machine = kmachine_create(&launch);
    memset(y, 0xa5, bytes);
    kmachine_run(machine);
    if (kmachine_fault_count(machine) > 0)
        assert_string_equal(kmachine_fault(machine, 0)->message, text);
    kmachine_destroy(machine);
}

static void print_again(const Kernel *kernel, Text *out) {
    Arena *arena = arena_create();
    Text again = {0};
    kernel_print(kernel, out);
    Kernel *parsed = parse(arena, out);
    assert_non_null(parsed);
    kernel_print(parsed, &again);
    assert_string_equal(again.data, out->data);
    text_free(&again);
    arena_destroy(arena);
}

static void random_kernels_survive(void **state) {
    (void)state;
    static int32_t x[WORDS], y[LOCAL * GROUPS * SLOTS], z[LOCAL * GROUPS * SLOTS];
    uint32_t seed = 7, shorter = 0;
    for (int i = 0; i < WORDS; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = i % 3 == 0 ? (int32_t)seed : (int32_t)(seed >> 28) - 4;
    }
    for (uint32_t i = 0; i < KERNELS; i++) {
        Arena *arena = arena_create();
        Text source = generate(i * 977 + 1), raw = {0}, built = {0};
        Kernel *kernel = parse(arena, &source);
        assert_non_null(kernel);
        print_again(kernel, &raw);
        Kernel *other = rebuild(arena, kernel);
        print_again(other, &built);
        run(kernel, x, y, 1 + (int)(i % 9), (int)(i % 9) * 8, raw.data);
        run(other, x, z, 1 + (int)(i % 9), (int)(i % 9) * 8, built.data);
        if (memcmp(y, z, sizeof y) != 0) assert_string_equal(raw.data, built.data);
        shorter += other->code.len < kernel->code.len;
        text_free(&source);
        text_free(&raw);
        text_free(&built);
        arena_destroy(arena);
    }
    assert_true(shorter > KERNELS * 9 / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_kernels_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
