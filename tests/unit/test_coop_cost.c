// The cost of form "coop" against times measured on an H200 (2026-11-30, driver 580.159,
// microseconds, all tiles beginning at the same place along K): what it would choose is nearly the
// fastest.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "passes/coop_cost.h"
#include "tests/support/graph_make.h"

enum { TIMES = 12, UNITS = 132 };

typedef struct Time {
    unsigned tile_m, tile_n, tile_k, warp_m, warp_n, stages;
    double us; // 0: no more
} Time;

typedef struct Measured {
    int64_t m, n, k;
    DType dtype;
    bool k_fast; // the second operand is [N, K]
    Time time[TIMES];
} Measured;

// clang-format off
static const Measured measured[] = {
    {4096, 4096, 4096, DT_F16, true,
     {{128, 128, 32, 64, 64, 1, 504.864},
      {256, 128, 16, 64, 64, 2, 514.56},
      {128, 256, 16, 64, 64, 2, 524.198},
      {128, 256, 32, 64, 64, 1, 532},
      {128, 128, 64, 64, 32, 1, 567.616},
      {64, 256, 64, 32, 64, 1, 608.864},
      {128, 128, 32, 64, 32, 1, 686.432},
      {128, 64, 64, 32, 32, 1, 756},
      {128, 64, 64, 32, 64, 1, 788.672},
      {64, 64, 64, 32, 64, 1, 797.248},
      {64, 64, 16, 32, 32, 2, 857.248},
      {64, 128, 16, 32, 64, 2, 897.056}}},
    {1024, 1024, 1024, DT_F16, true,
     {{128, 64, 64, 32, 64, 1, 12.363},
      {128, 64, 64, 64, 32, 1, 12.636},
      {64, 128, 64, 32, 64, 1, 12.648},
      {64, 128, 64, 32, 32, 1, 12.912},
      {128, 64, 64, 32, 32, 1, 13.018},
      {64, 64, 64, 32, 32, 1, 13.651},
      {64, 64, 16, 32, 32, 2, 15.975},
      {32, 128, 128, 32, 32, 1, 16.598},
      {128, 128, 64, 64, 32, 1, 17.483},
      {64, 256, 64, 32, 64, 1, 19.13},
      {128, 128, 32, 64, 64, 1, 20.899},
      {128, 128, 32, 64, 32, 1, 22.396}}},
    {512, 1024, 1024, DT_F16, true,
     {{64, 64, 128, 32, 32, 1, 8.373},
      {64, 64, 64, 32, 32, 1, 8.541},
      {32, 128, 128, 32, 32, 1, 9.078},
      {64, 64, 128, 16, 32, 1, 9.124},
      {64, 64, 64, 32, 64, 1, 10.32},
      {128, 64, 64, 32, 64, 1, 11.872},
      {128, 64, 64, 64, 32, 1, 12.269},
      {128, 64, 64, 32, 32, 1, 12.388},
      {16, 128, 128, 16, 32, 1, 13.903},
      {128, 128, 64, 64, 32, 1, 17.339},
      {64, 256, 64, 32, 64, 1, 18.912},
      {128, 128, 16, 64, 32, 2, 21.814}}},
    {512, 11008, 4096, DT_F16, true,
     {{128, 128, 64, 64, 32, 1, 220.768},
      {128, 128, 64, 32, 64, 1, 223.2},
      {64, 256, 64, 32, 64, 1, 235.264},
      {128, 128, 32, 64, 64, 1, 235.552},
      {128, 128, 16, 64, 32, 2, 255.52},
      {128, 256, 16, 64, 64, 2, 273.216},
      {128, 128, 32, 64, 32, 1, 293.792},
      {128, 64, 64, 32, 32, 1, 306.176},
      {128, 64, 64, 64, 32, 1, 313.184},
      {64, 128, 64, 32, 64, 1, 316.128},
      {64, 64, 16, 32, 32, 2, 339.552},
      {64, 128, 16, 32, 64, 2, 377.696}}},
    {512, 4096, 11008, DT_F16, true,
     {{128, 128, 64, 32, 64, 1, 184.048},
      {128, 128, 64, 64, 32, 1, 192.32},
      {64, 256, 64, 32, 64, 1, 193.632},
      {128, 128, 16, 64, 32, 2, 203.04},
      {128, 128, 32, 64, 32, 1, 229.376},
      {128, 64, 64, 32, 32, 1, 256.16},
      {128, 64, 64, 64, 32, 1, 266.208},
      {128, 128, 32, 64, 64, 1, 270.144},
      {64, 128, 64, 32, 64, 1, 271.552},
      {64, 128, 16, 32, 64, 2, 308.544},
      {128, 256, 16, 64, 64, 2, 330.016},
      {128, 256, 32, 64, 64, 1, 344.128}}},
    {768, 3072, 768, DT_F16, true,
     {{64, 64, 64, 32, 32, 1, 27.384},
      {128, 128, 32, 64, 64, 1, 27.868},
      {64, 64, 64, 32, 64, 1, 29.728},
      {128, 256, 16, 64, 64, 2, 30.656},
      {64, 64, 128, 32, 32, 1, 30.834},
      {128, 128, 64, 64, 32, 1, 31.045},
      {128, 128, 64, 32, 64, 1, 31.291},
      {64, 128, 64, 32, 32, 1, 31.392},
      {128, 64, 64, 32, 64, 1, 31.525},
      {64, 256, 64, 32, 64, 1, 33.381},
      {32, 128, 128, 32, 32, 1, 33.488},
      {128, 128, 16, 64, 32, 2, 40.717}}},
    {4096, 4096, 4096, DT_F16, false,
     {{128, 256, 16, 64, 64, 2, 456.064},
      {128, 128, 32, 64, 64, 1, 490.048},
      {128, 256, 32, 64, 64, 1, 495.424},
      {128, 128, 64, 64, 32, 1, 570.656},
      {64, 64, 64, 32, 32, 1, 732.32},
      {64, 128, 64, 32, 32, 1, 773.92},
      {128, 64, 64, 32, 64, 1, 800.864},
      {128, 64, 64, 64, 32, 1, 801.216},
      {64, 64, 128, 32, 32, 1, 937.728}}},
    {1024, 1024, 1024, DT_F16, false,
     {{128, 64, 64, 32, 64, 1, 12.38},
      {128, 64, 64, 64, 32, 1, 12.718},
      {64, 128, 64, 32, 32, 1, 12.952},
      {64, 64, 64, 32, 32, 1, 13.683},
      {64, 64, 128, 32, 32, 1, 15.143},
      {128, 128, 64, 64, 32, 1, 17.632},
      {128, 128, 32, 64, 64, 1, 20.076},
      {128, 256, 16, 64, 64, 2, 27.264},
      {128, 256, 32, 64, 64, 1, 30.167}}},
    {512, 1024, 1024, DT_F16, false,
     {{64, 64, 128, 32, 32, 1, 8.291},
      {64, 64, 64, 32, 32, 1, 8.603},
      {128, 64, 64, 32, 64, 1, 11.889},
      {128, 64, 64, 64, 32, 1, 12.337},
      {64, 128, 64, 32, 32, 1, 12.36},
      {128, 128, 64, 64, 32, 1, 17.408},
      {128, 128, 32, 64, 64, 1, 19.933},
      {128, 256, 16, 64, 64, 2, 27.084},
      {128, 256, 32, 64, 64, 1, 30.071}}},
    {512, 11008, 4096, DT_F16, false,
     {{128, 128, 64, 64, 32, 1, 220},
      {128, 256, 16, 64, 64, 2, 224.096},
      {128, 128, 32, 64, 64, 1, 225.472},
      {128, 256, 32, 64, 64, 1, 253.568},
      {64, 64, 64, 32, 32, 1, 283.488},
      {64, 128, 64, 32, 32, 1, 311.008},
      {128, 64, 64, 32, 64, 1, 314.496},
      {128, 64, 64, 64, 32, 1, 317.6},
      {64, 64, 128, 32, 32, 1, 364.288}}},
    {512, 4096, 11008, DT_F16, false,
     {{128, 128, 64, 64, 32, 1, 190.112},
      {128, 256, 16, 64, 64, 2, 268.832},
      {128, 128, 32, 64, 64, 1, 275.936},
      {64, 128, 64, 32, 32, 1, 257.12},
      {128, 256, 32, 64, 64, 1, 316.352},
      {128, 64, 64, 64, 32, 1, 267.104},
      {128, 64, 64, 32, 64, 1, 267.808},
      {64, 64, 128, 32, 32, 1, 314.784},
      {64, 64, 64, 32, 32, 1, 245.248}}},
    {4096, 4096, 4096, DT_I8, true,
     {{128, 128, 64, 64, 64, 1, 258.016},
      {256, 128, 32, 64, 64, 2, 270.688},
      {128, 128, 128, 64, 32, 1, 270.752},
      {128, 256, 32, 64, 64, 2, 274.016},
      {128, 256, 64, 64, 64, 1, 274.656},
      {64, 128, 128, 32, 32, 1, 344.064},
      {64, 64, 128, 32, 32, 1, 360.128}}},
    {4096, 4096, 4096, DT_I8, false,
     {{128, 128, 64, 64, 64, 1, 279.2},
      {128, 256, 32, 64, 64, 2, 294.464},
      {256, 128, 32, 64, 64, 2, 294.816},
      {128, 128, 128, 64, 32, 1, 295.072},
      {128, 256, 64, 64, 64, 1, 297.856},
      {64, 128, 128, 32, 32, 1, 367.008},
      {64, 64, 128, 32, 32, 1, 378.56}}},
    {1024, 1024, 1024, DT_I8, true,
     {{64, 128, 128, 32, 32, 1, 7.46},
      {64, 64, 128, 32, 32, 1, 8.027},
      {128, 128, 128, 64, 32, 1, 10.4},
      {128, 128, 64, 64, 64, 1, 11.468},
      {128, 256, 64, 64, 64, 1, 17.067},
      {256, 128, 32, 64, 64, 2, 18.868},
      {128, 256, 32, 64, 64, 2, 19.11}}},
};
// clang-format on

