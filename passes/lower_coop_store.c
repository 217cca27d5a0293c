// Sums of form "coop" on their way out. Accumulators have no coordinates: where what follows the
// product needs none, and the tile is whole and lies in memory as rows, fragments are stored as
// they are; else they pass through workgroup memory, some fragments of each subgroup at a time.
// Operands of maps with an element for each sum are read a round ahead, as their latency would
// stand between two barriers.
#include "passes/lower_coop.h"

static KVal store_number(Coop *c, unsigned value) {
    return k_i32(c->l->b, (int32_t)value);
}

// Axes of the sums along which the view's elements differ, a bit each; all where it is not plain.
static unsigned store_varies(const Coop *c, const View *view) {
    unsigned axes = 0;
    if (view->inner || view->guards) return ~0u;
    for (uint8_t d = 0; d < view->digits; d++)
        if (!dim_is(c->l->dims, view->digit[d].size, 1) &&
            !dim_is(c->l->dims, view->digit[d].stride, 0))
            axes |= 1u << view->digit[d].axis;
    return axes;
}

// Whether the operand is one number for all elements.
static bool store_is_uniform(Coop *c, ValueId value) {
    return !store_varies(c, lower_view(c->l, value, &c->sums)->view);
}

// Whether what follows the product is the same function of every element.
static bool store_needs_no_place(Coop *c) {
    Lower *l = c->l;
    const Graph *g = l->graph;
    const Region *body = &g->regions.at[graph_node(g, l->node)->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->inline_view || body->nodes.at[i] == c->shape.contract.node) continue;
        if (op_info(node->op)->class != OC_MAP) return false;
        for (uint32_t o = 0; o < node->operands; o++)
            if (node->operand[o] && !lower_is_inner(l, node->operand[o]) &&
                !store_is_uniform(c, node->operand[o]))
                return false;
    }
    return !l->failed;
}

static bool store_has_accumulator(const Coop *c, DType dtype) {
    if (dtype == c->shape.acc) return true;
    const Target *target = &c->l->plan->target;
    for (uint32_t i = 0; i < target->fragments; i++) {
        const FragmentShape *f = &target->fragment[i];
        if (f->m == c->s->frag_m && f->n == c->s->frag_n && f->acc == dtype) return true;
    }
    return false;
}

static bool store_fits_directly(Coop *c, const ValueList *stores) {
    Lower *l = c->l;
    const ContractShape *shape = &c->shape.contract;
    if (shape->parts.len || stores->len != 1 || fused_is_update(l->graph, stores->at[0]))
        return false;
    DType out = graph_value(l->graph, stores->at[0])->type.dtype;
    DType result = graph_value(l->graph, shape->result)->type.dtype;
    bool floats = dtype_is_float(c->shape.acc);
    if (dtype_is_float(out) != floats || dtype_is_float(result) != floats ||
        !store_has_accumulator(c, out))
        return false;
    Dim area = dim_mul(l->dims, shape->m, shape->n);
    return dim_divides(l->dims, c->s->tile_m, shape->m) &&
           dim_divides(l->dims, c->s->tile_n, shape->n) &&
           dim_divides(l->dims, COOP_MOVE / dtype_bytes(out), shape->n) &&
           dim_bounds(l->dims, area).hi < INT32_MAX && store_needs_no_place(c);
}

// Every component by itself; a device may hold fewer than this, never more.
static KVal store_mapped(Coop *c, ValueId stored, KVal sum) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    unsigned components = c->s->frag_m * c->s->frag_n / c->s->subgroup;
    if (stored == c->shape.contract.result && !l->plan->strict_rounding) return sum;
    KVal out = sum;
    for (unsigned i = 0; i < components; i++) {
        Point point = point_make(&c->sums, 1);
        for (unsigned a = 0; a < 3; a++) point.index[a] = k_i32(b, 0);
        KVal own = contract_result(l, &c->shape.contract, k_frag_extract(b, sum, i));
        point_set(l, &point, c->shape.contract.result, own);
        out = k_frag_insert(b, out, i, lower_to_store(l, stored, &point));
    }
    return out;
}

