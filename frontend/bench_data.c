// Random operands, and what samples of a result say about it.
#include "frontend/bench.h"

#include <math.h>
#include <string.h>

// ---- operands --------------------------------------------------------------------------------

uint32_t bench_operand(BenchCase *bench, const char *name, DType dtype, bool is_param, double scale,
                       uint32_t rank, const int64_t *size) {
    BenchOperand *operand = &bench->operand[bench->operands];
    *operand = (BenchOperand){
        .name = name, .dtype = dtype, .is_param = is_param, .scale = scale, .rank = rank};
    operand->elements = 1;
    for (uint32_t i = 0; i < rank; i++) {
        operand->size[i] = size[i];
        operand->elements *= (uint64_t)size[i];
    }
    return bench->operands++;
}

void bench_result(BenchCase *bench, DType dtype, uint32_t rank, const int64_t *size) {
    bench->dtype = dtype;
    bench->rank = rank;
    bench->points = 256;
    memcpy(bench->size, size, rank * sizeof *size);
}

static void put_type(Text *text, DType dtype, uint32_t rank, const int64_t *size) {
    text_put(text, "[");
    for (uint32_t i = 0; i < rank; i++)
        text_printf(text, i ? ", %lld" : "%lld", (long long)size[i]);
    text_printf(text, "] %s", dtype_name(dtype));
}

void bench_model(Arena *arena, BenchCase *bench, const char *result) {
    Text text = {0};
    text_put(&text, "adept 1\n\nmodel bench {\n");
    bench->bytes = dtype_bytes(bench->dtype);
    for (uint32_t i = 0; i < bench->rank; i++) bench->bytes *= (double)bench->size[i];
    for (uint32_t i = 0; i < bench->operands; i++) {
        const BenchOperand *operand = &bench->operand[i];
        bench->bytes += (double)operand->elements * dtype_bytes(operand->dtype);
        text_printf(&text, "    %s %s : ", operand->is_param ? "param" : "input", operand->name);
        put_type(&text, operand->dtype, operand->rank, operand->size);
        text_put(&text, "\n");
    }
    text_put(&text, "    output y : ");
    put_type(&text, bench->dtype, bench->rank, bench->size);
    text_printf(&text, " = %s\n}\n", result);
    bench->model = arena_strdup(arena, text.data);
    text_free(&text);
}

void bench_rings_open(RandomPool *pool, BenchCase *bench) {
    for (uint32_t i = 0; i < bench->operands; i++) {
        BenchOperand *operand = &bench->operand[i];
        random_ring_open(pool, operand->dtype, operand->scale, 0, operand->elements,
                         &operand->ring);
    }
}

void bench_rings_close(BenchCase *bench) {
    for (uint32_t i = 0; i < bench->operands; i++) random_ring_close(&bench->operand[i].ring);
}

static uint64_t start(uint32_t set, uint32_t operand) {
    return random_number((uint64_t)set << 8 | operand);
}

double bench_value(const BenchCase *bench, uint32_t set, uint32_t operand, uint64_t element) {
    return random_ring_value(&bench->operand[operand].ring, start(set, operand), element);
}

void bench_fill(const BenchCase *bench, uint32_t set, uint32_t operand, uint64_t offset, void *out,
                uint64_t size) {
    random_ring_read(&bench->operand[operand].ring, start(set, operand), offset, out, size);
}

// ---- results ---------------------------------------------------------------------------------

double bench_rounding(DType dtype, double value) {
    int digits = dtype == DT_F32 ? 24 : dtype == DT_F16 ? 11 : dtype == DT_BF16 ? 8 : 0;
    if (digits == 0) return 0;
    int exponent;
    (void)frexp(value, &exponent);
    int least = dtype == DT_F16 ? -14 : -126;
    return ldexp(1, (exponent - 1 > least ? exponent - 1 : least) - digits);
}

void bench_error_add(BenchError *error, double got, double wanted, double bound) {
    double difference = fabs(got - wanted);
    if (got == wanted || (isnan(got) && isnan(wanted))) difference = 0;
    double in_bounds = difference == 0 ? 0 : difference / bound;
    if (isnan(difference)) in_bounds = INFINITY;
    if (isfinite(wanted)) {
        error->square += difference * difference;
        error->scale += wanted * wanted;
    }
    if (in_bounds <= error->worst) return;
    error->worst = in_bounds;
    error->got = got;
    error->wanted = wanted;
}

double bench_error_relative(const BenchError *error) {
    if (error->square == 0) return 0;
    return error->scale > 0 ? sqrt(error->square / error->scale) : INFINITY;
}

bool bench_error_within(const BenchError *error) {
    return error->worst <= 1;
}
