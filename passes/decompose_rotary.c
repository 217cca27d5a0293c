// Rotary embedding: pairs of elements turned by table angles. With the last axis seen as pairs,
// y = x * cos + swap(x) * sin * sign, where swap exchanges the two of a pair and sign is -1 for
// the first and 1 for the second: only maps over views.
#include "passes/decompose.h"

static ValueId swap_pairs(Builder *b, ValueId x, int64_t axis) {
    Attr attr[OP_ATTRS_MAX];
    op_attr_defaults(b->g->dims, b->g->arena, op_info(OP_FLIP), attr);
    attr[0] = attr_ints(&axis, 1);
    return build_op(b, OP_FLIP, "swap", &x, 1, attr);
}

// [2] f32: -1, 1
static ValueId pair_sign(Builder *b) {
    DimTable *dims = b->g->dims;
    ValueId number = build_cast(b, "side", build_counter(b, dim_const(dims, 2)), DT_F32);
    number = build_map2(b, OP_MULTIPLY, "twice", number, build_number(b, DT_F32, 2));
    return build_map2(b, OP_SUBTRACT, "sign", number, build_number(b, DT_F32, 1));
}

// A table [S, half] as f32 with an axis of size 1 where the pair's own axis is.
static ValueId table(Builder *b, const char *part, ValueId x, bool interleaved) {
    x = build_cast(b, part, x, DT_F32);
    return build_expand(b, part, x, interleaved ? 2 : 1);
}

ValueId decompose_rotary(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0), rest = 0;
    Type type = build_type(b, x);
    bool interleaved = build_attr(node, "interleaved")->i;
    const Attr *part = build_attr(node, "rotary_dim");
    Dim zero = dim_const(dims, 0), two = dim_const(dims, 2);
    Dim size = part->present ? dim_const(dims, part->i) : type.size[3];
    Dim half = dim_floor_div(dims, size, two);
    if (size != type.size[3]) {
        rest = build_slice(b, "rest", x, 3, size, type.size[3], 1);
        x = build_slice(b, "part", x, 3, zero, size, 1);
    }
    Dim pairs[5] = {type.size[0], type.size[1], type.size[2], interleaved ? half : two,
                    interleaved ? two : half};
    x = build_reshape(b, "pairs", x, 5, pairs);
    // Swapped before the cast, so that both are views of memory and all of it is one map.
    ValueId other = build_cast(b, "other", swap_pairs(b, x, interleaved ? 4 : 3), DT_F32);
    x = build_cast(b, "wide", x, DT_F32);
    ValueId cosine = table(b, "cos", node_operand(rewrite, node, 1), interleaved);
    ValueId sine = table(b, "sin", node_operand(rewrite, node, 2), interleaved);
    ValueId sign = pair_sign(b);
    if (!interleaved) sign = build_expand(b, "column", sign, 1);
    ValueId along = build_map2(b, OP_MULTIPLY, "along", x, cosine);
    ValueId across = build_map2(b, OP_MULTIPLY, "across", other, sine);
    across = build_map2(b, OP_MULTIPLY, "signed", across, sign);
    ValueId y = build_map2(b, OP_ADD, "turned", along, across);
    y = build_narrow(b, rest || type.dtype != DT_F32 ? "round" : NULL, y, type.dtype);
    Dim flat[4] = {type.size[0], type.size[1], type.size[2], size};
    y = build_reshape(b, rest ? "flat" : NULL, y, 4, flat);
    return rest ? decompose_join(b, NULL, (ValueId[]){y, rest}, NULL, 2, 3) : y;
}
