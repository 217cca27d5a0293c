#include "runtime/file_write.h"
#include "runtime/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void clear(FileWrite *file) {
    free(file->path);
    free(file->temporary);
    *file = (FileWrite){0};
}

AdeptResult file_write_start(FileWrite *file, const char *path, AdeptError *error) {
    static const char suffix[] = ".XXXXXX";
    size_t length = strlen(path);
    *file = (FileWrite){.path = strdup(path), .temporary = malloc(length + sizeof suffix)};
    if (!file->path || !file->temporary) {
        clear(file);
        return error_memory(error);
    }
    memcpy(file->temporary, path, length);
    memcpy(file->temporary + length, suffix, sizeof suffix);
    int number = mkstemp(file->temporary);
    file->stream = number < 0 ? NULL : fdopen(number, "wb");
    if (file->stream) return ADEPT_OK;
    AdeptResult result =
        error_set(error, ADEPT_ERROR_FILE, "%s: cannot be written: %s", path, strerror(errno));
    if (number >= 0) {
        close(number);
        unlink(file->temporary);
    }
    clear(file);
    return result;
}

AdeptResult file_write_finish(FileWrite *file, int keep, AdeptError *error) {
    AdeptResult result = ADEPT_OK;
    errno = 0;
    int bad = ferror(file->stream);
    if (fclose(file->stream) != 0 || bad || (keep && rename(file->temporary, file->path) != 0))
        result = error_set(error, ADEPT_ERROR_FILE, "%s: cannot be written: %s", file->path,
                           errno ? strerror(errno) : "write failed");
    if (result || !keep) unlink(file->temporary);
    clear(file);
    return result;
}
