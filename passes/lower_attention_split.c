// Family "attention", form "split" (passes/attention_split.h): the first dispatch. Each subgroup
// goes over keys of its own: all loads first, then products, softmax over its keys, sums of values;
// at the end the workgroup's subgroups join.
#include "passes/attention_split.h"
#include "passes/lower_attention.h"

#include <math.h>

typedef struct SplitSide {
    const SplitRead *read;
    ValueId value;
    const Space *space; // [heads, rows, columns]
    Space seen;         // in moves
    KVal pointer;
} SplitSide;

typedef struct SplitPieces {
    KVal at[SPLIT_PIECES_MAX]; // raw: the first is all words where the read is wide
} SplitPieces;

enum { SPLIT_READS_MAX = 4 };

typedef struct Split {
    Attention *a;
    Lower *l;
    const Schedule *s;
    AttentionSplit layout;
    SplitSide q, k, v;
    KVal part, block, id, warp, lane;
    KVal column, sub;             // of this lane among those of a key; which key
    KVal value_column, value_sub; // likewise for values
    KVal first_key;               // of this subgroup
    KVal head[SPLIT_ROWS_MAX], query[SPLIT_ROWS_MAX];
    uint32_t weights, sums, statistics; // regions
} Split;

typedef struct SplitStatistics {
    KVal base[SPLIT_ROWS_MAX], weight[SPLIT_ROWS_MAX];
} SplitStatistics;

static KVal number(Split *s, unsigned value) {
    return k_i32(s->l->b, (int32_t)value);
}

static SplitSide split_side(Split *s, const SplitRead *read, ValueId value, const Space *space) {
    SplitSide side = {.read = read, .value = value, .space = space, .seen = {.rank = 3}};
    if (read->wide) side.pointer = lower_buffer(s->l, read->operand.base, K_READ);
    return side;
}

// `vec` columns from the unit-th such on; past the row's end, or where `inside` is false, zeros.
static SplitPieces split_load(Split *s, const SplitSide *side, KVal head, KVal row, KVal unit,
                              unsigned units, KVal inside) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    const SplitRead *r = side->read;
    unsigned real = r->columns / r->vec;
    SplitPieces out = {{0}};
    if (units > real) {
        KVal there = k_slt(b, unit, number(s, real));
        inside = inside ? k_and(b, inside, there) : there;
        unit = k_smin(b, unit, number(s, real - 1));
    }
    Point point = point_make(r->wide ? &side->seen : side->space, (uint8_t)r->width);
    point.index[0] = head, point.index[1] = row;
    KVal zero = r->wide ? k_i32(b, 0) : k_f32(b, 0);
    if (r->wide) {
        point.lanes = 1, point.index[2] = unit;
        KVal move = lower_address(l, &r->operand.moves, &point, 0, DT_U8).index;
        out.at[0] = k_load(b, side->pointer, k_imul(b, move, number(s, 4)), DT_I32, 4, COOP_MOVE);
    } else {
        point.index[2] = k_imul(b, unit, number(s, r->vec));
        out.at[0] = lower_value(l, side->value, &point);
    }
    unsigned lanes = r->wide ? 4 : r->width;
    if (k_type(b, out.at[0]).lanes != lanes) out.at[0] = k_splat(b, out.at[0], lanes);
    if (inside) out.at[0] = k_select(b, inside, out.at[0], k_splat(b, zero, lanes));
    return out;
}

static SplitPieces split_unpack(Split *s, const SplitSide *side, SplitPieces raw) {
    KBuilder *b = s->l->b;
    DType dtype = side->read->operand.dtype;
    KVal words = raw.at[0], element[8];
    if (!side->read->wide) return raw;
    if (dtype == DT_F32) return (SplitPieces){{k_as_f32(b, words)}};
    for (unsigned i = 0; i < 8; i++) {
        KVal word = k_extract(b, words, i / 2);
        if (dtype == DT_F16)
            element[i] = k_extract(b, k_unpack_f16(b, word), i % 2);
        else
            element[i] = k_as_f32(b, i % 2 ? k_and(b, word, k_i32(b, -65536))
                                           : k_shl(b, word, number(s, 16)));
    }
    return (SplitPieces){{k_vector(b, 4, element), k_vector(b, 4, element + 4)}};
}

