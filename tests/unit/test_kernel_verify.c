// The verifier's and the parser's errors, each on the line it belongs to.
#include "ir/kernel_build.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

// Text of all diagnostics of parsing and verifying; the caller frees it.
static Text diagnose(const char *text) {
    Arena *arena = arena_create();
    Diags *diags = diags_create();
    Text out = {0};
    size_t at = 0;
    FileId file = diags_add_file(diags, "k", text, strlen(text));
    Kernel *kernel = kernel_parse(arena, text, strlen(text), &at, file, diags);
    if (kernel != NULL) {
        assert_int_equal(at, strlen(text));
        bool good = kernel_verify(kernel, diags);
        assert_int_equal(good, diags_error_count(diags) == 0);
    } else {
        assert_true(diags_error_count(diags) > 0);
    }
    diags_render(diags, &out);
    text_put(&out, "");
    diags_destroy(diags);
    arena_destroy(arena);
    return out;
}

// error is part of what is said, or "" for nothing at all.
static void expect(const char *text, const char *error) {
    Text out = diagnose(text);
    if (*error == 0 || strstr(out.data, error) == NULL) assert_string_equal(out.data, error);
    text_free(&out);
}

// A body in a kernel with two buffers, a size, a region, subgroups of 8.
static void expect_body(const char *body, const char *error) {
    Text text = {0};
    text_printf(&text,
                "kernel k(x: read f32, y: write f32, n: i32 in 1..=64, s: i64) local(32) "
                "subgroup(8) shared(t: i32x4[8]) {\n    %%0: i32 = local_id\n%s}",
                body);
    expect(text.data, error);
    text_free(&text);
}

static void good_kernels_pass(void **state) {
    (void)state;
    Text out = diagnose("kernel k() local(1) subgroup(0) {\n}");
    assert_string_equal(out.data, "");
    text_free(&out);
}

static void types_are_checked(void **state) {
    (void)state;
    expect_body("    %1: i32 = fadd %0, %0\n",
                "kernel k: operand types do not fit in '%1: i32 = fadd %0, %0'");
    expect_body("    %1: f32 = iadd %0, 1\n", "type does not follow from the operands'");
    expect_body("    %1: i32 = iadd %0, 1.0\n", "operand types do not fit");
    expect_body("    iadd %0, 1\n", "value has no type in 'iadd %0, 1'");
    expect_body("    %1: i32 = barrier\n", "gives no value");
    expect_body("    %1: f32 = load %0, %0 as f32 align 4\n", "first operand is no pointer");
    expect_body("    %1: i32 = load %x, %0 as f32 align 4\n", "does not give or take this type");
    expect_body("    store %y, %0, 1 as f16 align 2\n", "memory of f16 does not give or take");
    expect_body("    %1: f32 = load %x, %n as f32 align 2\n", "alignment 2 is below the element");
    expect_body("    %1: i32x4 = vec4 1, 2, 3, 4\n    %2: i32 = extract %1 #4\n", "no such lane");
    expect_body("    %1: ptr = ptr_add %x, %0, 4\n", "operands are not ptr, i32, i64");
    expect_body("    if %0 {\n    }\n", "condition is no bool");
    expect_body("    %1: i32 = loop 0, 1.0, 1 {\n    }\n", "bounds are not i32");
    expect_body("    %1: f32x4 = shared_load t, 0\n    %2: f32x2 = vec2 1.0, 2.0\n"
                "    shared_store t, 0.5, %2\n",
                "index is not an i32");
    expect_body("    %1: ptr = select true, %x, %y\n", "operand types do not fit");
}

