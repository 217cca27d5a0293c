// Family "attention", form "simt": one workgroup makes tile_m rows of softmax(scale q k^T + mask)
// v, going over the keys in tiles of tile_n with running maxima and sums (online softmax; Milakov
// and Gimelshein, 2018), so that no [L, S] tensor is ever in memory. Scores, statistics and sums
// are f32.
//
// Keys that no row of the tile may see are not visited; a row that sees no key gives zeros.
#include "passes/build.h"
#include "passes/lower.h"
#include "passes/lower_shape.h"

#include <math.h>

enum { ATTENTION_SUMS_MAX = 64 };

typedef struct Attention {
    Lower *l;
    const Node *node;
    ValueId q, k, v, mask, result;
    Dim heads, group, rows, keys; // query heads in all, query heads a key head, L, S
    uint32_t size, value_size;    // D, Dv
    unsigned tile_m, tile_n, local, lanes, value_lanes;
    unsigned pitch, value_pitch; // words of a row of the query and key tiles, of the value tile
    uint32_t shared_q, shared_kv, shared_p, shared_row;
    Space q_space, k_space, v_space, mask_space, out_space;
    KVal id, head, key_head, first_row, shift; // shift: S - L, for the causal limit
    KVal sum[ATTENTION_SUMS_MAX];
    unsigned sums;
} Attention;

// Statistics of a row in shared_row: [tile_m] each.
enum { ROW_MAX, ROW_SUM, ROW_SCALE };

static Dim leading(DimTable *dims, const Type *type) {
    Dim product = dim_const(dims, 1);
    for (uint8_t i = 0; i + 2 < type->rank; i++) product = dim_mul(dims, product, type->size[i]);
    return product;
}

// [leading axes joined, rows, columns]
static Space matrix_space(Lower *l, const Type *type) {
    Space space = space_of(l, type->rank, type->size);
    space.rank = 3;
    space.size[0] = leading(l->dims, type);
    space.size[1] = type->size[type->rank - 2];
    space.size[2] = type->size[type->rank - 1];
    return space;
}

static const Type *type_of(Attention *a, ValueId value) {
    return &graph_value(a->l->graph, value)->type;
}

static bool attention_begin(Attention *a) {
    Lower *l = a->l;
    const Schedule *s = l->schedule;
    const Node *fused = graph_node(l->graph, l->node);
    a->node = graph_node(l->graph, fused_find(l->graph, fused, OC_ATTENTION));
    a->q = a->node->operand[0], a->k = a->node->operand[1], a->v = a->node->operand[2];
    a->mask = a->node->operands > 3 ? a->node->operand[3] : 0;
    a->result = a->node->result[0];
    const Type *q = type_of(a, a->q), *k = type_of(a, a->k), *v = type_of(a, a->v);
    int64_t size, value_size, group;
    if (!dim_is_const(l->dims, q->size[q->rank - 1], &size) ||
        !dim_is_const(l->dims, v->size[v->rank - 1], &value_size)) {
        lower_fail(l, "the head size must be constant");
        return false;
    }
    a->heads = leading(l->dims, q);
    a->group = dim_const(l->dims, 1);
    if (q->rank > 2) a->group = dim_floor_div(l->dims, q->size[q->rank - 3], k->size[k->rank - 3]);
    if (!dim_is_const(l->dims, a->group, &group)) {
        lower_fail(l, "the number of query heads a key head must be constant");
        return false;
    }
    a->rows = q->size[q->rank - 2], a->keys = k->size[k->rank - 2];
    a->size = (uint32_t)size, a->value_size = (uint32_t)value_size;
    a->tile_m = s->tile_m, a->tile_n = s->tile_n, a->local = s->local;
    a->lanes = a->size % 4 ? 1 : 4, a->value_lanes = a->value_size % 4 ? 1 : 4;
    a->pitch = a->size + a->lanes, a->value_pitch = a->value_size;
    a->sums = (a->tile_m * a->value_size / a->value_lanes + a->local - 1) / a->local;
    if (!a->tile_m || !a->tile_n || !a->local || a->tile_m > a->local ||
        a->sums > ATTENTION_SUMS_MAX) {
        lower_fail(l, "tile_m must be 1 to local, and its sums fit in registers");
        return false;
    }
    return true;
}

