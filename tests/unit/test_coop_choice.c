// What is chosen for products with fragments: forms by size and multiples, and what cannot be
// lowered.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/compile.h"
#include "passes/coop_shape.h"
#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

enum { WORKSPACE = 1 << 28 };

// The first step for an H200.
static const PlanStep *planned_step(Graph *g) {
    Target target;
    assert_true(target_builtin("h200", &target));
    CompileOptions options = {.max_workspace = WORKSPACE};
    Plan *plan;
    assert_true(plan_build(g, &target, &options, NULL, &plan));
    return &plan->run.at[0];
}

static void choices_run(void **state) {
    (void)state;
    static const int64_t few[] = {1, 17, 70};
    for (unsigned i = 0; i < 3; i++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", i ? "[N, 96] f16" : "[N, 96] i8");
        ValueId y = make_input(g, "y", i ? "[80, 96] f16" : "[80, 96] i8");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId v = make_contract(g, NULL, x, y);
        if (i == 2) v = make_op(g, OP_RELU, "r", NULL, v, 0, 0);
        make_finish(g, fused, v);
        for (unsigned n = 0; n < 3; n++) {
            ProgramCheck run = {.target = "lavapipe-debian13",
                                .symbols = &few[n],
                                .tolerance = i ? 1e-3 : 0,
                                .scale = 1};
            const Program *program = program_check(g, &run);
            const PlanStep *step = &program->plan->run.at[0];
            const Alternative *a = &step->alternatives.at[step->alternatives.len - 2];
            assert_string_equal(a->schedule.form, "coop");
            assert_int_equal(a->fragment.m, 8);
            assert_string_equal(a[1].schedule.form, "simt");
            program_emit_all(program);
        }
        graph_destroy(g);
    }
}

