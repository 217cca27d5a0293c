// A tile's softmax on accumulators whose components have known places: masks, running maxima and
// sums, and weights as left operands. Scores are kept in powers of two: scaled by log2(e).
#include "passes/lower_flash.h"

#include <math.h>

static const double log2_e = 1.4426950408889634;
enum { FLASH_ROOM = 8 }; // weights of up to 2^8 lose nothing, in f16 either

// One lane's scores of a tile, [down][chunks][components].
typedef struct Scores {
    unsigned count;
    KVal *at;
    bool plain;  // they are still to be scaled
    float scale; // from what they are to powers of two
} Scores;

unsigned flash_slot(const Flash *f, unsigned down, unsigned component) {
    unsigned group = 0, own = fragment_component_part(&f->map.row, component);
    bool seen[64] = {false};
    for (unsigned c = 0; c < f->map.components; c++)
        seen[fragment_component_part(&f->map.row, c)] = true;
    for (unsigned part = 0; part < own; part++) group += seen[part];
    return down * f->groups + group;
}

KVal flash_across(Flash *f, KVal x, KVal (*combine)(KBuilder *b, KVal x, KVal y)) {
    KBuilder *b = f->l->b;
    for (uint8_t i = 0; i < f->map.column.bits; i++)
        if (f->map.column.bit[i].lane) {
            KVal other = k_shuffle_xor(b, x, k_i32(b, 1 << f->map.column.bit[i].bit));
            x = combine(b, x, other);
        }
    return x;
}

static unsigned score_slot(const Flash *f, unsigned i) {
    unsigned components = f->map.components;
    return flash_slot(f, i / components / f->chunks, i % components);
}

// Key of a score, less what is the lane's part and the tile's first one.
static int32_t score_key(const Flash *f, unsigned i) {
    unsigned components = f->map.components, chunk = i / components % f->chunks;
    uint32_t part = fragment_component_part(&f->map.column, i % components);
    return (int32_t)(chunk * f->s->frag_n + part);
}

static Scores take_scores(Flash *f, const KVal *fragment) {
    unsigned components = f->map.components;
    const Attention *a = f->a;
    Scores x = {.count = f->down * f->chunks * components};
    x.at = arena_alloc(f->l->arena, x.count * sizeof *x.at);
    for (unsigned i = 0; i < x.count; i++)
        x.at[i] = k_frag_extract(f->l->b, fragment[i / components], i % components);
    bool adds = attention_has_mask(a) && !attention_mask_chooses(a);
    x.plain = !adds && a->softcap == 0 && a->scale > 0;
    x.scale = x.plain ? (float)(a->scale * log2_e) : 1;
    return x;
}

unsigned flash_neighbours(const Flash *f) {
    unsigned lanes = 1;
    for (uint8_t i = 0; i < 2 && i < f->map.column.bits; i++) {
        if (f->map.column.bit[i].lane || f->map.column.bit[i].bit != i) break;
        lanes *= 2;
    }
    return lanes;
}

KVal *flash_masks(Flash *f, KVal first_key) {
    Lower *l = f->l;
    if (!attention_has_mask(f->a)) return NULL;
    unsigned count = f->down * f->chunks * f->map.components, lanes = flash_neighbours(f);
    KVal *mask = arena_alloc(l->arena, count * sizeof *mask);
    KVal first = k_iadd(l->b, first_key, f->lane_column);
    while (!dim_divides(l->dims, lanes, f->a->keys)) lanes /= 2;
    for (unsigned i = 0; i < count; i += lanes) {
        KVal key = k_iadd(l->b, first, k_i32(l->b, score_key(f, i)));
        KVal some = attention_mask(f->a, f->row[score_slot(f, i)], key, lanes);
        for (unsigned n = 0; n < lanes; n++)
            mask[i + n] = lanes > 1 ? k_extract(l->b, some, n) : some;
    }
    return mask;
}

// Masks go in; where scores are not plain, they become powers of two here.
static void finish_scores(Flash *f, Scores *x, const KVal *mask) {
    KBuilder *b = f->l->b;
    const Attention *a = f->a;
    KVal scale = k_f32(b, (float)(a->scale * log2_e)), power = k_f32(b, (float)log2_e);
    for (unsigned i = 0; i < x->count; i++) {
        KVal own = mask ? mask[i] : 0;
        if (a->softcap != 0)
            x->at[i] = k_fmul(b, attention_score(a, x->at[i], own), power);
        else if (!own)
            x->at[i] = k_fmul(b, x->at[i], scale);
        else if (!attention_mask_chooses(a))
            x->at[i] = k_fma(b, own, power, k_fmul(b, x->at[i], scale));
        else
            x->at[i] = k_select(b, own, x->plain ? x->at[i] : k_fmul(b, x->at[i], scale),
                                k_f32(b, -INFINITY));
    }
}

