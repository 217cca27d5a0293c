#include "passes/coop_shape.h"

#include "passes/build.h"

enum { COOP_DEEP_ROWS = 128 };

// The operand's view as [batch, slow, fast].
static bool coop_view(Graph *g, const ContractShape *shape, CoopOperand *o) {
    View view, moved;
    if (!graph_view(g, o->value, &o->base, &view)) return false;
    uint8_t axes[RANK_MAX], at = shape->batch_axes;
    if (!o->k_fast) {
        for (uint8_t a = 0; a < view.rank; a++) axes[a] = a;
        for (uint8_t a = 0; a < shape->k_axes; a++)
            axes[at++] = (uint8_t)(shape->batch_axes + o->others + a);
        for (uint8_t a = 0; a < o->others; a++) axes[at++] = (uint8_t)(shape->batch_axes + a);
        if (!view_permute(g->dims, &view, axes, &moved)) return false;
        view = moved;
    }
    Dim size[3] = {shape->batch, o->k_fast ? o->rows : shape->k, o->k_fast ? shape->k : o->rows};
    return view_reshape(g->dims, &view, 3, size, &o->view);
}

// The view with `unit` neighbours along the last axis for one element.
static bool coop_moves(Graph *g, const View *view, unsigned unit, View *out) {
    DimTable *dims = g->dims;
    Dim by = dim_const(dims, unit), size;
    if (view->inner || !view_is_vectorizable(dims, view, unit) ||
        !dim_exact_div(dims, view->size[2], by, &size))
        return false;
    *out = *view;
    out->size[2] = size;
    int fast = view->digits - 1;
    while (fast >= 0 && dim_is(dims, view->digit[fast].size, 1)) fast--;
    if (fast < 0 || view->digit[fast].axis != 2 || !dim_is(dims, view->digit[fast].stride, 1))
        return false;
    for (uint8_t i = 0; i < view->guards; i++)
        for (uint8_t t = 0; t < view->guard[i].terms; t++)
            if (view->guard[i].term[t].digit == fast) return false;
    for (int d = 0; d < view->digits; d++) {
        Digit *digit = &out->digit[d];
        if (dim_is(dims, digit->size, 1) || dim_is(dims, digit->stride, 0)) continue;
        Dim *divided = d == fast ? &digit->size : &digit->stride;
        if (!dim_exact_div(dims, *divided, by, divided)) return false;
    }
    return dim_is(dims, view->offset, 0) || dim_exact_div(dims, view->offset, by, &out->offset);
}

// Whether one digit alone is the K axis, so that an address grows evenly with k.
static bool coop_linear(Graph *g, const CoopOperand *o, Dim *k_bytes) {
    const View *view = &o->view;
    int found = -1;
    for (int d = 0; d < view->digits; d++) {
        if (view->digit[d].axis != (o->k_fast ? 2 : 1) || dim_is(g->dims, view->digit[d].size, 1))
            continue;
        if (found >= 0) return false;
        found = d;
    }
    if (found < 0 || view->inner) return false;
    for (uint8_t i = 0; i < view->guards; i++)
        for (uint8_t t = 0; t < view->guard[i].terms; t++)
            if (view->guard[i].term[t].digit == found) return false;
    Dim stride = view->digit[found].stride;
    *k_bytes = dim_mul(g->dims, stride, dim_const(g->dims, dtype_bytes(o->dtype)));
    return *k_bytes != DIM_NONE && dim_bounds(g->dims, stride).lo >= 0;
}

static bool coop_guarded(const View *view) {
    for (; view; view = view->inner)
        if (view->guards) return true;
    return false;
}

unsigned coop_unit(const CoopOperand *operand) {
    return COOP_MOVE / (operand->planes ? 2 : dtype_bytes(operand->dtype));
}

bool coop_operand_reads(Graph *g, NodeId fused, CoopOperand *o) {
    NodeId from = graph_value(g, o->base)->node;
    const Node *node = graph_node(g, from);
    bool inner = from && node->region == graph_node(g, fused)->body;
    bool made = from && node->kind == NODE_OP && (node->op == OP_FULL || node->op == OP_ARANGE);
    o->in_memory = !inner && !made;
    if (!o->in_memory) return true;
    const Type *base = &graph_value(g, o->base)->type;
    if (base->dtype != o->dtype) return false;
    // Moves are counted in words, in 31 bits; guarded elements are not worth more care.
    unsigned unit = coop_unit(o);
    int64_t most = dim_bounds(g->dims, type_elements(g->dims, base)).hi;
    o->vector = most / unit < INT32_MAX / (unit * dtype_bytes(o->dtype) / 4) &&
                coop_moves(g, &o->view, unit, &o->moves);
    o->linear = o->vector && coop_linear(g, o, &o->k_bytes);
    int64_t limit = INT32_MAX / dtype_bytes(o->dtype);
    return o->vector || !coop_guarded(&o->view) || most < limit;
}

