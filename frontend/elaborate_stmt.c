// Statements: assignment, repeat, if, return, and `fused` of dumps.
#include "frontend/elaborate_state.h"

#include <stdlib.h>
#include <string.h>

enum { TRIPS_MAX = 4096 };

// ---- locations ----

static Loc loc_at(Span span) {
    return (Loc){.line = span.line, .column = span.column};
}

// Innermost first, then the callers.
uint32_t elab_locs(Elab *e, Span span, const Loc **out) {
    uint32_t count = 1;
    if (e->dump) {
        count = e->stmt ? e->stmt->loc.len : 0;
        Loc *loc = arena_alloc(e->arena, count * sizeof *loc);
        for (uint32_t i = 0; i < count; i++) {
            const Position *at = &e->stmt->loc.at[i];
            loc[i] = (Loc){at->line, at->column, at->file};
        }
        *out = loc;
        return count;
    }
    for (const Frame *frame = e->frame; frame; frame = frame->outer)
        count += frame->function && frame->outer;
    Loc *loc = arena_alloc(e->arena, count * sizeof *loc);
    loc[0] = loc_at(span);
    uint32_t at = 1;
    for (const Frame *frame = e->frame; frame; frame = frame->outer)
        if (frame->function && frame->outer) loc[at++] = loc_at(frame->span);
    *out = loc;
    return count;
}

Loc elab_loc(Elab *e, Span span) {
    const Loc *loc;
    return elab_locs(e, span, &loc) ? loc[0] : (Loc){0};
}

// ---- assignment ----

static const char *const unassignable[] = {
    [BIND_CONST] = "a const",  [BIND_DIM] = "a dim",     [BIND_COUNTER] = "the counter of a repeat",
    [BIND_INPUT] = "an input", [BIND_PARAM] = "a param", [BIND_STATE] = "a state"};

static void assign_name(Elab *e, const Target *target, Item item, Span span) {
    Type declared;
    if (target->type && !elab_type(e, target->type, &declared)) item = item_error();
    if (item.kind == ITEM_RESULTS)
        item = elab_error(e, span, "%u results for one name", item.list.count);
    if (item.kind != ITEM_ERROR && target->type) {
        item = item_value(elab_typed(e, span, target->name, item, &declared));
    } else if (item.kind != ITEM_ERROR && item.kind != ITEM_VALUE) {
        bool constant = item_is_constant(item);
        item = elab_error(e, span, "a name is assigned tensors, this is %s", item_kind_name(item));
        if (constant) diag_help(e->diags, "write const %s = ...", target->name);
    }
    Binding *binding = scope_find(e->scope, target->name);
    if (!binding || binding->kind == BIND_LOST) {
        scope_add(e, e->scope, target->name, target->name_span, BIND_VALUE, item, "value");
    } else if (binding->kind == BIND_VALUE) {
        binding->item = item;
        binding->span = target->name_span;
        binding->site = site_at(e, target->name_span, "value", target->name);
    } else {
        elab_error_noted(e, target->name_span, binding->span, "it was defined here",
                         "%s is %s and cannot be assigned", target->name,
                         unassignable[binding->kind]);
    }
}

static void assign_update(Elab *e, const Target *target, Item item, Span span) {
    Binding *binding = scope_find(e->scope, target->name);
    if (!binding) {
        elab_error(e, target->name_span, "unknown state %s", target->name);
        const char *near = scope_nearest(e, e->scope, target->name);
        if (near) diag_help(e->diags, "did you mean %s?", near);
        return;
    }
    if (binding->kind == BIND_LOST || binding->item.kind == ITEM_ERROR) return;
    if (binding->kind != BIND_STATE) {
        elab_error(e, target->span, "only a state can be updated in place; %s is none",
                   target->name);
        return;
    }
    item = elab_update(e, target, binding, item, span);
    if (item.kind == ITEM_VALUE) {
        binding->item = item;
        e->updates++;
    }
}

