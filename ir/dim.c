// The table of dims: interning, symbols, look-up, evaluation, import.
#include "ir/dim_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

DimTable *dim_table_create(Arena *arena) {
    DimTable *table = arena_alloc(arena, sizeof *table);
    table->arena = arena;
    vec_push(arena, &table->exprs, (Expr){0});
    mono_make(table, NULL, 0);
    return table;
}

Arena *dim_arena(const DimTable *table) {
    return table->arena;
}

// ---- interning ----

typedef bool SameAs(const DimTable *table, uint32_t id, const void *key);

// Id of an equal item, or UINT32_MAX after reserving the slot for `next`.
static uint32_t interned(DimTable *table, Interned *ids, uint64_t hash, SameAs *same,
                         const void *key, uint32_t next) {
    if (ids->count * 2 >= ids->cap) {
        Interned grown = {.cap = ids->cap ? ids->cap * 2 : 64, .count = ids->count};
        grown.slot = arena_alloc(table->arena, grown.cap * sizeof *grown.slot);
        for (uint32_t i = 0; i < ids->cap; i++) {
            if (!ids->slot[i].id_plus_one) continue;
            uint32_t at = (uint32_t)ids->slot[i].hash & (grown.cap - 1);
            while (grown.slot[at].id_plus_one) at = (at + 1) & (grown.cap - 1);
            grown.slot[at] = ids->slot[i];
        }
        *ids = grown;
    }
    uint32_t at = (uint32_t)hash & (ids->cap - 1);
    for (; ids->slot[at].id_plus_one; at = (at + 1) & (ids->cap - 1))
        if (ids->slot[at].hash == hash && same(table, ids->slot[at].id_plus_one - 1, key))
            return ids->slot[at].id_plus_one - 1;
    ids->slot[at] = (InternSlot){hash, next + 1};
    ids->count++;
    return UINT32_MAX;
}

static bool same_atom(const DimTable *table, uint32_t id, const void *key) {
    const Atom *a = &table->atoms.at[id], *b = key;
    return a->op == b->op && a->symbol == b->symbol && a->a == b->a && a->b == b->b;
}

static uint32_t atom_intern(DimTable *table, const Atom *atom) {
    uint32_t key[4] = {atom->op, atom->symbol, atom->a, atom->b};
    uint64_t hash = hash_bytes(1, key, sizeof key);
    uint32_t next = table->atoms.len;
    uint32_t found = interned(table, &table->atom_ids, hash, same_atom, atom, next);
    if (found != UINT32_MAX) return found;
    vec_push(table->arena, &table->atoms, *atom);
    return next;
}

static Range expr_range(const DimTable *table, Dim dim) {
    DimBounds bounds = table->exprs.at[dim].bounds;
    return range_of(bounds.lo, bounds.hi);
}

uint32_t atom_make(DimTable *table, DimOp op, Dim a, Dim b) {
    const Expr *x = &table->exprs.at[a], *y = &table->exprs.at[b];
    if (x->weight + y->weight + 1 > DIM_WEIGHT_MAX) return UINT32_MAX;
    Atom atom = {.op = op,
                 .a = a,
                 .b = b,
                 .symbols = x->symbols | y->symbols,
                 .weight = x->weight + y->weight + 1};
    Range p = expr_range(table, a), q = expr_range(table, b);
    bool least = op == DIM_OP_MIN;
    switch (op) {
    case DIM_OP_FLOOR_DIV: atom.range = range_floor_div(p, q); break;
    case DIM_OP_FLOOR_MOD: atom.range = range_floor_mod(p, q); break;
    default:
        atom.range =
            range_of((p.lo < q.lo) == least ? p.lo : q.lo, (p.hi < q.hi) == least ? p.hi : q.hi);
        break;
    }
    return atom_intern(table, &atom);
}

typedef struct MonoKey {
    const uint32_t *atom;
    uint32_t degree;
} MonoKey;

static bool same_mono(const DimTable *table, uint32_t id, const void *key) {
    const Mono *a = &table->monos.at[id];
    const MonoKey *b = key;
    return a->degree == b->degree &&
           (a->degree == 0 || memcmp(a->atom, b->atom, a->degree * sizeof *a->atom) == 0);
}

