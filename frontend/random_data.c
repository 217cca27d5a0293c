#include "frontend/random_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli.h"
#include "ir/number.h"

enum { RING_SHORT = 65521, RING_LONG = 4194301 }; // primes

uint64_t random_number(uint64_t at) {
    at += UINT64_C(0x9E3779B97F4A7C15);
    at = (at ^ at >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    at = (at ^ at >> 27) * UINT64_C(0x94D049BB133111EB);
    return at ^ at >> 31;
}

static float normal(uint64_t at) {
    uint64_t bits = random_number(at);
    double u = (double)((bits >> 32) + 1) / 4294967297.0;
    double v = (double)(bits & 0xFFFFFFFFu) / 4294967296.0;
    return (float)(sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v));
}

static void need_normal(RandomPool *pool, uint32_t count) {
    if (pool->count >= count) return;
    pool->normal = memory_or_exit(realloc(pool->normal, count * sizeof *pool->normal));
    for (; pool->count < count; pool->count++) pool->normal[pool->count] = normal(pool->count);
}

void random_pool_close(RandomPool *pool) {
    free(pool->normal);
    *pool = (RandomPool){0};
}

static double spread(DType dtype, double x) {
    switch (dtype) {
    case DT_I8: return fmax(-127, fmin(127, round(x * 40)));
    case DT_U8: return fmax(0, fmin(255, round(128 + x * 40)));
    case DT_I32:
    case DT_U32: return floor(fmin(fabs(x) * 30, 99));
    case DT_BOOL: return x > 0;
    default: return x;
    }
}

void random_ring_open(RandomPool *pool, DType dtype, double scale, double shift, uint64_t elements,
                      RandomRing *ring) {
    unsigned bytes = dtype_bytes(dtype);
    *ring = (RandomRing){.dtype = dtype,
                         .length = elements < RING_SHORT ? RING_SHORT : RING_LONG,
                         .scale = scale,
                         .shift = shift};
    need_normal(pool, ring->length);
    ring->value = memory_or_exit(malloc(ring->length * sizeof *ring->value));
    ring->bytes = memory_or_exit(malloc((size_t)ring->length * bytes));
    for (uint32_t i = 0; i < ring->length; i++) {
        uint8_t *at = ring->bytes + (size_t)i * bytes;
        number_store(dtype, spread(dtype, (double)pool->normal[i] * scale + shift), at);
        ring->value[i] = (float)number_load(dtype, at);
    }
}

void random_ring_close(RandomRing *ring) {
    free(ring->value);
    free(ring->bytes);
    *ring = (RandomRing){0};
}

double random_ring_value(const RandomRing *ring, uint64_t start, uint64_t element) {
    return (double)ring->value[(start % ring->length + element) % ring->length];
}

void random_ring_read(const RandomRing *ring, uint64_t start, uint64_t offset, void *out,
                      uint64_t size) {
    unsigned bytes = dtype_bytes(ring->dtype);
    uint64_t end = (uint64_t)ring->length * bytes;
    uint64_t at = (start % ring->length + offset / bytes) % ring->length * bytes;
    for (uint8_t *to = out; size > 0;) {
        uint64_t part = end - at < size ? end - at : size;
        memcpy(to, ring->bytes + at, part);
        to += part, size -= part, at = 0;
    }
}

// ---- weights ---------------------------------------------------------------------------------

bool random_weights_open(RandomWeights *weights, const char *text) {
    int64_t seed;
    *weights = (RandomWeights){0};
    if (!cli_int(text, &seed)) return false;
    weights->seed = (uint64_t)seed;
    return true;
}

void random_weights_close(RandomWeights *weights) {
    for (uint32_t i = 0; i < weights->count; i++) random_ring_close(&weights->rings[i]);
    free(weights->rings);
    random_pool_close(&weights->pool);
    *weights = (RandomWeights){0};
}

static const RandomRing *ring_of(RandomWeights *weights, DType dtype, double scale, double shift) {
    for (uint32_t i = 0; i < weights->count; i++) {
        const RandomRing *ring = &weights->rings[i];
        if (ring->dtype == dtype && ring->scale == scale && ring->shift == shift) return ring;
    }
    weights->rings =
        memory_or_exit(realloc(weights->rings, (weights->count + 1) * sizeof *weights->rings));
    RandomRing *ring = &weights->rings[weights->count++];
    random_ring_open(&weights->pool, dtype, scale, shift, UINT64_MAX, ring);
    return ring;
}

static bool ends_in(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool random_weights_read(void *user, const AdeptPortInfo *param, uint64_t offset, void *data,
                         uint64_t size) {
    RandomWeights *weights = user;
    DType dtype = DT_NONE;
    double scale = 0.02, fan_in = 1;
    if (!dtype_from_name(adept_dtype_name(param->dtype), &dtype)) return false;
    for (uint32_t i = 1; i < param->rank; i++) fan_in *= (double)param->shape[i];
    if (param->rank > 1) scale = 1 / sqrt(fan_in > 1 ? fan_in : 1);
    bool near_one =
        param->rank == 1 && (ends_in(param->name, "weight") || ends_in(param->name, "var"));
    uint64_t key = hash_bytes(weights->seed, param->name, strlen(param->name));
    random_ring_read(ring_of(weights, dtype, scale, near_one ? 1 : 0), random_number(key), offset,
                     data, size);
    return true;
}
