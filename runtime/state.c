#include "runtime/error.h"
#include "runtime/session.h"
#include "runtime/transfer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The bits of `value`, rounded to nearest even, in a float format of so many bits.
static uint32_t small_float(double value, int exponent_bits, int fraction_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    uint32_t sign = signbit(value) ? 1u << (exponent_bits + fraction_bits) : 0;
    uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
    double size = fabs(value);
    if (isnan(value)) return sign | infinity | 1u << (fraction_bits - 1);
    if (size == 0) return sign;
    if (isinf(value)) return sign | infinity;
    frexp(size, &exponent); // size < 2^exponent
    if (exponent - 1 < 1 - bias) exponent = 2 - bias;
    // Units of the last place; a carry runs on into the exponent, as it should.
    double units = nearbyint(ldexp(size, fraction_bits - (exponent - 1)));
    uint32_t bits = (uint32_t)units + ((uint32_t)(exponent - 1 + bias - 1) << fraction_bits);
    return sign | (bits < infinity ? bits : infinity);
}

// A 32-bit pattern that repeats the value in that dtype.
static uint32_t fill_pattern(uint32_t dtype, double value) {
    float single = (float)value;
    uint32_t bits;
    switch (dtype) {
    case ADX_F32: memcpy(&bits, &single, 4); return bits;
    case ADX_F16: return small_float(value, 5, 10) * 0x10001u;
    case ADX_BF16: return small_float(value, 8, 7) * 0x10001u;
    case ADX_I32:
    case ADX_U32: return (uint32_t)(int64_t)value;
    case ADX_BOOL: return value != 0 ? 0x01010101u : 0;
    default: return ((uint32_t)(int64_t)value & 0xFF) * 0x01010101u;
    }
}

static const BlockPiece *piece_of(const AdeptSession *session, const AdxState *state) {
    return block_find(&session->states, state->offset, state->bytes);
}

AdeptResult adept_session_reset(AdeptSession *session, AdeptError *error) {
    const Package *package = &session->model->package;
    AdeptResult result = session_wait_all(session, error);
    for (uint32_t i = 0; !result && i < package->count[ADX_STATES]; i++) {
        const AdxState *state = &package->states[i];
        if (!state->bytes) continue;
        const BlockPiece *piece = piece_of(session, state);
        result = transfer_fill(session->device, &piece->memory, state->offset - piece->range.offset,
                               (state->bytes + 3) / 4 * 4, fill_pattern(state->dtype, state->fill),
                               error);
    }
    return result;
}

// Bytes of all states together, which lie in host memory one behind the other.
static uint64_t all_bytes(const Package *package) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < package->count[ADX_STATES]; i++) bytes += package->states[i].bytes;
    return bytes;
}

static SafetensorsDType file_dtype(uint32_t dtype) {
    switch (dtype) {
    case ADX_F32: return SAFETENSORS_F32;
    case ADX_F16: return SAFETENSORS_F16;
    case ADX_BF16: return SAFETENSORS_BF16;
    case ADX_F8E4M3: return SAFETENSORS_F8_E4M3;
    case ADX_F8E5M2: return SAFETENSORS_F8_E5M2;
    case ADX_I32: return SAFETENSORS_I32;
    case ADX_U32: return SAFETENSORS_U32;
    case ADX_I8: return SAFETENSORS_I8;
    case ADX_U8: return SAFETENSORS_U8;
    default: return SAFETENSORS_BOOL;
    }
}

