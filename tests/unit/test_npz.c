// .npz archives: those that numpy writes, and what must be refused.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "frontend/file.h"
#include "frontend/npz.h"

#define CORPUS ADEPT_SOURCE_DIR "/tests/fuzz/corpus/npz/"

static Text load(const char *path) {
    Text bytes = {0}, error = {0};
    if (!file_read_text(path, 1 << 20, &bytes, &error)) fail_msg("%s", error.data);
    return bytes;
}

// The archive holds x, f32 [2, 3] of 1..6, and (unless it is alone) labels, i32 [100] of 7.
static void check_arrays(const Npz *archive, bool alone) {
    Text error = {0};
    Npy array;
    uint32_t index;
    assert_int_equal(npz_count(archive), alone ? 1 : 2);
    assert_true(npz_find(archive, "x", &index));
    if (!npz_read(archive, index, &array, &error)) fail_msg("%s", error.data);
    assert_int_equal(array.code, NPY_F4);
    assert_int_equal(array.rank, 2);
    assert_memory_equal(array.data, ((float[]){1, 2, 3, 4, 5, 6}), 24);
    npy_free(&array);
    assert_false(npz_find(archive, "x.npy", &index));
    if (alone) return;
    assert_true(npz_find(archive, "labels", &index));
    assert_string_equal(npz_name(archive, index), "labels");
    if (!npz_read(archive, index, &array, &error)) fail_msg("%s", error.data);
    assert_int_equal(array.code, NPY_I4);
    assert_int_equal(array.count, 100);
    for (int i = 0; i < 100; i++) assert_int_equal(((int32_t *)array.data)[i], 7);
    npy_free(&array);
}

static void reads_what_numpy_writes(void **state) {
    (void)state;
    static const char *const good[] = {"savez", "savez_compressed", "plain", "end64"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char path[512];
        snprintf(path, sizeof path, CORPUS "%s", good[i]);
        Text error = {0};
        Npz *archive;
        if (!npz_open(path, &archive, &error)) fail_msg("%s", error.data);
        check_arrays(archive, i >= 2);
        npz_close(archive);
    }
}

static void reads_an_empty_archive(void **state) {
    (void)state;
    Text error = {0};
    Npz *archive;
    assert_true(npz_open(CORPUS "none", &archive, &error));
    assert_int_equal(npz_count(archive), 0);
    npz_close(archive);
}

static void expect_refused(const char *name, Text bytes, const char *message) {
    Text error = {0};
    Npz *archive;
    bool good = npz_open_memory(name, bytes.data, bytes.len, &archive, &error);
    if (good) {
        Npy array;
        good = npz_read(archive, 0, &array, &error);
        if (good) npy_free(&array);
        npz_close(archive);
    }
    if (good) fail_msg("nobody said \"%s\"", message);
    if (!strstr(error.data, message)) fail_msg("\"%s\" lacks \"%s\"", error.data, message);
    text_free(&error);
    text_free(&bytes);
}

static void refuses_by_name(void **state) {
    (void)state;
    expect_refused("t", load(CORPUS "twice"), "member 'x' stands twice");
    expect_refused("p", load(CORPUS "path"), "'..' in a member's name");
    expect_refused("b", load(CORPUS "bzip2"), "member 'x' is packed by method 12");
    expect_refused("s", load(CORPUS "streamed"), "member 'x' was streamed");
    expect_refused("e", (Text){0}, "e: byte 0: not a .npz file");
    expect_refused("n", load(ADEPT_SOURCE_DIR "/tests/fuzz/corpus/npy/f4_v1"), "not a .npz file");
}

static size_t find(Text bytes, const char *four, size_t from) {
    for (size_t at = from; at + 4 <= bytes.len; at++)
        if (memcmp(bytes.data + at, four, 4) == 0) return at;
    fail_msg("no mark");
    return 0;
}

// One byte of a good archive changed, counted from the first `four`.
static void refuse_change(const char *four, size_t at, int value, const char *message) {
    Text bytes = load(CORPUS "savez_compressed");
    bytes.data[find(bytes, four, 0) + at] = (char)value;
    expect_refused("c", bytes, message);
}

static void refuses_what_disagrees(void **state) {
    (void)state;
    refuse_change("PK\1\2", 8, 1, "member 'x' is encrypted");
    refuse_change("PK\1\2", 8, 64, "member 'x' has flags 0x40");
    refuse_change("PK\1\2", 10, 9, "packed by method 9");
    refuse_change("PK\1\2", 16, 0, "disagrees with the directory");
    refuse_change("PK\1\2", 42, 1, "no local header of member 'x'");
    refuse_change("PK\1\2", 34, 1, "several files");
    refuse_change("PK\1\2", 46, 'y', "disagrees with the directory");
    refuse_change("PK\1\2", 46, '.', "'..' in a member's name");
    refuse_change("PK\1\2", 46, '/', "byte 0x2f in a member's name");
    refuse_change("PK\3\4", 6, 1, "member 'x' is encrypted");
    refuse_change("PK\3\4", 8, 0, "disagrees with the directory");
    refuse_change("PK\5\6", 10, 3, "3 members in a directory of 107 bytes");
    refuse_change("PK\5\6", 10, 1, "bytes behind the last entry");
    refuse_change("PK\5\6", 13, 1, "a directory of");
    refuse_change("PK\5\6", 20, 1, "no end of a ZIP directory");
    // The size unpacked: first the bound, then the bytes.
    Text bytes = load(CORPUS "savez_compressed");
    size_t entry = find(bytes, "PK\1\2", 0);
    memset(bytes.data + entry + 24, 0xfe, 4);
    expect_refused("c", bytes, "member 'x' has 4278124286 bytes packed into");
    // Members one over the other.
    bytes = load(CORPUS "savez");
    entry = find(bytes, "PK\1\2", find(bytes, "PK\1\2", 0) + 4);
    memset(bytes.data + entry + 42, 0, 4);
    expect_refused("c", bytes, "member 'labels' begins before the one before it ends");
    // Damaged data.
    bytes = load(CORPUS "savez");
    bytes.data[find(bytes, "PK\1\2", 0) - 1] ^= 1;
    Text error = {0};
    Npz *archive;
    Npy array;
    assert_true(npz_open_memory("d", bytes.data, bytes.len, &archive, &error));
    assert_false(npz_read(archive, 1, &array, &error));
    assert_non_null(strstr(error.data, "member 'labels' has another checksum"));
    npz_close(archive);
    text_free(&error);
    text_free(&bytes);
}

static void survives_every_prefix_and_flip(void **state) {
    (void)state;
    Text good = load(CORPUS "savez_compressed");
    Text error = {0};
    Npz *archive;
    for (size_t length = 0; length < good.len; length++) {
        assert_false(npz_open_memory("p", good.data, length, &archive, &error));
        assert_null(archive);
    }
    for (size_t at = 0; at < good.len; at++) {
        good.data[at] ^= 1;
        if (npz_open_memory("f", good.data, good.len, &archive, &error)) {
            for (uint32_t i = 0; i < npz_count(archive); i++) {
                Npy array;
                if (npz_read(archive, i, &array, &error)) npy_free(&array);
            }
            npz_close(archive);
        }
        good.data[at] ^= 1;
    }
    text_free(&good);
    text_free(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_numpy_writes),
        cmocka_unit_test(reads_an_empty_archive),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(refuses_what_disagrees),
        cmocka_unit_test(survives_every_prefix_and_flip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
