// The builder, copies and the printer of graphs.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/graph_make.h"

static void assert_printed(const Graph *g, const char *expected) {
    Text text = {0};
    graph_print(g, &text);
    assert_string_equal(text.data, expected);
    text_free(&text);
}

static void assert_verified(const Graph *g) {
    Diags *diags = diags_create();
    if (!graph_verify(g, diags)) {
        Text text = {0};
        diags_render(diags, &text);
        fail_msg("%s", text.data);
    }
    diags_destroy(diags);
}

static ValueId make_number(Graph *g, const char *attrs) {
    return make_view(g, OP_FULL, attrs, 0);
}

static void output(Graph *g, const char *name, ValueId value) {
    graph_add_output(g, name, NULL, value, (Loc){0});
}

static void test_interning(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 1, 8);
    ValueId x = make_input(g, "x", "[N, 4] f32"), y = make_input(g, "y", "[N, 4] f32");
    ValueId a = make_op(g, OP_ADD, "a", NULL, x, y, 0);
    assert_int_equal(make_op(g, OP_ADD, "b", NULL, x, y, 0), a);
    assert_int_not_equal(make_op(g, OP_ADD, "c", NULL, y, x, 0), a);
    // Attributes are compared in normal form.
    ValueId s = make_op(g, OP_SUM, "s", "axis=-1", x, 0, 0);
    assert_int_equal(make_op(g, OP_SUM, "t", "axis=[1]", x, 0, 0), s);
    assert_int_not_equal(make_op(g, OP_SUM, "u", "axis=0", x, 0, 0), s);
    // A view that is read through is another node than one that is computed.
    ValueId view = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    assert_int_not_equal(make_op(g, OP_TRANSPOSE, "v", "a=0, b=1", x, 0, 0), view);
    assert_int_equal(make_view(g, OP_TRANSPOSE, "a=1, b=0", x), view);
    // Declared tensors are never merged.
    assert_int_not_equal(make_input(g, "x", "[N, 4] f32"), x);
    // 0 and -0 differ.
    assert_int_not_equal(make_number(g, "shape=[], value=0.0, dtype=f32"),
                         make_number(g, "shape=[], value=-0.0, dtype=f32"));
    graph_destroy(g);
}

static void test_names(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    ValueId x = make_input(g, "x", "[4] f32");
    ValueId h = make_op(g, OP_EXP, "h", NULL, x, 0, 0), h2 = make_op(g, OP_LOG, "h", NULL, x, 0, 0);
    assert_string_equal(graph_value(g, h)->name, "h");
    assert_string_equal(graph_value(g, h2)->name, "h.2");
    assert_int_equal(graph_find(g, "h.2"), h2);
    assert_int_equal(graph_find(g, "h.3"), 0);
    graph_reserve_name(g, "kept");
    ValueId other = make_op(g, OP_SIN, "kept", NULL, x, 0, 0);
    assert_string_equal(graph_value(g, other)->name, "kept.2");
    graph_name(g, h, "kept", true);
    assert_int_equal(graph_find(g, "kept"), h);
    assert_int_equal(graph_find(g, "h"), 0);
    ValueId nameless = make_op(g, OP_COS, NULL, NULL, x, 0, 0);
    assert_string_equal(graph_value(g, nameless)->name, "cos");
    graph_destroy(g);
}

static void test_dim_sources(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 1, 8);
    dim_symbol(g->dims, "P", 1, 8);
    make_input(g, "x", "[N, 2 * P] f32");
    assert_int_equal(dim_symbol_source(g->dims, 0), DIM_FROM_INPUT);
    assert_int_equal(dim_symbol_source(g->dims, 1), DIM_FROM_HOST);
    graph_destroy(g);
}

