#include "runtime/memory.h"
#include "runtime/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    VISIBLE = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    CACHED = VK_MEMORY_PROPERTY_HOST_CACHED_BIT
};

// Property sets a use can live with, best first; the last is what Vulkan promises. LOCAL | VISIBLE
// counts only where it spans the device's memory if `whole` says so.
static const struct {
    VkMemoryPropertyFlags wanted[4];
    uint8_t count;
    bool whole;
} preferences[MEMORY_USES] = {
    [MEMORY_TENSORS] = {{LOCAL | VISIBLE | CACHED, LOCAL | VISIBLE, LOCAL, 0}, 4, true},
    [MEMORY_BLOCK] = {{LOCAL | VISIBLE, VISIBLE}, 2, false},
    [MEMORY_STAGING] = {{VISIBLE}, 1, false},
    [MEMORY_READBACK] = {{VISIBLE | CACHED, VISIBLE}, 2, false},
};

static bool spans_device(const AdeptDevice *device, uint32_t type) {
    uint32_t heap = device->memory.memoryTypes[type].heapIndex;
    return device->memory.memoryHeaps[heap].size >= device->info.memory;
}

static uint32_t choose_type(const AdeptDevice *device, uint32_t allowed, MemoryUse use) {
    for (uint32_t k = 0; k < preferences[use].count; k++) {
        VkMemoryPropertyFlags wanted = preferences[use].wanted[k];
        bool whole = preferences[use].whole && wanted & VISIBLE;
        for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++)
            if (allowed >> i & 1 &&
                (device->memory.memoryTypes[i].propertyFlags & wanted) == wanted &&
                (!whole || spans_device(device, i)))
                return i;
    }
    return UINT32_MAX;
}

static AdeptResult create_buffer(AdeptDevice *device, uint64_t size, const void *next,
                                 Memory *memory, AdeptError *error) {
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = next,
        .size = size,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    VkResult result = device->vk.CreateBuffer(device->handle, &info, NULL, &memory->buffer);
    if (!result) return ADEPT_OK;
    memory->buffer = VK_NULL_HANDLE;
    return vk_error(error, result, "CreateBuffer");
}

// Allocates from `type` and binds the buffer at 0; `next` joins the allocation's chain.
static AdeptResult allocate(AdeptDevice *device, uint64_t size, uint32_t type, const void *next,
                            Memory *memory, AdeptError *error) {
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .pNext = next,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = &flags,
                                 .allocationSize = size,
                                 .memoryTypeIndex = type};
    VkResult result = device->vk.AllocateMemory(device->handle, &info, NULL, &memory->memory);
    if (result) {
        memory->memory = VK_NULL_HANDLE;
        AdeptError detail;
        AdeptResult code = vk_error(&detail, result, "AllocateMemory");
        return error_set(error, code, "%llu bytes of device memory: %s", (unsigned long long)size,
                         detail.detail);
    }
    result = device->vk.BindBufferMemory(device->handle, memory->buffer, memory->memory, 0);
    if (result) return vk_error(error, result, "BindBufferMemory");
    VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                         .buffer = memory->buffer};
    memory->address = device->vk.GetBufferDeviceAddress(device->handle, &address);
    return ADEPT_OK;
}

static AdeptResult create_plain(AdeptDevice *device, uint64_t size, MemoryUse use, Memory *memory,
                                AdeptError *error) {
    AdeptResult result = create_buffer(device, size, NULL, memory, error);
    if (result) return result;
    VkMemoryRequirements needs;
    device->vk.GetBufferMemoryRequirements(device->handle, memory->buffer, &needs);
    uint32_t type = choose_type(device, needs.memoryTypeBits, use);
    if (type == UINT32_MAX)
        return error_set(error, ADEPT_ERROR_DEVICE_MEMORY, "the device has no fitting memory type");
    result = allocate(device, needs.size, type, NULL, memory, error);
    if (result) return result;
    memory->size = size;
    VkMemoryPropertyFlags flags = device->memory.memoryTypes[type].propertyFlags;
    bool whole = !preferences[use].whole || spans_device(device, type);
    if ((flags & VISIBLE) != VISIBLE || !whole) return ADEPT_OK;
    void *mapped;
    VkResult map =
        device->vk.MapMemory(device->handle, memory->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    if (map) return vk_error(error, map, "MapMemory");
    memory->mapped = mapped;
    memory->readable = flags & CACHED;
    return ADEPT_OK;
}

// Host pages filled with NaN (all bits set in every float), imported, with an inaccessible page
// behind them.
static AdeptResult create_guarded(AdeptDevice *device, uint64_t size, Memory *memory,
                                  AdeptError *error) {
    uint64_t unit = device->caps.host_pointer_alignment;
    if (unit < 4096) unit = 4096;
    uint64_t pages = (size + unit - 1) / unit * unit;
    memory->region_size = pages + unit;
    memory->region = mmap(NULL, memory->region_size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory->region == MAP_FAILED) {
        memory->region = NULL;
        return error_memory(error);
    }
    if ((uintptr_t)memory->region % unit)
        return error_set(error, ADEPT_ERROR_FEATURE,
                         "ADEPT_GUARD=1: the driver imports host memory only at %llu bytes",
                         (unsigned long long)unit);
    memset(memory->region, 0xFF, pages);
    if (mprotect((char *)memory->region + pages, unit, PROT_NONE) != 0) return error_memory(error);

    VkExternalMemoryHandleTypeFlagBits kind =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = kind};
    AdeptResult result = create_buffer(device, pages, &external, memory, error);
    if (result) return result;
    VkMemoryHostPointerPropertiesEXT pointer = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkMemoryRequirements needs;
    device->vk.GetBufferMemoryRequirements(device->handle, memory->buffer, &needs);
    VkResult asked = device->vk.GetMemoryHostPointerPropertiesEXT(device->handle, kind,
                                                                  memory->region, &pointer);
    if (asked) return vk_error(error, asked, "GetMemoryHostPointerPropertiesEXT");
    uint32_t allowed = needs.memoryTypeBits & pointer.memoryTypeBits;
    uint32_t type = choose_type(device, allowed, MEMORY_READBACK);
    if (type == UINT32_MAX)
        return error_set(error, ADEPT_ERROR_FEATURE, "the device imports no host memory");
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = kind,
        .pHostPointer = memory->region};
    result = allocate(device, pages, type, &import, memory, error);
    if (result) return result;
    memory->size = size;
    memory->start = (pages - size) / 16 * 16;
    memory->address += memory->start;
    memory->mapped = (uint8_t *)memory->region + memory->start;
    memory->readable = true;
    return ADEPT_OK;
}

