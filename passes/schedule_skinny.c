// Candidates of family "contract", form "skinny": few rows, y read along K or along N. Under a
// condition on M where M is not constant, so that one package has a form for decoding and one for
// prefilling.
//
// On a device the cost is cycles of one compute unit, as for the other forms: what its workgroups
// read, multiply and convert together bounds them. Numbers were fitted to an H200.
#include "passes/coop_shape.h"
#include "passes/contract_split.h"
#include "passes/schedule.h"

#include <math.h>

enum {
    SKINNY_K_LEAST = 32,
    SKINNY_N_LEAST = 16,
    SKINNY_ROWS_MOST = 16,
    SKINNY_START = 1000,      // cycles of a workgroup, its first loads and its way out
    SKINNY_TURN = 250,        // cycles between workgroups that a unit begins
    SKINNY_END = 1800,        // cycles that units end apart where a workgroup reads SKINNY_LIFE
    SKINNY_LIFE = 8192,       // bytes
    SKINNY_TRIP = 150,        // cycles that a further trip waits for a further row of x
    SKINNY_NEAR = 38,         // bytes a cycle to a unit from all memories
    SKINNY_REGISTERS = 200,   // of an invocation, at most
    SKINNY_STREAM = 32 << 20, // bytes of y, at least, in each stretch of its own
    SKINNY_STREAMS = 8,       // more are no faster
    SKINNY_FILE = 65536,
    SKINNY_INVOCATIONS = 2048
};

typedef struct SkinnySite {
    ScheduleSite *site;
    ContractShape shape;
    double batch, n, k;
    double bytes; // of an element of y
    uint32_t rows, vec;
    bool along_n; // y lies so
    bool bounded; // the result's size is, so that K may be split
    ScheduleGuard guard;
} SkinnySite;

static uint32_t skinny_parts(const Schedule *s) {
    return s->split_k > 1 ? s->split_k : 1;
}

static double skinny_groups(const SkinnySite *c, const Schedule *s) {
    return ceil(c->n / (s->local / s->lanes * s->reg_n)) * c->batch * skinny_parts(s);
}

// K of one trip of the loop.
static double skinny_depth(const SkinnySite *c, const Schedule *s) {
    return (double)s->lanes * s->unroll * (c->along_n ? 1 : s->vec);
}

// A processor: multiply-adds of one invocation.
static double skinny_cost_any(const SkinnySite *c, const Schedule *s) {
    double steps = ceil(c->k / (s->lanes * s->vec)) * s->vec;
    double loads = (double)(c->rows + 2 * s->reg_n) / s->vec * 3;
    double work = steps * (c->rows * s->reg_n + loads);
    work += log2(s->lanes) * c->rows * s->reg_n * (s->subgroup ? 4 : 12) + 50;
    double full = skinny_groups(c, s) * s->local / 64;
    return work * (full < 1 ? 1 : ceil(full * 4) / 4);
}

// Drivers keep a few loads under way, however many there are in a trip.
static double skinny_registers(const SkinnySite *c, const Schedule *s) {
    double words = s->vec * c->bytes / 4, sums = c->rows * s->reg_n;
    if (c->along_n) return 20 + s->unroll * (words + c->rows) + sums;
    double loads = fmin(s->unroll * s->reg_n, 4.0 + s->reg_n);
    sums *= sums * 4 <= 64 ? 4 : 1;
    return 16 + loads * words + sums + s->vec / 2.0 * (s->reg_n + 1);
}

// Bytes of y that a subgroup has under way, a cycle: more where it reads several columns at once,
// and where a trip begins with many loads.
static double skinny_flow(const SkinnySite *c, const Schedule *s) {
    double columns = c->along_n ? 1 : s->reg_n, loads = columns * s->unroll;
    return (0.7 + 0.35 * columns) * loads / (loads + 2.5);
}

// All of y once; x again for each group of columns, from nearer memories; what is under way bounds
// both, and so does arithmetic.
static double skinny_time(const SkinnySite *c, const Schedule *s, double subgroups) {
    const Target *target = c->site->target;
    double elements = c->n * c->k * c->batch / target->compute_units; // of y, for a unit
    double columns = c->along_n ? s->vec : s->reg_n;
    double far = elements * c->bytes, near = far * c->rows / columns;
    double work = c->rows + (c->bytes < 4 ? 1 + c->rows / columns : 0);
    double loads = (c->along_n ? 1 : s->reg_n) * s->unroll;
    double full = schedule_memory_rate(c->site) * subgroups / (subgroups + 2) / (1 + 0.1 / loads);
    double time = fmax(far / full, elements * work / 128);
    time = fmax(time, (far + near) / SKINNY_NEAR);
    return fmax(time, (far + near / 2) / (skinny_flow(c, s) * subgroups));
}

