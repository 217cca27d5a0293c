/* Grammar of the model language (language.md section 2). It holds no op names. */

%require "3.8"
%language "C"
%define api.pure full
%define api.prefix {adp_}
%define api.token.prefix {TOKEN_}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%param {Parse *parse}

%code requires {
#include "frontend/parse_state.h"
}

%code provides {
// The parser's view of the lexer: skips what an error made unreadable.
int adp_lex(ADP_STYPE *value, Span *span, Parse *parse);
int adp_scan(ADP_STYPE *value, Span *span, void *scanner); // one token, by flex
}

%code {
#include <stdio.h>

#define YYLLOC_DEFAULT(Current, Rhs, N)                                                            \
    do {                                                                                           \
        if (N) {                                                                                   \
            (Current) = YYRHSLOC(Rhs, 1);                                                          \
            (Current).end = YYRHSLOC(Rhs, N).end;                                                  \
        } else {                                                                                   \
            (Current) = YYRHSLOC(Rhs, 0);                                                          \
            (Current).begin = (Current).end;                                                       \
        }                                                                                          \
    } while (0)

static void adp_error(const Span *span, Parse *parse, const char *message);

static Stmt *stmt_named(Parse *parse, StmtKind kind, Span span, const char *name, Span name_span) {
    Stmt *stmt = stmt_create(parse->arena, kind, span);
    stmt->name = (Word){name, name_span};
    return stmt;
}

static Stmt *stmt_lost(Parse *parse, Span span) {
    Stmt *stmt = stmt_create(parse->arena, STMT_ERROR, span);
    stmt->lost = parse->lost;
    return stmt;
}

static Expr *name_expr(Parse *parse, const char *name, Span span) {
    Expr *expr = expr_create(parse->arena, EXPR_NAME, span);
    expr->name = name;
    return expr;
}

static TypeSyntax *type_create(Parse *parse, Span span, TypeSyntax type) {
    TypeSyntax *made = arena_alloc(parse->arena, sizeof *made);
    *made = type;
    made->span = span;
    return made;
}

// Lists grow left to right, in rules such as `list: list "," item`. Most have one element.
static void *list_grow(Arena *arena, void *at, uint32_t *cap, size_t item) {
    uint32_t old = *cap;
    *cap = old ? old * 2 : 1;
    return arena_grow(arena, at, old * item, *cap * item);
}

#define append(list, ...)                                                                          \
    do {                                                                                           \
        if ((list).len == (list).cap)                                                              \
            (list).at = list_grow(parse->arena, (list).at, &(list).cap, sizeof *(list).at);        \
        (list).at[(list).len++] = (__VA_ARGS__);                                                   \
    } while (0)
// After an error the next one is a new one, and the token in error is dropped unless it is the end
// of the statement.
#define resume(parse)                                                                              \
    do {                                                                                           \
        if (!parse_resumes(parse)) break;                                                          \
        yyerrok;                                                                                   \
        if ((parse)->skipping || (parse)->held) yyclearin;                                         \
    } while (0)
#define checked(expr) parse_checked(parse, expr)
#define binary(op, at, left, right) checked(expr_binary(parse->arena, op, at, left, right))
#define unary(op, at, operand) checked(expr_unary(parse->arena, op, at, operand))
}

%union {
    const char *name;
    int64_t integer;
    double number;
    DType dtype;
    String *string;
    Expr *expr;
    ExprVec exprs;
    Arg arg;
    ArgVec args;
    Index index;
    IndexVec indices;
    TypeSyntax *type;
    TypeVec types;
    Formal formal;
    FormalVec formals;
    Target target;
    TargetVec targets;
    WordVec words;
    Range range;
    Storage *storage;
    Stmt *stmt;
    StmtVec stmts;
    PositionVec positions;
    bool flag;
}