bool coop_moves_whole(const CoopOperand *o) {
    return o->in_memory && o->vector && o->moves.guards == 0;
}

static bool coop_operand_as(Graph *g, NodeId fused, const ContractShape *shape, bool columns,
                            bool planes, CoopOperand *o) {
    *o =
        (CoopOperand){.value = columns ? shape->y : shape->x, .columns = columns, .planes = planes};
    const Type *type = &graph_value(g, o->value)->type;
    o->dtype = type->dtype;
    o->others = columns ? shape->n_axes : shape->m_axes;
    o->rows = columns ? shape->n : shape->m;
    o->k_fast = contract_k_fast(g, shape, o->value);
    return coop_view(g, shape, o) && coop_operand_reads(g, fused, o);
}

bool coop_operand(Graph *g, NodeId fused, const ContractShape *shape, bool columns,
                  CoopOperand *o) {
    return coop_operand_as(g, fused, shape, columns, false, o);
}

bool coop_shape_planes(Graph *g, NodeId fused, CoopShape *out) {
    ContractShape *shape = &out->contract;
    if (!contract_shape(g, fused, shape) || shape->pool) return false;
    out->ab = DT_F16, out->acc = DT_F32;
    return graph_value(g, shape->x)->type.dtype == DT_F32 &&
           graph_value(g, shape->y)->type.dtype == DT_F32 &&
           dim_bounds(g->dims, shape->k).lo >= 1 &&
           coop_operand_as(g, fused, shape, false, true, &out->x) &&
           coop_operand_as(g, fused, shape, true, true, &out->y);
}

bool coop_shape(Graph *g, NodeId fused, CoopShape *out) {
    ContractShape *shape = &out->contract;
    if (!contract_shape(g, fused, shape) || shape->pool) return false;
    out->ab = graph_value(g, shape->x)->type.dtype;
    if (graph_value(g, shape->y)->type.dtype != out->ab) return false;
    if (out->ab != DT_F16 && out->ab != DT_BF16 && out->ab != DT_I8 && out->ab != DT_U8)
        return false;
    out->acc = dtype_is_float(out->ab) ? DT_F32 : DT_I32;
    if (dim_bounds(g->dims, shape->k).lo < 1) return false; // there is a first element to read
    return coop_operand(g, fused, shape, false, &out->x) &&
           coop_operand(g, fused, shape, true, &out->y);
}

static unsigned coop_smaller(unsigned a, unsigned b) {
    return a < b ? a : b;
}

unsigned coop_ahead(const Schedule *s) {
    return s->ahead ? s->ahead : 1;
}

unsigned coop_slices(const Schedule *s) {
    return s->slices ? s->slices : 1;
}

unsigned coop_span(const Schedule *s) {
    return s->tile_k * (s->stages > 1 ? s->unroll : coop_ahead(s));
}

unsigned coop_stretch(const Schedule *s) {
    return coop_span(s) * (s->stagger > 1 ? s->stagger : 1);
}

unsigned coop_deep(const CoopShape *shape, const Schedule *s) {
    unsigned deep = s->tile_k / s->frag_k / coop_slices(s);
    return shape->x.planes ? 2 * deep : deep;
}

CoopTile coop_tile(const CoopOperand *operand, const Schedule *s) {
    unsigned bytes = COOP_MOVE / coop_unit(operand); // of an element in workgroup memory
    CoopTile t = {.rows = operand->columns ? s->tile_n : s->tile_m, .depth = s->tile_k};
    t.parts = 1, t.buffers = s->stages > 1 ? 2 : 1;
    // Rows along K are fetched 64 bytes at a time where a step is shorter and they are not too
    // many.
    bool few = t.rows <= COOP_DEEP_ROWS;
    if (t.buffers == 2 && operand->k_fast && few && !operand->planes && s->tile_k * bytes <= 32)
        t.parts = 2;
    t.depth *= t.parts;
    unsigned deep = operand->planes ? 2 * t.depth : t.depth;
    t.lines = operand->k_fast ? t.rows : deep;
    t.line = (operand->k_fast ? deep : t.rows) * bytes / COOP_MOVE;
    t.pitch = (t.line | 1) * 4;
    if (operand->planes) t.low = operand->k_fast ? t.line / 2 * 4 : t.depth * t.pitch;
    t.words = t.lines * t.pitch;
    unsigned fragment = operand->columns ? s->frag_n : s->frag_m;
    t.lanes = coop_smaller((operand->k_fast ? s->frag_k : fragment) * bytes / 4, 4);
    return t;
}

