// f32 products made of f16 ones (--math=fast), against the evaluator: on the interpreter with the
// fragments of two profiles, and on the device; with form "planes" where the device has fragments
// for it, else as the device makes them.
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

enum { LARGEST = 70 }; // size that the interpreter gets through in time

// Two subgroups of one fragment by two, two fragments along K.
static Schedule planes(const char *form, uint32_t fragment, uint32_t subgroup) {
    return (Schedule){.form = form,
                      .local = 2 * subgroup,
                      .subgroup = subgroup,
                      .frag_m = fragment,
                      .frag_n = fragment,
                      .frag_k = fragment,
                      .tile_m = 2 * fragment,
                      .tile_n = 2 * fragment,
                      .tile_k = 2 * fragment,
                      .warp_m = fragment,
                      .warp_n = 2 * fragment,
                      .reg_m = 8,
                      .reg_n = 4 * fragment * fragment / (16 * subgroup),
                      .vec = 4};
}

typedef struct Interpreted {
    const NumericModel *model;
    const char *target;
    Schedule schedule;
} Interpreted;

static Graph *compile(const Interpreted *test, Diags *diags) {
    const char *text = test->model->text;
    Graph *g = NULL;
    PassOptions options = pass_options();
    Target target;
    assert_true(target_builtin(test->target, &target));
    options.target = &target;
    if (load_graph(test->model->name, text, strlen(text), NULL, diags, &g))
        g = pass_run_all(g, &options, diags, NULL);
    assert_non_null(g);
    return g;
}

static void run_interpreted(void **state) {
    const Interpreted *test = *state;
    const char *sizes = test->model->sizes;
    int64_t dims[64] = {0};
    for (uint64_t seed = 1;; seed++) {
        unsigned count = numeric_dims(&sizes, dims);
        bool small = true;
        if (!count) break;
        for (unsigned i = 0; i < count; i++) small = small && dims[i] <= LARGEST;
        if (!small) continue;
        Diags *diags = diags_create();
        Graph *g = compile(test, diags);
        Schedule schedule = test->schedule;
        ProgramCheck check = {.target = test->target,
                              .symbols = dims,
                              .force = &schedule,
                              .bound = test->model->bound,
                              .seed = seed};
        program_check(g, &check);
        graph_destroy(g);
        diags_destroy(diags);
    }
}

static void run_device(void **state) {
    const NumericModel *model = *state;
    const Target *target = device_check_target();
    Schedule schedule = {0};
    DeviceOptions options = {.math = "fast"};
    for (uint32_t i = 0; i < target->fragments; i++) {
        const FragmentShape *f = &target->fragment[i];
        if (f->ab != DT_F16 || f->acc != DT_F32 || f->m != f->n || f->n != f->k) continue;
        schedule = planes("planes", f->m, target->subgroup_size);
        options.family = "contract", options.schedule = &schedule;
    }
    DeviceModel *device = device_model_open(model->name, model->text, &options);
    const char *sizes = model->sizes;
    int64_t dims[64] = {0};
    for (uint64_t seed = 1; numeric_dims(&sizes, dims); seed++)
        device_model_check(device, dims, seed, model->bound);
    device_model_close(device);
}

int main(void) {
    Arena *arena = arena_create();
    NumericList models = {0};
    numeric_planes(arena, &models);
    VEC(struct CMUnitTest) tests = {0};
    for (uint32_t i = 0; i < models.len; i++) {
        struct CMUnitTest on_device = {
            .name = models.at[i].name, .test_func = run_device, .initial_state = &models.at[i]};
        vec_push(arena, &tests, on_device);
        static const struct {
            const char *name, *form;
            uint32_t fragment, subgroup;
        } profiles[] = {{"lavapipe-debian13", "planes", 8, 8},
                        {"h200", "planes", 16, 32},
                        {"lavapipe-debian13", "halves", 8, 8},
                        {"h200", "halves", 16, 32}};
        for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
            Interpreted *test = arena_alloc(arena, sizeof *test);
            *test =
                (Interpreted){&models.at[i], profiles[p].name,
                              planes(profiles[p].form, profiles[p].fragment, profiles[p].subgroup)};
            struct CMUnitTest one = {.name = arena_printf(arena, "%s for %s, %s", models.at[i].name,
                                                          test->target, test->schedule.form),
                                     .test_func = run_interpreted,
                                     .initial_state = test};
            vec_push(arena, &tests, one);
        }
    }
    int failed = _cmocka_run_group_tests("planes", tests.at, tests.len, NULL, NULL);
    device_check_report();
    arena_destroy(arena);
    return failed;
}
