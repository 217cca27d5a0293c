// Family "contract", form "skinny": at most tile_m rows, each weight read once. `lanes` invocations
// go along K together for reg_n columns and all rows, then join their sums. What limits it is the
// reading of y: an invocation reads 16 bytes at a time, neighbours read neighbours, and all loads
// of `unroll` steps are under way before the first is used.
//
// y must lie along K. Rows and columns past the end repeat the last one and are not stored; past
// the end of K both operands are 0.
#include "passes/coop_shape.h"
#include "passes/lower_contract.h"
#include "passes/lower_reduce.h"

enum {
    SKINNY_ROWS_MAX = 16,
    SKINNY_SUMS_MAX = 64,
    SKINNY_UNROLL_MAX = 16,
    SKINNY_LOADS_MAX = 128, // of y in a trip of the loop
    SKINNY_VEC_MAX = 16,
    SKINNY_PIECES_MAX = SKINNY_VEC_MAX / 4
};

// One operand. A step of an invocation reads `vec` neighbours along K: as words, unpacked later
// (wide), or as pieces of at most 4.
typedef struct SkinnySide {
    CoopOperand operand;
    Space space, seen; // [batch, rows, K]; in moves
    bool wide;
    KVal pointer;
} SkinnySide;

typedef struct SkinnyLoad {
    KVal piece[SKINNY_PIECES_MAX]; // wide: the first is all words
} SkinnyLoad;

typedef struct Skinny {
    Lower *l;
    ContractShape shape;
    Split split;
    SkinnySide x, y;
    Space sums;
    unsigned rows, columns, vec, unroll, groups; // groups of lanes in a workgroup
    unsigned pieces, width, sum_lanes;           // vec is pieces of width; lanes of a sum
    bool is_float, whole;                        // whole: trips of the loop divide K
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
    if (s->columns % s->shape.cells) {
        lower_fail(l, "reg_n must hold whole windows of %u", s->shape.cells);
        return false;
    }
    if (!s->rows || s->rows > SKINNY_ROWS_MAX || !s->columns || !lanes || (lanes & (lanes - 1)) ||
        !given->local || given->local % lanes || s->rows * s->columns > SKINNY_SUMS_MAX ||
        s->rows * s->columns > lanes || s->unroll > SKINNY_UNROLL_MAX ||
        s->unroll * s->columns > SKINNY_LOADS_MAX) {
        lower_fail(l, "form=skinny needs tile_m * reg_n sums for a power of two of lanes");
        return false;
    }
    if (!skinny_rows_fit(s)) {
        lower_fail(l, "form=skinny makes at most tile_m rows, which no condition promises");
        return false;
    }
    s->groups = given->local / lanes;
    s->whole = dim_divides(l->dims, (int64_t)lanes * s->vec * s->unroll, s->shape.k);
    s->width = s->vec < 4 ? s->vec : 4, s->pieces = s->vec / s->width;
    s->sum_lanes = s->rows * s->columns * s->width <= SKINNY_SUMS_MAX ? s->width : 1;
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

static void skinny_side(Skinny *s, SkinnySide *side, bool columns) {
    Lower *l = s->l;
    const ContractShape *shape = &s->shape;
    bool known = coop_operand(l->graph, l->node, shape, columns, &side->operand);
    const CoopOperand *o = &side->operand;
    side->space = matrix(l, o->value, shape->batch, columns ? shape->n : shape->m, shape->k);
    side->seen = (Space){.rank = 3};
    side->wide =
        s->vec > 4 && known && coop_moves_whole(o) && s->vec * dtype_bytes(o->dtype) == COOP_MOVE;
    if (side->wide) side->pointer = lower_buffer(l, o->base, K_READ);
}

// The step at k of a row that exists. inside: 0 or where k is in this part.
static SkinnyLoad skinny_load(Skinny *s, SkinnySide *side, KVal row, KVal k, KVal inside) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    SkinnyLoad out = {{0}};
    KVal zero = s->is_float && !side->wide ? k_f32(b, 0) : k_i32(b, 0);
    for (unsigned p = 0; p < (side->wide ? 1 : s->pieces); p++) {
        Point point = point_make(side->wide ? &side->seen : &side->space, (uint8_t)s->width);
        point.index[0] = s->batch, point.index[1] = row;
        point.index[2] = k_iadd(b, k, k_i32(b, (int32_t)(4 * p)));
        KVal loaded;
        if (side->wide) {
            point.lanes = 1, point.index[2] = k_udiv(b, k, k_i32(b, (int32_t)s->vec));
            KVal move = lower_address(l, &side->operand.moves, &point, 0, DT_U8).index;
            loaded = k_load(b, side->pointer, k_imul(b, move, k_i32(b, 4)), DT_I32, 4, COOP_MOVE);
        } else {
            loaded = lower_value(l, side->operand.value, &point);
        }
        unsigned lanes = side->wide ? 4 : s->width;
        if (k_type(b, loaded).lanes != lanes) loaded = k_splat(b, loaded, lanes);
        if (inside) loaded = k_select(b, inside, loaded, k_splat(b, zero, lanes));
        out.piece[p] = loaded;
    }
    return out;
}

