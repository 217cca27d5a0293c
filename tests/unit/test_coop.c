// Form "coop" of family "contract" on the interpreter, against the evaluator, with the fragments of
// the H200 (16x16x16, subgroups of 32) and of lavapipe (8x8x8, subgroups of 8).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/spirv.h"
#include "passes/compile.h"
#include "passes/coop_shape.h"
#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

#define FRAGMENT(m, n, k) .frag_m = (m), .frag_n = (n), .frag_k = (k)
#define TILE(m, n, k)     .tile_m = (m), .tile_n = (n), .tile_k = (k)
#define WARP(m, n)        .warp_m = (m), .warp_n = (n)

typedef struct Form {
    const char *target;
    Schedule schedule;
} Form;

static const Form floats[] = {
    {"h200",
     {.form = "coop",
      .local = 64,
      .subgroup = 32,
      FRAGMENT(16, 16, 16),
      TILE(32, 64, 32),
      WARP(32, 32),
      .stages = 1}},
    {"h200",
     {.form = "coop",
      .local = 128,
      .subgroup = 32,
      FRAGMENT(16, 16, 16),
      TILE(64, 32, 64),
      WARP(16, 32),
      .stages = 1,
      .ahead = 2}},
    {"h200",
     {.form = "coop",
      .local = 64,
      .subgroup = 32,
      FRAGMENT(16, 16, 16),
      TILE(32, 64, 16),
      WARP(32, 32),
      .stages = 2,
      .unroll = 4,
      .ahead = 2}},
    {"h200",
     {.form = "coop",
      .local = 64,
      .subgroup = 32,
      FRAGMENT(16, 16, 16),
      TILE(32, 32, 32),
      WARP(32, 16),
      .stages = 2,
      .unroll = 4}},
    {"lavapipe-debian13",
     {.form = "coop",
      .local = 32,
      .subgroup = 8,
      FRAGMENT(8, 8, 8),
      TILE(32, 16, 16),
      WARP(16, 8),
      .stages = 1}},
    {"lavapipe-debian13",
     {.form = "coop",
      .local = 16,
      .subgroup = 8,
      FRAGMENT(8, 8, 8),
      TILE(16, 16, 8),
      WARP(8, 16),
      .stages = 2,
      .unroll = 4,
      .ahead = 4}},
};
static const Form narrow[] = {
    // 16x8x16: f16 only
    {"h200",
     {.form = "coop",
      .local = 32,
      .subgroup = 32,
      FRAGMENT(16, 8, 16),
      TILE(32, 24, 16),
      WARP(32, 24),
      .stages = 1}},
};
static const Form bytes[] = {
    {"h200",
     {.form = "coop",
      .local = 64,
      .subgroup = 32,
      FRAGMENT(16, 16, 32),
      TILE(32, 64, 64),
      WARP(32, 32),
      .stages = 1}},
    {"h200",
     {.form = "coop",
      .local = 64,
      .subgroup = 32,
      FRAGMENT(16, 16, 32),
      TILE(32, 64, 32),
      WARP(32, 32),
      .stages = 2,
      .unroll = 4,
      .ahead = 4}},
    {"lavapipe-debian13",
     {.form = "coop",
      .local = 32,
      .subgroup = 8,
      FRAGMENT(8, 8, 8),
      TILE(32, 16, 16),
      WARP(16, 8),
      .stages = 1}},
    {"lavapipe-debian13",
     {.form = "coop",
      .local = 16,
      .subgroup = 8,
      FRAGMENT(8, 8, 8),
      TILE(16, 32, 16),
      WARP(16, 16),
      .stages = 2,
      .unroll = 4}},
};
enum {
    FLOATS = sizeof floats / sizeof floats[0],
    NARROW = sizeof narrow / sizeof narrow[0],
    BYTES = sizeof bytes / sizeof bytes[0]
};

static Graph *begin(void) {
    Graph *g = graph_create("m");
    assert_int_not_equal(dim_symbol(g->dims, "N", 1, 1024), DIM_NONE);
    return g;
}

static void finish(Graph *g, NodeId fused, ValueId value) {
    graph_end_fused(g, fused, &value, 1);
    graph_add_output(g, "o", NULL, value, (Loc){0});
    g->stage = STAGE_FUSED;
}

static ValueId contract(Graph *g, const char *attrs, ValueId x, ValueId y) {
    return make_op(g, OP_CONTRACT, "c", attrs, x, y, 0);
}