uint32_t mono_make(DimTable *table, const uint32_t *atoms, uint32_t count) {
    if (count > MONO_ATOMS_MAX) return MONO_NONE;
    uint32_t sorted[MONO_ATOMS_MAX] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at > 0 && atom_compare(table, sorted[at - 1], atoms[i]) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = atoms[i];
    }
    MonoKey key = {sorted, count};
    uint64_t hash = hash_bytes(2, sorted, count * sizeof *sorted);
    uint32_t next = table->monos.len;
    uint32_t found = interned(table, &table->mono_ids, hash, same_mono, &key, next);
    if (found != UINT32_MAX) return found;
    uint32_t *copy = arena_alloc(table->arena, count * sizeof *copy);
    if (count) memcpy(copy, sorted, count * sizeof *copy);
    Mono mono = {.atom = copy, .degree = count, .range = range_of(1, 1)};
    for (uint32_t i = 0, power; i < count; i += power) {
        power = 1;
        while (i + power < count && sorted[i + power] == sorted[i]) power++;
        mono.range = range_mul(mono.range, range_power(table->atoms.at[sorted[i]].range, power));
    }
    vec_push(table->arena, &table->monos, mono);
    return next;
}

uint32_t mono_mul(DimTable *table, uint32_t a, uint32_t b) {
    if (a == 0) return b;
    if (b == 0) return a;
    const Mono *x = &table->monos.at[a], *y = &table->monos.at[b];
    if (x->degree + y->degree > MONO_ATOMS_MAX) return MONO_NONE;
    uint32_t atoms[MONO_ATOMS_MAX];
    memcpy(atoms, x->atom, x->degree * sizeof *atoms);
    memcpy(atoms + x->degree, y->atom, y->degree * sizeof *atoms);
    return mono_make(table, atoms, x->degree + y->degree);
}

bool mono_divide(DimTable *table, uint32_t a, uint32_t b, uint32_t *quotient) {
    const Mono *x = &table->monos.at[a], *y = &table->monos.at[b];
    uint32_t rest[MONO_ATOMS_MAX], count = 0, next = 0;
    for (uint32_t i = 0; i < x->degree; i++) {
        if (next < y->degree && x->atom[i] == y->atom[next])
            next++;
        else
            rest[count++] = x->atom[i];
    }
    if (next < y->degree) return false;
    *quotient = mono_make(table, rest, count);
    return true;
}

uint32_t mono_degree_of(const DimTable *table, uint32_t mono, uint32_t atom) {
    const Mono *m = &table->monos.at[mono];
    uint32_t degree = 0;
    for (uint32_t i = 0; i < m->degree; i++) degree += m->atom[i] == atom;
    return degree;
}

typedef struct ExprKey {
    const Term *term;
    uint32_t count;
} ExprKey;

static bool same_expr(const DimTable *table, uint32_t id, const void *key) {
    const Expr *a = &table->exprs.at[id];
    const ExprKey *b = key;
    if (id == DIM_NONE || a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->term[i].coef != b->term[i].coef || a->term[i].mono != b->term[i].mono) return false;
    return true;
}

Dim expr_make(DimTable *table, const Term *term, uint32_t count, bool *fresh) {
    ExprKey key = {term, count};
    uint64_t hash = 3;
    for (uint32_t i = 0; i < count; i++) {
        hash = hash_word(hash, (uint64_t)term[i].coef);
        hash = hash_word(hash, term[i].mono);
    }
    uint32_t next = table->exprs.len;
    uint32_t found = interned(table, &table->expr_ids, hash, same_expr, &key, next);
    *fresh = found == UINT32_MAX;
    if (!*fresh) return found;
    Expr expr = {.count = count, .weight = 1};
    for (uint32_t i = 0; i < count; i++) {
        const Mono *mono = &table->monos.at[term[i].mono];
        expr.weight += 1;
        for (uint32_t j = 0; j < mono->degree; j++) {
            const Atom *atom = &table->atoms.at[mono->atom[j]];
            expr.symbols |= atom->symbols;
            expr.weight += atom->weight;
        }
    }
    Term *copy = arena_alloc(table->arena, count * sizeof *copy);
    if (count) memcpy(copy, term, count * sizeof *copy);
    expr.term = copy;
    vec_push(table->arena, &table->exprs, expr);
    return next;
}

