#include "runtime/error.h"

#include <stdio.h>
#include <string.h>

static void cut_at_character(char *text, size_t length) {
    while (length && ((unsigned char)text[length - 1] & 0xC0) == 0x80) length--;
    if (length && (unsigned char)text[length - 1] >= 0xC0) length--;
    text[length] = 0;
}

AdeptResult error_set_list(AdeptError *error, AdeptResult result, const char *format,
                           va_list list) {
    if (!error) return result;
    error->result = result;
    int length = vsnprintf(error->detail, sizeof error->detail, format, list);
    if (length < 0) error->detail[0] = 0;
    if (length >= (int)sizeof error->detail)
        cut_at_character(error->detail, sizeof error->detail - 1);
    for (unsigned char *c = (unsigned char *)error->detail; *c; c++)
        if ((*c < 0x20 && *c != '\n') || *c == 0x7F) *c = '?';
    return result;
}

AdeptResult error_set(AdeptError *error, AdeptResult result, const char *format, ...) {
    va_list list;
    va_start(list, format);
    error_set_list(error, result, format, list);
    va_end(list);
    return result;
}

AdeptResult error_memory(AdeptError *error) {
    return error_set(error, ADEPT_ERROR_MEMORY, "out of host memory");
}
