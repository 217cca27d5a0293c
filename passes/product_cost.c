#include "passes/product_cost.h"

#include <math.h>

enum {
    COST_SIZE_MAX = 1 << 16,
    COST_FEW_ROWS = 16,   // as many as the form for few rows takes, which reads along K
    COST_FEW_ALONG_N = 2, // times the time, without that form
    COST_TILE = 64,       // of the smallest products that still reach the rate
    COST_ROWS = 16,       // made at a time
    COST_MOVE = 16,       // bytes of neighbours that are read together where lines are whole
    // Tiles of fragments in which reading along N can be faster, where they fill the device.
    // Smaller ones spend their time on other things.
    COST_LARGE_M = 128,
    COST_LARGE_N = 256,
    COST_LARGE_K = 4096, // of each part, where K is made in parts to fill it
    COST_PARTS = 16      // at most
};
static const double cost_filled = 0.9; // of the device's units

bool cost_is_known(const Target *target, DType dtype) {
    return target->memory_rate > 0 && target->transpose_rate > 0 && target_product(target, dtype);
}

double cost_size(DimTable *dims, Dim size, CostEnd end) {
    DimBounds bounds = dim_bounds(dims, size);
    int64_t value = end == COST_LEAST ? bounds.lo : bounds.hi;
    if (bounds.lo != bounds.hi && value > COST_SIZE_MAX) value = COST_SIZE_MAX;
    return value < 1 ? 1 : (double)value;
}

double cost_move(const Target *target, double bytes) {
    return bytes / target->memory_rate * 1e-3;
}

double cost_transpose(const Target *target, double bytes) {
    return 2 * bytes / target->transpose_rate * 1e-3;
}

double cost_dispatch(const Target *target) {
    return target->dispatch_time * 1e-3;
}

bool cost_has_fragments(const Target *target, DType dtype) {
    for (uint32_t i = 0; i < target->fragments; i++)
        if (target->fragment[i].ab == dtype) return true;
    return false;
}

double cost_product(const Target *target, DimTable *dims, const ProductSize *size, bool along_k,
                    CostEnd end) {
    const ProductRate *rate = target_product(target, size->in);
    double batch = cost_size(dims, size->batch, end), m = cost_size(dims, size->m, end);
    double n = cost_size(dims, size->n, end), k = cost_size(dims, size->k, end);
    double in = dtype_bytes(size->in), out = dtype_bytes(size->out);
    double memory = cost_move(target, batch * ((m + n) * k * in + m * n * out));
    if (m <= COST_FEW_ROWS) return memory * (along_k ? 1 : COST_FEW_ALONG_N);
    double rows = ceil(m / COST_ROWS) * COST_ROWS;
    // Without fragments an operand along K is turned on its way into workgroup memory, whatever the
    // tile.
    double parts = fmin(fmax(1, floor(k / COST_LARGE_K)), COST_PARTS);
    if (!target->dispatch_time) parts = 1; // no schedule has parts then
    double full = ceil(m / COST_LARGE_M) * ceil(n / COST_LARGE_N) * batch * parts;
    bool large =
        !cost_has_fragments(target, size->in) || full >= cost_filled * target->compute_units;
    double reach = along_k ? rate->along_k : rate->along_n;
    if (!large && reach > rate->along_k) reach = rate->along_k;
    int64_t line;
    bool known = dim_is_const(dims, along_k ? size->k : size->n, &line);
    if (known && line * (int64_t)in % COST_MOVE) reach = fmin(rate->along_k, rate->along_n);
    double products = 2 * batch * rows * n * k / reach * 1e-6;
    double tiles = ceil(m / COST_TILE) * ceil(n / COST_TILE) * batch;
    if (tiles < target->compute_units) products *= target->compute_units / tiles;
    return fmax(memory, products);
}

void cost_put(Text *out, double time) {
    text_printf(out, time < 100 ? "%.3g" : "%.0f", time);
}
