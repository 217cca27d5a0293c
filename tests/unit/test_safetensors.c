// The safetensors reader and writer against the format's rules: every bad file is refused for the
// reason it is bad, every good one is read as written.
#include "runtime/safetensors.h"
#include "runtime/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Bytes {
    uint8_t *data;
    size_t size;
} Bytes;

// A file of `header` and `data_size` bytes of data that count up.
static Bytes make(const char *header, size_t header_size, size_t data_size) {
    Bytes bytes = {malloc(8 + header_size + data_size + 1), 8 + header_size + data_size};
    assert_non_null(bytes.data);
    for (int i = 0; i < 8; i++) bytes.data[i] = (uint8_t)((uint64_t)header_size >> (8 * i));
    memcpy(bytes.data + 8, header, header_size);
    for (size_t i = 0; i < data_size; i++) bytes.data[8 + header_size + i] = (uint8_t)i;
    return bytes;
}

static AdeptResult open_bytes(Bytes bytes, AdeptError *error) {
    SafetensorsFile file;
    AdeptResult result = safetensors_open_memory(&file, "memory", bytes.data, bytes.size, error);
    if (!result) safetensors_close(&file);
    return result;
}

// Refused as damaged, with `reason` in the message.
static void expect_refused(Bytes bytes, const char *reason) {
    AdeptError error = {0};
    AdeptResult result = open_bytes(bytes, &error);
    if (result != ADEPT_ERROR_FORMAT || !strstr(error.detail, reason) ||
        !strstr(error.detail, "memory"))
        fail_msg("expected \"%s\", got %d \"%s\"", reason, result, error.detail);
    assert_int_equal(open_bytes(bytes, NULL), ADEPT_ERROR_FORMAT);
    free(bytes.data);
}

static void refuse(const char *header, size_t data_size, const char *reason) {
    expect_refused(make(header, strlen(header), data_size), reason);
}

#define TENSOR(name, dtype, shape, offsets)                                                        \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const char good_header[] = "{" TENSOR("b", "F16", "[2, 3]", "[4,16]") "," TENSOR(
    "a", "U8", "[4]", "[0,4]") ",\"__metadata__\":{\"k\":\"v\",\"l\":\"\\u0000\"}}  ";

static void bad_sizes(void **state) {
    (void)state;
    expect_refused((Bytes){calloc(1, 1), 0}, "0 bytes are too few");
    expect_refused((Bytes){calloc(7, 1), 7}, "7 bytes are too few");
    static const uint64_t lengths[] = {UINT64_MAX, 100000001, 20 - 7};
    for (size_t i = 0; i < 3; i++) {
        Bytes bytes = make("{}          ", 12, 0);
        for (int k = 0; k < 8; k++) bytes.data[k] = (uint8_t)(lengths[i] >> (8 * k));
        expect_refused(bytes, "a header of");
    }
}