static KVal number(Attention *a, uint32_t value) {
    return k_i32(a->l->b, (int32_t)value);
}

static void attention_place(Attention *a) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    Dim tiles = dim_ceil_div(l->dims, a->rows, dim_const(l->dims, a->tile_m));
    KVal workgroup = lower_workgroup(l, dim_mul(l->dims, a->heads, tiles));
    KVal count = lower_dim(l, tiles);
    a->id = k_local_id(b);
    a->head = k_udiv(b, workgroup, count);
    a->key_head = k_udiv(b, a->head, lower_dim(l, a->group));
    a->first_row = k_imul(b, k_urem(b, workgroup, count), number(a, a->tile_m));
    a->shift = k_isub(b, lower_dim(l, a->keys), lower_dim(l, a->rows));
    a->q_space = matrix_space(l, type_of(a, a->q));
    a->k_space = matrix_space(l, type_of(a, a->k));
    a->v_space = matrix_space(l, type_of(a, a->v));
    a->out_space = matrix_space(l, type_of(a, a->result));
    Type scores = *type_of(a, a->q);
    scores.size[scores.rank - 1] = a->keys;
    a->mask_space = matrix_space(l, &scores);
    unsigned widest = a->pitch > a->value_pitch ? a->pitch : a->value_pitch;
    a->shared_q = k_shared(b, "q", DT_F32, a->lanes, a->tile_m * a->pitch / a->lanes);
    a->shared_kv = k_shared(b, "kv", DT_F32, 1, a->tile_n * widest);
    a->shared_p = k_shared(b, "p", DT_F32, 1, a->tile_m * a->tile_n);
    a->shared_row = k_shared(b, "row", DT_F32, 1, 3 * a->tile_m);
}

// A row of statistics: where row `row` keeps `what`.
static KVal row_at(Attention *a, unsigned what, KVal row) {
    return k_iadd(a->l->b, number(a, what * a->tile_m), row);
}

// Copies a tile of `rows` x `size` elements to workgroup memory; rows past the last repeat it.
static void load_tile(Attention *a, ValueId value, const Space *space, KVal head, KVal first,
                      Dim extent, unsigned rows, unsigned size, unsigned lanes, uint32_t region,
                      unsigned pitch) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    unsigned total = rows * size / lanes, across = size / lanes;
    KVal last = lower_dim(l, dim_sub(l->dims, extent, dim_const(l->dims, 1)));
    for (unsigned from = 0; from < total; from += a->local) {
        KVal e = k_iadd(b, a->id, number(a, from));
        bool partial = from + a->local > total;
        if (partial) k_if_begin(b, k_slt(b, e, number(a, total)));
        KVal row = k_udiv(b, e, number(a, across));
        KVal column = k_imul(b, k_urem(b, e, number(a, across)), number(a, lanes));
        Point point = point_make(space, (uint8_t)lanes);
        point.index[0] = head;
        point.index[1] = k_smin(b, k_iadd(b, first, row), last);
        point.index[2] = column;
        KVal loaded = lower_value(l, value, &point);
        KVal at = k_iadd(b, k_imul(b, row, number(a, pitch)), column);
        if (region == a->shared_q) {
            k_shared_store(b, region, at, loaded);
        } else {
            for (unsigned i = 0; i < lanes; i++) {
                k_shared_store(b, region, k_iadd(b, at, number(a, i)), k_extract(b, loaded, i));
            }
        }
        if (partial) k_if_end(b, 0, NULL, NULL);
    }
}

// Whether row `row` may see key `key`, both absolute; 0: always.
static KVal visible(Attention *a, KVal row, KVal key) {
    KBuilder *b = a->l->b;
    KVal inside = k_slt(b, key, lower_dim(a->l, a->keys));
    if (!build_attr(a->node, "is_causal")->i) return inside;
    return k_and(b, inside, k_sle(b, key, k_iadd(b, row, a->shift)));
}

