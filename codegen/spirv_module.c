#include "codegen/spirv_module.h"

#include <stdlib.h>
#include <string.h>

SpirvModule *spirv_module_create(Arena *arena) {
    SpirvModule *module = arena_alloc(arena, sizeof *module);
    module->arena = arena;
    module->bound = 1;
    return module;
}

static void put_word(SpirvModule *module, SpirvSection section, uint32_t word) {
    vec_push(module->arena, &module->section[section], word);
}

void spirv_put(SpirvModule *module, SpirvSection section, unsigned op, uint32_t words,
               const uint32_t *operand) {
    put_word(module, section, (words + 1) << SpvWordCountShift | op);
    for (uint32_t i = 0; i < words; i++) put_word(module, section, operand[i]);
}

void spirv_put_string(SpirvModule *module, SpirvSection section, unsigned op, uint32_t words,
                      const uint32_t *operand, const char *string, uint32_t more,
                      const uint32_t *after) {
    size_t length = strlen(string);
    uint32_t packed = (uint32_t)(length / 4 + 1); // with the terminating NUL
    put_word(module, section, (1 + words + packed + more) << SpvWordCountShift | op);
    for (uint32_t i = 0; i < words; i++) put_word(module, section, operand[i]);
    for (uint32_t i = 0; i < packed; i++) {
        uint32_t word = 0;
        for (uint32_t b = 0; b < 4 && 4 * i + b < length; b++) {
            word |= (uint32_t)(unsigned char)string[4 * i + b] << 8 * b;
        }
        put_word(module, section, word);
    }
    for (uint32_t i = 0; i < more; i++) put_word(module, section, after[i]);
}

uint32_t spirv_intern(SpirvModule *module, unsigned op, uint32_t type, uint32_t words,
                      const uint32_t *operand) {
    SpirvWords *globals = &module->section[SPV_GLOBALS];
    uint32_t skip = type ? 2 : 1; // words before the result id
    uint32_t head = (skip + 1 + words) << SpvWordCountShift | op;
    uint32_t hash = head ^ type;
    for (uint32_t i = 0; i < words; i++) hash = hash * 31 + operand[i];
    uint32_t *bucket = &module->bucket[(hash ^ hash >> 16) % SPIRV_BUCKETS];
    for (uint32_t i = *bucket; i > 0; i = module->interned.at[i - 1].before) {
        const uint32_t *old = globals->at + module->interned.at[i - 1].at;
        if (old[0] == head && (!type || old[1] == type) &&
            (words == 0 || !memcmp(old + skip + 1, operand, 4 * (size_t)words))) {
            return old[skip];
        }
    }
    SpirvInterned interned = {.at = globals->len, .before = *bucket};
    vec_push(module->arena, &module->interned, interned);
    *bucket = module->interned.len;
    uint32_t id = spirv_id(module);
    put_word(module, SPV_GLOBALS, head);
    if (type) put_word(module, SPV_GLOBALS, type);
    put_word(module, SPV_GLOBALS, id);
    for (uint32_t i = 0; i < words; i++) put_word(module, SPV_GLOBALS, operand[i]);
    return id;
}

void spirv_capability(SpirvModule *module, uint32_t capability) {
    for (uint32_t i = 0; i < module->capabilities.len; i++) {
        if (module->capabilities.at[i] == capability) return;
    }
    vec_push(module->arena, &module->capabilities, capability);
}

void spirv_extension(SpirvModule *module, const char *name) {
    for (uint32_t i = 0; i < module->extensions.len; i++) {
        if (!strcmp(module->extensions.at[i], name)) return;
    }
    vec_push(module->arena, &module->extensions, name);
}

uint32_t spirv_glsl(SpirvModule *module) {
    if (!module->glsl) {
        module->glsl = spirv_id(module);
        spirv_put_string(module, SPV_IMPORTS, SpvOpExtInstImport, 1, &module->glsl, "GLSL.std.450",
                         0, NULL);
    }
    return module->glsl;
}

static int compare_words(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_strings(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t *spirv_finish(SpirvModule *module, Arena *arena, uint32_t version, uint32_t *words) {
    if (module->capabilities.len) {
        qsort(module->capabilities.at, module->capabilities.len, 4, compare_words);
    }
    for (uint32_t i = 0; i < module->capabilities.len; i++) {
        spirv_put(module, SPV_CAPABILITIES, SpvOpCapability, 1, &module->capabilities.at[i]);
    }
    if (module->extensions.len) {
        qsort(module->extensions.at, module->extensions.len, sizeof(char *), compare_strings);
    }
    for (uint32_t i = 0; i < module->extensions.len; i++) {
        spirv_put_string(module, SPV_EXTENSIONS, SpvOpExtension, 0, NULL, module->extensions.at[i],
                         0, NULL);
    }
    uint32_t total = 5;
    for (int i = 0; i < SPV_SECTIONS; i++) total += module->section[i].len;
    uint32_t *out = arena_alloc(arena, 4 * (size_t)total);
    // Generator number 0: none registered.
    const uint32_t header[5] = {SpvMagicNumber, version, 0, module->bound, 0};
    memcpy(out, header, sizeof header);
    uint32_t at = 5;
    for (int i = 0; i < SPV_SECTIONS; i++) {
        if (!module->section[i].len) continue;
        memcpy(out + at, module->section[i].at, 4 * (size_t)module->section[i].len);
        at += module->section[i].len;
    }
    *words = total;
    return out;
}
