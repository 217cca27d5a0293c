#include "tests/support/load_round.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/load.h"

// The graph's text, or false when it is refused.
static bool dump_of(const char *name, const char *text, size_t size, Text *out) {
    Diags *diags = diags_create();
    Graph *graph;
    bool good = load_graph(name, text, size, NULL, diags, &graph);
    if (good != (diags_error_count(diags) == 0) || good != (graph != NULL)) abort();
    if (good) {
        if (!graph_verify(graph, diags)) abort();
        graph_print(graph, out);
    }
    Text messages = {0};
    diags_render(diags, &messages);
    text_free(&messages);
    graph_destroy(graph);
    diags_destroy(diags);
    return good;
}

void load_round(const char *text, size_t size) {
    Text first = {0}, second = {0};
    if (dump_of("fuzz", text, size, &first)) {
        if (!dump_of("dump", first.data, first.len, &second)) abort();
        if (strcmp(first.data, second.data) != 0) abort();
    }
    text_free(&first);
    text_free(&second);
}
