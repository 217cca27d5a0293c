// Candidates of family "contract": tiles, and what an invocation keeps of them in registers.
//
// The cost is time in cycles of one compute unit, which makes 128 multiply-adds in one. A tile of K
// takes the work on it, and somebody must wait for its operands: the workgroup itself when it is
// alone on its compute unit, nobody when others have enough to do meanwhile. The numbers were
// fitted to products and convolutions on an H200.
#include "passes/contract_split.h"
#include "passes/planes_shape.h"
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

typedef struct ContractSizes {
    double batch, m, n; // n: columns
} ContractSizes;

typedef struct ContractSite {
    ScheduleSite *site;
    ContractShape shape;
    ContractSizes usual, largest; // sizes to reckon with
    double k;
    double load_x, load_y; // instructions to bring in one element
} ContractSite;

// A plain matrix moves four elements at a time; windows need digits and guards for each.
static double contract_load(const ContractSite *c, ValueId operand) {
    ValueId base;
    View view;
    if (!graph_view(c->site->graph, operand, &base, &view)) return 30;
    unsigned digits = 0;
    for (uint8_t d = 0; d < view.digits; d++)
        digits += !dim_is(c->site->dims, view.digit[d].stride, 0);
    double work = 8 + 6.0 * view.guards + (digits > 3 ? 3.0 * (digits - 3) : 0);
    return work;
}

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

// Work of one invocation on one tile of K, in multiply-adds.
static double contract_work(const ContractSite *c, const Schedule *s) {
    double shared =
        (s->reg_m % 4 ? s->reg_m : s->reg_m / 4.0) + (s->reg_n % 4 ? s->reg_n : s->reg_n / 4.0);
    double loads = (s->tile_m * c->load_x + s->tile_n * c->load_y) / s->local;
    return s->tile_k * (s->reg_m * s->reg_n + 2 * shared + loads) + 20;
}

enum { CONTRACT_WAIT = 600, CONTRACT_START = 500 }; // cycles

static double contract_cost_of(const ContractSite *c, const Schedule *s, ContractSizes size) {
    const Target *target = c->site->target;
    double groups = ceil(size.m / s->tile_m) * ceil(size.n / s->tile_n) * size.batch;
    double work = contract_work(c, s), tiles = ceil(c->k / s->tile_k);
    double epilogue = 4.0 * s->reg_m * s->reg_n;
    if (target->compute_units == 0) { // vectors of a processor: only the work counts
        double full = groups * s->local / 64;
        return (tiles * work + epilogue + 50) * (full < 1 ? 1 : ceil(full * 4) / 4);
    }
    double each = groups / target->compute_units; // workgroups of one compute unit
    if (each < 8) each = ceil(each);
    double registers = s->reg_m * s->reg_n + s->reg_m + s->reg_n + 32;
    double most = floor(65536 / registers / s->local), threads = floor(2048.0 / s->local);
    if (most > threads) most = threads;
    double together = most < 1 ? 1 : each < most ? each : most, width = s->local / 128.0;
    double one = (work + 40) * width, all = together * one;
    double tile = all > one + CONTRACT_WAIT ? all : one + CONTRACT_WAIT;
    return each / together * (tiles * tile + CONTRACT_START) + each * epilogue * width;
}

// One schedule serves all sizes: the middle of what it costs at usual ones and, with as much work,
// at the largest.
static double contract_cost(const ContractSite *c, const Schedule *s) {
    const ContractSizes *a = &c->usual, *b = &c->largest;
    double share = a->batch * a->m * a->n / (b->batch * b->m * b->n);
    return sqrt(contract_cost_of(c, s, *a) * share * contract_cost_of(c, s, *b));
}

static double contract_largest(const ScheduleSite *site, Dim dim) {
    int64_t high = dim_bounds(site->dims, dim).hi;
    return high < 1 ? 1 : (double)high;
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
    double m = c->usual.m, n = c->usual.n;
    double made = ceil(m / s.tile_m) * s.tile_m * ceil(n / s.tile_n) * s.tile_n;
    const char *why = arena_printf(site->arena, "%u %% of the products made are wanted",
                                   (unsigned)(100 * m * n / made));
    schedule_add(site, s, cost, why);
}

// Cycles of a nanosecond; bytes of the L2 and of a memory of unknown rate that a unit gets in a
// cycle; workgroups of a unit past which there is enough to do while some of them wait.
enum { CONTRACT_CLOCK = 2, CONTRACT_NEAR = 20, CONTRACT_FAR = 15, CONTRACT_FULL = 4 };

double schedule_memory_rate(const ScheduleSite *site) {
    const Target *target = site->target;
    if (!target->memory_rate || !target->compute_units) return CONTRACT_FAR;
    return (double)target->memory_rate / CONTRACT_CLOCK / target->compute_units;
}

// Partial sums stay in the L2.
double schedule_split_cost(const ScheduleSite *site, double cells, uint32_t parts) {
    if (parts < 2) return 0;
    const Target *target = site->target;
    double bytes = 2.0 * 4 * parts * cells;
    return target->dispatch_time * (double)CONTRACT_CLOCK +
           bytes / (target->compute_units * (double)CONTRACT_NEAR);
}

bool schedule_split_pays(const ScheduleSite *site, double workgroups, uint32_t parts) {
    const Target *target = site->target;
    if (!target->compute_units || !target->dispatch_time || !site->max_workspace) return false;
    return workgroups * parts <= (double)CONTRACT_FULL * target->compute_units;
}

Dim schedule_contract_workspace(const ScheduleSite *site, const Schedule *schedule,
                                const ScheduleGuard *guard) {
    Graph *g = (Graph *)(uintptr_t)site->graph;
    ContractShape shape;
    if (schedule->form && strcmp(schedule->form, "planes") == 0) {
        PlanesLayout layout;
        bool fits = planes_layout(g, g->regions.at[site->fused->body].owner, schedule, &layout);
        return fits ? layout.bytes : DIM_NONE;
    }
    if (schedule->split_k < 2 || !contract_shape(g, g->regions.at[site->fused->body].owner, &shape))
        return DIM_NONE;
    return contract_split(g, &shape, schedule, guard->condition, guard->conditions).bytes;
}

void schedule_contract(ScheduleSite *site) {
    ContractSite c = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &c.shape)) return;
    schedule_skinny(site);
    schedule_coop(site);
    schedule_planes(site);
    c.usual = (ContractSizes){schedule_size(site, c.shape.batch), schedule_size(site, c.shape.m),
                              schedule_size(site, c.shape.windows) * c.shape.cells};
    c.largest =
        (ContractSizes){contract_largest(site, c.shape.batch), contract_largest(site, c.shape.m),
                        contract_largest(site, c.shape.windows) * c.shape.cells};
    c.k = schedule_size(site, c.shape.k);
    c.load_x = contract_load(&c, c.shape.x), c.load_y = contract_load(&c, c.shape.y);
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
