// Form "skinny" where y lies along N: an invocation sums `vec` neighbouring columns of all rows,
// its neighbours those beside them; `lanes` groups of them share K, `unroll` neighbours along K at
// a time, and join their sums through workgroup memory, in order.
//
// Columns past the end repeat the last ones and are not stored; past the end of K both operands are
// 0.
#include "passes/lower_skinny.h"

enum { SKINNY_N_SUMS_MAX = 128 };

typedef struct SkinnyN {
    Lower *l;
    const ContractShape *shape;
    Split split;
    SkinnySide x, y;
    unsigned rows, vec, unroll, lanes, across; // across: invocations side by side along N
    unsigned cells;                            // neighbouring columns that are stored together
    bool is_float, whole;                      // whole: unroll divides K
    uint32_t region;
    KVal batch, first_n, column, lane, id; // first column of the workgroup, of the invocation
    KVal sum[SKINNY_ROWS_MAX * SKINNY_PIECES_MAX];
} SkinnyN;

static bool skinny_n_check(SkinnyN *s) {
    Lower *l = s->l;
    const Schedule *given = l->schedule;
    s->rows = given->tile_m, s->vec = given->vec ? given->vec : 1;
    s->unroll = given->unroll ? given->unroll : 1, s->lanes = given->lanes;
    bool power = (s->unroll & (s->unroll - 1)) == 0;
    if (!s->lanes || given->local % s->lanes || !power || s->unroll > SKINNY_UNROLL_MAX ||
        s->rows * s->vec > SKINNY_N_SUMS_MAX || (given->reg_n && given->reg_n != s->vec)) {
        lower_fail(l,
                   "form=skinny along N needs lanes that divide local, reg_n as vec, at most %d "
                   "sums tile_m * vec",
                   SKINNY_N_SUMS_MAX);
        return false;
    }
    if (!dim_divides(l->dims, s->vec, s->shape->n)) {
        lower_fail(l, "vec=%u does not divide N", s->vec);
        return false;
    }
    if (given->local * s->vec * 4 > l->plan->target.shared_bytes) {
        lower_fail(l, "its sums need more workgroup memory than the target has");
        return false;
    }
    s->across = given->local / s->lanes;
    s->cells = s->shape->parts.len ? s->shape->cells : 1;
    if (s->across * s->vec % s->cells) {
        lower_fail(l, "a workgroup must hold whole windows of %u", s->cells);
        return false;
    }
    s->whole = dim_divides(l->dims, s->unroll, s->shape->k);
    return true;
}

static bool skinny_n_place(SkinnyN *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned wide = s->across * s->vec;
    Dim tiles = dim_ceil_div(l->dims, s->shape->n, dim_const(l->dims, wide));
    KVal group;
    if (!contract_open(l, s->shape, dim_mul(l->dims, s->shape->batch, tiles), &s->split, &group))
        return false;
    KVal count = lower_dim(l, tiles), across = k_i32(b, (int32_t)s->across);
    s->id = k_local_id(b);
    s->batch = k_udiv(b, group, count);
    s->first_n = k_imul(b, k_urem(b, group, count), k_i32(b, (int32_t)wide));
    s->lane = k_udiv(b, s->id, across);
    KVal own = k_imul(b, k_urem(b, s->id, across), k_i32(b, (int32_t)s->vec));
    Dim last = dim_sub(l->dims, s->shape->n, dim_const(l->dims, s->vec));
    s->column = k_smin(b, k_iadd(b, s->first_n, own), lower_dim(l, last));
    unsigned width = s->vec < 4 ? s->vec : 4;
    s->region = k_shared(b, "sums", s->is_float ? DT_F32 : DT_I32, width,
                         l->schedule->local * s->vec / width);
    return true;
}

// What a trip reads: `unroll` neighbours along K, of x at once where they all exist.
typedef struct SkinnyTrip {
    KVal k[SKINNY_UNROLL_MAX], inside[SKINNY_UNROLL_MAX], row[SKINNY_ROWS_MAX];
    SkinnyLoad y[SKINNY_UNROLL_MAX], x[SKINNY_ROWS_MAX];
} SkinnyTrip;

static KVal skinny_n_x(SkinnyN *s, const SkinnyTrip *t, unsigned m, unsigned u) {
    KBuilder *b = s->l->b;
    if (s->whole) return k_extract(b, t->x[m].piece[u / s->x.width], u % s->x.width);
    return skinny_load(s->l, &s->x, s->batch, t->row[m], t->k[u], t->inside[u]).piece[0];
}

