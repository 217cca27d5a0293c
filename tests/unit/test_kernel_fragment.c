// Fragments in the interpreter: a tiled GEMM as a schedule for tensor units makes it, with and
// without planted faults, and each fragment operation by itself.
#include "ir/kernel_build.h"
#include "ir/kernel_interp.h"
#include "ir/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { TILE_M = 128, TILE_N = 128, TILE_K = 32, PITCH_A = 20, PITCH_B = 68, SIZE_K = 256 };

// Faults to plant.
enum { SOUND, NO_BARRIER, NARROW_PITCH, LATE_STORE };

// C[128, 128] = A[128, K] * B[K, 128], f16 in, f32 out: 4 subgroups of 64 x 64, one shared stage.
static Kernel *build_gemm(Arena *arena, int fault) {
    KBuilder *b = k_begin(arena, "gemm", 128);
    k_require_subgroup(b, 32);
    KVal a = k_param_buffer(b, "a", DT_F16, K_READ), w = k_param_buffer(b, "b", DT_F16, K_READ);
    KVal c = k_param_buffer(b, "c", DT_F32, K_WRITE);
    KVal depth = k_param_i32(b, "k", TILE_K, 1 << 16, TILE_K);
    int pitch = fault == NARROW_PITCH ? PITCH_A - 2 : PITCH_A; // words of a row of the A tile
    unsigned wide = fault == NARROW_PITCH ? 2 : 4;
    uint32_t tile_a = k_shared(b, "tile_a", DT_I32, wide, TILE_M * PITCH_A / wide);
    uint32_t tile_b = k_shared(b, "tile_b", DT_I32, 4, TILE_K * PITCH_B / 4);
    KVal lane = k_local_id(b), warp = k_subgroup_id(b);
    KVal warp_row = k_imul(b, k_shr(b, warp, k_i32(b, 1)), k_i32(b, 64));
    KVal warp_col = k_imul(b, k_and(b, warp, k_i32(b, 1)), k_i32(b, 64));
    KType type_a = ktype_frag(KU_A, DT_F16, 16, 16), type_b = ktype_frag(KU_B, DT_F16, 16, 16);
    KType acc_type = ktype_frag(KU_ACC, DT_F32, 16, 16);
    KVal acc[16], carried[16];
    for (unsigned i = 0; i < 16; i++) acc[i] = k_frag_fill(b, acc_type, k_f32(b, 0));
    KVal k0 = k_loop_begin(b, k_i32(b, 0), depth, k_i32(b, TILE_K), K_LOOP_PLAIN, 16, acc, carried);
    for (int i = 0; i < 4; i++) { // 8 f16 at a time: a row of A is 4 such, a row of B 16
        KVal part = k_iadd(b, lane, k_i32(b, i * 128));
        KVal row = k_shr(b, part, k_i32(b, 2)), col = k_and(b, part, k_i32(b, 3));
        KVal from = k_iadd(b, k_imul(b, row, k_shr(b, depth, k_i32(b, 3))),
                           k_iadd(b, k_shr(b, k0, k_i32(b, 3)), col));
        KVal bits = k_load(b, a, k_imul(b, from, k_i32(b, 4)), DT_I32, 4, 16);
        KVal to = k_iadd(b, k_imul(b, row, k_i32(b, pitch)), k_imul(b, col, k_i32(b, 4)));
        if (fault == NARROW_PITCH) {
            for (unsigned j = 0; j < 4; j += 2)
                k_shared_store(
                    b, tile_a, k_iadd(b, to, k_i32(b, (int)j)),
                    k_vector(b, 2, (KVal[]){k_extract(b, bits, j), k_extract(b, bits, j + 1)}));
        } else {
            k_shared_store(b, tile_a, to, bits);
        }
        row = k_shr(b, part, k_i32(b, 4)), col = k_and(b, part, k_i32(b, 15));
        from = k_iadd(b, k_imul(b, k_iadd(b, k0, row), k_i32(b, TILE_N / 2)),
                      k_imul(b, col, k_i32(b, 4)));
        to = k_iadd(b, k_imul(b, row, k_i32(b, PITCH_B)), k_imul(b, col, k_i32(b, 4)));
        k_shared_store(b, tile_b, to, k_load(b, w, from, DT_I32, 4, 16));
    }
    if (fault != NO_BARRIER) k_barrier(b);
    for (int step = 0; step < TILE_K; step += 16) {
        KVal frag_a[4], frag_b[4];
        for (int i = 0; i < 4; i++) {
            KVal row = k_iadd(b, warp_row, k_i32(b, i * 16));
            KVal at = k_iadd(b, k_imul(b, row, k_i32(b, pitch)), k_i32(b, step / 2));
            frag_a[i] = k_frag_shared_load(b, type_a, tile_a, at, k_i32(b, pitch), KL_ROW_MAJOR);
            KVal col = k_shr(b, k_iadd(b, warp_col, k_i32(b, i * 16)), k_i32(b, 1));
            at = k_iadd(b, col, k_i32(b, step * PITCH_B));
            frag_b[i] = k_frag_shared_load(b, type_b, tile_b, at, k_i32(b, PITCH_B), KL_ROW_MAJOR);
        }
        for (unsigned i = 0; i < 16; i++)
            carried[i] = k_frag_mul_add(b, frag_a[i / 4], frag_b[i % 4], carried[i]);
    }
    if (fault != LATE_STORE) k_barrier(b);
    k_loop_end(b, carried, acc);
    for (int i = 0; i < 16; i++) {
        KVal row = k_iadd(b, warp_row, k_i32(b, i / 4 * 16));
        KVal at =
            k_iadd(b, k_imul(b, row, k_i32(b, TILE_N)), k_iadd(b, warp_col, k_i32(b, i % 4 * 16)));
        k_frag_store(b, c, at, k_i32(b, TILE_N), KL_ROW_MAJOR, acc[i]);
    }
    return k_finish(b);
}

