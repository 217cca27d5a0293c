#include "runtime/self_test.h"
#include "runtime/error.h"
#include "runtime/file_write.h"
#include "runtime/format.h"
#include "runtime/pipeline.h"
#include "runtime/pipeline_cache.h"
#include "runtime/self_test_code.h"
#include "runtime/source.h"
#include "runtime/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 128, LAYOUTS_MAX = 16, CASES_MAX = DEVICE_FRAGMENTS_MAX + LAYOUTS_MAX + 1 };

typedef struct Case {
    TestCode code;
    uint32_t fragment;            // that fails with it, DEVICE_FRAGMENTS_MAX: none
    uint64_t features;            // that fail with it
    uint32_t at[TEST_ADDRESSES];  // offsets of its buffers
    uint32_t buffers;             // the last is the result
    uint32_t result_size, wanted; // bytes of the result; offset of what it must be, in `host`
    VkPipeline pipeline;          // VK_NULL_HANDLE: the driver did not make it
} Case;

typedef struct Test {
    AdeptDevice *device;
    Case *cases;
    uint32_t count;
    uint8_t *host; // image of the device's memory, then what the results must be
    uint32_t size, room;
    Memory memory;
    VkPipelineLayout layout;
} Test;

// What failed, one bit an index or a feature.
typedef struct Outcome {
    uint64_t fragments, features;
} Outcome;

// ---- numbers ---------------------------------------------------------------------------------

static uint32_t dtype_size(uint8_t dtype) {
    return adept_dtype_size((AdeptDType)dtype);
}

// An integer that the dtype holds exactly.
static void put_number(uint8_t dtype, int32_t number, uint8_t *to) {
    float real = (float)number;
    uint32_t bits, word = (uint32_t)number;
    memcpy(&bits, &real, sizeof bits);
    if (dtype == ADX_F32) word = bits;
    if (dtype == ADX_BF16) word = bits >> 16;
    if (dtype == ADX_F16)
        word = (bits >> 16 & 0x8000) |
               (number ? ((bits >> 23 & 0xFF) - 112) << 10 | (bits >> 13 & 0x3FF) : 0);
    memcpy(to, &word, dtype_size(dtype)); // little-endian, as Vulkan's devices and our hosts are
}

static uint32_t scramble(uint32_t at) {
    at = (at ^ at >> 16) * 0x7FEB352Du;
    at = (at ^ at >> 15) * 0x846CA68Bu;
    return at ^ at >> 16;
}

// All sums are exact: f16 holds integers up to 2048.
static int32_t factor(uint8_t dtype, uint32_t at) {
    int32_t number = (int32_t)(scramble(at) & 0xFF);
    if (dtype == ADX_U8) return number;
    if (dtype == ADX_I8) return number - 128;
    return number % 8 - 4;
}

static int32_t addend(uint8_t dtype, uint32_t at) {
    uint32_t number = scramble(at);
    if (dtype == ADX_F16) return (int32_t)(number % 201) - 100;
    return (int32_t)(number % 100001) - (dtype == ADX_U32 ? 0 : 50000);
}

// ---- cases -----------------------------------------------------------------------------------

// Room for bytes of the image, zeroed; UINT32_MAX without memory.
static uint32_t take(Test *t, uint32_t size) {
    uint32_t at = t->size;
    if (at + size + 16 > t->room) {
        uint32_t room = 2 * (at + size) + 4096;
        uint8_t *host = realloc(t->host, room);
        if (!host) return UINT32_MAX;
        memset(host + t->room, 0, room - t->room);
        t->host = host;
        t->room = room;
    }
    t->size = (at + size + 15) & ~15u;
    return at;
}

static Case *add_case(Test *t, const uint32_t *sizes, uint32_t buffers) {
    Case *made = &t->cases[t->count];
    *made = (Case){.fragment = DEVICE_FRAGMENTS_MAX, .buffers = buffers};
    for (uint32_t i = 0; i < buffers; i++)
        if ((made->at[i] = take(t, sizes[i])) == UINT32_MAX) return NULL;
    made->result_size = sizes[buffers - 1];
    if ((made->wanted = take(t, made->result_size)) == UINT32_MAX) return NULL;
    t->count++;
    return made;
}

