// Family "attention", form "coop" (passes/attention_coop.h says what a schedule means): scores,
// statistics and sums stay in the registers of the subgroup that owns the rows.
#include "passes/lower_flash.h"
#include "passes/lower_shape.h"

#include <math.h>

enum { FLASH_CARRY_MAX = 2 * FLASH_FRAGMENTS_MAX + 2 * FLASH_SLOTS_MAX + 2 * FLASH_MOVES_MAX };

typedef struct FlashCarry { // where each begins in what goes round the loop
    unsigned base, weight, k_moves, v_moves, scores, count;
} FlashCarry;

static KVal number(Flash *f, unsigned value) {
    return k_i32(f->l->b, (int32_t)value);
}

static bool flash_begin(Flash *f) {
    Lower *l = f->l;
    const Schedule *s = f->s;
    if (!flash_shape(l->graph, l->node, &l->plan->target, &f->shape)) {
        lower_fail(l, "its operands or the target do not suit form=coop");
        return false;
    }
    const char *why = flash_refuses(&f->shape, s, &l->plan->target);
    if (why) {
        lower_fail(l, "%s", why);
        return false;
    }
    (void)flash_map(&f->shape, s, &f->map);
    k_set_components(l->b, f->shape.layout);
    f->down = s->warp_m / s->frag_m, f->chunks = s->tile_n / s->frag_n;
    f->groups = 1;
    for (uint8_t i = 0; i < f->map.row.bits; i++)
        if (!f->map.row.bit[i].lane) f->groups *= 2;
    f->slots = f->down * f->groups;
    FlashTile q = flash_tile(s->tile_m, f->a->size, s->frag_k);
    FlashTile v = flash_tile(s->tile_n, f->a->value_size, s->frag_n);
    f->depth = q.columns / s->frag_k, f->across = v.columns / s->frag_n;
    return true;
}

// A lane's part of a row or column number.
static KVal lane_part(Flash *f, const FragmentAxis *axis) {
    KBuilder *b = f->l->b;
    KVal part = number(f, 0), one = number(f, 1);
    for (uint8_t i = 0; i < axis->bits; i++) {
        if (!axis->bit[i].lane) continue;
        KVal bit = k_and(b, k_shr(b, f->lane, number(f, axis->bit[i].bit)), one);
        part = k_or(b, part, k_shl(b, bit, number(f, i)));
    }
    return part;
}

static void flash_place(Flash *f) {
    KBuilder *b = f->l->b;
    const Schedule *s = f->s;
    f->id = k_local_id(b), f->warp = k_subgroup_id(b), f->lane = k_subgroup_lane(b);
    f->lane_row = lane_part(f, &f->map.row), f->lane_column = lane_part(f, &f->map.column);
    KVal own = k_iadd(b, k_iadd(b, f->a->first_row, k_imul(b, f->warp, number(f, s->warp_m))),
                      f->lane_row);
    for (unsigned i = 0; i < f->down; i++)
        for (unsigned c = 0; c < f->map.components; c++) {
            unsigned part = fragment_component_part(&f->map.row, c) + i * s->frag_m;
            f->row[flash_slot(f, i, c)] = k_iadd(b, own, number(f, part));
        }
}

static void flash_sides(Flash *f) {
    const Attention *a = f->a;
    const Schedule *s = f->s;
    FlashTile q = flash_tile(s->tile_m, a->size, s->frag_k);
    FlashTile k = flash_tile(s->tile_n, a->size, s->frag_k);
    FlashTile v = flash_tile(s->tile_n, a->value_size, s->frag_n);
    f->region = k_shared(f->l->b, "tiles", DT_I32, 4, flash_shared_words(&f->shape, s) / 4);
    flash_side_begin(f, &f->q, &f->shape.q, q, 0, a->head);
    flash_side_begin(f, &f->k, &f->shape.k, k, 0, a->key_head);
    flash_side_begin(f, &f->v, &f->shape.v, v, k.rows * k.pitch, a->key_head);
    f->v.zero = true;
}

