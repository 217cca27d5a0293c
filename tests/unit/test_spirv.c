// Every kernel operation emits SPIR-V that the Khronos validator takes; NonWritable, rounding and
// contraction decorations are where they must be.
#include "frontend/spirv_tools.h"
#include "ir/kernel_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const SpirvOptions plain = {0};

// Emits, validates, and returns the disassembly (on the heap).
static char *emit_with(Arena *arena, KBuilder *b, const SpirvOptions *options,
                       bool may_be_unknown) {
    Text text = {0};
    Kernel *kernel = k_finish(b);
    SpirvModuleInfo module = spirv_emit(arena, kernel, options);
    SpirvVerdict verdict = spirv_validate(&module, &text);
    if (verdict != SPIRV_VALID && !(verdict == SPIRV_UNKNOWN && may_be_unknown)) {
        spirv_disassemble(&module, &text);
        kernel_print(kernel, &text);
        fail_msg("%s: %s", kernel->name, text.data);
    }
    if (verdict == SPIRV_UNKNOWN) printf("not validated here: %s: %s\n", kernel->name, text.data);
    text_free(&text);
    text = (Text){0};
    spirv_disassemble(&module, &text);
    return text.data;
}

static char *emit(Arena *arena, KBuilder *b) {
    return emit_with(arena, b, &plain, false);
}

static unsigned count(const char *text, const char *word) {
    unsigned n = 0;
    for (; (text = strstr(text, word)); text += strlen(word)) n++;
    return n;
}

static void test_scale(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "scale", 64);
    KVal x = k_param_buffer(b, "x", DT_F32, K_READ), y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal n = k_param_i32(b, "n", 1, 1 << 20, 1);
    KVal i = k_iadd(b, k_imul(b, k_workgroup_id_x(b), k_i32(b, 64)), k_local_id(b));
    k_if_begin(b, k_slt(b, i, n));
    k_store(b, y, i, DT_F32, 4, k_fmul(b, k_load(b, x, i, DT_F32, 1, 4), k_f32(b, 2)));
    k_if_end(b, 0, NULL, NULL);
    char *text = emit(arena, b);
    assert_int_equal(count(text, "NonWritable"), 1);
    assert_int_equal(count(text, "NoContraction"), 0);
    assert_int_equal(count(text, "Aligned 4"), 2);
    free(text);
    arena_destroy(arena);
}

// All loads and stores of every memory type and width.
static void test_memory_types(void **state) {
    (void)state;
    const DType types[] = {DT_F32, DT_F16, DT_BF16, DT_I32, DT_U32, DT_I8, DT_U8, DT_BOOL};
    for (unsigned lanes = 1; lanes <= 4; lanes *= 2) {
        for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
            for (unsigned whole = 0; whole < 2; whole++) {
                Arena *arena = arena_create();
                KBuilder *b = k_begin(arena, "copy", 32);
                KVal x = k_param_buffer(b, "x", types[t], K_READ);
                KVal y = k_param_buffer(b, "y", types[t], K_READ | K_WRITE);
                KVal stride = k_param_i64(b, "stride", 0, INT64_MAX, 16);
                unsigned align = dtype_bytes(types[t]) * (whole ? lanes : 1);
                KVal i = k_imul(b, k_local_id(b), k_i32(b, (int32_t)lanes));
                KVal row = k_ptr_add(b, x, k_workgroup_id_x(b), stride);
                KVal value = k_load(b, row, i, types[t], lanes, align);
                k_store(b, y, i, types[t], align, value);
                char *text = emit(arena, b);
                assert_int_equal(count(text, "FPRoundingMode RTE"),
                                 types[t] == DT_F16 ? (whole ? 1 : lanes) : 0);
                free(text);
                arena_destroy(arena);
            }
        }
    }
}

static void test_control(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "control", 32);
    KVal x = k_param_buffer(b, "x", DT_F32, K_READ), y = k_param_buffer(b, "y", DT_F32, K_WRITE);
    KVal n = k_param_i32(b, "n", 0, 1000, 1);
    KVal init[2] = {k_f32(b, 0), k_i32(b, 1)}, carried[2], next[2], after[2], chosen[1];
    KVal i = k_loop_begin(b, k_i32(b, 0), n, k_i32(b, 1), K_LOOP_UNROLL, 2, init, carried);
    k_if_begin(b, k_slt(b, i, carried[1]));
    KVal sum = k_fadd(b, carried[0], k_load(b, x, i, DT_F32, 1, 4));
    KVal inner_init[1] = {sum}, inner[1], inner_after[1];
    k_loop_begin(b, k_i32(b, 0), k_i32(b, 7), k_i32(b, 2), K_LOOP_DONT_UNROLL, 1, inner_init,
                 inner);
    KVal doubled[1] = {k_fmul(b, inner[0], k_f32(b, 2))};
    k_loop_end(b, doubled, inner_after);
    k_else(b, 1, inner_after);
    KVal otherwise[1] = {k_fneg(b, carried[0])};
    k_if_end(b, 1, otherwise, chosen);
    next[0] = chosen[0];
    next[1] = k_iadd(b, carried[1], i);
    k_loop_end(b, next, after);
    k_store(b, y, after[1], DT_F32, 4, after[0]);
    char *text = emit(arena, b);
    assert_int_equal(count(text, "OpLoopMerge"), 2);
    assert_int_equal(count(text, "OpSelectionMerge"), 1);
    assert_int_equal(count(text, "OpPhi"), 6);
    free(text);
    arena_destroy(arena);
}

