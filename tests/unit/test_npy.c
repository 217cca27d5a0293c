// .npy files: what is read, what is written, and every bad file of docs/formats.md section 6.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/file.h"
#include "frontend/npy.h"

// A file of the given version around a dict, with `data` zero bytes behind it.
static Text make_file(unsigned major, unsigned minor, const char *dict, size_t data) {
    Text file = {0};
    size_t length = strlen(dict);
    uint8_t lead[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)major, (uint8_t)minor};
    lead[8] = (uint8_t)(length & 255);
    lead[9] = (uint8_t)(length >> 8);
    text_write(&file, lead, major == 1 ? 10 : 12);
    text_write(&file, dict, length);
    for (size_t i = 0; i < data; i++) text_write(&file, "", 1);
    return file;
}

static bool read_bytes(const void *bytes, size_t size, Npy *out, Text *error) {
    // A copy of exactly that length, so that a read past the end is seen by the sanitizer.
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size > 0) memcpy(copy, bytes, size);
    bool good = npy_read_memory("x.npy", copy, size, out, error);
    free(copy);
    return good;
}

static void expect_refused(Text file, const char *message) {
    Npy array;
    Text error = {0};
    assert_false(read_bytes(file.data, file.len, &array, &error));
    assert_non_null(error.data);
    if (!strstr(error.data, message)) fail_msg("\"%s\" lacks \"%s\"", error.data, message);
    assert_memory_equal(error.data, "x.npy: byte ", 12);
    text_free(&error);
    text_free(&file);
}

static void refuse_dict(const char *dict, size_t data, const char *message) {
    expect_refused(make_file(1, 0, dict, data), message);
}

static void expect_read(Text file, NpyCode code, uint32_t rank, uint64_t count) {
    Npy array;
    Text error = {0};
    if (!read_bytes(file.data, file.len, &array, &error)) fail_msg("%s", error.data);
    assert_int_equal(array.code, code);
    assert_int_equal(array.rank, rank);
    assert_int_equal(array.count, count);
    assert_int_equal(array.bytes, count * npy_item_bytes(code));
    assert_int_equal(array.data_offset + array.bytes, file.len);
    npy_free(&array);
    text_free(&file);
}

static void reads_good_files(void **state) {
    (void)state;
    const char *plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
    for (unsigned major = 1; major <= 3; major++)
        expect_read(make_file(major, 0, plain, 24), NPY_F4, 2, 6);
    // Any order, both quotes, no trailing comma, no spaces, a start of data that is not aligned.
    expect_read(make_file(1, 0, "{\"shape\":(5,),'descr':\"<i8\",'fortran_order':False}\n", 40),
                NPY_I8, 1, 5);
    expect_read(make_file(1, 0, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}\n", 1),
                NPY_B1, 0, 1);
    expect_read(make_file(1, 0, "{'descr': '<f2', 'fortran_order': True, 'shape': (4,)}\n", 8),
                NPY_F2, 1, 4);
    expect_read(
        make_file(1, 0, "{'descr': '<u4', 'fortran_order': False, 'shape': (7, 0, 9)}\n", 0),
        NPY_U4, 3, 0);
    expect_read(make_file(1, 0,
                          "{'descr': '|u1', 'fortran_order': False,"
                          " 'shape': (1, 1, 1, 1, 1, 1, 1, 2)}\n",
                          2),
                NPY_U1, 8, 2);
    // A size of zero makes the others harmless.
    expect_read(make_file(1, 0,
                          "{'descr': '|i1', 'fortran_order': False,"
                          " 'shape': (2147483647, 2147483647, 2147483647, 0)}\n",
                          0),
                NPY_I1, 4, 0);
}

static void keeps_the_data(void **state) {
    (void)state;
    Text file = make_file(1, 0, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,)}\n", 0);
    text_write(&file, "\x01\x02\x03\x04\x05\x06", 6);
    Npy array;
    Text error = {0};
    assert_true(read_bytes(file.data, file.len, &array, &error));
    assert_memory_equal(array.data, "\x01\x02\x03\x04\x05\x06", 6);
    npy_free(&array);
    text_free(&file);
}

