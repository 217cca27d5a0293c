// Rules of the transforms of tiles (ir/winograd.h).
#include "ir/infer.h"
#include "ir/winograd.h"

enum { SPATIAL_MAX = 2, TILES_MULTIPLE = 8 };

// Reads `tile` for operand 0 of `spatial` axes; *places: results a tile.
static bool tile_of(OpCall *call, unsigned spatial, int64_t *tile, int64_t *places) {
    Winograd matrices;
    *tile = infer_attr(call, "tile")->i;
    if (*tile < 0 || *tile > WINOGRAD_TILE_MAX || !winograd_matrices((unsigned)*tile, &matrices))
        return infer_error(call, "tile must be 2, 4 or 6");
    *places = 1;
    for (unsigned i = 0; i < spatial; i++) *places *= matrices.size;
    return true;
}

// [N, channels] and one size an axis of the image, or the like.
static bool spatial_of(OpCall *call, uint8_t rank, unsigned *spatial) {
    *spatial = rank - 2u;
    if (rank >= 3 && rank <= 2 + SPATIAL_MAX) return true;
    return infer_error(call, "images have 3 or 4 axes");
}

// Tiles of all images, with those of zeros.
static Dim tiles(OpCall *call, Dim images, const Dim *count, unsigned spatial) {
    Dim product = images, multiple = dim_const(call->dims, TILES_MULTIPLE);
    for (unsigned i = 0; i < spatial; i++) product = dim_mul(call->dims, product, count[i]);
    return dim_mul(call->dims, dim_ceil_div(call->dims, product, multiple), multiple);
}

bool infer_winograd_input(OpCall *call) {
    const Type *x = &call->operand[0];
    const Attr *count = infer_attr(call, "count");
    Attr *before = infer_attr(call, "before");
    unsigned spatial;
    int64_t tile, places;
    if (!spatial_of(call, x->rank, &spatial) || !tile_of(call, spatial, &tile, &places))
        return false;
    if (count->sizes.n != spatial || (before->sizes.n != spatial && before->sizes.n != 1))
        return infer_error(call, "count and before have one number an axis");
    bool same = true;
    for (uint32_t i = 1; i < before->sizes.n; i++)
        same &= before->sizes.at[i] == before->sizes.at[0];
    if (same) before->sizes.n = 1;
    *call->result = *x;
    call->result->rank = 3;
    bool last = infer_attr(call, "channels_last")->i;
    call->result->size[0] = dim_const(call->dims, places);
    call->result->size[last ? 2 : 1] = x->size[1];
    call->result->size[last ? 1 : 2] = tiles(call, x->size[0], count->sizes.at, spatial);
    return true;
}

bool infer_winograd_weight(OpCall *call) {
    const Type *w = &call->operand[0];
    unsigned spatial;
    int64_t tile, places;
    if (!spatial_of(call, w->rank, &spatial) || !tile_of(call, spatial, &tile, &places))
        return false;
    for (unsigned i = 0; i < spatial; i++)
        if (!dim_is(call->dims, w->size[2 + i], WINOGRAD_TAPS))
            return infer_error(call, "filters must have 3 taps an axis");
    *call->result = *w;
    call->result->rank = 3;
    call->result->size[0] = dim_const(call->dims, places);
    call->result->size[1] = w->size[0];
    call->result->size[2] = w->size[1];
    return true;
}

bool infer_winograd_output(OpCall *call) {
    const Type *x = &call->operand[0];
    const Attr *shape = infer_attr(call, "shape");
    unsigned spatial;
    int64_t tile, places;
    DType dtype;
    if (!infer_rank(call, 0, 3) || shape->sizes.n > RANK_MAX ||
        !spatial_of(call, (uint8_t)shape->sizes.n, &spatial) ||
        !tile_of(call, spatial, &tile, &places) || !infer_sum_dtype(call, &dtype))
        return false;
    bool last = infer_attr(call, "channels_last")->i;
    Dim count[SPATIAL_MAX], channels = shape->sizes.at[last ? shape->sizes.n - 1 : 1];
    for (unsigned i = 0; i < spatial; i++) {
        Dim size = shape->sizes.at[last ? 1 + i : 2 + i];
        count[i] = dim_ceil_div(call->dims, size, dim_const(call->dims, tile));
    }
    if (!dim_is(call->dims, x->size[0], places) ||
        !infer_equal(call, x->size[last ? 2 : 1], channels) ||
        !infer_equal(call, x->size[last ? 1 : 2], tiles(call, shape->sizes.at[0], count, spatial)))
        return infer_error(call, "the tiles do not make up an image of that shape");
    *call->result = (Type){.dtype = dtype, .rank = (uint8_t)shape->sizes.n};
    for (uint32_t i = 0; i < shape->sizes.n; i++) call->result->size[i] = shape->sizes.at[i];
    return true;
}
