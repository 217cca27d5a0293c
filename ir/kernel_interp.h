// Interpreter of kernel IR: runs the workgroups of a dispatch on the host, all invocations of one
// in lockstep under masks, at a given subgroup size, and reports what no Vulkan tool sees
// (architecture.md, idea 7). It is where kernels for a device that is not here are proved.
//
// Values are those of ir/kernel_alu.def, in f32 and i32; a subgroup's reduction adds its lanes in
// order; FRAG_MUL_ADD multiplies exactly, sums in f32 in order of k and rounds to the accumulator's
// type once. Components lie as the kernel's layout says; without one, component c of lane l of a
// fragment in subgroups of S is element c * S + l of the row-major matrix, which devices choose
// otherwise, so kernels must not depend on it.
//
// The kernel has passed kernel_verify (faults that it finds too are reported here once more, but
// wrong types are our own bug). Buffers belong to the caller; all else to the machine.
#pragma once

#include "ir/kernel.h"

// X(ID, text)
#define KFAULT_TABLE(X)                                                                            \
    X(ARGUMENT, "argument breaks what the kernel declares")                                        \
    X(SHARED_RACE, "race in shared memory")                                                        \
    X(SHARED_UNWRITTEN, "read of shared memory that nobody wrote")                                 \
    X(SHARED_OUTSIDE, "access outside shared memory")                                              \
    X(GLOBAL_RACE, "race in a buffer")                                                             \
    X(GLOBAL_UNWRITTEN, "read of a buffer's bytes that nobody wrote")                              \
    X(GLOBAL_OUTSIDE, "access outside a buffer")                                                   \
    X(ALIGNMENT, "access below its claimed alignment")                                             \
    X(DIVERGENCE, "barrier or subgroup operation in divergent flow")                               \
    X(DIVISION, "integer division by zero")                                                        \
    X(STEP, "loop that does not advance")

typedef enum KFaultKind {
#define X(id, text) KF_##id,
    KFAULT_TABLE(X)
#undef X
        KF_COUNT
} KFaultKind;

// The first fault of each kind of each instruction is kept. message holds all of it in words, with
// the kernel's name and the instruction's text.
typedef struct KFault {
    KFaultKind kind;
    KVal instr;
    uint32_t group[3];
    uint32_t invocation, line;
    const char *message;
} KFault;

// A buffer's memory. written has a bit a byte (bit i % 8 of byte i / 8) that tells whether it holds
// a value; the interpreter sets those of what it stores. NULL: all of it does. Buffers may overlap.
typedef struct KBuffer {
    void *data;
    uint64_t size;
    uint8_t *written;
} KBuffer;

typedef struct KArg {
    KBuffer buffer;
    int64_t scalar;
} KArg;

typedef struct KLaunch {
    const Kernel *kernel;
    const KArg *args; // one per parameter, in order
    uint32_t groups[3];
    uint32_t subgroup_size; // power of two; where the kernel requires one, that is taken
} KLaunch;

typedef struct KMachine KMachine;

// Checks the arguments (faults of kind ARGUMENT). The launch is copied, its arrays are not.
KMachine *kmachine_create(const KLaunch *launch);
void kmachine_destroy(KMachine *machine);
// Runs one workgroup. Races between workgroups are found among those run on one machine.
void kmachine_run_group(KMachine *machine, uint32_t x, uint32_t y, uint32_t z);
void kmachine_run(KMachine *machine); // the whole grid, x fastest
uint32_t kmachine_fault_count(const KMachine *machine);
const KFault *kmachine_fault(const KMachine *machine, uint32_t index);
