// Candidates of form "coop" of family "contract": workgroup and subgroup tiles of fragments, one or
// two stages of workgroup memory.
//
// The cost is cycles of one compute unit, in the same measure as that of form "simt". Its numbers
// were fitted to an H200; what they say is general. Products run at the fragments' rate but for a
// part of the time that fragments take to be read. A step of a workgroup takes its latency, the
// moving of its bytes and its own products one after the other (where fragments are carried, its
// products are hidden); the other workgroups of the unit run meanwhile, up to the rates of the
// products and of the memory behind.
#include "passes/coop_shape.h"
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

enum {
    COOP_RATE = 1160,     // multiply-adds of 16-bit fragments a cycle
    COOP_READ = 128,      // bytes of workgroup memory read a cycle
    COOP_BYTES = 58,      // moved a cycle by workgroups that wait for each other
    COOP_MEMORY = 31,     // at most
    COOP_LATENCY = 750,   // of a step with one stage
    COOP_CARRIED = 655,   // of a step whose fragments were loaded before
    COOP_START = 2500,    // of a workgroup, its way out included
    COOP_REGISTERS = 244, // of an invocation; past it they spill into workgroup memory
    COOP_FILE = 65536,    // registers of a unit
    COOP_SHARED = 228 * 1024,
    COOP_INVOCATIONS = 2048
};

typedef struct CoopSite {
    ScheduleSite *site;
    CoopShape shape;
    double batch, m, n, k;
    FragmentShape fragment;
    Condition condition[CONDITIONS_MAX]; // under which the candidates are legal
    uint32_t conditions;
    bool bounded; // the result's size is, so that K may be split
} CoopSite;

static TargetFeatures coop_features(const CoopSite *c) {
    TargetFeatures need = schedule_fragment_features(c->site, c->shape.ab);
    // Elements that are moved one by one pass as bits, through loads of bf16.
    bool gathered = !c->shape.x.vector || !c->shape.y.vector;
    if (gathered && dtype_bytes(c->shape.ab) == 2) need |= TF_INT16;
    return need;
}

// The listed fragment with the most products.
static bool coop_fragment(CoopSite *c) {
    const Target *target = c->site->target;
    unsigned most = 0;
    for (uint32_t i = 0; i < target->fragments; i++) {
        const FragmentShape *f = &target->fragment[i];
        unsigned products = (unsigned)f->m * f->n * f->k;
        if (f->ab != c->shape.ab || f->acc != c->shape.acc || products <= most) continue;
        most = products;
        c->fragment = *f;
    }
    return most > 0;
}

static double coop_moves(const CoopSite *c, const Schedule *s) { // of an invocation in a step
    CoopTile x = coop_tile(&c->shape.x, s), y = coop_tile(&c->shape.y, s);
    return ceil((double)x.lines * x.line / x.parts / s->local) +
           ceil((double)y.lines * y.line / y.parts / s->local);
}

static unsigned coop_registers(const CoopSite *c, const Schedule *s) {
    double bytes = dtype_bytes(c->shape.ab), own = s->subgroup;
    double sums = s->warp_m * s->warp_n / own;
    double fragments = (s->warp_m + s->warp_n) * s->frag_k * bytes / 4 / own;
    if (s->stages > 1) fragments *= 2.0 * s->tile_k / s->frag_k;
    return (unsigned)(sums + fragments + (4 * coop_ahead(s) + 1) * coop_moves(c, s) + 30 + 7) & ~7u;
}

// Bytes moved, with the work of addresses in the same measure.
static double coop_side_bytes(const CoopOperand *o, unsigned rows, unsigned depth) {
    double elements = (double)rows * depth, bytes = elements * dtype_bytes(o->dtype);
    return o->linear ? bytes : o->vector ? 1.3 * bytes : 8 * elements;
}

// Cycles of a step while `together` workgroups share a unit.
static double coop_step(const CoopSite *c, const Schedule *s, double together) {
    double size = dtype_bytes(c->shape.ab), warps = (double)s->local / s->subgroup;
    double products = (double)s->tile_m * s->tile_n * s->tile_k * size / 2 / COOP_RATE;
    products += 0.3 * warps * (s->warp_m + s->warp_n) * s->tile_k * size / COOP_READ;
    double bytes = coop_side_bytes(&c->shape.x, s->tile_m, s->tile_k) +
                   coop_side_bytes(&c->shape.y, s->tile_n, s->tile_k);
    double wait = COOP_CARRIED;
    if (s->stages == 1) wait = COOP_LATENCY + products * sqrt(4 / (warps < 1 ? 1 : warps));
    double busy = fmax(products, bytes / COOP_MEMORY);
    return fmax(together * busy, wait + together * bytes / COOP_BYTES);
}

