// Questions about graphs: what is needed, how often it is used, states.
#include "ir/graph_index.h"

typedef struct Live {
    const Graph *g;
    Arena *arena;
    bool *node, *value;
    VEC(ValueId) work;
} Live;

static void mark_value(Live *live, ValueId value) {
    if (!value || live->value[value]) return;
    live->value[value] = true;
    vec_push(live->arena, &live->work, value);
}

// A needed node makes the repeats and fused groups around it needed.
static void mark_node(Live *live, NodeId id) {
    while (id && !live->node[id]) {
        live->node[id] = true;
        id = live->g->regions.at[graph_node(live->g, id)->region].owner;
    }
}

static void mark_carried(Live *live, NodeId repeat, uint32_t slot) {
    const Node *node = graph_node(live->g, repeat);
    mark_node(live, repeat);
    mark_value(live, node->operand[slot]);
    mark_value(live, node->yield[slot]);
}

static void mark_roots(Live *live) {
    const Graph *g = live->g;
    for (uint32_t i = 0; i < g->outputs.len; i++) mark_value(live, g->outputs.at[i].value);
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind == NODE_OP && node->op == OP_UPDATE) mark_value(live, node->result[0]);
        for (uint32_t i = 0; node->kind == NODE_REPEAT && i < node->operands; i++) {
            if (graph_state_of(g, node->operand[i])) mark_value(live, node->result[i]);
        }
    }
}

void graph_find_live(const Graph *g, Arena *arena, bool **node, bool **value) {
    Live live = {.g = g,
                 .arena = arena,
                 .node = arena_alloc(arena, g->nodes.len * sizeof *live.node),
                 .value = arena_alloc(arena, g->values.len * sizeof *live.value)};
    mark_roots(&live);
    while (live.work.len) {
        const Value *next = graph_value(g, live.work.at[--live.work.len]);
        if (!next->node) { // parameter of a repeat
            mark_carried(&live, g->regions.at[next->region].owner, next->index);
            continue;
        }
        const Node *from = graph_node(g, next->node);
        if (from->kind == NODE_REPEAT) {
            mark_carried(&live, next->node, next->index);
            continue;
        }
        mark_node(&live, next->node);
        for (uint32_t i = 0; i < from->operands; i++) mark_value(&live, from->operand[i]);
    }
    *node = live.node;
    *value = live.value;
}

bool *graph_live_nodes(const Graph *g) {
    bool *node, *value;
    graph_find_live(g, g->arena, &node, &value);
    return node;
}

uint32_t *graph_use_counts(const Graph *g) {
    uint32_t *count = arena_alloc(g->arena, g->values.len * sizeof *count);
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        for (uint32_t i = 0; i < node->operands; i++) count[node->operand[i]]++;
        for (uint32_t i = 0; node->yield && i < node->operands; i++) count[node->yield[i]]++;
    }
    for (uint32_t i = 0; i < g->outputs.len; i++) count[g->outputs.at[i].value]++;
    count[0] = 0;
    return count;
}

NodeId graph_state_of(const Graph *g, ValueId value) {
    while (value) {
        const Value *version = graph_value(g, value);
        NodeId id = version->node ? version->node : g->regions.at[version->region].owner;
        const Node *node = graph_node(g, id);
        if (node->kind == NODE_REPEAT) {
            value = node->operand[version->index];
        } else if (node->kind == NODE_OP && node->op == OP_UPDATE) {
            value = node->operand[0];
        } else {
            return node->kind == NODE_OP && node->op == OP_STATE ? id : 0;
        }
    }
    return 0;
}

bool graph_is_literal(const Graph *g, ValueId value) {
    if (!value || !graph_value(g, value)->node) return false;
    const Node *node = graph_node(g, graph_value(g, value)->node);
    return node->kind == NODE_OP && node->op == OP_FULL && node->inline_view;
}
