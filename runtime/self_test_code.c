#include "runtime/self_test_code.h"
#include "runtime/format.h"

#include <assert.h>
#include <string.h>

// Numbers of the SPIR-V specification (1.6, and SPV_KHR_cooperative_matrix, SPV_KHR_bfloat16).
enum {
    OP_EXTENSION = 10,
    OP_MEMORY_MODEL = 14,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_VOID = 19,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_TYPE_FUNCTION = 33,
    OP_CONSTANT = 43,
    OP_FUNCTION = 54,
    OP_FUNCTION_END = 56,
    OP_VARIABLE = 59,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_ACCESS_CHAIN = 65,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_COMPOSITE_EXTRACT = 81,
    OP_F_CONVERT = 115,
    OP_BITCAST = 124,
    OP_I_ADD = 128,
    OP_I_MUL = 132,
    OP_LABEL = 248,
    OP_RETURN = 253,
    OP_TYPE_MATRIX = 4456,
    OP_MATRIX_LOAD = 4457,
    OP_MATRIX_STORE = 4458,
    OP_MATRIX_MUL_ADD = 4459,

    CAPABILITY_SHADER = 1,
    CAPABILITY_FLOAT16 = 9,
    CAPABILITY_INT16 = 22,
    CAPABILITY_INT8 = 39,
    CAPABILITY_GROUP_NON_UNIFORM = 61,
    CAPABILITY_STORAGE16 = 4433,
    CAPABILITY_STORAGE8 = 4448,
    CAPABILITY_DENORM_PRESERVE = 4464,
    CAPABILITY_ROUNDING_RTE = 4467,
    CAPABILITY_BFLOAT16_TYPE = 5116,
    CAPABILITY_BFLOAT16_MATRIX = 5118,
    CAPABILITY_MEMORY_MODEL = 5345,
    CAPABILITY_PHYSICAL_ADDRESSES = 5347,
    CAPABILITY_MATRIX = 6022,

    STORAGE_INPUT = 1,
    STORAGE_PUSH_CONSTANT = 9,
    STORAGE_PHYSICAL = 5349,

    MODE_LOCAL_SIZE = 17,
    MODE_DENORM_PRESERVE = 4459,
    MODE_ROUNDING_RTE = 4462,

    DECORATION_BLOCK = 2,
    DECORATION_ARRAY_STRIDE = 6,
    DECORATION_BUILT_IN = 11,
    DECORATION_OFFSET = 35,

    BUILT_IN_SUBGROUP_INVOCATION = 41,
    SCOPE_SUBGROUP = 3,
    ALIGNED = 2,
    BFLOAT16_ENCODING = 0
};

enum { // of every module; ids that a module does not define are not used
    ID_MAIN = 1,
    ID_VOID,
    ID_FUNCTION_TYPE,
    ID_U32,
    ID_F32,
    ID_F16,
    ID_BF16,
    ID_U16,
    ID_U8,
    ID_PUSH,
    ID_PUSH_POINTER,
    ID_PUSH_VARIABLE,
    ID_LANE_POINTER,
    ID_LANE_VARIABLE,
    ID_BUFFER,                             // of each address: struct, array, pointer to it,
    ID_ARRAY = ID_BUFFER + TEST_ADDRESSES, // pointer to an element, pointer to the pointer
    ID_BUFFER_POINTER = ID_ARRAY + TEST_ADDRESSES,
    ID_ELEMENT_POINTER = ID_BUFFER_POINTER + TEST_ADDRESSES,
    ID_ADDRESS_POINTER = ID_ELEMENT_POINTER + TEST_ADDRESSES,
    ID_NUMBER = ID_ADDRESS_POINTER + TEST_ADDRESSES, // constants 0..NUMBERS-1
    NUMBERS = 129,
    ID_NEXT = ID_NUMBER + NUMBERS
};

typedef struct Writer {
    TestCode *code;
    uint32_t next;                   // id
    uint8_t element[TEST_ADDRESSES]; // dtypes of the buffers
    uint32_t buffers;
    bool lane; // SubgroupLocalInvocationId is read
} Writer;

