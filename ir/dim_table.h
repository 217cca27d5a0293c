// Inside of the dim table, for ir/dim*.c only.
//
// Three interned levels: an atom is a symbol or one of //, %, minimum, maximum of two dims; a mono
// is a product of atoms; a dim is a sum of terms (coefficient, mono), the constant being the term
// of the empty mono 0. All three are ordered by their structure, never by when they were made, so
// normal forms and prints do not depend on history.
//
// A Poly is the same sum on the stack: what the simplifier and the prover compute with.
#pragma once

#include "ir/dim.h"

enum {
    POLY_TERMS_MAX = 64,
    MONO_ATOMS_MAX = 32,
    DIM_WEIGHT_MAX = 4096, // nodes of a dim printed as a tree
    SYMBOLS_MAX = 64,
    SAMPLES_MAX = 24
};

#define MONO_NONE UINT32_MAX

// Inclusive; unknown when it leaves 64 bits.
typedef struct Range {
    int64_t lo, hi;
    bool known;
} Range;

typedef struct Term {
    int64_t coef; // not 0
    uint32_t mono;
} Term;

typedef struct Poly {
    uint32_t count;
    Term term[POLY_TERMS_MAX]; // in mono order: the constant last
} Poly;

typedef struct Atom {
    DimOp op;        // SYMBOL, FLOOR_DIV, FLOOR_MOD, MIN or MAX
    uint32_t symbol; // its number
    Dim a, b;        // operands of the others
    Range range;
    uint64_t symbols;
    uint32_t weight;
} Atom;

typedef struct Mono {
    const uint32_t *atom; // sorted, repeated for powers
    uint32_t degree;
    Range range;
} Mono;

typedef struct Expr {
    const Term *term;
    uint32_t count;
    DimBounds bounds;
    uint64_t symbols;
    uint32_t weight;
    bool valid; // else it stands for DIM_NONE: its value could leave 64 bits, or it is too large
} Expr;

typedef struct Symbol {
    const char *name;
    DimSource source;
    int64_t multiple; // assumed divisor, at least 1
    Dim dim;
} Symbol;

// x == 0 modulo `modulus`; modulus 0 is plain equality.
typedef struct Congruence {
    Dim x;
    int64_t modulus;
} Congruence;

// Open addressing over the ids of one of the three levels.
typedef struct InternSlot {
    uint64_t hash;
    uint32_t id_plus_one; // 0 is free
} InternSlot;

typedef struct Interned {
    InternSlot *slot;
    uint32_t cap, count;
} Interned;

typedef VEC(Dim) DimList;

struct DimTable {
    Arena *arena;
    VEC(Atom) atoms;
    VEC(Mono) monos; // monos.at[0] is the empty product
    VEC(Expr) exprs; // exprs.at[0] is DIM_NONE
    Interned atom_ids, mono_ids, expr_ids;
    Symbol symbol[SYMBOLS_MAX];
    uint32_t symbols;
    DimList not_negative, not_zero; // assumed facts
    VEC(Congruence) congruent;
    // Points that satisfy all facts, made when first needed; they refute most false claims cheaply.
    int64_t sample[SAMPLES_MAX][SYMBOLS_MAX];
    uint32_t samples;
    bool sampled;
    uint32_t sample_round;                  // counts the sets of points
    VEC(struct AtomSamples *) atom_samples; // per atom
};

// ---- ranges (ir/dim_range.c) ----

Range range_of(int64_t lo, int64_t hi);
Range range_add(Range a, Range b);
Range range_mul(Range a, Range b);
Range range_floor_div(Range a, Range b);
Range range_floor_mod(Range a, Range b);
Range range_power(Range a, uint32_t power);

// ---- interning (ir/dim.c) ----

static inline bool dim_known(const DimTable *table, Dim dim) {
    return dim != DIM_NONE && dim < table->exprs.len;
}

