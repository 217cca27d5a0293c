// const, dim and assert, and the -D of the command line.
#include "frontend/elaborate_state.h"

#include <string.h>

enum { DIMS_MAX = 16 };

#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

// A name that means nothing else: a keyword is a word too.
static bool is_word(const char *text) {
    DType dtype;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return false;
    if (text[0] == '\0' || (text[0] >= '0' && text[0] <= '9')) return false;
    return text[strspn(text, WORD_LETTERS)] == '\0' && strlen(text) <= NAME_LENGTH_MAX &&
           !dtype_from_name(text, &dtype);
}

static Item define_value(Elab *e, const Define *define) {
    const char *text = define->value;
    if (is_word(text)) return (Item){.kind = ITEM_STRING, .string = arena_strdup(e->arena, text)};
    FileId file = diags_add_file(e->diags, "-D", text, strlen(text));
    Expr *expr = parse_expr(e->arena, e->diags, file, text, strlen(text));
    if (!expr) return item_error();
    bool sign = expr->kind == EXPR_UNARY && expr->binary.op == OPERATOR_NEGATE;
    ExprKind kind = sign ? expr->binary.left->kind : expr->kind;
    if (kind != EXPR_INT && kind != EXPR_FLOAT && kind != EXPR_BOOL && kind != EXPR_STRING &&
        kind != EXPR_DTYPE)
        return elab_error(e, expr->span, "the value of -D %s must be a literal or a word",
                          define->name);
    return elab_constant(e, expr);
}

void elab_const(Elab *e, const Stmt *stmt, const Define *define) {
    Item item = define ? define_value(e, define) : elab_constant(e, stmt->expr);
    if (stmt->type && define)
        item = elab_error(e, stmt->name.span, "-D %s: the const is a tensor", define->name);
    Type type;
    if (stmt->type && item.kind != ITEM_ERROR)
        item = elab_type(e, stmt->type, &type)
                   ? item_value(elab_const_tensor(e, &stmt->name, item, &type))
                   : item_error();
    scope_define(e, &stmt->name, BIND_CONST, item, "const");
}

static bool range_bound(Elab *e, const Expr *expr, int64_t *out) {
    Item item = elab_constant(e, expr);
    if (item.kind == ITEM_ERROR) return false;
    if (item.kind != ITEM_INT) {
        elab_error(e, expr->span, "a range is between ints, this is %s", item_kind_name(item));
        return false;
    }
    *out = item.integer;
    return true;
}

bool elab_range(Elab *e, const Range *range, int64_t *lo, int64_t *hi) {
    bool from = range_bound(e, range->from, lo), to = range_bound(e, range->to, hi);
    if (!from || !to) return false;
    Span span = span_join(range->from->span, range->to->span);
    if (range->inclusive && !checked_add(*hi, 1, hi)) *hi = INT64_MAX;
    if (*lo >= 0 && *lo <= *hi && *hi <= (int64_t)1 << 31) return true;
    elab_error(e, span,
               *lo > *hi ? "the range ends before it begins" : "the range is not within 0..2^31");
    return false;
}

void elab_dim(Elab *e, const Stmt *stmt) {
    int64_t lo, hi;
    Item item = item_error();
    Binding *old = scope_find(e->scope, stmt->name.text);
    if (elab_range(e, &stmt->range, &lo, &hi)) {
        Dim dim = DIM_NONE;
        if (lo == hi)
            elab_error(e, stmt->span, "the range of %s is empty", stmt->name.text);
        else if (e->dim_count++ == DIMS_MAX)
            elab_error(e, stmt->span, "more than %d dims", DIMS_MAX);
        else if (!old)
            dim = dim_symbol(e->dims, stmt->name.text, lo, hi - 1);
        if (dim != DIM_NONE) item = size_item(e, stmt->span, dim);
    }
    if (old && old->kind != BIND_LOST && old != scope_find_here(e->scope, stmt->name.text)) {
        elab_error_noted(e, stmt->name.span, old->span, "it was defined here",
                         "%s is defined already", stmt->name.text);
    }
    // A dim of one value is still a symbol to the host.
    if (item.kind == ITEM_INT)
        item = (Item){.kind = ITEM_SIZE, .size = dim_find(e->dims, stmt->name.text)};
    scope_define(e, &stmt->name, BIND_DIM, item, "dim");
}

// "%" in the text marks the sizes of args, "%%" is a percent.
static const char *assert_message(Elab *e, const String *string, Dim *arg, uint32_t *args) {
    Text text = {0};
    text_put(&text, "");
    bool good = true;
    for (uint32_t i = 0; string && i < string->parts.len && good; i++) {
        const StringPart *part = &string->parts.at[i];
        Item item = part->expr ? elab_expr(e, part->expr, (Names){0}) : (Item){.kind = ITEM_NONE};
        good = item.kind != ITEM_ERROR;
        if (!good) break;
        if (item.kind == ITEM_SIZE) {
            arg[(*args)++] = item.size;
            text_put(&text, "%");
            continue;
        }
        String one = {.span = string->span};
        vec_push(e->arena, &one.parts, *part);
        const char *plain = elab_plain(e, string->span, elab_string(e, &one, false));
        good = plain != NULL;
        for (; plain && *plain; plain++) {
            if (*plain == '%') text_put(&text, "%");
            text_write(&text, plain, 1);
        }
    }
    const char *message = good ? arena_strndup(e->arena, text.data, text.len) : NULL;
    text_free(&text);
    return message;
}

void elab_assert(Elab *e, const Stmt *stmt) {
    Item item = elab_expr(e, stmt->expr, (Names){0});
    uint32_t args = 0;
    Dim *arg = arena_alloc(e->arena, (stmt->string ? stmt->string->parts.len : 0) * sizeof *arg);
    const char *message = assert_message(e, stmt->string, arg, &args);
    if (item.kind == ITEM_ERROR || !message) return;
    if (item.kind == ITEM_BOOL) {
        if (!item.boolean)
            elab_error(e, stmt->expr->span, "the assert never holds%s%s", stmt->string ? ": " : "",
                       stmt->string ? elab_excerpt(e, stmt->string->span) : "");
        return;
    }
    if (item.kind != ITEM_CONDITION) {
        elab_error(e, stmt->expr->span, "an assert is about constants and sizes, this is %s",
                   item_kind_name(item));
        return;
    }
    for (uint32_t i = 0; i < item.condition.count; i++) {
        const Relation *relation = &item.condition.at[i];
        graph_add_assert(e->graph, (Assertion){.left = relation->left,
                                               .right = relation->right,
                                               .relation = relation->relation,
                                               .message = message,
                                               .arg = arg,
                                               .args = args,
                                               .loc = elab_loc(e, stmt->span)});
    }
}
