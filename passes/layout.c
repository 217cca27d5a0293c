#include "passes/layout.h"

#include <math.h>

enum { POOL_CELLS = 16, EPILOGUE_DEPTH = 12, MOVE_BYTES = 16 };

// What moving one element costs, in moves of a vector's element: alone in a product with fragments,
// alone in a map that stores a value in another order than it was computed in.
enum { COST_GATHERED = 6, COST_TURNED = 6 };

// What it is worth that the places of all images are the rows of one product.
static const double gain_joined = 0.25;
// What it is worth to an element of an image that channels of tiles are read or written together.
static const double gain_transformed = 0.5;

static uint32_t layout_root(const Layout *layout, uint32_t value) {
    while (layout->parent[value] != value) value = layout->parent[value];
    return value;
}

static void layout_join(Layout *layout, ValueId a, ValueId b) {
    uint32_t x = layout_root(layout, a), y = layout_root(layout, b);
    if (x == y) return;
    layout->parent[y] = x;
    layout->gain[x] += layout->gain[y];
    layout->readers[x] += layout->readers[y];
    layout->fixed[x] |= layout->fixed[y];
    layout->pooled[x] |= layout->pooled[y];
}

static const Node *layout_node_of(const Layout *layout, ValueId value) {
    NodeId id = value ? graph_value(layout->g, value)->node : 0;
    return id ? graph_node(layout->g, id) : NULL;
}

// Values whose order in memory is ours to choose.
static bool layout_is_free(const Layout *layout, ValueId value) {
    const Node *node = layout_node_of(layout, value);
    if (!value || graph_value(layout->g, value)->type.rank < 3) return false;
    const Type *type = &graph_value(layout->g, value)->type;
    if (dim_is(layout->g->dims, type->size[1], 1)) return false; // both orders are the same
    if (!node || node->kind == NODE_REPEAT) return true;         // carried
    if (node->kind != NODE_OP) return false;
    OpClass class = op_info(node->op)->class;
    if (class == OC_TRANSFORM) return node->op != OP_WINOGRAD_WEIGHT;
    return class == OC_MAP || class == OC_REDUCE || class == OC_CONTRACT;
}

void layout_axes(uint32_t rank, bool back, uint8_t *axes) {
    for (uint32_t i = 0; i < rank; i++) axes[i] = (uint8_t)i;
    for (uint32_t i = 1; i + 1 < rank; i++) axes[i] = (uint8_t)(back ? i - 1 : i + 1);
    if (!back) axes[rank - 1] = 1;
    if (back) axes[1] = (uint8_t)(rank - 1);
    for (uint32_t i = 2; back && i < rank; i++) axes[i] = (uint8_t)(i - 1);
}

// The value as it lies in memory with axis 1 last, seen in its own order.
static View layout_own(const Layout *layout, ValueId value, bool last) {
    DimTable *dims = layout->g->dims;
    const Type *type = &graph_value(layout->g, value)->type;
    View plain = view_identity(dims, type->rank, type->size), turned;
    if (!last) return plain;
    Dim size[RANK_MAX];
    uint8_t axes[RANK_MAX];
    layout_axes(type->rank, false, axes);
    for (uint32_t i = 0; i < type->rank; i++) size[i] = type->size[axes[i]];
    plain = view_identity(dims, type->rank, size);
    layout_axes(type->rank, true, axes);
    return view_permute(dims, &plain, axes, &turned) ? turned : plain;
}

static double layout_elements(const Layout *layout, const Type *type) {
    double product = 1;
    for (uint32_t i = 0; i < type->rank; i++) {
        DimBounds bounds = dim_bounds(layout->g->dims, type->size[i]);
        double low = bounds.lo < 1 ? 1 : (double)bounds.lo;
        product *= sqrt(low * (bounds.hi < 1 ? 1 : (double)bounds.hi));
    }
    return product;
}

