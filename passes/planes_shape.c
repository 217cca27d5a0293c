#include "passes/planes_shape.h"

#include <assert.h>
#include <string.h>

// Rows are multiples of 8, so that every part begins at a multiple of 32 bytes.
static Dim planes_place(Graph *g, Dim *bytes, Dim count, unsigned size, Dim *out) {
    Dim place = *bytes;
    *out = dim_mul(g->dims, count, dim_const(g->dims, size));
    *bytes = dim_add(g->dims, place, *out);
    return place;
}

static bool planes_side(Graph *g, PlanesLayout *layout, const Schedule *s, bool columns,
                        PlanesSide *side) {
    const ContractShape *shape = &layout->contract;
    *side = (PlanesSide){.value = columns ? shape->y : shape->x, .columns = columns};
    side->k_fast = contract_k_fast(g, shape, side->value);
    side->shared = contract_shared(g, shape, side->value);
    side->extent = columns ? shape->n : shape->m;
    side->rows = dim_align_up(g->dims, side->extent, columns ? s->tile_n : s->tile_m);
    Dim batch = side->shared ? dim_const(g->dims, 1) : shape->batch;
    Dim rows = dim_mul(g->dims, batch, side->rows), cells = dim_mul(g->dims, rows, layout->depth);
    if (cells == DIM_NONE) return false;
    if (!layout->late) side->planes = planes_place(g, &layout->bytes, cells, 2, &side->plane_bytes);
    side->scales = planes_place(g, &layout->bytes, rows, 4, &side->scale_bytes);
    // Moves of eight elements are counted in words, in 31 bits.
    return layout->late || dim_bounds(g->dims, cells).hi / 8 < INT32_MAX / 4;
}

static bool planes_late(const Schedule *s) {
    return s->form && strcmp(s->form, "halves") == 0;
}

bool planes_form(const Schedule *s) {
    return planes_late(s) || (s->form && strcmp(s->form, "planes") == 0);
}

bool planes_layout(Graph *g, NodeId fused, const Schedule *s, PlanesLayout *out) {
    *out = (PlanesLayout){.bytes = dim_const(g->dims, 0), .late = planes_late(s)};
    ContractShape *shape = &out->contract;
    if (!s->tile_m || s->tile_m % 8 || !s->tile_n || s->tile_n % 8 || !s->tile_k || s->tile_k % 8 ||
        s->split_k > 1 || !contract_shape(g, fused, shape) || shape->pool)
        return false;
    if (graph_value(g, shape->x)->type.dtype != DT_F32 ||
        graph_value(g, shape->y)->type.dtype != DT_F32 || dim_bounds(g->dims, shape->k).lo < 1)
        return false;
    Dim depth = dim_align_up(g->dims, shape->k, s->tile_k);
    out->depth = dim_mul(g->dims, depth, dim_const(g->dims, 2));
    return planes_side(g, out, s, false, &out->x) && planes_side(g, out, s, true, &out->y);
}

static CoopOperand planes_operand(Graph *g, const PlanesLayout *layout, const PlanesSide *side) {
    DimTable *dims = g->dims;
    bool k_fast = side->k_fast;
    Dim eight = dim_const(dims, 8), one = dim_const(dims, 1), zero = dim_const(dims, 0);
    Dim slow = k_fast ? side->rows : layout->depth, fast = k_fast ? layout->depth : side->rows;
    Dim matrix = dim_mul(dims, slow, fast), moves, line;
    CoopOperand o = {.dtype = DT_F16,
                     .columns = side->columns,
                     .k_fast = k_fast,
                     .in_memory = true,
                     .vector = true,
                     .linear = true,
                     .rows = side->rows};
    o.k_bytes = dim_mul(dims, k_fast ? one : side->rows, dim_const(dims, 2));
    Dim size[3] = {layout->contract.batch, slow, fast};
    o.view = view_strided(dims, 3, size, (Dim[]){side->shared ? zero : matrix, fast, one}, zero);
    bool whole =
        dim_exact_div(dims, matrix, eight, &moves) && dim_exact_div(dims, fast, eight, &line);
    assert(whole); // as tiles are
    (void)whole;
    size[2] = line;
    o.moves = view_strided(dims, 3, size, (Dim[]){side->shared ? zero : moves, line, one}, zero);
    return o;
}

bool planes_coop_shape(Graph *g, NodeId fused, const PlanesLayout *layout, CoopShape *out) {
    if (layout->late) return coop_shape_planes(g, fused, out);
    *out = (CoopShape){.contract = layout->contract, .ab = DT_F16, .acc = DT_F32};
    out->contract.k = layout->depth;
    out->x = planes_operand(g, layout, &layout->x);
    out->y = planes_operand(g, layout, &layout->y);
    return true;
}

Schedule planes_fragments(const Schedule *s) {
    Schedule out = *s;
    out.form = "coop";
    if (!planes_late(s)) out.tile_k *= 2;
    if (!out.stages) out.stages = 1;
    out.reg_m = out.reg_n = out.vec = out.split_k = 0;
    return out;
}

Schedule planes_strict(const Schedule *s) {
    return (Schedule){.form = "simt",
                      .local = s->local,
                      .subgroup = s->subgroup,
                      .tile_m = s->tile_m,
                      .tile_n = s->tile_n,
                      .tile_k = 8,
                      .reg_m = s->reg_m,
                      .reg_n = s->reg_n,
                      .vec = 4,
                      .stages = 2,
                      .unroll = 2};
}
