// Family "attention", form "simt" (passes/attention_simt.h says what a schedule means):
// softmax(scale q k^T + mask) v over tiles of keys with running maxima and sums (online softmax;
// Milakov and Gimelshein, 2018), so that no [L, S] tensor is ever in memory. Scores, statistics and
// sums are f32.
//
// Keys that no row of the tile may see are not visited; a row that sees no key gives zeros.
#include "passes/attention_simt.h"
#include "passes/lower_attention.h"

#include <math.h>

enum { SIMT_ROWS_MAX = 16, SIMT_FOURS_MAX = 2 * SIMT_SUMS_MAX / 4 };

typedef struct Simt {
    Attention *a;
    Lower *l;
    const Schedule *s;
    AttentionSimt layout;
    uint32_t shared_q, shared_tile, shared_p, shared_row; // shared_q: 0 or queries of their own
    KVal id, tx, ty;
} Simt;

// What goes from tile to tile: this invocation's sums, [reg_m][fours] of four columns; for the row
// whose softmax it shares the maximum and its own part of the weights' sum.
typedef struct SimtState {
    KVal sum[SIMT_FOURS_MAX], base, weight;
} SimtState;

static KVal number(Simt *s, uint32_t value) {
    return k_i32(s->l->b, (int32_t)value);
}

// Rows and columns of an operand, as they come into workgroup memory.
typedef struct SimtTile {
    ValueId value;
    const Space *space;
    KVal head, first_row, first_column;
    Dim rows; // there are
    unsigned tile_rows, columns, real_columns;
    bool zero_rows; // rows past the last are 0; else they repeat it
    uint32_t region, first, pitch;
} SimtTile;

// `lanes` elements at (row, column) of the tile; what lies outside the operand is as `t` says.
static KVal tile_element(Simt *s, const SimtTile *t, KVal row, KVal column, unsigned lanes) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    KVal last = lower_dim(l, dim_sub(l->dims, t->rows, dim_const(l->dims, 1)));
    KVal at_row = k_iadd(b, t->first_row, row), at_column = k_iadd(b, t->first_column, column);
    KVal inside = 0;
    if (t->zero_rows && !dim_divides(l->dims, t->tile_rows, t->rows))
        inside = k_sle(b, at_row, last);
    if (k_fact(b, at_column).hi > (int64_t)t->real_columns - lanes) {
        KVal near = k_sle(b, at_column, number(s, t->real_columns - lanes));
        inside = inside ? k_and(b, inside, near) : near;
        at_column = k_smin(b, at_column, number(s, t->real_columns - lanes));
    }
    Point point = point_make(t->space, (uint8_t)lanes);
    point.index[0] = t->head, point.index[1] = k_smin(b, at_row, last), point.index[2] = at_column;
    KVal value = lower_value(l, t->value, &point);
    if (k_type(b, value).lanes != lanes) value = k_splat(b, value, lanes);
    return inside ? k_select(b, inside, value, k_splat(b, k_f32(b, 0), lanes)) : value;
}

// Moves of a batch: all are loaded before the first is stored.
enum { SIMT_BATCH = 8 };

static void load_tile(Simt *s, const SimtTile *t) {
    KBuilder *b = s->l->b;
    unsigned lanes = t->real_columns % 4 ? 1 : 4, across = t->columns / lanes;
    unsigned total = t->tile_rows * across, local = s->s->local;
    unsigned slots = (total + local - 1) / local, batch = slots < SIMT_BATCH ? slots : SIMT_BATCH;
    KVal at[SIMT_BATCH], value[SIMT_BATCH], there[SIMT_BATCH];
    bool whole = total % (batch * local) == 0;
    KVal first = k_loop_begin(b, number(s, 0), number(s, total), number(s, batch * local),
                              K_LOOP_PLAIN, 0, NULL, NULL);
    for (unsigned i = 0; i < batch; i++) {
        KVal e = k_iadd(b, k_iadd(b, first, s->id), number(s, i * local));
        there[i] = k_slt(b, e, number(s, total));
        if (!whole) e = k_smin(b, e, number(s, total - 1));
        KVal row = k_udiv(b, e, number(s, across));
        KVal column = k_imul(b, k_urem(b, e, number(s, across)), number(s, lanes));
        KVal line = k_iadd(b, k_imul(b, row, number(s, t->pitch)), number(s, t->first));
        at[i] = k_iadd(b, line, column);
        value[i] = tile_element(s, t, row, column, lanes);
    }
    for (unsigned i = 0; i < batch; i++) {
        if (!whole) k_if_begin(b, there[i]);
        k_shared_store(b, t->region, at[i], value[i]);
        if (!whole) k_if_end(b, 0, NULL, NULL);
    }
    k_loop_end(b, NULL, NULL);
}

