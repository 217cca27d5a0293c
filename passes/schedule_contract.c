// Candidates of family "contract" come from its forms, all with costs in cycles of one compute
// unit; here is what they share.
#include "passes/contract_split.h"
#include "passes/planes_shape.h"
#include "passes/schedule.h"

#include <math.h>
#include <string.h>

// Cycles of a nanosecond; bytes of the L2 and of a memory of unknown rate that a unit gets in a
// cycle; workgroups of a unit past which there is enough to do while some of them wait.
enum { CONTRACT_CLOCK = 2, CONTRACT_NEAR = 20, CONTRACT_FAR = 15, CONTRACT_FULL = 4 };

double schedule_memory_rate(const ScheduleSite *site) {
    const Target *target = site->target;
    if (!target->memory_rate || !target->compute_units) return CONTRACT_FAR;
    return (double)target->memory_rate / CONTRACT_CLOCK / target->compute_units;
}

double schedule_read_cost(const ScheduleSite *site, ValueId x, ValueId y) {
    const Graph *g = site->graph;
    const ValueId operand[2] = {plan_memory_base(g, x), plan_memory_base(g, y)};
    double bytes = 0;
    for (unsigned i = 0; i < 2; i++) {
        const Type *type = &graph_value(g, operand[i])->type;
        double elements = 1;
        for (uint8_t a = 0; a < type->rank; a++) elements *= schedule_size(site, type->size[a]);
        bytes += elements * dtype_bytes(type->dtype);
    }
    return bytes / schedule_memory_rate(site) / site->target->compute_units;
}

double schedule_behind_memory(double cost, double read) {
    double a = cost * cost, b = 1.3 * read * 1.3 * read; // their fourth powers, as pow is slow
    return sqrt(sqrt(a * a + b * b));
}

// Partial sums stay in the L2.
double schedule_split_cost(const ScheduleSite *site, double cells, uint32_t parts) {
    if (parts < 2) return 0;
    const Target *target = site->target;
    double bytes = 2.0 * 4 * parts * cells;
    return target->dispatch_time * (double)CONTRACT_CLOCK +
           bytes / (target->compute_units * (double)CONTRACT_NEAR);
}

bool schedule_split_pays(const ScheduleSite *site, double workgroups, uint32_t parts) {
    const Target *target = site->target;
    if (!target->compute_units || !target->dispatch_time || !site->max_workspace) return false;
    return workgroups < 2.0 * target->compute_units &&
           workgroups * parts <= (double)CONTRACT_FULL * target->compute_units;
}

const char *schedule_split_why(const ScheduleSite *site, double workgroups, uint32_t parts) {
    if (parts < 2) return "";
    return arena_printf(site->arena, ", K in %u parts, as %.0f workgroups are few", parts,
                        workgroups);
}

Dim schedule_contract_workspace(const ScheduleSite *site, const Schedule *schedule,
                                const ScheduleGuard *guard) {
    Graph *g = (Graph *)(uintptr_t)site->graph;
    ContractShape shape;
    if (planes_form(schedule)) {
        PlanesLayout layout;
        bool fits = planes_layout(g, g->regions.at[site->fused->body].owner, schedule, &layout);
        return fits ? layout.bytes : DIM_NONE;
    }
    if (schedule->split_k < 2 || !contract_shape(g, g->regions.at[site->fused->body].owner, &shape))
        return DIM_NONE;
    return contract_split(g, &shape, schedule, guard->condition, guard->conditions).bytes;
}

void schedule_contract(ScheduleSite *site) {
    Graph *g = (Graph *)(uintptr_t)site->graph;
    ContractShape shape;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &shape)) return;
    schedule_skinny(site);
    schedule_coop(site);
    schedule_planes(site);
    schedule_simt(site, &shape);
    schedule_direct(site);
}