AdeptResult adept_session_save(AdeptSession *session, const char *path, AdeptError *error) {
    const Package *package = &session->model->package;
    uint32_t count = package->count[ADX_STATES];
    uint8_t *bytes = malloc(all_bytes(package) + 1);
    SafetensorsItem *items = malloc((count + 1u) * sizeof *items);
    AdeptResult result = bytes && items ? session_wait_all(session, error) : error_memory(error);
    uint8_t *to = bytes;
    for (uint32_t i = 0; !result && i < count; i++) {
        const AdxState *state = &package->states[i];
        items[i] = (SafetensorsItem){.name = package_string(package, state->name),
                                     .dtype = file_dtype(state->dtype),
                                     .rank = state->rank,
                                     .data = to};
        memcpy(items[i].shape, state->size, sizeof items[i].shape);
        const BlockPiece *piece = piece_of(session, state);
        if (state->bytes)
            result = transfer_read(session->device, &piece->memory,
                                   state->offset - piece->range.offset, to, state->bytes, error);
        to += state->bytes;
    }
    if (!result) result = safetensors_write(path, items, count, error);
    free(items);
    free(bytes);
    return result;
}

// Reads one state of the file to `to`; name, dtype and shape must fit.
static AdeptResult read_state(const Package *package, const SafetensorsFile *file,
                              const AdxState *state, uint8_t *to, AdeptError *error) {
    const char *name = package_string(package, state->name);
    const SafetensorsTensor *tensor = safetensors_find(file, name);
    if (!tensor)
        return error_set(error, ADEPT_ERROR_NAME, "%s: state \"%s\" is missing", file->source.name,
                         name);
    if (tensor->dtype != (uint16_t)file_dtype(state->dtype) || tensor->rank != state->rank ||
        memcmp(tensor->shape, state->size, state->rank * sizeof *state->size) != 0)
        return error_set(error, ADEPT_ERROR_SHAPE,
                         "%s: state \"%s\" has another dtype or shape than the model's",
                         file->source.name, name);
    return safetensors_read(file, tensor, 0, to, state->bytes, error);
}

static AdeptResult read_states(AdeptSession *session, const SafetensorsFile *file, uint8_t *bytes,
                               AdeptError *error) {
    const Package *package = &session->model->package;
    uint32_t count = package->count[ADX_STATES];
    if (file->count != count)
        return error_set(error, ADEPT_ERROR_NAME, "%s: %u tensors, the model has %u states",
                         file->source.name, file->count, count);
    uint8_t *to = bytes;
    for (uint32_t i = 0; i < count; i++) {
        AdeptResult result = read_state(package, file, &package->states[i], to, error);
        if (result) return result;
        to += package->states[i].bytes;
    }
    return ADEPT_OK;
}

AdeptResult adept_session_load(AdeptSession *session, const char *path, AdeptError *error) {
    const Package *package = &session->model->package;
    SafetensorsFile file;
    AdeptResult result = safetensors_open(&file, path, error);
    if (result) return result;
    uint8_t *bytes = malloc(all_bytes(package) + 1), *from = bytes;
    result = bytes ? read_states(session, &file, bytes, error) : error_memory(error);
    safetensors_close(&file);
    if (!result) result = session_wait_all(session, error);
    for (uint32_t i = 0; !result && i < package->count[ADX_STATES]; i++) {
        const AdxState *state = &package->states[i];
        if (!state->bytes) continue;
        const BlockPiece *piece = piece_of(session, state);
        result = transfer_write(session->device, &piece->memory,
                                state->offset - piece->range.offset, from, state->bytes, error);
        from += state->bytes;
    }
    free(bytes);
    return result;
}

AdeptResult adept_session_copy(AdeptSession *to, AdeptSession *from, AdeptError *error) {
    const Package *package = &to->model->package;
    if (to->model != from->model)
        return error_set(error, ADEPT_ERROR_ARGUMENT, "the sessions are of different models");
    if (to == from) return ADEPT_OK;
    AdeptResult result = session_wait_all(to, error);
    if (!result) result = session_wait_all(from, error);
    for (uint32_t i = 0; !result && i < package->count[ADX_STATES]; i++) {
        const AdxState *state = &package->states[i];
        if (!state->bytes) continue;
        const BlockPiece *target = piece_of(to, state), *source = piece_of(from, state);
        uint64_t offset = state->offset - target->range.offset;
        result = transfer_copy(to->device, &target->memory, offset, &source->memory, offset,
                               state->bytes, error);
    }
    return result;
}
