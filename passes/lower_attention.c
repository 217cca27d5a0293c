#include "passes/lower_attention.h"

#include <math.h>
#include <string.h>

#include "passes/build.h"
#include "passes/lower_math.h"
#include "passes/lower_shape.h"

static Dim leading(DimTable *dims, const Type *type) {
    Dim product = dim_const(dims, 1);
    for (uint8_t i = 0; i + 2 < type->rank; i++) product = dim_mul(dims, product, type->size[i]);
    return product;
}

static Space matrix_space(Lower *l, const Type *type) {
    Space space = space_of(l, type->rank, type->size);
    space.rank = 3;
    space.size[0] = leading(l->dims, type);
    space.size[1] = type->size[type->rank - 2];
    space.size[2] = type->size[type->rank - 1];
    return space;
}

static const Type *type_of(Attention *a, ValueId value) {
    return &graph_value(a->l->graph, value)->type;
}

static bool attention_sizes(Attention *a) {
    Lower *l = a->l;
    const Type *q = type_of(a, a->q), *k = type_of(a, a->k), *v = type_of(a, a->v);
    int64_t size, value_size, group;
    if (!dim_is_const(l->dims, q->size[q->rank - 1], &size) ||
        !dim_is_const(l->dims, v->size[v->rank - 1], &value_size)) {
        lower_fail(l, "the head size must be constant");
        return false;
    }
    a->heads = leading(l->dims, q);
    a->group = dim_const(l->dims, 1);
    if (q->rank > 2) a->group = dim_floor_div(l->dims, q->size[q->rank - 3], k->size[k->rank - 3]);
    if (!dim_is_const(l->dims, a->group, &group)) {
        lower_fail(l, "the number of query heads a key head must be constant");
        return false;
    }
    a->rows = q->size[q->rank - 2], a->keys = k->size[k->rank - 2];
    a->size = (uint32_t)size, a->value_size = (uint32_t)value_size;
    return true;
}

bool attention_begin(Attention *a, Lower *l) {
    const Node *fused = graph_node(l->graph, l->node);
    a->l = l;
    a->node = graph_node(l->graph, fused_find(l->graph, fused, OC_ATTENTION));
    a->q = a->node->operand[0], a->k = a->node->operand[1], a->v = a->node->operand[2];
    a->mask = a->node->operands > 3 ? a->node->operand[3] : 0;
    a->result = a->node->result[0];
    if (!attention_sizes(a)) return false;
    const Attr *scale = build_attr(a->node, "scale");
    a->scale = (float)(scale->present ? scale->f : 1 / sqrt((double)a->size));
    const Attr *softcap = build_attr(a->node, "softcap"), *window = build_attr(a->node, "window");
    a->softcap = softcap->present ? (float)softcap->f : 0;
    a->window = window->present ? window->i : 0;
    a->causal = build_attr(a->node, "is_causal")->i;
    a->q_space = matrix_space(l, type_of(a, a->q));
    a->k_space = matrix_space(l, type_of(a, a->k));
    a->v_space = matrix_space(l, type_of(a, a->v));
    a->out_space = matrix_space(l, type_of(a, a->result));
    Type scores = *type_of(a, a->q);
    scores.size[scores.rank - 1] = a->keys;
    a->mask_space = matrix_space(l, &scores);
    return true;
}

Dim attention_place(Attention *a, unsigned tile_m) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    Dim tiles = dim_ceil_div(l->dims, a->rows, dim_const(l->dims, tile_m));
    Dim groups = dim_mul(l->dims, a->heads, tiles);
    KVal workgroup = lower_workgroup(l, groups), tile;
    KVal count = lower_dim(l, tiles);
    if (a->causal) {
        KVal heads = lower_dim(l, a->heads);
        a->head = k_urem(b, workgroup, heads);
        tile = k_isub(b, k_isub(b, count, k_i32(b, 1)), k_udiv(b, workgroup, heads));
    } else {
        a->head = k_udiv(b, workgroup, count);
        tile = k_urem(b, workgroup, count);
    }
    a->key_head = k_udiv(b, a->head, lower_dim(l, a->group));
    a->first_row = k_imul(b, tile, k_i32(b, (int32_t)tile_m));
    a->shift = k_isub(b, lower_dim(l, a->keys), lower_dim(l, a->rows));
    return groups;
}

