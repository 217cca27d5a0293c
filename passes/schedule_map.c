// Candidates of family "map": the vector width, how much an invocation does, and form "tile" where
// operands lie along another axis than the results. Costs are memory instructions an element, as
// loads and stores are all a map costs.
#include "passes/map_shape.h"
#include "passes/schedule.h"

#include <math.h>

enum { MAP_NEIGHBOURS = 32 }; // in memory that fill the sectors of a subgroup's loads

typedef struct MapSite {
    ScheduleSite *site;
    MapReads reads;
    Dim total;
    bool device;
} MapSite;

// Whether invocations side by side read neighbours: each makes a whole run, or one of two parts of
// it.
static bool map_is_side_by_side(const MapSite *map, const MapRead *read, uint32_t vec) {
    DimTable *dims = map->site->dims;
    MapTile tile;
    int64_t run;
    return map_split(dims, &read->view, &tile) && dim_is_const(dims, tile.run, &run) &&
           run <= 2 * (int64_t)vec && run % vec == 0 &&
           dim_bounds(dims, tile.side).lo >= MAP_NEIGHBOURS;
}

// On a device an element that is alone in its sector takes the time of several; a CPU's caches keep
// the line until its other elements are wanted.
static double map_apart(const MapSite *map, const MapRead *read, uint32_t vec) {
    if (!map->device) return 1.5;
    if (map_is_side_by_side(map, read, vec)) return 1;
    Dim stride = view_axis_stride(&read->view, 0);
    unsigned bytes = dtype_bytes(graph_value(map->site->graph, read->base)->type.dtype);
    int64_t step;
    if (stride == DIM_NONE || !dim_is_const(map->site->dims, stride, &step)) return 8;
    step = step < 0 ? -step : step;
    int64_t most = bytes ? 32 / bytes : 32;
    return step <= 1 ? 1 : 1 + 0.5 * (double)(step < most ? step : most);
}

// How one operand behaves in the linear order of the map at a vector width.
static double map_access_cost(const MapSite *map, const MapRead *read, uint32_t vec) {
    DimTable *dims = map->site->dims;
    if (read->gathered) return 2;
    Dim stride = view_axis_stride(&read->view, 0);
    if (stride == DIM_NONE || dim_is(dims, stride, 0)) return 0.25;
    if (vec > 1 && view_is_vectorizable(dims, &read->view, vec)) return 1.0 / vec;
    return dim_is(dims, stride, 1) ? 1 : map_apart(map, read, vec);
}

static double map_cost(const MapSite *map, uint32_t vec) {
    double cost = 0;
    for (uint32_t i = 0; i < map->reads.len; i++)
        cost += map_access_cost(map, &map->reads.at[i], vec);
    return cost + map->site->fused->results * 1.0 / vec;
}

static bool map_is_turned(const MapTile *tile, const MapRead *read) {
    for (uint32_t i = 0; i < tile->turned.len; i++)
        if (tile->turned.at[i].value == read->value) return true;
    return false;
}

// What a tile costs beyond its elements: the parts of tiles that lie outside.
static double map_waste(const MapSite *map, Dim size, uint32_t tile) {
    double elements = schedule_size(map->site, size);
    double tiles = (double)(((uint64_t)elements + tile - 1) / tile);
    return elements < 1 ? 1 : tiles * tile / elements;
}

// How far a tile is from what was fastest on an H200: lines of 128 bytes to read, 4 KiB in all.
static double map_misfit(const MapSite *map, const MapTile *tile, uint32_t side, uint32_t run) {
    const Graph *g = map->site->graph;
    unsigned bytes = dtype_bytes(graph_value(g, tile->turned.at[0].base)->type.dtype);
    double line = fabs(log2(side * bytes / 128.0)), all = fabs(log2(side * run * bytes / 4096.0));
    return 1 + 0.04 * line + 0.06 * all;
}

static void map_tile_candidate(MapSite *map, const MapTile *tile, uint32_t side, uint32_t run,
                               uint32_t vec) {
    ScheduleSite *site = map->site;
    uint32_t local = side * run / vec < 256 ? side * run / vec : 256;
    Schedule s = {.form = "tile", .local = local, .tile_m = side, .tile_n = run, .vec = vec};
    if (tile->turned.len * run * (side | 1) * 4 > 32768 || side % vec || run % vec) return;
    double cost = site->fused->results * 1.0 / vec;
    for (uint32_t i = 0; i < map->reads.len; i++) {
        bool turned = map_is_turned(tile, &map->reads.at[i]);
        cost += turned ? 1.0 / vec + 0.5 : map_access_cost(map, &map->reads.at[i], vec);
    }
    cost *= map_waste(map, tile->side, side) * map_waste(map, tile->run, run);
    cost *= map_misfit(map, tile, side, run);
    const char *why = arena_printf(site->arena,
                                   "%u operand%s turned in workgroup memory, %.3g memory "
                                   "instructions an element",
                                   tile->turned.len, tile->turned.len == 1 ? "" : "s", cost);
    schedule_add(site, s, cost, why);
}

static void map_tiles(MapSite *map) {
    ScheduleSite *site = map->site;
    static const uint32_t sides[] = {128, 64, 32, 16, 8};
    MapTile tile;
    if (!map->device || !map_tile(site->arena, site->graph, &map->reads, &tile)) return;
    if (dim_bounds(site->dims, tile.side).hi > INT32_MAX / 2 ||
        dim_bounds(site->dims, tile.run).hi > INT32_MAX / 2)
        return;
    uint32_t vec = schedule_divisor(site, tile.side, 4);
    vec = schedule_divisor(site, tile.run, vec);
    for (unsigned m = 0; m < 5; m++)
        for (unsigned n = 0; n < 5; n++)
            if (sides[m] * sides[n] >= 256 * vec)
                map_tile_candidate(map, &tile, sides[m], sides[n], vec);
}

void schedule_map(ScheduleSite *site) {
    Type shape = fused_map_shape(site->graph, site->fused);
    MapSite map = {.site = site, .total = type_elements(site->dims, &shape)};
    map.reads = map_reads(site->arena, site->graph, site->fused);
    map.device = site->target->compute_units > 0;
    double elements = schedule_size(site, map.total);
    uint32_t local = map.device && elements >= 65536 ? 256 : 64;
    for (uint32_t vec = schedule_divisor(site, map.total, 4); vec >= 1; vec /= 2) {
        uint32_t items = map.device ? 1 : 4 / vec;
        Schedule schedule = {.local = local, .vec = vec, .items = items};
        double cost = map_cost(&map, vec);
        const char *why =
            arena_printf(site->arena, "%.3g memory instructions an element at vec=%u", cost, vec);
        schedule_add(site, schedule, cost, why);
    }
    map_tiles(&map);
}
