// Candidates of form "coop" of family "attention".
//
// The cost is cycles of one compute unit. Its numbers were fitted to an H200 (2026-11-30): products
// at the fragments' rate, the reading of fragments from workgroup memory (each subgroup reads all
// keys and values, so the more rows it has, the better), exponentials, bytes from memory, and what
// each subgroup does once a tile: maxima and the shrinking of sums. Doing that only where a maximum
// has moved gains where all rows see all keys, and costs more than it gains where they are cut.
#include "passes/attention_coop.h"
#include "passes/build.h"
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

enum {
    FLASH_RATE = 1160,     // multiply-adds of 16-bit fragments a cycle
    FLASH_READ = 250,      // bytes of fragments read a cycle
    FLASH_POWERS = 40,     // scores a cycle
    FLASH_BYTES = 200,     // from memory a cycle
    FLASH_SUBGROUP = 35,   // of a subgroup in a tile; and for each 16 rows by 64 columns of sums:
    FLASH_SUMS = 30,       // what is always done
    FLASH_SHRINK = 28,     // sums shrink every time
    FLASH_BRANCH = 50,     // sums shrink where they must, rows are cut
    FLASH_WAIT = 150,      // of a tile alone on its unit
    FLASH_START = 4000,    // of a workgroup
    FLASH_REGISTERS = 250, // of an invocation
    FLASH_FILE = 65536,    // registers of a unit
    FLASH_SHARED = 228 * 1024,
    FLASH_CODE = 64, // products of fragments in a loop's body that take as long again to compile
    FLASH_MANY = 64  // rows for each unit, from which on they are many
};

typedef struct FlashSite {
    ScheduleSite *site;
    FlashShape shape;
    FragmentShape fragment;
    double heads, rows, keys;
    double window;          // 0: none
    bool causal, cut;       // cut: some rows do not see some keys
    Condition condition[1]; // under which the candidates are for these sizes
    uint32_t conditions;
} FlashSite;

static unsigned flash_registers(const FlashSite *f, const Schedule *s) {
    const AttentionShape *a = &f->shape.attention;
    double own = s->subgroup, rows = s->warp_m;
    double sums = rows * a->value_size / own, queries = rows * a->size / 2 / own;
    double scores = rows * s->tile_n / own * (s->stages == 3 ? 2 : 1);
    double moves = (double)s->tile_n * (a->size + a->value_size) / 2 / s->local;
    return (unsigned)(sums + queries + scores + moves + 58 + 7) & ~7u;
}

static double flash_tile_cost(const FlashSite *f, const Schedule *s) {
    const AttentionShape *a = &f->shape.attention;
    double columns = (double)(a->size + a->value_size), warps = (double)s->local / s->subgroup;
    double cells = (double)s->tile_m * s->tile_n, bytes = s->tile_n * columns * 2;
    double sums = s->warp_m / 16.0 * a->value_size / 64.0;
    double each = FLASH_SUMS + (!s->lazy ? FLASH_SHRINK : f->cut ? FLASH_BRANCH : 0);
    // Later stages were slower in every case measured.
    double work = cells * columns / FLASH_RATE * (1 + 0.02 * (s->stages - 1));
    return work + warps * bytes / FLASH_READ + cells / FLASH_POWERS * (a->mask ? 4 : 1) +
           bytes / FLASH_BYTES + warps * (FLASH_SUBGROUP + sums * each);
}

// Tiles of keys that a workgroup goes through, on average.
static double flash_tiles(const FlashSite *f, const Schedule *s) {
    double keys = f->keys;
    if (!f->cut) return ceil(keys / s->tile_n);
    if (f->causal) keys -= fmin(f->rows, keys) / 2;
    if (f->window > 0) keys = fmin(keys, f->window * (f->causal ? 1 : 2) + s->tile_m);
    return keys / s->tile_n + 1;
}

static double flash_code(const FlashSite *f, const Schedule *s) {
    const AttentionShape *a = &f->shape.attention;
    double columns = ceil((double)a->size / s->frag_k) + ceil((double)a->value_size / s->frag_n);
    return columns * (s->warp_m / s->frag_m) * (s->tile_n / s->frag_n);
}

