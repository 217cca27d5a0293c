#include "runtime/source.h"
#include "runtime/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

AdeptResult source_open(Source *source, const char *path, AdeptError *error) {
    *source = (Source){.file = -1};
    // O_NONBLOCK: opening a FIFO nobody writes to would wait for ever.
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return error_set(error, ADEPT_ERROR_FILE, "%s: cannot be opened: %s", path,
                         strerror(errno));
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file);
        return error_set(error, ADEPT_ERROR_FILE, "%s: not a regular file", path);
    }
    source->name = strdup(path);
    if (!source->name) {
        close(file);
        return error_memory(error);
    }
    source->file = file;
    source->size = (uint64_t)status.st_size;
    return ADEPT_OK;
}

AdeptResult source_open_memory(Source *source, const char *name, const void *data, uint64_t size,
                               AdeptError *error) {
    *source = (Source){.name = strdup(name), .file = -1, .data = data, .size = size};
    return source->name ? ADEPT_OK : error_memory(error);
}

void source_close(Source *source) {
    if (source->name && source->file >= 0) close(source->file);
    free(source->name);
    *source = (Source){.file = -1};
}

AdeptResult source_read(const Source *source, uint64_t offset, void *out, uint64_t size,
                        AdeptError *error) {
    if (offset > source->size || size > source->size - offset)
        return error_set(error, ADEPT_ERROR_FORMAT,
                         "%s: %llu bytes at %llu do not lie in the file's %llu", source->name,
                         (unsigned long long)size, (unsigned long long)offset,
                         (unsigned long long)source->size);
    if (source->file < 0) {
        if (size) memcpy(out, source->data + offset, size);
        return ADEPT_OK;
    }
    for (uint8_t *to = out; size;) {
        size_t part = size < (1u << 30) ? (size_t)size : 1u << 30;
        ssize_t got = pread(source->file, to, part, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return error_set(error, ADEPT_ERROR_FILE, "%s: cannot be read at %llu: %s",
                             source->name, (unsigned long long)offset, strerror(errno));
        if (got == 0)
            return error_set(error, ADEPT_ERROR_FILE, "%s: has become shorter while being read",
                             source->name);
        to += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return ADEPT_OK;
}