static void test_asserts(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "P", 0, 511);
    dim_symbol(g->dims, "S", 1, 512);
    ValueId x = make_input(g, "x", "[512] f32");
    make_view(g, OP_SLICE, "starts=[P], stops=[P + S], steps=[1]", x);
    make_view(g, OP_SLICE, "starts=[0], stops=[P + S], steps=[1]", x);
    assert_int_equal(g->asserts.len, 1); // the second slice is proved by the first one's check
    assert_string_equal(g->asserts.at[0].message, "slice: slice end % is outside an axis of %");
    assert_int_equal(g->asserts.at[0].args, 2);
    output(g, "y", make_op(g, OP_EXP, "y", NULL, x, 0, 0));
    assert_verified(g);
    assert_printed(g, "adept 1 ir\n"
                      "model m {\n"
                      "    dim P in 0..=511\n"
                      "    dim S in 1..=512\n"
                      "    assert P + S <= 512, \"slice: slice end {P + S} is outside an axis of "
                      "512\"\n"
                      "    input x : [512] f32\n"
                      "    output y : [512] f32 = exp(x)\n"
                      "}\n");
    graph_destroy(g);
}

// The example of language.md section 11.
static Graph *make_example(void) {
    Graph *g = graph_create("matmul_bias_gelu");
    dim_symbol(g->dims, "N", 1, 1024);
    Type types[] = {make_type(g, "[N, 768] f16"), make_type(g, "[768, 3072] f16"),
                    make_type(g, "[3072] f16")};
    Loc locs[] = {{8, 5, NULL},   {9, 5, NULL},   {10, 5, NULL},
                  {12, 11, NULL}, {12, 15, NULL}, {13, 32, NULL}};
    Decl decls[] = {{0}, {.key = "fc1.kernel"}, {.key = "fc1.bias"}};
    static const char *const names[] = {"x", "w", "b"};
    ValueId value[3];
    for (int i = 0; i < 3; i++) {
        NodeSpec spec = {.op = i ? OP_PARAM : OP_INPUT,
                         .name = names[i],
                         .type = &types[i],
                         .decl = &decls[i],
                         .loc = &locs[i],
                         .locs = 1};
        value[i] = graph_result(g, graph_add(g, NULL, &spec), 0);
    }
    NodeId fused = graph_begin_fused(g, "k0", "gemm", false);
    NodeSpec spec = {.op = OP_MATMUL,
                     .operand = value,
                     .operands = 2,
                     .name = "h.matmul",
                     .loc = &locs[3],
                     .locs = 1};
    ValueId sum[] = {graph_result(g, graph_add(g, NULL, &spec), 0), value[2]};
    spec = (NodeSpec){
        .op = OP_ADD, .operand = sum, .operands = 2, .name = "h", .loc = &locs[4], .locs = 1};
    ValueId h = graph_result(g, graph_add(g, NULL, &spec), 0);
    Attr attr[OP_ATTRS_MAX];
    make_attrs(g, OP_GELU, "approximate=\"tanh\"", attr);
    spec = (NodeSpec){.op = OP_GELU,
                      .operand = &h,
                      .operands = 1,
                      .name = "y",
                      .attr = attr,
                      .loc = &locs[5],
                      .locs = 1};
    ValueId y = graph_result(g, graph_add(g, NULL, &spec), 0);
    graph_end_fused(g, fused, &y, 1);
    graph_add_output(g, "y", NULL, y, locs[5]);
    return g;
}

static const char example[] =
    "adept 1 ir\n"
    "model matmul_bias_gelu {\n"
    "    dim N in 1..=1024\n"
    "    input x : [N, 768] f16 loc(8, 5)\n"
    "    param w : [768, 3072] f16 from \"/fc1.kernel\" loc(9, 5)\n"
    "    param b : [3072] f16 from \"/fc1.bias\" loc(10, 5)\n"
    "    fused k0(family=\"gemm\") -> y {\n"
    "        h.matmul : [N, 3072] f16 = matmul(x, w) loc(12, 11)\n"
    "        h : [N, 3072] f16 = add(h.matmul, b) loc(12, 15)\n"
    "        output y : [N, 3072] f16 = gelu(h, approximate=\"tanh\") loc(13, 32)\n"
    "    }\n"
    "}\n";

