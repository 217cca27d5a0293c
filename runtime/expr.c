#include "runtime/expr.h"

#include <string.h>

static bool floor_divide(int64_t x, int64_t y, int64_t *quotient) {
    if (y == 0) {
        *quotient = 0;
        return true;
    }
    if (x == INT64_MIN && y == -1) return false;
    *quotient = x / y - (x % y != 0 && (x < 0) != (y < 0));
    return true;
}

static int64_t floor_modulo(int64_t x, int64_t y) {
    if (y == 0) return x;
    if (y == -1) return 0;
    int64_t rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

bool expr_check_all(const uint8_t *code, size_t size, const AdxDim *dims, uint32_t dim_count,
                    uint8_t *flags, size_t *at) {
    static const uint8_t source_flags[] = {
        [ADX_DIM_INPUT] = EXPR_INPUT, [ADX_DIM_HOST] = EXPR_HOST, [ADX_DIM_TRIP] = EXPR_TRIP};
    memset(flags, 0, size);
    size_t start = 0;
    int depth = 0;
    for (size_t i = 0; i < size;) {
        *at = i;
        switch (code[i]) {
        case ADX_END:
            if (depth != 1) return false;
            flags[start] |= EXPR_START;
            depth = 0;
            start = i += 1;
            continue;
        case ADX_CONST:
            if (size - i < 9 || ++depth > ADX_STACK_MAX) return false;
            i += 9;
            continue;
        case ADX_SYMBOL:
            if (size - i < 2 || code[i + 1] >= dim_count || ++depth > ADX_STACK_MAX) return false;
            flags[start] |= source_flags[dims[code[i + 1]].source];
            i += 2;
            continue;
        case ADX_ADD:
        case ADX_MUL:
        case ADX_FLOOR_DIV:
        case ADX_FLOOR_MOD:
        case ADX_MIN:
        case ADX_MAX:
            if (--depth < 1) return false;
            i++;
            continue;
        default: return false;
        }
    }
    *at = size;
    return start == size;
}

bool expr_evaluate(const uint8_t *code, const int64_t *values, int64_t *result) {
    int64_t stack[ADX_STACK_MAX + 1], *top = stack; // stack[0] lies below the first value
    for (;;) {
        int64_t y;
        switch (*code++) {
        case ADX_END: *result = *top; return true;
        case ADX_CONST:
            memcpy(++top, code, 8);
            code += 8;
            break;
        case ADX_SYMBOL: *++top = values[*code++]; break;
        case ADX_ADD:
            y = *top--;
            if (__builtin_add_overflow(*top, y, top)) return false;
            break;
        case ADX_MUL:
            y = *top--;
            if (__builtin_mul_overflow(*top, y, top)) return false;
            break;
        case ADX_FLOOR_DIV:
            y = *top--;
            if (!floor_divide(*top, y, top)) return false;
            break;
        case ADX_FLOOR_MOD:
            y = *top--;
            *top = floor_modulo(*top, y);
            break;
        case ADX_MIN:
            y = *top--;
            if (y < *top) *top = y;
            break;
        case ADX_MAX:
            y = *top--;
            if (y > *top) *top = y;
            break;
        default: return false;
        }
    }
}

bool expr_compare(uint32_t relation, int64_t left, int64_t right) {
    switch (relation) {
    case ADX_EQ: return left == right;
    case ADX_NE: return left != right;
    case ADX_LT: return left < right;
    case ADX_LE: return left <= right;
    case ADX_GT: return left > right;
    default: return left >= right;
    }
}
