// Push-moves: brings moves to where they cost nothing.
//
// Hoisting: M(f(x)) becomes f(M(x)) where f is a map or a contract that nothing else reads, down to
// values that memory holds anyway, if the readers of M could then join f's group (a pool after a
// convolution, a transposed output). Sinking: f(M(x)) becomes M(f(x)) where x comes out of a
// contract or reduce that M cannot pass, so that f can join that one's group instead.
//
// Besides, cheap maps of small tensors are spread into their reader (push_spread.c).
//
// One round moves each candidate past what is next to it; rounds are repeated until nothing moves.
#include "passes/push.h"
#include "passes/simplify.h"

enum { ROUNDS_MAX = 16, DEPTH_MAX = 64, BUDGET_MAX = 100 };

// A map that was put above a move: the move, and the map's value in the new graph.
typedef struct Sunk {
    NodeId move;
    ValueId inner;
} Sunk;

typedef struct Push {
    const uint32_t *uses; // per value: operands of live nodes
    const bool *wanted;   // per value: a map, a reduce or an output would gain by a hoisted move
    const bool *stored;   // per value: memory must hold it (outputs, carried values)
    Sunk *sunk;           // per value of the old graph
    bool moved;
} Push;

static OpClass class_of(const Graph *g, ValueId value) {
    NodeId node = graph_value(g, value)->node;
    if (!node || graph_node(g, node)->kind != NODE_OP) return OC_SOURCE;
    return graph_op(g, node)->class;
}

// Whether a map of another shape, read by broadcasting, comes out of a reduce: the reader may then
// be part of a row, which a move would tear apart. Gives up, with true, after *budget values.
static bool from_reduce(const Graph *g, ValueId value, unsigned *budget) {
    OpClass class = class_of(g, value);
    if (class == OC_REDUCE || *budget == 0) return true;
    --*budget;
    if (class != OC_MAP && class != OC_MOVE) return false;
    const Node *node = graph_node(g, graph_value(g, value)->node);
    for (uint32_t i = 0; i < node->operands; i++)
        if (node->operand[i] && from_reduce(g, node->operand[i], budget)) return true;
    return false;
}

// Whether a shift of `value` can be had without a kernel more. `top`: the move reads it directly.
static bool can_hoist(const Graph *g, const Push *push, const Shift *shift, ValueId value, bool top,
                      unsigned depth) {
    OpClass class = class_of(g, value);
    if (class == OC_SOURCE || class == OC_STATE || class == OC_GATHER) return !top;
    if (push->stored[value]) return !top;
    const Node *node = graph_node(g, graph_value(g, value)->node);
    if (class == OC_MOVE) {
        if (top || !op_is_view(op_info(node->op))) return false;
        value = node->operand[0]; // what memory holds can be seen through one view more
        return class_of(g, value) == OC_SOURCE || push->stored[value];
    }
    if (push->uses[value] != 1 || depth == DEPTH_MAX) return false;
    if (class == OC_CONTRACT) return shift_fits_contract(g, shift, node);
    if (class != OC_MAP) return false;
    const Type *type = &graph_value(g, value)->type;
    for (uint32_t i = 0; i < node->operands; i++) {
        ValueId operand = node->operand[i];
        if (!operand) continue;
        bool full = build_same_shape(&graph_value(g, operand)->type, type);
        unsigned budget = BUDGET_MAX;
        if (!full && from_reduce(g, operand, &budget)) return false;
        if (full && !can_hoist(g, push, shift, operand, false, depth + 1)) return false;
    }
    return true;
}

// What is built in place of `value` takes its name; the old one, not read any more, gives it up.
static void take_name(Rewrite *rewrite, Builder *b, ValueId value) {
    graph_name(rewrite->to, rewrite_get(rewrite, value), "unread", false);
    b->name = graph_value(rewrite->from, value)->name;
}

