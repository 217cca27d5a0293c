// Family "contract", form "skinny": at most tile_m rows, each weight read once. `lanes` invocations
// go along K together for reg_n columns and all rows, then join their sums. What limits it is the
// reading of y, so loads are wide, neighbours read neighbours, and `unroll` of them are under way
// at once.
//
// y must lie along K. Rows and columns past the end repeat the last one and are not stored.
#include "passes/lower_contract.h"
#include "passes/lower_reduce.h"

enum { SKINNY_ROWS_MAX = 16, SKINNY_SUMS_MAX = 64, SKINNY_UNROLL_MAX = 16 };

typedef struct Skinny {
    Lower *l;
    ContractShape shape;
    Split split;
    Space x, y, sums;
    unsigned rows, columns, vec, unroll, groups; // groups of lanes in a workgroup
    bool is_float, whole;                        // whole: steps of the loop divide K
    FoldLanes lanes;
    KVal batch, first_n, sum[SKINNY_SUMS_MAX];
} Skinny;

static Space matrix(Lower *l, ValueId value, Dim batch, Dim rows, Dim columns) {
    const Type *type = &graph_value(l->graph, value)->type;
    Space space = space_of(l, type->rank, type->size);
    space.rank = 3;
    space.size[0] = batch, space.size[1] = rows, space.size[2] = columns;
    return space;
}

// One tile has all rows: for every size of the dims, or under the alternative's conditions.
static bool skinny_rows_fit(const Skinny *s) {
    const Alternative *alternative = s->l->alternative;
    DimTable *dims = s->l->dims;
    int64_t most;
    if (dim_prove(dims, s->shape.m, DIM_LE, dim_const(dims, s->rows)) == PROOF_YES) return true;
    for (uint32_t i = 0; alternative && i < alternative->conditions; i++) {
        const Condition *c = &alternative->condition[i];
        if (c->left == s->shape.m && c->relation == DIM_LE && dim_is_const(dims, c->right, &most) &&
            most <= s->rows)
            return true;
    }
    return false;
}

static bool skinny_check(Skinny *s) {
    Lower *l = s->l;
    const Schedule *given = l->schedule;
    s->rows = given->tile_m, s->columns = given->reg_n;
    s->vec = given->vec ? given->vec : 1, s->unroll = given->unroll ? given->unroll : 1;
    unsigned lanes = given->lanes;
    if (s->shape.pool || !contract_k_fast(l->graph, &s->shape, s->shape.y)) {
        lower_fail(l, "form=skinny reads y along K and does not pool");
        return false;
    }
    if (!s->rows || s->rows > SKINNY_ROWS_MAX || !s->columns || s->vec > 4 || !lanes ||
        (lanes & (lanes - 1)) || !given->local || given->local % lanes ||
        s->rows * s->columns > SKINNY_SUMS_MAX || s->rows * s->columns > lanes ||
        s->unroll > SKINNY_UNROLL_MAX) {
        lower_fail(l, "form=skinny needs tile_m * reg_n sums for a power of two of lanes");
        return false;
    }
    if (!skinny_rows_fit(s)) {
        lower_fail(l, "form=skinny makes at most tile_m rows, which no condition promises");
        return false;
    }
    s->groups = given->local / lanes;
    s->whole = dim_divides(l->dims, (int64_t)lanes * s->vec * s->unroll, s->shape.k);
    if (!s->whole) s->unroll = 1;
    if (!dim_divides(l->dims, s->vec, s->shape.k)) {
        lower_fail(l, "vec=%u does not divide K", s->vec);
        return false;
    }
    return true;
}

static bool skinny_place(Skinny *s, Dim tiles) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    const Schedule *given = l->schedule;
    KVal workgroup;
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
    KVal group = k_imul(b, k_urem(b, workgroup, count), k_i32(b, (int32_t)s->groups));
    s->first_n = k_imul(b, k_iadd(b, group, s->lanes.row), k_i32(b, (int32_t)s->columns));
    Fold fold = {.op = OP_SUM, .dtype = s->is_float ? DT_F32 : DT_I32, .words = 1};
    fold_lanes_begin(l, &s->lanes, &fold, 1);
    return true;
}

static KVal skinny_load(Skinny *s, ValueId value, const Space *space, KVal row, Dim rows, KVal k) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    Point point = point_make(space, (uint8_t)s->vec);
    Dim last = dim_sub(l->dims, rows, dim_const(l->dims, 1));
    point.index[0] = s->batch;
    point.index[1] = k_smin(b, row, lower_dim(l, last));
    point.index[2] = k;
    KVal loaded = lower_value(l, value, &point);
    return k_type(b, loaded).lanes == s->vec ? loaded : k_splat(b, loaded, s->vec);
}

