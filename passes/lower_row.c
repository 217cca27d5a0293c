// Family "row": `lanes` invocations share a row, `rows` rows a workgroup. Values are either full
// (one an element) or one a row. What a row needs is done in phases: phase p folds everything that
// waits for the results of phase p - 1, and stores full results that wait for them.
//
// With keep=1 a row's elements stay in registers between phases (its length is constant and at most
// lanes * vec * items); with keep=2 what later phases read besides is loaded before the first. Else
// each phase reads them again in a loop.
#include <string.h>

#include "passes/lower_reduce.h"
#include "passes/lower_shape.h"

typedef struct RowFold {
    Fold fold;
    ValueId operand, result;
    uint32_t phase;
    KVal state[2];
} RowFold;

typedef struct Row {
    Lower *l;
    RowShape shape;
    Space full, each; // [rows, length] and [rows]
    VEC(RowFold) folds;
    ValueList stores;
    FoldLanes lanes;
    KVal row, row_inside; // row_inside: 0 when every row exists
    Point row_point;
    Point *kept; // keep=1: one an item
    uint32_t items, vec;
    KVal *item_inside; // 0: always
} Row;

static void row_begin_spaces(Row *r) {
    Lower *l = r->l;
    const RowShape *shape = &r->shape;
    r->full = space_of(l, shape->rank, shape->size);
    r->each = space_of(l, shape->kept, shape->size);
    r->full.rank = 2, r->each.rank = 1;
    r->full.size[0] = r->each.size[0] = shape->rows;
    r->full.size[1] = shape->length;
    uint8_t kept = 0, reduced = shape->kept;
    for (uint8_t a = 0; a < shape->rank; a++) {
        bool folded = shape->reduced >> a & 1;
        if (!folded) r->each.shape[kept] = shape->size[a];
        r->full.axes[folded ? reduced++ : kept++] = a;
    }
    for (uint8_t a = 0; a < shape->rank; a++)
        r->full.permuted = r->full.permuted || r->full.axes[a] != a;
    if (dim_is(l->dims, shape->length, 1)) r->full.permuted = false;
}

static void row_collect(Row *r) {
    Lower *l = r->l;
    const Node *fused = graph_node(l->graph, l->node);
    const Region *body = &l->graph->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(l->graph, body->nodes.at[i]);
        if (node->kind != NODE_OP || op_info(node->op)->class != OC_REDUCE) continue;
        RowFold fold = {.fold = fold_of(l->graph, node),
                        .operand = node->operand[0],
                        .result = node->result[0],
                        .phase = row_level(&r->shape, node->result[0]) - 1};
        vec_push(l->arena, &r->folds, fold);
    }
    r->stores = fused_stores(l->arena, l->graph, fused);
}

static void row_place(Row *r) {
    Lower *l = r->l;
    KBuilder *b = l->b;
    const Schedule *s = l->schedule;
    uint32_t rows = s->rows ? s->rows : 1;
    Dim groups = dim_ceil_div(l->dims, r->shape.rows, dim_const(l->dims, rows));
    r->lanes = (FoldLanes){.count = s->lanes, .local = s->local, .subgroup = s->subgroup};
    KVal group = lower_workgroup(l, groups);
    KVal invocation = k_local_id(b);
    if (s->subgroup)
        invocation = k_iadd(b, k_imul(b, k_subgroup_id(b), k_i32(b, (int32_t)s->subgroup)),
                            k_subgroup_lane(b));
    KVal count = k_i32(b, (int32_t)s->lanes);
    r->lanes.invocation = invocation;
    r->lanes.lane = rows == 1 ? invocation : k_urem(b, invocation, count);
    r->lanes.row = rows == 1 ? k_i32(b, 0) : k_udiv(b, invocation, count);
    r->row = k_iadd(b, k_imul(b, group, k_i32(b, (int32_t)rows)), r->lanes.row);
    if (!dim_divides(l->dims, rows, r->shape.rows)) {
        r->row_inside = k_slt(b, r->row, lower_dim(l, r->shape.rows));
        Dim last = dim_sub(l->dims, r->shape.rows, dim_const(l->dims, 1));
        r->row = k_smin(b, r->row, lower_dim(l, last));
    }
    Fold *folds = arena_alloc(l->arena, (r->folds.len + 1) * sizeof *folds);
    for (uint32_t i = 0; i < r->folds.len; i++) folds[i] = r->folds.at[i].fold;
    fold_lanes_begin(l, &r->lanes, folds, r->folds.len);
    r->row_point = point_make(&r->each, 1);
    r->row_point.index[0] = r->row;
}

