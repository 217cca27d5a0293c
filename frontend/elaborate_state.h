// What the files elaborate*.c share. Private to them.
//
// Everything here lives in the arena of the run (Elab.arena) and dies with it; what the graph keeps
// is copied by the graph.
#pragma once

#include "frontend/elaborate.h"
#include "frontend/elaborate_item.h"
#include "frontend/parse.h"
#include "ir/number.h"

// ---- names ----

typedef enum BindKind {
    BIND_CONST,
    BIND_DIM, // size parameters too
    BIND_COUNTER,
    BIND_INPUT,
    BIND_PARAM,
    BIND_STATE, // item: its current version
    BIND_VALUE,
    BIND_LOST // what a statement in error may have defined
} BindKind;

typedef struct Site { // where a name is defined, to say that nothing uses it
    Span span;
    const char *what, *name;
    bool used;
} Site;

typedef struct Binding {
    const char *name;
    Span span;
    BindKind kind;
    Item item;
    Site *site;      // NULL: not watched
    uint32_t number; // counts definitions
    uint32_t repeat; // the last one found to carry it
} Binding;

typedef struct Scope {
    struct Scope *outer;
    VEC(Binding *) names; // in order of definition
    Binding **slots;      // the same, by hash
    uint32_t capacity;
} Scope;

// ---- where elaboration is ----

// Names for the values of an expression: self for its results (NULL where it has none of its own),
// prefix for unnamed values inside it.
typedef struct Names {
    const char *const *self;
    uint32_t count;
    const char *prefix;
} Names;

typedef struct Frame { // of a call or a repeat, innermost first
    struct Frame *outer;
    const Stmt *function; // NULL: a repeat
    Span span;            // of the call or the repeat statement
    const char *note;
    const char *path;    // of params; marks as in strings
    Names names;         // for what is returned
    const char *counter; // of a repeat, and how many trips
    int64_t trips;
    bool has_rest; // the sizes that `...` stands for are known
    uint32_t rest_count;
    Dim rest[RANK_MAX];
    bool returned;
    Item result;
    Span result_span;
} Frame;

typedef struct SiteMap SiteMap;

typedef struct Elab {
    Arena *arena;
    Diags *diags;
    Graph *graph;
    DimTable *dims;
    const File *file;
    const char *text;
    bool dump;
    const Defines *defines;
    Scope *file_scope, *scope, *functions;
    Frame *frame;          // the model's is outermost
    unsigned depth, calls; // nested now
    uint32_t all_calls, steps;
    SiteMap *sites;
    Scope *state_names; // full names, which must be unique
    const Stmt *stmt;   // at work: locations of a dump
    uint32_t inputs, outputs, dim_count, updates, bindings, repeats;
    bool stopped; // a limit was passed
} Elab;

// ---- elaborate.c ----

