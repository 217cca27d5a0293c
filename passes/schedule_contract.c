// Candidates of family "contract": tiles, and what an invocation keeps of them in registers.
//
// The cost is time in multiply-adds of one invocation: a workgroup's work (products, reads of
// workgroup memory, loads, barriers) times the number of workgroups that follow each other.
#include "passes/contract_shape.h"
#include "passes/schedule.h"

#include <math.h>

typedef struct ContractSite {
    ScheduleSite *site;
    ContractShape shape;
    double batch, m, n, k; // sizes to reckon with; n: columns
} ContractSite;

static uint32_t contract_depth(const ContractSite *c, uint32_t tile_m, uint32_t tile_n) {
    int64_t k;
    uint32_t depth = 16;
    if (dim_is_const(c->site->dims, c->shape.k, &k) && k > 0) {
        if (k <= 32)
            depth = (uint32_t)k; // one tile, nothing wasted
        else
            while (depth > 8 && k % depth) depth /= 2;
    }
    while (depth > 4 && depth * (tile_m + tile_n + 8) * 4 + 64 > c->site->target->shared_bytes)
        depth /= 2;
    return depth;
}

static double contract_cost(const ContractSite *c, const Schedule *s) {
    const Target *target = c->site->target;
    bool device = target->compute_units > 0;
    double groups = ceil(c->m / s->tile_m) * ceil(c->n / s->tile_n) * c->batch;
    double shared =
        (s->reg_m % 4 ? s->reg_m : s->reg_m / 4.0) + (s->reg_n % 4 ? s->reg_n : s->reg_n / 4.0);
    double loads = (double)(s->tile_m + s->tile_n) / s->local;
    double depth = ceil(c->k / s->tile_k) * s->tile_k;
    double work = depth * (s->reg_m * s->reg_n + 2 * shared + (device ? 8 : 3) * loads);
    work += ceil(c->k / s->tile_k) * (device ? 60 : 20) + (device ? 500 : 50);
    work += 4.0 * s->reg_m * s->reg_n; // epilogue
    // Invocations that make progress at the same rate, side by side.
    double machine = device ? target->compute_units * 128.0 : 64;
    double full = groups * s->local / machine;
    return work * (full < 1 ? 1 : ceil(full * 4) / 4);
}

static void contract_candidate(ContractSite *c, uint32_t across, uint32_t down, uint32_t reg_m,
                               uint32_t reg_n) {
    ScheduleSite *site = c->site;
    Schedule s = {.form = "simt",
                  .local = across * down,
                  .tile_m = down * reg_m,
                  .tile_n = across * reg_n,
                  .reg_m = reg_m,
                  .reg_n = reg_n,
                  .vec = 4};
    s.tile_k = contract_depth(c, s.tile_m, s.tile_n);
    if (s.tile_k * (s.tile_m + s.tile_n + 8) * 4 + 64 > site->target->shared_bytes) return;
    if ((uint64_t)s.tile_k * (s.tile_m > s.tile_n ? s.tile_m : s.tile_n) > 64u * s.local) return;
    bool device = site->target->compute_units > 0;
    uint32_t unroll = device ? 8 : 1;
    while (s.tile_k % unroll) unroll /= 2;
    s.unroll = unroll;
    double cost = contract_cost(c, &s);
    double made = ceil(c->m / s.tile_m) * s.tile_m * ceil(c->n / s.tile_n) * s.tile_n;
    const char *why = arena_printf(site->arena, "%u %% of the products made are wanted",
                                   (unsigned)(100 * c->m * c->n / made));
    schedule_add(site, s, cost, why);
}

void schedule_contract(ScheduleSite *site) {
    ContractSite c = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &c.shape)) return;
    schedule_skinny(site);
    schedule_coop(site);
    c.batch = schedule_size(site, c.shape.batch);
    c.m = schedule_size(site, c.shape.m);
    c.n = schedule_size(site, c.shape.windows) * c.shape.cells;
    c.k = schedule_size(site, c.shape.k);
    bool device = site->target->compute_units > 0;
    uint32_t most = site->target->max_invocations < 256 ? site->target->max_invocations : 256;
    uint32_t registers = device ? 64 : 16, cells = c.shape.cells;
    for (uint32_t local = 64; local <= most; local *= 2)
        for (uint32_t across = 4; across <= local; across *= 2)
            for (uint32_t reg_m = 1; reg_m <= 8; reg_m *= 2)
                for (uint32_t reg_n = cells > 1 ? cells : 1; reg_n <= 16; reg_n *= 2)
                    if (reg_m * reg_n <= registers || reg_n == cells)
                        contract_candidate(&c, across, local / across, reg_m, reg_n);
}
