#include "ir/diag.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 20, LINE_WHOLE_MAX = 240, LINE_WINDOW = 160 };

typedef struct Remark {
    Span span;
    const char *text;
} Remark;

typedef VEC(Remark) Remarks;

typedef struct Diag {
    DiagLevel level;
    uint32_t order;
    Remark main;
    Remarks labels, notes;
    const char *help;
} Diag;

typedef struct SourceFile {
    const char *name, *text; // text is NULL when it was not kept
    size_t length;
} SourceFile;

struct Diags {
    Arena *arena;
    VEC(SourceFile) files; // FileId - 1
    VEC(Diag) list;
    bool dropped_latest; // remarks then belong to a diagnostic that was counted only
    uint32_t errors, warnings;
};

Diags *diags_create(void) {
    Arena *arena = arena_create();
    Diags *diags = arena_alloc(arena, sizeof *diags);
    diags->arena = arena;
    return diags;
}

void diags_destroy(Diags *diags) {
    if (diags) arena_destroy(diags->arena);
}

FileId diags_add_file(Diags *diags, const char *name, const char *text, size_t length) {
    SourceFile file = {.name = arena_strdup(diags->arena, name), .length = length};
    if (text) file.text = arena_strndup(diags->arena, text, length);
    vec_push(diags->arena, &diags->files, file);
    return diags->files.len;
}

static const SourceFile *source_file(const Diags *diags, FileId file) {
    return file && file <= diags->files.len ? &diags->files.at[file - 1] : NULL;
}

const char *diags_file_name(const Diags *diags, FileId file) {
    const SourceFile *source = source_file(diags, file);
    return source ? source->name : "";
}

// ---- gathering ----

static const char *format_text(Diags *diags, const char *format, va_list args) {
    Text text = {0};
    text_vprintf(&text, format, args);
    const char *copy = arena_strndup(diags->arena, text.data, text.len);
    text_free(&text);
    return copy;
}

static void diag_start(Diags *diags, DiagLevel level, Span span, const char *format, va_list args) {
    uint32_t *count = level == DIAG_ERROR ? &diags->errors : &diags->warnings;
    diags->dropped_latest = ++*count > KEPT_MAX;
    if (diags->dropped_latest) return;
    Diag diag = {.level = level, .order = diags->list.len, .main.span = span};
    diag.main.text = format_text(diags, format, args);
    vec_push(diags->arena, &diags->list, diag);
}

void diag_error(Diags *diags, Span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    diag_start(diags, DIAG_ERROR, span, format, args);
    va_end(args);
}

void diag_warning(Diags *diags, Span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    diag_start(diags, DIAG_WARNING, span, format, args);
    va_end(args);
}

static Diag *diag_latest(Diags *diags) {
    bool none = diags->dropped_latest || diags->list.len == 0;
    return none ? NULL : &diags->list.at[diags->list.len - 1];
}

void diag_note(Diags *diags, Span span, const char *format, ...) {
    Diag *diag = diag_latest(diags);
    if (!diag) return;
    va_list args;
    va_start(args, format);
    Remark note = {.span = span, .text = format_text(diags, format, args)};
    va_end(args);
    vec_push(diags->arena, &diag->notes, note);
}

void diag_label(Diags *diags, Span span, const char *format, ...) {
    Diag *diag = diag_latest(diags);
    if (!diag) return;
    va_list args;
    va_start(args, format);
    Remark label = {.span = span, .text = format_text(diags, format, args)};
    va_end(args);
    vec_push(diags->arena, &diag->labels, label);
}

void diag_help(Diags *diags, const char *format, ...) {
    Diag *diag = diag_latest(diags);
    if (!diag || diag->help) return; // at most one
    va_list args;
    va_start(args, format);
    diag->help = format_text(diags, format, args);
    va_end(args);
}

uint32_t diags_error_count(const Diags *diags) {
    return diags->errors;
}

uint32_t diags_warning_count(const Diags *diags) {
    return diags->warnings;
}

bool diags_full(const Diags *diags) {
    return diags->errors >= KEPT_MAX;
}

// ---- source lines ----

// One line of a file in code points, cut to a window around a column if it is very long.
typedef struct SourceLine {
    const char *text, *end; // without the line feed
    uint32_t first;         // column of the first code point shown (1 unless cut)
    uint32_t shown;         // code points shown
    bool cut_after;
} SourceLine;

// Bytes of the code point at `at`; 0 if it is not printable UTF-8 (then it is one byte).
static size_t code_point_length(const unsigned char *at, const unsigned char *end) {
    if (*at < 0x80) return *at >= 0x20 && *at != 0x7f;
    size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    if (*at < 0xc2 || *at > 0xf4 || (size_t)(end - at) < length) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    bool overlong = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
    bool outside = (*at == 0xed && at[1] >= 0xa0) || (*at == 0xf4 && at[1] >= 0x90);
    return overlong || outside ? 0 : length;
}

