#include "frontend/npy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/file.h"

typedef struct Code {
    const char *descr;
    unsigned bytes;
    DType dtype;
} Code;

static const Code codes[NPY_COUNT] = {
#define X(id, descr, bytes, dtype) [NPY_##id] = {descr, bytes, dtype},
    NPY_TABLE(X)
#undef X
};

const char *npy_descr(NpyCode code) {
    return codes[code].descr;
}

unsigned npy_item_bytes(NpyCode code) {
    return codes[code].bytes;
}

// ---- the header, a literal of Python ---------------------------------------------------------

typedef struct Reader {
    const char *name;
    const char *text; // the literal
    size_t at, length;
    size_t base; // where the literal begins in the file
    Text *error;
} Reader;

static bool fail_at(Reader *reader, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail_at(Reader *reader, size_t at, const char *format, ...) {
    text_printf(reader->error, "%s: byte %zu: ", reader->name, reader->base + at);
    va_list args;
    va_start(args, format);
    text_vprintf(reader->error, format, args);
    va_end(args);
    return false;
}

static void skip_spaces(Reader *reader) {
    while (reader->at < reader->length && reader->text[reader->at] == ' ') reader->at++;
}

static char peek(Reader *reader) {
    skip_spaces(reader);
    return reader->at < reader->length ? reader->text[reader->at] : '\0';
}

static bool take(Reader *reader, char wanted) {
    if (peek(reader) != wanted) return false;
    reader->at++;
    return true;
}

static bool expect(Reader *reader, char wanted, const char *where) {
    if (take(reader, wanted)) return true;
    return fail_at(reader, reader->at, "'%c' expected %s", wanted, where);
}

// A string in '..' or ".." without escapes.
static bool read_string(Reader *reader, const char *what, const char **begin, size_t *length) {
    char quote = peek(reader);
    if (quote != '\'' && quote != '"')
        return fail_at(reader, reader->at, "a quoted string expected for %s", what);
    size_t start = ++reader->at;
    while (reader->at < reader->length && reader->text[reader->at] != quote) {
        if (reader->text[reader->at] == '\\')
            return fail_at(reader, reader->at, "an escape in a string");
        reader->at++;
    }
    if (reader->at == reader->length) return fail_at(reader, start - 1, "a string does not end");
    *begin = reader->text + start;
    *length = reader->at - start;
    reader->at++;
    return true;
}

static const char *descr_refusal(const char *descr, size_t length) {
    char kind = length > 1 ? descr[1] : '\0';
    if (length > 0 && descr[0] == '>') return "big-endian data";
    if (length > 0 && descr[0] == '=') return "native byte order, which a file cannot have";
    switch (kind) {
    case 'O': return "pickled objects, which are programs";
    case 'V': return "raw records";
    case 'S':
    case 'U':
    case 'a': return "strings";
    case 'c': return "complex numbers";
    case 'm':
    case 'M': return "times";
    default: return "a type that Adept does not have";
    }
}

static bool read_descr(Reader *reader, Npy *out) {
    if (peek(reader) == '[')
        return fail_at(reader, reader->at, "descr is a list: records are not read");
    size_t start = reader->at;
    const char *descr;
    size_t length;
    if (!read_string(reader, "descr", &descr, &length)) return false;
    for (int code = 0; code < NPY_COUNT; code++) {
        if (strlen(codes[code].descr) == length && !memcmp(codes[code].descr, descr, length)) {
            out->code = (NpyCode)code;
            return true;
        }
    }
    return fail_at(reader, start, "descr '%.*s' is %s", (int)(length < 64 ? length : 64), descr,
                   descr_refusal(descr, length));
}

static bool read_word(Reader *reader, const char *word) {
    skip_spaces(reader);
    size_t length = strlen(word);
    if (reader->length - reader->at < length) return false;
    if (memcmp(reader->text + reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

static bool read_order(Reader *reader, bool *fortran) {
    *fortran = read_word(reader, "True");
    if (*fortran || read_word(reader, "False")) return true;
    return fail_at(reader, reader->at, "fortran_order must be True or False");
}

static bool read_size(Reader *reader, int64_t *out) {
    peek(reader);
    size_t start = reader->at;
    int64_t value = 0;
    while (reader->at < reader->length && isdigit((unsigned char)reader->text[reader->at])) {
        value = value * 10 + (reader->text[reader->at++] - '0');
        if (value > INT32_MAX) return fail_at(reader, start, "a size of 2^31 or more");
    }
    if (reader->at == start)
        return fail_at(reader, start, "a size must be a plain decimal integer");
    if (reader->text[start] == '0' && reader->at - start > 1)
        return fail_at(reader, start, "a size has a leading zero");
    *out = value;
    return true;
}

static bool read_shape(Reader *reader, Npy *out) {
    if (!expect(reader, '(', "before the sizes of shape")) return false;
    bool comma = true;
    while (peek(reader) != ')') {
        if (!comma) return fail_at(reader, reader->at, "',' or ')' expected after a size");
        if (out->rank == RANK_MAX)
            return fail_at(reader, reader->at, "shape has more than %d sizes", RANK_MAX);
        if (!read_size(reader, &out->size[out->rank])) return false;
        out->rank++;
        comma = take(reader, ',');
    }
    if (out->rank == 1 && !comma)
        return fail_at(reader, reader->at, "a shape of one size needs a comma: (%lld,)",
                       (long long)out->size[0]);
    reader->at++;
    return true;
}

// { 'descr': .., 'fortran_order': .., 'shape': .., }
static bool read_literal(Reader *reader, Npy *out) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    enum { DESCR, ORDER, SHAPE, KEYS };
    bool seen[KEYS] = {false};
    bool fortran = false;
    size_t order_at = 0;

    if (!expect(reader, '{', "at the start of the header")) return false;
    while (peek(reader) != '}') {
        size_t start = reader->at;
        const char *key;
        size_t length;
        if (!read_string(reader, "a key", &key, &length)) return false;
        int which = 0;
        while (which < KEYS &&
               (strlen(keys[which]) != length || memcmp(keys[which], key, length) != 0))
            which++;
        if (which == KEYS)
            return fail_at(reader, start, "unknown key '%.*s'", (int)(length < 64 ? length : 64),
                           key);
        if (seen[which]) return fail_at(reader, start, "key '%s' stands twice", keys[which]);
        seen[which] = true;
        if (!expect(reader, ':', "after a key")) return false;
        peek(reader);
        if (which == ORDER) order_at = reader->at;
        bool good = which == DESCR   ? read_descr(reader, out)
                    : which == ORDER ? read_order(reader, &fortran)
                                     : read_shape(reader, out);
        if (!good) return false;
        if (peek(reader) != '}' && !expect(reader, ',', "after a value")) return false;
    }
    size_t end = reader->at++;
    for (int which = 0; which < KEYS; which++)
        if (!seen[which]) return fail_at(reader, end, "key '%s' is missing", keys[which]);
    if (fortran && out->rank > 1)
        return fail_at(reader, order_at,
                       "fortran_order is True for rank %u: only row-major is read", out->rank);
    skip_spaces(reader);
    if (reader->at != reader->length)
        return fail_at(reader, reader->at, "only spaces may follow the dict");
    return true;
}

// ---- the file around it ----------------------------------------------------------------------

static uint32_t little_endian(const uint8_t *bytes, unsigned count) {
    uint32_t value = 0;
    while (count-- > 0) value = value << 8 | bytes[count];
    return value;
}

static bool check_ascii(Reader *reader) {
    for (size_t i = 0; i < reader->length; i++) {
        unsigned char c = (unsigned char)reader->text[i];
        if (c < ' ' || c > '~') return fail_at(reader, i, "byte 0x%02x in the header", c);
    }
    return true;
}

static bool check_size(Reader *reader, uint64_t size, Npy *out) {
    bool empty = false, fits = true;
    uint64_t count = 1;
    for (uint32_t i = 0; i < out->rank; i++) {
        empty |= out->size[i] == 0;
        fits = fits && !__builtin_mul_overflow(count, (uint64_t)out->size[i], &count);
    }
    out->count = empty ? 0 : count;
    fits = empty || (fits && !__builtin_mul_overflow(count, codes[out->code].bytes, &count));
    if (!fits)
        return fail_at(reader, reader->length + 1, "the sizes of shape multiply to 2^64 or more");
    out->bytes = empty ? 0 : count;
    uint64_t held = size - out->data_offset;
    if (out->bytes != held)
        return fail_at(reader, reader->length + 1,
                       "%llu items of %u bytes are %llu bytes of data, but the file holds %llu",
                       (unsigned long long)out->count, codes[out->code].bytes,
                       (unsigned long long)out->bytes, (unsigned long long)held);
    return true;
}

bool npy_parse_header(const char *name, const void *bytes, size_t available, uint64_t size,
                      Npy *out, Text *error) {
    static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    const uint8_t *file = bytes;
    Reader reader = {.name = name, .error = error};
    *out = (Npy){0};
    if (available < 10)
        return fail_at(&reader, 0, "%zu bytes are too few for a .npy file", available);
    if (memcmp(file, magic, sizeof magic) != 0)
        return fail_at(&reader, 0, "not a .npy file: it does not begin with \\x93NUMPY");
    unsigned major = file[6], minor = file[7];
    if (major < 1 || major > 3 || minor != 0)
        return fail_at(&reader, 6, "version %u.%u: only 1.0, 2.0 and 3.0 are read", major, minor);
    unsigned field = major == 1 ? 2 : 4;
    if (available < 8 + field)
        return fail_at(&reader, 8, "%zu bytes are too few for a .npy file", available);
    uint32_t length = little_endian(file + 8, field);
    if (length > 10000)
        return fail_at(&reader, 8, "a header of %lu bytes: at most 10000 are read",
                       (unsigned long)length);
    reader.base = 8 + field;
    if (length > size - reader.base || length > available - reader.base)
        return fail_at(&reader, 0, "a header of %lu bytes, but the file holds %llu after here",
                       (unsigned long)length, (unsigned long long)(size - reader.base));
    if (length == 0 || file[reader.base + length - 1] != '\n')
        return fail_at(&reader, length ? length - 1 : 0, "the header does not end with a newline");
    reader.text = (const char *)file + reader.base;
    reader.length = length - 1;
    out->data_offset = reader.base + length;
    return check_ascii(&reader) && read_literal(&reader, out) && check_size(&reader, size, out);
}

static bool take_memory(const char *name, Npy *out, Text *error) {
    out->data = out->bytes <= SIZE_MAX - 1 ? malloc(out->bytes ? (size_t)out->bytes : 1) : NULL;
    if (out->data) return true;
    text_printf(error, "%s: no memory for %llu bytes", name, (unsigned long long)out->bytes);
    return false;
}

bool npy_read_memory(const char *name, const void *bytes, size_t size, Npy *out, Text *error) {
    if (!npy_parse_header(name, bytes, size, size, out, error)) return false;
    if (!take_memory(name, out, error)) return false;
    if (out->bytes > 0)
        memcpy(out->data, (const char *)bytes + out->data_offset, (size_t)out->bytes);
    return true;
}

static bool read_open_file(int file, const char *path, uint64_t size, Npy *out, Text *error) {
    uint8_t head[NPY_HEADER_MAX];
    size_t available = size < sizeof head ? (size_t)size : sizeof head;
    if (!file_read_at(file, path, 0, head, available, error)) return false;
    if (!npy_parse_header(path, head, available, size, out, error)) return false;
    if (!take_memory(path, out, error)) return false;
    if (file_read_at(file, path, out->data_offset, out->data, (size_t)out->bytes, error))
        return true;
    npy_free(out);
    return false;
}

bool npy_read(const char *path, Npy *out, Text *error) {
    uint64_t size;
    *out = (Npy){0};
    int file = file_open(path, &size, error);
    if (file < 0) return false;
    bool good = read_open_file(file, path, size, out, error);
    close(file);
    return good;
}

void npy_free(Npy *array) {
    free(array->data);
    array->data = NULL;
}

// ---- dtypes ----------------------------------------------------------------------------------

static bool narrow_to_i32(const char *name, Npy *array, Text *error) {
    char *data = array->data;
    for (uint64_t i = 0; i < array->count; i++) {
        int64_t wide;
        memcpy(&wide, data + 8 * i, sizeof wide);
        if (wide < INT32_MIN || wide > INT32_MAX) {
            text_printf(error, "%s: byte %llu: %lld does not fit i32", name,
                        (unsigned long long)(array->data_offset + 8 * i), (long long)wide);
            return false;
        }
        int32_t narrow = (int32_t)wide;
        memcpy(data + 4 * i, &narrow, sizeof narrow);
    }
    array->code = NPY_I4;
    array->bytes = 4 * array->count;
    return true;
}

static bool check_bools(const char *name, const Npy *array, Text *error) {
    const uint8_t *data = array->data;
    for (uint64_t i = 0; i < array->count; i++) {
        if (data[i] <= 1) continue;
        text_printf(error, "%s: byte %llu: a bool of %u", name,
                    (unsigned long long)(array->data_offset + i), data[i]);
        return false;
    }
    return true;
}

bool npy_convert(const char *name, Npy *array, DType dtype, Text *error) {
    NpyCode wanted;
    if (array->code == NPY_I8 && dtype == DT_I32) return narrow_to_i32(name, array, error);
    if (npy_code_of(dtype, &wanted) && wanted == array->code)
        return dtype != DT_BOOL || check_bools(name, array, error);
    text_printf(error, "%s: descr '%s' where %s is wanted", name, npy_descr(array->code),
                dtype_name(dtype));
    return false;
}

bool npy_code_of(DType dtype, NpyCode *out) {
    if (dtype == DT_BF16) {
        *out = NPY_U2;
        return true;
    }
    if (dtype == DT_F8E4M3 || dtype == DT_F8E5M2) dtype = DT_U8;
    for (int code = 0; code < NPY_COUNT; code++) {
        if (dtype != DT_NONE && codes[code].dtype == dtype) {
            *out = (NpyCode)code;
            return true;
        }
    }
    return false;
}

// ---- writing ---------------------------------------------------------------------------------

void npy_write_header(Text *out, NpyCode code, uint32_t rank, const int64_t *size) {
    Text dict = {0};
    text_printf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_descr(code));
    for (uint32_t i = 0; i < rank; i++)
        text_printf(&dict, i + 1 < rank ? "%lld, " : "%lld", (long long)size[i]);
    text_put(&dict, rank == 1 ? ",), }" : "), }");
    while ((10 + dict.len + 1) % 64 != 0) text_put(&dict, " ");
    text_put(&dict, "\n");

    uint8_t lead[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    lead[8] = (uint8_t)(dict.len & 255);
    lead[9] = (uint8_t)(dict.len >> 8);
    text_write(out, lead, sizeof lead);
    text_write(out, dict.data, dict.len);
    text_free(&dict);
}

bool npy_write(const char *path, const Npy *array, Text *error) {
    Text file = {0};
    npy_write_header(&file, array->code, array->rank, array->size);
    text_write(&file, array->data, (size_t)array->bytes);
    bool good = file_write(path, file.data, file.len, error);
    text_free(&file);
    return good;
}
