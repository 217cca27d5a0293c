#include "ir/type.h"

#include <assert.h>
#include <string.h>

typedef struct DTypeRow {
    const char *name;
    uint8_t bits;
    DTypeClass kind;
} DTypeRow;

static const DTypeRow dtype_rows[DT_COUNT] = {[DT_NONE] = {"none", 0, DC_LATER},
#define X(id, name, bits, class) [DT_##id] = {name, bits, DC_##class},
                                              DTYPE_TABLE(X)
#undef X
};

static const DTypeRow *dtype_row(DType dtype) {
    assert((unsigned)dtype < DT_COUNT);
    return &dtype_rows[dtype];
}

const char *dtype_name(DType dtype) {
    return dtype_row(dtype)->name;
}

bool dtype_from_name(const char *name, DType *out) {
    for (unsigned i = DT_NONE + 1; i < DT_COUNT; i++)
        if (strcmp(name, dtype_rows[i].name) == 0) {
            *out = (DType)i;
            return true;
        }
    return false;
}

unsigned dtype_bits(DType dtype) {
    return dtype_row(dtype)->bits;
}

unsigned dtype_bytes(DType dtype) {
    return dtype_row(dtype)->bits / 8;
}

DTypeClass dtype_class(DType dtype) {
    return dtype_row(dtype)->kind;
}

bool dtype_is_float(DType dtype) {
    DTypeClass kind = dtype_class(dtype);
    return kind == DC_FLOAT || kind == DC_FSTORE;
}

bool dtype_is_int(DType dtype) {
    DTypeClass kind = dtype_class(dtype);
    return kind == DC_INT || kind == DC_ISTORE;
}

bool dtype_is_signed(DType dtype) {
    return dtype_is_float(dtype) || (dtype_is_int(dtype) && dtype_name(dtype)[0] == 'i');
}

bool type_equal(const Type *a, const Type *b) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (unsigned axis = 0; axis < a->rank; axis++)
        if (a->size[axis] != b->size[axis]) return false;
    return true;
}

Dim type_elements(DimTable *dims, const Type *type) {
    Dim product = dim_const(dims, 1);
    for (unsigned axis = 0; axis < type->rank; axis++)
        product = dim_mul(dims, product, type->size[axis]);
    return product;
}

Dim type_bytes(DimTable *dims, const Type *type) {
    unsigned bits = dtype_bits(type->dtype);
    Dim elements = type_elements(dims, type);
    if (bits % 8 == 0) return dim_mul(dims, elements, dim_const(dims, bits / 8));
    return dim_ceil_div(dims, dim_mul(dims, elements, dim_const(dims, bits)), dim_const(dims, 8));
}

void type_print(const DimTable *dims, const Type *type, Text *out) {
    if (type->rank) {
        for (unsigned axis = 0; axis < type->rank; axis++) {
            text_put(out, axis ? ", " : "[");
            dim_print(dims, type->size[axis], out);
        }
        text_put(out, "] ");
    }
    text_put(out, dtype_name(type->dtype));
}
