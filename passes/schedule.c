// From candidates to the choice that a plan holds, with its reason.
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

typedef struct ScheduleFamily {
    const char *name;
    void (*candidates)(ScheduleSite *site);
    // NULL: none of its schedules needs any.
    Dim (*workspace)(const ScheduleSite *site, const Schedule *schedule,
                     const ScheduleGuard *guard);
} ScheduleFamily;

static const ScheduleFamily schedule_families[] = {
    {"map", schedule_map, NULL},
    {"row", schedule_row, NULL},
    {"contract", schedule_contract, schedule_contract_workspace},
    {"transform", schedule_transform, NULL},
    {"attention", schedule_attention, schedule_attention_workspace},
    {"scan", schedule_scan, NULL},
};

static const ScheduleFamily *schedule_family(const ScheduleSite *site) {
    for (unsigned i = 0; i < sizeof schedule_families / sizeof schedule_families[0]; i++)
        if (strcmp(schedule_families[i].name, site->fused->family) == 0)
            return &schedule_families[i];
    return NULL;
}

static Dim schedule_workspace(const ScheduleSite *site, const Candidate *candidate) {
    const ScheduleFamily *family = schedule_family(site);
    if (!family || !family->workspace) return DIM_NONE;
    return family->workspace(site, &candidate->schedule, &candidate->guard);
}

static bool schedule_fits(const ScheduleSite *site, Dim workspace) {
    return workspace == DIM_NONE || dim_bounds(site->dims, workspace).hi <= site->max_workspace;
}

void schedule_add(ScheduleSite *site, Schedule schedule, double cost, const char *why) {
    schedule_add_guarded(site, (Candidate){.schedule = schedule, .cost = cost, .why = why});
}

bool schedule_add_guarded(ScheduleSite *site, Candidate candidate) {
    if (candidate.why && schedule_refused(&candidate.schedule, site->target)) return false;
    bool fits = !candidate.why || schedule_fits(site, schedule_workspace(site, &candidate));
    if (fits)
        vec_push(site->arena, &site->list, candidate);
    else
        site->too_large++;
    return fits && candidate.why;
}

uint32_t schedule_subgroup(const Target *target) {
    TargetFeatures need = TF_SUBGROUP_SIZE_CONTROL | TF_SUBGROUP_SHUFFLE;
    bool fixed = (target->features & need) == need && target->subgroup_min == target->subgroup_max;
    return fixed ? target->subgroup_size : 0;
}

double schedule_size(const ScheduleSite *site, Dim dim) {
    DimBounds bounds = dim_bounds(site->dims, dim);
    if (bounds.lo == bounds.hi && bounds.lo >= 1) return (double)bounds.lo;
    double low = bounds.lo < 1 ? 1 : (double)bounds.lo,
           high = bounds.hi < 1 ? 1 : (double)bounds.hi;
    return sqrt(low) * sqrt(high);
}

double schedule_largest(const ScheduleSite *site, Dim dim) {
    int64_t high = dim_bounds(site->dims, dim).hi;
    return high < 1 ? 1 : (double)high;
}

bool schedule_recorded(const ScheduleSite *site, Dim dim) {
    uint64_t symbols = dim_symbols(site->dims, dim);
    for (uint32_t i = 0; i < dim_symbol_count(site->dims); i++)
        if (symbols >> i & 1 && dim_symbol_source(site->dims, i) == DIM_FROM_HOST) return false;
    return true;
}

double schedule_long_size(const ScheduleSite *site, Dim dim) {
    return fmax(schedule_size(site, dim), (double)dim_bounds(site->dims, dim).hi / 4);
}

uint32_t schedule_divisor(const ScheduleSite *site, Dim dim, uint32_t most) {
    while (most > 1 && !dim_divides(site->dims, most, dim)) most /= 2;
    return most;
}

static TargetFeatures dtype_features(DType dtype) {
    if (dtype == DT_BF16) return TF_STORAGE16 | TF_INT16;
    if (dtype == DT_F16) return TF_STORAGE16 | TF_FLOAT16;
    return dtype_bytes(dtype) == 1 ? TF_STORAGE8 | TF_INT8 : 0;
}

TargetFeatures schedule_memory_features(const ScheduleSite *site) {
    const Graph *g = site->graph;
    const Region *body = &g->regions.at[site->fused->body];
    TargetFeatures need = 0;
    for (uint32_t i = 0; i < body->nodes.len; i++) {
        const Node *node = graph_node(g, body->nodes.at[i]);
        for (uint32_t o = 0; o < node->operands; o++)
            if (node->operand[o])
                need |= dtype_features(graph_value(g, node->operand[o])->type.dtype);
        for (uint32_t r = 0; r < node->results; r++)
            need |= dtype_features(graph_value(g, node->result[r])->type.dtype);
    }
    return need;
}

TargetFeatures schedule_fragment_features(const ScheduleSite *site, DType ab) {
    TargetFeatures need = schedule_memory_features(site);
    need |= TF_COOPERATIVE_MATRIX | TF_MEMORY_MODEL | TF_SPIRV16 | TF_SUBGROUP_SIZE_CONTROL;
    if (ab == DT_F16) need |= TF_FLOAT16;
    if (ab == DT_BF16) need |= TF_BFLOAT16;
    if (ab == DT_I8 || ab == DT_U8) need |= TF_INT8;
    return need;
}