static Dim split_place(Split *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    const AttentionSplit *o = &s->layout;
    Attention *a = s->a;
    Dim key_heads = dim_floor_div(dims, a->heads, a->group);
    Dim groups = dim_mul(dims, dim_mul(dims, key_heads, o->blocks), o->parts);
    KVal workgroup = lower_workgroup(l, groups), parts = lower_dim(l, o->parts);
    KVal blocks = lower_dim(l, o->blocks), rest = k_udiv(b, workgroup, parts);
    s->part = k_urem(b, workgroup, parts);
    s->block = k_urem(b, rest, blocks);
    a->key_head = k_udiv(b, rest, blocks);
    a->shift = k_isub(b, lower_dim(l, a->keys), lower_dim(l, a->rows));
    s->id = k_local_id(b), s->warp = k_subgroup_id(b), s->lane = k_subgroup_lane(b);
    s->column = k_urem(b, s->lane, number(s, s->s->lanes));
    s->sub = k_udiv(b, s->lane, number(s, s->s->lanes));
    s->value_column = k_urem(b, s->lane, number(s, o->value_lanes));
    s->value_sub = k_udiv(b, s->lane, number(s, o->value_lanes));
    s->first_key = k_iadd(b, k_imul(b, s->part, number(s, s->s->tile_n)),
                          k_imul(b, s->warp, number(s, o->keys)));
    KVal last = lower_dim(l, dim_sub(dims, o->rows, dim_const(dims, 1)));
    KVal length = lower_dim(l, a->rows),
         first_head = k_imul(b, a->key_head, lower_dim(l, a->group));
    for (unsigned r = 0; r < s->s->tile_m; r++) {
        KVal row = k_iadd(b, k_imul(b, s->block, number(s, s->s->tile_m)), number(s, r));
        row = k_smin(b, row, last);
        s->head[r] = k_iadd(b, first_head, k_udiv(b, row, length));
        s->query[r] = k_urem(b, row, length);
    }
    return groups;
}

static KVal key_clamped(Split *s, KVal key) {
    Lower *l = s->l;
    return k_smin(l->b, key, lower_dim(l, dim_sub(l->dims, s->a->keys, dim_const(l->dims, 1))));
}

static void load_keys(Split *s, SplitPieces *raw) {
    KBuilder *b = s->l->b;
    const AttentionSplit *o = &s->layout;
    unsigned units = o->reads * s->s->lanes;
    for (unsigned i = 0; i < o->steps; i++) {
        KVal key = k_iadd(b, k_iadd(b, s->first_key, s->sub), number(s, i * o->at_once));
        for (unsigned p = 0; p < o->reads; p++) {
            KVal unit = k_iadd(b, s->column, number(s, p * s->s->lanes));
            raw[i * o->reads + p] =
                split_load(s, &s->k, s->a->key_head, key_clamped(s, key), unit, units, 0);
        }
    }
}

static void load_values(Split *s, SplitPieces *raw) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    const AttentionSplit *o = &s->layout;
    bool whole = dim_divides(l->dims, s->s->tile_n, s->a->keys);
    unsigned units = o->value_reads * o->value_lanes;
    for (unsigned i = 0; i < o->value_steps; i++) {
        KVal key =
            k_iadd(b, k_iadd(b, s->first_key, s->value_sub), number(s, i * o->value_at_once));
        KVal inside = whole ? 0 : k_slt(b, key, lower_dim(l, s->a->keys));
        for (unsigned p = 0; p < o->value_reads; p++) {
            KVal unit = k_iadd(b, s->value_column, number(s, p * o->value_lanes));
            raw[i * o->value_reads + p] =
                split_load(s, &s->v, s->a->key_head, key_clamped(s, key), unit, units, inside);
        }
    }
}

