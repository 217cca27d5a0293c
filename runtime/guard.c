#include "runtime/guard.h"
#include "runtime/error.h"

#include <stdlib.h>
#include <string.h>

// A set of uses, by the number of one of them.
static uint32_t root_of(uint32_t *parents, uint32_t use) {
    while (parents[use] != use) use = parents[use] = parents[parents[use]];
    return use;
}

static bool overlap(const ArenaUse *a, const ArenaUse *b) {
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool covers(const ArenaUse *a, const ArenaUse *b) {
    return a->offset <= b->offset && b->offset + b->bytes <= a->offset + a->bytes;
}

// Joins each use that reads to the latest uses before it that touched the same bytes. Back from it:
// once one write covers all of it, older uses are another tensor's.
static void join(const ArenaUse *uses, uint32_t count, uint32_t *parents) {
    for (uint32_t i = 0; i < count; i++) parents[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        if (!(uses[i].access & ADX_READ)) continue;
        for (uint32_t k = i; k--;) {
            if (!overlap(&uses[i], &uses[k])) continue;
            parents[root_of(parents, k)] = root_of(parents, i);
            if (uses[k].access & ADX_WRITE && covers(&uses[k], &uses[i])) break;
        }
    }
}

AdeptResult guard_arena_create(AdeptDevice *device, Launches *launches, GuardArena *guard,
                               AdeptError *error) {
    const ArenaUse *uses = launches->uses;
    uint32_t count = launches->use_count;
    *guard = (GuardArena){.tensors = calloc(count + 1u, sizeof *guard->tensors)};
    uint32_t *parents = malloc((count + 1u) * sizeof *parents);
    BlockRange *extents = calloc(count + 1u, sizeof *extents);
    AdeptResult result = guard->tensors && parents && extents ? ADEPT_OK : error_memory(error);
    if (!result) {
        guard->count = count;
        join(uses, count, parents);
        for (uint32_t i = 0; i < count; i++) {
            BlockRange *extent = &extents[root_of(parents, i)];
            uint64_t end = extent->offset + extent->size, use_end = uses[i].offset + uses[i].bytes;
            uint64_t start =
                extent->size && extent->offset < uses[i].offset ? extent->offset : uses[i].offset;
            if (extent->size && end > use_end) use_end = end;
            *extent = (BlockRange){start, use_end - start};
        }
    }
    for (uint32_t i = 0; !result && i < count; i++)
        if (root_of(parents, i) == i)
            result =
                memory_create(device, extents[i].size, MEMORY_TENSORS, &guard->tensors[i], error);
    for (uint32_t i = 0; !result && i < count; i++) {
        uint32_t root = root_of(parents, i);
        VkDeviceAddress address =
            guard->tensors[root].address + (uses[i].offset - extents[root].offset);
        memcpy(launches->block + uses[i].at, &address, 8);
    }
    free(parents);
    free(extents);
    if (result) guard_arena_destroy(device, guard);
    return result;
}

void guard_arena_destroy(AdeptDevice *device, GuardArena *guard) {
    for (uint32_t i = 0; i < guard->count; i++) memory_destroy(device, &guard->tensors[i]);
    free(guard->tensors);
    *guard = (GuardArena){0};
}
