// Packages built by hand, record by record, for tests of the runtime that must not depend on what
// the compiler makes of a model.
#pragma once

#include "ir/kernel_build.h"
#include "runtime/format.h"

typedef struct PackageMake {
    Text sections[ADX_GRAPH + 1];
    Arena *arena; // for kernels
} PackageMake;

void package_make_start(PackageMake *make);
void package_make_free(PackageMake *make);

// Appends a record to its section and returns its number.
uint32_t package_add(PackageMake *make, enum AdxSectionKind kind, const void *record);
StrRef package_text(PackageMake *make, const char *text);

// Expressions: a number, a dim, or a dim times a number plus a number.
ExprRef package_number(PackageMake *make, int64_t value);
ExprRef package_dim(PackageMake *make, uint8_t dim);
ExprRef package_linear(PackageMake *make, uint8_t dim, int64_t factor, int64_t addend);

// Compiles and appends a kernel; the builder is used up.
uint32_t package_kernel(PackageMake *make, KBuilder *builder);

// Arguments come before the dispatch that has them; `count` are the last ones added.
void package_buffer(PackageMake *make, enum AdxBuffer buffer, uint32_t index, uint32_t access,
                    ExprRef offset, ExprRef bytes);
void package_scalar(PackageMake *make, ExprRef value);
uint32_t package_dispatch(PackageMake *make, uint32_t kernel, uint32_t count, ExprRef grid,
                          bool barrier, const char *label);
// A step with one alternative: the last dispatch added.
void package_step(PackageMake *make, const char *name);

// The bytes, signed; the caller frees them.
uint8_t *package_make_bytes(const PackageMake *make, size_t *size);
// Writes size and hash into a package's header again, after its bytes were changed.
void package_sign(uint8_t *bytes, size_t size);
