#include "passes/direct_shape.h"

static void direct_windows(const Graph *g, DirectShape *out) {
    const ContractShape *c = &out->contract;
    DimTable *dims = g->dims;
    uint8_t axes = c->n_axes;
    int64_t size;
    for (uint32_t cells = c->cells; cells > 1; cells /= (uint32_t)size)
        if (!dim_is_const(dims, c->n_size[--axes], &size)) break; // never: cells are constant
    while (axes > 0 && dim_is(dims, c->n_size[axes - 1], 1)) axes--;
    out->along = axes ? c->n_size[axes - 1] : dim_const(dims, 1);
    out->outer = dim_const(dims, 1);
    for (uint8_t a = 0; a + 1 < axes; a++) out->outer = dim_mul(dims, out->outer, c->n_size[a]);
}

bool direct_shape(Graph *g, NodeId fused, uint32_t inner, DirectShape *out) {
    ContractShape *c = &out->contract;
    *out = (DirectShape){.inner = inner};
    if (!contract_shape(g, fused, c) || c->scattered || c->parts.len) return false;
    if (!inner || inner > DIRECT_INNER_MAX ||
        !dim_exact_div(g->dims, c->k, dim_const(g->dims, inner), &out->k_outer))
        return false;
    direct_windows(g, out);
    Dim places = dim_mul(g->dims, c->batch, dim_mul(g->dims, c->m, c->n));
    return dim_bounds(g->dims, places).hi < INT32_MAX / 2;
}

void direct_columns(const Graph *g, const DirectShape *shape, Dim *size) {
    size[0] = shape->contract.batch, size[1] = shape->outer, size[2] = shape->along;
    size[3] = dim_const(g->dims, shape->contract.cells);
    size[4] = shape->k_outer, size[5] = dim_const(g->dims, shape->inner);
}

WindowKey direct_key(DimTable *dims, const View *view, uint32_t window, uint32_t cell, uint32_t k) {
    return window_key(dims, view, DIRECT_LINEAR, (int64_t[]){0, 0, window, cell, 0, k});
}
