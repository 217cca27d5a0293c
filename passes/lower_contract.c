// Family "contract", form "simt": a workgroup makes a tile_m x tile_n tile of the product, each
// invocation reg_m x reg_n of it, from tile_k deep tiles of both operands in workgroup memory.
//
// Loaders read operands through their views (and maps before them), so that convolution is this
// program with an unfolded view; an epilogue turns sums into what is stored. Rows and columns past
// the end repeat the last one and are not stored; past the end of K operands are 0.
#include <string.h>

#include "passes/lower_contract.h"
#include "passes/lower_coop.h"
#include "passes/lower_reduce.h"

enum { REG_MAX = 16, SLOTS_MAX = 64 };

// One operand's way into workgroup memory.
typedef struct Side {
    ValueId value;
    Space space;
    bool columns; // the y side
    bool k_fast;  // neighbours load neighbours along K
    bool k_last;  // K is the space's last axis
    unsigned tile, vec, slots, pitch;
    unsigned width; // lanes of a read of workgroup memory
    uint32_t region;
    KVal place[SLOTS_MAX][RANK_MAX]; // indices on the axes other than batch and K
    uint8_t places;
    KVal k[SLOTS_MAX];      // offset in the tile's K
    KVal store[SLOTS_MAX];  // where in workgroup memory
    KVal inside[SLOTS_MAX]; // 0: always; else whether the slot exists
    KVal fetched[SLOTS_MAX];
} Side;

typedef struct Contract {
    Lower *l;
    ContractShape shape;
    const Schedule *s;
    Split split;
    Dim columns; // windows * cells
    KVal id, batch, first_m, first_n, tx, ty;
    unsigned across, down;     // invocations along n and m
    unsigned group_m, group_n; // neighbours in a row of registers
    unsigned lanes_m, lanes_n; // of one access to workgroup memory
    bool is_float;
    KType word;
    Side a, b;
    Space sums, pooled; // of the contract's result, of the pooled one
    KVal acc[REG_MAX * REG_MAX];
} Contract;

static unsigned contract_lanes(unsigned count) {
    return count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
}

// The N axes of a window's cell, joined where cells are neighbouring columns, and the element that
// it reads.
static uint8_t contract_column(Contract *c, KVal window, KVal cell, KVal *out, Address *at) {
    Lower *l = c->l;
    if (!c->shape.scattered) {
        KVal first = k_imul(l->b, window, k_i32(l->b, (int32_t)c->shape.cells));
        out[0] = k_iadd(l->b, first, cell);
        *at = (Address){0};
        return 1;
    }
    Dim size[2] = {c->shape.windows, dim_const(l->dims, c->shape.cells)};
    Space space = space_of(l, 2, size);
    Point point = point_make(&space, 1);
    point.index[0] = window, point.index[1] = cell;
    DType dtype = graph_value(l->graph, c->shape.pooled)->type.dtype;
    Address address = lower_address(l, &c->shape.cell, &point, 0, dtype);
    KVal index = address.index;
    if (address.valid) index = k_select(l->b, address.valid, index, k_i32(l->b, 0));
    lower_split(l, index, c->shape.n_axes, c->shape.n_size, out);
    *at = address;
    return c->shape.n_axes;
}

static Space contract_space(Contract *c, const Side *side) {
    Lower *l = c->l;
    const Type *type = &graph_value(l->graph, side->value)->type;
    const ContractShape *shape = &c->shape;
    Space space = space_of(l, type->rank, type->size);
    bool split = side->columns && shape->scattered;
    uint8_t others = (uint8_t)(type->rank - shape->batch_axes - shape->k_axes);
    Dim extent = side->columns ? shape->n : shape->m;
    if (split) { // [batch, N axes .., K]
        space.rank = (uint8_t)(2 + others);
        space.size[0] = shape->batch;
        for (uint8_t a = 0; a < others; a++) space.size[1 + a] = shape->n_size[a];
        space.size[1 + others] = shape->k;
        return space;
    }
    space.rank = 3;
    space.size[0] = shape->batch;
    space.size[1] = side->k_last ? extent : shape->k;
    space.size[2] = side->k_last ? shape->k : extent;
    if (side->k_last) return space;
    space.permuted = true; // [batch.., K.., others..]
    uint8_t at = shape->batch_axes;
    for (uint8_t a = 0; a < shape->k_axes; a++)
        space.axes[at++] = (uint8_t)(shape->batch_axes + others + a);
    for (uint8_t a = 0; a < others; a++) space.axes[at++] = (uint8_t)(shape->batch_axes + a);
    return space;
}

