#include "runtime/safetensors.h"
#include "runtime/error.h"
#include "runtime/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 100000000, TENSORS_MAX = 1000000 };

static const struct {
    const char *name;
    uint8_t bits;
} dtypes[] = {
#define SAFETENSORS_ROW(name, bits) {#name, bits},
    SAFETENSORS_DTYPES(SAFETENSORS_ROW)
#undef SAFETENSORS_ROW
};

const char *safetensors_dtype_name(SafetensorsDType dtype) {
    return dtypes[dtype].name;
}
uint32_t safetensors_dtype_bits(SafetensorsDType dtype) {
    return dtypes[dtype].bits;
}

// What grows while the header is read.
typedef struct Parse {
    JsonReader json;
    SafetensorsFile *file;
    uint32_t capacity;
    JsonString *metadata; // keys of __metadata__
    size_t metadata_count, metadata_capacity;
    bool metadata_seen;
} Parse;

static bool fail_tensor(Parse *parse, const SafetensorsTensor *tensor, const char *format, ...)
    ADEPT_PRINTF(3, 4);

static bool fail_tensor(Parse *parse, const SafetensorsTensor *tensor, const char *format, ...) {
    char rule[300];
    va_list list;
    va_start(list, format);
    vsnprintf(rule, sizeof rule, format, list);
    va_end(list);
    error_set(parse->json.error, ADEPT_ERROR_FORMAT, "%s: byte %llu: tensor \"%s\": %s",
              parse->json.file, (unsigned long long)(parse->json.base + parse->json.at),
              tensor->name, rule);
    return false;
}

// Makes room for one more element of `size` bytes.
static bool grow(void **array, size_t size, size_t count, size_t *capacity, AdeptError *error) {
    if (count < *capacity) return true;
    size_t wanted = *capacity ? *capacity + *capacity / 2 : 16;
    void *bigger = realloc(*array, wanted * size);
    if (!bigger) {
        error_memory(error);
        return false;
    }
    *array = bigger;
    *capacity = wanted;
    return true;
}

static bool parse_dtype(Parse *parse, SafetensorsTensor *tensor) {
    JsonString name;
    if (!json_string(&parse->json, &name)) return false;
    for (uint16_t i = 0; i < SAFETENSORS_DTYPE_COUNT; i++)
        if (strlen(dtypes[i].name) == name.length &&
            memcmp(dtypes[i].name, name.text, name.length) == 0) {
            tensor->dtype = i;
            return true;
        }
    return fail_tensor(parse, tensor, "unknown dtype \"%.40s\"", name.text);
}

static bool parse_shape(Parse *parse, SafetensorsTensor *tensor) {
    if (!json_expect(&parse->json, '[')) return false;
    if (json_take(&parse->json, ']')) return true;
    do {
        uint64_t size;
        if (!json_unsigned(&parse->json, &size)) return false;
        if (tensor->rank == SAFETENSORS_RANK_MAX)
            return fail_tensor(parse, tensor, "more than %d sizes", SAFETENSORS_RANK_MAX);
        tensor->shape[tensor->rank++] = size;
    } while (json_take(&parse->json, ','));
    return json_expect(&parse->json, ']');
}

static bool parse_offsets(Parse *parse, SafetensorsTensor *tensor) {
    uint64_t begin, end;
    if (!json_expect(&parse->json, '[') || !json_unsigned(&parse->json, &begin) ||
        !json_expect(&parse->json, ',') || !json_unsigned(&parse->json, &end) ||
        !json_expect(&parse->json, ']'))
        return false;
    if (end < begin)
        return fail_tensor(parse, tensor, "data_offsets [%llu, %llu] run backwards",
                           (unsigned long long)begin, (unsigned long long)end);
    tensor->offset = begin;
    tensor->size = end - begin;
    return true;
}

// Bits that shape and dtype ask for, with zeros left out until the end, so that a size beyond all
// bounds is found beside a zero too.
static bool bits_of(const SafetensorsTensor *tensor, uint64_t *bits) {
    bool empty = false;
    *bits = dtypes[tensor->dtype].bits;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (!tensor->shape[i])
            empty = true;
        else if (__builtin_mul_overflow(*bits, tensor->shape[i], bits))
            return false;
    }
    if (empty) *bits = 0;
    return true;
}

static bool check_size(Parse *parse, const SafetensorsTensor *tensor) {
    uint64_t bits;
    if (!bits_of(tensor, &bits)) return fail_tensor(parse, tensor, "its shape overflows 64 bits");
    if (bits % 8)
        return fail_tensor(parse, tensor, "%llu bits are not whole bytes",
                           (unsigned long long)bits);
    if (bits / 8 != tensor->size)
        return fail_tensor(parse, tensor, "shape and dtype need %llu bytes, data_offsets hold %llu",
                           (unsigned long long)(bits / 8), (unsigned long long)tensor->size);
    return true;
}

