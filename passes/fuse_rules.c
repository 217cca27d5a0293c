#include "passes/contract_shape.h"
#include "passes/fuse.h"

ValueId fuse_base(const Graph *g, ValueId value) {
    for (;;) {
        NodeId id = value ? graph_value(g, value)->node : 0;
        const Node *node = graph_node(g, id);
        if (!id || node->kind != NODE_OP || !node->inline_view || !node->operands) return value;
        value = node->operand[0];
    }
}

// The shape in which a node computes: an update's is that of the slice it writes.
static Type shape_of(const Graph *g, const Node *node) {
    Type type = graph_value(g, node->result[0])->type;
    if (node->op != OP_UPDATE) return type;
    for (uint32_t i = 0; i < type.rank; i++) {
        Dim start = build_attr(node, "starts")->sizes.at[i];
        Dim count = dim_sub(g->dims, build_attr(node, "stops")->sizes.at[i], start);
        Dim step = dim_const(g->dims, build_attr(node, "steps")->ints.at[i]);
        type.size[i] = dim_ceil_div(g->dims, count, step);
    }
    return type;
}

Kind fuse_kind(const Fuser *f, const Group *group, const Type *type) {
    const Type *full = &group->full;
    if (build_same_shape(type, full)) return KIND_FULL;
    uint32_t kept = 0, at = 0; // kept axes still to come, axes of `type` taken
    for (uint32_t i = 0; i < full->rank; i++) kept += !(group->reduced >> i & 1);
    if (!group->reduced || type->rank > full->rank) return KIND_NONE;
    for (uint32_t i = 0; i < full->rank; i++) {
        bool reduced = group->reduced >> i & 1;
        if (reduced && type->rank - at <= kept) continue; // dropped
        if (at == type->rank) return KIND_NONE;
        Dim size = type->size[at++];
        if (reduced ? !dim_is(f->dims, size, 1) : size != full->size[i]) return KIND_NONE;
        kept -= !reduced;
    }
    return at == type->rank ? KIND_KEPT : KIND_NONE;
}

// Whether a kept value of this type spreads along the reduced axes when it meets a full one.
static bool spreads(const Fuser *f, const Group *group, const Type *type) {
    const Type *full = &group->full;
    for (uint32_t back = 1; back <= full->rank; back++) {
        bool reduced = group->reduced >> (full->rank - back) & 1;
        Dim wanted = reduced ? dim_const(f->dims, 1) : full->size[full->rank - back];
        if (back > type->rank ? !reduced : type->size[type->rank - back] != wanted) return false;
    }
    return type->rank <= full->rank;
}

// Whether the views between a kept `value` and its base only put axes of size 1 where axes were
// reduced.
static bool only_expands(const Fuser *f, const Group *group, ValueId value) {
    const Graph *g = f->g;
    for (;;) {
        const Node *node = graph_node(g, graph_value(g, value)->node);
        if (!graph_value(g, value)->node || node->kind != NODE_OP || !node->inline_view)
            return true;
        if (!move_is_reshape(node->op)) return false;
        if (fuse_kind(f, group, &graph_value(g, value)->type) != KIND_KEPT) return false;
        value = node->operand[0];
    }
}

// One operand that the group itself computes, as a value of kind `kind` and type `type` reads it.
static bool edge_allowed(const Fuser *f, const Group *group, Kind kind, const Type *type,
                         ValueId operand) {
    ValueId base = fuse_base(f->g, operand);
    const Type *own = &graph_value(f->g, operand)->type;
    Kind from = fuse_kind(f, group, &graph_value(f->g, base)->type);
    if (from == KIND_NONE || kind == KIND_NONE) return false;
    if (from == kind) {
        if (!build_same_shape(own, type)) return false;
        return operand == base || (kind == KIND_KEPT && only_expands(f, group, operand));
    }
    uint32_t cell;
    if (group->parts && kind == KIND_KEPT) return contract_part(f->g, operand, &base, &cell);
    if (kind != KIND_FULL || group->family != FAMILY_ROW) return false;
    const Node *node = graph_node(f->g, graph_value(f->g, operand)->node);
    if (operand != base && node->op == OP_BROADCAST_TO) {
        operand = node->operand[0];
        own = &graph_value(f->g, operand)->type;
    }
    return spreads(f, group, own) && only_expands(f, group, operand);
}