// The widest vectors that divide the tile, the operand and its memory along the fast axis.
static unsigned contract_vec(Contract *c, const Side *side) {
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

static void side_slot(Contract *c, Side *side, unsigned slot) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    unsigned total = side->tile * c->s->tile_k / side->vec, local = c->s->local;
    unsigned fast_size = (side->k_fast ? c->s->tile_k : side->tile) / side->vec;
    KVal e = k_iadd(b, c->id, k_i32(b, (int32_t)(slot * local)));
    if ((slot + 1) * local > total) {
        side->inside[slot] = k_slt(b, e, k_i32(b, (int32_t)total));
        e = k_smin(b, e, k_i32(b, (int32_t)(total - 1)));
    }
    KVal width = k_i32(b, (int32_t)fast_size), vec = k_i32(b, (int32_t)side->vec);
    KVal fast = k_imul(b, k_urem(b, e, width), vec), slow = k_udiv(b, e, width);
    KVal k = side->k_fast ? fast : slow, other = side->k_fast ? slow : fast;
    side->k[slot] = k;
    side->store[slot] = k_iadd(b, k_imul(b, k, k_i32(b, (int32_t)side->pitch)), other);
    Dim extent = side->columns ? c->columns : c->shape.m;
    KVal at = k_iadd(b, side->columns ? c->first_n : c->first_m, other);
    if (!dim_divides(l->dims, side->tile, extent)) {
        unsigned width_at = side->k_fast ? 1 : side->vec;
        Dim last = dim_sub(l->dims, extent, dim_const(l->dims, width_at));
        at = k_smin(b, at, lower_dim(l, last));
    }
    side->places = 1, side->place[slot][0] = at;
    if (side->columns && c->shape.scattered) {
        Address address;
        KVal cells = k_i32(b, (int32_t)c->shape.cells);
        side->places = contract_column(c, k_udiv(b, at, cells), k_urem(b, at, cells),
                                       side->place[slot], &address);
    }
}

static bool side_begin(Contract *c, Side *side, ValueId value, bool columns) {
    Lower *l = c->l;
    side->value = value, side->columns = columns;
    side->tile = columns ? c->s->tile_n : c->s->tile_m;
    side->k_fast = contract_k_fast(l->graph, &c->shape, value);
    side->k_last = side->k_fast || (columns && c->shape.scattered);
    side->space = contract_space(c, side);
    side->vec = contract_vec(c, side);
    // Transposing stores of neighbours go to different banks.
    side->pitch = side->tile + (side->k_fast ? 4 : 0);
    unsigned total = side->tile * c->s->tile_k / side->vec;
    side->slots = (total + c->s->local - 1) / c->s->local;
    if (side->slots > SLOTS_MAX) {
        lower_fail(l, "a tile of %ux%u is too large for %u invocations", side->tile, c->s->tile_k,
                   c->s->local);
        return false;
    }
    side->width = columns ? c->lanes_n : c->lanes_m;
    side->region = k_shared(l->b, columns ? "tile_y" : "tile_x", c->is_float ? DT_F32 : DT_I32,
                            side->width, side->pitch * c->s->tile_k / side->width);
    for (unsigned i = 0; i < side->slots; i++) side_slot(c, side, i);
    return true;
}

