// Transpose-b: which order is taken for whom, that values stay, and that what is packed or
// transposed computes the right thing as kernels.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "passes/product_cost.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

// The H200's fragments with rates under which one order is always worth a copy.
static Target eager(uint32_t along_n, uint32_t along_k) {
    Target target;
    assert_true(target_builtin("h200", &target));
    target.memory_rate = target.transpose_rate = 1000000000, target.dispatch_time = 0;
    target.compute_units = 1; // one tile fills it
    for (uint32_t i = 0; i < target.products; i++)
        target.product[i].along_n = along_n, target.product[i].along_k = along_k;
    return target;
}

// Passes and kernels at N = 33; `words` stand in the graph.
static void check(const char *body, const Target *target, const char *groups, const char *words) {
    Graph *g = pass_run_checked_for(pass_load_lines("", body), NULL, 33, 2e-3, target);
    assert_string_equal(pass_groups(g), groups);
    pass_expect(g, words);
    int64_t symbols[64] = {33};
    ProgramCheck program = {.target = "h200", .symbols = symbols, .tolerance = 2e-3};
    program_check(g, &program);
    graph_destroy(g);
}

static void weights_are_packed_once(void **state) {
    (void)state;
    Target along_n = eager(1000, 1), along_k = eager(1, 1000);
    check("dim N in 17..=64\ninput x : [N, 40] f16\nparam w : [24, 40] f16\n"
          "output y = linear(x, w)",
          &along_n, "map/prepare contract", "B packed once along N");
    check("dim N in 17..=64\ninput x : [N, 40] f16\nparam w : [40, 24] f16\noutput y = x @ w",
          &along_k, "map/prepare contract", "B packed once along K");
    check("dim N in 17..=64\ninput x : [N, 40] f16\nparam w : [40, 24] f16\noutput y = x @ w",
          &along_n, "contract", "B as is along N");
}

// Along N large tiles are faster, where they fill the device: with all of K, or in parts of it. On
// an H200 512x4096x11008 took 173 us along K and 154 along N.
static void long_products_fill_it(void **state) {
    (void)state;
    static const struct {
        int64_t m, n, k;
        bool faster;
    } list[] = {{512, 4096, 11008, true},
                {512, 4096, 4096, false},
                {512, 11008, 4096, true},
                {64, 512, 1 << 20, false}}; // 16 parts at most
    Target target, slow;
    assert_true(target_builtin("h200", &target));
    slow = target, slow.dispatch_time = 0;
    Graph *g = graph_create("m");
    DimTable *dims = g->dims;
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
        ProductSize size = {dim_const(dims, 1),
                            dim_const(dims, list[i].m),
                            dim_const(dims, list[i].n),
                            dim_const(dims, list[i].k),
                            DT_F16,
                            DT_F16};
        double k = cost_product(&target, dims, &size, true, COST_MOST);
        double n = cost_product(&target, dims, &size, false, COST_MOST);
        assert_true(list[i].faster ? n < 0.9 * k : n >= k);
        if (i) continue; // without parts of K
        assert_true(cost_product(&slow, dims, &size, false, COST_MOST) >= k);
    }
    graph_destroy(g);
}

// The cast from the file's dtype and a transpose of the model are part of the one copy.
static void packing_takes_maps_in(void **state) {
    (void)state;
    Target along_n = eager(1000, 1);
    check("dim N in 17..=64\ninput x : [N, 40] f16\nparam w : [24, 40] bf16\n"
          "param s : [40] f16\noutput y = linear(x, maximum(cast(w, f16), s))",
          &along_n, "map/prepare contract", "B packed once along N");
    check("dim N in 17..=64\ninput x : [N, 40] i8\nparam w : [40, 24] i8\n"
          "output y = x @ transpose(transpose(w, 0, 1), 0, 1)",
          &along_n, "contract", "B as is along N");
}