static bool guard_equal(const ScheduleGuard *a, const ScheduleGuard *b) {
    const FragmentShape *f = &a->fragment, *g = &b->fragment;
    bool equal = a->features == b->features && a->conditions == b->conditions && f->m == g->m &&
                 f->n == g->n && f->k == g->k && f->ab == g->ab && f->acc == g->acc;
    for (uint32_t i = 0; equal && i < a->conditions; i++) {
        const Condition *c = &a->condition[i], *d = &b->condition[i];
        equal = c->left == d->left && c->right == d->right && c->relation == d->relation;
    }
    return equal;
}

static bool guard_is_none(const ScheduleGuard *guard) {
    return guard_equal(guard, &(ScheduleGuard){0});
}

// The best of the candidates with this guard; *count: how many there are.
static const Candidate *schedule_best(const CandidateList *list, const ScheduleGuard *guard,
                                      uint32_t *count) {
    const Candidate *best = NULL;
    *count = 0;
    for (uint32_t i = 0; i < list->len; i++) {
        if (!guard_equal(&list->at[i].guard, guard)) continue;
        *count += 1 + list->at[i].others;
        if (!best || list->at[i].cost < best->cost) best = &list->at[i];
    }
    return best;
}

static void schedule_alternative(ScheduleSite *site, PlanStep *step, const Candidate *best,
                                 uint32_t count) {
    Alternative alternative = {.features = best->guard.features,
                               .shared_bytes = best->guard.shared_bytes,
                               .fragment = best->guard.fragment,
                               .conditions = best->guard.conditions,
                               .schedule = best->schedule,
                               .workspace = schedule_workspace(site, best)};
    memcpy(alternative.condition, best->guard.condition, sizeof alternative.condition);
    Arena *arena = site->graph->arena;
    alternative.reason = count > 1
                             ? arena_printf(arena, "%s; best of %u candidates", best->why, count)
                             : arena_strdup(arena, best->why);
    if (site->too_large)
        alternative.reason =
            arena_printf(arena, "%s; %u need more than %lld bytes of workspace", alternative.reason,
                         site->too_large, (long long)site->max_workspace);
    vec_push(arena, &step->alternatives, alternative);
}

// Whether a guarded alternative is worth having beside the unguarded one. Under conditions on dims
// costs are those of other sizes, which do not compare.
static bool worth_having(const Candidate *guarded, const Candidate *otherwise) {
    return guarded->guard.conditions > 0 || guarded->cost < otherwise->cost;
}

static ScheduleSite schedule_site(const Plan *plan, NodeId fused, const CompileOptions *options,
                                  Arena *arena, bool listed) {
    Graph *g = plan->graph;
    ScheduleSite site = {.arena = arena,
                         .graph = g,
                         .dims = g->dims,
                         .fused = graph_node(g, fused),
                         .target = &plan->target,
                         .strict = plan->strict_rounding,
                         .fast = plan->fast_math,
                         .max_workspace = options->max_workspace,
                         .listed = listed};
    const ScheduleFamily *family = schedule_family(&site);
    if (family) family->candidates(&site);
    return site;
}

// By cost, then in the order they were added.
CandidateList plan_candidates(const Plan *plan, NodeId fused, const CompileOptions *options) {
    CandidateList list = schedule_site(plan, fused, options, plan->graph->arena, true).list;
    for (uint32_t i = 1; i < list.len; i++) {
        Candidate moved = list.at[i];
        uint32_t at = i;
        for (; at > 0 && list.at[at - 1].cost > moved.cost; at--) list.at[at] = list.at[at - 1];
        list.at[at] = moved;
    }
    return list;
}

static void schedule_guarded(ScheduleSite *site, PlanStep *step, const Candidate *last) {
    for (uint32_t i = 0; i < site->list.len; i++) {
        const ScheduleGuard *guard = &site->list.at[i].guard;
        bool seen =
            guard_is_none(guard) || (i > 0 && guard_equal(&site->list.at[i - 1].guard, guard));
        for (uint32_t k = 0; k < i && !seen; k++)
            seen = guard_equal(&site->list.at[k].guard, guard);
        if (seen) continue;
        uint32_t count;
        const Candidate *best = schedule_best(&site->list, guard, &count);
        if (worth_having(best, last)) schedule_alternative(site, step, best, count);
    }
}

static bool schedule_by_hand(ScheduleSite *site, const Schedule *schedule, Diags *diags,
                             PlanStep *step) {
    Candidate by_hand = {.schedule = *schedule, .why = "given by hand"};
    if (!schedule_fits(site, schedule_workspace(site, &by_hand))) {
        diag_error(diags, (Span){0}, "%s: the schedule needs more than %lld bytes of workspace",
                   site->fused->name, (long long)site->max_workspace);
        return false;
    }
    site->too_large = 0;
    schedule_alternative(site, step, &by_hand, 1);
    return true;
}

static bool schedule_choose(ScheduleSite *site, const CompileOptions *options, Diags *diags,
                            PlanStep *step) {
    if (options->family && strcmp(site->fused->family, options->family) == 0)
        return schedule_by_hand(site, options->schedule, diags, step);
    uint32_t count;
    const Candidate *last = schedule_best(&site->list, &(ScheduleGuard){0}, &count);
    if (!last) {
        diag_error(diags, (Span){0}, "no schedule of family %s fits %s", site->fused->family,
                   site->fused->name);
        return false;
    }
    schedule_guarded(site, step, last);
    schedule_alternative(site, step, last, count);
    return true;
}

bool schedule_step(Plan *plan, NodeId node, const CompileOptions *options, Diags *diags,
                   PlanStep *step) {
    Arena *arena = arena_child(plan->graph->arena); // candidates are many, and go when one is taken
    ScheduleSite site = schedule_site(plan, node, options, arena, false);
    bool chosen = schedule_choose(&site, options, diags, step);
    arena_destroy(arena);
    return chosen;
}
