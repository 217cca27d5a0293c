// Addresses of elements through digit views, loads and stores.
//
// Offsets are 32-bit; a digit whose part of the offset could take the sum past 2^31 bytes moves the
// pointer instead, in 64 bits.
#include "passes/lower.h"

static bool address_is_one(Lower *l, Dim dim) {
    return dim_is(l->dims, dim, 1);
}

// A size to divide an index by. Where it is 0 there is nothing to read, but guards decide that
// after the division.
static KVal address_divisor(Lower *l, Dim size) {
    if (dim_bounds(l->dims, size).lo < 1) size = dim_max(l->dims, size, dim_const(l->dims, 1));
    return lower_dim(l, size);
}

// Value of each digit for the point; digits of size 1 are 0.
static void address_digits(Lower *l, const View *view, const Point *point, KVal *digit) {
    for (int d = view->digits - 1; d >= 0;) {
        uint8_t axis = view->digit[d].axis;
        int first = d;
        while (first > 0 && view->digit[first - 1].axis == axis) first--;
        int outermost = first; // of those that are not of size 1
        while (outermost < d && address_is_one(l, view->digit[outermost].size)) outermost++;
        KVal rest = point->index[axis];
        for (; d >= first; d--) {
            Dim size = view->digit[d].size;
            if (address_is_one(l, size)) {
                digit[d] = k_i32(l->b, 0);
            } else if (d == outermost) {
                digit[d] = rest;
            } else {
                KVal divisor = address_divisor(l, size);
                digit[d] = k_urem(l->b, rest, divisor);
                rest = k_udiv(l->b, rest, divisor);
            }
        }
    }
}

static KVal address_scaled(Lower *l, KVal digit, Dim scale) {
    return k_imul(l->b, digit, lower_dim(l, scale));
}

static KVal address_guards(Lower *l, const View *view, const KVal *digit) {
    KVal valid = 0;
    for (uint8_t g = 0; g < view->guards; g++) {
        const Guard *guard = &view->guard[g];
        KVal position = lower_dim(l, guard->offset);
        for (uint8_t t = 0; t < guard->terms; t++)
            position = k_iadd(l->b, position,
                              address_scaled(l, digit[guard->term[t].digit], guard->term[t].scale));
        KVal inside = k_ult(l->b, position, lower_dim(l, guard->size));
        valid = valid ? k_and(l->b, valid, inside) : inside;
    }
    return valid;
}

static int64_t address_magnitude(DimBounds bounds) {
    int64_t low = bounds.lo == INT64_MIN ? INT64_MAX : -bounds.lo;
    return low > bounds.hi ? low : bounds.hi;
}

// Largest part of the byte offset that a digit (or the view's offset) can make.
static int64_t address_span(Lower *l, Dim size, Dim stride, unsigned bytes) {
    int64_t count = dim_bounds(l->dims, size).hi - 1, span;
    if (count <= 0) return 0;
    if (!checked_mul(count, address_magnitude(dim_bounds(l->dims, stride)), &span) ||
        !checked_mul(span, bytes, &span))
        return INT64_MAX;
    return span;
}

enum { ADDRESS_LIMIT = INT32_MAX };

static void address_sum(Lower *l, const View *view, const KVal *digit, unsigned bytes,
                        Address *out) {
    DimTable *dims = l->dims;
    int64_t used = 0;
    KVal index = 0;
    for (int d = view->digits - 1; d >= -1; d--) {
        Dim stride = d >= 0 ? view->digit[d].stride : view->offset;
        if (dim_is(dims, stride, 0)) continue;
        int64_t span = d >= 0 ? address_span(l, view->digit[d].size, stride, bytes)
                              : address_span(l, dim_const(dims, 2), stride, bytes);
        KVal count = d >= 0 ? digit[d] : k_i32(l->b, 1);
        if (out->pointer && span > ADDRESS_LIMIT - used) {
            Dim step = dim_mul(dims, stride, dim_const(dims, bytes));
            out->pointer = k_ptr_add(l->b, out->pointer, count, lower_dim64(l, step));
            continue;
        }
        used = span > ADDRESS_LIMIT - used ? ADDRESS_LIMIT : used + span;
        KVal part = address_scaled(l, count, stride);
        index = index ? k_iadd(l->b, index, part) : part;
    }
    out->index = index ? index : k_i32(l->b, 0);
}

AddressPart lower_address_part(Lower *l, const View *view, const Point *point, bool start) {
    KVal digit[VIEW_DIGITS_MAX];
    AddressPart part = {0};
    address_digits(l, view, point, digit);
    KVal index = start ? lower_dim(l, view->offset) : k_i32(l->b, 0);
    for (int d = view->digits - 1; d >= 0; d--)
        index = k_iadd(l->b, index, address_scaled(l, digit[d], view->digit[d].stride));
    part.index = index;
    for (uint8_t g = 0; g < view->guards; g++) {
        const Guard *guard = &view->guard[g];
        KVal position = start ? lower_dim(l, guard->offset) : k_i32(l->b, 0);
        for (uint8_t t = 0; t < guard->terms; t++)
            position = k_iadd(l->b, position,
                              address_scaled(l, digit[guard->term[t].digit], guard->term[t].scale));
        part.guard[g] = position;
    }
    return part;
}

