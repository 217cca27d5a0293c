// Shape and dtype rules of the op table, and what they share. Private to ir/infer*.c and ir/op.c.
//
// A rule is called after the common checks of op_infer, so required operands are there and have the
// op's common dtype. It writes call->result (one result is allocated beforehand) and brings the
// attributes to their normal form; applied to its own output it changes nothing.
#pragma once

#include "ir/op.h"

#define OP(id, name, class, gone_by, flags, precision, dtypes, operands, attrs, infer, scalar,     \
           doc)                                                                                    \
    InferFn infer;
#include "ir/ops.def"
#undef OP

// Reports at the op, "name: text", with the type of every operand. Always false.
bool infer_error(OpCall *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
void infer_help(OpCall *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *infer_size_text(OpCall *call, Dim size);
const char *infer_type_text(OpCall *call, const Type *type);
const char *infer_operand_name(const OpCall *call, uint32_t index); // the user's, else the table's
bool infer_has(const OpCall *call, uint32_t operand);
Attr *infer_attr(OpCall *call, const char *name); // of the op's attributes; it exists

bool infer_equal(OpCall *call, Dim a, Dim b); // proved
// Needs left relation right: true if proved, or if undecided (a check is then left with the given
// message); false if refuted or if a side has overflowed.
bool infer_require(OpCall *call, Dim left, DimRelation relation, Dim right, const char *message);
// NumPy's broadcasting of b onto *result; reports.
bool infer_broadcast(OpCall *call, Type *result, const Type *b);
bool infer_rank(OpCall *call, uint32_t operand, unsigned rank);
bool infer_rank_at_least(OpCall *call, uint32_t operand, unsigned rank);
bool infer_index_dtype(OpCall *call, uint32_t operand);         // i32
bool infer_is_vector(OpCall *call, uint32_t operand, Dim size); // [size], dtype unchecked; reports

// Attributes. Axis numbers count from the end where negative; they become 0..rank-1.
bool infer_axis(OpCall *call, const char *name, unsigned rank);
bool infer_axes(OpCall *call, const char *name, unsigned rank); // ascending, None is all
// One number or `count` of them, each at least 1; several equal ones become one.
bool infer_positive(OpCall *call, const char *name, unsigned count);
// A number for tensors of dtype: in range; floats for float dtypes.
bool infer_scalar(OpCall *call, const char *name, DType dtype);
// dtype= of a sum of products; normalised to None when it is the default.
bool infer_sum_dtype(OpCall *call, DType *dtype);
