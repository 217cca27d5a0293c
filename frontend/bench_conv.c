// 2-d convolutions, NCHW: batch, input channels, height and width, output channels, kernel, stride;
// padded by half the kernel.
#include <math.h>
#include <string.h>

#include "frontend/bench.h"

enum { BATCH, CHANNELS, SIDE, OUTPUT, KERNEL, STRIDE };
enum { X, WEIGHT };

static void conv_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                           double *wanted, double *bound) {
    const int64_t *s = bench->shape;
    double sum = 0, absolute = 0, squares = 0;
    int64_t pad = s[KERNEL] / 2;
    for (int64_t c = 0; c < s[CHANNELS]; c++)
        for (int64_t i = 0; i < s[KERNEL]; i++)
            for (int64_t j = 0; j < s[KERNEL]; j++) {
                int64_t y = index[2] * s[STRIDE] + i - pad, x = index[3] * s[STRIDE] + j - pad;
                if (y < 0 || y >= s[SIDE] || x < 0 || x >= s[SIDE]) continue;
                int64_t at = ((index[0] * s[CHANNELS] + c) * s[SIDE] + y) * s[SIDE] + x;
                int64_t weight = ((index[1] * s[CHANNELS] + c) * s[KERNEL] + i) * s[KERNEL] + j;
                double product = bench_value(bench, set, X, (uint64_t)at) *
                                 bench_value(bench, set, WEIGHT, (uint64_t)weight);
                sum += product;
                absolute += fabs(product);
                squares += product * product;
            }
    double depth = (double)(s[CHANNELS] * s[KERNEL] * s[KERNEL]);
    // Winograd's form adds rounded intermediates: 4 standard deviations of its error.
    *bound = 4 * bench->amplified * bench_rounding(bench->dtype, 1) * sqrt(squares);
    *wanted = sum;
    *bound += 0x1p-24 * (8 + 2 * sqrt(depth)) * absolute + 1.01 * bench_rounding(bench->dtype, sum);
}

bool bench_conv(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                BenchCase *out, Text *error) {
    if (dtype != DT_F32 && dtype != DT_F16 && dtype != DT_BF16) {
        text_put(error, "conv goes with f32, f16 and bf16");
        return false;
    }
    *out = (BenchCase){.family = "contract", .reference = conv_reference};
    memcpy(out->shape, shape, 6 * sizeof *shape);
    int64_t side = (shape[SIDE] + 2 * (shape[KERNEL] / 2) - shape[KERNEL]) / shape[STRIDE] + 1;
    if (side < 1) {
        text_put(error, "the kernel is larger than the image");
        return false;
    }
    int64_t x[] = {shape[BATCH], shape[CHANNELS], shape[SIDE], shape[SIDE]};
    int64_t w[] = {shape[OUTPUT], shape[CHANNELS], shape[KERNEL], shape[KERNEL]};
    int64_t y[] = {shape[BATCH], shape[OUTPUT], side, side};
    double products = (double)shape[BATCH] * (double)shape[OUTPUT] * (double)side * (double)side *
                      (double)(shape[CHANNELS] * shape[KERNEL] * shape[KERNEL]);
    double scale = 1 / sqrt((double)(shape[CHANNELS] * shape[KERNEL] * shape[KERNEL]));
    const char *form = options->pipeline.passes.winograd;
    bool windows = shape[KERNEL] == 3 && shape[STRIDE] == 1;
    if (windows && dtype != DT_F32) out->amplified = form && strcmp(form, "f6") == 0 ? 30 : 8;
    (void)bench_operand(out, "x", dtype, false, 1, 4, x);
    (void)bench_operand(out, "w", dtype, true, scale, 4, w);
    bench_result(out, dtype, 4, y);
    bench_model(arena, out,
                arena_printf(arena, "conv2d(x, w, stride=%lld, padding=%lld)",
                             (long long)shape[STRIDE], (long long)(shape[KERNEL] / 2)));
    out->flops = 2 * products;
    out->title =
        arena_printf(arena, "conv %lldx%lldx%lldx%lldx%lldx%lld %s", (long long)shape[BATCH],
                     (long long)shape[CHANNELS], (long long)shape[SIDE], (long long)shape[OUTPUT],
                     (long long)shape[KERNEL], (long long)shape[STRIDE], dtype_name(dtype));
    return true;
}
