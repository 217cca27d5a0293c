// ONNX ops over images said with ours: convolutions, pools, norms of images, resizing.
#include "tests/support/onnx_map.h"

#include <string.h>

// pads [top, left, bottom, right] to pairs; auto_pad.
static Attr padding(OnnxMap *m, uint32_t axes) {
    const char *mode = onnx_string(m, "auto_pad", "NOTSET");
    const OnnxAttr *pads = onnx_attr(m->node, "pads");
    Graph *g = m->import->graph;
    Dim *pairs = arena_alloc(g->arena, 2 * axes * sizeof *pairs);
    if (!strcmp(mode, "SAME_LOWER")) onnx_refuse(m, ONNX_NOT_OURS, "SAME_LOWER");
    if (!strcmp(mode, "SAME_UPPER")) {
        Attr same = attr_pairs(NULL, 0);
        same.sizes.word = "same";
        return same;
    }
    for (uint32_t i = 0; i < axes; i++) {
        bool given = pads && pads->int_count == 2 * axes;
        pairs[2 * i] = dim_const(g->dims, given ? pads->ints[i] : 0);
        pairs[2 * i + 1] = dim_const(g->dims, given ? pads->ints[axes + i] : 0);
    }
    return attr_pairs(pairs, axes);
}

static Attr ints_or_ones(OnnxMap *m, const char *name, uint32_t axes) {
    const OnnxAttr *a = onnx_attr(m->node, name);
    const int64_t ones[3] = {1, 1, 1};
    return a ? onnx_ints(m, a->ints, a->int_count) : onnx_ints(m, ones, axes);
}

void onnx_map_conv(OnnxMap *m, OpId op) {
    ValueId operand[3] = {onnx_input(m, 0), onnx_input(m, 1), onnx_input(m, 2)};
    if (!operand[0]) return;
    uint32_t axes = onnx_type(m, operand[0])->rank - 2u;
    if (axes < 1 || axes > 3) {
        onnx_refuse(m, ONNX_NOT_OURS, "conv of more than 3 axes");
        return;
    }
    Attr attrs[5] = {ints_or_ones(m, "strides", axes), padding(m, axes),
                     ints_or_ones(m, "dilations", axes), attr_int(onnx_int(m, "group", 1))};
    static const OpId ops[] = {OP_CONV1D, OP_CONV2D, OP_CONV3D};
    (void)op;
    onnx_result(m, 0, onnx_apply(m, ops[axes - 1], 3, operand, attrs));
}

// Padding such that the output has the size that is asked for: output_shape, or stride times input.
static Attr transpose_padding(OnnxMap *m, uint32_t axes, const Type *x, const Type *w) {
    Graph *g = m->import->graph;
    const OnnxAttr *shape = onnx_attr(m->node, "output_shape");
    const OnnxAttr *strides = onnx_attr(m->node, "strides");
    const OnnxAttr *more = onnx_attr(m->node, "output_padding");
    bool same = strncmp(onnx_string(m, "auto_pad", "NOTSET"), "SAME", 4) == 0;
    if (!shape && !same) return padding(m, axes);
    Dim *pairs = arena_alloc(g->arena, 2 * axes * sizeof *pairs);
    for (uint32_t i = 0; i < axes; i++) {
        int64_t size, kernel, stride = strides ? strides->ints[i] : 1;
        (void)dim_is_const(g->dims, x->size[2 + i], &size);
        (void)dim_is_const(g->dims, w->size[2 + i], &kernel);
        int64_t wanted = shape ? shape->ints[i] : size * stride;
        int64_t total = stride * (size - 1) + (more ? more->ints[i] : 0) + kernel - wanted;
        if (total < 0) { // zeros after the end
            onnx_refuse(m, ONNX_NOT_OURS, "an output larger than what is computed");
            total = 0;
        }
        pairs[2 * i] = dim_const(g->dims, total / 2);
        pairs[2 * i + 1] = dim_const(g->dims, total - total / 2);
    }
    return attr_pairs(pairs, axes);
}

void onnx_map_conv_transpose(OnnxMap *m, OpId op) {
    static const OpId ops[] = {OP_CONV_TRANSPOSE1D, OP_CONV_TRANSPOSE2D, OP_CONV_TRANSPOSE3D};
    ValueId operand[3] = {onnx_input(m, 0), onnx_input(m, 1), onnx_input(m, 2)};
    (void)op;
    if (!operand[0] || !operand[1]) return;
    uint32_t axes = onnx_type(m, operand[0])->rank - 2u;
    if (axes < 1 || axes > 3) {
        onnx_refuse(m, ONNX_NOT_OURS, "conv of more than 3 axes");
        return;
    }
    const OnnxAttr *more = onnx_attr(m->node, "output_padding");
    const int64_t zero[3] = {0};
    Attr pad = transpose_padding(m, axes, onnx_type(m, operand[0]), onnx_type(m, operand[1]));
    Attr attrs[5] = {ints_or_ones(m, "strides", axes), pad,
                     onnx_ints(m, more ? more->ints : zero, axes),
                     attr_int(onnx_int(m, "group", 1)), ints_or_ones(m, "dilations", axes)};
    onnx_result(m, 0, onnx_apply(m, ops[axes - 1], 3, operand, attrs));
}

