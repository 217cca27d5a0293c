// How the runtime's own files report failures.
#pragma once

#include "runtime/result.h"

#include <stdarg.h>

#if defined(__GNUC__)
#define ADEPT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define ADEPT_PRINTF(text, first)
#endif

// Fills `error` where there is one and returns `result`. Control characters of the text, which may
// come from a hostile file, become '?'; a text that is too long is cut between two characters.
AdeptResult error_set(AdeptError *error, AdeptResult result, const char *format, ...)
    ADEPT_PRINTF(3, 4);
AdeptResult error_set_list(AdeptError *error, AdeptResult result, const char *format, va_list list);
AdeptResult error_memory(AdeptError *error);