void flash_whole_tiles(Flash *f, KVal *first, KVal *end) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    KVal zero = k_i32(b, 0), size = k_i32(b, (int32_t)f->s->tile_n);
    KVal wide = k_i32(b, (int32_t)f->s->tile_n - 1);
    KVal last_row = k_iadd(b, f->a->first_row, k_i32(b, (int32_t)f->s->tile_m - 1));
    AttentionLimits low = attention_limits(f->a, f->a->first_row);
    AttentionLimits high = attention_limits(f->a, last_row);
    *first = zero, *end = lower_dim(l, f->a->keys);
    if (high.lo) *first = k_udiv(b, k_iadd(b, k_smax(b, zero, high.lo), wide), size);
    if (low.hi) *end = k_smin(b, *end, k_smax(b, zero, k_iadd(b, low.hi, k_i32(b, 1))));
    *end = k_udiv(b, *end, size);
}

// Whether some row of the workgroup must not see some key of the tile; 0: never.
static KVal tile_is_cut(Flash *f, KVal first_key) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    KVal cut = 0, last_key = k_iadd(b, first_key, k_i32(b, (int32_t)f->s->tile_n - 1));
    KVal last_row = k_iadd(b, f->a->first_row, k_i32(b, (int32_t)f->s->tile_m - 1));
    AttentionLimits low = attention_limits(f->a, f->a->first_row);
    AttentionLimits high = attention_limits(f->a, last_row);
    if (!f->k.whole) cut = k_sle(b, lower_dim(l, f->a->keys), last_key);
    if (low.hi) {
        KVal past = k_slt(b, low.hi, last_key);
        cut = cut ? k_or(b, cut, past) : past;
    }
    if (high.lo) {
        KVal before = k_slt(b, first_key, high.lo);
        cut = cut ? k_or(b, cut, before) : before;
    }
    return cut;
}

static KVal score_visible(KBuilder *b, AttentionLimits own, int32_t key) {
    KVal visible = own.hi ? k_sle(b, k_i32(b, key), own.hi) : 0;
    if (!own.lo) return visible;
    KVal late = k_sle(b, own.lo, k_i32(b, key));
    return visible ? k_and(b, visible, late) : late;
}

static void cut_scores(Flash *f, Scores *x, KVal first_key, KVal cut) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    KVal none = k_f32(b, -INFINITY), *masked = arena_alloc(l->arena, x->count * sizeof *masked);
    AttentionLimits own[FLASH_SLOTS_MAX];
    k_if_begin(b, cut);
    KVal first = k_iadd(b, first_key, f->lane_column), keys = lower_dim(l, f->a->keys);
    KVal last = k_isub(b, keys, k_i32(b, 1));
    for (unsigned r = 0; r < f->slots; r++) {
        own[r] = attention_limits(f->a, f->row[r]);
        if (!f->k.whole) own[r].hi = own[r].hi ? k_smin(b, own[r].hi, last) : last;
        if (own[r].hi) own[r].hi = k_isub(b, own[r].hi, first);
        if (own[r].lo) own[r].lo = k_isub(b, own[r].lo, first);
    }
    for (unsigned i = 0; i < x->count; i++) {
        KVal visible = score_visible(b, own[score_slot(f, i)], score_key(f, i));
        masked[i] = k_select(b, visible, x->at[i], none);
    }
    k_else(b, x->count, masked);
    k_if_end(b, x->count, x->at, x->at);
}

static void shrink_sums(Flash *f, const KVal *shrink, FlashState *state) {
    KBuilder *b = f->l->b;
    for (unsigned r = 0; r < f->slots; r++)
        state->weight[r] = k_fmul(b, state->weight[r], shrink[r]);
    for (unsigned i = 0; i < f->down * f->across; i++)
        for (unsigned c = 0; c < f->map.components; c++) {
            KVal by = shrink[flash_slot(f, i / f->across, c)];
            KVal own = k_fmul(b, k_frag_extract(b, state->sum[i], c), by);
            state->sum[i] = k_frag_insert(b, state->sum[i], c, own);
        }
}

// The largest score of each slot among this lane's.
static void own_maxima(Flash *f, const Scores *x, KVal *largest) {
    KBuilder *b = f->l->b;
    KVal *score = arena_alloc(f->l->arena, x->count * sizeof *score);
    for (unsigned r = 0; r < f->slots; r++) {
        unsigned count = 0;
        for (unsigned i = 0; i < x->count; i++)
            if (score_slot(f, i) == r) score[count++] = x->at[i];
        for (; count > 1; count = (count + 1) / 2) // in pairs: a chain would be waited for
            for (unsigned i = 0; 2 * i < count; i++)
                score[i] =
                    2 * i + 1 < count ? k_fmax(b, score[2 * i], score[2 * i + 1]) : score[2 * i];
        largest[r] = x->plain ? k_fmul(b, score[0], k_f32(b, x->scale)) : score[0];
    }
}

