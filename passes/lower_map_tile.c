// Family "map", form "tile": operands that are neighbours in memory along another axis than the
// results go through workgroup memory, so that reads and writes both take whole lines. A workgroup
// makes tile_m elements of the side by tile_n of the run (passes/map_shape.h).
//
// First each turned operand is read along the side; element (run n, side m) of the tile goes to
// word n * pitch + m. Then the map is evaluated along the run, `vec` elements at a time, with these
// operands known. The pitch is odd, so that words of a column lie in different banks.
#include "passes/lower.h"
#include "passes/map_shape.h"

enum { TILE_WORDS_MAX = 8192, TILE_ITEMS_MAX = 64 }; // 32 KiB, which every target has

typedef struct TileMap {
    Lower *l;
    MapTile tile;
    ValueList stores;
    Space home, turned; // [outer, side, run] and [outer, run, side]
    uint32_t vec, items, pitch;
    KVal outer, first_m, first_n;
    uint32_t region[8]; // one a turned operand
} TileMap;

static KVal tile_number(const TileMap *t, uint32_t value) {
    return k_i32(t->l->b, (int32_t)value);
}

static uint32_t tile_lanes(DType dtype) {
    return dtype_is_float(dtype) ? KT_F32 : KT_I32;
}

// One vector of the tile, of `width` elements a line: where it lies. Past the end of the operand
// the last vector stands in; *inside is 0 where there is no such end.
typedef struct TileSlot {
    KVal line, along;       // in the tile
    KVal at_line, at_along; // in the group
    KVal inside;
} TileSlot;

static KVal tile_clamp(const TileMap *t, KVal first, KVal within, Dim size, uint32_t tile,
                       uint32_t unit, KVal *inside) {
    Lower *l = t->l;
    KBuilder *b = l->b;
    KVal at = k_iadd(b, first, within);
    if (dim_divides(l->dims, tile, size)) return at;
    KVal in = k_slt(b, at, lower_dim(l, size));
    *inside = *inside ? k_and(b, *inside, in) : in;
    return k_smin(b, at, lower_dim(l, dim_sub(l->dims, size, dim_const(l->dims, unit))));
}

static TileSlot tile_slot(const TileMap *t, uint32_t item, bool along_side) {
    const Schedule *s = t->l->schedule;
    KBuilder *b = t->l->b;
    uint32_t width = along_side ? s->tile_m : s->tile_n;
    KVal e = k_iadd(b, k_local_id(b), tile_number(t, item * s->local));
    KVal each = tile_number(t, width / t->vec);
    TileSlot slot = {.line = k_udiv(b, e, each)};
    slot.along = k_imul(b, k_urem(b, e, each), tile_number(t, t->vec));
    KVal m = along_side ? slot.along : slot.line, n = along_side ? slot.line : slot.along;
    uint32_t unit_m = along_side ? t->vec : 1, unit_n = along_side ? 1 : t->vec;
    m = tile_clamp(t, t->first_m, m, t->tile.side, s->tile_m, unit_m, &slot.inside);
    n = tile_clamp(t, t->first_n, n, t->tile.run, s->tile_n, unit_n, &slot.inside);
    slot.at_along = along_side ? m : n, slot.at_line = along_side ? n : m;
    return slot;
}

// All loads before all stores to the tile, so that they are under way together.
static void tile_fetch(TileMap *t, uint32_t which) {
    Lower *l = t->l;
    KBuilder *b = l->b;
    const MapRead *read = &t->tile.turned.at[which];
    DType dtype = graph_value(l->graph, read->base)->type.dtype;
    KVal value[TILE_ITEMS_MAX];
    TileSlot slot[TILE_ITEMS_MAX];
    for (uint32_t i = 0; i < t->items; i++) {
        slot[i] = tile_slot(t, i, true);
        Point point = point_make(&t->turned, (uint8_t)t->vec);
        point.index[0] = t->outer, point.index[1] = slot[i].at_line;
        point.index[2] = slot[i].at_along;
        value[i] = lower_load(l, read->base, &read->view, &point);
    }
    for (uint32_t i = 0; i < t->items; i++) {
        KVal at = k_iadd(b, k_imul(b, slot[i].line, tile_number(t, t->pitch)), slot[i].along);
        for (uint32_t lane = 0; lane < t->vec; lane++) {
            bool spread = k_type(b, value[i]).lanes == 1;
            KVal word = spread ? value[i] : k_extract(b, value[i], lane);
            if (dtype == DT_BOOL) word = k_select(b, word, k_i32(b, 1), k_i32(b, 0));
            k_shared_store(b, t->region[which], k_iadd(b, at, tile_number(t, lane)), word);
        }
    }
}

static KVal tile_known(TileMap *t, uint32_t which, const TileSlot *slot) {
    KBuilder *b = t->l->b;
    const MapRead *read = &t->tile.turned.at[which];
    DType dtype = graph_value(t->l->graph, read->base)->type.dtype;
    KVal lane[4];
    for (uint32_t i = 0; i < t->vec; i++) {
        KVal n = k_iadd(b, slot->along, tile_number(t, i));
        KVal at = k_iadd(b, k_imul(b, n, tile_number(t, t->pitch)), slot->line);
        KVal word = k_shared_load(b, t->region[which], at, K_TYPE(tile_lanes(dtype), 1));
        lane[i] = dtype == DT_BOOL ? k_ine(b, word, k_i32(b, 0)) : word;
    }
    return k_vector(b, t->vec, lane);
}

