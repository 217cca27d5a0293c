#include "runtime/package.h"
#include "runtime/error.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(AdxHeader) == 64 && sizeof(AdxSection) == 24, "the file's layout");

// Where each section's records go.
static const struct {
    uint32_t kind, record_size;
    size_t member;
} places[] = {
#define PLACE(id, member, record)                                                                  \
    { ADX_##id, sizeof(record), offsetof(Package, member) }
    PLACE(STRINGS, strings, uint8_t),
    PLACE(EXPRS, exprs, uint8_t),
    PLACE(DIMS, dims, AdxDim),
    PLACE(ASSERTS, asserts, AdxAssert),
    PLACE(REFS, refs, uint32_t),
    PLACE(INPUTS, inputs, AdxTensor),
    PLACE(OUTPUTS, outputs, AdxTensor),
    PLACE(STATES, states, AdxState),
    PLACE(PARAMS, params, AdxParam),
    PLACE(CONSTS, consts, uint8_t),
    PLACE(SPIRV, spirv, uint32_t),
    PLACE(KERNELS, kernels, AdxKernel),
    PLACE(UNITS, units, AdxUnit),
    PLACE(STEPS, steps, AdxStep),
    PLACE(ALTERNATIVES, alternatives, AdxAlternative),
    PLACE(CONDITIONS, conditions, AdxCondition),
    PLACE(DISPATCHES, dispatches, AdxDispatch),
    PLACE(ARGS, args, AdxArg),
    PLACE(MODEL, model, AdxModelInfo),
    PLACE(GRAPH, graph, uint8_t),
#undef PLACE
};

enum { PLACES = sizeof places / sizeof *places };
_Static_assert((int)PLACES == (int)ADX_GRAPH, "every section has its place");

static AdeptResult bad(const char *file, uint64_t at, const char *rule, AdeptError *error) {
    return error_set(error, ADEPT_ERROR_FORMAT, "%s: byte %llu: %s", file, (unsigned long long)at,
                     rule);
}

static AdeptResult check_header(const Package *package, const char *file, AdeptError *error) {
    const AdxHeader *header = (const AdxHeader *)package->bytes;
    if (package->size < sizeof *header) return bad(file, 0, "too short for a package", error);
    if (memcmp(header->magic, ADX_MAGIC, 8) != 0) return bad(file, 0, "not a package", error);
    if (header->major != ADX_MAJOR)
        return error_set(error, ADEPT_ERROR_VERSION,
                         "%s: a package of version %u.%u; this runtime reads %d", file,
                         header->major, header->minor, ADX_MAJOR);
    if (header->total_size != package->size)
        return error_set(error, ADEPT_ERROR_FORMAT,
                         "%s: byte %zu: the package has %llu bytes, the file %llu", file,
                         offsetof(AdxHeader, total_size), (unsigned long long)header->total_size,
                         (unsigned long long)package->size);
    uint8_t hash[32];
    adx_sha256(package->bytes + sizeof *header, package->size - sizeof *header, hash);
    if (memcmp(hash, header->hash, sizeof hash) != 0)
        return bad(file, offsetof(AdxHeader, hash), "damaged: the hash differs", error);
    if (header->sections > (package->size - sizeof *header) / sizeof(AdxSection))
        return bad(file, offsetof(AdxHeader, sections), "more sections than the file holds", error);
    return ADEPT_OK;
}

// Puts one section in its place; a kind that this version does not know is left out.
static AdeptResult take_section(Package *package, const AdxSection *section, uint64_t at,
                                const char *file, AdeptError *error) {
    uint32_t i = 0;
    while (i < PLACES && places[i].kind != section->kind) i++;
    if (i == PLACES) return ADEPT_OK;
    if (section->record_size != places[i].record_size || section->size % section->record_size)
        return bad(file, at, "records of another size", error);
    uint64_t count = section->size / section->record_size;
    if (count > UINT32_MAX - 1) return bad(file, at, "too many records", error);
    const void **place = (const void **)(void *)((char *)package + places[i].member);
    if (*place) return bad(file, at, "a section is there twice", error);
    *place = package->bytes + section->offset;
    package->count[section->kind] = (uint32_t)count;
    return ADEPT_OK;
}

static AdeptResult find_sections(Package *package, const char *file, AdeptError *error) {
    const AdxHeader *header = (const AdxHeader *)package->bytes;
    const AdxSection *sections = (const AdxSection *)(package->bytes + sizeof *header);
    uint64_t end = sizeof *header + header->sections * (uint64_t)sizeof *sections;
    for (uint32_t i = 0; i < header->sections; i++) {
        const AdxSection *section = &sections[i];
        uint64_t at = sizeof *header + i * (uint64_t)sizeof *section;
        if (section->offset % ADX_ALIGN || section->offset < end ||
            section->offset > package->size || section->size > package->size - section->offset)
            return bad(file, at, "a section lies outside the file, unaligned or out of order",
                       error);
        end = section->offset + section->size;
        AdeptResult result = take_section(package, section, at, file, error);
        if (result) return result;
    }
    return ADEPT_OK;
}

AdeptResult package_read(Package *package, const Source *source, AdeptError *error) {
    *package = (Package){.size = source->size};
    // 64-byte aligned sections keep every record aligned.
    package->bytes = malloc(source->size + 1);
    AdeptResult result = package->bytes
                             ? source_read(source, 0, package->bytes, source->size, error)
                             : error_memory(error);
    if (!result) result = check_header(package, source->name, error);
    if (!result) result = find_sections(package, source->name, error);
    if (!result) result = package_check(package, source->name, error);
    if (result) package_close(package);
    return result;
}

void package_close(Package *package) {
    free(package->bytes);
    free(package->expr_flags);
    *package = (Package){0};
}
