#include "frontend/load.h"
#include "frontend/elaborate.h"
#include "frontend/parse.h"
#include "frontend/source.h"

#include <string.h>

size_t load_graph_length(const char *text, size_t length) {
    static const char section[] = "\nplan {";
    if (!source_is_dump(text, length)) return length;
    const char *found = memmem(text, length, section, sizeof section - 1);
    return found ? (size_t)(found - text) + 1 : length;
}

bool load_graph(const char *file_name, const char *text, size_t length, const Defines *defines,
                Diags *diags, Graph **out) {
    *out = NULL;
    FileId file = diags_add_file(diags, file_name, text, length);
    length = load_graph_length(text, length);
    if (!source_check(text, length, file, diags)) return false;
    Arena *arena = arena_create();
    File *tree = NULL;
    bool parsed = parse_file(arena, diags, file, text, length, &tree);
    // What did parse is elaborated too, for more errors in one run.
    bool good = tree && elaborate(tree, file_name, text, defines, diags, out) && parsed;
    // A dump may have been changed by hand, in ways that no model can take.
    if (good && source_is_dump(text, length)) good = graph_verify(*out, diags);
    if (!good && *out) {
        graph_destroy(*out);
        *out = NULL;
    }
    arena_destroy(arena);
    return good;
}
