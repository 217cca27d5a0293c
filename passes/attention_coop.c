#include "passes/attention_coop.h"

#include <string.h>

#include "passes/lower_shape.h"

static Dim leading(DimTable *dims, const Type *type) {
    Dim product = dim_const(dims, 1);
    for (uint8_t i = 0; i + 2 < type->rank; i++) product = dim_mul(dims, product, type->size[i]);
    return product;
}

bool attention_shape(const Graph *g, NodeId fused, AttentionShape *out) {
    DimTable *dims = g->dims;
    NodeId id = fused_find(g, graph_node(g, fused), OC_ATTENTION);
    const Node *node = graph_node(g, id);
    *out = (AttentionShape){
        .node = id, .q = node->operand[0], .k = node->operand[1], .v = node->operand[2]};
    out->mask = node->operands > 3 ? node->operand[3] : 0;
    const Type *q = &graph_value(g, out->q)->type, *k = &graph_value(g, out->k)->type;
    const Type *v = &graph_value(g, out->v)->type;
    int64_t size, value_size, group = 1;
    if (!dim_is_const(dims, q->size[q->rank - 1], &size) ||
        !dim_is_const(dims, v->size[v->rank - 1], &value_size))
        return false;
    if (q->rank > 2) {
        Dim by = dim_floor_div(dims, q->size[q->rank - 3], k->size[k->rank - 3]);
        if (!dim_is_const(dims, by, &group)) return false;
    }
    out->heads = leading(dims, q);
    out->rows = q->size[q->rank - 2], out->keys = k->size[k->rank - 2];
    out->size = (uint32_t)size, out->value_size = (uint32_t)value_size;
    out->group = (uint32_t)group;
    return true;
}

bool attention_operand(Graph *g, NodeId fused, ValueId value, CoopOperand *o) {
    const Type *type = &graph_value(g, value)->type;
    *o = (CoopOperand){.value = value, .dtype = type->dtype};
    View view;
    if (!graph_view(g, value, &o->base, &view)) return false;
    Dim size[3] = {leading(g->dims, type), type->size[type->rank - 2], type->size[type->rank - 1]};
    o->rows = size[1];
    return view_reshape(g->dims, &view, 3, size, &o->view) && coop_operand_reads(g, fused, o) &&
           o->in_memory;
}

bool flash_shape(Graph *g, NodeId fused, const Target *target, FlashShape *out) {
    if (!attention_shape(g, fused, &out->attention)) return false;
    const AttentionShape *a = &out->attention;
    out->dtype = graph_value(g, a->q)->type.dtype;
    out->layout = fragment_layout_of(target);
    if (out->dtype != DT_F16 && out->dtype != DT_BF16) return false;
    if (graph_value(g, a->k)->type.dtype != out->dtype ||
        graph_value(g, a->v)->type.dtype != out->dtype)
        return false;
    return out->layout != LAYOUT_UNKNOWN && dim_bounds(g->dims, a->keys).lo >= 1 &&
           dim_bounds(g->dims, a->rows).lo >= 1 && attention_operand(g, fused, a->q, &out->q) &&
           attention_operand(g, fused, a->k, &out->k) && attention_operand(g, fused, a->v, &out->v);
}

FlashTile flash_tile(uint32_t rows, uint32_t columns, uint32_t fragment) {
    FlashTile t = {.rows = rows, .columns = (columns + fragment - 1) / fragment * fragment};
    t.line = t.columns * 2 / COOP_MOVE;
    t.pitch = (t.line | 1) * 4;
    return t;
}

uint32_t flash_shared_words(const FlashShape *shape, const Schedule *s) {
    const AttentionShape *a = &shape->attention;
    FlashTile q = flash_tile(s->tile_m, a->size, s->frag_k);
    FlashTile k = flash_tile(s->tile_n, a->size, s->frag_k);
    FlashTile v = flash_tile(s->tile_n, a->value_size, s->frag_n);
    uint32_t before = q.rows * q.pitch, after = k.rows * k.pitch + v.rows * v.pitch;
    return before > after ? before : after;
}