// Indices of the point's lanes along the row.
static KVal row_indices(Row *r, KVal first) {
    KBuilder *b = r->l->b;
    KVal lane[4];
    for (uint32_t i = 0; i < r->vec; i++) lane[i] = k_iadd(b, first, k_i32(b, (int32_t)i));
    return k_vector(b, r->vec, lane);
}

static bool row_store_is_full(const Row *r, ValueId value) {
    return row_is_full(&r->shape, lower_stored(r->l, value));
}

static bool row_store_now(const Row *r, ValueId value, uint32_t phase) {
    return row_store_is_full(r, value) && row_level(&r->shape, lower_stored(r->l, value)) == phase;
}

// One vector of elements in one phase: folds, then full results. inside: 0 or a condition.
static void row_element(Row *r, uint32_t phase, Point *point, KVal inside, RowFold *folds,
                        uint32_t count) {
    Lower *l = r->l;
    KBuilder *b = l->b;
    for (uint32_t i = 0; i < count; i++) {
        RowFold *fold = &folds[i];
        if (fold->phase != phase) continue;
        KVal value = lower_value(l, fold->operand, point);
        if (k_type(b, value).lanes != r->vec) value = k_splat(b, value, r->vec);
        KVal before[2] = {fold->state[0], fold->state[1]};
        KVal index = fold->fold.words == 2 ? row_indices(r, point->index[1]) : 0;
        fold_value(l, &fold->fold, fold->state, value, index);
        for (unsigned w = 0; inside && w < fold->fold.words; w++)
            fold->state[w] = k_select(b, inside, fold->state[w], before[w]);
    }
    KVal store = inside && r->row_inside ? k_and(b, inside, r->row_inside)
                 : inside                ? inside
                                         : r->row_inside;
    bool opened = false;
    for (uint32_t i = 0; i < r->stores.len; i++) // before the IF: later phases may want them
        if (row_store_now(r, r->stores.at[i], phase))
            lower_value(l, lower_stored(l, r->stores.at[i]), point);
    for (uint32_t i = 0; i < r->stores.len; i++) {
        if (!row_store_now(r, r->stores.at[i], phase)) continue;
        if (store && !opened) k_if_begin(b, store);
        opened = true;
        lower_result(l, r->stores.at[i], point);
    }
    if (store && opened) k_if_end(b, 0, NULL, NULL);
}

// All that later phases read from memory, so that it is under way before the first reduction.
static void row_load_early(Row *r) {
    Lower *l = r->l;
    const Region *body = &l->graph->regions.at[graph_node(l->graph, l->node)->body];
    for (uint32_t j = 0; j < r->items; j++)
        for (uint32_t i = 0; i < body->nodes.len; i++) {
            const Node *node = graph_node(l->graph, body->nodes.at[i]);
            if (node->inline_view || op_info(node->op)->class != OC_MAP) continue;
            if (!row_is_full(&r->shape, node->result[0])) continue;
            for (uint32_t o = 0; o < node->operands; o++) {
                ValueId value = node->operand[o];
                if (!value || lower_is_inner(l, plan_memory_base(l->graph, value))) continue;
                lower_value(l, value, &r->kept[j]);
            }
        }
}

