// Layouts: writes the graph with the orders that layout.c decided. A value with its channels last
// is computed as [N, spatial .., C]; who wants it in the graph's order sees it through a permute.
//
// Contracts sum last along the axis that their operands go along, and where the same weight meets
// every image the images' places become rows of one product.
#include "passes/layout.h"
#include "passes/layout_image.h"
#include "passes/simplify.h"

// A permute of x, joined with one that made it.
static ValueId turn(Builder *b, const char *part, ValueId x, const uint8_t *axes) {
    uint8_t own[RANK_MAX], inner[RANK_MAX];
    uint32_t rank = build_type(b, x).rank;
    for (uint32_t i = 0; i < rank; i++) own[i] = axes[i];
    for (const Node *def = simplify_def(b, x); def && move_is_permute(def->op);
         def = simplify_def(b, x)) {
        move_axes(def, rank, inner);
        for (uint32_t i = 0; i < rank; i++) own[i] = inner[own[i]];
        x = def->operand[0];
    }
    return build_permute(b, part, x, own);
}

static ValueId channels_last(Builder *b, ValueId x) {
    uint8_t axes[RANK_MAX];
    layout_axes(build_type(b, x).rank, false, axes);
    return turn(b, "channels_last", x, axes);
}

static ValueId channels_back(Builder *b, const char *part, ValueId x) {
    uint8_t axes[RANK_MAX];
    layout_axes(build_type(b, x).rank, true, axes);
    return turn(b, part, x, axes);
}

static bool is_sized(const Builder *b, ValueId x) {
    Type type = build_type(b, x);
    return dim_is_const(b->g->dims, type_elements(b->g->dims, &type), NULL);
}

// How many axes of the type are not of size 1.
static uint32_t real_axes(const Builder *b, const Type *type) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->rank; i++) count += !dim_is(b->g->dims, type->size[i], 1);
    return count;
}

// An operand that broadcasts to the shape `full`, with axis 1 of that last. A weight that is spread
// and has more than an element for each channel is packed in that order.
static ValueId operand_last(Builder *b, ValueId x, const Type *full, bool constant) {
    Type type = build_type(b, x);
    Dim size[RANK_MAX];
    uint32_t rank = full->rank;
    if (!type.rank) return x;
    const Node *def = simplify_def(b, x);
    if (def && def->op == OP_BROADCAST_TO && type.rank == rank) { // spread what is turned
        for (uint32_t i = 0; i < rank; i++)
            size[i] = i == 0 ? type.size[0] : i + 1 < rank ? type.size[i + 1] : type.size[1];
        x = operand_last(b, def->operand[0], full, constant);
        return build_broadcast(b, x, rank, size);
    }
    uint32_t more = rank - type.rank;
    for (uint32_t i = 0; i < rank; i++)
        size[i] = i < more ? dim_const(b->g->dims, 1) : type.size[i - more];
    x = build_reshape(b, "lead", x, rank, size);
    if (!x) return 0;
    x = channels_last(b, x);
    bool scattered = !dim_is(b->g->dims, size[1], 1) && real_axes(b, &type) > 1 &&
                     !build_same_shape(&type, full);
    return constant && scattered && is_sized(b, x) ? build_stored(b, "packed", x) : x;
}

// What the value computed with axis 1 last is called: as in the graph, unless an output must have
// that name in its own order.
static const char *part_of(const Rewrite *rewrite, ValueId old) {
    const Graph *g = rewrite->from;
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].value == old) return "channels_last";
    return NULL;
}

// Gives `old` its value: one computed with axis 1 last.
static bool set_last(Rewrite *rewrite, Builder *b, ValueId old, ValueId value) {
    if (!value) return false;
    value = channels_back(b, part_of(rewrite, old) ? NULL : "channels_first", value);
    if (value) rewrite_set(rewrite, old, value);
    return value != 0;
}

static bool turn_map(Rewrite *rewrite, const Node *node, Builder *b) {
    const Layout *layout = rewrite->user;
    Type full = node_type(rewrite, node);
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node->operands && i < OP_OPERANDS_MAX; i++) {
        ValueId old = node->operand[i];
        if (old)
            operand[i] = operand_last(b, rewrite_get(rewrite, old), &full, layout->constant[old]);
    }
    const char *part = part_of(rewrite, node->result[0]);
    return set_last(rewrite, b, node->result[0], build_like(b, node, part, operand));
}

