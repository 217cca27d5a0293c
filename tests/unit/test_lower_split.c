// Products whose K is split, in every form of family "contract", on the interpreter against the
// evaluator; and what plans and verifiers make of their workspace.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/compile.h"
#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

#define COOP(size, sub)                                                                            \
    .form = "coop", .local = 2 * (sub), .subgroup = (sub), .frag_m = (size), .frag_n = (size),     \
    .frag_k = (size), .tile_m = 2 * (size), .tile_n = 2 * (size), .warp_m = (size),                \
    .warp_n = 2 * (size)

typedef struct Form {
    const char *target;
    bool coop;
    Schedule schedule;
} Form;

static const Form forms[] = {
    {"portable",
     false,
     {.form = "simt",
      .local = 16,
      .tile_m = 8,
      .tile_n = 32,
      .tile_k = 8,
      .reg_m = 2,
      .reg_n = 8,
      .vec = 4,
      .split_k = 3}},
    {"portable",
     false,
     {.form = "simt",
      .local = 16,
      .tile_m = 8,
      .tile_n = 32,
      .tile_k = 8,
      .reg_m = 2,
      .reg_n = 8,
      .vec = 4,
      .stages = 2,
      .unroll = 2,
      .split_k = 3}},
    {"portable",
     false,
     {.form = "simt",
      .local = 16,
      .tile_m = 4,
      .tile_n = 4,
      .tile_k = 4,
      .reg_m = 1,
      .reg_n = 1,
      .vec = 1,
      .split_k = 16}},
    {"h200",
     false,
     {.form = "skinny", .local = 64, .lanes = 32, .tile_m = 8, .reg_n = 2, .vec = 1, .split_k = 4}},
    {"h200",
     false,
     {.form = "skinny",
      .local = 32,
      .lanes = 32,
      .tile_m = 8,
      .reg_n = 1,
      .vec = 1,
      .subgroup = 32,
      .unroll = 2,
      .split_k = 2}},
    {"h200", true, {COOP(16, 32), .tile_k = 16, .stages = 1, .split_k = 2}},
    {"h200", true, {COOP(16, 32), .tile_k = 32, .stages = 1, .split_k = 5}},
    {"h200", true, {COOP(16, 32), .tile_k = 16, .stages = 2, .unroll = 4, .split_k = 3}},
    {"lavapipe-debian13", true, {COOP(8, 8), .tile_k = 16, .stages = 1, .split_k = 4}},
    {"lavapipe-debian13", true, {COOP(8, 8), .tile_k = 8, .stages = 2, .unroll = 4, .split_k = 2}},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static ValueId declare(Graph *g, const char *name, const Type *type) {
    NodeSpec spec = {.op = OP_INPUT, .name = name, .type = type, .decl = &(Decl){0}};
    return graph_result(g, graph_add(g, NULL, &spec), 0);
}

typedef struct Product {
    DType dtype, result;
    int64_t batch, n, k;
    bool y_along_n, bias, residual;
} Product;

// x [batch, N, k] times y [batch, n, k], N of 1..=8.
static Graph *product(const Product *p) {
    Graph *g = graph_create("m");
    Dim m = dim_symbol(g->dims, "N", 1, 8), batch = dim_const(g->dims, p->batch);
    Dim n = dim_const(g->dims, p->n), k = dim_const(g->dims, p->k);
    Type x_type = {p->dtype, 3, {batch, m, k}}, y_type = {p->dtype, 3, {batch, n, k}};
    if (p->y_along_n) y_type.size[1] = k, y_type.size[2] = n;
    Type bias_type = {p->result, 1, {n}}, r_type = {p->result, 3, {batch, m, n}};
    ValueId x = declare(g, "x", &x_type), y = declare(g, "y", &y_type);
    ValueId bias = p->bias ? declare(g, "b", &bias_type) : 0;
    ValueId residual = p->residual ? declare(g, "r", &r_type) : 0;
    NodeId fused = graph_begin_fused(g, "k0", "contract", false);
    if (p->y_along_n) y = make_view(g, OP_TRANSPOSE, "a=1, b=2", y);
    char attrs[64];
    snprintf(attrs, sizeof attrs, "batch=1, dtype=%s", dtype_name(p->result));
    ValueId value = make_op(g, OP_CONTRACT, "sum", attrs, x, y, 0);
    if (bias) value = make_op(g, OP_ADD, "biased", NULL, value, bias, 0);
    if (residual) value = make_op(g, OP_ADD, "added", NULL, value, residual, 0);
    graph_end_fused(g, fused, &value, 1);
    graph_add_output(g, "o", NULL, value, (Loc){0});
    g->stage = STAGE_FUSED;
    return g;
}

static bool takes(const Form *form, const Product *p) {
    bool skinny = strcmp(form->schedule.form, "skinny") == 0;
    if (form->coop && p->dtype != DT_F16) return false;
    return !(skinny && (p->y_along_n || p->k == 1));
}

static void check(const Product *p, double tolerance) {
    for (unsigned f = 0; f < FORMS; f++) {
        if (!takes(&forms[f], p)) continue;
        Graph *g = product(p);
        for (int64_t rows = 1; rows <= 8; rows += 7) {
            Schedule copy = forms[f].schedule;
            const Program *program = program_check(g, &(ProgramCheck){.target = forms[f].target,
                                                                      .symbols = &rows,
                                                                      .tolerance = tolerance,
                                                                      .scale = 1,
                                                                      .force = &copy});
            assert_int_equal(program->dispatches.len, 2);
            assert_false(program->dispatches.at[0].barrier);
            assert_true(program->dispatches.at[1].barrier);
        }
        graph_destroy(g);
    }
}

static void depths(void **state) { // K below the parts, of whole steps, of broken ones
    (void)state;
    static const int64_t sizes[] = {1, 3, 8, 16, 17, 33, 64, 100, 130};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check(&(Product){DT_F32, DT_F32, 1, 13, sizes[i], false, false, false}, 2e-5);
        check(&(Product){DT_F16, DT_F32, 1, 13, sizes[i], false, false, false}, 2e-5);
    }
}

static void widths(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 4, 16, 31, 32, 33, 40};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check(&(Product){DT_F32, DT_F32, 1, sizes[i], 36, false, true, false}, 2e-5);
        check(&(Product){DT_F16, DT_F16, 2, sizes[i], 48, i % 2, false, true}, 2e-3);
    }
}

static void batches_and_layouts(void **state) {
    (void)state;
    check(&(Product){DT_F32, DT_F32, 3, 9, 50, true, true, true}, 2e-5);
    check(&(Product){DT_F16, DT_F16, 3, 24, 64, true, true, true}, 2e-3);
    check(&(Product){DT_BF16, DT_BF16, 2, 8, 40, false, true, false}, 2e-2);
    check(&(Product){DT_I8, DT_I32, 2, 12, 100, false, true, true}, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(depths), cmocka_unit_test(widths),
                                       cmocka_unit_test(batches_and_layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
