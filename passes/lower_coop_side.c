// Operands of form "coop": from memory to fragments.
//
// A move is 16 bytes of neighbours. Where the view proves them to be neighbours in memory they are
// loaded at once; else element by element, which serves every view, offset and size. Rows past the
// end repeat the last one and are not stored later; past the end of K both operands are 0.
#include <string.h>

#include "ir/number.h"
#include "passes/lower_coop.h"

static KVal side_number(Coop *c, unsigned value) {
    return k_i32(c->l->b, (int32_t)value);
}

// Lines that follow each other in the order of invocations: eight neighbours store to eight
// different groups of banks, and still read whole lines.
static KVal side_line(Coop *c, const CoopSide *side, unsigned width, KVal line) {
    KBuilder *b = c->l->b;
    unsigned lines = 8 / (width ? width : 1), shift = 0;
    if (width < 2 || width > 4 || (width & (width - 1)) || side->tile.lines % 8) return line;
    while (1u << shift < lines) shift++;
    KVal low = k_and(b, line, side_number(c, 7));
    KVal spread = k_imul(b, k_and(b, low, side_number(c, lines - 1)), side_number(c, width));
    low = k_or(b, spread, k_shr(b, low, side_number(c, shift)));
    return k_iadd(b, k_and(b, line, k_i32(b, ~7)), low);
}

static void side_point(const Coop *c, const CoopSide *side, KVal row, KVal k, Point *point) {
    bool k_fast = side->operand->k_fast;
    point->index[0] = c->batch;
    point->index[1] = k_fast ? row : k;
    point->index[2] = k_fast ? k : row;
}

// Address of a move, counted in moves.
static Address side_address(Coop *c, const CoopSide *side, KVal row, KVal k) {
    Point point = point_make(&side->seen, 1);
    side_point(c, side, row, k, &point);
    unsigned unit = coop_unit(side->operand);
    point.index[2] = k_udiv(c->l->b, point.index[2], side_number(c, unit));
    return lower_address(c->l, &side->operand->moves, &point, 0, DT_U8);
}

// Whether every buffer's K, which begins at a multiple of its depth, stays within the view's run of
// neighbours: the other digits of K are then the same for all of its moves.
static bool side_is_even(Coop *c, const CoopSide *side) {
    const CoopOperand *o = side->operand;
    DimTable *dims = c->l->dims;
    if (!o->vector || o->linear || !o->k_fast || o->moves.inner) return false;
    int fast = o->moves.digits - 1;
    while (fast >= 0 && dim_is(dims, o->moves.digit[fast].size, 1)) fast--;
    unsigned unit = coop_unit(o), depth = side->tile.depth;
    return fast >= 0 && o->moves.digit[fast].axis == 2 && depth % unit == 0 &&
           dim_divides(dims, depth / unit, o->moves.digit[fast].size);
}

// The part of a move's address that its row and its place in the buffer make, in moves.
static AddressPart side_place(Coop *c, const CoopSide *side, KVal row, KVal k) {
    KBuilder *b = c->l->b;
    Point point = point_make(&side->seen, 1);
    side_point(c, side, row, side_number(c, 0), &point);
    AddressPart part = lower_address_part(c->l, &side->operand->moves, &point, true);
    unsigned unit = coop_unit(side->operand);
    part.index = k_iadd(b, part.index, k_udiv(b, k, side_number(c, unit)));
    return part;
}

// The part that the buffer's first K makes.
static AddressPart side_run(Coop *c, const CoopSide *side, KVal near) {
    KVal zero = side_number(c, 0);
    Point point = point_make(&side->seen, 1);
    unsigned unit = coop_unit(side->operand);
    point.index[0] = point.index[1] = zero;
    point.index[2] = k_udiv(c->l->b, near, side_number(c, unit));
    return lower_address_part(c->l, &side->operand->moves, &point, false);
}

static unsigned side_values(const CoopSide *side) { // of a move
    return side->operand->planes ? 2 : 1;
}

