// The key/value cache of examples/kjv through the runtime's public header: prompt logits against
// the reference, one run against its splits, states kept, copied, saved and reset, and a cache that
// is full. usage: cache PACKAGES KJV_FOLDER SCRATCH
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/examples/decoder.h"

enum { CACHE = 512, PROMPT = 21, NPY_HEADER = 128 };

static const char prompt[] = "Ps23:1 The LORD is my";
static const char *packages, *folder, *scratch;
static AdeptDevice *device;

typedef struct Decoder {
    const char *dtype;
    double reference, split; // how far logits may be from the reference; from those of one run
    AdeptModel *model;
} Decoder;

static Decoder decoders[] = {{.dtype = "f32", .reference = 1e-4, .split = 2e-5},
                             {.dtype = "f16", .reference = 1.3e-2, .split = 1.3e-2}};
enum { DECODERS = sizeof decoders / sizeof *decoders };

static AdeptSession *session_of(Decoder *decoder) {
    AdeptError error = {0};
    AdeptSession *session = NULL;
    if (!device) decoder_expect_ok(adept_device_open(NULL, &device, &error), &error);
    if (!decoder->model) decoder->model = decoder_open(device, packages, folder, decoder->dtype);
    decoder_expect_ok(adept_session_open(decoder->model, &session, &error), &error);
    return session;
}

// `count` bytes after `cached` ones; logits [count, DECODER_VOCABULARY].
static AdeptResult step(AdeptSession *session, const char *text, int64_t cached, int64_t count,
                        float *logits, AdeptError *error) {
    DecoderRun run;
    decoder_run(&run, count, logits);
    for (int64_t i = 0; i < count; i++) run.tokens[i] = text[i];
    AdeptResult result = adept_session_set_dim(session, "P", cached, error);
    return result ? result : adept_session_run(session, &run.input, 1, &run.output, 1, error);
}

static void step_ok(AdeptSession *session, const char *text, int64_t cached, int64_t count,
                    float *logits) {
    AdeptError error = {0};
    decoder_expect_ok(step(session, text, cached, count, logits, &error), &error);
}

static void near(const float *got, const float *want, size_t rows, double bound, const char *what) {
    for (size_t i = 0; i < rows * DECODER_VOCABULARY; i++) {
        if (fabs((double)got[i] - (double)want[i]) <= bound) continue;
        fail_msg("%s: logit %zu of row %zu is %.7g, not %.7g within %g", what,
                 i % DECODER_VOCABULARY, i / DECODER_VOCABULARY, (double)got[i], (double)want[i],
                 bound);
    }
}

static void *contents(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    void *data = malloc(1 << 24);
    assert_non_null(data);
    *size = fread(data, 1, 1 << 24, file);
    fclose(file);
    return data;
}

static void *saved(AdeptSession *session, size_t *size) {
    AdeptError error = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/states.safetensors", scratch);
    decoder_expect_ok(adept_session_save(session, path, &error), &error);
    return contents(path, size);
}

static void test_reference(void **state) {
    (void)state;
    static float logits[PROMPT * DECODER_VOCABULARY];
    char path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/kjv_prompt_logits.npy", folder);
    char *npy = contents(path, &size);
    assert_int_equal(size, NPY_HEADER + sizeof logits);
    for (int i = 0; i < DECODERS; i++) {
        AdeptSession *session = session_of(&decoders[i]);
        step_ok(session, prompt, 0, PROMPT, logits);
        near(logits, (float *)(void *)(npy + NPY_HEADER), PROMPT, decoders[i].reference,
             decoders[i].dtype);
        adept_session_close(session);
    }
    free(npy);
}

