// Text of a plan: the graph, then
//
//     plan {
//         target {
//             name = portable
//             ...
//         }
//         memory arena N * 4704 params 247040 states 0 consts 0 raw 0
//         place x.2 = arena 0 at 0 bytes N * 4704
//         run {
//             step k0 barrier {
//                 use "form=simt, local=64" because "..."
//             }
//             repeat 0 {
//                 step k1 { ... }
//             }
//         }
//         prepare {
//             unit fc.weight, fc.bias {
//                 step k2 { ... }
//             }
//         }
//     }
//
// Values go by name; those that have none in the text go by where they stand. What the first repeat
// carries on from h is repeat.0.param.h in a trip, repeat.0.yield.h at its end, repeat.0.result.h
// after the last; what the first update of s makes is state.s.1. Repeats are numbered in program
// order. Placements are sorted by memory and name, so that a text reads back to the same text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/plan.h"
#include "ir/plan_names.h"
#include "ir/text_scan.h"

static const char *const buffer_names[] = {"input", "output", "param", "state",
                                           "const", "arena",  "raw"};
static const char *const relation_names[] = {"==", "!=", "<", "<=", ">", ">="};

const char *buffer_kind_name(BufferKind kind) {
    return buffer_names[kind];
}

bool buffer_kind_from_name(const char *name, BufferKind *out) {
    for (unsigned kind = 0; kind <= BUF_RAW; kind++)
        if (strcmp(buffer_names[kind], name) == 0) {
            *out = (BufferKind)kind;
            return true;
        }
    return false;
}

// ---- names ----

static uint32_t plan_repeat_number(const Graph *g, NodeId repeat) {
    uint32_t number = 0;
    for (NodeId id = 1; id < repeat; id++) number += graph_node(g, id)->kind == NODE_REPEAT;
    return number;
}

static NodeId plan_repeat_at(const Graph *g, uint64_t number) {
    for (NodeId id = 1; id < g->nodes.len; id++)
        if (graph_node(g, id)->kind == NODE_REPEAT && number-- == 0) return id;
    return 0;
}

static bool is_update_of(const Graph *g, NodeId id, NodeId state) {
    const Node *node = graph_node(g, id);
    return node->kind == NODE_OP && node->op == OP_UPDATE &&
           graph_state_of(g, node->result[0]) == state;
}

static void put_version(const Graph *g, NodeId update, Text *out) {
    NodeId state = graph_state_of(g, graph_node(g, update)->result[0]);
    uint32_t number = 0;
    for (NodeId id = 1; id <= update; id++) number += is_update_of(g, id, state);
    text_printf(out, "state.%s.%u", graph_value(g, graph_node(g, state)->result[0])->name, number);
}

static ValueId version_from_name(const Graph *g, const char *name) {
    const char *dot = strrchr(name, '.');
    unsigned number;
    char state_name[256];
    if (!dot || (size_t)(dot - name) >= sizeof state_name || sscanf(dot, ".%u", &number) != 1)
        return 0;
    memcpy(state_name, name, (size_t)(dot - name));
    state_name[dot - name] = 0;
    ValueId first = graph_find(g, state_name);
    NodeId state = first ? graph_value(g, first)->node : 0;
    for (NodeId id = 1; state && id < g->nodes.len; id++)
        if (is_update_of(g, id, state) && --number == 0) return graph_node(g, id)->result[0];
    return 0;
}

static void put_carried(const Graph *g, NodeId repeat, const char *what, uint32_t index,
                        Text *out) {
    text_printf(out, "repeat.%u.%s.", plan_repeat_number(g, repeat), what);
    plan_print_value(g, graph_node(g, repeat)->operand[index], out);
}

// Carried values are one name in the text, so what a trip hands on goes by its place too.
static bool put_yield(const Graph *g, ValueId value, Text *out) {
    RegionId region = graph_value(g, value)->region;
    for (NodeId owner; (owner = g->regions.at[region].owner) != 0;) {
        const Node *node = graph_node(g, owner);
        for (uint32_t i = 0; node->kind == NODE_REPEAT && i < node->operands; i++) {
            if (node->yield[i] != value) continue;
            put_carried(g, owner, "yield", i, out);
            return true;
        }
        region = node->region;
    }
    return false;
}

