#include "ir/plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

Plan *plan_create(Graph *graph, const Target *target) {
    Plan *plan = arena_alloc(graph->arena, sizeof *plan);
    plan->graph = graph;
    plan->target = *target;
    Dim zero = dim_const(graph->dims, 0);
    plan->arena_bytes = plan->param_bytes = plan->state_bytes = plan->const_bytes = zero;
    plan->raw_bytes = zero;
    return plan;
}

static int placement_compare(const void *a, const void *b) {
    const Placement *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

void plan_sort_placements(Plan *plan) {
    if (plan->placements.len)
        qsort(plan->placements.at, plan->placements.len, sizeof *plan->placements.at,
              placement_compare);
}

const Placement *plan_placement(const Plan *plan, ValueId value) {
    uint32_t low = 0, high = plan->placements.len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->placements.at[middle].value < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < plan->placements.len && plan->placements.at[low].value == value;
    return found && value ? &plan->placements.at[low] : NULL;
}

typedef struct ScheduleField {
    const char *name;
    size_t offset;
} ScheduleField;

static const ScheduleField schedule_fields[] = {
#define X(field) {#field, offsetof(Schedule, field)},
    SCHEDULE_FIELDS(X)
#undef X
};
enum { SCHEDULE_FIELD_COUNT = sizeof schedule_fields / sizeof schedule_fields[0] };

static uint32_t *schedule_at(Schedule *schedule, const ScheduleField *field) {
    return (uint32_t *)(void *)((char *)schedule + field->offset);
}

void schedule_print(const Schedule *schedule, Text *out) {
    Schedule copy = *schedule;
    const char *comma = "";
    if (schedule->form) {
        text_printf(out, "form=%s", schedule->form);
        comma = ", ";
    }
    for (unsigned i = 0; i < SCHEDULE_FIELD_COUNT; i++) {
        uint32_t value = *schedule_at(&copy, &schedule_fields[i]);
        if (!value) continue;
        text_printf(out, "%s%s=%u", comma, schedule_fields[i].name, value);
        comma = ", ";
    }
}

static bool schedule_set(Schedule *out, Arena *arena, const char *key, char *value, Text *error) {
    if (strcmp(key, "form") == 0) {
        out->form = arena_strdup(arena, value);
        return true;
    }
    for (unsigned i = 0; i < SCHEDULE_FIELD_COUNT; i++) {
        if (strcmp(schedule_fields[i].name, key) != 0) continue;
        char *end;
        unsigned long number = strtoul(value, &end, 10);
        if (isdigit((unsigned char)*value) && *end == 0 && number <= 1u << 20) {
            *schedule_at(out, &schedule_fields[i]) = (uint32_t)number;
            return true;
        }
        text_printf(error, "%s cannot be `%s`", key, value);
        return false;
    }
    text_printf(error, "a schedule has no `%s`", key);
    return false;
}

bool schedule_parse(const char *text, Arena *arena, Schedule *out, Text *error) {
    *out = (Schedule){0};
    char *copy = arena_strdup(arena, text), *rest = NULL;
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        while (isspace((unsigned char)*part)) part++;
        char *end = part + strlen(part);
        while (end > part && isspace((unsigned char)end[-1])) *--end = 0;
        char *equals = strchr(part, '=');
        if (!equals) {
            text_printf(error, "expected `key=number`, not `%s`", part);
            return false;
        }
        *equals = 0;
        if (!schedule_set(out, arena, part, equals + 1, error)) return false;
    }
    return true;
}

DimScope *plan_assume(DimTable *dims, const Condition *condition, uint32_t conditions) {
    DimScope *scope = dim_scope_begin(dims);
    for (uint32_t i = 0; i < conditions; i++)
        dim_assume(dims, condition[i].left, condition[i].relation, condition[i].right);
    return scope;
}

ValueId plan_memory_base(const Graph *g, ValueId value) {
    for (;;) {
        const Value *v = graph_value(g, value);
        const Node *node = graph_node(g, v->node);
        if (!v->node || node->kind != NODE_OP || !node->inline_view || !node->operands)
            return value;
        value = node->operand[0];
    }
}

static void plan_add_access(Arena *arena, AccessList *list, ValueId value, bool write) {
    for (uint32_t i = 0; i < list->len; i++)
        if (list->at[i].value == value) {
            (write ? &list->at[i].write : &list->at[i].read)[0] = true;
            return;
        }
    vec_push(arena, list, (Access){value, !write, write});
}

AccessList plan_accesses(Arena *arena, const Graph *g, NodeId fused) {
    AccessList list = {0};
    const Node *node = graph_node(g, fused);
    const Region *body = &g->regions.at[node->body];
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *inner = graph_node(g, body->nodes.at[i]);
        if (inner->inline_view) continue;
        bool update = inner->kind == NODE_OP && inner->op == OP_UPDATE;
        for (uint32_t o = update; o < inner->operands; o++) {
            if (!inner->operand[o]) continue;
            ValueId base = plan_memory_base(g, inner->operand[o]);
            NodeId from = graph_value(g, base)->node;
            if (from && graph_node(g, from)->region == node->body) continue;
            if (from && graph_node(g, from)->kind == NODE_OP) {
                OpId op = graph_node(g, from)->op;
                if (op == OP_FULL || op == OP_ARANGE) continue;
            }
            plan_add_access(arena, &list, base, false);
        }
        if (update) plan_add_access(arena, &list, inner->result[0], true);
    }
    for (uint32_t r = 0; r < node->results; r++)
        plan_add_access(arena, &list, node->result[r], true);
    return list;
}
