// The runtime with the hand-made model of tests/support: what runs compute, and every error that a
// host can make. All of it on the default Vulkan device, plain and with ADEPT_GUARD=1, on one whose
// memory the host cannot reach, and on a device that belongs to the host.
#include "runtime/adept.h"
#include "runtime/memory.h"
#include "tests/support/package_model.h"
#include "tests/support/software_device.h"
#include "tests/support/vulkan_discrete.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    AdeptDevice *device;
    VkInstance host_instance; // of the host's device, where there is one
    VkDevice host_device;
    uint8_t *bytes;
    size_t size;
    char folder[64], weights[96];
    AdeptModel *model;
    AdeptSession *session;
    AdeptError error;
    char messages[2000];
} Fixture;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != ADEPT_OK) fail_msg("%s", f->error.detail);                                   \
    } while (0)
#define FAILS(expected, text, call)                                                                \
    do {                                                                                           \
        assert_int_equal((call), (expected));                                                      \
        assert_int_equal(f->error.result, (expected));                                             \
        if (!strstr(f->error.detail, (text)))                                                      \
            fail_msg("expected \"%s\" in \"%s\"", (text), f->error.detail);                        \
    } while (0)

static void message(void *user, bool is_error, const char *text) {
    Fixture *f = user;
    strcat(strcat(strcat(f->messages, is_error ? "error: " : "warning: "), text), "\n");
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void open_model(Fixture *f) {
    AdeptModelOptions options = {f->folder, message, f};
    OK(adept_model_open_memory(f->device, f->bytes, f->size, &options, &f->model, &f->error));
}

// ---- the devices -----------------------------------------------------------------------------

static void open_default(Fixture *f) {
    unsetenv("ADEPT_GUARD");
    OK(adept_device_open(NULL, &f->device, &f->error));
}

static void open_guarded(Fixture *f) {
    setenv("ADEPT_GUARD", "1", 1);
    OK(adept_device_open(NULL, &f->device, &f->error));
    unsetenv("ADEPT_GUARD");
}

static void open_discrete(Fixture *f) {
    OK(device_open_loader(vulkan_discrete, software_device(), &f->device, &f->error));
}

static void open_host(Fixture *f) {
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &application};
    assert_int_equal(vkCreateInstance(&instance, NULL, &f->host_instance), VK_SUCCESS);
    VkPhysicalDevice physical;
    uint32_t count = 1;
    assert_true(vkEnumeratePhysicalDevices(f->host_instance, &count, &physical) >= 0);
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        .bufferDeviceAddress = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &address,
        .timelineSemaphore = VK_TRUE};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &timeline};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    AdeptHostDevice host = {
        .instance = f->host_instance, .physical_device = physical, .features = &features};
    for (int full = 0; full < 2; full++) { // at first one feature is missing
        timeline.timelineSemaphore = full ? VK_TRUE : VK_FALSE;
        VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
        assert_int_equal(vkCreateDevice(physical, &device, NULL, &f->host_device), VK_SUCCESS);
        host.device = f->host_device;
        vkGetDeviceQueue(f->host_device, 0, 0, &host.queue);
        if (full) break;
        FAILS(ADEPT_ERROR_FEATURE, "was made without timelineSemaphore",
              adept_device_adopt(&host, &f->device, &f->error));
        vkDestroyDevice(f->host_device, NULL);
    }
    OK(adept_device_adopt(&host, &f->device, &f->error));
}

static void close_device(Fixture *f) {
    adept_device_close(f->device);
    if (f->host_device) vkDestroyDevice(f->host_device, NULL);
    if (f->host_instance) vkDestroyInstance(f->host_instance, NULL);
}

