// Family "contract", form "coop": a workgroup makes a tile_m x tile_n tile of the product, each of
// its subgroups warp_m x warp_n of it as cooperative-matrix fragments.
//
// stages=1: the next tiles are loaded into registers while the present ones, in workgroup memory,
// are multiplied; two barriers a tile.
// stages=2: one barrier a step of tile_k. After it come the fragments of the next step, so that
// products never wait for them; then the stores for the step after that, which the next barrier
// waits for only when the products are under way; then loads; then the products of this step.
// Operands along K are stored in buffers two steps deep, a half of their rows in each step.
#include "passes/lower_coop.h"

enum { COOP_CARRY_MAX = COOP_SUMS_MAX + 2 * COOP_LINE_MAX + 2 * COOP_AHEAD_MAX * COOP_MOVES_MAX };

// What goes round the loop of stages=2, in this order; moves of `ahead` turns, turn t in place
// t % ahead.
typedef struct CoopCarry {
    unsigned sums, x_fragments, y_fragments, x_moves, y_moves, count; // where each begins
} CoopCarry;

static void coop_products(Coop *c, const KVal *x, const KVal *y, KVal *sum) {
    for (unsigned i = 0; i < c->down; i++)
        for (unsigned j = 0; j < c->across; j++) {
            KVal *own = &sum[i * c->across + j];
            *own = k_frag_mul_add(c->l->b, x[i], y[j], *own);
        }
}

static void coop_fragments(Coop *c, const CoopSide *side, unsigned buffer, unsigned k, KVal *out) {
    const Schedule *s = c->s;
    unsigned size = side->operand->columns ? s->frag_n : s->frag_m;
    unsigned count = side->operand->columns ? c->across : c->down;
    for (unsigned i = 0; i < count; i++) out[i] = coop_side_fragment(c, side, buffer, k, i * size);
}

static void coop_start(Coop *c, KVal *sum) {
    KBuilder *b = c->l->b;
    KType type = ktype_frag(KU_ACC, c->shape.acc, c->s->frag_m, c->s->frag_n);
    KVal zero = c->shape.acc == DT_F32 ? k_f32(b, 0) : k_i32(b, 0);
    KVal fragment = k_frag_fill(b, type, zero);
    for (unsigned i = 0; i < c->down * c->across; i++) sum[i] = fragment;
}

// Fragments of one row (column) of a tile of planes: the first half of K is high, the second low.
typedef struct CoopPlanes {
    KVal high[COOP_DEEP_MAX], low[COOP_DEEP_MAX];
} CoopPlanes;

static void coop_planes_take(Coop *c, const CoopSide *side, unsigned n, CoopPlanes *out) {
    const Schedule *s = c->s;
    unsigned row = n * (side->operand->columns ? s->frag_n : s->frag_m);
    unsigned deep = coop_deep(&c->shape, s) / 2, half = deep * s->frag_k;
    for (unsigned d = 0; d < deep; d++) {
        out->high[d] = coop_side_fragment(c, side, 0, d * s->frag_k, row);
        out->low[d] = coop_side_fragment(c, side, 0, half + d * s->frag_k, row);
    }
}

// Row (column) n of fragments that were taken in the order of coop_take.
static void coop_planes_of(const Coop *c, const KVal *taken, unsigned count, unsigned n,
                           CoopPlanes *out) {
    unsigned half = coop_deep(&c->shape, c->s) / 2;
    for (unsigned d = 0; d < half; d++) {
        out->high[d] = taken[d * count + n];
        out->low[d] = taken[(half + d) * count + n];
    }
}

// Fragments' sums are not rounded to nearest, so that long ones drift: each tile gets a fresh one,
// which starts from the small products and is added in f32.
static void coop_planes_add(Coop *c, const CoopPlanes *x, const CoopPlanes *y, KVal *sum) {
    KBuilder *b = c->l->b;
    KType type = ktype_frag(KU_ACC, DT_F32, c->s->frag_m, c->s->frag_n);
    KVal own = k_frag_fill(b, type, k_f32(b, 0));
    unsigned deep = coop_deep(&c->shape, c->s) / 2;
    for (unsigned d = 0; d < deep; d++) {
        own = k_frag_mul_add(b, x->high[d], y->low[d], own);
        own = k_frag_mul_add(b, x->low[d], y->high[d], own);
    }
    own = k_frag_binary(b, K_FRAG_MUL, own, k_f32(b, 1.0f / (1 << PLANES_LOW)));
    for (unsigned d = 0; d < deep; d++) own = k_frag_mul_add(b, x->high[d], y->high[d], own);
    *sum = k_frag_binary(b, K_FRAG_ADD, *sum, own);
}

