#include "ir/hazard.h"

void hazards_barrier(Hazards *h) {
    h->open.len = 0;
}

bool hazards_add(Hazards *h, HazardRange range, uint32_t *other) {
    bool good = true;
    for (uint32_t i = 0; i < h->open.len; i++) {
        const HazardRange *old = &h->open.at[i];
        bool apart = old->kind != range.kind || old->index != range.index ||
                     old->end <= range.first || range.end <= old->first;
        if (apart || old->step == range.step || (!old->write && !range.write)) continue;
        *other = old->step;
        good = false;
        break;
    }
    vec_push(h->arena, &h->open, range);
    return good;
}

static bool assertion_holds(const DimTable *dims, const Assertion *a, const int64_t *symbols) {
    int64_t left, right;
    if (!dim_eval(dims, a->left, symbols, &left) || !dim_eval(dims, a->right, symbols, &right))
        return false;
    switch (a->relation) {
    case DIM_EQ: return left == right;
    case DIM_NE: return left != right;
    case DIM_LT: return left < right;
    case DIM_LE: return left <= right;
    case DIM_GT: return left > right;
    default: return left >= right;
    }
}

bool sample_point(const Graph *g, unsigned point, int64_t *symbols) {
    const DimTable *dims = g->dims;
    static const int64_t between[SAMPLE_POINTS] = {0, 0, 1, 7, 100};
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++) {
        DimBounds bounds = dim_bounds(dims, dim_symbol_at(dims, i));
        int64_t high = bounds.hi > 1000000000 ? 1000000000 : bounds.hi;
        int64_t value = bounds.lo + between[point] + (point > 1 ? i : 0);
        if (point == 1 || value > high) value = high;
        if (dim_symbol_source(dims, i) == DIM_TRIP || value < bounds.lo) value = bounds.lo;
        symbols[i] = value;
    }
    for (uint32_t i = 0; i < g->asserts.len; i++)
        if (!assertion_holds(dims, &g->asserts.at[i], symbols)) return false;
    return true;
}
