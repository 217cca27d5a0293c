#include "ir/fragment_layout.h"

#include <string.h>

#define LANE(n)                                                                                    \
    { true, (n) }
#define COMPONENT(n)                                                                               \
    { false, (n) }

typedef struct LayoutRow {
    FragmentLayout layout;
    KUse use;
    uint16_t rows, columns;
    FragmentMap map;
} LayoutRow;

// quads: lane 4 g + t holds row g (and g + 8), columns 2 t and 2 t + 1 (and 8 more); in a B rows
// and columns change places.
static const LayoutRow layout_rows[] = {
    {LAYOUT_QUADS,
     KU_ACC,
     16,
     16,
     {{4, {LANE(2), LANE(3), LANE(4), COMPONENT(2)}},
      {4, {COMPONENT(0), LANE(0), LANE(1), COMPONENT(1)}},
      8}},
    {LAYOUT_QUADS,
     KU_A,
     16,
     16,
     {{4, {LANE(2), LANE(3), LANE(4), COMPONENT(2)}},
      {4, {COMPONENT(0), LANE(0), LANE(1), COMPONENT(1)}},
      8}},
    {LAYOUT_QUADS,
     KU_B,
     16,
     16,
     {{4, {COMPONENT(0), LANE(0), LANE(1), COMPONENT(1)}},
      {4, {LANE(2), LANE(3), LANE(4), COMPONENT(2)}},
      8}},
    {LAYOUT_QUADS,
     KU_ACC,
     16,
     8,
     {{4, {LANE(2), LANE(3), LANE(4), COMPONENT(1)}}, {3, {COMPONENT(0), LANE(0), LANE(1)}}, 4}},
    {LAYOUT_COLUMNS,
     KU_ACC,
     8,
     8,
     {{3, {COMPONENT(0), COMPONENT(1), COMPONENT(2)}}, {3, {LANE(0), LANE(1), LANE(2)}}, 8}},
    {LAYOUT_COLUMNS,
     KU_A,
     8,
     8,
     {{3, {COMPONENT(0), COMPONENT(1), COMPONENT(2)}}, {3, {LANE(0), LANE(1), LANE(2)}}, 8}},
    {LAYOUT_COLUMNS,
     KU_B,
     8,
     8,
     {{3, {LANE(0), LANE(1), LANE(2)}}, {3, {COMPONENT(0), COMPONENT(1), COMPONENT(2)}}, 8}},
};

typedef struct LayoutInfo {
    const char *name;
    uint32_t lanes;
    TargetFeatures feature;
} LayoutInfo;

static const LayoutInfo layout_infos[LAYOUT_COUNT] = {{NULL, 0, 0},
#define X(id, name, lanes, feature) {name, lanes, TF_##feature},
                                                      FRAGMENT_LAYOUTS(X)
#undef X
};

// Elements of 16 bits, and sums of 16 and 32.
static bool layout_says(KType type) {
    if (type.use == KU_ACC) return type.dtype == DT_F32 || type.dtype == DT_F16;
    return type.dtype == DT_F16 || type.dtype == DT_BF16;
}

bool fragment_map(FragmentLayout layout, KType type, FragmentMap *out) {
    for (unsigned i = 0; i < sizeof layout_rows / sizeof layout_rows[0]; i++) {
        const LayoutRow *row = &layout_rows[i];
        if (row->layout != layout || row->use != type.use || row->rows != type.rows ||
            row->columns != type.cols || !layout_says(type))
            continue;
        *out = row->map;
        return true;
    }
    return false;
}

static uint32_t axis_part(const FragmentAxis *axis, bool lane, uint32_t number) {
    uint32_t part = 0;
    for (uint8_t i = 0; i < axis->bits; i++)
        if (axis->bit[i].lane == lane) part |= (number >> axis->bit[i].bit & 1) << i;
    return part;
}

uint32_t fragment_lane_part(const FragmentAxis *axis, uint32_t lane) {
    return axis_part(axis, true, lane);
}

uint32_t fragment_component_part(const FragmentAxis *axis, uint32_t component) {
    return axis_part(axis, false, component);
}

bool fragment_element(FragmentLayout layout, KType type, uint32_t lane, uint32_t component,
                      uint32_t *element) {
    FragmentMap map;
    if (!fragment_map(layout, type, &map) || component >= map.components) return false;
    uint32_t row =
        fragment_lane_part(&map.row, lane) + fragment_component_part(&map.row, component);
    uint32_t column =
        fragment_lane_part(&map.column, lane) + fragment_component_part(&map.column, component);
    *element = row * type.cols + column;
    return true;
}

const char *fragment_layout_name(FragmentLayout layout) {
    return layout_infos[layout].name;
}

bool fragment_layout_from_name(const char *name, FragmentLayout *out) {
    for (FragmentLayout i = LAYOUT_UNKNOWN + 1; i < LAYOUT_COUNT; i++)
        if (strcmp(layout_infos[i].name, name) == 0) {
            *out = i;
            return true;
        }
    return false;
}

uint32_t fragment_layout_lanes(FragmentLayout layout) {
    return layout_infos[layout].lanes;
}

TargetFeatures fragment_layout_feature(FragmentLayout layout) {
    return layout_infos[layout].feature;
}

FragmentLayout fragment_layout_of(const Target *target) {
    for (FragmentLayout i = LAYOUT_UNKNOWN + 1; i < LAYOUT_COUNT; i++)
        if (target->features & layout_infos[i].feature) return i;
    return LAYOUT_UNKNOWN;
}
