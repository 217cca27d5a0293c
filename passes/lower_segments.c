// What scatters and counts become once their indices are sorted: every element of the result finds
// its own indices, which are neighbours, and joins their updates in the order in which they were
// given. No two invocations write one element, and the bits are always the same.
#include "passes/lower_scan.h"

#include <string.h>

#include "passes/build.h"

typedef struct Segment {
    KVal lo, hi; // among the keys of the row
} Segment;

static Segment segment_find(Lower *l, ValueId keys, const Space *space,
                            const ScanElement *element) {
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    KVal size = lower_dim(l, space->size[1]);
    ScanSearch search = {.keys = keys,
                         .space = space,
                         .row = element->row,
                         .lo = k_i32(b, 0),
                         .hi = size,
                         .last = lower_dim(l, dim_sub(dims, space->size[1], dim_const(dims, 1))),
                         .most = space->size[1]};
    Segment found = {.lo = scan_search(l, &search, element->at, 0)};
    search.lo = found.lo;
    found.hi = scan_search(l, &search, element->at, k_bool(b, true));
    return found;
}

static void segment_store(Lower *l, const Space *space, const ScanElement *element, ValueId result,
                          KVal value) {
    Point point = point_make(space, 1);
    point.index[0] = element->row, point.index[1] = element->at;
    point_set(l, &point, result, value);
    if (element->inside) k_if_begin(l->b, element->inside);
    lower_result(l, result, &point);
    if (element->inside) k_if_end(l->b, 0, NULL, NULL);
}

static KVal segment_join(Lower *l, const char *reduction, DType dtype, KVal x, KVal update) {
    KBuilder *b = l->b;
    bool is_float = dtype_is_float(dtype);
    switch (reduction[1]) {
    case 'd': return is_float ? k_fadd(b, x, update) : k_iadd(b, x, update);
    case 'u': return is_float ? k_fmul(b, x, update) : k_imul(b, x, update);
    case 'i': return lower_smaller(b, dtype, x, update);
    default: return lower_larger(b, dtype, x, update);
    }
}

// The last update alone, found without a walk.
static KVal segment_last(Lower *l, const Node *node, const Space *space, const ScanElement *element,
                         Segment found, KVal x) {
    KBuilder *b = l->b;
    k_if_begin(b, k_slt(b, found.lo, found.hi));
    KVal last = k_isub(b, found.hi, k_i32(b, 1));
    KVal from = scan_at(l, node->operand[2], space, element->row, last);
    KVal update = scan_at(l, node->operand[3], space, element->row, from), value;
    k_else(b, 1, &update);
    k_if_end(b, 1, &x, &value);
    return value;
}

bool lower_segments(Lower *l, const ScanShape *shape) {
    KBuilder *b = l->b;
    const Node *node = shape->node;
    const char *reduction = build_attr(node, "reduction")->s;
    DType dtype = graph_value(l->graph, node->operand[0])->type.dtype;
    Space own = scan_space(l, shape, node->operand[0]),
          space = scan_space(l, shape, node->operand[1]);
    ScanElement element = scan_element(l, shape);
    KVal x = scan_at(l, node->operand[0], &own, element.row, element.at);
    Segment found = segment_find(l, node->operand[1], &space, &element);
    if (strcmp(reduction, "none") == 0) {
        x = segment_last(l, node, &space, &element, found, x);
    } else {
        KVal j = k_loop_begin(b, found.lo, found.hi, k_i32(b, 1), K_LOOP_DONT_UNROLL, 1, &x, &x);
        KVal from = scan_at(l, node->operand[2], &space, element.row, j);
        KVal update = scan_at(l, node->operand[3], &space, element.row, from);
        KVal next = segment_join(l, reduction, dtype, x, update);
        k_loop_end(b, &next, &x);
    }
    segment_store(l, &own, &element, node->result[0], x);
    Dim elements = dim_mul(l->dims, shape->rows, shape->length);
    return lower_finish(l, scan_element_groups(l, shape), elements);
}

bool lower_counts(Lower *l, const ScanShape *shape) {
    const Node *node = shape->node;
    Space own = scan_space(l, shape, node->result[0]);
    Space space = scan_space(l, shape, node->operand[0]);
    ScanElement element = scan_element(l, shape);
    Segment found = segment_find(l, node->operand[0], &space, &element);
    segment_store(l, &own, &element, node->result[0], k_isub(l->b, found.hi, found.lo));
    Dim elements = dim_mul(l->dims, shape->rows, shape->length);
    return lower_finish(l, scan_element_groups(l, shape), elements);
}
