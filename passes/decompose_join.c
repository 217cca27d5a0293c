// concat and stack as one map that reads each part through a pad view and selects by position:
// where(index < end of part, part, later parts). Every part is read where it lies, guarded, so the
// join costs one kernel at most and fuses with maps around it.
#include "passes/decompose.h"

// An index compared with a constant is a constant tensor, if it is not longer than this.
enum { CONST_MAX = 4096 };

ValueId decompose_join(Builder *b, const ValueId *part, uint32_t parts, uint32_t axis) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, part[0]);
    Dim zero = dim_const(dims, 0), total = zero;
    for (uint32_t i = 0; i < parts; i++)
        total = dim_add(dims, total, build_type(b, part[i]).size[axis]);
    if (parts == 1) return part[0];
    ValueId index = build_expand_to(b, build_counter(b, total), type.rank - 1u - axis);
    int64_t size;
    type.size[axis] = total;
    if (!dim_is_const(dims, total, &size) || size > CONST_MAX) // compared in the same kernel
        index = build_broadcast(b, index, type.rank, type.size);
    Dim stop = total;
    ValueId joined = 0;
    for (uint32_t i = parts; i-- > 0;) {
        Dim start = dim_sub(dims, stop, build_type(b, part[i]).size[axis]);
        ValueId padded = build_pad(b, part[i], axis, start, dim_sub(dims, total, stop));
        if (i + 1 < parts) {
            ValueId here = build_map2(b, OP_LESS, "here", index, build_size(b, DT_I32, stop));
            padded = build_op(b, OP_WHERE, i ? "part" : NULL, (ValueId[]){here, padded, joined}, 3,
                              NULL);
        }
        joined = padded;
        stop = start;
    }
    return joined;
}

ValueId decompose_concat(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId *part = arena_alloc(b->g->arena, node->operands * sizeof *part);
    for (uint32_t i = 0; i < node->operands; i++) part[i] = node_operand(rewrite, node, i);
    return decompose_join(b, part, node->operands, (uint32_t)build_attr(node, "axis")->i);
}

ValueId decompose_stack(Rewrite *rewrite, Builder *b, const Node *node) {
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    ValueId *part = arena_alloc(b->g->arena, node->operands * sizeof *part);
    for (uint32_t i = 0; i < node->operands; i++)
        part[i] = build_expand(b, "part", node_operand(rewrite, node, i), axis);
    return decompose_join(b, part, node->operands, axis);
}
