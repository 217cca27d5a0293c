// The interpreter of kernel IR: what kernels compute, and one planted fault of each kind beside the
// same kernel without it.
#include "ir/kernel_build.h"
#include "ir/kernel_interp.h"
#include "ir/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Run {
    Arena *arena;
    Kernel *kernel;
    KMachine *machine;
} Run;

static Run run_kernel(Arena *arena, Kernel *kernel, const KArg *args, uint32_t groups,
                      uint32_t subgroup) {
    KLaunch launch = {kernel, args, {groups, 1, 1}, subgroup};
    Run run = {arena, kernel, kmachine_create(&launch)};
    kmachine_run(run.machine);
    return run;
}

static Run run_text(const char *text, const KArg *args, uint32_t groups, uint32_t subgroup) {
    Arena *arena = arena_create();
    Diags *diags = diags_create();
    Text errors = {0};
    size_t at = 0;
    Kernel *kernel = kernel_parse(arena, text, strlen(text), &at, 0, diags);
    diags_render(diags, &errors);
    if (errors.data != NULL) assert_string_equal(errors.data, "");
    assert_non_null(kernel);
    text_free(&errors);
    diags_destroy(diags);
    return run_kernel(arena, kernel, args, groups, subgroup);
}

static void end(Run *run) {
    kmachine_destroy(run->machine);
    arena_destroy(run->arena);
}

static void expect_clean(Run *run) {
    if (kmachine_fault_count(run->machine) > 0)
        assert_string_equal(kmachine_fault(run->machine, 0)->message, "");
    end(run);
}

// Exactly one fault, of this kind and with this message.
static void expect_fault(Run *run, KFaultKind kind, const char *message) {
    assert_int_equal(kmachine_fault_count(run->machine), 1);
    assert_string_equal(kmachine_fault(run->machine, 0)->message, message);
    assert_int_equal(kmachine_fault(run->machine, 0)->kind, kind);
    end(run);
}

#define BUFFER(array)                                                                              \
    {                                                                                              \
        .buffer = { array, sizeof(array), NULL }                                                   \
    }

static void loops_and_branches_compute(void **state) {
    (void)state;
    // Trips differ by invocation; the carried values change places, so that all must be read before
    // one is written.
    static const char text[] = "kernel swap(y: write i32) local(8) subgroup(0) {\n"
                               "    %0: i32 = local_id\n"
                               "    %1: i32 = iadd %0, 1\n"
                               "    %2: i32 = loop 0, %1, 1 {\n"
                               "        %3: i32 = carry 1\n"
                               "        %4: i32 = carry 2\n"
                               "        %5: i32 = and %2, 1\n"
                               "        %6: bool = ieq %5, 0\n"
                               "        if %6 {\n"
                               "            %7: i32 = imul %4, 3\n"
                               "            yield %7\n"
                               "        } else {\n"
                               "            yield %4\n"
                               "        }\n"
                               "        %8: i32 = result #0\n"
                               "        yield %8\n"
                               "        yield %3\n"
                               "    }\n"
                               "    %9: i32 = result #0\n"
                               "    %10: i32 = result #1\n"
                               "    %11: i32 = imul %9, 1000\n"
                               "    %12: i32 = iadd %11, %10\n"
                               "    store %y, %0, %12 as i32 align 4\n"
                               "}\n";
    int32_t y[8];
    const KArg args[] = {BUFFER(y)};
    for (uint32_t subgroup = 4; subgroup <= 32; subgroup *= 2) {
        Run run = run_text(text, args, 1, subgroup);
        expect_clean(&run);
        for (int lane = 0; lane < 8; lane++) {
            int a = 1, b = 2;
            for (int i = 0; i <= lane; i++) {
                int next = i % 2 == 0 ? b * 3 : b;
                b = a;
                a = next;
            }
            assert_int_equal(y[lane], a * 1000 + b);
        }
    }
}

