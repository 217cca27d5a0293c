// A strict JSON pull reader: the caller asks for the tokens its format allows, so depth is fixed by
// the caller's code and never by the data. Strings are decoded in place.
#pragma once

#include "runtime/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct JsonReader {
    char *text; // the caller's, changed while reading
    size_t size, at;
    const char *file; // for messages
    uint64_t base;    // position of text[0] in the file
    AdeptError *error;
} JsonReader;

typedef struct JsonString {
    char *text; // in the reader's text, NUL-terminated (it may hold NULs itself)
    size_t length;
} JsonString;

// Every function that returns bool and can fail sets reader->error on failure: ADEPT_ERROR_FORMAT
// with file and byte offset.

// Whether the whole text is UTF-8; call it first.
bool json_check_utf8(JsonReader *reader);
bool json_fail(JsonReader *reader, const char *rule);
// Skips white space and takes `c` if it comes next; no error otherwise.
bool json_take(JsonReader *reader, char c);
bool json_expect(JsonReader *reader, char c);
bool json_string(JsonReader *reader, JsonString *string);
// Plain digits without leading zero, below 2^63.
bool json_unsigned(JsonReader *reader, uint64_t *value);
// A string, number, true, false or null.
bool json_skip_scalar(JsonReader *reader);
