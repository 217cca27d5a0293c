// Random graphs, for tests of passes and of the device: maps, reduces, norms, products, windows and
// moves on inputs with one symbolic size N. The same seed gives the same graph.
#pragma once

#include "ir/graph.h"

// exact: of maps and moves only, whose strictly rounded results no order of additions can change.
Graph *random_graph(uint64_t seed, bool exact);

// Which seeds: the first `usual`, or ADEPT_RANDOM_GRAPHS of them, or just ADEPT_RANDOM_GRAPH.
void random_range(unsigned usual, unsigned *first, unsigned *last);

// How far results may lie apart, relative to the largest: inside a kernel f16 and bf16 values may
// stay unrounded, and sums of products may cancel. wide: for graphs of f32.
double random_tolerance(const Graph *graph, double wide);
