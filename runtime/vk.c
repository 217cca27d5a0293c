#include "runtime/vk.h"
#include "runtime/error.h"

static AdeptResult missing(AdeptError *error, const char *name) {
    return error_set(error, ADEPT_ERROR_VULKAN, "the Vulkan driver has no function vk%s", name);
}

AdeptResult vk_load_global(VkTable *table, PFN_vkGetInstanceProcAddr get, AdeptError *error) {
    *table = (VkTable){.get = get};
#define LOAD(name)                                                                                 \
    table->name = (PFN_vk##name)get(NULL, "vk" #name);                                             \
    if (!table->name) return missing(error, #name);
    VK_GLOBAL_FUNCTIONS(LOAD)
#undef LOAD
    return ADEPT_OK;
}

AdeptResult vk_load_instance(VkTable *table, VkInstance instance, AdeptError *error) {
#define LOAD_OPTIONAL(name) table->name = (PFN_vk##name)table->get(instance, "vk" #name);
#define LOAD(name)                                                                                 \
    LOAD_OPTIONAL(name)                                                                            \
    if (!table->name) return missing(error, #name);
    VK_INSTANCE_FUNCTIONS(LOAD)
    VK_OPTIONAL_INSTANCE_FUNCTIONS(LOAD_OPTIONAL)
#undef LOAD
#undef LOAD_OPTIONAL
    return ADEPT_OK;
}

AdeptResult vk_load_device(VkTable *table, VkDevice device, AdeptError *error) {
#define LOAD_OPTIONAL(name)                                                                        \
    table->name = (PFN_vk##name)table->GetDeviceProcAddr(device, "vk" #name);
#define LOAD(name)                                                                                 \
    LOAD_OPTIONAL(name)                                                                            \
    if (!table->name) return missing(error, #name);
    VK_DEVICE_FUNCTIONS(LOAD)
    VK_OPTIONAL_DEVICE_FUNCTIONS(LOAD_OPTIONAL)
#undef LOAD
#undef LOAD_OPTIONAL
    return ADEPT_OK;
}

const char *vk_result_name(VkResult result) {
    switch (result) {
#define NAME(name)                                                                                 \
    case name: return #name;
        NAME(VK_NOT_READY)
        NAME(VK_TIMEOUT)
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        NAME(VK_ERROR_INITIALIZATION_FAILED)
        NAME(VK_ERROR_DEVICE_LOST)
        NAME(VK_ERROR_MEMORY_MAP_FAILED)
        NAME(VK_ERROR_LAYER_NOT_PRESENT)
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
        NAME(VK_ERROR_FEATURE_NOT_PRESENT)
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
        NAME(VK_ERROR_TOO_MANY_OBJECTS)
        NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
        NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE)
        NAME(VK_ERROR_UNKNOWN)
#undef NAME
    default: return "VkResult";
    }
}

AdeptResult vk_error(AdeptError *error, VkResult result, const char *call) {
    AdeptResult kind = result == VK_ERROR_OUT_OF_HOST_MEMORY     ? ADEPT_ERROR_MEMORY
                       : result == VK_ERROR_OUT_OF_DEVICE_MEMORY ? ADEPT_ERROR_DEVICE_MEMORY
                       : result == VK_ERROR_DEVICE_LOST          ? ADEPT_ERROR_DEVICE_LOST
                                                                 : ADEPT_ERROR_VULKAN;
    return error_set(error, kind, "vk%s failed: %s (%d)", call, vk_result_name(result),
                     (int)result);
}