Address lower_address_join(Lower *l, const View *view, const AddressPart *x, const AddressPart *y) {
    Address out = {.index = k_iadd(l->b, x->index, y->index)};
    for (uint8_t g = 0; g < view->guards; g++) {
        KVal position = k_iadd(l->b, x->guard[g], y->guard[g]);
        KVal inside = k_ult(l->b, position, lower_dim(l, view->guard[g].size));
        out.valid = out.valid ? k_and(l->b, out.valid, inside) : inside;
    }
    return out;
}

// How the lanes of the point lie: side by side, all on one element, or neither.
typedef enum Lanes { LANES_ONE, LANES_VECTOR, LANES_EACH } Lanes;

static Lanes address_lanes(Lower *l, const View *view, const Point *point) {
    if (point->lanes == 1) return LANES_ONE;
    if (view->inner) return LANES_EACH;
    uint8_t last = (uint8_t)(point->space->rank - 1);
    int d = view->digits - 1;
    while (d >= 0 && view->digit[d].axis == last && address_is_one(l, view->digit[d].size)) d--;
    if (d < 0 || view->digit[d].axis != last) return LANES_EACH;
    if (!dim_divides(l->dims, point->lanes, view->digit[d].size)) return LANES_EACH;
    for (uint8_t g = 0; g < view->guards; g++)
        for (uint8_t t = 0; t < view->guard[g].terms; t++)
            if (view->guard[g].term[t].digit == d) return LANES_EACH;
    if (dim_is(l->dims, view->digit[d].stride, 0)) return LANES_ONE;
    return dim_is(l->dims, view->digit[d].stride, 1) ? LANES_VECTOR : LANES_EACH;
}

void lower_split(Lower *l, KVal index, uint8_t rank, const Dim *size, KVal *out) {
    for (uint8_t a = rank; a-- > 1;) {
        KVal divisor = address_divisor(l, size[a]);
        out[a] = k_urem(l->b, index, divisor);
        index = k_udiv(l->b, index, divisor);
    }
    if (rank) out[0] = index;
}

Address lower_address(Lower *l, const View *view, const Point *point, KVal pointer, DType dtype) {
    unsigned bytes = dtype_bytes(dtype) ? dtype_bytes(dtype) : 1;
    KVal digit[VIEW_DIGITS_MAX];
    Address out = {.pointer = view->inner ? 0 : pointer};
    address_digits(l, view, point, digit);
    out.valid = address_guards(l, view, digit);
    if (out.valid) out.pad = lower_constant(l, dtype, view->pad);
    address_sum(l, view, digit, bytes, &out);
    out.vector = address_lanes(l, view, point) == LANES_VECTOR;
    if (!view->inner) return out;
    if (out.valid) out.index = k_select(l->b, out.valid, out.index, k_i32(l->b, 0));
    Space space = {.rank = view->inner->rank};
    for (uint8_t a = 0; a < space.rank; a++) space.size[a] = view->inner->size[a];
    Point inner = point_make(&space, 1);
    lower_split(l, out.index, space.rank, space.size, inner.index);
    Address deep = lower_address(l, view->inner, &inner, pointer, dtype);
    if (!out.valid) return deep;
    deep.pad = deep.valid ? k_select(l->b, out.valid, deep.pad, out.pad) : out.pad;
    deep.valid = deep.valid ? k_and(l->b, deep.valid, out.valid) : out.valid;
    return deep;
}

KVal lower_constant(Lower *l, DType dtype, double value) {
    if (dtype == DT_BOOL) return k_bool(l->b, value != 0);
    if (dtype_is_int(dtype)) return k_i32(l->b, (int32_t)(uint32_t)(int64_t)value);
    KVal constant = k_f32(l->b, (float)value);
    return dtype == DT_F16    ? k_round_f16(l->b, constant)
           : dtype == DT_BF16 ? k_round_bf16(l->b, constant)
                              : constant;
}

unsigned lower_align(Lower *l, const Address *address, unsigned bytes, unsigned lanes) {
    int64_t base = k_fact(l->b, address->pointer).multiple;
    int64_t index = k_fact(l->b, address->index).multiple;
    unsigned align = bytes * lanes > 16 ? 16 : bytes * lanes;
    while (align > 1 && (base % align || (index * bytes) % align)) align /= 2;
    return align;
}

static Point address_lane(Lower *l, const Point *point, unsigned lane) {
    Point one = *point;
    uint8_t last = (uint8_t)(point->space->rank - 1);
    one.lanes = 1;
    one.known.at = NULL, one.known.len = one.known.cap = 0;
    one.index[last] = k_iadd(l->b, point->index[last], k_i32(l->b, (int32_t)lane));
    return one;
}

