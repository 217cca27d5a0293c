// Inference: the checks that all ops share, and helpers of the rules.
#include "ir/infer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SIZE_LIMIT_BITS = 31, TENSOR_LIMIT_BITS = 40 };

const char *infer_size_text(OpCall *call, Dim size) {
    Text text = {0};
    dim_print(call->dims, size, &text);
    const char *copy = arena_strndup(call->arena, text.data ? text.data : "", text.len);
    text_free(&text);
    return copy;
}

const char *infer_type_text(OpCall *call, const Type *type) {
    Text text = {0};
    type_print(call->dims, type, &text);
    const char *copy = arena_strndup(call->arena, text.data ? text.data : "", text.len);
    text_free(&text);
    return copy;
}

const char *infer_operand_name(const OpCall *call, uint32_t index) {
    if (call->operand_name && call->operand_name[index]) return call->operand_name[index];
    const OperandSpec *spec = op_operand_spec(call->op, index);
    return spec ? spec->name : "operand";
}

bool infer_has(const OpCall *call, uint32_t operand) {
    return operand < call->operands && call->operand[operand].dtype != DT_NONE;
}

Attr *infer_attr(OpCall *call, const char *name) {
    int index = op_attr_index(call->op, name);
    assert(index >= 0);
    return &call->attr[index];
}

// Without source positions (graphs made by passes) the types stand in the message itself.
bool infer_error(OpCall *call, const char *format, ...) {
    if (!call->diags) return false;
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    if (!call->operand_span) {
        for (uint32_t i = 0, shown = 0; i < call->operands; i++) {
            if (!infer_has(call, i)) continue;
            text_printf(&text, "%s%s: %s", shown++ ? ", " : " (", infer_operand_name(call, i),
                        infer_type_text(call, &call->operand[i]));
            if (i + 1 == call->operands) text_put(&text, ")");
        }
    }
    diag_error(call->diags, call->span, "%s: %s", call->op->name, text.data);
    text_free(&text);
    for (uint32_t i = 0; call->operand_span && i < call->operands; i++) {
        if (!infer_has(call, i)) continue;
        diag_label(call->diags, call->operand_span[i], "%s",
                   infer_type_text(call, &call->operand[i]));
    }
    return false;
}

void infer_help(OpCall *call, const char *format, ...) {
    if (!call->diags) return;
    Text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    diag_help(call->diags, "%s", text.data);
    text_free(&text);
}

bool infer_equal(OpCall *call, Dim a, Dim b) {
    return dim_proved(call->dims, a, DIM_EQ, b);
}

bool infer_require(OpCall *call, Dim left, DimRelation relation, Dim right, const char *message) {
    if (left == DIM_NONE || right == DIM_NONE) return false; // left 64 bits
    Proof proof = dim_prove(call->dims, left, relation, right);
    if (proof == PROOF_UNKNOWN) {
        vec_push(call->arena, &call->checks,
                 (OpCheck){.left = left, .right = right, .relation = relation, .message = message});
    }
    return proof != PROOF_NO;
}

bool infer_broadcast(OpCall *call, Type *result, const Type *b) {
    Type wide = *result;
    if (b->rank > wide.rank) {
        wide = *b;
        wide.dtype = result->dtype;
    }
    for (unsigned back = 1; back <= wide.rank; back++) {
        Dim *out = &wide.size[wide.rank - back];
        Dim one = dim_const(call->dims, 1);
        Dim left = back <= result->rank ? result->size[result->rank - back] : one;
        Dim right = back <= b->rank ? b->size[b->rank - back] : one;
        if (dim_is(call->dims, right, 1) || infer_equal(call, left, right)) {
            *out = left;
        } else if (dim_is(call->dims, left, 1)) {
            *out = right;
        } else {
            return infer_error(call, "sizes %s and %s do not broadcast, at axis -%u",
                               infer_size_text(call, left), infer_size_text(call, right), back);
        }
    }
    *result = wide;
    return true;
}

bool infer_rank(OpCall *call, uint32_t operand, unsigned rank) {
    if (call->operand[operand].rank == rank) return true;
    return infer_error(call, "%s must have rank %u, not %u", infer_operand_name(call, operand),
                       rank, call->operand[operand].rank);
}

bool infer_rank_at_least(OpCall *call, uint32_t operand, unsigned rank) {
    if (call->operand[operand].rank >= rank) return true;
    return infer_error(call, "%s must have rank %u or more, not %u",
                       infer_operand_name(call, operand), rank, call->operand[operand].rank);
}

bool infer_index_dtype(OpCall *call, uint32_t operand) {
    if (call->operand[operand].dtype == DT_I32) return true;
    return infer_error(call, "%s must be i32, not %s", infer_operand_name(call, operand),
                       dtype_name(call->operand[operand].dtype));
}

