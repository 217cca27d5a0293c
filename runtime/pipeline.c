#include "runtime/pipeline.h"
#include "runtime/error.h"
#include "runtime/pipeline_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 8 };

static bool fragment_listed(const DeviceCaps *caps, const AdxAlternative *a) {
    for (uint32_t i = 0; i < caps->fragment_count; i++) {
        const DeviceFragment *f = &caps->fragments[i];
        if (f->m == a->fragment_m && f->n == a->fragment_n && f->k == a->fragment_k &&
            f->ab == a->fragment_ab && f->acc == a->fragment_acc)
            return true;
    }
    return false;
}

static bool kernel_fits(const DeviceCaps *caps, const AdxKernel *kernel) {
    return (kernel->features & ~caps->features) == 0 &&
           kernel->shared_bytes <= caps->shared_bytes &&
           kernel->local_size <= caps->max_invocations && kernel->local_size <= caps->max_local;
}

static bool subgroup_fits(const DeviceCaps *caps, uint32_t size) {
    return !size || (size >= caps->subgroup_min && size <= caps->subgroup_max);
}

bool pipeline_alternative_fits(const DeviceCaps *caps, const Package *package,
                               const AdxAlternative *alternative) {
    if ((alternative->features & ~caps->features) != 0 ||
        alternative->shared_bytes > caps->shared_bytes ||
        !subgroup_fits(caps, alternative->subgroup) ||
        (alternative->fragment_m && !fragment_listed(caps, alternative)))
        return false;
    for (uint32_t i = 0; i < alternative->dispatches; i++) {
        const AdxDispatch *dispatch = &package->dispatches[alternative->first_dispatch + i];
        const AdxKernel *kernel = &package->kernels[dispatch->kernel];
        if (!kernel_fits(caps, kernel) || !subgroup_fits(caps, kernel->subgroup)) return false;
    }
    return true;
}

// Marks the kernels of every alternative that can be taken here: of a step, those that fit, up to
// the first without conditions.
static void mark_needed(const DeviceCaps *caps, const Package *package, bool *needed) {
    for (uint32_t s = 0; s < package->count[ADX_STEPS]; s++) {
        const AdxStep *step = &package->steps[s];
        for (uint32_t i = 0; step->kind == ADX_STEP_RUN && i < step->alternatives; i++) {
            const AdxAlternative *a = &package->alternatives[step->first_alternative + i];
            if (!pipeline_alternative_fits(caps, package, a)) continue;
            for (uint32_t k = 0; k < a->dispatches; k++)
                needed[package->dispatches[a->first_dispatch + k].kernel] = true;
            if (!a->conditions) break;
        }
    }
}

// What the threads share; each takes the next kernel until none is left or one has failed.
typedef struct Work {
    AdeptDevice *device;
    const Package *package;
    Pipelines *pipelines;
    VkPipelineCache cache;
    const bool *needed;
    atomic_uint next;
    atomic_bool failed;
    pthread_mutex_t lock; // of what follows
    AdeptResult result;
    AdeptError *error;
} Work;

VkResult pipeline_make(AdeptDevice *device, const PipelineCode *code, VkPipelineLayout layout,
                       VkPipelineCache cache, VkPipeline *made, const char **call) {
    VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                       .codeSize = code->count * sizeof *code->words,
                                       .pCode = code->words};
    VkShaderModule shader;
    *made = VK_NULL_HANDLE;
    *call = "CreateShaderModule";
    VkResult result = device->vk.CreateShaderModule(device->handle, &module, NULL, &shader);
    if (result) return result;
    bool sized = code->subgroup && device->caps.features & ADX_FEATURE_SUBGROUP_SIZE_CONTROL;
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = code->subgroup};
    bool full = sized && code->local_size % code->subgroup == 0;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = sized ? &size : NULL,
                  .flags = full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader,
                  .pName = "main"},
        .layout = layout};
    *call = "CreateComputePipelines";
    result = device->vk.CreateComputePipelines(device->handle, cache, 1, &info, NULL, made);
    device->vk.DestroyShaderModule(device->handle, shader, NULL);
    if (result) *made = VK_NULL_HANDLE;
    return result;
}

static AdeptResult create_one(Work *work, uint32_t index, AdeptError *error) {
    const AdxKernel *kernel = &work->package->kernels[index];
    PipelineCode code = {work->package->spirv + kernel->first_word, kernel->words, kernel->subgroup,
                         kernel->local_size};
    const char *call;
    VkResult made = pipeline_make(work->device, &code, work->pipelines->layout, work->cache,
                                  &work->pipelines->handles[index], &call);
    if (!made) return ADEPT_OK;
    AdeptError detail;
    AdeptResult result = vk_error(&detail, made, call);
    return error_set(error, result, "kernel %s: %s", package_string(work->package, kernel->name),
                     detail.detail);
}