// Whether `unit` neighbours along an axis of the view are neighbours in memory, aligned, and all
// inside or all outside.
static bool layout_goes_along(const Layout *layout, const View *view, uint32_t axis,
                              uint32_t unit) {
    DimTable *dims = layout->g->dims;
    int fast = -1;
    for (int d = 0; d < view->digits; d++)
        if (view->digit[d].axis == axis && !dim_is(dims, view->digit[d].size, 1)) fast = d;
    if (fast < 0 || view->inner || !dim_is(dims, view->digit[fast].stride, 1)) return false;
    if (!dim_divides(dims, unit, view->digit[fast].size)) return false;
    for (int d = 0; d < view->digits; d++) {
        const Digit *digit = &view->digit[d];
        if (d == fast || dim_is(dims, digit->size, 1) || dim_is(dims, digit->stride, 0)) continue;
        if (!dim_divides(dims, unit, digit->stride)) return false;
    }
    for (uint8_t i = 0; i < view->guards; i++)
        for (uint8_t t = 0; t < view->guard[i].terms; t++)
            if (view->guard[i].term[t].digit == fast) return false;
    return dim_is(dims, view->offset, 0) || dim_divides(dims, unit, view->offset);
}

// The last axis of [first, stop) that is not of size 1; -1: none.
static int layout_last_axis(const Layout *layout, const Type *type, uint32_t first, uint32_t stop) {
    for (uint32_t a = stop; a-- > first;)
        if (!dim_is(layout->g->dims, type->size[a], 1)) return (int)a;
    return -1;
}

static Reading layout_read(const Layout *layout, const Node *node, ValueId value, ValueId base,
                           bool last, int wanted) {
    const Type *type = &graph_value(layout->g, value)->type;
    Reading reading = {.elements = layout_elements(layout, type), .k_axis = -1};
    View own = layout_own(layout, base, last), view;
    uint32_t batch = (uint32_t)build_attr(node, "batch")->i;
    uint32_t k = type->rank - (uint32_t)build_attr(node, "k")->i;
    uint32_t unit = MOVE_BYTES / (dtype_bytes(type->dtype) ? dtype_bytes(type->dtype) : 1);
    if (!graph_view_from(layout->g, value, base, &own, &view)) return reading;
    int order[RANK_MAX + 2], count = 0;
    if (wanted >= 0) order[count++] = wanted;
    order[count++] = layout_last_axis(layout, type, k, type->rank);
    order[count++] = layout_last_axis(layout, type, batch, k);
    for (uint32_t a = k; a < type->rank; a++) order[count++] = (int)a;
    for (int i = 0; i < count && !reading.vector; i++) {
        if (order[i] < 0 || !layout_goes_along(layout, &view, (uint32_t)order[i], unit)) continue;
        reading.vector = true;
        reading.k_axis = order[i] >= (int)k ? order[i] : -1;
    }
    return reading;
}

Reading layout_reading(const Layout *layout, const Node *node, ValueId value, int wanted) {
    ValueId base = graph_under_moves(layout->g, value);
    return layout_read(layout, node, value, base, layout->last[base], wanted);
}

ValueId layout_leader(const Layout *layout, const Node *node, Reading *reading) {
    ValueId leader = 0;
    for (uint32_t i = 0; i < 2; i++) {
        ValueId value = node->operand[i];
        if (layout->constant[value]) continue;
        Reading own = layout_reading(layout, node, value, -1);
        if (!own.vector || own.k_axis < 0) continue;
        if (leader && own.elements <= reading->elements) continue;
        leader = value;
        *reading = own;
    }
    return leader;
}

bool layout_turns(const Layout *layout, const Node *contract) {
    const Type *x = &graph_value(layout->g, contract->operand[0])->type;
    const Type *y = &graph_value(layout->g, contract->operand[1])->type;
    int64_t k = build_attr(contract, "k")->i;
    return build_attr(contract, "batch")->i == 1 && x->rank - k == 2 && y->rank - k >= 2;
}