static ValueId hoist(Rewrite *rewrite, Builder *b, const Shift *shift, ValueId value, bool keep) {
    const Graph *g = rewrite->from;
    const Push *push = rewrite->user;
    OpClass class = class_of(g, value);
    bool single = push->uses[value] == 1 && !push->stored[value];
    ValueId mapped = rewrite_get(rewrite, value);
    if (!single || (class != OC_MAP && class != OC_CONTRACT))
        return shift_apply(b, shift, "moved", mapped);
    const Node *node = graph_node(g, graph_value(g, value)->node);
    Type type = graph_value(g, value)->type;
    Builder own = *b;
    own.loc = node->loc;
    own.locs = node->locs;
    ValueId operand[OP_OPERANDS_MAX] = {0}, result;
    for (uint32_t i = 0; i < node->operands && class == OC_MAP; i++) {
        if (!node->operand[i]) continue;
        bool full = build_same_shape(&graph_value(g, node->operand[i])->type, &type);
        operand[i] = full ? hoist(rewrite, &own, shift, node->operand[i], false)
                          : shift_apply(&own, shift, "spread", node_operand(rewrite, node, i));
    }
    own.name = b->name;
    if (!keep) take_name(rewrite, &own, value);
    if (class == OC_CONTRACT) {
        const Attr *reason = build_attr(node, "reason");
        if (reason->present) own.reason = reason->s;
        result = shift_contract(&own, shift, NULL, node, node_operand(rewrite, node, 0),
                                node_operand(rewrite, node, 1), type.dtype);
    } else {
        result = build_like(&own, node, NULL, operand);
    }
    b->failed |= own.failed;
    return result;
}

// Finds the move among the operands of the map `node` that can be sunk below it, and what is under
// the move in the new graph; -1: none.
static int sinkable(Rewrite *rewrite, const Node *node, Shift *shift, ValueId *inner) {
    const Graph *g = rewrite->from;
    const Push *push = rewrite->user;
    const Type *type = &graph_value(g, node->result[0])->type;
    for (uint32_t i = 0; i < node->operands; i++) {
        ValueId value = node->operand[i];
        if (!value || push->uses[value] != 1 || push->stored[value]) continue;
        const Sunk *sunk = &push->sunk[value]; // a map that has just been moved itself
        if (!sunk->move && class_of(g, value) != OC_MOVE) continue;
        if (!shift_of(g, sunk->move ? sunk->move : graph_value(g, value)->node, shift)) continue;
        if (!shift->reshape && !shift->permute) continue;
        if (!build_same_shape(&shift->after, type)) continue;
        *inner = sunk->inner;
        if (sunk->move) return (int)i;
        ValueId under = shift->node->operand[0];
        OpClass class = class_of(g, under);
        bool computed = class == OC_MAP || class == OC_CONTRACT || class == OC_REDUCE;
        if (!computed || push->uses[under] != 1 || push->stored[under]) continue;
        *inner = rewrite_get(rewrite, under);
        if (!can_hoist(g, push, shift, under, true, 0)) return (int)i;
    }
    return -1;
}

static bool sink(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    Push *push = rewrite->user;
    Shift shift;
    ValueId inner;
    int which = sinkable(rewrite, node, &shift, &inner);
    if (which < 0) return true;
    bool stored = push->stored[node->result[0]];
    if (stored && !shift.reshape) return true; // a copy would be left; a reshape is stored in place
    Builder b = build_begin(rewrite, id);
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node->operands; i++) {
        if (!node->operand[i]) continue;
        operand[i] =
            (int)i == which ? inner : shift_undo(&b, &shift, node_operand(rewrite, node, i));
    }
    ValueId value = build_like(&b, node, stored ? "flat" : NULL, operand);
    NodeId move = graph_value(rewrite->from, shift.node->result[0])->node;
    push->sunk[node->result[0]] = (Sunk){move, value};
    value = shift_apply(&b, &shift, stored ? NULL : "moved", value);
    if (!value) return false;
    rewrite_set(rewrite, node->result[0], value);
    return *done = push->moved = true;
}

