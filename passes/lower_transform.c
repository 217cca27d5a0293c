// Family "transform": one invocation makes one tile of one channel (or one filter): it reads the
// tile's values once, applies the constant matrix of ir/winograd.h along each axis as straight-line
// code, and writes the results. Maps in front are computed where the tile reads, maps behind where
// it writes.
//
// Invocations are numbered along what lies side by side in the transformed tensor: tiles, or input
// channels of filters; with channels_last, `vec` channels of a tile to an invocation.
#include "ir/winograd.h"
#include "passes/build.h"
#include "passes/lower.h"
#include "passes/lower_shape.h"

#include <math.h>

enum { CELLS_MAX = WINOGRAD_SIZE_MAX * WINOGRAD_SIZE_MAX };

typedef struct Transform {
    Lower *l;
    const Node *node;
    ValueId from, to;
    Winograd w;
    unsigned axes, in, out; // side of the tile read and of that made
    const double (*map)[WINOGRAD_SIZE_MAX];
    Space from_space, to_space;
    bool last;            // channels lie last in memory
    unsigned lanes;       // channels of an invocation
    Dim outer, inner;     // axes 1 and 2 of the transformed tensor
    KVal at[2];           // the invocation's numbers along outer and inner
    KVal image, place[2]; // of the tile
    KVal cell[CELLS_MAX]; // row-major, in or out to a side
} Transform;

static KVal number(Transform *t, int64_t value) {
    return k_i32(t->l->b, (int32_t)value);
}

// An image's space with axis 1 last.
static void channels_last(Space *space) {
    Dim channels = space->size[1];
    uint8_t end = (uint8_t)(space->rank - 1);
    for (uint8_t a = 1; a < end; a++)
        space->size[a] = space->size[a + 1], space->axes[a] = (uint8_t)(a + 1);
    space->size[end] = channels, space->axes[end] = 1;
    space->permuted = true;
}

static bool transform_begin(Transform *t) {
    Lower *l = t->l;
    NodeId id = fused_find(l->graph, graph_node(l->graph, l->node), OC_TRANSFORM);
    t->node = graph_node(l->graph, id);
    t->from = t->node->operand[0], t->to = t->node->result[0];
    const Type *from = &graph_value(l->graph, t->from)->type;
    const Type *to = &graph_value(l->graph, t->to)->type;
    if (!winograd_matrices((unsigned)build_attr(t->node, "tile")->i, &t->w)) return false;
    const Type *tiles = t->node->op == OP_WINOGRAD_OUTPUT ? from : to; // [places, outer, inner]
    const Type *image = tiles == to ? from : to;
    t->axes = image->rank - 2u;
    t->in = t->out = t->w.size;
    t->map = (const double(*)[WINOGRAD_SIZE_MAX])t->w.input;
    if (t->node->op == OP_WINOGRAD_WEIGHT) {
        t->in = WINOGRAD_TAPS;
        t->map = (const double(*)[WINOGRAD_SIZE_MAX])t->w.weight;
    } else if (t->node->op == OP_WINOGRAD_OUTPUT) {
        t->out = t->w.tile;
        t->map = (const double(*)[WINOGRAD_SIZE_MAX])t->w.output;
    }
    t->last = t->node->op != OP_WINOGRAD_WEIGHT && build_attr(t->node, "channels_last")->i;
    t->lanes = t->last && l->schedule->vec ? l->schedule->vec : 1;
    t->outer = tiles->size[1], t->inner = tiles->size[2];
    t->from_space = space_of(l, from->rank, from->size);
    t->to_space = space_of(l, to->rank, to->size);
    if (t->last && image == from) channels_last(&t->from_space);
    return true;
}

// The image's index of a channel: where the axes of a space with channels last, or not, begin.
static KVal *channel_index(const Transform *t, Point *point) {
    return &point->index[t->last ? point->space->rank - 1 : 1];
}

static KVal *spatial_index(const Transform *t, Point *point) {
    return &point->index[t->last ? 1 : 2];
}

static KVal channel(const Transform *t) {
    return t->at[t->last ? 1 : 0];
}

