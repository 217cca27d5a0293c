#include "ir/number.h"

#include <math.h>
#include <string.h>

// A binary float format without f64's range: exponent and fraction bits, and what the top exponent
// means.
typedef struct FloatFormat {
    int exponent, fraction;
    bool infinity; // the top exponent holds infinities and NaNs; else (f8e4m3) only all ones is NaN
    bool saturate; // what is too large becomes the largest finite value
} FloatFormat;

static bool float_format(DType dtype, FloatFormat *out) {
    switch (dtype) {
    case DT_F32: *out = (FloatFormat){8, 23, true, false}; return true;
    case DT_F16: *out = (FloatFormat){5, 10, true, false}; return true;
    case DT_BF16: *out = (FloatFormat){8, 7, true, false}; return true;
    case DT_F8E4M3: *out = (FloatFormat){4, 3, false, true}; return true;
    case DT_F8E5M2: *out = (FloatFormat){5, 2, true, true}; return true;
    default: return false;
    }
}

static int format_bias(FloatFormat f) {
    return (1 << (f.exponent - 1)) - 1;
}

static double format_largest(FloatFormat f) {
    int top = f.infinity ? format_bias(f) : format_bias(f) + 1;
    double steps = ldexp(2.0, f.fraction) - (f.infinity ? 1 : 2); // e4m3 gives up one code for NaN
    return ldexp(steps, top - f.fraction);
}

// Rounds to the format's grid, exponent unbounded above; halves go to even (the default mode of
// rint).
static double round_float(FloatFormat f, double value) {
    if (isnan(value) || isinf(value) || value == 0) {
        return isinf(value) && f.saturate ? copysign(format_largest(f), value) : value;
    }
    int exponent = ilogb(value), least = 1 - format_bias(f);
    int unit = (exponent < least ? least : exponent) - f.fraction;
    double rounded = ldexp(rint(ldexp(value, -unit)), unit);
    if (fabs(rounded) <= format_largest(f)) return rounded;
    return copysign(f.saturate ? format_largest(f) : INFINITY, value);
}

static void int_range(DType dtype, double *lo, double *hi) {
    switch (dtype) {
    case DT_I8:
        *lo = -128;
        *hi = 127;
        break;
    case DT_U8:
        *lo = 0;
        *hi = 255;
        break;
    case DT_U32:
        *lo = 0;
        *hi = 4294967295.0;
        break;
    default:
        *lo = -2147483648.0;
        *hi = 2147483647.0;
        break;
    }
}

double number_cast(DType dtype, double value) {
    FloatFormat format;
    double lo, hi;
    if (float_format(dtype, &format)) return round_float(format, value);
    if (dtype == DT_BOOL) return value != 0;
    if (isnan(value)) return 0;
    int_range(dtype, &lo, &hi);
    return value <= lo ? lo : value >= hi ? hi : trunc(value);
}

double number_wrap(DType dtype, int64_t value) {
    switch (dtype) {
    case DT_I8: return (int8_t)(uint8_t)value;
    case DT_U8: return (uint8_t)value;
    case DT_U32: return (uint32_t)value;
    case DT_BOOL: return value != 0;
    default: return (int32_t)(uint32_t)value;
    }
}

static uint32_t encode_float(FloatFormat f, double value) {
    uint32_t sign = signbit(value) ? 1u << (f.exponent + f.fraction) : 0;
    uint32_t top = ((1u << f.exponent) - 1) << f.fraction;
    if (isnan(value))
        return sign | top | (f.infinity ? 1u << (f.fraction - 1) : (1u << f.fraction) - 1);
    if (isinf(value)) return sign | top;
    if (value == 0) return sign;
    int exponent = ilogb(value), least = 1 - format_bias(f);
    if (exponent < least) return sign | (uint32_t)ldexp(fabs(value), f.fraction - least);
    uint32_t fraction = (uint32_t)ldexp(fabs(value), f.fraction - exponent) - (1u << f.fraction);
    return sign | (uint32_t)(exponent + format_bias(f)) << f.fraction | fraction;
}

static double decode_float(FloatFormat f, uint32_t bits) {
    uint32_t fraction = bits & ((1u << f.fraction) - 1);
    uint32_t exponent = bits >> f.fraction & ((1u << f.exponent) - 1);
    double sign = bits >> (f.exponent + f.fraction) & 1 ? -1 : 1;
    bool top = exponent == (1u << f.exponent) - 1;
    if (top && f.infinity) return fraction ? (double)NAN : sign * INFINITY;
    if (top && fraction == (1u << f.fraction) - 1) return NAN;
    if (exponent == 0) return sign * ldexp(fraction, 1 - format_bias(f) - f.fraction);
    return sign * ldexp(fraction + (1u << f.fraction), (int)exponent - format_bias(f) - f.fraction);
}

double number_load(DType dtype, const void *bytes) {
    uint32_t bits = 0;
    FloatFormat format;
    memcpy(&bits, bytes, dtype_bytes(dtype));
    if (float_format(dtype, &format)) return decode_float(format, bits);
    return number_wrap(dtype, bits);
}

void number_store(DType dtype, double value, void *bytes) {
    FloatFormat format;
    double cast = number_cast(dtype, value);
    uint32_t bits =
        float_format(dtype, &format) ? encode_float(format, cast) : (uint32_t)(int64_t)cast;
    memcpy(bytes, &bits, dtype_bytes(dtype));
}