static KVal fragment_at(Flash *f, const FlashSide *side, KType type, KVal row, unsigned at_row,
                        unsigned at_column, KLayout layout) {
    KBuilder *b = f->l->b;
    unsigned words = side->first + at_row * side->tile.pitch + at_column / 2;
    KVal at = k_iadd(b, k_imul(b, row, number(f, side->tile.pitch)), number(f, words));
    return k_frag_shared_load(b, type, f->region, at, number(f, side->tile.pitch), layout);
}

// The subgroup's rows as fragments; the region is then free.
static void flash_queries(Flash *f) {
    KBuilder *b = f->l->b;
    const Schedule *s = f->s;
    KVal moves[FLASH_MOVES_MAX], warp_row = k_imul(b, f->warp, number(f, s->warp_m));
    KType left = ktype_frag(KU_A, f->shape.dtype, s->frag_m, s->frag_k);
    flash_side_fetch(f, &f->q, f->a->first_row, moves);
    flash_side_put(f, &f->q, moves);
    k_barrier(b);
    for (unsigned i = 0; i < f->down; i++)
        for (unsigned d = 0; d < f->depth; d++)
            f->query[i * f->depth + d] =
                fragment_at(f, &f->q, left, warp_row, i * s->frag_m, d * s->frag_k, KL_ROW_MAJOR);
    k_barrier(b);
}

static void flash_scores(Flash *f, KVal *score) {
    const Schedule *s = f->s;
    KType right = ktype_frag(KU_B, f->shape.dtype, s->frag_k, s->frag_n);
    for (unsigned i = 0; i < f->down * f->chunks; i++) score[i] = f->zero;
    for (unsigned d = 0; d < f->depth; d++)
        for (unsigned n = 0; n < f->chunks; n++) {
            KVal key = fragment_at(f, &f->k, right, number(f, 0), n * s->frag_n, d * s->frag_k,
                                   KL_COL_MAJOR);
            for (unsigned i = 0; i < f->down; i++) {
                KVal *own = &score[i * f->chunks + n];
                *own = k_frag_mul_add(f->l->b, f->query[i * f->depth + d], key, *own);
            }
        }
}

static void flash_values(Flash *f, const KVal *weight, KVal *sum) {
    const Schedule *s = f->s;
    KType right = ktype_frag(KU_B, f->shape.dtype, s->frag_k, s->frag_n);
    for (unsigned n = 0; n < f->chunks; n++)
        for (unsigned d = 0; d < f->across; d++) {
            KVal value = fragment_at(f, &f->v, right, number(f, 0), n * s->frag_k, d * s->frag_n,
                                     KL_ROW_MAJOR);
            for (unsigned i = 0; i < f->down; i++) {
                KVal *own = &sum[i * f->across + d];
                *own = k_frag_mul_add(f->l->b, weight[i * f->chunks + n], value, *own);
            }
        }
}

static FlashCarry flash_carry(const Flash *f) {
    FlashCarry at = {.base = f->down * f->across};
    at.weight = at.base + f->slots;
    at.k_moves = at.weight + f->slots;
    at.v_moves = at.k_moves + f->k.count;
    at.scores = at.v_moves + f->v.count;
    at.count = at.scores + (f->s->stages == 3 ? f->down * f->chunks : 0);
    return at;
}

static FlashState state_of(const Flash *f, const FlashCarry *at, const KVal *now) {
    FlashState state;
    for (unsigned i = 0; i < at->base; i++) state.sum[i] = now[i];
    for (unsigned r = 0; r < f->slots; r++)
        state.base[r] = now[at->base + r], state.weight[r] = now[at->weight + r];
    return state;
}

static void put_state(const Flash *f, const FlashCarry *at, const FlashState *state, KVal *now) {
    for (unsigned i = 0; i < at->base; i++) now[i] = state->sum[i];
    for (unsigned r = 0; r < f->slots; r++)
        now[at->base + r] = state->base[r], now[at->weight + r] = state->weight[r];
}

