// Family "contract", form "planes": the dispatches of planes_shape.h. The first two are made here;
// the others are the programs of forms "coop" and "simt", each for its own tiles.
#include "passes/lower_planes.h"

#include "passes/coop_shape.h"
#include "passes/lower_coop.h"
#include "passes/lower_simt.h"

enum {
    SPLIT_LONG = 1024, // K from which on many invocations share a row
    SPLIT_UNROLL = 4   // loads of an invocation that are under way together
};

typedef struct PlanesSplit {
    Lower *l;
    const PlanesLayout *layout;
    const PlanesSide *side;
    Space space;        // of the operand
    Space planes, rows; // of what is written
    View plane_view, row_view;
    unsigned local, lanes; // invocations, and those that share a row
    unsigned vec;          // neighbours that are read and written at once
    unsigned wide;         // rows of an invocation
    unsigned unroll;       // steps along K of a trip
    unsigned tile_k;
    KVal batch, row, along; // along: place among those that share a row
    uint32_t most, least;   // shared
} PlanesSplit;

static KVal split_number(PlanesSplit *c, int32_t value) {
    return k_i32(c->l->b, value);
}

static unsigned split_vec(PlanesSplit *c) {
    Lower *l = c->l;
    Dim fast = c->side->k_fast ? c->layout->contract.k : c->side->extent;
    const LowerView *view = lower_view(l, c->side->value, &c->space);
    unsigned vec = 4;
    while (vec > 1 &&
           (!dim_divides(l->dims, vec, fast) || !dim_divides(l->dims, vec, c->side->rows) ||
            c->tile_k % vec || !view_is_vectorizable(l->dims, view->view, vec)))
        vec /= 2;
    return vec;
}

static unsigned split_step(const PlanesSplit *c) { // along K
    return c->side->k_fast ? c->vec : 1;
}

// Long rows are shared by a whole workgroup, so that what is read twice is found in its cache the
// second time; long columns by as many as give every compute unit loads to wait for.
static void split_shares(const Lower *l, PlanesSplit *c) {
    bool k_fast = c->side->k_fast, large = l->plan->target.max_invocations >= 512;
    bool many = dim_bounds(l->dims, c->layout->contract.k).lo >= SPLIT_LONG && (k_fast || large);
    c->local = many && !k_fast ? 512 : 256;
    c->lanes = !many ? 32 : k_fast ? 256 : 128;
}

static void split_sizes(PlanesSplit *c) {
    DimTable *dims = c->l->dims;
    Dim k = c->layout->contract.k;
    c->vec = split_vec(c), c->wide = c->side->k_fast ? 1 : c->vec;
    c->unroll = SPLIT_UNROLL;
    while (c->unroll > 1 && (!dim_divides(dims, c->unroll * c->lanes * split_step(c), k) ||
                             !dim_divides(dims, c->tile_k, k)))
        c->unroll /= 2;
}

static void split_spaces(PlanesSplit *c) {
    Lower *l = c->l;
    DimTable *dims = l->dims;
    const PlanesSide *side = c->side;
    Dim one = dim_const(dims, 1), tile = dim_const(dims, c->tile_k);
    Dim batch = side->shared ? one : c->layout->contract.batch;
    Dim tiles = dim_ceil_div(dims, c->layout->contract.k, tile);
    Dim fast[5] = {batch, side->rows, tiles, dim_const(dims, 2), tile};
    Dim slow[5] = {batch, tiles, dim_const(dims, 2), tile, side->rows};
    Dim rows[2] = {batch, side->rows};
    c->planes = space_of(l, 5, side->k_fast ? fast : slow);
    c->plane_view = view_identity(dims, 5, c->planes.size);
    c->rows = space_of(l, 2, rows);
    c->row_view = view_identity(dims, 2, rows);
    c->space =
        contract_operand_space(l, &c->layout->contract, side->value, side->columns, side->k_fast);
}