static void put_words(Writer *w, uint32_t op, const uint32_t *words, uint32_t count) {
    TestCode *code = w->code;
    assert(code->count + count + 1 <= TEST_WORDS_MAX);
    code->word[code->count++] = (count + 1) << 16 | op;
    if (count > 0) memcpy(code->word + code->count, words, count * sizeof *words);
    code->count += count;
}

#define PUT(w, op, ...)                                                                            \
    put_words(w, op, (const uint32_t[]){__VA_ARGS__},                                              \
              sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define BARE(w, op) put_words(w, op, NULL, 0)

// An instruction whose operands are `before`, then a string, then `after`.
static void put_string(Writer *w, uint32_t op, const uint32_t *before, uint32_t count,
                       const char *text, const uint32_t *after, uint32_t after_count) {
    uint32_t words[24] = {0}, length = (uint32_t)strlen(text) / 4 + 1;
    if (count > 0) memcpy(words, before, count * sizeof *words);
    for (uint32_t i = 0; text[i]; i++)
        words[count + i / 4] |= (uint32_t)(uint8_t)text[i] << i % 4 * 8;
    if (after_count > 0) memcpy(words + count + length, after, after_count * sizeof *words);
    put_words(w, op, words, count + length + after_count);
}

// ---- types -----------------------------------------------------------------------------------

static uint32_t bytes_of(uint8_t dtype) {
    switch (dtype) {
    case ADX_F16:
    case ADX_BF16: return 2;
    case ADX_I8:
    case ADX_U8: return 1;
    default: return 4;
    }
}

// In registers, and in memory, where bf16 is 16 bits without a meaning.
static uint32_t register_type(uint8_t dtype) {
    switch (dtype) {
    case ADX_F16: return ID_F16;
    case ADX_BF16: return ID_BF16;
    case ADX_I8:
    case ADX_U8: return ID_U8;
    case ADX_F32: return ID_F32;
    default: return ID_U32;
    }
}

static uint32_t memory_type(uint8_t dtype) {
    return dtype == ADX_BF16 ? ID_U16 : register_type(dtype);
}

static bool uses(const Writer *w, uint32_t type) {
    for (uint32_t i = 0; i < w->buffers; i++)
        if (register_type(w->element[i]) == type || memory_type(w->element[i]) == type) return true;
    return false;
}

static void capabilities(Writer *w, bool matrix, uint64_t features) {
    PUT(w, OP_CAPABILITY, CAPABILITY_SHADER);
    PUT(w, OP_CAPABILITY, CAPABILITY_MEMORY_MODEL);
    PUT(w, OP_CAPABILITY, CAPABILITY_PHYSICAL_ADDRESSES);
    if (matrix) PUT(w, OP_CAPABILITY, CAPABILITY_MATRIX);
    if (w->lane) PUT(w, OP_CAPABILITY, CAPABILITY_GROUP_NON_UNIFORM);
    if (uses(w, ID_F16)) PUT(w, OP_CAPABILITY, CAPABILITY_FLOAT16);
    if (uses(w, ID_F16) || uses(w, ID_U16)) PUT(w, OP_CAPABILITY, CAPABILITY_STORAGE16);
    if (uses(w, ID_U16)) PUT(w, OP_CAPABILITY, CAPABILITY_INT16);
    if (uses(w, ID_U8)) {
        PUT(w, OP_CAPABILITY, CAPABILITY_INT8);
        PUT(w, OP_CAPABILITY, CAPABILITY_STORAGE8);
    }
    if (uses(w, ID_BF16)) {
        PUT(w, OP_CAPABILITY, CAPABILITY_BFLOAT16_TYPE);
        PUT(w, OP_CAPABILITY, CAPABILITY_BFLOAT16_MATRIX);
    }
    if (features & ADX_FEATURE_ROUNDING_RTE16) PUT(w, OP_CAPABILITY, CAPABILITY_ROUNDING_RTE);
    if (features & ADX_FEATURE_DENORM_PRESERVE16) PUT(w, OP_CAPABILITY, CAPABILITY_DENORM_PRESERVE);
    if (matrix) put_string(w, OP_EXTENSION, NULL, 0, "SPV_KHR_cooperative_matrix", NULL, 0);
    if (uses(w, ID_BF16)) put_string(w, OP_EXTENSION, NULL, 0, "SPV_KHR_bfloat16", NULL, 0);
}

static void entry_point(Writer *w, uint32_t subgroup, uint64_t features) {
    PUT(w, OP_MEMORY_MODEL, 5348, 3); // PhysicalStorageBuffer64, Vulkan
    put_string(w, OP_ENTRY_POINT, (const uint32_t[]){5, ID_MAIN}, 2, "main",
               (const uint32_t[]){ID_PUSH_VARIABLE, ID_LANE_VARIABLE}, w->lane ? 2 : 1);
    PUT(w, OP_EXECUTION_MODE, ID_MAIN, MODE_LOCAL_SIZE, subgroup, 1, 1);
    if (features & ADX_FEATURE_ROUNDING_RTE16)
        PUT(w, OP_EXECUTION_MODE, ID_MAIN, MODE_ROUNDING_RTE, 16);
    if (features & ADX_FEATURE_DENORM_PRESERVE16)
        PUT(w, OP_EXECUTION_MODE, ID_MAIN, MODE_DENORM_PRESERVE, 16);
    PUT(w, OP_DECORATE, ID_PUSH, DECORATION_BLOCK);
    for (uint32_t i = 0; i < w->buffers; i++) {
        PUT(w, OP_MEMBER_DECORATE, ID_PUSH, i, DECORATION_OFFSET, 8 * i);
        PUT(w, OP_DECORATE, ID_BUFFER + i, DECORATION_BLOCK);
        PUT(w, OP_MEMBER_DECORATE, ID_BUFFER + i, 0, DECORATION_OFFSET, 0);
        PUT(w, OP_DECORATE, ID_ARRAY + i, DECORATION_ARRAY_STRIDE, bytes_of(w->element[i]));
    }
    if (w->lane)
        PUT(w, OP_DECORATE, ID_LANE_VARIABLE, DECORATION_BUILT_IN, BUILT_IN_SUBGROUP_INVOCATION);
}

static void scalar_types(Writer *w) {
    PUT(w, OP_TYPE_VOID, ID_VOID);
    PUT(w, OP_TYPE_FUNCTION, ID_FUNCTION_TYPE, ID_VOID);
    PUT(w, OP_TYPE_INT, ID_U32, 32, 0);
    if (uses(w, ID_F32)) PUT(w, OP_TYPE_FLOAT, ID_F32, 32);
    if (uses(w, ID_F16)) PUT(w, OP_TYPE_FLOAT, ID_F16, 16);
    if (uses(w, ID_BF16)) PUT(w, OP_TYPE_FLOAT, ID_BF16, 16, BFLOAT16_ENCODING);
    if (uses(w, ID_U16)) PUT(w, OP_TYPE_INT, ID_U16, 16, 0);
    if (uses(w, ID_U8)) PUT(w, OP_TYPE_INT, ID_U8, 8, 0);
}

// Everything before the body of main; `numbers` constants from 0 on are defined.
static void begin(Writer *w, uint32_t subgroup, bool matrix, uint64_t features,
                  const uint32_t *numbers, uint32_t count) {
    w->code->count = 5; // the header, written at the end
    w->next = ID_NEXT;
    capabilities(w, matrix, features);
    entry_point(w, subgroup, features);
    scalar_types(w);
    bool defined[NUMBERS] = {false};
    for (uint32_t i = 0; i < count; i++) {
        assert(numbers[i] < NUMBERS);
        if (!defined[numbers[i]]) PUT(w, OP_CONSTANT, ID_U32, ID_NUMBER + numbers[i], numbers[i]);
        defined[numbers[i]] = true;
    }
    uint32_t members[1 + TEST_ADDRESSES] = {ID_PUSH};
    for (uint32_t i = 0; i < w->buffers; i++) {
        uint32_t element = memory_type(w->element[i]);
        PUT(w, OP_TYPE_RUNTIME_ARRAY, ID_ARRAY + i, element);
        PUT(w, OP_TYPE_STRUCT, ID_BUFFER + i, ID_ARRAY + i);
        PUT(w, OP_TYPE_POINTER, ID_BUFFER_POINTER + i, STORAGE_PHYSICAL, ID_BUFFER + i);
        PUT(w, OP_TYPE_POINTER, ID_ELEMENT_POINTER + i, STORAGE_PHYSICAL, element);
        PUT(w, OP_TYPE_POINTER, ID_ADDRESS_POINTER + i, STORAGE_PUSH_CONSTANT,
            ID_BUFFER_POINTER + i);
        members[1 + i] = ID_BUFFER_POINTER + i;
    }
    put_words(w, OP_TYPE_STRUCT, members, 1 + w->buffers);
    PUT(w, OP_TYPE_POINTER, ID_PUSH_POINTER, STORAGE_PUSH_CONSTANT, ID_PUSH);
    PUT(w, OP_VARIABLE, ID_PUSH_POINTER, ID_PUSH_VARIABLE, STORAGE_PUSH_CONSTANT);
    if (w->lane) {
        PUT(w, OP_TYPE_POINTER, ID_LANE_POINTER, STORAGE_INPUT, ID_U32);
        PUT(w, OP_VARIABLE, ID_LANE_POINTER, ID_LANE_VARIABLE, STORAGE_INPUT);
    }
}

static void begin_main(Writer *w) {
    PUT(w, OP_FUNCTION, ID_VOID, ID_MAIN, 0, ID_FUNCTION_TYPE);
    PUT(w, OP_LABEL, w->next++);
}

static void end(Writer *w) {
    static const uint32_t magic = 0x07230203, version = 0x00010600;
    BARE(w, OP_RETURN);
    BARE(w, OP_FUNCTION_END);
    memcpy(w->code->word, (const uint32_t[]){magic, version, 0, w->next, 0}, 5 * sizeof magic);
}

// Pointer to an element of a buffer; `index` is an id.
static uint32_t element_at(Writer *w, uint32_t buffer, uint32_t index) {
    uint32_t pointer = w->next++, address = w->next++, element = w->next++;
    PUT(w, OP_ACCESS_CHAIN, ID_ADDRESS_POINTER + buffer, pointer, ID_PUSH_VARIABLE,
        ID_NUMBER + buffer);
    PUT(w, OP_LOAD, ID_BUFFER_POINTER + buffer, address, pointer);
    PUT(w, OP_ACCESS_CHAIN, ID_ELEMENT_POINTER + buffer, element, address, ID_NUMBER, index);
    return element;
}

// ---- fragments -------------------------------------------------------------------------------

static uint32_t matrix_type(Writer *w, TestUse use, uint8_t dtype, uint32_t rows,
                            uint32_t columns) {
    uint32_t type = w->next++;
    PUT(w, OP_TYPE_MATRIX, type, register_type(dtype), ID_NUMBER + SCOPE_SUBGROUP, ID_NUMBER + rows,
        ID_NUMBER + columns, ID_NUMBER + use);
    return type;
}

static uint32_t row_alignment(uint8_t dtype, uint32_t columns) {
    uint32_t bytes = columns * bytes_of(dtype);
    return bytes < 16 ? bytes : 16;
}

static uint32_t matrix_load(Writer *w, uint32_t type, uint32_t buffer, uint32_t columns) {
    uint32_t pointer = element_at(w, buffer, ID_NUMBER), value = w->next++;
    PUT(w, OP_MATRIX_LOAD, type, value, pointer, ID_NUMBER /* row by row */, ID_NUMBER + columns,
        ALIGNED, row_alignment(w->element[buffer], columns));
    return value;
}

void test_code_product(const DeviceFragment *f, uint32_t subgroup, TestCode *code) {
    Writer w = {.code = code, .element = {f->ab, f->ab, f->acc, f->acc}, .buffers = 4};
    begin(&w, subgroup, true, 0, (const uint32_t[]){0, 1, 2, 3, f->m, f->n, f->k}, 7);
    uint32_t a = matrix_type(&w, TEST_A, f->ab, f->m, f->k);
    uint32_t b = matrix_type(&w, TEST_B, f->ab, f->k, f->n);
    uint32_t c = matrix_type(&w, TEST_ACC, f->acc, f->m, f->n);
    begin_main(&w);
    uint32_t x = matrix_load(&w, a, 0, f->k), y = matrix_load(&w, b, 1, f->n);
    uint32_t sum = matrix_load(&w, c, 2, f->n), result = w.next++;
    uint32_t sign = f->ab == ADX_I8 ? 1 | 2 : 0; // of A and B
    if (f->acc == ADX_I32) sign |= 4 | 8;        // of C and the result
    if (sign)
        PUT(&w, OP_MATRIX_MUL_ADD, c, result, x, y, sum, sign);
    else
        PUT(&w, OP_MATRIX_MUL_ADD, c, result, x, y, sum);
    uint32_t to = element_at(&w, 3, ID_NUMBER);
    PUT(&w, OP_MATRIX_STORE, to, result, ID_NUMBER, ID_NUMBER + f->n, ALIGNED,
        row_alignment(f->acc, f->n));
    end(&w);
}

void test_code_layout(TestUse use, uint8_t dtype, uint32_t rows, uint32_t columns,
                      uint32_t components, uint32_t subgroup, TestCode *code) {
    Writer w = {.code = code, .element = {dtype, dtype}, .buffers = 2, .lane = true};
    uint32_t numbers[6 + 16] = {0, 1, 2, 3, rows, columns};
    assert(components <= 16);
    for (uint32_t i = 0; i < components; i++) numbers[6 + i] = i + 1;
    begin(&w, subgroup, true, 0, numbers, 6 + components);
    uint32_t type = matrix_type(&w, use, dtype, rows, columns);
    begin_main(&w);
    uint32_t fragment = matrix_load(&w, type, 0, columns), lane = w.next++, first = w.next++;
    PUT(&w, OP_LOAD, ID_U32, lane, ID_LANE_VARIABLE);
    PUT(&w, OP_I_MUL, ID_U32, first, lane, ID_NUMBER + components);
    for (uint32_t i = 0; i < components; i++) {
        uint32_t value = w.next++, index = w.next++;
        PUT(&w, OP_COMPOSITE_EXTRACT, register_type(dtype), value, fragment, i);
        PUT(&w, OP_I_ADD, ID_U32, index, first, ID_NUMBER + i);
        if (dtype == ADX_BF16) {
            uint32_t bits = w.next++;
            PUT(&w, OP_BITCAST, ID_U16, bits, value);
            value = bits;
        }
        uint32_t to = element_at(&w, 1, index);
        PUT(&w, OP_STORE, to, value, ALIGNED, bytes_of(dtype));
    }
    end(&w);
}

void test_code_rounding(uint64_t features, uint32_t subgroup, TestCode *code) {
    Writer w = {.code = code, .element = {ADX_F32, ADX_F16}, .buffers = 2, .lane = true};
    begin(&w, subgroup, false, features, (const uint32_t[]){0, 1}, 2);
    begin_main(&w);
    uint32_t lane = w.next++, wide = w.next++, narrow = w.next++;
    PUT(&w, OP_LOAD, ID_U32, lane, ID_LANE_VARIABLE);
    uint32_t from = element_at(&w, 0, lane), to = element_at(&w, 1, lane);
    PUT(&w, OP_LOAD, ID_F32, wide, from, ALIGNED, 4);
    PUT(&w, OP_F_CONVERT, ID_F16, narrow, wide);
    PUT(&w, OP_STORE, to, narrow, ALIGNED, 2);
    end(&w);
}
