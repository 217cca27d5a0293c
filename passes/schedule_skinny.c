// Candidates of family "contract", form "skinny": few rows, y read along K. Under a condition on M
// where M is not constant, so that one package has a form for decoding and one for prefilling.
//
// On a device the cost is cycles of one compute unit, as for the other forms. A trip of the loop
// waits for its loads while other workgroups of the unit have theirs under way; what they move
// together, multiply and convert bounds them all. Numbers were fitted to an H200.
#include "passes/coop_shape.h"
#include "passes/contract_split.h"
#include "passes/schedule.h"

#include <math.h>

enum {
    SKINNY_K_LEAST = 32,
    SKINNY_ROWS_MOST = 16,
    SKINNY_LATENCY = 1000,  // cycles of a load under load
    SKINNY_START = 1500,    // of a workgroup
    SKINNY_NEAR = 64,       // bytes a cycle from the L1 to a unit
    SKINNY_REGISTERS = 128, // of an invocation, at most
    SKINNY_FILE = 65536,
    SKINNY_INVOCATIONS = 2048
};

typedef struct SkinnySite {
    ScheduleSite *site;
    ContractShape shape;
    double batch, n, k;
    double bytes; // of an element of y
    uint32_t rows, vec;
    bool bounded; // the result's size is, so that K may be split
    ScheduleGuard guard;
} SkinnySite;

static uint32_t skinny_parts(const Schedule *s) {
    return s->split_k > 1 ? s->split_k : 1;
}

static double skinny_groups(const SkinnySite *c, const Schedule *s) {
    return ceil(c->n / (s->local / s->lanes * s->reg_n)) * c->batch * skinny_parts(s);
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

static double skinny_registers(const SkinnySite *c, const Schedule *s) {
    double words = s->vec * c->bytes / 4, sums = c->rows * s->reg_n;
    sums *= sums * 4 <= 64 ? 4 : 1;
    return 28 + s->unroll * s->reg_n * words + sums + s->vec * (s->reg_n + 1.0);
}

static double skinny_cost_device(const SkinnySite *c, const Schedule *s) {
    const Target *target = c->site->target;
    double each = ceil(skinny_groups(c, s) / target->compute_units);
    double together = floor(SKINNY_FILE / (skinny_registers(c, s) * s->local));
    together = fmin(fmin(fmax(together, 1), SKINNY_INVOCATIONS / s->local), each);
    double steps = (double)s->unroll * s->vec * s->local; // elements along K of a trip
    double trips = ceil(c->k / (s->lanes * (double)s->vec * s->unroll * skinny_parts(s)));
    double read = steps * s->reg_n * c->bytes, near = steps * (s->reg_n + c->rows) * c->bytes;
    double work = c->rows * s->reg_n + (c->bytes < 4 ? c->rows + s->reg_n : 0) + 0.5;
    double busy =
        fmax(fmax(read / schedule_memory_rate(c->site), near / SKINNY_NEAR), steps * work / 128);
    double trip = fmax(SKINNY_LATENCY + steps * work / 128, together * busy);
    double fold = log2(s->lanes) * c->rows * s->reg_n * 4 * s->local / 128;
    double cost = each / together * (SKINNY_START + trips * trip + together * fold);
    return cost + schedule_split_cost(c->site, c->rows * c->n * c->batch, skinny_parts(s));
}

static void skinny_add(SkinnySite *c, const Schedule *s) {
    ScheduleSite *site = c->site;
    bool device = site->target->compute_units > 0;
    Candidate candidate = {.schedule = *s, .guard = c->guard};
    candidate.cost = device ? skinny_cost_device(c, s) : skinny_cost_any(c, s);
    const char *parts =
        s->split_k > 1 ? arena_printf(site->arena, ", K in %u parts", s->split_k) : "";
    candidate.why = arena_printf(site->arena, "at most %u rows: %u lanes along K for %u columns%s",
                                 c->rows, s->lanes, s->reg_n, parts);
    schedule_add_guarded(site, candidate);
}

static void skinny_candidate(SkinnySite *c, uint32_t lanes, uint32_t columns, uint32_t unroll) {
    const Target *target = c->site->target;
    Schedule s = {.form = "skinny",
                  .local = lanes < 128 ? 128 : lanes,
                  .lanes = lanes,
                  .tile_m = c->rows,
                  .reg_n = columns,
                  .vec = c->vec,
                  .unroll = unroll};
    if (c->rows * columns > lanes || c->rows * columns > 32 || s.local > target->max_invocations)
        return;
    TargetFeatures need = TF_SUBGROUP_SIZE_CONTROL | TF_SUBGROUP_SHUFFLE;
    if ((target->features & need) == need && target->subgroup_min == target->subgroup_max &&
        s.local % target->subgroup_size == 0)
        s.subgroup = target->subgroup_size;
    if (target->compute_units && skinny_registers(c, &s) > SKINNY_REGISTERS) return;
    if (unroll > 1 && c->k < (double)lanes * s.vec * unroll / 2) return; // half of it past the end
    double groups = skinny_groups(c, &s);
    skinny_add(c, &s);
    double trips = c->k / ((double)lanes * s.vec * unroll);
    for (s.split_k = 2; s.split_k <= 8 && s.split_k <= trips; s.split_k *= 2)
        if (c->bounded && schedule_split_pays(c->site, groups, s.split_k)) skinny_add(c, &s);
}

// 16 bytes of each operand where they lie so.
static uint32_t skinny_vec(const SkinnySite *c) {
    ScheduleSite *site = c->site;
    Graph *g = (Graph *)(uintptr_t)site->graph;
    NodeId fused = g->regions.at[site->fused->body].owner;
    CoopOperand y;
    uint32_t wide = COOP_MOVE / (uint32_t)c->bytes;
    if (wide > 4 && site->target->compute_units && coop_operand(g, fused, &c->shape, true, &y) &&
        coop_moves_whole(&y) && dim_divides(site->dims, wide, c->shape.k))
        return wide;
    return schedule_divisor(site, c->shape.k, 4);
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
    uint32_t unroll_most = site->target->compute_units ? 16 : 1;
    for (uint32_t lanes = 8; lanes <= 128; lanes *= 2)
        for (uint32_t columns = c->shape.cells; columns <= 8; columns *= 2)
            for (uint32_t unroll = 1; unroll <= unroll_most; unroll *= 2)
                skinny_candidate(c, lanes, columns, unroll);
}

void schedule_skinny(ScheduleSite *site) {
    SkinnySite c = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &c.shape)) return;
    if (c.shape.pool || !contract_k_fast(g, &c.shape, c.shape.y)) return;
    c.batch = schedule_size(site, c.shape.batch);
    c.n = schedule_size(site, c.shape.n);
    c.k = schedule_size(site, c.shape.k);
    if (c.k < SKINNY_K_LEAST) return;
    c.bytes = dtype_bytes(graph_value(g, c.shape.y)->type.dtype);
    c.vec = skinny_vec(&c);
    c.bounded =
        dim_is_const(site->dims, c.shape.n, NULL) && dim_is_const(site->dims, c.shape.batch, NULL);
    int64_t m;
    if (dim_is_const(site->dims, c.shape.m, &m)) {
        if (m <= SKINNY_ROWS_MOST) skinny_rows(&c, (uint32_t)(m < 1 ? 1 : m));
        return;
    }
    skinny_rows(&c, 1); // each further form would be a kernel more
}
