#include "ir/graph_names.h"

#include <string.h>

// ---- positions and uses ----

static void number_region(PrintNames *names, RegionId region, uint32_t *position) {
    const Region *body = &names->g->regions.at[region];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        NodeId id = body->nodes.at[i];
        names->order[id] = ++*position;
        if (graph_node(names->g, id)->kind != NODE_OP) {
            number_region(names, graph_node(names->g, id)->body, position);
        }
    }
    names->end[region] = ++*position;
}

// A number prints as an operand where another operand says which dtype it has.
static bool literal_fits(const Graph *g, const Node *consumer, uint32_t operand) {
    const OpInfo *op = op_info(consumer->op);
    if (op->class == OC_MOVE || op_operand_spec(op, operand)->dtype != OD_SAME) return false;
    for (uint32_t i = 0; i < consumer->operands; i++) {
        if (consumer->operand[i] && op_operand_spec(op, i)->dtype == OD_SAME &&
            !graph_is_literal(g, consumer->operand[i])) {
            return true;
        }
    }
    return false;
}

static NodeId op_of(const Graph *g, ValueId value) {
    NodeId id = value ? graph_value(g, value)->node : 0;
    return id && graph_node(g, id)->kind == NODE_OP ? id : 0;
}

static void print_alone(PrintNames *names, ValueId value) {
    NodeId id = op_of(names->g, value);
    if (id) names->nested[id] = false;
}

static void find_nested(PrintNames *names) {
    const Graph *g = names->g;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        names->nested[id] = node->kind == NODE_OP && node->inline_view;
    }
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        for (uint32_t i = 0; i < node->operands; i++) {
            if (node->kind == NODE_REPEAT) {
                print_alone(names, node->operand[i]);
                print_alone(names, node->yield[i]);
            } else if (graph_is_literal(g, node->operand[i]) && !literal_fits(g, node, i)) {
                print_alone(names, node->operand[i]);
            }
        }
        for (uint32_t i = 0; node->kind == NODE_FUSED && i < node->results; i++) {
            print_alone(names, node->result[i]);
        }
    }
    for (uint32_t i = 0; i < g->outputs.len; i++) print_alone(names, g->outputs.at[i].value);
}

static void read_at(PrintNames *names, ValueId value, uint32_t position) {
    if (!value) return;
    if (names->last_use[value] < position) names->last_use[value] = position;
    NodeId id = op_of(names->g, value);
    if (!id || !names->nested[id]) return;
    const Node *node = graph_node(names->g, id);
    for (uint32_t i = 0; i < node->operands; i++) read_at(names, node->operand[i], position);
}

static void find_uses(PrintNames *names) {
    const Graph *g = names->g;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (names->nested[id]) continue;
        for (uint32_t i = 0; i < node->operands; i++) {
            read_at(names, node->operand[i], names->order[id]);
            if (node->kind == NODE_REPEAT) read_at(names, node->yield[i], names->end[node->body]);
        }
    }
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        read_at(names, g->outputs.at[i].value, UINT32_MAX); // where an output stands is open yet
    }
}

// ---- names ----

static const char *own_name(const PrintNames *names, ValueId value) {
    const char *name = graph_value(names->g, value)->name;
    static const char *const words[] = {"fused", "ir", "loc"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(name, words[i]) == 0) return arena_printf(names->arena, "%s.0", name);
    }
    return name;
}

static RegionId region_around(const Graph *g, RegionId region) {
    return graph_node(g, g->regions.at[region].owner)->region;
}

// The statement that `id` is or stands in, in the innermost region where it and `value` are both
// visible.
static NodeId common_statement(const Graph *g, NodeId id, ValueId value) {
    for (RegionId region = graph_value(g, value)->region;; region = region_around(g, region)) {
        NodeId statement = id;
        while (statement && graph_node(g, statement)->region != region) {
            statement = g->regions.at[graph_node(g, statement)->region].owner;
        }
        if (statement) return statement;
    }
}

// The region where a value is visible by its definition alone: a fused group shows its results.
static RegionId visible_region(const Graph *g, ValueId value) {
    RegionId region = graph_value(g, value)->region;
    while (g->regions.at[region].owner &&
           graph_node(g, g->regions.at[region].owner)->kind == NODE_FUSED) {
        region = region_around(g, region);
    }
    return region;
}

static const char *free_name(PrintNames *names, const char *base) {
    for (unsigned number = 1;; number++) {
        const char *name = arena_printf(names->arena, "%s.%u", base, number);
        bool taken = graph_find(names->g, name) != 0;
        for (ValueId i = 1; !taken && i < names->g->values.len; i++) {
            taken = names->alias[i] && strcmp(names->alias[i], name) == 0;
        }
        if (!taken) return name;
    }
}

// From node `by` on, value's name means something else.
static void move_name(PrintNames *names, ValueId value, NodeId by) {
    names->moved[value] = names->order[by];
    if (names->last_use[value] <= names->order[by]) return;
    NodeId before = common_statement(names->g, by, value);
    names->alias[value] = free_name(names, names->shown[value]);
    names->next_alias[value] = names->first_alias[before];
    names->first_alias[before] = value;
}

