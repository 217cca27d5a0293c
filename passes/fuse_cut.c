// Where one group ends and the next begins: a map at the end of a group that only a row behind it
// reads is computed in the row instead, if less then goes through memory. A norm after a product,
// for example, reads the product's f16 and not its f32 square; a mean over a map that a depthwise
// convolution made, the map's f16.
#include "passes/fuse.h"

static bool only_read_by(const Fuser *f, ValueId value, uint32_t group) {
    const Group *reader = &f->groups.at[group];
    uint32_t uses = 0;
    for (uint32_t i = 0; i < reader->nodes.len; i++) {
        const Node *node = graph_node(f->g, reader->nodes.at[i]);
        for (uint32_t j = 0; j < node->operands; j++) uses += node->operand[j] == value;
    }
    return !f->stored[value] && uses == f->uses[value];
}

// Whether something outside its group reads the value, so that memory holds it anyway.
static bool leaves_group(const Fuser *f, ValueId value) {
    uint32_t group = f->group[graph_value(f->g, value)->node], inside = 0;
    for (uint32_t i = 0; i < f->groups.at[group].nodes.len; i++) {
        const Node *node = graph_node(f->g, f->groups.at[group].nodes.at[i]);
        for (uint32_t j = 0; j < node->operands; j++) inside += node->operand[j] == value;
    }
    return f->stored[value] || inside < f->uses[value];
}

static unsigned bits(const Fuser *f, ValueId value) {
    return dtype_bits(graph_value(f->g, value)->type.dtype);
}

// Bits an element that memory would hold more if the node moved out of its group.
static unsigned added_bits(const Fuser *f, const Node *node) {
    unsigned added = 0;
    for (uint32_t i = 0; i < node->operands; i++) {
        ValueId value = node->operand[i];
        NodeId from = value ? graph_value(f->g, value)->node : 0;
        bool again = false; // x * x reads x once
        for (uint32_t j = 0; j < i; j++) again |= node->operand[j] == value;
        if (!from || again || f->group[from] != f->group[graph_value(f->g, node->result[0])->node])
            continue;
        if (!leaves_group(f, value)) added += bits(f, value);
    }
    return added;
}

static void remove_node(Fuser *f, uint32_t id, NodeId node) {
    Group *group = &f->groups.at[id];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < group->nodes.len; i++)
        if (group->nodes.at[i] != node) group->nodes.at[kept++] = group->nodes.at[i];
    group->nodes.len = kept;
}

static void insert_node(Fuser *f, uint32_t id, NodeId node) {
    Group *group = &f->groups.at[id];
    vec_push(f->arena, &group->nodes, node);
    for (uint32_t i = group->nodes.len - 1; i > 0 && group->nodes.at[i - 1] > node; i--) {
        group->nodes.at[i] = group->nodes.at[i - 1];
        group->nodes.at[i - 1] = node;
    }
    if (node < group->first) group->first = node;
    f->group[node] = id;
}

// Moves the map that defines `value` into the row `id` that reads it; false if it stays.
static bool take_over(Fuser *f, uint32_t id, ValueId value) {
    NodeId node_id = graph_value(f->g, value)->node;
    uint32_t from = node_id ? f->group[node_id] : 0;
    if (!from || from == id) return false;
    Family family = f->groups.at[from].family;
    if (family != FAMILY_CONTRACT && family != FAMILY_ROW) return false;
    const Node *node = graph_node(f->g, node_id);
    const Type *type = &graph_value(f->g, value)->type;
    if (op_info(node->op)->class != OC_MAP || !only_read_by(f, value, id)) return false;
    if (fuse_kind(f, &f->groups.at[id], type) != KIND_FULL) return false;
    if (fuse_reads_part(f, from, node_id) || added_bits(f, node) >= bits(f, value)) return false;
    remove_node(f, from, node_id);
    insert_node(f, id, node_id);
    return true;
}

void fuse_cut(Fuser *f, uint32_t first_group) {
    for (uint32_t id = first_group; id < f->groups.len; id++) {
        if (f->groups.at[id].dead || f->groups.at[id].family != FAMILY_ROW) continue;
        for (uint32_t i = 0; i < f->groups.at[id].nodes.len; i++) {
            const Node *node = graph_node(f->g, f->groups.at[id].nodes.at[i]);
            bool moved = false;
            for (uint32_t j = 0; j < node->operands && !moved; j++)
                moved = node->operand[j] && take_over(f, id, node->operand[j]);
            if (moved) i = UINT32_MAX; // from the start: its operands may follow
        }
    }
}
