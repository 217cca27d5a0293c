// Random sequences of moves, compared element by element with explicit arrays of source elements.
//
// The model holds, for each logical element, the source element or the pad value. It knows nothing
// of digits; only the question whether a reshape could do without a second level is asked of it by
// trying all ways to cut an axis into digits.
#include "ir/view.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COMPOSITIONS = 10000, MOVES_MAX = 6, ELEMENTS_MAX = 400, SYMBOLS = 3 };

static uint64_t random_state;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

// ---- model ----

typedef struct Element {
    int64_t source; // -1: pad
    double pad;
} Element;

typedef struct Model {
    unsigned rank;
    int64_t size[RANK_MAX];
    Element at[ELEMENTS_MAX];
} Model;

static int64_t elements(const Model *model) {
    int64_t product = 1;
    for (unsigned axis = 0; axis < model->rank; axis++) product *= model->size[axis];
    return product;
}

static void unflatten(const Model *model, int64_t number, int64_t *index) {
    for (unsigned axis = model->rank; axis-- > 0;) {
        index[axis] = number % model->size[axis];
        number /= model->size[axis];
    }
}

static const Element *lookup(const Model *model, const int64_t *index) {
    int64_t number = 0;
    for (unsigned axis = 0; axis < model->rank; axis++)
        number = number * model->size[axis] + index[axis];
    return &model->at[number];
}

// ---- a move, on both ----

typedef struct Case {
    Arena *arena;
    DimTable *dims;
    int64_t symbols[SYMBOLS];
    bool constants; // no symbolic sizes
    Model model;
    View view;
} Case;

typedef enum Kind { PERMUTE, RESHAPE, BROADCAST, SLICE, EXPAND, SQUEEZE, PAD, UNFOLD, KINDS } Kind;

static Dim constant(Case *c, int64_t value) {
    return dim_const(c->dims, value);
}

// A size of this value: mostly a constant, now and then a symbol of that value or less, and a rest.
static Dim random_size(Case *c, int64_t value) {
    unsigned i = random_below(SYMBOLS);
    if (c->constants || random_below(3) || c->symbols[i] > value) return constant(c, value);
    return dim_add(c->dims, dim_symbol_at(c->dims, i), constant(c, value - c->symbols[i]));
}

static unsigned levels(const View *view) {
    unsigned count = 0;
    for (; view; view = view->inner) count++;
    return count;
}

static bool all_constant(const View *view, const DimTable *dims) {
    for (unsigned axis = 0; axis < view->rank; axis++)
        if (!dim_is_const(dims, view->size[axis], NULL)) return false;
    return true;
}

static Kind apply_permute(Case *c, Model *next, bool *done) {
    uint8_t axes[RANK_MAX];
    for (unsigned i = 0; i < c->model.rank; i++) axes[i] = (uint8_t)i;
    for (unsigned i = c->model.rank; i-- > 1;) {
        unsigned other = random_below(i + 1);
        uint8_t swap = axes[i];
        axes[i] = axes[other];
        axes[other] = swap;
    }
    for (unsigned i = 0; i < next->rank; i++) next->size[i] = c->model.size[axes[i]];
    for (int64_t e = 0; e < elements(next); e++) {
        int64_t index[RANK_MAX], from[RANK_MAX];
        unflatten(next, e, index);
        for (unsigned i = 0; i < next->rank; i++) from[axes[i]] = index[i];
        next->at[e] = *lookup(&c->model, from);
    }
    *done = view_permute(c->dims, &c->view, axes, &c->view);
    return PERMUTE;
}

