// Candidates of form "coop" of family "contract": workgroup and subgroup tiles of fragments, one or
// two stages of workgroup memory. Their cost (coop_cost.h) is cycles of one compute unit, in the
// same measure as that of form "simt".
#include "passes/schedule_coop.h"

#include <math.h>
#include <string.h>

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

// A device of unknown units: products, and moves that they must pay for.
static void coop_on_any(CoopSite *c, const Schedule *s) {
    CoopSizes usual = c->usual;
    double steps = coop_steps(s, usual.k), cells = usual.m * usual.n * usual.batch;
    double groups = ceil(usual.m / s->tile_m) * ceil(usual.n / s->tile_n) * usual.batch;
    double products = groups * s->tile_m * s->tile_n * steps * s->tile_k;
    uint32_t shared = coop_shared_bytes(&c->shape, s);
    Candidate candidate = {.schedule = *s};
    candidate.cost =
        products / 64 + groups * (50 + steps * (20 + coop_step_bytes(&c->shape, s) / 32));
    candidate.guard = (ScheduleGuard){.features = c->features,
                                      .shared_bytes = shared > 32768 ? shared : 0,
                                      .fragment = c->fragment,
                                      .conditions = c->conditions};
    memcpy(candidate.guard.condition, c->condition, sizeof c->condition);
    if (c->site->listed || c->least == 0 || candidate.cost < c->least)
        candidate.why = arena_printf(c->site->arena, "%.4g of %.4g products are wanted ones",
                                     cells * usual.k, products);
    if (schedule_add_guarded(c->site, candidate)) c->least = candidate.cost;
}

static void coop_candidate(CoopSite *c, Schedule s) {
    if (coop_refuses(&c->shape, &s, c->site->target)) return;
    if (c->site->target->compute_units)
        coop_try(c, s);
    else
        coop_on_any(c, &s);
}

// Steps that go round the loop together: as many as divide K for certain.
static uint32_t coop_unroll(const CoopSite *c, const Schedule *s) {
    uint32_t unroll = 16;
    while (unroll > 4 && !dim_divides(c->site->dims, unroll * s->tile_k, c->shape.contract.k))
        unroll /= 2;
    return unroll;
}

static void coop_one_stage(CoopSite *c, Schedule s) {
    for (uint32_t deep = 1; deep <= 8; deep *= 2) {
        s.tile_k = deep * s.frag_k;
        s.stages = 1, s.unroll = 0;
        coop_candidate(c, s);
    }
}

static void coop_depths(CoopSite *c, Schedule s) {
    coop_one_stage(c, s);
    s.tile_k = s.frag_k;
    s.stages = 2, s.unroll = coop_unroll(c, &s);
    if (c->shape.x.vector && c->shape.y.vector) coop_candidate(c, s);
}

// Tiles of 6 fragments down, where those of 64 and 128 leave units without work: eight subgroups
// each, four took 24 % longer on an H200.
static void coop_between(CoopSite *c, Schedule s) {
    s.warp_m = 3 * s.frag_m, s.tile_m = 2 * s.warp_m, s.local = 8 * s.subgroup;
    for (uint32_t j = 1; j <= 2; j *= 2) {
        s.warp_n = j * s.frag_n, s.tile_n = 4 * s.warp_n;
        coop_one_stage(c, s); // carried fragments took 7 % longer
    }
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
    if (target->compute_units) coop_between(c, s);
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
    if (better) {
        coop_points(&c, false);
        coop_tiles(&c);
        coop_choose(&c);
    }
    dim_scope_end(c.site->dims, scope);
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
    coop_when_whole(&c, g, fused);
    coop_points(&c, target->compute_units && c.shape.x.vector && c.shape.y.vector);
    coop_tiles(&c);
    coop_choose(&c);
}
