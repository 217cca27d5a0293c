// The package's side that the host sees: dims, asserts, inputs, outputs, states, weights,
// constants.
#include "codegen/package_writer.h"
#include "ir/number.h"

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

static void put_asserts(PackageWriter *w) {
    for (uint32_t i = 0; i < w->graph->asserts.len; i++) {
        const Assertion *a = &w->graph->asserts.at[i];
        AdxAssert record = {.left = package_expr(w, a->left),
                            .right = package_expr(w, a->right),
                            .relation = a->relation,
                            .message = package_string(w, a->message ? a->message : ""),
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

// Enclosing repeats of a node, outermost first.
static uint32_t enclosing_repeats(const Graph *g, NodeId id, NodeId repeats[8]) {
    uint32_t count = 0;
    for (RegionId r = graph_node(g, id)->region; r > 1;) {
        NodeId owner = g->regions.at[r].owner;
        if (graph_node(g, owner)->kind == NODE_REPEAT && count < 8) repeats[count++] = owner;
        r = graph_node(g, owner)->region;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        NodeId other = repeats[i];
        repeats[i] = repeats[count - 1 - i];
        repeats[count - 1 - i] = other;
    }
    return count;
}

// The key with "{name}" of each repeat replaced by its trip, and "{*}" by part.
static char *expand_key(PackageWriter *w, const char *key, const NodeId *repeats, uint32_t count,
                        const int64_t *trip, int64_t part) {
    Text text = {0};
    for (const char *at = key; *at;) {
        const char *close = *at == '{' ? strchr(at, '}') : NULL;
        if (!close) {
            text_write(&text, at++, 1);
            continue;
        }
        size_t length = (size_t)(close - at - 1);
        if (length == 1 && at[1] == '*') text_printf(&text, "%lld", (long long)part);
        for (uint32_t i = 0; i < count; i++) {
            const DimTable *dims = w->graph->dims;
            Dim symbol = graph_node(w->graph, repeats[i])->trip;
            for (uint32_t s = 0; s < dim_symbol_count(dims); s++) {
                const char *name = dim_symbol_name(dims, s);
                if (dim_symbol_at(dims, s) == symbol && strlen(name) == length &&
                    !strncmp(name, at + 1, length)) {
                    text_printf(&text, "%lld", (long long)trip[i]);
                }
            }
        }
        at = close + 1;
    }
    char *result = arena_strndup(w->arena, text.data ? text.data : "", text.len);
    text_free(&text);
    return result;
}

typedef void PutTrip(PackageWriter *w, NodeId id, const NodeId *repeats, uint32_t count,
                     const int64_t *trip);

static void for_each_trip(PackageWriter *w, NodeId id, PutTrip *put) {
    NodeId repeats[8];
    int64_t trip[8];
    uint32_t count = enclosing_repeats(w->graph, id, repeats);
    for (uint32_t i = 0; i < count; i++) {
        const Node *repeat = graph_node(w->graph, repeats[i]);
        trip[i] = repeat->lo;
        if (repeat->lo >= repeat->hi) return;
    }
    for (;;) {
        put(w, id, repeats, count, trip);
        uint32_t i = count;
        while (i > 0 && ++trip[i - 1] == graph_node(w->graph, repeats[i - 1])->hi) {
            trip[i - 1] = graph_node(w->graph, repeats[i - 1])->lo;
            i--;
        }
        if (i == 0) return;
    }
}

// A dim of constants and the trips of the enclosing repeats.
static uint64_t eval_trip(PackageWriter *w, Dim dim, const NodeId *repeats, uint32_t count,
                          const int64_t *trip) {
    const DimTable *dims = w->graph->dims;
    int64_t symbols[64] = {0}, value = 0;
    for (uint32_t s = 0; s < dim_symbol_count(dims) && s < 64; s++) {
        for (uint32_t i = 0; i < count; i++) {
            if (dim_symbol_at(dims, s) == graph_node(w->graph, repeats[i])->trip) {
                symbols[s] = trip[i];
            }
        }
    }
    dim_eval(dims, dim, symbols, &value);
    return (uint64_t)value;
}

static void const_sizes(PackageWriter *w, const Type *type, uint64_t size[8]) {
    for (int i = 0; i < type->rank; i++) {
        int64_t value = 0;
        dim_is_const(w->graph->dims, type->size[i], &value);
        size[i] = (uint64_t)value;
    }
}

static void put_state(PackageWriter *w, NodeId id, const NodeId *repeats, uint32_t count,
                      const int64_t *trip) {
    const Node *node = graph_node(w->graph, id);
    const Type *type = &graph_value(w->graph, node->result[0])->type;
    const Placement *place = plan_placement(w->program->plan, node->result[0]);
    if (!place) return; // never read nor updated
    AdxState record = {
        .name = package_string(w, expand_key(w, node->decl->key, repeats, count, trip, 0)),
        .dtype = package_dtype(type->dtype),
        .rank = type->rank,
        .offset = eval_trip(w, place->offset, repeats, count, trip),
        .fill = node->decl->fill};
    const_sizes(w, type, record.size);
    record.bytes = eval_trip(w, type_bytes(w->graph->dims, type), repeats, count, trip);
    package_put(w, ADX_STATES, &record, sizeof record);
}

static uint32_t unit_of(const PackageWriter *w, ValueId param) {
    const Plan *plan = w->program->plan;
    for (uint32_t u = 0; u < plan->units.len; u++) {
        for (uint32_t i = 0; i < plan->units.at[u].params.len; i++) {
            if (plan->units.at[u].params.at[i] == param) return u;
        }
    }
    return ADX_NONE;
}

static void put_param(PackageWriter *w, NodeId id, const NodeId *repeats, uint32_t count,
                      const int64_t *trip) {
    const Node *node = graph_node(w->graph, id);
    Type type = graph_value(w->graph, node->result[0])->type;
    const Placement *place = plan_placement(w->program->plan, node->result[0]);
    if (!place) return; // no step reads it
    type.dtype = node->decl->stored;
    AdxParam record = {.dtype = package_dtype(type.dtype),
                       .rank = type.rank,
                       .packed = place->kind == BUF_PARAM,
                       .offset = eval_trip(w, place->offset, repeats, count, trip),
                       .file = package_string(w, w->graph->file),
                       .unit = unit_of(w, node->result[0])};
    if (node->locs) {
        record.line = node->loc[0].line;
        record.column = node->loc[0].column;
    }
    const_sizes(w, &type, record.size);
    record.bytes = eval_trip(w, type_bytes(w->graph->dims, &type), repeats, count, trip);
    uint64_t parts = 1;
    if (node->decl->stack) { // one tensor a part, without the leading axis
        parts = record.size[0];
        record.rank--;
        memmove(record.size, record.size + 1, 7 * sizeof *record.size);
        record.bytes = parts ? record.bytes / parts : 0;
    }
    for (uint64_t part = 0; part < parts; part++) {
        record.key =
            package_string(w, expand_key(w, node->decl->key, repeats, count, trip, (int64_t)part));
        package_put(w, ADX_PARAMS, &record, sizeof record);
        record.offset += record.bytes;
    }
}

// Constants lie in BUF_CONST where the plan put them.
static void put_const(PackageWriter *w, NodeId id) {
    const Node *node = graph_node(w->graph, id);
    const Type *type = &graph_value(w->graph, node->result[0])->type;
    const Placement *place = plan_placement(w->program->plan, node->result[0]);
    int64_t offset = 0, elements = 0;
    if (!place || place->kind != BUF_CONST) return;
    dim_is_const(w->graph->dims, place->offset, &offset);
    dim_is_const(w->graph->dims, type_elements(w->graph->dims, type), &elements);
    Text *out = &w->section[ADX_CONSTS];
    static const char zeros[256];
    while (out->len < (size_t)offset) {
        size_t gap = (size_t)offset - out->len;
        text_write(out, zeros, gap < sizeof zeros ? gap : sizeof zeros);
    }
    for (int64_t i = 0; i < elements; i++) {
        uint8_t bytes[4];
        number_store(type->dtype, node->decl->const_data[i], bytes);
        text_write(out, bytes, dtype_bytes(type->dtype));
    }
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
        if (node->kind != NODE_OP || !node->decl) continue;
        if (node->op == OP_INPUT) {
            const Value *value = graph_value(g, node->result[0]);
            const char *host = node->decl->host_name;
            put_tensor(w, ADX_INPUTS, host ? host : value->name, &value->type);
        } else if (node->op == OP_PARAM) {
            for_each_trip(w, id, put_param);
        } else if (node->op == OP_STATE) {
            for_each_trip(w, id, put_state);
        } else if (node->op == OP_CONST) {
            put_const(w, id);
        }
    }
}