static void test_splits(void **state) {
    (void)state;
    static const int splits[][PROMPT + 1] = {
        {20, 1}, {1, 20}, {7, 7, 7}, {5, 3, 13}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    static float whole[PROMPT * DECODER_VOCABULARY], part[PROMPT * DECODER_VOCABULARY];
    for (int i = 0; i < DECODERS; i++) {
        AdeptSession *session = session_of(&decoders[i]);
        AdeptError error = {0};
        step_ok(session, prompt, 0, PROMPT, whole);
        for (size_t s = 0; s < sizeof splits / sizeof *splits; s++) {
            int64_t cached = 0;
            decoder_expect_ok(adept_session_reset(session, &error), &error);
            for (const int *count = splits[s]; *count; cached += *count++)
                step_ok(session, prompt + cached, cached, *count,
                        part + cached * DECODER_VOCABULARY);
            assert_int_equal(cached, PROMPT);
            near(part, whole, PROMPT, decoders[i].split, decoders[i].dtype);
        }
        adept_session_close(session);
    }
}

static void test_states(void **state) {
    (void)state;
    static float want[PROMPT * DECODER_VOCABULARY], got[PROMPT * DECODER_VOCABULARY];
    char path[4096];
    AdeptError error = {0};
    snprintf(path, sizeof path, "%s/half.safetensors", scratch);
    for (int i = 0; i < DECODERS; i++) {
        AdeptSession *first = session_of(&decoders[i]), *second = session_of(&decoders[i]);
        size_t size[2];
        void *empty = saved(second, &size[0]);
        step_ok(first, prompt, 0, 10, want);
        void *untouched = saved(second, &size[1]); // sessions of one model are independent
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(empty, untouched, size[0]);
        decoder_expect_ok(adept_session_save(first, path, &error), &error);
        decoder_expect_ok(adept_session_copy(second, first, &error), &error);
        step_ok(first, prompt + 10, 10, 11, want);
        step_ok(second, prompt + 10, 10, 11, got);
        assert_memory_equal(want, got, 11 * DECODER_VOCABULARY * sizeof *got);
        decoder_expect_ok(adept_session_reset(second, &error), &error);
        void *again = saved(second, &size[1]);
        assert_memory_equal(empty, again, size[0]);
        decoder_expect_ok(adept_session_load(second, path, &error), &error);
        memset(got, 0, sizeof got);
        step_ok(second, prompt + 10, 10, 11, got);
        assert_memory_equal(want, got, 11 * DECODER_VOCABULARY * sizeof *got);
        free(empty), free(untouched), free(again);
        adept_session_close(first);
        adept_session_close(second);
    }
}

static void test_full(void **state) {
    (void)state;
    static float logits[DECODER_RUN_MAX * DECODER_VOCABULARY], last[DECODER_VOCABULARY],
        again[DECODER_VOCABULARY];
    static char text[CACHE];
    for (int i = 0; i < CACHE; i++) text[i] = (char)(32 + i * 7 % 90);
    for (int i = 0; i < DECODERS; i++) {
        AdeptSession *session = session_of(&decoders[i]), *other = session_of(&decoders[i]);
        AdeptError error = {0};
        size_t before, after;
        step_ok(session, text, 0, DECODER_RUN_MAX, logits);
        step_ok(session, text + DECODER_RUN_MAX, DECODER_RUN_MAX, DECODER_RUN_MAX - 1, logits);
        decoder_expect_ok(adept_session_copy(other, session, &error), &error);
        void *kept = saved(session, &before);
        assert_int_not_equal(step(session, text, CACHE - 1, 2, logits, &error), ADEPT_OK);
        if (!strstr(error.detail, "KV cache is full: 511 cached + 2 new > 512"))
            fail_msg("another message: %s", error.detail);
        assert_int_not_equal(step(session, text, CACHE, 1, logits, &error), ADEPT_OK);
        void *now = saved(session, &after);
        assert_int_equal(before, after);
        assert_memory_equal(kept, now, before);
        step_ok(session, text + CACHE - 1, CACHE - 1, 1, last); // the last place is still free
        step_ok(other, text + CACHE - 1, CACHE - 1, 1, again);
        assert_memory_equal(last, again, sizeof last);
        free(kept), free(now);
        adept_session_close(session);
        adept_session_close(other);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    packages = argv[1], folder = argv[2], scratch = argv[3];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_splits), cmocka_unit_test(test_states),
                                       cmocka_unit_test(test_full)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < DECODERS; i++) adept_model_close(decoders[i].model);
    adept_device_close(device);
    return failed;
}
