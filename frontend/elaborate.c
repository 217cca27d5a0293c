#include "frontend/elaborate_state.h"

#include <string.h>

// ---- diagnostics ----

void elab_notes(Elab *e) {
    for (const Frame *frame = e->frame; frame; frame = frame->outer)
        if (frame->note) diag_note(e->diags, frame->span, "%s", frame->note);
}

Item elab_error(Elab *e, Span span, const char *format, ...) {
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    diag_error(e->diags, span, "%s", text.data);
    text_free(&text);
    elab_notes(e);
    return item_error();
}

Item elab_error_noted(Elab *e, Span span, Span note_span, const char *note, const char *format,
                      ...) {
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    diag_error(e->diags, span, "%s", text.data);
    text_free(&text);
    diag_note(e->diags, note_span, "%s", note);
    elab_notes(e);
    return item_error();
}

void elab_warning(Elab *e, Span span, const char *format, ...) {
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    diag_warning(e->diags, span, "%s", text.data);
    text_free(&text);
    elab_notes(e);
}

const char *elab_plain(Elab *e, Span span, const char *string) {
    if (!string || !strchr(string, COUNTER_MARK)) return string;
    elab_error(e, span, "the counter of a repeat stands only in paths and in names of tensors");
    return NULL;
}

// The text of a span, on one line.
const char *elab_excerpt(Elab *e, Span span) {
    char *text = arena_strndup(e->arena, e->text + span.begin, span.end - span.begin);
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t') *at = ' ';
    return text;
}

const char *elab_type_text(Elab *e, const Type *type) {
    Text text = {0};
    type_print(e->dims, type, &text);
    const char *result = arena_strndup(e->arena, text.data, text.len);
    text_free(&text);
    return result;
}

const char *elab_marks_text(Elab *e, const char *string) {
    Text text = {0};
    bool inside = false;
    text_put(&text, "");
    for (const char *at = string; *at; at++) {
        if (*at == COUNTER_MARK) {
            inside = !inside;
            text_put(&text, inside ? "{" : "}");
        } else {
            text_write(&text, at, 1);
        }
    }
    const char *result = arena_strndup(e->arena, text.data, text.len);
    text_free(&text);
    return result;
}

// ---- the file ----

static void declare_functions(Elab *e) {
    for (uint32_t i = 0; i < e->file->items.len; i++) {
        const Stmt *stmt = e->file->items.at[i];
        if (stmt->kind != STMT_FUNCTION) continue;
        Binding *old = scope_find_here(e->functions, stmt->name.text);
        if (old) {
            elab_error_noted(e, stmt->name.span, old->span, "it was defined here",
                             "%s is defined already", stmt->name.text);
            continue;
        }
        Item item = {.kind = ITEM_FUNCTION, .function = stmt};
        bool good = elab_signature(e, stmt);
        scope_add(e, e->functions, stmt->name.text, stmt->name.span, good ? BIND_VALUE : BIND_LOST,
                  item, NULL);
    }
}

// Names that may have been defined by what did not parse.
static void lose_items(Elab *e, const WordVec *lost) {
    for (uint32_t i = 0; lost && i < lost->len; i++) {
        const char *name = lost->at[i].text;
        if (!scope_find_here(e->functions, name))
            scope_add(e, e->functions, name, lost->at[i].span, BIND_LOST, item_error(), NULL);
        if (!scope_find_here(e->file_scope, name))
            scope_add(e, e->file_scope, name, lost->at[i].span, BIND_LOST, item_error(), NULL);
    }
}

static const Define *find_define(const Elab *e, const char *name) {
    const Define *found = NULL; // the last one counts
    for (uint32_t i = 0; e->defines && i < e->defines->count; i++)
        if (strcmp(e->defines->at[i].name, name) == 0) found = &e->defines->at[i];
    return found;
}

static void check_defines(Elab *e) {
    VEC(const char *) names = {0};
    bool lost = false;
    for (uint32_t i = 0; i < e->file->items.len; i++) {
        const Stmt *stmt = e->file->items.at[i];
        lost = lost || stmt->kind == STMT_ERROR;
        if (stmt->kind == STMT_CONST) vec_push(e->arena, &names, stmt->name.text);
    }
    vec_push(e->arena, &names, NULL);
    for (uint32_t i = 0; e->defines && i < e->defines->count && !lost; i++) {
        const char *name = e->defines->at[i].name;
        bool known = false;
        for (uint32_t j = 0; j + 1 < names.len; j++)
            known = known || strcmp(names.at[j], name) == 0;
        if (known) continue;
        diag_error(e->diags, (Span){.file = e->file->id}, "-D %s: the file has no const %s", name,
                   name);
        const char *near = elab_nearest(name, names.at);
        if (near) diag_help(e->diags, "did you mean %s?", near);
    }
}

