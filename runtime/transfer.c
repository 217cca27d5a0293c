#include "runtime/transfer.h"
#include "runtime/error.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STAGING_SIZE = 16 << 20, SPIN_NANOSECONDS = 50000 };

AdeptResult timeline_create(AdeptDevice *device, VkSemaphore *semaphore, AdeptError *error) {
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkResult result = device->vk.CreateSemaphore(device->handle, &info, NULL, semaphore);
    if (!result) return ADEPT_OK;
    *semaphore = VK_NULL_HANDLE;
    return vk_error(error, result, "CreateSemaphore");
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

bool timeline_reached(AdeptDevice *device, VkSemaphore semaphore, uint64_t value) {
    uint64_t start = now(), reached;
    do {
        if (device->vk.GetSemaphoreCounterValue(device->handle, semaphore, &reached) != VK_SUCCESS)
            return false;
        if (reached >= value) return true;
    } while (now() - start < SPIN_NANOSECONDS);
    return false;
}

AdeptResult timeline_wait(AdeptDevice *device, VkSemaphore semaphore, uint64_t value,
                          uint64_t timeout, AdeptError *error) {
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &semaphore,
                                .pValues = &value};
    VkResult result = device->vk.WaitSemaphores(device->handle, &info, timeout);
    if (result == VK_TIMEOUT)
        return error_set(error, ADEPT_TIMEOUT, "the device did not end in %llu ns",
                         (unsigned long long)timeout);
    return result ? vk_error(error, result, "WaitSemaphores") : ADEPT_OK;
}

AdeptResult transfer_open(AdeptDevice *device, AdeptError *error) {
    Transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return error_memory(error);
    if (pthread_mutex_init(&transfer->lock, NULL) != 0) {
        free(transfer);
        return error_memory(error);
    }
    device->transfer = transfer;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = device->family};
    VkResult result = device->vk.CreateCommandPool(device->handle, &pool, NULL, &transfer->pool);
    if (result) {
        transfer->pool = VK_NULL_HANDLE;
        return vk_error(error, result, "CreateCommandPool");
    }
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = transfer->pool,
                                            .commandBufferCount = 1};
    result = device->vk.AllocateCommandBuffers(device->handle, &commands, &transfer->commands);
    if (result) return vk_error(error, result, "AllocateCommandBuffers");
    return timeline_create(device, &transfer->semaphore, error);
}

void transfer_close(AdeptDevice *device) {
    Transfer *transfer = device->transfer;
    if (!transfer) return;
    memory_destroy(device, &transfer->staging);
    if (transfer->semaphore) device->vk.DestroySemaphore(device->handle, transfer->semaphore, NULL);
    if (transfer->pool) device->vk.DestroyCommandPool(device->handle, transfer->pool, NULL);
    pthread_mutex_destroy(&transfer->lock);
    free(transfer);
    device->transfer = NULL;
}

static void everything_barrier(AdeptDevice *device, VkCommandBuffer commands) {
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                               .dstAccessMask =
                                   VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    device->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                  VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                                  0, 1, &barrier, 0, NULL, 0, NULL);
}

// With the lock held.
static AdeptResult run_locked(AdeptDevice *device,
                              void (*record)(void *user, VkCommandBuffer commands), void *user,
                              AdeptError *error) {
    Transfer *transfer = device->transfer;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkResult result = device->vk.BeginCommandBuffer(transfer->commands, &begin);
    if (result) return vk_error(error, result, "BeginCommandBuffer");
    // Whatever the queue did before and does afterwards sees these copies, and so does the host.
    everything_barrier(device, transfer->commands);
    record(user, transfer->commands);
    everything_barrier(device, transfer->commands);
    result = device->vk.EndCommandBuffer(transfer->commands);
    if (result) return vk_error(error, result, "EndCommandBuffer");
    uint64_t value = transfer->value + 1;
    VkTimelineSemaphoreSubmitInfo timeline = {.sType =
                                                  VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .signalSemaphoreValueCount = 1,
                                              .pSignalSemaphoreValues = &value};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &timeline,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &transfer->commands,
                           .signalSemaphoreCount = 1,
                           .pSignalSemaphores = &transfer->semaphore};
    AdeptResult submitted = device_submit(device, &submit, error);
    if (submitted) return submitted;
    transfer->value = value;
    return timeline_wait(device, transfer->semaphore, value, UINT64_MAX, error);
}