// A move that undoes the one before it, or joins with it, is first simplified.
static bool simplify(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    Push *push = rewrite->user;
    Builder b = build_begin(rewrite, id);
    Type result = node_type(rewrite, node);
    ValueId value = simplify_move(&b, node, &result, node_operand(rewrite, node, 0));
    if (b.failed) return false;
    if (!value) return true;
    rewrite_set(rewrite, node->result[0], value);
    return *done = push->moved = true;
}

static bool push_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Graph *g = rewrite->from;
    const Node *node = graph_node(g, id);
    Push *push = rewrite->user;
    if (node->kind != NODE_OP) return true;
    if (op_info(node->op)->class == OC_MAP) {
        if (!sink(rewrite, id, done)) return false;
        if (!*done && !push_spread(rewrite, id, push->uses, push->stored, done)) return false;
        push->moved |= *done;
        return true;
    }
    if (op_info(node->op)->class != OC_MOVE || !op_is_view(op_info(node->op))) return true;
    if (!simplify(rewrite, id, done)) return false;
    Shift shift;
    if (*done || !shift_of(g, id, &shift) || !push->wanted[node->result[0]]) return true;
    if (!can_hoist(g, push, &shift, node->operand[0], true, 0)) return true;
    Builder b = build_begin(rewrite, id);
    bool keep = push->stored[node->result[0]];
    ValueId value = hoist(rewrite, &b, &shift, node->operand[0], keep);
    if (!value) return false;
    rewrite_set(rewrite, node->result[0], value);
    return *done = push->moved = true;
}

// A value is wanted in place when all that reads it, through further moves, is maps, reduces and
// outputs.
static void find_wanted(const Graph *g, bool *wanted, bool *stored, uint32_t *uses) {
    const bool *live = graph_live_nodes(g);
    bool *other = arena_alloc(g->arena, g->values.len * sizeof *other);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        wanted[g->outputs.at[i].value] = stored[g->outputs.at[i].value] = true;
    for (NodeId id = g->nodes.len; id-- > 1;) {
        const Node *node = graph_node(g, id);
        if (!live[id]) continue;
        for (uint32_t i = 0; node->kind == NODE_REPEAT && i < node->operands; i++) {
            other[node->operand[i]] = other[node->yield[i]] = true;
            stored[node->operand[i]] = stored[node->yield[i]] = true;
        }
        if (node->kind != NODE_OP || !node->results) continue;
        OpClass class = op_info(node->op)->class;
        bool joins = class == OC_MAP || class == OC_REDUCE;
        if (class == OC_MOVE) joins = wanted[node->result[0]] && !other[node->result[0]];
        for (uint32_t i = 0; i < node->operands; i++) {
            uses[node->operand[i]]++;
            if (joins)
                wanted[node->operand[i]] = true;
            else
                other[node->operand[i]] = true;
        }
    }
    for (uint32_t i = 0; i < g->values.len; i++) wanted[i] &= !other[i];
}

static bool push_round(PassContext *ctx, const Graph *in, Graph **out, bool *moved) {
    bool *wanted = arena_alloc(in->arena, in->values.len * sizeof *wanted);
    bool *stored = arena_alloc(in->arena, in->values.len * sizeof *stored);
    uint32_t *uses = arena_alloc(in->arena, in->values.len * sizeof *uses);
    find_wanted(in, wanted, stored, uses);
    Push push = {.uses = uses, .wanted = wanted, .stored = stored};
    push.sunk = arena_alloc(in->arena, in->values.len * sizeof *push.sunk);
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = push_node, .user = &push};
    if (!rewrite_graph(rewrite, out)) return false;
    *moved = push.moved;
    return true;
}

bool pass_push_moves(PassContext *ctx, const Graph *in, Graph **out) {
    const Graph *graph = in;
    bool moved = true, good = true;
    for (unsigned round = 0; moved && good && round < ROUNDS_MAX; round++) {
        Graph *next = NULL;
        good = push_round(ctx, graph, &next, &moved);
        if (graph != in) graph_destroy((Graph *)graph);
        graph = next;
    }
    if (good) *out = (Graph *)graph;
    return good;
}
