// Operands of form "simt": from memory to workgroup memory to registers.
//
// Operands are read through their views (and maps before them), so that convolution is this program
// with an unfolded view. Rows and columns past the end repeat the last one and are not stored; past
// the end of K operands are 0.
#include "passes/lower_simt.h"

static KVal side_number(Simt *c, unsigned value) {
    return k_i32(c->l->b, (int32_t)value);
}

// ---- workgroup memory --------------------------------------------------------------------------

// Invocations that store next to each other hold 32 / (tile_k / vec) elements of a row each time,
// then go on `vec` rows below: those rows begin that many banks further on.
SimtRows simt_rows(unsigned tile, unsigned tile_k, unsigned vec, unsigned lanes) {
    SimtRows rows = {.pitch = tile, .run = vec ? vec : tile_k};
    unsigned across = vec ? tile_k / vec : 1, banks = 32;
    while (banks > 4 && banks * across > 32) banks /= 2;
    if (across > 1) {
        unsigned odd = rows.run * rows.pitch % (2 * banks);
        rows.extra = odd <= banks ? banks - odd : 3 * banks - odd;
    }
    rows.extra = (rows.extra + lanes - 1) / lanes * lanes;
    rows.words = (tile_k - 1) * rows.pitch + (tile_k - 1) / rows.run * rows.extra + tile;
    return rows;
}

static unsigned rows_most(unsigned tile, unsigned tile_k) {
    unsigned most = 0;
    for (unsigned vec = 0; vec <= 4; vec = vec ? 2 * vec : 1) {
        unsigned words = simt_rows(tile, tile_k, vec, 4).words;
        if (words > most && (!vec || tile_k % vec == 0)) most = words;
    }
    return most;
}

unsigned simt_words_most(const Schedule *s) {
    unsigned words = rows_most(s->tile_m, s->tile_k) + rows_most(s->tile_n, s->tile_k) + 6;
    return words * (s->stages > 1 ? 2 : 1);
}

// ---- what a slot reads -------------------------------------------------------------------------

static Space side_space(Simt *c, const SimtSide *side) {
    Lower *l = c->l;
    const Type *type = &graph_value(l->graph, side->value)->type;
    const ContractShape *shape = &c->shape;
    Space space = space_of(l, type->rank, type->size);
    bool split = side->columns && shape->scattered;
    uint8_t others = (uint8_t)(type->rank - shape->batch_axes - shape->k_axes);
    if (!split) return contract_operand_space(l, shape, side->value, side->columns, side->k_last);
    // [batch, N axes .., K]
    space.rank = (uint8_t)(2 + others);
    space.size[0] = shape->batch;
    for (uint8_t a = 0; a < others; a++) space.size[1 + a] = shape->n_size[a];
    space.size[1 + others] = shape->k;
    return space;
}

static uint8_t side_k_axis(const SimtSide *side) {
    return side->k_last ? (uint8_t)(side->space.rank - 1) : 1;
}

// The widest vectors that divide the tile, the operand and its memory along the fast axis.
static unsigned side_vec(Simt *c, const SimtSide *side) {
    Lower *l = c->l;
    bool split = side->columns && c->shape.scattered;
    Dim fast = side->k_fast ? c->shape.k : side->columns ? c->shape.n : c->shape.m;
    unsigned tile = side->k_fast ? c->s->tile_k : side->tile;
    unsigned vec = c->s->vec ? c->s->vec : 1;
    if (split && !side->k_fast) return 1;
    const LowerView *view = lower_view(l, side->value, &side->space);
    while (vec > 1 && (tile % vec || !dim_divides(l->dims, vec, fast) ||
                       !view_is_vectorizable(l->dims, view->view, vec)))
        vec /= 2;
    return vec;
}

