// Form "skinny" of family "contract" on the interpreter, against the evaluator; and its choice.
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

static const Schedule forms[] = {
    {.form = "skinny", .local = 128, .lanes = 32, .tile_m = 1, .reg_n = 4, .vec = 4, .unroll = 1},
    {.form = "skinny", .local = 128, .lanes = 8, .tile_m = 1, .reg_n = 1, .vec = 1, .unroll = 1},
    {.form = "skinny", .local = 64, .lanes = 64, .tile_m = 16, .reg_n = 2, .vec = 2, .unroll = 2},
    {.form = "skinny", .local = 128, .lanes = 128, .tile_m = 4, .reg_n = 8, .vec = 4, .unroll = 2},
    {.form = "skinny",
     .local = 64,
     .lanes = 32,
     .tile_m = 2,
     .reg_n = 2,
     .vec = 4,
     .unroll = 1,
     .streams = 3},
    {.form = "skinny",
     .local = 32,
     .lanes = 32,
     .tile_m = 1,
     .reg_n = 1,
     .vec = 4,
     .unroll = 1,
     .streams = 16},
};

static ValueId declare(Graph *g, const char *name, const Type *type) {
    NodeSpec spec = {.op = OP_INPUT, .name = name, .type = type, .decl = &(Decl){0}};
    return graph_result(g, graph_add(g, NULL, &spec), 0);
}

// y = x w^T + b, x [rows, k], w [n, k]; 0 rows: N of 1..=16, fewer than 0: N up to that many.
static Graph *linear(DType dtype, int64_t rows, int64_t n, int64_t k, DType result) {
    Graph *g = graph_create("m");
    Dim m = dim_symbol(g->dims, "N", 1, rows < 0 ? -rows : 16);
    if (rows > 0) m = dim_const(g->dims, rows);
    Dim columns = dim_const(g->dims, n), depth = dim_const(g->dims, k);
    Type x_type = {dtype, 2, {m, depth}}, w_type = {dtype, 2, {columns, depth}};
    Type b_type = {result, 1, {columns}};
    ValueId x = declare(g, "x", &x_type), w = declare(g, "w", &w_type);
    ValueId b = declare(g, "b", &b_type);
    NodeId fused = graph_begin_fused(g, "k0", "contract", false);
    char attrs[64];
    snprintf(attrs, sizeof attrs, "dtype=%s", dtype_name(result));
    ValueId sum = make_op(g, OP_CONTRACT, "sum", attrs, x, w, 0);
    ValueId y = make_op(g, OP_ADD, "y", NULL, sum, b, 0);
    graph_end_fused(g, fused, &y, 1);
    graph_add_output(g, "o", NULL, y, (Loc){0});
    g->stage = STAGE_FUSED;
    return g;
}

static void check(Graph *g, const char *target, const Schedule *form, int64_t rows,
                  double tolerance) {
    Schedule copy = form ? *form : (Schedule){0};
    program_check(g, &(ProgramCheck){.target = target,
                                     .symbols = &rows,
                                     .tolerance = tolerance,
                                     .scale = 1,
                                     .force = form ? &copy : NULL});
}

static void shapes(void **state) {
    (void)state;
    const int64_t sizes[][2] = {{1, 32}, {2, 4}, {31, 128}, {33, 132}, {64, 256}, {7, 1024}};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++) {
            Graph *g = linear(DT_F32, -(int64_t)forms[f].tile_m, sizes[s][0], sizes[s][1], DT_F32);
            for (int64_t rows = 1; rows <= forms[f].tile_m; rows = 2 * rows + 1) {
                check(g, "portable", &forms[f], rows, 1e-5);
                check(g, "h200", &forms[f], rows, 1e-5);
            }
            graph_destroy(g);
        }
    }
}

static void ragged_depth(void **state) { // K that no step divides
    (void)state;
    const Schedule form = {
        .form = "skinny", .local = 64, .lanes = 16, .tile_m = 2, .reg_n = 4, .vec = 1};
    for (int64_t k = 2; k <= 132; k += 13) {
        Graph *g = linear(DT_F32, 2, 19, k, DT_F32);
        check(g, "portable", &form, 1, 1e-5);
        graph_destroy(g);
    }
}

