#include "runtime/weights.h"
#include "runtime/error.h"
#include "runtime/json.h"

#include <stdlib.h>
#include <string.h>

enum { INDEX_MAX = 100000000, NEAR_MAX = 8 };

// One line of a shard index.
typedef struct Mapping {
    const char *tensor, *file;
    size_t tensor_length;
} Mapping;

typedef struct Index {
    char *text;
    Mapping *mappings;
    size_t count, capacity;
} Index;

static int compare_mappings(const void *a, const void *b) {
    return strcmp(((const Mapping *)a)->tensor, ((const Mapping *)b)->tensor);
}

static int compare_mapping_files(const void *a, const void *b) {
    return strcmp(((const Mapping *)a)->file, ((const Mapping *)b)->file);
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const WeightsEntry *)a)->tensor->name, ((const WeightsEntry *)b)->tensor->name);
}

static bool plain_file_name(const JsonString *name) {
    return name->length > 0 && !memchr(name->text, 0, name->length) &&
           !strpbrk(name->text, "/\\") && strcmp(name->text, ".") != 0 &&
           strcmp(name->text, "..") != 0;
}

static bool parse_map(JsonReader *json, Index *index) {
    if (!json_expect(json, '{')) return false;
    if (json_take(json, '}')) return true;
    do {
        JsonString tensor, file;
        if (!json_string(json, &tensor) || !json_expect(json, ':') || !json_string(json, &file))
            return false;
        if (tensor.length < 1 || tensor.length > SAFETENSORS_NAME_MAX ||
            memchr(tensor.text, 0, tensor.length))
            return json_fail(json, "a tensor's name has 1 to 1,024 bytes and no NUL");
        if (!plain_file_name(&file))
            return json_fail(json, "a shard is a file's name without '/', '\\' or NUL");
        if (index->count == index->capacity) {
            size_t capacity = index->capacity ? index->capacity + index->capacity / 2 : 64;
            Mapping *bigger = realloc(index->mappings, capacity * sizeof *bigger);
            if (!bigger) {
                error_memory(json->error);
                return false;
            }
            index->mappings = bigger;
            index->capacity = capacity;
        }
        index->mappings[index->count++] = (Mapping){tensor.text, file.text, tensor.length};
    } while (json_take(json, ','));
    return json_expect(json, '}');
}

static bool skip_metadata(JsonReader *json) {
    if (!json_expect(json, '{')) return false;
    if (json_take(json, '}')) return true;
    do {
        JsonString key;
        if (!json_string(json, &key) || !json_expect(json, ':') || !json_skip_scalar(json))
            return false;
    } while (json_take(json, ','));
    return json_expect(json, '}');
}

static bool parse_index(JsonReader *json, Index *index) {
    unsigned seen = 0;
    if (!json_check_utf8(json) || !json_expect(json, '{')) return false;
    do {
        JsonString key;
        if (!json_string(json, &key) || !json_expect(json, ':')) return false;
        unsigned member = strcmp(key.text, "weight_map") == 0 ? 1
                          : strcmp(key.text, "metadata") == 0 ? 2
                                                              : 0;
        if (!member) return json_fail(json, "only \"metadata\" and \"weight_map\" stand here");
        if (seen & member) return json_fail(json, "a member is there twice");
        seen |= member;
        if (member == 1 ? !parse_map(json, index) : !skip_metadata(json)) return false;
    } while (json_take(json, ','));
    if (!json_expect(json, '}')) return false;
    while (json->at < json->size && strchr(" \t\r\n", json->text[json->at])) json->at++;
    if (json->at < json->size) return json_fail(json, "something follows the last '}'");
    if (!(seen & 1)) return json_fail(json, "\"weight_map\" is missing");
    if (!index->count) return true;
    qsort(index->mappings, index->count, sizeof *index->mappings, compare_mappings);
    for (size_t i = 1; i < index->count; i++)
        if (compare_mappings(&index->mappings[i - 1], &index->mappings[i]) == 0)
            return json_fail(json, "a tensor is there twice in \"weight_map\"");
    return true;
}

