// The reference evaluator against the ONNX node tests of its ops and dtypes (i64 narrowed), from
// Debian's libonnx-testdata and from a folder of test folders named by ADEPT_ONNX_TESTS.
// ADEPT_VERBOSE=1 lists what is not ours, and why.
#include "tests/support/onnx.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Tally {
    unsigned passed, failed, not_ours, refused;
} Tally;

static bool fetch(void *user, ValueId source, const int64_t *symbols, Tensor *out) {
    const OnnxImport *import = user;
    (void)symbols;
    for (uint32_t i = 0; i < import->bindings.len; i++) {
        const OnnxBinding *b = &import->bindings.at[i];
        if (b->value != source || !b->known) continue;
        if (out->elements) {
            memcpy(out->data, b->known->data, (size_t)out->elements * sizeof(double));
        }
        return true;
    }
    return false;
}

static bool add_input(OnnxImport *import, const char *name, const Tensor *tensor) {
    if (!tensor->dtype) return false;
    Graph *g = import->graph;
    Type type = {.dtype = tensor->dtype, .rank = tensor->rank};
    for (int i = 0; i < type.rank; i++) type.size[i] = dim_const(g->dims, tensor->size[i]);
    NodeId node = graph_add(
        g, import->diags,
        &(NodeSpec){.op = OP_INPUT, .type = &type, .decl = &(Decl){0}, .name = *name ? name : "x"});
    if (!node) return false;
    onnx_bind(import, name, graph_result(g, node, 0), tensor);
    return true;
}

// Expected values were computed in the tensor's own precision, but for those written by hand.
static double tolerance(DType dtype, const char *folder) {
    if (strstr(folder, "averagepool_2d_ceil_last_window_starts_on_pad")) return 1e-3; // four digits
    return dtype == DT_F32 ? 2e-6 : dtype == DT_F16 ? 2e-3 : 1e-2;
}

static bool close_enough(DType dtype, double ours, double theirs, double relative) {
    if (isnan(theirs)) return isnan(ours);
    if (ours == theirs) return true;
    if (!dtype_is_float(dtype) || isinf(theirs)) return false;
    return fabs(ours - theirs) <= relative * fabs(theirs) + relative * 0.1;
}

static bool compare(const Tensor *ours, const Tensor *theirs, const char *name) {
    bool shape = ours->rank == theirs->rank && ours->elements == theirs->elements;
    for (int i = 0; shape && i < ours->rank; i++) shape = ours->size[i] == theirs->size[i];
    if (!shape) {
        print_error("%s: another shape\n", name);
        return false;
    }
    for (int64_t i = 0; i < ours->elements; i++) {
        if (close_enough(theirs->dtype, ours->data[i], theirs->data[i],
                         tolerance(theirs->dtype, name))) {
            continue;
        }
        print_error("%s: element %lld: ours %.9g, expected %.9g\n", name, (long long)i,
                    ours->data[i], theirs->data[i]);
        return false;
    }
    return true;
}

static bool inputs_added(OnnxImport *import, Arena *arena, const char *folder) {
    const OnnxModel *model = import->model;
    for (uint32_t i = 0; i < model->initializers.len; i++) {
        const OnnxTensor *t = &model->initializers.at[i];
        if (!add_input(import, t->name, &t->tensor)) return false;
    }
    for (uint32_t i = 0; i < model->inputs.len; i++) {
        OnnxTensor *t = arena_alloc(arena, sizeof *t);
        if (onnx_find(import, model->inputs.at[i])) continue;
        const char *path = arena_printf(arena, "%s/test_data_set_0/input_%u.pb", folder, i);
        if (!onnx_read_tensor(arena, path, t)) return false;
        if (!add_input(import, model->inputs.at[i], &t->tensor)) return false;
    }
    return true;
}

