// 2-d convolutions: batch, input channels, height and width, output channels, kernel, stride;
// padded by half the kernel. Images have their channels first (conv, depthwise) or last (conv_nhwc,
// depthwise_nhwc), for the host as well.
#include <math.h>
#include <string.h>

#include "frontend/bench.h"

enum { BATCH, CHANNELS, SIDE, OUTPUT, KERNEL, STRIDE };
enum { X, WEIGHT };
enum { LAST = 1, DEPTHWISE = 2 }; // of BenchCase.variant

// Number of an image's element.
static uint64_t pixel(const BenchCase *bench, int64_t n, int64_t c, int64_t y, int64_t x) {
    int64_t channels = bench->shape[CHANNELS], side = bench->shape[SIDE];
    if (bench->variant & LAST) return (uint64_t)(((n * side + y) * side + x) * channels + c);
    return (uint64_t)(((n * channels + c) * side + y) * side + x);
}

static void conv_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                           double *wanted, double *bound) {
    const int64_t *s = bench->shape;
    bool last = bench->variant & LAST, deep = bench->variant & DEPTHWISE;
    double sum = 0, absolute = 0, squares = 0;
    int64_t pad = s[KERNEL] / 2, channels = deep ? 1 : s[CHANNELS];
    int64_t output = index[last ? 3 : 1], row = index[last ? 1 : 2], column = index[last ? 2 : 3];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < s[KERNEL]; i++)
            for (int64_t j = 0; j < s[KERNEL]; j++) {
                int64_t y = row * s[STRIDE] + i - pad, x = column * s[STRIDE] + j - pad;
                if (y < 0 || y >= s[SIDE] || x < 0 || x >= s[SIDE]) continue;
                uint64_t at = pixel(bench, index[0], deep ? output : c, y, x);
                int64_t weight = ((output * channels + c) * s[KERNEL] + i) * s[KERNEL] + j;
                double product = bench_value(bench, set, X, at) *
                                 bench_value(bench, set, WEIGHT, (uint64_t)weight);
                sum += product;
                absolute += fabs(product);
                squares += product * product;
            }
    double depth = (double)(channels * s[KERNEL] * s[KERNEL]);
    // Winograd's form adds rounded intermediates: 4 standard deviations of its error.
    *bound = 4 * bench->amplified * bench_rounding(bench->dtype, 1) * sqrt(squares);
    *wanted = sum;
    *bound += 0x1p-24 * (8 + 2 * sqrt(depth)) * absolute + 1.01 * bench_rounding(bench->dtype, sum);
}

static void image(int64_t size[4], bool last, int64_t n, int64_t c, int64_t side) {
    int64_t first[] = {n, c, side, side}, behind[] = {n, side, side, c};
    memcpy(size, last ? behind : first, sizeof first);
}

static bool make(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                 const char *name, uint32_t variant, BenchCase *out, Text *error) {
    if (dtype != DT_F32 && dtype != DT_F16 && dtype != DT_BF16) {
        text_printf(error, "%s goes with f32, f16 and bf16", name);
        return false;
    }
    bool last = variant & LAST, deep = variant & DEPTHWISE;
    *out = (BenchCase){.family = deep ? "row" : "contract", .reference = conv_reference};
    memcpy(out->shape, shape, 6 * sizeof *shape);
    out->variant = variant;
    int64_t side = (shape[SIDE] + 2 * (shape[KERNEL] / 2) - shape[KERNEL]) / shape[STRIDE] + 1;
    if (side < 1) {
        text_put(error, "the kernel is larger than the image");
        return false;
    }
    int64_t channels = deep ? 1 : shape[CHANNELS], x[4], y[4];
    image(x, last, shape[BATCH], shape[CHANNELS], shape[SIDE]);
    image(y, last, shape[BATCH], shape[OUTPUT], side);
    int64_t w[] = {shape[OUTPUT], channels, shape[KERNEL], shape[KERNEL]};
    double depth = (double)(channels * shape[KERNEL] * shape[KERNEL]);
    const char *form = options->pipeline.passes.winograd;
    bool windows = shape[KERNEL] == 3 && shape[STRIDE] == 1 && !deep;
    if (windows && dtype != DT_F32) out->amplified = form && strcmp(form, "f6") == 0 ? 30 : 8;
    (void)bench_operand(out, "x", dtype, false, 1, 4, x);
    (void)bench_operand(out, "w", dtype, true, 1 / sqrt(depth), 4, w);
    bench_result(out, dtype, 4, y);
    const char *turned = "permute_dims(x, axes=[0, 3, 1, 2])";
    const char *call =
        arena_printf(arena, "conv2d(%s, w, stride=%lld, padding=%lld, groups=%lld)",
                     last ? turned : "x", (long long)shape[STRIDE], (long long)(shape[KERNEL] / 2),
                     (long long)(deep ? shape[CHANNELS] : 1));
    if (last) call = arena_printf(arena, "permute_dims(%s, axes=[0, 2, 3, 1])", call);
    bench_model(arena, out, call);
    out->flops = 2 * depth * (double)shape[BATCH] * (double)shape[OUTPUT] * (double)(side * side);
    Text sizes = {0};
    for (int i = 0; i < 6; i++)
        if (!deep || i != OUTPUT) text_printf(&sizes, "%s%lld", i ? "x" : "", (long long)shape[i]);
    out->title = arena_printf(arena, "%s %s %s", name, sizes.data, dtype_name(dtype));
    text_free(&sizes);
    return true;
}

bool bench_conv(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                BenchCase *out, Text *error) {
    return make(arena, options, dtype, shape, "conv", 0, out, error);
}

bool bench_conv_nhwc(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                     BenchCase *out, Text *error) {
    return make(arena, options, dtype, shape, "conv_nhwc", LAST, out, error);
}

static bool make_deep(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                      const char *name, uint32_t variant, BenchCase *out, Text *error) {
    int64_t all[] = {shape[0], shape[1], shape[2], shape[1], shape[3], shape[4]};
    return make(arena, options, dtype, all, name, DEPTHWISE | variant, out, error);
}

bool bench_depthwise(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                     BenchCase *out, Text *error) {
    return make_deep(arena, options, dtype, shape, "depthwise", 0, out, error);
}

bool bench_depthwise_nhwc(Arena *arena, const BenchOptions *options, DType dtype,
                          const int64_t *shape, BenchCase *out, Text *error) {
    return make_deep(arena, options, dtype, shape, "depthwise_nhwc", LAST, out, error);
}
