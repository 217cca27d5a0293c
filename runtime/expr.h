// Dim expressions of a package: postfix bytecode over 64-bit integers (runtime/format.h).
#pragma once

#include "runtime/format.h"

#include <stdbool.h>
#include <stddef.h>

// What an expression depends on; EXPR_START marks a byte where one begins.
enum { EXPR_START = 128, EXPR_INPUT = 1, EXPR_HOST = 2, EXPR_TRIP = 4 };

// Checks a section of expressions that follow one another: operators, operands, stack, symbols.
// Writes to flags[i], for each of its bytes, EXPR_START and what the expression depends on where
// one begins, else 0. On failure `*at` is the byte that is wrong.
bool expr_check_all(const uint8_t *code, size_t size, const AdxDim *dims, uint32_t dim_count,
                    uint8_t *flags, size_t *at);
// The value of a checked expression; `values` has one number a dim. False on overflow.
bool expr_evaluate(const uint8_t *code, const int64_t *values, int64_t *result);
// Whether left and right stand in that relation.
bool expr_compare(uint32_t relation, int64_t left, int64_t right);
