#include "tests/support/package_make.h"

#include "codegen/spirv.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t record_sizes[] = {
#define X(id, number, record) [ADX_##id] = sizeof(record),
    ADX_SECTIONS(X)
#undef X
};

void package_make_start(PackageMake *make) {
    *make = (PackageMake){.arena = arena_create()};
}

void package_make_free(PackageMake *make) {
    for (unsigned i = 0; i <= ADX_GRAPH; i++) text_free(&make->sections[i]);
    arena_destroy(make->arena);
}

static uint32_t records(const PackageMake *make, enum AdxSectionKind kind) {
    return (uint32_t)(make->sections[kind].len / record_sizes[kind]);
}

uint32_t package_add(PackageMake *make, enum AdxSectionKind kind, const void *record) {
    text_write(&make->sections[kind], record, record_sizes[kind]);
    return records(make, kind) - 1;
}

StrRef package_text(PackageMake *make, const char *text) {
    StrRef ref = (StrRef)make->sections[ADX_STRINGS].len;
    text_write(&make->sections[ADX_STRINGS], text, strlen(text) + 1);
    return ref;
}

static void put_op(PackageMake *make, uint8_t op) {
    text_write(&make->sections[ADX_EXPRS], &op, 1);
}

static void put_number(PackageMake *make, int64_t value) {
    put_op(make, ADX_CONST);
    text_write(&make->sections[ADX_EXPRS], &value, 8);
}

ExprRef package_number(PackageMake *make, int64_t value) {
    ExprRef ref = (ExprRef)make->sections[ADX_EXPRS].len;
    put_number(make, value);
    put_op(make, ADX_END);
    return ref;
}

ExprRef package_dim(PackageMake *make, uint8_t dim) {
    return package_linear(make, dim, 1, 0);
}

ExprRef package_linear(PackageMake *make, uint8_t dim, int64_t factor, int64_t addend) {
    ExprRef ref = (ExprRef)make->sections[ADX_EXPRS].len;
    put_op(make, ADX_SYMBOL);
    put_op(make, dim);
    put_number(make, factor);
    put_op(make, ADX_MUL);
    put_number(make, addend);
    put_op(make, ADX_ADD);
    put_op(make, ADX_END);
    return ref;
}

uint32_t package_kernel(PackageMake *make, KBuilder *builder) {
    Kernel *kernel = k_finish(builder);
    SpirvOptions options = {0};
    SpirvModuleInfo module = spirv_emit(make->arena, kernel, &options);
    AdxKernel record = {.name = package_text(make, kernel->name),
                        .local_size = kernel->local_size,
                        .subgroup = kernel->subgroup_size,
                        .params = kernel->params.len,
                        .first_word = records(make, ADX_SPIRV),
                        .words = module.count,
                        .features = module.needs};
    text_write(&make->sections[ADX_SPIRV], module.words, module.count * sizeof *module.words);
    return package_add(make, ADX_KERNELS, &record);
}

void package_buffer(PackageMake *make, enum AdxBuffer buffer, uint32_t index, uint32_t access,
                    ExprRef offset, ExprRef bytes) {
    AdxArg arg = {ADX_ARG_BUFFER, buffer, index, access, offset, bytes};
    package_add(make, ADX_ARGS, &arg);
}

void package_scalar(PackageMake *make, ExprRef value) {
    AdxArg arg = {.kind = ADX_ARG_SCALAR, .offset = value, .bytes = ADX_NONE};
    package_add(make, ADX_ARGS, &arg);
}

uint32_t package_dispatch(PackageMake *make, uint32_t kernel, uint32_t count, ExprRef grid,
                          bool barrier, const char *label) {
    ExprRef one = package_number(make, 1);
    AdxDispatch dispatch = {.kernel = kernel,
                            .grid = {grid, one, one},
                            .first_arg = records(make, ADX_ARGS) - count,
                            .args = count,
                            .barrier = barrier,
                            .flops = package_number(make, 7),
                            .bytes = grid,
                            .label = package_text(make, label),
                            .file = package_text(make, "model.adp"),
                            .first_line = records(make, ADX_REFS),
                            .lines = 1};
    uint32_t line = 11;
    package_add(make, ADX_REFS, &line);
    return package_add(make, ADX_DISPATCHES, &dispatch);
}

void package_step(PackageMake *make, const char *name) {
    AdxAlternative alternative = {.first_dispatch = records(make, ADX_DISPATCHES) - 1,
                                  .dispatches = 1,
                                  .schedule = ADX_NONE,
                                  .reason = ADX_NONE};
    AdxStep step = {.kind = ADX_STEP_RUN,
                    .name = package_text(make, name),
                    .first_alternative = package_add(make, ADX_ALTERNATIVES, &alternative),
                    .alternatives = 1};
    package_add(make, ADX_STEPS, &step);
}

static void pad(Text *out) {
    while (out->len % ADX_ALIGN) text_write(out, "", 1);
}

uint8_t *package_make_bytes(const PackageMake *make, size_t *size) {
    Text out = {0};
    AdxHeader header = {.major = ADX_MAJOR, .minor = ADX_MINOR, .sections = ADX_GRAPH};
    memcpy(header.magic, ADX_MAGIC, 8);
    text_write(&out, &header, sizeof header);
    size_t table = out.len;
    AdxSection sections[ADX_GRAPH] = {{0}};
    text_write(&out, sections, sizeof sections);
    for (unsigned kind = 1; kind <= ADX_GRAPH; kind++) {
        const Text *section = &make->sections[kind];
        pad(&out);
        sections[kind - 1] = (AdxSection){kind, record_sizes[kind], out.len, section->len};
        if (section->len) text_write(&out, section->data, section->len);
    }
    memcpy(out.data + table, sections, sizeof sections);
    *size = out.len;
    package_sign((uint8_t *)out.data, out.len);
    return (uint8_t *)out.data;
}

void package_sign(uint8_t *bytes, size_t size) {
    AdxHeader header;
    memcpy(&header, bytes, sizeof header);
    header.total_size = size;
    adx_sha256(bytes + sizeof header, size - sizeof header, header.hash);
    memcpy(bytes, &header, sizeof header);
}
