// Family "scan": the kernels by op, and what they share.
#include "passes/lower_scan.h"

Space scan_space(Lower *l, const ScanShape *shape, ValueId value) {
    const Type *type = &graph_value(l->graph, value)->type;
    Space space = space_of(l, type->rank, type->size);
    uint8_t to = 0;
    for (uint8_t a = 0; a < type->rank; a++)
        if (a != shape->axis) space.axes[to++] = a;
    space.axes[to] = shape->axis;
    space.permuted = shape->axis + 1 != type->rank;
    space.rank = 2;
    space.size[0] = shape->rows, space.size[1] = type->size[shape->axis];
    return space;
}

KVal scan_at(Lower *l, ValueId value, const Space *space, KVal row, KVal at) {
    Point point = point_make(space, 1);
    point.index[0] = row, point.index[1] = at;
    return lower_value(l, value, &point);
}

static Dim scan_each(Lower *l, const ScanShape *shape) {
    return dim_ceil_div(l->dims, shape->length, dim_const(l->dims, l->schedule->local));
}

Dim scan_element_groups(Lower *l, const ScanShape *shape) {
    return dim_mul(l->dims, shape->rows, scan_each(l, shape));
}

ScanElement scan_element(Lower *l, const ScanShape *shape) {
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    Dim one = dim_const(dims, 1);
    KVal group = lower_workgroup(l, scan_element_groups(l, shape));
    KVal each = lower_dim(l, dim_max(dims, scan_each(l, shape), one));
    KVal first = k_imul(b, k_urem(b, group, each), k_i32(b, (int32_t)l->schedule->local));
    ScanElement element = {.row = k_udiv(b, group, each), .at = k_iadd(b, first, k_local_id(b))};
    if (!dim_divides(dims, l->schedule->local, shape->length)) {
        element.inside = k_slt(b, element.at, lower_dim(l, shape->length));
        element.at = k_smin(b, element.at, lower_dim(l, dim_sub(dims, shape->length, one)));
    }
    return element;
}

// How many halvings empty a range of up to `most` elements.
static KVal search_steps(Lower *l, Dim most) {
    KBuilder *b = l->b;
    int64_t high = dim_bounds(l->dims, most).hi;
    KVal size = lower_dim(l, most), steps = k_i32(b, 0), one = k_i32(b, 1);
    for (int bit = 0; bit < 31 && (INT64_C(1) << bit) <= high; bit++) {
        KVal more = k_sle(b, k_i32(b, (int32_t)(1u << bit)), size);
        steps = k_iadd(b, steps, k_select(b, more, one, k_i32(b, 0)));
    }
    return steps;
}

KVal scan_search(Lower *l, const ScanSearch *search, KVal key, KVal after) {
    KBuilder *b = l->b;
    KVal zero = k_i32(b, 0), one = k_i32(b, 1), init[] = {search->lo, search->hi}, now[2], out[2];
    k_loop_begin(b, zero, search_steps(l, search->most), one, K_LOOP_PLAIN, 2, init, now);
    KVal middle = k_sar(b, k_iadd(b, now[0], now[1]), one);
    KVal read = k_smin(b, k_smax(b, middle, zero), search->last);
    KVal other = scan_at(l, search->keys, search->space, search->row, read);
    KVal before = k_slt(b, other, key), open = k_slt(b, now[0], now[1]);
    if (after) before = k_or(b, before, k_and(b, after, k_ieq(b, other, key)));
    KVal next[2] = {k_select(b, k_and(b, open, before), k_iadd(b, middle, one), now[0]),
                    k_select(b, k_and(b, open, k_not(b, before)), middle, now[1])};
    k_loop_end(b, next, out);
    return out[0];
}

// ---- lanes of a row
// ------------------------------------------------------------------------------------------

bool scan_lanes_begin(Lower *l, ScanLanes *s) {
    const FoldLanes *lanes = &s->lanes;
    unsigned parts = lanes->subgroup ? lanes->count / lanes->subgroup : 0;
    if (lanes->subgroup && parts > lanes->subgroup) {
        lower_fail(l, "a row has more subgroups than a subgroup has lanes");
        return false;
    }
    if (lanes->count > 1 && (!lanes->subgroup || parts > 1))
        s->region = k_shared(l->b, "sums", s->is_float ? DT_F32 : DT_I32, 1,
                             lanes->subgroup ? lanes->local : 2 * lanes->local);
    return true;
}

static KVal scan_add(Lower *l, const ScanLanes *s, KVal x, KVal y) {
    return s->is_float ? k_fadd(l->b, x, y) : k_iadd(l->b, x, y);
}

static KVal scan_zero(Lower *l, const ScanLanes *s) {
    return s->is_float ? k_f32(l->b, 0) : k_i32(l->b, 0);
}

static KVal scan_read(Lower *l, const ScanLanes *s, KVal at) {
    return k_shared_load(l->b, s->region, at, K_TYPE(s->is_float ? KT_F32 : KT_I32, 1));
}

// Running sums over the `count` neighbours of a subgroup that `lane` counts.
static KVal scan_subgroup(Lower *l, const ScanLanes *s, KVal value, KVal lane, unsigned count) {
    KBuilder *b = l->b;
    for (unsigned step = 1; step < count; step *= 2) {
        KVal by = k_i32(b, (int32_t)step);
        KVal other = k_shuffle(b, value, k_isub(b, k_subgroup_lane(b), by));
        value = k_select(b, k_sle(b, by, lane), scan_add(l, s, value, other), value);
    }
    return value;
}