// Places the invocation; gives the number of workgroups.
static Dim split_place(PlanesSplit *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    const PlanesSide *side = c->side;
    unsigned across = c->local / c->lanes, rows = across * c->wide;
    Dim each = dim_ceil_div(dims, side->rows, dim_const(dims, rows));
    Dim groups = dim_mul(dims, each, c->planes.size[0]);
    KVal group = lower_workgroup(l, groups), count = lower_dim(l, each), id = k_local_id(b);
    KVal lanes = split_number(c, (int32_t)c->lanes), wide = split_number(c, (int32_t)across);
    KVal own = side->k_fast ? k_udiv(b, id, lanes) : k_urem(b, id, wide);
    c->along = side->k_fast ? k_urem(b, id, lanes) : k_udiv(b, id, wide);
    KVal first = k_imul(b, k_urem(b, group, count), split_number(c, (int32_t)rows));
    c->batch = k_udiv(b, group, count);
    c->row = k_iadd(b, first, k_imul(b, own, split_number(c, (int32_t)c->wide)));
    c->most = k_shared(b, "most", DT_I32, c->wide, c->local);
    c->least = k_shared(b, "least", DT_I32, c->wide, c->local);
    return groups;
}

// `vec` elements of the operand; rows past the end repeat the last ones.
static KVal split_read(PlanesSplit *c, KVal k) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    Point point = point_make(&c->space, (uint8_t)c->vec);
    Dim last = dim_sub(l->dims, c->side->extent, dim_const(l->dims, c->wide));
    KVal row = k_smin(b, c->row, lower_dim(l, last));
    point.index[0] = c->batch;
    point.index[1] = c->side->k_fast ? row : k;
    point.index[2] = c->side->k_fast ? k : row;
    KVal value = lower_value(l, c->side->value, &point);
    return k_type(b, value).lanes == c->vec ? value : k_splat(b, value, c->vec);
}

static KVal split_loop(PlanesSplit *c, Dim end, uint32_t count, const KVal *init, KVal *now) {
    KBuilder *b = c->l->b;
    unsigned step = split_step(c);
    KVal first = k_imul(b, c->along, split_number(c, (int32_t)step));
    return k_loop_begin(b, first, lower_dim(c->l, end),
                        split_number(c, (int32_t)(step * c->lanes * c->unroll)), K_LOOP_PLAIN,
                        count, init, now);
}

// Step number `u` of a trip that begins at k.
static KVal split_at(PlanesSplit *c, KVal k, unsigned u) {
    return k_iadd(c->l->b, k, split_number(c, (int32_t)(u * split_step(c) * c->lanes)));
}

// Largest bits of a magnitude, and the least but those of 0, less 1 and unsigned.
typedef struct Extremes {
    KVal most, least;
} Extremes;

static Extremes split_both(PlanesSplit *c, Extremes x, Extremes y) {
    KBuilder *b = c->l->b;
    return (Extremes){k_smax(b, x.most, y.most), k_umin(b, x.least, y.least)};
}

static Extremes split_lanes(PlanesSplit *c, Extremes x) {
    KBuilder *b = c->l->b;
    Extremes out = {k_extract(b, x.most, 0), k_extract(b, x.least, 0)};
    for (unsigned i = 1; i < c->vec; i++)
        out = split_both(c, out, (Extremes){k_extract(b, x.most, i), k_extract(b, x.least, i)});
    return out;
}

static Extremes split_load(PlanesSplit *c, KVal at) {
    KBuilder *b = c->l->b;
    KType type = K_TYPE(KT_I32, (uint8_t)c->wide);
    return (Extremes){k_shared_load(b, c->most, at, type), k_shared_load(b, c->least, at, type)};
}

static void split_store(PlanesSplit *c, KVal at, Extremes x) {
    k_shared_store(c->l->b, c->most, at, x.most);
    k_shared_store(c->l->b, c->least, at, x.least);
}