static void test_example(void **state) {
    (void)state;
    Graph *g = make_example();
    assert_verified(g);
    assert_printed(g, example);
    // A copy prints the same and lives on when the original is gone.
    GraphCopy copy = graph_begin_copy(g);
    const Region *body = &g->regions.at[1];
    for (uint32_t i = 0; i < body->nodes.len; i++) graph_copy_node(&copy, body->nodes.at[i]);
    graph_copy_outputs(&copy);
    graph_destroy(g);
    assert_verified(copy.to);
    assert_printed(copy.to, example);
    graph_destroy(copy.to);
}

static void test_print_operands(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    g->file = "m.adp";
    dim_symbol(g->dims, "N", 1, 8);
    ValueId x = make_input(g, "x", "[N, 4] f32"), b = make_param(g, "b", "[4] f32");
    ValueId column = make_view(g, OP_SLICE, "starts=[0, 3], stops=[N, 4], steps=[1, 1]", x);
    ValueId last = make_view(g, OP_SQUEEZE, "axis=1", column);
    output(g, "a", make_op(g, OP_ADD, "a", NULL, make_view(g, OP_EXPAND_DIMS, "axis=0", b), x, 0));
    output(g, "c",
           make_op(g, OP_MULTIPLY, "c", NULL, last,
                   make_number(g, "shape=[], value=0.5, dtype=f32"), 0));
    ValueId odd = make_view(g, OP_SLICE, "starts=[0, 1], stops=[N, 4], steps=[1, 2]", x);
    ValueId all = make_view(g, OP_SLICE, "starts=[0, 0], stops=[N, 4], steps=[1, 1]", x);
    ValueId parts[] = {make_view(g, OP_TRANSPOSE, "a=0, b=1", odd),
                       make_view(g, OP_TRANSPOSE, "a=0, b=1", all)};
    NodeId joined = make_node(g, NULL, OP_CONCAT, "d", NULL, parts, 2);
    output(g, "d", graph_result(g, joined, 0));
    ValueId clip[] = {x, 0, make_number(g, "shape=[], value=N, dtype=f32")};
    output(g, "e", graph_result(g, make_node(g, NULL, OP_CLIP, "e", NULL, clip, 3), 0));
    output(g, "b2", b);
    ValueId bare = make_number(g, "shape=[], value=true, dtype=bool");
    output(g, "n", make_op(g, OP_LOGICAL_NOT, "n", NULL, bare, 0, 0));
    NodeId split = make_node(g, NULL, OP_SPLIT, "l", "sizes=[1, 3], axis=1", &x, 1);
    output(g, "loc", make_op(g, OP_EXP, "loc", NULL, graph_result(g, split, 1), 0, 0));
    assert_verified(g);
    assert_printed(g, "adept 1 ir\n"
                      "model m {\n"
                      "    dim N in 1..=8\n"
                      "    input x : [N, 4] f32\n"
                      "    param b : [4] f32 from \"/b\"\n"
                      "    output a : [N, 4] f32 = add(b[None, :], x)\n"
                      "    output c : [N] f32 = multiply(x[:, 3], 0.5)\n"
                      "    output d : [6, N] f32 = concat([transpose(x[:, 1:4:2], a=0, b=1), "
                      "transpose(x[0:N, :], a=0, b=1)])\n"
                      "    output e : [N, 4] f32 = clip(x, None, N)\n"
                      "    output b2 : [4] f32 = b\n"
                      "    full.3 : bool = full(shape=[], value=true, dtype=bool)\n"
                      "    output n : bool = logical_not(full.3)\n"
                      "    l : [N, 1] f32, l.2 : [N, 3] f32 = split(x, sizes=[1, 3], axis=1)\n"
                      "    loc.0 : [N, 3] f32 = exp(l.2)\n"
                      "    output loc : [N, 3] f32 = loc.0\n"
                      "}\n");
    graph_destroy(g);
}

