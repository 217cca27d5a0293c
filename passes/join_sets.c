// Join-products: which products of one tensor go together, and whether that pays.
#include <math.h>
#include <string.h>

#include "passes/join.h"
#include "passes/product_cost.h"

enum { MEET_MAX = 32, TRIES_MAX = 64 };

const Node *join_def(const Graph *g, ValueId value) {
    NodeId id = graph_value(g, value)->node;
    return id && graph_node(g, id)->kind == NODE_OP ? graph_node(g, id) : NULL;
}

const Type *join_type(const Graph *g, ValueId value) {
    return &graph_value(g, value)->type;
}

// The axis of a product's result along which products are joined: the first of the second operand.
uint32_t join_axis(const Graph *g, const Node *product) {
    return join_type(g, product->operand[0])->rank - (uint32_t)build_attr(product, "k")->i;
}

uint32_t join_batch(const Node *product) {
    return (uint32_t)build_attr(product, "batch")->i;
}

// ---- which products --------------------------------------------------------------------------

// Whether nothing but its one reader needs the value or the weights that it is made of.
static bool is_private(const Joiner *j, ValueId value) {
    const Node *node = join_def(j->g, value);
    if (!node || graph_is_literal(j->g, value)) return node != NULL;
    if (j->uses[value] != 1 || !j->constant[value]) return false;
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && !is_private(j, node->operand[i])) return false;
    return true;
}

static bool is_asked(const Joiner *j, const Node *node) {
    if (node->kind != NODE_OP || node->op != OP_CONTRACT) return false;
    ValueId x = node->operand[0], y = node->operand[1];
    const Type *type = join_type(j->g, y);
    return j->constant[y] && !j->constant[x] && type->dtype == join_type(j->g, x)->dtype &&
           cost_is_known(j->ctx->target, type->dtype) &&
           type->rank > join_batch(node) + build_attr(node, "k")->i;
}

// Whether both read the same tensor in the same way, and their weights fit together along N. Of two
// that meet one may be rounded later (behind a bias): the other one's rounding is then a map.
static bool goes_with(const Graph *g, const Node *a, const Node *b, bool pairs) {
    DType one = join_type(g, a->result[0])->dtype, two = join_type(g, b->result[0])->dtype;
    const Type *y = join_type(g, a->operand[1]), *z = join_type(g, b->operand[1]);
    bool same = a->region == b->region && a->operand[0] == b->operand[0] && y->rank == z->rank &&
                y->dtype == z->dtype && join_batch(a) == join_batch(b) &&
                build_attr(a, "k")->i == build_attr(b, "k")->i &&
                (one == two || (pairs && dtype_is_float(one) && dtype_is_float(two)));
    for (uint32_t i = 0; same && i < y->rank; i++)
        same = i == join_batch(a) || y->size[i] == z->size[i];
    return same;
}

