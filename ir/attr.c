// Attributes of ops: making, defaults, equality, copying, printing.
#include "ir/op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

Attr attr_none(void) {
    return (Attr){0};
}

Attr attr_int(int64_t value) {
    return (Attr){.present = true, .i = value};
}

Attr attr_float(double value) {
    return (Attr){.present = true, .is_float = true, .f = value};
}

Attr attr_dtype(DType dtype) {
    return (Attr){.present = true, .dtype = dtype};
}

Attr attr_string(const char *word) {
    return (Attr){.present = true, .s = word};
}

Attr attr_size(Dim size) {
    return (Attr){.present = true, .is_size = true, .size = size};
}

Attr attr_sizes(const Dim *sizes, uint32_t count) {
    return (Attr){.present = true, .sizes = {.at = sizes, .n = count}};
}

Attr attr_ints(const int64_t *values, uint32_t count) {
    return (Attr){.present = true, .ints = {.at = values, .n = count}};
}

Attr attr_pairs(const Dim *before_after, uint32_t axes) {
    return (Attr){.present = true, .sizes = {.at = before_after, .n = 2 * axes, .pairs = true}};
}

int64_t attr_int_of(const Attr *ints, uint32_t axis) {
    return ints->ints.at[ints->ints.n == 1 ? 0 : axis];
}

void attr_pair_of(const Attr *pairs, uint32_t axis, Dim *before, Dim *after) {
    assert(!pairs->sizes.word);
    if (pairs->sizes.pairs) {
        *before = pairs->sizes.at[2 * axis];
        *after = pairs->sizes.at[2 * axis + 1];
    } else {
        *before = *after = pairs->sizes.at[pairs->sizes.n == 1 ? 0 : axis];
    }
}

bool attr_ints_has(const Attr *ints, int64_t value) {
    for (uint32_t i = 0; i < ints->ints.n; i++) {
        if (ints->ints.at[i] == value) return true;
    }
    return false;
}

static bool scalar_default(const char *text, Attr *out) {
    char *end;
    *out = attr_int(strtoll(text, &end, 10));
    if (*end == '\0') return true;
    *out = attr_float(strtod(text, &end));
    return *end == '\0';
}

Attr op_attr_default(DimTable *dims, Arena *arena, const AttrSpec *spec) {
    const char *text = spec->default_text;
    if (!text || strcmp(text, "None") == 0) return attr_none();
    switch (spec->kind) {
    case ATTR_INT: return attr_int(strtoll(text, NULL, 10));
    case ATTR_FLOAT: return attr_float(strtod(text, NULL));
    case ATTR_BOOL: return attr_int(strcmp(text, "true") == 0);
    case ATTR_STRING: return attr_string(text);
    case ATTR_SIZE: return attr_size(dim_const(dims, strtoll(text, NULL, 10)));
    case ATTR_DTYPE: {
        DType dtype = DT_NONE;
        bool known = dtype_from_name(text, &dtype);
        assert(known);
        (void)known;
        return attr_dtype(dtype);
    }
    case ATTR_INTS: {
        int64_t *value = arena_alloc(arena, sizeof *value);
        *value = strtoll(text, NULL, 10);
        return attr_ints(value, 1);
    }
    case ATTR_SIZES:
    case ATTR_PAIRS: {
        Dim *size = arena_alloc(arena, sizeof *size);
        *size = dim_const(dims, strtoll(text, NULL, 10));
        return attr_sizes(size, 1);
    }
    case ATTR_SCALAR: {
        Attr value = attr_none();
        bool number = scalar_default(text, &value);
        assert(number);
        (void)number;
        return value;
    }
    }
    return attr_none();
}

void op_attr_defaults(DimTable *dims, Arena *arena, const OpInfo *op, Attr attr[OP_ATTRS_MAX]) {
    for (uint32_t i = 0; i < OP_ATTRS_MAX; i++) {
        attr[i] = i < op->attrs ? op_attr_default(dims, arena, &op->attr[i]) : attr_none();
    }
}