static Schedule schedule_of(const Time *t, DType dtype) {
    Schedule s = {.form = "coop", .subgroup = 32, .frag_m = 16, .frag_n = 16, .frag_k = 16};
    if (dtype == DT_I8) s.frag_k = 32;
    s.tile_m = t->tile_m, s.tile_n = t->tile_n, s.tile_k = t->tile_k;
    s.warp_m = t->warp_m, s.warp_n = t->warp_n, s.stages = t->stages;
    s.local = s.tile_m / s.warp_m * (s.tile_n / s.warp_n) * s.subgroup;
    s.unroll = s.stages > 1 ? 16 : 0;
    return s;
}

static CoopShape shape_of(Graph *g, const Measured *one) {
    char text[2][64];
    snprintf(text[0], sizeof text[0], "[%d, %d] %s", (int)one->m, (int)one->k,
             dtype_name(one->dtype));
    snprintf(text[1], sizeof text[1], "[%d, %d] %s", (int)(one->k_fast ? one->n : one->k),
             (int)(one->k_fast ? one->k : one->n), dtype_name(one->dtype));
    ValueId x = make_input(g, "x", text[0]), y = make_input(g, "y", text[1]);
    NodeId fused = graph_begin_fused(g, "k", "contract", false);
    if (!one->k_fast) y = make_view(g, OP_TRANSPOSE, "a=0, b=1", y);
    ValueId value = make_op(g, OP_CONTRACT, "c", NULL, x, y, 0);
    graph_end_fused(g, fused, &value, 1);
    graph_add_output(g, "o", NULL, value, (Loc){0});
    g->stage = STAGE_FUSED;
    CoopShape shape;
    assert_true(coop_shape(g, fused, &shape));
    return shape;
}

