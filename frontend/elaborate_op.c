// Ops: arguments to operands and attributes, and into the graph.
#include "frontend/elaborate_state.h"

#include <string.h>

enum { OPS_MAX = 1000000, SLOTS_MAX = OP_OPERANDS_MAX + OP_ATTRS_MAX };

// Around moves: model, repeat, group, call, list; inside the innermost: call, lists of an
// attribute.
_Static_assert(GRAPH_MOVES_MAX + 16 <= NEST_MAX, "dumps read back");

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789."

// ---- into the graph ----

// Weak scalars take the dtype of the first operand that has one.
static DType common_dtype(const Elab *e, const OpUse *use) {
    for (uint32_t i = 0; i < use->operands; i++) {
        const OperandSpec *spec = op_operand_spec(op_info(use->op), i);
        if (spec && spec->dtype == OD_SAME && use->operand[i].kind == ITEM_VALUE)
            return graph_value(e->graph, use->operand[i].value)->type.dtype;
    }
    return DT_NONE;
}

static bool operand_value(Elab *e, const OpUse *use, uint32_t index, DType common, ValueId *out) {
    const OpInfo *op = op_info(use->op);
    const OperandSpec *spec = op_operand_spec(op, index);
    Item item = use->operand[index];
    Span span = use->operand_span[index];
    *out = 0;
    if (item.kind == ITEM_ERROR) return false;
    if (item.kind == ITEM_NONE) {
        if (spec->optional) return true;
        elab_error(e, span, "%s: %s cannot be None", op->name, spec->name);
        return false;
    }
    if (item.kind != ITEM_VALUE && (!item_is_scalar(item) || spec->dtype != OD_SAME)) {
        elab_error(e, span, "%s: %s must be a tensor, not %s", op->name, spec->name,
                   item_kind_name(item));
        return false;
    }
    if (item.kind != ITEM_VALUE && common == DT_NONE) {
        elab_error(e, use->span, "%s: no operand is a tensor", op->name);
        return false;
    }
    *out = elab_value(e, span, item, common);
    return *out != 0;
}

static bool below_limit(Elab *e, Span span) {
    if (e->graph->nodes.len <= OPS_MAX) return true;
    elab_error(e, span, "the model has more than %d ops", OPS_MAX);
    e->stopped = true;
    return false;
}

static Item results_of(Elab *e, NodeId id, bool fresh, Names names) {
    const Node *node = graph_node(e->graph, id);
    if (node->results == 1) return item_value(node->result[0]);
    Item *item = arena_alloc(e->arena, node->results * sizeof *item);
    for (uint32_t i = 0; i < node->results; i++) {
        item[i] = item_value(node->result[i]);
        if (fresh && i > 0 && i < names.count && names.self[i])
            graph_name(e->graph, node->result[i], names.self[i], e->dump);
    }
    return (Item){.kind = ITEM_RESULTS, .list = {.at = item, .count = node->results}};
}

// Operands that are written as a name, for messages.
static const char *const *written_names(Elab *e, const OpUse *use) {
    const char **name = arena_alloc(e->arena, use->operands * sizeof *name);
    for (uint32_t i = 0; i < use->operands; i++) {
        Span span = use->operand_span[i];
        if (span.end - span.begin > DOTTED_LENGTH_MAX) continue;
        const char *text = elab_excerpt(e, span);
        if (text[0] && text[strspn(text, NAME_LETTERS)] == '\0') name[i] = text;
    }
    return name;
}

Item elab_op(Elab *e, const OpUse *use) {
    const OpInfo *op = op_info(use->op);
    ValueId *operand = arena_alloc(e->arena, use->operands * sizeof *operand);
    DType common = common_dtype(e, use);
    bool good = true;
    for (uint32_t i = 0; i < use->operands; i++)
        if (!operand_value(e, use, i, common, &operand[i])) good = false;
    if (!good || !below_limit(e, use->span)) return item_error();
    const Loc *loc;
    bool named = use->names.count > 0 && use->names.self[0];
    NodeSpec spec = {.op = use->op,
                     .operand = operand,
                     .operands = use->operands,
                     .attr = use->attr,
                     .inline_view = e->dump && !named && op_is_view(op),
                     .locs = elab_locs(e, use->span, &loc),
                     .name = names_self(e, use->names, 0, op->name),
                     .exact_name = e->dump && named,
                     .span = use->span,
                     .operand_span = use->operand_span,
                     .operand_name = written_names(e, use)};
    spec.loc = loc;
    uint32_t before = e->graph->nodes.len;
    NodeId node = graph_add(e->graph, e->diags, &spec);
    if (node) return results_of(e, node, e->graph->nodes.len > before, use->names);
    elab_notes(e);
    return item_error();
}

