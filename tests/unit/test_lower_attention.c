// Family "attention" on the interpreter, against the evaluator: the forms by force at sizes around
// their tiles, with masks, groups of heads, windows and caps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/spirv.h"
#include "tests/support/graph_make.h"
#include "tests/support/program_run.h"

typedef struct Form {
    const char *target;
    Schedule schedule;
} Form;

#define FLASH(stages_, lazy_, apart_, keys_, down_)                                                \
    {                                                                                              \
        "h200", {                                                                                  \
            .form = "coop", .local = 64, .subgroup = 32, .frag_m = 16, .frag_n = 16, .frag_k = 16, \
            .warp_m = 16 * (down_), .tile_m = 32 * (down_), .tile_n = (keys_),                     \
            .stages = (stages_), .lazy = (lazy_), .apart = (apart_)                                \
        }                                                                                          \
    }

#define FLASH8(stages_, lazy_, apart_, keys_, down_)                                               \
    {                                                                                              \
        "lavapipe-debian13", {                                                                     \
            .form = "coop", .local = 16, .subgroup = 8, .frag_m = 8, .frag_n = 8, .frag_k = 8,     \
            .warp_m = 8 * (down_), .tile_m = 16 * (down_), .tile_n = (keys_), .stages = (stages_), \
            .lazy = (lazy_), .apart = (apart_)                                                     \
        }                                                                                          \
    }
static const Form flash[] = {FLASH(1, 0, 0, 32, 1), FLASH(1, 2, 1, 16, 2),  FLASH(2, 0, 1, 16, 1),
                             FLASH(2, 1, 0, 32, 1), FLASH(3, 0, 0, 16, 1),  FLASH(3, 1, 1, 32, 2),
                             FLASH(1, 2, 0, 32, 1), FLASH8(1, 1, 1, 16, 1), FLASH8(2, 2, 0, 8, 2)};
#define SIMT(target_, local_, rows_, keys_, reg_m_, reg_n_, columns_)                              \
    {                                                                                              \
        (target_), {                                                                               \
            .form = "simt", .local = (local_), .tile_m = (rows_), .tile_n = (keys_),               \
            .tile_k = (columns_), .reg_m = (reg_m_), .reg_n = (reg_n_)                             \
        }                                                                                          \
    }
static const Form simt[] = {
    SIMT("portable", 64, 32, 32, 4, 4, 8), SIMT("h200", 64, 8, 16, 1, 2, 32),
    SIMT("portable", 32, 1, 32, 1, 1, 16), SIMT("h200", 32, 32, 12, 4, 3, 40)};
#define SPLIT(target_, subgroup_, local_, keys_, rows_, lanes_)                                    \
    {                                                                                              \
        (target_), {                                                                               \
            .form = "split", .local = (local_), .subgroup = (subgroup_), .tile_m = (rows_),        \
            .tile_n = (keys_), .lanes = (lanes_)                                                   \
        }                                                                                          \
    }
static const Form split[] = {
    SPLIT("h200", 32, 64, 32, 1, 8),
    SPLIT("h200", 32, 128, 64, 3, 16),
    SPLIT("h200", 32, 64, 32, 8, 32),
    SPLIT("lavapipe-debian12", 8, 32, 32, 2, 8),
    SPLIT("lavapipe-debian12", 8, 64, 32, 4, 4),
};
enum { SPLIT_FORMS = sizeof split / sizeof split[0] };
enum { FLASH_FORMS = sizeof flash / sizeof flash[0], SIMT_FORMS = sizeof simt / sizeof simt[0] };

typedef struct Case {
    const char *q, *k, *v, *mask, *attrs;
} Case;

// Dims: N rows, S keys.
static Graph *attention(const Case *c) {
    Graph *g = graph_create("m");
    assert_int_not_equal(dim_symbol(g->dims, "N", 1, 300), DIM_NONE);
    assert_int_not_equal(dim_symbol(g->dims, "S", 1, 300), DIM_NONE);
    ValueId x[4] = {make_input(g, "q", c->q), make_input(g, "k", c->k), make_input(g, "v", c->v)};
    if (c->mask) x[3] = make_input(g, "mask", c->mask);
    NodeId fused = graph_begin_fused(g, "a", "attention", false);
    NodeId node = make_node(g, NULL, OP_ATTENTION, "y", c->attrs, x, c->mask ? 4 : 3);
    assert_int_not_equal(node, 0);
    ValueId value = graph_node(g, node)->result[0];
    graph_end_fused(g, fused, &value, 1);
    graph_add_output(g, "o", NULL, value, (Loc){0});
    g->stage = STAGE_FUSED;
    return g;
}