static int set_up(void **state, void (*open_device)(Fixture *f)) {
    Fixture *f = calloc(1, sizeof *f);
    *state = f;
    strcpy(f->folder, "/tmp/adept-runtime-XXXXXX");
    if (!mkdtemp(f->folder)) return -1;
    snprintf(f->weights, sizeof f->weights, "%s/w.safetensors", f->folder);
    write_file(f->weights, package_model_weights, package_model_weights_size);
    PackageMake make;
    package_model(&make, &(PackageModelOptions){0});
    f->bytes = package_make_bytes(&make, &f->size);
    package_make_free(&make);
    open_device(f);
    open_model(f);
    OK(adept_model_bind(f->model, f->weights, &f->error));
    OK(adept_session_open(f->model, &f->session, &f->error));
    return 0;
}

static int set_up_default(void **state) {
    return set_up(state, open_default);
}
static int set_up_guarded(void **state) {
    return set_up(state, open_guarded);
}
static int set_up_discrete(void **state) {
    return set_up(state, open_discrete);
}
static int set_up_host(void **state) {
    return set_up(state, open_host);
}

static int tear_down(void **state) {
    Fixture *f = *state;
    adept_session_close(f->session);
    adept_model_close(f->model);
    close_device(f);
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", f->folder);
    free(f->bytes);
    free(f);
    return system(command);
}

static AdeptTensor tensor(const char *name, float *data, int64_t count) {
    return (AdeptTensor){.name = name,
                         .dtype = ADEPT_F32,
                         .rank = 1,
                         .shape = {count},
                         .data = data,
                         .size = (uint64_t)count * sizeof *data};
}

// Runs with n inputs 0, 1, 2, .. and checks y = 3 x + 6 + state and z.
static void run_and_check(Fixture *f, int64_t n, int64_t p, float state) {
    float x[1000], y[1000], z[100];
    for (int i = 0; i < 1000; i++) x[i] = (float)i;
    memset(y, 0, sizeof y);
    memset(z, 0x55, sizeof z);
    AdeptTensor in = tensor("x", x, n);
    AdeptTensor out[] = {tensor("z", z, 100), tensor("y", y, n)};
    OK(adept_session_set_dim(f->session, "P", p, &f->error));
    OK(adept_session_run(f->session, &in, 1, out, 2, &f->error));
    for (int64_t i = 0; i < n; i++) assert_float_equal(y[i], 3 * x[i] + 6 + state, 0);
    for (int64_t i = 0; i < 100; i++) assert_float_equal(z[i], i < p ? p : 0, 0);
    assert_int_equal(out[1].rank, 1);
    assert_int_equal(out[1].shape[0], n);
}

static void runs(void **state) {
    Fixture *f = *state;
    OK(adept_session_reset(f->session, &f->error));
    run_and_check(f, 7, 3, 0.5f);
    run_and_check(f, 7, 3, 1.5f);
    run_and_check(f, 7, 4, 0.5f);
    run_and_check(f, 1, 3, 2.5f); // the alternative of one element
    run_and_check(f, 0, 0, 0);
    run_and_check(f, 1000, 99, 0.5f);
    for (int64_t n = 20; n < 40; n++) run_and_check(f, n, 50, (float)(n - 20) + 0.5f);
    run_and_check(f, 7, 3, 3.5f);
    OK(adept_session_reset(f->session, &f->error));
    run_and_check(f, 7, 3, 0.5f);
}

static void asynchronous(void **state) {
    Fixture *f = *state;
    enum { RUNS = 11 };
    static float x[RUNS][64], y[RUNS][64];
    uint64_t tickets[RUNS];
    OK(adept_session_reset(f->session, &f->error));
    OK(adept_session_set_dim(f->session, "P", 9, &f->error));
    for (int r = 0; r < RUNS; r++) {
        int64_t n = r % 3 ? 64 : 33;
        for (int i = 0; i < 64; i++) x[r][i] = (float)(r * 100 + i);
        AdeptTensor in = tensor("x", x[r], n), out = tensor("y", y[r], n);
        OK(adept_session_submit(f->session, &in, 1, &out, 1, NULL, &tickets[r], &f->error));
        memset(x[r], 0xFF, sizeof x[r]); // was copied
        assert_int_equal(tickets[r], tickets[0] + (uint64_t)r);
    }
    OK(adept_session_wait(f->session, tickets[RUNS - 1], UINT64_MAX, &f->error));
    for (int r = 0; r < RUNS; r++)
        for (int i = 0; i < (r % 3 ? 64 : 33); i++)
            assert_float_equal(y[r][i], 3 * (float)(r * 100 + i) + 6.5f + (float)r, 0);
    FAILS(ADEPT_ERROR_ARGUMENT, "there is no run",
          adept_session_wait(f->session, tickets[RUNS - 1] + 1, 0, &f->error));
}

