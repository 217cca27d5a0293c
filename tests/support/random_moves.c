#include "tests/support/random_moves.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/graph_make.h"

enum { INPUTS = 3, ELEMENTS_MAX = 600 };

typedef struct Chain {
    Graph *g;
    uint64_t state;
    int64_t n;
    unsigned made;
    Attr attr[OP_ATTRS_MAX]; // of the move being made
    const OpInfo *op;
} Chain;

static uint32_t pick(Chain *c, int64_t below) {
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((c->state >> 33) % (uint64_t)below);
}

static int64_t value_of(const Chain *c, Dim size) {
    int64_t symbols[64] = {c->n}, value = 0;
    return dim_eval(c->g->dims, size, symbols, &value) ? value : INT32_MAX;
}

static bool is_small(const Chain *c, const Type *type) {
    int64_t elements = 1;
    for (unsigned i = 0; i < type->rank; i++) {
        int64_t size = value_of(c, type->size[i]);
        if (size < 1 || size > ELEMENTS_MAX) return false;
        elements *= size;
    }
    return elements <= ELEMENTS_MAX;
}

static void begin(Chain *c, OpId op) {
    c->op = op_info(op);
    op_attr_defaults(c->g->dims, c->g->arena, c->op, c->attr);
}

static void set(Chain *c, const char *name, Attr attr) {
    c->attr[op_attr_index(c->op, name)] = attr;
}

static void set_int(Chain *c, const char *name, int64_t value) {
    set(c, name, attr_int(value));
}

static void set_size(Chain *c, const char *name, Dim size) {
    set(c, name, attr_size(size));
}

static Dim constant(Chain *c, int64_t value) {
    return dim_const(c->g->dims, value);
}

// The op on x with the attributes set; 0 where it is a misuse or grows too large.
static ValueId apply(Chain *c, ValueId x) {
    char name[16];
    snprintf(name, sizeof name, "v%u", c->made++);
    NodeSpec spec = {.op = c->op->id, .operand = &x, .operands = 1, .attr = c->attr, .name = name};
    NodeId node = graph_add(c->g, NULL, &spec);
    if (!node) return 0;
    ValueId value = graph_result(c->g, node, pick(c, graph_node(c->g, node)->results));
    return is_small(c, &graph_value(c->g, value)->type) ? value : 0;
}

// The sizes of a type with `count` new ones instead of the axes [first, first + drop).
static Attr shape(const Type *type, unsigned first, unsigned drop, const Dim *instead,
                  unsigned count, Dim *size) {
    unsigned rank = 0;
    for (unsigned i = 0; i < first; i++) size[rank++] = type->size[i];
    for (unsigned i = 0; i < count; i++) size[rank++] = instead[i];
    for (unsigned i = first + drop; i < type->rank; i++) size[rank++] = type->size[i];
    return attr_sizes(size, rank);
}

static ValueId reshape(Chain *c, ValueId x, const Type *type) {
    Dim size[2 * RANK_MAX], instead[2] = {constant(c, -1), 0};
    unsigned axis = pick(c, type->rank), drop = 1 + pick(c, type->rank - axis), count = 1;
    int64_t whole;
    if (pick(c, 2) && dim_is_const(c->g->dims, type->size[axis], &whole)) {
        int64_t part = 1 + pick(c, whole);
        while (whole % part) part--;
        instead[0] = constant(c, part), instead[1] = constant(c, whole / part);
        drop = 1, count = 2;
    }
    begin(c, OP_RESHAPE);
    set(c, "shape", shape(type, axis, drop, instead, count, size));
    return apply(c, x);
}

static ValueId spread(Chain *c, ValueId x, const Type *type) {
    Dim size[2 * RANK_MAX], wide = pick(c, 2) ? constant(c, 3) : dim_symbol_at(c->g->dims, 0);
    unsigned axis = 0, drop = 0;
    for (unsigned i = 0; i < type->rank && !drop; i++)
        if (dim_is(c->g->dims, type->size[i], 1) && pick(c, 2)) axis = i, drop = 1;
    begin(c, OP_BROADCAST_TO);
    set(c, "shape", shape(type, axis, drop, &wide, 1, size));
    return apply(c, x);
}

