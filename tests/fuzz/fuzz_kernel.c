// The kernel-text parser and verifier on arbitrary bytes: what is accepted prints to text that
// parses back to the same; what is refused has a reason.
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ir/kernel.h"

static void check_round_trip(const Kernel *kernel, Arena *arena) {
    Text text = {0}, again = {0};
    Diags *diags = diags_create();
    size_t at = 0;
    kernel_print(kernel, &text);
    Kernel *parsed = kernel_parse(arena, text.data, text.len, &at, 0, diags);
    if (parsed == NULL) abort();
    kernel_print(parsed, &again);
    if (strcmp(text.data, again.data) != 0) abort();
    if (!kernel_verify(parsed, diags)) abort();
    diags_destroy(diags);
    text_free(&text);
    text_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena *arena = arena_create();
    Diags *diags = diags_create();
    size_t at = 0;
    FileId file = diags_add_file(diags, "fuzz", (const char *)data, size);
    Kernel *kernel = kernel_parse(arena, (const char *)data, size, &at, file, diags);
    if ((kernel == NULL) != (diags_error_count(diags) > 0)) abort();
    if (kernel != NULL && kernel_verify(kernel, diags)) check_round_trip(kernel, arena);
    Text text = {0};
    diags_render(diags, &text);
    text_free(&text);
    diags_destroy(diags);
    arena_destroy(arena);
    return 0;
}