static void load_queries(Simt *s, KVal first_column, uint32_t region) {
    Attention *a = s->a;
    SimtTile t = {.value = a->q,
                  .space = &a->q_space,
                  .head = a->head,
                  .first_row = a->first_row,
                  .first_column = first_column,
                  .rows = a->rows,
                  .tile_rows = s->s->tile_m,
                  .columns = s->s->tile_k,
                  .real_columns = a->size,
                  .region = region,
                  .pitch = s->layout.pitch};
    load_tile(s, &t);
}

static uint32_t keys_first(const Simt *s) {
    return s->layout.chunks == 1 ? 0 : s->s->tile_m * s->layout.pitch;
}

static void load_keys(Simt *s, KVal first_key, KVal first_column) {
    Attention *a = s->a;
    SimtTile t = {.value = a->k,
                  .space = &a->k_space,
                  .head = a->key_head,
                  .first_row = first_key,
                  .first_column = first_column,
                  .rows = a->keys,
                  .tile_rows = s->s->tile_n,
                  .columns = s->s->tile_k,
                  .real_columns = a->size,
                  .region = s->shared_tile,
                  .first = keys_first(s),
                  .pitch = s->layout.pitch};
    load_tile(s, &t);
}

static void load_values(Simt *s, KVal first_key, unsigned rows) {
    Attention *a = s->a;
    SimtTile t = {.value = a->v,
                  .space = &a->v_space,
                  .head = a->key_head,
                  .first_row = first_key,
                  .first_column = number(s, 0),
                  .rows = a->keys,
                  .tile_rows = rows,
                  .columns = s->layout.columns,
                  .real_columns = a->value_size,
                  .zero_rows = true,
                  .region = s->shared_tile,
                  .pitch = s->layout.columns};
    load_tile(s, &t);
}

// Rows of an invocation are neighbours, its keys and columns lie `across` apart.
static KVal own_row(Simt *s, unsigned i) {
    return k_iadd(s->l->b, k_imul(s->l->b, s->ty, number(s, s->s->reg_m)), number(s, i));
}

static KVal own_key(Simt *s, unsigned j) {
    return k_iadd(s->l->b, s->tx, number(s, j * s->layout.across));
}

static int simt_hint(const Simt *s) {
    return s->s->unroll > 1 ? K_LOOP_UNROLL : K_LOOP_PLAIN;
}

static void chunk_products(Simt *s, KVal *sum) {
    KBuilder *b = s->l->b;
    unsigned rows = s->s->reg_m, keys = s->s->reg_n;
    KType four = K_TYPE(KT_F32, 4);
    uint32_t q_region = s->layout.chunks == 1 ? s->shared_q : s->shared_tile;
    KVal now[SIMT_SCORES_MAX], q[SIMT_ROWS_MAX], pitch = number(s, s->layout.pitch);
    KVal d = k_loop_begin(b, number(s, 0), number(s, s->s->tile_k), number(s, 4), simt_hint(s),
                          rows * keys, sum, now);
    for (unsigned i = 0; i < rows; i++)
        q[i] = k_shared_load(b, q_region, k_iadd(b, k_imul(b, own_row(s, i), pitch), d), four);
    for (unsigned j = 0; j < keys; j++) {
        KVal at = k_iadd(b, k_imul(b, own_key(s, j), pitch), number(s, keys_first(s)));
        KVal k = k_shared_load(b, s->shared_tile, k_iadd(b, at, d), four);
        for (unsigned i = 0; i < rows; i++)
            for (unsigned n = 0; n < 4; n++) {
                KVal *own = &now[i * keys + j];
                *own = k_fma(b, k_extract(b, q[i], n), k_extract(b, k, n), *own);
            }
    }
    k_loop_end(b, now, sum);
}

