// A session as the runtime's other files see it.
//
//   session.c    opening, closing, dims
//   resolve.c    tensors and dims of a run, checked against the package
//   recording.c  recordings kept by dims, and the arena
//   run.c        slots, submitting, waiting
//   state.c      states
//   timing.c     many runs timed in one submission
#pragma once

#include "runtime/guard.h"
#include "runtime/model.h"
#include "runtime/record.h"

enum { SESSION_RECORDINGS = 8, SESSION_SYNC_MAX = 16 };

// A recording as one slot uses it, made when the slot first runs it.
typedef struct SlotRecording {
    RunBlock block;
    VkCommandBuffer commands; // NULL: not made
    VkQueryPool queries;      // where it is profiled
} SlotRecording;

// The dispatches for certain dims.
typedef struct Recording {
    int64_t *key; // one number a dim; those that are not recorded are 0
    bool profiled, filled;
    uint64_t used; // ticket of its last run
    Launches launches;
    GuardArena guard;
    SlotRecording slots[ADEPT_RUNS_IN_FLIGHT];
} Recording;

// Memory of one input or output in one slot.
typedef struct SlotTensor {
    Memory memory;  // what kernels use
    Memory staging; // where the host cannot reach that
    void *host;     // outputs: where it goes when the run has ended; NULL: nowhere
    uint64_t size;  // bytes of this run
    bool copied;    // the device copies between memory and staging
} SlotTensor;

// One run in flight.
typedef struct Slot {
    uint64_t ticket; // 0: free, and what it brought back was delivered
    Recording *recording;
    SlotTensor *inputs, *outputs;
    VkCommandBuffer before, after; // copies, recorded for each run that needs them
} Slot;

// What a run was asked for, resolved. Arrays are as long as the package's ports.
typedef struct Run {
    int64_t dims[256];
    const AdeptTensor **inputs;
    AdeptTensor **outputs; // NULL: dropped
    uint64_t *input_bytes, *output_bytes;
    VkDeviceAddress *input_addresses, *output_addresses;
} Run;

struct AdeptSession {
    AdeptModel *model;
    AdeptDevice *device;
    int64_t host_dims[256];
    bool host_dim_set[256];
    Block states, arena;
    uint64_t arena_size;
    Recording recordings[SESSION_RECORDINGS];
    Slot slots[ADEPT_RUNS_IN_FLIGHT];
    Run run;      // room for the one being submitted
    void *tables; // the memory behind run's and the slots' arrays
    VkCommandPool pool;
    VkSemaphore semaphore;
    uint64_t submitted; // tickets so far
    bool profile;
    AdeptProfileEntry *entries;
    uint32_t entry_count, entry_capacity;
};

// ---- resolve.c -------------------------------------------------------------------------------

// Fills session->run from the caller's tensors: every name, dtype, shape, size, dim and assert.
// Writes shape, rank and dtype to the outputs. With `shapes_only` data and outputs are not looked
// at.
AdeptResult session_resolve(AdeptSession *session, const AdeptTensor *inputs, uint32_t input_count,
                            AdeptTensor *outputs, uint32_t output_count, bool shapes_only,
                            AdeptError *error);

// ---- recording.c -----------------------------------------------------------------------------

// The recording for session->run's dims, ready for that slot.
AdeptResult session_recording(AdeptSession *session, uint32_t slot, Recording **recording,
                              AdeptError *error);
void session_drop_recordings(AdeptSession *session);

// ---- run.c -----------------------------------------------------------------------------------

// Waits for all runs and delivers what they brought back.
AdeptResult session_wait_all(AdeptSession *session, AdeptError *error);
