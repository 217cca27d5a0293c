// Candidates of form "split" of family "attention": for few queries, whose tiles of rows would
// leave most of the device idle. The cost is cycles of one compute unit, fitted to an H200
// (2026-11-30): what must be read, what a subgroup does with its keys one after the other, the
// rounds of the second dispatch over the parts.
#include "passes/attention_split.h"
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

enum {
    SPLIT_QUERIES = 4,    // more queries than this fill tiles of rows better
    SPLIT_KEYS = 256,     // with fewer keys the second dispatch costs more than is won
    SPLIT_START = 14800,  // cycles of both dispatches
    SPLIT_ROUND = 1100,   // of a round of the second
    SPLIT_PRODUCTS = 10,  // of a subgroup's products a cycle
    SPLIT_TOGETHER = 512, // invocations that a unit holds
    SPLIT_LINE = 128      // bytes of a line of memory
};

// Longer where bytes bound it as well (9.34 us, others 9.22).
static const double split_torn = 1.01;

typedef struct SplitSite {
    ScheduleSite *site;
    AttentionShape shape;
    ScheduleGuard guard;
    double key_heads, rows, keys; // rows of a key head
    NodeId fused;
} SplitSite;

static void split_candidate(SplitSite *c, Schedule s) {
    ScheduleSite *site = c->site;
    AttentionSplit layout;
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (attention_split(g, c->fused, &s, site->target, c->guard.condition, c->guard.conditions,
                        &layout))
        return;
    double units = site->target->compute_units ? site->target->compute_units : 8;
    double columns = (double)c->shape.size + c->shape.value_size;
    double groups = c->key_heads * ceil(c->rows / s.tile_m) * ceil(c->keys / s.tile_n);
    DType dtype = graph_value(g, c->shape.k)->type.dtype;
    double bytes = groups * s.tile_n * columns * dtype_bytes(dtype);
    double wasted = (double)layout.reads * s.lanes * layout.k.vec / c->shape.size;
    double products = layout.keys * columns * s.tile_m / SPLIT_PRODUCTS * wasted;
    bool torn = s.lanes * COOP_MOVE < SPLIT_LINE; // lanes read parts of lines
    if (torn) products *= 1.1;
    double waves = ceil(groups * s.local / units / SPLIT_TOGETHER);
    double rounds = ceil(ceil(c->keys / s.tile_n) / attention_join_parts(&layout));
    double cost = SPLIT_START + rounds * SPLIT_ROUND;
    cost += fmax(waves * products, bytes / units / schedule_memory_rate(site));
    if (torn) cost *= split_torn;
    const char *why = arena_printf(site->arena, "%.0f workgroups, %u keys for %u rows each", groups,
                                   s.tile_n, s.tile_m);
    Candidate candidate = {.schedule = s, .cost = cost, .why = why, .guard = c->guard};
    if (layout.shared_bytes > 32768) candidate.guard.shared_bytes = layout.shared_bytes;
    schedule_add_guarded(site, candidate);
}

// Whether the queries are few, always or under a condition, which goes into the guard.
static bool split_queries(SplitSite *c) {
    DimTable *dims = c->site->dims;
    Dim rows = c->shape.rows, most = dim_const(dims, SPLIT_QUERIES);
    Proof always = dim_prove(dims, rows, DIM_LE, most);
    if (always != PROOF_UNKNOWN) return always == PROOF_YES;
    uint64_t symbols = dim_symbols(dims, rows);
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++) // what is not recorded decides
        if (symbols >> i & 1 && dim_symbol_source(dims, i) == DIM_FROM_HOST) return false;
    c->guard.condition[0] = (Condition){rows, most, DIM_LE};
    c->guard.conditions = 1;
    return true;
}

bool schedule_attention_split(ScheduleSite *site) {
    SplitSite c = {.site = site, .fused = site->graph->regions.at[site->fused->body].owner};
    const Target *target = site->target;
    TargetFeatures need = TF_SUBGROUP_SIZE_CONTROL | TF_SUBGROUP_SHUFFLE;
    if ((target->features & need) != need || target->subgroup_min != target->subgroup_max ||
        !attention_shape(site->graph, c.fused, &c.shape))
        return false;
    need |= schedule_memory_features(site);
    c.guard.features = need;
    c.keys = schedule_long_size(site, c.shape.keys);
    if ((target->features & need) != need || c.keys < SPLIT_KEYS || !split_queries(&c))
        return false;
    double queries = c.guard.conditions ? 1 : schedule_size(site, c.shape.rows);
    c.rows = queries * c.shape.group;
    c.key_heads = schedule_size(site, c.shape.heads) / c.shape.group;
    uint32_t before = site->list.len;
    Schedule s = {.form = "split", .subgroup = target->subgroup_size};
    s.tile_m = c.rows < SPLIT_ROWS_MAX ? (uint32_t)c.rows : SPLIT_ROWS_MAX;
    for (s.local = 64; s.local <= 512; s.local *= 2)
        for (s.tile_n = 32; s.tile_n <= 256; s.tile_n *= 2)
            for (s.lanes = 4; s.lanes <= 32; s.lanes *= 2) split_candidate(&c, s);
    return site->list.len > before && !c.guard.conditions;
}

Dim schedule_attention_workspace(const ScheduleSite *site, const Schedule *schedule,
                                 const ScheduleGuard *guard) {
    AttentionSplit layout;
    Graph *g = (Graph *)(uintptr_t)site->graph;
    NodeId fused = g->regions.at[site->fused->body].owner;
    if (!schedule->form || strcmp(schedule->form, "split") != 0 ||
        attention_split(g, fused, schedule, site->target, guard->condition, guard->conditions,
                        &layout))
        return DIM_NONE;
    return layout.bytes;
}