static bool parse_tensor(Parse *parse, JsonString name) {
    static const struct {
        const char *name;
        bool (*parse)(Parse *, SafetensorsTensor *);
    } members[] = {{"dtype", parse_dtype}, {"shape", parse_shape}, {"data_offsets", parse_offsets}};
    SafetensorsFile *file = parse->file;
    if (name.length < 1 || name.length > SAFETENSORS_NAME_MAX || memchr(name.text, 0, name.length))
        return json_fail(&parse->json, "a tensor's name has 1 to 1,024 bytes and no NUL");
    if (file->count == TENSORS_MAX) return json_fail(&parse->json, "more than 1,000,000 tensors");
    size_t capacity = parse->capacity;
    void *array = file->tensors;
    if (!grow(&array, sizeof *file->tensors, file->count, &capacity, parse->json.error))
        return false;
    file->tensors = array;
    parse->capacity = (uint32_t)capacity;
    SafetensorsTensor *tensor = &file->tensors[file->count++];
    *tensor = (SafetensorsTensor){.name = name.text, .name_length = (uint32_t)name.length};

    unsigned seen = 0;
    if (!json_expect(&parse->json, '{')) return false;
    do {
        JsonString key;
        if (!json_string(&parse->json, &key) || !json_expect(&parse->json, ':')) return false;
        unsigned i = 0;
        while (i < 3 && (strlen(members[i].name) != key.length ||
                         memcmp(members[i].name, key.text, key.length) != 0))
            i++;
        if (i == 3) return fail_tensor(parse, tensor, "unknown member \"%.40s\"", key.text);
        if (seen & 1u << i)
            return fail_tensor(parse, tensor, "\"%s\" is there twice", members[i].name);
        seen |= 1u << i;
        if (!members[i].parse(parse, tensor)) return false;
    } while (json_take(&parse->json, ','));
    if (!json_expect(&parse->json, '}')) return false;
    for (unsigned i = 0; i < 3; i++)
        if (!(seen & 1u << i))
            return fail_tensor(parse, tensor, "\"%s\" is missing", members[i].name);
    return check_size(parse, tensor);
}

static int compare_strings(const char *a, size_t a_length, const char *b, size_t b_length) {
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_keys(const void *a, const void *b) {
    const JsonString *x = a, *y = b;
    return compare_strings(x->text, x->length, y->text, y->length);
}

static bool parse_metadata(Parse *parse) {
    if (parse->metadata_seen) return json_fail(&parse->json, "\"__metadata__\" is there twice");
    parse->metadata_seen = true;
    if (!json_expect(&parse->json, '{')) return false;
    if (json_take(&parse->json, '}')) return true;
    do {
        void *array = parse->metadata;
        if (!grow(&array, sizeof *parse->metadata, parse->metadata_count, &parse->metadata_capacity,
                  parse->json.error))
            return false;
        parse->metadata = array;
        JsonString value;
        if (!json_string(&parse->json, &parse->metadata[parse->metadata_count]) ||
            !json_expect(&parse->json, ':') || !json_string(&parse->json, &value))
            return false;
        parse->metadata_count++;
    } while (json_take(&parse->json, ','));
    if (!json_expect(&parse->json, '}')) return false;
    qsort(parse->metadata, parse->metadata_count, sizeof *parse->metadata, compare_keys);
    for (size_t i = 1; i < parse->metadata_count; i++)
        if (compare_keys(&parse->metadata[i - 1], &parse->metadata[i]) == 0)
            return json_fail(&parse->json, "a key of \"__metadata__\" is there twice");
    return true;
}

static bool parse_header(Parse *parse) {
    JsonReader *json = &parse->json;
    if (!json->size || json->text[0] != '{')
        return json_fail(json, "the header does not begin with '{'");
    json->at = 1;
    if (!json_take(json, '}')) {
        do {
            JsonString name;
            if (!json_string(json, &name) || !json_expect(json, ':')) return false;
            static const char metadata[] = "__metadata__";
            bool is_metadata =
                name.length == sizeof metadata - 1 && memcmp(name.text, metadata, name.length) == 0;
            if (is_metadata ? !parse_metadata(parse) : !parse_tensor(parse, name)) return false;
        } while (json_take(json, ','));
        if (!json_expect(json, '}')) return false;
    }
    for (; json->at < json->size; json->at++)
        if (json->text[json->at] != ' ')
            return json_fail(json, "only spaces may follow the header's last '}'");
    return true;
}

static int compare_places(const void *a, const void *b) {
    const SafetensorsTensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

static int compare_tensors(const void *a, const void *b) {
    const SafetensorsTensor *x = a, *y = b;
    return compare_strings(x->name, x->name_length, y->name, y->name_length);
}

// The data are covered without overlap, hole or rest; makes offsets the file's own.
static bool check_places(Parse *parse) {
    SafetensorsFile *file = parse->file;
    uint64_t start = 8 + parse->json.size, end = 0;
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, compare_places);
    for (uint32_t i = 0; i < file->count; i++) {
        SafetensorsTensor *tensor = &file->tensors[i];
        if (tensor->offset != end)
            return fail_tensor(parse, tensor,
                               "begins at %llu of the data, the one before it ends at %llu",
                               (unsigned long long)tensor->offset, (unsigned long long)end);
        // No overflow: both are below 2^63.
        end = tensor->offset + tensor->size;
        tensor->offset += start;
    }
    if (end != file->source.size - start) {
        error_set(parse->json.error, ADEPT_ERROR_FORMAT,
                  "%s: the header describes %llu bytes of data, the file has %llu",
                  parse->json.file, (unsigned long long)end,
                  (unsigned long long)(file->source.size - start));
        return false;
    }
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, compare_tensors);
    for (uint32_t i = 1; i < file->count; i++)
        if (compare_tensors(&file->tensors[i - 1], &file->tensors[i]) == 0)
            return fail_tensor(parse, &file->tensors[i], "is there twice");
    return true;
}

