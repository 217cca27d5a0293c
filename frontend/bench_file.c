// A whole model on a device: what a run takes by the host's clock, on the device, and by kernel.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/package_writer.h"
#include "frontend/bench.h"
#include "frontend/run_device.h"

enum { RUNS_LEAST = 21, RUNS_MOST = 1000 };
static const double time_enough = 0.2, time_most = 5; // seconds of runs by the host's clock

typedef struct ModelBench {
    BenchDevice *bench;
    Pipeline pipeline;
    DeviceRun run;
    int64_t *symbols; // of the graph's dims
    RandomPool pool;
    AdeptTensor *inputs, *outputs;
    uint32_t input_count, output_count;
} ModelBench;

static double now(void) {
    return bench_clock() * 1e-9;
}

// ---- dims ------------------------------------------------------------------------------------

static int usage(const char *format, const char *text) {
    fprintf(stderr, "adept: '--dim %s': %s\n", text, format);
    return CLI_USAGE;
}

// Dims that are not given have their least value, 1 at least where an input has it.
static int read_dims(ModelBench *m) {
    const DimTable *dims = m->pipeline.graph->dims;
    uint32_t count = dim_symbol_count(dims);
    m->symbols = arena_alloc(m->bench->arena, (count + 1) * sizeof *m->symbols);
    for (uint32_t i = 0; i < count; i++) {
        int64_t low = dim_bounds(dims, dim_symbol_at(dims, i)).lo;
        bool shape = dim_symbol_source(dims, i) == DIM_FROM_INPUT;
        m->symbols[i] = shape && low < 1 ? 1 : low;
    }
    const CliList *given = &m->bench->options->dims;
    for (uint32_t i = 0; i < given->len; i++) {
        const char *name, *text;
        int64_t value;
        if (!cli_split(m->bench->arena, given->at[i], &name, &text) || !cli_int(text, &value))
            return usage("NAME=SIZE is wanted", given->at[i]);
        bool found = false;
        for (uint32_t s = 0; s < count; s++) {
            if (dim_symbol_source(dims, s) == DIM_TRIP || strcmp(dim_symbol_name(dims, s), name))
                continue;
            m->symbols[s] = value;
            found = true;
        }
        if (!found) return usage("the model has no such dim", given->at[i]);
    }
    return CLI_OK;
}

// Tells the session the dims that no input gives, `step` runs from the first.
static int set_dims(ModelBench *m, int64_t step) {
    const DimTable *dims = m->pipeline.graph->dims;
    AdeptError error = {0};
    for (uint32_t i = 0; i < adept_model_dim_count(m->run.model); i++) {
        AdeptDimInfo dim = adept_model_dim(m->run.model, i);
        for (uint32_t s = 0; !dim.from_input && s < dim_symbol_count(dims); s++)
            if (strcmp(dim_symbol_name(dims, s), dim.name) == 0 &&
                adept_session_set_dim(m->run.session, dim.name, m->symbols[s] + step, &error))
                return bench_fail(&error);
    }
    return CLI_OK;
}

// ---- tensors ---------------------------------------------------------------------------------

static int make_input(ModelBench *m, const Node *node, AdeptTensor *tensor) {
    const Graph *graph = m->pipeline.graph;
    const Value *value = graph_value(graph, node->result[0]);
    uint64_t elements = 1;
    *tensor = (AdeptTensor){
        .name = node->decl->host_name ? node->decl->host_name : value->name,
        .dtype = (AdeptDType)package_dtype(value->type.dtype),
        .rank = value->type.rank,
    };
    for (uint32_t axis = 0; axis < tensor->rank; axis++) {
        if (!dim_eval(graph->dims, value->type.size[axis], m->symbols, &tensor->shape[axis]) ||
            tensor->shape[axis] < 0)
            return cli_fail(CLI_INPUT, "the size of an input overflows");
        elements *= (uint64_t)tensor->shape[axis];
    }
    tensor->name = arena_strdup(m->bench->arena, tensor->name);
    tensor->size = elements * adept_dtype_size(tensor->dtype);
    tensor->data = arena_alloc(m->bench->arena, tensor->size);
    RandomRing ring;
    random_ring_open(&m->pool, value->type.dtype, 1, 0, elements, &ring);
    random_ring_read(&ring, random_number(node->result[0]), 0, tensor->data, tensor->size);
    random_ring_close(&ring);
    return CLI_OK;
}

