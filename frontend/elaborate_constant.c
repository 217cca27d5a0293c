// Operators on constants and sizes (language.md section 3): 64-bit integers are checked, sizes stay
// in the normal form of the dim table.
#include "frontend/elaborate_state.h"

#include <math.h>
#include <string.h>

bool item_is_number(Item item) {
    return item.kind == ITEM_INT || item.kind == ITEM_FLOAT;
}

bool item_is_size(Item item) {
    return item.kind == ITEM_INT || item.kind == ITEM_SIZE;
}

bool item_is_scalar(Item item) {
    return item_is_number(item) || item.kind == ITEM_SIZE || item.kind == ITEM_BOOL;
}

bool item_is_constant(Item item) {
    switch (item.kind) {
    case ITEM_INT:
    case ITEM_FLOAT:
    case ITEM_BOOL:
    case ITEM_STRING:
    case ITEM_DTYPE: return true;
    case ITEM_LIST: return item.list.constant;
    default: return false;
    }
}

const char *item_kind_name(Item item) {
    switch (item.kind) {
    case ITEM_ERROR: return "an error";
    case ITEM_NONE: return "None";
    case ITEM_INT: return "an int";
    case ITEM_FLOAT: return "a float";
    case ITEM_BOOL: return "a bool";
    case ITEM_STRING: return "a string";
    case ITEM_DTYPE: return "a dtype";
    case ITEM_SIZE: return "a size";
    case ITEM_CONDITION: return "a condition on sizes";
    case ITEM_LIST: return "a list";
    case ITEM_VALUE: return "a tensor";
    case ITEM_RESULTS: return "several results";
    case ITEM_COUNTER: return "the counter of a repeat";
    case ITEM_FUNCTION: return "a function";
    }
    return "";
}

static Dim to_dim(Elab *e, Item item) {
    return item.kind == ITEM_SIZE ? item.size : dim_const(e->dims, item.integer);
}

static double to_double(Item item) {
    return item.kind == ITEM_INT ? (double)item.integer : item.number;
}

Item size_item(Elab *e, Span span, Dim size) {
    int64_t value;
    if (size == DIM_NONE) return elab_error(e, span, "the size does not fit in 64 bits");
    if (dim_is_const(e->dims, size, &value)) return item_int(value);
    return (Item){.kind = ITEM_SIZE, .size = size};
}

// ---- arithmetic ----

static bool int_power(int64_t base, int64_t exponent, int64_t *out) {
    int64_t result = 1;
    while (exponent > 0) {
        if (exponent & 1 && !checked_mul(result, base, &result)) return false;
        exponent >>= 1;
        if (exponent && !checked_mul(base, base, &base)) return false;
    }
    *out = result;
    return true;
}

static Item int_arithmetic(Elab *e, Span span, Operator op, int64_t a, int64_t b) {
    int64_t result = 0;
    bool fits = true;
    switch (op) {
    case OPERATOR_ADD: fits = checked_add(a, b, &result); break;
    case OPERATOR_SUB: fits = !__builtin_sub_overflow(a, b, &result); break;
    case OPERATOR_MUL: fits = checked_mul(a, b, &result); break;
    case OPERATOR_DIV:
        if (b == 0) return elab_error(e, span, "division by zero");
        return item_float((double)a / (double)b);
    case OPERATOR_FLOORDIV:
        fits = !(a == INT64_MIN && b == -1);
        result = b == 0 ? 0 : floor_div(a, b);
        break;
    case OPERATOR_REM: result = b == 0 ? a : floor_mod(a, b); break;
    case OPERATOR_POW:
        if (b < 0) return item_float(pow((double)a, (double)b));
        fits = int_power(a, b, &result);
        break;
    default: return elab_error(e, span, "'%s' needs tensors", operator_text(op));
    }
    if (!fits) return elab_error(e, span, "the integer does not fit in 64 bits");
    return item_int(result);
}

