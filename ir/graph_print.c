// The dump form of a graph, language.md section 11.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph_names.h"

typedef struct Printer {
    const Graph *g;
    Text *out;
    PrintNames names;
    uint32_t output;   // the next `output` to print
    uint32_t position; // of the line being printed
    int indent;
} Printer;

static void start_line(Printer *p) {
    for (int i = 0; i < p->indent; i++) text_put(p->out, "    ");
}

static void put_type(Printer *p, const Type *type) {
    text_put(p->out, " : ");
    type_print(p->g->dims, type, p->out);
}

static void put_target(Printer *p, ValueId value, const char *name) {
    text_put(p->out, name);
    put_type(p, &graph_value(p->g, value)->type);
}

static void put_locs(Printer *p, const Loc *loc, uint32_t count) {
    const char *file = NULL;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (loc[i].line == 0) continue;
        text_put(p->out, shown++ ? ", " : " loc(");
        if (loc[i].file != file && !(file && loc[i].file && strcmp(file, loc[i].file) == 0)) {
            file = loc[i].file; // "" leads back to the model's file
            text_quoted(p->out, file ? file : "");
            text_put(p->out, ", ");
        }
        text_printf(p->out, "%u, %u", loc[i].line, loc[i].column);
    }
    if (shown) text_put(p->out, ")");
}

// Braces in strings insert expressions, so literal ones are doubled.
static void put_doubled(Text *out, const char *string) {
    Text doubled = {0};
    for (const char *c = string; *c; c++) {
        if (*c == '{' || *c == '}') text_write(&doubled, c, 1);
        text_write(&doubled, c, 1);
    }
    text_quoted(out, doubled.data ? doubled.data : "");
    text_free(&doubled);
}

// ---- operands ----

static void put_value(Printer *p, ValueId value);

static void put_bound(Printer *p, Dim dim) {
    dim_print(p->g->dims, dim, p->out);
}

// One axis of x[..]. `number`: the axis is dropped by the squeeze around the slice.
static void put_index(Printer *p, Dim size, Dim start, Dim stop, int64_t step, bool number,
                      bool whole) {
    DimTable *dims = p->g->dims;
    if (number) {
        put_bound(p, start);
        return;
    }
    bool full = dim_is(dims, start, 0) && stop == size && !whole;
    if (!full) put_bound(p, start);
    text_put(p->out, ":");
    if (!full) put_bound(p, stop);
    if (step != 1) text_printf(p->out, ":%lld", (long long)step);
}

static bool keeps_axis(const DimTable *dims, Dim size, Dim start, Dim stop, int64_t step) {
    return dim_is(dims, start, 0) && stop == size && step == 1;
}

// "[a:b, ..]"; dropped is NULL or the axes that print as numbers.
static void put_brackets(Printer *p, const Type *x, const Attr *attr, const Attr *dropped) {
    const Attr *starts = &attr[0], *stops = &attr[1], *steps = &attr[2];
    bool all = true; // all of x: the first axis says its bounds, for x[:] would be x
    for (unsigned axis = 0; axis < x->rank; axis++) {
        all = all && !(dropped && attr_ints_has(dropped, axis)) &&
              keeps_axis(p->g->dims, x->size[axis], starts->sizes.at[axis], stops->sizes.at[axis],
                         steps->ints.at[axis]);
    }
    text_put(p->out, x->rank ? "[" : "[...");
    for (unsigned axis = 0; axis < x->rank; axis++) {
        if (axis) text_put(p->out, ", ");
        put_index(p, x->size[axis], starts->sizes.at[axis], stops->sizes.at[axis],
                  steps->ints.at[axis], dropped && attr_ints_has(dropped, axis), all && axis == 0);
    }
    text_put(p->out, "]");
}

static const Type *operand_type(const Printer *p, const Node *node, uint32_t operand) {
    return &graph_value(p->g, node->operand[operand])->type;
}

