// Sorting by comparison networks in workgroup memory, and merging sorted blocks by ranks.
//
// Elements are pairs of a key, an integer that rises with the value, and the place in the row; no
// two pairs are equal, so that the order is the stable one. A workgroup sorts `rows` blocks of
// `block` pairs: for k = 1, 2, .. blocks of 2^k are made of two sorted halves, first by comparing
// places that mirror each other, then places 2^s apart for s = k - 2 .. 0, the smaller always to
// the front. Pairs past the end of the row are larger than all others, and rounds that only they
// would need are left out.
//
// K. E. Batcher, Sorting networks and their applications (1968); the form that never sorts
// downwards.
#include "passes/lower_scan.h"

#include "passes/build.h"

typedef struct Sort {
    Lower *l;
    const ScanShape *shape;
    ValueId x;
    DType dtype;
    bool descending;
    uint32_t block, rows, local;
    uint32_t keys, order; // regions
    Space space;
    KVal id, first; // of the workgroup's blocks
} Sort;

static KVal sort_number(const Sort *s, uint32_t value) {
    return k_i32(s->l->b, (int32_t)value);
}

// NaN is largest, both zeros are the same.
static KVal sort_key(const Sort *s, KVal x) {
    KBuilder *b = s->l->b;
    KVal key = x;
    if (dtype_is_float(s->dtype)) {
        KVal zero = k_feq(b, x, k_f32(b, 0)), bits = k_as_i32(b, x);
        KVal down = k_xor(b, bits, k_i32(b, INT32_MAX));
        key = k_select(b, k_slt(b, bits, k_i32(b, 0)), down, bits);
        key = k_select(b, zero, k_i32(b, 0), key);
        key = k_select(b, k_fne(b, x, x), k_i32(b, 0x7fc00000), key);
    } else if (!dtype_is_signed(s->dtype)) {
        key = k_xor(b, x, k_i32(b, INT32_MIN));
    }
    return s->descending ? k_not(b, key) : key;
}

// Which row an element of the workgroup belongs to, and where in it.
static ScanElement sort_element(const Sort *s, KVal e) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    Dim one = dim_const(dims, 1), units = dim_mul(dims, s->shape->rows, s->shape->blocks);
    KVal unit = k_iadd(b, s->first, k_udiv(b, e, sort_number(s, s->block))), inside = 0;
    if (!dim_divides(dims, s->rows, units)) {
        inside = k_slt(b, unit, lower_dim(l, units));
        unit = k_smin(b, unit, lower_dim(l, dim_sub(dims, units, one)));
    }
    KVal blocks = lower_dim(l, dim_max(dims, s->shape->blocks, one));
    KVal begin = k_imul(b, k_urem(b, unit, blocks), sort_number(s, s->block));
    ScanElement element = {.row = k_udiv(b, unit, blocks)};
    element.at = k_iadd(b, begin, k_urem(b, e, sort_number(s, s->block)));
    KVal in_row = k_slt(b, element.at, lower_dim(l, s->shape->length));
    element.inside = inside ? k_and(b, inside, in_row) : in_row;
    KVal last = lower_dim(l, dim_sub(dims, s->shape->length, one));
    element.at = k_smin(b, element.at, last);
    return element;
}

static void sort_load(const Sort *s) {
    KBuilder *b = s->l->b;
    KVal largest = k_i32(b, INT32_MAX);
    for (uint32_t i = 0; i < s->rows * s->block / s->local; i++) {
        KVal e = k_iadd(b, s->id, sort_number(s, i * s->local));
        ScanElement element = sort_element(s, e);
        KVal key = sort_key(s, scan_at(s->l, s->x, &s->space, element.row, element.at));
        k_shared_store(b, s->keys, e, k_select(b, element.inside, key, largest));
        k_shared_store(b, s->order, e, k_select(b, element.inside, element.at, largest));
    }
}

static KVal sort_read(const Sort *s, uint32_t region, KVal at) {
    return k_shared_load(s->l->b, region, at, K_TYPE(KT_I32, 1));
}

