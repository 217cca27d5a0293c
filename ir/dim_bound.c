// Bounds of sums: intervals, ends of monotone atoms, and the linear bounds of divisions.
#include "ir/dim_table.h"

enum { SHARED_ATOMS_MAX = 6, RELAX_MAX = 4 };

Range poly_range(const DimTable *table, const Poly *poly) {
    Range sum = range_of(0, 0);
    for (uint32_t i = 0; i < poly->count; i++) {
        int64_t coef = poly->term[i].coef;
        sum = range_add(sum,
                        range_mul(table->monos.at[poly->term[i].mono].range, range_of(coef, coef)));
    }
    return sum;
}

// The atom that stands in most terms, if it stands in several.
static bool shared_atom(const DimTable *table, const Poly *poly, uint32_t *atom) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < poly->count; i++) {
        const Mono *mono = &table->monos.at[poly->term[i].mono];
        for (uint32_t j = 0; j < mono->degree; j++) {
            if (j && mono->atom[j] == mono->atom[j - 1]) continue;
            uint32_t uses = 0;
            for (uint32_t k = 0; k < poly->count; k++)
                uses += mono_degree_of(table, poly->term[k].mono, mono->atom[j]) > 0;
            if (uses <= most) continue;
            most = uses;
            *atom = mono->atom[j];
        }
    }
    return most > 1;
}

static bool replace_by_value(DimTable *table, const Poly *poly, uint32_t atom, int64_t value,
                             Poly *out) {
    Poly by;
    poly_constant(&by, value);
    return poly_replace(table, poly, atom, &by, out);
}

// Derivative by an atom, and whether the sum is linear in it.
static bool derivative(DimTable *table, const Poly *poly, uint32_t atom, Poly *out, bool *linear) {
    uint32_t single = mono_make(table, &atom, 1), mono;
    out->count = 0;
    *linear = true;
    for (uint32_t i = 0; i < poly->count; i++) {
        uint32_t degree = mono_degree_of(table, poly->term[i].mono, atom);
        if (degree == 0) continue;
        if (degree > 1) *linear = false;
        int64_t coef;
        if (!mono_divide(table, poly->term[i].mono, single, &mono) ||
            !checked_mul(poly->term[i].coef, degree, &coef) ||
            !poly_add_term(table, out, coef, mono))
            return false;
    }
    return true;
}

// Least value with the atoms taken as independent. Where the sum is monotone in a shared atom its
// minimum is at one end of the atom's range, where it is linear at one of the two ends.
static bool lower_of_atoms(DimTable *table, const Poly *poly, unsigned depth, int64_t *lower) {
    Range range = poly_range(table, poly);
    *lower = range.lo;
    uint32_t atom;
    if (depth == 0 || !shared_atom(table, poly, &atom)) return range.known;
    Poly slope, low, high;
    bool linear;
    if (!derivative(table, poly, atom, &slope, &linear)) return range.known;
    Range sign = poly_range(table, &slope), ends = table->atoms.at[atom].range;
    if (!ends.known) return range.known;
    bool rises = sign.known && sign.lo >= 0, falls = !rises && sign.known && sign.hi <= 0;
    if (!rises && !falls && !linear) return range.known;
    int64_t at_low = INT64_MAX, at_high = INT64_MAX;
    if (!falls && (!replace_by_value(table, poly, atom, ends.lo, &low) ||
                   !lower_of_atoms(table, &low, depth - 1, &at_low)))
        return range.known;
    if (!rises && (!replace_by_value(table, poly, atom, ends.hi, &high) ||
                   !lower_of_atoms(table, &high, depth - 1, &at_high)))
        return range.known;
    int64_t least = at_low < at_high ? at_low : at_high;
    if (!range.known || least > range.lo) *lower = least;
    return true;
}

bool poly_relax(DimTable *table, const Poly *poly, uint32_t atom, Poly *out, Poly *scale) {
    const Atom division = table->atoms.at[atom];
    if (division.op != DIM_OP_FLOOR_DIV || table->exprs.at[division.b].bounds.lo < 1) return false;
    Poly factor, rest, divisor, bound, whole;
    if (!poly_split(table, poly, atom, &factor, &rest)) return false;
    Range sign = poly_range(table, &factor);
    if (!sign.known || (sign.lo < 0 && sign.hi > 0)) return false;
    // x - (b - 1) <= b * (x // b) <= x
    poly_of(table, division.b, &divisor);
    poly_of(table, division.a, &bound);
    if (sign.lo >= 0 &&
        (!poly_add_scaled(table, &bound, &divisor, -1) || !poly_add_term(table, &bound, 1, 0)))
        return false;
    poly_constant(scale, 1);
    if (poly_divide(table, &factor, &divisor, &whole)) {
        factor = whole;
    } else {
        *scale = divisor;
        if (!poly_mul(table, &rest, &divisor, &rest)) return false;
    }
    return poly_mul(table, &factor, &bound, out) && poly_add_scaled(table, out, &rest, 1);
}

