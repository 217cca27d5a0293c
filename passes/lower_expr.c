// Values of a fused region at one point: map nodes become scalar code, operands from memory become
// loads through their views, sources become constants.
#include "passes/lower.h"
#include "ir/number.h"
#include "passes/build.h"
#include "passes/lower_shape.h"

#include <string.h>

Space space_of(Lower *l, uint8_t rank, const Dim *shape) {
    (void)l;
    Space space = {.shape_rank = rank, .rank = rank};
    for (uint8_t a = 0; a < rank; a++) {
        space.shape[a] = space.size[a] = shape[a];
        space.axes[a] = a;
    }
    return space;
}

Space space_linear(Lower *l, uint8_t rank, const Dim *shape) {
    Space space = space_of(l, rank, shape);
    space.rank = 1, space.size[0] = dim_const(l->dims, 1);
    for (uint8_t a = 0; a < rank; a++) space.size[0] = dim_mul(l->dims, space.size[0], shape[a]);
    return space;
}

Point point_make(const Space *space, uint8_t lanes) {
    return (Point){.space = space, .lanes = lanes};
}

void point_set(Lower *l, Point *point, ValueId value, KVal known) {
    vec_push(l->arena, &point->known, (Known){value, known});
}

void lower_bind(Lower *l, ValueId value, KVal known) {
    vec_push(l->arena, &l->bound, (Known){value, known});
}

static KVal expr_known(const Lower *l, const Point *point, ValueId value) {
    for (uint32_t i = 0; i < point->known.len; i++)
        if (point->known.at[i].value == value) return point->known.at[i].known;
    for (uint32_t i = 0; i < l->bound.len; i++)
        if (l->bound.at[i].value == value) return l->bound.at[i].known;
    return 0;
}

static Dim expr_elements(Lower *l, uint8_t rank, const Dim *size) {
    Dim product = dim_const(l->dims, 1);
    for (uint8_t a = 0; a < rank; a++) product = dim_mul(l->dims, product, size[a]);
    return product;
}

static bool expr_same_shape(const View *view, uint8_t rank, const Dim *size) {
    bool same = view->rank == rank;
    for (uint8_t a = 0; same && a < rank; a++) same = view->size[a] == size[a];
    return same;
}

// A view of a value's logical shape, as seen in the space.
static bool expr_in_space(Lower *l, View *view, const Space *space) {
    View moved;
    if (expr_elements(l, view->rank, view->size) !=
        expr_elements(l, space->shape_rank, space->shape)) {
        if (!view_broadcast(l->dims, view, space->shape_rank, space->shape, &moved)) return false;
        *view = moved;
    }
    if (space->permuted) {
        if (!expr_same_shape(view, space->shape_rank, space->shape)) { // axes of another split
            if (!view_reshape(l->dims, view, space->shape_rank, space->shape, &moved)) return false;
            *view = moved;
        }
        if (!view_permute(l->dims, view, space->axes, &moved)) return false;
        *view = moved;
    }
    if (expr_same_shape(view, space->rank, space->size)) return true;
    if (!view_reshape(l->dims, view, space->rank, space->size, &moved)) return false;
    *view = moved;
    return true;
}

const LowerView *lower_view(Lower *l, ValueId value, const Space *space) {
    for (uint32_t i = 0; i < l->views.len; i++)
        if (l->views.at[i].value == value && l->views.at[i].space == space) return &l->views.at[i];
    LowerView entry = {.value = value, .space = space};
    entry.view = arena_alloc(l->arena, sizeof *entry.view);
    if (!graph_view(l->graph, value, &entry.base, entry.view) ||
        !expr_in_space(l, entry.view, space)) {
        lower_fail(l, "the view of %s is too complex", graph_value(l->graph, value)->name);
        *entry.view = view_identity(l->dims, space->rank, space->size);
    }
    vec_push(l->arena, &l->views, entry);
    return &l->views.at[l->views.len - 1];
}

// Whether the view reads the base element by element in the space's own order.
static bool expr_is_own(Lower *l, const LowerView *v) {
    if (v->base == v->value) {
        const Type *type = &graph_value(l->graph, v->base)->type;
        return expr_elements(l, type->rank, type->size) ==
               expr_elements(l, v->space->shape_rank, v->space->shape);
    }
    const View *a = v->view, *b = lower_view(l, v->base, v->space)->view;
    if (a->digits != b->digits || a->guards || a->inner || a->offset != b->offset) return false;
    for (uint8_t d = 0; d < a->digits; d++)
        if (a->digit[d].size != b->digit[d].size || a->digit[d].stride != b->digit[d].stride ||
            a->digit[d].axis != b->digit[d].axis)
            return false;
    return true;
}

