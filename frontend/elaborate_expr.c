// Expressions: names, operators, strings, lists; weak scalars.
#include "frontend/elaborate_state.h"

#include <math.h>
#include <string.h>

enum {
    EVAL_DEPTH_MAX = 2048, // expressions inside calls inside expressions ..
    STEPS_MAX = 20000000   // expressions of one model, as often as they are elaborated
};

// ---- names of values ----

Names names_inside(Names names) {
    return (Names){.prefix = names.prefix};
}

const char *names_self(Elab *e, Names names, uint32_t index, const char *fallback) {
    if (index < names.count && names.self[index]) return names.self[index];
    if (!names.prefix || !names.prefix[0]) return fallback;
    return arena_printf(e->arena, "%s.%s", names.prefix, fallback);
}

// ---- weak scalars ----

static const char *scalar_fault(Elab *e, Item item, DType dtype) {
    if ((item.kind == ITEM_BOOL) != (dtype == DT_BOOL))
        return arena_printf(e->arena, "%s does not go with %s", item_kind_name(item),
                            dtype_name(dtype));
    if (item.kind == ITEM_FLOAT) {
        if (!dtype_is_float(dtype))
            return arena_printf(e->arena, "a float does not go with %s", dtype_name(dtype));
        if (isfinite(item.number) && isinf(number_cast(dtype, item.number)))
            return arena_printf(e->arena, "the number is infinite in %s", dtype_name(dtype));
    }
    if (item.kind == ITEM_INT && dtype_is_int(dtype) &&
        number_cast(dtype, (double)item.integer) != (double)item.integer)
        return arena_printf(e->arena, "%lld does not fit in %s", (long long)item.integer,
                            dtype_name(dtype));
    return NULL;
}

static Attr scalar_attr(Item item, DType dtype) {
    switch (item.kind) {
    case ITEM_FLOAT: return attr_float(item.number);
    case ITEM_SIZE: return attr_size(item.size);
    case ITEM_BOOL: return attr_int(item.boolean);
    default:
        return dtype_is_float(dtype) ? attr_float((double)item.integer) : attr_int(item.integer);
    }
}

ValueId elab_value(Elab *e, Span span, Item item, DType dtype) {
    if (item.kind == ITEM_ERROR) return 0;
    if (item.kind == ITEM_VALUE) return item.value;
    if (!item_is_scalar(item) || dtype == DT_NONE) {
        elab_error(e, span, "a tensor is needed, this is %s", item_kind_name(item));
        return 0;
    }
    const char *fault = scalar_fault(e, item, dtype);
    if (fault) {
        elab_error(e, span, "%s", fault);
        return 0;
    }
    const OpInfo *full = op_info(OP_FULL);
    Attr attr[OP_ATTRS_MAX];
    op_attr_defaults(e->dims, e->arena, full, attr);
    attr[op_attr_index(full, "shape")] = attr_sizes(NULL, 0);
    attr[op_attr_index(full, "value")] = scalar_attr(item, dtype);
    attr[op_attr_index(full, "dtype")] = attr_dtype(dtype);
    const Loc *loc;
    uint32_t locs = elab_locs(e, span, &loc);
    NodeSpec spec = {.op = OP_FULL,
                     .attr = attr,
                     .inline_view = true,
                     .loc = loc,
                     .locs = locs,
                     .name = "scalar.0", // no name of the user's
                     .span = span};
    NodeId node = graph_add(e->graph, e->diags, &spec);
    if (!node) elab_notes(e);
    return graph_result(e->graph, node, 0);
}

// ---- names and strings ----

static Item predeclared(Elab *e, const Expr *expr) {
    if (strcmp(expr->name, "inf") == 0) return item_float(INFINITY);
    if (strcmp(expr->name, "nan") == 0) return item_float(NAN);
    if (strcmp(expr->name, "pi") == 0) return item_float(3.14159265358979323846);
    elab_error(e, expr->span, "unknown name %s", expr->name);
    const char *near = scope_nearest(e, e->scope, expr->name);
    if (near)
        diag_help(e->diags, "did you mean %s?", near);
    else if (scope_find(e->functions, expr->name) || op_find(expr->name) != OP_NONE)
        diag_help(e->diags, "to call it, write %s(...)", expr->name);
    return item_error();
}

static Item elab_name(Elab *e, const Expr *expr) {
    Binding *binding = scope_find(e->scope, expr->name);
    if (!binding) return predeclared(e, expr);
    if (binding->site) binding->site->used = true;
    if (binding->kind == BIND_COUNTER)
        return elab_error(e, expr->span,
                          "%s counts a repeat; it may stand only in strings, as \"{%s}\"",
                          expr->name, expr->name);
    return binding->item;
}

