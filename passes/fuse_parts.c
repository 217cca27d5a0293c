// Maps that read a product in parts: neighbouring columns of it, which a kernel has side by side on
// their way out. The group's full shape is the product's, its last axis is taken away by the maps.
#include "passes/contract_shape.h"
#include "passes/fuse.h"

static bool in_group(const Fuser *f, uint32_t group, ValueId value) {
    NodeId node = graph_value(f->g, value)->node;
    return node && f->group[node] == group;
}

bool fuse_reads_part(const Fuser *f, uint32_t group, NodeId id) {
    const Node *node = graph_node(f->g, id);
    ValueId base;
    uint32_t cell;
    if (f->groups.at[group].family != FAMILY_CONTRACT) return false;
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && contract_part(f->g, node->operand[i], &base, &cell) &&
            in_group(f, group, base))
            return true;
    return false;
}

// The parts as which a value is read; false if something reads it otherwise.
static bool parts_of(const Fuser *f, ValueId value, ValueId *part, uint32_t *parts) {
    const Graph *g = f->g;
    uint32_t seen = 0, cell;
    for (uint32_t e = f->readers->first[value]; e; e = f->readers->edges.at[e].next, seen++) {
        const Node *node = graph_node(g, f->readers->edges.at[e].node);
        if (!node->inline_view || seen == CONTRACT_PARTS_MAX) return false;
        ValueId at = node->result[0], base;
        for (NodeId id; (id = readers_only(f->readers, f->uses, at)) != 0;) {
            node = graph_node(g, id);
            if (!node->inline_view || !move_is_reshape(node->op)) break;
            at = node->result[0];
        }
        if (!contract_part(g, at, &base, &cell)) return false;
        part[seen] = at;
    }
    *parts = seen;
    return seen > 0 && seen == f->uses[value] && !f->stored[value];
}

bool fuse_can_part(const Fuser *f, uint32_t id, NodeId node, Group *out) {
    const Group *group = &f->groups.at[id];
    const Graph *g = f->g;
    ValueId part[CONTRACT_PARTS_MAX];
    uint32_t parts;
    int64_t cells;
    if (group->reduced || group->nodes.len != 1 || group->constant || f->constant[node] ||
        !fuse_reads_part(f, id, node))
        return false;
    const Node *contract = graph_node(g, group->nodes.at[0]);
    const Type *y = &graph_value(g, contract->operand[1])->type;
    if (y->rank == build_attr(contract, "batch")->i + build_attr(contract, "k")->i) return false;
    uint32_t last = group->full.rank - 1u;
    if (!dim_is_const(f->dims, group->full.size[last], &cells) || (cells != 2 && cells != 4))
        return false;
    if (!parts_of(f, contract->result[0], part, &parts)) return false;
    for (uint32_t i = 0; i < parts; i++)
        if (f->stored[part[i]]) return false;
    if (!readers_close(f->readers, f->uses, part, parts)) return false;
    *out = *group;
    out->reduced = 1u << last;
    out->parts = true;
    return true;
}

static bool is_whole(const Fuser *f, uint32_t id) {
    const Group *group = &f->groups.at[id];
    ValueId part[CONTRACT_PARTS_MAX];
    uint32_t parts, i = 0;
    while (graph_node(f->g, group->nodes.at[i])->op != OP_CONTRACT) i++;
    if (!parts_of(f, graph_node(f->g, group->nodes.at[i])->result[0], part, &parts)) return false;
    for (uint32_t p = 0; p < parts; p++)
        for (uint32_t e = f->readers->first[part[p]]; e; e = f->readers->edges.at[e].next)
            if (f->group[f->readers->edges.at[e].node] != id) return false;
    return true;
}

void fuse_check_parts(Fuser *f, uint32_t first_group) {
    for (uint32_t id = first_group; id < f->groups.len; id++) {
        Group group = f->groups.at[id];
        if (group.dead || !group.parts || is_whole(f, id)) continue;
        for (uint32_t i = 0; i < group.nodes.len; i++) {
            NodeId node = group.nodes.at[i];
            Group alone = fuse_alone(f, node);
            if (alone.family == FAMILY_CONTRACT) {
                f->groups.at[id] = alone;
                continue;
            }
            vec_push(f->arena, &f->groups, alone);
            f->group[node] = f->groups.len - 1;
        }
    }
}
