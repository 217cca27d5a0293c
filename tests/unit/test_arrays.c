// Named arrays of a run: forms of --in and --out, comparison within the bounds of dtypes.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/arrays.h"

#define CORPUS ADEPT_SOURCE_DIR "/tests/fuzz/corpus/"

typedef struct Fixture {
    Arena *arena;
    ArrayVec arrays;
    Text error;
} Fixture;

static int set_up(void **state) {
    static Fixture fixture;
    fixture = (Fixture){.arena = arena_create()};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    Fixture *f = *state;
    arrays_free(&f->arrays);
    text_free(&f->error);
    arena_destroy(f->arena);
    return 0;
}

static bool read_list(Fixture *f, const char *const *words, uint32_t count) {
    CliList list = {0};
    f->error.len = 0;
    for (uint32_t i = 0; i < count; i++) vec_push(f->arena, &list, words[i]);
    return arrays_read(f->arena, &list, &f->arrays, &f->error);
}

static void reads_files_and_archives(void **state) {
    Fixture *f = *state;
    char copy[] = "/tmp/adept-arrays-XXXXXX.npz";
    int file = mkstemps(copy, 4);
    assert_true(file >= 0);
    FILE *from = fopen(CORPUS "npz/savez", "rb");
    assert_non_null(from);
    char bytes[4096];
    size_t size = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    assert_int_equal(write(file, bytes, size), size);
    close(file);

    char named[128], whole[128], missing[128];
    snprintf(named, sizeof named, "x=%s", copy);
    snprintf(whole, sizeof whole, "%s", copy);
    snprintf(missing, sizeof missing, "y=%s", copy);
    assert_true(read_list(f, (const char *[]){"a=" CORPUS "npy/f4_v1", named}, 2));
    assert_int_equal(f->arrays.len, 2);
    assert_int_equal(arrays_find(&f->arrays, "x")->array.count, 6);
    assert_int_equal(arrays_find(&f->arrays, "a")->array.rank, 2);
    assert_null(arrays_find(&f->arrays, "labels"));

    assert_false(read_list(f, (const char *[]){whole}, 1));
    assert_string_equal(f->error.data, "'x' is given twice");
    arrays_free(&f->arrays);
    assert_true(read_list(f, (const char *[]){whole}, 1));
    assert_int_equal(f->arrays.len, 2);
    assert_non_null(arrays_find(&f->arrays, "labels"));
    assert_false(read_list(f, (const char *[]){missing}, 1));
    assert_non_null(strstr(f->error.data, "no member 'y'"));
    assert_false(read_list(f, (const char *[]){"plain.npy"}, 1));
    assert_string_equal(f->error.data, "'--in plain.npy': NAME=FILE is wanted");
    assert_false(read_list(f, (const char *[]){"n=no/such.npy"}, 1));
    assert_int_equal(unlink(copy), 0);
}

static NamedArray *add_f32(Fixture *f, const char *name, const float *values, int64_t count) {
    assert_true(arrays_add(f->arena, &f->arrays, name, DT_F32, 1, &count, &f->error));
    NamedArray *array = arrays_find(&f->arrays, name);
    memcpy(array->array.data, values, (size_t)count * sizeof *values);
    return array;
}

static Difference compare(Fixture *f, const float *got, const float *wanted, int64_t count) {
    arrays_free(&f->arrays);
    add_f32(f, "got", got, count);
    add_f32(f, "wanted", wanted, count);
    return arrays_compare(arrays_find(&f->arrays, "got"), arrays_find(&f->arrays, "wanted"));
}

static void compares_within_bounds(void **state) {
    Fixture *f = *state;
    Difference d = compare(f, (float[]){1, 2, 3}, (float[]){1, 2, 3}, 3);
    assert_true(d.within && d.largest == 0 && d.scale == 3);
    d = compare(f, (float[]){1, 2, 3}, (float[]){1, 2.00005f, 3}, 3);
    assert_true(d.within && d.at == 1);
    d = compare(f, (float[]){1, 2.5f, 3}, (float[]){1, 2, 3}, 3);
    assert_true(!d.within && d.at == 1 && d.got == 2.5 && d.wanted == 2 && d.largest == 0.5);
    // Large values widen the bound, small ones do not narrow it.
    d = compare(f, (float[]){1000, 0.01f}, (float[]){1000, 0}, 2);
    assert_true(d.within && d.scale == 1000);
    d = compare(f, (float[]){1e-5f}, (float[]){0}, 1);
    assert_true(d.within);
    d = compare(f, (float[]){NAN, INFINITY}, (float[]){NAN, INFINITY}, 2);
    assert_true(d.within && d.largest == 0);
    d = compare(f, (float[]){NAN}, (float[]){0}, 1);
    assert_true(!d.within && isinf(d.largest));
    d = compare(f, (float[]){INFINITY}, (float[]){-INFINITY}, 1);
    assert_false(d.within);
}

static void integers_are_exact(void **state) {
    Fixture *f = *state;
    int64_t count = 1;
    assert_true(arrays_add(f->arena, &f->arrays, "a", DT_I32, 1, &count, &f->error));
    assert_true(arrays_add(f->arena, &f->arrays, "b", DT_I32, 1, &count, &f->error));
    *(int32_t *)f->arrays.at[0].array.data = 1000000;
    *(int32_t *)f->arrays.at[1].array.data = 1000001;
    assert_false(arrays_compare(&f->arrays.at[0], &f->arrays.at[1]).within);
}

static void describes_and_writes(void **state) {
    Fixture *f = *state;
    float values[9] = {1, -2, 0.5f, 4, 5, 6, 7, 8, 9};
    Text text = {0};
    arrays_describe(add_f32(f, "y", values, 9), &text);
    assert_string_equal(text.data, "y : [9] f32 = 1 -2 0.5 4 5 6 7 8 ..\n");
    text.len = 0;
    assert_true(arrays_add(f->arena, &f->arrays, "s", DT_I32, 0, NULL, &f->error));
    arrays_describe(arrays_find(&f->arrays, "s"), &text);
    assert_string_equal(text.data, "s : i32 = 0\n");
    text_free(&text);

    CliList list = {0};
    vec_push(f->arena, &list, "z=/tmp/never.npy");
    assert_false(arrays_write(f->arena, &list, &f->arrays, &f->error));
    assert_string_equal(f->error.data, "'--out z=/tmp/never.npy': the model has no such output");
    char folder[] = "/tmp/adept-arrays-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char out[80], path[64];
    snprintf(path, sizeof path, "%s/y.npy", folder);
    snprintf(out, sizeof out, "y=%s", path);
    list.at[0] = out;
    assert_true(arrays_write(f->arena, &list, &f->arrays, &f->error));
    Npy array;
    assert_true(npy_read(path, &array, &f->error));
    assert_memory_equal(array.data, values, sizeof values);
    npy_free(&array);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_files_and_archives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(compares_within_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(integers_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(describes_and_writes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
