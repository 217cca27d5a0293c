// Recording of launches into a command buffer, with the run block that they read.
#pragma once

#include "runtime/launch.h"
#include "runtime/pipeline.h"

// The memory of one block and the descriptor set that shows it to kernels.
typedef struct RunBlock {
    Memory memory;
    VkDescriptorPool pool;
    VkDescriptorSet set;
} RunBlock;

// Holds a copy of launches->block. On failure nothing is left to destroy.
AdeptResult run_block_create(AdeptDevice *device, const Pipelines *pipelines,
                             const Launches *launches, RunBlock *block, AdeptError *error);
void run_block_destroy(AdeptDevice *device, RunBlock *block);

// Records all launches behind a barrier against whatever ran on the queue before. With `queries`
// (of count + 1 timestamps) every launch is timed alone, so barriers stand between all of them.
void launches_append(AdeptDevice *device, const Pipelines *pipelines, const Launches *launches,
                     const RunBlock *block, VkQueryPool queries, VkCommandBuffer commands);
// After the last launches of a submission: the host sees what they wrote.
void record_end_barrier(AdeptDevice *device, VkCommandBuffer commands);
// The two together.
void launches_record(AdeptDevice *device, const Pipelines *pipelines, const Launches *launches,
                     const RunBlock *block, VkQueryPool queries, VkCommandBuffer commands);