static void side_fetch(Contract *c, Side *side, KVal k0) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    bool whole = dim_divides(l->dims, c->s->tile_k, c->shape.k);
    uint8_t k_axis = side->k_last ? (uint8_t)(side->space.rank - 1) : 1;
    for (unsigned i = 0; i < side->slots; i++) {
        KVal k = k_iadd(b, k0, side->k[i]), inside = 0;
        if (!whole) {
            inside = k_slt(b, k, lower_dim(l, c->shape.k));
            unsigned width = side->k_fast ? side->vec : 1;
            Dim last = dim_sub(l->dims, c->shape.k, dim_const(l->dims, width));
            k = k_smin(b, k, lower_dim(l, last));
        }
        Point point = point_make(&side->space, (uint8_t)side->vec);
        point.index[0] = c->batch;
        point.index[k_axis] = k;
        uint8_t at = side->k_last ? 1 : 2;
        for (uint8_t p = 0; p < side->places; p++) point.index[at + p] = side->place[i][p];
        KVal value = lower_value(l, side->value, &point);
        if (k_type(b, value).lanes != side->vec) value = k_splat(b, value, side->vec);
        KVal zero = c->is_float ? k_f32(b, 0) : k_i32(b, 0);
        side->fetched[i] = inside ? k_select(b, inside, value, zero) : value;
    }
}

static void side_put(Contract *c, Side *side) {
    KBuilder *b = c->l->b;
    for (unsigned i = 0; i < side->slots; i++) {
        if (side->inside[i]) k_if_begin(b, side->inside[i]);
        if (side->vec == 1 || (!side->k_fast && side->vec == side->width)) {
            k_shared_store(b, side->region, side->store[i], side->fetched[i]);
        } else {
            unsigned step = side->k_fast ? side->pitch : 1;
            for (unsigned v = 0; v < side->vec; v++) {
                KVal at = k_iadd(b, side->store[i], k_i32(b, (int32_t)(v * step)));
                k_shared_store(b, side->region, at, k_extract(b, side->fetched[i], v));
            }
        }
        if (side->inside[i]) k_if_end(b, 0, NULL, NULL);
    }
}

// `count` neighbours of a tile's row kk from `first` on, each `lanes` wide.
static void side_take(Contract *c, const Side *side, KVal kk, KVal first, unsigned count,
                      unsigned lanes, KVal *out) {
    KBuilder *b = c->l->b;
    KVal row = k_imul(b, kk, k_i32(b, (int32_t)side->pitch));
    KType type = c->word;
    type.lanes = (uint8_t)lanes;
    for (unsigned i = 0; i < count; i += lanes) {
        KVal at = k_iadd(b, k_iadd(b, row, first), k_i32(b, (int32_t)i));
        out[i / lanes] = k_shared_load(b, side->region, at, type);
    }
}

static KVal contract_row(Contract *c, unsigned i) { // of the tile, register row i
    KBuilder *b = c->l->b;
    unsigned group = i / c->group_m * c->down * c->group_m;
    KVal first = k_imul(b, c->ty, k_i32(b, (int32_t)c->group_m));
    return k_iadd(b, first, k_i32(b, (int32_t)(group + i % c->group_m)));
}

static KVal contract_col(Contract *c, unsigned j) {
    KBuilder *b = c->l->b;
    unsigned group = j / c->group_n * c->across * c->group_n;
    KVal first = k_imul(b, c->tx, k_i32(b, (int32_t)c->group_n));
    return k_iadd(b, first, k_i32(b, (int32_t)(group + j % c->group_n)));
}

static KVal contract_multiply_add(Contract *c, KVal x, KVal y, KVal sum) {
    KBuilder *b = c->l->b;
    if (!c->is_float) return k_iadd(b, k_imul(b, x, y), sum);
    if (c->l->plan->strict_rounding) return k_fadd(b, k_fmul(b, x, y), sum);
    return k_fma(b, x, y, sum);
}

