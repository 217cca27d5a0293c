// Candidates of family "contract", form "skinny": few rows, y read along K. Under a condition on M
// where M is not constant, so that one package has a form for decoding and one for prefilling.
#include "passes/contract_shape.h"
#include "passes/schedule.h"

#include <math.h>

enum { SKINNY_K_LEAST = 32 };

typedef struct SkinnySite {
    ScheduleSite *site;
    ContractShape shape;
    double batch, n, k;
    uint32_t rows;
    ScheduleGuard guard;
} SkinnySite;

// Time in multiply-adds of one invocation, as for the other forms.
static double skinny_cost(const SkinnySite *c, const Schedule *s) {
    const Target *target = c->site->target;
    bool device = target->compute_units > 0;
    double groups = ceil(c->n / (s->local / s->lanes * s->reg_n)) * c->batch;
    double steps = ceil(c->k / (s->lanes * s->vec)) * s->vec;
    double loads = (double)(c->rows + 2 * s->reg_n) / s->vec * (device ? 8 : 3);
    double latency = device ? 200.0 / s->unroll : 0; // of a load, hidden by others under way
    double work = steps * (c->rows * s->reg_n + loads) + steps / s->vec * latency / 8;
    work += log2(s->lanes) * c->rows * s->reg_n * (s->subgroup ? 4 : 12) + (device ? 500 : 50);
    double machine = device ? target->compute_units * 128.0 : 64;
    double full = groups * s->local / machine;
    return work * (full < 1 ? 1 : ceil(full * 4) / 4);
}

static void skinny_candidate(SkinnySite *c, uint32_t lanes, uint32_t columns) {
    ScheduleSite *site = c->site;
    const Target *target = site->target;
    Schedule s = {.form = "skinny", .lanes = lanes, .tile_m = c->rows, .reg_n = columns};
    if (c->rows * columns > lanes || c->rows * columns > 32) return;
    s.local = lanes < 128 ? 128 : lanes;
    if (s.local > target->max_invocations) return;
    s.vec = schedule_divisor(site, c->shape.k, 4);
    TargetFeatures need = TF_SUBGROUP_SIZE_CONTROL | TF_SUBGROUP_SHUFFLE;
    if ((target->features & need) == need && target->subgroup_min == target->subgroup_max &&
        s.local % target->subgroup_size == 0)
        s.subgroup = target->subgroup_size;
    s.unroll = target->compute_units ? 8 : 1;
    while (s.unroll > 1 && !dim_divides(site->dims, (int64_t)lanes * s.vec * s.unroll, c->shape.k))
        s.unroll /= 2;
    Candidate candidate = {.schedule = s, .cost = skinny_cost(c, &s), .guard = c->guard};
    candidate.why = arena_printf(site->arena, "at most %u rows: %u lanes along K for %u columns",
                                 c->rows, lanes, columns);
    schedule_add_guarded(site, candidate);
}

static void skinny_rows(SkinnySite *c, uint32_t rows) {
    ScheduleSite *site = c->site;
    Dim most = dim_const(site->dims, rows);
    c->rows = rows;
    c->guard = (ScheduleGuard){0};
    Proof always = dim_prove(site->dims, c->shape.m, DIM_LE, most);
    if (always == PROOF_NO) return;
    if (always == PROOF_UNKNOWN) {
        uint64_t symbols = dim_symbols(site->dims, c->shape.m);
        for (uint32_t i = 0; i < dim_symbol_count(site->dims); i++) // what is not recorded decides
            if (symbols >> i & 1 && dim_symbol_source(site->dims, i) == DIM_FROM_HOST) return;
        c->guard.condition[0] = (Condition){c->shape.m, most, DIM_LE};
        c->guard.conditions = 1;
    }
    for (uint32_t lanes = 8; lanes <= 128; lanes *= 2)
        for (uint32_t columns = 1; columns <= 8; columns *= 2) skinny_candidate(c, lanes, columns);
}

void schedule_skinny(ScheduleSite *site) {
    SkinnySite c = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &c.shape)) return;
    if (c.shape.pool || !contract_k_fast(g, &c.shape, c.shape.y)) return;
    c.batch = schedule_size(site, c.shape.batch);
    c.n = schedule_size(site, c.shape.n);
    c.k = schedule_size(site, c.shape.k);
    if (c.k < SKINNY_K_LEAST || c.batch > 64) return;
    int64_t m;
    if (dim_is_const(site->dims, c.shape.m, &m)) {
        uint32_t rows = 1;
        while (rows < m && rows < 16) rows *= 2;
        if (m <= 16) skinny_rows(&c, rows);
        return;
    }
    skinny_rows(&c, 1); // each further form would be a kernel more
}