static void check(const Case *c, const Form *form, const int64_t *sizes, double tolerance) {
    Graph *g = attention(c);
    Schedule copy = form->schedule;
    ProgramCheck run = {.target = form->target,
                        .symbols = sizes,
                        .tolerance = tolerance,
                        .scale = 2,
                        .force = &copy};
    const Program *program = program_check(g, &run);
    for (uint32_t i = 0; i < program->kernels.len; i++) {
        SpirvModuleInfo module = spirv_emit(g->arena, program->kernels.at[i], &(SpirvOptions){0});
        assert_true(module.count > 100);
    }
    graph_destroy(g);
}

static const int64_t lengths[][2] = {{1, 1}, {33, 50}, {40, 17}, {64, 64}};

static const Case halves[] = {
    {"[2, N, 32] f16", "[2, S, 32] f16", "[2, S, 16] f16", NULL, NULL},
    {"[2, 4, N, 24] f16", "[2, 2, S, 24] f16", "[2, 2, S, 24] f16", NULL,
     "is_causal=true, enable_gqa=true"},
    {"[N, 20] f16", "[S, 20] f16", "[S, 9] f16", "[N, S] bool", NULL},
    {"[2, N, 16] f16", "[2, S, 16] f16", "[2, S, 16] f16", "[2, 1, S] f16", "scale=-0.5"},
    {"[N, 16] f16", "[S, 16] f16", "[S, 16] f16", NULL, "window=5, is_causal=true"},
    {"[N, 16] f16", "[S, 16] f16", "[S, 16] f16", NULL, "window=20, softcap=2.0"},
};
static const Case floats[] = {
    {"[3, N, 40] f32", "[3, S, 40] f32", "[3, S, 12] f32", NULL, "is_causal=true"},
    {"[6, N, 7] f32", "[2, S, 7] f32", "[2, S, 5] f32", "[N, S] bool", "enable_gqa=true"},
};
enum { FLOATS = sizeof floats / sizeof floats[0] };
enum { HALVES = sizeof halves / sizeof halves[0] };

static void fragments(void **state) {
    (void)state;
    for (unsigned c = 0; c < HALVES; c++)
        for (unsigned f = 0; f < FLASH_FORMS; f++)
            for (unsigned i = 0; i < 4; i++)
                if ((c + f + i) % 3 == 0) check(&halves[c], &flash[f], lengths[i], 2e-3);
}

static void splits(void **state) {
    static const int64_t few[][2] = {{1, 1}, {5, 50}, {9, 17}, {2, 64}};
    (void)state;
    for (unsigned c = 0; c < HALVES + FLOATS; c++)
        for (unsigned f = 0; f < SPLIT_FORMS; f++)
            for (unsigned i = 0; i < 4; i++)
                if ((c + f + i) % 3 == 0)
                    check(c < HALVES ? &halves[c] : &floats[c - HALVES], &split[f], few[i],
                          c < HALVES ? 2e-3 : 2e-5);
}

static void scalars(void **state) {
    (void)state;
    for (unsigned c = 0; c < HALVES; c++)
        for (unsigned i = 0; i < 4; i++)
            check(&halves[c], &simt[(c + i) % SIMT_FORMS], lengths[i], 2e-3);
    for (unsigned c = 0; c < FLOATS; c++)
        for (unsigned i = 0; i < 4; i++)
            check(&floats[c], &simt[(c + i) % SIMT_FORMS], lengths[i], 2e-5);
}

static void bf16(void **state) {
    (void)state;
    Case c = {"[2, N, 32] bf16", "[2, S, 32] bf16", "[2, S, 32] bf16", NULL, "is_causal=true"};
    check(&c, &flash[0], lengths[1], 2e-2);
    check(&c, &flash[5], lengths[2], 2e-2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments),
        cmocka_unit_test(splits),
        cmocka_unit_test(scalars),
        cmocka_unit_test(bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
