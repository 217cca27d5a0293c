// Divisors: of an expression by itself, and with the help of assumed facts.
#include "ir/dim_table.h"

enum { CONGRUENCE_DEPTH = 3 };

// ---- known multiples ----

static int64_t atom_multiple(const DimTable *table, uint32_t id) {
    const Atom *atom = &table->atoms.at[id];
    if (atom->op == DIM_OP_SYMBOL) return table->symbol[atom->symbol].multiple;
    if (atom->op == DIM_OP_FLOOR_DIV) return 1;
    // Remainder, minimum and maximum are sums of multiples of their operands.
    return gcd64(dim_multiple(table, atom->a), dim_multiple(table, atom->b));
}

static int64_t term_multiple(const DimTable *table, Term term) {
    const Mono *mono = &table->monos.at[term.mono];
    int64_t multiple = term.coef < 0 ? -term.coef : term.coef;
    for (uint32_t i = 0; i < mono->degree; i++) {
        int64_t product;
        if (checked_mul(multiple, atom_multiple(table, mono->atom[i]), &product))
            multiple = product;
    }
    return multiple;
}

int64_t poly_multiple(const DimTable *table, const Poly *poly, bool with_constant) {
    int64_t gcd = 0;
    for (uint32_t i = 0; i < poly->count; i++)
        if (with_constant || poly->term[i].mono != 0)
            gcd = gcd64(gcd, term_multiple(table, poly->term[i]));
    return gcd;
}

int64_t dim_multiple(const DimTable *table, Dim dim) {
    if (!dim_known(table, dim)) return 1;
    Poly poly;
    poly_of(table, dim, &poly);
    return poly_multiple(table, &poly, true);
}

// ---- facts ----

// The fact scale * (x % m) + constant == 0 says that x is a known rest modulo m.
static bool assume_rest(DimTable *table, Dim fact) {
    Poly poly, x;
    poly_of(table, fact, &poly);
    if (poly.count == 0 || poly.count > 2 || (poly.count == 2 && poly.term[1].mono != 0))
        return false;
    const Mono *mono = &table->monos.at[poly.term[0].mono];
    if (mono->degree != 1) return false;
    const Atom atom = table->atoms.at[mono->atom[0]];
    int64_t modulus, scale = poly.term[0].coef, constant = poly_constant_of(&poly);
    if (atom.op != DIM_OP_FLOOR_MOD || !dim_is_const(table, atom.b, &modulus) || modulus < 1 ||
        constant % scale != 0)
        return false;
    poly_of(table, atom.a, &x);
    if (!poly_add_term(table, &x, constant / scale, 0)) return false;
    Dim rest = poly_intern(table, &x);
    if (rest == DIM_NONE) return false;
    vec_push(table->arena, &table->congruent, (Congruence){rest, modulus});
    for (uint32_t i = 0; i < table->symbols; i++) {
        Symbol *symbol = &table->symbol[i];
        int64_t least;
        if (symbol->dim == rest &&
            checked_mul(symbol->multiple / gcd64(symbol->multiple, modulus), modulus, &least))
            symbol->multiple = least;
    }
    return true;
}

void dim_assume_zero(DimTable *table, Dim x) {
    assume_rest(table, x);
    vec_push(table->arena, &table->congruent, (Congruence){x, 0});
}

// ---- proofs ----

static bool reduce_modulo(DimTable *table, const Poly *poly, int64_t k, Poly *out) {
    out->count = 0;
    for (uint32_t i = 0; i < poly->count; i++) {
        Term term = poly->term[i];
        if (term_multiple(table, term) % k == 0) continue;
        if (!poly_add_term(table, out, floor_mod(term.coef, k), term.mono)) return false;
    }
    return true;
}

// c * (x % m) is c * x modulo k if k divides c * m.
static bool open_rest(DimTable *table, const Poly *poly, int64_t k, Poly *out) {
    for (uint32_t i = 0; i < poly->count; i++) {
        const Mono *mono = &table->monos.at[poly->term[i].mono];
        for (uint32_t j = 0; j < mono->degree; j++) {
            const Atom atom = table->atoms.at[mono->atom[j]];
            int64_t modulus;
            if (atom.op != DIM_OP_FLOOR_MOD || !dim_is_const(table, atom.b, &modulus) ||
                !checked_mul(modulus, poly->term[i].coef, &modulus) || modulus % k != 0)
                continue;
            Poly x;
            poly_of(table, atom.a, &x);
            // The other terms with this atom must allow the same, so only a sole use is opened.
            uint32_t uses = 0;
            for (uint32_t u = 0; u < poly->count; u++)
                uses += mono_degree_of(table, poly->term[u].mono, mono->atom[j]);
            if (uses == 1 && poly_replace(table, poly, mono->atom[j], &x, out)) return true;
        }
    }
    return false;
}

static bool divides(DimTable *table, const Poly *poly, int64_t k, unsigned depth) {
    Poly rest, next;
    if (!reduce_modulo(table, poly, k, &rest)) return false;
    if (rest.count == 0) return true;
    if (depth == 0) return false;
    if (open_rest(table, &rest, k, &next) && divides(table, &next, k, depth - 1)) return true;
    for (uint32_t f = 0; f < table->congruent.len; f++) {
        const Congruence fact = table->congruent.at[f];
        Poly x, part;
        poly_of(table, fact.x, &x);
        for (uint32_t i = 0; i < rest.count; i++)
            for (uint32_t j = 0; j < x.count; j++) {
                uint32_t mono;
                int64_t scale = rest.term[i].coef / x.term[j].coef, reach;
                if (x.term[j].mono == 0 || rest.term[i].coef % x.term[j].coef != 0 ||
                    !mono_divide(table, rest.term[i].mono, x.term[j].mono, &mono) ||
                    !checked_mul(scale, fact.modulus, &reach) || reach % k != 0)
                    continue;
                next = rest;
                if (poly_mul_term(table, &x, -scale, mono, &part) &&
                    poly_add_scaled(table, &next, &part, 1) && divides(table, &next, k, depth - 1))
                    return true;
            }
    }
    return false;
}

