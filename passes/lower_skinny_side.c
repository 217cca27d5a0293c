// How form "skinny" reads: 16 bytes at a time where the operand lies so.
#include "passes/lower_skinny.h"

void skinny_side(Lower *l, const ContractShape *shape, bool columns, bool k_fast, unsigned vec,
                 SkinnySide *out) {
    bool known = coop_operand(l->graph, l->node, shape, columns, &out->operand);
    const CoopOperand *o = &out->operand;
    out->space = contract_operand_space(l, shape, o->value, columns, k_fast);
    out->seen = (Space){.rank = 3};
    out->is_float = dtype_is_float(o->dtype);
    out->vec = vec, out->width = vec < 4 ? vec : 4, out->pieces = vec / out->width;
    out->wide = vec > 4 && known && o->k_fast == k_fast && coop_moves_whole(o) &&
                vec * dtype_bytes(o->dtype) == COOP_MOVE;
    if (out->wide) out->pointer = lower_buffer(l, o->base, K_READ);
}

static KVal skinny_move(Lower *l, SkinnySide *side, Point *point) {
    KBuilder *b = l->b;
    point->space = &side->seen;
    point->index[2] = k_udiv(b, point->index[2], k_i32(b, (int32_t)side->vec));
    KVal move = lower_address(l, &side->operand.moves, point, 0, DT_U8).index;
    return k_load(b, side->pointer, k_imul(b, move, k_i32(b, 4)), DT_I32, 4, COOP_MOVE);
}

SkinnyLoad skinny_load(Lower *l, SkinnySide *side, KVal batch, KVal slow, KVal fast, KVal inside) {
    KBuilder *b = l->b;
    SkinnyLoad out = {{0}};
    unsigned lanes = side->wide ? 4 : side->width;
    KVal zero = side->is_float && !side->wide ? k_f32(b, 0) : k_i32(b, 0);
    for (unsigned p = 0; p < (side->wide ? 1 : side->pieces); p++) {
        Point point = point_make(&side->space, side->wide ? 1 : (uint8_t)lanes);
        point.index[0] = batch, point.index[1] = slow;
        point.index[2] = k_iadd(b, fast, k_i32(b, (int32_t)(4 * p)));
        KVal loaded =
            side->wide ? skinny_move(l, side, &point) : lower_value(l, side->operand.value, &point);
        if (k_type(b, loaded).lanes != lanes) loaded = k_splat(b, loaded, lanes);
        if (inside) loaded = k_select(b, inside, loaded, k_splat(b, zero, lanes));
        out.piece[p] = loaded;
    }
    return out;
}

SkinnyLoad skinny_unpack(Lower *l, const SkinnySide *side, SkinnyLoad load) {
    KBuilder *b = l->b;
    if (!side->wide) return load;
    DType dtype = side->operand.dtype;
    KVal words = load.piece[0], element[SKINNY_VEC_MAX];
    unsigned each = 4 / dtype_bytes(dtype);
    for (unsigned i = 0; i < each; i++) { // of every word
        KVal up = k_i32(b, (int32_t)(32 - 8 * dtype_bytes(dtype) * (i + 1))), own = 0;
        if (dtype == DT_BF16)
            own = k_as_f32(b, i ? k_and(b, words, k_i32(b, -65536)) : k_shl(b, words, up));
        if (dtype == DT_I8) own = k_sar(b, k_shl(b, words, up), k_i32(b, 24));
        if (dtype == DT_U8) own = k_shr(b, k_shl(b, words, up), k_i32(b, 24));
        for (unsigned w = 0; w < 4; w++)
            element[w * each + i] = own ? k_extract(b, own, w)
                                        : k_extract(b, k_unpack_f16(b, k_extract(b, words, w)), i);
    }
    for (unsigned p = 0; p < side->pieces; p++) load.piece[p] = k_vector(b, 4, element + 4 * p);
    return load;
}

// One tile has all rows: for every size of the dims, or under the alternative's conditions.
bool skinny_check_rows(Lower *l, const ContractShape *shape) {
    uint32_t rows = l->schedule->tile_m;
    Dim most = dim_const(l->dims, rows);
    if (rows && rows <= SKINNY_ROWS_MAX && dim_proved(l->dims, shape->m, DIM_LE, most)) return true;
    lower_fail(l, "form=skinny makes at most tile_m rows, which no condition promises");
    return false;
}
