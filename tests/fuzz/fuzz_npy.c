// The .npy reader on arbitrary bytes: what it accepts must agree with the size of the input, and
// come back the same when written and read again.
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Npy array, again;
    Text error = {0};
    if (npy_read_memory("fuzz", data, size, &array, &error)) {
        Text file = {0};
        npy_write_header(&file, array.code, array.rank, array.size);
        text_write(&file, array.data, (size_t)array.bytes);
        if (array.data_offset + array.bytes != size) abort();
        if (!npy_read_memory("again", file.data, file.len, &again, &error)) abort();
        if (again.code != array.code || again.rank != array.rank || again.bytes != array.bytes)
            abort();
        if (memcmp(again.size, array.size, sizeof array.size) != 0) abort();
        if (array.bytes > 0 && memcmp(again.data, array.data, (size_t)array.bytes) != 0) abort();
        npy_free(&again);
        text_free(&file);
        for (DType dtype = DT_F32; dtype < DT_COUNT; dtype++) {
            error.len = 0;
            (void)npy_convert("fuzz", &array, dtype, &error);
        }
        npy_free(&array);
    } else if (error.len == 0) {
        abort(); // refused without a reason
    }
    text_free(&error);
    return 0;
}
