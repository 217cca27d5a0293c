// What lexer (adp.l), parser (adp.y) and their helpers (parse.c) share while a text is read.
#pragma once

#include "frontend/ast.h"

typedef struct Bracket {
    char close; // the character that closes it
    Span span;
} Bracket;

typedef enum Header { // how much of `adept 1 ir` was read
    HEADER_START,
    HEADER_ADEPT,
    HEADER_VERSION,
    HEADER_DONE
} Header;

typedef struct Parse {
    Arena *arena;
    Diags *diags;
    FileId file;

    // Lexer: the text, how much of it flex has taken, and the place of the next token.
    const char *text;
    size_t length, taken;
    void *scanner;
    Span place;
    Header header;
    bool expression; // one expression is read, not a file
    bool dump;
    bool refused; // the text is no .adp file: stop
    int last;     // token before, decides what a newline means

    Bracket bracket[NEST_MAX];
    uint32_t brackets;

    // Recovery: after an error tokens are skipped to the end of the statement, which leaves
    // skip_level open braces. The names of a statement in error may be its definitions.
    bool started, skipping;
    uint32_t resumed_at; // the place of the last recovery, which may not happen twice
    uint32_t skip_level;
    Span statement, previous; // its first token (line 0: none yet), and the last one
    bool breaks;              // the last token stands where a new statement would
    enum { HELD_NONE, HELD_BREAK, HELD_TOKEN } held; // what is given again: a line's end, the token
    int held_kind;
    Span held_span;
    union ADP_STYPE *held_value;
    WordVec names; // of the statement so far
    WordVec *lost; // of the statement in error

    bool complete; // the parser came to the end; there may have been errors
    File *result;
    Expr *result_expr;
} Parse;

// Runs lexer and parser over text from `taken` on. False when there were errors.
bool parse_run(Parse *parse);

// For the lexer's actions. They return the token, after a diagnostic a token in error.
int parse_string(Parse *parse, const char *text, size_t length, Span span, String **out);
int parse_int(Parse *parse, const char *text, Span span, int64_t *out);
int parse_float(Parse *parse, const char *text, Span span, double *out);
int parse_name(Parse *parse, const char *text, size_t length, Span span, const char **out);
bool parse_newline_ends(const Parse *parse); // a newline here is the end of a statement
int parse_invalid(Parse *parse, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// For the parser's actions: reports an expression that is nested too deeply, or a long list.
Expr *parse_checked(Parse *parse, Expr *expr);
void parse_loc(Parse *parse, const ArgVec *args, PositionVec *out);
// Notes and help for a syntax error at the last token.
void parse_explain(Parse *parse, Span span, bool at_else);
// After an error at the last token: skips to the end of the statement.
void parse_recover(Parse *parse);
// The statement in error is over and the parser can go on as if nothing had happened.
bool parse_resumes(Parse *parse);