static void row_phase_kept(Row *r, uint32_t phase) {
    if (phase == 0 && r->l->schedule->keep == 2) row_load_early(r);
    for (uint32_t j = 0; j < r->items; j++)
        row_element(r, phase, &r->kept[j], r->item_inside[j], r->folds.at, r->folds.len);
}

static void row_phase_loop(Row *r, uint32_t phase) {
    Lower *l = r->l;
    KBuilder *b = l->b;
    KVal init[16], now[16], next[16], out[16];
    uint32_t words = 0;
    for (uint32_t i = 0; i < r->folds.len; i++)
        for (unsigned w = 0; r->folds.at[i].phase == phase && w < r->folds.at[i].fold.words; w++)
            init[words++] = r->folds.at[i].state[w];
    uint32_t step = r->lanes.count * r->vec;
    KVal first = k_imul(b, r->lanes.lane, k_i32(b, (int32_t)r->vec));
    KVal k = k_loop_begin(b, first, lower_dim(l, r->shape.length), k_i32(b, (int32_t)step),
                          K_LOOP_PLAIN, words, init, now);
    words = 0;
    for (uint32_t i = 0; i < r->folds.len; i++)
        for (unsigned w = 0; r->folds.at[i].phase == phase && w < r->folds.at[i].fold.words; w++)
            r->folds.at[i].state[w] = now[words++];
    Point point = point_make(&r->full, (uint8_t)r->vec);
    point.index[0] = r->row, point.index[1] = k;
    row_element(r, phase, &point, 0, r->folds.at, r->folds.len);
    words = 0;
    for (uint32_t i = 0; i < r->folds.len; i++)
        for (unsigned w = 0; r->folds.at[i].phase == phase && w < r->folds.at[i].fold.words; w++)
            next[words++] = r->folds.at[i].state[w];
    k_loop_end(b, next, out);
    words = 0;
    for (uint32_t i = 0; i < r->folds.len; i++)
        for (unsigned w = 0; r->folds.at[i].phase == phase && w < r->folds.at[i].fold.words; w++)
            r->folds.at[i].state[w] = out[words++];
}

// Values of a row that are known once `level` phases are done.
static void row_bind(Row *r, uint32_t level) {
    Lower *l = r->l;
    const Region *body = &l->graph->regions.at[graph_node(l->graph, l->node)->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(l->graph, body->nodes.at[i]);
        if (node->kind != NODE_OP || node->inline_view || op_info(node->op)->class != OC_MAP)
            continue;
        ValueId value = node->result[0];
        if (row_is_full(&r->shape, value) || row_level(&r->shape, value) != level) continue;
        lower_bind(l, value, lower_value(l, value, &r->row_point));
    }
}

static void row_phase(Row *r, uint32_t phase) {
    Lower *l = r->l;
    bool folds = false, stores = false;
    for (uint32_t i = 0; i < r->folds.len; i++) {
        RowFold *fold = &r->folds.at[i];
        if (fold->phase != phase) continue;
        fold_start(l, &fold->fold, r->vec, fold->state);
        folds = true;
    }
    for (uint32_t i = 0; i < r->stores.len; i++)
        stores = stores || row_store_now(r, r->stores.at[i], phase);
    if (!folds && !stores) return;
    if (l->schedule->keep)
        row_phase_kept(r, phase);
    else
        row_phase_loop(r, phase);
    for (uint32_t i = 0; i < r->folds.len; i++) {
        RowFold *fold = &r->folds.at[i];
        if (fold->phase != phase) continue;
        fold_lanes(l, &fold->fold, fold->state);
        fold_across(l, &r->lanes, &fold->fold, fold->state);
        KVal result = fold_result(l, &fold->fold, fold->state);
        DType dtype = graph_value(l->graph, fold->result)->type.dtype;
        if (l->plan->strict_rounding) result = lower_round(l->b, result, dtype);
        lower_bind(l, fold->result, result);
    }
    row_bind(r, phase + 1);
}