static const char *code_point_next(const char *at, const char *end) {
    size_t length = code_point_length((const unsigned char *)at, (const unsigned char *)end);
    return at + (length ? length : 1);
}

static uint32_t code_points(const char *begin, const char *end) {
    uint32_t count = 0;
    for (; begin < end; begin = code_point_next(begin, end)) count++;
    return count;
}

static bool source_line(const SourceFile *file, uint32_t line, uint32_t column, SourceLine *out) {
    if (!file || !file->text || line == 0) return false;
    const char *at = file->text, *end = file->text + file->length;
    for (uint32_t number = 1; number < line; number++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        if (!feed) return false;
        at = feed + 1;
    }
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    *out = (SourceLine){.text = at, .end = feed ? feed : end, .first = 1};
    if (out->end > at && out->end[-1] == '\r') out->end--;
    uint32_t length = code_points(out->text, out->end);
    out->shown = length;
    if (length > LINE_WHOLE_MAX) {
        uint32_t skip = column > LINE_WINDOW / 2 ? column - LINE_WINDOW / 2 : 0;
        if (skip > length - LINE_WINDOW) skip = length - LINE_WINDOW;
        for (uint32_t i = 0; i < skip; i++) out->text = code_point_next(out->text, out->end);
        out->first += skip;
        out->shown = LINE_WINDOW;
        out->cut_after = skip + LINE_WINDOW < length;
    }
    return true;
}

static void print_source_line(const SourceLine *line, Text *out) {
    const char *at = line->text;
    if (line->first > 1) text_put(out, "...");
    for (uint32_t i = 0; i < line->shown; i++) {
        size_t length =
            code_point_length((const unsigned char *)at, (const unsigned char *)line->end);
        if (length || *at == '\t')
            text_write(out, at, length ? length : 1);
        else
            text_put(out, "\xef\xbf\xbd"); // the replacement character
        at += length ? length : 1;
    }
    if (line->cut_after) text_put(out, "...");
    text_put(out, "\n");
}

// ---- rendering ----

// An underlined stretch of the line being shown: columns [begin, end).
typedef struct Mark {
    uint32_t begin, end;
    bool caret;
    const char *text; // NULL for the diagnostic's own position
} Mark;

typedef VEC(Mark) Marks;

// Columns of the part of a span that lies on its first line.
static Mark mark_of(const SourceFile *file, const SourceLine *line, const Remark *remark,
                    bool caret) {
    const Span *span = &remark->span;
    Mark mark = {.begin = span->column ? span->column : 1, .caret = caret, .text = remark->text};
    // A position past the line stands just behind it.
    uint32_t behind = line->first + line->shown;
    if (mark.begin > behind) mark.begin = behind;
    mark.end = mark.begin + 1;
    if (span->end > span->begin && span->end <= file->length) {
        const char *begin = file->text + span->begin, *end = file->text + span->end;
        if (end > line->end) end = line->end;
        uint32_t length = begin < end ? code_points(begin, end) : 0;
        if (length > 1) mark.end = mark.begin + length;
    }
    return mark;
}

static void print_location(const Diags *diags, Span span, Text *out) {
    const SourceFile *file = source_file(diags, span.file);
    if (!file) return;
    text_put(out, file->name);
    if (span.line) text_printf(out, ":%u", span.line);
    if (span.line && span.column) text_printf(out, ":%u", span.column);
    text_put(out, ": ");
}

// Blank columns up to `column`; tabs of the line above are kept so that both rows move alike.
static void print_gap(const SourceLine *line, uint32_t column, Text *out) {
    if (line->first > 1) text_put(out, "   ");
    const char *at = line->text;
    for (uint32_t i = line->first; i < column; i++) {
        bool inside = at < line->end;
        text_put(out, inside && *at == '\t' ? "\t" : " ");
        if (inside) at = code_point_next(at, line->end);
    }
}

static void print_underlines(const SourceLine *line, const Marks *marks, Text *out) {
    uint32_t begin = UINT32_MAX, end = 0;
    for (uint32_t i = 0; i < marks->len; i++) {
        if (marks->at[i].begin < begin) begin = marks->at[i].begin;
        if (marks->at[i].end > end) end = marks->at[i].end;
    }
    if (begin < line->first) begin = line->first;
    if (end > line->first + line->shown + 1) end = line->first + line->shown + 1;
    text_put(out, "      | ");
    print_gap(line, begin, out);
    for (uint32_t column = begin; column < end; column++) {
        char sign = ' ';
        for (uint32_t i = 0; i < marks->len; i++) {
            const Mark *mark = &marks->at[i];
            if (column < mark->begin || column >= mark->end) continue;
            if (mark->caret && column == mark->begin)
                sign = '^';
            else if (sign != '^')
                sign = '~';
        }
        text_write(out, &sign, 1);
    }
}

static int compare_marks(const void *a, const void *b) {
    const Mark *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (int)x->caret - (int)y->caret;
}