void onnx_map_pool(OnnxMap *m, OpId op) {
    ValueId x = onnx_input(m, 0);
    const OnnxAttr *kernel = onnx_attr(m->node, "kernel_shape");
    if (!x || !kernel || kernel->int_count != 2 || m->node->outputs.len > 1) {
        onnx_refuse(m, ONNX_NOT_OURS, "pooling of other than 2 axes, or with indices");
        return;
    }
    Attr attrs[5] = {onnx_ints(m, kernel->ints, 2), ints_or_ones(m, "strides", 2), padding(m, 2)};
    bool max = op == OP_MAX_POOL2D;
    if (!max && onnx_attr(m->node, "dilations")) onnx_refuse(m, ONNX_NOT_OURS, "dilated average");
    attrs[3] = max ? ints_or_ones(m, "dilations", 2) : attr_int(onnx_int(m, "ceil_mode", 0));
    attrs[4] = attr_int(onnx_int(m, max ? "ceil_mode" : "count_include_pad", 0));
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, attrs));
}

void onnx_map_global_pool(OnnxMap *m, OpId op) {
    ValueId x = onnx_input(m, 0);
    if (!x || onnx_type(m, x)->rank < 3) {
        onnx_refuse(m, ONNX_NOT_OURS, "no spatial axes");
        return;
    }
    int64_t axes[RANK_MAX];
    uint32_t count = onnx_type(m, x)->rank - 2u;
    for (uint32_t i = 0; i < count; i++) axes[i] = i + 2;
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, (Attr[]){onnx_ints(m, axes, count), attr_int(1)}));
}

void onnx_map_instance_norm(OnnxMap *m, OpId op) {
    ValueId operand[3] = {onnx_input(m, 0), onnx_input(m, 1), onnx_input(m, 2)};
    if (!operand[0]) return;
    Attr attrs[2] = {attr_int(onnx_size(m, operand[0], 1)),
                     attr_float(onnx_float(m, "epsilon", 1e-5))};
    onnx_result(m, 0, onnx_apply(m, op, 3, operand, attrs));
}

// Sizes of the result: given, or the input's times scales, which must then be whole.
static bool resized(OnnxMap *m, ValueId x, int64_t size[4]) {
    const Tensor *scales = onnx_known(m, 2), *sizes = onnx_known(m, 3);
    const OnnxAttr *axes = onnx_attr(m->node, "axes");
    const Tensor *given = sizes && sizes->elements ? sizes : scales;
    if (!given || onnx_type(m, x)->rank != 4) return false;
    for (int i = 0; i < 4; i++) size[i] = onnx_size(m, x, i);
    for (int64_t i = 0; i < given->elements; i++) {
        int64_t axis = axes ? axes->ints[i] : i;
        int64_t from = size[axis];
        double exact = given == sizes ? given->data[i] : (double)from * given->data[i];
        if (axis < 2 && exact != (double)from) return false;
        size[axis] = (int64_t)exact;
        if ((double)size[axis] != exact) return false;
    }
    return true;
}

static const char *either(const char *word, const char *const (*pairs)[2], unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(word, pairs[i][0]) == 0) return pairs[i][1];
    return NULL;
}

void onnx_map_resize(OnnxMap *m, OpId op) {
    static const char *const modes[][2] = {
        {"nearest", "nearest"}, {"linear", "bilinear"}, {"cubic", "bicubic"}};
    static const char *const places[][2] = {{"half_pixel", "half_pixel"},
                                            {"half_pixel_symmetric", "half_pixel"}, // scales exact
                                            {"pytorch_half_pixel", "pytorch_half_pixel"},
                                            {"asymmetric", "asymmetric"},
                                            {"align_corners", "align_corners"}};
    static const char *const roundings[][2] = {{"floor", "floor"},
                                               {"ceil", "ceil"},
                                               {"round_prefer_floor", "prefer_floor"},
                                               {"round_prefer_ceil", "prefer_ceil"}};
    ValueId x = onnx_input(m, 0);
    int64_t size[4];
    const char *mode = either(onnx_string(m, "mode", "nearest"), modes, 3);
    const char *place = onnx_string(m, "coordinate_transformation_mode", "half_pixel");
    const char *rounding = onnx_string(m, "nearest_mode", "round_prefer_floor");
    place = either(place, places, 5), rounding = either(rounding, roundings, 4);
    const char *policy = onnx_string(m, "keep_aspect_ratio_policy", "stretch");
    if (!x || !mode || !place || !rounding || onnx_int(m, "antialias", 0) ||
        strcmp(policy, "stretch") != 0 || !resized(m, x, size)) {
        onnx_refuse(m, ONNX_NOT_OURS, "a way of resizing that we have not");
        return;
    }
    Attr attrs[7] = {onnx_sizes(m, size + 2, 2),
                     attr_string(mode),
                     attr_int(0),
                     attr_string(place),
                     attr_string(rounding),
                     attr_float(onnx_float(m, "cubic_coeff_a", -0.75)),
                     attr_int(onnx_int(m, "exclude_outside", 0))};
    onnx_result(m, 0, onnx_apply(m, op, 1, &x, attrs));
}
