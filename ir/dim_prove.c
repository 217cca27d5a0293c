// The prover: shows a - b >= 0 by bounds, by replacing divisions, remainders, minima and maxima by
// what bounds them, and by subtracting multiples of assumed facts; a search of small depth.
//
// Every step replaces the goal by one that implies it, so a search that ends early is only
// incomplete. Goals are integers: s * e >= 0 follows from s * e + s - 1 >= 0, and so do the gaps
// that known divisors leave.
#include "ir/dim_table.h"

#include <string.h>

enum { PROVE_DEPTH = 5, PROVE_BUDGET = 600, COMPOUNDS_MAX = 8, CASES_MAX = 4 };

typedef struct Prover {
    DimTable *table;
    int budget;
    uint32_t cases; // hypotheses of the cases of a minimum or maximum
    Poly hypothesis[CASES_MAX];
    uint32_t valid; // bit per sample point that satisfies the hypotheses
} Prover;

static bool refuted(const Prover *prover, const Poly *goal) {
    for (uint32_t i = 0; i < prover->table->samples; i++) {
        int64_t value;
        if (prover->valid >> i & 1 && sample_poly(prover->table, goal, i, &value) && value < 0)
            return true;
    }
    return false;
}

// ---- search ----

static bool prove(Prover *prover, const Poly *claim, unsigned depth);

// The weakest goal of the same truth, divided by its common factor: x + c >= 0 where g divides x
// holds if x + g * (c // g) + g - 1 >= 0.
static bool weaken(DimTable *table, Poly *goal) {
    int64_t step = poly_multiple(table, goal, false), constant = poly_constant_of(goal);
    if (step > 1) {
        int64_t gap = step - 1 - floor_mod(constant, step);
        if (!poly_add_term(table, goal, gap, 0)) return false;
        poly_scale_down(goal, poly_coef_gcd(goal));
    }
    return true;
}

// Goal scale * e >= 0 with out <= scale * e.
static bool prove_scaled(Prover *prover, Poly *out, const Poly *scale, unsigned depth) {
    return poly_add_scaled(prover->table, out, scale, 1) &&
           poly_add_term(prover->table, out, -1, 0) && prove(prover, out, depth);
}

static bool prove_case(Prover *prover, const Poly *goal, uint32_t atom, Dim taken, Dim other,
                       unsigned depth) {
    DimTable *table = prover->table;
    Poly by, chosen, *assumed = &prover->hypothesis[prover->cases];
    poly_of(table, taken, &by);
    if (!poly_replace(table, goal, atom, &by, &chosen)) return false;
    bool least = table->atoms.at[atom].op == DIM_OP_MIN;
    poly_of(table, least ? other : taken, assumed);
    poly_of(table, least ? taken : other, &by);
    if (!poly_add_scaled(table, assumed, &by, -1)) return false;
    uint32_t valid = prover->valid;
    for (uint32_t i = 0; i < table->samples; i++) {
        int64_t value;
        if (!sample_poly(table, assumed, i, &value) || value < 0)
            prover->valid &= ~(UINT32_C(1) << i);
    }
    prover->cases++;
    bool proved = prove(prover, &chosen, depth);
    prover->cases--;
    prover->valid = valid;
    return proved;
}

// A remainder is its dividend less a multiple of the divisor, and not above a dividend >= 0.
static bool prove_by_remainder(Prover *prover, const Poly *goal, uint32_t atom, unsigned depth) {
    DimTable *table = prover->table;
    const Atom rest = table->atoms.at[atom];
    Poly x, b, quotient, product, next, factor, other;
    if (dim_bounds(table, rest.a).lo >= 0 && dim_bounds(table, rest.b).lo >= 0 &&
        poly_split(table, goal, atom, &factor, &other)) {
        Range sign = poly_range(table, &factor);
        poly_of(table, rest.a, &x);
        if (sign.known && sign.hi <= 0 && poly_mul(table, &factor, &x, &next) &&
            poly_add_scaled(table, &next, &other, 1) && prove(prover, &next, depth))
            return true;
    }
    poly_of(table, rest.a, &x);
    poly_of(table, rest.b, &b);
    return poly_atom(table, atom_make(table, DIM_OP_FLOOR_DIV, rest.a, rest.b), &quotient) &&
           poly_mul(table, &quotient, &b, &product) && poly_add_scaled(table, &x, &product, -1) &&
           poly_replace(table, goal, atom, &x, &next) && prove(prover, &next, depth);
}