// Every kernel becomes a SPIR-V module.
static void emit_all(const Program *program) {
    for (uint32_t i = 0; i < program->kernels.len; i++) {
        SpirvModuleInfo module =
            spirv_emit(program->plan->graph->arena, program->kernels.at[i], &(SpirvOptions){0});
        assert_true(module.count > 100);
    }
}

static void check(Graph *g, const Form *form, int64_t size, double tolerance, bool strict) {
    Schedule copy = form->schedule;
    ProgramCheck run = {.target = form->target,
                        .symbols = &size,
                        .tolerance = tolerance,
                        .scale = 1,
                        .strict = strict,
                        .force = &copy};
    emit_all(program_check(g, &run));
}

static const int64_t sizes[] = {1, 31, 32, 33, 80};

static void check_forms(Graph *g, const Form *forms, unsigned count, double tolerance) {
    for (unsigned f = 0; f < count; f++)
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            check(g, &forms[f], sizes[i], tolerance, false);
    graph_destroy(g);
}

static const Form *forms_of(DType dtype, unsigned *count) {
    *count = dtype_is_float(dtype) ? FLOATS : BYTES;
    return dtype_is_float(dtype) ? floats : bytes;
}

// lavapipe lists no bf16.
static void check_type(Graph *g, DType dtype, double tolerance) {
    unsigned count;
    const Form *forms = forms_of(dtype, &count);
    if (dtype == DT_BF16) count = 4;
    check_forms(g, forms, count, tolerance);
}

static void shapes(DType dtype, const char *const list[][3], unsigned count, double tolerance) {
    for (unsigned i = 0; i < count; i++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", list[i][0]), y = make_input(g, "y", list[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        finish(g, fused, contract(g, list[i][2], x, y));
        check_type(g, dtype, tolerance);
    }
}

static void plain_f16(void **state) {
    (void)state;
    static const char *const list[][3] = {
        {"[N, 64] f16", "[64, 64] f16", NULL},          // ragged rows
        {"[64, 128] f16", "[N, 128] f16", "dtype=f32"}, // ragged columns
        {"[40, N] f16", "[24, N] f16", "dtype=f32"},    // ragged K, odd
        {"[64, 48] f16", "[64, 48] f16", "dtype=f32"},  // K is a multiple of moves only
        {"[7, 13] f16", "[N, 13] f16", NULL},
    };
    shapes(DT_F16, list, sizeof list / sizeof list[0], 1e-3);
}

static void plain_bf16(void **state) {
    (void)state;
    static const char *const list[][3] = {{"[N, 64] bf16", "[64, 64] bf16", NULL},
                                          {"[33, N] bf16", "[24, N] bf16", "dtype=f32"}};
    shapes(DT_BF16, list, 2, 8e-3);
}

static void plain_bytes(void **state) {
    (void)state;
    static const char *const list[][3] = {{"[N, 64] i8", "[64, 64] i8", NULL},
                                          {"[64, 128] i8", "[N, 128] i8", NULL},
                                          {"[33, N] i8", "[24, N] i8", NULL},
                                          {"[N, 64] u8", "[40, 64] u8", NULL}};
    shapes(DT_I8, list, 4, 0);
}