static void flash_candidate(FlashSite *f, Schedule s) {
    ScheduleSite *site = f->site;
    unsigned registers = flash_registers(f, &s);
    if (flash_refuses(&f->shape, &s, site->target)) return;
    if (site->target->compute_units && registers > FLASH_REGISTERS) return;
    double shared = flash_shared_words(&f->shape, &s) * 4.0;
    double together = fmin(floor((double)FLASH_FILE / (registers * s.local)),
                           floor(FLASH_SHARED / (shared + 1024)));
    if (together < 1) together = 1;
    double tiles = flash_tiles(f, &s), groups = f->heads * ceil(f->rows / s.tile_m);
    double units = site->target->compute_units;
    if (!units) units = together = 1; // one at a time, as far as is known
    double each = ceil(groups / units), busy = flash_tile_cost(f, &s);
    if (f->cut && groups > units) each = groups / units; // small ones fill the gaps
    double at_once = fmin(together, each);
    double tile = fmax(at_once * busy, busy + FLASH_WAIT);
    double start = site->target->compute_units ? FLASH_START : 100;
    double cost = each / at_once * (start + tiles * tile);
    if (!site->target->compute_units) cost *= 1 + flash_code(f, &s) / FLASH_CODE;
    const char *why = arena_printf(
        site->arena,
        "%.0f workgroups of %u rows, %.0f at a time on each of %.0f units, %u registers", groups,
        s.tile_m, at_once, units, registers);
    Candidate candidate = {.schedule = s, .cost = cost, .why = why};
    TargetFeatures need = schedule_fragment_features(site, f->shape.dtype) |
                          fragment_layout_feature(f->shape.layout) | TF_SUBGROUP_SHUFFLE |
                          TF_SUBGROUP_ARITHMETIC;
    bool gathered = !f->shape.q.vector || !f->shape.k.vector || !f->shape.v.vector;
    if (gathered) need |= TF_INT16;
    if ((site->target->features & need) != need) return;
    candidate.guard = (ScheduleGuard){.features = need,
                                      .shared_bytes = shared > 32768 ? (uint32_t)shared : 0,
                                      .fragment = f->fragment,
                                      .conditions = f->conditions};
    memcpy(candidate.guard.condition, f->condition, sizeof f->condition);
    schedule_add_guarded(site, candidate);
}

static bool flash_fragment(FlashSite *f) {
    const Target *target = f->site->target;
    for (uint32_t i = 0; i < target->fragments; i++) {
        Schedule s = {.frag_m = target->fragment[i].m,
                      .frag_n = target->fragment[i].n,
                      .frag_k = target->fragment[i].k};
        FragmentMap map;
        if (target->fragment[i].ab != f->shape.dtype || target->fragment[i].acc != DT_F32 ||
            !flash_map(&f->shape, &s, &map))
            continue;
        f->fragment = target->fragment[i];
        return true;
    }
    return false;
}

// Reckons with so many rows in all: by the open one of heads and rows, heads first.
static void flash_resize(FlashSite *f, double rows) {
    const AttentionShape *a = &f->shape.attention;
    double by = rows / (f->heads * f->rows);
    if (dim_is_const(f->site->dims, a->heads, NULL))
        f->rows = fmax(1, floor(f->rows * by));
    else
        f->heads = fmax(1, floor(f->heads * by));
}

static void flash_candidates(FlashSite *f) {
    Schedule s = {.form = "coop",
                  .subgroup = fragment_layout_lanes(f->shape.layout),
                  .frag_m = f->fragment.m,
                  .frag_n = f->fragment.n,
                  .frag_k = f->fragment.k};
    for (uint32_t down = 1; down <= 2; down++)
        for (uint32_t warps = 1; warps <= 8; warps *= 2)
            for (uint32_t keys = 32; keys <= 64; keys *= 2)
                for (uint32_t stages = 1; stages <= 3; stages++)
                    for (uint32_t lazy = 0; lazy <= 1; lazy++) {
                        s.warp_m = down * s.frag_m, s.tile_m = warps * s.warp_m;
                        s.tile_n = keys, s.local = warps * s.subgroup;
                        // Unrolled, loops that always shrink two rows of sums took 27 % longer;
                        // with one row a loop that is not took 6 % longer.
                        s.stages = stages, s.lazy = lazy, s.unroll = !lazy && down > 1;
                        flash_candidate(f, s);
                    }
}

// Where it is open how many rows there are in all, many of them get a form of their own: large
// tiles. The form for all sizes is then for those that do not fill the device.
static void flash_when_many(FlashSite *f) {
    ScheduleSite *site = f->site;
    DimTable *dims = site->dims;
    const AttentionShape *a = &f->shape.attention;
    Dim rows = dim_mul(dims, a->heads, a->rows);
    double least = (double)site->target->compute_units * FLASH_MANY;
    double most = schedule_largest(site, rows), usual = f->heads * f->rows;
    Dim limit = dim_const(dims, (int64_t)least);
    if (!site->target->compute_units || 4 * most < 5 * least || !schedule_recorded(site, rows) ||
        dim_prove(dims, rows, DIM_GE, limit) != PROOF_UNKNOWN)
        return;
    FlashSite many = *f;
    many.condition[0] = (Condition){rows, limit, DIM_GE}, many.conditions = 1;
    flash_resize(&many, sqrt(least * most));
    flash_candidates(&many);
    if (usual > least / 2) flash_resize(f, least / 2);
}

void schedule_flash(ScheduleSite *site) {
    FlashSite f = {.site = site};
    Graph *g = (Graph *)(uintptr_t)site->graph;
    if (!flash_shape(g, g->regions.at[site->fused->body].owner, site->target, &f.shape) ||
        !flash_fragment(&f))
        return;
    const AttentionShape *a = &f.shape.attention;
    f.heads = schedule_size(site, a->heads);
    f.rows = schedule_long_size(site, a->rows), f.keys = schedule_long_size(site, a->keys);
    const Node *node = graph_node(g, a->node);
    const Attr *window = build_attr(node, "window");
    f.causal = build_attr(node, "is_causal")->i;
    f.window = window->present ? (double)window->i : 0;
    f.cut = f.causal || f.window > 0;
    flash_when_many(&f);
    flash_candidates(&f);
}