// The side with fewer fragments stays in registers, the other passes by.
static void coop_products_planes(Coop *c, KVal *sum) {
    bool columns = c->across < c->down; // those that stay
    const CoopSide *stays = columns ? &c->y : &c->x, *passes = columns ? &c->x : &c->y;
    unsigned few = columns ? c->across : c->down, many = columns ? c->down : c->across;
    CoopPlanes kept[COOP_LINE_MAX], one;
    for (unsigned i = 0; i < few; i++) coop_planes_take(c, stays, i, &kept[i]);
    for (unsigned j = 0; j < many; j++) {
        coop_planes_take(c, passes, j, &one);
        for (unsigned i = 0; i < few; i++) {
            if (columns)
                coop_planes_add(c, &one, &kept[i], &sum[j * c->across + i]);
            else
                coop_planes_add(c, &kept[i], &one, &sum[i * c->across + j]);
        }
    }
}

// The same with all fragments taken.
static void coop_products_taken(Coop *c, const KVal *x, const KVal *y, KVal *sum) {
    CoopPlanes row, column;
    for (unsigned i = 0; i < c->down; i++) {
        coop_planes_of(c, x, c->down, i, &row);
        for (unsigned j = 0; j < c->across; j++) {
            coop_planes_of(c, y, c->across, j, &column);
            coop_planes_add(c, &row, &column, &sum[i * c->across + j]);
        }
    }
}

// One step: loads take the places of the moves that are stored.
static void coop_step_simple(Coop *c, KVal k, KVal *x_ahead, KVal *y_ahead, KVal *sums) {
    KBuilder *b = c->l->b;
    KVal x[COOP_MOVES_MAX], y[COOP_MOVES_MAX];
    if (!c->x.ahead) coop_side_fetch(c, &c->x, 0, k, x);
    if (!c->y.ahead) coop_side_fetch(c, &c->y, 0, k, y);
    k_barrier(b); // the last tile has been read
    coop_side_put(c, &c->x, 0, 0, c->x.ahead ? x_ahead : x);
    coop_side_put(c, &c->y, 0, 0, c->y.ahead ? y_ahead : y);
    k_barrier(b);
    KVal next = k_iadd(b, k, k_i32(b, (int32_t)(c->ahead * c->s->tile_k)));
    if (c->x.ahead) coop_side_fetch(c, &c->x, 0, next, x_ahead);
    if (c->y.ahead) coop_side_fetch(c, &c->y, 0, next, y_ahead);
    if (c->planes) {
        coop_products_planes(c, sums);
        return;
    }
    for (unsigned d = 0; d < coop_deep(&c->shape, c->s); d++) {
        KVal left[COOP_LINE_MAX], right[COOP_LINE_MAX];
        coop_fragments(c, &c->x, 0, d * c->s->frag_k, left);
        coop_fragments(c, &c->y, 0, d * c->s->frag_k, right);
        coop_products(c, left, right, sums);
    }
}

