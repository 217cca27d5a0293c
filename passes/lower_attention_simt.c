// Family "attention", form "simt": one workgroup makes tile_m rows of softmax(scale q k^T + mask)
// v, going over the keys in tiles of tile_n with running maxima and sums (online softmax; Milakov
// and Gimelshein, 2018), so that no [L, S] tensor is ever in memory. Scores, statistics and sums
// are f32.
//
// Keys that no row of the tile may see are not visited; a row that sees no key gives zeros.
#include "passes/lower_attention.h"

#include <math.h>

enum { ATTENTION_SUMS_MAX = 64 };

typedef struct Simt {
    Attention *a;
    Lower *l;
    unsigned tile_m, tile_n, local, lanes, value_lanes;
    unsigned pitch, value_pitch; // words of a row of the query and key tiles, of the value tile
    uint32_t shared_q, shared_kv, shared_p, shared_row;
    KVal id, sum[ATTENTION_SUMS_MAX];
    unsigned sums;
} Simt;

// Statistics of a row in shared_row: [tile_m] each.
enum { ROW_MAX, ROW_SUM, ROW_SCALE };

static bool simt_begin(Simt *s) {
    const Schedule *given = s->l->schedule;
    uint32_t size = s->a->size, value_size = s->a->value_size;
    s->tile_m = given->tile_m, s->tile_n = given->tile_n, s->local = given->local;
    s->lanes = size % 4 ? 1 : 4, s->value_lanes = value_size % 4 ? 1 : 4;
    s->pitch = size + s->lanes, s->value_pitch = value_size;
    s->sums = (s->tile_m * value_size / s->value_lanes + s->local - 1) / s->local;
    if (!s->tile_m || !s->tile_n || s->tile_m > s->local || s->sums > ATTENTION_SUMS_MAX) {
        lower_fail(s->l, "tile_m must be 1 to local, and its sums fit in registers");
        return false;
    }
    return true;
}

static KVal number(Simt *s, uint32_t value) {
    return k_i32(s->l->b, (int32_t)value);
}

static void simt_shared(Simt *s) {
    KBuilder *b = s->l->b;
    unsigned widest = s->pitch > s->value_pitch ? s->pitch : s->value_pitch;
    s->shared_q = k_shared(b, "q", DT_F32, s->lanes, s->tile_m * s->pitch / s->lanes);
    s->shared_kv = k_shared(b, "kv", DT_F32, 1, s->tile_n * widest);
    s->shared_p = k_shared(b, "p", DT_F32, 1, s->tile_m * s->tile_n);
    s->shared_row = k_shared(b, "row", DT_F32, 1, 3 * s->tile_m);
}

// A row of statistics: where row `row` keeps `what`.
static KVal row_at(Simt *s, unsigned what, KVal row) {
    return k_iadd(s->l->b, number(s, what * s->tile_m), row);
}

// Copies a tile of `rows` x `size` elements to workgroup memory; rows past the last repeat it.
static void load_tile(Simt *s, ValueId value, const Space *space, KVal head, KVal first, Dim extent,
                      unsigned rows, unsigned size, unsigned lanes, uint32_t region,
                      unsigned pitch) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned total = rows * size / lanes, across = size / lanes;
    KVal last = lower_dim(l, dim_sub(l->dims, extent, dim_const(l->dims, 1)));
    for (unsigned from = 0; from < total; from += s->local) {
        KVal e = k_iadd(b, s->id, number(s, from));
        bool partial = from + s->local > total;
        if (partial) k_if_begin(b, k_slt(b, e, number(s, total)));
        KVal row = k_udiv(b, e, number(s, across));
        KVal column = k_imul(b, k_urem(b, e, number(s, across)), number(s, lanes));
        Point point = point_make(space, (uint8_t)lanes);
        point.index[0] = head;
        point.index[1] = k_smin(b, k_iadd(b, first, row), last);
        point.index[2] = column;
        KVal loaded = lower_value(l, value, &point);
        KVal at = k_iadd(b, k_imul(b, row, number(s, pitch)), column);
        if (region == s->shared_q) {
            k_shared_store(b, region, at, loaded);
        } else {
            for (unsigned i = 0; i < lanes; i++) {
                k_shared_store(b, region, k_iadd(b, at, number(s, i)), k_extract(b, loaded, i));
            }
        }
        if (partial) k_if_end(b, 0, NULL, NULL);
    }
}

static KVal masked(Simt *s, KVal product, KVal row, KVal key) {
    KBuilder *b = s->l->b;
    KVal score = attention_score(s->a, product, row, key);
    AttentionLimits limits = attention_limits(s->a, row);
    KVal visible = k_slt(b, key, lower_dim(s->l, s->a->keys));
    if (limits.hi) visible = k_and(b, visible, k_sle(b, key, limits.hi));
    if (limits.lo) visible = k_and(b, visible, k_sle(b, limits.lo, key));
    return k_select(b, visible, score, k_f32(b, -INFINITY));
}

