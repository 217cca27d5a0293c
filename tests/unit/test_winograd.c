// Winograd's convolution: the matrices, the pass, the kernels of family "transform" on the
// interpreter, the choice, and errors against those of the direct form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "ir/number.h"
#include "ir/winograd.h"
#include "tests/support/pass_run.h"
#include "tests/support/program_run.h"

// y[i] = sum over k of g[k] d[i + k] for integers, by both ways.
static void test_filters(void **state) {
    (void)state;
    for (unsigned tile = 2; tile <= 6; tile += 2) {
        Winograd w;
        assert_true(winograd_matrices(tile, &w));
        assert_int_equal(w.size, tile + 2);
        for (unsigned from = 0; from < w.size; from++)
            for (unsigned tap = 0; tap < 3; tap++)
                for (unsigned i = 0; i < tile; i++) { // d and g one at one place each
                    double sum = 0;
                    for (unsigned row = 0; row < w.size; row++)
                        sum += w.output[i][row] * w.weight[row][tap] * w.input[row][from];
                    assert_true(fabs(sum - (i + tap == from)) < 1e-14);
                }
        for (unsigned row = 0; row < w.size; row++) {
            double sum = 0;
            for (unsigned i = 0; i < w.size; i++) sum += fabs(w.input[row][i]);
            assert_true(sum <= 1 && sum > 0.5);
        }
    }
    Winograd w;
    assert_false(winograd_matrices(3, &w));
    assert_false(winograd_matrices(8, &w));
}

// A and B of F(2) and F(4) are exact in f16 and bf16.
static void test_exact(void **state) {
    (void)state;
    for (unsigned tile = 2; tile <= 4; tile += 2) {
        Winograd w;
        winograd_matrices(tile, &w);
        for (unsigned i = 0; i < w.size; i++)
            for (unsigned k = 0; k < w.size; k++) {
                assert_true(number_cast(DT_F16, w.input[i][k]) == w.input[i][k]);
                if (i < tile) assert_true(number_cast(DT_F16, w.output[i][k]) == w.output[i][k]);
            }
    }
}

// ---- errors by experiment

typedef struct Noise {
    uint64_t state;
} Noise;

static double noise(Noise *n) { // about normal, of variance 1
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        n->state = hash_bytes(n->state, &i, sizeof i);
        sum += (double)(n->state >> 11) * 0x1p-53;
    }
    return sum - 6;
}

// to [out x out] = map [out x in] from [in x in] map'
static void both_axes(double (*map)[WINOGRAD_SIZE_MAX], unsigned out, unsigned in,
                      double from[8][8], double to[8][8]) {
    double half[8][8] = {{0}};
    for (unsigned i = 0; i < out; i++)
        for (unsigned j = 0; j < in; j++)
            for (unsigned k = 0; k < in; k++) half[i][j] += map[i][k] * from[k][j];
    for (unsigned i = 0; i < out; i++)
        for (unsigned j = 0; j < out; j++) {
            to[i][j] = 0;
            for (unsigned k = 0; k < in; k++) to[i][j] += half[i][k] * map[j][k];
        }
}

static void round_all(DType dtype, double x[8][8]) {
    for (unsigned i = 0; i < 64; i++) x[i / 8][i % 8] = number_cast(dtype, x[i / 8][i % 8]);
}

