// Device memory: buffers reached by device address, blocks of one or (ADEPT_GUARD=1) many of them.
#pragma once

#include "runtime/device.h"

typedef enum MemoryUse {
    MEMORY_TENSORS,  // device-local, and mapped where all device-local memory can be
    MEMORY_BLOCK,    // written by the host for each run, read by kernels; mapped
    MEMORY_STAGING,  // written by the host, read by copies; mapped
    MEMORY_READBACK, // written by copies, read by the host; mapped
    MEMORY_USES
} MemoryUse;

typedef struct Memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size;           // bytes that may be used
    uint64_t start;          // where they begin in the buffer
    VkDeviceAddress address; // of them; divides by 16
    uint8_t *mapped;         // of them; NULL where the host cannot write
    bool readable;           // mapped, and fast for the host to read
    void *region;            // guard: the mapping with its inaccessible page
    size_t region_size;
} Memory;

// Contents undefined, except that guarded tensors are filled with NaN. Size 0 gives size 16. With
// device->guard, MEMORY_TENSORS end at an inaccessible page (less than 16 bytes before it). On
// failure *memory is zeroed.
AdeptResult memory_create(AdeptDevice *device, uint64_t size, MemoryUse use, Memory *memory,
                          AdeptError *error);
// Allowed on zeroed memory.
void memory_destroy(AdeptDevice *device, Memory *memory);

// A range of a block's offsets.
typedef struct BlockRange {
    uint64_t offset, size;
} BlockRange;

typedef struct BlockPiece {
    BlockRange range;
    Memory memory;
} BlockPiece;

// The memory behind one kind of buffer of the package. Offsets run from 0 to `size`.
typedef struct Block {
    BlockPiece *pieces; // rising, without overlap
    uint32_t count;
    uint64_t size;
} Block;

// One piece; under guard one for each of `ranges`, which are sorted and merged where they overlap.
AdeptResult block_create(AdeptDevice *device, uint64_t size, BlockRange *ranges, uint32_t count,
                         Block *block, AdeptError *error);
// The ranges alone, which are sorted and merged where they overlap or nearly touch.
AdeptResult block_create_parts(AdeptDevice *device, uint64_t size, BlockRange *ranges,
                               uint32_t count, Block *block, AdeptError *error);
void block_destroy(AdeptDevice *device, Block *block);
// The piece that holds [offset, offset + size), NULL where none does.
const BlockPiece *block_find(const Block *block, uint64_t offset, uint64_t size);

struct AdeptBuffer {
    AdeptDevice *device;
    Memory memory;
    bool imported;
};
