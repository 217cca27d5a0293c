// Binding of weights: every param is looked up and checked, then read into place or prepared.
#include "runtime/error.h"
#include "runtime/model.h"
#include "runtime/prepare.h"
#include "runtime/transfer.h"
#include "runtime/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOUNCE_SIZE = 8 << 20 };

// The file's dtype of each of the package's.
static const uint8_t stored_dtype[] = {
    [ADX_F32] = SAFETENSORS_F32,        [ADX_F16] = SAFETENSORS_F16,
    [ADX_BF16] = SAFETENSORS_BF16,      [ADX_F8E4M3] = SAFETENSORS_F8_E4M3,
    [ADX_F8E5M2] = SAFETENSORS_F8_E5M2, [ADX_I32] = SAFETENSORS_I32,
    [ADX_U32] = SAFETENSORS_U32,        [ADX_I8] = SAFETENSORS_I8,
    [ADX_U8] = SAFETENSORS_U8,          [ADX_BOOL] = SAFETENSORS_BOOL,
};

// ---- checking --------------------------------------------------------------------------------

// All that is wrong with the weights: each goes to the host's message function, as many as fit to
// the error's detail.
typedef struct Report {
    const AdeptModel *model;
    char text[ADEPT_DETAIL_MAX];
    size_t used;
    uint32_t count;
} Report;

static void report(Report *to, const AdxParam *param, const char *format, ...) ADEPT_PRINTF(3, 4);

static void report(Report *to, const AdxParam *param, const char *format, ...) {
    AdeptError line;
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const Package *package = &to->model->package;
    if (param->file == ADX_NONE)
        error_set(&line, ADEPT_ERROR_WEIGHTS, "%s", text);
    else
        error_set(&line, ADEPT_ERROR_WEIGHTS, "%s:%u:%u: %s", package_string(package, param->file),
                  param->line, param->column, text);
    if (to->model->message) to->model->message(to->model->user, true, line.detail);
    to->count++;
    size_t room = sizeof to->text - to->used, length = strlen(line.detail);
    if (length + 2 > room) return;
    to->used +=
        (size_t)snprintf(to->text + to->used, room, "%s%s", to->used ? "\n" : "", line.detail);
}

static void print_shape(char *text, size_t room, uint32_t rank, const uint64_t *size) {
    size_t used = (size_t)snprintf(text, room, "[");
    for (uint32_t i = 0; i < rank && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, i ? ", %" PRIu64 : "%" PRIu64, size[i]);
    if (used < room) snprintf(text + used, room - used, "]");
}

static void check_param(Report *to, const Weights *weights, const AdxParam *param) {
    const Package *package = &to->model->package;
    const char *key = package_string(package, param->key);
    const WeightsEntry *entry = weights_find(weights, key);
    if (!entry) {
        const char *nearest = weights_nearest(weights, key);
        if (nearest)
            report(to, param, "weight \"%s\" is missing; the file has \"%s\"", key, nearest);
        else
            report(to, param, "weight \"%s\" is missing", key);
        return;
    }
    const SafetensorsTensor *tensor = entry->tensor;
    if (tensor->rank != param->rank ||
        memcmp(tensor->shape, param->size, param->rank * sizeof *param->size) != 0) {
        char wanted[200], found[200];
        print_shape(wanted, sizeof wanted, param->rank, param->size);
        print_shape(found, sizeof found, tensor->rank, tensor->shape);
        report(to, param, "weight \"%s\" is %s, the file has %s", key, wanted, found);
    } else if (tensor->dtype != stored_dtype[param->dtype]) {
        report(to, param, "weight \"%s\" is %s, the file has %s", key,
               adept_dtype_name((AdeptDType)param->dtype),
               safetensors_dtype_name((SafetensorsDType)tensor->dtype));
    }
}

