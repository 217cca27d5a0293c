#include "frontend/run_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/random_data.h"

static int fail(const AdeptError *error) {
    CliExit code = CLI_INPUT;
    switch (error->result) {
    case ADEPT_ERROR_NO_DEVICE:
    case ADEPT_ERROR_DEVICE_LOST:
    case ADEPT_ERROR_DEVICE_MEMORY:
    case ADEPT_ERROR_VULKAN:
    case ADEPT_ERROR_FEATURE: code = CLI_DEVICE; break;
    default: break;
    }
    Text text = {0};
    text_put(&text, adept_result_string(error->result));
    if (error->result != ADEPT_ERROR_WEIGHTS) // each of which say() has printed
        text_printf(&text, ": %s", error->detail);
    (void)cli_fail(code, text.data);
    text_free(&text);
    return code;
}

static void say(void *user, bool is_error, const char *text) {
    (void)user;
    fprintf(stderr, "adept: %s: %s\n", is_error ? "error" : "warning", text);
}

int device_run_open(DeviceRun *run, const char *device) {
    AdeptError error = {0};
    *run = (DeviceRun){0};
    if (adept_device_open(device, &run->device, &error) != ADEPT_OK) return fail(&error);
    const AdeptDeviceInfo *info = adept_device_info(run->device);
    if (*info->failed)
        fprintf(stderr, "adept: warning: %s fails the self-test, and is not used for: %s\n",
                info->name, info->failed);
    return CLI_OK;
}

static AdeptResult bind_random(AdeptModel *model, const char *seed, AdeptError *error) {
    RandomWeights random;
    if (!random_weights_open(&random, seed)) {
        snprintf(error->detail, sizeof error->detail, "--random-weights %s: a number is wanted",
                 seed);
        return error->result = ADEPT_ERROR_ARGUMENT;
    }
    AdeptResult result = adept_model_bind_reader(model, random_weights_read, &random, error);
    if (result == ADEPT_ERROR_STATE) result = ADEPT_OK; // it has none
    random_weights_close(&random);
    return result;
}

int device_run_load(DeviceRun *run, const char *package, const void *bytes, size_t size,
                    const char *weights, const char *random) {
    AdeptError error = {0};
    AdeptModelOptions options = {.message = say};
    AdeptResult result =
        package ? adept_model_open(run->device, package, &options, &run->model, &error)
                : adept_model_open_memory(run->device, bytes, size, &options, &run->model, &error);
    if (!result && weights) result = adept_model_bind(run->model, weights, &error);
    if (!result && random) result = bind_random(run->model, random, &error);
    if (!result) result = adept_session_open(run->model, &run->session, &error);
    if (result == ADEPT_ERROR_STATE && !weights && !random)
        return cli_fail(CLI_INPUT, "the model has weights: give --weights FILE");
    return result ? fail(&error) : CLI_OK;
}

void device_run_close(DeviceRun *run) {
    adept_session_close(run->session);
    adept_model_close(run->model);
    adept_device_close(run->device);
    *run = (DeviceRun){0};
}

// ---- a run -----------------------------------------------------------------------------------

// An input that is there and gives the dim another size than `given`.
static bool contradicts(const DeviceRun *run, const ArrayVec *inputs, const CliSize *given) {
    for (uint32_t i = 0; i < adept_model_dim_count(run->model); i++) {
        AdeptDimInfo dim = adept_model_dim(run->model, i);
        if (!dim.from_input || strcmp(dim.name, given->name) != 0) continue;
        const char *name = adept_model_port(run->model, ADEPT_INPUT, dim.input).name;
        const NamedArray *input = arrays_find(inputs, name);
        if (!input || dim.axis >= input->array.rank) continue;
        if (input->array.size[dim.axis] == given->size) continue;
        fprintf(stderr, "adept: --dim %s=%lld: input '%s' has %lld there\n", given->name,
                (long long)given->size, name, (long long)input->array.size[dim.axis]);
        return true;
    }
    return false;
}