// Whether the dtype is one that fragments multiply: only then are single loads what limits.
static bool layout_counts(DType dtype) {
    return dtype == DT_F16 || dtype == DT_BF16 || dtype == DT_I8 || dtype == DT_U8;
}

static void layout_see_contract(Layout *layout, const Node *node) {
    if (layout_is_free(layout, node->result[0]) && !layout_turns(layout, node))
        layout->fixed[layout_root(layout, node->result[0])] = true;
    for (uint32_t i = 0; i < 2; i++) {
        ValueId value = node->operand[i], base = graph_under_moves(layout->g, value);
        if (!layout_is_free(layout, base) || layout->constant[base]) continue;
        if (!layout_counts(graph_value(layout->g, value)->type.dtype)) continue;
        Reading before = layout_read(layout, node, value, base, false, -1);
        Reading after = layout_read(layout, node, value, base, true, -1);
        double gain = (COST_GATHERED - 1) * before.elements;
        uint32_t root = layout_root(layout, base);
        if (after.vector && !before.vector) layout->gain[root] += gain, layout->readers[root]++;
        if (before.vector && !after.vector) layout->gain[root] -= gain;
        if (before.vector && after.vector && layout_turns(layout, node))
            layout->gain[root] += gain_joined * before.elements;
    }
}

// Whether maps of one shape come out of a contract, which then can pool what they make.
static bool layout_from_contract(const Layout *layout, ValueId value, unsigned depth) {
    const Node *node = layout_node_of(layout, value);
    if (!node || node->kind != NODE_OP || depth > EPILOGUE_DEPTH) return false;
    if (node->op == OP_CONTRACT) return true;
    const Type *type = &graph_value(layout->g, value)->type;
    for (uint32_t i = 0; op_info(node->op)->class == OC_MAP && i < node->operands; i++) {
        ValueId x = node->operand[i];
        if (x && build_same_shape(&graph_value(layout->g, x)->type, type) &&
            layout_from_contract(layout, x, depth + 1))
            return true;
    }
    return false;
}

// What memory holds in an order that is not ours to choose is read best along its own neighbours.
static void layout_see_given(Layout *layout, ValueId result, ValueId value) {
    ValueId base = graph_under_moves(layout->g, value);
    if (layout_is_free(layout, base) || layout->constant[base]) return;
    View own = layout_own(layout, base, false), view;
    const Type *type = &graph_value(layout->g, value)->type;
    int last = layout_last_axis(layout, type, 0, type->rank);
    if (last < 2 || !graph_view_from(layout->g, value, base, &own, &view)) return;
    double elements = layout_elements(layout, type);
    uint32_t root = layout_root(layout, result);
    if (layout_goes_along(layout, &view, 1, 1))
        layout->gain[root] += elements;
    else if (layout_goes_along(layout, &view, (uint32_t)last, 1))
        layout->gain[root] -= elements;
}

static void layout_see_reduce(Layout *layout, const Node *node) {
    ValueId value = node->operand[0];
    const Type *type = &graph_value(layout->g, value)->type;
    uint32_t mask = reduce_axes(node, type->rank);
    if (!(mask & 3) && layout_is_free(layout, node->result[0]))
        layout_see_given(layout, node->result[0], value);
    if (!layout_is_free(layout, value)) return;
    if (!(mask & 3) && layout_is_free(layout, node->result[0]))
        layout_join(layout, value, node->result[0]);
    double cells = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        if (mask >> i & 1) cells *= (double)dim_bounds(layout->g->dims, type->size[i]).hi;
    if (cells <= POOL_CELLS && layout_from_contract(layout, value, 0))
        layout->pooled[layout_root(layout, value)] = true;
}

// Moves that leave the axes where they are.
static ValueId layout_same_axes(const Layout *layout, ValueId value) {
    for (;;) {
        const Node *node = layout_node_of(layout, value);
        if (!node || node->kind != NODE_OP) return value;
        if (node->op != OP_SLICE && node->op != OP_PAD && node->op != OP_FLIP) return value;
        value = node->operand[0];
    }
}

