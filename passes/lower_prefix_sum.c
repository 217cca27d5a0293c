// Running sums. `lanes` invocations share a block of a row (or the whole row), `rows` blocks a
// workgroup. In each round a lane takes `items` vectors of `vec` neighbours; what its row's lanes
// own is summed up to it across the lanes, and the sum of the round is carried to the next. The
// order of additions depends on the schedule and the sizes only.
#include "passes/lower_scan.h"

enum { PREFIX_ITEMS_MAX = 16 };

typedef struct Prefix {
    Lower *l;
    const ScanShape *shape;
    ValueId x, first, result;
    Space space, first_space;
    uint32_t vec, items;
    ScanLanes across;
    KVal row, begin, number, inside; // inside: 0 where every block exists
} Prefix;

static KVal prefix_number(const Prefix *p, uint32_t value) {
    return k_i32(p->l->b, (int32_t)value);
}

static KVal prefix_add(const Prefix *p, KVal x, KVal y) {
    return p->across.is_float ? k_fadd(p->l->b, x, y) : k_iadd(p->l->b, x, y);
}

static Dim prefix_units(const Prefix *p) {
    return dim_mul(p->l->dims, p->shape->rows, p->shape->blocks);
}

static void prefix_place(Prefix *p) {
    Lower *l = p->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    const Schedule *s = l->schedule;
    FoldLanes *lanes = &p->across.lanes;
    Dim units = prefix_units(p), one = dim_const(dims, 1);
    KVal group = lower_workgroup(l, dim_ceil_div(dims, units, dim_const(dims, s->rows)));
    KVal id = k_local_id(b);
    if (s->subgroup)
        id = k_iadd(b, k_imul(b, k_subgroup_id(b), prefix_number(p, s->subgroup)),
                    k_subgroup_lane(b));
    lanes->invocation = id;
    lanes->lane = k_urem(b, id, prefix_number(p, s->lanes));
    lanes->row = k_udiv(b, id, prefix_number(p, s->lanes));
    KVal unit = k_iadd(b, k_imul(b, group, prefix_number(p, s->rows)), lanes->row);
    if (!dim_divides(dims, s->rows, units)) {
        p->inside = k_slt(b, unit, lower_dim(l, units));
        unit = k_smin(b, unit, lower_dim(l, dim_sub(dims, units, one)));
    }
    KVal blocks = lower_dim(l, dim_max(dims, p->shape->blocks, one));
    p->row = k_udiv(b, unit, blocks), p->number = k_urem(b, unit, blocks);
    p->begin = k_imul(b, p->number, lower_dim(l, p->shape->block));
}

typedef struct PrefixItem {
    Point point;
    KVal inside, lane[4]; // running sums of the invocation's own elements
} PrefixItem;

// One vector, added up behind `sum`; returns the sum with it.
static KVal prefix_load(Prefix *p, PrefixItem *item, KVal at, KVal end, KVal sum) {
    Lower *l = p->l;
    KBuilder *b = l->b;
    Dim last = dim_sub(l->dims, p->shape->length, dim_const(l->dims, p->vec));
    item->inside = k_slt(b, at, end);
    item->point = point_make(&p->space, (uint8_t)p->vec);
    item->point.index[0] = p->row;
    item->point.index[1] = k_smin(b, at, lower_dim(l, last));
    KVal value = lower_value(l, p->x, &item->point);
    KVal zero = p->across.is_float ? k_f32(b, 0) : prefix_number(p, 0);
    for (uint32_t i = 0; i < p->vec; i++) {
        KVal lane = k_type(b, value).lanes == 1 ? value : k_extract(b, value, i);
        lane = k_select(b, item->inside, lane, zero);
        item->lane[i] = sum = sum ? prefix_add(p, sum, lane) : lane;
    }
    return sum;
}

