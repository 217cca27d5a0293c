#include "runtime/model.h"
#include "runtime/error.h"
#include "runtime/prepare.h"

#include <stdlib.h>
#include <string.h>

static AdeptResult open_model(AdeptDevice *device, const Source *source,
                              const AdeptModelOptions *options, AdeptModel **out,
                              AdeptError *error) {
    AdeptModel *model = calloc(1, sizeof *model);
    if (!model) return error_memory(error);
    model->device = device;
    model->staging = PREPARE_STAGING;
    if (options) {
        model->message = options->message;
        model->user = options->user;
    }
    AdeptResult result = package_read(&model->package, source, error);
    if (!result)
        result = pipelines_create(device, &model->package, options ? options->cache_dir : NULL,
                                  &model->pipelines, error);
    if (!result && !model->package.count[ADX_PARAMS]) result = model_bind(model, NULL, error);
    if (result) {
        adept_model_close(model);
        return result;
    }
    *out = model;
    return ADEPT_OK;
}

AdeptResult adept_model_open(AdeptDevice *device, const char *path,
                             const AdeptModelOptions *options, AdeptModel **model,
                             AdeptError *error) {
    Source source;
    *model = NULL;
    AdeptResult result = source_open(&source, path, error);
    if (result) return result;
    result = open_model(device, &source, options, model, error);
    source_close(&source);
    return result;
}

AdeptResult adept_model_open_memory(AdeptDevice *device, const void *data, size_t size,
                                    const AdeptModelOptions *options, AdeptModel **model,
                                    AdeptError *error) {
    Source source;
    *model = NULL;
    AdeptResult result = source_open_memory(&source, "package", data, size, error);
    if (result) return result;
    result = open_model(device, &source, options, model, error);
    source_close(&source);
    return result;
}

void adept_model_close(AdeptModel *model) {
    if (!model) return;
    block_destroy(model->device, &model->params);
    block_destroy(model->device, &model->consts);
    pipelines_destroy(model->device, &model->pipelines);
    package_close(&model->package);
    free(model);
}

static AdeptResult check_unbound(const AdeptModel *model, AdeptError *error) {
    if (!model->bound) return ADEPT_OK;
    return error_set(error, ADEPT_ERROR_STATE,
                     model->package.count[ADX_PARAMS] ? "the model's weights are bound already"
                                                      : "the model has no weights to bind");
}

AdeptResult adept_model_bind(AdeptModel *model, const char *path, AdeptError *error) {
    Weights weights;
    AdeptResult result = check_unbound(model, error);
    if (!result) result = weights_open(&weights, path, error);
    if (result) return result;
    result = model_bind(model, &weights, error);
    weights_close(&weights);
    return result;
}

AdeptResult adept_model_bind_reader(AdeptModel *model, AdeptWeightReader *reader, void *user,
                                    AdeptError *error) {
    Weights weights = {.reader = reader, .user = user};
    AdeptResult result = check_unbound(model, error);
    return result ? result : model_bind(model, &weights, error);
}

const char *adept_model_name(const AdeptModel *model) {
    return package_string(&model->package, model->package.model->name);
}

// The trips of repeats stand among the package's dims but are none of the model's.
static const AdxDim *public_dim(const Package *package, uint32_t index) {
    for (uint32_t i = 0; i < package->count[ADX_DIMS]; i++)
        if (package->dims[i].source != ADX_DIM_TRIP && !index--) return &package->dims[i];
    return NULL;
}

uint32_t adept_model_dim_count(const AdeptModel *model) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->package.count[ADX_DIMS]; i++)
        count += model->package.dims[i].source != ADX_DIM_TRIP;
    return count;
}

AdeptDimInfo adept_model_dim(const AdeptModel *model, uint32_t index) {
    const AdxDim *dim = public_dim(&model->package, index);
    bool from_input = dim->source == ADX_DIM_INPUT;
    return (AdeptDimInfo){.name = package_string(&model->package, dim->name),
                          .low = dim->lo,
                          .high = dim->hi,
                          .from_input = from_input,
                          .input = from_input ? dim->input : 0,
                          .axis = from_input ? dim->axis : 0};
}

uint32_t adept_model_port_count(const AdeptModel *model, AdeptPortKind kind) {
    static const uint32_t sections[] = {
        [ADEPT_INPUT] = ADX_INPUTS, [ADEPT_OUTPUT] = ADX_OUTPUTS, [ADEPT_STATE] = ADX_STATES};
    return model->package.count[sections[kind]];
}

static AdeptPortInfo tensor_info(const Package *package, const AdxTensor *tensor) {
    AdeptPortInfo info = {
        package_string(package, tensor->name), (AdeptDType)tensor->dtype, tensor->rank, {0}};
    for (uint32_t i = 0; i < tensor->rank; i++) {
        ExprRef size = tensor->size[i];
        bool fixed = !(package_depends(package, size) & (EXPR_INPUT | EXPR_HOST | EXPR_TRIP));
        if (!fixed || !expr_evaluate(package->exprs + size, NULL, &info.shape[i]))
            info.shape[i] = -1;
    }
    return info;
}

AdeptPortInfo adept_model_port(const AdeptModel *model, AdeptPortKind kind, uint32_t index) {
    const Package *package = &model->package;
    if (kind == ADEPT_INPUT) return tensor_info(package, &package->inputs[index]);
    if (kind == ADEPT_OUTPUT) return tensor_info(package, &package->outputs[index]);
    const AdxState *state = &package->states[index];
    AdeptPortInfo info = {
        package_string(package, state->name), (AdeptDType)state->dtype, state->rank, {0}};
    for (uint32_t i = 0; i < state->rank; i++) info.shape[i] = (int64_t)state->size[i];
    return info;
}
