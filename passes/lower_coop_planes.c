// Operands of form "halves": f32 in memory, planes of f16 (planes_shape.h) in workgroup memory. The
// rows' exponents are known before.
#include "passes/lower_coop.h"

// The exponents as a matrix: batch, and rows up to whole tiles.
static View planes_rows_view(Lower *l, const PlanesLayout *layout, const PlanesSide *side) {
    DimTable *dims = l->dims;
    Dim size[2] = {layout->contract.batch, side->rows};
    Dim stride[2] = {side->shared ? dim_const(dims, 0) : side->rows, dim_const(dims, 1)};
    return view_strided(dims, 2, size, stride, dim_const(dims, 0));
}

static KVal planes_factor(Lower *l, KVal pointer, const View *view, Point *point) {
    KBuilder *b = l->b;
    KVal exponent = lower_load_at(l, pointer, DT_I32, view, point);
    return k_as_f32(b, k_shl(b, k_isub(b, k_i32(b, 127), exponent), k_i32(b, 23)));
}

void coop_planes_scale(Coop *c, CoopSide *side, unsigned slot) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const PlanesLayout *layout = c->planes->layout;
    bool columns = side->operand->columns, k_fast = side->operand->k_fast;
    bool same = !k_fast && c->s->local % side->tile.line == 0; // columns of all slots
    if (slot && same) {
        side->scale[slot][0] = side->scale[0][0], side->scale[slot][1] = side->scale[0][1];
        return;
    }
    View view = planes_rows_view(l, layout, columns ? &layout->y : &layout->x);
    Space space = space_of(l, 2, view.size);
    Point point = point_make(&space, k_fast ? 1 : 4);
    KVal scales = columns ? c->planes->y_scales : c->planes->x_scales, row = side->row[0][slot];
    point.index[0] = c->batch;
    for (unsigned half = 0; half < 2; half++) {
        point.index[1] = k_iadd(b, row, k_i32(b, k_fast ? 0 : 4 * (int32_t)half));
        side->scale[slot][half] = half && k_fast
                                      ? side->scale[slot][0]
                                      : k_splat(b, planes_factor(l, scales, &view, &point), 4);
    }
}

static KVal planes_pack(KBuilder *b, const KVal *value) { // two of four lanes: eight f16
    KVal word[4];
    for (unsigned w = 0; w < 4; w++) {
        KVal from = value[w / 2];
        unsigned lane = w % 2 * 2;
        KVal pair[2] = {k_extract(b, from, lane), k_extract(b, from, lane + 1)};
        word[w] = k_pack_f16(b, k_vector(b, 2, pair));
    }
    return k_vector(b, 4, word);
}

void coop_planes_of_move(Coop *c, const CoopSide *side, unsigned slot, const KVal *move,
                         KVal *plane) {
    KBuilder *b = c->l->b;
    KVal high[2], low[2];
    for (unsigned half = 0; half < 2; half++) {
        KVal value = k_fmul(b, k_as_f32(b, move[half]), side->scale[slot][half]);
        planes_split_value(b, value, &high[half], &low[half]);
    }
    plane[0] = planes_pack(b, high), plane[1] = planes_pack(b, low);
}