static bool add_product(Test *t, uint32_t index) {
    const DeviceFragment *f = &t->device->caps.fragments[index];
    if (f->m > SIDE_MAX || f->n > SIDE_MAX || f->k > SIDE_MAX) return true; // no kernel takes it
    uint32_t ab = dtype_size(f->ab), acc = dtype_size(f->acc);
    uint32_t sizes[] = {f->m * f->k * ab, f->k * f->n * ab, f->m * f->n * acc, f->m * f->n * acc};
    Case *made = add_case(t, sizes, 4);
    if (!made) return false;
    made->fragment = index;
    test_code_product(f, t->device->caps.subgroup_size, &made->code);
    for (uint32_t i = 0; i < f->m * f->k; i++)
        put_number(f->ab, factor(f->ab, i), t->host + made->at[0] + i * ab);
    for (uint32_t i = 0; i < f->k * f->n; i++)
        put_number(f->ab, factor(f->ab, ~i), t->host + made->at[1] + i * ab);
    for (uint32_t i = 0; i < f->m * f->n; i++) {
        uint32_t row = i / f->n, column = i % f->n;
        int32_t sum = addend(f->acc, i);
        put_number(f->acc, sum, t->host + made->at[2] + i * acc);
        for (uint32_t k = 0; k < f->k; k++)
            sum += factor(f->ab, row * f->k + k) * factor(f->ab, ~(k * f->n + column));
        put_number(f->acc, sum, t->host + made->wanted + i * acc);
    }
    return true;
}

uint32_t self_test_quads(bool is_b, uint32_t columns, uint32_t lane, uint32_t component) {
    uint32_t group = lane / 4, pair = 2 * (lane % 4) + (component & 1);
    if (columns == 8) return (group + 8 * (component >> 1 & 1)) * 8 + pair;
    uint32_t across = pair + 8 * (component >> 1 & 1), along = group + 8 * (component >> 2 & 1);
    return is_b ? across * 16 + along : along * 16 + across;
}

uint32_t self_test_columns(bool is_b, uint32_t lane, uint32_t component) {
    return is_b ? lane * 8 + component : component * 8 + lane;
}

// Numbers 0, 1, 2, .. row by row, taken apart.
static bool add_layout(Test *t, uint64_t feature, TestUse use, uint8_t dtype, uint32_t columns) {
    bool quads = feature == ADX_FEATURE_FRAGMENT_QUADS, is_b = use == TEST_B;
    uint32_t lanes = quads ? 32 : 8, rows = quads ? 16 : 8;
    uint32_t components = rows * columns / lanes, bytes = dtype_size(dtype);
    Case *made = add_case(t, (uint32_t[]){rows * columns * bytes, rows * columns * bytes}, 2);
    if (!made) return false;
    made->features = feature;
    test_code_layout(use, dtype, rows, columns, components, lanes, &made->code);
    for (uint32_t i = 0; i < rows * columns; i++) {
        uint32_t lane = i / components, component = i % components;
        uint32_t element = quads ? self_test_quads(is_b, columns, lane, component)
                                 : self_test_columns(is_b, lane, component);
        put_number(dtype, (int32_t)i, t->host + made->at[0] + i * bytes);
        put_number(dtype, (int32_t)element, t->host + made->wanted + i * bytes);
    }
    return true;
}

static bool lists(const DeviceCaps *caps, uint32_t m, uint32_t n, uint32_t k, uint8_t ab,
                  uint8_t acc) {
    for (uint32_t i = 0; i < caps->fragment_count; i++) {
        const DeviceFragment *f = &caps->fragments[i];
        if (f->m == m && f->n == n && f->k == k && f->ab == ab && f->acc == acc) return true;
    }
    return false;
}