static unsigned coop_parts(const Schedule *s) {
    return s->split_k > 1 ? s->split_k : 1;
}

static double coop_steps(const CoopSite *c, const Schedule *s) { // of a workgroup
    double span = coop_span(s);
    return ceil(c->k / (coop_parts(s) * span)) * span / s->tile_k;
}

static double coop_groups(const CoopSite *c, const Schedule *s) {
    return ceil(c->m / s->tile_m) * ceil(c->n / s->tile_n) * c->batch * coop_parts(s);
}

static double coop_together(const CoopSite *c, const Schedule *s, unsigned registers) {
    double by_file = floor((double)COOP_FILE / (registers * s->local));
    double by_shared = floor((double)COOP_SHARED / (coop_shared_bytes(&c->shape, s) + 1024));
    double by_number = floor((double)COOP_INVOCATIONS / s->local);
    return fmax(1, fmin(by_file, fmin(by_shared, by_number)));
}

static void coop_add(CoopSite *c, const Schedule *s, double cost, const char *why) {
    ScheduleSite *site = c->site;
    uint32_t shared = coop_shared_bytes(&c->shape, s);
    Candidate candidate = {.schedule = *s, .cost = cost, .why = why};
    candidate.guard = (ScheduleGuard){.features = coop_features(c),
                                      .shared_bytes = shared > 32768 ? shared : 0,
                                      .fragment = c->fragment,
                                      .conditions = c->conditions};
    memcpy(candidate.guard.condition, c->condition, sizeof c->condition);
    schedule_add_guarded(site, candidate);
}

static void coop_on_device(CoopSite *c, const Schedule *s) {
    double units = c->site->target->compute_units;
    unsigned registers = coop_registers(c, s);
    if (registers > COOP_REGISTERS) return;
    double together = coop_together(c, s, registers), steps = coop_steps(c, s);
    double each = ceil(coop_groups(c, s) / units), rounds = floor(each / together);
    double rest = each - rounds * together;
    double cost = rounds * (COOP_START + steps * coop_step(c, s, together));
    if (rest > 0) cost += COOP_START + steps * coop_step(c, s, rest);
    double bytes = (c->m + c->n) * c->k * c->batch * dtype_bytes(c->shape.ab);
    cost = fmax(cost, COOP_START + bytes / schedule_memory_rate(c->site) / units);
    cost += schedule_split_cost(c->site, c->m * c->n * c->batch, coop_parts(s));
    double ideal = c->m * c->n * c->k * c->batch / units * dtype_bytes(c->shape.ab) / 2 / COOP_RATE;
    const char *why = arena_printf(
        c->site->arena,
        "%.0f %% of the fragments' rate: %.0f workgroups, %.0f at a time on each of %.0f units, "
        "%u registers, %u bytes shared",
        100 * ideal / cost, coop_groups(c, s), together < each ? together : each, units, registers,
        coop_shared_bytes(&c->shape, s));
    coop_add(c, s, cost, why);
}

// A device of unknown units: products, and moves that they must pay for.
static void coop_on_any(CoopSite *c, const Schedule *s) {
    double products = coop_groups(c, s) * s->tile_m * s->tile_n * coop_steps(c, s) * s->tile_k;
    double bytes = coop_side_bytes(&c->shape.x, s->tile_m, s->tile_k) +
                   coop_side_bytes(&c->shape.y, s->tile_n, s->tile_k);
    double cost = products / 64 + coop_groups(c, s) * (50 + coop_steps(c, s) * (20 + bytes / 32));
    const char *why = arena_printf(c->site->arena, "%.4g of %.4g products are wanted ones",
                                   c->m * c->n * c->k * c->batch, products);
    coop_add(c, s, cost, why);
}

static void coop_candidate(CoopSite *c, Schedule s) {
    if (coop_refuses(&c->shape, &s, c->site->target)) return;
    if (!c->site->target->compute_units) {
        coop_on_any(c, &s);
        return;
    }
    double groups = coop_groups(c, &s), steps = coop_steps(c, &s);
    coop_on_device(c, &s);
    for (s.split_k = 2; s.split_k <= 16 && 4 * s.split_k <= steps; s.split_k *= 2)
        if (c->bounded && schedule_split_pays(c->site, groups, s.split_k)) coop_on_device(c, &s);
}

// Steps that go round the loop together: as many as divide K for certain.
static uint32_t coop_unroll(const CoopSite *c, const Schedule *s) {
    uint32_t unroll = 16;
    while (unroll > 4 && !dim_divides(c->site->dims, unroll * s->tile_k, c->shape.contract.k))
        unroll /= 2;
    return unroll;
}

