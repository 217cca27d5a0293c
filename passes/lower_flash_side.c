// Tiles of form "coop" of attention: rows of 16-byte moves from memory into workgroup memory. Rows
// past the last repeat it; of values they are 0, as 0 times infinity would be NaN. Columns past the
// head size are 0.
#include "passes/lower_coop.h"
#include "passes/lower_flash.h"

static KVal number(Flash *f, unsigned value) {
    return k_i32(f->l->b, (int32_t)value);
}

static unsigned real_line(const FlashSide *side, DimTable *dims) { // whole moves of elements
    int64_t columns;
    return dim_is_const(dims, side->operand->view.size[2], &columns) ? (unsigned)columns / 8 : 0;
}

static Address side_address(Flash *f, const FlashSide *side, KVal row, unsigned slot) {
    Point point = point_make(&side->seen, 1);
    point.index[0] = side->head, point.index[1] = row;
    point.index[2] =
        k_smin(f->l->b, side->column[slot], number(f, real_line(side, f->l->dims) - 1));
    return lower_address(f->l, &side->operand->moves, &point, 0, DT_U8);
}

void flash_side_begin(Flash *f, FlashSide *side, const CoopOperand *operand, FlashTile tile,
                      uint32_t first, KVal head) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    unsigned total = tile.rows * tile.line, local = f->s->local;
    side->operand = operand, side->tile = tile, side->first = first, side->head = head;
    side->seen = (Space){.rank = 3};
    side->count = (total + local - 1) / local;
    side->whole = dim_divides(l->dims, tile.rows, operand->rows);
    side->pointer = lower_buffer(l, operand->base, K_READ);
    for (unsigned i = 0; i < side->count; i++) {
        KVal e = k_iadd(b, f->id, number(f, i * local)), line = number(f, tile.line);
        if ((i + 1) * local > total) {
            side->exists[i] = k_slt(b, e, number(f, total));
            e = k_smin(b, e, number(f, total - 1));
        }
        side->row[i] = k_udiv(b, e, line);
        side->column[i] = k_urem(b, e, line);
        KVal at = k_iadd(b, k_imul(b, side->row[i], number(f, tile.pitch)),
                         k_imul(b, side->column[i], number(f, 4)));
        side->put[i] = k_iadd(b, at, number(f, first));
        if (operand->linear && side->whole) side->at[i] = side_address(f, side, side->row[i], i);
    }
}

static KVal side_move(Flash *f, const FlashSide *side, unsigned slot, KVal row, KVal base) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    const CoopOperand *o = side->operand;
    bool near = o->linear && side->whole;
    Address at = near ? side->at[slot] : side_address(f, side, row, slot);
    KVal index = at.valid ? k_select(b, at.valid, at.index, k_i32(b, 0)) : at.index;
    KVal value = k_load(b, base, k_imul(b, index, k_i32(b, 4)), DT_I32, 4, COOP_MOVE);
    if (at.valid) value = k_select(b, at.valid, value, k_splat(b, coop_pad_bits(l, o), 4));
    unsigned line = real_line(side, l->dims);
    if (line == side->tile.line) return value;
    KVal real = k_slt(b, side->column[slot], number(f, line));
    return k_select(b, real, value, k_splat(b, k_i32(b, 0), 4));
}

static KVal side_gather(Flash *f, const FlashSide *side, unsigned slot, KVal row) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    const CoopOperand *o = side->operand;
    KVal word[4], size = lower_dim(l, o->view.size[2]), one = k_i32(b, 1);
    for (unsigned w = 0; w < 4; w++) {
        word[w] = k_i32(b, 0);
        for (unsigned i = 0; i < 2; i++) {
            KVal column =
                k_iadd(b, k_imul(b, side->column[slot], number(f, 8)), number(f, 2 * w + i));
            Point point = point_make(&side->seen, 1);
            point.index[0] = side->head, point.index[1] = row;
            point.index[2] = k_smin(b, column, k_isub(b, size, one));
            KVal element = coop_element_bits(l, o, &point, side->pointer);
            element = k_select(b, k_slt(b, column, size), element, k_i32(b, 0));
            word[w] = k_or(b, word[w], k_shl(b, element, number(f, 16 * i)));
        }
    }
    return k_vector(b, 4, word);
}

void flash_side_fetch(Flash *f, const FlashSide *side, KVal row, KVal *moves) {
    Lower *l = f->l;
    KBuilder *b = l->b;
    const CoopOperand *o = side->operand;
    KVal base = side->pointer, last = 0;
    if (o->linear && side->whole) base = k_ptr_add(b, base, row, lower_dim64(l, o->k_bytes));
    if (!side->whole) last = lower_dim(l, dim_sub(l->dims, o->rows, dim_const(l->dims, 1)));
    for (unsigned i = 0; i < side->count; i++) {
        KVal own = k_iadd(b, row, side->row[i]), inside = 0;
        if (last && side->zero) inside = k_sle(b, own, last);
        if (last) own = k_smin(b, own, last);
        moves[i] = o->vector ? side_move(f, side, i, own, base) : side_gather(f, side, i, own);
        if (inside) moves[i] = k_select(b, inside, moves[i], k_splat(b, k_i32(b, 0), 4));
    }
}

void flash_side_put(Flash *f, const FlashSide *side, const KVal *moves) {
    KBuilder *b = f->l->b;
    for (unsigned i = 0; i < side->count; i++) {
        if (side->exists[i]) k_if_begin(b, side->exists[i]);
        k_shared_store(b, f->region, side->put[i], moves[i]);
        if (side->exists[i]) k_if_end(b, 0, NULL, NULL);
    }
}
