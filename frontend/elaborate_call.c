// Calls of fns and blocks: their bodies are elaborated anew each time (language.md section 5).
#include "frontend/elaborate_state.h"

#include <string.h>

enum { CALLS_MAX = 100000 }; // of one model: calls that call twice would go on for ever

// ---- signatures ----

static bool is_scalar_formal(const TypeSyntax *type) {
    return type->word != WORD_NONE || (type->dtype == DT_BOOL && !type->bracket);
}

static bool stands_alone(const Stmt *function, const char *name) {
    for (uint32_t i = 0; i < function->function.formals.len; i++) {
        const TypeSyntax *type = function->function.formals.at[i].type;
        for (uint32_t j = 0; j < type->size.len; j++) {
            const Expr *size = type->size.at[j];
            if (size->kind == EXPR_NAME && strcmp(size->name, name) == 0) return true;
        }
    }
    return false;
}

static unsigned count_rest(const TypeSyntax *type) {
    unsigned count = 0;
    for (uint32_t i = 0; i < type->size.len; i++) count += type->size.at[i]->kind == EXPR_ELLIPSIS;
    return count;
}

static bool check_rest(Elab *e, const Stmt *function) {
    unsigned formals = 0;
    for (uint32_t i = 0; i < function->function.formals.len; i++) {
        const TypeSyntax *type = function->function.formals.at[i].type;
        unsigned count = count_rest(type);
        formals += count;
        if (count <= 1) continue;
        elab_error(e, type->span, "'...' stands once in a shape");
        return false;
    }
    for (uint32_t i = 0; i < function->function.results.len; i++) {
        const TypeSyntax *type = function->function.results.at[i];
        if (count_rest(type) == 0 || formals > 0) continue;
        elab_error(e, type->span, "'...' stands in no formal's shape");
        return false;
    }
    return true;
}

bool elab_signature(Elab *e, const Stmt *function) {
    bool good = true;
    const char *name = function->name.text;
    if (op_find(name) != OP_NONE && !op_info(op_find(name))->internal)
        elab_warning(e, function->name.span, "%s hides the op of that name", name);
    Scope *seen = scope_create(e->arena, NULL);
    for (uint32_t i = 0; i < function->function.sizes.len; i++) {
        const Word *size = &function->function.sizes.at[i];
        if (scope_find_here(seen, size->text)) {
            elab_error(e, size->span, "%s is defined already", size->text);
            good = false;
        }
        scope_add(e, seen, size->text, size->span, BIND_DIM, item_error(), NULL);
        if (stands_alone(function, size->text)) continue;
        elab_error(e, size->span, "the size parameter %s stands alone in no formal's shape",
                   size->text);
        good = false;
    }
    for (uint32_t i = 0; i < function->function.formals.len; i++) {
        const Formal *formal = &function->function.formals.at[i];
        if (scope_find_here(seen, formal->name)) {
            elab_error(e, formal->span, "%s is defined already", formal->name);
            good = false;
        }
        scope_add(e, seen, formal->name, formal->span, BIND_VALUE, item_error(), NULL);
    }
    return check_rest(e, function) && good;
}

// ---- arguments ----

typedef struct Call {
    const Stmt *function;
    const Expr *expr;
    const Item *arg;   // of each formal, after match_args
    const Span *span;  // where it was written
    const bool *given; // else the default
} Call;

static int formal_named(Elab *e, const Stmt *function, const Arg *arg) {
    VEC(const char *) names = {0};
    for (uint32_t i = 0; i < function->function.formals.len; i++) {
        const char *name = function->function.formals.at[i].name;
        if (strcmp(name, arg->name) == 0) return (int)i;
        vec_push(e->arena, &names, name);
    }
    vec_push(e->arena, &names, NULL);
    elab_error(e, arg->name_span, "%s has no argument %s", function->name.text, arg->name);
    const char *near = elab_nearest(arg->name, names.at);
    if (near) diag_help(e->diags, "did you mean %s?", near);
    return -1;
}

