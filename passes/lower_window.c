// Family "row", form "window": see window_shape.h. Everything is unrolled; an invocation's windows
// lie inside the shape together or not at all.
#include "passes/lower_reduce.h"
#include "passes/window_shape.h"

typedef struct WindowLoad {
    ValueId value;
    WindowKey key;
    KVal loaded;
} WindowLoad;

typedef struct WindowFold {
    Fold fold;
    ValueId operand, result;
    KVal state[WINDOW_ITEMS_MAX][2];
} WindowFold;

typedef struct Window {
    Lower *l;
    WindowShape shape;
    Space full, each; // [outer, along, length, last], [outer, along, last]
    VEC(WindowFold) folds;
    VEC(ValueId) operands; // full ones that memory holds
    VEC(WindowLoad) loads;
    uint8_t vec, items;
    KVal outer, along, last;
} Window;

static void window_spaces(Window *w) {
    Lower *l = w->l;
    const RowShape *row = &w->shape.row;
    w->full = space_of(l, row->rank, row->size);
    w->full.rank = 4;
    Dim size[4] = {w->shape.outer, w->shape.along, row->length, w->shape.last}, kept[RANK_MAX];
    uint8_t count = 0;
    for (uint8_t a = 0; a < 4; a++) w->full.size[a] = size[a];
    for (uint8_t a = 0; a < row->rank; a++) {
        w->full.axes[a] = w->shape.axes[a];
        w->full.permuted = w->full.permuted || w->shape.axes[a] != a;
        if (!(row->reduced >> a & 1)) kept[count++] = row->size[a];
    }
    w->each = space_of(l, count, kept);
    w->each.rank = 3;
    w->each.size[0] = size[0], w->each.size[1] = size[1], w->each.size[2] = size[3];
}

static bool window_collect(Window *w) {
    Lower *l = w->l;
    const Region *body = &l->graph->regions.at[graph_node(l->graph, l->node)->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(l->graph, body->nodes.at[i]);
        if (node->inline_view) continue;
        bool reduce = op_info(node->op)->class == OC_REDUCE;
        if (reduce) {
            WindowFold fold = {.fold = fold_of(l->graph, node),
                               .operand = node->operand[0],
                               .result = node->result[0]};
            vec_push(l->arena, &w->folds, fold);
        }
        if (!reduce && !row_is_full(&w->shape.row, node->result[0])) continue;
        for (uint32_t o = 0; o < node->operands; o++)
            if (node->operand[o] &&
                !lower_is_inner(l, plan_memory_base(l->graph, node->operand[o])))
                vec_push(l->arena, &w->operands, node->operand[o]);
    }
    return w->folds.len > 0;
}

static bool window_check(Window *w) {
    Lower *l = w->l;
    const Schedule *s = l->schedule;
    w->vec = (uint8_t)(s->vec ? s->vec : 1), w->items = (uint8_t)(s->items ? s->items : 1);
    if (w->vec > WINDOW_VEC_MAX || (w->vec & (w->vec - 1)) || w->items > WINDOW_ITEMS_MAX ||
        !s->local) {
        lower_fail(l, "form=window needs vec of 1, 2 or 4 and at most %d items", WINDOW_ITEMS_MAX);
        return false;
    }
    if (!dim_divides(l->dims, w->vec, w->shape.last) ||
        !dim_divides(l->dims, w->items, w->shape.along)) {
        lower_fail(l, "vec must divide the last kept axis and items the one before it");
        return false;
    }
    return true;
}

// Gives the point what has been loaded for it already, and keeps what has not.
static void window_load(Window *w, Point *point, unsigned item, unsigned k) {
    Lower *l = w->l;
    for (uint32_t i = 0; i < w->operands.len; i++) {
        ValueId value = w->operands.at[i];
        WindowLoad load = {.value = value};
        const View *view = lower_view(l, value, &w->full)->view;
        load.key = window_key(l->dims, view, WINDOW_LINEAR, (int64_t[]){0, item, k, 0});
        for (uint32_t j = 0; load.key.known && j < w->loads.len && !load.loaded; j++)
            if (w->loads.at[j].value == value && window_key_equal(&w->loads.at[j].key, &load.key))
                load.loaded = w->loads.at[j].loaded;
        if (load.loaded) {
            point_set(l, point, value, load.loaded);
        } else if (load.key.known) {
            load.loaded = lower_value(l, value, point);
            vec_push(l->arena, &w->loads, load);
        }
    }
}