static void contract_step(Contract *c, KVal kk, KVal *acc) {
    KBuilder *b = c->l->b;
    KVal x[REG_MAX], y[REG_MAX];
    unsigned vectors = c->s->reg_n / c->lanes_n;
    for (unsigned i = 0; i < c->s->reg_m; i += c->group_m)
        side_take(c, &c->a, kk, contract_row(c, i), c->group_m, c->lanes_m, x + i / c->lanes_m);
    for (unsigned j = 0; j < c->s->reg_n; j += c->group_n)
        side_take(c, &c->b, kk, contract_col(c, j), c->group_n, c->lanes_n, y + j / c->lanes_n);
    for (unsigned i = 0; i < c->s->reg_m; i++) {
        KVal left = k_extract(b, x[i / c->lanes_m], i % c->lanes_m);
        KVal wide = k_splat(b, left, c->lanes_n);
        for (unsigned v = 0; v < vectors; v++) {
            KVal *sum = &acc[i * vectors + v];
            *sum = contract_multiply_add(c, wide, y[v], *sum);
        }
    }
}

static void contract_tile(Contract *c, KVal *acc, unsigned count) {
    KBuilder *b = c->l->b;
    unsigned unroll = c->s->unroll ? c->s->unroll : 1;
    if (c->s->tile_k % unroll) unroll = 1;
    KVal now[REG_MAX * REG_MAX];
    KVal kk = k_loop_begin(b, k_i32(b, 0), k_i32(b, (int32_t)c->s->tile_k),
                           k_i32(b, (int32_t)unroll), K_LOOP_PLAIN, count, acc, now);
    for (unsigned u = 0; u < unroll; u++)
        contract_step(c, k_iadd(b, kk, k_i32(b, (int32_t)u)), now);
    k_loop_end(b, now, acc);
}

static void contract_sums(Contract *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    unsigned count = c->s->reg_m * c->s->reg_n / c->lanes_n;
    KVal now[REG_MAX * REG_MAX];
    KVal zero = k_splat(b, c->is_float ? k_f32(b, 0) : k_i32(b, 0), c->lanes_n);
    for (unsigned i = 0; i < count; i++) c->acc[i] = zero;
    KVal k0 = k_loop_begin(b, c->split.first, c->split.end, k_i32(b, (int32_t)c->s->tile_k),
                           K_LOOP_PLAIN, count, c->acc, now);
    side_fetch(c, &c->a, k0);
    side_fetch(c, &c->b, k0);
    k_barrier(b); // the last tile has been read
    side_put(c, &c->a);
    side_put(c, &c->b);
    k_barrier(b);
    contract_tile(c, now, count);
    k_loop_end(b, now, c->acc);
}

KVal contract_result(Lower *l, const ContractShape *shape, KVal sum) {
    DType to = graph_value(l->graph, shape->result)->type.dtype;
    bool is_float = dtype_is_float(graph_value(l->graph, shape->x)->type.dtype);
    if (!is_float) return lower_cast(l->b, sum, DT_I32, to);
    return l->plan->strict_rounding ? lower_round(l->b, sum, to) : sum;
}

void contract_limit(Lower *l, KVal index, Dim extent, unsigned tile, KVal *inside) {
    if (dim_divides(l->dims, tile, extent)) return;
    KVal here = k_slt(l->b, index, lower_dim(l, extent));
    *inside = *inside ? k_and(l->b, *inside, here) : here;
}

static void contract_store(Contract *c, unsigned i, unsigned j, unsigned lanes) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    KVal inside = 0;
    KVal m = k_iadd(b, c->first_m, contract_row(c, i));
    contract_limit(l, m, c->shape.m, c->s->tile_m, &inside);
    KVal n = k_iadd(b, c->first_n, contract_col(c, j));
    contract_limit(l, n, c->shape.n, c->s->tile_n, &inside);
    KVal sum = c->acc[(i * c->s->reg_n + j) / c->lanes_n];
    if (lanes < c->lanes_n) sum = k_extract(b, sum, j % c->lanes_n);
    if (inside) k_if_begin(b, inside);
    Point point = point_make(&c->sums, (uint8_t)lanes);
    point.index[0] = c->batch, point.index[1] = m, point.index[2] = n;
    contract_put(l, &c->split, &point, sum);
    if (inside) k_if_end(b, 0, NULL, NULL);
}

