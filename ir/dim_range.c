// Interval arithmetic that knows when it leaves 64 bits.
#include "ir/dim_table.h"

static const Range range_unknown = {INT64_MIN, INT64_MAX, false};

Range range_of(int64_t lo, int64_t hi) {
    return (Range){lo, hi, true};
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static Range hull(const int64_t *values, unsigned count) {
    Range range = range_of(values[0], values[0]);
    for (unsigned i = 1; i < count; i++) {
        range.lo = least(range.lo, values[i]);
        range.hi = most(range.hi, values[i]);
    }
    return range;
}

Range range_add(Range a, Range b) {
    Range sum = {.known = a.known && b.known};
    if (!sum.known || !checked_add(a.lo, b.lo, &sum.lo) || !checked_add(a.hi, b.hi, &sum.hi))
        return range_unknown;
    return sum;
}

Range range_mul(Range a, Range b) {
    int64_t ends[4];
    if (!a.known || !b.known || !checked_mul(a.lo, b.lo, &ends[0]) ||
        !checked_mul(a.lo, b.hi, &ends[1]) || !checked_mul(a.hi, b.lo, &ends[2]) ||
        !checked_mul(a.hi, b.hi, &ends[3]))
        return range_unknown;
    return hull(ends, 4);
}

Range range_power(Range a, uint32_t power) {
    Range result = a;
    for (uint32_t i = 1; i < power; i++) result = range_mul(result, a);
    if (power % 2 == 0 && result.known) result.lo = most(result.lo, 0);
    return result;
}

// x // 0 is 0; a quotient is never larger than its dividend.
Range range_floor_div(Range a, Range b) {
    if (!a.known || !b.known || a.lo == INT64_MIN) return range_unknown;
    if (b.lo > 0 || b.hi < 0) {
        int64_t ends[4] = {floor_div(a.lo, b.lo), floor_div(a.lo, b.hi), floor_div(a.hi, b.lo),
                           floor_div(a.hi, b.hi)};
        return hull(ends, 4);
    }
    int64_t size = most(most(-a.lo, a.hi), 0);
    bool positive = a.lo >= 0 && b.lo >= 0;
    return range_of(positive ? 0 : -size, size);
}

// x % 0 is x; otherwise the divisor's sign.
Range range_floor_mod(Range a, Range b) {
    if (!a.known || !b.known) return range_unknown;
    Range result = range_of(0, 0);
    if (b.hi > 0) {
        // A dividend that is not negative bounds its rest.
        result.hi = a.lo >= 0 ? least(a.hi, b.hi - 1) : b.hi - 1;
    }
    if (b.lo < 0) result.lo = a.hi <= 0 ? most(a.lo, b.lo + 1) : b.lo + 1;
    if (b.lo <= 0 && b.hi >= 0) {
        result.lo = least(result.lo, a.lo);
        result.hi = most(result.hi, a.hi);
    }
    return result;
}
