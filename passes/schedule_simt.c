// Candidates of form "simt" of family "contract": tiles, and what an invocation keeps of them in
// registers.
//
// The cost is cycles of one compute unit, which makes 128 multiply-adds in one. Its numbers were
// fitted to products and convolutions on an H200; what they say is general. A warp issues its
// multiply-adds, its reads of workgroup memory and its share of the operands' way there. With two
// stages a workgroup alone also waits for a part of a load's latency, which others hide; with one
// it waits for all of it.
#include "passes/contract_shape.h"
#include "passes/lower_simt.h"
#include "passes/schedule.h"

#include <math.h>

enum {
    SIMT_READ = 5,        // multiply-adds in the time of one read of workgroup memory
    SIMT_BARRIER = 60,    // of a tile of K, with what stands around it
    SIMT_WAIT = 900,      // of a load, in cycles
    SIMT_START = 1500,    // of a workgroup
    SIMT_NEAR = 20,       // bytes a cycle from the L2
    SIMT_FILE = 65536,    // registers of a unit
    SIMT_REGISTERS = 240, // most of an invocation
    SIMT_FULL = 224,      // past which it slows down
    SIMT_SUMS = 128,      // most of an invocation
    SIMT_SUMS_SMALL = 16, // the same for processors and for devices that are not expected
    SIMT_EDGE = 16,       // registers to ask about the end of K
    SIMT_INVOCATIONS = 2048,
    SIMT_WORDS = 16, // words of operands under way in an invocation past which it slows down
    SIMT_DEEP = 36,  // most of tile_k with two stages
    SIMT_STEP = 128  // most K of a trip of the loop
};

typedef struct SimtSizes {
    double batch, m, n; // n: columns
} SimtSizes;

// One operand's way: how far its tiles lie evenly, and multiply-adds in the time of one element.
typedef struct SimtLoad {
    int64_t turn; // K of which tiles must be multiples to lie evenly; 0: they never do
    double even, uneven;
    bool vector; // four neighbours can be read at once
    bool k_fast;
} SimtLoad;

typedef struct SimtSite {
    ScheduleSite *site;
    ContractShape shape;
    SimtSizes usual, largest; // sizes to reckon with
    double k;
    SimtLoad x, y;
    bool bounded; // the result's size is, so that K may be split
    bool last;    // only devices without the fragments that the target lists get here
    double best;  // of the costs so far
    uint8_t whole[SIMT_STEP + 1]; // by K of a trip: 0 not asked, 1 no, 2 yes
    double read;                  // cycles to read both operands once, on a device
} SimtSite;

static SimtLoad simt_load(const SimtSite *c, ValueId operand, bool columns) {
    DimTable *dims = c->site->dims;
    const Graph *g = c->site->graph;
    SimtLoad load = {.even = 10, .uneven = 30, .k_fast = contract_k_fast(g, &c->shape, operand)};
    ValueId base;
    View view;
    load.turn = contract_turn(g, &c->shape, operand);
    if (!graph_view(g, operand, &base, &view)) return load;
    unsigned digits = 0;
    for (uint8_t d = 0; d < view.digits; d++) digits += !dim_is(dims, view.digit[d].stride, 0);
    load.uneven = 8 + 6.0 * view.guards + (digits > 3 ? 3.0 * (digits - 3) : 0);
    Dim fast = load.k_fast ? c->shape.k : columns ? c->shape.n : c->shape.m;
    load.vector = !view.guards && !view.inner && dim_divides(dims, 4, fast);
    if (load.vector && !load.k_fast) load.even = 2.5; // rows are stored as they are read
    return load;
}

static double simt_words(const Schedule *s, uint32_t tile) { // of an invocation
    return ceil((double)tile * s->tile_k / s->local);
}

static bool simt_even(const SimtLoad *load, const Schedule *s) {
    return load->turn && s->tile_k % load->turn == 0;
}

static double simt_moves(const SimtLoad *load, const Schedule *s, uint32_t tile) {
    return simt_words(s, tile) * (simt_even(load, s) ? load->even : load->uneven);
}

static double simt_reads(uint32_t count) {
    return count % 4 == 0 ? count / 4.0 : count % 2 == 0 ? count / 2.0 : count;
}

// Whether no tile reaches past the end of K, so that nothing is asked about it.
static bool simt_whole(SimtSite *c, const Schedule *s) {
    uint32_t step = s->tile_k * (s->stages > 1 ? s->unroll : 1);
    if (step > SIMT_STEP) return false;
    if (!c->whole[step]) c->whole[step] = dim_divides(c->site->dims, step, c->shape.k) ? 2 : 1;
    return c->whole[step] == 2;
}

