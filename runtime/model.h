// A model as the runtime's other files see it: the package, its pipelines and its weights.
#pragma once

#include "runtime/adept.h"
#include "runtime/memory.h"
#include "runtime/pipeline.h"
#include "runtime/weights.h"

struct AdeptModel {
    AdeptDevice *device;
    Package package;
    Pipelines pipelines;
    void (*message)(void *user, bool is_error, const char *text);
    void *user;
    Block params, consts; // made by binding
    bool bound;
    uint64_t staging; // bytes of raw weights in memory while others are prepared (prepare.h)
};

// Ranges of `buffer` that the steps touch, whichever alternative and trip; the caller frees
// *ranges. `end` is behind the last of them. Dims of the run count with their upper bounds.
AdeptResult model_ranges(const AdeptModel *model, uint32_t first_step, uint32_t steps,
                         uint32_t buffer, BlockRange **ranges, uint32_t *count, uint64_t *end,
                         AdeptError *error);
// Reads a param to its place in a block.
AdeptResult model_read_param(const AdeptModel *model, const Weights *weights, const AdxParam *param,
                             const Block *block, AdeptError *error);
// adept_model_bind with weights that are open, or NULL where the model has no params.
AdeptResult model_bind(AdeptModel *model, const Weights *weights, AdeptError *error);
