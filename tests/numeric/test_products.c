// Products of random sizes on the device: symbolic M, N and K, so that one package serves them all,
// with sampled elements against sums in f64. Sizes lie around the edges of tiles as often as
// anywhere. ADEPT_RANDOM_PRODUCTS is how many sizes there are (default 240), ADEPT_RANDOM_LIMIT the
// largest (default 140).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ir/number.h"
#include "tests/support/device_check.h"

enum { SAMPLES = 48, BATCH = 3 };

// Where an element lies: batch, row of x or column of y, and k.
typedef int64_t Place(const int64_t size[3], int64_t batch, int64_t at, int64_t k);

typedef struct Kind {
    const char *name, *text, *x, *y; // x, y: names of the operands
    DType dtype, out;
    int64_t batch;
    Place *x_place, *y_place;
    const char *bias; // [N], or NULL
    bool relu;
} Kind;

enum { M, N, K };

static int64_t rows(const int64_t size[3], int64_t batch, int64_t at, int64_t k) {
    return (batch * size[M] + at) * size[K] + k;
}
static int64_t rows_transposed(const int64_t size[3], int64_t batch, int64_t at, int64_t k) {
    return (batch * size[K] + k) * size[M] + at;
}
static int64_t rows_sliced(const int64_t size[3], int64_t batch, int64_t at, int64_t k) {
    return (batch * size[M] + at) * (2 * size[K] + 3) + 2 * k + 1;
}
static int64_t rows_shared(const int64_t size[3], int64_t batch, int64_t at, int64_t k) {
    return (void)batch, at * size[K] + k;
}
static int64_t columns_nk(const int64_t size[3], int64_t batch, int64_t at, int64_t k) {
    return (batch * size[N] + at) * size[K] + k;
}
static int64_t columns_kn(const int64_t size[3], int64_t batch, int64_t at, int64_t k) {
    return (batch * size[K] + k) * size[N] + at;
}

#define HEAD                                                                                       \
    "adept 1\nmodel m {\n    dim M in 1..=1024\n    dim N in 1..=1024\n    dim K in 1..=1024\n"

