// Minimal filtering (Winograd's convolution): F(m, 3) makes m outputs of a filter of 3 taps from
// m + 2 products, as y = A ((G g) . (B d)) with d the m + 2 inputs, g the filter and "." a product
// element by element. Two axes are transformed one after the other: A [(G g G') . (B d B')] A'.
//
// The matrices come from the Toom-Cook construction at m + 1 finite points and infinity (Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks", 2015; Barabasz, Anderson, Soodhalter
// and Gregg, "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural
// Networks", 2018). Rows are scaled by powers of two, which changes no rounding.
#pragma once

#include <stdbool.h>

enum { WINOGRAD_TAPS = 3, WINOGRAD_TILE_MAX = 6, WINOGRAD_SIZE_MAX = 8 };

typedef struct Winograd {
    unsigned tile, size;                                 // m and m + 2
    double input[WINOGRAD_SIZE_MAX][WINOGRAD_SIZE_MAX];  // B: [size][size]; rows' magnitudes sum to
                                                         // at most 1, so B d B' is no larger than d
    double weight[WINOGRAD_SIZE_MAX][WINOGRAD_SIZE_MAX]; // G: [size][taps]
    double output[WINOGRAD_SIZE_MAX][WINOGRAD_SIZE_MAX]; // A: [tile][size]
} Winograd;

// For m of 2, 4 and 6; false for others.
bool winograd_matrices(unsigned tile, Winograd *out);

// How much larger the root mean square error of outputs gets than that of the direct form, which
// rounds each output once to the same dtype, when the transformed inputs and filters (and, unless
// exact_products, the sums of products) of `axes` axes are rounded: for independent operands of
// mean zero. The values of a dtype that also sums (f32) come closer to the direct form than that.
double winograd_error(const Winograd *w, unsigned axes, bool exact_products);
