// What reads and writes much and computes little: row ops, transposition, element-wise maps. Shapes
// are rows by columns.
#include <math.h>
#include <string.h>

#include "frontend/bench.h"

enum { ROWS, COLUMNS };
enum { X, WEIGHT, BIAS };

static double at(const BenchCase *bench, uint32_t set, int64_t row, int64_t column) {
    return bench_value(bench, set, X,
                       (uint64_t)row * (uint64_t)bench->shape[COLUMNS] + (uint64_t)column);
}

static bool make(Arena *arena, const char *name, const char *family, DType dtype,
                 const int64_t *shape, uint32_t weights, const char *result, BenchCase *out,
                 Text *error) {
    static const char *const names[] = {"w", "b"};
    if (dtype != DT_F32 && dtype != DT_F16 && dtype != DT_BF16) {
        text_printf(error, "%s goes with f32, f16 and bf16", name);
        return false;
    }
    *out = (BenchCase){.family = family, .shape = {shape[0], shape[1]}};
    out->title = arena_printf(arena, "%s %lldx%lld %s", name, (long long)shape[0],
                              (long long)shape[1], dtype_name(dtype));
    (void)bench_operand(out, "x", dtype, false, 1, 2, shape);
    for (uint32_t i = 0; i < weights; i++)
        (void)bench_operand(out, names[i], dtype, true, 1, 1, &shape[COLUMNS]);
    bench_result(out, dtype, 2, shape);
    bench_model(arena, out, result);
    return true;
}

static void softmax_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                              double *wanted, double *bound) {
    double largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < bench->shape[COLUMNS]; k++)
        largest = fmax(largest, at(bench, set, index[0], k));
    for (int64_t k = 0; k < bench->shape[COLUMNS]; k++)
        sum += exp(at(bench, set, index[0], k) - largest);
    *wanted = exp(at(bench, set, index[0], index[1]) - largest) / sum;
    *bound = 1e-5 * *wanted + 1.01 * bench_rounding(bench->dtype, *wanted);
}

// Both norms: the mean is left out of rms_norm.
static void norm_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                           double *wanted, double *bound) {
    double count = (double)bench->shape[COLUMNS], mean = 0, square = 0;
    bool centred = bench->operands > BIAS;
    for (int64_t k = 0; centred && k < bench->shape[COLUMNS]; k++)
        mean += at(bench, set, index[0], k) / count;
    for (int64_t k = 0; k < bench->shape[COLUMNS]; k++) {
        double x = at(bench, set, index[0], k) - mean;
        square += x * x / count;
    }
    double weight = bench_value(bench, set, WEIGHT, (uint64_t)index[1]);
    double value = (at(bench, set, index[0], index[1]) - mean) / sqrt(square + 1e-5) * weight;
    double slack = 1e-5 * (fabs(value) + fabs(weight));
    if (centred) value += bench_value(bench, set, BIAS, (uint64_t)index[1]);
    *wanted = value;
    *bound = slack + 1e-6 * fabs(value) + 1.01 * bench_rounding(bench->dtype, value);
}

static void transpose_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                                double *wanted, double *bound) {
    *wanted = at(bench, set, index[1], index[0]);
    *bound = 0;
}

static void map_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                          double *wanted, double *bound) {
    *wanted = fmax(at(bench, set, index[0], index[1]) + 1, 0);
    *bound = 1.01 * bench_rounding(bench->dtype, *wanted);
}

bool bench_softmax(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                   BenchCase *out, Text *error) {
    (void)options;
    bool good = make(arena, "softmax", "row", dtype, shape, 0, "softmax(x)", out, error);
    out->reference = softmax_reference;
    return good;
}

bool bench_layer_norm(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                      BenchCase *out, Text *error) {
    (void)options;
    bool good =
        make(arena, "layer_norm", "row", dtype, shape, 2, "layer_norm(x, w, b)", out, error);
    out->reference = norm_reference;
    return good;
}

bool bench_rms_norm(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                    BenchCase *out, Text *error) {
    (void)options;
    bool good = make(arena, "rms_norm", "row", dtype, shape, 1, "rms_norm(x, w)", out, error);
    out->reference = norm_reference;
    return good;
}

bool bench_transpose(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                     BenchCase *out, Text *error) {
    (void)options;
    int64_t turned[] = {shape[1], shape[0]};
    bool good = make(arena, "transpose", "map", dtype, shape, 0, "x.T", out, error);
    if (!good) return false;
    bench_result(out, dtype, 2, turned);
    bench_model(arena, out, "x.T");
    out->reference = transpose_reference;
    return true;
}

bool bench_map(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
               BenchCase *out, Text *error) {
    (void)options;
    bool good = make(arena, "map", "map", dtype, shape, 0, "relu(x + 1)", out, error);
    out->reference = map_reference;
    return good;
}

static void slice_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                            double *wanted, double *bound) {
    *wanted = at(bench, set, index[0], 2 * index[1]);
    *bound = 0;
}

// Every second column.
bool bench_slice(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                 BenchCase *out, Text *error) {
    (void)options;
    int64_t half[] = {shape[0], (shape[1] + 1) / 2};
    bool good = make(arena, "slice", "map", dtype, shape, 0, "x[:, ::2]", out, error);
    if (!good) return false;
    bench_result(out, dtype, 2, half);
    bench_model(arena, out, "x[:, ::2]");
    out->reference = slice_reference;
    return true;
}

static void turned_map_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                                 double *wanted, double *bound) {
    uint64_t element = (uint64_t)(index[0] * bench->shape[ROWS] + index[1]);
    double sum = at(bench, set, index[1], index[0]) + bench_value(bench, set, WEIGHT, element);
    *wanted = fmax(sum, 0);
    *bound = 1.01 * bench_rounding(bench->dtype, *wanted);
}

bool bench_transpose_map(Arena *arena, const BenchOptions *options, DType dtype,
                         const int64_t *shape, BenchCase *out, Text *error) {
    (void)options;
    int64_t turned[] = {shape[1], shape[0]};
    if (!make(arena, "transpose_map", "map", dtype, shape, 0, "x.T", out, error)) return false;
    (void)bench_operand(out, "z", dtype, false, 1, 2, turned);
    bench_result(out, dtype, 2, turned);
    bench_model(arena, out, "relu(x.T + z)");
    out->reference = turned_map_reference;
    return true;
}
