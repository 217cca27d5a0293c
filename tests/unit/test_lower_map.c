// Kernels of family "map" on the interpreter, against the evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

static const char *const targets[] = {"portable", "lavapipe-debian12", "h200"};
static const int64_t sizes[] = {1, 2, 7, 63, 64, 65, 257};

static void finish(Graph *g, NodeId fused, ValueId value, const char *name) {
    graph_end_fused(g, fused, &value, 1);
    graph_add_output(g, name, NULL, value, (Loc){0});
    g->stage = STAGE_FUSED;
}

static void check_sizes(Graph *g, double tolerance, double scale) {
    for (unsigned t = 0; t < sizeof targets / sizeof targets[0]; t++)
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            ProgramCheck check = {
                .target = targets[t], .symbols = &sizes[i], .tolerance = tolerance, .scale = scale};
            program_check(g, &check);
        }
    graph_destroy(g);
}

static void contiguous(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 8] f32"), y = make_input(g, "y", "[N, 8] f32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId s = make_op(g, OP_ADD, "s", NULL, x, y, 0);
    finish(g, fused, make_op(g, OP_RELU, "r", NULL, s, 0, 0), "r");
    check_sizes(g, 0, 0);
}

static void broadcast_row_and_column(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 12] f32"), row = make_input(g, "row", "[12] f32");
    ValueId column = make_input(g, "column", "[N, 1] f32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId s = make_op(g, OP_ADD, "s", NULL, x, row, 0);
    finish(g, fused, make_op(g, OP_MULTIPLY, "p", NULL, s, column, 0), "p");
    check_sizes(g, 1e-6, 0);
}

static void transposed(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[5, N] f32"), y = make_input(g, "y", "[N, 5] f32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId turned = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    finish(g, fused, make_op(g, OP_SUBTRACT, "d", NULL, turned, y, 0), "d");
    check_sizes(g, 0, 0);
}

static void sliced_and_padded(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 9] f32"), y = make_input(g, "y", "[N, 4] f32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId slice = make_view(g, OP_SLICE, "starts=[0, 1], stops=[N, 9], steps=[1, 2]", x);
    ValueId flipped = make_view(g, OP_FLIP, "axis=0", y);
    ValueId sum = make_op(g, OP_ADD, "s", NULL, slice, flipped, 0);
    finish(g, fused, make_op(g, OP_NEGATIVE, "n", NULL, sum, 0, 0), "n");
    check_sizes(g, 0, 0);
    g = make_empty(4096);
    x = make_input(g, "x", "[N, 3] f32"), y = make_input(g, "y", "[N + 3, 5] f32");
    fused = graph_begin_fused(g, "k", "map", false);
    ValueId padded = make_view(g, OP_PAD, "widths=[[1, 2], [0, 2]], value=-1.5", x);
    finish(g, fused, make_op(g, OP_MAXIMUM, "m", NULL, padded, y, 0), "m");
    check_sizes(g, 0, 0);
}

static void copies(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[3, N, 2] f16");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    finish(g, fused, make_op(g, OP_PERMUTE_DIMS, "p", "axes=[2, 1, 0]", x, 0, 0), "p");
    check_sizes(g, 0, 0);
}

static void half_precision(void **state) {
    (void)state;
    static const char *const types[] = {"[N, 6] f16", "[N, 6] bf16"};
    for (unsigned i = 0; i < 2; i++) {
        Graph *g = make_empty(4096);
        ValueId x = make_input(g, "x", types[i]), y = make_input(g, "y", types[i]);
        NodeId fused = graph_begin_fused(g, "k", "map", false);
        finish(g, fused, make_op(g, OP_ADD, "s", NULL, x, y, 0), "s");
        check_sizes(g, 0, 0);
    }
}

static void several_results(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 4] i32"), y = make_input(g, "y", "[N, 4] i32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId result[3] = {make_op(g, OP_FLOOR_DIVIDE, "q", NULL, x, y, 0),
                         make_op(g, OP_REMAINDER, "r", NULL, x, y, 0),
                         make_op(g, OP_LESS, "l", NULL, x, y, 0)};
    graph_end_fused(g, fused, result, 3);
    graph_add_output(g, "q", NULL, result[0], (Loc){0});
    graph_add_output(g, "r", NULL, result[1], (Loc){0});
    graph_add_output(g, "l", NULL, result[2], (Loc){0});
    g->stage = STAGE_FUSED;
    check_sizes(g, 0, 0);
}

static void sources(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N] i32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId count = make_op(g, OP_ARANGE, "a", "start=3, stop=2 * N + 3, step=2", 0, 0, 0);
    ValueId two = make_op(g, OP_FULL, "two", "shape=[], value=2, dtype=i32", 0, 0, 0);
    ValueId sum = make_op(g, OP_ADD, "s", NULL, x, count, 0);
    finish(g, fused, make_op(g, OP_MULTIPLY, "p", NULL, sum, two, 0), "p");
    check_sizes(g, 0, 0);
}

