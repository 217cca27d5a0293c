// The package reader: whatever is wrong with a package is found when it is read.
#include "runtime/package.h"
#include "tests/support/package_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Fixture {
    uint8_t *bytes;
    size_t size;
} Fixture;

static int set_up(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    PackageMake make;
    package_model(&make, &(PackageModelOptions){0});
    f->bytes = package_make_bytes(&make, &f->size);
    package_make_free(&make);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    Fixture *f = *state;
    free(f->bytes);
    free(f);
    return 0;
}

static AdeptResult read_bytes(const uint8_t *bytes, size_t size, AdeptError *error) {
    Source source;
    Package package;
    assert_int_equal(source_open_memory(&source, "memory", bytes, size, error), ADEPT_OK);
    AdeptResult result = package_read(&package, &source, error);
    if (!result) package_close(&package);
    source_close(&source);
    return result;
}

static uint8_t *copy(const Fixture *f) {
    uint8_t *bytes = malloc(f->size);
    assert_non_null(bytes);
    memcpy(bytes, f->bytes, f->size);
    return bytes;
}

static AdxSection *section(uint8_t *bytes, enum AdxSectionKind kind) {
    return (AdxSection *)(void *)(bytes + sizeof(AdxHeader)) + (kind - 1);
}

static void expect(const uint8_t *bytes, size_t size, AdeptResult expected, const char *reason) {
    AdeptError error = {0};
    AdeptResult result = read_bytes(bytes, size, &error);
    if (result != expected || !strstr(error.detail, reason) || !strstr(error.detail, "memory: "))
        fail_msg("expected \"%s\", got %d \"%s\"", reason, result, error.detail);
    assert_int_equal(read_bytes(bytes, size, NULL), expected);
}

static void good(void **state) {
    Fixture *f = *state;
    AdeptError error;
    Source source;
    Package package;
    assert_int_equal(source_open_memory(&source, "memory", f->bytes, f->size, &error), ADEPT_OK);
    assert_int_equal(package_read(&package, &source, &error), ADEPT_OK);
    assert_int_equal(package.run_launches, 11); // a trip counts as one too
    assert_int_equal(package.unit_launches, 1);
    assert_int_equal(package.block_range, 256);
    assert_int_equal(package_depends(&package, package.inputs[0].bytes) & 7, EXPR_INPUT);
    package_close(&package);
    source_close(&source);
}

static void headers(void **state) {
    Fixture *f = *state;
    uint8_t *bytes = copy(f);
    AdxHeader *header = (AdxHeader *)(void *)bytes;
    expect(bytes, 0, ADEPT_ERROR_FORMAT, "too short");
    expect(bytes, 63, ADEPT_ERROR_FORMAT, "too short");
    expect(bytes, f->size - 1, ADEPT_ERROR_FORMAT, "the package has ");
    bytes[f->size - 1] ^= 1;
    expect(bytes, f->size, ADEPT_ERROR_FORMAT, "the hash differs");
    bytes[f->size - 1] ^= 1;
    bytes[4] = '\n';
    expect(bytes, f->size, ADEPT_ERROR_FORMAT, "not a package");
    bytes[4] = '\r';
    header->major = 2;
    expect(bytes, f->size, ADEPT_ERROR_VERSION, "of version 2.0");
    header->major = 1;
    header->minor = 7;
    assert_int_equal(read_bytes(bytes, f->size, NULL), ADEPT_OK);
    header->sections = UINT32_MAX;
    expect(bytes, f->size, ADEPT_ERROR_FORMAT, "more sections");
    free(bytes);
}