// Sums that lanes of a subgroup, and subgroups, hand to each other.
static void joins(void **state) {
    (void)state;
    static const uint32_t shapes[][4] = {
        // lanes, rows, columns, subgroup
        {32, 1, 1, 32}, {32, 5, 3, 32}, {32, 8, 4, 32},  {8, 3, 2, 32},   {16, 4, 4, 32},
        {64, 1, 1, 32}, {64, 8, 4, 32}, {128, 5, 3, 32}, {128, 1, 2, 32}, {128, 16, 2, 32}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        Schedule form = {.form = "skinny", .local = 128, .vec = 4, .unroll = 1};
        form.lanes = shapes[i][0], form.tile_m = shapes[i][1], form.reg_n = shapes[i][2];
        form.subgroup = shapes[i][3];
        Graph *g = linear(DT_F32, -(int64_t)form.tile_m, 37, 516, DT_F32);
        check(g, "h200", &form, form.tile_m, 1e-5);
        graph_destroy(g);
        g = linear(DT_I8, -(int64_t)form.tile_m, 37, 516, DT_I32);
        check(g, "h200", &form, 1, 0);
        graph_destroy(g);
    }
}

// 16 bytes a load: K of whole trips, of broken ones, and less than one; bounds of K's end.
static void wide_loads(void **state) {
    (void)state;
    static const struct {
        DType dtype, result;
        uint32_t vec;
        double tolerance;
    } types[] = {{DT_F16, DT_F32, 8, 1e-5}, {DT_BF16, DT_F32, 8, 1e-5}, {DT_I8, DT_I32, 16, 0},
                 {DT_U8, DT_I32, 16, 0},    {DT_F16, DT_F16, 8, 2e-3},  {DT_F32, DT_F32, 4, 1e-5},
                 {DT_F32, DT_F32, 8, 1e-5}};
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
        for (int64_t k = 16; k <= 1100; k = 3 * k + (k % 3 ? 0 : 16)) {
            Schedule form = {.form = "skinny", .local = 64, .lanes = 16, .vec = types[t].vec};
            for (form.tile_m = 1; form.tile_m <= 8; form.tile_m += 7) {
                form.reg_n = form.tile_m == 1 ? 4 : 2, form.unroll = form.tile_m == 1 ? 4 : 2;
                Graph *g = linear(types[t].dtype, form.tile_m, 19, k, types[t].result);
                check(g, "h200", &form, 1, types[t].tolerance);
                form.split_k = 3;
                check(g, "h200", &form, 1, types[t].tolerance);
                form.split_k = 0;
                graph_destroy(g);
            }
        }
    }
}

// y along N: x [3, rows, k] times y [3, k, n] + b.
static Graph *product(DType dtype, int64_t rows, int64_t n, int64_t k, DType result) {
    Graph *g = graph_create("m");
    Dim m = dim_symbol(g->dims, "N", 1, rows), three = dim_const(g->dims, 3);
    Dim columns = dim_const(g->dims, n), depth = dim_const(g->dims, k);
    Type x_type = {dtype, 3, {three, m, depth}}, y_type = {dtype, 3, {three, depth, columns}};
    Type b_type = {result, 1, {columns}};
    ValueId x = declare(g, "x", &x_type), y = declare(g, "y", &y_type);
    ValueId b = declare(g, "b", &b_type);
    NodeId fused = graph_begin_fused(g, "k0", "contract", false);
    char attrs[64];
    snprintf(attrs, sizeof attrs, "batch=1, dtype=%s", dtype_name(result));
    ValueId turned = make_view(g, OP_TRANSPOSE, "a=1, b=2", y);
    ValueId sum = make_op(g, OP_CONTRACT, "sum", attrs, x, turned, 0);
    ValueId out = make_op(g, OP_ADD, "y2", NULL, sum, b, 0);
    graph_end_fused(g, fused, &out, 1);
    graph_add_output(g, "o", NULL, out, (Loc){0});
    g->stage = STAGE_FUSED;
    return g;
}

// Stretches of y of which the last is short, in batches, and with K in parts.
static void streams(void **state) {
    (void)state;
    for (uint32_t parts = 1; parts <= 3; parts++)
        for (uint32_t many = 2; many <= 64; many *= 2) {
            Schedule form = {.form = "skinny",
                             .local = 64,
                             .lanes = 32,
                             .tile_m = 4,
                             .reg_n = 2,
                             .vec = 4,
                             .unroll = 1,
                             .split_k = parts,
                             .streams = many};
            Graph *g = make_empty(4);
            ValueId x = make_input(g, "x", "[3, N, 384] f16");
            ValueId y = make_input(g, "y", "[3, 43, 384] f16");
            NodeId fused = graph_begin_fused(g, "k", "contract", false);
            make_finish(g, fused, make_contract(g, "batch=1, dtype=f32", x, y));
            for (int64_t rows = 1; rows <= 4; rows += 3) check(g, "h200", &form, rows, 1e-5);
            graph_destroy(g);
        }
}

