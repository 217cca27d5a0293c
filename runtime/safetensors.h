// Reader and writer of one .safetensors file: u64 N, N bytes of JSON, tensor data. The file is
// hostile: everything is checked on opening except the data itself (bool bytes are checked when
// they are read). Tensors are sorted by name.
#pragma once

#include "runtime/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One row a dtype of the format: name, bits an element.
#define SAFETENSORS_DTYPES(row)                                                                    \
    row(BOOL, 8) row(U8, 8) row(I8, 8) row(F8_E5M2, 8) row(F8_E4M3, 8) row(F8_E8M0, 8)             \
        row(F8_E4M3FNUZ, 8) row(F8_E5M2FNUZ, 8) row(I16, 16) row(U16, 16) row(F16, 16)             \
            row(BF16, 16) row(I32, 32) row(U32, 32) row(F32, 32) row(C64, 64) row(F64, 64)         \
                row(I64, 64) row(U64, 64) row(F4, 4) row(F6_E2M3, 6) row(F6_E3M2, 6)

typedef enum SafetensorsDType {
#define SAFETENSORS_ENUM(name, bits) SAFETENSORS_##name,
    SAFETENSORS_DTYPES(SAFETENSORS_ENUM)
#undef SAFETENSORS_ENUM
        SAFETENSORS_DTYPE_COUNT
} SafetensorsDType;

enum { SAFETENSORS_RANK_MAX = 8, SAFETENSORS_NAME_MAX = 1024 };

typedef struct SafetensorsTensor {
    const char *name;
    uint32_t name_length;
    uint16_t dtype; // SafetensorsDType
    uint16_t rank;
    uint64_t shape[SAFETENSORS_RANK_MAX];
    uint64_t offset, size; // bytes of the file
} SafetensorsTensor;

typedef struct SafetensorsFile {
    Source source;
    char *header; // names point into it
    SafetensorsTensor *tensors;
    uint32_t count;
} SafetensorsFile;

const char *safetensors_dtype_name(SafetensorsDType dtype);
uint32_t safetensors_dtype_bits(SafetensorsDType dtype);

// On failure nothing is left to close; ADEPT_ERROR_FORMAT names file, byte, tensor and rule.
AdeptResult safetensors_open(SafetensorsFile *file, const char *path, AdeptError *error);
// `data` must stay until the file is closed.
AdeptResult safetensors_open_memory(SafetensorsFile *file, const char *name, const void *data,
                                    uint64_t size, AdeptError *error);
void safetensors_close(SafetensorsFile *file);
// NULL where there is no tensor of that name.
const SafetensorsTensor *safetensors_find(const SafetensorsFile *file, const char *name);
// Copies `size` bytes from `offset` of the tensor's data.
AdeptResult safetensors_read(const SafetensorsFile *file, const SafetensorsTensor *tensor,
                             uint64_t offset, void *out, uint64_t size, AdeptError *error);

// A tensor to be written; name without NUL, 1 to 1,024 bytes of UTF-8, all names different.
typedef struct SafetensorsItem {
    const char *name;
    SafetensorsDType dtype;
    uint32_t rank;
    uint64_t shape[SAFETENSORS_RANK_MAX];
    const void *data; // as many bytes as dtype and shape say
} SafetensorsItem;

// Writes the tensors, sorted by dtype size (largest first), then name. Sorts `items`. The file
// appears whole or not at all.
AdeptResult safetensors_write(const char *path, SafetensorsItem *items, uint32_t count,
                              AdeptError *error);
