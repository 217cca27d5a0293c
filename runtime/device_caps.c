#include "runtime/device.h"
#include "runtime/format.h"

#include <stdio.h>
#include <string.h>

static void *append(void *tail, void *member) {
    ((VkBaseOutStructure *)tail)->pNext = member;
    return member;
}

VkPhysicalDeviceFeatures2 *device_chain_link(DeviceChain *chain, uint32_t api_version,
                                             const DeviceExtensions *extensions) {
    bool vulkan13 = api_version >= VK_API_VERSION_1_3;
    chain->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    chain->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    chain->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    chain->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    chain->maintenance4.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES;
    chain->cooperative.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
    chain->bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
    void *tail = &chain->core;
    if (api_version >= VK_API_VERSION_1_2) tail = append(append(tail, &chain->v11), &chain->v12);
    if (vulkan13 || extensions->subgroup_size_control) tail = append(tail, &chain->subgroup);
    if (vulkan13) tail = append(tail, &chain->maintenance4);
    if (extensions->cooperative_matrix) tail = append(tail, &chain->cooperative);
    if (extensions->bfloat16) tail = append(tail, &chain->bfloat16);
    append(tail, NULL);
    return &chain->core;
}

void device_chain_limit(DeviceChain *chain) {
    DeviceChain had = *chain;
    memset(&chain->core.features, 0, sizeof chain->core.features);
    chain->core.features.shaderInt16 = had.core.features.shaderInt16;
    chain->v11 = (VkPhysicalDeviceVulkan11Features){
        .sType = had.v11.sType,
        .pNext = had.v11.pNext,
        .storageBuffer16BitAccess = had.v11.storageBuffer16BitAccess,
    };
    chain->v12 = (VkPhysicalDeviceVulkan12Features){
        .sType = had.v12.sType,
        .pNext = had.v12.pNext,
        .storageBuffer8BitAccess = had.v12.storageBuffer8BitAccess,
        .shaderFloat16 = had.v12.shaderFloat16,
        .shaderInt8 = had.v12.shaderInt8,
        .scalarBlockLayout = had.v12.scalarBlockLayout,
        .timelineSemaphore = had.v12.timelineSemaphore,
        .bufferDeviceAddress = had.v12.bufferDeviceAddress,
        .vulkanMemoryModel = had.v12.vulkanMemoryModel,
        .vulkanMemoryModelDeviceScope = had.v12.vulkanMemoryModelDeviceScope,
    };
    chain->cooperative.cooperativeMatrixRobustBufferAccess = VK_FALSE;
}