bool infer_is_vector(OpCall *call, uint32_t operand, Dim size) {
    const Type *type = &call->operand[operand];
    if (type->rank == 1 && infer_equal(call, type->size[0], size)) return true;
    return infer_error(call, "%s must have the shape [%s]", infer_operand_name(call, operand),
                       infer_size_text(call, size));
}

static bool normal_axis(OpCall *call, const char *name, unsigned rank, int64_t *axis) {
    if (*axis < -(int64_t)rank || *axis >= (int64_t)rank) {
        return infer_error(call, "%s %lld is outside a tensor of rank %u", name, (long long)*axis,
                           rank);
    }
    if (*axis < 0) *axis += rank;
    return true;
}

bool infer_axis(OpCall *call, const char *name, unsigned rank) {
    return normal_axis(call, name, rank, &infer_attr(call, name)->i);
}

bool infer_axes(OpCall *call, const char *name, unsigned rank) {
    Attr *attr = infer_attr(call, name);
    bool chosen[RANK_MAX] = {false};
    for (uint32_t i = 0; attr->present && i < attr->ints.n; i++) {
        int64_t axis = attr->ints.at[i];
        if (!normal_axis(call, name, rank, &axis)) return false;
        if (chosen[axis])
            return infer_error(call, "%s names axis %lld twice", name, (long long)axis);
        chosen[axis] = true;
    }
    int64_t *axes = arena_alloc(call->arena, RANK_MAX * sizeof *axes);
    uint32_t count = 0;
    for (unsigned axis = 0; axis < rank; axis++) {
        if (!attr->present || chosen[axis]) axes[count++] = axis;
    }
    *attr = attr_ints(axes, count);
    return true;
}

bool infer_positive(OpCall *call, const char *name, unsigned count) {
    Attr *attr = infer_attr(call, name);
    uint32_t given = attr->ints.n;
    if (given != 1 && given != count) {
        return infer_error(call, "%s takes 1 or %u numbers, not %u", name, count, given);
    }
    bool same = true;
    for (uint32_t i = 0; i < given; i++) {
        if (attr->ints.at[i] < 1 || attr->ints.at[i] > INT32_MAX) {
            return infer_error(call, "%s must be from 1 to 2147483647, not %lld", name,
                               (long long)attr->ints.at[i]);
        }
        same = same && attr->ints.at[i] == attr->ints.at[0];
    }
    if (same) attr->ints.n = 1;
    return true;
}

// Above this magnitude a float rounds to infinity (or, for f8e4m3, past its largest value).
static double float_limit(DType dtype) {
    switch (dtype) {
    case DT_F16: return 65520.0;
    case DT_BF16: return 0x1.FFp127;
    case DT_F8E4M3: return 464.0;
    case DT_F8E5M2: return 61440.0;
    default: return 0x1.FFFFFFp127;
    }
}