// Beside reading, along K. Workgroups begin one after the other. They do not end together: the more
// each of them reads, the longer some units are idle while others are not.
static double skinny_turns(const SkinnySite *c, const Schedule *s, double reading, double rounds) {
    double groups = skinny_groups(c, s), bytes = c->n * c->k * c->batch * c->bytes;
    double turns = groups / c->site->target->compute_units * SKINNY_TURN;
    double join = 300 + 8.0 * c->rows * s->reg_n + (s->lanes > 32 ? 1.25 * s->lanes : 0);
    double ends = SKINNY_END * log2(1 + bytes / groups / SKINNY_LIFE);
    double trips = ceil(c->k / skinny_depth(c, s) / skinny_parts(s));
    double waits = (c->rows - 1.0) * (trips - 1) * rounds * SKINNY_TRIP;
    return fmax(reading, turns) + join + ends + waits;
}

static double skinny_cost_device(const SkinnySite *c, const Schedule *s) {
    const Target *target = c->site->target;
    double groups = skinny_groups(c, s) / target->compute_units, each = ceil(groups);
    double most = floor(SKINNY_FILE / (skinny_registers(c, s) * s->local));
    most = fmin(fmax(most, 1), SKINNY_INVOCATIONS / s->local);
    double together = fmin(most, each), rounds = ceil(each / together);
    // The last round is not full.
    double uneven = each > most ? (groups + most / 16) / groups : each / groups;
    // Along K, steps behind the last whole trip are made one by one.
    double depth = skinny_depth(c, s) * skinny_parts(s) / (c->along_n ? 1 : s->unroll);
    double past = ceil(c->k / depth) * depth / c->k;
    double cost = skinny_time(c, s, together * s->local / 32) * uneven;
    double join = c->rows * (300 + 6.0 * s->lanes);
    // What is past the end is not read from memory.
    double wasted = (c->along_n ? 0.1 : 0.03) * cost * (past - 1);
    // In many rounds workgroups start and end while others read.
    if (c->along_n)
        cost += (SKINNY_START + join) * (0.85 + 0.15 * fmin(rounds, 3));
    else
        cost = skinny_turns(c, s, cost, rounds);
    return cost + wasted + schedule_split_cost(c->site, c->rows * c->n * c->batch, skinny_parts(s));
}

static void skinny_add(SkinnySite *c, const Schedule *s) {
    ScheduleSite *site = c->site;
    bool device = site->target->compute_units > 0;
    Candidate candidate = {.schedule = *s, .guard = c->guard};
    candidate.cost = device ? skinny_cost_device(c, s) : skinny_cost_any(c, s);
    double alone = skinny_groups(c, s) / skinny_parts(s);
    uint32_t columns = c->along_n ? s->local / s->lanes * s->vec : s->reg_n;
    candidate.why =
        arena_printf(site->arena, "at most %u rows: %u lanes along K for %u columns%s", c->rows,
                     s->lanes, columns, schedule_split_why(site, alone, skinny_parts(s)));
    schedule_add_guarded(site, candidate);
}

// Weights of a model may span more pages than a device keeps addresses of (an H200: some 8 GB).
// Large ones, read as one stream, then wait: 75 us for 272 MB, 62 in four streams.
static uint32_t skinny_streams(const SkinnySite *c, const Schedule *s) {
    if (c->along_n || !c->site->target->compute_units) return 0;
    double tiles = ceil(c->n / (s->local / s->lanes * s->reg_n)), bytes = c->n * c->k * c->bytes;
    uint32_t streams = 1;
    while (streams < SKINNY_STREAMS && bytes >= 2.0 * streams * SKINNY_STREAM &&
           tiles >= 2.0 * streams)
        streams *= 2;
    return streams > 1 ? streams : 0;
}

static void skinny_candidate(SkinnySite *c, Schedule s) {
    const Target *target = c->site->target;
    s.form = "skinny", s.tile_m = c->rows, s.streams = skinny_streams(c, &s);
    if (s.local > target->max_invocations) return;
    if (target->compute_units && skinny_registers(c, &s) > SKINNY_REGISTERS) return;
    if (s.unroll > 1 && c->k < skinny_depth(c, &s) / 2) return; // half of it past the end
    double groups = skinny_groups(c, &s), trips = c->k / skinny_depth(c, &s);
    skinny_add(c, &s);
    for (s.split_k = 2; s.split_k <= 8 && s.split_k <= trips; s.split_k *= 2)
        if (c->bounded && schedule_split_pays(c->site, groups, s.split_k)) skinny_add(c, &s);
}

// Powers of two, and what makes whole trips of K.
static bool skinny_unrolls(const SkinnySite *c, uint32_t step, uint32_t unroll) {
    int64_t k;
    bool whole = dim_is_const(c->site->dims, c->shape.k, &k) && k % ((int64_t)step * unroll) == 0;
    return whole || (unroll & (unroll - 1)) == 0;
}