static void sections(void **state) {
    Fixture *f = *state;
    static const struct {
        AdxSection change; // fields that are not 0 replace the section's
        AdeptResult result;
        const char *reason;
    } cases[] = {
        {{.record_size = 8}, ADEPT_ERROR_FORMAT, "records of another size"},
        {{.offset = 65}, ADEPT_ERROR_FORMAT, "unaligned or out of order"},
        {{.offset = 64}, ADEPT_ERROR_FORMAT, "unaligned or out of order"},
        {{.offset = UINT64_MAX - 63}, ADEPT_ERROR_FORMAT, "outside the file"},
        {{.size = UINT64_MAX}, ADEPT_ERROR_FORMAT, "outside the file"},
        {{.size = 7}, ADEPT_ERROR_FORMAT, "records of another size"},
        {{.kind = ADX_STRINGS}, ADEPT_ERROR_FORMAT, "there twice"},
        {{.kind = 99}, ADEPT_ERROR_FORMAT, "not an expression"}, // the dims are gone
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t *bytes = copy(f);
        AdxSection *dims = section(bytes, ADX_DIMS);
        const AdxSection *change = &cases[i].change;
        if (change->kind) dims->kind = change->kind;
        if (change->kind == ADX_STRINGS) dims->record_size = 1;
        if (change->record_size) dims->record_size = change->record_size;
        if (change->offset) dims->offset = change->offset;
        if (change->size) dims->size = change->size;
        package_sign(bytes, f->size);
        expect(bytes, f->size, cases[i].result, cases[i].reason);
        free(bytes);
    }
    uint8_t *bytes = copy(f); // a section of a later version is skipped
    section(bytes, ADX_GRAPH)->kind = 21;
    section(bytes, ADX_GRAPH)->record_size = 3;
    package_sign(bytes, f->size);
    assert_int_equal(read_bytes(bytes, f->size, NULL), ADEPT_OK);
    free(bytes);
}

