// The self-test of devices: its modules are valid, it agrees with the compiler about where fragment
// components lie, it believes what is right, and takes from a device what it does wrong.
#include "frontend/spirv_tools.h"
#include "ir/fragment_layout.h"
#include "runtime/format.h"
#include "runtime/self_test.h"
#include "runtime/self_test_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void validate(const TestCode *code, const char *what) {
    Text text = {0};
    SpirvModuleInfo module = {.words = code->word, .count = code->count, .vulkan13 = true};
    SpirvVerdict verdict = spirv_validate(&module, &text);
    if (verdict == SPIRV_INVALID) {
        spirv_disassemble(&module, &text);
        fail_msg("%s: %s", what, text.data);
    }
    if (verdict == SPIRV_UNKNOWN) printf("not validated here: %s: %s\n", what, text.data);
    text_free(&text);
}

static void modules(void **state) {
    (void)state;
    static const DeviceFragment fragments[] = {
        {16, 16, 16, ADX_F16, ADX_F32}, {16, 16, 16, ADX_F16, ADX_F16},
        {16, 8, 8, ADX_F16, ADX_F32},   {16, 16, 16, ADX_BF16, ADX_F32},
        {16, 16, 32, ADX_I8, ADX_I32},  {16, 8, 32, ADX_U8, ADX_U32},
        {8, 8, 8, ADX_I8, ADX_I32},     {128, 128, 128, ADX_F16, ADX_F32}};
    TestCode code;
    for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++) {
        test_code_product(&fragments[i], i % 2 ? 32 : 8, &code);
        validate(&code, "product");
    }
    test_code_layout(TEST_A, ADX_F16, 16, 16, 8, 32, &code);
    validate(&code, "layout of f16");
    test_code_layout(TEST_B, ADX_BF16, 16, 16, 8, 32, &code);
    validate(&code, "layout of bf16");
    test_code_layout(TEST_ACC, ADX_F32, 16, 8, 4, 32, &code);
    validate(&code, "layout of f32");
    test_code_rounding(ADX_FEATURE_ROUNDING_RTE16 | ADX_FEATURE_DENORM_PRESERVE16, 8, &code);
    validate(&code, "rounding");
    test_code_rounding(0, 32, &code);
    validate(&code, "rounding of any kind");
}

static void quads(void **state) {
    (void)state;
    static const struct {
        KUse use;
        uint16_t columns;
        DType dtype;
    } kinds[] = {{KU_A, 16, DT_F16},  {KU_A, 16, DT_BF16},  {KU_B, 16, DT_F16},
                 {KU_B, 16, DT_BF16}, {KU_ACC, 16, DT_F32}, {KU_ACC, 16, DT_F16},
                 {KU_ACC, 8, DT_F32}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        KType type = {.kind = KT_FRAG,
                      .dtype = kinds[i].dtype,
                      .use = kinds[i].use,
                      .rows = 16,
                      .cols = kinds[i].columns};
        uint32_t components = 16u * kinds[i].columns / 32, seen[8] = {0}, element;
        for (uint32_t lane = 0; lane < 32; lane++) {
            for (uint32_t c = 0; c < components; c++) {
                assert_true(fragment_element(LAYOUT_QUADS, type, lane, c, &element));
                assert_int_equal(self_test_quads(kinds[i].use == KU_B, kinds[i].columns, lane, c),
                                 element);
                assert_false(seen[element / 32] >> element % 32 & 1);
                seen[element / 32] |= 1u << element % 32;
            }
        }
    }
}

static void columns(void **state) {
    (void)state;
    static const KUse uses[] = {KU_A, KU_B, KU_ACC};
    uint32_t element;
    for (int u = 0; u < 3; u++) {
        KType type = {.kind = KT_FRAG, .dtype = DT_F16, .use = uses[u], .rows = 8, .cols = 8};
        for (uint32_t lane = 0; lane < 8; lane++) {
            for (uint32_t c = 0; c < 8; c++) {
                assert_true(fragment_element(LAYOUT_COLUMNS, type, lane, c, &element));
                assert_int_equal(self_test_columns(uses[u] == KU_B, lane, c), element);
            }
        }
    }
}

