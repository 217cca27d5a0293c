// Moves that are made of others: each is one view, one join of views, or one map that selects by
// position.
#include "passes/decompose.h"

#include <string.h>

static const bool shared[3]; // parts that others read too: none is lifted into a join

static Dim one_of(Builder *b) {
    return dim_const(b->g->dims, 1);
}

// `width` elements beside the end of an axis (its start, or with `end` its end).
static ValueId border(Builder *b, ValueId x, uint32_t axis, Dim width, const char *mode, bool end) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x);
    Dim size = type.size[axis], one = one_of(b), zero = dim_const(dims, 0);
    Dim last = dim_sub(dims, size, one);
    if (strcmp(mode, "edge") == 0) {
        x = build_slice(b, "edge", x, axis, end ? last : zero, end ? size : one, 1);
        type.size[axis] = width;
        return build_broadcast(b, x, type.rank, type.size);
    }
    Dim start = end ? dim_sub(dims, last, width) : one;
    x = build_slice(b, "mirrored", x, axis, start, dim_add(dims, start, width), 1);
    return build_flip(b, "flip", x, axis);
}

static bool padded_after(Builder *b, const Node *node, uint32_t axis, uint32_t rank) {
    for (; axis < rank; axis++) {
        Dim before, after;
        attr_pair_of(build_attr(node, "widths"), axis, &before, &after);
        if (!dim_is(b->g->dims, before, 0) || !dim_is(b->g->dims, after, 0)) return true;
    }
    return false;
}

ValueId decompose_pad(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    const char *mode = build_attr(node, "mode")->s;
    uint32_t rank = node_type(rewrite, node).rank;
    for (uint32_t axis = 0; axis < rank && x; axis++) {
        Dim before, after;
        attr_pair_of(build_attr(node, "widths"), axis, &before, &after);
        ValueId part[3];
        uint32_t parts = 0;
        if (!dim_is(b->g->dims, before, 0)) part[parts++] = border(b, x, axis, before, mode, false);
        part[parts++] = x;
        if (!dim_is(b->g->dims, after, 0)) part[parts++] = border(b, x, axis, after, mode, true);
        bool more = padded_after(b, node, axis + 1, rank);
        x = decompose_join(b, more ? "padded" : NULL, part, shared, parts, axis);
    }
    return x;
}

ValueId decompose_roll(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0);
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    Dim size = build_type(b, x).size[axis];
    Dim shift = dim_floor_mod(dims, build_attr(node, "shift")->size, size);
    if (dim_is(dims, size, 0) || dim_is(dims, shift, 0)) return x;
    Dim start = dim_sub(dims, size, shift);
    ValueId back = build_slice(b, "back", x, axis, start, size, 1);
    ValueId front = build_slice(b, "front", x, axis, dim_const(dims, 0), start, 1);
    return decompose_join(b, NULL, (ValueId[]){back, front}, shared, 2, axis);
}

ValueId decompose_spread_axis(Builder *b, ValueId x, uint32_t axis, Dim repeats) {
    Type type = build_type(b, x), wide = type;
    if (dim_is(b->g->dims, repeats, 1)) return x;
    if (type.rank == RANK_MAX) { // no room for an axis: those before it as one
        Type flat = {.dtype = type.dtype, .rank = 2, .size = {one_of(b), one_of(b)}};
        for (uint32_t i = 0; i < type.rank; i++)
            flat.size[i > axis] = dim_mul(b->g->dims, flat.size[i > axis], type.size[i]);
        type.size[axis] = dim_mul(b->g->dims, type.size[axis], repeats);
        x = build_reshape(b, "flat", x, 2, flat.size);
        x = decompose_spread_axis(b, x, 0, repeats);
        return build_reshape(b, "repeated", x, type.rank, type.size);
    }
    wide.rank++;
    wide.size[axis + 1] = repeats;
    memcpy(wide.size + axis + 2, type.size + axis + 1, (type.rank - axis - 1u) * sizeof(Dim));
    x = build_broadcast(b, build_expand(b, "each", x, axis + 1), wide.rank, wide.size);
    type.size[axis] = dim_mul(b->g->dims, type.size[axis], repeats);
    return build_reshape(b, "repeated", x, type.rank, type.size);
}

ValueId decompose_repeat_interleave(Rewrite *rewrite, Builder *b, const Node *node) {
    return decompose_spread_axis(b, node_operand(rewrite, node, 0),
                                 (uint32_t)build_attr(node, "axis")->i,
                                 build_attr(node, "repeats")->size);
}

ValueId decompose_counter(Builder *b, uint32_t axis, uint32_t rank, const Dim *size) {
    ValueId index = build_expand_to(b, build_counter(b, size[axis]), rank - 1u - axis);
    return build_broadcast(b, index, rank, size);
}

ValueId decompose_triangle(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x);
    Dim diagonal = build_attr(node, "diagonal")->size;
    ValueId row = decompose_counter(b, type.rank - 2u, type.rank, type.size);
    ValueId column = decompose_counter(b, type.rank - 1u, type.rank, type.size);
    if (!dim_is(b->g->dims, diagonal, 0))
        row = build_map2(b, OP_ADD, "diagonal", row, build_size(b, DT_I32, diagonal));
    OpId kept = node->op == OP_TRIL ? OP_LESS_EQUAL : OP_GREATER_EQUAL;
    ValueId here = build_map2(b, kept, "here", column, row);
    return build_where(b, NULL, here, x, build_number(b, type.dtype, 0));
}

ValueId decompose_one_hot(Rewrite *rewrite, Builder *b, const Node *node) {
    Type type = node_type(rewrite, node);
    ValueId x = node_operand(rewrite, node, 0);
    uint32_t last = type.rank - 1u;
    x = build_broadcast(b, build_expand(b, "each", x, last), type.rank, type.size);
    ValueId index = decompose_counter(b, last, type.rank, type.size);
    bool cast = type.dtype != DT_BOOL;
    return decompose_finish(b, build_map2(b, OP_EQUAL, cast ? "hit" : NULL, x, index), type.dtype);
}
