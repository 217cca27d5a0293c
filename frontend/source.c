#include "frontend/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SOURCE_MAX = 64 << 20,
    SOURCE_LINE_MAX = 4096,
    DUMP_MAX = 1 << 30,
    DUMP_LINE_MAX = 1 << 20,
    READ_STEP = 64 << 10
};

static bool read_all(int handle, const char *path, Diags *diags, Text *out) {
    char buffer[READ_STEP];
    for (;;) {
        ssize_t count = read(handle, buffer, sizeof buffer);
        if (count == 0) return true;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            diag_error(diags, (Span){0}, "%s: %s", path, strerror(errno));
            return false;
        }
        if (out->len + (size_t)count > DUMP_MAX) {
            diag_error(diags, (Span){0}, "%s: longer than %d bytes", path, DUMP_MAX);
            return false;
        }
        text_write(out, buffer, (size_t)count);
    }
}

bool source_read_text(const char *path, Diags *diags, Text *out) {
    *out = (Text){0};
    text_write(out, "", 0);
    if (strcmp(path, "-") == 0) return read_all(STDIN_FILENO, "standard input", diags, out);
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (handle < 0 || fstat(handle, &status) != 0) {
        diag_error(diags, (Span){0}, "%s: %s", path, strerror(errno));
        if (handle >= 0) close(handle);
        return false;
    }
    bool good = S_ISREG(status.st_mode);
    if (!good)
        diag_error(diags, (Span){0}, "%s: not a regular file", path);
    else
        good = read_all(handle, path, diags, out);
    close(handle);
    return good;
}

// ---- what kind of text ----

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

// The word or number at *at, past blanks; an empty one at anything else.
static size_t word_at(const char *text, size_t length, size_t *at) {
    while (*at < length && is_blank(text[*at])) ++*at;
    size_t size = 0;
    while (*at + size < length && ((text[*at + size] >= 'a' && text[*at + size] <= 'z') ||
                                   (text[*at + size] >= '0' && text[*at + size] <= '9')))
        size++;
    return size;
}

bool source_is_dump(const char *text, size_t length) {
    size_t at = 0;
    while (at < length &&
           (is_blank(text[at]) || text[at] == '\n' || text[at] == ';' || text[at] == '#')) {
        if (text[at] == '#') {
            const char *end = memchr(text + at, '\n', length - at);
            at = end ? (size_t)(end - text) : length;
        } else {
            at++;
        }
    }
    size_t size = word_at(text, length, &at);
    if (size != 5 || memcmp(text + at, "adept", 5) != 0) return false;
    at += size;
    at += word_at(text, length, &at);
    size = word_at(text, length, &at);
    return (size == 2 && memcmp(text + at, "ir", 2) == 0) ||
           (size == 4 && memcmp(text + at, "plan", 4) == 0) ||
           (size == 7 && memcmp(text + at, "kernels", 7) == 0);
}

// ---- clean text ----

// Bytes of the UTF-8 sequence at text, 0 if it is none: shortest form, no surrogates, <= U+10FFFF.
static size_t utf8_length(const unsigned char *text, size_t length) {
    unsigned char lead = text[0];
    size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead > 0xf4 || size == 0 || size > length) return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if (lead == 0xe0 && text[1] < 0xa0) return 0;
    if (lead == 0xed && text[1] > 0x9f) return 0;
    if (lead == 0xf0 && text[1] < 0x90) return 0;
    if (lead == 0xf4 && text[1] > 0x8f) return 0;
    return size;
}

// What is wrong with the character at `at`, or NULL; *size is its length.
static const char *character_fault(const char *text, size_t length, size_t at, size_t *size) {
    const unsigned char *bytes = (const unsigned char *)text + at;
    *size = utf8_length(bytes, length - at);
    if (*size == 0) return "not UTF-8";
    if (at == 0 && length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        return "a byte-order mark does not belong in a model file";
    if (*bytes == '\r') {
        bool line_end = at + 1 < length && text[at + 1] == '\n';
        return line_end ? NULL : "a carriage return stands only before a line feed";
    }
    bool control = *bytes < 0x20 || *bytes == 0x7f;
    return control && *bytes != '\t' && *bytes != '\n' ? "control character" : NULL;
}

bool source_check(const char *text, size_t length, FileId file, Diags *diags) {
    bool dump = source_is_dump(text, length);
    size_t limit = dump ? DUMP_MAX : SOURCE_MAX,
           line_limit = dump ? DUMP_LINE_MAX : SOURCE_LINE_MAX;
    Span span = {file, 1, 1, 0, 0};
    if (length > limit) {
        diag_error(diags, span, "%zu bytes; a %s has at most %zu", length,
                   dump ? "dump" : "model file", limit);
        return false;
    }
    size_t line = 0; // where the line begins
    for (size_t at = 0, size; at < length; at += size) {
        const char *fault = character_fault(text, length, at, &size);
        span.begin = (uint32_t)at;
        span.end = span.begin + (uint32_t)(size ? size : 1);
        if (fault) {
            diag_error(diags, span, "%s (byte 0x%02x)", fault, (unsigned char)text[at]);
            return false;
        }
        if (text[at] == '\n') {
            span.line++;
            span.column = 1;
            line = at + 1;
            continue;
        }
        if (at - line >= line_limit) {
            diag_error(diags, span, "the line is longer than %zu bytes", line_limit);
            return false;
        }
        span.column++;
    }
    return true;
}
