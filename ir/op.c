// The op table in memory, and look-ups in it.
#include "ir/op.h"

#include <assert.h>
#include <string.h>

#include "ir/infer.h"

// The inner macros of ir/ops.def. A list is its entries and their count.
// clang-format off
#define LIST_OF(type, ...) {__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)
#define OPERANDS(...) LIST_OF(OperandSpec, __VA_ARGS__)
#define NO_OPERANDS   {{0}}, 0
#define IN(id)        {#id, false, false, OD_SAME}
#define OPT(id)       {#id, true, false, OD_SAME}
#define ANY(id)       {#id, false, false, OD_ANY}
#define OPT_ANY(id)   {#id, true, false, OD_ANY}
#define LIST(id)      {#id, false, true, OD_SAME}
#define ATTRS(...)    LIST_OF(AttrSpec, __VA_ARGS__)
#define NO_ATTRS      {{0}}, 0
#define REQ(id, kind) {#id, ATTR_##kind, true, NULL, NULL}
#define ATTR(id, kind, text) {#id, ATTR_##kind, false, text, NULL}
#define WORDS(id, kind, text, ...) \
    {#id, ATTR_##kind, false, text, (const char *const[]){__VA_ARGS__, NULL}}
#define SCALAR(...)   #__VA_ARGS__
#define NO_SCALAR     NULL
#define PUBLIC        false, false // internal, later
#define INTERNAL      true, false
#define LATER         false, true

#define OP(id, name, class, gone_by, flags, precision, dtypes, operands, attrs, infer, scalar, doc) \
    [OP_##id] = {OP_##id, name, OC_##class, STAGE_##gone_by, flags, OPREC_##precision, \
                 DS_##dtypes, operands, attrs, infer, scalar, doc},
static const OpInfo op_table[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP
// clang-format on

const OpInfo *op_info(OpId id) {
    assert(id > OP_NONE && id < OP_COUNT);
    return &op_table[id];
}

OpId op_find(const char *name) {
    for (OpId id = OP_NONE + 1; id < OP_COUNT; id++) {
        if (strcmp(op_table[id].name, name) == 0) return id;
    }
    return OP_NONE;
}

const char *const *op_names(void) {
#define NAME_PUBLIC(name) name,
#define NAME_LATER(name)  name,
#define NAME_INTERNAL(name)
#define OP(id, name, class, gone_by, flags, ...) NAME_##flags(name)
    static const char *const names[] = {
#include "ir/ops.def"
        NULL};
#undef OP
    return names;
}

unsigned op_cost(const OpInfo *op) {
    static const struct {
        const char *name;
        unsigned cost;
    } functions[] = {
#define SCALAR_FUNCTION(name, arity, cost, doc) {#name, cost},
#include "ir/scalar.def"
#undef SCALAR_FUNCTION
    };
    unsigned cost = 0;
    for (const char *at = op->scalar; at && *at;) {
        size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
            if (strlen(functions[i].name) == length && !strncmp(functions[i].name, at, length))
                cost += functions[i].cost;
        at += length ? length : 1;
    }
    return cost;
}

int op_attr_index(const OpInfo *op, const char *name) {
    for (int i = 0; i < op->attrs; i++) {
        if (strcmp(op->attr[i].name, name) == 0) return i;
    }
    return -1;
}

int op_operand_index(const OpInfo *op, const char *name) {
    for (int i = 0; i < op->operands; i++) {
        if (strcmp(op->operand[i].name, name) == 0) return i;
    }
    return -1;
}

const OperandSpec *op_operand_spec(const OpInfo *op, uint32_t index) {
    if (op->operands && op->operand[0].variadic) return &op->operand[0];
    return index < op->operands ? &op->operand[index] : NULL;
}

uint32_t op_required_operands(const OpInfo *op) {
    uint32_t count = 0;
    while (count < op->operands && !op->operand[count].optional) count++;
    return count;
}

uint32_t op_argument(const OpInfo *op, uint32_t place) {
    uint32_t needed = op_required_operands(op), required = 0, other = 0;
    if (place < needed) return place;
    place -= needed;
    for (uint32_t i = 0; i < op->attrs; i++) required += op->attr[i].required;
    if (needed == op->operands) return needed + place; // attributes keep their order
    bool first = place < required;
    if (!first && place - required < op->operands - needed) return needed + place - required;
    for (uint32_t i = 0; i < op->attrs; i++) {
        if (op->attr[i].required != first) continue;
        uint32_t at = first ? place : place - required - (op->operands - needed);
        if (other++ == at) return op->operands + i;
    }
    return op->operands + op->attrs;
}

bool op_is_view(const OpInfo *op) {
    return op->class == OC_MOVE && op->gone_by == STAGE_NEVER && !op->operand[0].variadic;
}
