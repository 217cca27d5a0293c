// Choosing devices, and the pipeline cache on disk.
#include "runtime/device.h"
#include "runtime/pipeline_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

// A fork before any Vulkan call of the parent, with other drivers in its environment.
static void no_driver(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("VK_ICD_FILENAMES", "/nonexistent", 1);
        setenv("VK_DRIVER_FILES", "/nonexistent", 1);
        AdeptError error = {0};
        AdeptDevice *device;
        uint32_t count = 9;
        bool right = adept_device_open(NULL, &device, &error) == ADEPT_ERROR_NO_DEVICE && !device &&
                     error.result == ADEPT_ERROR_NO_DEVICE &&
                     strstr(error.detail, "mesa-vulkan-drivers") &&
                     adept_device_list(NULL, 0, &count, &error) == ADEPT_ERROR_NO_DEVICE &&
                     count == 0 && adept_device_open(NULL, &device, NULL) == ADEPT_ERROR_NO_DEVICE;
        _exit(right ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void choice(void **state) {
    (void)state;
    AdeptError error;
    AdeptDeviceInfo infos[8];
    uint32_t count;
    assert_int_equal(adept_device_list(infos, 8, &count, &error), ADEPT_OK);
    assert_true(count >= 1 && count <= 8);
    char number[20], part[20];
    for (uint32_t i = 0; i < count; i++) {
        AdeptDevice *device;
        assert_int_equal(infos[i].index, i);
        if (!infos[i].usable) continue;
        assert_string_equal(infos[i].missing, "");
        snprintf(number, sizeof number, "%u", i);
        assert_int_equal(adept_device_open(number, &device, &error), ADEPT_OK);
        assert_string_equal(adept_device_info(device)->name, infos[i].name);
        adept_device_close(device);
        snprintf(part, sizeof part, "%.5s", infos[i].name);
        for (char *c = part; *c; c++)
            if (*c >= 'a' && *c <= 'z') *c -= 'a' - 'A';
        setenv("ADEPT_DEVICE", part, 1);
        assert_int_equal(adept_device_open("", &device, &error), ADEPT_OK);
        adept_device_close(device);
        setenv("ADEPT_DEVICE", "no such device", 1);
        assert_int_equal(adept_device_open(NULL, &device, &error), ADEPT_ERROR_NO_DEVICE);
        assert_non_null(strstr(error.detail, "answers to \"no such device\""));
        assert_null(device);
        assert_int_equal(adept_device_open(number, &device, &error), ADEPT_OK);
        adept_device_close(device);
        unsetenv("ADEPT_DEVICE");
    }
    AdeptDevice *device;
    assert_int_equal(adept_device_open("99", &device, &error), ADEPT_ERROR_NO_DEVICE);
}

// ---- pipeline cache --------------------------------------------------------------------------

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/adept-device-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

// A driver's cache data: its header and some bytes.
static void driver_data(const AdeptDevice *device, uint8_t data[64]) {
    uint32_t header[4] = {32, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, device->caps.vendor,
                          device->caps.device};
    memset(data, 7, 64);
    memcpy(data, header, sizeof header);
    memcpy(data + 16, device->caps.cache_uuid, VK_UUID_SIZE);
}

// Whether the file holds `data` for that device and package.
static bool hit(const AdeptDevice *device, const uint8_t *package, const uint8_t data[64]) {
    PipelineCache cache;
    pipeline_cache_load(&cache, device, folder, package);
    bool found = cache.size == 64 && memcmp(cache.data, data, 64) == 0;
    assert_true(found || (!cache.data && !cache.size));
    pipeline_cache_close(&cache);
    return found;
}

static void pipelines_on_disk(void **state) {
    (void)state;
    AdeptDevice device = {.caps = {.vendor = 1, .device = 2, .driver_version = 3}}, other;
    uint8_t package[32] = {9}, data[64];
    PipelineCache cache;
    char path[200], deep[100];
    driver_data(&device, data);
    assert_false(hit(&device, package, data));
    pipeline_cache_load(&cache, &device, folder, package);
    snprintf(path, sizeof path, "%s", cache.path);
    pipeline_cache_store(&cache, data, sizeof data);
    pipeline_cache_close(&cache);
    assert_true(hit(&device, package, data));

    // Another driver, device or package does not find it.
    other = device;
    other.caps.driver_version = 4;
    assert_false(hit(&other, package, data));
    other = device;
    other.caps.cache_uuid[5] = 1;
    assert_false(hit(&other, package, data));
    assert_false(hit(&device, (uint8_t[32]){8}, data));
    assert_true(hit(&device, package, data));

    // Each changed byte, and each other length, is a miss.
    uint8_t file[128 + 64 + 1];
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fread(file, 1, sizeof file, stream), 128 + 64);
    fclose(stream);
    for (size_t i = 0; i <= 128 + 64; i++) {
        bool shorter = i == 128 + 64, unused = i >= 112 && i < 128;
        if (!shorter) file[i] ^= 0x10;
        stream = fopen(path, "wb");
        assert_non_null(stream);
        fwrite(file, 1, shorter ? 128 + 63 : 128 + 64, stream);
        fclose(stream);
        if (!shorter) file[i] ^= 0x10;
        assert_int_equal(hit(&device, package, data), unused);
    }
    // Data that names another device inside is a miss too.
    data[8] ^= 1;
    pipeline_cache_load(&cache, &device, folder, package);
    pipeline_cache_store(&cache, data, sizeof data);
    pipeline_cache_close(&cache);
    assert_false(hit(&device, package, data));

    // No cache is asked for; folders that cannot be made.
    pipeline_cache_load(&cache, &device, "", package);
    assert_null(cache.path);
    pipeline_cache_store(&cache, data, sizeof data);
    pipeline_cache_close(&cache);
    pipeline_cache_load(&cache, &device, "/proc/none", package);
    pipeline_cache_store(&cache, data, sizeof data);
    pipeline_cache_close(&cache);
    snprintf(deep, sizeof deep, "%s/a", folder);
    setenv("XDG_CACHE_HOME", deep, 1);
    pipeline_cache_load(&cache, &device, NULL, package);
    pipeline_cache_store(&cache, data, sizeof data);
    struct stat status;
    assert_int_equal(stat(cache.path, &status), 0);
    assert_int_equal(strncmp(cache.path, deep, strlen(deep)), 0);
    pipeline_cache_close(&cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_driver), cmocka_unit_test(choice),
                                       cmocka_unit_test(pipelines_on_disk)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