// Registers for the places of one operand's loads.
static double simt_places(const SimtLoad *load, const Schedule *s, uint32_t tile) {
    bool vector = load->vector && (!load->k_fast || s->tile_k % 4 == 0);
    return simt_words(s, tile) / (vector ? 4 : 1);
}

static double simt_registers(SimtSite *c, const Schedule *s) {
    double words = simt_words(s, s->tile_m) + simt_words(s, s->tile_n);
    double line = s->reg_m + s->reg_n;
    double places = simt_places(&c->x, s, s->tile_m) + simt_places(&c->y, s, s->tile_n);
    return s->reg_m * s->reg_n + (s->stages > 1 ? 2 : 1) * line + words + places + 22 +
           (simt_whole(c, s) ? 0 : SIMT_EDGE);
}

// Work of one invocation on one tile of K, in multiply-adds.
static double simt_work(SimtSite *c, const Schedule *s) {
    double products = s->reg_m * s->reg_n * (s->reg_n > 8 ? 1.12 : 1);
    double words = simt_words(s, s->tile_m) + simt_words(s, s->tile_n);
    double reads = simt_reads(s->reg_m) + simt_reads(s->reg_n);
    double work = s->tile_k * (products + SIMT_READ * reads) + SIMT_BARRIER +
                  simt_moves(&c->x, s, s->tile_m) + simt_moves(&c->y, s, s->tile_n);
    if (!simt_whole(c, s)) work += 4 * words;
    if (s->stages > 1 && simt_registers(c, s) > SIMT_FULL) work *= 1.3;
    if (s->stages > 1 && words > SIMT_WORDS) work *= 1 + 0.05 * (words - SIMT_WORDS);
    if (s->stages <= 1 && words > 24) work *= 1 + 0.02 * (words - 24);
    return work;
}

// Cycles of a tile of K while `together` workgroups share a unit, whose four schedulers take warps
// of 32 in turn.
static double simt_tile(SimtSite *c, const Schedule *s, double together) {
    double work = simt_work(c, s), warps = s->local / 32.0;
    double bytes = 4.0 * s->tile_k * (s->tile_m + s->tile_n);
    double all = fmax(work * ceil(together * warps / 4), together * bytes / SIMT_NEAR);
    if (s->stages > 1) return hypot(all, SIMT_WAIT / together);
    return 1.15 * fmax(all, work * ceil(warps / 4) + SIMT_WAIT);
}

static double simt_parts(const Schedule *s) {
    return s->split_k > 1 ? s->split_k : 1;
}

static double simt_groups(const Schedule *s, SimtSizes size) {
    return ceil(size.m / s->tile_m) * ceil(size.n / s->tile_n) * size.batch * simt_parts(s);
}

static double simt_together(SimtSite *c, const Schedule *s) {
    double by_file = floor(SIMT_FILE / simt_registers(c, s) / s->local);
    return fmax(1, fmin(by_file, floor((double)SIMT_INVOCATIONS / s->local)));
}

static double simt_cost_of(SimtSite *c, const Schedule *s, SimtSizes size) {
    const Target *target = c->site->target;
    double groups = simt_groups(s, size), trips = s->stages > 1 ? s->unroll : 1;
    double tiles = ceil(c->k / simt_parts(s) / (s->tile_k * trips)) * trips;
    double epilogue = 4.0 * s->reg_m * s->reg_n;
    if (target->compute_units == 0) { // vectors of a processor: only the work counts
        double full = groups * s->local / 64;
        double work = simt_work(c, s) - SIMT_BARRIER + 20;
        return (tiles * work + epilogue + 50) * (full < 1 ? 1 : ceil(full * 4) / 4);
    }
    double each = groups / target->compute_units; // workgroups of one compute unit
    if (each < 8) each = ceil(each);
    double together = simt_together(c, s),
           rounds = each < 8 ? floor(each / together) : each / together;
    double rest = each - rounds * together;
    double cost = rounds * (SIMT_START + tiles * simt_tile(c, s, together));
    if (rest > 0) cost += SIMT_START + tiles * simt_tile(c, s, rest);
    cost += each * epilogue * s->local / 128.0;
    cost = schedule_behind_memory(cost, c->read);
    return cost + schedule_split_cost(c->site, size.m * size.n * size.batch, s->split_k);
}

