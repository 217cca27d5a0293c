// Workspace of split products in plans and programs: its place, its bound, the barriers around it,
// and the faults that verifiers find.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/compile.h"
#include "passes/pass.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

static const char chain[] = "adept 1\n"
                            "model chain {\n"
                            "    dim N in 1..=8\n"
                            "    input x : [N, 64] f32\n"
                            "    param u : [48, 64] f32; param v : [64, 48] f32\n"
                            "    h = x\n"
                            "    repeat i in 0..3 {\n"
                            "        h = h + linear(linear(h, u), v)\n"
                            "    }\n"
                            "    output y : [N, 64] f32 = linear(linear(h, u), v) + h\n"
                            "}\n";

static const Schedule split = {.form = "simt",
                               .local = 16,
                               .tile_m = 8,
                               .tile_n = 32,
                               .tile_k = 8,
                               .reg_m = 2,
                               .reg_n = 8,
                               .vec = 4,
                               .split_k = 3};

static Graph *load(const char *text) {
    return pass_run_target(pass_load(text), "portable");
}

static bool plan_of(Graph *graph, const char *target_name, const CompileOptions *options,
                    Diags *diags, Plan **plan) {
    Target target;
    assert_true(target_builtin(target_name, &target));
    return plan_build(graph, &target, options, diags, plan);
}

static Plan *split_plan(Graph *graph, Diags *diags) {
    CompileOptions options = {
        .family = "contract", .schedule = &split, .max_workspace = 3 * 8 * 64 * 4};
    Plan *plan = NULL;
    assert_true(plan_of(graph, "portable", &options, diags, &plan));
    assert_true(plan_verify(plan, diags));
    return plan;
}

static void expect(Diags *diags, bool refused, const char *message) {
    assert_true(refused);
    Text text = {0};
    diags_render(diags, &text);
    if (!text.data || !strstr(text.data, message))
        fail_msg("`%s` is not in: %s", message, text.data ? text.data : "");
    text_free(&text);
}

static Alternative *with_workspace(Plan *plan, unsigned skip) {
    for (uint32_t i = 0; i < plan->run.len; i++) {
        PlanStep *step = &plan->run.at[i];
        if (step->alternatives.len && step->alternatives.at[0].workspace != DIM_NONE && !skip--)
            return &step->alternatives.at[0];
    }
    return NULL;
}

// Every product has its parts behind what lives then, and the parts are summed behind a barrier.
static void placed_and_ordered(void **state) {
    (void)state;
    Graph *graph = load(chain);
    Diags *diags = diags_create();
    Plan *plan = split_plan(graph, diags);
    Program *program;
    assert_true(lower_program(plan, diags, &program));
    assert_true(program_verify(program, diags));
    unsigned found = 0, steps = 0;
    for (uint32_t i = 0; i < plan->run.len; i++) {
        const PlanStep *step = &plan->run.at[i];
        if (!step->alternatives.len || step->alternatives.at[0].workspace == DIM_NONE) continue;
        const LoweredAlternative *one = &program->run.at[i].alternatives.at[0];
        int64_t symbols[64] = {5}, bytes, columns = steps++ % 2 ? 64 : 48;
        assert_true(dim_eval(graph->dims, step->alternatives.at[0].workspace, symbols, &bytes));
        assert_int_equal(bytes, 3 * 5 * columns * 4);
        assert_int_equal(one->count, 2);
        assert_true(program->dispatches.at[one->first + 1].barrier);
        program->dispatches.at[one->first + 1].barrier = false;
        Diags *own = diags_create();
        expect(own, !program_verify(program, own), "without a barrier between them");
        diags_destroy(own);
        program->dispatches.at[one->first + 1].barrier = true;
        found++;
    }
    assert_int_equal(found, 4);
    diags_destroy(diags);
    graph_destroy(graph);
    graph = load(chain);
    int64_t symbols[64] = {7};
    Schedule copy = split;
    program_check(graph, &(ProgramCheck){.target = "portable",
                                         .symbols = symbols,
                                         .tolerance = 1e-3,
                                         .scale = 0.2,
                                         .force = &copy});
    graph_destroy(graph);
}

static void faults_are_found(void **state) {
    (void)state;
    Graph *graph = load(chain);
    Diags *diags = diags_create();
    Plan *plan = split_plan(graph, diags);
    for (unsigned i = 0; i < 4; i++) {
        Alternative *a = with_workspace(plan, i);
        Dim old = a->workspace_offset,
            moved[] = {0, dim_const(graph->dims, 128), plan->arena_bytes};
        const char *messages[] = {"", "not aligned", "outside the arena"};
        for (unsigned m = 1; m < 3; m++) {
            a->workspace_offset = moved[m];
            Diags *own = diags_create();
            expect(own, !plan_verify(plan, own), messages[m]);
            diags_destroy(own);
        }
        unsigned overlaps = 0; // on what lives while the step runs
        for (uint32_t p = 0; p < plan->placements.len; p++) {
            if (plan->placements.at[p].kind != BUF_ARENA) continue;
            a->workspace_offset = plan->placements.at[p].offset;
            Diags *own = diags_create();
            overlaps += !plan_verify(plan, own);
            diags_destroy(own);
        }
        assert_true(overlaps > 0);
        a->workspace_offset = old;
    }
    assert_true(plan_verify(plan, diags));
    Program *program;
    with_workspace(plan, 0)->workspace = dim_const(graph->dims, 64);
    expect(diags, !lower_program(plan, diags, &program), "more workspace than the plan has");
    diags_destroy(diags);
    graph_destroy(graph);
}

// --max-workspace: schedules above it are not made, and the plan says so.
static void bounded(void **state) {
    (void)state;
    Graph *graph = load(chain);
    Diags *diags = diags_create();
    CompileOptions options = {
        .family = "contract", .schedule = &split, .max_workspace = 3 * 8 * 64 * 4 - 1};
    Plan *plan = NULL;
    expect(diags, !plan_of(graph, "portable", &options, diags, &plan),
           "needs more than 6143 bytes of workspace");
    diags_destroy(diags);
    graph_destroy(graph);
    graph = load("adept 1\nmodel m {\ninput x : [64, 4096] f16\nparam w : [1024, 4096] f16\n"
                 "output y = linear(x, w)\n}\n");
    diags = diags_create();
    static const int64_t bounds[] = {0, 600000, 1 << 24};
    for (unsigned i = 0; i < 3; i++) {
        options = (CompileOptions){.max_workspace = bounds[i]};
        assert_true(plan_of(graph, "h200", &options, diags, &plan));
        const Alternative *a = &plan->run.at[0].alternatives.at[0];
        DimBounds bytes = {0, 0};
        if (a->workspace != DIM_NONE) bytes = dim_bounds(graph->dims, a->workspace);
        assert_true(bytes.hi <= bounds[i]);
        assert_int_equal(bytes.hi > 0, a->schedule.split_k > 1);
        assert_int_equal(bytes.hi > 0, i > 0);
        bool said = strstr(a->reason, "need more than 600000 bytes of workspace") != NULL;
        assert_int_equal(said, i == 1);
        if (i == 2) assert_non_null(strstr(a->reason, "parts"));
    }
    diags_destroy(diags);
    graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(placed_and_ordered),
                                       cmocka_unit_test(faults_are_found),
                                       cmocka_unit_test(bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
