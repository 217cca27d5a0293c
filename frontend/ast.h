// Syntax trees of .adp files: what the parser (adp.y) makes and elaboration (elaborate.h) reads.
//
// Nodes live in the arena of the parse and are never changed after it. Strings are UTF-8 without
// NUL. Depth is bounded: the lexer limits brackets and blocks, expr_* count operators, and a chain
// of left-associative operators is as deep as its deepest right side (walk the left side in a
// loop).
#pragma once

#include "ir/diag.h"
#include "ir/type.h"

// Limits of language.md section 10 that reading enforces.
enum {
    NEST_MAX = 64,            // open brackets and blocks; also calls, during elaboration
    NAME_LENGTH_MAX = 64,     // without dots
    DOTTED_LENGTH_MAX = 255,  // with dots (dumps)
    STRING_LENGTH_MAX = 1024, // bytes, escapes decoded
    LIST_MAX = 4096,          // elements of a list or const tensor
    EXPR_DEPTH_MAX = 256      // right-nested operators and chained postfixes of one expression
};

// Unary and binary operators: X(id, text, op): the op of the table that it stands for.
#define OPERATOR_TABLE(X)                                                                          \
    X(OR, "or", "logical_or")                                                                      \
    X(AND, "and", "logical_and")                                                                   \
    X(NOT, "not", "logical_not")                                                                   \
    X(LT, "<", "less")                                                                             \
    X(LE, "<=", "less_equal")                                                                      \
    X(GT, ">", "greater")                                                                          \
    X(GE, ">=", "greater_equal")                                                                   \
    X(EQ, "==", "equal")                                                                           \
    X(NE, "!=", "not_equal")                                                                       \
    X(ADD, "+", "add")                                                                             \
    X(SUB, "-", "subtract")                                                                        \
    X(MUL, "*", "multiply")                                                                        \
    X(DIV, "/", "divide")                                                                          \
    X(FLOORDIV, "//", "floor_divide")                                                              \
    X(REM, "%", "remainder")                                                                       \
    X(MATMUL, "@", "matmul")                                                                       \
    X(POW, "**", "pow")                                                                            \
    X(NEGATE, "-", "negative")                                                                     \
    X(PLUS, "+", "")

typedef enum Operator {
#define X(id, text, op) OPERATOR_##id,
    OPERATOR_TABLE(X)
#undef X
} Operator;

const char *operator_text(Operator op);
const char *operator_op(Operator op); // "" for unary plus

typedef struct Expr Expr;
typedef VEC(Expr *) ExprVec;

// "text {expr} text {*}": exactly one of the members of a part is set.
typedef struct StringPart {
    const char *text;
    Expr *expr;
    bool star;
} StringPart;

typedef struct String {
    Span span; // with the quotes
    VEC(StringPart) parts;
} String;

typedef struct Arg {
    const char *name; // NULL: positional
    Span name_span;
    Expr *value;
} Arg;
typedef VEC(Arg) ArgVec;

// One place in [ ]: an expression, `...` (an EXPR_ELLIPSIS), or start:stop:step (each may be NULL).
typedef struct Index {
    Span span;
    bool range;
    Expr *at;
    Expr *start, *stop, *step;
} Index;
typedef VEC(Index) IndexVec;

typedef enum ExprKind {
    EXPR_NAME,
    EXPR_INT,
    EXPR_FLOAT,
    EXPR_BOOL,
    EXPR_STRING,
    EXPR_DTYPE,
    EXPR_NONE,
    EXPR_ELLIPSIS, // only as a size or an index
    EXPR_UNARY,    // left
    EXPR_BINARY,
    EXPR_CALL,
    EXPR_INDEX,
    EXPR_FIELD, // base.name
    EXPR_AT,    // base at "path"
    EXPR_LIST
} ExprKind;

struct Expr {
    ExprKind kind;
    uint16_t depth;
    Span span; // all of it
    Span mark; // the operator, the callee's name or, as a rule, the whole
    union {
        const char *name;
        int64_t integer;
        double number;
        bool boolean;
        String *string;
        DType dtype;
        struct {
            Operator op;
            Expr *left, *right;
        } binary;
        struct {
            Expr *base;
            ArgVec args;
        } call;
        struct {
            Expr *base;
            IndexVec at;
        } index;
        struct {
            Expr *base;
            const char *name;
        } field;
        struct {
            Expr *base;
            String *path;
        } at;
        ExprVec list;
    };
};

