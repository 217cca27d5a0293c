#include "tests/support/numeric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *replaced(Arena *arena, const char *text, const char *dtype) {
    Text out = {0};
    for (const char *next; (next = strstr(text, "$T")) != NULL; text = next + 2) {
        text_write(&out, text, (size_t)(next - text));
        text_put(&out, dtype);
    }
    text_put(&out, text);
    char *copy = arena_strdup(arena, out.data);
    text_free(&out);
    return copy;
}

void numeric_from_cases(Arena *arena, const NumericCase *cases, size_t count, NumericList *out) {
    for (size_t i = 0; i < count; i++) {
        const NumericCase *c = &cases[i];
        char *save = NULL, *dtypes = arena_strdup(arena, c->dtypes);
        for (char *dtype = strtok_r(dtypes, " ", &save); dtype;
             dtype = strtok_r(NULL, " ", &save)) {
            NumericModel model = {.name = arena_printf(arena, "%s %s", c->name, dtype),
                                  .sizes = c->sizes};
            model.text =
                arena_printf(arena, "adept 1\nmodel m {\n%s\n}\n", replaced(arena, c->text, dtype));
            for (unsigned k = 0; k < NUMERIC_OUTPUTS_MAX; k++) model.bound[k] = c->bound;
            vec_push(arena, out, model);
        }
    }
}

unsigned numeric_dims(const char **sizes, int64_t dims[64]) {
    unsigned count = 0;
    const char *at = *sizes;
    while (*at && *at != ';') {
        char *end;
        dims[count++] = strtoll(at, &end, 10);
        assert_ptr_not_equal(end, at);
        for (at = end; *at == ' ';) at++;
    }
    *sizes = *at ? at + 1 : at;
    return count;
}

// Each run with data of its own.
static void run_model(void **state) {
    const NumericModel *model = *state;
    DeviceOptions options = {.eager = model->eager};
    DeviceModel *device = device_model_open(model->name, model->text, &options);
    const DimTable *table = device_model_graph(device)->dims;
    const char *sizes = model->sizes;
    int64_t dims[64] = {0};
    for (uint64_t seed = 1;; seed++) {
        unsigned count = numeric_dims(&sizes, dims);
        if (!count) break;
        for (uint32_t i = 0; i < dim_symbol_count(table); i++)
            if (dim_symbol_source(table, i) != DIM_TRIP) assert_true(i < count);
        device_model_check(device, dims, seed, model->bound);
    }
    device_model_close(device);
}

int numeric_run(const char *group, NumericFamily *family) {
    Arena *arena = arena_create();
    NumericList models = {0};
    family(arena, &models);
    struct CMUnitTest *tests = arena_alloc(arena, models.len * sizeof *tests);
    for (uint32_t i = 0; i < models.len; i++)
        tests[i] = (struct CMUnitTest){
            .name = models.at[i].name, .test_func = run_model, .initial_state = &models.at[i]};
    int failed = _cmocka_run_group_tests(group, tests, models.len, NULL, NULL);
    device_check_report();
    arena_destroy(arena);
    return failed;
}