static bool address_may_be_empty(Lower *l, ValueId base) {
    const Type *type = &graph_value(l->graph, base)->type;
    for (uint8_t a = 0; a < type->rank; a++)
        if (dim_bounds(l->dims, type->size[a]).lo < 1) return true;
    return false;
}

typedef struct Memory {
    KVal pointer;
    DType dtype;
    bool may_be_empty;
} Memory;

static KVal address_load(Lower *l, const Memory *memory, const View *view, const Point *point,
                         unsigned lanes, bool *misaligned) {
    DType dtype = memory->dtype;
    KVal pointer = memory->pointer;
    Address at = lower_address(l, view, point, pointer, dtype);
    KVal zero = k_i32(l->b, 0), pad = at.pad, value;
    unsigned bytes = dtype_bytes(dtype);
    bool branch = at.valid && (at.pointer != pointer || memory->may_be_empty);
    if (at.valid && !branch) at.index = k_select(l->b, at.valid, at.index, zero);
    unsigned align = lower_align(l, &at, bytes, lanes);
    *misaligned = align < bytes * lanes && align < 16;
    if (*misaligned && lanes > 1) return 0;
    if (branch) {
        k_if_begin(l->b, at.valid);
        value = k_load(l->b, at.pointer, at.index, dtype, lanes, align);
        k_else(l->b, 1, &value);
        pad = k_splat(l->b, pad, lanes);
        k_if_end(l->b, 1, &pad, &value);
        return value;
    }
    value = k_load(l->b, at.pointer, at.index, dtype, lanes, align);
    return at.valid ? k_select(l->b, at.valid, value, pad) : value;
}

static KVal address_read(Lower *l, const Memory *memory, const View *view, const Point *point) {
    Lanes mode = address_lanes(l, view, point);
    bool misaligned = false;
    if (mode != LANES_EACH) {
        KVal value = address_load(l, memory, view, point, mode == LANES_VECTOR ? point->lanes : 1,
                                  &misaligned);
        if (value) return value;
    }
    KVal lane[4];
    for (unsigned i = 0; i < point->lanes; i++) {
        Point one = address_lane(l, point, i);
        lane[i] = address_load(l, memory, view, &one, 1, &misaligned);
    }
    return k_vector(l->b, point->lanes, lane);
}

KVal lower_load(Lower *l, ValueId base, const View *view, const Point *point) {
    DType dtype = graph_value(l->graph, base)->type.dtype;
    if (ktype_of_memory(dtype, 1).kind == KT_NONE) {
        lower_fail(l, "%s values cannot be read yet", dtype_name(dtype));
        return k_f32(l->b, 0);
    }
    Memory memory = {lower_buffer(l, base, K_READ), dtype, address_may_be_empty(l, base)};
    return address_read(l, &memory, view, point);
}

KVal lower_load_at(Lower *l, KVal pointer, DType dtype, const View *view, const Point *point) {
    return address_read(l, &(Memory){.pointer = pointer, .dtype = dtype}, view, point);
}

void lower_store(Lower *l, ValueId base, const View *view, const Point *point, KVal value) {
    DType dtype = graph_value(l->graph, base)->type.dtype;
    if (ktype_of_memory(dtype, 1).kind == KT_NONE) {
        lower_fail(l, "%s values cannot be written yet", dtype_name(dtype));
        return;
    }
    lower_store_at(l, lower_buffer(l, base, K_WRITE), dtype, view, point, value);
}

// What the view leaves out is not stored.
static void address_store(Lower *l, const Address *at, DType dtype, unsigned align, KVal value) {
    if (at->valid) k_if_begin(l->b, at->valid);
    k_store(l->b, at->pointer, at->index, dtype, align, value);
    if (at->valid) k_if_end(l->b, 0, NULL, NULL);
}

void lower_store_at(Lower *l, KVal pointer, DType dtype, const View *view, const Point *point,
                    KVal value) {
    unsigned bytes = dtype_bytes(dtype), lanes = point->lanes;
    if (address_lanes(l, view, point) == LANES_VECTOR || lanes == 1) {
        Address at = lower_address(l, view, point, pointer, dtype);
        unsigned align = lower_align(l, &at, bytes, lanes);
        if (lanes == 1 || align >= bytes * lanes || align == 16) {
            if (k_type(l->b, value).lanes != lanes) value = k_splat(l->b, value, lanes);
            address_store(l, &at, dtype, align, value);
            return;
        }
    }
    for (unsigned i = 0; i < lanes; i++) {
        Point one = address_lane(l, point, i);
        Address at = lower_address(l, view, &one, pointer, dtype);
        KVal part = k_type(l->b, value).lanes == 1 ? value : k_extract(l->b, value, i);
        address_store(l, &at, dtype, lower_align(l, &at, bytes, 1), part);
    }
}
