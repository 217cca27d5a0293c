// Where the components of cooperative-matrix fragments lie. KHR leaves that to the device; here are
// the orders that devices are known to keep to. A kernel that relies on one names it
// (Kernel.components), and needs the layout's feature of its target.
//
// A layout says for each kind of fragment which bit of an element's row and column is which bit of
// the lane or of the component number. So a device is proved to keep to a layout by one kernel:
// fill an accumulator, an A and a B by loading the numbers 0, 1, 2, ... row by row, store component
// c of lane l at l * components + c, and compare with fragment_element.
#pragma once

#include "ir/kernel.h"
#include "ir/target.h"

// X(ID, "name", lanes, feature)
#define FRAGMENT_LAYOUTS(X)                                                                        \
    X(QUADS, "quads", 32, FRAGMENT_QUADS)      /* a row in four lanes: NVIDIA GH100 */             \
    X(COLUMNS, "columns", 8, FRAGMENT_COLUMNS) /* a column (of a B a row) a lane: llvmpipe */

typedef enum FragmentLayout {
    LAYOUT_UNKNOWN,
#define X(id, name, lanes, feature) LAYOUT_##id,
    FRAGMENT_LAYOUTS(X)
#undef X
        LAYOUT_COUNT
} FragmentLayout;

enum { FRAGMENT_BITS_MAX = 5 };

// Bits of a row or column number, lowest first.
typedef struct FragmentAxis {
    uint8_t bits;
    struct {
        bool lane; // bit `bit` of the lane, else of the component number
        uint8_t bit;
    } bit[FRAGMENT_BITS_MAX];
} FragmentAxis;

typedef struct FragmentMap {
    FragmentAxis row, column;
    uint32_t components; // of a lane
} FragmentMap;

// False where the layout does not say it for this type.
bool fragment_map(FragmentLayout layout, KType type, FragmentMap *out);
// A lane's and a component's part of a number; the number is their sum.
uint32_t fragment_lane_part(const FragmentAxis *axis, uint32_t lane);
uint32_t fragment_component_part(const FragmentAxis *axis, uint32_t component);
// Row-major number of the element; false where the layout does not say it.
bool fragment_element(FragmentLayout layout, KType type, uint32_t lane, uint32_t component,
                      uint32_t *element);

const char *fragment_layout_name(FragmentLayout layout);
bool fragment_layout_from_name(const char *name, FragmentLayout *out);
uint32_t fragment_layout_lanes(FragmentLayout layout); // subgroup size; 0: unknown
TargetFeatures fragment_layout_feature(FragmentLayout layout);
FragmentLayout fragment_layout_of(const Target *target);
