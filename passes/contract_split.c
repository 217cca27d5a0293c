#include "passes/contract_split.h"

#include <string.h>

#include "passes/coop_shape.h"

// K that one trip of the main loop takes: parts begin at whole trips.
static int64_t split_step(const Graph *g, const ContractShape *shape, const Schedule *s) {
    uint32_t unroll = s->unroll ? s->unroll : 1;
    if (s->form && strcmp(s->form, "skinny") == 0)
        return (int64_t)s->lanes * unroll *
               (s->vec && contract_k_fast(g, shape, shape->y) ? s->vec : 1);
    if (s->form && strcmp(s->form, "coop") == 0) return coop_stretch(s);
    return (int64_t)s->tile_k * (s->stages > 1 ? unroll : 1);
}

// A size under the conditions.
static Dim split_bounded(const Graph *g, Dim size, const Condition *condition,
                         uint32_t conditions) {
    Dim least = size;
    for (uint32_t i = 0; i < conditions; i++)
        if (condition[i].left == size && condition[i].relation == DIM_LE)
            least = dim_min(g->dims, least, condition[i].right);
    return least;
}

ContractSplit contract_split(const Graph *g, const ContractShape *shape, const Schedule *s,
                             const Condition *condition, uint32_t conditions) {
    DimTable *dims = g->dims;
    ContractSplit out = {.parts = s->split_k > 1 ? s->split_k : 1, .bytes = DIM_NONE};
    out.rows = split_bounded(g, shape->m, condition, conditions);
    out.columns = split_bounded(g, shape->n, condition, conditions);
    if (s->form && strcmp(s->form, "coop") == 0) {
        out.rows = dim_align_up(dims, out.rows, s->tile_m);
        out.columns = dim_align_up(dims, out.columns, s->tile_n);
    }
    int64_t step = split_step(g, shape, s);
    if (out.parts == 1 || step < 1) return out;
    Dim trips = dim_ceil_div(dims, shape->k, dim_const(dims, step * out.parts));
    out.chunk = dim_mul(dims, trips, dim_const(dims, step));
    Dim batch = split_bounded(g, shape->batch, condition, conditions);
    Dim cells = dim_mul(dims, dim_mul(dims, out.rows, out.columns), batch);
    out.bytes = dim_mul(dims, cells, dim_const(dims, 4 * (int64_t)out.parts));
    return out;
}
