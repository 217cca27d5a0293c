// Family "contract", form "simt": a workgroup makes a tile_m x tile_n tile of the product, each
// invocation reg_m x reg_n of it, from tile_k deep tiles of both operands in workgroup memory.
//
// stages=1: tile after tile is loaded, stored and multiplied; two barriers a tile.
// stages=2: while a tile is multiplied the next one is stored behind it and the one after that is
// loaded; the registers of each row of K are read while the row before is multiplied, also across
// the one barrier of a tile. `unroll` tiles go round the loop together.
#include "passes/lower_simt.h"

enum { SIMT_LINE_MAX = SIMT_REG_MAX };

// Registers of one row of K.
typedef struct SimtLine {
    KVal x[SIMT_LINE_MAX], y[SIMT_LINE_MAX];
} SimtLine;

// Neighbours in registers are groups of group_m: a warp's reads are then neighbours too.
KVal simt_row(Simt *c, unsigned i) {
    KBuilder *b = c->l->b;
    unsigned group = i / c->group_m * c->down * c->group_m;
    KVal first = k_imul(b, c->ty, k_i32(b, (int32_t)c->group_m));
    return k_iadd(b, first, k_i32(b, (int32_t)(group + i % c->group_m)));
}

KVal simt_column_at(Simt *c, unsigned j) {
    KBuilder *b = c->l->b;
    unsigned group = j / c->group_n * c->across * c->group_n;
    KVal first = k_imul(b, c->tx, k_i32(b, (int32_t)c->group_n));
    return k_iadd(b, first, k_i32(b, (int32_t)(group + j % c->group_n)));
}

static unsigned simt_sums(const Simt *c) {
    return c->s->reg_m * c->s->reg_n / c->sum_lanes;
}

// Down one column of registers and up the next: neighbours in time share an operand.
static void simt_multiply(Simt *c, const SimtLine *line, KVal *acc) {
    KBuilder *b = c->l->b;
    unsigned lanes = c->sum_lanes, columns = c->s->reg_n / lanes, rows = c->s->reg_m;
    KVal left[SIMT_REG_MAX];
    for (unsigned i = 0; i < rows; i++) {
        left[i] = k_extract(b, line->x[i / c->lanes_m], i % c->lanes_m);
        left[i] = k_splat(b, left[i], lanes);
    }
    for (unsigned j = 0; j < columns; j++) {
        KVal right = line->y[j * lanes / c->lanes_n];
        if (lanes < c->lanes_n) right = k_extract(b, right, j % c->lanes_n);
        for (unsigned n = 0; n < rows; n++) {
            unsigned i = j % 2 ? rows - 1 - n : n;
            KVal *sum = &acc[i * columns + j];
            *sum = contract_multiply_add(c->l, c->is_float, left[i], right, *sum);
        }
    }
}

static void simt_take(Simt *c, unsigned stage, KVal kk, unsigned step, unsigned plus,
                      SimtLine *out) {
    simt_side_take(c, &c->a, stage, kk, step, plus, out->x);
    simt_side_take(c, &c->b, stage, kk, step, plus, out->y);
}

static void simt_start(Simt *c, KVal *acc) {
    KBuilder *b = c->l->b;
    KVal zero = k_splat(b, c->is_float ? k_f32(b, 0) : k_i32(b, 0), c->sum_lanes);
    for (unsigned i = 0; i < simt_sums(c); i++) acc[i] = zero;
}

// ---- one stage ---------------------------------------------------------------------------------

static void simt_tile(Simt *c, KVal *acc) {
    KBuilder *b = c->l->b;
    unsigned unroll = c->s->unroll ? c->s->unroll : 1;
    if (c->s->tile_k % unroll) unroll = 1;
    KVal now[SIMT_SUMS_MAX];
    KVal kk = k_loop_begin(b, k_i32(b, 0), k_i32(b, (int32_t)c->s->tile_k),
                           k_i32(b, (int32_t)unroll), K_LOOP_PLAIN, simt_sums(c), acc, now);
    for (unsigned u = 0; u < unroll; u++) {
        SimtLine line;
        simt_take(c, 0, kk, unroll, u, &line);
        simt_multiply(c, &line, now);
    }
    k_loop_end(b, now, acc);
}