// The layouts of square fragments, then of sums of half the columns.
static bool add_layouts(Test *t, uint64_t feature) {
    const DeviceCaps *caps = &t->device->caps;
    uint32_t side = feature == ADX_FEATURE_FRAGMENT_QUADS ? 16 : 8;
    bool good = true;
    if (!(caps->features & feature)) return true;
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t ab = i ? ADX_BF16 : ADX_F16;
        if (!lists(caps, side, side, side, ab, ADX_F32)) continue;
        good = good && add_layout(t, feature, TEST_A, ab, side) &&
               add_layout(t, feature, TEST_B, ab, side);
        if (i == 0) good = good && add_layout(t, feature, TEST_ACC, ADX_F32, side);
    }
    if (lists(caps, side, side, side, ADX_F16, ADX_F16))
        good = good && add_layout(t, feature, TEST_ACC, ADX_F16, side);
    if (side == 16 && lists(caps, 16, 8, 16, ADX_F16, ADX_F32))
        good = good && add_layout(t, feature, TEST_ACC, ADX_F32, 8);
    return good;
}

typedef struct Rounding {
    uint32_t f32;
    uint16_t f16;
} Rounding;

// Ties, both sides of them, the ends of the range; then results below 2^-14.
static const Rounding to_normal[] = {
    {0x3F800000, 0x3C00}, {0x3F801000, 0x3C00}, {0x3F801001, 0x3C01}, {0x3F802FFF, 0x3C01},
    {0x3F803000, 0x3C02}, {0xBF801000, 0xBC00}, {0xBF803000, 0xBC02}, {0x477FE000, 0x7BFF},
    {0x477FEFFF, 0x7BFF}, {0x477FF000, 0x7C00}, {0xC77FF000, 0xFC00}, {0x49742400, 0x7C00},
    {0x7F800000, 0x7C00}, {0xFF800000, 0xFC00}, {0x00000000, 0x0000}, {0x38800000, 0x0400},
};
static const Rounding to_subnormal[] = {
    {0x38000000, 0x0200}, {0x33800000, 0x0001}, {0x33000000, 0x0000}, {0x33000001, 0x0001},
    {0x33C00000, 0x0002}, {0x387FC000, 0x03FF}, {0x387FE000, 0x0400}, {0x387FDFFF, 0x03FF},
    {0xB3800000, 0x8001}, {0xB8000000, 0x8200}, {0x35800000, 0x0010}, {0x358C0000, 0x0012},
};

// One value an invocation; the rest of the subgroup repeats them.
static bool add_rounding(Test *t, uint64_t feature, const Rounding *list, uint32_t count) {
    uint32_t lanes = t->device->caps.subgroup_size;
    if (!(t->device->caps.features & feature)) return true;
    for (uint32_t first = 0; first < count; first += lanes) {
        Case *made = add_case(t, (uint32_t[]){4 * lanes, 2 * lanes}, 2);
        if (!made) return false;
        made->features = feature;
        test_code_rounding(t->device->caps.features, lanes, &made->code);
        for (uint32_t i = 0; i < lanes; i++) {
            const Rounding *one = &list[(first + i) % count];
            memcpy(t->host + made->at[0] + 4 * i, &one->f32, 4);
            memcpy(t->host + made->wanted + 2 * i, &one->f16, 2);
        }
    }
    return true;
}

static uint32_t rounding_cases(const DeviceCaps *caps) {
    uint32_t values = (sizeof to_normal + sizeof to_subnormal) / sizeof(Rounding);
    return values / (caps->subgroup_size ? caps->subgroup_size : 1) + 2;
}

static bool add_cases(Test *t) {
    const DeviceCaps *caps = &t->device->caps;
    if (caps->features & ADX_FEATURE_COOPERATIVE_MATRIX) {
        for (uint32_t i = 0; i < caps->fragment_count; i++)
            if (!add_product(t, i)) return false;
        if (!add_layouts(t, ADX_FEATURE_FRAGMENT_QUADS) ||
            !add_layouts(t, ADX_FEATURE_FRAGMENT_COLUMNS))
            return false;
    }
    uint64_t f16 = ADX_FEATURE_FLOAT16 | ADX_FEATURE_STORAGE16;
    if ((caps->features & f16) != f16) return true;
    return add_rounding(t, ADX_FEATURE_ROUNDING_RTE16, to_normal,
                        sizeof to_normal / sizeof *to_normal) &&
           add_rounding(t, ADX_FEATURE_DENORM_PRESERVE16, to_subnormal,
                        sizeof to_subnormal / sizeof *to_subnormal);
}

// ---- on the device ---------------------------------------------------------------------------

