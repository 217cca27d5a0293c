// Times many runs in one submission, timestamps only where stretches of them meet.
#include "runtime/error.h"
#include "runtime/session.h"
#include "runtime/transfer.h"

#include <stdlib.h>

typedef struct TimedSet {
    const Recording *recording;
    RunBlock block;
} TimedSet;

typedef struct Timing {
    AdeptDevice *device;
    const AdeptTimedRun *runs;
    uint32_t count;
    TimedSet *sets; // one a run
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkQueryPool queries;
    VkSemaphore semaphore;
} Timing;

static void timing_close(Timing *timing) {
    AdeptDevice *device = timing->device;
    for (uint32_t i = 0; timing->sets && i < timing->count; i++)
        run_block_destroy(device, &timing->sets[i].block);
    if (timing->semaphore) device->vk.DestroySemaphore(device->handle, timing->semaphore, NULL);
    if (timing->queries) device->vk.DestroyQueryPool(device->handle, timing->queries, NULL);
    if (timing->pool) device->vk.DestroyCommandPool(device->handle, timing->pool, NULL);
    free(timing->sets);
}

static bool in_device_memory(const AdeptTensor *tensors, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!tensors[i].buffer) return false;
    return true;
}

static AdeptResult resolve(const AdeptTimedRun *run, AdeptError *error) {
    AdeptSession *session = run->session;
    const Package *package = &session->model->package;
    if (run->output_count != package->count[ADX_OUTPUTS] ||
        !in_device_memory(run->inputs, run->input_count) ||
        !in_device_memory(run->outputs, run->output_count))
        return error_set(error, ADEPT_ERROR_ARGUMENT,
                         "a timed run gets all outputs, and every tensor in device memory");
    AdeptResult result = session_wait_all(session, error);
    if (!result)
        result = session_resolve(session, run->inputs, run->input_count, run->outputs,
                                 run->output_count, false, error);
    for (uint32_t i = 0; !result && i < package->count[ADX_INPUTS]; i++) {
        const AdeptTensor *tensor = session->run.inputs[i];
        session->run.input_addresses[i] = tensor->buffer->memory.address + tensor->offset;
    }
    for (uint32_t i = 0; !result && i < package->count[ADX_OUTPUTS]; i++) {
        const AdeptTensor *tensor = session->run.outputs[i];
        session->run.output_addresses[i] = tensor->buffer->memory.address + tensor->offset;
    }
    return result;
}

// The dispatches of each run, with a block of its own. Twice, because an arena that grows for a
// later run drops what was recorded for those before.
static AdeptResult make_sets(Timing *timing, AdeptError *error) {
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < timing->count; i++) {
            AdeptSession *session = timing->runs[i].session;
            Recording *recording;
            AdeptResult result = resolve(&timing->runs[i], error);
            if (!result) result = session_recording(session, 0, &recording, error);
            if (result) return result;
            if (pass == 0) continue;
            TimedSet *set = &timing->sets[i];
            set->recording = recording;
            recording->used = session->submitted; // so that others give way first
            for (uint32_t k = 0; k < i; k++)
                if (timing->runs[k].session == session && timing->sets[k].recording != recording)
                    return error_set(error, ADEPT_ERROR_ARGUMENT,
                                     "timed runs of one session have inputs of the same shapes");
            result = run_block_create(timing->device, &session->model->pipelines,
                                      &recording->launches, &set->block, error);
            if (!result)
                result = launches_patch(&recording->launches, timing->device, session->run.dims,
                                        session->run.input_addresses, session->run.output_addresses,
                                        set->block.memory.mapped, error);
            if (result) return result;
        }
    return ADEPT_OK;
}

