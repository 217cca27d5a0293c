#include "tests/support/device_check.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "frontend/load.h"
#include "frontend/pipeline.h"
#include "frontend/spirv_tools.h"
#include "frontend/targets.h"
#include "ir/number.h"
#include "runtime/adept.h"
#include "runtime/prepare.h"
#include "runtime/safetensors.h"

enum { PORTS_MAX = 64, SYMBOLS = 64 };

struct DeviceModel {
    const char *name, *text;
    Diags *diags;
    Graph *graph;
    bool strict;
    uint32_t kernels;
    AdeptModel *model;
    AdeptSession *session;
    Tensor out[PORTS_MAX];
};

// The one device of the process, and what went by SPIRV-Tools.
static AdeptDevice *device;
static struct {
    unsigned models, modules, unknown;
    Text listed;
} seen;

void device_check_report(void) {
    printf("%u models, %u modules valid for SPIRV-Tools, %u newer than it\n%s", seen.models,
           seen.modules - seen.unknown, seen.unknown, seen.listed.data ? seen.listed.data : "");
    text_free(&seen.listed);
    adept_device_close(device);
    device = NULL;
}

static void expect(const DeviceModel *m, bool good, const char *what, const char *detail) {
    if (good) return;
    Text text = {0};
    if (m->diags) diags_render(m->diags, &text);
    fail_msg("%s: %s: %s %s\n%s", m->name, what, detail, text.data ? text.data : "", m->text);
}

static void expect_ok(const DeviceModel *m, AdeptResult result, const char *what,
                      const AdeptError *error) {
    expect(m, result == ADEPT_OK, what, error->detail);
}

// ---- compiling -------------------------------------------------------------------------------

static void validate(const DeviceModel *m, const Pipeline *pipeline) {
    for (uint32_t i = 0; i < pipeline->modules.count; i++) {
        Text why = {0};
        SpirvVerdict verdict = spirv_validate(&pipeline->modules.at[i], &why);
        expect(m, verdict != SPIRV_INVALID, "not valid SPIR-V", why.data ? why.data : "");
        seen.modules++;
        if (verdict == SPIRV_UNKNOWN) {
            seen.unknown++;
            text_printf(&seen.listed, "  %s, kernel %s: %s\n", m->name,
                        pipeline->program->kernels.at[i]->name, why.data);
        }
        text_free(&why);
    }
}

void device_eager_rates(Target *target) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16, DT_I8, DT_U8};
    target->memory_rate = target->transpose_rate = 1000000000;
    target->dispatch_time = 1000000;
    target->products = sizeof dtypes / sizeof dtypes[0];
    for (uint32_t i = 0; i < target->products; i++)
        target->product[i] = (ProductRate){dtypes[i], 1000, 1};
}

static void compile(DeviceModel *m, const DeviceOptions *options, Text *package) {
    Pipeline pipeline;
    PipelineOptions settings = pipeline_options();
    Target target;
    target_of_device(device, &target);
    if (options->eager) device_eager_rates(&target);
    settings.passes.verify_each = true;
    settings.passes.disable = options->disable;
    settings.passes.strict_rounding = options->strict;
    settings.passes.winograd = options->winograd;
    settings.math = options->math;
    settings.family = options->family, settings.schedule = options->schedule;
    Diags *own = m->diags;
    bool good = pipeline_open(&pipeline, &settings, &target);
    m->diags = pipeline.diags;
    good = good && pipeline_load_text(&pipeline, m->name, m->text, strlen(m->text)) &&
           pipeline_package(&pipeline, true, package);
    expect(m, good, "does not compile", "");
    validate(m, &pipeline);
    m->kernels = pipeline.program->kernels.len;
    m->diags = own;
    pipeline_close(&pipeline);
}

// ---- weights ---------------------------------------------------------------------------------

