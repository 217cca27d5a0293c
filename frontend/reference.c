#include "frontend/reference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/package_writer.h"
#include "frontend/random_data.h"
#include "ir/number.h"
#include "runtime/weights.h"

static const Span nowhere = {0};

// ---- dims ------------------------------------------------------------------------------------

static bool symbol_index(const DimTable *dims, Dim dim, uint32_t *out) {
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++) {
        if (dim_symbol_at(dims, i) != dim) continue;
        *out = i;
        return true;
    }
    return false;
}

static const char *host_name(const Graph *graph, const Node *node) {
    return node->decl->host_name ? node->decl->host_name
                                 : graph_value(graph, node->result[0])->name;
}

typedef struct Dims {
    const Graph *graph;
    Diags *diags;
    int64_t *symbols;
    bool *known;
    bool good;
} Dims;

static void set_symbol(Dims *d, uint32_t symbol, int64_t value, const char *where) {
    const DimTable *dims = d->graph->dims;
    const char *name = dim_symbol_name(dims, symbol);
    DimBounds range = dim_bounds(dims, dim_symbol_at(dims, symbol));
    if (d->known[symbol] && d->symbols[symbol] != value) {
        diag_error(d->diags, nowhere, "%s: dim %s is %" PRId64 ", but %" PRId64 " elsewhere", where,
                   name, value, d->symbols[symbol]);
        d->good = false;
    } else if (value < range.lo || value > range.hi) {
        diag_error(d->diags, nowhere, "%s: dim %s = %" PRId64 " is outside %" PRId64 "..=%" PRId64,
                   where, name, value, range.lo, range.hi);
        d->good = false;
    }
    d->known[symbol] = true;
    d->symbols[symbol] = value;
}

static void read_given(Dims *d, const CliSizes *given) {
    const DimTable *dims = d->graph->dims;
    for (uint32_t i = 0; i < given->len; i++) {
        const char *name = given->at[i].name;
        uint32_t symbol;
        if (symbol_index(dims, dim_find(dims, name), &symbol) &&
            dim_symbol_source(dims, symbol) != DIM_TRIP) {
            set_symbol(d, symbol, given->at[i].size, "--dim");
            continue;
        }
        diag_error(d->diags, nowhere, "--dim %s: the model has no such dim", name);
        d->good = false;
    }
}

