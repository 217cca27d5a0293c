// The tensors of a model's weights: one .safetensors file, or the shards that a
// model.safetensors.index.json names, looked up by one sorted list.
#pragma once

#include "runtime/adept.h"
#include "runtime/safetensors.h"

enum { WEIGHTS_FILES_MAX = 1000 };

typedef struct WeightsEntry {
    const SafetensorsTensor *tensor;
    uint32_t file; // of Weights.files
} WeightsEntry;

typedef struct Weights {
    SafetensorsFile *files;
    uint32_t file_count;
    WeightsEntry *entries; // sorted by name
    uint32_t count;
    AdeptWeightReader *reader; // the host's, in place of files; NULL: files
    void *user;
} Weights;

// A path that ends in ".json" is a shard index; its files are looked up beside it. On failure
// nothing is left to close.
AdeptResult weights_open(Weights *weights, const char *path, AdeptError *error);
void weights_close(Weights *weights);
const WeightsEntry *weights_find(const Weights *weights, const char *name);
// The existing name most like `name`, for messages; NULL where none is near.
const char *weights_nearest(const Weights *weights, const char *name);
AdeptResult weights_read(const Weights *weights, const WeightsEntry *entry, uint64_t offset,
                         void *out, uint64_t size, AdeptError *error);
