// Fuse: gathers the computing nodes of each region into groups, one dispatch each, in program
// order. A node joins the latest group that it reads and may stand in; groups it reads are then
// merged into its own where that makes no cycle. Greedy, but every step saves a dispatch.
#include "passes/fuse.h"

#include <string.h>

// What a value depends on, least to most.
typedef enum Level { LEVEL_NUMBER, LEVEL_WEIGHT, LEVEL_RUN } Level;

// Whether only constants and the trips of repeats stand in the shape.
static bool has_constant_shape(const Graph *g, const Type *type) {
    for (uint32_t i = 0; i < type->rank; i++)
        if (!dim_is_const(g->dims, type->size[i], NULL)) return false;
    return true;
}

static Level level_of(const Graph *g, const Level *level, const Node *node) {
    switch (node->op) {
    case OP_FULL: return build_attr(node, "value")->is_size ? LEVEL_RUN : LEVEL_NUMBER;
    case OP_ARANGE: return LEVEL_NUMBER;
    case OP_PARAM:
    case OP_CONST: return LEVEL_WEIGHT;
    default: break;
    }
    OpClass class = op_info(node->op)->class;
    if (class == OC_SOURCE || class == OC_STATE) return LEVEL_RUN;
    if (!node->inline_view && !has_constant_shape(g, &graph_value(g, node->result[0])->type))
        return LEVEL_RUN;
    Level most = class == OC_MAP || class == OC_MOVE ? LEVEL_NUMBER : LEVEL_WEIGHT;
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && level[node->operand[i]] > most) most = level[node->operand[i]];
    return most;
}

// A cast of a weight is made where it is read, when maps of its own shape do so.
static bool cast_in_place(const Graph *g, const Fuser *f, const bool *map_reader, NodeId id) {
    const Node *node = graph_node(g, id);
    return node->op == OP_CAST && map_reader[node->result[0]] && !f->stored[node->result[0]];
}

// Which nodes depend on weights and constants only, and are worth computing once. What depends on
// numbers only goes with its readers.
static bool *find_constant(const Graph *g, const Fuser *f) {
    Level *level = arena_alloc(f->arena, g->values.len * sizeof *level);
    bool *constant = arena_alloc(f->arena, g->nodes.len * sizeof *constant);
    bool *map_reader = arena_alloc(f->arena, g->values.len * sizeof *map_reader);
    bool *run_reader = arena_alloc(f->arena, g->values.len * sizeof *run_reader);
    for (ValueId id = 1; id < g->values.len; id++) {
        level[id] = LEVEL_RUN;
        map_reader[id] = true;
    }
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || !f->live[id]) continue;
        Level own = level_of(g, level, node);
        for (uint32_t i = 0; i < node->results; i++) level[node->result[i]] = own;
        constant[id] = own == LEVEL_WEIGHT;
    }
    for (NodeId id = g->nodes.len; id-- > 1;) {
        const Node *node = graph_node(g, id);
        if (!f->live[id] || (node->kind == NODE_OP && !node->results)) continue;
        if (node->kind == NODE_OP && constant[id] && cast_in_place(g, f, map_reader, id))
            constant[id] = false;
        if (node->kind == NODE_OP && level[node->result[0]] == LEVEL_NUMBER) {
            ValueId value = node->result[0];
            constant[id] = f->uses[value] > 0 && !f->stored[value] && !run_reader[value];
        }
        for (uint32_t i = 0; i < node->operands; i++) {
            ValueId value = node->operand[i];
            if (!value) continue;
            run_reader[value] |= node->kind != NODE_OP || !constant[id];
            map_reader[value] &= node->kind == NODE_OP && op_info(node->op)->class == OC_MAP &&
                                 !constant[id] &&
                                 build_same_shape(&graph_value(g, value)->type,
                                                  &graph_value(g, node->result[0])->type);
        }
    }
    return constant;
}

static void find_uses(Fuser *f, uint32_t *uses, bool *stored) {
    const Graph *g = f->g;
    for (uint32_t i = 0; i < g->outputs.len; i++) stored[g->outputs.at[i].value] = true;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        for (uint32_t i = 0; i < node->operands && f->live[id]; i++) {
            uses[node->operand[i]]++;
            if (node->kind != NODE_REPEAT) continue;
            stored[node->operand[i]] = stored[node->yield[i]] = true;
        }
    }
}

bool pass_fuse(PassContext *ctx, const Graph *in, Graph **out) {
    Fuser f = {.ctx = ctx, .g = in, .dims = in->dims, .arena = arena_create()};
    f.live = graph_live_nodes(in);
    uint32_t *uses = arena_alloc(f.arena, in->values.len * sizeof *uses);
    bool *stored = arena_alloc(f.arena, in->values.len * sizeof *stored);
    f.uses = uses;
    f.stored = stored;
    find_uses(&f, uses, stored);
    f.constant = find_constant(in, &f);
    Readers readers = readers_find(in, f.arena);
    f.readers = &readers;
    f.group = arena_alloc(f.arena, in->nodes.len * sizeof *f.group);
    f.stamp = arena_alloc(f.arena, in->nodes.len * sizeof *f.stamp);
    vec_push(f.arena, &f.groups, (Group){0});
    fuse_region(&f, 1);
    bool good = fuse_emit(&f, out);
    arena_destroy(f.arena);
    return good;
}