%token END 0 "end of file"
%token START_FILE "start of file" START_EXPR "start of expression"
%token NEWLINE ";"
%token <name> NAME "name"
%token <integer> INT "integer"
%token <number> FLOAT "number"
%token <string> STRING "string"
%token <dtype> DTYPE "dtype"
%token ADEPT "adept" IMPORT "import" MODEL "model" BLOCK "block" FN "fn" CONST "const" DIM "dim"
%token INPUT "input" OUTPUT "output" PARAM "param" STATE "state" REPEAT "repeat" IN "in" IF "if"
%token ELSE "else" ASSERT "assert" RETURN "return" FROM "from" AS "as" AT "at" AND "and" OR "or"
%token NOT "not" TRUE "true" FALSE "false" NONE "None" WORD_INT "int" WORD_FLOAT "float"
%token WORD_STR "str" IR "ir" LOC "loc" FUSED "fused"
%token LPAREN "(" RPAREN ")" LBRACKET "[" RBRACKET "]" LBRACE "{" RBRACE "}"
%token COMMA "," COLON ":" ASSIGN "=" ARROW "->" DOT "." DOTS ".." DOTS_EQ "..=" ELLIPSIS "..."
%token LT "<" LE "<=" GT ">" GE ">=" EQ "==" NE "!="
%token PLUS "+" MINUS "-" STAR "*" SLASH "/" SLASHES "//" PERCENT "%" MATMUL "@" POWER "**"

%left OR
%left AND
%precedence NOT
%nonassoc LT LE GT GE EQ NE
%left PLUS MINUS
%left STAR SLASH SLASHES PERCENT MATMUL
%precedence SIGN
%right POWER

%type <stmts> items body otherwise
%type <stmt> item line stmt const dim assert if
%type <expr> expr postfix atom size opt_expr opt_value
%type <exprs> exprs sizes list
%type <args> args opt_args arg_list
%type <arg> arg
%type <indices> indices
%type <index> index
%type <type> type opt_type formal_type
%type <types> types results
%type <formals> formals formal_list
%type <formal> formal
%type <target> target
%type <targets> targets
%type <words> words opt_sizes fused_results
%type <range> range
%type <storage> opt_as
%type <string> opt_from
%type <positions> opt_loc
%type <flag> function_word

%%

text:
  START_FILE items              { parse->result->items = $items; }
| START_EXPR expr               { parse->result_expr = $expr; }
| START_EXPR expr ";"           { parse->result_expr = $expr; }
;

/* ---- the file ---- */

items:
  item                          { $$ = (StmtVec){0}; if ($item) append($$, $item); }
| items[before] ";" item        { $$ = $before; if ($item) append($$, $item); }
;

item:
  %empty                        { $$ = NULL; }
| "adept" INT                   { $$ = stmt_create(parse->arena, STMT_HEADER, @$); }
| "adept" INT "ir"              { $$ = stmt_create(parse->arena, STMT_HEADER, @$); }
| const
| dim
| assert
| "model" NAME "{" body "}" {
      $$ = stmt_named(parse, STMT_MODEL, span_join(@1, @NAME), $NAME, @NAME);
      $$->body = $body;
  }
| function_word[block] NAME opt_sizes "(" formals ")" "->" results "{" body "}" {
      $$ = stmt_named(parse, STMT_FUNCTION, span_join(@1, @results), $NAME, @NAME);
      $$->function.block = $block;
      $$->function.sizes = $opt_sizes;
      $$->function.formals = $formals;
      $$->function.results = $results;
      $$->body = $body;
  }
| error                         { $$ = stmt_lost(parse, @$); resume(parse); }
;

function_word:
  "fn"                          { $$ = false; }
| "block"                       { $$ = true; }
;

opt_sizes:
  %empty                        { $$ = (WordVec){0}; }
| "[" words "]"                 { $$ = $words; }
;

words:
  NAME                          { $$ = (WordVec){0}; append($$, (Word){$NAME, @NAME}); }
| words[before] "," NAME        { $$ = $before; append($$, (Word){$NAME, @NAME}); }
;

formals:
  %empty                        { $$ = (FormalVec){0}; }
| formal_list
| formal_list ","
;

formal_list:
  formal                        { $$ = (FormalVec){0}; append($$, $formal); }
| formal_list[before] "," formal { $$ = $before; append($$, $formal); }
;

formal:
  NAME ":" formal_type opt_value {
      $$ = (Formal){$NAME, @NAME, $formal_type, $opt_value};
  }
;

formal_type:
  type
| "int"                         { $$ = type_create(parse, @$, (TypeSyntax){.word = WORD_INT}); }
| "float"                       { $$ = type_create(parse, @$, (TypeSyntax){.word = WORD_FLOAT}); }
| "str"                         { $$ = type_create(parse, @$, (TypeSyntax){.word = WORD_STR}); }
;

results:
  type                          { $$ = (TypeVec){0}; append($$, $type); }
| "(" types ")"                 { $$ = $types; }
;

types:
  type                          { $$ = (TypeVec){0}; append($$, $type); }
| types[before] "," type        { $$ = $before; append($$, $type); }
;

/* ---- statements ---- */