// One field of one record set to a value that no reader may follow.
static void records(void **state) {
    Fixture *f = *state;
#define FIELD(kind, record, index, field, value, text)                                             \
    {                                                                                              \
        ADX_##kind, (index) * sizeof(record) + offsetof(record, field),                            \
            sizeof(((record *)0)->field), (value), (text)                                          \
    }
    static const struct {
        enum AdxSectionKind kind;
        size_t at, size;
        uint64_t value;
        const char *reason;
    } cases[] = {
        FIELD(DIMS, AdxDim, 0, name, 1u << 30, "dim 0: a string is outside"),
        FIELD(DIMS, AdxDim, 1, source, 3, "dim 1: unknown source"),
        FIELD(DIMS, AdxDim, 1, lo, 100, "dim 1: its range is empty"),
        FIELD(DIMS, AdxDim, 0, input, 1, "dim 0: it names no input"),
        FIELD(DIMS, AdxDim, 0, axis, 1, "dim 0: it names no axis"),
        FIELD(ASSERTS, AdxAssert, 0, left, 1, "assert 0: an expression does not begin"),
        FIELD(ASSERTS, AdxAssert, 0, relation, 6, "assert 0: unknown relation"),
        FIELD(ASSERTS, AdxAssert, 0, count, 100, "assert 0: its list is outside"),
        FIELD(ASSERTS, AdxAssert, 0, first, UINT32_MAX, "assert 0: its list is outside"),
        FIELD(INPUTS, AdxTensor, 0, dtype, 0, "input 0: unknown dtype"),
        FIELD(INPUTS, AdxTensor, 0, rank, 9, "input 0: more than 8 sizes"),
        FIELD(OUTPUTS, AdxTensor, 1, bytes, ADX_NONE, "output 1: an expression"),
        FIELD(STATES, AdxState, 0, offset, 8, "does not divide by 16"),
        FIELD(STATES, AdxState, 0, offset, 16, "state 0: it lies outside its buffer"),
        FIELD(STATES, AdxState, 0, offset, UINT64_MAX - 15, "state 0: it lies outside"),
        FIELD(STATES, AdxState, 0, bytes, 396, "its shape and its bytes disagree"),
        FIELD(STATES, AdxState, 0, size[0], UINT64_MAX / 2, "state 0: too large"),
        FIELD(PARAMS, AdxParam, 0, key, ADX_NONE, "param 0: a string"),
        FIELD(PARAMS, AdxParam, 0, packed, 2, "neither packed nor raw"),
        FIELD(PARAMS, AdxParam, 0, unit, 1, "param 0: it names no unit"),
        FIELD(PARAMS, AdxParam, 1, packed, 0, "param 1: it names no unit"),
        FIELD(PARAMS, AdxParam, 1, offset, 500, "param 1: it lies outside"),
        FIELD(PARAMS, AdxParam, 0, offset, 4, "param 0: it lies outside"),
        FIELD(KERNELS, AdxKernel, 0, words, 1u << 30, "its words lie outside"),
        FIELD(KERNELS, AdxKernel, 0, words, 4, "it is not SPIR-V"),
        FIELD(KERNELS, AdxKernel, 1, first_word, 0, NULL),
        FIELD(KERNELS, AdxKernel, 1, first_word, 1, "it is not SPIR-V"),
        FIELD(KERNELS, AdxKernel, 0, local_size, 0, "1 to 1,024 invocations"),
        FIELD(KERNELS, AdxKernel, 0, params, 2000, "more than 1,024 parameters"),
        FIELD(KERNELS, AdxKernel, 0, params, 5, "arguments are not as many"),
        FIELD(UNITS, AdxUnit, 0, first_step, 0, "unit 0: its list is outside"),
        FIELD(UNITS, AdxUnit, 0, steps, 2, "unit 0: its list is outside"),
        FIELD(UNITS, AdxUnit, 0, params, 3, "unit 0: its list is outside"),
        FIELD(UNITS, AdxUnit, 0, params, 0, "it is not among the params of its unit"),
        FIELD(UNITS, AdxUnit, 0, raw_bytes, 15, "param 0: it lies outside"),
        FIELD(STEPS, AdxStep, 0, kind, 3, "step 0: unknown kind"),
        FIELD(STEPS, AdxStep, 0, kind, ADX_STEP_END, "a repeat ends that did not begin"),
        FIELD(STEPS, AdxStep, 3, kind, ADX_STEP_RUN, "it has no alternative"),
        FIELD(STEPS, AdxStep, 0, alternatives, 0, "it has no alternative"),
        FIELD(STEPS, AdxStep, 0, alternatives, 100, "its list is outside"),
        FIELD(STEPS, AdxStep, 1, trip, 1, "step 1: it names no trip"),
        FIELD(STEPS, AdxStep, 1, hi, 4097, "more than 4,096 trips"),
        FIELD(STEPS, AdxStep, 1, lo, UINT64_MAX, "or less than none"),
        FIELD(ALTERNATIVES, AdxAlternative, 0, dispatches, 100, "its list is outside"),
        FIELD(ALTERNATIVES, AdxAlternative, 0, first_condition, 1, "its list is outside"),
        FIELD(CONDITIONS, AdxCondition, 0, relation, 9, "unknown relation"),
        FIELD(DISPATCHES, AdxDispatch, 0, kernel, 5, "it names no kernel"),
        FIELD(DISPATCHES, AdxDispatch, 0, args, 3, "arguments are not as many"),
        FIELD(DISPATCHES, AdxDispatch, 0, first_arg, 1u << 31, "its list is outside"),
        FIELD(DISPATCHES, AdxDispatch, 0, grid[2], 3, "an expression does not begin"),
        FIELD(DISPATCHES, AdxDispatch, 0, barrier, 2, "unknown barrier"),
        FIELD(DISPATCHES, AdxDispatch, 0, lines, 99, "its list is outside"),
        FIELD(ARGS, AdxArg, 0, kind, 2, "argument 0: unknown kind"),
        FIELD(ARGS, AdxArg, 0, buffer, ADX_BUF_COUNT, "argument 0: unknown buffer"),
        FIELD(ARGS, AdxArg, 0, index, 1, "argument 0: it names no tensor"),
        FIELD(ARGS, AdxArg, 0, access, 0, "argument 0: unknown access"),
        FIELD(ARGS, AdxArg, 0, offset, ADX_NONE, "argument 0: an expression"),
        FIELD(MODEL, AdxModelInfo, 0, run_steps, 100, "more steps of the run than steps"),
        FIELD(MODEL, AdxModelInfo, 0, const_bytes, 3, "more constants than room"),
        FIELD(MODEL, AdxModelInfo, 0, arena_bytes, 2, "model 0: an expression"),
        FIELD(MODEL, AdxModelInfo, 0, name, ADX_NONE, "model 0: a string"),
    };
#undef FIELD
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t *bytes = copy(f);
        memcpy(bytes + section(bytes, cases[i].kind)->offset + cases[i].at, &cases[i].value,
               cases[i].size);
        package_sign(bytes, f->size);
        if (cases[i].reason)
            expect(bytes, f->size, ADEPT_ERROR_FORMAT, cases[i].reason);
        else
            assert_int_equal(read_bytes(bytes, f->size, NULL), ADEPT_OK);
        free(bytes);
    }
}

// Each byte changed, the hash made right again: refused or read, no crash (the sanitizers say so).
static void flips(void **state) {
    Fixture *f = *state;
    uint8_t *bytes = copy(f);
    size_t spirv = section(bytes, ADX_SPIRV)->offset, behind = section(bytes, ADX_KERNELS)->offset;
    for (size_t i = sizeof(AdxHeader); i < f->size; i++) {
        if (i > spirv && i < behind) continue;
        bytes[i] ^= i % 2 ? 0xFF : 0x01;
        package_sign(bytes, f->size);
        AdeptResult result = read_bytes(bytes, f->size, NULL);
        assert_true(result == ADEPT_OK || result == ADEPT_ERROR_FORMAT);
        bytes[i] = f->bytes[i];
    }
    free(bytes);
}

