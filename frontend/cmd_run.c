// adept run MODEL: a model file or package, on a device or on the evaluator.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frontend/commands.h"
#include "frontend/file.h"
#include "frontend/load.h"
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/run_device.h"
#include "frontend/targets.h"
#include "runtime/package.h"

typedef struct Options {
    PipelineOptions pipeline;
    const char *weights, *random_weights, *device;
    CliList in, out, dims;
    CliSizes sizes; // of dims
    int64_t repeat;
    bool check, profile;
} Options;

enum { REPEAT_MAX = 1000000 };

static const CliOption options_table[] = {
    {"weights", 'w', CLI_TEXT, offsetof(Options, weights), "FILE",
     "Weights: .safetensors, or an index of shards"},
    {"random-weights", 0, CLI_TEXT, offsetof(Options, random_weights), "SEED",
     "Weights made from this number"},
    {"in", 'i', CLI_LIST, offsetof(Options, in), "NAME=FILE",
     "An input: .npy, or .npz (alone: all its members)"},
    {"out", 'o', CLI_LIST, offsetof(Options, out), "NAME=FILE", "Where an output goes: .npy"},
    {"dim", 0, CLI_LIST, offsetof(Options, dims), "NAME=SIZE", "A dim that no input's shape gives"},
    {"device", 0, CLI_TEXT, offsetof(Options, device), "D",
     "Number or part of the name, or \"reference\" for the evaluator"},
    {"check", 0, CLI_FLAG, offsetof(Options, check), NULL, "Compare outputs with the evaluator"},
    {"profile", 0, CLI_FLAG, offsetof(Options, profile), NULL,
     "Print time by kernel and source line"},
    {"repeat", 0, CLI_NUMBER, offsetof(Options, repeat), "N", "Run N times and print the time"},
    PIPELINE_OPTIONS(Options, pipeline),
    {0},
};

// What a run works on. `graph_text` is the model before the passes, empty when a package was
// stripped.
typedef struct Run {
    Arena *arena;
    const Options *options;
    const char *path;
    bool is_package;
    Text graph_text;
    ArrayVec inputs, outputs;
} Run;

static int report(Diags *diags) {
    Text text = {0};
    diags_render(diags, &text);
    if (text.len > 0) fwrite(text.data, 1, text.len, stderr);
    text_free(&text);
    return diags_error_count(diags) > 0 ? CLI_INPUT : CLI_OK;
}

static bool is_package(const char *path) {
    char magic[8] = {0};
    uint64_t size = 0;
    Text error = {0}; // what cannot be read is for the reader that it will be given to
    int file = strcmp(path, "-") ? file_open(path, &size, &error) : -1;
    bool same = file >= 0 && size >= sizeof magic &&
                file_read_at(file, path, 0, magic, sizeof magic, &error) &&
                memcmp(magic, ADX_MAGIC, sizeof magic) == 0;
    if (file >= 0) close(file);
    text_free(&error);
    const char *dot = strrchr(path, '.');
    return same || (dot && strcmp(dot, ".adx") == 0);
}

// ---- on a device -----------------------------------------------------------------------------

static int compile_and_load(Run *run, DeviceRun *device) {
    Target target;
    Pipeline pipeline;
    Text package = {0};
    target_of_device(device->device, &target);
    bool own = run->options->pipeline.target == NULL;
    bool good = pipeline_open(&pipeline, &run->options->pipeline, own ? &target : NULL) &&
                pipeline_load(&pipeline, run->path) && pipeline_package(&pipeline, false, &package);
    int code = pipeline_report(&pipeline);
    if (!good && code == CLI_OK) code = CLI_INPUT;
    if (code == CLI_OK)
        code = device_run_load(device, NULL, package.data, package.len, run->options->weights,
                               run->options->random_weights);
    text_write(&run->graph_text, pipeline.source.data, pipeline.source.len);
    text_free(&package);
    pipeline_close(&pipeline);
    return code;
}

