#include "runtime/json.h"
#include "runtime/error.h"

#include <string.h>

bool json_fail(JsonReader *reader, const char *rule) {
    error_set(reader->error, ADEPT_ERROR_FORMAT, "%s: byte %llu: %s", reader->file,
              (unsigned long long)(reader->base + reader->at), rule);
    return false;
}

// The length of the UTF-8 sequence at `text`, 0 where it is none (overlong forms, surrogates and
// what lies past U+10FFFF are none).
static size_t utf8_length(const unsigned char *text, size_t left) {
    unsigned char first = text[0];
    if (first < 0x80) return 1;
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || left < length) return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    unsigned char second = text[1];
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90))
        return 0;
    return length;
}

bool json_check_utf8(JsonReader *reader) {
    for (size_t i = 0; i < reader->size;) {
        size_t length = utf8_length((const unsigned char *)reader->text + i, reader->size - i);
        if (!length) {
            reader->at = i;
            return json_fail(reader, "not valid UTF-8");
        }
        i += length;
    }
    return true;
}

static void skip_space(JsonReader *reader) {
    while (reader->at < reader->size) {
        char c = reader->text[reader->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
        reader->at++;
    }
}

bool json_take(JsonReader *reader, char c) {
    skip_space(reader);
    if (reader->at == reader->size || reader->text[reader->at] != c) return false;
    reader->at++;
    return true;
}

bool json_expect(JsonReader *reader, char c) {
    if (json_take(reader, c)) return true;
    char rule[] = "'?' expected";
    rule[1] = c;
    return json_fail(reader, rule);
}

static bool hex4(JsonReader *reader, uint32_t *value) {
    *value = 0;
    if (reader->size - reader->at < 4) return json_fail(reader, "\\u needs four hex digits");
    for (int i = 0; i < 4; i++) {
        char c = reader->text[reader->at];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit > 15) return json_fail(reader, "\\u needs four hex digits");
        *value = *value << 4 | digit;
        reader->at++;
    }
    return true;
}

// Behind "\u": the code point, which two escapes make where the first is a high surrogate.
static bool escape_unicode(JsonReader *reader, uint32_t *point) {
    if (!hex4(reader, point)) return false;
    if (*point < 0xD800 || *point > 0xDFFF) return true;
    uint32_t low = 0;
    const char *next = reader->text + reader->at;
    if (*point <= 0xDBFF && reader->size - reader->at >= 2 && next[0] == '\\' && next[1] == 'u') {
        reader->at += 2;
        if (!hex4(reader, &low)) return false;
    }
    if (low < 0xDC00 || low > 0xDFFF) return json_fail(reader, "unpaired surrogate");
    *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static char *put_utf8(char *to, uint32_t point) {
    if (point < 0x80) {
        *to++ = (char)point;
        return to;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    *to++ = (char)(lead[more] | point >> (6 * more));
    while (more--) *to++ = (char)(0x80 | (point >> (6 * more) & 0x3F));
    return to;
}

static bool escape(JsonReader *reader, char **to) {
    static const char from[] = "\"\\/bfnrt", value[] = "\"\\/\b\f\n\r\t";
    char c = reader->at < reader->size ? reader->text[reader->at] : 0;
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        *(*to)++ = value[found - from];
        reader->at++;
        return true;
    }
    if (c != 'u') return json_fail(reader, "unknown escape");
    reader->at++;
    uint32_t point = 0;
    if (!escape_unicode(reader, &point)) return false;
    *to = put_utf8(*to, point);
    return true;
}

bool json_string(JsonReader *reader, JsonString *string) {
    if (!json_take(reader, '"')) return json_fail(reader, "a string expected");
    // A decoded string is never longer than its source, and the closing quote leaves room for NUL.
    char *to = reader->text + reader->at;
    string->text = to;
    for (;;) {
        if (reader->at == reader->size) return json_fail(reader, "a string does not end");
        char c = reader->text[reader->at];
        if ((unsigned char)c < 0x20) return json_fail(reader, "control character in a string");
        reader->at++;
        if (c == '"') break;
        if (c != '\\')
            *to++ = c;
        else if (!escape(reader, &to))
            return false;
    }
    string->length = (size_t)(to - string->text);
    *to = 0;
    return true;
}

static bool is_digit(const JsonReader *reader, size_t at) {
    return at < reader->size && reader->text[at] >= '0' && reader->text[at] <= '9';
}

bool json_unsigned(JsonReader *reader, uint64_t *value) {
    skip_space(reader);
    size_t start = reader->at;
    uint64_t number = 0;
    while (is_digit(reader, reader->at)) {
        uint64_t digit = (uint64_t)(reader->text[reader->at] - '0');
        if (number > (INT64_MAX - digit) / 10)
            return json_fail(reader, "a number is not below 2^63");
        number = number * 10 + digit;
        reader->at++;
    }
    char next = reader->at < reader->size ? reader->text[reader->at] : 0;
    bool plain = reader->at > start && !(next && strchr(".eE+-", next));
    if (!plain || (reader->text[start] == '0' && reader->at > start + 1)) {
        reader->at = start;
        return json_fail(reader, "a plain non-negative integer expected");
    }
    *value = number;
    return true;
}

static bool skip_digits(JsonReader *reader) {
    size_t start = reader->at;
    while (is_digit(reader, reader->at)) reader->at++;
    return reader->at > start;
}

static bool skip_number(JsonReader *reader) {
    if (reader->text[reader->at] == '-') reader->at++;
    bool zero = reader->at < reader->size && reader->text[reader->at] == '0';
    if (zero)
        reader->at++;
    else if (!skip_digits(reader))
        return json_fail(reader, "a value expected");
    if (reader->at < reader->size && reader->text[reader->at] == '.') {
        reader->at++;
        if (!skip_digits(reader)) return json_fail(reader, "a digit expected");
    }
    char mark = reader->at < reader->size ? reader->text[reader->at] : 0;
    if (mark == 'e' || mark == 'E') {
        reader->at++;
        char sign = reader->at < reader->size ? reader->text[reader->at] : 0;
        if (sign == '+' || sign == '-') reader->at++;
        if (!skip_digits(reader)) return json_fail(reader, "a digit expected");
    }
    return true;
}

bool json_skip_scalar(JsonReader *reader) {
    static const char *const words[] = {"true", "false", "null"};
    skip_space(reader);
    if (reader->at == reader->size) return json_fail(reader, "a value expected");
    if (reader->text[reader->at] == '"') {
        JsonString string;
        return json_string(reader, &string);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (reader->size - reader->at >= length &&
            memcmp(reader->text + reader->at, words[i], length) == 0) {
            reader->at += length;
            return true;
        }
    }
    return skip_number(reader);
}
