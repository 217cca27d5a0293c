#include "ir/winograd.h"

#include <math.h>
#include <string.h>

// The finite points. Those of F(4, 3) have the least error among points of few bits (the usual
// 0, 1, -1, 2, -2 have 2.2 times as much), and all of A and B is exact in f16.
static const double points_2[] = {0, 1, -1};
static const double points_4[] = {0, 0.625, -0.625, 1.5, -1.5};
static const double points_6[] = {0, 1, -1, 2, -2, 0.5, -0.5};

// Multiplies the polynomial, lowest coefficient first, by (x - root).
static void times_root(double *coefficient, unsigned degree, double root) {
    coefficient[degree + 1] = coefficient[degree];
    for (unsigned i = degree; i > 0; i--)
        coefficient[i] = coefficient[i - 1] - root * coefficient[i];
    coefficient[0] *= -root;
}

// Row `row` of all three: the point of that number, or infinity.
static void make_row(Winograd *w, const double *point, unsigned row) {
    bool infinite = row == w->size - 1;
    double *polynomial = w->input[row], norm = 1;
    unsigned degree = 0;
    polynomial[0] = 1;
    for (unsigned i = 0; i + 1 < w->size; i++) {
        if (i == row) continue;
        times_root(polynomial, degree++, point[i]);
        if (!infinite) norm *= point[row] - point[i];
    }
    for (unsigned k = 0; k < w->tile; k++)
        w->output[k][row] = infinite ? k == w->tile - 1 : pow(point[row], k);
    for (unsigned k = 0; k < WINOGRAD_TAPS; k++)
        w->weight[row][k] = infinite ? k == WINOGRAD_TAPS - 1 : pow(point[row], k) / norm;
}

static double length(const double *x, unsigned count) {
    double sum = 0;
    for (unsigned i = 0; i < count; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

// Powers of two move between the three: B to rows of at most 1, G so that products of noise are as
// large as outputs.
static void scale_row(Winograd *w, unsigned row) {
    double sum = 0;
    for (unsigned i = 0; i < w->size; i++) sum += fabs(w->input[row][i]);
    double down = exp2(floor(-log2(sum)));
    for (unsigned i = 0; i < w->size; i++) w->input[row][i] *= down;
    double product = length(w->input[row], w->size) * length(w->weight[row], WINOGRAD_TAPS);
    double up = exp2(round(log2(sqrt(WINOGRAD_TAPS) / product)));
    for (unsigned k = 0; k < WINOGRAD_TAPS; k++) w->weight[row][k] *= up;
    for (unsigned k = 0; k < w->tile; k++) w->output[k][row] /= down * up;
}

bool winograd_matrices(unsigned tile, Winograd *out) {
    const double *point = tile == 2 ? points_2 : tile == 4 ? points_4 : tile == 6 ? points_6 : NULL;
    if (!point) return false;
    memset(out, 0, sizeof *out);
    out->tile = tile, out->size = tile + WINOGRAD_TAPS - 1;
    for (unsigned row = 0; row < out->size; row++) {
        make_row(out, point, row);
        scale_row(out, row);
    }
    return true;
}

// With u the standard deviation of one rounding: a product's sum has as variance that of an output
// times its row's |B|^2 |G|^2 / taps an axis, and gets u^2 of it from each rounding that goes into
// it; outputs add these up by the squares of A. The direct form has u^2 alone.
double winograd_error(const Winograd *w, unsigned axes, bool exact_products) {
    double gain = 0;
    for (unsigned k = 0; k < w->tile; k++)
        for (unsigned row = 0; row < w->size; row++) {
            double in = length(w->input[row], w->size);
            double filter = length(w->weight[row], WINOGRAD_TAPS);
            double share = w->output[k][row] * in * filter;
            gain += share * share / WINOGRAD_TAPS / w->tile;
        }
    return sqrt(1 + (exact_products ? 2 : 3) * pow(gain, axes));
}