// The model's graph, which a package carries along.
static int read_graph(Run *run) {
    Source source = {0};
    Package package = {0};
    AdeptError error = {0};
    AdeptResult result = source_open(&source, run->path, &error);
    if (!result) result = package_read(&package, &source, &error);
    source_close(&source);
    if (result) return cli_fail(CLI_INPUT, error.detail);
    if (package.graph) text_write(&run->graph_text, package.graph, package.count[ADX_GRAPH]);
    package_close(&package);
    return CLI_OK;
}

static uint32_t times_of(const Options *options) {
    return options->repeat > 0 ? (uint32_t)options->repeat : 1;
}

static int run_on_device(Run *run) {
    const Options *options = run->options;
    DeviceRun device;
    RunTimes times = {0};
    int code = device_run_open(&device, options->device);
    if (code != CLI_OK) return code;
    printf("device: %s\n", adept_device_info(device.device)->name);
    fflush(stdout); // before what may stand on standard error
    if (run->is_package)
        code =
            device_run_load(&device, run->path, NULL, 0, options->weights, options->random_weights);
    else
        code = compile_and_load(run, &device);
    if (code == CLI_OK)
        code = device_run(&device, run->arena, &options->sizes, &run->inputs, times_of(options),
                          options->profile, &run->outputs, &times);
    if (code == CLI_OK && options->repeat > 0)
        printf("%u runs: least %.3f ms, median %.3f ms\n", times.count, times.least, times.median);
    if (code == CLI_OK && times.differs) {
        printf("run %u gave other bits than the first\n", times.differs + 1);
        code = CLI_CHECK;
    }
    if (code == CLI_OK && options->profile) {
        Text text = {0};
        device_run_profile(&device, &text);
        fwrite(text.data, 1, text.len, stdout);
        text_free(&text);
    }
    device_run_close(&device);
    return code;
}

// ---- on the evaluator ------------------------------------------------------------------------

static int load_reference(Run *run, Diags *diags, Graph **graph) {
    if (run->is_package || run->graph_text.len > 0) {
        int code = run->graph_text.len > 0 ? CLI_OK : read_graph(run);
        if (code != CLI_OK) return code;
        if (run->graph_text.len == 0)
            return cli_fail(CLI_INPUT, "the package was stripped of the graph that the evaluator "
                                       "needs");
        return load_graph(run->path, run->graph_text.data, run->graph_text.len, NULL, diags, graph)
                   ? CLI_OK
                   : report(diags);
    }
    Pipeline pipeline;
    bool good = pipeline_open(&pipeline, &run->options->pipeline, NULL) &&
                pipeline_load(&pipeline, run->path);
    int code = pipeline_report(&pipeline);
    if (good) {
        *graph = pipeline.graph;
        pipeline.graph = NULL;
    }
    pipeline_close(&pipeline);
    return good ? CLI_OK : code == CLI_OK ? CLI_INPUT : code;
}

static int run_reference(Run *run, ArrayVec *outputs) {
    Diags *diags = diags_create();
    Graph *graph = NULL;
    int code = load_reference(run, diags, &graph);
    if (code == CLI_OK) {
        int64_t *symbols =
            arena_alloc(run->arena, (dim_symbol_count(graph->dims) + 1) * sizeof *symbols);
        ReferenceWeights weights = {run->options->weights, run->options->random_weights};
        bool good = reference_dims(graph, &run->inputs, &run->options->sizes, diags, symbols) &&
                    reference_run(run->arena, graph, &run->inputs, &weights, symbols,
                                  run->options->pipeline.passes.strict_rounding,
                                  times_of(run->options), diags, outputs);
        code = report(diags);
        if (!good && code == CLI_OK) code = CLI_INPUT;
    }
    graph_destroy(graph);
    diags_destroy(diags);
    return code;
}