// Stores fragments as they are into matrix number `matrix` of rows x columns elements. `stored`:
// the value that they become on the way, 0: sums remain sums.
static void store_fragments(Coop *c, KVal pointer, DType dtype, KVal matrix, Dim rows, Dim columns,
                            ValueId stored) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    KVal width = lower_dim(l, columns);
    Dim bytes =
        dim_mul(l->dims, dim_mul(l->dims, rows, columns), dim_const(l->dims, dtype_bytes(dtype)));
    if (!k_is_const(b, matrix, NULL))
        pointer = k_ptr_add(b, pointer, matrix, lower_dim64(l, bytes));
    KVal row = k_iadd(b, c->first_m, c->x.warp), column = k_iadd(b, c->first_n, c->y.warp);
    KVal first = k_iadd(b, k_imul(b, row, width), column);
    for (unsigned i = 0; i < c->down; i++)
        for (unsigned j = 0; j < c->across; j++) {
            KVal value = c->sum[i * c->across + j];
            if (stored) value = store_mapped(c, stored, value);
            if (dtype != c->shape.acc) value = k_frag_convert(b, value, dtype);
            KVal at = k_iadd(b, first, k_imul(b, width, store_number(c, i * c->s->frag_m)));
            k_frag_store(b, pointer, k_iadd(b, at, store_number(c, j * c->s->frag_n)), width,
                         KL_ROW_MAJOR, value);
        }
}

static void store_directly(Coop *c, ValueId stored) {
    Lower *l = c->l;
    const ContractShape *shape = &c->shape.contract;
    DType dtype = graph_value(l->graph, stored)->type.dtype;
    KVal matrix = dim_is(l->dims, shape->batch, 1) ? k_i32(l->b, 0) : c->batch;
    store_fragments(c, lower_buffer(l, stored, K_WRITE), dtype, matrix, shape->m, shape->n, stored);
}

static void store_part(Coop *c) {
    KBuilder *b = c->l->b;
    const ContractSplit *layout = &c->split.layout;
    KVal first = k_imul(b, c->split.part, lower_dim(c->l, c->shape.contract.batch));
    store_fragments(c, c->split.pointer, c->shape.acc, k_iadd(b, first, c->batch), layout->rows,
                    layout->columns, 0);
}

enum {
    STORE_TURNS_MAX = 8, // vectors of an invocation in a round, all in registers
    STORE_READS_MAX = 2
};

typedef struct Staging {
    const CoopSide *side; // whose memory it is in
    unsigned fragments, width, pitch, lanes;
    unsigned round, total; // elements of a subgroup at a time, and in a round of fragments
    unsigned slice;        // words from the sums of one slice to those of the next
    KVal first, own;       // of the subgroup's place in the tile, in the first slice and in its own
    // What else is read element by element, as residuals are, one round ahead of its use.
    ValueId read[STORE_READS_MAX];
    unsigned reads, turns; // turns: vectors of an invocation in a round
} Staging;

// An operand with an element of its own for each row and column.
static bool store_reads_tile(Coop *c, ValueId value) {
    const LowerView *seen = lower_view(c->l, value, &c->sums);
    if (c->l->failed || lower_is_inner(c->l, seen->base)) return false;
    unsigned axes = store_varies(c, seen->view);
    return axes != ~0u && (axes & 6) == 6;
}

static void store_add_read(Coop *c, Staging *st, ValueId value) {
    if (!value || lower_is_inner(c->l, value) || st->reads == STORE_READS_MAX ||
        (st->reads + 1) * st->turns > STORE_TURNS_MAX)
        return;
    for (unsigned i = 0; i < st->reads; i++)
        if (st->read[i] == value) return;
    if (store_reads_tile(c, value)) st->read[st->reads++] = value;
}

static Dim store_elements_of(Coop *c, ValueId value) {
    return type_elements(c->l->dims, &graph_value(c->l->graph, value)->type);
}

