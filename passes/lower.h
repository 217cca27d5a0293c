// What the families of kernels share while one kernel is made: parameters, addresses through views,
// and the expressions of a fused region at one point of the iteration space.
//
// A family opens a Lower for a (fused node, schedule), describes its iteration space, evaluates
// values at points of it with lower_value, stores results with lower_store, and closes it with
// lower_finish, which adds the kernel (or an equal older one) and the dispatch to the program.
//
// Mistakes of a plan or graph that a family cannot lower set Lower.failed after a diagnostic; the
// kernel is then thrown away.
#pragma once

#include "ir/kernel_build.h"
#include "passes/compile.h"

// How values of a logical shape are indexed: its axes in the order `axes`, joined to `rank` sizes
// in row-major order. Operands of fewer elements broadcast to the shape.
typedef struct Space {
    uint8_t shape_rank, rank;
    Dim shape[RANK_MAX], size[RANK_MAX];
    uint8_t axes[RANK_MAX];
    bool permuted; // axes is not 0, 1, 2, ...
} Space;

typedef struct Known {
    ValueId value;
    KVal known;
} Known;

// One index (or `lanes` consecutive ones along the last size) of a space. Values found for it are
// kept; a point must therefore be used in the region of the kernel where it was made, or inside.
typedef struct Point {
    const Space *space;
    KVal index[RANK_MAX];
    uint8_t lanes;
    VEC(Known) known;
} Point;

typedef struct LowerBuffer {
    ValueId value;
    int access;
    KVal pointer;
} LowerBuffer;

typedef struct LowerScalar {
    Dim dim;
    bool wide;
    KVal value;
} LowerScalar;

typedef struct LowerView {
    ValueId value;
    bool store; // the view that a result is written through
    const Space *space;
    ValueId base;
    View *view;
} LowerView;

typedef struct Lower {
    Arena *arena;
    Graph *graph;
    DimTable *dims;
    Plan *plan;
    Program *program;
    Diags *diags;
    NodeId node; // fused
    const Schedule *schedule;
    const Alternative *alternative; // whose conditions hold; NULL: none known
    KBuilder *b;
    bool failed, folded;
    VEC(DispatchArg) args; // one a kernel parameter
    VEC(LowerBuffer) buffers;
    VEC(LowerScalar) scalars;
    VEC(LowerView) views;
    VEC(Known) bound; // values that are the same at every point: one per row
} Lower;

// lower.c
Lower lower_begin(Plan *plan, Program *program, Diags *diags, NodeId node,
                  const Schedule *schedule);
// One more kernel for the same node and alternative, named after `what` it does. Its dispatch comes
// behind those that are finished before it.
Lower lower_begin_next(const Lower *l, const char *what, const Schedule *schedule);
bool lower_finish(Lower *l, Dim workgroups, Dim flops); // workgroups fold over the grid
void lower_fail(Lower *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Number of this workgroup among `workgroups`. Called once, first: where the grid folds, the rest
// of the kernel stands in an IF that keeps surplus workgroups out.
KVal lower_workgroup(Lower *l, Dim workgroups);
// False, and failed, if no family could use the schedule: sizes out of range or of the target.
bool lower_check_schedule(Lower *l, const Schedule *s, const Target *target);
bool lower_is_inner(const Lower *l, ValueId value); // computed by a node of the fused region
KVal lower_dim(Lower *l, Dim dim);                  // i32; the value is below 2^31
KVal lower_dim64(Lower *l, Dim dim);                // i64
KVal lower_buffer(Lower *l, ValueId value, int access);
// The alternative's workspace, of which `bytes` are used; failed if the plan gives it less. Once a
// kernel.
KVal lower_workspace(Lower *l, DType dtype, Dim bytes, int access);
// Bytes [offset, offset + bytes) of it, under a name.
KVal lower_workspace_part(Lower *l, const char *name, DType dtype, Dim offset, Dim bytes,
                          int access);

// lower_address.c
typedef struct Address {
    KVal pointer, index; // of an element; always inside the tensor
    KVal valid, pad;     // 0: always; else the element is pad where this is false
    bool vector;         // the point's lanes are consecutive elements
} Address;
Address lower_address(Lower *l, const View *view, const Point *point, KVal pointer, DType dtype);
// The alignment that can be proved of an access, at most 16 and at most the access itself.
unsigned lower_align(Lower *l, const Address *address, unsigned bytes, unsigned lanes);
KVal lower_load(Lower *l, ValueId base, const View *view, const Point *point);
void lower_store(Lower *l, ValueId base, const View *view, const Point *point, KVal value);
// The same for memory that holds no value of the graph and is never empty.
KVal lower_load_at(Lower *l, KVal pointer, DType dtype, const View *view, const Point *point);
void lower_store_at(Lower *l, KVal pointer, DType dtype, const View *view, const Point *point,
                    KVal value);
// An address in two parts, where only some of the point's indices are known at a time: a part for
// a point whose other indices are 0, one of the two with the view's own offset (`start`). For views
// of one level whose offsets fit 31 bits.
typedef struct AddressPart {
    KVal index, guard[VIEW_GUARDS_MAX]; // guard: positions, to be compared when they are whole
} AddressPart;
AddressPart lower_address_part(Lower *l, const View *view, const Point *point, bool start);
// No pointer and no pad.
Address lower_address_join(Lower *l, const View *view, const AddressPart *x, const AddressPart *y);
KVal lower_constant(Lower *l, DType dtype, double value);
// index split in row-major order over sizes
void lower_split(Lower *l, KVal index, uint8_t rank, const Dim *size, KVal *out);

// lower_expr.c
Space space_of(Lower *l, uint8_t rank, const Dim *shape); // one size an axis
Space space_linear(Lower *l, uint8_t rank, const Dim *shape);
Point point_make(const Space *space, uint8_t lanes);
void point_set(Lower *l, Point *point, ValueId value, KVal known);
KVal lower_value(Lower *l, ValueId value, Point *point);
void lower_bind(Lower *l, ValueId value, KVal known); // at every point from now on
// The view of `value` on what holds it, in the point's space; base is a value in memory or an inner
// one.
const LowerView *lower_view(Lower *l, ValueId value, const Space *space);
// Stores a result of the fused node, or what an update node inside it writes.
void lower_result(Lower *l, ValueId result, Point *point);
// The value where nothing but a store as its dtype follows, which rounds: a cast at its end, or
// before maps that rounding passes through (relu, clip), is left to that.
KVal lower_to_store(Lower *l, ValueId value, Point *point);
ValueId lower_stored(Lower *l, ValueId result); // what that writes

// lower_scalar.c: one application of a map op to operands (0: absent).
KVal lower_scalar(Lower *l, const Node *node, DType operand_type, DType result_type, const KVal *x);
KVal lower_cast(KBuilder *b, KVal x, DType from, DType to);
KVal lower_round(KBuilder *b, KVal x, DType dtype);          // to what the element type can hold
KVal lower_larger(KBuilder *b, DType dtype, KVal x, KVal y); // NaN wins
KVal lower_smaller(KBuilder *b, DType dtype, KVal x, KVal y);

// The families.
bool lower_map(Lower *l);
bool lower_map_tile(Lower *l); // of family map
bool lower_row(Lower *l);
bool lower_window(Lower *l); // of family row
bool lower_contract(Lower *l);
bool lower_skinny(Lower *l); // of family contract
bool lower_direct(Lower *l); // likewise
bool lower_transform(Lower *l);
bool lower_attention(Lower *l);
bool lower_scan(Lower *l);