static int check(Run *run) {
    ArrayVec wanted = {0};
    int code = run_reference(run, &wanted);
    bool ran = code == CLI_OK;
    for (uint32_t i = 0; ran && i < wanted.len; i++) {
        const NamedArray *got = arrays_find(&run->outputs, wanted.at[i].name);
        if (!got || got->array.count != wanted.at[i].array.count) {
            code = cli_fail(CLI_CHECK, "device and evaluator have different outputs");
            continue;
        }
        Difference difference = arrays_compare(got, &wanted.at[i]);
        printf("check %s: largest difference %g of %g%s\n", got->name, difference.largest,
               difference.scale, difference.within ? "" : ", too much");
        if (difference.within) continue;
        printf("  element %" PRIu64 ": %.9g, the evaluator says %.9g\n", difference.at,
               difference.got, difference.wanted);
        code = CLI_CHECK;
    }
    arrays_free(&wanted);
    return code;
}

// ---- the command -----------------------------------------------------------------------------

static int finish(Run *run) {
    Text text = {0};
    for (uint32_t i = 0; i < run->outputs.len; i++) arrays_describe(&run->outputs.at[i], &text);
    fflush(stdout);
    int code = cli_print(&text);
    text.len = 0;
    if (code == CLI_OK && !arrays_write(run->arena, &run->options->out, &run->outputs, &text))
        code = cli_fail(CLI_INPUT, text.data);
    text_free(&text);
    return code;
}

static int run_model(Arena *arena, const Options *options, const char *path) {
    Run run = {.arena = arena, .options = options, .path = path, .is_package = is_package(path)};
    bool on_reference = options->device && strcmp(options->device, "reference") == 0;
    Text error = {0};
    int code = CLI_OK;
    if (!arrays_read(arena, &options->in, &run.inputs, &error))
        code = cli_fail(CLI_INPUT, error.data);
    else
        code = on_reference ? run_reference(&run, &run.outputs) : run_on_device(&run);
    if (code == CLI_OK) code = finish(&run);
    if (code == CLI_OK && options->check && !on_reference) code = check(&run);
    arrays_free(&run.inputs);
    arrays_free(&run.outputs);
    text_free(&run.graph_text);
    text_free(&error);
    return code;
}

// Whether an output would be written over what the run reads.
static bool replaces(Arena *arena, const Options *options, const char *model) {
    const char *name, *out, *in;
    for (uint32_t i = 0; i < options->out.len; i++) {
        if (!cli_split(arena, options->out.at[i], &name, &out)) continue;
        const char *read[] = {model, options->weights, options->pipeline.target};
        for (unsigned k = 0; k < sizeof read / sizeof *read; k++)
            if (read[k] && file_same(read[k], out)) return true;
        for (uint32_t k = 0; k < options->in.len; k++) {
            if (!cli_split(arena, options->in.at[k], &name, &in)) in = options->in.at[k];
            if (file_same(in, out)) return true;
        }
    }
    return false;
}

static int run(int argc, char **argv) {
    Arena *arena = arena_create();
    Options options = {.pipeline = pipeline_options()};
    CliList words = {0};
    Text error = {0};
    int code;
    if (!cli_parse(arena, options_table, argc, argv, &options, &words, &error) ||
        !cli_sizes(arena, &options.dims, &options.sizes, &error))
        code = cli_usage_error(&cmd_run, error.data);
    else if (words.len != 1)
        code = cli_usage_error(&cmd_run, "one model is wanted");
    else if (options.weights && options.random_weights)
        code = cli_usage_error(&cmd_run, "--weights and --random-weights exclude each other");
    else if (replaces(arena, &options, words.at[0]))
        code = cli_usage_error(&cmd_run, "an output would replace what the run reads");
    else if (options.repeat > REPEAT_MAX)
        code = cli_usage_error(&cmd_run, "--repeat is at most 1000000");
    else if ((options.pipeline.target || options.pipeline.defines.len) && is_package(words.at[0]))
        code = cli_usage_error(&cmd_run, "-D and --target are for model files; a package is "
                                         "compiled already");
    else
        code = run_model(arena, &options, words.at[0]);
    text_free(&error);
    arena_destroy(arena);
    return code;
}

const CliCommand cmd_run = {"run", "MODEL", "Run a model file or package", options_table, run};
