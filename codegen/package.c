#include "codegen/package.h"
#include "codegen/package_writer.h"

#include <assert.h>
#include <string.h>

// The compiler's codes and the package's must agree where they are written without a table.
#define X(id, name, bit)                                                                           \
    static_assert((int)TF_##id == (int)ADX_FEATURE_##id, "feature " name " has two bits");
TARGET_FEATURES(X)
#undef X
static_assert((int)DIM_EQ == ADX_EQ && (int)DIM_NE == ADX_NE && (int)DIM_LT == ADX_LT &&
                  (int)DIM_LE == ADX_LE && (int)DIM_GT == ADX_GT && (int)DIM_GE == ADX_GE,
              "relations");
static_assert((int)DIM_FROM_INPUT == ADX_DIM_INPUT && (int)DIM_FROM_HOST == ADX_DIM_HOST &&
                  (int)DIM_TRIP == ADX_DIM_TRIP,
              "sources of dims");
static_assert((int)BUF_INPUT == ADX_BUF_INPUT && (int)BUF_OUTPUT == ADX_BUF_OUTPUT &&
                  (int)BUF_PARAM == ADX_BUF_PARAM && (int)BUF_STATE == ADX_BUF_STATE &&
                  (int)BUF_CONST == ADX_BUF_CONST && (int)BUF_ARENA == ADX_BUF_ARENA &&
                  (int)BUF_RAW == ADX_BUF_RAW,
              "buffers");

uint32_t package_dtype(DType dtype) {
    switch (dtype) {
#define X(id, number, bytes)                                                                       \
    case DT_##id: return ADX_##id;
        ADX_DTYPES(X)
#undef X
    default: return 0;
    }
}

uint32_t package_count(const PackageWriter *w, enum AdxSectionKind kind, size_t record) {
    return (uint32_t)(w->section[kind].len / record);
}

void package_put(PackageWriter *w, enum AdxSectionKind kind, const void *record, size_t size) {
    text_write(&w->section[kind], record, size);
}

// Where the string stands in the table, or the free place for it.
static StrRef *string_slot(const PackageWriter *w, const char *string) {
    uint32_t mask = w->string_slots - 1;
    uint32_t at = (uint32_t)hash_bytes(0, string, strlen(string)) & mask;
    while (w->strings[at] != ADX_NONE &&
           strcmp(w->section[ADX_STRINGS].data + w->strings[at], string) != 0)
        at = (at + 1) & mask;
    return &w->strings[at];
}

static void grow_strings(PackageWriter *w) {
    const StrRef *old = w->strings;
    uint32_t slots = w->string_slots;
    w->string_slots = slots ? slots * 2 : 256;
    w->strings = arena_alloc(w->arena, w->string_slots * sizeof *w->strings);
    for (uint32_t i = 0; i < w->string_slots; i++) w->strings[i] = ADX_NONE;
    for (uint32_t i = 0; i < slots; i++)
        if (old[i] != ADX_NONE) *string_slot(w, w->section[ADX_STRINGS].data + old[i]) = old[i];
}

StrRef package_string(PackageWriter *w, const char *string) {
    if (!string) return ADX_NONE;
    if (w->string_count * 2 >= w->string_slots) grow_strings(w);
    StrRef *slot = string_slot(w, string);
    if (*slot == ADX_NONE) {
        *slot = (StrRef)w->section[ADX_STRINGS].len;
        w->string_count++;
        package_put(w, ADX_STRINGS, string, strlen(string) + 1);
    }
    return *slot;
}

static void put_expr_op(void *user, DimOp op, int64_t value) {
    static const uint8_t code[] = {[DIM_OP_CONST] = ADX_CONST,
                                   [DIM_OP_SYMBOL] = ADX_SYMBOL,
                                   [DIM_OP_ADD] = ADX_ADD,
                                   [DIM_OP_MUL] = ADX_MUL,
                                   [DIM_OP_FLOOR_DIV] = ADX_FLOOR_DIV,
                                   [DIM_OP_FLOOR_MOD] = ADX_FLOOR_MOD,
                                   [DIM_OP_MIN] = ADX_MIN,
                                   [DIM_OP_MAX] = ADX_MAX};
    PackageWriter *w = user;
    package_put(w, ADX_EXPRS, &code[op], 1);
    if (op == DIM_OP_CONST) package_put(w, ADX_EXPRS, &value, sizeof value);
    if (op == DIM_OP_SYMBOL) package_put(w, ADX_EXPRS, &(uint8_t){(uint8_t)value}, 1);
}

ExprRef package_expr(PackageWriter *w, Dim dim) {
    if (dim == DIM_NONE) return ADX_NONE;
    if (dim >= w->exprs) { // expressions made after the table was sized
        uint32_t size = 2 * dim + 64;
        w->expr = arena_grow(w->arena, w->expr, w->exprs * sizeof *w->expr, size * sizeof *w->expr);
        w->exprs = size;
    }
    if (!w->expr[dim]) {
        ExprRef ref = (ExprRef)w->section[ADX_EXPRS].len;
        dim_visit(w->graph->dims, dim, put_expr_op, w);
        package_put(w, ADX_EXPRS, &(uint8_t){ADX_END}, 1);
        w->expr[dim] = ref + 1;
    }
    return w->expr[dim] - 1;
}

static void put_model(PackageWriter *w) {
    const Plan *plan = w->program->plan;
    int64_t bytes[3] = {0};
    Dim sizes[3] = {plan->param_bytes, plan->state_bytes, plan->const_bytes};
    for (int i = 0; i < 3; i++) {
        if (sizes[i]) dim_is_const(w->graph->dims, sizes[i], &bytes[i]);
    }
    AdxModelInfo info = {
        .name = package_string(w, w->graph->model),
        .file = package_string(w, w->graph->file ? w->graph->file : ""),
        .target = package_string(w, plan->target.name),
        .run_steps = w->program->run.len,
        .arena_bytes =
            package_expr(w, plan->arena_bytes ? plan->arena_bytes : dim_const(w->graph->dims, 0)),
        .flags = plan->strict_rounding ? 1 : 0,
        .param_bytes = (uint64_t)bytes[0],
        .state_bytes = (uint64_t)bytes[1],
        .const_bytes = (uint64_t)bytes[2],
    };
    package_put(w, ADX_MODEL, &info, sizeof info);
}

static void pad_to(Text *out, size_t alignment) {
    static const char zeros[ADX_ALIGN];
    if (out->len % alignment) text_write(out, zeros, alignment - out->len % alignment);
}

static void assemble(PackageWriter *w, Text *out) {
    static const struct {
        uint32_t kind, record;
    } kinds[] = {
#define X(id, number, record) {number, sizeof(record)},
        ADX_SECTIONS(X)
#undef X
    };
    AdxHeader header = {.magic = ADX_MAGIC, .major = ADX_MAJOR, .minor = ADX_MINOR};
    AdxSection table[PACKAGE_SECTIONS];
    uint64_t at = sizeof header;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (w->section[kinds[i].kind].len) {
            table[header.sections++] =
                (AdxSection){kinds[i].kind, kinds[i].record, 0, w->section[kinds[i].kind].len};
        }
    }
    at += header.sections * sizeof *table;
    for (uint32_t i = 0; i < header.sections; i++) {
        table[i].offset = (at + ADX_ALIGN - 1) / ADX_ALIGN * ADX_ALIGN;
        at = table[i].offset + table[i].size;
    }
    header.total_size = at;
    text_write(out, &header, sizeof header);
    text_write(out, table, header.sections * sizeof *table);
    for (uint32_t i = 0; i < header.sections; i++) {
        pad_to(out, ADX_ALIGN);
        text_write(out, w->section[table[i].kind].data, table[i].size);
    }
    adx_sha256(out->data + sizeof header, out->len - sizeof header, header.hash);
    memcpy(out->data, &header, sizeof header);
}

bool package_write(const Program *program, const Modules *modules, const PackageOptions *options,
                   Diags *diags, Text *out) {
    PackageWriter w = {.program = program,
                       .graph = program->plan->graph,
                       .modules = modules,
                       .diags = diags,
                       .arena = arena_create()};
    package_string(&w, "");
    package_interface(&w);
    bool ok = package_steps(&w);
    put_model(&w);
    if (options->graph_text) {
        package_put(&w, ADX_GRAPH, options->graph_text, strlen(options->graph_text));
    }
    if (ok) assemble(&w, out);
    for (int i = 0; i < PACKAGE_SECTIONS; i++) text_free(&w.section[i]);
    arena_destroy(w.arena);
    return ok;
}