// Few, some and many rows of a symbolic M are made by tiles of their own, each up to so many rows,
// and K may be split for each: in workspace as large as the rows at hand need.
static void rows_choose(void **state) {
    (void)state;
    static const int64_t one = 1, all = 1024;
    Graph *g = make_empty(1024);
    dim_set_source(g->dims, 0, DIM_FROM_INPUT);
    ValueId x = make_input(g, "x", "[N, 4096] f16"), y = make_input(g, "y", "[520, 4096] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_contract(g, "dtype=f32", x, y));
    const PlanStep *step = planned_step(g);
    uint32_t ranges = 0, first = 0, last = 0;
    int64_t top = 0, least = 0, whole = 0;
    for (uint32_t i = 0; i < step->alternatives.len; i++) {
        const Alternative *a = &step->alternatives.at[i];
        int64_t most = INT64_MAX;
        if (!a->fragment.m) continue;
        if (a->conditions) {
            assert_int_equal(a->condition[0].relation, DIM_LE);
            assert_true(dim_is_const(g->dims, a->condition[0].right, &most));
        }
        assert_true(most > top && a->schedule.split_k > 1);
        assert_true(dim_eval(g->dims, a->workspace, &one, &least));
        assert_true(dim_eval(g->dims, a->workspace, &all, &whole));
        assert_true(least <= whole && whole <= WORKSPACE);
        top = most, last = a->schedule.tile_m * a->schedule.tile_n;
        if (!ranges++) first = last;
    }
    assert_true(ranges > 2 && top == INT64_MAX && last > first && least < whole);
    graph_destroy(g);
}

// The same, run: parts of K of tiles that are not full.
static void rows_split(void **state) {
    (void)state;
    static const int64_t some[] = {7, 40, 65};
    Graph *g = make_empty(1024);
    dim_set_source(g->dims, 0, DIM_FROM_INPUT);
    ValueId x = make_input(g, "x", "[N, 2048] f16"), y = make_input(g, "y", "[72, 2048] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId sum = make_contract(g, "dtype=f32", x, y);
    make_finish(g, fused, make_op(g, OP_RELU, "r", NULL, sum, 0, 0));
    for (unsigned n = 0; n < 3; n++) {
        ProgramCheck run = {.target = "h200", .symbols = &some[n], .tolerance = 2e-5, .scale = 1};
        const PlanStep *step = &program_check(g, &run)->plan->run.at[0];
        uint32_t split = 0;
        for (uint32_t i = 0; i < step->alternatives.len; i++)
            split += step->alternatives.at[i].fragment.m &&
                     step->alternatives.at[i].schedule.split_k > 1;
        assert_true(split > 0);
    }
    graph_destroy(g);
}

// Parts of K load two steps ahead: 128x4096x4096 took 29.3 us, not 32.1, and 16x4096x4096 14.6 in
// tiles of 64 columns, not 17.1 in tiles of 128.
static void parts_load_ahead(void **state) {
    (void)state;
    static const struct {
        const char *x;
        uint32_t tile_m, tile_n, tile_k, split_k;
    } list[] = {{"[128, 4096] f16", 128, 128, 64, 4}, {"[16, 4096] f16", 16, 64, 128, 4}};
    for (unsigned i = 0; i < 2; i++) {
        Graph *g = make_empty(1);
        ValueId x = make_input(g, "x", list[i].x), y = make_input(g, "y", "[4096, 4096] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused, make_contract(g, NULL, x, y));
        const Schedule *s = &planned_step(g)->alternatives.at[0].schedule;
        assert_int_equal(s->tile_m, list[i].tile_m);
        assert_int_equal(s->tile_n, list[i].tile_n);
        assert_int_equal(s->tile_k, list[i].tile_k);
        assert_int_equal(s->split_k, list[i].split_k);
        assert_int_equal(s->ahead, 2);
        graph_destroy(g);
    }
}

// Few schedules serve all sizes; where products take long, it is nearly the fastest for each. Of
// 512x3584x3584 these tiles took 62 us on an H200, of 64x256 63 and in two parts of K 76 to 85.
static void long_products(void **state) {
    (void)state;
    static const int64_t rows = 512;
    Graph *g = make_empty(2048);
    dim_set_source(g->dims, 0, DIM_FROM_INPUT);
    ValueId x = make_input(g, "x", "[N, 3584] f16"), y = make_input(g, "y", "[3584, 3584] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_contract(g, NULL, x, y));
    const PlanStep *step = planned_step(g);
    const Alternative *used = NULL;
    for (uint32_t i = 0; i < step->alternatives.len && !used; i++) {
        const Alternative *a = &step->alternatives.at[i];
        int64_t most = INT64_MAX;
        if (a->conditions) assert_true(dim_eval(g->dims, a->condition[0].right, &rows, &most));
        if (rows <= most) used = a;
    }
    assert_non_null(used);
    assert_int_equal(used->schedule.tile_m, 128);
    assert_int_equal(used->schedule.tile_n, 128);
    assert_int_equal(used->schedule.tile_k, 64);
    assert_true(used->schedule.split_k < 2);
    graph_destroy(g);
}

// Symbolic sizes: where they are multiples of a move, operands are moved whole.
static void multiples(void **state) {
    (void)state;
    static const int64_t some[] = {8, 33, 64, 72};
    static const char *const list[][3] = {{"[48, N] f16", "[40, N] f16", "N % 8"},
                                          {"[40, N] i8", "[40, N] i8", "N % 16"},
                                          {"[24, 56] f16", "[56, N] f16", "N % 8"}};
    for (unsigned i = 0; i < 3; i++) {
        Graph *g = make_empty(1024);
        dim_set_source(g->dims, 0, DIM_FROM_INPUT);
        ValueId x = make_input(g, "x", list[i][0]), y = make_input(g, "y", list[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        if (i) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
        if (i == 1) x = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
        make_finish(g, fused, make_contract(g, i == 1 ? NULL : "dtype=f32", x, y));
        for (unsigned t = 0; t < 2; t++)
            for (unsigned n = 0; n < 4; n++) {
                ProgramCheck run = {.target = t ? "lavapipe-debian13" : "h200",
                                    .symbols = &some[n],
                                    .tolerance = i == 1 ? 0 : 1e-5,
                                    .scale = 1};
                const Program *program = program_check(g, &run);
                const PlanStep *step = &program->plan->run.at[0];
                const Alternative *a = step->alternatives.at;
                while (!a->fragment.m) a++;
                assert_string_equal(a->schedule.form, "coop");
                assert_int_equal(a->conditions, 1);
                Text text = {0};
                dim_print(g->dims, a->condition[0].left, &text);
                assert_string_equal(text.data, list[i][2]);
                text_free(&text);
                program_emit_all(program);
            }
        graph_destroy(g);
    }
}

// Plans and lowers for a target; the alternatives of the only step.
static const PlanStep *planned(Graph *g, const char *target) {
    Target to;
    Plan *plan;
    Program *program;
    Diags *diags = diags_create();
    assert_true(target_builtin(target, &to));
    assert_true(plan_build(g, &to, &(CompileOptions){0}, diags, &plan));
    assert_true(lower_program(plan, diags, &program));
    for (uint32_t i = 0; i < program->kernels.len; i++)
        assert_true(kernel_verify(program->kernels.at[i], diags));
    program_emit_all(program);
    diags_destroy(diags);
    return &plan->run.at[0];
}

typedef struct Choice {
    const char *target, *x, *y;
    bool turned, coop;
} Choice;

static void choices(void **state) {
    (void)state;
    static const Choice list[] = {
        {"h200", "[4096, 4096] f16", "[4096, 4096] f16", true, true},
        {"h200", "[512, 4096] f16", "[4096, 11008] f16", true, true},
        {"h200", "[512, 11008] bf16", "[4096, 11008] bf16", false, true},
        {"h200", "[1024, 1024] f16", "[1024, 1024] f16", false, true},
        {"h200", "[N, 4096] f16", "[4096, 4096] f16", false, true},
        {"h200", "[8192, 8192] i8", "[8192, 8192] i8", false, true},
        {"h200", "[1023, 1021] f16", "[1023, 1021] f16", false, true},
        {"h200", "[512, 512] f32", "[512, 512] f32", false, false},
        {"lavapipe-debian12", "[512, 512] f16", "[512, 512] f16", false, false},
        {"portable", "[512, 512] i8", "[512, 512] i8", false, false},
    };
    for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", list[i].x), y = make_input(g, "y", list[i].y);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        if (list[i].turned) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
        make_finish(g, fused, make_contract(g, NULL, x, y));
        const PlanStep *step = planned(g, list[i].target);
        const Alternative *last = &step->alternatives.at[step->alternatives.len - 1];
        const Alternative *before = step->alternatives.len > 1 ? last - 1 : last;
        assert_string_equal(before->schedule.form, list[i].coop ? "coop" : last->schedule.form);
        assert_string_not_equal(last->schedule.form, "coop");
        assert_int_equal(last->features, 0);
        assert_int_equal(before->fragment.m, list[i].coop ? 16 : 0);
        assert_int_equal(before->features & TF_COOPERATIVE_MATRIX,
                         list[i].coop ? TF_COOPERATIVE_MATRIX : 0);
        if (list[i].coop) assert_non_null(strstr(before->reason, "best of"));
        graph_destroy(g);
    }
}

// Schedules that cannot be lowered are refused with words.
static void refusals(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 64] f16"), y = make_input(g, "y", "[64, 64] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_contract(g, NULL, x, y));
    CoopShape shape;
    Target target;
    assert_true(target_builtin("h200", &target));
    assert_true(coop_shape(g, fused, &shape));
    static const Schedule one = {.form = "coop",
                                 .local = 64,
                                 .subgroup = 32,
                                 .frag_m = 16,
                                 .frag_n = 16,
                                 .frag_k = 16,
                                 .tile_m = 32,
                                 .tile_n = 64,
                                 .tile_k = 32,
                                 .warp_m = 32,
                                 .warp_n = 32,
                                 .stages = 1};
    Schedule s = one;
    assert_null(coop_refuses(&shape, &s, &target));
    assert_int_equal(coop_shared_bytes(&shape, &s), (32 + 64) * 5 * 16);
    s.frag_k = 8;
    assert_string_equal(coop_refuses(&shape, &s, &target), "the target lists no such fragment");
    s = one, s.local = 128;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "local must be subgroup times tile / warp, times slices");
    s.slices = 2, s.tile_k = 64;
    assert_null(coop_refuses(&shape, &s, &target));
    s.tile_k = 48;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "tile_k must be at most 8 times frag_k, in each slice");
    s.tile_k = 64, s.split_k = 2;
    assert_string_equal(coop_refuses(&shape, &s, &target), "slices are of one stage and all of K");
    s = one, s.warp_n = 24;
    assert_string_equal(coop_refuses(&shape, &s, &target), "warp must be a multiple of frag");
    s = one, s.subgroup = 16;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "subgroup must be one that the target can require");
    s = one, s.stages = 2, s.unroll = 6;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "with two stages unroll must be a multiple of 4 and at most 64");
    s = one, s.stages = 2, s.unroll = 4, s.ahead = 3;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "loads run at most 4 steps ahead, with two stages 1, 2 or 4");
    s = one, s.tile_m = 512, s.tile_n = 512, s.warp_m = 64, s.warp_n = 128;
    s.local = 1024;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "its tiles need more workgroup memory than the target has");
    graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices),          cmocka_unit_test(choices_run),
        cmocka_unit_test(multiples),        cmocka_unit_test(rows_choose),
        cmocka_unit_test(parts_load_ahead), cmocka_unit_test(long_products),
        cmocka_unit_test(rows_split),       cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