// x // b <= x and x // b >= 0 for x >= 0 and b >= 0.
static bool prove_by_quotient(Prover *prover, const Poly *goal, uint32_t atom, unsigned depth) {
    DimTable *table = prover->table;
    const Atom division = table->atoms.at[atom];
    Poly next, scale;
    if (poly_relax(table, goal, atom, &next, &scale) && prove_scaled(prover, &next, &scale, depth))
        return true;
    Poly factor, rest, x;
    if (dim_bounds(table, division.a).lo < 0 || dim_bounds(table, division.b).lo < 0 ||
        !poly_split(table, goal, atom, &factor, &rest))
        return false;
    Range sign = poly_range(table, &factor);
    if (!sign.known || sign.hi > 0) return false;
    poly_of(table, division.a, &x);
    return poly_mul(table, &factor, &x, &next) && poly_add_scaled(table, &next, &rest, 1) &&
           prove(prover, &next, depth);
}

static bool prove_by_atom(Prover *prover, const Poly *goal, uint32_t atom, unsigned depth) {
    const Atom compound = prover->table->atoms.at[atom];
    switch (compound.op) {
    case DIM_OP_FLOOR_DIV: return prove_by_quotient(prover, goal, atom, depth);
    case DIM_OP_FLOOR_MOD: return prove_by_remainder(prover, goal, atom, depth);
    default:
        return prover->cases < CASES_MAX &&
               prove_case(prover, goal, atom, compound.a, compound.b, depth) &&
               prove_case(prover, goal, atom, compound.b, compound.a, depth);
    }
}

// goal == (scale * goal - by * fact * mono) + ..: cancels one term of the goal against one of the
// fact (>= 0), multiplied by a mono that is not negative.
static bool prove_by_fact(Prover *prover, const Poly *goal, const Poly *fact, unsigned depth) {
    DimTable *table = prover->table;
    for (uint32_t i = 0; i < goal->count; i++)
        for (uint32_t j = 0; j < fact->count; j++) {
            Term g = goal->term[i], f = fact->term[j];
            uint32_t mono;
            if (f.mono == 0 || g.mono == 0 || (g.coef > 0) != (f.coef > 0) ||
                !mono_divide(table, g.mono, f.mono, &mono) || !table->monos.at[mono].range.known ||
                table->monos.at[mono].range.lo < 0)
                continue;
            int64_t common = gcd64(g.coef, f.coef);
            int64_t scale = (f.coef < 0 ? -f.coef : f.coef) / common;
            int64_t by = (g.coef < 0 ? -g.coef : g.coef) / common;
            Poly next = {0}, part;
            if (poly_add_scaled(table, &next, goal, scale) &&
                poly_mul_term(table, fact, -by, mono, &part) &&
                poly_add_scaled(table, &next, &part, 1) &&
                poly_add_term(table, &next, scale - 1, 0) && prove(prover, &next, depth))
                return true;
        }
    return false;
}

static bool prove_by_facts(Prover *prover, const Poly *goal, unsigned depth) {
    DimTable *table = prover->table;
    Poly fact;
    for (uint32_t i = 0; i < prover->cases; i++) {
        fact = prover->hypothesis[i];
        if (prove_by_fact(prover, goal, &fact, depth)) return true;
    }
    for (uint32_t i = 0; i < table->not_negative.len; i++) {
        poly_of(table, table->not_negative.at[i], &fact);
        if (prove_by_fact(prover, goal, &fact, depth)) return true;
    }
    return false;
}

