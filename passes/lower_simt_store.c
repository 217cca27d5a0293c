// Sums of form "simt" on their way out: what follows the product, in registers, one vector or one
// pooling window at a time.
#include "passes/lower_reduce.h"
#include "passes/lower_simt.h"

uint8_t simt_column(Simt *c, KVal window, KVal cell, KVal *out, Address *at) {
    Lower *l = c->l;
    if (!c->shape.scattered) {
        KVal first = k_imul(l->b, window, k_i32(l->b, (int32_t)c->shape.cells));
        out[0] = k_iadd(l->b, first, cell);
        *at = (Address){0};
        return 1;
    }
    Dim size[2] = {c->shape.windows, dim_const(l->dims, c->shape.cells)};
    Space space = space_of(l, 2, size);
    Point point = point_make(&space, 1);
    point.index[0] = window, point.index[1] = cell;
    DType dtype = graph_value(l->graph, c->shape.pooled)->type.dtype;
    Address address = lower_address(l, &c->shape.cell, &point, 0, dtype);
    KVal index = address.index;
    if (address.valid) index = k_select(l->b, address.valid, index, k_i32(l->b, 0));
    lower_split(l, index, c->shape.n_axes, c->shape.n_size, out);
    *at = address;
    return c->shape.n_axes;
}

// Sums [i, j .. j + lanes) of the registers.
static KVal simt_sum(Simt *c, unsigned i, unsigned j, unsigned lanes) {
    KBuilder *b = c->l->b;
    unsigned first = i * c->s->reg_n + j, wide = c->sum_lanes;
    KVal each[4];
    if (lanes == wide) return c->acc[first / wide];
    for (unsigned n = 0; n < lanes; n++)
        each[n] = k_extract(b, c->acc[(first + n) / wide], (first + n) % wide);
    return k_vector(b, lanes, each);
}

static void simt_store_vector(Simt *c, unsigned i, unsigned j, unsigned lanes) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    KVal inside = 0;
    KVal m = k_iadd(b, c->first_m, simt_row(c, i));
    contract_limit(l, m, c->shape.m, c->s->tile_m, &inside);
    KVal n = k_iadd(b, c->first_n, simt_column_at(c, j));
    contract_limit(l, n, c->columns, c->s->tile_n, &inside);
    KVal sum = simt_sum(c, i, j, lanes);
    if (inside) k_if_begin(b, inside);
    Point point = point_make(&c->sums, (uint8_t)lanes);
    point.index[0] = c->batch, point.index[1] = m, point.index[2] = n;
    if (c->joined) {
        KVal own = lower_dim(l, c->shape.n);
        point.index[0] = k_udiv(b, n, own), point.index[2] = k_urem(b, n, own);
    }
    contract_put(l, &c->split, &point, sum);
    if (inside) k_if_end(b, 0, NULL, NULL);
}

// One window: its cells' values, folded, then what follows the reduction.
static void simt_store_window(Simt *c, unsigned i, unsigned j) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const Node *reduce = graph_node(l->graph, c->shape.pool);
    Fold fold = fold_of(l->graph, reduce);
    unsigned cells = c->shape.cells;
    KVal inside = 0, state[2];
    KVal m = k_iadd(b, c->first_m, simt_row(c, i));
    contract_limit(l, m, c->shape.m, c->s->tile_m, &inside);
    KVal column = k_iadd(b, c->first_n, simt_column_at(c, j));
    KVal window = k_udiv(b, column, k_i32(b, (int32_t)cells));
    contract_limit(l, window, c->shape.windows, c->s->tile_n / cells, &inside);
    if (inside) k_if_begin(b, inside);
    fold_start(l, &fold, 1, state);
    for (unsigned cell = 0; cell < cells; cell++) {
        Point point = point_make(&c->sums, 1);
        Address at;
        point.index[0] = c->batch, point.index[1] = m;
        simt_column(c, window, k_i32(b, (int32_t)cell), &point.index[2], &at);
        KVal sum = simt_sum(c, i, j + cell, 1);
        point_set(l, &point, c->shape.result, contract_result(l, &c->shape, sum));
        KVal value = lower_value(l, c->shape.pooled, &point);
        if (at.valid) value = k_select(b, at.valid, value, at.pad);
        fold_value(l, &fold, state, value, k_i32(b, (int32_t)cell));
    }
    KVal result = fold_result(l, &fold, state);
    DType dtype = graph_value(l->graph, reduce->result[0])->type.dtype;
    if (l->plan->strict_rounding) result = lower_round(b, result, dtype);
    Point point = point_make(&c->pooled, 1);
    point.index[0] = c->batch, point.index[1] = m, point.index[2] = window;
    point_set(l, &point, reduce->result[0], result);
    const ValueList *stores = &c->split.stores;
    for (uint32_t r = 0; r < stores->len; r++) lower_result(l, stores->at[r], &point);
    if (inside) k_if_end(b, 0, NULL, NULL);
}

static void simt_spaces(Simt *c) {
    Lower *l = c->l;
    const ContractShape *shape = &c->shape;
    c->sums = contract_sums_space(l, shape);
    if (!shape->pool) return;
    const Node *reduce = graph_node(l->graph, shape->pool);
    const Type *pooled = &graph_value(l->graph, reduce->result[0])->type;
    c->pooled = space_of(l, pooled->rank, pooled->size);
    c->pooled.rank = 3;
    c->pooled.size[0] = shape->batch, c->pooled.size[1] = shape->m;
    c->pooled.size[2] = shape->windows;
}

void simt_store(Simt *c) {
    Lower *l = c->l;
    simt_spaces(c);
    unsigned lanes = c->lanes_n;
    while (lanes > 1 && !dim_divides(l->dims, lanes, c->shape.n)) lanes /= 2;
    unsigned step = c->shape.pool ? c->shape.cells : lanes;
    for (unsigned i = 0; i < c->s->reg_m; i++)
        for (unsigned j = 0; j < c->s->reg_n; j += step) {
            if (c->shape.pool)
                simt_store_window(c, i, j);
            else
                simt_store_vector(c, i, j, lanes);
        }
}