// Errors with notes for the enclosing calls and repeats. Always give an item in error.
Item elab_error(Elab *e, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
// The same with a note of its own, which comes first.
Item elab_error_noted(Elab *e, Span span, Span note_span, const char *note, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void elab_warning(Elab *e, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void elab_notes(Elab *e); // for a diagnostic that another module made
const char *elab_excerpt(Elab *e, Span span);
const char *elab_type_text(Elab *e, const Type *type);
const char *elab_plain(Elab *e, Span span, const char *string); // NULL, reported, with counters
const char *elab_marks_text(Elab *e, const char *string);       // counters as {i}

// ---- elaborate_scope.c ----

Scope *scope_create(Arena *arena, Scope *outer);
Binding *scope_find_here(const Scope *scope, const char *name);
Binding *scope_find(const Scope *scope, const char *name);
// Adds a name; its site is watched for warnings when `what` is given.
Binding *scope_add(Elab *e, Scope *scope, const char *name, Span span, BindKind kind, Item item,
                   const char *what);
// Defines a name in the current scope; reports one that is defined there already.
Binding *scope_define(Elab *e, const Word *name, BindKind kind, Item item, const char *what);
Site *site_at(Elab *e, Span span, const char *what, const char *name);
const char *scope_nearest(Elab *e, const Scope *scope, const char *name);
const char *elab_nearest(const char *name, const char *const *names);
void sites_report(Elab *e);

// ---- elaborate_constant.c ----

// Operators on constants and sizes; where the caller has excluded tensors.
Item constant_unary(Elab *e, const Expr *expr, Item item);
Item constant_binary(Elab *e, const Expr *expr, Item left, Item right);
Item constant_extreme(Elab *e, Span span, bool maximum, Item left, Item right);
Item size_item(Elab *e, Span span, Dim size); // constant or not; reports what does not fit

// ---- elaborate_expr.c ----

Item elab_expr(Elab *e, const Expr *expr, Names names);
Item elab_constant(Elab *e, const Expr *expr); // reports tensors, sizes and None
// A tensor from an item: weak scalars become the dtype asked for (DT_NONE: reported).
ValueId elab_value(Elab *e, Span span, Item item, DType dtype);
const char *elab_string(Elab *e, const String *string, bool key); // NULL after an error
Names names_inside(Names names);                                  // of parts of an expression
const char *names_self(Elab *e, Names names, uint32_t index, const char *fallback);

// ---- elaborate_type.c ----

bool elab_dtype(Elab *e, const TypeSyntax *syntax, DType *out);
bool elab_size(Elab *e, const Expr *expr, Dim *out);
bool elab_type(Elab *e, const TypeSyntax *syntax, Type *out);
// The value's type is what was declared; reports with `what` as its subject.
bool elab_check_type(Elab *e, Span span, const char *what, ValueId value, const Type *declared);
// The value of a declared type that an item stands for, or 0 after a report.
ValueId elab_typed(Elab *e, Span span, const char *what, Item item, const Type *declared);
// Const tensor from nested lists.
ValueId elab_const_tensor(Elab *e, const Word *name, Item item, const Type *type);
bool type_is_constant(Elab *e, const Type *type);

// ---- elaborate_op.c ----

// Applies an op of the table to items; reports. Gives a value, or results.
Item elab_op_call(Elab *e, const Expr *call, OpId op, const Item *args, Names names);
Item elab_unknown_call(Elab *e, const Expr *call); // no op, fn or block of that name
// For operators and slices: operands and attributes are in table order.
typedef struct OpUse {
    OpId op;
    Span span;
    const Item *operand;
    const Span *operand_span;
    uint32_t operands;
    const Attr *attr; // NULL: defaults
    Names names;
} OpUse;
Item elab_op(Elab *e, const OpUse *use);

// ---- elaborate_index.c ----

Item elab_index(Elab *e, const Expr *expr, Names names);
// s[..] = value: the new version.
Item elab_update(Elab *e, const Target *target, Binding *state, Item value, Span value_span);

// ---- elaborate_call.c ----

Item elab_call(Elab *e, const Expr *expr, const String *path, Names names);
bool elab_signature(Elab *e, const Stmt *function); // once, where it is defined

// ---- elaborate_const.c ----

void elab_const(Elab *e, const Stmt *stmt, const Define *define);
void elab_dim(Elab *e, const Stmt *stmt);
void elab_assert(Elab *e, const Stmt *stmt);
bool elab_range(Elab *e, const Range *range, int64_t *lo, int64_t *hi); // half-open: [lo, hi)

// ---- elaborate_stmt.c ----

void elab_body(Elab *e, const StmtVec *body); // to its end, or a return
uint32_t elab_locs(Elab *e, Span span, const Loc **out);
Loc elab_loc(Elab *e, Span span);

// ---- elaborate_decl.c ----

void elab_input(Elab *e, const Stmt *stmt);
void elab_output(Elab *e, const Stmt *stmt);
void elab_param(Elab *e, const Stmt *stmt);
void elab_state(Elab *e, const Stmt *stmt);
// A path and a name (or NULL) as a name of the graph: mlp.gate.
const char *elab_dotted(Elab *e, const char *path, const char *name);
