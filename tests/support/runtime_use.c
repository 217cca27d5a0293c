#include "tests/support/runtime_use.h"

#include "runtime/device.h"
#include "tests/support/package_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int runtime_use_set_up(void **state) {
    RuntimeUse *use = calloc(1, sizeof *use);
    PackageMake make;
    *state = use;
    if (!use) return -1;
    strcpy(use->folder, "/tmp/adept-use-XXXXXX");
    if (!mkdtemp(use->folder)) return -1;
    snprintf(use->weights, sizeof use->weights, "%s/w.safetensors", use->folder);
    snprintf(use->states, sizeof use->states, "%s/states", use->folder);
    FILE *file = fopen(use->weights, "wb");
    if (!file) return -1;
    fwrite(package_model_weights, 1, package_model_weights_size, file);
    package_model(&make, &(PackageModelOptions){0});
    use->package = package_make_bytes(&make, &use->package_size);
    package_make_free(&make);
    return fclose(file);
}

int runtime_use_tear_down(void **state) {
    RuntimeUse *use = *state;
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", use->folder);
    free(use->package);
    free(use);
    return system(command);
}

// Runs with n zeros; y must be `expected` everywhere.
static AdeptResult run(AdeptSession *session, int64_t n, float expected, AdeptError *error) {
    static float x[100];
    float y[100];
    AdeptTensor in = {
        .name = "x", .dtype = ADEPT_F32, .rank = 1, .shape = {n}, .data = x, .size = sizeof x};
    AdeptTensor out = {.name = "y", .data = y, .size = sizeof y};
    AdeptResult result = adept_session_run(session, &in, 1, &out, 1, error);
    for (int64_t i = 0; !result && i < n; i++)
        if (y[i] != expected) abort();
    return result;
}

static AdeptResult use_session(const RuntimeUse *use, AdeptModel *model, AdeptSession *session,
                               AdeptError *error) {
    AdeptSession *other = NULL;
    AdeptResult result = adept_session_set_dim(session, "P", 2, error);
    if (!result) result = run(session, 5, 6.5f, error);
    if (!result) result = run(session, 100, 7.5f, error); // the arena grows
    if (!result) result = adept_session_profile(session, true, error);
    if (!result) result = run(session, 100, 8.5f, error);
    if (!result) result = adept_session_save(session, use->states, error);
    if (!result) result = adept_session_load(session, use->states, error);
    if (!result) result = adept_session_open(model, &other, error);
    if (!result) result = adept_session_copy(other, session, error);
    adept_session_close(other);
    return result;
}

// The buffer has room for x, y and z.
static AdeptResult time_session(AdeptDevice *device, AdeptSession *session, AdeptBuffer *buffer,
                                AdeptError *error) {
    uint64_t times[2];
    AdeptTensor in = {.name = "x", .dtype = ADEPT_F32, .rank = 1, .shape = {5}, .buffer = buffer};
    AdeptTensor out[] = {{.name = "y", .buffer = buffer, .offset = 32},
                         {.name = "z", .buffer = buffer, .offset = 64}};
    in.size = out[0].size = 20;
    out[1].size = 400;
    AdeptTimedRun timed = {session, &in, out, 1, 2};
    return adept_device_time(device, &timed, 1, 2, 2, times, error);
}

AdeptResult runtime_use(const RuntimeUse *use, PFN_vkGetInstanceProcAddr loader,
                        AdeptError *error) {
    AdeptDevice *device = NULL;
    AdeptModel *model = NULL;
    AdeptSession *session = NULL;
    AdeptBuffer *buffer = NULL;
    AdeptModelOptions options = {.cache_dir = use->folder};
    AdeptResult result = device_open_loader(loader, NULL, &device, error);
    if (!result) result = adept_buffer_create(device, 512, &buffer, error);
    if (!result)
        result = adept_model_open_memory(device, use->package, use->package_size, &options, &model,
                                         error);
    if (!result) result = adept_model_bind(model, use->weights, error);
    if (!result) result = adept_session_open(model, &session, error);
    if (!result) result = use_session(use, model, session, error);
    if (!result) result = time_session(device, session, buffer, error);
    adept_session_close(session);
    adept_model_close(model);
    adept_buffer_destroy(buffer);
    adept_device_close(device);
    return result;
}