static void bad_json(void **state) {
    (void)state;
    static const struct {
        const char *header, *reason;
    } cases[] = {
        {"", "does not begin with '{'"},
        {"{", "a string expected"},
        {"[]", "does not begin with '{'"},
        {" {}", "does not begin with '{'"},
        {"{} x", "only spaces may follow"},
        {"{}\n", "only spaces may follow"},
        {"{},", "only spaces may follow"},
        {"{\"a\xFF\":", "not valid UTF-8"},
        {"{\"a\xC0\x80\":", "not valid UTF-8"},
        {"{\"a\xED\xA0\x80\":", "not valid UTF-8"},
        {"{\"a\xF4\x90\x80\x80\":", "not valid UTF-8"},
        {"{\"a\xE2\x82", "not valid UTF-8"},
        {"{\"\\ud800\":{}}", "unpaired surrogate"},
        {"{\"\\udc00\":{}}", "unpaired surrogate"},
        {"{\"\\ud800\\u0041\":{}}", "unpaired surrogate"},
        {"{\"\\u12g4\":{}}", "four hex digits"},
        {"{\"\\x\":{}}", "unknown escape"},
        {"{\"a\nb\":{}}", "control character"},
        {"{\"a", "a string does not end"},
        {"{\"\":{}}", "1 to 1,024 bytes"},
        {"{\"a\\u0000b\":{}}", "no NUL"},
        {"{// comment\n}", "a string expected"},
        {"{\"a\":[]}", "'{' expected"},
        {"{\"a\":{}}", "a string expected"},
        {"{\"__metadata__\":{\"a\":1}}", "a string expected"},
        {"{\"__metadata__\":{\"a\":{}}}", "a string expected"},
        {"{\"__metadata__\":{\"a\":\"1\",\"b\":\"\",\"a\":\"2\"}}", "is there twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "is there twice"},
        {"{\"__metadata__\":{\"a\":\"1\",}}", "a string expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].header, 0, cases[i].reason);
    expect_refused(make("{}\0", 3, 0), "only spaces may follow");
}

static void bad_tensors(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t data_size;
        const char *reason;
    } cases[] = {
        {"{" TENSOR("a", "U8", "[1]", "[0,1]") "," TENSOR("a", "U8", "[1]", "[1,2]") "}", 2,
         "\"a\": is there twice"},
        {"{" TENSOR("a", "U8", "[1],\"shape\":[1]", "[0,1]") "}", 1, "\"shape\" is there twice"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "\"data_offsets\" is missing"},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "\"shape\" is missing"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "\"dtype\" is missing"},
        {"{" TENSOR("a", "U8", "[1],\"more\":1", "[0,1]") "}", 1, "unknown member \"more\""},
        {"{" TENSOR("a", "U8", "[1]", "[-1,1]") "}", 1, "plain non-negative integer"},
        {"{" TENSOR("a", "U8", "[1]", "[0,1.0]") "}", 1, "plain non-negative integer"},
        {"{" TENSOR("a", "U8", "[1]", "[0,1e3]") "}", 1, "plain non-negative integer"},
        {"{" TENSOR("a", "U8", "[1]", "[0,01]") "}", 1, "plain non-negative integer"},
        {"{" TENSOR("a", "U8", "[1]", "[0,18446744073709551616]") "}", 1, "not below 2^63"},
        {"{" TENSOR("a", "U8", "[1]", "[0,9223372036854775808]") "}", 1, "not below 2^63"},
        {"{" TENSOR("a", "U8", "[1]", "[\"0\",1]") "}", 1, "plain non-negative integer"},
        {"{" TENSOR("a", "U8", "[1]", "[0]") "}", 1, "',' expected"},
        {"{" TENSOR("a", "U8", "[1]", "[0,1,2]") "}", 1, "']' expected"},
        {"{" TENSOR("a", "U8", "[1]", "[1,0]") "}", 1, "run backwards"},
        {"{" TENSOR("a", "U8", "[1]", "[1,2]") "}", 2, "begins at 1 of the data"},
        {"{" TENSOR("a", "U8", "[1]", "[0,1]") "," TENSOR("b", "U8", "[1]", "[2,3]") "}", 3,
         "begins at 2 of the data, the one before it ends at 1"},
        {"{" TENSOR("a", "U8", "[4]", "[0,4]") "}", 2, "describes 4 bytes of data, the file has 2"},
        {"{" TENSOR("a", "U8", "[4]", "[0,4]") "}", 5, "describes 4 bytes of data, the file has 5"},
        {"{}", 1, "describes 0 bytes of data, the file has 1"},
        {"{" TENSOR("a", "U8", "[2,9223372036854775807]", "[0,1]") "}", 1, "overflows"},
        {"{" TENSOR("a", "U8", "[2,9223372036854775808]", "[0,1]") "}", 1, "not below 2^63"},
        {"{" TENSOR("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0, "overflows"},
        {"{" TENSOR("a", "U8", "[0,4611686018427387904]", "[0,0]") "}", 0, "overflows"},
        {"{" TENSOR("a", "F32", "[3]", "[0,8]") "}", 8, "need 12 bytes, data_offsets hold 8"},
        {"{" TENSOR("a", "F4", "[3]", "[0,1]") "}", 1, "12 bits are not whole bytes"},
        {"{" TENSOR("a", "F6_E2M3", "[3]", "[0,2]") "}", 2, "18 bits are not whole bytes"},
        {"{" TENSOR("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "more than 8 sizes"},
        {"{" TENSOR("a", "U8", "[1,]", "[0,1]") "}", 1, "plain non-negative integer"},
        {"{" TENSOR("a", "F128", "[1]", "[0,1]") "}", 1, "unknown dtype \"F128\""},
        {"{" TENSOR("a", "f32", "[1]", "[0,4]") "}", 4, "unknown dtype \"f32\""},
        {"{" TENSOR("a", "U8", "[1]", "[0,1]") ",}", 1, "a string expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].header, cases[i].data_size, cases[i].reason);
}

static void bad_names(void **state) {
    (void)state;
    char header[1200] = "{\"";
    memset(header + 2, 'n', 1025);
    strcpy(header + 2 + 1025, &TENSOR("", "U8", "[1]", "[0,1]")[1]);
    strcat(header, "}");
    refuse(header, 1, "1 to 1,024 bytes");
}

// Ten tensors on one range, and a hundred thousand: refused, and at once.
static void overlap(void **state) {
    (void)state;
    static const size_t counts[] = {10, 100000};
    for (size_t k = 0; k < 2; k++) {
        char *header = malloc(counts[k] * 80 + 3), *to = header;
        *to++ = '{';
        for (size_t i = 0; i < counts[k]; i++)
            to +=
                sprintf(to, "%s\"t%zu\":{\"dtype\":\"U8\",\"shape\":[16],\"data_offsets\":[0,16]}",
                        i ? "," : "", i);
        *to++ = '}';
        struct timespec start, end;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
        expect_refused(make(header, (size_t)(to - header), 16),
                       "begins at 0 of the data, the one before it ends at 16");
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        assert_true(end.tv_sec - start.tv_sec < 5);
        free(header);
    }
}

static void nesting(void **state) {
    (void)state;
    size_t depth = 100000;
    char *header = malloc(depth + 32);
    size_t start = (size_t)sprintf(header, "{\"a\":{\"shape\":[");
    memset(header + start, '[', depth);
    expect_refused(make(header, start + depth, 0), "plain non-negative integer");
    start = (size_t)sprintf(header, "{\"__metadata__\":");
    memset(header + start, '[', depth);
    expect_refused(make(header, start + depth, 0), "'{' expected");
    free(header);
}

// Prefixes and single changed bytes: no crash, no leak (the sanitizers say so), prefixes refused.
static void prefixes_and_flips(void **state) {
    (void)state;
    Bytes good = make(good_header, sizeof good_header - 1, 16);
    AdeptError error;
    assert_int_equal(open_bytes(good, &error), ADEPT_OK);
    for (size_t size = 0; size < good.size; size++) {
        Bytes prefix = {malloc(size + 1), size};
        memcpy(prefix.data, good.data, size);
        assert_int_equal(open_bytes(prefix, NULL), ADEPT_ERROR_FORMAT);
        free(prefix.data);
    }
    for (size_t i = 0; i < 8 + sizeof good_header - 1; i++)
        for (unsigned mask = 1; mask < 256; mask = mask * 2 + 1) {
            good.data[i] ^= (uint8_t)mask;
            AdeptResult result = open_bytes(good, &error);
            assert_true(result == ADEPT_OK || result == ADEPT_ERROR_FORMAT);
            if (i < 8) assert_int_equal(result, ADEPT_ERROR_FORMAT);
            good.data[i] ^= (uint8_t)mask;
        }
    free(good.data);
}

static void good_files(void **state) {
    (void)state;
    SafetensorsFile file;
    Bytes bytes = make(good_header, sizeof good_header - 1, 16);
    assert_int_equal(safetensors_open_memory(&file, "m", bytes.data, bytes.size, NULL), ADEPT_OK);
    assert_int_equal(file.count, 2);
    const SafetensorsTensor *b = safetensors_find(&file, "b");
    assert_non_null(b);
    assert_int_equal(b->dtype, SAFETENSORS_F16);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 3);
    assert_int_equal(b->size, 12);
    uint8_t out[12];
    assert_int_equal(safetensors_read(&file, b, 3, out, 9, NULL), ADEPT_OK);
    for (uint8_t i = 0; i < 9; i++) assert_int_equal(out[i], 4 + 3 + i);
    assert_int_equal(safetensors_read(&file, b, 3, out, 10, NULL), ADEPT_ERROR_ARGUMENT);
    assert_int_equal(safetensors_read(&file, b, 13, out, 0, NULL), ADEPT_ERROR_ARGUMENT);
    assert_null(safetensors_find(&file, "c"));
    assert_null(safetensors_find(&file, "__metadata__"));
    safetensors_close(&file);
    free(bytes.data);

    static const char odd[] = "{" TENSOR("zero", "F32", "[3,0]", "[1,1]") "," TENSOR(
        "caf\\u00e9", "U8", "[]", "[0,1]") "," TENSOR("odd \\ud83d\\ude00", "F32", "[1]",
                                                      "[1,5]") "," TENSOR("zero2", "F64", "[0]",
                                                                          "[0,0]") "}";
    bytes = make(odd, sizeof odd - 1, 5);
    assert_int_equal(safetensors_open_memory(&file, "m", bytes.data, bytes.size, NULL), ADEPT_OK);
    assert_int_equal(file.count, 4);
    const SafetensorsTensor *scalar = safetensors_find(&file, "caf\xC3\xA9");
    assert_non_null(scalar);
    assert_int_equal(scalar->rank, 0);
    assert_int_equal(scalar->size, 1);
    const SafetensorsTensor *unaligned = safetensors_find(&file, "odd \xF0\x9F\x98\x80");
    assert_non_null(unaligned);
    assert_int_equal(safetensors_read(&file, unaligned, 0, out, 4, NULL), ADEPT_OK);
    assert_memory_equal(out, "\1\2\3\4", 4);
    assert_int_equal(safetensors_find(&file, "zero")->size, 0);
    safetensors_close(&file);
    free(bytes.data);

    bytes = make("{}", 2, 0);
    assert_int_equal(safetensors_open_memory(&file, "m", bytes.data, bytes.size, NULL), ADEPT_OK);
    assert_int_equal(file.count, 0);
    assert_null(safetensors_find(&file, "a"));
    safetensors_close(&file);
    free(bytes.data);
}

static void bools(void **state) {
    (void)state;
    static const char header[] = "{" TENSOR("m", "BOOL", "[3]", "[0,3]") "}";
    Bytes bytes = make(header, sizeof header - 1, 3);
    SafetensorsFile file;
    AdeptError error;
    uint8_t out[3];
    assert_int_equal(safetensors_open_memory(&file, "m", bytes.data, bytes.size, NULL), ADEPT_OK);
    assert_int_equal(safetensors_read(&file, file.tensors, 0, out, 2, &error), ADEPT_OK);
    assert_int_equal(safetensors_read(&file, file.tensors, 0, out, 3, &error), ADEPT_ERROR_FORMAT);
    assert_non_null(strstr(error.detail, "a bool is 2, not 0 or 1"));
    safetensors_close(&file);
    free(bytes.data);
}

// ---- files -----------------------------------------------------------------------------------

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/adept-safetensors-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static const char *in_folder(const char *name) {
    static char path[2][200];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void write_file(const char *name, const void *data, size_t size) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void not_regular(void **state) {
    (void)state;
    SafetensorsFile file;
    AdeptError error;
    assert_int_equal(safetensors_open(&file, folder, &error), ADEPT_ERROR_FILE);
    assert_non_null(strstr(error.detail, "not a regular file"));
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_int_equal(safetensors_open(&file, in_folder("fifo"), &error), ADEPT_ERROR_FILE);
    assert_non_null(strstr(error.detail, "not a regular file"));
    assert_int_equal(safetensors_open(&file, in_folder("nothing"), &error), ADEPT_ERROR_FILE);
    assert_non_null(strstr(error.detail, "No such file"));
}

static void truncated_while_open(void **state) {
    (void)state;
    Bytes bytes = make(good_header, sizeof good_header - 1, 16);
    write_file("shrinks", bytes.data, bytes.size);
    SafetensorsFile file;
    AdeptError error;
    uint8_t out[12];
    assert_int_equal(safetensors_open(&file, in_folder("shrinks"), &error), ADEPT_OK);
    assert_int_equal(truncate(in_folder("shrinks"), (off_t)bytes.size - 1), 0);
    const SafetensorsTensor *b = safetensors_find(&file, "b");
    assert_int_equal(safetensors_read(&file, b, 0, out, 12, &error), ADEPT_ERROR_FILE);
    assert_non_null(strstr(error.detail, "has become shorter"));
    safetensors_close(&file);
    free(bytes.data);
}

static void written_and_read(void **state) {
    (void)state;
    const uint8_t small[] = {1, 0, 1};
    const float wide[] = {1.5f, -2, 3, 4};
    SafetensorsItem items[] = {
        {.name = "z", .dtype = SAFETENSORS_BOOL, .rank = 1, .shape = {3}, .data = small},
        {.name = "q\"\\\n\xC3\xA9",
         .dtype = SAFETENSORS_F32,
         .rank = 2,
         .shape = {2, 2},
         .data = wide},
        {.name = "e", .dtype = SAFETENSORS_F16, .rank = 1, .shape = {0}},
    };
    AdeptError error;
    assert_int_equal(safetensors_write(in_folder("out"), items, 3, &error), ADEPT_OK);
    SafetensorsFile file;
    assert_int_equal(safetensors_open(&file, in_folder("out"), &error), ADEPT_OK);
    assert_int_equal(file.count, 3);
    const SafetensorsTensor *q = safetensors_find(&file, "q\"\\\n\xC3\xA9");
    const SafetensorsTensor *z = safetensors_find(&file, "z");
    assert_non_null(q);
    assert_non_null(z);
    assert_int_equal(q->offset % 8, 0);
    assert_int_equal(z->offset, q->offset + 16);
    float back[4];
    assert_int_equal(safetensors_read(&file, q, 0, back, 16, &error), ADEPT_OK);
    assert_memory_equal(back, wide, 16);
    safetensors_close(&file);
    assert_int_equal(safetensors_write(in_folder("no/such"), items, 3, &error), ADEPT_ERROR_FILE);
    assert_int_equal(safetensors_write(in_folder("empty"), NULL, 0, &error), ADEPT_OK);
    assert_int_equal(safetensors_open(&file, in_folder("empty"), &error), ADEPT_OK);
    safetensors_close(&file);
}

static AdeptResult open_index(const char *text, AdeptError *error) {
    write_file("w.index.json", text, strlen(text));
    Weights weights;
    AdeptResult result = weights_open(&weights, in_folder("w.index.json"), error);
    if (!result) weights_close(&weights);
    return result;
}

static void shards(void **state) {
    (void)state;
    static const char one[] = "{" TENSOR("a", "U8", "[2]", "[0,2]") "}";
    static const char two[] =
        "{" TENSOR("b", "U8", "[1]", "[0,1]") "," TENSOR("c.weight", "U8", "[1]", "[1,2]") "}";
    Bytes first = make(one, sizeof one - 1, 2), second = make(two, sizeof two - 1, 2);
    write_file("1.safetensors", first.data, first.size);
    write_file("again.safetensors", first.data, first.size);
    write_file("2.safetensors", second.data, second.size);
    free(first.data);
    free(second.data);
    AdeptError error;
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"{\"weight_map\":{\"a\":\"../x\"}}", "without '/'"},
        {"{\"weight_map\":{\"a\":\"/x\"}}", "without '/'"},
        {"{\"weight_map\":{\"a\":\"x\\\\y\"}}", "without '/'"},
        {"{\"weight_map\":{\"a\":\"x\\u0000\"}}", "without '/'"},
        {"{\"weight_map\":{\"a\":\"..\"}}", "without '/'"},
        {"{\"weight_map\":{\"a\":\"\"}}", "without '/'"},
        {"{\"weight_map\":{\"a\":\"3.safetensors\"}}", "3.safetensors: cannot be opened"},
        {"{\"weight_map\":{\"x\":\"1.safetensors\"}}", "\"x\" is not in the shard"},
        {"{\"weight_map\":{\"a\":\"2.safetensors\"}}", "\"a\" is not in the shard"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"a\":\"1.safetensors\"}}", "there twice"},
        {"{\"metadata\":{\"x\":[1]},\"weight_map\":{}}", "a value expected"},
        {"{\"metadata\":{\"x\":01},\"weight_map\":{}}", "'}' expected"},
        {"{\"metadata\":{}}", "\"weight_map\" is missing"},
        {"{\"weight_map\":{},\"weight_map\":{}}", "there twice"},
        {"{\"weight_map\":{}} x", "something follows"},
        {"{\"other\":1,\"weight_map\":{}}", "stand here"},
        {"{}", "a string expected"},
        {"", "'{' expected"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        AdeptResult result = open_index(bad[i].text, &error);
        if (result == ADEPT_OK || !strstr(error.detail, bad[i].reason))
            fail_msg("%s: expected \"%s\", got %d \"%s\"", bad[i].text, bad[i].reason, result,
                     error.detail);
    }
    // The tensor of one shard also stands in another.
    write_file("3.safetensors", "\2\0\0\0\0\0\0\0{}", 10);
    assert_int_equal(open_index("{\"weight_map\":{\"a\":\"1.safetensors\"}}", &error), ADEPT_OK);
    static const char both[] =
        "{" TENSOR("a", "U8", "[1]", "[0,1]") "," TENSOR("d", "U8", "[1]", "[1,2]") "}";
    Bytes third = make(both, sizeof both - 1, 2);
    write_file("3.safetensors", third.data, third.size);
    free(third.data);
    assert_int_equal(
        open_index("{\"weight_map\":{\"a\":\"1.safetensors\",\"d\":\"3.safetensors\"}}", &error),
        ADEPT_ERROR_FORMAT);
    assert_non_null(strstr(error.detail, "tensor \"a\" is in "));

    static const char good[] =
        "{\"metadata\":{\"total_size\":4.5e3,\"x\":null,\"y\":\"\"},\n\"weight_map\":"
        "{\"c.weight\":\"2.safetensors\",\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}}\n";
    write_file("w.index.json", good, strlen(good));
    Weights weights;
    assert_int_equal(weights_open(&weights, in_folder("w.index.json"), &error), ADEPT_OK);
    assert_int_equal(weights.file_count, 2);
    assert_int_equal(weights.count, 3);
    const WeightsEntry *c = weights_find(&weights, "c.weight");
    assert_non_null(c);
    uint8_t out;
    assert_int_equal(weights_read(&weights, c, 0, &out, 1, &error), ADEPT_OK);
    assert_int_equal(out, 1);
    assert_null(weights_find(&weights, "c"));
    assert_string_equal(weights_nearest(&weights, "c.wieght"), "c.weight");
    assert_string_equal(weights_nearest(&weights, "model.c.weight"), "c.weight");
    assert_string_equal(weights_nearest(&weights, "weight"), "c.weight");
    assert_string_equal(weights_nearest(&weights, "c.weigh"), "c.weight");
    assert_string_equal(weights_nearest(&weights, "c.weightss"), "c.weight");
    assert_null(weights_nearest(&weights, "something else"));
    assert_null(weights_nearest(&weights, "x"));
    weights_close(&weights);
}

static void single_file(void **state) {
    (void)state;
    Weights weights;
    AdeptError error;
    assert_int_equal(
        weights_open(&weights, ADEPT_SOURCE_DIR "/examples/digits/lenet5.safetensors", &error),
        ADEPT_OK);
    assert_int_equal(weights.count, 10);
    const WeightsEntry *entry = weights_find(&weights, "conv2.weight");
    assert_non_null(entry);
    assert_int_equal(entry->tensor->dtype, SAFETENSORS_F32);
    static const uint64_t shape[] = {16, 6, 5, 5};
    assert_memory_equal(entry->tensor->shape, shape, sizeof shape);
    weights_close(&weights);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_sizes),
        cmocka_unit_test(bad_json),
        cmocka_unit_test(bad_tensors),
        cmocka_unit_test(bad_names),
        cmocka_unit_test(overlap),
        cmocka_unit_test(nesting),
        cmocka_unit_test(prefixes_and_flips),
        cmocka_unit_test(good_files),
        cmocka_unit_test(bools),
        cmocka_unit_test(not_regular),
        cmocka_unit_test(truncated_while_open),
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(shards),
        cmocka_unit_test(single_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
