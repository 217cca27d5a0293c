// Candidates of family "attention": rows and keys of a tile that fit in workgroup memory. A cost is
// the work of all tiles, wanted or not, in products of one invocation.
#include "passes/schedule.h"

#include <math.h>

enum { SIMT_CYCLES = 50 }; // of a product, in flight beside others; measured on an H200

typedef struct AttentionSite {
    ScheduleSite *site;
    double heads, rows, keys;
    int64_t size, value_size;
} AttentionSite;

static void attention_candidate(AttentionSite *at, uint32_t rows, uint32_t keys, uint32_t local) {
    ScheduleSite *site = at->site;
    int64_t lanes = at->size % 4 ? 1 : 4, value_lanes = at->value_size % 4 ? 1 : 4;
    int64_t pitch = at->size + lanes;
    int64_t widest = pitch > at->value_size ? pitch : at->value_size;
    int64_t words = rows * pitch + keys * widest + (int64_t)rows * keys + 3 * rows;
    int64_t sums = (rows * at->value_size / value_lanes + local - 1) / local;
    if (words * 4 > site->target->shared_bytes || sums > 16 || rows > local) return;
    if (local > site->target->max_invocations) return;
    Schedule s = {.local = local, .tile_m = rows, .tile_n = keys, .form = "simt"};
    double tiles = at->heads * ceil(at->rows / rows), key_tiles = ceil(at->keys / keys);
    double products = (double)rows * keys * (double)(at->size + at->value_size) / local;
    double copies = (double)keys * (double)(at->size + at->value_size) / local * 2;
    double each = key_tiles * (products + copies + 2.0 * keys + 60);
    if (site->target->compute_units) each *= SIMT_CYCLES;
    double units = site->target->compute_units ? site->target->compute_units * 4.0 : 2;
    double fills = tiles / units;
    schedule_add(site, s, each * (fills < 1 ? 1 : fills),
                 arena_printf(site->arena, "%u rows against %u keys a step", rows, keys));
}

void schedule_attention(ScheduleSite *site) {
    if (!schedule_attention_split(site)) schedule_flash(site);
    const Graph *g = site->graph;
    const Node *node = graph_node(g, fused_find(g, site->fused, OC_ATTENTION));
    const Type *q = &graph_value(g, node->operand[0])->type;
    const Type *v = &graph_value(g, node->operand[2])->type;
    AttentionSite at = {.site = site, .heads = 1};
    if (!dim_is_const(site->dims, q->size[q->rank - 1], &at.size) ||
        !dim_is_const(site->dims, v->size[v->rank - 1], &at.value_size))
        return;
    for (int i = 0; i + 2 < q->rank; i++) at.heads *= schedule_size(site, q->size[i]);
    at.rows = schedule_size(site, q->size[q->rank - 2]);
    at.keys = schedule_size(site, v->size[v->rank - 2]);
    for (uint32_t rows = 1; rows <= 32; rows *= 2)
        for (uint32_t keys = 8; keys <= 64; keys *= 2)
            for (uint32_t local = 64; local <= 256; local *= 2)
                attention_candidate(&at, rows, keys, local);
}
