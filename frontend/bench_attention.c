// Attention: batch, query heads, queries, head size; --kv-heads, --keys, --causal.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/bench.h"

enum { BATCH, HEADS, QUERIES, WIDTH, KV_HEADS, KEYS };
enum { Q, K, V };

static double score(const BenchCase *bench, uint32_t set, uint64_t query, uint64_t key) {
    uint64_t width = (uint64_t)bench->shape[WIDTH];
    double sum = 0;
    for (uint64_t d = 0; d < width; d++)
        sum += bench_value(bench, set, Q, query * width + d) *
               bench_value(bench, set, K, key * width + d);
    return sum / sqrt((double)width);
}

static void attention_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                                double *wanted, double *bound) {
    const int64_t *s = bench->shape;
    int64_t head = index[1] * s[KV_HEADS] / s[HEADS], keys = s[KEYS];
    if (bench->variant && index[2] + s[KEYS] - s[QUERIES] + 1 < keys)
        keys = index[2] + s[KEYS] - s[QUERIES] + 1;
    uint64_t query = (uint64_t)((index[0] * s[HEADS] + index[1]) * s[QUERIES] + index[2]);
    uint64_t first = (uint64_t)((index[0] * s[KV_HEADS] + head) * s[KEYS]);
    double *scores = memory_or_exit(malloc((size_t)(keys > 0 ? keys : 1) * sizeof *scores));
    double largest = -INFINITY, weights = 0, sum = 0, absolute = 0;
    for (int64_t k = 0; k < keys; k++) {
        scores[k] = score(bench, set, query, first + (uint64_t)k);
        largest = fmax(largest, scores[k]);
    }
    for (int64_t k = 0; k < keys; k++) {
        double weight = exp(scores[k] - largest);
        double value = bench_value(bench, set, V,
                                   (first + (uint64_t)k) * (uint64_t)s[WIDTH] + (uint64_t)index[3]);
        weights += weight;
        sum += weight * value;
        absolute += weight * fabs(value);
    }
    free(scores);
    *wanted = keys > 0 ? sum / weights : 0;
    // Weights may be rounded to the dtype before the second product (language.md section 8), and
    // errors of a score in f32 become relative errors of its weight.
    double slack = keys > 0 ? absolute / weights : 0;
    *bound = slack * (2e-5 + bench_rounding(bench->dtype, 1)) +
             1.01 * bench_rounding(bench->dtype, *wanted);
}

bool bench_attention(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                     BenchCase *out, Text *error) {
    if (dtype != DT_F32 && dtype != DT_F16 && dtype != DT_BF16) {
        text_put(error, "attention goes with f32, f16 and bf16");
        return false;
    }
    *out = (BenchCase){
        .family = "attention", .reference = attention_reference, .variant = options->causal};
    memcpy(out->shape, shape, 4 * sizeof *shape);
    int64_t heads = options->kv_heads > 0 ? options->kv_heads : shape[HEADS];
    int64_t keys = options->keys > 0 ? options->keys : shape[QUERIES];
    if (shape[HEADS] % heads != 0) {
        text_put(error, "--kv-heads does not divide the heads");
        return false;
    }
    out->shape[KV_HEADS] = heads;
    out->shape[KEYS] = keys;
    int64_t k[] = {shape[BATCH], heads, keys, shape[WIDTH]};
    (void)bench_operand(out, "q", dtype, false, 1, 4, shape);
    (void)bench_operand(out, "k", dtype, false, 1, 4, k);
    (void)bench_operand(out, "v", dtype, false, 1, 4, k);
    bench_result(out, dtype, 4, shape);
    double work = 4e7 / ((double)keys * (double)shape[WIDTH]); // a point costs that many products
    if (work < out->points) out->points = work > 16 ? (uint32_t)work : 16;
    bench_model(arena, out,
                arena_printf(arena, "scaled_dot_product_attention(q, k, v%s%s)",
                             out->variant ? ", is_causal=true" : "",
                             heads != shape[HEADS] ? ", enable_gqa=true" : ""));
    double scores =
        (double)shape[BATCH] * (double)shape[HEADS] * (double)shape[QUERIES] * (double)keys;
    if (out->variant && keys >= shape[QUERIES]) // the corner that no query sees
        scores *= 1 - 0.5 * (double)(shape[QUERIES] - 1) / (double)keys;
    out->flops = 4 * scores * (double)shape[WIDTH];
    out->title = arena_printf(arena, "attention %lldx%lldx%lldx%lld %s kv%lldx%lld%s",
                              (long long)shape[BATCH], (long long)shape[HEADS],
                              (long long)shape[QUERIES], (long long)shape[WIDTH], dtype_name(dtype),
                              (long long)heads, (long long)keys, out->variant ? " causal" : "");
    return true;
}