static void row_store_each(Row *r) {
    Lower *l = r->l;
    KBuilder *b = l->b;
    bool any = false;
    for (uint32_t i = 0; i < r->stores.len; i++)
        any = any || !row_store_is_full(r, r->stores.at[i]);
    if (!any) return;
    KVal store = k_ieq(b, r->lanes.lane, k_i32(b, 0));
    if (r->row_inside) store = k_and(b, store, r->row_inside);
    k_if_begin(b, store);
    for (uint32_t i = 0; i < r->stores.len; i++)
        if (!row_store_is_full(r, r->stores.at[i])) lower_result(l, r->stores.at[i], &r->row_point);
    k_if_end(b, 0, NULL, NULL);
}

// Points of the elements that stay in registers; past the row's end they repeat its last vector.
static bool row_keep(Row *r) {
    Lower *l = r->l;
    KBuilder *b = l->b;
    int64_t length;
    uint32_t step = r->lanes.count * r->vec;
    r->items = l->schedule->items;
    if (!dim_is_const(l->dims, r->shape.length, &length) || length < 1 ||
        length > (int64_t)step * r->items) {
        lower_fail(l, "keep=1 needs a constant length of at most lanes * vec * items");
        return false;
    }
    r->kept = arena_alloc(l->arena, r->items * sizeof *r->kept);
    r->item_inside = arena_alloc(l->arena, r->items * sizeof *r->item_inside);
    KVal first = k_imul(b, r->lanes.lane, k_i32(b, (int32_t)r->vec));
    for (uint32_t j = 0; j < r->items; j++) {
        KVal at = k_iadd(b, first, k_i32(b, (int32_t)(j * step)));
        if ((int64_t)(j + 1) * step > length) {
            r->item_inside[j] = k_slt(b, at, k_i32(b, (int32_t)length));
            at = k_smin(b, at, k_i32(b, (int32_t)(length - r->vec)));
        }
        r->kept[j] = point_make(&r->full, (uint8_t)r->vec);
        r->kept[j].index[0] = r->row, r->kept[j].index[1] = at;
    }
    return true;
}

bool lower_row(Lower *l) {
    const Schedule *s = l->schedule;
    if (s->form && strcmp(s->form, "window") == 0) return lower_window(l);
    if (s->form) {
        lower_fail(l, "there is no form %s of a row", s->form);
        return false;
    }
    Row r = {.l = l, .vec = s->vec ? s->vec : 1};
    uint32_t rows = s->rows ? s->rows : 1;
    if (!row_shape(l->arena, l->graph, l->node, &r.shape)) {
        lower_fail(l, "its reductions do not share one row");
        return false;
    }
    if (!s->lanes || (s->lanes & (s->lanes - 1)) || s->lanes * rows != s->local) {
        lower_fail(l, "lanes must be a power of two, and local be lanes * rows");
        return false;
    }
    if (r.vec > 1 && !dim_divides(l->dims, r.vec, r.shape.length)) {
        lower_fail(l, "vec=%u does not divide the row", r.vec);
        return false;
    }
    row_begin_spaces(&r);
    row_collect(&r);
    if (r.folds.len > 8) {
        lower_fail(l, "more than 8 reductions");
        return false;
    }
    row_place(&r);
    if (s->keep && !row_keep(&r)) return false;
    row_bind(&r, 0);
    for (uint32_t phase = 0; phase <= r.shape.levels; phase++) row_phase(&r, phase);
    row_store_each(&r);
    Dim groups = dim_ceil_div(l->dims, r.shape.rows, dim_const(l->dims, rows));
    Dim elements = dim_mul(l->dims, r.shape.rows, r.shape.length);
    return lower_finish(l, groups, dim_mul(l->dims, elements, dim_const(l->dims, r.folds.len + 1)));
}