static const Kind kinds[] = {
    {"f32 kn", HEAD "    input x : [M, K] f32\n    input y : [K, N] f32\n    output z = x @ y\n}\n",
     "x", "y", DT_F32, DT_F32, 1, rows, columns_kn, NULL, false},
    {"f32 nk, bias, relu",
     HEAD "    input x : [M, K] f32\n    input y : [N, K] f32\n    input b : [N] f32\n"
          "    output z = relu(linear(x, y, b))\n}\n",
     "x", "y", DT_F32, DT_F32, 1, rows, columns_nk, "b", true},
    {"f32 transposed, sums that cancel",
     HEAD "    input cancel_x : [K, M] f32\n    input pairs_y : [K, N] f32\n"
          "    output z = cancel_x.T @ pairs_y\n}\n",
     "cancel_x", "pairs_y", DT_F32, DT_F32, 1, rows_transposed, columns_kn, NULL, false},
    {"f32 of all magnitudes",
     HEAD "    input wide_x : [M, 2 * K + 3] f32\n    input wide_y : [N, K] f32\n"
          "    output z = linear(wide_x[:, 1 : 2 * K + 1 : 2], wide_y)\n}\n",
     "wide_x", "wide_y", DT_F32, DT_F32, 1, rows_sliced, columns_nk, NULL, false},
    {"f16 kn", HEAD "    input x : [M, K] f16\n    input y : [K, N] f16\n    output z = x @ y\n}\n",
     "x", "y", DT_F16, DT_F16, 1, rows, columns_kn, NULL, false},
    {"f16 nk, bias, relu, f32",
     HEAD "    input x : [M, K] f16\n    input y : [N, K] f16\n    input b : [N] f32\n"
          "    output z = relu(linear(x, y, dtype=f32) + b)\n}\n",
     "x", "y", DT_F16, DT_F32, 1, rows, columns_nk, "b", true},
    {"f16 of all magnitudes, transposed",
     HEAD "    input wide_x : [K, M] f16\n    input wide_y : [N, K] f16\n"
          "    output z = matmul(wide_x.T, wide_y.T, dtype=f32)\n}\n",
     "wide_x", "wide_y", DT_F16, DT_F32, 1, rows_transposed, columns_nk, NULL, false},
    {"f16 batched",
     HEAD "    input x : [3, M, K] f16\n    input y : [3, K, N] f16\n    output z = x @ y\n}\n",
     "x", "y", DT_F16, DT_F16, BATCH, rows, columns_kn, NULL, false},
    {"f16 shared left",
     HEAD "    input x : [M, K] f16\n    input y : [3, N, K] f16\n    output z = x @ y.mT\n}\n",
     "x", "y", DT_F16, DT_F16, BATCH, rows_shared, columns_nk, NULL, false},
    {"bf16 nk",
     HEAD "    input x : [M, K] bf16\n    input y : [N, K] bf16\n"
          "    output z = linear(x, y, dtype=f32)\n}\n",
     "x", "y", DT_BF16, DT_F32, 1, rows, columns_nk, NULL, false},
    {"i8 nk",
     HEAD "    input x : [M, K] i8\n    input y : [N, K] i8\n    output z = linear(x, y)\n}\n", "x",
     "y", DT_I8, DT_I32, 1, rows, columns_nk, NULL, false},
    {"u8 kn", HEAD "    input x : [M, K] u8\n    input y : [K, N] u8\n    output z = x @ y\n}\n",
     "x", "y", DT_U8, DT_I32, 1, rows, columns_kn, NULL, false},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// Half of them anywhere, half within one of a multiple of 8.
static int64_t random_size(uint64_t *state, int64_t limit) {
    int64_t size = 1 + (int64_t)(next(state) % (uint64_t)limit);
    if (next(state) % 2) size = (size + 7) / 8 * 8 - 1 + (int64_t)(next(state) % 3);
    if (next(state) % 8 == 0) size = 1 + (int64_t)(next(state) % 4);
    return size < 1 ? 1 : size;
}

// The element in f64, and the sum of the magnitudes of what is added.
static double element(const Kind *kind, uint64_t seed, const int64_t size[3], const int64_t at[3],
                      double *magnitudes) {
    double sum = 0;
    *magnitudes = 0;
    for (int64_t k = 0; k < size[K]; k++) {
        double x = device_sample(kind->x, kind->dtype, seed, kind->x_place(size, at[0], at[1], k));
        double y = device_sample(kind->y, kind->dtype, seed, kind->y_place(size, at[0], at[2], k));
        sum += x * y;
        *magnitudes += fabs(x * y);
    }
    if (kind->bias) {
        double bias = device_sample(kind->bias, DT_F32, seed, at[2]);
        sum += bias;
        *magnitudes += fabs(bias);
    }
    return kind->relu && sum < 0 ? 0 : sum;
}

static void check(const Kind *kind, DeviceModel *model, const int64_t size[3], uint64_t seed,
                  uint64_t *state) {
    int64_t dims[64] = {size[M], size[N], size[K]};
    const Tensor *z = device_model_run(model, dims, seed);
    int64_t per_batch = size[M] * size[N];
    // Each partial sum is rounded once, by one unit at most where a device truncates.
    Bound bound = {.sums = 2 * (double)size[K] + 4};
    assert_int_equal(z->elements, kind->batch * per_batch);
    for (int i = 0; i < SAMPLES; i++) {
        int64_t index = i == 0   ? 0
                        : i == 1 ? z->elements - 1
                                 : (int64_t)(next(state) % (uint64_t)z->elements);
        int64_t at[3] = {index / per_batch, index % per_batch / size[N], index % size[N]};
        double magnitudes, want = element(kind, seed, size, at, &magnitudes);
        double rounded = number_cast(kind->out, want);
        if (!bound_holds(&bound, kind->out, z->data[index], rounded, magnitudes))
            fail_msg("%s, M=%lld N=%lld K=%lld seed %llu: element %lld is %.9g, not %.9g",
                     kind->name, (long long)size[M], (long long)size[N], (long long)size[K],
                     (unsigned long long)seed, (long long)index, z->data[index], rounded);
    }
}

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static void random_products(void **state) {
    (void)state;
    long count = setting("ADEPT_RANDOM_PRODUCTS", 240);
    int64_t limit = setting("ADEPT_RANDOM_LIMIT", 140);
    uint64_t random = 1;
    for (unsigned k = 0; k < KINDS; k++) {
        DeviceModel *model = device_model_open(kinds[k].name, kinds[k].text, NULL);
        long runs = (count + KINDS - 1) / KINDS;
        for (long i = 0; i < runs; i++) {
            int64_t size[3];
            for (int d = 0; d < 3; d++) size[d] = random_size(&random, limit);
            check(&kinds[k], model, size, (uint64_t)i, &random);
        }
        printf("%s: %ld products right\n", kinds[k].name, runs);
        device_model_close(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_products)};
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    device_check_report();
    return failures;
}