static void layout_see_map(Layout *layout, const Node *node) {
    if (!layout_is_free(layout, node->result[0])) return;
    const Type *type = &graph_value(layout->g, node->result[0])->type;
    for (uint32_t i = 0; i < node->operands; i++) {
        ValueId value = node->operand[i];
        if (!value || !build_same_shape(&graph_value(layout->g, value)->type, type)) continue;
        layout_see_given(layout, node->result[0], value);
        value = layout_same_axes(layout, value);
        if (layout_is_free(layout, value)) layout_join(layout, node->result[0], value);
    }
}

// A transform of tiles goes along channels as well as along tiles, and rather so, as channels are
// whole vectors: the transformed tensor follows the image.
static void layout_see_transform(Layout *layout, const Node *node) {
    const Graph *g = layout->g;
    if (node->op == OP_WINOGRAD_WEIGHT) return;
    ValueId from = node->operand[0], to = node->result[0];
    bool makes_image = node->op == OP_WINOGRAD_OUTPUT;
    ValueId image = makes_image ? to : layout_same_axes(layout, from);
    if (!layout_is_free(layout, makes_image ? from : image)) {
        layout->fixed[layout_root(layout, to)] = true;
        return;
    }
    layout_join(layout, to, makes_image ? from : image);
    const Type *type = &graph_value(g, image)->type;
    if (layout_counts(type->dtype) && dim_divides(g->dims, 4, type->size[1]))
        layout->gain[layout_root(layout, to)] += gain_transformed * layout_elements(layout, type);
}

// An output is stored as the file says, which may be with channels last.
static void layout_see_output(Layout *layout, ValueId value) {
    ValueId base = graph_under_moves(layout->g, value);
    if (!layout_is_free(layout, base)) return;
    View own = layout_own(layout, base, true), view;
    bool good = graph_view_from(layout->g, value, base, &own, &view);
    bool turned = good && view_is_identity(layout->g->dims, &view);
    double elements = layout_elements(layout, &graph_value(layout->g, base)->type);
    layout->gain[layout_root(layout, base)] += turned ? elements : -COST_TURNED * elements;
}

// Something that wants the value in its own order.
static void layout_see_other(Layout *layout, ValueId value) {
    value = value ? graph_under_moves(layout->g, value) : 0;
    if (!layout_is_free(layout, value)) return;
    const Type *type = &graph_value(layout->g, value)->type;
    layout->gain[layout_root(layout, value)] -= COST_TURNED * layout_elements(layout, type);
}

static void layout_see_repeat(Layout *layout, const Node *node) {
    for (uint32_t i = 0; i < node->operands; i++) {
        if (!layout_is_free(layout, node->result[i])) continue;
        ValueId ends[] = {node->param[i], node->operand[i], node->yield[i]};
        for (uint32_t e = 0; e < 3; e++) {
            if (layout_is_free(layout, ends[e]))
                layout_join(layout, node->result[i], ends[e]);
            else
                layout->fixed[layout_root(layout, node->result[i])] = true;
        }
    }
}

static void layout_see(Layout *layout, const Node *node) {
    if (node->kind == NODE_REPEAT) {
        layout_see_repeat(layout, node);
        return;
    }
    if (node->kind != NODE_OP || !node->results) return;
    switch (op_info(node->op)->class) {
    case OC_CONTRACT:
        if (node->op == OP_CONTRACT) layout_see_contract(layout, node);
        break;
    case OC_REDUCE: layout_see_reduce(layout, node); break;
    case OC_MAP: layout_see_map(layout, node); break;
    case OC_TRANSFORM: layout_see_transform(layout, node); break;
    case OC_MOVE: break;
    default:
        for (uint32_t i = 0; i < node->operands; i++) layout_see_other(layout, node->operand[i]);
    }
}