static void simt_loop_simple(Simt *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    KVal init[SIMT_SUMS_MAX], now[SIMT_SUMS_MAX], x[SIMT_SLOTS_MAX], y[SIMT_SLOTS_MAX];
    simt_start(c, init);
    KVal tile =
        k_loop_begin(b, c->first, c->end, k_i32(b, 1), K_LOOP_PLAIN, simt_sums(c), init, now);
    simt_side_fetch(c, &c->a, tile, x);
    simt_side_fetch(c, &c->b, tile, y);
    k_barrier(b); // the last tile has been read
    simt_side_put(c, &c->a, 0, x);
    simt_side_put(c, &c->b, 0, y);
    k_barrier(b);
    simt_tile(c, now);
    k_loop_end(b, now, c->acc);
}

// ---- two stages --------------------------------------------------------------------------------

// What goes round the loop, in this order.
typedef struct SimtCarry {
    unsigned x, y, x_moves, y_moves, count; // where each begins; sums are first
} SimtCarry;

enum { SIMT_CARRY_MAX = SIMT_SUMS_MAX + 2 * SIMT_LINE_MAX + 2 * SIMT_SLOTS_MAX };

static SimtCarry simt_carry(const Simt *c) {
    SimtCarry at = {.x = simt_sums(c)};
    at.y = at.x + c->s->reg_m / c->lanes_m;
    at.x_moves = at.y + c->s->reg_n / c->lanes_n;
    at.y_moves = at.x_moves + c->a.slots;
    at.count = at.y_moves + c->b.slots;
    return at;
}

static void simt_line_get(const SimtCarry *at, const KVal *from, SimtLine *line) {
    for (unsigned i = at->x; i < at->y; i++) line->x[i - at->x] = from[i];
    for (unsigned i = at->y; i < at->x_moves; i++) line->y[i - at->y] = from[i];
}

static void simt_line_set(const SimtCarry *at, const SimtLine *line, KVal *to) {
    for (unsigned i = at->x; i < at->y; i++) to[i] = line->x[i - at->x];
    for (unsigned i = at->y; i < at->x_moves; i++) to[i] = line->y[i - at->y];
}

static void simt_fetch(Simt *c, const SimtCarry *at, KVal tile, KVal *to) {
    simt_side_fetch(c, &c->a, tile, to + at->x_moves);
    simt_side_fetch(c, &c->b, tile, to + at->y_moves);
}

static void simt_put(Simt *c, const SimtCarry *at, unsigned stage, const KVal *from) {
    simt_side_put(c, &c->a, stage, from + at->x_moves);
    simt_side_put(c, &c->b, stage, from + at->y_moves);
}

// Tile number `tile`, in stage `stage`: `now` goes from what it needs to what the next one needs.
static void simt_step(Simt *c, const SimtCarry *at, KVal tile, unsigned stage, KVal *now) {
    KBuilder *b = c->l->b;
    KVal zero = k_i32(b, 0);
    SimtLine line, next;
    simt_put(c, at, 1 - stage, now);
    simt_fetch(c, at, k_iadd(b, tile, k_i32(b, 2)), now);
    simt_line_get(at, now, &line);
    for (unsigned k = 1; k < c->s->tile_k; k++) {
        simt_take(c, stage, zero, c->s->tile_k, k, &next);
        simt_multiply(c, &line, now);
        line = next;
    }
    k_barrier(b);
    simt_take(c, 1 - stage, zero, c->s->tile_k, 0, &next);
    simt_multiply(c, &line, now);
    simt_line_set(at, &next, now);
}

