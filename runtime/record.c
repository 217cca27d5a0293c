#include "runtime/record.h"
#include "runtime/error.h"

#include <string.h>

static AdeptResult create_set(AdeptDevice *device, const Pipelines *pipelines, uint32_t range,
                              RunBlock *block, AdeptError *error) {
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkResult result = device->vk.CreateDescriptorPool(device->handle, &pool, NULL, &block->pool);
    if (result) {
        block->pool = VK_NULL_HANDLE;
        return vk_error(error, result, "CreateDescriptorPool");
    }
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = block->pool,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &pipelines->set_layout};
    result = device->vk.AllocateDescriptorSets(device->handle, &set, &block->set);
    if (result) return vk_error(error, result, "AllocateDescriptorSets");
    VkDescriptorBufferInfo buffer = {block->memory.buffer, 0, range};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = block->set,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                  .pBufferInfo = &buffer};
    device->vk.UpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
    return ADEPT_OK;
}

AdeptResult run_block_create(AdeptDevice *device, const Pipelines *pipelines,
                             const Launches *launches, RunBlock *block, AdeptError *error) {
    uint32_t range = launches->package->block_range;
    if (!range) range = ADX_BLOCK_ALIGN;
    *block = (RunBlock){0};
    // The descriptor shows `range` bytes from each slice on, so the last needs them behind it.
    AdeptResult result = memory_create(device, (uint64_t)launches->block_size + range, MEMORY_BLOCK,
                                       &block->memory, error);
    if (!result) result = create_set(device, pipelines, range, block, error);
    if (result) {
        run_block_destroy(device, block);
        return result;
    }
    if (launches->block_size) memcpy(block->memory.mapped, launches->block, launches->block_size);
    return ADEPT_OK;
}

void run_block_destroy(AdeptDevice *device, RunBlock *block) {
    if (block->pool) device->vk.DestroyDescriptorPool(device->handle, block->pool, NULL);
    memory_destroy(device, &block->memory);
    *block = (RunBlock){0};
}

// Between kernels, or after them where the host reads what they wrote.
static void barrier(AdeptDevice *device, VkCommandBuffer commands, bool to_host) {
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                              .dstAccessMask =
                                  to_host ? VK_ACCESS_HOST_READ_BIT
                                          : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    device->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  to_host ? VK_PIPELINE_STAGE_HOST_BIT
                                          : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  0, 1, &memory, 0, NULL, 0, NULL);
}

void launches_append(AdeptDevice *device, const Pipelines *pipelines, const Launches *launches,
                     const RunBlock *block, VkQueryPool queries, VkCommandBuffer commands) {
    const VkTable *vk = &device->vk;
    VkPipeline bound = VK_NULL_HANDLE;
    barrier(device, commands, false);
    if (queries) {
        vk->CmdResetQueryPool(commands, queries, 0, launches->count + 1);
        vk->CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 0);
    }
    for (uint32_t i = 0; i < launches->count; i++) {
        const Launch *launch = &launches->launches[i];
        uint32_t kernel = launches->package->dispatches[launch->dispatch].kernel;
        if (i && (launch->barrier || queries)) barrier(device, commands, false);
        if (pipelines->handles[kernel] != bound) {
            bound = pipelines->handles[kernel];
            vk->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bound);
        }
        vk->CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines->layout, 0, 1,
                                  &block->set, 1, &launch->slice);
        if (launch->indirect == LAUNCH_DIRECT)
            vk->CmdDispatch(commands, launch->grid[0], launch->grid[1], launch->grid[2]);
        else
            vk->CmdDispatchIndirect(commands, block->memory.buffer, launch->indirect);
        if (queries)
            vk->CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, i + 1);
    }
}

void record_end_barrier(AdeptDevice *device, VkCommandBuffer commands) {
    barrier(device, commands, true);
}

void launches_record(AdeptDevice *device, const Pipelines *pipelines, const Launches *launches,
                     const RunBlock *block, VkQueryPool queries, VkCommandBuffer commands) {
    launches_append(device, pipelines, launches, block, queries, commands);
    record_end_barrier(device, commands);
}
