// Sums of form "simt" on their way out: what follows the product, in registers, one vector or one
// pooling window at a time.
#include "passes/lower_simt.h"

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
    Point point = point_make(&c->split.sums, (uint8_t)lanes);
    point.index[0] = c->batch, point.index[1] = m, point.index[2] = n;
    if (c->joined) {
        KVal own = lower_dim(l, c->shape.n);
        point.index[0] = k_udiv(b, n, own), point.index[2] = k_urem(b, n, own);
    }
    contract_put(l, &c->split, &point, sum);
    if (inside) k_if_end(b, 0, NULL, NULL);
}

static void simt_store_window(Simt *c, unsigned i, unsigned j) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    unsigned cells = c->shape.cells;
    KVal inside = 0, sum[POOL_CELLS_MAX];
    KVal m = k_iadd(b, c->first_m, simt_row(c, i));
    contract_limit(l, m, c->shape.m, c->s->tile_m, &inside);
    KVal column = k_iadd(b, c->first_n, simt_column_at(c, j));
    KVal window = k_udiv(b, column, k_i32(b, (int32_t)cells));
    contract_limit(l, window, c->shape.windows, c->s->tile_n / cells, &inside);
    if (inside) k_if_begin(b, inside);
    for (unsigned cell = 0; cell < cells; cell++) sum[cell] = simt_sum(c, i, j + cell, 1);
    contract_put_window(l, &c->split, &c->pooled, (KVal[]){c->batch, m, window}, sum);
    if (inside) k_if_end(b, 0, NULL, NULL);
}

void simt_store(Simt *c) {
    Lower *l = c->l;
    if (c->shape.pool) c->pooled = contract_pooled_space(l, &c->shape);
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