static void narrow_fragments(void **state) {
    (void)state;
    Graph *g = begin();
    ValueId x = make_input(g, "x", "[N, 48] f16"), y = make_input(g, "y", "[32, 48] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    finish(g, fused, contract(g, NULL, x, y));
    check_forms(g, narrow, NARROW, 1e-3);
}

// Whole tiles stored as fragments, with rows along K or across.
static void whole_tiles(void **state) {
    (void)state;
    for (unsigned turned = 0; turned < 4; turned++)
        for (unsigned small = 0; small < 2; small++) {
            Graph *g = begin();
            ValueId x = make_input(g, "x", turned & 1 ? "[128, 64] f16" : "[64, 128] f16");
            ValueId y = make_input(g, "y", turned & 2 ? "[128, 64] f16" : "[64, 128] f16");
            NodeId fused = graph_begin_fused(g, "k", "contract", false);
            if (turned & 1) x = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
            if (turned & 2) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
            finish(g, fused, contract(g, small ? NULL : "dtype=f32", x, y));
            for (unsigned f = 0; f < FLOATS; f++)
                check(g, &floats[f], 1, small ? 1e-3 : 1e-5, false);
            graph_destroy(g);
        }
}

static void transposed_bytes(void **state) {
    (void)state;
    Graph *g = begin();
    ValueId x = make_input(g, "x", "[64, 48] i8"), y = make_input(g, "y", "[64, N] i8");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId xt = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    ValueId yt = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
    finish(g, fused, contract(g, NULL, xt, yt));
    check_type(g, DT_I8, 0);
}

static void transposed_and_ragged(void **state) {
    (void)state;
    static const char *const list[][2] = {{"[N, 40] f16", "[N, 72] f16"},
                                          {"[64, N] f16", "[64, 33] f16"}};
    for (unsigned i = 0; i < 2; i++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", list[i][0]), y = make_input(g, "y", list[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId xt = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
        ValueId yt = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
        finish(g, fused, contract(g, "dtype=f32", xt, yt));
        check_type(g, DT_F16, 1e-5);
    }
}

static void batches(void **state) {
    (void)state;
    for (unsigned broadcast = 0; broadcast < 2; broadcast++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", "[3, N, 2, 32] f16");
        ValueId y = make_input(g, "y", broadcast ? "[64, 2, 32] f16" : "[3, 64, 2, 32] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        if (broadcast) y = make_view(g, OP_BROADCAST_TO, "shape=[3, 64, 2, 32]", y);
        finish(g, fused, contract(g, "batch=1, k=2, dtype=f32", x, y));
        check_type(g, DT_F16, 1e-5);
    }
    Graph *g = begin(); // whole tiles of each batch
    ValueId x = make_input(g, "x", "[N, 64, 64] f16"), y = make_input(g, "y", "[N, 64, 64] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    finish(g, fused, contract(g, "batch=1", x, y));
    for (unsigned f = 0; f < FLOATS; f++) check(g, &floats[f], 3, 1e-3, false);
    graph_destroy(g);
}

// Slices, steps, flips and offsets.
static void views(void **state) {
    (void)state;
    static const char *const slices[] = {
        "starts=[3, 8], stops=[35, 72], steps=[1, 1]", // moves
        "starts=[3, 5], stops=[35, 69], steps=[1, 1]", // no alignment
        "starts=[0, 0], stops=[64, 64], steps=[2, 1]",
        "starts=[0, 0], stops=[32, 128], steps=[1, 2]"};
    for (unsigned i = 0; i < 4; i++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", "[70, 136] f16"), y = make_input(g, "y", "[N, 64] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId part = make_view(g, OP_SLICE, slices[i], x);
        finish(g, fused, contract(g, "dtype=f32", part, y));
        check_type(g, DT_F16, 1e-5);
    }
}

static ValueId convolution(Graph *g, ValueId x, ValueId w, const char *wide) {
    ValueId down = make_view(g, OP_UNFOLD, "axis=2, kernel=3, count=9, before=1", x);
    ValueId both = make_view(g, OP_UNFOLD, "axis=4, kernel=3, count=8, before=1", down);
    ValueId turned = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 3, 5, 1, 2, 4]", both);
    ValueId weight = make_view(g, OP_BROADCAST_TO, wide, w);
    return contract(g, "batch=1, k=3, dtype=f32", weight, turned);
}

// The same with channels last in memory: moves through a padded window.
static ValueId channels_last(Graph *g, ValueId x, ValueId w) {
    ValueId down = make_view(g, OP_UNFOLD, "axis=1, kernel=3, count=9, before=1", x);
    ValueId both = make_view(g, OP_UNFOLD, "axis=3, kernel=3, count=8, before=1", down);
    ValueId turned = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 2, 4, 1, 3, 5]", both);
    return contract(g, "k=3, dtype=f32", turned, w);
}

static void convolutions(void **state) {
    (void)state;
    static const int64_t few[] = {1, 2};
    for (unsigned last = 0; last < 2; last++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", last ? "[N, 9, 8, 16] f16" : "[N, 3, 9, 8] f16");
        ValueId w = make_param(g, "w", last ? "[20, 3, 3, 16] f16" : "[20, 3, 3, 3] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        finish(g, fused,
               last ? channels_last(g, x, w) : convolution(g, x, w, "shape=[N, 20, 3, 3, 3]"));
        for (unsigned f = 0; f < FLOATS; f++)
            for (unsigned i = 0; i < 2; i++) check(g, &floats[f], few[i], 1e-5, false);
        graph_destroy(g);
    }
}

// Maps that need no coordinates stay on fragments; others pass through workgroup memory.
static void epilogues(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 5; kind++)
        for (unsigned whole = 0; whole < 2; whole++) {
            Graph *g = begin();
            ValueId x = make_input(g, "x", whole ? "[64, 64] f16" : "[50, 64] f16");
            ValueId y = make_input(g, "y", whole ? "[64, 64] f16" : "[72, 64] f16");
            ValueId column = make_param(g, "b", whole ? "[64] f16" : "[72] f16");
            ValueId row = make_param(g, "r", whole ? "[64, 1] f16" : "[50, 1] f16");
            ValueId full = make_input(g, "f", whole ? "[64, 64] f16" : "[50, 72] f16");
            NodeId fused = graph_begin_fused(g, "k", "contract", false);
            ValueId half = make_op(g, OP_FULL, "h", "shape=[], value=0.125, dtype=f16", 0, 0, 0);
            ValueId c = contract(g, NULL, x, y);
            ValueId v = make_op(g, OP_MULTIPLY, "v", NULL, c, half, 0);
            if (kind == 1) v = make_op(g, OP_ADD, "w", NULL, v, column, 0);
            if (kind == 2) v = make_op(g, OP_ADD, "w", NULL, v, row, 0);
            if (kind == 3) v = make_op(g, OP_ADD, "w", NULL, v, full, 0);
            if (kind == 4) v = make_op(g, OP_CAST, "w", "dtype=bf16", v, 0, 0);
            finish(g, fused, kind == 4 ? v : make_op(g, OP_GELU, "t", NULL, v, 0, 0));
            for (unsigned f = 0; f < FLOATS; f++)
                for (unsigned strict = 0; strict < 2; strict++)
                    check(g, &floats[f], 1, kind == 4 ? 2e-2 : 3e-3, strict);
            graph_destroy(g);
        }
}