// The sum before `lane`, which running sums over `count` neighbours hold, and the last of them.
static void scan_ends(Lower *l, const ScanLanes *s, KVal sums, KVal lane, KVal from, unsigned count,
                      KVal *before, KVal *whole) {
    KBuilder *b = l->b;
    KVal first = k_isub(b, k_subgroup_lane(b), from); // subgroup's lane that holds the first sum
    KVal previous = k_iadd(b, first, k_isub(b, lane, k_i32(b, 1)));
    KVal other = k_shuffle(b, sums, previous);
    *before = k_select(b, k_ieq(b, lane, k_i32(b, 0)), scan_zero(l, s), other);
    *whole = k_shuffle(b, sums, k_iadd(b, first, k_i32(b, (int32_t)count - 1)));
}

static void scan_subgroups(Lower *l, const ScanLanes *s, KVal own, KVal *before, KVal *whole) {
    KBuilder *b = l->b;
    const FoldLanes *lanes = &s->lanes;
    unsigned size = lanes->subgroup, near = lanes->count < size ? lanes->count : size;
    KVal within = k_urem(b, lanes->lane, k_i32(b, (int32_t)near));
    KVal sums = scan_subgroup(l, s, own, within, near);
    scan_ends(l, s, sums, within, within, near, before, whole);
    if (near == lanes->count) return;
    unsigned parts = lanes->count / size;
    KVal base = k_imul(b, lanes->row, k_i32(b, (int32_t)parts));
    KVal part = k_udiv(b, lanes->lane, k_i32(b, (int32_t)size));
    k_if_begin(b, k_ieq(b, within, k_i32(b, 0)));
    k_shared_store(b, s->region, k_iadd(b, base, part), *whole);
    k_if_end(b, 0, NULL, NULL);
    k_barrier(b);
    KVal each = k_urem(b, within, k_i32(b, (int32_t)parts)), earlier;
    sums = scan_subgroup(l, s, scan_read(l, s, k_iadd(b, base, each)), each, parts);
    scan_ends(l, s, sums, part, each, parts, &earlier, whole);
    *before = scan_add(l, s, earlier, *before);
    k_barrier(b); // the region may be written again
}

// In steps of 1, 2, 4, ... lanes through workgroup memory, from one half of it to the other.
static void scan_shared(Lower *l, const ScanLanes *s, KVal own, KVal *before, KVal *whole) {
    KBuilder *b = l->b;
    const FoldLanes *lanes = &s->lanes;
    KVal id = lanes->invocation, half = k_i32(b, (int32_t)lanes->local), zero = k_i32(b, 0);
    KVal from = zero, to = half, sum = own;
    k_shared_store(b, s->region, id, own);
    k_barrier(b);
    for (unsigned step = 1; step < lanes->count; step *= 2) {
        KVal by = k_i32(b, (int32_t)step), far = k_sle(b, by, lanes->lane);
        KVal back = k_select(b, far, k_isub(b, id, by), id);
        KVal other = scan_read(l, s, k_iadd(b, from, back));
        sum = k_select(b, far, scan_add(l, s, other, sum), sum);
        k_shared_store(b, s->region, k_iadd(b, to, id), sum);
        k_barrier(b);
        KVal swap = from;
        from = to, to = swap;
    }
    KVal first = k_ieq(b, lanes->lane, zero);
    KVal back = k_select(b, first, id, k_isub(b, id, k_i32(b, 1)));
    KVal other = scan_read(l, s, k_iadd(b, from, back));
    *before = k_select(b, first, scan_zero(l, s), other);
    KVal last = k_isub(b, k_iadd(b, id, k_i32(b, (int32_t)lanes->count - 1)), lanes->lane);
    *whole = scan_read(l, s, k_iadd(b, from, last));
    k_barrier(b);
}

void scan_across(Lower *l, const ScanLanes *s, KVal own, KVal *before, KVal *whole) {
    *before = scan_zero(l, s), *whole = own;
    if (s->lanes.count == 1) return;
    if (s->lanes.subgroup)
        scan_subgroups(l, s, own, before, whole);
    else
        scan_shared(l, s, own, before, whole);
}

// ---- the kernels by op
// ------------------------------------------------------------------------------------------

typedef struct ScanKernel {
    OpId op;
    bool (*lower)(Lower *l, const ScanShape *shape);
} ScanKernel;

static const ScanKernel scan_kernels[] = {
    {OP_PREFIX_SUM, lower_prefix_sum},
    {OP_SORT_BLOCKS, lower_sort_blocks},
    {OP_MERGE_BLOCKS, lower_merge_blocks},
    {OP_SEGMENTS, lower_segments},
    {OP_COUNTS, lower_counts},
};

bool lower_scan(Lower *l) {
    ScanShape shape;
    if (scan_shape(l->graph, graph_node(l->graph, l->node), &shape))
        for (unsigned i = 0; i < sizeof scan_kernels / sizeof scan_kernels[0]; i++)
            if (scan_kernels[i].op == shape.node->op) return scan_kernels[i].lower(l, &shape);
    lower_fail(l, "family scan has no kernel for it");
    return false;
}
