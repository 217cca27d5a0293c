// Trees of expressions and statements (language.md section 2).
#include "frontend/parse.h"
#include "frontend/source.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

// ---- expressions as text, fully bracketed ----

static void expr_print(const Expr *expr, Text *out);

static void string_print(const String *string, Text *out) {
    text_put(out, "\"");
    for (uint32_t i = 0; i < string->parts.len; i++) {
        const StringPart *part = &string->parts.at[i];
        text_put(out, part->text ? part->text : part->star ? "{*}" : "{");
        if (!part->expr) continue;
        expr_print(part->expr, out);
        text_put(out, "}");
    }
    text_put(out, "\"");
}

static void args_print(const ArgVec *args, Text *out) {
    text_put(out, "(");
    for (uint32_t i = 0; i < args->len; i++) {
        if (i) text_put(out, ", ");
        if (args->at[i].name) text_printf(out, "%s=", args->at[i].name);
        expr_print(args->at[i].value, out);
    }
    text_put(out, ")");
}

static void index_print(const Index *index, Text *out) {
    if (!index->range) {
        expr_print(index->at, out);
        return;
    }
    if (index->start) expr_print(index->start, out);
    text_put(out, ":");
    if (index->stop) expr_print(index->stop, out);
    if (index->step) {
        text_put(out, ":");
        expr_print(index->step, out);
    }
}

static void expr_print(const Expr *expr, Text *out) {
    switch (expr->kind) {
    case EXPR_NAME: text_put(out, expr->name); break;
    case EXPR_INT: text_printf(out, "%lld", (long long)expr->integer); break;
    case EXPR_FLOAT: text_double(out, expr->number); break;
    case EXPR_BOOL: text_put(out, expr->boolean ? "true" : "false"); break;
    case EXPR_STRING: string_print(expr->string, out); break;
    case EXPR_DTYPE: text_put(out, dtype_name(expr->dtype)); break;
    case EXPR_NONE: text_put(out, "None"); break;
    case EXPR_ELLIPSIS: text_put(out, "..."); break;
    case EXPR_UNARY:
        text_printf(out, "(%s%s", operator_text(expr->binary.op),
                    expr->binary.op == OPERATOR_NOT ? " " : "");
        expr_print(expr->binary.left, out);
        text_put(out, ")");
        break;
    case EXPR_BINARY:
        text_put(out, "(");
        expr_print(expr->binary.left, out);
        text_printf(out, " %s ", operator_text(expr->binary.op));
        expr_print(expr->binary.right, out);
        text_put(out, ")");
        break;
    case EXPR_CALL:
        expr_print(expr->call.base, out);
        args_print(&expr->call.args, out);
        break;
    case EXPR_INDEX:
        expr_print(expr->index.base, out);
        text_put(out, "[");
        for (uint32_t i = 0; i < expr->index.at.len; i++) {
            if (i) text_put(out, ", ");
            index_print(&expr->index.at.at[i], out);
        }
        text_put(out, "]");
        break;
    case EXPR_FIELD:
        expr_print(expr->field.base, out);
        text_printf(out, ".%s", expr->field.name);
        break;
    case EXPR_AT:
        expr_print(expr->at.base, out);
        text_put(out, " at ");
        string_print(expr->at.path, out);
        break;
    case EXPR_LIST:
        text_put(out, "[");
        for (uint32_t i = 0; i < expr->list.len; i++) {
            if (i) text_put(out, ", ");
            expr_print(expr->list.at[i], out);
        }
        text_put(out, "]");
        break;
    }
}

static void expressions(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"a + b * c", "(a + (b * c))"},
        {"a * b + c", "((a * b) + c)"},
        {"a - b - c", "((a - b) - c)"},
        {"a // b % c @ d", "(((a // b) % c) @ d)"},
        {"a ** b ** c", "(a ** (b ** c))"},
        {"-x ** 2", "(-(x ** 2))"},
        {"2 ** -x ** 2 * 3", "((2 ** (-(x ** 2))) * 3)"},
        {"-a * b", "((-a) * b)"},
        {"a * -b", "(a * (-b))"},
        {"+a - -b", "((+a) - (-b))"},
        {"not a == b", "(not (a == b))"},
        {"not a and b or c", "(((not a) and b) or c)"},
        {"a or b and c", "(a or (b and c))"},
        {"a < b + 1 and c >= d", "((a < (b + 1)) and (c >= d))"},
        {"(a + b) * c", "((a + b) * c)"},
        {"x[0, -1, ..., None, :]", "x[0, (-1), ..., None, :]"},
        {"x[a:b:c, :b, a:, ::2, :]", "x[a:b:c, :b, a:, ::2, :]"},
        {"f(x, y=1, z=[1, 2],)", "f(x, y=1, z=[1, 2])"},
        {"f()", "f()"},
        {"x + B(y) at \"p.{i}\"", "(x + B(y) at \"p.{i}\")"},
        {"x.T @ y.mT", "(x.T @ y.mT)"},
        {"f(x)[0].T", "f(x)[0].T"},
        {"[]", "[]"},
        {"[1.5, true, None, f16, \"s\",]", "[1.5, true, None, f16, \"s\"]"},
        {"sum(x)", "sum(x)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_create();
        Diags *diags = diags_create();
        FileId id = diags_add_file(diags, "-D", cases[i][0], strlen(cases[i][0]));
        Expr *expr = parse_expr(arena, diags, id, cases[i][0], strlen(cases[i][0]));
        assert_non_null(expr);
        Text text = {0};
        expr_print(expr, &text);
        assert_string_equal(text.data, cases[i][1]);
        text_free(&text);
        diags_destroy(diags);
        arena_destroy(arena);
    }
}