static void coop_loop_simple(Coop *c) {
    KBuilder *b = c->l->b;
    KVal init[COOP_CARRY_MAX], now[COOP_CARRY_MAX], out[COOP_CARRY_MAX];
    unsigned x_count = c->x.ahead ? c->x.held : 0, y_count = c->y.ahead ? c->y.held : 0;
    unsigned sums = c->down * c->across, x_moves = sums, y_moves = x_moves + c->ahead * x_count;
    unsigned count = y_moves + c->ahead * y_count;
    KVal first = c->split.first;
    coop_start(c, init);
    for (unsigned u = 0; u < c->ahead; u++) {
        KVal k = k_iadd(b, first, k_i32(b, (int32_t)(u * c->s->tile_k)));
        if (x_count) coop_side_fetch(c, &c->x, 0, k, init + x_moves + u * x_count);
        if (y_count) coop_side_fetch(c, &c->y, 0, k, init + y_moves + u * y_count);
    }
    KVal k0 = k_loop_begin(b, first, c->split.end, k_i32(b, (int32_t)c->span), K_LOOP_PLAIN, count,
                           init, now);
    for (unsigned u = 0; u < c->ahead; u++)
        coop_step_simple(c, k_iadd(b, k0, k_i32(b, (int32_t)(u * c->s->tile_k))),
                         now + x_moves + u * x_count, now + y_moves + u * y_count, now);
    k_loop_end(b, now, out);
    for (unsigned i = 0; i < sums; i++) c->sum[i] = out[i];
}

// All fragments of a step: those of one place along K follow each other.
static void coop_take(Coop *c, const CoopSide *side, unsigned step, KVal *out) {
    const CoopTile *t = &side->tile;
    unsigned buffer = step / t->parts % 2, k = step % t->parts * c->s->tile_k;
    unsigned count = side->operand->columns ? c->across : c->down;
    for (unsigned d = 0; d < coop_deep(&c->shape, c->s); d++)
        coop_fragments(c, side, buffer, k + d * c->s->frag_k, out + d * count);
}

// Loads what takes the turn of step k / tile_k (`step`, in the unrolled loop): a part of the buffer
// that follows the one of that step.
static void coop_turn(Coop *c, CoopSide *side, KVal k, unsigned step, KVal *out) {
    KBuilder *b = c->l->b;
    unsigned part = step % side->tile.parts, depth = side->tile.depth;
    KVal first = k_isub(b, k, k_i32(b, (int32_t)(part * c->s->tile_k)));
    coop_side_fetch(c, side, part, k_iadd(b, first, k_i32(b, (int32_t)depth)), out);
}

static void coop_stow(Coop *c, CoopSide *side, unsigned step, const KVal *moves) {
    unsigned parts = side->tile.parts;
    coop_side_put(c, side, (step / parts + 1) % 2, step % parts, moves);
}

static CoopCarry coop_carry(const Coop *c) {
    CoopCarry at = {.x_fragments = c->down * c->across};
    at.y_fragments = at.x_fragments + c->down * coop_deep(&c->shape, c->s);
    at.x_moves = at.y_fragments + c->across * coop_deep(&c->shape, c->s);
    at.y_moves = at.x_moves + c->x.held * c->ahead;
    at.count = at.y_moves + c->y.held * c->ahead;
    return at;
}

// One step: `now` goes from what it needs to what the next one needs. The turn that is stored goes
// into the buffer of the last step's fragments, which all have been read.
static void coop_step(Coop *c, const CoopCarry *at, KVal k, unsigned step, KVal *now) {
    KBuilder *b = c->l->b;
    KVal x[COOP_LINE_MAX], y[COOP_LINE_MAX];
    k_barrier(b);
    coop_take(c, &c->x, step + 1, x);
    coop_take(c, &c->y, step + 1, y);
    unsigned turn = step + 1, place = turn % c->ahead;
    KVal *x_moves = now + at->x_moves + place * c->x.held;
    KVal *y_moves = now + at->y_moves + place * c->y.held;
    coop_stow(c, &c->x, turn, x_moves);
    coop_stow(c, &c->y, turn, y_moves);
    KVal later = k_iadd(b, k, k_i32(b, (int32_t)((1 + c->ahead) * c->s->tile_k)));
    coop_turn(c, &c->x, later, turn + c->ahead, x_moves);
    coop_turn(c, &c->y, later, turn + c->ahead, y_moves);
    const KVal *x_now = now + at->x_fragments, *y_now = now + at->y_fragments;
    if (c->planes)
        coop_products_taken(c, x_now, y_now, now + at->sums);
    else
        for (unsigned d = 0; d < coop_deep(&c->shape, c->s); d++)
            coop_products(c, x_now + d * c->down, y_now + d * c->across, now + at->sums);
    for (unsigned i = at->x_fragments; i < at->y_fragments; i++) now[i] = x[i - at->x_fragments];
    for (unsigned i = at->y_fragments; i < at->x_moves; i++) now[i] = y[i - at->y_fragments];
}

