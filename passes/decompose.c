// Decompose: after it only maps, reduces, contracts, scans, gathers, moves of one operand and
// sources are left. A reduce keeps no axes; where the file asked for them they are put back by
// expand_dims.
#include "passes/decompose.h"

#include <string.h>

DType decompose_inner(DType dtype) {
    if (dtype_is_float(dtype)) return DT_F32;
    return dtype == DT_I8 || dtype == DT_U8 ? DT_I32 : dtype;
}

ValueId decompose_spread(Builder *b, const char *part, ValueId x, uint32_t rank, const Dim *size,
                         DType dtype) {
    if (build_type(b, x).dtype == dtype) return x;
    return build_cast(b, part, build_broadcast(b, x, rank, size), dtype);
}

ValueId decompose_finish(Builder *b, ValueId x, DType dtype) {
    return build_narrow(b, NULL, x, dtype);
}

// Puts axes of size 1 back where the axes of the mask were reduced; the last of them gets the
// node's name.
static ValueId keep_axes(Builder *b, ValueId x, uint32_t rank, uint32_t mask) {
    for (uint32_t i = 0; i < rank; i++)
        if (mask >> i & 1) x = build_expand(b, mask >> i == 1 ? NULL : "keep", x, i);
    return x;
}

ValueId decompose_reduce(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    uint32_t rank = build_type(b, x).rank, mask = reduce_axes(node, rank);
    if (!mask) return decompose_finish(b, x, node_type(rewrite, node).dtype);
    bool keep = build_attr(node, "keepdims")->i;
    x = build_reduce(b, node->op, keep ? "drop" : NULL, x, mask);
    return keep ? keep_axes(b, x, rank, mask) : x;
}

ValueId decompose_mean(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x);
    uint32_t mask = reduce_axes(node, type.rank);
    if (!mask) return x;
    Dim size = dim_const(b->g->dims, 1);
    for (uint32_t i = 0; i < type.rank; i++)
        if (mask >> i & 1) size = dim_mul(b->g->dims, size, type.size[i]);
    x = build_reduce(b, OP_SUM, "sum", build_cast(b, "wide", x, DT_F32), mask);
    bool keep = build_attr(node, "keepdims")->i, cast = type.dtype != DT_F32;
    x = build_divide_by(b, keep || cast ? "mean" : NULL, x, size);
    x = build_narrow(b, keep ? "round" : NULL, x, type.dtype);
    return keep ? keep_axes(b, x, type.rank, mask) : x;
}

// A filled tensor is a number seen through a view.
static ValueId decompose_full(Rewrite *rewrite, Builder *b, const Node *node) {
    Type type = node_type(rewrite, node);
    const Attr *value = build_attr(node, "value");
    ValueId x = value->is_size    ? build_size(b, type.dtype, value->size)
                : value->is_float ? build_number(b, type.dtype, value->f)
                                  : build_number(b, type.dtype, (double)value->i);
    return build_broadcast(b, x, type.rank, type.size);
}

// Repeats one axis: [.., n, ..] as [before, 1, n * after] spread to [before, reps, n * after].
static ValueId tile_axis(Builder *b, ValueId x, uint32_t axis, int64_t reps) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x);
    Dim one = dim_const(dims, 1), before = one, after = one;
    for (uint32_t i = 0; i < type.rank; i++) {
        if (i < axis)
            before = dim_mul(dims, before, type.size[i]);
        else
            after = dim_mul(dims, after, type.size[i]);
    }
    x = build_reshape(b, "split", x, 3, (Dim[]){before, one, after});
    x = build_broadcast(b, x, 3, (Dim[]){before, dim_const(dims, reps), after});
    type.size[axis] = dim_mul(dims, type.size[axis], dim_const(dims, reps));
    return build_reshape(b, "merge", x, type.rank, type.size);
}

ValueId decompose_tile(Rewrite *rewrite, Builder *b, const Node *node) {
    ValueId x = node_operand(rewrite, node, 0);
    const Attr *reps = build_attr(node, "reps");
    uint32_t rank = node_type(rewrite, node).rank;
    while (x && build_type(b, x).rank < rank) x = build_expand(b, "expand", x, 0);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t count = attr_int_of(reps, i);
        if (count != 1) x = tile_axis(b, x, i, count);
    }
    return x;
}

// split: one slice a result.
static bool split(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0);
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    Dim start = dim_const(dims, 0);
    for (uint32_t i = 0; i < node->results; i++) {
        Dim size = build_attr(node, "sizes")->sizes.at[i];
        Dim stop = dim_add(dims, start, size);
        b->name = graph_value(rewrite->from, node->result[i])->name;
        ValueId part = build_slice(b, NULL, x, axis, start, stop, 1);
        if (!part) return false;
        rewrite_set(rewrite, node->result[i], part);
        start = stop;
    }
    return true;
}

