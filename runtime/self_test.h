// Tries what a device claims and kernels rely on, before anything uses it: the product of every
// fragment shape that it lists, where the components of fragments lie (ADX_FEATURE_FRAGMENT_QUADS
// and _COLUMNS), and how it rounds to f16. What comes out wrong is taken from device->caps, so that
// no alternative which needs it is chosen, and named in device->info.failed.
//
// The outcome is kept in the cache folder, a file a device, driver and list of claims; the
// environment's ADEPT_SELF_TEST=0 believes the device, ADEPT_SELF_TEST=1 tries it in any case.
#pragma once

#include "runtime/device.h"

// For a device that is ready for use. Errors are those of Vulkan and memory; a wrong result is
// none.
AdeptResult self_test(AdeptDevice *device, AdeptError *error);

// Row-major number of the element that a layout puts in a component of a lane. `quads`: 16 rows, A
// and B of 16 columns, sums of 16 or 8. `columns`: 8 rows, 8 columns.
uint32_t self_test_quads(bool is_b, uint32_t columns, uint32_t lane, uint32_t component);
uint32_t self_test_columns(bool is_b, uint32_t lane, uint32_t component);