static KVal tile_number(const Transform *t) {
    return t->at[t->last ? 0 : 1];
}

static const Dim *spatial_sizes(const Transform *t, const Type *image) {
    bool own = t->last && t->node->op == OP_WINOGRAD_OUTPUT;
    return image->size + (own ? 1 : 2);
}

// Which image the tile is of, and its row and column there.
static void transform_place(Transform *t, const Dim *count) {
    Lower *l = t->l;
    Dim sizes[3] = {dim_const(l->dims, 1)};
    KVal at[3];
    for (unsigned i = 0; i < t->axes; i++) sizes[1 + i] = count[i];
    lower_split(l, tile_number(t), (uint8_t)(1 + t->axes), sizes, at);
    t->image = at[0];
    for (unsigned i = 0; i < t->axes; i++) t->place[i] = at[1 + i];
}

static unsigned cells(const Transform *t, unsigned side) {
    return t->axes == 2 ? side * side : side;
}

// Reads the tile of an image; what lies outside is 0.
static void read_image(Transform *t) {
    Lower *l = t->l;
    KBuilder *b = l->b;
    const Attr *count = build_attr(t->node, "count"), *before = build_attr(t->node, "before");
    const Type *type = &graph_value(l->graph, t->from)->type;
    KVal index[2][WINOGRAD_SIZE_MAX], valid[2][WINOGRAD_SIZE_MAX];
    transform_place(t, count->sizes.at);
    KVal real = k_slt(b, t->image, lower_dim(l, type->size[0]));
    KVal image = k_select(b, real, t->image, number(t, 0));
    for (unsigned a = 0; a < t->axes; a++) {
        Dim padding = before->sizes.at[before->sizes.n == 1 ? 0 : a];
        KVal corner =
            k_isub(b, k_imul(b, t->place[a], number(t, t->w.tile)), lower_dim(l, padding));
        for (unsigned i = 0; i < t->in; i++) {
            KVal at = k_iadd(b, corner, number(t, i));
            valid[a][i] = k_ult(b, at, lower_dim(l, type->size[2 + a]));
            index[a][i] = k_select(b, valid[a][i], at, number(t, 0));
        }
    }
    KVal zero = lower_constant(l, type->dtype, 0);
    for (unsigned i = 0; i < cells(t, t->in); i++) {
        Point point = point_make(&t->from_space, (uint8_t)t->lanes);
        point.index[0] = image, *channel_index(t, &point) = channel(t);
        KVal inside = real;
        for (unsigned a = 0; a < t->axes; a++) {
            unsigned at = a + 1 == t->axes ? i % t->in : i / t->in;
            spatial_index(t, &point)[a] = index[a][at];
            inside = k_and(b, inside, valid[a][at]);
        }
        KVal value = lower_value(l, t->from, &point);
        if (k_type(b, value).lanes != t->lanes) value = k_splat(b, value, t->lanes);
        t->cell[i] = k_select(b, inside, value, zero);
    }
}

static void read_filter(Transform *t) {
    for (unsigned i = 0; i < cells(t, t->in); i++) {
        Point point = point_make(&t->from_space, 1);
        point.index[0] = t->at[0], point.index[1] = t->at[1];
        for (unsigned a = 0; a < t->axes; a++)
            point.index[2 + a] = number(t, a + 1 == t->axes ? i % t->in : i / t->in);
        t->cell[i] = lower_value(t->l, t->from, &point);
    }
}

static Point place_point(Transform *t, const Space *space, unsigned place) {
    Point point = point_make(space, (uint8_t)t->lanes);
    point.index[0] = number(t, place);
    point.index[1] = t->at[0], point.index[2] = t->at[1];
    return point;
}

static void read_places(Transform *t) {
    for (unsigned i = 0; i < cells(t, t->in); i++) {
        Point point = place_point(t, &t->from_space, i);
        KVal value = lower_value(t->l, t->from, &point);
        if (k_type(t->l->b, value).lanes != t->lanes) value = k_splat(t->l->b, value, t->lanes);
        t->cell[i] = value;
    }
}

