// The kernel builder: folding, merging, regions, dropping; and that everything it makes verifies and
// prints to text that parses back.
#include "ir/kernel_build.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Fixture {
    Arena *arena;
    KBuilder *b;
    KVal x, y, n, i; // buffers read and written, a size in 1..=4096, the invocation's number
} Fixture;

static Fixture begin(void) {
    Fixture f = {.arena = arena_create()};
    f.b = k_begin(f.arena, "test", 64);
    f.x = k_param_buffer(f.b, "x", DT_F32, K_READ);
    f.y = k_param_buffer(f.b, "y", DT_F32, K_WRITE);
    f.n = k_param_i32(f.b, "n", 1, 4096, 4);
    f.i = k_local_id(f.b);
    return f;
}

static void put(Fixture *f, KVal value) {
    DType dtype = k_type(f->b, value).kind == KT_F32 ? DT_F32 : DT_I32;
    k_store(f->b, f->y, f->i, dtype, 4, value);
}

// Finishes, verifies, prints, parses, prints again. The caller frees the text.
static Text finish(Fixture *f) {
    Text text = {0}, again = {0}, errors = {0};
    Diags *diags = diags_create();
    Kernel *kernel = k_finish(f->b);
    bool good = kernel_verify(kernel, diags);
    kernel_print(kernel, &text);
    size_t at = 0;
    Kernel *parsed = kernel_parse(f->arena, text.data, text.len, &at, 0, diags);
    diags_render(diags, &errors);
    if (errors.data != NULL) assert_string_equal(errors.data, "");
    assert_true(good);
    assert_non_null(parsed);
    assert_true(kernel_verify(parsed, diags));
    kernel_print(parsed, &again);
    assert_string_equal(text.data, again.data);
    assert_int_equal(parsed->needs, kernel->needs);
    text_free(&again);
    text_free(&errors);
    diags_destroy(diags);
    arena_destroy(f->arena);
    return text;
}

static void expect_body(Fixture *f, const char *body) {
    Text text = finish(f);
    const char *begin_body = strstr(text.data, "{\n");
    assert_non_null(begin_body);
    assert_string_equal(begin_body + 2, body);
    text_free(&text);
}

static void the_example_prints(void **state) {
    (void)state;
    Fixture f = begin();
    KBuilder *b = f.b;
    k_set_line(b, 3);
    KVal i = k_iadd(b, k_imul(b, k_workgroup_id_x(b), k_i32(b, 64)), f.i);
    k_if_begin(b, k_slt(b, i, f.n));
    k_store(b, f.y, i, DT_F32, 4, k_fmul(b, k_load(b, f.x, i, DT_F32, 1, 4), k_f32(b, 2)));
    k_if_end(b, 0, NULL, NULL);
    Text text = finish(&f);
    assert_string_equal(
        text.data,
        "kernel test(x: read f32, y: write f32, n: i32 in 1..=4096 multiple 4) local(64) "
        "subgroup(0) lines(3) {\n"
        "    %0: i32 = local_id\n"
        "    %1: i32 = workgroup_id_x loc(3)\n"
        "    %2: i32 = imul %1, 64 loc(3)\n"
        "    %3: i32 = iadd %0, %2 loc(3)\n"
        "    %4: bool = slt %3, %n loc(3)\n"
        "    if %4 loc(3) {\n"
        "        %5: f32 = load %x, %3 as f32 align 4 loc(3)\n"
        "        %6: f32 = fmul %5, 2.0 loc(3)\n"
        "        store %y, %3, %6 as f32 align 4 loc(3)\n"
        "    }\n"
        "}\n");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_prints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