// Bounds not far from both ends, constant or symbolic.
static ValueId slice(Chain *c, ValueId x, const Type *type) {
    Dim starts[RANK_MAX], stops[RANK_MAX];
    int64_t steps[RANK_MAX];
    for (unsigned i = 0; i < type->rank; i++) {
        int64_t size = value_of(c, type->size[i]), start = pick(c, size < 3 ? size : 3);
        int64_t cut = pick(c, size - start < 3 ? size - start : 3);
        starts[i] = constant(c, start);
        stops[i] = dim_sub(c->g->dims, type->size[i], constant(c, cut));
        steps[i] = 1 + pick(c, 3);
    }
    begin(c, OP_SLICE);
    set(c, "starts", attr_sizes(starts, type->rank));
    set(c, "stops", attr_sizes(stops, type->rank));
    set(c, "steps", attr_ints(steps, type->rank));
    return apply(c, x);
}

static ValueId pad(Chain *c, ValueId x, const Type *type) {
    static const char *const modes[] = {"constant", "constant", "reflect", "edge"};
    Dim widths[2 * RANK_MAX];
    for (unsigned i = 0; i < 2u * type->rank; i++)
        widths[i] = constant(c, pick(c, value_of(c, type->size[i / 2]) > 2 ? 3 : 1));
    begin(c, OP_PAD);
    set(c, "widths", attr_pairs(widths, type->rank));
    set_int(c, "value", 2 + pick(c, 3));
    set(c, "mode", attr_string(modes[pick(c, 4)]));
    return apply(c, x);
}

static ValueId unfold(Chain *c, ValueId x, const Type *type) {
    unsigned axis = pick(c, type->rank);
    begin(c, OP_UNFOLD);
    set_int(c, "axis", axis);
    set_size(c, "kernel", constant(c, 1 + pick(c, 3)));
    set_size(c, "count", pick(c, 2) ? type->size[axis] : constant(c, 1 + pick(c, 4)));
    set_int(c, "stride", 1 + pick(c, 2));
    set_int(c, "dilation", 1 + pick(c, 2));
    set_size(c, "before", constant(c, pick(c, 3)));
    set_int(c, "value", pick(c, 4));
    return apply(c, x);
}

static ValueId permute(Chain *c, ValueId x, const Type *type) {
    int64_t axes[RANK_MAX];
    for (unsigned i = 0; i < type->rank; i++) {
        unsigned at = pick(c, i + 1);
        axes[i] = axes[at];
        axes[at] = i;
    }
    begin(c, OP_PERMUTE_DIMS);
    set(c, "axes", attr_ints(axes, type->rank));
    return apply(c, x);
}

static ValueId repeat(Chain *c, ValueId x, const Type *type) {
    int64_t reps[RANK_MAX];
    for (unsigned i = 0; i < type->rank; i++) reps[i] = 1 + (pick(c, 3) == 0);
    begin(c, OP_TILE);
    set(c, "reps", attr_ints(reps, type->rank));
    return apply(c, x);
}

static ValueId split(Chain *c, ValueId x, const Type *type) {
    unsigned axis = pick(c, type->rank);
    Dim one = constant(c, 1), sizes[] = {one, dim_sub(c->g->dims, type->size[axis], one)};
    if (value_of(c, type->size[axis]) < 2) return 0;
    begin(c, OP_SPLIT);
    set(c, "sizes", attr_sizes(sizes, 2));
    set_int(c, "axis", axis);
    return apply(c, x);
}

