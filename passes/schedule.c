// From candidates to the choice that a plan holds, with its reason.
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

void schedule_add(ScheduleSite *site, Schedule schedule, double cost, const char *why) {
    vec_push(site->arena, &site->list, (Candidate){schedule, cost, why});
}

double schedule_size(const ScheduleSite *site, Dim dim) {
    DimBounds bounds = dim_bounds(site->dims, dim);
    double low = bounds.lo < 1 ? 1 : (double)bounds.lo,
           high = bounds.hi < 1 ? 1 : (double)bounds.hi;
    return sqrt(low) * sqrt(high);
}

uint32_t schedule_divisor(const ScheduleSite *site, Dim dim, uint32_t most) {
    while (most > 1 && !dim_divides(site->dims, most, dim)) most /= 2;
    return most;
}

static const Candidate *schedule_best(const CandidateList *list) {
    const Candidate *best = NULL;
    for (uint32_t i = 0; i < list->len; i++)
        if (!best || list->at[i].cost < best->cost) best = &list->at[i];
    return best;
}

typedef struct ScheduleFamily {
    const char *name;
    void (*candidates)(ScheduleSite *site);
} ScheduleFamily;

static const ScheduleFamily schedule_families[] = {
    {"map", schedule_map},
    {"row", schedule_row},
    {"contract", schedule_contract},
    {"attention", schedule_attention},
};

static ScheduleSite schedule_site(const Plan *plan, NodeId fused) {
    Graph *g = plan->graph;
    ScheduleSite site = {.arena = g->arena,
                         .graph = g,
                         .dims = g->dims,
                         .fused = graph_node(g, fused),
                         .target = &plan->target,
                         .strict = plan->strict_rounding};
    for (unsigned i = 0; i < sizeof schedule_families / sizeof schedule_families[0]; i++)
        if (strcmp(schedule_families[i].name, site.fused->family) == 0)
            schedule_families[i].candidates(&site);
    return site;
}

// By cost, then in the order they were added.
CandidateList plan_candidates(const Plan *plan, NodeId fused) {
    CandidateList list = schedule_site(plan, fused).list;
    for (uint32_t i = 1; i < list.len; i++) {
        Candidate moved = list.at[i];
        uint32_t at = i;
        for (; at > 0 && list.at[at - 1].cost > moved.cost; at--) list.at[at] = list.at[at - 1];
        list.at[at] = moved;
    }
    return list;
}

bool schedule_step(Plan *plan, NodeId node, const Schedule *forced, Diags *diags, PlanStep *step) {
    Graph *g = plan->graph;
    ScheduleSite site = schedule_site(plan, node);
    Candidate by_hand = {.why = "given by hand"};
    if (forced) by_hand.schedule = *forced;
    const Candidate *best = forced ? &by_hand : schedule_best(&site.list);
    if (!best) {
        diag_error(diags, (Span){0}, "no schedule of family %s fits %s", site.fused->family,
                   site.fused->name);
        return false;
    }
    Alternative alternative = {.schedule = best->schedule, .workspace = DIM_NONE};
    bool chosen = !forced && site.list.len > 1;
    alternative.reason =
        chosen ? arena_printf(g->arena, "%s; best of %u candidates", best->why, site.list.len)
               : best->why;
    vec_push(g->arena, &step->alternatives, alternative);
    return true;
}