// Root mean square error of F(tile, 3) with intermediates of `dtype`, in that of outputs rounded
// once.
static double measured(unsigned tile, DType dtype, bool wide, unsigned channels, unsigned tiles) {
    Winograd w;
    winograd_matrices(tile, &w);
    Noise n = {tile};
    double own = 0, direct = 0;
    for (unsigned t = 0; t < tiles; t++) {
        double products[8][8] = {{0}}, wanted[8][8] = {{0}}, got[8][8];
        for (unsigned c = 0; c < channels; c++) {
            double d[8][8] = {{0}}, g[8][8] = {{0}}, v[8][8] = {{0}}, u[8][8] = {{0}};
            for (unsigned i = 0; i < 64; i++)
                if (i / 8 < w.size && i % 8 < w.size) d[i / 8][i % 8] = noise(&n);
            for (unsigned i = 0; i < 9; i++) g[i / 3][i % 3] = noise(&n);
            round_all(dtype, d), round_all(dtype, g);
            for (unsigned i = 0; i < tile * tile * 9; i++) {
                unsigned y = i / 9 / tile, x = i / 9 % tile, r = i % 9 / 3, s = i % 3;
                wanted[y][x] += g[r][s] * d[y + r][x + s];
            }
            both_axes(w.input, w.size, w.size, d, v);
            both_axes(w.weight, w.size, 3, g, u);
            round_all(dtype, v), round_all(dtype, u);
            for (unsigned i = 0; i < 64; i++)
                products[i / 8][i % 8] += u[i / 8][i % 8] * v[i / 8][i % 8];
        }
        if (!wide) round_all(dtype, products);
        both_axes(w.output, tile, w.size, products, got);
        for (unsigned i = 0; i < tile * tile; i++) {
            double want = wanted[i / tile][i % tile];
            own += pow(number_cast(dtype, got[i / tile][i % tile]) - want, 2);
            direct += pow(number_cast(dtype, want) - want, 2);
        }
    }
    return sqrt(own / direct);
}

// What winograd_error says is what comes out; the bounds of the automatic choice hold.
static void test_errors(void **state) {
    (void)state;
    static const struct {
        unsigned tile;
        DType dtype;
        bool wide;
        double wanted;
    } cases[] = {{2, DT_F16, false, 3.06},  {2, DT_BF16, false, 3.06}, {2, DT_F16, true, 2.56},
                 {4, DT_F16, false, 8.34},  {4, DT_F16, true, 6.83},   {4, DT_BF16, true, 6.83},
                 {6, DT_F16, false, 35.75}, {6, DT_F16, true, 29.2}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Winograd w;
        winograd_matrices(cases[i].tile, &w);
        double said = winograd_error(&w, 2, cases[i].wide);
        assert_true(fabs(said - cases[i].wanted) < 0.01 * cases[i].wanted);
        double seen = measured(cases[i].tile, cases[i].dtype, cases[i].wide, 16, 200);
        if (fabs(seen - said) > 0.1 * said)
            fail_msg("F(%u, 3) %s%s: %g, not %g", cases[i].tile, dtype_name(cases[i].dtype),
                     cases[i].wide ? " wide" : "", seen, said);
    }
}

// ---- the pass and the kernels

typedef struct Conv {
    int n, channels, outputs, groups, height, width, top, bottom, left, right;
} Conv;

static const Conv convs[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},   {1, 1, 2, 1, 3, 3, 0, 0, 0, 0},
    {2, 3, 4, 1, 4, 8, 1, 1, 1, 1},   {3, 2, 3, 1, 5, 7, 2, 0, 0, 1},
    {1, 17, 5, 1, 13, 6, 1, 1, 1, 1}, {2, 4, 6, 2, 9, 9, 1, 0, 2, 3},
    {1, 6, 3, 3, 8, 12, 2, 2, 2, 2},  {1, 5, 17, 1, 6, 5, 0, 1, 1, 0},
};

static char *conv_text(const Conv *c, const char *dtype, const char *rest) {
    static char text[800];
    snprintf(text, sizeof text,
             "adept 1\nmodel m {\n"
             "    dim N in 1..=4\n"
             "    input x : [N, %d, %d, %d] %s\n"
             "    param w : [%d, %d, 3, 3] %s\n"
             "    param bias : [%d] %s\n"
             "    c = conv2d(x, w%s, padding=[[%d, %d], [%d, %d]], groups=%d)\n%s}\n",
             c->channels, c->height, c->width, dtype, c->outputs, c->channels / c->groups, dtype,
             c->outputs, dtype, strstr(rest, "NOBIAS") ? "" : ", bias", c->top, c->bottom, c->left,
             c->right, c->groups, rest);
    return text;
}

static const char *const modes[] = {"f2", "f4", "f6"};

// A model under all passes, its values kept, then its kernels for a target.
static void run(const char *text, const char *mode, int64_t images, const char *target) {
    PassContext ctx = {.winograd = mode};
    Graph *g = pass_run_checked_with(&ctx, pass_load(text), NULL, images, 1e-12);
    int64_t symbols[8] = {images};
    (void)program_check(g, &(ProgramCheck){.target = target,
                                           .symbols = symbols,
                                           .tolerance = strstr(text, "f16") ? 0.03 : 2e-4});
    graph_destroy(g);
}

