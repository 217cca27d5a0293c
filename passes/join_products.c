// Join-products: products of one tensor with several weights become one product, whose weight is
// the others joined along N, once, in `prepare`. Few rows gain from it: less is read, and more
// units have something to do. Two ways:
//
// - Two products of one shape that meet in a map (silu(a) * b) alternate, [.., N, 2]: one kernel
// has
//   both values of an element side by side, and applies the map on its way out.
// - Others lie side by side, [.., N1 + N2 + ..], and readers see slices. Maps behind them (a bias,
//   a cast) are joined as well where they are the same for all; where they differ they would lose
//   their place in the product's kernel, and the products stay apart.
//
// A weight that something else reads stays where it is: weights are resident once. Every product
// that could be asked keeps the figures as its `reason`.
#include "passes/join.h"

// Where a part goes in the joined weights: beside the others along an axis, or once along a new
// one.
typedef struct Slot {
    uint32_t axis;
    bool pair;
    Dim before, after;
    Type all;
} Slot;

static ValueId put_in_slot(Builder *b, ValueId x, void *user) {
    const Slot *slot = user;
    if (!slot->pair) return build_pad(b, x, slot->axis, slot->before, slot->after);
    x = build_expand(b, "pair", x, slot->axis);
    return build_broadcast(b, x, slot->all.rank, slot->all.size);
}

// The parts as one tensor, which one kernel of `prepare` writes: each is computed in its place, and
// the position selects.
static ValueId join_weights(Rewrite *rewrite, Builder *b, const char *name, const JoinParts *parts,
                            uint32_t axis, bool pair) {
    const Joiner *j = rewrite->user;
    DimTable *dims = j->g->dims;
    const Type *first = join_type(j->g, parts->part[0]);
    Dim one = dim_const(dims, 1), stop = dim_const(dims, 0);
    Slot slot = {.axis = axis, .pair = pair, .all = *first};
    for (uint32_t i = 0; i < parts->count; i++)
        stop = dim_add(dims, stop, pair ? one : join_type(j->g, parts->part[i])->size[axis]);
    if (pair)
        for (uint32_t a = slot.all.rank++; a > axis; a--) slot.all.size[a] = slot.all.size[a - 1];
    slot.all.size[axis] = stop;
    ValueId index = build_expand_to(b, build_counter(b, stop), slot.all.rank - 1u - axis);
    index = build_broadcast(b, index, slot.all.rank, slot.all.size);
    Dim total = stop;
    ValueId joined = 0;
    for (uint32_t i = parts->count; i-- > 0;) {
        const Type *own = join_type(j->g, parts->part[i]);
        slot.after = dim_sub(dims, total, stop);
        slot.before = dim_sub(dims, stop, pair ? one : own->size[axis]);
        Packing packing = {j->constant, j->uses, own, put_in_slot, &slot, false};
        ValueId part = pack_value(rewrite, b, &packing, parts->part[i], true);
        if (i + 1 < parts->count) {
            ValueId here = build_map2(b, OP_LESS, "here", index, build_size(b, DT_I32, stop));
            part = build_where(b, i ? "part" : name, here, part, joined);
        }
        joined = part;
        stop = slot.before;
    }
    return joined;
}

static ValueId join_parts(Rewrite *rewrite, Builder *b, const JoinParts *parts) {
    const Joiner *j = rewrite->user;
    const Node *node = join_def(j->g, parts->part[0]);
    uint32_t rank = join_type(j->g, parts->part[0])->rank;
    if (join_is_shared(j, parts)) return pack_pull(rewrite, parts->part[0]);
    if (join_is_weights(j, parts))
        return join_weights(rewrite, b, "joined", parts, rank - parts->tail, false);
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node->operands; i++) {
        JoinParts under = join_operands(j, parts, i);
        operand[i] = join_parts(rewrite, b, &under);
    }
    if (node->op != OP_BROADCAST_TO) return build_like(b, node, "joined", operand);
    Type type = *join_type(j->g, parts->part[0]);
    Dim *along = &type.size[rank - parts->tail];
    *along = dim_const(j->g->dims, 0);
    for (uint32_t i = 0; i < parts->count; i++)
        *along =
            dim_add(j->g->dims, *along, join_type(j->g, parts->part[i])->size[rank - parts->tail]);
    return build_broadcast(b, operand[0], rank, type.size);
}

// Where the parts of a product that alternate lie: the last axis but K's.
static uint32_t pair_axis(const Graph *g, const Node *product) {
    return join_type(g, product->operand[1])->rank - (uint32_t)build_attr(product, "k")->i;
}

// The maps that stand `step` maps behind the products' own, as one on `value`.
static ValueId join_map(Rewrite *rewrite, Builder *b, const JoinSet *set, uint32_t step,
                        uint32_t tail, ValueId value) {
    const Joiner *j = rewrite->user;
    const Node *map = graph_node(j->g, set->step[step]);
    JoinParts maps = {.first = set->product[0], .count = set->count, .tail = tail};
    ValueId input[OP_OPERANDS_MAX] = {0}, before = graph_node(j->g, set->product[0])->result[0];
    if (step) before = graph_node(j->g, set->step[step - 1])->result[0];
    for (uint32_t i = 0; i < set->count; i++) {
        ValueId at = graph_node(j->g, set->product[i])->result[0];
        for (uint32_t n = 0; n <= step; n++) at = graph_node(j->g, join_next_map(j, at))->result[0];
        maps.part[i] = at;
    }
    for (uint32_t o = 0; o < map->operands; o++) {
        JoinParts under = join_operands(j, &maps, o);
        input[o] = map->operand[o] == before ? value : join_parts(rewrite, b, &under);
    }
    return build_like(b, map, "joined", input);
}

