// One tour through the runtime, for tests that let something fail on the way: a device is opened, a
// buffer made, the hand-made model opened, bound, run with growing dims, profiled, its states
// saved, loaded and copied, runs timed, and all is closed again.
#pragma once

#include "runtime/adept.h"

typedef struct RuntimeUse {
    uint8_t *package;
    size_t package_size;
    char folder[64], weights[96], states[96];
} RuntimeUse;

// For cmocka: *state becomes a RuntimeUse.
int runtime_use_set_up(void **state);
int runtime_use_tear_down(void **state);

// The first error on the tour, or ADEPT_OK after results were found right.
AdeptResult runtime_use(const RuntimeUse *use, PFN_vkGetInstanceProcAddr loader, AdeptError *error);