void device_chain_read(DeviceChain *chain, const VkPhysicalDeviceFeatures2 *host) {
#define COPY(to, type, member) (to).member |= ((const type *)(const void *)at)->member
#define WHOLE(type_id, type, to)                                                                   \
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type_id:                                              \
        (to) = *(const type *)(const void *)at;                                                    \
        break
#define ONE(type_id, type, to, a, b)                                                               \
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type_id:                                              \
        COPY(to, type, a);                                                                         \
        COPY(to, type, b);                                                                         \
        break
    for (const VkBaseInStructure *at = (const void *)host; at; at = at->pNext) {
        switch ((uint32_t)at->sType) {
            WHOLE(FEATURES_2, VkPhysicalDeviceFeatures2, chain->core);
            WHOLE(VULKAN_1_1_FEATURES, VkPhysicalDeviceVulkan11Features, chain->v11);
            WHOLE(VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features, chain->v12);
            WHOLE(SUBGROUP_SIZE_CONTROL_FEATURES, VkPhysicalDeviceSubgroupSizeControlFeatures,
                  chain->subgroup);
            WHOLE(MAINTENANCE_4_FEATURES, VkPhysicalDeviceMaintenance4Features,
                  chain->maintenance4);
            WHOLE(COOPERATIVE_MATRIX_FEATURES_KHR, VkPhysicalDeviceCooperativeMatrixFeaturesKHR,
                  chain->cooperative);
            WHOLE(SHADER_BFLOAT16_FEATURES_KHR, VkPhysicalDeviceShaderBfloat16FeaturesKHR,
                  chain->bfloat16);
            ONE(VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features, chain->subgroup,
                subgroupSizeControl, computeFullSubgroups);
            ONE(16BIT_STORAGE_FEATURES, VkPhysicalDevice16BitStorageFeatures, chain->v11,
                storageBuffer16BitAccess, storageBuffer16BitAccess);
            ONE(8BIT_STORAGE_FEATURES, VkPhysicalDevice8BitStorageFeatures, chain->v12,
                storageBuffer8BitAccess, storageBuffer8BitAccess);
            ONE(SHADER_FLOAT16_INT8_FEATURES, VkPhysicalDeviceShaderFloat16Int8Features, chain->v12,
                shaderFloat16, shaderInt8);
            ONE(TIMELINE_SEMAPHORE_FEATURES, VkPhysicalDeviceTimelineSemaphoreFeatures, chain->v12,
                timelineSemaphore, timelineSemaphore);
            ONE(BUFFER_DEVICE_ADDRESS_FEATURES, VkPhysicalDeviceBufferDeviceAddressFeatures,
                chain->v12, bufferDeviceAddress, bufferDeviceAddress);
            ONE(VULKAN_MEMORY_MODEL_FEATURES, VkPhysicalDeviceVulkanMemoryModelFeatures, chain->v12,
                vulkanMemoryModel, vulkanMemoryModelDeviceScope);
        }
    }
#undef ONE
#undef WHOLE
#undef COPY
}

// What a device must have, with the words for `missing`.
static void check_usable(const VkTable *vk, VkPhysicalDevice physical, const DeviceChain *chain,
                         AdeptDeviceInfo *info) {
    char *missing = info->missing;
    size_t room = sizeof info->missing, used = 0;
    missing[0] = 0;
#define NEED(condition, words)                                                                     \
    if (!(condition) && used < room)                                                               \
        used += (size_t)snprintf(missing + used, room - used, "%s%s", used ? ", " : "", words);
    bool vulkan12 = info->api_version >= VK_API_VERSION_1_2;
    NEED(vulkan12, "Vulkan 1.2")
    if (vulkan12) {
        NEED(chain->v12.bufferDeviceAddress, "bufferDeviceAddress")
        NEED(chain->v12.timelineSemaphore, "timelineSemaphore")
    }
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    vk->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    bool compute = false;
    for (uint32_t i = 0; i < count; i++) compute |= families[i].queueFlags & VK_QUEUE_COMPUTE_BIT;
    NEED(compute, "a compute queue")
#undef NEED
    info->usable = used == 0;
}

