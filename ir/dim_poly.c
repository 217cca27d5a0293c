// Sums of terms on the stack: arithmetic, division, substitution.
#include "ir/dim_table.h"

#include <string.h>

void poly_of(const DimTable *table, Dim dim, Poly *out) {
    const Expr *expr = &table->exprs.at[dim];
    out->count = expr->count;
    if (expr->count) memcpy(out->term, expr->term, expr->count * sizeof *expr->term);
}

void poly_constant(Poly *out, int64_t value) {
    out->count = value != 0;
    out->term[0] = (Term){value, 0};
}

bool poly_atom(DimTable *table, uint32_t atom, Poly *out) {
    if (atom == UINT32_MAX) return false;
    out->count = 1;
    out->term[0] = (Term){1, mono_make(table, &atom, 1)};
    return true;
}

int64_t poly_constant_of(const Poly *poly) {
    bool has = poly->count && poly->term[poly->count - 1].mono == 0;
    return has ? poly->term[poly->count - 1].coef : 0;
}

bool poly_is_constant(const Poly *poly, int64_t *value) {
    if (poly->count > 1 || (poly->count == 1 && poly->term[0].mono != 0)) return false;
    if (value) *value = poly->count ? poly->term[0].coef : 0;
    return true;
}

bool poly_add_term(DimTable *table, Poly *poly, int64_t coef, uint32_t mono) {
    if (coef == 0) return true;
    if (mono == MONO_NONE) return false;
    uint32_t at = poly->count;
    while (at > 0 && mono_compare(table, poly->term[at - 1].mono, mono) > 0) at--;
    if (at > 0 && poly->term[at - 1].mono == mono) {
        Term *term = &poly->term[at - 1];
        if (!checked_add(term->coef, coef, &term->coef) || term->coef == INT64_MIN) return false;
        if (term->coef == 0) {
            poly->count--;
            memmove(term, term + 1, (poly->count - (at - 1)) * sizeof *term);
        }
        return true;
    }
    if (poly->count == POLY_TERMS_MAX || coef == INT64_MIN) return false;
    memmove(&poly->term[at + 1], &poly->term[at], (poly->count - at) * sizeof *poly->term);
    poly->term[at] = (Term){coef, mono};
    poly->count++;
    return true;
}

bool poly_add_scaled(DimTable *table, Poly *poly, const Poly *other, int64_t scale) {
    for (uint32_t i = 0; i < other->count; i++) {
        int64_t coef;
        if (!checked_mul(other->term[i].coef, scale, &coef) ||
            !poly_add_term(table, poly, coef, other->term[i].mono))
            return false;
    }
    return true;
}

bool poly_mul_term(DimTable *table, const Poly *a, int64_t coef, uint32_t mono, Poly *out) {
    out->count = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        int64_t product;
        if (!checked_mul(a->term[i].coef, coef, &product) ||
            !poly_add_term(table, out, product, mono_mul(table, a->term[i].mono, mono)))
            return false;
    }
    return true;
}

bool poly_mul(DimTable *table, const Poly *a, const Poly *b, Poly *out) {
    Poly sum, part;
    if (b->count == 1 && out != a && out != b)
        return poly_mul_term(table, a, b->term[0].coef, b->term[0].mono, out);
    sum.count = 0;
    for (uint32_t i = 0; i < b->count; i++)
        if (!poly_mul_term(table, a, b->term[i].coef, b->term[i].mono, &part) ||
            !poly_add_scaled(table, &sum, &part, 1))
            return false;
    *out = sum;
    return true;
}

// Long division by leading terms; works because mono_compare orders products as their factors.
bool poly_divide(DimTable *table, const Poly *a, const Poly *b, Poly *quotient) {
    if (b->count == 0) return false;
    Poly rest = *a, result = {0};
    const Term *lead = &b->term[0];
    while (rest.count) {
        uint32_t mono;
        int64_t coef = rest.term[0].coef / lead->coef;
        Poly part;
        if (rest.term[0].coef % lead->coef != 0 ||
            !mono_divide(table, rest.term[0].mono, lead->mono, &mono) ||
            !poly_add_term(table, &result, coef, mono) ||
            !poly_mul_term(table, b, coef, mono, &part) ||
            !poly_add_scaled(table, &rest, &part, -1))
            return false;
    }
    *quotient = result;
    return true;
}

bool poly_split(DimTable *table, const Poly *poly, uint32_t atom, Poly *factor, Poly *rest) {
    uint32_t single = mono_make(table, &atom, 1), mono;
    factor->count = rest->count = 0;
    for (uint32_t i = 0; i < poly->count; i++) {
        bool has = mono_divide(table, poly->term[i].mono, single, &mono);
        if (!poly_add_term(table, has ? factor : rest, poly->term[i].coef,
                           has ? mono : poly->term[i].mono))
            return false;
    }
    return true;
}

bool poly_replace(DimTable *table, const Poly *poly, uint32_t atom, const Poly *by, Poly *out) {
    Poly todo = *poly, done = {0}, scale, factor, rest, part;
    poly_constant(&scale, 1);
    // poly == done + scale * todo, where each round takes one power of the atom out of todo.
    while (todo.count) {
        if (!poly_split(table, &todo, atom, &factor, &rest) ||
            !poly_mul(table, &rest, &scale, &part) || !poly_add_scaled(table, &done, &part, 1))
            return false;
        if (factor.count && !poly_mul(table, &scale, by, &scale)) return false;
        todo = factor;
    }
    *out = done;
    return true;
}

int64_t poly_coef_gcd(const Poly *poly) {
    int64_t gcd = 0;
    for (uint32_t i = 0; i < poly->count; i++)
        if (poly->term[i].mono != 0) gcd = gcd64(gcd, poly->term[i].coef);
    return gcd;
}

void poly_scale_down(Poly *poly, int64_t by) {
    for (uint32_t i = 0; i < poly->count; i++)
        poly->term[i].coef = floor_div(poly->term[i].coef, by);
    if (poly->count && poly->term[poly->count - 1].coef == 0) poly->count--;
}

uint32_t poly_compounds(const DimTable *table, const Poly *poly, uint32_t *atoms, uint32_t max) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < poly->count; i++) {
        const Mono *mono = &table->monos.at[poly->term[i].mono];
        for (uint32_t j = 0; j < mono->degree; j++) {
            uint32_t id = mono->atom[j], at = 0;
            if (table->atoms.at[id].op == DIM_OP_SYMBOL) continue;
            // An atom is heavier than what it contains, so heavier ones come first.
            while (at < count && atoms[at] != id &&
                   table->atoms.at[atoms[at]].weight >= table->atoms.at[id].weight)
                at++;
            bool present = false;
            for (uint32_t k = 0; k < count; k++) present |= atoms[k] == id;
            if (present || count == max) continue;
            memmove(&atoms[at + 1], &atoms[at], (count - at) * sizeof *atoms);
            atoms[at] = id;
            count++;
        }
    }
    return count;
}