bool dim_divides(DimTable *table, int64_t k, Dim dim) {
    if (!dim_known(table, dim) || k == INT64_MIN) return false;
    if (k == 0) return dim_is(table, dim, 0);
    Poly poly;
    poly_of(table, dim, &poly);
    return divides(table, &poly, k < 0 ? -k : k, CONGRUENCE_DEPTH);
}

// ---- exact division ----

static Dim replace_symbol(DimTable *table, Dim dim, uint32_t symbol, Dim by);

static Dim replace_in_atom(DimTable *table, uint32_t id, uint32_t symbol, Dim by) {
    const Atom atom = table->atoms.at[id];
    if (atom.op == DIM_OP_SYMBOL)
        return atom.symbol == symbol ? by : table->symbol[atom.symbol].dim;
    Dim a = replace_symbol(table, atom.a, symbol, by),
        b = replace_symbol(table, atom.b, symbol, by);
    switch (atom.op) {
    case DIM_OP_FLOOR_DIV: return dim_floor_div(table, a, b);
    case DIM_OP_FLOOR_MOD: return dim_floor_mod(table, a, b);
    case DIM_OP_MIN: return dim_min(table, a, b);
    default: return dim_max(table, a, b);
    }
}

static Dim replace_symbol(DimTable *table, Dim dim, uint32_t symbol, Dim by) {
    if (!(dim_symbols(table, dim) >> symbol & 1)) return dim;
    Poly poly;
    poly_of(table, dim, &poly);
    Dim sum = dim_const(table, 0);
    for (uint32_t i = 0; i < poly.count; i++) {
        Dim product = dim_const(table, poly.term[i].coef);
        for (uint32_t j = 0; j < table->monos.at[poly.term[i].mono].degree; j++) {
            uint32_t atom = table->monos.at[poly.term[i].mono].atom[j];
            product = dim_mul(table, product, replace_in_atom(table, atom, symbol, by));
        }
        sum = dim_add(table, sum, product);
    }
    return sum;
}

// Writes symbols by what facts say of them: N as (N // 4) * 4 where 4 divides N, and a symbol that
// an equation gives by the others as that.
static Dim apply_equations(DimTable *table, Dim dim) {
    for (uint32_t f = 0; f < table->congruent.len; f++) {
        Congruence fact = table->congruent.at[f];
        Poly x;
        poly_of(table, fact.x, &x);
        for (uint32_t i = 0; i < x.count; i++) {
            const Mono *mono = &table->monos.at[x.term[i].mono];
            int64_t coef = x.term[i].coef;
            if (mono->degree != 1 || (coef != 1 && coef != -1)) continue;
            const Atom atom = table->atoms.at[mono->atom[0]];
            if (atom.op != DIM_OP_SYMBOL) continue;
            Poly rest = {0};
            Dim symbol = table->symbol[atom.symbol].dim, by;
            if (fact.modulus) {
                if (fact.x != symbol) continue;
                Dim unit = dim_const(table, fact.modulus);
                by = dim_mul(table, dim_floor_div(table, symbol, unit), unit);
            } else {
                if (!poly_add_scaled(table, &rest, &x, -coef) ||
                    !poly_add_term(table, &rest, 1, x.term[i].mono))
                    continue;
                by = poly_intern(table, &rest);
                if (dim_symbols(table, by) >> atom.symbol & 1) continue;
            }
            Dim replaced = replace_symbol(table, dim, atom.symbol, by);
            if (replaced != DIM_NONE) dim = replaced;
            break;
        }
    }
    return dim;
}

static bool divide_polys(DimTable *table, Dim dim, Dim divisor, Dim *quotient) {
    Poly a, b, result;
    poly_of(table, dim, &a);
    poly_of(table, divisor, &b);
    if (!poly_divide(table, &a, &b, &result)) return false;
    *quotient = poly_intern(table, &result);
    return *quotient != DIM_NONE;
}

bool dim_exact_div(DimTable *table, Dim dim, Dim divisor, Dim *quotient) {
    if (!dim_known(table, dim) || !dim_known(table, divisor)) return false;
    if (dim_is(table, dim, 0)) {
        *quotient = dim;
        return true;
    }
    if (divide_polys(table, dim, divisor, quotient)) return true;
    int64_t constant;
    if (dim_is_const(table, divisor, &constant)) {
        if (constant == 0 || !dim_divides(table, constant, dim)) return false;
        *quotient = dim_floor_div(table, dim, divisor);
        return *quotient != DIM_NONE;
    }
    if (table->congruent.len == 0) return false;
    Dim a = apply_equations(table, dim), b = apply_equations(table, divisor);
    if ((a != dim || b != divisor) && divide_polys(table, a, b, quotient)) return true;
    Dim rest = dim_floor_mod(table, dim, divisor);
    if (!dim_proved(table, rest, DIM_EQ, dim_const(table, 0))) return false;
    *quotient = dim_floor_div(table, dim, divisor);
    return *quotient != DIM_NONE;
}