static KVal lanes_sum(KBuilder *b, KVal x, unsigned lanes) {
    KVal sum = k_extract(b, x, 0);
    for (unsigned i = 1; i < lanes; i++) sum = k_fadd(b, sum, k_extract(b, x, i));
    return sum;
}

// This lane's part of the products of all keys with one row.
static void partial_products(Split *s, const SplitPieces *raw, unsigned row, KVal *sum) {
    KBuilder *b = s->l->b;
    const AttentionSplit *o = &s->layout;
    unsigned units = o->reads * s->s->lanes, width = o->k.width;
    KVal zero = k_splat(b, k_f32(b, 0), width);
    SplitPieces q[SPLIT_READS_MAX];
    for (unsigned p = 0; p < o->reads; p++) {
        KVal unit = k_iadd(b, s->column, number(s, p * s->s->lanes));
        SplitPieces read = split_load(s, &s->q, s->head[row], s->query[row], unit, units, 0);
        q[p] = split_unpack(s, &s->q, read);
    }
    for (unsigned i = 0; i < o->steps; i++) {
        KVal own = zero;
        for (unsigned p = 0; p < o->reads; p++) {
            SplitPieces k = split_unpack(s, &s->k, raw[i * o->reads + p]);
            for (unsigned n = 0; n < o->k.pieces; n++) own = k_fma(b, q[p].at[n], k.at[n], own);
        }
        sum[i] = lanes_sum(b, own, width);
    }
}

// Sums over the lanes of a key, for all steps together: each exchange halves how many sums a lane
// is concerned with. What is left is the sum of step `column % steps`.
static KVal joined_products(Split *s, KVal *sum) {
    KBuilder *b = s->l->b;
    for (unsigned m = s->layout.steps / 2; m > 0; m /= 2) {
        KVal upper = k_ine(b, k_and(b, s->column, number(s, m)), number(s, 0));
        for (unsigned i = 0; i < m; i++) {
            KVal mine = k_select(b, upper, sum[i + m], sum[i]);
            KVal other = k_select(b, upper, sum[i], sum[i + m]);
            sum[i] = k_fadd(b, mine, k_shuffle_xor(b, other, number(s, m)));
        }
    }
    for (unsigned m = s->layout.steps; m < s->s->lanes; m *= 2)
        sum[0] = k_fadd(b, sum[0], k_shuffle_xor(b, sum[0], number(s, m)));
    return sum[0];
}

// Over the lanes that hold different keys.
static KVal over_keys(Split *s, KVal x, KVal (*combine)(KBuilder *b, KVal x, KVal y)) {
    KBuilder *b = s->l->b;
    for (unsigned m = 1; m < s->s->subgroup; m *= 2)
        if (m < s->layout.steps || m >= s->s->lanes)
            x = combine(b, x, k_shuffle_xor(b, x, number(s, m)));
    return x;
}

static KVal lane_step(Split *s) {
    return k_and(s->l->b, s->column, number(s, s->layout.steps - 1));
}

static KVal visible(Split *s, unsigned row, KVal key) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    AttentionLimits limits = attention_limits(s->a, s->query[row]);
    KVal seen = k_slt(b, key, lower_dim(l, s->a->keys));
    if (limits.hi) seen = k_and(b, seen, k_sle(b, key, limits.hi));
    if (limits.lo) seen = k_and(b, seen, k_sle(b, limits.lo, key));
    return seen;
}

