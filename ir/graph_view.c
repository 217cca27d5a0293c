// Chains of inline moves as views.
#include "ir/graph.h"

#include <assert.h>
#include <string.h>

// One axis of a tile: the repetitions are an outer digit of stride 0.
static bool tile_view(DimTable *dims, const Node *node, const View *view, View *out) {
    Dim wide[2 * RANK_MAX], joined[RANK_MAX];
    View step = *view;
    for (unsigned axis = 0; axis < view->rank; axis++) {
        int64_t reps = node->attr[0].ints.at[axis];
        joined[axis] = dim_mul(dims, view->size[axis], dim_const(dims, reps));
        if (reps == 1) continue;
        if (step.rank == RANK_MAX || !view_expand(dims, &step, (uint8_t)axis, out)) return false;
        for (unsigned i = 0; i < out->rank; i++) wide[i] = out->size[i];
        wide[axis] = dim_const(dims, reps);
        if (!view_broadcast(dims, out, out->rank, wide, &step)) return false;
        for (unsigned i = 0; i < view->rank; i++) wide[i] = i <= axis ? joined[i] : view->size[i];
        if (!view_reshape(dims, &step, view->rank, wide, out)) return false;
        step = *out;
    }
    *out = step;
    return true;
}

static bool split_view(DimTable *dims, const Node *node, uint32_t index, const View *view,
                       View *out) {
    const Attr *sizes = &node->attr[0];
    Dim start = dim_const(dims, 0);
    for (uint32_t i = 0; i < index; i++) start = dim_add(dims, start, sizes->sizes.at[i]);
    return view_slice(dims, view, (uint8_t)node->attr[1].i, start, 1, sizes->sizes.at[index], out);
}

static double scalar_value(const Attr *attr) {
    return attr->is_float ? attr->f : (double)attr->i;
}

// The moves that work axis by axis; each step reads *view and leaves its result there.
static bool axis_moves(DimTable *dims, const Node *node, const Type *type, View *view) {
    View next = *view;
    for (unsigned back = view->rank; back-- > 0;) { // from the last: dropped axes move no others
        uint8_t axis = (uint8_t)back;
        bool good = true;
        Dim before, after;
        switch (node->op) {
        case OP_SQUEEZE:
            if (!attr_ints_has(&node->attr[0], axis)) continue;
            good = view_squeeze(dims, view, axis, &next);
            break;
        case OP_FLIP:
            if (!attr_ints_has(&node->attr[0], axis)) continue;
            good = view_slice(dims, view, axis, dim_sub(dims, view->size[axis], dim_const(dims, 1)),
                              -1, view->size[axis], &next);
            break;
        case OP_SLICE:
            good = view_slice(dims, view, axis, node->attr[0].sizes.at[axis],
                              node->attr[2].ints.at[axis], type->size[axis], &next);
            break;
        default: // OP_PAD
            if (strcmp(node->attr[2].s, "constant") != 0) return false;
            attr_pair_of(&node->attr[0], axis, &before, &after);
            if (dim_is(dims, before, 0) && dim_is(dims, after, 0)) continue;
            good = view_pad(dims, view, axis, before, after, scalar_value(&node->attr[1]), &next);
            break;
        }
        if (!good) return false;
        *view = next;
    }
    return true;
}

// axes[i]: the operand's axis that axis i of the result is.
static void permute_axes(const Node *node, uint8_t rank, uint8_t *axes) {
    for (uint8_t axis = 0; axis < rank; axis++) axes[axis] = axis;
    if (node->op == OP_TRANSPOSE) {
        axes[node->attr[0].i] = (uint8_t)node->attr[1].i;
        axes[node->attr[1].i] = (uint8_t)node->attr[0].i;
    } else {
        for (uint8_t i = 0; i < rank; i++) axes[i] = (uint8_t)node->attr[0].ints.at[i];
    }
}

static bool permute_view(DimTable *dims, const Node *node, const View *view, View *out) {
    uint8_t axes[RANK_MAX];
    permute_axes(node, view->rank, axes);
    return view_permute(dims, view, axes, out);
}

// *view seen through the move that makes `value`.
static bool apply_move(const Graph *g, ValueId value, View *view) {
    const Value *made = graph_value(g, value);
    const Node *node = graph_node(g, made->node);
    DimTable *dims = g->dims;
    const Attr *attr = node->attr;
    View in = *view;
    switch (node->op) {
    case OP_RESHAPE:
    case OP_FLATTEN: return view_reshape(dims, &in, made->type.rank, made->type.size, view);
    case OP_BROADCAST_TO: return view_broadcast(dims, &in, made->type.rank, made->type.size, view);
    case OP_TRANSPOSE:
    case OP_PERMUTE_DIMS: return permute_view(dims, node, &in, view);
    case OP_EXPAND_DIMS: return view_expand(dims, &in, (uint8_t)attr[0].i, view);
    case OP_TILE: return tile_view(dims, node, &in, view);
    case OP_SPLIT: return split_view(dims, node, made->index, &in, view);
    case OP_UNFOLD:
        return view_unfold(dims, &in, (uint8_t)attr[0].i, attr[1].size, attr[2].size, attr[3].i,
                           attr[4].i, attr[5].size, scalar_value(&attr[6]), view);
    case OP_SQUEEZE:
    case OP_FLIP:
    case OP_SLICE:
    case OP_PAD: return axis_moves(dims, node, &made->type, view);
    default: assert(!"not a view"); return false;
    }
}