// A squeeze around a nested slice prints as one index, x[3, :], where the slice takes one element.
static const Node *slice_below(const Printer *p, const Node *squeeze) {
    NodeId id = graph_value(p->g, squeeze->operand[0])->node;
    if (!id || !p->names.nested[id] || graph_node(p->g, id)->op != OP_SLICE) return NULL;
    const Node *slice = graph_node(p->g, id);
    DimTable *dims = p->g->dims;
    for (uint32_t i = 0; i < squeeze->attr[0].ints.n; i++) {
        int64_t axis = squeeze->attr[0].ints.at[i];
        Dim next = dim_add(dims, slice->attr[0].sizes.at[axis], dim_const(dims, 1));
        if (slice->attr[1].sizes.at[axis] != next || slice->attr[2].ints.at[axis] != 1) return NULL;
    }
    return slice;
}

static void put_expanded(Printer *p, unsigned rank, unsigned at) {
    text_put(p->out, "[");
    for (unsigned axis = 0; axis < rank; axis++) {
        text_printf(p->out, "%s%s", axis ? ", " : "", axis == at ? "None" : ":");
    }
    text_put(p->out, "]");
}

// A part of a split that is a view prints as the slice that it is.
static void put_part(Printer *p, const Node *node, uint32_t part) {
    const Type *x = operand_type(p, node, 0);
    DimTable *dims = p->g->dims;
    Dim start[RANK_MAX], stop[RANK_MAX];
    int64_t step[RANK_MAX];
    for (unsigned axis = 0; axis < x->rank; axis++) {
        start[axis] = dim_const(dims, 0);
        stop[axis] = x->size[axis];
        step[axis] = 1;
    }
    int64_t axis = node->attr[1].i;
    for (uint32_t i = 0; i < part; i++) {
        start[axis] = dim_add(dims, start[axis], node->attr[0].sizes.at[i]);
    }
    stop[axis] = dim_add(dims, start[axis], node->attr[0].sizes.at[part]);
    Attr attr[] = {attr_sizes(start, x->rank), attr_sizes(stop, x->rank), attr_ints(step, x->rank)};
    put_brackets(p, x, attr, NULL);
}

static void put_attrs(Printer *p, const Node *node, bool first) {
    const OpInfo *op = op_info(node->op);
    Arena *arena = p->names.arena;
    for (uint32_t i = 0; i < op->attrs; i++) {
        Attr usual = op_attr_default(p->g->dims, arena, &op->attr[i]);
        if (!op->attr[i].required && attr_equal(op->attr[i].kind, &usual, &node->attr[i])) continue;
        text_printf(p->out, "%s%s=", first ? "" : ", ", op->attr[i].name);
        if (op->attr[i].kind == ATTR_SCALAR && node->op == OP_FULL && !node->attr[i].is_float &&
            !node->attr[i].is_size && node->attr[2].dtype == DT_BOOL) {
            text_put(p->out, node->attr[i].i ? "true" : "false");
        } else {
            attr_print(p->g->dims, op->attr[i].kind, &node->attr[i], p->out);
        }
        first = false;
    }
}

// The right side of an op's line, or a nested operand; `part`: which result is meant.
static void put_op(Printer *p, const Node *node, uint32_t part, bool nested) {
    const OpInfo *op = op_info(node->op);
    if (node->op == OP_SLICE) {
        put_value(p, node->operand[0]);
        put_brackets(p, operand_type(p, node, 0), node->attr, NULL);
        return;
    }
    const Node *slice = node->op == OP_SQUEEZE ? slice_below(p, node) : NULL;
    if (slice) {
        put_value(p, slice->operand[0]);
        put_brackets(p, operand_type(p, slice, 0), slice->attr, &node->attr[0]);
        return;
    }
    if (node->op == OP_EXPAND_DIMS) {
        put_value(p, node->operand[0]);
        put_expanded(p, operand_type(p, node, 0)->rank + 1u, (unsigned)node->attr[0].i);
        return;
    }
    if (node->op == OP_SPLIT && nested) {
        put_value(p, node->operand[0]);
        put_part(p, node, part);
        return;
    }
    bool list = op->operands && op->operand[0].variadic;
    text_printf(p->out, "%s(%s", op->name, list ? "[" : "");
    for (uint32_t i = 0; i < node->operands; i++) {
        if (i) text_put(p->out, ", ");
        put_value(p, node->operand[i]);
    }
    if (list) text_put(p->out, "]");
    put_attrs(p, node, node->operands == 0);
    text_put(p->out, ")");
}