static KVal masked(Attention *a, KVal score, KVal row, KVal key) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    KVal least = k_f32(b, -INFINITY);
    if (a->mask) {
        Dim one = dim_const(l->dims, 1);
        Point point = point_make(&a->mask_space, 1);
        point.index[0] = a->head;
        point.index[1] = k_smin(b, row, lower_dim(l, dim_sub(l->dims, a->rows, one)));
        point.index[2] = k_smin(b, key, lower_dim(l, dim_sub(l->dims, a->keys, one)));
        KVal mask = lower_value(l, a->mask, &point);
        bool chosen = type_of(a, a->mask)->dtype == DT_BOOL;
        score = chosen ? k_select(b, mask, score, least) : k_fadd(b, score, mask);
    }
    return k_select(b, visible(a, row, key), score, least);
}

static KVal dot(Attention *a, KVal q_at, KVal k_at) {
    KBuilder *b = a->l->b;
    KVal zero = k_splat(b, k_f32(b, 0), a->lanes), now, out;
    KVal d = k_loop_begin(b, number(a, 0), number(a, a->size), number(a, a->lanes), K_LOOP_PLAIN, 1,
                          &zero, &now);
    KVal q = k_shared_load(b, a->shared_q, k_iadd(b, q_at, d), K_TYPE(KT_F32, (uint8_t)a->lanes));
    KVal key[4];
    for (unsigned i = 0; i < a->lanes; i++) {
        KVal at = k_iadd(b, k_iadd(b, k_at, d), number(a, i));
        key[i] = k_shared_load(b, a->shared_kv, at, K_TYPE(KT_F32, 1));
    }
    KVal next = k_fma(b, q, k_vector(b, a->lanes, key), now);
    k_loop_end(b, &next, &out);
    KVal sum = k_extract(b, out, 0);
    for (unsigned i = 1; i < a->lanes; i++) sum = k_fadd(b, sum, k_extract(b, out, i));
    return sum;
}

static void make_scores(Attention *a, KVal first_key) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    unsigned total = a->tile_m * a->tile_n;
    const Attr *attr = build_attr(a->node, "scale");
    KVal scale = k_f32(b, (float)(attr->present ? attr->f : 1 / sqrt((double)a->size)));
    for (unsigned from = 0; from < total; from += a->local) {
        KVal e = k_iadd(b, a->id, number(a, from));
        bool partial = from + a->local > total;
        if (partial) k_if_begin(b, k_slt(b, e, number(a, total)));
        KVal row = k_udiv(b, e, number(a, a->tile_n)), key = k_urem(b, e, number(a, a->tile_n));
        KVal sum = dot(a, k_imul(b, row, number(a, a->pitch)), k_imul(b, key, number(a, a->pitch)));
        KVal score = masked(a, k_fmul(b, sum, scale), k_iadd(b, a->first_row, row),
                            k_iadd(b, first_key, key));
        k_shared_store(b, a->shared_p, e, score);
        if (partial) k_if_end(b, 0, NULL, NULL);
    }
}

