// Random tensors that need no memory of their own: each is cut from a ring of random numbers, in
// which it begins somewhere. A ring's length is prime, so that rows of a matrix differ. The same
// seeds give the same bytes everywhere.
#pragma once

#include "ir/type.h"
#include "runtime/adept.h"

// A hash of `at`.
uint64_t random_number(uint64_t at);

// Normally distributed numbers that rings are made from, kept between them.
typedef struct RandomPool {
    float *normal;
    uint32_t count;
} RandomPool;
void random_pool_close(RandomPool *pool);

typedef struct RandomRing {
    DType dtype;
    uint32_t length;
    double scale, shift;
    float *value; // as the dtype holds them
    uint8_t *bytes;
} RandomRing;

// Floats of a mean and a standard deviation (i8, u8: spread over their range, other integers:
// 0..99), for tensors of up to `elements`. Frees nothing.
void random_ring_open(RandomPool *pool, DType dtype, double scale, double shift, uint64_t elements,
                      RandomRing *ring);
void random_ring_close(RandomRing *ring);
// Of the tensor that begins at `start`: one element; bytes [offset, offset + size), whole elements.
double random_ring_value(const RandomRing *ring, uint64_t start, uint64_t element);
void random_ring_read(const RandomRing *ring, uint64_t start, uint64_t offset, void *out,
                      uint64_t size);

// Weights of a whole model, such that activations stay finite: matrices by their fan-in, vectors
// called weight or var near 1, others near 0.
typedef struct RandomWeights {
    uint64_t seed;
    RandomPool pool;
    RandomRing *rings; // one a dtype and scale
    uint32_t count;
} RandomWeights;
// `text` is the seed, a decimal number. False: it is none.
bool random_weights_open(RandomWeights *weights, const char *text);
void random_weights_close(RandomWeights *weights);
AdeptWeightReader random_weights_read; // for adept_model_bind_reader; `user` is a RandomWeights