static void test_print_declarations(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    Type types[] = {make_type(g, "[2, 2] i32"), make_type(g, "[2] bool"),
                    make_type(g, "[1, 2] f32"), make_type(g, "[3] f32")};
    double ints[] = {1, -2, 3, 4}, bools[] = {1, 0}, floats[] = {0.1, 1e30};
    Loc locs[] = {{3, 4, "lib.adp"}, {9, 2, NULL}};
    Decl decls[] = {{.const_data = ints},     {.const_data = bools},
                    {.const_data = floats},   {.key = "l.{i}.w", .stored = DT_BF16},
                    {.key = "s", .fill = -1}, {.host_name = "im{a}ge:0"}};
    static const OpId ops[] = {OP_CONST, OP_CONST, OP_CONST, OP_PARAM, OP_STATE, OP_INPUT};
    static const char *const names[] = {"c", "t", "f", "w", "s", "x"};
    for (int i = 0; i < 6; i++) {
        NodeSpec spec = {.op = ops[i],
                         .name = names[i],
                         .type = &types[i < 3 ? i : 3],
                         .decl = &decls[i],
                         .loc = locs,
                         .locs = i == 3 ? 2 : 0};
        assert_int_not_equal(graph_add(g, NULL, &spec), 0);
    }
    graph_add_output(g, "y", "out\"1", make_op(g, OP_EXP, "y", NULL, graph_find(g, "x"), 0, 0),
                     (Loc){0});
    assert_verified(g);
    assert_printed(
        g, "adept 1 ir\n"
           "model m {\n"
           "    const c : [2, 2] i32 = [[1, -2], [3, 4]]\n"
           "    const t : [2] bool = [true, false]\n"
           "    const f : [1, 2] f32 = [[0.1, 1e30]]\n"
           "    param w : [3] f32 as bf16 from \"/l.{i}.w\" loc(\"lib.adp\", 3, 4, \"\", 9, 2)\n"
           "    state s : [3] f32 = -1.0 from \"/s\"\n"
           "    input x : [3] f32 from \"im{{a}}ge:0\"\n"
           "    output y : [3] f32 = exp(x) from \"out\\\"1\"\n"
           "}\n");
    graph_destroy(g);
}

// Outputs keep their order, whatever the order of their values.
static void test_print_outputs(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    ValueId x = make_input(g, "x", "[4] f32");
    ValueId a = make_op(g, OP_EXP, "a", NULL, x, 0, 0), b = make_op(g, OP_SIN, "b", NULL, a, 0, 0);
    output(g, "b", b);
    output(g, "a", a);
    output(g, "again", a);
    output(g, "flat", make_view(g, OP_RESHAPE, "shape=[2, 2]", b));
    assert_verified(g);
    assert_printed(g, "adept 1 ir\n"
                      "model m {\n"
                      "    input x : [4] f32\n"
                      "    a : [4] f32 = exp(x)\n"
                      "    output b : [4] f32 = sin(a)\n"
                      "    output a : [4] f32 = a\n"
                      "    output again : [4] f32 = a\n"
                      "    reshape : [2, 2] f32 = reshape(b, shape=[2, 2])\n"
                      "    output flat : [2, 2] f32 = reshape\n"
                      "}\n");
    graph_destroy(g);
}

static void test_repeat(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    ValueId x = make_input(g, "x", "[4] f32");
    ValueId h = make_op(g, OP_EXP, "h", NULL, x, 0, 0);
    Loc loc = {7, 5, NULL};
    NodeId repeat = graph_begin_repeat(g, "i", 0, 3, &h, 1, &loc, 1);
    ValueId inside = graph_node(g, repeat)->param[0];
    ValueId w = make_param(g, "w.{i}", "[4] f32");
    graph_name(g, w, "w", false);
    ValueId t = make_op(g, OP_MULTIPLY, "t", NULL, inside, w, 0);
    ValueId next = make_op(g, OP_ADD, "h.2", NULL, t, inside, 0);
    graph_end_repeat(g, repeat, &next);
    output(g, "y", make_op(g, OP_SIN, "y", NULL, graph_result(g, repeat, 0), 0, 0));
    assert_verified(g);
    assert_printed(g, "adept 1 ir\n"
                      "model m {\n"
                      "    input x : [4] f32\n"
                      "    h : [4] f32 = exp(x)\n"
                      "    repeat i in 0..3 {\n"
                      "        param w : [4] f32 from \"/w.{i}\"\n"
                      "        t : [4] f32 = multiply(h, w)\n"
                      "        h : [4] f32 = add(t, h)\n"
                      "    } loc(7, 5)\n"
                      "    output y : [4] f32 = sin(h)\n"
                      "}\n");
    graph_destroy(g);
}