static void put_value(Printer *p, ValueId value) {
    if (!value) {
        text_put(p->out, "None");
        return;
    }
    NodeId id = graph_value(p->g, value)->node;
    if (!id || !p->names.nested[id]) {
        text_put(p->out, graph_shown_name(&p->names, value, p->position));
    } else if (graph_is_literal(p->g, value)) {
        const Node *node = graph_node(p->g, id);
        const Attr *number = &node->attr[1];
        if (node->attr[2].dtype == DT_BOOL) {
            text_put(p->out, number->i ? "true" : "false");
        } else {
            attr_print(p->g->dims, ATTR_SCALAR, number, p->out);
        }
    } else {
        put_op(p, graph_node(p->g, id), graph_value(p->g, value)->index, true);
    }
}

// ---- statements ----

static void put_element(Printer *p, DType dtype, double element) {
    if (dtype == DT_BOOL) {
        text_put(p->out, element != 0 ? "true" : "false");
    } else if (dtype_is_float(dtype)) {
        text_double(p->out, element);
    } else {
        text_printf(p->out, "%lld", (long long)element);
    }
}

static const double *put_data(Printer *p, const Type *type, unsigned axis, const double *data) {
    if (axis == type->rank) {
        put_element(p, type->dtype, *data);
        return data + 1;
    }
    int64_t size = 0;
    dim_is_const(p->g->dims, type->size[axis], &size);
    text_put(p->out, "[");
    for (int64_t i = 0; i < size; i++) {
        if (i) text_put(p->out, ", ");
        data = put_data(p, type, axis + 1, data);
    }
    text_put(p->out, "]");
    return data;
}

static void put_declaration(Printer *p, const Node *node) {
    ValueId value = node->result[0];
    const Type *type = &graph_value(p->g, value)->type;
    const Decl *decl = node->decl;
    text_printf(p->out, "%s ", op_info(node->op)->name);
    put_target(p, value, p->names.shown[value]);
    if (node->op == OP_PARAM && decl->stored && decl->stored != type->dtype) {
        text_printf(p->out, " as %s", dtype_name(decl->stored));
    }
    if (node->op == OP_STATE && decl->fill != 0) {
        text_put(p->out, " = ");
        put_element(p, type->dtype, decl->fill);
    }
    if (node->op == OP_CONST) {
        text_put(p->out, " = ");
        put_data(p, type, 0, decl->const_data);
    }
    if (decl->key) {
        char *key = arena_printf(p->names.arena, "/%s", decl->key);
        text_put(p->out, " from ");
        text_quoted(p->out, key);
    } else if (decl->host_name) {
        text_put(p->out, " from ");
        put_doubled(p->out, decl->host_name);
    }
}

static bool is_declaration(const Node *node) {
    return node->decl && (node->op == OP_INPUT || node->op == OP_PARAM || node->op == OP_CONST ||
                          node->op == OP_STATE);
}

// Names that old values keep when the name they had moves on at this node.
static void put_aliases(Printer *p, NodeId id) {
    for (ValueId value = p->names.first_alias[id]; value; value = p->names.next_alias[value]) {
        start_line(p);
        put_target(p, value, p->names.alias[value]);
        text_printf(p->out, " = %s\n", p->names.shown[value]);
    }
}

static void put_host_name(Printer *p, const Output *output) {
    if (!output->host_name) return;
    text_put(p->out, " from ");
    put_doubled(p->out, output->host_name);
}

// Is the next output the line of this value?
static const Output *output_here(const Printer *p, const Node *node) {
    if (node->results != 1 || p->output == p->g->outputs.len) return NULL;
    const Output *output = &p->g->outputs.at[p->output];
    if (output->value != node->result[0] ||
        strcmp(output->name, p->names.shown[node->result[0]]) != 0) {
        return NULL;
    }
    for (NodeId id = p->g->regions.at[node->region].owner; id;
         id = p->g->regions.at[graph_node(p->g, id)->region].owner) {
        if (graph_node(p->g, id)->kind == NODE_REPEAT) return NULL;
    }
    return output;
}