static void choices_are_fast(void **state) {
    (void)state;
    double regret = 0;
    const unsigned count = sizeof measured / sizeof measured[0];
    for (unsigned i = 0; i < count; i++) {
        const Measured *one = &measured[i];
        Graph *g = graph_create("m");
        CoopShape shape = shape_of(g, one);
        CoopSizes size = {1, (double)one->m, (double)one->n, (double)one->k};
        double fastest = one->time[0].us, least = 0, chosen = 0;
        for (unsigned t = 0; t < TIMES && one->time[t].us > 0; t++) {
            Schedule s = schedule_of(&one->time[t], one->dtype);
            CoopCost cost;
            assert_true(coop_cost(&shape, &s, size, UNITS, &cost));
            double us = one->time[t].us, thought = cost.cycles / 1980 + 1.4;
            assert_true(thought > 0.6 * us && thought < 1.6 * us);
            if (us < fastest) fastest = us;
            if (t == 0 || cost.cycles < least) least = cost.cycles, chosen = us;
        }
        assert_true(chosen <= 1.15 * fastest);
        regret += chosen / fastest - 1;
        graph_destroy(g);
    }
    assert_true(regret / count < 0.05);
}

// With the dispatch that sums the parts: 20 bytes a cycle of each unit.
static double parts_cost(const CoopShape *shape, const Schedule *s, CoopSizes size) {
    CoopCost cost;
    assert_true(coop_cost(shape, s, size, UNITS, &cost));
    double sums = 3200 + 8.0 * s->split_k * size.m * size.n / (UNITS * 20);
    return cost.cycles + (s->split_k ? sums : 0);
}