static void simt_loop_ahead(Simt *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    SimtCarry at = simt_carry(c);
    KVal init[SIMT_CARRY_MAX], now[SIMT_CARRY_MAX], out[SIMT_CARRY_MAX], zero = k_i32(b, 0);
    SimtLine line;
    simt_start(c, init);
    simt_fetch(c, &at, c->first, init);
    simt_put(c, &at, 0, init);
    simt_fetch(c, &at, k_iadd(b, c->first, k_i32(b, 1)), init);
    k_barrier(b);
    simt_take(c, 0, zero, c->s->tile_k, 0, &line);
    simt_line_set(&at, &line, init);
    KVal first = k_loop_begin(b, c->first, c->end, k_i32(b, (int32_t)c->s->unroll), K_LOOP_PLAIN,
                              at.count, init, now);
    for (unsigned u = 0; u < c->s->unroll; u++)
        simt_step(c, &at, k_iadd(b, first, k_i32(b, (int32_t)u)), u % 2, now);
    k_loop_end(b, now, out);
    for (unsigned i = 0; i < simt_sums(c); i++) c->acc[i] = out[i];
}

// ---- the program -------------------------------------------------------------------------------

static bool simt_check(Simt *c) {
    const Schedule *s = c->s;
    Lower *l = c->l;
    if (!s->tile_m || !s->tile_n || !s->tile_k || !s->reg_m || !s->reg_n || s->tile_m % s->reg_m ||
        s->tile_n % s->reg_n || s->reg_m > SIMT_REG_MAX || s->reg_n > SIMT_REG_MAX ||
        s->tile_m / s->reg_m * (s->tile_n / s->reg_n) != s->local) {
        lower_fail(l, "tile_m / reg_m * tile_n / reg_n must be local, and reg at most %d",
                   SIMT_REG_MAX);
        return false;
    }
    if (s->reg_n % c->shape.cells) {
        lower_fail(l, "reg_n must hold whole windows of %u", c->shape.cells);
        return false;
    }
    if (s->stages > 2 || (s->stages == 2 && (!s->unroll || s->unroll % 2 || s->unroll > 8))) {
        lower_fail(l, "stages must be 1 or 2; with two unroll must be 2, 4, 6 or 8");
        return false;
    }
    if (s->stages == 2 && s->unroll * s->tile_k > 128) {
        lower_fail(l, "with two stages unroll * tile_k must be at most 128");
        return false;
    }
    if (s->stages == 2 && dim_bounds(l->dims, c->shape.k).lo < 1) {
        lower_fail(l, "with two stages there must be a first element of K");
        return false;
    }
    unsigned words = simt_words_most(s);
    if (words * 4 > l->plan->target.shared_bytes) {
        lower_fail(l, "its tiles need %u bytes of workgroup memory", words * 4);
        return false;
    }
    return true;
}

// Eight invocations by four share their reads of workgroup memory, where there are so many.
static void simt_place_invocation(Simt *c) {
    KBuilder *b = c->l->b;
    bool blocks = c->across % 8 == 0 && c->down % 4 == 0;
    unsigned wide = blocks ? 8 : c->across, all = blocks ? 32 : c->s->local;
    KVal lane = k_urem(b, c->id, k_i32(b, (int32_t)all)), row = k_i32(b, (int32_t)wide);
    KVal block = k_udiv(b, c->id, k_i32(b, (int32_t)all));
    KVal blocks_across = k_i32(b, (int32_t)(c->across / wide));
    c->tx = k_iadd(b, k_imul(b, k_urem(b, block, blocks_across), row), k_urem(b, lane, row));
    KVal first = k_imul(b, k_udiv(b, block, blocks_across), k_i32(b, (int32_t)(all / wide)));
    c->ty = k_iadd(b, first, k_udiv(b, lane, row));
}

