// Convolutions of images with few channels: 1 to 7 channels are no whole vectors, so a copy of the
// image is made with its channels last and filled up with zeros, to 4 where windows then begin at
// whole moves, else to 8. A row of a window is then one run of neighbours, whose filter is filled
// up likewise, once. Only sums of zeros are added.
#include "passes/layout_image.h"

enum { CHANNELS_FEW = 4, CHANNELS_VECTOR = 8 };

// [N, C, H, W] as windows [N, H', W', C, kh, kw], as decompose writes them.
typedef struct Image {
    ValueId base; // of the old graph
    Type type;
    const Node *rows, *columns;              // the unfolds
    int64_t channels, kernel, filled, width; // width: of the filled kernel
    Dim before, after;                       // columns of zeros
} Image;

static const Node *op_of(const Graph *g, ValueId value, OpId op) {
    NodeId id = graph_value(g, value)->node;
    const Node *node = id ? graph_node(g, id) : NULL;
    return node && node->kind == NODE_OP && node->op == op ? node : NULL;
}

static bool find_windows(const Graph *g, ValueId value, Image *image) {
    static const uint8_t wanted[] = {0, 3, 5, 1, 2, 4};
    uint8_t axes[RANK_MAX];
    const Node *permute = op_of(g, value, OP_PERMUTE_DIMS);
    if (!permute || graph_value(g, value)->type.rank != 6) return false;
    move_axes(permute, 6, axes);
    for (uint32_t i = 0; i < 6; i++)
        if (axes[i] != wanted[i]) return false;
    image->columns = op_of(g, permute->operand[0], OP_UNFOLD);
    if (!image->columns || build_attr(image->columns, "axis")->i != 4) return false;
    image->rows = op_of(g, image->columns->operand[0], OP_UNFOLD);
    if (!image->rows || build_attr(image->rows, "axis")->i != 2) return false;
    image->base = image->rows->operand[0];
    image->type = graph_value(g, image->base)->type;
    return true;
}

// How far channels and kernel are filled up.
static bool choose_filling(const Graph *g, Image *image) {
    DimTable *dims = g->dims;
    const Attr *count = build_attr(image->columns, "count");
    int64_t stride = build_attr(image->columns, "stride")->i;
    if (!dim_is_const(dims, image->type.size[1], &image->channels) ||
        !dim_is_const(dims, build_attr(image->columns, "kernel")->size, &image->kernel) ||
        image->channels >= CHANNELS_VECTOR || build_attr(image->columns, "dilation")->i != 1)
        return false;
    bool few = image->channels <= CHANNELS_FEW && stride % 2 == 0;
    image->filled = few ? CHANNELS_FEW : CHANNELS_VECTOR;
    image->width = few ? image->kernel + image->kernel % 2 : image->kernel;
    Dim steps = dim_sub(dims, count->size, dim_const(dims, 1));
    Dim all =
        dim_add(dims, dim_mul(dims, steps, dim_const(dims, stride)), dim_const(dims, image->width));
    image->before = build_attr(image->columns, "before")->size;
    image->after = dim_sub(dims, dim_sub(dims, all, image->type.size[3]), image->before);
    return dim_proved(dims, image->after, DIM_GE, dim_const(dims, 0));
}

// [N, C, H, W] copied as [N, H, W filled up, C filled up].
static ValueId filled_image(Builder *b, const Image *image, ValueId x) {
    static const uint8_t last[] = {0, 2, 3, 1};
    DimTable *dims = b->g->dims;
    Dim zero = dim_const(dims, 0);
    x = build_permute(b, "image", x, last);
    x = build_pad(b, x, 3, zero, dim_const(dims, image->filled - image->channels));
    return build_stored(b, "image", build_pad(b, x, 2, image->before, image->after));
}

// Its windows [N, H', W', kh, run].
static ValueId filled_windows(Builder *b, const Image *image, ValueId x) {
    static const uint8_t order[] = {0, 2, 4, 1, 3};
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x);
    Dim filled = dim_const(dims, image->filled);
    type.size[2] = dim_mul(dims, type.size[2], type.size[3]);
    x = build_reshape(b, "rows", x, 3, type.size);
    WindowAxis rows = {.axis = 1,
                       .kernel = build_attr(image->rows, "kernel")->size,
                       .output = build_attr(image->rows, "count")->size,
                       .before = build_attr(image->rows, "before")->size,
                       .stride = build_attr(image->rows, "stride")->i,
                       .dilation = build_attr(image->rows, "dilation")->i};
    WindowAxis columns = {.axis = 3,
                          .kernel = dim_mul(dims, dim_const(dims, image->width), filled),
                          .output = build_attr(image->columns, "count")->size,
                          .before = dim_const(dims, 0),
                          .stride = build_attr(image->columns, "stride")->i * image->filled,
                          .dilation = 1};
    x = build_unfold(b, build_unfold(b, x, rows, 0), columns, 0);
    return build_permute(b, "windows", x, order);
}

// [O, C, kh, kw] as [O, kh, run].
static ValueId filled_filters(Builder *b, const Image *image, ValueId weight) {
    static const uint8_t last[] = {0, 2, 3, 1};
    DimTable *dims = b->g->dims;
    Dim zero = dim_const(dims, 0);
    weight = build_permute(b, "filters", weight, last);
    weight = build_pad(b, weight, 3, zero, dim_const(dims, image->filled - image->channels));
    weight = build_pad(b, weight, 2, zero, dim_const(dims, image->width - image->kernel));
    weight = build_stored(b, "filters", weight);
    Type type = build_type(b, weight);
    Dim size[] = {type.size[0], type.size[1], dim_mul(dims, type.size[2], type.size[3])};
    return build_reshape(b, "filters", weight, 3, size);
}

static bool has_fragments(const Target *target, DType dtype) {
    for (uint32_t i = 0; i < target->fragments; i++)
        if (target->fragment[i].ab == dtype) return true;
    return false;
}

bool layout_image(Rewrite *rewrite, Builder *b, ValueId windows, ValueId weight, ValueId out[2],
                  const char **why) {
    const Graph *g = rewrite->from;
    Image image = {0};
    DType dtype = graph_value(g, windows)->type.dtype;
    if (dtype_bytes(dtype) != 2 || !has_fragments(rewrite->ctx->target, dtype) || !weight ||
        build_type(b, weight).rank != 4 || !find_windows(g, windows, &image) ||
        !choose_filling(g, &image))
        return false;
    ValueId x = filled_image(b, &image, rewrite_get(rewrite, image.base));
    out[0] = filled_windows(b, &image, x);
    out[1] = filled_filters(b, &image, weight);
    *why = arena_printf(b->g->arena, "%lld of %lld channels, rows of %lld are one run",
                        (long long)image.channels, (long long)image.filled, (long long)image.width);
    return !b->failed;
}