// Whole tiles only: an invocation makes the same vectors in every round.
static void store_find_reads(Coop *c, Staging *st) {
    Lower *l = c->l;
    const Graph *g = l->graph;
    const ContractShape *shape = &c->shape.contract;
    const Region *body = &g->regions.at[graph_node(g, l->node)->body];
    if (c->planes || coop_slices(c->s) > 1 || shape->parts.len || c->sums.rank != 3 ||
        st->total % st->round || !dim_divides(l->dims, c->s->tile_m, shape->m) ||
        !dim_divides(l->dims, c->s->tile_n, shape->n))
        return;
    st->turns = st->total / st->round;
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        if (node->inline_view || node->kind != NODE_OP || op_info(node->op)->class != OC_MAP)
            continue;
        if (store_elements_of(c, node->result[0]) != store_elements_of(c, shape->result))
            continue; // in front of the product
        for (uint32_t o = 0; o < node->operands; o++) store_add_read(c, st, node->operand[o]);
    }
}

static Staging store_staging(Coop *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    Staging st = {.side = &c->x};
    if (c->y.tile.words * c->y.tile.buffers > c->x.tile.words * c->x.tile.buffers) st.side = &c->y;
    coop_staging(&c->shape, c->s, &st.fragments);
    st.width = st.fragments * c->s->frag_n, st.pitch = st.width + 4;
    st.lanes = st.side->tile.lanes;
    while (st.lanes > 1 && (!dim_divides(l->dims, st.lanes, c->shape.contract.n) ||
                            st.width * c->s->frag_m % (st.lanes * c->s->subgroup)))
        st.lanes /= 2;
    st.round = st.lanes * c->s->subgroup, st.total = st.width * c->s->frag_m;
    unsigned each = st.pitch * c->s->frag_m;
    st.slice = c->s->local / c->s->subgroup / coop_slices(c->s) * each;
    st.first = k_imul(b, c->warp, store_number(c, each));
    st.own = k_iadd(b, st.first, k_imul(b, c->slice, store_number(c, st.slice)));
    return st;
}

// A vector of sums of all slices, in their order.
static KVal store_sum(Coop *c, const Staging *st, KVal at) {
    KBuilder *b = c->l->b;
    KType word = K_TYPE(KT_I32, (uint8_t)st->lanes);
    bool floats = c->shape.acc == DT_F32;
    KVal sum = 0;
    for (unsigned slice = 0; slice < coop_slices(c->s); slice++) {
        KVal from = k_iadd(b, at, store_number(c, slice * st->slice));
        KVal part = k_shared_load(b, st->side->region, from, word);
        if (floats) part = k_as_f32(b, part);
        sum = !slice ? part : floats ? k_fadd(b, sum, part) : k_iadd(b, sum, part);
    }
    return sum;
}

static KVal store_row(Coop *c, const Staging *st, KVal e) {
    return k_udiv(c->l->b, e, store_number(c, st->width));
}

static KVal store_column(Coop *c, const Staging *st, KVal e) {
    return k_urem(c->l->b, e, store_number(c, st->width));
}

static Point store_point(Coop *c, const Staging *st, KVal e, KVal top, KVal left) {
    KBuilder *b = c->l->b;
    Point point = point_make(&c->sums, (uint8_t)st->lanes);
    point.index[0] = c->batch;
    point.index[1] = k_iadd(b, top, store_row(c, st, e));
    point.index[2] = k_iadd(b, left, store_column(c, st, e));
    return point;
}

// One vector of a staged row, at its point.
static void store_element(Coop *c, const Staging *st, KVal e, Point *point) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const ContractShape *shape = &c->shape.contract;
    KVal row = k_imul(b, store_row(c, st, e), store_number(c, st->pitch));
    KVal at = k_iadd(b, k_iadd(b, st->first, row), store_column(c, st, e));
    KVal sum = store_sum(c, st, at), inside = 0;
    contract_limit(l, point->index[1], shape->m, c->s->tile_m, &inside);
    contract_limit(l, point->index[2], shape->n, c->s->tile_n, &inside);
    if (inside) k_if_begin(b, inside);
    if (c->planes) sum = planes_sum(l, c->planes, point, sum);
    contract_put(l, &c->split, point, sum);
    if (inside) k_if_end(b, 0, NULL, NULL);
}

