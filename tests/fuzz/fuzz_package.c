// Fuzz entry of the package reader: the header's size and hash are made right first, or nothing
// would get past them. Pipelines are not made: SPIR-V is the driver's to read.
#include "runtime/package.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AdxHeader header;
    Package package;
    Source source;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) return 0;
    if (size) memcpy(bytes, data, size);
    if (size >= sizeof header) {
        memcpy(&header, bytes, sizeof header);
        memcpy(header.magic, ADX_MAGIC, sizeof header.magic);
        header.major = ADX_MAJOR;
        header.total_size = size;
        adx_sha256(bytes + sizeof header, size - sizeof header, header.hash);
        memcpy(bytes, &header, sizeof header);
    }
    if (source_open_memory(&source, "input", bytes, size, NULL) == ADEPT_OK) {
        if (package_read(&package, &source, NULL) == ADEPT_OK) package_close(&package);
        source_close(&source);
    }
    free(bytes);
    return 0;
}