static void refuses_bad_starts(void **state) {
    (void)state;
    const char *dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n";
    expect_refused((Text){0}, "byte 0: 0 bytes are too few");

    Text magic = make_file(1, 0, dict, 8);
    magic.data[1] = 'n';
    expect_refused(magic, "byte 0: not a .npy file");
    expect_refused(make_file(0, 0, dict, 8), "byte 6: version 0.0");
    expect_refused(make_file(4, 0, dict, 8), "byte 6: version 4.0");
    expect_refused(make_file(1, 1, dict, 8), "byte 6: version 1.1");

    Text wide = make_file(1, 0, dict, 8);
    memset(wide.data + 8, 0xff, 2);
    expect_refused(wide, "byte 8: a header of 65535 bytes: at most 10000");
    Text wider = make_file(2, 0, dict, 8);
    memset(wider.data + 8, 0xff, 4);
    expect_refused(wider, "byte 8: a header of 4294967295 bytes");
    Text beyond = make_file(1, 0, dict, 8);
    beyond.data[8] = (char)(strlen(dict) + 9);
    expect_refused(beyond, "byte 10: a header of 65 bytes, but the file holds 64");
    refuse_dict("", 0, "does not end with a newline");
    refuse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} ", 8,
                "byte 65: the header does not end with a newline");
}

static void refuses_bad_types(void **state) {
    (void)state;
#define DESCR(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (2,)}\n"
    refuse_dict(DESCR("'|O'"), 8, "byte 20: descr '|O' is pickled objects");
    refuse_dict(DESCR("'>f4'"), 8, "descr '>f4' is big-endian");
    refuse_dict(DESCR("'=f4'"), 8, "descr '=f4' is native byte order");
    refuse_dict(DESCR("[('a', '<f4')]"), 8, "byte 20: descr is a list");
    refuse_dict(DESCR("'|V8'"), 16, "raw records");
    refuse_dict(DESCR("'<U4'"), 32, "strings");
    refuse_dict(DESCR("'|S4'"), 8, "strings");
    refuse_dict(DESCR("'<c8'"), 16, "complex");
    refuse_dict(DESCR("'<M8[s]'"), 16, "times");
    refuse_dict(DESCR("'<i2'"), 4, "a type that Adept does not have");
    refuse_dict(DESCR("''"), 8, "descr '' is a type");
    refuse_dict(DESCR("None"), 8, "byte 20: a quoted string expected");
    refuse_dict(DESCR("'<f\\x34'"), 8, "byte 23: an escape");
#undef DESCR
}

static void refuses_bad_shapes(void **state) {
    (void)state;
#define SHAPE(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape "}\n"
    refuse_dict(SHAPE("(-1,)"), 8, "byte 61: a size must be a plain decimal integer");
    refuse_dict(SHAPE("(2.0,)"), 8, "byte 62: ',' or ')' expected");
    refuse_dict(SHAPE("(1 << 60, 1 << 60)"), 8, "byte 63: ',' or ')' expected");
    refuse_dict(SHAPE("(3)"), 12, "a shape of one size needs a comma: (3,)");
    refuse_dict(SHAPE("(3L,)"), 12, "byte 62: ',' or ')' expected");
    refuse_dict(SHAPE("[3]"), 12, "byte 60: '(' expected");
    refuse_dict(SHAPE("(03,)"), 12, "leading zero");
    refuse_dict(SHAPE("(,)"), 4, "plain decimal");
    refuse_dict(SHAPE("(2,,)"), 8, "plain decimal");
    refuse_dict(SHAPE("(2, "), 8, "plain decimal");
    refuse_dict(SHAPE("(2147483648,)"), 8, "byte 61: a size of 2^31 or more");
    refuse_dict(SHAPE("(99999999999999999999999,)"), 8, "a size of 2^31 or more");
    refuse_dict(SHAPE("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), 4, "more than 8 sizes");
    refuse_dict(SHAPE("(2147483647, 2147483647, 2147483647)"), 8, "multiply to 2^64 or more");
    refuse_dict(SHAPE("(2147483647, 2147483647, 4)"), 8, "multiply to 2^64 or more");
#undef SHAPE
}

static void refuses_bad_dicts(void **state) {
    (void)state;
    refuse_dict("{'descr': '<f4', 'shape': (2,)}\n", 8, "byte 40: key 'fortran_order' is missing");
    refuse_dict("{}\n", 8, "key 'descr' is missing");
    refuse_dict("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n", 8,
                "byte 27: key 'descr' stands twice");
    refuse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}\n", 8,
                "unknown key 'x'");
    refuse_dict("__import__('os')\n", 8, "byte 10: '{' expected");
    refuse_dict("{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,)}\n", 8,
                "a quoted string expected for descr");
    refuse_dict("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}\n", 8,
                "must be True or False");
    refuse_dict("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1)}\n", 8,
                "byte 44: fortran_order is True for rank 2");
    refuse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x\n", 8,
                "only spaces may follow");
    refuse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)\n", 8, "',' expected");
    refuse_dict("{'descr': '<f4\n", 8, "a string does not end");
    refuse_dict("{'descr' '<f4', 'fortran_order': False, 'shape': (2,)}\n", 8, "':' expected");
    refuse_dict("{'descr': '<f4',\t'fortran_order': False, 'shape': (2,)}\n", 8,
                "byte 26: byte 0x09 in the header");
    refuse_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\xff\n", 8,
                "byte 0xff in the header");
}

