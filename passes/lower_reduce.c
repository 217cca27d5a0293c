#include "passes/lower_reduce.h"

#include <math.h>

static bool fold_is_arg(const Fold *fold) {
    return fold->op == OP_ARGMAX || fold->op == OP_ARGMIN;
}

Fold fold_of(const Graph *g, const Node *reduce) {
    Fold fold = {.op = reduce->op, .dtype = graph_value(g, reduce->operand[0])->type.dtype};
    fold.words = fold_is_arg(&fold) ? 2 : 1;
    return fold;
}

static bool fold_is_float(const Fold *fold) {
    return dtype_is_float(fold->dtype);
}

// The value that changes nothing.
static KVal fold_neutral(Lower *l, const Fold *fold) {
    bool is_float = fold_is_float(fold), is_signed = dtype_is_signed(fold->dtype);
    switch (fold->op) {
    case OP_PROD: return is_float ? k_f32(l->b, 1) : k_i32(l->b, 1);
    case OP_ALL: return k_i32(l->b, 1);
    case OP_MAX:
    case OP_ARGMAX:
        return is_float ? k_f32(l->b, -INFINITY) : k_i32(l->b, is_signed ? INT32_MIN : 0);
    case OP_MIN:
    case OP_ARGMIN:
        return is_float ? k_f32(l->b, INFINITY) : k_i32(l->b, is_signed ? INT32_MAX : -1);
    default: return is_float ? k_f32(l->b, 0) : k_i32(l->b, 0);
    }
}

void fold_start(Lower *l, const Fold *fold, unsigned lanes, KVal *state) {
    state[0] = k_splat(l->b, fold_neutral(l, fold), lanes);
    if (fold->words == 2) state[1] = k_splat(l->b, k_i32(l->b, INT32_MAX), lanes);
}

static KVal fold_above(KBuilder *b, const Fold *fold, KVal x, KVal y) { // x wins over y by value
    bool most = fold->op == OP_ARGMAX;
    KVal low = most ? y : x, high = most ? x : y;
    if (fold_is_float(fold)) return k_flt(b, low, high);
    return dtype_is_signed(fold->dtype) ? k_slt(b, low, high) : k_ult(b, low, high);
}

// A NaN wins over numbers; of equals, and of NaNs, the lower index.
static void fold_join_arg(KBuilder *b, const Fold *fold, KVal *state, const KVal *other) {
    KVal wins = fold_above(b, fold, other[0], state[0]), equal;
    if (fold_is_float(fold)) {
        KVal old_nan = k_fne(b, state[0], state[0]), new_nan = k_fne(b, other[0], other[0]);
        wins = k_or(b, wins, k_and(b, new_nan, k_not(b, old_nan)));
        equal = k_or(b, k_feq(b, other[0], state[0]), k_and(b, old_nan, new_nan));
    } else {
        equal = k_ieq(b, other[0], state[0]);
    }
    wins = k_or(b, wins, k_and(b, equal, k_slt(b, other[1], state[1])));
    state[0] = k_select(b, wins, other[0], state[0]);
    state[1] = k_select(b, wins, other[1], state[1]);
}

void fold_join(Lower *l, const Fold *fold, KVal *state, const KVal *other) {
    KBuilder *b = l->b;
    bool is_float = fold_is_float(fold);
    switch (fold->op) {
    case OP_PROD:
        state[0] = is_float ? k_fmul(b, state[0], other[0]) : k_imul(b, state[0], other[0]);
        return;
    case OP_ALL: state[0] = k_and(b, state[0], other[0]); return;
    case OP_ANY: state[0] = k_or(b, state[0], other[0]); return;
    case OP_MAX: state[0] = lower_larger(b, fold->dtype, state[0], other[0]); return;
    case OP_MIN: state[0] = lower_smaller(b, fold->dtype, state[0], other[0]); return;
    case OP_ARGMAX:
    case OP_ARGMIN: fold_join_arg(b, fold, state, other); return;
    default:
        state[0] = is_float ? k_fadd(b, state[0], other[0]) : k_iadd(b, state[0], other[0]);
        return;
    }
}

void fold_value(Lower *l, const Fold *fold, KVal *state, KVal value, KVal index) {
    KVal other[2] = {value, index};
    if (fold->dtype == DT_BOOL) other[0] = k_select(l->b, value, k_i32(l->b, 1), k_i32(l->b, 0));
    fold_join(l, fold, state, other);
}

void fold_lanes(Lower *l, const Fold *fold, KVal *state) {
    unsigned lanes = k_type(l->b, state[0]).lanes;
    KVal whole[2] = {state[0], fold->words == 2 ? state[1] : 0};
    for (unsigned i = 0; lanes > 1 && i < lanes; i++) {
        KVal part[2] = {k_extract(l->b, whole[0], i), whole[1] ? k_extract(l->b, whole[1], i) : 0};
        if (i == 0) {
            state[0] = part[0];
            if (whole[1]) state[1] = part[1];
        } else {
            fold_join(l, fold, state, part);
        }
    }
}

KVal fold_result(Lower *l, const Fold *fold, const KVal *state) {
    if (fold_is_arg(fold)) return state[1];
    if (fold->dtype == DT_BOOL) return k_ine(l->b, state[0], k_i32(l->b, 0));
    return state[0];
}