// Words to pieces of four elements.
static SkinnyLoad skinny_unpack(Skinny *s, const SkinnySide *side, SkinnyLoad load) {
    KBuilder *b = s->l->b;
    if (!side->wide) return load;
    DType dtype = side->operand.dtype;
    KVal words = load.piece[0], element[SKINNY_VEC_MAX];
    unsigned each = 4 / dtype_bytes(dtype);
    for (unsigned i = 0; i < each; i++) { // of every word
        KVal up = k_i32(b, (int32_t)(32 - 8 * dtype_bytes(dtype) * (i + 1))), own = 0;
        if (dtype == DT_BF16)
            own = k_as_f32(b, i ? k_and(b, words, k_i32(b, -65536)) : k_shl(b, words, up));
        if (dtype == DT_I8) own = k_sar(b, k_shl(b, words, up), k_i32(b, 24));
        if (dtype == DT_U8) own = k_shr(b, k_shl(b, words, up), k_i32(b, 24));
        for (unsigned w = 0; w < 4; w++)
            element[w * each + i] = own ? k_extract(b, own, w)
                                        : k_extract(b, k_unpack_f16(b, k_extract(b, words, w)), i);
    }
    for (unsigned p = 0; p < s->pieces; p++) load.piece[p] = k_vector(b, 4, element + 4 * p);
    return load;
}

static KVal skinny_multiply_add(Skinny *s, KVal x, KVal y, KVal sum) {
    KBuilder *b = s->l->b;
    if (!s->is_float) return k_iadd(b, k_imul(b, x, y), sum);
    if (s->l->plan->strict_rounding) return k_fadd(b, k_fmul(b, x, y), sum);
    return k_fma(b, x, y, sum);
}

static void skinny_products(Skinny *s, const SkinnyLoad *x, const SkinnyLoad *y, KVal *sum) {
    KBuilder *b = s->l->b;
    for (unsigned p = 0; p < s->pieces; p++)
        for (unsigned i = 0; i < (s->sum_lanes > 1 ? 1 : s->width); i++) {
            KVal left = x->piece[p], right = y->piece[p];
            if (s->sum_lanes == 1) left = k_extract(b, left, i), right = k_extract(b, right, i);
            *sum = skinny_multiply_add(s, left, right, *sum);
        }
}