void plan_print_value(const Graph *g, ValueId value, Text *out) {
    const Value *v = graph_value(g, value);
    NodeId owner = v->node ? v->node : g->regions.at[v->region].owner;
    if (put_yield(g, value, out)) return;
    if (owner && graph_node(g, owner)->kind == NODE_REPEAT)
        put_carried(g, owner, v->node ? "result" : "param", v->index, out);
    else if (v->node && graph_node(g, v->node)->op == OP_UPDATE)
        put_version(g, v->node, out);
    else
        text_put(out, v->name);
}

ValueId plan_value_from_name(const Graph *g, const char *name) {
    unsigned repeat;
    int length = 0;
    char what[8];
    if (strncmp(name, "state.", 6) == 0) return version_from_name(g, name + 6);
    if (sscanf(name, "repeat.%u.%7[a-z].%n", &repeat, what, &length) != 2 || length == 0)
        return graph_find(g, name);
    NodeId id = plan_repeat_at(g, repeat);
    ValueId init = plan_value_from_name(g, name + length);
    const Node *node = graph_node(g, id);
    for (uint32_t i = 0; id && i < node->operands; i++) {
        if (node->operand[i] != init) continue;
        return strcmp(what, "param") == 0   ? node->param[i]
               : strcmp(what, "yield") == 0 ? node->yield[i]
                                            : node->result[i];
    }
    return 0;
}

NodeId plan_fused_from_name(const Graph *g, const char *name) {
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind == NODE_FUSED && strcmp(node->name, name) == 0) return id;
    }
    return 0;
}

// ---- printing ----

static void put_indent(Text *out, unsigned depth) {
    for (unsigned i = 0; i < depth; i++) text_put(out, "    ");
}

static void put_dim(const Plan *plan, const char *before, Dim dim, Text *out) {
    text_put(out, before);
    dim_print(plan->graph->dims, dim, out);
}

static void put_target(const Plan *plan, Text *out) {
    Text text = {0};
    target_print(&plan->target, &text);
    text_put(out, "    target {\n");
    for (char *line = strchr(text.data, '\n') + 1; *line;) {
        char *end = strchr(line, '\n');
        text_printf(out, "        %.*s\n", (int)(end - line), line);
        line = end + 1;
    }
    text_put(out, "    }\n");
    text_free(&text);
}

static void put_guard(const Plan *plan, const Alternative *a, Text *out) {
    if (a->features) {
        text_put(out, " features (");
        const char *blank = "";
        for (unsigned bit = 0; bit < 64; bit++) {
            if (!(a->features >> bit & 1)) continue;
            text_printf(out, "%s%s", blank, target_feature_name(bit));
            blank = " ";
        }
        text_put(out, ")");
    }
    if (a->shared_bytes) text_printf(out, " shared %u", a->shared_bytes);
    if (a->fragment.m)
        text_printf(out, " fragment %u %u %u %s %s", a->fragment.m, a->fragment.n, a->fragment.k,
                    dtype_name(a->fragment.ab), dtype_name(a->fragment.acc));
    for (uint32_t i = 0; i < a->conditions; i++) {
        put_dim(plan, i ? " and " : " when ", a->condition[i].left, out);
        text_printf(out, " %s", relation_names[a->condition[i].relation]);
        put_dim(plan, " ", a->condition[i].right, out);
    }
}

static void put_step(const Plan *plan, const PlanStep *step, unsigned depth, Text *out) {
    put_indent(out, depth);
    text_printf(out, "step %s%s {\n", graph_node(plan->graph, step->node)->name,
                step->barrier ? " barrier" : "");
    for (uint32_t i = 0; i < step->alternatives.len; i++) {
        const Alternative *a = &step->alternatives.at[i];
        put_indent(out, depth + 1);
        text_put(out, "use \"");
        schedule_print(&a->schedule, out);
        text_put(out, "\"");
        put_guard(plan, a, out);
        if (a->workspace != DIM_NONE) {
            put_dim(plan, " workspace ", a->workspace, out);
            put_dim(plan, " at ", a->workspace_offset, out);
        }
        if (a->reason) {
            text_put(out, " because ");
            text_quoted(out, a->reason);
        }
        text_put(out, "\n");
    }
    put_indent(out, depth);
    text_put(out, "}\n");
}