static int make_inputs(ModelBench *m) {
    const Graph *graph = m->pipeline.graph;
    m->inputs = arena_alloc(m->bench->arena, graph->nodes.len * sizeof *m->inputs);
    for (NodeId id = 1; id < graph->nodes.len; id++) {
        const Node *node = graph_node(graph, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        int code = make_input(m, node, &m->inputs[m->input_count++]);
        if (code != CLI_OK) return code;
    }
    return CLI_OK;
}

static int make_outputs(ModelBench *m) {
    AdeptError error = {0};
    m->output_count = adept_model_port_count(m->run.model, ADEPT_OUTPUT);
    m->outputs = arena_alloc(m->bench->arena, (m->output_count + 1) * sizeof *m->outputs);
    for (uint32_t i = 0; i < m->output_count; i++) {
        AdeptTensor *tensor = &m->outputs[i];
        tensor->name = adept_model_port(m->run.model, ADEPT_OUTPUT, i).name;
        if (adept_session_output(m->run.session, m->inputs, m->input_count, tensor, &error))
            return bench_fail(&error);
        tensor->data = arena_alloc(m->bench->arena, tensor->size);
    }
    return CLI_OK;
}

// ---- loading ---------------------------------------------------------------------------------

static int load(ModelBench *m, const char *path) {
    const BenchOptions *options = m->bench->options;
    PipelineOptions own = options->pipeline;
    Text package = {0};
    bool good = pipeline_open(&m->pipeline, &own, own.target ? NULL : &m->bench->target) &&
                pipeline_load(&m->pipeline, path);
    int code = good ? CLI_OK : CLI_INPUT;
    if (code == CLI_OK) code = read_dims(m);
    if (code == CLI_OK) code = make_inputs(m);
    double start = now();
    if (code == CLI_OK && !pipeline_package(&m->pipeline, false, &package)) code = CLI_INPUT;
    double compiled = now();
    if (pipeline_report(&m->pipeline) != CLI_OK) code = CLI_INPUT;
    if (code == CLI_OK) {
        m->run.device = m->bench->device;
        code = device_run_load(&m->run, NULL, package.data, package.len, options->weights,
                               options->random_weights);
    }
    if (code == CLI_OK)
        printf("compiled in %.1f ms, loaded in %.1f ms\n", (compiled - start) * 1e3,
               (now() - compiled) * 1e3);
    text_free(&package);
    if (code == CLI_OK) code = set_dims(m, 0);
    return code == CLI_OK ? make_outputs(m) : code;
}

// ---- time ------------------------------------------------------------------------------------

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Runs with all tensors on the host's side, as a program would that reads each result. With --steps
// the dims that no input gives grow by one from run to run.
static int host_time(ModelBench *m) {
    int64_t steps = m->bench->options->steps;
    double spent[RUNS_MOST], total = 0;
    uint32_t count = 0;
    AdeptError error = {0};
    for (int64_t i = -1; i < (steps ? steps : RUNS_MOST); i++) { // the first only warms up
        if (!steps && total > time_enough && (count >= RUNS_LEAST || total > time_most)) break;
        int code = steps && i >= 0 ? set_dims(m, i) : CLI_OK;
        if (code != CLI_OK) return code;
        double start = now();
        if (adept_session_run(m->run.session, m->inputs, m->input_count, m->outputs,
                              m->output_count, &error))
            return bench_fail(&error);
        if (i < 0) continue;
        double one = now() - start;
        total += one;
        if (count < RUNS_MOST) spent[count++] = one;
    }
    qsort(spent, count, sizeof *spent, compare);
    printf("run, with its transfers: median %.3f ms, least %.3f ms of %u\n", spent[count / 2] * 1e3,
           spent[0] * 1e3, count);
    if (steps)
        printf("%lld steps: %.3f ms, %.1f a second\n", (long long)steps, total * 1e3,
               (double)steps / total);
    return CLI_OK;
}

// Copies of the tensors on the device.
static int move_tensors(ModelBench *m, AdeptTensor *tensors, uint32_t count,
                        AdeptBuffer **buffers) {
    AdeptError error = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = tensors[i].size ? tensors[i].size : 1;
        if (adept_buffer_create(m->bench->device, size, &buffers[i], &error) ||
            (tensors[i].size &&
             adept_buffer_write(buffers[i], 0, tensors[i].data, tensors[i].size, &error)))
            return bench_fail(&error);
        tensors[i].buffer = buffers[i];
        tensors[i].data = NULL;
    }
    return CLI_OK;
}

static int device_time(ModelBench *m) {
    Arena *arena = m->bench->arena;
    uint32_t count = m->input_count + m->output_count;
    AdeptTensor *tensors = arena_alloc(arena, (count + 1) * sizeof *tensors);
    AdeptBuffer **buffers = arena_alloc(arena, (count + 1) * sizeof *buffers);
    BenchTimes times;
    AdeptTimedRun run = {m->run.session, tensors, tensors + m->input_count, m->input_count,
                         m->output_count};
    if (m->input_count) memcpy(tensors, m->inputs, m->input_count * sizeof *tensors);
    for (uint32_t i = 0; i < m->output_count; i++) tensors[m->input_count + i] = m->outputs[i];
    int code = move_tensors(m, tensors, count, buffers);
    if (code == CLI_OK) code = bench_time(m->bench->device, &run, 1, false, &times);
    if (code == CLI_OK)
        printf("run on the device: median %.2f us, least %.2f us\n", times.median, times.least);
    for (uint32_t i = 0; i < count; i++) adept_buffer_destroy(buffers[i]);
    return code;
}

static int kernel_times(ModelBench *m) {
    AdeptError error = {0};
    Text text = {0};
    if (adept_session_profile(m->run.session, true, &error)) return bench_fail(&error);
    for (uint32_t i = 0; i < 3; i++)
        if (adept_session_run(m->run.session, m->inputs, m->input_count, m->outputs,
                              m->output_count, &error))
            return bench_fail(&error);
    device_run_profile(&m->run, &text);
    fflush(stdout);
    int code = cli_print(&text);
    text_free(&text);
    return code;
}

int bench_file(BenchDevice *bench, const char *path) {
    ModelBench m = {.bench = bench};
    printf("device: %s\n", adept_device_info(bench->device)->name);
    int code = load(&m, path);
    if (code == CLI_OK) code = host_time(&m);
    if (code == CLI_OK) code = device_time(&m);
    if (code == CLI_OK) code = kernel_times(&m);
    m.run.device = NULL; // the bench's
    device_run_close(&m.run);
    pipeline_close(&m.pipeline);
    random_pool_close(&m.pool);
    return code;
}