// A driver that does not make the pipeline fails the case; only want of memory is an error.
static AdeptResult make_pipeline(Test *t, Case *one, AdeptError *error) {
    uint32_t subgroup = t->device->caps.subgroup_size;
    PipelineCode code = {one->code.word, one->code.count, subgroup, subgroup};
    const char *call;
    VkResult made =
        pipeline_make(t->device, &code, t->layout, VK_NULL_HANDLE, &one->pipeline, &call);
    bool memory = made == VK_ERROR_OUT_OF_HOST_MEMORY || made == VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return memory ? vk_error(error, made, call) : ADEPT_OK;
}

static AdeptResult make_pipelines(Test *t, AdeptError *error) {
    AdeptDevice *device = t->device;
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 8 * TEST_ADDRESSES};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &range};
    VkResult made = device->vk.CreatePipelineLayout(device->handle, &info, NULL, &t->layout);
    if (made) {
        t->layout = VK_NULL_HANDLE;
        return vk_error(error, made, "CreatePipelineLayout");
    }
    AdeptResult result = ADEPT_OK;
    for (uint32_t i = 0; !result && i < t->count; i++)
        result = make_pipeline(t, &t->cases[i], error);
    return result;
}

static void record(void *user, VkCommandBuffer commands) {
    const Test *t = user;
    const VkTable *vk = &t->device->vk;
    for (uint32_t i = 0; i < t->count; i++) {
        const Case *one = &t->cases[i];
        uint64_t address[TEST_ADDRESSES] = {0};
        if (!one->pipeline) continue;
        for (uint32_t k = 0; k < one->buffers; k++) address[k] = t->memory.address + one->at[k];
        vk->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, one->pipeline);
        vk->CmdPushConstants(commands, t->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof address,
                             address);
        vk->CmdDispatch(commands, 1, 1, 1);
    }
}

static AdeptResult try_cases(Test *t, Outcome *outcome, AdeptError *error) {
    AdeptDevice *device = t->device;
    uint8_t *got = malloc(t->size);
    AdeptResult result = got ? ADEPT_OK : error_memory(error);
    if (!result) result = memory_create(device, t->size, MEMORY_TENSORS, &t->memory, error);
    if (!result) result = make_pipelines(t, error);
    if (!result) result = transfer_write(device, &t->memory, 0, t->host, t->size, error);
    if (!result) result = transfer_run(device, record, t, error);
    if (!result) result = transfer_read(device, &t->memory, 0, got, t->size, error);
    for (uint32_t i = 0; !result && i < t->count; i++) {
        const Case *one = &t->cases[i];
        const uint8_t *found = got + one->at[one->buffers - 1];
        if (one->pipeline && memcmp(found, t->host + one->wanted, one->result_size) == 0) continue;
        outcome->features |= one->features;
        if (one->fragment < DEVICE_FRAGMENTS_MAX)
            outcome->fragments |= UINT64_C(1) << one->fragment;
    }
    free(got);
    return result;
}

static void close_test(Test *t) {
    AdeptDevice *device = t->device;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->cases[i].pipeline)
            device->vk.DestroyPipeline(device->handle, t->cases[i].pipeline, NULL);
    if (t->layout) device->vk.DestroyPipelineLayout(device->handle, t->layout, NULL);
    memory_destroy(device, &t->memory);
    free(t->cases);
    free(t->host);
}

// ---- the outcome -----------------------------------------------------------------------------

enum { VERSION = 2, FILE_SIZE = 32 + sizeof(Outcome) + 32 }; // key, outcome, hash of both

static void outcome_key(const DeviceCaps *caps, uint8_t key[32]) {
    struct {
        uint8_t uuid[VK_UUID_SIZE];
        uint64_t features;
        uint32_t version, vendor, device, driver, subgroup, count;
        DeviceFragment fragments[DEVICE_FRAGMENTS_MAX];
    } claims;
    memset(&claims, 0, sizeof claims);
    memcpy(claims.uuid, caps->cache_uuid, sizeof claims.uuid);
    memcpy(claims.fragments, caps->fragments, caps->fragment_count * sizeof *caps->fragments);
    claims.features = caps->features;
    claims.version = VERSION;
    claims.vendor = caps->vendor;
    claims.device = caps->device;
    claims.driver = caps->driver_version;
    claims.subgroup = caps->subgroup_size;
    claims.count = caps->fragment_count;
    adx_sha256((const uint8_t *)&claims, sizeof claims, key);
}