// Atom of two dims, no simplification. UINT32_MAX when it is too large.
uint32_t atom_make(DimTable *table, DimOp op, Dim a, Dim b);
int atom_compare(const DimTable *table, uint32_t a, uint32_t b);
int mono_compare(const DimTable *table, uint32_t a, uint32_t b);
int dim_compare(const DimTable *table, Dim a, Dim b);
// Takes up to MONO_ATOMS_MAX atoms in any order. MONO_NONE when there are too many.
uint32_t mono_make(DimTable *table, const uint32_t *atoms, uint32_t count);
uint32_t mono_mul(DimTable *table, uint32_t a, uint32_t b);
bool mono_divide(DimTable *table, uint32_t a, uint32_t b, uint32_t *quotient);
uint32_t mono_degree_of(const DimTable *table, uint32_t mono, uint32_t atom);
// The value of an operation other than SYMBOL; false where it leaves 64 bits.
bool dim_op_eval(DimOp op, int64_t a, int64_t b, int64_t *value);
// The dim of these terms, already in order; *fresh: it is new and its bounds are still to be set.
Dim expr_make(DimTable *table, const Term *term, uint32_t count, bool *fresh);

// ---- polynomials (ir/dim_poly.c, bounds in ir/dim_bound.c); false when a limit or 64 bits are
// exceeded ----

void poly_of(const DimTable *table, Dim dim, Poly *out);
Dim poly_intern(DimTable *table, const Poly *poly); // DIM_NONE if its value could leave 64 bits
void poly_constant(Poly *out, int64_t value);
bool poly_atom(DimTable *table, uint32_t atom, Poly *out);
int64_t poly_constant_of(const Poly *poly);
bool poly_is_constant(const Poly *poly, int64_t *value);
bool poly_add_term(DimTable *table, Poly *poly, int64_t coef, uint32_t mono);
bool poly_add_scaled(DimTable *table, Poly *poly, const Poly *other, int64_t scale);
bool poly_mul_term(DimTable *table, const Poly *a, int64_t coef, uint32_t mono, Poly *out);
bool poly_mul(DimTable *table, const Poly *a, const Poly *b, Poly *out);
bool poly_divide(DimTable *table, const Poly *a, const Poly *b, Poly *quotient); // exactly
// poly == factor * atom + rest; factor may still contain the atom if there are powers.
bool poly_split(DimTable *table, const Poly *poly, uint32_t atom, Poly *factor, Poly *rest);
bool poly_replace(DimTable *table, const Poly *poly, uint32_t atom, const Poly *by, Poly *out);
int64_t poly_coef_gcd(const Poly *poly); // of all terms but the constant
// Divides all coefficients by a common factor of all but the constant, which is rounded down.
void poly_scale_down(Poly *poly, int64_t by);
// Atoms that are no symbols, the outermost first; returns how many were written.
uint32_t poly_compounds(const DimTable *table, const Poly *poly, uint32_t *atoms, uint32_t max);

// Interval of the sum with each mono taken by itself, and bounds that see how monos share atoms.
Range poly_range(const DimTable *table, const Poly *poly);
bool poly_lower(DimTable *table, const Poly *poly, int64_t *lower);
bool poly_upper(DimTable *table, const Poly *poly, int64_t *upper);
// Replaces a division by its linear bound so that: *out >= 0 implies scale * poly >= 0, and
// poly >= *out / scale pointwise, with scale > 0. False if the bound has no use here.
bool poly_relax(DimTable *table, const Poly *poly, uint32_t atom, Poly *out, Poly *scale);

// ---- divisibility (ir/dim_divide.c) ----

// Largest known divisor of the sum (or of all its terms but the constant).
int64_t poly_multiple(const DimTable *table, const Poly *poly, bool with_constant);
void dim_assume_zero(DimTable *table, Dim x); // the fact x == 0

// ---- points that refute claims (ir/dim_sample.c) ----

void dim_forget_samples(DimTable *table);
void sample_points(DimTable *table); // makes them, unless they are up to date
// False where the value leaves 64 bits.
bool sample_poly(DimTable *table, const Poly *poly, uint32_t point, int64_t *value);