// "{*}" becomes the part, "{i}" the trip of the repeat that counts with that name.
static void expand_key(const Graph *g, const char *key, const int64_t *symbols, int64_t part,
                       Text *out) {
    for (const char *close; *key; key = close + 1) {
        const char *open = strchr(key, '{');
        close = open ? strchr(open, '}') : NULL;
        if (!close) {
            text_put(out, key);
            return;
        }
        text_write(out, key, (size_t)(open - key));
        if (open[1] == '*') text_printf(out, "%" PRId64, part);
        for (uint32_t i = 0; i < dim_symbol_count(g->dims); i++) {
            const char *name = dim_symbol_name(g->dims, i);
            if (strlen(name) == (size_t)(close - open - 1) &&
                memcmp(name, open + 1, strlen(name)) == 0)
                text_printf(out, "%" PRId64, symbols[i]);
        }
    }
}

// Element i of a part of a param: by the value's name, what kind of numbers, by its key, which.
static double weight_sample(const Value *value, const char *key, int64_t i) {
    return device_sample(value->name, value->type.dtype, hash_bytes(1, key, strlen(key)), i);
}

typedef struct WeightFile {
    const Graph *g;
    Arena *arena;
    VEC(SafetensorsItem) items;
} WeightFile;

static void add_weight(WeightFile *file, const Node *node, const int64_t *symbols, int64_t part) {
    static const SafetensorsDType dtypes[DT_COUNT] = {
        [DT_F32] = SAFETENSORS_F32, [DT_F16] = SAFETENSORS_F16,  [DT_BF16] = SAFETENSORS_BF16,
        [DT_I32] = SAFETENSORS_I32, [DT_U32] = SAFETENSORS_U32,  [DT_I8] = SAFETENSORS_I8,
        [DT_U8] = SAFETENSORS_U8,   [DT_BOOL] = SAFETENSORS_BOOL};
    const Value *value = graph_value(file->g, node->result[0]);
    DType dtype = value->type.dtype;
    Text key = {0};
    expand_key(file->g, node->decl->key, symbols, part, &key);
    SafetensorsItem item = {.name = arena_strdup(file->arena, key.data), .dtype = dtypes[dtype]};
    int64_t elements = 1;
    for (uint32_t i = node->decl->stack; i < value->type.rank; i++) {
        int64_t size = 0;
        assert_true(dim_eval(file->g->dims, value->type.size[i], symbols, &size));
        item.shape[item.rank++] = (uint64_t)size;
        elements *= size;
    }
    unsigned step = dtype_bytes(dtype);
    uint8_t *data = arena_alloc(file->arena, (size_t)elements * step);
    for (int64_t i = 0; i < elements; i++)
        number_store(dtype, weight_sample(value, item.name, i), data + i * step);
    item.data = data;
    vec_push(file->arena, &file->items, item);
    text_free(&key);
}

// Once for each trip of the repeats around, from the innermost outwards.
static void add_trips(WeightFile *file, const Node *node, RegionId region, int64_t *symbols) {
    NodeId owner = file->g->regions.at[region].owner;
    if (owner) {
        const Node *repeat = graph_node(file->g, owner);
        uint64_t symbol = dim_symbols(file->g->dims, repeat->trip);
        for (int64_t i = repeat->lo; i < repeat->hi; i++) {
            symbols[__builtin_ctzll(symbol)] = i;
            add_trips(file, node, repeat->region, symbols);
        }
        return;
    }
    int64_t parts = 1;
    const Type *type = &graph_value(file->g, node->result[0])->type;
    if (node->decl->stack) assert_true(dim_eval(file->g->dims, type->size[0], symbols, &parts));
    for (int64_t part = 0; part < parts; part++) add_weight(file, node, symbols, part);
}

static void bind(DeviceModel *m) {
    WeightFile file = {.g = m->graph, .arena = arena_create()};
    int64_t symbols[SYMBOLS] = {0};
    const bool *live = graph_live_nodes(m->graph); // others are not in the package
    for (NodeId id = 1; id < m->graph->nodes.len; id++) {
        const Node *node = graph_node(m->graph, id);
        if (node->kind == NODE_OP && node->op == OP_PARAM && live[id])
            add_trips(&file, node, node->region, symbols);
    }
    if (file.items.len) {
        char path[] = "/tmp/adept-weights-XXXXXX";
        int handle = mkstemp(path);
        AdeptError error = {0};
        expect(m, handle >= 0, "no file for the weights", "");
        close(handle);
        expect_ok(m, safetensors_write(path, file.items.at, file.items.len, &error), "weights",
                  &error);
        AdeptResult bound = adept_model_bind(m->model, path, &error);
        unlink(path);
        expect_ok(m, bound, "bind", &error);
    }
    arena_destroy(file.arena);
}

