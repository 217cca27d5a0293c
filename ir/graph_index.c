#include "ir/graph_index.h"

#include <string.h>

static NameEntry *name_slot(const GraphIndex *index, const char *name) {
    uint32_t mask = index->name_capacity - 1;
    uint32_t at = (uint32_t)hash_bytes(1, name, strlen(name)) & mask;
    while (index->names[at].name && strcmp(index->names[at].name, name) != 0) at = (at + 1) & mask;
    return &index->names[at];
}

static NameEntry *name_entry(Graph *g, const char *name) {
    GraphIndex *index = g->index;
    if (2 * (index->name_count + 1) > index->name_capacity) {
        NameEntry *old = index->names;
        uint32_t old_capacity = index->name_capacity;
        index->name_capacity = old_capacity ? 2 * old_capacity : 64;
        index->names = arena_alloc(g->arena, index->name_capacity * sizeof *index->names);
        for (uint32_t i = 0; i < old_capacity; i++) {
            if (old[i].name) *name_slot(index, old[i].name) = old[i];
        }
    }
    NameEntry *entry = name_slot(index, name);
    if (!entry->name) {
        *entry = (NameEntry){.name = arena_strdup(g->arena, name), .next = 2};
        index->name_count++;
    }
    return entry;
}

static bool name_taken(const GraphIndex *index, const char *name) {
    return index->name_capacity && name_slot(index, name)->name;
}

ValueId graph_find(const Graph *g, const char *name) {
    if (!g->index->name_capacity) return 0;
    const NameEntry *entry = name_slot(g->index, name);
    return entry->name ? entry->value : 0;
}

void graph_reserve_name(Graph *g, const char *name) {
    name_entry(g, name);
}

// "h", then "h.2", "h.3" ...: the second and third value called h.
const char *graph_unique_name(Graph *g, const char *wish) {
    if (!name_taken(g->index, wish)) return name_entry(g, wish)->name;
    for (;;) {
        const char *name = arena_printf(g->arena, "%s.%u", wish, name_entry(g, wish)->next++);
        if (!name_taken(g->index, name)) return name_entry(g, name)->name;
    }
}

const char *graph_claim_name(Graph *g, const char *wish, bool exact, ValueId value) {
    NameEntry *entry = exact ? name_entry(g, wish) : NULL;
    if (!entry || entry->value) entry = name_entry(g, graph_unique_name(g, wish));
    entry->value = value;
    return entry->name;
}

void graph_name(Graph *g, ValueId value, const char *wish, bool exact) {
    Value *renamed = graph_value(g, value);
    if (strcmp(renamed->name, wish) == 0) return;
    name_entry(g, renamed->name)->value = 0;
    renamed->name = graph_claim_name(g, wish, exact, value);
}

static uint64_t node_hash(const Node *node) {
    const OpInfo *op = op_info(node->op);
    uint64_t hash = hash_bytes(node->op, &node->region, sizeof node->region);
    hash =
        hash_bytes(hash + node->inline_view, node->operand, node->operands * sizeof *node->operand);
    for (uint32_t i = 0; i < op->attrs; i++) {
        hash = attr_hash(op->attr[i].kind, &node->attr[i], hash);
    }
    return hash;
}

static bool same_content(const Node *a, const Node *b) {
    const OpInfo *op = op_info(a->op);
    if (a->op != b->op || a->inline_view != b->inline_view || a->region != b->region ||
        a->operands != b->operands) {
        return false;
    }
    for (uint32_t i = 0; i < a->operands; i++) {
        if (a->operand[i] != b->operand[i]) return false;
    }
    for (uint32_t i = 0; i < op->attrs; i++) {
        if (!attr_equal(op->attr[i].kind, &a->attr[i], &b->attr[i])) return false;
    }
    return true;
}

NodeId graph_intern_find(const Graph *g, const Node *node, uint64_t *hash) {
    const GraphIndex *index = g->index;
    *hash = node_hash(node);
    if (!index->node_capacity) return 0;
    uint32_t mask = index->node_capacity - 1;
    for (uint32_t at = (uint32_t)*hash & mask; index->nodes[at].node; at = (at + 1) & mask) {
        const NodeEntry *entry = &index->nodes[at];
        if (entry->hash == *hash && same_content(graph_node(g, entry->node), node)) {
            return entry->node;
        }
    }
    return 0;
}

static void put_node(GraphIndex *index, NodeEntry entry) {
    uint32_t mask = index->node_capacity - 1;
    uint32_t at = (uint32_t)entry.hash & mask;
    while (index->nodes[at].node) at = (at + 1) & mask;
    index->nodes[at] = entry;
}

void graph_index_node(Graph *g, NodeId node, uint64_t hash) {
    GraphIndex *index = g->index;
    if (2 * (index->node_count + 1) > index->node_capacity) {
        NodeEntry *old = index->nodes;
        uint32_t old_capacity = index->node_capacity;
        index->node_capacity = old_capacity ? 2 * old_capacity : 64;
        index->nodes = arena_alloc(g->arena, index->node_capacity * sizeof *index->nodes);
        for (uint32_t i = 0; i < old_capacity; i++) {
            if (old[i].node) put_node(index, old[i]);
        }
    }
    put_node(index, (NodeEntry){hash, node});
    index->node_count++;
}
