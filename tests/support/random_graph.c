// Random graphs, for tests of passes and of the device.
#include "tests/support/random_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/graph_make.h"

typedef struct Random {
    Graph *g;
    uint64_t state;
    ValueId value[64];
    uint32_t values;
    unsigned made;
    const char *dtype; // of inputs and params
    bool exact;        // only what strict rounding gives to the bit
} Random;

static uint32_t pick(Random *r, uint32_t below) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33) % below;
}

static Type type_of(const Random *r, ValueId value) {
    return graph_value(r->g, value)->type;
}

// A value of at least `rank` axes; recent ones are likelier.
static ValueId some(Random *r, uint32_t rank) {
    for (unsigned tries = 0; tries < 20; tries++) {
        uint32_t back = 1 + pick(r, 1 + pick(r, r->values));
        ValueId value = r->value[r->values - back];
        if (type_of(r, value).rank >= rank) return value;
    }
    return 0;
}

// Misuses, such as shapes that do not broadcast, are simply not kept.
static void try_op(Random *r, OpId op, const char *attrs, ValueId *operand, uint32_t operands) {
    for (uint32_t i = 0; i < operands; i++)
        if (!operand[i]) return;
    Diags *diags = diags_create();
    char name[16];
    snprintf(name, sizeof name, "v%u", r->made++);
    NodeId node = make_node(r->g, diags, op, name, attrs, operand, operands);
    diags_destroy(diags);
    if (!node || r->values == sizeof r->value / sizeof *r->value) return;
    Type type = graph_value(r->g, graph_result(r->g, node, 0))->type;
    if (type.rank <= 5) r->value[r->values++] = graph_result(r->g, node, 0);
}

static ValueId param(Random *r, const Type *of, unsigned from, unsigned count, const char *lead) {
    Text text = {0};
    text_printf(&text, "[%s", lead);
    for (unsigned i = 0; i < count; i++) {
        text_printf(&text, "%s", *lead || i ? ", " : "");
        dim_print(r->g->dims, of->size[from + i], &text);
    }
    text_printf(&text, "] %s", r->dtype);
    char name[16];
    snprintf(name, sizeof name, "p%u", r->made++);
    ValueId value = make_param(r->g, name, text.data);
    text_free(&text);
    return value;
}

static bool constant(const Random *r, Dim dim) {
    return dim_is_const(r->g->dims, dim, NULL);
}

// None that makes small differences large, such as sin of large numbers.
static void maps(Random *r) {
    static const OpId unary[] = {OP_TANH, OP_RELU, OP_GELU, OP_NEGATIVE, OP_ABS, OP_SIGMOID};
    static const OpId exact[] = {OP_RELU, OP_NEGATIVE, OP_ABS};
    static const OpId binary[] = {OP_ADD, OP_MULTIPLY, OP_SUBTRACT, OP_MAXIMUM};
    ValueId operand[] = {some(r, 0), some(r, 0)};
    if (pick(r, 2))
        try_op(r, r->exact ? exact[pick(r, 3)] : unary[pick(r, 6)], NULL, operand, 1);
    else
        try_op(r, binary[pick(r, 4)], NULL, operand, 2);
}

static void reduces(Random *r) {
    static const OpId op[] = {OP_SUM, OP_MEAN, OP_MAX, OP_MIN, OP_SOFTMAX, OP_LOG_SOFTMAX};
    static const OpId exact[] = {OP_ARGMAX, OP_ARGMIN, OP_PROD, OP_MAX};
    ValueId x = some(r, 1);
    if (!x) return;
    unsigned which = pick(r, 6), rank = type_of(r, x).rank, axis = pick(r, rank);
    char attrs[64];
    if (which >= 4)
        snprintf(attrs, sizeof attrs, "axis=%u", axis);
    else if (rank > 1 && pick(r, 3) == 0)
        snprintf(attrs, sizeof attrs, "axis=[%u, %u]", axis, (axis + 1) % rank);
    else
        snprintf(attrs, sizeof attrs, "axis=%u, keepdims=%s", axis, pick(r, 2) ? "true" : "false");
    bool integer = r->dtype[0] == 'i' && strncmp(attrs, "axis=[", 6) != 0 && pick(r, 2);
    try_op(r, integer ? exact[which % 4] : op[which], attrs, &x, 1);
}

static void norms(Random *r) {
    ValueId x = some(r, 2);
    if (!x) return;
    Type type = type_of(r, x);
    if (!constant(r, type.size[type.rank - 1])) return;
    ValueId operand[] = {x, param(r, &type, type.rank - 1u, 1, ""), 0};
    bool layer = pick(r, 2);
    if (layer) operand[2] = param(r, &type, type.rank - 1u, 1, "");
    try_op(r, layer ? OP_LAYER_NORM : OP_RMS_NORM, NULL, operand, layer ? 3 : 2);
}

static void products(Random *r) {
    ValueId x = some(r, 1);
    if (!x) return;
    Type type = type_of(r, x);
    if (!constant(r, type.size[type.rank - 1])) return;
    Type out = {.rank = 1, .size = {dim_const(r->g->dims, 1 + pick(r, 5))}};
    Text lead = {0};
    dim_print(r->g->dims, out.size[0], &lead);
    ValueId operand[] = {x, param(r, &type, type.rank - 1u, 1, lead.data), 0};
    text_free(&lead);
    if (pick(r, 2)) operand[2] = param(r, &out, 0, 1, "");
    try_op(r, OP_LINEAR, NULL, operand, operand[2] ? 3 : 2);
    ValueId pair[] = {x, some(r, 1)};
    try_op(r, OP_MATMUL, NULL, pair, 2);
}

