// Matrix products: gemm (both operands are inputs) and linear (the second is a weight), with what
// may be fused behind them.
#include <math.h>
#include <string.h>

#include "frontend/bench.h"

typedef enum Epilogue {
    NONE,
    BIAS,
    BIAS_RELU,
    BIAS_GELU,
    BIAS_GELU_TANH,
    BIAS_RESIDUAL,
    GATE,
    EPILOGUES
} Epilogue;

static const char *const epilogue_names[] = {
    "none", "bias", "bias_relu", "bias_gelu", "bias_gelu_tanh", "bias_residual", "gate", NULL};

// Places in BenchCase.shape, which holds batch, M, N, K.
enum { BATCH, ROWS, COLUMNS, DEPTH, COLUMN_MAJOR };
// Operands in their order: a, b, then b2 for a gate, or bias and residual.
enum { A, B, B2, C = B2, R };

typedef struct Sum {
    double value, absolute; // of the products, of their absolute values
} Sum;

static Sum dot(const BenchCase *bench, uint32_t set, uint32_t other, uint64_t batch, uint64_t m,
               uint64_t n) {
    uint64_t rows = (uint64_t)bench->shape[ROWS], columns = (uint64_t)bench->shape[COLUMNS];
    uint64_t depth = (uint64_t)bench->shape[DEPTH];
    bool shared = bench->operand[other].rank == 2; // a weight has no batch
    uint64_t from = shared ? 0 : batch * columns * depth;
    Sum sum = {0};
    for (uint64_t k = 0; k < depth; k++) {
        uint64_t at = from + (bench->shape[COLUMN_MAJOR] ? n * depth + k : k * columns + n);
        double product = bench_value(bench, set, A, (batch * rows + m) * depth + k) *
                         bench_value(bench, set, other, at);
        sum.value += product;
        sum.absolute += fabs(product);
    }
    return sum;
}

static double silu(double x) {
    return x / (1 + exp(-x));
}

static double gelu(double x) {
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}