// Names that the loop cannot take over: an input, a value used later, exchanged values.
static void test_repeat_names(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    ValueId x = make_input(g, "x", "[4] f32");
    ValueId k = make_op(g, OP_EXP, "k", NULL, x, 0, 0);
    ValueId init[] = {x, k};
    NodeId repeat = graph_begin_repeat(g, "i", 0, 3, init, 2, NULL, 0);
    ValueId a = graph_node(g, repeat)->param[0], b = graph_node(g, repeat)->param[1];
    ValueId c = make_op(g, OP_ADD, "c", NULL, a, b, 0);
    ValueId yield[] = {b, c};
    graph_end_repeat(g, repeat, yield);
    graph_name(g, graph_result(g, repeat, 0), "a", false);
    graph_name(g, graph_result(g, repeat, 1), "b", false);
    ValueId sum = make_op(g, OP_ADD, "sum", NULL, graph_result(g, repeat, 0), k, 0);
    output(g, "y", make_op(g, OP_ADD, "y", NULL, sum, graph_result(g, repeat, 1), 0));
    assert_verified(g);
    assert_printed(g, "adept 1 ir\n"
                      "model m {\n"
                      "    input x : [4] f32\n"
                      "    k : [4] f32 = exp(x)\n"
                      "    a : [4] f32 = x\n"
                      "    b : [4] f32 = k\n"
                      "    repeat i in 0..3 {\n"
                      "        c : [4] f32 = add(a, b)\n"
                      "        a : [4] f32, b : [4] f32 = b, c\n"
                      "    }\n"
                      "    sum : [4] f32 = add(a, k)\n"
                      "    output y : [4] f32 = add(sum, b)\n"
                      "}\n");
    graph_destroy(g);
}

static void test_trip_names(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "j", 1, 8);
    ValueId x = make_input(g, "x", "[4] f32");
    NodeId outer = graph_begin_repeat(g, "i", 0, 3, &x, 1, NULL, 0);
    NodeId inner = graph_begin_repeat(g, "i", 0, 3, graph_node(g, outer)->param, 1, NULL, 0);
    ValueId e = make_op(g, OP_EXP, "e", NULL, graph_node(g, inner)->param[0], 0, 0);
    graph_end_repeat(g, inner, &e);
    ValueId r = graph_result(g, inner, 0);
    graph_end_repeat(g, outer, &r);
    r = graph_result(g, outer, 0);
    NodeId next = graph_begin_repeat(g, "i", 0, 3, &r, 1, NULL, 0);
    graph_end_repeat(g, next, graph_node(g, next)->param);
    NodeId other = graph_begin_repeat(g, "j", 0, 3, &r, 1, NULL, 0);
    graph_end_repeat(g, other, graph_node(g, other)->param);
    assert_int_equal(graph_node(g, next)->trip, graph_node(g, outer)->trip);
    assert_int_equal(graph_node(g, inner)->trip, dim_find(g->dims, "i_2"));
    assert_int_equal(graph_node(g, other)->trip, dim_find(g->dims, "j_2"));
    assert_int_equal(dim_bounds(g->dims, graph_node(g, inner)->trip).hi, 2);
    assert_verified(g);
    graph_destroy(g);
}