AttentionLimits attention_limits(Attention *a, KVal row) {
    KBuilder *b = a->l->b;
    AttentionLimits limits = {0};
    KVal position = k_iadd(b, row, a->shift), reach = k_i32(b, (int32_t)a->window - 1);
    if (a->causal) limits.hi = position;
    if (a->window) limits.lo = k_isub(b, position, reach);
    if (a->window && !a->causal) limits.hi = k_iadd(b, position, reach);
    return limits;
}

void attention_range(Attention *a, unsigned rows, KVal *first, KVal *end) {
    KBuilder *b = a->l->b;
    KVal zero = k_i32(b, 0), last = k_iadd(b, a->first_row, k_i32(b, (int32_t)rows - 1));
    AttentionLimits low = attention_limits(a, a->first_row), high = attention_limits(a, last);
    *first = low.lo ? k_smax(b, zero, low.lo) : zero;
    *end = lower_dim(a->l, a->keys);
    if (high.hi) {
        *end = k_smin(b, *end, k_iadd(b, high.hi, k_i32(b, 1)));
        *end = k_smax(b, zero, *end);
    }
}

bool attention_has_mask(const Attention *a) {
    return a->mask != 0;
}

bool attention_mask_chooses(const Attention *a) {
    return a->mask && graph_value(a->l->graph, a->mask)->type.dtype == DT_BOOL;
}

KVal attention_mask(Attention *a, KVal row, KVal key, unsigned lanes) {
    Lower *l = a->l;
    KBuilder *b = l->b;
    if (!a->mask) return 0;
    Point point = point_make(&a->mask_space, (uint8_t)lanes);
    Dim last_row = dim_sub(l->dims, a->rows, dim_const(l->dims, 1));
    Dim last_key = dim_sub(l->dims, a->keys, dim_const(l->dims, lanes));
    point.index[0] = a->head;
    point.index[1] = k_smin(b, row, lower_dim(l, last_row));
    point.index[2] = k_smin(b, key, lower_dim(l, last_key));
    KVal mask = lower_value(l, a->mask, &point);
    return k_type(b, mask).lanes == lanes ? mask : k_splat(b, mask, lanes);
}

KVal attention_score(const Attention *a, KVal product, KVal mask) {
    KBuilder *b = a->l->b;
    KVal score = k_fmul(b, product, k_f32(b, a->scale));
    if (a->softcap != 0) {
        KVal cap = k_f32(b, a->softcap), part = k_f32(b, 1 / a->softcap);
        score = k_fmul(b, cap, math_tanh(b, k_fmul(b, score, part)));
    }
    if (!mask) return score;
    return attention_mask_chooses(a) ? k_select(b, mask, score, k_f32(b, -INFINITY))
                                     : k_fadd(b, score, mask);
}

KVal attention_inverse(Attention *a, KVal sum) {
    KBuilder *b = a->l->b;
    KVal none = k_feq(b, sum, k_f32(b, 0));
    return k_select(b, none, k_f32(b, 0), k_fdiv(b, k_f32(b, 1), sum));
}

void attention_result(Attention *a, KVal row, KVal column, KVal value) {
    Lower *l = a->l;
    ValueList stores = fused_stores(l->arena, l->graph, graph_node(l->graph, l->node));
    Point point = point_make(&a->out_space, k_type(l->b, value).lanes);
    point.index[0] = a->head, point.index[1] = row, point.index[2] = column;
    point_set(l, &point, a->result, value);
    for (uint32_t r = 0; r < stores.len; r++) lower_result(l, stores.at[r], &point);
}

Dim attention_flops(const Attention *a) {
    DimTable *dims = a->l->dims;
    Dim scores = dim_mul(dims, a->heads, dim_mul(dims, a->rows, a->keys));
    return dim_mul(dims, scores, dim_const(dims, 2 * (int64_t)(a->size + a->value_size)));
}

bool lower_attention(Lower *l) {
    const char *form = l->schedule->form ? l->schedule->form : "simt";
    Attention *a = arena_alloc(l->arena, sizeof *a);
    if (!attention_begin(a, l)) return false;
    if (strcmp(form, "simt") == 0) return lower_attention_simt(a);
    if (strcmp(form, "coop") == 0) return lower_attention_coop(a);
    if (strcmp(form, "split") == 0) return lower_attention_split(a);
    lower_fail(l, "there is no form \"%s\" of attention", form);
    return false;
}
