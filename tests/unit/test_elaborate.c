// What elaboration makes: values computed by the reference evaluator, attributes, limits, defines.
// The texts of diagnostics and graphs are goldens (test_diagnostics.c).
#include "frontend/load.h"
#include "ir/eval.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- loading ----

typedef struct Loaded {
    Diags *diags;
    Graph *graph; // NULL: refused
    Text messages;
} Loaded;

static Loaded load_text(const char *text, const Defines *defines) {
    Loaded loaded = {.diags = diags_create()};
    load_graph("folder/test.adp", text, strlen(text), defines, loaded.diags, &loaded.graph);
    text_put(&loaded.messages, "");
    diags_render(loaded.diags, &loaded.messages);
    return loaded;
}

static void load_end(Loaded *loaded) {
    text_free(&loaded->messages);
    graph_destroy(loaded->graph);
    diags_destroy(loaded->diags);
}

// ---- values ----

// Inputs and params hold 0, 1, 2 .. in row-major order; states begin with their fill.
static bool fetch(void *user, ValueId source, const int64_t *symbols, Tensor *out) {
    const Graph *g = user;
    (void)symbols;
    const Node *node = graph_node(g, graph_value(g, source)->node);
    for (int64_t i = 0; i < out->elements; i++)
        out->data[i] = node->op == OP_STATE ? node->decl->fill : (double)i;
    return true;
}

// The one output of a model with the given statements, for S = 3 and P = 2.
static void expect_output(const char *statements, const double *wanted, int64_t count) {
    Text text = {0};
    text_printf(&text,
                "adept 1\n"
                "dim S in 1..=4\n"
                "dim P in 0..8\n"
                "model m {\n"
                "    input x : [S, 4] f32\n"
                "    input ids : [S] i32\n"
                "    %s\n"
                "    output _unused = cast(ids, f32)[:, None] + x\n"
                "}\n",
                statements);
    Loaded loaded = load_text(text.data, NULL);
    if (!loaded.graph) print_message("%s", loaded.messages.data);
    assert_non_null(loaded.graph);
    assert_true(graph_verify(loaded.graph, loaded.diags));
    int64_t symbols[64] = {3, 2};
    EvalOptions options = {.symbols = symbols, .fetch = fetch, .user = loaded.graph};
    Eval *eval = eval_create(loaded.graph, &options, loaded.diags);
    assert_true(eval_run(eval));
    const Tensor *got = eval_output(eval, 0);
    if (got->elements != count) print_message("%s\n", statements);
    assert_int_equal(got->elements, count);
    for (int64_t i = 0; i < count; i++) {
        if (got->data[i] != wanted[i])
            print_message("%s\n[%d]: %g, not %g\n", statements, (int)i, got->data[i], wanted[i]);
        assert_true(got->data[i] == wanted[i]);
    }
    eval_destroy(eval);
    load_end(&loaded);
    text_free(&text);
}