uint32_t coop_staging(const CoopShape *shape, const Schedule *s, unsigned *fragments) {
    unsigned warps = s->local / s->subgroup, across = s->warp_n / s->frag_n;
    CoopTile x = coop_tile(&shape->x, s), y = coop_tile(&shape->y, s);
    unsigned room = x.words * x.buffers;
    if (room < y.words * y.buffers) room = y.words * y.buffers;
    while (across > 1 &&
           (s->warp_n / s->frag_n % across || warps * s->frag_m * (across * s->frag_n + 4) > room))
        across--;
    *fragments = across;
    return warps * s->frag_m * (across * s->frag_n + 4);
}

uint32_t coop_shared_bytes(const CoopShape *shape, const Schedule *s) {
    CoopTile x = coop_tile(&shape->x, s), y = coop_tile(&shape->y, s);
    unsigned fragments, words_x = x.words * x.buffers, words_y = y.words * y.buffers;
    unsigned staging = coop_staging(shape, s, &fragments);
    unsigned *larger = words_x >= words_y ? &words_x : &words_y;
    if (*larger < staging) *larger = staging;
    return (words_x + words_y) * 4;
}

bool coop_may_stagger(DimTable *dims, const CoopShape *shape, const Schedule *s) {
    if (s->stagger <= 1) return true;
    unsigned stretch = coop_stretch(s), parts = s->split_k > 1 ? s->split_k : 1;
    return s->stagger <= COOP_STAGGER_MAX && !(stretch & (stretch - 1)) && shape->x.vector &&
           shape->y.vector && dim_divides(dims, (int64_t)stretch * parts, shape->contract.k);
}

static bool coop_has_fragment(const Target *target, const CoopShape *shape, const Schedule *s) {
    for (uint32_t i = 0; i < target->fragments; i++) {
        const FragmentShape *f = &target->fragment[i];
        if (f->m == s->frag_m && f->n == s->frag_n && f->k == s->frag_k && f->ab == shape->ab &&
            f->acc == shape->acc)
            return true;
    }
    return false;
}

static bool coop_fits_side(const CoopOperand *o, const Schedule *s) {
    CoopTile t = coop_tile(o, s);
    unsigned fast = o->k_fast ? t.depth : t.rows;
    unsigned moves = t.lines * t.line / t.parts;
    return fast % coop_unit(o) == 0 && t.lines % t.parts == 0 && moves <= 16 * s->local;
}

const char *coop_refuses(const CoopShape *shape, const Schedule *s, const Target *target) {
    if (!s->frag_m || !s->frag_n || !s->frag_k || !coop_has_fragment(target, shape, s))
        return "the target lists no such fragment";
    if (!s->subgroup || s->subgroup < target->subgroup_min || s->subgroup > target->subgroup_max)
        return "subgroup must be one that the target can require";
    if (!s->warp_m || !s->warp_n || s->warp_m % s->frag_m || s->warp_n % s->frag_n)
        return "warp must be a multiple of frag";
    unsigned fragments = s->warp_m / s->frag_m * (s->warp_n / s->frag_n);
    if (fragments > 64) return "a subgroup keeps at most 64 fragments of sums";
    if (!s->tile_m || !s->tile_n || s->tile_m % s->warp_m || s->tile_n % s->warp_n ||
        s->tile_m / s->warp_m * (s->tile_n / s->warp_n) * coop_slices(s) * s->subgroup != s->local)
        return "local must be subgroup times tile / warp, times slices";
    if (s->local > target->max_invocations || s->local > target->max_local_x)
        return "local is more than the target allows";
    unsigned deep = coop_slices(s) * s->frag_k; // of all slices together
    if (!s->tile_k || s->tile_k % deep || s->tile_k > 8 * deep)
        return "tile_k must be at most 8 times frag_k, in each slice";
    if (s->slices > 1 && shape->x.planes) return "slices are not of planes";
    if (s->slices > 1 && (s->stages != 1 || s->split_k > 1))
        return "slices are of one stage and all of K";
    if (s->stages != 1 && s->stages != 2) return "stages must be 1 or 2";
    if (s->stages == 2 && (!s->unroll || s->unroll % 4 || s->unroll > 64))
        return "with two stages unroll must be a multiple of 4 and at most 64";
    if (s->ahead > COOP_AHEAD_MAX || (s->stages == 2 && 4 % coop_ahead(s)))
        return "loads run at most 4 steps ahead, with two stages 1, 2 or 4";
    if (!coop_fits_side(&shape->x, s) || !coop_fits_side(&shape->y, s))
        return "a line of its tiles is not a whole number of 16-byte moves";
    if (coop_shared_bytes(shape, s) > target->shared_bytes)
        return "its tiles need more workgroup memory than the target has";
    return NULL;
}