// sum + factor * x; sum of 0: nothing yet.
static KVal add_term(KBuilder *b, KVal sum, double factor, KVal x) {
    if (factor == 0) return sum;
    if (fabs(factor) == 1) {
        if (!sum) return factor > 0 ? x : k_fneg(b, x);
        return factor > 0 ? k_fadd(b, sum, x) : k_fsub(b, sum, x);
    }
    KVal by = k_f32(b, (float)factor);
    return sum ? k_fma(b, x, by, sum) : k_fmul(b, x, by);
}

// A later row whose factors are the same but for signs; 0: none.
static unsigned mirror_of(const Transform *t, unsigned row) {
    for (unsigned other = row + 1; other < t->out; other++) {
        bool same = true;
        for (unsigned k = 0; k < t->in; k++)
            same = same && fabs(t->map[row][k]) == fabs(t->map[other][k]);
        if (same) return other;
    }
    return 0;
}

// to[i * step] = sum over k of map[i][k] from[k * from_step]. Rows of the points p and -p are the
// sum and the difference of two sums.
static void apply(const Transform *t, const KVal *from, unsigned from_step, KVal *to,
                  unsigned step) {
    KBuilder *b = t->l->b;
    KVal row[WINOGRAD_SIZE_MAX] = {0};
    for (unsigned i = 0; i < t->out; i++) {
        if (row[i]) continue;
        unsigned mirror = mirror_of(t, i);
        KVal same = 0, other = 0;
        for (unsigned k = 0; k < t->in; k++) {
            bool differs = mirror && t->map[i][k] != t->map[mirror][k];
            KVal *sum = differs ? &other : &same;
            *sum = add_term(b, *sum, t->map[i][k], from[k * from_step]);
        }
        if (!same) same = k_f32(b, 0);
        row[i] = other ? k_fadd(b, same, other) : same;
        if (mirror) row[mirror] = other ? k_fsub(b, same, other) : same;
    }
    for (unsigned i = 0; i < t->out; i++) to[i * step] = row[i];
}

static void transform_cells(Transform *t) {
    KVal half[CELLS_MAX] = {0};
    if (t->axes == 1) {
        apply(t, t->cell, 1, half, 1);
        for (unsigned i = 0; i < t->out; i++) t->cell[i] = half[i];
        return;
    }
    for (unsigned column = 0; column < t->in; column++)
        apply(t, t->cell + column, t->in, half + column, t->in);
    for (unsigned row = 0; row < t->out; row++)
        apply(t, half + row * t->in, 1, t->cell + row * t->out, 1);
}

static void write_places(Transform *t) {
    for (unsigned i = 0; i < cells(t, t->out); i++) {
        Point point = place_point(t, &t->to_space, i);
        point_set(t->l, &point, t->to, t->cell[i]);
        lower_result(t->l, t->to, &point);
    }
}

// Writes the tile's part of the image, `vec` elements of a row, or channels, at a time.
static void write_image(Transform *t, const ValueList *stores) {
    Lower *l = t->l;
    KBuilder *b = l->b;
    const Type *type = &graph_value(l->graph, t->to)->type;
    unsigned vec = t->last || !l->schedule->vec ? 1 : l->schedule->vec;
    const Dim *sizes = spatial_sizes(t, type);
    int64_t tile = t->w.tile;
    KVal index[2][WINOGRAD_SIZE_MAX], valid[2][WINOGRAD_SIZE_MAX] = {{0}};
    for (unsigned a = 0; a < t->axes; a++) {
        Dim size = sizes[a];
        unsigned step = a + 1 == t->axes ? vec : 1;
        bool ragged = !dim_divides(l->dims, tile, size);
        for (unsigned i = 0; i < t->out; i += step) {
            index[a][i] = k_iadd(b, k_imul(b, t->place[a], number(t, tile)), number(t, i));
            if (ragged && i) valid[a][i] = k_slt(b, index[a][i], lower_dim(l, size));
        }
    }
    for (unsigned i = 0; i < cells(t, t->out); i += vec) {
        Point point = point_make(&t->to_space, (uint8_t)(vec * t->lanes));
        point.index[0] = t->image, *channel_index(t, &point) = channel(t);
        KVal inside = 0;
        for (unsigned a = 0; a < t->axes; a++) {
            unsigned at = a + 1 == t->axes ? i % t->out : i / t->out;
            spatial_index(t, &point)[a] = index[a][at];
            if (valid[a][at]) inside = inside ? k_and(b, inside, valid[a][at]) : valid[a][at];
        }
        if (inside) k_if_begin(b, inside);
        point_set(l, &point, t->to, vec > 1 ? k_vector(b, vec, t->cell + i) : t->cell[i]);
        for (uint32_t s = 0; s < stores->len; s++) lower_result(l, stores->at[s], &point);
        if (inside) k_if_end(b, 0, NULL, NULL);
    }
}