static KVal skinny_multiply_add(Skinny *s, KVal x, KVal y, KVal sum) {
    KBuilder *b = s->l->b;
    if (!s->is_float) return k_iadd(b, k_imul(b, x, y), sum);
    if (s->l->plan->strict_rounding) return k_fadd(b, k_fmul(b, x, y), sum);
    return k_fma(b, x, y, sum);
}

static void skinny_sums(Skinny *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned count = s->rows * s->columns, stride = l->schedule->lanes * s->vec;
    KVal zero = s->is_float ? k_f32(b, 0) : k_i32(b, 0), now[SKINNY_SUMS_MAX];
    for (unsigned i = 0; i < count; i++) s->sum[i] = k_splat(b, zero, s->vec);
    KVal first = k_imul(b, s->lanes.lane, k_i32(b, (int32_t)s->vec));
    first = k_iadd(b, s->split.first, first);
    KVal k0 = k_loop_begin(b, first, s->split.end, k_i32(b, (int32_t)(stride * s->unroll)),
                           K_LOOP_PLAIN, count, s->sum, now);
    for (unsigned u = 0; u < s->unroll; u++) {
        KVal k = k_iadd(b, k0, k_i32(b, (int32_t)(u * stride))), x[SKINNY_ROWS_MAX];
        for (unsigned m = 0; m < s->rows; m++) {
            x[m] = skinny_load(s, s->shape.x, &s->x, k_i32(b, (int32_t)m), s->shape.m, k);
        }
        for (unsigned j = 0; j < s->columns; j++) {
            KVal n = k_iadd(b, s->first_n, k_i32(b, (int32_t)j));
            KVal y = skinny_load(s, s->shape.y, &s->y, n, s->shape.n, k);
            for (unsigned m = 0; m < s->rows; m++) {
                KVal *sum = &now[m * s->columns + j];
                *sum = skinny_multiply_add(s, x[m], y, *sum);
            }
        }
    }
    k_loop_end(b, now, s->sum);
    Fold fold = {.op = OP_SUM, .dtype = s->is_float ? DT_F32 : DT_I32, .words = 1};
    for (unsigned i = 0; i < count; i++) {
        fold_lanes(l, &fold, &s->sum[i]);
        fold_across(l, &s->lanes, &fold, &s->sum[i]);
    }
}

// Lane m * columns + j of a group stores sum (m, j), so that the epilogue stands once.
static void skinny_store(Skinny *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    KVal lane = s->lanes.lane, columns = k_i32(b, (int32_t)s->columns), value = s->sum[0];
    for (unsigned i = 1; i < s->rows * s->columns; i++) {
        value = k_select(b, k_ieq(b, lane, k_i32(b, (int32_t)i)), s->sum[i], value);
    }
    KVal m = k_udiv(b, lane, columns), n = k_iadd(b, s->first_n, k_urem(b, lane, columns));
    KVal inside = k_slt(b, lane, k_i32(b, (int32_t)(s->rows * s->columns)));
    inside = k_and(b, inside, k_slt(b, m, lower_dim(l, s->shape.m)));
    inside = k_and(b, inside, k_slt(b, n, lower_dim(l, s->shape.n)));
    k_if_begin(b, inside);
    Point point = point_make(&s->sums, 1);
    point.index[0] = s->batch, point.index[1] = m, point.index[2] = n;
    contract_put(l, &s->split, &point, value);
    k_if_end(b, 0, NULL, NULL);
}

bool lower_skinny(Lower *l) {
    Skinny *s = arena_alloc(l->arena, sizeof *s);
    DimTable *dims = l->dims;
    s->l = l;
    if (!contract_shape(l->graph, l->node, &s->shape) || !skinny_check(s)) return false;
    s->is_float = dtype_is_float(graph_value(l->graph, s->shape.x)->type.dtype);
    const ContractShape *shape = &s->shape;
    Dim tiles = dim_ceil_div(dims, shape->n, dim_const(dims, s->groups * s->columns));
    if (!skinny_place(s, tiles)) return false;
    s->x = matrix(l, shape->x, shape->batch, shape->m, shape->k);
    s->y = matrix(l, shape->y, shape->batch, shape->n, shape->k);
    s->sums = matrix(l, shape->result, shape->batch, shape->m, shape->n);
    skinny_sums(s);
    skinny_store(s);
    return contract_close(l, &s->split);
}