// One invocation a row: the new maximum, what older sums shrink by, the tile's exponentials.
static void update_rows(Attention *a) {
    KBuilder *b = a->l->b;
    KType word = K_TYPE(KT_F32, 1);
    KVal row = a->id, zero = k_f32(b, 0), least = k_f32(b, -INFINITY), now, largest, sum;
    k_if_begin(b, k_slt(b, row, number(a, a->tile_m)));
    KVal first = k_imul(b, row, number(a, a->tile_n));
    KVal before = k_shared_load(b, a->shared_row, row_at(a, ROW_MAX, row), word);
    KVal j = k_loop_begin(b, number(a, 0), number(a, a->tile_n), number(a, 1), K_LOOP_PLAIN, 1,
                          &before, &now);
    KVal score = k_shared_load(b, a->shared_p, k_iadd(b, first, j), word);
    KVal larger = k_select(b, k_flt(b, now, score), score, now);
    k_loop_end(b, &larger, &largest);
    KVal base = k_select(b, k_feq(b, largest, least), zero, largest);
    KVal shrink = k_exp(b, k_fsub(b, before, base));
    j = k_loop_begin(b, number(a, 0), number(a, a->tile_n), number(a, 1), K_LOOP_PLAIN, 1, &zero,
                     &now);
    score = k_shared_load(b, a->shared_p, k_iadd(b, first, j), word);
    KVal power = k_exp(b, k_fsub(b, score, base));
    k_shared_store(b, a->shared_p, k_iadd(b, first, j), power);
    KVal next = k_fadd(b, now, power);
    k_loop_end(b, &next, &sum);
    KVal total = k_shared_load(b, a->shared_row, row_at(a, ROW_SUM, row), word);
    k_shared_store(b, a->shared_row, row_at(a, ROW_SUM, row), k_fma(b, total, shrink, sum));
    k_shared_store(b, a->shared_row, row_at(a, ROW_MAX, row), largest);
    k_shared_store(b, a->shared_row, row_at(a, ROW_SCALE, row), shrink);
    k_if_end(b, 0, NULL, NULL);
}

// Row and column of the n-th sum of this invocation; past the tile they repeat the last.
static void sum_place(Attention *a, unsigned n, KVal *row, KVal *column) {
    KBuilder *b = a->l->b;
    unsigned across = a->value_size / a->value_lanes, total = a->tile_m * across;
    KVal e = k_iadd(b, a->id, number(a, n * a->local));
    if ((n + 1) * a->local > total) e = k_smin(b, e, number(a, total - 1));
    *row = k_udiv(b, e, number(a, across));
    *column = k_imul(b, k_urem(b, e, number(a, across)), number(a, a->value_lanes));
}

static void add_values(Attention *a, KVal *sum) {
    KBuilder *b = a->l->b;
    KType word = K_TYPE(KT_F32, 1);
    KVal row[ATTENTION_SUMS_MAX], column[ATTENTION_SUMS_MAX], now[ATTENTION_SUMS_MAX];
    KVal next[ATTENTION_SUMS_MAX];
    for (unsigned n = 0; n < a->sums; n++) {
        sum_place(a, n, &row[n], &column[n]);
        KVal shrink = k_shared_load(b, a->shared_row, row_at(a, ROW_SCALE, row[n]), word);
        sum[n] = k_fmul(b, sum[n], k_splat(b, shrink, a->value_lanes));
    }
    KVal j = k_loop_begin(b, number(a, 0), number(a, a->tile_n), number(a, 1), K_LOOP_PLAIN,
                          a->sums, sum, now);
    for (unsigned n = 0; n < a->sums; n++) {
        KVal lane[4];
        KVal at = k_iadd(b, k_imul(b, j, number(a, a->value_pitch)), column[n]);
        for (unsigned i = 0; i < a->value_lanes; i++) {
            lane[i] = k_shared_load(b, a->shared_kv, k_iadd(b, at, number(a, i)), word);
        }
        KVal p_at = k_iadd(b, k_imul(b, row[n], number(a, a->tile_n)), j);
        KVal p = k_splat(b, k_shared_load(b, a->shared_p, p_at, word), a->value_lanes);
        next[n] = k_fma(b, p, k_vector(b, a->value_lanes, lane), now[n]);
    }
    k_loop_end(b, next, sum);
}

// Tiles of keys that some row of the tile may see.
static KVal tile_count(Attention *a) {
    KBuilder *b = a->l->b;
    KVal keys = lower_dim(a->l, a->keys);
    if (build_attr(a->node, "is_causal")->i) {
        KVal past = k_iadd(b, a->first_row, number(a, a->tile_m)); // row that is not there any more
        keys = k_smax(b, number(a, 0), k_smin(b, keys, k_iadd(b, past, a->shift)));
    }
    return k_udiv(b, k_iadd(b, keys, number(a, a->tile_n - 1)), number(a, a->tile_n));
}