static bool turn_reduce(Rewrite *rewrite, const Node *node, Builder *b) {
    const Layout *layout = rewrite->user;
    const Type *type = &graph_value(rewrite->from, node->operand[0])->type;
    ValueId x = channels_last(b, node_operand(rewrite, node, 0));
    uint32_t mask = reduce_axes(node, type->rank), turned = 0, kept = 0, place = 0;
    uint8_t axes[RANK_MAX], order[RANK_MAX] = {0}, back[RANK_MAX];
    layout_axes(type->rank, false, axes);
    for (uint32_t i = 0; i < type->rank; i++) turned |= (mask >> axes[i] & 1) << i;
    if (!x) return false;
    // Where images and channels stay, what is left of the turned order is the result's.
    if (layout->last[node->result[0]] && !(mask & 3))
        return set_last(rewrite, b, node->result[0],
                        build_reduce(b, node->op, part_of(rewrite, node->result[0]), x, turned));
    for (uint32_t i = 0; i < type->rank; i++) // kept axes in the graph's order: where they are now
        if (!(mask >> i & 1)) back[i] = (uint8_t)kept++;
    for (uint32_t i = 0; i < type->rank; i++)
        if (!(mask >> axes[i] & 1)) order[back[axes[i]]] = (uint8_t)place++;
    bool same = true;
    for (uint32_t i = 0; i < kept; i++) same &= order[i] == i;
    x = build_reduce(b, node->op, same ? NULL : "channels_last", x, turned);
    if (x) x = build_permute(b, NULL, x, order);
    if (x) rewrite_set(rewrite, node->result[0], x);
    return x != 0;
}

// A transform of tiles with the channels of what it makes last.
static bool turn_transform(Rewrite *rewrite, const Node *node, Builder *b) {
    const OpInfo *op = op_info(node->op);
    Type result = node_type(rewrite, node);
    ValueId x = node_operand(rewrite, node, 0);
    Attr attr[OP_ATTRS_MAX] = {0};
    Dim size[RANK_MAX]; // attributes point to it
    uint8_t axes[RANK_MAX];
    build_attrs(node, attr);
    attr[op_attr_index(op, "channels_last")] = attr_int(true);
    if (node->op == OP_WINOGRAD_OUTPUT) {
        layout_axes(result.rank, false, axes);
        for (uint32_t i = 0; i < result.rank; i++) size[i] = result.size[axes[i]];
        attr[op_attr_index(op, "shape")] = attr_sizes(size, result.rank);
        x = channels_last(b, x);
    }
    return set_last(rewrite, b, node->result[0],
                    build_op(b, node->op, part_of(rewrite, node->result[0]), &x, 1, attr));
}

// What one side of a contract becomes.
typedef struct Side {
    ValueId old, value;
    uint32_t rank;
} Side;

// The K axes of a side with that `from_end` places from the end last.
static void sum_last_along(Builder *b, Side *side, uint32_t k, uint32_t from_end) {
    uint8_t axes[RANK_MAX];
    uint32_t at = 0, first = side->rank - k, along = side->rank - from_end;
    for (uint32_t i = 0; i < first; i++) axes[at++] = (uint8_t)i;
    for (uint32_t i = first; i < side->rank; i++)
        if (i != along) axes[at++] = (uint8_t)i;
    axes[at++] = (uint8_t)along;
    side->value = turn(b, "order", side->value, axes);
}

// Whether only axes of size 1 follow the axis that many places from the end.
static bool is_last(const Graph *g, const Type *type, uint32_t from_end) {
    for (uint32_t i = type->rank - from_end + 1; i < type->rank; i++)
        if (!dim_is(g->dims, type->size[i], 1)) return false;
    return true;
}

// The same operand for every element of axis 0: what is spread along it; 0: it is not.
static ValueId spread_value(Rewrite *rewrite, ValueId old) {
    const Graph *g = rewrite->from;
    const Value *value = graph_value(g, old);
    const Node *node = value->node ? graph_node(g, value->node) : NULL;
    if (!node || node->kind != NODE_OP || node->op != OP_BROADCAST_TO) return 0;
    const Type *inner = &graph_value(g, node->operand[0])->type;
    if (inner->rank + 1u != value->type.rank) return 0;
    for (uint32_t i = 0; i < inner->rank; i++)
        if (inner->size[i] != value->type.size[i + 1]) return 0;
    return rewrite_get(rewrite, node->operand[0]);
}