bool flash_map(const FlashShape *shape, const Schedule *s, FragmentMap *out) {
    FragmentMap weights;
    KType scores = ktype_frag(KU_ACC, DT_F32, s->frag_m, s->frag_n);
    KType left = ktype_frag(KU_A, shape->dtype, s->frag_m, s->frag_k);
    return s->frag_n == s->frag_k && fragment_map(shape->layout, scores, out) &&
           fragment_map(shape->layout, left, &weights) &&
           memcmp(&weights, out, sizeof weights) == 0;
}

static bool flash_has_fragment(const FlashShape *shape, const Schedule *s, const Target *target) {
    for (uint32_t i = 0; i < target->fragments; i++) {
        const FragmentShape *f = &target->fragment[i];
        if (f->m == s->frag_m && f->n == s->frag_n && f->k == s->frag_k && f->ab == shape->dtype &&
            f->acc == DT_F32)
            return true;
    }
    return false;
}

static unsigned ceil_div(unsigned a, unsigned b) {
    return (a + b - 1) / b;
}

static bool flash_holds(const FlashShape *shape, const Schedule *s, const FragmentMap *map) {
    const AttentionShape *a = &shape->attention;
    FlashTile q = flash_tile(s->tile_m, a->size, s->frag_k);
    FlashTile v = flash_tile(s->tile_n, a->value_size, s->frag_n);
    unsigned down = s->warp_m / s->frag_m, line = q.line > v.line ? q.line : v.line, groups = 1;
    for (uint8_t i = 0; i < map->row.bits; i++)
        if (!map->row.bit[i].lane) groups *= 2;
    return down * groups <= FLASH_SLOTS_MAX &&
           down * q.columns / s->frag_k <= FLASH_FRAGMENTS_MAX &&
           down * v.columns / s->frag_n <= FLASH_FRAGMENTS_MAX &&
           down * s->tile_n / s->frag_n <= FLASH_FRAGMENTS_MAX &&
           ceil_div(s->tile_m * q.line, s->local) <= FLASH_MOVES_MAX &&
           ceil_div(s->tile_n * line, s->local) <= FLASH_MOVES_MAX;
}

const char *flash_refuses(const FlashShape *shape, const Schedule *s, const Target *target) {
    const AttentionShape *a = &shape->attention;
    FragmentMap map;
    if (!s->frag_m || !s->frag_n || !s->frag_k || !flash_has_fragment(shape, s, target))
        return "the target lists no such fragment";
    if (s->subgroup != fragment_layout_lanes(shape->layout) || s->subgroup < target->subgroup_min ||
        s->subgroup > target->subgroup_max)
        return "subgroup must be that of the target's layout of fragments";
    if (!flash_map(shape, s, &map))
        return "scores do not lie as the left operand of a product does";
    if (s->frag_k * 2 % COOP_MOVE) return "a row of a fragment is not a whole number of moves";
    if (!s->warp_m || s->warp_m % s->frag_m || s->warp_m > 2 * s->frag_m)
        return "warp_m must be one or two times frag_m";
    if (!s->tile_n || s->tile_n % s->frag_n || s->tile_n > FLASH_KEY_TILE_MAX)
        return "tile_n must be a multiple of frag_n and at most 128";
    if (!s->tile_m || s->tile_m % s->warp_m || s->tile_m / s->warp_m * s->subgroup != s->local)
        return "local must be subgroup times tile_m / warp_m";
    if (s->local > target->max_invocations || s->local > target->max_local_x)
        return "local is more than the target allows";
    if (s->stages < 1 || s->stages > 3) return "stages must be 1 to 3";
    if (a->size > 256 || a->value_size > 256) return "heads have at most 256 columns";
    if (!flash_holds(shape, s, &map)) return "its tiles are more than an invocation can hold";
    if (flash_shared_words(shape, s) * 4 > target->shared_bytes)
        return "its tiles need more workgroup memory than the target has";
    return NULL;
}