static AdeptResult read_index(Index *index, const char *path, AdeptError *error) {
    Source source;
    AdeptResult result = source_open(&source, path, error);
    if (result) return result;
    if (source.size > INDEX_MAX)
        result = error_set(error, ADEPT_ERROR_FORMAT, "%s: an index of more than %d bytes", path,
                           INDEX_MAX);
    index->text = result ? NULL : malloc(source.size + 1);
    if (!result && !index->text) result = error_memory(error);
    if (!result) result = source_read(&source, 0, index->text, source.size, error);
    AdeptError local;
    JsonReader json = {
        .text = index->text, .size = source.size, .file = path, .error = error ? error : &local};
    if (!result && !parse_index(&json, index)) result = json.error->result;
    source_close(&source);
    return result;
}

// The path of `file` beside `path`.
static char *beside(const char *path, const char *file) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0, length = strlen(file);
    char *joined = malloc(folder + length + 1);
    if (!joined) return NULL;
    memcpy(joined, path, folder);
    memcpy(joined + folder, file, length + 1);
    return joined;
}

static AdeptResult open_shard(Weights *weights, const char *path, AdeptError *error) {
    SafetensorsFile *bigger =
        realloc(weights->files, (weights->file_count + 1) * sizeof *weights->files);
    if (!bigger) return error_memory(error);
    weights->files = bigger;
    AdeptResult result = safetensors_open(&weights->files[weights->file_count], path, error);
    if (!result) weights->file_count++;
    return result;
}

// Opens each file once; `index->mappings` end up sorted by file, each with its files' order.
static AdeptResult open_shards(Weights *weights, Index *index, const char *path,
                               AdeptError *error) {
    if (index->count)
        qsort(index->mappings, index->count, sizeof *index->mappings, compare_mapping_files);
    for (size_t i = 0; i < index->count; i++) {
        const Mapping *mapping = &index->mappings[i];
        if (i == 0 || strcmp(mapping->file, mapping[-1].file) != 0) {
            if (weights->file_count == WEIGHTS_FILES_MAX)
                return error_set(error, ADEPT_ERROR_FORMAT, "%s: more than %d shards", path,
                                 WEIGHTS_FILES_MAX);
            char *shard = beside(path, mapping->file);
            AdeptResult result = shard ? open_shard(weights, shard, error) : error_memory(error);
            free(shard);
            if (result) return result;
        }
        if (!safetensors_find(&weights->files[weights->file_count - 1], mapping->tensor))
            return error_set(error, ADEPT_ERROR_FORMAT,
                             "%s: tensor \"%s\" is not in the shard \"%s\"", path, mapping->tensor,
                             mapping->file);
    }
    return ADEPT_OK;
}

static AdeptResult merge(Weights *weights, const char *path, AdeptError *error) {
    size_t count = 0;
    for (uint32_t i = 0; i < weights->file_count; i++) count += weights->files[i].count;
    if (count > UINT32_MAX)
        return error_set(error, ADEPT_ERROR_FORMAT, "%s: too many tensors", path);
    weights->entries = malloc((count ? count : 1) * sizeof *weights->entries);
    if (!weights->entries) return error_memory(error);
    for (uint32_t file = 0; file < weights->file_count; file++)
        for (uint32_t i = 0; i < weights->files[file].count; i++)
            weights->entries[weights->count++] =
                (WeightsEntry){&weights->files[file].tensors[i], file};
    qsort(weights->entries, weights->count, sizeof *weights->entries, compare_entries);
    for (uint32_t i = 1; i < weights->count; i++) {
        const WeightsEntry *a = &weights->entries[i - 1], *b = a + 1;
        if (compare_entries(a, b) == 0)
            return error_set(error, ADEPT_ERROR_FORMAT, "%s: tensor \"%s\" is in %s and in %s",
                             path, a->tensor->name, weights->files[a->file].source.name,
                             weights->files[b->file].source.name);
    }
    return ADEPT_OK;
}