// Weights of this lane's key for each row, relative to the subgroup's maxima.
static void softmax(Split *s, const SplitPieces *raw, SplitStatistics *out, KVal *weight) {
    KBuilder *b = s->l->b;
    KVal none = k_f32(b, -INFINITY), sum[SPLIT_STEPS_MAX];
    KVal own = k_iadd(b, k_imul(b, lane_step(s), number(s, s->layout.at_once)), s->sub);
    KVal key = k_iadd(b, s->first_key, own);
    for (unsigned r = 0; r < s->s->tile_m; r++) {
        partial_products(s, raw, r, sum);
        s->a->head = s->head[r];
        KVal mask = attention_mask(s->a, s->query[r], key, 1);
        KVal score = attention_score(s->a, joined_products(s, sum), mask);
        score = k_select(b, visible(s, r, key), score, none);
        out->base[r] = over_keys(s, score, k_fmax);
        KVal from = k_select(b, k_feq(b, out->base[r], none), k_f32(b, 0), out->base[r]);
        weight[r] = k_exp(b, k_fsub(b, score, from));
        out->weight[r] = over_keys(s, weight[r], k_fadd);
    }
}

// To workgroup memory, where all lanes of the subgroup find them: [keys of the part][pitch].
static void share_weights(Split *s, const KVal *weight) {
    KBuilder *b = s->l->b;
    const AttentionSplit *o = &s->layout;
    KVal own = k_iadd(b, k_imul(b, lane_step(s), number(s, o->at_once)), s->sub);
    own = k_iadd(b, own, k_imul(b, s->warp, number(s, o->keys)));
    KVal first = k_imul(b, own, number(s, o->pitch));
    k_if_begin(b, k_slt(b, s->column, number(s, o->steps)));
    for (unsigned r = 0; r < o->pitch; r += 4) {
        KVal four[4];
        for (unsigned i = 0; i < 4; i++)
            four[i] = r + i < s->s->tile_m ? weight[r + i] : k_f32(b, 0);
        k_shared_store(b, s->weights, k_iadd(b, first, number(s, r)), k_vector(b, 4, four));
    }
    k_if_end(b, 0, NULL, NULL);
    k_barrier(b);
}

// sum: [rows][value_reads][pieces].
static void add_values(Split *s, const SplitPieces *raw, KVal *sum) {
    KBuilder *b = s->l->b;
    const AttentionSplit *o = &s->layout;
    unsigned each = o->value_reads * o->v.pieces;
    for (unsigned i = 0; i < s->s->tile_m * each; i++) sum[i] = k_splat(b, k_f32(b, 0), o->v.width);
    KVal first = k_iadd(b, s->value_sub, k_imul(b, s->warp, number(s, o->keys)));
    for (unsigned i = 0; i < o->value_steps; i++) {
        KVal key = k_iadd(b, first, number(s, i * o->value_at_once)), four[2];
        KVal at = k_imul(b, key, number(s, o->pitch));
        for (unsigned r = 0; r < o->pitch; r += 4)
            four[r / 4] =
                k_shared_load(b, s->weights, k_iadd(b, at, number(s, r)), K_TYPE(KT_F32, 4));
        for (unsigned p = 0; p < o->value_reads; p++) {
            SplitPieces v = split_unpack(s, &s->v, raw[i * o->value_reads + p]);
            for (unsigned r = 0; r < s->s->tile_m; r++)
                for (unsigned n = 0; n < o->v.pieces; n++) {
                    KVal weight = k_splat(b, k_extract(b, four[r / 4], r % 4), o->v.width);
                    KVal *own = &sum[r * each + p * o->v.pieces + n];
                    *own = k_fma(b, weight, v.at[n], *own);
                }
        }
    }
    for (unsigned i = 0; i < s->s->tile_m * each; i++)
        for (unsigned m = o->value_lanes; m < s->s->subgroup; m *= 2)
            sum[i] = k_fadd(b, sum[i], k_shuffle_xor(b, sum[i], number(s, m)));
}