// One schedule serves all sizes: the middle of what it costs at usual ones and, with as much work,
// at the largest.
static double simt_cost(SimtSite *c, const Schedule *s) {
    const SimtSizes *a = &c->usual, *b = &c->largest;
    double share = a->batch * a->m * a->n / (b->batch * b->m * b->n);
    if (a->batch == b->batch && a->m == b->m && a->n == b->n) return simt_cost_of(c, s, *a);
    return sqrt(simt_cost_of(c, s, *a) * share * simt_cost_of(c, s, *b));
}

static const char *simt_math(const SimtSite *c) {
    bool wide = graph_value(c->site->graph, c->shape.x)->type.dtype == DT_F32;
    return c->site->fast && wide ? "; math fast: made in f32" : "";
}

static const char *simt_why(SimtSite *c, const Schedule *s, double cost) {
    const SimtSizes *size = &c->usual;
    double units = c->site->target->compute_units, products = size->m * size->n * size->batch;
    double made = simt_groups(s, *size) / simt_parts(s) * s->tile_m * s->tile_n;
    unsigned wanted = (unsigned)(100 * products / made);
    if (!units)
        return arena_printf(c->site->arena, "%u %% of the products made are wanted", wanted);
    return arena_printf(
        c->site->arena,
        "%.0f %% of the units' multiply-adds: %.0f workgroups, up to %.0f at a time "
        "on each of %.0f units; %u %% of the products made are wanted%s%s",
        100 * products * c->k / 128 / units / cost, simt_groups(s, *size), simt_together(c, s),
        units, wanted,
        schedule_split_why(c->site, simt_groups(s, *size) / simt_parts(s), s->split_k),
        simt_math(c));
}

// What costs much more than another candidate is not listed.
static void simt_add(SimtSite *c, const Schedule *s) {
    double cost = simt_cost(c, s);
    if (c->best > 0 && cost > 1.5 * c->best) return;
    bool better = c->best == 0 || cost < c->best;
    const char *why = better || c->site->listed ? simt_why(c, s, cost) : NULL;
    Candidate candidate = {.schedule = *s, .cost = cost, .why = why};
    if (schedule_add_guarded(c->site, candidate) && better) c->best = cost;
}

static bool simt_fits(SimtSite *c, const Schedule *s) {
    const Target *target = c->site->target;
    uint32_t wider = s->tile_m > s->tile_n ? s->tile_m : s->tile_n;
    if (4 * simt_words_most(s) > target->shared_bytes) return false;
    if ((uint64_t)s->tile_k * wider > (uint64_t)SIMT_SLOTS_MAX * s->local) return false;
    return !target->compute_units || simt_registers(c, s) <= SIMT_REGISTERS;
}

static void simt_candidate(SimtSite *c, Schedule s) {
    if (!simt_fits(c, &s)) return;
    simt_add(c, &s);
    double groups = simt_groups(&s, c->usual), tiles = ceil(c->k / s.tile_k);
    for (s.split_k = 2; s.split_k <= 16 && 4 * s.split_k <= tiles; s.split_k *= 2) {
        bool enough = 2 * groups * s.split_k >= c->site->target->compute_units;
        if (c->bounded && enough && schedule_split_pays(c->site, groups, s.split_k))
            simt_add(c, &s);
    }
}

static int64_t simt_turn(const SimtSite *c) { // of both operands; 0: tiles do not lie evenly
    int64_t a = c->x.turn, b = c->y.turn, x = a, y = b;
    if (!a || !b) return 0;
    while (y) {
        int64_t rest = x % y;
        x = y, y = rest;
    }
    return a / x * b <= SIMT_DEEP ? a / x * b : 0;
}

static uint32_t simt_unroll(uint32_t tile_k) {
    uint32_t unroll = tile_k < 9 ? tile_k : 9;
    while (tile_k % unroll) unroll--;
    return unroll;
}

static void simt_one_stage(SimtSite *c, Schedule s) {
    bool device = c->site->target->compute_units > 0;
    int64_t k, turn = simt_turn(c);
    s.tile_k = 16;
    if (dim_is_const(c->site->dims, c->shape.k, &k) && k > 0) {
        if (k <= 32)
            s.tile_k = (uint32_t)k; // one tile, nothing wasted
        else
            while (s.tile_k > 8 && k % s.tile_k) s.tile_k /= 2;
    }
    if (device && k > 32 && turn > 1 && s.tile_k % turn)
        s.tile_k = (uint32_t)((16 + turn - 1) / turn * turn);
    while (s.tile_k > 4 && 4 * simt_words_most(&s) > c->site->target->shared_bytes) s.tile_k /= 2;
    s.unroll = device && !c->last ? simt_unroll(s.tile_k) : 1;
    simt_candidate(c, s);
}