// ---- order by structure ----

int atom_compare(const DimTable *table, uint32_t a, uint32_t b) {
    if (a == b) return 0;
    const Atom *x = &table->atoms.at[a], *y = &table->atoms.at[b];
    if (x->op != y->op) return x->op < y->op ? -1 : 1;
    if (x->op == DIM_OP_SYMBOL) return x->symbol < y->symbol ? -1 : 1;
    int first = dim_compare(table, x->a, y->a);
    return first ? first : dim_compare(table, x->b, y->b);
}

// Higher degree first, then the first atom that differs: a monomial order, as division needs it.
int mono_compare(const DimTable *table, uint32_t a, uint32_t b) {
    if (a == b) return 0;
    const Mono *x = &table->monos.at[a], *y = &table->monos.at[b];
    if (x->degree != y->degree) return x->degree > y->degree ? -1 : 1;
    for (uint32_t i = 0; i < x->degree; i++) {
        int order = atom_compare(table, x->atom[i], y->atom[i]);
        if (order) return order;
    }
    return 0;
}

int dim_compare(const DimTable *table, Dim a, Dim b) {
    if (a == b) return 0;
    const Expr *x = &table->exprs.at[a], *y = &table->exprs.at[b];
    for (uint32_t i = 0; i < x->count && i < y->count; i++) {
        int order = mono_compare(table, x->term[i].mono, y->term[i].mono);
        if (order) return order;
        if (x->term[i].coef != y->term[i].coef) return x->term[i].coef < y->term[i].coef ? -1 : 1;
    }
    return x->count > y->count ? -1 : 1; // as monos: what is less constant first
}

// ---- symbols ----

Dim dim_symbol(DimTable *table, const char *name, int64_t lo, int64_t hi) {
    if (lo > hi || lo == INT64_MIN || table->symbols == SYMBOLS_MAX || dim_find(table, name))
        return DIM_NONE;
    uint32_t number = table->symbols++;
    Atom atom = {.op = DIM_OP_SYMBOL,
                 .symbol = number,
                 .range = range_of(lo, hi),
                 .symbols = UINT64_C(1) << number,
                 .weight = 1};
    uint32_t id = atom_intern(table, &atom);
    Poly poly;
    poly_atom(table, id, &poly);
    Dim dim = poly_intern(table, &poly);
    table->symbol[number] = (Symbol){arena_strdup(table->arena, name), DIM_FROM_HOST, 1, dim};
    dim_forget_samples(table);
    return dim;
}

Dim dim_find(const DimTable *table, const char *name) {
    for (uint32_t i = 0; i < table->symbols; i++)
        if (strcmp(table->symbol[i].name, name) == 0) return table->symbol[i].dim;
    return DIM_NONE;
}

uint32_t dim_symbol_count(const DimTable *table) {
    return table->symbols;
}

Dim dim_symbol_at(const DimTable *table, uint32_t index) {
    assert(index < table->symbols);
    return table->symbol[index].dim;
}

const char *dim_symbol_name(const DimTable *table, uint32_t index) {
    assert(index < table->symbols);
    return table->symbol[index].name;
}

DimSource dim_symbol_source(const DimTable *table, uint32_t index) {
    assert(index < table->symbols);
    return table->symbol[index].source;
}

void dim_set_source(DimTable *table, uint32_t index, DimSource source) {
    assert(index < table->symbols);
    table->symbol[index].source = source;
}

// ---- look-up ----

bool dim_is_const(const DimTable *table, Dim dim, int64_t *value) {
    if (!dim_known(table, dim)) return false;
    const Expr *expr = &table->exprs.at[dim];
    if (expr->count > 1 || (expr->count == 1 && expr->term[0].mono != 0)) return false;
    if (value) *value = expr->count ? expr->term[0].coef : 0;
    return true;
}

