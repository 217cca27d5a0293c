// Declared tensors: input, output, param, state (language.md section 4).
#include "frontend/elaborate_state.h"

#include <ctype.h>
#include <string.h>

enum { PORTS_MAX = 64 };

// ---- names and keys ----

// Components keep their letters and digits; counters keep their name.
const char *elab_dotted(Elab *e, const char *path, const char *name) {
    Text text = {0};
    text_put(&text, "");
    for (const char *at = path; *at; at++) {
        bool good = isalnum((unsigned char)*at) || *at == '_';
        bool dot = *at == '.' && text.len && text.data[text.len - 1] != '.';
        if (*at == COUNTER_MARK) continue;
        if (text.len == 0 && isdigit((unsigned char)*at)) text_put(&text, "_");
        if (good || dot)
            text_write(&text, at, 1);
        else
            text_put(&text, "_");
    }
    if (text.len && text.data[text.len - 1] == '.') text.len--;
    // The name itself, an op's, and numbers that make it unique still follow.
    const size_t room = 140;
    if (text.len > room) text.len = room;
    while (text.len && text.data[text.len - 1] == '.') text.len--;
    const char *dotted = arena_strndup(e->arena, text.data, text.len);
    text_free(&text);
    if (!name) return dotted;
    return dotted[0] ? arena_printf(e->arena, "%s.%s", dotted, name) : name;
}

// Marks become braces. NULL, reported, where the string itself has some.
static const char *key_text(Elab *e, Span span, const char *string, bool *stack) {
    Text text = {0};
    bool inside = false;
    text_put(&text, "");
    for (const char *at = string; *at; at++) {
        if (*at == '{' || *at == '}') {
            elab_error(e, span, "braces in a name of tensors are not supported yet");
            text_free(&text);
            return NULL;
        }
        if (*at == COUNTER_MARK) {
            inside = !inside;
            text_put(&text, inside ? "{" : "}");
        } else if (*at == STAR_MARK) {
            *stack = true;
            text_put(&text, "{*}");
        } else {
            text_write(&text, at, 1);
        }
    }
    const char *key = arena_strndup(e->arena, text.data, text.len);
    text_free(&text);
    return key;
}

// The path of the enclosing blocks, '.', and the name, or what `from` gives in the name's place.
static const char *full_key(Elab *e, const Stmt *stmt, bool is_param, bool *stack) {
    const char *name = stmt->name.text, *path = e->frame->path;
    Span span = stmt->string ? stmt->string->span : stmt->name.span;
    if (stmt->string && !(name = elab_string(e, stmt->string, is_param))) return NULL;
    if (!name[0] || (name[0] == '/' && !name[1])) {
        elab_error(e, span, "the name is empty");
        return NULL;
    }
    if (name[0] == '/')
        name++;
    else if (path[0])
        name = arena_printf(e->arena, "%s.%s", path, name);
    if (strlen(name) >= STRING_LENGTH_MAX) { // a dump puts '/' before it
        elab_error(e, span, "the name is longer than %d bytes", STRING_LENGTH_MAX - 1);
        return NULL;
    }
    return key_text(e, span, name, stack);
}

static const char *host_name(Elab *e, const Stmt *stmt, bool *good) {
    if (!stmt->string) return NULL;
    Span span = stmt->string->span;
    const char *name = elab_plain(e, span, elab_string(e, stmt->string, false));
    *good = *good && name;
    if (name && !name[0]) {
        elab_error(e, span, "the name is empty");
        *good = false;
    }
    return name;
}

// Hosts give tensors by name, so that no two inputs, and no two outputs, may share one.
static bool host_is_new(Elab *e, Span span, const char *what, const char *name, const char *other) {
    if (strcmp(name, other) != 0) return true;
    elab_error(e, span, "there is an %s named \"%s\" for the host already", what, name);
    return false;
}

static bool input_is_new(Elab *e, const Stmt *stmt, const char *host) {
    const Graph *g = e->graph;
    const char *name = host ? host : stmt->name.text;
    for (NodeId id = 1; id < g->nodes.len; id++) {
        const Node *node = graph_node(g, id);
        if (node->kind != NODE_OP || node->op != OP_INPUT) continue;
        const char *other =
            node->decl->host_name ? node->decl->host_name : graph_value(g, node->result[0])->name;
        if (!host_is_new(e, stmt->span, "input", name, other)) return false;
    }
    return true;
}

static bool output_is_new(Elab *e, const Stmt *stmt, const char *host) {
    const char *name = host ? host : stmt->name.text;
    for (uint32_t i = 0; i < e->graph->outputs.len; i++) {
        const Output *output = &e->graph->outputs.at[i];
        const char *other = output->host_name ? output->host_name : output->name;
        if (!host_is_new(e, stmt->span, "output", name, other)) return false;
    }
    return true;
}

