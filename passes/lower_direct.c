// Family "contract", form "direct": see direct_shape.h. Rows and windows past the end are not made;
// what several columns of an invocation read is loaded once.
#include "passes/direct_shape.h"
#include "passes/lower_contract.h"
#include "passes/lower_reduce.h"

typedef struct DirectLoad {
    WindowKey key;
    KVal value;
} DirectLoad;

typedef struct Direct {
    Lower *l;
    DirectShape shape;
    const Schedule *s;
    Split split;
    Space rows, staged, columns, pooled; // of x, of x with K in one, of y, of the pooled result
    unsigned reg_m, windows, cells, inner;
    bool is_float;
    uint32_t region;                           // stages=1: rows, [K, reg_m]
    unsigned vec;                              // of one read of them
    FoldLanes across;                          // the invocations that share K
    KVal batch, first_m, outer, along, inside; // inside: 0 where all places exist
    // y, where an address is a sum of what is the same for all of an invocation and a constant
    bool in_parts;
    const View *view;
    ValueId base;
    KVal pointer;
    AddressPart here;
    VEC(DirectLoad) loads; // of this place on outer K
    KVal sum[DIRECT_SUMS_MAX];
} Direct;

static KVal direct_number(const Direct *d, unsigned value) {
    return k_i32(d->l->b, (int32_t)value);
}

static bool direct_check(Direct *d) {
    Lower *l = d->l;
    const Schedule *s = d->s;
    if (!direct_shape(l->graph, l->node, s->tile_k, &d->shape)) {
        lower_fail(l,
                   "form=direct unrolls tile_k, at most %d, of a product whose windows lie side "
                   "by side",
                   DIRECT_INNER_MAX);
        return false;
    }
    d->reg_m = s->reg_m, d->cells = d->shape.contract.cells, d->inner = s->tile_k;
    d->windows = s->reg_n / d->cells;
    if (!d->reg_m || d->reg_m > DIRECT_ROWS_MAX || !d->windows || s->reg_n % d->cells ||
        d->windows > DIRECT_WINDOWS_MAX || d->reg_m * s->reg_n > DIRECT_SUMS_MAX || !s->local) {
        lower_fail(l, "form=direct holds whole windows of %u, at most %d rows and %d sums",
                   d->cells, DIRECT_ROWS_MAX, DIRECT_SUMS_MAX);
        return false;
    }
    if (!dim_divides(l->dims, d->windows, d->shape.along)) {
        lower_fail(l, "reg_n must hold a part of the last axis of windows");
        return false;
    }
    if (s->lanes > 1 &&
        ((s->lanes & (s->lanes - 1)) || s->stages || !s->subgroup || s->lanes > s->subgroup ||
         s->local % s->subgroup || !dim_is_const(l->dims, d->shape.k_outer, NULL))) {
        lower_fail(l, "K is shared by a power of two of lanes of a subgroup, without stages");
        return false;
    }
    int64_t k;
    if (s->stages && (!dim_is_const(l->dims, d->shape.contract.k, &k) ||
                      !contract_shared(l->graph, &d->shape.contract, d->shape.contract.x) ||
                      k * d->reg_m * 4 > l->plan->target.shared_bytes)) {
        lower_fail(l, "with stages=1 all of a workgroup must read the same rows, and workgroup "
                      "memory hold them");
        return false;
    }
    return true;
}

static void direct_spaces(Direct *d) {
    Lower *l = d->l;
    const ContractShape *c = &d->shape.contract;
    const Type *x = &graph_value(l->graph, c->x)->type, *y = &graph_value(l->graph, c->y)->type;
    d->rows = space_of(l, x->rank, x->size);
    d->rows.rank = 4;
    d->rows.size[0] = c->batch, d->rows.size[1] = c->m;
    d->rows.size[2] = d->shape.k_outer, d->rows.size[3] = dim_const(l->dims, d->inner);
    d->staged = contract_operand_space(l, c, c->x, false, true);
    d->columns = space_of(l, y->rank, y->size);
    d->columns.rank = 6;
    direct_columns(l->graph, &d->shape, d->columns.size);
    if (c->pool) d->pooled = contract_pooled_space(l, c);
}

// ---- places ------------------------------------------------------------------------------------

