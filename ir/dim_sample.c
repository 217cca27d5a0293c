// Points at which the prover tries a claim before it searches, and what atoms are worth there:
// goals share their atoms, so each is evaluated once.
#include "ir/dim_table.h"

typedef struct AtomSamples {
    uint32_t round;        // of points that this is about
    uint32_t tried, known; // bit per point: evaluated, and within 64 bits
    int64_t value[SAMPLES_MAX];
} AtomSamples;

_Static_assert(SAMPLES_MAX <= 32, "a bit per point");

void dim_forget_samples(DimTable *table) {
    table->sampled = false;
}

static bool facts_hold(const DimTable *table, const int64_t *symbols) {
    int64_t value;
    for (uint32_t i = 0; i < table->not_negative.len; i++)
        if (!dim_eval(table, table->not_negative.at[i], symbols, &value) || value < 0) return false;
    for (uint32_t i = 0; i < table->not_zero.len; i++)
        if (!dim_eval(table, table->not_zero.at[i], symbols, &value) || value == 0) return false;
    for (uint32_t i = 0; i < table->congruent.len; i++) {
        Congruence fact = table->congruent.at[i];
        if (!dim_eval(table, fact.x, symbols, &value)) return false;
        if (fact.modulus ? value % fact.modulus != 0 : value != 0) return false;
    }
    return true;
}

void sample_points(DimTable *table) {
    if (table->sampled) return;
    table->sampled = true;
    table->samples = 0, table->sample_round++;
    uint64_t random = 0x9e3779b97f4a7c15u;
    for (unsigned attempt = 0; attempt < 8 * SAMPLES_MAX && table->samples < SAMPLES_MAX;
         attempt++) {
        int64_t *point = table->sample[table->samples];
        for (uint32_t i = 0; i < table->symbols; i++) {
            DimBounds range = dim_bounds(table, table->symbol[i].dim);
            uint64_t span = (uint64_t)range.hi - (uint64_t)range.lo;
            random = random * 6364136223846793005u + 1442695040888963407u;
            unsigned choice = attempt < 2 ? attempt : (random >> 33) % 5;
            uint64_t step = choice == 0 ? 0 : choice == 1 ? span : choice == 2 ? 1 : span / choice;
            point[i] = (int64_t)((uint64_t)range.lo + (step < span ? step : span));
        }
        if (facts_hold(table, point)) table->samples++;
    }
}

static bool sample_terms(DimTable *table, const Term *term, uint32_t count, uint32_t point,
                         int64_t *value);

static bool sample_dim(DimTable *table, Dim dim, uint32_t point, int64_t *value) {
    if (!dim_known(table, dim)) return false;
    const Expr *expr = &table->exprs.at[dim];
    return sample_terms(table, expr->term, expr->count, point, value);
}

static AtomSamples *samples_of(DimTable *table, uint32_t atom) {
    while (table->atom_samples.len <= atom)
        vec_push(table->arena, &table->atom_samples, (AtomSamples *)NULL);
    AtomSamples **at = &table->atom_samples.at[atom];
    if (!*at) *at = arena_alloc(table->arena, sizeof **at);
    if ((*at)->round != table->sample_round) (*at)->tried = (*at)->known = 0;
    (*at)->round = table->sample_round;
    return *at;
}

static bool sample_atom(DimTable *table, uint32_t id, uint32_t point, int64_t *value) {
    const Atom *atom = &table->atoms.at[id];
    if (atom->op == DIM_OP_SYMBOL) {
        *value = table->sample[point][atom->symbol];
        return true;
    }
    AtomSamples *samples = samples_of(table, id);
    uint32_t bit = UINT32_C(1) << point;
    if (!(samples->tried & bit)) {
        int64_t a, b;
        samples->tried |= bit;
        if (sample_dim(table, atom->a, point, &a) && sample_dim(table, atom->b, point, &b) &&
            dim_op_eval(atom->op, a, b, &samples->value[point]))
            samples->known |= bit;
    }
    *value = samples->value[point];
    return samples->known & bit;
}

static bool sample_terms(DimTable *table, const Term *term, uint32_t count, uint32_t point,
                         int64_t *value) {
    *value = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Mono *mono = &table->monos.at[term[i].mono];
        int64_t product = term[i].coef, factor;
        for (uint32_t j = 0; j < mono->degree; j++)
            if (!sample_atom(table, mono->atom[j], point, &factor) ||
                !checked_mul(product, factor, &product))
                return false;
        if (!checked_add(*value, product, value)) return false;
    }
    return true;
}

bool sample_poly(DimTable *table, const Poly *poly, uint32_t point, int64_t *value) {
    return sample_terms(table, poly->term, poly->count, point, value);
}
