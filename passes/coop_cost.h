// What a schedule of form "coop" is thought to take: registers, workgroups that share a compute
// unit, cycles. Policy only; nothing here decides what is legal.
#pragma once

#include "passes/coop_shape.h"

typedef struct CoopSizes {
    double batch, m, n, k;
} CoopSizes;

typedef struct CoopCost {
    double cycles; // of one of `units` compute units, the dispatch that sums parts of K left aside
    double groups; // workgroups
    double together; // of them, on a unit at a time
    unsigned registers;
} CoopCost;

enum { COOP_TOGETHER_MAX = 32 };

// What schedules that differ only in parts of K and stagger have in common, whatever the sizes.
typedef struct CoopPace {
    const CoopShape *shape;
    unsigned registers;
    double together;
    double step[2]
               [COOP_TOGETHER_MAX + 1]; // by staggered and workgroups on a unit; 0: not asked yet
} CoopPace;

// Steps of one workgroup.
double coop_steps(const Schedule *s, double k);
// False where the registers do not suffice.
bool coop_pace(const CoopShape *shape, const Schedule *s, CoopPace *out);
void coop_cost_at(CoopPace *pace, const Schedule *s, CoopSizes size, double units, CoopCost *out);
// Both.
bool coop_cost(const CoopShape *shape, const Schedule *s, CoopSizes size, double units,
               CoopCost *out);
// Bytes of both operands moved by a workgroup in a step, with the work of addresses in the same
// measure.
double coop_step_bytes(const CoopShape *shape, const Schedule *s);
// Rows of tiles to go through together, so that what runs at a time reads the fewest bytes of the
// operands; 0: all run at a time, or the order is of no use.
uint32_t coop_raster(const CoopCost *cost, const Schedule *s, CoopSizes size, double units);
// Places along K at which tiles begin, so that those that share operands do not read the same bytes
// at the same time; 0: all at its start.
uint32_t coop_stagger(DimTable *dims, const CoopShape *shape, const Schedule *s, double k);