static void visibility_is_checked(void **state) {
    (void)state;
    static const char head[] = "    %1: bool = slt %0, %n\n    if %1 {\n"
                               "        %2: i32 = iadd %0, %n\n";
    char body[400];
    snprintf(body, sizeof body, "%s    }\n    %%3: i32 = iadd %%2, 1\n", head);
    expect_body(body, "operand 1 is not visible outside its region in '%3: i32 = iadd %2, 1'");
    snprintf(body, sizeof body, "%s    } else {\n        %%3: i32 = iadd %%2, 1\n    }\n", head);
    expect_body(body, "operand 1 is not visible outside its region");
    expect_body("    %1: i32 = iadd %2, 1\n    %2: i32 = iadd %0, 1\n",
                "3:20: error: value is not defined above");
    expect_body("    %0: i32 = iadd %0, 1\n", "3:5: error: name is defined twice");
}

static void regions_are_checked(void **state) {
    (void)state;
    expect_body("    %1: i32 = loop 0, %n, 1 {\n        %2: i32 = carry 0\n    }\n",
                "region yields 0 values, 1 are taken");
    expect_body("    %1: i32 = loop 0, %n, 1 {\n        %2: i32 = carry 0\n"
                "        yield 1.0\n    }\n    %3: i32 = result #0\n",
                "type of yielded value 0 differs");
    expect_body("    %1: bool = slt %0, %n\n    if %1 {\n        yield 1\n    }\n"
                "    %2: i32 = result #0\n",
                "the region yields no such value");
    expect_body("    %1: bool = slt %0, %n\n    if %1 {\n        yield 1\n    } else {\n    }\n"
                "    %2: i32 = result #0\n",
                "region yields 0 values, 1 are taken");
    expect_body("    %1: i32 = result #0\n", "3:5: error: result does not follow its region");
    expect_body("    yield 1\n    %1: i32 = iadd %0, 1\n",
                "error: yield does not precede the end of a region");
    expect_body("    %1: i32 = loop 0, %n, 1 {\n        %2: i32 = iadd %0, %1\n"
                "        %3: i32 = carry 0\n    }\n",
                "5:9: error: carry does not follow its loop");
    expect_body("    %1: i32 = loop 0, %n, 1 {\n    } else {\n    }\n", "error: else without if");
    expect_body("    %1: i32 = loop 0, 9, %n {\n        %2: ptr = carry %x\n        yield %y\n"
                "    }\n    %3: ptr = result #0\n",
                "pointers to different buffers meet");
    expect_body("    %1: i32 = loop 0, 9, %0 {\n    }\n", "step is not known to be positive");
}

static void flow_is_checked(void **state) {
    (void)state;
    static const char divergent[] = "flow is not uniform over the workgroup in 'barrier loc(5)'";
    expect_body("    %1: bool = slt %0, %n\n    if %1 {\n        barrier loc(5)\n    }\n",
                divergent);
    expect_body("    %1: i32 = loop 0, %0, 1 {\n        barrier loc(5)\n    }\n", divergent);
    // The counter's bound is the same for all, but what is carried round differs.
    expect_body("    %1: i32 = loop 0, %n, 1 {\n        %2: i32 = carry 0\n"
                "        %3: bool = ieq %2, 0\n        if %3 {\n            barrier loc(5)\n"
                "        }\n        yield %0\n    }\n    %4: i32 = result #0\n",
                divergent);
    expect_body("    %1: i32 = subgroup_id\n    %2: bool = ieq %1, 0\n    if %2 {\n"
                "        %3: i32 = subgroup_iadd %0\n        barrier loc(5)\n    }\n",
                divergent);
    expect_body("    %1: bool = slt %0, %n\n    if %1 {\n        %2: i32 = subgroup_iadd %0\n"
                "    }\n",
                "flow is not uniform over each subgroup in '%2: i32 = subgroup_iadd %0'");
    // Uniform: a read through uniform indices, a workgroup's number, a subgroup's own value.
    expect_body("    %1: i32 = workgroup_id_x\n    %2: i32 = load %x, %1 as i32 align 4\n"
                "    %3: bool = ieq %2, 0\n    if %3 {\n        barrier\n    }\n"
                "    %4: i32 = broadcast_first %0\n    %5: bool = ieq %4, 0\n    if %5 {\n"
                "        %6: i32 = subgroup_iadd %0\n    }\n",
                "");
}

