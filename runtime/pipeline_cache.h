// The pipeline cache on disk: one file a device, driver and package. What is not exactly what this
// device wrote for this package is a miss, never an error.
#pragma once

#include "runtime/device.h"

#include <stddef.h>

typedef struct PipelineCache {
    char *path;          // NULL: no cache
    uint8_t header[128]; // what the file begins with; see pipeline_cache.c
    void *data;          // what was read, the driver's; NULL after a miss
    size_t size;
} PipelineCache;

// The path of a file of the cache, on the heap: `folder` as in AdeptModelOptions.cache_dir, the
// name from the key. NULL where there is no folder or no memory.
char *cache_path(const char *folder, const uint8_t key[32], const char *ending);
// Makes the folders that a path lies in; failures show when the file is written.
void cache_make_folders(const char *path);

// `folder` as in AdeptModelOptions.cache_dir; `package` is the package's hash. Never fails.
void pipeline_cache_load(PipelineCache *cache, const AdeptDevice *device, const char *folder,
                         const uint8_t package[32]);
// Replaces the file atomically; a failure leaves the old one.
void pipeline_cache_store(PipelineCache *cache, const void *data, size_t size);
void pipeline_cache_close(PipelineCache *cache);