static void test_shapes(void **state) {
    (void)state;
    for (unsigned i = 0; i < sizeof convs / sizeof convs[0]; i++) {
        const char *text = conv_text(&convs[i], i % 3 ? "f32" : "f16", "    output y = relu(c)\n");
        run(text, modes[i % 2], convs[i].n, i % 2 ? "portable" : "h200");
        run(text, modes[1 - i % 2], convs[i].n, i % 2 ? "h200" : "portable");
    }
    run(conv_text(&convs[3], "f32", "    output y = c # NOBIAS\n"), "f6", 3, "h200");
    run(conv_text(&convs[4], "f32", "    output y = c\n"), "f6", 1, "portable");
}

// Between products with fragments the images of f16 nets have their channels last; the transforms
// follow, and so do maps around them.
static void test_channels_last(void **state) {
    (void)state;
    static const char format[] = "adept 1\nmodel m {\n    dim N in 1..=8\n"
                                 "    input x : [N, 16, %d, %d] f16\n"
                                 "    param v : [%d, 16, 1, 1] f16\n"
                                 "    param w : [%d, %d, 3, 3] f16\n"
                                 "    param bias : [%d] f16\n"
                                 "    param u : [16, %d, 1, 1] f16\n"
                                 "    a = relu(conv2d(x, v))\n"
                                 "    b = relu(conv2d(a, w, bias, padding=1) + a)\n"
                                 "    output y = conv2d(b, u) + x\n}\n";
    static const int sizes[][3] = {{32, 6, 5}, {8, 8, 4}, {17, 5, 9}}; // channels, height, width
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char text[800];
        int c = sizes[i][0];
        snprintf(text, sizeof text, format, sizes[i][1], sizes[i][2], c, c, c, c, c);
        for (unsigned m = 0; m < 2; m++) {
            Target target;
            assert_true(target_builtin("h200", &target));
            PassContext ctx = {.winograd = modes[m], .target = &target};
            Graph *g = pass_run_checked_with(&ctx, pass_load(text), NULL, 3, 2e-3);
            assert_true(pass_says(g, "channels_last=true") == (c != 17));
            (void)program_check(g, &(ProgramCheck){.target = "h200",
                                                   .symbols = (int64_t[]){3},
                                                   .tolerance = 0.01,
                                                   .scale = 0.3});
            graph_destroy(g);
        }
    }
}

// Maps before and behind are part of the transforms, unless something else reads what they make.
static void test_groups(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"y = relu(conv2d(silu(x), w, padding=1))",
         "transform transform/prepare contract transform"},
        {"y = relu(conv2d(x, w, bias, padding=1) + x)",
         "transform transform/prepare contract transform"},
        {"y = conv2d(x * reshape(bias, [5, 1, 1]), w, padding=1)",
         "transform transform/prepare contract transform"},
        {"a = silu(x)\n    output y = conv2d(a, w, padding=1) + a",
         "map transform transform/prepare contract transform"},
        {"a = relu(conv2d(x, w, padding=1))\n    output y = conv2d(a, w, padding=1)",
         "transform transform/prepare contract transform transform contract transform"},
        {"y = max_pool2d(relu(conv2d(x, w, padding=1)), 2)",
         "transform transform/prepare contract transform row"},
        {"y = conv2d(x, silu(w), padding=1)", "transform/prepare transform contract transform"},
        {"y = mean(conv2d(x, w, padding=1), axis=[2, 3])",
         "transform transform/prepare contract transform row"},
        {"y = conv2d(permute_dims(x, [0, 1, 3, 2])[:, :, 1:, :], w)",
         "transform transform/prepare contract transform"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[600];
        const char *body = cases[i][0];
        snprintf(text, sizeof text,
                 "adept 1\nmodel m {\n    dim N in 1..=4\n    input x : [N, 5, 6, 8] f32\n"
                 "    param w : [5, 5, 3, 3] f32\n    param bias : [5] f32\n    %s%s\n}\n",
                 body[0] == 'y' ? "output " : "", body);
        PassContext ctx = {.winograd = modes[i % 2]};
        Graph *g = pass_run_checked_with(&ctx, pass_load(text), NULL, 2, 1e-12);
        assert_string_equal(pass_groups(g), cases[i][1]);
        (void)program_check(g, &(ProgramCheck){.target = i % 2 ? "portable" : "h200",
                                               .symbols = (int64_t[]){2},
                                               .tolerance = 1e-3});
        graph_destroy(g);
    }
}