static void tile_results(TileMap *t) {
    Lower *l = t->l;
    KBuilder *b = l->b;
    Point point[TILE_ITEMS_MAX];
    TileSlot slot[TILE_ITEMS_MAX];
    for (uint32_t i = 0; i < t->items; i++) {
        slot[i] = tile_slot(t, i, false);
        point[i] = point_make(&t->home, (uint8_t)t->vec);
        point[i].index[0] = t->outer, point[i].index[1] = slot[i].at_line;
        point[i].index[2] = slot[i].at_along;
        for (uint32_t r = 0; r < t->tile.turned.len; r++)
            point_set(l, &point[i], t->tile.turned.at[r].value, tile_known(t, r, &slot[i]));
        for (uint32_t r = 0; r < t->stores.len; r++)
            lower_value(l, lower_stored(l, t->stores.at[r]), &point[i]);
    }
    for (uint32_t i = 0; i < t->items; i++) {
        if (slot[i].inside) k_if_begin(b, slot[i].inside);
        for (uint32_t r = 0; r < t->stores.len; r++) lower_result(l, t->stores.at[r], &point[i]);
        if (slot[i].inside) k_if_end(b, 0, NULL, NULL);
    }
}

static bool tile_legal(const TileMap *t) {
    Lower *l = t->l;
    const Schedule *s = l->schedule;
    uint32_t elements = s->tile_m * s->tile_n, round = s->local * t->vec;
    const char *wrong = NULL;
    if (!elements || elements % round || elements / round > TILE_ITEMS_MAX || s->tile_m % t->vec ||
        s->tile_n % t->vec)
        wrong = "form=tile needs tile_m * tile_n to be rounds of local * vec, each a few lines";
    else if (!dim_divides(l->dims, t->vec, t->tile.side) ||
             !dim_divides(l->dims, t->vec, t->tile.run))
        wrong = "vec does not divide both axes of the tile";
    else if (t->tile.turned.len > sizeof t->region / sizeof t->region[0] ||
             t->tile.turned.len * s->tile_n * (s->tile_m | 1) > TILE_WORDS_MAX)
        wrong = "the tiles of form=tile take more than 32 KiB";
    if (wrong) lower_fail(l, "%s", wrong);
    return !wrong;
}

static void tile_place(TileMap *t, Dim side, Dim run, Dim groups) {
    Lower *l = t->l;
    KBuilder *b = l->b;
    KVal group = lower_workgroup(l, groups);
    KVal n = k_urem(b, group, lower_dim(l, run)), rest = k_udiv(b, group, lower_dim(l, run));
    t->first_n = k_imul(b, n, tile_number(t, l->schedule->tile_n));
    t->first_m =
        k_imul(b, k_urem(b, rest, lower_dim(l, side)), tile_number(t, l->schedule->tile_m));
    t->outer = k_udiv(b, rest, lower_dim(l, side));
}

bool lower_map_tile(Lower *l) {
    const Schedule *s = l->schedule;
    DimTable *dims = l->dims;
    const Node *fused = graph_node(l->graph, l->node);
    MapReads reads = map_reads(l->arena, l->graph, fused);
    TileMap t = {.l = l, .vec = s->vec ? s->vec : 1, .pitch = s->tile_m | 1};
    if (!map_tile(l->arena, l->graph, &reads, &t.tile)) {
        lower_fail(l, "form=tile needs an operand that lies along another axis than the results");
        return false;
    }
    if (!tile_legal(&t)) return false;
    t.items = s->tile_m * s->tile_n / (s->local * t.vec);
    t.stores = fused_stores(l->arena, l->graph, fused);
    Type shape = fused_map_shape(l->graph, fused);
    t.home = space_of(l, shape.rank, shape.size);
    t.home.rank = t.turned.rank = 3;
    t.home.size[0] = t.turned.size[0] = t.tile.outer;
    t.home.size[1] = t.turned.size[2] = t.tile.side;
    t.home.size[2] = t.turned.size[1] = t.tile.run;
    Dim one =
        dim_const(dims, 1); // of an empty axis there is no workgroup, but a divisor is written
    Dim side = dim_ceil_div(dims, t.tile.side, dim_const(dims, s->tile_m));
    Dim run = dim_ceil_div(dims, t.tile.run, dim_const(dims, s->tile_n));
    Dim groups = dim_mul(dims, t.tile.outer, dim_mul(dims, side, run));
    tile_place(&t, dim_max(dims, side, one), dim_max(dims, run, one), groups);
    for (uint32_t i = 0; i < t.tile.turned.len; i++) {
        DType dtype = graph_value(l->graph, t.tile.turned.at[i].base)->type.dtype;
        t.region[i] =
            k_shared(l->b, "tile", dtype_is_float(dtype) ? DT_F32 : DT_I32, 1, s->tile_n * t.pitch);
    }
    for (uint32_t i = 0; i < t.tile.turned.len; i++) tile_fetch(&t, i);
    k_barrier(l->b);
    tile_results(&t);
    return lower_finish(l, groups, type_elements(dims, &shape));
}