// Each subgroup's sums and statistics to workgroup memory: [subgroups][rows][columns], [..][2].
static void share_sums(Split *s, const KVal *sum, const SplitStatistics *statistics) {
    KBuilder *b = s->l->b;
    const AttentionSplit *o = &s->layout;
    unsigned each = o->value_reads * o->v.pieces, rows = s->s->tile_m;
    KVal own_row = k_imul(b, s->warp, number(s, rows));
    k_if_begin(b, k_slt(b, s->lane, number(s, o->value_lanes)));
    for (unsigned i = 0; i < rows * each; i++) {
        unsigned p = i % each / o->v.pieces, n = i % o->v.pieces;
        KVal unit = k_iadd(b, s->value_column, number(s, p * o->value_lanes));
        KVal column = k_iadd(b, k_imul(b, unit, number(s, o->v.vec)), number(s, n * o->v.width));
        KVal row = k_imul(b, k_iadd(b, own_row, number(s, i / each)), number(s, o->at));
        bool real = (p + 1) * o->value_lanes * o->v.vec <= o->v.columns;
        if (!real) k_if_begin(b, k_slt(b, column, number(s, o->v.columns)));
        k_shared_store(b, s->sums, k_iadd(b, row, column), sum[i]);
        if (!real) k_if_end(b, 0, NULL, NULL);
    }
    k_if_end(b, 0, NULL, NULL);
    k_if_begin(b, k_ieq(b, s->lane, number(s, 0)));
    for (unsigned r = 0; r < rows; r++) {
        KVal at = k_imul(b, k_iadd(b, own_row, number(s, r)), number(s, 2));
        k_shared_store(b, s->statistics, at, statistics->base[r]);
        k_shared_store(b, s->statistics, k_iadd(b, at, number(s, 1)), statistics->weight[r]);
    }
    k_if_end(b, 0, NULL, NULL);
    k_barrier(b);
}

// What each subgroup's sums of a row are worth beside the largest maximum, which is returned.
static KVal subgroup_scales(Split *s, KVal row, KVal *scale) {
    KBuilder *b = s->l->b;
    KVal base = 0, own[SPLIT_SUBGROUPS_MAX], none = k_f32(b, -INFINITY);
    for (unsigned w = 0; w < s->layout.subgroups; w++) {
        KVal at = k_imul(b, k_iadd(b, row, number(s, w * s->s->tile_m)), number(s, 2));
        own[w] = k_shared_load(b, s->statistics, at, K_TYPE(KT_F32, 1));
        base = base ? k_fmax(b, base, own[w]) : own[w];
    }
    KVal from = k_select(b, k_feq(b, base, none), k_f32(b, 0), base);
    for (unsigned w = 0; w < s->layout.subgroups; w++) scale[w] = k_exp(b, k_fsub(b, own[w], from));
    return base;
}

static void put(Split *s, KVal pointer, const Space *space, const View *view, KVal row, KVal column,
                KVal value) {
    Point point = point_make(space, k_type(s->l->b, value).lanes);
    point.index[0] = s->part, point.index[1] = row, point.index[2] = column;
    lower_store_at(s->l, pointer, DT_F32, view, &point, value);
}

static KVal joined_sum(Split *s, KVal row, KVal column, const KVal *scale) {
    KBuilder *b = s->l->b;
    const AttentionSplit *o = &s->layout;
    KVal sum = 0;
    for (unsigned w = 0; w < o->subgroups; w++) {
        KVal at = k_imul(b, k_iadd(b, row, number(s, w * s->s->tile_m)), number(s, o->at));
        KVal own =
            k_shared_load(b, s->sums, k_iadd(b, at, column), K_TYPE(KT_F32, (uint8_t)o->v.width));
        own = k_fmul(b, own, k_splat(b, scale[w], o->v.width));
        sum = sum ? k_fadd(b, sum, own) : own;
    }
    return sum;
}

static KVal joined_weight(Split *s, KVal row, const KVal *scale) {
    KBuilder *b = s->l->b;
    KVal sum = 0;
    for (unsigned w = 0; w < s->layout.subgroups; w++) {
        KVal at = k_imul(b, k_iadd(b, row, number(s, w * s->s->tile_m)), number(s, 2));
        KVal own = k_shared_load(b, s->statistics, k_iadd(b, at, number(s, 1)), K_TYPE(KT_F32, 1));
        own = k_fmul(b, own, scale[w]);
        sum = sum ? k_fadd(b, sum, own) : own;
    }
    return sum;
}