static void put_line(Printer *p, const Node *node) {
    start_line(p);
    if (is_declaration(node)) {
        put_declaration(p, node);
    } else if (node->op == OP_UPDATE) {
        text_put(p->out, graph_shown_name(&p->names, node->operand[0], p->position));
        put_brackets(p, operand_type(p, node, 0), node->attr, NULL);
        text_put(p->out, " = ");
        put_value(p, node->operand[1]);
    } else {
        const Output *output = output_here(p, node);
        if (output) text_put(p->out, "output ");
        for (uint32_t i = 0; i < node->results; i++) {
            if (i) text_put(p->out, ", ");
            put_target(p, node->result[i], p->names.shown[node->result[i]]);
        }
        text_put(p->out, " = ");
        put_op(p, node, 0, false);
        if (output) {
            put_host_name(p, output);
            p->output++;
        }
    }
    put_locs(p, node->loc, node->locs);
    text_put(p->out, "\n");
}

static void put_region(Printer *p, RegionId region);

typedef struct Slot { // of a repeat
    ValueId init;
    uint32_t index;
} Slot;

static int compare_slots(const void *left, const void *right) {
    const Slot *a = left, *b = right;
    if (a->init != b->init) return a->init < b->init ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

// Carried values print in the order of their initial values, in which the loader puts them.
static const Slot *slots_of(const Printer *p, const Node *node) {
    Slot *slot = arena_alloc(p->names.arena, node->operands * sizeof *slot);
    for (uint32_t i = 0; i < node->operands; i++) slot[i] = (Slot){node->operand[i], i};
    if (node->operands) qsort(slot, node->operands, sizeof *slot, compare_slots);
    return slot;
}

// Initial values whose name the loop does not take over.
static void put_initial(Printer *p, const Node *node) {
    const Slot *slot = slots_of(p, node);
    for (uint32_t at = 0; at < node->operands; at++) {
        uint32_t i = slot[at].index;
        const char *name = p->names.shown[node->result[i]];
        if (strcmp(name, p->names.shown[node->operand[i]]) == 0) continue;
        start_line(p);
        put_target(p, node->result[i], name);
        text_put(p->out, " = ");
        put_value(p, node->operand[i]);
        text_put(p->out, "\n");
    }
}

// What no line of the body has assigned, all at once.
static void put_yields(Printer *p, const Node *node) {
    const Slot *slot = slots_of(p, node);
    uint32_t count = 0;
    for (uint32_t at = 0; at < node->operands; at++) {
        uint32_t i = slot[at].index;
        if (p->names.assigned[node->result[i]]) continue;
        if (count++)
            text_put(p->out, ", ");
        else
            start_line(p);
        put_target(p, node->result[i], p->names.shown[node->result[i]]);
    }
    if (!count) return;
    text_put(p->out, " = ");
    for (uint32_t at = 0, done = 0; at < node->operands; at++) {
        uint32_t i = slot[at].index;
        if (p->names.assigned[node->result[i]]) continue;
        if (done++) text_put(p->out, ", ");
        put_value(p, node->yield[i]);
    }
    text_put(p->out, "\n");
}

static void put_repeat(Printer *p, const Node *node) {
    put_initial(p, node);
    start_line(p);
    text_put(p->out, "repeat ");
    dim_print(p->g->dims, node->trip, p->out);
    text_printf(p->out, " in %lld..%lld {\n", (long long)node->lo, (long long)node->hi);
    p->indent++;
    put_region(p, node->body);
    p->position = p->names.end[node->body];
    put_yields(p, node);
    p->indent--;
    start_line(p);
    text_put(p->out, "}");
    put_locs(p, node->loc, node->locs);
    text_put(p->out, "\n");
}

static void put_fused(Printer *p, const Node *node) {
    start_line(p);
    text_printf(p->out, "fused %s(family=", node->name);
    text_quoted(p->out, node->family);
    if (node->prepare) text_put(p->out, ", prepare=true");
    if (node->reason) {
        text_put(p->out, ", reason=");
        put_doubled(p->out, node->reason);
    }
    text_put(p->out, ")");
    uint32_t shown = 0;
    for (uint32_t i = 0; i < node->results; i++) {
        if (graph_state_of(p->g, node->result[i])) continue; // seen by its name alone
        text_printf(p->out, "%s%s", shown++ ? ", " : " -> ", p->names.shown[node->result[i]]);
    }
    text_put(p->out, " {\n");
    p->indent++;
    put_region(p, node->body);
    p->indent--;
    start_line(p);
    text_put(p->out, "}\n");
}

static bool defined_before(const Printer *p, ValueId value, uint32_t position) {
    NodeId id = graph_value(p->g, value)->node;
    return id && p->names.order[id] <= position;
}

// `output` statements whose turn it is, as far as their values are there.
static void put_outputs(Printer *p, uint32_t position) {
    while (p->output < p->g->outputs.len) {
        const Output *output = &p->g->outputs.at[p->output];
        if (!defined_before(p, output->value, position)) return;
        p->position = position;
        start_line(p);
        text_put(p->out, "output ");
        put_target(p, output->value, output->name);
        text_put(p->out, " = ");
        put_value(p, output->value);
        put_host_name(p, output);
        put_locs(p, &output->loc, 1);
        text_put(p->out, "\n");
        p->output++;
    }
}

static void put_region(Printer *p, RegionId region) {
    const Region *body = &p->g->regions.at[region];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        NodeId id = body->nodes.at[i];
        const Node *node = graph_node(p->g, id);
        if (p->names.nested[id]) continue;
        p->position = p->names.order[id];
        put_aliases(p, id);
        if (node->kind == NODE_REPEAT) {
            put_repeat(p, node);
        } else if (node->kind == NODE_FUSED) {
            put_fused(p, node);
        } else {
            put_line(p, node);
        }
        if (region == 1) {
            put_outputs(p, node->kind == NODE_OP ? p->names.order[id] : p->names.end[node->body]);
        }
    }
}