// Compares the pairs of places that differ by `mask`, whose highest bit is 1 << shift.
static void sort_exchange(const Sort *s, KVal shift, KVal mask) {
    KBuilder *b = s->l->b;
    KVal one = sort_number(s, 1), low = k_isub(b, k_shl(b, one, shift), one);
    for (uint32_t i = 0; i < s->rows * s->block / 2 / s->local; i++) {
        KVal t = k_iadd(b, s->id, sort_number(s, i * s->local));
        KVal high = k_shl(b, k_shr(b, t, shift), k_iadd(b, shift, one));
        KVal front = k_or(b, high, k_and(b, t, low)), back = k_xor(b, front, mask);
        KVal key[2] = {sort_read(s, s->keys, front), sort_read(s, s->keys, back)};
        KVal order[2] = {sort_read(s, s->order, front), sort_read(s, s->order, back)};
        KVal equal = k_and(b, k_ieq(b, key[0], key[1]), k_slt(b, order[1], order[0]));
        k_if_begin(b, k_or(b, k_slt(b, key[1], key[0]), equal));
        k_shared_store(b, s->keys, front, key[1]);
        k_shared_store(b, s->keys, back, key[0]);
        k_shared_store(b, s->order, front, order[1]);
        k_shared_store(b, s->order, back, order[0]);
        k_if_end(b, 0, NULL, NULL);
    }
}

// The logarithm of the blocks that hold all of a row, rounded up; at most that of a block.
static KVal sort_levels(const Sort *s) {
    KBuilder *b = s->l->b;
    KVal length = lower_dim(s->l, s->shape->length), levels = sort_number(s, 0);
    for (uint32_t size = 1; size < s->block; size *= 2) {
        KVal more = k_slt(b, sort_number(s, size), length);
        levels = k_iadd(b, levels, k_select(b, more, sort_number(s, 1), sort_number(s, 0)));
    }
    return levels;
}

static void sort_network(const Sort *s) {
    KBuilder *b = s->l->b;
    KVal zero = sort_number(s, 0), one = sort_number(s, 1);
    k_barrier(b);
    KVal level = k_loop_begin(b, zero, sort_levels(s), one, K_LOOP_DONT_UNROLL, 0, NULL, NULL);
    KVal step =
        k_loop_begin(b, zero, k_iadd(b, level, one), one, K_LOOP_DONT_UNROLL, 0, NULL, NULL);
    KVal shift = k_isub(b, level, step), bit = k_shl(b, one, shift);
    KVal mirror = k_isub(b, k_shl(b, bit, one), one);
    sort_exchange(s, shift, k_select(b, k_ieq(b, step, zero), mirror, bit));
    k_barrier(b);
    k_loop_end(b, NULL, NULL);
    k_loop_end(b, NULL, NULL);
}

// Stores those of the two results that something reads.
static void scan_store_pair(Lower *l, const Node *node, Point *point, KVal key, KVal order) {
    const Node *fused = graph_node(l->graph, l->node);
    point_set(l, point, node->result[0], key);
    point_set(l, point, node->result[1], order);
    for (uint32_t i = 0; i < fused->results; i++) lower_result(l, fused->result[i], point);
}

static void sort_store(const Sort *s) {
    Lower *l = s->l;
    KBuilder *b = l->b;
    for (uint32_t i = 0; i < s->rows * s->block / s->local; i++) {
        KVal e = k_iadd(b, s->id, sort_number(s, i * s->local));
        ScanElement element = sort_element(s, e);
        KVal key = sort_read(s, s->keys, e), order = sort_read(s, s->order, e);
        Point point = point_make(&s->space, 1);
        point.index[0] = element.row, point.index[1] = element.at;
        k_if_begin(b, element.inside);
        scan_store_pair(l, s->shape->node, &point, key, order);
        k_if_end(b, 0, NULL, NULL);
    }
}

