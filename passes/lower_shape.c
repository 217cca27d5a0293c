#include "passes/lower_shape.h"

#include "ir/plan.h"
#include "passes/build.h"

bool fused_is_update(const Graph *g, ValueId value) {
    const Node *node = graph_node(g, graph_value(g, value)->node);
    return node->kind == NODE_OP && node->op == OP_UPDATE;
}

ValueList fused_stores(Arena *arena, const Graph *g, const Node *fused) {
    ValueList list = {0};
    for (uint32_t i = 0; i < fused->results; i++) vec_push(arena, &list, fused->result[i]);
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind != NODE_OP || node->op != OP_UPDATE) continue;
        bool listed = false;
        for (uint32_t r = 0; r < fused->results; r++)
            listed = listed || fused->result[r] == node->result[0];
        if (!listed) vec_push(arena, &list, node->result[0]);
    }
    return list;
}

Type fused_store_shape(const Graph *g, ValueId value) {
    Type type = graph_value(g, value)->type;
    if (!fused_is_update(g, value)) return type;
    const Node *node = graph_node(g, graph_value(g, value)->node);
    const Attr *starts = build_attr(node, "starts"), *stops = build_attr(node, "stops");
    const Attr *steps = build_attr(node, "steps");
    for (uint8_t a = 0; a < type.rank; a++) {
        Dim count = dim_sub(g->dims, stops->sizes.at[a], starts->sizes.at[a]);
        type.size[a] = dim_ceil_div(g->dims, count, dim_const(g->dims, steps->ints.at[a]));
    }
    return type;
}

Type fused_map_shape(const Graph *g, const Node *fused) {
    NodeId map = fused_find(g, fused, OC_MAP);
    Type store = fused_store_shape(g, fused->result[0]);
    if (!map) return store;
    Type shape = graph_value(g, graph_node(g, map)->result[0])->type;
    bool updates = fused_find(g, fused, OC_STATE); // they may spread what the maps give
    return updates && type_elements(g->dims, &shape) != type_elements(g->dims, &store) ? store
                                                                                       : shape;
}

NodeId fused_find(const Graph *g, const Node *fused, OpClass class) {
    const Region *body = &g->regions.at[fused->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind == NODE_OP && !node->inline_view && op_info(node->op)->class == class)
            return body->nodes.at[i];
    }
    return 0;
}

bool row_is_full(const RowShape *shape, ValueId value) {
    return shape->is_full[value];
}

uint32_t row_level(const RowShape *shape, ValueId value) {
    return shape->level[value];
}

static bool row_take_shape(const Graph *g, const Node *reduce, RowShape *out) {
    const Type *type = &graph_value(g, reduce->operand[0])->type;
    uint32_t mask = reduce_axes(reduce, graph_value(g, reduce->operand[0])->type.rank);
    if (out->rows != DIM_NONE) {
        bool same = out->reduced == mask && out->rank == type->rank;
        for (uint8_t a = 0; same && a < type->rank; a++) same = out->size[a] == type->size[a];
        return same;
    }
    out->rank = type->rank, out->reduced = mask;
    out->rows = out->length = dim_const(g->dims, 1);
    for (uint8_t a = 0; a < type->rank; a++) {
        bool folded = mask >> a & 1;
        Dim *product = folded ? &out->length : &out->rows;
        out->kept += !folded;
        out->size[a] = type->size[a];
        *product = dim_mul(g->dims, *product, type->size[a]);
    }
    return true;
}

typedef struct RowMarks {
    uint32_t *level;
    bool *is_full;
} RowMarks;

// A value computed inside is full if something full goes into it, else by its number of elements.
static void row_mark(const Graph *g, const Node *node, RowShape *out, RowMarks *marks) {
    bool reduce = op_info(node->op)->class == OC_REDUCE, update = node->op == OP_UPDATE;
    uint32_t level = 0;
    bool full = false;
    for (uint32_t o = update; o < node->operands; o++) {
        ValueId value = node->operand[o];
        if (!value) continue;
        ValueId base = plan_memory_base(g, value);
        uint32_t reach = marks->level[base];
        if (reach > level) level = reach;
        full = full || marks->is_full[base];
        marks->level[value] = reach;
    }
    Dim elements = dim_mul(g->dims, out->rows, out->length);
    for (uint32_t r = 0; r < node->results; r++) {
        Dim own = type_elements(g->dims, &graph_value(g, node->result[r])->type);
        marks->level[node->result[r]] = reduce ? level + 1 : level;
        marks->is_full[node->result[r]] = !reduce && (full || own == elements);
        if (level > out->levels) out->levels = level;
    }
    // What a reduction or an update reads has the whole shape or one element a row.
    if (reduce) marks->is_full[node->operand[0]] = true;
    if (update && marks->is_full[plan_memory_base(g, node->operand[1])])
        marks->is_full[node->operand[1]] = true;
}

bool row_shape(Arena *arena, const Graph *g, NodeId fused, RowShape *out) {
    *out = (RowShape){0};
    RowMarks marks = {.level = arena_alloc(arena, g->values.len * sizeof *marks.level),
                      .is_full = arena_alloc(arena, g->values.len)};
    const Region *body = &g->regions.at[graph_node(g, fused)->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind == NODE_OP && op_info(node->op)->class == OC_REDUCE &&
            !row_take_shape(g, node, out))
            return false;
    }
    if (out->rows == DIM_NONE) return false;
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->kind == NODE_OP && !node->inline_view) row_mark(g, node, out, &marks);
    }
    out->level = marks.level, out->is_full = marks.is_full;
    return true;
}