// A session of its own for each thread, all of one model.
typedef struct Worker {
    AdeptModel *model;
    pthread_t thread;
    int number;
    bool right;
} Worker;

static void *work(void *user) {
    Worker *worker = user;
    AdeptSession *session;
    if (adept_session_open(worker->model, &session, NULL)) return NULL;
    worker->right = !adept_session_set_dim(session, "P", worker->number, NULL);
    for (int r = 0; r < 20 && worker->right; r++) {
        float x[50] = {0}, y[50];
        int64_t n = 20 + worker->number + r % 3;
        for (int i = 0; i < n; i++) x[i] = (float)(worker->number * i);
        AdeptTensor in = tensor("x", x, n), out = tensor("y", y, n);
        worker->right = !adept_session_run(session, &in, 1, &out, 1, NULL);
        for (int i = 0; i < n; i++) worker->right &= y[i] == 3 * x[i] + 6.5f + (float)r;
    }
    adept_session_close(session);
    return NULL;
}

static void threads(void **state) {
    Fixture *f = *state;
    Worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (Worker){.model = f->model, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_true(workers[i].right);
    }
}

// Closing waits for what is in flight; its host outputs stay as they are.
static void closed_in_flight(void **state) {
    Fixture *f = *state;
    float x[100] = {0}, y[100];
    uint64_t ticket;
    AdeptSession *session;
    AdeptTensor in = tensor("x", x, 100), out = tensor("y", y, 100);
    OK(adept_session_open(f->model, &session, &f->error));
    OK(adept_session_set_dim(session, "P", 1, &f->error));
    memset(y, 0x55, sizeof y);
    for (int i = 0; i < 3; i++)
        OK(adept_session_submit(session, &in, 1, &out, 1, NULL, &ticket, &f->error));
    adept_session_close(session);
    for (size_t i = 0; i < sizeof y; i++) assert_int_equal(((uint8_t *)y)[i], 0x55);
}

static void device_tensors(void **state) {
    Fixture *f = *state;
    float x[40], y[40];
    for (int i = 0; i < 40; i++) x[i] = (float)i;
    AdeptBuffer *buffer;
    OK(adept_buffer_create(f->device, 1024, &buffer, &f->error));
    OK(adept_buffer_write(buffer, 64, x, sizeof x, &f->error));
    AdeptTensor in = tensor("x", NULL, 40), out = tensor("y", NULL, 40);
    in.buffer = out.buffer = buffer;
    in.offset = 64;
    out.offset = 512;
    OK(adept_session_reset(f->session, &f->error));
    OK(adept_session_set_dim(f->session, "P", 0, &f->error));
    OK(adept_session_run(f->session, &in, 1, &out, 1, &f->error));
    OK(adept_buffer_read(buffer, 512, y, sizeof y, &f->error));
    for (int i = 0; i < 40; i++) assert_float_equal(y[i], 3 * x[i] + 6.5f, 0);
    out.offset = 1024 - 144;
    FAILS(ADEPT_ERROR_SHAPE, "needs 160 bytes, 144 are there",
          adept_session_run(f->session, &in, 1, &out, 1, &f->error));
    out.offset = 520;
    FAILS(ADEPT_ERROR_ARGUMENT, "does not divide by 16",
          adept_session_run(f->session, &in, 1, &out, 1, &f->error));
    FAILS(ADEPT_ERROR_ARGUMENT, "do not lie in a buffer of 1024",
          adept_buffer_read(buffer, 1000, y, 25, &f->error));
    adept_buffer_destroy(buffer);
    FAILS(ADEPT_ERROR_ARGUMENT, "at least one byte",
          adept_buffer_create(f->device, 0, &buffer, &f->error));
}