static void subgroups_reduce_and_shuffle(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "subgroups", 16);
    KVal x = k_param_buffer(b, "x", DT_F32, K_READ), y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal i = k_local_id(b), base = k_imul(b, i, k_i32(b, 4));
    KVal v = k_load(b, x, i, DT_F32, 1, 4);
    KVal lanes[4] = {k_subgroup_fadd(b, v), k_subgroup_fmax(b, v), k_broadcast_first(b, v),
                     k_shuffle_xor(b, v, k_i32(b, 1))};
    k_store(b, y, base, DT_F32, 16, k_vector(b, 4, lanes));
    Kernel *kernel = k_finish(b);
    float in[16], out[64];
    for (int j = 0; j < 16; j++) in[j] = (float)((j * 7) % 16);
    const KArg args[] = {BUFFER(in), BUFFER(out)};
    for (uint32_t size = 4; size <= 16; size *= 2) {
        KLaunch launch = {kernel, args, {1, 1, 1}, size};
        KMachine *machine = kmachine_create(&launch);
        kmachine_run(machine);
        assert_int_equal(kmachine_fault_count(machine), 0);
        for (uint32_t j = 0; j < 16; j++) {
            float sum = 0, top = 0;
            uint32_t first = j / size * size;
            for (uint32_t k = first; k < first + size; k++) {
                sum += in[k];
                if (in[k] > top) top = in[k];
            }
            assert_true(out[j * 4] == sum && out[j * 4 + 1] == top);
            assert_true(out[j * 4 + 2] == in[first] && out[j * 4 + 3] == in[j ^ 1]);
        }
        kmachine_destroy(machine);
    }
    arena_destroy(arena);
}

// Every value of a 16-bit type in, the nearest one of it out; and rounding in registers agrees.
static void memory_types_convert(void **state) {
    (void)state;
    static const DType types[] = {DT_F16, DT_BF16};
    enum { COUNT = 1 << 16 };
    for (unsigned t = 0; t < 2; t++) {
        Arena *arena = arena_create();
        KBuilder *b = k_begin(arena, "convert", 256);
        KVal h = k_param_buffer(b, "h", types[t], K_READ),
             f = k_param_buffer(b, "f", DT_F32, K_WRITE);
        KVal x = k_param_buffer(b, "x", DT_F32, K_READ),
             g = k_param_buffer(b, "g", types[t], K_WRITE);
        KVal r = k_param_buffer(b, "r", DT_F32, K_WRITE);
        KVal i = k_iadd(b, k_imul(b, k_workgroup_id_x(b), k_i32(b, 256)), k_local_id(b));
        k_store(b, f, i, DT_F32, 4, k_load(b, h, i, types[t], 1, 2));
        KVal v = k_load(b, x, i, DT_F32, 1, 4);
        k_store(b, g, i, types[t], 2, v);
        k_store(b, r, i, DT_F32, 4, types[t] == DT_F16 ? k_round_f16(b, v) : k_round_bf16(b, v));
        uint16_t *in = malloc(COUNT * sizeof *in), *out = malloc(COUNT * sizeof *out);
        float *wide = malloc(COUNT * sizeof *wide), *values = malloc(COUNT * sizeof *values);
        float *rounded = malloc(COUNT * sizeof *rounded);
        uint32_t seed = 1;
        for (uint32_t j = 0; j < COUNT; j++) {
            in[j] = (uint16_t)j;
            seed = seed * 1664525 + 1013904223;
            uint32_t bits = seed;
            // Half of them near the type's grid: a value of it, its ties and their neighbours.
            if (j % 2 == 0) {
                float exact = (float)number_load(types[t], &in[j]);
                memcpy(&bits, &exact, 4);
                bits += (types[t] == DT_F16 ? 0x1000 : 0x8000) + (seed >> 30) - 1;
            }
            if (j % 8 == 1) bits = (bits & 0x80ffffff) | 0x33000000; // f16 subnormals
            memcpy(&values[j], &bits, 4);
        }
        const KArg args[] = {{.buffer = {in, COUNT * 2, NULL}},
                             {.buffer = {wide, COUNT * 4, NULL}},
                             {.buffer = {values, COUNT * 4, NULL}},
                             {.buffer = {out, COUNT * 2, NULL}},
                             {.buffer = {rounded, COUNT * 4, NULL}}};
        Run run = run_kernel(arena, k_finish(b), args, COUNT / 256, 32);
        for (uint32_t j = 0; j < COUNT; j++) {
            double exact = number_load(types[t], &in[j]);
            assert_true(isnan(exact) ? isnan(wide[j]) : wide[j] == exact);
            uint16_t expected;
            number_store(types[t], (double)values[j], &expected);
            double nearest = number_load(types[t], &expected), got = number_load(types[t], &out[j]);
            assert_true(isnan(nearest) ? isnan(got) && isnan(rounded[j])
                                       : out[j] == expected && rounded[j] == nearest);
        }
        free(in), free(out), free(wide), free(values), free(rounded);
        expect_clean(&run);
    }
}