// Puts the arguments (already evaluated) into the order of the formals.
static bool match_args(Elab *e, const Stmt *function, const Expr *expr, const Item *args,
                       Call *call) {
    uint32_t count = function->function.formals.len;
    Item *item = arena_alloc(e->arena, count * sizeof *item);
    Span *span = arena_alloc(e->arena, count * sizeof *span);
    bool *given = arena_alloc(e->arena, count * sizeof *given);
    bool named = false;
    for (uint32_t i = 0; i < expr->call.args.len; i++) {
        const Arg *arg = &expr->call.args.at[i];
        int at = (int)i;
        if (arg->name) {
            named = true;
            at = formal_named(e, function, arg);
            if (at < 0) return false;
        } else if (named) {
            elab_error(e, arg->value->span, "positional arguments come before named ones");
            return false;
        } else if (i >= count) {
            elab_error(e, arg->value->span, "%s takes at most %u arguments", function->name.text,
                       count);
            return false;
        }
        if (given[at]) {
            elab_error(e, arg->name_span, "%s is given twice", arg->name);
            return false;
        }
        given[at] = true;
        item[at] = args[i];
        span[at] = arg->value->span;
    }
    for (uint32_t i = 0; i < count; i++) {
        const Formal *formal = &function->function.formals.at[i];
        if (given[i]) continue;
        span[i] = expr->mark;
        if (formal->value) continue;
        elab_error(e, expr->mark, "%s needs %s", function->name.text, formal->name);
        return false;
    }
    *call = (Call){function, expr, item, span, given};
    return true;
}

// ---- binding, in the scope of the body ----

static bool bind_scalar(Elab *e, const Formal *formal, Item item, Span span) {
    static const char *const wanted[] = {
        [WORD_NONE] = "bool", [WORD_INT] = "int", [WORD_FLOAT] = "float", [WORD_STR] = "string"};
    static const ItemKind kinds[] = {[WORD_NONE] = ITEM_BOOL,
                                     [WORD_INT] = ITEM_INT,
                                     [WORD_FLOAT] = ITEM_FLOAT,
                                     [WORD_STR] = ITEM_STRING};
    TypeWord word = formal->type->word;
    if (item.kind == ITEM_ERROR) return false;
    if (word == WORD_FLOAT && item.kind == ITEM_INT) item = item_float((double)item.integer);
    if (item.kind != kinds[word]) {
        elab_error(e, span, "%s must be a constant %s, not %s", formal->name, wanted[word],
                   item_kind_name(item));
        return false;
    }
    scope_add(e, e->scope, formal->name, formal->span, BIND_CONST, item, "formal");
    return true;
}

static const Word *size_parameter(const Stmt *function, const Expr *size) {
    for (uint32_t i = 0; size->kind == EXPR_NAME && i < function->function.sizes.len; i++)
        if (strcmp(function->function.sizes.at[i].text, size->name) == 0)
            return &function->function.sizes.at[i];
    return NULL;
}

// Binds size parameters and `...` that stand in the formal's shape to the argument's sizes.
static bool bind_sizes(Elab *e, const Stmt *function, const Formal *formal, const Type *type) {
    const TypeSyntax *syntax = formal->type;
    unsigned rest = count_rest(syntax), named = syntax->size.len - rest;
    if (rest ? type->rank < named : type->rank != named) return false;
    unsigned axis = 0;
    for (uint32_t i = 0; i < syntax->size.len; i++) {
        const Expr *size = syntax->size.at[i];
        if (size->kind == EXPR_ELLIPSIS) {
            unsigned count = type->rank - named;
            if (!e->frame->has_rest) {
                e->frame->has_rest = true;
                e->frame->rest_count = count;
                memcpy(e->frame->rest, type->size + axis, count * sizeof *type->size);
            }
            axis += count;
            continue;
        }
        const Word *parameter = size_parameter(function, size);
        if (parameter && !scope_find_here(e->scope, parameter->text))
            scope_add(e, e->scope, parameter->text, parameter->span, BIND_DIM,
                      size_item(e, parameter->span, type->size[axis]), NULL);
        axis++;
    }
    return true;
}