static void refuses_wrong_lengths(void **state) {
    (void)state;
    const char *dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n";
    refuse_dict(dict, 7, "2 items of 4 bytes are 8 bytes of data, but the file holds 7");
    refuse_dict(dict, 9, "byte 66: 2 items of 4 bytes are 8 bytes of data, but the file holds 9");
    refuse_dict(dict, 0, "but the file holds 0");
}

static void survives_every_prefix_and_flip(void **state) {
    (void)state;
    Text good = {0};
    npy_write_header(&good, NPY_F4, 2, (int64_t[]){2, 3});
    for (int i = 0; i < 24; i++) text_write(&good, "", 1);
    Npy array;
    Text error = {0};
    for (size_t length = 0; length < good.len; length++)
        assert_false(read_bytes(good.data, length, &array, &error));
    // Most flipped bytes are refused; where one is not (a digit, say), the lengths still agree.
    unsigned refused = 0;
    for (size_t at = 0; at < 128; at++) {
        for (int bit = 0; bit < 8; bit++) {
            good.data[at] ^= (char)(1 << bit);
            if (read_bytes(good.data, good.len, &array, &error)) {
                assert_int_equal(array.data_offset + array.bytes, good.len);
                npy_free(&array);
            } else {
                refused++;
            }
            good.data[at] ^= (char)(1 << bit);
        }
    }
    assert_true(refused > 900);
    text_free(&error);
    text_free(&good);
}

static void writes_what_numpy_writes(void **state) {
    (void)state;
    // numpy.save of float32 zeros of shape (360, 10), header as numpy writes it but for the space
    // numpy leaves to grow in.
    Text file = {0};
    npy_write_header(&file, NPY_F4, 2, (int64_t[]){360, 10});
    assert_int_equal(file.len % 64, 0);
    const char *start = "\x93NUMPY\x01\x00\x76\x00"
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (360, 10), }";
    assert_memory_equal(file.data, start, 10 + strlen(start + 10));
    assert_int_equal(file.data[file.len - 1], '\n');
    assert_int_equal(file.len, 128);
    text_free(&file);

    npy_write_header(&file, NPY_I4, 1, (int64_t[]){5});
    assert_non_null(strstr(file.data + 10, "'shape': (5,), }"));
    text_free(&file);
    npy_write_header(&file, NPY_B1, 0, NULL);
    assert_non_null(strstr(file.data + 10, "'shape': (), }"));
    text_free(&file);
}

static void round_trips_through_a_file(void **state) {
    (void)state;
    char folder[] = "/tmp/adept-npy-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/a.npy", folder);
    float values[6] = {0, 1, -2.5f, 3, 4, 1e-30f};
    Npy out = {.code = NPY_F4, .rank = 2, .size = {3, 2}, .count = 6, .bytes = 24, .data = values};
    Text error = {0};
    assert_true(npy_write(path, &out, &error));
    Npy in;
    assert_true(npy_read(path, &in, &error));
    assert_int_equal(in.rank, 2);
    assert_int_equal(in.size[0], 3);
    assert_int_equal(in.size[1], 2);
    assert_memory_equal(in.data, values, sizeof values);
    npy_free(&in);

    assert_false(npy_read(folder, &in, &error));
    assert_non_null(strstr(error.data, "not a regular file"));
    error.len = 0;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(npy_read(path, &in, &error));
    assert_non_null(strstr(error.data, "not a regular file"));
    error.len = 0;
    assert_int_equal(unlink(path), 0);
    assert_false(npy_read(path, &in, &error));
    assert_non_null(strstr(error.data, "No such file"));
    assert_int_equal(rmdir(folder), 0);
    text_free(&error);
}

