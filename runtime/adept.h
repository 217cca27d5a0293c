// Adept's runtime: loads a package (.adx), binds weights to it and runs it on a Vulkan device.
//
//     AdeptDevice -> AdeptModel -> AdeptSession -> run
//
// Objects are made by `_open`/`_create` and freed by `_close`/`_destroy` (NULL is allowed),
// children before parents. A call that fails changes nothing, returns a result other than ADEPT_OK
// and, where the caller passed an AdeptError, says what was wrong in it. Nothing here prints, exits
// or falls back to the CPU.
//
// Threads: a device may be used by several threads at once. A model may be shared by threads once
// its weights are bound. A session, and a buffer that the host reads or writes, belong to one
// thread at a time; different sessions may run at the same time.
//
// Units: sizes and offsets are bytes, shapes are elements, times are nanoseconds. Tensors in memory
// are row-major, without gaps, little-endian; bool is one byte, 0 or 1. Strings are UTF-8.
#pragma once

#include "runtime/adept_device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ADEPT_RUNS_IN_FLIGHT = 4 };

typedef struct AdeptModel AdeptModel;
typedef struct AdeptSession AdeptSession;

// ---- models ----------------------------------------------------------------------------------

typedef struct AdeptModelOptions {
    // Folder of the pipeline cache; NULL: $XDG_CACHE_HOME/adept or ~/.cache/adept; "": no cache.
    const char *cache_dir;
    // Called for each thing to say while weights are bound, on the caller's thread: all errors, not
    // only the first, and warnings. May be NULL. `text` dies with the call.
    void (*message)(void *user, bool is_error, const char *text);
    void *user;
} AdeptModelOptions;

// Reads and checks a package and builds its pipelines. `options` may be NULL. A package is code, to
// be trusted like a shared library: its hash shows damage, not malice.
AdeptResult adept_model_open(AdeptDevice *device, const char *path,
                             const AdeptModelOptions *options, AdeptModel **model,
                             AdeptError *error);
// The same from memory, which may be freed afterwards.
AdeptResult adept_model_open_memory(AdeptDevice *device, const void *data, size_t size,
                                    const AdeptModelOptions *options, AdeptModel **model,
                                    AdeptError *error);
// Binds weights, once: a .safetensors file, or a shard index (a name that ends in .json). Reads
// every param by its key, checks shape and dtype, runs the package's prepare program. A model
// without params needs no call. ADEPT_ERROR_WEIGHTS reports all keys that are missing or do not
// fit.
AdeptResult adept_model_bind(AdeptModel *model, const char *path, AdeptError *error);
void adept_model_close(AdeptModel *model);

// A size that can differ from run to run, low <= value <= high.
typedef struct AdeptDimInfo {
    const char *name;
    int64_t low, high;
    bool from_input;      // read from an input's shape; otherwise the host sets it
    uint32_t input, axis; // which one, and where, if from_input
} AdeptDimInfo;

// An input, output, state or param. A size is the number itself, or -1 where it depends on dims.
typedef struct AdeptPortInfo {
    const char *name; // of a param: its key
    AdeptDType dtype;
    uint32_t rank;
    int64_t shape[ADEPT_RANK_MAX];
} AdeptPortInfo;

// Gives `size` bytes of a param, from its byte `offset` on, as a weight file holds them. False: it
// has none, and binding fails.
typedef bool AdeptWeightReader(void *user, const AdeptPortInfo *param, uint64_t offset, void *data,
                               uint64_t size);
// Binds weights, once, that the host makes or keeps elsewhere: calls `reader` for every part of
// every param, in the order of the package, on the caller's thread.
AdeptResult adept_model_bind_reader(AdeptModel *model, AdeptWeightReader *reader, void *user,
                                    AdeptError *error);

typedef enum AdeptPortKind { ADEPT_INPUT, ADEPT_OUTPUT, ADEPT_STATE } AdeptPortKind;

// What the model has, in the order of its file; an index below the count is the caller's duty.
// Strings live as long as the model.
const char *adept_model_name(const AdeptModel *model);
uint32_t adept_model_dim_count(const AdeptModel *model);
AdeptDimInfo adept_model_dim(const AdeptModel *model, uint32_t index);
uint32_t adept_model_port_count(const AdeptModel *model, AdeptPortKind kind);
AdeptPortInfo adept_model_port(const AdeptModel *model, AdeptPortKind kind, uint32_t index);

// ---- sessions --------------------------------------------------------------------------------

// One use of a model: its arena, states and recordings. States start at their first values.
AdeptResult adept_session_open(AdeptModel *model, AdeptSession **session, AdeptError *error);
// Waits for the runs in flight.
void adept_session_close(AdeptSession *session);