static bool bind_tensor(Elab *e, const Call *call, const Formal *formal, Item item, Span span) {
    Type declared;
    if (item.kind == ITEM_ERROR) return false;
    if (item.kind == ITEM_VALUE) {
        const Type *type = &graph_value(e->graph, item.value)->type;
        if (!bind_sizes(e, call->function, formal, type)) {
            elab_error_noted(e, span, formal->type->span, "declared here",
                             "%s: %s has another rank than %s", formal->name,
                             elab_type_text(e, type), elab_excerpt(e, formal->type->span));
            return false;
        }
    }
    if (!elab_type(e, formal->type, &declared)) return false;
    ValueId value = elab_typed(e, span, formal->name, item, &declared);
    if (!value) return false;
    scope_add(e, e->scope, formal->name, formal->span, BIND_VALUE, item_value(value), "formal");
    return true;
}

// Constants first: sizes in the shapes may depend on them.
static bool bind_formals(Elab *e, const Call *call) {
    bool good = true;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < call->function->function.formals.len; i++) {
            const Formal *formal = &call->function->function.formals.at[i];
            bool scalar = is_scalar_formal(formal->type);
            if (scalar != (pass == 0)) continue;
            Item item = call->given[i] ? call->arg[i] : elab_expr(e, formal->value, (Names){0});
            if (!(scalar ? bind_scalar(e, formal, item, call->span[i])
                         : bind_tensor(e, call, formal, item, call->span[i]))) {
                // The name stands for an error, and is used by it.
                scope_add(e, e->scope, formal->name, formal->span, BIND_LOST, item_error(), NULL);
                good = false;
            }
        }
    }
    return good;
}

// ---- results ----

static Item checked_results(Elab *e, const Call *call, Item returned) {
    const TypeVec *types = &call->function->function.results;
    uint32_t count = returned.kind == ITEM_RESULTS ? returned.list.count : 1;
    if (returned.kind == ITEM_ERROR) return returned;
    if (count != types->len)
        return elab_error(e, e->frame->result_span,
                          "%s is declared to return %u value%s, this is %u",
                          call->function->name.text, types->len, types->len == 1 ? "" : "s", count);
    Item *item = arena_alloc(e->arena, count * sizeof *item);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        Type type;
        item[i] = returned.kind == ITEM_RESULTS ? returned.list.at[i] : returned;
        if (!elab_type(e, types->at[i], &type)) return item_error();
        item[i] = item_value(elab_typed(e, e->frame->result_span, "the result", item[i], &type));
        good = good && item[i].kind == ITEM_VALUE;
    }
    if (!good) return item_error();
    return count == 1 ? item[0]
                      : (Item){.kind = ITEM_RESULTS, .list = {.at = item, .count = count}};
}

static Item elab_function_body(Elab *e, const Call *call) {
    if (!bind_formals(e, call)) return item_error();
    elab_body(e, &call->function->body);
    if (e->frame->returned) return checked_results(e, call, e->frame->result);
    return elab_error(e, call->function->name.span, "%s comes to its end without a return",
                      call->function->name.text);
}

// ---- calls ----

static const char *join_path(Elab *e, const char *outer, const char *inner) {
    if (!outer[0]) return inner;
    return arena_printf(e->arena, "%s.%s", outer, inner);
}