static bool insert(Elab *e, const Expr *expr, Text *out) {
    const Binding *counter = expr->kind == EXPR_NAME ? scope_find(e->scope, expr->name) : NULL;
    if (counter && counter->kind == BIND_COUNTER) {
        text_printf(out, "%c%s%c", COUNTER_MARK, counter->item.string, COUNTER_MARK);
        return true;
    }
    Item item = elab_constant(e, expr);
    switch (item.kind) {
    case ITEM_INT: text_printf(out, "%lld", (long long)item.integer); return true;
    case ITEM_FLOAT: text_double(out, item.number); return true;
    case ITEM_BOOL: text_put(out, item.boolean ? "true" : "false"); return true;
    case ITEM_STRING: text_put(out, item.string); return true;
    case ITEM_DTYPE: text_put(out, dtype_name(item.dtype)); return true;
    case ITEM_ERROR: return false;
    default:
        elab_error(e, expr->span, "%s does not go into a string", item_kind_name(item));
        return false;
    }
}

const char *elab_string(Elab *e, const String *string, bool key) {
    Text text = {0};
    text_put(&text, "");
    bool good = true;
    for (uint32_t i = 0; i < string->parts.len && good; i++) {
        const StringPart *part = &string->parts.at[i];
        if (part->star && !key) {
            elab_error(e, string->span, "'{*}' stands only in the keys of params");
            good = false;
        } else if (part->star) {
            text_printf(&text, "%c", STAR_MARK);
        } else if (part->text) {
            text_put(&text, part->text);
        } else {
            good = insert(e, part->expr, &text);
        }
        if (good && text.len > STRING_LENGTH_MAX) {
            elab_error(e, string->span, "the string is longer than %d bytes", STRING_LENGTH_MAX);
            good = false;
        }
    }
    const char *result = good ? arena_strndup(e->arena, text.data, text.len) : NULL;
    text_free(&text);
    return result;
}

// ---- operators ----

static Item apply_operator(Elab *e, const Expr *expr, const Item *operand, uint32_t count,
                           Names names) {
    bool tensor = false;
    Span span[2] = {expr->binary.left->span, count == 2 ? expr->binary.right->span : expr->span};
    for (uint32_t i = 0; i < count; i++) {
        if (operand[i].kind == ITEM_ERROR) return item_error();
        if (operand[i].kind == ITEM_RESULTS)
            return elab_error(e, span[i], "an operand must be one tensor, this is %u results",
                              operand[i].list.count);
        tensor = tensor || operand[i].kind == ITEM_VALUE;
    }
    if (!tensor)
        return count == 1 ? constant_unary(e, expr, operand[0])
                          : constant_binary(e, expr, operand[0], operand[1]);
    if (expr->binary.op == OPERATOR_PLUS) return operand[0];
    return elab_op(e, &(OpUse){.op = op_find(operator_op(expr->binary.op)),
                               .span = expr->mark,
                               .operand = operand,
                               .operand_span = span,
                               .operands = count,
                               .names = names});
}

// Left sides in a loop: a sum may have any number of terms.
static Item elab_binary(Elab *e, const Expr *expr, Names names) {
    uint32_t count = 0;
    const Expr *leaf = expr;
    for (; leaf->kind == EXPR_BINARY; leaf = leaf->binary.left) count++;
    const Expr **chain = arena_alloc(e->arena, count * sizeof *chain);
    leaf = expr;
    for (uint32_t i = count; i-- > 0; leaf = leaf->binary.left) chain[i] = leaf;
    Item operand[2] = {elab_expr(e, leaf, names_inside(names))};
    for (uint32_t i = 0; i < count; i++) {
        operand[1] = elab_expr(e, chain[i]->binary.right, names_inside(names));
        operand[0] =
            apply_operator(e, chain[i], operand, 2, i + 1 == count ? names : names_inside(names));
    }
    return operand[0];
}

static Item elab_unary(Elab *e, const Expr *expr, Names names) {
    Item operand = elab_expr(e, expr->binary.left, names_inside(names));
    return apply_operator(e, expr, &operand, 1, names);
}

// ---- the rest ----