static uint16_t half(float value) {
    uint16_t bits;
    number_store(DT_F16, (double)value, &bits);
    return bits;
}

typedef struct Gemm {
    uint16_t a[TILE_M * SIZE_K], b[SIZE_K * TILE_N];
    float c[TILE_M * TILE_N];
    uint8_t written[sizeof(float) * TILE_M * TILE_N / 8];
} Gemm;

static Gemm *make_gemm(KArg *args) {
    Gemm *g = calloc(1, sizeof *g);
    // Quarters and small integers: every sum is exact.
    for (int i = 0; i < TILE_M * SIZE_K; i++) g->a[i] = half((float)(i * 7 % 13 - 6) / 4);
    for (int i = 0; i < SIZE_K * TILE_N; i++) g->b[i] = half((float)(i * 5 % 11 - 5));
    args[0].buffer = (KBuffer){g->a, sizeof g->a, NULL};
    args[1].buffer = (KBuffer){g->b, sizeof g->b, NULL};
    args[2].buffer = (KBuffer){g->c, sizeof g->c, g->written};
    args[3].scalar = SIZE_K;
    return g;
}

static bool verifies(const Kernel *kernel, const char *error) {
    Diags *diags = diags_create();
    Text text = {0};
    bool good = kernel_verify(kernel, diags);
    diags_render(diags, &text);
    if (error != NULL)
        assert_non_null(strstr(text.data, error));
    else if (!good)
        assert_string_equal(text.data, "");
    text_free(&text);
    diags_destroy(diags);
    return good;
}

static KMachine *run(const Kernel *kernel, const KArg *args) {
    KLaunch launch = {kernel, args, {1, 1, 1}, 32};
    KMachine *machine = kmachine_create(&launch);
    kmachine_run(machine);
    return machine;
}

static void a_tiled_gemm_is_right_and_quick(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KArg args[4] = {{{0}, 0}};
    Gemm *g = make_gemm(args);
    Kernel *kernel = build_gemm(arena, SOUND);
    assert_true(verifies(kernel, NULL));
    clock_t start = clock();
    KMachine *machine = run(kernel, args);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5); // far below; sanitizers are slow
    if (kmachine_fault_count(machine) > 0)
        assert_string_equal(kmachine_fault(machine, 0)->message, "");
    for (int row = 0; row < TILE_M; row++) {
        for (int col = 0; col < TILE_N; col++) {
            float sum = 0;
            for (int k = 0; k < SIZE_K; k++)
                sum += (float)((row * SIZE_K + k) * 7 % 13 - 6) / 4 *
                       (float)((k * TILE_N + col) * 5 % 11 - 5);
            assert_true(g->c[row * TILE_N + col] == sum);
        }
    }
    for (size_t i = 0; i < sizeof g->written; i++) assert_int_equal(g->written[i], 0xff);
    kmachine_destroy(machine);
    free(g);
    arena_destroy(arena);
}

static void expect_gemm_fault(int fault, KFaultKind kind, const char *part) {
    Arena *arena = arena_create();
    KArg args[4] = {{{0}, 0}};
    Gemm *g = make_gemm(args);
    KMachine *machine = run(build_gemm(arena, fault), args);
    assert_true(kmachine_fault_count(machine) > 0);
    assert_int_equal(kmachine_fault(machine, 0)->kind, kind);
    assert_non_null(strstr(kmachine_fault(machine, 0)->message, part));
    kmachine_destroy(machine);
    free(g);
    arena_destroy(arena);
}