static const char *const statements_text =
    "adept 1\n"
    "const a : [2] f32 = [1, 2]\n"
    "dim S in 1..=a\n"
    "assert S + 1 < 5, \"S is {S}\"\n"
    "block Dense[In, M](x: [..., In] T, out: int, b: bool = false) -> ([M] f32, f16) {\n"
    "    param w : [out, In] T as i4(group=32) from \"weight\"\n"
    "    state s : [2] f32 = 0\n"
    "    s[0, :], y : [2] f32 = x, x\n"
    "    if b { return x } else if a { return y, x } else { y = 1 }\n"
    "}\n"
    "model m {\n"
    "    input x : [S] f32 from \"images:0\"\n"
    "    repeat i in 0..4 { h = h }\n"
    "    output y : f32 = h from \"out\"\n"
    "}\n";

static void statements(void **state) {
    (void)state;
    Arena *arena = arena_create();
    Diags *diags = diags_create();
    FileId id = diags_add_file(diags, "t.adp", statements_text, strlen(statements_text));
    File *file;
    assert_true(parse_file(arena, diags, id, statements_text, strlen(statements_text), &file));
    static const StmtKind kinds[] = {STMT_HEADER, STMT_CONST,    STMT_DIM,
                                     STMT_ASSERT, STMT_FUNCTION, STMT_MODEL};
    assert_int_equal(file->items.len, sizeof kinds / sizeof *kinds);
    for (uint32_t i = 0; i < file->items.len; i++)
        assert_int_equal(file->items.at[i]->kind, kinds[i]);
    assert_false(file->dump);
    assert_true(file->items.at[2]->range.inclusive);

    const Stmt *dense = file->items.at[4];
    assert_string_equal(dense->name.text, "Dense");
    assert_true(dense->function.block);
    assert_int_equal(dense->function.sizes.len, 2);
    assert_int_equal(dense->function.formals.len, 3);
    assert_int_equal(dense->function.formals.at[0].type->size.at[0]->kind, EXPR_ELLIPSIS);
    assert_string_equal(dense->function.formals.at[0].type->name, "T");
    assert_int_equal(dense->function.formals.at[1].type->word, WORD_INT);
    assert_false(dense->function.formals.at[2].value->boolean);
    assert_int_equal(dense->function.results.len, 2);
    const Stmt *param = dense->body.at[0];
    assert_int_equal(param->storage->dtype, DT_I4);
    assert_true(param->storage->has_args);
    assert_string_equal(param->string->parts.at[0].text, "weight");
    const Stmt *assign = dense->body.at[2];
    assert_true(assign->assign.targets.at[0].update);
    assert_true(assign->assign.targets.at[0].at.at[1].range);
    assert_int_equal(assign->assign.targets.at[1].type->dtype, DT_F32);
    assert_int_equal(assign->assign.values.len, 2);
    const Stmt *branch = dense->body.at[3];
    assert_int_equal(branch->kind, STMT_IF);
    assert_int_equal(branch->otherwise.at[0]->kind, STMT_IF);
    assert_int_equal(branch->otherwise.at[0]->body.at[0]->returns.len, 2);
    assert_int_equal(branch->otherwise.at[0]->otherwise.len, 1);

    const Stmt *model = file->items.at[5];
    assert_int_equal(model->body.len, 3);
    assert_false(model->body.at[1]->range.inclusive);
    assert_int_equal(model->body.at[1]->body.len, 1);
    diags_destroy(diags);
    arena_destroy(arena);
}

static void dumps(void **state) {
    (void)state;
    static const char *const text =
        "adept 1 ir\n"
        "model m {\n"
        "    fused k0(kind=\"map\") -> h.2, loc.0 {\n"
        "        h.2 : [2] f32 = add(x.conv2d, y) loc(12, 11, 3, 4, \"b.adp\", 5, 6)\n"
        "    }\n"
        "}\n";
    Arena *arena = arena_create();
    Diags *diags = diags_create();
    FileId id = diags_add_file(diags, "t.adp", text, strlen(text));
    File *file;
    assert_true(parse_file(arena, diags, id, text, strlen(text), &file));
    assert_true(file->dump);
    const Stmt *fused = file->items.at[1]->body.at[0];
    assert_int_equal(fused->kind, STMT_FUSED);
    assert_string_equal(fused->fused.results.at[1].text, "loc.0");
    const Stmt *stmt = fused->body.at[0];
    assert_string_equal(stmt->assign.targets.at[0].name, "h.2");
    assert_int_equal(stmt->loc.len, 3);
    assert_int_equal(stmt->loc.at[1].line, 3);
    assert_null(stmt->loc.at[1].file);
    assert_string_equal(stmt->loc.at[2].file, "b.adp");
    assert_int_equal(stmt->loc.at[2].column, 6);
    diags_destroy(diags);
    arena_destroy(arena);
}

// The header's words have no meaning elsewhere.
static void dump_words_are_names(void **state) {
    (void)state;
    static const char *const text = "adept 1\nmodel m {\nloc = 1; fused = 2; ir = loc + fused\n}\n";
    Arena *arena = arena_create();
    Diags *diags = diags_create();
    FileId id = diags_add_file(diags, "t.adp", text, strlen(text));
    File *file;
    assert_true(parse_file(arena, diags, id, text, strlen(text), &file));
    assert_int_equal(file->items.at[1]->body.len, 3);
    diags_destroy(diags);
    arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions),
        cmocka_unit_test(statements),
        cmocka_unit_test(dumps),
        cmocka_unit_test(dump_words_are_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
