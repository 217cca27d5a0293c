#include "runtime/session.h"
#include "runtime/error.h"
#include "runtime/transfer.h"

#include <stdlib.h>
#include <string.h>

// One allocation for the tables that have an entry a port, so that runs allocate nothing.
static AdeptResult create_tables(AdeptSession *session, AdeptError *error) {
    const Package *package = &session->model->package;
    size_t inputs = package->count[ADX_INPUTS], outputs = package->count[ADX_OUTPUTS];
    size_t ports = inputs + outputs;
    size_t size = ADEPT_RUNS_IN_FLIGHT * ports * sizeof(SlotTensor) +
                  ports * (sizeof(void *) + sizeof(uint64_t) + sizeof(VkDeviceAddress));
    session->tables = calloc(1, size + 1);
    if (!session->tables) return error_memory(error);
    SlotTensor *tensors = session->tables;
    for (uint32_t i = 0; i < ADEPT_RUNS_IN_FLIGHT; i++) {
        session->slots[i].inputs = tensors;
        session->slots[i].outputs = tensors + inputs;
        tensors += ports;
    }
    Run *run = &session->run;
    run->input_bytes = (uint64_t *)tensors;
    run->output_bytes = run->input_bytes + inputs;
    run->input_addresses = (VkDeviceAddress *)(run->output_bytes + outputs);
    run->output_addresses = run->input_addresses + inputs;
    run->inputs = (const AdeptTensor **)(void *)(run->output_addresses + outputs);
    run->outputs = (AdeptTensor **)(void *)(run->inputs + inputs);
    return ADEPT_OK;
}

static AdeptResult create_states(AdeptSession *session, AdeptError *error) {
    const Package *package = &session->model->package;
    uint32_t count = package->count[ADX_STATES];
    BlockRange *ranges = malloc((count + 1u) * sizeof *ranges);
    if (!ranges) return error_memory(error);
    for (uint32_t i = 0; i < count; i++)
        ranges[i] = (BlockRange){package->states[i].offset, package->states[i].bytes};
    // Fills write whole words.
    uint64_t size = (package->model->state_bytes + 3) / 4 * 4;
    AdeptResult result =
        block_create(session->device, size, ranges, count, &session->states, error);
    free(ranges);
    return result;
}

static AdeptResult create_commands(AdeptSession *session, AdeptError *error) {
    const VkTable *vk = &session->device->vk;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = session->device->family};
    VkResult result = vk->CreateCommandPool(session->device->handle, &pool, NULL, &session->pool);
    if (result) {
        session->pool = VK_NULL_HANDLE;
        return vk_error(error, result, "CreateCommandPool");
    }
    VkCommandBuffer commands[2 * ADEPT_RUNS_IN_FLIGHT];
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = session->pool,
                                        .commandBufferCount = 2 * ADEPT_RUNS_IN_FLIGHT};
    result = vk->AllocateCommandBuffers(session->device->handle, &info, commands);
    if (result) return vk_error(error, result, "AllocateCommandBuffers");
    for (uint32_t i = 0; i < ADEPT_RUNS_IN_FLIGHT; i++) {
        session->slots[i].before = commands[2 * i];
        session->slots[i].after = commands[2 * i + 1];
    }
    return timeline_create(session->device, &session->semaphore, error);
}

AdeptResult adept_session_open(AdeptModel *model, AdeptSession **out, AdeptError *error) {
    *out = NULL;
    if (!model->bound)
        return error_set(error, ADEPT_ERROR_STATE, "the model's weights are not bound yet");
    AdeptSession *session = calloc(1, sizeof *session);
    if (!session) return error_memory(error);
    session->model = model;
    session->device = model->device;
    AdeptResult result = create_tables(session, error);
    if (!result) result = create_states(session, error);
    if (!result) result = create_commands(session, error);
    if (!result) result = adept_session_reset(session, error);
    if (result) {
        adept_session_close(session);
        return result;
    }
    *out = session;
    return ADEPT_OK;
}

static void destroy_slot(AdeptSession *session, Slot *slot) {
    const Package *package = &session->model->package;
    uint32_t ports = package->count[ADX_INPUTS] + package->count[ADX_OUTPUTS];
    for (uint32_t i = 0; i < ports; i++) { // outputs follow inputs
        memory_destroy(session->device, &slot->inputs[i].memory);
        memory_destroy(session->device, &slot->inputs[i].staging);
    }
}

void adept_session_close(AdeptSession *session) {
    if (!session) return;
    AdeptDevice *device = session->device;
    // What the runs bring back is not wanted any more.
    if (session->semaphore && session->submitted)
        (void)timeline_wait(device, session->semaphore, session->submitted, UINT64_MAX, NULL);
    session_drop_recordings(session);
    for (uint32_t i = 0; session->tables && i < ADEPT_RUNS_IN_FLIGHT; i++)
        destroy_slot(session, &session->slots[i]);
    block_destroy(device, &session->arena);
    block_destroy(device, &session->states);
    if (session->semaphore) device->vk.DestroySemaphore(device->handle, session->semaphore, NULL);
    if (session->pool) device->vk.DestroyCommandPool(device->handle, session->pool, NULL);
    free(session->entries);
    free(session->tables);
    free(session);
}

AdeptResult adept_session_set_dim(AdeptSession *session, const char *name, int64_t value,
                                  AdeptError *error) {
    const Package *package = &session->model->package;
    for (uint32_t i = 0; i < package->count[ADX_DIMS]; i++) {
        const AdxDim *dim = &package->dims[i];
        if (dim->source == ADX_DIM_TRIP || strcmp(package_string(package, dim->name), name) != 0)
            continue;
        if (value < dim->lo || value > dim->hi)
            return error_set(error, ADEPT_ERROR_DIM, "dim %s = %lld is outside %lld..=%lld", name,
                             (long long)value, (long long)dim->lo, (long long)dim->hi);
        session->host_dims[i] = value;
        session->host_dim_set[i] = true;
        return ADEPT_OK;
    }
    return error_set(error, ADEPT_ERROR_NAME, "the model has no dim \"%s\"", name);
}

VkSemaphore adept_session_semaphore(const AdeptSession *session) {
    return session->semaphore;
}

AdeptResult adept_session_profile(AdeptSession *session, bool on, AdeptError *error) {
    if (on && session->device->caps.timestamp_period == 0)
        return error_set(error, ADEPT_ERROR_FEATURE, "the device's queue has no timestamps");
    session->profile = on;
    return ADEPT_OK;
}

const AdeptProfileEntry *adept_session_profile_entries(const AdeptSession *session,
                                                       uint32_t *count) {
    *count = session->entry_count;
    return session->entry_count ? session->entries : NULL;
}