static void along_n(void **state) {
    (void)state;
    static const struct {
        DType dtype, result;
        uint32_t vec, unroll;
        int64_t n;
        double tolerance;
    } cases[] = {{DT_F16, DT_F32, 8, 8, 40, 1e-5}, {DT_F16, DT_F16, 8, 4, 264, 2e-3},
                 {DT_BF16, DT_F32, 8, 1, 8, 1e-5}, {DT_I8, DT_I32, 16, 16, 48, 0},
                 {DT_F32, DT_F32, 4, 8, 68, 1e-5}, {DT_F32, DT_F32, 1, 2, 33, 1e-5},
                 {DT_F32, DT_F32, 2, 4, 2, 1e-5},  {DT_F16, DT_F32, 4, 16, 36, 1e-5}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int64_t k = 1; k <= 300; k = 3 * k + 5) {
            if (k == 1 && cases[i].n == 1) continue;
            Schedule form = {.form = "skinny",
                             .local = 64,
                             .lanes = 16,
                             .vec = cases[i].vec,
                             .unroll = cases[i].unroll};
            for (form.tile_m = 1; form.tile_m <= 5; form.tile_m += 4)
                for (form.split_k = 1; form.split_k <= 3; form.split_k += 2) {
                    Graph *g = product(cases[i].dtype, form.tile_m, cases[i].n, k, cases[i].result);
                    check(g, "h200", &form, form.tile_m == 1 ? 1 : 3, cases[i].tolerance);
                    graph_destroy(g);
                }
        }
}

static void dtypes(void **state) {
    (void)state;
    Graph *g = linear(DT_F16, 3, 40, 96, DT_F16);
    check(g, "h200", NULL, 1, 2e-3);
    graph_destroy(g);
    g = linear(DT_BF16, 1, 40, 96, DT_BF16);
    check(g, "portable", NULL, 1, 2e-2);
    graph_destroy(g);
    g = linear(DT_I8, 1, 40, 96, DT_I32);
    check(g, "portable", NULL, 1, 0);
    graph_destroy(g);
}

// One row, and up to 4: alternatives of their own under the condition that there are no more.
static void choice(void **state) {
    (void)state;
    Diags *diags = diags_create();
    Target target;
    Plan *plan;
    assert_true(target_builtin("h200", &target));
    Graph *g = linear(DT_F32, 0, 4096, 4096, DT_F32);
    assert_true(plan_build(g, &target, &(CompileOptions){0}, diags, &plan));
    assert_int_equal(plan->run.at[0].alternatives.len, 3);
    const Alternative *first = &plan->run.at[0].alternatives.at[0], *second = first + 1;
    assert_string_equal(second->schedule.form, "skinny");
    assert_int_equal(second->schedule.tile_m, 4);
    assert_int_equal(second->conditions, 1);
    assert_true(dim_is(g->dims, second->condition[0].right, 4));
    assert_string_equal(first->schedule.form, "skinny");
    assert_int_equal(first->schedule.tile_m, 1);
    assert_int_equal(first->schedule.subgroup, 32);
    assert_int_equal(first->conditions, 1);
    assert_int_equal(first->condition[0].relation, DIM_LE);
    assert_true(dim_is(g->dims, first->condition[0].right, 1));
    assert_int_equal(plan->run.at[0].alternatives.at[2].conditions, 0);
    graph_destroy(g);
    g = linear(DT_F32, 1, 4096, 4096, DT_F32);
    assert_true(plan_build(g, &target, &(CompileOptions){0}, diags, &plan));
    assert_int_equal(plan->run.at[0].alternatives.len, 1);
    assert_string_equal(plan->run.at[0].alternatives.at[0].schedule.form, "skinny");
    graph_destroy(g);
    diags_destroy(diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes),     cmocka_unit_test(ragged_depth),
                                       cmocka_unit_test(wide_loads), cmocka_unit_test(streams),
                                       cmocka_unit_test(along_n),    cmocka_unit_test(dtypes),
                                       cmocka_unit_test(joins),      cmocka_unit_test(choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
