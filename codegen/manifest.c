#include "codegen/manifest.h"
#include "codegen/weights.h"

#include <inttypes.h>
#include <string.h>

typedef struct Manifest {
    const Program *program;
    const Graph *graph;
    const Modules *modules;
    Diags *diags;
    Text *out;
    int64_t symbols[64];
    bool ok;
} Manifest;

static const char *const buffer_names[] = {
    [BUF_INPUT] = "input", [BUF_OUTPUT] = "output", [BUF_PARAM] = "param", [BUF_STATE] = "state",
    [BUF_CONST] = "const", [BUF_ARENA] = "arena",   [BUF_RAW] = "raw"};

static int64_t number_of(Manifest *m, Dim dim) {
    int64_t value = 0;
    if (dim == DIM_NONE) return 0;
    if (!dim_eval(m->graph->dims, dim, m->symbols, &value) && m->ok) {
        Text text = {0};
        dim_print(m->graph->dims, dim, &text);
        diag_error(m->diags, (Span){0}, "manifest: %s overflows 64 bits", text.data);
        text_free(&text);
        m->ok = false;
    }
    return value;
}

static void put_number(Manifest *m, const char *key, Dim dim, const char *after) {
    text_printf(m->out, "\"%s\": %" PRId64 "%s", key, number_of(m, dim), after);
}

static void put_json_string(Manifest *m, const char *string) {
    text_put(m->out, "\"");
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (*c == '"' || *c == '\\')
            text_printf(m->out, "\\%c", *c);
        else if (*c < 0x20)
            text_printf(m->out, "\\u%04x", *c);
        else
            text_write(m->out, c, 1);
    }
    text_put(m->out, "\"");
}

static void put_tensor(Manifest *m, const char *name, const Type *type) {
    text_put(m->out, "{\"name\": ");
    put_json_string(m, name);
    text_printf(m->out, ", \"dtype\": \"%s\", \"shape\": [", dtype_name(type->dtype));
    for (int i = 0; i < type->rank; i++) {
        text_printf(m->out, "%s%" PRId64, i ? ", " : "", number_of(m, type->size[i]));
    }
    text_put(m->out, "], ");
    put_number(m, "bytes", type_bytes(m->graph->dims, type), "");
}

static bool relation_holds(int64_t a, DimRelation relation, int64_t b) {
    switch (relation) {
    case DIM_EQ: return a == b;
    case DIM_NE: return a != b;
    case DIM_LT: return a < b;
    case DIM_LE: return a <= b;
    case DIM_GT: return a > b;
    case DIM_GE: return a >= b;
    }
    return false;
}

static void check_dims(Manifest *m) {
    const DimTable *dims = m->graph->dims;
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++) {
        if (dim_symbol_source(dims, i) == DIM_TRIP) continue;
        DimBounds range = dim_bounds(dims, dim_symbol_at(dims, i));
        if (m->symbols[i] >= range.lo && m->symbols[i] <= range.hi) continue;
        diag_error(m->diags, (Span){0}, "dim %s = %" PRId64 " is outside %" PRId64 "..=%" PRId64,
                   dim_symbol_name(dims, i), m->symbols[i], range.lo, range.hi);
        m->ok = false;
    }
    for (uint32_t i = 0; i < m->graph->asserts.len; i++) {
        const Assertion *a = &m->graph->asserts.at[i];
        if (relation_holds(number_of(m, a->left), a->relation, number_of(m, a->right))) continue;
        diag_error(m->diags, (Span){.line = a->loc.line, .column = a->loc.column},
                   "assertion fails for these dims: %s", a->message ? a->message : "");
        m->ok = false;
    }
}

static void put_dims(Manifest *m) {
    const DimTable *dims = m->graph->dims;
    text_put(m->out, "  \"dims\": {");
    bool first = true;
    for (uint32_t i = 0; i < dim_symbol_count(dims); i++) {
        if (dim_symbol_source(dims, i) == DIM_TRIP) continue;
        text_printf(m->out, "%s\"%s\": %" PRId64, first ? "" : ", ", dim_symbol_name(dims, i),
                    m->symbols[i]);
        first = false;
    }
    text_put(m->out, "},\n");
}

static void put_interface(Manifest *m) {
    const Graph *g = m->graph;
    const char *separator = "";
    text_put(m->out, "  \"inputs\": [");
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        const Value *value = graph_value(g, node->result[0]);
        text_printf(m->out, "%s\n    ", separator);
        put_tensor(m, node->decl->host_name ? node->decl->host_name : value->name, &value->type);
        text_put(m->out, "}");
        separator = ",";
    }
    text_put(m->out, "],\n  \"outputs\": [");
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        const Output *output = &g->outputs.at[i];
        text_printf(m->out, "%s\n    ", i ? "," : "");
        put_tensor(m, output->host_name ? output->host_name : output->name,
                   &graph_value(g, output->value)->type);
        text_put(m->out, "}");
    }
    text_put(m->out, "],\n");
}

