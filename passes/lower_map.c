// Family "map": every element of one shape by itself. Workgroup w takes the elements
// [w * local * vec * items, ...); in each of `items` rounds its invocations take consecutive
// vectors of `vec` elements.
#include <string.h>

#include "passes/lower.h"
#include "passes/lower_shape.h"

// Beyond this many elements an index would not fit 32 bits: leading axes are then counted apart.
enum { MAP_INDEX_LIMIT = INT32_MAX - (1 << 20) };

typedef struct MapGrid {
    Space space; // [elements], or [outer, inner]
    Dim inner, groups;
    bool split;
} MapGrid;

static MapGrid map_grid(Lower *l, const Type *shape, uint32_t per_group) {
    DimTable *dims = l->dims;
    MapGrid grid = {.space = space_linear(l, shape->rank, shape->size)};
    grid.inner = grid.space.size[0];
    grid.split = dim_bounds(dims, grid.inner).hi > MAP_INDEX_LIMIT;
    Dim outer = dim_const(dims, 1);
    if (grid.split) {
        uint8_t axis = shape->rank;
        grid.inner = dim_const(dims, 1);
        while (axis > 0) {
            Dim more = dim_mul(dims, grid.inner, shape->size[axis - 1]);
            if (dim_bounds(dims, more).hi > MAP_INDEX_LIMIT) break;
            grid.inner = more, axis--;
        }
        for (uint8_t a = 0; a < axis; a++) outer = dim_mul(dims, outer, shape->size[a]);
        grid.space.rank = 2;
        grid.space.size[0] = outer, grid.space.size[1] = grid.inner;
    }
    Dim each = dim_ceil_div(dims, grid.inner, dim_const(dims, per_group));
    grid.groups = dim_mul(dims, outer, each);
    return grid;
}

static void map_element(Lower *l, const MapGrid *grid, const ValueList *stores, KVal outer,
                        KVal index, uint8_t vec) {
    Point point = point_make(&grid->space, vec);
    point.index[0] = grid->split ? outer : index;
    if (grid->split) point.index[1] = index;
    for (uint32_t i = 0; i < stores->len; i++) lower_result(l, stores->at[i], &point);
}

bool lower_map(Lower *l) {
    const Schedule *s = l->schedule;
    if (s->form && strcmp(s->form, "tile") == 0) return lower_map_tile(l);
    if (s->form) {
        lower_fail(l, "there is no form %s of a map", s->form);
        return false;
    }
    ValueList stores = fused_stores(l->arena, l->graph, graph_node(l->graph, l->node));
    Type shape = fused_map_shape(l->graph, graph_node(l->graph, l->node));
    uint32_t vec = s->vec ? s->vec : 1, items = s->items ? s->items : 1;
    uint32_t per_group = s->local * vec * items;
    MapGrid grid = map_grid(l, &shape, per_group);
    if (vec > 1 && !dim_divides(l->dims, vec, grid.inner)) {
        lower_fail(l, "vec=%u does not divide the number of elements", vec);
        return false;
    }
    KBuilder *b = l->b;
    KVal group = lower_workgroup(l, grid.groups), outer = 0;
    if (grid.split) {
        Dim each = dim_ceil_div(l->dims, grid.inner, dim_const(l->dims, per_group));
        outer = k_udiv(b, group, lower_dim(l, each));
        group = k_urem(b, group, lower_dim(l, each));
    }
    KVal first = k_imul(b, group, k_i32(b, (int32_t)per_group));
    KVal lane = k_imul(b, k_local_id(b), k_i32(b, (int32_t)vec));
    for (uint32_t i = 0; i < items; i++) {
        KVal index = k_iadd(b, first, k_iadd(b, lane, k_i32(b, (int32_t)(i * s->local * vec))));
        KVal inside = k_slt(b, index, lower_dim(l, grid.inner));
        if (grid.split)
            inside = k_and(b, inside, k_slt(b, outer, lower_dim(l, grid.space.size[0])));
        k_if_begin(b, inside);
        map_element(l, &grid, &stores, outer, index, (uint8_t)vec);
        k_if_end(b, 0, NULL, NULL);
    }
    return lower_finish(l, grid.groups, type_elements(l->dims, &shape));
}
