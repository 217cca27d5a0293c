// Target profiles: text form and look-up of the built-in ones.
#include "ir/target.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/target_profiles.h"

typedef struct FeatureRow {
    const char *name;
    unsigned bit;
} FeatureRow;

static const FeatureRow feature_rows[] = {
#define X(id, name, bit) {name, bit},
    TARGET_FEATURES(X)
#undef X
};
enum { FEATURE_ROWS = sizeof feature_rows / sizeof feature_rows[0] };

const char *target_feature_name(unsigned bit) {
    for (unsigned i = 0; i < FEATURE_ROWS; i++)
        if (feature_rows[i].bit == bit) return feature_rows[i].name;
    return NULL;
}

bool target_feature_from_name(const char *name, TargetFeatures *bit) {
    for (unsigned i = 0; i < FEATURE_ROWS; i++)
        if (strcmp(feature_rows[i].name, name) == 0) {
            *bit = (TargetFeatures)1 << feature_rows[i].bit;
            return true;
        }
    return false;
}

const char *const *target_builtin_names(void) {
    return target_profile_names;
}

bool target_builtin(const char *name, Target *out) {
    for (unsigned i = 0; target_profile_names[i]; i++)
        if (strcmp(target_profile_names[i], name) == 0) {
            Diags *diags = diags_create();
            const char *text = target_profile_texts[i];
            bool ok = target_parse(text, strlen(text), 0, diags, out);
            diags_destroy(diags);
            return ok;
        }
    return false;
}

const ProductRate *target_product(const Target *target, DType dtype) {
    for (uint32_t i = 0; i < target->products; i++)
        if (target->product[i].dtype == dtype) return &target->product[i];
    return NULL;
}

// One line of a profile: words of it, and where it is.
typedef struct TargetLine {
    Diags *diags;
    Span span;
    char *key, *value;
    Target *out;
} TargetLine;

typedef bool TargetRead(TargetLine *line, void *field);

static bool target_complain(TargetLine *line) {
    diag_error(line->diags, line->span, "`%s` cannot be `%s`", line->key, line->value);
    return false;
}

static bool target_read_number(const char **at, uint32_t *out) {
    if (!isdigit((unsigned char)**at)) return false;
    char *end;
    unsigned long long value = strtoull(*at, &end, 10);
    *at = end;
    *out = (uint32_t)value;
    return value <= UINT32_MAX;
}

static bool read_u32(TargetLine *line, void *field) {
    const char *at = line->value;
    return (target_read_number(&at, field) && *at == 0) || target_complain(line);
}

static bool read_name(TargetLine *line, void *field) {
    size_t length = strlen(line->value);
    if (length == 0 || length >= sizeof line->out->name) return target_complain(line);
    memcpy(field, line->value, length + 1);
    return true;
}

static bool read_grid(TargetLine *line, void *field) {
    uint32_t *grid = field;
    const char *at = line->value;
    for (unsigned i = 0; i < 3; i++) {
        while (*at == ' ') at++;
        if (!target_read_number(&at, &grid[i])) return target_complain(line);
    }
    return *at == 0 || target_complain(line);
}

static bool read_features(TargetLine *line, void *field) {
    TargetFeatures *features = field;
    char *rest = NULL;
    for (char *word = strtok_r(line->value, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        TargetFeatures bit;
        if (!target_feature_from_name(word, &bit)) {
            diag_error(line->diags, line->span, "unknown feature `%s`", word);
            return false;
        }
        *features |= bit;
    }
    return true;
}

static bool read_fragment(TargetLine *line, void *field) {
    (void)field;
    uint32_t size[3];
    char ab[16], acc[16];
    FragmentShape shape;
    const char *at = line->value;
    for (unsigned i = 0; i < 3; i++) {
        if (!target_read_number(&at, &size[i]) || size[i] == 0 || size[i] > 1024)
            return target_complain(line);
        if (i < 2 && *at++ != 'x') return target_complain(line);
    }
    if (sscanf(at, " %15s %15s", ab, acc) != 2 || !dtype_from_name(ab, &shape.ab) ||
        !dtype_from_name(acc, &shape.acc))
        return target_complain(line);
    if (line->out->fragments == TARGET_FRAGMENTS_MAX) {
        diag_error(line->diags, line->span, "more than %d fragment shapes", TARGET_FRAGMENTS_MAX);
        return false;
    }
    shape.m = (uint16_t)size[0], shape.n = (uint16_t)size[1], shape.k = (uint16_t)size[2];
    line->out->fragment[line->out->fragments++] = shape;
    return true;
}

static bool read_product(TargetLine *line, void *field) {
    (void)field;
    Target *out = line->out;
    char name[16];
    int length = 0;
    ProductRate rate;
    const char *at = line->value;
    if (sscanf(at, "%15s %n", name, &length) != 1 || !dtype_from_name(name, &rate.dtype))
        return target_complain(line);
    at += length;
    if (!target_read_number(&at, &rate.along_n) || *at++ != ' ' ||
        !target_read_number(&at, &rate.along_k) || *at || !rate.along_n || !rate.along_k)
        return target_complain(line);
    if (out->products == TARGET_PRODUCTS_MAX || target_product(out, rate.dtype)) {
        diag_error(line->diags, line->span, "products of %s are given twice", name);
        return false;
    }
    out->product[out->products++] = rate;
    return true;
}

typedef struct TargetKey {
    const char *name;
    size_t offset;
    TargetRead *read;
    bool required;
} TargetKey;

static const TargetKey target_keys[] = {
    {"name", offsetof(Target, name), read_name, true},
    {"subgroup_min", offsetof(Target, subgroup_min), read_u32, true},
    {"subgroup_max", offsetof(Target, subgroup_max), read_u32, true},
    {"subgroup_size", offsetof(Target, subgroup_size), read_u32, true},
    {"shared_bytes", offsetof(Target, shared_bytes), read_u32, true},
    {"max_invocations", offsetof(Target, max_invocations), read_u32, true},
    {"max_local_x", offsetof(Target, max_local_x), read_u32, true},
    {"max_grid", offsetof(Target, max_grid), read_grid, true},
    {"compute_units", offsetof(Target, compute_units), read_u32, false},
    {"features", offsetof(Target, features), read_features, false},
    {"fragment", 0, read_fragment, false},
    {"memory_rate", offsetof(Target, memory_rate), read_u32, false},
    {"transpose_rate", offsetof(Target, transpose_rate), read_u32, false},
    {"dispatch_time", offsetof(Target, dispatch_time), read_u32, false},
    {"product", 0, read_product, false},
    {"device", offsetof(Target, device), read_name, false},
};
enum { TARGET_KEYS = sizeof target_keys / sizeof target_keys[0] };

static char *target_trim(char *text) {
    while (isspace((unsigned char)*text)) text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) *--end = 0;
    return text;
}

