// Building graphs: nodes with inference and interning, regions, outputs, asserts.
#include "ir/graph_index.h"

#include <assert.h>
#include <string.h>

enum { BODY = 1 }; // region of the model

static SharedDims *shared_dims_create(void) {
    Arena *arena = arena_create();
    SharedDims *dims = arena_alloc(arena, sizeof *dims);
    dims->arena = arena;
    dims->table = dim_table_create(arena);
    return dims;
}

static RegionId add_region(Graph *g, NodeId owner) {
    vec_push(g->arena, &g->regions, (Region){.owner = owner});
    return g->regions.len - 1;
}

Graph *graph_create_with(const char *model, SharedDims *dims) {
    Arena *arena = arena_create();
    Graph *g = arena_alloc(arena, sizeof *g);
    g->arena = arena;
    g->dims = dims->table;
    dims->graphs++;
    g->model = arena_strdup(arena, model);
    g->index = arena_alloc(arena, sizeof *g->index);
    g->index->dims = dims;
    g->index->region = BODY;
    vec_push(arena, &g->nodes, (Node){0});
    vec_push(arena, &g->values, (Value){0});
    vec_push(arena, &g->regions, (Region){0});
    add_region(g, 0);
    return g;
}

Graph *graph_create(const char *model) {
    return graph_create_with(model, shared_dims_create());
}

void graph_destroy(Graph *g) {
    if (!g) return;
    SharedDims *dims = g->index->dims;
    if (--dims->graphs == 0) arena_destroy(dims->arena);
    arena_destroy(g->arena);
}

RegionId graph_region(const Graph *g) {
    return g->index->region;
}

ValueId graph_result(const Graph *g, NodeId node, uint32_t index) {
    return node ? graph_node(g, node)->result[index] : 0;
}

static void *copied(Arena *arena, const void *from, size_t size) {
    void *to = arena_alloc(arena, size);
    if (size) memcpy(to, from, size);
    return to;
}

static Loc *copy_locs(Graph *g, const Loc *loc, uint32_t count) {
    Loc *copy = copied(g->arena, loc, count * sizeof *copy);
    for (uint32_t i = 0; i < count; i++) {
        if (copy[i].file) copy[i].file = arena_strdup(g->arena, copy[i].file);
    }
    return copy;
}

static Decl *copy_decl(Graph *g, const Decl *decl, const Type *type) {
    if (!decl) return NULL;
    Decl *copy = copied(g->arena, decl, sizeof *copy);
    if (copy->key) copy->key = arena_strdup(g->arena, copy->key);
    if (copy->host_name) copy->host_name = arena_strdup(g->arena, copy->host_name);
    int64_t elements = 0;
    if (copy->const_data && dim_is_const(g->dims, type_elements(g->dims, type), &elements)) {
        size_t size = (size_t)elements * sizeof *copy->const_data;
        copy->const_data = copied(g->arena, copy->const_data, size);
    }
    return copy;
}

static ValueId add_value(Graph *g, Type type, NodeId node, RegionId region, uint32_t index,
                         const char *name, bool exact) {
    ValueId id = g->values.len;
    Value value = {.type = type, .node = node, .region = region, .index = (uint16_t)index};
    value.name = graph_claim_name(g, name, exact, id);
    vec_push(g->arena, &g->values, value);
    return id;
}

static NodeId add_node(Graph *g, Node node) {
    NodeId id = g->nodes.len;
    node.region = g->index->region;
    vec_push(g->arena, &g->nodes, node);
    vec_push(g->arena, &g->regions.at[node.region].nodes, id);
    return id;
}

// Fills in the call of a spec; names that the compiler made up do not appear in messages.
static OpCall make_call(Graph *g, Diags *diags, const NodeSpec *spec) {
    OpCall call = {.op = op_info(spec->op),
                   .dims = g->dims,
                   .arena = g->arena,
                   .diags = diags,
                   .span = spec->span,
                   .operand_span = spec->operand_span,
                   .operands = spec->operands,
                   .declared = spec->type};
    Type *type = arena_alloc(g->arena, spec->operands * sizeof *type);
    const char **name = arena_alloc(g->arena, spec->operands * sizeof *name);
    for (uint32_t i = 0; i < spec->operands; i++) {
        if (!spec->operand[i]) continue;
        const Value *value = graph_value(g, spec->operand[i]);
        type[i] = value->type;
        name[i] = strchr(value->name, '.') ? NULL : value->name;
        if (spec->operand_name) name[i] = spec->operand_name[i];
    }
    call.operand = type;
    call.operand_name = name;
    if (spec->attr) {
        memcpy(call.attr, spec->attr, sizeof call.attr);
    } else {
        op_attr_defaults(g->dims, g->arena, call.op, call.attr);
    }
    return call;
}