body:
  line                          { $$ = (StmtVec){0}; if ($line) append($$, $line); }
| body[before] ";" line         { $$ = $before; if ($line) append($$, $line); }
;

line:
  %empty                        { $$ = NULL; }
| stmt opt_loc {
      $$ = $stmt;
      $$->loc = $opt_loc;
  }
| error                         { $$ = stmt_lost(parse, @$); resume(parse); }
;

opt_loc:
  %empty                        { $$ = (PositionVec){0}; }
| "loc" "(" args ")"            { $$ = (PositionVec){0}; parse_loc(parse, &$args, &$$); }
;

stmt:
  const
| dim
| assert
| if
| "input" NAME ":" type opt_from {
      $$ = stmt_named(parse, STMT_INPUT, @$, $NAME, @NAME);
      $$->type = $type;
      $$->string = $opt_from;
  }
| "output" NAME opt_type "=" expr opt_from {
      $$ = stmt_named(parse, STMT_OUTPUT, @$, $NAME, @NAME);
      $$->type = $opt_type;
      $$->expr = $expr;
      $$->string = $opt_from;
  }
| "param" NAME ":" type opt_as opt_from {
      $$ = stmt_named(parse, STMT_PARAM, @$, $NAME, @NAME);
      $$->type = $type;
      $$->storage = $opt_as;
      $$->string = $opt_from;
  }
| "state" NAME ":" type opt_value opt_from {
      $$ = stmt_named(parse, STMT_STATE, @$, $NAME, @NAME);
      $$->type = $type;
      $$->expr = $opt_value;
      $$->string = $opt_from;
  }
| targets "=" exprs {
      $$ = stmt_create(parse->arena, STMT_ASSIGN, @$);
      $$->assign.targets = $targets;
      $$->assign.values = $exprs;
  }
| "repeat" NAME "in" range "{" body "}" {
      $$ = stmt_named(parse, STMT_REPEAT, span_join(@1, @range), $NAME, @NAME);
      $$->range = $range;
      $$->body = $body;
  }
| "return" exprs {
      $$ = stmt_create(parse->arena, STMT_RETURN, @$);
      $$->returns = $exprs;
  }
| "fused" NAME "(" args ")" fused_results "{" body "}" {
      $$ = stmt_named(parse, STMT_FUSED, span_join(@1, @fused_results), $NAME, @NAME);
      $$->fused.args = $args;
      $$->fused.results = $fused_results;
      $$->body = $body;
  }
;

fused_results:
  %empty                        { $$ = (WordVec){0}; }
| "->" words                    { $$ = $words; }
;

if:
  "if" expr "{" body "}" otherwise {
      $$ = stmt_create(parse->arena, STMT_IF, span_join(@1, @expr));
      $$->expr = $expr;
      $$->body = $body;
      $$->otherwise = $otherwise;
  }
;

otherwise:
  %empty                        { $$ = (StmtVec){0}; }
| "else" if                     { $$ = (StmtVec){0}; append($$, $if); }
| "else" "{" body "}"           { $$ = $body; }
;

const:
  "const" NAME opt_type "=" expr {
      $$ = stmt_named(parse, STMT_CONST, @$, $NAME, @NAME);
      $$->type = $opt_type;
      $$->expr = $expr;
  }
;

dim:
  "dim" NAME "in" range {
      $$ = stmt_named(parse, STMT_DIM, @$, $NAME, @NAME);
      $$->range = $range;
  }
;

range:
  expr[from] ".." expr[to]      { $$ = (Range){$from, $to, false}; }
| expr[from] "..=" expr[to]     { $$ = (Range){$from, $to, true}; }
;

assert:
  "assert" expr {
      $$ = stmt_create(parse->arena, STMT_ASSERT, @$);
      $$->expr = $expr;
  }
| "assert" expr "," STRING {
      $$ = stmt_create(parse->arena, STMT_ASSERT, span_join(@1, @expr));
      $$->expr = $expr;
      $$->string = $STRING;
  }
;

targets:
  target                        { $$ = (TargetVec){0}; append($$, $target); }
| targets[before] "," target    { $$ = $before; append($$, $target); }
;

target:
  NAME opt_type {
      $$ = (Target){.name = $NAME, .name_span = @NAME, .span = @$, .type = $opt_type};
  }
| NAME "[" indices "]" {
      $$ = (Target){.name = $NAME, .name_span = @NAME, .span = @$, .update = true,
                    .at = $indices};
  }
;

opt_type:
  %empty                        { $$ = NULL; }