static void narrow_integers_convert(void **state) {
    (void)state;
    static const char text[] = "kernel narrow(s: read i8, u: read u8, p: read bool, y: write i8, "
                               "q: write bool) local(4) subgroup(0) {\n"
                               "    %0: i32 = local_id\n"
                               "    %1: i32 = load %s, %0 as i8 align 1\n"
                               "    %2: i32 = load %u, %0 as u8 align 1\n"
                               "    %3: i32 = iadd %1, %2\n"
                               "    store %y, %0, %3 as i8 align 1\n"
                               "    %4: bool = load %p, %0 as bool align 1\n"
                               "    %5: bool = not %4\n"
                               "    store %q, %0, %5 as bool align 1\n"
                               "}\n";
    int8_t s[] = {-128, -1, 127, 5}, y[4];
    uint8_t u[] = {255, 1, 2, 250}, p[] = {0, 1, 2, 0}, q[4];
    const KArg args[] = {BUFFER(s), BUFFER(u), BUFFER(p), BUFFER(y), BUFFER(q)};
    Run run = run_text(text, args, 1, 4);
    expect_clean(&run);
    for (int i = 0; i < 4; i++) assert_int_equal(y[i], (int8_t)(uint8_t)(s[i] + u[i]));
    assert_memory_equal(q, ((uint8_t[]){1, 0, 0, 1}), 4);
}

static void halves_unpack(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "unpack", 4);
    KVal x = k_param_buffer(b, "x", DT_I32, K_READ), y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal id = k_local_id(b);
    KVal both = k_unpack_f16(b, k_load(b, x, id, DT_I32, 1, 4));
    k_store(b, y, k_imul(b, id, k_i32(b, 2)), DT_F32, 8, both);
    // 1, -2; the least and the largest subnormal; the largest, infinity; NaN, -0
    const uint16_t words[8] = {0x3c00, 0xc000, 0x0001, 0x03ff, 0x7bff, 0x7c00, 0x7e00, 0x8000};
    const float wanted[8] = {1, -2, 0x1p-24f, 0x1.ff8p-15f, 65504, INFINITY, NAN, -0.0f};
    float out[8];
    KArg args[2] = {{.buffer = {(uint8_t *)(uintptr_t)words, sizeof words, NULL}},
                    {.buffer = {(uint8_t *)out, sizeof out, NULL}}};
    Run run = run_kernel(arena, k_finish(b), args, 1, 4);
    for (unsigned i = 0; i < 8; i++)
        assert_true(isnan(wanted[i]) ? isnan(out[i])
                                     : memcmp(&out[i], &wanted[i], sizeof out[i]) == 0);
    expect_clean(&run);
}

static void pointers_move_in_64_bits(void **state) {
    (void)state;
    static const char text[] =
        "kernel rows(x: read i32, y: write i32, stride: i64) local(2) subgroup(0) {\n"
        "    %0: i32 = local_id\n"
        "    %1: i32 = workgroup_id_x\n"
        "    %2: ptr = ptr_add %x, %1, %stride\n"
        "    %3: i32 = load %2, %0 as i32 align 4\n"
        "    %4: ptr = ptr_add %y, %1, 8l\n"
        "    store %4, %0, %3 as i32 align 4\n"
        "}\n";
    int32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8}, y[4];
    KArg args[] = {BUFFER(x), BUFFER(y), {.scalar = 16}};
    Run run = run_text(text, args, 2, 4);
    expect_clean(&run);
    assert_memory_equal(y, ((int32_t[]){1, 2, 5, 6}), sizeof y);
    args[2].scalar = (int64_t)1 << 33;
    run = run_text(text, args, 2, 4);
    expect_fault(&run, KF_GLOBAL_OUTSIDE,
                 "kernel rows: access outside a buffer: 4 bytes at offset 8589934592 of 'x', which "
                 "has 32 in '%3: i32 = load %2, %0 as i32 align 4', workgroup (1, 0, 0), "
                 "invocation 0");
}