// ---- opening ---------------------------------------------------------------------------------

static void device_need(const DeviceModel *m) {
    AdeptError error = {0};
    if (!device) expect_ok(m, adept_device_open(NULL, &device, &error), "no device", &error);
}

const Target *device_check_target(void) {
    static Target target;
    device_need(&(DeviceModel){.name = "target", .text = ""});
    target_of_device(device, &target);
    return &target;
}

DeviceModel *device_model_open(const char *name, const char *text, const DeviceOptions *options) {
    static const DeviceOptions defaults = {0};
    DeviceModel *m = memory_or_exit(calloc(1, sizeof *m));
    AdeptError error = {0};
    if (!options) options = &defaults;
    *m = (DeviceModel){.name = name, .text = text, .strict = options->strict};
    device_need(m);
    Text package = {0};
    compile(m, options, &package);
    m->diags = diags_create();
    expect(m, load_graph(name, text, strlen(text), NULL, m->diags, &m->graph), "does not load", "");
    AdeptModelOptions load = {.cache_dir = ""};
    expect_ok(m,
              adept_model_open_memory(device, package.data, package.len, &load, &m->model, &error),
              "package", &error);
    text_free(&package);
    if (options->staging) m->model->staging = options->staging;
    bind(m);
    expect_ok(m, adept_session_open(m->model, &m->session, &error), "session", &error);
    seen.models++;
    return m;
}

void device_model_close(DeviceModel *m) {
    for (uint32_t i = 0; i < PORTS_MAX; i++) free(m->out[i].data);
    adept_session_close(m->session);
    adept_model_close(m->model);
    graph_destroy(m->graph);
    diags_destroy(m->diags);
    free(m);
}

const Graph *device_model_graph(const DeviceModel *m) {
    return m->graph;
}

uint32_t device_model_kernels(const DeviceModel *m) {
    return m->kernels;
}

uint32_t device_model_parts(const DeviceModel *m, uint64_t staging, uint64_t *largest) {
    const Package *package = &m->model->package;
    uint32_t count = 0;
    *largest = 0;
    for (uint32_t i = 0; i < package->count[ADX_UNITS]; i++) {
        AdeptError error = {0};
        PrepareParts parts;
        expect_ok(m, prepare_split(package, i, staging, &parts, &error), "parts", &error);
        if (parts.largest > *largest) *largest = parts.largest;
        count += parts.count;
        prepare_parts_free(&parts);
    }
    return count;
}

// ---- running ---------------------------------------------------------------------------------

static int64_t elements_of(const AdeptTensor *tensor) {
    int64_t elements = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) elements *= tensor->shape[i];
    return elements;
}

static DType dtype_of(AdeptDType code) {
    DType dtype = DT_NONE;
    (void)dtype_from_name(adept_dtype_name(code), &dtype);
    return dtype;
}