// The rows of the workgroup, for all of K, as [K, reg_m].
static void direct_stage(Direct *d) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    const ContractShape *c = &d->shape.contract;
    int64_t k = 0;
    (void)dim_is_const(l->dims, c->k, &k);
    d->vec = d->reg_m % 4 == 0 ? 4 : d->reg_m % 2 == 0 ? 2 : 1;
    unsigned words = (unsigned)k * d->reg_m;
    d->region = k_shared(b, "rows", d->is_float ? DT_F32 : DT_I32, d->vec, words / d->vec);
    KVal e = k_loop_begin(b, k_local_id(b), direct_number(d, words), direct_number(d, d->s->local),
                          K_LOOP_PLAIN, 0, NULL, NULL);
    KVal deep = direct_number(d, (unsigned)k), row = k_udiv(b, e, deep), at = k_urem(b, e, deep);
    Point point = point_make(&d->staged, 1);
    KVal last = lower_dim(l, dim_sub(l->dims, c->m, dim_const(l->dims, 1)));
    point.index[0] = direct_number(d, 0), point.index[2] = at;
    point.index[1] = k_smin(b, k_iadd(b, d->first_m, row), last);
    KVal place = k_iadd(b, k_imul(b, at, direct_number(d, d->reg_m)), row);
    k_shared_store(b, d->region, place, lower_value(l, c->x, &point));
    k_loop_end(b, NULL, NULL);
    k_barrier(b);
}

// The number of this invocation's place, and its lane among those that share K.
static KVal direct_lanes(Direct *d, KVal group) {
    KBuilder *b = d->l->b;
    FoldLanes *across = &d->across;
    across->count = d->s->lanes > 1 ? d->s->lanes : 1;
    across->local = d->s->local, across->subgroup = d->s->subgroup;
    across->invocation = k_local_id(b);
    if (across->count > 1)
        across->invocation = k_iadd(
            b, k_imul(b, k_subgroup_id(b), direct_number(d, d->s->subgroup)), k_subgroup_lane(b));
    KVal count = direct_number(d, across->count);
    across->lane = k_urem(b, across->invocation, count);
    across->row = k_udiv(b, across->invocation, count);
    KVal first = k_imul(b, group, direct_number(d, d->s->local / across->count));
    return k_iadd(b, first, across->row);
}

static void direct_split(Direct *d, KVal id, const Dim *size) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    KVal index[4];
    lower_split(l, id, 4, size, index);
    d->batch = index[0], d->outer = index[2];
    if (!d->s->stages) d->first_m = k_imul(b, index[1], direct_number(d, d->reg_m));
    d->along = k_imul(b, index[3], direct_number(d, d->windows));
}

// Neighbouring places have neighbouring windows of the same rows. Opens an IF around those that
// exist, unless all do or lanes meet later: these repeat the last place. False and failed where
// there are too many.
static bool direct_place(Direct *d, bool *opened) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    const ContractShape *c = &d->shape.contract;
    bool staged = d->s->stages > 0, shared = d->s->lanes > 1;
    unsigned places = d->s->local / (shared ? d->s->lanes : 1);
    Dim blocks = dim_ceil_div(dims, c->m, dim_const(dims, d->reg_m)), one = dim_const(dims, 1);
    Dim strips = d->shape.along;
    if (!dim_exact_div(dims, strips, dim_const(dims, d->windows), &strips)) return false;
    Dim size[4] = {c->batch, staged ? one : blocks, d->shape.outer, strips}, all = one;
    for (unsigned i = 0; i < 4; i++) all = dim_mul(dims, all, size[i]);
    Dim groups = dim_ceil_div(dims, all, dim_const(dims, places));
    if (staged) groups = dim_mul(dims, groups, blocks);
    KVal group;
    if (!contract_open(l, c, groups, &d->split, &group)) return false;
    if (staged) {
        KVal count = lower_dim(l, blocks);
        d->first_m = k_imul(b, k_urem(b, group, count), direct_number(d, d->reg_m));
        group = k_udiv(b, group, count);
        direct_stage(d);
    }
    KVal id = direct_lanes(d, group);
    bool whole = dim_divides(dims, places, all);
    if (!whole) d->inside = k_slt(b, id, lower_dim(l, all));
    if (!whole && shared) id = k_smin(b, id, lower_dim(l, dim_sub(dims, all, one)));
    *opened = !whole && !shared;
    if (*opened) k_if_begin(b, d->inside);
    direct_split(d, id, size);
    return true;
}