// Integer sums scaled to floats, and cut to bytes.
static void integer_epilogues(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", "[64, 64] i8"), y = make_input(g, "y", "[N, 64] i8");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId c = contract(g, NULL, x, y);
        ValueId half = make_op(g, OP_FULL, "h", "shape=[], value=0.125, dtype=f32", 0, 0, 0);
        ValueId v = make_op(g, OP_CAST, "v", kind ? "dtype=f32" : "dtype=i8", c, 0, 0);
        finish(g, fused, kind ? make_op(g, OP_MULTIPLY, "m", NULL, v, half, 0) : v);
        check_type(g, DT_I8, 0);
    }
}

// A map on the way in.
static void prologue(void **state) {
    (void)state;
    Graph *g = begin();
    ValueId x = make_input(g, "x", "[N, 40] f16"), y = make_param(g, "y", "[40, 40] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId s = make_op(g, OP_TANH, "s", NULL, x, 0, 0);
    finish(g, fused, contract(g, "dtype=f32", s, y));
    check_type(g, DT_F16, 5e-3);
}

static void choices_run(void **state) {
    (void)state;
    static const int64_t few[] = {1, 17, 70};
    for (unsigned i = 0; i < 3; i++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", i ? "[N, 96] f16" : "[N, 96] i8");
        ValueId y = make_input(g, "y", i ? "[80, 96] f16" : "[80, 96] i8");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId v = contract(g, NULL, x, y);
        if (i == 2) v = make_op(g, OP_RELU, "r", NULL, v, 0, 0);
        finish(g, fused, v);
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
            emit_all(program);
        }
        graph_destroy(g);
    }
}

