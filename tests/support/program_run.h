// Runs lowered programs on the interpreter of kernel IR, and compares them with the evaluator.
// Inputs, weights and states get the same made-up numbers on both sides.
#pragma once

#include "ir/program.h"
#include "tests/support/device_check.h"

typedef struct ProgramCheck {
    const char *target;     // built-in profile
    const int64_t *symbols; // values of the dims
    double tolerance;       // of floats: |difference| <= tolerance * (1 + |expected|)
    double scale;           // made-up floats lie in -scale..scale; 0: 2
    bool strict;
    const char
        *plant[2];     // a planted fault: the first text is replaced by the second in all kernels
    const char *finds; // what the interpreter then reports; NULL: nothing is planted
    Schedule *force;   // taken instead of the chosen schedule of the first step, or NULL
    // Not NULL: numbers are those of device_sample for the names and the seed, and elements of
    // outputs are held to this in place of tolerance.
    const Bound *bound;
    uint64_t seed;
    const Graph *source; // evaluated instead: the graph before its passes; NULL: the graph itself
} ProgramCheck;

// Plans, lowers, verifies, runs and compares all outputs and states; on any difference or fault the
// test fails with the kernel's text. Returns the program (in the graph's arena).
const Program *program_check(Graph *graph, const ProgramCheck *check);

// Every kernel becomes a SPIR-V module.
void program_emit_all(const Program *program);

// The made-up number `element` of a declared value, for the trips in `symbols`.
double program_sample(const Graph *g, ValueId value, const int64_t *symbols, int64_t element,
                      double scale);
