// What runs once when weights are bound, as independent units: fused nodes that meet in a weight or
// in each other's results belong together.
#include "passes/plan_internal.h"

typedef struct Units {
    Plan *plan;
    Graph *graph;
    uint32_t *parent;  // union-find over values, then nodes
    VEC(NodeId) nodes; // prepare nodes in program order
} Units;

static uint32_t unit_root(Units *u, uint32_t at) {
    while (u->parent[at] != at) at = u->parent[at] = u->parent[u->parent[at]];
    return at;
}

static void unit_join(Units *u, uint32_t a, uint32_t b) {
    a = unit_root(u, a), b = unit_root(u, b);
    if (a < b)
        u->parent[b] = a;
    else
        u->parent[a] = b;
}

static void unit_collect(Units *u, RegionId region) {
    Graph *g = u->graph;
    for (uint32_t i = 0; i < g->regions.at[region].nodes.len; i++) {
        NodeId id = g->regions.at[region].nodes.at[i];
        const Node *node = graph_node(g, id);
        if (node->kind == NODE_REPEAT) unit_collect(u, node->body);
        if (node->kind == NODE_FUSED && node->prepare) vec_push(g->arena, &u->nodes, id);
    }
}

static bool unit_is_const(const Graph *g, ValueId value) {
    NodeId node = graph_value(g, value)->node;
    return node && graph_node(g, node)->kind == NODE_OP && graph_node(g, node)->op == OP_CONST;
}

static void unit_close(Units *u, uint32_t depth) {
    while (depth-- > 0) vec_push(u->graph->arena, &u->plan->prepare, (PlanStep){0});
}

// Opens the repeats around a region, outermost first; returns how many.
static uint32_t unit_open(Units *u, RegionId region) {
    NodeId owner = u->graph->regions.at[region].owner;
    if (!owner) return 0;
    const Node *node = graph_node(u->graph, owner);
    uint32_t depth = unit_open(u, node->region);
    vec_push(u->graph->arena, &u->plan->prepare, (PlanStep){.node = owner});
    return depth + 1;
}

static void unit_params(Units *u, NodeId id, PrepareUnit *unit) {
    Graph *g = u->graph;
    AccessList list = plan_accesses(g->arena, g, id);
    for (uint32_t a = 0; a < list.len; a++) {
        NodeId from = graph_value(g, list.at[a].value)->node;
        if (!from || graph_node(g, from)->kind != NODE_OP || graph_node(g, from)->op != OP_PARAM)
            continue;
        bool listed = false;
        for (uint32_t p = 0; p < unit->params.len; p++)
            listed = listed || unit->params.at[p] == list.at[a].value;
        if (!listed) vec_push(g->arena, &unit->params, list.at[a].value);
    }
}

static bool unit_make(Units *u, uint32_t root, Diags *diags) {
    Graph *g = u->graph;
    PrepareUnit unit = {.first = u->plan->prepare.len};
    RegionId region = 0;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < u->nodes.len; i++) {
        NodeId id = u->nodes.at[i];
        if (unit_root(u, g->values.len + id) != root) continue;
        const Node *node = graph_node(g, id);
        if (node->region != region) {
            unit_close(u, depth);
            depth = unit_open(u, node->region);
            region = node->region;
        }
        PlanStep step = {.node = id};
        CompileOptions best = {0}; // without workspace: that lies in the arena, which run has
        if (!schedule_step(u->plan, id, &best, diags, &step)) return false;
        vec_push(g->arena, &u->plan->prepare, step);
        unit_params(u, id, &unit);
    }
    unit_close(u, depth);
    unit.count = u->plan->prepare.len - unit.first;
    vec_push(g->arena, &u->plan->units, unit);
    return true;
}

bool plan_prepare_steps(Plan *plan, Diags *diags) {
    Graph *g = plan->graph;
    Units u = {.plan = plan, .graph = g};
    unit_collect(&u, 1);
    uint32_t slots = g->values.len + g->nodes.len;
    u.parent = arena_alloc(g->arena, slots * sizeof *u.parent);
    for (uint32_t i = 0; i < slots; i++) u.parent[i] = i;
    for (uint32_t i = 0; i < u.nodes.len; i++) {
        AccessList list = plan_accesses(g->arena, g, u.nodes.at[i]);
        for (uint32_t a = 0; a < list.len; a++)
            if (!unit_is_const(g, list.at[a].value))
                unit_join(&u, list.at[a].value, g->values.len + u.nodes.at[i]);
    }
    bool *done = arena_alloc(g->arena, slots);
    for (uint32_t i = 0; i < u.nodes.len; i++) {
        uint32_t root = unit_root(&u, g->values.len + u.nodes.at[i]);
        if (done[root]) continue;
        done[root] = true;
        if (!unit_make(&u, root, diags)) return false;
    }
    return true;
}