// The rows' maxima become the bases of what is summed; sums so far shrink accordingly.
static void move_bases(Flash *f, const KVal *largest, bool cut, FlashState *state) {
    KBuilder *b = f->l->b;
    KVal shrink[FLASH_SLOTS_MAX], none = k_f32(b, -INFINITY);
    for (unsigned r = 0; r < f->slots; r++) {
        KVal row = flash_across(f, largest[r], k_fmax);
        KVal base = k_fmax(b, state->base[r], row), from = base;
        if (cut) from = k_select(b, k_feq(b, base, none), k_f32(b, 0), base);
        shrink[r] = k_exp2(b, k_fsub(b, state->base[r], from));
        state->base[r] = base;
    }
    shrink_sums(f, shrink, state);
}

static unsigned state_values(const Flash *f, FlashState *state, KVal **at) {
    unsigned count = 0;
    for (unsigned i = 0; i < f->down * f->across; i++) at[count++] = &state->sum[i];
    for (unsigned r = 0; r < f->slots; r++) at[count++] = &state->base[r];
    for (unsigned r = 0; r < f->slots; r++) at[count++] = &state->weight[r];
    return count;
}

// Only where some row of the subgroup has a score above its base by more than what weights may grow
// to: which lanes share a row matters only then.
static void move_bases_late(Flash *f, const KVal *largest, bool cut, FlashState *state) {
    enum { VALUES = FLASH_FRAGMENTS_MAX + 2 * FLASH_SLOTS_MAX };
    KBuilder *b = f->l->b;
    KVal moved = 0, before[VALUES], after[VALUES], *value[VALUES], *next[VALUES];
    KVal room = k_f32(b, f->s->lazy > 1 ? FLASH_ROOM : 0);
    FlashState small = *state;
    for (unsigned r = 0; r < f->slots; r++) {
        KVal higher = k_flt(b, k_fadd(b, state->base[r], room), largest[r]);
        moved = moved ? k_or(b, moved, higher) : higher;
    }
    unsigned count = state_values(f, state, value);
    (void)state_values(f, &small, next);
    k_if_begin(b, k_subgroup_or(b, moved));
    move_bases(f, largest, cut, &small);
    for (unsigned i = 0; i < count; i++) before[i] = *value[i], after[i] = *next[i];
    k_else(b, count, after);
    k_if_end(b, count, before, after);
    for (unsigned i = 0; i < count; i++) *value[i] = after[i];
}

static void make_weights(Flash *f, const Scores *x, bool cut, FlashState *state, KVal *weight) {
    KBuilder *b = f->l->b;
    unsigned components = f->map.components;
    KType left = ktype_frag(KU_A, f->shape.dtype, f->s->frag_m, f->s->frag_k);
    KVal empty = k_frag_fill(b, left, k_f32(b, 0)), minus[FLASH_SLOTS_MAX];
    for (unsigned r = 0; r < f->slots; r++) {
        KVal none = k_feq(b, state->base[r], k_f32(b, -INFINITY));
        KVal from = cut ? k_select(b, none, k_f32(b, 0), state->base[r]) : state->base[r];
        minus[r] = k_fneg(b, from);
    }
    for (unsigned i = 0; i < x->count; i++) {
        unsigned slot = score_slot(f, i), fragment = i / components;
        KVal power = x->plain ? k_fma(b, x->at[i], k_f32(b, x->scale), minus[slot])
                              : k_fadd(b, x->at[i], minus[slot]);
        KVal own = k_exp2(b, power);
        state->weight[slot] = k_fadd(b, state->weight[slot], own);
        KVal so_far = i % components ? weight[fragment] : empty;
        weight[fragment] = k_frag_insert(b, so_far, i % components, own);
    }
}

void flash_softmax(Flash *f, KVal first_key, const KVal *score, const KVal *mask, FlashState *state,
                   KVal *weight) {
    KVal largest[FLASH_SLOTS_MAX];
    Scores x = take_scores(f, score);
    if (!x.plain || mask) finish_scores(f, &x, mask);
    KVal cut = f->seen ? 0 : tile_is_cut(f, first_key);
    if (cut) cut_scores(f, &x, first_key, cut);
    bool may_be_none = cut || attention_has_mask(f->a);
    own_maxima(f, &x, largest);
    if (f->s->lazy)
        move_bases_late(f, largest, may_be_none, state);
    else
        move_bases(f, largest, may_be_none, state);
    make_weights(f, &x, may_be_none, state, weight);
}