bool lower_sort_blocks(Lower *l, const ScanShape *shape) {
    KBuilder *b = l->b;
    const Schedule *schedule = l->schedule;
    const Node *node = shape->node;
    Sort s = {.l = l,
              .shape = shape,
              .x = node->operand[0],
              .descending = build_attr(node, "descending")->i,
              .block = (uint32_t)build_attr(node, "chunk")->i,
              .rows = schedule->rows,
              .local = schedule->local};
    s.dtype = graph_value(l->graph, s.x)->type.dtype;
    uint32_t pairs = s.rows * s.block;
    if (!s.rows || pairs > 4096 || pairs % (2 * s.local)) {
        lower_fail(l, "rows * block must be rounds of 2 * local pairs, at most 4096");
        return false;
    }
    s.space = scan_space(l, shape, s.x);
    Dim units = dim_mul(l->dims, shape->rows, shape->blocks);
    Dim groups = dim_ceil_div(l->dims, units, dim_const(l->dims, s.rows));
    s.first = k_imul(b, lower_workgroup(l, groups), sort_number(&s, s.rows));
    s.id = k_local_id(b);
    s.keys = k_shared(b, "keys", DT_I32, 1, pairs);
    s.order = k_shared(b, "order", DT_I32, 1, pairs);
    sort_load(&s);
    sort_network(&s);
    sort_store(&s);
    return lower_finish(l, groups, dim_mul(l->dims, shape->rows, shape->length));
}

// ---- merging
// ---------------------------------------------------------------------------------------------

// Elements of the other blocks of its group that go before an element; own: its block in the group.
static KVal merge_rank(Lower *l, const ScanShape *shape, const Space *space, ScanElement element,
                       KVal begin, KVal own, KVal key, uint32_t fan) {
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    KVal zero = k_i32(b, 0), one = k_i32(b, 1), rank = zero, length = lower_dim(l, shape->length);
    KVal block = lower_dim(l, shape->block);
    KVal other = k_loop_begin(b, zero, k_i32(b, (int32_t)fan), one, K_LOOP_PLAIN, 1, &rank, &rank);
    ScanSearch search = {.keys = shape->node->operand[0],
                         .space = space,
                         .row = element.row,
                         .last = k_isub(b, length, one),
                         .most = dim_min(dims, shape->block, shape->length)};
    search.lo = k_smin(b, k_iadd(b, begin, k_imul(b, other, block)), length);
    search.hi = k_smin(b, k_iadd(b, search.lo, block), length);
    search.hi = k_select(b, k_ieq(b, other, own), search.lo, search.hi);
    KVal before = scan_search(l, &search, key, k_slt(b, other, own));
    KVal next = k_iadd(b, rank, k_isub(b, before, search.lo));
    k_loop_end(b, &next, &rank);
    return rank;
}

bool lower_merge_blocks(Lower *l, const ScanShape *shape) {
    KBuilder *b = l->b;
    const Node *node = shape->node;
    Space space = scan_space(l, shape, node->operand[0]);
    uint32_t fan = (uint32_t)build_attr(node, "fan")->i;
    int64_t whole;
    if (!checked_mul(build_attr(node, "chunk")->i, fan, &whole) || whole > INT32_MAX) {
        lower_fail(l, "block * fan is over 2^31");
        return false;
    }
    ScanElement element = scan_element(l, shape);
    KVal block = lower_dim(l, shape->block),
         within = k_urem(b, element.at, k_i32(b, (int32_t)whole));
    KVal begin = k_isub(b, element.at, within), own = k_udiv(b, within, block);
    KVal key = scan_at(l, node->operand[0], &space, element.row, element.at);
    KVal order = scan_at(l, node->operand[1], &space, element.row, element.at);
    KVal rank = merge_rank(l, shape, &space, element, begin, own, key, fan);
    Point point = point_make(&space, 1);
    point.index[0] = element.row;
    point.index[1] = k_iadd(b, k_iadd(b, begin, k_urem(b, within, block)), rank);
    if (element.inside) k_if_begin(b, element.inside);
    scan_store_pair(l, node, &point, key, order);
    if (element.inside) k_if_end(b, 0, NULL, NULL);
    Dim elements = dim_mul(l->dims, shape->rows, shape->length);
    return lower_finish(l, scan_element_groups(l, shape), elements);
}