static void faults_of_a_gemm_are_found(void **state) {
    (void)state;
    expect_gemm_fault(NO_BARRIER, KF_SHARED_RACE, "word 0 of 'tile_a' was written by invocation 0");
    expect_gemm_fault(LATE_STORE, KF_SHARED_RACE, "was read by several since the last barrier");
    expect_gemm_fault(NARROW_PITCH, KF_ALIGNMENT, "stride is no multiple of 16 bytes");
    Arena *arena = arena_create();
    assert_false(verifies(build_gemm(arena, NARROW_PITCH),
                          "fragment stride is a multiple of 72 bytes, not of 16"));
    arena_destroy(arena);
}

// Elementwise operations, conversion, components and both layouts, on one 8 x 8 accumulator.
static void fragment_operations_compute(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "elementwise", 32);
    k_require_subgroup(b, 16);
    KVal x = k_param_buffer(b, "x", DT_F32, K_READ), y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal h = k_param_buffer(b, "h", DT_F16, K_WRITE), n = k_param_buffer(b, "n", DT_I32, K_WRITE);
    KType type = ktype_frag(KU_ACC, DT_F32, 8, 8);
    KVal at = k_imul(b, k_subgroup_id(b), k_i32(b, 64)), stride = k_i32(b, 8);
    KVal f = k_frag_load(b, type, x, at, stride, KL_ROW_MAJOR);
    KVal g = k_frag_binary(b, K_FRAG_ADD, f, k_frag_binary(b, K_FRAG_MUL, f, k_f32(b, 2)));
    g = k_frag_binary(b, K_FRAG_SUB, g, k_frag_fill(b, type, k_f32(b, 1)));
    g = k_frag_binary(b, K_FRAG_DIV, g, k_f32(b, 4));
    KVal part = k_fadd(b, k_frag_extract(b, g, 1), k_f32(b, 1000));
    k_frag_store(b, y, at, stride, KL_COL_MAJOR, k_frag_insert(b, g, 1, part));
    k_frag_store(b, h, at, stride, KL_ROW_MAJOR, k_frag_convert(b, f, DT_F16));
    k_store(b, n, k_local_id(b), DT_I32, 4, k_frag_length(b, f));
    Kernel *kernel = k_finish(b);
    assert_true(verifies(kernel, NULL));
    float in[128], out[128];
    uint16_t narrow[128];
    int32_t lengths[32];
    for (int i = 0; i < 128; i++) in[i] = (float)i * 1.0001f;
    const KArg args[] = {{.buffer = {in, sizeof in, NULL}},
                         {.buffer = {out, sizeof out, NULL}},
                         {.buffer = {narrow, sizeof narrow, NULL}},
                         {.buffer = {lengths, sizeof lengths, NULL}}};
    KMachine *machine = run(kernel, args);
    assert_int_equal(kmachine_fault_count(machine), 0);
    for (int i = 0; i < 128; i++) {
        int s = i / 64, row = i % 64 / 8, col = i % 8;
        float value = (in[i] + in[i] * 2 - 1) / 4;
        if (i % 64 / 16 == 1) value += 1000; // component 1 of each invocation
        assert_true(out[s * 64 + col * 8 + row] == value);
        assert_int_equal(narrow[i], half(in[i]));
    }
    for (int i = 0; i < 32; i++) assert_int_equal(lengths[i], 4);
    kmachine_destroy(machine);
    arena_destroy(arena);
}

