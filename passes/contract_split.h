// Family "contract" with K split: each part of K is summed by workgroups of its own into workspace,
// [parts, batch, rows, columns] in f32 (i32 for integers), and a second dispatch adds the parts in
// order and does what follows the product. No atomics, so that the same inputs give the same bits.
#pragma once

#include "ir/plan.h"
#include "passes/contract_shape.h"

enum { SPLIT_PARTS_MAX = 64 };

typedef struct ContractSplit {
    uint32_t parts;    // 1: not split
    Dim rows, columns; // M and N; in form coop up to whole tiles, as fragments are stored whole
    Dim chunk;         // part p sums K's [p * chunk, min((p + 1) * chunk, K)), perhaps nothing
    Dim bytes;         // of workspace; DIM_NONE where parts is 1
} ContractSplit;

// For a schedule under conditions, which may bound M, N or the batch.
ContractSplit contract_split(const Graph *g, const ContractShape *shape, const Schedule *schedule,
                             const Condition *condition, uint32_t conditions);