static uint64_t feature_bits(const DeviceChain *chain, const VkPhysicalDeviceVulkan11Properties *p1,
                             const VkPhysicalDeviceVulkan12Properties *p2, uint32_t api_version) {
    uint64_t bits = 0;
#define HAVE(condition, id)                                                                        \
    if (condition) bits |= ADX_FEATURE_##id;
    VkSubgroupFeatureFlags subgroup = p1->subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT
                                          ? p1->subgroupSupportedOperations
                                          : 0;
    HAVE(chain->v11.storageBuffer16BitAccess, STORAGE16)
    HAVE(chain->v12.storageBuffer8BitAccess, STORAGE8)
    HAVE(chain->v12.shaderFloat16, FLOAT16)
    HAVE(chain->v12.shaderInt8, INT8)
    HAVE(subgroup & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT && subgroup & VK_SUBGROUP_FEATURE_VOTE_BIT,
         SUBGROUP_ARITHMETIC)
    HAVE(subgroup & VK_SUBGROUP_FEATURE_SHUFFLE_BIT, SUBGROUP_SHUFFLE)
    HAVE(chain->subgroup.subgroupSizeControl && chain->subgroup.computeFullSubgroups,
         SUBGROUP_SIZE_CONTROL)
    // llvmpipe (Mesa 26.1) offers fragments at every vector width, but crashes when it compiles
    // them for subgroups of more than 8.
    bool crashes = p2->driverID == VK_DRIVER_ID_MESA_LLVMPIPE && p1->subgroupSize > 8;
    HAVE(chain->cooperative.cooperativeMatrix && !crashes, COOPERATIVE_MATRIX)
    HAVE(chain->bfloat16.shaderBFloat16CooperativeMatrix, BFLOAT16)
    HAVE(chain->v12.vulkanMemoryModel && chain->v12.vulkanMemoryModelDeviceScope, MEMORY_MODEL)
    HAVE(p2->shaderDenormPreserveFloat16, DENORM_PRESERVE16)
    HAVE(p2->shaderRoundingModeRTEFloat16, ROUNDING_RTE16)
    HAVE(p2->shaderSignedZeroInfNanPreserveFloat32, SIGNED_ZERO_INF_NAN32)
    HAVE(p2->shaderRoundingModeRTEFloat32, ROUNDING_RTE32)
    HAVE(api_version >= VK_API_VERSION_1_3, SPIRV16)
    HAVE(chain->core.features.shaderInt16, INT16)
    HAVE(chain->cooperative.cooperativeMatrix && p1->subgroupSize == 32 &&
             p2->driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY,
         FRAGMENT_QUADS)
    HAVE(chain->cooperative.cooperativeMatrix && p1->subgroupSize == 8 &&
             p2->driverID == VK_DRIVER_ID_MESA_LLVMPIPE,
         FRAGMENT_COLUMNS)
#undef HAVE
    return bits;
}

// The package's dtype of a fragment component, 0 where it has none.
static uint8_t component_dtype(VkComponentTypeKHR type) {
    switch ((uint32_t)type) {
    case VK_COMPONENT_TYPE_FLOAT16_KHR: return ADX_F16;
    case VK_COMPONENT_TYPE_FLOAT32_KHR: return ADX_F32;
    case VK_COMPONENT_TYPE_SINT8_KHR: return ADX_I8;
    case VK_COMPONENT_TYPE_UINT8_KHR: return ADX_U8;
    case VK_COMPONENT_TYPE_SINT32_KHR: return ADX_I32;
    case VK_COMPONENT_TYPE_UINT32_KHR: return ADX_U32;
    case (uint32_t)VK_COMPONENT_TYPE_BFLOAT16_KHR: return ADX_BF16;
    default: return 0;
    }
}

static void read_fragments(const VkTable *vk, VkPhysicalDevice physical, DeviceCaps *caps) {
    enum { MAX = 128 };
    VkCooperativeMatrixPropertiesKHR shapes[MAX];
    uint32_t count = MAX;
    if (!(caps->features & ADX_FEATURE_COOPERATIVE_MATRIX) ||
        !vk->GetPhysicalDeviceCooperativeMatrixPropertiesKHR)
        return;
    for (uint32_t i = 0; i < MAX; i++)
        shapes[i] = (VkCooperativeMatrixPropertiesKHR){
            .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    VkResult result = vk->GetPhysicalDeviceCooperativeMatrixPropertiesKHR(physical, &count, shapes);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return;
    for (uint32_t i = 0; i < count && caps->fragment_count < DEVICE_FRAGMENTS_MAX; i++) {
        const VkCooperativeMatrixPropertiesKHR *shape = &shapes[i];
        DeviceFragment fragment = {(uint16_t)shape->MSize, (uint16_t)shape->NSize,
                                   (uint16_t)shape->KSize, component_dtype(shape->AType),
                                   component_dtype(shape->CType)};
        if (shape->scope != VK_SCOPE_SUBGROUP_KHR || shape->AType != shape->BType ||
            shape->CType != shape->ResultType || shape->saturatingAccumulation || !fragment.ab ||
            !fragment.acc)
            continue;
        caps->fragments[caps->fragment_count++] = fragment;
    }
}

static AdeptDeviceKind kind_of(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return ADEPT_DEVICE_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return ADEPT_DEVICE_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return ADEPT_DEVICE_SOFTWARE;
    default: return ADEPT_DEVICE_OTHER;
    }
}