static KVal dot(Simt *s, KVal q_at, KVal k_at) {
    KBuilder *b = s->l->b;
    KVal zero = k_splat(b, k_f32(b, 0), s->lanes), now, out;
    KVal d = k_loop_begin(b, number(s, 0), number(s, s->a->size), number(s, s->lanes), K_LOOP_PLAIN,
                          1, &zero, &now);
    KVal q = k_shared_load(b, s->shared_q, k_iadd(b, q_at, d), K_TYPE(KT_F32, (uint8_t)s->lanes));
    KVal key[4];
    for (unsigned i = 0; i < s->lanes; i++) {
        KVal at = k_iadd(b, k_iadd(b, k_at, d), number(s, i));
        key[i] = k_shared_load(b, s->shared_kv, at, K_TYPE(KT_F32, 1));
    }
    KVal next = k_fma(b, q, k_vector(b, s->lanes, key), now);
    k_loop_end(b, &next, &out);
    KVal sum = k_extract(b, out, 0);
    for (unsigned i = 1; i < s->lanes; i++) sum = k_fadd(b, sum, k_extract(b, out, i));
    return sum;
}

static void make_scores(Simt *s, KVal first_key) {
    KBuilder *b = s->l->b;
    unsigned total = s->tile_m * s->tile_n;
    for (unsigned from = 0; from < total; from += s->local) {
        KVal e = k_iadd(b, s->id, number(s, from));
        bool partial = from + s->local > total;
        if (partial) k_if_begin(b, k_slt(b, e, number(s, total)));
        KVal row = k_udiv(b, e, number(s, s->tile_n)), key = k_urem(b, e, number(s, s->tile_n));
        KVal sum = dot(s, k_imul(b, row, number(s, s->pitch)), k_imul(b, key, number(s, s->pitch)));
        KVal score = masked(s, sum, k_iadd(b, s->a->first_row, row), k_iadd(b, first_key, key));
        k_shared_store(b, s->shared_p, e, score);
        if (partial) k_if_end(b, 0, NULL, NULL);
    }
}

// One invocation a row: the new maximum, what older sums shrink by, the tile's exponentials.
static void update_rows(Simt *s) {
    KBuilder *b = s->l->b;
    KType word = K_TYPE(KT_F32, 1);
    KVal row = s->id, zero = k_f32(b, 0), least = k_f32(b, -INFINITY), now, largest, sum;
    k_if_begin(b, k_slt(b, row, number(s, s->tile_m)));
    KVal first = k_imul(b, row, number(s, s->tile_n));
    KVal before = k_shared_load(b, s->shared_row, row_at(s, ROW_MAX, row), word);
    KVal j = k_loop_begin(b, number(s, 0), number(s, s->tile_n), number(s, 1), K_LOOP_PLAIN, 1,
                          &before, &now);
    KVal score = k_shared_load(b, s->shared_p, k_iadd(b, first, j), word);
    KVal larger = k_select(b, k_flt(b, now, score), score, now);
    k_loop_end(b, &larger, &largest);
    KVal base = k_select(b, k_feq(b, largest, least), zero, largest);
    KVal shrink = k_exp(b, k_fsub(b, before, base));
    j = k_loop_begin(b, number(s, 0), number(s, s->tile_n), number(s, 1), K_LOOP_PLAIN, 1, &zero,
                     &now);
    score = k_shared_load(b, s->shared_p, k_iadd(b, first, j), word);
    KVal power = k_exp(b, k_fsub(b, score, base));
    k_shared_store(b, s->shared_p, k_iadd(b, first, j), power);
    KVal next = k_fadd(b, now, power);
    k_loop_end(b, &next, &sum);
    KVal total = k_shared_load(b, s->shared_row, row_at(s, ROW_SUM, row), word);
    k_shared_store(b, s->shared_row, row_at(s, ROW_SUM, row), k_fma(b, total, shrink, sum));
    k_shared_store(b, s->shared_row, row_at(s, ROW_MAX, row), largest);
    k_shared_store(b, s->shared_row, row_at(s, ROW_SCALE, row), shrink);
    k_if_end(b, 0, NULL, NULL);
}

// Row and column of the n-th sum of this invocation; past the tile they repeat the last.
static void sum_place(Simt *s, unsigned n, KVal *row, KVal *column) {
    KBuilder *b = s->l->b;
    unsigned across = s->a->value_size / s->value_lanes, total = s->tile_m * across;
    KVal e = k_iadd(b, s->id, number(s, n * s->local));
    if ((n + 1) * s->local > total) e = k_smin(b, e, number(s, total - 1));
    *row = k_udiv(b, e, number(s, across));
    *column = k_imul(b, k_urem(b, e, number(s, across)), number(s, s->value_lanes));
}