static Item declare(Elab *e, const Stmt *stmt, OpId op, const Decl *decl, const Type *type) {
    const Loc *loc;
    uint32_t locs = elab_locs(e, stmt->span, &loc);
    NodeSpec spec = {.op = op,
                     .loc = loc,
                     .locs = locs,
                     .name = elab_dotted(e, e->frame->path, stmt->name.text),
                     .exact_name = e->dump,
                     .decl = decl,
                     .type = type,
                     .span = stmt->span};
    NodeId node = graph_add(e->graph, e->diags, &spec);
    if (!node) elab_notes(e);
    return item_value(graph_result(e->graph, node, 0));
}

// ---- input, output ----

void elab_input(Elab *e, const Stmt *stmt) {
    Type type;
    Item item = item_error();
    bool good = elab_type(e, stmt->type, &type);
    Decl decl = {.host_name = host_name(e, stmt, &good), .stored = type.dtype};
    if (e->inputs++ == PORTS_MAX) {
        elab_error(e, stmt->span, "the model has more than %d inputs", PORTS_MAX);
        good = false;
    }
    good = good && input_is_new(e, stmt, decl.host_name);
    if (good) item = declare(e, stmt, OP_INPUT, &decl, &type);
    scope_define(e, &stmt->name, BIND_INPUT, item, "input");
}

static bool is_output(const Elab *e, const char *name) {
    for (uint32_t i = 0; i < e->graph->outputs.len; i++)
        if (strcmp(e->graph->outputs.at[i].name, name) == 0) return true;
    return false;
}

void elab_output(Elab *e, const Stmt *stmt) {
    const char *self = stmt->name.text;
    Names names = {&self, 1, self};
    bool good = true;
    Item item = elab_expr(e, stmt->expr, names);
    const char *host = host_name(e, stmt, &good);
    Type type;
    if (stmt->type && !elab_type(e, stmt->type, &type)) item = item_error();
    ValueId value = item.kind == ITEM_ERROR ? 0
                    : stmt->type            ? elab_typed(e, stmt->expr->span, self, item, &type)
                                            : elab_value(e, stmt->expr->span, item, DT_NONE);
    if (e->outputs++ == PORTS_MAX) {
        elab_error(e, stmt->span, "the model has more than %d outputs", PORTS_MAX);
        good = false;
    }
    if (is_output(e, self)) {
        elab_error(e, stmt->name.span, "there is an output %s already", self);
        good = false;
    } else {
        good = good && output_is_new(e, stmt, host);
    }
    Binding *old = scope_find_here(e->scope, self);
    if (old && old->kind != BIND_VALUE && old->kind != BIND_LOST) {
        elab_error_noted(e, stmt->name.span, old->span, "it was defined here",
                         "%s is defined already", self);
        return;
    }
    scope_add(e, e->scope, self, stmt->name.span, BIND_VALUE, item_value(value), NULL);
    if (value && good) graph_add_output(e->graph, self, host, value, elab_loc(e, stmt->span));
}

// ---- param ----

static const char *const storages[] = {"q8_0", "q4_0", "q4_k", NULL};
static const char *const later_storages[] = {"sparse24", "shift", "spqr", NULL};

