// Family "contract", form "skinny": at most tile_m rows, each weight read once. `lanes` invocations
// go along K together for reg_n columns and all rows, then join their sums. What limits it is the
// reading of y: an invocation reads 16 bytes at a time, neighbours read neighbours, and all loads
// of `unroll` steps are under way before the first is used.
//
// y must lie along K. Rows and columns past the end repeat the last one and are not stored; past
// the end of K both operands are 0. Where K is known, whole trips need no such checks, and what
// remains of K is behind the loop.
#include "passes/lower_skinny.h"

enum {
    SKINNY_LOADS_MAX = 128, // of y in a trip of the loop
    SKINNY_STREAMS_MAX = 1024
};

typedef struct Skinny {
    Lower *l;
    ContractShape shape;
    Split split;
    SkinnySide x, y;
    Space sums;
    unsigned rows, columns, vec, unroll, groups; // groups of lanes in a workgroup
    unsigned streams;                            // of y, at least 1
    unsigned sum_lanes;
    bool is_float;
    int64_t depth; // K where it is known and not in parts, else 0
    FoldLanes lanes;
    KVal batch, first_n, sum[SKINNY_SUMS_MAX];
} Skinny;

static bool skinny_check(Skinny *s) {
    Lower *l = s->l;
    const Schedule *given = l->schedule;
    s->rows = given->tile_m, s->columns = given->reg_n;
    s->vec = given->vec ? given->vec : 1, s->unroll = given->unroll ? given->unroll : 1;
    unsigned lanes = given->lanes, near = lanes;
    if (given->subgroup && given->subgroup < near) near = given->subgroup;
    if (s->columns % s->shape.cells) {
        lower_fail(l, "reg_n must hold whole windows of %u", s->shape.cells);
        return false;
    }
    s->streams = given->streams > 1 ? given->streams : 1;
    if (s->streams > SKINNY_STREAMS_MAX) {
        lower_fail(l, "streams is at most %d", SKINNY_STREAMS_MAX);
        return false;
    }
    if (!s->columns || !lanes || (lanes & (lanes - 1)) || !given->local || given->local % lanes ||
        s->columns > SKINNY_SUMS_MAX || s->rows * s->columns > SKINNY_SUMS_MAX ||
        s->rows * s->columns > near || s->unroll > SKINNY_UNROLL_MAX ||
        s->unroll * s->columns > SKINNY_LOADS_MAX) {
        lower_fail(l, "form=skinny needs tile_m * reg_n sums for a power of two of lanes");
        return false;
    }
    s->groups = given->local / lanes;
    unsigned width = s->vec < 4 ? s->vec : 4;
    s->sum_lanes = s->rows * s->columns * width <= SKINNY_SUMS_MAX ? width : 1;
    if (!dim_divides(l->dims, s->vec, s->shape.k)) {
        lower_fail(l, "vec=%u does not divide K", s->vec);
        return false;
    }
    return true;
}

// Workgroups that follow one another go on in `streams` stretches of y, each of `length` tiles, in
// turn. Read as one, all of them come to a new page of memory together and wait for its address.
static KVal skinny_tile(const Skinny *s, KVal workgroup, Dim length) {
    KBuilder *b = s->l->b;
    if (s->streams == 1) return workgroup;
    KVal count = k_i32(b, (int32_t)s->streams);
    KVal first = k_imul(b, k_urem(b, workgroup, count), lower_dim(s->l, length));
    return k_iadd(b, first, k_udiv(b, workgroup, count));
}