// Merges neighbours, splits an axis by a small factor, or deals the whole count anew.
static Kind apply_reshape(Case *c, Model *next, bool *done) {
    Dim size[RANK_MAX];
    memcpy(size, c->view.size, sizeof size);
    unsigned axis = random_below(next->rank), way = random_below(3);
    Dim quotient;
    int64_t factor = 2 + random_below(3);
    unsigned had = levels(&c->view);
    bool joins = false;
    if (way == 0 && axis + 1 < next->rank) {
        size[axis] = dim_mul(c->dims, size[axis], size[axis + 1]);
        next->size[axis] *= next->size[axis + 1];
        next->rank--;
        for (unsigned i = axis + 1; i < next->rank; i++) {
            size[i] = size[i + 1];
            next->size[i] = next->size[i + 1];
        }
        joins = true;
    } else if (way == 1 && next->rank < RANK_MAX &&
               dim_exact_div(c->dims, size[axis], constant(c, factor), &quotient)) {
        for (unsigned i = next->rank++; i > axis; i--) {
            size[i] = size[i - 1];
            next->size[i] = next->size[i - 1];
        }
        bool outer = random_below(2);
        next->size[axis + !outer] = next->size[axis] / factor;
        next->size[axis + outer] = factor;
        size[axis + !outer] = quotient;
        size[axis + outer] = constant(c, factor);
    } else if (all_constant(&c->view, c->dims)) {
        int64_t rest = elements(&c->model);
        next->rank = 1 + random_below(3);
        for (unsigned i = 0; i < next->rank; i++) {
            int64_t part = 1 + random_below((uint32_t)rest);
            while (i + 1 < next->rank && rest % part) part--;
            next->size[i] = i + 1 < next->rank ? part : rest;
            size[i] = constant(c, next->size[i]);
            rest /= next->size[i];
        }
    } else {
        unsigned other = random_below(next->rank); // the same sizes in another order
        size[axis] = c->view.size[other];
        size[other] = c->view.size[axis];
        next->size[axis] = c->model.size[other];
        next->size[other] = c->model.size[axis];
    }
    memcpy(next->at, c->model.at, sizeof next->at);
    *done = view_reshape(c->dims, &c->view, (uint8_t)next->rank, size, &c->view);
    if (joins) assert_true(levels(&c->view) <= had); // their digits stand side by side
    return RESHAPE;
}

static Kind apply_broadcast(Case *c, Model *next, bool *done) {
    Dim size[RANK_MAX];
    unsigned added = next->rank < 4 ? random_below(2) : 0;
    next->rank += added;
    for (unsigned i = 0; i < next->rank; i++) {
        bool old = i >= added;
        int64_t was = old ? c->model.size[i - added] : 1;
        bool grows = !old || dim_is(c->dims, c->view.size[i - added], 1);
        next->size[i] = grows ? 1 + random_below(3) : was;
        size[i] = grows ? random_size(c, next->size[i]) : c->view.size[i - added];
    }
    if (elements(next) > ELEMENTS_MAX) return KINDS;
    for (int64_t e = 0; e < elements(next); e++) {
        int64_t index[RANK_MAX];
        unflatten(next, e, index);
        for (unsigned i = added; i < next->rank; i++)
            if (c->model.size[i - added] == 1) index[i] = 0;
        next->at[e] = *lookup(&c->model, index + added);
    }
    *done = view_broadcast(c->dims, &c->view, (uint8_t)next->rank, size, &c->view);
    return BROADCAST;
}

static Kind apply_slice(Case *c, Model *next, bool *done) {
    unsigned axis = random_below(next->rank);
    int64_t size = next->size[axis], step = 1 + random_below(3);
    int64_t start = random_below((uint32_t)size);
    int64_t count = 1 + random_below((uint32_t)((size - 1 - start) / step + 1));
    if (random_below(3) == 0) { // all of the axis that the step reaches
        start = random_below((uint32_t)(step < size ? step : size));
        count = (size - start + step - 1) / step;
    }
    Dim first = random_size(c, start ? start : 1);
    if (start == 0) first = constant(c, 0);
    if (random_below(3) == 0) {
        start += (count - 1) * step;
        step = -step;
        first = constant(c, start);
        if (start == size - 1) first = dim_sub(c->dims, c->view.size[axis], constant(c, 1));
    }
    next->size[axis] = count;
    for (int64_t e = 0; e < elements(next); e++) {
        int64_t index[RANK_MAX] = {0};
        unflatten(next, e, index);
        index[axis] = start + index[axis] * step;
        next->at[e] = *lookup(&c->model, index);
    }
    Dim number = count == size ? c->view.size[axis] : random_size(c, count);
    *done = view_slice(c->dims, &c->view, (uint8_t)axis, first, step, number, &c->view);
    return SLICE;
}

