// The numeric suite leaves no op of the table out, in none of the main dtypes that it takes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/load.h"
#include "tests/support/numeric.h"

static bool seen[OP_COUNT][DT_COUNT];

static void note(const Graph *g) {
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP) continue;
        const OpInfo *op = op_info(node->op);
        DType dtype = node->results ? graph_value(g, node->result[0])->type.dtype : DT_NONE;
        for (uint32_t i = 0; i < node->operands; i++) {
            if (op_operand_spec(op, i)->dtype != OD_SAME || !node->operand[i]) continue;
            dtype = graph_value(g, node->operand[i])->type.dtype;
            break;
        }
        seen[node->op][dtype] = true;
    }
}

static void load_all(Arena *arena) {
    NumericFamily *const families[] = {numeric_maps,    numeric_rows,     numeric_contracts,
                                       numeric_windows, numeric_moves,    numeric_programs,
                                       numeric_indices, numeric_resample, numeric_attention};
    NumericList models = {0};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) families[i](arena, &models);
    for (uint32_t i = 0; i < models.len; i++) {
        const NumericModel *model = &models.at[i];
        Diags *diags = diags_create();
        Graph *g;
        if (!load_graph(model->name, model->text, strlen(model->text), NULL, diags, &g)) {
            Text text = {0};
            diags_render(diags, &text);
            fail_msg("%s: %s", model->name, text.data);
        }
        note(g);
        graph_destroy(g);
        diags_destroy(diags);
    }
}

// Moves are made alike in every dtype of a size; all others compute in each of theirs.
static bool wanted(const OpInfo *op, DType dtype) {
    bool alike = op->class == OC_MOVE || op->class == OC_GATHER || op->class == OC_SOURCE;
    switch (dtype) {
    case DT_F32:
    case DT_F16: return op->dtypes & DS_FLOAT;
    case DT_BF16: return op->dtypes & DS_FLOAT && op->class <= OC_ROW;
    case DT_I32: return op->dtypes & DS_INT && !alike;
    case DT_U32: return op->dtypes & DS_INT && op->class <= OC_REDUCE;
    case DT_I8: return op->dtypes & DS_STORE && !alike;
    case DT_BOOL: return op->dtypes & DS_LOGIC && !alike;
    default: return false;
    }
}

static void every_op_has_a_case(void **state) {
    (void)state;
    Arena *arena = arena_create();
    Text missing = {0};
    load_all(arena);
    for (OpId id = OP_NONE + 1; id < OP_COUNT; id++) {
        const OpInfo *op = op_info(id);
        if (op->internal || op->later) continue;
        for (DType dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++)
            if (wanted(op, dtype) && !seen[id][dtype])
                text_printf(&missing, " %s(%s)", op->name, dtype_name(dtype));
    }
    if (missing.len) fail_msg("no numeric case for%s", missing.data);
    // The check sees what is missing: nothing adds indices of floats.
    assert_false(seen[OP_SLICE][DT_F8E4M3]);
    assert_true(seen[OP_SLICE][DT_F32]);
    arena_destroy(arena);
}

static bool holds(Bound bound, DType dtype, double got, double want, double sums) {
    return bound_holds(&bound, dtype, got, want, sums);
}

// The suite is as good as its comparison.
static void bounds_tell_right_from_wrong(void **state) {
    (void)state;
    const Bound exact = {.ulps = 0}, bits = {.bits = true}, one = {.ulps = 1};
    const Bound sum = {.sums = 2}, rounds = {.rounds = 1};
    assert_true(holds(exact, DT_F32, 0.0, -0.0, 0));
    assert_false(holds(bits, DT_F32, 0.0, -0.0, 0));
    assert_true(holds(exact, DT_F32, NAN, NAN, 0));
    assert_false(holds(one, DT_F32, NAN, 1, 0));
    assert_false(holds(exact, DT_F32, 1 + 0x1p-23, 1, 0));
    assert_true(holds(one, DT_F32, 1 + 0x1p-23, 1, 0));
    assert_false(holds(one, DT_F32, 1 + 0x1p-22, 1, 0));
    assert_false(holds(one, DT_I32, 2, 1, 0));
    assert_true(holds(one, DT_F32, INFINITY, 0x1.fffffep127, 0));
    assert_false(holds(one, DT_F32, INFINITY, 0x1.fffffcp127, 0));
    assert_false(holds(one, DT_F32, -INFINITY, INFINITY, 0));
    assert_true(holds(sum, DT_F32, 1 + 0x1p-20, 1, 8));
    assert_false(holds(sum, DT_F32, 1 + 0x1.1p-20, 1, 8));
    assert_false(holds(sum, DT_F32, 5, INFINITY, INFINITY));
    assert_true(holds(rounds, DT_F16, 1 + 0x1p-9, 1, 2)); // one rounding of 2, one ulp of 1
    assert_false(holds(rounds, DT_F16, 1 + 0x1.8p-9, 1, 2));
    assert_true(holds(exact, DT_F32, 0, 0x1p-130, 0)); // flushed
    assert_false(holds(exact, DT_F16, 0, 0x1p-20, 0));
    assert_true(ulp_of(DT_F32, 1) == 0x1p-23 && ulp_of(DT_F16, 1) == 0x1p-10);
    assert_true(ulp_of(DT_BF16, 1) == 0x1p-7 && ulp_of(DT_F32, 0) == 0x1p-149);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_a_case),
                                       cmocka_unit_test(bounds_tell_right_from_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