// Each of 8 invocations writes its word and reads its neighbour's.
static const char neighbour[] = "kernel neighbour(y: write i32) local(8) subgroup(0) "
                                "shared(tile: i32[8]) {\n"
                                "    %%0: i32 = local_id\n"
                                "    shared_store tile, %%0, %%0\n"
                                "    %s\n"
                                "    %%1: i32 = xor %%0, 1\n"
                                "    %%2: i32 = shared_load tile, %%1 loc(7)\n"
                                "    %s\n"
                                "    %%3: i32 = imul %%2, %%2\n"
                                "    shared_store tile, %%0, %%3 loc(9)\n"
                                "    store %%y, %%0, %%2 as i32 align 4\n"
                                "}\n";

static void shared_races_are_found(void **state) {
    (void)state;
    int32_t y[8];
    char text[1000];
    const KArg args[] = {BUFFER(y)};
    snprintf(text, sizeof text, neighbour, "barrier", "barrier");
    Run run = run_text(text, args, 1, 4);
    assert_int_equal(y[5], 4);
    assert_int_equal(y[0], 1);
    expect_clean(&run);
    snprintf(text, sizeof text, neighbour, "", "barrier"); // read after write
    run = run_text(text, args, 1, 4);
    assert_int_equal(kmachine_fault(run.machine, 0)->line, 7);
    expect_fault(&run, KF_SHARED_RACE,
                 "kernel neighbour: race in shared memory: word 1 of 'tile' was written by "
                 "invocation 1 since the last barrier in '%2: i32 = shared_load tile, %1 loc(7)', "
                 "workgroup (0, 0, 0), invocation 0");
    snprintf(text, sizeof text, neighbour, "barrier", ""); // write after read
    run = run_text(text, args, 1, 4);
    expect_fault(&run, KF_SHARED_RACE,
                 "kernel neighbour: race in shared memory: word 0 of 'tile' was read by invocation "
                 "1 since the last barrier in 'shared_store tile, %0, %3 loc(9)', workgroup "
                 "(0, 0, 0), invocation 0");
    run = run_text("kernel same(y: write i32) local(8) subgroup(0) shared(t: i32[1]) {\n"
                   "    %0: i32 = local_id\n"
                   "    shared_store t, 0, %0\n" // write after write
                   "}\n",
                   args, 1, 4);
    expect_fault(&run, KF_SHARED_RACE,
                 "kernel same: race in shared memory: word 0 of 't' was written by invocation 0 "
                 "since the last barrier in 'shared_store t, 0, %0', workgroup (0, 0, 0), "
                 "invocation 1");
}

static void unwritten_shared_memory_is_found(void **state) {
    (void)state;
    static const char text[] = "kernel last(y: write f32) local(4) subgroup(0) "
                               "shared(t: f32x2[8]) {\n"
                               "    %%0: i32 = local_id\n"
                               "    %%1: i32 = imul %%0, 2\n"
                               "    shared_store t, %%1, %s\n"
                               "    barrier\n"
                               "    %%2: f32x2 = shared_load t, %%1\n"
                               "    store %%y, %%1, %%2 as f32 align 8\n"
                               "}\n";
    float y[8];
    char full[1000];
    const KArg args[] = {BUFFER(y)};
    snprintf(full, sizeof full, text, "1.5");
    Run run = run_text(full, args, 1, 4);
    assert_true(y[0] == 1.5f);
    expect_fault(&run, KF_SHARED_UNWRITTEN,
                 "kernel last: read of shared memory that nobody wrote: word 1 of 't' in '%2: "
                 "f32x2 = shared_load t, %1', workgroup (0, 0, 0), invocation 0");
    // What an earlier workgroup left there does not count.
    run = run_text("kernel once(y: write f32) local(1) subgroup(0) shared(t: f32[1]) {\n"
                   "    %0: i32 = workgroup_id_x\n"
                   "    %1: bool = ieq %0, 0\n"
                   "    if %1 {\n"
                   "        shared_store t, 0, 1.0\n"
                   "    }\n"
                   "    %2: f32 = shared_load t, 0\n"
                   "    store %y, %0, %2 as f32 align 4\n"
                   "}\n",
                   args, 2, 4);
    assert_int_equal(kmachine_fault(run.machine, 0)->group[0], 1);
    expect_fault(&run, KF_SHARED_UNWRITTEN,
                 "kernel once: read of shared memory that nobody wrote: word 0 of 't' in '%2: f32 "
                 "= shared_load t, 0', workgroup (1, 0, 0), invocation 0");
}