static Kind apply_expand(Case *c, Model *next, bool *done) {
    if (next->rank > 4) return KINDS;
    unsigned axis = random_below(next->rank + 1);
    for (unsigned i = next->rank++; i > axis; i--) next->size[i] = next->size[i - 1];
    next->size[axis] = 1;
    memcpy(next->at, c->model.at, sizeof next->at);
    *done = view_expand(c->dims, &c->view, (uint8_t)axis, &c->view);
    return EXPAND;
}

static Kind apply_squeeze(Case *c, Model *next, bool *done) {
    unsigned axis = random_below(next->rank);
    if (next->rank == 1 || next->size[axis] != 1) return KINDS;
    next->rank--;
    for (unsigned i = axis; i < next->rank; i++) next->size[i] = next->size[i + 1];
    memcpy(next->at, c->model.at, sizeof next->at);
    *done = view_squeeze(c->dims, &c->view, (uint8_t)axis, &c->view);
    return SQUEEZE;
}

static Kind apply_pad(Case *c, Model *next, bool *done) {
    unsigned axis = random_below(next->rank);
    int64_t before = random_below(3), after = random_below(3), size = next->size[axis];
    double value = random_below(4) ? 0 : 1.5;
    if (random_below(3) == 0) before *= size;
    next->size[axis] += before + after;
    if (elements(next) > ELEMENTS_MAX) return KINDS;
    for (int64_t e = 0; e < elements(next); e++) {
        int64_t index[RANK_MAX];
        unflatten(next, e, index);
        index[axis] -= before;
        bool outside = index[axis] < 0 || index[axis] >= size;
        next->at[e] = outside ? (Element){-1, value} : *lookup(&c->model, index);
    }
    Dim lead = before ? random_size(c, before) : constant(c, 0);
    Dim trail = after ? random_size(c, after) : constant(c, 0);
    *done = view_pad(c->dims, &c->view, (uint8_t)axis, lead, trail, value, &c->view);
    return PAD;
}

static Kind apply_unfold(Case *c, Model *next, bool *done) {
    if (next->rank > 4) return KINDS;
    unsigned axis = random_below(next->rank);
    int64_t size = next->size[axis], kernel = 1 + random_below(3), stride = 1 + random_below(2);
    int64_t dilation = 1 + random_below(2), before = random_below(2), after = random_below(2);
    int64_t room = size + before + after - dilation * (kernel - 1) - 1;
    if (room < 0) return KINDS;
    int64_t output = room / stride + 1;
    double value = random_below(4) ? 0 : 1.5;
    for (unsigned i = next->rank++; i > axis; i--) next->size[i] = next->size[i - 1];
    next->size[axis] = kernel;
    next->size[axis + 1] = output;
    if (elements(next) > ELEMENTS_MAX) return KINDS;
    for (int64_t e = 0; e < elements(next); e++) {
        int64_t index[RANK_MAX], from[RANK_MAX];
        unflatten(next, e, index);
        for (unsigned i = 0; i < c->model.rank; i++) from[i] = index[i + (i > axis)];
        from[axis] = index[axis + 1] * stride + index[axis] * dilation - before;
        bool outside = from[axis] < 0 || from[axis] >= size;
        next->at[e] = outside ? (Element){-1, value} : *lookup(&c->model, from);
    }
    *done =
        view_unfold(c->dims, &c->view, (uint8_t)axis, random_size(c, kernel),
                    random_size(c, output), stride, dilation, constant(c, before), value, &c->view);
    return UNFOLD;
}

// ---- could one level do? ----

// Whether values[i] is a sum over some cut of 0..count-1 into digits: tried from the innermost
// digit, whose size divides what is left.
static bool cuts_into_digits(const int64_t *values, int64_t count) {
    if (count == 1) return true;
    for (int64_t inner = 2; inner <= count; inner++) {
        if (count % inner) continue;
        bool fits = true;
        int64_t stride = values[1] - values[0], outer[ELEMENTS_MAX];
        for (int64_t i = 0; i < count && fits; i++)
            fits = values[i] == values[i - i % inner] + i % inner * stride;
        for (int64_t i = 0; i < count / inner; i++) outer[i] = values[i * inner];
        if (fits && cuts_into_digits(outer, count / inner)) return true;
    }
    return false;
}

