// What an expression stands for while a file is elaborated: constants, sizes, tensors. Private to
// elaborate*.c.
#pragma once

#include "frontend/ast.h"
#include "ir/graph.h"

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
    uint32_t leaves; // elements of inner lists too, an empty list being one: at most LIST_MAX
    bool constant;
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