static void words_outside_shared_memory_are_found(void **state) {
    (void)state;
    static const char text[] = "kernel wide(n: i32) local(4) subgroup(0) shared(t: i32x2[4]) {\n"
                               "    %0: i32 = local_id\n"
                               "    %1: i32 = iadd %0, %n\n"
                               "    shared_store t, %1, 5\n"
                               "}\n";
    KArg args[] = {{.scalar = 4}};
    Run run = run_text(text, args, 1, 4);
    expect_clean(&run);
    args[0].scalar = 5;
    run = run_text(text, args, 1, 4);
    expect_fault(&run, KF_SHARED_OUTSIDE,
                 "kernel wide: access outside shared memory: word 8 of 't', which has 8 in "
                 "'shared_store t, %1, 5', workgroup (0, 0, 0), invocation 3");
    args[0].scalar = -1;
    run = run_text(text, args, 1, 4);
    assert_int_equal(kmachine_fault(run.machine, 0)->invocation, 0);
    expect_fault(&run, KF_SHARED_OUTSIDE,
                 "kernel wide: access outside shared memory: word -1 of 't', which has 8 in "
                 "'shared_store t, %1, 5', workgroup (0, 0, 0), invocation 0");
}

static void unwritten_bytes_of_buffers_are_found(void **state) {
    (void)state;
    static const char text[] = "kernel copy(x: read f16, y: write f16) local(4) subgroup(0) {\n"
                               "    %0: i32 = local_id\n"
                               "    %1: f32 = load %x, %0 as f16 align 2\n"
                               "    store %y, %0, %1 as f16 align 2\n"
                               "}\n";
    uint16_t x[4] = {0x3c00, 0x4000, 0x4200, 0x4400}, y[5] = {0};
    uint8_t written[1] = {0xff}, filled[2] = {0};
    KArg args[] = {{.buffer = {x, sizeof x, written}}, {.buffer = {y, sizeof y, filled}}};
    Run run = run_text(text, args, 1, 4);
    expect_clean(&run);
    assert_memory_equal(x, y, sizeof x);
    assert_true(filled[0] == 0xff && filled[1] == 0); // the last element was not stored
    written[0] = 0xdf;                                // byte 5
    run = run_text(text, args, 1, 4);
    expect_fault(&run, KF_GLOBAL_UNWRITTEN,
                 "kernel copy: read of a buffer's bytes that nobody wrote: 2 bytes at offset 4 of "
                 "'x' in '%1: f32 = load %x, %0 as f16 align 2', workgroup (0, 0, 0), invocation "
                 "2");
}

static void accesses_outside_buffers_are_found(void **state) {
    (void)state;
    static const char text[] = "kernel out(x: read f32, y: write f32, n: i32) local(4) subgroup(0) "
                               "{\n"
                               "    %0: i32 = local_id\n"
                               "    %1: i32 = iadd %0, %n\n"
                               "    %2: f32 = load %x, %0 as f32 align 4\n"
                               "    store %y, %1, %2 as f32 align 4\n"
                               "}\n";
    float x[4] = {1, 2, 3, 4}, y[8] = {0};
    KArg args[] = {BUFFER(x), {.buffer = {y + 2, 16, NULL}}, {.scalar = 0}};
    Run run = run_text(text, args, 1, 4);
    expect_clean(&run);
    args[2].scalar = 1;
    run = run_text(text, args, 1, 4);
    assert_true(y[5] == 3 && y[6] == 0); // the store outside was not done
    expect_fault(&run, KF_GLOBAL_OUTSIDE,
                 "kernel out: access outside a buffer: 4 bytes at offset 16 of 'y', which has 16 "
                 "in 'store %y, %1, %2 as f32 align 4', workgroup (0, 0, 0), invocation 3");
    args[2].scalar = -1;
    run = run_text(text, args, 1, 4);
    assert_true(y[1] == 0);
    expect_fault(&run, KF_GLOBAL_OUTSIDE,
                 "kernel out: access outside a buffer: 4 bytes at offset -4 of 'y', which has 16 "
                 "in 'store %y, %1, %2 as f32 align 4', workgroup (0, 0, 0), invocation 0");
}

