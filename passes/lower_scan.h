// What the kernels of family "scan" share: places in rows, and prefix sums over the lanes of a row.
#pragma once

#include "passes/lower_reduce.h"
#include "passes/scan_shape.h"

// [rows, elements of the axis] of a value that is shaped like the scan's but for the axis' size.
Space scan_space(Lower *l, const ScanShape *shape, ValueId value);
KVal scan_at(Lower *l, ValueId value, const Space *space, KVal row, KVal at); // one element

// Kernels of one invocation an element: row, place in it, and whether it is there (0: always).
// Places past the end stand for the last one.
typedef struct ScanElement {
    KVal row, at, inside;
} ScanElement;
Dim scan_element_groups(Lower *l, const ScanShape *shape);
ScanElement scan_element(Lower *l, const ScanShape *shape);

// First place in [lo, hi) of a row of rising `keys` whose element is not before `key` (equal: nor
// equal to it, where `after` holds; 0: never). At most `most` places.
typedef struct ScanSearch {
    ValueId keys;
    const Space *space;
    KVal row, lo, hi, last; // last: place that may be read in any case
    Dim most;
} ScanSearch;
KVal scan_search(Lower *l, const ScanSearch *search, KVal key, KVal after);

// Sums of what the lanes before own, and of all. Workgroup-uniform flow, regions of its own.
typedef struct ScanLanes {
    FoldLanes lanes;
    bool is_float;
    uint32_t region;
} ScanLanes;
// False, and failed, where the lanes do not fit the subgroups.
bool scan_lanes_begin(Lower *l, ScanLanes *lanes);
void scan_across(Lower *l, const ScanLanes *lanes, KVal own, KVal *before, KVal *whole);

bool lower_prefix_sum(Lower *l, const ScanShape *shape);
bool lower_sort_blocks(Lower *l, const ScanShape *shape);
bool lower_merge_blocks(Lower *l, const ScanShape *shape);
bool lower_segments(Lower *l, const ScanShape *shape);
bool lower_counts(Lower *l, const ScanShape *shape);
