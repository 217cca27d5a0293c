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
#include <math.h>
#include <string.h>

#include "passes/pack.h"
#include "passes/product_cost.h"
#include "passes/readers.h"

enum { JOIN_MAX = 16, STEPS_MAX = 8, MEET_MAX = 32 };

typedef struct Set {
    uint32_t count;
    NodeId product[JOIN_MAX];
    bool pairs;             // two that meet in a map
    uint32_t steps;         // maps behind each that are joined
    NodeId step[STEPS_MAX]; // those of the first product
    ValueId last[JOIN_MAX]; // what stands behind the joined maps
    bool joined, built;
    const char *reason;
} Set;

typedef struct Joiner {
    const Graph *g;
    const PassContext *ctx;
    const bool *constant; // per value
    const uint32_t *uses; // per value
    Readers readers;
    NodeId *next;  // per node: the next product of the same tensor
    uint8_t *seen; // per value: of a search for a meeting
    uint32_t *set; // per node: its set + 1
    bool *gone;    // per node: a map that is part of a joined one
    VEC(Set) sets;
} Joiner;

static const Node *def_of(const Graph *g, ValueId value) {
    NodeId id = graph_value(g, value)->node;
    return id && graph_node(g, id)->kind == NODE_OP ? graph_node(g, id) : NULL;
}

static const Type *type_of(const Graph *g, ValueId value) {
    return &graph_value(g, value)->type;
}

// The axis of a product's result along which products are joined: the first of the second operand.
static uint32_t join_axis(const Graph *g, const Node *product) {
    return type_of(g, product->operand[0])->rank - (uint32_t)build_attr(product, "k")->i;
}

static uint32_t batch_of(const Node *product) {
    return (uint32_t)build_attr(product, "batch")->i;
}

// ---- which products --------------------------------------------------------------------------

// Whether nothing but its one reader needs the value or the weights that it is made of.
static bool is_private(const Joiner *j, ValueId value) {
    const Node *node = def_of(j->g, value);
    if (!node || graph_is_literal(j->g, value)) return node != NULL;
    if (j->uses[value] != 1 || !j->constant[value]) return false;
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && !is_private(j, node->operand[i])) return false;
    return true;
}

static bool is_asked(const Joiner *j, const Node *node) {
    if (node->kind != NODE_OP || node->op != OP_CONTRACT) return false;
    ValueId x = node->operand[0], y = node->operand[1];
    const Type *type = type_of(j->g, y);
    return j->constant[y] && !j->constant[x] && type->dtype == type_of(j->g, x)->dtype &&
           cost_is_known(j->ctx->target, type->dtype) &&
           type->rank > batch_of(node) + build_attr(node, "k")->i;
}

// Whether both read the same tensor in the same way, and their weights fit together along N.
static bool goes_with(const Graph *g, const Node *a, const Node *b) {
    const Type *y = type_of(g, a->operand[1]), *z = type_of(g, b->operand[1]);
    bool same = a->region == b->region && a->operand[0] == b->operand[0] && y->rank == z->rank &&
                y->dtype == z->dtype && batch_of(a) == batch_of(b) &&
                build_attr(a, "k")->i == build_attr(b, "k")->i &&
                type_of(g, a->result[0])->dtype == type_of(g, b->result[0])->dtype;
    for (uint32_t i = 0; same && i < y->rank; i++)
        same = i == batch_of(a) || y->size[i] == z->size[i];
    return same;
}

// The map that alone reads `value`, whole, in its own region; 0: there is none.
static NodeId next_map(const Joiner *j, ValueId value) {
    const Graph *g = j->g;
    NodeId id = readers_only(&j->readers, j->uses, value);
    if (!id) return 0;
    const Node *node = graph_node(g, id);
    if (op_info(node->op)->class != OC_MAP) return 0;
    return build_same_shape(type_of(g, node->result[0]), type_of(g, value)) ? id : 0;
}

// Whether a map of the values' shape depends on both: marks in `seen` what depends on `value` with
// `bit`, and looks for what has both.
static bool reaches(const Joiner *j, ValueId value, uint8_t bit, unsigned *budget) {
    const Graph *g = j->g;
    j->seen[value] |= bit;
    if (j->seen[value] == 3) return true;
    for (uint32_t e = j->readers.first[value]; e && *budget; e = j->readers.edges.at[e].next) {
        const Node *node = graph_node(g, j->readers.edges.at[e].node);
        if (op_info(node->op)->class != OC_MAP || (j->seen[node->result[0]] & bit)) continue;
        if (!build_same_shape(type_of(g, node->result[0]), type_of(g, value))) continue;
        --*budget;
        if (reaches(j, node->result[0], bit, budget)) return true;
    }
    return false;
}

