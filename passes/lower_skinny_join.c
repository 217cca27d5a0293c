// Form "skinny" along K: the lanes' sums become one lane's.
//
// Within a subgroup lanes halve the sums between them: at each step a lane hands half of its sums
// to its partner and takes the partner's part of the others, so that n sums take about n shuffles,
// not n log2(lanes). Subgroups join through workgroup memory, in order.
#include "passes/lower_skinny.h"

static KVal join_add(Lower *l, const SkinnyJoin *j, KVal x, KVal y) {
    return j->fold.dtype == DT_F32 ? k_fadd(l->b, x, y) : k_iadd(l->b, x, y);
}

// Lane bit `step` is set: the lane keeps the upper half.
static KVal join_bit(Lower *l, const SkinnyJoin *j, unsigned step) {
    KBuilder *b = l->b;
    KVal bit = k_and(b, j->lanes->lane, k_i32(b, (int32_t)step));
    return k_ine(b, bit, k_i32(b, 0));
}

// Of `2 * half` sums, which are `count` and then zeros, half of them remain.
static void join_halve(Lower *l, SkinnyJoin *j, unsigned count, unsigned half, unsigned step) {
    KBuilder *b = l->b;
    KVal upper = join_bit(l, j, step), zero = j->fold.dtype == DT_F32 ? k_f32(b, 0) : k_i32(b, 0);
    for (unsigned i = 0; i < half * j->cells; i++) {
        unsigned above = i + half * j->cells;
        KVal low = j->sum[i], high = above < count * j->cells ? j->sum[above] : zero;
        KVal mine = k_select(b, upper, high, low), other = k_select(b, upper, low, high);
        j->sum[i] = join_add(l, j, mine, k_shuffle_xor(b, other, k_i32(b, (int32_t)step)));
    }
    KVal more = k_select(b, upper, k_i32(b, (int32_t)half), k_i32(b, 0));
    j->index = k_iadd(b, j->index, more);
}

// Among the lanes of a subgroup. Lanes that hold the same sum: the first of them owns it.
static void join_near(Lower *l, SkinnyJoin *j, unsigned lanes) {
    KBuilder *b = l->b;
    unsigned count = j->count, half = 1, step = lanes / 2;
    while (2 * half < count) half *= 2;
    j->index = k_i32(b, 0);
    for (; step && count > 1; step /= 2, half /= 2) {
        join_halve(l, j, count, half, step);
        count = half;
    }
    unsigned same = step ? 2 * step : 1;
    for (; step; step /= 2)
        for (unsigned c = 0; c < j->cells; c++) {
            KVal other = k_shuffle_xor(b, j->sum[c], k_i32(b, (int32_t)step));
            j->sum[c] = join_add(l, j, j->sum[c], other);
        }
    KVal rest = k_and(b, j->lanes->lane, k_i32(b, (int32_t)(same - 1)));
    j->owns =
        k_and(b, k_ieq(b, rest, k_i32(b, 0)), k_slt(b, j->index, k_i32(b, (int32_t)j->count)));
}

// Among the subgroups of a row: lane i then owns sum i.
static void join_far(Lower *l, SkinnyJoin *j) {
    KBuilder *b = l->b;
    const FoldLanes *lanes = j->lanes;
    unsigned parts = lanes->count / lanes->subgroup, all = j->count * j->cells;
    DType dtype = j->fold.dtype;
    uint32_t region = k_shared(b, "sums", dtype, 1, lanes->local / lanes->subgroup * all);
    KVal size = k_i32(b, (int32_t)lanes->subgroup), width = k_i32(b, (int32_t)all);
    KVal row = k_imul(b, lanes->row, k_i32(b, (int32_t)(parts * all)));
    KVal own = k_iadd(b, row, k_imul(b, k_udiv(b, lanes->lane, size), width));
    KVal cells = k_i32(b, (int32_t)j->cells);
    k_if_begin(b, j->owns);
    KVal at = k_iadd(b, own, k_imul(b, j->index, cells));
    for (unsigned c = 0; c < j->cells; c++)
        k_shared_store(b, region, k_iadd(b, at, k_i32(b, (int32_t)c)), j->sum[c]);
    k_if_end(b, 0, NULL, NULL);
    k_barrier(b);
    j->owns = k_slt(b, lanes->lane, k_i32(b, (int32_t)j->count));
    j->index = k_smin(b, lanes->lane, k_i32(b, (int32_t)j->count - 1));
    KVal first = k_iadd(b, row, k_imul(b, j->index, cells));
    KType word = K_TYPE(dtype == DT_F32 ? KT_F32 : KT_I32, 1);
    for (unsigned c = 0; c < j->cells; c++)
        for (unsigned p = 0; p < parts; p++) {
            KVal from = k_iadd(b, first, k_i32(b, (int32_t)(p * all + c)));
            KVal part = k_shared_load(b, region, from, word);
            j->sum[c] = p ? join_add(l, j, j->sum[c], part) : part;
        }
}

// Without subgroups of a known size: sum by sum through workgroup memory; all lanes get all.
static void join_plain(Lower *l, SkinnyJoin *j) {
    KBuilder *b = l->b;
    fold_lanes_begin(l, j->lanes, &j->fold, 1);
    for (unsigned i = 0; i < j->count * j->cells; i++)
        fold_across(l, j->lanes, &j->fold, &j->sum[i]);
    j->index = j->lanes->lane;
    j->owns = k_slt(b, j->index, k_i32(b, (int32_t)j->count));
    for (unsigned i = 1; i < j->count; i++) {
        KVal own = k_ieq(b, j->index, k_i32(b, (int32_t)i));
        for (unsigned c = 0; c < j->cells; c++)
            j->sum[c] = k_select(b, own, j->sum[i * j->cells + c], j->sum[c]);
    }
}

void skinny_join(Lower *l, SkinnyJoin *j) {
    const FoldLanes *lanes = j->lanes;
    for (unsigned i = 0; i < j->count * j->cells; i++) fold_lanes(l, &j->fold, &j->sum[i]);
    if (!lanes->subgroup) {
        join_plain(l, j);
        return;
    }
    join_near(l, j, lanes->count < lanes->subgroup ? lanes->count : lanes->subgroup);
    if (lanes->count > lanes->subgroup) join_far(l, j);
}