static bool skinny_place(Skinny *s, Dim tiles) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    const Schedule *given = l->schedule;
    KVal workgroup;
    Dim streams = dim_const(l->dims, s->streams);
    Dim length = dim_ceil_div(l->dims, tiles, streams);
    tiles = dim_mul(l->dims, length, streams);
    Dim groups = dim_mul(l->dims, s->shape.batch, tiles);
    if (!contract_open(l, &s->shape, groups, &s->split, &workgroup)) return false;
    KVal count = lower_dim(l, tiles), invocation = k_local_id(b);
    s->lanes =
        (FoldLanes){.count = given->lanes, .local = given->local, .subgroup = given->subgroup};
    if (given->subgroup) {
        KVal first = k_imul(b, k_subgroup_id(b), k_i32(b, (int32_t)given->subgroup));
        invocation = k_iadd(b, first, k_subgroup_lane(b));
    }
    KVal lanes = k_i32(b, (int32_t)given->lanes);
    s->lanes.invocation = invocation;
    s->lanes.lane = s->groups == 1 ? invocation : k_urem(b, invocation, lanes);
    s->lanes.row = s->groups == 1 ? k_i32(b, 0) : k_udiv(b, invocation, lanes);
    s->batch = k_udiv(b, workgroup, count);
    KVal tile = skinny_tile(s, k_urem(b, workgroup, count), length);
    KVal group = k_imul(b, tile, k_i32(b, (int32_t)s->groups));
    s->first_n = k_imul(b, k_iadd(b, group, s->lanes.row), k_i32(b, (int32_t)s->columns));
    return true;
}

static void skinny_products(Skinny *s, const SkinnyLoad *x, const SkinnyLoad *y, KVal *sum) {
    KBuilder *b = s->l->b;
    for (unsigned p = 0; p < s->y.pieces; p++)
        for (unsigned i = 0; i < (s->sum_lanes > 1 ? 1 : s->y.width); i++) {
            KVal left = x->piece[p], right = y->piece[p];
            if (s->sum_lanes == 1) left = k_extract(b, left, i), right = k_extract(b, right, i);
            *sum = contract_multiply_add(s->l, s->is_float, left, right, *sum);
        }
}

// `steps` steps: all loads of y, then step by step those of x and the products. Steps from `safe`
// on may be past the end.
static void skinny_trip(Skinny *s, KVal k0, unsigned steps, unsigned safe, KVal *sum) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned stride = l->schedule->lanes * s->vec;
    SkinnyLoad y[SKINNY_LOADS_MAX];
    KVal at[SKINNY_UNROLL_MAX], inside[SKINNY_UNROLL_MAX] = {0};
    KVal last_m = lower_dim(l, dim_sub(l->dims, s->shape.m, dim_const(l->dims, 1)));
    KVal last_n = lower_dim(l, dim_sub(l->dims, s->shape.n, dim_const(l->dims, 1)));
    for (unsigned u = 0; u < steps; u++) {
        at[u] = k_iadd(b, k0, k_i32(b, (int32_t)(u * stride)));
        if (u >= safe) {
            Dim last = dim_sub(l->dims, s->shape.k, dim_const(l->dims, s->vec));
            inside[u] = k_slt(b, at[u], s->split.end);
            at[u] = k_smin(b, at[u], lower_dim(l, last));
        }
        for (unsigned j = 0; j < s->columns; j++) {
            KVal n = k_smin(b, k_iadd(b, s->first_n, k_i32(b, (int32_t)j)), last_n);
            y[u * s->columns + j] = skinny_load(l, &s->y, s->batch, n, at[u], inside[u]);
        }
    }
    for (unsigned u = 0; u < steps; u++) {
        SkinnyLoad *own = &y[u * s->columns];
        for (unsigned j = 0; j < s->columns; j++) own[j] = skinny_unpack(l, &s->y, own[j]);
        for (unsigned m = 0; m < s->rows; m++) {
            KVal row = k_smin(b, k_i32(b, (int32_t)m), last_m);
            SkinnyLoad x = skinny_load(l, &s->x, s->batch, row, at[u], inside[u]);
            x = skinny_unpack(l, &s->x, x);
            for (unsigned j = 0; j < s->columns; j++)
                skinny_products(s, &x, &own[j], &sum[m * s->columns + j]);
        }
    }
}