static void wrong_alignment_is_found(void **state) {
    (void)state;
    static const char text[] = "kernel vector(x: read f32%s) local(2) subgroup(0) "
                               "shared(t: f32x4[2]) {\n"
                               "    %%0: i32 = local_id\n"
                               "    %%1: i32 = imul %%0, %d\n"
                               "    %%2: f32x4 = load %%x, %%1 as f32 align 16\n"
                               "    %%3: i32 = imul %%0, %d\n"
                               "    shared_store t, %%3, %%2\n"
                               "}\n";
    float x[8] = {0};
    char full[1000];
    const KArg args[] = {BUFFER(x)};
    snprintf(full, sizeof full, text, "", 4, 4);
    Run run = run_text(full, args, 1, 4);
    expect_clean(&run);
    snprintf(full, sizeof full, text, "", 2, 4);
    run = run_text(full, args, 1, 4);
    expect_fault(&run, KF_ALIGNMENT,
                 "kernel vector: access below its claimed alignment: address is a multiple of 8 "
                 "bytes, not of 16 in '%2: f32x4 = load %x, %1 as f32 align 16', workgroup "
                 "(0, 0, 0), invocation 1");
    snprintf(full, sizeof full, text, " align 4", 4, 4); // the buffer need not begin at 16 bytes
    run = run_text(full, args, 1, 4);
    assert_int_equal(kmachine_fault(run.machine, 0)->invocation, 0);
    expect_fault(&run, KF_ALIGNMENT,
                 "kernel vector: access below its claimed alignment: address is a multiple of 4 "
                 "bytes, not of 16 in '%2: f32x4 = load %x, %1 as f32 align 16', workgroup "
                 "(0, 0, 0), invocation 0");
    snprintf(full, sizeof full, text, "", 4, 1);
    run = run_text(full, args, 1, 4);
    assert_int_equal(kmachine_fault(run.machine, 0)->kind, KF_ALIGNMENT);
    assert_non_null(strstr(kmachine_fault(run.machine, 0)->message, "word 1 is no multiple of 4"));
    end(&run);
}

static void divergent_flow_is_found(void **state) {
    (void)state;
    static const char text[] = "kernel part(n: i32, y: write i32) local(8) subgroup(0) {\n"
                               "    %%0: i32 = local_id\n"
                               "    %%1: bool = slt %%0, %%n\n"
                               "    if %%1 {\n"
                               "        %s\n"
                               "    }\n"
                               "}\n";
    int32_t y[8];
    char full[1000];
    KArg args[] = {{.scalar = 8}, BUFFER(y)};
    snprintf(full, sizeof full, text, "barrier");
    Run run = run_text(full, args, 1, 4);
    expect_clean(&run);
    args[0].scalar = 4;
    run = run_text(full, args, 1, 4);
    expect_fault(&run, KF_DIVERGENCE,
                 "kernel part: barrier or subgroup operation in divergent flow: 4 of 8 invocations "
                 "are here in 'barrier', workgroup (0, 0, 0), invocation 7");
    snprintf(full, sizeof full, text,
             "%2: i32 = subgroup_iadd %0\n        store %y, %0, %2 as i32 align 4");
    run = run_text(full, args, 1, 4); // a whole subgroup
    assert_int_equal(y[3], 6);
    expect_clean(&run);
    args[0].scalar = 6;
    run = run_text(full, args, 1, 4);
    expect_fault(&run, KF_DIVERGENCE,
                 "kernel part: barrier or subgroup operation in divergent flow: 2 of 4 invocations "
                 "of subgroup 1 are here in '%2: i32 = subgroup_iadd %0', workgroup (0, 0, 0), "
                 "invocation 4");
}

