#include "passes/fuse.h"

#include <stdlib.h>

// A search for a cycle that has followed so many reads gives up and says that there is one: groups
// are then smaller than they could be, but the time stays in proportion to the graph.
enum { GROUP_NODES_MAX = 128, GROUP_REDUCES_MAX = 8, SEARCH_MAX = 1024 };

static uint32_t reduces(const Fuser *f, const Group *group) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->nodes.len; i++)
        count += graph_op(f->g, group->nodes.at[i])->class == OC_REDUCE;
    return count;
}

// What the search for cycles walks over: the nodes of the region that a node reads.
static void add_dep(const Fuser *f, ValueId value, NodeList *deps) {
    NodeId node = value ? graph_value(f->g, fuse_base(f->g, value))->node : 0;
    if (node && graph_node(f->g, node)->region == f->region) vec_push(f->arena, deps, node);
}

static void deps_of_region(const Fuser *f, RegionId region, NodeList *deps);

static void deps_of(const Fuser *f, NodeId id, NodeList *deps) {
    const Node *node = graph_node(f->g, id);
    for (uint32_t i = 0; i < node->operands; i++) add_dep(f, node->operand[i], deps);
    if (node->kind == NODE_REPEAT) {
        for (uint32_t i = 0; i < node->operands; i++) add_dep(f, node->yield[i], deps);
        deps_of_region(f, node->body, deps);
    }
    if (node->kind != NODE_OP || node->op != OP_UPDATE) return;
    const Region *region = &f->g->regions.at[f->region]; // readers of the old version come first
    for (uint32_t i = 0; i < region->nodes.len && region->nodes.at[i] < id; i++) {
        const Node *reader = graph_node(f->g, region->nodes.at[i]);
        for (uint32_t j = 0; j < reader->operands && !reader->inline_view; j++)
            if (reader->operand[j] && fuse_base(f->g, reader->operand[j]) == node->operand[0])
                vec_push(f->arena, deps, region->nodes.at[i]);
    }
}

static void deps_of_region(const Fuser *f, RegionId region, NodeList *deps) {
    const Region *nodes = &f->g->regions.at[region];
    for (uint32_t i = 0; i < nodes->nodes.len; i++) deps_of(f, nodes->nodes.at[i], deps);
}

// Pushes what the unit of `id` (its group, or itself) reads outside of it.
static void unit_deps(const Fuser *f, NodeId id, NodeList *deps) {
    uint32_t unit = f->group[id];
    if (!unit) {
        deps_of(f, id, deps);
        return;
    }
    const Group *group = &f->groups.at[unit];
    for (uint32_t i = 0; i < group->nodes.len; i++) deps_of(f, group->nodes.at[i], deps);
}

static uint32_t unit_last(const Fuser *f, NodeId id) {
    return f->group[id] ? f->groups.at[f->group[id]].last : id;
}

// Whether any of f->deps, read by a unit, needs results of the group `target` by way of others:
// nodes of `target` itself in the list do not count. Those of the group `skip`, the unit, are not
// followed.
static bool reaches(Fuser *f, uint32_t target, uint32_t skip) {
    uint32_t stamp = ++f->searches, seen = 0;
    NodeList *work = &f->work;
    work->len = 0;
    for (uint32_t i = 0; i < f->deps.len; i++)
        if (f->group[f->deps.at[i]] != target) vec_push(f->arena, work, f->deps.at[i]);
    while (work->len) {
        NodeId id = work->at[--work->len];
        if (f->group[id] == target || ++seen == SEARCH_MAX) return true;
        if (f->stamp[id] == stamp || (skip && f->group[id] == skip)) continue;
        f->stamp[id] = stamp;
        if (unit_last(f, id) < f->groups.at[target].first) continue;
        unit_deps(f, id, work);
    }
    return false;
}

// Joining would make a cycle when something outside the group that the node reads needs the group.
static bool makes_cycle(Fuser *f, uint32_t group, NodeId id) {
    f->deps.len = 0;
    deps_of(f, id, &f->deps);
    return reaches(f, group, 0);
}

static void append(Fuser *f, uint32_t id, NodeId node) {
    Group *group = &f->groups.at[id];
    vec_push(f->arena, &group->nodes, node);
    if (node > group->last) group->last = node;
    f->group[node] = id;
}

