#include "runtime/error.h"
#include "runtime/file_write.h"
#include "runtime/safetensors.h"

#include <stdlib.h>
#include <string.h>

static int compare_items(const void *a, const void *b) {
    const SafetensorsItem *x = a, *y = b;
    uint32_t x_bits = safetensors_dtype_bits(x->dtype), y_bits = safetensors_dtype_bits(y->dtype);
    return x_bits != y_bits ? (x_bits < y_bits ? 1 : -1) : strcmp(x->name, y->name);
}

static uint64_t item_size(const SafetensorsItem *item) {
    uint64_t bits = safetensors_dtype_bits(item->dtype);
    for (uint32_t i = 0; i < item->rank; i++) bits *= item->shape[i];
    return bits / 8;
}

static void put_name(FILE *out, const char *name) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

static char *make_header(const SafetensorsItem *items, uint32_t count, size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    uint64_t offset = 0;
    fputc('{', out);
    for (uint32_t i = 0; i < count; i++) {
        const SafetensorsItem *item = &items[i];
        if (i) fputc(',', out);
        put_name(out, item->name);
        fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_dtype_name(item->dtype));
        for (uint32_t axis = 0; axis < item->rank; axis++)
            fprintf(out, axis ? ",%llu" : "%llu", (unsigned long long)item->shape[axis]);
        uint64_t end = offset + item_size(item);
        fprintf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)offset,
                (unsigned long long)end);
        offset = end;
    }
    fputc('}', out);
    for (long at = ftell(out); at % 8; at++) fputc(' ', out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

AdeptResult safetensors_write(const char *path, SafetensorsItem *items, uint32_t count,
                              AdeptError *error) {
    if (count) qsort(items, count, sizeof *items, compare_items);
    size_t length = 0;
    char *header = make_header(items, count, &length);
    if (!header) return error_memory(error);
    FileWrite file;
    AdeptResult result = file_write_start(&file, path, error);
    if (!result) {
        uint8_t bytes[8];
        for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)length >> (8 * i));
        fwrite(bytes, 1, 8, file.stream);
        fwrite(header, 1, length, file.stream);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t size = item_size(&items[i]);
            if (size) fwrite(items[i].data, 1, size, file.stream);
        }
        result = file_write_finish(&file, 1, error);
    }
    free(header);
    return result;
}
