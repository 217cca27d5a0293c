#include "frontend/ast.h"

static const char *const texts[] = {
#define X(id, text, op) text,
    OPERATOR_TABLE(X)
#undef X
};
static const char *const ops[] = {
#define X(id, text, op) op,
    OPERATOR_TABLE(X)
#undef X
};

const char *operator_text(Operator op) {
    return texts[op];
}

const char *operator_op(Operator op) {
    return ops[op];
}

Span span_join(Span first, Span last) {
    if (last.end > first.end) first.end = last.end;
    return first;
}

// ---- constructors ----

static uint16_t deeper(const Expr *expr) {
    return (uint16_t)(expr->depth + 1);
}

static void contain(Expr *outer, const Expr *inner) {
    if (inner && deeper(inner) > outer->depth) outer->depth = deeper(inner);
}

Expr *expr_create(Arena *arena, ExprKind kind, Span span) {
    Expr *expr = arena_alloc(arena, sizeof *expr);
    expr->kind = kind;
    expr->span = expr->mark = span;
    return expr;
}

Expr *expr_unary(Arena *arena, Operator op, Span mark, Expr *operand) {
    Expr *expr = expr_create(arena, EXPR_UNARY, span_join(mark, operand->span));
    expr->mark = mark;
    expr->binary.op = op;
    expr->binary.left = operand;
    contain(expr, operand);
    return expr;
}

Expr *expr_binary(Arena *arena, Operator op, Span mark, Expr *left, Expr *right) {
    Expr *expr = expr_create(arena, EXPR_BINARY, span_join(left->span, right->span));
    expr->mark = mark;
    expr->binary.op = op;
    expr->binary.left = left;
    expr->binary.right = right;
    contain(expr, right);
    if (left->kind != EXPR_BINARY)
        contain(expr, left);
    else if (left->depth > expr->depth)
        expr->depth = left->depth;
    return expr;
}

Expr *expr_call(Arena *arena, Expr *base, ArgVec args, Span span) {
    Expr *expr = expr_create(arena, EXPR_CALL, span);
    expr->mark = base->span;
    expr->call.base = base;
    expr->call.args = args;
    contain(expr, base);
    for (uint32_t i = 0; i < args.len; i++) contain(expr, args.at[i].value);
    return expr;
}

Expr *expr_index(Arena *arena, Expr *base, IndexVec at, Span span) {
    Expr *expr = expr_create(arena, EXPR_INDEX, span);
    expr->index.base = base;
    expr->index.at = at;
    contain(expr, base);
    for (uint32_t i = 0; i < at.len; i++) {
        contain(expr, at.at[i].at);
        contain(expr, at.at[i].start);
        contain(expr, at.at[i].stop);
        contain(expr, at.at[i].step);
    }
    return expr;
}

Expr *expr_field(Arena *arena, Expr *base, const char *name, Span span) {
    Expr *expr = expr_create(arena, EXPR_FIELD, span);
    expr->field.base = base;
    expr->field.name = name;
    contain(expr, base);
    return expr;
}

Expr *expr_at(Arena *arena, Expr *base, String *path, Span span) {
    Expr *expr = expr_create(arena, EXPR_AT, span);
    expr->mark = base->mark;
    expr->at.base = base;
    expr->at.path = path;
    contain(expr, base);
    return expr;
}

Expr *expr_list(Arena *arena, ExprVec list, Span span) {
    Expr *expr = expr_create(arena, EXPR_LIST, span);
    expr->list = list;
    for (uint32_t i = 0; i < list.len; i++) contain(expr, list.at[i]);
    return expr;
}

Stmt *stmt_create(Arena *arena, StmtKind kind, Span span) {
    Stmt *stmt = arena_alloc(arena, sizeof *stmt);
    stmt->kind = kind;
    stmt->span = span;
    return stmt;
}
