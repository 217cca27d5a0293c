// The graph passes and their manager. passes.def has one row a pass, in the order they run;
// options,
// `--passes` and the documentation come from that table.
//
// A pass reads one graph and writes another, which it creates (usually with graph_begin_copy) and
// which has an arena of its own. It never changes or destroys the graph it reads.
#pragma once

#include "ir/graph.h"
#include "ir/target.h"

typedef struct PassContext {
    Diags *diags;
    bool strict_rounding;  // every op of the file rounds (--strict-rounding)
    bool fast_math;        // f32 products may be made of f16 planes (--math=fast)
    const Target *target;  // never NULL; without rates nothing is changed for the sake of speed
    int64_t max_workspace; // bytes, of one copy in the arena
    const char *winograd;  // "auto", "off", "f2", "f4", "f6": the form of convolutions
} PassContext;

// False after an error in ctx->diags; *out is then not set.
typedef bool PassFn(PassContext *ctx, const Graph *in, Graph **out);

typedef struct PassInfo {
    const char *name;
    PassFn *run;
    OpStage takes;   // runs only on graphs that have not got past this stage
    OpStage reaches; // the stage of the graph it gives, at least
    bool optional;   // may be disabled without losing what later stages need
    const char *doc;
} PassInfo;

extern const PassInfo pass_table[]; // ends with a row without a name
const PassInfo *pass_find(const char *name);

// What the manager tells while it works; callbacks may be NULL.
typedef struct PassSink {
    void *user;
    // The graph before or after a pass, asked for by print_before and print_after.
    void (*ir)(void *user, const char *pass, bool before, const char *text, size_t length);
    // A file of the dump: "00-source.adp", "01-simplify.adp", ... False stops the passes.
    bool (*dump)(void *user, const char *file, const char *text, size_t length);
    void (*time)(void *user, const char *pass, double milliseconds);
} PassSink;

typedef struct PassOptions {
    const char *passes;     // "a,b": just these, in this order; NULL: the whole table
    const char *stop_after; // pass name or NULL
    const char *disable;    // "a,b" or NULL
    const char *print_before, *print_after; // "a,b" or "all" or NULL
    bool print_after_change;                // after each pass that changed the text
    bool verify_each;                       // pass_options sets it in debug builds
    bool strict_rounding, fast_math;
    const Target *target;  // NULL: the portable one
    int64_t max_workspace; // bytes that one copy or split of a step may take in the arena
    const char *winograd;  // NULL: "auto"
    PassSink sink;
    unsigned dumped; // number of the next dump file; later stages go on from it
} PassOptions;

PassOptions pass_options(void); // the defaults

// Checks the names in the options; false after a diagnostic that suggests the nearest name.
bool pass_options_check(const PassOptions *options, Diags *diags);

// Runs the passes. Takes over `graph` and returns the last graph (perhaps the same), or NULL after
// an error: then nothing is left to destroy. With stop_after *stopped tells that the passes ended
// early; it may be NULL.
Graph *pass_run_all(Graph *graph, PassOptions *options, Diags *diags, bool *stopped);

// The passes, for the table and the tests.
#define PASS(id, name, fn, ...) PassFn fn;
#include "passes/passes.def"
#undef PASS
