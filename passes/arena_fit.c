// Best fit on numbers, largest items first; then, from the lowest upwards, each offset as an
// expression: the largest end of those below it that live with it. The numbers are those with every
// dim at its upper bound, or what lies between them and those at the lower bounds, where that order
// wastes less at the worse of both.
#include "passes/arena_fit.h"

#include <math.h>
#include <stdlib.h>

enum { ARENA_ALIGN = 256, ARENA_TERMS_MAX = 2000 };

typedef struct FitItem {
    ArenaItem *item;
    uint32_t number;
    int64_t bytes[2];     // with dims at their lower and at their upper bounds
    int64_t size, offset; // of the numbers to fit
    int64_t top;          // at one of the bounds, for a given order
    Dim end;              // once placed
} FitItem;

// Of what lives at once, for an order that is good enough.
static const double fit_waste = 1.05;

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

static int64_t fit_aligned(int64_t size) {
    int64_t limit = INT64_MAX >> 8;
    if (size < 0) size = 0;
    if (size > limit) size = limit;
    return (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
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

// Sets offsets by `size` and sorts by them.
static void fit_numbers(FitItem *fit, const FitItem **busy, uint32_t count) {
    qsort(fit, count, sizeof *fit, fit_by_size);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t met = 0;
        for (uint32_t j = 0; j < i; j++)
            if (fit_meet(fit[i].item, fit[j].item)) busy[met++] = &fit[j];
        qsort(busy, met, sizeof *busy, fit_pointer_by_offset);
        fit[i].offset = fit_gap(busy, met, fit[i].size);
    }
    qsort(fit, count, sizeof *fit, fit_by_offset);
}

// The most that lives at once.
static double fit_bound(const FitItem *fit, uint32_t count, unsigned end) {
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        double live = 0;
        for (uint32_t j = 0; j < count; j++)
            if (fit[j].item->first <= fit[i].item->first && fit[i].item->first <= fit[j].item->last)
                live += (double)fit[j].bytes[end];
        most = fmax(most, live);
    }
    return most;
}

static double fit_total(FitItem *fit, uint32_t count, unsigned end) {
    int64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t offset = 0;
        for (uint32_t j = 0; j < i; j++)
            if (fit_meet(fit[i].item, fit[j].item) && fit[j].top > offset) offset = fit[j].top;
        fit[i].top = offset + fit[i].bytes[end];
        if (fit[i].top > total) total = fit[i].top;
    }
    return (double)total;
}

// By weights of both bounds, until one is good enough; the order of the best is what remains.
static void fit_order(FitItem *fit, const FitItem **busy, uint32_t count, bool varies) {
    static const double weight[] = {1, 0, 0.5, 0.25, 0.75};
    double least = INFINITY, bound[2] = {1, 1};
    unsigned best = 0, weights = varies ? sizeof weight / sizeof weight[0] : 1;
    for (unsigned end = 0; varies && end < 2; end++)
        bound[end] = fmax(1, fit_bound(fit, count, end));
    for (unsigned w = 0; w <= weights; w++) {
        unsigned which = w < weights ? w : best;
        for (uint32_t i = 0; i < count; i++)
            fit[i].size =
                which == 0
                    ? fit[i].bytes[1]
                    : fit_aligned((int64_t)(pow((double)fit[i].bytes[1], weight[which]) *
                                            pow((double)fit[i].bytes[0], 1 - weight[which])));
        fit_numbers(fit, busy, count);
        if (!varies || w == weights) return;
        double worst =
            fmax(fit_total(fit, count, 0) / bound[0], fit_total(fit, count, 1) / bound[1]);
        if (worst <= fit_waste) return;
        if (worst < least) least = worst, best = w;
    }
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
    bool varies = false;
    for (uint32_t i = 0; i < count; i++) {
        DimBounds bytes = dim_bounds(dims, items[i].bytes);
        fit[i] = (FitItem){.item = &items[i],
                           .number = i,
                           .bytes = {fit_aligned(bytes.lo), fit_aligned(bytes.hi)}};
        varies |= fit[i].bytes[0] != fit[i].bytes[1];
    }
    fit_order(fit, busy, count, varies);
    (void)fit_total(fit, count, 1);
    Dim total = dim_const(dims, 0);
    for (uint32_t i = 0; i < count; i++) {
        Dim offset = dim_const(dims, 0);
        for (uint32_t j = 0; j < i; j++)
            if (fit_meet(fit[i].item, fit[j].item) && offset != DIM_NONE)
                offset = fit_larger(dims, offset, fit[j].end);
        uint32_t terms = 0;
        if (offset != DIM_NONE) dim_visit(dims, offset, fit_count, &terms);
        // Sizes grow with the dims, so the place at the upper bounds is free at all others too.
        if (offset == DIM_NONE || terms > ARENA_TERMS_MAX)
            offset = dim_const(dims, fit[i].top - fit[i].bytes[1]);
        fit[i].item->offset = offset;
        fit[i].end = fit_end(dims, fit[i].item);
        total = fit_larger(dims, total, fit[i].end);
    }
    return total;
}
