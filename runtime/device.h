// A Vulkan device as the runtime's other files see it. AdeptDevice is written when it is made and
// only read afterwards, except by its queue, which device_submit guards.
#pragma once

#include "runtime/adept_device.h"
#include "runtime/vk.h"

#include <pthread.h>

enum { DEVICE_FRAGMENTS_MAX = 32 };

typedef struct DeviceFragment { // subgroup scope; dtypes are those of runtime/format.h
    uint16_t m, n, k;
    uint8_t ab, acc;
} DeviceFragment;

// What the device can do for kernels; the numbers of a target profile.
typedef struct DeviceCaps {
    uint64_t features;                                 // bits of ADX_FEATURES
    uint32_t subgroup_size;                            // where none is required
    uint32_t subgroup_min, subgroup_max;               // sizes that can be required
    uint32_t shared_bytes, max_invocations, max_local; // of a workgroup; max_local: along x
    uint32_t max_grid[3];
    uint32_t slice_align; // of a dispatch's arguments in the run block, bytes
    uint32_t max_uniform_range;
    uint32_t compute_units; // 0: unknown
    float timestamp_period; // nanoseconds a tick; 0: no timestamps
    uint64_t timestamp_mask;
    uint64_t host_pointer_alignment; // of memory that is imported; 0: it cannot be
    uint32_t vendor, device, driver_version;
    uint8_t cache_uuid[VK_UUID_SIZE];
    DeviceFragment fragments[DEVICE_FRAGMENTS_MAX];
    uint32_t fragment_count;
} DeviceCaps;

// The features that are asked for, and those a device has; linked for Vulkan by device_chain_link.
typedef struct DeviceChain {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroup;
    VkPhysicalDeviceMaintenance4Features maintenance4;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperative;
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;
} DeviceChain;

typedef struct DeviceExtensions {
    bool subgroup_size_control, cooperative_matrix, bfloat16, external_memory_host, sm_builtins;
} DeviceExtensions;

struct AdeptDevice {
    VkTable vk;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice handle;
    VkQueue queue;
    uint32_t family;
    bool adopted; // instance and device are the host's
    void (*host_lock)(void *user);
    void (*host_unlock)(void *user);
    void *host_user;
    pthread_mutex_t queue_lock;
    AdeptDeviceInfo info;
    DeviceCaps caps;
    VkPhysicalDeviceMemoryProperties memory;
    bool guard; // ADEPT_GUARD=1
    struct Transfer *transfer;
};

// adept_device_open over any loader.
AdeptResult device_open_loader(PFN_vkGetInstanceProcAddr get, const char *choice,
                               AdeptDevice **device, AdeptError *error);
// Submits under the queue's lock; does not wait.
AdeptResult device_submit(AdeptDevice *device, const VkSubmitInfo *info, AdeptError *error);

// ---- device_caps.c ---------------------------------------------------------------------------

// Links the members that the device and its extensions know, returns the head.
VkPhysicalDeviceFeatures2 *device_chain_link(DeviceChain *chain, uint32_t api_version,
                                             const DeviceExtensions *extensions);
// Keeps of what the device has only what the runtime uses.
void device_chain_limit(DeviceChain *chain);
// Reads the members from a chain of the host's, in whatever structures it used.
void device_chain_read(DeviceChain *chain, const VkPhysicalDeviceFeatures2 *host);
// Describes the device; info->usable and info->missing say whether it can be used with `chain`.
void device_describe(const VkTable *vk, VkPhysicalDevice physical, const DeviceChain *chain,
                     const DeviceExtensions *extensions, AdeptDeviceInfo *info, DeviceCaps *caps);