// A weight stored in another dtype: read as stored, then brought to the logical dtype.
static ValueId decompose_param(Rewrite *rewrite, Builder *b, const Node *node) {
    Type type = node_type(rewrite, node), stored = type;
    stored.dtype = node->decl->stored;
    NodeSpec spec = {.op = OP_PARAM,
                     .decl = node->decl,
                     .type = &stored,
                     .name = arena_printf(b->g->arena, "%s.stored", b->name),
                     .loc = node->loc,
                     .locs = node->locs};
    NodeId param = graph_add(b->g, b->diags, &spec);
    return param ? build_cast(b, NULL, graph_result(b->g, param, 0), type.dtype) : 0;
}

static bool stored_otherwise(const Graph *g, const Node *node) {
    DType logical = graph_value(g, node->result[0])->type.dtype;
    return node->decl->stored && node->decl->stored != logical;
}

static DecomposeFn *rule_of(const Graph *g, const Node *node) {
    switch (node->op) {
    case OP_PARAM: return stored_otherwise(g, node) ? decompose_param : NULL;
    case OP_SOFTMAX:
    case OP_LOG_SOFTMAX: return decompose_softmax;
    case OP_LAYER_NORM:
    case OP_RMS_NORM: return decompose_norm;
    case OP_GROUP_NORM: return decompose_group_norm;
    case OP_BATCH_NORM: return decompose_batch_norm;
    case OP_ROTARY_EMBEDDING: return decompose_rotary;
    case OP_MATMUL: return decompose_matmul;
    case OP_LINEAR: return decompose_linear;
    case OP_CONV1D:
    case OP_CONV2D:
    case OP_CONV3D: return decompose_conv;
    case OP_MAX_POOL2D: return decompose_max_pool;
    case OP_AVG_POOL2D: return decompose_avg_pool;
    case OP_ADAPTIVE_AVG_POOL2D: return decompose_adaptive_pool;
    case OP_MEAN: return decompose_mean;
    case OP_CUMSUM: return decompose_cumsum;
    case OP_FULL: return node->inline_view ? NULL : decompose_full;
    case OP_TILE: return decompose_tile;
    case OP_CONCAT: return decompose_concat;
    case OP_PAD: return strcmp(build_attr(node, "mode")->s, "constant") == 0 ? NULL : decompose_pad;
    case OP_ROLL: return decompose_roll;
    case OP_REPEAT_INTERLEAVE: return decompose_repeat_interleave;
    case OP_TRIL:
    case OP_TRIU: return decompose_triangle;
    case OP_ONE_HOT: return decompose_one_hot;
    case OP_SORT:
    case OP_ARGSORT: return decompose_sort;
    case OP_BINCOUNT: return decompose_bincount;
    case OP_SCATTER_ELEMENTS: return decompose_scatter_elements;
    case OP_SCATTER_ND: return decompose_scatter_nd;
    case OP_CONV_TRANSPOSE1D:
    case OP_CONV_TRANSPOSE2D:
    case OP_CONV_TRANSPOSE3D: return decompose_conv_transpose;
    case OP_INTERPOLATE: return decompose_interpolate;
    case OP_GROUPED_MATMUL: return decompose_grouped_matmul;
    case OP_QUANTIZE_LINEAR: return decompose_quantize;
    case OP_DEQUANTIZE_LINEAR: return decompose_dequantize;
    case OP_STACK: return decompose_stack;
    default: return op_info(node->op)->class == OC_REDUCE ? decompose_reduce : NULL;
    }
}

static bool decompose_node(Rewrite *rewrite, NodeId id, bool *done) {
    const Node *node = graph_node(rewrite->from, id);
    if (node->kind != NODE_OP || !node->results) return true;
    Builder b = build_begin(rewrite, id);
    if (node->op == OP_SPLIT) {
        *done = true;
        return split(rewrite, &b, node);
    }
    if (node->op == OP_TOPK) {
        *done = true;
        return decompose_topk(rewrite, &b, node);
    }
    DecomposeFn *rule = rule_of(rewrite->from, node);
    if (!rule) return true;
    ValueId value = rule(rewrite, &b, node);
    if (!value) return false;
    rewrite_set(rewrite, node->result[0], value);
    *done = true;
    return true;
}

bool pass_decompose(PassContext *ctx, const Graph *in, Graph **out) {
    Rewrite rewrite = {.ctx = ctx, .from = in, .fn = decompose_node, .user = graph_use_counts(in)};
    return rewrite_graph(rewrite, out);
}
