// Byte ranges touched since the last memory barrier, for given values of all dims. What the
// verifiers of plans and programs use to find two dispatches that conflict without a barrier
// between them.
#pragma once

#include "ir/plan.h"

typedef struct HazardRange {
    BufferKind kind;
    uint32_t index;
    int64_t first, end; // bytes
    bool read, write;
    uint32_t step; // ranges of one step never conflict with each other
} HazardRange;

typedef struct Hazards {
    Arena *arena;
    VEC(HazardRange) open;
} Hazards;

void hazards_barrier(Hazards *h);
// Notes a range. False if it conflicts with one of another step: they overlap and one is written;
// *other is then that step.
bool hazards_add(Hazards *h, HazardRange range, uint32_t *other);

// Values of the dims to check claims at: point 0 has every dim at its lower bound, 1 at its upper
// (at most a billion), others between. Trips are at their lower bounds. False where the asserts of
// the graph refuse these values: no run has them.
enum { SAMPLE_POINTS = 5 };
bool sample_point(const Graph *g, unsigned point, int64_t *symbols);