static void put_steps(const Plan *plan, const PlanStep *steps, uint32_t count, unsigned depth,
                      Text *out) {
    for (uint32_t i = 0; i < count; i++) {
        NodeId node = steps[i].node;
        if (!node) {
            put_indent(out, --depth);
            text_put(out, "}\n");
        } else if (graph_node(plan->graph, node)->kind == NODE_REPEAT) {
            put_indent(out, depth++);
            text_printf(out, "repeat %u {\n", plan_repeat_number(plan->graph, node));
        } else {
            put_step(plan, &steps[i], depth, out);
        }
    }
}

static void put_units(const Plan *plan, Text *out) {
    text_put(out, "    prepare {\n");
    for (uint32_t i = 0; i < plan->units.len; i++) {
        const PrepareUnit *unit = &plan->units.at[i];
        text_put(out, "        unit ");
        for (uint32_t p = 0; p < unit->params.len; p++) {
            if (p) text_put(out, ", ");
            plan_print_value(plan->graph, unit->params.at[p], out);
        }
        text_put(out, unit->params.len ? " {\n" : "{\n");
        put_steps(plan, &plan->prepare.at[unit->first], unit->count, 3, out);
        text_put(out, "        }\n");
    }
    text_put(out, "    }\n");
}

typedef struct PlaceLine {
    const Placement *place;
    Text name;
} PlaceLine;

static int line_compare(const void *a, const void *b) {
    const PlaceLine *x = a, *y = b;
    if (x->place->kind != y->place->kind) return x->place->kind < y->place->kind ? -1 : 1;
    if (x->place->index != y->place->index) return x->place->index < y->place->index ? -1 : 1;
    return strcmp(x->name.data, y->name.data);
}

static void put_places(const Plan *plan, Text *out) {
    uint32_t count = plan->placements.len;
    PlaceLine *lines = memory_or_exit(calloc(count + 1, sizeof *lines));
    for (uint32_t i = 0; i < count; i++) {
        lines[i].place = &plan->placements.at[i];
        plan_print_value(plan->graph, lines[i].place->value, &lines[i].name);
    }
    qsort(lines, count, sizeof *lines, line_compare);
    for (uint32_t i = 0; i < count; i++) {
        const Placement *place = lines[i].place;
        text_printf(out, "    place %s = %s %u", lines[i].name.data, buffer_names[place->kind],
                    place->index);
        put_dim(plan, " at ", place->offset, out);
        put_dim(plan, " bytes ", place->bytes, out);
        text_put(out, "\n");
        text_free(&lines[i].name);
    }
    free(lines);
}

void plan_print_as(const Plan *plan, const char *first_line, Text *out) {
    Text graph = {0};
    graph_print(plan->graph, &graph);
    const char *rest = strchr(graph.data, '\n');
    text_printf(out, "%s%s", first_line, rest ? rest : "\n");
    text_free(&graph);
    text_put(out, "plan {\n");
    put_target(plan, out);
    if (plan->strict_rounding) text_put(out, "    strict_rounding\n");
    if (plan->fast_math) text_put(out, "    math fast\n");
    put_dim(plan, "    memory arena ", plan->arena_bytes, out);
    put_dim(plan, " params ", plan->param_bytes, out);
    put_dim(plan, " states ", plan->state_bytes, out);
    put_dim(plan, " consts ", plan->const_bytes, out);
    put_dim(plan, " raw ", plan->raw_bytes, out);
    text_put(out, "\n");
    put_places(plan, out);
    text_put(out, "    run {\n");
    put_steps(plan, plan->run.at, plan->run.len, 2, out);
    text_put(out, "    }\n");
    if (plan->units.len) put_units(plan, out);
    text_put(out, "}\n");
}

