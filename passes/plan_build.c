// The plan of a fused graph: steps in program order, each with its schedule, then memory, then
// barriers.
#include "passes/plan_internal.h"

static bool plan_region(Plan *plan, RegionId region, const CompileOptions *options, Diags *diags) {
    Graph *g = plan->graph;
    for (uint32_t i = 0; i < g->regions.at[region].nodes.len; i++) {
        NodeId id = g->regions.at[region].nodes.at[i];
        const Node *node = graph_node(g, id);
        PlanStep step = {.node = id};
        if (node->kind == NODE_REPEAT) {
            uint32_t open = plan->run.len;
            vec_push(g->arena, &plan->run, step);
            if (!plan_region(plan, node->body, options, diags)) return false;
            if (plan->run.len == open + 1)
                plan->run.len = open; // all of it went to prepare
            else
                vec_push(g->arena, &plan->run, (PlanStep){0});
        } else if (node->kind == NODE_FUSED && !node->prepare) {
            if (!schedule_step(plan, id, options, diags, &step)) return false;
            vec_push(g->arena, &plan->run, step);
        }
    }
    return true;
}

bool plan_build(Graph *graph, const Target *target, const CompileOptions *options, Diags *diags,
                Plan **out) {
    Plan *plan = plan_create(graph, target);
    plan->strict_rounding = options->strict_rounding;
    plan->fast_math = options->fast_math && !options->strict_rounding;
    if (!plan_region(plan, 1, options, diags) || !plan_prepare_steps(plan, diags) ||
        !plan_memory(plan, diags))
        return false;
    plan_barriers(plan);
    *out = plan;
    return true;
}