AdeptResult memory_create(AdeptDevice *device, uint64_t size, MemoryUse use, Memory *memory,
                          AdeptError *error) {
    *memory = (Memory){0};
    if (!size) size = 16;
    if (size > UINT64_C(1) << 48)
        return error_set(error, ADEPT_ERROR_DEVICE_MEMORY, "%llu bytes of device memory asked for",
                         (unsigned long long)size);
    AdeptResult result = device->guard && use == MEMORY_TENSORS
                             ? create_guarded(device, size, memory, error)
                             : create_plain(device, size, use, memory, error);
    if (result) memory_destroy(device, memory);
    return result;
}

void memory_destroy(AdeptDevice *device, Memory *memory) {
    if (memory->buffer) device->vk.DestroyBuffer(device->handle, memory->buffer, NULL);
    if (memory->memory) device->vk.FreeMemory(device->handle, memory->memory, NULL);
    if (memory->region) munmap(memory->region, memory->region_size);
    *memory = (Memory){0};
}

// ---- blocks ----------------------------------------------------------------------------------

static int compare_ranges(const void *a, const void *b) {
    const BlockRange *x = a, *y = b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1)
                                  : (x->size > y->size) - (x->size < y->size);
}

enum { NEAR = 4096 }; // ranges with less between them share a piece

// Sorts, and joins ranges with less than `gap` bytes between them; returns how many are left.
static uint32_t merge_ranges(BlockRange *ranges, uint32_t count, uint64_t gap) {
    if (!count) return 0;
    qsort(ranges, count, sizeof *ranges, compare_ranges);
    uint32_t kept = 0;
    for (uint32_t i = 1; i < count; i++) {
        BlockRange *last = &ranges[kept];
        uint64_t end = ranges[i].offset + ranges[i].size;
        if (ranges[i].offset < last->offset + last->size + gap) {
            if (end > last->offset + last->size) last->size = end - last->offset;
        } else {
            ranges[++kept] = ranges[i];
        }
    }
    return kept + 1;
}

AdeptResult block_create_parts(AdeptDevice *device, uint64_t size, BlockRange *ranges,
                               uint32_t count, Block *block, AdeptError *error) {
    *block = (Block){.size = size};
    count = merge_ranges(ranges, count, device->guard ? 0 : NEAR);
    block->pieces = calloc(count ? count : 1, sizeof *block->pieces);
    if (!block->pieces) return error_memory(error);
    for (uint32_t i = 0; i < count; i++) {
        BlockPiece *piece = &block->pieces[block->count];
        piece->range = ranges[i];
        AdeptResult result =
            memory_create(device, ranges[i].size, MEMORY_TENSORS, &piece->memory, error);
        if (result) {
            block_destroy(device, block);
            return result;
        }
        block->count++;
    }
    return ADEPT_OK;
}

AdeptResult block_create(AdeptDevice *device, uint64_t size, BlockRange *ranges, uint32_t count,
                         Block *block, AdeptError *error) {
    BlockRange whole = {0, size};
    if (device->guard) return block_create_parts(device, size, ranges, count, block, error);
    return block_create_parts(device, size, &whole, 1, block, error);
}

void block_destroy(AdeptDevice *device, Block *block) {
    for (uint32_t i = 0; i < block->count; i++) memory_destroy(device, &block->pieces[i].memory);
    free(block->pieces);
    *block = (Block){0};
}

const BlockPiece *block_find(const Block *block, uint64_t offset, uint64_t size) {
    uint32_t low = 0, high = block->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (block->pieces[middle].range.offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return NULL;
    const BlockPiece *piece = &block->pieces[low - 1];
    uint64_t into = offset - piece->range.offset;
    return into <= piece->range.size && size <= piece->range.size - into ? piece : NULL;
}