static void memory_is_checked(void **state) {
    (void)state;
    expect_body("    %1: f32 = load %y, %0 as f32 align 4\n",
                "parameter 'y' is not declared to be read");
    expect_body("    store %x, %0, 1.0 as f32 align 4\n",
                "parameter 'x' is not declared to be written");
    expect_body("    %1: f32x2 = load %x, %0 as f32 align 8\n",
                "alignment 8 is not proved, only 4");
    expect_body("    %1: i32 = imul %0, 2\n    %2: f32x2 = load %x, %1 as f32 align 8\n", "");
    expect_body("    %1: ptr = ptr_add %x, %0, %s\n    %2: f32 = load %1, 0 as f32 align 4\n",
                "alignment 4 is not proved, only 1");
    expect_body("    %1: i32 = loop 0, 9, 1 {\n        %2: ptr = carry %x\n"
                "        %3: f32 = load %2, 0 as f32 align 8\n"
                "        %4: ptr = ptr_add %2, 1, 12l\n        yield %4\n    }\n"
                "    %5: ptr = result #0\n",
                "alignment 8 is not proved, only 4");
    expect_body("    %1: i32 = loop 0, 9, 1 {\n        %2: ptr = carry %x\n"
                "        %3: f32 = load %2, 0 as f32 align 8\n"
                "        %4: ptr = ptr_add %2, 1, 24l\n        yield %4\n    }\n"
                "    %5: ptr = result #0\n",
                "");
    expect_body("    %1: i32x4 = shared_load t, 32\n", "index is outside region 't' of 32 words");
    expect_body("    %1: i32x4 = shared_load t, 28\n", "");
    expect_body("    %1: i32x4 = shared_load t, 2\n", "not known to be a multiple of 4");
    expect_body("    shared_store t, -1, 0\n", "index is outside region 't'");
    expect_body("    %1: ptr = ptr_add %x, -1, 4l\n", "index is negative");
}

static void fragments_are_checked(void **state) {
    (void)state;
    static const char a[] = "    %1: frag(a f16 16x16) = frag_fill 0.0\n";
    char body[600];
    expect_body("    %1: frag(a f16 16x16) = frag_load %x, 0, 20 row\n",
                "fragment stride is a multiple of 40 bytes, not of 16");
    expect_body("    %1: frag(a f16 16x16) = frag_load %x, 4, 24 row\n",
                "fragment address is a multiple of 8 bytes, not of 16");
    expect_body("    %1: frag(a f16 16x4) = frag_load %x, 4, 20 row\n", ""); // rows of 8 bytes
    expect_body("    %1: frag(a f16 16x16) = frag_load %x, %0, 16 row\n",
                "an operand is not uniform over each subgroup");
    expect_body("    %1: frag(a f16 16x16) = frag_shared_load t, 4, 6 col\n",
                "fragment stride is a multiple of 24 bytes, not of 16");
    snprintf(body, sizeof body,
             "%s    %%2: frag(b f16 8x16) = frag_fill 0.0\n"
             "    %%3: frag(acc f32 16x16) = frag_fill 0.0\n"
             "    %%4: frag(acc f32 16x16) = frag_mul_add %%1, %%2, %%3\n",
             a);
    expect_body(body, "shapes do not fit in '%4: frag(acc f32 16x16) = frag_mul_add %1, %2, %3'");
    snprintf(body, sizeof body, "%s    %%2: frag(a f16 16x16) = frag_mul_add %%1, %%1, %%1\n", a);
    expect_body(body, "operands are not A, B, acc");
    snprintf(body, sizeof body, "%s    %%2: frag(a f16 16x16) = frag_add %%1, 1\n", a);
    expect_body(body, "second operand is neither such a fragment nor a scalar");
    expect("kernel k() local(32) subgroup(0) {\n    %0: frag(a f16 16x16) = frag_fill 0.0\n}",
           "fragments need a subgroup size that divides the local size");
}