// Lines of a buffer as they lie in memory, and moves in one.
static unsigned side_lines(const CoopSide *side) {
    return side->operand->k_fast ? side->tile.rows : side->tile.depth;
}

static unsigned side_width(const CoopSide *side) {
    const CoopOperand *o = side->operand;
    return o->planes && o->k_fast ? side->tile.line / 2 : side->tile.line;
}

static void side_slot(Coop *c, CoopSide *side, unsigned slot) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const CoopOperand *o = side->operand;
    const CoopTile *t = &side->tile;
    unsigned lines = side_lines(side) / t->parts, wide = side_width(side), total = lines * wide;
    unsigned unit = coop_unit(o);
    KVal e = k_iadd(b, c->id, side_number(c, slot * c->s->local));
    if ((slot + 1) * c->s->local > total) {
        side->inside[slot] = k_slt(b, e, side_number(c, total));
        e = k_smin(b, e, side_number(c, total - 1));
    }
    KVal width = side_number(c, wide);
    KVal line = side_line(c, side, wide, k_udiv(b, e, width));
    KVal within = k_urem(b, e, width), along = k_imul(b, within, side_number(c, unit));
    side->put[slot] =
        k_iadd(b, k_imul(b, line, side_number(c, t->pitch)), k_imul(b, within, side_number(c, 4)));
    side->k[slot] = o->k_fast ? along : line;
    KVal row = o->k_fast ? line : along;
    for (unsigned part = 0; part < t->parts; part++) {
        KVal first = o->columns ? c->first_n : c->first_m;
        KVal at = k_iadd(b, k_iadd(b, first, side_number(c, part * lines)), row);
        bool all = dim_divides(l->dims, t->rows, o->rows);
        if (!all && (o->k_fast || o->vector)) {
            Dim last = dim_sub(l->dims, o->rows, dim_const(l->dims, o->k_fast ? 1 : unit));
            at = k_smin(b, at, lower_dim(l, last));
        }
        side->row[part][slot] = at;
        if (o->linear) side->at[part][slot] = side_address(c, side, at, side->k[slot]);
        if (side->even) side->place[part][slot] = side_place(c, side, at, side->k[slot]);
    }
    if (o->planes) coop_planes_scale(c, side, slot);
}

static Space side_space(Coop *c, const CoopOperand *o) {
    Lower *l = c->l;
    const ContractShape *shape = &c->shape.contract;
    const Type *type = &graph_value(l->graph, o->value)->type;
    Space space = space_of(l, type->rank, type->size);
    space.rank = 3;
    for (uint8_t a = 0; a < 3; a++) space.size[a] = o->view.size[a];
    if (o->k_fast) return space;
    space.permuted = true;
    uint8_t at = shape->batch_axes;
    for (uint8_t a = 0; a < shape->k_axes; a++)
        space.axes[at++] = (uint8_t)(shape->batch_axes + o->others + a);
    for (uint8_t a = 0; a < o->others; a++) space.axes[at++] = (uint8_t)(shape->batch_axes + a);
    return space;
}

void coop_side_begin(Coop *c, CoopSide *side, const CoopOperand *operand, uint32_t words) {
    Lower *l = c->l;
    side->operand = operand;
    side->tile = coop_tile(operand, c->s);
    if (!operand->in_memory) side->space = side_space(c, operand);
    side->seen = (Space){.rank = 3};
    side->ahead = operand->vector;
    side->even = side_is_even(c, side);
    side->whole = dim_divides(l->dims, c->span, c->shape.contract.k);
    unsigned lanes = side->tile.lanes, total = side_lines(side) * side_width(side);
    side->count = (total / side->tile.parts + c->s->local - 1) / c->s->local;
    side->held = side->count * side_values(side);
    side->region = k_shared(l->b, operand->columns ? "tile_y" : "tile_x", DT_I32, lanes,
                            (words + lanes - 1) / lanes);
    if (operand->in_memory && !side->pointer)
        side->pointer = lower_buffer(l, operand->base, K_READ);
    side->zero = k_splat(l->b, k_i32(l->b, 0), 4);
    for (unsigned i = 0; i < side->count; i++) side_slot(c, side, i);
}