static KVal expr_pad(Lower *l, const Address *at, KVal value) {
    return at->valid ? k_select(l->b, at->valid, value, at->pad) : value;
}

// Number of the element that the view reads, one lane at a time where lanes differ.
static KVal expr_lanes(Lower *l, const View *view, const Point *point, DType dtype,
                       KVal (*one)(Lower *l, const Address *at, void *user), void *user) {
    KVal lane[4];
    for (unsigned i = 0; i < point->lanes; i++) {
        Point at = *point;
        at.lanes = 1;
        uint8_t last = (uint8_t)(point->space->rank - 1);
        at.index[last] = k_iadd(l->b, point->index[last], k_i32(l->b, (int32_t)i));
        Address address = lower_address(l, view, &at, 0, dtype);
        lane[i] = expr_pad(l, &address, one(l, &address, user));
    }
    return k_vector(l->b, point->lanes, lane);
}

static KVal expr_arange(Lower *l, const Address *at, void *user) {
    const Node *node = user;
    DType dtype = build_attr(node, "dtype")->dtype;
    KVal step = k_i32(l->b, (int32_t)build_attr(node, "step")->i);
    KVal start = lower_dim(l, build_attr(node, "start")->size);
    KVal value = k_iadd(l->b, start, k_imul(l->b, at->index, step));
    return lower_cast(l->b, value, DT_I32, dtype);
}

static KVal expr_scalar_attr(Lower *l, const Attr *attr, DType dtype) {
    if (attr->is_size) return lower_cast(l->b, lower_dim(l, attr->size), DT_I32, dtype);
    return lower_constant(l, dtype, attr->is_float ? attr->f : (double)attr->i);
}

static KVal expr_full(Lower *l, const Node *node, DType dtype, const View *view,
                      const Point *point) {
    KVal value = expr_scalar_attr(l, build_attr(node, "value"), dtype);
    bool guarded = view->guards > 0;
    for (const View *v = view->inner; v; v = v->inner) guarded = guarded || v->guards > 0;
    if (!guarded) return value;
    KVal lane[4];
    for (unsigned i = 0; i < point->lanes; i++) {
        Point at = *point;
        at.lanes = 1;
        uint8_t last = (uint8_t)(point->space->rank - 1);
        at.index[last] = k_iadd(l->b, point->index[last], k_i32(l->b, (int32_t)i));
        Address address = lower_address(l, view, &at, 0, dtype);
        lane[i] = expr_pad(l, &address, value);
    }
    return k_vector(l->b, point->lanes, lane);
}

typedef struct ExprInner {
    ValueId base;
    Space *space;
} ExprInner;

static KVal expr_inner_at(Lower *l, const Address *at, void *user) {
    ExprInner *inner = user;
    Point point = point_make(inner->space, 1);
    KVal zero = k_i32(l->b, 0);
    point.index[0] = at->valid ? k_select(l->b, at->valid, at->index, zero) : at->index;
    return lower_value(l, inner->base, &point);
}

static KVal expr_node(Lower *l, ValueId value, Point *point);

// An inner value through a view: usually the identity, or a value that is the same everywhere.
static KVal expr_inner(Lower *l, const LowerView *v, Point *point) {
    if (expr_is_own(l, v)) {
        KVal known = expr_known(l, point, v->base);
        if (!known) {
            known = expr_node(l, v->base, point);
            point_set(l, point, v->base, known);
        }
        return known;
    }
    for (uint32_t i = 0; i < l->bound.len; i++)
        if (l->bound.at[i].value == v->base) return l->bound.at[i].known;
    const Type *type = &graph_value(l->graph, v->base)->type;
    Space *space = arena_alloc(l->arena, sizeof *space);
    *space = space_linear(l, type->rank, type->size);
    ExprInner inner = {v->base, space};
    return expr_lanes(l, v->view, point, type->dtype, expr_inner_at, &inner);
}

static KVal expr_through(Lower *l, const LowerView *v, Point *point) {
    const Value *base = graph_value(l->graph, v->base);
    const Node *node = graph_node(l->graph, base->node);
    DType dtype = base->type.dtype;
    if (base->node && node->kind == NODE_OP) {
        if (node->op == OP_FULL) return expr_full(l, node, dtype, v->view, point);
        if (node->op == OP_ARANGE)
            return expr_lanes(l, v->view, point, dtype, expr_arange, (void *)(uintptr_t)node);
        if (node->op == OP_CONST && dim_is(l->dims, type_elements(l->dims, &base->type), 1) &&
            v->view->guards == 0 && !v->view->inner)
            return lower_constant(l, dtype, node->decl->const_data[0]);
    }
    if (lower_is_inner(l, v->base)) return expr_inner(l, v, point);
    return lower_load(l, v->base, v->view, point);
}

