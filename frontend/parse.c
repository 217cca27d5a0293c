// What the lexer's and parser's actions call: brackets, newlines, recovery, literals.
#include "frontend/parse.h"
#include "frontend/parse_state.h"
#include "frontend/adp.tab.h"
#include "frontend/adp.lex.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- tokens ----

static uint32_t open_braces(const Parse *parse) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < parse->brackets; i++) count += parse->bracket[i].close == '}';
    return count;
}

bool parse_newline_ends(const Parse *parse) {
    if (parse->brackets && parse->bracket[parse->brackets - 1].close != '}') return false;
    switch (parse->last) {
    case TOKEN_NAME:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_STRING:
    case TOKEN_DTYPE:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_NONE:
    case TOKEN_RETURN:
    case TOKEN_WORD_INT:
    case TOKEN_WORD_FLOAT:
    case TOKEN_WORD_STR:
    case TOKEN_IR:
    case TOKEN_RPAREN:
    case TOKEN_RBRACKET:
    case TOKEN_RBRACE:
    case TOKEN_ADP_error: return true;
    default: return false;
    }
}

static bool bracket_open(Parse *parse, char close, Span span) {
    if (parse->brackets == NEST_MAX) {
        diag_error(parse->diags, span, "brackets and blocks are nested more than %d deep",
                   NEST_MAX);
        parse->refused = true;
        return false;
    }
    parse->bracket[parse->brackets++] = (Bracket){close, span};
    return true;
}

// A brace also closes the brackets left open in it; false where none is open.
static bool brace_close(Parse *parse) {
    uint32_t at = parse->brackets;
    while (at && parse->bracket[at - 1].close != '}') at--;
    if (!at) return false;
    parse->brackets = at - 1;
    return true;
}

static void bracket_close(Parse *parse, char close) {
    if (parse->brackets && parse->bracket[parse->brackets - 1].close == close) parse->brackets--;
}

// `loc`, `fused` and `ir` are words of dumps only, and `ir` only in their first line.
static int dump_word(Parse *parse, int token, const char *name) {
    if (parse->expression) return token;
    switch (parse->header) {
    case HEADER_START: parse->header = token == TOKEN_ADEPT ? HEADER_ADEPT : HEADER_DONE; break;
    case HEADER_ADEPT: parse->header = token == TOKEN_INT ? HEADER_VERSION : HEADER_DONE; break;
    case HEADER_VERSION:
        parse->header = HEADER_DONE;
        if (token != TOKEN_NAME) break;
        if (strcmp(name, "ir") != 0 && strcmp(name, "plan") != 0 && strcmp(name, "kernels") != 0)
            break;
        parse->dump = true;
        return TOKEN_IR;
    case HEADER_DONE: break;
    }
    if (token != TOKEN_NAME || !parse->dump) return token;
    return strcmp(name, "loc") == 0 ? TOKEN_LOC : strcmp(name, "fused") == 0 ? TOKEN_FUSED : token;
}

// A file that does not begin with `adept 1` is something else: one error, and the end.
static int check_header(Parse *parse, int token, int64_t version, Span span) {
    if (parse->expression || token == TOKEN_NEWLINE || token == TOKEN_ADP_error) return token;
    if (parse->header == HEADER_START && token != TOKEN_ADEPT) {
        diag_error(parse->diags, span, "the first statement of a model file is `adept 1`");
    } else if (parse->header == HEADER_ADEPT && token == TOKEN_INT && version != 1) {
        diag_error(parse->diags, span, "this compiler reads version 1 of the language, not %lld",
                   (long long)version);
    } else {
        return token;
    }
    parse->refused = true;
    return TOKEN_END;
}

static int next_token(Parse *parse, ADP_STYPE *value, Span *span) {
    for (;;) {
        if (parse->refused) return TOKEN_END;
        int token = adp_scan(value, span, parse->scanner);
        if (token == TOKEN_ADP_error) {
            parse->last = token;
            return token;
        }
        token = check_header(parse, token, token == TOKEN_INT ? value->integer : 0, *span);
        token = dump_word(parse, token, token == TOKEN_NAME ? value->name : NULL);
        bool fits = true;
        switch (token) {
        case TOKEN_LPAREN: fits = parse->skipping || bracket_open(parse, ')', *span); break;
        case TOKEN_LBRACKET: fits = parse->skipping || bracket_open(parse, ']', *span); break;
        case TOKEN_LBRACE: fits = bracket_open(parse, '}', *span); break;
        case TOKEN_RPAREN: bracket_close(parse, ')'); break;
        case TOKEN_RBRACKET: bracket_close(parse, ']'); break;
        case TOKEN_RBRACE:
            if (brace_close(parse)) break;
            diag_error(parse->diags, *span, "'}' closes nothing");
            continue;
        default: break;
        }
        parse->last = token;
        return fits ? token : TOKEN_END;
    }
}

