// What the graph promises, checked: all violations are reported.
#include <string.h>

#include "ir/graph_index.h"

enum { TRIPS_MAX = 4096 };

typedef struct Verifier {
    const Graph *g;
    Diags *diags;
    Arena *arena;
    bool *seen;    // per node: listed in a region
    bool *visible; // per value, at the point that is being checked
    bool *moved;   // per value: a state version that an update or a repeat has used up
    bool good;
} Verifier;

static Span span_of(const Loc *loc) {
    return loc ? (Span){.line = loc->line, .column = loc->column} : (Span){0};
}

static const char *node_name(const Verifier *v, const Node *node) {
    if (node->kind == NODE_FUSED) return node->name;
    if (node->kind == NODE_REPEAT) return "repeat";
    return node->results ? graph_value(v->g, node->result[0])->name : op_info(node->op)->name;
}

static void complain(Verifier *v, const Node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void complain(Verifier *v, const Node *node, const char *format, ...) {
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    Span span = span_of(node && node->locs ? node->loc : NULL);
    if (node) {
        diag_error(v->diags, span, "graph: %s: %s", node_name(v, node), text.data);
    } else {
        diag_error(v->diags, span, "graph: %s", text.data);
    }
    text_free(&text);
    v->good = false;
}

static bool known(const Verifier *v, ValueId value) {
    return value && value < v->g->values.len;
}

static bool check_use(Verifier *v, const Node *node, ValueId value) {
    if (!known(v, value)) {
        complain(v, node, "value %u does not exist", value);
        return false;
    }
    if (v->visible[value]) return true;
    complain(v, node, "%s is not defined here", graph_value(v->g, value)->name);
    return false;
}

static void check_value(Verifier *v, const Node *node, ValueId id, NodeId definer, RegionId region,
                        uint32_t index) {
    if (!known(v, id)) {
        complain(v, node, "value %u does not exist", id);
        return;
    }
    const Value *value = graph_value(v->g, id);
    if (value->node != definer || value->region != region || value->index != index) {
        complain(v, node, "%s does not point back to its definition", value->name);
    }
    if (!value->name || graph_find(v->g, value->name) != id) {
        complain(v, node, "the name %s is not its own", value->name ? value->name : "(none)");
    }
    v->visible[id] = true;
}

// A version of a state has one successor.
static void use_up(Verifier *v, const Node *node, ValueId version) {
    if (v->moved[version]) {
        complain(v, node, "%s is updated twice", graph_value(v->g, version)->name);
    }
    v->moved[version] = true;
}

// Runs the rule again; what it says must be what the node says.
static void check_inference(Verifier *v, const Node *node) {
    const OpInfo *op = op_info(node->op);
    OpCall call = {.op = op,
                   .dims = v->g->dims,
                   .arena = v->arena,
                   .diags = v->diags,
                   .span = span_of(node->locs ? node->loc : NULL),
                   .operands = node->operands,
                   .declared = node->results ? &graph_value(v->g, node->result[0])->type : NULL};
    Type *type = arena_alloc(v->arena, node->operands * sizeof *type);
    for (uint32_t i = 0; i < node->operands; i++) {
        if (node->operand[i]) type[i] = graph_value(v->g, node->operand[i])->type;
    }
    call.operand = type;
    for (uint32_t i = 0; i < op->attrs; i++) call.attr[i] = node->attr[i];
    if (!op_infer(&call)) {
        v->good = false;
        return;
    }
    if (call.results != node->results) {
        complain(v, node, "%u results, not %u", node->results, call.results);
        return;
    }
    for (uint32_t i = 0; i < call.results; i++) {
        const Type *found = &graph_value(v->g, node->result[i])->type;
        if (type_equal(found, &call.result[i])) continue;
        Text text = {0};
        type_print(v->g->dims, found, &text);
        text_put(&text, ", not ");
        type_print(v->g->dims, &call.result[i], &text);
        complain(v, node, "has the type %s", text.data);
        text_free(&text);
    }
    for (uint32_t i = 0; i < op->attrs; i++) {
        if (!attr_equal(op->attr[i].kind, &call.attr[i], &node->attr[i])) {
            complain(v, node, "%s is not in normal form", op->attr[i].name);
        }
    }
}

static bool is_declaration(OpId op) {
    return op == OP_INPUT || op == OP_PARAM || op == OP_CONST || op == OP_STATE;
}

static void check_declaration(Verifier *v, const Node *node) {
    if (!node->decl) {
        complain(v, node, "lacks its declaration");
        return;
    }
    bool keyed = node->op == OP_PARAM || node->op == OP_STATE;
    if (keyed && !node->decl->key) complain(v, node, "lacks its key");
    if (node->op == OP_CONST && !node->decl->const_data) complain(v, node, "lacks its elements");
    if (node->op == OP_INPUT && node->region != 1) complain(v, node, "is an input of no model");
    const Type *type = &graph_value(v->g, node->result[0])->type;
    for (unsigned axis = 0; node->op != OP_INPUT && axis < type->rank; axis++) {
        if (!dim_is_const(v->g->dims, type->size[axis], NULL)) {
            complain(v, node, "size %u must be constant", axis);
        }
    }
}

static void check_inline(Verifier *v, NodeId id, const Node *node) {
    const OpInfo *op = op_info(node->op);
    ValueId base;
    View view;
    if (!op_is_view(op) && !graph_is_literal(v->g, node->result[0])) {
        complain(v, node, "%s cannot be an inline view", op->name);
    } else if (node->op == OP_FULL && graph_value(v->g, node->result[0])->type.rank != 0) {
        complain(v, node, "an inline number has rank 0");
    }
    for (uint32_t i = 0; op_is_view(op) && i < node->results; i++) {
        if (graph_value(v->g, node->result[i])->node == id &&
            !graph_view(v->g, node->result[i], &base, &view)) {
            complain(v, node, "needs more digits or guards than a view has");
        }
    }
}

static bool in_fused(const Graph *g, const Node *node) {
    NodeId owner = g->regions.at[node->region].owner;
    return owner && graph_node(g, owner)->kind == NODE_FUSED;
}

static void check_op(Verifier *v, NodeId id, const Node *node) {
    const OpInfo *op = op_info(node->op);
    const Graph *g = v->g;
    bool usable = true;
    for (uint32_t i = 0; i < node->operands; i++) {
        if (node->operand[i] && !check_use(v, node, node->operand[i])) usable = false;
    }
    for (uint32_t i = 0; i < node->results; i++) {
        check_value(v, node, node->result[i], id, node->region, i);
    }
    if (g->stage >= op->gone_by) complain(v, node, "%s should be gone by now", op->name);
    if (g->stage >= STAGE_FUSED && !is_declaration(node->op) && !node->inline_view &&
        !in_fused(g, node)) {
        complain(v, node, "%s stands outside of a fused", op->name);
    }
    if (!usable) return;
    if (is_declaration(node->op)) check_declaration(v, node);
    check_inference(v, node);
    if (node->inline_view) check_inline(v, id, node);
    if (node->op == OP_UPDATE) {
        if (!graph_state_of(g, node->operand[0])) {
            complain(v, node, "updates %s, which is no state",
                     graph_value(g, node->operand[0])->name);
        }
        use_up(v, node, node->operand[0]);
    }
}

static void check_region(Verifier *v, RegionId region);

static void check_carried(Verifier *v, const Node *node, uint32_t i) {
    const Type *type = &graph_value(v->g, node->operand[i])->type;
    ValueId others[] = {node->param[i], node->yield[i], node->result[i]};
    for (size_t j = 0; j < sizeof others / sizeof *others; j++) {
        if (!type_equal(type, &graph_value(v->g, others[j])->type)) {
            complain(v, node, "carried %s and %s differ in type",
                     graph_value(v->g, node->operand[i])->name, graph_value(v->g, others[j])->name);
        }
    }
    if (graph_state_of(v->g, node->operand[i]) != graph_state_of(v->g, node->yield[i])) {
        complain(v, node, "carries %s on as %s", graph_value(v->g, node->operand[i])->name,
                 graph_value(v->g, node->yield[i])->name);
    }
}

static void check_repeat(Verifier *v, NodeId id, const Node *node) {
    if (node->lo > node->hi || node->hi - node->lo > TRIPS_MAX) {
        complain(v, node, "cannot count from %lld to %lld", (long long)node->lo,
                 (long long)node->hi);
    }
    if (in_fused(v->g, node)) complain(v, node, "stands in a fused");
    if (v->g->regions.at[node->body].owner != id) complain(v, node, "does not own its body");
    bool usable = true;
    for (uint32_t i = 0; i < node->operands; i++) {
        usable = check_use(v, node, node->operand[i]) && usable;
        if (usable && graph_state_of(v->g, node->operand[i])) use_up(v, node, node->operand[i]);
        check_value(v, node, node->param[i], 0, node->body, i);
    }
    check_region(v, node->body);
    for (uint32_t i = 0; i < node->operands; i++) {
        usable = check_use(v, node, node->yield[i]) && usable;
        check_value(v, node, node->result[i], id, node->region, i);
    }
    for (uint32_t i = 0; usable && i < node->operands; i++) check_carried(v, node, i);
}

// What a region defines is not visible after it.
static void hide_region(Verifier *v, RegionId region) {
    const Region *body = &v->g->regions.at[region];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(v->g, body->nodes.at[i]);
        for (uint32_t j = 0; j < node->results; j++) {
            if (known(v, node->result[j])) v->visible[node->result[j]] = false;
        }
    }
}

