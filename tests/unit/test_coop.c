// Form "coop" of family "contract" on the interpreter, against the evaluator, with the fragments of
// the H200 (16x16x16, subgroups of 32) and of lavapipe (8x8x8, subgroups of 8).
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
    {"h200",
     {.form = "coop",
      .local = 128,
      .subgroup = 32,
      FRAGMENT(16, 16, 16),
      TILE(16, 32, 128),
      WARP(16, 32),
      .stages = 1,
      .slices = 4}},
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
      .local = 32,
      .subgroup = 8,
      FRAGMENT(8, 8, 8),
      TILE(16, 16, 16),
      WARP(16, 8),
      .stages = 1,
      .slices = 2}},
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
    {"h200",
     {.form = "coop",
      .local = 256,
      .subgroup = 32,
      FRAGMENT(16, 16, 16),
      TILE(96, 64, 64),
      WARP(48, 16),
      .stages = 1}},
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
    BANDS_LAVAPIPE = 5, // the first of its forms
    FLOATS = sizeof floats / sizeof floats[0],
    NARROW = sizeof narrow / sizeof narrow[0],
    BYTES = sizeof bytes / sizeof bytes[0]
};

static void check(Graph *g, const Form *form, int64_t size, double tolerance, bool strict) {
    Schedule copy = form->schedule;
    ProgramCheck run = {.target = form->target,
                        .symbols = &size,
                        .tolerance = tolerance,
                        .scale = 1,
                        .strict = strict,
                        .force = &copy};
    program_emit_all(program_check(g, &run));
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
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", list[i][0]), y = make_input(g, "y", list[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused, make_contract(g, list[i][2], x, y));
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
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 48] f16"), y = make_input(g, "y", "[32, 48] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_contract(g, NULL, x, y));
    check_forms(g, narrow, NARROW, 1e-3);
}

// Whole tiles stored as fragments, with rows along K or across.
static void whole_tiles(void **state) {
    (void)state;
    for (unsigned turned = 0; turned < 4; turned++)
        for (unsigned small = 0; small < 2; small++) {
            Graph *g = make_empty(1024);
            ValueId x = make_input(g, "x", turned & 1 ? "[128, 64] f16" : "[64, 128] f16");
            ValueId y = make_input(g, "y", turned & 2 ? "[128, 64] f16" : "[64, 128] f16");
            NodeId fused = graph_begin_fused(g, "k", "contract", false);
            if (turned & 1) x = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
            if (turned & 2) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
            make_finish(g, fused, make_contract(g, small ? NULL : "dtype=f32", x, y));
            for (unsigned f = 0; f < FLOATS; f++)
                check(g, &floats[f], 1, small ? 1e-3 : 1e-5, false);
            graph_destroy(g);
        }
}

static void transposed_bytes(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[64, 48] i8"), y = make_input(g, "y", "[64, N] i8");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId xt = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    ValueId yt = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
    make_finish(g, fused, make_contract(g, NULL, xt, yt));
    check_type(g, DT_I8, 0);
}

static void transposed_and_ragged(void **state) {
    (void)state;
    static const char *const list[][2] = {{"[N, 40] f16", "[N, 72] f16"},
                                          {"[64, N] f16", "[64, 33] f16"}};
    for (unsigned i = 0; i < 2; i++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", list[i][0]), y = make_input(g, "y", list[i][1]);
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId xt = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
        ValueId yt = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
        make_finish(g, fused, make_contract(g, "dtype=f32", xt, yt));
        check_type(g, DT_F16, 1e-5);
    }
}

static void batches(void **state) {
    (void)state;
    for (unsigned broadcast = 0; broadcast < 2; broadcast++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", "[3, N, 2, 32] f16");
        ValueId y = make_input(g, "y", broadcast ? "[64, 2, 32] f16" : "[3, 64, 2, 32] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        if (broadcast) y = make_view(g, OP_BROADCAST_TO, "shape=[3, 64, 2, 32]", y);
        make_finish(g, fused, make_contract(g, "batch=1, k=2, dtype=f32", x, y));
        check_type(g, DT_F16, 1e-5);
    }
    Graph *g = make_empty(1024); // whole tiles of each batch
    ValueId x = make_input(g, "x", "[N, 64, 64] f16"), y = make_input(g, "y", "[N, 64, 64] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    make_finish(g, fused, make_contract(g, "batch=1", x, y));
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
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", "[70, 136] f16"), y = make_input(g, "y", "[N, 64] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId part = make_view(g, OP_SLICE, slices[i], x);
        make_finish(g, fused, make_contract(g, "dtype=f32", part, y));
        check_type(g, DT_F16, 1e-5);
    }
}

static ValueId convolution(Graph *g, ValueId x, ValueId w, const char *wide) {
    ValueId down = make_view(g, OP_UNFOLD, "axis=2, kernel=3, count=9, before=1", x);
    ValueId both = make_view(g, OP_UNFOLD, "axis=4, kernel=3, count=8, before=1", down);
    ValueId turned = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 3, 5, 1, 2, 4]", both);
    ValueId weight = make_view(g, OP_BROADCAST_TO, wide, w);
    return make_contract(g, "batch=1, k=3, dtype=f32", weight, turned);
}

// The same with channels last in memory: moves through a padded window.
static ValueId channels_last(Graph *g, ValueId x, ValueId w) {
    ValueId down = make_view(g, OP_UNFOLD, "axis=1, kernel=3, count=9, before=1", x);
    ValueId both = make_view(g, OP_UNFOLD, "axis=3, kernel=3, count=8, before=1", down);
    ValueId turned = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 2, 4, 1, 3, 5]", both);
    return make_contract(g, "k=3, dtype=f32", turned, w);
}

