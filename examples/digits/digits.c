// Reads handwritten digits with a compiled LeNet-5: how a program embeds Adept's runtime.
// usage: digits lenet5.adx lenet5.safetensors digits_images.npy digits_labels.npy
//
// Prints the device and how many labels the network gets right.
#include "runtime/adept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct File {
    unsigned char *bytes;
    size_t size;
} File;

static bool file_read(const char *path, File *out) {
    FILE *stream = fopen(path, "rb");
    bool good = stream && fseek(stream, 0, SEEK_END) == 0;
    long size = good ? ftell(stream) : -1;
    good = size >= 0 && fseek(stream, 0, SEEK_SET) == 0;
    out->size = good ? (size_t)size : 0;
    out->bytes = malloc(out->size + 1);
    good = good && out->bytes && fread(out->bytes, 1, out->size, stream) == out->size;
    if (stream) fclose(stream);
    if (!good) fprintf(stderr, "digits: cannot read %s\n", path);
    return good;
}

// The data of a .npy file of version 1 that must hold `count` items (0: any number) of `item` bytes
// under that descr. Returns NULL, or where the data begins and their number.
static void *npy_data(const char *path, const File *file, const char *descr, size_t item,
                      size_t *count) {
    size_t start = 0;
    if (file->size >= 10 && memcmp(file->bytes, "\x93NUMPY\x01", 7) == 0)
        start = 10 + (file->bytes[8] | (size_t)file->bytes[9] << 8);
    if (start == 0 || start > file->size || (file->size - start) % item != 0 ||
        !memmem(file->bytes, start, descr, strlen(descr))) {
        fprintf(stderr, "digits: %s is no .npy file of %s\n", path, descr);
        return NULL;
    }
    *count = (file->size - start) / item;
    return file->bytes + start;
}

static bool done(AdeptResult result, const char *what, const AdeptError *error) {
    if (result == ADEPT_OK) return true;
    fprintf(stderr, "digits: %s: %s: %s\n", what, adept_result_string(result), error->detail);
    return false;
}

static void say(void *user, bool is_error, const char *text) {
    (void)user;
    fprintf(stderr, "digits: %s: %s\n", is_error ? "error" : "warning", text);
}

// Runs the network over `count` images of 28 x 28 grey levels; labels are 0..9.
static bool classify(AdeptDevice *device, const char *package, const char *weights,
                     const float *images, size_t count, int32_t *labels) {
    AdeptModelOptions options = {.message = say};
    AdeptModel *model = NULL;
    AdeptSession *session = NULL;
    AdeptError error;
    AdeptTensor input = {.name = "image",
                         .dtype = ADEPT_F32,
                         .rank = 4,
                         .shape = {(int64_t)count, 1, 28, 28},
                         .data = (void *)images,
                         .size = count * 28 * 28 * sizeof *images};
    AdeptTensor output = {
        .name = "label", .dtype = ADEPT_I32, .data = labels, .size = count * sizeof *labels};
    bool good =
        done(adept_model_open(device, package, &options, &model, &error), package, &error) &&
        done(adept_model_bind(model, weights, &error), weights, &error) &&
        done(adept_session_open(model, &session, &error), "session", &error) &&
        done(adept_session_run(session, &input, 1, &output, 1, &error), "run", &error);
    adept_session_close(session);
    adept_model_close(model);
    return good;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: digits PACKAGE WEIGHTS IMAGES.npy LABELS.npy\n");
        return 2;
    }
    File image_file = {0}, label_file = {0};
    size_t values = 0, count = 0;
    const float *images = NULL;
    const int32_t *wanted = NULL;
    if (file_read(argv[3], &image_file) && file_read(argv[4], &label_file)) {
        images = npy_data(argv[3], &image_file, "'<f4'", sizeof *images, &values);
        wanted = npy_data(argv[4], &label_file, "'<i4'", sizeof *wanted, &count);
    }
    int code = 1;
    int32_t *labels = count > 0 ? calloc(count, sizeof *labels) : NULL;
    AdeptDevice *device = NULL;
    AdeptError error;
    if (!images || !wanted || !labels) {
        code = 1; // said already
    } else if (values != count * 28 * 28) {
        fprintf(stderr, "digits: %zu labels do not belong to %zu values\n", count, values);
    } else if (!done(adept_device_open(NULL, &device, &error), "device", &error)) {
        code = 3;
    } else if (classify(device, argv[1], argv[2], images, count, labels)) {
        size_t right = 0;
        for (size_t i = 0; i < count; i++) right += labels[i] == wanted[i];
        printf("device: %s\n%zu of %zu digits right\n", adept_device_info(device)->name, right,
               count);
        code = 0;
    }
    adept_device_close(device);
    free(labels);
    free(label_file.bytes);
    free(image_file.bytes);
    return code;
}