static void layout_find_constants(Layout *layout) {
    const Graph *g = layout->g;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || !node->results) continue;
        bool constant = node->op != OP_INPUT && op_info(node->op)->class != OC_STATE;
        for (uint32_t i = 0; i < node->operands; i++)
            constant &= !node->operand[i] || layout->constant[node->operand[i]];
        for (uint32_t i = 0; i < node->results; i++) layout->constant[node->result[i]] = constant;
    }
}

// A weight that meets an operand which goes along one K axis goes along that axis as well.
static void layout_weights(Layout *layout, const Node *node) {
    Reading reading;
    ValueId leader = layout_leader(layout, node, &reading);
    if (!leader) return;
    int from_end = (int)graph_value(layout->g, leader)->type.rank - reading.k_axis;
    for (uint32_t i = 0; i < 2; i++) {
        ValueId value = node->operand[i], base = graph_under_moves(layout->g, value);
        if (!layout->constant[value] || !layout_is_free(layout, base)) continue;
        int wanted = (int)graph_value(layout->g, value)->type.rank - from_end;
        Reading plain = layout_read(layout, node, value, base, false, wanted);
        Reading turned = layout_read(layout, node, value, base, true, wanted);
        bool reads_well = plain.vector && (plain.k_axis == wanted || plain.k_axis < 0);
        if (!reads_well && turned.k_axis == wanted)
            layout->turned[layout_root(layout, base)] = true;
    }
}

// What a map or reduce with its channels last reads through windows and the like had better be so.
static void layout_follow(Layout *layout, const Node *node) {
    OpClass class = op_info(node->op)->class;
    if (class != OC_MAP && class != OC_REDUCE) return;
    if (!layout->turned[layout_root(layout, node->result[0])]) return;
    for (uint32_t i = 0; i < node->operands; i++) {
        ValueId value = node->operand[i], base = value ? graph_under_moves(layout->g, value) : 0;
        if (!layout_is_free(layout, base) || layout->constant[base]) continue;
        uint32_t root = layout_root(layout, base);
        if (layout->fixed[root] || layout->pooled[root] || layout->gain[root] < 0) continue;
        View own = layout_own(layout, base, true), view;
        if (graph_view_from(layout->g, value, base, &own, &view) && view.rank > 1 &&
            layout_goes_along(layout, &view, 1, 1))
            layout->turned[root] = true;
    }
}

static void layout_fill(Layout *layout) {
    for (ValueId value = 1; value < layout->g->values.len; value++)
        layout->last[value] =
            layout_is_free(layout, value) && layout->turned[layout_root(layout, value)];
}

// Each order's gain: what vectors save where contracts read, less what turning the values costs
// where something else needs them as they are. Weights follow.
void layout_decide(Layout *layout) {
    const Graph *g = layout->g;
    layout_find_constants(layout);
    for (NodeId id = 1; id < g->nodes.len; id++)
        if (layout->live[id]) layout_see(layout, graph_node(g, id));
    for (uint32_t i = 0; i < g->outputs.len; i++) layout_see_output(layout, g->outputs.at[i].value);
    for (ValueId value = 1; value < g->values.len; value++) {
        uint32_t root = layout_root(layout, value);
        layout->turned[root] =
            !layout->fixed[root] && !layout->pooled[root] && layout->gain[root] > 0;
    }
    for (NodeId id = g->nodes.len; id-- > 1;) {
        const Node *node = graph_node(g, id);
        if (layout->live[id] && node->kind == NODE_OP && node->results) layout_follow(layout, node);
    }
    layout_fill(layout);
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (layout->live[id] && node->kind == NODE_OP && node->op == OP_CONTRACT)
            layout_weights(layout, node);
    }
    layout_fill(layout);
}

const char *layout_why(const Layout *layout, ValueId value) {
    uint32_t root = layout_root(layout, value);
    if (!layout->readers[root]) return "so is what reads it";
    return arena_printf(layout->g->arena, "%u products read whole vectors, %.2g single loads saved",
                        layout->readers[root], layout->gain[root]);
}