// A buffer that the host made itself: here the one behind another.
static void imported_buffer(void **state) {
    Fixture *f = *state;
    const VkBufferUsageFlags usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    AdeptBuffer *own, *buffer;
    OK(adept_buffer_create(f->device, 512, &own, &f->error));
    VkBuffer handle = own->memory.buffer;
    FAILS(ADEPT_ERROR_ARGUMENT, "an imported buffer has usage",
          adept_buffer_import(f->device, handle, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, 512, &buffer,
                              &f->error));
    OK(adept_buffer_import(f->device, handle, usage, 512, &buffer, &f->error));
    float x[16] = {1, 2, 3}, y[16] = {0};
    AdeptTensor in = tensor("x", x, 16), out = tensor("y", NULL, 16);
    out.buffer = buffer;
    out.offset = 256;
    OK(adept_session_reset(f->session, &f->error));
    OK(adept_session_set_dim(f->session, "P", 0, &f->error));
    OK(adept_session_run(f->session, &in, 1, &out, 1, &f->error));
    adept_buffer_destroy(buffer);
    OK(adept_buffer_read(own, 256, y, sizeof y, &f->error));
    for (int i = 0; i < 16; i++) assert_float_equal(y[i], 3 * x[i] + 6.5f, 0);
    adept_buffer_destroy(own);
}

static void wrong_calls(void **state) {
    Fixture *f = *state;
    float data[20] = {0};
    AdeptSession *s = f->session;
    AdeptTensor x = tensor("x", data, 4), y = tensor("y", data, 4), other = tensor("q", data, 4);
    AdeptTensor twice[] = {x, x}, empty = tensor("x", data, 13);
    FAILS(ADEPT_ERROR_NAME, "no dim \"Q\"", adept_session_set_dim(s, "Q", 1, &f->error));
    FAILS(ADEPT_ERROR_NAME, "no dim \"t\"", adept_session_set_dim(s, "t", 1, &f->error));
    FAILS(ADEPT_ERROR_DIM, "P = 100 is outside 0..=99",
          adept_session_set_dim(s, "P", 100, &f->error));
    OK(adept_session_set_dim(s, "P", 1, &f->error));
    FAILS(ADEPT_ERROR_NAME, "input \"x\" is missing",
          adept_session_run(s, NULL, 0, &y, 1, &f->error));
    FAILS(ADEPT_ERROR_NAME, "no input \"q\"", adept_session_run(s, &other, 1, &y, 1, &f->error));
    FAILS(ADEPT_ERROR_NAME, "no output \"q\"", adept_session_run(s, &x, 1, &other, 1, &f->error));
    FAILS(ADEPT_ERROR_ARGUMENT, "\"x\" is given twice",
          adept_session_run(s, twice, 2, &y, 1, &f->error));
    FAILS(ADEPT_ERROR_ASSERT, "model.adp:9:2: unlucky 13, 100%",
          adept_session_run(s, &empty, 1, NULL, 0, &f->error));
    y.size = 15;
    FAILS(ADEPT_ERROR_SHAPE, "\"y\" needs 16 bytes, 15 are there",
          adept_session_run(s, &x, 1, &y, 1, &f->error));
    y.data = NULL;
    FAILS(ADEPT_ERROR_ARGUMENT, "\"y\" needs host memory or a buffer",
          adept_session_run(s, &x, 1, &y, 1, &f->error));
    x.dtype = ADEPT_I32;
    FAILS(ADEPT_ERROR_SHAPE, "is f32 of rank 1; i32 of rank 1 is given",
          adept_session_run(s, &x, 1, NULL, 0, &f->error));
    x.dtype = (AdeptDType)99;
    FAILS(ADEPT_ERROR_SHAPE, "no dtype", adept_session_run(s, &x, 1, NULL, 0, &f->error));
    x = tensor("x", data, -1);
    FAILS(ADEPT_ERROR_DIM, "N = -1 is outside", adept_session_run(s, &x, 1, NULL, 0, &f->error));
    x = tensor("x", data, 10001);
    FAILS(ADEPT_ERROR_DIM, "N = 10001 is outside", adept_session_run(s, &x, 1, NULL, 0, &f->error));
    FAILS(ADEPT_ERROR_STATE, "bound already", adept_model_bind(f->model, f->weights, &f->error));
    AdeptSession *fresh;
    OK(adept_session_open(f->model, &fresh, &f->error));
    x = tensor("x", data, 4);
    FAILS(ADEPT_ERROR_DIM, "dim P is not set", adept_session_run(fresh, &x, 1, NULL, 0, &f->error));
    adept_session_close(fresh);
    assert_string_equal(adept_result_string(ADEPT_ERROR_DIM),
                        "a dim is missing or outside its range");
    assert_string_equal(adept_result_string((AdeptResult)1000), "unknown result");
}

