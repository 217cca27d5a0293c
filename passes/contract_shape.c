#include "passes/contract_shape.h"

#include "ir/plan.h"
#include "passes/build.h"

static Dim contract_product(const Graph *g, const Type *type, uint8_t first, uint8_t count) {
    Dim product = dim_const(g->dims, 1);
    for (uint8_t a = first; a < first + count; a++)
        product = dim_mul(g->dims, product, type->size[a]);
    return product;
}

// The view without its leading axes, which must be those of the value itself.
static bool contract_drop_leading(const Graph *g, const View *view, const Type *type, uint8_t lead,
                                  View *out) {
    uint8_t renumbered[VIEW_DIGITS_MAX];
    for (uint8_t a = 0; a < lead; a++) {
        Dim below = contract_product(g, type, a + 1, (uint8_t)(type->rank - a - 1));
        if (view->size[a] != type->size[a]) return false;
        Dim own = view_axis_stride(view, a);
        if (own != DIM_NONE && own != below) return false;
    }
    *out = *view;
    out->rank = (uint8_t)(view->rank - lead), out->digits = 0;
    for (uint8_t a = 0; a < out->rank; a++) out->size[a] = view->size[a + lead];
    for (uint8_t d = 0; d < view->digits; d++) {
        renumbered[d] = out->digits;
        if (view->digit[d].axis < lead) continue;
        out->digit[out->digits] = view->digit[d];
        out->digit[out->digits++].axis = (uint8_t)(view->digit[d].axis - lead);
    }
    for (uint8_t i = 0; i < view->guards; i++)
        for (uint8_t t = 0; t < view->guard[i].terms; t++) {
            uint8_t digit = view->guard[i].term[t].digit;
            if (view->digit[digit].axis < lead) return false;
            out->guard[i].term[t].digit = renumbered[digit];
        }
    return view->inner == NULL;
}

static bool contract_pool(Graph *g, NodeId fused, ContractShape *out) {
    const Node *reduce = graph_node(g, out->pool);
    View view, moved;
    if (!graph_view(g, reduce->operand[0], &out->pooled, &view)) return false;
    NodeId from = graph_value(g, out->pooled)->node;
    if (!from || graph_node(g, from)->region != graph_node(g, fused)->body) return false;
    const Type *type = &graph_value(g, out->pooled)->type;
    uint8_t lead = (uint8_t)(out->batch_axes + out->m_axes), axes[RANK_MAX], kept = 0, count = 0;
    uint32_t mask = reduce_axes(reduce, graph_value(g, reduce->operand[0])->type.rank);
    if (reduce->op == OP_ARGMAX || reduce->op == OP_ARGMIN) return false;
    for (uint8_t a = 0; a < view.rank; a++)
        if (!(mask >> a & 1)) axes[kept++] = a;
    count = kept;
    for (uint8_t a = 0; a < view.rank; a++)
        if (mask >> a & 1) axes[count++] = a;
    if (mask & ((1u << lead) - 1)) return false;
    Dim size[2] = {dim_const(g->dims, 1), dim_const(g->dims, 1)};
    for (uint8_t a = lead; a < view.rank; a++)
        size[mask >> a & 1] = dim_mul(g->dims, size[mask >> a & 1], view.size[a]);
    int64_t cells;
    if (!dim_is_const(g->dims, size[1], &cells) || cells < 1 || cells > POOL_CELLS_MAX)
        return false;
    out->cells = (uint32_t)cells, out->windows = size[0];
    if (!view_permute(g->dims, &view, axes, &moved) ||
        !contract_drop_leading(g, &moved, type, lead, &view) ||
        !view_reshape(g->dims, &view, 2, size, &out->cell))
        return false;
    out->scattered = !view_is_identity(g->dims, &out->cell);
    return true;
}

bool contract_part(const Graph *g, ValueId value, ValueId *base, uint32_t *cell) {
    const Node *node = NULL;
    const Type type = graph_value(g, value)->type;
    int64_t start, stop;
    for (;; value = node->operand[0]) {
        NodeId id = graph_value(g, value)->node;
        node = id ? graph_node(g, id) : NULL;
        if (!node || node->kind != NODE_OP || !node->inline_view) return false;
        if (!move_is_reshape(node->op)) break;
    }
    if (node->op != OP_SLICE) return false;
    *base = node->operand[0];
    const Type *from = &graph_value(g, *base)->type;
    if (type.rank + 1u != from->rank) return false;
    for (uint8_t a = 0; a <= type.rank; a++) {
        Dim first = build_attr(node, "starts")->sizes.at[a];
        Dim end = build_attr(node, "stops")->sizes.at[a];
        if (a < type.rank) {
            if (build_attr(node, "steps")->ints.at[a] != 1 || !dim_is(g->dims, first, 0) ||
                end != from->size[a] || type.size[a] != from->size[a])
                return false;
        } else if (!dim_is_const(g->dims, first, &start) || !dim_is_const(g->dims, end, &stop) ||
                   stop != start + 1) {
            return false;
        }
    }
    *cell = (uint32_t)start;
    return true;
}

// Parts of the product that nodes of the body read.
static bool contract_parts(Graph *g, NodeId fused, ContractShape *out) {
    const Region *body = &g->regions.at[graph_node(g, fused)->body];
    const Type *type = &graph_value(g, out->result)->type;
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        for (uint32_t o = 0; o < node->operands && !node->inline_view; o++) {
            ContractPart part = {.value = node->operand[o]};
            ValueId base;
            if (!part.value || !contract_part(g, part.value, &base, &part.cell)) continue;
            if (base == out->result) vec_push(g->arena, &out->parts, part);
        }
    }
    int64_t cells;
    if (!out->parts.len) return true;
    if (!dim_is_const(g->dims, type->size[type->rank - 1], &cells) || cells > CONTRACT_PARTS_MAX)
        return false;
    out->cells = (uint32_t)cells;
    return dim_exact_div(g->dims, out->n, dim_const(g->dims, cells), &out->windows);
}

