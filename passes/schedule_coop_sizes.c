// Which schedule of form "coop" serves which sizes. Where M (or N, or the batch) is known when a
// run is recorded, its range is cut at powers of two: what is best for 16 rows takes ten times as
// long for 512. Neighbouring ranges share a schedule where that costs none of them much, as each
// more is a kernel more.
#include "passes/schedule_coop.h"

#include <math.h>
#include <string.h>

enum {
    SIZES_FIRST = 16, // rows or columns that the first range goes to
    SIZES_TILE = 128, // past so many tiles a unit, the number of tiles does not matter any more
    SIZES_TILES = 8,
    SIZES_RANGES = 4,   // rather not more
    SIZES_SMALLEST = 5, // times what the smallest sizes lose: there time matters most
    SIZES_LONG = 3,     // times what sizes lose that take long: there it is most time
    SIZES_CYCLES = 100000,
    SIZES_PARTS = 16, // of K, at most
    SIZES_STEPS = 4   // of each part, at least
};
// Of a range's least time, for a schedule that others share: the cost is no surer than this. More,
// where there would be too many ranges; and what is slower at each point is not kept.
static const double sizes_share = 1.10, sizes_most = 1.5;

// ---- points ----------------------------------------------------------------------------------

static double *sizes_of(CoopSizes *size, const ContractShape *shape, Dim varies) {
    return varies == shape->m ? &size->m : varies == shape->n ? &size->n : &size->batch;
}

static bool sizes_enough(const CoopSite *c, CoopSizes size) {
    double tiles = ceil(size.m / SIZES_TILE) * ceil(size.n / SIZES_TILE) * size.batch;
    return tiles >= (double)SIZES_TILES * c->site->target->compute_units;
}

static void sizes_point(CoopSite *c, int64_t value, int64_t top) {
    const ContractShape *shape = &c->shape.contract;
    CoopPoint *p = &c->point[c->points++];
    *p = (CoopPoint){.size = c->usual, .top = top};
    p->most =
        (CoopSizes){schedule_largest(c->site, shape->batch), schedule_largest(c->site, shape->m),
                    schedule_largest(c->site, shape->n), c->usual.k};
    if (c->varies == DIM_NONE) return;
    *sizes_of(&p->size, shape, c->varies) = (double)value;
    *sizes_of(&p->most, shape, c->varies) = (double)top;
}

static Dim sizes_varies(const CoopSite *c, bool recorded) {
    const ContractShape *shape = &c->shape.contract;
    const Dim size[3] = {shape->m, shape->n, shape->batch};
    for (unsigned i = 0; i < 3; i++)
        if (!dim_is_const(c->site->dims, size[i], NULL) &&
            (!recorded || schedule_recorded(c->site, size[i])))
            return size[i];
    return DIM_NONE;
}

// Ranges end at multiples of what the size is always a multiple of.
static void sizes_ranges(CoopSite *c) {
    DimTable *dims = c->site->dims;
    DimBounds bounds = dim_bounds(dims, c->varies);
    int64_t unit = dim_multiple(dims, c->varies), first = unit < 1 ? 1 : unit;
    if (unit < 1) unit = 1;
    if (c->varies != c->shape.contract.batch && first < SIZES_FIRST) first = SIZES_FIRST;
    int64_t top = first;
    for (; top < bounds.hi && c->points < COOP_POINTS_MAX - 1; top *= 2) {
        if (top < bounds.lo) continue;
        sizes_point(c, top / unit * unit, top);
        if (sizes_enough(c, c->point[c->points - 1].size)) break;
    }
    int64_t last = top < bounds.hi / 2 ? 2 * top : bounds.hi;
    sizes_point(c, last < unit ? last : last / unit * unit, bounds.hi);
}

void coop_points(CoopSite *c, bool apart) {
    ScheduleSite *site = c->site;
    const ContractShape *shape = &c->shape.contract;
    c->usual = (CoopSizes){schedule_size(site, shape->batch), schedule_size(site, shape->m),
                           schedule_size(site, shape->n), schedule_size(site, shape->k)};
    c->varies = sizes_varies(c, apart);
    c->apart = apart && c->varies != DIM_NONE;
    if (c->apart) {
        sizes_ranges(c);
        return;
    }
    c->varies = sizes_varies(c, false);
    int64_t most = c->varies == DIM_NONE ? 0 : dim_bounds(site->dims, c->varies).hi;
    if (c->varies != DIM_NONE) {
        double usual = *sizes_of(&c->usual, shape, c->varies);
        sizes_point(c, (int64_t)usual, most);
    }
    sizes_point(c, most, most);
}