// Sizes known at run time only, one axis, several results, a state.
static void test_symbolic(void **state) {
    (void)state;
    static const char text[] = "adept 1\nmodel m {\n    dim N in 1..=4\n    dim H in 1..=20\n"
                               "    dim W in 1..=20\n    input x : [N, 5, H, W] f32\n"
                               "    param w : [6, 5, 3, 3] f32\n"
                               "    state s : [4, 6, 20, 20] f32 = 0\n"
                               "    c = relu(conv2d(x, w, padding=1))\n"
                               "    s[0:N, :, 0:H, 0:W] = c\n"
                               "    output y = c * 2\n    output z = c + s[0:N, :, 0:H, 0:W]\n"
                               "    output t = conv1d(x[:, :, 0, :], w[:, :, 0], padding=1)\n}\n";
    static const int64_t sizes[][3] = {{3, 7, 9}, {1, 1, 1}, {4, 20, 6}};
    for (unsigned i = 0; i < 3; i++) {
        PassContext ctx = {.winograd = modes[i % 2]};
        Graph *g = pass_run_checked_with(&ctx, pass_load(text), NULL, 4, 1e-12);
        (void)program_check(
            g, &(ProgramCheck){.target = "portable", .symbols = sizes[i], .tolerance = 2e-4});
        graph_destroy(g);
    }
}

// What the choice says, and that it is obeyed.
static void test_choice(void **state) {
    (void)state;
    static const struct {
        const char *target, *mode, *sizes, *dtype, *says;
        bool strict;
        int64_t workspace;
    } cases[] = {
        {"portable", "auto", "4, 64, 56, 56", "f32", "the target's rates are not known", false, 0},
        {"h200", "auto", "4, 64, 56, 56", "f32", "Winograd F(4x4, 3x3): about", false, 0},
        {"h200", "f4", "16, 256, 28, 28", "bf16", "products kept in f32", false, 0},
        {"h200", "auto", "16, 256, 28, 28", "bf16", "products kept in f32: about", false, 0},
        {"h200", "auto", "4, 64, 56, 56", "f32", "--strict-rounding", true, 0},
        {"h200", "auto", "4, 64, 56, 56", "f32", "more than --max-workspace", false, 1000000},
        {"h200", "auto", "1, 3, 8, 8", "f32", "implicit product: about", false, 0},
        {"h200", "off", "4, 64, 56, 56", "f32", "--winograd=off", false, 0},
        {"portable", "f6", "1, 3, 8, 8", "f32", "F(6x6, 3x3): asked for; error at most 36", false,
         0},
        {"portable", "f2", "1, 3, 8, 8", "f16", "F(2x2, 3x3): asked for; error 3.1 times", false,
         0},
        {"portable", "f4", "M, 64, 64, 64", "f32", "too many tiles for Winograd", false, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400];
        const char *channels = strchr(cases[i].sizes, ',') + 1;
        snprintf(text, sizeof text,
                 "adept 1\nmodel m {\n    dim M in 1..=1000000\n    input x : [%s] %s\n"
                 "    param w : [64, %d, 3, 3] %s\n    output y = conv2d(x, w, padding=1)\n}\n",
                 cases[i].sizes, cases[i].dtype, atoi(channels), cases[i].dtype);
        Target target;
        assert_true(target_builtin(cases[i].target, &target));
        PassOptions options = pass_options();
        options.passes = "winograd";
        options.winograd = cases[i].mode;
        options.target = &target;
        options.strict_rounding = cases[i].strict;
        if (cases[i].workspace) options.max_workspace = cases[i].workspace;
        Graph *g = pass_run_unchecked(pass_load(text), &options);
        pass_expect(g, cases[i].says);
        graph_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),       cmocka_unit_test(test_exact),
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_channels_last), cmocka_unit_test(test_symbolic),
        cmocka_unit_test(test_groups),        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