static bool target_read_line(TargetLine *line, char *text, uint32_t *seen) {
    char *comment = strchr(text, '#');
    if (comment) *comment = 0;
    text = target_trim(text);
    if (*text == 0) return true;
    char *equals = strchr(text, '=');
    if (!equals) {
        diag_error(line->diags, line->span, "expected `key = value`");
        return false;
    }
    *equals = 0;
    line->key = target_trim(text), line->value = target_trim(equals + 1);
    for (unsigned i = 0; i < TARGET_KEYS; i++) {
        const TargetKey *key = &target_keys[i];
        if (strcmp(key->name, line->key) != 0) continue;
        bool list = key->read == read_fragment || key->read == read_product;
        if ((*seen >> i & 1) && !list) {
            diag_error(line->diags, line->span, "`%s` is given twice", line->key);
            return false;
        }
        *seen |= 1u << i;
        return key->read(line, (char *)line->out + key->offset);
    }
    diag_error(line->diags, line->span, "unknown key `%s`", line->key);
    return false;
}

static bool target_check(const Target *target, Diags *diags, FileId file) {
    bool grid = target->max_grid[0] && target->max_grid[1] && target->max_grid[2];
    bool subgroup = target->subgroup_min && target->subgroup_min <= target->subgroup_max &&
                    target->subgroup_max <= 128;
    if (grid && subgroup && target->max_invocations && target->max_local_x) return true;
    diag_error(diags, (Span){.file = file}, "the profile's limits contradict each other");
    return false;
}

bool target_parse(const char *text, size_t length, FileId file, Diags *diags, Target *out) {
    *out = (Target){0};
    Arena *arena = arena_create();
    char *at = arena_strndup(arena, text, length);
    TargetLine line = {.diags = diags, .out = out, .span = {.file = file, .column = 1}};
    uint32_t seen = 0;
    bool ok = true, first = true;
    while (at && ok) {
        char *next = strchr(at, '\n');
        if (next) *next++ = 0;
        line.span.line++;
        line.span.begin = (uint32_t)(line.span.end + (line.span.line > 1));
        line.span.end = line.span.begin + (uint32_t)strlen(at);
        if (first) {
            ok = strcmp(target_trim(at), "adept 1 target") == 0;
            if (!ok) diag_error(diags, line.span, "the first line must be `adept 1 target`");
            first = false;
        } else {
            ok = target_read_line(&line, at, &seen);
        }
        at = next;
    }
    for (unsigned i = 0; ok && i < TARGET_KEYS; i++)
        if (target_keys[i].required && !(seen >> i & 1)) {
            diag_error(diags, (Span){.file = file}, "the profile has no `%s`", target_keys[i].name);
            ok = false;
        }
    ok = ok && target_check(out, diags, file);
    arena_destroy(arena);
    return ok;
}

void target_print(const Target *target, Text *out) {
    text_printf(out, "adept 1 target\nname = %s\n", target->name);
    text_printf(out, "subgroup_min = %u\nsubgroup_max = %u\nsubgroup_size = %u\n",
                target->subgroup_min, target->subgroup_max, target->subgroup_size);
    text_printf(out, "shared_bytes = %u\nmax_invocations = %u\nmax_local_x = %u\n",
                target->shared_bytes, target->max_invocations, target->max_local_x);
    text_printf(out, "max_grid = %u %u %u\ncompute_units = %u\nfeatures =", target->max_grid[0],
                target->max_grid[1], target->max_grid[2], target->compute_units);
    for (unsigned i = 0; i < FEATURE_ROWS; i++)
        if (target->features >> feature_rows[i].bit & 1)
            text_printf(out, " %s", feature_rows[i].name);
    text_put(out, "\n");
    for (uint32_t i = 0; i < target->fragments; i++) {
        const FragmentShape *shape = &target->fragment[i];
        text_printf(out, "fragment = %ux%ux%u %s %s\n", shape->m, shape->n, shape->k,
                    dtype_name(shape->ab), dtype_name(shape->acc));
    }
    if (target->memory_rate) text_printf(out, "memory_rate = %u\n", target->memory_rate);
    if (target->transpose_rate) text_printf(out, "transpose_rate = %u\n", target->transpose_rate);
    if (target->dispatch_time) text_printf(out, "dispatch_time = %u\n", target->dispatch_time);
    for (uint32_t i = 0; i < target->products; i++) {
        const ProductRate *rate = &target->product[i];
        text_printf(out, "product = %s %u %u\n", dtype_name(rate->dtype), rate->along_n,
                    rate->along_k);
    }
    if (target->device[0]) text_printf(out, "device = %s\n", target->device);
}
