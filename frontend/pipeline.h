// The way from text to package, a stage at a time, for the commands that go it: compile, opt, run.
//
// A pipeline starts from any stage's text (a model, or a dump of graph, plan or kernels) and goes
// on to the stage that is asked for. What it makes lives until pipeline_close. Functions return
// false after a diagnostic in `diags`.
#pragma once

#include "codegen/modules.h"
#include "frontend/cli.h"
#include "passes/compile.h"
#include "passes/pass.h"

// How far a text has come.
typedef enum TextStage { TEXT_GRAPH, TEXT_PLAN, TEXT_KERNELS } TextStage;

// What the options of the command line say; filled by cli_parse through PIPELINE_OPTIONS.
typedef struct PipelineOptions {
    CliList defines;
    const char *target; // NULL: portable
    const char *math;   // strict, fast; NULL: strict
    const char *dump_dir;
    bool print_before_all, print_after_all, time_passes;
    bool debug;    // names and lines in SPIR-V
    bool validate; // every module through SPIRV-Tools
    PassOptions passes;
    const char *family; // `adept bench`: a schedule by hand, as in CompileOptions
    const Schedule *schedule;
} PipelineOptions;

PipelineOptions pipeline_options(void); // the defaults

// Rows for a CliOption table: `Struct` holds a PipelineOptions called `member`.
#define PIPELINE_OPTIONS(Struct, member)                                                           \
    {"define",     'D',                                                                            \
     CLI_LIST,     offsetof(Struct, member.defines),                                               \
     "NAME=VALUE", "Replace a const of the file"},                                                 \
        {"target",  0,                                                                             \
         CLI_TEXT,  offsetof(Struct, member.target),                                               \
         "PROFILE", "Built-in name or file of a target profile"},                                  \
        {"strict-rounding",                                                                        \
         0,                                                                                        \
         CLI_FLAG,                                                                                 \
         offsetof(Struct, member.passes.strict_rounding),                                          \
         NULL,                                                                                     \
         "Round after every op of the file"},                                                      \
        {"math",   0,                                                                              \
         CLI_TEXT, offsetof(Struct, member.math),                                                  \
         "KIND",   "f32 products: strict (default), or fast, of f16 ones as exact as f32"},        \
        {"max-workspace", 0,                                                                       \
         CLI_NUMBER,      offsetof(Struct, member.passes.max_workspace),                           \
         "BYTES",         "Memory that a step may take to be faster (default 268435456)"},         \
        {"winograd", 0,                                                                            \
         CLI_TEXT,   offsetof(Struct, member.passes.winograd),                                     \
         "FORM",     "Of 3x3 convolutions: auto (default), off, f2, f4 or f6"},                    \
        {"debug",  'g',                                                                            \
         CLI_FLAG, offsetof(Struct, member.debug),                                                 \
         NULL,     "Names and source lines in SPIR-V"},                                            \
        {"validate", 0,                                                                            \
         CLI_FLAG,   offsetof(Struct, member.validate),                                            \
         NULL,       "Check every module with SPIRV-Tools"},                                       \
        {"passes", 0,                                                                              \
         CLI_TEXT, offsetof(Struct, member.passes.passes),                                         \
         "A,B",    "Run just these graph passes, in this order"},                                  \
        {"stop-after", 0,                                                                          \
         CLI_TEXT,     offsetof(Struct, member.passes.stop_after),                                 \
         "PASS",       "Stop after this graph pass"},                                              \
        {"disable-pass", 0,                                                                        \
         CLI_TEXT,       offsetof(Struct, member.passes.disable),                                  \
         "A,B",          "Leave these optional passes out"},                                       \
        {"print-ir-before",                                                                        \
         0,                                                                                        \
         CLI_TEXT,                                                                                 \
         offsetof(Struct, member.passes.print_before),                                             \
         "A,B",                                                                                    \
         "Print the graph before these passes"},                                                   \
        {"print-ir-after",                                                                         \
         0,                                                                                        \
         CLI_TEXT,                                                                                 \
         offsetof(Struct, member.passes.print_after),                                              \
         "A,B",                                                                                    \
         "Print the graph after these passes"},                                                    \
        {"print-ir-before-all",                                                                    \
         0,                                                                                        \
         CLI_FLAG,                                                                                 \
         offsetof(Struct, member.print_before_all),                                                \
         NULL,                                                                                     \
         "Print the graph before every pass"},                                                     \
        {"print-ir-after-all",                                                                     \
         0,                                                                                        \
         CLI_FLAG,                                                                                 \
         offsetof(Struct, member.print_after_all),                                                 \
         NULL,                                                                                     \
         "Print the graph after every pass"},                                                      \
        {"print-ir-after-change",                                                                  \
         0,                                                                                        \
         CLI_FLAG,                                                                                 \
         offsetof(Struct, member.passes.print_after_change),                                       \
         NULL,                                                                                     \
         "Print the graph after passes that changed it"},                                          \
        {"dump-dir", 0,                                                                            \
         CLI_TEXT,   offsetof(Struct, member.dump_dir),                                            \
         "FOLDER",   "Write every stage there, in numbered files"},                                \
        {"verify-each", 0,                                                                         \
         CLI_FLAG,      offsetof(Struct, member.passes.verify_each),                               \
         NULL,          "Verify after every pass and stage"},                                      \
    {                                                                                              \
        "time-passes", 0, CLI_FLAG, offsetof(Struct, member.time_passes), NULL,                    \
            "Print what every pass and stage took"                                                 \
    }

typedef struct Pipeline {
    Arena *arena;
    Diags *diags;
    PipelineOptions options;
    Target target;
    TextStage loaded;
    const char *input; // its file, NULL: none
    bool stopped;      // --stop-after: the graph is not meant for later stages
    Graph *graph;
    Text source; // the graph's text before the passes
    Plan *plan;
    Program *program;
    Modules modules;
} Pipeline;

// Reads options.target, except where `target` is given.
bool pipeline_open(Pipeline *pipeline, const PipelineOptions *options, const Target *target);
void pipeline_close(Pipeline *pipeline);

// Reads a text of any stage from a file, "-" for standard input, or from memory.
bool pipeline_load(Pipeline *pipeline, const char *path);
bool pipeline_load_text(Pipeline *pipeline, const char *name, const char *text, size_t length);

// What its options say to plan_build.
CompileOptions pipeline_compile_options(const Pipeline *pipeline);
// Goes on to a stage: graph passes, plan, kernels. Stages that are there already are kept.
bool pipeline_reach(Pipeline *pipeline, TextStage stage);
// Appends the text of a stage that has been reached.
void pipeline_print(const Pipeline *pipeline, TextStage stage, Text *out);

// Kernels, then SPIR-V in pipeline->modules.
bool pipeline_emit(Pipeline *pipeline);
// All the way: the bytes of a package, with the graph's text unless `strip`.
bool pipeline_package(Pipeline *pipeline, bool strip, Text *out);

// Prints the diagnostics on standard error; CLI_INPUT when there are errors, else CLI_OK.
int pipeline_report(const Pipeline *pipeline);
