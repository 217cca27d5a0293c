// The tensor graph: what all graph passes read and write, what `adept 1 ir` prints.
//
// Nodes and values are numbered; a graph and all it points to live in one arena. The dim table has
// an arena of its own, which a graph shares with its copies: a Dim means the same in all of them.
// A node applies an op of the op table to values and yields values. Regions (the model body, the
// body of a repeat, a `fused` group) list nodes in program order; every operand is defined earlier
// in the same region or an enclosing one (or is a result of a `fused` before it).
//
// A move node with `inline_view` set is not computed: its consumers read through it. Such nodes
// print nested in their consumers. graph_view composes them into one View. A rank-0 `full` with the
// flag is a number written as an operand.
//
// The builder interns: the same op on the same operands and attributes in the same region is the
// same node (declared tensors and state updates excepted). A pass reads one graph and builds
// another with graph_begin_copy / graph_copy_node, so that unreached nodes vanish.
#pragma once

#include "ir/op.h"
#include "ir/view.h"

typedef uint32_t ValueId, NodeId, RegionId; // 0 is "none"

enum { GRAPH_MOVES_MAX = 40 }; // inline moves on one another that fold-views makes

typedef struct Loc { // source positions, innermost first
    uint32_t line, column;
    const char *file; // NULL: the model's main file
} Loc;

typedef enum NodeKind {
    NODE_OP,     // a row of the op table (sources and states too)
    NODE_REPEAT, // region run `trips` times
    NODE_FUSED   // region computed by one dispatch
} NodeKind;

typedef struct Value {
    Type type;
    NodeId node;      // that defines it; 0: parameter of a repeat's region
    RegionId region;  // where it is visible
    uint16_t index;   // result (or parameter) number
    const char *name; // unique in the graph; user names kept
} Value;

// A declared tensor's extras; NODE_OP of class SOURCE or STATE points to one.
typedef struct Decl {
    const char *key;          // params, states: full key without the leading '/'; "{i}" for a trip
    const char *host_name;    // inputs, outputs: name for the host (NULL: the value's)
    DType stored;             // params: dtype in the weight file (== type.dtype without `as`)
    const double *const_data; // const tensors: elements in row-major order (integers exact)
    double fill;              // states: initial value
    bool stack;               // params: key contains {*}
} Decl;

typedef struct Node {
    NodeKind kind;
    OpId op;
    bool inline_view;
    RegionId region; // it stands in
    RegionId body;   // NODE_REPEAT, NODE_FUSED
    uint32_t operands, results, locs;
    ValueId *operand; // absent optional operands are 0, trailing ones not counted in `operands`;
                      // NODE_REPEAT: initial carried values
    ValueId *result;  // NODE_FUSED: the inner values visible outside
    Attr *attr;       // one per AttrSpec of the op, in table order
    Decl *decl;
    Loc *loc;
    // NODE_REPEAT: trips lo..hi of dim symbol `trip`; body parameters and yields, one per operand.
    Dim trip;
    int64_t lo, hi;
    ValueId *param, *yield;
    // NODE_FUSED: name and family ("map", "row", "contract" ...), and whether it runs in prepare.
    const char *name, *family;
    bool prepare;
    const char *reason; // why the dispatch is needed, where that is not plain (copies); or NULL
} Node;

typedef struct Region {
    NodeId owner; // 0: the model
    VEC(NodeId) nodes;
} Region;

typedef struct Output { // an `output` statement
    ValueId value;
    const char *name, *host_name;
    Loc loc;
} Output;

typedef struct Assertion {
    Dim left, right;
    DimRelation relation;
    const char
        *message; // with {expr} already split out: "%" marks the places of `args`, "%%" a percent
    Dim *arg;
    uint32_t args;
    Loc loc;
} Assertion;

typedef struct Graph {
    Arena *arena;
    DimTable *dims;
    const char *model;   // name
    const char *file;    // main source file's name as given (no folders)
    OpStage stage;       // ops gone by this stage may not occur
    VEC(Node) nodes;     // [0] unused
    VEC(Value) values;   // [0] unused
    VEC(Region) regions; // [0] unused; [1] the model body
    VEC(Output) outputs;
    VEC(Assertion) asserts;
    struct GraphIndex *index; // interning and name tables, private to graph.c
} Graph;

Graph *graph_create(const char *model);
void graph_destroy(Graph *graph);

static inline Node *graph_node(const Graph *g, NodeId id) {
    return &g->nodes.at[id];
}
static inline Value *graph_value(const Graph *g, ValueId id) {
    return &g->values.at[id];
}
static inline const OpInfo *graph_op(const Graph *g, NodeId id) {
    return op_info(g->nodes.at[id].op);
}

