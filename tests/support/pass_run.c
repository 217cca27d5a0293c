#include "tests/support/pass_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/load.h"
#include "ir/eval.h"
#include "ir/number.h"

// Where a failure happened: model and pass.
typedef struct Place {
    const char *model, *pass;
} Place;

static void no_errors(bool good, Diags *diags, Place place) {
    if (good && !diags_error_count(diags)) return;
    Text text = {0};
    diags_render(diags, &text);
    fail_msg("%s, %s: %s", place.model, place.pass, text.data ? text.data : "failed, no reason");
}

Graph *pass_load(const char *text) {
    Diags *diags = diags_create();
    Graph *graph = NULL;
    bool good = load_graph("m.adp", text, strlen(text), NULL, diags, &graph);
    if (!good) print_error("%s\n", text);
    no_errors(good, diags, (Place){"m.adp", "loading"});
    diags_destroy(diags);
    return graph;
}

Graph *pass_load_lines(const char *dims, const char *lines) {
    Text text = {0};
    text_printf(&text, "adept 1\n%s\nmodel m {\n%s\n}\n", dims, lines);
    Graph *graph = pass_load(text.data);
    text_free(&text);
    return graph;
}

Graph *pass_run_unchecked(Graph *graph, PassOptions *options) {
    Diags *diags = diags_create();
    char *model = strdup(graph->model);
    graph = pass_run_all(graph, options, diags, NULL);
    no_errors(graph != NULL, diags, (Place){model, "passes"});
    diags_destroy(diags);
    free(model);
    return graph;
}

Graph *pass_run_target(Graph *graph, const char *target) {
    PassOptions options = pass_options();
    Target profile;
    assert_true(target_builtin(target, &profile));
    options.target = &profile;
    return pass_run_unchecked(graph, &options);
}

// The same data for a value of the same name, whatever graph it is in: small numbers of both signs.
static bool fetch(void *user, ValueId source, const int64_t *symbols, Tensor *out) {
    const Graph *g = user;
    const char *name = graph_value(g, source)->name;
    uint64_t state = hash_bytes(7, name, strlen(name));
    (void)symbols;
    for (int64_t i = 0; i < out->elements; i++) {
        state = hash_bytes(state, &i, sizeof i);
        double value = (double)(state % 2001) / 500.0 - 2.0;
        if (!dtype_is_float(out->dtype)) value = (double)(state % 7);
        if (strncmp(name, "positive", 8) == 0) value = fabs(value) + 0.5;
        out->data[i] = number_cast(out->dtype, value);
    }
    return true;
}

typedef struct Outputs {
    uint32_t count;
    Tensor *tensor; // own copies
} Outputs;

static Outputs evaluate(const Graph *g, int64_t dim, Diags *diags) {
    int64_t symbols[64];
    for (uint32_t i = 0; i < 64; i++) symbols[i] = dim;
    EvalOptions options = {.symbols = symbols, .fetch = fetch, .user = (void *)(uintptr_t)g};
    Eval *eval = eval_create(g, &options, diags);
    assert_true(eval_run(eval));
    Outputs outputs = {.count = g->outputs.len};
    outputs.tensor = calloc(g->outputs.len, sizeof *outputs.tensor);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        Tensor *copy = &outputs.tensor[i];
        *copy = *eval_output(eval, i);
        size_t bytes = (size_t)copy->elements * sizeof *copy->data;
        double *data = malloc(bytes ? bytes : 1);
        if (bytes) memcpy(data, copy->data, bytes);
        copy->data = data;
    }
    eval_destroy(eval);
    return outputs;
}

static void release(Outputs *outputs) {
    for (uint32_t i = 0; i < outputs->count; i++) free(outputs->tensor[i].data);
    free(outputs->tensor);
}

static void compare(const Outputs *wanted, const Outputs *found, Place place, double tolerance) {
    assert_int_equal(wanted->count, found->count);
    for (uint32_t i = 0; i < wanted->count; i++) {
        const Tensor *a = &wanted->tensor[i], *b = &found->tensor[i];
        assert_int_equal(a->elements, b->elements);
        double largest = 1;
        for (int64_t j = 0; j < a->elements; j++)
            if (isfinite(a->data[j])) largest = fmax(largest, fabs(a->data[j]));
        for (int64_t j = 0; j < a->elements; j++) {
            double x = a->data[j], y = b->data[j];
            if (x == y || (isnan(x) && isnan(y))) continue;
            if (fabs(x - y) <= tolerance * largest) continue;
            fail_msg("%s, after %s: output %u, element %lld: %.17g, was %.17g", place.model,
                     place.pass, i, (long long)j, y, x);
        }
    }
}

