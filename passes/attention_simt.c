#include "passes/attention_simt.h"

static uint32_t align4(uint32_t x) {
    return (x + 3) & ~3u;
}

static void simt_layout(const AttentionShape *a, const Schedule *s, AttentionSimt *o) {
    o->across = s->tile_n / s->reg_n, o->down = s->tile_m / s->reg_m;
    o->columns = align4(a->value_size);
    o->fours = (o->columns / 4 + o->across - 1) / o->across;
    o->chunks = (a->size + s->tile_k - 1) / s->tile_k;
    o->pitch = s->tile_k + 4, o->score_pitch = s->tile_n + 4;
    o->tile_words = (s->tile_m + s->tile_n) * o->pitch;
    if (o->chunks == 1) o->tile_words = s->tile_n * o->pitch; // queries have memory of their own
    o->value_rows = s->tile_n;
    while (o->value_rows % 8 == 0 && o->value_rows * o->columns > o->tile_words) o->value_rows /= 2;
    if (o->tile_words < o->value_rows * o->columns) o->tile_words = o->value_rows * o->columns;
    o->parts = s->local / s->tile_m;
    o->score_words = s->tile_m * o->score_pitch;
    o->row_words = s->tile_m * (o->parts + 1);
}

const char *attention_simt(const AttentionShape *a, const Schedule *s, const Target *target,
                           AttentionSimt *o) {
    *o = (AttentionSimt){0};
    if (!s->reg_m || !s->reg_n || !s->tile_m || !s->tile_n || s->tile_m % s->reg_m ||
        s->tile_n % s->reg_n || s->tile_m / s->reg_m * (s->tile_n / s->reg_n) != s->local)
        return "local must be tile_m / reg_m times tile_n / reg_n";
    if (!s->tile_k || s->tile_k % 4 || s->tile_n % 4) return "tile_k and tile_n are multiples of 4";
    if (s->local % s->tile_m) return "tile_m must divide local";
    simt_layout(a, s, o);
    if (s->reg_m * o->fours * 4 > SIMT_SUMS_MAX * 2 || s->reg_m * s->reg_n > SIMT_SCORES_MAX)
        return "an invocation's sums must fit in registers";
    uint32_t queries = o->chunks == 1 ? s->tile_m * o->pitch : 0;
    if ((queries + o->tile_words + o->score_words + o->row_words) * 4 > target->shared_bytes)
        return "its tiles need more workgroup memory than the target has";
    return NULL;
}