// Attention stores its result as copies and updates have it; nothing else joins a single node.
static bool joins_single(const Fuser *f, uint32_t id, NodeId node) {
    const Node *store = graph_node(f->g, node);
    if (graph_op(f->g, f->groups.at[id].nodes.at[0])->class != OC_ATTENTION) return false;
    if (store->op != OP_UPDATE && op_info(store->op)->class != OC_MOVE) return false;
    NodeId from = graph_value(f->g, fuse_base(f->g, store->operand[store->op == OP_UPDATE]))->node;
    return from && f->group[from] == id;
}

static bool try_join(Fuser *f, uint32_t id, NodeId node) {
    Group *group = &f->groups.at[id], reduced;
    if (group->family == FAMILY_SINGLE && !joins_single(f, id, node)) return false;
    if (group->constant != f->constant[node] || group->nodes.len >= GROUP_NODES_MAX) {
        return false;
    }
    OpClass class = graph_op(f->g, node)->class;
    if (class == OC_CONTRACT || class == OC_TRANSFORM || class == OC_SOURCE || class == OC_SCAN)
        return false;
    if (class == OC_REDUCE && reduces(f, group) == GROUP_REDUCES_MAX) return false;
    bool converts = class == OC_REDUCE && fuse_can_reduce(f, id, node, &reduced);
    converts |= class == OC_MAP && fuse_can_part(f, id, node, &reduced);
    if (class == OC_REDUCE && group->family == FAMILY_CONTRACT && !converts) return false;
    if (!converts && !fuse_allows(f, id, node)) return false;
    if (makes_cycle(f, id, node)) return false;
    if (converts) f->groups.at[id] = reduced;
    append(f, id, node);
    return true;
}

// The group that both would make, as far as their families and shapes go.
static bool merged_form(const Group *a, const Group *b, Group *out) {
    const Group *main = a->family >= b->family ? a : b, *other = main == a ? b : a;
    if (a->constant != b->constant || a->family == FAMILY_SINGLE || b->family == FAMILY_SINGLE)
        return false;
    if (a->nodes.len + b->nodes.len > GROUP_NODES_MAX) return false;
    if (main->family >= FAMILY_CONTRACT && other->family != FAMILY_MAP) return false;
    if (other->family == FAMILY_ROW &&
        (main->reduced != other->reduced || !build_same_shape(&main->full, &other->full))) {
        return false;
    }
    *out = *main;
    out->first = a->first < b->first ? a->first : b->first;
    out->last = a->last > b->last ? a->last : b->last;
    return true;
}

static int by_place(const void *a, const void *b) {
    NodeId x = *(const NodeId *)a, y = *(const NodeId *)b;
    return x < y ? -1 : x > y;
}

// Whether a path leaves group `from`, passes through others, and enters group `to`'s results.
static bool path_around(Fuser *f, uint32_t from, uint32_t to) {
    const Group *group = &f->groups.at[from];
    f->deps.len = 0;
    for (uint32_t i = 0; i < group->nodes.len; i++) deps_of(f, group->nodes.at[i], &f->deps);
    return reaches(f, to, from);
}

static void set_group(Fuser *f, const Group *group, uint32_t id) {
    for (uint32_t i = 0; i < group->nodes.len; i++) f->group[group->nodes.at[i]] = id;
}

static bool try_merge(Fuser *f, uint32_t into, uint32_t from) {
    Group form;
    if (into == from || !merged_form(&f->groups.at[into], &f->groups.at[from], &form)) return false;
    if (reduces(f, &f->groups.at[into]) + reduces(f, &f->groups.at[from]) > GROUP_REDUCES_MAX)
        return false;
    if (path_around(f, into, from) || path_around(f, from, into)) return false;
    Group a = f->groups.at[into], b = f->groups.at[from];
    form.nodes.at = NULL;
    form.nodes.len = form.nodes.cap = 0;
    for (uint32_t i = 0; i < a.nodes.len; i++) vec_push(f->arena, &form.nodes, a.nodes.at[i]);
    for (uint32_t i = 0; i < b.nodes.len; i++) vec_push(f->arena, &form.nodes, b.nodes.at[i]);
    qsort(form.nodes.at, form.nodes.len, sizeof *form.nodes.at, by_place);
    f->groups.at[into] = form;
    set_group(f, &form, into);
    bool allowed = true;
    for (uint32_t i = 0; i < form.nodes.len && allowed; i++)
        allowed = fuse_allows(f, into, form.nodes.at[i]);
    if (allowed) {
        f->groups.at[from].dead = true;
        return true;
    }
    f->groups.at[into] = a;
    set_group(f, &a, into);
    set_group(f, &b, from);
    return false;
}

