#include "ir/eval_internal.h"
#include "ir/number.h"

#include <math.h>
#include <string.h>

Eval *eval_create(const Graph *graph, const EvalOptions *options, Diags *diags) {
    Arena *arena = arena_create();
    Eval *e = arena_alloc(arena, sizeof *e);
    e->graph = graph;
    e->options = *options;
    e->diags = diags;
    e->arena = arena;
    uint32_t symbols = dim_symbol_count(graph->dims);
    if (options->symbols) memcpy(e->symbols, options->symbols, symbols * sizeof *e->symbols);
    e->slot = arena_alloc(arena, graph->values.len * sizeof *e->slot);
    return e;
}

void eval_destroy(Eval *eval) {
    if (eval) arena_destroy(eval->arena);
}

bool eval_failed(const Eval *eval) {
    return eval->failed;
}

void eval_fail(Eval *e, const char *format, ...) {
    va_list args;
    Text text = {0};
    if (e->failed) return;
    e->failed = true;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    diag_error(e->diags, (Span){0}, "reference evaluator: %s", text.data);
    text_free(&text);
}

int64_t eval_dim(Eval *e, Dim dim) {
    int64_t value = 0;
    if (!dim_eval(e->graph->dims, dim, e->symbols, &value)) eval_fail(e, "a size overflows");
    return value;
}

void eval_shape(Eval *e, const Type *type, Tensor *out) {
    out->dtype = type->dtype;
    out->rank = type->rank;
    out->elements = 1;
    for (int i = 0; i < type->rank; i++) {
        out->size[i] = eval_dim(e, type->size[i]);
        if (out->size[i] < 0) eval_fail(e, "a size is %lld", (long long)out->size[i]);
        if (!checked_mul(out->elements, out->size[i], &out->elements) ||
            out->elements > INT64_MAX / 8) {
            eval_fail(e, "a tensor's size overflows");
            out->elements = 0;
        }
    }
}

const Tensor *eval_shape_of(Eval *e, ValueId value) {
    EvalSlot *slot = &e->slot[value];
    if (!slot->tensor.dtype) eval_shape(e, &graph_value(e->graph, value)->type, &slot->tensor);
    return &slot->tensor;
}

double *eval_complete_data(Eval *e, ValueId value) {
    return e->slot[value].complete ? e->slot[value].tensor.data : NULL;
}

int64_t tensor_offset(const Tensor *tensor, const int64_t *index) {
    int64_t offset = 0;
    for (int i = 0; i < tensor->rank; i++) offset = offset * tensor->size[i] + index[i];
    return offset;
}

bool tensor_next(const Tensor *tensor, int64_t *index) {
    for (int i = tensor->rank; i-- > 0;) {
        if (++index[i] < tensor->size[i]) return true;
        index[i] = 0;
    }
    return false;
}

static EvalSlot *allocated(Eval *e, ValueId value) {
    EvalSlot *slot = &e->slot[value];
    eval_shape_of(e, value);
    if (!slot->tensor.data) {
        slot->tensor.data = arena_alloc(e->arena, (size_t)slot->tensor.elements * sizeof(double));
    }
    return slot;
}

static double rounded(const Eval *e, const Node *node, DType dtype, double value) {
    bool computes = node->kind == NODE_OP && op_info(node->op)->class != OC_MOVE;
    return e->options.strict_rounding && computes && dtype_is_float(dtype)
               ? number_cast(dtype, value)
               : value;
}

// ---- sources
// -------------------------------------------------------------------------------------

static double source_element(Eval *e, const Node *node, const int64_t *index) {
    const Attr *a = node->attr;
    if (node->op == OP_ARANGE) {
        DType dtype = graph_value(e->graph, node->result[0])->type.dtype;
        return number_cast(dtype, (double)(eval_dim(e, a[0].size) + index[0] * a[2].i));
    }
    const Attr *value = &a[1]; // full
    double number = value->is_float  ? value->f
                    : value->is_size ? (double)eval_dim(e, value->size)
                                     : (double)value->i;
    return number_cast(a[2].dtype, number);
}

static void load_source(Eval *e, const Node *node) {
    ValueId value = node->result[0];
    EvalSlot *slot = allocated(e, value);
    size_t bytes = (size_t)slot->tensor.elements * sizeof(double);
    slot->complete = true;
    if (node->op == OP_CONST) {
        if (bytes) memcpy(slot->tensor.data, node->decl->const_data, bytes);
        return;
    }
    if (!e->options.fetch || !e->options.fetch(e->options.user, value, e->symbols, &slot->tensor)) {
        eval_fail(e, "no data for %s", graph_value(e->graph, value)->name);
        return;
    }
    if (node->op != OP_PARAM) return; // a param's value is the stored one in the logical dtype
    for (int64_t i = 0; i < slot->tensor.elements; i++) {
        slot->tensor.data[i] = number_cast(slot->tensor.dtype, slot->tensor.data[i]);
    }
}