void plan_print(const Plan *plan, Text *out) {
    plan_print_as(plan, "adept 1 plan", out);
}

// ---- parsing ----

static void get_target(Scan *s, Plan *plan) {
    Text text = {0};
    text_put(&text, "adept 1 target\n");
    scan_expect(s, "{");
    scan_line(s);
    for (;;) {
        const char *line = scan_line(s);
        if (strcmp(line, "}") == 0) break;
        if (s->at >= s->length) scan_fail(s, "the target does not end");
        if (s->failed) break;
        text_printf(&text, "%s\n", line);
    }
    if (!s->failed && !target_parse(text.data, text.len, s->file, s->diags, &plan->target))
        s->failed = true;
    text_free(&text);
}

static void get_memory(Scan *s, Plan *plan) {
    static const char *const names[] = {"arena", "params", "states", "consts", "raw"};
    Dim *sizes[] = {&plan->arena_bytes, &plan->param_bytes, &plan->state_bytes, &plan->const_bytes,
                    &plan->raw_bytes};
    for (unsigned i = 0; i < 5; i++) {
        scan_expect(s, names[i]);
        *sizes[i] = scan_dim(s);
    }
}

static ValueId get_value(Scan *s, const Graph *g) {
    const char *name = scan_word(s);
    ValueId value = s->failed ? 0 : plan_value_from_name(g, name);
    if (!value) scan_fail(s, "there is no value `%s`", name);
    return value;
}

static void get_place(Scan *s, Plan *plan) {
    Placement place = {.value = get_value(s, plan->graph)};
    scan_expect(s, "=");
    const char *kind = scan_word(s);
    if (!s->failed && !buffer_kind_from_name(kind, &place.kind))
        scan_fail(s, "there is no memory `%s`", kind);
    place.index = (uint32_t)scan_int(s);
    scan_expect(s, "at");
    place.offset = scan_dim(s);
    scan_expect(s, "bytes");
    place.bytes = scan_dim(s);
    if (!s->failed) vec_push(s->arena, &plan->placements, place);
}

static void get_condition(Scan *s, Alternative *a) {
    Condition condition = {.left = scan_dim(s)};
    unsigned order[] = {DIM_EQ, DIM_NE, DIM_LE, DIM_GE, DIM_LT, DIM_GT}, i = 0;
    while (i < 6 && !scan_take(s, relation_names[order[i]])) i++;
    if (i == 6)
        scan_fail(s, "expected a comparison");
    else
        condition.relation = (DimRelation)order[i];
    condition.right = scan_dim(s);
    if (a->conditions == CONDITIONS_MAX) scan_fail(s, "more than %d conditions", CONDITIONS_MAX);
    if (!s->failed) a->condition[a->conditions++] = condition;
}

static DType get_dtype(Scan *s) {
    DType dtype = DT_NONE;
    const char *name = scan_word(s);
    if (!s->failed && !dtype_from_name(name, &dtype)) scan_fail(s, "there is no type `%s`", name);
    return dtype;
}

static void get_guard(Scan *s, Alternative *a) {
    if (scan_take(s, "features")) {
        scan_expect(s, "(");
        while (!s->failed && !scan_take(s, ")")) {
            TargetFeatures bit = 0;
            const char *name = scan_word(s);
            if (!s->failed && !target_feature_from_name(name, &bit))
                scan_fail(s, "there is no feature `%s`", name);
            a->features |= bit;
        }
    }
    if (scan_take(s, "shared")) a->shared_bytes = (uint32_t)scan_int(s);
    if (scan_take(s, "fragment")) {
        a->fragment.m = (uint16_t)scan_int(s), a->fragment.n = (uint16_t)scan_int(s);
        a->fragment.k = (uint16_t)scan_int(s);
        a->fragment.ab = get_dtype(s), a->fragment.acc = get_dtype(s);
    }
    if (scan_take(s, "when")) {
        do get_condition(s, a);
        while (scan_take(s, "and"));
    }
}

