// What a form of family "contract" does with its sums: the rest of the fused node, or, where K is
// split, workspace, which a kernel of its own then adds up. See contract_split.h.
#include "passes/lower_contract.h"

static DType split_dtype(const Split *split) {
    return split->is_float ? DT_F32 : DT_I32;
}

static Split split_make(Lower *l, const ContractShape *shape, const Schedule *schedule) {
    const Alternative *a = l->alternative;
    Split split = {.shape = shape, .sums = contract_sums_space(l, shape)};
    split.is_float = dtype_is_float(graph_value(l->graph, shape->x)->type.dtype);
    split.layout =
        contract_split(l->graph, shape, schedule, a ? a->condition : NULL, a ? a->conditions : 0);
    split.stores = fused_stores(l->arena, l->graph, graph_node(l->graph, l->node));
    if (shape->parts.len) {
        const Type *type = &graph_value(l->graph, shape->parts.at[0].value)->type;
        split.windows = space_of(l, type->rank, type->size);
        split.windows.rank = 3;
        split.windows.size[0] = shape->batch, split.windows.size[1] = shape->m;
        split.windows.size[2] = shape->windows;
    }
    Dim size[4] = {dim_const(l->dims, split.layout.parts), shape->batch, split.layout.rows,
                   split.layout.columns};
    split.space = space_of(l, 4, size);
    split.view = view_identity(l->dims, 4, size);
    return split;
}

bool contract_open(Lower *l, const ContractShape *shape, Dim groups, Split *split, KVal *group) {
    KBuilder *b = l->b;
    *split = split_make(l, shape, l->schedule);
    uint32_t parts = split->layout.parts;
    if (parts > 1 && (shape->pool || parts > SPLIT_PARTS_MAX)) {
        lower_fail(l, "split_k is at most %d, and for products without pooling", SPLIT_PARTS_MAX);
        return false;
    }
    split->groups = dim_mul(l->dims, groups, dim_const(l->dims, parts));
    *group = lower_workgroup(l, split->groups);
    split->first = k_i32(b, 0), split->end = lower_dim(l, shape->k);
    if (parts == 1) return true;
    KVal each = lower_dim(l, groups), chunk = lower_dim(l, split->layout.chunk);
    split->part = k_udiv(b, *group, each);
    *group = k_urem(b, *group, each);
    split->first = k_imul(b, split->part, chunk);
    split->end = k_smin(b, k_iadd(b, split->first, chunk), split->end);
    split->pointer = lower_workspace(l, split_dtype(split), split->layout.bytes, K_WRITE);
    return !l->failed;
}

// Neighbouring columns are parts of an element of what is stored.
static void split_put_columns(Lower *l, Split *split, const Point *point, KVal sum) {
    const ContractShape *shape = split->shape;
    KBuilder *b = l->b;
    unsigned cells = shape->cells, lanes = point->lanes / cells;
    if (point->lanes % cells) {
        lower_fail(l, "an invocation must hold %u neighbouring columns", cells);
        return;
    }
    Point at = point_make(&split->windows, (uint8_t)lanes);
    at.index[0] = point->index[0], at.index[1] = point->index[1];
    at.index[2] = k_udiv(b, point->index[2], k_i32(b, (int32_t)cells));
    KVal result = contract_result(l, shape, sum);
    for (uint32_t p = 0; p < shape->parts.len; p++) {
        const ContractPart *part = &shape->parts.at[p];
        KVal lane[4];
        for (unsigned i = 0; i < lanes; i++) lane[i] = k_extract(b, result, i * cells + part->cell);
        point_set(l, &at, part->value, k_vector(b, lanes, lane));
    }
    for (uint32_t r = 0; r < split->stores.len; r++) lower_result(l, split->stores.at[r], &at);
}

