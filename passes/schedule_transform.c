// Candidates of family "transform": how many invocations a workgroup has, and how many elements of
// a row, or channels, go together.
//
// The cost is time in instructions: of one invocation where a compute unit has few of them, which
// then wait for one another's results, else of all that take turns. Channels that go together save
// addresses but leave fewer invocations, and must fit in registers. The numbers were fitted to an
// H200.
#include <math.h>

#include "ir/winograd.h"
#include "passes/build.h"
#include "passes/product_cost.h"
#include "passes/schedule.h"

enum {
    ACCESS = 10,     // instructions of a load or store with its address
    SUBGROUP = 32,   // invocations that issue together
    TURNS = 4,       // subgroups of a compute unit that issue at once
    REGISTERS = 128, // that an invocation may want, of them 32 for addresses
    LATENCY = 4,     // turns that a result takes
    MANY = 8         // workgroups of a compute unit from which on the last ones do not count
};

typedef struct TransformSite {
    ScheduleSite *site;
    OpId op;
    bool last;         // channels lie last in memory
    uint32_t in, out;  // cells read and made
    uint32_t side;     // of the cells read
    const Type *tiles; // the transformed tensor
    uint32_t most;     // that can go together
} TransformSite;

static TransformSite transform_site(ScheduleSite *site) {
    const Graph *g = site->graph;
    const Node *node = graph_node(g, fused_find(g, site->fused, OC_TRANSFORM));
    const Type *from = &graph_value(g, node->operand[0])->type;
    const Type *to = &graph_value(g, node->result[0])->type;
    bool rows = node->op == OP_WINOGRAD_OUTPUT, filters = node->op == OP_WINOGRAD_WEIGHT;
    const Type *tiles = rows ? from : to, *image = rows ? to : from;
    uint32_t tile = (uint32_t)build_attr(node, "tile")->i, size = tile + WINOGRAD_TAPS - 1;
    uint32_t axes = image->rank - 2u, in = filters ? WINOGRAD_TAPS : size, out = rows ? tile : size;
    TransformSite t = {.site = site,
                       .op = node->op,
                       .last = !filters && build_attr(node, "channels_last")->i,
                       .side = in,
                       .in = axes == 2 ? in * in : in,
                       .out = axes == 2 ? out * out : out,
                       .tiles = tiles,
                       .most = 1};
    if (t.last)
        t.most = schedule_divisor(site, tiles->size[2], 4);
    else if (rows)
        t.most = schedule_divisor(site, to->size[to->rank - 1u], tile % 4 ? 2 : 4);
    return t;
}

// One schedule serves all sizes: the middle of what it costs at either end, with as much work.
static double transform_turns(const TransformSite *t, uint32_t local, double lanes) {
    const ScheduleSite *site = t->site;
    double units = site->target->compute_units, product = 1;
    double subgroups = fmax(1, local / (double)SUBGROUP);
    for (CostEnd end = COST_LEAST; end < COST_ENDS; end++) {
        double total = cost_size(site->dims, t->tiles->size[1], end) *
                       cost_size(site->dims, t->tiles->size[2], end);
        double groups = ceil(total / lanes / local), rounds = groups;
        if (units) rounds = groups > MANY * units ? groups / units : ceil(groups / units);
        product *= units ? fmax(rounds * subgroups / TURNS, LATENCY) : rounds * subgroups;
    }
    return sqrt(product);
}

static void transform_candidate(TransformSite *t, uint32_t local, uint32_t vec) {
    if (t->last && vec > 1 && (t->in + t->side) * vec + 32 > REGISTERS) return;
    double lanes = t->last ? vec : 1, stores = t->last ? t->out : t->out / (double)vec;
    double each = ACCESS * (t->in + stores) + 4 * (t->in + t->out) * lanes;
    Schedule schedule = {.local = local, .vec = vec};
    schedule_add(t->site, schedule, each * transform_turns(t, local, lanes),
                 arena_printf(t->site->arena, "%u %s together, about %.0f instructions", vec,
                              t->last ? "channels" : "elements of a row", each));
}

void schedule_transform(ScheduleSite *site) {
    TransformSite t = transform_site(site);
    bool device = site->target->compute_units > 0;
    for (uint32_t local = device ? 128 : 64; local >= (device ? 32 : 64); local /= 2)
        for (uint32_t vec = t.most; vec >= 1; vec /= 2) transform_candidate(&t, local, vec);
}
