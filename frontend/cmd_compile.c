// adept compile MODEL and adept opt TEXT: from a text of any stage to a later one.
#include <stdlib.h>
#include <string.h>

#include "codegen/manifest.h"
#include "frontend/commands.h"
#include "frontend/file.h"
#include "frontend/pipeline.h"
#include "frontend/spirv_tools.h"

typedef struct Options {
    PipelineOptions pipeline;
    const char *output, *emit;
    CliList dims;
    CliSizes sizes; // of dims
    bool strip;
} Options;

static const CliOption options_table[] = {
    {"output", 'o', CLI_TEXT, offsetof(Options, output), "FILE",
     "Where the result goes; a folder for --emit=spirv"},
    {"emit", 0, CLI_TEXT, offsetof(Options, emit), "KIND",
     "package, spirv, spirv-asm, kernels, plan or graph"},
    {"dim", 0, CLI_LIST, offsetof(Options, dims), "NAME=SIZE",
     "A dim's size in the manifest of --emit=spirv"},
    {"strip", 0, CLI_FLAG, offsetof(Options, strip), NULL, "Leave the graph's text out"},
    PIPELINE_OPTIONS(Options, pipeline),
    {0},
};

typedef enum Emit {
    EMIT_GRAPH,
    EMIT_PLAN,
    EMIT_KERNELS,
    EMIT_SPIRV_ASM,
    EMIT_SPIRV,
    EMIT_PACKAGE,
} Emit;

static const char *const emit_names[] = {"graph", "plan",    "kernels", "spirv-asm",
                                         "spirv", "package", NULL};

static bool find_emit(const char *name, Emit *out, Text *error) {
    for (int i = 0; emit_names[i]; i++) {
        if (strcmp(emit_names[i], name) == 0) {
            *out = (Emit)i;
            return true;
        }
    }
    const char *near = nearest_name(name, emit_names);
    text_printf(error, "no '--emit=%s'", name);
    if (near) text_printf(error, "; did you mean '--emit=%s'?", near);
    return false;
}

// "models/lenet5.adp" gives "lenet5.adx".
static const char *package_name(Arena *arena, const char *input) {
    const char *slash = strrchr(input, '/');
    const char *base = strcmp(input, "-") == 0 ? "model" : slash ? slash + 1 : input;
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    return arena_printf(arena, "%.*s.adx", (int)stem, base);
}

static bool write_output(Pipeline *pipeline, const char *path, const void *bytes, size_t size) {
    Text error = {0};
    bool good = file_write(path, bytes, size, &error);
    if (!good) diag_error(pipeline->diags, (Span){0}, "%s", error.data);
    text_free(&error);
    return good;
}

static bool emit_assembly(Pipeline *pipeline, Text *out) {
    if (!pipeline_emit(pipeline)) return false;
    for (uint32_t i = 0; i < pipeline->modules.count; i++) {
        text_printf(out, "; kernel %s\n", pipeline->program->kernels.at[i]->name);
        if (!spirv_disassemble(&pipeline->modules.at[i], out)) {
            diag_error(pipeline->diags, (Span){0}, "kernel %s: SPIRV-Tools cannot read it",
                       pipeline->program->kernels.at[i]->name);
            return false;
        }
    }
    return true;
}

// ---- --emit=spirv ----------------------------------------------------------------------------

// Values of the model's dims, by symbol number; every one must be given.
static bool read_dims(Pipeline *pipeline, const CliSizes *list, int64_t *symbols) {
    const DimTable *dims = pipeline->graph->dims;
    uint32_t count = dim_symbol_count(dims);
    bool *given = arena_alloc(pipeline->arena, count * sizeof *given + 1);
    for (uint32_t i = 0; i < list->len; i++) {
        uint32_t symbol = 0;
        while (symbol < count && (dim_symbol_source(dims, symbol) == DIM_TRIP ||
                                  strcmp(dim_symbol_name(dims, symbol), list->at[i].name) != 0))
            symbol++;
        if (symbol == count) {
            diag_error(pipeline->diags, (Span){0}, "--dim %s: the model has no such dim",
                       list->at[i].name);
            return false;
        }
        symbols[symbol] = list->at[i].size;
        given[symbol] = true;
    }
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        if (given[i] || dim_symbol_source(dims, i) == DIM_TRIP) continue;
        diag_error(pipeline->diags, (Span){0}, "--emit=spirv writes numbers: give --dim %s=SIZE",
                   dim_symbol_name(dims, i));
        good = false;
    }
    return good;
}

