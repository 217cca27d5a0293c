// The operations on dims: each gives the normal form of its result.
//
// Normal forms never use assumed facts: the run-time check of a fact is itself an expression, which
// must not fold to what it checks.
#include "ir/dim_table.h"

enum { LEAVES_MAX = 16 }; // operands of a minimum or maximum that are kept flat

Dim dim_const(DimTable *table, int64_t value) {
    Poly poly;
    poly_constant(&poly, value);
    return poly_intern(table, &poly);
}

static Dim add_scaled(DimTable *table, Dim a, Dim b, int64_t scale) {
    if (!dim_known(table, a) || !dim_known(table, b)) return DIM_NONE;
    Poly sum, other;
    poly_of(table, a, &sum);
    poly_of(table, b, &other);
    return poly_add_scaled(table, &sum, &other, scale) ? poly_intern(table, &sum) : DIM_NONE;
}

Dim dim_add(DimTable *table, Dim a, Dim b) {
    return add_scaled(table, a, b, 1);
}

Dim dim_sub(DimTable *table, Dim a, Dim b) {
    return add_scaled(table, a, b, -1);
}

Dim dim_mul(DimTable *table, Dim a, Dim b) {
    if (!dim_known(table, a) || !dim_known(table, b)) return DIM_NONE;
    if (dim_is(table, a, 1)) return b;
    if (dim_is(table, b, 1)) return a;
    Poly x, y, product;
    poly_of(table, a, &x);
    poly_of(table, b, &y);
    return poly_mul(table, &x, &y, &product) ? poly_intern(table, &product) : DIM_NONE;
}

// ---- division ----

// x == divisor * whole + rest with every coefficient of rest smaller than the divisor (> 0); the
// constant of rest is not negative.
static bool take_multiples(DimTable *table, const Poly *x, int64_t divisor, Poly *whole,
                           Poly *rest) {
    whole->count = rest->count = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        int64_t coef = x->term[i].coef;
        bool constant = x->term[i].mono == 0;
        int64_t quotient = constant ? floor_div(coef, divisor) : coef / divisor;
        if (!poly_add_term(table, whole, quotient, x->term[i].mono) ||
            !poly_add_term(table, rest, coef - quotient * divisor, x->term[i].mono))
            return false;
    }
    return true;
}

// Divides by a common factor of the divisor and all coefficients but the constant's:
// floor((g x + c) / (g b)) == floor((x + floor(c / g)) / b). Returns g; *dropped is c mod g.
static int64_t reduce_fraction(Poly *x, int64_t divisor, int64_t *dropped) {
    int64_t common = gcd64(poly_coef_gcd(x), divisor);
    *dropped = 0;
    if (common <= 1) return 1;
    *dropped = floor_mod(poly_constant_of(x), common);
    poly_scale_down(x, common);
    return common;
}

// (y // c + k) // b == (y + k c) // (c b) for positive c and b.
static bool merge_nested(DimTable *table, Poly *x, int64_t *divisor) {
    if (x->count == 0 || x->count > 2 || x->term[0].coef != 1) return false;
    if (x->count == 2 && x->term[1].mono != 0) return false;
    const Mono *mono = &table->monos.at[x->term[0].mono];
    if (mono->degree != 1) return false;
    const Atom *inner = &table->atoms.at[mono->atom[0]];
    int64_t by, shift;
    if (inner->op != DIM_OP_FLOOR_DIV || !dim_is_const(table, inner->b, &by) || by <= 0 ||
        !checked_mul(poly_constant_of(x), by, &shift) || !checked_mul(*divisor, by, &by))
        return false;
    poly_of(table, inner->a, x);
    *divisor = by;
    return poly_add_term(table, x, shift, 0);
}

static Dim atom_dim(DimTable *table, DimOp op, Dim a, Dim b, int64_t scale, const Poly *plus) {
    Poly sum;
    if (!dim_known(table, a) || !dim_known(table, b) ||
        !poly_atom(table, atom_make(table, op, a, b), &sum))
        return DIM_NONE;
    sum.term[0].coef = scale;
    return poly_add_scaled(table, &sum, plus, 1) ? poly_intern(table, &sum) : DIM_NONE;
}

static Dim div_by_constant(DimTable *table, const Poly *dividend, int64_t divisor) {
    Poly x = *dividend, whole = {0}, part, rest;
    if (divisor < 0) { // a // b == -a // -b
        if (divisor == INT64_MIN) return DIM_NONE;
        divisor = -divisor;
        x.count = 0;
        if (!poly_add_scaled(table, &x, dividend, -1)) return DIM_NONE;
    }
    for (;;) {
        int64_t dropped;
        if (!take_multiples(table, &x, divisor, &part, &rest) ||
            !poly_add_scaled(table, &whole, &part, 1))
            return DIM_NONE;
        x = rest;
        int64_t common = reduce_fraction(&x, divisor, &dropped);
        divisor /= common;
        if (common == 1 && !merge_nested(table, &x, &divisor)) break;
    }
    int64_t lower, upper;
    if (!poly_lower(table, &x, &lower) || !poly_upper(table, &x, &upper)) return DIM_NONE;
    if (floor_div(lower, divisor) == floor_div(upper, divisor))
        return poly_add_term(table, &whole, floor_div(lower, divisor), 0)
                   ? poly_intern(table, &whole)
                   : DIM_NONE;
    return atom_dim(table, DIM_OP_FLOOR_DIV, poly_intern(table, &x), dim_const(table, divisor), 1,
                    &whole);
}

