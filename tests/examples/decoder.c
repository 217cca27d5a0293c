#include "tests/examples/decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

void decoder_expect_ok(AdeptResult result, const AdeptError *error) {
    if (result != ADEPT_OK) fail_msg("%s: %s", adept_result_string(result), error->detail);
}

AdeptModel *decoder_open(AdeptDevice *device, const char *packages, const char *folder,
                         const char *dtype) {
    AdeptError error = {0};
    AdeptModel *model = NULL;
    AdeptModelOptions options = {.cache_dir = ""};
    char path[4096];
    snprintf(path, sizeof path, "%s/kjv_%s.adx", packages, dtype);
    decoder_expect_ok(adept_model_open(device, path, &options, &model, &error), &error);
    snprintf(path, sizeof path, "%s/kjv.safetensors", folder);
    decoder_expect_ok(adept_model_bind(model, path, &error), &error);
    return model;
}

void decoder_run(DecoderRun *run, int64_t count, float *logits) {
    run->input = (AdeptTensor){.name = "tokens",
                               .dtype = ADEPT_I32,
                               .rank = 2,
                               .shape = {1, count},
                               .data = run->tokens,
                               .size = (uint64_t)count * sizeof *run->tokens};
    run->output = (AdeptTensor){.name = "logits",
                                .dtype = ADEPT_F32,
                                .data = logits,
                                .size = (uint64_t)count * DECODER_VOCABULARY * sizeof *logits};
}