// What is staged, one vector an invocation at a time; slices take turns.
static void store_elements(Coop *c, const Staging *st, KVal top, KVal left) {
    KBuilder *b = c->l->b;
    unsigned total = st->total, step = st->round * coop_slices(c->s);
    KVal lane = k_imul(b, c->lane, store_number(c, st->lanes));
    KVal own = k_iadd(b, lane, k_imul(b, c->slice, store_number(c, st->round)));
    KVal e = k_loop_begin(b, k_i32(b, 0), store_number(c, total), store_number(c, step),
                          K_LOOP_PLAIN, 0, NULL, NULL);
    e = k_iadd(b, e, own);
    bool ragged = total % step != 0;
    if (ragged) k_if_begin(b, k_slt(b, e, store_number(c, total)));
    Point point = store_point(c, st, e, top, left);
    store_element(c, st, e, &point);
    if (ragged) k_if_end(b, 0, NULL, NULL);
    k_loop_end(b, NULL, NULL);
}

// Where round `number` of the subgroup's fragments begins.
static void store_round(Coop *c, const Staging *st, unsigned number, KVal *top, KVal *left) {
    KBuilder *b = c->l->b;
    unsigned each = c->across / st->fragments, i = number / each, j = number % each;
    unsigned down = i * c->s->frag_m, across = j * st->width;
    *top = k_iadd(b, k_iadd(b, c->first_m, c->x.warp), store_number(c, down));
    *left = k_iadd(b, k_iadd(b, c->first_n, c->y.warp), store_number(c, across));
}

static KVal store_turn(Coop *c, const Staging *st, unsigned turn) {
    KVal lane = k_imul(c->l->b, c->lane, store_number(c, st->lanes));
    return k_iadd(c->l->b, lane, store_number(c, turn * st->round));
}

// The points of a round, with what is read there on its way.
static void store_read_round(Coop *c, const Staging *st, unsigned number, Point *point) {
    KVal top, left;
    store_round(c, st, number, &top, &left);
    for (unsigned turn = 0; turn < st->turns; turn++) {
        point[turn] = store_point(c, st, store_turn(c, st, turn), top, left);
        for (unsigned i = 0; i < st->reads; i++) (void)lower_value(c->l, st->read[i], &point[turn]);
    }
}

static void store_stage(Coop *c, const Staging *st, unsigned number) {
    KBuilder *b = c->l->b;
    unsigned first = number * st->fragments; // rounds go on from one row of fragments to the next
    k_barrier(b);                            // what was there has been read
    for (unsigned f = 0; f < st->fragments; f++)
        k_frag_shared_store(b, st->side->region,
                            k_iadd(b, st->own, store_number(c, f * c->s->frag_n)),
                            store_number(c, st->pitch), KL_ROW_MAJOR, c->sum[first + f]);
    k_barrier(b);
}

static void store_staged(Coop *c) {
    Staging st = store_staging(c);
    unsigned rounds = c->down * (c->across / st.fragments);
    Point ahead[2][STORE_TURNS_MAX];
    store_find_reads(c, &st);
    if (st.reads) store_read_round(c, &st, 0, ahead[0]);
    for (unsigned i = 0; i < rounds; i++) {
        if (st.reads && i + 1 < rounds) store_read_round(c, &st, i + 1, ahead[(i + 1) % 2]);
        store_stage(c, &st, i);
        if (st.reads) {
            for (unsigned turn = 0; turn < st.turns; turn++)
                store_element(c, &st, store_turn(c, &st, turn), &ahead[i % 2][turn]);
        } else {
            KVal top, left;
            store_round(c, &st, i, &top, &left);
            store_elements(c, &st, top, left);
        }
    }
}

void coop_store(Coop *c) {
    const ValueList *stores = &c->split.stores;
    if (c->split.layout.parts > 1)
        store_part(c);
    else if (!c->planes && coop_slices(c->s) == 1 && store_fits_directly(c, stores))
        store_directly(c, stores->at[0]);
    else
        store_staged(c);
}