KVal coop_pad_bits(Lower *l, const CoopOperand *o) {
    uint8_t bytes[4];
    int32_t word;
    for (unsigned i = 0; i < 4; i += dtype_bytes(o->dtype))
        number_store(o->dtype, o->view.pad, bytes + i);
    memcpy(&word, bytes, sizeof word);
    return k_i32(l->b, word);
}

KVal coop_element_bits(Lower *l, const CoopOperand *o, const Point *point, KVal pointer) {
    KBuilder *b = l->b;
    Address at = lower_address(l, &o->view, point, pointer, o->dtype);
    KVal index = at.valid ? k_select(b, at.valid, at.index, k_i32(b, 0)) : at.index;
    KVal bits;
    if (dtype_bytes(o->dtype) == 1) {
        bits = k_load(b, at.pointer, index, DT_U8, 1, 1);
    } else if (dtype_bytes(o->dtype) == 4) {
        bits = k_load(b, at.pointer, index, DT_I32, 1, 4);
    } else { // a bf16 is the upper half of an f32, so that the load moves any 16 bits as they are
        bits = k_as_i32(b, k_load(b, at.pointer, index, DT_BF16, 1, 2));
        bits = k_shr(b, bits, k_i32(b, 16));
    }
    if (!at.valid) return bits;
    int32_t mask = dtype_bytes(o->dtype) == 1 ? 0xff : dtype_bytes(o->dtype) == 2 ? 0xffff : -1;
    KVal pad = k_and(b, coop_pad_bits(l, o), k_i32(b, mask));
    return k_select(b, at.valid, bits, pad);
}

// Bits of a value that the type can hold, in the low part of a word.
static KVal side_bits(Coop *c, DType dtype, KVal value) {
    KBuilder *b = c->l->b;
    if (dtype == DT_I8 || dtype == DT_U8) return k_and(b, value, k_i32(b, 0xff));
    KVal bits = k_as_i32(b, lower_round(b, value, dtype));
    if (dtype == DT_F32) return bits;
    if (dtype == DT_BF16) return k_shr(b, bits, k_i32(b, 16));
    KVal sign = k_and(b, k_shr(b, bits, k_i32(b, 16)), k_i32(b, 0x8000));
    KVal size = k_and(b, bits, k_i32(b, 0x7fffffff));
    KVal normal = k_shr(b, k_isub(b, size, k_i32(b, 0x38000000)), k_i32(b, 13));
    KVal steps = k_fmul(b, k_as_f32(b, size), k_f32(b, 0x1p24f));
    KVal tiny = k_slt(b, size, k_i32(b, 0x38800000)), huge = k_sle(b, k_i32(b, 0x7f800000), size);
    KVal safe = k_select(b, tiny, steps, k_f32(b, 0));
    KVal mantissa = k_and(b, k_shr(b, size, k_i32(b, 13)), k_i32(b, 0x3ff));
    KVal value16 = k_select(b, tiny, k_f_to_s(b, safe), normal);
    value16 = k_select(b, huge, k_or(b, k_i32(b, 0x7c00), mantissa), value16);
    return k_or(b, sign, value16);
}

// One element as bits.
static KVal side_element(Coop *c, CoopSide *side, KVal row, KVal k) {
    Lower *l = c->l;
    const CoopOperand *o = side->operand;
    if (!o->in_memory) {
        Point point = point_make(&side->space, 1);
        side_point(c, side, row, k, &point);
        return side_bits(c, o->dtype, lower_value(l, o->value, &point));
    }
    Point point = point_make(&side->seen, 1);
    side_point(c, side, row, k, &point);
    return coop_element_bits(l, o, &point, side->pointer);
}

static KVal side_clamp(Coop *c, KVal index, Dim extent) {
    Lower *l = c->l;
    return k_smin(l->b, index, lower_dim(l, dim_sub(l->dims, extent, dim_const(l->dims, 1))));
}

