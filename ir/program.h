// A lowered program: the plan, the kernels made for it, and the dispatches that run them. Input of
// code generation; printed as `adept 1 kernels`.
#pragma once

#include "ir/kernel.h"
#include "ir/plan.h"

typedef struct DispatchArg {
    bool is_buffer;
    // Buffers: bytes [offset, offset + bytes) of the named memory are what the dispatch may touch.
    BufferKind kind;
    uint32_t index;
    Dim offset, bytes;
    bool read, write;
    ValueId value; // for listings; 0 for workspace
    Dim scalar;    // scalars: value written to the run block
} DispatchArg;

typedef struct Dispatch {
    uint32_t kernel; // index into Program.kernels
    Dim grid[3];     // workgroups, each below the target's limit for every dims value
    DispatchArg *arg;
    uint32_t args;    // one per kernel parameter, in order
    bool barrier;     // memory barrier before it
    Dim flops, bytes; // work and least traffic, for the profile
    NodeId node;      // fused node
} Dispatch;

typedef struct LoweredAlternative {
    uint32_t first, count; // dispatches
} LoweredAlternative;

typedef struct LoweredStep { // parallel to the plan's steps
    VEC(LoweredAlternative) alternatives;
} LoweredStep;

typedef struct Program {
    Plan *plan;
    VEC(Kernel *) kernels; // distinct ones, in order of first use
    VEC(uint64_t) hashes;  // of kernels and of their names in turn, while lowering
    VEC(Dispatch) dispatches;
    VEC(LoweredStep) run, prepare;
} Program;

void program_print(const Program *program, Text *out);
Program *program_parse(Plan *plan, const char *text, size_t length, FileId file, Diags *diags);
bool program_verify(const Program *program, Diags *diags);