static void assign(Elab *e, const Target *target, Item item, Span span) {
    if (target->update)
        assign_update(e, target, item, span);
    else
        assign_name(e, target, item, span);
}

static Names target_names(Elab *e, const Target *target, uint32_t count) {
    const char **self = arena_alloc(e->arena, count * sizeof *self);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = elab_dotted(e, e->frame->path, target[i].name);
        if (i == 0 || !target[i].update) self[i] = target[i].update ? NULL : name;
    }
    return (Names){self, target->update ? 0 : count, elab_dotted(e, e->frame->path, target->name)};
}

static void elab_assign(Elab *e, const Stmt *stmt) {
    const TargetVec *targets = &stmt->assign.targets;
    const ExprVec *values = &stmt->assign.values;
    Item *item = arena_alloc(e->arena, targets->len * sizeof *item);
    if (values->len == 1 && targets->len > 1) {
        Span span = values->at[0]->span;
        Item all = elab_expr(e, values->at[0], target_names(e, targets->at, targets->len));
        if (all.kind != ITEM_ERROR && (all.kind != ITEM_RESULTS || all.list.count != targets->len))
            all = elab_error(e, span, "%u targets, but the value has %u part%s", targets->len,
                             all.kind == ITEM_RESULTS ? all.list.count : 1,
                             all.kind == ITEM_RESULTS ? "s" : "");
        for (uint32_t i = 0; i < targets->len; i++)
            assign(e, &targets->at[i], all.kind == ITEM_ERROR ? all : all.list.at[i], span);
        return;
    }
    if (values->len != targets->len) {
        elab_error(e, stmt->span, "%u target%s, but %u values", targets->len,
                   targets->len == 1 ? "" : "s", values->len);
        for (uint32_t i = 0; i < targets->len; i++)
            if (!targets->at[i].update) assign(e, &targets->at[i], item_error(), stmt->span);
        return;
    }
    // All values are read before the first name changes.
    for (uint32_t i = 0; i < values->len; i++)
        item[i] = elab_expr(e, values->at[i], target_names(e, &targets->at[i], 1));
    for (uint32_t i = 0; i < values->len; i++)
        assign(e, &targets->at[i], item[i], values->at[i]->span);
}

// ---- repeat ----

typedef VEC(Binding *) Carried;

static void carry(Elab *e, Carried *carried, const char *name, bool update) {
    Binding *binding = scope_find(e->scope, name);
    if (!binding || binding->item.kind != ITEM_VALUE) return;
    if (binding->kind != (update ? BIND_STATE : BIND_VALUE)) return;
    if (binding->repeat == e->repeats) return;
    binding->repeat = e->repeats;
    vec_push(e->arena, carried, binding);
}

// Outer names that the body may assign.
static void find_carried(Elab *e, const StmtVec *body, Carried *carried) {
    for (uint32_t i = 0; i < body->len; i++) {
        const Stmt *stmt = body->at[i];
        if (stmt->kind == STMT_ASSIGN)
            for (uint32_t j = 0; j < stmt->assign.targets.len; j++)
                carry(e, carried, stmt->assign.targets.at[j].name,
                      stmt->assign.targets.at[j].update);
        find_carried(e, &stmt->body, carried);
        if (stmt->kind == STMT_IF) find_carried(e, &stmt->otherwise, carried);
    }
}