static AdeptResult read_header(SafetensorsFile *file, AdeptError *error) {
    const Source *source = &file->source;
    uint8_t bytes[8];
    if (source->size < 8)
        return error_set(error, ADEPT_ERROR_FORMAT, "%s: %llu bytes are too few for safetensors",
                         source->name, (unsigned long long)source->size);
    AdeptResult result = source_read(source, 0, bytes, 8, error);
    if (result) return result;
    uint64_t length = 0;
    for (int i = 8; i--;) length = length << 8 | bytes[i];
    if (length > HEADER_MAX || length > source->size - 8)
        return error_set(
            error, ADEPT_ERROR_FORMAT, "%s: byte 0: a header of %llu bytes, but at most %llu fit",
            source->name, (unsigned long long)length,
            (unsigned long long)(source->size - 8 < HEADER_MAX ? source->size - 8 : HEADER_MAX));
    file->header = malloc(length + 1);
    if (!file->header) return error_memory(error);
    result = source_read(source, 8, file->header, length, error);
    if (result) return result;
    AdeptError local; // says which kind of failure it was where the caller passed none
    Parse parse = {.json = {.text = file->header,
                            .size = length,
                            .file = source->name,
                            .base = 8,
                            .error = error ? error : &local},
                   .file = file};
    bool good = json_check_utf8(&parse.json) && parse_header(&parse) && check_places(&parse);
    free(parse.metadata);
    return good ? ADEPT_OK : parse.json.error->result;
}

static AdeptResult finish_open(SafetensorsFile *file, AdeptResult result, AdeptError *error) {
    if (!result) result = read_header(file, error);
    if (result) safetensors_close(file);
    return result;
}

AdeptResult safetensors_open(SafetensorsFile *file, const char *path, AdeptError *error) {
    *file = (SafetensorsFile){0};
    return finish_open(file, source_open(&file->source, path, error), error);
}

AdeptResult safetensors_open_memory(SafetensorsFile *file, const char *name, const void *data,
                                    uint64_t size, AdeptError *error) {
    *file = (SafetensorsFile){0};
    return finish_open(file, source_open_memory(&file->source, name, data, size, error), error);
}

void safetensors_close(SafetensorsFile *file) {
    source_close(&file->source);
    free(file->header);
    free(file->tensors);
    *file = (SafetensorsFile){0};
}

const SafetensorsTensor *safetensors_find(const SafetensorsFile *file, const char *name) {
    if (!file->count) return NULL;
    SafetensorsTensor key = {.name = name, .name_length = (uint32_t)strlen(name)};
    return bsearch(&key, file->tensors, file->count, sizeof key, compare_tensors);
}

AdeptResult safetensors_read(const SafetensorsFile *file, const SafetensorsTensor *tensor,
                             uint64_t offset, void *out, uint64_t size, AdeptError *error) {
    if (offset > tensor->size || size > tensor->size - offset)
        return error_set(error, ADEPT_ERROR_ARGUMENT,
                         "%s: tensor \"%s\": %llu bytes at %llu do not lie in its %llu",
                         file->source.name, tensor->name, (unsigned long long)size,
                         (unsigned long long)offset, (unsigned long long)tensor->size);
    AdeptResult result = source_read(&file->source, tensor->offset + offset, out, size, error);
    if (result || tensor->dtype != SAFETENSORS_BOOL) return result;
    const uint8_t *bytes = out;
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] > 1)
            return error_set(error, ADEPT_ERROR_FORMAT,
                             "%s: byte %llu: tensor \"%s\": a bool is %u, not 0 or 1",
                             file->source.name, (unsigned long long)(tensor->offset + offset + i),
                             tensor->name, bytes[i]);
    return ADEPT_OK;
}
