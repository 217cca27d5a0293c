// Family "contract", as policy and mechanism see it: a batch of products of an M x K by an N x K
// matrix, and a reduction of small windows of the N axes (pooling) that may follow.
//
// Without pooling columns are the N axes joined. With pooling they are [windows, cells]: the cells
// of one window are neighbours, so that one invocation holds a whole window. The same holds where
// maps read the product in parts, as a gate does.
#pragma once

#include "passes/lower_shape.h"

enum { POOL_CELLS_MAX = 16, CONTRACT_PARTS_MAX = 4 }; // parts: as lanes of a vector

// A value that a fused node reads of the product: every `cells`-th column from `cell` on.
typedef struct ContractPart {
    ValueId value;
    uint32_t cell;
} ContractPart;

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
    VEC(ContractPart)
    parts;          // maps read the product only so: windows are `cells` columns side by
                    // side, and results have an element a window
    bool scattered; // a window's cells are not simply neighbouring columns
    View cell;      // [windows, cells] -> element of the joined N axes
} ContractShape;

// Whether `value` is seen as one element in so many of what `base` holds, element `cell` of each of
// the last axis.
bool contract_part(const Graph *g, ValueId value, ValueId *base, uint32_t *cell);
// False if the body is not of this form.
bool contract_shape(Graph *g, NodeId fused, ContractShape *out);
// Whether the operand's elements lie side by side along K rather than along its other axes.
bool contract_k_fast(const Graph *g, const ContractShape *shape, ValueId operand);
// Whether the operand is the same for every number of the batch.
bool contract_shared(const Graph *g, const ContractShape *shape, ValueId operand);
// Whether the columns of the whole batch are those of one product, since x is shared.
bool contract_joins(const Graph *g, const ContractShape *shape);
// Whether an operand's base is read from memory, and there is something to read.
bool contract_in_memory(const Graph *g, const ContractShape *shape, ValueId base);
// K after whose multiples the operand's elements lie as they did at K 0, so many bytes further on
// and under the same guards; 0 if there is none that is known, or the operand is not in memory.
int64_t contract_turn(const Graph *g, const ContractShape *shape, ValueId operand);