// In the order of their values, as the printer has them: what a dump says comes back in its order.
static int compare_carried(const void *left, const void *right) {
    const Binding *a = *(Binding *const *)left, *b = *(Binding *const *)right;
    if (a->item.value != b->item.value) return a->item.value < b->item.value ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static const char *counter_name(const Elab *e, Dim trip) {
    for (uint32_t i = 0; i < dim_symbol_count(e->dims); i++)
        if (dim_symbol_at(e->dims, i) == trip) return dim_symbol_name(e->dims, i);
    return "";
}

// What the trip leaves for the next: a value of the type that it began with.
static ValueId yield_of(Elab *e, const Binding *binding, ValueId param) {
    if (binding->item.kind != ITEM_VALUE) return param;
    if (binding->site) binding->site->used = true;
    const Type *before = &graph_value(e->graph, param)->type;
    const char *what = arena_printf(e->arena, "%s, carried through the repeat,", binding->name);
    return elab_check_type(e, binding->span, what, binding->item.value, before)
               ? binding->item.value
               : param;
}

static bool stands_within(const Elab *e, RegionId region, RegionId outer) {
    while (region != outer && e->graph->regions.at[region].owner)
        region = graph_node(e->graph, e->graph->regions.at[region].owner)->region;
    return region == outer;
}

// The loop's result has the variable's name, unless the initial value has; a value of the body that
// took it prints as an assignment to it anyway.
static void name_carried(Elab *e, const Binding *binding, const Node *repeat, uint32_t index) {
    const char *name =
        e->dump ? binding->name : elab_dotted(e, e->frame->outer->path, binding->name);
    ValueId holder = graph_find(e->graph, name);
    if (holder && !stands_within(e, graph_value(e->graph, holder)->region, repeat->body)) return;
    if (holder) graph_name(e->graph, holder, arena_printf(e->arena, "%s.next", name), false);
    graph_name(e->graph, repeat->result[index], name, true);
}

static void end_repeat(Elab *e, NodeId repeat, const Carried *carried, const ValueId *init) {
    ValueId *param = graph_node(e->graph, repeat)->param;
    ValueId *yield = arena_alloc(e->arena, carried->len * sizeof *yield);
    for (uint32_t i = 0; i < carried->len; i++) yield[i] = yield_of(e, carried->at[i], param[i]);
    graph_end_repeat(e->graph, repeat, yield);
    const Node *node = graph_node(e->graph, repeat);
    for (uint32_t i = 0; i < carried->len; i++) {
        Binding *binding = carried->at[i];
        bool changed = yield[i] != param[i] || e->dump;
        if (binding->item.kind == ITEM_ERROR) continue;
        binding->item = item_value(changed ? node->result[i] : init[i]);
        name_carried(e, binding, node, i);
    }
}

static void elab_repeat(Elab *e, const Stmt *stmt) {
    int64_t lo, hi;
    if (!elab_range(e, &stmt->range, &lo, &hi)) return;
    if (hi - lo > TRIPS_MAX) {
        elab_error(e, stmt->span, "the repeat has more than %d trips", TRIPS_MAX);
        return;
    }
    Carried carried = {0};
    e->repeats++;
    find_carried(e, &stmt->body, &carried);
    if (carried.len) qsort(carried.at, carried.len, sizeof *carried.at, compare_carried);
    ValueId *init = arena_alloc(e->arena, carried.len * sizeof *init);
    for (uint32_t i = 0; i < carried.len; i++) {
        init[i] = carried.at[i]->item.value;
        if (carried.at[i]->site) carried.at[i]->site->used = true;
    }
    const Loc *loc;
    uint32_t locs = elab_locs(e, stmt->span, &loc);
    NodeId repeat =
        graph_begin_repeat(e->graph, stmt->name.text, lo, hi, init, carried.len, loc, locs);
    if (!repeat) {
        elab_error(e, stmt->span, "there are too many dims and repeats");
        return;
    }
    const Node *node = graph_node(e->graph, repeat);
    for (uint32_t i = 0; i < carried.len; i++) carried.at[i]->item = item_value(node->param[i]);
    Frame frame = {.outer = e->frame,
                   .span = stmt->span,
                   .note = arena_printf(e->arena, "in %s", elab_excerpt(e, stmt->span)),
                   .path = e->frame->path,
                   .names = e->frame->names,
                   .counter = counter_name(e, node->trip),
                   .trips = hi - lo};
    Scope *outer = e->scope;
    e->frame = &frame;
    e->scope = scope_create(e->arena, outer);
    Item counter = {.kind = ITEM_COUNTER, .string = frame.counter};
    scope_add(e, e->scope, stmt->name.text, stmt->name.span, BIND_COUNTER, counter, NULL);
    elab_body(e, &stmt->body);
    e->scope = outer;
    end_repeat(e, repeat, &carried, init);
    e->frame = frame.outer;
}

// ---- if, return, fused ----

// Else-ifs in a loop: a chain may have any length.
static void elab_if(Elab *e, const Stmt *stmt) {
    for (;;) {
        Item item = elab_expr(e, stmt->expr, (Names){0});
        if (item.kind == ITEM_ERROR) return;
        if (item.kind != ITEM_BOOL) {
            elab_error(e, stmt->expr->span, "an if needs a constant bool, this is %s",
                       item_kind_name(item));
            return;
        }
        if (item.boolean) {
            elab_body(e, &stmt->body);
            return;
        }
        if (stmt->otherwise.len != 1 || stmt->otherwise.at[0]->kind != STMT_IF) break;
        stmt = stmt->otherwise.at[0];
    }
    elab_body(e, &stmt->otherwise);
}

static void elab_return(Elab *e, const Stmt *stmt) {
    uint32_t count = stmt->returns.len;
    Frame *frame = e->frame;
    Item *item = arena_alloc(e->arena, count * sizeof *item);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        Names names = {.prefix = frame->names.prefix};
        if (i < frame->names.count) { // one call may give all the results
            names.self = frame->names.self + i;
            names.count = count == 1 ? frame->names.count : 1;
        }
        item[i] = elab_expr(e, stmt->returns.at[i], names);
        if (item[i].kind == ITEM_RESULTS && count > 1)
            item[i] = elab_error(e, stmt->returns.at[i]->span, "%u results in one place",
                                 item[i].list.count);
        good = good && item[i].kind != ITEM_ERROR;
    }
    frame->returned = true;
    frame->result_span =
        count ? span_join(stmt->returns.at[0]->span, stmt->returns.at[count - 1]->span)
              : stmt->span;
    frame->result = !good ? item_error()
                    : count == 1
                        ? item[0]
                        : (Item){.kind = ITEM_RESULTS, .list = {.at = item, .count = count}};
}

