#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/self_test.h"
#include "runtime/transfer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEVICES_MAX = 64 };

static const char no_driver[] =
    "no Vulkan driver found; install one (Debian, Ubuntu: mesa-vulkan-drivers for Intel, AMD and "
    "software; nvidia-driver for NVIDIA)";

// One physical device with what was asked of it.
typedef struct Candidate {
    VkPhysicalDevice physical;
    DeviceExtensions extensions;
    DeviceChain chain;
    AdeptDeviceInfo info;
    DeviceCaps caps;
} Candidate;

static AdeptResult create_instance(VkTable *vk, PFN_vkGetInstanceProcAddr get, VkInstance *instance,
                                   AdeptError *error) {
    AdeptResult result = vk_load_global(vk, get, error);
    if (result) return result;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pEngineName = "adept",
                                     .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application};
    VkResult created = vk->CreateInstance(&info, NULL, instance);
    if (created == VK_ERROR_INCOMPATIBLE_DRIVER)
        return error_set(error, ADEPT_ERROR_NO_DEVICE, "%s", no_driver);
    if (created) return vk_error(error, created, "CreateInstance");
    result = vk_load_instance(vk, *instance, error);
    if (result && vk->DestroyInstance) vk->DestroyInstance(*instance, NULL);
    return result;
}

static AdeptResult list_physical(const VkTable *vk, VkInstance instance, VkPhysicalDevice *devices,
                                 uint32_t *count, AdeptError *error) {
    *count = DEVICES_MAX;
    VkResult result = vk->EnumeratePhysicalDevices(instance, count, devices);
    // The loader says so where drivers are there but none has a device.
    if (result == VK_ERROR_INITIALIZATION_FAILED) *count = 0;
    if (result && result != VK_INCOMPLETE && result != VK_ERROR_INITIALIZATION_FAILED)
        return vk_error(error, result, "EnumeratePhysicalDevices");
    if (!*count) return error_set(error, ADEPT_ERROR_NO_DEVICE, "%s", no_driver);
    return ADEPT_OK;
}

