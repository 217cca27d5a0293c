// Candidates of form "coop" of family "contract": workgroup and subgroup tiles of fragments, one or
// two stages of workgroup memory. Their cost (coop_cost.h) is cycles of one compute unit, in the
// same measure as that of form "simt".
#include "passes/coop_cost.h"
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

typedef struct CoopSite {
    ScheduleSite *site;
    CoopShape shape;
    CoopSizes usual, largest; // sizes to reckon with
    FragmentShape fragment;
    Condition condition[CONDITIONS_MAX]; // under which the candidates are legal
    uint32_t conditions;
    TargetFeatures features; // that they need
    double least;            // of the costs so far, 0: none yet
    bool bounded;            // the result's size is, so that K may be split
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

// Whether a candidate of this cost needs a reason.
static bool coop_needs_reason(const CoopSite *c, double cost) {
    return c->site->listed || c->least == 0 || cost < c->least;
}

static void coop_add(CoopSite *c, const Schedule *s, double cost, const char *why) {
    ScheduleSite *site = c->site;
    uint32_t shared = coop_shared_bytes(&c->shape, s);
    Candidate candidate = {.schedule = *s, .cost = cost, .why = why};
    candidate.guard = (ScheduleGuard){.features = c->features,
                                      .shared_bytes = shared > 32768 ? shared : 0,
                                      .fragment = c->fragment,
                                      .conditions = c->conditions};
    memcpy(candidate.guard.condition, c->condition, sizeof c->condition);
    bool better = c->least == 0 || cost < c->least;
    if (schedule_add_guarded(site, candidate) && better) c->least = cost;
}

static unsigned coop_parts(const Schedule *s) {
    return s->split_k > 1 ? s->split_k : 1;
}

static double coop_groups(CoopSizes size, const Schedule *s) {
    return ceil(size.m / s->tile_m) * ceil(size.n / s->tile_n) * size.batch;
}

static double coop_cells(CoopSizes size) {
    return size.m * size.n * size.batch;
}

static double coop_work(CoopSizes size) {
    return coop_cells(size) * size.k;
}

// With what memory and the sums of parts take.
static bool coop_cycles(const CoopSite *c, const Schedule *s, CoopSizes size, CoopCost *out) {
    double units = c->site->target->compute_units;
    if (!coop_cost(&c->shape, s, size, units, out)) return false;
    double bytes = (size.m + size.n) * size.k * size.batch * dtype_bytes(c->shape.ab);
    out->cycles =
        schedule_behind_memory(out->cycles, bytes / schedule_memory_rate(c->site) / units);
    out->cycles += schedule_split_cost(c->site, coop_cells(size), coop_parts(s));
    return true;
}

// One schedule serves all sizes: the middle of what it costs at usual ones and, with as much work,
// at the largest.
static void coop_on_device(CoopSite *c, Schedule s) {
    double units = c->site->target->compute_units;
    CoopCost usual, largest;
    s.stagger = coop_stagger(c->site->dims, &c->shape, &s, c->usual.k);
    if (!coop_cycles(c, &s, c->usual, &usual)) return;
    if (coop_work(c->usual) == coop_work(c->largest))
        largest = usual;
    else if (!coop_cycles(c, &s, c->largest, &largest))
        return;
    double share = coop_work(c->usual) / coop_work(c->largest);
    double cost = sqrt(usual.cycles * share * largest.cycles);
    s.raster = coop_raster(&largest, &s, c->largest, units);
    double size = dtype_bytes(c->shape.ab), ideal = coop_work(c->usual) / units * size / 2;
    const char *why = NULL;
    if (coop_needs_reason(c, cost))
        why =
            arena_printf(c->site->arena,
                         "%.0f products a cycle of each of %.0f units: %.0f workgroups, %.0f at a "
                         "time on a unit, %u registers, %u bytes shared%s",
                         ideal * 2 / size / usual.cycles, units, usual.groups, usual.together,
                         usual.registers, coop_shared_bytes(&c->shape, &s),
                         schedule_split_why(c->site, coop_groups(c->usual, &s), s.split_k));
    coop_add(c, &s, cost, why);
}

// A device of unknown units: products, and moves that they must pay for.
static void coop_on_any(CoopSite *c, const Schedule *s) {
    double steps = coop_steps(s, c->usual.k), groups = coop_groups(c->usual, s);
    double products = groups * s->tile_m * s->tile_n * steps * s->tile_k;
    double cost = products / 64 + groups * (50 + steps * (20 + coop_step_bytes(&c->shape, s) / 32));
    const char *why = NULL;
    if (coop_needs_reason(c, cost))
        why = arena_printf(c->site->arena, "%.4g of %.4g products are wanted ones",
                           coop_work(c->usual), products);
    coop_add(c, s, cost, why);
}

static void coop_candidate(CoopSite *c, Schedule s) {
    if (coop_refuses(&c->shape, &s, c->site->target)) return;
    if (!c->site->target->compute_units) {
        coop_on_any(c, &s);
        return;
    }
    double groups = coop_groups(c->usual, &s), steps = coop_steps(&s, c->usual.k);
    coop_on_device(c, s);
    for (s.split_k = 2; s.split_k <= 16 && 4 * s.split_k <= steps; s.split_k *= 2)
        if (c->bounded && schedule_split_pays(c->site, groups, s.split_k)) coop_on_device(c, s);
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
    c.features = coop_features(&c);
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
    c.conditions = 1, c.usual.m = c.largest.m = (double)rows;
    c.bounded = dim_is_const(dims, shape->n, NULL) && dim_is_const(dims, shape->batch, NULL);
    coop_tiles(&c);
}

// Many rows of a symbolic M, as in prefilling, get a form of their own: large tiles. The form for
// all sizes need not care for them then.
static void coop_when_many(CoopSite *any, int64_t rows) {
    CoopSite c = *any;
    DimTable *dims = c.site->dims;
    Dim m = any->shape.contract.m, least = dim_const(dims, rows);
    if (!c.site->target->compute_units || !any->shape.x.vector || !any->shape.y.vector ||
        any->largest.m < 2.0 * (double)rows || !schedule_recorded(c.site, m) ||
        dim_prove(dims, m, DIM_GE, least) != PROOF_UNKNOWN)
        return;
    c.condition[0] = (Condition){m, least, DIM_GE};
    c.conditions = 1, c.usual.m = sqrt((double)rows * any->largest.m);
    coop_tiles(&c);
    any->largest.m = (double)rows;
    any->usual.m = fmin(any->usual.m, any->largest.m);
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
    c.features = coop_features(&c);
    if ((target->features & c.features) != c.features) return;
    const ContractShape *shape = &c.shape.contract;
    c.usual = (CoopSizes){schedule_size(site, shape->batch), schedule_size(site, shape->m),
                          schedule_size(site, shape->n), schedule_size(site, shape->k)};
    c.largest = (CoopSizes){schedule_largest(site, shape->batch), schedule_largest(site, shape->m),
                            schedule_largest(site, shape->n), c.usual.k};
    c.bounded = dim_is_const(site->dims, shape->m, NULL) &&
                dim_is_const(site->dims, shape->n, NULL) &&
                dim_is_const(site->dims, shape->batch, NULL);
    coop_when_few(&c, 16);
    coop_when_many(&c, 256);
    coop_when_whole(&c, g, fused);
    coop_tiles(&c);
}