static void convolutions(void **state) {
    (void)state;
    static const int64_t few[] = {1, 2};
    for (unsigned last = 0; last < 2; last++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", last ? "[N, 9, 8, 16] f16" : "[N, 3, 9, 8] f16");
        ValueId w = make_param(g, "w", last ? "[20, 3, 3, 16] f16" : "[20, 3, 3, 3] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused,
                    last ? channels_last(g, x, w) : convolution(g, x, w, "shape=[N, 20, 3, 3, 3]"));
        for (unsigned f = 0; f < FLOATS; f++)
            for (unsigned i = 0; i < 2; i++) check(g, &floats[f], few[i], 1e-5, false);
        graph_destroy(g);
    }
}

// Maps that need no coordinates stay on fragments; others pass through workgroup memory.
static void epilogues(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 6; kind++)
        for (unsigned whole = 0; whole < 2; whole++) {
            Graph *g = make_empty(1024);
            ValueId x = make_input(g, "x", whole ? "[64, 64] f16" : "[50, 64] f16");
            ValueId y = make_input(g, "y", whole ? "[64, 64] f16" : "[72, 64] f16");
            ValueId column = make_param(g, "b", whole ? "[64] f16" : "[72] f16");
            ValueId row = make_param(g, "r", whole ? "[64, 1] f16" : "[50, 1] f16");
            ValueId full = make_input(g, "f", whole ? "[64, 64] f16" : "[50, 72] f16");
            ValueId turned = make_input(g, "t", whole ? "[64, 64] f16" : "[72, 50] f16");
            NodeId fused = graph_begin_fused(g, "k", "contract", false);
            ValueId half = make_op(g, OP_FULL, "h", "shape=[], value=0.125, dtype=f16", 0, 0, 0);
            ValueId c = make_contract(g, NULL, x, y);
            ValueId v = make_op(g, OP_MULTIPLY, "v", NULL, c, half, 0);
            if (kind == 1) v = make_op(g, OP_ADD, "w", NULL, v, column, 0);
            if (kind == 2) v = make_op(g, OP_ADD, "w", NULL, v, row, 0);
            if (kind == 3 || kind == 5) v = make_op(g, OP_ADD, "w", NULL, v, full, 0);
            turned = make_view(g, OP_TRANSPOSE, "a=0, b=1", turned);
            if (kind == 5) v = make_op(g, OP_ADD, "z", NULL, v, turned, 0);
            if (kind == 4) v = make_op(g, OP_CAST, "w", "dtype=bf16", v, 0, 0);
            make_finish(g, fused, kind == 4 ? v : make_op(g, OP_GELU, "t", NULL, v, 0, 0));
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
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", "[64, 64] i8"), y = make_input(g, "y", "[N, 64] i8");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        ValueId c = make_contract(g, NULL, x, y);
        ValueId half = make_op(g, OP_FULL, "h", "shape=[], value=0.125, dtype=f32", 0, 0, 0);
        ValueId v = make_op(g, OP_CAST, "v", kind ? "dtype=f32" : "dtype=i8", c, 0, 0);
        make_finish(g, fused, kind ? make_op(g, OP_MULTIPLY, "m", NULL, v, half, 0) : v);
        check_type(g, DT_I8, 0);
    }
}

// A map on the way in.
static void prologue(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[N, 40] f16"), y = make_param(g, "y", "[40, 40] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId s = make_op(g, OP_TANH, "s", NULL, x, 0, 0);
    make_finish(g, fused, make_contract(g, "dtype=f32", s, y));
    check_type(g, DT_F16, 5e-3);
}

// Whole tiles whose residual is read ahead, and a map in front of the product, whose operand has
// other sizes.
static void prologue_and_residual(void **state) {
    (void)state;
    Graph *g = make_empty(1024);
    ValueId x = make_input(g, "x", "[16, 96] f16"), y = make_param(g, "y", "[32, 96] f16");
    ValueId before = make_input(g, "p", "[16, 96] f16"),
            behind = make_input(g, "r", "[16, 32] f16");
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    ValueId s = make_op(g, OP_ADD, "s", NULL, x, before, 0);
    ValueId c = make_contract(g, NULL, s, y);
    make_finish(g, fused, make_op(g, OP_ADD, "a", NULL, c, behind, 0));
    for (unsigned f = 0; f < FLOATS; f++) check(g, &floats[f], 1, 2e-2, false);
    graph_destroy(g);
}

// Tiles in bands, the last of them narrower; batches.
static void bands(void **state) {
    (void)state;
    static const int64_t some[] = {33, 100};
    for (unsigned batched = 0; batched < 2; batched++) {
        Graph *g = make_empty(1024);
        ValueId x = make_input(g, "x", batched ? "[2, N, 32] f16" : "[N, 32] f16");
        ValueId y = make_input(g, "y", batched ? "[2, 136, 32] f16" : "[136, 32] f16");
        NodeId fused = graph_begin_fused(g, "k", "contract", false);
        make_finish(g, fused, make_contract(g, batched ? "batch=1, dtype=f32" : "dtype=f32", x, y));
        for (unsigned raster = 1; raster <= 4; raster++)
            for (unsigned i = 0; i < 2; i++) {
                Form form = floats[raster % 2 ? 0 : BANDS_LAVAPIPE];
                form.schedule.raster = raster;
                if (raster > 2) form.schedule.tile_k = 16, form.schedule.stagger = 2;
                check(g, &form, some[i], 1e-5, false);
            }
        graph_destroy(g);
    }
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
        cmocka_unit_test(prologue_and_residual),
        cmocka_unit_test(bands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
