#include "tests/support/vulkan_discrete.h"

#include <string.h>

// Memory types of the device seen: 0 is device-local, 1 is host-visible. Both are the real type 0,
// which on software devices is everything at once.
enum { LOCAL_TYPE, HOST_TYPE, TYPES };

static PFN_vkGetPhysicalDeviceMemoryProperties real_properties;
static PFN_vkGetBufferMemoryRequirements real_requirements;
static PFN_vkAllocateMemory real_allocate;
static PFN_vkGetDeviceProcAddr real_get_device;

static VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device,
                                             VkPhysicalDeviceMemoryProperties *out) {
    real_properties(device, out);
    out->memoryTypeCount = TYPES;
    out->memoryTypes[LOCAL_TYPE] = (VkMemoryType){VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    out->memoryTypes[HOST_TYPE] =
        (VkMemoryType){VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                           VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                       0};
}

static VKAPI_ATTR void VKAPI_CALL requirements(VkDevice device, VkBuffer buffer,
                                               VkMemoryRequirements *out) {
    real_requirements(device, buffer, out);
    out->memoryTypeBits = (1u << TYPES) - 1;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *callbacks,
                                               VkDeviceMemory *memory) {
    VkMemoryAllocateInfo real = *info;
    real.memoryTypeIndex = 0;
    return real_allocate(device, &real, callbacks, memory);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name);

static PFN_vkVoidFunction replace(const char *name, PFN_vkVoidFunction function) {
#define TAKE(id, type, real, stand_in)                                                             \
    if (function && !strcmp(name, id)) {                                                           \
        real = (type)function;                                                                     \
        return (PFN_vkVoidFunction)stand_in;                                                       \
    }
    TAKE("vkGetPhysicalDeviceMemoryProperties", PFN_vkGetPhysicalDeviceMemoryProperties,
         real_properties, properties)
    TAKE("vkGetBufferMemoryRequirements", PFN_vkGetBufferMemoryRequirements, real_requirements,
         requirements)
    TAKE("vkAllocateMemory", PFN_vkAllocateMemory, real_allocate, allocate)
    TAKE("vkGetDeviceProcAddr", PFN_vkGetDeviceProcAddr, real_get_device, get_device)
#undef TAKE
    return function;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name) {
    return replace(name, real_get_device(device, name));
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vulkan_discrete(VkInstance instance, const char *name) {
    return replace(name, vkGetInstanceProcAddr(instance, name));
}