static void prefix_store(Prefix *p, PrefixItem *item, KVal before) {
    Lower *l = p->l;
    KBuilder *b = l->b;
    KVal lane[4];
    for (uint32_t i = 0; i < p->vec; i++) lane[i] = prefix_add(p, before, item->lane[i]);
    point_set(l, &item->point, p->result, k_vector(b, p->vec, lane));
    k_if_begin(b, p->inside ? k_and(b, item->inside, p->inside) : item->inside);
    lower_result(l, p->result, &item->point);
    k_if_end(b, 0, NULL, NULL);
}

static void prefix_rounds(Prefix *p) {
    Lower *l = p->l;
    KBuilder *b = l->b;
    DimTable *dims = l->dims;
    uint32_t own = p->vec * p->items;
    KVal zero = p->across.is_float ? k_f32(b, 0) : prefix_number(p, 0), carry = zero, before, whole;
    if (p->first) carry = scan_at(l, p->first, &p->first_space, p->row, p->number);
    KVal end = lower_dim(l, p->shape->length), span = lower_dim(l, p->shape->block);
    if (p->shape->block != p->shape->length) {
        end = k_smin(b, end, k_iadd(b, p->begin, span));
        span = lower_dim(l, dim_min(dims, p->shape->block, p->shape->length));
    }
    KVal round =
        k_loop_begin(b, prefix_number(p, 0), span, prefix_number(p, own * l->schedule->lanes),
                     K_LOOP_PLAIN, 1, &carry, &carry);
    PrefixItem item[PREFIX_ITEMS_MAX];
    KVal at = k_imul(b, p->across.lanes.lane, prefix_number(p, own)), sum = 0;
    at = k_iadd(b, k_iadd(b, p->begin, round), at);
    for (uint32_t i = 0; i < p->items; i++)
        sum = prefix_load(p, &item[i], k_iadd(b, at, prefix_number(p, i * p->vec)), end, sum);
    scan_across(l, &p->across, sum, &before, &whole);
    before = prefix_add(p, carry, before);
    for (uint32_t i = 0; i < p->items; i++) prefix_store(p, &item[i], before);
    KVal next = prefix_add(p, carry, whole);
    k_loop_end(b, &next, &carry);
}

static bool prefix_legal(const Prefix *p) {
    Lower *l = p->l;
    const Schedule *s = l->schedule;
    const char *wrong = NULL;
    if (!s->lanes || (s->lanes & (s->lanes - 1)) || s->lanes * s->rows != s->local)
        wrong = "lanes must be a power of two, and local be lanes * rows";
    else if (p->items > PREFIX_ITEMS_MAX)
        wrong = "items are at most 16";
    else if (!dim_divides(l->dims, p->vec, p->shape->length) ||
             !dim_divides(l->dims, p->vec, p->shape->block))
        wrong = "vec does not divide the rows and their blocks";
    if (wrong) lower_fail(l, "%s", wrong);
    return !wrong;
}

bool lower_prefix_sum(Lower *l, const ScanShape *shape) {
    const Schedule *s = l->schedule;
    const Node *node = shape->node;
    Prefix p = {.l = l,
                .shape = shape,
                .x = node->operand[0],
                .first = node->operands > 1 ? node->operand[1] : 0,
                .result = node->result[0],
                .vec = s->vec ? s->vec : 1,
                .items = s->items ? s->items : 1};
    p.across.lanes = (FoldLanes){.count = s->lanes, .local = s->local, .subgroup = s->subgroup};
    p.across.is_float = dtype_is_float(graph_value(l->graph, p.x)->type.dtype);
    if (!prefix_legal(&p) || !scan_lanes_begin(l, &p.across)) return false;
    p.space = scan_space(l, shape, p.x);
    if (p.first) p.first_space = scan_space(l, shape, p.first);
    prefix_place(&p);
    prefix_rounds(&p);
    Dim groups = dim_ceil_div(l->dims, prefix_units(&p), dim_const(l->dims, s->rows));
    return lower_finish(l, groups, dim_mul(l->dims, shape->rows, shape->length));
}
