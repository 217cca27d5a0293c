// Walks the steps of a checked program in the order they run, once a trip of every repeat.
#pragma once

#include "runtime/package.h"

typedef struct StepWalk {
    const Package *package;
    int64_t *values; // one a dim; trips are written here
    uint32_t at, end, depth;
    uint32_t repeats[ADX_NESTING_MAX]; // open ones
    bool first, moved;                 // moved: a trip has changed since the last step
} StepWalk;

static inline StepWalk step_walk(const Package *package, uint32_t first, uint32_t count,
                                 int64_t *values) {
    return (StepWalk){
        .package = package, .values = values, .at = first, .end = first + count, .first = true};
}

// The next step of kind ADX_STEP_RUN, NULL at the end. walk->moved tells whether values changed.
const AdxStep *step_walk_next(StepWalk *walk);
// The number of the innermost repeat's trip, 0 outside.
uint32_t step_walk_trip(const StepWalk *walk);
