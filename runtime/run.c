#include "runtime/error.h"
#include "runtime/session.h"
#include "runtime/transfer.h"

#include <stdlib.h>
#include <string.h>

// ---- tensors of a slot -----------------------------------------------------------------------

// Memory of at least `size` bytes; under guard exactly that and full of NaN, so that an overrun of
// the tensor, not of the memory, is seen.
static AdeptResult need_memory(AdeptDevice *device, Memory *memory, uint64_t size, MemoryUse use,
                               AdeptError *error) {
    bool exact = device->guard && use == MEMORY_TENSORS;
    if (exact && memory->size == size && memory->mapped) {
        memset(memory->mapped, 0xFF, size);
        return ADEPT_OK;
    }
    if (!exact && memory->buffer && memory->size >= size) return ADEPT_OK;
    memory_destroy(device, memory);
    return memory_create(device, size, use, memory, error);
}

static AdeptResult place_input(AdeptSession *session, SlotTensor *slot, const AdeptTensor *tensor,
                               uint64_t bytes, VkDeviceAddress *address, AdeptError *error) {
    slot->size = bytes;
    slot->copied = false;
    if (tensor->buffer && bytes) {
        *address = tensor->buffer->memory.address + tensor->offset;
        return ADEPT_OK;
    }
    AdeptDevice *device = session->device;
    AdeptResult result = need_memory(device, &slot->memory, bytes, MEMORY_TENSORS, error);
    if (result) return result;
    *address = slot->memory.address;
    if (!bytes) return ADEPT_OK;
    uint8_t *to = slot->memory.mapped;
    if (!to) {
        result = need_memory(device, &slot->staging, bytes, MEMORY_STAGING, error);
        if (result) return result;
        to = slot->staging.mapped;
        slot->copied = true;
    }
    memcpy(to, tensor->data, bytes);
    return ADEPT_OK;
}

static AdeptResult place_output(AdeptSession *session, SlotTensor *slot, const AdeptTensor *tensor,
                                uint64_t bytes, VkDeviceAddress *address, AdeptError *error) {
    slot->size = bytes;
    slot->copied = false;
    slot->host = NULL;
    if (tensor && tensor->buffer && bytes) {
        *address = tensor->buffer->memory.address + tensor->offset;
        return ADEPT_OK;
    }
    AdeptDevice *device = session->device;
    AdeptResult result = need_memory(device, &slot->memory, bytes, MEMORY_TENSORS, error);
    if (result) return result;
    *address = slot->memory.address;
    if (!tensor || !bytes) return ADEPT_OK;
    slot->host = tensor->data;
    if (slot->memory.mapped && slot->memory.readable) return ADEPT_OK;
    slot->copied = true;
    return need_memory(device, &slot->staging, bytes, MEMORY_READBACK, error);
}

static AdeptResult place_tensors(AdeptSession *session, Slot *slot, AdeptError *error) {
    const Package *package = &session->model->package;
    Run *run = &session->run;
    AdeptResult result = ADEPT_OK;
    for (uint32_t i = 0; !result && i < package->count[ADX_INPUTS]; i++)
        result = place_input(session, &slot->inputs[i], run->inputs[i], run->input_bytes[i],
                             &run->input_addresses[i], error);
    for (uint32_t i = 0; !result && i < package->count[ADX_OUTPUTS]; i++)
        result = place_output(session, &slot->outputs[i], run->outputs[i], run->output_bytes[i],
                              &run->output_addresses[i], error);
    return result;
}

// Records the copies of a slot's tensors, in or out, into `commands`; *any where there are some.
static AdeptResult record_copies(AdeptSession *session, const SlotTensor *tensors, uint32_t count,
                                 bool out, VkCommandBuffer commands, bool *any, AdeptError *error) {
    const VkTable *vk = &session->device->vk;
    *any = false;
    for (uint32_t i = 0; i < count; i++) *any |= tensors[i].copied;
    if (!*any) return ADEPT_OK;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkResult result = vk->BeginCommandBuffer(commands, &begin);
    if (result) return vk_error(error, result, "BeginCommandBuffer");
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    if (out) {
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
        barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
        vk->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                               VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    }
    for (uint32_t i = 0; i < count; i++) {
        const SlotTensor *tensor = &tensors[i];
        if (!tensor->copied) continue;
        const Memory *from = out ? &tensor->memory : &tensor->staging;
        const Memory *to = out ? &tensor->staging : &tensor->memory;
        VkBufferCopy range = {from->start, to->start, tensor->size};
        vk->CmdCopyBuffer(commands, from->buffer, to->buffer, 1, &range);
    }
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = out ? VK_ACCESS_HOST_READ_BIT : VK_ACCESS_SHADER_READ_BIT;
    vk->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                           out ? VK_PIPELINE_STAGE_HOST_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           0, 1, &barrier, 0, NULL, 0, NULL);
    result = vk->EndCommandBuffer(commands);
    return result ? vk_error(error, result, "EndCommandBuffer") : ADEPT_OK;
}