AdeptResult weights_open(Weights *weights, const char *path, AdeptError *error) {
    *weights = (Weights){0};
    size_t length = strlen(path);
    AdeptResult result;
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) {
        Index index = {0};
        result = read_index(&index, path, error);
        if (!result) result = open_shards(weights, &index, path, error);
        free(index.text);
        free(index.mappings);
    } else {
        result = open_shard(weights, path, error);
    }
    if (!result) result = merge(weights, path, error);
    if (result) weights_close(weights);
    return result;
}

void weights_close(Weights *weights) {
    for (uint32_t i = 0; i < weights->file_count; i++) safetensors_close(&weights->files[i]);
    free(weights->files);
    free(weights->entries);
    *weights = (Weights){0};
}

const WeightsEntry *weights_find(const Weights *weights, const char *name) {
    SafetensorsTensor tensor = {.name = name};
    WeightsEntry key = {&tensor, 0};
    if (!weights->count) return NULL;
    return bsearch(&key, weights->entries, weights->count, sizeof key, compare_entries);
}

AdeptResult weights_read(const Weights *weights, const WeightsEntry *entry, uint64_t offset,
                         void *out, uint64_t size, AdeptError *error) {
    return safetensors_read(&weights->files[entry->file], entry->tensor, offset, out, size, error);
}

// Edits (insert, drop, change a byte) from `a` to `b` while they stay within `limit`; otherwise
// limit + 1. Only the band around the diagonal is computed.
static unsigned edits(const char *a, size_t a_length, const char *b, size_t b_length,
                      unsigned limit) {
    unsigned rows[2][SAFETENSORS_NAME_MAX + 2];
    size_t gap = a_length > b_length ? a_length - b_length : b_length - a_length;
    if (gap > limit) return limit + 1;
    for (size_t j = 0; j <= b_length; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *above = rows[(i - 1) & 1], *row = rows[i & 1], best = limit + 1;
        size_t from = i > limit ? i - limit : 0, to = i + limit < b_length ? i + limit : b_length;
        if (from)
            row[from - 1] = limit + 1;
        else
            row[from++] = (unsigned)i;
        if (i + limit <= b_length) above[i + limit] = limit + 1;
        for (size_t j = from; j <= to; j++) {
            unsigned value = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < value) value = above[j] + 1;
            if (row[j - 1] + 1 < value) value = row[j - 1] + 1;
            row[j] = value;
            if (value < best) best = value;
        }
        if (best > limit) return limit + 1;
    }
    return rows[a_length & 1][b_length];
}

// Whether one name is the other behind a prefix that ends in a dot.
static bool is_tail(const char *whole, size_t whole_length, const char *tail, size_t length) {
    return whole_length > length && whole[whole_length - length - 1] == '.' &&
           memcmp(whole + whole_length - length, tail, length) == 0;
}

const char *weights_nearest(const Weights *weights, const char *name) {
    const char *nearest = NULL;
    size_t length = strlen(name);
    if (length > SAFETENSORS_NAME_MAX) return NULL;
    unsigned limit = length / 3 < NEAR_MAX ? (unsigned)(length / 3) : NEAR_MAX;
    for (uint32_t i = 0; i < weights->count; i++) {
        const SafetensorsTensor *tensor = weights->entries[i].tensor;
        if (is_tail(tensor->name, tensor->name_length, name, length) ||
            is_tail(name, length, tensor->name, tensor->name_length))
            return tensor->name;
        unsigned found = edits(name, length, tensor->name, tensor->name_length, limit);
        if (found > limit) continue;
        nearest = tensor->name;
        if (!found) break;
        limit = found - 1;
    }
    return nearest;
}