static void attention_sums(Attention *a) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    KVal now[ATTENTION_SUMS_MAX];
    k_if_begin(b, k_slt(b, a->id, number(a, a->tile_m)));
    k_shared_store(b, a->shared_row, row_at(a, ROW_MAX, a->id), k_f32(b, -INFINITY));
    k_shared_store(b, a->shared_row, row_at(a, ROW_SUM, a->id), k_f32(b, 0));
    k_if_end(b, 0, NULL, NULL);
    load_tile(a, a->q, &a->q_space, a->head, a->first_row, a->rows, a->tile_m, a->size, a->lanes,
              a->shared_q, a->pitch);
    for (unsigned n = 0; n < a->sums; n++) a->sum[n] = k_splat(b, k_f32(b, 0), a->value_lanes);
    KVal t = k_loop_begin(b, number(a, 0), tile_count(a), number(a, 1), K_LOOP_PLAIN, a->sums,
                          a->sum, now);
    KVal first_key = k_imul(b, t, number(a, a->tile_n));
    k_barrier(b);
    load_tile(a, a->k, &a->k_space, a->key_head, first_key, a->keys, a->tile_n, a->size, a->lanes,
              a->shared_kv, a->pitch);
    k_barrier(b);
    make_scores(a, first_key);
    k_barrier(b);
    update_rows(a);
    load_tile(a, a->v, &a->v_space, a->key_head, first_key, a->keys, a->tile_n, a->value_size,
              a->value_lanes, a->shared_kv, a->value_pitch);
    k_barrier(b);
    add_values(a, now);
    k_loop_end(b, now, a->sum);
    k_barrier(b);
}

static void attention_store(Attention *a) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    ValueList stores = fused_stores(l->arena, l->graph, graph_node(l->graph, l->node));
    unsigned total = a->tile_m * a->value_size / a->value_lanes;
    for (unsigned n = 0; n < a->sums; n++) {
        KVal row, column, e = k_iadd(b, a->id, number(a, n * a->local));
        sum_place(a, n, &row, &column);
        KVal absolute = k_iadd(b, a->first_row, row);
        KVal inside = k_slt(b, absolute, lower_dim(l, a->rows));
        if ((n + 1) * a->local > total) {
            inside = k_and(b, inside, k_slt(b, e, number(a, total)));
        }
        k_if_begin(b, inside);
        KVal sum = k_shared_load(b, a->shared_row, row_at(a, ROW_SUM, row), K_TYPE(KT_F32, 1));
        KVal none = k_feq(b, sum, k_f32(b, 0)); // a row without keys
        KVal factor = k_select(b, none, k_f32(b, 0), k_fdiv(b, k_f32(b, 1), sum));
        KVal value = k_fmul(b, a->sum[n], k_splat(b, factor, a->value_lanes));
        Point point = point_make(&a->out_space, (uint8_t)a->value_lanes);
        point.index[0] = a->head, point.index[1] = absolute, point.index[2] = column;
        point_set(l, &point, a->result, value);
        for (uint32_t r = 0; r < stores.len; r++) lower_result(l, stores.at[r], &point);
        k_if_end(b, 0, NULL, NULL);
    }
}

bool lower_attention(Lower *l) {
    Attention *a = arena_alloc(l->arena, sizeof *a);
    DimTable *dims = l->dims;
    a->l = l;
    if (!attention_begin(a)) return false;
    attention_place(a);
    attention_sums(a);
    attention_store(a);
    Dim tiles = dim_ceil_div(dims, a->rows, dim_const(dims, a->tile_m));
    Dim scores = dim_mul(dims, a->heads, dim_mul(dims, a->rows, a->keys));
    Dim flops = dim_mul(dims, scores, dim_const(dims, 2 * (int64_t)(a->size + a->value_size)));
    return lower_finish(l, dim_mul(dims, a->heads, tiles), flops);
}