static int compare_strings(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// One warning for all tensors that no param reads.
static void warn_unused(const AdeptModel *model, const Weights *weights) {
    const Package *package = &model->package;
    uint32_t params = package->count[ADX_PARAMS], unused = 0;
    const char **keys = malloc((params + 1u) * sizeof *keys);
    if (!keys || !model->message) {
        free(keys);
        return;
    }
    for (uint32_t i = 0; i < params; i++) keys[i] = package_string(package, package->params[i].key);
    qsort(keys, params, sizeof *keys, compare_strings);
    char names[600] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < weights->count; i++) {
        const char *name = weights->entries[i].tensor->name;
        if (bsearch(&name, keys, params, sizeof *keys, compare_strings)) continue;
        if (unused++ < 5 && used + strlen(name) + 3 < sizeof names)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    free(keys);
    if (!unused) return;
    AdeptError line;
    error_set(&line, ADEPT_OK, "%u tensors of the weights are not used: %s%s", unused, names,
              unused > 5 ? ", .." : "");
    model->message(model->user, false, line.detail);
}

static AdeptResult check_weights(const AdeptModel *model, const Weights *weights,
                                 AdeptError *error) {
    Report to = {.model = model};
    for (uint32_t i = 0; i < model->package.count[ADX_PARAMS]; i++)
        check_param(&to, weights, &model->package.params[i]);
    if (to.count) return error_set(error, ADEPT_ERROR_WEIGHTS, "%s", to.text);
    warn_unused(model, weights);
    return ADEPT_OK;
}

// ---- memory ----------------------------------------------------------------------------------

static bool add_range(BlockRange **ranges, uint32_t *count, uint32_t *capacity, BlockRange range) {
    if (*count == *capacity) {
        uint32_t wanted = *capacity + *capacity / 2 + 16;
        BlockRange *bigger = realloc(*ranges, wanted * sizeof **ranges);
        if (!bigger) return false;
        *ranges = bigger;
        *capacity = wanted;
    }
    (*ranges)[(*count)++] = range;
    return true;
}

AdeptResult model_ranges(const AdeptModel *model, uint32_t first_step, uint32_t steps,
                         uint32_t buffer, BlockRange **ranges, uint32_t *count, uint64_t *end,
                         AdeptError *error) {
    const Package *package = &model->package;
    int64_t values[256], offset, bytes;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < package->count[ADX_DIMS]; i++) values[i] = package->dims[i].hi;
    *ranges = NULL;
    *count = 0;
    *end = 0;
    StepWalk walk = step_walk(package, first_step, steps, values);
    for (const AdxStep *step; (step = step_walk_next(&walk));) {
        const AdxAlternative *alternatives = &package->alternatives[step->first_alternative];
        for (uint32_t a = 0; a < step->alternatives; a++)
            for (uint32_t d = 0; d < alternatives[a].dispatches; d++) {
                const AdxDispatch *dispatch =
                    &package->dispatches[alternatives[a].first_dispatch + d];
                for (uint32_t k = 0; k < dispatch->args; k++) {
                    const AdxArg *arg = &package->args[dispatch->first_arg + k];
                    if (arg->kind != ADX_ARG_BUFFER || arg->buffer != buffer ||
                        !expr_evaluate(package->exprs + arg->offset, values, &offset) ||
                        !expr_evaluate(package->exprs + arg->bytes, values, &bytes) || offset < 0 ||
                        bytes <= 0 || bytes > INT64_MAX - offset)
                        continue;
                    BlockRange range = {(uint64_t)offset, (uint64_t)bytes};
                    if (range.offset + range.size > *end) *end = range.offset + range.size;
                    if (!add_range(ranges, count, &capacity, range)) {
                        free(*ranges);
                        *ranges = NULL;
                        return error_memory(error);
                    }
                }
            }
    }
    return ADEPT_OK;
}

// A block of the model for all that the steps of the whole package touch of `buffer`.
static AdeptResult create_block(const AdeptModel *model, uint32_t buffer, uint64_t size,
                                Block *block, AdeptError *error) {
    const Package *package = &model->package;
    BlockRange *ranges = NULL;
    uint32_t count = 0, capacity = 0;
    uint64_t end;
    AdeptResult result = ADEPT_OK;
    if (model->device->guard)
        result =
            model_ranges(model, 0, package->model->run_steps, buffer, &ranges, &count, &end, error);
    capacity = count;
    for (uint32_t i = 0; !result && buffer == ADX_BUF_PARAM && i < package->count[ADX_PARAMS]; i++)
        if (package->params[i].packed &&
            !add_range(&ranges, &count, &capacity,
                       (BlockRange){package->params[i].offset, package->params[i].bytes}))
            result = error_memory(error);
    for (uint32_t i = 0; !result && i < package->count[ADX_UNITS]; i++) {
        BlockRange *more = NULL;
        uint32_t more_count = 0;
        result = model_ranges(model, package->units[i].first_step, package->units[i].steps, buffer,
                              &more, &more_count, &end, error);
        for (uint32_t k = 0; !result && k < more_count; k++)
            if (!add_range(&ranges, &count, &capacity, more[k])) result = error_memory(error);
        free(more);
    }
    if (!result) result = block_create(model->device, size, ranges, count, block, error);
    free(ranges);
    return result;
}