static bool ends_skipping(const Parse *parse, int token) {
    uint32_t braces = open_braces(parse);
    return token == TOKEN_END || (token == TOKEN_NEWLINE && braces == parse->skip_level) ||
           (token == TOKEN_RBRACE && braces < parse->skip_level);
}

static void track_statement(Parse *parse, int token, const ADP_STYPE *value, Span span) {
    bool between = token == TOKEN_NEWLINE || token == TOKEN_LBRACE || token == TOKEN_RBRACE;
    if (between) {
        parse->names.len = 0;
        parse->statement = (Span){0};
    } else if (!parse->statement.line) {
        parse->statement = span;
    }
    parse->breaks = !between && parse->statement.line && span.line > parse->previous.line &&
                    span.line > parse->statement.line && span.column <= parse->statement.column &&
                    token != TOKEN_ADP_error && token != TOKEN_END;
    parse->previous = span;
    if (!parse->breaks) return;
    // Written at the statement's own margin: if it does not fit, it is the next statement.
    *parse->held_value = *value;
    parse->held_kind = token;
    parse->held_span = span;
}

// A token that begins a new statement although the one before was not at its end.
static int held_token(Parse *parse, ADP_STYPE *value, Span *span) {
    parse->held = parse->held == HELD_BREAK ? HELD_TOKEN : HELD_NONE;
    *span = parse->held_span;
    if (parse->held == HELD_TOKEN) {
        span->end = span->begin;
        return TOKEN_NEWLINE;
    }
    *value = *parse->held_value;
    return parse->held_kind;
}

int adp_lex(ADP_STYPE *value, Span *span, Parse *parse) {
    if (!parse->started) {
        parse->started = true;
        *span = parse->place;
        return parse->expression ? TOKEN_START_EXPR : TOKEN_START_FILE;
    }
    int token = parse->held ? held_token(parse, value, span) : next_token(parse, value, span);
    while (parse->skipping && !ends_skipping(parse, token)) {
        if (token == TOKEN_NAME) vec_push(parse->arena, parse->lost, (Word){value->name, *span});
        token = next_token(parse, value, span);
    }
    parse->skipping = false;
    if (token == TOKEN_NAME) vec_push(parse->arena, &parse->names, (Word){value->name, *span});
    track_statement(parse, token, value, *span);
    if (token == TOKEN_ADP_error) parse_recover(parse);
    return token;
}

void parse_recover(Parse *parse) {
    parse->lost = arena_alloc(parse->arena, sizeof *parse->lost);
    uint32_t names = parse->names.len - (parse->breaks && parse->last == TOKEN_NAME);
    for (uint32_t i = 0; i < names; i++) vec_push(parse->arena, parse->lost, parse->names.at[i]);
    while (parse->brackets && parse->bracket[parse->brackets - 1].close != '}') parse->brackets--;
    bool bracket = parse->last == TOKEN_LPAREN || parse->last == TOKEN_LBRACKET ||
                   parse->last == TOKEN_LBRACE || parse->last == TOKEN_RPAREN ||
                   parse->last == TOKEN_RBRACKET || parse->last == TOKEN_RBRACE;
    if (parse->breaks && !bracket) {
        parse->held = HELD_BREAK;
        parse->names.len = 0;
        return;
    }
    // A token that ends a statement was read already; after a brace its block is skipped too.
    parse->skipping = parse->last != TOKEN_NEWLINE && parse->last != TOKEN_RBRACE;
    parse->skip_level = open_braces(parse) - (parse->last == TOKEN_LBRACE);
    if (diags_full(parse->diags)) parse->refused = true;
}

bool parse_resumes(Parse *parse) {
    bool moved = parse->resumed_at != parse->place.begin; // else bison drops tokens until it fits
    parse->resumed_at = parse->place.begin;
    return moved && parse->last != TOKEN_END && !parse->refused;
}

void parse_explain(Parse *parse, Span span, bool at_else) {
    // A bracket that an earlier line left open is the likely mistake.
    const Bracket *open = parse->brackets ? &parse->bracket[parse->brackets - 1] : NULL;
    if (open && (parse->last == TOKEN_END || (open->close != '}' && open->span.line < span.line)))
        diag_note(parse->diags, open->span, "this '%c' is not closed",
                  parse->text[open->span.begin]);
    if (at_else) diag_help(parse->diags, "`else` stands on the line of the '}' before it");
}

// ---- literals ----

int parse_invalid(Parse *parse, Span span, const char *format, ...) {
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    diag_error(parse->diags, span, "%s", text.data);
    text_free(&text);
    return TOKEN_ADP_error;
}

