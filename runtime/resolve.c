#include "runtime/error.h"
#include "runtime/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t find_tensor(const Package *package, const AdxTensor *tensors, uint32_t count,
                            const char *name) {
    for (uint32_t i = 0; name && i < count; i++)
        if (strcmp(package_string(package, tensors[i].name), name) == 0) return i;
    return UINT32_MAX;
}

// Sorts the caller's inputs by the package's order.
static AdeptResult take_inputs(AdeptSession *session, const AdeptTensor *inputs, uint32_t count,
                               AdeptError *error) {
    const Package *package = &session->model->package;
    uint32_t wanted = package->count[ADX_INPUTS];
    Run *run = &session->run;
    for (uint32_t i = 0; i < wanted; i++) run->inputs[i] = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = inputs[i].name ? inputs[i].name : "";
        uint32_t index = find_tensor(package, package->inputs, wanted, name);
        if (index == UINT32_MAX)
            return error_set(error, ADEPT_ERROR_NAME, "the model has no input \"%s\"", name);
        if (run->inputs[index])
            return error_set(error, ADEPT_ERROR_ARGUMENT, "input \"%s\" is given twice", name);
        const AdxTensor *tensor = &package->inputs[index];
        if (inputs[i].dtype != (AdeptDType)tensor->dtype || inputs[i].rank != tensor->rank) {
            const char *given = adept_dtype_name(inputs[i].dtype);
            return error_set(error, ADEPT_ERROR_SHAPE,
                             "input \"%s\" is %s of rank %u; %s of rank %u is given", name,
                             adept_dtype_name((AdeptDType)tensor->dtype), tensor->rank,
                             given ? given : "no dtype", inputs[i].rank);
        }
        run->inputs[index] = &inputs[i];
    }
    return ADEPT_OK;
}

static AdeptResult take_outputs(AdeptSession *session, AdeptTensor *outputs, uint32_t count,
                                AdeptError *error) {
    const Package *package = &session->model->package;
    uint32_t wanted = package->count[ADX_OUTPUTS];
    Run *run = &session->run;
    for (uint32_t i = 0; i < wanted; i++) run->outputs[i] = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = outputs[i].name ? outputs[i].name : "";
        uint32_t index = find_tensor(package, package->outputs, wanted, name);
        if (index == UINT32_MAX)
            return error_set(error, ADEPT_ERROR_NAME, "the model has no output \"%s\"", name);
        if (run->outputs[index])
            return error_set(error, ADEPT_ERROR_ARGUMENT, "output \"%s\" is given twice", name);
        run->outputs[index] = &outputs[i];
    }
    return ADEPT_OK;
}

// Dims from the inputs' shapes and from what the host has set. An input that is not given is an
// error unless only shapes are wanted; then the dims that it would give are the host's to set.
static AdeptResult take_dims(AdeptSession *session, bool shapes_only, AdeptError *error) {
    const Package *package = &session->model->package;
    Run *run = &session->run;
    for (uint32_t i = 0; i < package->count[ADX_INPUTS] && !shapes_only; i++)
        if (!run->inputs[i])
            return error_set(error, ADEPT_ERROR_NAME, "input \"%s\" is missing",
                             package_string(package, package->inputs[i].name));
    for (uint32_t i = 0; i < package->count[ADX_DIMS]; i++) {
        const AdxDim *dim = &package->dims[i];
        const char *name = package_string(package, dim->name);
        run->dims[i] = 0;
        if (dim->source == ADX_DIM_TRIP) continue;
        const AdeptTensor *input = dim->source == ADX_DIM_INPUT ? run->inputs[dim->input] : NULL;
        if (input)
            run->dims[i] = input->shape[dim->axis];
        else if (session->host_dim_set[i])
            run->dims[i] = session->host_dims[i];
        else
            return error_set(error, ADEPT_ERROR_DIM, "dim %s is not set", name);
        if (run->dims[i] < dim->lo || run->dims[i] > dim->hi)
            return error_set(error, ADEPT_ERROR_DIM, "dim %s = %lld is outside %lld..=%lld", name,
                             (long long)run->dims[i], (long long)dim->lo, (long long)dim->hi);
    }
    return ADEPT_OK;
}

