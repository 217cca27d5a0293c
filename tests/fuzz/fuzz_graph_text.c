// Dumps on arbitrary bytes: the input is the text behind `adept 1 ir`.
#include "tests/fuzz/fuzz.h"

#include "ir/base.h"
#include "tests/support/load_round.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Text text = {0};
    text_put(&text, "adept 1 ir\n");
    text_write(&text, data, size);
    load_round(text.data, text.len);
    text_free(&text);
    return 0;
}