static bool prove(Prover *prover, const Poly *claim, unsigned depth) {
    DimTable *table = prover->table;
    Poly goal = *claim;
    int64_t lower;
    if (prover->budget-- <= 0 || !weaken(table, &goal)) return false;
    if (poly_lower(table, &goal, &lower) && lower >= 0) return true;
    if (depth == 0 || poly_is_constant(&goal, NULL) || refuted(prover, &goal)) return false;
    uint32_t atoms[COMPOUNDS_MAX];
    uint32_t count = poly_compounds(table, &goal, atoms, COMPOUNDS_MAX);
    if (prove_by_facts(prover, &goal, depth - 1)) return true;
    for (uint32_t i = 0; i < count; i++)
        if (prove_by_atom(prover, &goal, atoms[i], depth - 1)) return true;
    return false;
}

// a - b >= gap
static bool prove_apart(DimTable *table, Dim a, Dim b, int64_t gap) {
    DimBounds high = dim_bounds(table, a), low = dim_bounds(table, b);
    int64_t least;
    if (!__builtin_sub_overflow(high.lo, low.hi, &least) && least >= gap) return true;
    Poly goal, other;
    poly_of(table, a, &goal);
    poly_of(table, b, &other);
    if (!poly_add_scaled(table, &goal, &other, -1)) return false;
    for (uint32_t i = 0; gap == 1 && i < table->not_zero.len; i++) {
        // What is known not to be 0 is positive as soon as it is not negative.
        Poly sum = goal, difference = goal, known;
        poly_of(table, table->not_zero.at[i], &known);
        bool equal = poly_add_scaled(table, &difference, &known, -1) && difference.count == 0;
        bool opposite = poly_add_scaled(table, &sum, &known, 1) && sum.count == 0;
        if (equal || opposite) gap = 0;
    }
    if (!poly_add_term(table, &goal, -gap, 0)) return false;
    Prover prover = {.table = table, .budget = PROVE_BUDGET, .valid = UINT32_MAX};
    if (prove(&prover, &goal, 0)) return true;
    if (poly_is_constant(&goal, NULL)) return false;
    // Deeper only when shallow fails, so that simple proofs stay cheap.
    sample_points(table);
    for (unsigned depth = 1; depth <= PROVE_DEPTH; depth++)
        if (prove(&prover, &goal, depth)) return true;
    return false;
}

// a - b is never 0: it is not a multiple of what divides all its terms but the constant, or the
// fact itself.
static bool never_equal(DimTable *table, Dim a, Dim b) {
    Poly difference, other;
    poly_of(table, a, &difference);
    poly_of(table, b, &other);
    if (!poly_add_scaled(table, &difference, &other, -1)) return false;
    int64_t step = poly_multiple(table, &difference, false);
    if (step && poly_constant_of(&difference) % step != 0) return true;
    for (uint32_t i = 0; i < table->not_zero.len; i++) {
        Poly quotient, known;
        poly_of(table, table->not_zero.at[i], &known);
        int64_t factor;
        if (poly_divide(table, &difference, &known, &quotient) &&
            poly_is_constant(&quotient, &factor) && factor != 0)
            return true;
    }
    return prove_apart(table, a, b, 1) || prove_apart(table, b, a, 1);
}

bool dim_proved(DimTable *table, Dim a, DimRelation relation, Dim b) {
    if (!dim_known(table, a) || !dim_known(table, b)) return false;
    switch (relation) {
    case DIM_EQ: return a == b || (prove_apart(table, a, b, 0) && prove_apart(table, b, a, 0));
    case DIM_NE: return a != b && never_equal(table, a, b);
    case DIM_LT: return prove_apart(table, b, a, 1);
    case DIM_LE: return prove_apart(table, b, a, 0);
    case DIM_GT: return prove_apart(table, a, b, 1);
    case DIM_GE: return prove_apart(table, a, b, 0);
    }
    return false;
}