static void make_products(Simt *s, KVal first_key, KVal *sum) {
    KBuilder *b = s->l->b;
    unsigned count = s->s->reg_m * s->s->reg_n;
    KVal now[SIMT_SCORES_MAX], zero = k_f32(b, 0);
    for (unsigned i = 0; i < count; i++) sum[i] = zero;
    KVal c = k_loop_begin(b, number(s, 0), number(s, s->layout.chunks * s->s->tile_k),
                          number(s, s->s->tile_k), K_LOOP_PLAIN, count, sum, now);
    k_barrier(b); // what was there has been read
    if (s->layout.chunks > 1) load_queries(s, c, s->shared_tile);
    load_keys(s, first_key, c);
    k_barrier(b);
    chunk_products(s, now);
    k_loop_end(b, now, sum);
}

static KVal masked(Simt *s, KVal product, KVal row, KVal key) {
    KBuilder *b = s->l->b;
    KVal score = attention_score(s->a, product, attention_mask(s->a, row, key, 1));
    AttentionLimits limits = attention_limits(s->a, row);
    KVal visible = k_slt(b, key, lower_dim(s->l, s->a->keys));
    if (limits.hi) visible = k_and(b, visible, k_sle(b, key, limits.hi));
    if (limits.lo) visible = k_and(b, visible, k_sle(b, limits.lo, key));
    return k_select(b, visible, score, k_f32(b, -INFINITY));
}

static void store_scores(Simt *s, KVal first_key, const KVal *product) {
    KBuilder *b = s->l->b;
    for (unsigned i = 0; i < s->s->reg_m; i++)
        for (unsigned j = 0; j < s->s->reg_n; j++) {
            KVal row = own_row(s, i), key = own_key(s, j);
            KVal score = masked(s, product[i * s->s->reg_n + j], k_iadd(b, s->a->first_row, row),
                                k_iadd(b, first_key, key));
            KVal at = k_iadd(b, k_imul(b, row, number(s, s->layout.score_pitch)), key);
            k_shared_store(b, s->shared_p, at, score);
        }
    k_barrier(b);
}

// Where the parts of a row's statistics lie, and behind them what its sums shrink by.
static KVal row_part(Simt *s, KVal row, unsigned part) {
    KVal first = k_imul(s->l->b, row, number(s, s->layout.parts + 1));
    return k_iadd(s->l->b, first, number(s, part));
}

// `parts` invocations a row: the new maximum, the tile's weights, what sums so far shrink by.
static void softmax_rows(Simt *s, SimtState *state) {
    KBuilder *b = s->l->b;
    KType word = K_TYPE(KT_F32, 1);
    unsigned parts = s->layout.parts, tile = s->s->tile_n;
    KVal row = k_udiv(b, s->id, number(s, parts)), part = k_urem(b, s->id, number(s, parts));
    KVal first = k_imul(b, row, number(s, s->layout.score_pitch));
    KVal least = k_f32(b, -INFINITY), largest, now, sum;
    KVal j =
        k_loop_begin(b, part, number(s, tile), number(s, parts), K_LOOP_PLAIN, 1, &least, &now);
    KVal larger = k_fmax(b, now, k_shared_load(b, s->shared_p, k_iadd(b, first, j), word));
    k_loop_end(b, &larger, &largest);
    k_shared_store(b, s->shared_row, k_iadd(b, row_part(s, row, 0), part), largest);
    k_barrier(b);
    KVal base = state->base;
    for (unsigned p = 0; p < parts; p++)
        base = k_fmax(b, base, k_shared_load(b, s->shared_row, row_part(s, row, p), word));
    KVal from = k_select(b, k_feq(b, base, least), k_f32(b, 0), base);
    KVal shrink = k_exp(b, k_fsub(b, state->base, from));
    KVal weight = k_fmul(b, state->weight, shrink);
    j = k_loop_begin(b, part, number(s, tile), number(s, parts), K_LOOP_PLAIN, 1, &weight, &now);
    KVal score = k_shared_load(b, s->shared_p, k_iadd(b, first, j), word);
    KVal power = k_exp(b, k_fsub(b, score, from));
    k_shared_store(b, s->shared_p, k_iadd(b, first, j), power);
    KVal next = k_fadd(b, now, power);
    k_loop_end(b, &next, &sum);
    k_if_begin(b, k_ieq(b, part, number(s, 0)));
    k_shared_store(b, s->shared_row, row_part(s, row, parts), shrink);
    k_if_end(b, 0, NULL, NULL);
    state->base = base, state->weight = sum;
}

