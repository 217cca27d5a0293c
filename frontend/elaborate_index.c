// Slicing (language.md section 6) and updates of states.
//
// x[..] becomes a slice, then a squeeze of the axes that an int picked, then an expand_dims for
// each None; what has nothing to do is left out. Bounds are checked by the ops' rules.
#include "frontend/elaborate_state.h"

typedef struct Places { // of one [..]: what happens to the axes of the tensor, and new axes
    bool sliced;
    unsigned axes; // of the tensor that were named so far
    Dim start[RANK_MAX], stop[RANK_MAX];
    int64_t step[RANK_MAX];
    bool picked[RANK_MAX];
    unsigned news; // axes inserted, by their place in the result
    unsigned new_axis[RANK_MAX + 1];
    unsigned results;
} Places;

static bool place_size(Elab *e, const Expr *expr, Dim *out, int64_t *constant) {
    Item item = elab_expr(e, expr, (Names){0});
    if (item.kind == ITEM_ERROR) return false;
    if (!item_is_size(item)) {
        elab_error(e, expr->span, "an index is an int, a size or a range, not %s",
                   item_kind_name(item));
        if (item.kind == ITEM_VALUE)
            diag_help(e->diags, "take(x, indices, axis) indexes by tensor");
        return false;
    }
    *constant = item.kind == ITEM_INT ? item.integer : 0;
    *out = item.kind == ITEM_SIZE ? item.size : dim_const(e->dims, item.integer);
    return true;
}

// A bound of an axis; negative constants count from its end.
static bool place_bound(Elab *e, const Expr *expr, Dim size, Dim fallback, Dim *out) {
    int64_t constant;
    *out = fallback;
    if (!expr) return true;
    if (!place_size(e, expr, out, &constant)) return false;
    if (constant >= 0) return true;
    int64_t place, elements = 0;
    *out = dim_add(e->dims, size, *out);
    if (!dim_is_const(e->dims, *out, &place) || place >= 0) return true;
    (void)dim_is_const(e->dims, size, &elements);
    elab_error(e, expr->span, "%lld is before the start of an axis of size %lld",
               (long long)constant, (long long)elements);
    return false;
}

static bool place_range(Elab *e, const Index *index, Dim size, Places *places, unsigned axis) {
    Dim zero = dim_const(e->dims, 0);
    if (!place_bound(e, index->start, size, zero, &places->start[axis])) return false;
    if (!place_bound(e, index->stop, size, size, &places->stop[axis])) return false;
    places->step[axis] = 1;
    if (index->step) {
        Item step = elab_constant(e, index->step);
        if (step.kind == ITEM_ERROR) return false;
        if (step.kind != ITEM_INT || step.integer < 1) {
            elab_error(e, index->step->span, "the step is a constant int of at least 1");
            if (step.kind == ITEM_INT) diag_help(e->diags, "flip reverses an axis");
            return false;
        }
        places->step[axis] = step.integer;
    }
    bool written = index->start || index->stop || index->step; // a dump means what it says
    if (places->start[axis] != zero || places->stop[axis] != size || places->step[axis] != 1 ||
        (e->dump && written))
        places->sliced = true;
    return true;
}

static void place_whole(Elab *e, const Type *type, Places *places) {
    unsigned axis = places->axes++;
    places->start[axis] = dim_const(e->dims, 0);
    places->stop[axis] = type->size[axis];
    places->step[axis] = 1;
    places->results++;
}

static bool place_picked(Elab *e, const Expr *expr, Dim size, Places *places) {
    unsigned axis = places->axes++;
    if (!place_bound(e, expr, size, DIM_NONE, &places->start[axis])) return false;
    places->stop[axis] = dim_add(e->dims, places->start[axis], dim_const(e->dims, 1));
    places->step[axis] = 1;
    places->picked[axis] = true;
    if (places->start[axis] != dim_const(e->dims, 0) || places->stop[axis] != size || e->dump)
        places->sliced = true;
    return true;
}

static bool is_none(const Index *index) {
    return !index->range && index->at->kind == EXPR_NONE;
}

static bool is_ellipsis(const Index *index) {
    return !index->range && index->at->kind == EXPR_ELLIPSIS;
}

// How many axes `...` stands for: what the other places leave.
static bool count_places(Elab *e, const IndexVec *at, Span span, const Type *type, unsigned *rest) {
    unsigned named = 0, dots = 0;
    for (uint32_t i = 0; i < at->len; i++) {
        if (is_ellipsis(&at->at[i]))
            dots++;
        else if (!is_none(&at->at[i]))
            named++;
    }
    if (dots > 1) {
        elab_error(e, span, "'...' stands once in an index");
        return false;
    }
    if (named > type->rank) {
        elab_error(e, span, "%u indices for a tensor of rank %u, %s", named, type->rank,
                   elab_type_text(e, type));
        return false;
    }
    *rest = type->rank - named;
    return true;
}

