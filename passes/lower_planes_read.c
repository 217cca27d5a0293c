#include "passes/lower_planes.h"

static View planes_scale_view(Lower *l, const PlanesLayout *layout, const PlanesSide *side) {
    DimTable *dims = l->dims;
    Dim zero = dim_const(dims, 0), one = dim_const(dims, 1);
    Dim size[3] = {layout->contract.batch, side->columns ? one : side->rows,
                   side->columns ? side->rows : one};
    if (side->columns)
        size[1] = layout->x.rows;
    else
        size[2] = layout->y.rows;
    Dim stride[3] = {side->shared ? zero : side->rows, side->columns ? zero : one,
                     side->columns ? one : zero};
    return view_strided(dims, 3, size, stride, zero);
}

PlanesRead planes_read(Lower *l, const PlanesLayout *layout, bool planes) {
    const PlanesSide *x = &layout->x, *y = &layout->y;
    PlanesRead read = {.layout = layout};
    if (planes) {
        read.x_planes =
            lower_workspace_part(l, "x_planes", DT_F16, x->planes, x->plane_bytes, K_READ);
        read.y_planes =
            lower_workspace_part(l, "y_planes", DT_F16, y->planes, y->plane_bytes, K_READ);
    }
    read.x_scales = lower_workspace_part(l, "x_scales", DT_I32, x->scales, x->scale_bytes, K_READ);
    read.y_scales = lower_workspace_part(l, "y_scales", DT_I32, y->scales, y->scale_bytes, K_READ);
    read.x_scale = planes_scale_view(l, layout, x);
    read.y_scale = planes_scale_view(l, layout, y);
    return read;
}

// The larger of *most and the exponents of `count` rows or columns from `first` on, a few for each
// invocation.
static void planes_most(Lower *l, const PlanesRead *read, bool columns, KVal batch, KVal first,
                        unsigned count, KVal id, KVal *most) {
    KBuilder *b = l->b;
    unsigned local = l->schedule->local;
    const View *view = columns ? &read->y_scale : &read->x_scale;
    Space space = {.rank = 3};
    for (uint8_t a = 0; a < 3; a++) space.size[a] = view->size[a];
    for (unsigned from = 0; from < count; from += local) {
        KVal at = k_smin(b, k_iadd(b, id, k_i32(b, (int32_t)from)), k_i32(b, (int32_t)count - 1));
        Point point = point_make(&space, 1);
        point.index[0] = batch, point.index[1] = point.index[2] = k_i32(b, 0);
        point.index[columns ? 2 : 1] = k_iadd(b, first, at);
        KVal scale =
            lower_load_at(l, columns ? read->y_scales : read->x_scales, DT_I32, view, &point);
        *most = *most ? k_smax(b, *most, scale) : scale;
    }
}

KVal planes_tile_strict(Lower *l, const PlanesRead *read, const Schedule *s, KVal batch,
                        KVal first_m, KVal first_n, KVal id) {
    KBuilder *b = l->b;
    unsigned subgroups = s->local / s->subgroup;
    uint32_t region = k_shared(b, "scales", DT_I32, 1, subgroups);
    KVal most = 0, zero = k_i32(b, 0);
    planes_most(l, read, false, batch, first_m, s->tile_m, id, &most);
    planes_most(l, read, true, batch, first_n, s->tile_n, id, &most);
    most = k_subgroup_smax(b, most);
    k_if_begin(b, k_ieq(b, k_subgroup_lane(b), zero));
    k_shared_store(b, region, k_subgroup_id(b), most);
    k_if_end(b, 0, NULL, NULL);
    k_barrier(b);
    most = 0;
    for (unsigned i = 0; i < subgroups; i++) {
        KVal one = k_shared_load(b, region, k_i32(b, (int32_t)i), K_TYPE(KT_I32, 1));
        most = most ? k_smax(b, most, one) : one;
    }
    return k_sle(b, k_i32(b, PLANES_STRICT), most);
}

// Two factors, since one may be out of range: together 2^-252 .. 2^252, past which the result is 0
// or infinite anyway.
KVal planes_sum(Lower *l, const PlanesRead *read, const Point *point, KVal sum) {
    KBuilder *b = l->b;
    Point row = point_make(point->space, 1), columns = point_make(point->space, point->lanes);
    for (unsigned a = 0; a < 3; a++) row.index[a] = columns.index[a] = point->index[a];
    KVal x = lower_load_at(l, read->x_scales, DT_I32, &read->x_scale, &row);
    KVal y = lower_load_at(l, read->y_scales, DT_I32, &read->y_scale, &columns);
    KVal both = k_iadd(b, k_splat(b, x, point->lanes), y), bias = k_i32(b, 127);
    both = k_smax(b, k_i32(b, -252), k_smin(b, both, k_i32(b, 252)));
    KVal half = k_sar(b, both, k_i32(b, 1)), rest = k_isub(b, both, half);
    KVal first = k_as_f32(b, k_shl(b, k_iadd(b, half, bias), k_i32(b, 23)));
    KVal second = k_as_f32(b, k_shl(b, k_iadd(b, rest, bias), k_i32(b, 23)));
    return k_fmul(b, k_fmul(b, sum, first), second);
}

// On the bits: a conversion to f16 and back would be folded away.
void planes_split_value(KBuilder *b, KVal value, KVal *high, KVal *low) {
    *high = k_as_f32(b, k_and(b, k_as_i32(b, value), k_i32(b, -8192)));
    *low = k_fmul(b, k_fsub(b, value, *high), k_f32(b, 1 << PLANES_LOW));
}