// One form for all products: the wish of most work wins.
static void uses_share_a_form(void **state) {
    (void)state;
    Target along_n = eager(1000, 1);
    check("dim N in 17..=64\ninput x : [N, 24] f16\nparam w : [24, 24] f16\n"
          "output y = linear(x, w)\noutput z = linear(relu(x), w)",
          &along_n, "map/prepare contract map contract", "for 2 products");
    check("dim N in 17..=64\ninput x : [N, 24] f16\ninput z : [16, 24] f16\n"
          "param w : [24, 24] f16\n"
          "output y = linear(x, w)\noutput v = z @ w",
          &along_n, "map/prepare contract contract", "for 2 products");
    // What reads the weight as it is keeps it so, in one copy.
    check("dim N in 17..=64\ninput x : [N, 24] f16\ninput t : [N] i32\nparam w : [24, 24] f16\n"
          "output y = linear(x, w)\noutput e = embedding(t % 24, w)",
          &along_n, "contract map map", "something else reads it");
}

static void tensors_are_transposed_on_the_fly(void **state) {
    (void)state;
    Target along_n = eager(1000, 1);
    check("dim N in 17..=64\ninput x : [N, 40] f32\ninput b : [24, 40] f32\noutput y = x @ b.mT",
          &along_n, "map contract", "B transposed along N");
    check("dim N in 17..=64\ninput x : [3, N, 40] f32\ninput b : [3, N, 40] f32\n"
          "output y = x @ b.mT",
          &along_n, "map contract", "B transposed along N");
    // Every trip reads what one copy before the loop holds.
    check("dim N in 17..=64\ninput x : [N, 24] f32\ninput b : [24, 24] f32\n"
          "h = x\nrepeat i in 0..2 {\nh = h @ b.mT * 0.1\n}\noutput y = h",
          &along_n, "map map [contract] map", "B transposed along N");
}

static void weights_of_a_repeat(void **state) {
    (void)state;
    Target along_n = eager(1000, 1);
    check("dim N in 17..=64\ninput x : [N, 24] f16\n"
          "h = x\nrepeat i in 0..3 {\nparam w : [24, 24] f16 from \"l.{i}.w\"\n"
          "h = linear(h, w) * 0.1\n}\noutput y = h",
          &along_n, "map [map/prepare contract] map", "B packed once along N");
}

static void workspace_is_bounded(void **state) {
    (void)state;
    Target along_n = eager(1000, 1);
    PassOptions options = pass_options();
    options.target = &along_n, options.max_workspace = 24 * 40 * 4 - 1;
    Graph *g =
        pass_load_lines("", "dim N in 17..=64\ninput x : [N, 40] f32\ninput b : [24, 40] f32\n"
                            "output y = x @ b.mT");
    g = pass_run_unchecked(g, &options);
    pass_expect(g, "B as is along K");
    pass_expect(g, "the copy takes 3840 bytes, --max-workspace allows 3839");
    graph_destroy(g);
}

// Windows and parts are read as they are, and nothing is said where nothing is known.
static void what_is_left_alone(void **state) {
    (void)state;
    Target along_n = eager(1000, 1), portable;
    assert_true(target_builtin("portable", &portable));
    check("dim N in 17..=64\ninput x : [N, 2, 6, 6] f32\nparam w : [3, 2, 3, 3] f32\n"
          "output y = conv2d(x, w, stride=2)",
          &along_n, "contract", "contract(");
    Graph *g =
        pass_load_lines("", "dim N in 17..=64\ninput x : [N, 40] f32\nparam w : [24, 40] f32\n"
                            "output y = linear(x, w)");
    g = pass_run_checked_for(g, NULL, 33, 1e-5, &portable);
    assert_false(pass_says(g, "reason"));
    graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_packed_once),
        cmocka_unit_test(long_products_fill_it),
        cmocka_unit_test(packing_takes_maps_in),
        cmocka_unit_test(uses_share_a_form),
        cmocka_unit_test(tensors_are_transposed_on_the_fly),
        cmocka_unit_test(weights_of_a_repeat),
        cmocka_unit_test(workspace_is_bounded),
        cmocka_unit_test(what_is_left_alone),
    };
    return cmocka_run_group_tests_name("pass_transpose", tests, NULL, NULL);
}
