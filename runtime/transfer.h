// Copies between host and device that wait for their end. One per device, guarded by a lock; the
// caller sees to it that no run uses the memory meanwhile.
#pragma once

#include "runtime/memory.h"

typedef struct Transfer {
    pthread_mutex_t lock;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkSemaphore semaphore; // timeline
    uint64_t value;
    Memory staging;
} Transfer;

AdeptResult transfer_write(AdeptDevice *device, const Memory *memory, uint64_t offset,
                           const void *data, uint64_t size, AdeptError *error);
AdeptResult transfer_read(AdeptDevice *device, const Memory *memory, uint64_t offset, void *data,
                          uint64_t size, AdeptError *error);
AdeptResult transfer_copy(AdeptDevice *device, const Memory *to, uint64_t to_offset,
                          const Memory *from, uint64_t from_offset, uint64_t size,
                          AdeptError *error);
// Fills with a 32-bit pattern; offset and size divide by 4.
AdeptResult transfer_fill(AdeptDevice *device, const Memory *memory, uint64_t offset, uint64_t size,
                          uint32_t pattern, AdeptError *error);
// Records with `record`, submits and waits.
AdeptResult transfer_run(AdeptDevice *device, void (*record)(void *user, VkCommandBuffer commands),
                         void *user, AdeptError *error);
AdeptResult transfer_open(AdeptDevice *device, AdeptError *error);
void transfer_close(AdeptDevice *device);

// A timeline semaphore that begins at 0, and waiting for a value of it (nanoseconds).
AdeptResult timeline_create(AdeptDevice *device, VkSemaphore *semaphore, AdeptError *error);
AdeptResult timeline_wait(AdeptDevice *device, VkSemaphore semaphore, uint64_t value,
                          uint64_t timeout, AdeptError *error);
// Whether it reaches the value within some 50 microseconds. Asking again and again sees the end of
// a short run three times sooner than waiting does (measured on an H200).
bool timeline_reached(AdeptDevice *device, VkSemaphore semaphore, uint64_t value);
