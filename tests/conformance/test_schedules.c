// Every kernel of the numeric suite on the interpreter of kernel IR, with the schedules that each
// built-in profile gets: races, bounds, alignment and unwritten memory are seen here, and kernels
// for a device that is not here are proved.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/load.h"
#include "passes/pass.h"
#include "tests/support/numeric.h"
#include "tests/support/program_run.h"
#include "tests/support/random_graph.h"

// Runs of a model that the interpreter gets through in time, for each profile.
enum { RUNS = 4, LARGEST = 130 };

typedef struct Schedules {
    const NumericModel *model;
    const char *target;
} Schedules;

static bool small(const int64_t *dims, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (dims[i] > LARGEST) return false;
    return true;
}

static Graph *compile(const NumericModel *model, const char *name, Diags *diags) {
    Graph *g = NULL;
    PassOptions options = pass_options();
    Target target;
    assert_true(target_builtin(name, &target));
    if (model->eager) device_eager_rates(&target);
    options.target = &target;
    if (load_graph(model->name, model->text, strlen(model->text), NULL, diags, &g))
        g = pass_run_all(g, &options, diags, NULL);
    if (!g) {
        Text text = {0};
        diags_render(diags, &text);
        fail_msg("%s: %s", model->name, text.data);
    }
    return g;
}

static void run_schedules(void **state) {
    const Schedules *schedules = *state;
    const char *sizes = schedules->model->sizes;
    int64_t dims[64] = {0};
    unsigned runs = 0;
    for (unsigned count; runs < RUNS && (count = numeric_dims(&sizes, dims)) > 0;) {
        if (!small(dims, count)) continue;
        Diags *diags = diags_create();
        Graph *g = compile(schedules->model, schedules->target, diags);
        ProgramCheck check = {
            .target = schedules->target, .symbols = dims, .tolerance = random_tolerance(g, 2e-4)};
        program_check(g, &check);
        graph_destroy(g);
        diags_destroy(diags);
        runs++;
    }
    assert_true(runs > 0);
}

typedef struct Planted {
    const char *target, *from, *to, *finds;
} Planted;

// What would go unseen on a device that is kind: lost barriers, guards that are one too wide.
static void planted_faults_are_found(void **state) {
    (void)state;
    static const NumericModel model = {
        .name = "planted",
        .text = "adept 1\nmodel m {\ndim N in 1..=64\n"
                "input x : [N, 40] f32; input y : [40, 24] f32; input z : [N] f32\n"
                "output a = x @ y; output b = relu(z)\n}\n",
    };
    static const Planted planted[] = {
        {"portable", "    barrier\n", "", "race in shared memory"},
        {"h200", "    barrier\n", "", "race in shared memory"},
        {"portable", "bool = slt", "bool = sle", "access outside a buffer"},
        {"h200", "bool = slt", "bool = sle", "access outside a buffer"},
    };
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        Diags *diags = diags_create();
        Graph *g = compile(&model, planted[i].target, diags);
        int64_t dims[64] = {33};
        ProgramCheck check = {.target = planted[i].target,
                              .symbols = dims,
                              .plant = {planted[i].from, planted[i].to},
                              .finds = planted[i].finds};
        program_check(g, &check);
        graph_destroy(g);
        diags_destroy(diags);
    }
}

int main(void) {
    NumericFamily *const families[] = {numeric_products,  numeric_maps,     numeric_rows,
                                       numeric_contracts, numeric_windows,  numeric_moves,
                                       numeric_programs,  numeric_attention};
    Arena *arena = arena_create();
    NumericList models = {0};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) families[i](arena, &models);
    VEC(struct CMUnitTest) tests = {0};
    struct CMUnitTest planted = cmocka_unit_test(planted_faults_are_found);
    vec_push(arena, &tests, planted);
    for (uint32_t i = 0; i < models.len; i++)
        for (const char *const *target = target_builtin_names(); *target; target++) {
            Schedules *schedules = arena_alloc(arena, sizeof *schedules);
            *schedules = (Schedules){&models.at[i], *target};
            struct CMUnitTest test = {
                .name = arena_printf(arena, "%s for %s", models.at[i].name, *target),
                .test_func = run_schedules,
                .initial_state = schedules};
            vec_push(arena, &tests, test);
        }
    int failed = _cmocka_run_group_tests("schedules", tests.at, tests.len, NULL, NULL);
    arena_destroy(arena);
    return failed;
}