// Before the loop: the first buffer, the turn of step 0 and the loads of the turns after it.
static void coop_fill(Coop *c, CoopSide *side, KVal *ahead) {
    KBuilder *b = c->l->b;
    KVal moves[COOP_MOVES_MAX], first = c->split.first;
    for (unsigned part = 0; part < side->tile.parts; part++) {
        coop_side_fetch(c, side, part, first, moves);
        coop_side_put(c, side, 0, part, moves);
    }
    coop_turn(c, side, first, 0, moves);
    coop_stow(c, side, 0, moves);
    for (unsigned turn = 1; turn <= c->ahead; turn++)
        coop_turn(c, side, k_iadd(b, first, k_i32(b, (int32_t)(turn * c->s->tile_k))), turn,
                  ahead + turn % c->ahead * side->held);
}

static void coop_loop_carried(Coop *c) {
    KBuilder *b = c->l->b;
    CoopCarry at = coop_carry(c);
    KVal init[COOP_CARRY_MAX], now[COOP_CARRY_MAX], out[COOP_CARRY_MAX];
    coop_start(c, init);
    coop_fill(c, &c->x, init + at.x_moves);
    coop_fill(c, &c->y, init + at.y_moves);
    k_barrier(b);
    coop_take(c, &c->x, 0, init + at.x_fragments);
    coop_take(c, &c->y, 0, init + at.y_fragments);
    KVal k0 = k_loop_begin(b, c->split.first, c->split.end, k_i32(b, (int32_t)c->span),
                           K_LOOP_DONT_UNROLL, at.count, init, now);
    for (unsigned u = 0; u < c->s->unroll; u++)
        coop_step(c, &at, k_iadd(b, k0, k_i32(b, (int32_t)(u * c->s->tile_k))), u, now);
    k_loop_end(b, now, out);
    for (unsigned i = 0; i < c->down * c->across; i++) c->sum[i] = out[i];
}

// The tile's place in the grid of tiles. Groups that run at a time are neighbours in both
// directions where `raster` rows of tiles are gone through together, column by column: they read
// fewer bytes of the operands than a row of tiles does.
static void coop_tile_place(Coop *c, KVal tile, KVal rows, KVal columns, KVal *row, KVal *column) {
    KBuilder *b = c->l->b;
    if (c->s->raster <= 1) {
        *row = k_udiv(b, tile, columns), *column = k_urem(b, tile, columns);
        return;
    }
    KVal high = k_i32(b, (int32_t)c->s->raster), band = k_imul(b, columns, high);
    KVal first = k_imul(b, k_udiv(b, tile, band), high), rest = k_urem(b, tile, band);
    KVal here = k_smin(b, high, k_isub(b, rows, first));
    *row = k_iadd(b, first, k_urem(b, rest, here)), *column = k_udiv(b, rest, here);
}

static bool coop_place(Coop *c) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    const Schedule *s = c->s;
    const ContractShape *shape = &c->shape.contract;
    Dim tiles_m = dim_ceil_div(dims, shape->m, dim_const(dims, s->tile_m));
    Dim tiles_n = dim_ceil_div(dims, shape->n, dim_const(dims, s->tile_n));
    Dim groups = dim_mul(dims, shape->batch, dim_mul(dims, tiles_m, tiles_n));
    KVal group;
    if (!contract_open(l, shape, groups, &c->split, &group)) return false;
    KVal columns = lower_dim(l, tiles_n), rows = lower_dim(l, tiles_m);
    KVal row, column, tile = group;
    if (!dim_is(dims, shape->batch, 1)) {
        KVal tiles = k_imul(b, rows, columns);
        c->batch = k_udiv(b, group, tiles), tile = k_urem(b, group, tiles);
    } else {
        c->batch = k_i32(b, 0);
    }
    coop_tile_place(c, tile, rows, columns, &row, &column);
    c->first_n = k_imul(b, column, k_i32(b, (int32_t)s->tile_n));
    c->first_m = k_imul(b, row, k_i32(b, (int32_t)s->tile_m));
    if (s->stagger > 1) {
        KVal place = k_and(b, k_iadd(b, row, column), k_i32(b, (int32_t)s->stagger - 1));
        c->turned = k_imul(b, place, k_i32(b, (int32_t)c->span));
    }
    c->id = k_local_id(b);
    c->lane = k_subgroup_lane(b);
    c->warp = k_subgroup_id(b), c->slice = k_i32(b, 0);
    if (coop_slices(s) > 1) {
        KVal warps = k_i32(b, (int32_t)(s->local / s->subgroup / s->slices));
        c->slice = k_udiv(b, c->warp, warps), c->warp = k_urem(b, c->warp, warps);
    }
    KVal wide = k_i32(b, (int32_t)(s->tile_n / s->warp_n));
    c->x.warp = k_imul(b, k_udiv(b, c->warp, wide), k_i32(b, (int32_t)s->warp_m));
    c->y.warp = k_imul(b, k_urem(b, c->warp, wide), k_i32(b, (int32_t)s->warp_n));
    return true;
}

