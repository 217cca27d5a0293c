// The part of the public interface below models: dtypes, devices, buffers, tensors. Programs
// include runtime/adept.h, which states the rules for threads, ownership, units and errors.
#pragma once

#include "runtime/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ADEPT_RANK_MAX = 8, ADEPT_NAME_MAX = 256 };

typedef struct AdeptDevice AdeptDevice;
typedef struct AdeptBuffer AdeptBuffer;

// Element types; the codes are those of the package (runtime/format.h).
typedef enum AdeptDType {
    ADEPT_F32 = 1,
    ADEPT_F16,
    ADEPT_BF16,
    ADEPT_F8E4M3,
    ADEPT_F8E5M2,
    ADEPT_I32,
    ADEPT_U32,
    ADEPT_I8,
    ADEPT_U8,
    ADEPT_BOOL
} AdeptDType;

// The language's name of a dtype ("f32"); NULL for a number that is none.
const char *adept_dtype_name(AdeptDType dtype);
// Bytes of one element; 0 for a number that is none.
size_t adept_dtype_size(AdeptDType dtype);
// The runtime's version, "major.minor.patch".
const char *adept_version(void);

// ---- devices ---------------------------------------------------------------------------------

typedef enum AdeptDeviceKind {
    ADEPT_DEVICE_DISCRETE,
    ADEPT_DEVICE_INTEGRATED,
    ADEPT_DEVICE_SOFTWARE,
    ADEPT_DEVICE_OTHER
} AdeptDeviceKind;

typedef struct AdeptDeviceInfo {
    char name[ADEPT_NAME_MAX];
    char driver[ADEPT_NAME_MAX]; // name and version text of the driver
    AdeptDeviceKind kind;
    uint32_t index;               // number to open it by
    uint32_t api_version;         // VK_MAKE_API_VERSION
    uint64_t memory;              // bytes of the largest device-local heap
    bool usable;                  // whether it has all that Adept needs
    char missing[ADEPT_NAME_MAX]; // what it lacks, "" where usable
    // What it claims but does wrong, and is not used for: found when it is opened
    // (adept_device_info of an open device), "" where nothing is.
    char failed[2 * ADEPT_NAME_MAX];
} AdeptDeviceInfo;

// Writes up to `capacity` devices, in the loader's order, and the number there are to `count`.
// `infos` may be NULL with capacity 0. ADEPT_ERROR_NO_DEVICE where there is no driver; the detail
// then names what to install.
AdeptResult adept_device_list(AdeptDeviceInfo *infos, uint32_t capacity, uint32_t *count,
                              AdeptError *error);

// Opens a device with a VkDevice of its own. `choice` is its number, or part of its name (letter
// case does not matter), or NULL or "": then the environment's ADEPT_DEVICE, or else the first
// discrete, integrated, software one that is usable. What it claims of cooperative matrices and of
// rounding is tried first, once a driver; the environment's ADEPT_SELF_TEST=0 leaves that out.
AdeptResult adept_device_open(const char *choice, AdeptDevice **device, AdeptError *error);

// What a host that has a VkDevice already hands over. It stays the host's and outlives the
// AdeptDevice. The device must be made with bufferDeviceAddress, timelineSemaphore and what else
// the host wants used; `features` is the chain given to vkCreateDevice, `extensions` those enabled.
// `lock` and `unlock` guard the queue where the host submits to it from other threads (may be
// NULL).
typedef struct AdeptHostDevice {
    PFN_vkGetInstanceProcAddr get_instance_proc_addr; // NULL: the linked loader's
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    const VkPhysicalDeviceFeatures2 *features;
    const char *const *extensions;
    uint32_t extension_count;
    uint32_t queue_family; // must support compute
    VkQueue queue;
    void (*lock)(void *user);
    void (*unlock)(void *user);
    void *user;
} AdeptHostDevice;

AdeptResult adept_device_adopt(const AdeptHostDevice *host, AdeptDevice **device,
                               AdeptError *error);
void adept_device_close(AdeptDevice *device);
// Lives as long as the device.
const AdeptDeviceInfo *adept_device_info(const AdeptDevice *device);

// ---- buffers and tensors ---------------------------------------------------------------------

// Device memory of `size` bytes (at least 1), contents undefined.
AdeptResult adept_buffer_create(AdeptDevice *device, uint64_t size, AdeptBuffer **buffer,
                                AdeptError *error);
// Uses a buffer of the host's, which outlives it: made on the adopted device with usage
// STORAGE_BUFFER, SHADER_DEVICE_ADDRESS, TRANSFER_SRC and TRANSFER_DST, its memory bound and
// allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT. Its address must divide by 16.
AdeptResult adept_buffer_import(AdeptDevice *device, VkBuffer handle, VkBufferUsageFlags usage,
                                uint64_t size, AdeptBuffer **buffer, AdeptError *error);
// No run that uses it may be in flight.
void adept_buffer_destroy(AdeptBuffer *buffer);
// Copy between host and device memory and wait for the end. The range lies inside the buffer.
AdeptResult adept_buffer_write(AdeptBuffer *buffer, uint64_t offset, const void *data,
                               uint64_t size, AdeptError *error);
AdeptResult adept_buffer_read(AdeptBuffer *buffer, uint64_t offset, void *data, uint64_t size,
                              AdeptError *error);

// A tensor handed to a run: host memory (`data`) or device memory (`buffer` and `offset`, which
// divides by 16), exactly one of them unless the tensor is empty. The caller owns what it points
// at. For an output in host memory `size` is the room there; the run fills in rank and shape.
typedef struct AdeptTensor {
    const char *name; // of the input or output
    AdeptDType dtype;
    uint32_t rank;
    int64_t shape[ADEPT_RANK_MAX];
    void *data;
    AdeptBuffer *buffer;
    uint64_t offset;
    uint64_t size;
} AdeptTensor;

#ifdef __cplusplus
}
#endif