static void interface(void **state) {
    Fixture *f = *state;
    const AdeptModel *m = f->model;
    assert_string_equal(adept_model_name(m), "small");
    assert_int_equal(adept_model_dim_count(m), 2);
    assert_string_equal(adept_model_dim(m, 0).name, "N");
    assert_true(adept_model_dim(m, 0).from_input);
    assert_string_equal(adept_model_dim(m, 1).name, "P");
    assert_int_equal(adept_model_dim(m, 1).high, 99);
    assert_false(adept_model_dim(m, 1).from_input);
    assert_int_equal(adept_model_port_count(m, ADEPT_INPUT), 1);
    assert_int_equal(adept_model_port_count(m, ADEPT_OUTPUT), 2);
    assert_int_equal(adept_model_port_count(m, ADEPT_STATE), 1);
    AdeptPortInfo x = adept_model_port(m, ADEPT_INPUT, 0), z = adept_model_port(m, ADEPT_OUTPUT, 1);
    assert_string_equal(x.name, "x");
    assert_int_equal(x.shape[0], -1);
    assert_int_equal(z.shape[0], 100);
    assert_int_equal(adept_model_port(m, ADEPT_STATE, 0).shape[0], 100);
    assert_string_equal(adept_dtype_name(x.dtype), "f32");
    assert_int_equal(adept_dtype_size(x.dtype), 4);

    AdeptSession *s;
    OK(adept_session_open(f->model, &s, &f->error));
    AdeptTensor y = {.name = "y"}, in = tensor("x", NULL, 5);
    FAILS(ADEPT_ERROR_DIM, "dim N is not set", adept_session_output(s, NULL, 0, &y, &f->error));
    OK(adept_session_set_dim(s, "P", 1, &f->error));
    OK(adept_session_output(s, &in, 1, &y, &f->error));
    assert_int_equal(y.shape[0], 5);
    assert_int_equal(y.size, 20);
    OK(adept_session_set_dim(s, "N", 9, &f->error));
    OK(adept_session_output(s, NULL, 0, &y, &f->error));
    assert_int_equal(y.size, 36);
    adept_session_close(s);
}

static void states(void **state) {
    Fixture *f = *state;
    char path[120], bad[120];
    snprintf(path, sizeof path, "%s/states", f->folder);
    snprintf(bad, sizeof bad, "%s/bad", f->folder);
    AdeptSession *keep = f->session;
    OK(adept_session_reset(keep, &f->error));
    run_and_check(f, 3, 2, 0.5f);
    run_and_check(f, 3, 2, 1.5f);
    OK(adept_session_save(keep, path, &f->error));
    run_and_check(f, 3, 2, 2.5f);
    OK(adept_session_load(keep, path, &f->error));
    run_and_check(f, 3, 2, 2.5f);
    OK(adept_session_open(f->model, &f->session, &f->error));
    run_and_check(f, 3, 2, 0.5f);
    OK(adept_session_copy(f->session, keep, &f->error));
    run_and_check(f, 3, 2, 3.5f);
    FAILS(ADEPT_ERROR_FILE, "cannot be opened", adept_session_load(keep, bad, &f->error));
    FAILS(ADEPT_ERROR_NAME, "2 tensors, the model has 1 states",
          adept_session_load(keep, f->weights, &f->error));
    adept_session_close(f->session);
    f->session = keep;
    run_and_check(f, 3, 2, 3.5f);
}