// Every row of the op table that takes registers only, scalar and by fours, plain and strict.
static void test_all_simple_ops(void **state) {
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        for (unsigned lanes = 1; lanes <= 4; lanes += 3) {
            Arena *arena = arena_create();
            KBuilder *b = k_begin(arena, "ops", 32);
            k_set_strict(b, strict);
            KVal x = k_param_buffer(b, "x", DT_F32, K_READ);
            KVal y = k_param_buffer(b, "y", DT_F32, K_WRITE), id = k_local_id(b);
            unsigned align = 4 * lanes;
            KVal at = k_imul(b, id, k_i32(b, (int32_t)lanes));
            KVal f[3], w[3], t[2];
            for (int k = 0; k < 3; k++) {
                KVal from = k_iadd(b, at, k_i32(b, 128 * (k + 1)));
                f[k] = k_load(b, x, from, DT_F32, lanes, align);
                w[k] = k_load(b, x, from, DT_I32, lanes, align);
            }
            t[0] = k_flt(b, f[0], f[1]);
            t[1] = k_slt(b, w[0], w[1]);
            int32_t out = 0;
            for (int op = 1; op < K_OP_COUNT; op++) {
                const KOpInfo *info = kop_info(op);
                KVal value = 0, a[3];
                bool vector_only = false;
                switch (info->rule) {
                case K_RULE_FLOAT:
                case K_RULE_FCOMPARE: memcpy(a, f, sizeof a); break;
                case K_RULE_INT:
                case K_RULE_ICOMPARE:
                case K_RULE_LOGIC: memcpy(a, w, sizeof a); break;
                case K_RULE_TO_F32: memcpy(a, w, sizeof a); break;
                case K_RULE_UNPACK: a[0] = k_extract(b, w[0], 0), vector_only = true; break;
                case K_RULE_PACK:
                    if (lanes != 2) continue;
                    a[0] = f[0];
                    break;
                case K_RULE_TO_I32: memcpy(a, f, sizeof a); break;
                case K_RULE_SELECT: a[0] = t[1], a[1] = f[0], a[2] = f[1]; break;
                case K_RULE_ANY: a[0] = f[0]; break;
                case K_RULE_SHUFFLE: a[0] = f[0], a[1] = k_i32(b, 1); break;
                case K_RULE_ID: vector_only = true; break;
                default: continue;
                }
                value = k_build(b, op, a);
                KType type = k_type(b, value);
                KVal index = k_iadd(b, at, k_i32(b, 128 * out++));
                if (type.kind == KT_BOOL) {
                    KVal one = k_splat(b, k_i32(b, 1), type.lanes);
                    value = k_select(b, value, one, k_splat(b, k_i32(b, 0), type.lanes));
                    type = k_type(b, value);
                }
                k_store(b, y, index, type.kind == KT_F32 ? DT_F32 : DT_I32, vector_only ? 4 : align,
                        value);
            }
            KVal logic = k_xor(b, k_and(b, t[0], k_not(b, t[1])), k_or(b, t[0], t[1]));
            k_store(b, y, at, DT_BOOL, lanes, logic);
            k_store(b, y, at, DT_F32, align, k_round_f16(b, f[0]));
            k_store(b, y, at, DT_F32, align, k_round_bf16(b, f[0]));
            char *text = emit(arena, b);
            if (strict) assert_true(count(text, "NoContraction") >= 6);
            free(text);
            arena_destroy(arena);
        }
    }
}

