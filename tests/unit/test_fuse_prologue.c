// Maps in front of products: which become part of the product's kernel, and what that computes.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

static Graph *load(const char *body) {
    return pass_load_lines("dim N in 1..=40", body);
}

static void expect_groups(const Graph *g, const char *groups, const char *words) {
    assert_string_equal(pass_groups(g), groups);
    pass_expect(g, words);
}

// The groups alone, at any size.
static void expect(const char *body, const char *groups, const char *words) {
    Graph *g = pass_run_target(load(body), "h200");
    expect_groups(g, groups, words);
    graph_destroy(g);
}

// With values after every pass, and as kernels.
static void check(const char *body, const char *groups, const char *words) {
    Target target;
    assert_true(target_builtin("h200", &target));
    Graph *g = pass_run_checked_for(load(body), NULL, 33, 2e-3, &target);
    expect_groups(g, groups, words);
    for (int64_t n = 1; n <= 33; n += 32) {
        int64_t symbols[64] = {n};
        ProgramCheck program = {
            .target = "h200", .symbols = symbols, .tolerance = 4e-3, .scale = 0.5};
        program_check(g, &program);
    }
    graph_destroy(g);
}

static void cheap_maps_are_part_of_the_product(void **state) {
    (void)state;
    check("input x : [N, 40] f32\nparam w : [24, 40] f32\noutput y = linear(relu(x * 2 + 1), w)",
          "contract", "A computed as it is read");
    // What the maps read may be small, another view, or of another dtype.
    check("input x : [N, 40] f16\ninput s : [N] f32\nparam w : [24, 40] f32\nparam r : [40] f32\n"
          "output y = relu(linear(cast(x, f32) * s[:, None] * r, w))",
          "contract", "A computed as it is read");
    check("input x : [N, 40] f32\ninput b : [40, 24] f32\noutput y = x @ (b - 0.5)", "contract",
          "B computed as it is read");
    check("input x : [N, 40] f32\ninput b : [N, 40] f32\noutput y = abs(x) @ (b - 0.5).mT",
          "contract", "A computed as it is read");
    // The product sees them through moves.
    check("input x : [40, N] f32\nparam w : [24, 40] f32\noutput y = linear((x * x).mT, w)",
          "contract", "A computed as it is read");
    check("input x : [N, 5, 8] f32\nparam w : [24, 40] f32\n"
          "output y = linear(reshape(-x, [N, 40]), w)",
          "contract", "A computed as it is read");
}

static void few_rows_of_fragments(void **state) {
    (void)state;
    check("input x : [8, 64] f16\ninput n : [N] f32\nparam w : [24, 64] f16\n"
          "output y = linear(x * 0.5, w)\noutput z = n",
          "contract map", "A computed as it is read");
    // More rows: fragments take what memory holds.
    check("input x : [N, 64] f16\nparam w : [24, 64] f16\noutput y = linear(x * 0.5, w)",
          "map contract", "contract(");
}

static void what_stays_a_kernel(void **state) {
    (void)state;
    // Something else reads the value, or the maps are dear and many columns want them.
    check("input x : [N, 40] f32\nparam w : [24, 40] f32\n"
          "h = relu(x)\noutput y = linear(h, w)\noutput z = softmax(h, 1)",
          "row contract", "contract(");
    expect("input x : [4096, 256] f32\nparam w : [256, 4096] f32\noutput y = tanh(x) @ w",
           "map contract", "A computed before");
    expect("input x : [N, 256] f32\nparam w : [4096, 256] f32\noutput y = linear(tanh(x), w)",
           "contract", "A computed as it is read");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cheap_maps_are_part_of_the_product),
        cmocka_unit_test(few_rows_of_fragments),
        cmocka_unit_test(what_stays_a_kernel),
    };
    return cmocka_run_group_tests_name("fuse_prologue", tests, NULL, NULL);
}
