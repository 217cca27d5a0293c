// Stands in for libFuzzer: runs the target once on every file of the folders named, in the order of
// their names, and says how many. Nothing found is an error: a replay that runs nothing proves
// nothing.
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

// Runs one file; false when it can't be read.
static bool replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    size_t size = 0, space = 0;
    uint8_t *data = NULL;
    for (;;) {
        if (size == space) {
            space = space ? 2 * space : 4096;
            uint8_t *more = realloc(data, space);
            if (!more) break;
            data = more;
        }
        size_t got = fread(data + size, 1, space - size, file);
        if (got == 0) break;
        size += got;
    }
    bool good = !ferror(file) && feof(file);
    fclose(file);
    if (good) {
        // Exactly as long as the input, so that the sanitizer sees a read past its end.
        uint8_t *exact = malloc(size ? size : 1);
        good = exact != NULL;
        if (good && size > 0) memcpy(exact, data, size);
        if (good) LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    free(data);
    return good;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv) {
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent **entries;
        int found = scandir(argv[i], &entries, is_visible, alphasort);
        if (found < 0) {
            perror(argv[i]);
            return 1;
        }
        for (int at = 0; at < found; at++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], entries[at]->d_name);
            if (!replay_file(path)) {
                perror(path);
                return 1;
            }
            count++;
            free(entries[at]);
        }
        free(entries);
    }
    printf("%u inputs\n", count);
    return count > 0 ? 0 : 1;
}