static AdeptResult evaluate(const AdeptSession *session, ExprRef ref, const char *name,
                            int64_t *value, AdeptError *error) {
    if (expr_evaluate(session->model->package.exprs + ref, session->run.dims, value) && *value >= 0)
        return ADEPT_OK;
    return error_set(error, ADEPT_ERROR_DIM, "a size of \"%s\" overflows or is negative", name);
}

static void print_shape(char *text, size_t room, uint32_t rank, const int64_t *shape) {
    size_t used = (size_t)snprintf(text, room, "[");
    for (uint32_t i = 0; i < rank && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, i ? ", %" PRId64 : "%" PRId64, shape[i]);
    if (used < room) snprintf(text + used, room - used, "]");
}

// The shape and bytes of a port for the run's dims.
static AdeptResult measure(const AdeptSession *session, const AdxTensor *tensor, int64_t *shape,
                           uint64_t *bytes, AdeptError *error) {
    const char *name = package_string(&session->model->package, tensor->name);
    int64_t size;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        AdeptResult result = evaluate(session, tensor->size[i], name, &shape[i], error);
        if (result) return result;
    }
    AdeptResult result = evaluate(session, tensor->bytes, name, &size, error);
    *bytes = (uint64_t)size;
    return result;
}

// Where a tensor of `bytes` lies: host or device memory, large enough, aligned.
static AdeptResult check_place(const AdeptSession *session, const AdeptTensor *tensor,
                               uint64_t bytes, AdeptError *error) {
    if (!bytes) return ADEPT_OK;
    if (!tensor->data == !tensor->buffer)
        return error_set(error, ADEPT_ERROR_ARGUMENT,
                         "\"%s\" needs host memory or a buffer, and only one of them",
                         tensor->name);
    uint64_t room = tensor->size;
    if (tensor->buffer) {
        const Memory *memory = &tensor->buffer->memory;
        if (tensor->buffer->device != session->device || tensor->offset % 16 ||
            tensor->offset > memory->size)
            return error_set(error, ADEPT_ERROR_ARGUMENT,
                             "\"%s\": its buffer is another device's, or its offset %llu does not "
                             "divide by 16 or lies outside",
                             tensor->name, (unsigned long long)tensor->offset);
        room = memory->size - tensor->offset;
    }
    if (room >= bytes) return ADEPT_OK;
    return error_set(error, ADEPT_ERROR_SHAPE, "\"%s\" needs %llu bytes, %llu are there",
                     tensor->name, (unsigned long long)bytes, (unsigned long long)room);
}

static AdeptResult check_inputs(AdeptSession *session, bool shapes_only, AdeptError *error) {
    const Package *package = &session->model->package;
    Run *run = &session->run;
    for (uint32_t i = 0; i < package->count[ADX_INPUTS]; i++) {
        const AdeptTensor *input = run->inputs[i];
        int64_t shape[ADEPT_RANK_MAX];
        if (!input) continue;
        AdeptResult result =
            measure(session, &package->inputs[i], shape, &run->input_bytes[i], error);
        if (result) return result;
        if (memcmp(shape, input->shape, input->rank * sizeof *shape) != 0) {
            char wanted[200], given[200];
            print_shape(wanted, sizeof wanted, input->rank, shape);
            print_shape(given, sizeof given, input->rank, input->shape);
            return error_set(error, ADEPT_ERROR_SHAPE, "input \"%s\" is %s; %s is given",
                             input->name, wanted, given);
        }
        if (!shapes_only) result = check_place(session, input, run->input_bytes[i], error);
        if (result) return result;
    }
    return ADEPT_OK;
}

