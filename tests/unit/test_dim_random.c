// Random expressions over small symbol ranges, every claim of the dim table checked at every point.
#include "ir/dim.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SYMBOLS = 3, ROUNDS = 400, EXPRESSIONS = 8, PROOFS = 60 };

static uint64_t random_state;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

// ---- the model: expression trees evaluated as the language says ----

typedef struct Tree {
    char op; // 'c' constant, 's' symbol, + - * / % m M
    int64_t value;
    struct Tree *a, *b;
} Tree;

static const char *const names[SYMBOLS] = {"A", "B", "C"};

static Tree *random_tree(Arena *arena, unsigned depth) {
    static const char ops[] = "++--**///%%mM";
    Tree *tree = arena_alloc(arena, sizeof *tree);
    if (depth == 0 || random_below(6) == 0) {
        tree->op = random_below(3) ? 's' : 'c';
        tree->value = tree->op == 's' ? random_below(SYMBOLS) : (int64_t)random_below(9) - 2;
        return tree;
    }
    tree->op = ops[random_below(sizeof ops - 1)];
    tree->a = random_tree(arena, depth - 1);
    tree->b = random_tree(arena, depth - 1);
    return tree;
}

static int64_t apply(char op, int64_t a, int64_t b) {
    int64_t quotient = 0;
    if (b) {
        quotient = a / b;
        if (quotient * b != a && (a < 0) != (b < 0)) quotient--;
    }
    switch (op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return quotient;
    case '%': return a - quotient * b;
    case 'm': return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static int64_t evaluate(const Tree *tree, const int64_t *symbols) {
    if (tree->op == 'c') return tree->value;
    if (tree->op == 's') return symbols[tree->value];
    return apply(tree->op, evaluate(tree->a, symbols), evaluate(tree->b, symbols));
}

// ---- the same through the table ----

static Dim build(DimTable *table, const Tree *tree) {
    if (tree->op == 'c') return dim_const(table, tree->value);
    if (tree->op == 's') return dim_find(table, names[tree->value]);
    Dim a = build(table, tree->a), b = build(table, tree->b);
    switch (tree->op) {
    case '+': return dim_add(table, a, b);
    case '-': return dim_sub(table, a, b);
    case '*': return dim_mul(table, a, b);
    case '/': return dim_floor_div(table, a, b);
    case '%': return dim_floor_mod(table, a, b);
    case 'm': return dim_min(table, a, b);
    default: return dim_max(table, a, b);
    }
}

// ---- points ----

typedef struct Space {
    int64_t lo[SYMBOLS], hi[SYMBOLS];
} Space;

static bool next_point(const Space *space, int64_t *point) {
    for (unsigned i = 0; i < SYMBOLS; i++) {
        if (++point[i] <= space->hi[i]) return true;
        point[i] = space->lo[i];
    }
    return false;
}

static DimTable *random_table(Arena *arena, Space *space) {
    DimTable *table = dim_table_create(arena);
    for (unsigned i = 0; i < SYMBOLS; i++) {
        space->lo[i] = random_below(8) ? random_below(4) : (int64_t)random_below(4) - 3;
        space->hi[i] = space->lo[i] + random_below(7);
        assert_int_not_equal(dim_symbol(table, names[i], space->lo[i], space->hi[i]), DIM_NONE);
    }
    return table;
}

// ---- printed text, read by the language's precedence ----

typedef struct Reader {
    const char *at;
    const int64_t *symbols;
} Reader;

static int64_t read_sum(Reader *reader);

static bool read_sign(Reader *reader, const char *sign) {
    while (*reader->at == ' ') reader->at++;
    size_t length = strlen(sign);
    if (strncmp(reader->at, sign, length) != 0) return false;
    reader->at += length;
    return true;
}

static int64_t read_unary(Reader *reader) {
    if (read_sign(reader, "-")) return -read_unary(reader);
    int64_t value;
    bool least = read_sign(reader, "minimum");
    if (least || read_sign(reader, "maximum")) {
        assert_true(read_sign(reader, "("));
        value = read_sum(reader);
        assert_true(read_sign(reader, ","));
        value = apply(least ? 'm' : 'M', value, read_sum(reader));
        assert_true(read_sign(reader, ")"));
        return value;
    }
    if (read_sign(reader, "(")) {
        value = read_sum(reader);
        assert_true(read_sign(reader, ")"));
        return value;
    }
    for (unsigned i = 0; i < SYMBOLS; i++)
        if (read_sign(reader, names[i])) return reader->symbols[i];
    char *end;
    value = strtoll(reader->at, &end, 10);
    assert_true(end > reader->at);
    reader->at = end;
    return value;
}

static int64_t read_product(Reader *reader) {
    int64_t value = read_unary(reader);
    for (;;) {
        if (read_sign(reader, "//"))
            value = apply('/', value, read_unary(reader));
        else if (read_sign(reader, "%"))
            value = apply('%', value, read_unary(reader));
        else if (read_sign(reader, "*"))
            value *= read_unary(reader);
        else
            return value;
    }
}

static int64_t read_sum(Reader *reader) {
    int64_t value = read_product(reader);
    for (;;) {
        if (read_sign(reader, "+"))
            value += read_product(reader);
        else if (read_sign(reader, "-"))
            value -= read_product(reader);
        else
            return value;
    }
}

// ---- postfix ----

typedef struct Machine {
    const int64_t *symbols;
    int64_t stack[256];
    unsigned depth;
} Machine;

static void step(void *user, DimOp op, int64_t value) {
    static const char ops[] = {
        [DIM_OP_ADD] = '+',       [DIM_OP_MUL] = '*', [DIM_OP_FLOOR_DIV] = '/',
        [DIM_OP_FLOOR_MOD] = '%', [DIM_OP_MIN] = 'm', [DIM_OP_MAX] = 'M'};
    Machine *machine = user;
    assert_true(machine->depth < 255);
    if (op == DIM_OP_CONST || op == DIM_OP_SYMBOL) {
        machine->stack[machine->depth++] = op == DIM_OP_CONST ? value : machine->symbols[value];
        return;
    }
    assert_true(machine->depth >= 2);
    machine->depth--;
    int64_t *top = &machine->stack[machine->depth - 1];
    *top = apply(ops[op], top[0], top[1]);
}

// ---- properties ----

static void check_expression(DimTable *table, const DimTable *other, Dim dim, Dim copy,
                             const Space *space, const Tree *tree) {
    int64_t point[SYMBOLS], value, turned[SYMBOLS];
    memcpy(point, space->lo, sizeof point);
    DimBounds bounds = dim_bounds(table, dim);
    int64_t multiple = dim_multiple(table, dim);
    Text text = {0};
    dim_print(table, dim, &text);
    do {
        int64_t expected = evaluate(tree, point);
        assert_true(dim_eval(table, dim, point, &value));
        assert_int_equal(value, expected);
        assert_in_range(value - bounds.lo, 0, (uint64_t)(bounds.hi - bounds.lo));
        assert_int_equal(multiple ? value % multiple : value, 0);
        Reader reader = {text.data, point};
        assert_int_equal(read_sum(&reader), expected);
        assert_int_equal(*reader.at, 0);
        Machine machine = {.symbols = point};
        dim_visit(table, dim, step, &machine);
        assert_int_equal(machine.depth, 1);
        assert_int_equal(machine.stack[0], expected);
        for (unsigned i = 0; i < SYMBOLS; i++) turned[i] = point[SYMBOLS - 1 - i];
        assert_true(dim_eval(other, copy, turned, &value));
        assert_int_equal(value, expected);
    } while (next_point(space, point));
    text_free(&text);
}

static void expressions_keep_their_value(void **state) {
    (void)state;
    random_state = 1;
    unsigned checked = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        Arena *arena = arena_create();
        Space space;
        DimTable *table = random_table(arena, &space), *other = dim_table_create(arena);
        for (unsigned i = SYMBOLS; i-- > 0;) dim_symbol(other, names[i], space.lo[i], space.hi[i]);
        for (unsigned i = 0; i < EXPRESSIONS; i++) {
            Tree *tree = random_tree(arena, 1 + random_below(5));
            Dim dim = build(table, tree);
            if (dim == DIM_NONE) continue; // too many terms
            Dim copy = dim_import(other, table, dim);
            assert_int_not_equal(copy, DIM_NONE);
            assert_int_equal(dim_import(table, other, copy), dim);
            check_expression(table, other, dim, copy, &space, tree);
            checked++;
        }
        arena_destroy(arena);
    }
    assert_true(checked > ROUNDS * EXPRESSIONS * 9 / 10);
}

static bool holds(DimRelation relation, int64_t a, int64_t b) {
    switch (relation) {
    case DIM_EQ: return a == b;
    case DIM_NE: return a != b;
    case DIM_LT: return a < b;
    case DIM_LE: return a <= b;
    case DIM_GT: return a > b;
    default: return a >= b;
    }
}

typedef struct Fact {
    Tree *a, *b;
    DimRelation relation;
} Fact;

typedef struct Facts {
    Fact fact[3];
    unsigned count;
} Facts;

static bool facts_hold(const Facts *facts, const int64_t *point) {
    for (unsigned i = 0; i < facts->count; i++) {
        const Fact *fact = &facts->fact[i];
        if (!holds(fact->relation, evaluate(fact->a, point), evaluate(fact->b, point)))
            return false;
    }
    return true;
}

// What is true at the points where all facts hold.
static Proof truth(const Space *space, const Facts *facts, const Tree *a, DimRelation relation,
                   const Tree *b) {
    int64_t point[SYMBOLS];
    memcpy(point, space->lo, sizeof point);
    bool ever = false, always = true;
    do {
        if (!facts_hold(facts, point)) continue;
        bool here = holds(relation, evaluate(a, point), evaluate(b, point));
        ever |= here;
        always &= here;
    } while (next_point(space, point));
    return always ? PROOF_YES : ever ? PROOF_UNKNOWN : PROOF_NO;
}

static bool any_point(const Space *space, const Facts *facts) {
    int64_t point[SYMBOLS];
    memcpy(point, space->lo, sizeof point);
    do {
        if (facts_hold(facts, point)) return true;
    } while (next_point(space, point));
    return false;
}

static void assume_random(Arena *arena, DimTable *table, const Space *space, Facts *facts) {
    unsigned wanted = random_below(4);
    while (facts->count < wanted) {
        Fact *fact = &facts->fact[facts->count];
        fact->a = random_tree(arena, 1 + random_below(2));
        fact->b = random_tree(arena, random_below(2));
        fact->relation = (DimRelation)random_below(6);
        if (random_below(4) == 0) { // a rest modulo a constant
            fact->relation = DIM_EQ;
            fact->a->op = '%';
            fact->a->a = random_tree(arena, random_below(2));
            fact->a->b = arena_alloc(arena, sizeof(Tree));
            *fact->a->b = (Tree){.op = 'c', .value = 2 + random_below(3)};
            *fact->b = (Tree){.op = 'c', .value = random_below(2)};
        }
        facts->count++;
        if (!any_point(space, facts)) { // from a contradiction anything follows
            facts->count--;
            wanted--;
            continue;
        }
        dim_assume(table, build(table, fact->a), fact->relation, build(table, fact->b));
    }
}

static void check_division(DimTable *table, const Space *space, const Facts *facts, const Tree *a,
                           const Tree *b) {
    Dim dim = build(table, a), divisor = build(table, b), quotient = DIM_NONE;
    int64_t k = 2 + random_below(7), point[SYMBOLS], value;
    bool divides = dim_divides(table, k, dim);
    bool exact = dim_exact_div(table, dim, divisor, &quotient);
    int64_t multiple = dim_multiple(table, dim);
    memcpy(point, space->lo, sizeof point);
    do {
        if (!facts_hold(facts, point)) continue;
        int64_t expected = evaluate(a, point);
        if (divides) assert_int_equal(expected % k, 0);
        if (dim != DIM_NONE) assert_int_equal(multiple ? expected % multiple : expected, 0);
        if (!exact) continue;
        assert_true(dim_eval(table, quotient, point, &value));
        assert_int_equal(value * evaluate(b, point), expected);
    } while (next_point(space, point));
}

static void proofs_hold_at_every_point(void **state) {
    (void)state;
    random_state = 2;
    unsigned decided = 0, decidable = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        Arena *arena = arena_create();
        Space space;
        Facts facts = {0};
        DimTable *table = random_table(arena, &space);
        assume_random(arena, table, &space, &facts);
        for (unsigned i = 0; i < PROOFS; i++) {
            Tree *a = random_tree(arena, random_below(4)), *b = random_tree(arena, random_below(3));
            DimRelation relation = (DimRelation)random_below(6);
            Dim x = build(table, a), y = build(table, b);
            Proof proof = dim_prove(table, x, relation, y);
            Proof expected = truth(&space, &facts, a, relation, b);
            if (proof != PROOF_UNKNOWN) assert_int_equal(proof, expected);
            decided += proof != PROOF_UNKNOWN;
            decidable += expected != PROOF_UNKNOWN;
            check_division(table, &space, &facts, a, b);
        }
        arena_destroy(arena);
    }
    // The prover is incomplete, but not by much on such small claims.
    print_message("%u of %u decided\n", decided, decidable);
    assert_true(decided >= decidable * 0.85);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_keep_their_value),
        cmocka_unit_test(proofs_hold_at_every_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