#define expect(statements, ...)                                                                    \
    expect_output(statements, (const double[]){__VA_ARGS__},                                       \
                  sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

// x is [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]].
static void slices(void **state) {
    (void)state;
    expect("output y = x[1]", 4, 5, 6, 7);
    expect("output y = x[-1]", 8, 9, 10, 11);
    expect("output y = x[S - 1]", 8, 9, 10, 11);
    expect("output y = x[0, 1:3]", 1, 2);
    expect("output y = x[:, -1]", 3, 7, 11);
    expect("output y = x[..., 2]", 2, 6, 10);
    expect("output y = x[-2:, ::2]", 4, 6, 8, 10);
    expect("output y = x[:S - 1, 1:-1]", 1, 2, 5, 6);
    expect("output y = x[0, None, 1]", 1);
    expect("output y = x[P, 3:]", 11);
    expect("output y = x[1:1]", );
    expect("output y = (x[:, None] + x[0:1, None])[2, 0]", 8, 10, 12, 14);
    expect("output y = x.T[1]", 1, 5, 9);
    expect("output y = reshape(x, [S, 2, 2]).mT[0]", 0, 2, 1, 3);
}

static void states(void **state) {
    (void)state;
    expect("state s : [8] f32 = 1\n s[P:P + S] = x[:, 0]\n output y = s", 1, 1, 0, 4, 8, 1, 1, 1);
    expect("state s : [2, 3] f32\n s[1] = 5\n output y = s", 0, 0, 0, 5, 5, 5);
    expect("state s : [2, 3] f32\n s[:, 1] = x[:2, 3]\n output y = s", 0, 3, 0, 0, 7, 0);
    expect("state s : [2, 3, 2] f32\n s[1, :, 0] = x[0, :3]\n output y = s", 0, 0, 0, 0, 0, 0, 0, 0,
           1, 0, 2, 0);
    expect("state s : [4] f32\n a = s[0:2]\n s[:] = x[1]\n output y = concat([a, s])", 0, 0, 4, 5,
           6, 7);
    expect("state s : [2] f32\n repeat i in 0..3 { s[0] = s[1] + 1\n s[1] = s[0] * 2 }\n"
           "output y = s",
           7, 14);
}

static void operators(void **state) {
    (void)state;
    expect("output y = x[0] * 2 + 1", 1, 3, 5, 7);
    expect("output y = -x[0] ** 2", 0, -1, -4, -9);
    expect("output y = 2 ** x[0]", 1, 2, 4, 8);
    expect("output y = x[0] / 4", 0, 0.25, 0.5, 0.75);
    expect("output y = x[1] // 4 - x[1] % 4", 1, 0, -1, -2);
    expect("output y = x[0] * S + P", 2, 5, 8, 11);
    expect("output y = x @ x.T[:, :2]", 14, 38, 38, 126, 62, 214);
    expect("output y = where(x[0] > 1 and not (x[0] == 3), x[0], -1)", -1, -1, 2, -1);
    expect("output y = x[0] != 2 or x[0] >= 3", 1, 1, 0, 1);
    expect("output y = where(ids < 1, ids, 7)", 0, 7, 7);
    expect("output y = clip(x[1], None, 5)", 4, 5, 5, 5);
    expect("output y = maximum(x[0], 1.5)", 1.5, 1.5, 2, 3);
    expect("output y = +x[0, 1] - 1", 0);
}

static void constants(void **state) {
    (void)state;
    expect("const t : [3] f32 = [7 // 2, -7 // 2, -7 % 3]\n output y = t", 3, -4, 2);
    expect("const t : [3] f32 = [7 / 2, 2 ** 10, 2 ** -1]\n output y = t", 3.5, 1024, 0.5);
    expect("const t : [2] f32 = [maximum(2, 3.5), minimum(-1, 4)]\n output y = t", 3.5, -1);
    expect("const t : [2] i32 = [0x10, 7 // 0]\n output y = t", 16, 0);
    expect("const t : [2, 2] f32 = [[1, 2], [3, 4]]\n output y = t", 1, 2, 3, 4);
    expect("const t : f16 = 0.1\n output y = t", 0.0999755859375);
    expect("const b = 3 > 2 and not (1 == 2)\n z = x[0, 0]\n if b { z = z + 1 }\n output y = z", 1);
    expect("const T = f16\n z = x[0, 0]\n if T == f16 { z = z + 5 }\n output y = z", 5);
    expect("const s = \"tanh\"\n z = x[0, 0]\n if s != \"none\" { z = z - 1 }\n output y = z", -1);
    expect("output y : f32 = pi", 3.1415927410125732);
    expect("output y : f32 = -inf", -INFINITY);
}

static void control(void **state) {
    (void)state;
    expect("h = x[0]\n repeat i in 0..3 { h = h * 2 }\n output y = h", 0, 8, 16, 24);
    expect("h = x[0]\n repeat i in 0..0 { h = h * 2 }\n output y = h", 0, 1, 2, 3);
    expect("h = x[0]\n g = x[1]\n repeat i in 1..=3 { h, g = g, h }\n output y = h", 4, 5, 6, 7);
    expect("h = x[0]\n repeat i in 0..2 { repeat j in 0..2 { h = h + 1 }\n h = h * 2 }\n"
           "output y = h",
           12, 16, 20, 24);
    expect("h = x[0]\n if 1 == 2 { h = h + 1 } else if 2 == 2 { h = h + 2 } else { h = h + 3 }\n"
           "output y = h",
           2, 3, 4, 5);
    expect("a, b = split(x, [1, 3], axis=1)\n a, b = b, a\n output y = a[0] + b[1]", 5, 6, 7);
}

// ---- functions, defines, limits ----

static void refuses(const char *text, const char *message) {
    Loaded loaded = load_text(text, NULL);
    if (!strstr(loaded.messages.data, message)) print_message("%s\n", loaded.messages.data);
    assert_null(loaded.graph);
    assert_non_null(strstr(loaded.messages.data, message));
    load_end(&loaded);
}

static char *repeated(const char *before, const char *piece, unsigned count, const char *after) {
    Text text = {0};
    text_put(&text, before);
    for (unsigned i = 0; i < count; i++) text_printf(&text, piece, i, i, i);
    text_put(&text, after);
    return text.data;
}

static void limit(const char *before, const char *piece, unsigned good, const char *after,
                  const char *message) {
    char *text = repeated(before, piece, good, after);
    Loaded loaded = load_text(text, NULL);
    if (!loaded.graph) print_message("%s\n", loaded.messages.data);
    assert_non_null(loaded.graph);
    load_end(&loaded);
    free(text);
    text = repeated(before, piece, good + 1, after);
    refuses(text, message);
    free(text);
}

static void limits(void **state) {
    (void)state;
    limit("adept 1\nmodel m {\n", "input x%u : f32\n", 64, "output y = x0\n}\n",
          "more than 64 inputs");
    limit("adept 1\nmodel m {\ninput x : f32\n", "output y%u = x\n", 64, "}\n",
          "more than 64 outputs");
    limit("adept 1\n", "dim d%u in 0..4\n", 16, "model m {\ninput x : f32\noutput y = x\n}\n",
          "more than 16 dims");
}

// A call chain of the given length.
static char *chain(unsigned calls) {
    Text text = {0};
    text_put(&text, "adept 1\nfn call0(x: f32) -> f32 { return x + 1 }\n");
    for (unsigned i = 1; i < calls; i++)
        text_printf(&text, "fn call%u(x: f32) -> f32 { return call%u(x) }\n", i, i - 1);
    text_printf(&text, "model m {\ninput x : f32\noutput y = call%u(x)\n}\n", calls - 1);
    return text.data;
}

static void call_depth(void **state) {
    (void)state;
    char *text = chain(64);
    Loaded loaded = load_text(text, NULL);
    assert_non_null(loaded.graph);
    load_end(&loaded);
    free(text);
    text = chain(65);
    refuses(text, "calls are nested more than 64 deep");
    free(text);
}

static void defines(void **state) {
    (void)state;
    static const char *const text = "adept 1\nconst n = 2\nconst T = f32\nconst W = \"a\"\n"
                                    "model m {\ninput x : [n] T from W\noutput y = x\n}\n";
    Define define[] = {{"n", "0x10"}, {"T", "bf16"}, {"W", "word"}};
    Loaded loaded = load_text(text, &(Defines){define, 2});
    assert_null(loaded.graph); // `from` takes a string literal
    load_end(&loaded);
    static const char *const better =
        "adept 1\nconst n = 2\nconst T = f32\nconst W = \"a\"\n"
        "model m {\ninput x : [n] T from \"{W}:0\"\noutput y = x\n}\n";
    loaded = load_text(better, &(Defines){define, 3});
    assert_non_null(loaded.graph);
    const Node *input = graph_node(loaded.graph, graph_value(loaded.graph, 1)->node);
    const Type *type = &graph_value(loaded.graph, 1)->type;
    assert_string_equal(input->decl->host_name, "word:0");
    assert_int_equal(type->dtype, DT_BF16);
    assert_true(dim_is(loaded.graph->dims, type->size[0], 16));
    assert_string_equal(loaded.graph->file, "test.adp");
    load_end(&loaded);
}

// Dims that stand alone in an input's shape come from it, the others from the host.
static void dim_sources(void **state) {
    (void)state;
    Loaded loaded = load_text("adept 1\ndim A in 1..=4\ndim B in 1..=4\ndim C in 0..4\n"
                              "model m {\ninput x : [A, B + 1] f32\noutput y = x * C\n}\n",
                              NULL);
    assert_non_null(loaded.graph);
    assert_int_equal(dim_symbol_count(loaded.graph->dims), 3);
    assert_int_equal(dim_symbol_source(loaded.graph->dims, 0), DIM_FROM_INPUT);
    assert_int_equal(dim_symbol_source(loaded.graph->dims, 1), DIM_FROM_HOST);
    assert_int_equal(dim_symbol_source(loaded.graph->dims, 2), DIM_FROM_HOST);
    load_end(&loaded);
}

// What an assert says is known to what follows; what the rules cannot decide is asserted.
static void asserts(void **state) {
    (void)state;
    static const char *const text = "adept 1\ndim S in 1..=8\ndim P in 0..8\n%s"
                                    "model m {\ninput x : [8] f32\ninput z : [S] f32\n"
                                    "output y = x[P:P + S] + z\n}\n";
    Text with = {0}, without = {0};
    text_printf(&with, text, "assert P + S <= 8, \"{P} and {S} in {4 + 4}\"\n");
    text_printf(&without, text, "");
    Loaded loaded = load_text(with.data, NULL);
    assert_non_null(loaded.graph);
    assert_int_equal(loaded.graph->asserts.len, 1);
    assert_string_equal(loaded.graph->asserts.at[0].message, "% and % in 8");
    assert_int_equal(loaded.graph->asserts.at[0].args, 2);
    assert_int_equal(loaded.graph->asserts.at[0].loc.line, 4);
    load_end(&loaded);
    loaded = load_text(without.data, NULL);
    assert_non_null(loaded.graph);
    assert_int_equal(loaded.graph->asserts.len, 1);
    assert_non_null(strstr(loaded.graph->asserts.at[0].message, "slice end % is outside"));
    load_end(&loaded);
    text_free(&with);
    text_free(&without);
}

// A plan behind the model is not the graph's business.
static void plan_sections(void **state) {
    (void)state;
    static const char *const text = "adept 1 plan\nmodel m {\n    input x : f32\n"
                                    "    output y : f32 = relu(x)\n}\nplan {\n !! \n}\n";
    assert_int_equal(load_graph_length(text, strlen(text)), strstr(text, "plan {") - text);
    Loaded loaded = load_text(text, NULL);
    assert_non_null(loaded.graph);
    load_end(&loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices),        cmocka_unit_test(states),
        cmocka_unit_test(operators),     cmocka_unit_test(constants),
        cmocka_unit_test(control),       cmocka_unit_test(limits),
        cmocka_unit_test(call_depth),    cmocka_unit_test(defines),
        cmocka_unit_test(dim_sources),   cmocka_unit_test(asserts),
        cmocka_unit_test(plan_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