static AdeptResult create_objects(Timing *timing, uint32_t samples, AdeptError *error) {
    AdeptDevice *device = timing->device;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = samples + 1};
    VkResult result = device->vk.CreateQueryPool(device->handle, &queries, NULL, &timing->queries);
    if (result) {
        timing->queries = VK_NULL_HANDLE;
        return vk_error(error, result, "CreateQueryPool");
    }
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = device->family};
    result = device->vk.CreateCommandPool(device->handle, &pool, NULL, &timing->pool);
    if (result) {
        timing->pool = VK_NULL_HANDLE;
        return vk_error(error, result, "CreateCommandPool");
    }
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = timing->pool,
                                            .commandBufferCount = 1};
    result = device->vk.AllocateCommandBuffers(device->handle, &commands, &timing->commands);
    if (result) return vk_error(error, result, "AllocateCommandBuffers");
    return timeline_create(device, &timing->semaphore, error);
}

static AdeptResult record(Timing *timing, uint32_t repeats, uint32_t samples, AdeptError *error) {
    AdeptDevice *device = timing->device;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult result = device->vk.BeginCommandBuffer(timing->commands, &begin);
    if (result) return vk_error(error, result, "BeginCommandBuffer");
    device->vk.CmdResetQueryPool(timing->commands, timing->queries, 0, samples + 1);
    uint32_t next = 0;
    for (uint32_t sample = 0; sample <= samples; sample++) {
        device->vk.CmdWriteTimestamp(timing->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                     timing->queries, sample);
        for (uint32_t i = 0; sample < samples && i < repeats; i++) {
            const TimedSet *set = &timing->sets[next];
            launches_append(device, &timing->runs[next].session->model->pipelines,
                            &set->recording->launches, &set->block, VK_NULL_HANDLE,
                            timing->commands);
            next = (next + 1) % timing->count;
        }
    }
    record_end_barrier(device, timing->commands);
    result = device->vk.EndCommandBuffer(timing->commands);
    return result ? vk_error(error, result, "EndCommandBuffer") : ADEPT_OK;
}

static AdeptResult submit(Timing *timing, AdeptError *error) {
    uint64_t value = 1;
    VkTimelineSemaphoreSubmitInfo timeline = {.sType =
                                                  VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .signalSemaphoreValueCount = 1,
                                              .pSignalSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &timeline,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &timing->commands,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &timing->semaphore};
    AdeptResult result = device_submit(timing->device, &info, error);
    if (result) return result;
    return timeline_wait(timing->device, timing->semaphore, value, UINT64_MAX, error);
}

// What passed between the timestamps, in nanoseconds.
static AdeptResult read_times(Timing *timing, uint32_t samples, uint64_t *times,
                              AdeptError *error) {
    AdeptDevice *device = timing->device;
    uint64_t *ticks = malloc((samples + 1u) * sizeof *ticks);
    if (!ticks) return error_memory(error);
    VkResult result = device->vk.GetQueryPoolResults(
        device->handle, timing->queries, 0, samples + 1, (samples + 1u) * sizeof *ticks, ticks,
        sizeof *ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    for (uint32_t i = 0; !result && i < samples; i++)
        times[i] = (uint64_t)((double)((ticks[i + 1] - ticks[i]) & device->caps.timestamp_mask) *
                              device->caps.timestamp_period);
    free(ticks);
    return result ? vk_error(error, result, "GetQueryPoolResults") : ADEPT_OK;
}

AdeptResult adept_device_time(AdeptDevice *device, const AdeptTimedRun *runs, uint32_t count,
                              uint32_t repeats, uint32_t samples, uint64_t *times,
                              AdeptError *error) {
    if (!count || !repeats || !samples)
        return error_set(error, ADEPT_ERROR_ARGUMENT, "nothing is to be timed");
    if (device->caps.timestamp_period == 0)
        return error_set(error, ADEPT_ERROR_FEATURE, "the device's queue has no timestamps");
    Timing timing = {.device = device, .runs = runs, .count = count};
    timing.sets = calloc(count, sizeof *timing.sets);
    if (!timing.sets) return error_memory(error);
    AdeptResult result = make_sets(&timing, error);
    if (!result) result = create_objects(&timing, samples, error);
    if (!result) result = record(&timing, repeats, samples, error);
    if (!result) result = submit(&timing, error);
    if (!result) result = read_times(&timing, samples, times, error);
    timing_close(&timing);
    return result;
}