static void elab_items(Elab *e) {
    for (uint32_t i = 0; i < e->file->items.len && !e->stopped; i++) {
        const Stmt *stmt = e->file->items.at[i];
        e->stmt = stmt;
        switch (stmt->kind) {
        case STMT_ERROR: lose_items(e, stmt->lost); break;
        case STMT_CONST: elab_const(e, stmt, find_define(e, stmt->name.text)); break;
        case STMT_DIM: elab_dim(e, stmt); break;
        case STMT_ASSERT: elab_assert(e, stmt); break;
        default: break;
        }
    }
}

// A second header can only be noise; the lexer has checked the first.
static const Stmt *find_model(Elab *e) {
    const Stmt *model = NULL;
    bool header = false, lost = false;
    for (uint32_t i = 0; i < e->file->items.len; i++) {
        const Stmt *stmt = e->file->items.at[i];
        lost = lost || stmt->kind == STMT_ERROR;
        if (stmt->kind == STMT_HEADER && header)
            elab_error(e, stmt->span, "`adept 1` stands once, at the top");
        header = header || stmt->kind == STMT_HEADER;
        if (stmt->kind != STMT_MODEL) continue;
        if (model)
            elab_error_noted(e, stmt->span, model->span, "it is here", "a file has one model");
        model = model ? model : stmt;
    }
    if (!model && !lost) diag_error(e->diags, (Span){.file = e->file->id}, "the file has no model");
    return model;
}

// ---- names of a dump ----
// Its values keep their names; they are reserved before the compiler makes up any.

static void reserve_names(Elab *e, const StmtVec *body) {
    for (uint32_t i = 0; i < body->len; i++) {
        const Stmt *stmt = body->at[i];
        switch (stmt->kind) {
        case STMT_INPUT:
        case STMT_OUTPUT:
        case STMT_PARAM:
        case STMT_STATE:
        case STMT_CONST: graph_reserve_name(e->graph, stmt->name.text); break;
        case STMT_ASSIGN:
            for (uint32_t j = 0; j < stmt->assign.targets.len; j++)
                if (!stmt->assign.targets.at[j].update)
                    graph_reserve_name(e->graph, stmt->assign.targets.at[j].name);
            break;
        default: break;
        }
        reserve_names(e, &stmt->body);
    }
}

static void elab_model(Elab *e, const Stmt *model) {
    Frame frame = {.function = model, .path = ""};
    e->frame = &frame;
    e->scope = scope_create(e->arena, e->file_scope);
    if (e->dump) reserve_names(e, &model->body);
    elab_body(e, &model->body);
    e->frame = NULL;
    e->scope = e->file_scope;
    if (e->graph->outputs.len == 0 && !e->updates && diags_error_count(e->diags) == 0)
        elab_error(e, model->name.span, "the model has no output and updates no state");
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool elaborate(const File *file, const char *file_name, const char *text, const Defines *defines,
               Diags *diags, Graph **out) {
    uint32_t errors = diags_error_count(diags);
    Arena *arena = arena_create();
    Elab e = {.arena = arena,
              .diags = diags,
              .file = file,
              .text = text,
              .dump = file->dump,
              .defines = defines};
    e.functions = scope_create(arena, NULL);
    e.file_scope = e.scope = scope_create(arena, NULL);
    e.state_names = scope_create(arena, NULL);
    const Stmt *model = find_model(&e);
    e.graph = graph_create(model ? model->name.text : "");
    e.graph->file = arena_strdup(e.graph->arena, base_name(file_name));
    e.dims = e.graph->dims;
    check_defines(&e);
    declare_functions(&e);
    elab_items(&e);
    if (model && !e.stopped) elab_model(&e, model);
    bool good = model && diags_error_count(diags) == errors && !e.stopped;
    if (good) sites_report(&e);
    if (!good) graph_destroy(e.graph);
    *out = good ? e.graph : NULL;
    arena_destroy(arena);
    return good;
}
