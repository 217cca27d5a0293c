// Arena memory, growable arrays and text, checked 64-bit arithmetic, nearest-name search.
//
// Compiler memory belongs to an Arena and is freed with it as a whole; there is no per-object free.
// Running out of host memory in the compiler ends the process with a message (the runtime, which is
// a separate library, returns an error instead).
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The argument, unless it is NULL: then the process ends.
void *memory_or_exit(void *memory);

typedef struct Arena Arena;

Arena *arena_create(void);
Arena *
arena_child(Arena *parent); // for what is wanted for a while; freed with its parent if not before
void arena_destroy(Arena *arena); // NULL is allowed

// Zeroed, 16-byte aligned. Never returns NULL; size 0 gives a valid pointer.
void *arena_alloc(Arena *arena, size_t size);
// The block with more room, zeroed: where it is if nothing follows it, else a copy.
void *arena_grow(Arena *arena, void *old, size_t old_size, size_t new_size);
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_strdup(Arena *arena, const char *text);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t arena_used(const Arena *arena); // bytes handed out so far

// VEC(T) is a growable array whose storage is in an arena: { T *at; uint32_t len, cap; }.
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        uint32_t len, cap;                                                                         \
    }
#define vec_push(arena, vec, ...)                                                                  \
    ((vec)->len == (vec)->cap                                                                      \
         ? (void)((vec)->at = vec_grow_(arena, (vec)->at, &(vec)->cap, sizeof *(vec)->at))         \
         : (void)0,                                                                                \
     (vec)->at[(vec)->len++] = (__VA_ARGS__))
void *vec_grow_(Arena *arena, void *at, uint32_t *cap, size_t item);

// Growable text or bytes on the heap. data is always NUL-terminated once anything was written.
typedef struct Text {
    char *data;
    size_t len, cap;
} Text;

void text_printf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(Text *text, const char *format, va_list args);
void text_put(Text *text, const char *string);
void text_write(Text *text, const void *bytes, size_t length);
void text_double(Text *text, double value); // fewest digits that read back the same; "inf", "nan"
                                            // and whole numbers keep a point: "3.0"
void text_quoted(Text *text,
                 const char *string); // "..." with the language's escapes; braces as they are
void text_free(Text *text);

// False on overflow; *out is then unspecified.
static inline bool checked_add(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool checked_mul(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

int64_t floor_div(int64_t a, int64_t b); // b != 0; rounds toward minus infinity
int64_t floor_mod(int64_t a, int64_t b); // b != 0; sign of b
int64_t gcd64(int64_t a, int64_t b);     // >= 0
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t length);
static inline uint64_t hash_word(uint64_t seed, uint64_t word) {
    uint64_t hash = (seed ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

// Nearest of the NULL-terminated names: edit distance <= 2, <= 1 for words below five letters; else
// NULL.
const char *nearest_name(const char *word, const char *const *names);
unsigned edit_distance(const char *a, const char *b,
                       unsigned limit); // > limit is returned as limit + 1
