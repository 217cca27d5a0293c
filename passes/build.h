// Adding nodes to a graph from within a pass: names and source lines come from the node that is
// being rewritten, errors stick, and an operand of 0 after an error gives 0.
#pragma once

#include "passes/rewrite.h"

uint32_t reduce_axes(const Node *node, uint32_t rank); // mask of the axes that a reduce folds

// What a move does, where only that counts.
bool move_is_reshape(OpId op); // the same elements in the same row-major order
bool move_is_permute(OpId op);
void move_axes(const Node *node, uint32_t rank, uint8_t *axes); // of a permute: result axis -> axis

typedef struct Builder {
    Graph *g;
    Diags *diags;
    const char *prefix; // "x.softmax": what parts are named after
    const char *name;   // wish for the value that replaces the node's result
    const char *reason; // why contracts that are built are made this way; or NULL
    const Loc *loc;
    uint32_t locs;
    bool views; // moves that are added are views of their readers, not values
    bool failed;
} Builder;

// A builder for what replaces the first result of `node`, a node of rewrite->from.
Builder build_begin(Rewrite *rewrite, NodeId node);

// `part` names the value after the prefix; NULL gives it the builder's own name. attr may be NULL.
ValueId build_op(Builder *b, OpId op, const char *part, const ValueId *operand, uint32_t operands,
                 const Attr *attr);
ValueId build_map1(Builder *b, OpId op, const char *part, ValueId x);
ValueId build_map2(Builder *b, OpId op, const char *part, ValueId x, ValueId y);

bool build_same_shape(const Type *a, const Type *b);
Type build_type(const Builder *b, ValueId value); // a zero type for 0
DimTable *build_dims(const Builder *b);

// The node's op with its attributes on other operands.
ValueId build_like(Builder *b, const Node *node, const char *part, const ValueId *operand);

// The value itself when nothing changes.
ValueId build_cast(Builder *b, const char *part, ValueId x, DType dtype);
// What an op computed inside, as its result: a cast, but a kernel need not round f32 to f16 or bf16
// before the result is stored.
ValueId build_narrow(Builder *b, const char *part, ValueId x, DType dtype);
// A copy of x in memory, in its own order: a cast to the dtype it has. After tidy only.
ValueId build_stored(Builder *b, const char *part, ValueId x);
ValueId build_permute(Builder *b, const char *part, ValueId x, const uint8_t *axes);
ValueId build_reshape(Builder *b, const char *part, ValueId x, uint32_t rank, const Dim *size);
ValueId build_broadcast(Builder *b, ValueId x, uint32_t rank, const Dim *size);
ValueId build_slice(Builder *b, const char *part, ValueId x, uint32_t axis, Dim start, Dim stop,
                    int64_t step);

ValueId build_expand(Builder *b, const char *part, ValueId x, uint32_t axis);
ValueId build_expand_to(Builder *b, ValueId x, uint32_t after); // appends `after` axes of size 1
ValueId build_pad(Builder *b, ValueId x, uint32_t axis, Dim before, Dim after);
ValueId build_pad_with(Builder *b, ValueId x, uint32_t axis, Dim before, Dim after, int64_t value);
ValueId build_flip(Builder *b, const char *part, ValueId x, uint32_t axis);
ValueId build_where(Builder *b, const char *part, ValueId cond, ValueId x, ValueId y);
// take or take_along_axis
ValueId build_gather(Builder *b, OpId op, const char *part, ValueId x, ValueId index,
                     uint32_t axis);

typedef struct WindowAxis {
    uint32_t axis;
    Dim kernel, output, before;
    int64_t stride, dilation;
} WindowAxis;
ValueId build_unfold(Builder *b, ValueId x, WindowAxis window, double value);

ValueId build_number(Builder *b, DType dtype, double value); // rank 0
ValueId build_size(Builder *b, DType dtype, Dim size);       // rank 0, a size as a number

ValueId build_counter(Builder *b, Dim count); // [count] i32: 0 .. count - 1

// Folds the axes of a mask (bit i: axis i) with a reduce op; they are dropped.
ValueId build_reduce(Builder *b, OpId op, const char *part, ValueId x, uint32_t mask);
ValueId build_contract(Builder *b, const char *part, ValueId x, ValueId y, int64_t batch, int64_t k,
                       DType dtype);
// x / count: a multiplication where that is exact.
ValueId build_divide_by(Builder *b, const char *part, ValueId x, Dim count);

// Per value: whether weights and constants alone make it, by maps and moves, in a shape that is
// known when compiling, so that `prepare` can compute it (the graph's arena).
bool *build_constants(const Graph *g);

// An attribute of a node by name (it must exist).
const Attr *build_attr(const Node *node, const char *name);
void build_attrs(const Node *node, Attr attr[OP_ATTRS_MAX]); // all of them, as graph_add takes them
Type node_type(Rewrite *rewrite, const Node *node);          // of the first result
ValueId node_operand(Rewrite *rewrite, const Node *node, uint32_t index); // new; 0: absent