| ":" type                      { $$ = $type; }
;

opt_value:
  %empty                        { $$ = NULL; }
| "=" expr                      { $$ = $expr; }
;

opt_from:
  %empty                        { $$ = NULL; }
| "from" STRING                 { $$ = $STRING; }
;

opt_as:
  %empty                        { $$ = NULL; }
| "as" NAME opt_args {
      $$ = arena_alloc(parse->arena, sizeof *$$);
      *$$ = (Storage){span_join(@NAME, @opt_args), $NAME, DT_NONE, $opt_args.cap > 0, $opt_args};
  }
| "as" DTYPE opt_args {
      $$ = arena_alloc(parse->arena, sizeof *$$);
      *$$ = (Storage){span_join(@DTYPE, @opt_args), NULL, $DTYPE, $opt_args.cap > 0, $opt_args};
  }
;

opt_args:
  %empty                        { $$ = (ArgVec){0}; }
| "(" args ")"                  { $$ = $args; }
;

type:
  DTYPE {
      $$ = type_create(parse, @$, (TypeSyntax){.dtype = $DTYPE, .dtype_span = @DTYPE});
  }
| NAME {
      $$ = type_create(parse, @$, (TypeSyntax){.name = $NAME, .dtype_span = @NAME});
  }
| "[" sizes "]" DTYPE {
      $$ = type_create(parse, @$, (TypeSyntax){.bracket = true, .size = $sizes, .dtype = $DTYPE,
                                               .dtype_span = @DTYPE});
  }
| "[" sizes "]" NAME {
      $$ = type_create(parse, @$, (TypeSyntax){.bracket = true, .size = $sizes, .name = $NAME,
                                               .dtype_span = @NAME});
  }
;

sizes:
  %empty                        { $$ = (ExprVec){0}; }
| size                          { $$ = (ExprVec){0}; append($$, $size); }
| sizes[before] "," size        { $$ = $before; append($$, $size); }
;

size:
  expr
| "..."                         { $$ = expr_create(parse->arena, EXPR_ELLIPSIS, @$); }
;

/* ---- expressions ---- */

exprs:
  expr                          { $$ = (ExprVec){0}; append($$, $expr); }
| exprs[before] "," expr        { $$ = $before; append($$, $expr); }
;

expr:
  postfix
| expr[l] "or" expr[r]          { $$ = binary(OPERATOR_OR, @2, $l, $r); }
| expr[l] "and" expr[r]         { $$ = binary(OPERATOR_AND, @2, $l, $r); }
| "not" expr[r]                 { $$ = unary(OPERATOR_NOT, @1, $r); }
| expr[l] "<" expr[r]           { $$ = binary(OPERATOR_LT, @2, $l, $r); }
| expr[l] "<=" expr[r]          { $$ = binary(OPERATOR_LE, @2, $l, $r); }
| expr[l] ">" expr[r]           { $$ = binary(OPERATOR_GT, @2, $l, $r); }
| expr[l] ">=" expr[r]          { $$ = binary(OPERATOR_GE, @2, $l, $r); }
| expr[l] "==" expr[r]          { $$ = binary(OPERATOR_EQ, @2, $l, $r); }
| expr[l] "!=" expr[r]          { $$ = binary(OPERATOR_NE, @2, $l, $r); }
| expr[l] "+" expr[r]           { $$ = binary(OPERATOR_ADD, @2, $l, $r); }
| expr[l] "-" expr[r]           { $$ = binary(OPERATOR_SUB, @2, $l, $r); }
| expr[l] "*" expr[r]           { $$ = binary(OPERATOR_MUL, @2, $l, $r); }
| expr[l] "/" expr[r]           { $$ = binary(OPERATOR_DIV, @2, $l, $r); }
| expr[l] "//" expr[r]          { $$ = binary(OPERATOR_FLOORDIV, @2, $l, $r); }
| expr[l] "%" expr[r]           { $$ = binary(OPERATOR_REM, @2, $l, $r); }
| expr[l] "@" expr[r]           { $$ = binary(OPERATOR_MATMUL, @2, $l, $r); }
| "-" expr[r] %prec SIGN        { $$ = unary(OPERATOR_NEGATE, @1, $r); }
| "+" expr[r] %prec SIGN        { $$ = unary(OPERATOR_PLUS, @1, $r); }
| expr[l] "**" expr[r]          { $$ = binary(OPERATOR_POW, @2, $l, $r); }
;

opt_expr:
  %empty                        { $$ = NULL; }