static bool places_read(Elab *e, const IndexVec *at, Span span, const Type *type, Places *places) {
    unsigned rest;
    if (!count_places(e, at, span, type, &rest)) return false;
    for (uint32_t i = 0; i < at->len; i++) {
        const Index *index = &at->at[i];
        if (is_none(index)) {
            if (places->news > RANK_MAX) break;
            places->new_axis[places->news++] = places->results++;
        } else if (is_ellipsis(index)) {
            for (; rest; rest--) place_whole(e, type, places);
        } else if (index->range) {
            unsigned axis = places->axes;
            places->axes++;
            places->results++;
            if (!place_range(e, index, type->size[axis], places, axis)) return false;
        } else if (!place_picked(e, index->at, type->size[places->axes], places)) {
            return false;
        }
    }
    while (places->axes < type->rank) place_whole(e, type, places);
    if (e->dump && type->rank == 0 && !places->news) places->sliced = true;
    if (places->results <= RANK_MAX) return true;
    elab_error(e, span, "the rank is over the limit of %d", RANK_MAX);
    return false;
}

static Attr *slice_attrs(Elab *e, OpId op, const Places *places) {
    Attr *attr = arena_alloc(e->arena, OP_ATTRS_MAX * sizeof *attr);
    const OpInfo *info = op_info(op);
    op_attr_defaults(e->dims, e->arena, info, attr);
    attr[op_attr_index(info, "starts")] = attr_sizes(places->start, places->axes);
    attr[op_attr_index(info, "stops")] = attr_sizes(places->stop, places->axes);
    attr[op_attr_index(info, "steps")] = attr_ints(places->step, places->axes);
    return attr;
}

static uint32_t picked_axes(const Places *places, int64_t axes[RANK_MAX]) {
    uint32_t count = 0;
    for (unsigned i = 0; i < places->axes; i++)
        if (places->picked[i]) axes[count++] = i;
    return count;
}

// One op with one operand and one attribute besides defaults.
static Item move_op(Elab *e, OpId op, Span span, Item item, const Attr *attr, Names names) {
    return elab_op(e, &(OpUse){.op = op,
                               .span = span,
                               .operand = &item,
                               .operand_span = &span,
                               .operands = 1,
                               .attr = attr,
                               .names = names});
}

static Item expand_at(Elab *e, Span span, Item item, unsigned axis, Names names) {
    Attr *attr = arena_alloc(e->arena, OP_ATTRS_MAX * sizeof *attr);
    attr[0] = attr_int(axis);
    return move_op(e, OP_EXPAND_DIMS, span, item, attr, names);
}

Item elab_index(Elab *e, const Expr *expr, Names names) {
    Item base = elab_expr(e, expr->index.base, names_inside(names));
    if (base.kind == ITEM_ERROR) return base;
    ValueId value = elab_value(e, expr->index.base->span, base, DT_NONE);
    if (!value) return item_error();
    Places *places = arena_alloc(e->arena, sizeof *places);
    Type *type = arena_alloc(e->arena, sizeof *type);
    *type = graph_value(e->graph, value)->type;
    if (!places_read(e, &expr->index.at, expr->span, type, places)) return item_error();
    int64_t *axes = arena_alloc(e->arena, RANK_MAX * sizeof *axes);
    uint32_t picked = picked_axes(places, axes);
    unsigned left = places->sliced + (picked > 0) + places->news; // the last one has the name
    Names inside = names_inside(names);
    Item item = item_value(value);
    if (places->sliced) {
        left--;
        item = move_op(e, OP_SLICE, expr->span, item, slice_attrs(e, OP_SLICE, places),
                       left ? inside : names);
    }
    if (picked) {
        Attr *attr = arena_alloc(e->arena, OP_ATTRS_MAX * sizeof *attr);
        attr[0] = attr_ints(axes, picked);
        left--;
        item = move_op(e, OP_SQUEEZE, expr->span, item, attr, left ? inside : names);
    }
    for (unsigned i = 0; i < places->news; i++) {
        left--;
        item = expand_at(e, expr->span, item, places->new_axis[i], left ? inside : names);
    }
    return item;
}

// The update's slice keeps the axes that ints picked, with size 1; the value gets them too where it
// has axes before them.
static Item restore_picked(Elab *e, Item value, Span span, const Places *places, Names names) {
    int64_t axes[RANK_MAX];
    uint32_t picked = picked_axes(places, axes);
    for (uint32_t i = 0; i < picked && value.kind == ITEM_VALUE; i++) {
        unsigned rank = graph_value(e->graph, value.value)->type.rank;
        unsigned after = 0; // axes of the value's shape behind this one, of those placed so far
        for (unsigned axis = (unsigned)axes[i] + 1; axis < places->axes; axis++)
            after += !places->picked[axis];
        if (rank > after) value = expand_at(e, span, value, rank - after, names);
    }
    return value;
}

Item elab_update(Elab *e, const Target *target, Binding *state, Item value, Span value_span) {
    Places *places = arena_alloc(e->arena, sizeof *places);
    Type *type = arena_alloc(e->arena, sizeof *type);
    *type = graph_value(e->graph, state->item.value)->type;
    if (!places_read(e, &target->at, target->span, type, places)) return item_error();
    if (places->news)
        return elab_error(e, target->span, "None does not stand in the index of an update");
    Names names = {.prefix = graph_value(e->graph, state->item.value)->name};
    value = item_value(elab_value(e, value_span, value, type->dtype));
    value = restore_picked(e, value, value_span, places, names);
    Item operand[2] = {state->item, value};
    Span span[2] = {target->name_span, value_span};
    return elab_op(e, &(OpUse){.op = OP_UPDATE,
                               .span = target->span,
                               .operand = operand,
                               .operand_span = span,
                               .operands = 2,
                               .attr = slice_attrs(e, OP_UPDATE, places),
                               .names = names});
}