static void global_races_are_found(void **state) {
    (void)state;
    static const char text[] = "kernel overlap(x: read i32, y: write i32, n: i32) local(4) "
                               "subgroup(0) {\n"
                               "    %0: i32 = local_id\n"
                               "    %1: i32 = workgroup_id_x\n"
                               "    %2: i32 = imul %1, %n\n"
                               "    %3: i32 = iadd %0, %2\n"
                               "    %4: i32 = load %x, %3 as i32 align 4\n"
                               "    store %y, %3, %4 as i32 align 4\n"
                               "}\n";
    int32_t x[16] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    KArg args[] = {BUFFER(x), BUFFER(y), {.scalar = 4}};
    Run run = run_text(text, args, 2, 4);
    expect_clean(&run);
    args[2].scalar = 3; // two workgroups write one element
    run = run_text(text, args, 2, 4);
    expect_fault(&run, KF_GLOBAL_RACE,
                 "kernel overlap: race in a buffer: byte 12 of 'y' was written by invocation 3 of "
                 "workgroup (0, 0, 0) in 'store %y, %3, %4 as i32 align 4', workgroup (1, 0, 0), "
                 "invocation 0");
    // In place is fine, shifted by one element is not: one reads what another writes.
    args[1].buffer = (KBuffer){x, 32, NULL};
    args[2].scalar = 4;
    run = run_text(text, args, 2, 4);
    expect_clean(&run);
    args[1].buffer = (KBuffer){x + 1, 32, NULL};
    run = run_text(text, args, 2, 4);
    assert_int_equal(kmachine_fault_count(run.machine), 2);
    assert_string_equal(kmachine_fault(run.machine, 0)->message,
                        "kernel overlap: race in a buffer: byte 0 of 'y' was read by invocation 1 "
                        "of workgroup (0, 0, 0) in 'store %y, %3, %4 as i32 align 4', workgroup "
                        "(0, 0, 0), invocation 0");
    assert_string_equal(kmachine_fault(run.machine, 1)->message,
                        "kernel overlap: race in a buffer: byte 16 of 'x' was written by "
                        "invocation 3 of workgroup (0, 0, 0) in '%4: i32 = load %x, %3 as i32 "
                        "align 4', workgroup (1, 0, 0), invocation 0");
    end(&run);
}

static void bad_numbers_are_found(void **state) {
    (void)state;
    static const char text[] = "kernel numbers(y: write i32, n: i32 in 0..=64 multiple 8) local(4) "
                               "subgroup(0) {\n"
                               "    %0: i32 = local_id\n"
                               "    %1: i32 = udiv 100, %n\n"
                               "    %2: bool = slt 0, %n\n"
                               "    if %2 {\n"
                               "        %3: i32 = srem %1, %n\n"
                               "        store %y, %0, %3 as i32 align 4\n"
                               "    }\n"
                               "}\n";
    int32_t y[4];
    KArg args[] = {BUFFER(y), {.scalar = 8}};
    Run run = run_text(text, args, 1, 4);
    assert_int_equal(y[2], 4);
    expect_clean(&run);
    args[1].scalar = 0; // the division in the branch is not reached
    run = run_text(text, args, 1, 4);
    expect_fault(&run, KF_DIVISION,
                 "kernel numbers: integer division by zero: the divisor is 0 in '%1: i32 = udiv "
                 "100, %n', workgroup (0, 0, 0), invocation 0");
    args[1].scalar = 12;
    run = run_text(text, args, 1, 4);
    expect_fault(&run, KF_ARGUMENT,
                 "kernel numbers: argument breaks what the kernel declares: 'n' is 12, not in "
                 "0..=64 or no multiple of 8");
    args[1].scalar = 72;
    run = run_text(text, args, 1, 4);
    assert_int_equal(kmachine_fault(run.machine, 0)->kind, KF_ARGUMENT);
    end(&run);
    args[1].scalar = 0;
    run = run_text("kernel stuck(y: write i32, n: i32) local(4) subgroup(0) {\n"
                   "    %0: i32 = loop 0, 5, %n {\n"
                   "        store %y, %0, 1 as i32 align 4\n"
                   "    }\n"
                   "}\n",
                   args, 1, 4);
    expect_fault(&run, KF_STEP,
                 "kernel stuck: loop that does not advance: step is 0 in '%0: i32 = loop 0, 5, %n "
                 "{', workgroup (0, 0, 0), invocation 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_and_branches_compute),
        cmocka_unit_test(subgroups_reduce_and_shuffle),
        cmocka_unit_test(memory_types_convert),
        cmocka_unit_test(narrow_integers_convert),
        cmocka_unit_test(halves_unpack),
        cmocka_unit_test(pointers_move_in_64_bits),
        cmocka_unit_test(shared_races_are_found),
        cmocka_unit_test(unwritten_shared_memory_is_found),
        cmocka_unit_test(words_outside_shared_memory_are_found),
        cmocka_unit_test(unwritten_bytes_of_buffers_are_found),
        cmocka_unit_test(accesses_outside_buffers_are_found),
        cmocka_unit_test(wrong_alignment_is_found),
        cmocka_unit_test(divergent_flow_is_found),
        cmocka_unit_test(global_races_are_found),
        cmocka_unit_test(bad_numbers_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
