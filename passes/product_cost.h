// What products and copies are thought to take on a target, by its measured rates: enough for graph
// passes to choose between forms of a graph, before schedules are known. Times are in microseconds.
#pragma once

#include "ir/dim.h"
#include "ir/target.h"

typedef struct ProductSize {
    Dim batch, m, n, k;
    DType in, out;
} ProductSize;

// The places of a product's bounds: with sizes that are known at run time only, both ends count.
typedef enum CostEnd { COST_LEAST, COST_MOST, COST_ENDS } CostEnd;

// Whether the target says how fast products of this dtype are.
bool cost_is_known(const Target *target, DType dtype);
// Whether the target has fragments of this dtype.
bool cost_has_fragments(const Target *target, DType dtype);
// A size to reckon with at this end of its bounds; at least 1.
double cost_size(DimTable *dims, Dim size, CostEnd end);
// The product alone, without its dispatch. along_k: the elements of the second operand lie along K.
double cost_product(const Target *target, DimTable *dims, const ProductSize *size, bool along_k,
                    CostEnd end);
// Reading and writing `bytes` in another order.
double cost_transpose(const Target *target, double bytes);
// Reading or writing as it lies.
double cost_move(const Target *target, double bytes);
double cost_dispatch(const Target *target);
// A time in words: three digits, or whole microseconds.
void cost_put(Text *out, double time);