static int set_dims(DeviceRun *run, const CliSizes *dims, const ArrayVec *inputs) {
    for (uint32_t i = 0; i < dims->len; i++) {
        AdeptError error = {0};
        if (adept_session_set_dim(run->session, dims->at[i].name, dims->at[i].size, &error))
            return fail(&error);
        if (contradicts(run, inputs, &dims->at[i])) return CLI_INPUT;
    }
    return CLI_OK;
}

static DType dtype_of(AdeptDType dtype) {
    DType out = DT_NONE;
    const char *name = adept_dtype_name(dtype);
    if (name) (void)dtype_from_name(name, &out);
    return out;
}

static AdeptTensor tensor_of(const NamedArray *array, AdeptDType dtype) {
    AdeptTensor tensor = {.name = array->name,
                          .dtype = dtype,
                          .rank = array->array.rank,
                          .data = array->array.data,
                          .size = array->array.bytes};
    memcpy(tensor.shape, array->array.size, sizeof tensor.shape);
    return tensor;
}

static bool has_inputs(const DeviceRun *run, const ArrayVec *inputs) {
    bool good = true;
    for (uint32_t port = 0; port < adept_model_port_count(run->model, ADEPT_INPUT); port++) {
        const char *name = adept_model_port(run->model, ADEPT_INPUT, port).name;
        if (arrays_find(inputs, name)) continue;
        fprintf(stderr, "adept: input '%s' is missing: --in %s=FILE\n", name, name);
        good = false;
    }
    return good;
}

// Tensors for the inputs given; those of names that the model does not have are the runtime's to
// refuse.
static int make_inputs(DeviceRun *run, ArrayVec *inputs, AdeptTensor *tensors) {
    uint32_t ports = adept_model_port_count(run->model, ADEPT_INPUT);
    if (!has_inputs(run, inputs)) return CLI_INPUT;
    for (uint32_t i = 0; i < inputs->len; i++) {
        NamedArray *array = &inputs->at[i];
        tensors[i] = tensor_of(array, ADEPT_F32);
        for (uint32_t port = 0; port < ports; port++) {
            AdeptPortInfo info = adept_model_port(run->model, ADEPT_INPUT, port);
            Text error = {0};
            if (strcmp(info.name, array->name) != 0) continue;
            if (!arrays_convert(array, dtype_of(info.dtype), &error)) {
                int code = cli_fail(CLI_INPUT, error.data);
                text_free(&error);
                return code;
            }
            tensors[i] = tensor_of(array, info.dtype);
        }
    }
    return CLI_OK;
}