// Four words of a move from its element `from` on, element by element.
static KVal side_gather(Coop *c, CoopSide *side, unsigned part, unsigned slot, KVal k0,
                        unsigned from) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const CoopOperand *o = side->operand;
    unsigned bits = 8 * dtype_bytes(o->dtype), each = 32 / bits;
    bool rows_whole = dim_divides(l->dims, side->tile.rows, o->rows);
    KVal word[4], first = k_iadd(b, k0, side->k[slot]);
    for (unsigned w = 0; w < 4; w++) {
        word[w] = k_i32(b, 0);
        for (unsigned i = 0; i < each; i++) {
            KVal step = side_number(c, from + w * each + i), inside = 0;
            KVal row = side->row[part][slot], k = first;
            if (o->k_fast)
                k = k_iadd(b, k, step);
            else
                row = k_iadd(b, row, step);
            if (!o->k_fast && !rows_whole) row = side_clamp(c, row, o->rows);
            if (!side->whole) {
                inside = k_slt(b, k, lower_dim(l, c->shape.contract.k));
                k = side_clamp(c, k, c->shape.contract.k);
            }
            KVal element = side_element(c, side, row, k);
            if (inside) element = k_select(b, inside, element, k_i32(b, 0));
            word[w] = k_or(b, word[w], k_shl(b, element, side_number(c, i * bits)));
        }
    }
    return k_vector(b, 4, word);
}

// A move at once, 16 bytes a value. base: linear: the base for k `near`.
// run: where the buffer's K begins, if that is one run.
static void side_load(Coop *c, CoopSide *side, unsigned part, unsigned slot, KVal k0, KVal base,
                      KVal near, const AddressPart *run, KVal *out) {
    Lower *l = c->l;
    KBuilder *b = l->b;
    const CoopOperand *o = side->operand;
    KVal inside = 0, k = k_iadd(b, near, side->k[slot]);
    if (!side->whole)
        inside = k_slt(b, k_iadd(b, k0, side->k[slot]), lower_dim(l, c->shape.contract.k));
    Address at;
    if (o->linear) {
        at = side->at[part][slot];
    } else if (side->even) {
        at = lower_address_join(l, &o->moves, &side->place[part][slot], run);
    } else {
        if (inside) k = k_select(b, inside, k, k_i32(b, 0));
        at = side_address(c, side, side->row[part][slot], k);
    }
    KVal read = inside && o->linear && at.valid ? k_and(b, inside, at.valid)
                : inside && o->linear           ? inside
                                                : at.valid;
    KVal index = read ? k_select(b, read, at.index, k_i32(b, 0)) : at.index;
    unsigned values = side_values(side);
    index = k_imul(b, index, side_number(c, 4 * values));
    for (unsigned v = 0; v < values; v++) {
        KVal word = k_iadd(b, index, side_number(c, 4 * v));
        KVal value = k_load(b, base, word, DT_I32, 4, COOP_MOVE);
        if (at.valid) value = k_select(b, at.valid, value, k_splat(b, coop_pad_bits(l, o), 4));
        out[v] = inside ? k_select(b, inside, value, side->zero) : value;
    }
}

// k0, or where that is past the end the first K of the last buffer, which is then read once more.
// Staggered tiles go round each stretch of K from a place of their own: groups that share operands
// then do not all wait for the same first read of them.
static KVal side_near(Coop *c, const CoopSide *side, KVal k0) {
    Lower *l = c->l;
    Dim depth = dim_const(l->dims, side->tile.depth);
    Dim buffers = dim_ceil_div(l->dims, c->shape.contract.k, depth);
    Dim last = dim_mul(l->dims, depth, dim_sub(l->dims, buffers, dim_const(l->dims, 1)));
    KVal near = k_smin(l->b, k0, lower_dim(l, last));
    if (!c->turned) return near;
    KVal within = side_number(c, coop_stretch(c->s) - 1);
    KVal turned = k_and(l->b, k_iadd(l->b, near, c->turned), within);
    return k_iadd(l->b, k_isub(l->b, near, k_and(l->b, near, within)), turned);
}