// ---- operands ----------------------------------------------------------------------------------

static void direct_columns_begin(Direct *d) {
    Lower *l = d->l;
    const LowerView *seen = lower_view(l, d->shape.contract.y, &d->columns);
    const Type *type = &graph_value(l->graph, seen->base)->type;
    int64_t bytes = dim_bounds(l->dims, type_elements(l->dims, type)).hi;
    d->view = seen->view, d->base = seen->base;
    d->in_parts = !seen->view->inner && !lower_is_inner(l, seen->base) &&
                  contract_in_memory(l->graph, &d->shape.contract, seen->base) &&
                  ktype_of_memory(type->dtype, 1).kind != KT_NONE &&
                  bytes < INT32_MAX / dtype_bytes(type->dtype) / 2;
    if (d->in_parts) d->pointer = lower_buffer(l, seen->base, K_READ);
}

static Point direct_column(Direct *d, KVal k_outer, KVal window, unsigned cell, unsigned k) {
    Point point = point_make(&d->columns, 1);
    point.index[0] = d->batch, point.index[1] = d->outer, point.index[2] = window;
    point.index[3] = direct_number(d, cell), point.index[4] = k_outer;
    point.index[5] = direct_number(d, k);
    return point;
}

static void direct_place_k(Direct *d, KVal k_outer) {
    d->loads.len = 0;
    if (!d->in_parts) return;
    Point point = direct_column(d, k_outer, d->along, 0, 0);
    d->here = lower_address_part(d->l, d->view, &point, true);
}

// The element a constant away from the place: one pointer for all where no guard asks.
static KVal direct_load(Direct *d, unsigned window, unsigned cell, unsigned k) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    KVal zero = k_i32(b, 0);
    DType dtype = graph_value(l->graph, d->base)->type.dtype;
    unsigned bytes = dtype_bytes(dtype);
    Point point = point_make(&d->columns, 1);
    point.index[0] = point.index[1] = point.index[4] = zero;
    point.index[2] = direct_number(d, window), point.index[3] = direct_number(d, cell);
    point.index[5] = direct_number(d, k);
    AddressPart more = lower_address_part(l, d->view, &point, false);
    Address at = lower_address_join(l, d->view, &d->here, &more);
    at.pointer = d->pointer;
    // Pointers that differ from lane to lane spare additions on a device, and end Mesa 26.1's
    // llvmpipe where subgroups have 16 lanes (its stack is overwritten when it builds the
    // pipeline).
    bool apart = l->plan->target.compute_units && !at.valid;
    if (apart && k_fact(b, d->here.index).lo >= 0 && k_fact(b, more.index).lo >= 0) {
        at.pointer = k_ptr_add(b, d->pointer, d->here.index, k_i64(b, bytes));
        at.index = more.index;
    }
    if (at.valid) at.index = k_select(b, at.valid, at.index, zero);
    KVal value = k_load(b, at.pointer, at.index, dtype, 1, lower_align(l, &at, bytes, 1));
    return at.valid ? k_select(b, at.valid, value, lower_constant(l, dtype, d->view->pad)) : value;
}

static KVal direct_read(Direct *d, KVal k_outer, unsigned window, unsigned cell, unsigned k) {
    Lower *l = d->l;
    DirectLoad load = {.key = direct_key(l->dims, d->view, window, cell, k)};
    for (uint32_t i = 0; load.key.known && i < d->loads.len; i++)
        if (window_key_equal(&d->loads.at[i].key, &load.key)) return d->loads.at[i].value;
    if (load.key.known && d->in_parts) {
        load.value = direct_load(d, window, cell, k);
    } else {
        KVal at = k_iadd(l->b, d->along, direct_number(d, window));
        Point point = direct_column(d, k_outer, at, cell, k);
        load.value = lower_value(l, d->shape.contract.y, &point);
    }
    if (load.key.known) vec_push(l->arena, &d->loads, load);
    return load.value;
}

// How many neighbours along inner K of a row are read at once.
static unsigned direct_row_lanes(const Direct *d) {
    return d->inner % 4 == 0 ? 4 : d->inner % 2 == 0 ? 2 : 1;
}