// First row of a tile; past the last tile that one again, which nobody will look at.
static KVal tile_row(Flash *f, KVal tile) {
    Lower *l = f->l;
    Dim size = dim_const(l->dims, f->s->tile_n), one = dim_const(l->dims, 1);
    Dim last = dim_sub(l->dims, dim_ceil_div(l->dims, f->a->keys, size), one);
    KVal near = k_smin(l->b, tile, lower_dim(l, last));
    return k_imul(l->b, near, number(f, f->s->tile_n));
}

// One tile: `now` goes from what it needs to what the next one needs. In stages 1 both operands
// wait in registers; in 2 the keys are stored already, those of the next tile wait; in 3 the scores
// are made already, the keys of the next tile are stored and those of the one after it wait.
static void flash_tile_step(Flash *f, const FlashCarry *at, KVal tile, KVal *now) {
    KBuilder *b = f->l->b;
    unsigned stages = f->s->stages;
    KVal score[FLASH_FRAGMENTS_MAX], next[FLASH_FRAGMENTS_MAX], weight[FLASH_FRAGMENTS_MAX];
    KVal first_key = k_imul(b, tile, number(f, f->s->tile_n)), *k = now + at->k_moves;
    KVal *v = now + at->v_moves;
    FlashState state = state_of(f, at, now);
    k_barrier(b); // the last tile's values have been read
    if (stages == 1) flash_side_put(f, &f->k, k);
    flash_side_put(f, &f->v, v);
    if (stages == 1) {
        k_barrier(b);
        flash_side_fetch(f, &f->k, tile_row(f, k_iadd(b, tile, number(f, 1))), k);
    }
    flash_side_fetch(f, &f->v, tile_row(f, k_iadd(b, tile, number(f, 1))), v);
    KVal *mask = flash_masks(f, first_key); // under way while the products are made
    flash_scores(f, stages == 3 ? next : score);
    if (stages == 3)
        for (unsigned i = 0; i < f->down * f->chunks; i++) score[i] = now[at->scores + i];
    if (stages == 3) flash_softmax(f, first_key, score, mask, &state, weight);
    if (stages > 1) {
        k_barrier(b); // these keys have been read, and the values are there
        flash_side_put(f, &f->k, k);
        flash_side_fetch(f, &f->k, tile_row(f, k_iadd(b, tile, number(f, stages))), k);
    }
    if (stages < 3) flash_softmax(f, first_key, score, mask, &state, weight);
    flash_values(f, weight, state.sum);
    put_state(f, at, &state, now);
    if (stages == 3)
        for (unsigned i = 0; i < f->down * f->chunks; i++) now[at->scores + i] = next[i];
}

// What the first tile needs.
static void flash_start(Flash *f, const FlashCarry *at, KVal tile, KVal *init) {
    KBuilder *b = f->l->b;
    unsigned stages = f->s->stages;
    KVal *k = init + at->k_moves;
    flash_queries(f);
    for (unsigned i = 0; i < at->base; i++) init[i] = f->zero;
    for (unsigned r = 0; r < f->slots; r++)
        init[at->base + r] = k_f32(b, -INFINITY), init[at->weight + r] = k_f32(b, 0);
    flash_side_fetch(f, &f->v, tile_row(f, tile), init + at->v_moves);
    flash_side_fetch(f, &f->k, tile_row(f, tile), k);
    for (unsigned ahead = 1; ahead < stages; ahead++) {
        flash_side_put(f, &f->k, k);
        flash_side_fetch(f, &f->k, tile_row(f, k_iadd(b, tile, number(f, ahead))), k);
        if (ahead + 1 == stages) break;
        k_barrier(b);
        flash_scores(f, init + at->scores);
        k_barrier(b);
    }
}