static bool is_declared(const Node *node) {
    return node->op == OP_INPUT || node->op == OP_PARAM || node->op == OP_CONST ||
           node->op == OP_STATE;
}

// ---- one element
// -----------------------------------------------------------------------------------

static bool by_row(const Node *node) {
    OpClass class = op_info(node->op)->class;
    return class == OC_ROW || class == OC_SCAN || class == OC_ATTENTION;
}

static double compute(Eval *e, const Node *node, uint32_t result, const int64_t *index) {
    switch (op_info(node->op)->class) {
    case OC_MAP: return eval_scalar(e, node, index);
    case OC_REDUCE: return eval_reduce(e, node, index);
    case OC_CONTRACT: return eval_contract(e, node, index);
    case OC_WINDOW: return eval_window(e, node, index);
    case OC_TRANSFORM: return eval_transform(e, node, index);
    case OC_GATHER: return eval_gather(e, node, index);
    case OC_MOVE: return eval_move(e, node, result, index);
    case OC_SOURCE: return source_element(e, node, index);
    case OC_STATE: return eval_update(e, node, index);
    case OC_ROW:
    case OC_SCAN:
    case OC_ATTENTION: break;
    }
    return NAN;
}

static void run_repeat(Eval *e, const Node *repeat);

double eval_at(Eval *e, ValueId value, const int64_t *index) {
    EvalSlot *slot = &e->slot[value];
    if (slot->complete) return slot->tensor.data[tensor_offset(&slot->tensor, index)];
    NodeId id = graph_value(e->graph, value)->node;
    const Node *node = graph_node(e->graph, id);
    if (!id) {
        eval_fail(e, "%s is read outside its repeat", graph_value(e->graph, value)->name);
        return NAN;
    }
    if (node->kind == NODE_REPEAT || is_declared(node)) {
        if (node->kind == NODE_REPEAT)
            run_repeat(e, node);
        else
            load_source(e, node);
        if (e->failed) return NAN;
        return slot->tensor.data[tensor_offset(&slot->tensor, index)];
    }
    slot = allocated(e, value);
    if (!slot->have) slot->have = arena_alloc(e->arena, (size_t)slot->tensor.elements);
    int64_t at = tensor_offset(&slot->tensor, index);
    if (!slot->have[at] && by_row(node)) {
        eval_row(e, node, index, slot);
    } else if (!slot->have[at]) {
        double number = compute(e, node, graph_value(e->graph, value)->index, index);
        slot->tensor.data[at] = rounded(e, node, slot->tensor.dtype, number);
        slot->have[at] = 1;
    }
    return slot->tensor.data[at];
}

// ---- whole values
// ----------------------------------------------------------------------------------

static void complete_result(Eval *e, const Node *node, uint32_t result) {
    ValueId value = node->result[result];
    EvalSlot *slot = &e->slot[value];
    if (slot->complete || e->failed) return;
    slot = allocated(e, value);
    if (by_row(node) && !slot->have) {
        slot->have = arena_alloc(e->arena, (size_t)slot->tensor.elements);
    }
    int64_t index[RANK_MAX] = {0};
    for (int64_t at = 0; at < slot->tensor.elements && !e->failed; at++) {
        if (by_row(node)) {
            if (!slot->have[at]) eval_row(e, node, index, slot);
        } else {
            slot->tensor.data[at] =
                rounded(e, node, slot->tensor.dtype, compute(e, node, result, index));
        }
        tensor_next(&slot->tensor, index);
    }
    slot->complete = true;
}

static void run_region(Eval *e, RegionId region);

static void run_node(Eval *e, NodeId id) {
    const Node *node = graph_node(e->graph, id);
    if (node->kind == NODE_REPEAT) {
        if (!node->results || !e->slot[node->result[0]].complete) run_repeat(e, node);
    } else if (node->kind == NODE_FUSED) {
        run_region(e, node->body);
    } else if (is_declared(node)) {
        if (!e->slot[node->result[0]].complete) load_source(e, node);
    } else {
        for (uint32_t i = 0; i < node->results; i++) complete_result(e, node, i);
    }
}

// What an update, or a repeat that carries a state through, makes of a version; 0 if nothing does.
static ValueId next_version(const Graph *g, ValueId version) {
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind == NODE_OP && node->op == OP_UPDATE && node->operand[0] == version)
            return node->result[0];
        for (uint32_t i = 0; node->kind == NODE_REPEAT && i < node->operands; i++)
            if (node->operand[i] == version) return node->result[i];
    }
    return 0;
}

// The last version of each state declared in a region goes to the host.
static void store_states(Eval *e, RegionId region) {
    const Graph *g = e->graph;
    const Region *r = &g->regions.at[region];
    for (uint32_t i = 0; e->options.store && !e->failed && i < r->nodes.len; i++) {
        const Node *state = graph_node(g, r->nodes.at[i]);
        if (state->kind != NODE_OP || state->op != OP_STATE) continue;
        ValueId last = state->result[0];
        for (ValueId next; (next = next_version(g, last));) last = next;
        if (last == state->result[0]) continue;
        e->options.store(e->options.user, state->result[0], e->symbols, &e->slot[last].tensor);
    }
}