// Over all invocations that share the rows.
static Extremes split_join(PlanesSplit *c, Extremes own) {
    KBuilder *b = c->l->b;
    unsigned across = c->local / c->lanes, next = c->side->k_fast ? 1 : across;
    KVal wide = split_number(c, (int32_t)c->wide), id = k_local_id(b);
    KVal at = k_imul(b, id, wide);
    split_store(c, at, own);
    for (unsigned half = c->lanes / 2; half; half /= 2) {
        k_barrier(b);
        k_if_begin(b, k_slt(b, c->along, split_number(c, (int32_t)half)));
        KVal other = k_iadd(b, at, split_number(c, (int32_t)(half * next * c->wide)));
        split_store(c, at, split_both(c, split_load(c, at), split_load(c, other)));
        k_if_end(b, 0, NULL, NULL);
    }
    k_barrier(b);
    KVal back = k_imul(b, c->along, split_number(c, (int32_t)(next * c->wide)));
    return split_load(c, k_isub(b, at, back));
}

static Extremes split_extremes(PlanesSplit *c) {
    KBuilder *b = c->l->b;
    KVal init[2] = {k_splat(b, split_number(c, 0), c->vec),
                    k_splat(b, split_number(c, -1), c->vec)};
    KVal now[2], out[2], read[SPLIT_UNROLL];
    KVal k = split_loop(c, c->layout->contract.k, 2, init, now);
    for (unsigned u = 0; u < c->unroll; u++) read[u] = split_read(c, split_at(c, k, u));
    Extremes own = {now[0], now[1]};
    for (unsigned u = 0; u < c->unroll; u++) {
        KVal bits = k_and(b, k_as_i32(b, read[u]), split_number(c, INT32_MAX));
        own = split_both(c, own, (Extremes){bits, k_isub(b, bits, split_number(c, 1))});
    }
    k_loop_end(b, (KVal[]){own.most, own.least}, out);
    own = (Extremes){out[0], out[1]};
    return split_join(c, c->side->k_fast ? split_lanes(c, own) : own);
}

// The rows' factors, and what is stored of them: exponents, or PLANES_STRICT.
static KVal split_scale(PlanesSplit *c, Extremes all, KVal *scale) {
    KBuilder *b = c->l->b;
    enum { BITS = 23, BIAS = 127, LEAST = 37, INFINITE = 255 };
    KVal bits = split_number(c, BITS), zero = k_ieq(b, all.most, split_number(c, 0));
    KVal exponent = k_shr(b, all.most, bits);
    KVal low = k_shl(b, k_isub(b, exponent, split_number(c, PLANES_RANGE)), bits);
    KVal near = k_sle(b, low, k_iadd(b, all.least, split_number(c, 1)));
    KVal good = k_and(b, k_sle(b, split_number(c, LEAST), exponent),
                      k_slt(b, exponent, split_number(c, INFINITE)));
    good = k_or(b, zero, k_and(b, good, near));
    exponent = k_select(b, zero, split_number(c, BIAS + PLANES_TOP), exponent);
    KVal turned = k_isub(b, split_number(c, 2 * BIAS + PLANES_TOP), exponent);
    *scale = k_as_f32(b, k_shl(b, turned, bits));
    KVal own = k_isub(b, exponent, split_number(c, BIAS + PLANES_TOP));
    return k_select(b, good, own, split_number(c, PLANES_STRICT));
}

static Point split_point(PlanesSplit *c, KVal k, unsigned plane) {
    KBuilder *b = c->l->b;
    KVal tile = split_number(c, (int32_t)c->tile_k), which = split_number(c, (int32_t)plane);
    Point point = point_make(&c->planes, (uint8_t)c->vec);
    KVal *at = point.index;
    KVal number = k_udiv(b, k, tile), within = k_urem(b, k, tile);
    at[0] = c->batch;
    if (c->side->k_fast)
        at[1] = c->row, at[2] = number, at[3] = which, at[4] = within;
    else
        at[1] = number, at[2] = which, at[3] = within, at[4] = c->row;
    return point;
}

// Both planes of what was read at k, times the scale; zeros where k is not inside.
static void split_put(PlanesSplit *c, KVal pointer, KVal k, KVal read, KVal scale, KVal inside) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    KVal value = k_fmul(b, read, scale);
    if (inside) value = k_select(b, inside, value, k_f32(b, 0));
    KVal high, low;
    planes_split_value(b, value, &high, &low);
    Point point = split_point(c, k, 0);
    lower_store_at(l, pointer, DT_F16, &c->plane_view, &point, high);
    point = split_point(c, k, 1);
    lower_store_at(l, pointer, DT_F16, &c->plane_view, &point, low);
}