Proof dim_prove(DimTable *table, Dim a, DimRelation relation, Dim b) {
    static const DimRelation opposite[] = {[DIM_EQ] = DIM_NE, [DIM_NE] = DIM_EQ, [DIM_LT] = DIM_GE,
                                           [DIM_LE] = DIM_GT, [DIM_GT] = DIM_LE, [DIM_GE] = DIM_LT};
    if (dim_proved(table, a, relation, b)) return PROOF_YES;
    return dim_proved(table, a, opposite[relation], b) ? PROOF_NO : PROOF_UNKNOWN;
}

// ---- facts ----

struct DimScope {
    uint32_t not_negative, not_zero, congruent; // how many facts there were
    int64_t multiple[SYMBOLS_MAX];
};

DimScope *dim_scope_begin(DimTable *table) {
    DimScope *scope = arena_alloc(table->arena, sizeof *scope);
    scope->not_negative = table->not_negative.len, scope->not_zero = table->not_zero.len;
    scope->congruent = table->congruent.len;
    for (uint32_t i = 0; i < table->symbols; i++) scope->multiple[i] = table->symbol[i].multiple;
    return scope;
}

// Normal forms and bounds never use facts, so dims made meanwhile stay what they are.
void dim_scope_end(DimTable *table, DimScope *scope) {
    table->not_negative.len = scope->not_negative, table->not_zero.len = scope->not_zero;
    table->congruent.len = scope->congruent;
    for (uint32_t i = 0; i < table->symbols; i++) table->symbol[i].multiple = scope->multiple[i];
    dim_forget_samples(table);
}

static void assume_not_negative(DimTable *table, Dim x) {
    if (x != DIM_NONE && !dim_is_const(table, x, NULL))
        vec_push(table->arena, &table->not_negative, x);
}

// Remainders written out, so that a fact about x % b meets goals about x // b.
static Dim open_remainders(DimTable *table, Dim dim) {
    Poly poly, x, b, quotient, product;
    poly_of(table, dim, &poly);
    uint32_t atoms[COMPOUNDS_MAX];
    uint32_t count = poly_compounds(table, &poly, atoms, COMPOUNDS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const Atom rest = table->atoms.at[atoms[i]];
        if (rest.op != DIM_OP_FLOOR_MOD) continue;
        poly_of(table, rest.a, &x);
        poly_of(table, rest.b, &b);
        if (!poly_atom(table, atom_make(table, DIM_OP_FLOOR_DIV, rest.a, rest.b), &quotient) ||
            !poly_mul(table, &quotient, &b, &product) ||
            !poly_add_scaled(table, &x, &product, -1) ||
            !poly_replace(table, &poly, atoms[i], &x, &poly))
            return dim;
    }
    Dim opened = poly_intern(table, &poly);
    return opened == DIM_NONE ? dim : opened;
}

static void assume_at_least(DimTable *table, Dim a, Dim b, int64_t gap) {
    Dim x = dim_sub(table, dim_sub(table, a, b), dim_const(table, gap));
    if (x == DIM_NONE) return;
    assume_not_negative(table, x);
    Dim opened = open_remainders(table, x);
    if (opened != x) assume_not_negative(table, opened);
}

void dim_assume(DimTable *table, Dim a, DimRelation relation, Dim b) {
    Dim difference = dim_sub(table, a, b);
    if (difference == DIM_NONE || dim_is_const(table, difference, NULL)) return;
    switch (relation) {
    case DIM_EQ:
        dim_assume_zero(table, difference);
        assume_at_least(table, a, b, 0);
        assume_at_least(table, b, a, 0);
        break;
    case DIM_NE: vec_push(table->arena, &table->not_zero, difference); break;
    case DIM_LT: assume_at_least(table, b, a, 1); break;
    case DIM_LE: assume_at_least(table, b, a, 0); break;
    case DIM_GT: assume_at_least(table, a, b, 1); break;
    case DIM_GE: assume_at_least(table, a, b, 0); break;
    }
    dim_forget_samples(table);
}
