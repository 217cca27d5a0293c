// Preparing of weights in parts: a repeat's trips by themselves, a few at once and all at once give
// the same; what steps make for each other stays together; and how much is in memory at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/device_check.h"

typedef struct Case {
    const char *name, *text;
    uint32_t most, one;  // parts where each has its own, and where all fits
    uint64_t least, all; // bytes of the weights in the largest part then
} Case;

// Beside the weights stands there what one step makes for another, at most as much.
static const Case cases[] = {
    // Two weights of [24, 32] f32 a trip become one.
    {"trips",
     "adept 1\nmodel m {\ndim N in 1..=8\ninput x : [N, 32] f32\nh = x\n"
     "repeat i in 0..5 {\n"
     "    param g : [24, 32] f32 from \"l.{i}.g\"; param u : [24, 32] f32 from \"l.{i}.u\"\n"
     "    param d : [32, 24] f16 from \"l.{i}.d\"\n"
     "    h = h + linear(silu(linear(x, g)) * linear(x, u), cast(d, f32) * 0.5)\n"
     "}\noutput y = h\n}\n",
     10, 2, 2 * 24 * 32 * 4, 5 * 2 * 24 * 32 * 4},
    // A weight outside is read again for each part; nested trips.
    {"shared",
     "adept 1\nmodel m {\ndim N in 1..=8\ninput x : [N, 8] f32\nparam s : [8] f32\nh = x\n"
     "repeat i in 0..3 {\n    repeat j in 0..2 {\n"
     "        param w : [8] f32 from \"l.{i}.{j}.w\"\n"
     "        h = h * (exp(s * 0.1) + w)\n"
     "    }\n}\noutput y = h\n}\n",
     6, 1, 32 + 32, 32 + 6 * 32},
    // A product of weights whose first operand is normalised before: two steps, one part.
    {"steps",
     "adept 1\nmodel m {\ndim N in 1..=8\ninput x : [N, 16] f32\nh = x\n"
     "repeat i in 0..3 {\n"
     "    param a : [16, 40] f32 from \"l.{i}.a\"; param b : [40, 16] f32 from \"l.{i}.b\"\n"
     "    h = h + x @ (softmax(a) @ b)\n"
     "}\noutput y = h\n}\n",
     3, 1, 2 * 40 * 16 * 4, 3 * 2 * 40 * 16 * 4},
};

static void parts(void **state) {
    (void)state;
    static const uint64_t staging[] = {1, 20000, 0};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned k = 0; k < 3; k++) {
            const Case *c = &cases[i];
            DeviceModel *m = device_model_open(
                c->name, c->text, &(DeviceOptions){.eager = true, .staging = staging[k]});
            uint64_t largest;
            assert_int_equal(device_model_parts(m, 1, &largest), c->most);
            assert_in_range(largest, c->least, 2 * c->least);
            assert_int_equal(device_model_parts(m, 1 << 20, &largest), c->one);
            assert_in_range(largest, c->all, 2 * c->all);
            for (int64_t n = 1; n <= 8; n += 7) device_model_check(m, &n, 7, &(Bound){.sums = 400});
            device_model_close(m);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts)};
    int failed = cmocka_run_group_tests_name("prepare", tests, NULL, NULL);
    device_check_report();
    return failed;
}