// The text of the rightmost mark stands beside it, the others below at their own columns, from
// right to left.
static void print_marks(const SourceLine *line, Marks *marks, Text *out) {
    qsort(marks->at, marks->len, sizeof *marks->at, compare_marks);
    print_underlines(line, marks, out);
    uint32_t left = marks->len, end = 0;
    for (uint32_t i = 0; i < marks->len; i++)
        if (marks->at[i].end > end) end = marks->at[i].end;
    const Mark *last = &marks->at[left - 1];
    if (!last->caret && last->end == end) {
        text_printf(out, " %s", last->text);
        left--;
    }
    text_put(out, "\n");
    while (left-- > 0) {
        const Mark *mark = &marks->at[left];
        if (mark->caret) continue;
        text_put(out, "      | ");
        print_gap(line, mark->begin, out);
        text_printf(out, "%s\n", mark->text);
    }
}

// One line of the source with every mark on it. False if the line cannot be shown.
static bool print_line(const Diags *diags, const Diag *diag, uint32_t number, Text *out) {
    const SourceFile *file = source_file(diags, diag->main.span.file);
    uint32_t column = diag->main.span.line == number ? diag->main.span.column : 0;
    for (uint32_t i = 0; i < diag->labels.len && column == 0; i++)
        if (diag->labels.at[i].span.line == number) column = diag->labels.at[i].span.column;
    SourceLine line;
    if (!source_line(file, number, column, &line)) return false;
    text_printf(out, "%5u | ", number);
    print_source_line(&line, out);
    Arena *arena = arena_create();
    Marks marks = {0};
    if (diag->main.span.line == number)
        vec_push(arena, &marks, mark_of(file, &line, &diag->main, true));
    for (uint32_t i = 0; i < diag->labels.len; i++) {
        const Remark *label = &diag->labels.at[i];
        if (label->span.file == diag->main.span.file && label->span.line == number)
            vec_push(arena, &marks, mark_of(file, &line, label, false));
    }
    print_marks(&line, &marks, out);
    arena_destroy(arena);
    return true;
}

// Lines of the diagnostic and its labels in the order of the file; labels whose line cannot be
// shown become notes, since the types they name matter.
static void print_source(const Diags *diags, const Diag *diag, Text *out) {
    FileId file = diag->main.span.file;
    uint32_t done = 0;
    bool shown = false;
    for (;;) {
        uint32_t next = UINT32_MAX;
        if (diag->main.span.line > done) next = diag->main.span.line;
        for (uint32_t i = 0; i < diag->labels.len; i++) {
            const Span *span = &diag->labels.at[i].span;
            if (span->file == file && span->line > done && span->line < next) next = span->line;
        }
        if (next == UINT32_MAX) break;
        shown |= print_line(diags, diag, next, out);
        done = next;
    }
    for (uint32_t i = 0; i < diag->labels.len; i++) {
        const Remark *label = &diag->labels.at[i];
        if (shown && label->span.file == file && label->span.line) continue;
        print_location(diags, label->span, out);
        text_printf(out, "note: %s\n", label->text);
    }
}

static void print_diag(const Diags *diags, const Diag *diag, Text *out) {
    print_location(diags, diag->main.span, out);
    text_printf(out, "%s: %s\n", diag->level == DIAG_ERROR ? "error" : "warning", diag->main.text);
    print_source(diags, diag, out);
    for (uint32_t i = 0; i < diag->notes.len; i++) {
        print_location(diags, diag->notes.at[i].span, out);
        text_printf(out, "note: %s\n", diag->notes.at[i].text);
    }
    if (diag->help) text_printf(out, "help: %s\n", diag->help);
}

static int compare_diags(const void *a, const void *b) {
    const Diag *x = *(const Diag *const *)a, *y = *(const Diag *const *)b;
    const Span *s = &x->main.span, *t = &y->main.span;
    if (s->file != t->file) return s->file < t->file ? -1 : 1;
    if (s->line != t->line) return s->line < t->line ? -1 : 1;
    if (s->column != t->column) return s->column < t->column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void print_more(uint32_t count, const char *what, Text *out) {
    if (count <= KEPT_MAX) return;
    uint32_t more = count - KEPT_MAX;
    text_printf(out, "%u more %s%s not shown\n", more, what, more == 1 ? "" : "s");
}

void diags_render(const Diags *diags, Text *out) {
    Arena *arena = arena_create();
    const Diag **sorted = arena_alloc(arena, diags->list.len * sizeof *sorted);
    for (uint32_t i = 0; i < diags->list.len; i++) sorted[i] = &diags->list.at[i];
    qsort(sorted, diags->list.len, sizeof *sorted, compare_diags);
    for (uint32_t i = 0; i < diags->list.len; i++) print_diag(diags, sorted[i], out);
    print_more(diags->errors, "error", out);
    print_more(diags->warnings, "warning", out);
    arena_destroy(arena);
}