static Graph *run_one(PassContext ctx, const PassInfo *pass, Graph *graph, Place place) {
    Graph *next = NULL;
    Diags *diags = ctx.diags;
    bool good = pass->run(&ctx, graph, &next);
    no_errors(good, diags, place);
    graph_destroy(graph);
    if (next->stage < pass->reaches) next->stage = pass->reaches;
    good = graph_verify(next, diags);
    no_errors(good, diags, place);
    return next;
}

// The text of the graph reads back as the same text.
static void round_trip(const Graph *graph, Diags *diags, Place place) {
    Text first = {0}, second = {0};
    graph_print(graph, &first);
    Graph *again;
    bool good = load_graph("again.adp", first.data, first.len, NULL, diags, &again);
    if (!good) print_error("%s", first.data);
    no_errors(good, diags, place);
    graph_print(again, &second);
    if (strcmp(first.data, second.data) != 0)
        fail_msg("%s, after %s: the text\n%sreads back as\n%s", place.model, place.pass, first.data,
                 second.data);
    text_free(&first);
    text_free(&second);
    graph_destroy(again);
}

Graph *pass_run_checked(Graph *graph, const char *passes, int64_t dim, double tolerance) {
    return pass_run_checked_with(&(PassContext){0}, graph, passes, dim, tolerance);
}

Graph *pass_run_checked_for(Graph *graph, const char *passes, int64_t dim, double tolerance,
                            const Target *target) {
    return pass_run_checked_with(&(PassContext){.target = target}, graph, passes, dim, tolerance);
}

Graph *pass_run_checked_with(const PassContext *given, Graph *graph, const char *passes,
                             int64_t dim, double tolerance) {
    Diags *diags = diags_create();
    Target portable;
    target_builtin("portable", &portable);
    PassContext ctx = *given;
    ctx.diags = diags;
    if (!ctx.target) ctx.target = &portable;
    if (!ctx.winograd) ctx.winograd = "auto";
    if (!ctx.max_workspace) ctx.max_workspace = pass_options().max_workspace;
    char *model = strdup(graph->model);
    Outputs wanted = evaluate(graph, dim, diags);
    no_errors(true, diags, (Place){model, "evaluation"});
    for (const PassInfo *pass = pass_table; pass->name; pass++) {
        Place place = {model, pass->name};
        if (passes && !strstr(passes, pass->name)) continue;
        graph = run_one(ctx, pass, graph, place);
        round_trip(graph, diags, place);
        Outputs found = evaluate(graph, dim, diags);
        no_errors(true, diags, place);
        compare(&wanted, &found, place, tolerance);
        release(&found);
    }
    release(&wanted);
    diags_destroy(diags);
    free(model);
    return graph;
}

static void groups_of(const Graph *g, RegionId region, Text *out) {
    const Region *nodes = &g->regions.at[region];
    for (uint32_t i = 0; i < nodes->nodes.len; i++) {
        const Node *node = graph_node(g, nodes->nodes.at[i]);
        if (node->kind == NODE_OP) continue;
        if (out->len && out->data[out->len - 1] != '[') text_put(out, " ");
        if (node->kind == NODE_REPEAT) {
            text_put(out, "[");
            groups_of(g, node->body, out);
            text_put(out, "]");
        } else {
            text_printf(out, "%s%s", node->family, node->prepare ? "/prepare" : "");
        }
    }
}

char *pass_groups(const Graph *g) {
    Text text = {0};
    groups_of(g, 1, &text);
    char *groups = arena_strdup(g->arena, text.data ? text.data : "");
    text_free(&text);
    return groups;
}

bool pass_says(const Graph *g, const char *words) {
    Text text = {0};
    graph_print(g, &text);
    bool found = strstr(text.data, words) != NULL;
    text_free(&text);
    return found;
}

void pass_expect(const Graph *g, const char *words) {
    if (pass_says(g, words)) return;
    Text text = {0};
    graph_print(g, &text);
    fail_msg("%s\nis not in\n%s", words, text.data);
}