static Npy array_of(NpyCode code, uint64_t count, const void *data) {
    Npy array = {.code = code,
                 .rank = 1,
                 .size = {(int64_t)count},
                 .count = count,
                 .data_offset = 128,
                 .bytes = count * npy_item_bytes(code)};
    array.data = malloc(array.bytes);
    assert_non_null(array.data);
    memcpy(array.data, data, array.bytes);
    return array;
}

static void converts_between_dtypes(void **state) {
    (void)state;
    Text error = {0};
    Npy array = array_of(NPY_I8, 3, (int64_t[]){-2147483648LL, 2147483647, 7});
    assert_true(npy_convert("x.npy", &array, DT_I32, &error));
    assert_int_equal(array.code, NPY_I4);
    assert_int_equal(array.bytes, 12);
    assert_memory_equal(array.data, ((int32_t[]){INT32_MIN, INT32_MAX, 7}), 12);
    npy_free(&array);

    array = array_of(NPY_I8, 2, (int64_t[]){1, 2147483648LL});
    assert_false(npy_convert("x.npy", &array, DT_I32, &error));
    assert_string_equal(error.data, "x.npy: byte 136: 2147483648 does not fit i32");
    npy_free(&array);
    error.len = 0;

    array = array_of(NPY_U2, 1, "\x80\x3f");
    assert_true(npy_convert("x.npy", &array, DT_BF16, &error));
    assert_false(npy_convert("x.npy", &array, DT_F16, &error));
    assert_string_equal(error.data, "x.npy: descr '<u2' where f16 is wanted");
    npy_free(&array);
    error.len = 0;

    array = array_of(NPY_U1, 2, "\x01\x02");
    assert_true(npy_convert("x.npy", &array, DT_U8, &error));
    assert_true(npy_convert("x.npy", &array, DT_F8E4M3, &error));
    assert_true(npy_convert("x.npy", &array, DT_F8E5M2, &error));
    assert_false(npy_convert("x.npy", &array, DT_I8, &error));
    npy_free(&array);
    error.len = 0;

    array = array_of(NPY_B1, 3, "\x01\x00\x02");
    assert_false(npy_convert("x.npy", &array, DT_BOOL, &error));
    assert_string_equal(error.data, "x.npy: byte 130: a bool of 2");
    npy_free(&array);
    text_free(&error);
}

static void reads_the_digits(void **state) {
    (void)state;
    Npy array;
    Text error = {0};
    const char *path = ADEPT_SOURCE_DIR "/examples/digits/digits_images.npy";
    if (!npy_read(path, &array, &error)) fail_msg("%s", error.data);
    assert_int_equal(array.code, NPY_F4);
    assert_int_equal(array.rank, 4);
    assert_int_equal(array.count, 360 * 28 * 28);
    const float *values = array.data;
    for (uint64_t i = 0; i < array.count; i++)
        assert_true(values[i] >= 0 && values[i] <= 1 && values[i] * 16 == (int)(values[i] * 16));
    npy_free(&array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_good_files),
        cmocka_unit_test(keeps_the_data),
        cmocka_unit_test(refuses_bad_starts),
        cmocka_unit_test(refuses_bad_types),
        cmocka_unit_test(refuses_bad_shapes),
        cmocka_unit_test(refuses_bad_dicts),
        cmocka_unit_test(refuses_wrong_lengths),
        cmocka_unit_test(survives_every_prefix_and_flip),
        cmocka_unit_test(writes_what_numpy_writes),
        cmocka_unit_test(round_trips_through_a_file),
        cmocka_unit_test(converts_between_dtypes),
        cmocka_unit_test(reads_the_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
