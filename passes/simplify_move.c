#include "passes/simplify.h"

// A permute that only moves axes of size 1 about is a reshape.
static bool permutes_nothing(const Builder *b, const Type *type, const uint8_t *axes) {
    int last = -1;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (dim_is(b->g->dims, type->size[axes[i]], 1)) continue;
        if (axes[i] < last) return false;
        last = axes[i];
    }
    return true;
}

// x in another shape, past the reshapes that made it.
static ValueId reshape_of(Builder *b, const Type *result, ValueId x) {
    for (;;) {
        Type type = build_type(b, x);
        if (build_same_shape(&type, result)) return x;
        const Node *def = simplify_def(b, x);
        if (!def || !move_is_reshape(def->op)) break;
        x = def->operand[0];
    }
    return build_reshape(b, NULL, x, result->rank, result->size);
}

static ValueId simplify_permute(Builder *b, const Node *node, const Type *result, ValueId x) {
    uint8_t axes[RANK_MAX], inner[RANK_MAX];
    Type type = build_type(b, x);
    move_axes(node, type.rank, axes);
    if (permutes_nothing(b, &type, axes)) return reshape_of(b, result, x);
    const Node *def = simplify_def(b, x);
    if (!def || !move_is_permute(def->op)) return 0;
    move_axes(def, type.rank, inner);
    for (uint32_t i = 0; i < type.rank; i++) axes[i] = inner[axes[i]];
    return build_permute(b, NULL, def->operand[0], axes);
}

static ValueId simplify_reshape(Builder *b, const Type *result, ValueId x) {
    Type type = build_type(b, x);
    const Node *def = simplify_def(b, x);
    bool applies = build_same_shape(&type, result) || (def && move_is_reshape(def->op));
    return applies ? reshape_of(b, result, x) : 0;
}

static bool zero_widths(const Builder *b, const Attr *widths) {
    for (uint32_t i = 0; i < widths->sizes.n; i++)
        if (!dim_is(b->g->dims, widths->sizes.at[i], 0)) return false;
    return true;
}

static bool whole_slice(const Builder *b, const Node *node, const Type *type) {
    for (uint32_t i = 0; i < type->rank; i++) {
        if (build_attr(node, "steps")->ints.at[i] != 1) return false;
        if (!dim_is(b->g->dims, build_attr(node, "starts")->sizes.at[i], 0)) return false;
        if (build_attr(node, "stops")->sizes.at[i] != type->size[i]) return false;
    }
    return true;
}

ValueId simplify_move(Builder *b, const Node *node, const Type *result, ValueId x) {
    Type type = build_type(b, x);
    const Node *def = simplify_def(b, x);
    if (move_is_permute(node->op)) return simplify_permute(b, node, result, x);
    if (move_is_reshape(node->op)) return simplify_reshape(b, result, x);
    switch (node->op) {
    case OP_BROADCAST_TO:
        if (build_same_shape(&type, result)) return x;
        if (!def || def->op != OP_BROADCAST_TO) return 0;
        return build_broadcast(b, def->operand[0], result->rank, result->size);
    case OP_SLICE: return whole_slice(b, node, &type) ? x : 0;
    case OP_PAD: return zero_widths(b, build_attr(node, "widths")) ? x : 0;
    case OP_FLIP:
        if (!def || def->op != OP_FLIP) return 0;
        if (!attr_equal(ATTR_INTS, build_attr(node, "axis"), build_attr(def, "axis"))) return 0;
        return def->operand[0];
    default: return 0;
    }
}