static void *create_some(void *user) {
    Work *work = user;
    for (;;) {
        uint32_t index = atomic_fetch_add(&work->next, 1);
        if (index >= work->pipelines->count || atomic_load(&work->failed)) return NULL;
        if (!work->needed[index]) continue;
        AdeptError detail;
        AdeptResult result = create_one(work, index, &detail);
        if (!result) continue;
        atomic_store(&work->failed, true);
        pthread_mutex_lock(&work->lock);
        if (!work->result) work->result = error_set(work->error, result, "%s", detail.detail);
        pthread_mutex_unlock(&work->lock);
    }
}

// The caller's thread works too, so that no thread can be had is no error.
static AdeptResult create_all(Work *work) {
    if (pthread_mutex_init(&work->lock, NULL) != 0) return error_memory(work->error);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[THREADS_MAX];
    uint32_t wanted = processors < 1             ? 0
                      : processors > THREADS_MAX ? THREADS_MAX
                                                 : (uint32_t)processors - 1;
    uint32_t started = 0;
    if (wanted >= work->pipelines->count) wanted = work->pipelines->count;
    while (started < wanted && pthread_create(&threads[started], NULL, create_some, work) == 0)
        started++;
    create_some(work);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&work->lock);
    return work->result;
}

static AdeptResult create_layouts(AdeptDevice *device, Pipelines *pipelines, AdeptError *error) {
    VkDescriptorSetLayoutBinding binding = {.descriptorType =
                                                VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = 1,
                                           .pBindings = &binding};
    VkResult result =
        device->vk.CreateDescriptorSetLayout(device->handle, &set, NULL, &pipelines->set_layout);
    if (result) {
        pipelines->set_layout = VK_NULL_HANDLE;
        return vk_error(error, result, "CreateDescriptorSetLayout");
    }
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &pipelines->set_layout};
    result = device->vk.CreatePipelineLayout(device->handle, &layout, NULL, &pipelines->layout);
    if (!result) return ADEPT_OK;
    pipelines->layout = VK_NULL_HANDLE;
    return vk_error(error, result, "CreatePipelineLayout");
}

// A cache that the driver refuses is a miss: then an empty one.
static VkPipelineCache create_cache(AdeptDevice *device, const PipelineCache *disk) {
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = disk->size,
                                      .pInitialData = disk->data};
    VkPipelineCache cache;
    if (device->vk.CreatePipelineCache(device->handle, &info, NULL, &cache) == VK_SUCCESS)
        return cache;
    info.initialDataSize = 0;
    info.pInitialData = NULL;
    return device->vk.CreatePipelineCache(device->handle, &info, NULL, &cache) == VK_SUCCESS
               ? cache
               : VK_NULL_HANDLE;
}

static void store_cache(AdeptDevice *device, VkPipelineCache cache, PipelineCache *disk) {
    size_t size = 0;
    if (!cache || !disk->path ||
        device->vk.GetPipelineCacheData(device->handle, cache, &size, NULL) != VK_SUCCESS)
        return;
    void *data = malloc(size + 1);
    if (data && device->vk.GetPipelineCacheData(device->handle, cache, &size, data) == VK_SUCCESS)
        pipeline_cache_store(disk, data, size);
    free(data);
}

AdeptResult pipelines_create(AdeptDevice *device, const Package *package, const char *cache_dir,
                             Pipelines *pipelines, AdeptError *error) {
    uint32_t count = package->count[ADX_KERNELS];
    *pipelines = (Pipelines){.count = count};
    if (package->block_range > device->caps.max_uniform_range)
        return error_set(error, ADEPT_ERROR_FEATURE,
                         "a kernel has %u bytes of parameters, the device takes %u",
                         package->block_range, device->caps.max_uniform_range);
    bool *needed = calloc(count + 1u, sizeof *needed);
    pipelines->handles = calloc(count + 1u, sizeof *pipelines->handles);
    AdeptResult result = needed && pipelines->handles ? create_layouts(device, pipelines, error)
                                                      : error_memory(error);
    if (!result) {
        mark_needed(&device->caps, package, needed);
        PipelineCache disk;
        const AdxHeader *header = (const AdxHeader *)package->bytes;
        pipeline_cache_load(&disk, device, cache_dir, header->hash);
        Work work = {.device = device,
                     .package = package,
                     .pipelines = pipelines,
                     .cache = create_cache(device, &disk),
                     .needed = needed,
                     .error = error};
        result = create_all(&work);
        if (!result) store_cache(device, work.cache, &disk);
        if (work.cache) device->vk.DestroyPipelineCache(device->handle, work.cache, NULL);
        pipeline_cache_close(&disk);
    }
    free(needed);
    if (result) pipelines_destroy(device, pipelines);
    return result;
}

void pipelines_destroy(AdeptDevice *device, Pipelines *pipelines) {
    for (uint32_t i = 0; pipelines->handles && i < pipelines->count; i++)
        if (pipelines->handles[i])
            device->vk.DestroyPipeline(device->handle, pipelines->handles[i], NULL);
    free(pipelines->handles);
    if (pipelines->layout)
        device->vk.DestroyPipelineLayout(device->handle, pipelines->layout, NULL);
    if (pipelines->set_layout)
        device->vk.DestroyDescriptorSetLayout(device->handle, pipelines->set_layout, NULL);
    *pipelines = (Pipelines){0};
}