// One trip: all loads of y, then step by step those of x and the products.
static void skinny_trip(Skinny *s, KVal k0, KVal *sum) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned stride = l->schedule->lanes * s->vec;
    SkinnyLoad y[SKINNY_LOADS_MAX];
    KVal at[SKINNY_UNROLL_MAX], inside[SKINNY_UNROLL_MAX] = {0};
    KVal last_m = lower_dim(l, dim_sub(l->dims, s->shape.m, dim_const(l->dims, 1)));
    KVal last_n = lower_dim(l, dim_sub(l->dims, s->shape.n, dim_const(l->dims, 1)));
    for (unsigned u = 0; u < s->unroll; u++) {
        at[u] = k_iadd(b, k0, k_i32(b, (int32_t)(u * stride)));
        if (!s->whole && u) { // the first step of a trip is inside
            Dim last = dim_sub(l->dims, s->shape.k, dim_const(l->dims, s->vec));
            inside[u] = k_slt(b, at[u], s->split.end);
            at[u] = k_smin(b, at[u], lower_dim(l, last));
        }
        for (unsigned j = 0; j < s->columns; j++) {
            KVal n = k_smin(b, k_iadd(b, s->first_n, k_i32(b, (int32_t)j)), last_n);
            y[u * s->columns + j] = skinny_load(s, &s->y, n, at[u], inside[u]);
        }
    }
    for (unsigned u = 0; u < s->unroll; u++) {
        SkinnyLoad *own = &y[u * s->columns];
        for (unsigned j = 0; j < s->columns; j++) own[j] = skinny_unpack(s, &s->y, own[j]);
        for (unsigned m = 0; m < s->rows; m++) {
            KVal row = k_smin(b, k_i32(b, (int32_t)m), last_m);
            SkinnyLoad x = skinny_load(s, &s->x, row, at[u], inside[u]);
            x = skinny_unpack(s, &s->x, x);
            for (unsigned j = 0; j < s->columns; j++)
                skinny_products(s, &x, &own[j], &sum[m * s->columns + j]);
        }
    }
}

static void skinny_sums(Skinny *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned count = s->rows * s->columns, stride = l->schedule->lanes * s->vec;
    KVal zero = s->is_float ? k_f32(b, 0) : k_i32(b, 0), now[SKINNY_SUMS_MAX];
    for (unsigned i = 0; i < count; i++) s->sum[i] = k_splat(b, zero, s->sum_lanes);
    KVal first = k_imul(b, s->lanes.lane, k_i32(b, (int32_t)s->vec));
    first = k_iadd(b, s->split.first, first);
    KVal k0 = k_loop_begin(b, first, s->split.end, k_i32(b, (int32_t)(stride * s->unroll)),
                           K_LOOP_PLAIN, count, s->sum, now);
    skinny_trip(s, k0, now);
    k_loop_end(b, now, s->sum);
    Fold fold = {.op = OP_SUM, .dtype = s->is_float ? DT_F32 : DT_I32, .words = 1};
    for (unsigned i = 0; i < count; i++) {
        fold_lanes(l, &fold, &s->sum[i]);
        fold_across(l, &s->lanes, &fold, &s->sum[i]);
    }
}

// Sums are stored by a lane each, in their order, so that the epilogue stands once; where maps read
// neighbouring columns together, these are one lane's.
static void skinny_store(Skinny *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    unsigned cells = s->shape.parts.len ? s->shape.cells : 1, count = s->rows * s->columns / cells;
    KVal lane = s->lanes.lane, across = k_i32(b, (int32_t)(s->columns / cells)), value[4];
    for (unsigned c = 0; c < cells; c++) value[c] = s->sum[c];
    for (unsigned i = 1; i < count; i++) {
        KVal own = k_ieq(b, lane, k_i32(b, (int32_t)i));
        for (unsigned c = 0; c < cells; c++)
            value[c] = k_select(b, own, s->sum[i * cells + c], value[c]);
    }
    KVal column = k_imul(b, k_urem(b, lane, across), k_i32(b, (int32_t)cells));
    KVal m = k_udiv(b, lane, across), n = k_iadd(b, s->first_n, column);
    KVal inside = k_slt(b, lane, k_i32(b, (int32_t)count));
    inside = k_and(b, inside, k_slt(b, m, lower_dim(l, s->shape.m)));
    inside = k_and(b, inside, k_slt(b, n, lower_dim(l, s->shape.n)));
    k_if_begin(b, inside);
    Point point = point_make(&s->sums, (uint8_t)cells);
    point.index[0] = s->batch, point.index[1] = m, point.index[2] = n;
    contract_put(l, &s->split, &point, k_vector(b, cells, value));
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
    skinny_side(s, &s->x, false), skinny_side(s, &s->y, true);
    s->sums = matrix(l, shape->result, shape->batch, shape->m, shape->n);
    skinny_sums(s);
    skinny_store(s);
    return contract_close(l, &s->split);
}