// Tiles in bands, the last of them narrower; batches.
static void bands(void **state) {
    (void)state;
    static const int64_t some[] = {33, 100};
    for (unsigned batched = 0; batched < 2; batched++) {
        Graph *g = begin();
        ValueId x = make_input(g, "x", batched ? "[2, N, 32] f16" : "[N, 32] f16");
        ValueId y = make_input(g, "y", batched ? "[2, 136, 32] f16" : "[136, 32] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        finish(g, fused, contract(g, batched ? "batch=1, dtype=f32" : "dtype=f32", x, y));
        for (unsigned raster = 1; raster <= 4; raster++)
            for (unsigned i = 0; i < 2; i++) {
                Form form = floats[raster % 2 ? 0 : 4];
                form.schedule.raster = raster;
                if (raster > 2) form.schedule.tile_k = 16, form.schedule.stagger = 2;
                check(g, &form, some[i], 1e-5, false);
            }
        graph_destroy(g);
    }
}

// Few, some and many rows of a symbolic M are made by tiles of their own.
static void rows_choose(void **state) {
    (void)state;
    static const int64_t some[] = {16, 40, 256};
    Graph *g = begin();
    dim_set_source(g->dims, 0, DIM_FROM_INPUT);
    ValueId x = make_input(g, "x", "[N, 256] f16"), y = make_input(g, "y", "[72, 256] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    finish(g, fused, contract(g, "dtype=f32", x, y));
    for (unsigned n = 0; n < 3; n++) {
        ProgramCheck run = {.target = "h200", .symbols = &some[n], .tolerance = 1e-5, .scale = 1};
        const PlanStep *step = &program_check(g, &run)->plan->run.at[0];
        uint32_t many = 0, all = 0;
        for (uint32_t a = 0; a < step->alternatives.len; a++) {
            const Alternative *one = &step->alternatives.at[a];
            if (!one->fragment.m) continue;
            if (!one->conditions)
                all = one->schedule.tile_m * one->schedule.tile_n;
            else if (one->condition[0].relation == DIM_GE)
                many = one->schedule.tile_m * one->schedule.tile_n;
        }
        assert_true(many > 0 && all > 0 && many >= all);
    }
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
        Graph *g = begin();
        dim_set_source(g->dims, 0, DIM_FROM_INPUT);
        ValueId x = make_input(g, "x", list[i][0]), y = make_input(g, "y", list[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        if (i) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
        if (i == 1) x = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
        finish(g, fused, contract(g, i == 1 ? NULL : "dtype=f32", x, y));
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
                emit_all(program);
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
    emit_all(program);
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
        Graph *g = begin();
        ValueId x = make_input(g, "x", list[i].x), y = make_input(g, "y", list[i].y);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        if (list[i].turned) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
        finish(g, fused, contract(g, NULL, x, y));
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
    Graph *g = begin();
    ValueId x = make_input(g, "x", "[N, 64] f16"), y = make_input(g, "y", "[64, 64] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    finish(g, fused, contract(g, NULL, x, y));
    CoopShape shape;
    Target target;
    assert_true(target_builtin("h200", &target));
    assert_true(coop_shape(g, fused, &shape));
    Schedule s = floats[0].schedule;
    assert_null(coop_refuses(&shape, &s, &target));
    assert_int_equal(coop_shared_bytes(&shape, &s), (32 + 64) * 5 * 16);
    s.frag_k = 8;
    assert_string_equal(coop_refuses(&shape, &s, &target), "the target lists no such fragment");
    s = floats[0].schedule, s.local = 128;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "local must be subgroup times tile / warp");
    s = floats[0].schedule, s.warp_n = 24;
    assert_string_equal(coop_refuses(&shape, &s, &target), "warp must be a multiple of frag");
    s = floats[0].schedule, s.subgroup = 16;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "subgroup must be one that the target can require");
    s = floats[2].schedule, s.unroll = 6;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "with two stages unroll must be a multiple of 4 and at most 64");
    s = floats[2].schedule, s.ahead = 3;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "loads run at most 4 steps ahead, with two stages 1, 2 or 4");
    s = floats[1].schedule, s.tile_m = 512, s.tile_n = 512, s.warp_m = 64, s.warp_n = 128;
    s.local = 1024;
    assert_string_equal(coop_refuses(&shape, &s, &target),
                        "its tiles need more workgroup memory than the target has");
    graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_f16),
        cmocka_unit_test(plain_bf16),
        cmocka_unit_test(plain_bytes),
        cmocka_unit_test(narrow_fragments),
        cmocka_unit_test(whole_tiles),
        cmocka_unit_test(transposed_bytes),
        cmocka_unit_test(transposed_and_ragged),
        cmocka_unit_test(batches),
        cmocka_unit_test(views),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(integer_epilogues),
        cmocka_unit_test(prologue),
        cmocka_unit_test(choices),
        cmocka_unit_test(choices_run),
        cmocka_unit_test(bands),
        cmocka_unit_test(multiples),
        cmocka_unit_test(rows_choose),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