static void test_state(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "P", 0, 3);
    ValueId x = make_input(g, "x", "[2] f32"), s = make_state(g, "s", "[4] f32");
    ValueId old = make_op(g, OP_SUM, "before", NULL, s, 0, 0);
    ValueId s1 = make_op(g, OP_UPDATE, "u", "starts=[0], stops=[2], steps=[1]", s, x, 0);
    ValueId late = make_op(g, OP_SUM, "late", NULL, make_view(g, OP_FLIP, "axis=0", s), 0, 0);
    NodeId repeat = graph_begin_repeat(g, "i", 0, 2, &s1, 1, NULL, 0);
    ValueId inside = graph_node(g, repeat)->param[0];
    ValueId one = make_number(g, "shape=[], value=1.0, dtype=f32");
    ValueId s2 = make_op(g, OP_UPDATE, "u", "starts=[3], stops=[4], steps=[1]", inside, one, 0);
    graph_end_repeat(g, repeat, &s2);
    ValueId last = graph_result(g, repeat, 0);
    assert_int_equal(graph_state_of(g, last), graph_value(g, s)->node);
    assert_int_equal(graph_state_of(g, x), 0);
    output(g, "a", old);
    output(g, "b", late);
    output(g, "c", make_op(g, OP_EXP, "c", NULL, last, 0, 0));
    assert_verified(g);
    assert_printed(g, "adept 1 ir\n"
                      "model m {\n"
                      "    dim P in 0..=3\n"
                      "    input x : [2] f32\n"
                      "    state s : [4] f32 from \"/s\"\n"
                      "    before : f32 = sum(s, axis=0)\n"
                      "    output a : f32 = before\n"
                      "    s.1 : [4] f32 = s\n"
                      "    s[0:2] = x\n"
                      "    late : f32 = sum(flip(s.1, axis=0), axis=0)\n"
                      "    output b : f32 = late\n"
                      "    repeat i in 0..2 {\n"
                      "        s[3:4] = 1.0\n"
                      "    }\n"
                      "    output c : [4] f32 = exp(s)\n"
                      "}\n");
    graph_destroy(g);
}

static void test_copy_drops_dead(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    ValueId x = make_input(g, "x", "[4] f32"), z = make_input(g, "z", "[4] f32");
    ValueId s = make_state(g, "s", "[4] f32");
    make_op(g, OP_LOG, "dead", NULL, z, 0, 0);
    ValueId init[] = {x, z};
    NodeId repeat = graph_begin_repeat(g, "i", 0, 2, init, 2, NULL, 0);
    ValueId a = make_op(g, OP_EXP, "a", NULL, graph_node(g, repeat)->param[0], 0, 0);
    ValueId b = make_op(g, OP_SIN, "b", NULL, graph_node(g, repeat)->param[1], 0, 0);
    ValueId yield[] = {a, b};
    graph_end_repeat(g, repeat, yield);
    graph_name(g, graph_result(g, repeat, 0), "h", false);
    make_op(g, OP_UPDATE, "u", "starts=[0], stops=[4], steps=[1]", s, x, 0);
    output(g, "y", make_op(g, OP_COS, "y", NULL, graph_result(g, repeat, 0), 0, 0));
    uint32_t *uses = graph_use_counts(g);
    assert_int_equal(uses[x], 2);
    assert_int_equal(uses[z], 2);
    assert_int_equal(uses[a], 1);
    assert_int_equal(uses[graph_find(g, "y")], 1);
    assert_int_equal(uses[graph_find(g, "dead")], 0);

    GraphCopy copy = graph_begin_copy(g);
    for (uint32_t i = 0; i < g->regions.at[1].nodes.len; i++) {
        NodeId id = g->regions.at[1].nodes.at[i];
        if (copy.live_node[id]) assert_int_not_equal(graph_copy_node(&copy, id), 0);
    }
    graph_copy_outputs(&copy);
    assert_verified(copy.to);
    assert_printed(copy.to, "adept 1 ir\n"
                            "model m {\n"
                            "    input x : [4] f32\n"
                            "    state s : [4] f32 from \"/s\"\n"
                            "    h : [4] f32 = x\n"
                            "    repeat i in 0..2 {\n"
                            "        h : [4] f32 = exp(h)\n"
                            "    }\n"
                            "    s[0:4] = x\n"
                            "    output y : [4] f32 = cos(h)\n"
                            "}\n");
    graph_destroy(g);
    graph_destroy(copy.to);
}

