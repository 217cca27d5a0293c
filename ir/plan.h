// The plan: for a fused graph, the schedules chosen for each step, where each tensor lives, and
// where memory barriers stand. Plain data with a printer; `adept 1 plan` text is the graph followed
// by a `plan { }` section and parses back to the same plan.
//
// Everything belongs to the graph's arena. Sizes and offsets are in bytes, as dim expressions.
#pragma once

#include "ir/graph.h"
#include "ir/target.h"

// Which memory a tensor is in; `index` picks the one of several.
typedef enum BufferKind {
    BUF_INPUT,  // the host's tensor number `index`
    BUF_OUTPUT, // likewise
    BUF_PARAM,  // the model's weights, packed: one block per model
    BUF_STATE,  // one block per session
    BUF_CONST,  // constants carried by the package: one block per model
    BUF_ARENA,  // intermediates: one block per session
    BUF_RAW     // prepare only: a weight as the file holds it, in the staging block
} BufferKind;

typedef struct Placement {
    ValueId value; // 0: workspace of a step
    BufferKind kind;
    uint32_t index;
    Dim offset, bytes; // inside a repeat they may hold its trip symbol
} Placement;

// X(field): every number a schedule may hold; 0 means "does not apply". All families share the
// struct so that one printer and one parser serve them.
//   local          invocations of a workgroup
//   tile_m/n/k     workgroup tile of a contract; reg_m/n: elements of it per invocation
//   lanes          invocations that share one row (row family); rows: rows per workgroup
//   vec            elements a load or store moves at once; items: elements per invocation (map,
//   row) subgroup       required subgroup size; frag_m/n/k: fragment shape; warp_m/n: subgroup tile
//   stages         shared-memory stages; unroll: of the K loop
//   split_k        parts of K, summed apart and then, in a second dispatch, in order; 0 or 1: one
//   ahead          steps that loads run ahead of their stores to shared memory (0: one)
//   raster         rows of tiles gone through together, column by column (0 and 1: row by row)
//   slices         subgroups that share a part of the tile: each multiplies its slice of every
//                  step's K, and their sums meet in shared memory (0 and 1: one)
//   lazy           attention: 1 sums shrink only where a maximum moved, 2 where it moved far
//   apart          attention: 1 tiles with keys that some row must not see have a loop of their own
//   stagger        places along K at which neighbouring tiles begin (0 and 1: all at its start)
//   streams        stretches of the second operand that workgroups read side by side (0 and 1: one)
//   keep           row family: 1 registers hold the row between phases, 2 and what later phases
//                  read, 0 it is read again
#define SCHEDULE_FIELDS(X)                                                                         \
    X(local)                                                                                       \
    X(tile_m)                                                                                      \
    X(tile_n)                                                                                      \
    X(tile_k)                                                                                      \
    X(reg_m)                                                                                       \
    X(reg_n)                                                                                       \
    X(lanes)                                                                                       \
    X(rows)                                                                                        \
    X(vec)                                                                                         \
    X(items)                                                                                       \
    X(subgroup)                                                                                    \
    X(frag_m)                                                                                      \
    X(frag_n)                                                                                      \
    X(frag_k)                                                                                      \
    X(warp_m)                                                                                      \
    X(warp_n)                                                                                      \
    X(stages)                                                                                      \
    X(unroll)                                                                                      \
    X(split_k)                                                                                     \
    X(ahead)                                                                                       \
    X(raster)                                                                                      \
    X(stagger)                                                                                     \
    X(streams)                                                                                     \
    X(slices)                                                                                      \
    X(keep)                                                                                        \
    X(lazy)                                                                                        \
    X(apart)

typedef struct Schedule {
#define X(field) uint32_t field;
    SCHEDULE_FIELDS(X)
#undef X
    const char *form; // program variant within the family, e.g. "simt", "coop"; NULL: the only one
} Schedule;

typedef struct Condition { // over recorded dims (never DIM_FROM_HOST ones)
    Dim left, right;
    DimRelation relation;
} Condition;

enum { CONDITIONS_MAX = 4 };

typedef struct Alternative {
    TargetFeatures features; // all must be there
    uint32_t shared_bytes;   // the target's limit must be at least this (0: the portable 32 KiB do)
    FragmentShape fragment;  // must be listed by the target (m == 0: none)
    Condition condition[CONDITIONS_MAX];
    uint32_t conditions;
    Schedule schedule;
    Dim workspace_offset, workspace; // bytes in the arena while the step runs; DIM_NONE: none
    const char *reason;
} Alternative;

typedef struct PlanStep {
    NodeId node;  // NODE_FUSED, or NODE_REPEAT whose steps follow, closed by node == 0
    bool barrier; // a compute-to-compute memory barrier stands before it
    VEC(Alternative) alternatives; // first whose guard holds; the last has no guard
} PlanStep;

typedef struct PrepareUnit { // independent of other units; steps [first, first + count) of
                             // `prepare`
    uint32_t first, count;
    VEC(ValueId) params;
} PrepareUnit;

typedef struct Plan {
    Graph *graph;
    Target target;
    bool strict_rounding;
    bool fast_math;            // f32 products may be made of f16 ones, as exact as in f32
    VEC(Placement) placements; // sorted by value
    VEC(PlanStep) run, prepare;
    VEC(PrepareUnit) units;
    Dim arena_bytes, param_bytes, state_bytes, const_bytes;
    Dim raw_bytes; // staging block of the largest prepare unit
} Plan;

Plan *plan_create(Graph *graph, const Target *target);
const Placement *plan_placement(const Plan *plan,
                                ValueId value); // NULL: lives inside a kernel only

void plan_sort_placements(Plan *plan);

// The values in memory that a fused node reads and writes (the version an update makes, not the
// old one, which it shares its memory with). Constants that kernels make themselves are left out.
typedef struct Access {
    ValueId value;
    bool read, write;
} Access;
typedef VEC(Access) AccessList;
AccessList plan_accesses(Arena *arena, const Graph *g, NodeId fused);
// What an inline view reads from.
ValueId plan_memory_base(const Graph *g, ValueId value);

// Assumes an alternative's conditions until dim_scope_end(): what is decided, lowered and verified
// for it may rely on them.
DimScope *plan_assume(DimTable *dims, const Condition *condition, uint32_t conditions);

void schedule_print(const Schedule *schedule, Text *out); // "local=64, vec=4"
bool schedule_parse(const char *text, Arena *arena, Schedule *out, Text *error);

void plan_print(const Plan *plan, Text *out); // the whole text, graph included
// Parses the `plan { }` section for a graph already read from the text before it.
Plan *plan_parse(Graph *graph, const char *text, size_t length, FileId file, Diags *diags);
// Checks placements (sizes, overlaps of live tensors for sampled dims), steps against the graph,
// and that no two dispatches conflict on a byte range without a barrier between them.
bool plan_verify(const Plan *plan, Diags *diags);