static void side_slot(Simt *c, SimtSide *side, unsigned slot) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    unsigned total = side->tile * c->s->tile_k / side->vec, local = c->s->local;
    unsigned fast_size = (side->k_fast ? c->s->tile_k : side->tile) / side->vec;
    bool rows = local % fast_size == 0; // slots then differ by whole rows
    KVal e = rows ? c->id : k_iadd(b, c->id, side_number(c, slot * local));
    if ((slot + 1) * local > total) {
        unsigned most = rows ? total - slot * local : total;
        side->inside[slot] = k_slt(b, e, side_number(c, most));
        e = k_smin(b, e, side_number(c, most - 1));
    }
    KVal width = side_number(c, fast_size), vec = side_number(c, side->vec);
    KVal fast = k_imul(b, k_urem(b, e, width), vec), slow = k_udiv(b, e, width);
    if (rows) slow = k_iadd(b, slow, side_number(c, slot * local / fast_size));
    KVal k = side->k_fast ? fast : slow, other = side->k_fast ? slow : fast;
    side->k[slot] = k;
    KVal row = k_imul(b, k, side_number(c, side->rows.pitch));
    KVal extra = k_udiv(b, k, side_number(c, side->rows.run));
    row = k_iadd(b, row, k_imul(b, extra, side_number(c, side->rows.extra)));
    side->store[slot] = k_iadd(b, row, other);
    Dim extent = side->columns ? c->columns : c->shape.m;
    KVal at = k_iadd(b, side->columns ? c->first_n : c->first_m, other);
    if (!dim_divides(l->dims, side->tile, extent)) {
        unsigned width_at = side->k_fast ? 1 : side->vec;
        Dim last = dim_sub(l->dims, extent, dim_const(l->dims, width_at));
        at = k_smin(b, at, lower_dim(l, last));
    }
    side->batch[slot] = c->joined ? side_number(c, 0) : c->batch;
    if (c->joined && side->columns) {
        KVal own = lower_dim(l, c->shape.n);
        side->batch[slot] = k_udiv(b, at, own), at = k_urem(b, at, own);
    }
    side->places = 1, side->place[slot][0] = at;
    if (side->columns && c->shape.scattered) {
        Address address;
        KVal cells = side_number(c, c->shape.cells);
        side->places = contract_column(l, &c->shape, k_udiv(b, at, cells), k_urem(b, at, cells),
                                       side->place[slot], &address);
    }
}

static Point side_point(const SimtSide *side, unsigned slot, KVal k) {
    Point point = point_make(&side->space, (uint8_t)side->vec);
    point.index[0] = side->batch[slot];
    point.index[side_k_axis(side)] = k;
    uint8_t at = side->k_last ? 1 : 2;
    for (uint8_t p = 0; p < side->places; p++) point.index[at + p] = side->place[slot][p];
    return point;
}

// ---- tiles that lie evenly ---------------------------------------------------------------------

static bool side_in_memory(Simt *c, ValueId base) {
    Lower *l = c->l;
    NodeId from = graph_value(l->graph, base)->node;
    const Node *node = graph_node(l->graph, from);
    if (lower_is_inner(l, base)) return false;
    bool made = from && node->kind == NODE_OP &&
                (node->op == OP_FULL || node->op == OP_ARANGE || node->op == OP_CONST);
    const Type *type = &graph_value(l->graph, base)->type;
    for (uint8_t a = 0; a < type->rank; a++)
        if (dim_bounds(l->dims, type->size[a]).lo < 1) return false;
    return !made && ktype_of_memory(type->dtype, 1).kind != KT_NONE;
}

// Whether a tile holds whole turns of all digits of K but the outermost, which no guard asks for.
// Then side->near is the view of one tile, and side->step how far the next one is.
static bool side_tiles_even(Simt *c, SimtSide *side) {
    Lower *l = c->l;
    const LowerView *seen = lower_view(l, side->value, &side->space);
    const View *view = seen->view;
    int outer = -1;
    int64_t turn = 1, size;
    side->base = seen->base;
    if (view->inner || !side_in_memory(c, seen->base)) return false;
    for (int d = view->digits - 1; d >= 0; d--) {
        if (view->digit[d].axis != side_k_axis(side) || dim_is(l->dims, view->digit[d].size, 1))
            continue;
        if (outer >= 0) { // not the outermost
            if (!dim_is_const(l->dims, view->digit[outer].size, &size)) return false;
            turn *= size;
            if (turn > c->s->tile_k) return false;
        }
        outer = d;
    }
    if (outer < 0 || c->s->tile_k % turn) return false;
    for (uint8_t i = 0; i < view->guards; i++)
        for (uint8_t t = 0; t < view->guard[i].terms; t++)
            if (view->guard[i].term[t].digit == outer) return false;
    Dim stride = view->digit[outer].stride;
    if (dim_bounds(l->dims, stride).lo < 0) return false;
    unsigned bytes = dtype_bytes(graph_value(l->graph, seen->base)->type.dtype);
    int64_t turns = c->s->tile_k / turn;
    side->step = dim_mul(l->dims, stride, dim_const(l->dims, turns * bytes));
    side->near = *view;
    side->near.digit[outer].size = dim_const(l->dims, turns);
    return side->step != DIM_NONE;
}

