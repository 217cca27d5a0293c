#include "frontend/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open(const char *path, uint64_t *size, Text *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        text_printf(error, "%s: %s", path, strerror(errno));
        return -1;
    }
    struct stat status;
    if (fstat(file, &status) != 0) {
        text_printf(error, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        text_printf(error, "%s: not a regular file", path);
    } else {
        *size = (uint64_t)status.st_size;
        return file;
    }
    close(file);
    return -1;
}

bool file_read_at(int file, const char *path, uint64_t offset, void *bytes, size_t size,
                  Text *error) {
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            text_printf(error, "%s: %s", path, strerror(errno));
            return false;
        }
        if (got == 0) {
            text_printf(error, "%s: byte %llu: the file ended while it was read", path,
                        (unsigned long long)(offset + done));
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

bool file_read_text(const char *path, size_t limit, Text *out, Text *error) {
    bool standard = strcmp(path, "-") == 0;
    uint64_t size = 0;
    int file = standard ? STDIN_FILENO : file_open(path, &size, error);
    if (file < 0) return false;

    size_t before = out->len;
    bool good = true;
    char block[16384];
    while (good) {
        ssize_t got = read(file, block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) break;
        if (got < 0) {
            text_printf(error, "%s: %s", path, strerror(errno));
            good = false;
        } else if (out->len - before + (size_t)got > limit) {
            text_printf(error, "%s: longer than the %zu bytes allowed for a text", path, limit);
            good = false;
        } else {
            text_write(out, block, (size_t)got);
        }
    }
    if (!standard) close(file);
    return good;
}

static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t put = write(file, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

// A target that is no regular file (such as /dev/null) is written in place: it can't be replaced.
static bool is_special(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static bool write_in_place(const char *path, const void *bytes, size_t size) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool good = write_all(file, bytes, size);
    int reason = errno;
    if (close(file) != 0 && good) return false;
    if (!good) errno = reason;
    return good;
}

static bool write_and_rename(const char *path, const void *bytes, size_t size) {
    Text beside = {0};
    text_printf(&beside, "%s.XXXXXX", path);
    int file = mkstemp(beside.data);
    bool good = file >= 0;
    if (good) {
        mode_t mask = umask(0);
        umask(mask);
        good = fchmod(file, 0666 & ~mask) == 0 && write_all(file, bytes, size);
        int reason = errno;
        if (close(file) != 0 && good) {
            good = false;
            reason = errno;
        }
        if (good && rename(beside.data, path) != 0) {
            good = false;
            reason = errno;
        }
        if (!good) unlink(beside.data);
        errno = reason;
    }
    int reason = errno;
    text_free(&beside);
    errno = reason;
    return good;
}

bool file_write(const char *path, const void *bytes, size_t size, Text *error) {
    bool good;
    if (strcmp(path, "-") == 0)
        good = write_all(STDOUT_FILENO, bytes, size);
    else if (is_special(path))
        good = write_in_place(path, bytes, size);
    else
        good = write_and_rename(path, bytes, size);
    if (!good) text_printf(error, "%s: %s", path, strerror(errno));
    return good;
}

bool file_same(const char *path, const char *other) {
    struct stat one, two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

bool file_make_folder(const char *path, Text *error) {
    Text part = {0};
    bool good = true;
    for (const char *at = path; good; at++) {
        if (*at != '/' && *at != '\0') continue;
        part.len = 0;
        text_write(&part, path, (size_t)(at - path));
        if (part.len > 0 && mkdir(part.data, 0777) != 0) {
            struct stat status;
            good = errno == EEXIST && stat(part.data, &status) == 0 && S_ISDIR(status.st_mode);
            if (!good) text_printf(error, "%s: %s", part.data, strerror(errno));
        }
        if (*at == '\0') break;
    }
    text_free(&part);
    return good;
}