static void integer_fragments_multiply(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "bytes", 32);
    k_require_subgroup(b, 32);
    KVal x = k_param_buffer(b, "x", DT_I8, K_READ), w = k_param_buffer(b, "w", DT_U8, K_READ);
    KVal y = k_param_buffer(b, "y", DT_I32, K_WRITE), zero = k_i32(b, 0);
    KVal f = k_frag_load(b, ktype_frag(KU_A, DT_I8, 16, 32), x, zero, k_i32(b, 32), KL_ROW_MAJOR);
    KVal g = k_frag_load(b, ktype_frag(KU_B, DT_U8, 32, 16), w, zero, k_i32(b, 32), KL_COL_MAJOR);
    KVal acc = k_frag_fill(b, ktype_frag(KU_ACC, DT_I32, 16, 16), k_i32(b, -5));
    k_frag_store(b, y, zero, k_i32(b, 16), KL_ROW_MAJOR, k_frag_mul_add(b, f, g, acc));
    Kernel *kernel = k_finish(b);
    assert_true(verifies(kernel, NULL));
    assert_int_equal(kernel->needs, K_NEED_FRAGMENTS | K_NEED_FRAGMENT_I8 | K_NEED_STORAGE_8);
    int8_t in[16 * 32];
    uint8_t weights[16 * 32];
    int32_t out[256];
    for (int i = 0; i < 16 * 32; i++) {
        in[i] = (int8_t)(i * 37 % 256 - 128);
        weights[i] = (uint8_t)(i * 91 % 256);
    }
    const KArg args[] = {{.buffer = {in, sizeof in, NULL}},
                         {.buffer = {weights, sizeof weights, NULL}},
                         {.buffer = {out, sizeof out, NULL}}};
    KMachine *machine = run(kernel, args);
    assert_int_equal(kmachine_fault_count(machine), 0);
    for (int i = 0; i < 256; i++) {
        int sum = -5;
        for (int k = 0; k < 32; k++) sum += in[i / 16 * 32 + k] * weights[i % 16 * 32 + k];
        assert_int_equal(out[i], sum);
    }
    kmachine_destroy(machine);
    arena_destroy(arena);
}

// Accumulators of f16 round once, after the whole product.
static void half_accumulators_round(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "halves", 32);
    k_require_subgroup(b, 32);
    KVal y = k_param_buffer(b, "y", DT_F16, K_WRITE), zero = k_i32(b, 0);
    KVal f = k_frag_fill(b, ktype_frag(KU_A, DT_F16, 16, 16), k_f32(b, 0.1f)); // 0.0999755859375
    KVal g = k_frag_fill(b, ktype_frag(KU_B, DT_F16, 16, 16), k_f32(b, 1));
    KVal acc = k_frag_fill(b, ktype_frag(KU_ACC, DT_F16, 16, 16), k_f32(b, 2048));
    k_frag_store(b, y, zero, k_i32(b, 16), KL_ROW_MAJOR, k_frag_mul_add(b, f, g, acc));
    Kernel *kernel = k_finish(b);
    uint16_t out[256];
    const KArg args[] = {{.buffer = {out, sizeof out, NULL}}};
    KMachine *machine = run(kernel, args);
    // 2048 + 16 * 0.09997.. = 2049.6, to steps of 2: 2050. Each sum by itself would stay at 2048.
    for (int i = 0; i < 256; i++) assert_int_equal(out[i], half(2050));
    kmachine_destroy(machine);
    arena_destroy(arena);
}

// Each of two subgroups stores a fragment: `apart` elements from each other.
static void expect_store_fault(int apart, KFaultKind kind, const char *part) {
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "stores", 32);
    k_require_subgroup(b, 16);
    KVal y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal at = k_imul(b, k_subgroup_id(b), k_i32(b, apart));
    KVal f = k_frag_fill(b, ktype_frag(KU_ACC, DT_F32, 8, 8), k_f32(b, 1));
    k_frag_store(b, y, at, k_i32(b, 8), KL_ROW_MAJOR, f);
    Kernel *kernel = k_finish(b);
    assert_true(verifies(kernel, NULL));
    float out[128];
    const KArg args[] = {{.buffer = {out, sizeof out, NULL}}};
    KMachine *machine = run(kernel, args);
    assert_int_equal(kmachine_fault_count(machine), part != NULL);
    if (part != NULL) {
        assert_int_equal(kmachine_fault(machine, 0)->kind, kind);
        assert_int_equal(kmachine_fault(machine, 0)->invocation, 16);
        assert_non_null(strstr(kmachine_fault(machine, 0)->message, part));
    }
    kmachine_destroy(machine);
    arena_destroy(arena);
}

static void faults_of_fragment_stores_are_found(void **state) {
    (void)state;
    expect_store_fault(64, KF_COUNT, NULL);
    expect_store_fault(60, KF_GLOBAL_RACE,
                       "byte 240 of 'y' was written by subgroup 0 of workgroup (0, 0, 0)");
    expect_store_fault(68, KF_GLOBAL_OUTSIDE, "32 bytes at offset 496 of 'y', which has 512");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tiled_gemm_is_right_and_quick),
        cmocka_unit_test(faults_of_a_gemm_are_found),
        cmocka_unit_test(fragment_operations_compute),
        cmocka_unit_test(integer_fragments_multiply),
        cmocka_unit_test(half_accumulators_round),
        cmocka_unit_test(faults_of_fragment_stores_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