int parse_int(Parse *parse, const char *text, Span span, int64_t *out) {
    errno = 0;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    unsigned long long value = strtoull(text, NULL, hex ? 16 : 10);
    if (errno == ERANGE || value > INT64_MAX)
        return parse_invalid(parse, span, "the integer is not below 2^63");
    *out = (int64_t)value;
    return TOKEN_INT;
}

int parse_float(Parse *parse, const char *text, Span span, double *out) {
    *out = strtod(text, NULL);
    if (isinf(*out))
        return parse_invalid(parse, span, "the number is too large for 64 bits; write `inf`");
    return TOKEN_FLOAT;
}

int parse_name(Parse *parse, const char *text, size_t length, Span span, const char **out) {
    size_t limit = memchr(text, '.', length) ? DOTTED_LENGTH_MAX : NAME_LENGTH_MAX;
    if (parse->dump) limit = DOTTED_LENGTH_MAX;
    if (length > limit)
        return parse_invalid(parse, span, "the name is longer than %zu bytes", limit);
    *out = arena_strndup(parse->arena, text, length);
    return TOKEN_NAME;
}

// The place of text[at] in a string that begins (after its quote) at `text`.
static Span string_place(Span span, const char *text, size_t at, size_t length) {
    span.begin += 1 + (uint32_t)at;
    span.end = span.begin + (uint32_t)length;
    span.column++;
    for (size_t i = 0; i < at; i++) span.column += ((unsigned char)text[i] & 0xc0) != 0x80;
    return span;
}

static void write_utf8(Text *out, uint32_t code) {
    unsigned char bytes[4];
    size_t length;
    if (code < 0x80) {
        bytes[0] = (unsigned char)code;
        length = 1;
    } else if (code < 0x800) {
        bytes[0] = (unsigned char)(0xc0 | code >> 6);
        length = 2;
    } else if (code < 0x10000) {
        bytes[0] = (unsigned char)(0xe0 | code >> 12);
        length = 3;
    } else {
        bytes[0] = (unsigned char)(0xf0 | code >> 18);
        length = 4;
    }
    for (size_t i = 1; i < length; i++)
        bytes[i] = (unsigned char)(0x80 | (code >> (6 * (length - 1 - i)) & 0x3f));
    text_write(out, bytes, length);
}