// ---- devices ---------------------------------------------------------------------------------

static VKAPI_ATTR void VKAPI_CALL no_dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y,
                                              uint32_t z) {
    (void)commands, (void)x, (void)y, (void)z;
}

static PFN_vkGetDeviceProcAddr real_device;

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name) {
    if (strcmp(name, "vkCmdDispatch") == 0) return (PFN_vkVoidFunction)no_dispatch;
    return real_device(device, name);
}

// A driver that computes nothing.
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_idle(VkInstance instance, const char *name) {
    PFN_vkVoidFunction found = vkGetInstanceProcAddr(instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") != 0 || !found) return found;
    real_device = (PFN_vkGetDeviceProcAddr)found;
    return (PFN_vkVoidFunction)get_device;
}

static void right(void **state) {
    (void)state;
    AdeptDevice *device;
    AdeptError error;
    setenv("ADEPT_SELF_TEST", "0", 1);
    assert_int_equal(adept_device_open(NULL, &device, &error), ADEPT_OK);
    uint32_t fragments = device->caps.fragment_count;
    uint64_t features = device->caps.features;
    adept_device_close(device);
    setenv("ADEPT_SELF_TEST", "1", 1);
    assert_int_equal(adept_device_open(NULL, &device, &error), ADEPT_OK);
    assert_string_equal(adept_device_info(device)->failed, "");
    assert_int_equal(device->caps.fragment_count, fragments);
    assert_true(device->caps.features == features);
    adept_device_close(device);
}

static void wrong(void **state) {
    (void)state;
    const uint64_t tried = ADX_FEATURE_ROUNDING_RTE16 | ADX_FEATURE_DENORM_PRESERVE16 |
                           ADX_FEATURE_FRAGMENT_QUADS | ADX_FEATURE_FRAGMENT_COLUMNS;
    AdeptDevice *device;
    AdeptError error;
    setenv("ADEPT_SELF_TEST", "0", 1);
    assert_int_equal(device_open_loader(get_idle, NULL, &device, &error), ADEPT_OK);
    uint64_t claimed = device->caps.features;
    uint32_t fragments = device->caps.fragment_count;
    assert_string_equal(adept_device_info(device)->failed, "");
    adept_device_close(device);
    assert_true(claimed & ADX_FEATURE_ROUNDING_RTE16); // of every lavapipe
    setenv("ADEPT_SELF_TEST", "1", 1);
    assert_int_equal(device_open_loader(get_idle, NULL, &device, &error), ADEPT_OK);
    assert_true(device->caps.features == (claimed & ~tried));
    assert_int_equal(device->caps.fragment_count, 0);
    const char *failed = adept_device_info(device)->failed;
    assert_non_null(strstr(failed, "rounding to f16"));
    if (fragments > 0) assert_non_null(strstr(failed, " fragments of "));
    adept_device_close(device);

    // What was found is kept for this list of claims, and believed without another try.
    unsetenv("ADEPT_SELF_TEST");
    assert_int_equal(adept_device_open(NULL, &device, &error), ADEPT_OK);
    assert_true(device->caps.features == (claimed & ~tried));
    adept_device_close(device);
    setenv("ADEPT_SELF_TEST", "1", 1);
    assert_int_equal(adept_device_open(NULL, &device, &error), ADEPT_OK);
    assert_true(device->caps.features == claimed);
    adept_device_close(device);
    unsetenv("ADEPT_SELF_TEST");
    assert_int_equal(adept_device_open(NULL, &device, &error), ADEPT_OK);
    assert_true(device->caps.features == claimed);
    assert_string_equal(adept_device_info(device)->failed, "");
    adept_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(modules), cmocka_unit_test(quads),
                                       cmocka_unit_test(columns), cmocka_unit_test(right),
                                       cmocka_unit_test(wrong)};
    char folder[] = "/tmp/adept-selftest-XXXXXX"; // a cache of its own
    if (!mkdtemp(folder)) return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failures != 0;
}