// The same with tiles that begin at different places along K, and K in parts; second operand [K,
// N].
static void long_sums_are_fast(void **state) {
    (void)state;
    static const struct {
        int64_t n, k;
        struct {
            Time time;
            unsigned split_k, stagger;
        } list[6];
    } rows512[] = {
        {3584,
         3584,
         {{{128, 128, 64, 32, 64, 1, 62.024}, 0, 8},
          {{64, 256, 64, 32, 64, 1, 63.480}, 0, 8},
          {{128, 128, 32, 64, 64, 1, 75.605}, 2, 8},
          {{128, 256, 32, 64, 64, 1, 85.248}, 2, 8}}},
        {4096,
         11008,
         {{{128, 128, 64, 32, 64, 1, 172.336}, 0, 4},
          {{128, 128, 32, 64, 64, 1, 194.944}, 2, 4},
          {{128, 128, 32, 64, 64, 1, 206.912}, 4, 2},
          {{128, 256, 32, 64, 64, 1, 219.232}, 2, 4},
          {{128, 256, 32, 64, 64, 1, 238.784}, 4, 2}}},
        {4608,
         3584,
         {{{128, 128, 64, 32, 64, 1, 110.816}, 2, 4},
          {{128, 128, 64, 32, 64, 1, 117.584}, 0, 8},
          {{128, 128, 32, 64, 64, 1, 119.616}, 0, 16},
          {{128, 128, 32, 64, 64, 1, 131.248}, 2, 8},
          {{64, 64, 64, 32, 64, 1, 175.440}, 0, 8}}},
    };
    for (unsigned i = 0; i < sizeof rows512 / sizeof *rows512; i++) {
        Measured one = {512, rows512[i].n, rows512[i].k, DT_F16, false, {{0}}};
        Graph *g = graph_create("m");
        CoopShape shape = shape_of(g, &one);
        double least = 0, chosen = 0, fastest = rows512[i].list[0].time.us;
        for (unsigned t = 0; t < 6 && rows512[i].list[t].time.us > 0; t++) {
            Schedule s = schedule_of(&rows512[i].list[t].time, DT_F16);
            s.split_k = rows512[i].list[t].split_k, s.stagger = rows512[i].list[t].stagger;
            double cycles = parts_cost(&shape, &s, (CoopSizes){1, 512, one.n, one.k});
            if (t == 0 || cycles < least) least = cycles, chosen = rows512[i].list[t].time.us;
        }
        assert_true(chosen <= 1.09 * fastest);
        graph_destroy(g);
    }
}