// Whether the offsets are a sum of one part per axis and each part is a sum of digits.
static bool one_level_could_do(const Model *model) {
    int64_t origin = model->at[0].source;
    for (int64_t e = 0; e < elements(model); e++) {
        int64_t index[RANK_MAX], sum = origin;
        unflatten(model, e, index);
        for (unsigned axis = 0; axis < model->rank; axis++) {
            int64_t only[RANK_MAX] = {0};
            only[axis] = index[axis];
            sum += lookup(model, only)->source - origin;
        }
        if (sum != model->at[e].source) return false;
    }
    for (unsigned axis = 0; axis < model->rank; axis++) {
        int64_t values[ELEMENTS_MAX];
        for (int64_t i = 0; i < model->size[axis]; i++) {
            int64_t only[RANK_MAX] = {0};
            only[axis] = i;
            values[i] = lookup(model, only)->source;
        }
        if (!cuts_into_digits(values, model->size[axis])) return false;
    }
    return true;
}

static bool has_pad(const Model *model) {
    for (int64_t e = 0; e < elements(model); e++)
        if (model->at[e].source < 0) return true;
    return false;
}

static unsigned digits_of(const View *view, unsigned axis) {
    unsigned count = 0;
    for (unsigned i = 0; i < view->digits; i++) count += view->digit[i].axis == axis;
    return count;
}

typedef struct Tally {
    unsigned moves[KINDS], new_levels[KINDS], refused, judged;
} Tally;

// A new level needs a reason: a reshape that no digits can express, an axis of several digits under
// a slice, pad or window, another pad value, or no room for a guard.
static void check_level(const Case *c, const View *before, Kind kind, Tally *tally) {
    if (levels(&c->view) <= levels(before)) return;
    tally->new_levels[kind]++;
    bool several = before->guards == VIEW_GUARDS_MAX ||
                   (before->guards && before->pad != c->view.pad); // -0.0 does not occur
    for (unsigned axis = 0; axis < before->rank; axis++) several |= digits_of(before, axis) > 1;
    switch (kind) {
    case RESHAPE:

        if (before->inner || has_pad(&c->model) || !all_constant(before, c->dims)) return;
        tally->judged++;
        assert_false(one_level_could_do(&c->model));
        break;
    case SLICE:
    case PAD:
    case UNFOLD: assert_true(several); break;
    default: fail_msg("a move of kind %d never needs a level", kind);
    }
}

// ---- comparison ----

static void check_elements(const Case *c) {
    const Model *model = &c->model;
    Dim first, last;
    int64_t least = INT64_MAX, most = INT64_MIN, low, high;
    bool contiguous = true;
    for (int64_t e = 0; e < elements(model); e++) {
        int64_t index[RANK_MAX];
        double pad = -1;
        unflatten(model, e, index);
        int64_t offset = view_locate(c->dims, &c->view, c->symbols, index, &pad);
        assert_int_equal(offset, model->at[e].source);
        assert_int_equal(offset, view_offset(c->dims, &c->view, c->symbols, index));
        if (offset < 0) assert_true(pad == model->at[e].pad);
        contiguous &= offset >= 0 && offset == model->at[0].source + e;
        if (offset < 0) continue;
        if (offset < least) least = offset;
        if (offset > most) most = offset;
    }
    if (view_is_contiguous(c->dims, &c->view)) assert_true(contiguous);
    if (view_is_identity(c->dims, &c->view)) assert_true(contiguous && model->at[0].source == 0);
    if (most >= 0) {
        assert_true(view_hull(c->dims, &c->view, &first, &last));
        assert_true(dim_eval(c->dims, first, c->symbols, &low) && low <= least);
        assert_true(dim_eval(c->dims, last, c->symbols, &high) && high >= most);
        if (!c->view.guards && !c->view.inner) assert_true(low == least && high == most);
    }
}