// ---- bringing back ---------------------------------------------------------------------------

static AdeptResult read_profile(AdeptSession *session, Slot *slot, AdeptError *error) {
    AdeptDevice *device = session->device;
    const Launches *launches = &slot->recording->launches;
    const Package *package = &session->model->package;
    VkQueryPool queries = slot->recording->slots[slot - session->slots].queries;
    uint32_t count = launches->count;
    if (!queries) return ADEPT_OK;
    uint64_t *ticks = malloc((count + 1u) * sizeof *ticks);
    if (session->entry_capacity < count) {
        AdeptProfileEntry *bigger = realloc(session->entries, count * sizeof *bigger);
        if (bigger) {
            session->entries = bigger;
            session->entry_capacity = count;
        }
    }
    if (!ticks || session->entry_capacity < count) {
        free(ticks);
        return error_memory(error);
    }
    VkResult result = device->vk.GetQueryPoolResults(
        device->handle, queries, 0, count + 1, (count + 1u) * sizeof *ticks, ticks, sizeof *ticks,
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    for (uint32_t i = 0; !result && i < count; i++) {
        const Launch *launch = &launches->launches[i];
        const AdxDispatch *dispatch = &package->dispatches[launch->dispatch];
        const int64_t *values =
            launches->values + (size_t)launch->values * package->count[ADX_DIMS];
        int64_t bytes = 0, flops = 0;
        uint64_t elapsed = (ticks[i + 1] - ticks[i]) & device->caps.timestamp_mask;
        if (dispatch->bytes != ADX_NONE)
            (void)expr_evaluate(package->exprs + dispatch->bytes, values, &bytes);
        if (dispatch->flops != ADX_NONE)
            (void)expr_evaluate(package->exprs + dispatch->flops, values, &flops);
        session->entries[i] =
            (AdeptProfileEntry){.kernel = package_string(package, dispatch->label),
                                .file = package_string(package, dispatch->file),
                                .line = dispatch->lines ? package->refs[dispatch->first_line] : 0,
                                .trip = launch->trip,
                                .time = (uint64_t)((double)elapsed * device->caps.timestamp_period),
                                .bytes = (uint64_t)bytes,
                                .flops = (uint64_t)flops};
    }
    free(ticks);
    if (result) return vk_error(error, result, "GetQueryPoolResults");
    session->entry_count = count;
    return ADEPT_OK;
}

// Of a run that has ended. The slot is free afterwards, also on failure.
static AdeptResult deliver(AdeptSession *session, Slot *slot, AdeptError *error) {
    const Package *package = &session->model->package;
    slot->ticket = 0;
    for (uint32_t i = 0; i < package->count[ADX_OUTPUTS]; i++) {
        const SlotTensor *tensor = &slot->outputs[i];
        if (!tensor->host) continue;
        memcpy(tensor->host, tensor->copied ? tensor->staging.mapped : tensor->memory.mapped,
               tensor->size);
    }
    return read_profile(session, slot, error);
}

AdeptResult adept_session_wait(AdeptSession *session, uint64_t ticket, uint64_t timeout,
                               AdeptError *error) {
    if (!ticket) return ADEPT_OK;
    if (ticket > session->submitted)
        return error_set(error, ADEPT_ERROR_ARGUMENT, "there is no run %llu",
                         (unsigned long long)ticket);
    AdeptResult result = ADEPT_OK;
    if (!timeline_reached(session->device, session->semaphore, ticket))
        result = timeline_wait(session->device, session->semaphore, ticket, timeout, error);
    // In the order of their tickets: the profile is the last run's.
    uint64_t first = ticket > ADEPT_RUNS_IN_FLIGHT ? ticket - ADEPT_RUNS_IN_FLIGHT + 1 : 1;
    for (uint64_t ended = first; !result && ended <= ticket; ended++) {
        Slot *slot = &session->slots[ended % ADEPT_RUNS_IN_FLIGHT];
        if (slot->ticket == ended) result = deliver(session, slot, error);
    }
    return result;
}

AdeptResult session_wait_all(AdeptSession *session, AdeptError *error) {
    return adept_session_wait(session, session->submitted, UINT64_MAX, error);
}

// ---- submitting ------------------------------------------------------------------------------

static AdeptResult submit(AdeptSession *session, Slot *slot, const SlotRecording *recording,
                          const AdeptSync *sync, uint64_t ticket, AdeptError *error) {
    const Package *package = &session->model->package;
    VkSemaphore waits[SESSION_SYNC_MAX], signals[SESSION_SYNC_MAX + 1];
    uint64_t wait_values[SESSION_SYNC_MAX], signal_values[SESSION_SYNC_MAX + 1];
    VkPipelineStageFlags stages[SESSION_SYNC_MAX];
    for (uint32_t i = 0; i < sync->wait_count; i++) {
        waits[i] = sync->waits[i].handle;
        wait_values[i] = sync->waits[i].value;
        stages[i] = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    }
    for (uint32_t i = 0; i < sync->signal_count; i++) {
        signals[i] = sync->signals[i].handle;
        signal_values[i] = sync->signals[i].value;
    }
    signals[sync->signal_count] = session->semaphore;
    signal_values[sync->signal_count] = ticket;

    bool before, after;
    VkCommandBuffer commands[3];
    uint32_t count = 0;
    AdeptResult result = record_copies(session, slot->inputs, package->count[ADX_INPUTS], false,
                                       slot->before, &before, error);
    if (!result)
        result = record_copies(session, slot->outputs, package->count[ADX_OUTPUTS], true,
                               slot->after, &after, error);
    if (result) return result;
    if (before) commands[count++] = slot->before;
    commands[count++] = recording->commands;
    if (after) commands[count++] = slot->after;
    VkTimelineSemaphoreSubmitInfo timeline = {.sType =
                                                  VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .waitSemaphoreValueCount = sync->wait_count,
                                              .pWaitSemaphoreValues = wait_values,
                                              .signalSemaphoreValueCount = sync->signal_count + 1,
                                              .pSignalSemaphoreValues = signal_values};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &timeline,
                         .waitSemaphoreCount = sync->wait_count,
                         .pWaitSemaphores = waits,
                         .pWaitDstStageMask = stages,
                         .commandBufferCount = count,
                         .pCommandBuffers = commands,
                         .signalSemaphoreCount = sync->signal_count + 1,
                         .pSignalSemaphores = signals};
    return device_submit(session->device, &info, error);
}

