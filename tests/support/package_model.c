#include "tests/support/package_model.h"

#include <string.h>

enum { N, P, TRIP };
enum { LOCAL = 64 };

// Little-endian floats: 1.5, 0, 0, 0 and 1, 2, 3, 4.
#define WEIGHTS_HEADER                                                                             \
    "{\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,32]},"                           \
    "\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}          "
const char package_model_weights[] =
    "\x78\0\0\0\0\0\0\0" WEIGHTS_HEADER "\0\0\xC0\x3F\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40\0\0\x80\x40";
const size_t package_model_weights_size = sizeof package_model_weights - 1;
_Static_assert(sizeof WEIGHTS_HEADER - 1 == 0x78, "the header's length");

static KVal index_of(KBuilder *b) {
    return k_iadd(b, k_imul(b, k_workgroup_id_x(b), k_i32(b, LOCAL)), k_local_id(b));
}

// y[i] = x[i] * w[0], or y[i] = x[i] + w[0], for i < n.
static uint32_t combine(PackageMake *make, const char *name, bool add, int32_t extra) {
    KBuilder *b = k_begin(make->arena, name, LOCAL);
    KVal x = k_param_buffer_aligned(b, "x", DT_F32, K_READ, 4);
    KVal w = k_param_buffer_aligned(b, "w", DT_F32, K_READ, 4);
    KVal y = k_param_buffer_aligned(b, "y", DT_F32, K_WRITE, 4);
    KVal n = k_param_i32(b, "n", 0, 10000, 1);
    KVal i = index_of(b);
    k_if_begin(b, k_slt(b, i, k_iadd(b, n, k_i32(b, extra))));
    KVal left = k_load(b, x, k_smin(b, i, k_isub(b, n, k_i32(b, 1))), DT_F32, 1, 4);
    KVal right = k_load(b, w, k_i32(b, 0), DT_F32, 1, 4);
    k_store(b, y, i, DT_F32, 4, add ? k_fadd(b, left, right) : k_fmul(b, left, right));
    k_if_end(b, 0, NULL, NULL);
    return package_kernel(make, b);
}

// y[workgroup] = value, by one invocation.
static uint32_t mark(PackageMake *make) {
    KBuilder *b = k_begin(make->arena, "mark", 1);
    KVal y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal value = k_param_i32(b, "value", 0, 100, 1);
    k_store(b, y, k_workgroup_id_x(b), DT_F32, 4, k_s_to_f(b, value));
    return package_kernel(make, b);
}

static uint32_t bump(PackageMake *make) {
    KBuilder *b = k_begin(make->arena, "bump", 1);
    KVal s = k_param_buffer_aligned(b, "s", DT_F32, K_READ | K_WRITE, 4);
    KVal zero = k_i32(b, 0);
    k_store(b, s, zero, DT_F32, 4, k_fadd(b, k_load(b, s, zero, DT_F32, 1, 4), k_f32(b, 1)));
    return package_kernel(make, b);
}

