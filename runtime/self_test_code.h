// The SPIR-V modules of the self-test (self_test.h): version 1.6, entry point "main", one workgroup
// of one subgroup. Push constants hold the addresses of up to four buffers, 8 bytes each.
#pragma once

#include "runtime/device.h"

enum { TEST_WORDS_MAX = 768, TEST_ADDRESSES = 4 };

typedef struct TestCode {
    uint32_t word[TEST_WORDS_MAX];
    uint32_t count;
} TestCode;

typedef enum TestUse { TEST_A, TEST_B, TEST_ACC } TestUse; // as OpTypeCooperativeMatrixKHR's Use

// Buffers A [m, k], B [k, n], C [m, n], D [m, n], row by row: D = A B + C.
void test_code_product(const DeviceFragment *fragment, uint32_t subgroup, TestCode *code);
// Buffers from [rows, columns] and to [subgroup, components]: loads a fragment and stores component
// c of lane l at l * components + c.
void test_code_layout(TestUse use, uint8_t dtype, uint32_t rows, uint32_t columns,
                      uint32_t components, uint32_t subgroup, TestCode *code);
// Buffers f32 [subgroup] and f16 [subgroup]: converts, under the execution modes of `features` that
// concern f16.
void test_code_rounding(uint64_t features, uint32_t subgroup, TestCode *code);
