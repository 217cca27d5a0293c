#include "frontend/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/npz.h"
#include "ir/number.h"

// ---- reading and writing ---------------------------------------------------------------------

static bool has_suffix(const char *text, const char *suffix) {
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

static bool add(Arena *arena, ArrayVec *out, const char *name, Npy array, Text *error) {
    if (arrays_find(out, name)) {
        text_printf(error, "'%s' is given twice", name);
        npy_free(&array);
        return false;
    }
    vec_push(arena, out, (NamedArray){.name = name, .array = array});
    return true;
}

// All members of an archive, or the one of that name.
static bool read_archive(Arena *arena, const char *path, const char *name, ArrayVec *out,
                         Text *error) {
    Npz *archive;
    if (!npz_open(path, &archive, error)) return false;
    bool good = true, found = false;
    for (uint32_t i = 0; good && i < npz_count(archive); i++) {
        const char *member = arena_strdup(arena, npz_name(archive, i));
        if (name && strcmp(name, member) != 0) continue;
        Npy array;
        found = true;
        good = npz_read(archive, i, &array, error) && add(arena, out, member, array, error);
    }
    npz_close(archive);
    if (good && name && !found) text_printf(error, "%s: no member '%s'", path, name);
    return good && (found || !name);
}

bool arrays_read(Arena *arena, const CliList *list, ArrayVec *out, Text *error) {
    for (uint32_t i = 0; i < list->len; i++) {
        const char *name = NULL, *path = list->at[i];
        bool named = cli_split(arena, list->at[i], &name, &path);
        if (has_suffix(path, ".npz")) {
            if (!read_archive(arena, path, named ? name : NULL, out, error)) return false;
            continue;
        }
        if (!named) {
            text_printf(error, "'--in %s': NAME=FILE is wanted", list->at[i]);
            return false;
        }
        Npy array;
        if (!npy_read(path, &array, error) || !add(arena, out, name, array, error)) return false;
    }
    return true;
}

void arrays_free(ArrayVec *arrays) {
    for (uint32_t i = 0; i < arrays->len; i++) npy_free(&arrays->at[i].array);
    *arrays = (ArrayVec){0};
}

NamedArray *arrays_find(const ArrayVec *arrays, const char *name) {
    for (uint32_t i = 0; i < arrays->len; i++)
        if (strcmp(arrays->at[i].name, name) == 0) return &arrays->at[i];
    return NULL;
}

bool arrays_convert(NamedArray *array, DType dtype, Text *error) {
    if (!npy_convert(array->name, &array->array, dtype, error)) return false;
    array->dtype = dtype;
    return true;
}

bool arrays_add(Arena *arena, ArrayVec *arrays, const char *name, DType dtype, uint32_t rank,
                const int64_t *size, Text *error) {
    Npy array = {.rank = rank, .count = 1};
    if (!npy_code_of(dtype, &array.code)) {
        text_printf(error, "%s: no .npy file holds %s", name, dtype_name(dtype));
        return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        array.size[i] = size[i];
        array.count *= (uint64_t)size[i];
    }
    array.bytes = array.count * npy_item_bytes(array.code);
    array.data = calloc(array.bytes ? (size_t)array.bytes : 1, 1);
    if (!array.data) {
        text_printf(error, "%s: no memory for %llu bytes", name, (unsigned long long)array.bytes);
        return false;
    }
    vec_push(arena, arrays, (NamedArray){.name = name, .dtype = dtype, .array = array});
    return true;
}

bool arrays_write(Arena *arena, const CliList *list, const ArrayVec *arrays, Text *error) {
    VEC(const NamedArray *) found = {0};
    VEC(const char *) paths = {0};
    for (uint32_t i = 0; i < list->len; i++) { // all names are right before a file is touched
        const char *name, *path;
        if (!cli_split(arena, list->at[i], &name, &path)) {
            text_printf(error, "'--out %s': NAME=FILE is wanted", list->at[i]);
            return false;
        }
        const NamedArray *array = arrays_find(arrays, name);
        if (!array) {
            text_printf(error, "'--out %s': the model has no such output", list->at[i]);
            return false;
        }
        vec_push(arena, &found, array);
        vec_push(arena, &paths, path);
    }
    for (uint32_t i = 0; i < found.len; i++)
        if (!npy_write(paths.at[i], &found.at[i]->array, error)) return false;
    return true;
}

// ---- values ----------------------------------------------------------------------------------

static double element(const NamedArray *array, uint64_t index) {
    return number_load(array->dtype,
                       (const char *)array->array.data + index * dtype_bytes(array->dtype));
}

void arrays_describe(const NamedArray *array, Text *out) {
    enum { SHOWN = 8 };
    text_printf(out, "%s : ", array->name);
    for (uint32_t i = 0; i < array->array.rank; i++)
        text_printf(out, "%s%lld", i ? ", " : "[", (long long)array->array.size[i]);
    text_printf(out, "%s%s =", array->array.rank ? "] " : "", dtype_name(array->dtype));
    for (uint64_t i = 0; i < array->array.count && i < SHOWN; i++)
        text_printf(out, " %.6g", element(array, i));
    text_put(out, array->array.count > SHOWN ? " ..\n" : "\n");
}

static double bound_of(DType dtype) {
    switch (dtype) {
    case DT_F32: return 2e-5;
    case DT_F16: return 2e-3;
    case DT_BF16:
    case DT_F8E4M3:
    case DT_F8E5M2: return 2e-2;
    default: return 0;
    }
}

Difference arrays_compare(const NamedArray *got, const NamedArray *wanted) {
    Difference result = {.scale = 0, .within = true};
    for (uint64_t i = 0; i < got->array.count; i++) {
        double a = element(got, i), b = element(wanted, i);
        if (isfinite(b) && fabs(b) > result.scale) result.scale = fabs(b);
        if (a == b || (isnan(a) && isnan(b))) continue; // equal infinities too
        double difference = fabs(a - b);
        if (isnan(difference)) difference = INFINITY;
        if (difference <= result.largest) continue;
        result.largest = difference;
        result.at = i;
        result.got = a;
        result.wanted = b;
    }
    double scale = result.scale > 1 ? result.scale : 1;
    result.within = result.largest <= bound_of(got->dtype) * scale;
    return result;
}
