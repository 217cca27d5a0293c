// Candidates of form "simt" of family "attention". The cost is cycles of one compute unit, in the
// measure of an H200: products against reads of workgroup memory, what comes from memory behind,
// barriers, which the unit's other workgroups hide.
#include "passes/attention_simt.h"
#include "passes/build.h"
#include "passes/schedule.h"

#include <math.h>

enum {
    SIMT_RATE = 60,      // multiply-adds a cycle
    SIMT_READ = 50,      // bytes of workgroup memory a cycle
    SIMT_BYTES = 24,     // from memory a cycle
    SIMT_POWERS = 12,    // scores through softmax a cycle
    SIMT_BARRIER = 60,   // cycles of one
    SIMT_START = 4000,   // of a workgroup
    SIMT_REGISTERS = 120 // of an invocation, more would spill
};

typedef struct SimtSite {
    ScheduleSite *site;
    AttentionShape shape;
    double heads, rows, keys;
    bool causal;
} SimtSite;

static double simt_tile_cost(const Schedule *s, const AttentionSimt *o, double *waits) {
    double cells = (double)s->tile_m * s->tile_n, depth = (double)o->chunks * s->tile_k;
    double width = 4.0 * o->fours * o->across, own = s->local;
    double products = cells * (depth + width) / SIMT_RATE;
    double read = own * depth * 4 * (s->reg_m + s->reg_n);
    read += own * s->tile_n * (4.0 * s->reg_m + 16.0 * o->fours);
    double bytes = s->tile_n * (depth + width) * 2;
    if (o->chunks > 1) bytes += s->tile_m * depth * 2;
    // Neighbours read the same rows: about half of what is asked for.
    *waits = SIMT_BARRIER * (2.0 * o->chunks + 3 + 2.0 * s->tile_n / o->value_rows);
    return fmax(products, read / 2 / SIMT_READ) + cells / SIMT_POWERS + bytes / SIMT_BYTES;
}

static void simt_candidate(SimtSite *c, const Schedule *s) {
    ScheduleSite *site = c->site;
    AttentionSimt layout;
    if (s->local > site->target->max_invocations || s->local > site->target->max_local_x) return;
    if (attention_simt(&c->shape, s, site->target, &layout)) return;
    unsigned registers = s->reg_m * (4 * layout.fours + s->reg_n + 4) + 4 * s->reg_n + 32;
    if (registers > SIMT_REGISTERS) return;
    double units = site->target->compute_units, waits, tiles = ceil(c->keys / s->tile_n);
    double groups = c->heads * ceil(c->rows / s->tile_m);
    double busy = simt_tile_cost(s, &layout, &waits);
    double words = layout.tile_words + layout.score_words + layout.row_words +
                   (layout.chunks == 1 ? s->tile_m * layout.pitch : 0);
    double together = fmin(65536.0 / (registers * s->local), 228.0 * 1024 / (words * 4 + 1024));
    if (c->causal) tiles = 0.5 * tiles + 1;
    if (!units) units = 1, together = 1, waits /= 8; // a barrier is a loop's end there
    double start = site->target->compute_units ? SIMT_START : 100;
    double each = ceil(groups / units), at_once = fmax(1, fmin(floor(together), each));
    double cost = each * (start / at_once + tiles * fmax(busy, (busy + waits) / at_once));
    schedule_add(site, *s, cost,
                 arena_printf(site->arena, "%u rows against %u keys a step, %u x %u scores each",
                              s->tile_m, s->tile_n, s->reg_m, s->reg_n));
}

static void simt_tiles(SimtSite *c, Schedule s) {
    uint32_t size = (c->shape.size + 3) & ~3u;
    for (s.reg_m = 1; s.reg_m <= 8; s.reg_m *= 2)
        for (s.reg_n = 1; s.reg_n <= 4; s.reg_n *= 2)
            for (uint32_t across = 8; across <= 64; across *= 2) {
                if (s.local % across) continue;
                s.tile_n = across * s.reg_n, s.tile_m = s.local / across * s.reg_m;
                if (s.tile_m > s.local || s.tile_m > 64 || s.tile_n > 128) continue;
                s.tile_k = size < 32 ? size : 32;
                simt_candidate(c, &s);
            }
}

void schedule_attention(ScheduleSite *site) {
    SimtSite c = {.site = site};
    if (!schedule_attention_split(site)) schedule_flash(site);
    if (!attention_shape(site->graph, site->graph->regions.at[site->fused->body].owner, &c.shape))
        return;
    c.heads = schedule_size(site, c.shape.heads);
    c.rows = schedule_long_size(site, c.shape.rows);
    c.keys = schedule_long_size(site, c.shape.keys);
    c.causal = build_attr(graph_node(site->graph, c.shape.node), "is_causal")->i;
    Schedule s = {.form = "simt", .unroll = site->target->compute_units ? 8 : 0};
    for (s.local = 64; s.local <= 256; s.local *= 2) simt_tiles(&c, s);
}