// One window: its cells' values, folded, then what follows the reduction.
static void contract_store_window(Contract *c, unsigned i, unsigned j) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const Node *reduce = graph_node(l->graph, c->shape.pool);
    Fold fold = fold_of(l->graph, reduce);
    unsigned cells = c->shape.cells;
    KVal inside = 0, state[2];
    KVal m = k_iadd(b, c->first_m, contract_row(c, i));
    contract_limit(l, m, c->shape.m, c->s->tile_m, &inside);
    KVal column = k_iadd(b, c->first_n, contract_col(c, j));
    KVal window = k_udiv(b, column, k_i32(b, (int32_t)cells));
    contract_limit(l, window, c->shape.windows, c->s->tile_n / cells, &inside);
    if (inside) k_if_begin(b, inside);
    fold_start(l, &fold, 1, state);
    for (unsigned cell = 0; cell < cells; cell++) {
        Point point = point_make(&c->sums, 1);
        Address at;
        point.index[0] = c->batch, point.index[1] = m;
        contract_column(c, window, k_i32(b, (int32_t)cell), &point.index[2], &at);
        unsigned element = i * c->s->reg_n + j + cell;
        KVal sum = k_extract(b, c->acc[element / c->lanes_n], element % c->lanes_n);
        point_set(l, &point, c->shape.result, contract_result(l, &c->shape, sum));
        KVal value = lower_value(l, c->shape.pooled, &point);
        if (at.valid) value = k_select(b, at.valid, value, at.pad);
        fold_value(l, &fold, state, value, k_i32(b, (int32_t)cell));
    }
    KVal result = fold_result(l, &fold, state);
    DType dtype = graph_value(l->graph, reduce->result[0])->type.dtype;
    if (l->plan->strict_rounding) result = lower_round(b, result, dtype);
    Point point = point_make(&c->pooled, 1);
    point.index[0] = c->batch, point.index[1] = m, point.index[2] = window;
    point_set(l, &point, reduce->result[0], result);
    const ValueList *stores = &c->split.stores;
    for (uint32_t r = 0; r < stores->len; r++) lower_result(l, stores->at[r], &point);
    if (inside) k_if_end(b, 0, NULL, NULL);
}

static void contract_epilogue(Contract *c) {
    Lower *l = c->l;
    unsigned lanes = dim_divides(l->dims, c->lanes_n, c->shape.n) ? c->lanes_n : 1;
    unsigned step = c->shape.pool ? c->shape.cells : lanes;
    for (unsigned i = 0; i < c->s->reg_m; i++)
        for (unsigned j = 0; j < c->s->reg_n; j += step) {
            if (c->shape.pool)
                contract_store_window(c, i, j);
            else
                contract_store(c, i, j, lanes);
        }
}

Space contract_sums_space(Lower *l, const ContractShape *shape) {
    const Type *type = &graph_value(l->graph, shape->result)->type;
    Space space = space_of(l, type->rank, type->size);
    space.rank = 3;
    space.size[0] = shape->batch, space.size[1] = shape->m, space.size[2] = shape->n;
    if (!shape->scattered) return space;
    space.rank = (uint8_t)(2 + shape->n_axes);
    for (uint8_t a = 0; a < shape->n_axes; a++) space.size[2 + a] = shape->n_size[a];
    return space;
}

static void contract_spaces(Contract *c) {
    Lower *l = c->l;
    const ContractShape *shape = &c->shape;
    c->sums = contract_sums_space(l, shape);
    if (!shape->pool) return;
    const Node *reduce = graph_node(l->graph, shape->pool);
    const Type *pooled = &graph_value(l->graph, reduce->result[0])->type;
    c->pooled = space_of(l, pooled->rank, pooled->size);
    c->pooled.rank = 3;
    c->pooled.size[0] = shape->batch, c->pooled.size[1] = shape->m;
    c->pooled.size[2] = shape->windows;
}