static void put_sizes(Manifest *m, const WeightRecord *record) {
    for (uint32_t i = 0; i < record->rank; i++)
        text_printf(m->out, "%s%" PRIu64, i ? ", " : "", record->size[i]);
}

// JSON has no infinities and NaNs: they are strings.
static void put_fill(Manifest *m, double fill) {
    const char *quote = fill - fill == 0 ? "" : "\"";
    text_put(m->out, quote);
    text_double(m->out, fill);
    text_put(m->out, quote);
}

// Weights by key: trips and stacked parts are unfolded as in the package (codegen/weights.h).
static void put_weight(void *user, const WeightRecord *weight) {
    Manifest *m = user;
    text_printf(m->out, "%s\n    {\"key\": ", weight->number ? "," : "");
    put_json_string(m, weight->key);
    text_printf(m->out, ", \"dtype\": \"%s\", \"shape\": [", dtype_name(weight->dtype));
    put_sizes(m, weight);
    text_printf(m->out,
                "], \"buffer\": \"%s\", \"unit\": %" PRId64 ", \"offset\": %" PRIu64
                ", \"bytes\": %" PRIu64 "}",
                buffer_names[weight->kind],
                weight->unit == WEIGHT_NO_UNIT ? -1 : (int64_t)weight->unit, weight->offset,
                weight->bytes);
}

static void put_state(void *user, const WeightRecord *state) {
    Manifest *m = user;
    text_printf(m->out, "%s\n    {\"key\": ", state->number ? "," : "");
    put_json_string(m, state->key);
    text_printf(m->out, ", \"dtype\": \"%s\", \"shape\": [", dtype_name(state->dtype));
    put_sizes(m, state);
    text_printf(m->out,
                "], \"offset\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"fill\": ", state->offset,
                state->bytes);
    put_fill(m, graph_node(m->graph, state->node)->decl->fill);
    text_put(m->out, "}");
}

static void put_kernels(Manifest *m) {
    text_put(m->out, "  \"kernels\": [");
    for (uint32_t i = 0; i < m->program->kernels.len; i++) {
        const Kernel *kernel = m->program->kernels.at[i];
        const SpirvModuleInfo *module = &m->modules->at[i];
        text_printf(m->out, "%s\n    {\"name\": ", i ? "," : "");
        put_json_string(m, kernel->name);
        text_printf(m->out,
                    ", \"file\": \"%s\", \"entry\": \"main\", \"vulkan\": \"%s\", "
                    "\"local_size\": [%u, 1, 1], \"subgroup_size\": %u, \"features\": [",
                    manifest_file(m->graph->arena, m->program, i), module->vulkan13 ? "1.3" : "1.2",
                    kernel->local_size, kernel->subgroup_size);
        bool first = true;
        for (unsigned bit = 0; target_feature_name(bit); bit++) {
            if (!(module->needs >> bit & 1)) continue;
            text_printf(m->out, "%s\"%s\"", first ? "" : ", ", target_feature_name(bit));
            first = false;
        }
        text_put(m->out, "]}");
    }
    text_put(m->out, "],\n");
}

static void put_arg(Manifest *m, const DispatchArg *arg, bool first) {
    text_put(m->out, first ? "" : ", ");
    if (!arg->is_buffer) {
        text_printf(m->out, "{\"scalar\": %" PRId64 "}", number_of(m, arg->scalar));
        return;
    }
    text_printf(m->out, "{\"buffer\": \"%s\", \"index\": %u, ", buffer_names[arg->kind],
                arg->index);
    put_number(m, "offset", arg->offset, ", ");
    put_number(m, "bytes", arg->bytes, ", ");
    text_printf(m->out, "\"access\": \"%s%s\"}", arg->read ? "r" : "", arg->write ? "w" : "");
}

static bool alternative_holds(Manifest *m, const Alternative *alternative) {
    if (alternative->features & ~m->program->plan->target.features) return false;
    if (alternative->shared_bytes > m->program->plan->target.shared_bytes) return false;
    for (uint32_t i = 0; i < alternative->conditions; i++) {
        const Condition *c = &alternative->condition[i];
        if (!relation_holds(number_of(m, c->left), c->relation, number_of(m, c->right)))
            return false;
    }
    return true;
}