static bool is_move(const Node *node, bool any) {
    return node->kind == NODE_OP && op_is_view(op_info(node->op)) && (any || node->inline_view);
}

bool graph_view(const Graph *g, ValueId value, ValueId *base, View *view) {
    const Value *top = graph_value(g, value);
    if (!top->node || !is_move(graph_node(g, top->node), false)) {
        *base = value;
        *view = view_identity(g->dims, top->type.rank, top->type.size);
        return true;
    }
    return graph_view(g, graph_node(g, top->node)->operand[0], base, view) &&
           apply_move(g, value, view);
}

ValueId graph_under_moves(const Graph *g, ValueId value) {
    while (graph_value(g, value)->node && is_move(graph_node(g, graph_value(g, value)->node), true))
        value = graph_node(g, graph_value(g, value)->node)->operand[0];
    return value;
}

bool graph_view_from(const Graph *g, ValueId value, ValueId base, const View *own, View *view) {
    if (value == base) {
        *view = *own;
        return true;
    }
    const Node *node = graph_node(g, graph_value(g, value)->node);
    return graph_view_from(g, node->operand[0], base, own, view) && apply_move(g, value, view);
}

bool graph_copy_view(const Graph *g, ValueId value, ValueId *base, View *view) {
    const Node *node = graph_node(g, graph_value(g, value)->node);
    return graph_view(g, node->operand[0], base, view) && apply_move(g, value, view);
}

// ---- stores
// ----------------------------------------------------------------------------------------------

// *view of the elements of `value`, seen from those of the operand of the move that makes it;
// elements that the move leaves out are outside a guard.
static bool undo_move(const Graph *g, ValueId value, View *view) {
    const Node *node = graph_node(g, graph_value(g, value)->node);
    const Type *x = &graph_value(g, node->operand[0])->type;
    DimTable *dims = g->dims;
    View in = *view;
    uint8_t axes[RANK_MAX], back[RANK_MAX];
    switch (node->op) {
    case OP_RESHAPE:
    case OP_FLATTEN:
    case OP_EXPAND_DIMS:
    case OP_SQUEEZE: return view_reshape(dims, &in, x->rank, x->size, view);
    case OP_TRANSPOSE:
    case OP_PERMUTE_DIMS:
        permute_axes(node, x->rank, axes);
        for (uint8_t i = 0; i < x->rank; i++) back[axes[i]] = i;
        return view_permute(dims, &in, back, view);
    case OP_FLIP: return axis_moves(dims, node, x, view);
    case OP_SLICE:
        for (uint8_t axis = 0; axis < x->rank; axis++) {
            Dim start = node->attr[0].sizes.at[axis];
            Dim after = dim_sub(dims, x->size[axis], dim_add(dims, start, in.size[axis]));
            if (node->attr[2].ints.at[axis] != 1) return false;
            if (!view_pad(dims, &in, axis, start, after, 0, view)) return false;
            in = *view;
        }
        return true;
    default: return false;
    }
}

bool graph_update_view(const Graph *g, ValueId version, View *view) {
    const Type *type = &graph_value(g, version)->type;
    const Node *node = graph_node(g, graph_value(g, version)->node);
    *view = view_identity(g->dims, type->rank, type->size);
    for (uint8_t a = 0; a < view->rank; a++) {
        Dim start = node->attr[0].sizes.at[a];
        int64_t step = node->attr[2].ints.at[a];
        Dim count = dim_sub(g->dims, node->attr[1].sizes.at[a], start);
        View in = *view;
        count = dim_ceil_div(g->dims, count, dim_const(g->dims, step));
        if (!view_slice(g->dims, &in, a, start, step, count, view)) return false;
    }
    return true;
}

bool graph_store_view(const Graph *g, ValueId stored, ValueId *source, View *view) {
    const Type *type = &graph_value(g, stored)->type;
    const Node *node = graph_node(g, graph_value(g, stored)->node);
    *view = view_identity(g->dims, type->rank, type->size);
    if (node->op == OP_UPDATE) {
        *source = node->operand[1];
        type = &graph_value(g, *source)->type;
        if (!graph_update_view(g, stored, view) || type->rank != view->rank) return false;
        for (uint8_t a = 0; a < type->rank; a++)
            if (type->size[a] != view->size[a]) return false;
    } else {
        *source = node->operand[0];
        if (!undo_move(g, stored, view)) return false;
    }
    for (;; *source = node->operand[0]) {
        NodeId id = graph_value(g, *source)->node;
        node = id ? graph_node(g, id) : NULL;
        if (!node || node->kind != NODE_OP || !node->inline_view || !node->operands) break;
        if (!undo_move(g, *source, view)) return false;
    }
    return true;
}