static bool simt_place(Simt *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    const Schedule *s = c->s;
    Dim tiles_m = dim_ceil_div(dims, c->shape.m, dim_const(dims, s->tile_m));
    Dim tiles_n = dim_ceil_div(dims, c->columns, dim_const(dims, s->tile_n));
    Dim groups = dim_mul(dims, tiles_m, tiles_n);
    if (!c->joined) groups = dim_mul(dims, groups, c->shape.batch);
    KVal group, depth = k_i32(b, (int32_t)s->tile_k);
    if (!contract_open(l, &c->shape, groups, &c->split, &group)) return false;
    KVal columns = lower_dim(l, tiles_n), rows = lower_dim(l, tiles_m);
    KVal tile_n = k_urem(b, group, columns), rest = k_udiv(b, group, columns);
    c->first_n = k_imul(b, tile_n, k_i32(b, (int32_t)s->tile_n));
    c->first_m = k_imul(b, k_urem(b, rest, rows), k_i32(b, (int32_t)s->tile_m));
    c->batch = k_udiv(b, rest, rows);
    c->first = k_udiv(b, c->split.first, depth), c->end = lower_dim(l, c->tiles);
    if (c->split.layout.parts > 1) {
        KVal over = k_iadd(b, c->split.end, k_i32(b, (int32_t)s->tile_k - 1));
        c->end = k_udiv(b, over, depth);
    }
    c->id = k_local_id(b);
    simt_place_invocation(c);
    return true;
}

static unsigned simt_lanes(unsigned count) {
    return count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
}

static void simt_registers(Simt *c) {
    const Schedule *s = c->s;
    c->across = s->tile_n / s->reg_n, c->down = s->tile_m / s->reg_m;
    c->group_n = c->shape.pool ? c->shape.cells : s->reg_n % 4 == 0 ? 4 : s->reg_n;
    c->group_m = s->reg_m % 4 == 0 ? 4 : s->reg_m;
    c->lanes_n = simt_lanes(c->group_n), c->lanes_m = simt_lanes(c->group_m);
    c->sum_lanes = s->stages > 1 ? 1 : c->lanes_n;
    c->is_float = dtype_is_float(graph_value(c->l->graph, c->shape.x)->type.dtype);
    c->word = K_TYPE(c->is_float ? KT_F32 : KT_I32, 1);
}

// layout: only tiles that form "planes" leaves; NULL: all.
static bool simt_make(Lower *l, const PlanesLayout *layout) {
    Simt *c = arena_alloc(l->arena, sizeof *c);
    DimTable *dims = l->dims;
    const Schedule *s = l->schedule;
    c->l = l, c->s = s;
    if (!contract_shape(l->graph, l->node, &c->shape)) {
        lower_fail(l, "its reduction does not pool windows of the product");
        return false;
    }
    if (!simt_check(c)) return false;
    simt_registers(c);
    c->joined = !layout && contract_joins(l->graph, &c->shape);
    c->columns = dim_mul(dims, c->shape.windows,
                         c->joined ? c->shape.batch : dim_const(dims, c->shape.cells));
    c->tiles = dim_ceil_div(dims, c->shape.k, dim_const(dims, s->tile_k));
    c->whole = dim_divides(dims, s->tile_k * (s->stages > 1 ? s->unroll : 1), c->shape.k);
    if (!simt_place(c)) return false;
    if (layout) {
        PlanesRead read = planes_read(l, layout, false);
        k_if_begin(l->b, planes_tile_strict(l, &read, s, c->batch, c->first_m, c->first_n, c->id));
    }
    if (!simt_side_begin(c, &c->a, c->shape.x, false) ||
        !simt_side_begin(c, &c->b, c->shape.y, true))
        return false;
    if (s->stages > 1)
        simt_loop_ahead(c);
    else
        simt_loop_simple(c);
    simt_store(c);
    if (layout) k_if_end(l->b, 0, NULL, NULL);
    return contract_close(l, &c->split);
}

bool lower_simt(Lower *l) {
    return simt_make(l, NULL);
}

bool lower_simt_planes(Lower *l, const PlanesLayout *layout) {
    return simt_make(l, layout);
}