static void direct_rows_staged(Direct *d, KVal k_outer, unsigned k, KVal *out) {
    KBuilder *b = d->l->b;
    KType type = K_TYPE(d->is_float ? KT_F32 : KT_I32, (uint8_t)d->vec);
    KVal first = k_imul(b, k_outer, direct_number(d, d->inner * d->reg_m));
    for (unsigned i = 0; i < d->reg_m; i += d->vec) {
        KVal at = k_iadd(b, first, direct_number(d, k * d->reg_m + i));
        KVal read = k_shared_load(b, d->region, at, type);
        for (unsigned n = 0; n < d->vec; n++) out[i + n] = k_extract(b, read, n);
    }
}

// Rows for element k of inner K. `read` keeps what was read for its neighbours before.
static void direct_rows(Direct *d, KVal k_outer, unsigned k, KVal *read, KVal *out) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    const ContractShape *c = &d->shape.contract;
    if (d->s->stages) {
        direct_rows_staged(d, k_outer, k, out);
        return;
    }
    unsigned lanes = direct_row_lanes(d);
    KVal last = lower_dim(l, dim_sub(l->dims, c->m, dim_const(l->dims, 1)));
    for (unsigned i = 0; i < d->reg_m; i++) {
        KVal row = k_iadd(b, d->first_m, direct_number(d, i));
        if (!dim_divides(l->dims, d->reg_m, c->m)) row = k_smin(b, row, last);
        if (k % lanes == 0) {
            Point point = point_make(&d->rows, (uint8_t)lanes);
            point.index[0] = d->batch, point.index[1] = row, point.index[2] = k_outer;
            point.index[3] = direct_number(d, k);
            read[i] = lower_value(l, c->x, &point);
        }
        out[i] = k_extract(b, read[i], k % lanes);
    }
}

// ---- sums --------------------------------------------------------------------------------------

static void direct_multiply(Direct *d, KVal k_outer, KVal *sum) {
    Lower *l = d->l;
    KVal row[DIRECT_ROWS_MAX], read[DIRECT_ROWS_MAX] = {0};
    unsigned columns = d->windows * d->cells;
    direct_place_k(d, k_outer);
    for (unsigned k = 0; k < d->inner; k++) {
        direct_rows(d, k_outer, k, read, row);
        for (unsigned j = 0; j < columns; j++) {
            KVal column = direct_read(d, k_outer, j / d->cells, j % d->cells, k);
            for (unsigned i = 0; i < d->reg_m; i++) {
                KVal *own = &sum[i * columns + j];
                *own = contract_multiply_add(l, d->is_float, row[i], column, *own);
            }
        }
    }
}

static void direct_sums(Direct *d) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    KVal zero = d->is_float ? k_f32(b, 0) : k_i32(b, 0), now[DIRECT_SUMS_MAX];
    unsigned count = d->reg_m * d->windows * d->cells;
    for (unsigned i = 0; i < count; i++) d->sum[i] = zero;
    if (dim_is(l->dims, d->shape.k_outer, 1)) {
        direct_multiply(d, k_i32(b, 0), d->sum);
        return;
    }
    bool shared = d->across.count > 1;
    KVal k_outer =
        k_loop_begin(b, shared ? d->across.lane : k_i32(b, 0), lower_dim(l, d->shape.k_outer),
                     direct_number(d, d->across.count), K_LOOP_PLAIN, count, d->sum, now);
    direct_multiply(d, k_outer, now);
    k_loop_end(b, now, d->sum);
    Fold fold = {.op = OP_SUM, .dtype = d->is_float ? DT_F32 : DT_I32, .words = 1};
    for (unsigned i = 0; shared && i < count; i++) fold_across(l, &d->across, &fold, &d->sum[i]);
}

// ---- results -----------------------------------------------------------------------------------

