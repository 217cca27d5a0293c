// The .npz reader on arbitrary bytes: opens, reads every member.
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "frontend/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Npz *archive;
    Text error = {0};
    if (npz_open_memory("fuzz", data, size, &archive, &error)) {
        for (uint32_t i = 0; i < npz_count(archive); i++) {
            Npy array;
            uint32_t found;
            if (!npz_find(archive, npz_name(archive, i), &found) || found != i) abort();
            if (npz_read(archive, i, &array, &error)) npy_free(&array);
        }
        npz_close(archive);
    } else if (error.len == 0) {
        abort(); // refused without a reason
    }
    text_free(&error);
    return 0;
}
