// What the winograd pass knows about one convolution, and what its forms are thought to cost.
#pragma once

#include "ir/winograd.h"
#include "passes/build.h"

// A convolution of 3 taps an axis, stride 1 and dilation 1.
typedef struct WinogradSite {
    const PassContext *ctx;
    DimTable *dims;
    unsigned axes;
    DType dtype;                      // of image and weight
    Dim images, groups, inner, outer; // N, G, C // G, O // G
    Dim input[2], output[2], before[2];
    bool weights_known; // they are transformed once, in prepare
    bool given;         // the image lies as the host gave it, channels apart
} WinogradSite;

typedef struct WinogradChoice {
    unsigned tile;      // 0: the direct form
    bool wide_products; // products of 16-bit floats are kept in f32 for the sake of the error
    const char *reason; // the arena's
} WinogradChoice;

// Tiles along an axis.
Dim winograd_count(const WinogradSite *site, unsigned tile, unsigned axis);
// The form that takes the least time on the target among those whose error stays within bounds; or
// the one that the option asks for.
WinogradChoice winograd_choose(Arena *arena, const WinogradSite *site);