static void run_region(Eval *e, RegionId region) {
    const Region *r = &e->graph->regions.at[region];
    for (uint32_t i = 0; i < r->nodes.len && !e->failed; i++) run_node(e, r->nodes.at[i]);
    store_states(e, region);
}

// Values of a region are computed anew in each trip; their storage stays.
static void forget_region(Eval *e, RegionId region) {
    const Region *r = &e->graph->regions.at[region];
    for (uint32_t i = 0; i < r->nodes.len; i++) {
        const Node *node = graph_node(e->graph, r->nodes.at[i]);
        if (node->body) forget_region(e, node->body);
        for (uint32_t k = 0; node->kind != NODE_FUSED && k < node->results; k++) {
            EvalSlot *slot = &e->slot[node->result[k]];
            slot->complete = false;
            if (slot->have) memset(slot->have, 0, (size_t)slot->tensor.elements);
        }
    }
}

static void copy_value(Eval *e, ValueId to, ValueId from) {
    const Tensor *source = eval_value(e, from);
    EvalSlot *slot = allocated(e, to);
    slot->complete = true;
    if (source && source->elements) {
        memmove(slot->tensor.data, source->data, (size_t)source->elements * sizeof(double));
    }
}

static uint32_t symbol_number(const Graph *g, Dim symbol) {
    uint32_t i = 0;
    while (dim_symbol_at(g->dims, i) != symbol) i++;
    return i;
}

static void run_repeat(Eval *e, const Node *repeat) {
    uint32_t symbol = symbol_number(e->graph, repeat->trip), count = repeat->operands;
    double **next = arena_alloc(e->arena, count * sizeof *next);
    for (uint32_t i = 0; i < count; i++) copy_value(e, repeat->param[i], repeat->operand[i]);
    for (int64_t trip = repeat->lo; trip < repeat->hi && !e->failed; trip++) {
        e->symbols[symbol] = trip;
        forget_region(e, repeat->body);
        run_region(e, repeat->body);
        // All yields are read before a parameter is overwritten.
        for (uint32_t i = 0; i < count && !e->failed; i++) {
            const Tensor *yield = eval_value(e, repeat->yield[i]);
            if (!yield) return;
            size_t bytes = (size_t)yield->elements * sizeof(double);
            if (!next[i]) next[i] = arena_alloc(e->arena, bytes);
            if (bytes) memcpy(next[i], yield->data, bytes);
        }
        for (uint32_t i = 0; i < count && !e->failed; i++) {
            Tensor *param = &e->slot[repeat->param[i]].tensor;
            if (param->elements) {
                memcpy(param->data, next[i], (size_t)param->elements * sizeof(double));
            }
        }
    }
    for (uint32_t i = 0; i < count && !e->failed; i++) {
        copy_value(e, repeat->result[i], repeat->param[i]);
    }
}

const Tensor *eval_value(Eval *eval, ValueId value) {
    EvalSlot *slot = &eval->slot[value];
    if (eval->failed) return NULL;
    if (slot->complete) return &slot->tensor;
    NodeId id = graph_value(eval->graph, value)->node;
    if (!id) {
        eval_fail(eval, "%s is read outside its repeat", graph_value(eval->graph, value)->name);
        return NULL;
    }
    const Node *node = graph_node(eval->graph, id);
    if (node->kind == NODE_REPEAT)
        run_repeat(eval, node);
    else if (is_declared(node))
        load_source(eval, node);
    else
        complete_result(eval, node, graph_value(eval->graph, value)->index);
    return eval->failed ? NULL : &eval->slot[value].tensor;
}

bool eval_run(Eval *eval) {
    bool *live = graph_live_nodes(eval->graph);
    const Region *model = &eval->graph->regions.at[1];
    for (uint32_t i = 0; i < model->nodes.len && !eval->failed; i++) {
        if (live[model->nodes.at[i]]) run_node(eval, model->nodes.at[i]);
    }
    if (!eval->failed) store_states(eval, 1);
    return !eval->failed;
}

const Tensor *eval_output(Eval *eval, uint32_t output) {
    const Tensor *value = eval_value(eval, eval->graph->outputs.at[output].value);
    if (!value) return NULL;
    Tensor *copy = arena_alloc(eval->arena, sizeof *copy);
    *copy = *value;
    copy->data = arena_alloc(eval->arena, (size_t)value->elements * sizeof(double));
    for (int64_t i = 0; i < value->elements; i++) {
        copy->data[i] = number_cast(value->dtype, value->data[i]);
    }
    return copy;
}

double eval_element(Eval *eval, ValueId value, const int64_t *index) {
    eval_shape_of(eval, value);
    double number = eval->failed ? NAN : eval_at(eval, value, index);
    return eval->failed ? NAN : number_cast(eval->slot[value].tensor.dtype, number);
}