bool contract_shape(Graph *g, NodeId fused, ContractShape *out) {
    *out = (ContractShape){.cells = 1};
    out->node = fused_find(g, graph_node(g, fused), OC_CONTRACT);
    if (!out->node) return false;
    const Node *node = graph_node(g, out->node);
    out->x = node->operand[0], out->y = node->operand[1], out->result = node->result[0];
    const Type *x = &graph_value(g, out->x)->type, *y = &graph_value(g, out->y)->type;
    out->batch_axes = (uint8_t)build_attr(node, "batch")->i;
    out->k_axes = (uint8_t)build_attr(node, "k")->i;
    out->m_axes = (uint8_t)(x->rank - out->batch_axes - out->k_axes);
    out->n_axes = (uint8_t)(y->rank - out->batch_axes - out->k_axes);
    out->batch = contract_product(g, x, 0, out->batch_axes);
    out->m = contract_product(g, x, out->batch_axes, out->m_axes);
    out->n = contract_product(g, y, out->batch_axes, out->n_axes);
    out->k = contract_product(g, x, (uint8_t)(x->rank - out->k_axes), out->k_axes);
    for (uint8_t a = 0; a < out->n_axes; a++) out->n_size[a] = y->size[out->batch_axes + a];
    out->windows = out->n;
    out->pool = fused_find(g, graph_node(g, fused), OC_REDUCE);
    return out->pool ? contract_pool(g, fused, out) : contract_parts(g, fused, out);
}

// Length of the run of neighbours that an axis of the view starts with.
static double contract_run(const Graph *g, const View *view, uint8_t first, uint8_t count) {
    for (int d = view->digits - 1; d >= 0; d--) {
        if (view->digit[d].axis < first || view->digit[d].axis >= first + count) continue;
        if (dim_is(g->dims, view->digit[d].size, 1)) continue;
        if (!dim_is(g->dims, view->digit[d].stride, 1)) return 0;
        return (double)dim_bounds(g->dims, view->digit[d].size).hi;
    }
    return 0;
}

bool contract_k_fast(const Graph *g, const ContractShape *shape, ValueId operand) {
    ValueId base;
    View view;
    if (!graph_view(g, operand, &base, &view)) return true;
    uint8_t k_first = (uint8_t)(view.rank - shape->k_axes);
    double along_k = contract_run(g, &view, k_first, shape->k_axes);
    uint8_t others = (uint8_t)(k_first - shape->batch_axes);
    return along_k >= contract_run(g, &view, shape->batch_axes, others);
}

bool contract_shared(const Graph *g, const ContractShape *shape, ValueId operand) {
    ValueId base;
    View view;
    if (!graph_view(g, operand, &base, &view) || view.inner || view.guards) return false;
    for (uint8_t d = 0; d < view.digits; d++)
        if (view.digit[d].axis < shape->batch_axes && !dim_is(g->dims, view.digit[d].size, 1) &&
            !dim_is(g->dims, view.digit[d].stride, 0))
            return false;
    return true;
}

bool contract_joins(const Graph *g, const ContractShape *shape) {
    if (shape->pool || dim_is(g->dims, shape->batch, 1) || !contract_shared(g, shape, shape->x))
        return false;
    Dim columns = dim_mul(g->dims, shape->batch, shape->n);
    return columns != DIM_NONE && dim_bounds(g->dims, columns).hi < INT32_MAX / 2;
}

bool contract_in_memory(const Graph *g, const ContractShape *shape, ValueId base) {
    NodeId from = graph_value(g, base)->node;
    const Node *node = graph_node(g, from);
    const Type *type = &graph_value(g, base)->type;
    for (uint8_t a = 0; a < type->rank; a++)
        if (dim_bounds(g->dims, type->size[a]).lo < 1) return false;
    if (!from) return true;
    bool made = node->kind == NODE_OP &&
                (node->op == OP_FULL || node->op == OP_ARANGE || node->op == OP_CONST);
    return !made && node->region != graph_node(g, shape->node)->region;
}

static bool contract_guards(const View *view, int digit) {
    for (uint8_t i = 0; i < view->guards; i++)
        for (uint8_t t = 0; t < view->guard[i].terms; t++)
            if (view->guard[i].term[t].digit == digit) return true;
    return false;
}

int64_t contract_turn(const Graph *g, const ContractShape *shape, ValueId operand) {
    DimTable *dims = g->dims;
    ValueId base;
    View view;
    if (!graph_view(g, operand, &base, &view) || view.inner || !contract_in_memory(g, shape, base))
        return 0;
    int64_t turn = 1, run;
    Dim size = DIM_NONE, stride = DIM_NONE; // of the outermost run of digits so far
    bool guarded = false;
    for (int d = view.digits - 1; d >= 0; d--) {
        const Digit *digit = &view.digit[d];
        if (digit->axis < view.rank - shape->k_axes || dim_is(dims, digit->size, 1)) continue;
        bool own = contract_guards(&view, d);
        if (size != DIM_NONE && !own && !guarded && digit->stride == dim_mul(dims, size, stride)) {
            size = dim_mul(dims, size, digit->size);
            continue;
        }
        if (size != DIM_NONE) {
            if (!dim_is_const(dims, size, &run) || run > 1024 || turn > 1024) return 0;
            turn *= run;
        }
        size = digit->size, stride = digit->stride, guarded = own;
    }
    return size == DIM_NONE || guarded || dim_bounds(dims, stride).lo < 0 ? 0 : turn;
}