static void forget(const Joiner *j, ValueId value) {
    if (!j->seen[value]) return;
    j->seen[value] = 0;
    for (uint32_t e = j->readers.first[value]; e; e = j->readers.edges.at[e].next) {
        const Node *node = graph_node(j->g, j->readers.edges.at[e].node);
        if (node->results) forget(j, node->result[0]);
    }
}

// Whether maps behind both products meet, and one kernel can hold all that reads them.
static bool meet(Joiner *j, ValueId a, ValueId b) {
    unsigned budget = MEET_MAX;
    ValueId both[] = {a, b};
    if (!build_same_shape(type_of(j->g, a), type_of(j->g, b))) return false;
    bool met = !reaches(j, a, 1, &budget) && reaches(j, b, 2, &budget);
    forget(j, a);
    forget(j, b);
    return met && readers_close(&j->readers, j->uses, both, 2);
}

// Lists the products of one tensor in program order.
static void find_products(Joiner *j) {
    const Graph *g = j->g;
    const bool *live = graph_live_nodes(g);
    NodeId *first = arena_alloc(g->arena, g->values.len * sizeof *first);
    for (NodeId id = g->nodes.len; id-- > 1;) {
        const Node *node = graph_node(g, id);
        if (!live[id] || !is_asked(j, node)) continue;
        j->next[id] = first[node->operand[0]];
        first[node->operand[0]] = id;
    }
}

// A set for each two that meet, then one for all others of a tensor.
static void find_sets(Joiner *j) {
    const Graph *g = j->g;
    for (unsigned pairs = 2; pairs-- > 0;)
        for (NodeId id = 1; id < g->nodes.len; id++) {
            const Node *node = graph_node(g, id);
            if (j->set[id] || !j->next[id]) continue;
            Set set = {.count = 1, .product = {id}, .pairs = pairs};
            for (NodeId other = j->next[id]; other && set.count < JOIN_MAX;
                 other = j->next[other]) {
                const Node *with = graph_node(g, other);
                if (j->set[other] || !goes_with(g, node, with)) continue;
                if (pairs && (set.count == 2 || !meet(j, node->result[0], with->result[0])))
                    continue;
                set.product[set.count++] = other;
            }
            if (set.count < 2) continue;
            vec_push(g->arena, &j->sets, set);
            for (uint32_t i = 0; i < set.count; i++) j->set[set.product[i]] = j->sets.len;
        }
}

// ---- maps behind products that lie side by side ------------------------------------------------

// An operand of maps that are joined: `part` of each, seen with the product's shape by
// broadcasting; `tail` axes from the right lies the joined one. With b == NULL only whether it can
// be joined; else what it becomes, 0 only after an error.
typedef struct Parts {
    NodeId first; // the first product: what stands before it is known by then
    uint32_t count, tail;
    ValueId part[JOIN_MAX];
} Parts;

static Parts operands_of(const Joiner *j, const Parts *parts, uint32_t index) {
    Parts under = {.first = parts->first, .count = parts->count, .tail = parts->tail};
    for (uint32_t i = 0; i < parts->count; i++)
        under.part[i] = def_of(j->g, parts->part[i])->operand[index];
    return under;
}

static bool same_ops(const Joiner *j, const Parts *parts) {
    const Node *first = def_of(j->g, parts->part[0]);
    for (uint32_t i = 0; i < parts->count; i++) {
        const Node *node = def_of(j->g, parts->part[i]);
        if (!first || !node || node->op != first->op || node->operands != first->operands)
            return false;
        const OpInfo *op = op_info(node->op);
        for (uint32_t a = 0; a < op->attrs && node->op != OP_BROADCAST_TO; a++)
            if (!attr_equal(op->attr[a].kind, &node->attr[a], &first->attr[a])) return false;
    }
    return true;
}

// Whether all parts are one value that is the same along the joined axis.
static bool is_shared(const Joiner *j, const Parts *parts) {
    ValueId value = parts->part[0];
    const Type *type = type_of(j->g, value);
    for (uint32_t i = 1; i < parts->count; i++)
        if (parts->part[i] != value) return false;
    if (!j->constant[value] && graph_value(j->g, value)->node > parts->first) return false;
    return type->rank < parts->tail || dim_is(j->g->dims, type->size[type->rank - parts->tail], 1);
}

