// Best fit on numbers, with every dim at its upper bound, largest items first; then, from the
// lowest upwards, each offset as an expression: the largest end of those below it that live with
// it.
#include "passes/arena_fit.h"

#include <stdlib.h>

enum { ARENA_ALIGN = 256, ARENA_TERMS_MAX = 200 };

typedef struct FitItem {
    ArenaItem *item;
    uint32_t number;
    int64_t size, offset; // with dims at their upper bounds
    Dim end;              // once placed
} FitItem;

static int fit_by_size(const void *a, const void *b) {
    const FitItem *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int fit_by_offset(const void *a, const void *b) {
    const FitItem *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool fit_meet(const ArenaItem *a, const ArenaItem *b) {
    return a->first <= b->last && b->first <= a->last;
}

static int64_t fit_size(const DimTable *dims, const ArenaItem *item) {
    int64_t high = dim_bounds(dims, item->bytes).hi, limit = INT64_MAX >> 8;
    if (high < 0) high = 0;
    if (high > limit) high = limit;
    return (high + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

// Lowest offset of the smallest gap that holds `size` between the items placed so far.
static int64_t fit_gap(const FitItem **busy, uint32_t count, int64_t size) {
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        int64_t gap = busy[i]->offset - end;
        if (gap >= size && gap < best_gap) best = end, best_gap = gap;
        int64_t top = busy[i]->offset + busy[i]->size;
        if (top > end) end = top;
    }
    return best >= 0 ? best : end;
}

static int fit_pointer_by_offset(const void *a, const void *b) {
    return fit_by_offset(*(const FitItem *const *)a, *(const FitItem *const *)b);
}

static void fit_count(void *user, DimOp op, int64_t value) {
    (void)op, (void)value;
    ++*(uint32_t *)user;
}

// The larger of two ends; a maximum only where neither is proved the larger.
static Dim fit_larger(DimTable *dims, Dim a, Dim b) {
    int64_t x, y; // plain numbers are compared a million times in wide graphs
    if (dim_is_const(dims, a, &x) && dim_is_const(dims, b, &y)) return x >= y ? a : b;
    if (dim_proved(dims, a, DIM_GE, b)) return a;
    if (dim_proved(dims, b, DIM_GE, a)) return b;
    return dim_max(dims, a, b);
}

static Dim fit_end(DimTable *dims, const ArenaItem *item) {
    return dim_add(dims, item->offset, dim_align_up(dims, item->bytes, ARENA_ALIGN));
}

Dim arena_fit(DimTable *dims, Arena *arena, ArenaItem *items, uint32_t count) {
    FitItem *fit = arena_alloc(arena, (count + 1) * sizeof *fit);
    const FitItem **busy = arena_alloc(arena, (count + 1) * sizeof *busy);
    for (uint32_t i = 0; i < count; i++)
        fit[i] = (FitItem){.item = &items[i], .number = i, .size = fit_size(dims, &items[i])};
    qsort(fit, count, sizeof *fit, fit_by_size);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t met = 0;
        for (uint32_t j = 0; j < i; j++)
            if (fit_meet(fit[i].item, fit[j].item)) busy[met++] = &fit[j];
        qsort(busy, met, sizeof *busy, fit_pointer_by_offset);
        fit[i].offset = fit_gap(busy, met, fit[i].size);
    }
    qsort(fit, count, sizeof *fit, fit_by_offset);
    Dim total = dim_const(dims, 0);
    for (uint32_t i = 0; i < count; i++) {
        Dim offset = dim_const(dims, 0);
        for (uint32_t j = 0; j < i; j++)
            if (fit_meet(fit[i].item, fit[j].item) && offset != DIM_NONE)
                offset = fit_larger(dims, offset, fit[j].end);
        uint32_t terms = 0;
        if (offset != DIM_NONE) dim_visit(dims, offset, fit_count, &terms);
        // Sizes grow with the dims, so the place at the upper bounds is free at all others too.
        if (offset == DIM_NONE || terms > ARENA_TERMS_MAX) offset = dim_const(dims, fit[i].offset);
        fit[i].item->offset = offset;
        fit[i].end = fit_end(dims, fit[i].item);
        total = fit_larger(dims, total, fit[i].end);
    }
    return total;
}
