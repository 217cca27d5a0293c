// Products whose K is split, on the device: each form with schedules given by hand, against the
// evaluator; and the same bits from run to run.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/device_check.h"
#include "tests/support/numeric.h"

#define SIMT   "form=simt, local=64, tile_m=16, tile_n=32, tile_k=8, reg_m=2, reg_n=4, vec=4"
#define SKINNY "form=skinny, local=64, lanes=16, tile_m=16, reg_n=1, vec=1"
#define ALONG  "form=skinny, local=64, lanes=8, tile_m=3, unroll=4"
#define WIDE   "form=skinny, local=64, lanes=16, tile_m=2, reg_n=2, vec=8, unroll=4"

typedef struct SplitCase {
    const char *name, *schedule, *sizes, *text;
    Bound bound;
} SplitCase;

static const SplitCase cases[] = {
    {"simt",
     SIMT ", split_k=3",
     "1 1 1; 2 3 5; 17 33 65; 65 63 129; 1 100 257; 16 32 24",
     "dim N in 1..=80; dim M in 1..=120; dim K in 1..=300\n"
     "input x : [N, K] f32; input y : [K, M] f32; input r : [N, M] f32\n"
     "output a = relu(x @ y + r)\n",
     {.sums = 400}},
    {"simt in batches",
     SIMT ", split_k=8",
     "1; 7; 64",
     "dim N in 1..=80\n"
     "input x : [3, N, 70] f16; input y : [70, 33] f16; param b : [33] f16\n"
     "output a = x @ y + b\n",
     {.sums = 400, .rounds = 1}},
    {"simt of integers",
     SIMT ", split_k=4",
     "1; 7; 64",
     "dim N in 1..=80\n"
     "input any_x : [N, 100] i8; input any_y : [33, 100] i8\n"
     "output a = any_x @ any_y.T\n",
     {.ulps = 0}},
    {"simt, strict",
     SIMT ", split_k=2",
     "1; 9",
     "dim N in 1..=80\n"
     "input x : [N, 100] f32; input y : [33, 100] f32\noutput a = x @ y.T\n",
     {.sums = 400}},
    {"skinny",
     SKINNY ", split_k=4",
     "1 1; 2 3; 15 257; 16 64; 3 300",
     "dim N in 1..=16; dim K in 1..=300\n"
     "input x : [N, K] f32; input w : [19, K] f32; input b : [19] f32\n"
     "output a = linear(x, w, b)\n",
     {.sums = 400}},
    {"wide and whole",
     WIDE ", split_k=2",
     "1; 2",
     "dim N in 1..=2\n"
     "input spike_x : [N, 1024] f16; param spike_w : [37, 1024] f16\n"
     "output a = linear(spike_x, spike_w)\n",
     {.sums = 600, .rounds = 1}},
    {"wide with an end",
     WIDE,
     "1; 2",
     "dim N in 1..=2\n"
     "input spike_x : [N, 1064] f16; param spike_w : [37, 1064] f16\n"
     "output a = linear(spike_x, spike_w)\n",
     {.sums = 600, .rounds = 1}},
    {"wide bf16",
     WIDE ", split_k=3",
     "1; 2",
     "dim N in 1..=2\n"
     "input x : [N, 1064] bf16; param w : [37, 1064] bf16\n"
     "output a = linear(x, w)\n",
     {.sums = 600, .rounds = 1}},
    {"along N",
     ALONG ", vec=8, split_k=2",
     "1; 2; 3",
     "dim N in 1..=3\n"
     "input x : [2, N, 136] f16; input y : [2, 136, 72] f16; param b : [72] f16\n"
     "output a = x @ y + b\n",
     {.sums = 400, .rounds = 1}},
    {"along N with ends",
     ALONG ", vec=1, split_k=3",
     "1 1 2; 3 300 17; 2 7 200",
     "dim N in 1..=3; dim K in 1..=300; dim M in 2..=200\n"
     "input x : [N, K] f32; input y : [K, M] f32\n"
     "output a = x @ y\n",
     {.sums = 400}},
};

static DeviceModel *open_split(Arena *arena, const char *name, const char *text,
                               const char *schedule) {
    Schedule *parsed = arena_alloc(arena, sizeof *parsed);
    Text wrong = {0};
    assert_true(schedule_parse(schedule, arena, parsed, &wrong));
    DeviceOptions options = {
        .family = "contract", .schedule = parsed, .strict = strstr(name, "strict")};
    return device_model_open(name, text, &options);
}

static void run(void **state) {
    const SplitCase *test = *state;
    Arena *arena = arena_create();
    Text text = {0};
    text_printf(&text, "adept 1\nmodel m {\n%s}\n", test->text);
    DeviceModel *model = open_split(arena, test->name, text.data, test->schedule);
    if (strstr(test->schedule, "split_k")) assert_int_equal(device_model_kernels(model), 2);
    int64_t dims[64];
    const char *sizes = test->sizes;
    for (uint64_t seed = 1; numeric_dims(&sizes, dims); seed++)
        device_model_check(model, dims, seed, &test->bound);
    device_model_close(model);
    text_free(&text);
    arena_destroy(arena);
}

static void same_bits(void **state) {
    (void)state;
    Arena *arena = arena_create();
    DeviceModel *model = open_split(arena, "same bits",
                                    "adept 1\nmodel m {\ndim N in 1..=80\n"
                                    "input x : [N, 500] f32; input y : [500, 40] f32\n"
                                    "output a = x @ y\n}\n",
                                    SIMT ", split_k=4");
    const int64_t dims[64] = {33};
    const Tensor *out = device_model_run(model, dims, 7);
    size_t bytes = (size_t)out->elements * sizeof *out->data;
    double *first = memory_or_exit(malloc(bytes));
    memcpy(first, out->data, bytes);
    for (int i = 0; i < 50; i++) {
        out = device_model_run(model, dims, 7);
        assert_memory_equal(first, out->data, bytes);
    }
    free(first);
    device_model_close(model);
    arena_destroy(arena);
}

int main(void) {
    enum { CASES = sizeof cases / sizeof cases[0] };
    struct CMUnitTest tests[CASES + 1];
    for (unsigned i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = run, .initial_state = (void *)(uintptr_t)&cases[i]};
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(same_bits);
    int failed = _cmocka_run_group_tests("split", tests, CASES + 1, NULL, NULL);
    device_check_report();
    return failed;
}
