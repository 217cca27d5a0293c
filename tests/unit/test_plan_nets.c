// The arenas of the example nets beside the least memory that their intermediates need at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "frontend/pipeline.h"
#include "passes/plan_internal.h"

static const char *const nets[] = {
    "digits/lenet5", "resnet50/resnet50", "mobilenet/mobilenet_v2", "mobilenet/mobilenet_v3",
    "unet/unet",     "vit/vit",           "kjv/kjv_decoder",        "qwen2/qwen2"};

static void open_net(Pipeline *pipeline, const char *net, const char *target, const char *dtype) {
    PipelineOptions options = pipeline_options();
    options.target = target;
    if (dtype) options.defines = (CliList){.at = &dtype, .len = 1};
    char path[512];
    int length = snprintf(path, sizeof path, ADEPT_SOURCE_DIR "/examples/%s.adp", net);
    assert_true(length > 0 && (size_t)length < sizeof path);
    assert_true(pipeline_open(pipeline, &options, NULL));
    assert_true(pipeline_load(pipeline, path) && pipeline_reach(pipeline, TEXT_PLAN));
}

// With `most` images or tokens, at most as many as there may be, and all tokens before them.
static void check_arena(const Plan *plan, const char *net, const char *target, int64_t most) {
    DimTable *dims = plan->graph->dims;
    int64_t symbols[64] = {0}, bound, size;
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++)
        symbols[i] = dim_bounds(dims, dim_symbol_at(dims, i)).hi;
    if (symbols[0] > most) symbols[0] = most;
    assert_true(plan_liveness_bound(plan, symbols, &bound));
    assert_true(dim_eval(dims, plan->arena_bytes, symbols, &size));
    print_message("%s %s, %lld: %lld bytes, bound %lld, %.3f\n", net, target, (long long)symbols[0],
                  (long long)size, (long long)bound, (double)size / (double)bound);
    assert_true(bound > 0 && size >= bound);
    // Offsets are multiples of 256, which counts while tensors are small.
    if (size > bound * 11 / 10 + 8 * 256) fail_msg("more than 1.1 times the bound");
}

static void arenas_are_near_the_bound(void **state) {
    (void)state;
    static const char *const target[] = {"portable", "h200"};

    for (unsigned n = 0; n < sizeof nets / sizeof nets[0]; n++)
        for (unsigned t = 0; t < 2; t++) {
            Pipeline pipeline;
            bool half = t == 1 && n > 0 && n < 6; // LeNet is in f32, decoders in f16
            open_net(&pipeline, nets[n], target[t], half ? "T=f16" : NULL);
            check_arena(pipeline.plan, nets[n], target[t], 1);
            check_arena(pipeline.plan, nets[n], target[t], 3);
            check_arena(pipeline.plan, nets[n], target[t], 32);
            pipeline_close(&pipeline);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arenas_are_near_the_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
