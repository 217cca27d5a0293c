// Candidates of family "transform": how many invocations a workgroup has, and how many elements of
// a row, or channels, go together. As with maps, costs are memory instructions.
#include "passes/build.h"
#include "passes/schedule.h"

void schedule_transform(ScheduleSite *site) {
    const Graph *g = site->graph;
    const Node *node = graph_node(g, fused_find(g, site->fused, OC_TRANSFORM));
    const Type *from = &graph_value(g, node->operand[0])->type;
    const Type *to = &graph_value(g, node->result[0])->type;
    bool device = site->target->compute_units > 0;
    bool filters = node->op == OP_WINOGRAD_WEIGHT, rows = node->op == OP_WINOGRAD_OUTPUT;
    bool last = !filters && build_attr(node, "channels_last")->i;
    uint32_t tile = (uint32_t)build_attr(node, "tile")->i, vec = 1;
    if (last)
        vec = schedule_divisor(site, (rows ? from : to)->size[2], 4);
    else if (rows)
        vec = schedule_divisor(site, to->size[to->rank - 1u], tile % 4 ? 2 : 4);
    for (; vec >= 1; vec /= 2) {
        Schedule schedule = {.local = device ? 128 : 64, .vec = vec};
        schedule_add(site, schedule, 1.0 / vec,
                     arena_printf(site->arena, "%u %s together", vec,
                                  last ? "channels" : "elements of a row"));
    }
}
