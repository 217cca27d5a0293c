#include "passes/rewrite.h"

#include <assert.h>

ValueId rewrite_get(Rewrite *rewrite, ValueId old) {
    return old ? rewrite->copy.map[old] : 0;
}

void rewrite_set(Rewrite *rewrite, ValueId old, ValueId new) {
    assert(old && new);
    rewrite->copy.map[old] = new;
}

static ValueId stored(Rewrite *rewrite, ValueId old) {
    return rewrite->store ? rewrite->store(rewrite, old) : rewrite_get(rewrite, old);
}

static bool walk(Rewrite *rewrite, RegionId region);

// Gives a carried value its name; false after an error.
static bool carry(Rewrite *rewrite, ValueId old, ValueId new) {
    graph_name(rewrite->to, new, graph_value(rewrite->from, old)->name, true);
    if (rewrite->load) new = rewrite->load(rewrite, old, new);
    if (new) rewrite_set(rewrite, old, new);
    return new != 0;
}

// Carried values that nothing needs are left out, as graph_copy_node does.
static bool walk_repeat(Rewrite *rewrite, NodeId id) {
    const Node *node = graph_node(rewrite->from, id);
    Graph *to = rewrite->to;
    ValueId *values = arena_alloc(to->arena, node->operands * sizeof *values);
    uint32_t *slot = arena_alloc(to->arena, node->operands * sizeof *slot), slots = 0;
    for (uint32_t i = 0; i < node->operands; i++) {
        const bool *live = rewrite->copy.live_value;
        if (!live[node->result[i]] && !live[node->param[i]]) continue;
        rewrite->carried = true;
        values[slots] = stored(rewrite, node->operand[i]);
        rewrite->carried = false;
        slot[slots++] = i;
    }
    Text trip = {0};
    dim_print(to->dims, node->trip, &trip);
    NodeId repeat =
        graph_begin_repeat(to, trip.data, node->lo, node->hi, values, slots, node->loc, node->locs);
    text_free(&trip);
    if (!repeat) return false;
    for (uint32_t i = 0; i < slots; i++)
        if (!carry(rewrite, node->param[slot[i]], graph_node(to, repeat)->param[i])) return false;
    if (!walk(rewrite, node->body)) return false;
    for (uint32_t i = 0; i < slots; i++) values[i] = stored(rewrite, node->yield[slot[i]]);
    graph_end_repeat(to, repeat, values);
    for (uint32_t i = 0; i < slots; i++)
        if (!carry(rewrite, node->result[slot[i]], graph_result(to, repeat, i))) return false;
    return true;
}

static bool walk_fused(Rewrite *rewrite, NodeId id) {
    const Node *node = graph_node(rewrite->from, id);
    Graph *to = rewrite->to;
    NodeId fused = graph_begin_fused(to, node->name, node->family, node->prepare);
    if (node->reason) graph_node(to, fused)->reason = arena_strdup(to->arena, node->reason);
    if (!walk(rewrite, node->body)) return false;
    ValueId *values = arena_alloc(to->arena, node->results * sizeof *values);
    uint32_t results = 0;
    for (uint32_t i = 0; i < node->results; i++) {
        if (!rewrite->copy.live_value[node->result[i]]) continue;
        values[results++] = stored(rewrite, node->result[i]);
    }
    graph_end_fused(to, fused, values, results);
    return true;
}

bool rewrite_keeps(const Graph *g, const bool *live, NodeId id) {
    const Node *node = graph_node(g, id);
    return live[id] || (node->kind == NODE_OP && node->op == OP_INPUT);
}

static bool walk(Rewrite *rewrite, RegionId region) {
    const Region *nodes = &rewrite->from->regions.at[region];
    for (uint32_t i = 0; i < nodes->nodes.len; i++) {
        NodeId id = nodes->nodes.at[i];
        if (!rewrite_keeps(rewrite->from, rewrite->copy.live_node, id)) continue;
        const Node *node = graph_node(rewrite->from, id);
        bool done = false, good = true;
        if (rewrite->fn && !rewrite->fn(rewrite, id, &done)) return false;
        if (done) continue;
        if (node->kind == NODE_REPEAT)
            good = walk_repeat(rewrite, id);
        else if (node->kind == NODE_FUSED)
            good = walk_fused(rewrite, id);
        else
            good = graph_copy_node(&rewrite->copy, id) != 0;
        if (!good) return false;
    }
    return true;
}

static bool has_dead(const Graph *g) {
    const bool *live = graph_live_nodes(g);
    for (NodeId id = 1; id < g->nodes.len; id++)
        if (!rewrite_keeps(g, live, id)) return true;
    return false;
}

static bool rewrite_once(Rewrite rewrite, Graph **out) {
    rewrite.copy = graph_begin_copy(rewrite.from);
    rewrite.to = rewrite.copy.to;
    if (!walk(&rewrite, 1)) {
        graph_destroy(rewrite.to);
        return false;
    }
    const Graph *from = rewrite.from;
    rewrite.outputs = true;
    for (uint32_t i = 0; i < from->outputs.len; i++) {
        const Output *output = &from->outputs.at[i];
        graph_add_output(rewrite.to, output->name, output->host_name,
                         stored(&rewrite, output->value), output->loc);
    }
    *out = rewrite.to;
    return true;
}

bool rewrite_graph(Rewrite rewrite, Graph **out) {
    Graph *first, *second;
    if (!rewrite_once(rewrite, &first)) return false;
    *out = first;
    if (!has_dead(first)) return true;
    Rewrite plain = {.ctx = rewrite.ctx, .from = first};
    bool good = rewrite_once(plain, &second);
    graph_destroy(first);
    *out = second;
    return good;
}
