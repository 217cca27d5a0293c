// What a fused node of family "scan" works on: rows of one axis, perhaps in blocks.
#pragma once

#include "passes/lower_shape.h"

typedef struct ScanShape {
    const Node *node; // the one op of class SCAN
    uint8_t rank, axis;
    Dim rows, length;  // of what is iterated: the op's first result
    Dim block, blocks; // elements of a block, blocks of a row; the row itself and 1 without blocks
} ScanShape;

// False where the fused node holds no scan.
bool scan_shape(const Graph *g, const Node *fused, ScanShape *out);
