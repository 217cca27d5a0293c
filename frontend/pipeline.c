#include "frontend/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/package.h"
#include "frontend/file.h"
#include "frontend/load.h"
#include "frontend/source.h"
#include "frontend/spirv_tools.h"
#include "frontend/targets.h"

static const Span nowhere = {0};

PipelineOptions pipeline_options(void) {
    PipelineOptions options = {.passes = pass_options()};
    return options;
}

// ---- what passes tell while they work --------------------------------------------------------

static void sink_ir(void *user, const char *pass, bool before, const char *text, size_t length) {
    (void)user;
    fprintf(stderr, "# %s %s\n", before ? "before" : "after", pass);
    fwrite(text, 1, length, stderr);
}

static bool sink_dump(void *user, const char *file, const char *text, size_t length) {
    Pipeline *pipeline = user;
    Text error = {0};
    const char *path = arena_printf(pipeline->arena, "%s/%s", pipeline->options.dump_dir, file);
    bool good = file_make_folder(pipeline->options.dump_dir, &error);
    if (good && pipeline->input && file_same(pipeline->input, path)) {
        text_printf(&error, "%s: the dump would replace the input", path);
        good = false;
    }
    good = good && file_write(path, text, length, &error);
    if (!good) diag_error(pipeline->diags, nowhere, "%s", error.data);
    text_free(&error);
    return good;
}

