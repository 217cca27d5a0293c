// The weights and states of a plan as the host meets them: one record a key, with the trips of
// repeats and the parts of stacked keys unfolded. Shared by the package and the manifest.
#pragma once

#include "ir/plan.h"

#define WEIGHT_NO_UNIT 0xffffffffu

typedef struct WeightRecord {
    uint32_t number; // counted from 0
    NodeId node;     // of the param or state
    const char *key; // valid during the visit
    DType dtype;     // as the weight file holds it
    uint32_t rank;
    uint64_t size[RANK_MAX];
    BufferKind kind; // BUF_PARAM: read into place; BUF_RAW: into staging; BUF_STATE
    uint64_t offset, bytes;
    uint32_t unit; // prepare unit, or WEIGHT_NO_UNIT
} WeightRecord;

typedef void WeightVisit(void *user, const WeightRecord *weight);

void weights_visit(const Plan *plan, WeightVisit *visit, void *user); // params that a step reads
void states_visit(const Plan *plan, WeightVisit *visit, void *user);  // states in use
// Constants that the package carries: contents of BUF_CONST.
void consts_write(const Plan *plan, Text *out);