| expr
;

postfix:
  atom
| postfix[base] "(" args ")"    { $$ = checked(expr_call(parse->arena, $base, $args, @$)); }
| postfix[base] "[" indices "]" { $$ = checked(expr_index(parse->arena, $base, $indices, @$)); }
| postfix[base] "." NAME        { $$ = checked(expr_field(parse->arena, $base, $NAME, @$)); }
| postfix[base] "at" STRING     { $$ = checked(expr_at(parse->arena, $base, $STRING, @$)); }
;

args:
  %empty                        { $$ = (ArgVec){0}; }
| arg_list
| arg_list ","
;

arg_list:
  arg                           { $$ = (ArgVec){0}; append($$, $arg); }
| arg_list[before] "," arg      { $$ = $before; append($$, $arg); }
;

arg:
  expr                          { $$ = (Arg){.value = $expr}; }
| NAME "=" expr                 { $$ = (Arg){$NAME, @NAME, $expr}; }
;

indices:
  index                         { $$ = (IndexVec){0}; append($$, $index); }
| indices[before] "," index     { $$ = $before; append($$, $index); }
;

index:
  expr                          { $$ = (Index){.span = @$, .at = $expr}; }
| "..." {
      $$ = (Index){.span = @$, .at = expr_create(parse->arena, EXPR_ELLIPSIS, @$)};
  }
| opt_expr[start] ":" opt_expr[stop] {
      $$ = (Index){.span = @$, .range = true, .start = $start, .stop = $stop};
  }
| opt_expr[start] ":" opt_expr[stop] ":" opt_expr[step] {
      $$ = (Index){.span = @$, .range = true, .start = $start, .stop = $stop, .step = $step};
  }
;

atom:
  NAME                          { $$ = name_expr(parse, $NAME, @$); }
| INT {
      $$ = expr_create(parse->arena, EXPR_INT, @$);
      $$->integer = $INT;
  }
| FLOAT {
      $$ = expr_create(parse->arena, EXPR_FLOAT, @$);
      $$->number = $FLOAT;
  }
| STRING {
      $$ = expr_create(parse->arena, EXPR_STRING, @$);
      $$->string = $STRING;
  }
| DTYPE {
      $$ = expr_create(parse->arena, EXPR_DTYPE, @$);
      $$->dtype = $DTYPE;
  }
| "true" {
      $$ = expr_create(parse->arena, EXPR_BOOL, @$);
      $$->boolean = true;
  }
| "false"                       { $$ = expr_create(parse->arena, EXPR_BOOL, @$); }
| "None"                        { $$ = expr_create(parse->arena, EXPR_NONE, @$); }
| "(" expr ")"                  { $$ = $expr; }
| "[" list "]"                  { $$ = checked(expr_list(parse->arena, $list, @$)); }
;

list:
  %empty                        { $$ = (ExprVec){0}; }
| exprs
| exprs ","
;

%%

// Tokens that messages name together: when the mark is expected, it stands for all of the group.
typedef struct Group {
    const char *name;
    yysymbol_kind_t mark;
    yysymbol_kind_t token[24];
} Group;

#define SYMBOL(name) YYSYMBOL_##name

static const Group groups[] = {
    {"a declaration",
     SYMBOL(MODEL),
     {SYMBOL(ADEPT), SYMBOL(MODEL), SYMBOL(BLOCK), SYMBOL(FN), SYMBOL(CONST), SYMBOL(DIM),
      SYMBOL(ASSERT)}},
    {"a statement",
     SYMBOL(REPEAT),
     {SYMBOL(CONST), SYMBOL(DIM), SYMBOL(ASSERT), SYMBOL(IF), SYMBOL(INPUT), SYMBOL(OUTPUT),
      SYMBOL(PARAM), SYMBOL(STATE), SYMBOL(REPEAT), SYMBOL(RETURN), SYMBOL(FUSED), SYMBOL(NAME)}},
    {"an expression",
     SYMBOL(FLOAT),
     {SYMBOL(NAME), SYMBOL(INT), SYMBOL(FLOAT), SYMBOL(STRING), SYMBOL(DTYPE), SYMBOL(TRUE),
      SYMBOL(FALSE), SYMBOL(NONE), SYMBOL(LPAREN), SYMBOL(LBRACKET), SYMBOL(MINUS), SYMBOL(PLUS),
      SYMBOL(NOT)}},
    {"an operator",
     SYMBOL(SLASHES),
     {SYMBOL(OR), SYMBOL(AND), SYMBOL(LT), SYMBOL(LE), SYMBOL(GT), SYMBOL(GE), SYMBOL(EQ),
      SYMBOL(NE), SYMBOL(PLUS), SYMBOL(MINUS), SYMBOL(STAR), SYMBOL(SLASH), SYMBOL(SLASHES),
      SYMBOL(PERCENT), SYMBOL(MATMUL), SYMBOL(POWER), SYMBOL(LPAREN), SYMBOL(LBRACKET), SYMBOL(DOT),
      SYMBOL(AT)}},
    {"a type", SYMBOL(WORD_STR), {SYMBOL(WORD_INT), SYMBOL(WORD_FLOAT), SYMBOL(WORD_STR),
                                  SYMBOL(DTYPE), SYMBOL(NAME), SYMBOL(LBRACKET)}},
};