// Groups that compute what the node reads, the latest first.
typedef VEC(uint32_t) GroupList;

static GroupList producers(const Fuser *f, NodeId id) {
    GroupList list = {0};
    const Node *node = graph_node(f->g, id);
    for (uint32_t i = 0; i < node->operands; i++) {
        NodeId from = graph_value(f->g, fuse_base(f->g, node->operand[i]))->node;
        if (!node->operand[i] || !from || graph_node(f->g, from)->region != f->region) continue;
        uint32_t group = f->group[from], at = 0;
        if (!group) continue;
        bool listed = false;
        for (uint32_t j = 0; j < list.len; j++) listed |= list.at[j] == group;
        if (listed) continue;
        vec_push(f->arena, &list, group);
        for (at = list.len - 1; at > 0; at--) {
            if (f->groups.at[list.at[at - 1]].last > f->groups.at[group].last) break;
            list.at[at] = list.at[at - 1];
        }
        list.at[at] = group;
    }
    return list;
}

static void place(Fuser *f, NodeId id) {
    GroupList list = producers(f, id);
    for (uint32_t i = 0; i < list.len && !f->group[id]; i++)
        if (f->groups.at[list.at[i]].parts || fuse_reads_part(f, list.at[i], id))
            try_join(f, list.at[i], id);
    for (uint32_t i = 0; i < list.len && !f->group[id]; i++) try_join(f, list.at[i], id);
    if (!f->group[id]) {
        Group alone = fuse_alone(f, id);
        vec_push(f->arena, &f->groups, alone);
        f->group[id] = f->groups.len - 1;
    }
    for (uint32_t i = 0; i < list.len; i++)
        if (!f->groups.at[list.at[i]].dead) try_merge(f, f->group[id], list.at[i]);
}

// Merges groups that read the same tensor of their full shape: it is then loaded once.
static void share(Fuser *f, uint32_t first_group) {
    uint32_t *reader = arena_alloc(f->arena, f->g->values.len * sizeof *reader);
    for (uint32_t id = first_group; id < f->groups.len; id++) {
        Family family = f->groups.at[id].family;
        if (f->groups.at[id].dead || family > FAMILY_ROW) continue;
        for (uint32_t i = 0; i < f->groups.at[id].nodes.len; i++) {
            const Node *node = graph_node(f->g, f->groups.at[id].nodes.at[i]);
            for (uint32_t j = 0; j < node->operands; j++) {
                ValueId value = node->operand[j];
                if (!value) continue;
                const Type *type = &graph_value(f->g, value)->type;
                if (!build_same_shape(type, &f->groups.at[id].full)) continue;
                uint32_t other = reader[value];
                bool fits = other && other != id && !f->groups.at[other].dead;
                if (fits && f->groups.at[other].family == family) try_merge(f, id, other);
                reader[value] = id;
            }
        }
    }
}

// Nodes that compute: those that will stand in groups.
static bool computes(const Fuser *f, NodeId id) {
    const Node *node = graph_node(f->g, id);
    if (!f->live[id] || node->kind != NODE_OP || node->inline_view) return false;
    switch (op_info(node->op)->class) {
    case OC_SOURCE:
        return (node->op == OP_FULL || node->op == OP_ARANGE) && f->stored[node->result[0]];
    case OC_STATE: return node->op == OP_UPDATE;
    default: return true;
    }
}

void fuse_region(Fuser *f, RegionId region) {
    const Region *nodes = &f->g->regions.at[region];
    for (uint32_t i = 0; i < nodes->nodes.len; i++) {
        const Node *node = graph_node(f->g, nodes->nodes.at[i]);
        if (node->kind == NODE_REPEAT && f->live[nodes->nodes.at[i]]) fuse_region(f, node->body);
    }
    f->region = region;
    uint32_t first = f->groups.len;
    for (uint32_t i = 0; i < nodes->nodes.len; i++)
        if (computes(f, nodes->nodes.at[i])) place(f, nodes->nodes.at[i]);
    fuse_check_parts(f, first);
    share(f, first); // once more after the cuts, as rows then read other tensors
    fuse_cut(f, first);
    share(f, first);
    fuse_prologue(f, first);
}