static uint32_t make_inputs(DeviceModel *m, const int64_t *dims, uint64_t seed, AdeptTensor *in) {
    uint32_t count = 0;
    for (NodeId id = 1; id < m->graph->nodes.len; id++) {
        const Node *node = graph_node(m->graph, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        const Value *value = graph_value(m->graph, node->result[0]);
        AdeptPortInfo port = adept_model_port(m->model, ADEPT_INPUT, count);
        AdeptTensor *tensor = &in[count++];
        *tensor = (AdeptTensor){.name = port.name, .dtype = port.dtype, .rank = port.rank};
        assert_string_equal(port.name, value->name);
        for (uint32_t i = 0; i < port.rank; i++)
            assert_true(dim_eval(m->graph->dims, value->type.size[i], dims, &tensor->shape[i]));
        int64_t elements = elements_of(tensor);
        unsigned step = dtype_bytes(value->type.dtype);
        tensor->size = (uint64_t)elements * step;
        uint8_t *data = memory_or_exit(malloc(tensor->size + 1));
        for (int64_t i = 0; i < elements; i++)
            number_store(value->type.dtype, device_sample(value->name, value->type.dtype, seed, i),
                         data + i * step);
        tensor->data = data;
    }
    return count;
}

static void take_output(Tensor *out, const AdeptTensor *from) {
    *out = (Tensor){.dtype = dtype_of(from->dtype), .rank = (uint8_t)from->rank, .data = out->data};
    for (uint32_t i = 0; i < from->rank; i++) out->size[i] = from->shape[i];
    out->elements = elements_of(from);
    free(out->data);
    out->data = memory_or_exit(malloc((size_t)out->elements * sizeof *out->data + 1));
    for (int64_t i = 0; i < out->elements; i++)
        out->data[i] = number_load(out->dtype, (char *)from->data + i * dtype_bytes(out->dtype));
}

const Tensor *device_model_run(DeviceModel *m, const int64_t *dims, uint64_t seed) {
    AdeptTensor in[PORTS_MAX], out[PORTS_MAX];
    AdeptError error = {0};
    for (uint32_t i = 0; i < adept_model_dim_count(m->model); i++) {
        AdeptDimInfo dim = adept_model_dim(m->model, i);
        for (uint32_t k = 0; k < dim_symbol_count(m->graph->dims); k++)
            if (strcmp(dim_symbol_name(m->graph->dims, k), dim.name) == 0)
                expect_ok(m, adept_session_set_dim(m->session, dim.name, dims[k], &error), dim.name,
                          &error);
    }
    expect_ok(m, adept_session_reset(m->session, &error), "reset", &error);
    uint32_t inputs = make_inputs(m, dims, seed, in);
    uint32_t outputs = adept_model_port_count(m->model, ADEPT_OUTPUT);
    assert_int_equal(outputs, m->graph->outputs.len);
    for (uint32_t i = 0; i < outputs; i++) {
        out[i] = (AdeptTensor){.name = adept_model_port(m->model, ADEPT_OUTPUT, i).name};
        assert_string_equal(out[i].name, m->graph->outputs.at[i].name);
        expect_ok(m, adept_session_output(m->session, in, inputs, &out[i], &error), "shape",
                  &error);
        out[i].data = memory_or_exit(malloc(out[i].size + 1));
        memset(out[i].data, 0xcd, out[i].size);
    }
    expect_ok(m, adept_session_run(m->session, in, inputs, out, outputs, &error), "run", &error);
    for (uint32_t i = 0; i < outputs; i++) {
        take_output(&m->out[i], &out[i]);
        free(out[i].data);
    }
    for (uint32_t i = 0; i < inputs; i++) free(in[i].data);
    return m->out;
}

// ---- the evaluator ---------------------------------------------------------------------------

struct Reference {
    const Graph *graph;
    Diags *diags;
    Eval *eval;
    uint64_t seed;
    bool magnitudes, flushed;
};

static void fetch_weight(const Reference *r, const Node *node, const int64_t *symbols,
                         Tensor *out) {
    int64_t parts = node->decl->stack ? out->size[0] : 1;
    for (int64_t part = 0; part < parts; part++) {
        Text key = {0};
        int64_t elements = out->elements / parts;
        expand_key(r->graph, node->decl->key, symbols, part, &key);
        for (int64_t i = 0; i < elements; i++)
            out->data[part * elements + i] =
                weight_sample(graph_value(r->graph, node->result[0]), key.data, i);
        text_free(&key);
    }
}

static bool fetch(void *user, ValueId source, const int64_t *symbols, Tensor *out) {
    const Reference *r = user;
    const Node *node = graph_node(r->graph, graph_value(r->graph, source)->node);
    const char *name = graph_value(r->graph, source)->name;
    if (node->op == OP_PARAM) fetch_weight(r, node, symbols, out);
    for (int64_t i = 0; i < out->elements; i++) {
        double *value = &out->data[i];
        if (node->op == OP_STATE) *value = node->decl->fill;
        if (node->op == OP_INPUT) *value = device_sample(name, out->dtype, r->seed, i);
        if (r->magnitudes && out->dtype != DT_BOOL) *value = fabs(*value);
        if (r->flushed && dtype_is_float(out->dtype) && fabs(*value) < 0x1p-126)
            *value = copysign(0, *value);
    }
    return true;
}

Reference *reference_open(const Graph *graph, const int64_t *dims, uint64_t seed, bool strict,
                          bool magnitudes, bool flushed) {
    Reference *r = memory_or_exit(calloc(1, sizeof *r));
    *r = (Reference){graph, diags_create(), NULL, seed, magnitudes, flushed};
    EvalOptions options = {.symbols = dims, .fetch = fetch, .user = r, .strict_rounding = strict};
    r->eval = eval_create(graph, &options, r->diags);
    if (!r->eval || !eval_run(r->eval)) {
        Text text = {0};
        diags_render(r->diags, &text);
        fail_msg("evaluator: %s", text.data ? text.data : "?");
    }
    return r;
}

const Tensor *reference_output(const Reference *r, uint32_t output) {
    return eval_output(r->eval, output);
}

void reference_close(Reference *r) {
    eval_destroy(r->eval);
    diags_destroy(r->diags);
    free(r);
}

// ---- comparing -------------------------------------------------------------------------------

static void report(const DeviceModel *m, const int64_t *dims, uint64_t seed, uint32_t output,
                   int64_t at, double got, double want, double sums) {
    Text text = {0};
    const Tensor *tensor = &m->out[output];
    text_printf(&text, "%s:", m->name);
    for (uint32_t i = 0; i < dim_symbol_count(m->graph->dims); i++)
        text_printf(&text, " %s=%" PRId64, dim_symbol_name(m->graph->dims, i), dims[i]);
    text_printf(&text, " seed %" PRIu64 ": %s[", seed, m->graph->outputs.at[output].name);
    int64_t index[RANK_MAX], rest = at;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        index[i] = rest % tensor->size[i];
        rest /= tensor->size[i];
    }
    for (int i = 0; i < tensor->rank; i++)
        text_printf(&text, "%s%" PRId64, i ? ", " : "", index[i]);
    text_printf(&text, "] is %.9g (%a), not %.9g (%a); magnitude %.9g\n%s", got, got, want, want,
                sums, m->text);
    fail_msg("%s", text.data);
}

