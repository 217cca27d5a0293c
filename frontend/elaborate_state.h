// What the files elaborate*.c share. Private to them.
//
// Everything here lives in the arena of the run (Elab.arena) and dies with it; what the graph keeps
// is copied by the graph.
#pragma once

#include "frontend/elaborate.h"
#include "frontend/parse.h"
#include "ir/number.h"

// ---- items: what an expression stands for ----

typedef enum ItemKind {
    ITEM_ERROR, // reported already
    ITEM_NONE,
    ITEM_INT,
    ITEM_FLOAT,
    ITEM_BOOL,
    ITEM_STRING, // counters of repeats stand in it as COUNTER_MARK name COUNTER_MARK
    ITEM_DTYPE,
    ITEM_SIZE,      // integer over dims, not constant
    ITEM_CONDITION, // relations of sizes that must all hold; for asserts
    ITEM_LIST,
    ITEM_VALUE,   // tensor
    ITEM_RESULTS, // several tensors, of one call
    ITEM_COUNTER, // of a repeat: only for strings
    ITEM_FUNCTION // in Elab.functions
} ItemKind;

enum { COUNTER_MARK = 1, STAR_MARK = 2 }; // in strings: {i}, {*}

typedef struct Relation {
    Dim left, right;
    DimRelation relation;
} Relation;

typedef struct Item Item;
typedef struct ItemList {
    const Item *at;
    uint32_t count;
} ItemList;

struct Item {
    ItemKind kind;
    union {
        int64_t integer;
        double number;
        bool boolean;
        const char *string; // ITEM_STRING, ITEM_COUNTER
        DType dtype;
        Dim size;
        ValueId value;
        ItemList list; // ITEM_LIST, ITEM_RESULTS
        const Stmt *function;
        struct {
            const Relation *at;
            uint32_t count;
        } condition;
    };
};

bool item_is_number(Item item);   // int, float
bool item_is_size(Item item);     // int or size
bool item_is_scalar(Item item);   // what a weak scalar may be: number, size, bool
bool item_is_constant(Item item); // neither tensor nor size
const char *item_kind_name(Item item);

static inline Item item_error(void) {
    return (Item){.kind = ITEM_ERROR};
}
static inline Item item_int(int64_t value) {
    return (Item){.kind = ITEM_INT, .integer = value};
}
static inline Item item_float(double value) {
    return (Item){.kind = ITEM_FLOAT, .number = value};
}
static inline Item item_bool(bool value) {
    return (Item){.kind = ITEM_BOOL, .boolean = value};
}
static inline Item item_value(ValueId value) {
    return (Item){.kind = value ? ITEM_VALUE : ITEM_ERROR, .value = value};
}

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
    Site *site; // NULL: not watched
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
    Frame *frame; // the model's is outermost
    unsigned depth, calls;
    SiteMap *sites;
    Scope *state_names; // full names, which must be unique
    const Stmt *stmt;   // at work: locations of a dump
    uint32_t inputs, outputs, dim_count, updates;
    bool stopped; // a limit was passed
} Elab;

// ---- elaborate.c ----

// Errors with notes for the enclosing calls and repeats. Always give an item in error.
Item elab_error(Elab *e, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void elab_warning(Elab *e, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void elab_notes(Elab *e); // for a diagnostic that another module made
const char *elab_excerpt(Elab *e, Span span);
const char *elab_type_text(Elab *e, const Type *type);
const char *elab_marks_text(Elab *e, const char *string); // counters as {i}

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

// ---- elaborate_stmt.c ----

void elab_body(Elab *e, const StmtVec *body); // to its end, or a return
void elab_const(Elab *e, const Stmt *stmt, const Define *define);
void elab_dim(Elab *e, const Stmt *stmt);
void elab_assert(Elab *e, const Stmt *stmt);
uint32_t elab_locs(Elab *e, Span span, const Loc **out);
Loc elab_loc(Elab *e, Span span);

// ---- elaborate_decl.c ----

void elab_input(Elab *e, const Stmt *stmt);
void elab_output(Elab *e, const Stmt *stmt);
void elab_param(Elab *e, const Stmt *stmt);
void elab_state(Elab *e, const Stmt *stmt);
// A path and a name (or NULL) as a name of the graph: mlp.gate.
const char *elab_dotted(Elab *e, const char *path, const char *name);