static void simt_two_stages(SimtSite *c, Schedule s) {
    int64_t turn = simt_turn(c);
    if (!turn || c->last || !c->site->target->compute_units) return;
    if (dim_bounds(c->site->dims, c->shape.k).lo < 1) return;
    s.stages = 2, s.unroll = 2;
    for (int64_t depth = (8 + turn - 1) / turn * turn; depth <= SIMT_DEEP; depth *= 2) {
        s.tile_k = (uint32_t)depth;
        if (simt_words(&s, s.tile_m) + simt_words(&s, s.tile_n) <= 2 * SIMT_WORDS)
            simt_candidate(c, s);
    }
}

static void simt_tiles(SimtSite *c, uint32_t reg_m, uint32_t reg_n) {
    const Target *target = c->site->target;
    bool device = target->compute_units > 0;
    uint32_t most = target->max_invocations < 256 ? target->max_invocations : 256;
    for (uint32_t local = 64; local <= most; local *= 2)
        for (uint32_t across = 4; across <= local; across *= 2) {
            Schedule s = {.form = "simt", .local = local, .reg_m = reg_m, .reg_n = reg_n, .vec = 4};
            s.tile_m = local / across * reg_m, s.tile_n = across * reg_n;
            if (schedule_refused(&s, target)) continue;
            bool wide = s.tile_m >= 2 * c->largest.m || s.tile_n >= 2 * c->largest.n;
            bool flat = s.tile_n > 8 * s.tile_m && s.tile_m < c->largest.m;
            bool high = s.tile_m > 8 * s.tile_n && s.tile_n < c->largest.n;
            bool large = s.tile_m > 256 || s.tile_n > 256;
            if (device && (large || ((wide || flat || high) && c->best > 0))) continue;
            simt_one_stage(c, s);
            simt_two_stages(c, s);
        }
}

// Whether every device with the target's features takes a form with fragments.
static bool simt_is_last(const SimtSite *c) {
    const ScheduleSite *site = c->site;
    if (graph_value(site->graph, c->shape.x)->type.dtype == DT_F32) return false;
    for (uint32_t i = 0; i < site->list.len; i++) {
        const ScheduleGuard *guard = &site->list.at[i].guard;
        if (guard->fragment.m && !guard->conditions) return true;
    }
    return false;
}

void schedule_simt(ScheduleSite *site, const ContractShape *shape) {
    DimTable *dims = site->dims;
    SimtSite c = {.site = site, .shape = *shape, .k = schedule_size(site, shape->k)};
    c.usual = (SimtSizes){schedule_size(site, shape->batch), schedule_size(site, shape->m),
                          schedule_size(site, shape->windows) * shape->cells};
    c.largest = (SimtSizes){schedule_largest(site, shape->batch), schedule_largest(site, shape->m),
                            schedule_largest(site, shape->windows) * shape->cells};
    if (contract_joins(site->graph, shape)) {
        c.usual.n *= c.usual.batch, c.usual.batch = 1;
        c.largest.n *= c.largest.batch, c.largest.batch = 1;
    }
    if (site->target->compute_units) c.read = schedule_read_cost(site, shape->x, shape->y);
    c.x = simt_load(&c, shape->x, false), c.y = simt_load(&c, shape->y, true);
    c.bounded = !shape->pool && dim_is_const(dims, shape->m, NULL) &&
                dim_is_const(dims, shape->n, NULL) && dim_is_const(dims, shape->batch, NULL);
    c.last = simt_is_last(&c);
    bool small = c.last || !site->target->compute_units; // what never runs is short code instead
    uint32_t registers = small ? SIMT_SUMS_SMALL : SIMT_SUMS, cells = shape->cells;
    for (uint32_t reg_m = SIMT_REG_MAX; reg_m >= 1; reg_m /= 2)
        for (uint32_t reg_n = cells > 1 ? cells : 1; reg_n <= SIMT_REG_MAX; reg_n *= 2)
            if (reg_m * reg_n <= registers || (reg_n == cells && reg_m == 1))
                simt_tiles(&c, reg_m, reg_n);
}