static void put_dims(Printer *p) {
    for (uint32_t i = 0; i < dim_symbol_count(p->g->dims); i++) {
        if (dim_symbol_source(p->g->dims, i) == DIM_TRIP) continue;
        DimBounds bounds = dim_bounds(p->g->dims, dim_symbol_at(p->g->dims, i));
        start_line(p);
        text_printf(p->out, "dim %s in %lld..=%lld\n", dim_symbol_name(p->g->dims, i),
                    (long long)bounds.lo, (long long)bounds.hi);
    }
}

static void put_message(Printer *p, const Assertion *assertion) {
    Text text = {0};
    uint32_t arg = 0;
    for (const char *c = assertion->message; *c; c++) {
        if (*c == '%' && c[1] == '%') {
            text_put(&text, "%");
            c++;
        } else if (*c == '%') {
            assert(arg < assertion->args);
            Dim size = assertion->arg[arg++];
            bool constant =
                dim_is_const(p->g->dims, size, NULL); // as text that reads back the same
            if (!constant) text_put(&text, "{");
            dim_print(p->g->dims, size, &text);
            if (!constant) text_put(&text, "}");
        } else {
            if (*c == '{' || *c == '}') text_write(&text, c, 1);
            text_write(&text, c, 1);
        }
    }
    if (text.len) {
        text_put(p->out, ", ");
        text_quoted(p->out, text.data);
    }
    text_free(&text);
}

void graph_print_relation(const Graph *g, const Assertion *assertion, Text *out) {
    static const char *const relation[] = {[DIM_EQ] = "==", [DIM_NE] = "!=", [DIM_LT] = "<",
                                           [DIM_LE] = "<=", [DIM_GT] = ">",  [DIM_GE] = ">="};
    dim_print(g->dims, assertion->left, out);
    text_printf(out, " %s ", relation[assertion->relation]);
    dim_print(g->dims, assertion->right, out);
}

static void put_asserts(Printer *p) {
    for (uint32_t i = 0; i < p->g->asserts.len; i++) {
        const Assertion *assertion = &p->g->asserts.at[i];
        start_line(p);
        text_put(p->out, "assert ");
        graph_print_relation(p->g, assertion, p->out);
        put_message(p, assertion);
        put_locs(p, &assertion->loc, 1);
        text_put(p->out, "\n");
    }
}

void graph_print(const Graph *g, Text *out) {
    Arena *arena = arena_create();
    Printer p = {.g = g, .out = out, .indent = 1};
    graph_name_values(g, arena, &p.names);
    text_printf(out, "adept 1 ir\nmodel %s {\n", g->model);
    put_dims(&p);
    put_asserts(&p);
    put_region(&p, 1);
    text_put(out, "}\n");
    arena_destroy(arena);
}