// Terms of x that the single term of b divides go to whole: x == b * whole + rest.
static bool take_symbolic_multiples(DimTable *table, const Poly *x, const Poly *b, Poly *whole,
                                    Poly *rest) {
    whole->count = rest->count = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        const Term *term = &x->term[i];
        uint32_t mono;
        bool divides = b->count == 1 && term->coef % b->term[0].coef == 0 &&
                       mono_divide(table, term->mono, b->term[0].mono, &mono);
        if (!(divides ? poly_add_term(table, whole, term->coef / b->term[0].coef, mono)
                      : poly_add_term(table, rest, term->coef, term->mono)))
            return false;
    }
    return true;
}

// 0 <= x < b within the symbols' ranges.
static bool within(DimTable *table, const Poly *x, const Poly *b) {
    Poly room = *b;
    int64_t lower, gap;
    return poly_lower(table, x, &lower) && lower >= 0 && poly_add_scaled(table, &room, x, -1) &&
           poly_lower(table, &room, &gap) && gap >= 1;
}

Dim dim_floor_div(DimTable *table, Dim a, Dim b) {
    if (!dim_known(table, a) || !dim_known(table, b)) return DIM_NONE;
    Poly x, y, whole = {0}, rest;
    poly_of(table, a, &x);
    int64_t divisor;
    if (dim_is_const(table, b, &divisor))
        return divisor == 0 ? dim_const(table, 0) : div_by_constant(table, &x, divisor);
    if (x.count == 0) return a;
    poly_of(table, b, &y);
    DimBounds range = dim_bounds(table, b);
    bool never_zero = range.lo > 0 || range.hi < 0;
    if (never_zero && poly_divide(table, &x, &y, &whole)) return poly_intern(table, &whole);
    whole.count = 0;
    if (never_zero) {
        if (!take_symbolic_multiples(table, &x, &y, &whole, &rest)) return DIM_NONE;
        x = rest;
        if (within(table, &x, &y)) return poly_intern(table, &whole);
    }
    return atom_dim(table, DIM_OP_FLOOR_DIV, poly_intern(table, &x), b, 1, &whole);
}

// ---- remainder ----

// c * (y % m) is c * y modulo k if k divides c * m.
static bool open_nested(DimTable *table, Poly *x, int64_t divisor) {
    for (uint32_t i = 0; i < x->count; i++) {
        const Mono *mono = &table->monos.at[x->term[i].mono];
        if (mono->degree != 1) continue;
        const Atom inner = table->atoms.at[mono->atom[0]];
        int64_t by, coef = x->term[i].coef;
        if (inner.op != DIM_OP_FLOOR_MOD || !dim_is_const(table, inner.b, &by) || by <= 0 ||
            !checked_mul(coef, by, &by) || by % divisor != 0)
            continue;
        Poly opened = *x, y;
        poly_of(table, inner.a, &y);
        if (!poly_add_term(table, &opened, -coef, x->term[i].mono) ||
            !poly_add_scaled(table, &opened, &y, coef))
            continue;
        *x = opened;
        return true;
    }
    return false;
}

static Dim mod_by_constant(DimTable *table, const Poly *dividend, int64_t divisor) {
    Poly x = *dividend, whole, rest, plus = {0};
    int64_t scale = 1;
    if (divisor < 0) { // a % b == -(-a % -b)
        if (divisor == INT64_MIN) return DIM_NONE;
        divisor = -divisor;
        scale = -1;
        x.count = 0;
        if (!poly_add_scaled(table, &x, dividend, -1)) return DIM_NONE;
    }
    for (;;) {
        int64_t dropped;
        if (!take_multiples(table, &x, divisor, &whole, &rest)) return DIM_NONE;
        x = rest;
        if (open_nested(table, &x, divisor)) continue;
        // (g x + c) % (g b) == g ((x + c // g) % b) + c % g
        int64_t common = reduce_fraction(&x, divisor, &dropped);
        if (!poly_add_term(table, &plus, scale * dropped, 0)) return DIM_NONE;
        if (common == 1) break;
        divisor /= common;
        scale *= common;
    }
    int64_t lower, upper;
    if (!poly_lower(table, &x, &lower) || !poly_upper(table, &x, &upper)) return DIM_NONE;
    int64_t quotient = floor_div(lower, divisor);
    if (quotient == floor_div(upper, divisor)) {
        bool fits = poly_add_term(table, &x, -quotient * divisor, 0) &&
                    poly_add_scaled(table, &plus, &x, scale);
        return fits ? poly_intern(table, &plus) : DIM_NONE;
    }
    return atom_dim(table, DIM_OP_FLOOR_MOD, poly_intern(table, &x), dim_const(table, divisor),
                    scale, &plus);
}

