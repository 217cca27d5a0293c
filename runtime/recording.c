#include "runtime/error.h"
#include "runtime/session.h"
#include "runtime/transfer.h"

#include <stdlib.h>
#include <string.h>

static void drop_slot(AdeptSession *session, SlotRecording *slot) {
    AdeptDevice *device = session->device;
    if (slot->queries) device->vk.DestroyQueryPool(device->handle, slot->queries, NULL);
    if (slot->commands)
        device->vk.FreeCommandBuffers(device->handle, session->pool, 1, &slot->commands);
    run_block_destroy(device, &slot->block);
    *slot = (SlotRecording){0};
}

// No run of it may be in flight.
static void drop(AdeptSession *session, Recording *recording) {
    for (uint32_t i = 0; i < ADEPT_RUNS_IN_FLIGHT; i++) drop_slot(session, &recording->slots[i]);
    guard_arena_destroy(session->device, &recording->guard);
    launches_free(&recording->launches);
    free(recording->key);
    *recording = (Recording){0};
}

void session_drop_recordings(AdeptSession *session) {
    for (uint32_t i = 0; i < SESSION_RECORDINGS; i++) drop(session, &session->recordings[i]);
}

// Whether dims of the host are fixed when recording, as those of inputs always are: where the
// arena's size follows them, and under guard, where every tensor has memory of its own, of its
// exact size.
static bool records_host(const AdeptSession *session) {
    const Package *package = &session->model->package;
    return session->device->guard ||
           package_depends(package, package->model->arena_bytes) & EXPR_HOST;
}

static bool recorded(const AdeptSession *session, uint32_t dim) {
    return session->model->package.dims[dim].source == ADX_DIM_INPUT || records_host(session);
}

static bool same_dims(const AdeptSession *session, const Recording *recording) {
    if (!recording->filled || recording->profiled != session->profile) return false;
    for (uint32_t i = 0; i < session->model->package.count[ADX_DIMS]; i++)
        if (recorded(session, i) && recording->key[i] != session->run.dims[i]) return false;
    return true;
}

// Makes the arena large enough; recordings hold addresses in it, so a new one drops them all.
static AdeptResult need_arena(AdeptSession *session, AdeptError *error) {
    const Package *package = &session->model->package;
    int64_t size;
    if (!expr_evaluate(package->exprs + package->model->arena_bytes, session->run.dims, &size) ||
        size < 0)
        return error_set(error, ADEPT_ERROR_DIM, "the arena's size overflows");
    if (session->device->guard || (session->arena.count && (uint64_t)size <= session->arena_size))
        return ADEPT_OK;
    AdeptResult result = session_wait_all(session, error);
    if (result) return result;
    Block arena;
    result = block_create(session->device, (uint64_t)size, NULL, 0, &arena, error);
    if (result) return result;
    session_drop_recordings(session);
    block_destroy(session->device, &session->arena);
    session->arena = arena;
    session->arena_size = (uint64_t)size;
    return ADEPT_OK;
}

static AdeptResult fill(AdeptSession *session, Recording *recording, AdeptError *error) {
    const Package *package = &session->model->package;
    bool guard = session->device->guard;
    LaunchPlan plan = {.device = session->device,
                       .package = package,
                       .steps = package->model->run_steps,
                       .dims = session->run.dims,
                       .blocks = {[ADX_BUF_PARAM] = &session->model->params,
                                  [ADX_BUF_CONST] = &session->model->consts,
                                  [ADX_BUF_STATE] = &session->states,
                                  [ADX_BUF_ARENA] = &session->arena},
                       .record_host = records_host(session),
                       .collect_arena = guard};
    size_t key_size = package->count[ADX_DIMS] * sizeof *recording->key;
    recording->key = malloc(key_size + 1);
    if (!recording->key) return error_memory(error);
    if (key_size) memcpy(recording->key, session->run.dims, key_size);
    AdeptResult result = launches_expand(&plan, &recording->launches, error);
    if (!result && guard)
        result =
            guard_arena_create(session->device, &recording->launches, &recording->guard, error);
    recording->profiled = session->profile;
    recording->filled = result == ADEPT_OK;
    return result;
}

static AdeptResult create_queries(AdeptSession *session, const Recording *recording,
                                  SlotRecording *slot, AdeptError *error) {
    if (!recording->profiled) return ADEPT_OK;
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = recording->launches.count + 1};
    VkResult result =
        session->device->vk.CreateQueryPool(session->device->handle, &info, NULL, &slot->queries);
    if (!result) return ADEPT_OK;
    slot->queries = VK_NULL_HANDLE;
    return vk_error(error, result, "CreateQueryPool");
}

// Makes the command buffer by which one slot runs the recording.
static AdeptResult record_slot(AdeptSession *session, Recording *recording, SlotRecording *slot,
                               AdeptError *error) {
    AdeptDevice *device = session->device;
    AdeptResult made = run_block_create(device, &session->model->pipelines, &recording->launches,
                                        &slot->block, error);
    if (!made) made = create_queries(session, recording, slot, error);
    if (made) return made;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = session->pool,
                                        .commandBufferCount = 1};
    VkResult result = device->vk.AllocateCommandBuffers(device->handle, &info, &slot->commands);
    if (result) {
        slot->commands = NULL;
        return vk_error(error, result, "AllocateCommandBuffers");
    }
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    result = device->vk.BeginCommandBuffer(slot->commands, &begin);
    if (result) return vk_error(error, result, "BeginCommandBuffer");
    launches_record(device, &session->model->pipelines, &recording->launches, &slot->block,
                    slot->queries, slot->commands);
    result = device->vk.EndCommandBuffer(slot->commands);
    return result ? vk_error(error, result, "EndCommandBuffer") : ADEPT_OK;
}

// An empty place, or the one used longest ago, once its runs have ended.
static AdeptResult take_place(AdeptSession *session, Recording **place, AdeptError *error) {
    Recording *oldest = NULL;
    for (uint32_t i = 0; i < SESSION_RECORDINGS; i++) {
        Recording *recording = &session->recordings[i];
        if (!oldest || recording->filled < oldest->filled ||
            (recording->filled && oldest->filled && recording->used < oldest->used))
            oldest = recording;
    }
    *place = oldest;
    if (!oldest->filled) return ADEPT_OK;
    AdeptResult result = adept_session_wait(session, oldest->used, UINT64_MAX, error);
    if (!result) drop(session, oldest);
    return result;
}

AdeptResult session_recording(AdeptSession *session, uint32_t slot, Recording **out,
                              AdeptError *error) {
    AdeptResult result = need_arena(session, error);
    if (result) return result;
    Recording *recording = NULL;
    for (uint32_t i = 0; i < SESSION_RECORDINGS && !recording; i++)
        if (same_dims(session, &session->recordings[i])) recording = &session->recordings[i];
    if (!recording) {
        result = take_place(session, &recording, error);
        if (!result) result = fill(session, recording, error);
        if (result) {
            if (recording && !recording->filled) drop(session, recording);
            return result;
        }
    }
    SlotRecording *own = &recording->slots[slot];
    if (!own->commands) {
        result = record_slot(session, recording, own, error);
        if (result) {
            drop_slot(session, own);
            return result;
        }
    }
    *out = recording;
    return ADEPT_OK;
}