static bool may_call(Elab *e, const Stmt *function, const Expr *expr) {
    const char *name = function->name.text;
    bool in_fn = false;
    for (const Frame *frame = e->frame; frame; frame = frame->outer) {
        if (frame->function == function) {
            elab_error(e, expr->mark, "%s calls itself; recursion is not possible", name);
            return false;
        }
        in_fn = in_fn || (frame->function && frame->function->kind == STMT_FUNCTION &&
                          !frame->function->function.block);
    }
    if (in_fn && function->function.block) {
        elab_error(e, expr->mark, "a fn is pure; it cannot call the block %s", name);
        return false;
    }
    if (e->calls == NEST_MAX) {
        elab_error(e, expr->mark, "calls are nested more than %d deep", NEST_MAX);
        return false;
    }
    if (++e->all_calls <= CALLS_MAX) return true;
    elab_error(e, expr->mark, "the model makes more than %d calls", CALLS_MAX);
    e->stopped = true;
    return false;
}

static Item call_function(Elab *e, const Stmt *function, const Expr *expr, const String *at,
                          const Item *args, Names names) {
    bool block = function->function.block;
    const char *name = function->name.text, *inner = NULL;
    Call call;
    if (!e->frame) return elab_error(e, expr->mark, "%s cannot be called at file level", name);
    if (at && !block) return elab_error(e, at->span, "%s is a fn; a path belongs to blocks", name);
    if (!may_call(e, function, expr)) return item_error();
    if (at && !(inner = elab_string(e, at, false))) return item_error();
    if (!match_args(e, function, expr, args, &call)) return item_error();
    Frame *frame = arena_alloc(e->arena, sizeof *frame);
    *frame = (Frame){.outer = e->frame,
                     .function = function,
                     .span = expr->mark,
                     .path = inner ? join_path(e, e->frame->path, inner) : e->frame->path,
                     .names = names};
    frame->note = arena_printf(e->arena, "in %s %s", block ? "block" : "fn", name);
    if (inner) {
        frame->note =
            arena_printf(e->arena, "%s at \"%s\"", frame->note, elab_marks_text(e, frame->path));
        frame->names.prefix = elab_dotted(e, frame->path, NULL);
    }
    Scope *caller = e->scope;
    e->frame = frame;
    e->scope = scope_create(e->arena, e->file_scope);
    e->calls++;
    Item result = elab_function_body(e, &call);
    e->calls--;
    e->scope = caller;
    e->frame = frame->outer;
    return result;
}

static bool all_constant(const Item *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (args[i].kind == ITEM_VALUE) return false;
    return true;
}

static Item call_op(Elab *e, const Expr *expr, const Item *args, Names names) {
    OpId op = op_find(expr->call.base->name);
    uint32_t count = expr->call.args.len;
    if (op == OP_NONE) return elab_unknown_call(e, expr);
    if (op_info(op)->internal && !e->dump)
        return elab_error(e, expr->mark, "%s is no op of model files", op_info(op)->name);
    if ((op == OP_MINIMUM || op == OP_MAXIMUM) && count == 2 && all_constant(args, count))
        return constant_extreme(e, expr->mark, op == OP_MAXIMUM, args[0], args[1]);
    return elab_op_call(e, expr, op, args, names);
}

Item elab_call(Elab *e, const Expr *expr, const String *path, Names names) {
    const Expr *base = expr->call.base;
    if (base->kind != EXPR_NAME)
        return elab_error(e, base->span, "only an op, fn or block can be called, by its name");
    uint32_t count = expr->call.args.len;
    Item *args = arena_alloc(e->arena, count * sizeof *args);
    for (uint32_t i = 0; i < count; i++)
        args[i] = elab_expr(e, expr->call.args.at[i].value, names_inside(names));
    const Binding *function = scope_find(e->functions, base->name);
    if (function && function->kind == BIND_LOST) return item_error();
    if (function) return call_function(e, function->item.function, expr, path, args, names);
    if (path)
        return elab_error(e, path->span, "%s is no block; a path belongs to blocks", base->name);
    return call_op(e, expr, args, names);
}