static void add_checks(Graph *g, const OpCall *call, const NodeSpec *spec) {
    for (uint32_t i = 0; i < call->checks.len; i++) {
        const OpCheck *check = &call->checks.at[i];
        if (dim_proved(g->dims, check->left, check->relation, check->right)) {
            continue; // follows from an earlier check
        }
        Dim arg[] = {check->left, check->right};
        Assertion assertion = {
            .left = check->left, .right = check->right, .relation = check->relation, .arg = arg};
        for (const char *c = check->message; *c; c++) assertion.args += *c == '%';
        assertion.message = arena_printf(g->arena, "%s: %s", call->op->name, check->message);
        if (spec->locs) assertion.loc = spec->loc[0];
        graph_add_assert(g, assertion);
    }
}

// Dims that stand alone in an input's shape are read from it.
static void fix_dims(Graph *g, const Type *type) {
    for (uint32_t i = 0; i < dim_symbol_count(g->dims); i++) {
        for (unsigned axis = 0; axis < type->rank; axis++) {
            if (type->size[axis] == dim_symbol_at(g->dims, i)) {
                dim_set_source(g->dims, i, DIM_FROM_INPUT);
            }
        }
    }
}

// Room for all operands of the op, so that absent ones read as 0.
static ValueId *operand_list(Graph *g, const OpInfo *op, const ValueId *operand, uint32_t count) {
    uint32_t room = count > op->operands ? count : op->operands;
    ValueId *list = arena_alloc(g->arena, room * sizeof *list);
    if (count) memcpy(list, operand, count * sizeof *list);
    return list;
}

NodeId graph_add(Graph *g, Diags *diags, const NodeSpec *spec) {
    OpCall call = make_call(g, diags, spec);
    if (!op_infer(&call)) return 0;
    uint32_t operands = spec->operands; // without trailing absent ones
    while (operands && !spec->operand[operands - 1]) operands--;
    Node node = {.kind = NODE_OP,
                 .op = spec->op,
                 .inline_view = spec->inline_view,
                 .region = g->index->region,
                 .operands = operands,
                 .results = call.results,
                 .operand = operand_list(g, call.op, spec->operand, operands),
                 .attr = call.attr};
    bool declared = spec->decl || call.op->class == OC_STATE;
    uint64_t hash = 0;
    if (!declared) {
        NodeId found = graph_intern_find(g, &node, &hash);
        if (found) return found;
    }
    node.attr = arena_alloc(g->arena, call.op->attrs * sizeof *node.attr);
    for (uint32_t i = 0; i < call.op->attrs; i++) {
        node.attr[i] = attr_copy(g->arena, call.op->attr[i].kind, &call.attr[i]);
    }
    node.locs = spec->locs;
    node.loc = copy_locs(g, spec->loc, spec->locs);
    node.decl = copy_decl(g, spec->decl, &call.result[0]);
    node.result = arena_alloc(g->arena, call.results * sizeof *node.result);
    NodeId id = add_node(g, node);
    for (uint32_t i = 0; i < call.results; i++) {
        node.result[i] =
            add_value(g, call.result[i], id, node.region, i,
                      spec->name ? spec->name : call.op->name, spec->exact_name && i == 0);
    }
    if (!declared) graph_index_node(g, id, hash);
    if (spec->op == OP_INPUT) fix_dims(g, &call.result[0]);
    add_checks(g, &call, spec);
    return id;
}

// The trip's symbol: one of the same name and bounds is shared, unless an enclosing repeat counts
// with it.
static Dim trip_symbol(Graph *g, const char *name, int64_t lo, int64_t hi) {
    const char *wish = name;
    for (unsigned number = 2;; number++) {
        Dim trip = dim_find(g->dims, wish);
        if (trip == DIM_NONE) {
            trip = dim_symbol(g->dims, wish, lo, hi > lo ? hi - 1 : lo);
            if (trip == DIM_NONE) return DIM_NONE;
            dim_set_source(g->dims, dim_symbol_count(g->dims) - 1, DIM_TRIP);
            return trip;
        }
        bool shared = false;
        for (uint32_t i = 0; i < dim_symbol_count(g->dims); i++) {
            shared = shared || (dim_symbol_at(g->dims, i) == trip &&
                                dim_symbol_source(g->dims, i) == DIM_TRIP);
        }
        DimBounds bounds = dim_bounds(g->dims, trip);
        shared = shared && bounds.lo == lo && bounds.hi == (hi > lo ? hi - 1 : lo);
        for (NodeId owner = g->regions.at[g->index->region].owner; owner;
             owner = g->regions.at[graph_node(g, owner)->region].owner) {
            shared = shared && graph_node(g, owner)->trip != trip;
        }
        if (shared) return trip;
        wish = arena_printf(g->arena, "%s_%u", name, number);
    }
}