// All loads of y, those of x, then the products.
static void skinny_n_trip(SkinnyN *s, KVal k0, KVal *sum) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    SkinnyTrip t = {.inside = {0}};
    KVal last_k = lower_dim(l, dim_sub(l->dims, s->shape->k, dim_const(l->dims, 1)));
    KVal last_m = lower_dim(l, dim_sub(l->dims, s->shape->m, dim_const(l->dims, 1)));
    for (unsigned u = 0; u < s->unroll; u++) {
        t.k[u] = k_iadd(b, k0, k_i32(b, (int32_t)u));
        if (!s->whole && u) {
            t.inside[u] = k_slt(b, t.k[u], s->split.end);
            t.k[u] = k_smin(b, t.k[u], last_k);
        }
        t.y[u] = skinny_load(l, &s->y, s->batch, t.k[u], s->column, t.inside[u]);
    }
    for (unsigned m = 0; m < s->rows; m++) {
        t.row[m] = k_smin(b, k_i32(b, (int32_t)m), last_m);
        if (!s->whole) continue;
        t.x[m] = skinny_load(l, &s->x, s->batch, t.row[m], k0, 0);
        t.x[m] = skinny_unpack(l, &s->x, t.x[m]);
    }
    for (unsigned u = 0; u < s->unroll; u++) {
        SkinnyLoad right = skinny_unpack(l, &s->y, t.y[u]);
        for (unsigned m = 0; m < s->rows; m++) {
            KVal left = skinny_n_x(s, &t, m, u);
            for (unsigned p = 0; p < s->y.pieces; p++) {
                KVal *own = &sum[m * s->y.pieces + p];
                *own = contract_multiply_add(l, s->is_float, k_splat(b, left, s->y.width),
                                             right.piece[p], *own);
            }
        }
    }
}

static void skinny_n_sums(SkinnyN *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned count = s->rows * s->y.pieces;
    KVal zero = s->is_float ? k_f32(b, 0) : k_i32(b, 0), now[SKINNY_ROWS_MAX * SKINNY_PIECES_MAX];
    for (unsigned i = 0; i < count; i++) s->sum[i] = k_splat(b, zero, s->y.width);
    KVal first = k_imul(b, s->lane, k_i32(b, (int32_t)s->unroll));
    KVal k0 =
        k_loop_begin(b, k_iadd(b, s->split.first, first), s->split.end,
                     k_i32(b, (int32_t)(s->lanes * s->unroll)), K_LOOP_PLAIN, count, s->sum, now);
    skinny_n_trip(s, k0, now);
    k_loop_end(b, now, s->sum);
}

// The lanes' sums of column `column` of the workgroup, in order.
static KVal skinny_n_column(SkinnyN *s, KVal column) {
    KBuilder *b = s->l->b;
    KType word = K_TYPE(s->is_float ? KT_F32 : KT_I32, 1);
    KVal sum = 0;
    for (unsigned i = 0; i < s->lanes; i++) {
        KVal at = k_iadd(b, column, k_i32(b, (int32_t)(i * s->across * s->vec)));
        KVal part = k_shared_load(b, s->region, at, word);
        sum = !sum ? part : s->is_float ? k_fadd(b, sum, part) : k_iadd(b, sum, part);
    }
    return sum;
}

// Row m of the workgroup, `cells` neighbouring columns from `column` on.
static void skinny_n_store(SkinnyN *s, unsigned m, KVal column) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    KVal n = k_iadd(b, s->first_n, column), inside = k_slt(b, n, lower_dim(l, s->shape->n));
    KVal row = k_i32(b, (int32_t)m), value[CONTRACT_PARTS_MAX];
    inside = k_and(b, inside, k_slt(b, row, lower_dim(l, s->shape->m)));
    k_if_begin(b, inside);
    for (unsigned c = 0; c < s->cells; c++)
        value[c] = skinny_n_column(s, k_iadd(b, column, k_i32(b, (int32_t)c)));
    Point point = point_make(&s->split.sums, (uint8_t)s->cells);
    point.index[0] = s->batch, point.index[1] = row, point.index[2] = n;
    contract_put(l, &s->split, &point, k_vector(b, s->cells, value));
    k_if_end(b, 0, NULL, NULL);
}

static void skinny_n_join(SkinnyN *s) {
    KBuilder *b = s->l->b;
    unsigned wide = s->across * s->vec, step = s->l->schedule->local * s->cells;
    KVal place = k_imul(b, s->id, k_i32(b, (int32_t)s->vec));
    for (unsigned m = 0; m < s->rows; m++) {
        if (m) k_barrier(b); // the last row's sums have been read
        for (unsigned p = 0; p < s->y.pieces; p++)
            k_shared_store(b, s->region, k_iadd(b, place, k_i32(b, (int32_t)(4 * p))),
                           s->sum[m * s->y.pieces + p]);
        k_barrier(b);
        KVal first = k_imul(b, s->id, k_i32(b, (int32_t)s->cells));
        KVal column = k_loop_begin(b, first, k_i32(b, (int32_t)wide), k_i32(b, (int32_t)step),
                                   K_LOOP_PLAIN, 0, NULL, NULL);
        skinny_n_store(s, m, column);
        k_loop_end(b, NULL, NULL);
    }
}

bool lower_skinny_n(Lower *l, const ContractShape *shape) {
    SkinnyN *s = arena_alloc(l->arena, sizeof *s);
    s->l = l, s->shape = shape;
    s->is_float = dtype_is_float(graph_value(l->graph, shape->x)->type.dtype);
    if (!skinny_n_check(s)) return false;
    skinny_side(l, shape, false, true, s->whole ? s->unroll : 1, &s->x);
    skinny_side(l, shape, true, false, s->vec, &s->y);
    if (!skinny_n_place(s)) return false;
    skinny_n_sums(s);
    skinny_n_join(s);
    return contract_close(l, &s->split);
}