// Bits, so that NaN equals itself and -0 is not 0.
static bool same_double(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_word(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool attr_equal(AttrKind kind, const Attr *a, const Attr *b) {
    if (a->present != b->present) return false;
    if (!a->present) return true;
    switch (kind) {
    case ATTR_INT:
    case ATTR_BOOL: return a->i == b->i;
    case ATTR_FLOAT: return same_double(a->f, b->f);
    case ATTR_DTYPE: return a->dtype == b->dtype;
    case ATTR_STRING: return same_word(a->s, b->s);
    case ATTR_SIZE: return a->size == b->size;
    case ATTR_SIZES:
    case ATTR_PAIRS:
        return a->sizes.n == b->sizes.n && a->sizes.pairs == b->sizes.pairs &&
               same_word(a->sizes.word, b->sizes.word) &&
               (a->sizes.n == 0 ||
                memcmp(a->sizes.at, b->sizes.at, a->sizes.n * sizeof *a->sizes.at) == 0);
    case ATTR_INTS:
        return a->ints.n == b->ints.n &&
               (a->ints.n == 0 ||
                memcmp(a->ints.at, b->ints.at, a->ints.n * sizeof *a->ints.at) == 0);
    case ATTR_SCALAR:
        if (a->is_float != b->is_float || a->is_size != b->is_size) return false;
        if (a->is_float) return same_double(a->f, b->f);
        return a->is_size ? a->size == b->size : a->i == b->i;
    }
    return false;
}

uint64_t attr_hash(AttrKind kind, const Attr *attr, uint64_t seed) {
    if (!attr->present) return hash_bytes(seed, "none", 4);
    switch (kind) {
    case ATTR_INT:
    case ATTR_BOOL: return hash_bytes(seed, &attr->i, sizeof attr->i);
    case ATTR_FLOAT: return hash_bytes(seed, &attr->f, sizeof attr->f);
    case ATTR_DTYPE: return hash_bytes(seed, &attr->dtype, sizeof attr->dtype);
    case ATTR_STRING: return hash_bytes(seed, attr->s, strlen(attr->s));
    case ATTR_SIZE: return hash_bytes(seed, &attr->size, sizeof attr->size);
    case ATTR_SIZES:
    case ATTR_PAIRS:
        return hash_bytes(seed + attr->sizes.pairs, attr->sizes.at,
                          attr->sizes.n * sizeof *attr->sizes.at);
    case ATTR_INTS: return hash_bytes(seed, attr->ints.at, attr->ints.n * sizeof *attr->ints.at);
    case ATTR_SCALAR:
        if (attr->is_float) return hash_bytes(seed, &attr->f, sizeof attr->f);
        if (attr->is_size) return hash_bytes(seed, &attr->size, sizeof attr->size);
        return hash_bytes(seed, &attr->i, sizeof attr->i);
    }
    return seed;
}

static void *copy_list(Arena *arena, const void *from, size_t size) {
    void *to = arena_alloc(arena, size);
    if (size) memcpy(to, from, size);
    return to;
}

Attr attr_copy(Arena *arena, AttrKind kind, const Attr *attr) {
    Attr copy = *attr;
    if (!attr->present) return copy;
    if (kind == ATTR_STRING) {
        copy.s = arena_strdup(arena, attr->s);
    } else if (kind == ATTR_SIZES || kind == ATTR_PAIRS) {
        copy.sizes.at = copy_list(arena, attr->sizes.at, attr->sizes.n * sizeof *attr->sizes.at);
        if (attr->sizes.word) copy.sizes.word = arena_strdup(arena, attr->sizes.word);
    } else if (kind == ATTR_INTS) {
        copy.ints.at = copy_list(arena, attr->ints.at, attr->ints.n * sizeof *attr->ints.at);
    }
    return copy;
}

static void print_sizes(const DimTable *dims, const Dim *at, uint32_t count, Text *out) {
    text_put(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_put(out, ", ");
        dim_print(dims, at[i], out);
    }
    text_put(out, "]");
}

static void print_pairs(const DimTable *dims, const Attr *attr, Text *out) {
    if (attr->sizes.word) {
        text_quoted(out, attr->sizes.word);
    } else if (!attr->sizes.pairs && attr->sizes.n == 1) {
        dim_print(dims, attr->sizes.at[0], out);
    } else if (!attr->sizes.pairs) {
        print_sizes(dims, attr->sizes.at, attr->sizes.n, out);
    } else {
        text_put(out, "[");
        for (uint32_t i = 0; i < attr->sizes.n; i += 2) {
            if (i) text_put(out, ", ");
            print_sizes(dims, attr->sizes.at + i, 2, out);
        }
        text_put(out, "]");
    }
}

static void print_ints(const Attr *attr, Text *out) {
    if (attr->ints.n == 1) {
        text_printf(out, "%lld", (long long)attr->ints.at[0]);
        return;
    }
    text_put(out, "[");
    for (uint32_t i = 0; i < attr->ints.n; i++) {
        text_printf(out, i ? ", %lld" : "%lld", (long long)attr->ints.at[i]);
    }
    text_put(out, "]");
}

void attr_print(const DimTable *dims, AttrKind kind, const Attr *attr, Text *out) {
    if (!attr->present) {
        text_put(out, "None");
        return;
    }
    switch (kind) {
    case ATTR_INT: text_printf(out, "%lld", (long long)attr->i); break;
    case ATTR_FLOAT: text_double(out, attr->f); break;
    case ATTR_BOOL: text_put(out, attr->i ? "true" : "false"); break;
    case ATTR_DTYPE: text_put(out, dtype_name(attr->dtype)); break;
    case ATTR_STRING: text_quoted(out, attr->s); break;
    case ATTR_SIZE: dim_print(dims, attr->size, out); break;
    case ATTR_SIZES: print_sizes(dims, attr->sizes.at, attr->sizes.n, out); break;
    case ATTR_INTS: print_ints(attr, out); break;
    case ATTR_PAIRS: print_pairs(dims, attr, out); break;
    case ATTR_SCALAR:
        if (attr->is_float) {
            text_double(out, attr->f);
        } else if (attr->is_size) {
            dim_print(dims, attr->size, out);
        } else {
            text_printf(out, "%lld", (long long)attr->i);
        }
        break;
    }
}
