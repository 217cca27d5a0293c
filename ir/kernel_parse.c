// Reads the text of kernel IR (ir/kernel_print.c). Operands stand for earlier lines only; types are
// taken as written, kernel_verify checks them.
#include "ir/fragment_layout.h"
#include "ir/kernel_internal.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

typedef enum TokenKind { TOK_END, TOK_NAME, TOK_VALUE, TOK_NUMBER, TOK_PUNCTUATION } TokenKind;

typedef struct Token {
    TokenKind kind;
    const char *text;
    size_t length;
    Span span;
} Token;

// An operand while the numbers of parameters and constants are not settled: index and where.
enum { FROM_BODY = 0, FROM_CONSTANTS = 1, FROM_PARAMS = 2 };
typedef struct Ref {
    uint32_t from, index;
} Ref;

typedef struct Named {
    const char *name;
    Ref ref;
    uint32_t next;
} Named;

enum { NAME_HEADS = 1024 };

typedef struct Parser {
    Arena *arena;
    Diags *diags;
    FileId file;
    const char *text;
    size_t length, at, line_start;
    uint32_t line;
    Token token;
    Kernel *kernel;
    VEC(KInstr) constants;
    VEC(KInstr) body;
    VEC(Token) places; // of body instructions
    VEC(Named) named;
    uint32_t heads[NAME_HEADS]; // into named, plus 1
    jmp_buf failed;
} Parser;

static _Noreturn void fail(Parser *p, Token at, const char *message) {
    diag_error(p->diags, at.span, "%s", message);
    longjmp(p->failed, 1);
}

