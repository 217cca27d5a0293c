// What every fuzz_<name>.c defines: runs the code under test on one input. Returns 0; a fault is a
// crash, a sanitizer's report or abort().
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