static int make_outputs(DeviceRun *run, Arena *arena, const AdeptTensor *inputs, uint32_t count,
                        AdeptTensor *tensors, ArrayVec *out) {
    uint32_t ports = adept_model_port_count(run->model, ADEPT_OUTPUT);
    for (uint32_t port = 0; port < ports; port++) {
        AdeptPortInfo info = adept_model_port(run->model, ADEPT_OUTPUT, port);
        AdeptTensor *tensor = &tensors[port];
        AdeptError error = {0};
        Text reason = {0};
        *tensor = (AdeptTensor){.name = info.name};
        if (adept_session_output(run->session, inputs, count, tensor, &error) != ADEPT_OK)
            return fail(&error);
        if (!arrays_add(arena, out, arena_strdup(arena, info.name), dtype_of(tensor->dtype),
                        tensor->rank, tensor->shape, &reason)) {
            int code = cli_fail(CLI_INPUT, reason.data);
            text_free(&reason);
            return code;
        }
        tensor->data = out->at[out->len - 1].array.data;
    }
    return CLI_OK;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Whether the outputs are those that `first` holds one after another; run 0 fills it.
static bool same_outputs(const AdeptTensor *results, uint32_t count, uint32_t run, uint8_t *first) {
    bool same = true;
    for (uint32_t i = 0; i < count; i++) {
        if (run == 0)
            memcpy(first, results[i].data, results[i].size);
        else
            same = same && memcmp(first, results[i].data, results[i].size) == 0;
        first += results[i].size;
    }
    return same;
}

int device_run(DeviceRun *run, Arena *arena, const CliSizes *dims, ArrayVec *inputs, uint32_t times,
               bool profile, ArrayVec *out, RunTimes *spent) {
    uint32_t outputs = adept_model_port_count(run->model, ADEPT_OUTPUT);
    AdeptTensor *in = arena_alloc(arena, inputs->len * sizeof *in);
    AdeptTensor *results = arena_alloc(arena, outputs * sizeof *results);
    double *milliseconds = arena_alloc(arena, times * sizeof *milliseconds);
    AdeptError error = {0};
    int code = set_dims(run, dims, inputs);
    if (code == CLI_OK) code = make_inputs(run, inputs, in);
    if (code == CLI_OK) code = make_outputs(run, arena, in, inputs->len, results, out);
    if (code != CLI_OK) return code;
    if (profile && adept_session_profile(run->session, true, &error) != ADEPT_OK)
        return fail(&error);
    bool fixed = adept_model_port_count(run->model, ADEPT_STATE) == 0;
    size_t bytes = 1;
    for (uint32_t i = 0; i < outputs; i++) bytes += results[i].size;
    uint8_t *first = arena_alloc(arena, bytes);
    spent->differs = 0;
    for (uint32_t i = 0; i < times; i++) {
        double start = now();
        AdeptResult result =
            adept_session_run(run->session, in, inputs->len, results, outputs, &error);
        if (result != ADEPT_OK) return fail(&error);
        milliseconds[i] = now() - start;
        bool same = same_outputs(results, outputs, i, first);
        if (fixed && !same && !spent->differs) spent->differs = i;
    }
    qsort(milliseconds, times, sizeof *milliseconds, compare_doubles);
    spent->count = times;
    spent->least = milliseconds[0];
    spent->median = milliseconds[times / 2];
    return CLI_OK;
}

// ---- the profile -----------------------------------------------------------------------------

// Dispatches of one kernel from one source line, all trips together.
typedef struct Row {
    const AdeptProfileEntry *first;
    uint32_t dispatches;
    uint64_t time, bytes, flops;
} Row;

static int compare_rows(const void *a, const void *b) {
    const Row *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static uint32_t gather_rows(const AdeptProfileEntry *entries, uint32_t count, Row *rows) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const AdeptProfileEntry *entry = &entries[i];
        uint32_t at = 0;
        while (at < used && (rows[at].first->line != entry->line ||
                             strcmp(rows[at].first->kernel, entry->kernel) != 0))
            at++;
        if (at == used) rows[used++] = (Row){.first = entry};
        rows[at].dispatches++;
        rows[at].time += entry->time;
        rows[at].bytes += entry->bytes;
        rows[at].flops += entry->flops;
    }
    return used;
}

void device_run_profile(const DeviceRun *run, Text *out) {
    uint32_t count = 0;
    const AdeptProfileEntry *entries = adept_session_profile_entries(run->session, &count);
    Row *rows = calloc(count ? count : 1, sizeof *rows);
    if (!rows) return;
    uint32_t used = gather_rows(entries, count, rows);
    uint64_t total = 0;
    for (uint32_t i = 0; i < used; i++) total += rows[i].time;
    qsort(rows, used, sizeof *rows, compare_rows);
    text_put(out, "   time us      %     GB/s  GFLOP/s  times  kernel and source\n");
    for (uint32_t i = 0; i < used; i++) {
        const Row *row = &rows[i];
        double time = row->time ? (double)row->time : 1;
        text_printf(out, "%10.1f  %5.1f  %7.1f  %7.1f  %5u  %s", (double)row->time * 1e-3,
                    100 * (double)row->time / (total ? (double)total : 1),
                    (double)row->bytes / time, (double)row->flops / time, row->dispatches,
                    row->first->kernel);
        if (row->first->line) text_printf(out, "  %s:%u", row->first->file, row->first->line);
        text_put(out, "\n");
    }
    text_printf(out, "%10.1f  total on the device, %u dispatches\n", (double)total * 1e-3, count);
    free(rows);
}