static bool declared(const Graph *g, ValueId value) {
    NodeId id = op_of(g, value);
    return id && (graph_node(g, id)->decl || op_info(graph_node(g, id)->op)->class == OC_STATE);
}

static bool carried_once(const ValueId *list, uint32_t count, ValueId value) {
    uint32_t times = 0;
    for (uint32_t i = 0; i < count; i++) times += list[i] == value;
    return times == 1;
}

// May the initial value lend its name to the loop?
static bool lends_name(PrintNames *names, const Node *repeat, NodeId id, ValueId init) {
    return !declared(names->g, init) && visible_region(names->g, init) == repeat->region &&
           names->last_use[init] <= names->order[id] &&
           carried_once(repeat->operand, repeat->operands, init);
}

// May the line that defines the yield be the assignment to the carried name?
static bool assigns_carried(PrintNames *names, const Node *repeat, uint32_t slot) {
    ValueId yield = repeat->yield[slot], param = repeat->param[slot];
    NodeId id = op_of(names->g, yield);
    if (!id || declared(names->g, yield)) return false;
    return !names->nested[id] && visible_region(names->g, yield) == repeat->body &&
           names->last_use[param] <= names->order[id] &&
           carried_once(repeat->yield, repeat->operands, yield);
}

static void name_region(PrintNames *names, RegionId region);

static void name_repeat(PrintNames *names, NodeId id) {
    const Graph *g = names->g;
    const Node *node = graph_node(g, id);
    for (uint32_t i = 0; i < node->operands; i++) {
        const char *name;
        if (graph_state_of(g, node->operand[i])) {
            name = names->shown[node->operand[i]];
            move_name(names, node->operand[i], id);
        } else if (lends_name(names, node, id, node->operand[i])) {
            name = names->shown[node->operand[i]];
        } else {
            name = own_name(names, node->result[i]);
        }
        names->shown[node->param[i]] = names->shown[node->result[i]] = name;
    }
    for (uint32_t i = 0; i < node->operands; i++) {
        if (graph_state_of(g, node->operand[i])) {
            names->assigned[node->result[i]] = true;
        } else if (assigns_carried(names, node, i)) {
            names->shown[node->yield[i]] = names->shown[node->result[i]];
            names->assigned[node->result[i]] = true;
        }
    }
    name_region(names, node->body);
    for (uint32_t i = 0; i < node->operands; i++) { // an inner repeat that goes on with the name
        if (graph_value(g, node->yield[i])->node &&
            graph_node(g, graph_value(g, node->yield[i])->node)->kind == NODE_REPEAT &&
            strcmp(names->shown[node->yield[i]], names->shown[node->result[i]]) == 0) {
            names->assigned[node->result[i]] = true;
        }
    }
}

static void name_region(PrintNames *names, RegionId region) {
    const Graph *g = names->g;
    const Region *body = &g->regions.at[region];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        NodeId id = body->nodes.at[i];
        const Node *node = graph_node(g, id);
        if (node->kind == NODE_REPEAT) {
            name_repeat(names, id);
        } else if (node->kind == NODE_FUSED) {
            name_region(names, node->body);
        } else if (node->op == OP_UPDATE) {
            names->shown[node->result[0]] = names->shown[node->operand[0]];
            move_name(names, node->operand[0], id);
        } else {
            for (uint32_t j = 0; j < node->results; j++) {
                ValueId value = node->result[j];
                if (!names->shown[value]) names->shown[value] = own_name(names, value);
            }
        }
    }
}

void graph_name_values(const Graph *g, Arena *arena, PrintNames *names) {
    uint32_t nodes = g->nodes.len, values = g->values.len, position = 0;
    *names = (PrintNames){
        .g = g,
        .arena = arena,
        .order = arena_alloc(arena, nodes * sizeof(uint32_t)),
        .end = arena_alloc(arena, g->regions.len * sizeof(uint32_t)),
        .last_use = arena_alloc(arena, values * sizeof(uint32_t)),
        .nested = arena_alloc(arena, nodes * sizeof(bool)),
        .shown = arena_alloc(arena, values * sizeof(char *)),
        .alias = arena_alloc(arena, values * sizeof(char *)),
        .moved = arena_alloc(arena, values * sizeof(uint32_t)),
        .first_alias = arena_alloc(arena, nodes * sizeof(ValueId)),
        .next_alias = arena_alloc(arena, values * sizeof(ValueId)),
        .assigned = arena_alloc(arena, values * sizeof(bool)),
    };
    number_region(names, 1, &position);
    find_nested(names);
    find_uses(names);
    name_region(names, 1);
}

const char *graph_shown_name(const PrintNames *names, ValueId value, uint32_t position) {
    if (names->alias[value] && position > names->moved[value]) return names->alias[value];
    return names->shown[value];
}