static double gelu_tanh(double x) {
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

// Rounding errors of a sum of `depth` products walk: they grow with its square root.
static double sum_bound(const BenchCase *bench, double absolute) {
    if (bench->operand[A].dtype == DT_I8 || bench->operand[A].dtype == DT_U8) return 0;
    return 0x1p-24 * (8 + 2 * sqrt((double)bench->shape[DEPTH])) * absolute;
}

// A value on its way through maps, with what its rounding at every one of them may have made of it
// (a result that goes to memory is rounded, one that stays in a kernel is not).
typedef struct Way {
    double value, slack;
} Way;

static Way product_of(const BenchCase *bench, uint32_t set, uint32_t other, uint64_t batch,
                      uint64_t m, uint64_t n) {
    Sum sum = dot(bench, set, other, batch, m, n);
    double slack = sum_bound(bench, sum.absolute);
    return (Way){sum.value, slack + 1.01 * bench_rounding(bench->dtype, sum.value)};
}

// What is made of f16 has its rounding in it.
static double gelu_error(const BenchCase *bench) {
    return bench->dtype == DT_F16 ? 0x1p-16 : 0x1p-19;
}

// One map further: `slope` bounds its derivative, `own` its error relative to the value.
static void go_on(const BenchCase *bench, Way *way, double value, double slope, double own) {
    way->slack =
        slope * way->slack + own * fabs(value) + 1.01 * bench_rounding(bench->dtype, value);
    way->value = value;
}

static void product_reference(const BenchCase *bench, uint32_t set, const int64_t *index,
                              double *wanted, double *bound) {
    bool batched = bench->rank == 3;
    uint64_t batch = batched ? (uint64_t)index[0] : 0;
    uint64_t m = (uint64_t)index[batched], n = (uint64_t)index[batched + 1];
    Way way = product_of(bench, set, B, batch, m, n);
    if (bench->variant == GATE) {
        Way up = product_of(bench, set, B2, batch, m, n);
        go_on(bench, &way, silu(way.value), 1.1, 0x1p-20);
        double value = way.value * up.value;
        way.slack = way.slack * fabs(up.value) + up.slack * (fabs(way.value) + way.slack);
        way.slack += 1.01 * bench_rounding(bench->dtype, value);
        way.value = value;
    } else if (bench->variant != NONE) {
        go_on(bench, &way, way.value + bench_value(bench, set, C, n), 1, 0x1p-23);
        double x = way.value;
        if (bench->variant == BIAS_RELU) go_on(bench, &way, fmax(x, 0), 1, 0);
        if (bench->variant == BIAS_GELU) go_on(bench, &way, gelu(x), 1.2, gelu_error(bench));
        if (bench->variant == BIAS_GELU_TANH) go_on(bench, &way, gelu_tanh(x), 1.2, 0x1p-19);
        uint64_t at =
            (batch * (uint64_t)bench->shape[ROWS] + m) * (uint64_t)bench->shape[COLUMNS] + n;
        if (bench->variant == BIAS_RESIDUAL)
            go_on(bench, &way, way.value + bench_value(bench, set, R, at), 1, 0x1p-23);
    }
    *wanted = way.value;
    *bound = way.slack;
}

static bool read_epilogue(const BenchOptions *options, DType dtype, BenchCase *out, Text *error) {
    const char *name = options->epilogue ? options->epilogue : "none";
    uint32_t which = 0;
    while (which < EPILOGUES && strcmp(epilogue_names[which], name) != 0) which++;
    if (which == EPILOGUES) {
        const char *near = nearest_name(name, epilogue_names);
        text_printf(error,
                    "--epilogue %s: none, bias, bias_relu, bias_gelu, bias_gelu_tanh, "
                    "bias_residual or gate is wanted",
                    name);
        if (near) text_printf(error, "; did you mean '%s'?", near);
        return false;
    }
    if (which != NONE && !dtype_is_float(dtype)) {
        text_printf(error, "--epilogue %s goes with float dtypes", name);
        return false;
    }
    out->variant = which;
    return true;
}

static bool read_layout(const BenchOptions *options, BenchCase *out, Text *error) {
    const char *layout = options->b_layout ? options->b_layout : "nk";
    out->shape[COLUMN_MAJOR] = strcmp(layout, "nk") == 0;
    if (out->shape[COLUMN_MAJOR] || strcmp(layout, "kn") == 0) return true;
    text_printf(error, "--b-layout %s: nk or kn is wanted", layout);
    return false;
}

static void product_operands(BenchCase *out, DType dtype, bool is_param) {
    int64_t batch = out->shape[BATCH], m = out->shape[ROWS], n = out->shape[COLUMNS],
            k = out->shape[DEPTH];
    uint32_t skip = batch > 1 ? 0 : 1, weight_skip = is_param ? 1 : skip;
    // Sums behind an activation are of order 1, where it is not flat.
    double scale = out->variant == NONE ? 1 : 1 / sqrt((double)k);
    int64_t a[] = {batch, m, k}, y[] = {batch, m, n}, nk[] = {batch, n, k}, kn[] = {batch, k, n};
    const int64_t *b = out->shape[COLUMN_MAJOR] ? nk : kn;
    (void)bench_operand(out, "a", dtype, false, 1, 3 - skip, a + skip);
    (void)bench_operand(out, "b", dtype, is_param, scale, 3 - weight_skip, b + weight_skip);
    if (out->variant == GATE)
        (void)bench_operand(out, "b2", dtype, is_param, scale, 3 - weight_skip, b + weight_skip);
    else if (out->variant != NONE)
        (void)bench_operand(out, "c", dtype, is_param, 1, 1, &n);
    if (out->variant == BIAS_RESIDUAL)
        (void)bench_operand(out, "r", dtype, false, 1, 3 - skip, y + skip);
    bench_result(out, dtype == DT_I8 || dtype == DT_U8 ? DT_I32 : dtype, 3 - skip, y + skip);
}

static const char *expression(const BenchCase *out) {
    bool nk = out->shape[COLUMN_MAJOR];
    switch (out->variant) {
    case BIAS: return nk ? "a @ b.mT + c" : "a @ b + c";
    case BIAS_RELU: return nk ? "relu(a @ b.mT + c)" : "relu(a @ b + c)";
    case BIAS_GELU: return nk ? "gelu(a @ b.mT + c)" : "gelu(a @ b + c)";
    case BIAS_GELU_TANH:
        return nk ? "gelu(a @ b.mT + c, approximate=\"tanh\")"
                  : "gelu(a @ b + c, approximate=\"tanh\")";
    case BIAS_RESIDUAL: return nk ? "a @ b.mT + c + r" : "a @ b + c + r";
    case GATE: return nk ? "silu(a @ b.mT) * (a @ b2.mT)" : "silu(a @ b) * (a @ b2)";
    default: return nk ? "a @ b.mT" : "a @ b";
    }
}

static bool product(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                    const char *name, bool is_param, BenchCase *out, Text *error) {
    *out = (BenchCase){.family = "contract", .reference = product_reference};
    int64_t batch = options->batch > 0 ? options->batch : 1;
    out->shape[BATCH] = batch;
    memcpy(&out->shape[ROWS], shape, 3 * sizeof *shape);
    if (!read_epilogue(options, dtype, out, error) || !read_layout(options, out, error))
        return false;
    product_operands(out, dtype, is_param);
    Text title = {0};
    text_printf(&title, "%s ", name);
    if (batch > 1) text_printf(&title, "%lldx", (long long)batch);
    text_printf(&title, "%lldx%lldx%lld %s %s", (long long)shape[0], (long long)shape[1],
                (long long)shape[2], dtype_name(dtype), out->shape[COLUMN_MAJOR] ? "nk" : "kn");
    if (out->variant != NONE) text_printf(&title, " %s", epilogue_names[out->variant]);
    out->title = arena_strdup(arena, title.data);
    text_free(&title);
    bench_model(arena, out, expression(out));
    double products = (double)batch * (double)shape[0] * (double)shape[1] * (double)shape[2];
    out->flops = 2 * products * (out->variant == GATE ? 2 : 1);
    return true;
}

bool bench_gemm(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                BenchCase *out, Text *error) {
    return product(arena, options, dtype, shape, "gemm", false, out, error);
}

bool bench_linear(Arena *arena, const BenchOptions *options, DType dtype, const int64_t *shape,
                  BenchCase *out, Text *error) {
    return product(arena, options, dtype, shape, "linear", true, out, error);
}