static void check_fused(Verifier *v, NodeId id, const Node *node) {
    if (in_fused(v->g, node)) complain(v, node, "stands in another fused");
    if (v->g->regions.at[node->body].owner != id) complain(v, node, "does not own its body");
    if (node->results == 0) complain(v, node, "has no result");
    check_region(v, node->body);
    for (uint32_t i = 0; i < node->results; i++) {
        if (check_use(v, node, node->result[i]) &&
            graph_value(v->g, node->result[i])->region != node->body) {
            complain(v, node, "does not define its result %s",
                     graph_value(v->g, node->result[i])->name);
        }
    }
    hide_region(v, node->body);
    for (uint32_t i = 0; i < node->results; i++) {
        if (known(v, node->result[i])) v->visible[node->result[i]] = true;
    }
}

static void check_region(Verifier *v, RegionId region) {
    const Region *body = &v->g->regions.at[region];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        NodeId id = body->nodes.at[i];
        const Node *node = graph_node(v->g, id);
        if (v->seen[id] || node->region != region) complain(v, node, "is listed in a wrong place");
        if (v->seen[id]) continue;
        v->seen[id] = true;
        switch (node->kind) {
        case NODE_OP: check_op(v, id, node); break;
        case NODE_FUSED: check_fused(v, id, node); break;
        case NODE_REPEAT:
            check_repeat(v, id, node);
            hide_region(v, node->body);
            for (uint32_t j = 0; j < node->operands; j++) v->visible[node->param[j]] = false;
            break;
        }
    }
}