static bool contract_check(Contract *c) {
    const Schedule *s = c->s;
    Lower *l = c->l;
    unsigned cells = c->shape.cells;
    if (!s->tile_m || !s->tile_n || !s->tile_k || !s->reg_m || !s->reg_n || s->tile_m % s->reg_m ||
        s->tile_n % s->reg_n || s->reg_m > REG_MAX || s->reg_n > REG_MAX ||
        s->tile_m / s->reg_m * (s->tile_n / s->reg_n) != s->local) {
        lower_fail(l, "tile_m / reg_m * tile_n / reg_n must be local, and reg at most %d", REG_MAX);
        return false;
    }
    if (s->reg_n % cells) {
        lower_fail(l, "reg_n must hold whole windows of %u", cells);
        return false;
    }
    unsigned words = s->tile_k * (s->tile_m + s->tile_n + 8) + 8;
    if (words * 4 > l->plan->target.shared_bytes) {
        lower_fail(l, "its tiles need %u bytes of workgroup memory", words * 4);
        return false;
    }
    return true;
}

static bool contract_place(Contract *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    const Schedule *s = c->s;
    Dim tiles_m = dim_ceil_div(dims, c->shape.m, dim_const(dims, s->tile_m));
    Dim tiles_n = dim_ceil_div(dims, c->columns, dim_const(dims, s->tile_n));
    Dim groups = dim_mul(dims, c->shape.batch, dim_mul(dims, tiles_m, tiles_n));
    KVal group;
    if (!contract_open(l, &c->shape, groups, &c->split, &group)) return false;
    KVal columns = lower_dim(l, tiles_n), rows = lower_dim(l, tiles_m);
    KVal tile_n = k_urem(b, group, columns), rest = k_udiv(b, group, columns);
    c->first_n = k_imul(b, tile_n, k_i32(b, (int32_t)s->tile_n));
    c->first_m = k_imul(b, k_urem(b, rest, rows), k_i32(b, (int32_t)s->tile_m));
    c->batch = k_udiv(b, rest, rows);
    c->id = k_local_id(b);
    KVal across = k_i32(b, (int32_t)c->across);
    c->tx = k_urem(b, c->id, across), c->ty = k_udiv(b, c->id, across);
    return true;
}

bool lower_contract(Lower *l) {
    if (l->schedule->form && strcmp(l->schedule->form, "coop") == 0) return lower_coop(l);
    if (l->schedule->form && strcmp(l->schedule->form, "skinny") == 0) return lower_skinny(l);
    if (l->schedule->form && strcmp(l->schedule->form, "simt") != 0) {
        lower_fail(l, "there is no form %s of a contract", l->schedule->form);
        return false;
    }
    Contract *c = arena_alloc(l->arena, sizeof *c);
    c->l = l, c->s = l->schedule;
    if (!contract_shape(l->graph, l->node, &c->shape)) {
        lower_fail(l, "its reduction does not pool windows of the product");
        return false;
    }
    if (!contract_check(c)) return false;
    DimTable *dims = l->dims;
    const Schedule *s = c->s;
    c->columns = dim_mul(dims, c->shape.windows, dim_const(dims, c->shape.cells));
    c->across = s->tile_n / s->reg_n, c->down = s->tile_m / s->reg_m;
    c->group_n = c->shape.pool ? c->shape.cells : s->reg_n % 4 == 0 ? 4 : s->reg_n;
    c->group_m = s->reg_m % 4 == 0 ? 4 : s->reg_m;
    c->lanes_n = contract_lanes(c->group_n), c->lanes_m = contract_lanes(c->group_m);
    c->is_float = dtype_is_float(graph_value(l->graph, c->shape.x)->type.dtype);
    c->word = K_TYPE(c->is_float ? KT_F32 : KT_I32, 1);
    if (!contract_place(c)) return false;
    contract_spaces(c);
    if (!side_begin(c, &c->a, c->shape.x, false) || !side_begin(c, &c->b, c->shape.y, true))
        return false;
    contract_sums(c);
    contract_epilogue(c);
    return contract_close(l, &c->split);
}
