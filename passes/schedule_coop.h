// Candidates of form "coop" of family "contract": which there are (schedule_coop.c), and which
// serve which sizes (schedule_coop_sizes.c).
#pragma once

#include "passes/coop_cost.h"
#include "passes/schedule.h"

enum { COOP_POINTS_MAX = 12 };

// Sizes to reckon with.
typedef struct CoopPoint {
    CoopSizes size;
    CoopSizes most; // of those that a schedule for this point serves
    int64_t top;    // of the size that varies
    double least;   // cycles of a candidate so far, 0: none
} CoopPoint;

// A candidate with its cycles at each point; INFINITY: it is not for that point.
typedef struct CoopTry {
    Schedule schedule;
    double cycles[COOP_POINTS_MAX];
} CoopTry;

typedef struct CoopSite {
    ScheduleSite *site;
    CoopShape shape;
    FragmentShape fragment;
    TargetFeatures features;             // that candidates need
    Condition condition[CONDITIONS_MAX]; // under which they are legal
    uint32_t conditions;
    CoopSizes usual;
    Dim varies; // points differ in this size; DIM_NONE: there is one point
    bool apart; // which is known when a run is recorded, so that each may have its own schedule
    CoopPoint point[COOP_POINTS_MAX];
    uint32_t points;
    VEC(CoopTry) tries;
    uint32_t tried; // with those that were not kept
    double least;   // cost so far on a device of unknown units, 0: none
} CoopSite;

// Fills `usual`, `varies` and the points. apart: where that can be.
void coop_points(CoopSite *c, bool apart);
// Reckons with a candidate, and with K in parts.
void coop_try(CoopSite *c, Schedule s);
// Gives the site the best of what was tried, under guards on the size that varies.
void coop_choose(CoopSite *c);
