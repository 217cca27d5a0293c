#include "codegen/weights.h"
#include "ir/number.h"

#include <string.h>

enum { REPEATS_MAX = 64 }; // the language's nesting limit

typedef struct Unfold {
    const Plan *plan;
    const Graph *graph;
    WeightVisit *visit;
    void *user;
    uint32_t number;
    // The node at hand, its enclosing repeats (outermost first) and their current trips.
    NodeId node;
    NodeId repeat[REPEATS_MAX];
    uint32_t repeats;
    int64_t symbols[64];
} Unfold;

static uint32_t symbol_of(const Graph *g, Dim symbol) {
    uint32_t i = 0;
    while (dim_symbol_at(g->dims, i) != symbol) i++;
    return i;
}

static void find_repeats(Unfold *u) {
    NodeId inner[REPEATS_MAX];
    uint32_t count = 0;
    for (RegionId r = graph_node(u->graph, u->node)->region; r > 1;) {
        NodeId owner = u->graph->regions.at[r].owner;
        if (graph_node(u->graph, owner)->kind == NODE_REPEAT && count < REPEATS_MAX) {
            inner[count++] = owner;
        }
        r = graph_node(u->graph, owner)->region;
    }
    u->repeats = count;
    for (uint32_t i = 0; i < count; i++) u->repeat[i] = inner[count - 1 - i];
}

static uint64_t evaluate(const Unfold *u, Dim dim) {
    int64_t value = 0;
    dim_eval(u->graph->dims, dim, u->symbols, &value);
    return (uint64_t)value;
}

// Replaces "{*}" by the part and "{name}" by the trip of the repeat that counts with that name.
static void expand_key(const Unfold *u, const char *key, uint64_t part, Text *out) {
    for (const char *at = key; *at;) {
        const char *close = *at == '{' ? strchr(at, '}') : NULL;
        if (!close) {
            text_write(out, at++, 1);
            continue;
        }
        size_t length = (size_t)(close - at - 1);
        if (length == 1 && at[1] == '*') text_printf(out, "%llu", (unsigned long long)part);
        for (uint32_t i = 0; i < u->repeats; i++) {
            uint32_t symbol = symbol_of(u->graph, graph_node(u->graph, u->repeat[i])->trip);
            const char *name = dim_symbol_name(u->graph->dims, symbol);
            if (strlen(name) == length && !strncmp(name, at + 1, length)) {
                text_printf(out, "%lld", (long long)u->symbols[symbol]);
            }
        }
        at = close + 1;
    }
}

static uint32_t unit_of(const Plan *plan, ValueId param) {
    for (uint32_t u = 0; u < plan->units.len; u++) {
        for (uint32_t i = 0; i < plan->units.at[u].params.len; i++) {
            if (plan->units.at[u].params.at[i] == param) return u;
        }
    }
    return WEIGHT_NO_UNIT;
}

static void visit_trip(Unfold *u, const Placement *place) {
    const Node *node = graph_node(u->graph, u->node);
    Type type = graph_value(u->graph, node->result[0])->type;
    if (node->op == OP_PARAM && node->decl->stored) type.dtype = node->decl->stored;
    WeightRecord record = {.node = u->node,
                           .dtype = type.dtype,
                           .rank = type.rank,
                           .kind = place->kind,
                           .offset = evaluate(u, place->offset),
                           .unit = unit_of(u->plan, node->result[0])};
    uint64_t elements = 1, parts = 1;
    for (int i = 0; i < type.rank; i++) {
        record.size[i] = evaluate(u, type.size[i]);
        elements *= record.size[i];
    }
    record.bytes = elements * dtype_bytes(type.dtype);
    if (node->decl->stack) { // one tensor a part, without the leading axis
        parts = record.size[0];
        record.bytes = parts ? record.bytes / parts : 0;
        record.rank--;
        memmove(record.size, record.size + 1, (RANK_MAX - 1) * sizeof *record.size);
        record.size[RANK_MAX - 1] = 0;
    }
    for (uint64_t part = 0; part < parts; part++) {
        Text key = {0};
        expand_key(u, node->decl->key, part, &key);
        record.key = key.data;
        record.number = u->number++;
        u->visit(u->user, &record);
        record.offset += record.bytes;
        text_free(&key);
    }
}

static void visit_trips(Unfold *u, const Placement *place) {
    uint32_t symbol[REPEATS_MAX];
    for (uint32_t i = 0; i < u->repeats; i++) {
        const Node *repeat = graph_node(u->graph, u->repeat[i]);
        if (repeat->lo >= repeat->hi) return;
        symbol[i] = symbol_of(u->graph, repeat->trip);
        u->symbols[symbol[i]] = repeat->lo;
    }
    for (;;) {
        visit_trip(u, place);
        uint32_t i = u->repeats;
        while (i > 0 && ++u->symbols[symbol[i - 1]] == graph_node(u->graph, u->repeat[i - 1])->hi) {
            u->symbols[symbol[i - 1]] = graph_node(u->graph, u->repeat[i - 1])->lo;
            i--;
        }
        if (i == 0) return;
    }
}

static void visit_all(const Plan *plan, OpId op, WeightVisit *visit, void *user) {
    Unfold u = {.plan = plan, .graph = plan->graph, .visit = visit, .user = user};
    for (NodeId id = 1; id < plan->graph->nodes.len; id++) {
        const Node *node = graph_node(plan->graph, id);
        if (node->kind != NODE_OP || node->op != op) continue;
        const Placement *place = plan_placement(plan, node->result[0]);
        if (!place) continue;
        u.node = id;
        find_repeats(&u);
        visit_trips(&u, place);
    }
}

void weights_visit(const Plan *plan, WeightVisit *visit, void *user) {
    visit_all(plan, OP_PARAM, visit, user);
}

void states_visit(const Plan *plan, WeightVisit *visit, void *user) {
    visit_all(plan, OP_STATE, visit, user);
}

void consts_write(const Plan *plan, Text *out) {
    static const char zeros[256];
    const Graph *g = plan->graph;
    int64_t total = 0;
    if (plan->const_bytes) dim_is_const(g->dims, plan->const_bytes, &total);
    while (out->len < (size_t)total) {
        size_t gap = (size_t)total - out->len;
        text_write(out, zeros, gap < sizeof zeros ? gap : sizeof zeros);
    }
    for (NodeId id = 1; id < g->nodes.len; id++) { // placed in any order
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || node->op != OP_CONST) continue;
        const Placement *place = plan_placement(plan, node->result[0]);
        int64_t offset = 0, elements = 0;
        if (!place || place->kind != BUF_CONST) continue;
        const Type *type = &graph_value(g, node->result[0])->type;
        dim_is_const(g->dims, place->offset, &offset);
        dim_is_const(g->dims, type_elements(g->dims, type), &elements);
        for (int64_t i = 0; i < elements; i++) {
            int64_t at = offset + i * dtype_bytes(type->dtype);
            number_store(type->dtype, node->decl->const_data[i], out->data + at);
        }
    }
}
