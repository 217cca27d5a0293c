// A package on a device, for `adept run`: through the runtime's public interface, as any program
// would.
//
// Functions return a CliExit; what went wrong has then been printed.
#pragma once

#include "frontend/arrays.h"
#include "runtime/adept.h"

typedef struct DeviceRun {
    AdeptDevice *device;
    AdeptModel *model;
    AdeptSession *session;
} DeviceRun;

typedef struct RunTimes {
    uint32_t count;
    double least, median; // milliseconds, as the host sees a run and the wait for it
    uint32_t differs;     // the first run whose outputs are not bit for bit those of run 0; 0: none
                          // (and of a model with states, whose outputs may change)
} RunTimes;

int device_run_open(DeviceRun *run, const char *device);
// `package` is a file, or NULL for `size` bytes at `bytes`. `weights`, a file, and `random`, a
// seed, may be NULL.
int device_run_load(DeviceRun *run, const char *package, const void *bytes, size_t size,
                    const char *weights, const char *random);
void device_run_close(DeviceRun *run);

// Sets dims, converts inputs, runs `times` times and adds the outputs to `out`.
int device_run(DeviceRun *run, Arena *arena, const CliSizes *dims, ArrayVec *inputs, uint32_t times,
               bool profile, ArrayVec *out, RunTimes *spent);
// The table of the last profiled run: time, share, bytes and operations a second, by kernel and
// source line.
void device_run_profile(const DeviceRun *run, Text *out);
