// The language on arbitrary bytes: lexer, parser, elaboration.
#include "tests/fuzz/fuzz.h"

#include "tests/support/load_round.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    load_round((const char *)data, size);
    return 0;
}
