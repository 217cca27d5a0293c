// concat and stack as one map that reads each part through a pad view and selects by position:
// where(index < end of part, part, later parts). Every part is read where it lies, guarded, so the
// join costs one kernel at most and fuses with maps around it. Maps that make a part are computed
// inside it: on padded operands, as what they give for the padding is not selected.
#include "passes/decompose.h"

// An index compared with a constant is a constant tensor, if it is not longer than this.
enum { CONST_MAX = 4096 };

typedef struct Padding {
    uint32_t rank, axis; // of the part
    Dim before, after;
} Padding;

static bool is_class(const Builder *b, ValueId value, OpClass class) {
    const Node *node = graph_node(b->g, graph_value(b->g, value)->node);
    return graph_value(b->g, value)->node && node->kind == NODE_OP &&
           op_info(node->op)->class == class;
}

// Whether a part is maps of what memory holds: nothing that would lose its own kernel's last steps.
static bool can_lift(const Builder *b, ValueId value, unsigned depth) {
    if (!is_class(b, value, OC_MAP) || depth == 8) return false;
    const Node *node = graph_node(b->g, graph_value(b->g, value)->node);
    Type type = build_type(b, value);
    for (uint32_t i = 0; i < node->operands; i++) {
        ValueId operand = node->operand[i];
        if (!operand) continue;
        Type own = build_type(b, operand);
        bool memory = is_class(b, operand, OC_SOURCE) || is_class(b, operand, OC_MOVE);
        if (build_same_shape(&own, &type) && !memory && !can_lift(b, operand, depth + 1))
            return false;
    }
    return true;
}

// The value padded; an operand that broadcasts along the axis stays as it is.
static ValueId lift(Builder *b, ValueId value, const Padding *padding, bool maps) {
    Type type = build_type(b, value);
    uint32_t missing = padding->rank - type.rank;
    if (b->failed || padding->axis < missing) return value;
    uint32_t axis = padding->axis - missing;
    NodeId id = graph_value(b->g, value)->node;
    if (!maps || !id || graph_node(b->g, id)->kind != NODE_OP || !is_class(b, value, OC_MAP))
        return build_pad(b, value, axis, padding->before, padding->after);
    Node node = *graph_node(b->g, id);
    ValueId operand[OP_OPERANDS_MAX] = {0};
    for (uint32_t i = 0; i < node.operands; i++) {
        Type own = build_type(b, node.operand[i]);
        uint32_t lead = type.rank - own.rank;
        bool along = own.rank + axis >= type.rank && own.size[axis - lead] == type.size[axis];
        operand[i] = node.operand[i];
        bool full = build_same_shape(&own, &type);
        if (node.operand[i] && along) operand[i] = lift(b, operand[i], padding, full);
    }
    return build_like(b, &node, "lifted", operand);
}

ValueId decompose_join(Builder *b, const char *name, const ValueId *part, const bool *single,
                       uint32_t parts, uint32_t axis) {
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
        Padding padding = {type.rank, axis, start, dim_sub(dims, total, stop)};
        bool maps = (!single || single[i]) && can_lift(b, part[i], 0);
        ValueId padded = lift(b, part[i], &padding, maps);
        if (i + 1 < parts) {
            ValueId here = build_map2(b, OP_LESS, "here", index, build_size(b, DT_I32, stop));
            padded = build_where(b, i ? "part" : name, here, padded, joined);
        }
        joined = padded;
        stop = start;
    }
    return joined;
}

static ValueId join_operands(Rewrite *rewrite, Builder *b, const Node *node, bool expand) {
    const uint32_t *uses = rewrite->user;
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    ValueId *part = arena_alloc(b->g->arena, node->operands * sizeof *part);
    bool *single = arena_alloc(b->g->arena, node->operands * sizeof *single);
    for (uint32_t i = 0; i < node->operands; i++) {
        part[i] = node_operand(rewrite, node, i);
        single[i] = uses[node->operand[i]] == 1;
        if (expand) part[i] = build_expand(b, "part", part[i], axis);
    }
    return decompose_join(b, NULL, part, single, node->operands, axis);
}

ValueId decompose_concat(Rewrite *rewrite, Builder *b, const Node *node) {
    return join_operands(rewrite, b, node, false);
}

ValueId decompose_stack(Rewrite *rewrite, Builder *b, const Node *node) {
    return join_operands(rewrite, b, node, true);
}
