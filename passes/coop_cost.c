// The model: a step of a workgroup takes a time by itself (latency of its loads, barriers, moving
// its bytes, its own products), during which the other workgroups of the unit run; and a time of
// the unit that it shares with them (products, fragments read, bytes brought in). What a step takes
// with `together` workgroups on the unit is a smooth maximum of the two.
//
// The numbers were fitted to 407 schedules of 34 products timed on an H200, f16, bf16 and i8, both
// orders of the second operand, operands in memory or in the L2: RMS error 16 %, and the schedule
// chosen takes 2 % longer than the best one tried in the mean, 12 % at most.
#include "passes/coop_cost.h"

#include <math.h>

enum {
    COST_RATE = 1200,     // multiply-adds of 16-bit fragments a cycle
    COST_READ = 122,      // bytes of workgroup memory read as fragments a cycle
    COST_LATENCY = 694,   // of a step that waits for the loads of the step before
    COST_CARRIED = 157,   // the same where fragments are carried, so that products hide most of it
    COST_START = 4700,    // of a workgroup, its way out included
    COST_FILL = 2900,     // more of it where fragments are carried
    COST_REGISTERS = 244, // of an invocation; past it they spill into workgroup memory
    COST_FILE = 65536,    // registers of a unit
    COST_SHARED = 228 * 1024,
    COST_INVOCATIONS = 2048,
    COST_STRETCH = 1024,  // of K, gone round from places of their own by tiles that share operands
    COST_EACH_PART = 400, // of the dispatch, for each part of K
    COST_WAIT = 200       // of a step of a part, in memory behind the L2
};
static const double cost_rate = 23.5;      // bytes moved a cycle at most
static const double cost_staggered = 26;   // where tiles begin at different places along K
static const double cost_line = 20;        // bytes that the begin of a line of memory costs
static const double cost_fragments = 0.24; // part of fragments' reads that carrying does not hide
// Parts of a workgroup's own products and bytes that nothing of its own hides, with one stage and
// with carried fragments; the part of others' bytes that a step waits for.
static const double cost_products[2] = {0.87, 0.46}, cost_moved[2] = {0.25, 0.55};
static const double cost_others = 0.08;
// How much longer the steps of parts of K take, sums of parts left aside (0 to 17 % at 512 rows),
// with one stage and with carried fragments.
static const double cost_apart[2] = {1.12, 1.04};
// How much longer steps of less than four subgroups take, with others of their kind on the unit
// (24 to 44 %).
static const double cost_narrow = 1.25;
// Of the time of a part's bytes that its products and fragments do not cover, what a step waits.
static const double cost_unhidden = 0.5;
// Four subgroups below one another read the same columns: 1 to 4 % faster in five shapes.
static const double cost_column = 0.99;

static double cost_moves(const CoopOperand *o, const Schedule *s) { // of an invocation in a step
    CoopTile t = coop_tile(o, s);
    return ceil((double)t.lines * t.line / t.parts / s->local);
}

// What moves are put together from element by element, they all need at once.
static double cost_move_registers(const CoopOperand *o, const Schedule *s) {
    return (o->vector ? 4 * coop_ahead(s) + 1 : 10) * cost_moves(o, s);
}

static unsigned cost_registers(const CoopShape *shape, const Schedule *s) {
    double bytes = dtype_bytes(shape->ab), own = s->subgroup;
    double sums = s->warp_m * s->warp_n / own;
    double fragments = (s->warp_m + s->warp_n) * s->frag_k * bytes / 4 / own;
    if (s->stages > 1) fragments *= 2.0 * s->tile_k / s->frag_k;
    double moves = cost_move_registers(&shape->x, s) + cost_move_registers(&shape->y, s);
    return (unsigned)(sums + fragments + moves + 30 + 7) & ~7u;
}

static double cost_side_bytes(const CoopOperand *o, const Schedule *s) {
    CoopTile t = coop_tile(o, s);
    double elements = (double)t.rows * s->tile_k, bytes = elements * dtype_bytes(o->dtype);
    if (!o->vector) return 8 * elements;
    double lines = (double)t.lines / t.parts;
    return (o->linear ? bytes : 1.3 * bytes) + cost_line * lines;
}

double coop_step_bytes(const CoopShape *shape, const Schedule *s) {
    return cost_side_bytes(&shape->x, s) + cost_side_bytes(&shape->y, s);
}

static double cost_power(double x) { // to the 4.5th
    return x * x * x * x * sqrt(x);
}

static double cost_warps(const Schedule *s) {
    return (double)s->local / s->subgroup;
}

static double cost_step_products(const CoopShape *shape, const Schedule *s) {
    return (double)s->tile_m * s->tile_n * s->tile_k * dtype_bytes(shape->ab) / 2 / COST_RATE;
}

// A subgroup has a quarter of the rate.
static double cost_own_products(const CoopShape *shape, const Schedule *s) {
    return cost_step_products(shape, s) * fmax(1, 4 / cost_warps(s));
}

static double cost_reads(const CoopShape *shape, const Schedule *s) {
    double lines = cost_warps(s) * (s->warp_m + s->warp_n);
    return lines * s->tile_k * dtype_bytes(shape->ab) / COST_READ;
}