// Whether the parts are weights that differ in size along the joined axis only.
static bool is_weights(const Joiner *j, const Parts *parts) {
    const Type *type = type_of(j->g, parts->part[0]);
    for (uint32_t i = 0; i < parts->count; i++) {
        const Type *own = type_of(j->g, parts->part[i]);
        if (!j->constant[parts->part[i]] || own->rank != type->rank || own->rank < parts->tail ||
            own->dtype != type->dtype)
            return false;
        for (uint32_t a = 0; a < own->rank; a++)
            if (a != own->rank - parts->tail && own->size[a] != type->size[a]) return false;
    }
    return true;
}

static bool can_join(const Joiner *j, const Parts *parts) {
    if (is_shared(j, parts)) return true;
    if (is_weights(j, parts)) {
        for (uint32_t i = 0; i < parts->count; i++)
            if (!is_private(j, parts->part[i])) return false;
        return true;
    }
    if (!same_ops(j, parts)) return false;
    const Node *node = def_of(j->g, parts->part[0]);
    if (node->op != OP_BROADCAST_TO && op_info(node->op)->class != OC_MAP) return false;
    for (uint32_t i = 0; i < node->operands; i++) {
        Parts under = operands_of(j, parts, i);
        if (!node->operand[i] || !can_join(j, &under)) return false;
    }
    return true;
}

// Takes the next map behind each product into the set; false where they differ.
static bool take_step(const Joiner *j, Set *set, uint32_t tail) {
    Parts maps = {.first = set->product[0], .count = set->count, .tail = tail};
    uint32_t where = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        NodeId id = next_map(j, set->last[i]);
        if (!id || set->steps == STEPS_MAX) return false;
        maps.part[i] = graph_node(j->g, id)->result[0];
    }
    if (!same_ops(j, &maps)) return false;
    const Node *first = def_of(j->g, maps.part[0]);
    while (first->operand[where] != set->last[0]) where++;
    for (uint32_t o = 0; o < first->operands; o++) {
        Parts under = operands_of(j, &maps, o);
        bool own = o == where;
        for (uint32_t i = 0; own && i < set->count; i++)
            if (under.part[i] != set->last[i]) return false;
        if (!own && (!first->operand[o] || !can_join(j, &under))) return false;
    }
    set->step[set->steps++] = graph_value(j->g, maps.part[0])->node;
    memcpy(set->last, maps.part, sizeof set->last);
    return true;
}

// Whether maps or reductions behind the value, perhaps behind moves, would lose their place in the
// product's kernel.
static bool loses_maps(const Joiner *j, ValueId value) {
    const Graph *g = j->g;
    for (uint32_t e = j->readers.first[value]; e; e = j->readers.edges.at[e].next) {
        const Node *node = graph_node(g, j->readers.edges.at[e].node);
        if (!node->results) continue;
        OpClass class = op_info(node->op)->class;
        bool whole = build_same_shape(type_of(g, node->result[0]), type_of(g, value));
        if ((class == OC_MAP && whole) || class == OC_REDUCE) return true;
        bool moves = move_is_reshape(node->op) || move_is_permute(node->op);
        bool single = moves && j->uses[value] == 1 && j->uses[node->result[0]] == 1;
        if (single && loses_maps(j, node->result[0])) return true;
    }
    return false;
}

// ---- the decision ------------------------------------------------------------------------------

static ProductSize size_of(const Joiner *j, const Node *node) {
    DimTable *dims = j->g->dims;
    const Type *x = type_of(j->g, node->operand[0]), *y = type_of(j->g, node->operand[1]);
    uint32_t batch = batch_of(node), k = (uint32_t)build_attr(node, "k")->i;
    Dim one = dim_const(dims, 1);
    ProductSize size = {.batch = one,
                        .m = one,
                        .n = one,
                        .k = one,
                        .in = y->dtype,
                        .out = type_of(j->g, node->result[0])->dtype};
    for (uint32_t a = 0; a < x->rank; a++) {
        Dim *of = a < batch ? &size.batch : a < x->rank - k ? &size.m : &size.k;
        *of = dim_mul(dims, *of, x->size[a]);
    }
    for (uint32_t a = batch; a < y->rank - k; a++) size.n = dim_mul(dims, size.n, y->size[a]);
    return size;
}