static void interface(PackageMake *make) {
    AdxDim dims[] = {
        {package_text(make, "N"), ADX_DIM_INPUT, 0, 10000, 0, 0},
        {package_text(make, "P"), ADX_DIM_HOST, 0, 99, 0, 0},
        {package_text(make, "t"), ADX_DIM_TRIP, 0, 2, 0, 0},
    };
    for (int i = 0; i < 3; i++) package_add(make, ADX_DIMS, &dims[i]);
    ExprRef n = package_dim(make, N), bytes = package_linear(make, N, 4, 0);
    AdxTensor x = {package_text(make, "x"), ADX_F32, 1, {n}, bytes};
    AdxTensor y = {package_text(make, "y"), ADX_F32, 1, {n}, bytes};
    AdxTensor z = {package_text(make, "z"),
                   ADX_F32,
                   1,
                   {package_number(make, 100)},
                   package_number(make, 400)};
    package_add(make, ADX_INPUTS, &x);
    package_add(make, ADX_OUTPUTS, &y);
    package_add(make, ADX_OUTPUTS, &z);
    AdxState s = {package_text(make, "s"), ADX_F32, 1, 0, {100}, 0, 400, 0.5};
    package_add(make, ADX_STATES, &s);
    AdxParam w = {.key = package_text(make, "w"),
                  .dtype = ADX_F32,
                  .rank = 1,
                  .size = {4},
                  .bytes = 16,
                  .file = package_text(make, "model.adp"),
                  .line = 3,
                  .column = 5};
    AdxParam b = {.key = package_text(make, "b"),
                  .dtype = ADX_F32,
                  .rank = 1,
                  .packed = 1,
                  .size = {4},
                  .offset = 256,
                  .bytes = 16,
                  .file = ADX_NONE,
                  .unit = ADX_NONE};
    package_add(make, ADX_PARAMS, &w);
    package_add(make, ADX_PARAMS, &b);
    float constant = 0.25f;
    text_write(&make->sections[ADX_CONSTS], &constant, sizeof constant);
    AdxAssert lucky = {n,
                       package_number(make, 13),
                       ADX_NE,
                       package_text(make, "unlucky %, 100%%"),
                       0,
                       1,
                       package_text(make, "model.adp"),
                       9,
                       2};
    package_add(make, ADX_REFS, &n);
    package_add(make, ADX_ASSERTS, &lucky);
}

// x * w2[0] to the arena; its two alternatives differ in name only.
static void scale_step(PackageMake *make, uint32_t scale) {
    ExprRef bytes = package_linear(make, N, 4, 0), zero = package_number(make, 0);
    AdxAlternative alternatives[2];
    for (int i = 0; i < 2; i++) {
        package_buffer(make, ADX_BUF_INPUT, 0, ADX_READ, zero, bytes);
        package_buffer(make, ADX_BUF_PARAM, 0, ADX_READ, zero, package_number(make, 16));
        package_buffer(make, ADX_BUF_ARENA, 0, ADX_WRITE, zero, bytes);
        package_scalar(make, package_dim(make, N));
        uint32_t dispatch =
            package_dispatch(make, scale, 4, package_linear(make, N, i ? 1 : 0, i ? 0 : 1), false,
                             i ? "scale" : "scale.one");
        alternatives[i] = (AdxAlternative){.first_dispatch = dispatch,
                                           .dispatches = 1,
                                           .conditions = i ? 0 : 1,
                                           .schedule = ADX_NONE,
                                           .reason = ADX_NONE};
    }
    AdxCondition one = {package_dim(make, N), package_number(make, 1), ADX_EQ};
    alternatives[0].first_condition = package_add(make, ADX_CONDITIONS, &one);
    AdxStep step = {.kind = ADX_STEP_RUN, .name = package_text(make, "scale"), .alternatives = 2};
    step.first_alternative = package_add(make, ADX_ALTERNATIVES, &alternatives[0]);
    package_add(make, ADX_ALTERNATIVES, &alternatives[1]);
    package_add(make, ADX_STEPS, &step);
}

// Adds b[t] in three trips, back and forth between two places of the arena.
static void repeat_step(PackageMake *make, uint32_t add) {
    AdxStep begin = {.kind = ADX_STEP_REPEAT, .name = ADX_NONE, .trip = TRIP, .lo = 0, .hi = 3};
    AdxStep end = {.kind = ADX_STEP_END, .name = ADX_NONE};
    ExprRef bytes = package_linear(make, N, 4, 0);
    package_add(make, ADX_STEPS, &begin);
    package_buffer(make, ADX_BUF_ARENA, 0, ADX_READ, package_linear(make, TRIP, 65536, 0), bytes);
    package_buffer(make, ADX_BUF_PARAM, 0, ADX_READ, package_linear(make, TRIP, 4, 256),
                   package_number(make, 4));
    package_buffer(make, ADX_BUF_ARENA, 0, ADX_WRITE, package_linear(make, TRIP, 65536, 65536),
                   bytes);
    package_scalar(make, package_dim(make, N));
    package_dispatch(make, add, 4, package_dim(make, N), true, "add");
    package_step(make, "add");
    package_add(make, ADX_STEPS, &end);
}