static void check_vectors(const Case *c, unsigned width) {
    const Model *model = &c->model;
    if (!view_is_vectorizable(c->dims, &c->view, width)) return;
    for (int64_t e = 0; e < elements(model); e++) {
        const Element *head = &model->at[e - e % width];
        assert_int_equal(model->at[e].source, head->source < 0 ? -1 : head->source + e % width);
        assert_true(head->source < 0 || head->source % width == 0);
    }
}

static void check_sizes(const Case *c) {
    assert_int_equal(c->view.rank, c->model.rank);
    for (unsigned axis = 0; axis < c->view.rank; axis++) {
        int64_t size;
        assert_true(dim_eval(c->dims, c->view.size[axis], c->symbols, &size));
        assert_int_equal(size, c->model.size[axis]);
    }
}

static void start_case(Case *c, bool constants) {
    static const char *const names[SYMBOLS] = {"A", "B", "C"};
    *c = (Case){.arena = arena_create(), .constants = constants};
    c->dims = dim_table_create(c->arena);
    for (unsigned i = 0; i < SYMBOLS; i++) {
        Dim symbol = dim_symbol(c->dims, names[i], 1, 9);
        c->symbols[i] = 1 + random_below(6);
        int64_t factor = 2 + random_below(3);
        if (c->symbols[i] % factor == 0)
            dim_assume(c->dims, dim_floor_mod(c->dims, symbol, constant(c, factor)), DIM_EQ,
                       constant(c, 0));
    }
    Dim size[RANK_MAX];
    c->model.rank = 1 + random_below(3);
    for (unsigned i = 0; i < c->model.rank; i++) {
        c->model.size[i] = 1 + random_below(6);
        size[i] = random_size(c, c->model.size[i]);
    }
    for (int64_t e = 0; e < elements(&c->model); e++) c->model.at[e].source = e;
    c->view = view_identity(c->dims, (uint8_t)c->model.rank, size);
}

typedef Kind Apply(Case *, Model *, bool *);

static void compose(unsigned compositions, Apply *const *moves, unsigned count, bool constants,
                    Tally *tally) {
    static Case c;
    static Model next;
    for (unsigned i = 0; i < compositions; i++) {
        start_case(&c, constants);
        unsigned wanted = 1 + random_below(MOVES_MAX);
        for (unsigned m = 0; m < wanted; m++) {
            View before = c.view;
            bool done = false;
            next = c.model;
            Kind kind = moves[random_below(count)](&c, &next, &done);
            if (kind == KINDS) continue;
            if (!done) { // a limit; the view is as it was
                tally->refused++;
                break;
            }
            tally->moves[kind]++;
            c.model = next;
            check_sizes(&c);
            check_level(&c, &before, kind, tally);
        }
        check_elements(&c);
        check_vectors(&c, 2);
        check_vectors(&c, 4);
        arena_destroy(c.arena);
    }
}

static void compositions_map_like_arrays(void **state) {
    (void)state;
    static Apply *const moves[] = {apply_permute, apply_reshape, apply_reshape, apply_broadcast,
                                   apply_slice,   apply_slice,   apply_expand,  apply_squeeze,
                                   apply_pad,     apply_unfold};
    Tally tally = {0};
    random_state = 3;
    compose(COMPOSITIONS, moves, sizeof moves / sizeof *moves, false, &tally);
    for (unsigned kind = 0; kind < KINDS; kind++)
        assert_true(tally.moves[kind] > COMPOSITIONS / 20);
    assert_true(tally.new_levels[RESHAPE] > 0 && tally.new_levels[SLICE] > 0);
    assert_true(tally.new_levels[PAD] > 0 && tally.new_levels[UNFOLD] > 0);
    assert_true(tally.refused < COMPOSITIONS / 100);
}

static void reshapes_take_a_level_only_where_they_must(void **state) {
    (void)state;
    static Apply *const moves[] = {apply_permute, apply_reshape, apply_reshape, apply_broadcast,
                                   apply_slice};
    Tally tally = {0};
    random_state = 4;
    compose(COMPOSITIONS / 2, moves, sizeof moves / sizeof *moves, true, &tally);
    assert_true(tally.judged > COMPOSITIONS / 100);
    assert_int_equal(tally.refused, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compositions_map_like_arrays),
        cmocka_unit_test(reshapes_take_a_level_only_where_they_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