enum { EXPECTED_MAX = 6, SYMBOL_COUNT = YYNTOKENS };

static const char *symbol_text(yysymbol_kind_t symbol, char room[32]) {
    const char *name = yysymbol_name(symbol);
    if (symbol == SYMBOL(NEWLINE)) return "the end of the line";
    if (symbol == SYMBOL(YYEOF)) return "the end of the file";
    if (symbol == SYMBOL(NAME)) return "a name";
    if (symbol == SYMBOL(INT)) return "an integer";
    if (symbol == SYMBOL(FLOAT)) return "a number";
    if (symbol == SYMBOL(STRING)) return "a string";
    if (symbol == SYMBOL(DTYPE)) return "a dtype";
    snprintf(room, 32, "'%s'", name);
    return room;
}

// Appends "expected a, b or c": groups first, at most EXPECTED_MAX in all.
static void expected_print(const yypcontext_t *context, const Parse *parse, Text *out) {
    yysymbol_kind_t expected[SYMBOL_COUNT];
    int count = yypcontext_expected_tokens(context, expected, SYMBOL_COUNT);
    bool open[SYMBOL_COUNT] = {false};
    for (int i = 0; i < count; i++) open[expected[i]] = true;
    if (!parse->dump) open[SYMBOL(LOC)] = open[SYMBOL(FUSED)] = false;
    const char *name[EXPECTED_MAX];
    char room[EXPECTED_MAX][32];
    unsigned names = 0, more = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        if (!open[groups[g].mark]) continue;
        name[names++] = groups[g].name;
        for (const yysymbol_kind_t *at = groups[g].token; *at; at++) open[*at] = false;
    }
    for (int symbol = 0; symbol < SYMBOL_COUNT; symbol++) {
        if (!open[symbol]) continue;
        if (names == EXPECTED_MAX) {
            more++;
            continue;
        }
        name[names] = symbol_text((yysymbol_kind_t)symbol, room[names]);
        names++;
    }
    for (unsigned i = 0; i < names; i++)
        text_printf(out, "%s%s", i == 0 ? ", expected " : i + 1 == names && !more ? " or " : ", ",
                    name[i]);
    if (more) text_put(out, " or another");
}

static int yyreport_syntax_error(const yypcontext_t *context, Parse *parse) {
    Span span = *yypcontext_location(context);
    yysymbol_kind_t token = yypcontext_token(context);
    if (parse->refused) return 0;
    if (token == SYMBOL(IMPORT)) {
        diag_error(parse->diags, span, "import is not in version 1");
        parse_recover(parse);
        return 0;
    }
    Text text = {0};
    if (token == SYMBOL(YYEOF))
        text_put(&text, parse->expression ? "end of the expression" : "end of the file");
    else if (token == SYMBOL(NEWLINE) && (span.end == span.begin || parse->text[span.begin] != ';'))
        text_put(&text, "end of the line");
    else
        text_printf(&text, "'%.*s'", (int)(span.end - span.begin), parse->text + span.begin);
    expected_print(context, parse, &text);
    diag_error(parse->diags, span, "unexpected %s", text.data);
    text_free(&text);
    parse_explain(parse, span, token == SYMBOL(ELSE));
    if (token >= SYMBOL(LT) && token <= SYMBOL(NE))
        diag_help(parse->diags, "comparisons do not chain; join two with `and`");
    parse_recover(parse);
    return 0;
}

static void adp_error(const Span *span, Parse *parse, const char *message) {
    (void)message; // the only one left is that the parser's stack is full
    if (!parse->refused) diag_error(parse->diags, *span, "the statement is nested too deeply");
    parse->refused = true;
}
