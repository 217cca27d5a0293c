// Softmax and the norms as maps and reduces along axes.
#include "passes/decompose.h"

ValueId decompose_softmax(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x);
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    x = build_cast(b, "wide", x, DT_F32);
    ValueId max = build_reduce(b, OP_MAX, "max", x, 1u << axis);
    ValueId shifted = build_map2(b, OP_SUBTRACT, "shifted", x, build_expand(b, "keep", max, axis));
    ValueId power = build_map1(b, OP_EXP, "exp", shifted);
    ValueId sum = build_reduce(b, OP_SUM, "sum", power, 1u << axis);
    const char *part = type.dtype != DT_F32 ? "ratio" : NULL;
    if (node->op == OP_SOFTMAX) {
        x = build_map2(b, OP_DIVIDE, part, power, build_expand(b, "keep", sum, axis));
    } else {
        ValueId log = build_expand(b, "keep", build_map1(b, OP_LOG, "log", sum), axis);
        x = build_map2(b, OP_SUBTRACT, part, shifted, log);
    }
    return decompose_finish(b, x, type.dtype);
}

// (x - mean) and 1 / sqrt(var + eps) over the last `axes` axes, x in f32; mean 0 without `centre`.
typedef struct Normal {
    ValueId x, scale;
} Normal;

static Normal normalise(Builder *b, ValueId x, uint32_t axes, double eps, bool centre) {
    Type type = build_type(b, x);
    Dim count = dim_const(b->g->dims, 1);
    uint32_t mask = ((1u << axes) - 1) << (type.rank - axes);
    for (uint32_t i = 0; i < axes && i < type.rank; i++)
        count = dim_mul(b->g->dims, count, type.size[type.rank - 1 - i]);
    if (centre) {
        ValueId mean = build_reduce(b, OP_SUM, "sum", x, mask);
        mean = build_divide_by(b, "mean", mean, count);
        x = build_map2(b, OP_SUBTRACT, "centred", x, build_expand_to(b, mean, axes));
    }
    ValueId square = build_map2(b, OP_MULTIPLY, "square", x, x);
    ValueId var = build_reduce(b, OP_SUM, "squares", square, mask);
    var = build_divide_by(b, centre ? "var" : "mean", var, count);
    var = build_map2(b, OP_ADD, "shift", var, build_number(b, DT_F32, eps));
    ValueId scale = build_map1(b, OP_RSQRT, "scale", var);
    return (Normal){x, build_expand_to(b, scale, axes)};
}

// x * scale * weight + bias, rounded to dtype; weight and bias (0: absent) broadcast to x.
static ValueId affine(Builder *b, ValueId x, ValueId scale, ValueId weight, ValueId bias,
                      const char *last, DType dtype) {
    Type type = build_type(b, x);
    bool cast = dtype != DT_F32;
    const char *part = cast || weight || bias ? "normal" : last;
    x = build_map2(b, OP_MULTIPLY, part, x, scale);
    if (weight) {
        weight = decompose_spread(b, "weight", weight, type.rank, type.size, DT_F32);
        x = build_map2(b, OP_MULTIPLY, cast || bias ? "scaled" : last, x, weight);
    }
    if (bias) {
        bias = decompose_spread(b, "bias", bias, type.rank, type.size, DT_F32);
        x = build_map2(b, OP_ADD, cast ? "biased" : last, x, bias);
    }
    return build_narrow(b, last, x, dtype);
}

ValueId decompose_norm(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    ValueId weight = node_operand(rewrite, node, 1);
    ValueId bias = node_operand(rewrite, node, 2);
    Type type = build_type(b, x);
    uint32_t axes = type.rank - (uint32_t)build_attr(node, "axis")->i;
    x = build_cast(b, "wide", x, DT_F32);
    Normal normal = normalise(b, x, axes, build_attr(node, "eps")->f, node->op == OP_LAYER_NORM);
    return affine(b, normal.x, normal.scale, weight, bias, NULL, type.dtype);
}

// Channel parameters [C] as [G, C // G, 1, ..], so that they broadcast to the grouped x.
static ValueId by_group(Builder *b, ValueId x, const Type *grouped) {
    if (!x) return 0;
    x = build_reshape(b, "group", x, 2, &grouped->size[1]);
    return build_expand_to(b, x, grouped->rank - 3);
}

ValueId decompose_group_norm(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x), grouped = type;
    Dim groups = dim_const(dims, build_attr(node, "num_groups")->i);
    bool split = type.rank < RANK_MAX;
    grouped.rank = (uint8_t)(type.rank + 1);
    if (!split) { // the last two axes as one, to make room
        grouped.rank = type.rank;
        grouped.size[type.rank - 1] =
            dim_mul(dims, type.size[type.rank - 2], type.size[type.rank - 1]);
    }
    for (uint32_t i = grouped.rank - (split ? 1u : 2u); i > 2; i--)
        grouped.size[i] = type.size[i - 1];
    grouped.size[1] = groups;
    grouped.size[2] = dim_floor_div(dims, type.size[1], groups);
    x = build_reshape(b, "grouped", x, grouped.rank, grouped.size);
    x = build_cast(b, "wide", x, DT_F32);
    Normal normal = normalise(b, x, grouped.rank - 2u, build_attr(node, "eps")->f, true);
    ValueId weight = by_group(b, node_operand(rewrite, node, 1), &grouped);
    ValueId bias = by_group(b, node_operand(rewrite, node, 2), &grouped);
    x = affine(b, normal.x, normal.scale, weight, bias, "grouped", type.dtype);
    return build_reshape(b, NULL, x, type.rank, type.size);
}

// (x - mean) * (weight / sqrt(var + eps)) + bias; the factor depends on weights only.
ValueId decompose_batch_norm(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x);
    ValueId channel[5] = {0};
    for (uint32_t i = 1; i < node->operands; i++) channel[i] = node_operand(rewrite, node, i);
    ValueId var = build_cast(b, "var", channel[2], DT_F32);
    ValueId scale =
        build_map2(b, OP_ADD, "shift", var, build_number(b, DT_F32, build_attr(node, "eps")->f));
    scale = build_map1(b, OP_RSQRT, "rsqrt", scale);
    if (channel[3]) {
        ValueId weight = build_cast(b, "weight", channel[3], DT_F32);
        scale = build_map2(b, OP_MULTIPLY, "scale", scale, weight);
    }
    uint32_t after = type.rank - 2u;
    bool cast = type.dtype != DT_F32;
    x = build_cast(b, "wide", x, DT_F32);
    ValueId mean = build_expand_to(b, channel[1], after);
    mean = decompose_spread(b, "mean", mean, type.rank, type.size, DT_F32);
    x = build_map2(b, OP_SUBTRACT, "centred", x, mean);
    ValueId factor = build_expand_to(b, scale, after);
    x = build_map2(b, OP_MULTIPLY, channel[4] || cast ? "normal" : NULL, x, factor);
    if (channel[4]) {
        ValueId bias = build_expand_to(b, channel[4], after);
        bias = decompose_spread(b, "bias", bias, type.rank, type.size, DT_F32);
        x = build_map2(b, OP_ADD, cast ? "biased" : NULL, x, bias);
    }
    return decompose_finish(b, x, type.dtype);
}