static void window_fold(Window *w, unsigned item, unsigned k) {
    Lower *l = w->l;
    KBuilder *b = l->b;
    Point point = point_make(&w->full, w->vec);
    point.index[0] = w->outer, point.index[2] = k_i32(b, (int32_t)k), point.index[3] = w->last;
    point.index[1] = k_iadd(b, w->along, k_i32(b, (int32_t)item));
    window_load(w, &point, item, k);
    for (uint32_t i = 0; i < w->folds.len; i++) {
        WindowFold *fold = &w->folds.at[i];
        KVal value = lower_value(l, fold->operand, &point);
        if (k_type(b, value).lanes != w->vec) value = k_splat(b, value, w->vec);
        fold_value(l, &fold->fold, fold->state[item], value, 0);
    }
}

static void window_store(Window *w, unsigned item, const ValueList *stores) {
    Lower *l = w->l;
    KBuilder *b = l->b;
    Point point = point_make(&w->each, w->vec);
    point.index[0] = w->outer, point.index[2] = w->last;
    point.index[1] = k_iadd(b, w->along, k_i32(b, (int32_t)item));
    for (uint32_t i = 0; i < w->folds.len; i++) {
        WindowFold *fold = &w->folds.at[i];
        KVal result = fold_result(l, &fold->fold, fold->state[item]);
        DType dtype = graph_value(l->graph, fold->result)->type.dtype;
        if (l->plan->strict_rounding) result = lower_round(b, result, dtype);
        point_set(l, &point, fold->result, result);
    }
    for (uint32_t i = 0; i < stores->len; i++) lower_result(l, stores->at[i], &point);
}

static Dim window_place(Window *w) {
    Lower *l = w->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    Dim vectors, blocks;
    if (!dim_exact_div(dims, w->shape.last, dim_const(dims, w->vec), &vectors) ||
        !dim_exact_div(dims, w->shape.along, dim_const(dims, w->items), &blocks)) {
        lower_fail(l, "vec and items must divide their axes");
        return dim_const(dims, 1);
    }
    Dim total = dim_mul(dims, w->shape.outer, dim_mul(dims, vectors, blocks));
    Dim groups = dim_ceil_div(dims, total, dim_const(dims, l->schedule->local));
    KVal first = k_imul(b, lower_workgroup(l, groups), k_i32(b, (int32_t)l->schedule->local));
    KVal id = k_iadd(b, first, k_local_id(b)), index[3];
    k_if_begin(b, k_slt(b, id, lower_dim(l, total)));
    lower_split(l, id, 3, (Dim[]){w->shape.outer, blocks, vectors}, index);
    w->outer = index[0];
    w->along = k_imul(b, index[1], k_i32(b, w->items));
    w->last = k_imul(b, index[2], k_i32(b, w->vec));
    return groups;
}

bool lower_window(Lower *l) {
    Window *w = arena_alloc(l->arena, sizeof *w);
    w->l = l;
    if (!window_shape(l->arena, l->graph, l->node, &w->shape)) {
        lower_fail(l, "form=window folds once, over at most %d elements", WINDOW_LENGTH_MAX);
        return false;
    }
    if (!window_check(w) || !window_collect(w)) return false;
    window_spaces(w);
    Dim groups = window_place(w);
    for (uint32_t i = 0; i < w->folds.len; i++)
        for (unsigned item = 0; item < w->items; item++)
            fold_start(l, &w->folds.at[i].fold, w->vec, w->folds.at[i].state[item]);
    for (unsigned k = 0; k < (unsigned)w->shape.length; k++)
        for (unsigned item = 0; item < w->items; item++) window_fold(w, item, k);
    ValueList stores = fused_stores(l->arena, l->graph, graph_node(l->graph, l->node));
    for (unsigned item = 0; item < w->items; item++) window_store(w, item, &stores);
    k_if_end(l->b, 0, NULL, NULL);
    Dim elements = dim_mul(l->dims, w->shape.row.rows, w->shape.row.length);
    return lower_finish(l, groups,
                        dim_mul(l->dims, elements, dim_const(l->dims, w->folds.len + 1)));
}
