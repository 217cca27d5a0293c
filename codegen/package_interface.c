// The package's side that the host sees: dims, asserts, inputs, outputs, states, weights,
// constants.
#include "codegen/package_writer.h"
#include "codegen/weights.h"

#include <string.h>

// The first input axis that is the symbol alone.
static void find_input_axis(const PackageWriter *w, Dim symbol, AdxDim *record) {
    const Graph *g = w->graph;
    uint32_t input = 0;
    for (uint32_t i = 0; i < g->regions.at[1].nodes.len; i++) {
        const Node *node = graph_node(g, g->regions.at[1].nodes.at[i]);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        const Type *type = &graph_value(g, node->result[0])->type;
        for (uint32_t axis = 0; axis < type->rank; axis++) {
            if (type->size[axis] != symbol) continue;
            record->input = input;
            record->axis = axis;
            return;
        }
        input++;
    }
}

static void put_dims(PackageWriter *w) {
    const DimTable *dims = w->graph->dims;
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++) {
        DimBounds bounds = dim_bounds(dims, dim_symbol_at(dims, i));
        AdxDim record = {.name = package_string(w, dim_symbol_name(dims, i)),
                         .source = dim_symbol_source(dims, i),
                         .lo = bounds.lo,
                         .hi = bounds.hi,
                         .input = ADX_NONE,
                         .axis = ADX_NONE};
        if (record.source == ADX_DIM_INPUT) find_input_axis(w, dim_symbol_at(dims, i), &record);
        package_put(w, ADX_DIMS, &record, sizeof record);
    }
}

// One without a message says what does not hold.
static StrRef assert_message(PackageWriter *w, const Assertion *assertion) {
    if (assertion->message && *assertion->message) return package_string(w, assertion->message);
    Text plain = {0}, text = {0};
    graph_print_relation(w->graph, assertion, &plain);
    for (const char *c = plain.data; *c; c++) {
        if (*c == '%') text_put(&text, "%");
        text_write(&text, c, 1);
    }
    text_put(&text, " does not hold");
    StrRef ref = package_string(w, text.data);
    text_free(&plain);
    text_free(&text);
    return ref;
}

static void put_asserts(PackageWriter *w) {
    for (uint32_t i = 0; i < w->graph->asserts.len; i++) {
        const Assertion *a = &w->graph->asserts.at[i];
        AdxAssert record = {.left = package_expr(w, a->left),
                            .right = package_expr(w, a->right),
                            .relation = a->relation,
                            .message = assert_message(w, a),
                            .first = package_count(w, ADX_REFS, sizeof(uint32_t)),
                            .count = a->args,
                            .file = package_string(w, a->loc.file ? a->loc.file : w->graph->file),
                            .line = a->loc.line,
                            .column = a->loc.column};
        for (uint32_t k = 0; k < a->args; k++) {
            package_put(w, ADX_REFS, &(uint32_t){package_expr(w, a->arg[k])}, sizeof(uint32_t));
        }
        package_put(w, ADX_ASSERTS, &record, sizeof record);
    }
}

static void put_tensor(PackageWriter *w, enum AdxSectionKind kind, const char *name,
                       const Type *type) {
    AdxTensor record = {.name = package_string(w, name),
                        .dtype = package_dtype(type->dtype),
                        .rank = type->rank,
                        .bytes = package_expr(w, type_bytes(w->graph->dims, type))};
    for (int i = 0; i < 8; i++) {
        record.size[i] = i < type->rank ? package_expr(w, type->size[i]) : ADX_NONE;
    }
    package_put(w, kind, &record, sizeof record);
}

static AdxState state_record(PackageWriter *w, const WeightRecord *state) {
    AdxState record = {.name = package_string(w, state->key),
                       .dtype = package_dtype(state->dtype),
                       .rank = state->rank,
                       .offset = state->offset,
                       .bytes = state->bytes,
                       .fill = graph_node(w->graph, state->node)->decl->fill};
    memcpy(record.size, state->size, sizeof record.size);
    return record;
}

static void put_state(void *user, const WeightRecord *state) {
    AdxState record = state_record(user, state);
    package_put(user, ADX_STATES, &record, sizeof record);
}

static void put_param(void *user, const WeightRecord *weight) {
    PackageWriter *w = user;
    const Node *node = graph_node(w->graph, weight->node);
    AdxParam record = {.key = package_string(w, weight->key),
                       .dtype = package_dtype(weight->dtype),
                       .rank = weight->rank,
                       .packed = weight->kind == BUF_PARAM,
                       .offset = weight->offset,
                       .bytes = weight->bytes,
                       .file = package_string(w, w->graph->file),
                       .unit = weight->unit};
    if (node->locs) {
        record.line = node->loc[0].line;
        record.column = node->loc[0].column;
    }
    memcpy(record.size, weight->size, sizeof record.size);
    package_put(w, ADX_PARAMS, &record, sizeof record);
}

void package_interface(PackageWriter *w) {
    const Graph *g = w->graph;
    put_dims(w);
    put_asserts(w);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        const Output *output = &g->outputs.at[i];
        put_tensor(w, ADX_OUTPUTS, output->host_name ? output->host_name : output->name,
                   &graph_value(g, output->value)->type);
    }
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        const Value *value = graph_value(g, node->result[0]);
        const char *host = node->decl->host_name;
        put_tensor(w, ADX_INPUTS, host ? host : value->name, &value->type);
    }
    weights_visit(w->program->plan, put_param, w);
    states_visit(w->program->plan, put_state, w);
    consts_write(w->program->plan, &w->section[ADX_CONSTS]);
}