// Decodes the escape at text[at] (a backslash); returns how many bytes it has, 0 if it is wrong.
static size_t escape(const char *text, size_t length, size_t at, Text *out) {
    switch (at + 1 < length ? text[at + 1] : 0) {
    case '"': text_put(out, "\""); return 2;
    case '\\': text_put(out, "\\"); return 2;
    case 'n': text_put(out, "\n"); return 2;
    case 't': text_put(out, "\t"); return 2;
    case 'u': break;
    default: return 0;
    }
    uint32_t code = 0;
    size_t digits = 0, end = at + 3;
    if (at + 2 >= length || text[at + 2] != '{') return 0;
    for (; end < length && text[end] != '}'; end++, digits++) {
        const char *hex = "0123456789abcdef";
        const char *found =
            text[end] ? strchr(hex, text[end] | (text[end] >= 'A' ? 0x20 : 0)) : NULL;
        if (!found || digits == 6) return 0;
        code = code * 16 + (uint32_t)(found - hex);
    }
    bool control = code < 0x20 || code == 0x7f;
    if (end == length || digits == 0 || control || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    write_utf8(out, code);
    return end + 1 - at;
}

static void flush(Parse *parse, Text *text, String *string) {
    if (text->len)
        vec_push(parse->arena, &string->parts,
                 (StringPart){.text = arena_strndup(parse->arena, text->data, text->len)});
    text->len = 0;
}

// Reads `{expr}` at text[at]; returns how many bytes it has, 0 after a diagnostic.
static size_t insertion(Parse *parse, const char *text, size_t length, size_t at, Span span,
                        String *string) {
    const char *end = memchr(text + at, '}', length - at);
    if (!end) {
        parse_invalid(parse, string_place(span, text, at, 1),
                      "'{' is not closed in the string; write '{{' for a brace");
        return 0;
    }
    size_t size = (size_t)(end - text) - at - 1;
    if (size == 1 && text[at + 1] == '*') {
        vec_push(parse->arena, &string->parts, (StringPart){.star = true});
        return 3;
    }
    Parse inner = {.arena = parse->arena,
                   .diags = parse->diags,
                   .file = parse->file,
                   .text = parse->text,
                   .expression = true,
                   .place = string_place(span, text, at + 1, 0)};
    // The text is read where it stands, so that places and excerpts are those of the file.
    inner.taken = inner.place.begin;
    inner.length = inner.taken + size;
    if (!parse_run(&inner) || !inner.result_expr) return 0;
    vec_push(parse->arena, &string->parts, (StringPart){.expr = inner.result_expr});
    return size + 2;
}

int parse_string(Parse *parse, const char *text, size_t length, Span span, String **out) {
    String *string = arena_alloc(parse->arena, sizeof *string);
    string->span = span;
    Text literal = {0};
    size_t size;
    bool good = true;
    for (size_t at = 0; at < length && good; at += size) {
        char next = at + 1 < length ? text[at + 1] : 0;
        size = 1;
        if (text[at] == '\\') {
            size = escape(text, length, at, &literal);
            good = size > 0;
            if (!good)
                parse_invalid(parse, string_place(span, text, at, 1),
                              "unknown escape; a string has \\\" \\\\ \\n \\t \\u{hex}");
        } else if ((text[at] == '{' || text[at] == '}') && next == text[at]) {
            text_write(&literal, text + at, 1);
            size = 2;
        } else if (text[at] == '{') {
            flush(parse, &literal, string);
            size = insertion(parse, text, length, at, span, string);
            good = size > 0;
        } else if (text[at] == '}') {
            parse_invalid(parse, string_place(span, text, at, 1),
                          "'}' alone in a string; write '}}' for a brace");
            good = false;
        } else {
            text_write(&literal, text + at, 1);
        }
        if (good && literal.len > STRING_LENGTH_MAX) {
            parse_invalid(parse, span, "the string is longer than %d bytes", STRING_LENGTH_MAX);
            good = false;
        }
    }
    flush(parse, &literal, string);
    text_free(&literal);
    *out = string;
    return good ? TOKEN_STRING : TOKEN_ADP_error;
}

// ---- for the parser's actions ----

Expr *parse_checked(Parse *parse, Expr *expr) {
    const char *what = NULL;
    if (expr->depth > EXPR_DEPTH_MAX) {
        diag_error(parse->diags, expr->span, "the expression is nested more than %d deep",
                   EXPR_DEPTH_MAX);
        parse->refused = true;
    }
    if (expr->kind == EXPR_LIST && expr->list.len > LIST_MAX) what = "the list";
    if (expr->kind == EXPR_CALL && expr->call.args.len > LIST_MAX) what = "the call";
    if (what) {
        diag_error(parse->diags, expr->span, "%s has more than %d elements", what, LIST_MAX);
        expr->kind = EXPR_NONE;
    }
    return expr;
}

void parse_loc(Parse *parse, const ArgVec *args, PositionVec *out) {
    Position next = {0};
    for (uint32_t i = 0; i < args->len; i++) {
        const Expr *expr = args->at[i].value;
        bool number = expr->kind == EXPR_INT && expr->integer <= INT32_MAX;
        // "" is the main file again.
        bool file = expr->kind == EXPR_STRING && !next.line &&
                    (expr->string->parts.len == 0 ||
                     (expr->string->parts.len == 1 && expr->string->parts.at[0].text));
        if (args->at[i].name || !(number || file)) {
            diag_error(parse->diags, expr->span,
                       "loc lists lines and columns in pairs, each "
                       "after a file name or not");
            return;
        }
        if (file) {
            next.file = expr->string->parts.len ? expr->string->parts.at[0].text : NULL;
        } else if (!next.line) {
            next.line = (uint32_t)expr->integer;
        } else {
            next.column = (uint32_t)expr->integer;
            vec_push(parse->arena, out, next);
            next = (Position){.file = next.file};
        }
    }
    if (next.line)
        diag_error(parse->diags, args->at[0].value->span, "loc has a line without a column");
}

// ---- the whole ----

bool parse_run(Parse *parse) {
    uint32_t errors = diags_error_count(parse->diags);
    ADP_STYPE held;
    parse->held_value = &held;
    adp_flex_lex_init_extra(parse, &parse->scanner);
    parse->complete = adp_parse(parse) == 0 && !parse->refused;
    adp_flex_lex_destroy(parse->scanner);
    return parse->complete && diags_error_count(parse->diags) == errors;
}

bool parse_file(Arena *arena, Diags *diags, FileId file, const char *text, size_t length,
                File **out) {
    Parse parse = {.arena = arena,
                   .diags = diags,
                   .file = file,
                   .text = text,
                   .length = length,
                   .place = {file, 1, 1, 0, 0}};
    parse.result = arena_alloc(arena, sizeof *parse.result);
    parse.result->id = file;
    bool good = parse_run(&parse);
    parse.result->dump = parse.dump;
    *out = parse.complete ? parse.result : NULL;
    return good;
}

Expr *parse_expr(Arena *arena, Diags *diags, FileId file, const char *text, size_t length) {
    Parse parse = {.arena = arena,
                   .diags = diags,
                   .file = file,
                   .text = text,
                   .length = length,
                   .expression = true,
                   .place = {file, 1, 1, 0, 0}};
    return parse_run(&parse) ? parse.result_expr : NULL;
}