static void get_alternative(Scan *s, PlanStep *step) {
    Alternative a = {.workspace = DIM_NONE};
    Text error = {0};
    scan_expect(s, "use");
    const char *schedule = scan_string(s);
    if (!s->failed && !schedule_parse(schedule, s->arena, &a.schedule, &error))
        scan_fail(s, "%s", error.data);
    text_free(&error);
    get_guard(s, &a);
    if (scan_take(s, "workspace")) {
        a.workspace = scan_dim(s);
        scan_expect(s, "at");
        a.workspace_offset = scan_dim(s);
    }
    if (scan_take(s, "because")) a.reason = scan_string(s);
    if (!s->failed) vec_push(s->arena, &step->alternatives, a);
}

typedef VEC(PlanStep) StepList;

static void get_step(Scan *s, Plan *plan, StepList *steps) {
    const char *name = scan_word(s);
    PlanStep step = {.node = s->failed ? 0 : plan_fused_from_name(plan->graph, name)};
    if (!step.node) scan_fail(s, "there is no group `%s`", name);
    step.barrier = scan_take(s, "barrier");
    scan_expect(s, "{");
    while (!s->failed && !scan_take(s, "}")) get_alternative(s, &step);
    if (step.alternatives.len == 0) scan_fail(s, "step %s has no alternative", name);
    if (!s->failed) vec_push(s->arena, steps, step);
}

// Steps up to the closing brace.
static void get_steps(Scan *s, Plan *plan, StepList *steps, unsigned depth) {
    if (depth > 64) scan_fail(s, "repeats are nested too deeply");
    while (!s->failed && !scan_take(s, "}")) {
        if (scan_take(s, "step")) {
            get_step(s, plan, steps);
            continue;
        }
        scan_expect(s, "repeat");
        int64_t number = scan_int(s);
        NodeId node = number < 0 ? 0 : plan_repeat_at(plan->graph, (uint64_t)number);
        if (!node) scan_fail(s, "there is no such repeat");
        scan_expect(s, "{");
        if (s->failed) return;
        vec_push(s->arena, steps, (PlanStep){.node = node});
        get_steps(s, plan, steps, depth + 1);
        vec_push(s->arena, steps, (PlanStep){0});
    }
}

static void get_units(Scan *s, Plan *plan, StepList *steps) {
    scan_expect(s, "{");
    while (!s->failed && !scan_take(s, "}")) {
        scan_expect(s, "unit");
        PrepareUnit unit = {.first = steps->len};
        while (!s->failed && !scan_take(s, "{")) {
            ValueId value = get_value(s, plan->graph);
            if (!s->failed) vec_push(s->arena, &unit.params, value);
            scan_take(s, ",");
        }
        get_steps(s, plan, steps, 0);
        unit.count = steps->len - unit.first;
        if (!s->failed) vec_push(s->arena, &plan->units, unit);
    }
}

Plan *plan_parse(Graph *graph, const char *text, size_t length, FileId file, Diags *diags) {
    Target none = {0};
    Plan *plan = plan_create(graph, &none);
    Scan s = scan_section(graph->arena, graph->dims, diags, file, text, length, "plan {");
    StepList run = {0}, prepare = {0};
    scan_expect(&s, "target");
    get_target(&s, plan);
    plan->strict_rounding = scan_take(&s, "strict_rounding");
    if (scan_take(&s, "math")) {
        scan_expect(&s, "fast");
        plan->fast_math = true;
    }
    scan_expect(&s, "memory");
    get_memory(&s, plan);
    while (scan_take(&s, "place")) get_place(&s, plan);
    scan_expect(&s, "run");
    scan_expect(&s, "{");
    get_steps(&s, plan, &run, 0);
    if (scan_take(&s, "prepare")) get_units(&s, plan, &prepare);
    scan_expect(&s, "}");
    if (s.failed) return NULL;
    plan->run.at = run.at, plan->run.len = run.len, plan->run.cap = run.cap;
    plan->prepare.at = prepare.at, plan->prepare.len = prepare.len;
    plan->prepare.cap = prepare.cap;
    plan_sort_placements(plan);
    return plan;
}