// The axes that a reduce drops; 0 when it keeps them.
static uint32_t dropped_axes(const Graph *g, const Node *node) {
    if (build_attr(node, "keepdims")->i) return 0;
    return reduce_axes(node, graph_value(g, node->operand[0])->type.rank);
}

static bool in_group(const Fuser *f, uint32_t group, ValueId value) {
    NodeId node = graph_value(f->g, value)->node;
    return node && f->group[node] == group;
}

static bool reduce_allowed(const Fuser *f, uint32_t id, const Node *node) {
    const Group *group = &f->groups.at[id];
    ValueId operand = node->operand[0];
    if (group->family == FAMILY_MAP || group->reduced != dropped_axes(f->g, node)) return false;
    if (fuse_kind(f, group, &graph_value(f->g, operand)->type) != KIND_FULL) return false;
    return operand == fuse_base(f->g, operand) || !in_group(f, id, fuse_base(f->g, operand));
}

// Whether all that reads the value is nodes of the group, directly.
static bool only_read_inside(const Fuser *f, const Group *group, ValueId value) {
    uint32_t uses = 0;
    for (uint32_t i = 0; i < group->nodes.len; i++) {
        const Node *node = graph_node(f->g, group->nodes.at[i]);
        for (uint32_t j = 0; j < node->operands; j++) uses += node->operand[j] == value;
    }
    return !f->stored[value] && uses == f->uses[value];
}

// An update of a map's group that stores a reshape of what it computes.
static bool update_allowed(const Fuser *f, uint32_t id, const Node *node, const Type *slice) {
    const Group *group = &f->groups.at[id];
    ValueId value = node->operand[1];
    const Type *type = &graph_value(f->g, value)->type;
    if (group->family != FAMILY_MAP || !build_same_shape(type, slice)) return false;
    for (const Node *from; value != fuse_base(f->g, value); value = from->operand[0]) {
        from = graph_node(f->g, graph_value(f->g, value)->node);
        if (!move_is_reshape(from->op)) return false;
    }
    return in_group(f, id, value) &&
           fuse_kind(f, group, &graph_value(f->g, value)->type) == KIND_FULL;
}

// The shortest run of neighbours worth storing where what computes them has another order.
enum { RUN_MIN = 8 };

static bool stores_runs(const Fuser *f, const View *view) {
    int64_t size;
    int last = view->digits - 1;
    while (last >= 0 && dim_is(f->dims, view->digit[last].size, 1)) last--;
    if (last < 0) return true;
    bool run =
        view->digit[last].axis + 1 == view->rank && dim_is(f->dims, view->digit[last].stride, 1);
    return run && (!dim_is_const(f->dims, view->digit[last].size, &size) || size >= RUN_MIN);
}

// A copy or an update that stores a view of what the group computes: the moves are undone where it
// is stored. Only a product leaves parts of itself out, as it is worth a dispatch.
static bool store_allowed(const Fuser *f, uint32_t id, const Node *node) {
    const Group *group = &f->groups.at[id];
    ValueId source;
    View view;
    if (group->family == FAMILY_TRANSFORM) return false;
    if (!graph_store_view(f->g, node->result[0], &source, &view) || view.inner) return false;
    if (!in_group(f, id, source) || !stores_runs(f, &view)) return false;
    if (view.guards && group->family != FAMILY_CONTRACT) return false;
    Kind kind = fuse_kind(f, group, &graph_value(f->g, source)->type);
    bool kept = group->family == FAMILY_CONTRACT && (group->reduced || group->parts);
    return kind == (kept ? KIND_KEPT : KIND_FULL);
}

