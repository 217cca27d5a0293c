// Results of the runtime's functions: one row a result, its code and its text say the same thing.
#pragma once

#include <stdint.h>

// clang-format off
#define ADEPT_RESULTS(row)                                                                         \
    row(ADEPT_OK,               0, "ok")                                                           \
    row(ADEPT_ERROR_ARGUMENT,   1, "an argument is wrong")                                         \
    row(ADEPT_ERROR_MEMORY,     2, "out of host memory")                                           \
    row(ADEPT_ERROR_DEVICE_MEMORY, 3, "out of device memory")                                      \
    row(ADEPT_ERROR_NO_DEVICE,  4, "no usable Vulkan device")                                      \
    row(ADEPT_ERROR_DEVICE_LOST, 5, "the device was lost")                                         \
    row(ADEPT_ERROR_VULKAN,     6, "a Vulkan call failed")                                         \
    row(ADEPT_ERROR_FEATURE,    7, "the device lacks a feature that is needed")                    \
    row(ADEPT_ERROR_FILE,       8, "a file cannot be read or written")                             \
    row(ADEPT_ERROR_FORMAT,     9, "a file is damaged or not of the expected format")              \
    row(ADEPT_ERROR_VERSION,   10, "a file is of a version that this runtime does not know")       \
    row(ADEPT_ERROR_WEIGHTS,   11, "the weights do not fit the model")                             \
    row(ADEPT_ERROR_NAME,      12, "there is nothing of that name")                                \
    row(ADEPT_ERROR_SHAPE,     13, "a shape or dtype does not fit")                                \
    row(ADEPT_ERROR_DIM,       14, "a dim is missing or outside its range")                        \
    row(ADEPT_ERROR_ASSERT,    15, "an assertion of the model does not hold")                      \
    row(ADEPT_ERROR_STATE,     16, "the call does not fit the object's state")                     \
    row(ADEPT_TIMEOUT,         17, "the wait ran out")
// clang-format on

typedef enum AdeptResult {
#define ADEPT_RESULT_ENUM(name, code, text) name = code,
    ADEPT_RESULTS(ADEPT_RESULT_ENUM)
#undef ADEPT_RESULT_ENUM
} AdeptResult;

enum { ADEPT_DETAIL_MAX = 2048 };

// What went wrong, with the names and numbers that disagree. The caller owns it and passes it to a
// call that can fail (or passes NULL); a call that returns ADEPT_OK leaves it untouched. `detail`
// is UTF-8, ends in NUL, has no newline at the end; a text that does not fit is cut.
typedef struct AdeptError {
    AdeptResult result;
    char detail[ADEPT_DETAIL_MAX];
} AdeptError;

// The fixed text of a result, "unknown result" for a number that is none. Never NULL.
const char *adept_result_string(AdeptResult result);