typedef struct FusedArgs {
    const char *family, *reason;
    bool prepare;
} FusedArgs;

static bool fused_args(Elab *e, Span span, const ArgVec *args, FusedArgs *out) {
    for (uint32_t i = 0; i < args->len; i++) {
        const Arg *arg = &args->at[i];
        Item item = elab_constant(e, arg->value);
        const char *name = arg->name ? arg->name : "";
        if (item.kind == ITEM_STRING && strcmp(name, "family") == 0)
            out->family = item.string;
        else if (item.kind == ITEM_STRING && strcmp(name, "reason") == 0)
            out->reason = item.string;
        else if (item.kind == ITEM_BOOL && strcmp(name, "prepare") == 0)
            out->prepare = item.boolean;
        else if (item.kind != ITEM_ERROR)
            elab_error(e, arg->value->span, "fused takes family, prepare and reason");
    }
    if (!out->family) elab_error(e, span, "fused needs a family");
    return out->family != NULL;
}

static void elab_fused(Elab *e, const Stmt *stmt) {
    FusedArgs args = {0};
    if (!fused_args(e, stmt->span, &stmt->fused.args, &args)) return;
    NodeId fused = graph_begin_fused(e->graph, stmt->name.text, args.family, args.prepare);
    if (args.reason)
        graph_node(e->graph, fused)->reason = arena_strdup(e->graph->arena, args.reason);
    Scope *outer = e->scope;
    e->scope = scope_create(e->arena, outer);
    elab_body(e, &stmt->body);
    Scope *inner = e->scope;
    e->scope = outer;
    VEC(ValueId) results = {0};
    for (uint32_t i = 0; i < stmt->fused.results.len; i++) {
        const Word *word = &stmt->fused.results.at[i];
        const Binding *binding = scope_find_here(inner, word->text);
        if (!binding) binding = scope_find(outer, word->text); // a name of an enclosing repeat
        if (!binding) {
            elab_error(e, word->span, "unknown name %s", word->text);
            continue;
        }
        if (binding->item.kind != ITEM_VALUE) continue;
        vec_push(e->arena, &results, binding->item.value);
        if (!scope_find(outer, word->text))
            scope_add(e, outer, word->text, word->span, binding->kind, binding->item, NULL);
    }
    graph_end_fused(e->graph, fused, results.at, results.len);
}