// The workgroup's sums to workspace; a unit past the row's columns stands for its statistics.
static void store_part(Split *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    const AttentionSplit *o = &s->layout;
    unsigned units = o->v.columns / o->v.width + 1, total = s->s->tile_m * units;
    Dim size[3] = {o->parts, o->all_rows, dim_const(l->dims, o->record)};
    Space space = space_of(l, 3, size);
    View view = view_identity(l->dims, 3, size);
    KVal pointer = lower_workspace(l, DT_F32, o->bytes, K_WRITE), scale[SPLIT_SUBGROUPS_MAX];
    KVal e = k_loop_begin(b, s->id, number(s, total), number(s, s->s->local), K_LOOP_PLAIN, 0, NULL,
                          NULL);
    KVal row = k_udiv(b, e, number(s, units)), unit = k_urem(b, e, number(s, units));
    KVal own = k_iadd(b, k_imul(b, s->block, number(s, s->s->tile_m)), row);
    k_if_begin(b, k_slt(b, own, lower_dim(l, o->rows)));
    KVal all = k_iadd(b, k_imul(b, s->a->key_head, lower_dim(l, o->rows)), own);
    KVal base = subgroup_scales(s, row, scale);
    k_if_begin(b, k_slt(b, unit, number(s, units - 1)));
    KVal column = k_imul(b, unit, number(s, o->v.width));
    put(s, pointer, &space, &view, all, column, joined_sum(s, row, column, scale));
    k_else(b, 0, NULL);
    put(s, pointer, &space, &view, all, number(s, o->at), base);
    put(s, pointer, &space, &view, all, number(s, o->at + 1), joined_weight(s, row, scale));
    k_if_end(b, 0, NULL, NULL);
    k_if_end(b, 0, NULL, NULL);
    k_loop_end(b, NULL, NULL);
}

static void split_regions(Split *s) {
    KBuilder *b = s->l->b;
    const AttentionSplit *o = &s->layout;
    unsigned rows = o->subgroups * s->s->tile_m, width = o->v.width;
    s->weights = k_shared(b, "weights", DT_F32, 4, s->s->tile_n * o->pitch / 4);
    s->sums = k_shared(b, "sums", DT_F32, width, rows * o->at / width);
    s->statistics = k_shared(b, "statistics", DT_F32, 1, rows * 2);
}

static void split_body(Split *s) {
    Lower *l = s->l;
    const AttentionSplit *o = &s->layout;
    SplitPieces *keys = arena_alloc(l->arena, o->steps * o->reads * sizeof *keys);
    SplitPieces *values = arena_alloc(l->arena, o->value_steps * o->value_reads * sizeof *values);
    KVal weight[SPLIT_ROWS_MAX], sum[SPLIT_ROWS_MAX * SPLIT_READS_MAX * SPLIT_PIECES_MAX];
    SplitStatistics statistics;
    load_keys(s, keys);
    load_values(s, values);
    softmax(s, keys, &statistics, weight);
    share_weights(s, weight);
    add_values(s, values, sum);
    share_sums(s, sum, &statistics);
    store_part(s);
}

bool lower_attention_split(Attention *a) {
    Lower *l = a->l;
    Split *s = arena_alloc(l->arena, sizeof *s);
    s->a = a, s->l = l, s->s = l->schedule;
    const Alternative *known = l->alternative;
    const char *why =
        attention_split(l->graph, l->node, s->s, &l->plan->target, known ? known->condition : NULL,
                        known ? known->conditions : 0, &s->layout);
    if (why) {
        lower_fail(l, "%s", why);
        return false;
    }
    Dim groups = split_place(s);
    s->q = split_side(s, &s->layout.q, a->q, &a->q_space);
    s->k = split_side(s, &s->layout.k, a->k, &a->k_space);
    s->v = split_side(s, &s->layout.v, a->v, &a->v_space);
    split_regions(s);
    split_body(s);
    return lower_finish(l, groups, attention_flops(a)) && lower_attention_join(l, &s->layout);
}