static void split_put_part(Lower *l, Split *split, const Point *point, KVal sum) {
    Point at = point_make(&split->space, point->lanes);
    at.index[0] = split->part;
    for (unsigned i = 0; i < 3; i++) at.index[1 + i] = point->index[i];
    lower_store_at(l, split->pointer, split_dtype(split), &split->view, &at, sum);
}

void contract_put(Lower *l, Split *split, Point *point, KVal sum) {
    const ContractShape *shape = split->shape;
    if (split->layout.parts == 1 && shape->parts.len) {
        split_put_columns(l, split, point, sum);
    } else if (split->layout.parts == 1) {
        point_set(l, point, shape->result, contract_result(l, shape, sum));
        for (uint32_t r = 0; r < split->stores.len; r++)
            lower_result(l, split->stores.at[r], point);
    } else {
        split_put_part(l, split, point, sum);
    }
}
// One invocation adds `lanes` neighbouring elements' parts.
static void split_join(Lower *l, Split *split, KVal element, unsigned lanes) {
    KBuilder *b = l->b;
    Dim size[3] = {split->sums.size[0], split->sums.size[1], split->sums.size[2]};
    Point point = point_make(&split->sums, (uint8_t)lanes);
    lower_split(l, element, 3, size, point.index);
    KVal part[SPLIT_PARTS_MAX] = {0};
    for (uint32_t p = 0; p < split->layout.parts; p++) { // all on the way before the first is used
        Point at = point_make(&split->space, (uint8_t)lanes);
        at.index[0] = k_i32(b, (int32_t)p);
        for (unsigned i = 0; i < 3; i++) at.index[1 + i] = point.index[i];
        part[p] = lower_load_at(l, split->pointer, split_dtype(split), &split->view, &at);
    }
    KVal sum = part[0];
    for (uint32_t p = 1; p < split->layout.parts; p++)
        sum = split->is_float ? k_fadd(b, sum, part[p]) : k_iadd(b, sum, part[p]);
    split->layout.parts = 1; // what follows stores results
    contract_put(l, split, &point, sum);
}

static bool split_second(const Lower *first, const ContractShape *shape) {
    const Schedule schedule = {.local = 64};
    Lower *l = arena_alloc(first->arena, sizeof *l);
    *l = lower_begin_next(first, "sum", &schedule);
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    Split split = split_make(l, shape, first->schedule);
    unsigned lanes = 4;
    while (lanes > 1 && !dim_divides(dims, lanes, shape->n)) lanes /= 2;
    Dim cells = dim_mul(dims, dim_mul(dims, shape->m, shape->n), shape->batch);
    Dim each = dim_const(dims, (int64_t)lanes * schedule.local);
    Dim groups = dim_ceil_div(dims, cells, each);
    KVal group = lower_workgroup(l, groups), wide = k_i32(b, (int32_t)schedule.local);
    KVal number = k_iadd(b, k_imul(b, group, wide), k_local_id(b));
    KVal element = k_imul(b, number, k_i32(b, (int32_t)lanes)), inside = 0;
    split.pointer = lower_workspace(l, split_dtype(&split), split.layout.bytes, K_READ);
    contract_limit(l, element, cells, lanes * schedule.local, &inside);
    if (inside) k_if_begin(b, inside);
    Dim parts = dim_const(dims, split.layout.parts);
    split_join(l, &split, element, lanes);
    if (inside) k_if_end(b, 0, NULL, NULL);
    return lower_finish(l, groups, dim_mul(dims, cells, parts));
}

bool contract_close(Lower *l, const Split *split) {
    DimTable *dims = l->dims;
    const ContractShape *shape = split->shape;
    Dim columns = dim_mul(dims, shape->windows, dim_const(dims, shape->cells));
    Dim cells = dim_mul(dims, dim_mul(dims, shape->m, columns), shape->batch);
    Dim flops = dim_mul(dims, dim_mul(dims, cells, shape->k), dim_const(dims, 2));
    if (!lower_finish(l, split->groups, flops)) return false;
    return split->layout.parts == 1 || split_second(l, shape);
}