// Sets a dim for the runs to come. A dim that is read from an input need not be set, but an output
// shape can be asked for only when it is.
AdeptResult adept_session_set_dim(AdeptSession *session, const char *name, int64_t value,
                                  AdeptError *error);
// The shape of an output for the dims set, or read from `inputs` (names, ranks and shapes only).
// Fills in dtype, rank, shape and `size`, the bytes needed, of `output`, found by its name.
AdeptResult adept_session_output(AdeptSession *session, const AdeptTensor *inputs,
                                 uint32_t input_count, AdeptTensor *output, AdeptError *error);

// Runs the model and waits. All inputs are given, in any order; outputs that are left out are
// computed and dropped. Dims are checked and the model's asserts hold before anything is
// dispatched.
AdeptResult adept_session_run(AdeptSession *session, const AdeptTensor *inputs,
                              uint32_t input_count, AdeptTensor *outputs, uint32_t output_count,
                              AdeptError *error);

// A semaphore and the value to wait for or to signal (0 for a binary one).
typedef struct AdeptSemaphore {
    VkSemaphore handle;
    uint64_t value;
} AdeptSemaphore;

// What a run is ordered with beside the session's own runs. All may be empty.
typedef struct AdeptSync {
    const AdeptSemaphore *waits;
    const AdeptSemaphore *signals;
    uint32_t wait_count, signal_count;
} AdeptSync;

// Starts a run and returns: `*ticket` is its number, counted from 1. Host inputs are copied before
// the call returns. Host outputs must stay until the wait for the ticket, which fills them in;
// device tensors until the run ends. Runs of one session follow one another on the device. Blocks
// while ADEPT_RUNS_IN_FLIGHT runs have not been waited for and not ended. `sync` may be NULL.
AdeptResult adept_session_submit(AdeptSession *session, const AdeptTensor *inputs,
                                 uint32_t input_count, AdeptTensor *outputs, uint32_t output_count,
                                 const AdeptSync *sync, uint64_t *ticket, AdeptError *error);
// Waits until the run of that ticket, and all before it, have ended, or ADEPT_TIMEOUT.
AdeptResult adept_session_wait(AdeptSession *session, uint64_t ticket, uint64_t timeout,
                               AdeptError *error);
// The session's timeline semaphore: reaches a ticket's number when that run ends. The session owns
// it.
VkSemaphore adept_session_semaphore(const AdeptSession *session);

// ---- states (all wait for the session's runs) ------------------------------------------------

// Back to first values.
AdeptResult adept_session_reset(AdeptSession *session, AdeptError *error);
// Writes all states, by their full names, to a safetensors file, which appears whole or not at all.
AdeptResult adept_session_save(AdeptSession *session, const char *path, AdeptError *error);
// Reads all states back; names, shapes and dtypes must be the model's.
AdeptResult adept_session_load(AdeptSession *session, const char *path, AdeptError *error);
// Copies all states between two sessions of one model.
AdeptResult adept_session_copy(AdeptSession *to, AdeptSession *from, AdeptError *error);

// ---- profiling -------------------------------------------------------------------------------

// One dispatch of the last profiled run.
typedef struct AdeptProfileEntry {
    const char *kernel;
    const char *file; // source file and its first line that went into it; "" and 0 where unknown
    uint32_t line;
    uint32_t trip;  // in a repeat, counted from 0
    uint64_t time;  // nanoseconds on the device
    uint64_t bytes; // read and written, as the package says; 0 unknown
    uint64_t flops; // floating-point operations, as the package says; 0 unknown
} AdeptProfileEntry;

// Turns timestamps around each dispatch on or off for the runs to come. ADEPT_ERROR_FEATURE where
// the queue has no timestamps.
AdeptResult adept_session_profile(AdeptSession *session, bool on, AdeptError *error);
// The dispatches of the last profiled run that was waited for, in order; NULL and 0 where there is
// none. Lives until the session's next call.
const AdeptProfileEntry *adept_session_profile_entries(const AdeptSession *session,
                                                       uint32_t *count);

// One of the runs to time: a submit's arguments, every output given and every tensor in device
// memory. Runs of one session have inputs of the same shapes.
typedef struct AdeptTimedRun {
    AdeptSession *session;
    const AdeptTensor *inputs;
    AdeptTensor *outputs;
    uint32_t input_count, output_count;
} AdeptTimedRun;

// How long runs take on the device when nothing but them happens there: `samples` stretches of
// `repeats` runs each in one submission, taken in turn from the `count` of `runs`, timestamps only
// between stretches. `times` gets the nanoseconds of each stretch. Sessions are of `device` and may
// be of different models; their states advance as by any run.
AdeptResult adept_device_time(AdeptDevice *device, const AdeptTimedRun *runs, uint32_t count,
                              uint32_t repeats, uint32_t samples, uint64_t *times,
                              AdeptError *error);

#ifdef __cplusplus
}
#endif