// The joined product of a set, then the maps behind it.
static ValueId build_joined(Rewrite *rewrite, Builder *b, const JoinSet *set, uint32_t axis) {
    const Joiner *j = rewrite->user;
    const Node *node = graph_node(j->g, set->product[0]);
    JoinParts parts = {.first = set->product[0], .count = set->count};
    for (uint32_t i = 0; i < set->count; i++)
        parts.part[i] = graph_node(j->g, set->product[i])->operand[1];
    uint32_t along = set->pairs ? pair_axis(j->g, node) : join_batch(node);
    ValueId y = join_weights(rewrite, b, "weights", &parts, along, set->pairs);
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    attr[op_attr_index(op_info(node->op), "reason")] = attr_string(set->reason);
    DType dtype = join_type(j->g, node->result[0])->dtype;
    for (uint32_t i = 0; i < set->count; i++) {
        DType own = join_type(j->g, graph_node(j->g, set->product[i])->result[0])->dtype;
        if (dtype_bits(own) > dtype_bits(dtype)) dtype = own;
    }
    attr[op_attr_index(op_info(node->op), "dtype")] = attr_dtype(dtype);
    ValueId operand[] = {node_operand(rewrite, node, 0), y};
    ValueId value = build_op(b, node->op, "joined", operand, 2, attr);
    uint32_t tail = join_type(j->g, node->result[0])->rank - axis;
    for (uint32_t s = 0; s < set->steps; s++) value = join_map(rewrite, b, set, s, tail, value);
    return value;
}

// Maps of single products that are part of joined ones are not made any more.
static void forget_steps(Joiner *j, const JoinSet *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        ValueId at = graph_node(j->g, set->product[i])->result[0];
        for (uint32_t s = 0; s < set->steps; s++) {
            NodeId map = join_next_map(j, at);
            j->gone[map] = true;
            at = graph_node(j->g, map)->result[0];
        }
    }
}

static bool build_set(Rewrite *rewrite, JoinSet *set) {
    Joiner *j = rewrite->user;
    DimTable *dims = j->g->dims;
    Builder b = build_begin(rewrite, set->product[0]);
    uint32_t axis = join_axis(j->g, graph_node(j->g, set->product[0]));
    ValueId joined = build_joined(rewrite, &b, set, axis);
    Dim start = dim_const(dims, 0), one = dim_const(dims, 1);
    for (uint32_t i = 0; i < set->count && !b.failed; i++) {
        Type type = *join_type(j->g, set->last[i]);
        Dim stop = dim_add(dims, start, set->pairs ? one : type.size[axis]);
        ValueId part =
            build_slice(&b, "part", joined, set->pairs ? type.rank : axis, start, stop, 1);
        part = build_reshape(&b, "one", part, type.rank, type.size);
        part = build_narrow(&b, "round", part, type.dtype);
        if (part) rewrite_set(rewrite, set->last[i], part);
        start = stop;
    }
    forget_steps(j, set);
    set->built = true;
    return !b.failed;
}

// A product that stays says why.
static bool keep_apart(Rewrite *rewrite, NodeId id, const JoinSet *set) {
    const Node *node = graph_node(rewrite->from, id);
    Builder b = build_begin(rewrite, id);
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    attr[op_attr_index(op_info(node->op), "reason")] = attr_string(set->reason);
    ValueId operand[] = {node_operand(rewrite, node, 0), node_operand(rewrite, node, 1)};
    ValueId value = build_op(&b, node->op, NULL, operand, 2, attr);
    if (value) rewrite_set(rewrite, node->result[0], value);
    return value != 0;
}

static bool join_node(Rewrite *rewrite, NodeId id, bool *done) {
    Joiner *j = rewrite->user;
    const Node *node = graph_node(rewrite->from, id);
    if (node->kind != NODE_OP || !node->results) return true;
    *done = j->gone[id] || rewrite_get(rewrite, node->result[0]) != 0; // pulled up, or joined
    if (*done || !j->set[id]) return true;
    JoinSet *set = &j->sets.at[j->set[id] - 1];
    *done = true;
    if (!set->joined) return keep_apart(rewrite, id, set);
    return set->built || build_set(rewrite, set);
}

bool pass_join_products(PassContext *ctx, const Graph *in, Graph **out) {
    Arena *arena = in->arena;
    Joiner j = {.g = in, .ctx = ctx};
    j.constant = build_constants(in);
    j.uses = graph_use_counts(in);
    j.readers = readers_find(in, arena);
    j.gone = arena_alloc(arena, in->nodes.len * sizeof *j.gone);
    join_find(&j);
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = join_node, .user = &j};
    return rewrite_graph(rewrite, out);
}