static bool emit_spirv(Pipeline *pipeline, const Options *options) {
    if (!pipeline_emit(pipeline)) return false;
    int64_t *symbols = arena_alloc(pipeline->arena,
                                   (dim_symbol_count(pipeline->graph->dims) + 1) * sizeof *symbols);
    Text manifest = {0}, constants = {0}, error = {0};
    bool good =
        read_dims(pipeline, &options->sizes, symbols) &&
        manifest_write(pipeline->program, &pipeline->modules, symbols, pipeline->diags, &manifest);
    if (good && !file_make_folder(options->output, &error)) {
        diag_error(pipeline->diags, (Span){0}, "%s", error.data);
        good = false;
    }
    for (uint32_t i = 0; good && i < pipeline->modules.count; i++) {
        const SpirvModuleInfo *module = &pipeline->modules.at[i];
        const char *path = arena_printf(pipeline->arena, "%s/%s", options->output,
                                        manifest_file(pipeline->arena, pipeline->program, i));
        good = write_output(pipeline, path, module->words, module->count * sizeof *module->words);
    }
    manifest_constants(pipeline->program, &constants);
    if (good && constants.len)
        good = write_output(
            pipeline, arena_printf(pipeline->arena, "%s/" MANIFEST_CONSTANTS, options->output),
            constants.data, constants.len);
    good = good && write_output(pipeline,
                                arena_printf(pipeline->arena, "%s/manifest.json", options->output),
                                manifest.data, manifest.len);
    text_free(&constants);
    text_free(&manifest);
    text_free(&error);
    return good;
}

// ---- the commands ----------------------------------------------------------------------------

static bool emit(Pipeline *pipeline, const Options *options, Emit kind, const char *input) {
    Text out = {0};
    const char *path = options->output;
    bool good;
    switch (kind) {
    case EMIT_SPIRV: return emit_spirv(pipeline, options);
    case EMIT_SPIRV_ASM: good = emit_assembly(pipeline, &out); break;
    case EMIT_PACKAGE:
        good = pipeline_package(pipeline, options->strip, &out);
        if (!path) path = package_name(pipeline->arena, input);
        break;
    default:
        good = pipeline_reach(pipeline, (TextStage)kind);
        if (good) pipeline_print(pipeline, (TextStage)kind, &out);
        break;
    }
    good = good && write_output(pipeline, path ? path : "-", out.data, out.len);
    text_free(&out);
    return good;
}

_Static_assert((int)EMIT_GRAPH == (int)TEXT_GRAPH && (int)EMIT_PLAN == (int)TEXT_PLAN &&
                   (int)EMIT_KERNELS == (int)TEXT_KERNELS,
               "emit() prints a stage by its number");

static int run(const CliCommand *command, Emit kind, int argc, char **argv) {
    Arena *arena = arena_create();
    Options options = {.pipeline = pipeline_options()};
    CliList words = {0};
    Text error = {0};
    int code;
    bool good = cli_parse(arena, options_table, argc, argv, &options, &words, &error) &&
                (!options.emit || find_emit(options.emit, &kind, &error)) &&
                cli_sizes(arena, &options.dims, &options.sizes, &error);
    if (!good) {
        code = cli_usage_error(command, error.data);
    } else if (words.len != 1) {
        code = cli_usage_error(command, "one input is wanted");
    } else if (kind == EMIT_SPIRV && !options.output) {
        code = cli_usage_error(command, "--emit=spirv wants -o FOLDER");
    } else if (kind != EMIT_SPIRV && options.dims.len) {
        code = cli_usage_error(command, "--dim goes with --emit=spirv");
    } else if (options.output &&
               (file_same(words.at[0], options.output) ||
                (options.pipeline.target && file_same(options.pipeline.target, options.output)))) {
        code = cli_usage_error(command, "the output would replace the input");
    } else {
        Pipeline pipeline;
        bool done = pipeline_open(&pipeline, &options.pipeline, NULL) &&
                    pipeline_load(&pipeline, words.at[0]) &&
                    emit(&pipeline, &options, kind, words.at[0]);
        code = pipeline_report(&pipeline);
        if (!done && code == CLI_OK) code = CLI_INPUT;
        pipeline_close(&pipeline);
    }
    text_free(&error);
    arena_destroy(arena);
    return code;
}

static int run_compile(int argc, char **argv) {
    return run(&cmd_compile, EMIT_PACKAGE, argc, argv);
}

static int run_opt(int argc, char **argv) {
    return run(&cmd_opt, EMIT_GRAPH, argc, argv);
}

const CliCommand cmd_compile = {"compile", "MODEL.adp", "Compile a model to a package",
                                options_table, run_compile};

const CliCommand cmd_opt = {"opt", "TEXT", "Go on from the text of any stage (graph by default)",
                            options_table, run_opt};