static void casts(void **state) {
    (void)state;
    static const DType from[] = {DT_F32, DT_F16, DT_I32, DT_U32, DT_I8, DT_U8, DT_BOOL};
    static const char *const to[] = {"f32", "f16", "bf16", "i32", "u32", "i8", "u8", "bool"};
    for (unsigned f = 0; f < sizeof from / sizeof from[0]; f++)
        for (unsigned t = 0; t < sizeof to / sizeof to[0]; t++) {
            Graph *g = make_empty(4096);
            char type[32], attr[32];
            strcpy(type, "[N, 3] ");
            strcat(type, dtype_name(from[f]));
            strcpy(attr, "dtype=");
            strcat(attr, to[t]);
            ValueId x = make_input(g, "x", type);
            NodeId fused = graph_begin_fused(g, "k", "map", false);
            finish(g, fused, make_op(g, OP_CAST, "c", attr, x, 0, 0), "c");
            int64_t n = 67;
            ProgramCheck check = {.target = "portable", .symbols = &n, .scale = 300};
            program_check(g, &check);
            graph_destroy(g);
        }
}

// Every map op on floats and on integers.
static void every_map_op(void **state) {
    (void)state;
    static const DType types[] = {DT_F32, DT_I32, DT_U32, DT_BOOL};
    unsigned checked = 0;
    for (OpId op = OP_NONE + 1; op < OP_COUNT; op++) {
        const OpInfo *info = op_info(op);
        if (info->class != OC_MAP || info->later || op == OP_CAST || op == OP_NARROW) continue;
        for (unsigned t = 0; t < 4; t++) {
            DTypeClass class = dtype_class(types[t]);
            unsigned set = class == DC_FLOAT ? DS_FLOAT : class == DC_INT ? DS_INT : DS_LOGIC;
            if (!(info->dtypes & set)) continue;
            Graph *g = make_empty(4096);
            char type[32] = "[N, 5] ";
            strcat(type, dtype_name(types[t]));
            ValueId x = make_input(g, "x", op == OP_WHERE ? "[N, 5] bool" : type);
            ValueId y = info->operands > 1 ? make_input(g, "y", type) : 0;
            ValueId z = info->operands > 2 ? make_input(g, "z", type) : 0;
            NodeId fused = graph_begin_fused(g, "k", "map", false);
            finish(g, fused, make_op(g, op, "v", NULL, x, y, z), "v");
            int64_t n = 61;
            ProgramCheck check = {.target = "portable", .symbols = &n, .tolerance = 2e-6};
            program_check(g, &check);
            graph_destroy(g);
            checked++;
        }
    }
    assert_true(checked >= 50);
}

// A result in f16 rounds where it is stored, and not where the kernel goes on with it.
static void narrow(void **state) {
    (void)state;
    int64_t n = 61;
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[N, 5] f32"), y = make_input(g, "y", "[N, 5] f16");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    finish(g, fused, make_op(g, OP_NARROW, "v", "dtype=f16", x, 0, 0), "v");
    ProgramCheck stored = {.target = "portable", .symbols = &n};
    program_check(g, &stored);
    fused = graph_begin_fused(g, "k2", "map", false);
    ValueId v = make_op(g, OP_NARROW, "w", "dtype=f16", x, 0, 0);
    v = make_op(g, OP_SUBTRACT, "d", NULL, v, y, 0);
    finish(g, fused, make_op(g, OP_CAST, "e", "dtype=f32", v, 0, 0), "e");
    ProgramCheck kept = {.target = "portable", .symbols = &n, .tolerance = 2e-6};
    program_check(g, &kept);
    graph_destroy(g);
}