// A transform reads what maps of its group compute, or memory; nobody else may read such maps, as
// tiles overlap.
static bool transform_allowed(const Fuser *f, uint32_t id, const Node *node) {
    const Group *group = &f->groups.at[id];
    if (group->family != FAMILY_TRANSFORM) return false;
    ValueId operand = node->operand[0];
    if (!in_group(f, id, fuse_base(f->g, operand))) return true;
    return node->op != OP_WINOGRAD_OUTPUT && operand == fuse_base(f->g, operand) &&
           fuse_kind(f, group, &graph_value(f->g, operand)->type) == KIND_FULL;
}

// Whether a map may stand in the group of a transform: behind one that makes an image, or in front
// of one that reads an image, as far as nothing else reads it.
static bool beside_transform(const Fuser *f, const Group *group, const Node *node) {
    for (uint32_t i = 0; i < group->nodes.len; i++) {
        const Node *other = graph_node(f->g, group->nodes.at[i]);
        if (op_info(other->op)->class == OC_TRANSFORM && other->op != OP_WINOGRAD_OUTPUT)
            return node->op != OP_UPDATE && only_read_inside(f, group, node->result[0]);
    }
    return true;
}

// A contract reads its operands from memory.
static bool contract_allowed(const Fuser *f, uint32_t id, const Node *node) {
    return f->groups.at[id].family == FAMILY_CONTRACT &&
           !in_group(f, id, fuse_base(f->g, node->operand[0])) &&
           !in_group(f, id, fuse_base(f->g, node->operand[1]));
}

// A copy that is a reshape of what the group computes: stored in the same order.
static bool copy_allowed(const Fuser *f, uint32_t id, const Node *node) {
    const Group *group = &f->groups.at[id];
    ValueId operand = node->operand[0];
    if (!move_is_reshape(node->op) || !in_group(f, id, operand)) return false;
    Kind kind = fuse_kind(f, group, &graph_value(f->g, operand)->type);
    if (group->family == FAMILY_CONTRACT && group->reduced) return kind == KIND_KEPT;
    return kind != KIND_NONE;
}

static bool reads_base(const Fuser *f, const Node *node, ValueId base) {
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && fuse_base(f->g, node->operand[i]) == base) return true;
    return false;
}

// A group that writes a state neither reads what it overwrites nor what it has written: its
// elements are computed in no order.
static bool update_races(const Fuser *f, uint32_t id, const Node *node) {
    const Group *group = &f->groups.at[id];
    for (uint32_t i = 0; i < group->nodes.len; i++) {
        const Node *other = graph_node(f->g, group->nodes.at[i]);
        if (other == node) continue;
        if (node->op == OP_UPDATE &&
            (reads_base(f, other, node->operand[0]) || reads_base(f, other, node->result[0]))) {
            return true;
        }
        if (other->op == OP_UPDATE &&
            (reads_base(f, node, other->operand[0]) || reads_base(f, node, other->result[0]))) {
            return true;
        }
    }
    return node->op == OP_UPDATE && fuse_base(f->g, node->operand[1]) == node->operand[0];
}

bool fuse_allows(const Fuser *f, uint32_t id, NodeId node_id) {
    const Group *group = &f->groups.at[id];
    const Node *node = graph_node(f->g, node_id);
    OpClass class = op_info(node->op)->class;
    if (update_races(f, id, node)) return false;
    if (class == OC_REDUCE) return reduce_allowed(f, id, node);
    if (class == OC_CONTRACT) return contract_allowed(f, id, node);
    if (class == OC_TRANSFORM) return transform_allowed(f, id, node);
    if (group->family == FAMILY_TRANSFORM && !beside_transform(f, group, node)) return false;
    if (class == OC_MOVE && in_group(f, id, fuse_base(f->g, node->operand[0])))
        return copy_allowed(f, id, node) || store_allowed(f, id, node);
    Type type = shape_of(f->g, node);
    Kind kind = fuse_kind(f, group, &type);
    if (node->op == OP_UPDATE && (update_allowed(f, id, node, &type) || store_allowed(f, id, node)))
        return true;
    if (kind == KIND_NONE) return false;
    if (group->family == FAMILY_CONTRACT && group->reduced && kind == KIND_FULL &&
        !only_read_inside(f, group, node->result[0])) {
        return false;
    }
    for (uint32_t i = node->op == OP_UPDATE; i < node->operands; i++) {
        ValueId operand = node->operand[i];
        if (!operand || !in_group(f, id, fuse_base(f->g, operand))) continue;
        if (class == OC_GATHER) return false; // it reads elements other than its own
        if (!edge_allowed(f, group, kind, &type, operand)) return false;
    }
    return true;
}