// ---- candidates ------------------------------------------------------------------------------

static unsigned sizes_parts(const Schedule *s) {
    return s->split_k > 1 ? s->split_k : 1;
}

static double sizes_groups(CoopSizes size, const Schedule *s) {
    return ceil(size.m / s->tile_m) * ceil(size.n / s->tile_n) * size.batch;
}

// Of workspace, with the most that the point may stand for.
static double sizes_workspace(const CoopPoint *p, const Schedule *s) {
    if (s->split_k < 2) return 0;
    return sizes_groups(p->most, s) * s->tile_m * s->tile_n * 4.0 * s->split_k;
}

// With what memory and the sums of parts take.
static void sizes_cost(const CoopSite *c, CoopPace *pace, const Schedule *s, CoopSizes size,
                       CoopCost *out) {
    double units = c->site->target->compute_units;
    coop_cost_at(pace, s, size, units, out);
    double bytes = (size.m + size.n) * size.k * size.batch * dtype_bytes(c->shape.ab);
    double memory = bytes / schedule_memory_rate(c->site) / units;
    out->cycles = schedule_behind_memory(out->cycles, memory);
    out->cycles += schedule_split_cost(c->site, size.m * size.n * size.batch, sizes_parts(s));
}

static void sizes_try(CoopSite *c, CoopPace *pace, Schedule s) {
    CoopTry one;
    bool kept = c->site->listed, small = false, large = false;
    double keep = c->points > 1 ? sizes_most : 1;
    s.stagger = coop_stagger(c->site->dims, &c->shape, &s, c->usual.k);
    for (uint32_t i = 0; i < c->points; i++) {
        CoopPoint *p = &c->point[i];
        one.cycles[i] = INFINITY;
        if (s.split_k > 1 && !schedule_split_pays(c->site, sizes_groups(p->size, &s), s.split_k))
            continue;
        if (sizes_workspace(p, &s) > (double)c->site->max_workspace) {
            large = true;
            continue;
        }
        CoopCost cost;
        sizes_cost(c, pace, &s, p->size, &cost);
        one.cycles[i] = cost.cycles, small = true;
        if (p->least == 0 || cost.cycles < p->least) p->least = cost.cycles;
        kept |= cost.cycles <= keep * p->least;
    }
    if (!small) {
        c->site->too_large += large;
        return;
    }
    c->tried++;
    if (!kept) return;
    one.schedule = s;
    vec_push(c->site->arena, &c->tries, one);
}

static bool sizes_few(const CoopSite *c, const Schedule *s) {
    double units = c->site->target->compute_units;
    for (uint32_t i = 0; i < c->points; i++)
        if (sizes_groups(c->point[i].size, s) * sizes_parts(s) <= 2 * units) return true;
    return false;
}

// Parts of K are few steps. Where their workgroups are few as well, these wait for memory: loads
// two steps ahead, of operands that are loaded ahead at all.
void coop_try(CoopSite *c, Schedule s) {
    CoopPace pace, far;
    Schedule ahead = s;
    if (!coop_pace(&c->shape, &s, &pace)) return;
    ahead.ahead = 2;
    bool may = s.stages == 1 && c->shape.x.vector && c->shape.y.vector &&
               coop_pace(&c->shape, &ahead, &far);
    double steps = coop_steps(&s, c->usual.k);
    sizes_try(c, &pace, s);
    for (s.split_k = 2; s.split_k <= SIZES_PARTS && SIZES_STEPS * s.split_k <= steps;
         s.split_k *= 2) {
        sizes_try(c, &pace, s);
        ahead.split_k = s.split_k;
        if (may && sizes_few(c, &ahead)) sizes_try(c, &far, ahead);
    }
}

// ---- the choice ------------------------------------------------------------------------------

// How much longer than with the best of each point, at the worst of the points.
static double sizes_ratio(const CoopSite *c, const CoopTry *one, uint32_t from, uint32_t to) {
    double most = 0;
    for (uint32_t i = from; i <= to; i++) {
        double least = c->point[i].least, lost = one->cycles[i] / least - 1;
        if (c->apart && i == 0)
            lost *= SIZES_SMALLEST;
        else if (c->apart && least > SIZES_CYCLES)
            lost *= SIZES_LONG;
        most = fmax(most, 1 + lost);
    }
    return most;
}

