// Join-products: which products become one, that values stay, and that the joined ones compute the
// right thing as kernels.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "passes/compile.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

static Graph *load(const char *body) {
    return pass_load_lines("dim N in 1..=64", body);
}

// Passes for the H200, without those that choose orders; kernels at N = 1 and 33.
static Graph *check(const char *body, const char *groups, const char *words) {
    static const char *const passes =
        "simplify,decompose,join-products,push-moves,tidy,fold-views,fuse,move-to-prepare";
    Target target;
    assert_true(target_builtin("h200", &target));
    Graph *g = pass_run_checked_for(load(body), passes, 33, 2e-3, &target);
    assert_string_equal(pass_groups(g), groups);
    pass_expect(g, words);
    for (int64_t n = 1; n <= 33; n += 32) {
        int64_t symbols[64] = {n};
        ProgramCheck program = {
            .target = "h200", .symbols = symbols, .tolerance = 4e-3, .scale = 0.5};
        program_check(g, &program);
    }
    return g;
}

static void leave(Graph *g) {
    graph_destroy(g);
}

#define QKV                                                                                        \
    "input x : [N, 32] f32\n"                                                                      \
    "param wq : [24, 32] f32; param wk : [8, 32] f32; param wv : [16, 32] f32\n"

static void products_lie_side_by_side(void **state) {
    (void)state;
    leave(check(QKV "output q = linear(x, wq)[:, 0:24:1] @ full([24, 4], 1.0, dtype=f32)\n"
                    "k = linear(x, wk)\nv = linear(x, wv)\n"
                    "output s = k @ v[:, 0:8].mT\n",
                "map/prepare contract contract contract", "3 products of one tensor as one"));
}

// A bias and a cast behind each are one bias and one cast behind all.
static void maps_are_joined(void **state) {
    (void)state;
    leave(check(QKV "param bq : [24] f32; param bk : [8] f32\n"
                    "q = linear(x, wq, bq)\nk = linear(x, wk, bk)\n"
                    "output s = k @ q[:, 8:16].mT\n",
                "map/prepare map/prepare contract contract", "2 products of one tensor as one"));
    leave(check(QKV "q = relu(linear(x, wq) * 0.5)\nk = relu(linear(x, wk) * 0.5)\n"
                    "output s = k @ q[:, 8:16].mT\n",
                "map/prepare contract contract", "2 products of one tensor as one"));
}

// Weights that stand behind the first product, in trips of their own.
static void products_of_a_repeat(void **state) {
    (void)state;
    leave(check("input x : [N, 16] f16\nh = x\nrepeat i in 0..2 {\n"
                "param wq : [8, 16] f16 from \"l.{i}.q\"\nq = linear(h, wq)\n"
                "param wk : [8, 16] bf16 from \"l.{i}.k\"\nk = linear(h, cast(wk, f16))\n"
                "h = h + 0.01 * (q @ k.mT) @ h\n}\noutput y = h",
                "map [map/prepare contract contract contract] map",
                "2 products of one tensor as one"));
}

#define GATE                                                                                       \
    "input x : [N, 32] f32\nparam wg : [12, 32] f32; param wu : [12, 32] f32\n"                    \
    "param b : [12] f32; param r : [12] f32\n"

// silu(a) * b is one kernel that holds both.
static void a_gate_is_one_kernel(void **state) {
    (void)state;
    leave(check(GATE "output y = silu(linear(x, wg)) * linear(x, wu)", "map/prepare contract",
                "2 products of one tensor in turn as one"));
    // Whatever the maps are, and whatever else they read.
    leave(check(GATE "g = linear(x, wg, b)\nu = linear(x, wu) * r\n"
                     "output y = where(g > u, g * sigmoid(g), u + x[:, 0:12])",
                "map/prepare contract", "2 products of one tensor in turn as one"));
    leave(check("input x : [2, N, 32] f16\nparam wg : [7, 32] bf16; param wu : [7, 32] f16\n"
                "output y = gelu(linear(x, cast(wg, f16))) * linear(x, wu)",
                "map/prepare contract", "2 products of one tensor in turn as one"));
}