static bool is_name_char(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static char peek(const Parser *p, size_t ahead) {
    return p->at + ahead < p->length ? p->text[p->at + ahead] : 0;
}

static void skip_blanks(Parser *p) {
    while (p->at < p->length && isspace((unsigned char)p->text[p->at])) {
        if (p->text[p->at++] == '\n') {
            p->line++;
            p->line_start = p->at;
        }
    }
}

static void scan_number(Parser *p) {
    while (isdigit((unsigned char)peek(p, 0))) p->at++;
    if (peek(p, 0) == '.' && isdigit((unsigned char)peek(p, 1))) {
        p->at++;
        while (isdigit((unsigned char)peek(p, 0))) p->at++;
    }
    bool sign = peek(p, 1) == '-' || peek(p, 1) == '+';
    if (peek(p, 0) == 'e' && isdigit((unsigned char)peek(p, sign ? 2 : 1))) {
        p->at += sign ? 2 : 1;
        while (isdigit((unsigned char)peek(p, 0))) p->at++;
    }
    if (peek(p, 0) == 'l') p->at++;
}

static void advance(Parser *p) {
    skip_blanks(p);
    size_t begin = p->at;
    char c = peek(p, 0);
    Token token = {.kind = TOK_PUNCTUATION, .text = p->text + begin};
    if (p->at >= p->length) {
        token.kind = TOK_END;
    } else if (isalpha((unsigned char)c) || c == '_') {
        token.kind = TOK_NAME;
        while (is_name_char(peek(p, 0))) p->at++;
    } else if (c == '%' && is_name_char(peek(p, 1))) {
        token.kind = TOK_VALUE;
        p->at++;
        while (is_name_char(peek(p, 0))) p->at++;
    } else if (isdigit((unsigned char)c) || (c == '-' && isalnum((unsigned char)peek(p, 1)))) {
        token.kind = TOK_NUMBER;
        p->at++;
        if (c == '-' && isalpha((unsigned char)peek(p, 0)))
            while (isalpha((unsigned char)peek(p, 0))) p->at++;
        else
            scan_number(p);
    } else if (c == '.' && peek(p, 1) == '.' && peek(p, 2) == '=') {
        p->at += 3;
    } else {
        p->at++;
    }
    token.length = p->at - begin;
    token.span = (Span){p->file, p->line, (uint32_t)(begin - p->line_start) + 1, (uint32_t)begin,
                        (uint32_t)p->at};
    p->token = token;
}

static bool is(const Parser *p, const char *text) {
    return p->token.kind != TOK_END && p->token.length == strlen(text) &&
           memcmp(p->token.text, text, p->token.length) == 0;
}

static bool accept(Parser *p, const char *text) {
    if (!is(p, text)) return false;
    advance(p);
    return true;
}

static void expect(Parser *p, const char *text) {
    if (!accept(p, text)) fail(p, p->token, arena_printf(p->arena, "expected '%s'", text));
}

static const char *take_name(Parser *p) {
    if (p->token.kind != TOK_NAME) fail(p, p->token, "expected a name");
    const char *name = arena_strndup(p->arena, p->token.text, p->token.length);
    advance(p);
    return name;
}

static int64_t take_integer(Parser *p, int64_t lo, int64_t hi) {
    Token token = p->token;
    if (token.kind != TOK_NUMBER) fail(p, token, "expected a number");
    const char *text = arena_strndup(p->arena, token.text, token.length);
    char *end;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (errno != 0 || *end != 0 || value < lo || value > hi)
        fail(p, token, "number is not an integer or out of range");
    advance(p);
    return value;
}

static unsigned name_slot(const char *name, size_t length) {
    return (unsigned)(hash_bytes(0, name, length) % NAME_HEADS);
}

static const Named *find(const Parser *p, const char *name, size_t length) {
    for (uint32_t i = p->heads[name_slot(name, length)]; i != 0; i = p->named.at[i - 1].next) {
        const Named *named = &p->named.at[i - 1];
        if (strlen(named->name) == length && memcmp(named->name, name, length) == 0) return named;
    }
    return NULL;
}

static void define(Parser *p, Token at, const char *name, uint32_t from, uint32_t index) {
    size_t length = strlen(name);
    if (find(p, name, length) != NULL) fail(p, at, "name is defined twice");
    uint32_t *head = &p->heads[name_slot(name, length)];
    Named named = {name, {from, index}, *head};
    vec_push(p->arena, &p->named, named);
    *head = p->named.len;
}

// "f32x4" and the like, from a name token; lanes 1, 2 or 4.
static bool split_lanes(const char *name, char *base, size_t size, unsigned *lanes) {
    size_t length = strlen(name);
    *lanes = 1;
    if (length > 2 && name[length - 2] == 'x' && strchr("24", name[length - 1]) != NULL) {
        *lanes = (unsigned)(name[length - 1] - '0');
        length -= 2;
    }
    if (length >= size) return false;
    memcpy(base, name, length);
    base[length] = 0;
    return true;
}

static DType take_dtype(Parser *p) {
    Token token = p->token;
    DType dtype = DT_NONE;
    const char *name = take_name(p);
    if (!dtype_from_name(name, &dtype) || ktype_of_memory(dtype, 1).kind == KT_NONE)
        fail(p, token, "not a type that kernels read or write");
    return dtype;
}

static KType take_fragment(Parser *p) {
    static const char *const uses[] = {"a", "b", "acc"};
    unsigned use = 0;
    expect(p, "(");
    while (use < 3 && !is(p, uses[use])) use++;
    if (use == 3) fail(p, p->token, "expected a, b or acc");
    advance(p);
    DType dtype = take_dtype(p);
    unsigned rows = (unsigned)take_integer(p, 1, 256);
    // "16x8" reads as the number 16 and the name x8.
    Token token = p->token;
    const char *cols = take_name(p);
    char *end;
    unsigned long count =
        cols[0] == 'x' && isdigit((unsigned char)cols[1]) ? strtoul(cols + 1, &end, 10) : 0;
    if (count == 0 || count > 256 || *end != 0) fail(p, token, "expected rows x columns");
    expect(p, ")");
    return ktype_frag((KUse)(use + KU_A), dtype, rows, (unsigned)count);
}

static KType take_type(Parser *p) {
    static const struct {
        const char *name;
        KKind kind;
    } kinds[] = {
        {"bool", KT_BOOL}, {"i32", KT_I32}, {"f32", KT_F32}, {"i64", KT_I64}, {"ptr", KT_PTR}};
    Token token = p->token;
    char base[8];
    unsigned lanes;
    const char *name = take_name(p);
    if (strcmp(name, "frag") == 0) return take_fragment(p);
    if (split_lanes(name, base, sizeof base, &lanes)) {
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (strcmp(kinds[i].name, base) == 0 && (lanes == 1 || kinds[i].kind <= KT_F32))
                return K_TYPE((uint8_t)kinds[i].kind, (uint8_t)lanes);
    }
    fail(p, token, "not a register type");
}

static void take_param(Parser *p) {
    KParam param = {.multiple = 16, .lo = INT64_MIN, .hi = INT64_MAX};
    Token token = p->token;
    param.name = take_name(p);
    expect(p, ":");
    define(p, token, param.name, FROM_PARAMS, p->kernel->params.len);
    if (is(p, "i32") || is(p, "i64")) {
        bool small = is(p, "i32");
        int64_t lowest = small ? INT32_MIN : INT64_MIN, highest = small ? INT32_MAX : INT64_MAX;
        advance(p);
        param = (KParam){param.name, small ? KP_I32 : KP_I64, 0, false, false, lowest, highest, 1};
        if (accept(p, "in")) {
            param.lo = take_integer(p, lowest, highest);
            expect(p, "..=");
            param.hi = take_integer(p, param.lo, highest);
        }
        if (accept(p, "multiple")) param.multiple = take_integer(p, 1, INT64_MAX);
    } else {
        param.read = accept(p, "read");
        param.write = accept(p, "write");
        if (!param.read && !param.write) fail(p, p->token, "expected read, write, i32 or i64");
        param.dtype = take_dtype(p);
        if (accept(p, "align")) param.multiple = take_integer(p, 1, 1 << 20);
    }
    vec_push(p->arena, &p->kernel->params, param);
}

static uint32_t find_region(const Parser *p, const char *name) {
    uint32_t i = 0;
    while (i < p->kernel->shared.len && strcmp(p->kernel->shared.at[i].name, name) != 0) i++;
    return i;
}

static void take_shared(Parser *p) {
    Token token = p->token;
    KShared region = {.name = take_name(p)};
    expect(p, ":");
    KType type = take_type(p);
    if (type.kind != KT_I32 && type.kind != KT_F32) fail(p, token, "shared memory is i32 or f32");
    if (find_region(p, region.name) < p->kernel->shared.len) fail(p, token, "region twice");
    region.dtype = type.kind == KT_I32 ? DT_I32 : DT_F32;
    region.lanes = type.lanes;
    expect(p, "[");
    region.count = (uint32_t)take_integer(p, 1, 1 << 20);
    expect(p, "]");
    vec_push(p->arena, &p->kernel->shared, region);
}

static void take_head(Parser *p) {
    expect(p, "kernel");
    p->kernel->name = take_name(p);
    expect(p, "(");
    for (bool more = !is(p, ")"); more; more = accept(p, ",")) take_param(p);
    expect(p, ")");
    expect(p, "local");
    expect(p, "(");
    p->kernel->local_size = (uint32_t)take_integer(p, 1, 65536);
    expect(p, ")");
    expect(p, "subgroup");
    expect(p, "(");
    p->kernel->subgroup_size = (uint32_t)take_integer(p, 0, 128);
    expect(p, ")");
    if (accept(p, "components")) {
        FragmentLayout layout = LAYOUT_UNKNOWN;
        expect(p, "(");
        Token token = p->token;
        if (!fragment_layout_from_name(take_name(p), &layout)) fail(p, token, "unknown layout");
        p->kernel->components = (uint8_t)layout;
        expect(p, ")");
    }
    p->kernel->strict = accept(p, "strict");
    if (accept(p, "shared")) {
        expect(p, "(");
        do take_shared(p);
        while (accept(p, ","));
        expect(p, ")");
    }
    if (accept(p, "lines")) {
        expect(p, "(");
        do vec_push(p->arena, &p->kernel->lines, (uint32_t)take_integer(p, 1, UINT32_MAX));
        while (accept(p, ","));
        expect(p, ")");
    }
}

static bool take_literal(Parser *p, KInstr *out) {
    Token token = p->token;
    const char *text = arena_strndup(p->arena, token.text, token.length);
    char *end;
    *out = (KInstr){.op = K_CONST};
    if (accept(p, "true") || accept(p, "false")) {
        out->type = K_TYPE(KT_BOOL, 1);
        out->imm = text[0] == 't';
        return true;
    }
    if (accept(p, "nan")) {
        expect(p, "(");
        // "0x7fc00000" reads as the number 0 and the name x7fc00000.
        Token digits = p->token;
        if (take_integer(p, 0, 0) != 0) return false;
        const char *hex = take_name(p);
        unsigned long bits = hex[0] == 'x' ? strtoul(hex + 1, &end, 16) : 0;
        if (bits > UINT32_MAX || (bits & 0x7fffffff) <= 0x7f800000 || *end != 0)
            fail(p, digits, "not the bits of a NaN");
        expect(p, ")");
        out->type = K_TYPE(KT_F32, 1);
        out->imm = (int64_t)bits;
        return true;
    }
    bool infinite = is(p, "inf") || is(p, "-inf");
    if (token.kind != TOK_NUMBER && !infinite) return false;
    if (infinite || memchr(text, '.', token.length) || memchr(text, 'e', token.length)) {
        KCell cell = {.f = strtof(text, &end)};
        if (*end != 0) fail(p, token, "not a number");
        advance(p);
        out->type = K_TYPE(KT_F32, 1);
        out->imm = cell.u;
    } else if (text[token.length - 1] == 'l') {
        errno = 0;
        out->type = K_TYPE(KT_I64, 1);
        out->imm = strtoll(text, &end, 10);
        if (errno != 0 || *end != 'l') fail(p, token, "number is out of range");
        advance(p);
    } else {
        out->type = K_TYPE(KT_I32, 1);
        out->imm = take_integer(p, INT32_MIN, INT32_MAX);
    }
    return true;
}

static Ref take_operand(Parser *p) {
    KInstr constant;
    Token token = p->token;
    if (token.kind == TOK_VALUE) {
        const Named *named = find(p, token.text + 1, token.length - 1);
        if (named == NULL) fail(p, token, "value is not defined above");
        advance(p);
        return named->ref;
    }
    if (!take_literal(p, &constant)) fail(p, token, "expected a value or a number");
    for (uint32_t i = 0; i < p->constants.len; i++) {
        const KInstr *old = &p->constants.at[i];
        if (ktype_equal(old->type, constant.type) && old->imm == constant.imm)
            return (Ref){FROM_CONSTANTS, i};
    }
    vec_push(p->arena, &p->constants, constant);
    return (Ref){FROM_CONSTANTS, p->constants.len - 1};
}

// Until all is read, operands hold from << 30 | index.
static KVal pack(Parser *p, Token token, Ref ref) {
    if (ref.index >= 1u << 30) fail(p, token, "kernel is too long");
    return ref.from << 30 | ref.index;
}

static void take_extras(Parser *p, KInstr *instr) {
    unsigned what = kop_extras(instr->op);
    if (what & KX_IMM) {
        expect(p, "#");
        instr->imm = take_integer(p, 0, 1 << 20);
    }
    if (what & KX_MEM) {
        expect(p, "as");
        instr->mem = (uint8_t)take_dtype(p);
    }
    if (what & KX_ALIGN) {
        expect(p, "align");
        instr->align = (uint8_t)take_integer(p, 1, 16);
    }
    if (what & KX_LAYOUT) {
        if (!is(p, "row") && !is(p, "col")) fail(p, p->token, "expected row or col");
        instr->flag = is(p, "row") ? KL_ROW_MAJOR : KL_COL_MAJOR;
        advance(p);
    }
    if (what & KX_HINT)
        instr->flag = accept(p, "unroll")        ? K_LOOP_UNROLL
                      : accept(p, "dont_unroll") ? K_LOOP_DONT_UNROLL
                                                 : K_LOOP_PLAIN;
    if (accept(p, "loc")) {
        expect(p, "(");
        instr->line = (uint32_t)take_integer(p, 1, UINT32_MAX);
        expect(p, ")");
    }
    if (what & KX_BLOCK) expect(p, "{");
}

static void take_instr(Parser *p) {
    KInstr instr = {0};
    Token token = p->token;
    const char *result = NULL;
    KOp op;
    if (token.kind == TOK_VALUE) {
        result = arena_strndup(p->arena, token.text + 1, token.length - 1);
        advance(p);
        expect(p, ":");
        instr.type = take_type(p);
        expect(p, "=");
    }
    Token word = p->token;
    bool known = kop_from_name(take_name(p), &op);
    if (!known || op == K_CONST || op == K_PARAM || op == K_NOP || op == K_ELSE || op == K_END_IF ||
        op == K_END_LOOP)
        fail(p, word, "not an operation of kernel IR");
    instr.op = (uint8_t)op;
    const KOpInfo *info = kop_info(op);
    bool comma = false;
    if (kop_extras(op) & KX_REGION) {
        Token region = p->token;
        instr.imm = find_region(p, take_name(p));
        if (instr.imm == p->kernel->shared.len) fail(p, region, "no such region");
        comma = true;
    }
    for (unsigned i = 0; i < info->operands; i++) {
        if (comma) expect(p, ",");
        Token operand = p->token;
        instr.arg[i] = pack(p, operand, take_operand(p));
        comma = true;
    }
    take_extras(p, &instr);
    if (result != NULL) define(p, token, result, FROM_BODY, p->body.len);
    vec_push(p->arena, &p->body, instr);
    vec_push(p->arena, &p->places, token);
}

static void take_body(Parser *p) {
    VEC(uint8_t) open = {0};
    expect(p, "{");
    for (;;) {
        Token token = p->token;
        if (!is(p, "}")) {
            take_instr(p);
            uint8_t op = p->body.at[p->body.len - 1].op;
            if (op == K_IF || op == K_LOOP) vec_push(p->arena, &open, op);
            continue;
        }
        if (open.len == 0) return;
        KInstr end = {.op = open.at[open.len - 1] == K_LOOP ? K_END_LOOP : K_END_IF};
        advance(p);
        if (accept(p, "else")) {
            expect(p, "{");
            end.op = K_ELSE;
        } else {
            open.len--;
        }
        vec_push(p->arena, &p->body, end);
        vec_push(p->arena, &p->places, token);
    }
}

static void assemble(Parser *p) {
    Kernel *kernel = p->kernel;
    uint32_t first[3];
    first[FROM_PARAMS] = 1;
    first[FROM_CONSTANTS] = 1 + kernel->params.len;
    first[FROM_BODY] = first[FROM_CONSTANTS] + p->constants.len;
    vec_push(p->arena, &kernel->code, (KInstr){.op = K_NOP});
    for (uint32_t i = 0; i < kernel->params.len; i++) {
        static const uint8_t kinds[] = {KT_PTR, KT_I32, KT_I64};
        KInstr param = {
            .op = K_PARAM, .type = K_TYPE(kinds[kernel->params.at[i].kind], 1), .imm = i};
        vec_push(p->arena, &kernel->code, param);
    }
    for (uint32_t i = 0; i < p->constants.len; i++)
        vec_push(p->arena, &kernel->code, p->constants.at[i]);
    for (uint32_t i = 0; i < p->body.len; i++) {
        KInstr instr = p->body.at[i];
        for (unsigned j = 0; j < kop_info(instr.op)->operands; j++)
            instr.arg[j] = first[instr.arg[j] >> 30] + (instr.arg[j] & 0x3fffffff);
        if (instr.op == K_FRAG_LOAD) instr.mem = instr.type.dtype;
        if (instr.op == K_FRAG_STORE) instr.mem = kernel_at(kernel, instr.arg[3])->type.dtype;
        vec_push(p->arena, &kernel->code, instr);
    }
    KVal where = 0;
    const char *wrong = kernel_link(kernel, p->arena, &where);
    if (wrong != NULL) {
        bool placed = where >= first[FROM_BODY] && where - first[FROM_BODY] < p->places.len;
        fail(p, placed ? p->places.at[where - first[FROM_BODY]] : p->token, wrong);
    }
    kernel_summarise(kernel, p->arena);
}

Kernel *kernel_parse(Arena *arena, const char *text, size_t length, size_t *at, FileId file,
                     Diags *diags) {
    Parser *p = arena_alloc(arena, sizeof *p);
    *p = (Parser){.arena = arena, .diags = diags, .file = file, .text = text, .length = length};
    p->kernel = arena_alloc(arena, sizeof *p->kernel);
    p->line = 1;
    for (size_t i = 0; i < *at; i++) { // positions count from the beginning of the file
        if (text[i] != '\n') continue;
        p->line++;
        p->line_start = i + 1;
    }
    p->at = *at;
    if (setjmp(p->failed) != 0) return NULL;
    advance(p);
    take_head(p);
    take_body(p);
    assemble(p);
    *at = p->at; // the closing brace is the current token
    return p->kernel;
}
