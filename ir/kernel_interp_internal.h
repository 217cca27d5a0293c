// The interpreter's inside, shared by ir/kernel_interp*.c.
#pragma once

#include "ir/kernel_internal.h"
#include "ir/kernel_interp.h"

// Who touched a word of shared memory last, in which interval between barriers. Whoever is below
// the local size is an invocation, else local size + a subgroup (fragments).
typedef struct SharedTrace {
    uint32_t write_epoch, read_epoch;
    uint16_t writer, reader;
} SharedTrace;

// Who wrote and read each byte of a stretch of memory in this dispatch: 0 nobody, else 1 + number.
typedef struct GlobalTrace {
    uint32_t *writer, *reader;
} GlobalTrace;

enum { MANY_READERS = UINT16_MAX };
#define MANY_EVERYWHERE UINT32_MAX

typedef struct MachineBuffer {
    uint8_t *data;
    uint8_t *written;
    uint64_t size;
    int64_t base;      // its made-up device address
    GlobalTrace trace; // at its first byte; NULLs where no parameter writes here
} MachineBuffer;

typedef struct FlowFrame {
    KVal head;
    uint8_t *active, *otherwise; // an invocation each
} FlowFrame;

struct KMachine {
    const Kernel *kernel;
    KLaunch launch;
    Arena *arena;
    uint32_t lanes, subgroup, subgroups;
    void **slot; // value's storage: KCell[lanes of the type][invocations], int64_t[invocations] for
                 // i64 and ptr, KCell[subgroups][rows * cols] for fragments
    uint32_t *root; // buffer of each pointer
    KCell **shared; // a region's words
    SharedTrace **shared_trace;
    MachineBuffer *buffers;
    FlowFrame *frames; // frames[0] is the whole workgroup
    uint32_t depth;
    uint8_t *active; // of frames[depth]
    uint32_t epoch, group_epoch;
    uint32_t group[3];
    uint32_t group_number; // for who touched a byte: group_number * (lanes + subgroups) + ..
    VEC(KFault) faults;
    uint16_t *reported; // bit a kind, for each instruction
};

__attribute__((format(printf, 5, 6))) void kmachine_report(KMachine *m, KFaultKind kind, KVal at,
                                                           uint32_t invocation, const char *format,
                                                           ...);
static inline bool kmachine_reported(const KMachine *m, KFaultKind kind, KVal at) {
    return m->reported[at] >> kind & 1;
}

static inline KCell *cells(const KMachine *m, KVal value) {
    return m->slot[value];
}
static inline int64_t *wide(const KMachine *m, KVal value) {
    return m->slot[value];
}
static inline KType type_at(const KMachine *m, KVal value) {
    return m->kernel->code.at[value].type;
}
static inline uint32_t frag_elements(KType type) {
    return (uint32_t)type.rows * type.cols;
}

// True if subgroup s is active; reports one that is only partly so.
bool kmachine_subgroup_active(KMachine *m, KVal at, uint32_t s);

void kmachine_alu(KMachine *m, KVal at);         // lane-wise operations
void kmachine_subgroup_op(KMachine *m, KVal at); // reductions, broadcast, shuffles
void kmachine_memory(KMachine *m, KVal at);      // LOAD, STORE, SHARED_LOAD, SHARED_STORE
void kmachine_fragment(KMachine *m, KVal at);    // FRAG_*

// Bytes of a buffer at a device address, checked for one who reads or writes them; NULL if they are
// not there. invocation is for reports; who is an invocation, or lanes + a subgroup.
uint8_t *kmachine_global(KMachine *m, KVal at, KVal pointer, int64_t address, unsigned bytes,
                         bool store, uint32_t invocation, uint32_t who);
// Words of a region, likewise.
KCell *kmachine_shared(KMachine *m, KVal at, int64_t word, unsigned words, bool store,
                       uint32_t invocation, uint32_t who);

// One element between memory and a register's cell.
KCell kmachine_load_element(DType dtype, const uint8_t *bytes);
void kmachine_store_element(DType dtype, KCell value, uint8_t *bytes);
float kmachine_round(DType dtype, float value); // to what f16 or bf16 holds; others: as it is