static bool outcome_load(const char *path, const uint8_t key[32], Outcome *outcome) {
    uint8_t bytes[FILE_SIZE], hash[32];
    Source source;
    if (!path || source_open(&source, path, NULL)) return false;
    bool good = source.size == FILE_SIZE && !source_read(&source, 0, bytes, FILE_SIZE, NULL);
    source_close(&source);
    if (!good) return false;
    adx_sha256(bytes, FILE_SIZE - 32, hash);
    if (memcmp(bytes, key, 32) != 0 || memcmp(bytes + FILE_SIZE - 32, hash, 32) != 0) return false;
    memcpy(outcome, bytes + 32, sizeof *outcome);
    return true;
}

static void outcome_store(const char *path, const uint8_t key[32], const Outcome *outcome) {
    uint8_t bytes[FILE_SIZE];
    FileWrite file;
    if (!path) return;
    memcpy(bytes, key, 32);
    memcpy(bytes + 32, outcome, sizeof *outcome);
    adx_sha256(bytes, FILE_SIZE - 32, bytes + FILE_SIZE - 32);
    cache_make_folders(path);
    if (file_write_start(&file, path, NULL)) return;
    fwrite(bytes, 1, FILE_SIZE, file.stream);
    (void)file_write_finish(&file, 1, NULL);
}

static void name_failed(AdeptDeviceInfo *info, const char *words) {
    size_t used = strlen(info->failed);
    snprintf(info->failed + used, sizeof info->failed - used, "%s%s", used ? ", " : "", words);
}

static void take_outcome(AdeptDevice *device, const Outcome *outcome) {
    DeviceCaps *caps = &device->caps;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < caps->fragment_count; i++) {
        const DeviceFragment *f = &caps->fragments[i];
        char words[64];
        snprintf(words, sizeof words, "%ux%ux%u fragments of %s with %s", f->m, f->n, f->k,
                 adept_dtype_name((AdeptDType)f->ab), adept_dtype_name((AdeptDType)f->acc));
        if (outcome->fragments >> i & 1)
            name_failed(&device->info, words);
        else
            caps->fragments[kept++] = *f;
    }
    caps->fragment_count = kept;
    caps->features &= ~outcome->features;
    if (outcome->features & (ADX_FEATURE_FRAGMENT_QUADS | ADX_FEATURE_FRAGMENT_COLUMNS))
        name_failed(&device->info, "places of fragment components");
    if (outcome->features & ADX_FEATURE_ROUNDING_RTE16)
        name_failed(&device->info, "rounding to f16");
    if (outcome->features & ADX_FEATURE_DENORM_PRESERVE16)
        name_failed(&device->info, "subnormal f16");
}

AdeptResult self_test(AdeptDevice *device, AdeptError *error) {
    const uint64_t needed = ADX_FEATURE_SPIRV16 | ADX_FEATURE_MEMORY_MODEL;
    const char *wanted = getenv("ADEPT_SELF_TEST");
    bool always = wanted && strcmp(wanted, "1") == 0;
    if ((wanted && strcmp(wanted, "0") == 0) || (device->caps.features & needed) != needed)
        return ADEPT_OK;
    Test test = {.device = device};
    Outcome outcome = {0};
    uint8_t key[32];
    outcome_key(&device->caps, key);
    char *path = cache_path(NULL, key, ".selftest");
    AdeptResult result = ADEPT_OK;
    if (always || !outcome_load(path, key, &outcome)) {
        test.cases = calloc(CASES_MAX + rounding_cases(&device->caps), sizeof *test.cases);
        if (!test.cases || !add_cases(&test)) result = error_memory(error);
        if (!result && test.count > 0) result = try_cases(&test, &outcome, error);
        if (!result && test.count > 0) outcome_store(path, key, &outcome);
        close_test(&test);
    }
    if (!result) take_outcome(device, &outcome);
    free(path);
    return result;
}