// ---- reading ---------------------------------------------------------------------------------

// A part of a param from the files or the host.
static AdeptResult read_part(const AdeptModel *model, const Weights *weights, const AdxParam *param,
                             uint64_t offset, void *out, uint64_t size, AdeptError *error) {
    const char *key = package_string(&model->package, param->key);
    if (!weights->reader)
        return weights_read(weights, weights_find(weights, key), offset, out, size, error);
    AdeptPortInfo info = {key, (AdeptDType)param->dtype, param->rank, {0}};
    for (uint32_t i = 0; i < param->rank; i++) info.shape[i] = (int64_t)param->size[i];
    if (weights->reader(weights->user, &info, offset, out, size)) return ADEPT_OK;
    return error_set(error, ADEPT_ERROR_WEIGHTS, "the host has no weight \"%s\"", key);
}

// Reads a whole param to `memory`, straight where the host can write there.
static AdeptResult read_tensor(const AdeptModel *model, const Weights *weights,
                               const AdxParam *param, const Memory *memory, uint64_t offset,
                               AdeptError *error) {
    uint64_t size = param->bytes;
    if (memory->mapped)
        return read_part(model, weights, param, 0, memory->mapped + offset, size, error);
    uint8_t *bounce = malloc(size < BOUNCE_SIZE ? size + 1 : BOUNCE_SIZE);
    if (!bounce) return error_memory(error);
    AdeptResult result = ADEPT_OK;
    for (uint64_t done = 0; !result && done < size;) {
        uint64_t part = size - done < BOUNCE_SIZE ? size - done : BOUNCE_SIZE;
        result = read_part(model, weights, param, done, bounce, part, error);
        if (!result)
            result = transfer_write(model->device, memory, offset + done, bounce, part, error);
        done += part;
    }
    free(bounce);
    return result;
}

AdeptResult model_read_param(const AdeptModel *model, const Weights *weights, const AdxParam *param,
                             const Block *block, AdeptError *error) {
    const Package *package = &model->package;
    if (!param->bytes) return ADEPT_OK;
    const BlockPiece *piece = block_find(block, param->offset, param->bytes);
    if (!piece)
        return error_set(error, ADEPT_ERROR_FORMAT, "weight \"%s\" has no place",
                         package_string(package, param->key));
    return read_tensor(model, weights, param, &piece->memory, param->offset - piece->range.offset,
                       error);
}

static AdeptResult write_consts(AdeptModel *model, AdeptError *error) {
    const Package *package = &model->package;
    uint64_t have = package->count[ADX_CONSTS];
    for (uint32_t i = 0; i < model->consts.count; i++) {
        const BlockPiece *piece = &model->consts.pieces[i];
        if (piece->range.offset >= have) continue;
        uint64_t left = have - piece->range.offset;
        AdeptResult result =
            transfer_write(model->device, &piece->memory, 0, package->consts + piece->range.offset,
                           left < piece->range.size ? left : piece->range.size, error);
        if (result) return result;
    }
    return ADEPT_OK;
}

// ---- all of it ------------------------------------------------------------------------------

static AdeptResult fill(AdeptModel *model, const Weights *weights, AdeptError *error) {
    const Package *package = &model->package;
    AdeptResult result =
        create_block(model, ADX_BUF_CONST, package->model->const_bytes, &model->consts, error);
    if (!result) result = write_consts(model, error);
    if (!result)
        result =
            create_block(model, ADX_BUF_PARAM, package->model->param_bytes, &model->params, error);
    for (uint32_t i = 0; !result && i < package->count[ADX_PARAMS]; i++)
        if (package->params[i].packed)
            result = model_read_param(model, weights, &package->params[i], &model->params, error);
    for (uint32_t i = 0; !result && i < package->count[ADX_UNITS]; i++)
        result = prepare_unit(model, weights, i, error);
    return result;
}

AdeptResult model_bind(AdeptModel *model, const Weights *weights, AdeptError *error) {
    static const Weights none = {0};
    if (!weights) weights = &none;
    AdeptResult result = weights->reader ? ADEPT_OK : check_weights(model, weights, error);
    if (!result) result = fill(model, weights, error);
    if (result) {
        block_destroy(model->device, &model->params);
        block_destroy(model->device, &model->consts);
        return result;
    }
    model->bound = true;
    return ADEPT_OK;
}
