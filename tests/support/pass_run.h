// Running graph passes in tests, and what they must keep: the values of a graph.
#pragma once

#include "passes/pass.h"

// The graph of a model's text. Fails the cmocka test with the diagnostics where it does not load.
Graph *pass_load(const char *text);
// The same for a model `m` of these lines, behind the line `dims` ("dim N in 1..=64"; "": none).
Graph *pass_load_lines(const char *dims, const char *lines);
// The graph after all passes, which must not fail, with options or for a target of that name.
// Consumes `graph`.
Graph *pass_run_unchecked(Graph *graph, PassOptions *options);
Graph *pass_run_target(Graph *graph, const char *target);

// Runs the named passes ("a,b"; NULL: all) one after the other on `graph`, which is consumed. After
// each it is verified, its text is read back, and the outputs are evaluated for `dim` as the value
// of every symbol, and compared with those of the first graph: relative to the largest magnitude by
// at most `tolerance`. Fails the cmocka test on any difference or diagnostic.
Graph *pass_run_checked(Graph *graph, const char *passes, int64_t dim, double tolerance);
// The same, for a target other than the portable one.
Graph *pass_run_checked_for(Graph *graph, const char *passes, int64_t dim, double tolerance,
                            const Target *target);
// The same for a target and options; fields of `ctx` that are not set get their defaults.
Graph *pass_run_checked_with(const PassContext *ctx, Graph *graph, const char *passes, int64_t dim,
                             double tolerance);

// "map row row/prepare": the families of the fused groups in order, those of repeats in brackets.
char *pass_groups(const Graph *graph); // arena of the graph
// Whether `words` stand in the printed graph; pass_expect fails the test where they do not.
bool pass_says(const Graph *graph, const char *words);
void pass_expect(const Graph *graph, const char *words);