static const char *const fold_regions[3] = {"partial", "partial_int", "partial_index"};

static unsigned fold_region_kind(const Fold *fold, unsigned word) {
    return word == 1 ? 2 : fold_is_float(fold) ? 0 : 1;
}

void fold_lanes_begin(Lower *l, FoldLanes *lanes, const Fold *folds, unsigned count) {
    bool need[3] = {false, false, false};
    bool shared = lanes->subgroup ? lanes->count > lanes->subgroup : lanes->count > 1;
    for (unsigned i = 0; shared && i < count; i++)
        for (unsigned w = 0; w < folds[i].words; w++) need[fold_region_kind(&folds[i], w)] = true;
    for (unsigned kind = 0; kind < 3; kind++)
        if (need[kind])
            lanes->region[kind] =
                k_shared(l->b, fold_regions[kind], kind ? DT_I32 : DT_F32, 1, 2 * lanes->local);
}

static void fold_put(Lower *l, const FoldLanes *lanes, const Fold *fold, KVal at,
                     const KVal *state) {
    for (unsigned w = 0; w < fold->words; w++)
        k_shared_store(l->b, lanes->region[fold_region_kind(fold, w)], at, state[w]);
}

// Joins count partial states at first, first + step, ...
static void fold_take(Lower *l, const FoldLanes *lanes, const Fold *fold, KVal first,
                      unsigned count, unsigned step, KVal *state) {
    for (unsigned i = 0; i < count; i++) {
        KVal at = k_iadd(l->b, first, k_i32(l->b, (int32_t)(i * step))), part[2];
        for (unsigned w = 0; w < fold->words; w++) {
            unsigned kind = fold_region_kind(fold, w);
            part[w] =
                k_shared_load(l->b, lanes->region[kind], at, K_TYPE(kind ? KT_I32 : KT_F32, 1));
        }
        if (i == 0)
            for (unsigned w = 0; w < fold->words; w++) state[w] = part[w];
        else
            fold_join(l, fold, state, part);
    }
}

static void fold_subgroup(Lower *l, const Fold *fold, unsigned count, KVal *state) {
    for (unsigned step = count / 2; step; step /= 2) {
        KVal other[2];
        for (unsigned w = 0; w < fold->words; w++)
            other[w] = k_shuffle_xor(l->b, state[w], k_i32(l->b, (int32_t)step));
        fold_join(l, fold, state, other);
    }
}

// Through workgroup memory: every part of the row is joined by one lane, the parts by all lanes.
static void fold_shared(Lower *l, FoldLanes *lanes, const Fold *fold, KVal *state) {
    KBuilder *b = l->b;
    unsigned count = lanes->count, parts = count <= 16 ? count : count <= 64 ? 8 : 16;
    KVal base = k_imul(b, lanes->row, k_i32(b, (int32_t)count));
    fold_put(l, lanes, fold, lanes->invocation, state);
    k_barrier(b);
    if (parts < count) {
        k_if_begin(b, k_slt(b, lanes->lane, k_i32(b, (int32_t)parts)));
        KVal part[2];
        fold_take(l, lanes, fold, k_iadd(b, base, lanes->lane), count / parts, parts, part);
        fold_put(l, lanes, fold,
                 k_iadd(b, k_iadd(b, base, lanes->lane), k_i32(b, (int32_t)lanes->local)), part);
        k_if_end(b, 0, NULL, NULL);
        k_barrier(b);
        base = k_iadd(b, base, k_i32(b, (int32_t)lanes->local));
    }
    fold_take(l, lanes, fold, base, parts, 1, state);
}

static void fold_subgroups(Lower *l, FoldLanes *lanes, const Fold *fold, KVal *state) {
    KBuilder *b = l->b;
    unsigned parts = lanes->count / lanes->subgroup;
    KVal size = k_i32(b, (int32_t)lanes->subgroup);
    KVal first = k_ieq(b, k_urem(b, lanes->lane, size), k_i32(b, 0));
    KVal base = k_imul(b, lanes->row, k_i32(b, (int32_t)parts));
    k_if_begin(b, first);
    fold_put(l, lanes, fold, k_iadd(b, base, k_udiv(b, lanes->lane, size)), state);
    k_if_end(b, 0, NULL, NULL);
    k_barrier(b);
    unsigned near = parts < lanes->subgroup ? parts : lanes->subgroup; // each subgroup for itself
    KVal own = k_iadd(b, base, k_urem(b, lanes->lane, k_i32(b, (int32_t)near)));
    fold_take(l, lanes, fold, own, parts / near, near, state);
    fold_subgroup(l, fold, near, state);
}

void fold_across(Lower *l, FoldLanes *lanes, const Fold *fold, KVal *state) {
    if (lanes->count == 1) return;
    unsigned near = lanes->count < lanes->subgroup ? lanes->count : lanes->subgroup;
    if (lanes->subgroup) fold_subgroup(l, fold, near, state);
    if (near == lanes->count) return;
    if (lanes->used) k_barrier(l->b); // the partial states of the last fold have been read
    lanes->used = true;
    if (lanes->subgroup)
        fold_subgroups(l, lanes, fold, state);
    else
        fold_shared(l, lanes, fold, state);
}
