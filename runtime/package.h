// A package in memory, read whole and checked: every offset, count, index and expression, so that
// what comes after may follow them blindly. SPIR-V is covered by the hash alone.
#pragma once

#include "runtime/expr.h"
#include "runtime/source.h"

typedef struct Package {
    uint8_t *bytes;
    uint64_t size;
    uint32_t count[ADX_GRAPH + 1]; // records of a section
    const char *strings;
    const uint8_t *exprs;
    const AdxDim *dims;
    const AdxAssert *asserts;
    const uint32_t *refs;
    const AdxTensor *inputs, *outputs;
    const AdxState *states;
    const AdxParam *params;
    const uint8_t *consts;
    const uint32_t *spirv;
    const AdxKernel *kernels;
    const AdxUnit *units;
    const AdxStep *steps;
    const AdxAlternative *alternatives;
    const AdxCondition *conditions;
    const AdxDispatch *dispatches;
    const AdxArg *args;
    const AdxModelInfo *model;
    const char *graph;   // count[ADX_GRAPH] bytes, not terminated
    uint8_t *expr_flags; // see runtime/expr.h
    // Dispatches of a run, and of the largest unit, with every trip of every repeat and the largest
    // alternative of every step.
    uint32_t run_launches, unit_launches;
    uint32_t block_range; // bytes of the largest kernel's parameters, a multiple of 256
} Package;

// `source` may be closed afterwards. On failure nothing is left to close.
AdeptResult package_read(Package *package, const Source *source, AdeptError *error);
void package_close(Package *package);

// "" for ADX_NONE.
static inline const char *package_string(const Package *package, StrRef ref) {
    return ref == ADX_NONE ? "" : package->strings + ref;
}

static inline uint8_t package_depends(const Package *package, ExprRef ref) {
    return package->expr_flags[ref];
}

// ---- package_check.c -------------------------------------------------------------------------

// Checks the records of a package whose sections have been found; `file` is for messages.
AdeptResult package_check(Package *package, const char *file, AdeptError *error);