// ---- attributes ----

typedef struct AttrUse {
    Elab *e;
    const OpInfo *op;
    const AttrSpec *spec;
    Item item;
    Span span;
} AttrUse;

static bool attr_error(const AttrUse *use, const char *wanted) {
    elab_error(use->e, use->span, "%s: %s must be %s, not %s", use->op->name, use->spec->name,
               wanted, item_kind_name(use->item));
    return false;
}

static bool attr_word(const AttrUse *use, Attr *out) {
    const char *const *words = use->spec->words;
    if (!elab_plain(use->e, use->span, use->item.string)) return false;
    if (use->spec->kind == ATTR_STRING && !words) { // any text: a reason in a dump
        *out = attr_string(use->item.string);
        return true;
    }
    for (uint32_t i = 0; words && words[i]; i++) {
        if (strcmp(words[i], use->item.string) != 0) continue;
        *out = attr_string(words[i]);
        if (use->spec->kind == ATTR_PAIRS)
            *out = (Attr){.present = true, .sizes = {.word = words[i]}};
        return true;
    }
    Text text = {0};
    for (uint32_t i = 0; words && words[i]; i++)
        text_printf(&text, "%s\"%s\"", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    elab_error(use->e, use->span, "%s: %s must be %s, not \"%s\"", use->op->name, use->spec->name,
               text.data ? text.data : "a number", use->item.string);
    const char *near = words ? elab_nearest(use->item.string, words) : NULL;
    if (near) diag_help(use->e->diags, "did you mean \"%s\"?", near);
    text_free(&text);
    return false;
}

static Dim item_dim(Elab *e, Item item) {
    return item.kind == ITEM_SIZE ? item.size : dim_const(e->dims, item.integer);
}

static bool attr_size_list(const AttrUse *use, Attr *out) {
    const Item *at = &use->item;
    uint32_t count = 1;
    if (use->item.kind == ITEM_LIST) {
        at = use->item.list.at;
        count = use->item.list.count;
    }
    Dim *size = arena_alloc(use->e->arena, count * sizeof *size);
    for (uint32_t i = 0; i < count; i++) {
        if (!item_is_size(at[i])) return attr_error(use, "a size or a list of sizes");
        size[i] = item_dim(use->e, at[i]);
    }
    *out = attr_sizes(size, count);
    return true;
}

static bool attr_int_list(const AttrUse *use, Attr *out) {
    const Item *at = &use->item;
    uint32_t count = 1;
    if (use->item.kind == ITEM_LIST) {
        at = use->item.list.at;
        count = use->item.list.count;
    }
    int64_t *value = arena_alloc(use->e->arena, count * sizeof *value);
    for (uint32_t i = 0; i < count; i++) {
        if (at[i].kind != ITEM_INT) return attr_error(use, "a constant int or a list of them");
        value[i] = at[i].integer;
    }
    *out = attr_ints(value, count);
    return true;
}

static bool attr_pair_list(const AttrUse *use, Attr *out) {
    if (use->item.kind == ITEM_STRING) return attr_word(use, out);
    bool pairs = use->item.kind == ITEM_LIST && use->item.list.count > 0 &&
                 use->item.list.at[0].kind == ITEM_LIST;
    if (!pairs) return attr_size_list(use, out);
    uint32_t axes = use->item.list.count;
    Dim *size = arena_alloc(use->e->arena, 2 * axes * sizeof *size);
    for (uint32_t i = 0; i < axes; i++) {
        Item pair = use->item.list.at[i];
        if (pair.kind != ITEM_LIST || pair.list.count != 2 || !item_is_size(pair.list.at[0]) ||
            !item_is_size(pair.list.at[1]))
            return attr_error(use, "sizes or [before, after] pairs");
        size[2 * i] = item_dim(use->e, pair.list.at[0]);
        size[2 * i + 1] = item_dim(use->e, pair.list.at[1]);
    }
    *out = attr_pairs(size, axes);
    return true;
}

static bool attr_scalar(const AttrUse *use, Attr *out) {
    switch (use->item.kind) {
    case ITEM_INT: *out = attr_int(use->item.integer); return true;
    case ITEM_FLOAT: *out = attr_float(use->item.number); return true;
    case ITEM_BOOL: *out = attr_int(use->item.boolean); return true;
    case ITEM_SIZE: *out = attr_size(use->item.size); return true;
    default: return attr_error(use, "a number");
    }
}

static bool attr_from(const AttrUse *use, Attr *out) {
    Item item = use->item;
    if (item.kind == ITEM_ERROR) return false;
    if (item.kind == ITEM_NONE) {
        *out = attr_none();
        const char *text = use->spec->default_text;
        if (text && strcmp(text, "None") == 0) return true;
        elab_error(use->e, use->span, "%s: %s cannot be None", use->op->name, use->spec->name);
        return false;
    }
    switch (use->spec->kind) {
    case ATTR_INT:
        if (item.kind != ITEM_INT) return attr_error(use, "a constant int");
        *out = attr_int(item.integer);
        return true;
    case ATTR_FLOAT:
        if (!item_is_number(item)) return attr_error(use, "a constant number");
        *out = attr_float(item.kind == ITEM_INT ? (double)item.integer : item.number);
        return true;
    case ATTR_BOOL:
        if (item.kind != ITEM_BOOL) return attr_error(use, "true or false");
        *out = attr_int(item.boolean);
        return true;
    case ATTR_DTYPE:
        if (item.kind != ITEM_DTYPE) return attr_error(use, "a dtype");
        *out = attr_dtype(item.dtype);
        if (dtype_class(item.dtype) != DC_LATER) return true;
        elab_error(use->e, use->span, "%s is not in version 1", dtype_name(item.dtype));
        return false;
    case ATTR_STRING:
        if (item.kind != ITEM_STRING) return attr_error(use, "a string");
        return attr_word(use, out);
    case ATTR_SIZE:
        if (!item_is_size(item)) return attr_error(use, "a size");
        *out = attr_size(item_dim(use->e, item));
        return true;
    case ATTR_SIZES: return attr_size_list(use, out);
    case ATTR_INTS: return attr_int_list(use, out);
    case ATTR_PAIRS: return attr_pair_list(use, out);
    case ATTR_SCALAR: return attr_scalar(use, out);
    }
    return false;
}

// ---- arguments ----

typedef struct Slots { // operands, then attributes, as the table lists them
    Item item[SLOTS_MAX];
    Span span[SLOTS_MAX];
    bool given[SLOTS_MAX];
} Slots;

static int slot_named(Elab *e, const OpInfo *op, const Arg *arg) {
    int operand = op_operand_index(op, arg->name), attr = op_attr_index(op, arg->name);
    if (operand >= 0) return operand;
    if (attr >= 0) return op->operands + attr;
    elab_error(e, arg->name_span, "%s has no argument %s", op->name, arg->name);
    const char *names[SLOTS_MAX + 1] = {0};
    unsigned count = 0;
    for (unsigned i = 0; i < op->operands; i++) names[count++] = op->operand[i].name;
    for (unsigned i = 0; i < op->attrs; i++) names[count++] = op->attr[i].name;
    const char *near = elab_nearest(arg->name, names);
    if (near) diag_help(e->diags, "did you mean %s?", near);
    return -1;
}

static bool is_named(const Expr *call, const char *name) {
    for (uint32_t i = 0; i < call->call.args.len; i++) {
        const char *own = call->call.args.at[i].name;
        if (own && strcmp(own, name) == 0) return true;
    }
    return false;
}

// The slot of the positional argument at *place, which moves on. A required attribute that stands
// before optional operands may be named instead; dumps write operands first.
static int slot_at(const Elab *e, const OpInfo *op, const Expr *call, uint32_t *place) {
    uint32_t needed = op_required_operands(op), slot = op_argument(op, (*place)++);
    if (e->dump) return (int)*place - 1;
    while (needed < op->operands && slot >= op->operands && slot - op->operands < op->attrs &&
           op->attr[slot - op->operands].required &&
           is_named(call, op->attr[slot - op->operands].name))
        slot = op_argument(op, (*place)++);
    return (int)slot;
}

static bool fill_slots(Elab *e, const Expr *call, const OpInfo *op, const Item *args,
                       Slots *slots) {
    bool good = true, named = false;
    uint32_t place = 0;
    for (uint32_t i = 0; i < call->call.args.len; i++) {
        const Arg *arg = &call->call.args.at[i];
        int slot = arg->name ? -1 : slot_at(e, op, call, &place);
        if (arg->name) {
            named = true;
            slot = slot_named(e, op, arg);
        } else if (named) {
            elab_error(e, arg->value->span, "%s: positional arguments come before named ones",
                       op->name);
            return false;
        } else if (slot >= op->operands + op->attrs) {
            elab_error(e, arg->value->span, "%s takes at most %d arguments", op->name,
                       op->operands + op->attrs);
            return false;
        }
        if (slot >= 0 && slots->given[slot]) {
            elab_error(e, arg->name_span, "%s: %s is given twice", op->name, arg->name);
            slot = -1;
        }
        if (slot < 0) {
            good = false;
            continue;
        }
        slots->given[slot] = true;
        slots->item[slot] = args[i];
        slots->span[slot] = arg->value->span;
    }
    return good;
}

static bool fill_attrs(Elab *e, const Expr *call, const OpInfo *op, const Slots *slots,
                       Attr *attr) {
    bool good = true;
    op_attr_defaults(e->dims, e->arena, op, attr);
    for (unsigned i = 0; i < op->attrs; i++) {
        unsigned slot = op->operands + i;
        if (slots->given[slot]) {
            AttrUse use = {e, op, &op->attr[i], slots->item[slot], slots->span[slot]};
            if (!attr_from(&use, &attr[i])) good = false;
        } else if (op->attr[i].required) {
            elab_error(e, call->mark, "%s needs %s", op->name, op->attr[i].name);
            good = false;
        }
    }
    return good;
}

// A list of operands stands in the first slot and is spread.
static bool spread_operands(Elab *e, const Expr *call, const OpInfo *op, const Slots *slots,
                            OpUse *use) {
    bool variadic = op->operands > 0 && op->operand[0].variadic;
    for (unsigned i = 0; i < op->operands; i++) {
        if (slots->given[i] || op->operand[i].optional) continue;
        elab_error(e, call->mark, "%s needs %s", op->name, op->operand[i].name);
        return false;
    }
    if (!variadic) {
        use->operand = slots->item;
        use->operand_span = slots->span;
        use->operands = op->operands;
        return true;
    }
    Item list = slots->item[0];
    if (list.kind == ITEM_ERROR) return false;
    if (list.kind != ITEM_LIST || list.list.count == 0) {
        elab_error(e, slots->span[0], "%s: %s must be a list of tensors", op->name,
                   op->operand[0].name);
        return false;
    }
    Span *span = arena_alloc(e->arena, list.list.count * sizeof *span);
    for (uint32_t i = 0; i < list.list.count; i++) span[i] = slots->span[0];
    use->operand = list.list.at;
    use->operand_span = span;
    use->operands = list.list.count;
    return true;
}

Item elab_op_call(Elab *e, const Expr *call, OpId id, const Item *args, Names names) {
    const OpInfo *op = op_info(id);
    if (op->later) return elab_error(e, call->mark, "%s is not supported yet", op->name);
    Slots slots = {0};
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        slots.item[i] = (Item){.kind = ITEM_NONE};
        slots.span[i] = call->mark;
    }
    if (!fill_slots(e, call, op, args, &slots)) return item_error();
    Attr attr[OP_ATTRS_MAX];
    OpUse use = {.op = id, .span = call->mark, .attr = attr, .names = names};
    bool good = fill_attrs(e, call, op, &slots, attr);
    if (!spread_operands(e, call, op, &slots, &use) || !good) return item_error();
    return elab_op(e, &use);
}

// ---- unknown ops ----

Item elab_unknown_call(Elab *e, const Expr *call) {
    const char *name = call->call.base->name;
    elab_error(e, call->mark, "unknown op, fn or block %s", name);
    const char *near = scope_nearest(e, e->functions, name);
    if (!near) near = elab_nearest(name, op_names());
    if (near) diag_help(e->diags, "did you mean %s?", near);
    return item_error();
}
