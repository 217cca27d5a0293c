// Candidates of family "map": the vector width, and how much an invocation does. Costs are memory
// instructions an element, as loads and stores are all a map costs.
#include "passes/schedule.h"

// How one operand (or result) behaves in the linear order of the map at a vector width.
static double map_access_cost(const ScheduleSite *site, const View *view, Dim total, uint32_t vec) {
    View linear;
    if (!view_reshape(site->dims, view, 1, &total, &linear)) return 2;
    Dim stride = view_axis_stride(&linear, 0);
    if (stride == DIM_NONE || dim_is(site->dims, stride, 0)) return 0.25;
    if (vec > 1 && view_is_vectorizable(site->dims, &linear, vec)) return 1.0 / vec;
    return dim_is(site->dims, stride, 1) ? 1 : 1.5;
}

static bool map_operand_view(const ScheduleSite *site, ValueId value, const Type *shape,
                             View *view) {
    ValueId base;
    View own;
    if (!graph_view(site->graph, value, &base, &own)) return false;
    NodeId node = graph_value(site->graph, base)->node;
    if (node && graph_node(site->graph, node)->region == site->fused->body) return false;
    return view_broadcast(site->dims, &own, shape->rank, shape->size, view);
}

static double map_cost(const ScheduleSite *site, const Type *shape, Dim total, uint32_t vec) {
    const Graph *g = site->graph;
    double cost = 0;
    const Region *body = &g->regions.at[site->fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->inline_view) continue;
        for (uint32_t o = 0; o < node->operands; o++) {
            View view;
            if (node->operand[o] && map_operand_view(site, node->operand[o], shape, &view))
                cost += map_access_cost(site, &view, total, vec);
        }
    }
    return cost + site->fused->results * 1.0 / vec;
}

void schedule_map(ScheduleSite *site) {
    Type shape = fused_map_shape(site->graph, site->fused);
    Dim total = type_elements(site->dims, &shape);
    double elements = schedule_size(site, total);
    bool wide = site->target->compute_units > 0;
    uint32_t local = wide && elements >= 65536 ? 256 : 64;
    for (uint32_t vec = schedule_divisor(site, total, 4); vec >= 1; vec /= 2) {
        uint32_t items = wide ? 1 : 4 / vec;
        Schedule schedule = {.local = local, .vec = vec, .items = items};
        double cost = map_cost(site, &shape, total, vec);
        const char *why =
            arena_printf(site->arena, "%.3g memory instructions an element at vec=%u", cost, vec);
        schedule_add(site, schedule, cost, why);
    }
}