// Trips of the loop that are whole, where K is known, and behind them the steps that remain;
// otherwise trips of which all but the first step may be past the end.
static void skinny_sums(Skinny *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned count = s->rows * s->columns, stride = l->schedule->lanes * s->vec;
    int64_t trip = (int64_t)stride * s->unroll, whole = s->depth / trip * trip;
    KVal zero = s->is_float ? k_f32(b, 0) : k_i32(b, 0), now[SKINNY_SUMS_MAX];
    for (unsigned i = 0; i < count; i++) s->sum[i] = k_splat(b, zero, s->sum_lanes);
    KVal first = k_imul(b, s->lanes.lane, k_i32(b, (int32_t)s->vec));
    first = k_iadd(b, s->split.first, first);
    if (!s->depth || whole) {
        bool all = s->depth || dim_divides(l->dims, trip, s->shape.k);
        KVal end = s->depth ? k_i32(b, (int32_t)whole) : s->split.end;
        KVal k0 =
            k_loop_begin(b, first, end, k_i32(b, (int32_t)trip), K_LOOP_PLAIN, count, s->sum, now);
        skinny_trip(s, k0, s->unroll, all ? s->unroll : 1, now);
        k_loop_end(b, now, s->sum);
    }
    unsigned steps = (unsigned)((s->depth - whole + stride - 1) / stride);
    unsigned safe = (unsigned)((s->depth - whole) / stride);
    if (steps) skinny_trip(s, k_iadd(b, first, k_i32(b, (int32_t)whole)), steps, safe, s->sum);
}

// Sums are stored by a lane each, so that the epilogue stands once; where maps read neighbouring
// columns together, these are one lane's.
static void skinny_store(Skinny *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned cells = s->shape.parts.len ? s->shape.cells : 1, across = s->columns / cells;
    SkinnyJoin join = {.count = s->rows * across,
                       .cells = cells,
                       .fold = {.op = OP_SUM, .dtype = s->is_float ? DT_F32 : DT_I32, .words = 1},
                       .lanes = &s->lanes,
                       .sum = s->sum};
    skinny_join(l, &join);
    KVal wide = k_i32(b, (int32_t)across);
    KVal column = k_imul(b, k_urem(b, join.index, wide), k_i32(b, (int32_t)cells));
    KVal m = k_udiv(b, join.index, wide), n = k_iadd(b, s->first_n, column), inside = join.owns;
    inside = k_and(b, inside, k_slt(b, m, lower_dim(l, s->shape.m)));
    inside = k_and(b, inside, k_slt(b, n, lower_dim(l, s->shape.n)));
    k_if_begin(b, inside);
    Point point = point_make(&s->sums, (uint8_t)cells);
    point.index[0] = s->batch, point.index[1] = m, point.index[2] = n;
    contract_put(l, &s->split, &point, k_vector(b, cells, s->sum));
    k_if_end(b, 0, NULL, NULL);
}

bool lower_skinny(Lower *l) {
    Skinny *s = arena_alloc(l->arena, sizeof *s);
    DimTable *dims = l->dims;
    s->l = l;
    if (!contract_shape(l->graph, l->node, &s->shape) || s->shape.pool) {
        lower_fail(l, "form=skinny does not pool");
        return false;
    }
    const ContractShape *shape = &s->shape;
    if (!skinny_check_rows(l, shape)) return false;
    if (!contract_k_fast(l->graph, shape, shape->y)) {
        if (l->schedule->streams <= 1) return lower_skinny_n(l, shape);
        lower_fail(l, "streams are of operands along K");
        return false;
    }
    if (!skinny_check(s)) return false;
    s->is_float = dtype_is_float(graph_value(l->graph, shape->x)->type.dtype);
    Dim tiles = dim_ceil_div(dims, shape->n, dim_const(dims, s->groups * s->columns));
    if (!skinny_place(s, tiles)) return false;
    if (s->split.layout.parts > 1 || !dim_is_const(dims, shape->k, &s->depth)) s->depth = 0;
    skinny_side(l, shape, false, true, s->vec, &s->x);
    skinny_side(l, shape, true, true, s->vec, &s->y);
    s->sums = contract_sums_space(l, shape);
    skinny_sums(s);
    skinny_store(s);
    return contract_close(l, &s->split);
}