static void windows(Random *r) {
    static const char *const pools[] = {"kernel_size=2", "kernel_size=3, stride=1, padding=1",
                                        "kernel_size=2, stride=2, ceil_mode=true"};
    ValueId x = some(r, 4);
    if (!x || type_of(r, x).rank != 4) return;
    Type type = type_of(r, x);
    for (unsigned i = 1; i < 4; i++)
        if (!constant(r, type.size[i])) return;
    if (pick(r, 2)) {
        try_op(r, pick(r, 2) ? OP_MAX_POOL2D : OP_AVG_POOL2D, pools[pick(r, 3)], &x, 1);
        return;
    }
    Text weight = {0};
    text_put(&weight, "[3, ");
    dim_print(r->g->dims, type.size[1], &weight);
    text_printf(&weight, ", 3, 3] %s", r->dtype);
    char name[16];
    snprintf(name, sizeof name, "p%u", r->made++);
    ValueId operand[] = {x, make_param(r->g, name, weight.data)};
    text_free(&weight);
    try_op(r, OP_CONV2D, pick(r, 2) ? "padding=1" : "padding=1, stride=2", operand, 2);
}

static void moves(Random *r) {
    ValueId x = some(r, 2);
    if (!x) return;
    Type type = type_of(r, x);
    unsigned a = pick(r, type.rank), b = pick(r, type.rank);
    char attrs[64];
    switch (pick(r, 6)) {
    case 0:
        snprintf(attrs, sizeof attrs, "a=%u, b=%u", a, b);
        try_op(r, OP_TRANSPOSE, attrs, &x, 1);
        break;
    case 1:
        snprintf(attrs, sizeof attrs, "start_dim=%u", a);
        try_op(r, OP_FLATTEN, attrs, &x, 1);
        break;
    case 2:
        snprintf(attrs, sizeof attrs, "axis=%u", a);
        try_op(r, pick(r, 2) ? OP_EXPAND_DIMS : OP_FLIP, attrs, &x, 1);
        break;
    case 3: {
        int64_t size;
        if (!dim_is_const(r->g->dims, type.size[a], &size) || size < 2) break;
        snprintf(attrs, sizeof attrs, "sizes=[1, %lld], axis=%u", (long long)size - 1, a);
        try_op(r, OP_SPLIT, attrs, &x, 1);
        break;
    }
    default: {
        ValueId pair[] = {x, pick(r, 2) ? x : some(r, 2)};
        snprintf(attrs, sizeof attrs, "axis=%u", a);
        try_op(r, pick(r, 4) ? OP_CONCAT : OP_STACK, attrs, pair, 2);
        break;
    }
    }
}

Graph *random_graph(uint64_t seed, bool exact) {
    char model[32];
    snprintf(model, sizeof model, "graph%llu", (unsigned long long)seed);
    Random r = {.g = graph_create(model), .state = seed * 977 + 5, .exact = exact};
    dim_symbol(r.g->dims, "N", 1, 64);
    static const char *const types[] = {"[N, 4]", "[N, 2, 4, 6]", "[4]", "[3, N]", "[N, 3, 4]"};
    static const char *const dtypes[] = {"f32", "f32", "f32", "f16", "bf16", "i32"};
    r.dtype = dtypes[pick(&r, 6)];
    for (unsigned i = 0; i < 3; i++) {
        char name[16], type[32];
        snprintf(name, sizeof name, "in%u", i);
        snprintf(type, sizeof type, "%s %s", types[pick(&r, 5)], r.dtype);
        r.value[r.values++] = make_input(r.g, name, type);
    }
    void (*const step[])(Random *) = {maps, maps, maps, reduces, norms, products, windows, moves};
    void (*const exact_step[])(Random *) = {maps, moves};
    for (unsigned i = 0, steps = 4 + pick(&r, 16); i < steps; i++) {
        if (exact)
            exact_step[pick(&r, 2)](&r);
        else
            step[pick(&r, 8)](&r);
    }
    unsigned outputs = 1 + pick(&r, 3);
    for (unsigned i = 0; i < outputs; i++) {
        ValueId value = i ? some(&r, 0) : r.value[r.values - 1];
        char name[16];
        snprintf(name, sizeof name, "out%u", i);
        graph_add_output(r.g, name, NULL, value, (Loc){0});
    }
    return r.g;
}

void random_range(unsigned usual, unsigned *first, unsigned *last) {
    const char *count = getenv("ADEPT_RANDOM_GRAPHS"), *one = getenv("ADEPT_RANDOM_GRAPH");
    *first = one ? (unsigned)atoi(one) : 0;
    *last = one ? *first + 1 : count ? (unsigned)atoi(count) : usual;
}

double random_tolerance(const Graph *g, double wide) {
    for (ValueId id = 1; id < g->values.len; id++) {
        DType dtype = graph_value(g, id)->type.dtype;
        if (dtype == DT_F16) return 5e-2;
        if (dtype == DT_BF16) return 5e-1;
    }
    return wide;
}
