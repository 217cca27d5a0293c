// Parts of form "planes" of family "contract" (planes_shape.h): what its programs read of
// workspace.
#pragma once

#include "passes/lower_contract.h"
#include "passes/planes_shape.h"

typedef struct PlanesRead {
    const PlanesLayout *layout;
    KVal x_planes, y_planes; // 0: not asked for
    KVal x_scales, y_scales;
    View x_scale, y_scale; // of the exponents, over [batch, M, N]
} PlanesRead;

// Declares the kernel's parameters.
PlanesRead planes_read(Lower *l, const PlanesLayout *layout, bool planes);
// Whether the tile that begins there is one to be computed in f32; the same for the workgroup.
// `id` counts its invocations. Subgroups are required.
KVal planes_tile_strict(Lower *l, const PlanesRead *read, const Schedule *s, KVal batch,
                        KVal first_m, KVal first_n, KVal id);
// A sum of scaled products at a point [batch, M, N] as what it stands for.
KVal planes_sum(Lower *l, const PlanesRead *read, const Point *point, KVal sum);

// A scaled value (any lanes) as high + 2^-11 low, both f32 that f16 holds (low when rounded).
void planes_split_value(KBuilder *b, KVal value, KVal *high, KVal *low);

bool lower_planes(Lower *l); // both forms
