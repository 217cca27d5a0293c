// Scatter and bincount turned around: each element of the result looks for the indices that mean
// it, and joins their updates. No two invocations write one element, so there are no atomics and
// the bits are always the same. Many indices are sorted first, so that those of an element are
// neighbours (decompose_scan.c). Of few indices every element looks through all, in a reduce that
// fuses with what computes both.
#include "passes/decompose.h"

#include <math.h>
#include <string.h>

enum { SEARCHED_MAX = 32 }; // indices that are not sorted

static const bool shared[3]; // parts that others read too: none is lifted into a join

// Negative indices counted from the end; what is outside is negative afterwards.
static ValueId from_start(Builder *b, ValueId index, Dim size) {
    ValueId end = build_size(b, DT_I32, size), zero = build_number(b, DT_I32, 0);
    ValueId negative = build_map2(b, OP_LESS, "negative", index, zero);
    ValueId back = build_map2(b, OP_ADD, "back", index, end);
    return build_where(b, "index", negative, back, index);
}

// Stretched by elements of `value` at the end of an axis.
static ValueId extend(Builder *b, ValueId x, uint32_t axis, Dim size, double value) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, x);
    Dim more = dim_sub(dims, size, type.size[axis]);
    if (dim_is(dims, more, 0)) return x;
    type.size[axis] = more;
    ValueId fill = build_broadcast(b, build_number(b, type.dtype, value), type.rank, type.size);
    return decompose_join(b, "extended", (ValueId[]){x, fill}, shared, 2, axis);
}

static double neutral(const char *reduction, DType dtype) {
    bool is_float = dtype_is_float(dtype), is_signed = dtype_is_signed(dtype);
    switch (reduction[1]) {
    case 'd': return 0;
    case 'u': return 1;
    case 'i': return is_float ? (double)INFINITY : is_signed ? INT32_MAX : UINT32_MAX;
    default: return is_float ? -(double)INFINITY : is_signed ? INT32_MIN : 0;
    }
}

// x [.., n], updates [.., m] and an index each, [.., m] or for all rows [m]; -1 goes nowhere.
typedef struct Scatter {
    ValueId x, updates, index;
    const char *reduction;
} Scatter;

// Whether element i of the row is meant by index j, as [.., n, m].
static ValueId meant(Builder *b, ValueId index, uint32_t rank, const Dim *size) {
    uint32_t own = build_type(b, index).rank;
    index = build_broadcast(b, build_expand(b, "each", index, own - 1), rank, size);
    return build_map2(b, OP_EQUAL, "meant", index, decompose_counter(b, rank - 2, rank, size));
}

// The last of the indices that mean an element, or -1.
static ValueId last_of(Builder *b, ValueId index, Dim n) {
    Type type = build_type(b, index);
    Dim m = type.size[type.rank - 1];
    type.size[type.rank - 1] = n;
    type.size[type.rank++] = m;
    ValueId hit = meant(b, index, type.rank, type.size);
    ValueId number = decompose_counter(b, type.rank - 1u, type.rank, type.size);
    number = build_where(b, "number", hit, number, build_number(b, DT_I32, -1));
    return build_reduce(b, OP_MAX, "last", number, 1u << (type.rank - 1));
}

// Sorted along `axis`; indices of one axis are meant for all rows.
static ValueId scatter_sorted(Builder *b, Scatter s, uint32_t axis, const char *part) {
    Type type = build_type(b, s.updates);
    bool one = build_type(b, s.index).rank == 1;
    Sorted sorted = decompose_sorted(b, s.index, one ? 0 : axis, false);
    if (one) {
        sorted.keys = build_broadcast(b, sorted.keys, type.rank, type.size);
        sorted.order = build_broadcast(b, sorted.order, type.rank, type.size);
    }
    return decompose_segments(b, part, s.x, sorted, s.updates, axis, s.reduction);
}