AdeptResult transfer_run(AdeptDevice *device, void (*record)(void *user, VkCommandBuffer commands),
                         void *user, AdeptError *error) {
    pthread_mutex_lock(&device->transfer->lock);
    AdeptResult result = run_locked(device, record, user, error);
    pthread_mutex_unlock(&device->transfer->lock);
    return result;
}

typedef struct Copy {
    AdeptDevice *device;
    VkBuffer to, from;
    VkBufferCopy range;
} Copy;

static void record_copy(void *user, VkCommandBuffer commands) {
    const Copy *copy = user;
    copy->device->vk.CmdCopyBuffer(commands, copy->from, copy->to, 1, &copy->range);
}

// Staging for whichever direction: it is read by the host too.
static AdeptResult need_staging(AdeptDevice *device, AdeptError *error) {
    Memory *staging = &device->transfer->staging;
    if (staging->buffer) return ADEPT_OK;
    return memory_create(device, STAGING_SIZE, MEMORY_READBACK, staging, error);
}

AdeptResult transfer_write(AdeptDevice *device, const Memory *memory, uint64_t offset,
                           const void *data, uint64_t size, AdeptError *error) {
    if (!size) return ADEPT_OK;
    if (memory->mapped) {
        memcpy(memory->mapped + offset, data, size);
        return ADEPT_OK;
    }
    Transfer *transfer = device->transfer;
    pthread_mutex_lock(&transfer->lock);
    AdeptResult result = need_staging(device, error);
    for (uint64_t done = 0; !result && done < size;) {
        uint64_t part = size - done < STAGING_SIZE ? size - done : STAGING_SIZE;
        memcpy(transfer->staging.mapped, (const uint8_t *)data + done, part);
        Copy copy = {device,
                     memory->buffer,
                     transfer->staging.buffer,
                     {0, memory->start + offset + done, part}};
        result = run_locked(device, record_copy, &copy, error);
        done += part;
    }
    pthread_mutex_unlock(&transfer->lock);
    return result;
}

AdeptResult transfer_read(AdeptDevice *device, const Memory *memory, uint64_t offset, void *data,
                          uint64_t size, AdeptError *error) {
    if (!size) return ADEPT_OK;
    if (memory->mapped && memory->readable) {
        memcpy(data, memory->mapped + offset, size);
        return ADEPT_OK;
    }
    Transfer *transfer = device->transfer;
    pthread_mutex_lock(&transfer->lock);
    AdeptResult result = need_staging(device, error);
    for (uint64_t done = 0; !result && done < size;) {
        uint64_t part = size - done < STAGING_SIZE ? size - done : STAGING_SIZE;
        Copy copy = {device,
                     transfer->staging.buffer,
                     memory->buffer,
                     {memory->start + offset + done, 0, part}};
        result = run_locked(device, record_copy, &copy, error);
        if (!result) memcpy((uint8_t *)data + done, transfer->staging.mapped, part);
        done += part;
    }
    pthread_mutex_unlock(&transfer->lock);
    return result;
}

AdeptResult transfer_copy(AdeptDevice *device, const Memory *to, uint64_t to_offset,
                          const Memory *from, uint64_t from_offset, uint64_t size,
                          AdeptError *error) {
    if (!size) return ADEPT_OK;
    Copy copy = {
        device, to->buffer, from->buffer, {from->start + from_offset, to->start + to_offset, size}};
    return transfer_run(device, record_copy, &copy, error);
}

typedef struct Fill {
    AdeptDevice *device;
    VkBuffer buffer;
    uint64_t offset, size;
    uint32_t pattern;
} Fill;

static void record_fill(void *user, VkCommandBuffer commands) {
    const Fill *fill = user;
    fill->device->vk.CmdFillBuffer(commands, fill->buffer, fill->offset, fill->size, fill->pattern);
}

AdeptResult transfer_fill(AdeptDevice *device, const Memory *memory, uint64_t offset, uint64_t size,
                          uint32_t pattern, AdeptError *error) {
    if (!size) return ADEPT_OK;
    Fill fill = {device, memory->buffer, memory->start + offset, size, pattern};
    return transfer_run(device, record_fill, &fill, error);
}