static void skinny_lanes_along_k(SkinnySite *c, uint32_t lanes, uint32_t vec) {
    const Target *target = c->site->target;
    uint32_t subgroup = schedule_subgroup(target);
    bool device = target->compute_units > 0;
    Schedule s = {.local = lanes < 128 ? 128 : lanes, .lanes = lanes, .vec = vec};
    if (subgroup && s.local % subgroup == 0) s.subgroup = subgroup;
    uint32_t near = s.subgroup && s.subgroup < lanes ? s.subgroup : lanes;
    for (s.reg_n = c->shape.cells; s.reg_n <= (device ? 4 : 8); s.reg_n *= 2)
        for (s.unroll = 1; s.unroll <= (device ? 8 : 1); s.unroll++) {
            // Two loads under way are better than one, whatever the registers.
            if (device && s.unroll == 1 && c->k >= 2.0 * lanes * vec) continue;
            if (c->rows * s.reg_n > near || c->rows * s.reg_n > 32) continue;
            if (skinny_unrolls(c, lanes * vec, s.unroll)) skinny_candidate(c, s);
        }
}

static void skinny_along_k(SkinnySite *c) {
    bool device = c->site->target->compute_units > 0;
    for (uint32_t lanes = device ? 32 : 8; lanes <= 128; lanes *= 2) {
        if (device && lanes > 32 && 2 * c->k < lanes * c->vec) break; // most lanes have no work
        skinny_lanes_along_k(c, lanes, c->vec);
        // One row: half of 16 bytes, in one load, of which twice as many are under way.
        if (device && c->rows == 1 && c->vec * c->bytes == COOP_MOVE && c->vec / 2 <= 4)
            skinny_lanes_along_k(c, lanes, c->vec / 2);
    }
}

static void skinny_along_n(SkinnySite *c) {
    const Target *target = c->site->target;
    uint32_t unroll_most = target->compute_units ? 8 : 2;
    for (uint32_t local = 64; local <= 256; local *= 2)
        for (uint32_t lanes = 4; 4 * lanes <= local; lanes *= 2)
            for (uint32_t unroll = 2; unroll <= unroll_most; unroll *= 2) {
                Schedule s = {.local = local, .lanes = lanes, .unroll = unroll};
                s.reg_n = s.vec = c->vec;
                if (c->rows * c->vec > 128 || local * c->vec * 4 > target->shared_bytes) continue;
                skinny_candidate(c, s);
            }
}

// 16 bytes of each operand where they lie so.
static uint32_t skinny_vec(const SkinnySite *c) {
    ScheduleSite *site = c->site;
    Graph *g = (Graph *)(uintptr_t)site->graph;
    NodeId fused = g->regions.at[site->fused->body].owner;
    CoopOperand y;
    uint32_t wide = COOP_MOVE / (uint32_t)c->bytes;
    Dim fast = c->along_n ? c->shape.n : c->shape.k;
    if (wide > 4 && site->target->compute_units && coop_operand(g, fused, &c->shape, true, &y) &&
        y.k_fast != c->along_n && coop_moves_whole(&y) && dim_divides(site->dims, wide, fast))
        return wide;
    return schedule_divisor(site, fast, 4);
}

static void skinny_rows(SkinnySite *c, uint32_t rows) {
    ScheduleSite *site = c->site;
    Dim most = dim_const(site->dims, rows);
    c->rows = rows;
    c->guard = (ScheduleGuard){0};
    Proof always = dim_prove(site->dims, c->shape.m, DIM_LE, most);
    if (always == PROOF_NO) return;
    if (always == PROOF_UNKNOWN) {
        if (!schedule_recorded(site, c->shape.m)) return;
        c->guard.condition[0] = (Condition){c->shape.m, most, DIM_LE};
        c->guard.conditions = 1;
    }
    if (c->along_n)
        skinny_along_n(c);
    else
        skinny_along_k(c);
}

void schedule_skinny(ScheduleSite *site) {
    SkinnySite c = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &c.shape)) return;
    if (c.shape.pool) return;
    c.along_n = !contract_k_fast(g, &c.shape, c.shape.y);
    c.batch = schedule_size(site, c.shape.batch);
    c.n = schedule_size(site, c.shape.n);
    c.k = schedule_size(site, c.shape.k);
    if (c.k < SKINNY_K_LEAST) return;
    c.bytes = dtype_bytes(graph_value(g, c.shape.y)->type.dtype);
    c.vec = skinny_vec(&c);
    if (c.along_n && (!site->target->compute_units || c.n < SKINNY_N_LEAST)) return;
    c.bounded =
        dim_is_const(site->dims, c.shape.n, NULL) && dim_is_const(site->dims, c.shape.batch, NULL);
    int64_t m;
    if (dim_is_const(site->dims, c.shape.m, &m)) {
        if (m <= SKINNY_ROWS_MOST) skinny_rows(&c, (uint32_t)(m < 1 ? 1 : m));
        return;
    }
    skinny_rows(&c, 1); // each further form is a kernel more
    if (site->target->compute_units && !c.along_n) skinny_rows(&c, 4);
}
