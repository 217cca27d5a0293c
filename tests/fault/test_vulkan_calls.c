// Every Vulkan call that can fail, failed once: opening a device, binding weights, running with all
// that a session can do, for the nth call, n = 1, 2, .. There is no crash, the result says what
// failed, and every object that was made is destroyed.
#include "runtime/device.h"
#include "tests/support/runtime_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_uint calls, fail_at;
static atomic_int live; // objects made and not yet destroyed
static _Atomic(const char *) failed_call;

// The real functions.
static struct {
#define MEMBER(name) PFN_vk##name name;
    VK_GLOBAL_FUNCTIONS(MEMBER)
    VK_INSTANCE_FUNCTIONS(MEMBER)
    VK_DEVICE_FUNCTIONS(MEMBER)
    VK_OPTIONAL_DEVICE_FUNCTIONS(MEMBER)
#undef MEMBER
} real;

// Whether this call is the one to fail.
static bool fails(const char *name) {
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&fail_at)) return false;
    atomic_store(&failed_call, name);
    return true;
}

// Functions that can fail: name, error, objects that a success makes, parameters, arguments.
#define FALLIBLE(f)                                                                                \
    f(CreateInstance, VK_ERROR_INITIALIZATION_FAILED, 1,                                           \
      (const VkInstanceCreateInfo *a, const VkAllocationCallbacks *b, VkInstance *c),              \
      (a, b, c)) f(EnumeratePhysicalDevices, VK_ERROR_OUT_OF_HOST_MEMORY, 0,                       \
                   (VkInstance a, uint32_t * b, VkPhysicalDevice * c), (a, b, c))                  \
        f(EnumerateDeviceExtensionProperties, VK_ERROR_OUT_OF_HOST_MEMORY, 0,                      \
          (VkPhysicalDevice a, const char *b, uint32_t *c, VkExtensionProperties *d),              \
          (a, b, c, d)) f(CreateDevice, VK_ERROR_INITIALIZATION_FAILED, 1,                         \
                          (VkPhysicalDevice a, const VkDeviceCreateInfo *b,                        \
                           const VkAllocationCallbacks *c, VkDevice *d),                           \
                          (a, b, c, d))                                                            \
            f(QueueSubmit, VK_ERROR_DEVICE_LOST, 0,                                                \
              (VkQueue a, uint32_t b, const VkSubmitInfo *c, VkFence d),                           \
              (a, b, c, d)) f(AllocateMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY, 1,                    \
                              (VkDevice a, const VkMemoryAllocateInfo *b,                          \
                               const VkAllocationCallbacks *c, VkDeviceMemory *d),                 \
                              (a, b, c, d)) f(MapMemory, VK_ERROR_MEMORY_MAP_FAILED, 0,            \
                                              (VkDevice a, VkDeviceMemory b, VkDeviceSize c,       \
                                               VkDeviceSize d, VkMemoryMapFlags e, void **g),      \
                                              (a, b, c, d, e, g))                                  \
                f(CreateBuffer, VK_ERROR_OUT_OF_HOST_MEMORY, 1,                                    \
                  (VkDevice a, const VkBufferCreateInfo *b, const VkAllocationCallbacks *c,        \
                   VkBuffer *d),                                                                   \
                  (a, b, c, d)) f(BindBufferMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY, 0,              \
                                  (VkDevice a, VkBuffer b, VkDeviceMemory c, VkDeviceSize d),      \
                                  (a, b, c, d))                                                    \
                    f(CreateShaderModule, VK_ERROR_OUT_OF_HOST_MEMORY, 1,                          \
                      (VkDevice a, const VkShaderModuleCreateInfo *b,                              \
                       const VkAllocationCallbacks *c, VkShaderModule *d),                         \
                      (a, b, c, d)) f(CreateDescriptorSetLayout, VK_ERROR_OUT_OF_HOST_MEMORY, 1,   \
                                      (VkDevice a, const VkDescriptorSetLayoutCreateInfo *b,       \
                                       const VkAllocationCallbacks *c, VkDescriptorSetLayout *d),  \
                                      (a, b, c, d))                                                \
                        f(CreatePipelineLayout, VK_ERROR_OUT_OF_HOST_MEMORY, 1,                    \
                          (VkDevice a, const VkPipelineLayoutCreateInfo *b,                        \
                           const VkAllocationCallbacks *c, VkPipelineLayout *d),                   \
                          (a, b, c, d))                                                            \
                            f(CreateComputePipelines, VK_ERROR_OUT_OF_DEVICE_MEMORY, 1,            \
                              (VkDevice a, VkPipelineCache b, uint32_t c,                          \
                               const VkComputePipelineCreateInfo *d,                               \
                               const VkAllocationCallbacks *e, VkPipeline *g),                     \
                              (a, b, c, d,                                                         \
                               e, g)) f(CreatePipelineCache, VK_ERROR_OUT_OF_HOST_MEMORY, 1,       \
                                        (VkDevice a, const VkPipelineCacheCreateInfo *b,           \
                                         const VkAllocationCallbacks *c, VkPipelineCache *d),      \
                                        (a, b, c, d)) f(GetPipelineCacheData,                      \
                                                        VK_ERROR_OUT_OF_HOST_MEMORY, 0,            \
                                                        (VkDevice a, VkPipelineCache b,            \
                                                         size_t * c, void *d),                     \
                                                        (a, b, c, d))                              \
                                f(CreateDescriptorPool, VK_ERROR_OUT_OF_HOST_MEMORY, 1,            \
                                  (VkDevice a, const VkDescriptorPoolCreateInfo *b,                \
                                   const VkAllocationCallbacks *c, VkDescriptorPool *d),           \
                                  (a, b, c, d)) f(AllocateDescriptorSets,                          \
                                                  VK_ERROR_OUT_OF_POOL_MEMORY, 0,                  \
                                                  (VkDevice a,                                     \
                                                   const VkDescriptorSetAllocateInfo *b,           \
                                                   VkDescriptorSet *c),                            \
                                                  (a, b, c))                                       \
                                    f(CreateCommandPool, VK_ERROR_OUT_OF_HOST_MEMORY, 1,           \
                                      (VkDevice a, const VkCommandPoolCreateInfo *b,               \
                                       const VkAllocationCallbacks *c, VkCommandPool *d),          \
                                      (a, b, c, d))                                                \
                                        f(AllocateCommandBuffers, VK_ERROR_OUT_OF_HOST_MEMORY, 0,  \
                                          (VkDevice a, const VkCommandBufferAllocateInfo *b,       \
                                           VkCommandBuffer *c),                                    \
                                          (a, b, c)) f(BeginCommandBuffer,                         \
                                                       VK_ERROR_OUT_OF_HOST_MEMORY, 0,             \
                                                       (VkCommandBuffer a,                         \
                                                        const VkCommandBufferBeginInfo *b),        \
                                                       (a, b)) f(EndCommandBuffer,                 \
                                                                 VK_ERROR_OUT_OF_HOST_MEMORY, 0,   \
                                                                 (VkCommandBuffer a), (a))         \
                                            f(CreateQueryPool, VK_ERROR_OUT_OF_HOST_MEMORY, 1,     \
                                              (VkDevice a, const VkQueryPoolCreateInfo *b,         \
                                               const VkAllocationCallbacks *c, VkQueryPool *d),    \
                                              (a, b, c, d)) f(GetQueryPoolResults,                 \
                                                              VK_ERROR_DEVICE_LOST, 0,             \
                                                              (VkDevice a, VkQueryPool b,          \
                                                               uint32_t c, uint32_t d, size_t e,   \
                                                               void *g, VkDeviceSize h,            \
                                                               VkQueryResultFlags i),              \
                                                              (a, b, c, d, e, g, h, i))            \
                                                f(CreateSemaphore, VK_ERROR_OUT_OF_HOST_MEMORY, 1, \
                                                  (VkDevice a, const VkSemaphoreCreateInfo *b,     \
                                                   const VkAllocationCallbacks *c,                 \
                                                   VkSemaphore *d),                                \
                                                  (a, b, c, d))                                    \
                                                    f(WaitSemaphores, VK_ERROR_DEVICE_LOST, 0,     \
                                                      (VkDevice a, const VkSemaphoreWaitInfo *b,   \
                                                       uint64_t c),                                \
                                                      (a, b, c))