static void check_outputs(Verifier *v) {
    for (uint32_t i = 0; i < v->g->outputs.len; i++) {
        const Output *output = &v->g->outputs.at[i];
        if (!known(v, output->value) || !v->visible[output->value]) {
            complain(v, NULL, "output %s is not defined in the model", output->name);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(v->g->outputs.at[j].name, output->name) == 0) {
                complain(v, NULL, "two outputs are called %s", output->name);
            }
        }
    }
}

static void check_asserts(Verifier *v) {
    for (uint32_t i = 0; i < v->g->asserts.len; i++) {
        const Assertion *assertion = &v->g->asserts.at[i];
        uint32_t marks = 0;
        for (const char *c = assertion->message; *c; c++) {
            if (*c != '%') continue;
            if (c[1] == '%')
                c++;
            else
                marks++;
        }
        if (marks != assertion->args) {
            complain(v, NULL, "assert \"%s\" has %u arguments", assertion->message,
                     assertion->args);
        }
    }
}

bool graph_verify(const Graph *g, Diags *diags) {
    Arena *arena = arena_create();
    Verifier v = {.g = g,
                  .diags = diags,
                  .arena = arena,
                  .seen = arena_alloc(arena, g->nodes.len * sizeof(bool)),
                  .visible = arena_alloc(arena, g->values.len * sizeof(bool)),
                  .moved = arena_alloc(arena, g->values.len * sizeof(bool)),
                  .good = true};
    check_region(&v, 1);
    check_outputs(&v);
    check_asserts(&v);
    arena_destroy(arena);
    return v.good;
}