// The map that alone reads `value`, whole, in its own region; 0: there is none.
NodeId join_next_map(const Joiner *j, ValueId value) {
    const Graph *g = j->g;
    NodeId id = readers_only(&j->readers, j->uses, value);
    if (!id) return 0;
    const Node *node = graph_node(g, id);
    if (op_info(node->op)->class != OC_MAP) return 0;
    return build_same_shape(join_type(g, node->result[0]), join_type(g, value)) ? id : 0;
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
        if (!build_same_shape(join_type(g, node->result[0]), join_type(g, value))) continue;
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
    if (!build_same_shape(join_type(j->g, a), join_type(j->g, b))) return false;
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
            JoinSet set = {.count = 1, .product = {id}, .pairs = pairs};
            unsigned tries = 0;
            for (NodeId other = j->next[id]; other && set.count < JOIN_MAX && tries < TRIES_MAX;
                 other = j->next[other], tries++) {
                const Node *with = graph_node(g, other);
                if (j->set[other] || !goes_with(g, node, with, pairs)) continue;
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

JoinParts join_operands(const Joiner *j, const JoinParts *parts, uint32_t index) {
    JoinParts under = {.first = parts->first, .count = parts->count, .tail = parts->tail};
    for (uint32_t i = 0; i < parts->count; i++)
        under.part[i] = join_def(j->g, parts->part[i])->operand[index];
    return under;
}

static bool same_ops(const Joiner *j, const JoinParts *parts) {
    const Node *first = join_def(j->g, parts->part[0]);
    for (uint32_t i = 0; i < parts->count; i++) {
        const Node *node = join_def(j->g, parts->part[i]);
        if (!first || !node || node->op != first->op || node->operands != first->operands)
            return false;
        const OpInfo *op = op_info(node->op);
        for (uint32_t a = 0; a < op->attrs && node->op != OP_BROADCAST_TO; a++)
            if (!attr_equal(op->attr[a].kind, &node->attr[a], &first->attr[a])) return false;
    }
    return true;
}

// Whether all parts are one value that is the same along the joined axis.
bool join_is_shared(const Joiner *j, const JoinParts *parts) {
    ValueId value = parts->part[0];
    const Type *type = join_type(j->g, value);
    for (uint32_t i = 1; i < parts->count; i++)
        if (parts->part[i] != value) return false;
    if (!j->constant[value] && graph_value(j->g, value)->node > parts->first) return false;
    return type->rank < parts->tail || dim_is(j->g->dims, type->size[type->rank - parts->tail], 1);
}

// Whether the parts are weights that differ in size along the joined axis only.
bool join_is_weights(const Joiner *j, const JoinParts *parts) {
    const Type *type = join_type(j->g, parts->part[0]);
    for (uint32_t i = 0; i < parts->count; i++) {
        const Type *own = join_type(j->g, parts->part[i]);
        if (!j->constant[parts->part[i]] || own->rank != type->rank || own->rank < parts->tail ||
            own->dtype != type->dtype)
            return false;
        for (uint32_t a = 0; a < own->rank; a++)
            if (a != own->rank - parts->tail && own->size[a] != type->size[a]) return false;
    }
    return true;
}

static bool can_join(const Joiner *j, const JoinParts *parts) {
    if (join_is_shared(j, parts)) return true;
    if (join_is_weights(j, parts)) {
        for (uint32_t i = 0; i < parts->count; i++)
            if (!is_private(j, parts->part[i])) return false;
        return true;
    }
    if (!same_ops(j, parts)) return false;
    const Node *node = join_def(j->g, parts->part[0]);
    if (node->op != OP_BROADCAST_TO && op_info(node->op)->class != OC_MAP) return false;
    for (uint32_t i = 0; i < node->operands; i++) {
        JoinParts under = join_operands(j, parts, i);
        if (!node->operand[i] || !can_join(j, &under)) return false;
    }
    return true;
}

// Takes the next map behind each product into the set; false where they differ.
static bool take_step(const Joiner *j, JoinSet *set, uint32_t tail) {
    JoinParts maps = {.first = set->product[0], .count = set->count, .tail = tail};
    uint32_t where = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        NodeId id = join_next_map(j, set->last[i]);
        if (!id || set->steps == JOIN_STEPS_MAX) return false;
        maps.part[i] = graph_node(j->g, id)->result[0];
    }
    if (!same_ops(j, &maps)) return false;
    const Node *first = join_def(j->g, maps.part[0]);
    while (first->operand[where] != set->last[0]) where++;
    for (uint32_t o = 0; o < first->operands; o++) {
        JoinParts under = join_operands(j, &maps, o);
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
        bool whole = build_same_shape(join_type(g, node->result[0]), join_type(g, value));
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
    const Type *x = join_type(j->g, node->operand[0]), *y = join_type(j->g, node->operand[1]);
    uint32_t batch = join_batch(node), k = (uint32_t)build_attr(node, "k")->i;
    Dim one = dim_const(dims, 1);
    ProductSize size = {.batch = one,
                        .m = one,
                        .n = one,
                        .k = one,
                        .in = y->dtype,
                        .out = join_type(j->g, node->result[0])->dtype};
    for (uint32_t a = 0; a < x->rank; a++) {
        Dim *of = a < batch ? &size.batch : a < x->rank - k ? &size.m : &size.k;
        *of = dim_mul(dims, *of, x->size[a]);
    }
    for (uint32_t a = batch; a < y->rank - k; a++) size.n = dim_mul(dims, size.n, y->size[a]);
    return size;
}

static void decide(Joiner *j, JoinSet *set) {
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
    for (CostEnd end = 0; end < (one ? COST_MOST : COST_ENDS); end++) {
        text_put(&text, end ? " to " : " ");
        cost_put(&text, apart[end]);
        text_put(&text, " us, as one ");
        cost_put(&text, joined[end]);
    }
    if (pays && !private) text_put(&text, "; something else reads a weight");
    if (pays && maps) text_put(&text, "; what is done with them differs");
    set->reason = arena_strdup(j->g->arena, text.data);
    text_free(&text);
}

void join_find(Joiner *j) {
    const Graph *g = j->g;
    j->next = arena_alloc(g->arena, g->nodes.len * sizeof *j->next);
    j->set = arena_alloc(g->arena, g->nodes.len * sizeof *j->set);
    j->seen = arena_alloc(g->arena, g->values.len * sizeof *j->seen);
    find_products(j);
    find_sets(j);
    for (uint32_t i = 0; i < j->sets.len; i++) {
        JoinSet *set = &j->sets.at[i];
        for (uint32_t p = 0; p < set->count; p++)
            set->last[p] = graph_node(g, set->product[p])->result[0];
        const Node *first = graph_node(g, set->product[0]);
        uint32_t tail = join_type(g, first->result[0])->rank - join_axis(g, first);
        while (!set->pairs && take_step(j, set, tail)) continue;
        decide(j, set);
    }
}