// A call that fails makes nothing; a wait that fails has waited all the same, so that nothing still
// runs on what is then destroyed.
#define WRAP(name, error, made, parameters, arguments)                                             \
    static VKAPI_ATTR VkResult VKAPI_CALL fallible_##name parameters {                             \
        bool failed = fails(#name);                                                                \
        if (failed && strcmp(#name, "WaitSemaphores") != 0) return error;                          \
        VkResult result = real.name arguments;                                                     \
        if (failed) return error;                                                                  \
        if (made && result == VK_SUCCESS) atomic_fetch_add(&live, made);                           \
        return result;                                                                             \
    }
FALLIBLE(WRAP)

// Functions that destroy: name, handle's type.
#define DESTROYING(f)                                                                              \
    f(FreeMemory, VkDeviceMemory) f(DestroyBuffer, VkBuffer)                                       \
        f(DestroyShaderModule, VkShaderModule)                                                     \
            f(DestroyDescriptorSetLayout, VkDescriptorSetLayout)                                   \
                f(DestroyPipelineLayout, VkPipelineLayout) f(DestroyPipeline, VkPipeline)          \
                    f(DestroyPipelineCache, VkPipelineCache)                                       \
                        f(DestroyDescriptorPool, VkDescriptorPool)                                 \
                            f(DestroyCommandPool, VkCommandPool) f(DestroyQueryPool, VkQueryPool)  \
                                f(DestroySemaphore, VkSemaphore)

#define WRAP_DESTROY(name, type)                                                                   \
    static VKAPI_ATTR void VKAPI_CALL counted_##name(VkDevice a, type b,                           \
                                                     const VkAllocationCallbacks *c) {             \
        if (b) atomic_fetch_sub(&live, 1);                                                         \
        real.name(a, b, c);                                                                        \
    }
DESTROYING(WRAP_DESTROY)

static VKAPI_ATTR void VKAPI_CALL counted_DestroyDevice(VkDevice a,
                                                        const VkAllocationCallbacks *b) {
    atomic_fetch_sub(&live, 1);
    real.DestroyDevice(a, b);
}

static VKAPI_ATTR void VKAPI_CALL counted_DestroyInstance(VkInstance a,
                                                          const VkAllocationCallbacks *b) {
    atomic_fetch_sub(&live, 1);
    real.DestroyInstance(a, b);
}

// Polling is left out, for how often it takes place differs: every wait is one for the semaphore.
static VKAPI_ATTR VkResult VKAPI_CALL not_yet(VkDevice device, VkSemaphore semaphore,
                                              uint64_t *value) {
    (void)device;
    (void)semaphore;
    *value = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name);

// Remembers the real function and gives the one that stands for it.
static PFN_vkVoidFunction replace(const char *name, PFN_vkVoidFunction function) {
    if (!function) return NULL;
#define TAKE(id, stand_in)                                                                         \
    if (!strcmp(name, "vk" #id)) {                                                                 \
        real.id = (PFN_vk##id)function;                                                            \
        return (PFN_vkVoidFunction)stand_in;                                                       \
    }
#define TAKE_FALLIBLE(id, error, made, parameters, arguments) TAKE(id, fallible_##id)
#define TAKE_DESTROY(id, type)                                TAKE(id, counted_##id)
    FALLIBLE(TAKE_FALLIBLE)
    DESTROYING(TAKE_DESTROY)
    TAKE(DestroyDevice, counted_DestroyDevice)
    TAKE(DestroyInstance, counted_DestroyInstance)
    TAKE(GetDeviceProcAddr, get_device)
    TAKE(GetSemaphoreCounterValue, not_yet)
    return function;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name) {
    return replace(name, real.GetDeviceProcAddr(device, name));
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance(VkInstance instance,
                                                             const char *name) {
    return replace(name, vkGetInstanceProcAddr(instance, name));
}

static void every_call(void **state) {
    const RuntimeUse *use = *state;
    AdeptError error = {0};
    // Without a fault; the second time with a warm pipeline cache, as all that follow.
    for (int i = 0; i < 2; i++) {
        atomic_store(&calls, 0);
        AdeptResult result = runtime_use(use, get_instance, &error);
        if (result) fail_msg("%s", error.detail);
        assert_int_equal(atomic_load(&live), 0);
    }
    unsigned total = atomic_load(&calls), tolerated = 0;
    assert_true(total > 100);
    for (unsigned n = 1; n <= total; n++) {
        atomic_store(&calls, 0);
        atomic_store(&fail_at, n);
        atomic_store(&failed_call, NULL);
        error = (AdeptError){0};
        AdeptResult result = runtime_use(use, get_instance, &error);
        const char *call = atomic_load(&failed_call);
        if (!call) break; // drivers may ask for more or less the next time
        if (atomic_load(&live) != 0) fail_msg("%s: %d objects left", call, atomic_load(&live));
        // What concerns the pipeline cache is a miss; closing has no result.
        bool cache = !strcmp(call, "CreatePipelineCache") || !strcmp(call, "GetPipelineCacheData");
        bool closing = n == total && !strcmp(call, "WaitSemaphores");
        if (result == ADEPT_OK && (cache || closing)) {
            tolerated++;
            continue;
        }
        if (result == ADEPT_OK || cache) fail_msg("call %u, %s: result %d", n, call, result);
        bool driver = !strcmp(call, "EnumeratePhysicalDevices");
        if (!driver && !strstr(error.detail, call))
            fail_msg("%s failed, said was \"%s\"", call, error.detail);
        assert_int_equal(error.result, result);
    }
    assert_true(tolerated >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call)};
    return cmocka_run_group_tests(tests, runtime_use_set_up, runtime_use_tear_down);
}