static bool turn_contract(Rewrite *rewrite, const Node *node, Builder *b, bool *done) {
    const Layout *layout = rewrite->user;
    const Graph *g = rewrite->from;
    uint32_t k = (uint32_t)build_attr(node, "k")->i, batch = (uint32_t)build_attr(node, "batch")->i;
    bool last = layout->last[node->result[0]];
    Reading reading = {0};
    ValueId leader = layout_leader(layout, node, &reading);
    bool one = !last && batch == 1 && layout->constant[node->operand[1]]; // weight for all images
    ValueId shared = last || one ? spread_value(rewrite, node->operand[last ? 0 : 1]) : 0;
    if (!last && !leader && !shared) return true;
    Side side[2];
    for (uint32_t i = 0; i < 2; i++) {
        ValueId old = node->operand[last ? 1 - i : i];
        side[i] = (Side){old, rewrite_get(rewrite, old), graph_value(g, old)->type.rank};
    }
    if (shared) batch = 0, side[1].value = shared, side[1].rank--;
    const char *image = NULL;
    ValueId filled[2];
    if (last && shared && layout_image(rewrite, b, side[0].old, shared, filled, &image))
        side[0].value = filled[0], side[1].value = filled[1], k = 2;
    uint32_t from_end = leader ? graph_value(g, leader)->type.rank - (uint32_t)reading.k_axis : 0;
    bool moves = leader && !is_last(g, &graph_value(g, leader)->type, from_end);
    for (uint32_t i = 0; i < 2 && leader; i++) {
        ValueId old = side[i].old;
        int wanted = (int)graph_value(g, old)->type.rank - (int)from_end;
        if (moves) sum_last_along(b, &side[i], k, from_end);
        Reading own = layout_reading(layout, node, old, wanted);
        bool reads_well = own.vector && (own.k_axis == wanted || own.k_axis < 0);
        if (layout->constant[old] && !reads_well && is_sized(b, side[i].value))
            side[i].value = build_stored(b, "packed", side[i].value);
    }
    Attr attr[OP_ATTRS_MAX] = {0};
    build_attrs(node, attr);
    attr[op_attr_index(op_info(OP_CONTRACT), "batch")] = attr_int(batch);
    attr[op_attr_index(op_info(OP_CONTRACT), "k")] = attr_int(k);
    const char *why =
        last ? arena_printf(b->g->arena, "channels last: %s", layout_why(layout, node->result[0]))
        : moves ? "sums last along neighbours in memory"
                : NULL;
    if (image) why = arena_printf(b->g->arena, "%s; %s", why, image);
    if (why && b->reason) why = arena_printf(b->g->arena, "%s; %s", b->reason, why);
    if (why) attr[op_attr_index(op_info(OP_CONTRACT), "reason")] = attr_string(why);
    const char *part = last ? part_of(rewrite, node->result[0]) : NULL;
    ValueId value =
        build_op(b, OP_CONTRACT, part, (ValueId[]){side[0].value, side[1].value}, 2, attr);
    *done = true;
    if (!value) return false;
    if (last) return set_last(rewrite, b, node->result[0], value);
    rewrite_set(rewrite, node->result[0], value);
    return true;
}

// A permute of the file that undoes ours.
static bool join_permutes(Rewrite *rewrite, const Node *node, Builder *b, bool *done) {
    uint8_t axes[RANK_MAX];
    ValueId x = node_operand(rewrite, node, 0);
    const Node *def = simplify_def(b, x);
    if (!def || !move_is_permute(def->op)) return true;
    move_axes(node, build_type(b, x).rank, axes);
    x = turn(b, NULL, x, axes);
    if (x) rewrite_set(rewrite, node->result[0], x);
    return *done = x != 0;
}

static bool layout_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Layout *layout = rewrite->user;
    const Node *node = graph_node(rewrite->from, id);
    if (node->kind != NODE_OP || !node->results) return true;
    OpClass class = op_info(node->op)->class;
    Builder b = build_begin(rewrite, id);
    bool good = true;
    if (node->op == OP_CONTRACT) return turn_contract(rewrite, node, &b, done);
    if (class == OC_MOVE && move_is_permute(node->op))
        good = join_permutes(rewrite, node, &b, done);
    else if (class == OC_MAP && layout->last[node->result[0]])
        good = *done = turn_map(rewrite, node, &b);
    else if (class == OC_TRANSFORM && layout->last[node->result[0]])
        good = *done = turn_transform(rewrite, node, &b);
    else if (class == OC_REDUCE &&
             (layout->last[node->operand[0]] || layout->last[node->result[0]]))
        good = *done = turn_reduce(rewrite, node, &b);
    return good;
}

static ValueId layout_store(Rewrite *rewrite, ValueId old) {
    const Layout *layout = rewrite->user;
    ValueId value = rewrite_get(rewrite, old);
    if (rewrite->outputs || !layout->last[old]) return value;
    Builder b = {.g = rewrite->to, .diags = rewrite->ctx->diags, .prefix = "carried"};
    return channels_last(&b, value);
}

static ValueId layout_load(Rewrite *rewrite, ValueId old, ValueId carried) {
    const Layout *layout = rewrite->user;
    if (!layout->last[old]) return carried;
    Builder b = {.g = rewrite->to, .diags = rewrite->ctx->diags, .prefix = "carried"};
    return channels_back(&b, "channels_first", carried);
}

bool pass_layouts(PassContext *ctx, const Graph *in, Graph **out) {
    uint32_t count = in->values.len;
    Layout layout = {.g = in, .live = graph_live_nodes(in)};
    layout.parent = arena_alloc(in->arena, count * sizeof *layout.parent);
    layout.gain = arena_alloc(in->arena, count * sizeof *layout.gain);
    layout.readers = arena_alloc(in->arena, count * sizeof *layout.readers);
    layout.fixed = arena_alloc(in->arena, count * sizeof *layout.fixed);
    layout.pooled = arena_alloc(in->arena, count * sizeof *layout.pooled);
    layout.turned = arena_alloc(in->arena, count * sizeof *layout.turned);
    layout.constant = arena_alloc(in->arena, count * sizeof *layout.constant);
    layout.last = arena_alloc(in->arena, count * sizeof *layout.last);
    for (uint32_t i = 0; i < count; i++) layout.parent[i] = i;
    layout_decide(&layout);
    Rewrite rewrite = {.ctx = ctx,
                       .from = in,
                       .fn = layout_node,
                       .store = layout_store,
                       .load = layout_load,
                       .user = &layout};
    return rewrite_graph(rewrite, out);
}