static KVal expr_map(Lower *l, const Node *node, ValueId value, Point *point) {
    KVal operand[3] = {0};
    DType dtype = DT_NONE;
    const OpInfo *op = op_info(node->op);
    for (uint32_t i = 0; i < node->operands && i < 3; i++) {
        if (!node->operand[i]) continue;
        operand[i] = lower_value(l, node->operand[i], point);
        if (op->operand[i].dtype == OD_SAME && dtype == DT_NONE)
            dtype = graph_value(l->graph, node->operand[i])->type.dtype;
    }
    return lower_scalar(l, node, dtype, graph_value(l->graph, value)->type.dtype, operand);
}

// A move that is a copy: what its view reads.
static KVal expr_copy(Lower *l, ValueId value, Point *point) {
    LowerView v = {.value = value, .space = point->space};
    v.view = arena_alloc(l->arena, sizeof *v.view);
    if (!graph_copy_view(l->graph, value, &v.base, v.view) ||
        !expr_in_space(l, v.view, point->space)) {
        lower_fail(l, "the copy %s is too complex", graph_value(l->graph, value)->name);
        return lower_constant(l, graph_value(l->graph, value)->type.dtype, 0);
    }
    return expr_through(l, &v, point);
}

// An element that other operands point at: read at an index that is inside, 0 where it is not.
static KVal expr_gather_at(Lower *l, const Address *at, void *user) {
    const Node *node = user;
    const Type *result = &graph_value(l->graph, node->result[0])->type;
    bool rows = node->op == OP_EMBEDDING, along = node->op == OP_TAKE_ALONG_AXIS;
    ValueId source = node->operand[rows], pointer = node->operand[!rows];
    const Type *x = &graph_value(l->graph, source)->type;
    const Type *indices = &graph_value(l->graph, pointer)->type;
    uint8_t axis = rows ? 0 : (uint8_t)build_attr(node, "axis")->i;
    Space *pointer_space = arena_alloc(l->arena, sizeof *pointer_space);
    Space *source_space = arena_alloc(l->arena, sizeof *source_space);
    *pointer_space = space_of(l, indices->rank, indices->size);
    *source_space = space_of(l, x->rank, x->size);
    Point from = point_make(pointer_space, 1), to = point_make(source_space, 1);
    KVal own[RANK_MAX], zero = k_i32(l->b, 0);
    KVal element = at->valid ? k_select(l->b, at->valid, at->index, zero) : at->index;
    lower_split(l, element, result->rank, result->size, own);
    for (uint8_t i = 0; i < indices->rank; i++) from.index[i] = own[along ? i : axis + i];
    for (uint8_t i = 0; i < x->rank; i++)
        to.index[i] = own[along || i < axis ? i : i + indices->rank - 1];
    KVal size = lower_dim(l, x->size[axis]), index = lower_value(l, pointer, &from);
    if (!rows) {
        KVal back = k_iadd(l->b, index, size);
        index = k_select(l->b, k_slt(l->b, index, zero), back, index);
    }
    KVal inside = k_ult(l->b, index, size);
    to.index[axis] = k_select(l->b, inside, index, zero);
    KVal value = lower_value(l, source, &to);
    return k_select(l->b, inside, value, lower_constant(l, x->dtype, 0));
}

static KVal expr_node(Lower *l, ValueId value, Point *point) {
    Node *node = graph_node(l->graph, graph_value(l->graph, value)->node);
    const OpInfo *op = op_info(node->op);
    if (node->locs && !node->loc[0].file) k_set_line(l->b, node->loc[0].line);
    if (op->class == OC_MAP) return expr_map(l, node, value, point);
    if (op->class == OC_MOVE) return expr_copy(l, value, point);
    if (op->class == OC_GATHER) {
        DType dtype = graph_value(l->graph, value)->type.dtype;
        return expr_lanes(l, lower_view(l, value, point->space)->view, point, dtype, expr_gather_at,
                          node);
    }
    lower_fail(l, "%s cannot stand in a %s kernel", op->name,
               graph_node(l->graph, l->node)->family);
    return lower_constant(l, graph_value(l->graph, value)->type.dtype, 0);
}

KVal lower_value(Lower *l, ValueId value, Point *point) {
    KVal known = expr_known(l, point, value);
    if (known) return known;
    LowerView v = *lower_view(l, value, point->space);
    known = expr_through(l, &v, point);
    if (v.base != value || !lower_is_inner(l, value)) point_set(l, point, value, known);
    return known;
}

