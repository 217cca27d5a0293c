// Graphs of random compositions of moves, for tests of kernels: transposed, sliced, padded, tiled,
// overlapping and reshaped reads of inputs with constant and symbolic sizes.
#pragma once

#include "ir/graph.h"

// `chains` outputs, each 1 to `longest` moves on an input, stored as it is or read by a map or a
// sum. Valid where the only dim, N, is n (1..64). The same arguments give the same graph.
Graph *random_moves(uint64_t seed, unsigned chains, unsigned longest, int64_t n);
