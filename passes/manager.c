#include "passes/pass.h"

#include <string.h>
#include <time.h>

const PassInfo pass_table[] = {
#define PASS(id, name, fn, takes, reaches, optional, doc) {name, fn, takes, reaches, optional, doc},
#include "passes/passes.def"
#undef PASS
    {0}};

static const char *const winograd_modes[] = {"auto", "off", "f2", "f4", "f6", NULL};

enum { WORKSPACE_DEFAULT = 256 << 20 };

const PassInfo *pass_find(const char *name) {
    for (const PassInfo *pass = pass_table; pass->name; pass++)
        if (strcmp(pass->name, name) == 0) return pass;
    return NULL;
}

PassOptions pass_options(void) {
    PassOptions options = {.max_workspace = WORKSPACE_DEFAULT};
#ifndef NDEBUG
    options.verify_each = true;
#endif
    return options;
}

enum { NAME_MAX_LENGTH = 64 };

// Takes the next name off a comma-separated list; false at its end. Over-long names are cut: they
// match nothing.
static bool next_name(const char **list, char name[NAME_MAX_LENGTH]) {
    if (!*list) return false;
    size_t length = strcspn(*list, ",");
    size_t kept = length < NAME_MAX_LENGTH ? length : NAME_MAX_LENGTH - 1;
    memcpy(name, *list, kept);
    name[kept] = 0;
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

static bool list_has(const char *list, const char *wanted) {
    char name[NAME_MAX_LENGTH];
    while (next_name(&list, name))
        if (strcmp(name, wanted) == 0) return true;
    return false;
}

static bool check_list(const char *option, const char *list, bool all, Diags *diags) {
    const char *names[sizeof pass_table / sizeof *pass_table] = {0};
    for (unsigned i = 0; pass_table[i].name; i++) names[i] = pass_table[i].name;
    char name[NAME_MAX_LENGTH];
    bool good = true;
    while (next_name(&list, name)) {
        if (pass_find(name) || (all && strcmp(name, "all") == 0)) continue;
        good = false;
        diag_error(diags, (Span){0}, "%s: there is no pass \"%s\"", option, name);
        const char *near = nearest_name(name, names);
        if (near) diag_help(diags, "did you mean %s?", near);
    }
    return good;
}

static bool check_word(const char *option, const char *word, const char *const *words,
                       Diags *diags) {
    for (uint32_t i = 0; words[i]; i++)
        if (!word || strcmp(word, words[i]) == 0) return true;
    diag_error(diags, (Span){0}, "%s: there is no \"%s\"", option, word);
    for (uint32_t i = 0; words[i]; i++) diag_help(diags, "%s=%s", option, words[i]);
    return false;
}

bool pass_options_check(const PassOptions *options, Diags *diags) {
    bool good = check_list("--passes", options->passes, false, diags);
    good &= check_list("--stop-after", options->stop_after, false, diags);
    good &= check_list("--disable-pass", options->disable, false, diags);
    good &= check_list("--print-ir-before", options->print_before, true, diags);
    good &= check_list("--print-ir-after", options->print_after, true, diags);
    good &= check_word("--winograd", options->winograd, winograd_modes, diags);
    const char *disabled = options->disable;
    char name[NAME_MAX_LENGTH];
    while (good && next_name(&disabled, name)) {
        if (pass_find(name)->optional) continue;
        diag_error(diags, (Span){0}, "--disable-pass: %s is needed by what follows it", name);
        return false;
    }
    return good;
}

static bool wants(const char *list, const char *pass) {
    return list && (list_has(list, "all") || list_has(list, pass));
}

static bool dump(PassOptions *options, const char *name, const char *text, size_t length) {
    if (!options->sink.dump) return true;
    Text file = {0};
    text_printf(&file, "%02u-%s.adp", options->dumped++, name);
    bool good = options->sink.dump(options->sink.user, file.data, text, length);
    text_free(&file);
    return good;
}

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// The text of the graph before and after a pass is made only where somebody looks at it.
static bool show(PassOptions *options, const PassInfo *pass, const Graph *graph, Text *last) {
    const PassSink *sink = &options->sink;
    bool print = sink->ir && wants(options->print_after, pass->name);
    if (!print && !options->print_after_change && !sink->dump) return true;
    Text text = {0};
    graph_print(graph, &text);
    bool changed = !last->data || strcmp(last->data, text.data) != 0;
    if (sink->ir && (print || (options->print_after_change && changed)))
        sink->ir(sink->user, pass->name, false, text.data, text.len);
    bool good = dump(options, pass->name, text.data, text.len);
    text_free(last);
    *last = text;
    return good;
}

static bool run_one(const PassInfo *pass, Graph **graph, PassOptions *options, Diags *diags,
                    Text *last) {
    const PassSink *sink = &options->sink;
    Target portable;
    if (sink->ir && wants(options->print_before, pass->name)) {
        Text text = {0};
        graph_print(*graph, &text);
        sink->ir(sink->user, pass->name, true, text.data, text.len);
        text_free(&text);
    }
    if (!options->target) target_builtin("portable", &portable);
    PassContext ctx = {.diags = diags,
                       .strict_rounding = options->strict_rounding,
                       .fast_math = options->fast_math,
                       .target = options->target ? options->target : &portable,
                       .max_workspace = options->max_workspace,
                       .winograd = options->winograd ? options->winograd : winograd_modes[0]};
    double start = milliseconds();
    Graph *out = NULL;
    if (!pass->run(&ctx, *graph, &out)) return false;
    if (out->stage < pass->reaches) out->stage = pass->reaches;
    if (sink->time) sink->time(sink->user, pass->name, milliseconds() - start);
    graph_destroy(*graph);
    *graph = out;
    if (!show(options, pass, out, last)) return false;
    if (!options->verify_each || graph_verify(out, diags)) return true;
    diag_error(diags, (Span){0}, "the graph does not verify after pass %s", pass->name);
    return false;
}

// The passes to run, in order; at most one entry a name asked for.
static uint32_t select_passes(const PassOptions *options, const PassInfo **selected, uint32_t max) {
    uint32_t count = 0;
    char name[NAME_MAX_LENGTH];
    if (options->passes) {
        for (const char *list = options->passes; next_name(&list, name) && count < max;)
            selected[count++] = pass_find(name);
        return count;
    }
    for (const PassInfo *pass = pass_table; pass->name && count < max; pass++)
        selected[count++] = pass;
    return count;
}

Graph *pass_run_all(Graph *graph, PassOptions *options, Diags *diags, bool *stopped) {
    enum { SELECTED_MAX = 64 };
    const PassInfo *selected[SELECTED_MAX];
    Text last = {0};
    bool good = pass_options_check(options, diags), ended = false;
    if (good && (options->print_after_change || options->sink.dump)) {
        graph_print(graph, &last);
        good = dump(options, "source", last.data, last.len);
    }
    uint32_t count = good ? select_passes(options, selected, SELECTED_MAX) : 0;
    for (uint32_t i = 0; i < count && good && !ended; i++) {
        const PassInfo *pass = selected[i];
        bool skip = graph->stage > pass->takes || list_has(options->disable, pass->name);
        if (!skip) good = run_one(pass, &graph, options, diags, &last);
        ended = options->stop_after && strcmp(options->stop_after, pass->name) == 0;
    }
    text_free(&last);
    if (stopped) *stopped = ended;
    if (good) return graph;
    graph_destroy(graph);
    return NULL;
}