static void direct_put_row(Direct *d, KVal m, const KVal *sum) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    unsigned lanes = d->windows % 4 == 0 ? 4 : d->windows % 2 == 0 ? 2 : 1;
    KVal first = k_iadd(b, k_imul(b, d->outer, lower_dim(l, d->shape.along)), d->along);
    for (unsigned w = 0; w < d->windows; w += d->shape.contract.pool ? 1 : lanes) {
        KVal n = k_iadd(b, first, direct_number(d, w));
        if (d->shape.contract.pool) {
            contract_put_window(l, &d->split, &d->pooled, (KVal[]){d->batch, m, n},
                                &sum[w * d->cells]);
            continue;
        }
        Point point = point_make(&d->split.sums, (uint8_t)lanes);
        point.index[0] = d->batch, point.index[1] = m, point.index[2] = n;
        contract_put(l, &d->split, &point, k_vector(b, lanes, &sum[w]));
    }
}

// Whether lanes that share K take a cell of a window each: what follows the sums stands once.
static bool direct_cells_apart(const Direct *d) {
    const ContractShape *c = &d->shape.contract;
    return c->pool && d->cells > 1 && !(d->cells & (d->cells - 1)) && d->cells <= d->across.count &&
           dim_divides(d->l->dims, d->reg_m, c->m);
}

// What windows fold to, one for each row and window, in all lanes.
static void direct_fold_cells(Direct *d) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    const ContractShape *c = &d->shape.contract;
    Fold fold = fold_of(l->graph, graph_node(l->graph, c->pool));
    FoldLanes cells = d->across;
    cells.count = d->cells;
    KVal cell = k_urem(b, d->across.lane, direct_number(d, d->cells));
    KVal first = k_iadd(b, k_imul(b, d->outer, lower_dim(l, d->shape.along)), d->along);
    for (unsigned i = 0; i < d->reg_m * d->windows; i++) {
        KVal state[2], sum = d->sum[i * d->cells];
        for (unsigned k = 1; k < d->cells; k++) {
            KVal own = k_ieq(b, cell, direct_number(d, k));
            sum = k_select(b, own, d->sum[i * d->cells + k], sum);
        }
        KVal m = k_iadd(b, d->first_m, direct_number(d, i / d->windows));
        KVal n = k_iadd(b, first, direct_number(d, i % d->windows));
        KVal value = contract_window_value(l, &d->split, (KVal[]){d->batch, m, n}, cell, sum);
        fold_start(l, &fold, 1, state);
        fold_value(l, &fold, state, value, cell);
        fold_across(l, &cells, &fold, state);
        d->sum[i] = fold_result(l, &fold, state);
    }
}

static void direct_put_cells(Direct *d) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    KVal first = k_iadd(b, k_imul(b, d->outer, lower_dim(l, d->shape.along)), d->along);
    for (unsigned i = 0; i < d->reg_m * d->windows; i++) {
        KVal m = k_iadd(b, d->first_m, direct_number(d, i / d->windows));
        KVal n = k_iadd(b, first, direct_number(d, i % d->windows));
        contract_put_pooled(l, &d->split, &d->pooled, (KVal[]){d->batch, m, n}, d->sum[i]);
    }
}

static void direct_put(Direct *d) {
    Lower *l = d->l;
    KBuilder *b = l->b;
    for (unsigned i = 0; i < d->reg_m; i++) {
        KVal inside = 0, m = k_iadd(b, d->first_m, direct_number(d, i));
        contract_limit(l, m, d->shape.contract.m, d->reg_m, &inside);
        if (inside) k_if_begin(b, inside);
        direct_put_row(d, m, &d->sum[i * d->windows * d->cells]);
        if (inside) k_if_end(b, 0, NULL, NULL);
    }
}

bool lower_direct(Lower *l) {
    Direct *d = arena_alloc(l->arena, sizeof *d);
    bool opened = false;
    d->l = l, d->s = l->schedule;
    if (!direct_check(d)) return false;
    d->is_float = dtype_is_float(graph_value(l->graph, d->shape.contract.x)->type.dtype);
    direct_spaces(d);
    if (!direct_place(d, &opened)) return false;
    direct_columns_begin(d);
    direct_sums(d);
    bool apart = direct_cells_apart(d);
    if (apart) direct_fold_cells(d);
    if (d->across.count > 1) {
        KVal first = k_ieq(l->b, d->across.lane, k_i32(l->b, 0));
        k_if_begin(l->b, d->inside ? k_and(l->b, first, d->inside) : first);
        opened = true;
    }
    if (apart)
        direct_put_cells(d);
    else
        direct_put(d);
    if (opened) k_if_end(l->b, 0, NULL, NULL);
    return contract_close(l, &d->split);
}