static void past_the_grid_limit(void **state) {
    (void)state;
    Graph *g = graph_create("m");
    dim_symbol(g->dims, "N", 1, 1 << 30);
    ValueId x = make_input(g, "x", "[N, 4, 3] f32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId y = make_view(g, OP_TRANSPOSE, "a=1, b=2", x);
    finish(g, fused, make_op(g, OP_NEGATIVE, "v", NULL, y, 0, 0), "v");
    int64_t n = 301;
    ProgramCheck check = {.target = "portable", .symbols = &n};
    program_check(g, &check);
    graph_destroy(g);
}

static void in_place_update(void **state) {
    (void)state;
    Graph *g = make_empty(4096);
    Type type = make_type(g, "[6, 8] f32");
    Decl decl = {.key = "s", .fill = 0.5};
    NodeSpec spec = {.op = OP_STATE, .type = &type, .decl = &decl, .name = "s"};
    Diags *diags = diags_create();
    ValueId s = graph_result(g, graph_add(g, diags, &spec), 0);
    ValueId x = make_input(g, "x", "[8] f32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId y = make_op(g, OP_NEGATIVE, "y", NULL, x, 0, 0);
    ValueId u = make_op(g, OP_UPDATE, "u", "starts=[1, 0], stops=[5, 8], steps=[2, 1]", s, y, 0);
    graph_end_fused(g, fused, &u, 1);
    g->stage = STAGE_FUSED;
    int64_t n = 1;
    ProgramCheck check = {.target = "portable", .symbols = &n};
    program_check(g, &check);
    diags_destroy(diags);
    graph_destroy(g);
}

// What each form of a turned operand gives under small tiles, on all sizes.
static void check_tiles(Graph *g, const Schedule *tiles, unsigned count) {
    for (unsigned t = 0; t < count; t++)
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            Schedule tile = tiles[t];
            ProgramCheck check = {
                .target = targets[t % 3], .symbols = &sizes[i], .tolerance = 1e-6, .force = &tile};
            program_check(g, &check);
        }
    graph_destroy(g);
}

static void tiles(void **state) {
    (void)state;
    static const Schedule odd[] = {
        {.form = "tile", .local = 64, .tile_m = 8, .tile_n = 16, .vec = 1},
        {.form = "tile", .local = 32, .tile_m = 32, .tile_n = 8, .vec = 1},
    };
    static const Schedule even[] = {
        {.form = "tile", .local = 32, .tile_m = 16, .tile_n = 16, .vec = 4},
        {.form = "tile", .local = 64, .tile_m = 16, .tile_n = 8, .vec = 2},
    };
    Graph *g = make_empty(4096);
    ValueId x = make_input(g, "x", "[5, N] f32"), y = make_input(g, "y", "[N, 5] f32");
    NodeId fused = graph_begin_fused(g, "k", "map", false);
    ValueId turned = make_view(g, OP_TRANSPOSE, "a=0, b=1", x);
    finish(g, fused, make_op(g, OP_SUBTRACT, "d", NULL, turned, y, 0), "d");
    check_tiles(g, odd, 2);
    g = make_empty(4096); // a copy, an outer axis, vectors
    x = make_input(g, "x", "[3, 4 * N, 12] f16");
    fused = graph_begin_fused(g, "k", "map", false);
    finish(g, fused, make_op(g, OP_PERMUTE_DIMS, "p", "axes=[0, 2, 1]", x, 0, 0), "p");
    check_tiles(g, even, 2);
    g = make_empty(
        4096); // a run of two axes, a row that spreads, two turned operands of different types
    x = make_input(g, "x", "[2, N, 3, 8] f32"), y = make_input(g, "y", "[8, 1, 1] f32");
    ValueId z = make_input(g, "z", "[2, N, 3, 8] bool");
    fused = graph_begin_fused(g, "k", "map", false);
    ValueId nchw = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 3, 1, 2]", x);
    ValueId mask = make_view(g, OP_PERMUTE_DIMS, "axes=[0, 3, 1, 2]", z);
    ValueId sum = make_op(g, OP_ADD, "s", NULL, nchw, y, 0);
    finish(g, fused, make_op(g, OP_WHERE, "w", NULL, mask, sum, y), "w");
    check_tiles(g, odd, 2);
    g = make_empty(4096); // slices, a flip and padding on the way
    x = make_input(g, "x", "[9, N + 2] i32");
    fused = graph_begin_fused(g, "k", "map", false);
    ValueId part = make_view(g, OP_SLICE, "starts=[1, 1], stops=[9, N + 1], steps=[2, 1]", x);
    ValueId padded = make_view(g, OP_PAD, "widths=[[1, 0], [2, 1]], value=7", part);
    ValueId flipped = make_view(g, OP_FLIP, "axis=1", padded);
    turned = make_view(g, OP_TRANSPOSE, "a=0, b=1", flipped);
    finish(g, fused, make_op(g, OP_NEGATIVE, "n", NULL, turned, 0, 0), "n");
    check_tiles(g, odd, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous),      cmocka_unit_test(broadcast_row_and_column),
        cmocka_unit_test(transposed),      cmocka_unit_test(sliced_and_padded),
        cmocka_unit_test(copies),          cmocka_unit_test(half_precision),
        cmocka_unit_test(several_results), cmocka_unit_test(sources),
        cmocka_unit_test(casts),           cmocka_unit_test(every_map_op),
        cmocka_unit_test(narrow),          cmocka_unit_test(past_the_grid_limit),
        cmocka_unit_test(in_place_update), cmocka_unit_test(tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