static bool integer_fits(DType dtype, int64_t value) {
    unsigned bits = dtype == DT_BOOL ? 1 : dtype_bits(dtype);
    if (!dtype_is_signed(dtype)) return value >= 0 && value < (int64_t)1 << bits;
    return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

bool infer_scalar(OpCall *call, const char *name, DType dtype) {
    Attr *attr = infer_attr(call, name);
    if (!attr->present) return infer_error(call, "%s must be a number", name);
    if (!dtype_is_float(dtype)) {
        if (attr->is_float) {
            return infer_error(call, "%s is a float, the tensor is %s", name, dtype_name(dtype));
        }
        if (!attr->is_size && !integer_fits(dtype, attr->i)) {
            return infer_error(call, "%s %lld does not fit %s", name, (long long)attr->i,
                               dtype_name(dtype));
        }
        return true;
    }
    if (attr->is_size) {
        int64_t value;
        if (!dim_is_const(call->dims, attr->size, &value)) return true;
        *attr = attr_int(value);
    }
    if (!attr->is_float) *attr = attr_float((double)attr->i);
    if (isfinite(attr->f) && fabs(attr->f) >= float_limit(dtype)) {
        return infer_error(call, "%s %g would be infinite as %s", name, attr->f, dtype_name(dtype));
    }
    return true;
}

static DType default_sum_dtype(DType dtype) {
    switch (dtype_class(dtype)) {
    case DC_FSTORE: return DT_F32;
    case DC_ISTORE: return DT_I32;
    default: return dtype;
    }
}

bool infer_sum_dtype(OpCall *call, DType *dtype) {
    DType from = call->operand[0].dtype;
    Attr *attr = infer_attr(call, "dtype");
    *dtype = default_sum_dtype(from);
    if (!attr->present) return true;
    if (attr->dtype == *dtype) {
        *attr = attr_none();
        return true;
    }
    if (!dtype_is_float(from) || dtype_class(attr->dtype) != DC_FLOAT) {
        return infer_error(call, "a product of %s cannot be %s", dtype_name(from),
                           dtype_name(attr->dtype));
    }
    *dtype = attr->dtype;
    return true;
}

static unsigned dtype_set(DType dtype) {
    switch (dtype_class(dtype)) {
    case DC_FLOAT: return DS_FLOAT;
    case DC_INT: return DS_INT;
    case DC_LOGIC: return DS_LOGIC;
    case DC_FSTORE:
    case DC_ISTORE: return DS_STORE;
    default: return 0;
    }
}

static const char *set_text(DtypeSet set) {
    switch ((unsigned)set) {
    case DS_FLOAT: return "a float (f32, f16, bf16)";
    case DS_ARITH: return "f32, f16, bf16, i32 or u32";
    case DS_INT | DS_STORE: return "i32, i8 or u8";
    case DS_LOGIC: return "bool";
    case DS_ARITH | DS_STORE: return "a number";
    default: return "a dtype of version 1";
    }
}

static bool check_operands(OpCall *call) {
    const OpInfo *op = call->op;
    bool variadic = op->operands && op->operand[0].variadic;
    for (uint32_t i = 0; i < op_required_operands(op); i++) {
        if (!infer_has(call, i)) return infer_error(call, "%s is missing", op->operand[i].name);
    }
    if (!variadic && call->operands > op->operands) {
        return infer_error(call, "takes at most %u tensors, not %u", op->operands, call->operands);
    }
    const Type *first = NULL;
    for (uint32_t i = 0; i < call->operands; i++) {
        const Type *type = &call->operand[i];
        if (!infer_has(call, i)) continue;
        if (dtype_set(type->dtype) == 0) {
            return infer_error(call, "%s is not supported yet", dtype_name(type->dtype));
        }
        if (op_operand_spec(op, i)->dtype != OD_SAME) continue;
        if (!(dtype_set(type->dtype) & op->dtypes)) {
            infer_error(call, "%s must be %s, not %s", infer_operand_name(call, i),
                        set_text(op->dtypes), dtype_name(type->dtype));
            if (op->id == OP_DIVIDE && dtype_is_int(type->dtype)) {
                infer_help(call, "integers divide with //, which rounds down");
            }
            return false;
        }
        if (!first) first = type;
        if (type->dtype != first->dtype) {
            infer_error(call, "operands are %s and %s", dtype_name(first->dtype),
                        dtype_name(type->dtype));
            infer_help(call, "nothing is converted silently; write cast(%s, %s)",
                       infer_operand_name(call, i), dtype_name(first->dtype));
            return false;
        }
    }
    return true;
}

static bool check_attributes(OpCall *call) {
    for (uint32_t i = 0; i < call->op->attrs; i++) {
        const AttrSpec *spec = &call->op->attr[i];
        bool optional = spec->default_text && strcmp(spec->default_text, "None") == 0;
        if (!call->attr[i].present && !optional) {
            return infer_error(call, "%s is missing", spec->name);
        }
        if (spec->kind == ATTR_DTYPE && call->attr[i].present &&
            dtype_set(call->attr[i].dtype) == 0) {
            return infer_error(call, "%s is not supported yet", dtype_name(call->attr[i].dtype));
        }
    }
    return true;
}

// Sizes are at least 0 and below 2^31. Views may be larger than a tensor (unfold).
static bool check_result(OpCall *call, const Type *type) {
    Dim zero = dim_const(call->dims, 0);
    for (unsigned axis = 0; axis < type->rank; axis++) {
        Dim size = type->size[axis];
        if (size == DIM_NONE) return infer_error(call, "size %u is too large", axis);
        if (!infer_require(call, size, DIM_GE, zero, "size % is negative")) {
            return infer_error(call, "size %s is negative", infer_size_text(call, size));
        }
        if (dim_bounds(call->dims, size).hi >= (int64_t)1 << SIZE_LIMIT_BITS) {
            return infer_error(call, "size %s may reach 2^31", infer_size_text(call, size));
        }
    }
    if (call->op->class == OC_MOVE) return true;
    Dim bytes = type_bytes(call->dims, type);
    if (bytes == DIM_NONE || dim_bounds(call->dims, bytes).hi >= (int64_t)1 << TENSOR_LIMIT_BITS) {
        return infer_error(call, "a result of %s may reach 2^40 bytes",
                           infer_type_text(call, type));
    }
    return true;
}

bool op_infer(OpCall *call) {
    if (call->op->later) return infer_error(call, "not supported yet");
    if (!check_operands(call) || !check_attributes(call)) return false;
    call->results = 1;
    call->result = arena_alloc(call->arena, sizeof *call->result);
    if (!call->op->infer(call)) return false;
    for (uint32_t i = 0; i < call->results; i++) {
        if (!check_result(call, &call->result[i])) return false;
    }
    return true;
}