static void heads_are_checked(void **state) {
    (void)state;
    expect("kernel k() local(2000) subgroup(0) {\n}", "local size 2000 is not in 1..=1024");
    expect("kernel k() local(32) subgroup(12) {\n}", "subgroup size 12 is no power of two");
    expect("kernel k(n: i32 in 5..=4) local(1) subgroup(0) {\n}",
           "1:24: error: number is not an integer or out of range");
    expect("kernel k(n: i32, n: i32) local(1) subgroup(0) {\n}",
           "1:18: error: name is defined twice");
    expect("kernel k(x: f32) local(1) subgroup(0) {\n}", "expected read, write, i32 or i64");
    expect("kernel k(x: read f64) local(1) subgroup(0) {\n}", "not a type that kernels read");
    expect("kernel k() local(1) subgroup(0) shared(t: i64[3]) {\n}", "shared memory is i32 or f32");
}

static void broken_text_is_refused(void **state) {
    (void)state;
    expect("", "expected 'kernel'");
    expect("kernel k() local(1) subgroup(0) {\n", "expected a name");
    expect_body("    %1: i32 = iad %0, 1\n", "3:15: error: not an operation of kernel IR");
    expect_body("    %1: i32 = const\n", "not an operation of kernel IR");
    expect_body("    %1: i32x3 = local_id\n", "3:9: error: not a register type");
    expect_body("    %1: i32 = iadd %0 1\n", "3:23: error: expected ','");
    expect_body("    %1: i32 = iadd %0, 99999999999\n", "not an integer or out of range");
    expect_body("    %1: i32 = shared_load u, 0\n", "no such region");
    expect_body("    %1: f32 = fabs nan(0x1)\n", "not the bits of a NaN");
    // Cut anywhere, the example is refused without a crash.
    static const char whole[] = "kernel k(x: read f32, n: i32 in -1..=64 multiple 2) local(32) "
                                "subgroup(8) strict shared(t: i32x4[8]) lines(3, 5) {\n"
                                "    %0: i32 = loop 0, %n, 1 unroll loc(3) {\n"
                                "        %1: f32 = carry nan(0x7fc00001)\n"
                                "        %2: frag(a f16 16x8) = frag_load %x, 0, 8 col\n"
                                "        %3: f32 = fmul %1, -1.5e-05\n"
                                "        yield %3\n"
                                "    }\n"
                                "    %4: f32 = result #0\n"
                                "}";
    Text out = diagnose(whole);
    assert_string_equal(out.data, "");
    text_free(&out);
    for (size_t length = 0; length + 1 < sizeof whole; length++) {
        Arena *arena = arena_create();
        Diags *diags = diags_create();
        size_t at = 0;
        assert_null(kernel_parse(arena, whole, length, &at, 0, diags));
        assert_int_equal(diags_error_count(diags), 1);
        diags_destroy(diags);
        arena_destroy(arena);
    }
}

static void all_errors_are_collected(void **state) {
    (void)state;
    Text out = diagnose("kernel k(y: write f32) local(4) subgroup(0) {\n"
                        "    %0: i32 = fadd 1, 2 loc(3)\n"
                        "    %1: f32 = iadd 1, 2 loc(4)\n"
                        "    store %y, 0.5, %1 as f32 align 4 loc(5)\n"
                        "}");
    assert_non_null(strstr(out.data, "operand types do not fit in '%0: i32 = fadd 1, 2 loc(3)'"));
    assert_non_null(strstr(out.data, "'%1: f32 = iadd 1, 2 loc(4)'"));
    assert_non_null(strstr(out.data, "index is not an i32"));
    text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_kernels_pass),      cmocka_unit_test(types_are_checked),
        cmocka_unit_test(visibility_is_checked),  cmocka_unit_test(regions_are_checked),
        cmocka_unit_test(flow_is_checked),        cmocka_unit_test(memory_is_checked),
        cmocka_unit_test(fragments_are_checked),  cmocka_unit_test(heads_are_checked),
        cmocka_unit_test(broken_text_is_refused), cmocka_unit_test(all_errors_are_collected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