static void add_values(Simt *s, KVal *sum) {
    KBuilder *b = s->l->b;
    KType word = K_TYPE(KT_F32, 1);
    KVal row[ATTENTION_SUMS_MAX], column[ATTENTION_SUMS_MAX], now[ATTENTION_SUMS_MAX];
    KVal next[ATTENTION_SUMS_MAX];
    for (unsigned n = 0; n < s->sums; n++) {
        sum_place(s, n, &row[n], &column[n]);
        KVal shrink = k_shared_load(b, s->shared_row, row_at(s, ROW_SCALE, row[n]), word);
        sum[n] = k_fmul(b, sum[n], k_splat(b, shrink, s->value_lanes));
    }
    KVal j = k_loop_begin(b, number(s, 0), number(s, s->tile_n), number(s, 1), K_LOOP_PLAIN,
                          s->sums, sum, now);
    for (unsigned n = 0; n < s->sums; n++) {
        KVal lane[4];
        KVal at = k_iadd(b, k_imul(b, j, number(s, s->value_pitch)), column[n]);
        for (unsigned i = 0; i < s->value_lanes; i++) {
            lane[i] = k_shared_load(b, s->shared_kv, k_iadd(b, at, number(s, i)), word);
        }
        KVal p_at = k_iadd(b, k_imul(b, row[n], number(s, s->tile_n)), j);
        KVal p = k_splat(b, k_shared_load(b, s->shared_p, p_at, word), s->value_lanes);
        next[n] = k_fma(b, p, k_vector(b, s->value_lanes, lane), now[n]);
    }
    k_loop_end(b, next, sum);
}

static void simt_sums(Simt *s) {
    Attention *a = s->a;
    KBuilder *b = s->l->b;
    KVal now[ATTENTION_SUMS_MAX];
    k_if_begin(b, k_slt(b, s->id, number(s, s->tile_m)));
    k_shared_store(b, s->shared_row, row_at(s, ROW_MAX, s->id), k_f32(b, -INFINITY));
    k_shared_store(b, s->shared_row, row_at(s, ROW_SUM, s->id), k_f32(b, 0));
    k_if_end(b, 0, NULL, NULL);
    load_tile(s, a->q, &a->q_space, a->head, a->first_row, a->rows, s->tile_m, a->size, s->lanes,
              s->shared_q, s->pitch);
    for (unsigned n = 0; n < s->sums; n++) s->sum[n] = k_splat(b, k_f32(b, 0), s->value_lanes);
    KVal first, end, tile = number(s, s->tile_n);
    attention_range(a, s->tile_m, &first, &end);
    KVal t = k_loop_begin(b, k_udiv(b, first, tile),
                          k_udiv(b, k_iadd(b, end, number(s, s->tile_n - 1)), tile), number(s, 1),
                          K_LOOP_PLAIN, s->sums, s->sum, now);
    KVal first_key = k_imul(b, t, tile);
    k_barrier(b);
    load_tile(s, a->k, &a->k_space, a->key_head, first_key, a->keys, s->tile_n, a->size, s->lanes,
              s->shared_kv, s->pitch);
    k_barrier(b);
    make_scores(s, first_key);
    k_barrier(b);
    update_rows(s);
    load_tile(s, a->v, &a->v_space, a->key_head, first_key, a->keys, s->tile_n, a->value_size,
              s->value_lanes, s->shared_kv, s->value_pitch);
    k_barrier(b);
    add_values(s, now);
    k_loop_end(b, now, s->sum);
    k_barrier(b);
}

static void simt_store(Simt *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned total = s->tile_m * s->a->value_size / s->value_lanes;
    for (unsigned n = 0; n < s->sums; n++) {
        KVal row, column, e = k_iadd(b, s->id, number(s, n * s->local));
        sum_place(s, n, &row, &column);
        KVal absolute = k_iadd(b, s->a->first_row, row);
        KVal inside = k_slt(b, absolute, lower_dim(l, s->a->rows));
        if ((n + 1) * s->local > total) {
            inside = k_and(b, inside, k_slt(b, e, number(s, total)));
        }
        k_if_begin(b, inside);
        KVal sum = k_shared_load(b, s->shared_row, row_at(s, ROW_SUM, row), K_TYPE(KT_F32, 1));
        KVal factor = k_splat(b, attention_inverse(s->a, sum), s->value_lanes);
        attention_result(s->a, absolute, column, k_fmul(b, s->sum[n], factor));
        k_if_end(b, 0, NULL, NULL);
    }
}

bool lower_attention_simt(Attention *a) {
    Simt *s = arena_alloc(a->l->arena, sizeof *s);
    s->a = a, s->l = a->l;
    if (!simt_begin(s)) return false;
    Dim groups = attention_place(a, s->tile_m);
    s->id = k_local_id(a->l->b);
    simt_shared(s);
    simt_sums(s);
    simt_store(s);
    return lower_finish(a->l, groups, attention_flops(a));
}