static void profile(void **state) {
    Fixture *f = *state;
    uint32_t count;
    if (adept_session_profile(f->session, true, &f->error) != ADEPT_OK) {
        assert_int_equal(f->error.result, ADEPT_ERROR_FEATURE);
        return;
    }
    OK(adept_session_reset(f->session, &f->error));
    run_and_check(f, 100, 5, 0.5f);
    const AdeptProfileEntry *entries = adept_session_profile_entries(f->session, &count);
    static const char *const names[] = {"scale", "add",   "add",  "add",
                                        "last",  "clear", "bump", "mark"};
    assert_int_equal(count, 8);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(entries[i].kernel, names[i]);
        assert_string_equal(entries[i].file, "model.adp");
        assert_int_equal(entries[i].line, 11);
        assert_int_equal(entries[i].flops, 7);
    }
    assert_int_equal(entries[0].bytes, 100);
    assert_int_equal(entries[3].trip, 2);
    assert_int_equal(entries[7].bytes, 5); // the host's dim
    OK(adept_session_profile(f->session, false, &f->error));
    run_and_check(f, 100, 5, 1.5f);
}

// Two runs taken in turn, seven times: the state counts them, and each writes its own output.
static void timed(void **state) {
    Fixture *f = *state;
    float x[50], y[50];
    uint64_t times[3] = {0};
    for (int i = 0; i < 50; i++) x[i] = (float)i;
    AdeptBuffer *buffer;
    OK(adept_buffer_create(f->device, 4096, &buffer, &f->error));
    OK(adept_buffer_write(buffer, 0, x, sizeof x, &f->error));
    AdeptTensor in = tensor("x", NULL, 50);
    AdeptTensor out[2][2];
    AdeptTimedRun run[2];
    in.buffer = buffer;
    for (int i = 0; i < 2; i++) {
        out[i][0] = tensor("y", NULL, 50);
        out[i][1] = tensor("z", NULL, 100);
        out[i][0].buffer = out[i][1].buffer = buffer;
        out[i][0].offset = 1024 + 1024 * (uint64_t)i;
        out[i][1].offset = 512 + 2560;
        run[i] = (AdeptTimedRun){f->session, &in, out[i], 1, 2};
    }
    OK(adept_session_reset(f->session, &f->error));
    OK(adept_session_set_dim(f->session, "P", 3, &f->error));
    if (adept_device_time(f->device, run, 2, 7, 1, times, &f->error) != ADEPT_OK) {
        assert_int_equal(f->error.result, ADEPT_ERROR_FEATURE);
        adept_buffer_destroy(buffer);
        return;
    }
    assert_true(times[0] > 0 && times[1] == 0);
    for (int i = 0; i < 2; i++) {
        OK(adept_buffer_read(buffer, out[i][0].offset, y, sizeof y, &f->error));
        for (int k = 0; k < 50; k++) assert_float_equal(y[k], 3 * x[k] + 6 + (i ? 5.5f : 6.5f), 0);
    }
    OK(adept_device_time(f->device, run, 1, 2, 3, times, &f->error));
    assert_true(times[0] > 0 && times[1] > 0 && times[2] > 0);
    run_and_check(f, 7, 3, 13.5f);
    FAILS(ADEPT_ERROR_ARGUMENT, "nothing is to be timed",
          adept_device_time(f->device, run, 0, 1, 1, times, &f->error));
    run[0].output_count = 1;
    FAILS(ADEPT_ERROR_ARGUMENT, "gets all outputs",
          adept_device_time(f->device, run, 1, 1, 1, times, &f->error));
    run[0].output_count = 2;
    AdeptTensor shorter = in;
    shorter.shape[0] = 40;
    run[1].inputs = &shorter;
    FAILS(ADEPT_ERROR_ARGUMENT, "inputs of the same shapes",
          adept_device_time(f->device, run, 2, 1, 1, times, &f->error));
    adept_buffer_destroy(buffer);
}