static bool has_subnormals(const DeviceModel *m) {
    for (NodeId id = 1; id < m->graph->nodes.len; id++) {
        const Node *node = graph_node(m->graph, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        if (strncmp(graph_value(m->graph, node->result[0])->name, "any", 3) == 0) return true;
    }
    return false;
}

void device_model_check(DeviceModel *m, const int64_t *dims, uint64_t seed, const Bound *bound) {
    bool sums = false;
    for (uint32_t i = 0; i < m->graph->outputs.len; i++)
        sums = sums || bound[i].sums > 0 || bound[i].rounds > 0;
    const Tensor *got = device_model_run(m, dims, seed);
    Reference *plain = reference_open(m->graph, dims, seed, m->strict, false, false);
    Reference *size = sums ? reference_open(m->graph, dims, seed, m->strict, true, false) : NULL;
    Reference *flushed =
        has_subnormals(m) ? reference_open(m->graph, dims, seed, m->strict, false, true) : NULL;
    for (uint32_t i = 0; i < m->graph->outputs.len; i++) {
        const Tensor *want = reference_output(plain, i);
        const Tensor *magnitude = size ? reference_output(size, i) : NULL;
        const Tensor *other = flushed ? reference_output(flushed, i) : NULL;
        assert_int_equal(got[i].dtype, want->dtype);
        assert_int_equal(got[i].elements, want->elements);
        for (int64_t k = 0; k < want->elements; k++) {
            double x = got[i].data[k], y = want->data[k];
            double s = magnitude ? magnitude->data[k] : 0;
            if (bound_holds(&bound[i], want->dtype, x, y, s)) continue;
            if (other && !bound[i].bits &&
                bound_holds(&bound[i], want->dtype, x, other->data[k], s))
                continue;
            // A comparison may see zero where the value itself is passed on.
            if (other && !bound[i].bits && dtype_is_float(want->dtype) &&
                (fabs(x - y) < 0x1p-126 || fabs(x - other->data[k]) < 0x1p-126))
                continue;
            report(m, dims, seed, i, k, x, y, s);
        }
    }
    reference_close(plain);
    if (size) reference_close(size);
    if (flushed) reference_close(flushed);
}