static double cost_step(const CoopShape *shape, const Schedule *s, double together) {
    double products = cost_step_products(shape, s), own = cost_own_products(shape, s);
    double reads = cost_reads(shape, s);
    double rate = s->stagger > 1 ? cost_staggered : cost_rate;
    double bytes = coop_step_bytes(shape, s) / rate;
    bool carried = s->stages > 1;
    double alone = (carried ? COST_CARRIED : COST_LATENCY) / (double)coop_ahead(s) +
                   cost_products[carried] * own + cost_moved[carried] * bytes +
                   cost_others * (together - 1) * bytes;
    if (carried) alone += cost_fragments * reads;
    double busy = together * (products + reads);
    double step = pow(cost_power(busy) + cost_power(alone) + cost_power(together * bytes), 1 / 4.5);
    if (cost_warps(s) == 4 && s->tile_n == s->warp_n) step *= cost_column;
    return cost_warps(s) < 4 && together > 1 ? step * cost_narrow : step;
}

static double cost_together(const CoopShape *shape, const Schedule *s, unsigned registers) {
    double by_file = floor((double)COST_FILE / (registers * s->local));
    double by_shared = floor((double)COST_SHARED / (coop_shared_bytes(shape, s) + 1024));
    double by_number = floor((double)COST_INVOCATIONS / s->local);
    double most = fmin(by_file, fmin(by_shared, by_number));
    return fmax(1, fmin(most, COOP_TOGETHER_MAX));
}

static double cost_parts(const Schedule *s) {
    return s->split_k > 1 ? s->split_k : 1;
}

double coop_steps(const Schedule *s, double k) {
    double span = coop_stretch(s);
    return ceil(k / (cost_parts(s) * span)) * span / s->tile_k;
}

bool coop_pace(const CoopShape *shape, const Schedule *s, CoopPace *out) {
    *out = (CoopPace){.shape = shape, .registers = cost_registers(shape, s)};
    if (out->registers > COST_REGISTERS) return false;
    out->together = cost_together(shape, s, out->registers);
    return true;
}

static double cost_pace(CoopPace *pace, const Schedule *s, double together) {
    double *step = &pace->step[s->stagger > 1][(int)together];
    if (*step <= 0) *step = cost_step(pace->shape, s, together);
    return *step;
}

// What a workgroup that makes a part of K waits for memory. Carried fragments of eight subgroups
// hide it.
static double cost_waits(const CoopShape *shape, const Schedule *s, double steps) {
    if (s->split_k < 2 || (s->stages > 1 && cost_warps(s) >= 8)) return 0;
    double hidden = cost_own_products(shape, s) + cost_reads(shape, s);
    double bytes = coop_step_bytes(shape, s) / cost_rate;
    return steps * (COST_WAIT / (double)coop_ahead(s) + cost_unhidden * fmax(0, bytes - hidden));
}

void coop_cost_at(CoopPace *pace, const Schedule *s, CoopSizes size, double units, CoopCost *out) {
    *out = (CoopCost){.registers = pace->registers};
    out->groups = ceil(size.m / s->tile_m) * ceil(size.n / s->tile_n) * size.batch * cost_parts(s);
    double together = pace->together, steps = coop_steps(s, size.k);
    double each = ceil(out->groups / units), rounds = floor(each / together);
    double rest = each - rounds * together;
    double start = COST_START + (s->stages > 1 ? COST_FILL : 0) + cost_waits(pace->shape, s, steps);
    if (s->split_k > 1) {
        steps *= cost_apart[s->stages > 1];
        out->cycles = COST_EACH_PART * s->split_k;
    }
    if (rounds > 0) out->cycles += rounds * (start + steps * cost_pace(pace, s, together));
    if (rest > 0) out->cycles += start + steps * cost_pace(pace, s, rest);
    out->together = fmin(together, each);
}

bool coop_cost(const CoopShape *shape, const Schedule *s, CoopSizes size, double units,
               CoopCost *out) {
    CoopPace pace;
    if (!coop_pace(shape, s, &pace)) return false;
    coop_cost_at(&pace, s, size, units, out);
    return true;
}

// Rows and columns of elements that the tiles of a rectangle of so many tiles read.
static double cost_read(const Schedule *s, double rows, double columns) {
    return rows * s->tile_m + columns * s->tile_n;
}

uint32_t coop_raster(const CoopCost *cost, const Schedule *s, CoopSizes size, double units) {
    double rows = ceil(size.m / s->tile_m), columns = ceil(size.n / s->tile_n);
    double running = units * cost->together;
    if (rows * columns <= running || rows < 2 || columns < 2) return 0;
    uint32_t raster = 2;
    while (raster * raster * 2 <= running * s->tile_n / s->tile_m) raster *= 2;
    if (raster > rows) raster = (uint32_t)rows;
    double plain =
        columns < running ? cost_read(s, running / columns, columns) : cost_read(s, 1, running);
    return cost_read(s, raster, running / raster) < 0.8 * plain ? raster : 0;
}

// Short loops of constant length are left alone: two of them (8 and 24 trips) took two to three
// times as long on an H200; why is not known.
uint32_t coop_stagger(DimTable *dims, const CoopShape *shape, const Schedule *s, double k) {
    Schedule next = *s;
    uint32_t best = 0;
    if (cost_parts(s) < 2 && k < (s->stages > 1 ? 16.0 : 32.0) * coop_span(s)) return 0;
    for (next.stagger = 2; next.stagger <= COOP_STAGGER_MAX; next.stagger *= 2) {
        unsigned stretch = coop_stretch(&next);
        if (stretch > (next.stagger <= 8 ? 2 * COST_STRETCH : COST_STRETCH)) break;
        if (coop_may_stagger(dims, shape, &next)) best = next.stagger;
    }
    return best;
}
