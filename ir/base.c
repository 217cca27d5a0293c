#include "ir/base.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- arena ----

enum { ARENA_ALIGN = 16, ARENA_CHUNK = 64 * 1024 };

typedef struct Chunk {
    struct Chunk *next;
    size_t size, used;
    _Alignas(ARENA_ALIGN) char bytes[];
} Chunk;

struct Arena {
    Chunk *chunks; // the one being filled comes first
    size_t used;
    Arena *parent, *children, *before, *after; // before, after: among the parent's children
};

Arena *arena_create(void) {
    return memory_or_exit(calloc(1, sizeof(Arena)));
}

Arena *arena_child(Arena *parent) {
    Arena *arena = arena_create();
    arena->parent = parent, arena->after = parent->children;
    if (arena->after) arena->after->before = arena;
    parent->children = arena;
    return arena;
}

void arena_destroy(Arena *arena) {
    if (!arena) return;
    while (arena->children) arena_destroy(arena->children);
    if (arena->after) arena->after->before = arena->before;
    if (arena->before)
        arena->before->after = arena->after;
    else if (arena->parent)
        arena->parent->children = arena->after;
    for (Chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(arena);
}

static Chunk *arena_add_chunk(Arena *arena, size_t size) {
    Chunk *chunk = memory_or_exit(size > SIZE_MAX / 2 ? NULL : calloc(1, sizeof(Chunk) + size));
    chunk->size = size;
    // A large block does not displace a chunk that still has room.
    if (arena->chunks && size > ARENA_CHUNK) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

static size_t arena_rounded(size_t size) {
    return ((size ? size : 1) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

void *arena_alloc(Arena *arena, size_t size) {
    if (size > SIZE_MAX / 4) memory_or_exit(NULL);
    size_t rounded = arena_rounded(size);
    Chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < rounded)
        chunk = arena_add_chunk(arena, rounded > ARENA_CHUNK ? rounded : ARENA_CHUNK);
    void *result = chunk->bytes + chunk->used;
    chunk->used += rounded;
    arena->used += rounded;
    return result;
}

// Whether the block is the last of the chunk being filled, and the chunk has room for what it
// wants.
static bool arena_extend(Arena *arena, void *old, size_t old_size, size_t new_size) {
    Chunk *chunk = arena->chunks;
    if (!chunk || !old || new_size > chunk->size) return false;
    size_t had = arena_rounded(old_size), wanted = arena_rounded(new_size);
    if (chunk->used < had || (char *)old != chunk->bytes + chunk->used - had ||
        wanted - had > chunk->size - chunk->used)
        return false;
    chunk->used += wanted - had;
    arena->used += wanted - had;
    return true;
}

void *arena_grow(Arena *arena, void *old, size_t old_size, size_t new_size) {
    assert(new_size >= old_size);
    if (arena_extend(arena, old, old_size, new_size)) return old;
    void *grown = arena_alloc(arena, new_size);
    if (old_size) memcpy(grown, old, old_size);
    return grown;
}

char *arena_strndup(Arena *arena, const char *text, size_t length) {
    char *copy = arena_alloc(arena, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(Arena *arena, const char *text) {
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(Arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

size_t arena_used(const Arena *arena) {
    return arena->used;
}

void *vec_grow_(Arena *arena, void *at, uint32_t *cap, size_t item) {
    uint32_t grown = *cap ? *cap * 2 : 8;
    if (grown < *cap) memory_or_exit(NULL);
    void *result = arena_grow(arena, at, *cap * item, grown * item);
    *cap = grown;
    return result;
}

// ---- text ----

static void text_reserve(Text *text, size_t more) {
    if (text->cap - text->len > more) return;
    if (more > SIZE_MAX / 4 || text->len > SIZE_MAX / 4) memory_or_exit(NULL);
    size_t cap = text->cap ? text->cap * 2 : 256;
    if (cap < text->len + more + 1) cap = text->len + more + 1;
    text->data = memory_or_exit(realloc(text->data, cap));
    text->cap = cap;
}

void text_vprintf(Text *text, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    assert(length >= 0);
    text_reserve(text, (size_t)length);
    vsnprintf(text->data + text->len, (size_t)length + 1, format, again);
    va_end(again);
    text->len += (size_t)length;
}

void text_printf(Text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_vprintf(text, format, args);
    va_end(args);
}

void text_write(Text *text, const void *bytes, size_t length) {
    text_reserve(text, length);
    if (length) memcpy(text->data + text->len, bytes, length);
    text->len += length;
    text->data[text->len] = 0;
}

void text_put(Text *text, const char *string) {
    text_write(text, string, strlen(string));
}

void text_double(Text *text, double value) {
    if (isnan(value)) {
        text_put(text, "nan");
        return;
    }
    if (isinf(value)) {
        text_put(text, value < 0 ? "-inf" : "inf");
        return;
    }
    if (value == floor(value) && fabs(value) < 1e15) {
        text_printf(text, "%.1f", value);
        return;
    }
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    char *exponent = strchr(digits, 'e');
    if (!exponent) {
        text_put(text, digits);
        return;
    }
    text_write(text, digits, (size_t)(exponent - digits));
    text_printf(text, "e%d", atoi(exponent + 1));
}

void text_quoted(Text *text, const char *string) {
    text_put(text, "\"");
    for (const char *at = string; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\')
            text_printf(text, "\\%c", byte);
        else if (byte == '\n')
            text_put(text, "\\n");
        else if (byte == '\t')
            text_put(text, "\\t");
        else if (byte < 0x20 || byte == 0x7f)
            text_printf(text, "\\u{%x}", byte);
        else
            text_write(text, at, 1);
    }
    text_put(text, "\"");
}

void text_free(Text *text) {
    free(text->data);
    *text = (Text){0};
}

// ---- arithmetic ----

int64_t floor_div(int64_t a, int64_t b) {
    if (b == -1) return (int64_t)(0 - (uint64_t)a); // INT64_MIN / -1 wraps instead of trapping
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t floor_mod(int64_t a, int64_t b) {
    if (b == -1) return 0;
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t gcd64(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX ? 1 : (int64_t)x; // only 2^63 itself: 1 divides it too
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t length) {
    uint64_t hash = seed ^ 0xcbf29ce484222325u;
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15u;
}

// ---- names ----

unsigned edit_distance(const char *a, const char *b, unsigned limit) {
    enum { LONGEST = 255 };
    size_t rows = strlen(a), columns = strlen(b);
    size_t apart = rows > columns ? rows - columns : columns - rows;
    if (apart > limit) return limit + 1;
    if (rows > LONGEST || columns > LONGEST) return strcmp(a, b) == 0 ? 0 : limit + 1;
    // Swapped neighbours count as one edit, so two earlier rows are kept.
    unsigned table[3][LONGEST + 1];
    for (unsigned j = 0; j <= columns; j++) table[0][j] = j;
    for (unsigned i = 1; i <= rows; i++) {
        unsigned *row = table[i % 3], *above = table[(i + 2) % 3], *before = table[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= columns; j++) {
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    unsigned distance = table[rows % 3][columns];
    return distance > limit ? limit + 1 : distance;
}

const char *nearest_name(const char *word, const char *const *names) {
    unsigned limit = strlen(word) < 5 ? 1 : 2;
    const char *nearest = NULL;
    unsigned best = limit + 1;
    for (; *names; names++) {
        unsigned distance = edit_distance(word, *names, limit);
        if (distance < best) {
            best = distance;
            nearest = *names;
        }
    }
    return nearest;
}
