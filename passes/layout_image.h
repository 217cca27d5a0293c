// Images with few channels, as the layouts pass reads them: see layout_image.c.
#pragma once

#include "passes/build.h"

// Where it pays, the operands [N, H', W', kh, run] and [O, kh, run] of a product over windows of an
// image: `windows` as the old graph has them, the weight [O, C, kh, kw] in the new one. False, and
// nothing is changed, where it does not; after an error b->failed.
bool layout_image(Rewrite *rewrite, Builder *b, ValueId windows, ValueId weight, ValueId out[2],
                  const char **why);