// The best candidate of each form, with one stage or more, K whole and split.
static void check_forms(const char *body, unsigned least, double tolerance) {
    Diags *diags = diags_create();
    Target target;
    Plan *plan;
    CompileOptions options = {.fast_math = true, .max_workspace = 1 << 24};
    assert_true(target_builtin("h200", &target));
    Graph *g = pass_run_target(load(body), "h200");
    assert_string_equal(pass_groups(g), "map/prepare contract");
    assert_true(plan_build(g, &target, &options, diags, &plan));
    CandidateList list = plan_candidates(plan, plan->run.at[0].node, &options);
    unsigned forms = 0;
    for (uint32_t i = 0; i < list.len; i++) {
        Schedule s = list.at[i].schedule;
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++) {
            const Schedule *t = &list.at[k].schedule;
            seen = !strcmp(s.form, t->form) && s.stages == t->stages &&
                   (s.split_k > 1) == (t->split_k > 1);
        }
        if (seen) continue;
        for (int64_t n = 16; n <= 33; n += 17) {
            if (strncmp(s.form, "skinny", 6) == 0 && n > s.tile_m) continue;
            int64_t symbols[64] = {n};
            ProgramCheck program = {.target = "h200",
                                    .symbols = symbols,
                                    .tolerance = tolerance,
                                    .scale = 0.5,
                                    .force = &s};
            program_check(g, &program);
        }
        forms++;
    }
    if (forms < least) fail_msg("only %u forms", forms);
    graph_destroy(g);
    diags_destroy(diags);
}

static void every_form_of_a_gate(void **state) {
    (void)state;
    check_forms("input x : [N, 64] f32\nparam wg : [20, 64] f32; param wu : [20, 64] f32\n"
                "param b : [20] f32\noutput y = silu(linear(x, wg, b)) * linear(x, wu)",
                3, 1e-4);
    check_forms("input x : [N, 64] f16\nparam wg : [20, 64] f16; param wu : [20, 64] f16\n"
                "param b : [20] f16\noutput y = silu(linear(x, wg, b)) * linear(x, wu)",
                3, 4e-3);
}

// Several results, a row behind the gate, and products that go on elsewhere.
static void what_stands_around_a_gate(void **state) {
    (void)state;
    leave(check(GATE "s = silu(linear(x, wg))\noutput y = s * linear(x, wu)\noutput t = s",
                "map/prepare contract", "2 products of one tensor in turn as one"));
    leave(check(GATE "output y = softmax(silu(linear(x, wg)) * linear(x, wu), 1)",
                "map/prepare contract row", "2 products of one tensor in turn as one"));
    // The other factor needs the first product by way of a sum: no kernel can hold both.
    leave(check(GATE "g = linear(x, wg)\noutput y = g * (linear(x, wu) * sum(g, 1, keepdims=true))",
                "contract contract row", "reason"));
    leave(check(GATE "g = linear(x, wg)\noutput y = g * linear(x, wu)\noutput z = g @ g.mT",
                "contract contract contract", "reason"));
}

// A product that a model itself reads in parts.
static void parts_of_a_product(void **state) {
    (void)state;
    leave(check("input x : [N, 32] f32\nparam w : [12, 2, 32] f32\n"
                "y = reshape(linear(x, reshape(w, [24, 32])), [N, 12, 2])\n"
                "output z = silu(y[:, :, 0]) * y[:, :, 1]",
                "contract", "contract("));
    leave(check("input x : [N, 32] f32\nparam w : [20, 32] f32\n"
                "y = reshape(linear(x, w), [N, 5, 4])\n"
                "output z = y[:, :, 3] * y[:, :, 1] - y[:, :, 0]\noutput v = relu(y[:, :, 3])",
                "contract", "contract("));
}

static void what_stays_apart(void **state) {
    (void)state;
    // A relu behind one of them only would not be in the product's kernel any more.
    leave(check(QKV "q = relu(linear(x, wq))\nk = linear(x, wk)\noutput s = k @ q[:, 8:16].mT\n",
                "contract contract contract", "what is done with them differs"));
    // Weights are resident once.
    leave(check(QKV "q = linear(x, wq)\nk = linear(x, wk)\noutput s = k @ q[:, 8:16].mT\n"
                    "output t = wk\n",
                "contract contract contract map", "something else reads a weight"));
    // Of large products nothing is to be gained.
    Graph *g = load("input x : [4096, 4096] f16\n"
                    "param wq : [4096, 4096] f16; param wk : [4096, 4096] f16\n"
                    "output q = linear(x, wq)\noutput k = linear(x, wk)");
    g = pass_run_target(g, "h200");
    pass_expect(g, "2 products of one tensor apart: apart 1042 us, as one 1042");
    graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_lie_side_by_side), cmocka_unit_test(maps_are_joined),
        cmocka_unit_test(products_of_a_repeat),      cmocka_unit_test(a_gate_is_one_kernel),
        cmocka_unit_test(every_form_of_a_gate),      cmocka_unit_test(what_stands_around_a_gate),
        cmocka_unit_test(parts_of_a_product),        cmocka_unit_test(what_stays_apart),
    };
    return cmocka_run_group_tests_name("pass_join", tests, NULL, NULL);
}