static void coop_depths(CoopSite *c, Schedule s) {
    for (uint32_t deep = 1; deep <= 8; deep *= 2) {
        s.tile_k = deep * s.frag_k;
        s.stages = 1, s.unroll = 0;
        coop_candidate(c, s);
    }
    s.tile_k = s.frag_k;
    s.stages = 2, s.unroll = coop_unroll(c, &s);
    if (c->shape.x.vector && c->shape.y.vector) coop_candidate(c, s);
}

static void coop_tiles(CoopSite *c) {
    const Target *target = c->site->target;
    Schedule s = {.form = "coop",
                  .subgroup = target->subgroup_size,
                  .frag_m = c->fragment.m,
                  .frag_n = c->fragment.n,
                  .frag_k = c->fragment.k};
    for (uint32_t i = 1; i <= 4; i *= 2)
        for (uint32_t j = 1; j <= 4; j *= 2)
            for (uint32_t down = 1; down <= 4; down *= 2)
                for (uint32_t across = 1; across * down <= 8; across *= 2) {
                    s.warp_m = i * s.frag_m, s.warp_n = j * s.frag_n;
                    s.tile_m = down * s.warp_m, s.tile_n = across * s.warp_n;
                    s.local = down * across * s.subgroup;
                    if (down * across > 1 || !target->compute_units) coop_depths(c, s);
                }
}

// A condition that lines of the operand are whole moves, where that is open and known when a run
// is recorded.
static void coop_condition(CoopSite *c, const CoopOperand *o) {
    DimTable *dims = c->site->dims;
    Dim fast = o->k_fast ? c->shape.contract.k : o->rows;
    int64_t unit = COOP_MOVE / dtype_bytes(o->dtype);
    if (o->vector || dim_divides(dims, unit, fast)) return;
    if (!schedule_recorded(c->site, fast)) return;
    Dim rest = dim_floor_mod(dims, fast, dim_const(dims, unit));
    if (rest == DIM_NONE || dim_is_const(dims, rest, NULL)) return;
    for (uint32_t i = 0; i < c->conditions; i++)
        if (c->condition[i].left == rest) return;
    c->condition[c->conditions++] = (Condition){rest, dim_const(dims, 0), DIM_EQ};
}

// Symbolic sizes that are multiples of a move get a form of their own, which moves operands whole.
static void coop_when_whole(const CoopSite *any, Graph *g, NodeId fused) {
    CoopSite c = *any;
    coop_condition(&c, &any->shape.x), coop_condition(&c, &any->shape.y);
    if (!c.conditions) return;
    DimScope *scope = plan_assume(c.site->dims, c.condition, c.conditions);
    bool better = coop_shape(g, fused, &c.shape) && c.shape.x.vector && c.shape.y.vector;
    if (better) coop_tiles(&c);
    dim_scope_end(c.site->dims, scope);
}

// Few rows of a symbolic M, as in decoding, get a form of their own: small tiles, K split.
static void coop_when_few(const CoopSite *any, int64_t rows) {
    CoopSite c = *any;
    DimTable *dims = c.site->dims;
    const ContractShape *shape = &any->shape.contract;
    Dim most = dim_const(dims, rows);
    if (!schedule_split_pays(c.site, 1, 2) || !any->shape.x.vector || !any->shape.y.vector ||
        !schedule_recorded(c.site, shape->m) ||
        dim_prove(dims, shape->m, DIM_LE, most) != PROOF_UNKNOWN)
        return;
    c.condition[0] = (Condition){shape->m, most, DIM_LE};
    c.conditions = 1, c.m = (double)rows;
    c.bounded = dim_is_const(dims, shape->n, NULL) && dim_is_const(dims, shape->batch, NULL);
    coop_tiles(&c);
}

void schedule_coop(ScheduleSite *site) {
    CoopSite c = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    const Target *target = site->target;
    NodeId fused = g->regions.at[site->fused->body].owner;
    if (!target->fragments || !target->subgroup_size ||
        target->subgroup_min != target->subgroup_max)
        return;
    if (!coop_shape(g, fused, &c.shape) || !coop_fragment(&c)) return;
    TargetFeatures need = coop_features(&c);
    if ((target->features & need) != need) return;
    c.batch = schedule_size(site, c.shape.contract.batch);
    c.m = schedule_size(site, c.shape.contract.m);
    c.n = schedule_size(site, c.shape.contract.n);
    c.k = schedule_size(site, c.shape.contract.k);
    const ContractShape *shape = &c.shape.contract;
    c.bounded = dim_is_const(site->dims, shape->m, NULL) &&
                dim_is_const(site->dims, shape->n, NULL) &&
                dim_is_const(site->dims, shape->batch, NULL);
    coop_when_few(&c, 16);
    coop_when_whole(&c, g, fused);
    coop_tiles(&c);
}
