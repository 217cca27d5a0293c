// The dispatches that a program comes to for given dims: alternatives chosen, trips unrolled, grids
// and arguments computed. Arguments go to a block of bytes, a slice for each launch, which kernels
// read as their run block; what differs from run to run is a list of patches to it.
#pragma once

#include "runtime/memory.h"
#include "runtime/package.h"

#define LAUNCH_DIRECT UINT32_MAX

typedef struct Launch {
    uint32_t dispatch; // of the package
    uint32_t slice;    // offset of its arguments in the block
    uint32_t grid[3];
    uint32_t indirect; // offset of the grid in the block, or LAUNCH_DIRECT
    uint32_t trip;     // of the innermost repeat
    uint32_t values;   // number of its dims in Launches.values
    bool barrier;      // a compute-to-compute memory barrier stands before it
} Launch;

typedef enum PatchKind {
    PATCH_INPUT,  // address of an input
    PATCH_OUTPUT, // address of an output
    PATCH_BUFFER, // address in a block, its offset depends on the run
    PATCH_SCALAR, // 64 bits
    PATCH_GRID    // 32 bits
} PatchKind;

typedef struct Patch {
    PatchKind kind;
    uint32_t at;     // in the block
    uint32_t index;  // of the tensor, AdxBuffer, or axis of the grid
    uint32_t values; // as in Launch
    ExprRef expr;    // offset or value; ADX_NONE: `offset`
    ExprRef bytes;   // PATCH_BUFFER
    uint64_t offset;
} Patch;

// A use of the arena by a launch, kept under guard only (runtime/guard.h).
typedef struct ArenaUse {
    uint64_t offset, bytes;
    uint32_t at; // where its address goes in the block
    uint32_t access;
} ArenaUse;

typedef struct Launches {
    const Package *package;
    const Block *blocks[ADX_BUF_COUNT];
    Launch *launches;
    uint8_t *block;
    Patch *patches;
    int64_t *values; // sets of one number a dim
    ArenaUse *uses;
    uint32_t count, block_size, patch_count, value_sets, use_count;
    uint32_t capacity, block_capacity, patch_capacity, value_capacity, use_capacity;
} Launches;

typedef struct LaunchPlan {
    const AdeptDevice *device;
    const Package *package;
    uint32_t first_step, steps;
    uint32_t first_run, runs;           // of the walk through them, in all trips; runs 0: all
    const int64_t *dims;                // one a dim of the package
    const Block *blocks[ADX_BUF_COUNT]; // NULL: patched (inputs, outputs), collected or not there
    bool record_host;                   // host dims are fixed too, so that no patch depends on them
    bool collect_arena;                 // arena addresses are left to the caller
} LaunchPlan;

// On failure nothing is left to free.
AdeptResult launches_expand(const LaunchPlan *plan, Launches *launches, AdeptError *error);
void launches_free(Launches *launches);

// Writes what differs from run to run to a copy of the block: `dims` of this run, addresses of the
// inputs and outputs. Updates the value sets.
AdeptResult launches_patch(Launches *launches, const AdeptDevice *device, const int64_t *dims,
                           const VkDeviceAddress *inputs, const VkDeviceAddress *outputs,
                           uint8_t *block, AdeptError *error);