static OnnxStatus import_nodes(OnnxImport *import) {
    const OnnxModel *model = import->model;
    for (uint32_t i = 0; i < model->nodes.len; i++) {
        OnnxStatus status = onnx_add_node(import, &model->nodes.at[i]);
        if (status != ONNX_OK) return status;
    }
    for (uint32_t i = 0; i < model->outputs.len; i++) {
        const OnnxBinding *b = onnx_find(import, model->outputs.at[i]);
        if (!b) {
            import->why = "an output that nothing makes";
            return ONNX_NOT_OURS;
        }
        graph_add_output(import->graph, arena_printf(import->graph->arena, "out%u", i), NULL,
                         b->value, (Loc){0});
    }
    return ONNX_OK;
}

// Results of dtypes that are not ours (old data holds bf16 as u16) cannot be compared.
static bool outputs_ours(OnnxImport *import, Arena *arena, const char *folder) {
    for (uint32_t i = 0; i < import->model->outputs.len; i++) {
        OnnxTensor theirs;
        const char *path = arena_printf(arena, "%s/test_data_set_0/output_%u.pb", folder, i);
        if (!onnx_read_tensor(arena, path, &theirs) || !theirs.tensor.dtype) {
            import->why = "an output of a type that is not ours";
            return false;
        }
    }
    return true;
}

static bool outputs_match(OnnxImport *import, Arena *arena, const char *folder) {
    Eval *eval =
        eval_create(import->graph, &(EvalOptions){.fetch = fetch, .user = import}, import->diags);
    bool ok = eval_run(eval);
    for (uint32_t i = 0; ok && i < import->model->outputs.len; i++) {
        OnnxTensor theirs;
        const char *path = arena_printf(arena, "%s/test_data_set_0/output_%u.pb", folder, i);
        ok = onnx_read_tensor(arena, path, &theirs) && theirs.tensor.dtype &&
             compare(eval_output(eval, i), &theirs.tensor, folder);
    }
    eval_destroy(eval);
    return ok;
}

static void run_case(const char *folder, Tally *tally) {
    Arena *arena = arena_create();
    OnnxModel model;
    Diags *diags = diags_create();
    OnnxImport import = {.graph = graph_create("m"),
                         .diags = diags,
                         .model = &model,
                         .why = "an input of a type that is not ours"};
    OnnxStatus status = ONNX_NOT_OURS;
    const char *path = arena_printf(arena, "%s/model.onnx", folder);
    if (onnx_read_model(arena, path, &model) && !model.functions &&
        inputs_added(&import, arena, folder) && outputs_ours(&import, arena, folder)) {
        status = import_nodes(&import);
    }
    if (status != ONNX_OK) {
        if (status == ONNX_REFUSED)
            tally->refused++;
        else
            tally->not_ours++;
        if (getenv("ADEPT_VERBOSE")) printf("not ours: %s: %s\n", folder, import.why);
    } else if (outputs_match(&import, arena, folder)) {
        tally->passed++;
    } else {
        Text text = {0};
        diags_render(diags, &text);
        print_error("FAILED %s\n%s", folder, text.data ? text.data : "");
        text_free(&text);
        tally->failed++;
    }
    graph_destroy(import.graph);
    diags_destroy(diags);
    arena_destroy(arena);
}

static Tally run_folder(const char *folder) {
    struct dirent **entries;
    Tally tally = {0};
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') run_case(path, &tally);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    printf("%s: %u passed, %u failed, %u refused by their types, %u of other ops\n", folder,
           tally.passed, tally.failed, tally.refused, tally.not_ours);
    return tally;
}

static void test_debian(void **state) {
    (void)state;
    Tally tally = run_folder("/usr/share/libonnx-testdata/data/node");
    assert_int_equal(tally.failed, 0);
    assert_true(tally.passed >= 300);
}

static void test_named_folder(void **state) {
    const char *folder = getenv("ADEPT_ONNX_TESTS");
    (void)state;
    if (!folder) {
        print_message("ADEPT_ONNX_TESTS is not set: only Debian's node tests were run\n");
        return;
    }
    Tally tally = run_folder(folder);
    assert_int_equal(tally.failed, 0);
    assert_true(tally.passed > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_debian),
                                       cmocka_unit_test(test_named_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
