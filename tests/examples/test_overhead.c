// What a token costs the host beside the driver: examples/kjv decodes 200 bytes with two sets of
// recorded commands, without a single new one after the first few, and in little time of our own.
// usage: overhead PACKAGES KJV_FOLDER
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/device.h"
#include "runtime/session.h"
#include "tests/examples/decoder.h"

enum { TOKENS = 200, PROMPT = 21 };

// Of the calling thread, in the middle of all tokens.
#ifdef __OPTIMIZE__
static const double OWN_US = 20;
#else
static const double OWN_US = 60;
#endif

static const char *packages, *folder;
static VkTable real;
static double driver; // CPU time inside Vulkan, of this thread, in microseconds
static unsigned recorded, dispatched, readings;

static double thread_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

// The calls of a run: result type, name, parameters, arguments.
#define TIMED(f)                                                                                   \
    f(VkResult, QueueSubmit, (VkQueue a, uint32_t b, const VkSubmitInfo *c, VkFence d),            \
      (a, b, c, d)) f(VkResult, WaitSemaphores,                                                    \
                      (VkDevice a, const VkSemaphoreWaitInfo *b, uint64_t c), (a, b, c))           \
        f(VkResult, GetSemaphoreCounterValue, (VkDevice a, VkSemaphore b, uint64_t * c),           \
          (a, b, c)) f(VkResult, BeginCommandBuffer,                                               \
                       (VkCommandBuffer a, const VkCommandBufferBeginInfo *b), (a, b))             \
            f(VkResult, EndCommandBuffer, (VkCommandBuffer a), (a))

#define WRAP(type, name, parameters, arguments)                                                    \
    static VKAPI_ATTR type VKAPI_CALL timed_##name parameters {                                    \
        double start = thread_us();                                                                \
        type result = real.name arguments;                                                         \
        driver += thread_us() - start;                                                             \
        readings += 2;                                                                             \
        return result;                                                                             \
    }
TIMED(WRAP)

static VKAPI_ATTR VkResult VKAPI_CALL
counted_BeginCommandBuffer(VkCommandBuffer a, const VkCommandBufferBeginInfo *b) {
    recorded++;
    return timed_BeginCommandBuffer(a, b);
}

static VKAPI_ATTR void VKAPI_CALL counted_CmdDispatch(VkCommandBuffer a, uint32_t x, uint32_t y,
                                                      uint32_t z) {
    dispatched++;
    real.CmdDispatch(a, x, y, z);
}

static void hook(AdeptDevice *device) {
    real = device->vk;
#define HOOK(type, name, parameters, arguments) device->vk.name = timed_##name;
    TIMED(HOOK)
    device->vk.BeginCommandBuffer = counted_BeginCommandBuffer;
    device->vk.CmdDispatch = counted_CmdDispatch;
}

// What reading the clock adds to a stretch of time.
static double clock_us(void) {
    double start = thread_us(), end = start;
    for (int i = 0; i < 1000; i++) end = thread_us();
    return (end - start) / 1000;
}

// Runs `count` tokens; the CPU time of our own. What waiting takes is not counted.
static double step(AdeptSession *session, int64_t cached, int64_t count) {
    static float logits[PROMPT * DECODER_VOCABULARY];
    DecoderRun run;
    AdeptError error = {0};
    uint64_t ticket;
    decoder_run(&run, count, logits);
    for (int64_t i = 0; i < count; i++) run.tokens[i] = (int32_t)(32 + (cached + i) % 90);
    driver = 0;
    double start = thread_us();
    decoder_expect_ok(adept_session_set_dim(session, "P", cached, &error), &error);
    decoder_expect_ok(
        adept_session_submit(session, &run.input, 1, &run.output, 1, NULL, &ticket, &error),
        &error);
    double own = thread_us() - start - driver;
    VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &session->semaphore,
                                .pValues = &ticket};
    assert_int_equal(real.WaitSemaphores(session->device->handle, &wait, UINT64_MAX), VK_SUCCESS);
    driver = 0;
    start = thread_us();
    decoder_expect_ok(adept_session_wait(session, ticket, UINT64_MAX, &error), &error);
    return own + thread_us() - start - driver;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void decode(void **state) {
    (void)state;
    AdeptError error = {0};
    AdeptDevice *device = NULL;
    AdeptSession *session = NULL;
    static double own[TOKENS];
    double reading = clock_us();
    decoder_expect_ok(adept_device_open(NULL, &device, &error), &error);
    hook(device);
    AdeptModel *model = decoder_open(device, packages, folder, "f16");
    decoder_expect_ok(adept_session_open(model, &session, &error), &error);
    step(session, 0, PROMPT);
    unsigned made = 0, dispatches = 0;
    for (int i = 0; i < TOKENS; i++) {
        readings = 2;
        own[i] = step(session, PROMPT + i, 1);
        own[i] -= readings / 2 * reading;
        if (i == ADEPT_RUNS_IN_FLIGHT - 1) made = recorded, dispatches = dispatched;
    }
    // Each of the runs that may be in flight has its own command buffer of a recording.
    assert_int_equal(dispatched, dispatches);
    unsigned recordings = 0;
    for (int i = 0; i < SESSION_RECORDINGS; i++) recordings += session->recordings[i].used != 0;
    assert_int_equal(recordings, 2);
    qsort(own, TOKENS, sizeof *own, by_value);
    printf("own CPU time of a token: %.1f us in the middle, %.1f at least; %u command buffers for "
           "copies\n",
           own[TOKENS / 2], own[0], recorded - made);
    if (own[TOKENS / 2] > OWN_US) fail_msg("%.1f us of our own a token", own[TOKENS / 2]);
    adept_session_close(session);
    adept_model_close(model);
    adept_device_close(device);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    packages = argv[1], folder = argv[2];
    const struct CMUnitTest tests[] = {cmocka_unit_test(decode)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
