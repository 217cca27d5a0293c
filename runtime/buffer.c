#include "runtime/error.h"
#include "runtime/transfer.h"

#include <stdlib.h>

AdeptResult adept_buffer_create(AdeptDevice *device, uint64_t size, AdeptBuffer **out,
                                AdeptError *error) {
    *out = NULL;
    if (!size) return error_set(error, ADEPT_ERROR_ARGUMENT, "a buffer has at least one byte");
    AdeptBuffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) return error_memory(error);
    buffer->device = device;
    AdeptResult result = memory_create(device, size, MEMORY_TENSORS, &buffer->memory, error);
    if (result) {
        free(buffer);
        return result;
    }
    *out = buffer;
    return ADEPT_OK;
}

AdeptResult adept_buffer_import(AdeptDevice *device, VkBuffer handle, VkBufferUsageFlags usage,
                                uint64_t size, AdeptBuffer **out, AdeptError *error) {
    static const VkBufferUsageFlags needed =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    *out = NULL;
    if (!size || (usage & needed) != needed)
        return error_set(error, ADEPT_ERROR_ARGUMENT,
                         "an imported buffer has usage STORAGE_BUFFER, SHADER_DEVICE_ADDRESS, "
                         "TRANSFER_SRC and TRANSFER_DST and at least one byte");
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                      .buffer = handle};
    VkDeviceAddress address = device->vk.GetBufferDeviceAddress(device->handle, &info);
    if (!address || address % 16)
        return error_set(error, ADEPT_ERROR_ARGUMENT,
                         "the buffer's device address 0x%llx does not divide by 16",
                         (unsigned long long)address);
    AdeptBuffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) return error_memory(error);
    *buffer = (AdeptBuffer){device, {.buffer = handle, .size = size, .address = address}, true};
    *out = buffer;
    return ADEPT_OK;
}

void adept_buffer_destroy(AdeptBuffer *buffer) {
    if (!buffer) return;
    if (!buffer->imported) memory_destroy(buffer->device, &buffer->memory);
    free(buffer);
}

static AdeptResult check_range(const AdeptBuffer *buffer, uint64_t offset, uint64_t size,
                               AdeptError *error) {
    if (offset <= buffer->memory.size && size <= buffer->memory.size - offset) return ADEPT_OK;
    return error_set(error, ADEPT_ERROR_ARGUMENT,
                     "%llu bytes at %llu do not lie in a buffer of %llu", (unsigned long long)size,
                     (unsigned long long)offset, (unsigned long long)buffer->memory.size);
}

AdeptResult adept_buffer_write(AdeptBuffer *buffer, uint64_t offset, const void *data,
                               uint64_t size, AdeptError *error) {
    AdeptResult result = check_range(buffer, offset, size, error);
    return result ? result
                  : transfer_write(buffer->device, &buffer->memory, offset, data, size, error);
}

AdeptResult adept_buffer_read(AdeptBuffer *buffer, uint64_t offset, void *data, uint64_t size,
                              AdeptError *error) {
    AdeptResult result = check_range(buffer, offset, size, error);
    return result ? result
                  : transfer_read(buffer->device, &buffer->memory, offset, data, size, error);
}