// A minimum is not above, a maximum not below either operand: the one that gives the better bound.
static bool relax_extreme(DimTable *table, const Poly *poly, uint32_t atom, Poly *out) {
    const Atom extreme = table->atoms.at[atom];
    Poly factor, rest, by[2];
    if ((extreme.op != DIM_OP_MIN && extreme.op != DIM_OP_MAX) ||
        !poly_split(table, poly, atom, &factor, &rest))
        return false;
    Range sign = poly_range(table, &factor);
    if (!sign.known || (extreme.op == DIM_OP_MAX ? sign.lo < 0 : sign.hi > 0)) return false;
    int64_t bound[2];
    bool known[2];
    for (unsigned i = 0; i < 2; i++) {
        poly_of(table, i ? extreme.b : extreme.a, &by[i]);
        known[i] = poly_mul(table, &factor, &by[i], &by[i]) &&
                   poly_add_scaled(table, &by[i], &rest, 1) &&
                   lower_of_atoms(table, &by[i], SHARED_ATOMS_MAX, &bound[i]);
    }
    if (!known[0] && !known[1]) return false;
    *out = by[known[1] && (!known[0] || bound[1] > bound[0])];
    return true;
}

bool poly_lower(DimTable *table, const Poly *poly, int64_t *lower) {
    bool known = lower_of_atoms(table, poly, SHARED_ATOMS_MAX, lower);
    // Once more with divisions, minima and maxima replaced by what bounds them: N - N // 2 is not
    // negative.
    uint32_t atoms[RELAX_MAX];
    uint32_t count = poly->count > 1 ? poly_compounds(table, poly, atoms, RELAX_MAX) : 0;
    Poly relaxed = *poly, next, scale;
    int64_t total = 1, factor, bound;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        int64_t product = total;
        if (!relax_extreme(table, &relaxed, atoms[i], &next) &&
            (!poly_relax(table, &relaxed, atoms[i], &next, &scale) ||
             !poly_is_constant(&scale, &factor) || !checked_mul(total, factor, &product)))
            continue;
        relaxed = next;
        total = product;
        any = true;
    }
    if (!any || !lower_of_atoms(table, &relaxed, SHARED_ATOMS_MAX, &bound)) return known;
    bound = -floor_div(-bound, total);
    if (!known || bound > *lower) *lower = bound;
    return true;
}

bool poly_upper(DimTable *table, const Poly *poly, int64_t *upper) {
    Poly negative = {0};
    int64_t lower;
    if (!poly_add_scaled(table, &negative, poly, -1) || !poly_lower(table, &negative, &lower) ||
        lower == INT64_MIN)
        return false;
    *upper = -lower;
    return true;
}

static bool sum_of_sizes(const DimTable *table, const Poly *poly) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < poly->count; i++) {
        int64_t coef = poly->term[i].coef;
        Range range = range_mul(table->monos.at[poly->term[i].mono].range, range_of(coef, coef));
        if (!range.known || range.lo == INT64_MIN) return false;
        int64_t size = -range.lo > range.hi ? -range.lo : range.hi;
        if (!checked_add(sum, size, &sum)) return false;
    }
    return true;
}

// Every term and every partial sum must fit in 64 bits, so that no evaluation within the symbols'
// ranges overflows.
Dim poly_intern(DimTable *table, const Poly *poly) {
    bool fresh;
    Dim dim = expr_make(table, poly->term, poly->count, &fresh);
    if (fresh) {
        DimBounds bounds = {0};
        bool valid = table->exprs.at[dim].weight <= DIM_WEIGHT_MAX && sum_of_sizes(table, poly) &&
                     poly_lower(table, poly, &bounds.lo) && poly_upper(table, poly, &bounds.hi);
        table->exprs.at[dim].bounds = bounds;
        table->exprs.at[dim].valid = valid;
    }
    return table->exprs.at[dim].valid ? dim : DIM_NONE;
}
