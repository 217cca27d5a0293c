// Short ways to build graphs in tests, without the language's front end.
#pragma once

#include "ir/graph.h"

// "[N, 2 * N + 1, 3] f32" or "f32"; names are dims of the graph. Sizes evaluate left to right.
Type make_type(Graph *g, const char *text);

// An empty graph with the dim N in 1..=most.
Graph *make_empty(int64_t most);

ValueId make_input(Graph *g, const char *name, const char *type);
ValueId make_param(Graph *g, const char *name, const char *type);
ValueId make_state(Graph *g, const char *name, const char *type);

// Sets attributes from "axis=-1, padding=[[1, 2], [0, 0]], dtype=f16"; others keep their defaults.
void make_attrs(Graph *g, OpId op, const char *text, Attr attr[OP_ATTRS_MAX]);

// An op on values (0: absent); attrs may be NULL. 0 after a diagnostic.
NodeId make_node(Graph *g, Diags *diags, OpId op, const char *name, const char *attrs,
                 const ValueId *operand, uint32_t operands);
// The first result of an op on x, and y and z where not 0; no error is expected.
ValueId make_op(Graph *g, OpId op, const char *name, const char *attrs, ValueId x, ValueId y,
                ValueId z);
// The same as an inline view.
ValueId make_view(Graph *g, OpId op, const char *attrs, ValueId x);
// contract(x, y), called c.
ValueId make_contract(Graph *g, const char *attrs, ValueId x, ValueId y);

// The only group: ends it, with `value` as its result and the output o.
void make_finish(Graph *g, NodeId fused, ValueId value);
