#include "ir/text_scan.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char scan_peek(const Scan *s) {
    return s->at < s->length ? s->text[s->at] : 0;
}

static void scan_step(Scan *s) {
    if (s->text[s->at++] == '\n') {
        s->line++;
        s->line_start = s->at;
    }
}

static void scan_blanks(Scan *s) {
    while (s->at < s->length) {
        if (scan_peek(s) == '#')
            while (s->at < s->length && scan_peek(s) != '\n') s->at++;
        else if (isspace((unsigned char)scan_peek(s)))
            scan_step(s);
        else
            return;
    }
}

Scan scan_section(Arena *arena, DimTable *dims, Diags *diags, FileId file, const char *text,
                  size_t length, const char *opening) {
    Scan s = {.arena = arena,
              .dims = dims,
              .diags = diags,
              .file = file,
              .text = text,
              .length = length,
              .line = 1};
    size_t size = strlen(opening);
    while (s.at < length) {
        if (length - s.at >= size && memcmp(text + s.at, opening, size) == 0) {
            s.at += size;
            return s;
        }
        while (s.at < length && text[s.at] != '\n') s.at++;
        if (s.at < length) scan_step(&s);
    }
    scan_fail(&s, "there is no section `%s`", opening);
    return s;
}

void scan_fail(Scan *s, const char *format, ...) {
    if (s->failed) return;
    s->failed = true;
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    Span span = {.file = s->file, .line = s->line};
    span.column = (uint32_t)(s->at - s->line_start) + 1;
    span.begin = (uint32_t)s->at, span.end = (uint32_t)s->at + (s->at < s->length);
    diag_error(s->diags, span, "%s", text.data);
    text_free(&text);
}

static bool scan_is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

bool scan_take(Scan *s, const char *token) {
    if (s->failed) return false;
    scan_blanks(s);
    size_t size = strlen(token);
    if (s->length - s->at < size || memcmp(s->text + s->at, token, size) != 0) return false;
    bool word = scan_is_word(token[size - 1]);
    if (word && s->at + size < s->length && scan_is_word(s->text[s->at + size])) return false;
    s->at += size;
    return true;
}

void scan_expect(Scan *s, const char *token) {
    if (!scan_take(s, token)) scan_fail(s, "expected `%s`", token);
}

const char *scan_word(Scan *s) {
    scan_blanks(s);
    size_t first = s->at;
    while (s->at < s->length && scan_is_word(scan_peek(s))) s->at++;
    if (s->at == first) scan_fail(s, "expected a name");
    return s->failed ? "" : arena_strndup(s->arena, s->text + first, s->at - first);
}

int64_t scan_int(Scan *s) {
    scan_blanks(s);
    bool negative = scan_take(s, "-");
    int64_t value = 0;
    if (!isdigit((unsigned char)scan_peek(s))) scan_fail(s, "expected a number");
    while (!s->failed && isdigit((unsigned char)scan_peek(s))) {
        if (!checked_mul(value, 10, &value) || !checked_add(value, scan_peek(s) - '0', &value))
            scan_fail(s, "the number is too large");
        s->at++;
    }
    return s->failed ? 0 : negative ? -value : value;
}

const char *scan_string(Scan *s) {
    Text text = {0};
    scan_expect(s, "\"");
    while (!s->failed && scan_peek(s) != '"') {
        char c = scan_peek(s);
        if (c == 0 || c == '\n') scan_fail(s, "the string does not end");
        if (c == '\\') {
            s->at++;
            c = scan_peek(s) == 'n' ? '\n' : scan_peek(s) == 't' ? '\t' : scan_peek(s);
        }
        text_write(&text, &c, 1);
        s->at++;
    }
    s->at += !s->failed;
    const char *out = arena_strdup(s->arena, !s->failed && text.data ? text.data : "");
    text_free(&text);
    return out;
}

enum { SCAN_DEPTH_MAX = 200 };

static Dim scan_sum(Scan *s, unsigned depth);

static Dim scan_extreme(Scan *s, unsigned depth, bool most) {
    scan_expect(s, "(");
    Dim a = scan_sum(s, depth);
    scan_expect(s, ",");
    Dim b = scan_sum(s, depth);
    scan_expect(s, ")");
    if (s->failed) return DIM_NONE;
    return most ? dim_max(s->dims, a, b) : dim_min(s->dims, a, b);
}

static Dim scan_factor(Scan *s, unsigned depth) {
    if (depth > SCAN_DEPTH_MAX) scan_fail(s, "the expression is nested too deeply");
    if (s->failed) return DIM_NONE;
    if (scan_take(s, "(")) {
        Dim inner = scan_sum(s, depth + 1);
        scan_expect(s, ")");
        return inner;
    }
    scan_blanks(s);
    if (isdigit((unsigned char)scan_peek(s))) return dim_const(s->dims, scan_int(s));
    if (scan_take(s, "maximum")) return scan_extreme(s, depth + 1, true);
    if (scan_take(s, "minimum")) return scan_extreme(s, depth + 1, false);
    const char *name = scan_word(s);
    Dim symbol = s->failed ? DIM_NONE : dim_find(s->dims, name);
    if (symbol == DIM_NONE) scan_fail(s, "there is no dim `%s`", name);
    return symbol;
}

static Dim scan_product(Scan *s, unsigned depth) {
    bool negative = scan_take(s, "-");
    Dim value = scan_factor(s, depth);
    while (!s->failed) {
        bool divide = scan_take(s, "//"), modulo = !divide && scan_take(s, "%");
        if (!divide && !modulo && !scan_take(s, "*")) break;
        Dim right = scan_factor(s, depth);
        if (s->failed) break;
        value = divide   ? dim_floor_div(s->dims, value, right)
                : modulo ? dim_floor_mod(s->dims, value, right)
                         : dim_mul(s->dims, value, right);
    }
    return negative && !s->failed ? dim_sub(s->dims, dim_const(s->dims, 0), value) : value;
}

static Dim scan_sum(Scan *s, unsigned depth) {
    Dim value = scan_product(s, depth);
    while (!s->failed) {
        bool minus = scan_take(s, "-");
        if (!minus && !scan_take(s, "+")) break;
        Dim right = scan_product(s, depth);
        if (s->failed) break;
        value = minus ? dim_sub(s->dims, value, right) : dim_add(s->dims, value, right);
    }
    return value;
}

Dim scan_dim(Scan *s) {
    Dim value = scan_sum(s, 0);
    if (!s->failed && value == DIM_NONE) scan_fail(s, "the expression leaves 64 bits");
    return s->failed ? DIM_NONE : value;
}

const char *scan_line(Scan *s) {
    while (scan_peek(s) == ' ' || scan_peek(s) == '\t') s->at++;
    size_t first = s->at, last;
    while (s->at < s->length && scan_peek(s) != '\n') s->at++;
    last = s->at;
    if (s->at < s->length) scan_step(s);
    while (last > first && isspace((unsigned char)s->text[last - 1])) last--;
    return arena_strndup(s->arena, s->text + first, last - first);
}

void scan_move(Scan *s, size_t at) {
    while (s->at < at) scan_step(s);
}

void scan_skip_block(Scan *s) {
    unsigned depth = 1;
    while (!s->failed && depth > 0) {
        scan_blanks(s);
        char c = scan_peek(s);
        if (c == '"') {
            scan_string(s);
            continue;
        }
        if (c == 0) scan_fail(s, "a `}` is missing");
        depth += c == '{';
        depth -= c == '}';
        if (!s->failed) s->at++;
    }
}