static void decide(Joiner *j, Set *set) {
    const Target *target = j->ctx->target;
    DimTable *dims = j->g->dims;
    double apart[COST_ENDS] = {0}, joined[COST_ENDS], ratio = 1;
    ProductSize all = size_of(j, graph_node(j->g, set->product[0]));
    bool private = true;
    all.n = dim_const(dims, 0);
    for (uint32_t i = 0; i < set->count; i++) {
        const Node *node = graph_node(j->g, set->product[i]);
        ProductSize size = size_of(j, node);
        all.n = dim_add(dims, all.n, size.n);
        private &= is_private(j, node->operand[1]);
        for (CostEnd end = 0; end < COST_ENDS; end++) {
            apart[end] += cost_product(target, dims, &size, true, end) + cost_dispatch(target) / 4;
            if (!set->pairs || i > 0) continue; // one of the two goes through memory
            double bytes = cost_size(dims, size.batch, end) * cost_size(dims, size.m, end) *
                           cost_size(dims, size.n, end) * dtype_bytes(size.out);
            apart[end] += cost_move(target, 2 * bytes) + cost_dispatch(target);
        }
    }
    for (CostEnd end = 0; end < COST_ENDS; end++) {
        joined[end] = cost_product(target, dims, &all, true, end) + cost_dispatch(target) / 4;
        ratio *= joined[end] / apart[end];
    }
    bool pays = sqrt(ratio) < 0.98, maps = false;
    for (uint32_t i = 0; i < set->count; i++) maps |= !set->pairs && loses_maps(j, set->last[i]);
    set->joined = pays && private && !maps;
    Text text = {0};
    text_printf(&text, "%u products of one tensor %s: apart", set->count,
                !set->joined ? "apart"
                : set->pairs ? "in turn as one"
                             : "as one");
    bool one = apart[0] == apart[1] && joined[0] == joined[1];
    for (CostEnd end = 0; end < (one ? COST_MOST : COST_ENDS); end++)
        text_printf(&text, "%s %.3g us, as one %.3g", end ? " to" : "", apart[end], joined[end]);
    if (pays && !private) text_put(&text, "; something else reads a weight");
    if (pays && maps) text_put(&text, "; what is done with them differs");
    set->reason = arena_strdup(j->g->arena, text.data);
    text_free(&text);
}

// ---- the rewriting -----------------------------------------------------------------------------

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
static ValueId join_weights(Rewrite *rewrite, Builder *b, const char *name, const Parts *parts,
                            uint32_t axis, bool pair) {
    const Joiner *j = rewrite->user;
    DimTable *dims = j->g->dims;
    const Type *first = type_of(j->g, parts->part[0]);
    Dim one = dim_const(dims, 1), stop = dim_const(dims, 0);
    Slot slot = {.axis = axis, .pair = pair, .all = *first};
    for (uint32_t i = 0; i < parts->count; i++)
        stop = dim_add(dims, stop, pair ? one : type_of(j->g, parts->part[i])->size[axis]);
    if (pair)
        for (uint32_t a = slot.all.rank++; a > axis; a--) slot.all.size[a] = slot.all.size[a - 1];
    slot.all.size[axis] = stop;
    ValueId index = build_expand_to(b, build_counter(b, stop), slot.all.rank - 1u - axis);
    index = build_broadcast(b, index, slot.all.rank, slot.all.size);
    Dim total = stop;
    ValueId joined = 0;
    for (uint32_t i = parts->count; i-- > 0;) {
        const Type *own = type_of(j->g, parts->part[i]);
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

static ValueId join_parts(Rewrite *rewrite, Builder *b, const Parts *parts) {
    const Joiner *j = rewrite->user;
    const Node *node = def_of(j->g, parts->part[0]);
    uint32_t rank = type_of(j->g, parts->part[0])->rank;
    if (is_shared(j, parts)) return pack_pull(rewrite, parts->part[0]);
    if (is_weights(j, parts))
        return join_weights(rewrite, b, "joined", parts, rank - parts->tail, false);
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node->operands; i++) {
        Parts under = operands_of(j, parts, i);
        operand[i] = join_parts(rewrite, b, &under);
    }
    if (node->op != OP_BROADCAST_TO) return build_like(b, node, "joined", operand);
    Type type = *type_of(j->g, parts->part[0]);
    Dim *along = &type.size[rank - parts->tail];
    *along = dim_const(j->g->dims, 0);
    for (uint32_t i = 0; i < parts->count; i++)
        *along =
            dim_add(j->g->dims, *along, type_of(j->g, parts->part[i])->size[rank - parts->tail]);
    return build_broadcast(b, operand[0], rank, type.size);
}

// Where the parts of a product that alternate lie: the last axis but K's.
static uint32_t pair_axis(const Graph *g, const Node *product) {
    return type_of(g, product->operand[1])->rank - (uint32_t)build_attr(product, "k")->i;
}

// The maps that stand `step` maps behind the products' own, as one on `value`.
static ValueId join_map(Rewrite *rewrite, Builder *b, const Set *set, uint32_t step, uint32_t tail,
                        ValueId value) {
    const Joiner *j = rewrite->user;
    const Node *map = graph_node(j->g, set->step[step]);
    Parts maps = {.first = set->product[0], .count = set->count, .tail = tail};
    ValueId input[OP_OPERANDS_MAX] = {0}, before = graph_node(j->g, set->product[0])->result[0];
    if (step) before = graph_node(j->g, set->step[step - 1])->result[0];
    for (uint32_t i = 0; i < set->count; i++) {
        ValueId at = graph_node(j->g, set->product[i])->result[0];
        for (uint32_t n = 0; n <= step; n++) at = graph_node(j->g, next_map(j, at))->result[0];
        maps.part[i] = at;
    }
    for (uint32_t o = 0; o < map->operands; o++) {
        Parts under = operands_of(j, &maps, o);
        input[o] = map->operand[o] == before ? value : join_parts(rewrite, b, &under);
    }
    return build_like(b, map, "joined", input);
}

// The joined product of a set, then the maps behind it.
static ValueId build_joined(Rewrite *rewrite, Builder *b, const Set *set, uint32_t axis) {
    const Joiner *j = rewrite->user;
    const Node *node = graph_node(j->g, set->product[0]);
    Parts parts = {.first = set->product[0], .count = set->count};
    for (uint32_t i = 0; i < set->count; i++)
        parts.part[i] = graph_node(j->g, set->product[i])->operand[1];
    uint32_t along = set->pairs ? pair_axis(j->g, node) : batch_of(node);
    ValueId y = join_weights(rewrite, b, "weights", &parts, along, set->pairs);
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    attr[op_attr_index(op_info(node->op), "reason")] = attr_string(set->reason);
    ValueId operand[] = {node_operand(rewrite, node, 0), y};
    ValueId value = build_op(b, node->op, "joined", operand, 2, attr);
    uint32_t tail = type_of(j->g, node->result[0])->rank - axis;
    for (uint32_t s = 0; s < set->steps; s++) value = join_map(rewrite, b, set, s, tail, value);
    return value;
}

// Maps of single products that are part of joined ones are not made any more.
static void forget_steps(Joiner *j, const Set *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        ValueId at = graph_node(j->g, set->product[i])->result[0];
        for (uint32_t s = 0; s < set->steps; s++) {
            NodeId map = next_map(j, at);
            j->gone[map] = true;
            at = graph_node(j->g, map)->result[0];
        }
    }
}