static void test_shared(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "shared", 64);
    KVal y = k_param_buffer(b, "y", DT_F32, K_WRITE), id = k_local_id(b);
    uint32_t tile = k_shared(b, "tile", DT_I32, 4, 64), sums = k_shared(b, "sums", DT_F32, 1, 64);
    KVal four = k_imul(b, id, k_i32(b, 4));
    k_shared_store(b, tile, four, k_splat(b, k_s_to_f(b, id), 4));
    k_shared_store(b, sums, id, id);
    k_shared_store(b, tile, four, k_splat(b, id, 2)); // half a vector
    k_barrier(b);
    KVal v = k_shared_load(b, tile, four, K_TYPE(KT_F32, 4));
    KVal one = k_shared_load(b, tile, k_iadd(b, four, k_i32(b, 3)), K_TYPE(KT_I32, 1));
    KVal s = k_shared_load(b, sums, k_xor(b, id, k_i32(b, 1)), K_TYPE(KT_F32, 1));
    KVal half = k_shared_load(b, tile, four, K_TYPE(KT_F32, 2));
    s = k_fadd(b, s, k_extract(b, half, 1));
    k_store(b, y, id, DT_F32, 4, k_fadd(b, k_fadd(b, s, k_as_f32(b, one)), k_extract(b, v, 2)));
    char *text = emit(arena, b);
    assert_int_equal(count(text, "OpControlBarrier"), 1);
    free(text);
    arena_destroy(arena);
}

static void test_debug_and_float_controls(void **state) {
    (void)state;
    Arena *arena = arena_create();
    KBuilder *b = k_begin(arena, "named", 1);
    KVal x = k_param_buffer(b, "left", DT_F16, K_READ), y = k_param_buffer(b, "y", DT_F16, K_WRITE);
    k_set_line(b, 12);
    k_store(b, y, k_i32(b, 0), DT_F16, 2, k_fneg(b, k_load(b, x, k_i32(b, 0), DT_F16, 1, 2)));
    SpirvOptions options = {.features = TF_SIGNED_ZERO_INF_NAN32 | TF_ROUNDING_RTE32 |
                                        TF_ROUNDING_RTE16 | TF_DENORM_PRESERVE16,
                            .debug = true,
                            .file = "m.adp"};
    char *text = emit_with(arena, b, &options, false);
    assert_int_equal(count(text, "SignedZeroInfNanPreserve 32"), 1);
    assert_int_equal(count(text, "RoundingModeRTE"), 3); // a capability and two modes
    assert_int_equal(count(text, "OpName %left \"left\""), 1);
    assert_int_equal(count(text, "12 0"), 1);
    free(text);
    arena_destroy(arena);
}

static void test_fragments(void **state) {
    (void)state;
    static const struct {
        DType ab, acc;
        unsigned m, n, k;
    } shapes[] = {{DT_F16, DT_F32, 16, 16, 16},
                  {DT_BF16, DT_F32, 16, 16, 16},
                  {DT_I8, DT_I32, 16, 16, 32},
                  {DT_F16, DT_F32, 8, 8, 8}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        Arena *arena = arena_create();
        KBuilder *b = k_begin(arena, dtype_name(shapes[i].ab), 32);
        k_require_subgroup(b, 32);
        KVal x = k_param_buffer(b, "x", shapes[i].ab, K_READ);
        KVal y = k_param_buffer(b, "y", shapes[i].acc, K_WRITE);
        uint32_t tile = k_shared(b, "tile", DT_I32, 4, 512);
        KVal zero = k_i32(b, 0);
        KVal fill = shapes[i].acc == DT_F32 ? k_f32(b, 0) : zero;
        KVal acc =
            k_frag_fill(b, ktype_frag(KU_ACC, shapes[i].acc, shapes[i].m, shapes[i].n), fill);
        k_shared_store(b, tile, k_imul(b, k_local_id(b), k_i32(b, 4)), k_splat(b, zero, 4));
        k_barrier(b);
        KVal fa = k_frag_shared_load(b, ktype_frag(KU_A, shapes[i].ab, shapes[i].m, shapes[i].k),
                                     tile, zero, k_i32(b, 16), KL_ROW_MAJOR);
        KVal fb = k_frag_load(b, ktype_frag(KU_B, shapes[i].ab, shapes[i].k, shapes[i].n), x, zero,
                              k_i32(b, 64), KL_ROW_MAJOR);
        acc = k_frag_mul_add(b, fa, fb, acc);
        if (shapes[i].acc == DT_F32) {
            acc = k_frag_binary(b, K_FRAG_MUL, acc, k_f32(b, 0.5f));
            acc = k_frag_insert(b, acc, 0, k_fadd(b, k_frag_extract(b, acc, 1), k_f32(b, 1)));
        }
        k_frag_store(b, y, zero, k_i32(b, 64), KL_ROW_MAJOR, acc);
        // Known to SPIRV-Tools from 2023.3 (bf16: 2025.2) on.
        char *text = emit_with(arena, b, &plain, true);
        free(text);
        arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),     cmocka_unit_test(test_memory_types),
        cmocka_unit_test(test_control),   cmocka_unit_test(test_all_simple_ops),
        cmocka_unit_test(test_shared),    cmocka_unit_test(test_debug_and_float_controls),
        cmocka_unit_test(test_fragments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
