// Transforms of tiles of the reference evaluator: each element from its definition in f64.
#include "ir/eval_internal.h"
#include "ir/winograd.h"

// The numbers [i, j] of a place among size x size, or [i] of one axis.
static void split(int64_t place, unsigned size, unsigned axes, int64_t *at) {
    for (unsigned i = axes; i-- > 0; place /= size) at[i] = place % size;
}

// Sum over a tile of side `size` (one or two axes) of the map's row at `to`, times what `read`
// gives.
typedef double ReadTile(Eval *e, const Node *node, const int64_t *cell, void *user);
static double transform(Eval *e, const Node *node, unsigned axes, unsigned size,
                        double (*map)[WINOGRAD_SIZE_MAX], const int64_t *to, ReadTile *read,
                        void *user) {
    double sum = 0;
    int64_t cells = axes == 2 ? size * size : size, cell[2] = {0};
    for (int64_t i = 0; i < cells; i++) {
        split(i, size, axes, cell);
        double factor = 1;
        for (unsigned a = 0; a < axes; a++) factor *= map[to[a]][cell[a]];
        if (factor != 0) sum += factor * read(e, node, cell, user);
    }
    return sum;
}

typedef struct Tile {
    unsigned axes;
    int64_t image, channel, corner[2];
} Tile;

static double read_image(Eval *e, const Node *node, const int64_t *cell, void *user) {
    const Tile *tile = user;
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    int64_t at[4] = {tile->image, tile->channel};
    for (unsigned i = 0; i < tile->axes; i++) {
        at[2 + i] = tile->corner[i] + cell[i];
        if (at[2 + i] < 0 || at[2 + i] >= x->size[2 + i]) return 0;
    }
    return eval_at(e, node->operand[0], at);
}

static double input_element(Eval *e, const Node *node, const Winograd *w, const int64_t *index) {
    const Tensor *x = eval_shape_of(e, node->operand[0]);
    bool last = node->attr[3].i;
    Tile tile = {.axes = x->rank - 2u, .channel = index[last ? 2 : 1]};
    const Attr *before = &node->attr[2];
    int64_t to[2], rest = index[last ? 1 : 2];
    for (unsigned i = tile.axes; i-- > 0;) {
        int64_t count = eval_dim(e, node->attr[1].sizes.at[i]);
        Dim padding = before->sizes.at[before->sizes.n == 1 ? 0 : i];
        tile.corner[i] = rest % count * w->tile - eval_dim(e, padding);
        rest /= count;
    }
    tile.image = rest;
    if (tile.image >= x->size[0]) return 0;
    split(index[0], w->size, tile.axes, to);
    return transform(e, node, tile.axes, w->size, (void *)w->input, to, read_image, &tile);
}

static double read_filter(Eval *e, const Node *node, const int64_t *cell, void *user) {
    const int64_t *filter = user;
    return eval_at(e, node->operand[0], (int64_t[]){filter[1], filter[2], cell[0], cell[1]});
}

static double weight_element(Eval *e, const Node *node, const Winograd *w, const int64_t *index) {
    unsigned axes = eval_shape_of(e, node->operand[0])->rank - 2u;
    int64_t to[2];
    split(index[0], w->size, axes, to);
    return transform(e, node, axes, WINOGRAD_TAPS, (void *)w->weight, to, read_filter,
                     (void *)(uintptr_t)index);
}

typedef struct Products {
    unsigned size, axes;
    bool last; // the channel
    int64_t channel, tile;
} Products;

static double read_products(Eval *e, const Node *node, const int64_t *cell, void *user) {
    const Products *p = user;
    int64_t place = p->axes == 2 ? cell[0] * p->size + cell[1] : cell[0];
    int64_t rest[] = {p->last ? p->tile : p->channel, p->last ? p->channel : p->tile};
    return eval_at(e, node->operand[0], (int64_t[]){place, rest[0], rest[1]});
}

static double output_element(Eval *e, const Node *node, const Winograd *w, const int64_t *index) {
    const Tensor *y = eval_shape_of(e, node->result[0]);
    bool last = node->attr[3].i;
    Products products = {.size = w->size, .axes = y->rank - 2u, .last = last};
    products.channel = index[last ? y->rank - 1 : 1];
    const int64_t *size = y->size + (last ? 1 : 2), *at = index + (last ? 1 : 2);
    int64_t to[2] = {0}, number = index[0];
    for (unsigned i = 0; i < products.axes; i++) {
        int64_t count = (size[i] + w->tile - 1) / w->tile;
        number = number * count + at[i] / w->tile;
        to[i] = at[i] % w->tile;
    }
    products.tile = number;
    return transform(e, node, products.axes, w->size, (void *)w->output, to, read_products,
                     &products);
}

double eval_transform(Eval *e, const Node *node, const int64_t *index) {
    unsigned tile = (unsigned)node->attr[0].i;
    Winograd *w = e->winograd[tile];
    if (!w) {
        w = e->winograd[tile] = arena_alloc(e->arena, sizeof *w);
        winograd_matrices(tile, w);
    }
    switch (node->op) {
    case OP_WINOGRAD_INPUT: return input_element(e, node, w, index);
    case OP_WINOGRAD_WEIGHT: return weight_element(e, node, w, index);
    default: return output_element(e, node, w, index);
    }
}
