// Groups of nodes that will be one dispatch each: the shared pieces of the fuse pass.
//
// A group computes values of one full shape and, where it reduces, of the kept shape: the full
// shape less its reduced axes (a kept value may carry axes of size 1 in their place). Inside a
// group a full value is read as it is by full values and by reduces, and a kept value as it is by
// kept values or spread along the reduced axes by full ones. Everything else is read from memory,
// through views.
#pragma once

#include "passes/build.h"
#include "passes/readers.h"

typedef enum Family {
    FAMILY_MAP,
    FAMILY_ROW,
    FAMILY_CONTRACT,
    FAMILY_TRANSFORM,
    FAMILY_SINGLE
} Family;

typedef struct Group {
    Family family;
    Type full;
    uint32_t reduced;     // mask of axes
    bool parts;           // a contract whose maps read neighbouring columns of it, see fuse_parts.c
    const char *prologue; // of a contract: why its operands are computed as they are read; or NULL
    bool constant;        // depends on params and consts only
    VEC(NodeId) nodes;    // in program order
    uint32_t first, last; // places of the first and last node in the region
    bool dead;            // merged into another
} Group;

typedef enum Kind { KIND_NONE, KIND_FULL, KIND_KEPT } Kind;

typedef VEC(NodeId) NodeList;

typedef struct Fuser {
    PassContext *ctx;
    const Graph *g;
    DimTable *dims;
    Arena *arena; // scratch
    const bool *live;
    const uint32_t *uses;
    const bool *stored;   // per value: memory must hold it
    const bool *constant; // per node
    Readers *readers;
    RegionId region;
    uint32_t *place; // per node: its number in its region
    uint32_t *group; // per node: its group, 0: none
    uint32_t *stamp; // per node: the last search that visited it
    uint32_t searches;
    NodeList deps, work; // of the search under way
    VEC(Group) groups;   // [0] unused
} Fuser;

// fuse_rules.c: what may stand in a group.

// The value that memory or a kernel holds under the inline views of `value`.
ValueId fuse_base(const Graph *g, ValueId value);
Kind fuse_kind(const Fuser *f, const Group *group, const Type *type);
// Whether `node` may stand in `group` as far as its own shape and what it reads there go.
bool fuse_allows(const Fuser *f, uint32_t group, NodeId node);
// A group that `node` alone would make.
Group fuse_alone(const Fuser *f, NodeId node);
// Whether a map group or a contract can become one that reduces as `node` does.
bool fuse_can_reduce(const Fuser *f, uint32_t group, NodeId node, Group *out);

// fuse_parts.c: a gate, silu(a) * b, over a product that holds a and b in neighbouring columns.

// Whether the node reads a part of the product that is in `group`.
bool fuse_reads_part(const Fuser *f, uint32_t group, NodeId node);
// Whether a contract can become one whose maps read it in parts, as `node` does.
bool fuse_can_part(const Fuser *f, uint32_t group, NodeId node, Group *out);
// Takes groups apart in which not all readers of the parts have found a place.
void fuse_check_parts(Fuser *f, uint32_t first_group);

// fuse_group.c: forming the groups of a region.

void fuse_region(Fuser *f, RegionId region);

// fuse_cut.c: moves maps to the other side of the cut between a contract and a row behind it.

void fuse_cut(Fuser *f, uint32_t first_group);

// fuse_prologue.c: maps in front of a product become part of it.

void fuse_prologue(Fuser *f, uint32_t first_group);

// fuse_emit.c: writing the graph with its groups.

bool fuse_emit(Fuser *f, Graph **out);