Dim dim_floor_mod(DimTable *table, Dim a, Dim b) {
    if (!dim_known(table, a) || !dim_known(table, b)) return DIM_NONE;
    Poly x, y, whole, rest;
    poly_of(table, a, &x);
    int64_t divisor;
    if (dim_is_const(table, b, &divisor))
        return divisor == 0 ? a : mod_by_constant(table, &x, divisor);
    poly_of(table, b, &y);
    // Multiples of b vanish also where b is 0: there they are 0, and x % 0 is x.
    if (poly_divide(table, &x, &y, &whole)) return dim_const(table, 0);
    if (!take_symbolic_multiples(table, &x, &y, &whole, &rest)) return DIM_NONE;
    if (within(table, &rest, &y)) return poly_intern(table, &rest);
    Poly none = {0};
    return atom_dim(table, DIM_OP_FLOOR_MOD, poly_intern(table, &rest), b, 1, &none);
}

// ---- minimum, maximum ----

typedef struct Leaves {
    Dim at[LEAVES_MAX];
    uint32_t count;
} Leaves;

// `a` is never chosen beside b.
static bool dominated(DimTable *table, DimOp op, Dim a, Dim b) {
    Poly gap, other;
    int64_t lower;
    poly_of(table, op == DIM_OP_MAX ? b : a, &gap);
    poly_of(table, op == DIM_OP_MAX ? a : b, &other);
    return poly_add_scaled(table, &gap, &other, -1) && poly_lower(table, &gap, &lower) &&
           lower >= 0;
}

static bool add_leaf(DimTable *table, DimOp op, Dim leaf, Leaves *leaves) {
    for (uint32_t i = 0; i < leaves->count; i++)
        if (leaf == leaves->at[i] || dominated(table, op, leaf, leaves->at[i])) return true;
    uint32_t kept = 0, at = 0;
    for (uint32_t i = 0; i < leaves->count; i++)
        if (!dominated(table, op, leaves->at[i], leaf)) leaves->at[kept++] = leaves->at[i];
    leaves->count = kept;
    if (kept == LEAVES_MAX) return false;
    while (at < kept && dim_compare(table, leaves->at[at], leaf) < 0) at++;
    for (uint32_t i = kept; i > at; i--) leaves->at[i] = leaves->at[i - 1];
    leaves->at[at] = leaf;
    leaves->count++;
    return true;
}

// max(max(a, b) + c, d) is the maximum of a + c, b + c and d: chains stay flat, and what another
// operand always exceeds leaves them.
static bool gather_leaves(DimTable *table, DimOp op, Dim dim, Leaves *leaves) {
    if (dim == DIM_NONE) return false;
    Poly poly, rest = {0};
    poly_of(table, dim, &poly);
    for (uint32_t i = 0; i < poly.count; i++) {
        const Mono *mono = &table->monos.at[poly.term[i].mono];
        if (poly.term[i].coef != 1 || mono->degree != 1) continue;
        const Atom inner = table->atoms.at[mono->atom[0]];
        if (inner.op != op) continue;
        if (!poly_add_scaled(table, &rest, &poly, 1) ||
            !poly_add_term(table, &rest, -1, poly.term[i].mono))
            return false;
        Dim plus = poly_intern(table, &rest);
        return gather_leaves(table, op, dim_add(table, inner.a, plus), leaves) &&
               gather_leaves(table, op, dim_add(table, inner.b, plus), leaves);
    }
    return add_leaf(table, op, dim, leaves);
}

static Dim extreme(DimTable *table, DimOp op, Dim a, Dim b) {
    if (!dim_known(table, a) || !dim_known(table, b)) return DIM_NONE;
    Leaves leaves = {0};
    Poly none = {0};
    if (!gather_leaves(table, op, a, &leaves) || !gather_leaves(table, op, b, &leaves)) {
        bool swap = dim_compare(table, a, b) > 0;
        return atom_dim(table, op, swap ? b : a, swap ? a : b, 1, &none);
    }
    Dim result = leaves.at[0];
    for (uint32_t i = 1; i < leaves.count; i++)
        result = atom_dim(table, op, result, leaves.at[i], 1, &none);
    return result;
}

Dim dim_min(DimTable *table, Dim a, Dim b) {
    return extreme(table, DIM_OP_MIN, a, b);
}

Dim dim_max(DimTable *table, Dim a, Dim b) {
    return extreme(table, DIM_OP_MAX, a, b);
}

Dim dim_ceil_div(DimTable *table, Dim a, Dim b) {
    Dim room = dim_sub(table, b, dim_const(table, 1));
    return dim_floor_div(table, dim_add(table, a, room), b);
}

Dim dim_align_up(DimTable *table, Dim a, int64_t b) {
    Dim unit = dim_const(table, b);
    return dim_mul(table, dim_ceil_div(table, a, unit), unit);
}
