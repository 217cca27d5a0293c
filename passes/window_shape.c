#include "passes/window_shape.h"

#include <string.h>

#include "passes/build.h"

static Dim window_product(const WindowShape *s, DimTable *dims, uint32_t first, uint32_t stop) {
    Dim product = dim_const(dims, 1);
    for (uint32_t i = first; i < stop; i++)
        product = dim_mul(dims, product, s->row.size[s->axes[i]]);
    return product;
}

// One phase, and nothing stored but what is one a row.
static bool window_folds_once(Arena *arena, const Graph *g, const Node *fused,
                              const RowShape *row) {
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind != NODE_OP) return false;
        if (node->op == OP_ARGMAX || node->op == OP_ARGMIN || node->op == OP_UPDATE) return false;
        if (op_info(node->op)->class == OC_REDUCE && row_level(row, node->result[0]) != 1)
            return false;
    }
    ValueList stores = fused_stores(arena, g, fused);
    for (uint32_t i = 0; i < stores.len; i++)
        if (row_is_full(row, stores.at[i])) return false;
    return true;
}

bool window_shape(Arena *arena, const Graph *g, NodeId fused, WindowShape *out) {
    *out = (WindowShape){0};
    RowShape *row = &out->row;
    DimTable *dims = g->dims;
    if (!row_shape(arena, g, fused, row) || row->kept < 1 ||
        dim_bounds(dims, row->rows).hi > INT32_MAX - (1 << 20))
        return false;
    if (!dim_is_const(dims, row->length, &out->length) || out->length < 1 ||
        out->length > WINDOW_LENGTH_MAX || !window_folds_once(arena, g, graph_node(g, fused), row))
        return false;
    uint8_t kept[RANK_MAX], folded[RANK_MAX], count = 0, at = 0, folds = 0;
    for (uint8_t a = 0; a < row->rank; a++) {
        if (row->reduced >> a & 1)
            folded[folds++] = a;
        else
            kept[count++] = a;
    }
    for (uint8_t i = 0; i + 1 < count; i++) out->axes[at++] = kept[i];
    for (uint8_t i = 0; i < folds; i++) out->axes[at++] = folded[i];
    out->axes[at] = kept[count - 1];
    out->last = row->size[kept[count - 1]];
    out->along = count > 1 ? row->size[kept[count - 2]] : dim_const(dims, 1);
    out->outer = window_product(out, dims, 0, count > 2 ? count - 2u : 0);
    return true;
}

bool window_view(Graph *g, const WindowShape *s, ValueId value, ValueId *base, View *out) {
    View view, moved;
    DimTable *dims = g->dims;
    const RowShape *row = &s->row;
    if (!graph_view(g, value, base, &view)) return false;
    Dim size[4] = {s->outer, s->along, row->length, s->last};
    return view_broadcast(dims, &view, row->rank, row->size, &moved) &&
           view_permute(dims, &moved, s->axes, &view) && view_reshape(dims, &view, 4, size, out);
}

// Adds scale * digit to the key's part `i`.
static void window_add(DimTable *dims, WindowKey *key, unsigned i, Dim scale, int64_t digit) {
    int64_t value, *sum = i ? &key->guard[i - 1] : &key->offset;
    if (dim_is_const(dims, scale, &value))
        *sum += value * digit;
    else
        key->more[i] = dim_add(dims, key->more[i], dim_mul(dims, scale, dim_const(dims, digit)));
}

// Digits of `index` on an axis; false if they are not known.
static bool window_digits(DimTable *dims, const View *view, uint8_t axis, bool linear,
                          int64_t index, int64_t *digit) {
    int64_t size;
    unsigned count = 0;
    for (int d = view->digits - 1; d >= 0 && index; d--) {
        if (view->digit[d].axis != axis || dim_is(dims, view->digit[d].size, 1)) continue;
        if (linear) { // an index that is split is not linear
            digit[d] = index;
            if (count++) return false;
            continue;
        }
        if (!dim_is_const(dims, view->digit[d].size, &size)) return false;
        digit[d] = index % size, index /= size;
    }
    return true;
}

WindowKey window_key(DimTable *dims, const View *view, uint32_t linear, const int64_t *index) {
    WindowKey key = {.known = !view->inner};
    int64_t digit[VIEW_DIGITS_MAX] = {0};
    for (unsigned i = 0; i <= VIEW_GUARDS_MAX; i++) key.more[i] = dim_const(dims, 0);
    for (uint8_t a = 0; a < view->rank && key.known; a++)
        key.known = window_digits(dims, view, a, linear >> a & 1, index[a], digit);
    for (uint8_t d = 0; key.known && d < view->digits; d++) {
        if (!digit[d]) continue;
        window_add(dims, &key, 0, view->digit[d].stride, digit[d]);
        for (uint8_t g = 0; g < view->guards; g++)
            for (uint8_t t = 0; t < view->guard[g].terms; t++)
                if (view->guard[g].term[t].digit == d)
                    window_add(dims, &key, 1u + g, view->guard[g].term[t].scale, digit[d]);
    }
    return key;
}

bool window_key_equal(const WindowKey *a, const WindowKey *b) {
    return a->known && b->known && a->offset == b->offset &&
           memcmp(a->guard, b->guard, sizeof a->guard) == 0 &&
           memcmp(a->more, b->more, sizeof a->more) == 0;
}