bool dim_is(const DimTable *table, Dim dim, int64_t value) {
    int64_t is;
    return dim_is_const(table, dim, &is) && is == value;
}

DimBounds dim_bounds(const DimTable *table, Dim dim) {
    if (!dim_known(table, dim)) return (DimBounds){INT64_MIN, INT64_MAX};
    return table->exprs.at[dim].bounds;
}

uint64_t dim_symbols(const DimTable *table, Dim dim) {
    return dim_known(table, dim) ? table->exprs.at[dim].symbols : 0;
}

// ---- evaluation ----

bool dim_op_eval(DimOp op, int64_t a, int64_t b, int64_t *value) {
    switch (op) {
    case DIM_OP_FLOOR_DIV:
        if (b == -1 && a == INT64_MIN) return false;
        *value = b == 0 ? 0 : floor_div(a, b);
        return true;
    case DIM_OP_FLOOR_MOD: *value = b == 0 ? a : floor_mod(a, b); return true;
    case DIM_OP_MIN: *value = a < b ? a : b; return true;
    default: *value = a > b ? a : b; return true;
    }
}

static bool atom_eval(const DimTable *table, uint32_t id, const int64_t *symbols, int64_t *value) {
    const Atom *atom = &table->atoms.at[id];
    if (atom->op == DIM_OP_SYMBOL) {
        *value = symbols[atom->symbol];
        return true;
    }
    int64_t a, b;
    return dim_eval(table, atom->a, symbols, &a) && dim_eval(table, atom->b, symbols, &b) &&
           dim_op_eval(atom->op, a, b, value);
}

static bool mono_eval(const DimTable *table, uint32_t id, const int64_t *symbols, int64_t *value) {
    const Mono *mono = &table->monos.at[id];
    *value = 1;
    for (uint32_t i = 0; i < mono->degree; i++) {
        int64_t factor;
        if (!atom_eval(table, mono->atom[i], symbols, &factor) ||
            !checked_mul(*value, factor, value))
            return false;
    }
    return true;
}

bool dim_eval(const DimTable *table, Dim dim, const int64_t *symbols, int64_t *value) {
    if (!dim_known(table, dim)) return false;
    const Expr *expr = &table->exprs.at[dim];
    *value = 0;
    for (uint32_t i = 0; i < expr->count; i++) {
        int64_t product;
        if (!mono_eval(table, expr->term[i].mono, symbols, &product) ||
            !checked_mul(product, expr->term[i].coef, &product) ||
            !checked_add(*value, product, value))
            return false;
    }
    return true;
}

// ---- import ----

static Dim import_atom(DimTable *to, const DimTable *from, uint32_t id) {
    const Atom *atom = &from->atoms.at[id];
    if (atom->op == DIM_OP_SYMBOL) {
        const Symbol *symbol = &from->symbol[atom->symbol];
        Dim found = dim_find(to, symbol->name);
        if (found != DIM_NONE) return found;
        found = dim_symbol(to, symbol->name, atom->range.lo, atom->range.hi);
        if (found != DIM_NONE) dim_set_source(to, to->symbols - 1, symbol->source);
        return found;
    }
    Dim a = dim_import(to, from, atom->a), b = dim_import(to, from, atom->b);
    switch (atom->op) {
    case DIM_OP_FLOOR_DIV: return dim_floor_div(to, a, b);
    case DIM_OP_FLOOR_MOD: return dim_floor_mod(to, a, b);
    case DIM_OP_MIN: return dim_min(to, a, b);
    default: return dim_max(to, a, b);
    }
}

Dim dim_import(DimTable *to, const DimTable *from, Dim dim) {
    if (!dim_known(from, dim)) return DIM_NONE;
    Dim sum = dim_const(to, 0);
    for (uint32_t i = 0; i < from->exprs.at[dim].count; i++) {
        Term term = from->exprs.at[dim].term[i];
        Dim product = dim_const(to, term.coef);
        for (uint32_t j = 0; j < from->monos.at[term.mono].degree; j++)
            product =
                dim_mul(to, product, import_atom(to, from, from->monos.at[term.mono].atom[j]));
        sum = dim_add(to, sum, product);
    }
    return sum;
}