static void split_write(PlanesSplit *c, KVal pointer, KVal scale) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    Dim end = dim_align_up(dims, c->layout->contract.k, c->tile_k);
    KVal first = split_loop(c, end, 0, NULL, NULL), inside = 0, read[SPLIT_UNROLL];
    bool whole = dim_divides(dims, c->tile_k, c->layout->contract.k);
    if (c->wide == 1) scale = k_splat(b, scale, c->vec);
    for (unsigned u = 0; u < c->unroll; u++) {
        KVal k = split_at(c, first, u);
        if (!whole) {
            Dim last = dim_sub(dims, c->layout->contract.k, dim_const(dims, split_step(c)));
            inside = k_slt(b, k, lower_dim(l, c->layout->contract.k));
            k = k_smin(b, k, lower_dim(l, last));
        }
        read[u] = split_read(c, k);
    }
    for (unsigned u = 0; u < c->unroll; u++)
        split_put(c, pointer, split_at(c, first, u), read[u], scale, inside);
    k_loop_end(b, NULL, NULL);
}

// One operand's planes and exponents.
static bool planes_split(const Lower *first, const PlanesLayout *layout, const PlanesSide *side,
                         const char *what) {
    Schedule *schedule = arena_alloc(first->arena, sizeof *schedule);
    Lower *l = arena_alloc(first->arena, sizeof *l);
    PlanesSplit *c = arena_alloc(first->arena, sizeof *c);
    *c = (PlanesSplit){.l = l, .layout = layout, .side = side, .tile_k = first->schedule->tile_k};
    split_shares(first, c);
    *schedule = (Schedule){.local = c->local};
    *l = lower_begin_next(first, what, schedule);
    KBuilder *b = l->b;
    split_spaces(c);
    split_sizes(c);
    KVal planes = 0;
    if (!layout->late)
        planes =
            lower_workspace_part(l, "planes", DT_F16, side->planes, side->plane_bytes, K_WRITE);
    KVal scales =
        lower_workspace_part(l, "scales", DT_I32, side->scales, side->scale_bytes, K_WRITE);
    if (l->failed) return false;
    Dim groups = split_place(c);
    KVal scale, stored = split_scale(c, split_extremes(c), &scale), inside = 0;
    contract_limit(l, c->row, side->rows, c->local / c->lanes * c->wide, &inside);
    if (inside) k_if_begin(b, inside);
    if (planes) split_write(c, planes, scale);
    k_if_begin(b, k_ieq(b, c->along, k_i32(b, 0)));
    Point point = point_make(&c->rows, (uint8_t)c->wide);
    point.index[0] = c->batch, point.index[1] = c->row;
    lower_store_at(l, scales, DT_I32, &c->row_view, &point, stored);
    k_if_end(b, 0, NULL, NULL);
    if (inside) k_if_end(b, 0, NULL, NULL);
    Dim cells =
        dim_mul(l->dims, dim_mul(l->dims, side->extent, layout->contract.k), c->planes.size[0]);
    return lower_finish(l, groups, cells);
}

bool lower_planes(Lower *l) {
    PlanesLayout *layout = arena_alloc(l->arena, sizeof *layout);
    if (!planes_layout(l->graph, l->node, l->schedule, layout)) {
        lower_fail(l, "its product does not suit f16 planes");
        return false;
    }
    Schedule *strict = arena_alloc(l->arena, sizeof *strict);
    *strict = planes_strict(l->schedule);
    if (!planes_split(l, layout, &layout->x, "planes_x") ||
        !planes_split(l, layout, &layout->y, "planes_y") || !lower_coop_planes(l, layout))
        return false;
    Lower *rest = arena_alloc(l->arena, sizeof *rest);
    *rest = lower_begin_next(l, "strict", strict);
    return lower_simt_planes(rest, layout);
}