// Few rows, K in parts, loads one or two steps ahead; operands from memory (2026-12-01).
static void parts_are_fast(void **state) {
    (void)state;
    // clang-format off
    static const struct { // the fastest of a shape first
        int64_t m, n, k;
        Time time;
        unsigned split_k, stagger, ahead;
    } few[] = {
        {128, 4096, 4096, {128, 128, 64, 32, 64, 1, 29.326}, 4, 8, 2},
        {128, 4096, 4096, {128, 128, 64, 32, 64, 1, 32.069}, 4, 16, 1},
        {128, 4096, 4096, {128, 128, 32, 64, 64, 1, 36.341}, 8, 16, 1},
        {64, 4096, 4096, {64, 256, 64, 32, 64, 1, 21.434}, 8, 4, 2},
        {64, 4096, 4096, {64, 128, 64, 32, 32, 1, 22.361}, 4, 8, 2},
        {64, 4096, 4096, {64, 256, 64, 32, 64, 1, 23.371}, 8, 8, 1},
        {64, 4096, 4096, {64, 128, 64, 32, 32, 1, 25.988}, 4, 8, 1},
        {64, 4096, 4096, {64, 128, 64, 32, 64, 1, 29.083}, 8, 8, 1},
        {16, 4096, 4096, {16, 64, 128, 16, 16, 1, 14.555}, 4, 0, 2},
        {16, 4096, 4096, {16, 64, 64, 16, 16, 1, 14.841}, 8, 0, 2},
        {16, 4096, 4096, {16, 64, 64, 16, 16, 1, 15.739}, 8, 0, 1},
        {16, 4096, 4096, {16, 64, 128, 16, 16, 1, 15.998}, 4, 0, 1},
        {16, 4096, 4096, {16, 128, 128, 16, 32, 1, 17.136}, 4, 8, 1},
        {16, 4096, 4096, {16, 64, 128, 16, 16, 1, 16.460}, 8, 0, 2},
        {16, 4096, 4096, {16, 128, 128, 16, 32, 1, 17.504}, 8, 0, 2},
        {16, 4096, 4096, {16, 32, 128, 16, 16, 1, 17.683}, 4, 0, 2},
        {128, 4096, 11008, {128, 128, 64, 32, 64, 1, 62.248}, 4, 0, 2},
        {128, 4096, 11008, {128, 128, 64, 32, 64, 1, 69.749}, 4, 0, 1},
        {128, 4096, 11008, {128, 128, 32, 64, 64, 1, 73.387}, 8, 0, 1},
        {128, 4096, 11008, {128, 256, 32, 64, 64, 1, 82.037}, 8, 0, 1},
        {256, 4096, 4096, {128, 128, 64, 32, 64, 1, 48.563}, 2, 8, 2},
        {256, 4096, 4096, {128, 128, 64, 32, 64, 1, 52.400}, 2, 8, 1},
        {256, 4096, 4096, {128, 128, 32, 64, 64, 1, 53.624}, 4, 32, 1},
        {256, 4096, 4096, {128, 256, 32, 64, 64, 1, 59.272}, 4, 32, 1},
        {197, 768, 3072, {128, 128, 64, 32, 64, 1, 14.613}, 8, 0, 2},
        {197, 768, 3072, {128, 128, 64, 32, 64, 1, 14.880}, 8, 2, 1},
        {197, 768, 3072, {128, 128, 64, 32, 64, 1, 15.697}, 8, 0, 1},
        {197, 768, 3072, {64, 64, 64, 32, 32, 1, 17.227}, 8, 2, 1},
    };
    // clang-format on
    const unsigned count = sizeof few / sizeof *few;
    for (unsigned first = 0, i = 0; first < count; first = i) {
        Measured one = {few[first].m, few[first].n, few[first].k, DT_F16, true, {{0}}};
        CoopSizes size = {1, (double)one.m, (double)one.n, (double)one.k};
        Graph *g = graph_create("m");
        CoopShape shape = shape_of(g, &one);
        double least = INFINITY, chosen = 0;
        for (; i < count && few[i].m == one.m && few[i].n == one.n && few[i].k == one.k; i++) {
            Schedule s = schedule_of(&few[i].time, DT_F16);
            s.split_k = few[i].split_k, s.stagger = few[i].stagger, s.ahead = few[i].ahead;
            double cycles = parts_cost(&shape, &s, size);
            if (cycles < least) least = cycles, chosen = few[i].time.us;
        }
        assert_true(chosen <= 1.05 * few[first].time.us);
        graph_destroy(g);
    }
}

// Tiles that run at a time lie in a rectangle; small grids need no order.
static void rasters(void **state) {
    (void)state;
    Schedule s = {.tile_m = 128, .tile_n = 256};
    CoopCost cost = {.together = 1};
    assert_int_equal(coop_raster(&cost, &s, (CoopSizes){1, 8192, 8192, 64}, UNITS), 16);
    assert_int_equal(coop_raster(&cost, &s, (CoopSizes){1, 512, 11008, 64}, UNITS), 4);
    assert_int_equal(coop_raster(&cost, &s, (CoopSizes){1, 1024, 1024, 64}, UNITS), 0);
    assert_int_equal(coop_raster(&cost, &s, (CoopSizes){1, 128, 65536, 64}, UNITS), 0);
    s.tile_m = 256, s.tile_n = 128;
    assert_int_equal(coop_raster(&cost, &s, (CoopSizes){1, 8192, 8192, 64}, UNITS), 8);
}

static void staggers(void **state) {
    (void)state;
    static const struct {
        int64_t k;
        unsigned tile_k, stages, split_k, stagger;
    } list[] = {{4096, 16, 2, 0, 8},  {4096, 32, 1, 0, 32}, {11008, 16, 2, 0, 0},
                {11008, 64, 1, 0, 4}, {4096, 16, 2, 4, 4},  {100, 16, 1, 0, 0},
                {96, 16, 1, 0, 0},    {2048, 16, 2, 0, 0},  {1024, 64, 1, 0, 0},
                {1024, 64, 1, 2, 8}};
    for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
        Graph *g = graph_create("m");
        Measured one = {1024, 1024, list[i].k, DT_F16, true, {{0}}};
        CoopShape shape = shape_of(g, &one);
        Time time = {128, 256, list[i].tile_k, 64, 64, list[i].stages, 0};
        Schedule s = schedule_of(&time, DT_F16);
        s.split_k = list[i].split_k;
        assert_int_equal(coop_stagger(g->dims, &shape, &s, (double)list[i].k), list[i].stagger);
        graph_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_fast), cmocka_unit_test(long_sums_are_fast),
        cmocka_unit_test(parts_are_fast),   cmocka_unit_test(rasters),
        cmocka_unit_test(staggers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