static void host_steps(PackageMake *make, uint32_t last, uint32_t marker, uint32_t bumper,
                       int64_t source) {
    ExprRef bytes = package_linear(make, N, 4, 0), zero = package_number(make, 0);
    ExprRef state = package_linear(make, P, 4, 0), all = package_number(make, 400);
    package_buffer(make, ADX_BUF_ARENA, 0, ADX_READ, package_number(make, source), bytes);
    package_buffer(make, ADX_BUF_STATE, 0, ADX_READ, state, package_number(make, 4));
    package_buffer(make, ADX_BUF_OUTPUT, 0, ADX_WRITE, zero, bytes);
    package_scalar(make, package_dim(make, N));
    package_dispatch(make, last, 4, package_dim(make, N), true, "last");
    package_step(make, "last");

    package_buffer(make, ADX_BUF_OUTPUT, 1, ADX_WRITE, zero, all);
    package_scalar(make, zero);
    package_dispatch(make, marker, 2, package_number(make, 100), false, "clear");
    package_step(make, "clear");

    package_buffer(make, ADX_BUF_STATE, 0, ADX_READ | ADX_WRITE, state, package_number(make, 4));
    package_dispatch(make, bumper, 1, package_number(make, 1), true, "bump");
    package_step(make, "bump");

    package_buffer(make, ADX_BUF_OUTPUT, 1, ADX_WRITE, zero, all);
    package_scalar(make, package_dim(make, P));
    package_dispatch(make, marker, 2, package_dim(make, P), false, "mark");
    package_step(make, "mark");
}

// Its raw and its packed form are of one size: packed[i] = raw[i] + raw[0], so that w[0] doubles.
static void unit(PackageMake *make, uint32_t add, uint32_t first_step) {
    ExprRef zero = package_number(make, 0), bytes = package_number(make, 16);
    package_buffer(make, ADX_BUF_RAW, 0, ADX_READ, zero, bytes);
    package_buffer(make, ADX_BUF_RAW, 0, ADX_READ, zero, package_number(make, 4));
    package_buffer(make, ADX_BUF_PARAM, 0, ADX_WRITE, zero, bytes);
    package_scalar(make, package_number(make, 4));
    package_dispatch(make, add, 4, package_number(make, 1), false, "double");
    package_step(make, "double");
    AdxUnit record = {package_text(make, "w"), first_step, 1, 0, 1, 0, 16};
    package_add(make, ADX_UNITS, &record);
}

void package_model(PackageMake *make, const PackageModelOptions *options) {
    package_make_start(make);
    interface(make);
    uint32_t scale = combine(make, "scale", false, 0), add = combine(make, "add", true, 0);
    uint32_t last = combine(make, "last", true, options->overrun ? 4 : 0);
    uint32_t marker = mark(make), bumper = bump(make);
    scale_step(make, scale);
    repeat_step(make, add);
    host_steps(make, last, marker, bumper, options->unwritten ? 4 * 65536 : 3 * 65536);
    uint32_t steps = (uint32_t)(make->sections[ADX_STEPS].len / sizeof(AdxStep));
    unit(make, add, steps);
    AdxModelInfo model = {.name = package_text(make, "small"),
                          .file = package_text(make, "model.adp"),
                          .target = ADX_NONE,
                          .run_steps = steps,
                          .arena_bytes = package_linear(make, N, 4, 4 * 65536),
                          .param_bytes = 512,
                          .state_bytes = 400,
                          .const_bytes = 4};
    package_add(make, ADX_MODEL, &model);
}
