// Fuzz entry of the safetensors reader: opens the input in memory and reads every tensor.
#include "runtime/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    SafetensorsFile file;
    AdeptError error;
    if (safetensors_open_memory(&file, "input", data, size, &error)) return 0;
    uint8_t *out = malloc(size + 1);
    for (uint32_t i = 0; out && i < file.count; i++) {
        const SafetensorsTensor *tensor = &file.tensors[i];
        if (safetensors_find(&file, tensor->name) != tensor) abort();
        (void)safetensors_read(&file, tensor, 0, out, tensor->size, &error);
    }
    free(out);
    safetensors_close(&file);
    return 0;
}