static void sink_time(void *user, const char *pass, double milliseconds) {
    (void)user;
    fprintf(stderr, "%10.3f ms  %s\n", milliseconds, pass);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

// A stage after the graph passes is over: its time, and its text among the dumps.
static bool stage_done(Pipeline *pipeline, const char *name, double start, TextStage stage) {
    if (pipeline->options.time_passes) sink_time(pipeline, name, now() - start);
    if (!pipeline->options.dump_dir) return true;
    Text text = {0};
    char *file =
        arena_printf(pipeline->arena, "%02u-%s.adp", pipeline->options.passes.dumped++, name);
    pipeline_print(pipeline, stage, &text);
    bool good = sink_dump(pipeline, file, text.data, text.len);
    text_free(&text);
    return good;
}

// ---- opening and loading ---------------------------------------------------------------------

bool pipeline_open(Pipeline *pipeline, const PipelineOptions *options, const Target *target) {
    *pipeline = (Pipeline){.arena = arena_create(), .diags = diags_create(), .options = *options};
    PassOptions *passes = &pipeline->options.passes;
    if (options->print_before_all) passes->print_before = "all";
    if (options->print_after_all) passes->print_after = "all";
    passes->sink = (PassSink){.user = pipeline,
                              .ir = sink_ir,
                              .dump = options->dump_dir ? sink_dump : NULL,
                              .time = options->time_passes ? sink_time : NULL};
    if (!pass_options_check(passes, pipeline->diags)) return false;
    if (options->math && strcmp(options->math, "strict") != 0 &&
        strcmp(options->math, "fast") != 0) {
        diag_error(pipeline->diags, nowhere, "--math %s: strict or fast is wanted", options->math);
        return false;
    }
    if (target) {
        pipeline->target = *target;
        return true;
    }
    Text error = {0};
    const char *name = options->target ? options->target : target_builtin_names()[0];
    bool good = target_load(name, pipeline->diags, &pipeline->target, &error);
    if (!good && error.len > 0) diag_error(pipeline->diags, nowhere, "%s", error.data);
    text_free(&error);
    return good;
}

void pipeline_close(Pipeline *pipeline) {
    text_free(&pipeline->source);
    graph_destroy(pipeline->graph); // plan, program and modules are in its arena
    diags_destroy(pipeline->diags);
    arena_destroy(pipeline->arena);
    *pipeline = (Pipeline){0};
}

// "adept 1 plan" and the like, behind blank lines and comments.
static TextStage stage_of(const char *text, size_t length) {
    size_t at = 0;
    while (at < length) {
        size_t end = at;
        while (end < length && text[end] != '\n') end++;
        while (at < end && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) at++;
        if (at < end && text[at] != '#') {
            char word[16];
            char line[64];
            size_t size = end - at < sizeof line - 1 ? end - at : sizeof line - 1;
            memcpy(line, text + at, size);
            line[size] = '\0';
            if (sscanf(line, "adept 1 %15[a-z]", word) != 1) return TEXT_GRAPH;
            return strcmp(word, "plan") == 0      ? TEXT_PLAN
                   : strcmp(word, "kernels") == 0 ? TEXT_KERNELS
                                                  : TEXT_GRAPH;
        }
        at = end + 1;
    }
    return TEXT_GRAPH;
}

static bool read_defines(Pipeline *pipeline, Defines *out) {
    const CliList *list = &pipeline->options.defines;
    Define *defines = arena_alloc(pipeline->arena, list->len * sizeof *defines);
    for (uint32_t i = 0; i < list->len; i++) {
        if (!cli_split(pipeline->arena, list->at[i], &defines[i].name, &defines[i].value)) {
            diag_error(pipeline->diags, nowhere, "'-D %s': NAME=VALUE is wanted", list->at[i]);
            return false;
        }
    }
    *out = (Defines){defines, list->len};
    return true;
}

// A dump does not say how far it has come; a graph with fused groups has been through the passes.
static void note_stage(Graph *graph) {
    for (NodeId id = 1; id < graph->nodes.len; id++)
        if (graph_node(graph, id)->kind == NODE_FUSED) graph->stage = STAGE_FUSED;
}

bool pipeline_load_text(Pipeline *pipeline, const char *name, const char *text, size_t length) {
    Defines defines;
    double start = now();
    if (!read_defines(pipeline, &defines)) return false;
    pipeline->loaded = stage_of(text, length);
    if (!load_graph(name, text, length, &defines, pipeline->diags, &pipeline->graph)) return false;
    if (pipeline->options.time_passes) sink_time(pipeline, "load", now() - start);
    note_stage(pipeline->graph);
    graph_print(pipeline->graph, &pipeline->source);
    if (pipeline->loaded == TEXT_GRAPH) return true;
    FileId file = diags_add_file(pipeline->diags, name, text, length);
    pipeline->plan = plan_parse(pipeline->graph, text, length, file, pipeline->diags);
    if (!pipeline->plan || !plan_verify(pipeline->plan, pipeline->diags)) return false;
    if (pipeline->loaded == TEXT_PLAN) return true;
    pipeline->program = program_parse(pipeline->plan, text, length, file, pipeline->diags);
    return pipeline->program && program_verify(pipeline->program, pipeline->diags);
}

bool pipeline_load(Pipeline *pipeline, const char *path) {
    Text text = {0};
    pipeline->input = path;
    bool good = source_read_text(path, pipeline->diags, &text) &&
                pipeline_load_text(pipeline, strcmp(path, "-") == 0 ? "<stdin>" : path,
                                   text.data ? text.data : "", text.len);
    text_free(&text);
    return good;
}

// ---- stages ----------------------------------------------------------------------------------

static bool is_fast(const Pipeline *pipeline) {
    return pipeline->options.math && strcmp(pipeline->options.math, "fast") == 0;
}

static bool run_passes(Pipeline *pipeline) {
    Graph *graph = pipeline->graph;
    pipeline->graph = NULL;
    pipeline->options.passes.target = &pipeline->target;
    pipeline->options.passes.fast_math = is_fast(pipeline);
    pipeline->graph =
        pass_run_all(graph, &pipeline->options.passes, pipeline->diags, &pipeline->stopped);
    return pipeline->graph != NULL;
}

CompileOptions pipeline_compile_options(const Pipeline *pipeline) {
    return (CompileOptions){.strict_rounding = pipeline->options.passes.strict_rounding,
                            .fast_math = is_fast(pipeline),
                            .family = pipeline->options.family,
                            .schedule = pipeline->options.schedule,
                            .max_workspace = pipeline->options.passes.max_workspace};
}

static bool make_plan(Pipeline *pipeline) {
    CompileOptions options = pipeline_compile_options(pipeline);
    double start = now();
    return plan_build(pipeline->graph, &pipeline->target, &options, pipeline->diags,
                      &pipeline->plan) &&
           stage_done(pipeline, "plan", start, TEXT_PLAN);
}

static bool lower(Pipeline *pipeline) {
    double start = now();
    return lower_program(pipeline->plan, pipeline->diags, &pipeline->program) &&
           stage_done(pipeline, "kernels", start, TEXT_KERNELS);
}

bool pipeline_reach(Pipeline *pipeline, TextStage stage) {
    bool verify = pipeline->options.passes.verify_each;
    if (pipeline->loaded == TEXT_GRAPH && !pipeline->plan && !run_passes(pipeline)) return false;
    if (stage == TEXT_GRAPH) return true;
    if (pipeline->stopped) {
        diag_error(pipeline->diags, nowhere, "--stop-after leaves a graph that has no plan");
        return false;
    }
    if (!pipeline->plan && !make_plan(pipeline)) return false;
    if (verify && !plan_verify(pipeline->plan, pipeline->diags)) return false;
    if (stage == TEXT_PLAN) return true;
    if (!pipeline->program && !lower(pipeline)) return false;
    return !verify || program_verify(pipeline->program, pipeline->diags);
}

void pipeline_print(const Pipeline *pipeline, TextStage stage, Text *out) {
    switch (stage) {
    case TEXT_GRAPH: graph_print(pipeline->graph, out); break;
    case TEXT_PLAN: plan_print(pipeline->plan, out); break;
    case TEXT_KERNELS: program_print(pipeline->program, out); break;
    }
}

static bool validate(Pipeline *pipeline) {
    bool good = true;
    for (uint32_t i = 0; i < pipeline->modules.count; i++) {
        Text why = {0};
        const char *name = pipeline->program->kernels.at[i]->name;
        SpirvVerdict verdict = spirv_validate(&pipeline->modules.at[i], &why);
        if (verdict == SPIRV_NO_VALIDATOR) {
            diag_error(pipeline->diags, nowhere, "%s", why.data);
            text_free(&why);
            return false;
        }
        if (verdict == SPIRV_INVALID)
            diag_error(pipeline->diags, nowhere, "kernel %s is not valid SPIR-V: %s", name,
                       why.data);
        else if (verdict == SPIRV_UNKNOWN)
            diag_warning(pipeline->diags, nowhere,
                         "kernel %s is newer than the SPIRV-Tools linked here: %s", name, why.data);
        good = good && verdict != SPIRV_INVALID;
        text_free(&why);
    }
    return good;
}

bool pipeline_emit(Pipeline *pipeline) {
    if (!pipeline_reach(pipeline, TEXT_KERNELS)) return false;
    double start = now();
    pipeline->modules = modules_emit(pipeline->program, pipeline->options.debug);
    if (pipeline->options.time_passes) sink_time(pipeline, "spirv", now() - start);
    return !pipeline->options.validate || validate(pipeline);
}

bool pipeline_package(Pipeline *pipeline, bool strip, Text *out) {
    if (!pipeline_emit(pipeline)) return false;
    double start = now();
    PackageOptions options = {.graph_text = strip ? NULL : pipeline->source.data};
    bool good =
        package_write(pipeline->program, &pipeline->modules, &options, pipeline->diags, out);
    if (pipeline->options.time_passes) sink_time(pipeline, "package", now() - start);
    return good;
}

int pipeline_report(const Pipeline *pipeline) {
    Text text = {0};
    diags_render(pipeline->diags, &text);
    if (text.len > 0) fwrite(text.data, 1, text.len, stderr);
    text_free(&text);
    return diags_error_count(pipeline->diags) > 0 ? CLI_INPUT : CLI_OK;
}