NodeId graph_begin_repeat(Graph *g, const char *trip, int64_t lo, int64_t hi, const ValueId *init,
                          uint32_t carried, const Loc *loc, uint32_t locs) {
    Dim symbol = trip_symbol(g, trip, lo, hi);
    if (symbol == DIM_NONE) return 0;
    Node node = {.kind = NODE_REPEAT,
                 .operands = carried,
                 .results = carried,
                 .operand = copied(g->arena, init, carried * sizeof *node.operand),
                 .result = arena_alloc(g->arena, carried * sizeof *node.result),
                 .param = arena_alloc(g->arena, carried * sizeof *node.param),
                 .yield = arena_alloc(g->arena, carried * sizeof *node.yield),
                 .loc = copy_locs(g, loc, locs),
                 .locs = locs,
                 .trip = symbol,
                 .lo = lo,
                 .hi = hi};
    NodeId id = add_node(g, node);
    RegionId body = add_region(g, id);
    graph_node(g, id)->body = body;
    for (uint32_t i = 0; i < carried; i++) {
        const Value *value = graph_value(g, init[i]);
        const char *name = arena_printf(g->arena, "%s.in", value->name);
        node.param[i] = add_value(g, value->type, 0, body, i, name, false);
    }
    g->index->region = body;
    return id;
}

void graph_end_repeat(Graph *g, NodeId repeat, const ValueId *yield) {
    Node *node = graph_node(g, repeat);
    assert(node->kind == NODE_REPEAT && g->index->region == node->body);
    g->index->region = node->region;
    for (uint32_t i = 0; i < node->operands; i++) {
        const Value *init = graph_value(g, node->operand[i]);
        const char *name = arena_printf(g->arena, "%s.out", init->name);
        node->yield[i] = yield[i];
        node->result[i] = add_value(g, init->type, repeat, node->region, i, name, false);
    }
}

NodeId graph_begin_fused(Graph *g, const char *name, const char *family, bool prepare) {
    Node node = {.kind = NODE_FUSED,
                 .name = arena_strdup(g->arena, name),
                 .family = arena_strdup(g->arena, family),
                 .prepare = prepare};
    NodeId id = add_node(g, node);
    RegionId body = add_region(g, id);
    graph_node(g, id)->body = body;
    g->index->region = body;
    return id;
}

void graph_end_fused(Graph *g, NodeId fused, const ValueId *result, uint32_t results) {
    Node *node = graph_node(g, fused);
    assert(node->kind == NODE_FUSED && g->index->region == node->body);
    g->index->region = node->region;
    VEC(ValueId) visible = {0};
    for (uint32_t i = 0; i < results; i++) vec_push(g->arena, &visible, result[i]);
    const Region *body = &g->regions.at[node->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *inner = graph_node(g, body->nodes.at[i]);
        if (inner->kind != NODE_OP || inner->op != OP_UPDATE) continue;
        bool listed = false;
        for (uint32_t j = 0; j < results; j++) listed = listed || result[j] == inner->result[0];
        if (!listed) vec_push(g->arena, &visible, inner->result[0]);
    }
    node->result = visible.at;
    node->results = visible.len;
}

void graph_add_output(Graph *g, const char *name, const char *host_name, ValueId value, Loc loc) {
    if (loc.file) loc.file = arena_strdup(g->arena, loc.file);
    Output output = {.value = value,
                     .name = arena_strdup(g->arena, name),
                     .host_name = host_name ? arena_strdup(g->arena, host_name) : NULL,
                     .loc = loc};
    vec_push(g->arena, &g->outputs, output);
}

static bool same_assert(const Assertion *a, const Assertion *b) {
    if (a->left != b->left || a->right != b->right || a->relation != b->relation ||
        a->args != b->args || strcmp(a->message, b->message) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->args; i++) {
        if (a->arg[i] != b->arg[i]) return false;
    }
    return true;
}

void graph_copy_assert(Graph *g, const Assertion *assertion) {
    Assertion copy = *assertion;
    copy.message = arena_strdup(g->arena, copy.message ? copy.message : "");
    copy.arg = copied(g->arena, copy.arg, copy.args * sizeof *copy.arg);
    if (copy.loc.file) copy.loc.file = arena_strdup(g->arena, copy.loc.file);
    vec_push(g->arena, &g->asserts, copy);
}

void graph_add_assert(Graph *g, Assertion assertion) {
    if (!assertion.message) assertion.message = "";
    for (uint32_t i = 0; i < g->asserts.len; i++) {
        if (same_assert(&g->asserts.at[i], &assertion)) return;
    }
    graph_copy_assert(g, &assertion);
    dim_assume(g->dims, assertion.left, assertion.relation, assertion.right);
}