// Finds the place of every slot, unless some can only be found anew for each tile.
static bool side_places(Simt *c, SimtSide *side) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    DType dtype = graph_value(l->graph, side->base)->type.dtype;
    unsigned bytes = dtype_bytes(dtype), wide = bytes * side->vec;
    side->pointer = lower_buffer(l, side->base, K_READ);
    for (unsigned i = 0; i < side->slots; i++) {
        Point point = side_point(side, i, side->k[i]);
        Address *at = &side->at[i];
        *at = lower_address(l, &side->near, &point, side->pointer, dtype);
        bool far = at->pointer != side->pointer; // a place outside is then no place at all
        if (far && (at->valid || !c->whole)) return false;
        if (side->vec > 1 && (!at->vector || lower_align(l, at, bytes, side->vec) < wide ||
                              !dim_divides(l->dims, wide, side->step)))
            return false;
        if (at->valid) at->index = k_select(b, at->valid, at->index, k_i32(b, 0));
    }
    return true;
}

bool simt_side_begin(Simt *c, SimtSide *side, ValueId value, bool columns) {
    Lower *l = c->l;
    side->value = value, side->columns = columns;
    side->tile = columns ? c->s->tile_n : c->s->tile_m;
    side->k_fast = contract_k_fast(l->graph, &c->shape, value);
    side->k_last = side->k_fast || (columns && c->shape.scattered);
    side->space = side_space(c, side);
    side->vec = side_vec(c, side);
    side->lanes = columns ? c->lanes_n : c->lanes_m;
    side->rows = simt_rows(side->tile, c->s->tile_k, side->k_fast ? side->vec : 0, side->lanes);
    unsigned total = side->tile * c->s->tile_k / side->vec, stages = c->s->stages > 1 ? 2 : 1;
    side->slots = (total + c->s->local - 1) / c->s->local;
    if (side->slots > SIMT_SLOTS_MAX) {
        lower_fail(l, "a tile of %ux%u is too large for %u invocations", side->tile, c->s->tile_k,
                   c->s->local);
        return false;
    }
    side->rows.words = (side->rows.words + side->lanes - 1) / side->lanes * side->lanes;
    side->region = k_shared(l->b, columns ? "tile_y" : "tile_x", c->is_float ? DT_F32 : DT_I32,
                            side->lanes, side->rows.words * stages / side->lanes);
    for (unsigned i = 0; i < side->slots; i++) side_slot(c, side, i);
    side->even = side_tiles_even(c, side) && side_places(c, side);
    return true;
}

// ---- moving ------------------------------------------------------------------------------------

// The tile itself, or the last one: where tiles are fetched ahead the end comes too early.
static KVal side_near(Simt *c, KVal tile) {
    Lower *l = c->l;
    if (c->s->stages <= 1) return tile;
    Dim last = dim_sub(l->dims, c->tiles, dim_const(l->dims, 1));
    return k_smin(l->b, tile, lower_dim(l, last));
}

// Zero for a slot past the end of K.
static KVal side_zero(Simt *c, const SimtSide *side, KVal inside, KVal value) {
    KBuilder *b = c->l->b;
    if (k_type(b, value).lanes != side->vec) value = k_splat(b, value, side->vec);
    return inside ? k_select(b, inside, value, c->is_float ? k_f32(b, 0) : k_i32(b, 0)) : value;
}