static bool scatter_is_long(const Builder *b, ValueId index, uint32_t axis) {
    return dim_bounds(b->g->dims, build_type(b, index).size[axis]).hi > SEARCHED_MAX;
}

static ValueId scatter(Builder *b, Scatter s, const char *part) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, s.x), full = type;
    uint32_t last = type.rank - 1u;
    if (scatter_is_long(b, s.index, build_type(b, s.index).rank - 1u))
        return scatter_sorted(b, s, last, part);
    Dim m = build_type(b, s.updates).size[last], some = dim_max(dims, m, dim_const(dims, 1));
    DType inner = decompose_inner(type.dtype);
    bool none = strcmp(s.reduction, "none") == 0;
    s.index = extend(b, s.index, build_type(b, s.index).rank - 1u, some, -1);
    if (none) {
        ValueId zero = build_number(b, DT_I32, 0), from = last_of(b, s.index, type.size[last]);
        ValueId known = build_map2(b, OP_GREATER_EQUAL, "known", from, zero);
        from = build_map2(b, OP_MAXIMUM, "from", from, zero);
        bool one = build_type(b, from).rank == 1;
        ValueId update =
            build_gather(b, one ? OP_TAKE : OP_TAKE_ALONG_AXIS, "update", s.updates, from, last);
        return build_where(b, part, known, update, s.x);
    }
    s.updates = extend(b, build_cast(b, "wide", s.updates, inner), last, some, 0);
    full.size[last + 1] = some;
    full.rank++;
    ValueId hit = meant(b, s.index, full.rank, full.size);
    ValueId update =
        build_broadcast(b, build_expand(b, "each", s.updates, last), full.rank, full.size);
    ValueId other = build_number(b, inner, neutral(s.reduction, inner));
    update = build_where(b, "update", hit, update, other);
    static const OpId reduce[] = {OP_SUM, OP_PROD, OP_MIN, OP_MAX};
    static const OpId join[] = {OP_ADD, OP_MULTIPLY, OP_MINIMUM, OP_MAXIMUM};
    const char *which = strchr("duia", s.reduction[1]);
    ptrdiff_t op = which - "duia";
    ValueId sum = build_reduce(b, reduce[op], "joined", update, 2u << last);
    bool cast = inner != type.dtype;
    sum = build_map2(b, join[op], cast ? "sum" : part, build_cast(b, "wide", s.x, inner), sum);
    return build_narrow(b, part, sum, type.dtype);
}

ValueId decompose_scatter_elements(Rewrite *rewrite, Builder *b, const Node *node) {
    uint32_t axis = (uint32_t)build_attr(node, "axis")->i;
    Scatter s = {.x = node_operand(rewrite, node, 0),
                 .updates = node_operand(rewrite, node, 2),
                 .index = node_operand(rewrite, node, 1),
                 .reduction = build_attr(node, "reduction")->s};
    Type type = build_type(b, s.x);
    s.index = from_start(b, s.index, type.size[axis]);
    for (uint32_t i = 0; i < type.rank; i++) { // rows without indices have such that mean nothing
        if (i == axis) continue;
        s.index = extend(b, s.index, i, type.size[i], -1);
        s.updates = extend(b, s.updates, i, type.size[i], 0);
    }
    if (scatter_is_long(b, s.index, axis)) return scatter_sorted(b, s, axis, NULL);
    bool moved = axis + 1u != type.rank;
    s.x = decompose_last_axis(b, "row", s.x, axis);
    s.index = decompose_last_axis(b, "indices", s.index, axis);
    s.updates = decompose_last_axis(b, "updates", s.updates, axis);
    return decompose_last_axis(b, NULL, scatter(b, s, moved ? "scattered" : NULL), axis);
}