static const CoopTry *sizes_best(const CoopSite *c, uint32_t from, uint32_t to) {
    const CoopTry *best = NULL;
    double least = INFINITY;
    for (uint32_t i = 0; i < c->tries.len; i++) {
        double ratio = sizes_ratio(c, &c->tries.at[i], from, to);
        if (ratio < least) least = ratio, best = &c->tries.at[i];
    }
    return best;
}

static const char *sizes_why(const CoopSite *c, const Schedule *s, const CoopPoint *p,
                             const CoopCost *cost) {
    double work = p->size.m * p->size.n * p->size.batch * p->size.k;
    const char *at = "";
    if (c->varies != DIM_NONE)
        at = arena_printf(c->site->arena, "at %.0fx%.0fx%.0f ", p->size.m, p->size.n, p->size.k);
    return arena_printf(c->site->arena,
                        "%s%.0f products a cycle of each of %u units: %.0f workgroups, %.0f at a "
                        "time on a unit, %u registers, %u bytes shared%s",
                        at, work / c->site->target->compute_units / cost->cycles,
                        c->site->target->compute_units, cost->groups, cost->together,
                        cost->registers, coop_shared_bytes(&c->shape, s),
                        schedule_split_why(c->site, sizes_groups(p->size, s), s->split_k));
}

// What serves the points up to `to`. Its cost is cycles at a usual size, to compare with those of
// other forms.
static void sizes_add(CoopSite *c, const CoopTry *one, uint32_t from, uint32_t to,
                      uint32_t others) {
    const CoopPoint *p = &c->point[to];
    Schedule s = one->schedule;
    CoopPace pace;
    CoopCost cost;
    if (!coop_pace(&c->shape, &s, &pace)) return;
    s.raster = 0;
    sizes_cost(c, &pace, &s, p->size, &cost);
    s.raster = coop_raster(&cost, &s, p->size, c->site->target->compute_units);
    double share = c->usual.m * c->usual.n * c->usual.batch / p->size.m / p->size.n / p->size.batch;
    Candidate candidate = {.schedule = s, .why = sizes_why(c, &s, p, &cost)};
    candidate.cost = sizes_ratio(c, one, from, to) * p->least * fmin(share, 1);
    candidate.others = others;
    uint32_t shared = coop_shared_bytes(&c->shape, &s);
    ScheduleGuard *guard = &candidate.guard;
    *guard = (ScheduleGuard){.features = c->features,
                             .shared_bytes = shared > 32768 ? shared : 0,
                             .fragment = c->fragment,
                             .conditions = c->conditions};
    memcpy(guard->condition, c->condition, sizeof c->condition);
    if (to + 1 < c->points) {
        Dim top = dim_const(c->site->dims, p->top);
        guard->condition[guard->conditions++] = (Condition){c->varies, top, DIM_LE};
    }
    schedule_add_guarded(c->site, candidate);
}

// The points that one schedule serves, from each of the first on, where none takes longer than
// `share` of its least time. Gives the number of ranges.
static uint32_t sizes_join(const CoopSite *c, double share, uint32_t *last, const CoopTry **best) {
    uint32_t ranges = 0;
    for (uint32_t from = 0; from < c->points; from = last[ranges++] + 1) {
        uint32_t to = c->apart ? from : c->points - 1;
        best[ranges] = sizes_best(c, from, to);
        for (; best[ranges] && to + 1 < c->points; to++) {
            const CoopTry *more = sizes_best(c, from, to + 1);
            if (!more || sizes_ratio(c, more, from, to + 1) > share) break;
            best[ranges] = more;
        }
        last[ranges] = to;
    }
    return ranges;
}

void coop_choose(CoopSite *c) {
    uint32_t last[COOP_POINTS_MAX];
    const CoopTry *best[COOP_POINTS_MAX];
    double share = sizes_share;
    uint32_t ranges = sizes_join(c, share, last, best);
    while (ranges > SIZES_RANGES && share < sizes_most)
        ranges = sizes_join(c, share *= sizes_share, last, best);
    for (uint32_t i = 0; i < ranges; i++) {
        uint32_t from = i ? last[i - 1] + 1 : 0;
        if (!best[i]) continue;
        if (!c->site->listed) sizes_add(c, best[i], from, last[i], c->tried - 1);
        for (uint32_t t = 0; c->site->listed && t < c->tries.len; t++)
            if (isfinite(sizes_ratio(c, &c->tries.at[t], from, last[i])))
                sizes_add(c, &c->tries.at[t], from, last[i], 0);
    }
}