// The offset of an element of a composed view.
static int64_t offset(const Graph *g, ValueId value, ValueId expected, int64_t i, int64_t j) {
    ValueId base;
    View view;
    int64_t symbols[] = {5}, index[RANK_MAX] = {i, j};
    assert_true(graph_view(g, value, &base, &view));
    assert_int_equal(base, expected);
    return view_offset(g->dims, &view, symbols, index);
}

static void test_views(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 1, 8);
    ValueId x = make_input(g, "x", "[N, 6] f32");
    ValueId t = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    assert_int_equal(offset(g, t, x, 2, 4), 4 * 6 + 2);
    ValueId s = make_view(g, OP_SLICE, "starts=[1, 0], stops=[6, N], steps=[2, 1]", t);
    assert_int_equal(offset(g, s, x, 2, 3), 3 * 6 + 5);
    ValueId f = make_view(g, OP_FLIP, "axis=[0, 1]", s);
    assert_int_equal(offset(g, f, x, 0, 0), 4 * 6 + 5);
    ValueId p = make_view(g, OP_PAD, "widths=[[1, 0], [0, 2]]", x);
    assert_int_equal(offset(g, p, x, 0, 3), -1);
    assert_int_equal(offset(g, p, x, 1, 3), 3);
    assert_int_equal(offset(g, p, x, 5, 6), -1);
    ValueId q = make_view(g, OP_PERMUTE_DIMS, "axes=[1, 0]", x);
    assert_int_equal(offset(g, q, x, 5, 1), 6 + 5);
    ValueId e = make_view(g, OP_SQUEEZE, "axis=0", make_view(g, OP_EXPAND_DIMS, "axis=0", x));
    assert_int_equal(offset(g, e, x, 3, 1), 3 * 6 + 1);
    ValueId r = make_view(g, OP_TILE, "reps=[2, 3]", x);
    assert_int_equal(offset(g, r, x, 9, 13), 4 * 6 + 1);
    ValueId u = make_view(g, OP_RESHAPE, "shape=[-1, 3]", x);
    assert_int_equal(offset(g, u, x, 3, 1), 10);
    ValueId b = make_view(g, OP_BROADCAST_TO, "shape=[N, 6]",
                          make_view(g, OP_SLICE, "starts=[2, 0], stops=[3, 6], steps=[1, 1]",
                                    make_input(g, "y", "[3, 6] f32")));
    assert_int_equal(offset(g, b, graph_find(g, "y"), 4, 1), 2 * 6 + 1);
    ValueId line = make_input(g, "z", "[6] f32");
    ValueId w = make_view(g, OP_UNFOLD, "axis=0, kernel=3, count=6, before=1", line);
    assert_int_equal(offset(g, w, line, 0, 0), -1);
    assert_int_equal(offset(g, w, line, 2, 4), 5);
    assert_int_equal(offset(g, w, line, 2, 5), -1);
    NodeId split = make_node(g, NULL, OP_SPLIT, NULL, "sizes=[2, 4], axis=1", &x, 1);
    graph_node(g, split)->inline_view = true;
    assert_int_equal(offset(g, graph_result(g, split, 1), x, 2, 3), 2 * 6 + 5);
    // A view that is computed ends the chain.
    ValueId made = make_op(g, OP_TRANSPOSE, "made", "a=0, b=1", x, 0, 0);
    assert_int_equal(offset(g, make_view(g, OP_FLIP, "axis=0", made), made, 0, 0), 5 * 5);
    assert_verified(g);
    graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interning),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_dim_sources),
        cmocka_unit_test(test_asserts),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_print_operands),
        cmocka_unit_test(test_print_declarations),
        cmocka_unit_test(test_print_outputs),
        cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_repeat_names),
        cmocka_unit_test(test_trip_names),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_copy_drops_dead),
        cmocka_unit_test(test_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