static KVal own_column(Simt *s, unsigned four) {
    KVal at = k_iadd(s->l->b, s->tx, number(s, four * s->layout.across));
    bool all = (four + 1) * s->layout.across * 4 <= s->layout.columns;
    if (!all) at = k_smin(s->l->b, at, number(s, s->layout.columns / 4 - 1));
    return k_imul(s->l->b, at, number(s, 4));
}

// Sums of the values of `value_rows` keys from `first` of the tile on, which are in memory.
static void chunk_values(Simt *s, KVal first, KVal *sum) {
    KBuilder *b = s->l->b;
    unsigned rows = s->s->reg_m, fours = s->layout.fours;
    KType four = K_TYPE(KT_F32, 4);
    KVal now[SIMT_FOURS_MAX], p[SIMT_ROWS_MAX];
    KVal k = k_loop_begin(b, number(s, 0), number(s, s->layout.value_rows), number(s, 4),
                          simt_hint(s), rows * fours, sum, now);
    KVal column = k_iadd(b, first, k);
    for (unsigned i = 0; i < rows; i++) {
        KVal at = k_imul(b, own_row(s, i), number(s, s->layout.score_pitch));
        p[i] = k_shared_load(b, s->shared_p, k_iadd(b, at, column), four);
    }
    for (unsigned n = 0; n < 4; n++)
        for (unsigned f = 0; f < fours; f++) {
            KVal at = k_imul(b, k_iadd(b, k, number(s, n)), number(s, s->layout.columns));
            KVal v = k_shared_load(b, s->shared_tile, k_iadd(b, at, own_column(s, f)), four);
            for (unsigned i = 0; i < rows; i++) {
                KVal weight = k_splat(b, k_extract(b, p[i], n), 4);
                now[i * fours + f] = k_fma(b, weight, v, now[i * fours + f]);
            }
        }
    k_loop_end(b, now, sum);
}

static void add_values(Simt *s, KVal first_key, KVal *sum) {
    KBuilder *b = s->l->b;
    unsigned count = s->s->reg_m * s->layout.fours, rows = s->layout.value_rows;
    KVal now[SIMT_FOURS_MAX], parts = number(s, s->layout.parts);
    load_values(s, first_key, rows);
    k_barrier(b);
    for (unsigned i = 0; i < count; i++) {
        KVal at = row_part(s, own_row(s, i / s->layout.fours), 0);
        KVal shrink = k_shared_load(b, s->shared_row, k_iadd(b, at, parts), K_TYPE(KT_F32, 1));
        sum[i] = k_fmul(b, sum[i], k_splat(b, shrink, 4));
    }
    chunk_values(s, number(s, 0), sum);
    KVal first = k_loop_begin(b, number(s, rows), number(s, s->s->tile_n), number(s, rows),
                              K_LOOP_PLAIN, count, sum, now);
    k_barrier(b);
    load_values(s, k_iadd(b, first_key, first), rows);
    k_barrier(b);
    chunk_values(s, first, now);
    k_loop_end(b, now, sum);
}

static void simt_sums(Simt *s, SimtState *state) {
    Attention *a = s->a;
    KBuilder *b = s->l->b;
    unsigned sums = s->s->reg_m * s->layout.fours, count = sums + 2;
    KVal init[SIMT_FOURS_MAX + 2], now[SIMT_FOURS_MAX + 2], product[SIMT_SCORES_MAX];
    KVal first, end, tile = number(s, s->s->tile_n);
    for (unsigned n = 0; n < sums; n++) init[n] = k_splat(b, k_f32(b, 0), 4);
    init[sums] = k_f32(b, -INFINITY), init[sums + 1] = k_f32(b, 0);
    if (s->layout.chunks == 1) load_queries(s, number(s, 0), s->shared_q);
    attention_range(a, s->s->tile_m, &first, &end);
    KVal t = k_loop_begin(b, k_udiv(b, first, tile),
                          k_udiv(b, k_iadd(b, end, number(s, s->s->tile_n - 1)), tile),
                          number(s, 1), K_LOOP_PLAIN, count, init, now);
    KVal first_key = k_imul(b, t, tile);
    SimtState own = {.base = now[sums], .weight = now[sums + 1]};
    make_products(s, first_key, product);
    store_scores(s, first_key, product);
    softmax_rows(s, &own);
    add_values(s, first_key, now);
    now[sums] = own.base, now[sums + 1] = own.weight;
    k_loop_end(b, now, init);
    for (unsigned n = 0; n < sums; n++) state->sum[n] = init[n];
    state->base = init[sums], state->weight = init[sums + 1];
}