// Adds (or finds) a node in the current region. Missing attributes take their defaults. Types are
// inferred; 0 and a diagnostic (if diags is not NULL) on a misuse. result may be NULL when the op
// has one result.
typedef struct NodeSpec {
    OpId op;
    const ValueId *operand;
    uint32_t operands;
    const Attr *attr; // OP_ATTRS_MAX long or NULL: all defaults
    bool inline_view;
    const Loc *loc;
    uint32_t locs;
    const char *name; // wish for the (first) result; made unique
    bool exact_name;  // the name was reserved for this value
    const Decl *decl; // copied
    const Type *type; // sources: the declared type
    Span span;        // for diagnostics
    const Span *operand_span;
    const char *const *operand_name; // for messages; NULL: the values' own, NULL entries: none
} NodeSpec;
NodeId graph_add(Graph *g, Diags *diags, const NodeSpec *spec); // 0 after a diagnostic
ValueId graph_result(const Graph *g, NodeId node, uint32_t index);

// Regions. Between begin and end, graph_add puts nodes into the new region.
// The counter's symbol is named `trip` unless that name means something else here: keys are written
// with the name of the node's `trip`. 0 after a counter's name or number has run out.
NodeId graph_begin_repeat(Graph *g, const char *trip, int64_t lo, int64_t hi, const ValueId *init,
                          uint32_t carried, const Loc *loc, uint32_t locs);
void graph_end_repeat(Graph *g, NodeId repeat, const ValueId *yield); // its results become visible
NodeId graph_begin_fused(Graph *g, const char *name, const char *family, bool prepare);
// State updates of the body need not be listed; they are added to the results.
void graph_end_fused(Graph *g, NodeId fused, const ValueId *result, uint32_t results);
RegionId graph_region(const Graph *g);

void graph_add_output(Graph *g, const char *name, const char *host_name, ValueId value, Loc loc);
void graph_add_assert(Graph *g, Assertion assertion);
ValueId graph_find(const Graph *g, const char *name); // value of that name; 0 if none
const char *graph_unique_name(Graph *g, const char *wish);
// Keeps a name for the value that asks for it with exact_name.
void graph_reserve_name(Graph *g, const char *name);
// Renames a value; the wish is made unique unless the name was reserved and exact is set.
void graph_name(Graph *g, ValueId value, const char *wish, bool exact);

// Copying for passes. The copy starts with the same dim table, asserts, model name, file and stage;
// names of `from` are reserved. map has one entry a value of `from` (0: not copied yet) and is kept
// up by graph_copy_node.
typedef struct GraphCopy {
    const Graph *from;
    Graph *to;
    ValueId *map;                       // value of from -> value of to
    const bool *live_node, *live_value; // of from: what outputs and state updates need
} GraphCopy;
GraphCopy graph_begin_copy(const Graph *from);
// Operands must be mapped. A repeat or fused is copied with what is live of its body and of its
// carried values (the map of others stays 0).
NodeId graph_copy_node(GraphCopy *copy, NodeId node);
ValueId graph_mapped(GraphCopy *copy, ValueId value);
void graph_copy_outputs(GraphCopy *copy);
// Which nodes outputs and state updates need: one flag a node (arena of the graph).
// Carried values of a repeat that nothing needs do not count.
bool *graph_live_nodes(const Graph *g);
// Per value: uses as an operand, yield or output (arena of the graph).
uint32_t *graph_use_counts(const Graph *g);
NodeId graph_state_of(const Graph *g, ValueId value); // the state it is a version of; 0 if none
bool graph_is_literal(const Graph *g, ValueId value); // an inline number

// Composes inline move nodes from `value` down to the value that memory (or a kernel) holds.
// False when a limit of views is exceeded.
bool graph_view(const Graph *g, ValueId value, ValueId *base, View *view);
// The same for a move that is computed: what the copy reads.
bool graph_copy_view(const Graph *g, ValueId value, ValueId *base, View *view);
// The part of a state that the update which makes `version` writes.
bool graph_update_view(const Graph *g, ValueId version, View *view);
// Where `stored`, a computed move or an update, puts the elements of the value that its moves start
// from: a view of that value's shape on the memory of `stored`. Elements that are not stored are
// outside the view's guards. False where moves repeat elements or a limit of views is exceeded.
bool graph_store_view(const Graph *g, ValueId stored, ValueId *source, View *view);
// The same where moves are not inline yet: what is under all of them, and the view of it when it
// lies in memory as `own` says. `base` is that value, or one on the way to it.
ValueId graph_under_moves(const Graph *g, ValueId value);
bool graph_view_from(const Graph *g, ValueId value, ValueId base, const View *own, View *view);

// Everything the IR promises: types re-inferred and compared, order, regions, stage, names unique,
// state versions updated once, repeat types equal, inline only on moves, views resolvable.
bool graph_verify(const Graph *g, Diags *diags);

// Text that parses back to the same graph (language.md section 11); first line `adept 1 ir`.
void graph_print(const Graph *g, Text *out);
void graph_print_relation(const Graph *g, const Assertion *assertion, Text *out); // "N % 2 == 0"