// Where a result lies, as what is computed for it has its elements: the value `*source`.
static bool expr_store_view(Lower *l, ValueId result, ValueId *source, View *view) {
    const Node *node = graph_node(l->graph, graph_value(l->graph, result)->node);
    bool update = fused_is_update(l->graph, result);
    bool moves = node->kind == NODE_OP && (update || op_info(node->op)->class == OC_MOVE);
    if (moves && graph_store_view(l->graph, result, source, view) && !view->inner &&
        lower_is_inner(l, *source))
        return true;
    const Type *type = &graph_value(l->graph, result)->type;
    *view = view_identity(l->dims, type->rank, type->size);
    *source = update ? node->operand[1] : result;
    return !update || graph_update_view(l->graph, result, view);
}

static const View *expr_store(Lower *l, ValueId result, const Space *space) {
    for (uint32_t i = 0; i < l->views.len; i++)
        if (l->views.at[i].value == result && l->views.at[i].space == space && l->views.at[i].store)
            return l->views.at[i].view;
    LowerView entry = {.value = result, .store = true, .space = space, .base = result};
    entry.view = arena_alloc(l->arena, sizeof *entry.view);
    ValueId source;
    if (!expr_store_view(l, result, &source, entry.view) || !expr_in_space(l, entry.view, space)) {
        lower_fail(l, "the layout of %s is too complex", graph_value(l->graph, result)->name);
        return NULL;
    }
    vec_push(l->arena, &l->views, entry);
    return entry.view;
}

ValueId lower_stored(Lower *l, ValueId result) {
    ValueId source;
    View view;
    (void)expr_store_view(l, result, &source, &view);
    return source;
}

// A number that the dtype holds exactly.
static bool expr_is_exact(const Lower *l, ValueId value, DType dtype) {
    const Graph *g = l->graph;
    const Node *node = graph_node(g, graph_value(g, value)->node);
    if (!graph_is_literal(g, value) || build_attr(node, "value")->is_size) return false;
    const Attr *attr = build_attr(node, "value");
    double number = attr->is_float ? attr->f : (double)attr->i;
    return number_cast(dtype, number) == number;
}

// Whether rounding before the map is rounding behind it.
static bool expr_lets_round(const Lower *l, const Node *node, DType dtype) {
    if (node->op == OP_RELU || node->op == OP_NEGATIVE || node->op == OP_ABS) return true;
    if (node->op != OP_CLIP && node->op != OP_MAXIMUM && node->op != OP_MINIMUM) return false;
    for (uint32_t i = 1; i < node->operands; i++)
        if (node->operand[i] && !expr_is_exact(l, node->operand[i], dtype)) return false;
    return true;
}

// The node of a map that is computed in the kernel, where its value is used as it is.
static const Node *expr_map_of(const Lower *l, ValueId value) {
    if (!lower_is_inner(l, value)) return NULL;
    const Node *node = graph_node(l->graph, graph_value(l->graph, value)->node);
    return node->kind == NODE_OP && op_info(node->op)->class == OC_MAP ? node : NULL;
}

KVal lower_to_store(Lower *l, ValueId value, Point *point) {
    DType dtype = graph_value(l->graph, value)->type.dtype;
    const Node *chain[8], *node;
    uint32_t count = 0;
    ValueId at = value;
    bool rounds = dtype == DT_F16 || dtype == DT_BF16;
    while (rounds && count < 8 && (node = expr_map_of(l, at)) && node->op != OP_CAST &&
           !l->plan->strict_rounding && expr_lets_round(l, node, dtype)) {
        chain[count++] = node;
        at = node->operand[0];
    }
    node = rounds ? expr_map_of(l, at) : NULL;
    if (!node || node->op != OP_CAST) return lower_value(l, value, point);
    if (graph_value(l->graph, node->operand[0])->type.dtype != DT_F32)
        return lower_value(l, value, point);
    KVal result = lower_value(l, node->operand[0], point);
    while (count-- > 0) {
        KVal operand[3] = {result};
        for (uint32_t i = 1; i < chain[count]->operands && i < 3; i++)
            if (chain[count]->operand[i])
                operand[i] = lower_value(l, chain[count]->operand[i], point);
        result = lower_scalar(l, chain[count], dtype, dtype, operand);
    }
    return result;
}

void lower_result(Lower *l, ValueId result, Point *point) {
    const View *view = expr_store(l, result, point->space);
    KVal value = lower_to_store(l, lower_stored(l, result), point);
    if (!l->failed) lower_store(l, result, view, point, value);
}
