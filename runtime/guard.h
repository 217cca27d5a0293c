// ADEPT_GUARD=1: the tensors of an arena, told apart and given memory of their own. A package says
// which bytes each dispatch reads and writes, not which tensors they are: uses that share bytes
// belong to one tensor where the later reads what the earlier wrote.
#pragma once

#include "runtime/launch.h"

typedef struct GuardArena {
    Memory *tensors;
    uint32_t count;
} GuardArena;

// Finds the tensors behind launches->uses, makes each its memory, filled with NaN, and writes the
// addresses to launches->block. On failure nothing is left to destroy.
AdeptResult guard_arena_create(AdeptDevice *device, Launches *launches, GuardArena *guard,
                               AdeptError *error);
void guard_arena_destroy(AdeptDevice *device, GuardArena *guard);