static uint64_t device_memory(const VkTable *vk, VkPhysicalDevice physical) {
    VkPhysicalDeviceMemoryProperties memory;
    vk->GetPhysicalDeviceMemoryProperties(physical, &memory);
    uint64_t largest = 0;
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
        if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
            memory.memoryHeaps[i].size > largest)
            largest = memory.memoryHeaps[i].size;
    return largest;
}

// A uniform block of pairs of words, whose alignment Vulkan rounds up to 16.
enum { SLICE_ALIGN_LEAST = 16 };

static void fill_limits(const VkPhysicalDeviceLimits *limits, DeviceCaps *caps) {
    caps->shared_bytes = limits->maxComputeSharedMemorySize;
    caps->max_invocations = limits->maxComputeWorkGroupInvocations;
    caps->max_local = limits->maxComputeWorkGroupSize[0];
    memcpy(caps->max_grid, limits->maxComputeWorkGroupCount, sizeof caps->max_grid);
    caps->max_uniform_range = limits->maxUniformBufferRange;
    caps->slice_align = (uint32_t)limits->minUniformBufferOffsetAlignment;
    if (caps->slice_align < SLICE_ALIGN_LEAST) caps->slice_align = SLICE_ALIGN_LEAST;
    caps->timestamp_period = limits->timestampPeriod;
}

void device_describe(const VkTable *vk, VkPhysicalDevice physical, const DeviceChain *chain,
                     const DeviceExtensions *extensions, AdeptDeviceInfo *info, DeviceCaps *caps) {
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sm = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceSubgroupSizeControlProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceVulkan12Properties p2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceVulkan11Properties p1 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType =
                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    void *tail = &properties;
    if (info->api_version >= VK_API_VERSION_1_2) tail = append(append(tail, &p1), &p2);
    if (info->api_version >= VK_API_VERSION_1_3 || extensions->subgroup_size_control)
        tail = append(tail, &subgroup);
    if (extensions->external_memory_host) tail = append(tail, &host);
    if (extensions->sm_builtins) tail = append(tail, &sm);
    vk->GetPhysicalDeviceProperties2(physical, &properties);

    const VkPhysicalDeviceProperties *core = &properties.properties;
    snprintf(info->name, sizeof info->name, "%s", core->deviceName);
    snprintf(info->driver, sizeof info->driver, "%.120s %.120s", p2.driverName, p2.driverInfo);
    info->kind = kind_of(core->deviceType);
    info->memory = device_memory(vk, physical);
    check_usable(vk, physical, chain, info);

    *caps = (DeviceCaps){
        .vendor = core->vendorID, .device = core->deviceID, .driver_version = core->driverVersion};
    memcpy(caps->cache_uuid, core->pipelineCacheUUID, sizeof caps->cache_uuid);
    fill_limits(&core->limits, caps);
    caps->features = feature_bits(chain, &p1, &p2, info->api_version);
    caps->subgroup_size = p1.subgroupSize;
    bool control = caps->features & ADX_FEATURE_SUBGROUP_SIZE_CONTROL &&
                   subgroup.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
    if (!control) caps->features &= ~(uint64_t)ADX_FEATURE_SUBGROUP_SIZE_CONTROL;
    caps->subgroup_min = control ? subgroup.minSubgroupSize : p1.subgroupSize;
    caps->subgroup_max = control ? subgroup.maxSubgroupSize : p1.subgroupSize;
    caps->compute_units = sm.shaderSMCount;
    caps->host_pointer_alignment = host.minImportedHostPointerAlignment;
    read_fragments(vk, physical, caps);
}