void coop_side_fetch(Coop *c, CoopSide *side, unsigned part, KVal k0, KVal *out) {
    Lower *l = c->l;
    const CoopOperand *o = side->operand;
    KVal near = side_near(c, side, k0), base = side->pointer;
    if (o->linear) base = k_ptr_add(l->b, base, near, lower_dim64(l, o->k_bytes));
    AddressPart run = {0};
    if (side->even) run = side_run(c, side, near);
    unsigned values = side_values(side), each = coop_unit(o) / values;
    for (unsigned i = 0; i < side->count; i++, out += values) {
        if (o->vector) {
            side_load(c, side, part, i, k0, base, near, &run, out);
            continue;
        }
        for (unsigned v = 0; v < values; v++)
            out[v] = side_gather(c, side, part, i, side->whole ? near : k0, v * each);
    }
}

static void side_put(Coop *c, const CoopSide *side, KVal at, KVal move) {
    KBuilder *b = c->l->b;
    unsigned lanes = side->tile.lanes;
    for (unsigned w = 0; w < 4; w += lanes) {
        KVal word[4];
        for (unsigned n = 0; n < lanes; n++) word[n] = k_extract(b, move, w + n);
        KVal value = lanes == 4 ? move : k_vector(b, lanes, word);
        k_shared_store(b, side->region, k_iadd(b, at, side_number(c, w)), value);
    }
}

void coop_side_put(Coop *c, CoopSide *side, unsigned buffer, unsigned part, const KVal *moves) {
    KBuilder *b = c->l->b;
    const CoopTile *t = &side->tile;
    unsigned first = buffer * t->words + part * (t->lines / t->parts) * t->pitch;
    for (unsigned i = 0; i < side->count; i++) {
        if (side->inside[i]) k_if_begin(b, side->inside[i]);
        KVal at = k_iadd(b, side->put[i], side_number(c, first));
        if (side->operand->planes) {
            KVal plane[2];
            coop_planes_of_move(c, side, i, &moves[2 * i], plane);
            side_put(c, side, at, plane[0]);
            side_put(c, side, k_iadd(b, at, side_number(c, t->low)), plane[1]);
        } else {
            side_put(c, side, at, moves[i]);
        }
        if (side->inside[i]) k_if_end(b, 0, NULL, NULL);
    }
}

KVal coop_side_fragment(Coop *c, const CoopSide *side, unsigned buffer, unsigned k, unsigned row) {
    KBuilder *b = c->l->b;
    const CoopOperand *o = side->operand;
    const Schedule *s = c->s;
    unsigned bytes = dtype_bytes(c->shape.ab), first = buffer * side->tile.words;
    KVal at;
    if (o->k_fast) {
        first += row * side->tile.pitch + k * bytes / 4;
        at = k_imul(b, side->warp, side_number(c, side->tile.pitch));
    } else {
        first += k * side->tile.pitch + row * bytes / 4;
        at = k_udiv(b, k_imul(b, side->warp, side_number(c, bytes)), side_number(c, 4));
    }
    at = k_iadd(b, at, side_number(c, first));
    unsigned slice = s->tile_k / coop_slices(s); // K of one
    at = k_iadd(b, at,
                k_imul(b, c->slice,
                       side_number(c, o->k_fast ? slice * bytes / 4 : slice * side->tile.pitch)));
    KType type = o->columns ? ktype_frag(KU_B, c->shape.ab, s->frag_k, s->frag_n)
                            : ktype_frag(KU_A, c->shape.ab, s->frag_m, s->frag_k);
    KLayout layout = o->k_fast == o->columns ? KL_COL_MAJOR : KL_ROW_MAJOR;
    return k_frag_shared_load(b, type, side->region, at, side_number(c, side->tile.pitch), layout);
}