AdeptResult adept_session_submit(AdeptSession *session, const AdeptTensor *inputs,
                                 uint32_t input_count, AdeptTensor *outputs, uint32_t output_count,
                                 const AdeptSync *sync, uint64_t *ticket, AdeptError *error) {
    static const AdeptSync none = {0};
    if (!sync) sync = &none;
    if (sync->wait_count > SESSION_SYNC_MAX || sync->signal_count > SESSION_SYNC_MAX)
        return error_set(error, ADEPT_ERROR_ARGUMENT, "more than %d semaphores", SESSION_SYNC_MAX);
    AdeptResult result =
        session_resolve(session, inputs, input_count, outputs, output_count, false, error);
    if (result) return result;
    uint64_t number = session->submitted + 1;
    uint32_t index = (uint32_t)(number % ADEPT_RUNS_IN_FLIGHT);
    Slot *slot = &session->slots[index];
    if (slot->ticket) result = adept_session_wait(session, slot->ticket, UINT64_MAX, error);
    Recording *recording = NULL;
    if (!result) result = session_recording(session, index, &recording, error);
    if (!result) result = place_tensors(session, slot, error);
    if (!result)
        result = launches_patch(&recording->launches, session->device, session->run.dims,
                                session->run.input_addresses, session->run.output_addresses,
                                recording->slots[index].block.memory.mapped, error);
    if (!result) result = submit(session, slot, &recording->slots[index], sync, number, error);
    if (result) return result;
    session->submitted = number;
    slot->ticket = number;
    slot->recording = recording;
    recording->used = number;
    *ticket = number;
    return ADEPT_OK;
}

AdeptResult adept_session_run(AdeptSession *session, const AdeptTensor *inputs,
                              uint32_t input_count, AdeptTensor *outputs, uint32_t output_count,
                              AdeptError *error) {
    uint64_t ticket;
    AdeptResult result = adept_session_submit(session, inputs, input_count, outputs, output_count,
                                              NULL, &ticket, error);
    return result ? result : adept_session_wait(session, ticket, UINT64_MAX, error);
}