static void put_dispatches(Manifest *m, const PlanStep *step, const LoweredStep *lowered,
                           bool *first) {
    uint32_t chosen = 0;
    while (chosen + 1 < step->alternatives.len &&
           !alternative_holds(m, &step->alternatives.at[chosen])) {
        chosen++;
    }
    const LoweredAlternative *alternative = &lowered->alternatives.at[chosen];
    for (uint32_t i = 0; i < alternative->count; i++) {
        const Dispatch *d = &m->program->dispatches.at[alternative->first + i];
        text_printf(m->out,
                    "%s\n    {\"kernel\": %u, \"grid\": [%" PRId64 ", %" PRId64 ", %" PRId64
                    "], \"barrier\": %s, \"args\": [",
                    *first ? "" : ",", d->kernel, number_of(m, d->grid[0]),
                    number_of(m, d->grid[1]), number_of(m, d->grid[2]),
                    d->barrier ? "true" : "false");
        for (uint32_t k = 0; k < d->args; k++) put_arg(m, &d->arg[k], k == 0);
        text_put(m->out, "]}");
        *first = false;
    }
}

static uint32_t repeat_end(const PlanStep *steps, uint32_t begin, const Graph *g) {
    uint32_t depth = 0;
    for (uint32_t i = begin;; i++) {
        if (!steps[i].node) {
            if (--depth == 0) return i;
        } else if (graph_node(g, steps[i].node)->kind == NODE_REPEAT) {
            depth++;
        }
    }
}

// Steps [begin, end), repeats unfolded. Nesting is bounded by the language (64).
static void put_steps(Manifest *m, const PlanStep *steps, const LoweredStep *lowered,
                      uint32_t begin, uint32_t end, bool *first) {
    for (uint32_t i = begin; i < end; i++) {
        const Node *node = graph_node(m->graph, steps[i].node);
        if (node->kind != NODE_REPEAT) {
            put_dispatches(m, &steps[i], &lowered[i], first);
            continue;
        }
        uint32_t close = repeat_end(steps, i, m->graph), symbol = 0;
        while (dim_symbol_at(m->graph->dims, symbol) != node->trip) symbol++;
        for (int64_t trip = node->lo; trip < node->hi; trip++) {
            m->symbols[symbol] = trip;
            put_steps(m, steps, lowered, i + 1, close, first);
        }
        i = close;
    }
}

static void put_prepare(Manifest *m) {
    const Plan *plan = m->program->plan;
    text_put(m->out, "  \"prepare\": [");
    for (uint32_t u = 0; u < plan->units.len; u++) {
        bool first = true;
        text_printf(m->out, "%s\n   [", u ? "," : "");
        put_steps(m, plan->prepare.at, m->program->prepare.at, plan->units.at[u].first,
                  plan->units.at[u].first + plan->units.at[u].count, &first);
        text_put(m->out, "]");
    }
    text_put(m->out, "],\n");
}

char *manifest_file(Arena *arena, const Program *program, uint32_t kernel) {
    return arena_printf(arena, "%02u-%s.spv", kernel, program->kernels.at[kernel]->name);
}

void manifest_constants(const Program *program, Text *out) {
    consts_write(program->plan, out);
}

bool manifest_write(const Program *program, const Modules *modules, const int64_t *symbols,
                    Diags *diags, Text *out) {
    const Plan *plan = program->plan;
    Manifest m = {.program = program,
                  .graph = plan->graph,
                  .modules = modules,
                  .diags = diags,
                  .out = out,
                  .ok = true};
    for (uint32_t i = 0; i < dim_symbol_count(plan->graph->dims); i++) m.symbols[i] = symbols[i];
    check_dims(&m);
    text_put(out, "{\n  \"adept\": 1,\n  \"model\": ");
    put_json_string(&m, plan->graph->model);
    text_put(out, ",\n");
    put_dims(&m);
    // How a kernel gets its arguments: 8 bytes each, in order, in one dynamic uniform buffer.
    text_put(out, "  \"run_block\": {\"set\": 0, \"binding\": 0, \"slot_bytes\": 8, "
                  "\"align\": 256},\n");
    put_interface(&m);
    text_put(out, "  \"weights\": [");
    weights_visit(plan, put_weight, &m);
    text_put(out, "],\n  \"states\": [");
    states_visit(plan, put_state, &m);
    Text constants = {0};
    manifest_constants(program, &constants);
    text_put(out, "],\n  \"constants\": ");
    text_put(out, constants.len ? "\"" MANIFEST_CONSTANTS "\"" : "null");
    text_free(&constants);
    text_put(out, ",\n  \"memory\": {");
    put_number(&m, "param", plan->param_bytes, ", ");
    put_number(&m, "state", plan->state_bytes, ", ");
    put_number(&m, "const", plan->const_bytes, ", ");
    put_number(&m, "arena", plan->arena_bytes, "},\n");
    put_kernels(&m);
    put_prepare(&m);
    text_put(out, "  \"run\": [");
    bool first = true;
    put_steps(&m, plan->run.at, program->run.at, 0, plan->run.len, &first);
    text_put(out, "]\n}\n");
    return m.ok;
}