static void transform_output(Transform *t) {
    Lower *l = t->l;
    const Type *type = &graph_value(l->graph, t->to)->type;
    const Dim *sizes = spatial_sizes(t, type);
    Dim count[2];
    for (unsigned a = 0; a < t->axes; a++)
        count[a] = dim_ceil_div(l->dims, sizes[a], dim_const(l->dims, t->w.tile));
    transform_place(t, count);
    ValueList stores = fused_stores(l->arena, l->graph, graph_node(l->graph, l->node));
    k_if_begin(l->b, k_slt(l->b, t->image, lower_dim(l, type->size[0])));
    read_places(t);
    transform_cells(t);
    write_image(t, &stores);
    k_if_end(l->b, 0, NULL, NULL);
}

// Multiplications and additions of one tile.
static int64_t tile_flops(const Transform *t) {
    int64_t terms = 0;
    for (unsigned i = 0; i < t->out; i++)
        for (unsigned k = 0; k < t->in; k++) terms += t->map[i][k] != 0;
    return 2 * terms * (t->axes == 2 ? t->in + t->out : 1);
}

// Whether `vec` elements of the fastest axis can be moved together.
static bool transform_vec(Transform *t) {
    Lower *l = t->l;
    unsigned vec = l->schedule->vec ? l->schedule->vec : 1;
    if (vec == 1) return true;
    if (vec > 4 || (vec & (vec - 1)) || t->node->op == OP_WINOGRAD_WEIGHT) return false;
    if (t->last) return dim_divides(l->dims, vec, t->inner);
    const Type *to = &graph_value(l->graph, t->to)->type;
    return t->node->op == OP_WINOGRAD_OUTPUT && t->w.tile % vec == 0 &&
           dim_divides(l->dims, vec, to->size[to->rank - 1u]);
}

bool lower_transform(Lower *l) {
    Transform t = {.l = l};
    if (!transform_begin(&t)) return false;
    if (!transform_vec(&t)) {
        lower_fail(l, "vec=%u does not divide what lies side by side", l->schedule->vec);
        return false;
    }
    KBuilder *b = l->b;
    const Schedule *s = l->schedule;
    Dim inner = dim_floor_div(l->dims, t.inner, dim_const(l->dims, t.lanes));
    Dim total = dim_mul(l->dims, t.outer, inner);
    Dim groups = dim_ceil_div(l->dims, total, dim_const(l->dims, s->local));
    KVal group = lower_workgroup(l, groups);
    KVal index = k_iadd(b, k_imul(b, group, k_i32(b, (int32_t)s->local)), k_local_id(b));
    k_if_begin(b, k_slt(b, index, lower_dim(l, total)));
    lower_split(l, index, 2, (Dim[]){t.outer, inner}, t.at);
    t.at[1] = k_imul(b, t.at[1], k_i32(b, (int32_t)t.lanes));
    if (t.node->op == OP_WINOGRAD_OUTPUT) {
        transform_output(&t);
    } else {
        if (t.node->op == OP_WINOGRAD_INPUT)
            read_image(&t);
        else
            read_filter(&t);
        transform_cells(&t);
        write_places(&t);
    }
    k_if_end(b, 0, NULL, NULL);
    Dim flops =
        dim_mul(l->dims, t.outer, dim_mul(l->dims, t.inner, dim_const(l->dims, tile_flops(&t))));
    return lower_finish(l, groups, flops);
}
