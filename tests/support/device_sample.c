// Data for models on the device, and the bounds that their results are held to.
#include "ir/number.h"
#include "tests/support/device_check.h"

#include <float.h>
#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t x) {
    x ^= x >> 31, x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29, x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static bool begins(const char *name, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(name, kind, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

static double unit(uint64_t hash) { // -1..1
    return (double)(int64_t)hash * 0x1p-63;
}

static double special_float(DType dtype, uint64_t hash) {
    static const double f32[] = {0x1p-149, 0x1.8p-140, FLT_MIN, FLT_MAX, 0x1p31, 0x1.fffffep30};
    static const double f16[] = {0x1p-24, 0x1.8p-20, 0x1p-14, 65504, 2048.5, 1024.5};
    static const double bf16[] = {0x1p-133, 0x1.8p-130, 0x1p-126, 0x1.fep127, 0x1p31, 128.5};
    static const double all[] = {0, INFINITY, NAN, 1, 0.5, 1.5, 2.5, 3};
    const double *own = dtype == DT_F32 ? f32 : dtype == DT_F16 ? f16 : bf16;
    unsigned which = hash % 14;
    double value = which < 8 ? all[which] : own[which - 8];
    return hash >> 20 & 1 ? -value : value;
}

// All bit patterns, each as likely.
static double any_bits(DType dtype, uint64_t hash) {
    uint32_t bits = (uint32_t)(hash >> 32);
    return number_load(dtype, &bits);
}

static double sample_float(const char *name, DType dtype, uint64_t hash) {
    int reach = dtype == DT_F16 ? 14 : 100; // exponents
    double size = ldexp(1 + (double)(hash >> 44) * 0x1p-20, (int)(hash % (2u * reach)) - reach);
    if (begins(name, "any")) {
        if (hash >> 40 & 1) return special_float(dtype, hash);
        return hash >> 41 & 1 ? size * (hash >> 42 & 1 ? -1 : 1) : unit(hash) * 8;
    }
    if (begins(name, "spike")) {
        static const double spikes[] = {INFINITY, -INFINITY, NAN};
        return hash >> 40 & 15 ? unit(hash) * 2 : spikes[hash % 3];
    }
    if (begins(name, "bits")) return any_bits(dtype, hash);
    if (begins(name, "turn")) return unit(hash) * (hash & 1 ? 0x1p17 : 32);
    if (begins(name, "pos")) return size;
    if (begins(name, "far")) return ldexp(unit(hash), (int)(hash % 121) - 60);
    if (begins(name, "span")) {
        double one = ldexp(1 + (double)(hash >> 44) * 0x1p-21, (int)(hash % 28) - 14);
        return hash >> 40 & 1 ? -one : one;
    }
    if (begins(name, "rest")) return hash % 3 ? 0 : unit(hash);
    if (begins(name, "wide")) return ldexp(unit(hash), (int)(hash % 13) - 6);
    if (begins(name, "near")) return unit(hash) * 10;
    if (begins(name, "unit")) return unit(hash);
    if (begins(name, "tiny")) return (double)(hash % 9) - 4;
    if (begins(name, "tenth")) return ((double)(hash % 101) - 50) / 10;
    return unit(hash) * 2;
}

static double sample_int(const char *name, DType dtype, uint64_t hash) {
    bool negative = dtype_is_signed(dtype);
    unsigned bits = dtype_bits(dtype);
    int64_t high = ((int64_t)1 << (bits - negative)) - 1, low = negative ? -high - 1 : 0;
    if (begins(name, "any")) {
        const int64_t extremes[] = {low, high, 0, 1, negative ? -1 : 1, low + 1, high - 1, 2};
        if (hash >> 40 & 1) return (double)extremes[hash % 8];
        return number_wrap(dtype, (int64_t)(hash >> 16));
    }
    if (begins(name, "pos")) return (double)(1 + (int64_t)(hash % 20));
    if (begins(name, "index")) return (double)((int64_t)(hash % 17) - (negative ? 8 : 0));
    if (begins(name, "tiny")) return (double)((int64_t)(hash % 9) - (negative ? 4 : 0));
    return (double)((int64_t)(hash % 41) - (negative ? 20 : 0));
}

double device_sample(const char *name, DType dtype, uint64_t seed, int64_t index) {
    bool cancel = begins(name, "cancel"), pairs = cancel || begins(name, "pairs");
    uint64_t key[] = {seed, (uint64_t)(pairs ? index / 2 : index)};
    uint64_t hash = mix(hash_bytes(mix(hash_bytes(7, name, strlen(name))), key, sizeof key));
    if (dtype == DT_BOOL) return (double)(hash >> 40 & 1);
    double value =
        dtype_is_int(dtype) ? sample_int(name, dtype, hash) : sample_float(name, dtype, hash);
    if (cancel && index & 1) value = -value * (dtype_is_int(dtype) ? 1 : 1 + 0x1p-6);
    return number_cast(dtype, value);
}

double ulp_of(DType dtype, double value) {
    int digits = dtype == DT_F16 ? 11 : dtype == DT_BF16 ? 8 : 24;
    int least = dtype == DT_F16 ? -13 : -125; // exponent of the smallest normal number, as frexp's
    int exponent = least;
    if (isfinite(value) && value != 0) frexp(value, &exponent);
    return ldexp(1, (exponent < least ? least : exponent) - digits);
}

// The next number beyond the largest one, where rounding to infinity begins half an ulp before.
static double bounded(DType dtype, double value) {
    if (!isinf(value)) return value;
    return copysign(dtype == DT_F16 ? 0x1p16 : 0x1p128, value);
}

bool bound_holds(const Bound *bound, DType dtype, double got, double want, double sums) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (bound->bits && got == 0 && want == 0) return signbit(got) == signbit(want);
    if (got == want) return true;
    if (!dtype_is_float(dtype)) return false;
    if (isinf(got) && isinf(want)) return false;
    if (!isfinite(sums)) sums = 0; // an infinity among what is added must come out
    got = bounded(dtype, got), want = bounded(dtype, want);
    double room = bound->ulps * ulp_of(DT_F32, want) + bound->absolute;
    if (bound->sums > 0) room += bound->sums * 0x1p-24 * fabs(sums);
    if (dtype != DT_F32) room += bound->rounds * ulp_of(dtype, 1) / 2 * fabs(sums);
    if (room > 0 && dtype != DT_F32) room += ulp_of(dtype, want);
    // f32 subnormals may flush to zero.
    if (dtype != DT_F16 && got == 0 && fabs(want) <= FLT_MIN) return true;
    return fabs(got - want) <= room;
}
