#include "runtime/pipeline_cache.h"
#include "runtime/file_write.h"
#include "runtime/format.h"
#include "runtime/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The header of the file: magic, package, device, then size and hash of the driver's data.
enum {
    MAGIC_AT = 0,
    PACKAGE_AT = 8,
    UUID_AT = 40,
    IDS_AT = 56, // vendor, device, driver version
    SIZE_AT = 72,
    HASH_AT = 80,
    HEADER_SIZE = 128,
    DATA_MAX = 256 << 20
};

static const char magic[8] = "ADXPIPE1";

// "$XDG_CACHE_HOME/adept" or "~/.cache/adept", NULL where neither is known.
static char *default_folder(void) {
    const char *base = getenv("XDG_CACHE_HOME"), *tail = "/adept";
    if (!base || *base != '/') {
        base = getenv("HOME");
        tail = "/.cache/adept";
    }
    if (!base || *base != '/') return NULL;
    char *folder = malloc(strlen(base) + strlen(tail) + 1);
    if (folder) strcat(strcpy(folder, base), tail);
    return folder;
}

void cache_make_folders(const char *path) {
    char *part = strdup(path);
    if (!part) return;
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(part, 0700);
        *slash = '/';
    }
    free(part);
}

char *cache_path(const char *folder, const uint8_t key[32], const char *ending) {
    char *own = folder ? NULL : default_folder();
    if (own) folder = own;
    size_t length = folder ? strlen(folder) + 1 + 32 + strlen(ending) + 1 : 0;
    char *path = length && *folder ? malloc(length) : NULL;
    if (path) {
        int at = snprintf(path, length, "%s/", folder);
        for (int i = 0; i < 16; i++) at += snprintf(path + at, length - (size_t)at, "%02x", key[i]);
        snprintf(path + at, length - (size_t)at, "%s", ending);
    }
    free(own);
    return path;
}

static void fill_header(PipelineCache *cache, const AdeptDevice *device,
                        const uint8_t package[32]) {
    const DeviceCaps *caps = &device->caps;
    uint32_t ids[3] = {caps->vendor, caps->device, caps->driver_version};
    memcpy(cache->header + MAGIC_AT, magic, sizeof magic);
    memcpy(cache->header + PACKAGE_AT, package, 32);
    memcpy(cache->header + UUID_AT, caps->cache_uuid, VK_UUID_SIZE);
    memcpy(cache->header + IDS_AT, ids, sizeof ids);
}

// The driver's own header must name the device too (VkPipelineCacheHeaderVersionOne).
static int driver_header_fits(const PipelineCache *cache) {
    uint32_t words[4];
    if (cache->size < sizeof words + VK_UUID_SIZE) return 0;
    memcpy(words, cache->data, sizeof words);
    return words[1] == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           memcmp(words + 2, cache->header + IDS_AT, 8) == 0 &&
           memcmp((uint8_t *)cache->data + 16, cache->header + UUID_AT, VK_UUID_SIZE) == 0;
}

static int read_file(PipelineCache *cache, const Source *source) {
    uint8_t header[HEADER_SIZE], hash[32];
    uint64_t size;
    if (source_read(source, 0, header, HEADER_SIZE, NULL)) return 0;
    memcpy(&size, header + SIZE_AT, 8);
    if (memcmp(header, cache->header, SIZE_AT) != 0 || size > DATA_MAX ||
        source->size - HEADER_SIZE != size)
        return 0;
    cache->data = malloc(size + 1);
    cache->size = size;
    if (!cache->data || source_read(source, HEADER_SIZE, cache->data, size, NULL)) return 0;
    adx_sha256(cache->data, size, hash);
    return memcmp(hash, header + HASH_AT, 32) == 0 && driver_header_fits(cache);
}

void pipeline_cache_load(PipelineCache *cache, const AdeptDevice *device, const char *folder,
                         const uint8_t package[32]) {
    *cache = (PipelineCache){0};
    uint8_t key[32]; // so that other packages and drivers have files of their own
    fill_header(cache, device, package);
    adx_sha256(cache->header, SIZE_AT, key);
    cache->path = cache_path(folder, key, ".pipelines");
    Source source;
    if (!cache->path || source_open(&source, cache->path, NULL)) return;
    if (!read_file(cache, &source)) {
        free(cache->data);
        cache->data = NULL;
        cache->size = 0;
    }
    source_close(&source);
}

void pipeline_cache_store(PipelineCache *cache, const void *data, size_t size) {
    if (!cache->path || size > DATA_MAX) return;
    if (size == cache->size && memcmp(data, cache->data, size) == 0) return;
    uint64_t stored = size;
    memcpy(cache->header + SIZE_AT, &stored, 8);
    adx_sha256(data, size, cache->header + HASH_AT);
    cache_make_folders(cache->path);
    FileWrite file;
    if (file_write_start(&file, cache->path, NULL)) return;
    fwrite(cache->header, 1, HEADER_SIZE, file.stream);
    fwrite(data, 1, size, file.stream);
    (void)file_write_finish(&file, 1, NULL);
}

void pipeline_cache_close(PipelineCache *cache) {
    free(cache->path);
    free(cache->data);
    *cache = (PipelineCache){0};
}