// Tiles [first, end), `now` from what the first needs to what is left after the last.
static void flash_tiles(Flash *f, const FlashCarry *at, KVal first, KVal end, KVal *now) {
    KBuilder *b = f->l->b;
    KVal in[FLASH_CARRY_MAX];
    unsigned hint = f->s->unroll == 1 ? K_LOOP_DONT_UNROLL : K_LOOP_PLAIN;
    KVal tile = k_loop_begin(b, first, end, number(f, 1), hint, at->count, now, in);
    flash_tile_step(f, at, tile, in);
    k_loop_end(b, in, now);
}

static void flash_loop(Flash *f, FlashState *state) {
    KBuilder *b = f->l->b;
    KVal now[FLASH_CARRY_MAX], first, end;
    FlashCarry at = flash_carry(f);
    KVal size = number(f, f->s->tile_n), wide = number(f, f->s->tile_n - 1);
    attention_range(f->a, f->s->tile_m, &first, &end);
    first = k_udiv(b, first, size), end = k_udiv(b, k_iadd(b, end, wide), size);
    flash_start(f, &at, first, now);
    if (f->s->apart) {
        KVal from, to;
        flash_whole_tiles(f, &from, &to);
        from = k_smin(b, k_smax(b, from, first), end);
        to = k_smin(b, k_smax(b, to, from), end);
        if (f->a->window) flash_tiles(f, &at, first, from, now);
        f->seen = true;
        flash_tiles(f, &at, from, to, now);
        f->seen = false, first = to;
    }
    flash_tiles(f, &at, first, end, now);
    *state = state_of(f, &at, now);
}

static void flash_store_row(Flash *f, const FlashState *state, unsigned slot, KVal inverse) {
    KBuilder *b = f->l->b;
    unsigned lanes = flash_neighbours(f), width = f->s->frag_n;
    while (f->a->value_size % lanes) lanes /= 2;
    for (unsigned i = 0; i < f->down * f->across; i++) {
        unsigned d = i % f->across;
        KVal first = k_iadd(b, f->lane_column, number(f, d * width));
        bool whole = (d + 1) * width <= f->a->value_size;
        for (unsigned c = 0; c < f->map.components; c += lanes) {
            KVal value[4];
            if (flash_slot(f, i / f->across, c) != slot) continue;
            uint32_t part = fragment_component_part(&f->map.column, c);
            KVal column = k_iadd(b, first, number(f, part));
            for (unsigned n = 0; n < lanes; n++)
                value[n] = k_fmul(b, k_frag_extract(b, state->sum[i], c + n), inverse);
            if (!whole) k_if_begin(b, k_slt(b, column, number(f, f->a->value_size)));
            attention_result(f->a, f->row[slot], column, k_vector(b, lanes, value));
            if (!whole) k_if_end(b, 0, NULL, NULL);
        }
    }
}

static void flash_store(Flash *f, const FlashState *state) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    bool whole = dim_divides(l->dims, f->s->tile_m, f->a->rows);
    for (unsigned r = 0; r < f->slots; r++) {
        KVal inverse = attention_inverse(f->a, flash_across(f, state->weight[r], k_fadd));
        if (!whole) k_if_begin(b, k_slt(b, f->row[r], lower_dim(l, f->a->rows)));
        flash_store_row(f, state, r, inverse);
        if (!whole) k_if_end(b, 0, NULL, NULL);
    }
}

bool lower_attention_coop(Attention *a) {
    Flash *f = arena_alloc(a->l->arena, sizeof *f);
    FlashState state;
    f->a = a, f->l = a->l, f->s = a->l->schedule;
    if (!flash_begin(f)) return false;
    Dim groups = attention_place(a, f->s->tile_m);
    flash_place(f);
    flash_sides(f);
    KType sums = ktype_frag(KU_ACC, DT_F32, f->s->frag_m, f->s->frag_n);
    f->zero = k_frag_fill(a->l->b, sums, k_f32(a->l->b, 0));
    flash_loop(f, &state);
    flash_store(f, &state);
    return lower_finish(a->l, groups, attention_flops(a));
}