// Moves with one axis and a number at most.
static ValueId along(Chain *c, ValueId x, const Type *type) {
    static const OpId ops[] = {OP_FLIP,      OP_EXPAND_DIMS, OP_SQUEEZE,          OP_FLATTEN,
                               OP_TRANSPOSE, OP_ROLL,        OP_REPEAT_INTERLEAVE};
    OpId op = ops[pick(c, sizeof ops / sizeof *ops)];
    int64_t axis = pick(c, type->rank);
    begin(c, op);
    if (op == OP_FLIP || op == OP_SQUEEZE)
        set(c, "axis", attr_ints(&axis, 1));
    else
        set_int(c, op == OP_FLATTEN ? "start_dim" : op == OP_TRANSPOSE ? "a" : "axis", axis);
    if (op == OP_TRANSPOSE) set_int(c, "b", pick(c, type->rank));
    if (op == OP_REPEAT_INTERLEAVE) set_size(c, "repeats", constant(c, 2));
    if (op == OP_ROLL)
        set_size(c, "shift",
                 pick(c, 2) ? constant(c, (int64_t)pick(c, 5) - 2) : dim_symbol_at(c->g->dims, 0));
    return apply(c, x);
}

static ValueId move(Chain *c, ValueId x) {
    Type type = graph_value(c->g, x)->type;
    if (type.rank == 0) return 0;
    switch (pick(c, 12)) {
    case 0:
    case 1: return reshape(c, x, &type);
    case 2: return spread(c, x, &type);
    case 3:
    case 4: return slice(c, x, &type);
    case 5: return pad(c, x, &type);
    case 6: return unfold(c, x, &type);
    case 7: return permute(c, x, &type);
    case 8: return repeat(c, x, &type);
    case 9: return split(c, x, &type);
    default: return along(c, x, &type);
    }
}

// What reads the last view: a store as it is, a map, a sum or maximum.
static ValueId reader(Chain *c, ValueId x) {
    Type type = graph_value(c->g, x)->type;
    unsigned which = pick(c, 5);
    int64_t axis = type.rank ? pick(c, type.rank) : 0;
    if (which > 1 || (which == 0 && !type.rank)) return x;
    begin(c, which ? OP_NEGATIVE : dtype_is_float(type.dtype) ? OP_MAX : OP_SUM);
    if (which == 0) set(c, "axis", attr_ints(&axis, 1));
    ValueId value = apply(c, x);
    return value ? value : x;
}

Graph *random_moves(uint64_t seed, unsigned chains, unsigned longest, int64_t n) {
    static const char *const shapes[INPUTS] = {"[N, 6]", "[4, 3, 2]", "[2, N, 3]"};
    static const char *const dtypes[] = {"i32", "i32", "f32", "f16", "u8"};
    char text[32];
    snprintf(text, sizeof text, "moves%llu", (unsigned long long)seed);
    Chain c = {.g = graph_create(text), .state = seed * 977 + 5, .n = n};
    dim_symbol(c.g->dims, "N", 1, 64);
    ValueId input[INPUTS];
    const char *dtype = dtypes[pick(&c, 5)];
    for (unsigned i = 0; i < INPUTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "tiny_%u", i);
        snprintf(text, sizeof text, "%s %s", shapes[i], dtype);
        input[i] = make_input(c.g, name, text);
    }
    for (unsigned i = 0; i < chains; i++) {
        ValueId value = input[pick(&c, INPUTS)];
        for (unsigned moves = 1 + pick(&c, longest); moves > 0; moves--) {
            ValueId next = move(&c, value);
            if (next) value = next;
        }
        char name[16];
        snprintf(name, sizeof name, "out%u", i);
        ValueId read = reader(&c, value);
        for (unsigned moves = read == value ? 0 : pick(&c, 3); moves > 0; moves--) {
            Type type = graph_value(c.g, read)->type; // undone where it is stored
            if (!type.rank) break;
            ValueId next = move(&c, read);
            if (next) read = next;
        }
        graph_add_output(c.g, name, NULL, read, (Loc){0});
    }
    return c.g;
}