static AdeptResult list_extensions(const VkTable *vk, VkPhysicalDevice physical,
                                   DeviceExtensions *extensions, AdeptError *error) {
    *extensions = (DeviceExtensions){0};
    uint32_t count = 0;
    VkResult result = vk->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
    if (result) return vk_error(error, result, "EnumerateDeviceExtensionProperties");
    VkExtensionProperties *list = calloc(count + 1, sizeof *list);
    if (!list) return error_memory(error);
    result = vk->EnumerateDeviceExtensionProperties(physical, NULL, &count, list);
    for (uint32_t i = 0; i < count && (!result || result == VK_INCOMPLETE); i++) {
        const char *name = list[i].extensionName;
        if (!strcmp(name, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
            extensions->subgroup_size_control = true;
        if (!strcmp(name, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
            extensions->cooperative_matrix = true;
        if (!strcmp(name, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME)) extensions->bfloat16 = true;
        if (!strcmp(name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
            extensions->external_memory_host = true;
        if (!strcmp(name, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) extensions->sm_builtins = true;
    }
    free(list);
    if (result && result != VK_INCOMPLETE)
        return vk_error(error, result, "EnumerateDeviceExtensionProperties");
    return ADEPT_OK;
}

static AdeptResult examine(const VkTable *vk, VkPhysicalDevice physical, uint32_t index,
                           Candidate *candidate, AdeptError *error) {
    *candidate = (Candidate){.physical = physical, .info = {.index = index}};
    AdeptResult result = list_extensions(vk, physical, &candidate->extensions, error);
    if (result) return result;
    VkPhysicalDeviceProperties2 properties = {.sType =
                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    vk->GetPhysicalDeviceProperties2(physical, &properties);
    candidate->info.api_version = properties.properties.apiVersion;
    vk->GetPhysicalDeviceFeatures2(
        physical,
        device_chain_link(&candidate->chain, candidate->info.api_version, &candidate->extensions));
    device_chain_limit(&candidate->chain);
    device_describe(vk, physical, &candidate->chain, &candidate->extensions, &candidate->info,
                    &candidate->caps);
    return ADEPT_OK;
}

AdeptResult adept_device_list(AdeptDeviceInfo *infos, uint32_t capacity, uint32_t *count,
                              AdeptError *error) {
    VkTable vk;
    VkInstance instance;
    VkPhysicalDevice devices[DEVICES_MAX];
    *count = 0;
    AdeptResult result = create_instance(&vk, vkGetInstanceProcAddr, &instance, error);
    if (result) return result;
    result = list_physical(&vk, instance, devices, count, error);
    for (uint32_t i = 0; !result && i < *count && i < capacity; i++) {
        Candidate candidate;
        result = examine(&vk, devices[i], i, &candidate, error);
        infos[i] = candidate.info;
    }
    vk.DestroyInstance(instance, NULL);
    return result;
}

// Smaller is better.
static int rank(AdeptDeviceKind kind) {
    static const int ranks[] = {[ADEPT_DEVICE_DISCRETE] = 0,
                                [ADEPT_DEVICE_INTEGRATED] = 1,
                                [ADEPT_DEVICE_OTHER] = 2,
                                [ADEPT_DEVICE_SOFTWARE] = 3};
    return ranks[kind];
}

static bool contains(const char *text, const char *part) {
    size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0) return true;
    return false;
}

// Whether the device answers to `choice`; exact where it is a number.
static bool answers(const AdeptDeviceInfo *info, const char *choice) {
    char *end;
    unsigned long number = strtoul(choice, &end, 10);
    if (*choice >= '0' && *choice <= '9' && !*end) return number == info->index;
    return contains(info->name, choice);
}

// The best device that answers to `choice` ("" for any) goes to `best`.
static AdeptResult choose(const VkTable *vk, VkInstance instance, const char *choice,
                          Candidate *best, AdeptError *error) {
    VkPhysicalDevice devices[DEVICES_MAX];
    uint32_t count;
    AdeptResult result = list_physical(vk, instance, devices, &count, error);
    if (result) return result;
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        Candidate candidate;
        result = examine(vk, devices[i], i, &candidate, error);
        if (result) return result;
        if (*choice && !answers(&candidate.info, choice)) continue;
        bool better = !found || candidate.info.usable > best->info.usable ||
                      (candidate.info.usable == best->info.usable &&
                       rank(candidate.info.kind) < rank(best->info.kind));
        if (better) *best = candidate;
        found = true;
    }
    if (!found)
        return error_set(error, ADEPT_ERROR_NO_DEVICE,
                         "none of the %u Vulkan devices answers to \"%s\"", count, choice);
    if (!best->info.usable)
        return error_set(error, *choice ? ADEPT_ERROR_FEATURE : ADEPT_ERROR_NO_DEVICE,
                         "the Vulkan device \"%s\" lacks %s", best->info.name, best->info.missing);
    return ADEPT_OK;
}

// A family with compute and, if there is one, timestamps.
static uint32_t choose_family(const AdeptDevice *device) {
    VkQueueFamilyProperties families[32];
    uint32_t count = 32, chosen = UINT32_MAX;
    device->vk.GetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
        if (chosen == UINT32_MAX ||
            (families[i].timestampValidBits && !families[chosen].timestampValidBits))
            chosen = i;
    }
    return chosen;
}

static void read_family(AdeptDevice *device) {
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    device->vk.GetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    uint32_t bits = device->family < count ? families[device->family].timestampValidBits : 0;
    if (!bits) device->caps.timestamp_period = 0;
    device->caps.timestamp_mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    device->vk.GetPhysicalDeviceMemoryProperties(device->physical, &device->memory);
}

static bool guard_wanted(void) {
    const char *value = getenv("ADEPT_GUARD");
    return value && strcmp(value, "1") == 0;
}

static AdeptResult check_guard(const AdeptDevice *device, AdeptError *error) {
    if (!device->guard || device->caps.host_pointer_alignment) return ADEPT_OK;
    return error_set(error, ADEPT_ERROR_FEATURE,
                     "ADEPT_GUARD=1 needs %s, which the device \"%s\" lacks",
                     VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, device->info.name);
}

static AdeptResult create_device(AdeptDevice *device, Candidate *candidate, AdeptError *error) {
    const char *names[8];
    uint32_t count = 0;
    const DeviceExtensions *extensions = &candidate->extensions;
    if (extensions->cooperative_matrix) names[count++] = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    if (extensions->bfloat16) names[count++] = VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME;
    if (extensions->subgroup_size_control && candidate->info.api_version < VK_API_VERSION_1_3)
        names[count++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    if (device->guard) names[count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = device->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = device_chain_link(&candidate->chain, candidate->info.api_version, extensions),
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = names};
    VkResult result = device->vk.CreateDevice(device->physical, &info, NULL, &device->handle);
    if (result) return vk_error(error, result, "CreateDevice");
    AdeptResult loaded = vk_load_device(&device->vk, device->handle, error);
    if (loaded) return loaded;
    device->vk.GetDeviceQueue(device->handle, device->family, 0, &device->queue);
    return ADEPT_OK;
}

static AdeptDevice *new_device(void) {
    AdeptDevice *device = calloc(1, sizeof *device);
    if (!device) return NULL;
    if (pthread_mutex_init(&device->queue_lock, NULL) != 0) {
        free(device);
        return NULL;
    }
    device->guard = guard_wanted();
    return device;
}

static void take_candidate(AdeptDevice *device, const Candidate *candidate) {
    device->physical = candidate->physical;
    device->info = candidate->info;
    device->caps = candidate->caps;
}

AdeptResult device_open_loader(PFN_vkGetInstanceProcAddr get, const char *choice, AdeptDevice **out,
                               AdeptError *error) {
    *out = NULL;
    if (!choice || !*choice) choice = getenv("ADEPT_DEVICE");
    if (!choice) choice = "";
    AdeptDevice *device = new_device();
    if (!device) return error_memory(error);
    Candidate candidate;
    AdeptResult result = create_instance(&device->vk, get, &device->instance, error);
    if (result) device->instance = NULL;
    if (!result) result = choose(&device->vk, device->instance, choice, &candidate, error);
    if (!result) {
        take_candidate(device, &candidate);
        device->family = choose_family(device);
        read_family(device);
        result = check_guard(device, error);
    }
    if (!result) result = create_device(device, &candidate, error);
    if (!result) result = transfer_open(device, error);
    if (!result) result = self_test(device, error);
    if (result) {
        adept_device_close(device);
        return result;
    }
    *out = device;
    return ADEPT_OK;
}

AdeptResult adept_device_open(const char *choice, AdeptDevice **device, AdeptError *error) {
    return device_open_loader(vkGetInstanceProcAddr, choice, device, error);
}

// Which of the optional extensions the host enabled.
static DeviceExtensions host_extensions(const AdeptHostDevice *host) {
    DeviceExtensions extensions = {0};
    for (uint32_t i = 0; i < host->extension_count; i++) {
        const char *name = host->extensions[i];
        if (!strcmp(name, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
            extensions.subgroup_size_control = true;
        if (!strcmp(name, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
            extensions.cooperative_matrix = true;
        if (!strcmp(name, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME)) extensions.bfloat16 = true;
        if (!strcmp(name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
            extensions.external_memory_host = true;
    }
    return extensions;
}

static AdeptResult adopt(AdeptDevice *device, const AdeptHostDevice *host, AdeptError *error) {
    PFN_vkGetInstanceProcAddr get =
        host->get_instance_proc_addr ? host->get_instance_proc_addr : vkGetInstanceProcAddr;
    device->adopted = true;
    device->instance = host->instance;
    device->handle = host->device;
    device->queue = host->queue;
    device->family = host->queue_family;
    device->host_lock = host->lock;
    device->host_unlock = host->unlock;
    device->host_user = host->user;
    AdeptResult result = vk_load_global(&device->vk, get, error);
    if (!result) result = vk_load_instance(&device->vk, host->instance, error);
    if (!result) result = vk_load_device(&device->vk, host->device, error);
    if (result) return result;
    Candidate candidate = {.physical = host->physical_device, .extensions = host_extensions(host)};
    VkPhysicalDeviceProperties2 properties = {.sType =
                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    device->vk.GetPhysicalDeviceProperties2(candidate.physical, &properties);
    candidate.info.api_version = properties.properties.apiVersion;
    device_chain_read(&candidate.chain, host->features);
    device_describe(&device->vk, candidate.physical, &candidate.chain, &candidate.extensions,
                    &candidate.info, &candidate.caps);
    if (!candidate.info.usable)
        return error_set(error, ADEPT_ERROR_FEATURE, "the host's device \"%s\" was made without %s",
                         candidate.info.name, candidate.info.missing);
    take_candidate(device, &candidate);
    read_family(device);
    result = check_guard(device, error);
    if (!result) result = transfer_open(device, error);
    return result ? result : self_test(device, error);
}

AdeptResult adept_device_adopt(const AdeptHostDevice *host, AdeptDevice **out, AdeptError *error) {
    *out = NULL;
    AdeptDevice *device = new_device();
    if (!device) return error_memory(error);
    AdeptResult result = adopt(device, host, error);
    if (result) {
        adept_device_close(device);
        return result;
    }
    *out = device;
    return ADEPT_OK;
}

void adept_device_close(AdeptDevice *device) {
    if (!device) return;
    transfer_close(device);
    if (!device->adopted) {
        if (device->handle && device->vk.DestroyDevice)
            device->vk.DestroyDevice(device->handle, NULL);
        if (device->instance) device->vk.DestroyInstance(device->instance, NULL);
    }
    pthread_mutex_destroy(&device->queue_lock);
    free(device);
}

const AdeptDeviceInfo *adept_device_info(const AdeptDevice *device) {
    return &device->info;
}

AdeptResult device_submit(AdeptDevice *device, const VkSubmitInfo *info, AdeptError *error) {
    pthread_mutex_lock(&device->queue_lock);
    if (device->host_lock) device->host_lock(device->host_user);
    VkResult result = device->vk.QueueSubmit(device->queue, 1, info, VK_NULL_HANDLE);
    if (device->host_unlock) device->host_unlock(device->host_user);
    pthread_mutex_unlock(&device->queue_lock);
    return result ? vk_error(error, result, "QueueSubmit") : ADEPT_OK;
}
