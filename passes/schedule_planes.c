// Candidates of family "contract", forms "planes" and "halves": f32 products on fragments of f16,
// where the plan is one for --math=fast. The cost is cycles of one compute unit, as of the other
// forms.
#include "passes/coop_cost.h"
#include "passes/planes_shape.h"
#include "passes/schedule.h"

#include <math.h>

// Fitted to an H200: fragments read from workgroup memory and fresh sums nearly double the
// products' own time; what is waited for in a step is shared by the workgroups of a unit.
enum {
    PLANES_RATE = 1150,  // multiply-adds of fragments a cycle; each of f32 takes three
    PLANES_WAIT = 700,   // in a step of tile_k
    PLANES_START = 3000, // of a workgroup, its way out included
    PLANES_SPLIT = 15,   // bytes a cycle of a unit that the first dispatches move
    PLANES_MADE = 32,    // elements a cycle that become planes on their way
    PLANES_CLOCK = 2,    // cycles of a nanosecond
    PLANES_UNIT = 384,   // invocations of a unit, for their registers
    PLANES_UNROLL = 16   // steps of a trip with two stages
};

typedef struct PlanesSite {
    ScheduleSite *site;
    PlanesLayout layout;
    double batch, m, n, k;
    FragmentShape fragment;
    TargetFeatures features;
} PlanesSite;

// The listed fragment of f16 with the most products and sums in f32.
static bool planes_fragment(PlanesSite *c) {
    const Target *target = c->site->target;
    unsigned most = 0;
    for (uint32_t i = 0; i < target->fragments; i++) {
        const FragmentShape *f = &target->fragment[i];
        unsigned products = (unsigned)f->m * f->n * f->k;
        if (f->ab != DT_F16 || f->acc != DT_F32 || products <= most) continue;
        most = products;
        c->fragment = *f;
    }
    return most > 0;
}

static double planes_cost(const PlanesSite *c, const Schedule *s) {
    const Target *target = c->site->target;
    double units = target->compute_units > 0 ? target->compute_units : 1;
    double groups = ceil(c->m / s->tile_m) * ceil(c->n / s->tile_n) * c->batch;
    double steps = ceil(c->k / s->tile_k), each = groups / units;
    if (each < 8) each = ceil(each);
    double at_once = fmin(each, floor((double)PLANES_UNIT / s->local));
    double products = 3.0 * s->tile_m * s->tile_n * s->tile_k / PLANES_RATE;
    double made = c->layout.late ? (double)(s->tile_m + s->tile_n) * s->tile_k / PLANES_MADE : 0;
    double cost = each * steps * (1.9 * products + made + PLANES_WAIT / at_once) +
                  ceil(each / at_once) * PLANES_START;
    double rows = c->m * (c->layout.x.shared ? 1 : c->batch);
    double columns = c->n * (c->layout.y.shared ? 1 : c->batch);
    double bytes = c->layout.late ? 4 : 8; // only read, or written too
    return cost + bytes * c->k * (rows + columns) / (units * PLANES_SPLIT) +
           3.0 * target->dispatch_time * PLANES_CLOCK;
}

static void planes_candidate(PlanesSite *c, Schedule s) {
    ScheduleSite *site = c->site;
    Graph *g = (Graph *)(uintptr_t)site->graph;
    NodeId fused = g->regions.at[site->fused->body].owner;
    if (!planes_layout(g, fused, &s, &c->layout)) return;
    Schedule fragments = planes_fragments(&s);
    CoopShape shape;
    if (!planes_coop_shape(g, fused, &c->layout, &shape) ||
        coop_refuses(&shape, &fragments, site->target))
        return;
    double k = c->k * fragments.tile_k / s.tile_k; // in fragments' K
    s.stagger = fragments.stagger = coop_stagger(g->dims, &shape, &fragments, k);
    uint32_t shared = coop_shared_bytes(&shape, &fragments) + 4 * s.local / s.subgroup;
    if (shared > site->target->shared_bytes) return;
    Candidate candidate = {.schedule = s, .cost = planes_cost(c, &s)};
    candidate.guard = (ScheduleGuard){.features = c->features,
                                      .shared_bytes = shared > 32768 ? shared : 0,
                                      .fragment = c->fragment};
    candidate.why = c->layout.late ? "math fast: f32 as two planes of f16 made as it is read, "
                                     "scaled by rows, three products; tiles with rows of more than "
                                     "28 binades are made in f32"
                                   : "math fast: f32 as two planes of f16 scaled by rows, three "
                                     "products; tiles with rows of more than 28 binades are made "
                                     "in f32";
    schedule_add_guarded(site, candidate);
}

static void planes_candidates(PlanesSite *c, Schedule s) {
    s.form = "planes";
    planes_candidate(c, s);
    s.form = "halves";
    planes_candidate(c, s);
}

void schedule_planes(ScheduleSite *site) {
    const Target *target = site->target;
    PlanesSite c = {.site = site};
    if (!site->fast || !target->subgroup_size || target->subgroup_min != target->subgroup_max ||
        !planes_fragment(&c))
        return;
    c.features = schedule_fragment_features(site, DT_F16) | TF_STORAGE16 | TF_SUBGROUP_ARITHMETIC;
    if ((target->features & c.features) != c.features) return;
    Graph *g = (Graph *)(uintptr_t)site->graph;
    ContractShape shape;
    if (!contract_shape(g, g->regions.at[site->fused->body].owner, &shape)) return;
    c.batch = schedule_size(site, shape.batch), c.m = schedule_size(site, shape.m);
    c.n = schedule_size(site, shape.n), c.k = schedule_size(site, shape.k);
    Schedule s = {.subgroup = target->subgroup_size,
                  .frag_m = c.fragment.m,
                  .frag_n = c.fragment.n,
                  .frag_k = c.fragment.k,
                  .tile_k = 2u * c.fragment.k,
                  .vec = 4};
    static const uint32_t shapes[][4] = {// fragments of a subgroup, subgroups
                                         {4, 2, 2, 4},
                                         {2, 4, 4, 2},
                                         {2, 2, 2, 2},
                                         {2, 2, 1, 2}};
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        s.warp_m = shapes[i][0] * s.frag_m, s.warp_n = shapes[i][1] * s.frag_n;
        s.tile_m = shapes[i][2] * s.warp_m, s.tile_n = shapes[i][3] * s.warp_n;
        s.local = shapes[i][2] * shapes[i][3] * s.subgroup;
        uint32_t own = s.tile_m * s.tile_n / s.local; // sums of an invocation, in f32
        s.reg_m = own >= 64 ? 8 : own >= 16 ? 4 : 2;
        s.reg_n = own / s.reg_m;
        if (s.tile_m * s.tile_n % s.local || own % s.reg_m) continue;
        planes_candidates(&c, s);
        Schedule carried = s;
        carried.tile_k = s.frag_k, carried.stages = 2, carried.unroll = PLANES_UNROLL;
        planes_candidates(&c, carried);
    }
}
