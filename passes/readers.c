#include "passes/readers.h"

#include "passes/build.h"

// A search that has looked at so many nodes gives up, so that time stays in proportion to the
// graph.
enum { SPAN_MAX = 512 };

Readers readers_find(const Graph *g, Arena *arena) {
    Readers readers = {.g = g, .arena = arena};
    const bool *live = graph_live_nodes(g);
    readers.first = arena_alloc(arena, g->values.len * sizeof *readers.first);
    readers.below = arena_alloc(arena, g->values.len * sizeof *readers.below);
    readers.own = arena_alloc(arena, g->nodes.len * sizeof *readers.own);
    vec_push(arena, &readers.edges, (ReaderEdge){0});
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        for (uint32_t i = 0; live[id] && node->kind == NODE_OP && i < node->operands; i++) {
            ValueId value = node->operand[i];
            if (!value) continue;
            ReaderEdge edge = {id, readers.first[value]};
            vec_push(arena, &readers.edges, edge);
            readers.first[value] = readers.edges.len - 1;
        }
    }
    return readers;
}

NodeId readers_only(const Readers *readers, const uint32_t *uses, ValueId value) {
    uint32_t edge = readers->first[value];
    NodeId id = readers->edges.at[edge].node;
    bool same = id && graph_node(readers->g, id)->region == graph_value(readers->g, value)->region;
    return uses[value] == 1 && same ? id : 0;
}

// A map of the parts' shape in their region.
static bool is_alike(const Graph *g, NodeId id, ValueId part) {
    const Node *node = id ? graph_node(g, id) : NULL;
    if (!node || node->kind != NODE_OP || op_info(node->op)->class != OC_MAP) return false;
    if (node->region != graph_value(g, part)->region) return false;
    return build_same_shape(&graph_value(g, node->result[0])->type, &graph_value(g, part)->type);
}

// Marks all values that depend on the parts, up to node `last`; false where that takes too long.
static bool mark_below(Readers *r, const ValueId *part, uint32_t parts, NodeId last) {
    const Graph *g = r->g;
    NodeId first = graph_value(g, part[0])->node;
    for (uint32_t i = 0; i < parts; i++) {
        r->below[part[i]] = r->searches;
        if (graph_value(g, part[i])->node < first) first = graph_value(g, part[i])->node;
    }
    if (!first || last - first > SPAN_MAX) return false;
    for (NodeId id = first + 1; id <= last; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP) return false;
        bool below = false;
        for (uint32_t i = 0; i < node->operands; i++)
            below |= node->operand[i] && r->below[node->operand[i]] == r->searches;
        for (uint32_t i = 0; below && i < node->results; i++)
            r->below[node->result[i]] = r->searches;
    }
    return true;
}

static bool is_part(const ValueId *part, uint32_t parts, ValueId value) {
    for (uint32_t i = 0; i < parts; i++)
        if (part[i] == value) return true;
    return false;
}

bool readers_close(Readers *r, const uint32_t *uses, const ValueId *part, uint32_t parts) {
    const Graph *g = r->g;
    uint32_t search = ++r->searches;
    NodeId last = 0;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t seen = 0;
        for (uint32_t e = r->first[part[i]]; e; e = r->edges.at[e].next, seen++) {
            NodeId id = r->edges.at[e].node;
            if (!is_alike(g, id, part[0])) return false;
            r->own[id] = search;
            if (id > last) last = id;
        }
        if (seen == 0 || seen != uses[part[i]]) return false;
    }
    if (!mark_below(r, part, parts, last)) return false;
    for (NodeId id = last; id > graph_value(g, part[0])->node; id--) {
        const Node *node = graph_node(g, id);
        for (uint32_t i = 0; r->own[id] == search && i < node->operands; i++) {
            ValueId value = node->operand[i];
            if (!value || r->below[value] != search || is_part(part, parts, value)) continue;
            NodeId from = graph_value(g, value)->node;
            if (!is_alike(g, from, part[0])) return false;
            r->own[from] = search;
        }
    }
    return true;
}