static Item elab_list(Elab *e, const Expr *expr, Names names) {
    Item *item = arena_alloc(e->arena, expr->list.len * sizeof *item);
    ItemList list = {.at = item, .count = expr->list.len, .constant = true};
    bool good = true;
    for (uint32_t i = 0; i < expr->list.len; i++) {
        item[i] = elab_expr(e, expr->list.at[i], names_inside(names));
        good = good && item[i].kind != ITEM_ERROR;
        list.constant = list.constant && item_is_constant(item[i]);
        list.leaves += item[i].kind == ITEM_LIST ? item[i].list.leaves : 1;
    }
    if (!good) return item_error();
    if (list.leaves > LIST_MAX)
        return elab_error(e, expr->span, "the list has more than %d elements", LIST_MAX);
    if (list.leaves == 0) list.leaves = 1;
    return (Item){.kind = ITEM_LIST, .list = list};
}

static Item elab_field(Elab *e, const Expr *expr, Names names) {
    const char *field = expr->field.name;
    Item base = elab_expr(e, expr->field.base, names_inside(names));
    if (base.kind == ITEM_ERROR) return base;
    if (strcmp(field, "shape") == 0 || strcmp(field, "dtype") == 0)
        return elab_error(e, expr->span, ".%s is not in version 1", field);
    bool last_two = strcmp(field, "mT") == 0;
    if (!last_two && strcmp(field, "T") != 0)
        return elab_error(e, expr->span, "unknown member .%s; a tensor has .T and .mT", field);
    ValueId value = elab_value(e, expr->field.base->span, base, DT_NONE);
    if (!value) return item_error();
    unsigned rank = graph_value(e->graph, value)->type.rank;
    if (last_two ? rank < 2 : rank != 2)
        return elab_error(e, expr->span, ".%s needs a tensor of rank 2%s, not %u", field,
                          last_two ? " or more" : "", rank);
    Attr attr[OP_ATTRS_MAX];
    op_attr_defaults(e->dims, e->arena, op_info(OP_TRANSPOSE), attr);
    attr[0] = attr_int(rank - 2);
    attr[1] = attr_int(rank - 1);
    return elab_op(e, &(OpUse){.op = OP_TRANSPOSE,
                               .span = expr->span,
                               .operand = &base,
                               .operand_span = &expr->field.base->span,
                               .operands = 1,
                               .attr = attr,
                               .names = names});
}

static Item elab_at(Elab *e, const Expr *expr, Names names) {
    if (expr->at.base->kind != EXPR_CALL)
        return elab_error(e, expr->span, "`at` stands behind the call of a block");
    return elab_call(e, expr->at.base, expr->at.path, names);
}

static Item elab_kind(Elab *e, const Expr *expr, Names names) {
    const char *string;
    switch (expr->kind) {
    case EXPR_NAME: return elab_name(e, expr);
    case EXPR_INT: return item_int(expr->integer);
    case EXPR_FLOAT: return item_float(expr->number);
    case EXPR_BOOL: return item_bool(expr->boolean);
    case EXPR_STRING:
        string = elab_string(e, expr->string, false);
        return string ? (Item){.kind = ITEM_STRING, .string = string} : item_error();
    case EXPR_DTYPE: return (Item){.kind = ITEM_DTYPE, .dtype = expr->dtype};
    case EXPR_NONE: return (Item){.kind = ITEM_NONE};
    case EXPR_ELLIPSIS: return elab_error(e, expr->span, "'...' has no value");
    case EXPR_UNARY: return elab_unary(e, expr, names);
    case EXPR_BINARY: return elab_binary(e, expr, names);
    case EXPR_CALL: return elab_call(e, expr, NULL, names);
    case EXPR_INDEX: return elab_index(e, expr, names);
    case EXPR_FIELD: return elab_field(e, expr, names);
    case EXPR_AT: return elab_at(e, expr, names);
    case EXPR_LIST: return elab_list(e, expr, names);
    }
    return item_error();
}

Item elab_expr(Elab *e, const Expr *expr, Names names) {
    if (e->stopped) return item_error();
    if (e->depth == EVAL_DEPTH_MAX || ++e->steps > STEPS_MAX) {
        elab_error(e, expr->span,
                   e->steps > STEPS_MAX ? "the model takes too many steps to elaborate"
                                        : "calls and expressions are nested too deeply");
        e->stopped = true;
        return item_error();
    }
    e->depth++;
    Item item = elab_kind(e, expr, names);
    e->depth--;
    return item;
}

Item elab_constant(Elab *e, const Expr *expr) {
    Item item = elab_expr(e, expr, (Names){0});
    if (item.kind == ITEM_ERROR || item_is_constant(item)) return item;
    return elab_error(e, expr->span, "a constant is needed, this is %s", item_kind_name(item));
}
