// The pipelines of a package: one a kernel that this device can need, made by several threads.
#pragma once

#include "runtime/device.h"
#include "runtime/package.h"

typedef struct Pipelines {
    VkDescriptorSetLayout set_layout; // binding 0: the run block, a dynamic uniform buffer
    VkPipelineLayout layout;
    VkPipeline *handles; // a kernel; VK_NULL_HANDLE where this device never takes it
    uint32_t count;
} Pipelines;

// `cache_dir` as in AdeptModelOptions.
AdeptResult pipelines_create(AdeptDevice *device, const Package *package, const char *cache_dir,
                             Pipelines *pipelines, AdeptError *error);
void pipelines_destroy(AdeptDevice *device, Pipelines *pipelines);

// The SPIR-V of one kernel.
typedef struct PipelineCode {
    const uint32_t *words;
    uint32_t count;
    uint32_t subgroup;   // the size it needs, where the device lets one choose; 0: any
    uint32_t local_size; // whole subgroups of that size are then promised
} PipelineCode;

// `*made` is VK_NULL_HANDLE where it fails, `*call` what was called last.
VkResult pipeline_make(AdeptDevice *device, const PipelineCode *code, VkPipelineLayout layout,
                       VkPipelineCache cache, VkPipeline *made, const char **call);

// Whether the device meets an alternative's guard, its conditions on dims left aside.
bool pipeline_alternative_fits(const DeviceCaps *caps, const Package *package,
                               const AdxAlternative *alternative);
