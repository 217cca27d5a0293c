// The Qwen2 decoder with small sizes, compiled for a GPU that is not here, on the interpreter: what
// passes do around its products, and that tokens one by one and in pieces come out right.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "frontend/load.h"
#include "frontend/source.h"
#include "passes/pass.h"
#include "tests/support/program_run.h"

static Graph *load(Diags *diags, const char *max_len) {
    const Define list[] = {{"layers", "2"},      {"D", "64"},        {"I", "96"},
                           {"Hq", "4"},          {"Hkv", "2"},       {"vocab", "100"},
                           {"max_len", max_len}, {"max_chunk", "32"}};
    Defines defines = {list, sizeof list / sizeof list[0]};
    Target target;
    PassOptions options = pass_options();
    Text text = {0};
    Graph *g = NULL;
    assert_true(target_builtin("h200", &target));
    options.target = &target;
    assert_true(source_read_text(ADEPT_SOURCE_DIR "/examples/qwen2/qwen2.adp", diags, &text));
    if (load_graph("qwen2.adp", text.data, text.len, &defines, diags, &g))
        g = pass_run_all(g, &options, diags, NULL);
    if (!g) {
        Text why = {0};
        diags_render(diags, &why);
        fail_msg("%s", why.data);
    }
    text_free(&text);
    return g;
}

// A layer: norm; q, k and v with the value cache; two rotations, one with the key cache; attention;
// output; norm; gate and up; down.
static void a_layer_is_nine_kernels(void **state) {
    (void)state;
    Diags *diags = diags_create();
    Graph *g = load(diags, "64");
    unsigned kernels = 0;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        bool inside = g->regions.at[node->region].owner != 0;
        kernels += node->kind == NODE_FUSED && !node->prepare && inside;
    }
    assert_int_equal(kernels, 9);
    graph_destroy(g);
    diags_destroy(diags);
}

static bool splits_keys(const Plan *plan) {
    for (uint32_t i = 0; i < plan->run.len; i++)
        for (uint32_t a = 0; a < plan->run.at[i].alternatives.len; a++) {
            const char *form = plan->run.at[i].alternatives.at[a].schedule.form;
            if (form && strcmp(form, "split") == 0) return true;
        }
    return false;
}

static void tokens(void **state) {
    (void)state;
    static const struct {
        int64_t s, p;
        const char *max_len; // of 1024 keys, parts of those that there are
    } sizes[] = {{1, 5, "64"}, {17, 3, "64"}, {32, 0, "64"}, {1, 5, "1024"}, {2, 300, "1024"}};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        Diags *diags = diags_create();
        Graph *g = load(diags, sizes[i].max_len);
        int64_t symbols[64] = {0};
        for (uint32_t s = 0; s < dim_symbol_count(g->dims); s++) {
            const char *name = dim_symbol_name(g->dims, s);
            if (strcmp(name, "S") == 0) symbols[s] = sizes[i].s;
            if (strcmp(name, "P") == 0) symbols[s] = sizes[i].p;
        }
        ProgramCheck check = {
            .target = "h200", .symbols = symbols, .tolerance = 2e-2, .scale = 0.3};
        const Program *program = program_check(g, &check);
        assert_int_equal(splits_keys(program->plan), strcmp(sizes[i].max_len, "64") != 0);
        graph_destroy(g);
        diags_destroy(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_layer_is_nine_kernels),
                                       cmocka_unit_test(tokens)};
    return cmocka_run_group_tests_name("decoder", tests, NULL, NULL);
}