// Workgroup memory of each side: the larger one holds sums on their way out as well.
static void coop_sides(Coop *c) {
    CoopTile x = coop_tile(&c->shape.x, c->s), y = coop_tile(&c->shape.y, c->s);
    uint32_t words_x = x.words * x.buffers, words_y = y.words * y.buffers;
    unsigned fragments;
    uint32_t staging = coop_staging(&c->shape, c->s, &fragments);
    uint32_t *larger = words_x >= words_y ? &words_x : &words_y;
    if (*larger < staging) *larger = staging;
    coop_side_begin(c, &c->x, &c->shape.x, words_x);
    coop_side_begin(c, &c->y, &c->shape.y, words_y);
}

// c: with shape, schedule and planes. layout: what planes are of; NULL: there are none.
static bool coop_make(Coop *c, const PlanesLayout *layout) {
    Lower *l = c->l;
    const char *why = coop_refuses(&c->shape, c->s, &l->plan->target);
    if (why) {
        lower_fail(l, "%s", why);
        return false;
    }
    c->down = c->s->warp_m / c->s->frag_m, c->across = c->s->warp_n / c->s->frag_n;
    c->ahead = coop_ahead(c->s), c->span = coop_span(c->s);
    if (!coop_may_stagger(l->dims, &c->shape, c->s)) {
        lower_fail(l, "stagger needs every part of K in whole stretches, a power of two");
        return false;
    }
    if (!coop_place(c)) return false;
    if (layout) {
        KVal strict =
            planes_tile_strict(l, c->planes, c->s, c->batch, c->first_m, c->first_n, c->id);
        k_if_begin(l->b, k_not(l->b, strict));
    }
    c->sums = contract_sums_space(l, &c->shape.contract);
    coop_sides(c);
    if (c->s->stages > 1)
        coop_loop_carried(c);
    else
        coop_loop_simple(c);
    coop_store(c);
    if (layout) {
        k_if_end(l->b, 0, NULL, NULL);
        c->split.shape = &layout->contract;
    }
    return contract_close(l, &c->split);
}

bool lower_coop(Lower *l) {
    Coop *c = arena_alloc(l->arena, sizeof *c);
    c->l = l, c->s = l->schedule;
    if (!coop_shape(l->graph, l->node, &c->shape)) {
        lower_fail(l, "its product does not suit cooperative matrices");
        return false;
    }
    return coop_make(c, NULL);
}

bool lower_coop_planes(Lower *l, const PlanesLayout *layout) {
    Coop *c = arena_alloc(l->arena, sizeof *c);
    Schedule *schedule = arena_alloc(l->arena, sizeof *schedule);
    PlanesRead *read = arena_alloc(l->arena, sizeof *read);
    *schedule = planes_fragments(l->schedule);
    *read = planes_read(l, layout, !layout->late);
    c->l = l, c->s = schedule, c->planes = read;
    if (!planes_coop_shape(l->graph, l->node, layout, &c->shape)) {
        lower_fail(l, "its operands cannot become f16 planes on their way");
        return false;
    }
    c->x.pointer = read->x_planes, c->y.pointer = read->y_planes;
    return !l->failed && coop_make(c, layout);
}