static bool build_set(Rewrite *rewrite, Set *set) {
    Joiner *j = rewrite->user;
    DimTable *dims = j->g->dims;
    Builder b = build_begin(rewrite, set->product[0]);
    uint32_t axis = join_axis(j->g, graph_node(j->g, set->product[0]));
    ValueId joined = build_joined(rewrite, &b, set, axis);
    Dim start = dim_const(dims, 0), one = dim_const(dims, 1);
    for (uint32_t i = 0; i < set->count && !b.failed; i++) {
        Type type = *type_of(j->g, set->last[i]);
        Dim stop = dim_add(dims, start, set->pairs ? one : type.size[axis]);
        ValueId part =
            build_slice(&b, "part", joined, set->pairs ? type.rank : axis, start, stop, 1);
        part = build_reshape(&b, "one", part, type.rank, type.size);
        if (part) rewrite_set(rewrite, set->last[i], part);
        start = stop;
    }
    forget_steps(j, set);
    set->built = true;
    return !b.failed;
}

// A product that stays says why.
static bool keep_apart(Rewrite *rewrite, NodeId id, const Set *set) {
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
    Set *set = &j->sets.at[j->set[id] - 1];
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
    j.next = arena_alloc(arena, in->nodes.len * sizeof *j.next);
    j.seen = arena_alloc(arena, in->values.len * sizeof *j.seen);
    j.set = arena_alloc(arena, in->nodes.len * sizeof *j.set);
    j.gone = arena_alloc(arena, in->nodes.len * sizeof *j.gone);
    find_products(&j);
    find_sets(&j);
    for (uint32_t i = 0; i < j.sets.len; i++) {
        Set *set = &j.sets.at[i];
        for (uint32_t p = 0; p < set->count; p++)
            set->last[p] = graph_node(in, set->product[p])->result[0];
        const Node *first = graph_node(in, set->product[0]);
        uint32_t tail = type_of(in, first->result[0])->rank - join_axis(in, first);
        while (!set->pairs && take_step(&j, set, tail)) continue;
        decide(&j, set);
    }
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = join_node, .user = &j};
    return rewrite_graph(rewrite, out);
}