// `[sizes] dtype`, `dtype`, or one of the formals' words int, float, str.
typedef enum TypeWord { WORD_NONE, WORD_INT, WORD_FLOAT, WORD_STR } TypeWord;
typedef struct TypeSyntax {
    Span span, dtype_span;
    bool bracket; // sizes were written, if only []
    ExprVec size;
    DType dtype;      // DT_NONE: name
    const char *name; // of a const that holds a dtype
    TypeWord word;
} TypeSyntax;
typedef VEC(TypeSyntax *) TypeVec;

typedef struct Formal {
    const char *name;
    Span span;
    TypeSyntax *type;
    Expr *value; // default, or NULL
} Formal;
typedef VEC(Formal) FormalVec;

typedef struct Word {
    const char *text;
    Span span;
} Word;
typedef VEC(Word) WordVec;

typedef struct Target { // NAME [: type] or NAME [ index ]
    const char *name;
    Span name_span, span;
    TypeSyntax *type;
    bool update;
    IndexVec at;
} Target;
typedef VEC(Target) TargetVec;

typedef struct Range {
    Expr *from, *to;
    bool inclusive;
} Range;

typedef struct Storage { // as NAME | DTYPE [ ( args ) ]
    Span span;
    const char *name; // NULL: dtype
    DType dtype;
    bool has_args;
    ArgVec args;
} Storage;

typedef struct Position { // of `loc`
    const char *file;     // NULL: the main file
    uint32_t line, column;
} Position;
typedef VEC(Position) PositionVec;

typedef struct Stmt Stmt;
typedef VEC(Stmt *) StmtVec;

typedef enum StmtKind {
    STMT_ERROR, // did not parse; names: what it may have defined
    STMT_HEADER,
    STMT_CONST,
    STMT_DIM,
    STMT_ASSERT,
    STMT_IF,
    STMT_INPUT,
    STMT_OUTPUT,
    STMT_PARAM,
    STMT_STATE,
    STMT_ASSIGN,
    STMT_REPEAT,
    STMT_RETURN,
    STMT_FUSED,
    STMT_MODEL,
    STMT_FUNCTION // fn and block
} StmtKind;

// One struct for all statements; kinds use the members that their grammar rule has.
struct Stmt {
    StmtKind kind;
    Span span; // from the keyword or first target to the end of what stands before a `{`
    Word name;
    TypeSyntax *type;
    Expr *expr;
    Range range;
    String *string; // from "..", message of an assert
    StmtVec body, otherwise;
    PositionVec loc; // innermost first; dumps only
    union {
        WordVec *lost; // STMT_ERROR
        Storage *storage;
        struct {
            TargetVec targets;
            ExprVec values;
        } assign;
        ExprVec returns;
        struct {
            ArgVec args;
            WordVec results;
        } fused;
        struct {
            bool block;
            WordVec sizes;
            FormalVec formals;
            TypeVec results;
        } function;
    };
};

typedef struct File {
    FileId id;
    bool dump; // begins `adept 1 ir`
    StmtVec items;
} File;

// Constructors. depth is counted here; over EXPR_DEPTH_MAX the parser reports and stops the
// statement.
Expr *expr_create(Arena *arena, ExprKind kind, Span span);
Expr *expr_unary(Arena *arena, Operator op, Span mark, Expr *operand);
Expr *expr_binary(Arena *arena, Operator op, Span mark, Expr *left, Expr *right);
Expr *expr_call(Arena *arena, Expr *base, ArgVec args, Span span);
Expr *expr_index(Arena *arena, Expr *base, IndexVec at, Span span);
Expr *expr_field(Arena *arena, Expr *base, const char *name, Span span);
Expr *expr_at(Arena *arena, Expr *base, String *path, Span span);
Expr *expr_list(Arena *arena, ExprVec list, Span span);
Stmt *stmt_create(Arena *arena, StmtKind kind, Span span);

Span span_join(Span first, Span last);