static bool is_listed(const char *const *list, const char *name) {
    for (; *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

// A storage by name: of the language, or a const that holds one or a dtype.
static bool named_storage(Elab *e, const Storage *storage, DType *out) {
    const char *name = storage->name;
    *out = DT_NONE;
    Binding *binding = scope_find(e->scope, name);
    if (binding) {
        if (binding->site) binding->site->used = true;
        if (binding->item.kind == ITEM_ERROR) return false;
        if (binding->item.kind == ITEM_DTYPE) {
            *out = binding->item.dtype;
            return true;
        }
        if (binding->item.kind != ITEM_STRING) {
            elab_error(e, storage->span, "%s is %s, not a storage", name,
                       item_kind_name(binding->item));
            return false;
        }
        name = binding->item.string;
    }
    if (is_listed(later_storages, name)) {
        elab_error(e, storage->span, "the storage %s is not in version 1", name);
    } else if (is_listed(storages, name)) {
        elab_error(e, storage->span, "the storage %s is not supported yet", name);
    } else {
        elab_error(e, storage->span, "unknown storage %s", name);
        const char *near = elab_nearest(name, storages);
        if (!near) near = elab_nearest(name, later_storages);
        if (near) diag_help(e->diags, "did you mean %s?", near);
    }
    return false;
}

static bool elab_storage(Elab *e, const Storage *storage, DType logical, DType *out) {
    DType dtype = storage->dtype;
    if (storage->name && !named_storage(e, storage, &dtype)) return false;
    bool packed = dtype == DT_I4 || dtype == DT_U4 || dtype == DT_I8 || dtype == DT_U8;
    if (storage->has_args || packed) {
        elab_error(e, storage->span, "the storage %s(...) is not supported yet", dtype_name(dtype));
        return false;
    }
    if (!dtype_is_float(dtype)) {
        elab_error(e, storage->span, "%s is no storage", dtype_name(dtype));
        return false;
    }
    if (!dtype_is_float(logical)) {
        elab_error(e, storage->span, "a param of %s is stored as it is", dtype_name(logical));
        return false;
    }
    *out = dtype;
    return true;
}

static bool constant_shape(Elab *e, const Stmt *stmt, const Type *type) {
    if (type_is_constant(e, type)) return true;
    elab_error(e, stmt->type->span, "the shape of %s must be constant, not %s", stmt->name.text,
               elab_type_text(e, type));
    return false;
}

void elab_param(Elab *e, const Stmt *stmt) {
    Type type;
    Decl decl = {0};
    bool good = elab_type(e, stmt->type, &type) && constant_shape(e, stmt, &type);
    decl.stored = type.dtype;
    if (good && stmt->storage && !elab_storage(e, stmt->storage, type.dtype, &decl.stored))
        good = false;
    decl.key = full_key(e, stmt, true, &decl.stack);
    if (decl.key && decl.stack && good && type.rank == 0) {
        elab_error(e, stmt->type->span, "'{*}' stacks tensors along the first axis; this has none");
        good = false;
    }
    Item item = good && decl.key ? declare(e, stmt, OP_PARAM, &decl, &type) : item_error();
    scope_define(e, &stmt->name, BIND_PARAM, item, "param");
}

// ---- state ----

// Each trip of a repeat has a state of its own, so its name needs the counter.
static bool unique_state(Elab *e, const Stmt *stmt, const char *key) {
    for (const Frame *frame = e->frame; frame; frame = frame->outer) {
        if (!frame->counter || frame->trips < 2) continue;
        if (strstr(key, arena_printf(e->arena, "{%s}", frame->counter))) continue;
        elab_error(e, stmt->name.span, "the trips of the repeat would share the state \"%s\"", key);
        diag_help(e->diags, "name the block with the counter: at \"... {%s}\"", frame->counter);
        return false;
    }
    const Binding *old = scope_find_here(e->state_names, key);
    if (old) {
        elab_error_noted(e, stmt->name.span, old->span, "it was declared here",
                         "there is a state \"%s\" already", key);
        return false;
    }
    scope_add(e, e->state_names, key, stmt->name.span, BIND_STATE, item_error(), NULL);
    return true;
}

static bool state_fill(Elab *e, const Stmt *stmt, DType dtype, double *out) {
    *out = 0;
    if (!stmt->expr) return true;
    Item item = elab_constant(e, stmt->expr);
    if (item.kind == ITEM_ERROR) return false;
    bool fits = item.kind == ITEM_BOOL ? dtype == DT_BOOL : dtype != DT_BOOL;
    if (!fits || !item_is_scalar(item) || (item.kind == ITEM_FLOAT && !dtype_is_float(dtype))) {
        elab_error(e, stmt->expr->span, "a state of %s does not begin as %s", dtype_name(dtype),
                   item_kind_name(item));
        return false;
    }
    double value = item.kind == ITEM_FLOAT  ? item.number
                   : item.kind == ITEM_BOOL ? (double)item.boolean
                                            : (double)item.integer;
    *out = number_cast(dtype, value);
    bool overflow = dtype_is_float(dtype) ? *out - *out != 0 && value - value == 0 : *out != value;
    if (!overflow) return true;
    elab_error(e, stmt->expr->span, "the initial value does not fit in %s", dtype_name(dtype));
    return false;
}

void elab_state(Elab *e, const Stmt *stmt) {
    Type type;
    Decl decl = {0};
    bool stack = false;
    bool good = elab_type(e, stmt->type, &type) && constant_shape(e, stmt, &type);
    decl.stored = type.dtype;
    if (good) good = state_fill(e, stmt, type.dtype, &decl.fill);
    decl.key = full_key(e, stmt, false, &stack);
    if (!decl.key || !unique_state(e, stmt, decl.key)) good = false;
    Item item = good ? declare(e, stmt, OP_STATE, &decl, &type) : item_error();
    scope_define(e, &stmt->name, BIND_STATE, item, "state");
}