static KVal side_load(Simt *c, const SimtSide *side, unsigned slot, KVal near, KVal pointer,
                      KVal inside) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const Address *at = &side->at[slot];
    DType dtype = graph_value(l->graph, side->base)->type.dtype;
    unsigned bytes = dtype_bytes(dtype);
    if (at->pointer != side->pointer)
        pointer = k_ptr_add(b, at->pointer, near, lower_dim64(l, side->step));
    KVal index = inside ? k_select(b, inside, at->index, k_i32(b, 0)) : at->index;
    KVal value = k_load(b, pointer, index, dtype, side->vec, bytes * side->vec);
    if (at->valid) value = k_select(b, at->valid, value, at->pad);
    return side_zero(c, side, inside, value);
}

void simt_side_fetch(Simt *c, SimtSide *side, KVal tile, KVal *out) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    KVal near = side_near(c, tile), pointer = side->pointer, depth = side_number(c, c->s->tile_k);
    KVal first = k_imul(b, tile, depth), k0 = k_imul(b, near, depth);
    if (side->even) pointer = k_ptr_add(b, side->pointer, near, lower_dim64(l, side->step));
    for (unsigned i = 0; i < side->slots; i++) {
        KVal k = k_iadd(b, k0, side->k[i]), inside = 0;
        if (!c->whole) inside = k_slt(b, k_iadd(b, first, side->k[i]), lower_dim(l, c->shape.k));
        if (side->even) {
            out[i] = side_load(c, side, i, near, pointer, inside);
            continue;
        }
        if (inside) {
            unsigned width = side->k_fast ? side->vec : 1;
            Dim last = dim_sub(l->dims, c->shape.k, dim_const(l->dims, width));
            k = k_smin(b, k, lower_dim(l, last));
        }
        Point point = side_point(side, i, k);
        out[i] = side_zero(c, side, inside, lower_value(l, side->value, &point));
    }
}

void simt_side_put(Simt *c, SimtSide *side, unsigned stage, const KVal *fetched) {
    KBuilder *b = c->l->b;
    KVal first = side_number(c, stage * side->rows.words);
    for (unsigned i = 0; i < side->slots; i++) {
        KVal place = k_iadd(b, side->store[i], first);
        if (side->inside[i]) k_if_begin(b, side->inside[i]);
        if (side->vec == 1 || (!side->k_fast && side->vec == side->lanes)) {
            k_shared_store(b, side->region, place, fetched[i]);
        } else {
            unsigned step = side->k_fast ? side->rows.pitch : 1;
            for (unsigned v = 0; v < side->vec; v++) {
                KVal at = k_iadd(b, place, side_number(c, v * step));
                k_shared_store(b, side->region, at, k_extract(b, fetched[i], v));
            }
        }
        if (side->inside[i]) k_if_end(b, 0, NULL, NULL);
    }
}

void simt_side_take(Simt *c, const SimtSide *side, unsigned stage, KVal kk, unsigned step,
                    unsigned plus, KVal *out) {
    KBuilder *b = c->l->b;
    const SimtRows *rows = &side->rows;
    unsigned first = stage * rows->words, count = side->columns ? c->s->reg_n : c->s->reg_m;
    unsigned group = side->columns ? c->group_n : c->group_m;
    KVal row;
    if (step % rows->run == 0) {
        unsigned far = step * rows->pitch + step / rows->run * rows->extra;
        row = k_imul(b, k_udiv(b, kk, side_number(c, step)), side_number(c, far));
        first += plus * rows->pitch + plus / rows->run * rows->extra;
    } else {
        KVal k = k_iadd(b, kk, side_number(c, plus));
        KVal extra = k_udiv(b, k, side_number(c, rows->run));
        row = k_iadd(b, k_imul(b, k, side_number(c, rows->pitch)),
                     k_imul(b, extra, side_number(c, rows->extra)));
    }
    KType type = c->word;
    type.lanes = (uint8_t)side->lanes;
    for (unsigned g = 0; g < count; g += group) {
        KVal place = k_iadd(b, row, side->columns ? simt_column_at(c, g) : simt_row(c, g));
        for (unsigned i = 0; i < group; i += side->lanes) {
            KVal at = k_iadd(b, place, side_number(c, first + i));
            out[(g + i) / side->lanes] = k_shared_load(b, side->region, at, type);
        }
    }
}
