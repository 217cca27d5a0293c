#include "runtime/walk.h"

// Behind the end of the repeat whose body begins at `at`.
static uint32_t behind_repeat(const StepWalk *walk, uint32_t at) {
    for (uint32_t depth = 1; depth; at++) {
        if (walk->package->steps[at].kind == ADX_STEP_REPEAT) depth++;
        if (walk->package->steps[at].kind == ADX_STEP_END) depth--;
    }
    return at;
}

const AdxStep *step_walk_next(StepWalk *walk) {
    const AdxStep *steps = walk->package->steps;
    walk->moved = walk->first;
    walk->first = false;
    while (walk->at < walk->end) {
        const AdxStep *step = &steps[walk->at];
        if (step->kind == ADX_STEP_RUN) {
            walk->at++;
            return step;
        }
        walk->moved = true;
        if (step->kind == ADX_STEP_REPEAT) {
            if (step->lo == step->hi) {
                walk->at = behind_repeat(walk, walk->at + 1);
                continue;
            }
            walk->repeats[walk->depth++] = walk->at++;
            walk->values[step->trip] = step->lo;
            continue;
        }
        uint32_t opened = walk->repeats[walk->depth - 1];
        int64_t *trip = &walk->values[steps[opened].trip];
        if (++*trip < steps[opened].hi) {
            walk->at = opened + 1;
        } else {
            walk->depth--;
            walk->at++;
        }
    }
    return NULL;
}

uint32_t step_walk_trip(const StepWalk *walk) {
    if (!walk->depth) return 0;
    const AdxStep *step = &walk->package->steps[walk->repeats[walk->depth - 1]];
    return (uint32_t)walk->values[step->trip];
}