static Item float_arithmetic(Elab *e, Span span, Operator op, double a, double b) {
    switch (op) {
    case OPERATOR_ADD: return item_float(a + b);
    case OPERATOR_SUB: return item_float(a - b);
    case OPERATOR_MUL: return item_float(a * b);
    case OPERATOR_DIV: return item_float(a / b);
    case OPERATOR_FLOORDIV: return item_float(floor(a / b));
    case OPERATOR_REM: {
        double rest = fmod(a, b);
        return item_float(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    case OPERATOR_POW: return item_float(pow(a, b));
    default: return elab_error(e, span, "'%s' needs tensors", operator_text(op));
    }
}

static Item size_arithmetic(Elab *e, Span span, Operator op, Dim a, Dim b) {
    switch (op) {
    case OPERATOR_ADD: return size_item(e, span, dim_add(e->dims, a, b));
    case OPERATOR_SUB: return size_item(e, span, dim_sub(e->dims, a, b));
    case OPERATOR_MUL: return size_item(e, span, dim_mul(e->dims, a, b));
    case OPERATOR_FLOORDIV: return size_item(e, span, dim_floor_div(e->dims, a, b));
    case OPERATOR_REM: return size_item(e, span, dim_floor_mod(e->dims, a, b));
    default:
        return elab_error(e, span, "'%s' does not work on sizes%s", operator_text(op),
                          op == OPERATOR_DIV ? "; '//' does" : "");
    }
}

// ---- comparisons and logic ----

static bool compare_order(Operator op, int order) { // order: < 0, 0, > 0
    switch (op) {
    case OPERATOR_LT: return order < 0;
    case OPERATOR_LE: return order <= 0;
    case OPERATOR_GT: return order > 0;
    case OPERATOR_GE: return order >= 0;
    case OPERATOR_EQ: return order == 0;
    default: return order != 0;
    }
}

static bool compare_floats(Operator op, double a, double b) {
    if (isnan(a) || isnan(b)) return op == OPERATOR_NE;
    return compare_order(op, a < b ? -1 : a > b);
}

static Item compare_sizes(Elab *e, Operator op, Dim a, Dim b) {
    static const DimRelation relations[] = {
        [OPERATOR_LT] = DIM_LT, [OPERATOR_LE] = DIM_LE, [OPERATOR_GT] = DIM_GT,
        [OPERATOR_GE] = DIM_GE, [OPERATOR_EQ] = DIM_EQ, [OPERATOR_NE] = DIM_NE};
    DimRelation relation = relations[op];
    // A dump keeps each of its checks, so that it prints the same again.
    Proof proof = dim_prove(e->dims, a, relation, b);
    if (proof == PROOF_NO || (proof == PROOF_YES && !e->dump)) return item_bool(proof == PROOF_YES);
    Relation *made = arena_alloc(e->arena, sizeof *made);
    *made = (Relation){a, b, relation};
    return (Item){.kind = ITEM_CONDITION, .condition = {made, 1}};
}

static bool is_condition(Item item) {
    return item.kind == ITEM_BOOL || item.kind == ITEM_CONDITION;
}

static Item logic(Elab *e, const Expr *expr, Item left, Item right) {
    bool is_and = expr->binary.op == OPERATOR_AND;
    if (!is_condition(left) || !is_condition(right))
        return elab_error(e, expr->mark, "'%s' needs bools, not %s and %s",
                          operator_text(expr->binary.op), item_kind_name(left),
                          item_kind_name(right));
    if (left.kind == ITEM_BOOL) return left.boolean == is_and ? right : left;
    if (right.kind == ITEM_BOOL) return right.boolean == is_and ? left : right;
    if (!is_and)
        return elab_error(e, expr->mark, "'or' of two conditions on sizes is not supported yet");
    uint32_t count = left.condition.count + right.condition.count;
    if (count > LIST_MAX) return elab_error(e, expr->mark, "the condition is too long");
    Relation *all = arena_alloc(e->arena, count * sizeof *all);
    memcpy(all, left.condition.at, left.condition.count * sizeof *all);
    memcpy(all + left.condition.count, right.condition.at, right.condition.count * sizeof *all);
    return (Item){.kind = ITEM_CONDITION, .condition = {all, count}};
}

static Item negated(Elab *e, Span span, Item item) {
    static const DimRelation opposite[] = {[DIM_EQ] = DIM_NE, [DIM_NE] = DIM_EQ, [DIM_LT] = DIM_GE,
                                           [DIM_LE] = DIM_GT, [DIM_GT] = DIM_LE, [DIM_GE] = DIM_LT};
    if (item.kind == ITEM_BOOL) return item_bool(!item.boolean);
    if (item.condition.count != 1)
        return elab_error(e, span, "'not' of several conditions on sizes is not supported yet");
    Relation *made = arena_alloc(e->arena, sizeof *made);
    *made = item.condition.at[0];
    made->relation = opposite[made->relation];
    return (Item){.kind = ITEM_CONDITION, .condition = {made, 1}};
}

static Item comparison(Elab *e, const Expr *expr, Item left, Item right) {
    Operator op = expr->binary.op;
    bool equality = op == OPERATOR_EQ || op == OPERATOR_NE;
    if (item_is_size(left) && item_is_size(right) &&
        (left.kind == ITEM_SIZE || right.kind == ITEM_SIZE))
        return compare_sizes(e, op, to_dim(e, left), to_dim(e, right));
    if (left.kind == ITEM_INT && right.kind == ITEM_INT)
        return item_bool(
            compare_order(op, left.integer < right.integer ? -1 : left.integer > right.integer));
    if (item_is_number(left) && item_is_number(right))
        return item_bool(compare_floats(op, to_double(left), to_double(right)));
    if (equality && left.kind == right.kind) {
        if (left.kind == ITEM_BOOL)
            return item_bool(compare_order(op, left.boolean != right.boolean));
        if (left.kind == ITEM_DTYPE) return item_bool(compare_order(op, left.dtype != right.dtype));
        if (left.kind == ITEM_STRING) {
            if (!elab_plain(e, expr->mark, left.string) || !elab_plain(e, expr->mark, right.string))
                return item_error();
            return item_bool(compare_order(op, strcmp(left.string, right.string)));
        }
    }
    return elab_error(e, expr->mark, "'%s' cannot compare %s and %s", operator_text(op),
                      item_kind_name(left), item_kind_name(right));
}

// ---- operators ----

Item constant_unary(Elab *e, const Expr *expr, Item item) {
    Operator op = expr->binary.op;
    if (item.kind == ITEM_ERROR) return item;
    if (op == OPERATOR_NOT && is_condition(item)) return negated(e, expr->mark, item);
    if (op != OPERATOR_NOT) {
        bool plus = op == OPERATOR_PLUS;
        if (plus && (item_is_number(item) || item.kind == ITEM_SIZE)) return item;
        if (item.kind == ITEM_FLOAT) return item_float(-item.number);
        if (item.kind == ITEM_INT)
            return int_arithmetic(e, expr->mark, OPERATOR_SUB, 0, item.integer);
        if (item.kind == ITEM_SIZE)
            return size_arithmetic(e, expr->mark, OPERATOR_SUB, dim_const(e->dims, 0), item.size);
    }
    return elab_error(e, expr->mark, "'%s' does not work on %s", operator_text(op),
                      item_kind_name(item));
}

Item constant_binary(Elab *e, const Expr *expr, Item left, Item right) {
    Operator op = expr->binary.op;
    if (left.kind == ITEM_ERROR || right.kind == ITEM_ERROR) return item_error();
    if (op == OPERATOR_AND || op == OPERATOR_OR) return logic(e, expr, left, right);
    if (op >= OPERATOR_LT && op <= OPERATOR_NE) return comparison(e, expr, left, right);
    if (left.kind == ITEM_INT && right.kind == ITEM_INT)
        return int_arithmetic(e, expr->mark, op, left.integer, right.integer);
    if (item_is_size(left) && item_is_size(right))
        return size_arithmetic(e, expr->mark, op, to_dim(e, left), to_dim(e, right));
    if (item_is_number(left) && item_is_number(right))
        return float_arithmetic(e, expr->mark, op, to_double(left), to_double(right));
    return elab_error(e, expr->mark, "'%s' does not work on %s and %s", operator_text(op),
                      item_kind_name(left), item_kind_name(right));
}

Item constant_extreme(Elab *e, Span span, bool maximum, Item left, Item right) {
    if (left.kind == ITEM_ERROR || right.kind == ITEM_ERROR) return item_error();
    if (left.kind == ITEM_INT && right.kind == ITEM_INT)
        return (left.integer > right.integer) == maximum ? left : right;
    if (item_is_size(left) && item_is_size(right)) {
        Dim a = to_dim(e, left), b = to_dim(e, right);
        return size_item(e, span, maximum ? dim_max(e->dims, a, b) : dim_min(e->dims, a, b));
    }
    if (item_is_number(left) && item_is_number(right)) {
        double a = to_double(left), b = to_double(right);
        if (isnan(a) || isnan(b)) return item_float(NAN);
        return item_float((a > b) == maximum ? a : b);
    }
    return elab_error(e, span, "%s does not work on %s and %s", maximum ? "maximum" : "minimum",
                      item_kind_name(left), item_kind_name(right));
}