// Each input is there, with the right rank; sizes that are one dim give that dim.
static void read_inputs(Dims *d, const ArrayVec *inputs) {
    const Graph *graph = d->graph;
    for (NodeId id = 1; id < graph->nodes.len; id++) {
        const Node *node = graph_node(graph, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        const char *name = host_name(graph, node);
        const Type *type = &graph_value(graph, node->result[0])->type;
        const NamedArray *array = arrays_find(inputs, name);
        if (!array || array->array.rank != type->rank) {
            if (array)
                diag_error(d->diags, nowhere, "input '%s' has rank %u where %u is wanted", name,
                           array->array.rank, type->rank);
            else
                diag_error(d->diags, nowhere, "input '%s' is missing", name);
            d->good = false;
            continue;
        }
        uint32_t symbol;
        for (uint32_t axis = 0; axis < type->rank; axis++)
            if (symbol_index(graph->dims, type->size[axis], &symbol))
                set_symbol(d, symbol, array->array.size[axis], name);
    }
}

static void refuse_strangers(Dims *d, const ArrayVec *inputs) {
    for (uint32_t i = 0; i < inputs->len; i++) {
        bool found = false;
        for (NodeId id = 1; id < d->graph->nodes.len && !found; id++) {
            const Node *node = graph_node(d->graph, id);
            found = node->kind == NODE_OP && node->op == OP_INPUT &&
                    strcmp(host_name(d->graph, node), inputs->at[i].name) == 0;
        }
        if (found) continue;
        diag_error(d->diags, nowhere, "the model has no input '%s'", inputs->at[i].name);
        d->good = false;
    }
}

static void check_shapes(Dims *d, const ArrayVec *inputs) {
    const Graph *graph = d->graph;
    for (NodeId id = 1; id < graph->nodes.len; id++) {
        const Node *node = graph_node(graph, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        const Type *type = &graph_value(graph, node->result[0])->type;
        const NamedArray *array = arrays_find(inputs, host_name(graph, node));
        for (uint32_t axis = 0; axis < type->rank; axis++) {
            int64_t size = 0;
            if (dim_eval(graph->dims, type->size[axis], d->symbols, &size) &&
                size == array->array.size[axis])
                continue;
            diag_error(d->diags, nowhere, "input '%s': axis %u has %" PRId64 ", not %" PRId64,
                       array->name, axis, array->array.size[axis], size);
            d->good = false;
        }
    }
}

static bool relation_holds(int64_t a, DimRelation relation, int64_t b) {
    switch (relation) {
    case DIM_EQ: return a == b;
    case DIM_NE: return a != b;
    case DIM_LT: return a < b;
    case DIM_LE: return a <= b;
    case DIM_GT: return a > b;
    default: return a >= b;
    }
}

// The message, with the sizes in place; where there is none, what does not hold.
static void assert_text(const Dims *d, const Assertion *assertion, Text *out) {
    uint32_t next = 0;
    for (const char *c = assertion->message ? assertion->message : ""; *c; c++) {
        int64_t size;
        if (c[0] == '%' && c[1] == '%')
            text_write(out, c++, 1);
        else if (*c != '%')
            text_write(out, c, 1);
        else if (next < assertion->args &&
                 dim_eval(d->graph->dims, assertion->arg[next++], d->symbols, &size))
            text_printf(out, "%" PRId64, size);
    }
    if (out->len) return;
    graph_print_relation(d->graph, assertion, out);
    text_put(out, " does not hold");
}

static void check_asserts(Dims *d) {
    const Graph *graph = d->graph;
    for (uint32_t i = 0; i < graph->asserts.len; i++) {
        const Assertion *assertion = &graph->asserts.at[i];
        int64_t left, right;
        if (dim_eval(graph->dims, assertion->left, d->symbols, &left) &&
            dim_eval(graph->dims, assertion->right, d->symbols, &right) &&
            relation_holds(left, assertion->relation, right))
            continue;
        Text text = {0};
        assert_text(d, assertion, &text);
        diag_error(d->diags, nowhere, "an assertion of the model does not hold: line %u: %s",
                   assertion->loc.line, text.data);
        text_free(&text);
        d->good = false;
    }
}

static bool find_dims(Dims *d, const ArrayVec *inputs, const CliSizes *given) {
    const Graph *graph = d->graph;
    read_given(d, given);
    read_inputs(d, inputs);
    refuse_strangers(d, inputs);
    for (uint32_t i = 0; d->good && i < dim_symbol_count(graph->dims); i++) {
        if (d->known[i] || dim_symbol_source(graph->dims, i) == DIM_TRIP) continue;
        diag_error(d->diags, nowhere, "dim %s: give --dim %s=SIZE", dim_symbol_name(graph->dims, i),
                   dim_symbol_name(graph->dims, i));
        d->good = false;
    }
    if (!d->good) return false;
    check_shapes(d, inputs);
    check_asserts(d);
    return d->good;
}

bool reference_dims(const Graph *graph, const ArrayVec *inputs, const CliSizes *given, Diags *diags,
                    int64_t *symbols) {
    Dims d = {.graph = graph, .diags = diags, .symbols = symbols, .good = true};
    d.known = calloc(dim_symbol_count(graph->dims) + 1, sizeof *d.known);
    bool good = d.known && find_dims(&d, inputs, given);
    free(d.known);
    return good;
}

// ---- data ------------------------------------------------------------------------------------

typedef struct State {
    const char *name; // with its trips
    double *data;     // the arena's
} State;
typedef VEC(State) StateVec;

typedef struct Fetch {
    const Graph *graph;
    Diags *diags;
    const ArrayVec *inputs;
    const Weights *weights; // of files; NULL: none were given
    RandomWeights *random;  // instead of files, or NULL
    Arena *arena;
    StateVec *states; // as the runs so far left them; absent ones have their first values
    StateVec *next;   // of the run under way
} Fetch;

static bool fetch_input(const Fetch *f, const Node *node, Tensor *out) {
    const NamedArray *array = arrays_find(f->inputs, host_name(f->graph, node));
    const char *data = array->array.data;
    unsigned step = dtype_bytes(array->dtype);
    for (int64_t i = 0; i < out->elements; i++)
        out->data[i] = number_load(array->dtype, data + (size_t)i * step);
    return true;
}

// "{*}" becomes the part, "{name}" the trip of the repeat that counts with that name.
static void expand_key(const Graph *graph, const char *key, const int64_t *symbols, int64_t part,
                       Text *out) {
    while (*key) {
        const char *close = *key == '{' ? strchr(key, '}') : NULL;
        if (!close) {
            text_write(out, key++, 1);
            continue;
        }
        size_t length = (size_t)(close - key - 1);
        if (length == 1 && key[1] == '*') text_printf(out, "%" PRId64, part);
        for (uint32_t i = 0; i < dim_symbol_count(graph->dims); i++) {
            const char *name = dim_symbol_name(graph->dims, i);
            if (dim_symbol_source(graph->dims, i) == DIM_TRIP && strlen(name) == length &&
                memcmp(name, key + 1, length) == 0)
                text_printf(out, "%" PRId64, symbols[i]);
        }
        key = close + 1;
    }
}

static bool same_dtype(DType dtype, SafetensorsDType other) {
    static const struct {
        DType dtype;
        SafetensorsDType other;
    } pairs[] = {
        {DT_F32, SAFETENSORS_F32},        {DT_F16, SAFETENSORS_F16}, {DT_BF16, SAFETENSORS_BF16},
        {DT_F8E4M3, SAFETENSORS_F8_E4M3}, {DT_I8, SAFETENSORS_I8},   {DT_U8, SAFETENSORS_U8},
        {DT_F8E5M2, SAFETENSORS_F8_E5M2}, {DT_I32, SAFETENSORS_I32}, {DT_U32, SAFETENSORS_U32},
        {DT_BOOL, SAFETENSORS_BOOL},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].dtype == dtype) return pairs[i].other == other;
    return false;
}

// Shape of the tensor in the file: that of `out`, without the leading axis of a stacked param.
static bool check_weight(const Fetch *f, const char *key, const WeightsEntry *entry, DType stored,
                         const Tensor *out, bool stack) {
    if (!entry) {
        const char *near = weights_nearest(f->weights, key);
        diag_error(f->diags, nowhere, "no weight '%s'", key);
        if (near) diag_help(f->diags, "did you mean '%s'?", near);
        return false;
    }
    const SafetensorsTensor *tensor = entry->tensor;
    bool same = tensor->rank + stack == out->rank;
    for (uint32_t i = 0; same && i < tensor->rank; i++)
        same = tensor->shape[i] == (uint64_t)out->size[i + stack];
    if (same && same_dtype(stored, (SafetensorsDType)tensor->dtype)) return true;
    Text text = {0};
    text_printf(&text, "weight '%s' is [", key);
    for (uint32_t i = stack; i < out->rank; i++)
        text_printf(&text, "%s%" PRId64, i > stack ? ", " : "", out->size[i]);
    text_printf(&text, "] %s, the file has [", dtype_name(stored));
    for (uint32_t i = 0; i < tensor->rank; i++)
        text_printf(&text, "%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
    diag_error(f->diags, nowhere, "%s] %s", text.data,
               safetensors_dtype_name((SafetensorsDType)tensor->dtype));
    text_free(&text);
    return false;
}

static bool read_weight(const Fetch *f, const char *key, DType stored, const Tensor *out,
                        bool stack, char *data, size_t bytes) {
    const WeightsEntry *entry = weights_find(f->weights, key);
    AdeptError error = {0};
    if (!check_weight(f, key, entry, stored, out, stack)) return false;
    if (weights_read(f->weights, entry, 0, data, bytes, &error) == ADEPT_OK) return true;
    diag_error(f->diags, nowhere, "%s", error.detail);
    return false;
}

static bool make_weight(const Fetch *f, const char *key, DType stored, const Tensor *out,
                        bool stack, char *data, size_t bytes) {
    AdeptPortInfo info = {.name = key, .dtype = (AdeptDType)package_dtype(stored)};
    for (uint32_t i = stack; i < out->rank; i++) info.shape[info.rank++] = out->size[i];
    return random_weights_read(f->random, &info, 0, data, bytes);
}

static bool fetch_part(const Fetch *f, const Node *node, const int64_t *symbols, int64_t part,
                       int64_t count, Tensor *out) {
    DType stored = node->decl->stored ? node->decl->stored : out->dtype;
    size_t step = dtype_bytes(stored), bytes = (size_t)count * step;
    Text key = {0};
    expand_key(f->graph, node->decl->key, symbols, part, &key);
    char *data = memory_or_exit(malloc(bytes ? bytes : 1));
    bool good = f->random ? make_weight(f, key.data, stored, out, node->decl->stack, data, bytes)
                          : read_weight(f, key.data, stored, out, node->decl->stack, data, bytes);
    for (int64_t i = 0; good && i < count; i++)
        out->data[part * count + i] = number_load(stored, data + (size_t)i * step);
    free(data);
    text_free(&key);
    return good;
}

static bool fetch_param(const Fetch *f, const Node *node, const int64_t *symbols, Tensor *out) {
    if (!f->weights && !f->random) {
        diag_error(f->diags, nowhere, "the model has weights: give --weights FILE");
        return false;
    }
    int64_t parts = node->decl->stack ? out->size[0] : 1;
    for (int64_t part = 0; part < parts; part++)
        if (!fetch_part(f, node, symbols, part, out->elements / parts, out)) return false;
    return true;
}

static State *find_state(const StateVec *states, const char *name) {
    for (uint32_t i = 0; i < states->len; i++)
        if (strcmp(states->at[i].name, name) == 0) return &states->at[i];
    return NULL;
}

static void fetch_state(const Fetch *f, const Node *node, const int64_t *symbols, Tensor *out) {
    Text name = {0};
    expand_key(f->graph, node->decl->key, symbols, 0, &name);
    const State *state = find_state(f->states, name.data);
    for (int64_t i = 0; i < out->elements; i++)
        out->data[i] = state ? state->data[i] : node->decl->fill;
    text_free(&name);
}

static void store_state(void *user, ValueId source, const int64_t *symbols, const Tensor *tensor) {
    const Fetch *f = user;
    const Node *node = graph_node(f->graph, graph_value(f->graph, source)->node);
    size_t bytes = (size_t)tensor->elements * sizeof *tensor->data;
    Text name = {0};
    expand_key(f->graph, node->decl->key, symbols, 0, &name);
    State *state = find_state(f->next, name.data);
    if (!state) {
        vec_push(f->arena, f->next,
                 (State){arena_strdup(f->arena, name.data), arena_alloc(f->arena, bytes + 1)});
        state = &f->next->at[f->next->len - 1];
    }
    if (bytes) memcpy(state->data, tensor->data, bytes);
    text_free(&name);
}

static bool fetch(void *user, ValueId source, const int64_t *symbols, Tensor *out) {
    const Fetch *f = user;
    const Node *node = graph_node(f->graph, graph_value(f->graph, source)->node);
    if (node->op == OP_INPUT) return fetch_input(f, node, out);
    if (node->op == OP_PARAM) return fetch_param(f, node, symbols, out);
    fetch_state(f, node, symbols, out);
    return true;
}

static bool convert_inputs(const Graph *graph, ArrayVec *inputs, Diags *diags) {
    bool good = true;
    for (NodeId id = 1; id < graph->nodes.len; id++) {
        const Node *node = graph_node(graph, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        Text error = {0};
        NamedArray *array = arrays_find(inputs, host_name(graph, node));
        DType dtype = graph_value(graph, node->result[0])->type.dtype;
        if (!arrays_convert(array, dtype, &error)) {
            diag_error(diags, nowhere, "%s", error.data);
            good = false;
        }
        text_free(&error);
    }
    return good;
}

static bool take_outputs(Arena *arena, const Graph *graph, Eval *eval, Diags *diags,
                         ArrayVec *out) {
    for (uint32_t i = 0; i < graph->outputs.len; i++) {
        const Output *output = &graph->outputs.at[i];
        const Tensor *tensor = eval_output(eval, i);
        const char *name = output->host_name ? output->host_name : output->name;
        Text error = {0};
        if (!arrays_add(arena, out, arena_strdup(arena, name), tensor->dtype, tensor->rank,
                        tensor->size, &error)) {
            diag_error(diags, nowhere, "%s", error.data);
            text_free(&error);
            return false;
        }
        char *data = out->at[out->len - 1].array.data;
        for (int64_t k = 0; k < tensor->elements; k++)
            number_store(tensor->dtype, tensor->data[k],
                         data + (size_t)k * dtype_bytes(tensor->dtype));
    }
    return true;
}

static bool has_states(const Graph *graph) {
    for (NodeId id = 1; id < graph->nodes.len; id++) {
        const Node *node = graph_node(graph, id);
        if (node->kind == NODE_OP && node->op == OP_STATE) return true;
    }
    return false;
}

// Runs one after another, each from the states of the one before; the outputs are the last one's.
static bool run_times(const EvalOptions *options, Fetch *fetch, uint32_t times, ArrayVec *out) {
    StateVec states[2] = {0};
    bool good = true;
    for (uint32_t i = 0; good && i < times; i++) {
        fetch->states = &states[i % 2];
        fetch->next = &states[(i + 1) % 2];
        Eval *eval = eval_create(fetch->graph, options, fetch->diags);
        good = eval_run(eval) &&
               (i + 1 < times || take_outputs(fetch->arena, fetch->graph, eval, fetch->diags, out));
        eval_destroy(eval);
    }
    return good;
}

bool reference_run(Arena *arena, const Graph *graph, ArrayVec *inputs,
                   const ReferenceWeights *weights, const int64_t *symbols, bool strict_rounding,
                   uint32_t times, Diags *diags, ArrayVec *out) {
    Weights files = {0};
    RandomWeights random = {0};
    AdeptError error = {0};
    if (!convert_inputs(graph, inputs, diags)) return false;
    if (weights->random && !random_weights_open(&random, weights->random)) {
        diag_error(diags, nowhere, "--random-weights %s: a number is wanted", weights->random);
        return false;
    }
    if (weights->file && weights_open(&files, weights->file, &error) != ADEPT_OK) {
        diag_error(diags, nowhere, "%s", error.detail);
        return false;
    }
    Fetch user = {.graph = graph,
                  .diags = diags,
                  .inputs = inputs,
                  .weights = weights->file ? &files : NULL,
                  .random = weights->random ? &random : NULL,
                  .arena = arena};
    EvalOptions options = {.symbols = symbols,
                           .fetch = fetch,
                           .store = store_state,
                           .user = &user,
                           .strict_rounding = strict_rounding};
    bool good = run_times(&options, &user, has_states(graph) ? times : 1, out);
    if (weights->file) weights_close(&files);
    random_weights_close(&random);
    return good;
}
