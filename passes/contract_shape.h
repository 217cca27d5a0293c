// Family "contract", as policy and mechanism see it: a batch of products of an M x K by an N x K
// matrix, and a reduction of small windows of the N axes (pooling) that may follow.
//
// Without pooling columns are the N axes joined. With pooling they are [windows, cells]: the cells
// of one window are neighbours, so that one invocation holds a whole window.
#pragma once

#include "passes/lower_shape.h"

enum { POOL_CELLS_MAX = 16 };

typedef struct ContractShape {
    NodeId node;
    ValueId x, y, result;
    uint8_t batch_axes, m_axes, n_axes, k_axes;
    Dim batch, m, n, k;   // products of sizes
    Dim n_size[RANK_MAX]; // of the N axes
    NodeId pool;          // the reduction, 0: none
    ValueId pooled;       // what its windows read: a value of the contract's shape
    uint32_t cells;       // of a window; 1 without pooling
    Dim windows;          // n without pooling
    bool scattered;       // a window's cells are not simply neighbouring columns
    View cell;            // [windows, cells] -> element of the joined N axes
} ContractShape;

// False if the body is not of this form.
bool contract_shape(Graph *g, NodeId fused, ContractShape *out);
// Whether the operand's elements lie side by side along K rather than along its other axes.
bool contract_k_fast(const Graph *g, const ContractShape *shape, ValueId operand);