static void expressions(void **state) {
    (void)state;
    static const AdxDim dims[] = {{0, ADX_DIM_INPUT, 0, 9, 0, 0}, {0, ADX_DIM_HOST, 0, 9, 0, 0}};
    static const struct {
        uint8_t code[80];
        size_t size;
        bool good;
    } checks[] = {
        {{0}, 0, true},
        {{ADX_END}, 1, false},
        {{ADX_SYMBOL, 0, ADX_END}, 3, true},
        {{ADX_SYMBOL, 2, ADX_END}, 3, false},
        {{ADX_SYMBOL, 0}, 2, false},
        {{ADX_SYMBOL}, 1, false},
        {{ADX_CONST, 1, 2, 3, 4, 5, 6, 7, 8}, 9, false},
        {{ADX_CONST, 1, 2, 3, 4, 5, 6, 7}, 8, false},
        {{ADX_SYMBOL, 0, ADX_ADD, ADX_END}, 4, false},
        {{ADX_SYMBOL, 0, ADX_SYMBOL, 1, ADX_END}, 5, false},
        {{ADX_SYMBOL, 0, ADX_SYMBOL, 1, ADX_MAX, ADX_END}, 6, true},
        {{ADX_MAX + 1, ADX_END}, 2, false},
    };
    uint8_t flags[80];
    size_t at;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        assert_int_equal(expr_check_all(checks[i].code, checks[i].size, dims, 2, flags, &at),
                         checks[i].good);
    assert_true(expr_check_all(checks[10].code, 6, dims, 2, flags, &at));
    assert_int_equal(flags[0], EXPR_START | EXPR_INPUT | EXPR_HOST);
    uint8_t deep[2 * 33 + 33];
    for (int i = 0; i < 33; i++) memcpy(deep + 2 * i, (uint8_t[]){ADX_SYMBOL, 0}, 2);
    memset(deep + 66, ADX_ADD, 32);
    deep[98] = ADX_END;
    assert_false(expr_check_all(deep, sizeof deep, dims, 2, (uint8_t[99]){0}, &at));
    assert_int_equal(at, 64); // the 33rd operand

    static const struct {
        uint8_t op;
        int64_t x, y, value;
        bool good;
    } cases[] = {
        {ADX_ADD, 2, 3, 5, true},
        {ADX_ADD, INT64_MAX, 1, 0, false},
        {ADX_MUL, -4, 5, -20, true},
        {ADX_MUL, INT64_MAX, 2, 0, false},
        {ADX_FLOOR_DIV, 7, 2, 3, true},
        {ADX_FLOOR_DIV, -7, 2, -4, true},
        {ADX_FLOOR_DIV, 7, -2, -4, true},
        {ADX_FLOOR_DIV, -8, 2, -4, true},
        {ADX_FLOOR_DIV, 5, 0, 0, true},
        {ADX_FLOOR_DIV, INT64_MIN, -1, 0, false},
        {ADX_FLOOR_MOD, 7, 3, 1, true},
        {ADX_FLOOR_MOD, -7, 3, 2, true},
        {ADX_FLOOR_MOD, 7, -3, -2, true},
        {ADX_FLOOR_MOD, 5, 0, 5, true},
        {ADX_FLOOR_MOD, INT64_MIN, -1, 0, true},
        {ADX_MIN, 3, -2, -2, true},
        {ADX_MAX, 3, -2, 3, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t code[] = {ADX_SYMBOL, 0, ADX_SYMBOL, 1, cases[i].op, ADX_END};
        int64_t result = 0, values[] = {cases[i].x, cases[i].y};
        assert_int_equal(expr_evaluate(code, values, &result), cases[i].good);
        if (cases[i].good) assert_int_equal(result, cases[i].value);
    }
    static const bool relations[6][3] = {{0, 1, 0}, {1, 0, 1}, {1, 0, 0},
                                         {1, 1, 0}, {0, 0, 1}, {0, 1, 1}};
    for (uint32_t relation = 0; relation < 6; relation++)
        for (int k = 0; k < 3; k++)
            assert_int_equal(expr_compare(relation, k, 1), relations[relation][k]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),    cmocka_unit_test(headers), cmocka_unit_test(sections),
        cmocka_unit_test(records), cmocka_unit_test(flips),   cmocka_unit_test(expressions),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