// The weights of the file, from the host.
static bool read_weight(void *user, const AdeptPortInfo *param, uint64_t offset, void *data,
                        uint64_t size) {
    static const float w[] = {1.5f, 0, 0, 0}, b[] = {1, 2, 3, 4};
    int *calls = user;
    if (param->dtype != ADEPT_F32 || param->rank != 1 || param->shape[0] != 4 || ++*calls > 2)
        return false;
    const float *from = strcmp(param->name, "w") == 0 ? w : b;
    memcpy(data, (const char *)from + offset, size);
    return true;
}

static void weights_from_the_host(void **state) {
    Fixture *f = *state;
    AdeptModel *model = f->model;
    AdeptSession *session = f->session;
    int calls = 2;
    open_model(f);
    FAILS(ADEPT_ERROR_WEIGHTS, "the host has no weight",
          adept_model_bind_reader(f->model, read_weight, &calls, &f->error));
    calls = 0;
    OK(adept_model_bind_reader(f->model, read_weight, &calls, &f->error));
    FAILS(ADEPT_ERROR_STATE, "bound already",
          adept_model_bind_reader(f->model, read_weight, &calls, &f->error));
    OK(adept_session_open(f->model, &f->session, &f->error));
    run_and_check(f, 7, 3, 0.5f);
    adept_session_close(f->session);
    adept_model_close(f->model);
    f->model = model;
    f->session = session;
}

static void weights(void **state) {
    Fixture *f = *state;
    char path[120];
    AdeptModel *keep = f->model;
    AdeptSession *session;
    snprintf(path, sizeof path, "%s/other.safetensors", f->folder);
    open_model(f);
    FAILS(ADEPT_ERROR_STATE, "not bound yet", adept_session_open(f->model, &session, &f->error));
    assert_null(session);
    FAILS(ADEPT_ERROR_FILE, "cannot be opened", adept_model_bind(f->model, path, &f->error));
    static const char header[] =
        "\x80\0\0\0\0\0\0\0{\"model.w\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[4,20]}}            ";
    uint8_t file[8 + 128 + 20] = {0};
    memcpy(file, header, sizeof header - 1);
    memset(file + sizeof header - 1, ' ', 8 + 128 - (sizeof header - 1));
    write_file(path, file, sizeof file);
    f->messages[0] = 0;
    FAILS(ADEPT_ERROR_WEIGHTS, "weight \"b\" is [4], the file has [2, 2]",
          adept_model_bind(f->model, path, &f->error));
    assert_non_null(strstr(
        f->messages,
        "error: model.adp:3:5: weight \"w\" is missing; the file has \"model.w\"\nerror: weight"));
    OK(adept_model_bind(f->model, f->weights, &f->error)); // a failed binding changes nothing
    adept_model_close(f->model);
    f->model = keep;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs),           cmocka_unit_test(asynchronous),
        cmocka_unit_test(threads),        cmocka_unit_test(closed_in_flight),
        cmocka_unit_test(device_tensors), cmocka_unit_test(imported_buffer),
        cmocka_unit_test(wrong_calls),    cmocka_unit_test(interface),
        cmocka_unit_test(states),         cmocka_unit_test(profile),
        cmocka_unit_test(weights),        cmocka_unit_test(weights_from_the_host),
        cmocka_unit_test(timed),
    };
    return cmocka_run_group_tests_name("own device", tests, set_up_default, tear_down) +
           cmocka_run_group_tests_name("guarded", tests, set_up_guarded, tear_down) +
           cmocka_run_group_tests_name("discrete", tests, set_up_discrete, tear_down) +
           cmocka_run_group_tests_name("host's device", tests, set_up_host, tear_down);
}
