// ADEPT_GUARD=1 sees what Vulkan's layers do not: planted faults, each beside the model without
// it. Every case is a child of its own, for an overrun ends in SIGSEGV.
#include "runtime/adept.h"
#include "tests/support/package_model.h"
#include "tests/support/software_device.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 100, RIGHT = 40, NOT_A_NUMBER, WRONG, OVERRUN, ELSEWHERE, ERROR };

// An overrun of a tensor whose size divides by 16 touches the first bytes of the page behind it.
static void fault(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    _exit((uintptr_t)info->si_addr % 4096 < 16 ? OVERRUN : ELSEWHERE);
}

static int run_model(AdeptSession *session, AdeptError *error) {
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    AdeptTensor in = {
        .name = "x", .dtype = ADEPT_F32, .rank = 1, .shape = {N}, .data = x, .size = sizeof x};
    AdeptTensor out = {.name = "y", .data = y, .size = sizeof y};
    if (adept_session_set_dim(session, "P", 3, error) ||
        adept_session_run(session, &in, 1, &out, 1, error))
        return ERROR;
    for (int i = 0; i < N; i++) {
        if (isnan(y[i])) return NOT_A_NUMBER;
        if (y[i] != 3 * x[i] + 6.5f) return WRONG;
    }
    return RIGHT;
}

static int run_child(const PackageModelOptions *options, const char *weights) {
    struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    setenv("ADEPT_GUARD", "1", 1);
    PackageMake make;
    size_t size;
    package_model(&make, options);
    uint8_t *bytes = package_make_bytes(&make, &size);
    package_make_free(&make);
    AdeptModelOptions no_cache = {.cache_dir = ""};
    AdeptError error = {0};
    AdeptDevice *device = NULL;
    AdeptModel *model = NULL;
    AdeptSession *session = NULL;
    int code = ERROR;
    if (!adept_device_open(software_device(), &device, &error) &&
        !adept_model_open_memory(device, bytes, size, &no_cache, &model, &error) &&
        !adept_model_bind(model, weights, &error) && !adept_session_open(model, &session, &error))
        code = run_model(session, &error);
    if (code == ERROR) fprintf(stderr, "%s\n", error.detail);
    adept_session_close(session);
    adept_model_close(model);
    adept_device_close(device);
    free(bytes);
    return code;
}

// What the child found; no Vulkan is used in the parent, so that the fork is sound.
static int outcome(PackageModelOptions options) {
    char weights[] = "/tmp/adept-guard-XXXXXX";
    int file = mkstemp(weights);
    assert_true(file >= 0);
    assert_int_equal(write(file, package_model_weights, package_model_weights_size),
                     package_model_weights_size);
    close(file);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(run_child(&options, weights));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(weights);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void right(void **state) {
    (void)state;
    assert_int_equal(outcome((PackageModelOptions){0}), RIGHT);
}

static void overrun(void **state) {
    (void)state;
    assert_int_equal(outcome((PackageModelOptions){.overrun = true}), OVERRUN);
}

static void unwritten(void **state) {
    (void)state;
    assert_int_equal(outcome((PackageModelOptions){.unwritten = true}), NOT_A_NUMBER);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(right), cmocka_unit_test(overrun),
                                       cmocka_unit_test(unwritten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