// Indices [.., q] as numbers of rows of x, [m]; -1 where one is outside.
static ValueId row_numbers(Builder *b, ValueId indices, const Type *x, uint32_t depth) {
    DimTable *dims = b->g->dims;
    Type type = build_type(b, indices);
    uint32_t last = type.rank - 1u;
    Dim count = dim_const(dims, 1);
    for (uint32_t i = 0; i < last; i++) count = dim_mul(dims, count, type.size[i]);
    ValueId number = 0, good = 0;
    for (uint32_t i = 0; i < depth; i++) {
        Dim at = dim_const(dims, i), next = dim_const(dims, i + 1);
        ValueId own = build_slice(b, "part", indices, last, at, next, 1);
        own = from_start(b, build_reshape(b, "part", own, 1, &count), x->size[i]);
        ValueId size = build_size(b, DT_I32, x->size[i]);
        ValueId inside =
            build_map2(b, OP_LOGICAL_AND, "inside",
                       build_map2(b, OP_GREATER_EQUAL, "from", own, build_number(b, DT_I32, 0)),
                       build_map2(b, OP_LESS, "to", own, size));
        good = good ? build_map2(b, OP_LOGICAL_AND, "all", good, inside) : inside;
        if (number)
            own = build_map2(b, OP_ADD, "number", build_map2(b, OP_MULTIPLY, "rows", number, size),
                             own);
        number = own;
    }
    return build_where(b, "target", good, number, build_number(b, DT_I32, -1));
}

ValueId decompose_scatter_nd(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0), indices = node_operand(rewrite, node, 1);
    ValueId updates = node_operand(rewrite, node, 2);
    Type type = build_type(b, x), places = build_type(b, indices);
    int64_t depth = 0;
    (void)dim_is_const(dims, places.size[places.rank - 1], &depth);
    uint32_t rest = type.rank - (uint32_t)depth;
    Dim rows = dim_const(dims, 1), count = rows, size[RANK_MAX];
    for (uint32_t i = 0; i < depth; i++) rows = dim_mul(dims, rows, type.size[i]);
    for (uint32_t i = 0; i + 1u < places.rank; i++) count = dim_mul(dims, count, places.size[i]);
    uint8_t to_last[RANK_MAX], back[RANK_MAX];
    for (uint32_t i = 0; i <= rest; i++) {
        to_last[i] = (uint8_t)((i + 1) % (rest + 1));
        back[i] = (uint8_t)((i + rest) % (rest + 1));
        if (i) size[i] = type.size[depth + i - 1];
    }
    size[0] = rows;
    x = build_permute(b, "row", build_reshape(b, "rows", x, rest + 1, size), to_last);
    size[0] = count;
    updates = build_reshape(b, "updates", updates, rest + 1, size);
    Scatter s = {.x = x,
                 .updates = build_permute(b, "updates", updates, to_last),
                 .index = row_numbers(b, indices, &type, (uint32_t)depth),
                 .reduction = build_attr(node, "reduction")->s};
    x = build_permute(b, "rows", scatter(b, s, "scattered"), back);
    return build_reshape(b, NULL, x, type.rank, type.size);
}

ValueId decompose_bincount(Rewrite *rewrite, Builder *b, const Node *node) {
    DimTable *dims = b->g->dims;
    ValueId x = node_operand(rewrite, node, 0);
    Type type = build_type(b, x);
    Dim count = dim_const(dims, 1);
    for (uint32_t i = 0; i < type.rank; i++) count = dim_mul(dims, count, type.size[i]);
    Dim length = build_attr(node, "length")->size, size[] = {length, count};
    if (dim_bounds(dims, count).hi > SEARCHED_MAX) {
        x = build_reshape(b, "numbers", x, 1, &count);
        return decompose_counts(b, NULL, decompose_sorted(b, x, 0, false).keys, 0, length);
    }
    ValueId hit = meant(b, build_reshape(b, "numbers", x, 1, &count), 2, size);
    return build_reduce(b, OP_SUM, NULL, build_cast(b, "one", hit, DT_I32), 2);
}
