// The table through which the runtime makes every Vulkan call. It is filled from one
// vkGetInstanceProcAddr, so whoever hands that over (a host, a test that lets the nth call fail)
// sees all calls.
#pragma once

#include "runtime/result.h"
#include "runtime/vk_compat.h"

#include <stdbool.h>

#define VK_GLOBAL_FUNCTIONS(f) f(CreateInstance)

#define VK_INSTANCE_FUNCTIONS(f)                                                                   \
    f(DestroyInstance) f(EnumeratePhysicalDevices) f(GetPhysicalDeviceProperties2)                 \
        f(GetPhysicalDeviceFeatures2) f(GetPhysicalDeviceMemoryProperties)                         \
            f(GetPhysicalDeviceQueueFamilyProperties) f(EnumerateDeviceExtensionProperties)        \
                f(CreateDevice) f(GetDeviceProcAddr)

#define VK_DEVICE_FUNCTIONS(f)                                                                     \
    f(DestroyDevice) f(GetDeviceQueue) f(QueueSubmit) f(AllocateMemory) f(FreeMemory) f(MapMemory) \
        f(CreateBuffer) f(DestroyBuffer) f(GetBufferMemoryRequirements) f(BindBufferMemory)        \
            f(GetBufferDeviceAddress) f(CreateShaderModule) f(DestroyShaderModule) f(              \
                CreateDescriptorSetLayout) f(DestroyDescriptorSetLayout) f(CreatePipelineLayout)   \
                f(DestroyPipelineLayout) f(CreateComputePipelines) f(DestroyPipeline)              \
                    f(CreatePipelineCache) f(DestroyPipelineCache) f(GetPipelineCacheData) f(      \
                        CreateDescriptorPool) f(DestroyDescriptorPool) f(AllocateDescriptorSets)   \
                        f(UpdateDescriptorSets) f(CreateCommandPool) f(DestroyCommandPool)         \
                            f(AllocateCommandBuffers) f(FreeCommandBuffers) f(BeginCommandBuffer)  \
                                f(EndCommandBuffer) f(CmdBindPipeline) f(CmdBindDescriptorSets)    \
                                    f(CmdDispatch) f(CmdDispatchIndirect) f(CmdPipelineBarrier)    \
                                        f(CmdPushConstants) f(CmdCopyBuffer) f(CmdFillBuffer)      \
                                            f(CmdResetQueryPool) f(CmdWriteTimestamp)              \
                                                f(CreateQueryPool) f(DestroyQueryPool)             \
                                                    f(GetQueryPoolResults) f(CreateSemaphore)      \
                                                        f(DestroySemaphore) f(WaitSemaphores)      \
                                                            f(GetSemaphoreCounterValue)

// Functions of extensions: NULL where the extension is not there.
#define VK_OPTIONAL_INSTANCE_FUNCTIONS(f) f(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)
#define VK_OPTIONAL_DEVICE_FUNCTIONS(f)   f(GetMemoryHostPointerPropertiesEXT)

typedef struct VkTable {
    PFN_vkGetInstanceProcAddr get;
#define VK_MEMBER(name) PFN_vk##name name;
    VK_GLOBAL_FUNCTIONS(VK_MEMBER)
    VK_INSTANCE_FUNCTIONS(VK_MEMBER)
    VK_OPTIONAL_INSTANCE_FUNCTIONS(VK_MEMBER)
    VK_DEVICE_FUNCTIONS(VK_MEMBER)
    VK_OPTIONAL_DEVICE_FUNCTIONS(VK_MEMBER)
#undef VK_MEMBER
} VkTable;

// Each fills its part; ADEPT_ERROR_VULKAN names a function that is missing.
AdeptResult vk_load_global(VkTable *table, PFN_vkGetInstanceProcAddr get, AdeptError *error);
AdeptResult vk_load_instance(VkTable *table, VkInstance instance, AdeptError *error);
AdeptResult vk_load_device(VkTable *table, VkDevice device, AdeptError *error);

// The specification's name of a result ("VK_ERROR_DEVICE_LOST"), or "VkResult".
const char *vk_result_name(VkResult result);
// What a failed call means to the caller; `call` is the function's name without "vk".
AdeptResult vk_error(AdeptError *error, VkResult result, const char *call);