// ---- bodies ----

// Why a statement may not stand here, or NULL.
static const char *misplaced(const Elab *e, const Stmt *stmt) {
    bool in_repeat = !e->frame->function;
    const Frame *frame = e->frame;
    while (!frame->function) frame = frame->outer;
    bool model = frame->function->kind == STMT_MODEL;
    switch (stmt->kind) {
    case STMT_DIM: return model && !in_repeat ? NULL : "dim stands in the file and the model";
    case STMT_INPUT:
    case STMT_OUTPUT:
        return model && !in_repeat ? NULL : "input and output stand at the top of the model";
    case STMT_PARAM:
    case STMT_STATE:
        return model || frame->function->function.block
                   ? NULL
                   : "a fn is pure; param and state stand in the model and in blocks";
    case STMT_RETURN:
        return !model && !in_repeat ? NULL : "return stands in fns and blocks, not in a repeat";
    case STMT_FUSED: return e->dump ? NULL : "fused stands in dumps";
    default: return NULL;
    }
}

static void lose_names(Elab *e, const WordVec *lost) {
    for (uint32_t i = 0; lost && i < lost->len; i++)
        if (!scope_find(e->scope, lost->at[i].text) && !scope_find(e->functions, lost->at[i].text))
            scope_add(e, e->scope, lost->at[i].text, lost->at[i].span, BIND_LOST, item_error(),
                      NULL);
}

static void elab_stmt(Elab *e, const Stmt *stmt) {
    const char *fault = misplaced(e, stmt);
    if (fault) {
        elab_error(e, stmt->span, "%s", fault);
        return;
    }
    switch (stmt->kind) {
    case STMT_ERROR: lose_names(e, stmt->lost); break;
    case STMT_CONST: elab_const(e, stmt, NULL); break;
    case STMT_DIM: elab_dim(e, stmt); break;
    case STMT_ASSERT: elab_assert(e, stmt); break;
    case STMT_IF: elab_if(e, stmt); break;
    case STMT_INPUT: elab_input(e, stmt); break;
    case STMT_OUTPUT: elab_output(e, stmt); break;
    case STMT_PARAM: elab_param(e, stmt); break;
    case STMT_STATE: elab_state(e, stmt); break;
    case STMT_ASSIGN: elab_assign(e, stmt); break;
    case STMT_REPEAT: elab_repeat(e, stmt); break;
    case STMT_RETURN: elab_return(e, stmt); break;
    case STMT_FUSED: elab_fused(e, stmt); break;
    case STMT_HEADER:
    case STMT_MODEL:
    case STMT_FUNCTION: break; // the grammar has them at file level alone
    }
}

void elab_body(Elab *e, const StmtVec *body) {
    const Stmt *outer = e->stmt;
    for (uint32_t i = 0; i < body->len && !e->stopped && !e->frame->returned; i++) {
        if (diags_full(e->diags)) e->stopped = true;
        e->stmt = body->at[i];
        elab_stmt(e, body->at[i]);
    }
    e->stmt = outer;
}
