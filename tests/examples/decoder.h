// The decoder of examples/kjv through the runtime's public header, for tests.
#pragma once

#include "runtime/adept.h"

enum { DECODER_VOCABULARY = 128, DECODER_RUN_MAX = 256 };

// The package of `dtype` ("f32") with its weights; fails the cmocka test where it cannot be opened.
AdeptModel *decoder_open(AdeptDevice *device, const char *packages, const char *folder,
                         const char *dtype);

// The tensors of one run: `count` tokens to logits [count, DECODER_VOCABULARY].
typedef struct DecoderRun {
    int32_t tokens[DECODER_RUN_MAX];
    AdeptTensor input, output;
} DecoderRun;

// Tensors that point to run->tokens, which the caller fills in, and to `logits`.
void decoder_run(DecoderRun *run, int64_t count, float *logits);

void decoder_expect_ok(AdeptResult result, const AdeptError *error);