Group fuse_alone(const Fuser *f, NodeId id) {
    const Node *node = graph_node(f->g, id);
    Group group = {
        .full = shape_of(f->g, node), .constant = f->constant[id], .first = id, .last = id};
    switch (op_info(node->op)->class) {
    case OC_MAP:
    case OC_MOVE:
    case OC_GATHER:
    case OC_SOURCE:
    case OC_STATE: group.family = FAMILY_MAP; break;
    case OC_REDUCE:
        group.family = FAMILY_ROW;
        group.full = graph_value(f->g, node->operand[0])->type;
        group.reduced = dropped_axes(f->g, node);
        break;
    case OC_CONTRACT: group.family = FAMILY_CONTRACT; break;
    case OC_TRANSFORM:
        group.family = FAMILY_TRANSFORM;
        if (node->op != OP_WINOGRAD_OUTPUT) group.full = graph_value(f->g, node->operand[0])->type;
        break;
    default: group.family = FAMILY_SINGLE; break;
    }
    vec_push(f->arena, &group.nodes, id);
    return group;
}

// Pooling: over at most so many elements, which one invocation of a contract holds.
enum { POOL_MAX = 16 };

static const Node *contract_of(const Fuser *f, const Group *group) {
    uint32_t i = 0;
    while (graph_node(f->g, group->nodes.at[i])->op != OP_CONTRACT) i++;
    return graph_node(f->g, group->nodes.at[i]);
}

static bool can_pool(const Fuser *f, uint32_t id, const Node *node, uint32_t axes) {
    const Group *group = &f->groups.at[id];
    ValueId operand = node->operand[0];
    const Node *contract = contract_of(f, group);
    if (node->op == OP_ARGMAX || node->op == OP_ARGMIN) return false;
    const Type *y = &graph_value(f->g, contract->operand[1])->type;
    int64_t own = y->rank - build_attr(contract, "batch")->i - build_attr(contract, "k")->i;
    int64_t elements = 1, size;
    uint32_t rank = group->full.rank, last = 0; // only the last axes, all of them y's
    for (uint32_t i = 0; i < rank && axes >> (rank - 1 - i) & 1; i++, last++) {
        if (!dim_is_const(f->dims, group->full.size[rank - 1 - i], &size)) return false;
        elements *= size;
        if (elements > POOL_MAX) return false;
    }
    if (axes != ((1u << last) - 1) << (rank - last)) return false;
    if (own < last || f->uses[operand] != 1 || f->stored[operand]) return false;
    for (uint32_t i = 0; i < group->nodes.len; i++) {
        ValueId value = graph_node(f->g, group->nodes.at[i])->result[0];
        if (value != operand && !only_read_inside(f, group, value)) return false;
    }
    return true;
}

bool fuse_can_reduce(const Fuser *f, uint32_t id, NodeId node_id, Group *out) {
    const Group *group = &f->groups.at[id];
    const Node *node = graph_node(f->g, node_id);
    ValueId operand = node->operand[0];
    uint32_t axes = dropped_axes(f->g, node);
    if (!axes || group->reduced || !in_group(f, id, operand)) return false;
    if (!build_same_shape(&graph_value(f->g, operand)->type, &group->full)) return false;
    if (group->family == FAMILY_SINGLE) return false;
    if (group->family == FAMILY_CONTRACT && !can_pool(f, id, node, axes)) return false;
    for (uint32_t i = 0; i < group->nodes.len; i++) { // copies, fills and updates stay in maps
        OpClass class = graph_op(f->g, group->nodes.at[i])->class;
        if (class != OC_MAP && class != OC_CONTRACT) return false;
    }
    *out = *group;
    out->reduced = axes;
    if (group->family == FAMILY_MAP) out->family = FAMILY_ROW;
    return true;
}