static void store_fours(Simt *s, const SimtState *state, unsigned i, KVal row, KVal inverse) {
    KBuilder *b = s->l->b;
    unsigned lanes = s->a->value_size % 4 ? 1 : 4;
    for (unsigned f = 0; f < s->layout.fours; f++) {
        KVal column = k_imul(b, k_iadd(b, s->tx, number(s, f * s->layout.across)), number(s, 4));
        KVal value = k_fmul(b, state->sum[i * s->layout.fours + f], k_splat(b, inverse, 4));
        for (unsigned n = 0; n < 4; n += lanes) {
            KVal at = k_iadd(b, column, number(s, n));
            k_if_begin(b, k_slt(b, at, number(s, s->a->value_size)));
            attention_result(s->a, row, at, lanes == 4 ? value : k_extract(b, value, n));
            k_if_end(b, 0, NULL, NULL);
        }
    }
}

static void simt_store(Simt *s, const SimtState *state) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    KType word = K_TYPE(KT_F32, 1);
    unsigned parts = s->layout.parts;
    KVal shared_row = k_udiv(b, s->id, number(s, parts)), part = k_urem(b, s->id, number(s, parts));
    k_barrier(b);
    k_shared_store(b, s->shared_row, k_iadd(b, row_part(s, shared_row, 0), part), state->weight);
    k_barrier(b);
    for (unsigned i = 0; i < s->s->reg_m; i++) {
        KVal row = k_iadd(b, s->a->first_row, own_row(s, i)), sum = 0;
        k_if_begin(b, k_slt(b, row, lower_dim(l, s->a->rows)));
        for (unsigned p = 0; p < parts; p++) {
            KVal own = k_shared_load(b, s->shared_row, row_part(s, own_row(s, i), p), word);
            sum = sum ? k_fadd(b, sum, own) : own;
        }
        store_fours(s, state, i, row, attention_inverse(s->a, sum));
        k_if_end(b, 0, NULL, NULL);
    }
}

static void simt_regions(Simt *s) {
    KBuilder *b = s->l->b;
    const AttentionSimt *o = &s->layout;
    s->shared_tile = k_shared(b, "tile", DT_F32, 4, o->tile_words / 4);
    if (o->chunks == 1) s->shared_q = k_shared(b, "q", DT_F32, 4, s->s->tile_m * o->pitch / 4);
    s->shared_p = k_shared(b, "p", DT_F32, 4, o->score_words / 4);
    s->shared_row = k_shared(b, "row", DT_F32, 1, o->row_words);
}

bool lower_attention_simt(Attention *a) {
    Lower *l = a->l;
    Simt *s = arena_alloc(l->arena, sizeof *s);
    AttentionShape shape;
    SimtState state;
    s->a = a, s->l = l, s->s = l->schedule;
    const char *why = "the head size must be constant";
    if (attention_shape(l->graph, l->node, &shape))
        why = attention_simt(&shape, s->s, &l->plan->target, &s->layout);
    if (!why && s->s->reg_m > SIMT_ROWS_MAX) why = "reg_m is at most 16";
    if (why) {
        lower_fail(l, "%s", why);
        return false;
    }
    Dim groups = attention_place(a, s->s->tile_m);
    s->id = k_local_id(l->b);
    s->tx = k_urem(l->b, s->id, number(s, s->layout.across));
    s->ty = k_udiv(l->b, s->id, number(s, s->layout.across));
    simt_regions(s);
    simt_sums(s, &state);
    simt_store(s, &state);
    return lower_finish(l, groups, attention_flops(a));
}