static AdeptResult check_outputs(AdeptSession *session, AdeptError *error) {
    const Package *package = &session->model->package;
    Run *run = &session->run;
    for (uint32_t i = 0; i < package->count[ADX_OUTPUTS]; i++) {
        const AdxTensor *tensor = &package->outputs[i];
        AdeptTensor *output = run->outputs[i];
        int64_t shape[ADEPT_RANK_MAX] = {0};
        AdeptResult result = measure(session, tensor, shape, &run->output_bytes[i], error);
        if (!result && output) result = check_place(session, output, run->output_bytes[i], error);
        if (result) return result;
        if (!output) continue;
        output->dtype = (AdeptDType)tensor->dtype;
        output->rank = tensor->rank;
        memcpy(output->shape, shape, sizeof shape);
    }
    return ADEPT_OK;
}

// The message of an assert, with the values of its expressions in place.
static AdeptResult assert_failed(const AdeptSession *session, const AdxAssert *assertion,
                                 AdeptError *error) {
    const Package *package = &session->model->package;
    char text[512];
    size_t used = 0;
    uint32_t next = 0;
    for (const char *c = package_string(package, assertion->message); *c && used + 24 < sizeof text;
         c++) {
        int64_t value;
        if (c[0] == '%' && c[1] == '%') {
            text[used++] = *c++;
        } else if (*c == '%' && next < assertion->count) {
            ExprRef ref = package->refs[assertion->first + next++];
            if (expr_evaluate(package->exprs + ref, session->run.dims, &value))
                used += (size_t)snprintf(text + used, sizeof text - used, "%" PRId64, value);
        } else {
            text[used++] = *c;
        }
    }
    text[used] = 0;
    return error_set(error, ADEPT_ERROR_ASSERT, "%s:%u:%u: %s",
                     package_string(package, assertion->file), assertion->line, assertion->column,
                     text);
}

static AdeptResult check_asserts(const AdeptSession *session, AdeptError *error) {
    const Package *package = &session->model->package;
    for (uint32_t i = 0; i < package->count[ADX_ASSERTS]; i++) {
        const AdxAssert *assertion = &package->asserts[i];
        int64_t left, right;
        if (!expr_evaluate(package->exprs + assertion->left, session->run.dims, &left) ||
            !expr_evaluate(package->exprs + assertion->right, session->run.dims, &right) ||
            !expr_compare(assertion->relation, left, right))
            return assert_failed(session, assertion, error);
    }
    return ADEPT_OK;
}

AdeptResult session_resolve(AdeptSession *session, const AdeptTensor *inputs, uint32_t input_count,
                            AdeptTensor *outputs, uint32_t output_count, bool shapes_only,
                            AdeptError *error) {
    AdeptResult result = take_inputs(session, inputs, input_count, error);
    if (!result) result = take_dims(session, shapes_only, error);
    if (!result) result = check_inputs(session, shapes_only, error);
    if (!result) result = check_asserts(session, error);
    if (result || shapes_only) return result;
    result = take_outputs(session, outputs, output_count, error);
    return result ? result : check_outputs(session, error);
}

AdeptResult adept_session_output(AdeptSession *session, const AdeptTensor *inputs,
                                 uint32_t input_count, AdeptTensor *output, AdeptError *error) {
    const Package *package = &session->model->package;
    uint32_t index =
        find_tensor(package, package->outputs, package->count[ADX_OUTPUTS], output->name);
    if (index == UINT32_MAX)
        return error_set(error, ADEPT_ERROR_NAME, "the model has no output \"%s\"",
                         output->name ? output->name : "");
    AdeptResult result = session_resolve(session, inputs, input_count, NULL, 0, true, error);
    if (result) return result;
    const AdxTensor *tensor = &package->outputs[index];
    int64_t shape[ADEPT_RANK_MAX] = {0};
    uint64_t bytes;
    result = measure(session, tensor, shape, &bytes, error);
    if (result) return result;
    output->dtype = (AdeptDType)tensor->dtype;
    output->rank = tensor->rank;
    output->size = bytes;
    memcpy(output->shape, shape, sizeof shape);
    return ADEPT_OK;
}
